"""How well a model's cuts inside words agree with a gold list of morphemes.

Words are encoded as words in running text: after a space. A boundary is a byte offset strictly
inside a word at which a token starts or ends, or a morpheme does in the list. So a cut inside a
character is one of the tokens', and no morpheme's.

**The gold list** is UTF-8 text with a word on each line: the word, a tab, its morphemes; what
follows a second tab is not read. Two forms of the morphemes are read, and may be mixed:

- separated by one space: `un happi ness`. The joining mark `@@` at the beginning or the end of a
  morpheme is taken off, so that `un@@ happi@@ ness` and `un @@happi @@ness` (the data of
  SIGMORPHON's shared task of 2022) are read as well;
- separated by `|`: `un|happi|ness`, as in MorphyNet. Spaces beside it have no place there.

Empty lines, and lines that begin with `#` and have no tab, are passed over. A word that is there
twice counts twice. Morphemes of a canonical segmentation may not add up to the word
(`happy ness` for `happiness`): where its boundaries lie is then unknown, and such words are
counted and left out.

**MorphScore** (Arnett and Bergen 2025, arXiv 2411.14198; for 70 languages Arnett, Hudspeth and
O'Connor 2025, arXiv 2507.06378) asks of each word with a morpheme boundary whether a token ends
there. Two rules for words that are one token are published, and both are given: the first version
leaves them out, so that a model is not blamed for knowing a word; the second, as its authors
recommend it, counts them as 0. Words of one morpheme are left out of both. Its data are dictionary
words with one boundary, or two around a stem, and its second version weights words by frequency;
here a word has any number of boundaries, and all words weigh the same.

No figure of these ranks models: in 70 languages, such alignment explained little of how well
language models do their tasks (arXiv 2507.06378).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from tokctl._native import NO_ID
from tokctl.analysis.metrics import Definition, Figure, mean, ratio
from tokctl.errors import TokctlError
from tokctl.tokenizer import Tokenizer

_FORMS = "a line is a word, a tab, and its morphemes: un happi ness, un@@ happi@@ ness, un|happi"


# -- The gold list -----------------------------------------------------------------------------


@dataclass(frozen=True)
class GoldWord:
    """A word of the gold list.

    Attributes:
        word: without white space.
        morphemes: at least one, none of them empty.
    """

    word: str
    morphemes: tuple[str, ...]

    @property
    def is_surface(self) -> bool:
        """Do the morphemes add up to the word, so that it is known where its boundaries lie?"""
        return "".join(self.morphemes) == self.word

    @property
    def boundaries(self) -> frozenset[int]:
        """The bytes of UTF-8 before each morpheme but the first, where `is_surface`."""
        sizes = [len(morpheme.encode()) for morpheme in self.morphemes]
        return frozenset(accumulate(sizes[:-1]))


def read_gold(path: str | Path) -> tuple[GoldWord, ...]:
    """The words of a gold list, in the order of the file; the module says what is read.

    Raises:
        TokctlError: the file can't be read, is not UTF-8, has no words, or a line is of another
            form; the message names the line.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise TokctlError(f"can't read {path}: {error.strerror or error}", "name a file") from None
    words = []
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        try:
            text = line.removesuffix(b"\r").decode()
        except UnicodeDecodeError as error:
            raise TokctlError(
                f"{path}, line {number}: byte {error.start + 1} is not UTF-8",
                "convert the list to UTF-8",
            ) from None
        if not text.strip() or (text.startswith("#") and "\t" not in text):
            continue
        try:
            words.append(_gold_word(text))
        except ValueError as error:
            raise TokctlError(f"{path}, line {number}: {error}", _FORMS) from None
    if not words:
        raise TokctlError(f"{path} has no words", _FORMS)
    return tuple(words)


def _gold_word(line: str) -> GoldWord:
    """ValueError if it is of no form."""
    word, *columns = line.split("\t")
    if not columns:
        raise ValueError("it has no tab")
    segmentation = columns[0]
    if not word or any(map(str.isspace, word)):
        raise ValueError(f"{word!r} is no word")
    if "|" in segmentation and "|" not in word:
        morphemes = segmentation.split("|")
    else:
        morphemes = [_unmarked(morpheme) for morpheme in segmentation.split(" ")]
    if any(not morpheme or any(map(str.isspace, morpheme)) for morpheme in morphemes):
        raise ValueError(f"{segmentation!r} has an empty morpheme, or white space in one")
    return GoldWord(word, tuple(morphemes))


def _unmarked(morpheme: str) -> str:
    """Without its joining mark; `@@` alone is a morpheme."""
    return morpheme.removeprefix("@@").removesuffix("@@") or morpheme


# -- The figures -------------------------------------------------------------------------------

_ARNETT = "Arnett and Bergen 2025, arXiv 2411.14198"
_HUDSPETH = "Arnett et al. 2025, arXiv 2507.06378"
_SHARE = "share, 0 to 1"
_RECALL_MISLEADS = (
    "A model that cuts at every byte has 1. Where a word's morphemes begin is partly a "
    "convention, so the same cuts score differently on another list."
)

