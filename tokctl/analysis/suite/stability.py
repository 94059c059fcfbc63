"""How much the cuts of a text's words change under typos, case, and other white space.

Chai et al. 2024 ("Tokenization Falling Short", arXiv 2406.11687) show that language models lose
accuracy where typos and other changes of form change the tokens of a text. What is measured here
is the cause alone: how much the tokens change. The definitions are tokctl's own.

**Words** are the distinct runs of characters that are not white space, without the punctuation at
their ends, as far as they are `SHORTEST` to `LONGEST` letters and marks and nothing else, and of no
script `WITHOUT_SPACES`. Of these at most `WORDS` are taken: those whose SHA-256 of seed and word is
the least. So every distinct word is as likely to be taken, however often it is used, and the same
seed takes the same words.

**A variant** is a word as it is after a space, with one change:

| variant | what changes |
|---|---|
| `transposition` | two letters side by side, which differ, change places |
| `deletion` | a letter is left out |
| `substitution` | a letter becomes another one, of the same case, of those in the words |
| `duplication` | a letter is there twice |
| `lower`, `upper`, `title` | the letters, each by itself; of `title` the first is a capital |
| `double-space` | there are two spaces before the word |
| `no-space` | there is none, as at the start of a text |
| `tab`, `no-break-space` | one of these is there in place of the space |

Which letter a typo hits, and what it becomes, SHA-256 of seed, variant and word decides. A word
that a variant does not change (`lower` of a word in lower case) is left out of it.

**Boundaries** are byte offsets strictly inside a word at which a token starts or ends. Word and
variant are aligned piece by piece: what is before a change, the change, what is after it;
for the case, letter by letter. A boundary at the edge of a piece has a counterpart, and so has one
inside a piece that is the same in both; those inside a piece that differs are left out on both
sides. The boundaries that are kept are given as F1 of the two sets, over all words.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from tokctl import _native
from tokctl.analysis.metrics import Definition, Figure, mean, ratio
from tokctl.analysis.texts import Text, count_words
from tokctl.tokenizer import Tokenizer

#: Words that are taken of a text at most.
WORDS = 2_000
#: Characters of a word.
SHORTEST, LONGEST = 3, 40
#: Scripts that put no spaces between words, so that what lies between two spaces is a phrase.
WITHOUT_SPACES = frozenset(
    ("Han", "Hiragana", "Katakana", "Bopomofo", "Thai", "Lao", "Khmer", "Myanmar", "Tibetan")
)

_CHAI = "Chai et al. 2024, arXiv 2406.11687"
_MISLEADS = (
    "Rare words count as much as frequent ones. Texts without spaces have no words to change."
)

#: n tokens of the word after a space, n' of its variant; K boundaries of the word that have a
#: counterpart, K' of the variant.
DEFINITIONS = (
    Definition(
        "changed",
        "words with another number of tokens",
        "words with n' ≠ n / words",
        "share, 0 to 1",
        "neither",
        _CHAI,
        "The number can stay the same while every token changes. A character model changes with "
        "each deletion, but is the most stable of all. " + _MISLEADS,
    ),
    Definition(
        "token_ratio",
        "tokens of the variant per token",
        "mean of n' / n over words",
        "ratio, 1 = the same number",
        "neither",
        _CHAI,
        "Long words of many tokens hardly affect it; words of one token do. A model to which the "
        "variant is unknown has few tokens. " + _MISLEADS,
    ),
    Definition(
        "kept",
        "boundaries kept",
        "2 |K∩K'| / (|K| + |K'|), over all words",
        "F1, 0 to 1",
        "neither",
        f"F1, van Rijsbergen 1979; {_CHAI}",
        "A model that cuts at every byte keeps all. A word that is one token has no boundary to "
        "keep, so each boundary of its variant counts against the model. " + _MISLEADS,
    ),
)


@dataclass(frozen=True)
class Variation:
    """What one variant does to the tokens of the words.

    Attributes:
        name: of a variant.
        group: `typos`, `case` or `spaces`.
        words: that the variant changes, of those that were taken.
        figures: by the names of `DEFINITIONS`, in their order.
    """

    name: str
    group: str
    words: int
    figures: Mapping[str, Figure]


@dataclass(frozen=True)
class StabilityReport:
    """A model on the words of a text.

    Attributes:
        distinct: words of the text that could have been taken.
        words: those that were taken, in the order of their hashes.
        seed: of the words, and of the typos.
        variations: one for each variant, in the order of the table.
    """

    distinct: int
    words: tuple[str, ...]
    seed: int
    variations: tuple[Variation, ...]


#: A text, and what it becomes, piece by piece.
Pieces = list[tuple[str, str]]


def stability(tokenizer: Tokenizer, text: Text | bytes | str, *, seed: int = 0) -> StabilityReport:
    """How much the cuts of a text's words change. The same seed and text give the same report.

    Takes the time to count the words of the text, and to encode 24,000 words.

    Args:
        text: what is not UTF-8 in it is left out.
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
    """The distinct words of a text that can be taken, in first-seen order."""
    found: dict[str, None] = {}
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
            found[word] = None
    return list(found)


