"""A model at a glance: its vocabulary by kind, content and length, and the checks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from tokctl.analysis.explain.history import LONGEST, MergeRecord, history_of, merge_records
from tokctl.analysis.explain.languages import LanguageShares, language_shares
from tokctl.analysis.explain.removals import refined_word
from tokctl.analysis.explain.vocabulary import (
    Reach,
    TokenGroups,
    is_byte_token,
    kind_of,
    text_ids,
    token_bytes,
    unreachable,
)
from tokctl.analysis.metrics import canonical
from tokctl.model import Recipe, Round, TrainingRecord
from tokctl.model.parts import AddedToken

if TYPE_CHECKING:
    from tokctl.model import Origin
    from tokctl.tokenizer import Tokenizer

Number = TypeVar("Number", int, float)
#: Longest tokens, and first and last merges, that a summary shows.
SHOWN = 8


@dataclass(frozen=True)
class Checks:
    """What can be said against a vocabulary without a text.

    Attributes:
        reach: see `unreachable`.
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
        merges: None if the model has no merges, or they are not known.
        removed: tokens that were taken away; None if none are.
        supermerges: merges of whole pre-tokens; the words end, and the superwords begin, at the id
            `vocab_size - supermerges`.
        merges_before: those that were learned before the first supermerge.
        special: special tokens with their ids.
        added: other tokens that are found before the model segments the text.
        kinds: tokens by where they come from, see `kind_of`.
        places: tokens by where in a word they stand; special tokens left out.
        contents: tokens by what they consist of; special tokens left out.
        scripts: tokens by Unicode script (`script_of`); special ones left out.
        lengths: tokens by length without markers, in `unit`; special tokens left out.
        longest: the longest tokens with their length, ids ascending among equals.
        frequent: the most frequent tokens with their counts (word, char).
        highest, lowest: pieces with their scores, the highest and the lowest first
            (unigram).
        rounds: of the training (unigram).
        languages: of a parity-aware training; else None.
        source: the file that it was read from, and where it came from.
    """

    recipe: Recipe
    training: TrainingRecord | None
    vocab_size: int
    merges: int | None
    supermerges: int
    merges_before: int
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
    languages: LanguageShares | None = None
    removed: int | None = None
    first_supermerges: tuple[MergeRecord, ...] = ()


def _before_superwords(tokenizer: Tokenizer) -> int:
    """Of equal counts a merge is learned before a supermerge, which also waits for its words."""
    model, merges = tokenizer.model, history_of(tokenizer).merges
    if not model.supermerges:
        return len(merges)
    first, there = model.supermerges[0], 0
    if model.events:
        words = (model.tokens[side] for side in first[:2])
        # Longer ones are not explained.
        short = (word for word in words if len(word) <= LONGEST)
        steps = (refined_word(tokenizer, word, (), ()).steps[-1:] for word in short)
        there = max((step.step or 0 for last in steps for step in last), default=0)
    later = (at for at in range(there, len(merges)) if merges[at].count < first.count)
    return next(later, len(merges))


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
    trials of `unreachable`: about a second for 50,000 tokens."""
    from tokctl.formats import obstacle

    recipe, model = tokenizer.recipe, tokenizer.model
    refused = obstacle(model)
    history = history_of(tokenizer)
    groups = TokenGroups(tokenizer)
    ids, lengths = list(groups.texts), groups.lengths
    longest = sorted(ids, key=lambda id_: (-lengths[id_], id_))[:SHOWN]
    total = len(history.merges)
    # Those shown at both ends never overlap.
    last = range(max(SHOWN, total - SHOWN), total)
    return Summary(
        recipe=recipe,
        training=model.training,
        vocab_size=tokenizer.vocab_size,
        merges=total if recipe.traits.learns_merges and not recipe.has_ranks else None,
        supermerges=len(model.supermerges),
        merges_before=_before_superwords(tokenizer),
        special=tokenizer.special_ids,
        added=tuple(token for token in model.added if not token.special),
        kinds=_kinds(tokenizer),
        places=_most_common(groups.places),
        contents=_most_common(groups.contents),
        scripts=_most_common(groups.scripts),
        unit=groups.unit,
        lengths=dict(sorted(Counter(lengths.values()).items())),
        longest=tuple((tokenizer.tokens[id_], lengths[id_]) for id_ in longest),
        first_merges=tuple(history.record(rank) for rank in range(min(SHOWN, total))),
        last_merges=tuple(history.record(rank) for rank in last),
        first_supermerges=tuple(merge_records(tokenizer, total + 1, total + SHOWN))
        if model.supermerges
        else (),
        checks=_checks(tokenizer, groups),
        obstacle=refused,
        differences=() if refused else _differences(tokenizer),
        source=file_facts(tokenizer),
        frequent=_first(tokenizer, ids, model.counts),
        highest=_first(tokenizer, ids, model.scores) if recipe.traits.has_scores else (),
        lowest=_first(tokenizer, ids, model.scores, sign=1) if recipe.traits.has_scores else (),
        rounds=tuple(model.rounds),
        languages=language_shares(model.parity) if model.parity else None,
        removed=None if model.events is None else len(model.events.removed),
    )


def _kinds(tokenizer: Tokenizer) -> dict[str, int]:
    found = Counter(kind_of(tokenizer, id_) for id_ in range(tokenizer.vocab_size))
    first = {kind: found.pop(kind, 0) for kind in tokenizer.recipe.traits.token_kinds}
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


def _most_common(groups: Mapping[int, str]) -> dict[str, int]:
    return dict(Counter(groups.values()).most_common())


