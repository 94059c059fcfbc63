"""The paths that a command reads and writes, so that no output replaces an input."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatch
from typing import Any, BinaryIO, NamedTuple

from tokctl.core import systems
from tokctl.core.errors import BadOption, TokctlError
from tokctl.core.files import FilesRead, status_at

_STDIN = "-"


class Output(NamedTuple):
    """A path that a command writes.

    Attributes:
        path: the path on the command line; `-` is stdout.
        usage: the option and the name of its value, for hints: `-o PATH`.
    """

    path: str
    usage: str

    @property
    def option(self) -> str:
        """The option without the name of its value: `-o`."""
        return self.usage.partition(" ")[0]


class Named(NamedTuple):
    """A path to read that the command line names.

    Attributes:
        path: the path or pattern on the command line.
        reader: the option or argument that names the path.
        whole_folder: if the path is a folder, every file directly in it counts as read.
    """

    path: str
    reader: str
    whole_folder: bool


class Inputs(FilesRead):
    """Inputs and outputs of a command, each checked against all of the other kind.

    The catalogue says which options name paths (`reads` and `writes`), and `declare` takes all
    of them from a command line. Further inputs (members of folders, entries of lists, files beside
    a model) are noted by the functions that open them. Outputs whose names are derived from an
    option's value are added by the command with `write`. The order of these calls does not matter.
    """

    def __init__(self, stdout: Callable[[], BinaryIO]) -> None:
        super().__init__()
        self._stdout = stdout
        self._named: list[Named] = []
        self._outputs: list[Output] = []
        #: Outputs that exist already, by device and inode.
        self._replaced: dict[tuple[int, int], Output] = {}
        #: Folders that will get shards, whose names are not known yet, by device and inode.
        self._filled: dict[tuple[int, int], Output] = {}
        self._folders: dict[str, os.stat_result | None] = {}

    def declare(self, parameters: Sequence[Any], values: Mapping[str, Any]) -> None:
        """Add every path of a parsed command line.

        Args:
            parameters: the command's parameters, each with its entry in the catalogue.
            values: the parsed values by parameter name.

        Raises:
            TokctlError: one path is read and written, or written twice.
        """
        for parameter in parameters:
            if declared := parameter.declared.writes:
                usage = f"{parameter.opts[-1]} {parameter.declared.metavar}"
                given = values[parameter.name]
                if given is None and declared.stdout:
                    given = "-"
                for path in _several(given):
                    if path != "-" or declared.stdout:
                        self.write(path, usage, files_only=True)
        for parameter in parameters:
            if declared := parameter.declared.reads:
                is_option = parameter.param_type_name == "option"
                reader = (
                    parameter.opts[-1] if is_option else parameter.declared.metavar.strip("[].…")
                )
                for value in _several(values[parameter.name]):
                    self.name(declared.path(value), reader, whole_folder=declared.whole_folder)

    def name(self, path: str, reader: str, *, whole_folder: bool = False) -> None:
        """Add a path to read that the command line or the environment names.

        A folder or a pattern stands for the files that are noted when it is opened; of a
        `whole_folder`, every file directly in it counts as read.

        Args:
            path: a file, folder or pattern; `-` (stdin) and an empty path are ignored.
            reader: the option, argument or variable that names the path, for hints.
            whole_folder: count every file directly in the folder as read.
        """
        if path in ("", _STDIN):
            return
        self._named.append(Named(path, reader, whole_folder))
        status = status_at(path)
        if status is None or not (whole_folder and stat.S_ISDIR(status.st_mode)):
            self.read(path, status)
            return
        self._note(path, status)
        with contextlib.suppress(OSError):  # reported when the folder is opened
            for name in os.listdir(path):  # noqa: PTH208
                self.read(os.path.join(path, name))  # noqa: PTH118

    def read(self, path: str, status: os.stat_result | None = None) -> None:
        """Add a regular file to read; other kinds of files can't be replaced, and are ignored.

        Args:
            path: the path of the file.
            status: the status of the file, if it is known already.

        Raises:
            TokctlError: the file is an output, or lies in a folder that gets shards.
        """
        status = status or status_at(path)
        if status is None or not stat.S_ISREG(status.st_mode):
            return
        self._note(path, status)
        if self._filled and path != _STDIN:
            around = os.path.dirname(path) or "."  # noqa: PTH120
            if around not in self._folders:
                self._folders[around] = status_at(around)
            folder = self._folders[around]
            if folder and (output := self._filled.get((folder.st_dev, folder.st_ino))):
                raise self._in_folder(output, path)

    def _note(self, path: str, status: os.stat_result) -> None:
        key = status.st_dev, status.st_ino
        self._paths.setdefault(key, path)
        if output := self._replaced.get(key):
            raise self._refusal(output, path)

    def write(self, path: str, usage: str = "-o PATH", *, files_only: bool = False) -> None:
        """Add an output.

        Args:
            path: the file or folder; `-` is stdout.
            usage: the option that names the path, and the name of its value.
            files_only: skip an existing folder, until the names of the files in it are known.

        Raises:
            TokctlError: the output is also an input, or an output of another option.
        """
        output = Output(path, usage)
        status = status_of(self._stdout()) if path == "-" else status_at(path)
        if path not in ("", "-"):
            for other in self._outputs:
                if other.option != output.option and _is_same(other.path, path):
                    raise BadOption(
                        f"{other.option} and {output.option} name the same file",
                        "give each its own name",
                        "output-taken",
                    )
            if status is None or stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode):
                self._outputs.append(output)
        if status and (
            stat.S_ISREG(status.st_mode) or (stat.S_ISDIR(status.st_mode) and not files_only)
        ):
            key = status.st_dev, status.st_ino
            self._replaced.setdefault(key, output)
            if key in self._paths:
                raise self._refusal(output, self._paths[key])

    def fill(self, folder: str, usage: str = "-o PATH") -> None:
        """Add a folder that gets shards, from which no file may be read.

        Args:
            folder: the path of the folder.
            usage: the option that names the folder, and the name of its value.

        Raises:
            TokctlError: a file directly in the folder is read.
        """
        if status := status_at(folder):
            output = Output(folder, usage)
            self._filled[status.st_dev, status.st_ino] = output
            for path in self._paths.values():
                around = status_at(os.path.dirname(path) or ".")  # noqa: PTH120
                if path != _STDIN and around and os.path.samestat(around, status):
                    raise self._in_folder(output, path)

    def refuse(self, path: str, found: str) -> TokctlError:
        """Return the error for an output that no option of this command line has declared."""
        return self._refusal(Output(path, "-o PATH"), found)

    # -- messages -----------------------------------------------------------------------------

    def _refusal(self, output: Output, text: str) -> TokctlError:
        reader, in_folder = self._reader_of(text)
        if output.path == "-":
            name = "stdin" if text == _STDIN else text
            return BadOption(
                f"stdout goes to {name}, which is one of the files to read",
                "redirect stdout to another file, or leave this file out",
                "output-taken",
            )
        spelled = "" if text in (output.path, _STDIN) else f" as {text}"
        hint = f"choose another place with {output.usage}"
        if in_folder:
            hint += ", or leave it out with --exclude"
        if reader:
            hint = f"{reader} reads it{spelled}; {hint}"
        return BadOption(
            f"can't write {output.path}: it is one of the files to read", hint, "output-taken"
        )

    def _in_folder(self, output: Output, text: str) -> TokctlError:
        reader = self._reader_of(text)[0]
        hint = f"choose another place with {output.usage}, or leave it out with --exclude"
        return BadOption(
            f"can't write shards to {output.path}: {text} in it is one of the files to read",
            f"{reader} reads it; {hint}" if reader else hint,
            "output-taken",
        )

    def _reader_of(self, text: str) -> tuple[str | None, bool]:
        """Return the option that makes the command read a file, and whether it names a text folder.

        The option is None if none is known.
        """
        if text == _STDIN:
            return "stdin", False
        for named in self._named:
            if named.path == text or _is_same(named.path, text):
                return named.reader, False
        for named in self._named:
            if os.path.isdir(named.path) and _is_inside(text, named.path):  # noqa: PTH112
                return named.reader, not named.whole_folder
            if fnmatch(text, named.path.replace("**/", "*")):
                return named.reader, False
        for named in self._named:  # a file next to a model file
            if named.whole_folder and _folder_of(text) == _folder_of(named.path):
                return named.reader, False
        return None, False


def _several(value: Any) -> Iterable[str]:
    """Return the values of an option, which may be missing, single or repeated."""
    return () if value is None else (value,) if isinstance(value, str) else value


def _is_same(first: str, second: str) -> bool:
    """Return whether two paths lead to the same file, which need not exist."""
    return systems.real_path(first) == systems.real_path(second)


def _folder_of(path: str) -> str:
    return os.path.dirname(os.path.realpath(path))  # noqa: PTH120


def _is_inside(path: str, folder: str) -> bool:
    real = os.path.realpath(path)
    return real.startswith(os.path.join(os.path.realpath(folder), ""))  # noqa: PTH118


def status_of(stream: BinaryIO) -> os.stat_result | None:
    """Return the status of the file behind a stream; None for a stream in memory."""
    try:
        return os.fstat(stream.fileno())
    except (OSError, ValueError):
        return None
