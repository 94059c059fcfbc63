"""The rules of a recommendation, written down as they are defined."""

from __future__ import annotations

from hashlib import sha256

from tokctl.model import Recipe
from tokctl.sources import Source
from tokctl.tokenizer import Tokenizer


def tokens_at(recipe: Recipe, size: int, training: list[Source], held_out: list[bytes]) -> int:
    """Trains at one size, and counts the tokens of one document after the other."""
    tokenizer = Tokenizer.train(training, vocab_size=size, recipe=recipe, threads=1)
    return sum(len(tokenizer.encode(document).ids) for document in held_out)


def knee(sizes: list[int], tokens: list[int], least: float) -> int | None:
    """The smallest size of which twice the size is there, too, and saves less than the share."""
    known = dict(zip(sizes, tokens, strict=True))
    for size in sorted(sizes):
        if 2 * size in known and 1 - known[2 * size] / known[size] < least:
            return size
    return None


def kept_pieces(pieces: list[bytes], size: int, seed: int) -> list[bytes]:
    """As many pieces as fit the size, in the order of their hashes; they are returned in the order
    of the text."""

    def key(number: int) -> bytes:
        return sha256(f"{seed}:{number}".encode()).digest()[:8]

    kept: list[int] = []
    for number in sorted(range(len(pieces)), key=key):
        if sum(len(pieces[one]) for one in kept) + len(pieces[number]) > size:
            break
        kept.append(number)
    return [pieces[number] for number in sorted(kept)]
