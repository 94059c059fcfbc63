"""Files of folders, patterns that no shell has expanded, and saved datasets.

Patterns are the ones of shells: `*`, `?`, `[…]`, and `**` for any number of folders.

`save_to_disk` of Hugging Face's `datasets` writes a folder with `state.json`, which lists its Arrow
files in order, and `dataset_info.json`. A dictionary of datasets has `dataset_dict.json`, which
lists the splits, each a folder of that name. tokctl reads these folders without the library. Since
version 2.0 a selection or a shuffle is saved in its new order, without separate indices.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from fnmatch import translate
from functools import lru_cache
from pathlib import Path
from typing import Any

from tokctl.core.errors import BadInput, TokctlError, Unsupported
from tokctl.core.humanize import plural
from tokctl.sources.blocks import unreadable
from tokctl.sources.document import ReadOptions


def has_magic(text: str) -> bool:
    """Return whether a text has a character that makes it a pattern."""
    return any(char in text for char in "*?[")


class Pattern:
    """A pattern of `--include` or `--exclude`.

    A pattern without a slash is matched with names. One with a slash is matched with the path in
    the folder, where `*` stays within a folder and `**` is any number of folders. As in shells, a
    leading dot must be in the pattern, unless `dots` is set.
    """

    def __init__(self, text: str, *, dots: bool = False) -> None:
        text = text.removeprefix("./").strip("/")
        self.parts = text.split("/")
        self.is_name = "/" not in text
        self._dots = dots

    def fits(self, path: Sequence[str]) -> bool:
        """Return whether the pattern matches the path, given in parts."""
        if not self.is_name:
            return len(self.parts) in self._reachable(path)
        if not self._dots and any(part.startswith(".") for part in path[:-1]):
            return False
        return name_fits(self.parts[0], path[-1], dots=self._dots)

    def may_fit_below(self, folder: Sequence[str]) -> bool:
        """Return whether the pattern could match a path in this folder, given in parts."""
        if self.is_name:
            return not any(part.startswith(".") for part in folder)
        return any(index < len(self.parts) for index in self._reachable(folder))

    def _reachable(self, path: Sequence[str]) -> set[int]:
        """Return the numbers of parts of the pattern that can match the whole path.

        The number of steps is at most the product of the two lengths.
        """
        reached = self._past_stars({0})
        for name in path:
            following = set()
            for index in reached - {len(self.parts)}:
                if self.parts[index] == "**":
                    if self._dots or not name.startswith("."):
                        following.add(index)
                elif name_fits(self.parts[index], name, dots=self._dots):
                    following.add(index + 1)
            reached = self._past_stars(following)
        return reached

    def _past_stars(self, reached: set[int]) -> set[int]:
        """Return the numbers with those after each `**` added, because `**` can match no folder."""
        extended = set(reached)
        for index in reached:
            while index < len(self.parts) and self.parts[index] == "**":
                index += 1
                extended.add(index)
        return extended


def name_fits(pattern: str, name: str, *, dots: bool = False) -> bool:
    """Return whether a pattern matches the name of one file or folder.

    Args:
        pattern: a pattern without slashes.
        name: the name.
        dots: whether a leading dot of the name may match any pattern, not only a dot.
    """
    if name.startswith(".") and not (dots or pattern.startswith(".")):
        return False
    return _matcher(pattern)(name) is not None


@lru_cache(maxsize=1024)
def _matcher(pattern: str) -> Callable[[str], object]:
    return re.compile(translate(pattern)).match


class FileFilter:
    """Filter for the files of a folder by `include` and `exclude` of the options.

    Patterns are applied to paths in the folder. Hidden files are read only if a pattern of
    `include` has the dot.
    """

    def __init__(self, reading: ReadOptions) -> None:
        self._include = [Pattern(text) for text in reading.include]
        self._exclude = [Pattern(text, dots=True) for text in reading.exclude]

    def takes(self, path: str) -> bool:
        """Return whether the file at this path is to be read."""
        parts = path.split("/")
        if not self._include:
            is_included = not any(part.startswith(".") for part in parts)
        else:
            is_included = any(pattern.fits(parts) for pattern in self._include)
        # A pattern that excludes a folder excludes everything in it.
        ends = range(1, len(parts) + 1)
        return is_included and not any(p.fits(parts[:end]) for p in self._exclude for end in ends)

    def enters(self, folder: Sequence[str]) -> bool:
        """Return whether anything below this folder, given in parts, can be a file to read."""
        if any(pattern.fits(folder) for pattern in self._exclude):
            return False
        if not self._include:
            return not folder[-1].startswith(".")
        return any(pattern.may_fit_below(folder) for pattern in self._include)


def files_of(folder: str, reading: ReadOptions) -> list[str]:
    """Return the files of a folder and all folders below it, sorted by the bytes of their paths.

    Links to files count as files. Links to folders are not followed, so that no file is read twice
    and no loop is entered. Hidden files are skipped unless `include` names a dot.

    Args:
        folder: path of the folder.
        reading: options with `include` and `exclude`.

    Raises:
        TokctlError: a folder can't be read, or no file is to be read.
    """
    file_filter = FileFilter(reading)
    paths = [
        path
        for path, is_folder in _walk(folder, file_filter.enters)
        if not is_folder and file_filter.takes(path)
    ]
    if not paths:
        file_count = sum(not is_folder for _, is_folder in _walk(folder, lambda _: True))
        raise no_files_error(folder, file_count)
    paths.sort(key=os.fsencode)
    return [_join(folder, path) for path in paths]


def no_files_error(folder: str, files: int) -> TokctlError:
    """Return the error for a folder in which no file is to be read.

    Args:
        folder: path of the folder.
        files: number of files in it.
    """
    if not files:
        return BadInput(f"{folder} has no files", "name a folder with texts in it")
    return BadInput(
        f"{folder} has no file to read: {plural(files, 'file')} in it, none of them wanted",
        "hidden files need an --include that starts with a dot; see --include and --exclude",
    )


def expand(pattern: str) -> list[str]:
    """Return the files and folders that a pattern matches, sorted by the bytes of their names.

    With `**`, only files are returned: the files in a matching folder would be read a second time.

    Args:
        pattern: a path with wildcards.

    Raises:
        TokctlError: nothing matches.
    """
    drive, rest = os.path.splitdrive(pattern.replace(os.sep, "/"))
    parts = [part for part in rest.split("/") if part]
    paths = [f"{drive}/" if rest.startswith("/") else drive]
    for number, part in enumerate(parts):
        is_last = number == len(parts) - 1
        paths = [
            path
            for base in paths
            for path in _step(base, part, only_folders=not is_last, is_last=is_last)
        ]
        paths = list(dict.fromkeys(paths))
    if "**" in parts:
        paths = [path for path in paths if not os.path.isdir(path)]  # noqa: PTH112
    if not paths:
        raise BadInput(
            f"no file matches {pattern}",
            "check the pattern; a name is taken as it is with ./",
            "unreadable",
        )
    return sorted(paths, key=os.fsencode)


def _step(base: str, part: str, *, only_folders: bool, is_last: bool) -> Iterator[str]:
    """Yield the paths that one part of a pattern matches below a path."""
    if part == "**":
        if not is_last:
            yield base
        for path, is_folder in _walk(base or ".", lambda parts: not parts[-1].startswith(".")):
            name = path.rsplit("/", 1)[-1]
            if (is_folder or is_last) and not name.startswith("."):
                yield _join(base, path)
        return
    if not has_magic(part):
        path = _join(base, part)
        if os.path.isdir(path) if only_folders else os.path.lexists(path):  # noqa: PTH112
            yield path
        return
    try:
        with os.scandir(base or ".") as entries:
            for entry in entries:
                if name_fits(part, entry.name) and (not only_folders or entry.is_dir()):
                    yield _join(base, entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise unreadable(base or ".", error) from None


def _join(base: str, name: str) -> str:
    """Return the joined path, with `/` on every system.

    If the base has the separator of Windows, the whole path has it instead.
    """
    joined = os.path.join(base, name) if base else name  # noqa: PTH118
    return joined.replace("/", os.sep) if os.sep in base else joined.replace(os.sep, "/")


def _walk(folder: str, enter: Callable[[list[str]], bool]) -> Iterator[tuple[str, bool]]:
    """Yield the relative path of each file and folder below a folder, and whether it is a folder.

    The walk is not recursive: a tree can be deeper than Python's stack.

    Args:
        folder: path of the folder.
        enter: function of the parts of a folder's path; returns whether to walk that folder.
    """
    pending = [""]
    while pending:
        subfolder = pending.pop()
        try:
            with os.scandir(_join(folder, subfolder) if subfolder else folder) as entries:
                children = list(entries)
        except OSError as error:
            raise unreadable(_join(folder, subfolder) if subfolder else folder, error) from None
        for entry in children:
            path = _join(subfolder, entry.name)
            if entry.is_dir(follow_symlinks=False):
                if enter(path.split("/")):
                    yield path, True
                    pending.append(path)
            elif _is_file(entry):
                yield path, False


def _is_file(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry is a regular file, a link to one, or a dangling link.

    A dangling link counts, so that reading it is an error that the user sees.
    """
    if not entry.is_symlink():
        return entry.is_file()
    return entry.is_file() or not (entry.is_dir() or os.path.exists(entry.path))  # noqa: PTH110


