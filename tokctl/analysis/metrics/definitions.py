"""What each figure of a comparison is, in words: for `--explain` and for reports.

`docs/metrics.md` says the same at length; a test holds the two together.
"""

from __future__ import annotations

import difflib
import unicodedata
from dataclasses import dataclass

from tokctl.errors import TokctlError

_RUST = "Rust et al. 2021, arXiv 2012.15613"
_ZOUHAR = "Zouhar et al. 2023, arXiv 2306.16842"


@dataclass(frozen=True)
class Definition:
    """One figure.

    Attributes:
        name: in JSON, in conditions and for `explain`.
        label: in tables.
        formula: over *T* tokens, *B* bytes, *C* characters and *W* words.
        unit: of the figure.
        better: `higher`, `lower`, or `neither` where more is no better than less.
        source: a paper or a standard; empty for a plain count or share.
        misleads: when not to trust it.
    """

    name: str
    label: str
    formula: str
    unit: str
    better: str
    source: str
    misleads: str

    def to_dict(self) -> dict[str, str]:
        return dict(vars(self))


_ALL = (
    Definition(
        "tokens",
        "tokens",
        "T",
        "tokens",
        "lower",
        "",
        "It grows with the text: compare it on the same text only. A model that drops white "
        "space, or reads much as unknown, has few tokens that carry less text.",
    ),
    Definition(
        "bytes_per_token",
        "bytes per token",
        "B / T",
        "bytes per token",
        "higher",
        "",
        "White space counts, so that a model that drops it looks better by about a byte per "
        "word. Scripts with long UTF-8 forms look better than others. A vocabulary trained on "
        "the very text compresses it beyond what it will do on any other.",
    ),
    Definition(
        "characters_per_token",
        "characters per token",
        "C / T",
        "characters per token",
        "higher",
        "",
        "White space counts, as for bytes per token. A character of Chinese says more than one "
        "of English, so that scripts do not compare.",
    ),
    Definition(
        "nsl",
        "NSL",
        "T / T of the baseline model",
        "ratio, 1 = the baseline",
        "lower",
        "Dagan et al. 2024, arXiv 2402.01035",
        "A baseline that reads half of a text as unknown needs few tokens, and makes others "
        "look long. It is taken over totals, where the paper takes the mean over examples.",
    ),
    Definition(
        "fertility",
        "fertility",
        "T / W",
        "tokens per word",
        "lower",
        f"Ács 2019; {_RUST}",
        "Scripts without spaces have no words to divide by. Words keep their punctuation unless "
        "they are those of Unicode. Unknown tokens keep it low: look at the UNK rate beside it.",
    ),
    Definition(
        "continued_words",
        "continued words",
        "words that are two tokens or more / W",
        "share, 0 to 1",
        "lower",
        _RUST,
        "As fertility. Two tokens and ten count the same.",
    ),
    Definition(
        "strr",
        "STRR",
        "words that are one token / W",
        "share, 0 to 1",
        "higher",
        "arXiv 2510.09947",
        "As fertility. A model that cuts off punctuation can't keep sea. whole, one that splits "
        "at spaces alone can. Whole words are no better where a stem would do.",
    ),
    Definition(
        "unk_rate",
        "UNK rate",
        "unknown tokens / T",
        "share, 0 to 1",
        "lower",
        "",
        "One unknown token can stand for one character or for a word of a hundred: the share of "
        "text that is lost can be far from it.",
    ),
    Definition(
        "round_trip",
        "round trip",
        "lines with decode(encode(line)) = line / lines",
        "share of lines, 0 to 1",
        "higher",
        "",
        "It says that something was lost, not how much: one double space fails a line. Models "
        "that normalize fail by design, byte-level models can't fail.",
    ),
    Definition(
        "vocabulary_use",
        "vocabulary use",
        "distinct ids used / ids that the model can emit",
        "share of ids, 0 to 1",
        "higher",
        "",
        "A short text can't use a large vocabulary. Low use on a large text means tokens that "
        "only served to build longer ones, or a text unlike that of the training.",
    ),
    Definition(
        "renyi_efficiency",
        "Rényi efficiency",
        "log2(sum of p^2.5) / (1 - 2.5) / log2 |V|",
        "share of log2 |V| bits, 0 to 1",
        "higher",
        _ZOUHAR,
        "Adding rare tokens lowers it, by |V| alone. It rose and translations got worse where "
        "Cognetta et al. 2024 (arXiv 2402.14614) made it rise on purpose. On a short text it is "
        "too low.",
    ),
    Definition(
        "shannon_efficiency",
        "Shannon efficiency",
        "(-sum of p log2 p) / log2 |V|",
        "share of log2 |V| bits, 0 to 1",
        "higher",
        f"Shannon 1948; {_ZOUHAR}",
        "As Rényi efficiency; it agreed less with the quality of translations. On a short text "
        "it is too low.",
    ),
    Definition(
        "overlap",
        "vocabulary overlap",
        "tokens of both vocabularies / tokens of either",
        "share, 0 to 1",
        "neither",
        "Jaccard 1901",
        "A vocabulary that marks the ends of words shares no token with one that marks starts. "
        "A small vocabulary can't cover a large one, even where it is a part of it.",
    ),
    Definition(
        "agreement",
        "boundary agreement",
        "2 · shared boundaries / (boundaries of one + boundaries of the other)",
        "F1, 0 to 1",
        "neither",
        "F1, van Rijsbergen 1979",
        "Two poor models can agree. A model that cuts everywhere shares every boundary that "
        "another has.",
    ),
    Definition(
        "parity",
        "parity",
        "T / T of the reference language",
        "ratio, 1 = the reference",
        "lower",
        "Petrov et al. 2023, arXiv 2305.15425",
        "Only parallel texts compare: the same lines in two languages. A translation is often "
        "longer than what it translates, and unknown tokens make a language look cheap.",
    ),
    Definition(
        "gini",
        "Gini coefficient",
        "sum of |c_i - c_j| / (2 n^2 mean of c), c_i = tokens per line of language i",
        "0 (equal) to 1 - 1/n",
        "lower",
        "Gini 1912; Foroutan et al. 2025, arXiv 2508.04796",
        "It says how unequal languages are, not how well any of them fares: a model of bytes can "
        "be fair and dear to all. It depends on which languages were taken.",
    ),
    Definition(
        "intervals",
        "95% intervals",
        "25th and 975th of the figures of 1,000 resamples, each of as many lines, drawn with "
        "replacement",
        "that of the figure",
        "neither",
        "Efron 1979; Efron and Tibshirani 1993",
        "They tell the noise of which lines were taken, as if each were drawn by itself: lines "
        "of one book resemble each other. They say nothing of other texts. A few long lines are "
        "too few.",
    ),
    Definition(
        "speed",
        "speed",
        "median of the bytes of a slice of the text / 10^6 / seconds",
        "MB per second",
        "higher",
        "",
        "It is measured on this machine, now, on words that were seen before: what else runs "
        "changes it. It is no part of what is the same in every run.",
    ),
)

#: By name: the metrics of one model in the order of the tables, then the others.
DEFINITIONS = {definition.name: definition for definition in _ALL}


def explain(name: str) -> Definition:
    """The definition of a figure, by its name or as tables label it; TokctlError where none
    is called so."""
    plain = _plain(name)
    for definition in _ALL:
        if plain in (definition.name, _plain(definition.label)):
            return definition
    close = difflib.get_close_matches(plain, DEFINITIONS, n=1)
    hint = f"did you mean {close[0]}? " if close else ""
    raise TokctlError(f"no metric is called {name!r}", f"{hint}these are: {', '.join(DEFINITIONS)}")


def _plain(name: str) -> str:
    """A label as a name: `Rényi efficiency` is `renyi_efficiency`."""
    letters = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    return "_".join(letters.lower().replace("-", " ").split())
