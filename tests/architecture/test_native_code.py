"""What the native code promises its readers: `unsafe` in named places alone."""

from __future__ import annotations

from pathlib import Path

import pytest

NATIVE = Path(__file__).resolve().parents[2] / "tokctl" / "native"
FILES = sorted(
    path for folder in ("core", "python") for path in (NATIVE / folder / "src").rglob("*.rs")
)

# Where `unsafe` is allowed, and what for. The invariants stand beside each block.
UNSAFE: dict[str, str] = {
    "python/src/work.rs": "the counter of steps, in builds made to count them",
    "core/src/pretokenize/masks/lanes.rs": "writes as many entries as are read",
    "core/src/pretokenize/masks/x86.rs": "AVX2 and AVX-512 instructions, once they are found",
    "core/src/pretokenize/masks/neon.rs": "NEON instructions, which AArch64 always has",
    "core/src/pretokenize/masks/places.rs": "places that were written are read",
    "core/src/encode/cache/avx512.rs": "AVX-512 instructions, once they are found",
    "core/src/encode/output/decimal/avx512.rs": "AVX-512 instructions, once they are found",
    "core/src/encode/cache/short.rs": "ids are written into a list's spare room",
    "core/src/key_batch/avx512.rs": "AVX-512 instructions, once they are found",
    "core/src/normalize/avx512.rs": "AVX-512 instructions, once they are found",
    "core/src/large_pages.rs": "the allocator: mappings for large pages; what holds nothing",
    "core/src/memory.rs": "address space that nobody uses; what is said where memory has ended",
    "core/src/lock_free.rs": "values in places that are swapped as one pointer, not locked",
    "core/src/unicode/code_points.rs": "AVX-512 instructions, once they are found",
    "core/src/prefetch.rs": "asks for a cache line ahead; reads nothing",
    "core/src/text_table.rs": "texts of ids that were checked by the part; AVX2 for the check",
    "core/src/encode/merging/short.rs": "the same merging, compiled for AVX2",
    "python/src/decoder.rs": "Python's bytes are written where they stand",
    "python/src/columns.rs": "Arrow's memory is read where it stands",
    "python/src/texts.rs": "code points of a str are copied into a buffer",
    "python/src/tokens.rs": "tuples of ints that the collector need not track",
    "python/src/ids.rs": "buffers, lists without an object for each item, the collector paused",
}

pytestmark = pytest.mark.skipif(not FILES, reason="the Rust sources are not here")


def name(path: Path) -> str:
    return path.relative_to(NATIVE).as_posix()


def test_unsafe_code_is_in_named_places() -> None:
    allowed = {
        name(path) for path in FILES if "allow(unsafe_code)" in path.read_text(encoding="utf-8")
    }
    assert allowed == set(UNSAFE)
