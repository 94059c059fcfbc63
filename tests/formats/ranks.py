"""Ranks that show how a text is split: tokens that cross every border there is."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from tests.exact.strings import strings
from tokctl import Tokenizer, preset
from tokctl.model.byte_level import IN_ID_ORDER

#: Every byte by its value.
BYTES = [bytes([byte]) for byte in range(256)]


@lru_cache(maxsize=1)
def tokens() -> list[bytes]:
    """Bytes, then tokens trained on unsplit texts: they hold spaces, digits and line ends
    wherever these stand."""
    texts = dict.fromkeys(strings(1500, seed=77), 1)
    texts.pop("", None)
    texts |= {
        "a1b2 c3\n\nd  e\t\tf 12345 don't I'LL it's, x.y!? \r\n 字1字 字字a": 30,
        "x \n \n  ": 30,
    }
    texts |= {"a|b+a": 30}
    trained = Tokenizer.train(texts, vocab_size=3000, recipe=preset("gpt2"))
    found = [token for token in trained.model.tokens if token not in (b"<|endoftext|>",)]
    assert found[:256] == IN_ID_ORDER
    return [*BYTES, *found[256:]]


def rank_file(found: Sequence[bytes], start: int = 0) -> bytes:
    """The lines, from the rank `start` on."""
    lines = (b"%b %d\n" % (base64.b64encode(t), rank) for rank, t in enumerate(found, start))
    return b"".join(lines)


def their_encoding(
    found: Iterable[bytes], pattern: str, special: Mapping[str, int] | None = None, start: int = 0
) -> Any:
    """tiktoken's own."""
    import tiktoken

    return tiktoken.Encoding(
        "theirs",
        pat_str=pattern,
        mergeable_ranks={token: rank for rank, token in enumerate(found, start)},
        special_tokens=dict(special or {}),
    )
