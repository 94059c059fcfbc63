"""Tokens that no text is encoded to, told apart by the stage that keeps them out.

Which tokens these are is found by trials with their own text, see `explain/reach.py`. Why,
the stages themselves are asked, in the places of `_PLACES`:

1. the normalizer: is the token's text still there after it, in any place? If not, the
   normalizer keeps it out;
2. the pre-tokenizer: is the token's text inside one pre-token, in any place? If not, the
   pre-tokenizer keeps it out;
3. else the encoding does: merges, longest match, the best path.

A token that is reached by itself, and no more where added tokens are found first, is kept out
by these. The tokens of single bytes are left out: they stand ready for what is rare.

The categories are those of Land and Bartolo, "Fishing for Magikarp" (2024, arXiv 2405.05417),
who tell tokens apart by decoding each and encoding what comes out: *partial UTF-8 sequences*
(`alphabets.py`), *unreachable* tokens (here) and *special* tokens (`specials.py`).
"""

from __future__ import annotations

from collections.abc import Iterator

from tokctl import _native
from tokctl.analysis.explain.reach import token_text, written_text
from tokctl.analysis.health.subject import Answer, Subject, not_made
from tokctl.analysis.metrics.overlap import space_mark
from tokctl.model.parts import native_parts

NAMES = (
    "unreachable-by-encoding",
    "unreachable-by-pre-tokenizer",
    "unreachable-by-normalizer",
    "unreachable-by-added-token",
)

#: What is put before and behind a token's text: nothing, a space, a letter, a digit, a sign, a
#: line end; None is the token's own character on that side, which is of its kind.
_PLACES: tuple[tuple[bytes | None, bytes | None], ...] = (
    (b"", b""),
    (b" ", b""),
    (b"a", b"a"),
    (None, None),
    (b"", None),
    (None, b""),
    (b" ", b" "),
    (b"1", b"1"),
    (b".", b"."),
    (b"\n", b"\n"),
)


def check(subject: Subject) -> Iterator[Answer]:
    reach, beside = subject.reach, subject.reach_beside_added
    if left := max(reach.undecided, beside.undecided):
        yield from not_made(NAMES, f"{left:,} tokens are undecided after {reach.trials:,} trials")
        return
    causes: dict[str, list[int]] = {name: [] for name in NAMES}
    stages = Stages(subject)
    kept_out = subject.reserve.union(reach.ids)
    for id_ in reach.ids:
        if id_ not in subject.reserve:
            causes[stages.cause(id_)].append(id_)
    causes[NAMES[3]] = [id_ for id_ in beside.ids if id_ not in kept_out]
    of = len(set(subject.ordinary) - subject.reserve)
    # Merges alone have given these: how their characters go on, nothing says.
    partial = len(subject.partial - kept_out)
    for name, ids in causes.items():
        cut = name == NAMES[1]
        yield subject.found(
            name,
            ids,
            of,
            undecided=partial if cut else 0,
            detail="What is no whole characters is not decided." if cut and partial else "",
        )


class Stages:
    """The stages in front of the encoding, asked about one token at a time."""

    def __init__(self, subject: Subject) -> None:
        self.tokenizer = subject.tokenizer
        self.partial = subject.partial
        self.normalizers = native_parts(subject.recipe.normalizers)
        self.has_mark = bool(space_mark(subject.recipe))

    def cause(self, id_: int) -> str:
        """The check that a token belongs to which no trial has given."""
        if id_ in self.partial or not any(self._forms(id_)):  # a marker alone has no text
            return NAMES[0]
        there = False
        for text in self._texts(id_):
            if not self._survives(id_, text):
                continue
            there = True
            if self._is_whole(id_, text):
                return NAMES[0]
        return NAMES[1] if there else NAMES[2]

    def _texts(self, id_: int) -> Iterator[bytes]:
        """The token's text in every place."""
        text = written_text(self.tokenizer, id_)
        characters = text.decode()
        first, last = characters[:1].encode(), characters[-1:].encode()
        for before, after in _PLACES:
            left = first if before is None else before
            right = last if after is None else after
            yield left + text + right
        if self.has_mark:
            yield self.tokenizer.model.tokens[id_]

    def _survives(self, id_: int, text: bytes) -> bool:
        normalized = _native.normalize(self.normalizers, text) if self.normalizers else text
        return any(form in normalized for form in self._forms(id_))

    def _is_whole(self, id_: int, text: bytes) -> bool:
        """Does the token's text lie inside one pre-token?"""
        rewritten, ranges, *_ = self.tokenizer.encoder.pre_tokens(text)
        spots = (spot for form in self._forms(id_) if form for spot in _spots(rewritten, form))
        return any(start <= first and last <= end for first, last in spots for start, end in ranges)

    def _forms(self, id_: int) -> set[bytes]:
        """How the token's text can look behind a stage: with spaces, or with what stands for
        them."""
        if self.has_mark:
            return {written_text(self.tokenizer, id_), self.tokenizer.model.tokens[id_]}
        return {token_text(self.tokenizer, id_)}


def _spots(text: bytes, part: bytes) -> Iterator[tuple[int, int]]:
    """Where a part stands in a text, overlaps included."""
    at = text.find(part)
    while at >= 0:
        yield at, at + len(part)
        at = text.find(part, at + 1)
