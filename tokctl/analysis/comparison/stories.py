"""What becomes of single words, and why: the part of a comparison that explains it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from hashlib import sha256

from tokctl import _native
from tokctl.analysis.comparison.reasons import Reasons
from tokctl.analysis.comparison.results import Cut, Sample, WordStory
from tokctl.analysis.comparison.samples import (
    LONGEST_WORD,
    boundaries_apart,
    is_whole,
    segmentation,
)
from tokctl.analysis.comparison.sweep import Trained
from tokctl.analysis.texts import Text, count_words
from tokctl.tokenizer import Tokenizer
from tokctl.training.counting import digest_of

#: Words that are picked of the sentences.
STORIES = 6
#: They stand inside words of Persian and of Indic scripts, and are neither letters nor marks.
_JOINERS = "\u200c\u200d"
#: What is a word of its own where text is cut at spaces and punctuation.
_RUN = re.compile(r"[^\W_]+")


def _count(word: str, texts: Sequence[Text]) -> int:
    """How often the texts have a word with punctuation or spaces in it, letters and digits at
    neither side of it."""
    if not word:
        return 0
    found = re.compile(rf"(?<![^\W_]){re.escape(word)}(?![^\W_])")

    def count(document: bytes) -> int:
        return sum(1 for _ in found.finditer(document.decode("utf-8", "replace")))

    total = 0
    for text in texts:
        if text.ends is None:
            total += count(text.data)
            continue
        # Few of many documents have it. What is not UTF-8 becomes U+FFFD, which none needs to have.
        anywhere = "\ufffd" in word
        numbers = range(len(text.ends)) if anywhere else text.documents_with(word.encode())
        for number in numbers:
            times = 1 if text.counts is None else text.counts[number]
            total += times * count(text.document(number))
    return total


def words_in(text: str) -> list[str]:
    """Runs of two letters or more, with the marks and joiners that belong to them: without
    those, words of Thai or Hindi would end at a vowel."""
    runs = "".join(char if _in_word(char) else " " for char in text).split()
    found = []
    for run in runs:
        letters = [place for place, char in enumerate(run) if char.isalpha()]
        if len(letters) > 1:
            found.append(run[letters[0] :].rstrip(_JOINERS))
    return found


def _in_word(char: str) -> bool:
    return char.isalpha() or char in _JOINERS or unicodedata.category(char)[0] == "M"


def pick_words(
    models: Mapping[str, Tokenizer], samples: Sequence[Sample], threads: int
) -> list[str]:
    """Words of the sentences that models cut in different places: the most different ones,
    in the order in which they stand there; none of more than 100 bytes."""
    found = dict.fromkeys(
        word
        for sample in samples
        for word in words_in(sample.text)
        if len(word.encode()) <= LONGEST_WORD
    )
    differing = boundaries_apart(models, [word.encode() for word in found], threads)
    weighed = dict(zip(found, differing, strict=True))
    ranked = sorted((word for word in found if weighed[word]), key=lambda word: -weighed[word])
    chosen = set(ranked[:STORIES])
    return [word for word in found if word in chosen]


def stories(
    models: Mapping[str, Tokenizer],
    words: Sequence[str],
    texts: Sequence[Text],
    threads: int,
    sweep: Trained,
) -> tuple[WordStory, ...]:
    """Each word as each model cuts it behind a space, and why; and as the same models of
    other sizes do."""
    if not words:
        return ()
    counted = count_words(texts, "bert", threads)  # cut at spaces and punctuation
    digests = cache(lambda: {digest_of(_of_sources(texts)), digest_of(_of_documents(texts))})
    reasons = {
        name: Reasons(model, texts if _trained_on(model, texts, digests) else None)
        for name, model in models.items()
    }
    found = []
    for word in words:
        count = counted.get(word.encode(), 0) if _RUN.fullmatch(word) else _count(word, texts)
        cuts = (
            _cut(name, model, word, reasons[name].of(word), sweep) for name, model in models.items()
        )
        found.append(WordStory(word, count, tuple(cuts)))
    return tuple(found)


def _trained_on(
    tokenizer: Tokenizer, texts: Sequence[Text], digests: Callable[[], set[str]]
) -> bool:
    """Is it these very texts that the model was trained on? `digests` gives theirs."""
    record = tokenizer.model.training
    documents = sum(1 if text.ends is None else len(text.ends) for text in texts)
    if record is None or record.documents != documents:
        return False
    if record.extended or record.sample or record.weights:
        return False
    if record.bytes != sum(len(text.data) for text in texts):
        return False
    return record.sha256 in digests()


def _of_sources(texts: Sequence[Text]) -> list[str]:
    """Of each text, as training makes them of files and of sources of records."""
    found = []
    for text in texts:
        digest = sha256()
        if text.ends is None:
            digest.update(text.data)
        else:
            for batch in text.batches():
                digest.update(_native.framed(batch.texts, batch.counts))
        found.append(digest.hexdigest())
    return found


def _of_documents(texts: Sequence[Text]) -> list[str]:
    """Of each document, as training makes them of the members of archives."""
    return [
        sha256(text.data[start:end]).hexdigest() for text in texts for start, end in text.spans()
    ]


def _cut(name: str, tokenizer: Tokenizer, word: str, reason: str, sweep: Trained) -> Cut:
    found = segmentation(name, tokenizer, b" " + word.encode())
    others = (
        (size, segmentation(name, other, b" " + word.encode()))
        for (of, size), other in sorted(sweep.items(), key=lambda entry: entry[0][1])
        if of == name and other is not tokenizer
    )
    elsewhere = ((size, cut) for size, cut in others if cut.tokens != found.tokens)
    return Cut(found, is_whole(tokenizer, found), reason, tuple(elsewhere))
