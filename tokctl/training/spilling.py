"""Temporary files for counts that do not fit a limit of memory."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryFile, gettempdir
from typing import NoReturn

from tokctl.errors import TokctlError


class Spill:
    """Gives the core room outside of memory: files without a name.

    On Linux they never have one; elsewhere they lose it at once. So whatever ends the process,
    nothing stays behind.
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        """`folder`: where the files are made; None: the system's, as `tempfile` finds it."""
        self.folder = folder

    def scratch(self) -> Scratch:
        """A new file, empty. TokctlError where none can be made."""
        return Scratch(self.folder)


class Scratch:
    """One such file. Written at its end, read anywhere; it goes when nobody has it any more."""

    def __init__(self, folder: str | Path | None) -> None:
        self._end = 0
        self._folder = folder
        try:
            self._folder = folder or gettempdir()
            # No buffer: blocks come large, and are read once.
            self._file = TemporaryFile(  # noqa: SIM115
                buffering=0, prefix=".tokctl-", dir=self._folder
            )
        except (OSError, ValueError) as error:
            self._fail(error)

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            self._file.close()

    def append(self, data: bytes) -> None:
        """Writes all of `data`, or raises TokctlError."""
        left = memoryview(data)
        try:
            self._file.seek(self._end)
            while left:
                written = self._file.write(left)
                self._end += written
                left = left[written:]
        except OSError as error:
            self._fail(error)

    def read(self, at: int, size: int) -> bytes:
        """The bytes from `at` on, fewer only where the file ends; TokctlError."""
        parts = []
        try:
            self._file.seek(at)
            while size and (part := self._file.read(size)):
                parts.append(part)
                size -= len(part)
        except OSError as error:
            self._fail(error)
        return b"".join(parts)

    def _fail(self, error: Exception) -> NoReturn:
        reason = getattr(error, "strerror", None) or str(error)
        raise TokctlError(
            f"can't keep counts in a temporary file in {self._folder or 'any folder'}: {reason}",
            "they go there because of --memory: name a folder with more room in $TMPDIR, or allow "
            "more memory",
        ) from None
