"""How text becomes tokens: plain data, from normalizer to decoder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from tokctl.errors import TokctlError
from tokctl.model.checks import check
from tokctl.model.fields import strings
from tokctl.model.parts import (
    DECODERS,
    NORMALIZERS,
    POST_PROCESSORS,
    PRE_TOKENIZERS,
    Part,
    text_of,
)
from tokctl.model.terms import Marker
from tokctl.values import Value


@dataclass(frozen=True, eq=False, repr=False)
class Recipe(Value):
    """How text becomes tokens.

    The parts of the pipeline can be given as `Part`s or in their text form (`"nfkc"`,
    `["digits", "gpt2"]`, `"regex:\\\\w+"`).

    Attributes:
        name: the preset's name, or the algorithm's for a default recipe.
        algorithm: one of `ALGORITHMS`.
        normalizers: applied to the text in this order.
        pre_tokenizers: each splits what those before it have split; none: the whole text
            is one pre-token.
        units: what a symbol starts as, `bytes` or `characters`.
        marker: see `Marker`.
        alphabet: `seen` (initial symbols of the counted pre-tokens), `characters`
            (these, and every character in its bare form), `bytes` (all 256).
        score: `count`, or `likelihood`: count(ab) / (count(a) * count(b)).
        tie_break: which of several best pairs is merged; see `docs/algorithms.md`.
        segmentation: `merges` by rank, `replay` of the merges in the order learned,
            `ranks` (any two neighbours that spell a token, the lowest id first),
            `longest-match`, `viterbi`, `lookup` of the whole pre-token, `symbols`.
        unk_token: stands for what has no token; None where nothing needs it, or where
            an unknown character is to be an error.
        unknown: `word`, or `char` for the unknown character alone (longest match).
        max_input_chars: a longer word is unknown as a whole (longest match); None: no limit.
        byte_fallback: a character without a token becomes the tokens of its bytes, `<0x0A>`.
        fuse_unknown: unknown characters side by side are one unknown token.
        whole_words: a pre-token that is a token stays whole, whatever the merges say.
        precision: of the sums of log probabilities: `double`, or `single` as SentencePiece.
        post_processors: what is put around the tokens, where the caller asks for it.
        decoders: how tokens become text again; none: the marker says it.
        special_tokens: these have the lowest ids, in this order, `unk_token` among them.
    """

    name: str
    algorithm: str
    normalizers: tuple[Part, ...] = ()
    pre_tokenizers: tuple[Part, ...] = ()
    units: str = "characters"
    marker: Marker = Marker()  # noqa: RUF009 (a tuple can't change)
    alphabet: str = "seen"
    score: str = "count"
    tie_break: str = "first-seen"
    segmentation: str = "merges"
    unk_token: str | None = None
    unknown: str = "word"
    max_input_chars: int | None = None
    byte_fallback: bool = False
    fuse_unknown: bool = False
    whole_words: bool = False
    precision: str = "double"
    post_processors: tuple[Part, ...] = ()
    decoders: tuple[Part, ...] = ()
    special_tokens: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, family in _FAMILIES.items():
            object.__setattr__(self, name, family.steps(getattr(self, name)))
        object.__setattr__(self, "marker", Marker(*self.marker))
        object.__setattr__(self, "special_tokens", tuple(self.special_tokens))
        check(self)

    @property
    def splitting(self) -> str:
        """The pre-tokenizers in their text form, `none` for no splitting."""
        return text_of(self.pre_tokenizers)

    @property
    def uses_regex(self) -> bool:
        """Is a part searched for by a regular expression, so that documents are read whole?"""
        parts = (*self.normalizers, *self.pre_tokenizers)
        return any(dict(part.options).get("regex", False) for part in parts)

    def with_special_tokens(self, tokens: Sequence[str]) -> Recipe:
        """This recipe with more special tokens, behind those it has."""
        added = [token for token in dict.fromkeys(tokens) if token not in self.special_tokens]
        return replace(self, special_tokens=(*self.special_tokens, *added))

    def to_dict(self) -> dict[str, Any]:
        """The recipe as JSON would hold it."""
        data = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        for name in _FAMILIES:
            data[name] = [part.to_dict() for part in data[name]]
        data["marker"] = {"kind": self.marker.kind, "text": self.marker.text}
        data["special_tokens"] = list(self.special_tokens)
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Recipe:
        """The recipe that `to_dict` described; TokctlError where a field is not as it should be."""
        known = {entry.name: entry for entry in fields(cls)}
        values = _of_format_1(data) if "pre_tokenizer" in data else dict(data)
        if unknown := set(values) - set(known):
            raise TokctlError(f"the recipe has a field {min(unknown)!r} that this tokctl lacks")
        try:
            marker = Marker(values["marker"]["kind"], values["marker"]["text"])
            if not all(isinstance(part, str) for part in marker):
                raise TypeError("marker")
            values["marker"] = marker
            values["special_tokens"] = strings(values["special_tokens"])
            for name, family in _FAMILIES.items():
                if not isinstance(values.setdefault(name, []), list):
                    raise TypeError(name)
                values[name] = tuple(map(family.from_dict, values[name]))
            for name in values.keys() - _FAMILIES.keys() - {"marker", "special_tokens"}:
                if not _fits(name, values[name], known[name].default):
                    raise TypeError(name)
            return cls(**values)
        except (KeyError, TypeError) as error:
            raise TokctlError(f"the recipe's field {error} is missing or wrong") from None


_FAMILIES = {
    "normalizers": NORMALIZERS,
    "pre_tokenizers": PRE_TOKENIZERS,
    "post_processors": POST_PROCESSORS,
    "decoders": DECODERS,
}


def _fits(name: str, value: Any, default: Any) -> bool:
    if name == "max_input_chars":
        return value is None or type(value) is int
    if name == "unk_token" and not value:
        return value is None
    return type(value) is (bool if type(default) is bool else str)


def _of_format_1(data: dict[str, Any]) -> dict[str, Any]:
    """The fields of a recipe that names one pre-tokenizer and its normalizers."""
    values = dict(data)
    splitting = values.pop("pre_tokenizer")
    if not isinstance(splitting, str):
        raise TokctlError("the recipe's field 'pre_tokenizer' is missing or wrong")
    values["normalizers"] = [{"kind": kind} for kind in strings(data["normalizers"])]
    values["pre_tokenizers"] = [part.to_dict() for part in PRE_TOKENIZERS.steps(splitting)]
    return values
