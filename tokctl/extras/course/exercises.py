"""The tutorial's exercises: what each one asks for, and how tokctl answers it.

The answers are those of tokctl's own trainers, encoders and decoders for the same arguments: no
result is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any, TypeVar

from tokctl import _native
from tokctl.analysis import metrics
from tokctl.analysis.comparison.measuring import measure
from tokctl.analysis.explain import explain, pair_counts, token_history, unreachable
from tokctl.analysis.explain.words import MergedWord
from tokctl.core.errors import BadOption
from tokctl.core.humanize import listed
from tokctl.extras.course.cases import ExerciseCase, first_case, read_cases
from tokctl.model import Marker, Merge, Model, Recipe, TrainingStage, byte_level
from tokctl.model.parts import PRE_TOKENIZERS
from tokctl.model.presets import BPE, BPE_CHARACTERS, UNIGRAM, WORD, WORDPIECE, preset
from tokctl.tokenizer import Tokenizer

__all__ = ["EXERCISES", "PAGES", "Exercise", "exercise", "written_call"]

#: Names of the pages without file extension, from page 1.
PAGES = (
    "1-words-and-symbols",
    "2-bpe",
    "3-wordpiece",
    "4-unigram",
    "5-treasure-island",
    "6-comparing",
    "7-an-erratum",
    "8-bytes",
    "9-patterns",
    "10-special-tokens",
    "11-what-a-model-sees",
    "12-beyond-words",
)


@dataclass(frozen=True)
class Exercise:
    """An exercise: a function that the reader writes.

    Attributes:
        number: page and position on the page, such as `2.1`.
        signature: name and parameters of the function, such as `train(counts, size)`.
        task: what the function returns.
        expected: function that returns tokctl's result for the arguments of a case.
    """

    number: str
    signature: str
    task: str
    expected: Callable[..., Any]

    @property
    def page(self) -> str:
        """Name of the page, without its file extension."""
        return PAGES[int(self.number.partition(".")[0]) - 1]

    @property
    def name(self) -> str:
        """Name of the function."""
        return self.signature.partition("(")[0]

    @property
    def example(self) -> ExerciseCase:
        """The page's example."""
        return first_case(self.number)

    def all_cases(self) -> list[ExerciseCase]:
        """Return all cases: the page's example first."""
        return read_cases(self.number)


def written_call(exercise: Exercise, case: ExerciseCase) -> str:
    """Return the call of a case as Python code."""
    return f"{exercise.name}({', '.join(map(repr, case.arguments))})"


def exercise(number: str) -> Exercise:
    """Return the exercise with a number such as `2.1`.

    Raises:
        TokctlError: no exercise has this number.
    """
    if number in EXERCISES:
        return EXERCISES[number]
    same_page = [name for name in EXERCISES if name.partition(".")[0] == number.partition(".")[0]]
    same_page_note = (
        f"page {number.partition('.')[0]} has {listed(same_page)}; " if same_page else ""
    )
    raise BadOption(
        f"no exercise has the number {number!r}",
        f"{same_page_note}tokctl check-exercise --list shows all",
        "unknown-name",
    )


#: All exercises by number, in the order of the pages.
EXERCISES: dict[str, Exercise] = {}

_Expected = TypeVar("_Expected", bound=Callable[..., Any])


def _answers(number: str, signature: str, task: str) -> Callable[[_Expected], _Expected]:
    """Add an exercise to `EXERCISES`; the decorated function returns tokctl's results.

    Args:
        number: page and position on the page.
        signature: name and parameters of the function that the reader writes.
        task: what the function returns.
    """

    def add(expected: _Expected) -> _Expected:
        EXERCISES[number] = Exercise(number, signature, task, expected)
        return expected

    return add


# -- Models for the results ----------------------------------------------------------------------

Counts = dict[str, int]
Pair = tuple[str, str]

