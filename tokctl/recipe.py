"""The one description of a tokenizer: plain data, from normalizer to decoder.

A `Recipe` says how text becomes tokens; a `FilledRecipe` adds what training found:
the vocabulary, the merges and their history. Training fills a recipe in, a model file
holds a filled one, and nothing downstream knows where it came from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, NamedTuple

from tokctl.errors import TokctlError

ALGORITHMS = ("bpe", "wordpiece")
PRE_TOKENIZERS = ("whitespace", "bert", "gpt2-words", "gpt2", "none")
#: Those that keep every byte of the text, as `regex:PATTERN` does.
LOSSLESS_PRE_TOKENIZERS = ("gpt2", "none")
UNITS = ("bytes", "characters")
MARKER_KINDS = ("none", "end", "end-fused", "start", "continuation")
SCORES = ("count", "likelihood")
TIE_BREAKS = ("first-seen", "rewritten-last", "lowest-id")
SEGMENTATIONS = ("merges", "replay", "longest-match")
UNKNOWNS = ("word", "char")
ALPHABETS = ("seen", "characters", "bytes")
NORMALIZERS = ("delete-newlines",)


class Marker(NamedTuple):
    """How tokens show where a word starts, goes on or ends.

    kind: `none`; `end` and `start` (a symbol of its own behind or before the word);
        `end-fused` (glued to the last character); `continuation` (in front of every
        symbol but a word's first).
    text: what it looks like, `##` for instance; empty for `none`.
    """

    kind: str = "none"
    text: str = ""


class Merge(NamedTuple):
    """One step of a training. Counts are weighted occurrences before the merge."""

    left: int
    right: int
    token: int
    count: int  # type: ignore[assignment]  # hides tuple.count, which nobody needs
    left_count: int
    right_count: int


@dataclass(frozen=True)
class Recipe:
    """How text becomes tokens.

    Attributes:
        name: the preset's name, or the algorithm's for a default recipe.
        algorithm: `bpe` or `wordpiece`.
        normalizers: applied to the text in this order.
        pre_tokenizer: one of `PRE_TOKENIZERS`, or `regex:PATTERN`.
        units: what a symbol starts as, `bytes` or `characters`.
        marker: see `Marker`.
        alphabet: `seen` (initial symbols of the counted pre-tokens), `characters`
            (these, and every character in its bare form), `bytes` (all 256).
        score: `count`, or `likelihood`: count(ab) / (count(a) * count(b)).
        tie_break: which of several best pairs is merged; see `docs/algorithms.md`.
        segmentation: `merges` by rank, `replay` of the merges in the order learned,
            or `longest-match`.
        unk_token: stands for what has no token; None where nothing needs it, or where
            an unknown character is to be an error.
        unknown: `word`, or `char` for the unknown character alone (longest match).
        max_input_chars: a longer word is unknown as a whole (longest match); None: no limit.
        special_tokens: these have the lowest ids, in this order, `unk_token` among them.
    """

    name: str
    algorithm: str
    normalizers: tuple[str, ...] = ()
    pre_tokenizer: str = "gpt2"
    units: str = "characters"
    marker: Marker = Marker()  # noqa: RUF009 (a tuple can't change)
    alphabet: str = "seen"
    score: str = "count"
    tie_break: str = "first-seen"
    segmentation: str = "merges"
    unk_token: str | None = None
    unknown: str = "word"
    max_input_chars: int | None = None
    special_tokens: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, value, allowed in (
            ("algorithm", self.algorithm, ALGORITHMS),
            ("units", self.units, UNITS),
            ("marker", self.marker.kind, MARKER_KINDS),
            ("alphabet", self.alphabet, ALPHABETS),
            ("score", self.score, SCORES),
            ("tie break", self.tie_break, TIE_BREAKS),
            ("segmentation", self.segmentation, SEGMENTATIONS),
            ("unknown", self.unknown, UNKNOWNS),
            *(("normalizer", normalizer, NORMALIZERS) for normalizer in self.normalizers),
        ):
            if value not in allowed:
                raise TokctlError(
                    f"no {name} is called {value!r}", f"choose one of: {', '.join(allowed)}"
                )
        self._check_pre_tokenizer()
        self._check_marker()
        self._check_special_tokens()
        if self.max_input_chars is not None and not 0 < self.max_input_chars < 2**53:
            raise TokctlError(f"max_input_chars can't be {self.max_input_chars}")

    def _check_pre_tokenizer(self) -> None:
        name = self.pre_tokenizer
        if self.is_regex:
            from tokctl.pretokenizers import compile_pattern

            compile_pattern(name)
        elif name not in PRE_TOKENIZERS:
            raise TokctlError(
                f"no pre-tokenizer is called {name!r}",
                f"choose one of: {', '.join(PRE_TOKENIZERS)}, regex:PATTERN",
            )
        elif self.units == "bytes" and name not in LOSSLESS_PRE_TOKENIZERS:
            raise TokctlError(
                f"the pre-tokenizer {name!r} drops spaces, so a byte-level model "
                "could not give the text back",
                "use gpt2, none or regex:PATTERN, or train on characters (--chars)",
            )

    def _check_marker(self) -> None:
        kind, text = self.marker
        if (kind == "none") != (text == ""):
            raise TokctlError("a word marker needs a kind and a text, or neither")
        if self.units == "bytes" and kind != "none":
            raise TokctlError(
                "a byte-level model has no word marker: its tokens hold the spaces themselves",
                "leave the marker out, or train on characters (--chars)",
            )
        if (self.algorithm == "wordpiece") != (kind == "continuation"):
            raise TokctlError("WordPiece needs a continuation marker, and only WordPiece has one")
        if (self.alphabet == "bytes") != (self.units == "bytes"):
            raise TokctlError("a byte-level model has an alphabet of bytes, and no other has one")
        if self.segmentation == "longest-match" and self.algorithm != "wordpiece":
            raise TokctlError("only WordPiece is segmented by longest match")

    def _check_special_tokens(self) -> None:
        if len(set(self.special_tokens)) != len(self.special_tokens):
            raise TokctlError("a special token is given twice")
        if "" in self.special_tokens:
            raise TokctlError("a special token can't be empty")
        for token in self.special_tokens:
            try:
                token.encode()
            except UnicodeEncodeError:
                raise TokctlError(f"the special token {token!r} is not UTF-8") from None
        if self.unk_token is not None and self.unk_token not in self.special_tokens:
            raise TokctlError(f"the unknown token {self.unk_token!r} is no special token")

    @property
    def is_regex(self) -> bool:
        return self.pre_tokenizer.startswith("regex:")

    def with_special_tokens(self, tokens: Sequence[str]) -> Recipe:
        """This recipe with more special tokens, behind those it has."""
        added = [token for token in dict.fromkeys(tokens) if token not in self.special_tokens]
        return replace(self, special_tokens=(*self.special_tokens, *added))

    def to_dict(self) -> dict[str, Any]:
        data = asdict(self)
        data["marker"] = {"kind": self.marker.kind, "text": self.marker.text}
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Recipe:
        """The recipe that `to_dict` described; TokctlError where a field is not as it should be."""
        known = {entry.name: entry for entry in fields(cls)}
        if unknown := set(data) - set(known):
            raise TokctlError(f"the recipe has a field {min(unknown)!r} that this tokctl lacks")
        values = dict(data)
        try:
            marker = Marker(data["marker"]["kind"], data["marker"]["text"])
            if not all(isinstance(part, str) for part in marker):
                raise TypeError("marker")
            values["marker"] = marker
            values["normalizers"] = _strings(data["normalizers"])
            values["special_tokens"] = _strings(data["special_tokens"])
            texts = set(known) - {"marker", "normalizers", "special_tokens", "max_input_chars"}
            for name in texts:
                if not (
                    isinstance(values[name], str) or (name == "unk_token" and not values[name])
                ):
                    raise TypeError(name)
            limit = values["max_input_chars"]
            if limit is not None and type(limit) is not int:
                raise TypeError("max_input_chars")
            return cls(**values)
        except (KeyError, TypeError) as error:
            raise TokctlError(f"the recipe's field {error} is missing or wrong") from None


def _strings(values: Any) -> tuple[str, ...]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise TypeError("list of texts")
    return tuple(values)


@dataclass(frozen=True)
class TrainingRecord:
    """What a training read and did; all of it depends on input and options alone.

    Attributes:
        documents, bytes, sha256: what was read. For one document `sha256` is that of its
            bytes; for several it is that of their digests, one hex line each.
        pre_tokens, distinct_pre_tokens: after `min_count`.
        alphabet_size: initial symbols that have an id.
        vocab_size: as asked for; the vocabulary is smaller when `exhausted`.
    """

    documents: int
    bytes: int
    sha256: str
    pre_tokens: int
    distinct_pre_tokens: int
    alphabet_size: int
    vocab_size: int
    min_count: int
    min_frequency: int
    max_token_length: int | None
    exhausted: bool

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> TrainingRecord:
        """The record as `dataclasses.asdict` wrote it; TypeError where a field is wrong."""
        record = cls(**data)
        for entry in fields(cls):
            value = getattr(record, entry.name)
            if entry.name in ("sha256", "exhausted"):
                fits = type(value) is {"sha256": str, "exhausted": bool}[entry.name]
            else:
                fits = type(value) is int and 0 <= value < 2**64
                fits = fits or (value is None and entry.name == "max_token_length")
            if not fits:
                raise TypeError(entry.name)
        return record


@dataclass(frozen=True)
class FilledRecipe:
    """A recipe with its vocabulary: all that a model file holds.

    Attributes:
        tokens: each token's bytes, markers included, by id.
        merges: in the order learned; empty where the history is unknown.
        training: None for a model that tokctl has not trained.
    """

    recipe: Recipe
    tokens: list[bytes]
    merges: list[Merge] = field(default_factory=list)
    training: TrainingRecord | None = None

    @property
    def special_ids(self) -> dict[str, int]:
        """Special tokens with their ids, in id order."""
        return {token: id_ for id_, token in enumerate(self.recipe.special_tokens)}
