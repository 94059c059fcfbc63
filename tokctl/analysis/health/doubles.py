"""Ids that stand for the same text."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping

from tokctl.analysis.explain.places import place_of
from tokctl.analysis.health.subject import Answer, Subject


def check(subject: Subject) -> Iterator[Answer]:
    """By place: the text without its marker, and where in a word it stands. Alone: the bytes that
    one id is decoded to; special tokens and ids that give nothing are left out."""
    tokenizer = subject.tokenizer
    places = {id_: (text, place_of(tokenizer, id_)) for id_, text in subject.bare.items()}
    yield _shared(subject, "duplicates-in-place", places)
    decode = tokenizer.decoder.decode
    special = set(tokenizer.special_ids.values())
    ids = (id_ for id_ in range(tokenizer.vocab_size) if id_ not in special)
    texts = {id_: decode([id_], False) for id_ in ids}
    yield _shared(subject, "duplicates-alone", {id_: text for id_, text in texts.items() if text})


def _shared(subject: Subject, name: str, meanings: Mapping[int, Hashable]) -> Answer:
    first: dict[Hashable, int] = {}
    groups: dict[int, list[int]] = {}
    for id_, meaning in meanings.items():
        groups.setdefault(first.setdefault(meaning, id_), []).append(id_)
    shared = {id_: group for group in groups.values() if len(group) > 1 for id_ in group}

    def others(id_: int) -> str:
        return "as " + ", ".join(f"#{other}" for other in shared[id_][:4] if other != id_)

    texts = sum(len(group) > 1 for group in groups.values())
    detail = f"{texts:,} {'text has' if texts == 1 else 'texts have'} two ids or more."
    return subject.found(name, list(shared), len(meanings), notes=others, detail=detail)
