"""What shards are made of, and whether it is still the same."""

from __future__ import annotations

import os
import stat
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from tokctl.errors import TokctlError
from tokctl.idfiles.streams import Position
from tokctl.sources import Source

#: Shown for what was not given.
_NONE = "none"


@dataclass(frozen=True)
class Origin:
    """The sources, and everything else that the files depend on.

    Attributes:
        names: of the sources, as they were given.
        job: plain data; keys are the names that people know.
    """

    sources: Sequence[Source]
    names: list[Any]
    job: dict[str, Any]

    @classmethod
    def of(cls, sources: Sequence[Source], job: dict[str, Any]) -> Origin:
        from tokctl import __version__

        return cls(
            sources, [name_of(source.name) for source in sources], {"tokctl": __version__, **job}
        )

    def header(self) -> dict[str, Any]:
        """What the journal begins with, and a manifest holds, too."""
        return {**self.job, "sources": self.names}

    def facts(self, number: int) -> list[int | None]:
        """What tells that a source is the same as before: bytes, and when it was changed last, in
        nanoseconds (None: nobody knows)."""
        source = self.sources[number]
        status = _status(source)
        if status is None or not stat.S_ISREG(status.st_mode):
            return [source.size, None]
        return [status.st_size, status.st_mtime_ns]

    def is_stream(self, number: int) -> bool:
        """Can the source be read only once?"""
        source = self.sources[number]
        status = _status(source)
        if status is None:
            return _is_stdin(source)
        return stat.S_ISFIFO(status.st_mode) or stat.S_ISCHR(status.st_mode)


def name_of(name: str) -> str | dict[str, str]:
    """A name for JSON: text where it is UTF-8, else `{"bytes": base64}`.

    `./a.txt` is `a.txt`, so that a run can be resumed by either.
    """
    name = name if "://" in name else str(Path(name))
    try:
        name.encode()
    except UnicodeEncodeError:
        return {"bytes": b64encode(os.fsencode(name)).decode()}
    return name


def check_same(folder: str, before: dict[str, Any], now: dict[str, Any], *, what: str) -> None:
    """TokctlError that names the first thing in which a run differs from an earlier one."""
    hint = "give the same as before, or write to another folder"
    if found := _difference(before, {key: now[key] for key in now if key != "sources"}):
        key, old, new = found
        raise TokctlError(f"{folder} {what} with {key} {old}, and now it is {new}", hint)
    known = before["sources"]
    names = [one["name"] if isinstance(one, dict) and "name" in one else one for one in known]
    for number, (old, new) in enumerate(zip_longest(names, now["sources"]), 1):
        if old != new:
            raise TokctlError(
                f"{folder} {what} from other sources: number {number} was {_shown(old)}, and now "
                f"it is {_shown(new)}",
                hint,
            )


def _difference(
    before: dict[str, Any], now: dict[str, Any], *, every: bool = False
) -> tuple[str, str, str] | None:
    """What differs, as it was and as it is; with `every`, what only `before` has counts, too."""
    for key in dict.fromkeys([*now, *(before if every else ())]):
        old, new = before.get(key), now.get(key)
        if isinstance(old, dict) and isinstance(new, dict):
            if found := _difference(old, new, every=True):
                return found[0] if key == "options" else f"{key} {found[0]}", *found[1:]
        elif _if_on(old) != _if_on(new):
            return key, _shown(old), _shown(new)
    return None


def _if_on(value: Any) -> Any:
    """What is off and what is not named are the same: not every caller has every option."""
    return None if value is False or value == [] else value


def check_finished(folder: str, origin: Origin, manifest: dict[str, Any]) -> None:
    """TokctlError where a source has another size than it had for the shards of a manifest, which
    holds no times."""
    for number, source in enumerate(manifest["sources"]):
        _check_size(folder, origin, number, source["bytes"])


def check_sources(folder: str, origin: Origin, facts: dict[int, list[int | None]]) -> None:
    """TokctlError where a source that shards were made of has changed."""
    for number, (size, changed, *_) in facts.items():
        if _check_size(folder, origin, number, size) != changed:
            name = origin.sources[number].name
            raise TokctlError(f"{name} was changed after it was read", _as_it_was(folder))


def _check_size(folder: str, origin: Origin, number: int, size: int | None) -> int | None:
    """When a source was changed last; TokctlError where it has another size now."""
    now, changed = origin.facts(number)
    if now != size:
        raise TokctlError(
            f"{origin.sources[number].name} has {now} bytes now; it had {size} when it was read",
            _as_it_was(folder),
        )
    return changed


def _as_it_was(folder: str) -> str:
    return f"it is in the shards of {folder} as it was: write to another folder"


def begun_streams(folder: str, origin: Origin, position: Position) -> None:
    """TokctlError where a source would have to be read again that can't be."""
    number = position.place.source
    if number >= len(origin.sources) or not position.is_inside:
        return
    if origin.is_stream(number):
        raise TokctlError(
            f"{origin.sources[number].name} can't be read again: a part of it is in the shards "
            f"of {folder}",
            "write to another folder; from a file, a run can be resumed",
        )


def _is_stdin(source: Source) -> bool:
    # A file of that name comes without waiting for anyone.
    return source.name == "stdin" and not source.prompt


def _status(source: Source) -> os.stat_result | None:
    try:
        return None if _is_stdin(source) else Path(source.name).stat()
    except (OSError, ValueError):
        return None


def _shown(value: Any) -> str:
    if value is None:
        return _NONE
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(_shown, value)) or _NONE
    return str(value)
