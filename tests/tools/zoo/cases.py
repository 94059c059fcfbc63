"""What each tokenizer is asked: strings of `tests.exact.strings`, slices of a text, and the
tokenizer's own added tokens between them, alone and in pairs, with every option in turn; and
id lists that no text gives."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tests.exact.strings import SPACES, strings
from tokctl.sources.corpora import corpus_path


class Case(NamedTuple):
    """A text and how it is encoded.

    Attributes:
        pair: a second text.
        special: are special tokens found in the texts.
        around: are the template's tokens put around.
        length: the tokens that truncation leaves; 0: all.
        stride, strategy, direction: the other options of truncation.
    """

    text: str
    pair: str | None = None
    special: bool = False
    around: bool = False
    length: int = 0
    stride: int = 0
    strategy: str = "longest-first"
    direction: str = "right"


def cases(count: int, own: Sequence[str], seed: int = 19) -> Iterator[Case]:
    """`count` cases, the same ones for the same seed; `own` are the added tokens' texts."""
    draw = random.Random(seed)
    corpus = corpus_path("sample").read_text(encoding="utf-8")
    last = ""
    for number, made in enumerate(strings(count, seed)):
        text = made
        if number % 3 == 1:
            at = draw.randrange(len(corpus))
            text = corpus[at : at + draw.choice((10, 40, 200))]
        if own and number % 3 != 2:
            for _ in range(draw.randint(1, 3)):
                at = draw.randint(0, len(text))
                gap = draw.choice(("", "", " ", draw.choice(SPACES)))
                text = text[:at] + gap + draw.choice(own) + draw.choice(("", " ")) + text[at:]
        case = Case(
            text,
            last if number % 4 == 3 and len(last) < 500 else None,
            special=number % 2 == 0,
            around=number % 8 < 4,
        )
        if number % 5 == 4:
            length = draw.choice((4, 5, 8, 16))
            case = case._replace(
                length=length,
                stride=draw.choice((0, 0, 1)),
                strategy=draw.choice(("longest-first", "longest-first", "only-first")),
                direction=draw.choice(("right", "left")),
            )
        yield case
        last = text


#: Longest part of a text's ids that a damaged list is made of.
PART = 24


def damaged_lists(
    count: int,
    texts: Sequence[Sequence[int]],
    size: int,
    fragments: Sequence[int],
    special: Sequence[int],
    seed: int = 37,
) -> Iterator[list[int]]:
    """Yield `count` id lists as a damaged file or a model that samples freely gives them.

    Args:
        texts: the ids of some texts, at least one of them not empty.
        size: ids are below this number.
        fragments: ids of tokens that are part of a character, such as single bytes.
        special: ids of special tokens.
        seed: the same lists for the same seed.
    """
    draw = random.Random(seed)
    texts = [ids for ids in texts if ids]

    def part() -> list[int]:
        ids = draw.choice(texts)
        begin = draw.randrange(len(ids))
        return list(ids[begin : begin + draw.randint(1, PART)])

    def anywhere() -> list[int]:
        return [draw.randrange(size) for _ in range(draw.randint(1, 12))]

    def run_of(some: Sequence[int], most: int) -> list[int]:
        return [draw.choice(some) for _ in range(draw.randint(1, most))] if some else anywhere()

    def with_inside(ids: list[int], others: list[int]) -> list[int]:
        at = draw.randint(0, len(ids))
        return ids[:at] + others + ids[at:]

    for number in range(count):
        ids = part()
        match number % 8:
            case 0:
                ids = anywhere()
            case 1:
                draw.shuffle(ids)
            case 2:
                pass  # a part of a text is truncated at both ends
            case 3:
                ids = ids + ids if draw.random() < 0.5 else [id_ for id_ in ids for _ in range(2)]
            case 4:
                ids = with_inside(part()[:2], run_of(fragments, 6))
            case 5:
                ids = with_inside(ids, run_of(special, 3))
            case 6:
                at = draw.randrange(len(ids))
                ids[at : at + 1] = draw.choice(([], run_of(fragments, 1), run_of(fragments, 2)))
            case 7:
                ids = with_inside(run_of(fragments, 4) + ids[:4], run_of(special, 1))
                ids = with_inside(ids, run_of(fragments, 3))
        yield ids
