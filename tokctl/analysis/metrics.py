"""Metrics of a model on a text, each a function of counts.

`METRICS` lists the metrics with one value per model, in the order of the tables, each with its
definition in words. `DEFINITIONS` adds the values for two models and for languages.
`docs/metrics.md` explains the same definitions at length; a test keeps the two in step.
"""

from __future__ import annotations

import difflib
import math
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, fields

from tokctl.core.errors import BadOption
from tokctl.model import Model, Recipe
from tokctl.model.byte_level import BYTE_TOKENS
from tokctl.model.parts import is_lossless

# -- Metric values and the counts behind them --------------------------------------------------


@dataclass(frozen=True)
class Undefined:
    """Undefined value of a metric that has no meaning for a text or a model, with the reason."""

    reason: str


MetricValue = float | Undefined


def ratio(above: float, below: float, reason: str) -> MetricValue:
    """Return above / below, or Absent with the reason if `below` is 0."""
    return above / below if below else Undefined(reason)


def mean(values: Sequence[float], reason: str) -> MetricValue:
    """Return the mean of the values, or Absent with the reason if there are none."""
    return ratio(math.fsum(values), len(values), reason)


@dataclass(frozen=True)
class Counts:
    r"""Counts of a model on a text; all of them can be added over texts.

    Attributes:
        bytes: Bytes of the text.
        characters: Characters of the text; a byte that is not UTF-8 is a character.
        spaces: White space characters, including line ends.
        words: Words by the rule `word_rule`.
        whole_words: Words that are one token, and not the unknown one.
        split_words: Words that are at least 2 tokens.
        tokens: All tokens, including unknown ones.
        unknown: Unknown tokens; for a model without an unknown token, characters without an id,
            including those that the model drops.
        lines: Lines that end with `\n`, plus the rest after the last one, if any.
        exact_lines: Lines with decode(encode(line)) = line.
        id_counts: Number of occurrences of each id that occurs. Tokens without an id are not in it.
        word_rule: A name of `WORD_RULES`; None if nothing was counted yet.
    """

    bytes: int
    characters: int
    spaces: int
    words: int
    whole_words: int
    split_words: int
    tokens: int
    unknown: int
    lines: int
    exact_lines: int
    id_counts: Mapping[int, int] = field(hash=False)
    word_rule: str | None = None

    @classmethod
    def of(cls, sums: Sequence[int], id_counts: Mapping[int, int], word_rule: str | None) -> Counts:
        """Create counts from numbers in the order of the attributes, `bytes` to `exact_lines`."""
        named = dict(zip(_SUMS, sums, strict=True))
        return cls(**named, id_counts=id_counts, word_rule=word_rule)

    @classmethod
    def total(cls, counts: Iterable[Counts]) -> Counts:
        """Return the sum of any number of counts, in time linear in their sizes.

        Raises:
            ValueError: Words were counted by different rules.
        """
        sums = dict.fromkeys(_SUMS, 0)
        ids: dict[int, int] = {}
        rules: set[str | None] = set()
        for one in counts:
            rules.add(one.word_rule)
            for name in _SUMS:
                sums[name] += getattr(one, name)
            for id_, count in one.id_counts.items():
                ids[id_] = ids.get(id_, 0) + count
        rules.discard(None)
        if len(rules) > 1:
            raise ValueError("words by different rules do not add up")
        return cls(**sums, id_counts=ids, word_rule=rules.pop() if rules else None)

    def __add__(self, other: Counts) -> Counts:
        return Counts.total((self, other))


#: Names of the counts that are one number.
_SUMS = [entry.name for entry in fields(Counts) if entry.type == "int"]
#: Zero, to which the counts of texts are added.
NOTHING = Counts(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {})
_BYTES = frozenset(bytes([byte]) for byte in range(256))


