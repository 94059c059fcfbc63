"""`tokctl completion`: what a shell needs to complete command lines of tokctl."""

import typer

from tokctl.cli import options
from tokctl.cli.world import World

EXAMPLES = """Examples:

  tokctl completion bash >~/.local/share/bash-completion/completions/tokctl
  tokctl completion zsh >~/.zfunc/_tokctl
  tokctl completion fish >~/.config/fish/completions/tokctl.fish
  source <(tokctl completion bash)

Make the folder first where there is none. The last is for
one session. A shell that is started afterwards completes
commands, options, the values of options that have a fixed
set of them, and names of files. It starts nothing for that.
bash needs its package bash-completion for the first; zsh
the folder in its path, in front of compinit in ~/.zshrc:

  fpath=(~/.zfunc $fpath)"""

SHORT = "Write the completion script of a shell."


def register(app: typer.Typer) -> None:
    app.command("completion", cls=options.Command, epilog=EXAMPLES, short_help=SHORT)(completion)


def completion(context: typer.Context, shell: options.Shell) -> None:
    """Write the script that completes command lines of tokctl in a shell to stdout."""
    from tokctl.cli.shells import INSTALLED, SCRIPTS

    world: World = context.obj
    world.stdout.write((INSTALLED / SCRIPTS[shell][0]).read_bytes())
