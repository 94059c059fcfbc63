"""Streams, terminals and colour of a run, in one object that tests replace."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from io import BufferedReader, BufferedWriter, RawIOBase, StringIO, TextIOBase
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO, cast

from tokctl.cli.inputs import Inputs
from tokctl.core.errors import BadInput, TokctlError, printable

if TYPE_CHECKING:
    from typing_extensions import Buffer


@dataclass(eq=False, repr=False)
class Console:
    """Streams and settings of one run.

    Attributes:
        stdin, stdout: byte streams for data. stdout is buffered: flush it where output must
            keep up with input.
        stderr: text stream for people.
        stdin_is_terminal, stdout_is_terminal, stderr_is_terminal: whether each is a terminal.
        environ: the variables of the environment.
        color: `auto`, `always` or `never`.
        quiet: write no progress, notes and summaries.
        verbose: write more about the work.
        debug: write the traceback of an error.
        progress: `auto`, `bar`, `log`, `json` or `none`; empty: not chosen yet.
        data_on_stdout: data is written to stdout during the work; a bar on the same terminal
            would be drawn into it.
        before_message: called before a message, to clear the line of a progress bar.
        arguments: the words of the command line.
        inputs: the paths that the command reads and writes.
    """

    stdin: BinaryIO
    stdout: BinaryIO
    stderr: TextIO
    stdin_is_terminal: bool = False
    stdout_is_terminal: bool = False
    stderr_is_terminal: bool = False
    environ: Mapping[str, str] = field(default_factory=dict)
    color: str = "auto"
    quiet: bool = False
    verbose: bool = False
    debug: bool = False
    progress: str = ""
    data_on_stdout: bool = False
    before_message: Callable[[], None] | None = None
    arguments: Sequence[str] = ()
    inputs: Inputs = field(init=False)

    def __post_init__(self) -> None:
        self.inputs = Inputs(lambda: self.stdout)

    @classmethod
    def real(cls) -> Console:
        """Return the world of this process's own streams and environment."""
        # A stream is None if it was closed before the start (`<&-`).
        stdin, stdout, stderr = sys.stdin, sys.stdout, sys.stderr
        return cls(
            stdin=stdin.buffer if stdin else BufferedReader(_Closed("stdin")),
            stdout=_buffered(stdout.buffer) if stdout else BufferedWriter(_Closed("stdout")),
            stderr=cast(TextIO, _Messages(stderr)) if stderr else StringIO(),
            stdin_is_terminal=bool(stdin) and stdin.isatty(),
            stdout_is_terminal=bool(stdout) and stdout.isatty(),
            stderr_is_terminal=bool(stderr) and stderr.isatty(),
            environ=os.environ,
        )

    def wants_color(self, is_terminal: bool) -> bool:
        """Return whether a stream gets colour, by `--color`, NO_COLOR and the kind of stream.

        `--color always` and `never` decide. With `auto`, NO_COLOR turns colour off, and otherwise a
        terminal that is not dumb gets colour.
        """
        if self.color != "auto":
            return self.color == "always"
        if self.environ.get("NO_COLOR"):
            return False
        return is_terminal and self.environ.get("TERM") != "dumb"

    def say(self, text: str) -> None:
        """Write a line for people to stderr, unless `--quiet` is set."""
        if not self.quiet:
            if self.before_message:
                self.before_message()
            self.stderr.write(f"{text}\n")
            self.stderr.flush()

    def note(self, text: str) -> None:
        """Write a line that begins with `note:`, unless `--quiet` is set."""
        self.say(f"note: {printable(text)}")

    def report(self, error: TokctlError) -> None:
        """Write `error: …` and `hint: …` to stderr, in colour where wanted, or one error event."""
        if self.speaks_events:
            hint = printable(error.hint) or None
            self.write_event(event_line("error", message=printable(error.message), hint=hint))
            return
        red, cyan, off = "", "", ""
        if self.wants_color(self.stderr_is_terminal):
            red, cyan, off = "\x1b[1;31m", "\x1b[1;36m", "\x1b[0m"
        self.stderr.write(f"{red}error:{off} {printable(error.message)}\n")
        if error.hint:
            self.stderr.write(f"{cyan}hint:{off} {printable(error.hint)}\n")
        self.stderr.flush()

    def speak_events(self) -> None:
        """Write every line on stderr as a JSON object from now on."""
        if not self.speaks_events:
            self.stderr = cast(TextIO, EventLines(self.stderr))
            self.stderr_is_terminal = False

    def write_event(self, event: str) -> None:
        """Write an event; only after `speak_events` has been called."""
        cast("EventLines", self.stderr).emit(event)

    @property
    def speaks_events(self) -> bool:
        """Whether every line on stderr is a JSON object."""
        return hasattr(self.stderr, "emit")


def _buffered(stream: BinaryIO) -> BinaryIO:
    """Return the stream, with a buffer around a raw file.

    With PYTHONUNBUFFERED, stdout is a raw file, which may write less than it is given.
    """
    return BufferedWriter(stream) if isinstance(stream, RawIOBase) else stream


class _Messages(TextIOBase):
    """stderr without errors: a reader that has gone, or a full disk, must not stop the work."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except OSError:
            self._give_up()
            return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError:
            self._give_up()

    def _give_up(self) -> None:
        # Discard the buffered text and everything after it, also when Python flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())

    def isatty(self) -> bool:
        return self._stream.isatty()

    def fileno(self) -> int:
        return self._stream.fileno()

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._stream.encoding


class _Closed(RawIOBase):
    """Standard stream that was closed before the start: using it is an error."""

    def __init__(self, name: str) -> None:
        self._name = name

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def readinto(self, _buffer: Buffer) -> int:
        raise BadInput(f"{self._name} is closed", "name a file, or pipe text in", "unreadable")

    def write(self, _data: Buffer) -> int:
        raise OSError(errno.EBADF, f"{self._name} is closed")


def event_line(event: str, **facts: Any) -> str:
    """Return an event as one line of ASCII JSON, without a line feed.

    ASCII fits every encoding of stderr.
    """
    import json

    return json.dumps({"event": event, **facts})


class EventLines(TextIOBase):
    """Stream whose lines become events: lines with `note: …` are notes, others are messages."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._begun = ""

    def write(self, text: str) -> int:
        """Write an event for each line that `text` completes."""
        *whole, self._begun = (self._begun + text).split("\n")
        for said in whole:
            self._say(said)
        return len(text)

    def emit(self, event: str) -> None:
        """Write a line that is an event already."""
        self._stream.write(f"{event}\n")
        self._stream.flush()

    def flush(self) -> None:
        """Flush the stream; a line without its line feed stays in memory."""
        self._stream.flush()

    def end(self) -> None:
        """Write the last line as an event if it has no line feed."""
        self._say(self._begun)
        self._begun = ""

    def isatty(self) -> bool:
        """Return False: events are for programs."""
        return False

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """The encoding of the events."""
        return "utf-8"

    def _say(self, said: str) -> None:
        if said.startswith("note: "):
            self.emit(event_line("note", message=said.removeprefix("note: ")))
        elif said.strip():
            self.emit(event_line("message", message=said.rstrip()))
