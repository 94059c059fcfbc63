"""Decoders: what each kind is there, and what theirs are here.

Definitions: `tokenizers/src/decoders` of Hugging Face tokenizers.
"""

from __future__ import annotations

from typing import Any

from tokctl.errors import TokctlError
from tokctl.formats.huggingface.component import (
    Fields,
    InexpressibleError,
    Json,
    Reader,
    Writer,
    flatten,
    in_sequence,
    unknown_type,
)
from tokctl.formats.huggingface.normalizers import read_replace
from tokctl.formats.huggingface.patterns import portable
from tokctl.formats.huggingface.pre_tokenizers import byte_level, read_prepending
from tokctl.model import Recipe
from tokctl.model.parts import DECODERS, Part

_part = DECODERS.part
_BYTE_LEVEL = byte_level(add_prefix_space=False, use_regex=True)


def to_json(recipe: Recipe) -> Json | None:
    """The component for a recipe's decoders; without any, what its marker says."""
    if [part.kind for part in recipe.decoders] == ["join"]:
        return None
    if recipe.is_byte_level and recipe.decoders and recipe.decoders[0].kind != "byte-level":
        raise InexpressibleError(
            f"its decoder {recipe.decoders[0].kind} would get bytes as they are spelled, not the "
            "bytes themselves"
        )
    if recipe.decoders:
        return in_sequence((_WRITERS[part.kind](part) for part in recipe.decoders), "decoders")
    if recipe.is_byte_level:
        return _BYTE_LEVEL
    if recipe.marker.is_continuation:
        return {"type": "WordPiece", "prefix": recipe.marker.text, "cleanup": False}
    if recipe.marker.is_end_fused:
        return {"type": "BPEDecoder", "suffix": recipe.marker.text}
    return {"type": "Fuse"}


def from_json(data: Any, *, of_bytes: bool) -> list[Part]:
    """The decoders that a component stands for."""
    components = flatten(data, "decoder", "decoders")
    if not components:
        # Without a decoder they put a space between tokens, even where these spell bytes.
        return [] if of_bytes else [_part("join")]
    if of_bytes and [fields.type for fields in components] == ["ByteLevel"]:
        # What a model of bytes does anyway.
        return []
    if of_bytes and components[0].type != "ByteLevel":
        raise TokctlError(
            f"its decoder {components[0].type} gets bytes as they are spelled, which tokctl has "
            "no decoder for",
            "put a ByteLevel decoder in front of it",
        )
    parts: list[Part] = []
    for fields in components:
        if fields.type not in _READERS:
            raise unknown_type(fields)
        parts += _READERS[fields.type](fields)
    return parts


# -- writing --------------------------------------------------------------------------


def _wordpiece(part: Part) -> Json:
    return {"type": "WordPiece", "prefix": part["prefix"], "cleanup": part["cleanup"]}


def _metaspace(part: Part) -> Json:
    return {
        "type": "Metaspace",
        "replacement": part["replacement"],
        "prepend_scheme": part["prepend"],
        "split": True,
    }


def _strip(part: Part) -> Json:
    return {"type": "Strip", **dict(part.options)}


def _replace(part: Part) -> Json:
    pattern = {"Regex": portable(part["pattern"])} if part["regex"] else {"String": part["pattern"]}
    return {"type": "Replace", "pattern": pattern, "content": part["content"]}


def _join(_part: Part) -> Json:
    raise InexpressibleError("it puts spaces between tokens only without any decoder")


def _ctc(part: Part) -> Json:
    return {
        "type": "CTC",
        "pad_token": part["pad"],
        "word_delimiter_token": part["word_delimiter"],
        "cleanup": part["cleanup"],
    }


_WRITERS: dict[str, Writer] = {
    "byte-level": lambda _part: _BYTE_LEVEL,
    "wordpiece": _wordpiece,
    "metaspace": _metaspace,
    "byte-fallback": lambda _part: {"type": "ByteFallback"},
    "bpe-suffix": lambda part: {"type": "BPEDecoder", "suffix": part["suffix"]},
    "fuse": lambda _part: {"type": "Fuse"},
    "strip": _strip,
    "replace": _replace,
    "ctc": _ctc,
    "join": _join,
}


# -- reading --------------------------------------------------------------------------


def _read_wordpiece(fields: Fields) -> list[Part]:
    return [_part("wordpiece", prefix=fields.text("prefix"), cleanup=fields.flag("cleanup"))]


def _read_metaspace(fields: Fields) -> list[Part]:
    replacement = fields.character("replacement")
    return [_part("metaspace", prepend=read_prepending(fields), replacement=replacement)]


def _read_strip(fields: Fields) -> list[Part]:
    start, stop = fields.number("start"), fields.number("stop")
    return [_part("strip", content=fields.character("content"), start=start, stop=stop)]


def _read_ctc(fields: Fields) -> list[Part]:
    cleanup = fields.flag("cleanup")
    delimiter = fields.text("word_delimiter_token")
    if not delimiter and cleanup:
        raise TokctlError(
            "its CTC decoder has an empty word delimiter, which puts a space between any two "
            "characters",
            "give word_delimiter_token a text, | for instance",
        )
    # Without cleaning up nothing looks for the delimiter.
    return [
        _part("ctc", pad=fields.text("pad_token"), word_delimiter=delimiter or "|", cleanup=cleanup)
    ]


def _read_suffix(fields: Fields) -> list[Part]:
    return [_part("bpe-suffix", suffix=fields.text("suffix"))]


_READERS: dict[str, Reader] = {
    "ByteLevel": lambda _fields: [_part("byte-level")],
    "WordPiece": _read_wordpiece,
    "Metaspace": _read_metaspace,
    "ByteFallback": lambda _fields: [_part("byte-fallback")],
    "BPEDecoder": _read_suffix,
    "Fuse": lambda _fields: [_part("fuse")],
    "Strip": _read_strip,
    "Replace": lambda fields: [_part("replace", **read_replace(fields))],
    "CTC": _read_ctc,
}
