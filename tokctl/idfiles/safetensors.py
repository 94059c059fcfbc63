"""safetensors: ids as a tensor and, if the ends of documents are known, their offsets as another.

The layout follows the format's own description: 8 bytes with the size of the header, the header in
JSON, and the tensors without gaps. Readers require a header that begins with `{`, and accept spaces
at its end.
"""

from __future__ import annotations

import math
import shutil
from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from tokctl.core.errors import BadInput
from tokctl.core.schema import COUNT, OneOf, Satisfies, check, fits
from tokctl.idfiles.chunks import Chunk, FormFiles, IdFileWriter, IdPart
from tokctl.idfiles.dtypes import DTYPES, Dtype, little_endian
from tokctl.idfiles.random_access import BLOCK, IdInput, RandomAccessFile, Window

#: Names of the tensors of the ids and of their offsets.
IDS, OFFSETS = "input_ids", "offsets"

#: Bytes before the first tensor in written files; enough for a header with the longest numbers.
_HEADER_ROOM = 512

#: Field of the header with texts by name, beside the tensors.
_METADATA = "__metadata__"

#: Largest header that is read, in bytes; the limit of the format's own library.
_LONGEST_HEADER = 100_000_000

#: Bits of a number of each type.
_BITS = {
    "BOOL": 8,
    "F4": 4,
    "F6_E2M3": 6,
    "F6_E3M2": 6,
    **dict.fromkeys(("U8", "I8", "F8_E5M2", "F8_E4M3", "F8_E8M0"), 8),
    **dict.fromkeys(("U16", "I16", "F16", "BF16"), 16),
    **dict.fromkeys(("U32", "I32", "F32"), 32),
    **dict.fromkeys(("U64", "I64", "F64", "C64"), 64),
}

#: Largest number of dimensions: no real tensor has more, and the product of very many takes long.
_MOST_DIMENSIONS = 64

_SHAPE = Satisfies(
    f"a list of at most {_MOST_DIMENSIONS} sizes",
    lambda shape: fits(shape, [COUNT]) and len(shape) <= _MOST_DIMENSIONS,
)
_TENSOR = {"dtype": OneOf(*_BITS), "shape": _SHAPE, "data_offsets": (COUNT, COUNT)}

_HINT = "the file may be damaged, cut off, or of another form: name its form with --from"


class SafetensorsWriter(IdFileWriter):
    """Writer of the tensor `input_ids`, followed by `offsets`: 0, then the end of each document.

    If the 64-bit offsets would not begin at a multiple of 8, zeros are inserted as a tensor
    `padding`: PyTorch can't read unaligned tensors.
    """

    def __init__(self, output: FormFiles, dtype: Dtype) -> None:
        super().__init__(output, dtype)
        self._out = output.seekable()
        self._offsets = output.temporary()
        self._offsets.write(bytes(8))
        self._out.write(bytes(_HEADER_ROOM))

    def write(self, chunk: Chunk) -> None:
        """Write the ids of a chunk, and keep the ends of its documents."""
        self._out.write(chunk.data)
        ids_before = self.ids
        self._offsets.write(little_endian(array("q", [ids_before + end for end in chunk.ends])))

    def finish(self) -> None:
        """Append the offsets, and write the header."""
        size = self.ids * self.dtype.width
        padding = -size % 8
        offsets = 8 * (self.documents + 1)
        tensors: dict[str, dict[str, Any]] = {
            IDS: describe_tensor(self.dtype.safetensors, self.ids, 0, size)
        }
        if padding:
            tensors["padding"] = describe_tensor("U8", padding, size, size + padding)
        begin = size + padding
        tensors[OFFSETS] = describe_tensor("I64", self.documents + 1, begin, begin + offsets)
        self._out.write(bytes(padding))
        self._offsets.seek(0)
        shutil.copyfileobj(self._offsets, self._out, 1 << 20)
        from tokctl.core import orjson

        self._out.seek(0)
        self._out.write((_HEADER_ROOM - 8).to_bytes(8, "little"))
        self._out.write(orjson.dumps(tensors).ljust(_HEADER_ROOM - 8))
        self._out.seek(0, 2)


