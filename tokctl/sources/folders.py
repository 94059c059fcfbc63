"""Files of folders, and of patterns that no shell has expanded."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence

from tokctl.errors import TokctlError
from tokctl.sources.files import unreadable
from tokctl.sources.patterns import Pattern, has_magic, part_fits
from tokctl.sources.reading import Reading
from tokctl.wording import plural


def files_of(folder: str, reading: Reading) -> list[str]:
    """The files of a folder and all below it, by the bytes of their paths in it.

    Links to files are files; links to folders are not followed, so that nothing is read
    twice and no loop is walked. Hidden ones are passed over unless `include` names a dot.

    Raises:
        TokctlError: a folder can't be read, or there is no file in it that is wanted.
    """
    include = [Pattern(text) for text in reading.include]
    exclude = [Pattern(text, dots=True) for text in reading.exclude]
    found = [
        path
        for path, is_folder in _walk(folder, lambda parts: _enter(parts, include, exclude))
        if not is_folder and wanted(path.split("/"), include, exclude)
    ]
    if not found:
        every = sum(not is_folder for _, is_folder in _walk(folder, lambda _: True))
        raise nothing_in(folder, every)
    found.sort(key=os.fsencode)
    return [os.path.join(folder, path) for path in found]  # noqa: PTH118  (10,000 of them)


def wanted(parts: Sequence[str], include: Sequence[Pattern], exclude: Sequence[Pattern]) -> bool:
    """Is the file of this path in the folder one to read?"""
    if not include:
        named = not any(part.startswith(".") for part in parts)
    else:
        named = any(pattern.fits(parts) for pattern in include)
    # What excludes a folder excludes what is in it.
    ends = range(1, len(parts) + 1)
    return named and not any(p.fits(parts[:end]) for p in exclude for end in ends)


def nothing_in(folder: str, files: int) -> TokctlError:
    """The error for a folder of which no file is wanted."""
    if not files:
        return TokctlError(f"{folder} has no files", "name a folder with texts in it")
    return TokctlError(
        f"{folder} has no file to read: {plural(files, 'file')} in it, none of them wanted",
        "hidden files need an --include that starts with a dot; see --include and --exclude",
    )


def expand(pattern: str) -> list[str]:
    """The files and folders that a pattern fits, by the bytes of their names; of one with
    `**`, the files alone, since folders would bring theirs a second time.

    Raises:
        TokctlError: there is none.
    """
    parts = [part for part in pattern.split("/") if part]
    paths = ["/"] if pattern.startswith("/") else [""]
    for number, part in enumerate(parts):
        last = number == len(parts) - 1
        paths = [path for base in paths for path in _step(base, part, folders=not last, last=last)]
        paths = list(dict.fromkeys(paths))
    if "**" in parts:
        paths = [path for path in paths if not os.path.isdir(path)]  # noqa: PTH112
    if not paths:
        raise TokctlError(
            f"no file matches {pattern}", "check the pattern; a name is taken as it is with ./"
        )
    return sorted(paths, key=os.fsencode)


def _step(base: str, part: str, *, folders: bool, last: bool) -> Iterator[str]:
    """What one part of a pattern leads to from a path."""
    if part == "**":
        if not last:
            yield base
        for path, is_folder in _walk(base or ".", lambda parts: not parts[-1].startswith(".")):
            name = path.rsplit("/", 1)[-1]
            if (is_folder or last) and not name.startswith("."):
                yield _join(base, path)
        return
    if not has_magic(part):
        path = _join(base, part)
        if os.path.isdir(path) if folders else os.path.lexists(path):  # noqa: PTH112
            yield path
        return
    try:
        with os.scandir(base or ".") as entries:
            for entry in entries:
                if part_fits(part, entry.name) and (not folders or entry.is_dir()):
                    yield _join(base, entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise unreadable(base or ".", error) from None


def _join(base: str, name: str) -> str:
    return os.path.join(base, name) if base else name  # noqa: PTH118


def _walk(folder: str, enter: Callable[[list[str]], bool]) -> Iterator[tuple[str, bool]]:
    """The paths of files and folders below a folder, relative to it, and which they are.

    `enter` is asked with the parts of a folder's path. Without recursion: a tree can be
    deeper than Python's stack.
    """
    waiting = [""]
    while waiting:
        below = waiting.pop()
        try:
            with os.scandir(_join(folder, below) if below else folder) as entries:
                listed = list(entries)
        except OSError as error:
            raise unreadable(_join(folder, below) if below else folder, error) from None
        for entry in listed:
            path = _join(below, entry.name)
            if entry.is_dir(follow_symlinks=False):
                if enter(path.split("/")):
                    yield path, True
                    waiting.append(path)
            elif _is_file(entry):
                yield path, False


def _is_file(entry: os.DirEntry[str]) -> bool:
    """A regular file, a link to one, or a link to nothing, which must not go unnoticed."""
    if not entry.is_symlink():
        return entry.is_file()
    return entry.is_file() or not (entry.is_dir() or os.path.exists(entry.path))  # noqa: PTH110


def _enter(parts: Sequence[str], include: Sequence[Pattern], exclude: Sequence[Pattern]) -> bool:
    """Can anything below this folder be wanted?"""
    if any(pattern.fits(parts) for pattern in exclude):
        return False
    if not include:
        return not parts[-1].startswith(".")
    return any(pattern.may_fit_below(parts) for pattern in include)
