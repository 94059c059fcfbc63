"""Origin of a folder of shards, and its journal: the complete shards, and where to continue.

The first line of the journal describes the sources and the job. Every other line describes a shard
and is written when its files have their names. An incomplete last line was being written when the
process ended, and is ignored. The manifest and each line hold their own SHA-256 (see `add_digest`),
so that damage to them is detected, too.
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

from tokctl.core import orjson
from tokctl.core.errors import BadInput, BadOption, TokctlError
from tokctl.core.schema import COUNT, PLAIN_NAME, AnyOf, OneOf, Satisfies, Whole, check, fits
from tokctl.idfiles.chunks import ResumePoint, SourceIndex, StreamPosition
from tokctl.idfiles.shard_stores import JOURNAL, ShardStore
from tokctl.sources import Source

#: Version of the manifest's layout.
MANIFEST_VERSION = 1

#: Field of a manifest, and of a line of a journal, with its own SHA-256.
_DIGEST_KEY = "sha256"

_DIGEST = Satisfies("a SHA-256", lambda value: bool(re.fullmatch("[0-9a-f]{64}", str(value))))
_FILE = {"file": PLAIN_NAME, "bytes": COUNT, "sha256": _DIGEST}
_SIZE = AnyOf(COUNT, None)

#: Schema of a shard in the manifest and in journals.
SHARD = {**_FILE, "ids": COUNT, "documents": COUNT, "index?": _FILE}

#: Schema of the size and the time that show whether a source changed; see `Provenance.facts`.
FACTS = (_SIZE, AnyOf(int, None))

#: Schema of the header of a journal.
HEADER = {"sources": [AnyOf(str, {"bytes": str})]}

#: Schema of a line of the journal of one machine.
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

#: Schema of what any manifest must have to be read, whatever program wrote it.
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

#: Schema of the result of `manifest_of`.
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
    _DIGEST_KEY: _DIGEST,
}


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

    def facts(self, number: int) -> list[int | None]:
        """Return what shows whether a source changed: its size and the time of its last change.

        The size is in bytes, the time in nanoseconds; each is None if unknown.
        """
        source = self.sources[number]
        status = _status(source)
        if status is None or not stat.S_ISREG(status.st_mode):
            return [source.size, None]
        return [status.st_size, status.st_mtime_ns]

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

    def check_sources(self, folder: str, facts: dict[int, list[int | None]]) -> None:
        """Check that the sources of shards have not changed.

        Args:
            folder: name of the folder for messages.
            facts: size and time of each source, by its number (see `facts`).

        Raises:
            TokctlError: a source changed.
        """
        for number, (size, changed, *_) in facts.items():
            if self._check_size(folder, number, size) != changed:
                raise BadInput(
                    f"{self.sources[number].name} was changed after it was read",
                    _changed_hint(folder),
                )

    def _check_size(self, folder: str, number: int, size: int | None) -> int | None:
        """Return the time of a source's last change; raise TokctlError if its size differs."""
        size_now, changed = self.facts(number)
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


@dataclass
class JournalLines:
    """Lines of a journal.

    Attributes:
        store: folder of the journal.
        header: first line: the sources and the job.
        lines: the other lines, as they were when the run began.
        added: number of lines added since.
    """

    store: ShardStore
    header: dict[str, Any]
    lines: list[dict[str, Any]]
    added: int = 0

    def __post_init__(self) -> None:
        self._last_digest = ""
        for line in (self.header, *self.lines):
            self._last_digest = digest_of(line, self._last_digest)

    @classmethod
    def read(cls, store: ShardStore) -> JournalLines | None:
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
        if not documents or not fits(documents[0], HEADER):
            raise _damaged_line_error(store, 1)
        valid_size = sum(len(line) + 1 for line in lines[: len(documents)])
        if valid_size < len(data):
            store.cut_journal(data[:valid_size])
        return cls(store, documents[0], documents[1:])

    def for_each(self, schema: Any, handle: Callable[[dict[str, Any]], None]) -> None:
        """Call `handle` with each line.

        Args:
            schema: schema that each line must fit.
            handle: function that raises ValueError for a line that can't be right.

        Raises:
            TokctlError: a line does not fit the schema, or `handle` raised ValueError.
        """
        for number, line in enumerate(self.lines, 2):
            try:
                if not fits(line, schema):
                    raise ValueError
                handle(line)
            except ValueError:
                raise _damaged_line_error(self.store, number) from None

    def keep(self, lines: list[dict[str, Any]]) -> None:
        """Keep only these lines, and rewrite the journal if any line is dropped."""
        if lines != self.lines:
            self.lines = lines
            self.write()

    def write(self) -> None:
        """Rewrite the whole journal."""
        self._last_digest = ""
        documents = [self.header, *self.lines]
        self.store.write_journal(b"".join(map(self._next_line, documents)))

    def add(self, line: dict[str, Any]) -> None:
        """Append a line; it is on the disk when the method returns."""
        self.added += 1
        self.store.add_to_journal(len(self.lines) + self.added, self._next_line(line))

    def _next_line(self, line: dict[str, Any]) -> bytes:
        sealed_line = add_digest(line, self._last_digest)
        self._last_digest = sealed_line[_DIGEST_KEY]
        return orjson.dumps(sealed_line) + b"\n"


