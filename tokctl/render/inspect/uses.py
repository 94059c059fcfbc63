"""Which tokens a text uses, and in which words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tokctl.analysis.explain import Share, TextUse, TokenUse, WordUse
from tokctl.render.console import visible
from tokctl.render.inspect.plain import as_lines, brief, brief_segmentation, shown
from tokctl.wording import percent, plural

#: Tokens of one word that a terminal is shown.
LONGEST = 60
#: Tokens of each list that a terminal is shown.
FEW = 12


def token_use_rows(use: TokenUse | None, limit: int | None) -> Iterator[Iterable[str]]:
    """`uses`: how often, the place by that, of how many tokens used, and the tokens of the
    text. `word`: occurrences, uses in them, the word, its tokens."""
    if use is None:
        return
    place = str(use.place) if use.uses else "-"
    yield "uses", str(use.uses), place, str(use.used), str(use.tokens)
    for word in use.words[:limit]:
        yield "word", str(word.count), str(word.uses), visible(_text(word)), shown(word.tokens)


def show_token_use(console: Console, use: TokenUse, limit: int) -> None:
    """How often a text uses a token, and up to `limit` words that do."""
    if not use.uses:
        console.print(f"Never used in the text, which has {plural(use.tokens, 'token')}.")
        return
    facts = f"Used {plural(use.uses, 'time')} in the text, {_share(use.uses, use.tokens)} of its "
    facts += f"{plural(use.tokens, 'token')}: place {use.place:,} of "
    console.print(facts + f"the {plural(use.used, 'token')} that it uses.")
    table = Table.grid(padding=(0, 2))
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_column(overflow="fold")
    for word in use.words[:limit]:
        times = word.uses // word.count
        often = f"{word.count:,}" + (f", {times} each" if times > 1 else "")
        table.add_row(often, brief(_text(word)), brief_segmentation(word.tokens, LONGEST))
    console.print(table)
    if len(use.words) > limit:
        more = f"{plural(len(use.words) - limit, 'more word')}: --limit {len(use.words)} shows all"
        console.print(Text(more, style="dim"))


def _text(word: WordUse) -> str:
    return word.data.decode("utf-8", "backslashreplace")


def use_lines(use: TextUse) -> str:
    """Each line says first what it is: `tokens`, `unknown`, `emittable`, `used`, `never`;
    `frequent` and `rarest` tokens with their uses, `unused` ones; `place`, `content`,
    `script` and `length` (group, tokens in the vocabulary, used ones, uses)."""
    return as_lines(_rows(use))


def _rows(use: TextUse) -> Iterator[Iterable[str]]:
    yield "tokens", str(use.tokens)
    yield "unknown", str(use.unknown)
    yield "emittable", str(use.emittable)
    yield "used", str(use.used)
    yield "never", str(use.never_count)
    for name, tokens in (("frequent", use.frequent), ("rarest", use.rarest)):
        for token, uses in tokens:
            yield name, visible(token), str(uses)
    for token in use.never:
        yield "unused", visible(token)
    for label, _, groups in _groups(use):
        for group, share in groups.items():
            yield label, group, str(share.tokens), str(share.used), str(share.uses)


def _groups(use: TextUse) -> Iterator[tuple[str, str, Mapping[str, Share]]]:
    yield "place", "by place in the word", use.places
    yield "content", "by content", use.contents
    yield "script", "by script", use.scripts
    lengths = {str(length): share for length, share in use.lengths.items()}
    yield "length", f"by length in {use.unit}", lengths


def show_use(console: Console, use: TextUse, limit: int) -> None:
    """What is used of the vocabulary, and which tokens are used most, least and never."""
    facts = f"{plural(use.tokens, 'token')}; the text uses {use.used:,} of the {use.emittable:,} "
    console.print(Text(facts + f"that it could: {_share(use.used, use.emittable)}.", style="bold"))
    if use.unknown:
        share = _share(use.unknown, use.tokens)
        console.print(f"{plural(use.unknown, 'token')} unknown, {share} of all.")
    for title, tokens in (
        ("most frequent", use.frequent),
        ("rarest of those used", use.rarest),
    ):
        if tokens:
            _title(console, title)
            console.print(_counted(tokens[:limit], use.tokens))
    if use.never_count:
        _title(console, f"never used: {use.never_count:,}")
        names = Text(", ".join(map(brief, use.never)))
        more = use.never_count - len(use.never)
        console.print(names.append(f", … {more:,} more" if more else "", style="dim"))
    for _, title, groups in _groups(use):
        _title(console, title)
        console.print(_shares(groups, use.tokens))


def _title(console: Console, title: str) -> None:
    console.print()
    console.print(Text(title, style="bold"))


def _counted(tokens: Iterable[tuple[str, int]], total: int) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(justify="right", no_wrap=True)
    table.add_column(justify="right", no_wrap=True, style="dim")
    table.add_column(overflow="fold")
    for token, uses in tokens:
        table.add_row(f"{uses:,}", _share(uses, total, 2), brief(token))
    return table


def _shares(groups: Mapping[str, Share], total: int) -> Table:
    table = Table(box=box.SIMPLE, pad_edge=False)
    table.add_column("", overflow="fold")
    for name in ("tokens", "used", "", "uses", " "):
        table.add_column(name, justify="right", no_wrap=True)
    for group, share in groups.items():
        table.add_row(
            group,
            f"{share.tokens:,}",
            f"{share.used:,}",
            Text(_share(share.used, share.tokens), style="dim"),
            f"{share.uses:,}",
            Text(_share(share.uses, total), style="dim"),
        )
    return table


def _share(part: int, whole: int, digits: int = 1) -> str:
    return percent(part / whole, digits) if whole else "none"