_AT_SPACES = PRE_TOKENIZERS.steps("whitespace")
#: BPE over characters, without special tokens.
_PLAIN = replace(
    BPE_CHARACTERS, pre_tokenizers=_AT_SPACES, unk_token=None, special_tokens=(), name="plain"
)
_LOWEST_ID = replace(_PLAIN, tie_break="lowest-id")
_NOTEBOOK = replace(preset("notebook-bpe"), normalizers=(), pre_tokenizers=_AT_SPACES)
_HASHES = replace(WORDPIECE, pre_tokenizers=_AT_SPACES, unk_token=None, special_tokens=())
_HASHES_BY_COUNT = replace(_HASHES, score="count")
_ENDING = replace(_PLAIN, marker=Marker("end", "_"))


def _trained(counts: Counts, size: int, recipe: Recipe) -> Tokenizer | None:
    """Return the tokenizer that tokctl trains; None without words, which training refuses."""
    if not counts:
        return None
    return Tokenizer.train(counts, vocab_size=size, recipe=recipe)


def _merges(tokenizer: Tokenizer | None) -> list[Pair]:
    if tokenizer is None:
        return []
    names = tokenizer.tokens
    return [(names[merge.left], names[merge.right]) for merge in tokenizer.merges]


def _learned(counts: Counts, size: int, recipe: Recipe) -> list[Pair]:
    return _merges(_trained(counts, size, recipe))


def _with_merges(merges: Sequence[Pair], letters: str, recipe: Recipe = _PLAIN) -> Tokenizer:
    """Return a model with these merges, and with `letters` besides the merges' characters."""
    texts = [*letters.replace(" ", ""), *(text for pair in merges for text in "".join(pair))]
    tokens = sorted(set(texts))
    for left, right in merges:
        tokens += [text for text in (left, right, left + right) if text not in tokens]
    ids = {token: id_ for id_, token in enumerate(tokens)}
    triples = [Merge(ids[left], ids[right], ids[left + right], 0, 0, 0) for left, right in merges]
    return Tokenizer(Model(recipe, [token.encode() for token in tokens], triples))


def _pieces(splitting: str, text: str) -> list[str]:
    """Return the pre-tokens of a text."""
    recipe = replace(_PLAIN, pre_tokenizers=PRE_TOKENIZERS.steps(splitting))
    normalized, ranges = Tokenizer(Model(recipe, [])).pre_tokens(text)
    return [normalized[start:end].decode() for start, end in ranges]


# -- 1. Words and symbols ------------------------------------------------------------------------


@_answers("1.1", "split_punctuation(text)", "the words of a text, each punctuation mark by itself")
def _split_punctuation(text: str) -> list[str]:
    return _pieces("bert", text)


@_answers("1.2", "plain(text)", "the text in small letters and without accents")
def _plain(text: str) -> str:
    return _native.normalize(["nfd", "strip-accents", "lowercase"], text.encode()).decode()


@_answers(
    "1.3", "word_ids(counts, size, text)", "the ids that a vocabulary of whole words gives a text"
)
def _word_ids(counts: Counts, size: int, text: str) -> list[int]:
    recipe = replace(WORD, pre_tokenizers=_AT_SPACES)
    model = Tokenizer.train(counts, vocab_size=size, recipe=recipe)
    return model.encode_ids(text)


# -- 2. BPE --------------------------------------------------------------------------------------


@_answers(
    "2.1", "encode_by_rank(word, merges)", "the tokens of a word, by the earliest merge that fits"
)
def _encode_by_rank(word: str, merges: Sequence[Pair]) -> list[str]:
    return _with_merges(merges, word).encode(word).tokens


@_answers("2.2", "train_moving(counts, size)", "the merges of BPE as the notebook trains it")
def _train_moving(counts: Counts, size: int) -> list[Pair]:
    return _learned(counts, size, _NOTEBOOK)


@_answers(
    "2.3", "train_lowest_id(counts, size)", "the merges of BPE where the lowest ids win a tie"
)
def _train_lowest_id(counts: Counts, size: int) -> list[Pair]:
    return _learned(counts, size, _LOWEST_ID)


# -- 3. WordPiece --------------------------------------------------------------------------------


