"""`tokctl adapt`: removes and adds tokens of a trained model, and moves its embeddings."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tokctl.cli import model_output, streams
from tokctl.cli.command import add_command
from tokctl.cli.options.adapt import AdaptOutputOptions, AdaptTexts, EmbeddingOptions, PruneOptions
from tokctl.cli.options.shared import Model, TrainErrors
from tokctl.cli.options.sources import ListedTexts
from tokctl.cli.world import Console
from tokctl.core.errors import BadInput, BadOption, ExitCode, TokctlError, printable
from tokctl.core.humanize import listed, percent, plural

if TYPE_CHECKING:
    from tokctl.cli.progress import ProgressDisplay
    from tokctl.extras.adapt import Adaptation, CarriedMatrix, MovedTokens, Residues
    from tokctl.formats import Format
    from tokctl.tokenizer import Tokenizer

EXAMPLES = """Examples:

  tokctl adapt gpt2.json --prune 32K a.txt -o b.json
  tokctl adapt gpt2.json --min-uses 1 a.txt -o b.json
  tokctl adapt gpt2.json --residues 0.05 a.txt -o b.json
  tokctl adapt gpt2.json --vocab 60K a.txt -o b.json
  tokctl adapt m.json --special-token '<x>' -o b.json
  tokctl adapt gpt2.json --prune 32K books.txt \\
      --vocab 34K --new-text code.txt -o b.json
  tokctl adapt gpt2.json --prune 32K a.txt -o b.json \\
      --embeddings model.safetensors \\
      --new-embeddings new.safetensors --map ids.jsonl

--prune and --min-uses remove the tokens that the texts use
least. A model of merges loses only tokens that no remaining
token is merged from; their uses are then added to those of
their two parts. Of equally used tokens, the one with the
highest id goes first. Special and added tokens, bytes and
single characters stay.

--residues removes merged tokens that occur almost only
inside longer ones (LiteToken, arXiv 2602.04706). The new
model still makes them, splits them, and merges the parts
again; only tokctl's own format can express this. Roots and
affixes, which merge with many others, stay; see
--residue-entropy.

--vocab learns new tokens by further merges, as
train --extend does. A token that was removed and is
learned again gets its embedding back.

With --keep-ids, unused ids are filled with special tokens
<|unused_ID|>; in a .tiktoken file, where ids are merge
ranks, they are holes, and new tokens get the ids after the
last.

Embeddings: the rows of remaining tokens are copied, and so
are all other tensors, byte for byte.

The path of the new model goes to stdout, on a line of its
own; everything else goes to stderr.

