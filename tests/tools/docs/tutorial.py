"""The pages of docs/tutorial, and docs/cookbook.md: what stands below a command is what the command
prints.

Every ```console block holds commands (`$ command`; a backslash at the end of a line continues
it) and below each what it prints. The commands of a page run in order, in one new folder, on a
terminal of 80 columns without colour, because that is what a reader has before them.

A ```python block of the tutorial is what the reader adds to `mytok.py`. The file grows from page
to page: at the start of a page it holds the blocks of the pages before. A ```pycon block is one
session of `python` in the same folder: statements (`>>> ` and `... `), and below each what it
prints. In the cookbook a ```python block runs by itself, as `examples` runs it; where a library
that it imports is not installed, it ends there.

    python -m tests.tools.docs.tutorial            # says which pages are stale, and how
    python -m tests.tools.docs.tutorial --write    # writes into the pages what the commands print
"""

from __future__ import annotations

import difflib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "docs" / "tutorial"


def _number(page: Path) -> int:
    """The number that a page's name starts with; 0 without one."""
    number = page.stem.partition("-")[0]
    return int(number) if number.isdigit() else 0


PAGES = sorted(FOLDER.glob("*.md"), key=_number)
COOKBOOK = ROOT / "docs" / "cookbook.md"
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


@dataclass(frozen=True)
class Session:
    """A block of Python that is run, statement by statement.

    Attributes:
        statements: the lines of each, with `>>> ` or `... ` before them, and of what it prints.
        line: the number of the block's first line in the page, from 1.
    """

    statements: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]
    line: int

    @property
    def sources(self) -> list[str]:
        return ["\n".join(line[4:] for line in lines) for lines, _ in self.statements]


@dataclass(frozen=True)
class Added:
    """What the reader adds to `mytok.py`."""

    code: str


def parts(text: str) -> Iterator[str | Step | Session | Added]:
    """The lines of a page, one by one, with the steps, the sessions and the code of its blocks."""
    lines = iter(enumerate(text.splitlines(), start=1))
    for number, line in lines:
        yield line
        if line not in ("```console", "```python", "```pycon"):
            continue
        block: list[str] = []
        for _, inside in lines:
            if inside == "```":
                break
            block.append(inside)
        else:
            raise BuildError(f"line {number}: the {line[3:]} block has no end")
        if line == "```python":
            yield Added("\n".join(block) + "\n")
            yield from block
        elif line == "```pycon":
            grouped = _grouped(block, ">>> ", lambda _, next_: next_.startswith("..."), number)
            yield Session(tuple((command, output) for command, output, _ in grouped), number)
        else:
            grouped = _grouped(block, "$ ", lambda last, _: last.endswith("\\"), number)
            for command, output, start in grouped:
                yield Step(command, output, start)
        yield "```"


def _grouped(
    block: Sequence[str], prompt: str, goes_on: Callable[[str, str], bool], number: int
) -> list[tuple[tuple[str, ...], tuple[str, ...], int]]:
    """The commands of a block, what stands below each, and the number of its first line."""
    found: list[tuple[list[str], list[str], int]] = []
    for place, line in enumerate(block, start=number + 1):
        if found and not found[-1][1] and goes_on(found[-1][0][-1], line):
            found[-1][0].append(line)
        elif line.startswith(prompt):
            found.append(([line], [], place))
        elif found:
            found[-1][1].append(line)
        else:
            raise BuildError(f"line {place}: a block starts with `{prompt}…`")
    return [(tuple(command), tuple(output), start) for command, output, start in found]


def code_before(page: Path) -> str:
    """What `mytok.py` holds at the start of a page."""
    pages = PAGES[: PAGES.index(page)] if page in PAGES else []
    texts = [one.read_text(encoding="utf-8") for one in pages]
    return "\n\n".join(code for text in texts if (code := code_of(text)))


def code_of(text: str) -> str:
    """What a page adds to `mytok.py`."""
    return "\n\n".join(part.code for part in parts(text) if isinstance(part, Added))


def steps(text: str) -> list[Step]:
    return [part for part in parts(text) if isinstance(part, Step)]


def needs_the_book(text: str) -> bool:
    """Whether a command of the page reads Treasure Island, which the project does not hold."""
    return any("treasure-island" in step.shell for step in steps(text))


def needs_languages(text: str) -> bool:
    """Whether a command of the page reads the texts in several languages."""
    return any("udhr" in step.shell for step in steps(text))


def built_page(page: Path, text: str) -> str:
    """`built`, of a page of the tutorial or of the cookbook."""
    if page == COOKBOOK:
        return built(text, grows=False)
    return built(text, code_before(page))


