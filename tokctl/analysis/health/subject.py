"""The model under examination, the texts that it is checked on, and what several checks need
of both."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tokctl import _native
from tokctl.analysis.explain.vocabulary import (
    TRIALS,
    Reach,
    is_byte_token,
    is_utf8,
    ordinary_ids,
    token_text,
    unreachable,
    written_text,
)
from tokctl.analysis.health.results import CHECKS, Answer, Example, Finding, NotMade
from tokctl.analysis.texts import checked_batches, errors_of
from tokctl.sources import Source
from tokctl.tokenizer import Tokenizer

#: Trials for each id of a large vocabulary, where that is more than `TRIALS`.
TRIALS_PER_ID = 6
#: Ids that become Python objects together.
_IDS_AT_A_TIME = 1 << 20


@dataclass(frozen=True)
class EncodedTexts:
    """Documents in memory, and the ids that they are encoded to, each by itself.

    Attributes:
        ids: of all documents, one after the other.
        offsets: where those of each document begin, and where the last ones end.
        counts: how often each document counts; None: once.
    """

    documents: Sequence[bytes]
    ids: _native.IdArray
    offsets: Sequence[int]
    counts: Sequence[int] | None = None

    def _each(self) -> Iterator[tuple[int, int]]:
        """Bytes and ids of each document, as often as it counts."""
        for number, size in enumerate(map(len, self.documents)):
            count = 1 if self.counts is None else self.counts[number]
            yield size * count, (self.offsets[number + 1] - self.offsets[number]) * count

    @property
    def number(self) -> int:
        """Of the documents, each as often as it counts."""
        return len(self.documents) if self.counts is None else sum(self.counts)

    @property
    def bytes(self) -> int:
        return sum(size for size, _ in self._each())

    @property
    def tokens(self) -> int:
        return sum(tokens for _, tokens in self._each())

    def count_ids(self, counts: Counter[int]) -> None:
        """Adds how often each id is used."""
        if self.counts is None:
            for start in range(0, len(self.ids), _IDS_AT_A_TIME):
                counts.update(self.ids[start : start + _IDS_AT_A_TIME].tolist())
            return
        for number, times in enumerate(self.counts):
            for id_ in self.ids[self.offsets[number] : self.offsets[number + 1]].tolist():
                counts[id_] += times


def encode_texts(
    tokenizer: Tokenizer, sources: Sequence[Source], errors: str, threads: int
) -> list[EncodedTexts]:
    """All documents of the sources, a batch of a source of records together.

    Raises:
        TokctlError: text that is not UTF-8, for a character model; `errors="replace"` puts
            U+FFFD in its place.
    """
    encoder, matcher = tokenizer.encoder, tokenizer.special_matcher("none")
    found = []
    for _, batch in checked_batches(sources, errors_of(tokenizer, errors)):
        if len(batch.texts) == 1:  # which all threads encode together
            ids = encoder.array(batch.texts[0], threads, matcher)
            offsets: Sequence[int] = (0, len(ids))
        else:
            ids, ends = encoder.batch_array(batch.texts, threads, matcher)
            offsets = array("q", ends)
        found.append(EncodedTexts(batch.texts, ids, offsets, batch.counts))
    return found


class Subject:
    """A tokenizer with the texts that it is checked on, if any.

    Attributes:
        limit: examples of each finding; None for all.
        rare: a token that is used less often is rare.
        embeddings, tensor: where the embeddings of a language model are; see `embedding_facts`.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        texts: Sequence[EncodedTexts] | None,
        *,
        limit: int | None,
        rare: int,
        embeddings: str | Path | None = None,
        tensor: str | None = None,
    ) -> None:
        self.tokenizer = tokenizer
        self.texts = texts
        self.limit = limit
        self.rare = rare
        self.embeddings = embeddings
        self.tensor = tensor
        self.model = tokenizer.model
        self.recipe = tokenizer.recipe

    # -- tokens ------------------------------------------------------------------------

    @cached_property
    def ordinary(self) -> list[int]:
        """The ids that ordinary text can give."""
        return ordinary_ids(self.tokenizer)

    @cached_property
    def byte_tokens(self) -> frozenset[int]:
        """The ids of `<0x00>` to `<0xFF>`, where unknown characters fall back to bytes."""
        ids = range(self.tokenizer.vocab_size) if self.recipe.byte_fallback else ()
        return frozenset(id_ for id_ in ids if is_byte_token(self.tokenizer, id_))

    @cached_property
    def texts_of(self) -> dict[int, str]:
        """The text of each ordinary token that is whole characters, a space where `▁` stands
        for one, without other markers. Tokens of bytes are left out."""
        return {
            id_: written_text(self.tokenizer, id_).decode()
            for id_ in self.ordinary
            if id_ not in self.byte_tokens and id_ not in self.partial
        }

    @cached_property
    def partial(self) -> frozenset[int]:
        """The ordinary tokens that are not whole characters."""
        if not self.recipe.is_byte_level:
            return frozenset()
        tokens = self.model.tokens
        return frozenset(id_ for id_ in self.ordinary if not is_utf8(tokens[id_]))

    @cached_property
    def reserve(self) -> frozenset[int]:
        """The tokens of single bytes, which stand ready for what is rare."""
        if not self.recipe.is_byte_level:
            return self.byte_tokens
        return frozenset(id_ for id_ in self.ordinary if len(self.model.tokens[id_]) == 1)

    @cached_property
    def bare(self) -> dict[int, bytes]:
        """The bytes of each ordinary token without its marker; tokens of bytes left out."""
        ids = (id_ for id_ in self.ordinary if id_ not in self.byte_tokens)
        return {id_: token_text(self.tokenizer, id_) for id_ in ids}

    # -- what trials and texts give ------------------------------------------------------

    @cached_property
    def matcher(self) -> _native.Matchers | None:
        """What finds the added tokens that need no permission."""
        return self.tokenizer.special_matcher("none")

    @cached_property
    def trials(self) -> int:
        return max(TRIALS, TRIALS_PER_ID * self.tokenizer.vocab_size)

    @cached_property
    def reach(self) -> Reach:
        """The tokens that no trial gives, added tokens aside."""
        return unreachable(self.tokenizer, trials=self.trials)

    @cached_property
    def reach_beside_added(self) -> Reach:
        """The same, where added tokens are found first."""
        if self.matcher is None:
            return self.reach
        return unreachable(self.tokenizer, trials=self.trials, matcher=self.matcher)

    @cached_property
    def used(self) -> Counter[int]:
        """How often each id is used in the texts."""
        counts: Counter[int] = Counter()
        for text in self.texts or ():
            text.count_ids(counts)
        return counts

    def gives(self, text: str, id_: int) -> bool:
        """Is a text encoded to one token of this id, where no special token is allowed? White
        space at its ends may be others."""
        data = text.encode()
        ids, starts, ends, _ = self.tokenizer.encoder.tokens(data, self.matcher)
        size = len(data.strip())
        return any(
            id_ == given and end - start >= size
            for given, start, end in zip(ids, starts, ends, strict=True)
        )

    # -- findings ------------------------------------------------------------------------

    def found(
        self,
        name: str,
        ids: Sequence[int],
        of: int,
        *,
        notes: Callable[[int], str] | None = None,
        detail: str = "",
        undecided: int = 0,
    ) -> Finding:
        """A finding that is about tokens."""
        examples = (self.example(id_, notes(id_) if notes else "") for id_ in ids[: self.limit])
        return self.finding(
            name, len(ids), of, examples=examples, detail=detail, undecided=undecided
        )

    def finding(
        self,
        name: str,
        count: int,
        of: int,
        *,
        examples: Iterable[Example] = (),
        detail: str = "",
        undecided: int = 0,
    ) -> Finding:
        """A finding of whatever kind; its words are those of `CHECKS`."""
        check = CHECKS[name]
        return Finding(
            name=name,
            severity=check.severity,
            count=count,
            of=of,
            things=check.things,
            examples=tuple(examples),
            what=check.what,
            why=check.why,
            detail=detail if count or undecided else "",
            undecided=undecided,
        )

    def example(self, id_: int, note: str = "") -> Example:
        return Example(id_, self.tokenizer.tokens[id_], self.model.tokens[id_], note)


def not_made(names: Iterable[str], reason: str) -> list[Answer]:
    """Checks that are not made, all for one reason."""
    return [NotMade(name, reason) for name in names]
