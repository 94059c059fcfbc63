"""A text's pre-tokens with the added tokens between them, as the encoder finds them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tokctl import _native
from tokctl.pipeline import AddedToken, native_parts

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer


def pre_tokens_of(tokenizer: Tokenizer, data: bytes) -> Iterator[bytes | AddedToken]:
    """What a text is cut into, in order: pre-tokens, normalized and rewritten, and the
    added tokens that need no permission."""
    added = [token for token in tokenizer.model.added if not token.special]
    if not added:
        text, ranges, _ = tokenizer.encoder.pre_tokens(data)
        yield from (text[start:end] for start, end in ranges)
        return
    normalizers = native_parts(tokenizer.recipe.normalizers)
    in_text = [token for token in added if not token.normalized]
    in_normalized = [token for token in added if token.normalized]

    def spelled(token: AddedToken) -> bytes:
        return _native.normalize(normalizers, token.text.encode())

    for found, stretch, first in _spans(in_text, [token.text.encode() for token in in_text], data):
        if found is not None:
            yield found
            continue
        normalized = _native.normalize(normalizers, stretch)
        texts = [t.text.encode() if t.literal else spelled(t) for t in in_normalized]
        for inner, rest, at_start in _spans(in_normalized, texts, normalized):
            if inner is not None:
                yield inner
            else:
                yield from _split(tokenizer, rest, first and at_start)


def _spans(
    added: Sequence[AddedToken], texts: Sequence[bytes], data: bytes
) -> Iterator[tuple[AddedToken | None, bytes, bool]]:
    """Added tokens and the stretches between; whether each stands at the start."""
    by_id = {token.id: token for token in added}
    matcher = _native.AddedTokens(
        [
            (text, token.id, token.single_word, token.strip_left, token.strip_right)
            for token, text in zip(added, texts, strict=True)
            if text
        ]
    )
    for id_, (start, end) in matcher.spans(data):
        yield (None if id_ is None else by_id[id_]), data[start:end], start == 0


def _split(tokenizer: Tokenizer, text: bytes, at_start: bool) -> Iterator[bytes]:
    parts = native_parts(tokenizer.recipe.pre_tokenizers)
    for part in parts:
        # Only the first stretch of a text gets what is put before a text.
        if part["kind"] == "metaspace" and part["prepend"] == "first" and not at_start:
            part["prepend"] = "never"
    rewritten, ranges, _ = _native.pre_tokenize(parts, text)
    yield from (rewritten[start:end] for start, end in ranges)
