"""Stability of the segmentation of a text's words under typos, case, and other white space.

Chai et al. 2024 ("Tokenization Falling Short", arXiv 2406.11687) show that language models lose
accuracy where typos and other changes of form change the tokens of a text. This module measures
only the cause: how much the tokens change. The definitions are tokctl's own.

**Words** are the distinct runs of characters that are not white space, without the punctuation at
their ends, if they consist of `SHORTEST` to `LONGEST` letters and marks and contain no script of
`WITHOUT_SPACES`. At most `WORDS` words are used: those with the smallest SHA-256 of seed and word.
So every distinct word is equally likely to be used, however frequent it is, and the same seed picks
the same words.

**A variant** is a word as it is after a space, with one change:

| variant | change |
|---|---|
| `transposition` | two adjacent letters, which differ, are swapped |
| `deletion` | a letter is left out |
| `substitution` | a letter becomes another letter of the words, of the same case |
| `duplication` | a letter is doubled |
| `lower`, `upper`, `title` | each letter is changed by itself; in `title` the first is a capital |
| `double-space` | two spaces precede the word |
| `no-space` | no space precedes the word, as at the start of a text |
| `tab`, `no-break-space` | a tab or a no-break space replaces the space |

SHA-256 of seed, variant and word determines which letter a typo hits, and what it becomes. A word
that a variant does not change (`lower` of a word in lower case) is not counted for this variant.

**Boundaries** are byte offsets strictly inside a word at which a token starts or ends. Word and
variant are aligned piece by piece: the text before a change, the change, the text after it; for
changes of case, letter by letter. A boundary at the edge of a piece has a counterpart, and so has a
boundary inside a piece that is equal in both. Boundaries inside a piece that differs are left out
on both sides. The boundaries that are kept are given as F1 of the two sets, over all words.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from tokctl import _native
from tokctl.analysis.metrics import MetricValue, mean, ratio
from tokctl.analysis.texts import Text, count_words
from tokctl.tokenizer import Tokenizer

#: Maximum number of words that are picked from a text.
WORDS = 2_000
#: Limits of a word's length in characters.
SHORTEST, LONGEST = 3, 40
#: Scripts without spaces between words, in which the text between two spaces is a phrase.
WITHOUT_SPACES = frozenset(
    ("Han", "Hiragana", "Katakana", "Bopomofo", "Thai", "Lao", "Khmer", "Myanmar", "Tibetan")
)


@dataclass(frozen=True)
class Variation:
    """Effect of one variant on the tokens of the words.

    Attributes:
        name: Name of the variant.
        group: `typos`, `case` or `spaces`.
        words: Number of the picked words that the variant changes.
        figures: Values by the names of `suite_metrics.STABILITY`, in their order.
    """

    name: str
    group: str
    words: int
    figures: Mapping[str, MetricValue]


@dataclass(frozen=True)
class StabilityReport:
    """Stability of a model on the words of a text.

    Attributes:
        distinct: Number of the text's words that could be picked.
        words: The picked words, in the order of their hashes.
        seed: Seed of the choice of words and of the typos.
        variations: Results of each variant, in the order of the table.
    """

    distinct: int
    words: tuple[str, ...]
    seed: int
    variations: tuple[Variation, ...]


#: Pairs of a piece of a text and the piece that replaces it.
Pieces = list[tuple[str, str]]


def stability(tokenizer: Tokenizer, text: Text | bytes | str, *, seed: int = 0) -> StabilityReport:
    """Measure how much the segmentation of a text's words changes.

    The same seed and text give the same report. The time is that of counting the words of the text
    and encoding about 24,000 words.

    Args:
        tokenizer: The model.
        text: The text; words that are not UTF-8 are left out.
        seed: Seed of the choice of words and of the typos.

    Example:
        report = stability(tok, "some words of a text", seed=1)
        report.variations[0].figures["changed"]
    """
    if not isinstance(text, Text):
        text = Text("", text if isinstance(text, bytes) else text.encode())
    candidates = words_of(text)
    words = sorted(candidates, key=lambda word: _draw(seed, "word", word))[:WORDS]
    letters = sorted(set("".join(words)))
    alphabets = {
        upper: [letter for letter in letters if letter.isupper() == upper]
        for upper in (False, True)
    }
    cuts = _Cuts(tokenizer)
    variations = []
    for group, name in VARIANTS:
        rewrite = _typos(name, seed, alphabets) if group == "typos" else _REWRITES[name]
        variants = (rewrite(word) for word in words)
        changed = [pieces for pieces in variants if any(old != new for old, new in pieces)]
        variations.append(_variation(cuts, name, group, changed))
    return StabilityReport(len(candidates), tuple(words), seed, tuple(variations))


def words_of(text: Text) -> list[str]:
    """Return the distinct words of a text that can be picked, in first-seen order."""
    words: dict[str, None] = {}
    for run in count_words([text], "whitespace", 1):
        try:
            word = run.decode()
        except UnicodeDecodeError:
            continue
        start, end = 0, len(word)
        while start < end and not _is_letter(word[start]):
            start += 1
        while start < end and not _is_letter(word[end - 1]):
            end -= 1
        word = word[start:end]
        if not SHORTEST <= len(word) <= LONGEST or not all(map(_is_letter, word)):
            continue
        if word.isascii() or WITHOUT_SPACES.isdisjoint(_native.scripts_of(word)):
            words[word] = None
    return list(words)


def _is_letter(character: str) -> bool:
    """Return whether the character is a letter or a mark."""
    return unicodedata.category(character)[0] in "LM"


def _draw(*key: object) -> int:
    """Return a 64-bit number that depends on the key alone."""
    digest = sha256(":".join(map(str, key)).encode()).digest()
    return int.from_bytes(digest[:8], "big")


# -- Variants ----------------------------------------------------------------------------------


def _typos(
    name: str, seed: int, alphabets: Mapping[bool, Sequence[str]]
) -> Callable[[str], Pieces]:
    """Return a function that makes the typo `name` in a word."""

    def rewrite(word: str) -> Pieces:
        number = _draw(seed, name, word)
        if name == "transposition":
            swappable = [at for at in range(len(word) - 1) if word[at] != word[at + 1]]
        else:
            swappable = list(range(len(word)))
        if not swappable:
            return []
        at = swappable[number % len(swappable)]
        length = 2 if name == "transposition" else 1
        old = new = word[at : at + length]
        if name == "transposition":
            new = old[::-1]
        elif name == "deletion":
            new = ""
        elif name == "duplication":
            new = old * 2
        else:
            letters = [letter for letter in alphabets[old.isupper()] if letter != old]
            if letters:
                new = letters[_draw(seed, name, word, "letter") % len(letters)]
        start, end = word[:at], word[at + length :]
        return [(" ", " "), (start, start), (old, new), (end, end)]

    return rewrite


def _cased(change: Callable[[int, str], str]) -> Callable[[str], Pieces]:
    """Return a function that changes each letter of a word, given its index."""
    return lambda word: [
        (" ", " "),
        *((letter, change(index, letter)) for index, letter in enumerate(word)),
    ]


def _spaced(space: str) -> Callable[[str], Pieces]:
    """Return a function that replaces the space before a word."""
    return lambda word: [(" ", space), (word, word)]


_REWRITES: dict[str, Callable[[str], Pieces]] = {
    "lower": _cased(lambda _, letter: letter.lower()),
    "upper": _cased(lambda _, letter: letter.upper()),
    "title": _cased(lambda place, letter: letter.lower() if place else letter.title()),
    "double-space": _spaced("  "),
    "no-space": _spaced(""),
    "tab": _spaced("\t"),
    "no-break-space": _spaced("\u00a0"),
}

#: Group and name of each variant, in the order of the table.
VARIANTS = (
    *(("typos", name) for name in ("transposition", "deletion", "substitution", "duplication")),
    *(("case", name) for name in ("lower", "upper", "title")),
    *(("spaces", name) for name in ("double-space", "no-space", "tab", "no-break-space")),
)


# -- Figures -----------------------------------------------------------------------------------


class _Cuts:
    """Tokens of short texts, cached: the unchanged words are needed once for each variant."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.encoder = tokenizer.encoder
        self.matcher = tokenizer.special_matcher("none")
        self.known: dict[str, tuple[int, frozenset[int]]] = {}

    def of(self, text: str) -> tuple[int, frozenset[int]]:
        """Return the number of tokens, and the byte offsets where they start and end."""
        if (cut := self.known.get(text)) is None:
            ids, starts, ends, _ = self.encoder.tokens(text.encode(), self.matcher)
            cut = self.known[text] = len(ids), frozenset(starts).union(ends)
        return cut


