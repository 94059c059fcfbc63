"""`tokctl man`: the manual page of a command."""

import typer

from tokctl.cli.command import COMMANDS, add_command
from tokctl.cli.options.others import CommandWords
from tokctl.cli.world import Console
from tokctl.core.errors import BadOption

EXAMPLES = """Examples:

  tokctl man
  tokctl man encode
  tokctl man corpora fetch
  tokctl man encode >tokctl-encode.1

The same pages are installed under share/man, where man
finds them: man tokctl-encode."""

SHORT = "Show the manual page of a command."


def register(app: typer.Typer) -> None:
    """Add `tokctl man` to `app`."""
    add_command(app, man, epilog=EXAMPLES, short_help=SHORT)


def man(context: typer.Context, command: CommandWords = None) -> None:
    """Show the manual page of a command: on a terminal with man, elsewhere as its roff source."""
    from tokctl.cli import paging
    from tokctl.cli.installed import INSTALLED, page_path

    world: Console = context.obj
    words = command or []
    path = INSTALLED / page_path(["tokctl", *words])
    if not (all(word.replace("-", "").isalpha() for word in words) and path.is_file()):
        raise BadOption(
            f"there is no command {' '.join(words)!r}",
            f"choose one of: {', '.join(COMMANDS)}",
            "unknown-name",
        )
    page = path.read_bytes()
    if not paging.pipe(world, "man -l -", page):
        world.stdout.write(page)
