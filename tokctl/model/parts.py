"""The parts that a recipe is made of, as plain data: normalizers, pre-tokenizers, decoders,
post-processors and added tokens; what each kind is and what it takes.

The native core does what they say; `tokctl.formats` translates them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import Any, NamedTuple

from tokctl.errors import TokctlError
from tokctl.values import Brief, did_you_mean


class PartOption(NamedTuple):
    """One option of a kind of part.

    type: `str`, `bool`, `int`, or `tuple` for a list of texts.
    default: None if the option must be given.
    choices: the values that it may have; empty: any of its type.
    least: the least number, for `int`.
    may_be_empty: for `str`.
    one_character: the text is one character, neither more nor less, for `str`.
    """

    type: type
    default: Any = None
    choices: tuple[str, ...] = ()
    least: int = 0
    may_be_empty: bool = True
    one_character: bool = False

    def check(self, what: str, given: object) -> None:
        """TokctlError unless `given` is a value that the option can have."""
        if type(given) is not self.type:
            raise TokctlError(
                f"{what} is {given!r}, and should be {_TYPES[self.type]}",
                "write a value of that type",
            )
        value: Any = given
        if self.choices and value not in self.choices:
            raise TokctlError(
                f"{what} can't be {value!r}", f"choose one of: {', '.join(self.choices)}"
            )
        if self.type is int and not self.least <= value < 2**31:
            raise TokctlError(f"{what} can't be {value}", f"it is a number from {self.least} up")
        if self.type is tuple:
            for text in value:
                PartOption(str, may_be_empty=False).check(f"a text of {what}", text)
        if self.type is str:
            if not value and not self.may_be_empty:
                raise TokctlError(
                    f"{what} can't be empty", "write a text in UTF-8 of one character or more"
                )
            if self.one_character and len(value) != 1:
                raise TokctlError(f"{what} can't be {value!r}", "it is one character")
            try:
                value.encode()
            except UnicodeEncodeError:
                raise TokctlError(
                    f"{what}, {value!r}, is not UTF-8",
                    "write a text in UTF-8 of one character or more",
                ) from None


_TYPES = {
    str: "a text",
    bool: "true or false",
    int: "a whole number",
    tuple: "a list of texts",
}


class PartKind(NamedTuple):
    """A kind of part: what it does, in one line, and its options.

    main: the options that the text form `kind:VALUE` sets, with `separator` between two.
    """

    about: str
    options: Mapping[str, PartOption] = {}
    main: tuple[str, ...] = ()
    separator: str = "=>"


@dataclass(frozen=True, repr=False)
class Part(Brief):
    """One normalizer, pre-tokenizer, post-processor or decoder.

    Made by `PartFamily.part`, which checks it. `options` holds every option of the kind, in
    the kind's order; `part["name"]` is the value of one. It never changes, and two parts of
    the same kind with the same options are equal.
    """

    family: PartFamily = field(compare=False, repr=False)
    kind: str
    options: tuple[tuple[str, Any], ...] = ()

    def __getitem__(self, name: str) -> Any:
        return dict(self.options)[name]

    def to_dict(self) -> dict[str, Any]:
        """As JSON would hold it: the kind, and the options that differ from their default."""
        known = self.family.kinds[self.kind].options
        changed = {name: value for name, value in self.options if value != known[name].default}
        return {"kind": self.kind, **changed}

    def __str__(self) -> str:
        """The text form: `kind`, `kind:VALUE`, or JSON where these can't say it all."""
        import json

        kind = self.family.kinds[self.kind]
        changed = self.to_dict()
        del changed["kind"]
        if not changed:
            return self.kind
        for name, meant in self.family.aliases.items():
            given = [option for option, value in meant.items() if value is None]
            text = f"{name}:{self[given[0]]}" if given and given[0] in changed else name
            if {"kind": self.kind, **changed}.keys() == meant.keys() and self._is(text):
                return text
        values = [_value_text(self[name]) for name in kind.main]
        text = f"{self.kind}:{kind.separator.join(values)}"
        if changed.keys() <= set(kind.main) and self._is(text):
            return text
        return json.dumps(self.to_dict(), ensure_ascii=False)

    @property
    def about(self) -> str:
        """What it does, in one line."""
        return self.family.abouts.get(str(self), self.family.kinds[self.kind].about)

    def _is(self, text: str) -> bool:
        """Does a text form describe this part?"""
        try:
            return self.family.parse(text) == self
        except TokctlError:
            return False