@dataclass(frozen=True)
class Range:
    """Properties of a model that bound its output for ordinary text.

    Attributes:
        reads_everything: Whether every byte has a token, so that nothing is ever unknown.
        emittable: Number of ids that encoding can give: all ids except special tokens, plus the
            unknown token's if something can be unknown.
    """

    reads_everything: bool
    emittable: int


def range_of(model: Model) -> Range:
    """Return the `Range` of a model."""
    recipe = model.recipe
    everything = False
    if recipe.is_byte_level:
        reserved = model.reserved_ids
        everything = _BYTES.issubset(
            token for id_, token in enumerate(model.tokens) if id_ not in reserved
        )
    elif recipe.byte_fallback:
        everything = BYTE_TOKENS.keys() <= set(model.tokens)
    unknown = recipe.unk_token is not None and not everything
    return Range(everything, len(model.tokens) - len(model.special_ids) + unknown)


# -- Compression: how much text one token carries ----------------------------------------------

_NO_TOKENS = "the text has no tokens"


def bytes_per_token(size: int, tokens: int) -> MetricValue:
    """Return B / T: bytes of the text, including white space, per token."""
    return ratio(size, tokens, _NO_TOKENS)


def characters_per_token(characters: int, tokens: int) -> MetricValue:
    """Return C / T: characters of the text, including white space, per token."""
    return ratio(characters, tokens, _NO_TOKENS)


def nsl(tokens: int, baseline_tokens: int) -> MetricValue:
    """Return the normalized sequence length: T / T of the baseline model on the same text.

    Dagan, Synnaeve and Rozière (2024), arXiv 2402.01035. Computed from totals; the paper takes the
    mean over examples.
    """
    return ratio(tokens, baseline_tokens, "the baseline makes no tokens of the text")


# -- Words -------------------------------------------------------------------------------------

# A word is a match of `\S+`, or a word of UAX #29.
#
# By the rule `spaces`, a word is a maximal run of characters that are not white space. In a text
# with hardly any spaces (Chinese, Thai, DNA), such runs are not words, so the metrics of words are
# undefined.
#
# By the rule `unicode`, a word lies between two word boundaries of Unicode Standard Annex #29 (its
# default rules) and contains an alphanumeric character: one with the property Alphabetic, or of the
# general categories Nd, Nl, No. These words need no spaces, so the metrics are always defined; but
# Han, Hiragana and Thai are cut at every character.

#: Rules that define a word.
WORD_RULES = ("spaces", "unicode")
#: A text with fewer than one space per 20 characters has no meaningful words.
CHARACTERS_PER_SPACE = 20


def no_words(counts: Counts) -> Undefined | None:
    """Return why a text has no words to measure, or None if it has some.

    A run of white space counts as one space, so that indentation does not count as words.
    """
    separators = min(counts.spaces, counts.words)
    solid = counts.characters - counts.spaces + separators
    if counts.word_rule != "unicode" and solid > CHARACTERS_PER_SPACE * separators:
        return Undefined(f"the text has fewer than one space per {CHARACTERS_PER_SPACE} characters")
    return None if counts.words else Undefined("the text has no words")


def fertility(counts: Counts) -> MetricValue:
    """Return T / W: tokens per word, computed from totals.

    Ács (2019), "Exploring BERT's vocabulary"; Rust et al. (2021), arXiv 2012.15613.
    """
    return no_words(counts) or ratio(counts.tokens, counts.words, "")


def continued_words(counts: Counts) -> MetricValue:
    """Return the share of words that are at least 2 tokens: Rust et al. (2021)."""
    return no_words(counts) or ratio(counts.split_words, counts.words, "")


def strr(counts: Counts) -> MetricValue:
    """Return the single token retention rate: words encoded as one token, over words.

    arXiv 2510.09947. A word that became the unknown token was not retained.
    """
    return no_words(counts) or ratio(counts.whole_words, counts.words, "")


# -- Losses ------------------------------------------------------------------------------------


