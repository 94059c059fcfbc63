"""A model at a glance: its vocabulary by kind, content and length, and the checks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from tokctl.analysis.explain.files import FileFacts, file_facts
from tokctl.analysis.explain.history import MergeRecord, history_of
from tokctl.analysis.explain.kinds import KINDS, kind_of
from tokctl.analysis.explain.places import content_of, place_of
from tokctl.analysis.explain.reach import (
    Reach,
    is_byte_token,
    ordinary_ids,
    token_text,
    unreachable,
)
from tokctl.analysis.explain.scripts import script_of
from tokctl.model import Recipe, Round, TrainingRecord
from tokctl.model.parts import AddedToken

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer

Number = TypeVar("Number", int, float)

#: Longest tokens, and first and last merges, that a summary shows.
SHOWN = 8


@dataclass(frozen=True)
class Checks:
    """What can be said against a vocabulary without a text.

    Attributes:
        reach: see `tokctl.analysis.explain.reach`.
        duplicates: tokens that stand for the same text in the same place of a word, so
            that they decode alike; tokctl's own training makes none.
        two_places: texts that have one token with a word marker and one without.
        remade: merges that made a token which existed already.
    """

    reach: Reach
    duplicates: tuple[tuple[str, ...], ...]
    two_places: int
    remade: int


@dataclass(frozen=True)
class Summary:
    """A model at a glance.

    Attributes:
        merges: None where the model has no merges, or they are not known.
        special: special tokens with their ids.
        added: other tokens that are found before the model segments the text.
        kinds: tokens by where they come from, see `tokctl.analysis.explain.kinds`.
        places: tokens by where in a word they stand; special tokens left out.
        contents: tokens by what they consist of; special tokens left out.
        scripts: tokens by Unicode script (`scripts.py`); special ones left out.
        lengths: tokens by length without markers, in `unit`; special tokens left out.
        longest: the longest tokens with their length, ids ascending among equals.
        frequent: the most frequent tokens with their counts (word, char).
        highest, lowest: pieces with their scores, the highest and the lowest first
            (unigram).
        rounds: of the training (unigram).
        source: the file that it was read from, and where it came from.
    """

    recipe: Recipe
    training: TrainingRecord | None
    vocab_size: int
    merges: int | None
    special: dict[str, int]
    added: tuple[AddedToken, ...]
    kinds: dict[str, int]
    places: dict[str, int]
    contents: dict[str, int]
    scripts: dict[str, int]
    unit: str
    lengths: dict[int, int]
    longest: tuple[tuple[str, int], ...]
    first_merges: tuple[MergeRecord, ...]
    last_merges: tuple[MergeRecord, ...]
    checks: Checks
    obstacle: str | None
    differences: tuple[str, ...]
    source: FileFacts
    frequent: tuple[tuple[str, int], ...] = ()
    highest: tuple[tuple[str, float], ...] = ()
    lowest: tuple[tuple[str, float], ...] = ()
    rounds: tuple[Round, ...] = ()


def _differences(tokenizer: Tokenizer) -> tuple[str, ...]:
    """What Hugging Face does otherwise with the file that it loads."""
    from tokctl.formats import InexpressibleError, losses

    try:
        found = losses(tokenizer.model, "huggingface")
    except InexpressibleError as reason:
        return (str(reason),)
    return tuple(loss.what for loss in found if not loss.minor)


def summarize(tokenizer: Tokenizer) -> Summary:
    """Everything that can be said about a model without a text. Takes some time for the
    trials of `tokctl.analysis.explain.reach`: about a second for 50,000 tokens."""
    from tokctl.formats import obstacle

    recipe, model = tokenizer.recipe, tokenizer.model
    refused = obstacle(model)
    history = history_of(tokenizer)
    ids = [id_ for id_ in ordinary_ids(tokenizer) if not is_byte_token(tokenizer, id_)]
    texts = {id_: token_text(tokenizer, id_) for id_ in ids}
    unit = "bytes" if recipe.units == "bytes" else "characters"
    sizes = {
        id_: len(text) if unit == "bytes" else len(text.decode()) for id_, text in texts.items()
    }
    longest = sorted(ids, key=lambda id_: (-sizes[id_], id_))[:SHOWN]
    total = len(history.merges)
    # Those shown at both ends never overlap.
    last = range(max(SHOWN, total - SHOWN), total)
    return Summary(
        recipe=recipe,
        training=model.training,
        vocab_size=tokenizer.vocab_size,
        merges=total if _has_merges(recipe) else None,
        special=tokenizer.special_ids,
        added=tuple(token for token in model.added if not token.special),
        kinds=_kinds(tokenizer),
        places=_most_common(Counter(place_of(tokenizer, id_) for id_ in ids)),
        contents=_most_common(Counter(content_of(text) for text in texts.values())),
        scripts=_most_common(Counter(map(script_of, texts.values()))),
        unit=unit,
        lengths=dict(sorted(Counter(sizes.values()).items())),
        longest=tuple((tokenizer.tokens[id_], sizes[id_]) for id_ in longest),
        first_merges=tuple(history.record(rank) for rank in range(min(SHOWN, total))),
        last_merges=tuple(history.record(rank) for rank in last),
        checks=_checks(tokenizer, texts),
        obstacle=refused,
        differences=() if refused else _differences(tokenizer),
        source=file_facts(tokenizer),
        frequent=_first(tokenizer, ids, model.counts),
        highest=_first(tokenizer, ids, model.scores) if recipe.algorithm == "unigram" else (),
        lowest=_first(tokenizer, ids, model.scores, sign=1)
        if recipe.algorithm == "unigram"
        else (),
        rounds=tuple(model.rounds),
    )


def _has_merges(recipe: Recipe) -> bool:
    return recipe.algorithm in ("bpe", "wordpiece") and recipe.segmentation != "ranks"


def _kinds(tokenizer: Tokenizer) -> dict[str, int]:
    found = Counter(kind_of(tokenizer, id_) for id_ in range(tokenizer.vocab_size))
    first = {kind: found.pop(kind, 0) for kind in KINDS[tokenizer.recipe.algorithm]}
    return first | dict(sorted(found.items()))


def _first(
    tokenizer: Tokenizer, ids: list[int], values: Sequence[Number], sign: int = -1
) -> tuple[tuple[str, Number], ...]:
    """The tokens with the highest values, or with `sign` 1 the lowest; ids ascending among
    equals."""
    if not values:
        return ()
    chosen = sorted(ids, key=lambda id_: (sign * values[id_], id_))[:SHOWN]
    return tuple((tokenizer.tokens[id_], values[id_]) for id_ in chosen)


def _most_common(counts: Counter[str]) -> dict[str, int]:
    return dict(counts.most_common())


def _checks(tokenizer: Tokenizer, texts: dict[int, bytes]) -> Checks:
    places: dict[tuple[bytes, str], list[str]] = {}
    for id_, text in texts.items():
        places.setdefault((text, place_of(tokenizer, id_)), []).append(tokenizer.tokens[id_])
    for token in tokenizer.recipe.special_tokens:
        for (text, _), names in places.items():
            if text == token.encode() and not tokenizer.recipe.marker.text:
                names.append(token)
    with_text = Counter(text for text in texts.values() if text)
    history = history_of(tokenizer)
    return Checks(
        reach=unreachable(tokenizer),
        duplicates=tuple(tuple(names) for names in places.values() if len(names) > 1),
        two_places=sum(count > 1 for count in with_text.values()),
        remade=len(history.merges) - len(history.made_by),
    )