def _variation(cuts: _Cuts, name: str, group: str, variants: Iterable[Pieces]) -> Variation:
    """Return the effect of one variant on words, given as pieces."""
    words = different = shared = old_count = new_count = 0
    ratios = []
    for pieces in variants:
        old_tokens, old_cuts = cuts.of("".join(old for old, _ in pieces))
        new_tokens, new_cuts = cuts.of("".join(new for _, new in pieces))
        words += 1
        different += old_tokens != new_tokens
        if old_tokens:
            ratios.append(new_tokens / old_tokens)
        counterparts = dict(_aligned(pieces))
        old_positions = {counterparts[offset] for offset in old_cuts if offset in counterparts}
        new_positions = new_cuts.intersection(counterparts.values())
        shared += len(old_positions & new_positions)
        old_count += len(old_positions)
        new_count += len(new_positions)
    no_words = "the text has no words that it changes"
    figures = {
        "changed": ratio(different, words, no_words),
        "token_ratio": mean(ratios, no_words),
        "kept": ratio(2 * shared, old_count + new_count, "neither words nor variants are cut"),
    }
    return Variation(name, group, words, figures)


def _aligned(pieces: Pieces) -> Iterator[tuple[int, int]]:
    """Yield pairs of offsets strictly inside a word and its variant that correspond to each other.

    The first piece is the space.
    """
    sizes = [(len(old.encode()), len(new.encode())) for old, new in pieces]
    old_end, new_end = (sum(size) for size in zip(*sizes, strict=True))
    old_start, new_start = sizes[0]
    old, new = 0, 0
    for (text, variant), (old_size, new_size) in zip(pieces, sizes, strict=True):
        equal = range(old_size + 1) if text == variant else ()
        for step_old, step_new in [(n, n) for n in equal] or [(0, 0), (old_size, new_size)]:
            offsets = old + step_old, new + step_new
            if old_start < offsets[0] < old_end and new_start < offsets[1] < new_end:
                yield offsets
        old, new = old + old_size, new + new_size