def unk_rate(unknown: int, tokens: int, *, reads_everything: bool) -> MetricValue:
    """Return unknown tokens over tokens.

    A model without an unknown token may leave characters without an id, or drop them: these
    characters are counted instead.

    Args:
        unknown: Number of unknown tokens, or of characters without an id.
        tokens: Number of tokens.
        reads_everything: Whether nothing can be unknown, as for a byte-level model, or one in which
            all bytes have fallback tokens.
    """
    if reads_everything:
        return Undefined("nothing is unknown to this model: every byte has a token")
    return ratio(unknown, tokens, "the text has no tokens")


def round_trip(exact_lines: int, lines: int) -> MetricValue:
    r"""Return the share of lines with decode(encode(line)) = line, byte for byte.

    Lines are taken without their `\n`; empty ones count, too.
    """
    return ratio(exact_lines, lines, "the text has no lines")


# -- Use of the vocabulary ---------------------------------------------------------------------


def vocabulary_use(used: int, emittable_ids: int) -> MetricValue:
    """Return distinct ids used / ids that the model can emit (see `Range`)."""
    return ratio(used, emittable_ids, "the model can emit no id")


#: Order of the Rényi entropy that correlated best with translation quality: Zouhar et al. (2023).
RENYI_ORDER = 2.5


def entropy(counts: Iterable[int], order: float) -> MetricValue:
    """Return the Rényi entropy of the distribution p of ids, in bits; for order 1, Shannon's.

    log2(sum p^a) / (1 - a) for an order a other than 1, and -sum p log2 p for order 1: Rényi
    (1961). The sums are rounded once, so that the order of the counts does not matter.

    Args:
        counts: Number of occurrences of each id.
        order: Order of the entropy, above 0.
    """
    seen = [count for count in counts if count]
    total = sum(seen)
    if not total:
        return Undefined("the text has no tokens with an id")
    if len(seen) == 1:
        return 0.0
    if order == 1:
        return -math.fsum(count / total * math.log2(count / total) for count in seen)
    return math.log2(math.fsum((count / total) ** order for count in seen)) / (1 - order)


def efficiency(counts: Iterable[int], vocabulary: int, order: float) -> MetricValue:
    """Return the Rényi entropy over log2 |V|, the entropy of equally frequent ids.

    Zouhar et al. (2023), "Tokenization and the Noiseless Channel", arXiv 2306.16842; V is the set
    of ids that the model can emit.

    Args:
        counts: Number of occurrences of each id.
        vocabulary: |V|, at least the number of distinct ids that occur.
        order: Order of the entropy, above 0.
    """
    bits = entropy(counts, order)
    if isinstance(bits, Undefined):
        return bits
    if vocabulary < 2:
        return Undefined("the model can emit one id alone: there is nothing to choose")
    # Rounding could lift a uniform distribution above 1.
    return min(1.0, bits / math.log2(vocabulary))


def renyi_efficiency(counts: Iterable[int], vocabulary: int) -> MetricValue:
    """Return `efficiency` of order 2.5, which weighs frequent ids more than rare ones."""
    return efficiency(counts, vocabulary, RENYI_ORDER)


def shannon_efficiency(counts: Iterable[int], vocabulary: int) -> MetricValue:
    """Return `efficiency` of order 1."""
    return efficiency(counts, vocabulary, 1)


# -- Languages: texts that are parallel line by line -------------------------------------------


def parity(tokens: int, reference_tokens: int) -> MetricValue:
    """Return T of a language / T of the reference language, on parallel texts.

    Petrov, La Malfa, Torr and Bibi (2023), arXiv 2305.15425. Computed from totals; the paper takes
    the mean over sentences.
    """
    return ratio(tokens, reference_tokens, "the text of the reference language has no tokens")


def tokens_per_line(tokens: int, lines: int) -> MetricValue:
    """Return T / lines: the cost of a line in a language."""
    return ratio(tokens, lines, "the text has no lines")