@_answers(
    "3.1", "train_by_count(counts, size)", "the merges of WordPiece where the highest count wins"
)
def _train_by_count(counts: Counts, size: int) -> list[Pair]:
    return _learned(counts, size, _HASHES_BY_COUNT)


@_answers(
    "3.2",
    "match_characters(word, vocabulary)",
    "the longest tokens that match, and [UNK] for each character that none matches",
)
def _match_characters(word: str, vocabulary: Sequence[str]) -> list[str]:
    recipe = replace(WORDPIECE, unknown="char", pre_tokenizers=_AT_SPACES)
    tokens = [text.encode() for text in ("[UNK]", *vocabulary)]
    return Tokenizer(Model(recipe, tokens)).encode(word).tokens


@_answers("3.3", "join_hashes(tokens)", "the text of WordPiece tokens")
def _join_hashes(tokens: Sequence[str]) -> str:
    names = list(dict.fromkeys(["[UNK]", *tokens]))
    model = Tokenizer(Model(WORDPIECE, [name.encode() for name in names]))
    return model.decode([names.index(token) for token in tokens])


# -- 4. Unigram ----------------------------------------------------------------------------------


def _unigram(scores: Mapping[str, float]) -> Tokenizer:
    recipe = replace(UNIGRAM, normalizers=(), pre_tokenizers=(), decoders=())
    tokens = [text.encode() for text in ("<unk>", *scores)]
    return Tokenizer(Model(recipe, tokens, scores=[0.0, *scores.values()]))


@_answers("4.1", "n_best(word, scores, n)", "the n best ways to write a word, each with its score")
def _n_best(word: str, scores: Mapping[str, float], n: int) -> list[tuple[list[str], float]]:
    return [(way.tokens, way.score) for way in _unigram(scores).nbest(word, n)]


@_answers("4.2", "pieces_or_unknown(word, scores)", "the best pieces, and <unk> for what has none")
def _pieces_or_unknown(word: str, scores: Mapping[str, float]) -> list[str]:
    return _unigram(scores).encode(word).tokens


@_answers(
    "4.3", "loss(piece, scores)", "the best way to write a piece without it, and what that costs"
)
def _loss(piece: str, scores: Mapping[str, float]) -> tuple[list[str], float]:
    history = token_history(_unigram(scores), piece).piece_score
    assert history is not None and history.instead is not None and history.gain is not None
    return [part.text for part in history.instead.pieces], history.gain


# -- 5. Treasure Island --------------------------------------------------------------------------


@_answers("5.1", "steps_of(word, merges)", "the merges that a word goes through, with their steps")
def _steps_of(word: str, merges: Sequence[Pair]) -> list[tuple[int, str, str]]:
    (explained,) = explain(_with_merges(merges, word), word).words
    assert isinstance(explained, MergedWord)
    return [(step.merge.step, step.merge.left, step.merge.right) for step in explained.steps]


@_answers("5.2", "unused_tokens(counts, merges)", "the merged tokens that the text no longer uses")
def _unused_tokens(counts: Counts, merges: Sequence[Pair]) -> list[str]:
    model = _with_merges(merges, "".join([*counts, "_"]), _ENDING)
    used = {token for word in counts for token in model.encode(word).tokens}
    merged = dict.fromkeys(left + right for left, right in merges)
    return [token for token in merged if token not in used]


@_answers(
    "5.3", "train_quickly(counts, size)", "the merges of BPE, of 20,000 distinct words, in seconds"
)
def _train_quickly(counts: Counts, size: int) -> list[Pair]:
    return _learned(counts, size, _PLAIN)


# -- 6. Comparing --------------------------------------------------------------------------------


@_answers("6.1", "word_figures(text, merges)", "tokens per word, and the share of words kept whole")
def _word_figures(text: str, merges: Sequence[Pair]) -> tuple[float, float]:
    letters = "".join(text.split())
    counts = measure(_with_merges(merges, letters), text.encode(), 1)
    fertility, unsplit_share = metrics.fertility(counts), metrics.strr(counts)
    assert isinstance(fertility, float) and isinstance(unsplit_share, float)
    return fertility, unsplit_share


