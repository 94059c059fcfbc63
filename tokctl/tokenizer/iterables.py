"""Texts as an iterable gives them, some at a time: for `encode_iter` and for training."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

from tokctl.errors import CoreError, TokctlError
from tokctl.sources import Batch, Records
from tokctl.tokenizer.encoding import native_error, utf8_of

T = TypeVar("T")

#: What a text that can't be encoded raises.
_REFUSALS = (TokctlError, TypeError)

#: Texts that are read ahead at most, unless something else is asked for. The ids of so many stay
#: in the processor's cache; threads need more to share out.
AHEAD = 1024
AHEAD_FOR_THREADS = 16_384
#: Characters, or bytes, of texts that are read ahead at most: enough work for some threads.
MOST_CHARACTERS = 1 << 20
#: Texts that are asked for between two looks at how long they are.
STEP = 64


def encoded(
    texts: Iterable[str | bytes], most: int, encode: Callable[[list[str | bytes]], T]
) -> Iterator[T]:
    """What `encode` makes of some texts at a time, up to `most` of them; what goes wrong is raised
    in its place, behind what comes before."""
    first = 0
    for batch, error in gathered(texts, most):
        try:
            done = encode(batch)
        except _REFUSALS as refusal:
            # One of them can't be encoded; those before it can.
            place, found = _first_refused(batch, encode) or (0, refusal)
            if place:
                yield encode(batch[:place])
            raise (
                native_error(found, first + place) if isinstance(found, CoreError) else found
            ) from None
        if batch:
            yield done
        first += len(batch)
        if error is not None:
            raise error


def _first_refused(
    batch: list[str | bytes], encode: Callable[[list[str | bytes]], object]
) -> tuple[int, Exception] | None:
    """The place of the first text that can't be encoded, and why."""
    for place, text in enumerate(batch):
        try:
            encode([text])
        except _REFUSALS as refusal:
            return place, refusal
    return None


def gathered(texts: Iterable[T], most: int) -> Iterator[tuple[list[T], Exception | None]]:
    """The texts, up to `most` at a time, and what the iterable raised after the last of them.

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
    if type(batch_size) is not int or batch_size < 1:
        raise TokctlError(f"batch_size can't be {batch_size!r}", "it is a number from 1 up")
    return batch_size


def records(texts: Iterable[str | bytes | Sequence[str | bytes]], *, byte_level: bool) -> Records:
    """Texts, or lists of texts, as a source to train on."""
    read = 0

    def batches() -> Iterator[Batch]:
        nonlocal read
        first, size = 1, 0
        some: list[bytes] = []
        for text in _each(texts):
            some.append(utf8_of(text, byte_level=byte_level))
            size += len(some[-1])
            if size >= MOST_CHARACTERS or len(some) >= AHEAD_FOR_THREADS:
                yield Batch(some, first=first)
                read += size
                first, size, some = first + len(some), 0, []
        yield Batch(some, first=first)
        read += size

    return Records("the texts", None, batches, lambda: read, unit="text")


def _each(texts: Iterable[str | bytes | Sequence[str | bytes]]) -> Iterator[str | bytes]:
    for text in texts:
        if isinstance(text, (list, tuple)):
            yield from text
        else:
            yield text  # type: ignore[misc]
