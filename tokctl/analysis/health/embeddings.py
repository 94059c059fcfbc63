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
from typing import TYPE_CHECKING, Any

from tokctl.analysis.health.results import Answer
from tokctl.analysis.health.subject import Subject, not_made
from tokctl.analysis.metrics import Absent
from tokctl.errors import TokctlError
from tokctl.formats.holes import MOST_HOLES, filler
from tokctl.idfiles.random_access import InputFile, RandomAccessFile
from tokctl.idfiles.safetensors import StoredTensor, stored_tensors
from tokctl.model.byte_level import NEVER_IN_UTF8
from tokctl.wording import plural

if TYPE_CHECKING:
    import numpy

    from tokctl.tokenizer import Tokenizer

    Matrix = numpy.ndarray[Any, numpy.dtype[numpy.float64]]

#: Of the tokens that are looked at, the share of those that are candidates: the paper's.
SHARE = 0.02
#: Robust standard deviations below the median from where on a token stands apart.
DEVIATIONS = 5
#: From the median of the absolute deviations to a standard deviation, of a normal distribution.
_NORMAL = 1.4826
#: The name of the check.
CHECK = "under-trained"
INDICATORS = ("norm", "cosine", "cosine-plain", "cosine-without-component")

#: How names of the matrices end, in models that people publish.
_INPUTS = (
    *("embed_tokens.weight", "wte.weight", "tok_embeddings.weight", "word_embeddings.weight"),
    *("embed_in.weight", "embedding.weight", "embeddings.weight", "shared.weight"),
)
_OUTPUTS = ("lm_head.weight", "embed_out.weight", "output.weight", "ff_out.weight")
#: Types that are read, with NumPy's name of what lies in the file.
_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}
#: Bytes of rows that are read at a time.
_PIECE = 1 << 21
#: Sums of squares of such numbers are still finite. Those of single precision are smaller.
_TOO_LARGE = 1e100
#: Numbers of a row: more than any model has.
_MOST_DIMENSIONS = 1 << 16
_LONGEST_INDEX = 100_000_000
_INDEX = "model.safetensors.index.json"
#: Of a model's hundreds of tensors, those of its layers are no embeddings.
_LAYER = re.compile(r"\.\d+\.")
_SHARD = re.compile(r"-\d+-of-\d+\.safetensors\Z")
_NAMED_UNUSED = re.compile("unused|reserved", re.IGNORECASE)
_HINT = "name the model's .safetensors file, its .safetensors.index.json, or their folder"


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
        tied: input and output embeddings are one matrix; None where that can't be told.
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
        Absent where no token can be looked at, or no id is known to be unused.

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
        weights = _Weights(Path(path), stack)
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
            values = chosen.distances(reference, kind)[:size]
            if not values:
                return Absent("the rows of the ids that are known to be unused are zeros")
        else:
            values = chosen.norms()[:size]
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
    """TokctlError where a file has no embeddings of this model, as `embedding_facts` takes them;
    none of their numbers is read."""
    _numpy()
    with ExitStack() as stack:
        _Weights(Path(path), stack).choose(tokenizer.vocab_size, tensor, None)


def check_embeddings(subject: Subject) -> Iterator[Answer]:
    """The tokens that stand apart. The candidates are a share whatever the model, so that they
    are no finding."""
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


# -- The matrix --------------------------------------------------------------------------------


def _numpy() -> Any:
    try:
        import numpy
    except ImportError:
        raise TokctlError(
            "reading embeddings needs NumPy", "pip install 'tokctl[embeddings]'"
        ) from None
    return numpy


