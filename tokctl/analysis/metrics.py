"""Metrics of a model on a text, each a function of counts.

`METRICS` lists those that give one figure per model, in the order of the tables, each with its
definition in words; `DEFINITIONS` has these and those of the figures beside them (of two models,
of languages). `docs/metrics.md` says the same at length; a test holds the two together.
"""

from __future__ import annotations

import difflib
import math
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, fields

from tokctl.errors import TokctlError
from tokctl.model import FilledRecipe, Recipe
from tokctl.model.byte_level import BYTE_TOKENS
from tokctl.model.parts import is_lossless

# -- Figures and what they are computed from ---------------------------------------------------


@dataclass(frozen=True)
class Absent:
    """No number: the metric has no meaning for this text or this model."""

    reason: str


Figure = float | Absent


def ratio(above: float, below: float, reason: str) -> Figure:
    """above / below; absent with the reason where `below` is 0."""
    return above / below if below else Absent(reason)


def mean(values: Sequence[float], reason: str) -> Figure:
    """Of the values; absent with the reason where there are none."""
    return ratio(math.fsum(values), len(values), reason)


@dataclass(frozen=True)
class Counts:
    """All of them add up over texts.

    Attributes:
        bytes, characters: of the text. A byte that is not UTF-8 is a character.
        spaces: characters that are white space, line ends included.
        words: by the rule `word_rule`.
        whole_words: words that are one token, and not the unknown one.
        split_words: words that are two tokens or more.
        tokens: all of them, unknown ones included.
        unknown: unknown tokens; for a model that has none, characters without an id, among them
            those that it drops.
        lines: what `\\n` ends; after the last one, what is left if anything is.
        exact_lines: lines with decode(encode(line)) = line.
        id_counts: how often each id came out, of those that did. What has no id is not there.
        word_rule: a name of `WORD_RULES`; None if nothing was
            counted yet.
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
        """From the numbers in the order of the attributes, from `bytes` to `exact_lines`."""
        named = dict(zip(_SUMS, sums, strict=True))
        return cls(**named, id_counts=id_counts, word_rule=word_rule)

    @property
    def used_ids(self) -> frozenset[int]:
        """The distinct ids that came out."""
        return frozenset(self.id_counts)

    @classmethod
    def total(cls, counts: Iterable[Counts]) -> Counts:
        """The sum of any number of counts, in time that grows with their sizes alone.

        Raises:
            ValueError: words were counted by different rules.
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


#: The counts that are one number.
_SUMS = [entry.name for entry in fields(Counts) if entry.type == "int"]
#: What the counts of several texts are added to.
NOTHING = Counts(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {})
_BYTES = frozenset(bytes([byte]) for byte in range(256))


@dataclass(frozen=True)
class Range:
    """What a model can make of ordinary text.

    Attributes:
        reads_everything: nothing is ever unknown: every byte has a token.
        emittable: how many ids can come out: all but those of special tokens; of these the
            unknown token alone is one, where something can be unknown.
    """

    reads_everything: bool
    emittable: int


def range_of(model: FilledRecipe) -> Range:
    """What a model can make of ordinary text."""
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


def bytes_per_token(size: int, tokens: int) -> Figure:
    """B / T: bytes of the text, white space included, over tokens."""
    return ratio(size, tokens, _NO_TOKENS)


def characters_per_token(characters: int, tokens: int) -> Figure:
    """C / T: characters of the text, white space included, over tokens."""
    return ratio(characters, tokens, _NO_TOKENS)


def nsl(tokens: int, baseline_tokens: int) -> Figure:
    """Normalized sequence length: T / T of the baseline model on the same text.

    Dagan, Synnaeve and Rozière (2024), arXiv 2402.01035. Taken over totals, where they
    take the mean over examples.
    """
    return ratio(tokens, baseline_tokens, "the baseline makes no tokens of the text")


# -- Words -------------------------------------------------------------------------------------

