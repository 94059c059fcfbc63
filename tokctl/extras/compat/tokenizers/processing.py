"""The post-processors of Hugging Face's `tokenizers`, on encodings.

Definitions: `tokenizers/src/processors` of Hugging Face tokenizers 0.23.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tokctl
from tokctl.tokenizer.encoding import (
    added_encoding,
    changed,
    each_window,
    in_sequence,
    merge,
    of_parts,
    with_trim,
    with_type,
)

Json = dict[str, Any]
_Texts = list[tokctl.Encoding]


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

    def __call__(
        self, first: tokctl.Encoding, pair: tokctl.Encoding | None, add_special: bool
    ) -> tokctl.Encoding:
        """Return one text, or two as one, post-processed; special tokens are optional."""
        texts = [first] if pair is None else [first, pair]
        if not self.steps:
            if pair is None:
                return first
            return merge([in_sequence(one, n) for n, one in enumerate(texts)])
        texts = [_numbered(one, n) for n, one in enumerate(texts)]
        for step in self.steps:
            texts = getattr(self, "_" + step["type"].lower())(step, texts, add_special)
        return merge(texts)

    def plan(self, add_special: bool) -> Any:
        """Return a shortcut for single texts without windows; None if there is no shortcut.

        A probe text with one token is processed to find the parts around it. The result holds the
        parts before the text and their size, the last fields of the text's part (type id, masks,
        trims, shift), the parts after it, the size of all added parts, and whether ranges are set.
        """
        if add_special not in self._plans:
            text = added_encoding(["x"], [0], [0])._parts[0][0]
            part = (text, 0, 1, 0, 0, 1, (), 0)
            made = self(of_parts((part,), 1), None, add_special)
            places = [n for n, part in enumerate(made._parts) if part[0] is text]
            found = None
            if len(places) == 1:
                place = places[0]
                before, behind = made._parts[:place], made._parts[place + 1 :]
                sizes = [sum(part[2] - part[1] for part in some) for some in (before, behind)]
                ranges = made._ranges or {}
                usual = ranges in ({}, {0: (sizes[0], sizes[0] + 1)})
                if usual:
                    tail = made._parts[place][3:]
                    found = before, sizes[0], tail, behind, sum(sizes), bool(ranges)
            self._plans[add_special] = found
        return self._plans[add_special]

    def _bytelevel(self, step: Json, texts: _Texts, _: bool) -> _Texts:
        return [in_sequence(text, n) for n, text in enumerate(_trimmed(step, texts))]

    def _templateprocessing(self, step: Json, texts: _Texts, add_special: bool) -> _Texts:
        found = []
        for piece in step["single" if len(texts) == 1 else "pair"]:
            if "Sequence" in piece:
                number = int(piece["Sequence"]["id"] != "A")
                text = with_type(texts[number], piece["Sequence"]["type_id"])
                texts[number] = in_sequence(text, number)
                found.append(texts[number])
            elif add_special:
                token = piece["SpecialToken"]
                entry = step["special_tokens"][token["id"]]
                types = [token["type_id"]] * len(entry["ids"])
                found.append(added_encoding(entry["tokens"], entry["ids"], types))
        return found

    def _bertprocessing(self, step: Json, texts: _Texts, add_special: bool) -> _Texts:
        if not add_special:
            return texts
        cls, sep = _special(step["cls"]), _special(step["sep"])
        found = [_around(texts[0], cls, sep, 0)]
        if len(texts) > 1:
            nothing = added_encoding([], [], [])
            found.append(_around(texts[1], nothing, _special(step["sep"], 1), 1))
        return found

    def _robertaprocessing(self, step: Json, texts: _Texts, add_special: bool) -> _Texts:
        texts = [with_type(text, 0) for text in _trimmed(step, texts)]
        if not add_special:
            return texts
        cls, sep = _special(step["cls"]), _special(step["sep"])
        windows = [each_window(text, lambda one: with_type(one, 0)) for text in texts]
        typed = [changed(one, windows=some) for one, some in zip(texts, windows, strict=True)]
        return [_around(text, cls if n == 0 else sep, sep, n) for n, text in enumerate(typed)]


def _numbered(text: tokctl.Encoding, number: int) -> tokctl.Encoding:
    """Return a text and its windows with their number; only the text gets a type id, too."""
    windows = each_window(text, lambda window: in_sequence(window, number))
    return changed(with_type(in_sequence(text, number), number), windows=windows)


def _trimmed(step: Json, texts: _Texts) -> _Texts:
    if not step.get("trim_offsets", True):
        return texts
    return [with_trim(text, step.get("add_prefix_space", True)) for text in texts]


def _special(token: list[Any], type_id: int = 0) -> tokctl.Encoding:
    return added_encoding([token[0]], [token[1]], [type_id])


def _around(
    text: tokctl.Encoding, before: tokctl.Encoding, behind: tokctl.Encoding, number: int
) -> tokctl.Encoding:
    """Return a text and its windows between special tokens, which belong to no sequence."""
    start, size = len(before), len(text)
    return of_parts(
        before._parts + text._parts + behind._parts,
        start + size + len(behind),
        {number: (start, start + size)},
        each_window(text, lambda window: _around(window, before, behind, number)),
    )
