"""How a word is split, and why not otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tokctl.explain import Candidate, Explanation, Leftover, Match, MatchedWord, MergedWord
from tokctl.render.console import visible
from tokctl.render.inspect.merges import decimal
from tokctl.render.inspect.plain import as_lines, brief, brief_segmentation, named, shown

#: Losing pairs that a terminal is shown at each step.
LOSERS = 5
#: Tokens of one state that a terminal is shown.
TOKENS = 200


def word_lines(explanation: Explanation) -> str:
    """Each line says first what it is: `word`, `symbols`, `step`, `match`, `rest`, `unknown`,
    `tokens`."""
    rows: list[Iterable[str]] = []
    for word in explanation.words:
        rows.append(("word", _text(word)))
        rows += _merged_rows(word) if isinstance(word, MergedWord) else _matched_rows(word)
        rows.append(("tokens", shown(word.tokens)))
    return as_lines(rows)


def _merged_rows(word: MergedWord) -> Iterator[Iterable[str]]:
    yield "symbols", shown(word.symbols)
    for step in word.steps:
        merge = step.merge
        figures = [str(merge.count), *([str(merge.score)] if merge.score is not None else [])]
        pair = shown((merge.left, merge.right))
        yield "step", str(merge.step), pair, visible(merge.token), *figures, shown(step.state)
    for rest in word.leftovers:
        yield "rest", shown((rest.left, rest.right)), _why(rest)


def _matched_rows(word: MatchedWord) -> Iterator[Iterable[str]]:
    for match in word.matches:
        found = "-" if match.token is None else visible(match.token)
        yield "match", visible(match.stretch), found, _tried(match)
    if word.failure:
        yield "unknown", _failure(word)


def _text(word: MergedWord | MatchedWord) -> str:
    return visible(word.data.decode("utf-8", "backslashreplace"))


def _why(rest: Leftover) -> str:
    if rest.reason == "unknown":
        return "not in the alphabet"
    if rest.reason == "passed":
        return f"came up after step {rest.step:,}, which merges them"
    return "never merged in training"


def _tried(match: Match) -> str:
    if not match.longer_count:
        return "nothing longer is left"
    names = [visible(name) for name in match.longer]
    if match.longer_count > len(names):
        names.insert(1, "…")
    return f"no token: {', '.join(names)}"


def _failure(word: MatchedWord) -> str:
    failure = word.failure
    assert failure is not None
    if failure.reason == "too-long":
        return (
            f"{named(failure.characters, 'character')}; words of more than {failure.limit:,} "
            "are unknown as a whole"
        )
    where = "nothing fits" if failure.rest == word.data.decode() else "nothing fits the rest"
    return f"{where}, {visible(failure.rest)}: the whole word is unknown"


def show_word(console: Console, explanation: Explanation) -> None:
    if not explanation.words:
        console.print("The pre-tokenizer leaves nothing of this text: it has no tokens.")
    for number, word in enumerate(explanation.words):
        if number:
            console.print()
        title = Text(f"{brief(_text(word))}  ", style="bold")
        title.append_text(brief_segmentation(word.tokens, TOKENS))
        console.print(title)
        if isinstance(word, MergedWord):
            _show_merged(console, word)
        else:
            _show_matched(console, word)


def _show_merged(console: Console, word: MergedWord) -> None:
    scored = any(step.merge.score is not None for step in word.steps)
    table = Table.grid(padding=(0, 2))
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold", ratio=2)
    table.add_column(overflow="fold", ratio=3)
    table.add_row("", Text("symbols", style="dim"), brief_segmentation(word.symbols, TOKENS))
    for step in word.steps:
        merge = step.merge
        pair = Text(f"{brief(merge.left)} + {brief(merge.right)}")
        if len(step.places) > 1:
            pair.append(f", {len(step.places)} times")
        figures = f"count {merge.count:,}"
        if scored:
            figures += f"\nscore {merge.score} ≈ {decimal(merge)}"
        state = brief_segmentation(step.state, TOKENS)
        if step.losers:
            state.append(f"\nlater: {_losers(step.losers)}", style="dim")
        table.add_row(f"{merge.step:,}", pair.append(f"\n{figures}", style="dim"), state)
    console.print(table)
    for rest in word.leftovers:
        text = Text("  not merged: ", style="dim")
        text.append(f"{brief(rest.left)} + {brief(rest.right)}")
        console.print(text.append(f"  {_why(rest)}", style="dim"))


def _losers(losers: tuple[Candidate, ...]) -> str:
    names = [
        f"{brief(pair.left)} + {brief(pair.right)} (step {pair.step:,})" for pair in losers[:LOSERS]
    ]
    if len(losers) > LOSERS:
        names.append(f"{len(losers) - LOSERS} more")
    return ", ".join(names)


def _show_matched(console: Console, word: MatchedWord) -> None:
    table = Table.grid(padding=(0, 2))
    table.add_column(overflow="fold")
    table.add_column(overflow="fold", style="dim")
    for match in word.matches:
        if match.token is None:
            table.add_row(brief(match.stretch), "no token fits: unknown")
        else:
            table.add_row(brief_segmentation([match.token], 1), _tried(match))
    if word.matches:
        console.print(table)
    if word.failure:
        console.print(f"{_failure(word)}.")
