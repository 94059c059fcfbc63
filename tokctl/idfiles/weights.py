"""Embeddings of a language model in its safetensors files: matrices with a row for each id.

`Weights` are the tensors of one file, or of the files that an index names
(`model.safetensors.index.json`). A matrix is read several rows at a time. `Weights.copy` writes the
files again with other matrices in the place of some, and copies all other bytes unchanged. Memory
holds one block, whatever the size of the files.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokctl.core.errors import BadInput, BadOption, Unsupported
from tokctl.core.files import WholeFiles, note_read, whole_files, whole_folder
from tokctl.core.humanize import plural
from tokctl.core.schema import PLAIN_NAME, Whole, check, fits
from tokctl.formats.holes import MOST_HOLES
from tokctl.idfiles.random_access import InputFile, RandomAccessFile
from tokctl.idfiles.safetensors import NewTensor, StoredTensor, replace_tensors, stored_tensors

if TYPE_CHECKING:
    import numpy

    Matrix = numpy.ndarray[Any, numpy.dtype[numpy.float64]]

#: Endings of the names of embedding matrices in published models.
_INPUTS = (
    *("embed_tokens.weight", "wte.weight", "tok_embeddings.weight", "word_embeddings.weight"),
    *("embed_in.weight", "embedding.weight", "embeddings.weight", "shared.weight"),
)
_OUTPUTS = ("lm_head.weight", "embed_out.weight", "output.weight", "ff_out.weight")
#: Types that are read, with NumPy's type of the bytes in the file.
_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}
#: Bytes of rows read at a time.
_BLOCK_SIZE = 1 << 21
#: Numbers must be smaller: then a sum of squares is finite. Numbers of single precision always are.
TOO_LARGE = 1e100
#: Most numbers of a row; no model has more.
MOST_DIMENSIONS = 1 << 16
_LONGEST_INDEX = 100_000_000
_INDEX = "model.safetensors.index.json"
#: Names of tensors in a layer of the model, which are not embeddings.
_LAYER = re.compile(r"\.\d+\.")
_SHARD = re.compile(r"-\d+-of-\d+\.safetensors\Z")
_HINT = "name the model's .safetensors file, its .safetensors.index.json, or their folder"


def numpy_module() -> Any:
    """Return NumPy; raise TokctlError if it is not installed."""
    try:
        import numpy
    except ImportError:
        raise Unsupported(
            "reading embeddings needs NumPy", "pip install 'tokctl[embeddings]'", "missing-package"
        ) from None
    return numpy


class Weights:
    """Tensors of a file, or of the files that an index names.

    Attributes:
        path: the path that was given.
        files: file of each tensor, by the tensor's name.
        is_complete: whether these are all tensors of the model, as far as the names of the files
            show.
    """

    def __init__(self, path: Path, stack: ExitStack) -> None:
        self.path = path
        self._stack = stack
        self._opened: dict[Path, tuple[RandomAccessFile, dict[str, StoredTensor]]] = {}
        if path.is_dir():
            names = ("model.safetensors", _INDEX)
            candidates = [path / name for name in names if (path / name).exists()]
            if not candidates:
                raise BadInput(f"{path} has no model.safetensors", _HINT, "unreadable")
            path = candidates[0]
        note_read(path)
        self.is_complete = True
        self._index_path = path if path.suffix == ".json" else None
        if self._index_path is not None:
            self.files = _read_index(path)
            for file in set(self.files.values()):
                note_read(file)
        else:
            self.files = dict.fromkeys(self._tensors(path), path)
            self.is_complete = not _SHARD.search(path.name)

    def _tensors(self, path: Path) -> dict[str, StoredTensor]:
        if path not in self._opened:
            file = self._stack.enter_context(InputFile(str(path), path=str(path)).opened())
            self._opened[path] = file, stored_tensors(file, _HINT)
        return self._opened[path][1]

    def choose(
        self, size: int, name: str | None, indicator: str | None
    ) -> tuple[EmbeddingMatrix, list[str]]:
        """Return the embedding matrix, and the names of tensors that may hold the same matrix.

        For an input matrix, these are the output matrices of the model; for an output matrix, the
        inputs.

        Args:
            size: number of ids of the vocabulary.
            name: name of the tensor; None: the input tensor with a usual name, or else the output.
            indicator: indicator that the user chose; None: the choice depends on whether input and
                output are tied, which must then be known.

        Raises:
            TokctlError: no tensor or several tensors fit; or other files of the model are missing,
                so that tied tensors can't be found.
        """
        outputs = self._named_like(_OUTPUTS)
        if name is None:
            inputs = self._named_like(_INPUTS) or outputs
            if len(inputs) != 1:
                count_phrase = f"has {len(inputs)}" if inputs else "has no"
                raise BadOption(
                    f"{self.path} {count_phrase} tensors with a usual name of embeddings",
                    f"name one with --tensor: {self._name_list(inputs or None)}",
                    "missing-option",
                )
            name = inputs[0]
        chosen = self.matrix(name, size)
        others = [other for other in outputs if other != name]
        if self.is_output(name):
            others = self._named_like(_INPUTS)
        if not (others or self.is_complete or indicator):
            raise BadInput(
                f"{self.path} is one of several files: can't tell whether {name!r} is both input "
                "and output",
                f"name the model's {_INDEX}",
            )
        return chosen, others

    def is_output(self, name: str) -> bool:
        """Return whether a matrix has a usual name of output embeddings."""
        return name in self._named_like(_OUTPUTS)

    def have_equal_content(self, name: str, other: str) -> bool:
        """Return whether two tensors have equal content: some files hold a tied matrix twice."""
        (file, tensor), (other_file, other_tensor) = map(self._locate, (name, other))
        if (tensor.dtype, tensor.shape) != (other_tensor.dtype, other_tensor.shape):
            return False
        size = tensor.end - tensor.begin
        return all(
            file.read(tensor.begin + offset, min(_BLOCK_SIZE, size - offset))
            == other_file.read(other_tensor.begin + offset, min(_BLOCK_SIZE, size - offset))
            for offset in range(0, size, _BLOCK_SIZE)
        )

    def _locate(self, name: str) -> tuple[RandomAccessFile, StoredTensor]:
        path = self.files[name]
        tensor = self._tensors(path).get(name)
        if tensor is None:
            raise BadInput(
                f"{path} has no tensor {name!r}",
                f"copy the files again: {self.path} lists the tensor",
                "damaged",
            )
        return self._opened[path][0], tensor

    def _named_like(self, endings: Sequence[str]) -> list[str]:
        """Return the sorted names of tensors outside the layers that end with one of `endings`."""
        return sorted(
            name
            for name in self.files
            if any(f".{name}".endswith(f".{end}") for end in endings) and not _LAYER.search(name)
        )

    def _name_list(self, names: Sequence[str] | None) -> str:
        if not names:
            outer = [name for name in sorted(self.files) if not _LAYER.search(name)]
            names = outer or sorted(self.files)
        return ", ".join(names[:20]) or "none"

    def embeddings(self, size: int) -> list[EmbeddingMatrix]:
        """Return all matrices with a usual name of embeddings, inputs before outputs.

        Args:
            size: number of ids of the vocabulary.

        Raises:
            TokctlError: no tensor has such a name, or one is not an embedding matrix of this size.
        """
        names = [*self._named_like(_INPUTS), *self._named_like(_OUTPUTS)]
        if not names:
            raise BadOption(
                f"{self.path} has no tensors with a usual name of embeddings",
                f"name one with --tensor: {self._name_list(None)}",
                "missing-option",
            )
        return [self.matrix(name, size) for name in names]

    def matrix(self, name: str, size: int, dimensions: Sequence[int] = (2,)) -> EmbeddingMatrix:
        """Return the matrix of a name.

        Args:
            name: name of the tensor.
            size: number of ids of the vocabulary.
            dimensions: numbers of dimensions that the tensor may have.

        Raises:
            TokctlError: the tensor is missing, or its type or shape is not one of embeddings for
                `size` ids.
        """
        if name not in self.files:
            raise BadOption(
                f"{self.path} has no tensor {name!r}",
                f"choose one of: {self._name_list(None)}",
                "unknown-name",
            )
        path = self.files[name]
        file, tensor = self._locate(name)
        if len(tensor.shape) not in dimensions or tensor.dtype not in _TYPES:
            raise BadInput(
                f"{path}: the tensor {name!r} is {tensor.dtype} of shape {list(tensor.shape)}",
                f"embeddings are a table of {', '.join(_TYPES)}: {self._name_list(None)}",
                "bad-record",
            )
        rows, width = tensor.shape[0], math.prod(tensor.shape[1:])
        if rows < size or rows - size > max(size, MOST_HOLES):
            raise BadInput(
                f"{path}: the tensor {name!r} has {plural(rows, 'row')}, and the model "
                f"{plural(size, 'id')}",
                "choose the embeddings of this model with --tensor",
            )
        if not 0 < width <= MOST_DIMENSIONS:
            raise BadInput(
                f"{path}: the tensor {name!r} has {plural(width, 'number')} in each row",
                f"embeddings have 1 to {MOST_DIMENSIONS:,}",
            )
        return EmbeddingMatrix(name, file, tensor)

    def with_dimension(self, size: int) -> list[str]:
        """Return the sorted names of tensors with a dimension of `size`."""
        tensors = ((name, self._locate(name)[1]) for name in sorted(self.files))
        return [name for name, tensor in tensors if size in tensor.shape]

    # -- writing new files ---------------------------------------------------------------

    def target(self, output: str | Path) -> Path:
        """Return where `copy` writes: a file, or the folder if there are several files."""
        path = Path(output)
        if self._index_path is None and path.is_dir():
            return path / next(iter(self.files.values()), self.path).name
        return path

    def copy(
        self,
        changed: Mapping[str, NewTensor],
        output: str | Path,
        progress: Callable[[str, int, int | None], None] | None = None,
    ) -> list[Path]:
        """Write the file, or the index and all its files, with some tensors replaced.

        Either all files are written or none.

        Args:
            changed: new tensors by name.
            output: the file, or for several files the folder.
            progress: called with `copy`, the bytes written and their total.

        Returns:
            The files, with the one that names the others first.

        Raises:
            TokctlError: a file can't be read or written; for several files, `output` is a file.
        """
        target = self.target(output)
        if self._index_path is None:
            with whole_files() as files:
                self._write(dict.fromkeys(self.files.values(), target), changed, files, progress)
            return [target]
        if target.exists() and not target.is_dir():
            raise BadOption(
                f"can't write the folder {target}: a file has that name",
                f"{self._index_path} names several files: name a folder for them",
                "output-taken",
            )
        paths = sorted(set(self.files.values()))
        try:
            folder_context = nullcontext(target) if target.is_dir() else whole_folder(target)
            with folder_context as folder, whole_files() as files:
                # The index is opened first, and so appears last: it promises that the other files
                # exist.
                files.open(folder / self._index_path.name).write(self._new_index(changed))
                targets = {path: folder / path.name for path in paths}
                self._write(targets, changed, files, progress)
        except OSError as error:
            raise BadInput(
                f"can't write the folder {target}: {error.strerror or error}",
                "name another one",
                "unreadable",
            ) from None
        return [target / path.name for path in (self._index_path, *paths)]

    def _write(
        self,
        targets: Mapping[Path, Path],
        changed: Mapping[str, NewTensor],
        files: WholeFiles,
        progress: Callable[[str, int, int | None], None] | None,
    ) -> None:
        total = sum(path.stat().st_size for path in targets)
        done = 0
        for path, target in targets.items():
            self._tensors(path)
            out = files.open(target)
            changed_here = {name: new for name, new in changed.items() if self.files[name] == path}
            for block in replace_tensors(self._opened[path][0], changed_here, _HINT):
                out.write(block)
                done += len(block)
                if progress is not None:
                    progress("copy", min(done, total), total)

    def _new_index(self, changed: Mapping[str, NewTensor]) -> bytes:
        """Return the index with the new size of all tensors."""
        from tokctl.core import orjson

        assert self._index_path is not None
        document = orjson.loads(self._index_path.read_bytes())
        metadata = document.get("metadata")
        if fits(metadata, {"total_size": Whole(0, 1 << 62)}):
            for name, new in changed.items():
                tensor = self._locate(name)[1]
                size = tensor.end - tensor.begin
                metadata["total_size"] += size // max(tensor.shape[0], 1) * new.shape[0] - size
        try:
            return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
        except TypeError as error:  # an unknown field that is nested too deeply
            raise BadInput(
                f"{self._index_path} can't be written anew: {error}", _HINT, "damaged"
            ) from None


def _read_index(path: Path) -> dict[str, Path]:
    """Return the file of each tensor from an index."""
    from tokctl.core import orjson

    problem = f"{path} is not an index of safetensors files"
    try:
        if path.stat().st_size > _LONGEST_INDEX:
            raise BadInput(f"{problem}: it has over {_LONGEST_INDEX:,} bytes", _HINT, "too-large")
        document = orjson.loads(path.read_bytes())
    except OSError as error:
        raise BadInput(
            f"can't read {path}: {error.strerror or error}", _HINT, "unreadable"
        ) from None
    except ValueError as error:
        raise BadInput(f"{problem}: {error}", _HINT, "damaged") from None
    check(document, {"weight_map": {str: PLAIN_NAME}}, problem, _HINT)
    return {name: path.parent / file for name, file in document["weight_map"].items()}


class EmbeddingMatrix:
    """A matrix with a row for each id, read several rows at a time.

    In a tensor of one dimension (the bias of an output), each number is a row.

    Attributes:
        name: name of the tensor.
        file: file that holds the tensor.
        tensor: type, shape and position of the tensor.
        rows: number of rows.
        dimensions: numbers in a row.
        width: bytes of a row.
    """

    def __init__(self, name: str, file: RandomAccessFile, tensor: StoredTensor) -> None:
        self.name = name
        self.file = file
        self.tensor = tensor
        self.rows, *rest = tensor.shape
        self.dimensions = math.prod(rest)
        self.width = (tensor.end - tensor.begin) // self.rows if self.rows else 0

    @property
    def step(self) -> int:
        """Number of rows that are read or written at a time."""
        return max(1, _BLOCK_SIZE // self.width)

    def stored(self, first: int, count: int) -> bytes:
        """Return the bytes of `count` rows from row `first` on, as they are in the file."""
        return self.file.read(self.tensor.begin + first * self.width, count * self.width)

    def numbers(self, first: int, count: int) -> Matrix:
        """Return `count` rows from row `first` on as 64-bit floating-point numbers.

        Args:
            first: index of the first row.
            count: number of rows.

        Raises:
            TokctlError: a number is not finite, or not below `TOO_LARGE`.
        """
        numpy = numpy_module()
        numbers = numpy.frombuffer(self.stored(first, count), _TYPES[self.tensor.dtype])
        if self.tensor.dtype == "BF16":  # a BF16 is the upper half of an F32
            numbers = (numbers.astype("<u4") << 16).view("<f4")
        rows: Matrix = numbers.reshape(count, self.dimensions).astype(numpy.float64)
        is_finite = (abs(rows) < TOO_LARGE).all(axis=1)  # False for NaN, too
        if not is_finite.all():
            row = first + int(numpy.argmin(is_finite))
            raise BadInput(
                f"{self.file.name}: row {row} of the tensor {self.name!r} holds a value that is "
                f"not a finite number, or is beyond {TOO_LARGE:g}",
                "use another file: this one is damaged, or the training diverged",
            )
        return rows

    def pieces(self) -> Iterator[tuple[int, Matrix]]:
        """Yield all rows, `step` rows at a time, with the index of the first; see `numbers`."""
        for first in range(0, self.rows, self.step):
            yield first, self.numbers(first, min(self.step, self.rows - first))

    def rounded(self, rows: Matrix) -> bytes:
        """Return rows as bytes in the type of the file.

        Each number becomes the nearest of the type; of two equally near ones, the one whose last
        bit is 0 (IEEE 754, roundTiesToEven).
        """
        numpy = numpy_module()
        if self.tensor.dtype != "BF16":
            data: bytes = rows.astype(_TYPES[self.tensor.dtype]).tobytes()
            return data
        # First round to F32 "to odd": truncate, and set the last bit if anything was cut off.
        # Rounding this result gives the same as rounding once (Boldo and Melquiond 2008).
        with numpy.errstate(over="ignore"):
            as_float32 = rows.astype("<f4")
        bits = as_float32.view("<u4").copy()
        bits -= (abs(as_float32.astype(numpy.float64)) > abs(rows)).astype("<u4")
        bits |= (as_float32 != rows).astype("<u4")
        upper = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
        rounded: bytes = upper.astype("<u2").tobytes()
        return rounded
