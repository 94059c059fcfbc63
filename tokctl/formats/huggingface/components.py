"""Conversion between the parts of a pipeline and Hugging Face's components.

The module covers normalizers, pre-tokenizers, decoders, post-processors and added tokens. For each
family, tables map tokctl's kinds of part to Hugging Face's types and back, and name the kinds
without a counterpart. The definitions are in
`tokenizers/src/{normalizers,pre_tokenizers,decoders,processors}` of Hugging Face tokenizers 0.23.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from itertools import chain, count, repeat
from typing import Any, NamedTuple, NoReturn

from tokctl.core.errors import BadModel, TokctlError, Unsupported
from tokctl.core.values import brief
from tokctl.formats.contract import TRY_ANOTHER_FILE
from tokctl.formats.contract import UnsupportedByFormat as UnsupportedByFormat
from tokctl.model import Recipe
from tokctl.model.parts import (
    BEHAVIOURS,
    DECODERS,
    NORMALIZERS,
    POST_PROCESSORS,
    PRE_TOKENIZERS,
    AddedToken,
    Part,
    PartFamily,
    PartOption,
    bert_template,
    roberta_template,
    template_pieces,
)
from tokctl.model.patterns import (
    DEEPSEEK_V3,
    KNOWN_PATTERNS,
    KNOWN_SEQUENCES,
    LONGEST_GROUP,
    PATTERNS,
    check_size,
    compile_pattern,
    digit_groups,
    group_length,
)

# -- regular expressions: Oniguruma's in files, the `regex` package's in tokctl -----------

#: tiktoken's pattern for Oniguruma, where `$` also matches before a line feed and `{1,3}+` is not a
#: possessive quantifier.
_CL100K = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}|"
    r" ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++\z|\s*[\r\n]|\s+(?!\S)|\s"
)


def scanner_patterns(kind: str) -> tuple[str, ...]:
    """Return the patterns of a native scanner, to be applied in order.

    Each pattern isolates its matches. The patterns of `bert` and `gpt2-words` keep only their
    matches.
    """
    if kind == "cl100k":
        return (_CL100K,)
    if kind == "deepseek-v3":
        return DEEPSEEK_V3
    return (PATTERNS[kind],)


@cache
def _scanner_patterns() -> dict[str, str]:
    """Return the native scanners by their patterns in Oniguruma's syntax.

    cl100k has a pattern of its own, because Oniguruma reads `{1,3}+` differently.
    """
    return {_CL100K: "cl100k"} | {
        pattern: kind for pattern, kind in KNOWN_PATTERNS.items() if pattern != PATTERNS["cl100k"]
    }


@cache
def _scanner_trees() -> dict[Any, str]:
    from tokctl.model.regular_expressions import ONIGURUMA, parse

    return {parse(pattern, ONIGURUMA): kind for pattern, kind in _scanner_patterns().items()}


def _scanner_of_pattern(pattern: str) -> str | None:
    """Return the native scanner for a pattern, even if it is spelled differently, or None."""
    if kind := _scanner_patterns().get(pattern):
        return kind
    from tokctl.model.regular_expressions import ONIGURUMA, UnsupportedRegexError, parse

    try:
        return _scanner_trees().get(parse(pattern, ONIGURUMA))
    except UnsupportedRegexError:
        return None


def scanner_of(pattern: str, behaviour: str, invert: bool) -> str | None:
    """Return the native scanner that splits like a `Split` with a regular expression, or None.

    Args:
        pattern: the regular expression of the `Split`, for Oniguruma.
        behaviour: the behaviour of the `Split`, by tokctl's name.
        invert: whether the `Split` is inverted.
    """
    if (behaviour, invert) not in (("isolated", False), ("removed", True)):
        return None
    if kind := _scanner_of_pattern(pattern):
        return kind
    if invert:
        for kind in ("bert", "gpt2-words"):
            if pattern == PATTERNS[kind]:
                return kind
    return None


def known_sequence(patterns: Iterable[str | None]) -> str | None:
    """Return the native scanner that splits like a sequence of isolating `Split`s, or None.

    Args:
        patterns: the regular expressions; None for a component that is not such a `Split`.
    """
    known = tuple(patterns)
    return None if None in known else KNOWN_SEQUENCES.get(known)  # type: ignore[arg-type]


def native_pattern(pattern: str) -> str:
    """Return a pattern of Oniguruma translated for the `regex` package.

    Raises:
        TokctlError: the pattern can't be translated.
    """
    # Imported here because most files have known patterns, and need no parser.
    from tokctl.model.regular_expressions import (
        ONIGURUMA,
        PYTHON,
        UnsupportedRegexError,
        translate,
    )

    check_size(pattern)
    try:
        translated = translate(pattern, ONIGURUMA, PYTHON)
    except UnsupportedRegexError as error:
        raise Unsupported(
            f"its pattern {brief(pattern)} can't be translated for the regex package: {error}",
            "write the pattern without this construct",
        ) from None
    compile_pattern(translated)
    return translated


def portable_pattern(pattern: str) -> str:
    """Return a pattern of the `regex` package translated for Oniguruma.

    Raises:
        UnsupportedByFormat: the pattern can't be translated.
    """
    from tokctl.model.regular_expressions import (
        ONIGURUMA,
        PYTHON,
        UnsupportedRegexError,
        translate,
    )

    try:
        return translate(pattern, PYTHON, ONIGURUMA)
    except UnsupportedRegexError as error:
        raise UnsupportedByFormat(
            f"its pattern can't be translated for Oniguruma: {error}"
        ) from None


Json = dict[str, Any]
#: The type of functions that return the id of a token, by text.
Ids = Callable[[str], int | None]

# -- reading fields of components ----------------------------------------------------

#: Deepest nesting of sequences. No tokenizer comes near it.
_DEEPEST = 20
_REQUIRED = object()
_NAMES = {str: "a text", bool: "true or false", int: "a whole number"}


class Fields:
    """The fields of a component, checked when they are read.

    Attributes:
        family: the name of the component in messages, `normalizer` for example.
        data: the component as a JSON object.
    """

    def __init__(self, family: str, data: Any) -> None:
        if not isinstance(data, dict):
            raise ValueError(f"a {family} is {brief(data)}, and should be an object")
        self.family = family
        self.data: Json = data

    def text(self, name: str, default: Any = _REQUIRED) -> Any:
        """Return the text in a field, or `default` if the field is missing or null."""
        return self._typed(name, str, default)

    def flag(self, name: str, default: Any = _REQUIRED) -> Any:
        """Return the boolean in a field, or `default` if the field is missing or null."""
        return self._typed(name, bool, default)

    def number(self, name: str, default: Any = _REQUIRED) -> Any:
        """Return the whole number in a field, or `default` if the field is missing or null."""
        return self._typed(name, int, default)

    def replace(self, **values: Any) -> Fields:
        """Return the component with other values in some fields."""
        return Fields(self.family, {**self.data, **values})

    def character(self, name: str) -> str:
        """Return the text in a field, which must be one character."""
        text = self.text(name)
        if len(text) != 1:
            raise ValueError(self._wrong(name, text, "one character"))
        return str(text)

    def option(self, name: str, option: PartOption) -> Any:
        """Return the value of a field for an option of a part."""
        return self.character(name) if option.one_character else self._typed(name, option.type)

    @property
    def type(self) -> str:
        """The type of the component."""
        return str(self.text("type"))

    def _typed(self, name: str, wanted: Any, default: Any = _REQUIRED) -> Any:
        value = self.data.get(name)
        if value is None and default is not _REQUIRED:
            return default
        if type(value) is not wanted:
            raise ValueError(self._wrong(name, value, _NAMES[wanted]))
        return value

    def _wrong(self, name: str, value: Any, wanted: str) -> str:
        kind = self.data.get("type")
        named = f" {kind}" if isinstance(kind, str) else ""
        return f"{name!r} of the {self.family}{named} is {brief(value)}, and should be {wanted}"


def unknown_type(fields: Fields) -> TokctlError:
    """Return the error for a component of an unknown type."""
    return Unsupported(
        f"its {fields.family} {brief(fields.type)} is not one that tokctl knows",
        "tokctl supports the components of Hugging Face tokenizers 0.23",
    )


def _flatten(data: Any, family: str, key: str, depth: int = 0) -> list[Fields]:
    """Return the components of nested sequences in order; `key` is the field with the members."""
    if data is None:
        return []
    if depth > _DEEPEST:
        raise ValueError(f"the {family}s are nested too deeply")
    fields = Fields(family, data)
    if fields.type != "Sequence":
        return [fields]
    members = fields.data.get(key)
    if not isinstance(members, list):
        raise ValueError(f"{key!r} of the {family} Sequence is not a list")
    return [
        component for member in members for component in _flatten(member, family, key, depth + 1)
    ]


def _sequence_json(components: Iterable[Json], key: str) -> Json | None:
    """Return one component for all: null for none, a Sequence for several."""
    listed = list(components)
    if len(listed) < 2:
        return listed[0] if listed else None
    return {"type": "Sequence", key: listed}


#: The type of functions that return the parts for a component, or raise TokctlError.
_Reader = Callable[[Fields], "list[Part]"]


def _read_each(components: list[Fields], readers: dict[str, _Reader]) -> list[Part]:
    parts: list[Part] = []
    for fields in components:
        if fields.type not in readers:
            raise unknown_type(fields)
        parts += readers[fields.type](fields)
    return parts


class Component(NamedTuple):
    """A component that corresponds to one kind of part, in both directions.

    Attributes:
        type: the type of the component.
        kind: the kind of the part.
        fields: the part's options by the component's fields, in the order of writing.
    """

    type: str
    kind: str
    fields: Mapping[str, str] = {}

    def write(self, part: Part) -> Json:
        """Return the component for a part."""
        return {"type": self.type, **{field: part[name] for field, name in self.fields.items()}}

    def read(self, family: PartFamily, fields: Fields) -> list[Part]:
        """Return a list of the part for a component."""
        options = family.kinds[self.kind].options
        values = {name: fields.option(field, options[name]) for field, name in self.fields.items()}
        return [family.part(self.kind, **values)]


def _refuse(reason: str) -> Callable[[Part], NoReturn]:
    """Return a writer for parts without a counterpart, which raises UnsupportedByFormat."""

    def refuse(_part: Part) -> NoReturn:
        raise UnsupportedByFormat(reason)

    return refuse


def _read_pattern(fields: Fields) -> tuple[str, bool]:
    """Return the pattern of a `Replace` or `Split`, and whether it is a regular expression."""
    data = fields.data.get("pattern")
    if isinstance(data, dict) and len(data) == 1:
        ((kind, pattern),) = data.items()
        if kind in ("String", "Regex") and isinstance(pattern, str):
            return pattern, kind == "Regex"
    raise ValueError(f"the pattern of the {fields.family} {fields.type} is neither text nor regex")


def _pattern(part: Part) -> str:
    return portable_pattern(part["pattern"]) if part["regex"] else str(part["pattern"])


def pattern_json(pattern: str, *, regex: bool) -> Json:
    """Return the field `pattern` of a `Replace` or `Split`."""
    return {"Regex" if regex else "String": pattern}


def replace_json(pattern: str, content: str, *, regex: bool = False) -> Json:
    """Return a `Replace` of a text, or of the matches of a regular expression."""
    return {"type": "Replace", "pattern": pattern_json(pattern, regex=regex), "content": content}


def _replace(part: Part) -> Json:
    if part["regex"] and part["pattern"] == _EMPTY_PATTERN:
        return replace_json("", part["content"])
    return replace_json(_pattern(part), part["content"], regex=part["regex"])


#: Hugging Face finds an empty pattern before each character and at the end.
_EMPTY_PATTERN = "(?:)"


def _replacement(fields: Fields) -> Json:
    """Return the options of a part `replace`."""
    pattern, regex = _read_pattern(fields)
    content = fields.text("content")
    if not pattern:
        pattern, regex = _EMPTY_PATTERN, True
    return {
        "pattern": native_pattern(pattern) if regex else pattern,
        "content": content,
        "regex": regex,
    }


def _read_prepending(fields: Fields) -> str:
    """Return when a Metaspace prepends its character; older files have a flag."""
    if fields.flag("add_prefix_space", True) is False:
        return "never"
    scheme = fields.text("prepend_scheme", "always")
    if scheme not in ("always", "first", "never"):
        raise ValueError(f"the prepend_scheme of the {fields.family} is {scheme!r}")
    return str(scheme)


# -- normalizers ----------------------------------------------------------------------


def write_normalizers(parts: tuple[Part, ...]) -> Json | None:
    """Return the component for normalizers.

    Raises:
        UnsupportedByFormat: a normalizer has no counterpart.
    """
    return _sequence_json((_NORMALIZER_WRITERS[part.kind](part) for part in parts), "normalizers")


def read_normalizers(data: Any) -> tuple[list[Part], bool]:
    """Return the normalizers for a component, and whether the last one spells bytes.

    tokctl has no normalizer `ByteLevel`: a byte-level model needs none, and other models get a
    pre-tokenizer instead.
    """
    components = _flatten(data, "normalizer", "normalizers")
    spells_bytes = bool(components) and components[-1].type == "ByteLevel"
    if spells_bytes:
        components.pop()
    return _read_each(components, _NORMALIZER_READERS), spells_bytes


#: Kinds that Hugging Face has as a replacement: the pattern and the content.
_REPLACEMENTS = {
    "delete-newlines": (r"[\r\n]", ""),
    "collapse-spaces": (" {2,}", " "),
}
_BERT = Component(
    "BertNormalizer",
    "bert",
    {
        "clean_text": "clean_text",
        "handle_chinese_chars": "cjk_spacing",
        "strip_accents": "strip_accents",
        "lowercase": "lowercase",
    },
)
_STRIP = Component("Strip", "strip", {"strip_left": "left", "strip_right": "right"})
_PREPEND = Component("Prepend", "prepend", {"prepend": "text"})
_NORMALIZERS = (
    Component("NFC", "nfc"),
    Component("NFD", "nfd"),
    Component("NFKC", "nfkc"),
    Component("NFKD", "nfkd"),
    Component("Lowercase", "lowercase"),
    Component("StripAccents", "strip-accents"),
    Component("Nmt", "nmt"),
    _BERT,
    _STRIP,
    _PREPEND,
)

#: The characters that SentencePiece's nmt rules delete or turn into spaces, in addition to NFKC.
_NMT_DELETED = r"[\x{1}-\x{8}\x{B}\x{E}-\x{1F}\x{7F}\x{8F}\x{9F}]"
_NMT_SPACES = (
    r"[\t\n\x{C}\r\x{61C}\x{1680}\x{200B}\x{200C}\x{200E}\x{200F}\x{2028}\x{2029}"
    r"\x{2581}\x{FEFF}\x{FFFD}]"
)
#: The fullwidth tilde, which the nmt rules keep, and a noncharacter that protects it from NFKC.
_TILDE, _HIDDEN = "\uff5e", "\ufdd0"


def _nfkc_rules(part: Part) -> Json:
    """Return SentencePiece's rules in terms of NFKC.

    The rules equal NFKC on composed and on decomposed text. They leave partly composed text (ê and
    U+0300) as it is, and NFKC composes it. (With `Precompiled`, the other way to write the rules,
    decomposed text would lose its marks.)
    """
    _check_keeps_nothing(part)
    nfkc: Json = {"type": "NFKC"}
    if part.kind == "sp_nfkc":
        return nfkc

    steps = [
        replace_json(_TILDE, _HIDDEN),
        replace_json(_NMT_SPACES, " ", regex=True),
        nfkc,
        # Deleting comes after NFKC, which would otherwise compose the characters on both sides.
        replace_json(_NMT_DELETED, "", regex=True),
        replace_json(_HIDDEN, _TILDE),
    ]
    return {"type": "Sequence", "normalizers": steps}


def _check_keeps_nothing(part: Part) -> None:
    if part["keep"]:
        raise UnsupportedByFormat("it normalizes user-defined pieces, too")


def _refuse_rules(part: Part) -> Json:
    raise UnsupportedByFormat(
        f"it applies SentencePiece's rules ({part.kind}) to a whole grapheme or to one "
        "character, not to what they match"
    )


def _precompiled(part: Part) -> Json:
    if not part["graphemes"]:
        return _refuse_rules(part)
    _check_keeps_nothing(part)
    return {"type": "Precompiled", "precompiled_charsmap": part["rules"]}


def _read_precompiled(fields: Fields) -> list[Part]:
    rules = fields.text("precompiled_charsmap", "")
    return [NORMALIZERS.part("precompiled", rules=rules, graphemes=True)] if rules else []


def _read_bert_normalizer(fields: Fields) -> list[Part]:
    # Null means the value of `lowercase`.
    strip_accents = fields.flag("strip_accents", fields.flag("lowercase"))
    return _BERT.read(NORMALIZERS, fields.replace(strip_accents=strip_accents))


def _strip_spaces(part: Part) -> Json:
    ends = [r"\A +"] * part["left"] + [r" +\z"] * part["right"]
    if not ends:
        return _STRIP.write(part)
    return replace_json("|".join(ends), "", regex=True)


def _named_replacement(part: Part) -> Json:
    return replace_json(*_REPLACEMENTS[part.kind], regex=True)


def _read_replace(fields: Fields) -> list[Part]:
    pattern, regex = _read_pattern(fields)
    if regex:
        for kind, replacement in _REPLACEMENTS.items():
            if (pattern, fields.data.get("content")) == replacement:
                return [NORMALIZERS.part(kind)]
        for left, right in ((True, True), (True, False), (False, True)):
            part = NORMALIZERS.part("strip-spaces", left=left, right=right)
            if _strip_spaces(part) == fields.data:
                return [part]
    # `_replacement` handles an empty text, which the library finds between any two characters.
    return [NORMALIZERS.part("replace", **_replacement(fields))]


def _read_prepend(fields: Fields) -> list[Part]:
    return _PREPEND.read(NORMALIZERS, fields) if fields.text("prepend") else []


_NORMALIZER_WRITERS: dict[str, Callable[[Part], Json]] = {
    **{one.kind: one.write for one in _NORMALIZERS},
    **dict.fromkeys(_REPLACEMENTS, _named_replacement),
    **dict.fromkeys(("nmt_nfkc", "sp_nfkc"), _nfkc_rules),
    **dict.fromkeys(("nmt_nfkc_cf", "nfkc_cf"), _refuse_rules),
    "precompiled": _precompiled,
    "strip-spaces": _strip_spaces,
    "replace": _replace,
    "dummy-space": _refuse("it puts no space before a text that normalizing leaves nothing of"),
}
_NORMALIZER_READERS: dict[str, _Reader] = {
    **{one.type: partial(one.read, NORMALIZERS) for one in _NORMALIZERS},
    **dict.fromkeys(("BertNormalizer", "Bert"), _read_bert_normalizer),
    "Precompiled": _read_precompiled,
    "Replace": _read_replace,
    "Prepend": _read_prepend,
}


# -- pre-tokenizers -------------------------------------------------------------------


def write_pre_tokenizers(parts: tuple[Part, ...], *, is_byte_level: bool) -> Json | None:
    """Return the component for pre-tokenizers.

    Args:
        parts: the pre-tokenizers.
        is_byte_level: whether to spell bytes in the last step.

    Raises:
        UnsupportedByFormat: a pre-tokenizer has no counterpart.
    """
    components: list[Json] = []
    steps = [*parts, *[BYTE_LEVEL] * is_byte_level]
    while steps:
        for length, (prefix, use_regex) in _BYTE_LEVEL_STEPS.items():
            if [part.kind for part in steps[: len(length)]] == [*length]:
                components.append(byte_level(prefix, regex=use_regex))
                del steps[: len(length)]
                break
        else:
            part = steps.pop(0)
            if part.kind in _KEEPING_SCANNERS:
                patterns = scanner_patterns(part.kind)
                components += [_split_json(pattern, "isolated", regex=True) for pattern in patterns]
            else:
                components.append(_PRE_TOKENIZER_WRITERS[part.kind](part))
    return _sequence_json(components, "pretokenizers")


#: The parts of a ByteLevel, with its values of `add_prefix_space` and `use_regex`.
BYTE_LEVEL = PRE_TOKENIZERS.part("byte-level")
_BYTE_LEVEL_STEPS = {
    ("prefix-space", "gpt2", "byte-level"): (True, True),
    ("prefix-space", "byte-level"): (True, False),
    ("gpt2", "byte-level"): (False, True),
    ("byte-level",): (False, False),
}


def byte_level(prefix: Any = False, *, regex: bool = True) -> Json:
    """Return a ByteLevel: a pre-tokenizer, a decoder, or a post-processor that trims offsets.

    Args:
        prefix: whether to put a space before the text.
        regex: whether to split with GPT-2's pattern.
    """
    return {
        "type": "ByteLevel",
        "add_prefix_space": prefix,
        "trim_offsets": True,
        "use_regex": regex,
    }


def read_pre_tokenizers(data: Any) -> list[Part]:
    """Return the pre-tokenizers for a component, with a `byte-level` where bytes are spelled."""
    components = _flatten(data, "pre-tokenizer", "pretokenizers")
    byte_level_parts: list[Part] = []
    if components and components[-1].type == "ByteLevel":
        byte_level_parts = _read_byte_level(components.pop())
    if known := known_sequence(map(_isolating, components)):
        return [PRE_TOKENIZERS.part(known), *byte_level_parts]
    return [*_read_each(components, _PRE_TOKENIZER_READERS), *byte_level_parts]


def _read_byte_level(fields: Fields) -> list[Part]:
    parts: list[Part] = []
    if fields.flag("add_prefix_space"):
        parts.append(PRE_TOKENIZERS.part("prefix-space"))
    if fields.flag("use_regex", True):
        parts.append(PRE_TOKENIZERS.part("gpt2"))
    return [*parts, BYTE_LEVEL]


def _isolating(fields: Fields) -> str | None:
    """Return the regular expression of a `Split` that isolates its matches, otherwise None."""
    if fields.type != "Split":
        return None
    pattern, regex = _read_pattern(fields)
    behaviour = (fields.text("behavior"), fields.flag("invert"))
    return pattern if regex and behaviour == ("Isolated", False) else None


#: Hugging Face's names for tokctl's behaviours: `MergedWithNext` is `merged-with-next`.
_BEHAVIOURS = {"".join(map(str.title, name.split("-"))): name for name in BEHAVIOURS}
_BEHAVIOUR_NAMES = {ours: theirs for theirs, ours in _BEHAVIOURS.items()}
#: Current Unicode punctuation. `BertPreTokenizer` and `Punctuation` use Unicode 8.
_PUNCTUATION = "[\\p{P}$+<=>^`|~]"


def _split_json(pattern: str, behaviour: str, *, regex: bool, invert: bool = False) -> Json:
    return {
        "type": "Split",
        "pattern": pattern_json(pattern, regex=regex),
        "behavior": _BEHAVIOUR_NAMES[behaviour],
        "invert": invert,
    }


#: Native scanners that keep all text, and those that drop text between matches.
_KEEPING_SCANNERS = ("gpt2", "cl100k", "o200k", "llama3", "qwen2", "deepseek-v3")
_DROPPING_SCANNERS = ("bert", "gpt2-words")


def _dropping_scanner(part: Part) -> Json:
    return _split_json(PATTERNS[part.kind], "removed", regex=True, invert=True)


def _split(part: Part) -> Json:
    behaviour, regex = part["behaviour"], part["regex"]
    return _split_json(_pattern(part), behaviour, regex=regex, invert=part["invert"])


def _read_split(fields: Fields) -> list[Part]:
    pattern, regex = _read_pattern(fields)
    behaviour, invert = _behaviour(fields), fields.flag("invert")
    if regex:
        if kind := scanner_of(pattern, behaviour, invert):
            return [PRE_TOKENIZERS.part(kind)]
        if pattern == _PUNCTUATION and not invert:
            return [PRE_TOKENIZERS.part("punctuation", behaviour=behaviour)]
        if (length := group_length(pattern)) and behaviour == "isolated":
            return [PRE_TOKENIZERS.part("digit-groups", length=length)]
        if (match := re.fullmatch(_DIGIT_CUTS, pattern)) and behaviour == "isolated" and not invert:
            return [PRE_TOKENIZERS.part("digit-cuts", length=int(match[1]))]
        pattern = native_pattern(pattern)
    options = {"pattern": pattern, "behaviour": behaviour, "regex": regex, "invert": invert}
    return [PRE_TOKENIZERS.part("split", **options)]


def _behaviour(fields: Fields, default: str | None = None) -> str:
    name = fields.text("behavior") if default is None else fields.text("behavior", default)
    if name not in _BEHAVIOURS:
        raise ValueError(
            f"invalid value {name!r} for the behavior of the pre-tokenizer {fields.type}"
        )
    return _BEHAVIOURS[name]


def _metaspace(part: Part, *, split: bool) -> Json:
    return {
        "type": "Metaspace",
        "replacement": part["replacement"],
        "prepend_scheme": part["prepend"],
        "split": split,
    }


def _read_metaspace(fields: Fields) -> list[Part]:
    return [
        PRE_TOKENIZERS.part(
            "metaspace",
            prepend=_read_prepending(fields),
            replacement=fields.character("replacement"),
            split=fields.flag("split", True),
        )
    ]


def _digit_groups(part: Part) -> Json:
    if part["length"] > LONGEST_GROUP:
        raise UnsupportedByFormat(f"its patterns repeat no more than {LONGEST_GROUP:,} times")
    return _split_json(digit_groups(part["length"]), "isolated", regex=True)


#: Matches SuperBPE's patterns for numbers, which match the empty text before each group.
_DIGIT_CUTS = r"\(\?=\(\\d\{([1-9]\d{0,2})\}\)\+\(\?!\\d\)\)"


def _digit_cuts(part: Part) -> Json:
    if part["length"] > LONGEST_GROUP:
        raise UnsupportedByFormat(f"its patterns repeat no more than {LONGEST_GROUP:,} times")
    return _split_json(rf"(?=(\d{{{part['length']}}})+(?!\d))", "isolated", regex=True)


def _delimiter(part: Part) -> Json:
    if len(part["text"]) == 1:
        return {"type": "CharDelimiterSplit", "delimiter": part["text"]}
    return _split_json(part["text"], "removed", regex=False)


def _read_delimiter(fields: Fields) -> list[Part]:
    return [PRE_TOKENIZERS.part("delimiter", text=fields.character("delimiter"))]


def _read_length(fields: Fields) -> list[Part]:
    length = fields.number("length", 5)
    if length == 1:
        return [PRE_TOKENIZERS.part("characters")]
    return [PRE_TOKENIZERS.part("fixed", length=length)]


def _read_punctuation(fields: Fields) -> list[Part]:
    return [PRE_TOKENIZERS.part("punctuation", behaviour=_behaviour(fields, "Isolated"))]


_PRE_TOKENIZERS = (
    Component("WhitespaceSplit", "whitespace"),
    Component("Whitespace", "whitespace-punctuation"),
    Component("Digits", "digits", {"individual_digits": "individual"}),
    Component("UnicodeScripts", "scripts"),
)
_PRE_TOKENIZER_WRITERS: dict[str, Callable[[Part], Json]] = {
    **{one.kind: one.write for one in _PRE_TOKENIZERS},
    **dict.fromkeys(_DROPPING_SCANNERS, _dropping_scanner),
    "metaspace": lambda part: _metaspace(part, split=part["split"]),
    "punctuation": lambda part: _split_json(_PUNCTUATION, part["behaviour"], regex=True),
    "digit-groups": _digit_groups,
    "digit-cuts": _digit_cuts,
    "fixed": lambda part: {"type": "FixedLength", "length": part["length"]},
    "characters": lambda _part: {"type": "FixedLength", "length": 1},
    "graphemes": _refuse("its regular expressions find other graphemes"),
    "penn-treebank": _refuse("it does not know the Penn Treebank's words"),
    "delimiter": _delimiter,
    "split": _split,
    "prefix-space": _refuse("it puts a space before a text only last, on bytes"),
}
_PRE_TOKENIZER_READERS: dict[str, _Reader] = {
    **{one.type: partial(one.read, PRE_TOKENIZERS) for one in _PRE_TOKENIZERS},
    "BertPreTokenizer": lambda _fields: [PRE_TOKENIZERS.part("bert")],
    "ByteLevel": _read_byte_level,
    **dict.fromkeys(("CharDelimiterSplit", "Delimiter"), _read_delimiter),
    "FixedLength": _read_length,
    "Metaspace": _read_metaspace,
    "Punctuation": _read_punctuation,
    "Split": _read_split,
}


# -- decoders -------------------------------------------------------------------------


def write_decoders(recipe: Recipe) -> Json | None:
    """Return the component for a recipe's decoders, or for its marker if it has no decoders.

    Raises:
        UnsupportedByFormat: a decoder has no counterpart.
    """
    if [part.kind for part in recipe.decoders] == ["join"]:
        return None
    if recipe.is_byte_level and recipe.decoders and recipe.decoders[0].kind != "byte-level":
        raise UnsupportedByFormat(
            f"its decoder {recipe.decoders[0].kind} would get bytes as they are spelled, not the "
            "bytes themselves"
        )
    if recipe.decoders:
        return _sequence_json(
            (_DECODER_WRITERS[part.kind](part) for part in recipe.decoders), "decoders"
        )
    if recipe.is_byte_level:
        return byte_level()
    if recipe.marker.is_continuation:
        return {"type": "WordPiece", "prefix": recipe.marker.text, "cleanup": False}
    if recipe.marker.is_end_fused:
        return {"type": "BPEDecoder", "suffix": recipe.marker.text}
    return {"type": "Fuse"}


def undoes_bytes(data: Any) -> bool:
    """Return whether a decoder first turns the spelling of bytes back into bytes."""
    components = _flatten(data, "decoder", "decoders")
    return bool(components) and components[0].type == "ByteLevel"


def read_decoders(data: Any, *, is_byte_level: bool) -> list[Part]:
    """Return the decoders for a component.

    Args:
        data: the component.
        is_byte_level: whether the model is byte-level.
    """
    components = _flatten(data, "decoder", "decoders")
    if not components:
        # Without a decoder, the library puts a space between tokens, even in byte-level models.
        return [DECODERS.part("join")]
    if is_byte_level and [fields.type for fields in components] == ["ByteLevel"]:
        # A byte-level model decodes like this without any decoder.
        return []
    return _read_each(components, _DECODER_READERS)


_CTC = Component(
    "CTC",
    "ctc",
    {"pad_token": "pad", "word_delimiter_token": "word_delimiter", "cleanup": "cleanup"},
)
_DECODERS = (
    Component("WordPiece", "wordpiece", {"prefix": "prefix", "cleanup": "cleanup"}),
    Component("ByteFallback", "byte-fallback"),
    Component("BPEDecoder", "bpe-suffix", {"suffix": "suffix"}),
    Component("Fuse", "fuse"),
    Component("Strip", "strip", {"content": "content", "start": "start", "stop": "stop"}),
    _CTC,
)


def _read_ctc(fields: Fields) -> list[Part]:
    if fields.flag("cleanup") and not fields.text("word_delimiter_token"):
        raise Unsupported(
            "its CTC decoder has an empty word delimiter, which puts a space between any two "
            "characters",
            "give word_delimiter_token a text, for example |",
        )
    # Without cleanup, the delimiter has no effect.
    delimiter = fields.text("word_delimiter_token") or "|"
    return _CTC.read(DECODERS, fields.replace(word_delimiter_token=delimiter))


def _read_metaspace_decoder(fields: Fields) -> list[Part]:
    replacement = fields.character("replacement")
    prepend = _read_prepending(fields)
    return [DECODERS.part("metaspace", prepend=prepend, replacement=replacement)]


_DECODER_WRITERS: dict[str, Callable[[Part], Json]] = {
    **{one.kind: one.write for one in _DECODERS},
    "byte-level": lambda _part: byte_level(),
    "metaspace": lambda part: _metaspace(part, split=True),
    "replace": _replace,
    "join": _refuse("it puts spaces between tokens only without any decoder"),
}
_DECODER_READERS: dict[str, _Reader] = {
    **{one.type: partial(one.read, DECODERS) for one in _DECODERS},
    "ByteLevel": lambda _fields: [DECODERS.part("byte-level")],
    "Metaspace": _read_metaspace_decoder,
    "Replace": lambda fields: [DECODERS.part("replace", **_replacement(fields))],
    "CTC": _read_ctc,
}


# -- post-processors ------------------------------------------------------------------


def write_post_processors(parts: tuple[Part, ...], ids: dict[str, int]) -> Json | None:
    """Return the component for post-processors.

    Args:
        parts: the post-processors.
        ids: the ids of the special tokens, by text.
    """
    return _sequence_json((_write_post_processor(part, ids) for part in parts), "processors")


def _write_post_processor(part: Part, ids: dict[str, int]) -> Json:
    if part.kind == "trim-offsets":
        return byte_level(part["prefix_space"])
    template = {name: _template_json(part[name]) for name in ("single", "pair")}
    processor: Json = with_ids({"type": "TemplateProcessing", **template}, ids)
    return processor


def _template_json(template: str) -> list[Json]:
    return [
        {"Sequence": {"id": piece.sequence, "type_id": piece.type_id}}
        if piece.sequence
        else {"SpecialToken": {"id": piece.token, "type_id": piece.type_id}}
        for piece in template_pieces(template)
    ]


def with_ids(processor: Any, ids: Mapping[str, int]) -> Any:
    """Return the template with the ids of its tokens, and any other component unchanged.

    Args:
        processor: a post-processor, or None.
        ids: the ids of the tokens, by text.

    Raises:
        TokctlError: the template names a text that is not a token.
    """
    if not isinstance(processor, dict) or "special_tokens" in processor:
        return processor
    if processor.get("type") == "Sequence" and isinstance(processor.get("processors"), list):
        return processor | {
            "processors": [with_ids(member, ids) for member in processor["processors"]]
        }
    if processor.get("type") != "TemplateProcessing":
        return processor
    pieces = [*processor["single"], *processor["pair"]]
    names = sorted({piece["SpecialToken"]["id"] for piece in pieces if "SpecialToken" in piece})
    if missing := [name for name in names if name not in ids]:
        raise BadModel(
            f"its template names {missing[0]!r}, which is not a token",
            TRY_ANOTHER_FILE,
            "damaged-model",
        )
    tokens = {name: {"id": name, "ids": [ids[name]], "tokens": [name]} for name in names}
    return processor | {"special_tokens": tokens}


def read_post_processors(data: Any, ids: Ids) -> list[Part]:
    """Return the post-processors for a component.

    Args:
        data: the component.
        ids: the function that returns the id of any token, added tokens included.

    Raises:
        TokctlError: there are two templates, or a token has another id in the vocabulary.
    """
    readers: dict[str, _Reader] = {
        "TemplateProcessing": partial(_read_template, ids=ids),
        "BertProcessing": lambda fields: [bert_template(*_ends(fields, ids))],
        "RobertaProcessing": lambda fields: [
            *_read_trimming(fields),
            roberta_template(*_ends(fields, ids)),
        ],
        "ByteLevel": _read_trimming,
    }
    parts = _read_each(_flatten(data, "post-processor", "processors"), readers)
    if sum(part.kind == "template" for part in parts) > 1:
        raise Unsupported("it has two templates, and tokctl supports one", TRY_ANOTHER_FILE)
    return parts


def _read_trimming(fields: Fields) -> list[Part]:
    if not fields.flag("trim_offsets"):
        return []
    return [POST_PROCESSORS.part("trim-offsets", prefix_space=fields.flag("add_prefix_space"))]


def _ends(fields: Fields, ids: Ids) -> Iterator[str]:
    """Yield the two tokens that are put around a text."""
    for name in ("cls", "sep"):
        value = fields.data.get(name)
        if not isinstance(value, list) or len(value) != 2:
            raise ValueError(
                f"{name!r} of the post-processor {fields.type} is not a token with its id"
            )
        yield _checked_token(value[0], value[1], ids)


def _checked_token(name: Any, id_: Any, ids: Ids) -> str:
    if not isinstance(name, str) or ids(name) != id_ or type(id_) is not int:
        raise BadModel(
            f"its post-processor gives {name!r} the id {id_!r}, which its vocabulary does not",
            TRY_ANOTHER_FILE,
            "damaged-model",
        )
    return name


def _read_template(fields: Fields, *, ids: Ids) -> list[Part]:
    tokens = fields.data.get("special_tokens")
    if not isinstance(tokens, dict):
        raise ValueError(
            "the special_tokens of the post-processor TemplateProcessing are not an object"
        )
    texts = [_read_pieces(fields.data.get(name), tokens, ids) for name in ("single", "pair")]
    return [POST_PROCESSORS.part("template", single=texts[0], pair=texts[1])]


def _read_pieces(pieces: Any, tokens: Json, ids: Ids) -> str:
    if not isinstance(pieces, list):
        raise ValueError("a template of the post-processor TemplateProcessing is not a list")
    words = []
    for piece in pieces:
        if not isinstance(piece, dict) or len(piece) != 1:
            raise ValueError("a piece of a template is not an object with one key")
        ((kind, data),) = piece.items()
        fields = Fields("piece of a template", data)
        name, type_id = fields.text("id"), fields.number("type_id")
        if kind == "Sequence" and name in ("A", "B"):
            words.append(f"${name}:{type_id}" if type_id else f"${name}")
            continue
        if kind != "SpecialToken":
            raise ValueError(f"a piece of a template is a {kind} {name!r}")
        token = Fields("token of a template", tokens.get(name))
        for text, id_ in zip(token.data["tokens"], token.data["ids"], strict=True):
            words.append(_template_piece(_checked_token(text, id_, ids), type_id))
    return " ".join(words)


def _template_piece(text: str, type_id: int) -> str:
    """Return a piece of tokctl's template, with its type id unless that is 0 and unambiguous."""
    if re.search(r"\s", text) or not text:
        raise Unsupported(
            f"its template names the token {text!r}, and tokctl's templates are split at spaces",
            TRY_ANOTHER_FILE,
        )
    return f"{text}:{type_id}" if type_id or re.search(r":[0-9]{1,9}$", text) else text


