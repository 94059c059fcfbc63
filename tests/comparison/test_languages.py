"""Texts of several languages: parity and Gini, worked out by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.run import tokctl
from tests.errors import raises_code
from tests.metrics.models import document
from tokctl.analysis.comparison import Languages, compare
from tokctl.analysis.metrics import Undefined
from tokctl.tokenizer import Tokenizer

#: A token for each character, and one for each word.
CHAR = Tokenizer.train([document("abc de\n")], vocab_size=20, algorithm="char")
WORD = Tokenizer.train([document("abc de\n")], vocab_size=20, algorithm="word")


def languages(**texts: str) -> Languages:
    found = compare(
        [("char", CHAR), ("word", WORD)],
        [],
        languages={name: document(text) for name, text in texts.items()},
    ).languages
    assert found is not None
    return found


def test_parity_and_gini_by_hand() -> None:
    found = languages(one="abc\nde\n", two="abc abc\nde de\n")
    assert found.reference == "one"
    assert [language.name for language in found.languages] == ["one", "two"]
    one, two = found.languages
    # Characters with their line ends: 7 and 14; words: 2 and 4.
    assert [figures["tokens"] for figures in one.figures] == [7, 2]
    assert [figures["tokens"] for figures in two.figures] == [14, 4]
    assert [figures["parity"] for figures in one.figures] == [1, 1]
    assert [figures["parity"] for figures in two.figures] == [2, 2]
    assert [figures["tokens_per_line"] for figures in two.figures] == [7, 2]
    assert [figures["fertility"] for figures in two.figures] == [3.5, 1]
    # Of 3.5 and 7 tokens a line: 2 |7 - 3.5| / (2 * 2^2 * 5.25) = 1 / 6; of 1 and 2 as well.
    assert found.gini == pytest.approx((1 / 6, 1 / 6))


def test_another_reference() -> None:
    found = compare(
        [WORD],
        [],
        languages={"one": document("abc\n"), "two": document("abc abc\n")},
        reference="two",
    ).languages
    assert found is not None
    assert [language.figures[0]["parity"] for language in found.languages] == [0.5, 1]


def test_languages_are_texts_behind_the_others() -> None:
    found = compare([WORD], [document("abc\n")], languages={"fi": document("de de\n")})
    assert [text.name for text in found.texts][1:] == ["fi"]
    assert found.total.words == 3
    assert found.languages is not None
    assert [language.name for language in found.languages.languages] == ["fi"]
    assert isinstance(found.languages.gini[0], Undefined)


def test_an_unknown_reference() -> None:
    with raises_code("unknown-name", "no language of this comparison is called 'sv'"):
        compare([WORD], [], languages={"fi": document("de\n")}, reference="sv")


def test_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("en.txt").write_text("abc\nde\n")
    Path("fi.txt").write_text("abc abc\nde de\nabc\n")
    WORD.save("word.json")
    arguments = ("compare", "-m", "word.json", "--lang", "en=en.txt", "--lang", "fi=fi.txt")
    found = json.loads(tokctl(*arguments, "--json").out)["languages"]
    assert found["reference"] == "en"
    assert [language["lines"] for language in found["languages"]] == [2, 3]
    assert found["languages"][1]["models"][0]["metrics"]["parity"] == 2.5
    page = tokctl(*arguments).out.decode()
    assert "Parity: tokens over those of en\n" in page
    assert "fi                       2.500\n" in page
    assert "not parallel line by line: en has 2 lines, fi 3;" in page
    assert "Dearest language, against en: fi in word (2.50 times)." in page
    other = tokctl(*arguments, "--reference", "fi", "--json").out
    assert json.loads(other)["languages"]["reference"] == "fi"


@pytest.mark.parametrize(
    ("condition", "code"),
    [("gini > 0.1", 1), ("gini > 0.2", 0), ("parity >= 2.5", 1), ("parity > 2.5", 0)],
)
def test_conditions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, condition: str, code: int
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("en.txt").write_text("abc\nde\n")
    Path("fi.txt").write_text("abc abc\nde de\nabc\n")
    WORD.save("word.json")
    arguments = ["-m", "word.json", "--lang", "en=en.txt", "--lang", "fi=fi.txt"]
    # A line costs 1 token and 5/3: 2 (2/3) / (2 * 4 * 4/3) = 1/8; parity is 5 / 2.
    assert tokctl("compare", "-q", *arguments, "--fail-if", condition).code == code
    alone = tokctl(
        "compare", "-q", "--verbose", "-m", "word.json", "en.txt", "--fail-if", condition
    )
    assert alone.code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--lang", "fi.txt"], "error: invalid value 'fi.txt' for --lang\nhint: write NAME=FILE"),
        (["--lang", "=fi.txt"], "error: invalid value '=fi.txt' for --lang\n"),
        (["--lang", "fi="], "error: invalid value 'fi=' for --lang\n"),
        (["--lang", "a=w", "--lang", "a=w"], "error: the language a is named twice\n"),
        (["--lang", "fi=no.txt"], "error: can't read no.txt: No such file"),
        (["--reference", "fi"], "error: no language of this comparison is called 'fi'\n"),
    ],
)
def test_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    WORD.save("w")
    Path("t.txt").write_text("abc\n")
    done = tokctl("compare", "-q", "-m", "w", "t.txt", *arguments)
    assert (done.code, done.out) == (2, b"")
    assert done.err.startswith(message)
