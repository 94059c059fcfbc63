"""safetensors: ids as a tensor and, where documents have ends, another of their offsets.

The layout is that of the format's own description: 8 bytes with the size of the header, the header
in JSON, and the tensors without a hole between them. Readers want the header to begin with `{`, and
accept spaces at its end.
"""

from __future__ import annotations

import math
import shutil
from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, BinaryIO, NamedTuple

from tokctl.errors import TokctlError
from tokctl.idfiles.chunks import Chunk, IdFileWriter, IdPart
from tokctl.idfiles.dtypes import DTYPES, Dtype, little_endian
from tokctl.idfiles.random_access import BLOCK, InputFile, RandomAccessFile, Window

#: The tensors of the ids and of their offsets.
IDS, OFFSETS = "input_ids", "offsets"

#: Bytes before the first tensor that is written; room for the longest numbers.
_FRONT = 512

#: What the header says beside the tensors: texts by name.
_METADATA = "__metadata__"

#: Bytes of the longest header, as the format's own library has it.
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

#: No real tensor has more, and their product could take long.
_MOST_DIMENSIONS = 64

_HINT = "is it damaged, cut off, or of another form? --from names it"


class SafetensorsWriter(IdFileWriter):
    """`input_ids`, and after them `offsets`: 0, and where each document ends.

    Where 64-bit numbers would not begin at a multiple of 8, some zeros stand between, as a
    tensor `padding`: PyTorch can't read what is not aligned.
    """

    def __init__(self, out: BinaryIO, spool: BinaryIO, dtype: Dtype) -> None:
        """`out` is empty, and can be written to at any place; `spool` is a temporary file."""
        super().__init__(dtype)
        self._out = out
        self._offsets = spool
        spool.write(bytes(8))
        out.write(bytes(_FRONT))

    def write(self, chunk: Chunk) -> None:
        self._out.write(chunk.data)
        before = self.ids
        self._offsets.write(little_endian(array("q", [before + end for end in chunk.ends])))

    def finish(self) -> None:
        size = self.ids * self.dtype.width
        padding = -size % 8
        offsets = 8 * (self.documents + 1)
        tensors: dict[str, dict[str, Any]] = {
            IDS: described(self.dtype.safetensors, self.ids, 0, size)
        }
        if padding:
            tensors["padding"] = described("U8", padding, size, size + padding)
        begin = size + padding
        tensors[OFFSETS] = described("I64", self.documents + 1, begin, begin + offsets)
        self._out.write(bytes(padding))
        self._offsets.seek(0)
        shutil.copyfileobj(self._offsets, self._out, 1 << 20)
        from tokctl import orjson

        self._out.seek(0)
        self._out.write((_FRONT - 8).to_bytes(8, "little"))
        self._out.write(orjson.dumps(tensors).ljust(_FRONT - 8))
        self._out.seek(0, 2)


def described(dtype: str, count: int, begin: int, end: int) -> dict[str, Any]:
    """What the header says of a tensor of one dimension."""
    return {"dtype": dtype, "shape": [count], "data_offsets": [begin, end]}


@dataclass(frozen=True)
class StoredTensor:
    """What the header says of a tensor.

    Attributes:
        dtype: the format's name of the type, such as `BF16`.
        begin, end: bytes of the file, not of what is after the header.
    """

    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int

    @property
    def numbers(self) -> Dtype | None:
        """The type of its numbers, if they are whole."""
        return next((each for each in DTYPES.values() if each.safetensors == self.dtype), None)


def read_safetensors(input_file: InputFile, field: str | None) -> Iterator[IdPart]:
    """The documents, or all ids as one row where nothing says where they end.

    Raises:
        TokctlError: the file is damaged, or has no such ids.
    """
    with input_file.opened() as file:
        tensors = stored_tensors(file, _HINT)
        name = field or IDS
        ids = _row(file, tensors, name)
        assert ids.numbers is not None
        window = Window(file, ids.begin, math.prod(ids.shape), ids.numbers)
        if len(ids.shape) == 2:
            rows, size = ids.shape
            offsets: Any = range(0, rows * size + 1, size) if size else [0] * (rows + 1)
        elif OFFSETS in tensors and name != OFFSETS:
            found = _row(file, tensors, OFFSETS)
            assert found.numbers is not None
            count = math.prod(found.shape)
            offsets = file.numbers(found.begin, count, found.numbers)
        else:
            yield from window.parts(0, window.count, "row", 1, ends=False)
            return
        yield from window.documents(offsets)


def _row(file: RandomAccessFile, tensors: dict[str, StoredTensor], name: str) -> StoredTensor:
    """The tensor of this name, if it holds whole numbers."""
    if name not in tensors:
        known = ", ".join(sorted(tensors)[:20]) or "none"
        hint = f"it has: {known}; --ids-field names one"
        raise TokctlError(f"{file.name} has no tensor {name!r}", hint)
    tensor = tensors[name]
    dimensions = (1, 2) if name != OFFSETS else (1,)
    if tensor.numbers is None or len(tensor.shape) not in dimensions:
        raise TokctlError(
            f"{file.name}: the tensor {name!r} is {tensor.dtype} of shape {list(tensor.shape)}",
            "ids are a row of whole numbers, or a table with a row for each document",
        )
    return tensor