def gini(costs: Sequence[MetricValue]) -> MetricValue:
    """Return the Gini coefficient of the costs per line: sum |c_i - c_j| / (2 n^2 mean).

    0 if all costs are equal; (n - 1) / n if only one is above 0. Gini (1912); of tokens per line in
    Foroutan et al. (2025), arXiv 2508.04796. In sorted order the sum over pairs is 2 * sum (2 i - n
    - 1) c_i with i from 1, which takes n log n steps.

    Args:
        costs: Tokens per line of each language, not negative.
    """
    known = []
    for cost in costs:
        if isinstance(cost, Undefined):
            return cost
        known.append(cost)
    count = len(known)
    if count < 2:
        return Undefined("there are no two languages to compare")
    known.sort()
    spread = math.fsum((2 * place - count - 1) * cost for place, cost in enumerate(known, 1))
    # For equal costs, rounding can leave a small rest, positive or negative.
    return ratio(max(0.0, spread), count * math.fsum(known), "the texts have no tokens")


# -- Two models: shared vocabulary, shared boundaries ------------------------------------------

#: (kind, bytes): the bytes without marker or leading space, and their position in a word: `start`,
#: `inside` (after the start), `end`, `open` (before the end, in a vocabulary that marks ends), or
#: `any` (the vocabulary does not say).
Canonical = tuple[str, bytes]


def canonical(recipe: Recipe, token: bytes) -> Canonical:
    """Return the canonical form of an ordinary token, however the vocabulary marks words.

    | in the vocabulary | canonical |
    |---|---|
    | a leading space (byte-level `Ġthe`), where pre-tokens keep their spaces | start, the |
    | no leading space there (`the`) | inside, the |
    | a start marker, or a space that is written so (`Ġthe`, `▁the`) | start, the |
    | no start marker, in a vocabulary that has one (`the`) | inside, the |
    | no continuation marker, in a vocabulary that has one (`the`) | start, the |
    | a continuation marker (`##the`) | inside, the |
    | an end marker (`the</w>`) | end, the |
    | no end marker, in a vocabulary that has one (`the`) | open, the |
    | a whole word, in a word model without spaces (`the`) | start, the |
    | another vocabulary without markers or spaces (`the`) | any, the |

    A space or a marker that is a token of its own has no bytes left: (start, b"").
    """
    mark = recipe.marker.text.encode()
    if recipe.marker.is_continuation:
        return ("inside", token[len(mark) :]) if token.startswith(mark) else ("start", token)
    if recipe.marker.starts_words:
        return ("start", token[len(mark) :]) if token.startswith(mark) else ("inside", token)
    if recipe.marker.ends_words:
        return ("end", token[: -len(mark)]) if token.endswith(mark) else ("open", token)
    if space := recipe.space_mark:
        mark = space.encode()
        return ("start", token[len(mark) :]) if token.startswith(mark) else ("inside", token)
    if all(map(is_lossless, recipe.pre_tokenizers)):
        return ("start", token[1:]) if token.startswith(b" ") else ("inside", token)
    return ("start" if recipe.traits.token_place == "whole word" else "any"), token


def canonical_vocabulary(model: Model) -> frozenset[Canonical]:
    """Return the canonical forms of a model's tokens.

    Special and added tokens are left out, and so are the byte tokens of a byte fallback, which are
    not text by themselves.
    """
    reserved = model.reserved_ids
    if model.recipe.byte_fallback:
        reserved = reserved | {
            id_ for id_, token in enumerate(model.tokens) if token in BYTE_TOKENS
        }
    ordinary = (token for id_, token in enumerate(model.tokens) if id_ not in reserved)
    return frozenset(canonical(model.recipe, token) for token in ordinary)


def jaccard(first: Set[Canonical], second: Set[Canonical]) -> MetricValue:
    """Return the Jaccard index: size of the intersection over size of the union."""
    shared = len(first & second)
    return ratio(shared, len(first) + len(second) - shared, "both vocabularies are empty")


