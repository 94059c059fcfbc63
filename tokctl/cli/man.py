"""`tokctl man`: the manual page of a command."""

import typer

from tokctl.cli import options
from tokctl.cli.world import World
from tokctl.errors import TokctlError

EXAMPLES = """Examples:

  tokctl man
  tokctl man encode
  tokctl man corpora fetch
  tokctl man encode >tokctl-encode.1

An installation has the same pages under share/man, where
man finds them: man tokctl-encode."""

SHORT = "Show the manual page of a command."


def register(app: typer.Typer) -> None:
    app.command("man", cls=options.Command, epilog=EXAMPLES, short_help=SHORT)(man)


def man(
    context: typer.Context,
    command: options.CommandWords = None,
) -> None:
    """Show the manual page of a command: on a terminal by man, else as it is written, in roff."""
    from tokctl import __version__
    from tokctl.cli import paging
    from tokctl.cli.shells import manual, tree

    world: World = context.obj
    root = tree.whole()
    asked = ("tokctl", *(command or ()))
    found = next((each for each in root.every() if each.path == asked), None)
    if found is None:
        names = ", ".join(each.path[1] for each in root.commands)
        raise TokctlError(f"there is no command {' '.join(asked[1:])!r}", f"choose one of: {names}")
    page = manual.page(found, root, __version__).encode("ascii")
    if not paging.pipe(world, "man -l -", page):
        world.stdout.write(page)