# -- added tokens ---------------------------------------------------------------------


def write_added_tokens(tokens: tuple[AddedToken, ...]) -> list[Json]:
    """Return the list of added tokens.

    Raises:
        UnsupportedByFormat: Hugging Face can't find a token in the same way.
    """
    for token in tokens:
        if token.normalized and token.literal:
            raise UnsupportedByFormat(
                f"it would normalize the spelling of the added token {token.text!r}, too"
            )
    return [
        {
            "id": token.id,
            "content": token.text,
            "single_word": token.single_word,
            "lstrip": token.strip_left,
            "rstrip": token.strip_right,
            "normalized": token.normalized,
            "special": token.special and not token.named,
        }
        for token in sorted(tokens, key=lambda token: token.id)
        if token.listed
    ]


def read_added_tokens(data: Any, ids: Ids, size: int) -> list[AddedToken]:
    """Return the added tokens of a list, with the ids that Hugging Face's library gives them.

    A token of the model's vocabulary keeps its id, and any other token gets the next free one. The
    library ignores the ids in the list.

    Args:
        data: the list of added tokens, or None.
        ids: the function that returns the id of a token in the model's vocabulary.
        size: the number of tokens in that vocabulary.

    Raises:
        ValueError: an entry is damaged.
    """
    if data is None:
        return []
    if not isinstance(data, list):
        raise ValueError("the added tokens are not a list")
    entries = [entry for entry in data if not _is_empty(entry)]
    texts, listed, *flags, normalized = _columns(entries)
    if listed and not 0 <= min(listed) <= max(listed) < 2**32:
        raise ValueError(f"an added token has the id {min(listed)} or {max(listed)}")
    if len(set(texts)) != len(texts):
        texts, _, *flags, normalized = _columns(_merge_repeated(entries))
    vocabulary_ids = list(map(ids, texts))
    free_ids = count(size)
    token_ids = [next(free_ids) if id_ is None else id_ for id_ in vocabulary_ids]
    special = flags[0]
    normalized = [
        not is_special if flag is None else flag
        for flag, is_special in zip(normalized, special, strict=True)
    ]
    ordinary = [
        id_ is not None and not is_special
        for id_, is_special in zip(vocabulary_ids, special, strict=True)
    ]
    made = [
        id_ is not None and is_special
        for id_, is_special in zip(vocabulary_ids, special, strict=True)
    ]
    no, yes = repeat(False), repeat(True)
    rows = zip(texts, token_ids, *flags, normalized, no, ordinary, no, yes, made, no)  # noqa: B905
    return list(map(partial(tuple.__new__, AddedToken), rows))


