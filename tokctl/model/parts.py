"""The parts of a recipe as plain data: their kinds, options and text forms.

The parts are normalizers, pre-tokenizers, decoders, post-processors and added tokens. The native
core applies them; `tokctl.formats` translates them into other libraries' parts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import Any, NamedTuple

from tokctl.core.errors import BadOption, TokctlError
from tokctl.core.values import ShortRepr, did_you_mean


class PartOption(NamedTuple):
    """An option of a kind of part.

    Attributes:
        type: `str`, `bool`, `int`, or `tuple` for a list of texts.
        default: value of an option that is not given; None if the option is required.
        choices: allowed values; empty: any value of the type.
        least: smallest allowed number, for `int`.
        may_be_empty: whether the text may be empty, for `str`.
        one_character: whether the text must be exactly one character, for `str`.
    """

    type: type
    default: Any = None
    choices: tuple[str, ...] = ()
    least: int = 0
    may_be_empty: bool = True
    one_character: bool = False

    def check(self, what: str, argument: object) -> None:
        """Raise an error unless `argument` is an allowed value of the option.

        Args:
            what: name of the option in error messages.
            argument: value to check.

        Raises:
            TokctlError: the value has the wrong type, is out of range, or is not UTF-8.
        """
        if type(argument) is not self.type:
            raise BadOption(
                f"{what} is {argument!r}, not {_TYPES[self.type]}",
                f"give {_TYPES[self.type]}",
                "bad-value",
            )
        value: Any = argument
        if self.choices and value not in self.choices:
            raise BadOption(
                f"invalid value {value!r} for {what}",
                f"choose one of: {', '.join(self.choices)}",
                "bad-value",
            )
        if self.type is int and not self.least <= value < 2**31:
            raise BadOption(
                f"invalid value {value} for {what}",
                f"give a number of at least {self.least}",
                "bad-value",
            )
        if self.type is tuple:
            for text in value:
                PartOption(str, may_be_empty=False).check(f"a text of {what}", text)
        if self.type is str:
            if not value and not self.may_be_empty:
                raise BadOption(
                    f"{what} can't be empty",
                    "write a text in UTF-8 of one character or more",
                    "bad-value",
                )
            if self.one_character and len(value) != 1:
                raise BadOption(
                    f"invalid value {value!r} for {what}", "give one character", "bad-value"
                )
            try:
                value.encode()
            except UnicodeEncodeError:
                raise BadOption(
                    f"{what}, {value!r}, is not UTF-8",
                    "write a text in UTF-8 of one character or more",
                    "bad-value",
                ) from None


_TYPES = {
    str: "a text",
    bool: "true or false",
    int: "a whole number",
    tuple: "a list of texts",
}


class PartKind(NamedTuple):
    """A kind of part and its options.

    Attributes:
        about: the effect of the part, in one line.
        options: options by name.
        main: options that the text form `kind:VALUE` sets, in order.
        separator: text between two values of `main`.
    """

    about: str
    options: Mapping[str, PartOption] = {}
    main: tuple[str, ...] = ()
    separator: str = "=>"


@dataclass(frozen=True, repr=False)
class Part(ShortRepr):
    """A normalizer, pre-tokenizer, post-processor or decoder; immutable.

    `PartFamily.part` creates and checks a part. `part["name"]` is the value of one option. Two
    parts are equal if their kinds and options are equal.

    Attributes:
        family: the family of the kind.
        kind: name of the kind.
        options: name and value of every option of the kind, defaults included, in the kind's order.
    """

    family: PartFamily = field(compare=False, repr=False)
    kind: str
    options: tuple[tuple[str, Any], ...] = ()

    def __getitem__(self, name: str) -> Any:
        return dict(self.options)[name]

    def to_dict(self) -> dict[str, Any]:
        """Return the kind, and the options that differ from their default, as JSON data."""
        declared = self.family.kinds[self.kind].options
        changed = {name: value for name, value in self.options if value != declared[name].default}
        return {"kind": self.kind, **changed}

    def __str__(self) -> str:
        """Return the text form: `kind` or `kind:VALUE` if it says everything, otherwise JSON."""
        import json

        kind = self.family.kinds[self.kind]
        changed = self.to_dict()
        del changed["kind"]
        if not changed:
            return self.kind
        for name, alias_options in self.family.aliases.items():
            open_options = [option for option, value in alias_options.items() if value is None]
            text = (
                f"{name}:{self[open_options[0]]}"
                if open_options and open_options[0] in changed
                else name
            )
            if {"kind": self.kind, **changed}.keys() == alias_options.keys() and self._is_spelled(
                text
            ):
                return text
        values = [_value_text(self[name]) for name in kind.main]
        text = f"{self.kind}:{kind.separator.join(values)}"
        if changed.keys() <= set(kind.main) and self._is_spelled(text):
            return text
        return json.dumps(self.to_dict(), ensure_ascii=False)

    @property
    def about(self) -> str:
        """Return the effect of the part, in one line."""
        return self.family.abouts.get(str(self), self.family.kinds[self.kind].about)

    def _is_spelled(self, text: str) -> bool:
        """Return whether the text form `text` describes this part."""
        try:
            return self.family.parse(text) == self
        except TokctlError:
            return False


def _value_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class PartFamily:
    """The kinds of one sort of part, for example of normalizers.

    Attributes:
        name: word for one part in messages.
        kinds: kinds by name.
        aliases: short text forms, `NAME` or `NAME:VALUE`, with the part that each describes. The
            option that VALUE sets is None there.
        abouts: the effect of the part in one line, for text forms with a more specific one.
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
        """Return the part of a kind, with defaults for options that are not given.

        Args:
            kind: name of the kind.
            **options: options by name; a list is accepted for a tuple.

        Raises:
            TokctlError: the kind or an option is unknown, required but missing, or invalid.
        """
        if not isinstance(kind, str) or kind not in self.kinds:
            suggestion = did_you_mean(kind, self.names()).rstrip()
            hint = suggestion or f"choose one of: {', '.join(self.names())}"
            raise BadOption(f"no {self.name} is called {kind!r}", hint, "unknown-name")
        declared = self.kinds[kind].options
        if unknown := options.keys() - declared.keys():
            names = ", ".join(declared) or "none"
            raise BadOption(
                f"the {self.name} {kind} has no option {min(unknown)!r}",
                f"options of {kind}: {names}",
                "unknown-name",
            )
        values = []
        for name, option in declared.items():
            value = options.get(name, option.default)
            if value is None:
                raise BadOption(
                    f"the {self.name} {kind} needs the option {name!r}",
                    self.example(kind),
                    "missing-option",
                )
            if option.type is tuple and isinstance(value, list):
                value = tuple(value)
            option.check(f"the option {name} of the {self.name} {kind}", value)
            values.append((name, value))
        return Part(self, kind, tuple(values))

    def names(self) -> list[str]:
        """Return every name that a text form can start with: kinds, then aliases."""
        return [*self.kinds, *(alias for alias in self.aliases if alias not in self.kinds)]

    def example(self, kind: str) -> str:
        """Return the hint that shows the text form of a kind."""
        main = self.kinds[kind].main
        placeholders = self.kinds[kind].separator.join(name.upper() for name in main)
        return f"write {kind}:{placeholders}" if main else f"write {kind}"

    def from_dict(self, data: Any) -> Part:
        """Return the part that `Part.to_dict` wrote.

        Raises:
            TokctlError: `data` is not an object with a kind, or describes no valid part.
        """
        if not isinstance(data, Mapping) or "kind" not in data:
            raise BadOption(
                f"a {self.name} is described by an object with a kind, not {data!r}",
                'write {"kind": NAME}, with its options beside',
                "bad-value",
            )
        options = {name: value for name, value in data.items() if name != "kind"}
        return self.part(data["kind"], **options)

    def parse(self, text: str) -> Part:
        """Return the part that a text form describes: `kind`, `kind:VALUE`, or a JSON object.

        Raises:
            TokctlError: the text describes no valid part.

        Example:
            >>> PRE_TOKENIZERS.parse("punctuation:removed")["behaviour"]
            'removed'
        """
        if text.startswith("{"):
            return self._from_json(text)
        name, colon, value = text.partition(":")
        if name in self.aliases:
            alias_options = dict(self.aliases[name])
            for option, preset in alias_options.items():
                if preset is None:
                    if not value:
                        raise BadOption(
                            f"the {self.name} {name} needs a value",
                            f"write {name}:VALUE",
                            "missing-option",
                        )
                    alias_options[option] = value
                    colon = ""
            if colon:
                raise BadOption(
                    f"the {self.name} {name} takes no value, and has {value!r}",
                    f"write {name} alone",
                    "bad-value",
                )
            return self.part(alias_options.pop("kind"), **alias_options)
        if not colon or name not in self.kinds:
            return self.part(name)
        kind = self.kinds[name]
        if not kind.main:
            raise BadOption(
                f"the {self.name} {name} takes no value, and has {value!r}",
                f"write {name} alone",
                "bad-value",
            )
        values = value.split(kind.separator) if len(kind.main) > 1 else [value]
        if len(values) > len(kind.main):
            raise BadOption(
                f"{text!r} has too many {kind.separator!r}", self.example(name), "bad-value"
            )
        pairs = zip(kind.main, values, strict=False)
        return self.part(
            name,
            **{
                option_name: self._value(kind.options[option_name], option_text)
                for option_name, option_text in pairs
            },
        )

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
            raise BadOption(
                f"the {self.name} {text!r} is not valid JSON: {error}",
                'write {"kind": NAME}, with its options beside',
                "bad-value",
            ) from None
        return self.from_dict(data)

    def parse_list(self, text: str) -> list[Part]:
        """Return the parts of a comma-separated list of text forms.

        A JSON object, or a kind with a free text as value, extends to the end of the list.
        """
        parts: list[Part] = []
        while text:
            name = text.split(",", 1)[0].split(":", 1)[0]
            if text.startswith("{") or self._needs_free_text(name):
                return [*parts, self.parse(text)]
            part, _, text = text.partition(",")
            if part.strip():
                parts.append(self.parse(part.strip()))
            text = text.lstrip()
        return parts

    def _needs_free_text(self, name: str) -> bool:
        if name in self.aliases:
            return None in self.aliases[name].values()
        if name not in self.kinds:
            return False
        kind = self.kinds[name]
        return any(
            kind.options[option].type is str and not kind.options[option].choices
            for option in kind.main
        )

    def steps(self, steps: PartsLike) -> tuple[Part, ...]:
        """Return parts for a sequence of parts, text forms and dictionaries, skipping `none`.

        A single part, text form or dictionary counts as a sequence of one.

        Raises:
            TokctlError: an entry describes no part of this family.
        """
        if isinstance(steps, (str, Part, Mapping)):
            steps = [steps]
        parts: list[Part] = []
        for step in steps:
            if isinstance(step, Part):
                if step.family is not self:
                    raise BadOption(
                        f"{step} is a {step.family.name}, not a {self.name}",
                        f"name a {self.name} there",
                        "bad-value",
                    )
                parts.append(step)
            elif isinstance(step, str):
                parts += [] if step in ("none", "") else [self.parse(step)]
            else:
                parts.append(self.from_dict(step))
        return tuple(parts)


