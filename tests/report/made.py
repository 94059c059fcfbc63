"""Comparisons and pages to look at, of texts and names that are up to no good."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from tests.metrics.models import document
from tokctl.analysis.comparison import Comparison, compare
from tokctl.analysis.explain.summary import UseCurves, use_curves
from tokctl.analysis.explain.tokens import TokenCard, token_cards
from tokctl.tokenizer import Tokenizer

#: What a careless page would run, end early, turn around or lose.
EVIL = [
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    "<!-- <script> --> <!--><svg onload=alert(3)>",
    "<img src=x onerror=alert(4)> <a href=javascript:alert(5)>x</a>",
    "\" onmouseover=\"alert(6)\" ' onfocus='alert(7)' `x`",
    "{{7*7}} {% raw %} ${7*7} {#7#} <%= 7 %> #{7}",
    "]]> </style><style>*{display:none}</style> &lt;b&gt; &#60; &amp;",
    "\u2028\u2029\u202e\u2066\x1b[31m\x00\x07\x7f\ufeff\u200b",
    "مرحبا بالعالم שלום 世界 e\u0301\u0327 👩\u200d👩\u200d👧",
    "http://example.com/x.js //example.com url(http://example.com)",
]
NAMES = [
    '"><script>alert("name")</script>',
    "</script><!--",
    "\u202eevil\u2028\x00\x1b[31m\udcff {{7*7}}",
]
ALGORITHMS = ("bpe", "wordpiece", "unigram")


@dataclass(frozen=True)
class Made:
    """A comparison with what its page needs."""

    comparison: Comparison
    models: dict[str, Tokenizer]
    cards: dict[str, Sequence[TokenCard]]
    uses: dict[str, UseCurves]


def made(models: dict[str, Tokenizer], comparison: Comparison) -> Made:
    """The cards of all tokens, and how they are used."""
    cards, uses = {}, {}
    for report in comparison.models:
        tokenizer = models[report.name]
        counts = [text.counts.id_counts for text in report.texts]
        cards[report.name] = token_cards(tokenizer, range(tokenizer.vocab_size), counts)
        uses[report.name] = use_curves(tokenizer, report.total.counts.id_counts)
    return Made(comparison, models, cards, uses)


@cache
def hostile() -> Made:
    """Models with hostile names, trained on hostile text, which they are compared on."""
    text = "\n".join(EVIL * 3) + "\n"
    texts = [document(text, EVIL[0]), document("low lower\n", EVIL[1] + "\x00\u202e")]
    models = {
        name: Tokenizer.train([document(text)], vocab_size=420, algorithm=algorithm)
        for name, algorithm in zip(NAMES, ALGORITHMS, strict=True)
    }
    return made(models, compare(list(models.items()), texts, sentences=EVIL))


@cache
def bytes_only() -> Made:
    """A byte-level model on text that is no UTF-8."""
    data = b"lo\xffw \xed\xa0\x80 \x00 \xe2\x80 <script>\xf0\x9f</script>\n" * 5
    models = {"bpe": Tokenizer.train([document(data)], vocab_size=280, algorithm="bpe")}
    return made(models, compare(list(models.items()), [document(data)]))


def contrast(first: str, second: str) -> float:
    """The contrast of two colours, as WCAG defines it."""

    def luminance(color: str) -> float:
        parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)
