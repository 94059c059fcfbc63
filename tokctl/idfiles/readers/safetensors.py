"""safetensors: a tensor of ids and, where documents have ends, one of their offsets.

The layout is that of the format's own description: 8 bytes with the size of the header, the header
in JSON, and the tensors without a hole between them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tokctl.errors import TokctlError
from tokctl.idfiles.readers.contract import Part
from tokctl.idfiles.readers.documents import Window, by_offsets, numbers_at
from tokctl.idfiles.readers.given import Given, Opened
from tokctl.idfiles.readers.kinds import KINDS, Kind

#: Bytes of a header, as the format's own library has it.
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
_NAMES = {"U": "uint", "I": "int"}

#: More are nobody's tensor; their product could take long.
_MOST_DIMENSIONS = 64

_HINT = "is it damaged, cut off, or of another form? --from names it"

#: What the ids and their offsets are called.
IDS, OFFSETS = "input_ids", "offsets"


@dataclass(frozen=True)
class _Tensor:
    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int

    @property
    def kind(self) -> Kind | None:
        name = f"{_NAMES.get(self.dtype[0])}{self.dtype[1:]}"
        return KINDS.get(name)


def parts(given: Given, field: str | None) -> Iterator[Part]:
    """The documents, or all ids as one row where nothing says where they end.

    Raises:
        TokctlError: the file is damaged, or has no such ids.
    """
    with given.opened() as file:
        start, tensors = _header(file)
        name = field or IDS
        ids = _row(file, tensors, name)
        assert ids.kind is not None
        window = Window(file, start + ids.begin, math.prod(ids.shape), ids.kind)
        if len(ids.shape) == 2:
            rows, size = ids.shape
            offsets: Any = range(0, rows * size + 1, size) if size else [0] * (rows + 1)
        elif OFFSETS in tensors and name != OFFSETS:
            found = _row(file, tensors, OFFSETS)
            assert found.kind is not None
            count = math.prod(found.shape)
            offsets = numbers_at(file, start + found.begin, count, found.kind.name)
        else:
            yield from window.parts(0, window.count, "row", 1, ends=False)
            return
        yield from by_offsets(window, offsets, file.name)


def _row(file: Opened, tensors: dict[str, _Tensor], name: str) -> _Tensor:
    """The tensor of this name, if it holds whole numbers."""
    if name not in tensors:
        known = ", ".join(sorted(tensors)[:20]) or "none"
        hint = f"it has: {known}; --ids-field names one"
        raise TokctlError(f"{file.name} has no tensor {name!r}", hint)
    tensor = tensors[name]
    dimensions = (1, 2) if name != OFFSETS else (1,)
    if tensor.kind is None or len(tensor.shape) not in dimensions:
        raise TokctlError(
            f"{file.name}: the tensor {name!r} is {tensor.dtype} of shape {list(tensor.shape)}",
            "ids are a row of whole numbers, or a table with a row for each document",
        )
    return tensor


def _header(file: Opened) -> tuple[int, dict[str, _Tensor]]:
    """At which byte the tensors begin, and what each is."""
    size = int.from_bytes(file.read(0, 8), "little") if file.size >= 8 else 0
    if size > _LONGEST_HEADER or 8 + size > file.size or size < 2:
        raise TokctlError(f"{file.name} is no safetensors file: no header fits into it", _HINT)
    import orjson

    try:
        said = orjson.loads(file.read(8, size))
        tensors = {name: _tensor(tensor) for name, tensor in said.items() if name != "__metadata__"}
    except (ValueError, TypeError, KeyError, AttributeError):
        raise TokctlError(f"{file.name}: its header can't be read", _HINT) from None
    place = 0
    for name, tensor in sorted(tensors.items(), key=lambda item: (item[1].begin, item[1].end)):
        bits = math.prod(tensor.shape) * _BITS[tensor.dtype]
        if tensor.begin != place or bits != 8 * (tensor.end - tensor.begin):
            raise TokctlError(
                f"{file.name}: the tensor {name!r}, {tensor.dtype} of shape "
                f"{list(tensor.shape)}, can't lie at bytes {tensor.begin} to {tensor.end}",
                _HINT,
            )
        place = tensor.end
    if 8 + size + place != file.size:
        raise TokctlError(
            f"{file.name}: it has {file.size:,} bytes, and its tensors end at byte "
            f"{8 + size + place:,}",
            "is it cut off, or still being written?",
        )
    return 8 + size, tensors


def _tensor(said: dict[str, Any]) -> _Tensor:
    """ValueError, TypeError or KeyError where it is no description of one."""
    begin, end = said["data_offsets"]
    tensor = _Tensor(said["dtype"], tuple(said["shape"]), begin, end)
    sizes = (*tensor.shape, begin, end)
    if any(type(size) is not int or not 0 <= size < 2**63 for size in sizes):
        raise ValueError
    if tensor.dtype not in _BITS or end < begin or len(tensor.shape) > _MOST_DIMENSIONS:
        raise ValueError
    return tensor
