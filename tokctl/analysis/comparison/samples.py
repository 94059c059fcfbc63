"""Example sentences as each model splits them, and the words that models split differently."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, pairwise

from tokctl import _native
from tokctl.analysis.comparison.results import Disagreement, ModelSegmentation, Sample
from tokctl.analysis.explain.vocabulary import is_utf8
from tokctl.analysis.texts import Text, count_words
from tokctl.tokenizer import Tokenizer
from tokctl.tokenizer.encoding import Encoding

SENTENCES = 3
SHORTEST, LONGEST = 40, 120  # characters of a picked sentence
_WINDOW = 1 << 15  # bytes to search for a sentence
_ENDS = ".!?\u3002\uff01\uff1f"
#: A sentence and its end. Text without an end also matches, up to its last character, so that a
#: long text without any end is not searched again from each character.
_SENTENCE = re.compile(rf"[^{_ENDS}]+([{_ENDS}]+[\"'\u201d\u2019»)\]\u300d\u300f]*)?")
_PARAGRAPH_END = re.compile(r"\n\s*\n")
DISAGREEMENTS = 10
#: Only the most frequent words are compared: rarer ones can hardly outweigh them.
_WORDS_COMPARED = 20_000
LONGEST_WORD = 100  # bytes; longer words don't fit a table, nor the boundary bits of `cuts`


def pick_sentences(texts: Sequence[Text]) -> list[str]:
    """Pick a few sentences of 40 to 120 characters, spread over the texts.

    The same texts give the same sentences. Runs of white space become one space. If there are no
    such sentences (code, lists), stretches of text are picked.
    """
    total = sum(len(text.data) for text in texts)
    found: list[str] = []
    for number in range(SENTENCES):
        place = total * (2 * number + 1) // (2 * SENTENCES)
        for text in texts:
            if place < len(text.data):
                candidates = _candidates(text, place)
                found += [next((c for c in candidates if c not in found), "")]
                break
            place -= len(text.data)
    return [sentence for sentence in found if sentence]


def _candidates(text: Text, place: int) -> Iterator[str]:
    """Yield sentences, lines and stretches of text near a byte offset, the best ones first."""
    windows = list(_windows(text, place))
    sentences = [
        " ".join(match.group().split())
        for _, window in windows
        for paragraph in _PARAGRAPH_END.split(window)
        for match in _SENTENCE.finditer(paragraph)
        if match[1]
    ]
    lines = [
        " ".join(line.split())
        for inside, window in windows
        for line in window.splitlines()[inside:]
    ]
    rests = [" ".join(window.split())[:80].strip() for _, window in windows]
    sentences.sort(key=_is_half_a_quotation)
    fitting = (one for one in [*sentences, *lines] if SHORTEST <= len(one) <= LONGEST)
    for candidate in [*fitting, *rests]:
        if candidate and candidate.isprintable() and "\ufffd" not in candidate:
            yield candidate


def _windows(text: Text, place: int) -> Iterator[tuple[bool, str]]:
    """Yield stretches of text from a byte offset on, each with whether it starts mid-document.

    While documents are short, the stretches continue into the next ones.
    """
    first, room = text.document_at(place), _WINDOW
    for start, end in text.spans(first):
        if room <= 0:
            return
        # In a short text the picked offsets are so close that one window covers the whole text.
        begin = place if end - place > _WINDOW // 8 else max(start, end - _WINDOW // 8)
        begin = begin if start <= place else start
        window = text.data[begin : min(end, begin + room)].decode("utf-8", "replace")
        room -= end - begin + 1
        if begin > start:  # probably in the middle of a sentence and of a character
            match = _SENTENCE.match(window)
            skipped = match.end() if match and match[1] else 0
            window = window[skipped:].lstrip("\ufffd")
        yield begin > start, window


def _is_half_a_quotation(text: str) -> bool:
    """Return whether the sentence has an unpaired quotation mark."""
    return text.count("“") != text.count("”") or text.count('"') % 2 == 1


def sample(models: Mapping[str, Tokenizer], sentence: str) -> Sample:
    """Return the sentence as each model segments it."""
    cuts = (segmentation(name, model, sentence.encode()) for name, model in models.items())
    return Sample(sentence, tuple(cuts))


def segmentation(name: str, tokenizer: Tokenizer, text: bytes) -> ModelSegmentation:
    """Return a text as one model segments it."""
    encoding = tokenizer.encode(text)
    return ModelSegmentation(
        name,
        tuple(encoding.tokens),
        tuple(_shown(tokenizer, encoding)),
        tuple(None if id_ == _native.NO_ID else id_ for id_ in encoding.raw_ids),
        tuple(encoding.byte_offsets),
    )


def is_one_token(tokenizer: Tokenizer, cut: ModelSegmentation) -> bool:
    """Return whether a word, encoded after a space, is one token other than the unknown one."""
    covering = [id_ for id_, (_, end) in zip(cut.ids, cut.spans, strict=True) if end > 1]
    return len(covering) == 1 and covering[0] not in (None, tokenizer.unk_id)


def _shown(tokenizer: Tokenizer, encoding: Encoding) -> list[str]:
    """Return the tokens as readable text: byte-level tokens are decoded."""
    if not tokenizer.recipe.is_byte_level:
        return encoding.tokens
    tokens = tokenizer.model.tokens
    return [
        spelled if id_ == _native.NO_ID else tokens[id_].decode("utf-8", "backslashreplace")
        for id_, spelled in zip(encoding.raw_ids, encoding.tokens, strict=True)
    ]


def disagreements(
    models: Mapping[str, Tokenizer], texts: Sequence[Text], threads: int
) -> list[Disagreement]:
    """Return the words that the models split most differently, in descending order of weight.

    A word is encoded after a space. Ties go to the word seen first. Words that are not UTF-8 or
    have more than 100 bytes are left out.
    """
    if len(models) < 2:
        return []
    words = _frequent_words(texts, threads)
    differing = boundaries_apart(models, [word for word, _ in words], threads)
    weighed = [
        (count * apart, count, word)
        for (word, count), apart in zip(words, differing, strict=True)
        if apart
    ]
    weighed.sort(key=lambda entry: -entry[0])
    return [
        Disagreement(
            word.decode(),
            count,
            weight,
            tuple(segmentation(name, model, b" " + word) for name, model in models.items()),
        )
        for weight, count, word in weighed[:DISAGREEMENTS]
    ]


def _frequent_words(texts: Sequence[Text], threads: int) -> list[tuple[bytes, int]]:
    """Return the most frequent words and their counts, in descending order."""
    counts = count_words(texts, "whitespace", threads)
    words = [entry for entry in counts.items() if len(entry[0]) <= LONGEST_WORD]
    words.sort(key=lambda entry: -entry[1])
    return [entry for entry in words[:_WORDS_COMPARED] if is_utf8(entry[0])]


def boundaries_apart(
    models: Mapping[str, Tokenizer], words: Sequence[bytes], threads: int
) -> list[int]:
    """Return for each word, encoded after a space, how many boundaries differ between the models.

    Counted are the boundaries inside the word that one model of a pair has and the other lacks,
    summed over all pairs. Words have at most `LONGEST_WORD` bytes.
    """
    spaced = [b" " + word for word in words]
    cuts = [_inner_cuts(model, spaced, threads) for model in models.values()]
    return [
        sum((one ^ other).bit_count() for one, other in combinations(own, 2))
        for own in zip(*cuts, strict=True)
    ]


def _inner_cuts(tokenizer: Tokenizer, texts: Sequence[bytes], threads: int) -> list[int]:
    """Return the boundaries strictly inside words that follow a space, as bits: bit n is byte n."""
    cuts = tokenizer.encoder.cuts(texts, tokenizer.special_matcher("none"), threads)
    return [own & ((1 << len(text)) - 4) for own, text in zip(cuts, texts, strict=True)]


# -- Alignment of several segmentations of one text in columns -----------------------------------

#: For each segmentation, the range of tokens in each column: (first, end).
Columns = list[list[tuple[int, int]]]


def align(segmentations: Sequence[ModelSegmentation]) -> Columns:
    """Align segmentations of one text in columns, so that equal text is in equal columns.

    A column ends at an offset that lies inside no token of any segmentation, and at which a token
    of one of them begins. A token that covers no text belongs to the column of its position.

    Returns:
        A list of token ranges for each segmentation; all lists are equally long. The ranges of a
        list are consecutive and cover all tokens.
    """
    # Number of tokens that an offset lies strictly inside, stored as increments and decrements.
    inside: dict[int, int] = {}
    starts: set[int] = set()
    for cut in segmentations:
        for start, end in _rising(cut):
            starts.add(start)
            if end - start > 1:
                inside[start + 1] = inside.get(start + 1, 0) + 1
                inside[end] = inside.get(end, 0) - 1
    depth = 0
    borders = []
    changes = sorted(inside.items())
    place = 0
    for start in sorted(starts):
        while place < len(changes) and changes[place][0] <= start:
            depth += changes[place][1]
            place += 1
        if depth == 0:
            borders.append(start)
    return [_columns(_rising(cut), borders) for cut in segmentations]


def _rising(cut: ModelSegmentation) -> list[tuple[int, int]]:
    """Return the spans with starts that never decrease; a normalizer may reorder characters."""
    spans = []
    least = 0
    for start, end in cut.spans:
        least = max(least, start)
        spans.append((least, max(least, end)))
    return spans


def _columns(spans: Sequence[tuple[int, int]], borders: Sequence[int]) -> list[tuple[int, int]]:
    """Return the range of tokens in each column."""
    columns = []
    place = 0
    for _, border in pairwise([*borders, float("inf")]):
        first = place
        while place < len(spans) and spans[place][0] < border:
            place += 1
        columns.append((first, place))
    return columns