Exit codes: 0 success; 1 --verify found that a remaining
token has moved (then nothing is written); 2 bad usage or
input."""

SHORT = "Remove tokens from a trained model, and learn new ones."


def register(app: typer.Typer) -> None:
    """Add `tokctl adapt` to `app`."""
    add_command(app, adapt, epilog=EXAMPLES, short_help=SHORT)


def adapt(
    context: typer.Context,
    texts: AdaptTexts = None,
    model: Model = None,
    errors: TrainErrors = "strict",
    *,
    changes: PruneOptions,
    written: AdaptOutputOptions,
    rows: EmbeddingOptions,
    sources: ListedTexts,
) -> None:
    """Adapt a trained model to other texts: remove the tokens that they hardly use, learn new
    ones, and move the embeddings of the language model to the new ids.
    """  # noqa: D205 (one paragraph of the help)
    world: Console = context.obj
    path, names = model_and_texts(world, texts, model, sources.format)
    if rows.new_embeddings == "-":
        raise BadOption(
            "embeddings can't go to stdout", "name a file: --new-embeddings PATH", "bad-value"
        )
    if written.output is None or written.output == "-":
        raise BadOption("the new model needs a file", "name one: -o PATH", "missing-option")
    tokenizer = streams.load_model(world, path)
    prunes = (
        changes.prune is not None or changes.min_uses is not None or changes.residues is not None
    )
    counted = prunes or (changes.vocab is not None and not changes.new_text)
    twice = prunes and changes.vocab is not None and not changes.new_text
    check_texts(
        sources, names, changes.new_text or (), written.verify or (), counted=counted, twice=twice
    )
    usual = "tokctl" if changes.residues is not None else own_form(tokenizer.format)
    form = model_output.form_of(written.to, written.output, usual)
    check_places(world, written.output, form, written.map_file, rows.new_embeddings)
    check_embeddings(tokenizer, rows)
    others = sources.without_lists()
    opened = sources.open(world, names) if counted else []
    learned = others.open(world, changes.new_text) if changes.new_text else None
    checked = others.open(world, written.verify) if written.verify else []
    streams.refuse_models(
        (*names, *(changes.new_text or ())), [*opened, *(learned or [])], sources.format
    )

    from tokctl.cli.progress import ProgressDisplay
    from tokctl.core.values import available_threads
    from tokctl.extras.adapt import adapt as adapted
    from tokctl.formats import saving

    with ProgressDisplay(world) as bars:
        found = adapted(
            tokenizer,
            prune=changes.prune,
            min_uses=changes.min_uses,
            residues=changes.residues,
            residue_entropy=changes.residue_entropy,
            texts=opened,
            vocab_size=changes.vocab,
            new_texts=learned,
            special_tokens=changes.special or (),
            added_tokens=changes.added or (),
            keep_ids=changes.keep_ids,
            errors=errors,
            threads=written.threads,
            progress=bars,
        )
        after = found.tokenizer
        planned = model_output.plan(world, after.model, form, lossy=written.lossy)
        paths = planned.paths(written.output, form)
        model_output.check_paths(world, paths)
        saving.check_neighbours(planned.files, written.output, form)
        moved = None
        if checked:
            moved = found.moved(checked, threads=written.threads or available_threads())
            check_moved(world, moved)
        carried = carry_embeddings(found, rows, bars)
    if written.map_file is not None:
        found.save_map(written.map_file)
    saving.write(planned.files, written.output, form)
    for line in report(found, changes.vocab, carried):
        world.say(printable(line))
    for extra_file in paths if form.is_folder else paths[1:]:
        world.say(f"note: {'in it' if form.is_folder else 'with it'}: {printable(extra_file)}")
    if written.json:
        from tokctl.core import orjson

        said = facts(found, written.output, form, paths, carried, moved)
        world.stdout.write(orjson.dumps(said, option=orjson.OPT_APPEND_NEWLINE))
    elif not streams.is_same_file(world.stdout, written.output):
        world.stdout.write(os.fsencode(written.output) + b"\n")


# -- before the work ------------------------------------------------------------------------


def model_and_texts(
    world: Console, texts: Sequence[str] | None, model: str | None, source_format: str
) -> tuple[str, list[str]]:
    """Return the path of the model to adapt, and the texts among the arguments.

    Raises:
        TokctlError: several models are named.
    """
    leading, names = streams.leading_models(world, "adapt", texts, model is not None, source_format)
    if len(leading) > 1:
        raise BadOption(
            f"{leading[1]} is a second model, and {leading[0]} is the one to adapt",
            "name one model, then the texts",
            "conflict",
        )
    return streams.model_path(world, leading[0] if leading else model), names


def check_embeddings(tokenizer: "Tokenizer", rows: EmbeddingOptions) -> None:
    """Raise TokctlError if the embeddings or vectors do not fit the model or the options."""
    if rows.embeddings is None:
        return
    from tokctl.extras.adapt.embeddings import check_new_rows, check_weights
    from tokctl.extras.adapt.focus import check_vectors

    check_new_rows(rows.new_rows, rows.vectors)
    check_weights(tokenizer, rows.embeddings, rows.tensor or ())
    if rows.vectors is not None:
        check_vectors(rows.vectors)


def check_texts(
    sources: ListedTexts,
    names: Sequence[str],
    new_text: Sequence[str],
    verify: Sequence[str],
    *,
    counted: bool,
    twice: bool,
) -> None:
    """Raise TokctlError if texts are given that nothing reads, or if stdin would be read twice.

    Args:
        sources: how texts are read, and the lists that name texts.
        names: the texts to count on.
        new_text: the texts to learn from.
        verify: the texts to verify on.
        counted: the texts in `names` are needed.
        twice: the texts in `names` are read twice, for pruning and for learning.
    """
    if not counted and (names or sources.lists):
        name = (*names, *sources.lists)[0]
        raise BadOption(
            f"no option uses the text {name}",
            "add --prune, --min-uses or --residues, which count its tokens, or --vocab without "
            "--new-text, which learns from it",
            "conflict",
        )
    if not (counted or new_text or verify):
        sources.check_needed("--prune, --min-uses, --residues and --vocab read texts")
    from_stdin = [*names, *new_text, *verify, *sources.lists].count("-")
    from_stdin += counted and not names and not sources.lists
    if from_stdin > 1 or (twice and ("-" in names or not (names or sources.lists))):
        raise BadOption(
            "stdin can't be read twice",
            "put the text into a file, or name another one with --new-text",
            "conflict",
        )


def own_form(name: str | None) -> str:
    """Return the format `name` if tokctl writes it, else `tokctl`."""
    from tokctl.formats import FORMATS

    return next((one.name for one in FORMATS if one.name == name and one.writes), "tokctl")


def check_places(
    world: Console,
    output: str,
    form: "Format",
    map_file: str | None,
    new_embeddings: str | None,
) -> None:
    """Raise TokctlError if the model, the map or the embeddings can't be written to their paths."""
    model_output.check_target(world, output, form)
    if map_file == "-":
        raise BadOption("the map can't go to stdout", "name a file: --map FILE", "bad-value")
    if map_file is not None:
        with streams.named("--map"):
            streams.check_output(world, map_file)
    if new_embeddings is not None and not Path(new_embeddings).is_dir():
        with streams.named("--new-embeddings"):
            streams.check_output(world, new_embeddings)


