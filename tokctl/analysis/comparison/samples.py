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
    sentences: list[str] = []
    for number in range(SENTENCES):
        offset = total * (2 * number + 1) // (2 * SENTENCES)
        for text in texts:
            if offset < len(text.data):
                candidates = _candidates(text, offset)
                sentences += [
                    next((candidate for candidate in candidates if candidate not in sentences), "")
                ]
                break
            offset -= len(text.data)
    return [sentence for sentence in sentences if sentence]


def _candidates(text: Text, offset: int) -> Iterator[str]:
    """Yield sentences, lines and stretches of text near a byte offset, the best ones first."""
    windows = list(_windows(text, offset))
    sentences = [
        " ".join(match.group().split())
        for _, window in windows
        for paragraph in _PARAGRAPH_END.split(window)
        for match in _SENTENCE.finditer(paragraph)
        if match[1]
    ]
    lines = [
        " ".join(line.split())
        for starts_inside, window in windows
        for line in window.splitlines()[starts_inside:]
    ]
    excerpts = [" ".join(window.split())[:80].strip() for _, window in windows]
    sentences.sort(key=_is_half_a_quotation)
    fitting = (piece for piece in [*sentences, *lines] if SHORTEST <= len(piece) <= LONGEST)
    for candidate in [*fitting, *excerpts]:
        if candidate and candidate.isprintable() and "\ufffd" not in candidate:
            yield candidate


def _windows(text: Text, offset: int) -> Iterator[tuple[bool, str]]:
    """Yield stretches of text from a byte offset on, each with whether it starts mid-document.

    While documents are short, the stretches continue into the next ones.
    """
    first_document, room = text.document_at(offset), _WINDOW
    for start, end in text.spans(first_document):
        if room <= 0:
            return
        # In a short text the picked offsets are so close that one window covers the whole text.
        window_start = offset if end - offset > _WINDOW // 8 else max(start, end - _WINDOW // 8)
        window_start = window_start if start <= offset else start
        window = text.data[window_start : min(end, window_start + room)].decode("utf-8", "replace")
        room -= end - window_start + 1
        if window_start > start:  # probably in the middle of a sentence and of a character
            match = _SENTENCE.match(window)
            skipped = match.end() if match and match[1] else 0
            window = window[skipped:].lstrip("\ufffd")
        yield window_start > start, window


def _is_half_a_quotation(text: str) -> bool:
    """Return whether the sentence has an unpaired quotation mark."""
    return text.count("“") != text.count("”") or text.count('"') % 2 == 1


def sample(models: Mapping[str, Tokenizer], sentence: str) -> Sample:
    """Return the sentence as each model segments it."""
    segmentations = (segmentation(name, model, sentence.encode()) for name, model in models.items())
    return Sample(sentence, tuple(segmentations))


def segmentation(name: str, tokenizer: Tokenizer, text: bytes) -> ModelSegmentation:
    """Return a text as one model segments it."""
    encoding = tokenizer.encode(text)
    return ModelSegmentation(
        name,
        tuple(encoding.tokens),
        tuple(_readable_tokens(tokenizer, encoding)),
        tuple(None if id_ == _native.NO_ID else id_ for id_ in encoding.raw_ids),
        tuple(encoding.byte_offsets),
    )


def is_one_token(tokenizer: Tokenizer, segmented: ModelSegmentation) -> bool:
    """Return whether a word, encoded after a space, is one token other than the unknown one."""
    covering = [
        id_ for id_, (_, end) in zip(segmented.ids, segmented.spans, strict=True) if end > 1
    ]
    return len(covering) == 1 and covering[0] not in (None, tokenizer.unk_id)


def _readable_tokens(tokenizer: Tokenizer, encoding: Encoding) -> list[str]:
    """Return the tokens as readable text: byte-level tokens are decoded."""
    if not tokenizer.recipe.is_byte_level:
        return encoding.tokens
    tokens = tokenizer.model.tokens
    return [
        token if id_ == _native.NO_ID else tokens[id_].decode("utf-8", "backslashreplace")
        for id_, token in zip(encoding.raw_ids, encoding.tokens, strict=True)
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
    difference_counts = boundaries_apart(models, [word for word, _ in words], threads)
    weighted = [
        (count * difference_count, count, word)
        for (word, count), difference_count in zip(words, difference_counts, strict=True)
        if difference_count
    ]
    weighted.sort(key=lambda entry: -entry[0])
    return [
        Disagreement(
            word.decode(),
            count,
            weight,
            tuple(segmentation(name, model, b" " + word) for name, model in models.items()),
        )
        for weight, count, word in weighted[:DISAGREEMENTS]
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
    boundaries = [_inner_boundaries(model, spaced, threads) for model in models.values()]
    return [
        sum((first ^ second).bit_count() for first, second in combinations(of_word, 2))
        for of_word in zip(*boundaries, strict=True)
    ]


def _inner_boundaries(tokenizer: Tokenizer, texts: Sequence[bytes], threads: int) -> list[int]:
    """Return the boundaries strictly inside words that follow a space, as bits: bit n is byte n."""
    boundaries = tokenizer.encoder.cuts(texts, tokenizer.special_matcher("none"), threads)
    return [bits & ((1 << len(text)) - 4) for bits, text in zip(boundaries, texts, strict=True)]


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
    depth_changes: dict[int, int] = {}
    starts: set[int] = set()
    for segmented in segmentations:
        for start, end in _rising_spans(segmented):
            starts.add(start)
            if end - start > 1:
                depth_changes[start + 1] = depth_changes.get(start + 1, 0) + 1
                depth_changes[end] = depth_changes.get(end, 0) - 1
    depth = 0
    column_starts = []
    changes = sorted(depth_changes.items())
    index = 0
    for start in sorted(starts):
        while index < len(changes) and changes[index][0] <= start:
            depth += changes[index][1]
            index += 1
        if depth == 0:
            column_starts.append(start)
    return [_columns(_rising_spans(segmented), column_starts) for segmented in segmentations]


def _rising_spans(segmented: ModelSegmentation) -> list[tuple[int, int]]:
    """Return the spans with starts that never decrease; a normalizer may reorder characters."""
    spans = []
    lowest = 0
    for start, end in segmented.spans:
        lowest = max(lowest, start)
        spans.append((lowest, max(lowest, end)))
    return spans


def _columns(
    spans: Sequence[tuple[int, int]], column_starts: Sequence[int]
) -> list[tuple[int, int]]:
    """Return the range of tokens in each column."""
    columns = []
    index = 0
    for _, column_start in pairwise([*column_starts, float("inf")]):
        first = index
        while index < len(spans) and spans[index][0] < column_start:
            index += 1
        columns.append((first, index))
    return columns
