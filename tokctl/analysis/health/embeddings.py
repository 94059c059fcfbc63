"""Tokens that the embeddings of a language model show to be under-trained.

Land and Bartolo 2024, "Fishing for Magikarp" (arXiv 2405.05417), find them by indicators, of which
a low value is a sign of little training. They are read off a matrix with a row for each id:

- `norm`, where input and output embeddings are two matrices: the L2 norm of a token's row of the
  input embeddings. What is never read keeps its first value, or decays.
- `cosine`, where they are one matrix, or of an output matrix: the cosine distance of a token's row
  to the mean row of ids that are known to be unused, after the mean of all rows was taken off.
  Training moves the rows of all unused ids in the same direction.
- `cosine-plain` and `cosine-without-component`, if they are asked for: the same, where nothing is
  taken off the rows, or their first principal component. The authors' program gives all three.
  With the mean taken off, trained tokens lie around 1, and others stand apart from them. That takes
  less time than the component, and still serves where unused rows are so many that they are the
  first component themselves.

**Known to be unused** are rows after the last id (padding of the matrix), fillers of holes, bytes
that are in no UTF-8, special or added tokens that call themselves unused or reserved; only where
there are none of these, the tokens that no text gives.

**Looked at** are tokens that some text gives and that are whole characters: special and added
tokens, single bytes, parts of characters and unreachable tokens are counted beside them.
**Candidates** are those whose indicator is at most that of the lowest 2%, as in the paper, where
each candidate is then tried in prompts. So a share of 2% is always found, in a model without a
single under-trained token as well. To tell the two cases, `apart` counts the tokens that are more
than `DEVIATIONS` robust standard deviations (1.4826 times the median of the absolute deviations,
after Hampel 1974) below the median. That count is tokctl's own, and can be 0.

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

from tokctl.analysis.health.results import Answer
from tokctl.analysis.health.subject import Subject, not_made
from tokctl.analysis.metrics import Absent
from tokctl.errors import TokctlError
from tokctl.formats.holes import filler
from tokctl.idfiles.weights import EmbeddingMatrix, Weights, numpy_module
from tokctl.model.byte_level import NEVER_IN_UTF8

if TYPE_CHECKING:
    from tokctl.idfiles.weights import Matrix
    from tokctl.tokenizer import Tokenizer

#: Of the tokens that are looked at, the share of those that are candidates: the paper's.
SHARE = 0.02
#: Robust standard deviations below the median from where on a token stands apart.
DEVIATIONS = 5
#: From the median of the absolute deviations to a standard deviation, of a normal distribution.
_NORMAL = 1.4826
#: The name of the check.
CHECK = "under-trained"
INDICATORS = ("norm", "cosine", "cosine-plain", "cosine-without-component")

_NAMED_UNUSED = re.compile("unused|reserved", re.IGNORECASE)


# -- Results -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class CandidateToken:
    """A token whose indicator is among the lowest.

    Attributes:
        token: as the vocabulary spells it.
        value: of the indicator.
    """

    id: int
    token: str
    value: float


@dataclass(frozen=True)
class EmbeddingFacts:
    """What the embeddings say.

    Attributes:
        indicator: of `INDICATORS`.
        tensor, dtype, rows, dimensions: what was read, as the file has it.
        tied: input and output embeddings are one matrix; None if that can't be told.
        reference: rows known to be unused, which distances are measured from; 0 for `norm`.
        of: tokens that were looked at.
        left_out: tokens that were not, by what they are: `special`, `bytes`, `partial-utf8`,
            `unreachable`. How many there are, and how many of them are at the threshold or below.
        median: of the indicator, of the tokens that were looked at; threshold: of the candidates.
        candidates: ascending by indicator, then by id.
        bound: what is below stands apart.
        apart: how many candidates do; the first ones.
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
    subject: Subject,
    path: str | Path,
    tensor: str | None = None,
    indicator: str | None = None,
) -> EmbeddingFacts | Absent:
    """The tokens of a model whose embeddings are the least trained.

    Takes the time to read the matrix once, for distances twice. Memory: some rows; for
    `cosine-without-component` d² numbers, and d² products for each row of d numbers.

    Args:
        path: a safetensors file, the index of several, or the folder that has one of these.
        tensor: the matrix; by default the one that is called as input embeddings are, else the
            output embeddings.
        indicator: of `INDICATORS`; by default `norm` of input embeddings where there are others
            for the output, else `cosine`.

    Returns:
        Absent if no token can be looked at, or no id is known to be unused.

    Raises:
        TokctlError: NumPy is not installed; the file can't be read or is damaged; it has no such
            matrix, or one with fewer rows than the model has ids, or with more padding than ids.
    """
    if indicator not in (None, *INDICATORS):
        raise TokctlError(
            f"the indicator can't be {indicator!r}", f"choose one of: {', '.join(INDICATORS)}"
        )
    size = subject.tokenizer.vocab_size
    groups = _groups(subject)
    with ExitStack() as stack:
        weights = Weights(Path(path), stack)
        chosen, others = weights.choose(size, tensor, indicator)
        tied = None
        if others or weights.whole:
            tied = all(weights.same(chosen.name, other) for other in others)
        kind = indicator or ("cosine" if tied or weights.is_output(chosen.name) else "norm")
        reference: list[int] = []
        if kind != "norm":
            reference = _known_unused(subject, chosen.rows)
            if not reference:
                return Absent("no id is known to be unused, which the cosine distance starts from")
            values = distances(chosen, reference, kind)[:size]
            if not values:
                return Absent("the rows of the ids that are known to be unused are zeros")
        else:
            values = norms(chosen)[:size]
    left_out = {id_ for ids in groups.values() for id_ in ids}
    ids = [id_ for id_ in range(size) if id_ not in left_out]
    if not ids:
        return Absent("no token is whole characters that some text gives")
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
    """TokctlError if a file has no embeddings of this model, as `embedding_facts` takes them;
    none of their numbers is read."""
    numpy_module()
    with ExitStack() as stack:
        Weights(Path(path), stack).choose(tokenizer.vocab_size, tensor, None)


