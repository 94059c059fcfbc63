"""Tokens that the embeddings of a language model show to be under-trained.

Land and Bartolo 2024, "Fishing for Magikarp" (arXiv 2405.05417), find such tokens by indicators. A
low value is a sign of little training. Each indicator is computed from a matrix with one row for
each id:

- `norm`, if input and output embeddings are two matrices: the L2 norm of a token's row of the input
  embeddings. A row that is never read keeps its initial value or decays.
- `cosine`, if they are one matrix, or for an output matrix: the cosine distance of a token's row to
  the mean row of the ids known to be unused, after subtracting the mean of all rows. Training moves
  the rows of all unused ids in the same direction.
- `cosine-plain` and `cosine-without-component`, on request: `cosine` with nothing subtracted, or
  with the rows' first principal component removed. The authors' program computes all three. With
  the mean subtracted, trained tokens lie around 1 and other tokens are far from them. This takes
  less time than removing the component. It also works if there are so many unused rows that they
  are the first component themselves.

**Known to be unused** are rows after the last id (padding of the matrix), fillers of holes, bytes
that never occur in UTF-8, and special or added tokens named as unused or reserved. If a model has
no such row, the tokens that no text gives take their place.

**Examined** are tokens that some text gives and that are whole characters. Special and added
tokens, single bytes, parts of characters and unreachable tokens are counted separately.
**Candidates** are the examined tokens with an indicator in the lowest 2%, as in the paper, which
then tries each candidate in prompts. So 2% are always candidates, even in a model without any
under-trained token. To tell the two cases apart, `apart` counts the tokens more than `DEVIATIONS`
robust standard deviations below the median. A robust standard deviation is 1.4826 times the median
of the absolute deviations (Hampel 1974). `apart` is tokctl's own measure, and can be 0.

The matrices are read from safetensors, some rows at a time.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from math import floor
from pathlib import Path
from typing import TYPE_CHECKING

from tokctl.analysis.health.results import CheckResult
from tokctl.analysis.health.subject import CheckContext, not_made
from tokctl.analysis.metrics import Undefined
from tokctl.core.errors import BadOption
from tokctl.formats.holes import filler_text
from tokctl.idfiles.weights import EmbeddingMatrix, Weights, numpy_module
from tokctl.model.byte_level import NEVER_IN_UTF8

if TYPE_CHECKING:
    from tokctl.idfiles.weights import Matrix
    from tokctl.tokenizer import Tokenizer

#: Share of the examined tokens that are candidates, as in the paper.
SHARE = 0.02
#: Robust standard deviations below the median beyond which a token is an outlier.
DEVIATIONS = 5
#: Standard deviation over the median of the absolute deviations, in a normal distribution.
_NORMAL = 1.4826
#: Name of the check.
CHECK = "under-trained"
INDICATORS = ("norm", "cosine", "cosine-plain", "cosine-without-component")

_NAMED_UNUSED = re.compile("unused|reserved", re.IGNORECASE)


# -- Results -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class CandidateToken:
    """A token with one of the lowest indicators.

    Attributes:
        id: id of the token.
        token: the token as the vocabulary spells it.
        value: value of the indicator.
    """

    id: int
    token: str
    value: float


@dataclass(frozen=True)
class EmbeddingFacts:
    """The under-trained tokens according to the embeddings.

    Attributes:
        indicator: one of `INDICATORS`.
        tensor: name of the matrix in the file.
        dtype: data type of the matrix in the file.
        rows: number of rows of the matrix.
        dimensions: number of columns of the matrix.
        tied: whether input and output embeddings are one matrix; None if not known.
        reference: number of rows known to be unused, from which distances are measured; 0 for
            `norm`.
        of: number of tokens examined.
        left_out: tokens not examined, by kind: `special`, `bytes`, `partial-utf8`, `unreachable`.
            Each value is their number, and the number at or below the threshold.
        median: median of the indicator of the tokens examined.
        threshold: highest indicator of a candidate.
        candidates: candidates, ascending by indicator, then by id.
        bound: value below which a token is an outlier.
        apart: number of outliers, which are the first candidates.
    """

    indicator: str
    tensor: str
    dtype: str
    rows: int
    dimensions: int
    tied: bool | None
    reference: int
    of: int
    left_out: Mapping[str, tuple[int, int]]
    median: float
    threshold: float
    candidates: tuple[CandidateToken, ...]
    bound: float
    apart: int


def embedding_facts(
    subject: CheckContext,
    path: str | Path,
    tensor: str | None = None,
    indicator: str | None = None,
) -> EmbeddingFacts | Undefined:
    """Return the tokens of a model whose embeddings are least trained.

    Reading the matrix takes the time: `norm` reads it once, a distance twice. Memory holds some
    rows. `cosine-without-component` needs d² numbers in addition, and d² products for each row of d
    numbers.

    Args:
        subject: model to examine.
        path: a safetensors file, the index of several files, or a folder with one of these.
        tensor: name of the matrix; None takes the input embeddings by their usual names, else the
            output embeddings.
        indicator: one of `INDICATORS`; None takes `norm` for input embeddings if the output
            embeddings are another matrix, else `cosine`.

    Returns:
        The facts, or Absent if no token can be examined or no id is known to be unused.

    Raises:
        TokctlError: NumPy is not installed; the file can't be read or is damaged; the file has no
            such matrix, or the matrix has fewer rows than the model has ids, or more padding rows
            than ids.
    """
    if indicator not in (None, *INDICATORS):
        raise BadOption(
            f"invalid value {indicator!r} for the indicator",
            f"choose one of: {', '.join(INDICATORS)}",
            "bad-value",
        )
    size = subject.tokenizer.vocab_size
    groups = _groups(subject)
    with ExitStack() as stack:
        weights = Weights(Path(path), stack)
        chosen, others = weights.choose(size, tensor, indicator)
        tied = None
        if others or weights.is_complete:
            tied = all(weights.have_equal_content(chosen.name, other) for other in others)
        kind = indicator or ("cosine" if tied or weights.is_output(chosen.name) else "norm")
        reference: list[int] = []
        if kind != "norm":
            reference = _known_unused(subject, chosen.rows)
            if not reference:
                return Undefined(
                    "no id is known to be unused, which the cosine distance starts from"
                )
            values = distances(chosen, reference, kind)[:size]
            if not values:
                return Undefined("the rows of the ids that are known to be unused are zeros")
        else:
            values = norms(chosen)[:size]
    left_out = {id_ for ids in groups.values() for id_ in ids}
    ids = [id_ for id_ in range(size) if id_ not in left_out]
    if not ids:
        return Undefined("no token is whole characters that some text gives")
    order = sorted(ids, key=lambda id_: (values[id_], id_))
    threshold = values[order[floor(SHARE * (len(order) - 1))]]
    middle = _median([values[id_] for id_ in order])
    spread = _NORMAL * _median(sorted(abs(values[id_] - middle) for id_ in order))
    bound = middle - DEVIATIONS * spread
    names = subject.tokenizer.tokens
    return EmbeddingFacts(
        indicator=kind,
        tensor=chosen.name,
        dtype=chosen.tensor.dtype,
        rows=chosen.rows,
        dimensions=chosen.dimensions,
        tied=tied,
        reference=len(reference),
        of=len(ids),
        left_out={
            name: (len(group), sum(values[id_] <= threshold for id_ in group))
            for name, group in groups.items()
        },
        median=middle,
        threshold=threshold,
        candidates=tuple(
            CandidateToken(id_, names[id_], values[id_])
            for id_ in order
            if values[id_] <= threshold
        ),
        bound=bound,
        apart=sum(values[id_] < bound for id_ in order),
    )


def check_matrix(tokenizer: Tokenizer, path: str | Path, tensor: str | None) -> None:
    """Raise TokctlError if a file has no embeddings of this model.

    Only the header is read, none of the numbers; see `embedding_facts` for the requirements.
    """
    numpy_module()
    with ExitStack() as stack:
        Weights(Path(path), stack).choose(tokenizer.vocab_size, tensor, None)


def check_embeddings(subject: CheckContext) -> Iterator[CheckResult]:
    """Yield the finding about outliers.

    Candidates are no findings: every model has them.
    """
    if subject.embeddings is None:
        yield from not_made([CHECK], "it needs the embeddings of a language model (--embeddings)")
        return
    facts = embedding_facts(subject, subject.embeddings, subject.tensor)
    if isinstance(facts, Undefined):
        yield from not_made([CHECK], facts.reason)
        return
    values = {one.id: one.value for one in facts.candidates[: facts.apart]}
    what = "L2 norm" if facts.indicator == "norm" else "cosine distance to unused rows"
    yield subject.found(
        CHECK,
        list(values),
        facts.of,
        notes=lambda id_: f"{values[id_]:.4g}",
        detail=f"{what[0].upper()}{what[1:]} in {facts.tensor} below {facts.bound:.4g}; the median "
        f"is {facts.median:.4g}.",
    )


def _median(ascending: Sequence[float]) -> float:
    middle = len(ascending) // 2
    return (ascending[middle] + ascending[~middle]) / 2


def _groups(subject: CheckContext) -> dict[str, set[int]]:
    """Return the ids that are not examined, by kind; each id is in one group."""
    ordinary = set(subject.ordinary)
    special = set(range(subject.tokenizer.vocab_size)) - ordinary - subject.byte_tokens
    single = set(subject.reserve)
    partial = set(subject.partial) - single
    unreachable = set(subject.reach_beside_added.ids) - single - partial - special
    return {
        "special": special,
        "bytes": single,
        "partial-utf8": partial,
        "unreachable": unreachable,
    }


def _known_unused(subject: CheckContext, rows: int) -> list[int]:
    """Return the rows of ids that no training text can contain, ascending."""
    model = subject.model
    found = set(range(model.size, rows))
    for id_ in subject.reserve:
        token = model.tokens[id_]
        byte = int(token[3:5], 16) if id_ in subject.byte_tokens else token[0]
        if byte in NEVER_IN_UTF8:
            found.add(id_)
    for added in model.added:
        if added.text == filler_text(added.id) or _NAMED_UNUSED.search(added.text):
            found.add(added.id)
    return sorted(found or subject.reach_beside_added.ids)


# -- Indicators of the rows -------------------------------------------------------------------


def norms(matrix: EmbeddingMatrix) -> array[float]:
    """Return the L2 norm of each row."""
    numpy = numpy_module()
    found = array("d")
    for _, rows in matrix.pieces():
        found.frombytes(numpy.sqrt((rows * rows).sum(axis=1)).tobytes())
    return found


def distances(matrix: EmbeddingMatrix, reference: Sequence[int], indicator: str) -> array[float]:
    """Return the cosine distance of each row to the mean of the `reference` rows that are not zero.

    Empty if all reference rows are zero, or the mean has no direction.

    Args:
        matrix: embeddings, one row for each id.
        reference: indices of the rows known to be unused.
        indicator: one of the `cosine` indicators.
    """
    numpy = numpy_module()
    by_component = indicator == "cosine-without-component"
    mean, unused, products = _sums(matrix, reference, products=by_component)
    first = numpy.linalg.eigh(products)[1][:, -1] if by_component else None

    def without(rows: Matrix) -> Matrix:
        if indicator == "cosine-plain":
            return rows
        return rows - mean if first is None else rows - numpy.outer(rows @ first, first)

    centre = without(unused[None, :])[0]
    length = numpy.linalg.norm(centre)
    found = array("d")
    if not (unused.any() and length):
        return found
    for _, rows in matrix.pieces():
        rows = without(rows)
        lengths = numpy.sqrt((rows * rows).sum(axis=1)) * length
        cosines = numpy.divide(
            rows @ centre, lengths, out=numpy.zeros(len(rows)), where=lengths > 0
        )
        found.frombytes((1 - cosines).tobytes())
    return found


def _sums(
    matrix: EmbeddingMatrix, reference: Sequence[int], *, products: bool
) -> tuple[Matrix, Matrix, Matrix | None]:
    """Return the mean of all rows, the mean of the `reference` rows, and the covariance or None.

    Zero rows are left out of the second mean.
    """
    numpy = numpy_module()
    wanted = numpy.zeros(matrix.rows, bool)
    wanted[list(reference)] = True
    total, unused = numpy.zeros((2, matrix.dimensions))
    covariance = numpy.zeros((matrix.dimensions, matrix.dimensions)) if products else None
    shift, count = None, 0
    for first, rows in matrix.pieces():
        known = rows[wanted[first : first + len(rows)]]
        unused += known.sum(axis=0)
        count += int(known.any(axis=1).sum())
        # Subtracting one vector from all rows doesn't change the covariance, and reduces rounding.
        shift = rows.mean(axis=0) if shift is None else shift
        rows -= shift
        total += rows.sum(axis=0)
        if covariance is not None:
            covariance += rows.T @ rows
    total /= matrix.rows
    if covariance is not None:
        covariance = covariance / matrix.rows - numpy.outer(total, total)
    return total + shift, unused / max(count, 1), covariance