def boundary_f1(shared: int, first: int, second: int) -> MetricValue:
    """Return the symmetric F1 of two sets of boundaries: 2 |A and B| / (|A| + |B|).

    A boundary is a byte offset at which a token starts or ends. Only internal boundaries count:
    those strictly inside a word, here always a maximal run of characters that are not white space.
    All models cut at the edges of words, and their treatment of spaces does not matter. The native
    `Measured` holds the boundaries as bits.

    Args:
        shared: Size of the intersection.
        first: Size of the first set.
        second: Size of the second set.
    """
    if not first + second:
        return Undefined("neither model cuts a word")
    return 2 * shared / (first + second)


# -- Definitions -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Definition:
    """Definition of one metric.

    Attributes:
        name: Name in JSON, in conditions and for `explain`.
        label: Label in tables.
        formula: Formula over *T* tokens, *B* bytes, *C* characters and *W* words.
        unit: Unit of the value.
        better: `higher`, `lower`, or `neither` if neither direction is better.
        source: A paper or a standard; empty for a plain count or share.
        misleads: Cases in which the value is misleading.
    """

    name: str
    label: str
    formula: str
    unit: str
    better: str
    source: str
    misleads: str

    def to_dict(self) -> dict[str, str]:
        """Return the definition as JSON data."""
        return {entry.name: getattr(self, entry.name) for entry in fields(Definition)}


#: Number formats by the kind of value.
_FORMATS = {
    "count": ",.0f",
    "ratio": ",.3f",
    "share": ".4f",
    "index": ".4f",
    "speed": ",.1f",
    "score": ".4f",
    "decimal": ".4g",
    "scientific": ".3e",
}


def written(figure: MetricValue, kind: str) -> str:
    """Return a value as text; a share is shown as 0 or 1 only if it is exactly that.

    Args:
        figure: The value of a metric.
        kind: Kind of a metric, or `index` (two models), `speed` (MB per second), `score` (a log
            probability), `decimal` or `scientific`.
    """
    if isinstance(figure, Undefined):
        return "n/a"
    if kind == "share" and 0 < figure < 0.0001:
        return "<0.0001"
    if kind == "share" and 0.9999 < figure < 1:
        return ">0.9999"
    return format(figure, _FORMATS[kind])


@dataclass(frozen=True)
class Metric(Definition):
    """A metric with one value per model.

    Attributes:
        kind: `count`, `ratio`, or `share` (0 to 1).
        figure: Computes the value from the model's `Range`, its counts, and the baseline's counts
            on the same text.
        adds_up: Whether the value is a sum over lines or a ratio of two sums, so that it can be
            resampled.
        like: Name of the headline metric that measures the same property; empty for the headline
            metrics themselves.
    """

    kind: str
    figure: Callable[[Range, Counts, Counts], MetricValue]
    adds_up: bool = True
    like: str = ""

    @property
    def higher_is_better(self) -> bool:
        """Return whether a higher value is better."""
        return self.better == "higher"

    def written(self, figure: MetricValue) -> str:
        """Return the value as text."""
        return written(figure, self.kind)


_RUST = "Rust et al. 2021, arXiv 2012.15613"
_ZOUHAR = "Zouhar et al. 2023, arXiv 2306.16842"

