"""The model and the texts of a health check, and data that several checks need."""

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
from tokctl.analysis.health.results import CHECKS, CheckResult, Example, Finding, SkippedCheck
from tokctl.analysis.texts import checked_batches, errors_of
from tokctl.sources import Source
from tokctl.tokenizer import Tokenizer

#: Trials for each id of a vocabulary so large that this exceeds `TRIALS`.
TRIALS_PER_ID = 6
#: Ids converted to Python objects at a time, which bounds the memory.
_IDS_AT_A_TIME = 1 << 20


@dataclass(frozen=True)
class EncodedTexts:
    """Documents in memory with their ids; each document is encoded separately.

    Attributes:
        documents: bytes of each document.
        ids: ids of all documents, one after the other.
        offsets: start of each document in `ids`, and the end of the last.
        counts: how often each document counts; None means once.
    """

    documents: Sequence[bytes]
    ids: _native.IdArray
    offsets: Sequence[int]
    counts: Sequence[int] | None = None

    def _each(self) -> Iterator[tuple[int, int]]:
        """Yield the number of bytes and ids of each document, times its count."""
        for number, size in enumerate(map(len, self.documents)):
            count = 1 if self.counts is None else self.counts[number]
            yield size * count, (self.offsets[number + 1] - self.offsets[number]) * count

    @property
    def number(self) -> int:
        """Number of documents, each as often as it counts."""
        return len(self.documents) if self.counts is None else sum(self.counts)

    @property
    def bytes(self) -> int:
        """Bytes of all documents, each as often as it counts."""
        return sum(size for size, _ in self._each())

    @property
    def tokens(self) -> int:
        """Number of ids of all documents, each as often as it counts."""
        return sum(tokens for _, tokens in self._each())

    def count_ids(self, counts: Counter[int]) -> None:
        """Add the uses of each id to `counts`."""
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
    """Encode all documents of the sources, a batch of records together.

    Args:
        tokenizer: tokenizer that encodes.
        sources: texts to read.
        errors: `strict`, or `replace` to put U+FFFD where text is not UTF-8.
        threads: threads for encoding.

    Raises:
        TokctlError: text is not UTF-8, for a character-level model and `errors="strict"`.
    """
    encoder, matcher = tokenizer.encoder, tokenizer.special_matcher("none")
    found = []
    for _, batch in checked_batches(sources, errors_of(tokenizer, errors)):
        if len(batch.texts) == 1:  # all threads share one long document
            ids = encoder.array(batch.texts[0], threads, matcher)
            offsets: Sequence[int] = (0, len(ids))
        else:
            ids, ends = encoder.batch_array(batch.texts, threads, matcher)
            offsets = array("q", ends)
        found.append(EncodedTexts(batch.texts, ids, offsets, batch.counts))
    return found


class CheckContext:
    """A tokenizer under check, with the texts if there are any.

    Attributes:
        tokenizer: tokenizer to check.
        texts: encoded texts; None if none were given.
        limit: most examples of each finding; None for all.
        rare: a token with fewer uses is rare.
        embeddings: file with a language model's embeddings; see `embedding_facts`.
        tensor: name of the embeddings in the file; see `embedding_facts`.
        model: the tokenizer's model.
        recipe: the tokenizer's recipe.
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
        """Ids that ordinary text can give."""
        return ordinary_ids(self.tokenizer)

    @cached_property
    def byte_tokens(self) -> frozenset[int]:
        """Ids of `<0x00>` to `<0xFF>` in a model with byte fallback."""
        ids = range(self.tokenizer.vocab_size) if self.recipe.byte_fallback else ()
        return frozenset(id_ for id_ in ids if is_byte_token(self.tokenizer, id_))

    @cached_property
    def texts_of(self) -> dict[int, str]:
        """Text of each ordinary token of whole characters, byte tokens left out.

        `▁` is written as a space if it stands for one; other markers are removed.
        """
        return {
            id_: written_text(self.tokenizer, id_).decode()
            for id_ in self.ordinary
            if id_ not in self.byte_tokens and id_ not in self.partial
        }

    @cached_property
    def partial(self) -> frozenset[int]:
        """Ordinary tokens that are not whole characters."""
        if not self.recipe.is_byte_level:
            return frozenset()
        tokens = self.model.tokens
        return frozenset(id_ for id_ in self.ordinary if not is_utf8(tokens[id_]))

    @cached_property
    def reserve(self) -> frozenset[int]:
        """Tokens of single bytes, which a vocabulary keeps for rare characters."""
        if not self.recipe.is_byte_level:
            return self.byte_tokens
        return frozenset(id_ for id_ in self.ordinary if len(self.model.tokens[id_]) == 1)

    @cached_property
    def bare(self) -> dict[int, bytes]:
        """Bytes of each ordinary token without its marker, byte tokens left out."""
        ids = (id_ for id_ in self.ordinary if id_ not in self.byte_tokens)
        return {id_: token_text(self.tokenizer, id_) for id_ in ids}

    # -- results of trials and texts -----------------------------------------------------

    @cached_property
    def matcher(self) -> _native.Matchers | None:
        """Matcher of the added tokens that are always found; None if none are."""
        return self.tokenizer.special_matcher("none")

    @cached_property
    def trials(self) -> int:
        """Most texts to encode in the trials of `reach`."""
        return max(TRIALS, TRIALS_PER_ID * self.tokenizer.vocab_size)

    @cached_property
    def reach(self) -> Reach:
        """Tokens that no trial gives if added tokens are not found first."""
        return unreachable(self.tokenizer, trials=self.trials)

    @cached_property
    def reach_beside_added(self) -> Reach:
        """Tokens that no trial gives if added tokens are found first."""
        if self.matcher is None:
            return self.reach
        return unreachable(self.tokenizer, trials=self.trials, matcher=self.matcher)

    @cached_property
    def used(self) -> Counter[int]:
        """Uses of each id in the texts."""
        counts: Counter[int] = Counter()
        for text in self.texts or ():
            text.count_ids(counts)
        return counts

    def gives(self, text: str, id_: int) -> bool:
        """Return whether `text` is encoded to the single token `id_` with no special token allowed.

        White space at the ends of `text` may become other tokens.
        """
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
        """Return a finding about tokens.

        Args:
            name: name of the check.
            ids: ids of the tokens concerned; the first `limit` become examples.
            of: number of tokens examined.
            notes: function that returns the note of an id.
            detail: more about the finding in this model.
            undecided: number of tokens that the check could not decide.
        """
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
        """Return a finding with the texts that `CHECKS` has for `name`.

        Args:
            name: name of the check.
            count: number of items concerned.
            of: number of items examined.
            examples: first items concerned.
            detail: more about the finding; dropped if nothing is concerned or undecided.
            undecided: number of items that the check could not decide.
        """
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
        """Return token `id_` as an example with a note."""
        return Example(id_, self.tokenizer.tokens[id_], self.model.tokens[id_], note)


def not_made(names: Iterable[str], reason: str) -> list[CheckResult]:
    """Return the checks that were not made for one reason."""
    return [SkippedCheck(name, reason) for name in names]