#: The forms in which callers can give a sequence of parts.
PartsLike = str | Part | Mapping[str, Any] | Sequence[str | Part | Mapping[str, Any]]


def text_of(parts: Iterable[Part]) -> str:
    """Return the text forms of the parts, joined by commas; `none` for no parts."""
    return ", ".join(map(str, parts)) or "none"


_ADDED_TOKENS = (
    "give each added token a text in UTF-8, an id of its own, and flags that are true or false"
)
_TRUE = PartOption(bool, True)
_FALSE = PartOption(bool, False)
#: Texts that SentencePiece's rules leave unchanged: the user-defined pieces of a model.
_KEEP = {"keep": PartOption(tuple, ())}
#: Shared by the normalizer and the decoder `replace`.
_REPLACE = PartKind(
    "replaces a text, or whatever a pattern matches, by another text",
    {
        "pattern": PartOption(str, may_be_empty=False),
        "content": PartOption(str, ""),
        "regex": _FALSE,
    },
    main=("pattern", "content"),
)
#: Options that the pre-tokenizer and the decoder `metaspace` share.
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
    """Return whether the pre-tokenizer keeps every byte of the text unchanged."""
    if part.kind in ("split", "punctuation"):
        return bool(part["behaviour"] != "removed")
    return part.kind in _LOSSLESS


