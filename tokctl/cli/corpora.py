"""`tokctl corpora`: named texts that are bundled, or downloaded on demand."""

import io
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tokctl.cli.command import Command, CommandGroup
from tokctl.cli.options.others import CorpusName, FactsJson
from tokctl.cli.world import Console

if TYPE_CHECKING:
    from tokctl.sources.corpora import Corpus

EXAMPLES = """Examples:

  tokctl corpora list
  tokctl train $(tokctl corpora path sample)
  tokctl train $(tokctl corpora fetch treasure-island)

Downloaded texts are kept in $TOKCTL_CACHE, by default ~/.cache/tokctl."""


def register(app: typer.Typer) -> None:
    """Add the group `tokctl corpora` and its commands to `app`."""
    corpora = typer.Typer(cls=CommandGroup, no_args_is_help=True, rich_markup_mode="rich")
    declare = partial(corpora.command, cls=Command, epilog=EXAMPLES)
    declare("list", short_help="Show every named text.")(list_)
    declare("path")(path_)
    declare("fetch", short_help="Download a text, and print its path.")(fetch)
    help_ = "The bundled sample, and known texts in the public domain."
    app.add_typer(corpora, name="corpora", help=help_, epilog=EXAMPLES)


def list_(context: typer.Context, json: FactsJson = False) -> None:
    """Show every named text: its name, kind, bytes, path (empty if it is not downloaded yet)
    and title, separated by tabs; on a terminal, a table.
    """  # noqa: D205 (one paragraph of the help)
    from tokctl.sources.corpora import list_corpora

    world: Console = context.obj
    corpora = list_corpora()
    if json:
        _write_json(world, [_facts(corpus) for corpus in corpora])
    elif world.stdout_is_terminal:
        from tokctl.report.terminal import console
        from tokctl.report.training import show_corpora

        shown = io.TextIOWrapper(world.stdout, encoding="utf-8", write_through=True)
        try:
            show_corpora(console(shown, color=world.wants_color(True), is_terminal=True), corpora)
        finally:
            shown.detach()
    else:
        for corpus in corpora:
            where = os.fsencode(corpus.path) if corpus.path else b""
            facts = f"{corpus.name}\t{corpus.kind}\t{corpus.bytes}\t".encode()
            world.stdout.write(facts + where + f"\t{corpus.title}\n".encode())


def path_(context: typer.Context, name: CorpusName, json: FactsJson = False) -> None:
    """Print the path of a text that is on this machine."""
    from tokctl.sources.corpora import corpus_path

    _show_path(context.obj, name, corpus_path(name), json=json)


def fetch(context: typer.Context, name: CorpusName, json: FactsJson = False) -> None:
    """Download a text, check its checksum, and print its path. A text that is already here is
    not downloaded again.
    """  # noqa: D205 (one paragraph of the help)
    from tokctl.cli.progress import ProgressDisplay
    from tokctl.sources.corpora import fetch_corpus

    world: Console = context.obj
    with ProgressDisplay(world) as bars:
        path = fetch_corpus(name, progress=lambda done, total: bars("fetch", done, total))
    _show_path(world, name, path, json=json)


def _show_path(world: Console, name: str, path: Path, *, json: bool) -> None:
    if json:
        from tokctl.sources.corpora import list_corpora

        found = next(corpus for corpus in list_corpora() if corpus.name == name)
        _write_json(world, _facts(found))
    else:
        world.stdout.write(os.fsencode(path) + b"\n")


def _facts(corpus: "Corpus") -> dict[str, Any]:
    from tokctl.cli.streams import text_or_bytes

    return {
        "name": corpus.name,
        "title": corpus.title,
        "kind": corpus.kind,
        "path": text_or_bytes(os.fsencode(corpus.path)) if corpus.path else None,
        "address": corpus.address,
        "bytes": corpus.bytes,
        "sha256": corpus.sha256,
        "licence": corpus.licence,
    }


def _write_json(world: Console, value: Any) -> None:
    from tokctl.core import orjson

    world.stdout.write(orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE))