def _value_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class PartFamily:
    """All kinds of normalizers, say.

    name: what one of them is called in messages.
    aliases: text forms that stand for another part, `NAME` or `NAME:` (with a value).
    abouts: of some text forms, what the part does, in one line.
    """

    def __init__(
        self,
        name: str,
        kinds: Mapping[str, PartKind],
        aliases: Mapping[str, Mapping[str, Any]] | None = None,
        abouts: Mapping[str, str] | None = None,
    ) -> None:
        self.name: str = name
        self.kinds: Mapping[str, PartKind] = kinds
        self.aliases: Mapping[str, Mapping[str, Any]] = aliases or {}
        self.abouts: Mapping[str, str] = abouts or {}

    def part(self, kind: str, **options: Any) -> Part:
        """The part of that kind; TokctlError if kind or options are wrong."""
        if not isinstance(kind, str) or kind not in self.kinds:
            near = did_you_mean(kind, self.names()).rstrip()
            hint = near or f"choose one of: {', '.join(self.names())}"
            raise TokctlError(f"no {self.name} is called {kind!r}", hint)
        known = self.kinds[kind].options
        if unknown := options.keys() - known.keys():
            names = ", ".join(known) or "none"
            raise TokctlError(
                f"the {self.name} {kind} has no option {min(unknown)!r}", f"it has: {names}"
            )
        values = []
        for name, option in known.items():
            value = options.get(name, option.default)
            if value is None:
                raise TokctlError(
                    f"the {self.name} {kind} needs the option {name!r}", self.example(kind)
                )
            if option.type is tuple and isinstance(value, list):
                value = tuple(value)
            option.check(f"the option {name} of the {self.name} {kind}", value)
            values.append((name, value))
        return Part(self, kind, tuple(values))

    def names(self) -> list[str]:
        """Every name that a text form can start with."""
        return [*self.kinds, *(alias for alias in self.aliases if alias not in self.kinds)]

    def example(self, kind: str) -> str:
        main = self.kinds[kind].main
        shown = self.kinds[kind].separator.join(name.upper() for name in main)
        return f"write {kind}:{shown}" if main else f"it is called {kind}"

    def from_dict(self, data: Any) -> Part:
        """The part that `to_dict` described."""
        if not isinstance(data, Mapping) or "kind" not in data:
            raise TokctlError(
                f"a {self.name} is described by an object with a kind, not {data!r}",
                'write {"kind": NAME}, with its options beside',
            )
        options = {name: value for name, value in data.items() if name != "kind"}
        return self.part(data["kind"], **options)

    def parse(self, text: str) -> Part:
        """The part that a text form describes: `kind`, `kind:VALUE`, or a JSON object."""
        if text.startswith("{"):
            return self._from_json(text)
        name, colon, value = text.partition(":")
        if name in self.aliases:
            meant = dict(self.aliases[name])
            for option, given in meant.items():
                if given is None:
                    if not value:
                        raise TokctlError(
                            f"the {self.name} {name} needs a value", f"write {name}:VALUE"
                        )
                    meant[option] = value
                    colon = ""
            if colon:
                raise TokctlError(
                    f"the {self.name} {name} takes no value, and has {value!r}",
                    f"write {name} alone",
                )
            return self.part(meant.pop("kind"), **meant)
        if not colon or name not in self.kinds:
            return self.part(name)
        kind = self.kinds[name]
        if not kind.main:
            raise TokctlError(
                f"the {self.name} {name} takes no value, and has {value!r}", f"write {name} alone"
            )
        values = value.split(kind.separator) if len(kind.main) > 1 else [value]
        if len(values) > len(kind.main):
            raise TokctlError(f"{text!r} has too many {kind.separator!r}", self.example(name))
        pairs = zip(kind.main, values, strict=False)
        return self.part(name, **{n: self._value(kind.options[n], v) for n, v in pairs})

    def _value(self, option: PartOption, text: str) -> Any:
        if option.type is bool:
            return {"true": True, "false": False}.get(text, text)
        if option.type is int:
            return int(text) if text.isdecimal() and text.isascii() and len(text) < 10 else text
        return text

    def _from_json(self, text: str) -> Part:
        import json

        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise TokctlError(
                f"the {self.name} {text!r} is no JSON: {error}",
                'write {"kind": NAME}, with its options beside',
            ) from None
        return self.from_dict(data)

    def parse_list(self, text: str) -> list[Part]:
        """The parts of a list with commas between. One whose value is a free text takes
        all that follows it."""
        parts: list[Part] = []
        while text:
            name = text.split(",", 1)[0].split(":", 1)[0]
            if text.startswith("{") or self._takes_text(name):
                return [*parts, self.parse(text)]
            one, _, text = text.partition(",")
            if one.strip():
                parts.append(self.parse(one.strip()))
            text = text.lstrip()
        return parts

    def _takes_text(self, name: str) -> bool:
        if name in self.aliases:
            return None in self.aliases[name].values()
        if name not in self.kinds:
            return False
        kind = self.kinds[name]
        return any(kind.options[n].type is str and not kind.options[n].choices for n in kind.main)

    def steps(self, steps: PartsLike) -> tuple[Part, ...]:
        """A sequence of parts from parts, text forms and descriptions; `none` is not a step."""
        if isinstance(steps, (str, Part, Mapping)):
            steps = [steps]
        found: list[Part] = []
        for step in steps:
            if isinstance(step, Part):
                if step.family is not self:
                    raise TokctlError(
                        f"{step} is a {step.family.name}, not a {self.name}",
                        f"name a {self.name} there",
                    )
                found.append(step)
            elif isinstance(step, str):
                found += [] if step in ("none", "") else [self.parse(step)]
            else:
                found.append(self.from_dict(step))
        return tuple(found)


