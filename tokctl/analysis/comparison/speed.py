"""How fast a model encodes and decodes here and now.

The one figure of a comparison that is not the same in every run: it stands apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter

from tokctl import _native
from tokctl.analysis.metrics import Absent, Figure
from tokctl.analysis.texts import Text
from tokctl.tokenizer import Tokenizer

#: Seconds that measuring one model takes, about: encoding has half of them.
BUDGET = 0.3
#: Bytes that are tried first, and at most.
_FIRST, _MOST = 1 << 14, 1 << 22
#: Runs of which the median counts, and how many there are at least where time is short.
_RUNS, _FEWEST = 7, 3
_MEGABYTE = 1_000_000


@dataclass(frozen=True)
class Speed:
    """Speeds in megabytes (10^6 bytes) of text per second.

    Attributes:
        encode_mb_per_s: of encoding to an array of ids.
        decode_mb_per_s: of decoding these; absent where characters of the slice have no id.
        bytes: how long the slice was that was measured, from the start of the texts.
        seconds: what measuring took in all.
        threads: that encoding had; decoding has one.
    """

    encode_mb_per_s: Figure
    decode_mb_per_s: Figure
    bytes: int
    seconds: float
    threads: int


def speed(tokenizer: Tokenizer, texts: Sequence[Text], threads: int) -> Speed:
    """Measures one model on a slice of the texts, which ends with a line where there is one.

    The slice is as long as there is time for. A run before those that count fills the caches
    of words, as a long text would.
    """
    begun = perf_counter()
    encoder, matchers = tokenizer.encoder, tokenizer.special_matcher("none")

    def encode(data: bytes) -> _native.IdArray:
        return encoder.array(data, threads, matchers)

    data = _slice(texts, _FIRST)
    if not data:
        empty = Absent("the texts are empty")
        return Speed(empty, empty, 0, perf_counter() - begun, threads)
    tried = _seconds(lambda: encode(data))
    # The first run is slow: words are new. Eight rounds of half the budget.
    wanted = BUDGET / 2 / (_RUNS + 1) / tried * len(data)
    data = _slice(texts, int(min(_MOST, max(_FIRST, wanted))))
    ids = encode(data)
    encoding = _median(lambda: encode(data), BUDGET / 2)
    decoding: Figure = Absent("some characters have no id, and nothing to decode")
    if not _lacks_ids(ids):
        decode = tokenizer.decoder.decode
        decoding = len(data) / _median(lambda: decode(ids, False), BUDGET / 3) / _MEGABYTE
    return Speed(
        encode_mb_per_s=len(data) / encoding / _MEGABYTE,
        decode_mb_per_s=decoding,
        bytes=len(data),
        seconds=perf_counter() - begun,
        threads=threads,
    )


def _lacks_ids(ids: _native.IdArray) -> bool:
    with memoryview(ids) as numbers:
        return len(numbers) > 0 and max(numbers) == _native.NO_ID


def _slice(texts: Sequence[Text], size: int) -> bytes:
    """The texts' first bytes, about so many: up to a line end, or else a whole character.

    Where a text is many documents, each begins a line, so that no token joins two.
    """
    parts: list[bytes] = []
    room = size + 1
    for text in texts:
        if room <= 0:
            break
        part = text.data if text.ends is None else _by_lines(text, room)
        parts.append(part[:room])
        room -= len(parts[-1])
    data = b"".join(parts)
    if len(data) <= size:
        return data
    if (end := data.rfind(b"\n", 0, size)) >= 0:
        return data[: end + 1]
    # A character has at most three bytes behind its first.
    inside = (end for end in range(size, max(0, size - 4), -1) if data[end] & 0xC0 != 0x80)
    return data[: next(inside, size)]


def _by_lines(text: Text, size: int) -> bytes:
    """The first documents, so many bytes at the least if there are, with a line end behind each
    that has none."""
    data = bytearray()
    for start, end in text.spans():
        data += text.data[start : min(end, start + size)]
        data += b"" if data.endswith(b"\n") else b"\n"
        if len(data) >= size:
            break
    return bytes(data)


def _median(run: Callable[[], object], budget: float) -> float:
    """Seconds of the median run; of fewer runs where they take more than the budget."""
    runs: list[float] = []
    while len(runs) < _RUNS and (sum(runs) < budget or len(runs) < _FEWEST):
        runs.append(_seconds(run))
    return median(runs)


def _seconds(run: Callable[[], object]) -> float:
    start = perf_counter()
    run()
    # A clock that has not moved between two looks says nothing; nor does a speed without end.
    return max(perf_counter() - start, 1e-9)
