"""Added tokens, both ways, with the ids that they get there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tokctl.errors import TokctlError
from tokctl.formats.huggingface.component import Fields, InexpressibleError, Json
from tokctl.pipeline import AddedToken


def to_json(tokens: tuple[AddedToken, ...]) -> list[Json]:
    """The list for added tokens; `InexpressibleError` where there is none."""
    for token in tokens:
        if token.normalized and token.literal:
            raise InexpressibleError(
                f"it would normalize the spelling of the added token {token.text!r}, too"
            )
    return [
        {
            "id": token.id,
            "content": token.text,
            "single_word": token.single_word,
            "lstrip": token.strip_left,
            "rstrip": token.strip_right,
            "normalized": token.normalized,
            "special": token.special,
        }
        for token in sorted(tokens, key=lambda token: token.id)
    ]


def from_json(data: Any, vocabulary: Mapping[str, int], size: int) -> list[AddedToken]:
    """The added tokens of a list.

    vocabulary, size: the model's own. A token in it has its id there; any other gets the
    next free one, whatever the file says, so the two have to agree.
    """
    if data is None:
        return []
    if not isinstance(data, list):
        raise ValueError("the added tokens are no list")
    tokens = []
    seen: dict[str, int] = {}
    next_id = size
    for place, entry in enumerate(data):
        fields = Fields(f"added token {place}", entry)
        text, id_ = fields.text("content"), fields.number("id")
        if not text:
            continue
        if text in seen:
            raise TokctlError(f"its added token {text!r} is listed twice, with id {id_} again")
        known = vocabulary.get(text)
        expected = next_id if known is None else known
        if id_ != expected:
            where = "the next free id is" if known is None else "its id in the vocabulary is"
            raise TokctlError(
                f"its added token {text!r} has the id {id_}, and {where} {expected}",
                "ids are numbered 0, 1, 2, … without holes; Hugging Face tokenizers would use "
                f"the id {expected}",
            )
        next_id += known is None
        seen[text] = id_
        special = fields.flag("special", False)
        tokens.append(
            AddedToken(
                text,
                id_,
                special=special,
                single_word=fields.flag("single_word", False),
                strip_left=fields.flag("lstrip", False),
                strip_right=fields.flag("rstrip", False),
                normalized=fields.flag("normalized", not special),
                ordinary=known is not None and not special,
            )
        )
    return tokens
