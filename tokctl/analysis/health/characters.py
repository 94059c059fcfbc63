"""Oddities in the characters of tokens. A `▁` that stands for a space is one here."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tokctl.analysis.health.subject import Answer, Subject

#: A token of more characters is long.
LONG = 32

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
#: White space behind something else; a line end is no space.
_TRAILING = re.compile(r"\S[^\S\r\n\v\f\x1c-\x1f\x85\u2028\u2029]+\Z")


def check(subject: Subject) -> Iterator[Answer]:
    texts = subject.texts_of
    whole = len(texts)
    damaged = [id_ for id_, text in texts.items() if "\ufffd" in text]
    yield subject.found("replacement-characters", damaged, whole)
    alphabet = subject.reserve
    control = [id_ for id_, text in texts.items() if id_ not in alphabet and _CONTROL.search(text)]
    yield subject.found("control-characters", control, whole)
    trailing = [
        id_ for id_, text in texts.items() if text[-1:].isspace() and _TRAILING.search(text)
    ]
    yield subject.found("trailing-spaces", trailing, whole)
    sizes = {id_: len(text) for id_, text in texts.items() if len(text) > LONG}
    long = sorted(sizes, key=lambda id_: (-sizes[id_], id_))
    detail = f"The longest has {sizes[long[0]]:,}." if long else ""
    yield subject.found("long-tokens", long, whole, detail=detail)
