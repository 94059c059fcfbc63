"""The use of a vocabulary by texts: which tokens, how often, and in which words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, repeat
from operator import itemgetter
from typing import TYPE_CHECKING, TypeVar

from tokctl._native import NO_ID
from tokctl.analysis.explain.states import count_pre_tokens
from tokctl.analysis.explain.vocabulary import TokenGroups
from tokctl.analysis.metrics import range_of
from tokctl.analysis.texts import checked_batches, errors_of
from tokctl.model import encoders
from tokctl.sources import Source

if TYPE_CHECKING:
    from tokctl._native import Encoder
    from tokctl.tokenizer import Tokenizer

Group = TypeVar("Group", str, int)
#: Default length of the lists of the most frequent, the rarest and the unused tokens.
SHOWN = 30


@dataclass(frozen=True)
class Segmented:
    """A distinct pre-token of a text, or an added token found in the text, with its ids.

    A superword covers several pre-tokens.

    Attributes:
        data: bytes of the text covered.
        ids: ids as `encode` gives them; `NO_ID` for a symbol without an id.
        count: occurrences in the text.
    """

    data: bytes
    ids: Sequence[int]
    count: int


@dataclass(frozen=True)
class WordUse:
    """A word of a text that a token is used in.

    Attributes:
        data: bytes of the word, normalized and rewritten by the pre-tokenizer.
        count: occurrences of the word in the text with this segmentation.
        uses: occurrences of the token in all of them.
        tokens: segmentation of the word.
    """

    data: bytes
    count: int
    uses: int
    tokens: tuple[str, ...]


@dataclass(frozen=True)
class TokenUse:
    """The use of one token by a text.

    Attributes:
        uses: occurrences of the token.
        place: rank of the token by uses, from 1; equal tokens share the lowest number.
        used: number of distinct tokens that the text uses.
        tokens: number of tokens in the whole text.
        words: words that use the token, most uses first, equal ones in first-seen order. A word
            goes from one space to the next, or is a pre-token if that is shorter.
    """

    uses: int
    place: int
    used: int
    tokens: int
    words: tuple[WordUse, ...]


@dataclass(frozen=True)
class Share:
    """The use of one group of tokens.

    Attributes:
        tokens: number of tokens in the vocabulary.
        used: number of these tokens that the text uses.
        uses: occurrences of these tokens in the text.
    """

    tokens: int
    used: int
    uses: int


@dataclass(frozen=True)
class TextUse:
    """The use of a vocabulary by a text.

    Attributes:
        tokens: number of tokens in the whole text, unknown ones included.
        unknown: number of tokens that have no id or are the unknown token.
        emittable: number of ids that ordinary text can become (`tokctl.analysis.metrics.range_of`).
        used: number of distinct ids that the text uses.
        frequent: most used tokens with their uses.
        rarest: least used tokens with their uses; highest ids first among equals.
        never: unused tokens, lowest ids first.
        never_count: number of all unused tokens.
        places: shares of the ordinary tokens by position in a word.
        contents: shares of the ordinary tokens by content.
        scripts: shares of the ordinary tokens by Unicode script.
        unit: unit of the lengths.
        lengths: shares of the ordinary tokens by length in `unit`.
    """

    tokens: int
    unknown: int
    emittable: int
    used: int
    frequent: tuple[tuple[str, int], ...]
    rarest: tuple[tuple[str, int], ...]
    never: tuple[str, ...]
    never_count: int
    places: dict[str, Share]
    contents: dict[str, Share]
    scripts: dict[str, Share]
    unit: str
    lengths: dict[int, Share]


def segmented(
    tokenizer: Tokenizer, sources: Sequence[Source], errors: str = "strict"
) -> list[Segmented]:
    """Return the distinct pre-tokens of all documents with their ids, in first-seen order.

    Each document is one text, and counts as often as its source says. The ids are those that
    `encode` gives.

    Args:
        tokenizer: tokenizer that segments the texts.
        sources: texts to read.
        errors: `strict`, or `replace` to put U+FFFD where text is not UTF-8.

    Raises:
        TokctlError: text is not UTF-8, for a character-level model and `errors="strict"`.
    """
    if tokenizer.model.supermerges:
        return _segment_whole_texts(tokenizer, sources, errors)
    added: Counter[int] = Counter()
    if tokenizer.special_matcher("none") is None:
        counts = count_pre_tokens(tokenizer, sources, errors)
    else:
        counts = _count_between(tokenizer, sources, errors, added)
    if tokenizer.recipe.emits_symbols and not tokenizer.recipe.fuse_unknown:
        counts = _cut_before_spaces(counts)
    encoder = encoders.pre_token_encoder(tokenizer.model)
    encoded = encoder.batch([data for data, _ in counts], 1, None)
    segments = [
        Segmented(data, ids, count) for (data, count), ids in zip(counts, encoded, strict=True)
    ]
    for id_, count in added.items():
        segments.append(Segmented(tokenizer.model.tokens[id_], (id_,), count))
    return segments


def _segment_whole_texts(
    tokenizer: Tokenizer, sources: Sequence[Source], errors: str
) -> list[Segmented]:
    """Return what `segmented` does if tokens can cross pre-tokens: encode whole texts."""
    counts: Counter[tuple[bytes, tuple[int, ...]]] = Counter()
    matchers = tokenizer.special_matcher("none")
    for _, batch in checked_batches(sources, errors_of(tokenizer, errors)):
        for document, weight in zip(batch.texts, batch.counts or repeat(1), strict=False):
            columns = tokenizer.encoder.tokens(document, matchers)
            by_number = groupby(zip(*columns, strict=True), key=itemgetter(3))
            for tokens in (list(group) for _, group in by_number):
                data = document[tokens[0][1] : tokens[-1][2]]
                counts[data, tuple(id_ for id_, *_ in tokens)] += weight
    return [Segmented(data, ids, count) for (data, ids), count in counts.items()]


def _cut_before_spaces(counts: Iterable[tuple[bytes, int]]) -> list[tuple[bytes, int]]:
    """Cut the pre-tokens before white space, and count the parts.

    Each character is encoded on its own here, so cutting changes no id. A text that is one
    pre-token has far fewer distinct words than characters.
    """
    words: Counter[bytes] = Counter()
    for data, count in counts:
        for word in re.findall(rb"[ \n]?[^ \n]+|[ \n]", data):
            words[word] += count
    return list(words.items())


def _count_between(
    tokenizer: Tokenizer, sources: Sequence[Source], errors: str, added: Counter[int]
) -> list[tuple[bytes, int]]:
    """Count the pre-tokens between the added tokens that are always found.

    The added tokens are counted into `added`, by id.
    """
    counts: Counter[bytes] = Counter()
    matchers = tokenizer.special_matcher("none")
    for _, batch in checked_batches(sources, errors_of(tokenizer, errors)):
        for document, weight in zip(batch.texts, batch.counts or repeat(1), strict=False):
            text, ranges, _, added_ids = tokenizer.encoder.pre_tokens(document, matchers)
            for (start, end), id_ in zip(ranges, added_ids, strict=True):
                if id_ is None:
                    counts[text[start:end]] += weight
                else:
                    added[id_] += weight
    return list(counts.items())


def token_use(tokenizer: Tokenizer, id_: int, text: Iterable[Segmented]) -> TokenUse:
    """Return how a segmented text uses one token.

    Args:
        tokenizer: tokenizer that segmented the text.
        id_: id of the token.
        text: result of `segmented`.

    Example:
        >>> use = token_use(tokenizer, 259, segmented(tokenizer, sources))
        >>> use.words[0].tokens  # the word in which the token is used most
    """
    text = list(text)
    uses = _count_uses(text)
    encoder = encoders.pre_token_encoder(tokenizer.model)
    words: Counter[tuple[bytes, tuple[int, ...]]] = Counter()
    for pre_token in text:
        if id_ not in pre_token.ids:
            continue
        for data, ids in _words_of(tokenizer, encoder, pre_token):
            if id_ in ids:
                words[data, ids] += pre_token.count
    names = tokenizer.tokens
    words_used = [
        WordUse(
            data,
            count,
            count * ids.count(id_),
            tuple(names[other_id] if other_id != NO_ID else "?" for other_id in ids),
        )
        for (data, ids), count in words.items()
    ]
    return TokenUse(
        uses[id_],
        1 + sum(count > uses[id_] for other_id, count in uses.items() if other_id != NO_ID),
        len(uses) - (NO_ID in uses),
        uses.total(),
        tuple(sorted(words_used, key=lambda word: -word.uses)),
    )


def _count_uses(text: Iterable[Segmented]) -> Counter[int]:
    uses: Counter[int] = Counter()
    for pre_token in text:
        for id_ in pre_token.ids:
            uses[id_] += pre_token.count
    return uses


def _words_of(
    tokenizer: Tokenizer, encoder: Encoder, pre_token: Segmented
) -> Iterator[tuple[bytes, tuple[int, ...]]]:
    """Yield the words of a pre-token with their ids.

    Some models treat a whole sentence or text as one pre-token. Cut it where a token begins with a
    space or with the model's space marker.
    """
    space = (tokenizer.recipe.space_mark or " ").encode()
    has_words = space in pre_token.data[1:] or b"\n" in pre_token.data[1:]
    if not has_words or tokenizer.model.supermerges:
        yield pre_token.data, tuple(pre_token.ids)
        return
    ids, starts, ends, _ = encoder.tokens(pre_token.data)
    word_start = 0
    for index in range(1, len(ids) + 1):
        token_start = starts[index] if index < len(ids) else len(pre_token.data)
        is_cut = pre_token.data.startswith((space, b" ", b"\n"), token_start)
        if index == len(ids) or (is_cut and token_start >= ends[index - 1]):
            yield pre_token.data[starts[word_start] : ends[index - 1]], tuple(ids[word_start:index])
            word_start = index


def text_use(tokenizer: Tokenizer, text: Iterable[Segmented], limit: int | None = None) -> TextUse:
    """Return how a segmented text uses the vocabulary.

    Args:
        tokenizer: tokenizer that segmented the text.
        text: result of `segmented`.
        limit: most tokens in each list; None means `SHOWN`.
    """
    most = limit or SHOWN
    uses = _count_uses(text)
    names = tokenizer.tokens
    total = uses.total()
    unknown = uses.pop(NO_ID, 0)
    unknown += uses.get(tokenizer.unk_id, 0) if tokenizer.unk_id is not None else 0
    ranked = sorted(uses, key=lambda id_: (-uses[id_], id_))
    emittable = range_of(tokenizer.model).emittable
    special = tokenizer.model.special_id_set
    if emittable > tokenizer.vocab_size - len(special):
        special -= {tokenizer.unk_id or 0}
    never = [id_ for id_ in range(tokenizer.vocab_size) if id_ not in uses and id_ not in special]
    groups = TokenGroups(tokenizer)

    def use_by_group(group_of: Mapping[int, Group]) -> dict[Group, Share]:
        found: dict[Group, list[int]] = {}
        for id_, group in group_of.items():
            share = found.setdefault(group, [0, 0, 0])
            share[0] += 1
            share[1] += id_ in uses
            share[2] += uses.get(id_, 0)
        return {group: Share(*share) for group, share in found.items()}

    def by_size(group_of: Mapping[int, str]) -> dict[str, Share]:
        return dict(sorted(use_by_group(group_of).items(), key=lambda item: -item[1].tokens))

    return TextUse(
        tokens=total,
        unknown=unknown,
        emittable=emittable,
        used=len(uses),
        frequent=tuple((names[id_], uses[id_]) for id_ in ranked[:most]),
        rarest=tuple((names[id_], uses[id_]) for id_ in ranked[: -most - 1 : -1]),
        never=tuple(names[id_] for id_ in never[:most]),
        never_count=len(never),
        places=by_size(groups.places),
        contents=by_size(groups.contents),
        scripts=by_size(groups.scripts),
        unit=groups.unit,
        lengths=dict(sorted(use_by_group(groups.lengths).items())),
    )