#: What a decoder writes for byte tokens that are not valid UTF-8, in the order of the libraries:
#: Hugging Face's decoder, SentencePiece, llama.cpp.
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
    """A piece of a template.

    Attributes:
        sequence: `A` or `B` for the first or second text; None for a special token.
        token: the special token; None for a text.
        type_id: type id of the piece.
    """

    sequence: str | None
    token: str | None
    type_id: int


def template_pieces(template: str) -> list[TemplatePiece]:
    """Return the pieces of a template such as `[CLS] $A [SEP] $B:1 [SEP]:1`, in order.

    Raises:
        TokctlError: the template names a text other than `$A` and `$B`.
    """
    pieces = []
    for word in template.split():
        match = re.fullmatch(r"(.+?)(?::([0-9]{1,9}))?", word, re.DOTALL)
        text, type_id = (match[1], int(match[2] or 0)) if match else (word, 0)
        if text in ("$A", "$B"):
            pieces.append(TemplatePiece(text[1], None, type_id))
        elif text.startswith("$"):
            raise BadOption(
                f"the template {template!r} names {text}",
                "write $A for the text, $B for a second text",
                "bad-value",
            )
        else:
            pieces.append(TemplatePiece(None, text, type_id))
    return pieces


def with_invalid_bytes(decoders: Iterable[Part], invalid: str) -> tuple[Part, ...]:
    """Return the decoders with `invalid` (of `INVALID_BYTES`) as the rule for invalid bytes."""
    return tuple(
        DECODERS.part(part.kind, invalid=invalid) if part.kind == "byte-fallback" else part
        for part in decoders
    )


