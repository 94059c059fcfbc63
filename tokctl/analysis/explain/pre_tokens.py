"""A text's pre-tokens with the added tokens between them, as the encoder finds them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokctl.model.parts import AddedToken

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer


def pre_tokens_of(tokenizer: Tokenizer, data: bytes) -> Iterator[bytes | AddedToken]:
    """What a text is cut into, in order: pre-tokens, normalized and rewritten, and the
    added tokens that need no permission."""
    matchers = tokenizer.special_matcher("none")
    text, ranges, _, found = tokenizer.encoder.pre_tokens(data, matchers)
    added = {token.id: token for token in tokenizer.model.added if not token.special}
    for (start, end), id_ in zip(ranges, found, strict=True):
        yield text[start:end] if id_ is None else added[id_]