#: What a sequence of parts can be given as.
PartsLike = str | Part | Mapping[str, Any] | Sequence[str | Part | Mapping[str, Any]]


def text_of(parts: Iterable[Part]) -> str:
    """A sequence of parts in their text form; `none` for no part."""
    return ", ".join(map(str, parts)) or "none"


_ADDED_TOKENS = (
    "give each added token a text in UTF-8, an id of its own, and flags that are true or false"
)
_TRUE = PartOption(bool, True)
_FALSE = PartOption(bool, False)
#: Texts that rules leave alone: the user-defined pieces of a SentencePiece model.
_KEEP = {"keep": PartOption(tuple, ())}
#: A normalizer, and a decoder.
_REPLACE = PartKind(
    "replaces a text, or whatever a pattern matches, by another text",
    {
        "pattern": PartOption(str, may_be_empty=False),
        "content": PartOption(str, ""),
        "regex": _FALSE,
    },
    main=("pattern", "content"),
)
#: Of the pre-tokenizer `metaspace` and of the decoder.
_METASPACE = {
    "prepend": PartOption(str, "always", choices=("always", "first", "never")),
    "replacement": PartOption(str, "▁", one_character=True),
}

NORMALIZERS = PartFamily(
    "normalizer",
    {
        "nfc": PartKind("Unicode's canonical composition"),
        "nfd": PartKind("Unicode's canonical decomposition"),
        "nfkc": PartKind("Unicode's compatibility composition"),
        "nfkd": PartKind("Unicode's compatibility decomposition"),
        "lowercase": PartKind("lower case, character by character"),
        "strip-accents": PartKind("removes combining marks; put nfd before it"),
        "bert": PartKind(
            "BERT's: removes control characters and accents, puts spaces around CJK, lowercases",
            {
                "clean_text": _TRUE,
                "cjk_spacing": _TRUE,
                "strip_accents": _TRUE,
                "lowercase": _TRUE,
            },
        ),
        "nmt_nfkc": PartKind("SentencePiece's default rules", _KEEP),
        "nmt_nfkc_cf": PartKind("SentencePiece's default rules, with case folding", _KEEP),
        "nfkc_cf": PartKind("SentencePiece's NFKC rules, with case folding", _KEEP),
        "sp_nfkc": PartKind("SentencePiece's NFKC rules", _KEEP),
        "precompiled": PartKind(
            "the rules of a SentencePiece model, in base64",
            {"rules": PartOption(str), "graphemes": _FALSE, **_KEEP},
        ),
        "nmt": PartKind(
            "Hugging Face's Nmt: removes control characters, makes unusual spaces plain"
        ),
        "collapse-spaces": PartKind("one space for each run of spaces"),
        "delete-newlines": PartKind("removes line feeds and carriage returns, as the notebooks do"),
        "strip-spaces": PartKind(
            "removes plain spaces at the ends",
            {"left": _TRUE, "right": _TRUE},
        ),
        "strip": PartKind(
            "removes white space at the ends",
            {"left": _TRUE, "right": _TRUE},
        ),
        "replace": _REPLACE,
        "prepend": PartKind(
            "puts a text before each text that is not empty",
            {"text": PartOption(str, may_be_empty=False)},
            main=("text",),
        ),
        "dummy-space": PartKind(
            "SentencePiece's: a space before (or after) each text that is not only spaces",
            {"behind": _FALSE},
        ),
    },
)


