"""What becomes of single words, and why: the part of a comparison that explains it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from hashlib import sha256

from tokctl.comparison.reasons import Reasons
from tokctl.comparison.results import Cut, Sample, WordStory
from tokctl.comparison.samples import LONGEST_WORD, boundaries_apart, is_whole, segmentation
from tokctl.comparison.sweep import Trained
from tokctl.comparison.texts import Text, count_words
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
    found = re.compile(rf"(?<![^\W_]){re.escape(word)}(?![^\W_])")
    decoded = (text.data.decode("utf-8", "replace") for text in texts)
    return sum(sum(1 for _ in found.finditer(text)) for text in decoded) if word else 0


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
    digest = digest_of([sha256(text.data).hexdigest() for text in texts])
    reasons = {
        name: Reasons(model, texts if _trained_on(model, texts, digest) else None)
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


def _trained_on(tokenizer: Tokenizer, texts: Sequence[Text], digest: str) -> bool:
    """Is it these very texts that the model was trained on? `digest` is theirs."""
    record = tokenizer.model.training
    if record is None or record.documents != len(texts):
        return False
    if record.extended or record.sample or record.weights:
        return False
    if record.bytes != sum(len(text.data) for text in texts):
        return False
    return record.sha256 == digest


def _cut(name: str, tokenizer: Tokenizer, word: str, reason: str, sweep: Trained) -> Cut:
    found = segmentation(name, tokenizer, b" " + word.encode())
    others = (
        (size, segmentation(name, other, b" " + word.encode()))
        for (of, size), other in sorted(sweep.items(), key=lambda entry: entry[0][1])
        if of == name and other is not tokenizer
    )
    elsewhere = ((size, cut) for size, cut in others if cut.tokens != found.tokens)
    return Cut(found, is_whole(tokenizer, found), reason, tuple(elsewhere))