def bert_template(cls: str = "[CLS]", sep: str = "[SEP]") -> Part:
    """Return the template of Hugging Face's BertProcessing."""
    cls_word, sep_word, pair_sep = _template_word(cls), _template_word(sep), _template_word(sep, 1)
    return POST_PROCESSORS.part(
        "template",
        single=f"{cls_word} $A {sep_word}",
        pair=f"{cls_word} $A {sep_word} $B:1 {pair_sep}",
    )


def roberta_template(cls: str = "<s>", sep: str = "</s>") -> Part:
    """Return the template of Hugging Face's RobertaProcessing, with type id 0 everywhere."""
    cls_word, sep_word = _template_word(cls), _template_word(sep)
    return POST_PROCESSORS.part(
        "template",
        single=f"{cls_word} $A {sep_word}",
        pair=f"{cls_word} $A {sep_word} {sep_word} $B {sep_word}",
    )


def _template_word(token: str, type_id: int = 0) -> str:
    """Return a special token as a template spells it.

    Raises:
        TokctlError: the token contains white space or starts with `$`.
    """
    if len(token.split()) != 1 or token != token.strip() or token.startswith("$"):
        raise BadOption(
            f"a template can't name the special token {token!r}",
            "use a token without white space that does not start with $",
            "bad-value",
        )
    # An explicit type id keeps a token that ends like `:1` from being read as token and type id.
    return f"{token}:{type_id}" if type_id or re.search(r":[0-9]{1,9}$", token) else token


def check_template(single: str, pair: str, special_tokens: tuple[str, ...]) -> None:
    """Raise an error unless both templates are valid for the special tokens.

    Args:
        single: template for one text.
        pair: template for two texts.
        special_tokens: the tokens that the templates may name.

    Raises:
        TokctlError: a text is missing or named twice, or a token is not a special token.
    """
    for template, texts in ((single, ["A"]), (pair, ["A", "B"])):
        pieces = template_pieces(template)
        if sorted(piece.sequence for piece in pieces if piece.sequence) != texts:
            expected = " and ".join(f"${text}" for text in texts)
            raise BadOption(
                f"the template {template!r} should hold {expected}, once",
                "for instance: [CLS] $A [SEP]=>[CLS] $A [SEP] $B:1 [SEP]:1",
                "bad-value",
            )
        for piece in pieces:
            if piece.token is not None and piece.token not in special_tokens:
                names = ", ".join(special_tokens) or "none"
                raise BadOption(
                    f"the template {template!r} names {piece.token}, which is not a special token",
                    f"special tokens: {names}",
                    "unknown-name",
                )


