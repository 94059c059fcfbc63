"""Summaries of a model: its vocabulary by kind, content and length, checks, and chart curves."""

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
    from tokctl.model import ImportedFrom
    from tokctl.tokenizer import Tokenizer

Number = TypeVar("Number", int, float)
#: Number of tokens, merges or pieces that a summary shows of each kind.
SHOWN = 8


@dataclass(frozen=True)
class Checks:
    """Checks of a vocabulary that need no text.

    Attributes:
        reach: tokens that no text is encoded to; see `unreachable`.
        duplicates: tokens with the same text and the same position in a word, which decode alike.
            tokctl's own training makes none.
        two_places: number of texts that have a token with a word marker and one without.
        remade: number of merges that made an existing token.
    """

    reach: Reach
    duplicates: tuple[tuple[str, ...], ...]
    two_places: int
    remade: int


@dataclass(frozen=True)
class Summary:
    """A model at a glance.

    Attributes:
        recipe: the model's recipe.
        training: record of the training; None if the file has none.
        vocab_size: number of ids.
        merges: number of merges; None if there are no merges or they are not known.
        supermerges: number of merges of whole pre-tokens. Superwords have the ids from
            `vocab_size - supermerges` on.
        merges_before: number of merges learned before the first supermerge.
        special: special tokens with their ids.
        added: other tokens that are found before the model segments the text.
        kinds: tokens by origin; see `kind_of`.
        places: tokens by position in a word, special tokens left out.
        contents: tokens by content, special tokens left out.
        scripts: tokens by Unicode script (`script_of`), special tokens left out.
        unit: unit of `lengths`: `bytes` or `characters`.
        lengths: tokens by length without markers, special tokens left out.
        longest: longest tokens with their lengths, ids ascending among equals.
        first_merges: first merges of the training.
        last_merges: last merges of the training.
        checks: checks that need no text.
        obstacle: why Hugging Face can't load the model; None if it can.
        differences: effects in which Hugging Face differs for the file that it loads.
        source: facts about the model file and its origin.
        frequent: most frequent tokens with their counts (word, char).
        highest: pieces with the highest scores (unigram).
        lowest: pieces with the lowest scores, lowest first (unigram).
        rounds: rounds of the training (unigram).
        languages: languages of a parity-aware training; else None.
        removed: number of removed tokens; None in a model that removes none.
        first_supermerges: first merges of whole pre-tokens.
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
    """Return the number of merges learned before the first supermerge.

    A merge comes before a supermerge of equal count. The supermerge also waits until its words are
    tokens.
    """
    model, merges = tokenizer.model, history_of(tokenizer).merges
    if not model.supermerges:
        return len(merges)
    first, there = model.supermerges[0], 0
    if model.events:
        words = (model.tokens[side] for side in first[:2])
        # A word longer than `LONGEST` can't be explained.
        short = (word for word in words if len(word) <= LONGEST)
        steps = (refined_word(tokenizer, word, (), ()).steps[-1:] for word in short)
        there = max((step.step or 0 for last in steps for step in last), default=0)
    later = (at for at in range(there, len(merges)) if merges[at].count < first.count)
    return next(later, len(merges))


def _differences(tokenizer: Tokenizer) -> tuple[str, ...]:
    """Return the effects in which Hugging Face differs for the file that it loads."""
    from tokctl.formats import UnsupportedByFormat, losses

    try:
        found = losses(tokenizer.model, "huggingface")
    except UnsupportedByFormat as reason:
        return (str(reason),)
    return tuple(loss.what for loss in found if not loss.minor)


def summarize(tokenizer: Tokenizer) -> Summary:
    """Return everything that can be said about a model without a text.

    The trials of `unreachable` take about a second for 50,000 tokens.

    Example:
        >>> token, length = summarize(tokenizer).longest[0]
    """
    from tokctl.formats import why_not_loadable

    recipe, model = tokenizer.recipe, tokenizer.model
    refused = why_not_loadable(model)
    history = history_of(tokenizer)
    groups = TokenGroups(tokenizer)
    ids, lengths = list(groups.texts), groups.lengths
    longest = sorted(ids, key=lambda id_: (-lengths[id_], id_))[:SHOWN]
    total = len(history.merges)
    # No merge is shown among both the first and the last.
    last = range(max(SHOWN, total - SHOWN), total)
    return Summary(
        recipe=recipe,
        training=model.training,
        vocab_size=tokenizer.vocab_size,
        merges=total if recipe.traits.lists_merges(recipe) else None,
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
        highest=_first(tokenizer, ids, model.scores) if recipe.maximizes_probability else (),
        lowest=_first(tokenizer, ids, model.scores, sign=1) if recipe.maximizes_probability else (),
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
    """Return the tokens with the highest values, or the lowest with `sign=1`.

    Ids ascend among equals.
    """
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


# -- The file of a model and its origin ---------------------------------------------------------


class FileFacts(NamedTuple):
    """Facts about a model's file and its origin.

    Attributes:
        format: name of the file's format; None for a model that was not read from a file.
        title: title of the format; empty without a format.
        origin: origin of a model that tokctl did not train; else None.
        origin_title: title of the origin's format; empty without an origin.
        extra_files: names of the extra files that came with the model, sorted.
    """

    format: str | None = None
    title: str = ""
    origin: ImportedFrom | None = None
    origin_title: str = ""
    extra_files: tuple[str, ...] = ()

    @property
    def is_converted(self) -> bool:
        """Whether the origin says more than the file's format does."""
        origin = self.origin
        return origin is not None and (origin.format != self.format or bool(origin.name))