BEHAVIOURS = (
    "removed",
    "isolated",
    "merged-with-previous",
    "merged-with-next",
    "contiguous",
)
_BEHAVIOUR = PartOption(str, "isolated", choices=BEHAVIOURS)

PRE_TOKENIZERS = PartFamily(
    "pre-tokenizer",
    {
        "whitespace": PartKind("words between white space, which is dropped"),
        "whitespace-punctuation": PartKind(r"\w+|[^\w\s]+: words, and runs of anything else"),
        "bert": PartKind("words and single punctuation characters; white space is dropped"),
        "gpt2-words": PartKind("GPT-2's pattern without its spaces, which are dropped"),
        "gpt2": PartKind("GPT-2's pattern; nothing is dropped"),
        "cl100k": PartKind("the pattern of GPT-3.5 and GPT-4"),
        "o200k": PartKind("the pattern of GPT-4o"),
        "llama3": PartKind("the pattern of Llama 3"),
        "qwen2": PartKind("the pattern of Qwen 2 and 3"),
        "deepseek-v3": PartKind("the patterns of DeepSeek V3"),
        "metaspace": PartKind(
            "SentencePiece's: ▁ for each space and before the text; words start with it",
            {**_METASPACE, "split": _TRUE},
            main=("prepend",),
        ),
        "punctuation": PartKind(
            "splits at punctuation", {"behaviour": _BEHAVIOUR}, main=("behaviour",)
        ),
        "digits": PartKind(
            "splits off numbers, in groups or as single digits",
            {"individual": _FALSE},
        ),
        "digit-groups": PartKind(
            "splits numbers into groups of digits, counted from the right: 1234567 is 1, 234, 567",
            {"length": PartOption(int, 3, least=1)},
            main=("length",),
        ),
        "digit-cuts": PartKind(
            "cuts before each group of decimal digits, counted from the right; what is left of a "
            "number stays with the text before it",
            {"length": PartOption(int, 3, least=1)},
            main=("length",),
        ),
        "scripts": PartKind("splits where the script changes"),
        "fixed": PartKind(
            "pieces of a fixed number of characters",
            {"length": PartOption(int, 5, least=1)},
            main=("length",),
        ),
        "characters": PartKind("every character on its own"),
        "graphemes": PartKind("every grapheme (user-perceived character) on its own"),
        "penn-treebank": PartKind("the Penn Treebank's words; white space is dropped"),
        "delimiter": PartKind(
            "splits at a character, which is dropped",
            {"text": PartOption(str, may_be_empty=False)},
            main=("text",),
        ),
        "split": PartKind(
            "splits at a text, or at matches of a pattern (of the regex package)",
            {
                "pattern": PartOption(str, may_be_empty=False),
                "behaviour": _BEHAVIOUR,
                "regex": _FALSE,
                "invert": _FALSE,
            },
            main=("pattern", "behaviour"),
        ),
        "prefix-space": PartKind("puts a space before the text unless one is there"),
        "byte-level": PartKind("writes each byte as the character that GPT-2 uses for it"),
    },
    aliases={
        "regex": {"kind": "split", "pattern": None, "regex": True},
        "digits-individual": {"kind": "digits", "individual": True},
        "lines": {"kind": "split", "pattern": "\n", "behaviour": "merged-with-previous"},
    },
    abouts={
        "digits-individual": "splits off every digit",
        "lines": "every line on its own, with its line feed",
    },
)

