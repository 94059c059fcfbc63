"""The health of a model: what was found, the worst first; what passed; what was not checked."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tokctl.analysis.health import Example, Finding, Health
from tokctl.render.console import visible
from tokctl.render.inspect.plain import as_lines, brief, readable
from tokctl.wording import plural

#: Marks and styles; each mark stands beside its word, for those who see no colour.
_MARKS = {
    "error": ("✗ error", "bold red"),
    "warning": ("! warning", "bold yellow"),
    "info": ("· info", "bold cyan"),
    "passed": ("✓ passed", "bold green"),
    "not made": ("- not made", "dim"),
}
_WIDEST = max(len(mark) for mark, _ in _MARKS.values())
#: Bytes of a token that are written out beside it.
_MOST_BYTES = 8


def health_lines(name: str, health: Health) -> str:
    """Lines that begin with what they are; the verdict comes last."""
    return as_lines(_rows(name, health))


def _rows(name: str, health: Health) -> Iterator[list[str]]:
    yield ["model", visible(name), str(health.vocab_size)]
    if health.texts:
        sizes = [str(health.texts.bytes), str(health.texts.tokens)]
        yield ["texts", str(len(health.texts.names)), *sizes]
    for finding in health.findings:
        yield [finding.severity, *_counted(finding)]
        for one in finding.examples:
            id_ = "-" if one.id is None else str(one.id)
            yield ["example", finding.name, id_, visible(one.token), one.data.hex(), _note(one)]
    for finding in health.passed:
        yield ["passed", *_counted(finding)]
    for check in health.not_made:
        yield ["not made", check.name, readable(check.reason)]
    yield ["verdict", health.verdict, _tally(health)]


def _counted(finding: Finding) -> list[str]:
    numbers = [str(finding.count), str(finding.of), finding.things, str(finding.undecided)]
    return [finding.name, *numbers]


def show_health(console: Console, name: str, health: Health) -> None:
    title = Text("Health of ", style="bold")
    title.append(readable(name))
    console.print(title)
    if health.texts:
        what = plural(len(health.texts.names), "text")
        if health.texts.documents != len(health.texts.names):
            what += f" of {plural(health.texts.documents, 'document')}"
        sizes = f"{health.texts.bytes:,} bytes, {plural(health.texts.tokens, 'token')}"
        facts = f"on {what}: {sizes}"
        console.print(Text(facts, style="dim"))
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, width=_WIDEST)
    table.add_column(overflow="fold")
    for finding in health.findings:
        table.add_row("", "")
        table.add_row(_mark(finding.severity), _headline(finding))
        said = " ".join(part for part in (finding.what, finding.detail) if part)
        table.add_row("", Text(readable(said)))
        if finding.examples:
            table.add_row("", _examples(finding, console.width - _WIDEST - 2))
        if finding.severity != "info":
            table.add_row("", Text(f"→ {finding.why}", style="dim"))
    if health.passed:
        table.add_row("", "")
        names = [finding.name + _undecided(finding) for finding in health.passed]
        table.add_row(_mark("passed"), Text(", ".join(names)))
    by_reason: dict[str, list[str]] = {}
    for check in health.not_made:
        by_reason.setdefault(check.reason, []).append(check.name)
    if by_reason:
        table.add_row("", "")
    first = _mark("not made")
    for reason, names in by_reason.items():
        table.add_row(first, Text(f"{', '.join(names)}: {readable(reason)}", style="dim"))
        first = Text("")
    console.print(table)
    console.print()
    verdict = Text("Verdict: ", style="bold")
    verdict.append(_mark(health.verdict))
    verdict.append(f"; {_tally(health)}")
    console.print(verdict)
    console.print(Text("docs/health.md says of each check what to do.", style="dim"))


def _mark(name: str) -> Text:
    mark, style = _MARKS[name]
    return Text(mark, style=style)


def _headline(finding: Finding) -> Text:
    text = Text(finding.name, style="bold")
    text.append(f"  {finding.count:,} of {finding.of:,} {finding.things}", style="not bold")
    text.append(_undecided(finding), style="not bold")
    return text


def _undecided(finding: Finding) -> str:
    return f" ({finding.undecided:,} undecided)" if finding.undecided else ""


def _examples(finding: Finding, width: int) -> Text:
    """Side by side, and none cut at the end of a line that fits on the next."""
    shown = [_example(one) for one in finding.examples]
    # Of a text's tokens each is shown once, however often it is counted.
    more = finding.count - len(shown) if finding.things != "tokens of the text" else 0
    if more > 0:
        shown.append(Text(f"… {more:,} more", style="dim"))
    text, filled = Text(), 0
    for one in shown:
        size = one.cell_len
        gap = "" if not filled else "\n" if filled + 2 + size > width else "  "
        filled = size if gap != "  " else filled + 2 + size
        text.append(gap)
        text.append(one)
    return text


def _example(one: Example) -> Text:
    text = Text()
    if one.id is not None:
        text.append(f"#{one.id} ", style="dim")
    text.append(brief(one.token), style="cyan")
    notes = [note for note in (_bytes(one), _note(one)) if note]
    text.append(f" ({'; '.join(notes)})" if notes else "", style="dim")
    return text


def _bytes(one: Example) -> str:
    """The bytes of a token whose spelling does not show them."""
    plain = all(0x20 <= byte < 0x7F for byte in one.data)
    if one.id is None or plain or one.token.encode("utf-8", "surrogatepass") == one.data:
        return ""
    return one.data[:_MOST_BYTES].hex(" ") + (" …" if len(one.data) > _MOST_BYTES else "")


def _note(one: Example) -> str:
    return readable(one.note)


def _tally(health: Health) -> str:
    found = [
        plural(sum(one.severity == severity for one in health.findings), *words)
        for severity, words in (
            ("error", ("error",)),
            ("warning", ("warning",)),
            ("info", ("note",)),
        )
    ]
    passed = f"{plural(len(health.passed), 'check')} passed"
    return ", ".join([*found, passed, f"{len(health.not_made):,} not made"])