METRICS = (
    Metric(
        "tokens",
        "tokens",
        "T",
        "tokens",
        "lower",
        "",
        "It grows with the text, so compare it only on the same text. A model that drops white "
        "space, or has many unknown tokens, needs fewer tokens but keeps less of the text.",
        "count",
        lambda _r, n, _b: n.tokens,
    ),
    Metric(
        "bytes_per_token",
        "bytes per token",
        "B / T",
        "bytes per token",
        "higher",
        "",
        "White space counts, so a model that drops it looks better by about a byte per word. "
        "Scripts with long UTF-8 forms look better than others. A vocabulary compresses the text "
        "that it was trained on better than any other.",
        "ratio",
        lambda _r, n, _b: bytes_per_token(n.bytes, n.tokens),
        like="tokens",
    ),
    Metric(
        "characters_per_token",
        "characters per token",
        "C / T",
        "characters per token",
        "higher",
        "",
        "White space counts, as for bytes per token. A Chinese character carries more than an "
        "English one, so different scripts can't be compared.",
        "ratio",
        lambda _r, n, _b: characters_per_token(n.characters, n.tokens),
        like="tokens",
    ),
    Metric(
        "nsl",
        "NSL",
        "T / T of the baseline model",
        "ratio, 1 = the baseline",
        "lower",
        "Dagan et al. 2024, arXiv 2402.01035",
        "A baseline to which half of a text is unknown needs few tokens, and makes other models "
        "look worse. It is computed from totals; the paper takes the mean over examples.",
        "ratio",
        lambda _r, n, b: nsl(n.tokens, b.tokens),
        like="tokens",
    ),
    Metric(
        "fertility",
        "fertility",
        "T / W",
        "tokens per word",
        "lower",
        f"Ács 2019; {_RUST}",
        "Scripts without spaces have no words to divide by. Words include their punctuation, "
        "unless you choose Unicode words. Unknown tokens keep it low, so look at the UNK rate "
        "as well.",
        "ratio",
        lambda _r, n, _b: fertility(n),
        like="tokens",
    ),
    Metric(
        "continued_words",
        "continued words",
        "words that are two tokens or more / W",
        "share, 0 to 1",
        "lower",
        _RUST,
        "As for fertility. A word of two tokens and one of ten count the same.",
        "share",
        lambda _r, n, _b: continued_words(n),
        like="strr",
    ),
    Metric(
        "strr",
        "STRR",
        "words that are one token / W",
        "share, 0 to 1",
        "higher",
        "arXiv 2510.09947",
        "As for fertility. A model that splits off punctuation can't keep sea. whole; one that "
        "splits only at spaces can. Whole words are not always better than a stem and a suffix.",
        "share",
        lambda _r, n, _b: strr(n),
    ),
    Metric(
        "unk_rate",
        "UNK rate",
        "unknown tokens / T",
        "share, 0 to 1",
        "lower",
        "",
        "One unknown token can replace one character or a word of a hundred, so the share of text "
        "that is lost can be very different.",
        "share",
        lambda r, n, _b: unk_rate(n.unknown, n.tokens, reads_everything=r.reads_everything),
        like="round_trip",
    ),
    Metric(
        "round_trip",
        "round trip",
        "lines with decode(encode(line)) = line / lines",
        "share of lines, 0 to 1",
        "higher",
        "",
        "It says that something was lost, but not how much: a line fails because of one double "
        "space. Models that normalize fail by design; byte-level models can't fail.",
        "share",
        lambda _r, n, _b: round_trip(n.exact_lines, n.lines),
    ),
    Metric(
        "vocabulary_use",
        "vocabulary use",
        "distinct ids used / ids that the model can emit",
        "share of ids, 0 to 1",
        "higher",
        "",
        "A short text can't use a large vocabulary. Low use on a large text means that many tokens "
        "only served to build longer ones, or that the text differs from the training text.",
        "share",
        lambda r, n, _b: vocabulary_use(len(n.id_counts), r.emittable),
        adds_up=False,
    ),
    Metric(
        "renyi_efficiency",
        "Rényi efficiency",
        "log2(sum of p^2.5) / (1 - 2.5) / log2 |V|",
        "share of log2 |V| bits, 0 to 1",
        "higher",
        _ZOUHAR,
        "Adding rare tokens lowers it, because |V| grows. Cognetta et al. 2024 (arXiv 2402.14614) "
        "raised it on purpose, and translations got worse. On a short text it is too low.",
        "share",
        lambda r, n, _b: renyi_efficiency(n.id_counts.values(), r.emittable),
        adds_up=False,
    ),
    Metric(
        "shannon_efficiency",
        "Shannon efficiency",
        "(-sum of p log2 p) / log2 |V|",
        "share of log2 |V| bits, 0 to 1",
        "higher",
        f"Shannon 1948; {_ZOUHAR}",
        "As for Rényi efficiency, but it agreed less with the quality of translations. On a short "
        "text it is too low.",
        "share",
        lambda r, n, _b: shannon_efficiency(n.id_counts.values(), r.emittable),
        adds_up=False,
        like="renyi_efficiency",
    ),
)