def _checks(tokenizer: Tokenizer, groups: TokenGroups) -> Checks:
    places: dict[tuple[bytes, str], list[str]] = {}
    for id_, text in groups.texts.items():
        places.setdefault((text, groups.places[id_]), []).append(tokenizer.tokens[id_])
    if not tokenizer.recipe.marker.text:
        special = {token.encode() for token in tokenizer.recipe.special_tokens}
        for (text, _), names in places.items():
            if text in special:
                names.append(text.decode())
    with_text = Counter(text for text in groups.texts.values() if text)
    history = history_of(tokenizer)
    return Checks(
        reach=unreachable(tokenizer),
        duplicates=tuple(tuple(names) for names in places.values() if len(names) > 1),
        two_places=sum(count > 1 for count in with_text.values()),
        remade=len(history.merges) - len(history.made_by),
    )


# -- The file of a model, and where it came from before that ------------------------------------


class FileFacts(NamedTuple):
    """What is known of a model's file.

    Attributes:
        format: name of the file's format; None for a model that was made here.
        title: what people call that format; empty without one.
        origin: where a model came from that tokctl has not trained.
        origin_title: what people call the format of the origin; empty without one.
        companions: names of the other files that came with it.
    """

    format: str | None = None
    title: str = ""
    origin: Origin | None = None
    origin_title: str = ""
    companions: tuple[str, ...] = ()

    @property
    def is_converted(self) -> bool:
        """Does the origin say more than the format does?"""
        origin = self.origin
        return origin is not None and (origin.format != self.format or bool(origin.name))


def file_facts(tokenizer: Tokenizer) -> FileFacts:
    """What is known of the file of a model."""
    model = tokenizer.model
    return FileFacts(
        tokenizer.format,
        _title(tokenizer.format or ""),
        model.origin,
        _title(model.origin.format if model.origin else ""),
        tuple(sorted(model.companions)),
    )


def _title(name: str) -> str:
    """What people call a format. A file can name one that only a later tokctl knows."""
    from tokctl.formats import FORMATS

    return next((known.title for known in FORMATS if known.name == name), name)


# -- Curves: few points that stand for many tokens or merges, for charts ------------------------

#: Points of a curve: more can't be told apart on a page.
POINTS = 60


class MergePoint(NamedTuple):
    """One merge of a history: its step, its token, how often its pair occurred before it, and
    its likelihood score where the training compared those."""

    step: int
    token: str
    times: int | None
    score: float | None


class ScorePoint(NamedTuple):
    """A piece of a Unigram model: its place by score, from 1, and its log probability."""

    place: int
    token: str
    score: float


def spread(last: int, points: int = POINTS) -> list[int]:
    """Numbers from 1 to `last`, at most `points`, each about the same factor above the one
    before it."""
    if last <= points:
        return list(range(1, last + 1))
    # Near 1 the steps are smaller than 1, and fall together.
    found = {round(last ** (n / (points - 1))) for n in range(points)}
    return sorted(found)


def frequencies(id_counts: Mapping[int, int]) -> list[tuple[int, int]]:
    """Ranks with the frequencies of the tokens there, the most frequent first: Zipf's plot."""
    ordered = sorted(id_counts.values(), reverse=True)
    return [(rank, ordered[rank - 1]) for rank in spread(len(ordered))]


def token_lengths(tokenizer: Tokenizer, id_counts: Mapping[int, int]) -> dict[int, int]:
    """How many tokens of each length a text has.

    The length is in characters, without what marks words and without a leading space, so that
    models can be compared. A character belongs to the token that holds its first byte: of
    tokens inside a character the length is 0. Special and added tokens are left out.
    """
    recipe, model = tokenizer.recipe, tokenizer.model
    lengths: dict[int, int] = {}
    for id_, count in id_counts.items():
        if id_ in model.reserved_ids:
            continue
        data = token_bytes(tokenizer, id_)
        if not is_byte_token(tokenizer, id_):
            _, data = canonical(recipe, data)
        length = sum(byte & 0xC0 != 0x80 for byte in data)
        lengths[length] = lengths.get(length, 0) + count
    return dict(sorted(lengths.items()))


def merge_curve(tokenizer: Tokenizer) -> list[MergePoint]:
    """Merges spread over the whole history, the first and the last among them; none where the
    model has no history."""
    history = history_of(tokenizer)
    records = (history.record(step - 1) for step in spread(len(history.merges)))
    return [
        MergePoint(r.step, r.token, r.count, None if r.score is None else float(r.score))
        for r in records
    ]


def score_curve(tokenizer: Tokenizer) -> list[ScorePoint]:
    """Pieces spread over all of them by score; none where the model has no scores."""
    model = tokenizer.model
    if not tokenizer.recipe.traits.has_scores:
        return []
    ids = sorted(text_ids(tokenizer), key=lambda id_: (-model.scores[id_], id_))
    return [
        ScorePoint(place, tokenizer.tokens[ids[place - 1]], model.scores[ids[place - 1]])
        for place in spread(len(ids))
    ]


class UseCurves(NamedTuple):
    """How a model's tokens are used by texts: see `token_lengths` and `frequencies`."""

    lengths: Mapping[int, int]
    frequencies: list[tuple[int, int]]


def use_curves(tokenizer: Tokenizer, id_counts: Mapping[int, int]) -> UseCurves:
    """Both of them, of the texts that have each id so often."""
    return UseCurves(token_lengths(tokenizer, id_counts), frequencies(id_counts))


class ModelCurves(NamedTuple):
    """What a training left behind, for charts: see `merge_curve` and `score_curve`."""

    merges: list[MergePoint]
    scores: list[ScorePoint]


def model_curves(tokenizer: Tokenizer) -> ModelCurves:
    return ModelCurves(merge_curve(tokenizer), score_curve(tokenizer))
