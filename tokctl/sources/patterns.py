"""Patterns of paths, as shells have them: `*`, `?`, `[…]`, and `**` for any folders."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fnmatch import translate
from functools import lru_cache

Match = Callable[[str], object]


def has_magic(text: str) -> bool:
    """Is there anything in it that a pattern has, and a name seldom?"""
    return any(char in text for char in "*?[")


class Pattern:
    """One pattern of `--include` or `--exclude`.

    Without a slash it is held against names, with one against the path in the folder, where
    `*` stays within a folder and `**` is any number of folders. As in shells, a leading dot
    must be named, unless `dots`.
    """

    def __init__(self, text: str, *, dots: bool = False) -> None:
        text = text.removeprefix("./").strip("/")
        self.parts = text.split("/")
        self.is_name = "/" not in text
        self._dots = dots

    def fits(self, path: Sequence[str]) -> bool:
        """Does it match the path, given in parts?"""
        if not self.is_name:
            return len(self.parts) in self._reached(path)
        if not self._dots and any(part.startswith(".") for part in path[:-1]):
            return False
        return part_fits(self.parts[0], path[-1], dots=self._dots)

    def may_fit_below(self, folder: Sequence[str]) -> bool:
        """Could it match a path in this folder?"""
        if self.is_name:
            return not any(part.startswith(".") for part in folder)
        return any(place < len(self.parts) for place in self._reached(folder))

    def _reached(self, path: Sequence[str]) -> set[int]:
        """How many parts of the pattern the whole path can use up; takes no more steps than
        the one's length times the other's."""
        reached = self._and_for_nothing({0})
        for name in path:
            found = set()
            for place in reached - {len(self.parts)}:
                if self.parts[place] == "**":
                    if self._dots or not name.startswith("."):
                        found.add(place)
                elif part_fits(self.parts[place], name, dots=self._dots):
                    found.add(place + 1)
            reached = self._and_for_nothing(found)
        return reached

    def _and_for_nothing(self, reached: set[int]) -> set[int]:
        """With the places behind each `**`, which can stand for no folder at all."""
        found = set(reached)
        for place in reached:
            while place < len(self.parts) and self.parts[place] == "**":
                place += 1
                found.add(place)
        return found


def part_fits(pattern: str, name: str, *, dots: bool = False) -> bool:
    """Does the name of one file or folder match, a leading dot only by a dot?"""
    if name.startswith(".") and not (dots or pattern.startswith(".")):
        return False
    return _compiled(pattern)(name) is not None


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> Match:
    return re.compile(translate(pattern)).match
