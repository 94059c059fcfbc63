"""FOCUS: rows of new tokens from the rows of kept tokens with a similar use.

Dobler and de Melo 2023 (arXiv 2305.14481). An auxiliary space has a vector for each token of the
new model; fastText learns it from texts that the new model has segmented. The weights of a new
token are the sparsemax (Martins and Astudillo 2016, arXiv 1602.02068) of its cosines with the
tokens that both models have. Its row is the weighted sum of their rows: a convex combination.

As in the authors' code, a kept token without a vector, or with a vector of zeros, keeps its row and
has no weight in other rows. Unlike there, nothing is drawn at random: a new token without a vector
gets the mean of all rows, which is the mean of the distribution that they draw from.

Vectors are normalized to length 1, and each number is rounded to a multiple of 2^-26. So cosines
are multiples of 2^-52 and at most 1, and sums of 64-bit numbers are exact in any order. The weights
depend neither on the processor nor on its library for matrix products. They are within two
roundings of the sparsemax of these cosines.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from tokctl.core.errors import BadInput, TokctlError
from tokctl.core.files import note_read
from tokctl.core.humanize import plural, unspaced
from tokctl.idfiles.weights import MOST_DIMENSIONS, TOO_LARGE, numpy_module

if TYPE_CHECKING:
    from tokctl.extras.adapt.adaptation import Adaptation
    from tokctl.idfiles.weights import Matrix
    from tokctl.training import Progress

#: Numbers of a vector are counted in units of 1 / 2^26, and products of two in the square of that
#: unit.
_UNIT = 2.0**26
#: Bytes of cosines computed at a time.
_BLOCK = 1 << 24
#: Number of largest cosines to try first: hardly any token has as many weights.
_LARGEST = 256
#: Largest number of bytes of the name in a line, of each number, and of the first line.
_LONGEST_NAME, _LONGEST_NUMBER, _LONGEST_HEADER = 1 << 20, 64, 100
_HINT = (
    "name a .vec file, as fasttext and gensim's save_word2vec_format write it: a line with the "
    "number and the length of vectors, then a line for each token"
)


class Combination(NamedTuple):
    """Weighted sum of rows.

    Attributes:
        ids: old ids in ascending order.
        weights: weight of the row of each id: above 0, and 1 in total.
    """

    ids: tuple[int, ...]
    weights: tuple[float, ...]


def combinations(
    adaptation: Adaptation, path: str | Path, progress: Progress | None = None
) -> dict[int, Combination]:
    """Return the weighted sum for the row of each new token that has a vector, by new id.

    Args:
        adaptation: the old and the new model.
        path: the vectors, in the text format of word2vec; the names of tokens are as `tokctl encode
            --as tokens` writes them. Names that are not tokens of the new model are ignored.
        progress: called with the phase `focus`, the new tokens done and their total.

    Raises:
        TokctlError: the file can't be read or is not a file of vectors; no kept token has a vector.
    """
    ids, units = _units(adaptation, Path(path))
    rows = {id_: row for row, id_ in enumerate(ids)}
    kept_rows = [(old, rows[new]) for old, new in enumerate(adaptation.ids) if new in rows]
    if not kept_rows:
        raise BadInput(
            f"{path} has no vector for any token that stays",
            "train the vectors on what tokctl encode --as tokens writes with the new model",
        )
    olds = [old for old, _ in kept_rows]
    sides = units[[row for _, row in kept_rows]].T
    new_ids = [id_ for id_ in adaptation.new if id_ in rows]
    step = max(1, _BLOCK // (8 * len(olds)))
    weights_by_id = {}
    for start in range(0, len(new_ids), step):
        block = new_ids[start : start + step]
        cosines = units[[rows[id_] for id_ in block]] @ sides
        for id_, row in zip(block, cosines, strict=True):
            indexes, weights = _sparsemax(row)
            old = tuple(olds[index] for index in indexes)
            weights_by_id[id_] = Combination(old, tuple(weights))
        if progress is not None:
            progress("focus", start + len(block), len(new_ids))
    return weights_by_id


def _sparsemax(cosines: Matrix) -> tuple[list[int], list[float]]:
    """Return the indexes of the weights above 0, in ascending order, and the weights.

    The largest cosines get weights, as long as the sum of their differences to the smallest of them
    is below 1.

    Args:
        cosines: whole numbers, in units of 2^-52.
    """
    numpy = numpy_module()
    unit = _UNIT * _UNIT
    total = _LARGEST
    while True:
        total = min(total, len(cosines))
        largest = -numpy.sort(-numpy.partition(cosines, len(cosines) - total)[-total:])
        # Sums of whole numbers are exact up to 2^53; a larger sum is more than 1 however it is
        # rounded.
        steps = -numpy.diff(largest) * numpy.arange(1, total)
        above = numpy.concatenate(([0.0], numpy.cumsum(steps)))
        count = int((above < unit).sum())
        if count < total or total == len(cosines):
            break
        total *= 8
    threshold = largest[count - 1]
    indexes = numpy.flatnonzero(cosines >= threshold)
    weights = ((cosines[indexes] - threshold) + (unit - above[count - 1]) / count) / unit
    return indexes.tolist(), weights.tolist()


def _units(adaptation: Adaptation, path: Path) -> tuple[list[int], Matrix]:
    """Return the new ids with a vector other than zeros, and the vectors with length 1.

    The numbers of the vectors are in units of 2^-26.
    """
    numpy = numpy_module()
    ids, vectors = _vectors(adaptation, path)
    vectors /= numpy.maximum(vectors.max(axis=1), -vectors.min(axis=1))[:, None]
    squares = numpy.zeros(len(ids))
    for column in vectors.T:  # NumPy's own sums depend on the processor
        squares += column * column
    vectors /= numpy.sqrt(squares)[:, None]
    vectors *= _UNIT
    return ids, numpy.rint(vectors, out=vectors)


# -- the file of vectors ----------------------------------------------------------------------


def check_vectors(path: str | Path) -> None:
    """Raise TokctlError if a file does not begin like a file of vectors."""
    with _opened(Path(path)) as file:
        _header(file, Path(path))


def _vectors(adaptation: Adaptation, path: Path) -> tuple[list[int], Matrix]:
    """Return the new ids with a vector other than zeros, and the vectors."""
    ids_by_token: dict[bytes, list[int]] = {}
    for id_, token in enumerate(adaptation.tokenizer.tokens):
        ids_by_token.setdefault(unspaced(token).encode(), []).append(id_)
    ids: list[int] = []
    numbers = array("d")
    first_lines: dict[bytes, int] = {}
    with _opened(path) as file:
        count, dimensions = _header(file, path)
        for line, (name, texts) in enumerate(_lines(file, path, count, dimensions), 2):
            if name not in ids_by_token:
                continue
            if name in first_lines:
                raise _bad(path, line, f"has {_shown(name)}, as line {first_lines[name]} has")
            first_lines[name] = line
            vector = _numbers(texts)
            if vector is None:
                raise _bad(
                    path, line, f"has a value that is not a number, or is beyond {TOO_LARGE:g}"
                )
            if any(vector):
                for id_ in ids_by_token[name]:
                    ids.append(id_)
                    numbers.extend(vector)
    return ids, numpy_module().frombuffer(numbers, "f8").reshape(-1, dimensions)


def _opened(path: Path) -> BinaryIO:
    note_read(path)
    try:
        return path.open("rb")
    except OSError as error:
        raise BadInput(
            f"can't read {path}: {error.strerror or error}", _HINT, "unreadable"
        ) from None


def _header(file: BinaryIO, path: Path) -> tuple[int, int]:
    """Return the number of vectors and the number of dimensions."""
    match = re.fullmatch(rb"(\d{1,18}) (\d{1,18})\s*\n", _line(file, path, _LONGEST_HEADER))
    if match is None:
        raise BadInput(
            f"{path} is not a file of vectors: its first line lacks the number and the length of "
            "vectors",
            _HINT,
            "bad-record",
        )
    count, dimensions = map(int, match.groups())
    if not 0 < dimensions <= MOST_DIMENSIONS:
        raise BadInput(
            f"{path}: the first line says that vectors have {plural(dimensions, 'number')}",
            f"vectors must have 1 to {MOST_DIMENSIONS:,} numbers",
            "bad-record",
        )
    return count, dimensions


def _lines(
    file: BinaryIO, path: Path, count: int, dimensions: int
) -> Iterator[tuple[bytes, Sequence[bytes]]]:
    """Yield the token of each line, and its numbers as text."""
    longest = _LONGEST_NAME + dimensions * _LONGEST_NUMBER
    for line in range(2, count + 2):
        text = _line(file, path, longest)
        if not text:
            raise _bad(path, line, f"is not there, and there should be {plural(count, 'vector')}")
        if len(text) == longest:
            raise _bad(path, line, "is too long")
        name, *numbers = text.rstrip(b" \r\n").split(b" ")
        if len(numbers) != dimensions:
            count_text = plural(len(numbers), "number")
            raise _bad(path, line, f"has {count_text}, and by the first line {dimensions:,}")
        yield name, numbers
    if _line(file, path, longest).strip():
        raise _bad(path, count + 2, f"is there, and there should be {plural(count, 'vector')}")


def _line(file: BinaryIO, path: Path, longest: int) -> bytes:
    try:
        return file.readline(longest)
    except OSError as error:
        raise BadInput(
            f"can't read {path}: {error.strerror or error}", _HINT, "unreadable"
        ) from None


def _numbers(texts: Sequence[bytes]) -> list[float] | None:
    try:
        values = list(map(float, texts))
    except ValueError:
        return None
    # The sum is not finite if any number is not. `1_0` is a number in Python only.
    sound = math.isfinite(sum(values)) and min(values) > -TOO_LARGE and max(values) < TOO_LARGE
    return values if sound and b"_" not in b"".join(texts) else None


def _bad(path: Path, line: int, problem: str) -> TokctlError:
    return BadInput(f"{path}: line {line:,} {problem}", _HINT, "bad-record")


def _shown(name: bytes) -> str:
    return f"{name.decode('utf-8', 'replace')!r:.80}"