def is_saved_dataset(folder: str) -> bool:
    """Return whether `save_to_disk` wrote this folder."""
    names = ("dataset_dict.json", "state.json", "dataset_info.json")
    is_dict, *dataset_files = (os.path.isfile(os.path.join(folder, name)) for name in names)  # noqa: PTH113, PTH118
    return is_dict or all(dataset_files)


def arrow_files(folder: str) -> list[str]:
    """Return the Arrow files of a dataset, or of all splits in their order.

    Args:
        folder: path of the dataset or of the dictionary of datasets.

    Raises:
        TokctlError: the description in the folder can't be read, or lists no files; or the folder
            was written by a version that stored the order of the rows separately.
    """
    split_list = Path(folder, "dataset_dict.json")
    if not split_list.is_file():
        return _dataset_files(Path(folder))
    from tokctl.core.schema import PLAIN_NAME

    splits = _read_json(split_list, {"splits": [PLAIN_NAME]})["splits"]
    return [file for split in splits for file in _dataset_files(Path(folder, split))]


def _dataset_files(folder: Path) -> list[str]:
    path = folder / "state.json"
    from tokctl.core.schema import PLAIN_NAME

    state = _read_json(path, {"_data_files": [{"filename": PLAIN_NAME}]})
    if state.get("_indices_files") or state.get("_indices_data_files"):
        raise Unsupported(
            f"{folder} keeps the order of its rows in a separate file, as `datasets` before 2.0 "
            "did",
            "load the dataset with such a version and save it again",
        )
    return [str(folder / file["filename"]) for file in state["_data_files"]]


def _read_json(path: Path, schema: Any) -> dict[str, Any]:
    from tokctl.core.schema import check

    damaged, hint = f"{path} is damaged", "save the dataset again"
    try:
        content = json.loads(path.read_bytes())
    except OSError as error:
        raise unreadable(str(path), error) from None
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{damaged}: {error}", hint, "damaged") from None
    checked: dict[str, Any] = check(content, schema, damaged, hint)
    return checked
