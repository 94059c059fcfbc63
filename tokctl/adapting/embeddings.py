"""The embeddings of a language model, carried over to the ids of an adapted vocabulary.

The files of its weights are written anew, with other rows in the matrices that have one for each
id; all other tensors, and what the header says of the model, are copied as they are.

- A token that stays, or was learned again, has the row that it had, byte for byte.
- The row of a new token is chosen by `NEW_ROWS`:
  `pieces` is the mean of the rows of the pieces that the model before cuts the token's text into;
  `focus` the sum of rows of tokens that stay, weighted by how near vectors of another kind are
  (`tokctl.adapting.focus`); `mean` the mean of the rows of all ids before (Hewitt 2021, without
  its noise); `zeros` zeros. What has no pieces, as the model before lacks a character of it, or
  no vector, gets the mean of all.
- A hole has zeros. Rows after the last id, which pad a matrix, are left out.

Means are sums of 64-bit numbers in the order of the pieces, or of the ids, divided by their number
and rounded once, to the nearest number of the matrix's type (to even where two are as near);
weighted sums go in the order of the ids. The bytes depend on nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from tokctl._native import NO_ID
from tokctl.adapting.focus import Combination, combinations
from tokctl.errors import TokctlError
from tokctl.files import check_unread, watched
from tokctl.idfiles.safetensors import NewTensor
from tokctl.idfiles.weights import EmbeddingMatrix, Weights, numpy_module
from tokctl.model import FilledRecipe, encoders
from tokctl.tokenizer import Tokenizer

if TYPE_CHECKING:
    from tokctl.adapting.adaptation import Adaptation
    from tokctl.idfiles.weights import Matrix
    from tokctl.training import Progress

#: How the rows of new tokens are made.
NEW_ROWS = ("pieces", "focus", "mean", "zeros")


@dataclass(frozen=True)
class CarriedMatrix:
    """A matrix that was carried over.

    Attributes:
        tensor, dtype, dimensions: as the file has them.
        rows_before, rows: in the file, padding among them, and now.
        kept: rows that are what they were.
        by_pieces, by_focus, by_mean, zeros: rows of new tokens that are the mean of their pieces'
            rows, a weighted sum, the mean of all, and rows of new tokens and of holes that are
            zeros.
        alike: other tensors with a side of `rows_before`, which were copied as they are.
        files: what was written, of all matrices together.
    """

    tensor: str
    dtype: str
    dimensions: int
    rows_before: int
    rows: int
    kept: int
    by_pieces: int
    by_focus: int
    by_mean: int
    zeros: int
    alike: tuple[str, ...]
    files: tuple[str, ...]


#: Where a new row comes from: an old row, the old rows that it is the mean of (none: of all), those
#: that it is a weighted sum of, or nothing, for zeros.
_Origin = int | tuple[int, ...] | Combination | None


def carry(
    adaptation: Adaptation,
    path: str | Path,
    output: str | Path,
    tensors: Sequence[str] = (),
    new_rows: str = "pieces",
    vectors: str | Path | None = None,
    progress: Progress | None = None,
) -> list[CarriedMatrix]:
    """See `Adaptation.carry_embeddings`."""
    check_new_rows(new_rows, vectors)
    numpy_module()
    size = adaptation.before.vocab_size
    with ExitStack() as stack:
        stack.enter_context(watched())
        weights = Weights(Path(path), stack)
        chosen = _chosen(weights, size, tensors)
        target = weights.target(output)
        for file in {target, *(target / one.name for one in weights.files.values())}:
            check_unread(file)
        origins = row_origins(adaptation, new_rows, vectors, progress)
        changed = {
            matrix.name: NewTensor(
                (len(origins), *matrix.tensor.shape[1:]), _rows(matrix, origins, size)
            )
            for matrix in chosen
        }
        files = weights.copy(changed, output, progress)
        names = tuple(map(str, files))
        found = []
        for matrix in chosen:
            alike = tuple(name for name in weights.with_side(matrix.rows) if name not in changed)
            kept = sum(isinstance(origin, int) for origin in origins)
            zeros = origins.count(None)
            by_mean = origins.count(())
            by_focus = sum(isinstance(origin, Combination) for origin in origins)
            found.append(
                CarriedMatrix(
                    matrix.name,
                    matrix.tensor.dtype,
                    matrix.dimensions,
                    matrix.rows,
                    len(origins),
                    kept,
                    len(origins) - kept - zeros - by_mean - by_focus,
                    by_focus,
                    by_mean,
                    zeros,
                    alike,
                    names,
                )
            )
        return found


def check_new_rows(name: str, vectors: str | Path | None) -> None:
    """TokctlError if rows can't be made so."""
    if name not in NEW_ROWS:
        raise TokctlError(f"new rows can't be {name!r}", f"choose one of: {', '.join(NEW_ROWS)}")
    if name == "focus" and vectors is None:
        raise TokctlError(
            "rows by FOCUS need a vector for each token of the new model",
            "name them: --vectors FILE.vec, or vectors= in Python",
        )
    if name != "focus" and vectors is not None:
        raise TokctlError(
            "vectors are for rows by FOCUS",
            "--new-rows focus takes them, new_rows='focus' in Python",
        )


