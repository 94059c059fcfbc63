"""What a training did: its steps, and what it read."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

from tokctl.model.fields import strings
from tokctl.values import Value


class Origin(NamedTuple):
    """Where a model came from that tokctl has not trained.

    format: the name of its format in `tokctl.formats`.
    name: what the file, or the library that knows it, calls it (`cl100k_base`, the
        `general.name` of a GGUF file); empty where nothing does.
    """

    format: str
    name: str = ""


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


@dataclass(frozen=True, eq=False, repr=False)
class TrainingRecord(Value):
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
            record = replace(record, weights=strings(data["weights"]))
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