#: Normalizers that are SentencePiece rule sets, with SentencePiece's names for them.
CHARS_MAPS = {
    "nmt_nfkc": "nmt_nfkc",
    "nmt_nfkc_cf": "nmt_nfkc_cf",
    "nfkc_cf": "nfkc_cf",
    "sp_nfkc": "nfkc",
}


def native_parts(parts: Iterable[Part]) -> list[dict[str, Any]]:
    """Return the kind and all options of each part, in the form that the native core takes."""
    return [_native_part(part) for part in parts]


def _native_part(part: Part) -> dict[str, Any]:
    if part.kind in CHARS_MAPS:
        return {"kind": "chars-map", "name": CHARS_MAPS[part.kind], "keep": list(part["keep"])}
    if part.kind == "precompiled":
        import base64

        try:
            blob = base64.b64decode(part["rules"], validate=True)
        except ValueError as error:
            raise BadOption(
                f"the precompiled rules are not base64: {error}",
                "copy them unchanged from a model file",
                "bad-value",
            ) from None
        native = {"kind": "chars-map", "blob": blob, "keep": list(part["keep"])}
        return {**native, "graphemes": part["graphemes"]}
    return {"kind": part.kind, **dict(part.options)}


class AddedToken(NamedTuple):
    """A token that is matched as a whole in a text, before the model segments the rest.

    Models have hundreds of thousands of added tokens, so `check_added` checks them together when a
    model is created.

    Attributes:
        text: spelling in a text and in the vocabulary.
        id: the id.
        special: matched only if the caller allows special tokens; other tokens are always matched.
        single_word: matched only without a word character on either side.
        strip_left, strip_right: the match includes white space on this side.
        normalized: matched in the normalized text, not in the text as given.
        literal: for `normalized`, matched by the unchanged spelling. Otherwise the spelling is
            normalized too, and decoding returns the normalized spelling, as in Hugging Face.
        ordinary: the model may also produce the id from ordinary text. Among special tokens this
            is true only of tokens that are `named`.
        named: special only because the recipe names it, as unknown token or in a template. It is
            kept where special tokens are left out; if `listed`, it is always matched.
        listed: matched in text. False for a token that Hugging Face's file names without listing.
        made: for a special token that is allowed, the model may also produce the id from text,
            because the vocabulary contains the token.
        longest_first: of overlapping matches, the longest is taken, as in llama.cpp, not the one
            that starts first. One such token sets this rule for the whole model.
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

    @property
    def varies_in_text(self) -> bool:
        """Return whether the match in a text may differ from the spelling."""
        return self.strip_left or self.strip_right or self.normalized


def check_added(tokens: Sequence[AddedToken]) -> None:
    """Raise an error unless the added tokens are valid together.

    Raises:
        TokctlError: a text, id or flag is invalid, or two tokens share a text or an id.
    """
    if not tokens:
        return
    texts, ids, *flags = zip(*tokens, strict=True)
    if set(map(type, texts)) != {str} or "" in texts:
        raise BadOption(
            "an added token can't be empty",
            _ADDED_TOKENS,
            "bad-value",
        )
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        invalid = next(
            text for text in texts if any("\ud800" <= character <= "\udfff" for character in text)
        )
        raise BadOption(
            f"the added token {invalid!r} is not UTF-8",
            _ADDED_TOKENS,
            "bad-value",
        ) from None
    if set(map(type, ids)) != {int} or min(ids) < 0 or max(ids) >= 2**32 - 1:
        invalid = next(
            token for token in tokens if type(token.id) is not int or not 0 <= token.id < 2**32 - 1
        )
        raise BadOption(
            f"the added token {invalid.text!r} can't have the id {invalid.id!r}",
            _ADDED_TOKENS,
            "bad-value",
        )
    if {*map(type, chain.from_iterable(flags))} != {bool}:
        raise BadOption(
            "a flag of an added token is neither true nor false",
            _ADDED_TOKENS,
            "bad-value",
        )
    if len(set(texts)) != len(texts):
        raise BadOption(
            "two added tokens have the same text",
            _ADDED_TOKENS,
            "conflict",
        )
    if len(set(ids)) != len(ids):
        repeated = next(id_ for id_, next_id in pairwise(sorted(ids)) if id_ == next_id)
        raise BadOption(
            f"the id {repeated} has two added tokens",
            _ADDED_TOKENS,
            "conflict",
        )