def check_weights(tokenizer: Tokenizer, path: str | Path, tensors: Sequence[str]) -> None:
    """TokctlError if a file has no such matrices of this model; no number of them is read."""
    numpy_module()
    with ExitStack() as stack:
        _chosen(Weights(Path(path), stack), tokenizer.vocab_size, tensors)


def _chosen(weights: Weights, size: int, tensors: Sequence[str]) -> list[EmbeddingMatrix]:
    if not tensors:
        return weights.embeddings(size)
    return [weights.matrix(name, size, (1, 2)) for name in dict.fromkeys(tensors)]


# -- where rows come from -----------------------------------------------------------------------


def row_origins(
    adaptation: Adaptation,
    new_rows: str,
    vectors: str | Path | None = None,
    progress: Progress | None = None,
) -> list[_Origin]:
    """Where the row of each new id comes from."""
    origins: list[_Origin] = [None] * adaptation.tokenizer.vocab_size
    for old, new in enumerate(adaptation.ids):
        if new is not None:
            origins[new] = old
    if new_rows == "zeros":
        return origins
    pieces, combined = None, {}
    if new_rows == "pieces":
        pieces = _Pieces(adaptation.before, adaptation.tokenizer.model)
    elif vectors is not None:
        combined = combinations(adaptation, vectors, progress)
    for new in adaptation.new:
        origins[new] = pieces.of(new) if pieces else combined.get(new, ())
    return origins


class _Pieces:
    """Cuts the tokens of a model after into those of the model before."""

    def __init__(self, before: Tokenizer, after: FilledRecipe) -> None:
        self._before = before
        self._after = after
        self._encoder = encoders.of_pre_tokens(before.model)
        reserved = before.model.reserved_ids
        tokens = enumerate(before.model.tokens)
        self._ids = {token: id_ for id_, token in tokens if id_ not in reserved}
        self._sides = {merge.token: merge[:2] for merge in reversed(after.merges)}
        self._added = {token.id for token in after.added}

    def of(self, id_: int) -> tuple[int, ...]:
        """The old ids of a token's pieces, without what is unknown; none where that is all."""
        token = self._after.tokens[id_]
        recipe = self._before.recipe
        if id_ in self._added:
            try:
                found = self._before.encode_ids(token.decode())
            except TokctlError:  # a character of it has no id
                return ()
        elif recipe.marker.is_continuation and recipe.matches_longest:
            found = self._longest(token.decode(), recipe.marker.text)
        elif recipe.marker.text:
            found = self._merged_from(id_)
        else:
            found = list(self._encoder.batch([token], 1, None)[0])
        return tuple(piece for piece in found if piece not in (NO_ID, self._before.unk_id))

    def _longest(self, token: str, mark: str) -> list[int]:
        """The longest tokens from left to right. The encoder itself takes only whole words, and
        this may go on with one."""
        place = len(mark) if token.startswith(mark) else 0
        found = []
        while place < len(token):
            before = mark if place else ""
            for end in range(len(token), place, -1):
                piece = self._ids.get((before + token[place:end]).encode())
                if piece is not None:
                    found.append(piece)
                    place = end
                    break
            else:
                return []
        return found

    def _merged_from(self, id_: int) -> list[int]:
        """The tokens before that it was merged from."""
        found: list[int] = []
        waiting = [id_]
        while waiting:
            id_ = waiting.pop()
            old = self._ids.get(self._after.tokens[id_])
            if old is not None:
                found.append(old)
            else:
                waiting += reversed(self._sides.get(id_, ()))
        return found


# -- the new matrix -----------------------------------------------------------------------------


def _rows(matrix: EmbeddingMatrix, origins: Sequence[_Origin], size: int) -> Iterator[bytes]:
    """The bytes of the rows, some at a time. Rows that follow one another before and now are read
    together."""
    zeros = bytes(matrix.width)
    mean = _mean_of_all(matrix, size) if () in origins else b""
    starts = [0]
    for place, (one, two) in enumerate(pairwise(origins), 1):
        follows = isinstance(one, int) and two == one + 1
        if not follows or place - starts[-1] == matrix.step:
            starts.append(place)
    for start, end in pairwise([*starts, len(origins)]):
        origin = origins[start]
        if isinstance(origin, int):
            yield matrix.stored(origin, end - start)
        else:
            yield zeros if origin is None else _made(matrix, origin) if origin else mean


def _made(matrix: EmbeddingMatrix, origin: tuple[int, ...] | Combination) -> bytes:
    """The mean of some rows, or their weighted sum."""
    total: Matrix
    if isinstance(origin, Combination):
        total = sum(weight * matrix.numbers(id_, 1) for id_, weight in zip(*origin, strict=True))  # type: ignore[assignment]
        return matrix.rounded(total)
    total = sum(matrix.numbers(id_, 1) for id_ in origin)  # type: ignore[assignment]
    return matrix.rounded(total / len(origin))


def _mean_of_all(matrix: EmbeddingMatrix, size: int) -> bytes:
    """The mean of the rows of all ids."""
    total = numpy_module().zeros((1, matrix.dimensions))
    for first, rows in matrix.pieces():
        for row in rows[: max(0, size - first)]:
            total += row
    return matrix.rounded(total / size)