@_answers("6.2", "renyi(counts, size)", "the Rényi efficiency of order 2.5")
def _renyi(counts: Sequence[int], size: int) -> float:
    efficiency = metrics.renyi_efficiency(counts, size)
    assert isinstance(efficiency, float)
    return efficiency


# -- 7. An erratum -------------------------------------------------------------------------------


@_answers(
    "7.1", "score_table(counts, steps)", "every pair after some merges of WordPiece, the best first"
)
def _score_table(counts: Counts, steps: int) -> list[tuple[str, str, int, int, int]]:
    model = _trained(counts, 1000, _HASHES)
    assert model is not None
    words = [(word.encode(), count) for word, count in counts.items()]
    return [
        (pair.left, pair.right, pair.count, pair.left_count, pair.right_count)
        for pair in pair_counts(model, steps, words).pairs
    ]


@_answers("7.2", "step_of(token, counts)", "the step in which WordPiece makes a token, or None")
def _step_of(token: str, counts: Counts) -> int | None:
    model = _trained(counts, 1000, _HASHES)
    assert model is not None
    merged = (model.tokens[merge.token] for merge in model.merges)
    return next((step for step, text in enumerate(merged, 1) if text == token), None)


# -- 8. Bytes ------------------------------------------------------------------------------------


@_answers("8.1", "utf8(text)", "the bytes of a text, without encode()")
def _utf8(text: str) -> bytes:
    model = Tokenizer(Model(BPE, [bytes([byte]) for byte in range(256)]))
    return model.decode_bytes(model.encode_ids(text))


@_answers("8.2", "stream(tokens)", "what can be shown after each token that arrives")
def _stream(tokens: Sequence[bytes]) -> list[str]:
    names = list(dict.fromkeys(tokens)) or [b"a"]
    stream = Tokenizer(Model(BPE, names)).decode_stream()
    return [*(stream.push(names.index(token)) for token in tokens), stream.finish()]


@_answers(
    "8.3", "text_of(ids, vocabulary)", "the text of ids whose tokens are spelled as GPT-2 does"
)
def _text_of(ids: Sequence[int], vocabulary: Sequence[str]) -> str:
    tokens = byte_level.unspell_all(list(vocabulary))
    return Tokenizer(Model(BPE, tokens)).decode(ids, errors="replace")


# -- 9. Patterns ---------------------------------------------------------------------------------


@_answers("9.1", "split_gpt2(text)", "the pre-tokens of GPT-2's pattern, without regex")
def _split_gpt2(text: str) -> list[str]:
    return _pieces("gpt2", text)


@_answers(
    "9.2", "digit_groups(digits, right)", "a number in groups of three, from the left or the right"
)
def _digit_groups(digits: str, right: bool) -> list[str]:
    return _pieces(r"regex:\d{1,3}(?=(\d{3})*\b)" if right else "cl100k", digits)


def _by_ranks(ranks: Mapping[bytes, int]) -> Tokenizer:
    recipe = replace(BPE, segmentation="ranks", pre_tokenizers=())
    return Tokenizer(Model(recipe, sorted(ranks, key=ranks.__getitem__)))


@_answers("9.3", "encode_long(word, ranks)", "the ids of a word of any length, in seconds")
def _encode_long(word: bytes, ranks: Mapping[bytes, int]) -> list[int]:
    return _by_ranks(ranks).encode_ids(word)


# -- 10. Special tokens --------------------------------------------------------------------------


@_answers("10.1", "cut_at_special(text, special)", "a text, cut at its special tokens")
def _cut_at_special(text: str, special: Sequence[str]) -> list[tuple[str, bool]]:
    recipe = replace(_PLAIN, pre_tokenizers=(), special_tokens=tuple(special))
    letters = sorted({*text} - {*special})
    model = Tokenizer(Model(recipe, [token.encode() for token in (*special, *letters)]))
    parts: list[tuple[str, bool]] = []
    encoding = model.encode(text, special="all")
    for id_, part in zip(encoding.ids, encoding.surfaces, strict=True):
        is_special = id_ < len(special)
        if not is_special and parts and not parts[-1][1]:
            part = parts.pop()[0] + part
        parts.append((part, is_special))
    return parts