def _is_letter(character: str) -> bool:
    """A letter, or a mark on one."""
    return unicodedata.category(character)[0] in "LM"


def _draw(*key: object) -> int:
    """A number of 64 bits that depends on nothing but the key."""
    digest = sha256(":".join(map(str, key)).encode()).digest()
    return int.from_bytes(digest[:8], "big")


# -- Variants ----------------------------------------------------------------------------------


def _typos(
    name: str, seed: int, alphabets: Mapping[bool, Sequence[str]]
) -> Callable[[str], Pieces]:
    """What makes this typo in a word."""

    def rewrite(word: str) -> Pieces:
        number = _draw(seed, name, word)
        if name == "transposition":
            places = [at for at in range(len(word) - 1) if word[at] != word[at + 1]]
        else:
            places = list(range(len(word)))
        if not places:
            return []
        at = places[number % len(places)]
        length = 2 if name == "transposition" else 1
        old = new = word[at : at + length]
        if name == "transposition":
            new = old[::-1]
        elif name == "deletion":
            new = ""
        elif name == "duplication":
            new = old * 2
        else:
            others = [letter for letter in alphabets[old.isupper()] if letter != old]
            if others:
                new = others[_draw(seed, name, word, "letter") % len(others)]
        before, after = word[:at], word[at + length :]
        return [(" ", " "), (before, before), (old, new), (after, after)]

    return rewrite


def _cased(change: Callable[[int, str], str]) -> Callable[[str], Pieces]:
    return lambda word: [
        (" ", " "),
        *((letter, change(place, letter)) for place, letter in enumerate(word)),
    ]


def _spaced(space: str) -> Callable[[str], Pieces]:
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

#: Group and name of each, in the order of the table.
VARIANTS = (
    *(("typos", name) for name in ("transposition", "deletion", "substitution", "duplication")),
    *(("case", name) for name in ("lower", "upper", "title")),
    *(("spaces", name) for name in ("double-space", "no-space", "tab", "no-break-space")),
)


# -- Figures -----------------------------------------------------------------------------------


class _Cuts:
    """The tokens of short texts; those of the words themselves are asked for many times."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.encoder = tokenizer.encoder
        self.matcher = tokenizer.special_matcher("none")
        self.known: dict[str, tuple[int, frozenset[int]]] = {}

    def of(self, text: str) -> tuple[int, frozenset[int]]:
        """The number of tokens, and where they start and end, in bytes."""
        if (found := self.known.get(text)) is None:
            ids, starts, ends, _ = self.encoder.tokens(text.encode(), self.matcher)
            found = self.known[text] = len(ids), frozenset(starts).union(ends)
        return found


def _variation(cuts: _Cuts, name: str, group: str, variants: Iterable[Pieces]) -> Variation:
    words = different = kept = before = after = 0
    ratios = []
    for pieces in variants:
        old_tokens, old_cuts = cuts.of("".join(old for old, _ in pieces))
        new_tokens, new_cuts = cuts.of("".join(new for _, new in pieces))
        words += 1
        different += old_tokens != new_tokens
        if old_tokens:
            ratios.append(new_tokens / old_tokens)
        counterparts = dict(_aligned(pieces))
        own = {counterparts[place] for place in old_cuts if place in counterparts}
        others = new_cuts.intersection(counterparts.values())
        kept += len(own & others)
        before += len(own)
        after += len(others)
    no_words = "the text has no words that it changes"
    figures = {
        "changed": ratio(different, words, no_words),
        "token_ratio": mean(ratios, no_words),
        "kept": ratio(2 * kept, before + after, "neither words nor variants are cut"),
    }
    return Variation(name, group, words, figures)


def _aligned(pieces: Pieces) -> Iterator[tuple[int, int]]:
    """The offsets strictly inside the word that have a counterpart strictly inside its variant.
    The first piece is the space."""
    sizes = [(len(old.encode()), len(new.encode())) for old, new in pieces]
    old_end, new_end = (sum(size) for size in zip(*sizes, strict=True))
    old_start, new_start = sizes[0]
    old, new = 0, 0
    for (text, variant), (old_size, new_size) in zip(pieces, sizes, strict=True):
        shared = range(old_size + 1) if text == variant else ()
        for step_old, step_new in [(n, n) for n in shared] or [(0, 0), (old_size, new_size)]:
            places = old + step_old, new + step_new
            if old_start < places[0] < old_end and new_start < places[1] < new_end:
                yield places
        old, new = old + old_size, new + new_size
