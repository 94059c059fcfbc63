"""Small cases that fuzzing kept, one archive for each target; `test_fuzz.py` replays them."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path


def cases(name: str) -> Iterator[bytes]:
    """The cases of a target."""
    path = Path(__file__).parent / f"{name}.tar.xz"
    if not path.exists():
        return
    with tarfile.open(path) as file:
        for member in file:
            content = file.extractfile(member)
            if content is not None:
                yield content.read()


def write(name: str, kept: Iterable[bytes]) -> None:
    """Writes the cases of a target anew."""
    (Path(__file__).parent / f"{name}.tar.xz").write_bytes(_packed(kept))


def packed_size(kept: Iterable[bytes]) -> int:
    """How many bytes they would take."""
    return len(_packed(kept))


def _packed(contents: Iterable[bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:xz", preset=9) as file:
        for number, content in enumerate(contents):
            about = tarfile.TarInfo(f"{number:03}")
            about.size = len(content)
            file.addfile(about, io.BytesIO(content))
    return out.getvalue()
