"""Origin of a folder of shards, and its journal: the complete steps, and where to continue.

The first line of the journal describes the sources and the job. Every other line describes a step:
shards, or on a cluster also a piece (`pieces.py`) or the plan of the shards. A line is written when
the files of the step have their names. An incomplete last line was being written when the process
ended, and is ignored. Each line holds its own SHA-256 (see `add_digest`), so that damage is
detected.
"""

from __future__ import annotations

import os
import stat
from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from tokctl.core import orjson
from tokctl.core.errors import BadInput, BadOption, TokctlError
from tokctl.core.schema import COUNT, PLAIN_NAME, AnyOf, Whole, fits
from tokctl.idfiles.chunks import ResumePoint, SourceIndex, StreamPosition
from tokctl.idfiles.manifest import DIGEST_KEY, SHARD, add_digest, digest_of, remove_digest
from tokctl.idfiles.shard_stores import JOURNAL, ShardStore
from tokctl.sources import Source


class StoredPiece(NamedTuple):
    """Facts about a complete piece.

    Attributes:
        bytes: size of the file.
        frames: number of frames.
        sha256: SHA-256 of the table.
        ids: number of ids.
        documents: number of documents that end in the piece.
    """

    bytes: int
    frames: int
    sha256: str
    ids: int
    documents: int


class UnitCounts(NamedTuple):
    """Counts of a source, or of a part of one: documents, ids, and bytes of text."""

    source: int
    part: int
    documents: int
    ids: int
    bytes: int = 0


class ShardRange(NamedTuple):
    """Group of shards that one task of a cluster writes.

    Attributes:
        shard: number of the first shard.
        shards: number of shards.
        start: ids of all sources before the group.
        stop: ids of all sources up to the end of the group.
    """

    shard: int
    shards: int
    start: int
    stop: int


class SourceFacts(NamedTuple):
    """Facts that show whether a source changed; None if unknown.

    Attributes:
        source: number of the source.
        bytes: its size.
        changed: time of its last change, in nanoseconds.
    """

    source: int
    bytes: int | None
    changed: int | None


#: Field of the header of a cluster's journal: the approximate number of bytes of sources in a task.
PART_SIZE = "part_size"

#: Schema of the header.
_HEADER = {"sources": [AnyOf(str, {"bytes": str})], f"{PART_SIZE}?": Whole(1)}

_COUNTS = {
    "units": [(COUNT,) * len(UnitCounts._fields)],
    "facts": [(COUNT, AnyOf(COUNT, None), AnyOf(int, None))],
}

#: Schema of a line on one machine: a shard, and the `StreamPosition` after it.
_SHARD_LINE = {
    "shard": SHARD,
    "next": ((COUNT,) * 2, (COUNT,) * len(ResumePoint._fields), COUNT, COUNT),
    **_COUNTS,
}

#: Schema of a line on a cluster: a piece, the plan, or a group of shards.
_TASK_LINE = AnyOf(
    {"piece": PLAIN_NAME, "is": (COUNT, COUNT, str, COUNT, COUNT), **_COUNTS},
    {"plan": [(COUNT,) * len(ShardRange._fields)]},
    {"group": COUNT, "shards": [SHARD]},
)


