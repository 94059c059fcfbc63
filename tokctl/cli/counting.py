"""`tokctl encode --count`: checks its options, counts tokens, and writes the table."""

from __future__ import annotations

import os
import shutil
import unicodedata
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any

from tokctl.cli import streams
from tokctl.cli.options.declaring import choose
from tokctl.cli.options.encode import FormOptions
from tokctl.cli.options.sources import ListedTexts
from tokctl.cli.streams import json_line, text_or_bytes
from tokctl.cli.world import Console
from tokctl.core.errors import BadOption, ExitCode, TokctlError, printable
from tokctl.core.humanize import listed

if TYPE_CHECKING:
    from tokctl.cli.chat import Chats
    from tokctl.tokenizer import Tokenizer
    from tokctl.tokenizer.token_counts import CountOptions, FileCount, TokenCounts

SORTS = ("tokens", "bytes", "name")

#: Errors that are reported one by one; further errors are only counted.
_SHOWN_ERRORS = 20

#: Cells that a file name or a column heading keeps on the narrowest terminal.
_LEAST = 10


def count(
    world: Console,
    files: Sequence[str] | None,
    models: Sequence[str] | None,
    sources: ListedTexts,
    count_options: CountOptions,
    form: FormOptions,
    *,
    cache_memory: int | None = None,
    chats: Chats | None = None,
) -> int:
    """Count tokens, write the table, and report the files that could not be counted.

    Args:
        world: the streams.
        files: the texts; None or empty: stdin.
        models: the paths of the models, one column each; None: `$TOKCTL_MODEL`.
        sources: how texts are read, and lists of more texts.
        count_options: how each text is encoded.
        form: the form, the order and the path of the table.
        cache_memory: bytes for each model's cache of pre-tokens; None: the default.
        chats: the texts are conversations, with `--chat`.

    Returns:
        The exit code: 2 if some file could not be counted.
    """
    from tokctl.cli.progress import ProgressDisplay
    from tokctl.tokenizer.token_counts import FileCount, TokenCounts, rows

    if form.sort is not None:
        choose("--sort", form.sort, SORTS)
    paths = list(models) if models else [streams.model_path(world, None)]
    output = form.output
    if (file := streams.output_file(output)) is not None:
        streams.check_output(world, file)
    tokenizers = _load(world, paths, count_options, cache_memory)
    texts = sources.open(world, files)
    if chats is not None and chats.options.chat:
        if len(paths) > 1:
            raise BadOption(
                "--chat takes the template of one model, and there are several",
                "count with one model at a time",
                "conflict",
            )
        (tokenizer,) = tokenizers.values()
        texts = chats.rendered(world, texts, tokenizer, paths[0])
    start = perf_counter()
    counts = TokenCounts(tuple(tokenizers), [], [])
    with ProgressDisplay(world) as bars:
        for row in rows(texts, list(tokenizers.values()), count_options, bars):
            if isinstance(row, FileCount):
                counts.files.append(row)
            else:
                counts.failures.append(row)
    seconds = perf_counter() - start
    if form.sort:
        counts.files.sort(key=_key(form.sort))
    if counts.files or not counts.failures:
        named = bool(files) or sources.files_from is not None or sources.files0_from is not None
        with streams.output(world, output) as out:
            width = shutil.get_terminal_size().columns if world.stdout_is_terminal else None
            width = None if out is not world.stdout else width
            out.write(_written(counts, form, named=named, width=width))
        world.stdout.flush()
    _tell(world, counts)
    if world.verbose:
        world.say(_summary(counts, list(tokenizers.values()), count_options, seconds))
    return ExitCode.BAD_INPUT if counts.failures else ExitCode.DONE


def _key(order: str) -> Callable[[FileCount], tuple[int, bytes]]:
    """Return the sort key of a row: highest figures first, equal ones by the bytes of the name.

    Comparing bytes makes the order independent of the locale.
    """
    figures: dict[str, Callable[[FileCount], int]] = {
        "tokens": lambda row: -row.tokens[0],
        "bytes": lambda row: -row.bytes,
        "name": lambda _: 0,
    }
    return lambda row: (figures[order](row), os.fsencode(row.name))


def _load(
    world: Console, paths: list[str], count_options: CountOptions, cache_memory: int | None
) -> dict[str, Tokenizer]:
    """Load the models by name, and check that each can be used with `count_options`."""
    from tokctl.tokenizer.model_names import name_files
    from tokctl.tokenizer.token_counts import TokenCounter

    loaded = {}
    for name, path in name_files(paths).items():
        tokenizer = streams.load_model(world, path, cache_memory=cache_memory)
        loaded[name] = tokenizer
        try:
            TokenCounter(tokenizer, count_options)
        except TokctlError as error:
            if len(paths) == 1:
                raise
            raise error.reworded(f"{name}: {error.message}") from None
        if count_options.add_special and not tokenizer.post_processor.added_tokens_count():
            which = "this model" if len(paths) == 1 else name
            world.say(f"note: {which}'s template has no special tokens to add")
    return loaded


def _written(counts: TokenCounts, form: FormOptions, *, named: bool, width: int | None) -> bytes:
    if form.json:
        return as_json(counts)
    if form.csv:
        return as_csv(counts, for_terminal=width is not None)
    return table(counts, named=named, width=width).encode()


def _tell(world: Console, counts: TokenCounts) -> None:
    """Report the first errors, then the number of the others.

    A hint that repeats the one before it is left out.
    """
    said = ""
    for failure in counts.failures[:_SHOWN_ERRORS]:
        hint = failure.error.hint
        world.report(failure.error.reworded(hint=hint if hint != said else ""))
        said = hint
    more = len(counts.failures) - _SHOWN_ERRORS
    if more > 0:
        hint = "--json names them all" if counts.files else ""
        world.report(TokctlError(f"{more:,} more could not be counted", hint))


