"""Where `train` writes: the model's name where none is given, and temporary files."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tokctl.cli.world import World
from tokctl.errors import TokctlError

if TYPE_CHECKING:
    from tokctl.model import Recipe
    from tokctl.sources import Source

#: What a name ends in because of how the file is packed, and because of what is in it.
_PACKED = (".gz", ".zst", ".zstd", ".xz", ".bz2")
_FORMS = (
    ".txt", ".text", ".md", ".jsonl", ".ndjson", ".json", ".parquet", ".arrow", ".feather", ".tsv",
    ".csv", ".tar",
)  # fmt: skip
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)


def model_path(
    output: str | None, files: Sequence[str], sources: Sequence[Source], recipe: Recipe
) -> str:
    """The path of `-o`, else the first source's name and the algorithm's, here.

    TokctlError where the model would go to stdout.
    """
    if output == "-":
        raise TokctlError("the model can't go to stdout", "name a file: -o PATH")
    if output is not None:
        return output
    first = files[0] if files else sources[0].name if sources else "-"
    # A pattern, or a list's name, is no file: what it stands for has names.
    if not (first == "-" or _ADDRESS.match(first) or Path(first).exists()) and sources:
        first = sources[0].name
    return f"{stem(first)}.{recipe.algorithm}.json"


def stem(source: str) -> str:
    """The name of a source without what tells its form: `corpus` of `a/corpus.jsonl.zst`, of the
    folder `corpus/` and of `https://host/corpus.txt?v=2`; `stdin` of `-`."""
    if source == "-":
        return "stdin"
    if address := _ADDRESS.match(source):
        source = re.split(r"[?#]", source[address.end() :])[0]
    elif Path(source).is_dir():
        # Of `.` and `..`, too; a dot in a folder's name is no form.
        return Path(source).resolve().name or "model"
    name = Path(source).name
    packed = False
    while Path(name).suffix.lower() in _PACKED:
        name, packed = Path(name).stem, True
    # What is packed may be a file without a form: my.book.gz is my.book.
    if not packed or Path(name).suffix.lower() in _FORMS:
        name = Path(name).stem
    return name or "model"


def temporary_folder(world: World, path: str) -> str | None:
    """Where counts go that don't fit `--memory`: `$TMPDIR`, else beside the model, where there
    is room for large files more often than in /tmp, which can lie in memory. None: the
    system's folder, since the model goes to a device or a pipe."""
    if given := world.environ.get("TMPDIR"):
        return given
    target = Path(os.path.realpath(path))
    return None if target.exists() and not target.is_file() else str(target.parent)