# A word is `\S+`, or a word of UAX #29.
#
# By the rule `spaces`, a word is a maximal run of characters that are no white space. Where a
# text has hardly any spaces, such runs are no words (Chinese, Thai, DNA), so that none of these
# figures is given.
#
# By the rule `unicode`, a word is what lies between two word boundaries of Unicode Standard
# Annex #29 (its default rules) and holds an alphanumeric character: one with the property
# Alphabetic, or of the general categories Nd, Nl, No. Its words need no spaces, so that the
# figures are always given; but Han, Hiragana and Thai are cut at every character.

#: What a word can be.
WORD_RULES = ("spaces", "unicode")
#: A text with fewer than one space to so many characters has no words to speak of.
CHARACTERS_PER_SPACE = 20


def no_words(counts: Counts) -> Absent | None:
    """Why a text has no words to measure, or None if it has.

    A run of white space counts as one space, so that indentation makes no words.
    """
    separators = min(counts.spaces, counts.words)
    solid = counts.characters - counts.spaces + separators
    if counts.word_rule != "unicode" and solid > CHARACTERS_PER_SPACE * separators:
        return Absent(f"the text has fewer than one space per {CHARACTERS_PER_SPACE} characters")
    return None if counts.words else Absent("the text has no words")


def fertility(counts: Counts) -> Figure:
    """T / W: tokens over words, total over total.

    Ács (2019), "Exploring BERT's vocabulary"; Rust et al. (2021), arXiv 2012.15613.
    """
    return no_words(counts) or ratio(counts.tokens, counts.words, "")


def continued_words(counts: Counts) -> Figure:
    """The proportion of words that are two tokens or more: Rust et al. (2021)."""
    return no_words(counts) or ratio(counts.split_words, counts.words, "")


def strr(counts: Counts) -> Figure:
    """Single token retention rate: words encoded as one token, over words.

    arXiv 2510.09947. A word that became the unknown token was not retained.
    """
    return no_words(counts) or ratio(counts.whole_words, counts.words, "")


# -- What is lost ------------------------------------------------------------------------------


def unk_rate(unknown: int, tokens: int, *, reads_everything: bool) -> Figure:
    """Unknown tokens over tokens.

    A model that lacks both an unknown token and some characters leaves those without an
    id, or drops them: they are counted.

    Args:
        reads_everything: nothing can be unknown, as for a byte-level model, or one in
            which all bytes have tokens to fall back to.
    """
    if reads_everything:
        return Absent("nothing is unknown to this model: every byte has a token")
    return ratio(unknown, tokens, "the text has no tokens")


def round_trip(exact_lines: int, lines: int) -> Figure:
    """The share of lines with decode(encode(line)) = line, byte for byte.

    Lines are taken without their `\\n`; empty ones count, too.
    """
    return ratio(exact_lines, lines, "the text has no lines")


# -- Use of the vocabulary ---------------------------------------------------------------------


def vocabulary_use(used: int, emittable_ids: int) -> Figure:
    """Distinct ids used / ids that the model can emit (see `Range`)."""
    return ratio(used, emittable_ids, "the model can emit no id")


#: The order that agreed best with the quality of translation: Zouhar et al. (2023).
RENYI_ORDER = 2.5


def entropy(counts: Iterable[int], order: float) -> Figure:
    """The Rényi entropy of the distribution p of ids, in bits; of order 1, Shannon's.

    log2(sum p^a) / (1 - a) for an order a other than 1, and -sum p log2 p for order 1: Rényi
    (1961). The sums are rounded once, so that the order of the counts does not matter.

    Args:
        counts: how often each id came out.
        order: above 0.
    """
    seen = [count for count in counts if count]
    total = sum(seen)
    if not total:
        return Absent("the text has no tokens with an id")
    if len(seen) == 1:
        return 0.0
    if order == 1:
        return -math.fsum(count / total * math.log2(count / total) for count in seen)
    return math.log2(math.fsum((count / total) ** order for count in seen)) / (1 - order)