def stored_tensors(file: RandomAccessFile, hint: str) -> dict[str, StoredTensor]:
    """The tensors of a file by name, as its header has them; every byte of the file is in one.

    Args:
        hint: of the error where the header can't be read.

    Raises:
        TokctlError: the file is not a safetensors file, is damaged, or was cut off.
    """
    size, header = _header(file, hint)
    try:
        tensors = {name: _tensor(tensor) for name, tensor in header.items() if name != _METADATA}
    except (ValueError, TypeError, KeyError, AttributeError):
        raise _unreadable_header(file, hint) from None
    place = 0
    for name, tensor in sorted(tensors.items(), key=lambda item: (item[1].begin, item[1].end)):
        bits = math.prod(tensor.shape) * _BITS[tensor.dtype]
        if tensor.begin != place or bits != 8 * (tensor.end - tensor.begin):
            raise TokctlError(
                f"{file.name}: the tensor {name!r}, {tensor.dtype} of shape "
                f"{list(tensor.shape)}, can't lie at bytes {tensor.begin} to {tensor.end}",
                hint,
            )
        place = tensor.end
    if 8 + size + place != file.size:
        raise TokctlError(
            f"{file.name}: it has {file.size:,} bytes, and its tensors end at byte "
            f"{8 + size + place:,}",
            "is it cut off, or still being written?",
        )
    return {
        name: replace(tensor, begin=8 + size + tensor.begin, end=8 + size + tensor.end)
        for name, tensor in tensors.items()
    }


def _header(file: RandomAccessFile, hint: str) -> tuple[int, dict[str, Any]]:
    """The bytes of the header, and what it says, which need not be sound."""
    size = int.from_bytes(file.read(0, 8), "little") if file.size >= 8 else 0
    if size > _LONGEST_HEADER or 8 + size > file.size or size < 2:
        raise TokctlError(f"{file.name} is no safetensors file: no header fits into it", hint)
    from tokctl import orjson

    try:
        header = orjson.loads(file.read(8, size))
    except ValueError:
        raise _unreadable_header(file, hint) from None
    if not isinstance(header, dict):
        raise _unreadable_header(file, hint)
    facts = header.get(_METADATA, {})
    if not isinstance(facts, dict) or not all(isinstance(one, str) for one in facts.values()):
        raise TokctlError(
            f"{file.name}: {_METADATA} in its header is not an object of texts",
            "write the file again with a library of the format: its header holds texts alone",
        )
    return size, header


def _unreadable_header(file: RandomAccessFile, hint: str) -> TokctlError:
    return TokctlError(f"{file.name}: its header can't be read", hint)


class NewTensor(NamedTuple):
    """What takes the place of a tensor. Its type stays.

    blocks: its bytes, as many as the shape says, made when they are asked for.
    """

    shape: tuple[int, ...]
    blocks: Iterable[bytes]


def copied(file: RandomAccessFile, changed: Mapping[str, NewTensor], hint: str) -> Iterator[bytes]:
    """A file with other tensors in the places of some, block by block.

    What the header says of the others stays, `__metadata__` as well. Tensors of wider numbers come
    first, and equally wide ones in the order that they had: so each begins at a multiple of the
    width of its numbers, as the format's own library has it, whatever the sizes of those before.

    Raises:
        TokctlError: the file is damaged.
    """
    from tokctl import orjson

    tensors = stored_tensors(file, hint)
    _, header = _header(file, hint)
    order = sorted(tensors, key=lambda name: (-_BITS[tensors[name].dtype], tensors[name].begin))
    place = 0
    for name in order:
        size = tensors[name].end - tensors[name].begin
        if name in changed:
            size = math.prod(changed[name].shape) * _BITS[tensors[name].dtype] // 8
            header[name]["shape"] = list(changed[name].shape)
        header[name]["data_offsets"] = [place, place + size]
        place += size
    written = orjson.dumps(header)
    written = written.ljust(len(written) + -len(written) % 8)
    yield len(written).to_bytes(8, "little") + written
    for name in order:
        if name in changed:
            yield from changed[name].blocks
            continue
        tensor = tensors[name]
        for begin in range(tensor.begin, tensor.end, BLOCK):
            yield file.read(begin, min(BLOCK, tensor.end - begin))


def _tensor(described: dict[str, Any]) -> StoredTensor:
    """ValueError, TypeError or KeyError if it is not a description of one."""
    begin, end = described["data_offsets"]
    tensor = StoredTensor(described["dtype"], tuple(described["shape"]), begin, end)
    sizes = (*tensor.shape, begin, end)
    if any(type(size) is not int or not 0 <= size < 2**63 for size in sizes):
        raise ValueError
    if tensor.dtype not in _BITS or end < begin or len(tensor.shape) > _MOST_DIMENSIONS:
        raise ValueError
    return tensor