def built(text: str, before: str = "", *, commands: bool = True, grows: bool = True) -> str:
    """The page with the output that its commands and its Python have here.

    Args:
        before: what `mytok.py` holds already.
        grows: whether Python blocks are added to `mytok.py`; else each runs by itself.
        commands: whether the console blocks run; what Python prints needs none of them.

    Raises a BuildError for a command that fails (one that is meant to fail is followed by
    `|| …`), or whose output names a folder of this machine.
    """
    lines: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        reader = Reader(Path(folder))
        reader.adds(before)
        if needs_languages(text) and LANGUAGES.exists():
            shutil.copytree(LANGUAGES, reader.folder / "udhr")
        if not commands and needs_the_book(text):
            shutil.copy(BOOK, reader.folder)  # as a command of the page would
        for part in parts(text):
            if isinstance(part, str):
                lines.append(part)
            elif isinstance(part, Added):
                (reader.adds if grows else reader.calls)(part.code)
            elif isinstance(part, Session):
                printed = reader.tries(part)
                for (statement, _), output in zip(part.statements, printed, strict=True):
                    lines += [*statement, *output]
            else:
                lines += [*part.command, *(reader.runs(part) if commands else part.output)]
    return "\n".join(lines) + "\n"


#: Runs statements as `python` does for someone who types them; what each prints goes out as JSON.
_TYPED = """
import code, contextlib, io, json, os, sys
sys.path.insert(0, os.getcwd())
shell = code.InteractiveInterpreter({"__name__": "__main__"})
for source in json.load(sys.stdin):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        if shell.runsource(source + chr(10)):
            print("Traceback: the statement has no end")
    print(json.dumps(printed.getvalue()))
"""


class Reader:
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
        status, printed = on_a_terminal(step.shell, self.folder, self.environ)
        text = _STYLES.sub("", printed)
        if status:
            raise BuildError(f"line {step.line}: exit code {status}: {step.shell}\n{text}")
        for private in (str(self.place), str(ROOT), sys.prefix):
            if private in text:
                raise BuildError(f"line {step.line}: {private} is in the output of {step.shell}")
        if re.search(r"[\x00-\x08\x0b-\x1f\x7f]", text) or "```" in text:
            raise BuildError(f"line {step.line}: no page can hold the output of {step.shell}")
        return _page_lines(text)

    def adds(self, code: str) -> None:
        """Code at the end of `mytok.py`, two empty lines before it."""
        mine = self.folder / "mytok.py"
        old = mine.read_text(encoding="utf-8") if mine.exists() else ""
        if code:
            mine.write_text(f"{old}\n\n{code}" if old else code, encoding="utf-8")

    def tries(self, session: Session) -> list[list[str]]:
        """What each statement of a session prints."""
        done = subprocess.run(
            [sys.executable, "-B", "-c", _TYPED],
            input=json.dumps(session.sources).encode(),
            capture_output=True,
            cwd=self.folder,
            env=self.environ | {"PYTHONHASHSEED": "0"},
            timeout=TIMEOUT_SECONDS,
            check=True,
        )
        printed = [json.loads(line) for line in done.stdout.splitlines()]
        for source, text in zip(session.sources, printed, strict=True):
            if "Traceback" in text or "SyntaxError" in text:
                raise BuildError(f"line {session.line}: {source}\n{text}")
            if "```" in text:
                raise BuildError(f"line {session.line}: no page can hold what {source} prints")
        return [_page_lines(text) for text in printed]

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


def _page_lines(text: str) -> list[str]:
    """The lines of an output, without blank ones around and blanks at their ends."""
    lines = [line.rstrip() for line in text.split("\n")]
    while lines and not lines[0]:
        lines.pop(0)
    while lines and not lines[-1]:
        lines.pop()
    return lines


#: A Python block comes from stdin. A library that is missing is none of tokctl's own.
_RUN = """
import sys
from tests.tools.docs.examples import run
try:
    run(sys.stdin.read())
except ModuleNotFoundError as error:
    if error.name.split(".")[0] in ("tokctl", "numpy"):
        raise
"""


def on_a_terminal(command: str, folder: Path, environ: dict[str, str]) -> tuple[int, str]:
    """The exit code of a shell's command and all that its terminal gets."""
    # Here, since there are systems without terminals of this kind, and the module is imported.
    import termios

    ours, theirs = os.openpty()
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
    for page in [*PAGES, COOKBOOK]:
        text = page.read_text(encoding="utf-8")
        if needs_the_book(text) and not BOOK.exists():
            print(f"{page.name}: not built, because the book is not here")
            continue
        if needs_languages(text) and not LANGUAGES.exists():
            print(f"{page.name}: not built, because the texts in several languages are not here")
            continue
        try:
            now = built_page(page, text)
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