def describe_tensor(dtype: str, count: int, begin: int, end: int) -> dict[str, Any]:
    """Return the description of a one-dimensional tensor for the header.

    Args:
        dtype: the format's name of the type.
        count: number of numbers.
        begin: offset of the first byte, counted from the end of the header.
        end: offset after the last byte.
    """
    return {"dtype": dtype, "shape": [count], "data_offsets": [begin, end]}


@dataclass(frozen=True)
class StoredTensor:
    """Description of a tensor in a file.

    Attributes:
        dtype: the format's name of the type, such as `BF16`.
        shape: size of each dimension.
        begin: first byte, counted from the start of the file and not from the end of the header.
        end: byte after the last one, counted in the same way.
    """

    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int

    @property
    def numbers(self) -> Dtype | None:
        """Type of the numbers; None if they are not whole numbers."""
        return next((dtype for dtype in DTYPES.values() if dtype.safetensors == self.dtype), None)


def read_safetensors(source: IdInput) -> Iterator[IdPart]:
    """Yield the ids of each document; all ids as one row if the ends of documents are not stored.

    Args:
        source: the file, and the name of the tensor; None: `input_ids`.

    Raises:
        TokctlError: the file is damaged, or the tensor is missing or does not hold ids.
    """
    with source.file.opened() as file:
        tensors = stored_tensors(file, _HINT)
        name = source.field or IDS
        id_tensor = _id_tensor(file, tensors, name)
        assert id_tensor.numbers is not None
        window = Window(file, id_tensor.begin, math.prod(id_tensor.shape), id_tensor.numbers)
        if len(id_tensor.shape) == 2:
            rows, size = id_tensor.shape
            offsets: Any = range(0, rows * size + 1, size) if size else [0] * (rows + 1)
        elif OFFSETS in tensors and name != OFFSETS:
            end_tensor = _id_tensor(file, tensors, OFFSETS)
            assert end_tensor.numbers is not None
            count = math.prod(end_tensor.shape)
            offsets = file.numbers(end_tensor.begin, count, end_tensor.numbers)
        else:
            yield from window.parts(0, window.count, "row", 1, ends=False)
            return
        yield from window.documents(offsets)


def _id_tensor(file: RandomAccessFile, tensors: dict[str, StoredTensor], name: str) -> StoredTensor:
    """Return the tensor of this name; raise TokctlError if it does not hold whole numbers."""
    if name not in tensors:
        names = ", ".join(sorted(tensors)[:20]) or "none"
        hint = f"choose one with --ids-field: {names}"
        raise BadInput(f"{file.name} has no tensor {name!r}", hint, "bad-record")
    tensor = tensors[name]
    dimensions = (1, 2) if name != OFFSETS else (1,)
    if tensor.numbers is None or len(tensor.shape) not in dimensions:
        raise BadInput(
            f"{file.name}: the tensor {name!r} is {tensor.dtype} of shape {list(tensor.shape)}",
            "ids are a row of whole numbers, or a table with a row for each document",
            "bad-ids",
        )
    return tensor


