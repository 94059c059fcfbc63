"""`tokctl check`: whether folders of shards are complete and unchanged."""

import typer

from tokctl.cli.command import add_command
from tokctl.cli.options.others import CheckFolders
from tokctl.cli.world import Console
from tokctl.core.errors import BadOption, ExitCode, printable
from tokctl.core.humanize import plural

EXAMPLES = """Examples:

  tokctl check shards/
  tokctl check train/ validation/

It needs no model. Each file of the manifest must exist
with the stated size and checksum; the numbers of ids and
documents must match the manifest and add up; and each
index must match its ids.

Exit codes: 0 no faults, 1 there are faults (one per line),
2 there is no manifest, or it was changed."""

SHORT = "Check that folders of shards are complete."


def register(app: typer.Typer) -> None:
    """Add `tokctl check` to `app`."""
    add_command(app, check, epilog=EXAMPLES, short_help=SHORT)


def check(context: typer.Context, folders: CheckFolders = None) -> int:
    """Check that folders of shards are complete and unchanged: compare every file with the
    manifest.
    """  # noqa: D205 (one paragraph of the help)
    world: Console = context.obj
    from tokctl.idfiles.shard_check import check_shards

    if not folders:
        raise BadOption(
            "no folder of shards is named", "name one: tokctl check shards/", "missing-option"
        )
    whole = True
    for folder in folders:
        found = check_shards(folder)
        lines = found.faults or [
            f"{folder}: whole: {plural(found.shards, 'shard')} ({found.form}), "
            f"{plural(found.documents, 'document')}, {plural(found.ids, 'id')}, "
            f"{plural(found.bytes, 'byte')}"
        ]
        world.stdout.write("".join(f"{printable(line)}\n" for line in lines).encode())
        whole = whole and not found.faults
    return ExitCode.DONE if whole else ExitCode.CONDITION_FAILED
