"""The journal of a folder of shards: what is whole, and where to go on.

The first line is what the shards are made of, each other line a shard, written when its files
have their names. A line that is not whole was being written when the process ended: what it says
is not believed.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from tokctl.errors import TokctlError
from tokctl.idfiles.chunks import Before, Place
from tokctl.idfiles.streams import Position


@dataclass
class Journal:
    """What the journal says.

    Attributes:
        path: the file.
        header: what the shards are made of.
        shards: each as the manifest has it.
        position: where the ids behind the last shard begin.
        facts: of each source that was begun, its bytes and when it was changed (see `Origin`),
            documents and ids so far.
    """

    path: Path
    header: dict[str, Any]
    shards: list[dict[str, Any]] = field(default_factory=list)
    position: Position = field(default_factory=Position)
    facts: dict[int, list[int | None]] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Journal:
        """What stands there; a last line that is not whole is cut off.

        Raises:
            TokctlError: another line is damaged.
        """
        data = path.read_bytes()
        lines = data.split(b"\n")[:-1]
        found: list[Any] = []
        for number, line in enumerate(lines, 1):
            try:
                found.append(orjson.loads(line))
            except orjson.JSONDecodeError:
                if number < len(lines) or number == 1:
                    raise damaged(path, number) from None
        if not found:
            raise damaged(path, 1)
        whole = sum(len(line) + 1 for line in lines[: len(found)])
        if whole < len(data):
            os.truncate(path, whole)
        if not isinstance(found[0], dict) or not isinstance(found[0].get("sources"), list):
            raise damaged(path, 1)
        journal = cls(path, found[0])
        for number, line in enumerate(found[1:], 2):
            try:
                journal._take(line)
            except (AttributeError, KeyError, TypeError, ValueError):
                raise damaged(path, number) from None
        return journal

    def add(
        self, shard: dict[str, Any], position: Position, facts: dict[int, list[int | None]]
    ) -> None:
        """Records a shard whose files are whole; `facts` of the sources that it was made of."""
        line = {
            "shard": shard,
            "place": list(position.place),
            "before": list(position.before),
            "documents": position.documents,
            "ids": position.ids,
            "sources": {str(number): one for number, one in facts.items()},
        }
        try:
            with self.path.open("ab") as file:
                file.write(orjson.dumps(line) + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            reason = error.strerror or str(error)
            raise TokctlError(f"can't write {self.path}: {reason}", "free some space") from None
        self._take(line)

    def _take(self, line: dict[str, Any]) -> None:
        shard = line["shard"]
        position = Position(
            Place(*line["place"]), Before(*line["before"]), line["documents"], line["ids"]
        )
        facts = {int(number): one for number, one in line["sources"].items()}
        sizes = [file["bytes"] for file in files_in(shard) if isinstance(file["file"], str)]
        known = len(self.header["sources"])
        if not all(isinstance(size, int) for size in [*sizes, shard["ids"], shard["documents"]]):
            raise ValueError
        if any(not 0 <= number < known or len(one) != 4 for number, one in facts.items()):
            raise ValueError
        self.shards.append(shard)
        self.position = position
        self.facts |= facts


def files_in(shard: dict[str, Any]) -> list[dict[str, Any]]:
    """The files of a shard: the ids, and where documents are in them."""
    return [shard, shard["index"]] if "index" in shard else [shard]


def damaged(path: Path, line: int) -> TokctlError:
    """The error for a journal that can't be believed."""
    return TokctlError(f"{path}: line {line} is damaged", "begin again in another folder")
