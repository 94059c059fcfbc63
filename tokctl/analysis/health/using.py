"""What a text uses of a vocabulary.

A token is **used** as often as its id comes out when the texts are encoded, each document by
itself, with no special token allowed. Left out of `never-used` and `rarely-used` are special
tokens, which no text gives, and the tokens of single bytes, which stand ready for what is rare.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from tokctl import _native
from tokctl.analysis.health.report import Example
from tokctl.analysis.health.subject import Answer, Subject, not_made
from tokctl.wording import times

NAMES = ("unknown-in-text", "never-used", "rarely-used")
NEEDS_TEXT = "it needs a text"

#: Lines that are encoded together.
_LINES_AT_A_TIME = 10_000


def check(subject: Subject) -> Iterator[Answer]:
    if subject.texts is None:
        yield from not_made(NAMES, NEEDS_TEXT)
        return
    used = subject.used
    total = used.total()
    unknown = sum(used[id_] for id_ in _unknown_ids(subject))
    examples = islice(_unknown(subject), subject.limit) if unknown else ()
    yield subject.finding("unknown-in-text", unknown, total, examples=examples)
    ids = [id_ for id_ in subject.ordinary if id_ not in subject.reserve]
    ids += [token.id for token in subject.model.added if not (token.special or token.ordinary)]
    never = [id_ for id_ in ids if not used[id_]]
    yield subject.found("never-used", never, len(ids))
    rare = sorted((id_ for id_ in ids if 0 < used[id_] < subject.rare), key=used.__getitem__)
    detail = f"Used fewer than {subject.rare:,} times."
    yield subject.found(
        "rarely-used", rare, len(ids), notes=lambda id_: times(used[id_]), detail=detail
    )


def _unknown_ids(subject: Subject) -> set[int]:
    """The unknown token, and what stands for an id where something has none."""
    unk_id = subject.tokenizer.unk_id
    return {_native.NO_ID} if unk_id is None else {_native.NO_ID, unk_id}


def _unknown(subject: Subject) -> Iterator[Example]:
    """What is unknown in the texts, each once, as far as it is in its line by itself, too."""
    encoder, unknown = subject.tokenizer.encoder, _unknown_ids(subject)
    seen = set()
    for text in subject.texts or ():
        lines = (line for data in text.documents for line in data.splitlines(keepends=True))
        while group := list(islice(lines, _LINES_AT_A_TIME)):
            for line, ids in zip(group, encoder.batch(group, 1, subject.matcher), strict=True):
                if unknown.isdisjoint(ids):
                    continue
                for id_, start, end, _ in zip(*encoder.tokens(line, subject.matcher), strict=True):
                    piece = line[start:end]
                    if id_ in unknown and piece not in seen:
                        seen.add(piece)
                        yield Example(None, piece.decode("utf-8", "replace"), piece)