@_answers("10.2", "frame_pair(first, second)", "tokens in BERT's template, with their type ids")
def _frame_pair(first: Sequence[str], second: Sequence[str] | None) -> tuple[list[str], list[int]]:
    bert = preset("bert")
    recipe = replace(
        WORD,
        pre_tokenizers=_AT_SPACES,
        special_tokens=bert.special_tokens,
        post_processors=bert.post_processors,
    )
    names = list(dict.fromkeys([*bert.special_tokens, *first, *(second or [])]))
    model = Tokenizer(Model(recipe, [name.encode() for name in names]))
    pair = None if second is None else " ".join(second)
    encoding = model.encode(" ".join(first), pair, add_special=True)
    return encoding.tokens, encoding.type_ids


# -- 11. What a model sees -----------------------------------------------------------------------


@_answers("11.1", "out_of_reach(ranks)", "the tokens that no text ever becomes")
def _out_of_reach(ranks: Mapping[bytes, int]) -> list[bytes]:
    model = _by_ranks(ranks)
    return [model.model.tokens[id_] for id_ in unreachable(model).ids]


@_answers("11.2", "typo_costs(word, merges)", "how many tokens each swap of two neighbours costs")
def _typo_costs(word: str, merges: Sequence[Pair]) -> dict[str, int]:
    swapped = [word[:at] + word[at + 1] + word[at] + word[at + 2 :] for at in range(len(word) - 1)]
    model = _with_merges(merges, word)
    return {typo: len(model.encode_ids(typo)) for typo in swapped if typo != word}


# -- 12. Beyond words ----------------------------------------------------------------------------


def _in_stages(*stages: TrainingStage) -> Recipe:
    return replace(BPE, pre_tokenizers=(), stages=stages)


@_answers(
    "12.1",
    "allowed(tokens, most, forbidden)",
    "the tokens of at most so many words, without what is forbidden",
)
def _allowed(tokens: Sequence[str], most: int, forbidden: Sequence[str]) -> list[str]:
    """Return the tokens that training can make from a text of only that token."""
    recipe = _in_stages(TrainingStage(max_words=most, forbidden=tuple(forbidden)))

    def is_made(token: str) -> bool:
        size = 256 + len(token.encode())
        model = Tokenizer.train({token: 1}, vocab_size=size, recipe=recipe)
        return token.encode() in model.model.tokens

    return [token for token in tokens if is_made(token)]


@_answers(
    "12.2",
    "train_superwords(lines, size, transition, most, forbidden)",
    "the merges of SuperBPE with its two limits",
)
def _train_superwords(
    lines: Sequence[str], size: int, transition: int, most: int, forbidden: Sequence[str]
) -> list[Pair]:
    recipe = _in_stages(
        TrainingStage(PRE_TOKENIZERS.steps("gpt2"), until=str(transition)),
        TrainingStage(max_words=most, forbidden=tuple(forbidden)),
    )
    counts: Counts = {}
    for line in lines:
        counts[line] = counts.get(line, 0) + 1
    return _learned(counts, size, recipe)


@_answers(
    "12.3",
    "taken_back(prompt, rest, merges)",
    "how many tokens of a prompt change when the text goes on",
)
def _taken_back(prompt: str, rest: str, merges: Sequence[Pair]) -> int:
    ids = {text: id_ for id_, text in enumerate(sorted(byte_level.BYTES))}
    for left, right in merges:
        ids.setdefault(left + right, len(ids))
    triples = [Merge(ids[left], ids[right], ids[left + right], 0, 0, 0) for left, right in merges]
    tokens = [byte_level.unspell(token) for token in ids]
    model = Tokenizer(Model(replace(BPE, pre_tokenizers=()), tokens, triples))
    prompt_ids, all_ids = model.encode_ids(prompt), model.encode_ids(prompt + rest)
    common = takewhile(lambda pair: pair[0] == pair[1], zip(prompt_ids, all_ids, strict=False))
    return len(prompt_ids) - len(list(common))
