"""Normalizers: what each kind is there, and what theirs are here.

Definitions: `tokenizers/src/normalizers` of Hugging Face tokenizers.
"""

from __future__ import annotations

from typing import Any

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
from tokctl.formats.huggingface.patterns import native, portable
from tokctl.model.parts import NORMALIZERS, Part

_part = NORMALIZERS.part

#: Kinds that are a replacement there: pattern and content.
_REPLACEMENTS = {
    "delete-newlines": (r"[\r\n]", ""),
    "collapse-spaces": (" {2,}", " "),
}
_BARE = {
    "nfc": "NFC",
    "nfd": "NFD",
    "nfkc": "NFKC",
    "nfkd": "NFKD",
    "lowercase": "Lowercase",
    "strip-accents": "StripAccents",
    "nmt": "Nmt",
}


_KINDS = {name: kind for kind, name in _BARE.items()}


def to_json(parts: tuple[Part, ...]) -> Json | None:
    """The component for normalizers; `InexpressibleError` where there is none."""
    return in_sequence((_WRITERS[part.kind](part) for part in parts), "normalizers")


def from_json(data: Any) -> tuple[list[Part], bool]:
    """The normalizers that a component stands for, and whether the last one spells bytes.

    `ByteLevel` is no normalizer here: a model of bytes needs none.
    """
    components = flatten(data, "normalizer", "normalizers")
    spells_bytes = bool(components) and components[-1].type == "ByteLevel"
    if spells_bytes:
        components.pop()
    parts: list[Part] = []
    for fields in components:
        if fields.type not in _READERS:
            raise unknown_type(fields)
        parts += _READERS[fields.type](fields)
    return parts, spells_bytes


def _replacement(part: Part) -> Json:
    pattern, content = _REPLACEMENTS[part.kind]
    return {"type": "Replace", "pattern": {"Regex": pattern}, "content": content}


def _bert(part: Part) -> Json:
    return {
        "type": "BertNormalizer",
        "clean_text": part["clean_text"],
        "handle_chinese_chars": part["cjk_spacing"],
        "strip_accents": part["strip_accents"],
        "lowercase": part["lowercase"],
    }


#: What SentencePiece's nmt rules delete, and what they make a space, beside NFKC.
_DELETED = r"[\x{1}-\x{8}\x{B}\x{E}-\x{1F}\x{7F}\x{8F}\x{9F}]"
_SPACES = (
    r"[\t\n\x{C}\r\x{61C}\x{1680}\x{200B}\x{200C}\x{200E}\x{200F}\x{2028}\x{2029}"
    r"\x{2581}\x{FEFF}\x{FFFD}]"
)
#: The fullwidth tilde, which the nmt rules keep, and a noncharacter that hides it from NFKC.
_TILDE, _HIDDEN = "\uff5e", "\ufdd0"


def _nfkc_rules(part: Part) -> Json:
    """SentencePiece's rules by NFKC. They are NFKC on composed and on decomposed text; on
    text that is composed in part (ê and U+0300), which they leave as it is, NFKC goes on. (By
    `Precompiled`, the other way to write them, decomposed text would lose its marks.)"""
    _check_keeps_nothing(part)
    nfkc: Json = {"type": "NFKC"}
    if part.kind == "sp_nfkc":
        return nfkc

    def replace(pattern: Json, content: str) -> Json:
        return {"type": "Replace", "pattern": pattern, "content": content}

    steps = [
        replace({"String": _TILDE}, _HIDDEN),
        replace({"Regex": _SPACES}, " "),
        nfkc,
        # Behind NFKC, which would else compose what stood on both sides.
        replace({"Regex": _DELETED}, ""),
        replace({"String": _HIDDEN}, _TILDE),
    ]
    return {"type": "Sequence", "normalizers": steps}


def _check_keeps_nothing(part: Part) -> None:
    if part["keep"]:
        raise InexpressibleError("it normalizes user-defined pieces, too")


def _rules(part: Part) -> Json:
    raise InexpressibleError(
        f"it applies SentencePiece's rules ({part.kind}) to a whole grapheme or to one "
        "character, not to what they match"
    )


