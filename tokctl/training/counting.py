"""Counted pre-tokens: what is kept of a counting, weights, and counts that are there already."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokctl import _native
from tokctl.errors import TokctlError
from tokctl.model import Recipe
from tokctl.sources import STDIN, Document
from tokctl.training.options import MOST, Options, exact

if TYPE_CHECKING:
    from fractions import Fraction

#: Told (phase, done, total): `count` in bytes of the sources, `merge-runs` in bytes of counts that
#: did not fit the memory and are merged, `merge` in ids of the vocabulary. The total is None where
#: it is not known. What it raises ends the training.
Progress = Callable[[str, int, int | None], None]


@dataclass(eq=False, repr=False)
class Read:
    """What went through the counter.

    documents, bytes: how many texts, and how long they are together, uncompressed.
    digest: SHA-256 in hexadecimal: of a single document that of its bytes; of a source of
        records that of its texts in their order, each behind its length and how often it
        counts, as numbers of eight bytes, the least byte first; of several of either that of
        their list (`digest_of`). So it depends on the texts alone: not on how they are batched,
        compressed, or written (JSON Lines, a table).
    weights: of the sources, in their order; empty: all alike.
    scale: every count is that many times the weighted one, so that it is a whole number.
    """

    documents: int
    bytes: int
    digest: str
    weights: tuple[Fraction, ...] = ()
    scale: int = 1


def memory_limit(options: Options) -> dict[str, Any]:
    """What a counter takes beside its parts: the memory that it may have, and where it goes
    with what does not fit."""
    if options.memory is None:
        return {}
    from tokctl.training.spilling import Spill

    return {"memory": options.memory, "store": Spill(options.temporary)}


def digest_of(digests: Sequence[str]) -> str:
    """What a model's file has for the texts of these SHA-256: of a single text its own, of
    several that of their list, one on each line; in hexadecimal, empty for none."""
    if len(digests) < 2:
        return "".join(digests)
    return hashlib.sha256("".join(f"{digest}\n" for digest in digests).encode()).hexdigest()


def weigh(names: Sequence[str], given: Mapping[str, object]) -> tuple[list[Fraction], int]:
    """Each source's weight, and what all counts are multiplied with to be whole numbers:
    the least common multiple of the weights' denominators. No weights: ([], 1)."""
    if not given:
        return [], 1
    from fractions import Fraction

    known = {_spelled(name) for name in names}
    weights = {}
    for name, value in given.items():
        found = "stdin" if name == STDIN else _spelled(name)
        if found not in known:
            raise TokctlError(
                f"there is a weight for {name!r}, which is not read",
                f"weights are for the sources of this training: {', '.join(names[:20])}",
            )
        weights[found] = exact(f"the weight of {name}", value)  # type: ignore[arg-type]
    scale = math.lcm(*(weight.denominator for weight in weights.values()))
    if scale >= MOST or any(weight * scale >= MOST for weight in weights.values()):
        raise TokctlError(
            "the weights have no common measure that 64 bits can hold",
            "give weights with fewer decimals",
        )
    return [weights.get(_spelled(name), Fraction(1)) for name in names], scale


def _spelled(name: str) -> str:
    """A name in one of its spellings: `a.txt` is `./a.txt`, too."""
    return name if "://" in name else str(Path(name))


def scaled(threshold: int, scale: int) -> int:
    """A least count, in the scale of the counts. No count reaches 2^63; and a least count of
    1 drops nothing, even where weights make less of an occurrence."""
    return min(threshold * scale, MOST) if threshold > 1 else 1


def finish(
    counter: _native.Counter, least: int, progress: Progress | None = None
) -> _native.Counts:
    """The counts of at least `least`; TokctlError where one does not fit."""
    tell = (lambda done, total: progress("merge-runs", done, total)) if progress else None
    try:
        return counter.finish(least, tell)
    except _native.CoreError as error:
        raise TokctlError(
            error.args[0], "train on less text, or give smaller weights or counts"
        ) from None


def count_mapping(
    words: Mapping[str, int] | Mapping[bytes, int], recipe: Recipe, options: Options
) -> tuple[_native.Counts, Read]:
    """Pre-tokens that are counted already, in the order of the mapping."""
    refuse_text_options(options)
    counter = _native.Counter("none", [], 1)
    digest = hashlib.sha256()
    size = 0
    for word, times in words.items():
        check_count(word, times)
        try:
            encoded = word.encode() if isinstance(word, str) else word
            if not recipe.is_byte_level:
                encoded.decode()
        except UnicodeError:
            raise TokctlError(f"the word {word!r} is not UTF-8, which this recipe needs") from None
        digest.update(b"%s\t%d\n" % (encoded, times))
        size += len(encoded)
        if times >= options.min_count:
            counter.add(encoded, times)
    read = Read(documents=1, bytes=size, digest=digest.hexdigest())
    return finish(counter, 1), read


def check_count(word: str | bytes, times: int) -> None:
    """TokctlError unless it is a word, and a count that it can have."""
    if type(times) is not int or not 0 <= times < MOST or not word:
        raise TokctlError(
            f"the word {word!r} can't have the count {times!r}",
            "a count is a whole number from 0 to 2^63 - 1, of a word that is not empty",
        )


def count_lines(
    document: Document, recipe: Recipe, options: Options, progress: Progress | None = None
) -> tuple[_native.Counts, Read]:
    r"""Pre-tokens with their counts, one `word<TAB>count` per line, in the order of the lines.

    The last tab of a line separates; `\n`, `\r`, `\t`, `\\` and `\xff` in the word are escapes.
    Counts of a word that comes more than once add up.

    Raises:
        TokctlError: names the file and the line that is not of this form.
    """
    refuse_text_options(options)
    characters = not recipe.is_byte_level
    counter, read = counted_lines(
        document, characters=characters, progress=progress, limit=memory_limit(options)
    )
    return finish(counter, options.min_count, progress), read


def counted_lines(
    document: Document,
    *,
    characters: bool,
    progress: Progress | None = None,
    limit: Mapping[str, Any] | None = None,
) -> tuple[_native.Counter, Read]:
    """The counts of a file's lines; its words must be UTF-8 where they are to be `characters`.
    `limit`: see `memory_limit`."""
    counter = _native.Counter("none", [], 1, **(limit or {}))
    lines = _native.CountLines(characters)
    digest = hashlib.sha256()
    done = 0
    try:
        for block in document.blocks():
            lines.feed(block, counter)
            digest.update(block)
            done += len(block)
            if progress:
                progress("count", document.tell() if document.tell else done, document.size)
        lines.end(counter)
    except _native.CoreError as error:
        raise TokctlError(
            f"{document.name}: {error.args[0]}",
            r"each line is a word, a tab and its count; \n, \r, \t, \\ and \xff in a word are "
            "escapes",
        ) from None
    return counter, Read(documents=1, bytes=done, digest=digest.hexdigest())


def counts_to_lines(
    counts: _native.Counts | Mapping[str, int] | Mapping[bytes, int],
) -> bytes:
    """The lines that `count_lines` reads, in the order of the counts."""
    if not isinstance(counts, Mapping):
        return counts.to_lines()
    counter = _native.Counter("none", [], 1)
    for word, times in counts.items():
        counter.add(word.encode() if isinstance(word, str) else word, times)
    return finish(counter, 0).to_lines()


def refuse_text_options(options: Options) -> None:
    if options.weights or options.sample is not None:
        raise TokctlError(
            "weights and a sample are for texts, and these words are counted already",
            "leave them out, or change the counts",
        )
