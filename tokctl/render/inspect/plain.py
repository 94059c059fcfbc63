"""Names of tokens, and lines for pipes: a tab between fields, no colour, no boxes."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from rich.text import Text

from tokctl.render.console import drawn, segmentation, visible

#: Characters of a token that people are shown; a token can be a whole book long.
LONGEST_NAME = 48


def as_lines(rows: Iterable[Iterable[str]]) -> str:
    """One line per row. The fields must hold no tab or line feed: names go through `shown`."""
    return "".join("\t".join(row) + "\n" for row in rows)


def shown(tokens: Iterable[str]) -> str:
    """Tokens with a space between them; what would be mistaken for one is made visible."""
    return " ".join(visible(token) for token in tokens)


def readable(text: str) -> str:
    """What a terminal would obey made visible; spaces stay."""
    return " ".join(map(visible, text.split(" ")))


def number(count: int | None, form: str = "d") -> str:
    """A count, or `-` where a file does not know it."""
    return "-" if count is None else format(count, form)


def scored(score: float) -> str:
    """A natural log probability for people."""
    return f"{score:.4f}"


def brief(token: str) -> str:
    """A token for people: made visible, and cut where it is very long."""
    if len(token) <= LONGEST_NAME:
        return drawn(token)
    return f"{drawn(token[: LONGEST_NAME - 12])}… ({len(token):,} long)"


def brief_segmentation(tokens: Sequence[str], most: int, marked: Container[int] = ()) -> Text:
    """Up to `most` tokens side by side, those at `marked` places in brackets, and how many
    more there are."""
    text = segmentation([brief(token) for token in tokens[:most]], marked)
    if len(tokens) > most:
        text.append(f" … {len(tokens) - most:,} more", style="dim")
    return text
