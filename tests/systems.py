"""What some tests need of the system that they run on: marks that say it, and what is done in
another way on each system. What only one kind of system has is asked for here alone."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

UNIX = os.name == "posix"

#: The signal that ends another process at once: on Windows each but Ctrl-C does.
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)
#: The exit code of who is ended so.
KILLED = -KILL if UNIX else 1

#: Those that a process hears from another, and ends by in good order.
ENDING = (signal.SIGTERM, signal.SIGINT) if UNIX else ()


def needs(there: bool, what: str) -> pytest.MarkDecorator:
    """The mark of a test that is skipped where that is not there."""
    return pytest.mark.skipif(not there, reason=f"needs {what}")


def _can_link() -> bool:
    """On Windows that is a privilege."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            Path(folder, "link").symlink_to("nowhere")
        except (OSError, NotImplementedError):
            return False
    return True


def _says(program: str, word: str) -> bool:
    """Is that program there, and that word in what it says of its version?"""
    if not (UNIX and shutil.which(program)):
        return False
    return word in subprocess.run([program, "--version"], capture_output=True, text=True).stdout


any_name = needs(UNIX, "files whose names hold anything")
fork = needs(hasattr(os, "fork"), "fork")
limits = needs(UNIX, "measures and limits of what one process takes")
full_device = needs(Path("/dev/full").exists(), "a device that is full")
gnu_tar = needs(_says("tar", "GNU"), "GNU's tar")
linux = needs(sys.platform == "linux", "Linux, which tells and limits what a process takes")
named_pipes = needs(hasattr(os, "mkfifo"), "named pipes")
non_blocking = needs(UNIX, "pipes that do not block")
rights = needs(UNIX, "rights of files as Unix has them")
groups = needs(UNIX, "groups of processes that end together")
kept_out = needs(UNIX and os.geteuid() != 0, "somebody whom the rights of files keep out")
shell = needs(UNIX and shutil.which("bash") is not None, "a Unix shell")
signals = needs(UNIX, "signals that a process can send to another")
streams = needs(Path("/dev/stdout").exists(), "streams that have names of files")
symlinks = needs(_can_link(), "the right to make symbolic links")
terminals = needs(UNIX, "pseudo terminals")


def unix_module(name: str) -> Any:
    """A module of Python that is there on Unix alone, for tests that have nothing without it."""
    return pytest.importorskip(name, reason=f"needs Unix: its module {name}")


def no_file_grows(size: int) -> Callable[[], None]:
    """What a process calls at its start, by `preexec_fn`: no file that it writes is longer."""
    import resource

    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
