"""The model under examination, and what several checks ask of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

from tokctl import _native
from tokctl.analysis.explain.reach import (
    TRIALS,
    Reach,
    is_byte_token,
    is_whole,
    ordinary_ids,
    token_text,
    unreachable,
    written_text,
)
from tokctl.analysis.health.known import CHECKS
from tokctl.analysis.health.reading import Read
from tokctl.analysis.health.report import Example, Finding, NotMade
from tokctl.tokenizer import Tokenizer

#: Trials for each id of a large vocabulary, where that is more than `TRIALS`.
TRIALS_PER_ID = 6


class Subject:
    """A tokenizer with the texts that it is checked on, if any.

    Attributes:
        limit: examples of each finding; None for all.
        rare: a token that is used less often is rare.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        texts: Sequence[Read] | None,
        *,
        limit: int | None,
        rare: int,
    ) -> None:
        self.tokenizer = tokenizer
        self.texts = texts
        self.limit = limit
        self.rare = rare
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
        """The ordinary tokens that are no whole characters."""
        if self.recipe.units != "bytes":
            return frozenset()
        tokens = self.model.tokens
        return frozenset(id_ for id_ in self.ordinary if not is_whole(tokens[id_]))

    @cached_property
    def reserve(self) -> frozenset[int]:
        """The tokens of single bytes, which stand ready for what is rare."""
        if self.recipe.units != "bytes":
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


Answer = Finding | NotMade


def not_made(names: Iterable[str], reason: str) -> list[Answer]:
    """Checks that are not made, all for one reason."""
    return [NotMade(name, reason) for name in names]
