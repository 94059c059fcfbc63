"""Agreement of a model's boundaries inside words with a gold list of morphemes.

Words are encoded as in running text: after a space. A boundary is a byte offset strictly inside a
word at which a token starts or ends, or at which a morpheme does in the list. A boundary inside a
character counts as one of the tokens, which matches no morpheme.

**The gold list** is UTF-8 text with a word on each line: the word, a tab, its morphemes; anything
after a second tab is ignored. Two forms of the morphemes are accepted, and may be mixed:

- separated by one space: `un happi ness`. The joining mark `@@` at the beginning or the end of a
  morpheme is removed, so that `un@@ happi@@ ness` and `un @@happi @@ness` (the data of SIGMORPHON's
  shared task of 2022) are accepted as well;
- separated by `|`: `un|happi|ness`, as in MorphyNet, without spaces.

Empty lines, and lines that begin with `#` and have no tab, are ignored. A word that is listed twice
counts twice. Morphemes of a canonical segmentation may not add up to the word (`happy ness` for
`happiness`). The boundaries of such words are unknown, so the words are counted and left out.

**MorphScore** (Arnett and Bergen 2025, arXiv 2411.14198; for 70 languages Arnett, Hudspeth and
O'Connor 2025, arXiv 2507.06378) tests for each word with a morpheme boundary whether a token ends
there. Two rules for words that are one token are published, and both are given. The first version
leaves them out, so that a model is not blamed for knowing a word; the second, as its authors
recommend, counts them as 0. Both leave out words of one morpheme. MorphScore's data are dictionary
words with one boundary, or two around a stem, and its second version weights words by frequency;
here a word has any number of boundaries, and all words have equal weights.

None of these metrics ranks models: in 70 languages, this alignment explained little of how well
language models do their tasks (arXiv 2507.06378).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from tokctl._native import NO_ID
from tokctl.analysis.metrics import MetricValue, mean, ratio
from tokctl.core.errors import BadInput
from tokctl.tokenizer import Tokenizer

_FORMS = "a line is a word, a tab, and its morphemes: un happi ness, un@@ happi@@ ness, un|happi"


# -- The gold list -----------------------------------------------------------------------------


@dataclass(frozen=True)
class GoldWord:
    """A word of the gold list.

    Attributes:
        word: The word, without white space.
        morphemes: At least one morpheme; none is empty.
    """

    word: str
    morphemes: tuple[str, ...]

    @property
    def is_surface(self) -> bool:
        """Return whether the morphemes add up to the word, so that its boundaries are known."""
        return "".join(self.morphemes) == self.word

    @property
    def boundaries(self) -> frozenset[int]:
        """Return the byte offset of each morpheme but the first; valid only if `is_surface`."""
        sizes = [len(morpheme.encode()) for morpheme in self.morphemes]
        return frozenset(accumulate(sizes[:-1]))


def read_gold(path: str | Path) -> tuple[GoldWord, ...]:
    """Return the words of a gold list in the order of the file; the module describes its form.

    Raises:
        TokctlError: The file can't be read, is not UTF-8, has no words, or has a line of another
            form; the message names the line.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise BadInput(
            f"can't read {path}: {error.strerror or error}", "name a file", "unreadable"
        ) from None
    words = []
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        try:
            text = line.removesuffix(b"\r").decode()
        except UnicodeDecodeError as error:
            raise BadInput(
                f"{path}, line {number}: byte {error.start + 1} is not UTF-8",
                "convert the list to UTF-8",
                "not-utf8",
            ) from None
        if not text.strip() or (text.startswith("#") and "\t" not in text):
            continue
        try:
            words.append(_gold_word(text))
        except ValueError as error:
            raise BadInput(f"{path}, line {number}: {error}", _FORMS, "bad-record") from None
    if not words:
        raise BadInput(f"{path} has no words", _FORMS)
    return tuple(words)


def _gold_word(line: str) -> GoldWord:
    """Return the word of a line, or raise ValueError if the line has another form."""
    word, *columns = line.split("\t")
    if not columns:
        raise ValueError("it has no tab")
    segmentation = columns[0]
    if not word or any(map(str.isspace, word)):
        raise ValueError(f"{word!r} is not a word")
    if "|" in segmentation and "|" not in word:
        morphemes = segmentation.split("|")
    else:
        morphemes = [_unmarked(morpheme) for morpheme in segmentation.split(" ")]
    if any(not morpheme or any(map(str.isspace, morpheme)) for morpheme in morphemes):
        raise ValueError(f"{segmentation!r} has an empty morpheme, or white space in one")
    return GoldWord(word, tuple(morphemes))


def _unmarked(morpheme: str) -> str:
    """Return the morpheme without its joining mark; `@@` alone is a morpheme."""
    return morpheme.removeprefix("@@").removesuffix("@@") or morpheme


