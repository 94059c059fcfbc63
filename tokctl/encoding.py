"""The result of encoding one text."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from tokctl._native import NO_ID
from tokctl.errors import TokctlError


@dataclass(frozen=True)
class Encoding:
    """The tokens of one text; every list has one entry per token.

    Attributes:
        tokens: as the vocabulary spells them, markers included. A character that has no
            token, in a model without an unknown token, stays as itself.
        pieces: the stretch of the text that each token covers; empty for a marker that
            is a token of its own. Bytes that are no whole characters show as U+FFFD.
        offsets: that stretch as (start, end): characters where the text was given as
            str, bytes where it was given as bytes.
        word_ids: number of the pre-token, from 0; None for a special token.
    """

    raw_ids: list[int]
    tokens: list[str]
    pieces: list[str]
    offsets: list[tuple[int, int]]
    word_ids: list[int | None]

    def __len__(self) -> int:
        return len(self.raw_ids)

    @property
    def ids(self) -> list[int]:
        """The ids. TokctlError where a character has none and no token stands for it."""
        if NO_ID in self.raw_ids:
            piece = self.pieces[self.raw_ids.index(NO_ID)]
            raise no_id_error(repr(piece))
        return self.raw_ids


def no_id_error(what: str) -> TokctlError:
    """The error for text that the alphabet lacks, in a model without an unknown token."""
    return TokctlError(
        f"{what} is not in the model's alphabet, and it has no unknown token",
        "look at it with --as tokens, or train a model that has one (--unk-token '[UNK]')",
    )


def character_offsets(text: str, offsets: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Byte offsets as character offsets; a cut inside a character widens to all of it."""
    from tokctl.pretokenizers import byte_offsets

    starts: list[int] = []
    ends: list[int] = []
    bounds = byte_offsets(text)
    for number, (start, end) in enumerate(pairwise(bounds)):
        width = end - start
        starts += [number] * width
        # The end of a stretch that covers any byte of a character lies behind it.
        ends += [number + 1] * width
    starts.append(len(text))
    return [(starts[a], ends[b - 1] if b > a else starts[a]) for a, b in offsets]