def check_moved(world: Console, moved: "MovedTokens") -> None:
    """Print what the verification found.

    Raises:
        TokctlError: a remaining token would be segmented differently (exit code 1), or the texts
            are empty.
    """
    if not moved.lines:
        raise BadInput("can't verify with an empty text", "name another one")
    world.say(f"verified: {moved}")
    if moved.left_out:
        lines = plural(moved.left_out, "line")
        world.say(f"note: not compared: {lines} with a character that a model has no token for")
    for one in moved.examples:
        world.say(f"  {printable(str(one))}: {printable(repr(one.token))} is made no more")
        for name, tokens in (("before", one.before), ("now", one.after)):
            world.say(f"    {name:<8}{'  '.join(printable(repr(token)) for token in tokens)}")
    if moved.moved:
        raise TokctlError(
            f"{plural(moved.moved, 'token')} of the texts that the model keeps would be split "
            "differently: nothing is written",
            "keep more tokens, or leave --verify out to write the model anyway",
            "condition-failed",
            exit_code=ExitCode.CONDITION_FAILED,
        )


# -- after it -------------------------------------------------------------------------------


def carry_embeddings(
    found: "Adaptation", rows: EmbeddingOptions, bars: "ProgressDisplay"
) -> "list[CarriedMatrix]":
    """Write the embeddings of the new model; return an empty list if none are to be written."""
    if rows.embeddings is None or rows.new_embeddings is None:
        return []
    return found.carry_embeddings(
        rows.embeddings,
        rows.new_embeddings,
        tensors=rows.tensor or (),
        new_rows=rows.new_rows,
        vectors=rows.vectors,
        progress=bars,
    )


