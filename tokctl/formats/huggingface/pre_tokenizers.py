"""Pre-tokenizers: what each kind is there, and what theirs are here.

Definitions: `tokenizers/src/pre_tokenizers` of Hugging Face tokenizers.
"""

from __future__ import annotations

from typing import Any

from tokctl.errors import TokctlError
from tokctl.formats.huggingface.component import (
    Fields,
    InexpressibleError,
    Json,
    Reader,
    flatten,
    in_sequence,
    unknown_type,
)
from tokctl.formats.huggingface.normalizers import read_pattern
from tokctl.formats.huggingface.patterns import known_sequence, native, portable, scanner, spelled
from tokctl.model.parts import BEHAVIOURS, PRE_TOKENIZERS, Part

_part = PRE_TOKENIZERS.part

#: `merged-with-next` here is `MergedWithNext` there.
_BEHAVIOURS = {"".join(map(str.title, name.split("-"))): name for name in BEHAVIOURS}
_THEIR_BEHAVIOURS = {ours: theirs for theirs, ours in _BEHAVIOURS.items()}
#: Theirs is that of Unicode 8 in `BertPreTokenizer` and `Punctuation`; ours is today's.
_PUNCTUATION = "[\\p{P}$+<=>^`|~]"


def to_json(parts: tuple[Part, ...], *, of_bytes: bool) -> Json | None:
    """The component for pre-tokenizers; `InexpressibleError` where there is none."""
    components = []
    steps = list(parts)
    if of_bytes:
        use_regex = bool(steps) and steps[-1].kind == "gpt2"
        if use_regex:
            steps.pop()
        prefix = bool(steps) and steps[-1].kind == "prefix-space"
        if prefix:
            steps.pop()
        components.append(byte_level(add_prefix_space=prefix, use_regex=use_regex))
    before = [component for part in steps for component in _WRITERS[part.kind](part)]
    return in_sequence([*before, *components], "pretokenizers")


def byte_level(*, add_prefix_space: bool, use_regex: bool) -> Json:
    return {
        "type": "ByteLevel",
        "add_prefix_space": add_prefix_space,
        "trim_offsets": True,
        "use_regex": use_regex,
    }


def from_json(data: Any) -> tuple[list[Part], bool]:
    """The pre-tokenizers that a component stands for, and whether the last one spells bytes."""
    components = flatten(data, "pre-tokenizer", "pretokenizers")
    spells_bytes = bool(components) and components[-1].type == "ByteLevel"
    parts: list[Part] = []
    if spells_bytes:
        last = components.pop()
        if last.flag("add_prefix_space"):
            parts.append(_part("prefix-space"))
        if last.flag("use_regex", True):
            parts.append(_part("gpt2"))
    before: list[Part] = []
    known = known_sequence(isolating(fields) for fields in components)
    for fields in [] if known else components:
        if fields.type == "ByteLevel":
            raise TokctlError(
                "its pre-tokenizers go on splitting behind ByteLevel, where bytes are "
                "spelled as characters already",
                "tokctl reads ByteLevel as the last pre-tokenizer only",
            )
        if fields.type not in _READERS:
            raise unknown_type(fields)
        before += _READERS[fields.type](fields)
    if known:
        before = [_part(known)]
    return [*before, *parts], spells_bytes


def isolating(fields: Fields) -> str | None:
    """The regular expression of a `Split` that isolates what it matches, else None."""
    if fields.type != "Split":
        return None
    pattern, regex = read_pattern(fields)
    how = (fields.text("behavior"), fields.flag("invert"))
    return pattern if regex and how == ("Isolated", False) else None


# -- writing --------------------------------------------------------------------------


def _bare(name: str) -> Any:
    return lambda _part: [{"type": name}]


def _split_json(pattern: Json, behaviour: str, invert: bool = False) -> Json:
    return {
        "type": "Split",
        "pattern": pattern,
        "behavior": _THEIR_BEHAVIOURS[behaviour],
        "invert": invert,
    }


def _words(part: Part) -> list[Json]:
    """A native scanner that drops what its pattern does not match."""
    (pattern,) = spelled(part.kind)
    return [_split_json({"Regex": pattern}, "removed", invert=True)]


def _scanner(part: Part) -> list[Json]:
    """A native scanner that keeps everything."""
    return [_split_json({"Regex": pattern}, "isolated") for pattern in spelled(part.kind)]


