"""Added tokens, both ways, with the ids that they get there."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import chain, count, repeat
from typing import Any, NoReturn

from tokctl.errors import TokctlError
from tokctl.formats.huggingface.component import Fields, InexpressibleError, Json
from tokctl.model.parts import AddedToken


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
    texts, ids, *flags, normalized = _columns([entry for entry in data if not _is_empty(entry)])
    known = list(map(vocabulary.get, texts))
    new = count(size)
    expected = [next(new) if id_ is None else id_ for id_ in known]
    if ids != expected or len(set(texts)) != len(texts):
        _refuse(texts, ids, known, expected)
    special = flags[0]
    normalized = [
        not apart if flag is None else flag for flag, apart in zip(normalized, special, strict=True)
    ]
    ordinary = [id_ is not None and not apart for id_, apart in zip(known, special, strict=True)]
    rows = zip(texts, ids, *flags, normalized, repeat(False), ordinary)
    return list(map(partial(tuple.__new__, AddedToken), rows))


def _refuse(
    texts: list[str], ids: list[int], known: list[int | None], expected: list[int]
) -> NoReturn:
    """TokctlError for the first token that comes twice, or has another id than it would get."""
    seen: set[str] = set()
    for text, id_, own, right in zip(texts, ids, known, expected, strict=True):
        if text in seen:
            raise TokctlError(f"its added token {text!r} is listed twice, with id {id_} again")
        if id_ != right:
            where = "the next free id is" if own is None else "its id in the vocabulary is"
            raise TokctlError(
                f"its added token {text!r} has the id {id_}, and {where} {right}",
                "ids are numbered 0, 1, 2, … without holes; Hugging Face tokenizers would use "
                f"the id {right}",
            )
        seen.add(text)
    raise AssertionError("every added token has the id that it would get")


def _is_empty(entry: Any) -> bool:
    """Is it a token without a text, which that library passes over?"""
    return isinstance(entry, dict) and entry.get("content") == ""


#: The fields of an added token in that format, in the order of `AddedToken`'s.
_FLAGS = ("special", "single_word", "lstrip", "rstrip")


def _columns(data: list[Any]) -> list[list[Any]]:
    """Texts, ids and flags of the entries; ValueError for the first that is wrong.

    By columns, because a file may have 400,000 entries.
    """
    if {*map(type, data)} <= {dict}:
        texts = [entry.get("content") for entry in data]
        ids = [entry.get("id") for entry in data]
        flags = [[entry.get(name) for entry in data] for name in (*_FLAGS, "normalized")]
        types = {*map(type, chain.from_iterable(flags))}
        if (
            {*map(type, texts)} <= {str}
            and {*map(type, ids)} <= {int}
            and types <= {bool, type(None)}
        ):
            # Left out is false, but for the last, which has another default.
            return [texts, ids, *(list(map(bool, column)) for column in flags[:-1]), flags[-1]]
    for place, entry in enumerate(data):
        fields = Fields(f"added token {place}", entry)
        fields.text("content"), fields.number("id")
        for name in (*_FLAGS, "normalized"):
            fields.flag(name, False)
    raise ValueError("an added token is wrong")