def _merge_repeated(entries: list[Json]) -> list[Json]:
    """Return one entry for each text, in the order of first entries.

    Of several entries with one text, the last one counts. But a token that any of them calls
    special stays special.
    """
    entries_by_text = {entry["content"]: entry for entry in entries}
    special = {entry["content"] for entry in entries if entry.get("special")}
    return [
        {**entry, "special": True, "normalized": entry.get("normalized", not entry.get("special"))}
        if text in special
        else entry
        for text, entry in entries_by_text.items()
    ]


def _is_empty(entry: Any) -> bool:
    """Return whether an entry is a token without text, which the library skips."""
    return isinstance(entry, dict) and entry.get("content") == ""


#: The fields of an added token in the format, in the order of `AddedToken`'s fields.
_FLAGS = ("special", "single_word", "lstrip", "rstrip")


def _columns(data: list[Any]) -> list[list[Any]]:
    """Return the texts, the ids and the flags of the entries, as columns.

    Columns are faster, because a file may have 400,000 entries.

    Raises:
        ValueError: an entry is wrong; the message names the first one.
    """
    if {*map(type, data)} <= {dict}:
        texts = [entry.get("content") for entry in data]
        ids = [entry.get("id") for entry in data]
        flags = [[entry.get(name) for entry in data] for name in (*_FLAGS, "normalized")]
        types = {*map(type, chain.from_iterable(flags))}
        if (
            {*map(type, texts)} <= {str}
            and {*map(type, ids)} <= {int}
            and types <= {bool, type(None)}
        ):
            # A missing flag is false, except for `normalized`, which has another default.
            return [texts, ids, *(list(map(bool, column)) for column in flags[:-1]), flags[-1]]
    for index, entry in enumerate(data):
        fields = Fields(f"added token {index}", entry)
        fields.text("content"), fields.number("id")
        for name in (*_FLAGS, "normalized"):
            fields.flag(name, False)
    raise ValueError("an added token is wrong")


