"""What was measured, as `results.tsv` and as the table of docs/formats.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tests.tools.zoo.listed import HERE, Listed
from tests.tools.zoo.listed import read as listed

RESULTS = HERE / "results.tsv"
PAGE = Path(__file__).parents[3] / "docs" / "formats.md"
BEGIN, END = "<!-- the zoo's table: python -m tests.tools.zoo --write -->\n", "<!-- end -->\n"


class Row(NamedTuple):
    """One file's result.

    Attributes:
        loads: yes; no; nowhere: the library that defines the file does not read it either.
        lists: damaged id lists whose texts were compared.
        differences: `kind: strings`, of strings (or lists) that differ.
        reason: why it is not read.
    """

    family: str
    kind: str
    name: str
    sha256: str
    loads: str
    strings: str
    lists: str
    differences: str
    reason: str


def row(entry: Listed, found: Mapping[str, Any]) -> Row:
    differ = found.get("differences", {})
    return Row(
        entry.family,
        entry.kind,
        entry.name,
        entry.sha256,
        "yes" if found["loads"] else "no" if found.get("theirs", True) else "nowhere",
        str(found.get("strings", 0)),
        str(found.get("lists", 0)),
        ", ".join(f"{kind}: {differ[kind]}" for kind in sorted(differ)),
        " ".join(found.get("reason", "").split()),
    )


def rows(entries: Iterable[Listed], done: Mapping[str, Mapping[str, Any]]) -> list[Row]:
    return [row(entry, done[entry.sha256]) for entry in entries if entry.sha256 in done]


def line(entry: Listed, found: Mapping[str, Any]) -> str:
    made = row(entry, found)
    said = made.reason or made.differences or "no differences"
    return f"{made.family}\t{made.kind}\t{made.name}\t{made.strings}\t{said}"


def write(made: Iterable[Row]) -> None:
    """Write the measured rows; keep the rows of files that were not measured now."""
    kept = {row.sha256: row for row in read()}
    kept.update((row.sha256, row) for row in made)
    made = sorted(kept[entry.sha256] for entry in listed() if entry.sha256 in kept)
    lines = ["\t".join(Row._fields), *("\t".join(row) for row in made)]
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")
    page = PAGE.read_text(encoding="utf-8")
    before, after = page.split(BEGIN)[0], page.split(END, 1)[1]
    PAGE.write_text(before + BEGIN + markdown(made) + END + after, encoding="utf-8")


def read() -> list[Row]:
    lines = RESULTS.read_text(encoding="utf-8").splitlines()
    return [Row(*line.split("\t")) for line in lines[1:]]


def markdown(made: Iterable[Row]) -> str:
    """A row for each family and kind of file."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for one in sorted(made):
        groups.setdefault((one.family, one.kind), []).append(one)
    text = "| family | file | files | read | strings | id lists | differences "
    text += "| which, or why not |\n|---|---|---|---|---|---|---|---|\n"
    for (family, kind), some in groups.items():
        reads = sum(one.loads == "yes" for one in some)
        strings = sum(int(one.strings) for one in some)
        lists = sum(int(one.lists) for one in some)
        differ = sum((_counts(one) for one in some), Counter[str]())
        said = ", ".join(f"{what} {number:,}" for what, number in sorted(differ.items()))
        reasons = dict.fromkeys(filter(None, map(_reason, some)))
        what = "; ".join(filter(None, (said, *reasons))).replace("|", "\\|")
        text += f"| {family} | {kind} | {len(some)} | {reads} | {strings:,} "
        text += f"| {lists:,} | {sum(differ.values()):,} | {what} |\n"
    return text


def _counts(one: Row) -> Counter[str]:
    """Its differences by kind."""
    pairs = (entry.rsplit(": ", 1) for entry in one.differences.split(", ") if entry)
    return Counter({kind: int(number) for kind, number in pairs})


def _is_compared(one: Row) -> bool:
    return one.loads == "yes" and (one.strings, one.lists) != ("0", "0")


def _reason(one: Row) -> str:
    if one.loads == "yes":
        return "" if _is_compared(one) else "not compared: it comes without cases"
    return f"{'not read there: ' if one.loads == 'nowhere' else 'not read: '}{one.reason}"


def summary(made: list[Row]) -> str:
    reads = [one for one in made if one.loads == "yes"]
    same = sum(not one.differences for one in filter(_is_compared, reads))
    families = len({one.family for one in made})
    strings = sum(int(one.strings) for one in made)
    lists = sum(int(one.lists) for one in made)
    nowhere = sum(one.loads == "nowhere" for one in made)
    return (
        f"{len(made)} files of {families} families: {len(reads)} are read, {nowhere} are read"
        f" nowhere; {same} give the same in all of {strings:,} strings and {lists:,} damaged"
        " id lists"
    )
