"""The post-processors of Hugging Face's `tokenizers`, on rows of tokens.

Definitions: `tokenizers/src/processors` of Hugging Face tokenizers 0.23.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tokctl.extras.compat.tokenizers.encoding import GivenTokens, Row, merge

Json = dict[str, Any]


class PostProcess:
    """The post-processor of a `tokenizer.json`, like `process` in `tokenizers/src/processors`."""

    def __init__(self, document: Json | None) -> None:
        self.steps = list(self._steps(document))
        self._plans: dict[bool, Any] = {}

    def _steps(self, document: Json | None) -> Iterable[Json]:
        if document is None:
            return
        if document["type"] == "Sequence":
            for one in document["processors"]:
                yield from self._steps(one)
        else:
            yield document

    def added(self, is_pair: bool) -> int:
        """Return how many special tokens are added to one text, or to two."""
        total = 0
        for step in self.steps:
            kind = step["type"]
            if kind == "TemplateProcessing":
                for piece in step["pair" if is_pair else "single"]:
                    if "SpecialToken" in piece:
                        name = piece["SpecialToken"]["id"]
                        total += len(step["special_tokens"][name]["ids"])
            elif kind == "BertProcessing":
                total += 3 if is_pair else 2
            elif kind == "RobertaProcessing":
                total += 4 if is_pair else 2
        return total

    def __call__(self, row: Row, pair: Row | None, add_special: bool) -> Row:
        """Return one text, or two as one, post-processed; special tokens are optional."""
        rows = [row] if pair is None else [row, pair]
        if not self.steps:
            if pair is None:
                return row
            return merge([one.with_sequence(n) for n, one in enumerate(rows)], False)
        rows = [
            one.changed(
                ranges={**one.ranges, n: (0, one.size)},
                windows=one.each_window(lambda window, n=n: window.with_sequence(n)),  # type: ignore[misc]
            ).with_type(n)
            for n, one in enumerate(rows)
        ]
        for step in self.steps:
            rows = getattr(self, "_" + step["type"].lower())(step, rows, add_special)
        return merge(rows, False)

    def plan(self, add_special: bool) -> Any:
        """Return a shortcut for single texts without windows; None if there is no shortcut.

        A probe text with one token is processed to find the parts around it. The result holds the
        parts before the text and their size, the last fields of the text's part (type id, masks,
        trims, shift), the parts after it, the size of all added parts, and whether ranges are set.
        """
        if add_special not in self._plans:
            probe = GivenTokens([0], [""], [(0, 0)], [0])
            made = self(Row(((probe, 0, 1, 0, 0, 1, (), 0),), 1), None, add_special)
            places = [n for n, part in enumerate(made.parts) if part[0] is probe]
            found = None
            if len(places) == 1:
                place = places[0]
                before, behind = made.parts[:place], made.parts[place + 1 :]
                sizes = [sum(part[2] - part[1] for part in some) for some in (before, behind)]
                ranges = tuple(made.ranges)
                usual = made.ranges in ({}, {0: (sizes[0], sizes[0] + 1)})
                if usual:
                    tail = made.parts[place][3:]
                    found = before, sizes[0], tail, behind, sum(sizes), bool(ranges)
            self._plans[add_special] = found
        return self._plans[add_special]

    def _bytelevel(self, step: Json, rows: list[Row], _: bool) -> list[Row]:
        if step.get("trim_offsets", True):
            rows = [row.with_trim(step.get("add_prefix_space", True)) for row in rows]
        return [row.with_sequence(n) for n, row in enumerate(rows)]

    def _templateprocessing(self, step: Json, rows: list[Row], add_special: bool) -> list[Row]:
        found = []
        for piece in step["single" if len(rows) == 1 else "pair"]:
            if "Sequence" in piece:
                number = int(piece["Sequence"]["id"] != "A")
                row = rows[number].with_type(piece["Sequence"]["type_id"])
                rows[number] = row.with_sequence(number)
                found.append(rows[number])
            elif add_special:
                token = piece["SpecialToken"]
                entry = step["special_tokens"][token["id"]]
                found.append(_special(entry["ids"], entry["tokens"], token["type_id"]))
        return found

    def _bertprocessing(self, step: Json, rows: list[Row], add_special: bool) -> list[Row]:
        if not add_special:
            return rows
        (sep, sep_id), (cls, cls_id) = step["sep"], step["cls"]
        found = [_around(rows[0], _special([cls_id], [cls]), _special([sep_id], [sep]), 0)]
        if len(rows) > 1:
            found.append(_around(rows[1], Row(), _special([sep_id], [sep], 1), 1))
        return found

    def _robertaprocessing(self, step: Json, rows: list[Row], add_special: bool) -> list[Row]:
        if step.get("trim_offsets", True):
            rows = [row.with_trim(step.get("add_prefix_space", True)) for row in rows]
        rows = [row.with_type(0) for row in rows]
        if not add_special:
            return rows
        (sep, sep_id), (cls, cls_id) = step["sep"], step["cls"]
        first, last = _special([cls_id], [cls]), _special([sep_id], [sep])
        typed = [row.changed(windows=row.each_window(lambda one: one.with_type(0))) for row in rows]
        return [_around(row, first if n == 0 else last, last, n) for n, row in enumerate(typed)]


def _special(ids: Sequence[int], tokens: Sequence[str], type_id: int = 0) -> Row:
    size = len(ids)
    source = GivenTokens(list(ids), list(tokens), [(0, 0)] * size, [None] * size)
    return Row(((source, 0, size, type_id, 1, 1, (), 0),), size)


def _around(row: Row, before: Row, behind: Row, number: int) -> Row:
    """Return a text and its windows between special tokens, which belong to no sequence."""
    return Row(
        before.parts + row.parts + behind.parts,
        before.size + row.size + behind.size,
        {number: (before.size, before.size + row.size)},
        row.each_window(lambda window: _around(window, before, behind, number)),
    )
