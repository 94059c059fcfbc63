"""Folders that `save_to_disk` of Hugging Face's `datasets` writes, read without that library.

A dataset is a folder with `state.json`, which lists its Arrow files in order, and
`dataset_info.json`; a dictionary of datasets has `dataset_dict.json`, which lists the splits,
each a folder of that name. What a selection or a shuffle left is written as it is seen: there
are no indices since version 2.0.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from tokctl.errors import TokctlError
from tokctl.sources.files import unreadable


def is_one(folder: str) -> bool:
    """Is it a folder that `save_to_disk` wrote?"""
    names = ("dataset_dict.json", "state.json", "dataset_info.json")
    several, *one = (os.path.isfile(os.path.join(folder, name)) for name in names)  # noqa: PTH113, PTH118
    return several or all(one)


def arrow_files(folder: str) -> list[str]:
    """The Arrow files of a dataset, or of all splits in their order.

    Raises:
        TokctlError: the folder's own description can't be read, or lists no files; or it was
            written by a version that kept the order of the rows apart.
    """
    listed = Path(folder, "dataset_dict.json")
    if not listed.is_file():
        return _files_of(Path(folder))
    splits = _read(listed).get("splits")
    if not isinstance(splits, list):
        raise _damaged(listed, "it lists no splits")
    return [file for split in splits for file in _files_of(Path(folder, _name(listed, split)))]


def _files_of(folder: Path) -> list[str]:
    path = folder / "state.json"
    state = _read(path)
    if state.get("_indices_files") or state.get("_indices_data_files"):
        raise TokctlError(
            f"{folder} keeps the order of its rows apart, as `datasets` did before 2.0",
            "load it with such a version and save it again",
        )
    files = state.get("_data_files")
    if not isinstance(files, list):
        raise _damaged(path, "it lists no data files")
    names = [file.get("filename") if isinstance(file, dict) else None for file in files]
    return [str(folder / _name(path, name)) for name in names]


def _name(listing: Path, name: Any) -> str:
    """A name that a listing holds: of something in its folder, and nowhere else."""
    if not isinstance(name, str) or not name or name in (".", "..") or "/" in name or "\0" in name:
        raise _damaged(listing, f"{name!r} is no name of a file in that folder")
    return name


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except OSError as error:
        raise unreadable(str(path), error) from None
    except ValueError as error:
        raise _damaged(path, str(error)) from None
    if not isinstance(found, dict):
        raise _damaged(path, "it is no JSON object")
    return found


def _damaged(path: Path, problem: str) -> TokctlError:
    return TokctlError(f"{path} is damaged: {problem}", "save the dataset again")
