"""What each tokenizer is asked: strings of `tests.exact.strings`, slices of a text, and the
tokenizer's own added tokens between them, alone and in pairs, with every option in turn."""

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
