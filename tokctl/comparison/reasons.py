"""Why a model has a word as one token, or splits it: one phrase for people.

Where a model was trained on the very texts that are compared, the phrase has the counts of
its corpus state behind the last merge; else it says what the model's file tells.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from math import exp

from tokctl._native import NO_ID
from tokctl.comparison.texts import Text
from tokctl.encoding import Encoding
from tokctl.explain.history import history_of
from tokctl.explain.states import count_pre_tokens
from tokctl.tokenizer import Tokenizer

Pair = tuple[int, int]


class Reasons:
    """Reasons of one model.

    Args:
        texts: what it was trained on; None where that is something else, or not known.
    """

    def __init__(self, tokenizer: Tokenizer, texts: Sequence[Text] | None) -> None:
        self.tokenizer = tokenizer
        self.texts = texts

    def of(self, word: str, count: int) -> str:
        """Why the word is cut as it is behind a space; `count` is how often the texts have it."""
        encoding = self.tokenizer.encode(b" " + word.encode())
        covering = [place for place, (_, end) in enumerate(encoding.byte_offsets) if end > 1]
        ids = [encoding.raw_ids[place] for place in covering]
        if not ids:
            return "the normalizer or the pre-tokenizer leaves nothing of it"
        unknown = [id_ for id_ in ids if id_ in (NO_ID, self.tokenizer.unk_id)]
        if unknown:
            return self._unknown(word, encoding)
        algorithm = self.tokenizer.recipe.algorithm
        if algorithm == "char":
            return "each character is a token"
        if len(ids) == 1:
            apart = len(encoding) > 1
            return self._whole(ids[0]) + ("; its space is a token by itself" if apart else "")
        if algorithm == "unigram":
            return self._no_piece(word, count)
        # Tokens of one pre-token could have been one; others can't.
        pairs = [
            (encoding.raw_ids[place], encoding.raw_ids[place + 1])
            for place in covering[:-1]
            if encoding.word_ids[place] == encoding.word_ids[place + 1]
        ]
        if not pairs:
            return "the pre-tokenizer cuts it there"
        if self.tokenizer.recipe.segmentation == "ranks":
            first, second = map(self._name, pairs[0])
            return f"no token is spelled {first} and {second} together"
        return self._not_merged(pairs)

    def _unknown(self, word: str, encoding: Encoding) -> str:
        recipe = self.tokenizer.recipe
        if recipe.algorithm == "word":
            return "not among the words that it has tokens for"
        if recipe.segmentation == "longest-match" and recipe.unknown != "char":
            return "no tokens fit all of it, so that the whole word is unknown"
        missing = next(
            piece
            for piece, id_ in zip(encoding.pieces, encoding.raw_ids, strict=True)
            if id_ in (NO_ID, self.tokenizer.unk_id)
        )
        return f"it has no token for {missing.strip() or word}"

    def _whole(self, id_: int) -> str:
        model = self.tokenizer.model
        if model.recipe.algorithm == "unigram":
            return f"a piece of its own, probability {exp(model.scores[id_]):.2g}"
        if model.recipe.algorithm == "word":
            return f"counted {model.counts[id_]:,} times" if model.counts else "a token"
        history = history_of(self.tokenizer)
        if id_ not in history.made_by:
            return "a token of its own"
        record = history.record(history.made_by[id_][0])
        when = f"one token since step {record.step:,}"
        return when if record.count is None else f"{when}: {times(record.count)} side by side"

    def _no_piece(self, word: str, count: int) -> str:
        tokenizer = self.tokenizer
        spelled = [
            id_
            for id_ in tokenizer.encoder.batch([b" " + word.encode()], 1, None)[0]
            if id_ != NO_ID
        ]
        score = sum(tokenizer.model.scores[id_] for id_ in spelled)
        own = _piece_of(tokenizer, word)
        if own is not None:
            less = score - tokenizer.model.scores[own]
            return f"as one piece it would score {less:.1f} nats less"
        if self.texts is None:
            return "no piece is spelled so"
        if count == 0:
            return "the text doesn't have it: the best pieces of other words"
        if count == 1:
            return "once in the text; a piece has to be there twice"
        return (
            f"{times(count)} in the text; its piece was dropped, as these parts do nearly as well"
        )

    def _not_merged(self, candidates: Sequence[Pair]) -> str:
        """Of the pairs that are left the one that came closest, and what it lacked."""
        tokenizer = self.tokenizer
        if self.texts is None:
            first, second = map(self._name, candidates[0])
            return f"its training never merged {first} + {second}"
        symbols, pairs = self._state
        likelihood = tokenizer.recipe.score == "likelihood"
        # Longest match goes from the left, so that the first pair is where a word ends.
        greedy = tokenizer.recipe.segmentation == "longest-match"
        near = candidates[:1] if greedy else candidates
        left, right = max(near, key=lambda pair: pairs[pair])
        count = pairs[left, right]
        names = self._name(left), self._name(right)
        pair = " + ".join(names)
        if not count:
            return f"{pair} are never side by side in the text"
        merges = tokenizer.merges
        if not merges:
            return f"{pair}: {times(count)}, but nothing was merged"
        last = merges[-1]
        if not likelihood:
            return f"{pair}: {times(count)}; the last merge had {times(last.count)}"
        score = count / (symbols[left] * symbols[right])
        least = last.count / (last.left_count * last.right_count)
        if score > least:
            rest = "more than the last merge, and the vocabulary is full"
        else:
            rest = f"the last merge had {least:.2g}"
        return (
            f"{pair}: {times(count)}, of {symbols[left]:,} {names[0]} and "
            f"{symbols[right]:,} {names[1]}: score {score:.2g}; {rest}"
        )

    def _name(self, id_: int) -> str:
        """A token for people: what bytes spell, with a sign for the space."""
        if self.tokenizer.recipe.units == "characters":
            return self.tokenizer.tokens[id_]
        spelled = self.tokenizer.model.tokens[id_].decode("utf-8", "backslashreplace")
        return spelled.replace(" ", "\u2423")

    @cached_property
    def _state(self) -> tuple[Counter[int], Counter[Pair]]:
        """How often each symbol, and each pair, is in the corpus state behind the last merge."""
        assert self.texts is not None
        tokenizer = self.tokenizer
        replay = history_of(tokenizer).replayer.replay
        steps = len(tokenizer.merges)
        symbols: Counter[int] = Counter()
        pairs: Counter[Pair] = Counter()
        documents = [text.document() for text in self.texts]
        for pre_token, count in count_pre_tokens(tokenizer, documents):
            ids = replay(pre_token, steps)[0]
            for id_ in ids:
                symbols[id_] += count
            for pair in pairwise(ids):
                pairs[pair] += count
        return symbols, pairs


def times(count: int) -> str:
    """How often, for people."""
    return "once" if count == 1 else "twice" if count == 2 else f"{count:,} times"


def _piece_of(tokenizer: Tokenizer, word: str) -> int | None:
    """The piece that is the whole word behind a space, if there is one."""
    from tokctl.metrics.overlap import space_mark

    spelled = space_mark(tokenizer.recipe) + word
    return tokenizer.vocabulary.get(spelled)