# -- The figures -------------------------------------------------------------------------------


@dataclass(frozen=True)
class MorphologyReport:
    """Agreement of a model with a gold list.

    Attributes:
        words: Number of words in the list.
        not_surface: Words whose morphemes do not add up to the word; they are left out of all
            metrics and of the counts below.
        one_morpheme: Words without a boundary in the list.
        one_token: Words of at least 2 morphemes that are one token.
        unknown: Words of which some part is unknown to the model.
        gold: Number of boundaries in the list.
        cut: Number of boundaries of the tokens.
        shared: Number of boundaries of both.
        figures: Values by the names of `suite_metrics.MORPHOLOGY`, in their order.
    """

    words: int
    not_surface: int
    one_morpheme: int
    one_token: int
    unknown: int
    gold: int
    cut: int
    shared: int
    figures: Mapping[str, MetricValue]


@dataclass(frozen=True)
class _Scored:
    """Scores of one word: the sizes of G, P and their intersection, and whether it is one token."""

    gold: int
    cut: int
    shared: int
    one_token: bool
    unknown: bool


def boundary_agreement(tokenizer: Tokenizer, gold: Sequence[GoldWord]) -> MorphologyReport:
    """Measure the agreement of a model's boundaries with a gold list, in one pass over its words.

    A word that becomes the unknown token counts as one token; `unknown` counts words of which some
    part is unknown.

    Args:
        tokenizer: The model.
        gold: Words from `read_gold`.

    Example:
        boundary_agreement(tok, read_gold("gold.tsv")).figures["f1"]
    """
    surface = [word for word in gold if word.is_surface]
    scored = list(_scored(tokenizer, surface))
    complex_ = [word for word in scored if word.gold]
    several = [word for word in complex_ if not word.one_token]
    total_gold = sum(word.gold for word in scored)
    total_cut = sum(word.cut for word in scored)
    shared = sum(word.shared for word in scored)
    none_gold = "no word of the list has a boundary"
    none_cut = "the model cuts no word of the list"
    none_several = "no word of two morphemes or more is two tokens or more"
    figures: dict[str, MetricValue] = {
        "precision": ratio(shared, total_cut, none_cut),
        "recall": ratio(shared, total_gold, none_gold),
        "f1": ratio(2 * shared, total_gold + total_cut, f"{none_gold}, and {none_cut}"),
        "macro_precision": mean([_precision(word) for word in scored if word.cut], none_cut),
        "macro_recall": mean([word.shared / word.gold for word in complex_], none_gold),
        "macro_f1": mean(
            [2 * word.shared / (word.gold + word.cut) for word in scored if word.gold + word.cut],
            f"{none_gold}, and {none_cut}",
        ),
        "all_cut": ratio(
            sum(word.shared == word.gold for word in complex_), len(complex_), none_gold
        ),
        "morphscore_recall": mean([word.shared / word.gold for word in several], none_several),
        "morphscore_precision": mean([_precision(word) for word in several], none_several),
        "morphscore_recall_all": mean(
            [0.0 if word.one_token else word.shared / word.gold for word in complex_], none_gold
        ),
        "morphscore_precision_all": mean(
            [0.0 if word.one_token else _precision(word) for word in complex_], none_gold
        ),
    }
    return MorphologyReport(
        words=len(gold),
        not_surface=len(gold) - len(surface),
        one_morpheme=len(scored) - len(complex_),
        one_token=len(complex_) - len(several),
        unknown=sum(word.unknown for word in scored),
        gold=total_gold,
        cut=total_cut,
        shared=shared,
        figures=figures,
    )


def _scored(tokenizer: Tokenizer, words: Sequence[GoldWord]) -> Iterator[_Scored]:
    """Yield the scores of each word."""
    matcher = tokenizer.special_matcher("none")
    unknown_ids = {NO_ID, tokenizer.unk_id}
    for word in words:
        data = b" " + word.word.encode()
        ids, starts, ends, _ = tokenizer.encoder.tokens(data, matcher)
        # Skip tokens that cover only the space, or nothing (a marker that is a token).
        covering = [
            (start, end) for start, end in zip(starts, ends, strict=True) if max(start, 1) < end
        ]
        cut = {offset - 1 for span in covering for offset in span if 1 < offset < len(data)}
        boundaries = word.boundaries
        yield _Scored(
            len(boundaries),
            len(cut),
            len(boundaries & cut),
            # Several tokens of one character, without a boundary inside the word, count as one
            # token.
            not cut,
            not unknown_ids.isdisjoint(ids),
        )


def _precision(word: _Scored) -> float:
    """Return the share of a word's token boundaries that are in the list; 0 without any."""
    return word.shared / word.cut if word.cut else 0.0
