"""Completion scripts and manual pages, generated beforehand by `python -m tests.tools.shells`.

The package keeps the files for `tokctl completion` and `tokctl man`; the wheel also installs them
under `share/` of its prefix, where shells and `man` look.
"""

from collections.abc import Sequence
from pathlib import Path

#: The folder of the package with the files; paths below it are those below the prefix.
INSTALLED = Path(__file__).parents[1] / "installed" / "data"

#: The path of each shell's completion script.
SCRIPTS = {
    "bash": "share/bash-completion/completions/tokctl",
    "zsh": "share/zsh/site-functions/_tokctl",
    "fish": "share/fish/vendor_completions.d/tokctl.fish",
}


def page_path(command: Sequence[str]) -> str:
    """Return the path of a command's manual page, for example of `("tokctl", "encode")`."""
    return f"share/man/man1/{'-'.join(command)}.1"
