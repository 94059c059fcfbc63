"""Texts as an iterable gives them, encoded some at a time."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from tokctl import _native
from tokctl._native import IdArray
from tokctl.errors import TokctlError
from tokctl.tokenizer.encodes import Encodes, no_id

T = TypeVar("T")

#: Characters, or bytes, of texts that are read ahead at most: enough work for some threads.
MOST_CHARACTERS = 1 << 20
#: Texts that are asked for between two looks at how long they are.
STEP = 64


@dataclass(frozen=True)
class Way:
    """How texts are encoded; see `Encodes.encode_batch`."""

    tokenizer: Encodes
    threads: int
    matcher: _native.Matchers | None
    #: What is done with the ids of some texts.
    finish: Callable[[list[list[int]]], list[list[int]]] | None = None

    def lists(self, texts: list[str | bytes], first: int) -> list[list[int]]:
        """The ids of each text; `first` is the number of the first one, for errors."""
        tokenizer = self.tokenizer
        how = self.threads, self.matcher, tokenizer.as_bytes, tokenizer._must_have_ids
        try:
            ids = tokenizer.encoder.batch(texts, *how)
        except _native.CoreError as error:
            raise no_id(error, first) from None
        return self.finish(ids) if self.finish else ids

    def arrays(self, texts: list[str | bytes], first: int) -> tuple[IdArray, array[int]]:
        """The ids of all texts, and where those of each begin."""
        tokenizer = self.tokenizer
        how = self.threads, self.matcher, tokenizer.as_bytes, tokenizer._must_have_ids
        try:
            ids, offsets = tokenizer.encoder.batch_array(texts, *how)
        except _native.CoreError as error:
            raise no_id(error, first) from None
        return ids, array("q", offsets)


def lists(texts: Iterable[str | bytes], most: int, way: Way) -> Iterator[list[int]]:
    """The ids of each text; what goes wrong is raised in its place."""
    first = 0
    for batch, error in gathered(texts, most):
        try:
            done = way.lists(batch, first)
        except (TokctlError, TypeError):
            # One of them can't be encoded; those before it can.
            for number, text in enumerate(batch, first):
                yield from way.lists([text], number)
            raise
        yield from done
        first += len(batch)
        if error is not None:
            raise error


def arrays(
    texts: Iterable[str | bytes], most: int, way: Way
) -> Iterator[tuple[IdArray, array[int]]]:
    """The ids of some texts at a time."""
    first = 0
    for batch, error in gathered(texts, most):
        try:
            done = way.arrays(batch, first)
        except (TokctlError, TypeError):
            bad = _first_bad(way, batch, first)
            if bad > 0:
                yield way.arrays(batch[:bad], first)
            raise
        if batch:
            yield done
        first += len(batch)
        if error is not None:
            raise error


def _first_bad(way: Way, batch: list[str | bytes], first: int) -> int:
    """The place of the first text that can't be encoded."""
    for place, text in enumerate(batch):
        try:
            way.arrays([text], first + place)
        except (TokctlError, TypeError):
            return place
    return len(batch)


def gathered(texts: Iterable[T], most: int) -> Iterator[tuple[list[T], Exception | None]]:
    """The texts, up to `most` at a time, and what the iterable raised behind the last of them.

    First comes one, and then at most twice as many as before: who encodes what a person types, or
    what comes over a wire, waits for no more texts than there were already.
    """
    source = iter(texts)
    wanted = 1
    while True:
        batch: list[T] = []
        error: Exception | None = None
        ended = False
        size = 0
        step = 1
        while len(batch) < wanted and size < MOST_CHARACTERS and not ended:
            before = len(batch)
            asked = min(step, wanted - before)
            try:
                # What was taken before an exception stays in the list.
                batch.extend(islice(source, asked))
            except Exception as raised:
                error = raised
            ended = error is not None or len(batch) < before + asked
            size += _characters(batch, before)
            # No more than would fit, were they as long as those so far.
            step = max(1, min(STEP, (MOST_CHARACTERS - size) * len(batch) // (size + 1)))
        if batch or error is not None:
            yield batch, error
        if ended:
            return
        wanted = min(2 * wanted, most)


def _characters(batch: list[T], start: int) -> int:
    try:
        return sum(map(len, batch[start:]))  # type: ignore[arg-type]
    except TypeError:  # something that is no text: whoever encodes it says so
        return MOST_CHARACTERS