def check_embeddings(subject: Subject) -> Iterator[Answer]:
    """The tokens that stand apart. The candidates are a share whatever the model, so that they
    are not findings."""
    if subject.embeddings is None:
        yield from not_made([CHECK], "it needs the embeddings of a language model (--embeddings)")
        return
    facts = embedding_facts(subject, subject.embeddings, subject.tensor)
    if isinstance(facts, Absent):
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


def _groups(subject: Subject) -> dict[str, set[int]]:
    """The ids that are not looked at; each is in one group."""
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


def _known_unused(subject: Subject, rows: int) -> list[int]:
    """The rows of ids that no training text can have had."""
    model = subject.model
    found = set(range(model.size, rows))
    for id_ in subject.reserve:
        token = model.tokens[id_]
        byte = int(token[3:5], 16) if id_ in subject.byte_tokens else token[0]
        if byte in NEVER_IN_UTF8:
            found.add(id_)
    for added in model.added:
        if added.text == filler(added.id) or _NAMED_UNUSED.search(added.text):
            found.add(added.id)
    return sorted(found or subject.reach_beside_added.ids)


# -- Figures of the rows ----------------------------------------------------------------------


def norms(matrix: EmbeddingMatrix) -> array[float]:
    """The L2 norm of each row."""
    numpy = numpy_module()
    found = array("d")
    for _, rows in matrix.pieces():
        found.frombytes(numpy.sqrt((rows * rows).sum(axis=1)).tobytes())
    return found


def distances(matrix: EmbeddingMatrix, reference: Sequence[int], indicator: str) -> array[float]:
    """The cosine distance of each row to the mean of the rows of `reference`, of which zeros
    are left out; none where nothing is left, or that mean has no direction."""
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
    """The mean of all rows, that of some, and the covariance if it is asked for."""
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
        # Covariance does not depend on what is taken off all rows, and rounds less near 0.
        shift = rows.mean(axis=0) if shift is None else shift
        rows -= shift
        total += rows.sum(axis=0)
        if covariance is not None:
            covariance += rows.T @ rows
    total /= matrix.rows
    if covariance is not None:
        covariance = covariance / matrix.rows - numpy.outer(total, total)
    return total + shift, unused / max(count, 1), covariance