class _Weights:
    """The tensors of a file, or of the files that an index names.

    Attributes:
        files: the file of each tensor, by name.
        whole: these are all tensors of the model, as far as can be told.
    """

    def __init__(self, path: Path, stack: ExitStack) -> None:
        self.path = path
        self._stack = stack
        self._opened: dict[Path, tuple[RandomAccessFile, dict[str, StoredTensor]]] = {}
        if path.is_dir():
            names = ("model.safetensors", _INDEX)
            found = [path / name for name in names if (path / name).exists()]
            if not found:
                raise TokctlError(f"{path} has no model.safetensors", _HINT)
            path = found[0]
        self.whole = True
        if path.suffix == ".json":
            self.files = _index(path)
        else:
            self.files = dict.fromkeys(self._tensors(path), path)
            self.whole = not _SHARD.search(path.name)

    def _tensors(self, path: Path) -> dict[str, StoredTensor]:
        if path not in self._opened:
            file = self._stack.enter_context(InputFile(str(path), path=str(path)).opened())
            self._opened[path] = file, stored_tensors(file, _HINT)
        return self._opened[path][1]

    def choose(
        self, size: int, name: str | None, indicator: str | None
    ) -> tuple[_Embeddings, list[str]]:
        """The matrix that is called so, or as embeddings are, for a vocabulary of `size` ids; and
        what may be the same: the outputs for an input, the inputs for an output."""
        outputs = self._called(_OUTPUTS)
        if name is None:
            inputs = self._called(_INPUTS) or outputs
            if len(inputs) != 1:
                found = f"has {len(inputs)}" if inputs else "has no"
                raise TokctlError(
                    f"{self.path} {found} tensors that are called as embeddings are",
                    f"name one with --tensor: {self._names(inputs or None)}",
                )
            name = inputs[0]
        elif name not in self.files:
            raise TokctlError(f"{self.path} has no tensor {name!r}", f"it has: {self._names(None)}")
        chosen = self._embeddings(name, size)
        others = [other for other in outputs if other != name]
        if self.is_output(name):
            others = self._called(_INPUTS)
        if not (others or self.whole or indicator):
            raise TokctlError(
                f"{self.path} is one of several files: whether {name!r} is input and output can't "
                "be told",
                f"name the model's {_INDEX}",
            )
        return chosen, others

    def is_output(self, name: str) -> bool:
        """Is a matrix called as output embeddings are?"""
        return name in self._called(_OUTPUTS)

    def same(self, name: str, other: str) -> bool:
        """Do two tensors hold the same? Some files hold a tied matrix twice."""
        (file, tensor), (other_file, other_tensor) = map(self._place, (name, other))
        if (tensor.dtype, tensor.shape) != (other_tensor.dtype, other_tensor.shape):
            return False
        size = tensor.end - tensor.begin
        return all(
            file.read(tensor.begin + at, min(_PIECE, size - at))
            == other_file.read(other_tensor.begin + at, min(_PIECE, size - at))
            for at in range(0, size, _PIECE)
        )

    def _place(self, name: str) -> tuple[RandomAccessFile, StoredTensor]:
        path = self.files[name]
        tensor = self._tensors(path).get(name)
        if tensor is None:
            raise TokctlError(f"{path} has no tensor {name!r}", f"{self.path} says that it has")
        return self._opened[path][0], tensor

    def _called(self, endings: Sequence[str]) -> list[str]:
        """The tensors whose names end so."""
        return sorted(
            name
            for name in self.files
            if any(f".{name}".endswith(f".{end}") for end in endings) and not _LAYER.search(name)
        )

    def _names(self, names: Sequence[str] | None) -> str:
        if not names:
            outer = [name for name in sorted(self.files) if not _LAYER.search(name)]
            names = outer or sorted(self.files)
        return ", ".join(names[:20]) or "none"

    def _embeddings(self, name: str, size: int) -> _Embeddings:
        path = self.files[name]
        file, tensor = self._place(name)
        if len(tensor.shape) != 2 or tensor.dtype not in _TYPES:
            raise TokctlError(
                f"{path}: the tensor {name!r} is {tensor.dtype} of shape {list(tensor.shape)}",
                f"embeddings are a table of {', '.join(_TYPES)}: {self._names(None)}",
            )
        rows, dimensions = tensor.shape
        if rows < size or rows - size > max(size, MOST_HOLES):
            raise TokctlError(
                f"{path}: the tensor {name!r} has {plural(rows, 'row')}, and the model "
                f"{plural(size, 'id')}",
                "is it of another model, or not the embeddings? --tensor names one",
            )
        if not 0 < dimensions <= _MOST_DIMENSIONS:
            raise TokctlError(
                f"{path}: the tensor {name!r} has {plural(dimensions, 'number')} in each row",
                f"embeddings have 1 to {_MOST_DIMENSIONS:,}",
            )
        return _Embeddings(name, file, tensor)


