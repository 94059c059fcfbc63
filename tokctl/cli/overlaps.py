"""What is written must not be read by the same run: it would read itself, without an end."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from tokctl.cli import streams
from tokctl.cli.world import World
from tokctl.errors import TokctlError

if TYPE_CHECKING:
    from tokctl.sources import Reading, Source

_LEAVE_OUT = "choose another place with -o PATH, or leave it out with --exclude"


def names_of(texts: Sequence[Source]) -> list[str]:
    """The paths of open sources, as they were found in folders and by patterns; `-` is stdin."""
    # A file of that name comes without waiting for anyone.
    return ["-" if text.name == "stdin" and not text.prompt else text.name for text in texts]


def named_files(texts: Sequence[str]) -> list[str]:
    """The names without folders: what is in those is not known before they are walked."""
    return [name for name in texts if name == "-" or not os.path.isdir(name)]  # noqa: PTH112


def check_apart(
    world: World, texts: Sequence[str], written: Sequence[str], folder: str | None = None
) -> None:
    """TokctlError where a text is a file that is written to as well: one of `written` (`-` is
    stdout), or one that lies in `folder`, where shards go."""
    outputs = [(path, status) for path in written for status in _outputs(world, path)]
    inside = None if folder is None else _status(folder)
    if not outputs and inside is None:
        return
    parent = cache(_status)
    for text in texts:
        status = _input(world, text)
        if status is None:
            continue
        for path, output in outputs:
            if os.path.samestat(status, output):
                raise _is_read(path, text)
        if inside is None:
            continue
        around = parent(os.path.dirname(text) or ".")  # noqa: PTH120
        if around is not None and os.path.samestat(inside, around):
            raise TokctlError(
                f"can't write shards to {folder}: {text} in it is one of the files to read",
                _LEAVE_OUT,
            )


def check_beside(folder: str, shard: str, texts: Sequence[str], reading: Reading) -> None:
    """TokctlError where a folder for shards lies in a folder that is read, and a file in it,
    such as `shard`, would be a text for the next run."""
    from tokctl.sources.folders import FileFilter

    chosen = FileFilter(reading)
    target = os.path.realpath(folder)
    for text in texts:
        if not os.path.isdir(text):  # noqa: PTH112
            continue
        path = os.path.relpath(f"{target}/{shard}", os.path.realpath(text))
        if not path.startswith("../") and chosen.takes(path):
            raise TokctlError(
                f"can't write shards to {folder}: {text} is read with all that is in it",
                _LEAVE_OUT,
            )


def _outputs(world: World, path: str) -> list[os.stat_result]:
    """The regular file at a path, or behind stdout."""
    found = streams.status_of(world.stdout) if path == "-" else [_status(path)]
    return [status for status in found if status and stat.S_ISREG(status.st_mode)]


def _input(world: World, text: str) -> os.stat_result | None:
    if text == "-":
        return next(iter(streams.status_of(world.stdin)), None)
    return _status(text)


def _status(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)  # noqa: PTH116  (for 10,000 texts, Path takes twice as long)
    except (OSError, ValueError):
        return None


def _is_read(path: str, text: str) -> TokctlError:
    if path == "-":
        name = "stdin" if text == "-" else text
        return TokctlError(
            f"{name} is one of the files to read, and stdout goes to it",
            "let stdout go elsewhere, or leave the file out",
        )
    return TokctlError(f"can't write {path}: it is one of the files to read", _LEAVE_OUT)
