"""stderr for programs: under `--progress json` every line of it is a JSON object.

`{"event": …}` is `progress` or `done` (of a phase), `error` (with `message` and `hint`), `note`
or `message` (what people would read, line by line).
"""

from __future__ import annotations

import json
from io import TextIOBase
from typing import Any, TextIO


def line(event: str, **facts: Any) -> str:
    """An event, without the end of its line. It is ASCII, so that every encoding can hold it."""
    return json.dumps({"event": event, **facts})


class EventLines(TextIOBase):
    """A stream whose lines become events: `note: …` is a note, all else a message."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._begun = ""

    def write(self, text: str) -> int:
        *whole, self._begun = (self._begun + text).split("\n")
        for said in whole:
            self._say(said)
        return len(text)

    def emit(self, event: str) -> None:
        """Writes a line that is an event already."""
        self._stream.write(f"{event}\n")
        self._stream.flush()

    def flush(self) -> None:
        """What has no end of its line yet waits for it."""
        self._stream.flush()

    def end(self) -> None:
        """What has no end of its line will get none."""
        self._say(self._begun)
        self._begun = ""

    def isatty(self) -> bool:
        return False

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return "utf-8"

    def _say(self, said: str) -> None:
        if said.startswith("note: "):
            self.emit(line("note", message=said.removeprefix("note: ")))
        elif said.strip():
            self.emit(line("message", message=said.rstrip()))
