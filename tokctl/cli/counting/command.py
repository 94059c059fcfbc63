"""How `tokctl encode --count` runs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

from tokctl.cli import overlaps, streams
from tokctl.cli.counting import machine
from tokctl.cli.counting.table import table
from tokctl.cli.progress import Bars
from tokctl.cli.streams import Sources
from tokctl.cli.world import World
from tokctl.errors import ExitCode, TokctlError
from tokctl.tokenizer.token_counts import FileCount, Settings, TokenCounts, rows
from tokctl.tokenizer.token_counts.counters import counter
from tokctl.wording import listed

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer

#: Errors that are told one by one.
_TOLD = 20


@dataclass(frozen=True)
class Shown:
    """In which form, and in which order."""

    json: bool = False
    csv: bool = False
    sort: str | None = None


def count(
    world: World,
    files: Sequence[str] | None,
    models: Sequence[str] | None,
    sources: Sources,
    settings: Settings,
    shown: Shown,
    output: str | None,
) -> int:
    """Counts, shows what was counted, then says what could not be; returns the exit code."""
    paths = list(models) if models else [streams.model_path(world, None)]
    if output is not None and output != "-":
        for path in paths:
            streams.check_output(
                world, output, overlaps.named_files(files or ["-"]) or [os.devnull], path
            )
    tokenizers = _load(world, paths, settings)
    texts = sources.open(world, files)
    overlaps.check_apart(world, overlaps.names_of(texts), [output or "-"])
    start = perf_counter()
    counts = TokenCounts(tuple(tokenizers), [], [])
    with Bars(world) as bars:
        for row in rows(texts, list(tokenizers.values()), settings, bars):
            if isinstance(row, FileCount):
                counts.files.append(row)
            else:
                counts.failures.append(row)
    seconds = perf_counter() - start
    if shown.sort:
        counts.files.sort(key=_key(shown.sort))
    if counts.files or not counts.failures:
        named = bool(files) or sources.files_from is not None or sources.files0_from is not None
        with streams.output(world, output) as out:
            width = shutil.get_terminal_size().columns if world.stdout_is_terminal else None
            width = None if out is not world.stdout else width
            out.write(_written(counts, shown, named=named, width=width))
        world.stdout.flush()
    _tell(world, counts)
    if world.verbose:
        world.say(_summary(counts, list(tokenizers.values()), settings, seconds))
    return ExitCode.BAD_INPUT if counts.failures else ExitCode.DONE


def _key(order: str) -> Callable[[FileCount], tuple[int, bytes]]:
    """What rows are sorted by. Figures fall, and names decide between equal ones: by their
    bytes, in any locale."""
    figures: dict[str, Callable[[FileCount], int]] = {
        "tokens": lambda row: -row.tokens[0],
        "bytes": lambda row: -row.bytes,
        "name": lambda _: 0,
    }
    return lambda row: (figures[order](row), os.fsencode(row.name))


def _load(world: World, paths: list[str], settings: Settings) -> dict[str, Tokenizer]:
    """The models by name, each checked to go with the settings."""
    from tokctl.tokenizer.model_names import name_files

    loaded = {}
    for name, path in name_files(paths).items():
        tokenizer = loaded[name] = streams.load_model(world, path)
        try:
            counter(tokenizer, settings)
        except TokctlError as error:
            if len(paths) == 1:
                raise
            raise TokctlError(f"{name}: {error.message}", error.hint) from None
        if settings.add_special and not tokenizer.post_processor.added_tokens_count():
            which = "this model" if len(paths) == 1 else name
            world.say(f"note: {which}'s template has no special tokens to add")
    return loaded


def _written(counts: TokenCounts, shown: Shown, *, named: bool, width: int | None) -> bytes:
    if shown.json:
        return machine.as_json(counts)
    if shown.csv:
        return machine.as_csv(counts)
    return table(counts, named=named, width=width).encode()


def _tell(world: World, counts: TokenCounts) -> None:
    """The first errors, a hint where it is another than the one before, and how many more."""
    said = None
    for failure in counts.failures[:_TOLD]:
        hint = failure.error.hint
        world.report(TokctlError(failure.error.message, hint if hint != said else None))
        said = hint
    more = len(counts.failures) - _TOLD
    if more > 0:
        hint = "--json names them all" if counts.files else None
        world.report(TokctlError(f"{more:,} more could not be counted", hint))


def _summary(
    counts: TokenCounts, tokenizers: list[Tokenizer], settings: Settings, seconds: float
) -> str:
    """How much was counted, how fast, and what the encoders remember of it."""
    total = counts.total
    speed = total.bytes / 1e6 / max(seconds, 1e-9)
    tokens = listed([f"{tokens:,}" for tokens in total.tokens])
    remembered = [tokenizer.encoder.cache_stats() for tokenizer in tokenizers]
    entries, size = (sum(column) for column in zip(*remembered, strict=True))
    return (
        f"{tokens} tokens of {total.bytes:,} bytes in {seconds:.2f} s: "
        f"{speed:,.1f} MB/s; threads: {settings.threads}; "
        f"cache: {entries:,} pre-tokens, {size / 1e6:,.1f} MB"
    )