def _split(part: Part) -> list[Json]:
    text = part["pattern"]
    pattern = {"Regex": portable(text)} if part["regex"] else {"String": text}
    return [_split_json(pattern, part["behaviour"], part["invert"])]


def _metaspace(part: Part) -> list[Json]:
    return [
        {
            "type": "Metaspace",
            "replacement": part["replacement"],
            "prepend_scheme": part["prepend"],
            "split": part["split"],
        }
    ]


def _delimiter(part: Part) -> list[Json]:
    if len(part["text"]) == 1:
        return [{"type": "CharDelimiterSplit", "delimiter": part["text"]}]
    return [_split_json({"String": part["text"]}, "removed")]


def _none_like_it(reason: str) -> Any:
    def refuse(_part: Part) -> list[Json]:
        raise InexpressibleError(reason)

    return refuse


_WRITERS: dict[str, Any] = {
    "whitespace": _bare("WhitespaceSplit"),
    "whitespace-punctuation": _bare("Whitespace"),
    "bert": _words,
    "gpt2-words": _words,
    **dict.fromkeys(("gpt2", "cl100k", "o200k", "llama3", "qwen2", "deepseek-v3"), _scanner),
    "metaspace": _metaspace,
    "punctuation": lambda part: [_split_json({"Regex": _PUNCTUATION}, part["behaviour"])],
    "digits": lambda part: [{"type": "Digits", "individual_digits": part["individual"]}],
    "scripts": _bare("UnicodeScripts"),
    "fixed": lambda part: [{"type": "FixedLength", "length": part["length"]}],
    "characters": lambda _part: [{"type": "FixedLength", "length": 1}],
    "graphemes": _none_like_it("its regular expressions find other graphemes"),
    "penn-treebank": _none_like_it("it does not know the Penn Treebank's words"),
    "delimiter": _delimiter,
    "split": _split,
    "prefix-space": _none_like_it("it puts a space before a text only last, on bytes"),
}


# -- reading --------------------------------------------------------------------------


def _read_split(fields: Fields) -> list[Part]:
    pattern, regex = read_pattern(fields)
    behaviour, invert = _behaviour(fields), fields.flag("invert")
    if regex:
        if kind := scanner(pattern, behaviour, invert):
            return [_part(kind)]
        if pattern == _PUNCTUATION and not invert:
            return [_part("punctuation", behaviour=behaviour)]
        pattern = native(pattern)
    return [_part("split", pattern=pattern, behaviour=behaviour, regex=regex, invert=invert)]


def _behaviour(fields: Fields, default: str | None = None) -> str:
    name = fields.text("behavior") if default is None else fields.text("behavior", default)
    if name not in _BEHAVIOURS:
        raise ValueError(f"the behavior {name!r} of the pre-tokenizer {fields.type} is none")
    return _BEHAVIOURS[name]


def _read_metaspace(fields: Fields) -> list[Part]:
    return [
        _part(
            "metaspace",
            prepend=read_prepending(fields),
            replacement=fields.character("replacement"),
            split=fields.flag("split", True),
        )
    ]


def read_prepending(fields: Fields) -> str:
    """When a Metaspace puts its character before a text; older files have a flag for it."""
    if fields.flag("add_prefix_space", True) is False:
        return "never"
    scheme = fields.text("prepend_scheme", "always")
    if scheme not in ("always", "first", "never"):
        raise ValueError(f"the prepend_scheme of the {fields.family} is {scheme!r}")
    return str(scheme)


def _read_length(fields: Fields) -> list[Part]:
    length = fields.number("length", 5)
    return [_part("characters") if length == 1 else _part("fixed", length=length)]


_READERS: dict[str, Reader] = {
    "BertPreTokenizer": lambda _fields: [_part("bert")],
    "Whitespace": lambda _fields: [_part("whitespace-punctuation")],
    "WhitespaceSplit": lambda _fields: [_part("whitespace")],
    "CharDelimiterSplit": lambda fields: [_part("delimiter", text=fields.character("delimiter"))],
    "Delimiter": lambda fields: [_part("delimiter", text=fields.character("delimiter"))],
    "Digits": lambda fields: [_part("digits", individual=fields.flag("individual_digits"))],
    "FixedLength": _read_length,
    "Metaspace": _read_metaspace,
    "Punctuation": lambda fields: [_part("punctuation", behaviour=_behaviour(fields, "Isolated"))],
    "Split": _read_split,
    "UnicodeScripts": lambda _fields: [_part("scripts")],
}