def _index(path: Path) -> dict[str, Path]:
    """The file of each tensor, as an index has it."""
    import orjson

    try:
        if path.stat().st_size > _LONGEST_INDEX:
            raise ValueError
        files = orjson.loads(path.read_bytes())["weight_map"]
        found = {name: path.parent / file for name, file in files.items()}
    except OSError as error:
        raise TokctlError(f"can't read {path}: {error.strerror or error}", _HINT) from None
    except (ValueError, TypeError, KeyError, AttributeError):
        raise TokctlError(f"{path} is no index of safetensors files", _HINT) from None
    if any("\0" in file or Path(file).name != file for file in files.values()):
        raise TokctlError(f"{path} names files in other folders", _HINT)
    return found


class _Embeddings:
    """A matrix with a row for each id, read some rows at a time."""

    def __init__(self, name: str, file: RandomAccessFile, tensor: StoredTensor) -> None:
        self.name = name
        self.file = file
        self.tensor = tensor
        self.rows, self.dimensions = tensor.shape

    def pieces(self) -> Iterator[tuple[int, Matrix]]:
        """Rows, some at a time, with the number of the first; TokctlError where one holds what is
        no finite number."""
        numpy = _numpy()
        width = numpy.dtype(_TYPES[self.tensor.dtype]).itemsize * self.dimensions
        step = max(1, _PIECE // width)
        for first in range(0, self.rows, step):
            count = min(step, self.rows - first)
            data = self.file.read(self.tensor.begin + first * width, count * width)
            numbers = numpy.frombuffer(data, _TYPES[self.tensor.dtype])
            if self.tensor.dtype == "BF16":  # the upper half of an F32
                numbers = (numbers.astype("<u4") << 16).view("<f4")
            rows = numbers.reshape(count, self.dimensions).astype(numpy.float64)
            sound = (abs(rows) < _TOO_LARGE).all(axis=1)  # not so of what is no number
            if not sound.all():
                row = first + int(numpy.argmin(sound))
                raise TokctlError(
                    f"{self.file.name}: row {row} of the tensor {self.name!r} holds what is no "
                    f"finite number, or one beyond {_TOO_LARGE:g}",
                    "the file is damaged, or the training went wrong",
                )
            yield first, rows

    def norms(self) -> array[float]:
        """The L2 norm of each row."""
        numpy = _numpy()
        found = array("d")
        for _, rows in self.pieces():
            found.frombytes(numpy.sqrt((rows * rows).sum(axis=1)).tobytes())
        return found

    def distances(self, reference: Sequence[int], indicator: str) -> array[float]:
        """The cosine distance of each row to the mean of the rows of `reference`, of which zeros
        are left out; none where nothing is left, or that mean has no direction."""
        numpy = _numpy()
        by_component = indicator == "cosine-without-component"
        mean, unused, products = self._sums(reference, products=by_component)
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
        for _, rows in self.pieces():
            rows = without(rows)
            lengths = numpy.sqrt((rows * rows).sum(axis=1)) * length
            cosines = numpy.divide(
                rows @ centre, lengths, out=numpy.zeros(len(rows)), where=lengths > 0
            )
            found.frombytes((1 - cosines).tobytes())
        return found

    def _sums(
        self, reference: Sequence[int], *, products: bool
    ) -> tuple[Matrix, Matrix, Matrix | None]:
        """The mean of all rows, that of some, and the covariance if it is asked for."""
        numpy = _numpy()
        wanted = numpy.zeros(self.rows, bool)
        wanted[list(reference)] = True
        total, unused = numpy.zeros((2, self.dimensions))
        covariance = numpy.zeros((self.dimensions, self.dimensions)) if products else None
        shift, count = None, 0
        for first, rows in self.pieces():
            known = rows[wanted[first : first + len(rows)]]
            unused += known.sum(axis=0)
            count += int(known.any(axis=1).sum())
            # Covariance does not depend on what is taken off all rows, and rounds less near 0.
            shift = rows.mean(axis=0) if shift is None else shift
            rows -= shift
            total += rows.sum(axis=0)
            if covariance is not None:
                covariance += rows.T @ rows
        total /= self.rows
        if covariance is not None:
            covariance = covariance / self.rows - numpy.outer(total, total)
        return total + shift, unused / max(count, 1), covariance
