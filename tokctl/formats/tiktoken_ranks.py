"""tiktoken's rank files, read only: one token in base64 and its rank per line.

The file holds neither the pattern nor the special tokens: both are facts of the encoding,
published in `tiktoken_ext/openai_public.py`, and the file's digest says which it is.

An id that no token has is a hole (`cl100k_base` has 100256 and 100261 to 100275). Ids here
are numbered without holes, so a special token `<|unused_100256|>` fills each: no text makes
it, unless the caller allows it by name.
"""

from __future__ import annotations

import binascii
import hashlib
import re
from typing import NamedTuple

from tokctl.errors import TokctlError
from tokctl.formats.contract import Source
from tokctl.pipeline import AddedToken
from tokctl.recipe import FilledRecipe, Origin, Recipe

#: More lines than this are no vocabulary.
_MOST_TOKENS = 1 << 24


class Encoding(NamedTuple):
    """What a rank file leaves out."""

    name: str
    pre_tokenizer: str
    special: dict[str, int]


#: By the file's sha256.
KNOWN = {
    "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930": Encoding(
        "r50k_base", "gpt2", {"<|endoftext|>": 50256}
    ),
    "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069": Encoding(
        "p50k_base", "gpt2", {"<|endoftext|>": 50256}
    ),
    "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7": Encoding(
        "cl100k_base",
        "cl100k",
        {
            "<|endoftext|>": 100257,
            "<|fim_prefix|>": 100258,
            "<|fim_middle|>": 100259,
            "<|fim_suffix|>": 100260,
            "<|endofprompt|>": 100276,
        },
    ),
    "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d": Encoding(
        "o200k_base", "o200k", {"<|endoftext|>": 199999, "<|endofprompt|>": 200018}
    ),
}


#: A token in base64 and its rank.
_LINE = re.compile(rb"[A-Za-z0-9+/]+={0,2} [0-9]+\r?\n")


def is_one(source: Source) -> bool:
    """Does it begin with a token and its rank?"""
    return _LINE.match(source.head) is not None


def read(source: Source) -> FilledRecipe:
    """The model of a file; TokctlError that names it where there is none."""
    data, name = source.data, source.name
    digest = hashlib.sha256(data).hexdigest()
    if digest not in KNOWN:
        names = ", ".join(known.name for known in KNOWN.values())
        raise TokctlError(
            f"{name} holds ranks of tiktoken's, and tokctl does not know of which encoding: "
            f"its sha256 is {digest}",
            "the file says neither how text is split nor its special tokens; known are the "
            f"files of {names}: copy it again if it should be one of these",
        )
    return fill(_ranks(data, name), KNOWN[digest])


def fill(ranks: dict[bytes, int], encoding: Encoding) -> FilledRecipe:
    """The model of an encoding with these ranks."""
    by_id = {id_: token for token, id_ in ranks.items()}
    special = {id_: text for text, id_ in encoding.special.items()}
    total = max([*by_id, *special], default=-1) + 1
    added = []
    tokens = []
    for id_ in range(total):
        token = by_id.get(id_)
        if token is None:
            text = special.get(id_, f"<|unused_{id_}|>")
            added.append(AddedToken(text, id_))
            token = text.encode()
        tokens.append(token)
    recipe = Recipe(
        name=encoding.name,
        algorithm="bpe",
        pre_tokenizers=(encoding.pre_tokenizer,),  # type: ignore[arg-type]
        units="bytes",
        alphabet="bytes",
        tie_break="lowest-id",
        segmentation="ranks",
        whole_words=True,
        special_tokens=tuple(token.text for token in added),
    )
    origin = Origin("tiktoken", encoding.name)
    return FilledRecipe(recipe, tokens, added_tokens=tuple(added), origin=origin)


def _ranks(data: bytes, name: str) -> dict[bytes, int]:
    ranks: dict[bytes, int] = {}
    for number, line in enumerate(data.splitlines(), 1):
        try:
            token, rank = line.split()
            ranks[binascii.a2b_base64(token)] = int(rank)
        except (ValueError, binascii.Error):
            raise TokctlError(f"{name}, line {number}: no token in base64 and its rank") from None
        if not 0 <= int(rank) < _MOST_TOKENS:
            raise TokctlError(f"{name}, line {number}: the rank {int(rank)} is too large")
    return ranks
