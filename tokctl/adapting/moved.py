"""Does a model still make the tokens that it keeps, of a text?

A token of the text that stays is looked for in the text as the new model cuts it: the same token on
the same characters, or a new token that covers it. Where there is neither, it has **moved**: its
characters are cut otherwise. It happens near a token that went, whose parts a kept neighbour may
join; where the longest tokens are taken, also behind a new one that ends inside a kept one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from tokctl.analysis.verification import Block, text_blocks
from tokctl.errors import TokctlError
from tokctl.wording import plural

if TYPE_CHECKING:
    from tokctl.adapting.adaptation import Adaptation
    from tokctl.sources import Source
    from tokctl.tokenizer import Tokenizer
    from tokctl.tokenizer.encoding import Encoding

#: Moved tokens that are named.
SHOWN = 10


@dataclass(frozen=True)
class MovedToken:
    """A place where a kept token is no more.

    Attributes:
        text: name of the text.
        line, column: from 1; the column counts characters. Of records the number of the record, and
            the character of its text.
        unit: what `line` counts: `line` or `row`.
        token: as the vocabulary spells it.
        before, after: the tokens around it, of both models.
    """

    text: str
    line: int
    column: int
    unit: str
    token: str
    before: tuple[str, ...]
    after: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.text}, {self.unit} {self.line}, column {self.column}"


@dataclass(frozen=True)
class MovedTokens:
    """What became of the tokens of some texts.

    Attributes:
        lines: of the texts, which are compared line by line.
        left_out: of these, lines with a character that one of the models has no token for.
        tokens: of all other lines, as the model before has them.
        same: of these, those that are the same now.
        covered: those that are part of a new token.
        gone: those that are not tokens any more.
        moved: those that are tokens, but not here.
        examples: the first of these.
    """

    lines: int
    left_out: int
    tokens: int
    same: int
    covered: int
    gone: int
    moved: int
    examples: tuple[MovedToken, ...]

    def __str__(self) -> str:
        said = (
            f"{plural(self.tokens, 'token')} in {plural(self.lines, 'line')}: {self.same:,} the "
            f"same, {self.covered:,} part of new tokens, {self.gone:,} taken away"
        )
        return f"{said}, {self.moved:,} kept but cut otherwise" if self.moved else said

    def to_dict(self) -> dict[str, Any]:
        """As JSON would hold it."""
        return asdict(self)


def moved(adaptation: Adaptation, sources: Sequence[Source], threads: int = 1) -> MovedTokens:
    """See `Adaptation.moved`."""
    counts: Counter[str] = Counter()
    examples: list[MovedToken] = []
    new = set(adaptation.new)
    for block in chain.from_iterable(map(text_blocks, sources)):
        lines = block.lines
        before = _rows(adaptation.before, lines, threads)
        after = _rows(adaptation.tokenizer, lines, threads)
        for number, (line, one, two) in enumerate(
            zip(lines, before, after, strict=True), block.line
        ):
            counts["lines"] += 1
            if one is None or two is None:
                counts["left_out"] += 1
                continue
            counts["tokens"] += len(one)
            if [adaptation.ids[id_] for id_ in one] == two:
                counts["same"] += len(one)
                continue
            for found in _of_line(adaptation, new, line, counts):
                if len(examples) < SHOWN:
                    examples.append(_example(block, number, line, *found))
    return MovedTokens(
        lines=counts["lines"],
        left_out=counts["left_out"],
        tokens=counts["tokens"],
        same=counts["same"],
        covered=counts["covered"],
        gone=counts["gone"],
        moved=counts["moved"],
        examples=tuple(examples),
    )


def _rows(tokenizer: Tokenizer, lines: Sequence[str], threads: int) -> list[list[int] | None]:
    """The ids of each line; None if a character has none."""
    try:
        return list(tokenizer.encode_ids(lines, threads=threads))
    except TokctlError:
        if len(lines) == 1:
            return [None]
        return [_rows(tokenizer, [line], 1)[0] for line in lines]


def _of_line(
    adaptation: Adaptation, new: set[int], line: str, counts: Counter[str]
) -> Iterator[tuple[Encoding, int, Encoding]]:
    """The moved tokens of a line; `counts` gets what became of each."""
    data = line.encode()
    before, after = adaptation.before.encode(data), adaptation.tokenizer.encode(data)
    there = Counter(zip(after.offsets, after.raw_ids, strict=True))
    covers = [span for span, id_ in zip(after.offsets, after.raw_ids, strict=True) if id_ in new]
    starts = [start for start, _ in covers]
    for place, (span, old) in enumerate(zip(before.offsets, before.raw_ids, strict=True)):
        id_ = adaptation.ids[old]
        cover = bisect_right(starts, span[0]) - 1
        if id_ is None:
            counts["gone"] += 1
        elif there[span, id_]:
            there[span, id_] -= 1
            counts["same"] += 1
        elif cover >= 0 and span[1] <= covers[cover][1]:
            counts["covered"] += 1
        else:
            counts["moved"] += 1
            yield before, place, after


def _example(
    block: Block, number: int, line: str, before: Encoding, place: int, after: Encoding
) -> MovedToken:
    """The token, with the tokens of both models around it: from and to where both cut the text."""
    ends = {end for _, end in after.offsets}
    first = place
    while first and before.offsets[first][0] not in ends:
        first -= 1
    last = place
    while last + 1 < len(before) and before.offsets[last][1] not in ends:
        last += 1
    start, end = before.offsets[first][0], before.offsets[last][1]
    around = tuple(
        token
        for token, (from_, to) in zip(after.tokens, after.offsets, strict=True)
        if start <= from_ and to <= end and from_ < to
    )
    column = len(line.encode()[: before.offsets[place][0]].decode(errors="replace")) + 1
    return MovedToken(
        block.name,
        number,
        column,
        block.unit,
        before.tokens[place],
        tuple(before.tokens[first : last + 1]),
        around,
    )