@dataclass(frozen=True)
class Provenance:
    """Sources of shards, and everything else that the files depend on.

    Attributes:
        sources: the sources.
        names: names of the sources, as values for JSON.
        job: plain data under user-visible names.
    """

    sources: Sequence[Source]
    names: list[Any]
    job: dict[str, Any]

    @classmethod
    def of(cls, sources: Sequence[Source], job: dict[str, Any]) -> Provenance:
        """Return the provenance of shards; adds tokctl's version to the job."""
        from tokctl import __version__

        return cls(
            sources, [json_name(source.name) for source in sources], {"tokctl": __version__, **job}
        )

    def header(self) -> dict[str, Any]:
        """Return the header of the journal: the job, and the names of the sources."""
        return {**self.job, "sources": self.names}

    def facts(self, number: int) -> SourceFacts:
        """Return the size of a source, and the time of its last change."""
        source = self.sources[number]
        status = _status(source)
        if status is None or not stat.S_ISREG(status.st_mode):
            return SourceFacts(number, source.size, None)
        return SourceFacts(number, status.st_size, status.st_mtime_ns)

    def check_same(self, folder: str, earlier: dict[str, Any], *, what: str) -> None:
        """Compare this run with an earlier one.

        Args:
            folder: name of the folder for messages.
            earlier: header or manifest of the earlier run.
            what: verb for messages, such as `was made`.

        Raises:
            TokctlError: the sources or the job differ; names the first difference.
        """
        hint = "give the same sources and options as before, or write to another folder"
        if difference := _first_difference(earlier, self.job):
            key, old, new = difference
            raise BadOption(
                f"{folder} {what} with {key} {old}, and now it is {new}", hint, "conflict"
            )
        sources = earlier["sources"]
        names = [
            source["name"] if isinstance(source, dict) and "name" in source else source
            for source in sources
        ]
        for number, (old, new) in enumerate(zip_longest(names, self.names), 1):
            if old != new:
                raise BadOption(
                    f"{folder} {what} from other sources: number {number} was {_as_text(old)}, and "
                    f"now it is {_as_text(new)}",
                    hint,
                    "conflict",
                )

    def check_finished(self, folder: str, manifest: dict[str, Any]) -> None:
        """Compare the sizes of the sources with the manifest, which stores no times.

        Raises:
            TokctlError: a source has another size.
        """
        for number, source in enumerate(manifest["sources"]):
            self._check_size(folder, number, source["bytes"])

    def check_sources(self, folder: str, facts: Iterable[SourceFacts]) -> None:
        """Check that the sources of shards have not changed.

        Args:
            folder: name of the folder for messages.
            facts: facts of each source when it was read.

        Raises:
            TokctlError: a source changed.
        """
        for number, size, changed in facts:
            if self._check_size(folder, number, size) != changed:
                raise BadInput(
                    f"{self.sources[number].name} was changed after it was read",
                    _changed_hint(folder),
                )

    def _check_size(self, folder: str, number: int, size: int | None) -> int | None:
        """Return the time of a source's last change; raise TokctlError if its size differs."""
        _, size_now, changed = self.facts(number)
        if size_now != size:
            raise BadInput(
                f"{self.sources[number].name} has {size_now} bytes now; it had {size} when it was "
                "read",
                _changed_hint(folder),
            )
        return changed

    def check_readable_again(self, folder: str, position: StreamPosition) -> None:
        """Raise TokctlError if a run would have to read a stream a second time to resume."""
        number = position.source.source
        if number >= len(self.sources) or not position.is_inside:
            return
        if self.is_stream(number):
            raise BadInput(
                f"{self.sources[number].name} can't be read again: a part of it is in the shards "
                f"of {folder}",
                "write to another folder; from a file, a run can be resumed",
                "unreadable",
            )

    def is_stream(self, number: int) -> bool:
        """Return whether the source can be read only once."""
        source = self.sources[number]
        status = _status(source)
        if status is None:
            return _is_stdin(source)
        return stat.S_ISFIFO(status.st_mode) or stat.S_ISCHR(status.st_mode)


def json_name(name: str) -> str | dict[str, str]:
    """Return a source's name for JSON: text if it is UTF-8, else `{"bytes": base64}`.

    `./a.txt` becomes `a.txt`, so that a run can be resumed under either name.
    """
    name = name if "://" in name else str(Path(name))
    try:
        name.encode()
    except UnicodeEncodeError:
        return {"bytes": b64encode(os.fsencode(name)).decode()}
    return name


def _first_difference(
    before: dict[str, Any], now: dict[str, Any], *, all_keys: bool = False
) -> tuple[str, str, str] | None:
    """Return the first key that differs, with the old and the new value as text; None if none does.

    With `all_keys`, keys that only `before` has are compared, too.
    """
    for key in dict.fromkeys([*now, *(before if all_keys else ())]):
        old, new = before.get(key), now.get(key)
        if isinstance(old, dict) and isinstance(new, dict):
            if difference := _first_difference(old, new, all_keys=True):
                return difference[0] if key == "options" else f"{key} {difference[0]}", *difference[
                    1:
                ]
        elif _none_if_off(old) != _none_if_off(new):
            return key, _as_text(old), _as_text(new)
    return None


def _none_if_off(value: Any) -> Any:
    """Return None for options that are off: not every caller passes every option."""
    return None if value is False or value == [] else value


def _as_text(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(_as_text, value)) or "none"
    return str(value)


def _is_stdin(source: Source) -> bool:
    # A file called stdin is prompt: reading it never waits for a person or a program.
    return source.name == "stdin" and not source.prompt


def _status(source: Source) -> os.stat_result | None:
    try:
        return None if _is_stdin(source) else Path(source.name).stat()
    except (OSError, ValueError):
        return None


def _changed_hint(folder: str) -> str:
    return f"write to another folder: the shards of {folder} have the text as it was"


class RecordedPiece(NamedTuple):
    """A piece in the journal, with the counts and the facts of its sources."""

    stored: StoredPiece
    units: list[UnitCounts]
    facts: list[SourceFacts]


