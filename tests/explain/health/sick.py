"""Models made by hand, and what a check says of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tests.metrics.models import document
from tokctl import Tokenizer
from tokctl.analysis.health import Finding, Health, SkippedCheck, check_health
from tokctl.model import Merge, Model, Recipe, byte_level
from tokctl.model.parts import AddedToken
from tokctl.model.presets import BPE_CHARACTERS, UNIGRAM

#: Characters, without a pre-tokenizer or a marker, and with an unknown token.
CHARACTERS = replace(BPE_CHARACTERS, pre_tokenizers=())
BYTES = replace(
    CHARACTERS,
    units="bytes",
    alphabet="bytes",
    unk_token=None,
    special_tokens=(),
    pre_tokenizers="gpt2",
)


def merging(
    words: Sequence[str],
    recipe: Recipe = CHARACTERS,
    alphabet: Sequence[str | bytes] | None = None,
    *,
    added: Sequence[AddedToken] = (),
    **more: Any,
) -> Tokenizer:
    """A model that merges each word out of the longest earlier token it starts with and the rest,
    which has to be a token, too."""
    letters: list[bytes] = sorted({c.encode() for word in words for c in word})
    if alphabet is not None:
        letters = [c if isinstance(c, bytes) else c.encode() for c in alphabet]
    tokens = [*(token.encode() for token in recipe.special_tokens), *letters]
    ids = {token: tokens.index(token, len(recipe.special_tokens)) for token in letters}
    merges = []
    for word in (word.encode() for word in words):
        cut = max(n for n in range(1, len(word)) if word[:n] in ids and word[n:] in ids)
        if word not in ids:
            ids[word] = len(tokens)
            tokens.append(word)
        merges.append(Merge(ids[word[:cut]], ids[word[cut:]], ids[word], 1, 1, 1))
    special = tuple(AddedToken(text, id_) for id_, text in enumerate(recipe.special_tokens))
    placed = [token._replace(id=len(tokens) + place) for place, token in enumerate(added)]
    tokens += [token.text.encode() for token in added]
    recipe = recipe.with_special_tokens([token.text for token in placed if token.special])
    model = Model(recipe, tokens, merges, added_tokens=(*special, *placed), **more)
    return Tokenizer(model)


def byte_level_model(words: Sequence[str], **more: Any) -> Tokenizer:
    """The same over bytes, with all 256."""
    return merging(words, BYTES, byte_level.IN_ID_ORDER, **more)


def unigram(pieces: dict[str, float], **changes: Any) -> Tokenizer:
    """Pieces with their scores, behind the special tokens."""
    recipe = replace(UNIGRAM, **{"normalizers": (), "pre_tokenizers": (), **changes})
    tokens = [*recipe.special_tokens, *pieces]
    scores = [0.0] * len(recipe.special_tokens) + list(pieces.values())
    return Tokenizer(Model(recipe, [t.encode() for t in tokens], scores=scores))


def health(tokenizer: Tokenizer, *texts: str | bytes, **options: Any) -> Health:
    """The health on these texts; without any, without a text."""
    return check_health(tokenizer, [*map(document, texts)] or None, **options)


def finding(report: Health, name: str) -> Finding | None:
    """What a check has found; None where it was made and passed."""
    found = {one.name: one for one in report.findings}
    if name in found:
        return found[name]
    assert name in {one.name for one in report.passed}
    return None


def tokens(report: Health, name: str) -> list[str]:
    """The tokens of a finding; none where the check passed."""
    found = finding(report, name)
    return [] if found is None else [one.token for one in found.examples]


def reason(report: Health, name: str) -> str:
    """Why a check was not made."""
    (found,) = [check for check in report.not_made if check.name == name]
    assert isinstance(found, SkippedCheck)
    return found.reason