#: G gold boundaries, P boundaries of the tokens, G∩P those of both; per word: the mean over words.
DEFINITIONS = (
    Definition(
        "precision",
        "boundary precision",
        "|G∩P| / |P|, over all words",
        _SHARE,
        "neither",
        "",
        "A model that cuts nothing has no figure. Cuts in words of one morpheme, such as names "
        "and loan words, count against the model.",
    ),
    Definition(
        "recall",
        "boundary recall",
        "|G∩P| / |G|, over all words",
        _SHARE,
        "neither",
        "",
        _RECALL_MISLEADS + " A word that is one token has recall 0, although that does a language "
        "model no harm.",
    ),
    Definition(
        "f1",
        "boundary F1",
        "2 |G∩P| / (|G| + |P|), over all words",
        _SHARE,
        "neither",
        "F1, van Rijsbergen 1979",
        "As for precision and recall. A large vocabulary with many whole words has a low F1.",
    ),
    Definition(
        "macro_precision",
        "boundary precision per word",
        "mean of |G∩P| / |P| over words that are cut",
        _SHARE,
        "neither",
        "",
        "Words that are not cut are left out, and these differ from model to model.",
    ),
    Definition(
        "macro_recall",
        "boundary recall per word",
        "mean of |G∩P| / |G| over words of two morphemes or more",
        _SHARE,
        "neither",
        "",
        _RECALL_MISLEADS,
    ),
    Definition(
        "macro_f1",
        "boundary F1 per word",
        "mean of 2 |G∩P| / (|G| + |P|) over words that are cut or have two morphemes or more",
        _SHARE,
        "neither",
        "F1, van Rijsbergen 1979",
        "As for precision and recall per word.",
    ),
    Definition(
        "all_cut",
        "words with all boundaries cut",
        "words with G ⊆ P / words of two morphemes or more",
        _SHARE,
        "neither",
        "",
        "Additional cuts do not lower it: a model that cuts at every byte has 1.",
    ),
    Definition(
        "morphscore_recall",
        "MorphScore recall",
        "mean of |G∩P| / |G| over words of two morphemes or more that are two tokens or more",
        _SHARE,
        "neither",
        f"{_ARNETT}; {_HUDSPETH}",
        "Words of one token are left out, and these differ from model to model: a large "
        "vocabulary is measured only on its rare words. " + _RECALL_MISLEADS,
    ),
    Definition(
        "morphscore_precision",
        "MorphScore precision",
        "mean of |G∩P| / |P| over words of two morphemes or more that are two tokens or more",
        _SHARE,
        "neither",
        _HUDSPETH,
        "Words of one token are left out, as for its recall. A rare stem of three tokens lowers "
        "it, although no morpheme boundary is missed.",
    ),
    Definition(
        "morphscore_recall_all",
        "MorphScore recall, one-token words 0",
        "mean of |G∩P| / |G| over words of two morphemes or more; 0 for a word of one token",
        _SHARE,
        "neither",
        _HUDSPETH,
        "A model is penalized for words that are one token, so larger vocabularies have lower "
        "figures.",
    ),
    Definition(
        "morphscore_precision_all",
        "MorphScore precision, one-token words 0",
        "mean of |G∩P| / |P| over words of two morphemes or more; 0 for a word of one token",
        _SHARE,
        "neither",
        _HUDSPETH,
        "As for its recall with one-token words as 0.",
    ),
)


@dataclass(frozen=True)
class MorphologyReport:
    """A model on a gold list.

    Attributes:
        words: of the list.
        not_surface: of them, those whose morphemes do not add up to the word: left out of all
            figures, and of the counts that follow.
        one_morpheme: words without a boundary in the list.
        one_token: words of two morphemes or more that are one token.
        unknown: words in which something is unknown to the model.
        gold, cut, shared: boundaries of the list, of the tokens, of both.
        figures: by the names of `DEFINITIONS`, in their order.
    """

    words: int
    not_surface: int
    one_morpheme: int
    one_token: int
    unknown: int
    gold: int
    cut: int
    shared: int
    figures: Mapping[str, Figure]


@dataclass(frozen=True)
class _Scored:
    """One word: sizes of G, P and their intersection, and whether it is one token."""

    gold: int
    cut: int
    shared: int
    one_token: bool
    unknown: bool


def boundary_agreement(tokenizer: Tokenizer, gold: Sequence[GoldWord]) -> MorphologyReport:
    """How well a model's cuts agree with a gold list, in one pass over its words.

    A word that a model does not know is one token if it became one; `unknown` counts such words.
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
    figures: dict[str, Figure] = {
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
    matcher = tokenizer.special_matcher("none")
    unknown_ids = {NO_ID, tokenizer.unk_id}
    for word in words:
        data = b" " + word.word.encode()
        ids, starts, ends, _ = tokenizer.encoder.tokens(data, matcher)
        # What covers the space alone, or nothing (a marker that is a token), is no part of a word.
        covering = [
            (start, end) for start, end in zip(starts, ends, strict=True) if max(start, 1) < end
        ]
        cut = {place - 1 for span in covering for place in span if 1 < place < len(data)}
        boundaries = word.boundaries
        yield _Scored(
            len(boundaries),
            len(cut),
            len(boundaries & cut),
            # Tokens that cover the same character leave a word in one piece.
            not cut,
            not unknown_ids.isdisjoint(ids),
        )


def _precision(word: _Scored) -> float:
    return word.shared / word.cut if word.cut else 0.0
