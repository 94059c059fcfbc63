"""What `train` and `corpora` show to people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tokctl.recipe import Merge, TrainingRecord
from tokctl.render.console import visible
from tokctl.sources.corpora import Corpus

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer

#: Merges at either end of the history that are shown.
_ENDS = 5

#: Columns of the summary's labels.
_LABEL = 12


def show_training(
    console: Console, tokenizer: Tokenizer, seconds: Mapping[str, float], *, verbose: bool = False
) -> None:
    """The summary of a training: what was read, what came of it, and how long it took."""
    record = tokenizer.model.training
    if record is None:
        return
    recipe = tokenizer.recipe
    merges = tokenizer.merges
    special = len(tokenizer.special_ids)
    documents = "document" if record.documents == 1 else "documents"
    rows = [("read", f"{record.documents:,} {documents}, {record.bytes:,} bytes")]
    if verbose:
        rows.append(("sha256", record.sha256))
        facts = [recipe.algorithm, recipe.units, recipe.splitting, recipe.score]
        rows.append(("recipe", f"{recipe.name}: {', '.join(facts)}, {recipe.tie_break}"))
    rows += [
        ("pre-tokens", f"{record.pre_tokens:,} ({record.distinct_pre_tokens:,} distinct)"),
        ("alphabet", f"{record.alphabet_size:,}"),
        ("merges", f"{len(merges):,}"),
        ("vocabulary", f"{tokenizer.vocab_size:,}" + (f" ({special} special)" if special else "")),
    ]
    if len(merges) > 2 * _ENDS:
        rows.append(("first", _merge_list(tokenizer, merges[:_ENDS])))
        rows.append(("last", _merge_list(tokenizer, merges[-_ENDS:])))
    elif merges:
        rows.append(("all merges", _merge_list(tokenizer, merges)))
    rows.append(("seconds", ", ".join(f"{phase} {time:.2f}" for phase, time in seconds.items())))
    for label, text in rows:
        _print_row(console, label, _visible_line(text))
    if record.exhausted:
        why = _why_stopped(tokenizer.vocab_size, record)
        console.print(Text(why, style="yellow"), soft_wrap=True)


def _print_row(console: Console, label: str, text: str) -> None:
    """A label and its text, which goes on under itself where the line is full."""
    first, *more = wrap(text, max(20, console.width - _LABEL), break_long_words=False) or [""]
    line = Text(f"{label:<{_LABEL}}", style="bold").append(first, style="not bold")
    console.print(line, soft_wrap=True)
    for part in more:
        console.print(Text(" " * _LABEL + part), soft_wrap=True)


def _visible_line(text: str) -> str:
    """The text with what a terminal would obey escaped; its spaces stay."""
    return " ".join(map(visible, text.split(" ")))


def _merge_list(tokenizer: Tokenizer, merges: Sequence[Merge]) -> str:
    tokens = tokenizer.tokens
    return ", ".join(
        f"{visible(tokens[merge.left])} {visible(tokens[merge.right])}" for merge in merges
    )


def _why_stopped(size: int, record: TrainingRecord) -> str:
    limits = []
    if record.min_frequency > 1:
        limits.append(f"occurs {record.min_frequency:,} times")
    if record.max_token_length is not None:
        limits.append(f"makes a token of {record.max_token_length:,} at most")
    which = f" that {' and '.join(limits)}" if limits else ""
    return f"stopped at {size:,} of {record.vocab_size:,}: no pair{which} is left to merge"


@dataclass(frozen=True)
class StateWord:
    """One pre-token of a corpus state: its count, its tokens, whether the step changed it."""

    count: int
    tokens: list[str]
    changed: bool


@dataclass(frozen=True)
class TrainingStep:
    """The corpus state behind one merge.

    Attributes:
        number: from 1; 0 is the state before the first merge.
        merge: what was merged, and `names` its left, right and new token; None and empty
            for step 0.
        words: those to show; `more` is how many are left out.
    """

    number: int
    merge: Merge | None
    names: tuple[str, ...]
    words: list[StateWord]
    more: int


def show_steps(console: Console, steps: Iterable[TrainingStep], score: str) -> None:
    """Corpus states, step by step; a word that the step has changed is marked with `*`."""
    for step in steps:
        console.print(Text(_step_title(step, score), style="bold cyan"), soft_wrap=True)
        width = max((len(f"{word.count:,}") for word in step.words), default=0)
        for word in step.words:
            names = " ".join(map(visible, word.tokens))
            mark, style = ("*", "bold") if word.changed else (" ", "")
            line = Text(f"  {word.count:>{width},} {mark} {names}", style=style)
            console.print(line, soft_wrap=True)
        if step.more:
            more = "more changed" if step.number else "more"
            console.print(Text(f"  … and {step.more:,} {more}", style="dim"))
    console.print()


def _step_title(step: TrainingStep, score: str) -> str:
    if step.merge is None:
        return "before the first merge"
    left, right, token = map(visible, step.names)
    return f"step {step.number}: {left} + {right} → {token}  ({_why(score, step.merge)})"


def _why(score: str, merge: Merge) -> str:
    if score == "count":
        return f"count {merge.count:,}"
    value = merge.count / (merge.left_count * merge.right_count)
    return f"score {merge.count:,} / ({merge.left_count:,} * {merge.right_count:,}) = {value:.4g}"


def show_corpora(console: Console, corpora: Sequence[Corpus]) -> None:
    """The named corpora as a table."""
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("name", no_wrap=True)
    table.add_column("bytes", justify="right", no_wrap=True)
    table.add_column("here", no_wrap=True)
    table.add_column("what it is")
    for corpus in corpora:
        here = "yes" if corpus.path else "fetch"
        table.add_row(corpus.name, f"{corpus.bytes:,}", here, f"{corpus.title} ({corpus.licence})")
    console.print(table)