def _precompiled(part: Part) -> Json:
    if not part["graphemes"]:
        return _rules(part)
    _check_keeps_nothing(part)
    return {"type": "Precompiled", "precompiled_charsmap": part["rules"]}


def _strip(part: Part) -> Json:
    return {"type": "Strip", "strip_left": part["left"], "strip_right": part["right"]}


def _strip_spaces(part: Part) -> Json:
    ends = [r"\A +"] * part["left"] + [r" +\z"] * part["right"]
    if not ends:
        return _strip(part)
    return {"type": "Replace", "pattern": {"Regex": "|".join(ends)}, "content": ""}


def _replace(part: Part) -> Json:
    pattern = {"Regex": portable(part["pattern"])} if part["regex"] else {"String": part["pattern"]}
    return {"type": "Replace", "pattern": pattern, "content": part["content"]}


def _prepend(part: Part) -> Json:
    return {"type": "Prepend", "prepend": part["text"]}


def _dummy_space(_part: Part) -> Json:
    raise InexpressibleError("it puts no space before a text that normalizing leaves nothing of")


_WRITERS: dict[str, Writer] = {
    **{kind: lambda part: {"type": _BARE[part.kind]} for kind in _BARE},
    **dict.fromkeys(_REPLACEMENTS, _replacement),
    **dict.fromkeys(("nmt_nfkc", "sp_nfkc"), _nfkc_rules),
    **dict.fromkeys(("nmt_nfkc_cf", "nfkc_cf"), _rules),
    "bert": _bert,
    "precompiled": _precompiled,
    "strip": _strip,
    "strip-spaces": _strip_spaces,
    "replace": _replace,
    "prepend": _prepend,
    "dummy-space": _dummy_space,
}


def _read_bert(fields: Fields) -> list[Part]:
    lowercase = fields.flag("lowercase")
    return [
        _part(
            "bert",
            clean_text=fields.flag("clean_text"),
            cjk_spacing=fields.flag("handle_chinese_chars"),
            # Null: as `lowercase`.
            strip_accents=fields.flag("strip_accents", lowercase),
            lowercase=lowercase,
        )
    ]


def _read_precompiled(fields: Fields) -> list[Part]:
    rules = fields.text("precompiled_charsmap", "")
    return [_part("precompiled", rules=rules, graphemes=True)] if rules else []


def _read_strip(fields: Fields) -> list[Part]:
    return [_part("strip", left=fields.flag("strip_left"), right=fields.flag("strip_right"))]


def read_pattern(fields: Fields) -> tuple[str, bool]:
    """The pattern of a `Replace` or `Split`, and whether it is a regular expression."""
    data = fields.data.get("pattern")
    if isinstance(data, dict) and len(data) == 1:
        ((kind, pattern),) = data.items()
        if kind in ("String", "Regex") and isinstance(pattern, str):
            return pattern, kind == "Regex"
    raise ValueError(f"the pattern of the {fields.family} {fields.type} is neither text nor regex")


def read_replace(fields: Fields) -> Json:
    """The options of a part `replace`."""
    pattern, regex = read_pattern(fields)
    content = fields.text("content")
    return {"pattern": native(pattern) if regex else pattern, "content": content, "regex": regex}


def _read_replace(fields: Fields) -> list[Part]:
    pattern, regex = read_pattern(fields)
    if regex:
        for kind, meant in _REPLACEMENTS.items():
            if (pattern, fields.data.get("content")) == meant:
                return [_part(kind)]
        for left, right in ((True, True), (True, False), (False, True)):
            part = _part("strip-spaces", left=left, right=right)
            if _strip_spaces(part) == fields.data:
                return [part]
    options = read_replace(fields)
    # An empty text is found between any two characters there; nobody means that.
    return [_part("replace", **options)]


def _read_prepend(fields: Fields) -> list[Part]:
    text = fields.text("prepend")
    return [_part("prepend", text=text)] if text else []


_READERS: dict[str, Reader] = {
    **{name: lambda fields: [_part(_KINDS[fields.type])] for name in _BARE.values()},
    "BertNormalizer": _read_bert,
    "Bert": _read_bert,
    "Precompiled": _read_precompiled,
    "Strip": _read_strip,
    "Replace": _read_replace,
    "Prepend": _read_prepend,
}