def file_facts(tokenizer: Tokenizer) -> FileFacts:
    """Return the facts about a model's file and its origin."""
    model = tokenizer.model
    return FileFacts(
        tokenizer.format,
        _title(tokenizer.format or ""),
        model.origin,
        _title(model.origin.format if model.origin else ""),
        tuple(sorted(model.extra_files)),
    )


def _title(name: str) -> str:
    """Return the title of a format.

    Return the name itself for an unknown format: a file can name a format of a later tokctl.
    """
    from tokctl.formats import FORMATS

    return next((known.title for known in FORMATS if known.name == name), name)


# -- Curves for charts: a sample of tokens or merges --------------------------------------------

#: Points of a curve; more can't be told apart on a page.
POINTS = 60


class MergePoint(NamedTuple):
    """A merge as a point of a curve.

    Attributes:
        step: step of the training, from 1.
        token: token that the merge makes.
        times: occurrences of the pair before the merge; None if not known.
        score: likelihood score if the training compared scores; else None.
    """

    step: int
    token: str
    times: int | None
    score: float | None


class ScorePoint(NamedTuple):
    """A Unigram piece as a point of a curve.

    Attributes:
        place: rank of the piece by score, from 1.
        token: the piece.
        score: natural log probability.
    """

    place: int
    token: str
    score: float


def spread(last: int, points: int = POINTS) -> list[int]:
    """Return at most `points` numbers from 1 to `last`, about evenly spaced by logarithm."""
    if last <= points:
        return list(range(1, last + 1))
    # Near 1 several points round to the same number; the set drops the duplicates.
    found = {round(last ** (n / (points - 1))) for n in range(points)}
    return sorted(found)


def frequencies(id_counts: Mapping[int, int]) -> list[tuple[int, int]]:
    """Return points of Zipf's plot: ranks with the frequencies of the tokens at these ranks.

    Rank 1 is the most frequent token.
    """
    ordered = sorted(id_counts.values(), reverse=True)
    return [(rank, ordered[rank - 1]) for rank in spread(len(ordered))]


def token_lengths(tokenizer: Tokenizer, id_counts: Mapping[int, int]) -> dict[int, int]:
    """Return how many tokens of each length a text has, by ascending length.

    Lengths are in characters, without word markers and leading spaces, so that models can be
    compared. A character belongs to the token that holds its first byte: a token inside a character
    has length 0. Special and added tokens are left out.

    Args:
        tokenizer: tokenizer that encoded the text.
        id_counts: how often the text has each id.
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
    """Return merges spread over the whole history, including the first and the last.

    Empty if the model has no history.
    """
    history = history_of(tokenizer)
    records = (history.record(step - 1) for step in spread(len(history.merges)))
    return [
        MergePoint(r.step, r.token, r.count, None if r.score is None else float(r.score))
        for r in records
    ]


def score_curve(tokenizer: Tokenizer) -> list[ScorePoint]:
    """Return pieces spread over all ranks by score; empty if the model has no scores."""
    model = tokenizer.model
    if not tokenizer.recipe.maximizes_probability:
        return []
    ids = sorted(text_ids(tokenizer), key=lambda id_: (-model.scores[id_], id_))
    return [
        ScorePoint(place, tokenizer.tokens[ids[place - 1]], model.scores[ids[place - 1]])
        for place in spread(len(ids))
    ]


class UseCurves(NamedTuple):
    """Curves of how texts use a model's tokens.

    Attributes:
        lengths: number of tokens by length; see `token_lengths`.
        frequencies: frequencies by rank; see `frequencies`.
    """

    lengths: Mapping[int, int]
    frequencies: list[tuple[int, int]]


def use_curves(tokenizer: Tokenizer, id_counts: Mapping[int, int]) -> UseCurves:
    """Return the curves of texts that have each id as often as `id_counts` says."""
    return UseCurves(token_lengths(tokenizer, id_counts), frequencies(id_counts))


class ModelCurves(NamedTuple):
    """Curves of a model's merges and scores.

    Attributes:
        merges: points of `merge_curve`.
        scores: points of `score_curve`.
    """

    merges: list[MergePoint]
    scores: list[ScorePoint]


def model_curves(tokenizer: Tokenizer) -> ModelCurves:
    """Return the curves of a model's merges and scores."""
    return ModelCurves(merge_curve(tokenizer), score_curve(tokenizer))
