"""The one description of a tokenizer: plain data, from normalizer to decoder.

A `Recipe` says how text becomes tokens; a `FilledRecipe` adds what training found:
the vocabulary, the merges or scores and their history. Training fills a recipe in, a
model file holds a filled one, and nothing downstream knows where it came from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, NamedTuple

from tokctl.errors import TokctlError
from tokctl.pipeline import (
    DECODERS,
    NORMALIZERS,
    POST_PROCESSORS,
    PRE_TOKENIZERS,
    AddedToken,
    Part,
    is_lossless,
    text_of,
)
from tokctl.pipeline.post_processors import check_template

ALGORITHMS = ("bpe", "wordpiece", "unigram", "word", "char")
UNITS = ("bytes", "characters")
MARKER_KINDS = ("none", "end", "end-fused", "start", "continuation")
SCORES = ("count", "likelihood")
TIE_BREAKS = ("first-seen", "rewritten-last", "lowest-id")
UNKNOWNS = ("word", "char")
ALPHABETS = ("seen", "characters", "bytes")
PRECISIONS = ("double", "single")

#: How each algorithm's models can segment a pre-token.
SEGMENTATIONS = {
    "bpe": ("merges", "replay", "ranks"),
    "wordpiece": ("longest-match", "replay", "merges"),
    "unigram": ("viterbi",),
    "word": ("lookup",),
    "char": ("symbols", "lookup"),
}


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


class Round(NamedTuple):
    """One round of a Unigram training: expectation and maximization, then pruning.

    pieces: in the vocabulary after the maximization, before the pruning.
    objective: mean negative log-likelihood of a pre-token, in nats.
    tokens: expected tokens of the whole corpus.
    unused: pieces that the maximization took away, being expected less than half a time.
    dropped: pieces that the pruning took away.
    examples: some of these with their loss, the highest first; the last round cuts by
        score, and has none.
    """

    pieces: int
    objective: float
    tokens: int
    unused: int
    dropped: int
    examples: tuple[tuple[str, float | None], ...] = ()


@dataclass(frozen=True)
class Recipe:
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
        for name, value, allowed in (
            ("algorithm", self.algorithm, ALGORITHMS),
            ("units", self.units, UNITS),
            ("marker", self.marker.kind, MARKER_KINDS),
            ("alphabet", self.alphabet, ALPHABETS),
            ("score", self.score, SCORES),
            ("tie break", self.tie_break, TIE_BREAKS),
            ("unknown", self.unknown, UNKNOWNS),
            ("precision", self.precision, PRECISIONS),
        ):
            if value not in allowed:
                raise TokctlError(
                    f"no {name} is called {value!r}", f"choose one of: {', '.join(allowed)}"
                )
        self._check_segmentation()
        self._check_pre_tokenizers()
        self._check_marker()
        self._check_special_tokens()
        self._check_around()
        if self.max_input_chars is not None and not 0 < self.max_input_chars < 2**53:
            raise TokctlError(f"max_input_chars can't be {self.max_input_chars}")

    def _check_segmentation(self) -> None:
        allowed = SEGMENTATIONS[self.algorithm]
        if self.segmentation not in allowed:
            every = {name for names in SEGMENTATIONS.values() for name in names}
            if self.segmentation not in every:
                message = f"no segmentation is called {self.segmentation!r}"
            else:
                message = f"{self.algorithm} can't be segmented by {self.segmentation}"
            raise TokctlError(message, f"choose one of: {', '.join(allowed)}")
        if self.byte_fallback and (
            self.units == "bytes" or self.algorithm not in ("bpe", "unigram")
        ):
            raise TokctlError(
                "only bpe and unigram on characters can fall back to bytes",
                "leave byte fallback out, or take one of these",
            )
        if self.units == "bytes" and self.algorithm != "bpe":
            raise TokctlError(
                f"{self.algorithm} reads characters, not bytes",
                "leave --bytes out; byte fallback gives unigram the bytes of unknown characters",
            )

    def _check_pre_tokenizers(self) -> None:
        for part in self.pre_tokenizers:
            if part.kind == "split" and part["regex"]:
                from tokctl.pretokenizers import compile_pattern

                compile_pattern(part["pattern"])
            if self.units == "bytes" and not is_lossless(part) and part.kind != "prefix-space":
                raise TokctlError(
                    f"the pre-tokenizer {str(part)!r} does not keep the text as it is, so a "
                    "byte-level model could not give the text back",
                    "use gpt2, cl100k, none or regex:PATTERN, or train on characters (--chars)",
                )
        for part in self.normalizers:
            if part.kind == "replace" and part["regex"]:
                from tokctl.pretokenizers import compile_pattern

                compile_pattern(part["pattern"])

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
        if kind != "none" and self.algorithm not in ("bpe", "wordpiece"):
            raise TokctlError(
                f"{self.algorithm} has no word marker",
                "leave it out: markers are for bpe and wordpiece",
            )
        if (self.alphabet == "bytes") != (self.units == "bytes"):
            raise TokctlError("a byte-level model has an alphabet of bytes, and no other has one")

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

    def _check_around(self) -> None:
        """TokctlError unless post-processors and decoders fit the model."""
        for part in self.post_processors:
            if part.kind == "template":
                check_template(part["single"], part["pair"], self.special_tokens)
        needs = {
            "byte-level": (self.units == "bytes", "a byte-level model"),
            "wordpiece": (self.units != "bytes", "a model of characters"),
            "metaspace": (self.units != "bytes", "a model of characters"),
            "bpe-suffix": (self.units != "bytes", "a model of characters"),
            "byte-fallback": (self.byte_fallback, "a model with byte fallback"),
        }
        for part in self.decoders:
            fits, needed = needs.get(part.kind, (True, ""))
            if not fits:
                raise TokctlError(
                    f"the decoder {part} does not fit: it needs {needed}",
                    "leave the decoder out, and the recipe decodes as it should",
                )
            if part.kind == "replace" and part["regex"]:
                from tokctl.pretokenizers import compile_pattern

                compile_pattern(part["pattern"])

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
            values["special_tokens"] = _strings(values["special_tokens"])
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
    values["normalizers"] = [{"kind": kind} for kind in _strings(data["normalizers"])]
    values["pre_tokenizers"] = [part.to_dict() for part in PRE_TOKENIZERS.steps(splitting)]
    return values


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
        coverage, alphabet_limit, initial_alphabet: what limited the alphabet.
        sample, seed: the share of the lines that was read, and what chose them.
        weights: of the documents, in their order, as fractions; empty: all alike.
        count_scale: every count is that many times the weighted one, to be a whole number.
        extended: ids of the model that this training went on from; 0: it started anew.
        pruned_from: ids before the last pruning; None: nothing was pruned.
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
    coverage: float | None = None
    alphabet_limit: int | None = None
    initial_alphabet: str = ""
    sample: float | None = None
    seed: int = 0
    weights: tuple[str, ...] = ()
    count_scale: int = 1
    extended: int = 0
    pruned_from: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """As JSON would hold it, without the options that were not used."""
        data = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        unused = {entry.name: entry.default for entry in fields(self)}
        data = {name: value for name, value in data.items() if value != unused[name]}
        return data | ({"weights": list(self.weights)} if self.weights else {})

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> TrainingRecord:
        """The record as `to_dict` wrote it; TypeError where a field is wrong."""
        record = cls(**data)
        if "weights" in data:
            record = replace(record, weights=_strings(data["weights"]))
        for entry in fields(cls):
            value = getattr(record, entry.name)
            if entry.name in _RECORD_TYPES:
                fits = type(value) in _RECORD_TYPES[entry.name]
            else:
                fits = type(value) is int and 0 <= value < 2**64
                fits = fits or (value is None and entry.name in _RECORD_OPTIONAL)
            if not fits:
                raise TypeError(entry.name)
        return record


#: The fields of a record that are no counts, and those that may be None.
_RECORD_TYPES = {
    "sha256": (str,),
    "exhausted": (bool,),
    "coverage": (float, type(None)),
    "initial_alphabet": (str,),
    "sample": (float, type(None)),
    "weights": (tuple,),
}
_RECORD_OPTIONAL = ("max_token_length", "alphabet_limit", "pruned_from")


@dataclass(frozen=True)
class FilledRecipe:
    """A recipe with its vocabulary: all that a model file holds.

    Attributes:
        tokens: each token's bytes, markers included, by id.
        merges: in the order learned; empty where the history is unknown.
        training: None for a model that tokctl has not trained.
        scores: each token's natural log probability, by id (unigram); 0 where it has none.
        rounds: of a Unigram training.
        counts: how often each token was counted in training, by id (word, char).
        added_tokens: those that are found before the model segments the text; by default
            the recipe's special tokens, with the lowest ids.
    """

    recipe: Recipe
    tokens: list[bytes]
    merges: list[Merge] = field(default_factory=list)
    training: TrainingRecord | None = None
    scores: list[float] = field(default_factory=list)
    rounds: list[Round] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    added_tokens: tuple[AddedToken, ...] | None = None

    def __post_init__(self) -> None:
        size = len(self.tokens)
        for name in ("scores", "counts"):
            if getattr(self, name) and len(getattr(self, name)) != size:
                raise TokctlError(f"there is not one of the {name} for each token")
        seen = set()
        for token in self.added:
            if token.id >= size or (token.special and self.tokens[token.id] != token.text.encode()):
                raise TokctlError(f"the added token {token.text!r} is not in the vocabulary")
            if token.id in seen:
                raise TokctlError(f"the id {token.id} has two added tokens")
            seen.add(token.id)
        if len({token.text for token in self.added}) != len(self.added):
            raise TokctlError("two added tokens have the same text")
        if missing := set(self.recipe.special_tokens) - self.special_ids.keys():
            raise TokctlError(f"the special token {min(missing)!r} is not in the vocabulary")

    @property
    def added(self) -> tuple[AddedToken, ...]:
        """The added tokens, special ones among them, in id order."""
        if self.added_tokens is None:
            texts = self.recipe.special_tokens
            return tuple(AddedToken(text, id_) for id_, text in enumerate(texts))
        return self.added_tokens

    @cached_property
    def special_ids(self) -> dict[str, int]:
        """Special tokens with their ids, in id order."""
        return {token.text: token.id for token in self.added if token.special}

    @cached_property
    def apart(self) -> frozenset[int]:
        """The ids that the model never makes of ordinary text: added tokens, and bytes as
        SentencePiece has them (Hugging Face's Unigram finds `<0x41>` in text)."""
        found = {token.id for token in self.added if token.special or not token.ordinary}
        if self.recipe.byte_fallback and self.recipe.precision == "single":
            names = {b"<0x%02X>" % byte for byte in range(256)}
            found |= {id_ for id_, token in enumerate(self.tokens) if token in names}
        return frozenset(found)
