"""Batches of texts from an iterable, for `encode_iter` and for training."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

from tokctl.core.errors import BadOption, CoreError, TokctlError
from tokctl.sources import Batch, Records
from tokctl.tokenizer.encoding import native_error, utf8_of

T = TypeVar("T")

#: Errors for a text that can't be encoded.
_REFUSALS = (TokctlError, TypeError)

#: Most texts to read ahead, by default. The ids of 1,024 texts stay in the processor's cache;
#: several threads need more texts.
AHEAD = 1024
AHEAD_FOR_THREADS = 16_384
#: Most characters, or bytes, of texts to read ahead: enough work for several threads.
MOST_CHARACTERS = 1 << 20
#: Texts to take from the iterable between two measurements of their length.
STEP = 64


def encoded(
    texts: Iterable[str | bytes], most: int, encode: Callable[[list[str | bytes]], T]
) -> Iterator[T]:
    """Yield `encode(batch)` for batches of up to `most` texts.

    An error of the iterable or of a text is raised after the results of the texts before it.

    Args:
        texts: the texts.
        most: most texts in a batch.
        encode: encodes a batch.
    """
    first = 0
    for batch, error in gathered(texts, most):
        try:
            done = encode(batch)
        except _REFUSALS as refusal:
            # One of the texts can't be encoded; the texts before it can.
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
    """Return the index of the first text that can't be encoded, and its error."""
    for place, text in enumerate(batch):
        try:
            encode([text])
        except _REFUSALS as refusal:
            return place, refusal
    return None


def gathered(texts: Iterable[T], most: int) -> Iterator[tuple[list[T], Exception | None]]:
    """Yield batches of up to `most` texts, and the iterable's error after the last text.

    The first batch has one text, and each batch at most twice as many as the one before. So an
    interactive or networked source never waits for more texts than it has already produced.

    Args:
        texts: the texts.
        most: most texts in a batch.
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
                # `extend` keeps the items before an exception in the list.
                batch.extend(islice(source, wanted_now))
            except Exception as raised:
                error = raised
            ended = error is not None or len(batch) < before + wanted_now
            size += _characters(batch, before)
            # Take as many texts as would fit if they were as long as the average so far.
            step = max(1, min(STEP, (MOST_CHARACTERS - size) * len(batch) // (size + 1)))
        if batch or error is not None:
            yield batch, error
        if ended:
            return
        wanted = min(2 * wanted, most)


def _characters(batch: list[T], start: int) -> int:
    try:
        return sum(map(len, batch[start:]))  # type: ignore[arg-type]
    except TypeError:  # an item is not a text, which the encoder reports
        return MOST_CHARACTERS


def most_ahead(batch_size: int | None, threads: int) -> int:
    """Return the most texts to read ahead.

    Args:
        batch_size: the caller's limit; None: the default.
        threads: number of encoding threads, which decides the default.

    Raises:
        TokctlError: `batch_size` is not a whole number of at least 1.
    """
    if batch_size is None:
        return AHEAD if threads == 1 else AHEAD_FOR_THREADS
    if type(batch_size) is not int or batch_size < 1:
        raise BadOption(
            f"invalid value {batch_size!r} for batch_size",
            "give a whole number of at least 1",
            "bad-value",
        )
    return batch_size


def records(texts: Iterable[str | bytes | Sequence[str | bytes]], *, byte_level: bool) -> Records:
    """Return texts, or lists of texts, as a source to train on."""
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
