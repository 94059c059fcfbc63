"""Text that a terminal, or a library that reads markup, would obey."""

from __future__ import annotations

import unicodedata

import pytest

from tests.explain import models
from tests.watch.screens import app_of, seen
from tokctl import Tokenizer
from tokctl.extras.watch.drawing import named

NASTY = [
    "\x1b[31mred\x1b[0m",
    "[bold]x[/bold]",
    "[/]",
    "[@click=app.quit]y[/]",
    "$primary",
    "\u202eabc\u2066",
    "\x07\x00\x9b31m",
    "\u200b\ufeff",
    "\u0301\u0301e",
    "漢字漢字",
    "שלום",
    "👩\u200d👩\u200d👧",
    "\U000e0041",
]


def nasty_model() -> Tokenizer:
    counts = {word: len(NASTY) - at for at, word in enumerate(NASTY)}
    return Tokenizer.train(counts, vocab_size=500, recipe=models.CHARACTERS)


@pytest.mark.slow
@pytest.mark.parametrize("size", [(60, 24), (160, 50)])
def test_it_is_shown_and_not_obeyed(size: tuple[int, int]) -> None:
    tokenizer = nasty_model()
    text = " ".join(word for at, word in enumerate(NASTY) for _ in range(len(NASTY) - at))
    app = app_of(tokenizer, text)
    app.model_name = "[red]\x1b]0;title\x07.json"
    app.text_name = "\u202etxt. [bold]"
    total = len(tokenizer.merges)
    lines = [
        *["right"] * min(total, 40),
        "end",
        "f [bold] enter",
        "f [/x] enter",
        "slash [/] enter",
    ]
    shown = seen(app, *lines, size=size)
    for each in shown:
        for char in each:
            assert char == "\n" or char.isprintable(), repr(char)
            assert unicodedata.bidirectional(char) not in ("RLO", "LRO", "RLE", "LRI", "RLI", "FSI")
    assert "[red]\\x1b]0;title\\x07.json on \\u202etxt. [bold]" in shown[0]
    assert any("\\x1b" in each.split("Words after")[1] for each in shown)
    assert "Following [bold]x[/bold]" in shown[-3]
    assert "no word of this text contains '[/x]'" in shown[-2]


def test_names() -> None:
    assert named("a b\n\x1b") == "a␣b⏎\\x1b"
    assert named("\u0301a") == "◌\u0301a"
    assert named("x" * 40) == "x" * 31 + "…"
    assert named("") == ""


def test_a_word_of_a_hundred_thousand_letters() -> None:
    tokenizer = models.toy(models.CHARACTERS, 30)
    app = app_of(tokenizer, "low" * 30_000)
    _, shown = seen(app, "end f low enter")
    assert "this word is too long to follow: it has 90,000 bytes" in shown
    assert "Words after step" in shown and "more" not in shown.split("Pairs before")[0]