_LOSSLESS = {
    "gpt2",
    "cl100k",
    "o200k",
    "llama3",
    "qwen2",
    "deepseek-v3",
    "digits",
    "digit-groups",
    "digit-cuts",
    "fixed",
    "characters",
    "graphemes",
}


def is_lossless(part: Part) -> bool:
    """Does the pre-tokenizer keep every byte of the text as it is?"""
    if part.kind in ("split", "punctuation"):
        return bool(part["behaviour"] != "removed")
    return part.kind in _LOSSLESS


#: What a decoder makes of byte tokens that spell no UTF-8, as Hugging Face's decoder, SentencePiece
#: and llama.cpp do.
INVALID_BYTES = ("replace-run", "replace-bytes", "keep")

DECODERS = PartFamily(
    "decoder",
    {
        "byte-level": PartKind("joins the bytes that the tokens represent"),
        "wordpiece": PartKind(
            "joins continuations and puts spaces between words",
            {"prefix": PartOption(str, "##"), "cleanup": _TRUE},
        ),
        "metaspace": PartKind(
            "a space for each ▁, but none for the first",
            _METASPACE,
            main=("prepend",),
        ),
        "byte-fallback": PartKind(
            "tokens such as <0x0A> become bytes; invalid bytes: U+FFFD for their whole run, U+FFFD "
            "for each, or as they are",
            {"invalid": PartOption(str, "replace-run", choices=INVALID_BYTES)},
            main=("invalid",),
        ),
        "bpe-suffix": PartKind(
            "a space for each suffix that ends a word",
            {"suffix": PartOption(str, "</w>", may_be_empty=False)},
            main=("suffix",),
        ),
        "join": PartKind("puts a space between any two tokens"),
        "fuse": PartKind("joins all tokens into one text"),
        "strip": PartKind(
            "removes a character at the ends of each token, or of the first alone, up to a number "
            "of times",
            {
                "content": PartOption(str, " ", one_character=True),
                "start": PartOption(int, 0),
                "stop": PartOption(int, 0),
                "first_only": _FALSE,
            },
        ),
        "replace": _REPLACE,
        "ctc": PartKind(
            "CTC's: repeated tokens once, padding removed",
            {
                "pad": PartOption(str, "<pad>"),
                "word_delimiter": PartOption(str, "|", may_be_empty=False),
                "cleanup": _TRUE,
            },
        ),
    },
)


POST_PROCESSORS = PartFamily(
    "post-processor",
    {
        "template": PartKind(
            "special tokens around a text ($A) and a pair ($A, $B); :1 sets a type id",
            {
                "single": PartOption(str, "$A", may_be_empty=False),
                "pair": PartOption(str, "$A:0 $B:1", may_be_empty=False),
            },
            main=("single", "pair"),
        ),
        "trim-offsets": PartKind(
            "removes the spaces of byte-level tokens from their offsets",
            {"prefix_space": _TRUE},
        ),
    },
)


