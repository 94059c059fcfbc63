"""Transfer of a language model's embeddings to the ids of an adapted vocabulary.

The files of the weights are written again, with other rows in the matrices that have a row for each
id. All other tensors and the metadata of the header are copied unchanged.

- A token that is kept, or was learned again, keeps its row, byte for byte.
- The row of a new token depends on `NEW_ROWS`:
  `pieces` is the mean of the rows of the pieces into which the old model splits the token's text;
  `focus` is a sum of rows of kept tokens, weighted by the similarity of auxiliary vectors
  (`tokctl.extras.adapt.focus`); `mean` is the mean of the rows of all old ids (Hewitt 2021, without
  its noise); `zeros` is zeros. A token without pieces, because the old model lacks one of its
  characters, or without a vector, gets the mean of all rows.
- A hole has zeros. Rows after the last id, which pad a matrix, are left out.

A mean is a sum of 64-bit numbers in the order of the pieces, or of the ids, divided by their count
and rounded once, to the nearest number of the matrix's type (to even if two are equally near).
Weighted sums are added in the order of the ids. The bytes depend on nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from tokctl._native import NO_ID
from tokctl.core.errors import BadOption, TokctlError
from tokctl.core.files import check_unread, watched
from tokctl.extras.adapt.focus import Combination, combinations
from tokctl.idfiles.safetensors import NewTensor
from tokctl.idfiles.weights import EmbeddingMatrix, Weights, numpy_module
from tokctl.model import Model, encoders
from tokctl.tokenizer import Tokenizer

if TYPE_CHECKING:
    from tokctl.extras.adapt.adaptation import Adaptation
    from tokctl.idfiles.weights import Matrix
    from tokctl.training import Progress

#: Methods for the rows of new tokens.
NEW_ROWS = ("pieces", "focus", "mean", "zeros")


@dataclass(frozen=True)
class CarriedMatrix:
    """Facts about a matrix that was transferred.

    Attributes:
        tensor: name of the tensor in the file.
        dtype: type of its numbers, such as `BF16`.
        dimensions: numbers in a row.
        rows_before: rows in the old file, including padding.
        rows: rows in the new file.
        kept: rows that are unchanged.
        by_pieces: rows of new tokens that are the mean of the rows of their pieces.
        by_focus: rows of new tokens that are a weighted sum.
        by_mean: rows of new tokens that are the mean of all rows.
        zeros: rows of new tokens and of holes that are zeros.
        alike: other tensors with a dimension of `rows_before`, which were copied unchanged.
        files: files that were written, for all matrices together.
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