def stored_tensors(file: RandomAccessFile, hint: str) -> dict[str, StoredTensor]:
    """Return the tensors of a file by name, after checking that they fill it without gaps.

    Args:
        file: the file.
        hint: hint of the error for an unreadable header.

    Raises:
        TokctlError: the file is not a safetensors file, is damaged, or was cut off.
    """
    size, header = _read_header(file, hint)
    tensors = {
        name: StoredTensor(entry["dtype"], tuple(entry["shape"]), *entry["data_offsets"])
        for name, entry in header.items()
        if name != _METADATA
    }
    offset = 0
    for name, tensor in sorted(tensors.items(), key=lambda item: (item[1].begin, item[1].end)):
        bits = math.prod(tensor.shape) * _BITS[tensor.dtype]
        if tensor.begin != offset or bits != 8 * (tensor.end - tensor.begin):
            raise BadInput(
                f"{file.name}: the tensor {name!r}, {tensor.dtype} of shape "
                f"{list(tensor.shape)}, can't lie at bytes {tensor.begin} to {tensor.end}",
                hint,
                "damaged",
            )
        offset = tensor.end
    if 8 + size + offset != file.size:
        raise BadInput(
            f"{file.name}: it has {file.size:,} bytes, and its tensors end at byte "
            f"{8 + size + offset:,}",
            "wait until it is written, or copy it again: it may be cut off",
            "damaged",
        )
    return {
        name: replace(tensor, begin=8 + size + tensor.begin, end=8 + size + tensor.end)
        for name, tensor in tensors.items()
    }


def _read_header(file: RandomAccessFile, hint: str) -> tuple[int, dict[str, Any]]:
    """Return the size of the header in bytes, and the header; the offsets in it are not checked."""
    size = int.from_bytes(file.read(0, 8), "little") if file.size >= 8 else 0
    if size > _LONGEST_HEADER or 8 + size > file.size or size < 2:
        raise BadInput(
            f"{file.name} is not a safetensors file: it is too small for its header",
            hint,
            "damaged",
        )
    from tokctl.core import orjson

    unreadable = f"{file.name}: its header can't be read"
    try:
        header = orjson.loads(file.read(8, size))
    except ValueError as error:
        raise BadInput(f"{unreadable}: {error}", hint, "damaged") from None
    check(header, {f"{_METADATA}?": {str: str}}, unreadable, hint)
    tensors = {name: entry for name, entry in header.items() if name != _METADATA}
    check(tensors, {str: _TENSOR}, unreadable, hint)
    return size, header


class NewTensor(NamedTuple):
    """Replacement of a tensor; the type of the numbers stays.

    Attributes:
        shape: size of each dimension.
        blocks: bytes of the tensor, made on demand, as many as the shape requires.
    """

    shape: tuple[int, ...]
    blocks: Iterable[bytes]


def replace_tensors(
    file: RandomAccessFile, changed: Mapping[str, NewTensor], hint: str
) -> Iterator[bytes]:
    """Yield the bytes of a file with some tensors replaced, block by block.

    The header keeps all other fields, including `__metadata__`. Tensors with wider numbers come
    first, and equally wide ones keep their order. So each tensor begins at a multiple of the width
    of its numbers, as with the format's own library, whatever the sizes of the tensors before it.

    Args:
        file: the file to copy.
        changed: new tensors by name.
        hint: hint of the error for an unreadable header.

    Raises:
        TokctlError: the file is damaged.
    """
    from tokctl.core import orjson

    tensors = stored_tensors(file, hint)
    _, header = _read_header(file, hint)
    order = sorted(tensors, key=lambda name: (-_BITS[tensors[name].dtype], tensors[name].begin))
    offset = 0
    for name in order:
        size = tensors[name].end - tensors[name].begin
        if name in changed:
            size = math.prod(changed[name].shape) * _BITS[tensors[name].dtype] // 8
            header[name]["shape"] = list(changed[name].shape)
        header[name]["data_offsets"] = [offset, offset + size]
        offset += size
    try:
        header_bytes = orjson.dumps(header)
    except TypeError as error:  # an unknown field that is nested too deeply
        raise BadInput(
            f"{file.name}: its header can't be written: {error}", hint, "damaged"
        ) from None
    header_bytes = header_bytes.ljust(len(header_bytes) + -len(header_bytes) % 8)
    yield len(header_bytes).to_bytes(8, "little") + header_bytes
    for name in order:
        if name in changed:
            yield from changed[name].blocks
            continue
        tensor = tensors[name]
        for begin in range(tensor.begin, tensor.end, BLOCK):
            yield file.read(begin, min(BLOCK, tensor.end - begin))