class TemplatePiece(NamedTuple):
    """One piece of a template: `A` or `B` for a text, else a special token, and its type id."""

    sequence: str | None
    token: str | None
    type_id: int


def template_pieces(template: str) -> list[TemplatePiece]:
    """The pieces of a template such as `[CLS] $A [SEP] $B:1 [SEP]:1`, in order.

    Raises:
        TokctlError: `$C`, a type id that is none, a text named twice.
    """
    pieces = []
    for word in template.split():
        match = re.fullmatch(r"(.+?)(?::([0-9]{1,9}))?", word, re.DOTALL)
        text, type_id = (match[1], int(match[2] or 0)) if match else (word, 0)
        if text in ("$A", "$B"):
            pieces.append(TemplatePiece(text[1], None, type_id))
        elif text.startswith("$"):
            raise TokctlError(
                f"the template {template!r} names {text}", "a text is $A, a second one $B"
            )
        else:
            pieces.append(TemplatePiece(None, text, type_id))
    return pieces


def with_invalid_bytes(decoders: Iterable[Part], invalid: str) -> tuple[Part, ...]:
    """Return the decoders, with `invalid` (of `INVALID_BYTES`) as the rule for invalid bytes."""
    return tuple(
        DECODERS.part(part.kind, invalid=invalid) if part.kind == "byte-fallback" else part
        for part in decoders
    )


def bert_template(cls: str = "[CLS]", sep: str = "[SEP]") -> Part:
    """Hugging Face's BertProcessing as a template."""
    c, s, pair = _word(cls), _word(sep), _word(sep, 1)
    return POST_PROCESSORS.part("template", single=f"{c} $A {s}", pair=f"{c} $A {s} $B:1 {pair}")


def roberta_template(cls: str = "<s>", sep: str = "</s>") -> Part:
    """The template of Hugging Face's RobertaProcessing: every type id is 0."""
    c, s = _word(cls), _word(sep)
    return POST_PROCESSORS.part("template", single=f"{c} $A {s}", pair=f"{c} $A {s} {s} $B {s}")


def _word(token: str, type_id: int = 0) -> str:
    """A special token as a template spells it."""
    if len(token.split()) != 1 or token != token.strip() or token.startswith("$"):
        raise TokctlError(
            f"a template can't name the special token {token!r}",
            "it is a word without white space, and does not start with $",
        )
    # A token that ends as a type id does is told from one by a type id of its own.
    return f"{token}:{type_id}" if type_id or re.search(r":[0-9]{1,9}$", token) else token


def check_template(single: str, pair: str, special_tokens: tuple[str, ...]) -> None:
    """TokctlError unless both templates hold their texts once and name special tokens only."""
    for template, texts in ((single, ["A"]), (pair, ["A", "B"])):
        pieces = template_pieces(template)
        if sorted(piece.sequence for piece in pieces if piece.sequence) != texts:
            wanted = " and ".join(f"${text}" for text in texts)
            raise TokctlError(
                f"the template {template!r} should hold {wanted}, once",
                "for instance: [CLS] $A [SEP]=>[CLS] $A [SEP] $B:1 [SEP]:1",
            )
        for piece in pieces:
            if piece.token is not None and piece.token not in special_tokens:
                names = ", ".join(special_tokens) or "none"
                raise TokctlError(
                    f"the template {template!r} names {piece.token}, which is no special token",
                    f"special tokens: {names}",
                )


#: Kinds that are rules of SentencePiece's, with the name that these have there.
CHARS_MAPS = {
    "nmt_nfkc": "nmt_nfkc",
    "nmt_nfkc_cf": "nmt_nfkc_cf",
    "nfkc_cf": "nfkc_cf",
    "sp_nfkc": "nfkc",
}