#: The metrics that measure different properties, and the others, which measure the same property as
#: one of these in another way.
HEADLINE = tuple(metric for metric in METRICS if not metric.like)
OTHER_WAYS = tuple(other for one in HEADLINE for other in METRICS if other.like == one.name)

_OTHERS = (
    Definition(
        "overlap",
        "vocabulary overlap",
        "tokens of both vocabularies / tokens of either",
        "share, 0 to 1",
        "neither",
        "Jaccard 1901",
        "A vocabulary that marks the ends of words shares no token with one that marks the starts. "
        "A small vocabulary can't cover a large one, even if it is a part of it.",
    ),
    Definition(
        "agreement",
        "boundary agreement",
        "2 · shared boundaries / (boundaries of one + boundaries of the other)",
        "F1, 0 to 1",
        "neither",
        "F1, van Rijsbergen 1979",
        "Two poor models can agree. A model that splits everywhere shares every boundary of any "
        "other model.",
    ),
    Definition(
        "parity",
        "parity",
        "T / T of the reference language",
        "ratio, 1 = the reference",
        "lower",
        "Petrov et al. 2023, arXiv 2305.15425",
        "Only parallel texts can be compared: the same lines in two languages. A translation is "
        "often longer than the original, and unknown tokens make a language look cheap.",
    ),
    Definition(
        "gini",
        "Gini coefficient",
        "sum of |c_i - c_j| / (2 n^2 mean of c), c_i = tokens per line of language i",
        "0 (equal) to 1 - 1/n",
        "lower",
        "Gini 1912; Foroutan et al. 2025, arXiv 2508.04796",
        "It says how unequal the languages are, not how good any of them is: a byte model can be "
        "fair but expensive for all. It depends on which languages you choose.",
    ),
    Definition(
        "intervals",
        "95% intervals",
        "25th and 975th smallest figure of 1,000 resamples, each of as many lines as the text, "
        "drawn with replacement",
        "that of the figure",
        "neither",
        "Efron 1979; Efron and Tibshirani 1993",
        "They show the noise from the choice of lines, as if lines were independent; but lines "
        "of one book resemble each other. They say nothing about other texts. A few long lines "
        "are too few.",
    ),
    Definition(
        "speed",
        "speed",
        "median of the bytes of a slice of the text / 10^6 / seconds",
        "MB per second",
        "higher",
        "",
        "It is measured on this machine, now, with words that are already in the cache; other "
        "programs that are running change it. It varies between runs.",
    ),
)

#: Definitions by name: first the metrics of one model in the order of the tables, then the others.
DEFINITIONS = {definition.name: definition for definition in (*METRICS, *_OTHERS)}


def metric_names() -> list[str]:
    """Return the names that a condition may use."""
    return [metric.name for metric in METRICS]


def definition_of(name: str, among: Mapping[str, Definition] = DEFINITIONS) -> Definition:
    """Return the definition of a metric by its name or its label in tables.

    Raises:
        TokctlError: No metric has this name; the hint suggests a similar one.

    Example:
        definition_of("Rényi efficiency").name  # 'renyi_efficiency'
    """
    plain = _plain(name)
    for definition in among.values():
        if plain in (definition.name, _plain(definition.label)):
            return definition
    close = difflib.get_close_matches(plain, among, n=1)
    hint = f"did you mean {close[0]}? " if close else ""
    raise BadOption(
        f"no metric is called {name!r}", f"{hint}choose one of: {', '.join(among)}", "unknown-name"
    )


def _plain(name: str) -> str:
    """Return a label as a name: `Rényi efficiency` becomes `renyi_efficiency`."""
    letters = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    return "_".join(letters.lower().replace("-", " ").split())
