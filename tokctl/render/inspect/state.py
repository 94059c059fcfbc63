"""A corpus state, the words that the last step changed marked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tokctl.analysis.explain import MergeRecord, PreTokenState
from tokctl.render.inspect.plain import as_lines, brief, brief_segmentation, shown
from tokctl.wording import plural

#: Tokens of one word that a terminal is shown.
LONGEST = 60


def state_lines(words: Sequence[PreTokenState]) -> str:
    """Count and tokens of each word; of one that the step has changed, the tokens that it was
    before."""
    return as_lines(map(_fields, words))


def _fields(word: PreTokenState) -> Iterator[str]:
    yield str(word.count)
    yield shown(word.tokens)
    if word.before is not None:
        yield shown(word.before)


def show_state(
    console: Console, words: Sequence[PreTokenState], merge: MergeRecord | None, limit: int
) -> None:
    """Up to `limit` words; `merge` is the step that led here, None before the first."""
    console.print(_title(merge))
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True, width=1)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_column(overflow="fold")
    places = _fitting(words, limit)
    for before, place in pairwise([-1, *places, len(words)]):
        if place - before > 1:
            table.add_row("", "", Text(f"… {plural(place - before - 1, 'word')}", style="dim"))
        if place < len(words):
            table.add_row(*_row(words[place]))
    console.print(table)
    facts = [plural(len(words), "word")]
    if merge:
        changed = sum(word.changed for word in words)
        marks = ", marked * and [ ]"
        facts.append(f"{changed:,} changed by this step" + (marks if changed else ""))
    if len(places) < len(words):
        facts.append(f"--limit {len(words)} shows all")
    console.print(Text("; ".join(facts), style="dim"))


def _fitting(words: Sequence[PreTokenState], limit: int) -> list[int]:
    """The places of the words to show: the first ones, and half of the lines are kept for
    words that the step has changed, which the tie rule may have put at the end."""
    if len(words) <= limit:
        return list(range(len(words)))
    changed = [place for place, word in enumerate(words) if word.changed][: limit // 2]
    first = [place for place in range(limit) if place not in changed][: limit - len(changed)]
    return sorted([*first, *changed])


def _row(word: PreTokenState) -> tuple[Text, str, Text, Text]:
    mark = Text("*", style="bold green") if word.changed else Text("")
    state = brief_segmentation(word.tokens, LONGEST, word.places)
    before = Text()
    if word.before is not None:
        before.append("was ", style="dim")
        before.append_text(brief_segmentation(word.before, LONGEST))
    return mark, f"{word.count:,}", state, before


def _title(merge: MergeRecord | None) -> Text:
    if merge is None:
        return Text("Before the first merge", style="bold")
    title = Text(f"After step {merge.step:,}: ", style="bold")
    title.append(f"{brief(merge.left)} + {brief(merge.right)} → {brief(merge.token)}")
    return title
