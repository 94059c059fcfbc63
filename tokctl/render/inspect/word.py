"""How a word is split, and why not otherwise."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.text import Text

from tokctl.analysis.explain import (
    Explanation,
    FoundWord,
    LookedUpWord,
    MatchedWord,
    MergedWord,
    ScoredWord,
    Word,
)
from tokctl.render.console import visible
from tokctl.render.inspect.matched import matched_rows, show_matched
from tokctl.render.inspect.merged import TOKENS, merged_rows, show_merged
from tokctl.render.inspect.plain import as_lines, brief, brief_segmentation, shown
from tokctl.render.inspect.scored import (
    found_rows,
    looked_up_rows,
    scored_rows,
    show_found,
    show_looked_up,
    show_scored,
)


def word_lines(explanation: Explanation) -> str:
    """Each line says first what it is: `normalized` (the text, where that changes it),
    `word` (each pre-token), what its kind of model has to say, and `tokens`."""
    rows: list[Iterable[str]] = []
    if explanation.normalized is not None:
        rows.append(("normalized", visible(explanation.normalized)))
    for word in explanation.words:
        rows.append(("word", _text(word)))
        rows += _rows(word)
        rows.append(("tokens", shown(word.tokens)))
    return as_lines(rows)


def _rows(word: Word) -> Iterable[Iterable[str]]:
    match word:
        case MergedWord():
            return merged_rows(word)
        case MatchedWord():
            return matched_rows(word)
        case ScoredWord():
            return scored_rows(word)
        case LookedUpWord():
            return looked_up_rows(word)
        case FoundWord():
            return found_rows(word)


def _text(word: Word) -> str:
    return visible(word.data.decode("utf-8", "backslashreplace"))


def show_word(console: Console, explanation: Explanation) -> None:
    if explanation.normalized is not None:
        line = Text("normalized  ", style="dim")
        console.print(line.append(brief(explanation.normalized), style="not dim"))
    if not explanation.words:
        nothing = "The pre-tokenizer leaves nothing of this text: it has no tokens."
        console.print(nothing if explanation.text else "An empty text has no tokens.")
    for number, word in enumerate(explanation.words):
        if number or explanation.normalized is not None:
            console.print()
        title = Text(f"{brief(_text(word))}  ", style="bold")
        title.append_text(brief_segmentation(word.tokens, TOKENS))
        console.print(title)
        _show(console, word)


def _show(console: Console, word: Word) -> None:
    match word:
        case MergedWord():
            show_merged(console, word)
        case MatchedWord():
            show_matched(console, word)
        case ScoredWord():
            show_scored(console, word)
        case LookedUpWord():
            show_looked_up(console, word)
        case FoundWord():
            show_found(console, word)