class Journal:
    """Journal of a run.

    Attributes:
        header: the sources and the job.
        part_size: bytes of sources in a task of a cluster; 0: the run is on one machine.
        lines: all lines after the header.
        groups: shards of each complete group, by its number. On one machine, a group is a shard.
        position: where the ids after the last shard begin, on one machine.
        pieces: complete pieces of a cluster by file name.
        plan: groups of a cluster; None until all pieces are complete.
        facts: facts of the sources that were read; two for a source that changed meanwhile.
        counts: number of documents and of ids so far, by number of the source.
    """

    def __init__(
        self, store: ShardStore, header: dict[str, Any], lines: Iterable[dict[str, Any]] = ()
    ) -> None:
        """Take the lines of a journal in `store`; raise TokctlError if one is damaged."""
        self._store = store
        self.header = header
        self.part_size: int = header.get(PART_SIZE, 0)
        self.lines: list[dict[str, Any]] = []
        self.groups: dict[int, list[dict[str, Any]]] = {}
        self.position = StreamPosition()
        self.pieces: dict[str, RecordedPiece] = {}
        self.plan: list[ShardRange] | None = None
        self.facts: dict[SourceFacts, None] = {}
        self.counts: dict[int, tuple[int, int]] = {}
        self._digest = digest_of(header)
        schema = _TASK_LINE if self.part_size else _SHARD_LINE
        for number, line in enumerate(lines, 2):
            try:
                if not fits(line, schema):
                    raise ValueError
                self._apply(line)
            except ValueError:
                raise _damaged_line_error(store, number) from None
            self._digest = digest_of(line, self._digest)

    @classmethod
    def read(cls, store: ShardStore) -> Journal | None:
        """Return the journal of a place, or None; an incomplete last line is cut off.

        Raises:
            TokctlError: another line is damaged.
        """
        data = store.read_journal()
        if data is None:
            return None
        lines = data.split(b"\n")[:-1]
        documents: list[dict[str, Any]] = []
        digest = ""
        for number, line in enumerate(lines, 1):
            try:
                documents.append(remove_digest(orjson.loads(line), digest))
            except ValueError:
                if number < len(lines) or number == 1:
                    raise _damaged_line_error(store, number) from None
            else:
                digest = digest_of(documents[-1], digest)
        if not documents or not fits(documents[0], _HEADER):
            raise _damaged_line_error(store, 1)
        journal = cls(store, documents[0], documents[1:])
        valid_size = sum(len(line) + 1 for line in lines[: len(documents)])
        if valid_size < len(data):
            store.cut_journal(data[:valid_size])
        return journal

    @property
    def shards(self) -> list[dict[str, Any]]:
        """The complete shards, in the order of their ids, as in the manifest."""
        return [shard for number in sorted(self.groups) for shard in self.groups[number]]

    def keep(self, lines: list[dict[str, Any]]) -> Journal:
        """Return the journal with only these of its lines; the file loses the others."""
        if len(lines) == len(self.lines):
            return self
        journal = Journal(self._store, self.header, lines)
        journal.write()
        return journal

    def write(self) -> None:
        """Rewrite the whole journal."""
        data, digest = b"", ""
        for line in (self.header, *self.lines):
            sealed_line = add_digest(line, digest)
            digest = sealed_line[DIGEST_KEY]
            data += orjson.dumps(sealed_line) + b"\n"
        self._store.write_journal(data)

    def add(self, **line: Any) -> None:
        """Append the line of a complete step; it is on the disk when the method returns."""
        sealed_line = add_digest(line, self._digest)
        self._digest = sealed_line[DIGEST_KEY]
        data = orjson.dumps(sealed_line) + b"\n"
        self._store.add_to_journal(len(self.lines) + 1, data)
        self._apply(line)

    def _apply(self, line: dict[str, Any]) -> None:
        """Take the content of a line; raise ValueError if it can't be right."""
        self.lines.append(line)
        if "plan" in line:
            self.plan = [ShardRange(*group) for group in line["plan"]]
        elif "group" in line:
            self.groups[line["group"]] = line["shards"]
        else:
            self._apply_counts(line)

    def _apply_counts(self, line: dict[str, Any]) -> None:
        units = [UnitCounts(*unit) for unit in line["units"]]
        facts = [SourceFacts(*source) for source in line["facts"]]
        sources = {unit.source for unit in units}
        if sources != {source.source for source in facts}:
            raise ValueError
        if not sources or max(sources) >= len(self.header["sources"]):
            raise ValueError
        self.facts |= dict.fromkeys(facts)
        for unit in units:
            documents, ids = self.counts.get(unit.source, (0, 0))
            self.counts[unit.source] = documents + unit.documents, ids + unit.ids
        if "piece" in line:
            self.pieces[line["piece"]] = RecordedPiece(StoredPiece(*line["is"]), units, facts)
            return
        source, resume, documents, ids = line["next"]
        resume = ResumePoint(*resume)
        if (resume.documents, resume.ids) > (documents, ids):  # it is never after the position
            raise ValueError
        self.position = StreamPosition(SourceIndex(*source), resume, documents, ids)
        self.groups[len(self.groups)] = [line["shard"]]


def _damaged_line_error(store: ShardStore, line: int) -> TokctlError:
    """Return the error for a damaged line of a journal."""
    return BadInput(
        f"{store.file(JOURNAL)}: line {line} is damaged", "begin again in another folder", "damaged"
    )
