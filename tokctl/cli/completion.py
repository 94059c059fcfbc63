"""`tokctl completion`: the script that completes tokctl command lines in a shell."""

import typer

from tokctl.cli.command import add_command
from tokctl.cli.options.others import Shell
from tokctl.cli.world import Console

EXAMPLES = """Examples:

  tokctl completion bash >~/.local/share/bash-completion/completions/tokctl
  tokctl completion zsh >~/.zfunc/_tokctl
  tokctl completion fish >~/.config/fish/completions/tokctl.fish
  source <(tokctl completion bash)

Create the folder first if it doesn't exist. The last example
works for one session only. The next shell that you start
completes commands, options, option values that come from a
fixed set, and file names, without starting tokctl. The first
example needs the package bash-completion. zsh needs the
folder in its fpath, before compinit in ~/.zshrc:

  fpath=(~/.zfunc $fpath)"""

SHORT = "Write the completion script for a shell."


def register(app: typer.Typer) -> None:
    """Add `tokctl completion` to `app`."""
    add_command(app, completion, epilog=EXAMPLES, short_help=SHORT)


def completion(context: typer.Context, shell: Shell) -> None:
    """Write a script to stdout that lets your shell complete tokctl command lines."""
    from tokctl.cli.installed import INSTALLED, SCRIPTS

    world: Console = context.obj
    world.stdout.write((INSTALLED / SCRIPTS[shell]).read_bytes())
