"""Batches of texts from an iterable, for `encode_iter`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TypeVar

from tokctl.core.errors import BadOption, CoreError, TokctlError
from tokctl.tokenizer.encoding import native_error

T = TypeVar("T")

#: Errors for a text that can't be encoded.
_INPUT_ERRORS = (TokctlError, TypeError)

#: Most texts to read ahead, by default. The ids of 1,024 texts stay in the processor's cache;
#: several threads need more texts.
AHEAD = 1024
AHEAD_FOR_THREADS = 16_384
#: Most characters, or bytes, of texts to read ahead: enough work for several threads.
MOST_CHARACTERS = 1 << 20
#: Texts to take from the iterable between two measurements of their length.
MOST_AT_ONCE = 64


def encode_batches(
    texts: Iterable[str | bytes], limit: int, encode: Callable[[list[str | bytes]], T]
) -> Iterator[T]:
    """Yield `encode(batch)` for batches of up to `limit` texts.

    An error of the iterable or of a text is raised after the results of the texts before it.

    Args:
        texts: the texts.
        limit: most texts in a batch.
        encode: encodes a batch.
    """
    first = 0
    for batch, error in gather_batches(texts, limit):
        try:
            result = encode(batch)
        except _INPUT_ERRORS as refusal:
            # One of the texts can't be encoded; the texts before it can.
            index, refused = _first_refused(batch, encode) or (0, refusal)
            if index:
                yield encode(batch[:index])
            raise (
                native_error(refused, first + index) if isinstance(refused, CoreError) else refused
            ) from None
        if batch:
            yield result
        first += len(batch)
        if error is not None:
            raise error


def _first_refused(
    batch: list[str | bytes], encode: Callable[[list[str | bytes]], object]
) -> tuple[int, Exception] | None:
    """Return the index of the first text that can't be encoded, and its error."""
    for index, text in enumerate(batch):
        try:
            encode([text])
        except _INPUT_ERRORS as refusal:
            return index, refusal
    return None


def gather_batches(texts: Iterable[T], limit: int) -> Iterator[tuple[list[T], Exception | None]]:
    """Yield batches of up to `limit` texts, and the iterable's error after the last text.

    The first batch has one text, and each batch at most twice as many as the one before. So an
    interactive or networked source never waits for more texts than it has already produced.

    Args:
        texts: the texts.
        limit: most texts in a batch.
    """
    source = iter(texts)
    target = 1
    while True:
        batch: list[T] = []
        error: Exception | None = None
        is_at_end = False
        size = 0
        step = 1
        while len(batch) < target and size < MOST_CHARACTERS and not is_at_end:
            length_before = len(batch)
            count = min(step, target - length_before)
            try:
                # `extend` keeps the items before an exception in the list.
                batch.extend(islice(source, count))
            except Exception as raised:
                error = raised
            is_at_end = error is not None or len(batch) < length_before + count
            size += _count_characters(batch, length_before)
            # Take as many texts as would fit if they were as long as the average so far.
            step = max(1, min(MOST_AT_ONCE, (MOST_CHARACTERS - size) * len(batch) // (size + 1)))
        if batch or error is not None:
            yield batch, error
        if is_at_end:
            return
        target = min(2 * target, limit)


def _count_characters(batch: list[T], start: int) -> int:
    try:
        return sum(map(len, batch[start:]))  # type: ignore[arg-type]
    except TypeError:  # an item is not a text, which the encoder reports
        return MOST_CHARACTERS


def batch_limit(batch_size: int | None, threads: int) -> int:
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
