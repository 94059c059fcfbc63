"""What `train --show-steps` shows: corpus states of merges, rounds of a Unigram training."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from tokctl.model import Merge, Round
from tokctl.render.visible import visible

#: Dropped pieces of one round that are shown.
_DROPPED = 5


def show_rounds(console: Console, rounds: Sequence[Round]) -> None:
    """Rounds of a Unigram training: what was left, and what was dropped first."""
    for number, found in enumerate(rounds, 1):
        title = f"round {number}: {found.pieces:,} pieces, {found.objective:.4f} nats per pre-token"
        console.print(Text(title, style="bold cyan"), soft_wrap=True)
        facts = f"expected tokens {found.tokens:,}; unused {found.unused:,}"
        console.print(Text(f"  {facts}; dropped {found.dropped:,}"), soft_wrap=True)
        shown = [
            visible(piece) if loss is None else f"{visible(piece)} ({loss:.3g})"
            for piece, loss in found.examples[:_DROPPED]
        ]
        if shown:
            what = "dropped" if found.examples[0][1] is None else "dropped with the highest loss"
            console.print(Text(f"  {what}: {', '.join(shown)}"), soft_wrap=True)
    console.print()


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