def _summary(
    counts: TokenCounts, tokenizers: list[Tokenizer], count_options: CountOptions, seconds: float
) -> str:
    """Return how many tokens were counted, how fast, and how much the pre-token caches hold."""
    total = counts.total
    speed = total.bytes / 1e6 / max(seconds, 1e-9)
    tokens = listed([f"{tokens:,}" for tokens in total.tokens])
    remembered = [tokenizer.encoder.cache_stats() for tokenizer in tokenizers]
    entries, size = (sum(column) for column in zip(*remembered, strict=True))
    return (
        f"{tokens} tokens of {total.bytes:,} bytes in {seconds:.2f} s: "
        f"{speed:,.1f} MB/s; threads: {count_options.threads}; "
        f"cache: {entries:,} pre-tokens, {size / 1e6:,.1f} MB"
    )


# -- for programs: names are exact, even if they hold control characters -----------------------


def as_json(counts: TokenCounts) -> bytes:
    """Return the table as one line of JSON.

    `tokens` is a number for one model, and an object by model name for several.
    """
    total = counts.total
    answer: dict[str, Any] = {"files": [_row(counts, row) for row in counts.files]}
    answer |= {key: value for key, value in _row(counts, total).items() if key != "name"}
    if len(counts.models) > 1:
        answer["models"] = [text_or_bytes(os.fsencode(name)) for name in counts.models]
    if counts.failures:
        answer["errors"] = [
            {
                "name": text_or_bytes(os.fsencode(failure.name)),
                "error": text_or_bytes(os.fsencode(failure.error.message)),
            }
            for failure in counts.failures
        ]
    return json_line(answer) + b"\n"


def _row(counts: TokenCounts, row: FileCount) -> dict[str, Any]:
    tokens: Any = row.tokens[0]
    if len(counts.models) > 1:
        names = (os.fsencode(name).decode("utf-8", "backslashreplace") for name in counts.models)
        tokens = dict(zip(names, row.tokens, strict=True))
    return {
        "name": text_or_bytes(os.fsencode(row.name)),
        "tokens": tokens,
        "bytes": row.bytes,
        "documents": row.documents,
    }


def as_csv(counts: TokenCounts, *, for_terminal: bool = False) -> bytes:
    """Return the table as RFC 4180 CSV: a header and a row per file, without totals.

    For a terminal, control characters in names are escaped.
    """
    import csv
    from io import StringIO

    several = len(counts.models) > 1
    tokens = [f"tokens:{name}" for name in counts.models] if several else ["tokens"]
    text = StringIO(newline="")
    writer = csv.writer(text)
    name = printable if for_terminal else str
    writer.writerow([*map(name, tokens), "bytes", "documents", "name"])
    writer.writerows(
        [*row.tokens, row.bytes, row.documents, name(row.name)] for row in counts.files
    )
    return os.fsencode(text.getvalue())


# -- for people: aligned columns, as `wc` prints them ------------------------------------------


def table(counts: TokenCounts, *, named: bool, width: int | None) -> str:
    """Return aligned lines with the tokens of each model, the bytes and, if `named`, the file name.

    A line of totals follows several rows. With several models, a heading names the columns.

    Args:
        counts: the counts to show.
        named: add a column with the names of the files.
        width: cells of the terminal; longer names are shortened in the middle. None: never shorten.
    """
    rows = counts.files if len(counts.files) == 1 else [*counts.files, counts.total]
    figures = [_figures(row) for row in rows]
    least = [max(map(len, column)) for column in zip(*figures, strict=True)]
    lines = [(shown, printable(row.name)) for shown, row in zip(figures, rows, strict=True)]
    if len(counts.models) > 1:
        headings = [*map(printable, counts.models), "bytes"]
        if width is not None and _together(headings, least) > width - _LEAST * named:
            headings = [
                shortened(heading, max(_LEAST, size))
                for heading, size in zip(headings, least, strict=True)
            ]
        lines = [(headings, "name"), *lines]
    widths = [max(map(cells, column)) for column in zip(*(line[0] for line in lines), strict=True)]
    room = None if width is None else max(_LEAST, width - sum(widths) - len(widths))
    return "".join(
        " ".join(_right(figure, size) for figure, size in zip(shown, widths, strict=True))
        + (f" {shortened(name, room)}" if named else "")
        + "\n"
        for shown, name in lines
    )


def _figures(row: FileCount) -> list[str]:
    return [*map(str, row.tokens), str(row.bytes)]


def _together(headings: Sequence[str], least: Sequence[int]) -> int:
    """Return the cells of all columns, each followed by a space."""
    sizes = [max(cells(head), size) for head, size in zip(headings, least, strict=True)]
    return sum(sizes) + len(sizes)


def _right(text: str, width: int) -> str:
    return " " * (width - cells(text)) + text


def shortened(text: str, room: int | None) -> str:
    """Return `text` in at most `room` cells, with … for its middle.

    The end gets two thirds of the room, since the end of a path tells the most.
    """
    if room is None or cells(text) <= room:
        return text
    before, after = (room - 1) // 3, room - 1 - (room - 1) // 3
    return f"{_start(text, before)}…{_start(text[::-1], after)[::-1]}"


def _start(text: str, room: int) -> str:
    """Return the longest prefix of `text` that fits into `room` cells."""
    for place, char in enumerate(text):
        room -= cells(char)
        if room < 0:
            return text[:place]
    return text


def cells(text: str) -> int:
    """Return the number of terminal cells that `text` takes."""
    if text.isascii():
        return len(text)
    return sum(map(_cells, text))


def _cells(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
