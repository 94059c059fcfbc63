"""Explanations of single words in a comparison: how each model splits a word, and why."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from hashlib import sha256

from tokctl._native import NO_ID, Stepper
from tokctl.analysis.comparison.measuring import Trained
from tokctl.analysis.comparison.results import Cut, Sample, WordDifference
from tokctl.analysis.comparison.samples import (
    LONGEST_WORD,
    boundaries_apart,
    is_one_token,
    segmentation,
)
from tokctl.analysis.explain.history import Pair, history_of
from tokctl.analysis.explain.states import Criterion, as_trained, count_pre_tokens
from tokctl.analysis.explain.vocabulary import is_byte_token
from tokctl.analysis.texts import Text, count_words
from tokctl.core.humanize import listed, times
from tokctl.model.algorithms.unigram import USUAL_LONGEST_PIECE
from tokctl.tokenizer import Tokenizer
from tokctl.training.counting import digest_of

#: Number of words that are picked from the sentences.
STORIES = 6
#: Joiners occur inside words of Persian and of Indic scripts, but are neither letters nor marks.
_JOINERS = "\u200c\u200d"
#: A word that splitting at spaces and punctuation can't divide.
_RUN = re.compile(r"[^\W_]+")


def _count_phrase(word: str, texts: Sequence[Text]) -> int:
    """Return the number of occurrences of a word that contains punctuation or spaces.

    No letter or digit may precede or follow an occurrence.
    """
    if not word:
        return 0
    pattern = re.compile(rf"(?<![^\W_]){re.escape(word)}(?![^\W_])")

    def count(document: bytes) -> int:
        return sum(1 for _ in pattern.finditer(document.decode("utf-8", "replace")))

    total = 0
    for text in texts:
        if text.ends is None:
            total += count(text.data)
            continue
        # Only a few of many documents contain the word. A word with U+FFFD must be searched in all
        # of them: decoding puts U+FFFD in place of bytes that are not UTF-8.
        needs_all = "\ufffd" in word
        numbers = range(len(text.ends)) if needs_all else text.documents_with(word.encode())
        for number in numbers:
            times = 1 if text.counts is None else text.counts[number]
            total += times * count(text.document(number))
    return total


def words_in(text: str) -> list[str]:
    """Return the runs of at least 2 letters, with their marks and joiners.

    Without marks, words of Thai or Hindi would end at a vowel.
    """
    runs = "".join(char if _in_word(char) else " " for char in text).split()
    words = []
    for run in runs:
        letters = [index for index, char in enumerate(run) if char.isalpha()]
        if len(letters) > 1:
            words.append(run[letters[0] :].rstrip(_JOINERS))
    return words


def _in_word(char: str) -> bool:
    """Return whether the character is a letter, a mark or a joiner."""
    return char.isalpha() or char in _JOINERS or unicodedata.category(char)[0] == "M"


def pick_words(
    models: Mapping[str, Tokenizer], samples: Sequence[Sample], threads: int
) -> list[str]:
    """Return the words of the sentences that the models split most differently.

    The words are in the order of the sentences, and have at most 100 bytes.
    """
    words = dict.fromkeys(
        word
        for sample in samples
        for word in words_in(sample.text)
        if len(word.encode()) <= LONGEST_WORD
    )
    difference_counts = boundaries_apart(models, [word.encode() for word in words], threads)
    weights = dict(zip(words, difference_counts, strict=True))
    ranked = sorted((word for word in words if weights[word]), key=lambda word: -weights[word])
    chosen = set(ranked[:STORIES])
    return [word for word in words if word in chosen]


def stories(
    models: Mapping[str, Tokenizer],
    words: Sequence[str],
    texts: Sequence[Text],
    threads: int,
    sweep: Trained,
) -> tuple[WordDifference, ...]:
    """Return each word as each model splits it after a space, with the reason.

    A word's result includes segmentations by models of other sizes that differ.

    Args:
        models: Models by name.
        words: Words to explain.
        texts: Texts that the models may have been trained on; occurrences are counted in them.
        threads: Number of threads for counting.
        sweep: Models of other sizes.
    """
    if not words:
        return ()
    word_counts = count_words(texts, "bert", threads)  # split at spaces and punctuation
    digests = cache(
        lambda: {digest_of([text.digest for text in texts]), digest_of(_document_digests(texts))}
    )
    reasons = {
        name: Reasons(model, texts if _was_trained_on(model, texts, digests) else None)
        for name, model in models.items()
    }
    differences = []
    for word in words:
        count = (
            word_counts.get(word.encode(), 0)
            if _RUN.fullmatch(word)
            else _count_phrase(word, texts)
        )
        cuts = (
            _explain_cut(name, model, word, reasons[name].of(word), sweep)
            for name, model in models.items()
        )
        differences.append(WordDifference(word, count, tuple(cuts)))
    return tuple(differences)


def _was_trained_on(
    tokenizer: Tokenizer, texts: Sequence[Text], digests: Callable[[], set[str]]
) -> bool:
    """Return whether the model was trained on exactly these texts, whose digests are given."""
    record = tokenizer.model.training
    documents = sum(1 if text.ends is None else len(text.ends) for text in texts)
    if record is None or record.documents != documents:
        return False
    if record.extended or record.sample or record.weights:
        return False
    if record.bytes != sum(len(text.data) for text in texts):
        return False
    return record.sha256 in digests()


def _document_digests(texts: Sequence[Text]) -> list[str]:
    """Return the digest of each document, as training records members of archives."""
    return [
        sha256(text.data[start:end]).hexdigest() for text in texts for start, end in text.spans()
    ]


def _explain_cut(name: str, tokenizer: Tokenizer, word: str, reason: str, sweep: Trained) -> Cut:
    """Return the word as the model splits it, and as its other sizes do if they differ."""
    segmented = segmentation(name, tokenizer, b" " + word.encode())
    other_sizes = (
        (size, segmentation(name, other, b" " + word.encode()))
        for (of_name, size), other in sorted(sweep.items(), key=lambda entry: entry[0][1])
        if of_name == name and other is not tokenizer
    )
    different = ((size, cut) for size, cut in other_sizes if cut.tokens != segmented.tokens)
    return Cut(segmented, is_one_token(tokenizer, segmented), reason, tuple(different))


# -- Reasons for one token or several ------------------------------------------------------------

# If a model was trained on exactly the compared texts, the reason has the counts of its corpus
# state after the last merge; otherwise, only what the model file contains.

#: Number of unknown characters of a word that are listed.
_CHARACTERS = 5

#: Why training refuses to merge a pair.
_REFUSED = {
    "long": "a longer token than its training allowed",
    "words": "a token of more words than its training allowed",
    "forbidden": "a token with a text that its training forbade",
    "special": "spelled as a special token",
    "cut": "a cut character",
}


class Reasons:
    """Explains the segmentations of one model.

    Args:
        tokenizer: The model.
        texts: Texts that it was trained on; None if they are others or unknown.
    """

    def __init__(self, tokenizer: Tokenizer, texts: Sequence[Text] | None) -> None:
        self.tokenizer = tokenizer
        self.texts = texts

    def of(self, word: str) -> str:
        """Return the reason for the segmentation of the word after a space."""
        text = b" " + word.encode()
        encoding = self.tokenizer.encode(text)
        covering = [place for place, (_, end) in enumerate(encoding.byte_offsets) if end > 1]
        ids = [encoding.raw_ids[place] for place in covering]
        if not ids:
            return "the normalizer or the pre-tokenizer leaves nothing of it"
        for place in covering:
            start, end = encoding.byte_offsets[place]
            covered = text[start:end].decode("utf-8", "backslashreplace").strip()
            if encoding.raw_ids[place] in (NO_ID, self.tokenizer.unk_id):
                return self._unknown(word, covered)
            if self._is_byte(encoding.raw_ids[place]):
                return f"it has no token for {covered}: it is encoded as bytes"
        recipe = self.tokenizer.recipe
        if why := recipe.traits.why_split:
            return why
        if len(ids) == 1:
            whole = self._whole(ids[0])
            apart = len(encoding) > 1 and ids[0] not in self.tokenizer.model.reserved_ids
            return whole + ("; its space is a separate token" if apart else "")
        # Only tokens of one pre-token could have been merged.
        pairs = [
            (encoding.raw_ids[place], encoding.raw_ids[place + 1])
            for place in covering[:-1]
            if encoding.word_ids[place] == encoding.word_ids[place + 1]
        ]
        if not pairs or (recipe.maximizes_probability and len(pairs) < len(ids) - 1):
            return "the pre-tokenizer cuts it there"
        if recipe.maximizes_probability:
            return self._no_piece(word)
        if recipe.has_ranks or not self.tokenizer.merges:
            first, second = map(self._name, pairs[0])
            return f"no token is spelled {first} and {second} together"
        return self._not_merged(word, pairs)

    def _is_byte(self, id_: int) -> bool:
        """Return whether the id is a byte token of a byte fallback."""
        return self.tokenizer.recipe.byte_fallback and is_byte_token(self.tokenizer, id_)

    def _unknown(self, word: str, missing: str) -> str:
        """Return the reason why the word, or `missing` in it, is unknown."""
        recipe = self.tokenizer.recipe
        if why := recipe.traits.why_unknown:
            return why if missing == word else f"{missing} is {why}"
        if recipe.matches_longest and recipe.unknown != "char":
            most = recipe.max_input_chars
            if most is not None and len(missing) > most:
                return f"a word of more than {most:,} characters is unknown"
            if missing == word:
                return "no tokens fit all of it, so that the whole word is unknown"
            return f"no tokens fit all of {missing}, so that it is unknown"
        # Adjacent unknown characters can be one unknown token.
        characters = list(dict.fromkeys(missing)) or [word]
        return f"it has no token for {listed(characters[:_CHARACTERS])}"

    def _whole(self, id_: int) -> str:
        """Return the reason why a word is one token."""
        model = self.tokenizer.model
        if id_ in model.reserved_ids:
            return "an added token"
        if why := model.recipe.traits.why_whole(model, id_):
            return why
        history = history_of(self.tokenizer)
        if id_ not in history.made_by:
            return "a token of its own"
        record = history.record(history.made_by[id_][0])
        when = f"one token since step {record.step:,}"
        return when if record.count is None else f"{when}: {times(record.count)} side by side"

    def _no_piece(self, word: str) -> str:
        """Return the reason why a Unigram model has no piece for the word."""
        tokenizer = self.tokenizer
        spelled = [
            id_
            for id_ in tokenizer.encoder.batch([b" " + word.encode()], 1, None)[0]
            if id_ != NO_ID
        ]
        score = sum(tokenizer.model.scores[id_] for id_ in spelled)
        piece = "".join(tokenizer.tokens[id_] for id_ in spelled)
        own = tokenizer.vocabulary.get(piece)
        if own is not None and own not in tokenizer.model.reserved_ids:
            less = score - tokenizer.model.scores[own]
            return f"as one piece it would score {less:.1f} nats less"
        record = tokenizer.model.training
        if self.texts is None or record is None:
            return "no piece has that spelling"
        longest = record.max_token_length or USUAL_LONGEST_PIECE
        if len(piece) > longest:
            return f"a piece has {longest:,} characters at the most"
        # A piece can be part of longer pre-tokens.
        count = sum(count * pre_token.count(piece.encode()) for pre_token, count in self._counted)
        if count == 0:
            return "not in the text, so it gets the best pieces of other words"
        if count == 1:
            return "once in the text; a piece must occur twice"
        return (
            f"{times(count)} in the text; its piece was dropped, as these parts do nearly as well"
        )

    def _not_merged(self, word: str, candidates: Sequence[Pair]) -> str:
        """Return which of the remaining pairs came closest to being merged, and why it was not."""
        tokenizer = self.tokenizer
        history = history_of(tokenizer)
        if self.texts is None:
            pair = self._spelled(candidates[0])
            # The merges were replayed, and the pair formed after the rank of its merge had passed.
            if ranks := history.ranks_of(candidates[0]):
                return (
                    f"{pair} only came side by side after step {ranks[-1] + 1:,}, which merges them"
                )
            return f"it has no merge of {pair}"
        criterion = Criterion(tokenizer)

        def score(pair: Pair) -> float:
            count, left_count, right_count, _ = self._counts(pair)
            return count / (left_count * right_count if criterion.by_score else 1)

        # Longest match goes from left to right, so the first pair is where the longest token ends.
        greedy = tokenizer.recipe.matches_longest
        left, right = max(candidates[:1] if greedy else candidates, key=score)
        count, left_count, right_count, refusal = self._counts((left, right))
        pair = self._spelled((left, right))
        if not count:
            # Longest match can split differently than training did. Also, a pre-token of the text
            # can extend beyond the word (with a line end, for example) and be merged differently.
            there = greedy or any(
                next(text.documents_with(word.encode()), None) is not None for text in self.texts
            )
            where = "the training text after the last merge" if there else "the text"
            return f"{pair} never occur side by side in {where}"
        if refusal:
            return f"{pair}: {times(count)}, but that would be {_REFUSED[refusal]}"
        if count < criterion.least:
            return f"{pair}: {times(count)}; it takes {criterion.least:,} to be merged"
        if criterion.by_language:
            return f"{pair}: {times(count)}; no language chose it"
        last = tokenizer.merges[-1]
        if not criterion.by_score:
            rest = f"; the last merge had {times(last.count)}" if last.count else ""
            return f"{pair}: {times(count)}{rest}"
        names = self._name(left), self._name(right)
        own = score((left, right))
        rest = ""
        if last.left_count and last.right_count:
            least = last.count / (last.left_count * last.right_count)
            rest = f"; the last merge had {least:.2g}"
            if own > least:
                rest = "; more than the last merge, and the vocabulary is full"
        return (
            f"{pair}: {times(count)}, of {left_count:,} {names[0]} and "
            f"{right_count:,} {names[1]}: score {own:.2g}{rest}"
        )

    def _spelled(self, pair: Pair) -> str:
        """Return the tokens of a pair, joined by a plus sign."""
        return " + ".join(map(self._name, pair))

    def _name(self, id_: int) -> str:
        """Return a token as readable text: decoded bytes, with a visible sign for the space."""
        if not self.tokenizer.recipe.is_byte_level:
            return self.tokenizer.tokens[id_]
        spelled = self.tokenizer.model.tokens[id_].decode("utf-8", "backslashreplace")
        return spelled.replace(" ", "\u2423")

    def _counts(self, pair: Pair) -> tuple[int, int, int, str | None]:
        """Return the counts of a pair and its symbols after the last merge, and why it is refused.

        A pair that does not occur has the counts (0, 1, 1).
        """
        found = self._last_state.pair(*pair)
        return found[0][2:] if found else (0, 1, 1, None)

    @cached_property
    def _last_state(self) -> Stepper:
        """The corpus state after the last merge."""
        stepper = Criterion(self.tokenizer).stepper(self._counted)
        stepper.goto(len(self.tokenizer.merges))
        return stepper

    @cached_property
    def _counted(self) -> Sequence[tuple[bytes, int]]:
        """Return the pre-tokens of the training texts, with their counts."""
        assert self.texts is not None
        sources = [text.source() for text in self.texts]
        return as_trained(self.tokenizer, count_pre_tokens(self.tokenizer, sources))
