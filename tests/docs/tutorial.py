"""The pages of docs/tutorial, and docs/cookbook.md: what stands below a command is what the command
prints.

Every ```console block holds commands (`$ command`; a backslash at the end of a line continues
it) and below each what it prints. The commands of a page run in order, in one new folder, on a
terminal of 80 columns without colour, because that is what a reader has before them: tables
where a pipe would get lines with tabs. A ```python block runs in the same folder, as `examples`
runs it; where a library that it imports is not installed, it ends there.

    python -m tests.docs.tutorial            # says which pages are stale, and how
    python -m tests.docs.tutorial --write    # writes into the pages what the commands print
"""

from __future__ import annotations

import difflib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "tutorial"
PAGES = [*sorted(FOLDER.glob("*.md")), ROOT / "docs" / "cookbook.md"]
BOOK = ROOT.parent / "shared" / "corpora" / "treasure-island.txt"
#: Texts in several languages, which a page finds as the folder `udhr`.
LANGUAGES = ROOT.parent / "shared" / "corpora" / "udhr"

#: A command of the tutorial takes a second or two; one that waits for a key waits for ever.
TIMEOUT_SECONDS = 120
#: Bold and dim text, which a terminal without colour still shows.
_STYLES = re.compile(r"\x1b\[[0-9;]*m")


class BuildError(Exception):
    """A page that can't be built: a command failed, or printed what no other machine would."""


@dataclass(frozen=True)
class Step:
    """A command and what the page shows below it, as lines.

    Attributes:
        command: the lines of the command, with `$ ` before the first.
        output: what the page says that it prints.
        line: the number of the command's first line in the page, from 1.
    """

    command: tuple[str, ...]
    output: tuple[str, ...]
    line: int

    @property
    def shell(self) -> str:
        return "\n".join(self.command).removeprefix("$ ")


def parts(text: str) -> Iterator[str | Step]:
    """The lines of a page, one by one, and the steps of its console blocks."""
    lines = iter(enumerate(text.splitlines(), start=1))
    for number, line in lines:
        yield line
        if line != "```console":
            continue
        command: list[str] = []
        output: list[str] = []
        start = number
        for number, line in lines:
            if command and command[-1].endswith("\\") and not output:
                command.append(line)
                continue
            if command and (line.startswith("$ ") or line == "```"):
                yield Step(tuple(command), tuple(output), start)
                command, output = [], []
            if line == "```":
                yield line
                break
            if line.startswith("$ "):
                command, start = [line], number
            elif command:
                output.append(line)
            else:
                raise BuildError(f"line {number}: a console block starts with `$ command`")
        else:
            raise BuildError(f"line {start}: the console block has no end")


def steps(text: str) -> list[Step]:
    return [part for part in parts(text) if isinstance(part, Step)]


def needs_the_book(text: str) -> bool:
    """Whether a command of the page reads Treasure Island, which the project does not hold."""
    return any("treasure-island" in step.shell for step in steps(text))


def needs_languages(text: str) -> bool:
    """Whether a command of the page reads the texts in several languages."""
    return any("udhr" in step.shell for step in steps(text))


def built(text: str) -> str:
    """The page with the output that its commands have here.

    Raises a BuildError for a command that fails (one that is meant to fail is followed by
    `|| …`), or whose output names a folder of this machine.
    """
    lines: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        reader = _Reader(Path(folder))
        if needs_languages(text) and LANGUAGES.exists():
            shutil.copytree(LANGUAGES, reader.folder / "udhr")
        code: list[str] | None = None
        for part in parts(text):
            if isinstance(part, str):
                lines.append(part)
                if part == "```python":
                    code = []
                elif part == "```" and code is not None:
                    reader.calls("\n".join(code))
                    code = None
                elif code is not None:
                    code.append(part)
            else:
                lines += [*part.command, *reader.runs(part)]
    return "\n".join(lines) + "\n"