def native_parts(parts: Iterable[Part]) -> list[dict[str, Any]]:
    """Descriptions of the parts for the core: the kind and every option."""
    return [_native(part) for part in parts]


def _native(part: Part) -> dict[str, Any]:
    if part.kind in CHARS_MAPS:
        return {"kind": "chars-map", "name": CHARS_MAPS[part.kind], "keep": list(part["keep"])}
    if part.kind == "precompiled":
        import base64

        try:
            blob = base64.b64decode(part["rules"], validate=True)
        except ValueError as error:
            raise TokctlError(
                f"the precompiled rules are no base64: {error}",
                "take them from a model file as they are",
            ) from None
        found = {"kind": "chars-map", "blob": blob, "keep": list(part["keep"])}
        return {**found, "graphemes": part["graphemes"]}
    return {"kind": part.kind, **dict(part.options)}


class AddedToken(NamedTuple):
    """A token that is matched as a whole, whatever the model would make of its text.

    Models have hundreds of thousands of them, so they are checked together, by `check_added`,
    when a model is made.

    Attributes:
        text: its spelling in a text and in the vocabulary.
        id: its id.
        special: matched only where the caller allows special tokens; others always are.
        single_word: only where no word character stands beside it.
        strip_left, strip_right: it takes white space on that side along.
        normalized: matched in the normalized text, not in the text as given.
        literal: where it is matched in the normalized text, by its spelling as it is;
            otherwise its spelling is normalized, too, and decoded so, as Hugging Face does.
        ordinary: the model may make it of ordinary text, too. Of the special ones this is true
            only of those that are special by name.
        named: it is special only in that the recipe names it, as its unknown token or in a
            template. Where special tokens are left out, it stays; where it is listed, it is
            always found.
        listed: it is found in text. False for a token that Hugging Face's file only names.
        made: of a special one: where it is allowed, the model may make it of text, too, which
            its vocabulary has it for.
        longest_first: where tokens overlap, the longest is found, as in llama.cpp, and not the one
            that starts first. One such token makes all of a model so.
    """

    text: str
    id: int
    special: bool = True
    single_word: bool = False
    strip_left: bool = False
    strip_right: bool = False
    normalized: bool = False
    literal: bool = False
    ordinary: bool = False
    named: bool = False
    listed: bool = True
    made: bool = False
    longest_first: bool = False


def check_added(tokens: Sequence[AddedToken]) -> None:
    """TokctlError unless each has a text, an id and flags, and no two share a text or an id."""
    if not tokens:
        return
    texts, ids, *flags = zip(*tokens, strict=True)
    if set(map(type, texts)) != {str} or "" in texts:
        raise TokctlError(
            "an added token can't be empty",
            _ADDED_TOKENS,
        )
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        wrong = next(text for text in texts if any("\ud800" <= c <= "\udfff" for c in text))
        raise TokctlError(
            f"the added token {wrong!r} is not UTF-8",
            _ADDED_TOKENS,
        ) from None
    if set(map(type, ids)) != {int} or min(ids) < 0 or max(ids) >= 2**32 - 1:
        wrong = next(t for t in tokens if type(t.id) is not int or not 0 <= t.id < 2**32 - 1)
        raise TokctlError(
            f"the added token {wrong.text!r} can't have the id {wrong.id!r}",
            _ADDED_TOKENS,
        )
    if {*map(type, chain.from_iterable(flags))} != {bool}:
        raise TokctlError(
            "a flag of an added token is neither true nor false",
            _ADDED_TOKENS,
        )
    if len(set(texts)) != len(texts):
        raise TokctlError(
            "two added tokens have the same text",
            _ADDED_TOKENS,
        )
    if len(set(ids)) != len(ids):
        twice = next(one for one, two in pairwise(sorted(ids)) if one == two)
        raise TokctlError(
            f"the id {twice} has two added tokens",
            _ADDED_TOKENS,
        )
