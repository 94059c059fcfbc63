"""FOCUS: rows of new tokens from those of tokens that stay and are used alike.

Dobler and de Melo 2023 (arXiv 2305.14481): in an auxiliary space with a vector for each token of
the new model, which fastText has learned from texts that this model cut, a new token's weights are
the sparsemax (Martins and Astudillo 2016, arXiv 1602.02068) of its cosines with the tokens that
both models have. Its row is the sum of their rows, so weighted: a convex combination.

As in the authors' code, a token that stays and has no vector, or zeros for one, keeps its row and
counts for no other. Otherwise than there, nothing is drawn at random: a new token without a vector
gets the mean of all rows, which is the mean of what they draw from.

Vectors are normalized to length 1, each number rounded to a multiple of 2^-26. Then cosines are
multiples of 2^-52 and at most 1, and sums of 64-bit numbers are exact in any order: weights do not
depend on the processor, nor on what multiplies matrices there. They are within two roundings of
the sparsemax of these cosines.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from tokctl.errors import TokctlError
from tokctl.files import note_read
from tokctl.idfiles.weights import MOST_DIMENSIONS, TOO_LARGE, numpy_module
from tokctl.wording import plural, unspaced

if TYPE_CHECKING:
    from tokctl.adapting.adaptation import Adaptation
    from tokctl.idfiles.weights import Matrix
    from tokctl.training import Progress

#: What the numbers of a vector are multiples of; products of two are counted in its square.
_UNIT = 2.0**26
#: Bytes of cosines at a time.
_BLOCK = 1 << 24
#: How many of the largest cosines are looked at first: hardly any token has as many weights.
_LARGEST = 256
#: Bytes of a line beside its numbers, of each number, and of the first line.
_LONGEST_NAME, _LONGEST_NUMBER, _LONGEST_HEADER = 1 << 20, 64, 100
_HINT = (
    "name a .vec file, as fasttext and gensim's save_word2vec_format write it: first how many "
    "vectors there are and how many numbers each has, then a line for each token"
)


class Combination(NamedTuple):
    """Old ids in ascending order, and the weight of the row of each: above 0, in all 1."""

    ids: tuple[int, ...]
    weights: tuple[float, ...]


def combinations(
    adaptation: Adaptation, path: str | Path, progress: Progress | None = None
) -> dict[int, Combination]:
    """What the row of each new token that has a vector is made of, by new id.

    Args:
        path: the vectors, in the text format of word2vec; each token of the new model is called as
            `tokctl encode --as tokens` writes it. Tokens that it does not have are passed over.
        progress: called with the phase `focus`, new tokens done and all of them.

    Raises:
        TokctlError: the file can't be read or is no such file; no token that stays has a vector.
    """
    ids, units = _units(adaptation, Path(path))
    rows = {id_: row for row, id_ in enumerate(ids)}
    kept = [(old, rows[new]) for old, new in enumerate(adaptation.ids) if new in rows]
    if not kept:
        raise TokctlError(
            f"{path} has a vector for no token that stays",
            "train it on what tokctl encode --as tokens writes with the new model",
        )
    olds = [old for old, _ in kept]
    sides = units[[row for _, row in kept]].T
    wanted = [id_ for id_ in adaptation.new if id_ in rows]
    step = max(1, _BLOCK // (8 * len(olds)))
    found = {}
    for first in range(0, len(wanted), step):
        block = wanted[first : first + step]
        cosines = units[[rows[id_] for id_ in block]] @ sides
        for id_, row in zip(block, cosines, strict=True):
            places, weights = _sparsemax(row)
            old = tuple(olds[place] for place in places)
            found[id_] = Combination(old, tuple(weights))
        if progress is not None:
            progress("focus", first + len(block), len(wanted))
    return found


def _sparsemax(cosines: Matrix) -> tuple[list[int], list[float]]:
    """The places of the weights above 0, in ascending order, and these weights.

    Args:
        cosines: whole numbers, counted in 2^-52.

    The cosines from the largest on have weights as long as what they are above the last of them,
    in all, is below 1.
    """
    numpy = numpy_module()
    one = _UNIT * _UNIT
    many = _LARGEST
    while True:
        many = min(many, len(cosines))
        largest = -numpy.sort(-numpy.partition(cosines, len(cosines) - many)[-many:])
        # Of whole numbers, and exact up to 2^53; above, more than 1 whatever is rounded.
        steps = -numpy.diff(largest) * numpy.arange(1, many)
        above = numpy.concatenate(([0.0], numpy.cumsum(steps)))
        count = int((above < one).sum())
        if count < many or many == len(cosines):
            break
        many *= 8
    least = largest[count - 1]
    places = numpy.flatnonzero(cosines >= least)
    weights = ((cosines[places] - least) + (one - above[count - 1]) / count) / one
    return places.tolist(), weights.tolist()


def _units(adaptation: Adaptation, path: Path) -> tuple[list[int], Matrix]:
    """The new ids that have a vector which is not zeros, and these with length 1, their numbers
    counted in 2^-26."""
    numpy = numpy_module()
    ids, vectors = _vectors(adaptation, path)
    vectors /= numpy.maximum(vectors.max(axis=1), -vectors.min(axis=1))[:, None]
    squares = numpy.zeros(len(ids))
    for column in vectors.T:  # one after the other: NumPy's own sums go by the processor
        squares += column * column
    vectors /= numpy.sqrt(squares)[:, None]
    vectors *= _UNIT
    return ids, numpy.rint(vectors, out=vectors)


# -- the file ---------------------------------------------------------------------------------


def check_vectors(path: str | Path) -> None:
    """TokctlError if a file does not begin as one of vectors does."""
    with _opened(Path(path)) as file:
        _header(file, Path(path))


def _vectors(adaptation: Adaptation, path: Path) -> tuple[list[int], Matrix]:
    """The new ids that have a vector which is not zeros, and these."""
    places: dict[bytes, list[int]] = {}
    for id_, token in enumerate(adaptation.tokenizer.tokens):
        places.setdefault(unspaced(token).encode(), []).append(id_)
    ids: list[int] = []
    numbers = array("d")
    first_lines: dict[bytes, int] = {}
    with _opened(path) as file:
        count, dimensions = _header(file, path)
        for line, (name, texts) in enumerate(_lines(file, path, count, dimensions), 2):
            if name not in places:
                continue
            if name in first_lines:
                raise _bad(path, line, f"has {_shown(name)}, as line {first_lines[name]} has")
            first_lines[name] = line
            vector = _numbers(texts)
            if vector is None:
                raise _bad(path, line, f"has what is no number, or one beyond {TOO_LARGE:g}")
            if any(vector):
                for id_ in places[name]:
                    ids.append(id_)
                    numbers.extend(vector)
    return ids, numpy_module().frombuffer(numbers, "f8").reshape(-1, dimensions)


def _opened(path: Path) -> BinaryIO:
    note_read(path)
    try:
        return path.open("rb")
    except OSError as error:
        raise TokctlError(f"can't read {path}: {error.strerror or error}", _HINT) from None


def _header(file: BinaryIO, path: Path) -> tuple[int, int]:
    """How many vectors there are, and how many numbers each has."""
    found = re.fullmatch(rb"(\d{1,18}) (\d{1,18})\s*\n", _line(file, path, _LONGEST_HEADER))
    if found is None:
        raise TokctlError(f"{path} is no file of vectors: its first line says no sizes", _HINT)
    count, dimensions = map(int, found.groups())
    if not 0 < dimensions <= MOST_DIMENSIONS:
        raise TokctlError(
            f"{path}: by its first line vectors have {plural(dimensions, 'number')}",
            f"they have 1 to {MOST_DIMENSIONS:,}",
        )
    return count, dimensions


def _lines(
    file: BinaryIO, path: Path, count: int, dimensions: int
) -> Iterator[tuple[bytes, Sequence[bytes]]]:
    """The token of each line, and its numbers, as they are written."""
    longest = _LONGEST_NAME + dimensions * _LONGEST_NUMBER
    for line in range(2, count + 2):
        text = _line(file, path, longest)
        if not text:
            raise _bad(path, line, f"is not there, and there should be {plural(count, 'vector')}")
        if len(text) == longest:
            raise _bad(path, line, "is too long")
        name, *numbers = text.rstrip(b" \r\n").split(b" ")
        if len(numbers) != dimensions:
            many = plural(len(numbers), "number")
            raise _bad(path, line, f"has {many}, and by the first line {dimensions:,}")
        yield name, numbers
    if _line(file, path, longest).strip():
        raise _bad(path, count + 2, f"is there, and there should be {plural(count, 'vector')}")


def _line(file: BinaryIO, path: Path, longest: int) -> bytes:
    try:
        return file.readline(longest)
    except OSError as error:
        raise TokctlError(f"can't read {path}: {error.strerror or error}", _HINT) from None


def _numbers(texts: Sequence[bytes]) -> list[float] | None:
    try:
        found = list(map(float, texts))
    except ValueError:
        return None
    # The sum tells what is no number, and `1_0` is one for Python alone.
    sound = math.isfinite(sum(found)) and min(found) > -TOO_LARGE and max(found) < TOO_LARGE
    return found if sound and b"_" not in b"".join(texts) else None


def _bad(path: Path, line: int, what: str) -> TokctlError:
    return TokctlError(f"{path}: line {line:,} {what}", _HINT)


def _shown(name: bytes) -> str:
    return f"{name.decode('utf-8', 'replace')!r:.80}"
