"""The pages of `tokctl compare`: as a pipe gets them, and as Markdown."""

from __future__ import annotations

import re

import pytest

from tests.cli.comparing import BOTH, SENTENCE, Call, Done, call
from tests.metrics.models import TEXT, model

__all__ = ["call"]

PAGE = """\
low.txt: 71 characters, 12 words, 4 lines. NSL is relative to b.
b and w were trained on low.txt: what they make of that text says little about others.

What the figures say
• Words kept whole: w 91.7%, b 33.3%.
• Tokens for the same text, against b: w 50.0% fewer.
• Lines that come back exactly as they were: w 75.0%; b: all.

Metrics
                          b        w
vocabulary size         270       34
tokens ↓                 28      14*
STRR ↑               0.3333  0.9167*
round trip ↑        1.0000*   0.7500
vocabulary use ↑     0.0481  0.3235*
Rényi efficiency ↑   0.4147  0.6028*
↑ more is better, ↓ less is better, * best of its row

The same in other ways
                              b        w
bytes per token ↑         2.536   5.071*
characters per token ↑    2.536   5.071*
NSL ↓                     1.000   0.500*
fertility ↓               2.333   1.167*
continued words ↓        0.6667  0.0833*
UNK rate ↓                  n/a   0.0000
Shannon efficiency ↑     0.4382  0.6535*
vocabulary use is of the ids that text can become: no special ones but the unknown token
n/a: UNK rate of b: nothing is unknown to this model: every byte has a token

Against b, the baseline
                                 w
tokens               −50.0% better
STRR               +58.3 pp better
round trip          −25.0 pp worse
vocabulary use     +27.5 pp better
Rényi efficiency   +18.8 pp better
pp: percentage points; % otherwise: of the baseline's figure

Sentences, with the number of tokens
the lowest (new) café
b  15  t│h│e│␣low│est  │␣│(│new│)│␣│c│a│f│\\xc3│\\xa9
w   7  [UNK]│low │##est  │(│new│)  │[UNK]

Words, and why they are split this way
the  not in the text
b  ␣│t│h│e
   t + h never occur side by side in the text
w  [UNK]
   no tokens fit all of it, so that the whole word is unknown

café  not in the text
b  ␣│c│a│f│\\xc3│\\xa9
   c + a never occur side by side in the text
w  [UNK]
   no tokens fit all of it, so that the whole word is unknown
counted without punctuation; elsewhere a word is the text between spaces

Words that are cut most differently
word       count  b               w
lower          2  ␣low│er         lower
newest         1  ␣new│est        newest
widest         1  ␣wid│est        widest
longer         1  ␣│long│er       longer
newer          1  ␣new│er         newer
wide           1  ␣wid│e          wide
(longest)      1  ␣│(│long│est│)  (│longest│)

Vocabulary overlap (Jaccard index)
        b       w
b       –  0.0557
w  0.0557       –

Agreement on boundaries inside words (F1)
        b       w
b       –  0.3333
w  0.3333       –
"""  # noqa: RUF001


def test_the_page(call: Call) -> None:
    assert call(*BOTH, *SENTENCE).figures == Done(0, PAGE, "")


def test_stdin_is_a_text(call: Call) -> None:
    found = call(*BOTH[:4], "-", *SENTENCE, stdin=TEXT.encode())
    assert found.figures == Done(0, PAGE.replace("low.txt", "stdin"), "")


def test_colour_says_nothing_new(call: Call) -> None:
    page = call(*BOTH, *SENTENCE, "--color", "always").out
    assert "\x1b[" in page
    plain = re.sub(r"\x1b\[[0-9;]*m", "", page).partition("\nHow this was made")[0]
    assert [line.rstrip() for line in plain.splitlines()] == PAGE.splitlines()


@pytest.mark.parametrize("width", [40, 60, 100])
def test_it_fits_the_width(call: Call, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    for n in range(9):
        model("bpe").save(f"model-{n}.json")
    models = [word for n in range(9) for word in ("-m", f"model-{n}.json")]
    page = call(*BOTH[:4], *models, "low.txt", "--sentence", "lowest newest " * 9).out
    assert max(map(len, page.splitlines())) <= width
    for label in ("vocabulary use", "model-8", "longest"):
        assert label in page


MARKDOWN = """\
# Comparison

low.txt: 71 characters, 12 words, 4 lines. NSL is relative to b.

b and w were trained on low.txt: what they make of that text says little about others.

## What the figures say

- Words kept whole: w 91.7%, b 33.3%.
- Tokens for the same text, against b: w 50.0% fewer.
- Lines that come back exactly as they were: w 75.0%; b: all.

## Metrics

| metric | b | w |
| --- | ---: | ---: |
| vocabulary size | 270 | 34 |
| tokens ↓ | 28 | **14** |
| STRR ↑ | 0.3333 | **0.9167** |
| round trip ↑ | **1.0000** | 0.7500 |
| vocabulary use ↑ | 0.0481 | **0.3235** |
| Rényi efficiency ↑ | 0.4147 | **0.6028** |

↑ more is better, ↓ less is better, bold is best of its row

## The same in other ways

| metric | b | w |
| --- | ---: | ---: |
| bytes per token ↑ | 2.536 | **5.071** |
| characters per token ↑ | 2.536 | **5.071** |
| NSL ↓ | 1.000 | **0.500** |
| fertility ↓ | 2.333 | **1.167** |
| continued words ↓ | 0.6667 | **0.0833** |
| UNK rate ↓ | n/a | 0.0000 |
| Shannon efficiency ↑ | 0.4382 | **0.6535** |

vocabulary use is of the ids that text can become: no special ones but the unknown token

n/a: UNK rate of b: nothing is unknown to this model: every byte has a token

## Against b, the baseline

| metric | w |
| --- | ---: |
| tokens | −50.0% better |
| STRR | +58.3 pp better |
| round trip | −25.0 pp worse |
| vocabulary use | +27.5 pp better |
| Rényi efficiency | +18.8 pp better |

pp: percentage points; % otherwise: of the baseline's figure

## Sentences, with the number of tokens

new \\| \\`low\\`

| model | tokens |  |
| --- | --- | --- |
"""  # noqa: RUF001


def test_markdown(call: Call) -> None:
    page = call(*BOTH, "--markdown", "--sentence", "new | `low`").out
    assert page.startswith(MARKDOWN)
    assert "| b | 7 | `` new│␣│\\|│␣│`│low│` `` |\n" in page
    for line in page.splitlines():
        if line.startswith("|"):
            assert line.replace("\\|", "").count("|") in (3, 4, 5)
