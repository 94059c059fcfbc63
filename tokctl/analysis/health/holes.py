"""Holes in the ids.

A model in memory has none: where a file's ids have holes, its reader fills each with a special
token `<|unused_ID|>` (`tokctl.formats.holes`), or refuses the file, because its format allows no
holes or because more ids are missing than there are tokens. So the fillers are what is left to
be seen, and they are found by their own spelling.
"""

from __future__ import annotations

from collections.abc import Iterator

from tokctl.analysis.health.subject import Answer, Subject
from tokctl.formats.holes import filler


def check(subject: Subject) -> Iterator[Answer]:
    added = subject.model.added
    ids = [token.id for token in added if token.special and token.text == filler(token.id)]
    yield subject.found("holes-in-ids", ids, subject.tokenizer.vocab_size)