class _Reader:
    """Someone who types the commands of a page: an empty folder, a home, and tokctl's path."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.folder = place / "tutorial"
        programs, cache = place / "bin", place / "cache"
        for path in (self.folder, programs, cache / "corpora"):
            path.mkdir(parents=True)
        # The tokctl that is tested, whatever else PATH would find.
        tokctl = programs / "tokctl"
        tokctl.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m tokctl "$@"\n')
        tokctl.chmod(0o755)
        if BOOK.exists():
            # Where `tokctl corpora fetch` keeps it, so that nothing is downloaded.
            shutil.copy(BOOK, cache / "corpora" / "treasure-island.txt")
        # Nothing of the environment that this is run in reaches the commands.
        self.environ = {
            "PATH": f"{programs}:{os.defpath}",
            "PYTHONSAFEPATH": "1",
            "HOME": str(place),
            "TOKCTL_CACHE": str(cache),
            "LC_ALL": "C.UTF-8",
            "TERM": "xterm",
            "COLUMNS": "80",
            "LINES": "50",
            "NO_COLOR": "1",
            "PAGER": "cat",
        }

    def runs(self, step: Step) -> list[str]:
        """What the command prints, stdout and stderr as they come, without blank lines around
        and blanks at the ends of lines, which no one sees."""
        status, printed = _on_a_terminal(step.shell, self.folder, self.environ)
        text = _STYLES.sub("", printed)
        if status:
            raise BuildError(f"line {step.line}: exit code {status}: {step.shell}\n{text}")
        for private in (str(self.place), str(ROOT), sys.prefix):
            if private in text:
                raise BuildError(f"line {step.line}: {private} is in the output of {step.shell}")
        if re.search(r"[\x00-\x08\x0b-\x1f\x7f]", text) or "```" in text:
            raise BuildError(f"line {step.line}: no page can hold the output of {step.shell}")
        lines = [line.rstrip() for line in text.split("\n")]
        while lines and not lines[0]:
            lines.pop(0)
        while lines and not lines[-1]:
            lines.pop()
        return lines

    def calls(self, code: str) -> None:
        """Runs a Python block; BuildError where it fails, or gives something else than it says."""
        done = subprocess.run(
            [sys.executable, "-c", _RUN],
            input=code,
            text=True,
            cwd=self.folder,
            env={**self.environ, "PYTHONPATH": str(ROOT), "PYTHONSAFEPATH": ""},
            capture_output=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
        if done.returncode:
            raise BuildError(f"a Python block fails:\n{code}\n{done.stderr}")


#: A Python block comes from stdin. A library that is missing is none of tokctl's own.
_RUN = """
import sys
from tests.docs.examples import run
try:
    run(sys.stdin.read())
except ModuleNotFoundError as error:
    if error.name.split(".")[0] in ("tokctl", "numpy"):
        raise
"""


def _on_a_terminal(command: str, folder: Path, environ: dict[str, str]) -> tuple[int, str]:
    """The exit code of a shell's command and all that its terminal gets."""
    # Here, since there are systems without terminals of this kind, and the module is imported.
    import pty
    import termios

    ours, theirs = pty.openpty()
    try:
        # A line feed stays one: no carriage return is put before it.
        settings = termios.tcgetattr(theirs)
        settings[1] &= ~termios.OPOST
        termios.tcsetattr(theirs, termios.TCSANOW, settings)
        shell = subprocess.Popen(
            # Not `sh`, which would not notice that a command before the last `|` has failed.
            ["bash", "-o", "pipefail", "-c", command],
            cwd=folder,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
    finally:
        os.close(theirs)
    # A group of its own, so that what the shell has started ends with it.
    late = threading.Timer(TIMEOUT_SECONDS, os.killpg, (shell.pid, signal.SIGKILL))
    late.start()
    printed = bytearray()
    try:
        with os.fdopen(ours, "rb", buffering=0) as terminal:
            while piece := terminal.read(1 << 16):
                printed += piece
    except OSError:  # how Linux says that nobody has the other end any more
        pass
    finally:
        status = shell.wait()
        late.cancel()
    return status, printed.decode()


def difference(name: str, shown: str, printed: str) -> str:
    """What would have to change in a page, as `diff -u` shows it; empty where nothing would."""
    lines = difflib.unified_diff(
        shown.splitlines(), printed.splitlines(), f"docs/tutorial/{name}", "as printed", lineterm=""
    )
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    stale = 0
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        if needs_the_book(text) and not BOOK.exists():
            print(f"{page.name}: not built, because the book is not here")
            continue
        if needs_languages(text) and not LANGUAGES.exists():
            print(f"{page.name}: not built, because the texts in several languages are not here")
            continue
        try:
            now = built(text)
        except BuildError as error:
            print(f"{page.name}: {error}")
            stale += 1
            continue
        if now != text and "--write" in arguments:
            page.write_text(now, encoding="utf-8")
            print(f"{page.name}: written")
        elif now != text:
            print(difference(page.name, text, now))
            stale += 1
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