def efficiency(counts: Iterable[int], vocabulary: int, order: float) -> Figure:
    """The Rényi entropy of an order over log2 |V|, its value where all ids are as frequent.

    Zouhar et al. (2023), "Tokenization and the Noiseless Channel", arXiv 2306.16842, with the
    ids that the model can emit for V.

    Args:
        counts: how often each id came out.
        vocabulary: |V|, no less than the distinct ids that came out.
    """
    bits = entropy(counts, order)
    if isinstance(bits, Absent):
        return bits
    if vocabulary < 2:
        return Absent("the model can emit one id alone: there is nothing to choose")
    # Rounding could lift an even distribution above 1.
    return min(1.0, bits / math.log2(vocabulary))


def renyi_efficiency(counts: Iterable[int], vocabulary: int) -> Figure:
    """`efficiency` of order 2.5, which counts frequent ids more than rare ones."""
    return efficiency(counts, vocabulary, RENYI_ORDER)


def shannon_efficiency(counts: Iterable[int], vocabulary: int) -> Figure:
    """`efficiency` of order 1."""
    return efficiency(counts, vocabulary, 1)


# -- Languages: parallel texts, the same line by line ------------------------------------------


def parity(tokens: int, reference_tokens: int) -> Figure:
    """T of a language / T of the reference language, of parallel texts.

    Petrov, La Malfa, Torr and Bibi (2023), arXiv 2305.15425. Taken over totals, where they
    take the mean over sentences.
    """
    return ratio(tokens, reference_tokens, "the text of the reference language has no tokens")


def tokens_per_line(tokens: int, lines: int) -> Figure:
    """T / lines: what a line costs in a language."""
    return ratio(tokens, lines, "the text has no lines")


def gini(costs: Sequence[Figure]) -> Figure:
    """The Gini coefficient of what a line costs in each language: sum |c_i - c_j| / (2 n^2 mean).

    0 where all cost the same; (n - 1) / n where one alone costs anything. Gini (1912); of
    tokens per line in Foroutan et al. (2025), arXiv 2508.04796. In sorted order the sum over
    pairs is 2 * sum (2 i - n - 1) c_i with i from 1, which takes n log n steps.

    Args:
        costs: tokens per line of each language, not negative.
    """
    known = []
    for cost in costs:
        if isinstance(cost, Absent):
            return cost
        known.append(cost)
    count = len(known)
    if count < 2:
        return Absent("there are no two languages to compare")
    known.sort()
    spread = math.fsum((2 * place - count - 1) * cost for place, cost in enumerate(known, 1))
    # An equal cost for all can leave a rest of rounding, on either side of 0.
    return ratio(max(0.0, spread), count * math.fsum(known), "the texts have no tokens")


# -- Two models: shared vocabulary, shared boundaries ------------------------------------------

#: (kind, bytes): the bytes without marker or leading space, and where they stand:
#: `start` of a word, `inside` (after its start), at its `end`, `open` (before its end,
#: in a vocabulary that marks ends), or `any` (the vocabulary does not say).
Canonical = tuple[str, bytes]