# -- truncation and padding, stored as written ----------------------------------------------

_DIRECTIONS = ("Right", "Left")
_STRATEGIES = ("LongestFirst", "OnlyFirst", "OnlySecond")


def read_lengths(document: Json) -> dict[str, Json]:
    """Return the stored settings of `truncation` and `padding`, by name.

    Raises:
        ValueError: a setting has a wrong value.
    """
    readers = {"truncation": _truncation, "padding": _padding}
    return {
        name: read(Fields(name, document[name]))
        for name, read in readers.items()
        if document.get(name) is not None
    }


def _truncation(fields: Fields) -> Json:
    return {
        "direction": _read_choice(fields, "direction", _DIRECTIONS, "Right"),
        "max_length": _read_count(fields, "max_length"),
        "strategy": _read_choice(fields, "strategy", _STRATEGIES),
        "stride": _read_count(fields, "stride"),
    }


def _padding(fields: Fields) -> Json:
    strategy = fields.data.get("strategy")
    if strategy != "BatchLongest":
        strategy = {"Fixed": _read_count(Fields("padding's strategy", strategy), "Fixed")}
    multiple = fields.data.get("pad_to_multiple_of")
    return {
        "strategy": strategy,
        "direction": _read_choice(fields, "direction", _DIRECTIONS),
        # 0 and null both mean that lengths need not be multiples.
        "pad_to_multiple_of": None if not multiple else _read_count(fields, "pad_to_multiple_of"),
        "pad_id": _read_count(fields, "pad_id"),
        "pad_type_id": _read_count(fields, "pad_type_id"),
        "pad_token": fields.text("pad_token"),
    }


def _read_choice(fields: Fields, name: str, known: tuple[str, ...], *default: Any) -> str:
    value = str(fields.text(name, *default))
    if value not in known:
        raise ValueError(f"the {name} of the {fields.family} is {value!r}")
    return value


def _read_count(fields: Fields, name: str) -> int:
    value = int(fields.number(name))
    if not 0 <= value < 2**32:
        raise ValueError(f"the {name} of the {fields.family} is {value}")
    return value