class Journal:
    """Journal of a run on one machine.

    Attributes:
        shards: recorded shards, as in the manifest.
        position: where the ids after the last shard begin.
        facts: for each source that was begun: size, time (see `Provenance.facts`), number of
            documents and number of ids so far.
    """

    def __init__(self, file: JournalLines) -> None:
        """Read the lines; raise TokctlError if one is damaged."""
        self._file = file
        self.shards: list[dict[str, Any]] = []
        self.position = StreamPosition()
        self.facts: dict[int, list[int | None]] = {}
        self._sources: list[Iterable[int]] = []
        file.for_each(_LINE, self._apply)

    def sources_after(self, count: int) -> set[int]:
        """Return the numbers of the sources in the shards after the first `count`."""
        return {number for sources in self._sources[count:] for number in sources}

    def keep(self, count: int) -> Journal:
        """Return the journal with its first `count` shards only; the file loses the others."""
        self._file.keep(self._file.lines[:count])
        return Journal(self._file)

    def add(
        self, shard: dict[str, Any], position: StreamPosition, facts: dict[int, list[int | None]]
    ) -> None:
        """Record a shard whose files are complete.

        Args:
            shard: the shard, as in the manifest.
            position: where the ids after the shard begin.
            facts: facts of the sources that the shard was made from.
        """
        line = {
            "shard": shard,
            "place": list(position.source),
            "before": list(position.resume),
            "documents": position.documents,
            "ids": position.ids,
            "sources": {str(number): source_facts for number, source_facts in facts.items()},
        }
        self._file.add(line)
        self._apply(line)

    def _apply(self, line: dict[str, Any]) -> None:
        shard = line["shard"]
        position = StreamPosition(
            SourceIndex(*line["place"]),
            ResumePoint(*line["before"]),
            line["documents"],
            line["ids"],
        )
        facts = {int(number): source_facts for number, source_facts in line["sources"].items()}
        resume = position.resume  # a resume point is never after its position
        if (resume.documents, resume.ids) > (position.documents, position.ids):
            raise ValueError
        source_count = len(self._file.header["sources"])
        if any(not 0 <= number < source_count for number in facts):
            raise ValueError
        self.shards.append(shard)
        self._sources.append(facts.keys())
        self.position = position
        self.facts |= facts


def digest_of(document: dict[str, Any], previous: str = "") -> str:
    """Return the SHA-256 of a document that follows a document with the digest `previous`.

    The chain of digests shows a missing or moved line. White space in the JSON does not count.
    """
    return hashlib.sha256(previous.encode() + orjson.dumps(document)).hexdigest()


def add_digest(document: dict[str, Any], previous: str = "") -> dict[str, Any]:
    """Return the document with its digest."""
    return {**document, _DIGEST_KEY: digest_of(document, previous)}


def remove_digest(document: Any, previous: str = "") -> dict[str, Any]:
    """Return the document without its digest; raise ValueError if the digest is wrong."""
    if not isinstance(document, dict):
        raise ValueError
    rest = {key: value for key, value in document.items() if key != _DIGEST_KEY}
    try:
        digest = digest_of(rest, previous)
    except TypeError:  # nested too deeply to be a document that tokctl wrote
        raise ValueError from None
    if document.get(_DIGEST_KEY) != digest:
        raise ValueError
    return rest


def check_manifest(content: Any, name: str) -> dict[str, Any]:
    """Return a manifest if it is as `manifest_of` made it.

    Args:
        content: the parsed JSON.
        name: name of the manifest for messages.

    Raises:
        TokctlError: a value has another type, or has been changed.
    """
    check(content, MANIFEST, f"{name} is not a manifest of shards", MANIFEST_HINT)
    try:
        remove_digest(content)
    except ValueError:
        raise BadInput(
            f"{name} was changed after it was written", MANIFEST_HINT, "damaged"
        ) from None
    manifest: dict[str, Any] = content
    return manifest


def _damaged_line_error(store: ShardStore, line: int) -> TokctlError:
    """Return the error for a damaged line of a journal."""
    return BadInput(
        f"{store.file(JOURNAL)}: line {line} is damaged", "begin again in another folder", "damaged"
    )


def files_in(shards: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the files of shards: for each shard the ids and, if it has one, the index."""
    return [file for shard in shards for file in (shard, shard.get("index")) if file is not None]


def manifest_of(
    provenance: Provenance, facts: Mapping[int, Sequence[int | None]], shards: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return the content of `manifest.json`, the same for the same sources, model and options.

    Args:
        provenance: the sources and the job.
        facts: facts of the sources that were read, as in `Journal`.
        shards: the complete shards.
    """
    sources = []
    for number, name in enumerate(provenance.names):
        size, _, documents, ids = facts.get(number) or [*provenance.facts(number), 0, 0]
        sources.append({"name": name, "bytes": size, "documents": documents, "ids": ids})
    return add_digest(
        {
            "manifest": MANIFEST_VERSION,
            **provenance.job,
            "sources": sources,
            "shards": shards,
            "totals": totals_of(shards),
        }
    )


def totals_of(shards: Sequence[dict[str, Any]]) -> dict[str, int]:
    """Return the sums over all shards: shards, documents, ids and bytes."""
    return {
        "shards": len(shards),
        "documents": sum(shard["documents"] for shard in shards),
        "ids": sum(shard["ids"] for shard in shards),
        "bytes": sum(file["bytes"] for file in files_in(shards)),
    }
