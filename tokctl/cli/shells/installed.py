"""The files that an installation has for shells and for man."""

from __future__ import annotations


def files() -> dict[str, str]:
    """Their paths below the prefix (`/usr`, a virtual environment, `~/.local`), and their text."""
    from tokctl import __version__
    from tokctl.cli.shells import bash, fish, manual, tree, zsh

    root = tree.whole()
    found = {
        "share/bash-completion/completions/tokctl": bash.script(root),
        "share/zsh/site-functions/_tokctl": zsh.script(root),
        "share/fish/vendor_completions.d/tokctl.fish": fish.script(root),
    }
    for command in root.every():
        found[f"share/man/man1/{manual.name(command)}.1"] = manual.page(command, root, __version__)
    return found