def canonical(recipe: Recipe, token: bytes) -> Canonical:
    """What an ordinary token means, whatever the vocabulary's way to mark words.

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
    if space := space_mark(recipe):
        mark = space.encode()
        return ("start", token[len(mark) :]) if token.startswith(mark) else ("inside", token)
    if all(map(is_lossless, recipe.pre_tokenizers)):
        return ("start", token[1:]) if token.startswith(b" ") else ("inside", token)
    return ("start" if recipe.traits.learns_words else "any"), token


def space_mark(recipe: Recipe) -> str:
    """What stands for a space in the tokens, `▁` for SentencePiece: a pre-tokenizer or a
    normalizer writes it. Empty if spaces are kept as they are, or dropped."""
    for part in recipe.pre_tokenizers:
        if part.kind == "metaspace":
            return str(part["replacement"])
    for part in recipe.normalizers:
        if part.kind == "replace" and part["pattern"] == " " and part["content"].strip():
            return str(part["content"])
    return ""


def canonical_vocabulary(model: FilledRecipe) -> frozenset[Canonical]:
    """The canonical forms of a model's tokens. Special and added tokens are left out, and the
    tokens of single bytes that characters fall back to: they are not text of their own."""
    reserved = model.reserved_ids
    if model.recipe.byte_fallback:
        reserved = reserved | {
            id_ for id_, token in enumerate(model.tokens) if token in BYTE_TOKENS
        }
    ordinary = (token for id_, token in enumerate(model.tokens) if id_ not in reserved)
    return frozenset(canonical(model.recipe, token) for token in ordinary)


def jaccard(first: Set[Canonical], second: Set[Canonical]) -> Figure:
    """The Jaccard index: size of the intersection over size of the union."""
    shared = len(first & second)
    return ratio(shared, len(first) + len(second) - shared, "both vocabularies are empty")


def boundary_f1(shared: int, first: int, second: int) -> Figure:
    """F1 of two sets of boundaries, which is symmetric: 2 |A and B| / (|A| + |B|).

    A boundary is a byte offset at which a token starts or ends. It is internal where it lies
    strictly inside a word (a maximal run of characters that are not white space, whatever the
    other figures take for a word): at the edges of words all models cut, and what they do with
    spaces does not matter here. The native `Measured` holds them as bits.

    Args:
        shared, first, second: the sizes of the intersection and of the two sets.
    """
    if not first + second:
        return Absent("neither model cuts a word")
    return 2 * shared / (first + second)


# -- The table ---------------------------------------------------------------------------------


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
        return {entry.name: getattr(self, entry.name) for entry in fields(Definition)}


#: How figures are written, by their kind.
_FORMATS = {"count": ",.0f", "ratio": ",.3f", "share": ".4f", "index": ".4f", "speed": ",.1f"}


def written(figure: Figure, kind: str) -> str:
    """A figure for people: a share is never rounded to 0 or 1 unless it is that.

    Args:
        kind: of a metric, or `index` (of two models), or `speed` (MB per second).
    """
    if isinstance(figure, Absent):
        return "n/a"
    if kind == "share" and 0 < figure < 0.0001:
        return "<0.0001"
    if kind == "share" and 0.9999 < figure < 1:
        return ">0.9999"
    return format(figure, _FORMATS[kind])


@dataclass(frozen=True)
class Metric(Definition):
    """One figure per model.

    Attributes:
        kind: `count`, `ratio`, or `share` (0 to 1).
        figure: from (what the model can make of text, its counts, the baseline's counts on
            the same text).
        adds_up: it is a sum over lines, or a ratio of such sums: so it can be resampled.
        like: the name of another metric that says the same in another way; empty for the five
            that say different things.
    """

    kind: str
    figure: Callable[[Range, Counts, Counts], Figure]
    adds_up: bool = True
    like: str = ""

    @property
    def higher_is_better(self) -> bool:
        """False if less is better."""
        return self.better == "higher"

    def written(self, figure: Figure) -> str:
        """The figure for people."""
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

#: Those that say different things, and those that say the same as one of them in another way.
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

#: By name: the metrics of one model in the order of the tables, then the others.
DEFINITIONS = {definition.name: definition for definition in (*METRICS, *_OTHERS)}


def metric_names() -> list[str]:
    """The names that a condition may use."""
    return [metric.name for metric in METRICS]


def definition_of(name: str, among: Mapping[str, Definition] = DEFINITIONS) -> Definition:
    """The definition of a figure, by its name or as tables label it; TokctlError if none
    is called so."""
    plain = _plain(name)
    for definition in among.values():
        if plain in (definition.name, _plain(definition.label)):
            return definition
    close = difflib.get_close_matches(plain, among, n=1)
    hint = f"did you mean {close[0]}? " if close else ""
    raise TokctlError(f"no metric is called {name!r}", f"{hint}these are: {', '.join(among)}")


def _plain(name: str) -> str:
    """A label as a name: `Rényi efficiency` is `renyi_efficiency`."""
    letters = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    return "_".join(letters.lower().replace("-", " ").split())
