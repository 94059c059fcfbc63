"""Process that draws charts: vl-convert runs in a child, never in the command's own process.

vl-convert contains V8, which reserves a large address space and aborts the whole process if that
fails (under `ulimit -v`, for example). In a child, an abort, a signal or an endless drawing becomes
an error with a hint. The child executes only code of tokctl and vl-convert: a chart's specification
goes in as one line of JSON, and the drawing comes back.
"""

from __future__ import annotations

import faulthandler
import json
import signal
import struct
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import tokctl
from tokctl.core import systems
from tokctl.core.errors import OutOfMemoryError, Unsupported

#: Time limit for drawing a chart, in seconds; an ordinary chart takes less than one.
SECONDS = 120
#: PNG pixels per pixel of the chart, for sharp screens.
_SCALE = 2
#: Header of a reply: whether the chart was drawn, and the number of bytes that follow (the drawing,
#: or the reason why not).
_HEAD = struct.Struct("<?Q")
#: Code of the child. It gets this process's module search path, so that it finds the modules
#: however they were installed. It needs no importable `__main__`, which a notebook does not have.
_CODE = (
    "import sys; sys.path[:] = eval(sys.argv[1]); "
    "from tokctl.report.charts.converter import serve; serve()"
)
_HINT = (
    "draw without a memory limit such as `ulimit -v`: charts reserve a large address space; "
    "--plot FILE.json writes a chart without drawing"
)


class Converter:
    """Child process that draws charts one after the other and ends with its `with` block.

    The child starts at once and loads vl-convert while this process works on.
    """

    def __init__(self) -> None:
        """Start the child.

        Raises:
            TokctlError: the system can't start a process.
        """
        if not sys.executable:
            raise Unsupported(
                "charts can't be drawn: this program does not know its Python interpreter",
                "set sys.executable, or run tokctl from the command line",
            )
        path = [*sys.path, str(Path(tokctl.__file__).parents[1])]
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _CODE, repr(path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                creationflags=systems.NO_WINDOW,
            )
        except MemoryError:
            raise OutOfMemoryError from None
        except OSError as error:
            raise Unsupported(
                f"charts can't be drawn: the system starts no process: {error}", _HINT
            ) from None

    def __enter__(self) -> Converter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            with suppress(OSError):  # closing flushes, and the child may be gone
                stream.close()
        self._process.wait()

    def convert(self, specification: dict[str, Any], form: str) -> bytes:
        """Return the drawing of a Vega-Lite chart.

        Args:
            specification: Vega-Lite specification of the chart.
            form: `svg`, `pdf` or `png`.

        Raises:
            TokctlError: vl-convert refuses the chart, or the child ended.
        """
        told, answer = self._process.stdin, self._process.stdout
        assert told is not None and answer is not None
        try:
            told.write(json.dumps([form, specification]).encode() + b"\n")
            told.flush()
        except OSError:  # the child has ended: reported below, by `_ending`
            pass
        head = answer.read(_HEAD.size)
        drawn, length = _HEAD.unpack(head) if len(head) == _HEAD.size else (False, 0)
        data = answer.read(length)
        if not length or len(data) < length:
            raise Unsupported(f"charts can't be drawn: {_ending(self._process)}", _HINT)
        if not drawn:
            reason = data.decode(errors="replace")
            raise Unsupported(f"a chart can't be drawn: {reason}", _HINT)
        return data


def _ending(process: subprocess.Popen[bytes]) -> str:
    """Return how the child ended, in words."""
    code = process.wait()
    if code >= 0:
        return f"the drawing process ended with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"the drawing process was ended by {name}"


def serve() -> None:
    """Draw charts in the child: read requests from stdin until it closes, reply on stdout."""
    systems.write_no_core()
    source, answers = sys.stdin.buffer, sys.stdout.buffer
    # The time limit runs in a C thread, so it also works while vl-convert holds the interpreter.
    faulthandler.dump_traceback_later(SECONDS, exit=True)
    # Draw an empty chart to load the engine, which takes most of the time of a first chart.
    _drawn("svg", {"data": {"values": [{}]}, "mark": "point"})
    faulthandler.cancel_dump_traceback_later()
    for line in source:
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        try:
            # The parent sends nothing while it waits, so any event on the pipe means that it ended.
            with systems.ended_by(source.fileno()):
                drawn, data = True, _drawn(*json.loads(line))
        except Exception as error:
            drawn, data = False, (str(error) or type(error).__name__)[:500].encode()
        faulthandler.cancel_dump_traceback_later()
        answers.write(_HEAD.pack(drawn, len(data)) + data)
        answers.flush()


def _drawn(form: str, specification: dict[str, Any]) -> bytes:
    import vl_convert

    if form == "svg":
        return str(vl_convert.vegalite_to_svg(specification)).encode()
    if form == "pdf":
        return bytes(vl_convert.vegalite_to_pdf(specification))
    return bytes(vl_convert.vegalite_to_png(specification, scale=_SCALE))
