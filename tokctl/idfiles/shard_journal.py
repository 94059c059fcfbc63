"""What a folder of shards is made of, and its journal: what is whole, and where to go on.

The first line of the journal is what the shards are made of, each other line a shard, written when
its files have their names. A last line that is not whole was being written when the process ended,
and is not believed. The manifest and each line hold their own SHA-256 (see `sealed`), so that
damage to them is seen, too.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from tokctl import orjson
from tokctl.errors import TokctlError
from tokctl.idfiles.chunks import ResumePoint, SourceIndex, StreamPosition
from tokctl.idfiles.places import JOURNAL, Place
from tokctl.schema import COUNT, PLAIN_NAME, AnyOf, OneOf, Satisfies, Whole, check, fits
from tokctl.sources import Source

#: Version of the manifest's layout.
MANIFEST_VERSION = 1

#: The field of a manifest, and of a line of a journal, that holds its own SHA-256.
_SEAL = "sha256"

_DIGEST = Satisfies("a SHA-256", lambda value: bool(re.fullmatch("[0-9a-f]{64}", str(value))))
_FILE = {"file": PLAIN_NAME, "bytes": COUNT, "sha256": _DIGEST}
_SIZE = AnyOf(COUNT, None)

#: A shard, in the manifest and in journals.
SHARD = {**_FILE, "ids": COUNT, "documents": COUNT, "index?": _FILE}

#: By which a source is known to be unchanged; see `Provenance.facts`.
FACTS = (_SIZE, AnyOf(int, None))

#: The header of a journal.
HEADER = {"sources": [AnyOf(str, {"bytes": str})]}

#: A line of the journal of one machine.
_LINE = {
    "shard": SHARD,
    "place": (COUNT, COUNT),
    "before": (COUNT,) * len(ResumePoint._fields),
    "documents": COUNT,
    "ids": COUNT,
    "sources": {str: (*FACTS, AnyOf(COUNT, None), AnyOf(COUNT, None))},
}

MANIFEST_HINT = (
    "copy it again from where it came, or make the shards again with tokctl encode --shard-size"
)

#: What a manifest must say to be read, whoever wrote it.
LISTED = {
    "form": str,
    "dtype?": AnyOf(str, None),
    "shards": [
        {
            "file": PLAIN_NAME,
            "bytes?": COUNT,
            "sha256?": _DIGEST,
            "index?": {"file": PLAIN_NAME, "bytes?": COUNT, "sha256?": _DIGEST},
        }
    ],
}

#: What `manifest_of` makes.
MANIFEST = {
    "manifest": OneOf(MANIFEST_VERSION),
    "form": str,
    "dtype": AnyOf(str, None),
    "shard_size": Whole(1),
    "sources": [
        {
            "name": AnyOf(str, {"bytes": str}),
            "bytes": _SIZE,
            "documents": COUNT,
            "ids": COUNT,
        }
    ],
    "shards": [SHARD],
    "totals": dict.fromkeys(("shards", "documents", "ids", "bytes"), COUNT),
    _SEAL: _DIGEST,
}


@dataclass(frozen=True)
class Provenance:
    """The sources, and everything else that the files depend on.

    Attributes:
        names: of the sources, for JSON.
        job: plain data; keys are the names that people know.
    """

    sources: Sequence[Source]
    names: list[Any]
    job: dict[str, Any]

    @classmethod
    def of(cls, sources: Sequence[Source], job: dict[str, Any]) -> Provenance:
        from tokctl import __version__

        return cls(
            sources, [name_of(source.name) for source in sources], {"tokctl": __version__, **job}
        )

    def header(self) -> dict[str, Any]:
        """What the journal begins with, and a manifest holds, too."""
        return {**self.job, "sources": self.names}

    def facts(self, number: int) -> list[int | None]:
        """By which a source is known to be unchanged: its bytes, and when it was changed last, in
        nanoseconds (None: not known)."""
        source = self.sources[number]
        status = _status(source)
        if status is None or not stat.S_ISREG(status.st_mode):
            return [source.size, None]
        return [status.st_size, status.st_mtime_ns]

    def check_same(self, folder: str, before: dict[str, Any], *, what: str) -> None:
        """TokctlError that names the first thing in which this run differs from an earlier one,
        of which `before` is the header or the manifest."""
        hint = "give the same as before, or write to another folder"
        if found := _difference(before, self.job):
            key, old, new = found
            raise TokctlError(f"{folder} {what} with {key} {old}, and now it is {new}", hint)
        known = before["sources"]
        names = [one["name"] if isinstance(one, dict) and "name" in one else one for one in known]
        for number, (old, new) in enumerate(zip_longest(names, self.names), 1):
            if old != new:
                raise TokctlError(
                    f"{folder} {what} from other sources: number {number} was {_shown(old)}, and "
                    f"now it is {_shown(new)}",
                    hint,
                )

    def check_finished(self, folder: str, manifest: dict[str, Any]) -> None:
        """TokctlError if a source has another size than the manifest says, which holds no
        times."""
        for number, source in enumerate(manifest["sources"]):
            self._check_size(folder, number, source["bytes"])

    def check_sources(self, folder: str, facts: dict[int, list[int | None]]) -> None:
        """TokctlError if a source that shards were made of has changed."""
        for number, (size, changed, *_) in facts.items():
            if self._check_size(folder, number, size) != changed:
                raise TokctlError(
                    f"{self.sources[number].name} was changed after it was read",
                    _as_it_was(folder),
                )

    def _check_size(self, folder: str, number: int, size: int | None) -> int | None:
        """When a source was changed last; TokctlError if it has another size now."""
        now, changed = self.facts(number)
        if now != size:
            raise TokctlError(
                f"{self.sources[number].name} has {now} bytes now; it had {size} when it was read",
                _as_it_was(folder),
            )
        return changed

    def check_readable_again(self, folder: str, position: StreamPosition) -> None:
        """TokctlError if a stream would have to be read a second time."""
        number = position.source.source
        if number >= len(self.sources) or not position.is_inside:
            return
        if self.is_stream(number):
            raise TokctlError(
                f"{self.sources[number].name} can't be read again: a part of it is in the shards "
                f"of {folder}",
                "write to another folder; from a file, a run can be resumed",
            )

    def is_stream(self, number: int) -> bool:
        """Return whether the source can be read only once."""
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


def _shown(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(_shown, value)) or "none"
    return str(value)


def _is_stdin(source: Source) -> bool:
    # A file of that name comes without waiting for anyone.
    return source.name == "stdin" and not source.prompt


def _status(source: Source) -> os.stat_result | None:
    try:
        return None if _is_stdin(source) else Path(source.name).stat()
    except (OSError, ValueError):
        return None


def _as_it_was(folder: str) -> str:
    return f"it is in the shards of {folder} as it was: write to another folder"


@dataclass
class JournalLines:
    """A journal, of the place that it lies in.

    Attributes:
        header: the first line: what the shards are made of.
        lines: the others, as they were when the run began.
        added: how many came since.
    """

    place: Place
    header: dict[str, Any]
    lines: list[dict[str, Any]]
    added: int = 0

    def __post_init__(self) -> None:
        self._last = ""
        for line in (self.header, *self.lines):
            self._last = digest_of(line, self._last)

    @classmethod
    def read(cls, place: Place) -> JournalLines | None:
        """What stands there; a last line that is not whole is cut off. None: there is none.

        Raises:
            TokctlError: another line is damaged.
        """
        data = place.read_journal()
        if data is None:
            return None
        lines = data.split(b"\n")[:-1]
        found: list[dict[str, Any]] = []
        last = ""
        for number, line in enumerate(lines, 1):
            try:
                found.append(unsealed(orjson.loads(line), last))
            except ValueError:
                if number < len(lines) or number == 1:
                    raise _damaged(place, number) from None
            else:
                last = digest_of(found[-1], last)
        if not found or not fits(found[0], HEADER):
            raise _damaged(place, 1)
        whole = sum(len(line) + 1 for line in lines[: len(found)])
        if whole < len(data):
            place.cut_journal(data[:whole])
        return cls(place, found[0], found[1:])

    def each(self, schema: Any, take: Callable[[dict[str, Any]], None]) -> None:
        """Gives each line to `take`; TokctlError if it does not fit the schema, or `take` raises
        ValueError."""
        for number, line in enumerate(self.lines, 2):
            try:
                if not fits(line, schema):
                    raise ValueError
                take(line)
            except ValueError:
                raise _damaged(self.place, number) from None

    def keep(self, lines: list[dict[str, Any]]) -> None:
        """Forgets the others."""
        if lines != self.lines:
            self.lines = lines
            self.write()

    def write(self) -> None:
        """Writes all of it anew."""
        self._last = ""
        every = [self.header, *self.lines]
        self.place.write_journal(b"".join(map(self._next_line, every)))

    def add(self, line: dict[str, Any]) -> None:
        """Adds a line, which lasts then."""
        self.added += 1
        self.place.add_to_journal(len(self.lines) + self.added, self._next_line(line))

    def _next_line(self, line: dict[str, Any]) -> bytes:
        found = sealed(line, self._last)
        self._last = found[_SEAL]
        return orjson.dumps(found) + b"\n"


class Journal:
    """What the journal of one machine says.

    Attributes:
        shards: each as the manifest has it.
        position: where the ids after the last shard begin.
        facts: of each source that was begun, its bytes and when it was changed (see `Provenance`),
            documents and ids so far.
    """

    def __init__(self, file: JournalLines) -> None:
        """TokctlError if a line is damaged."""
        self._file = file
        self.shards: list[dict[str, Any]] = []
        self.position = StreamPosition()
        self.facts: dict[int, list[int | None]] = {}
        self._sources: list[Iterable[int]] = []
        file.each(_LINE, self._take)

    def sources_after(self, count: int) -> set[int]:
        """The numbers of the sources that are in the shards after the first `count`."""
        return {number for sources in self._sources[count:] for number in sources}

    def keep(self, count: int) -> Journal:
        """Return the journal without all but its first `count` shards; its file loses them."""
        self._file.keep(self._file.lines[:count])
        return Journal(self._file)

    def add(
        self, shard: dict[str, Any], position: StreamPosition, facts: dict[int, list[int | None]]
    ) -> None:
        """Records a shard whose files are whole; `facts` of the sources that it was made of."""
        line = {
            "shard": shard,
            "place": list(position.source),
            "before": list(position.resume),
            "documents": position.documents,
            "ids": position.ids,
            "sources": {str(number): one for number, one in facts.items()},
        }
        self._file.add(line)
        self._take(line)

    def _take(self, line: dict[str, Any]) -> None:
        shard = line["shard"]
        position = StreamPosition(
            SourceIndex(*line["place"]),
            ResumePoint(*line["before"]),
            line["documents"],
            line["ids"],
        )
        facts = {int(number): one for number, one in line["sources"].items()}
        begun = position.resume  # nothing can be behind the position in the same source
        if (begun.documents, begun.ids) > (position.documents, position.ids):
            raise ValueError
        known = len(self._file.header["sources"])
        if any(not 0 <= number < known for number in facts):
            raise ValueError
        self.shards.append(shard)
        self._sources.append(facts.keys())
        self.position = position
        self.facts |= facts


def digest_of(document: dict[str, Any], before: str = "") -> str:
    """Return the SHA-256 of a document behind another one with the digest `before`: a line that
    is lost or has another position is seen. White space in the JSON does not count."""
    return hashlib.sha256(before.encode() + orjson.dumps(document)).hexdigest()


def sealed(document: dict[str, Any], before: str = "") -> dict[str, Any]:
    """Return the document with its digest."""
    return {**document, _SEAL: digest_of(document, before)}


def unsealed(document: Any, before: str = "") -> dict[str, Any]:
    """Return the document without its digest. Raises ValueError if the digest is another."""
    if not isinstance(document, dict):
        raise ValueError
    rest = {key: value for key, value in document.items() if key != _SEAL}
    try:
        digest = digest_of(rest, before)
    except TypeError:  # nested so deeply that no document of ours can be
        raise ValueError from None
    if document.get(_SEAL) != digest:
        raise ValueError
    return rest


def check_manifest(found: Any, name: str) -> dict[str, Any]:
    """Return a manifest that is as `manifest_of` made it.

    Raises:
        TokctlError: a value has another type, or has been changed.
    """
    check(found, MANIFEST, f"{name} is not a manifest of shards", MANIFEST_HINT)
    try:
        unsealed(found)
    except ValueError:
        raise TokctlError(f"{name} was changed after it was written", MANIFEST_HINT) from None
    manifest: dict[str, Any] = found
    return manifest


def _damaged(place: Place, line: int) -> TokctlError:
    """The error for a journal that can't be believed."""
    return TokctlError(
        f"{place.file(JOURNAL)}: line {line} is damaged", "begin again in another folder"
    )


def files_in(shards: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The files of shards: of each the ids, and where documents are in them."""
    return [file for shard in shards for file in (shard, shard.get("index")) if file is not None]


def manifest_of(
    provenance: Provenance, facts: Mapping[int, Sequence[int | None]], shards: list[dict[str, Any]]
) -> dict[str, Any]:
    """What `manifest.json` holds: the same for the same sources, model and options.

    `facts`: of the sources that were read, as `Journal` has them.
    """
    sources = []
    for number, name in enumerate(provenance.names):
        size, _, documents, ids = facts.get(number) or [*provenance.facts(number), 0, 0]
        sources.append({"name": name, "bytes": size, "documents": documents, "ids": ids})
    return sealed(
        {
            "manifest": MANIFEST_VERSION,
            **provenance.job,
            "sources": sources,
            "shards": shards,
            "totals": totals_of(shards),
        }
    )


def totals_of(shards: Sequence[dict[str, Any]]) -> dict[str, int]:
    """The sums over all files."""
    return {
        "shards": len(shards),
        "documents": sum(shard["documents"] for shard in shards),
        "ids": sum(shard["ids"] for shard in shards),
        "bytes": sum(file["bytes"] for file in files_in(shards)),
    }