#: Origin of a new row: an old row; the old rows that it is the mean of (empty: all rows); a
#: weighted sum of old rows; or None for zeros.
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
    """Write the weights for the new ids; see `Adaptation.carry_embeddings`."""
    check_new_rows(new_rows, vectors)
    numpy_module()
    size = adaptation.before.vocab_size
    with ExitStack() as stack:
        stack.enter_context(watched())
        weights = Weights(Path(path), stack)
        chosen = _choose_matrices(weights, size, tensors)
        target = weights.target(output)
        for file in {
            target,
            *(target / weights_file.name for weights_file in weights.files.values()),
        }:
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
        matrices = []
        for matrix in chosen:
            alike = tuple(
                name for name in weights.with_dimension(matrix.rows) if name not in changed
            )
            kept = sum(isinstance(origin, int) for origin in origins)
            zeros = origins.count(None)
            by_mean = origins.count(())
            by_focus = sum(isinstance(origin, Combination) for origin in origins)
            matrices.append(
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
        return matrices


def check_new_rows(name: str, vectors: str | Path | None) -> None:
    """Check the method for new rows.

    Args:
        name: one of `NEW_ROWS`.
        vectors: file of vectors, which only `focus` needs.

    Raises:
        TokctlError: the method is unknown, or vectors are missing or not needed.
    """
    if name not in NEW_ROWS:
        raise BadOption(
            f"invalid value {name!r} for new rows",
            f"choose one of: {', '.join(NEW_ROWS)}",
            "bad-value",
        )
    if name == "focus" and vectors is None:
        raise BadOption(
            "rows by FOCUS need a vector for each token of the new model",
            "add --vectors FILE.vec (in Python: vectors=)",
            "missing-option",
        )
    if name != "focus" and vectors is not None:
        raise BadOption(
            "vectors are used only for rows by FOCUS",
            "add --new-rows focus (in Python: new_rows='focus'), or leave the vectors out",
            "conflict",
        )


def check_weights(tokenizer: Tokenizer, path: str | Path, tensors: Sequence[str]) -> None:
    """Check that a file has embedding matrices of a model, without reading their numbers.

    Args:
        tokenizer: the model.
        path: see `Adaptation.carry_embeddings`.
        tensors: names of the matrices; empty: the usual names.

    Raises:
        TokctlError: the file can't be read, or a matrix is missing or has another size.
    """
    numpy_module()
    with ExitStack() as stack:
        _choose_matrices(Weights(Path(path), stack), tokenizer.vocab_size, tensors)


def _choose_matrices(weights: Weights, size: int, tensors: Sequence[str]) -> list[EmbeddingMatrix]:
    if not tensors:
        return weights.embeddings(size)
    return [weights.matrix(name, size, (1, 2)) for name in dict.fromkeys(tensors)]


# -- origins of rows ----------------------------------------------------------------------------


def row_origins(
    adaptation: Adaptation,
    new_rows: str,
    vectors: str | Path | None = None,
    progress: Progress | None = None,
) -> list[_Origin]:
    """Return the origin of the row of each new id.

    Args:
        adaptation: the old and the new model.
        new_rows: one of `NEW_ROWS`.
        vectors: file of vectors for `focus`.
        progress: see `combinations`.
    """
    origins: list[_Origin] = [None] * adaptation.tokenizer.vocab_size
    for old, new in enumerate(adaptation.ids):
        if new is not None:
            origins[new] = old
    if new_rows == "zeros":
        return origins
    pieces, combined = None, {}
    if new_rows == "pieces":
        pieces = _OldPieces(adaptation.before, adaptation.tokenizer.model)
    elif vectors is not None:
        combined = combinations(adaptation, vectors, progress)
    for new in adaptation.new:
        origins[new] = pieces.of(new) if pieces else combined.get(new, ())
    return origins


class _OldPieces:
    """Segmentation of tokens of the new model into tokens of the old model."""

    def __init__(self, original: Tokenizer, adapted: Model) -> None:
        self._before = original
        self._after = adapted
        self._encoder = encoders.pre_token_encoder(original.model)
        reserved = original.model.reserved_ids
        tokens = enumerate(original.model.tokens)
        self._ids = {token: id_ for id_, token in tokens if id_ not in reserved}
        self._sides = {merge.token: merge[:2] for merge in reversed(adapted.merges)}
        self._added = {token.id for token in adapted.added}

    def of(self, id_: int) -> tuple[int, ...]:
        """Return the old ids of a token's pieces; unknown pieces are left out."""
        token = self._after.tokens[id_]
        recipe = self._before.recipe
        if id_ in self._added:
            try:
                ids = self._before.encode_ids(token.decode())
            except TokctlError:  # a character of the text has no id
                return ()
        elif recipe.marker.is_continuation and recipe.matches_longest:
            ids = self._longest(token.decode(), recipe.marker.text)
        elif recipe.marker.text:
            ids = self._merged_from(id_)
        else:
            ids = list(self._encoder.batch([token], 1, None)[0])
        return tuple(piece for piece in ids if piece not in (NO_ID, self._before.unk_id))

    def _longest(self, token: str, mark: str) -> list[int]:
        """Return the longest old tokens from left to right; empty if a part matches no token.

        The encoder can't be used: it takes whole words, and a token may continue one.
        """
        position = len(mark) if token.startswith(mark) else 0
        ids = []
        while position < len(token):
            prefix = mark if position else ""
            for end in range(len(token), position, -1):
                piece = self._ids.get((prefix + token[position:end]).encode())
                if piece is not None:
                    ids.append(piece)
                    position = end
                    break
            else:
                return []
        return ids

    def _merged_from(self, id_: int) -> list[int]:
        """Return the old tokens that a token was merged from."""
        ids: list[int] = []
        stack = [id_]
        while stack:
            id_ = stack.pop()
            old_id = self._ids.get(self._after.tokens[id_])
            if old_id is not None:
                ids.append(old_id)
            else:
                stack += reversed(self._sides.get(id_, ()))
        return ids


# -- the new matrix -----------------------------------------------------------------------------


def _rows(matrix: EmbeddingMatrix, origins: Sequence[_Origin], size: int) -> Iterator[bytes]:
    """Yield the bytes of the new rows; rows that are adjacent in both models are read together."""
    zeros = bytes(matrix.width)
    mean = _mean_of_all(matrix, size) if () in origins else b""
    starts = [0]
    for index, (origin, next_origin) in enumerate(pairwise(origins), 1):
        follows = isinstance(origin, int) and next_origin == origin + 1
        if not follows or index - starts[-1] == matrix.step:
            starts.append(index)
    for start, end in pairwise([*starts, len(origins)]):
        origin = origins[start]
        if isinstance(origin, int):
            yield matrix.stored(origin, end - start)
        else:
            yield zeros if origin is None else _new_row(matrix, origin) if origin else mean


def _new_row(matrix: EmbeddingMatrix, origin: tuple[int, ...] | Combination) -> bytes:
    """Return the bytes of the mean of several rows, or of their weighted sum."""
    total: Matrix
    if isinstance(origin, Combination):
        total = sum(weight * matrix.numbers(id_, 1) for id_, weight in zip(*origin, strict=True))  # type: ignore[assignment]
        return matrix.rounded(total)
    total = sum(matrix.numbers(id_, 1) for id_ in origin)  # type: ignore[assignment]
    return matrix.rounded(total / len(origin))


def _mean_of_all(matrix: EmbeddingMatrix, size: int) -> bytes:
    """Return the bytes of the mean of the rows of all ids."""
    total = numpy_module().zeros((1, matrix.dimensions))
    for start, rows in matrix.pieces():
        for row in rows[: max(0, size - start)]:
            total += row
    return matrix.rounded(total / size)