def report(found: "Adaptation", vocab: int | None, carried: "Sequence[CarriedMatrix]") -> list[str]:
    """Return the lines of the summary: the sizes, and the tokens and embeddings that changed."""
    before, after = found.before.vocab_size, found.tokenizer.vocab_size
    lines = [f"{plural(before, 'id')} before, {after:,} now"]
    if gone := len(found.removed) + len(found.restored):
        said = f"{plural(gone, 'token')} taken away"
        if found.uses is not None:
            uses, total = found.uses
            said += f", {plural(uses, 'use')} of {total:,} in the texts"
            said += f" ({percent(uses / total)})" if uses else ""
        lines.append(said)
    if residues := found.residues:
        lines += of_residues(residues)
    if new := len(found.new) + len(found.restored):
        back = f", {len(found.restored):,} of which had been taken away" if found.restored else ""
        lines.append(f"{plural(new, 'token')} added{back}")
    if vocab is not None and found.size < vocab:
        lines.append(f"note: the text gives no more: {vocab:,} tokens were asked for")
    if found.holes:
        holes = plural(len(found.holes), "id")
        lines.append(f"{holes} without a token: filled with special tokens <|unused_ID|>")
    for one in carried:
        rows = f"{plural(one.rows_before, 'row')} before, {one.rows:,} now"
        lines.append(f"{one.tensor}: {one.dtype} x {one.dimensions:,}, {rows}")
        made = [
            f"{one.kept:,} as they were",
            *([f"{one.by_pieces:,} the mean of their pieces"] if one.by_pieces else []),
            *([f"{one.by_focus:,} by FOCUS"] if one.by_focus else []),
            *([f"{one.by_mean:,} the mean of all"] if one.by_mean else []),
            *([f"{one.zeros:,} zeros"] if one.zeros else []),
        ]
        lines.append(f"  rows: {listed(made)}")
        if one.rows_before > before:
            left = plural(one.rows_before - before, "row")
            lines.append(f"  left out: {left} after the last id, which padded it")
    for name in carried[0].alike if carried else ():
        lines.append(
            f"note: {name} has a side of {carried[0].rows_before:,}, too, and is copied as it is; "
            "if it has a row for each id, name it with --tensor"
        )
    if carried:
        lines.append(f"with it: {', '.join(carried[0].files)}")
        lines.append(f'note: the language model\'s config.json must say: "vocab_size": {after}')
    return lines


def of_residues(residues: "Residues") -> list[str]:
    """Return lines with the number of residues and the five that the texts make most often."""
    many, judged = len(residues.found), residues.judged
    share = f" ({percent(many / judged)})" if judged else ""
    made = plural(judged, "merged token")
    lines = [f"{plural(many, 'residue')} among {made} that the texts make{share}"]
    for one in residues.examples[:5]:
        whole = one.final + one.intermediate
        lines.append(
            f"  {one.token!r}: FI ratio {one.ratio:.4g} ({one.final:,} of {whole:,}), entropy "
            f"{one.entropy:.4g}"
        )
    return lines


def facts(
    found: "Adaptation",
    output: str,
    form: "Format",
    paths: Sequence[str],
    carried: "Sequence[CarriedMatrix]",
    moved: "MovedTokens | None",
) -> dict[str, Any]:
    """Return the facts that `--json` writes."""
    from dataclasses import asdict

    return {
        "path": model_output.json_path(output),
        "format": form.name,
        "files": [model_output.json_path(one) for one in paths],
        "vocab_size_before": found.before.vocab_size,
        "vocab_size": found.tokenizer.vocab_size,
        "removed": len(found.removed) + len(found.restored),
        "added": len(found.new) + len(found.restored),
        "restored": len(found.restored),
        "holes": len(found.holes),
        "uses_removed": found.uses and found.uses[0],
        "uses": found.uses and found.uses[1],
        "residues": found.residues and found.residues.to_dict(),
        "embeddings": [asdict(one) for one in carried],
        "verified": moved and moved.to_dict(),
    }
