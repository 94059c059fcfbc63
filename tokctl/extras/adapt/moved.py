"""Check whether a model still makes the tokens that it keeps from some texts.

Each token of the old encoding that is kept is looked for in the new encoding: either the same token
at the same characters, or a new token that covers it. If there is neither, the token has **moved**:
its characters are split in another way. This happens near a removed token, whose parts a kept
neighbour may join. With longest-match segmentation it also happens after a new token that ends
inside a kept one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from tokctl.analysis.verification import Block, text_blocks
from tokctl.core.errors import TokctlError
from tokctl.core.humanize import plural

if TYPE_CHECKING:
    from tokctl.extras.adapt.adaptation import Adaptation
    from tokctl.sources import Source
    from tokctl.tokenizer import Tokenizer
    from tokctl.tokenizer.encoding import Encoding

#: Largest number of moved tokens that are shown.
SHOWN = 10


@dataclass(frozen=True)
class MovedToken:
    """A position in a text where the new model does not make a kept token.

    Attributes:
        text: name of the text.
        line: number of the line, or of the record, from 1.
        column: character of the line, or of the record's text, from 1.
        unit: kind of `line`: `line` or `row`.
        token: spelling in the vocabulary.
        before: tokens of the old model around the position.
        after: tokens of the new model around the position.
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
    """Numbers of tokens of some texts, by what the new model makes of them.

    Attributes:
        lines: number of lines; texts are compared line by line.
        left_out: number of lines with a character that one of the models has no token for.
        tokens: number of tokens of the other lines, in the old model.
        same: number of tokens that are the same in the new model.
        covered: number of tokens that are part of a new token.
        gone: number of tokens that were removed from the vocabulary.
        moved: number of tokens that are kept, but not made at their position.
        examples: the first moved tokens, at most `SHOWN`.
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
        text = (
            f"{plural(self.tokens, 'token')} in {plural(self.lines, 'line')}: {self.same:,} the "
            f"same, {self.covered:,} part of new tokens, {self.gone:,} taken away"
        )
        return f"{text}, {self.moved:,} kept but cut otherwise" if self.moved else text

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers and the examples as values for JSON."""
        return asdict(self)


def moved(adaptation: Adaptation, sources: Sequence[Source], threads: int = 1) -> MovedTokens:
    """Count the moved tokens of some texts; see `Adaptation.moved`."""
    counts: Counter[str] = Counter()
    examples: list[MovedToken] = []
    new_ids = set(adaptation.new)
    for block in chain.from_iterable(map(text_blocks, sources)):
        lines = block.lines
        old_rows = _encoded_lines(adaptation.before, lines, threads)
        new_rows = _encoded_lines(adaptation.tokenizer, lines, threads)
        for number, (line, old_row, new_row) in enumerate(
            zip(lines, old_rows, new_rows, strict=True), block.line
        ):
            counts["lines"] += 1
            if old_row is None or new_row is None:
                counts["left_out"] += 1
                continue
            counts["tokens"] += len(old_row)
            if [adaptation.ids[id_] for id_ in old_row] == new_row:
                counts["same"] += len(old_row)
                continue
            for moved_token in _moved_in_line(adaptation, new_ids, line, counts):
                if len(examples) < SHOWN:
                    examples.append(_example(block, number, line, *moved_token))
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


def _encoded_lines(
    tokenizer: Tokenizer, lines: Sequence[str], threads: int
) -> list[list[int] | None]:
    """Return the ids of each line; None for a line with a character that has no id."""
    try:
        return list(tokenizer.encode_ids(lines, threads=threads))
    except TokctlError:
        if len(lines) == 1:
            return [None]
        return [_encoded_lines(tokenizer, [line], 1)[0] for line in lines]


def _moved_in_line(
    adaptation: Adaptation, new_ids: set[int], line: str, counts: Counter[str]
) -> Iterator[tuple[Encoding, int, Encoding]]:
    """Yield the moved tokens of a line, and count all of its tokens in `counts`."""
    data = line.encode()
    old_encoding, new_encoding = adaptation.before.encode(data), adaptation.tokenizer.encode(data)
    unchanged = Counter(zip(new_encoding.offsets, new_encoding.raw_ids, strict=True))
    covers = [
        span
        for span, id_ in zip(new_encoding.offsets, new_encoding.raw_ids, strict=True)
        if id_ in new_ids
    ]
    starts = [start for start, _ in covers]
    for index, (span, old) in enumerate(
        zip(old_encoding.offsets, old_encoding.raw_ids, strict=True)
    ):
        id_ = adaptation.ids[old]
        cover = bisect_right(starts, span[0]) - 1
        if id_ is None:
            counts["gone"] += 1
        elif unchanged[span, id_]:
            unchanged[span, id_] -= 1
            counts["same"] += 1
        elif cover >= 0 and span[1] <= covers[cover][1]:
            counts["covered"] += 1
        else:
            counts["moved"] += 1
            yield old_encoding, index, new_encoding


def _example(
    block: Block, number: int, line: str, old_encoding: Encoding, index: int, new_encoding: Encoding
) -> MovedToken:
    """Return a moved token with the tokens of both models around it.

    They begin and end where both models split the text.
    """
    token_ends = {end for _, end in new_encoding.offsets}
    first_token = index
    while first_token and old_encoding.offsets[first_token][0] not in token_ends:
        first_token -= 1
    last_token = index
    while (
        last_token + 1 < len(old_encoding) and old_encoding.offsets[last_token][1] not in token_ends
    ):
        last_token += 1
    start, end = old_encoding.offsets[first_token][0], old_encoding.offsets[last_token][1]
    around = tuple(
        token
        for token, (from_, to) in zip(new_encoding.tokens, new_encoding.offsets, strict=True)
        if start <= from_ and to <= end and from_ < to
    )
    column = len(line.encode()[: old_encoding.offsets[index][0]].decode(errors="replace")) + 1
    return MovedToken(
        block.name,
        number,
        column,
        block.unit,
        old_encoding.tokens[index],
        tuple(old_encoding.tokens[first_token : last_token + 1]),
        around,
    )
