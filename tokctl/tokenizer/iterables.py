"""Texts as an iterable gives them, encoded some at a time: what is behind `encode_iter`."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from tokctl import _native
from tokctl._native import IdArray
from tokctl.errors import TokctlError
from tokctl.tokenizer.encoding import native_error

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer

T = TypeVar("T")

#: Texts that are read ahead at most, unless something else is asked for. The ids of so many stay
#: in the processor's cache; threads need more to share out.
AHEAD = 1024
AHEAD_FOR_THREADS = 16_384
#: Characters, or bytes, of texts that are read ahead at most: enough work for some threads.
MOST_CHARACTERS = 1 << 20
#: Texts that are asked for between two looks at how long they are.
STEP = 64


@dataclass(frozen=True)
class BatchEncoder:
    """How the texts of a batch are encoded; see `Tokenizer.encode_ids`."""

    tokenizer: Tokenizer
    threads: int
    matcher: _native.Matchers | None
    #: What is done with the ids of some texts.
    finish: Callable[[list[list[int]]], list[list[int]]] | None = None

    def lists(self, texts: list[str | bytes], first: int) -> list[list[int]]:
        """The ids of each text; `first` is the number of the first one, for errors."""
        tokenizer = self.tokenizer
        options = self.threads, self.matcher, tokenizer.as_bytes, tokenizer.must_have_ids
        try:
            ids = tokenizer.encoder.batch(texts, *options)
        except _native.CoreError as error:
            raise native_error(error, first) from None
        return self.finish(ids) if self.finish else ids

    def arrays(self, texts: list[str | bytes], first: int) -> tuple[IdArray, array[int]]:
        """The ids of all texts, and where those of each begin."""
        tokenizer = self.tokenizer
        options = self.threads, self.matcher, tokenizer.as_bytes, tokenizer.must_have_ids
        try:
            ids, offsets = tokenizer.encoder.batch_array(texts, *options)
        except _native.CoreError as error:
            raise native_error(error, first) from None
        return ids, array("q", offsets)


def lists(texts: Iterable[str | bytes], most: int, encoder: BatchEncoder) -> Iterator[list[int]]:
    """The ids of each text; what goes wrong is raised in its place."""
    first = 0
    for batch, error in gathered(texts, most):
        try:
            done = encoder.lists(batch, first)
        except (TokctlError, TypeError):
            # One of them can't be encoded; those before it can.
            for number, text in enumerate(batch, first):
                yield from encoder.lists([text], number)
            raise
        yield from done
        first += len(batch)
        if error is not None:
            raise error


def arrays(
    texts: Iterable[str | bytes], most: int, encoder: BatchEncoder
) -> Iterator[tuple[IdArray, array[int]]]:
    """The ids of some texts at a time."""
    first = 0
    for batch, error in gathered(texts, most):
        try:
            done = encoder.arrays(batch, first)
        except (TokctlError, TypeError):
            bad = _first_bad(encoder, batch, first)
            if bad > 0:
                yield encoder.arrays(batch[:bad], first)
            raise
        if batch:
            yield done
        first += len(batch)
        if error is not None:
            raise error


def _first_bad(encoder: BatchEncoder, batch: list[str | bytes], first: int) -> int:
    """The place of the first text that can't be encoded."""
    for place, text in enumerate(batch):
        try:
            encoder.arrays([text], first + place)
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
            wanted_now = min(step, wanted - before)
            try:
                # What was taken before an exception stays in the list.
                batch.extend(islice(source, wanted_now))
            except Exception as raised:
                error = raised
            ended = error is not None or len(batch) < before + wanted_now
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


def most_ahead(batch_size: int | None, threads: int) -> int:
    """How many texts are read ahead at most."""
    if batch_size is None:
        return AHEAD if threads == 1 else AHEAD_FOR_THREADS
    if batch_size < 1:
        raise TokctlError(f"batch_size can't be {batch_size}", "it is a number from 1 up")
    return batch_size
