"""Boundaries against a gold list: how it is read, the figures by hand and by the twin."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import part_of_examples, shared_file
from tests.errors import raises_code
from tests.explain.health.sick import byte_level_model
from tests.metrics.models import RECIPES, model
from tests.twins import suite as twin
from tokctl import Tokenizer
from tokctl.analysis.metrics import Undefined
from tokctl.analysis.suite_metrics import MORPHOLOGY as DEFINITIONS
from tokctl.core.errors import TokctlError
from tokctl.extras.suite.morphology import GoldWord, boundary_agreement, read_gold

# -- The gold list -----------------------------------------------------------------------------


def read(folder: Path, text: str | bytes) -> list[tuple[str, tuple[str, ...]]]:
    path = folder / "gold.tsv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return [(word.word, word.morphemes) for word in read_gold(path)]


def test_both_forms_are_read(tmp_path: Path) -> None:
    lines = [
        "\ufeffunhappiness\tun happi ness\r",
        "# word and morphemes",
        "",
        "walked\twalk@@ ed",
        "walks\twalk @@s\t100",
        "abducted\tabduct|ed\tV;PST",
        "house\thouse",
        "#\t#",
        "a|b\ta|b",
        "happiness\thappy ness",
        "@@\t@@",
    ]
    assert read(tmp_path, "\n".join(lines)) == [
        ("unhappiness", ("un", "happi", "ness")),
        ("walked", ("walk", "ed")),
        ("walks", ("walk", "s")),
        ("abducted", ("abduct", "ed")),
        ("house", ("house",)),
        ("#", ("#",)),
        ("a|b", ("a|b",)),
        ("happiness", ("happy", "ness")),
        ("@@", ("@@",)),
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("happiness", "it has no tab"),
        ("happi ness\thappi ness", "'happi ness' is not a word"),
        ("\tun", "'' is not a word"),
        ("ab\ta  b", "'a  b' has an empty morpheme"),
        ("ab\ta||b", "'a||b' has an empty morpheme"),
        ("ab\ta | b", "'a | b' has an empty morpheme, or white space in one"),
        ("ab\t", "'' has an empty morpheme"),
    ],
)
def test_a_line_of_no_form_is_named(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(TokctlError) as caught:
        read(tmp_path, f"good\tgood\n{line}\n")
    assert caught.value.message.startswith(f"{tmp_path / 'gold.tsv'}, line 2: {message}")
    assert caught.value.hint


def test_files_that_can_not_be_read(tmp_path: Path) -> None:
    with raises_code("not-utf8", "line 2: byte 3 is not UTF-8"):
        read(tmp_path, b"good\tgood\nab\xff\ta b\n")
    with raises_code("bad-input"):
        read(tmp_path, "# nothing\n\n")
    with raises_code("unreadable", r"can't read .*none\.tsv"):
        read_gold(tmp_path / "none.tsv")
    with raises_code("unreadable"):
        read_gold(tmp_path)


@given(data=st.binary(max_size=60) | st.text(alphabet="ab|@\t #\n\r", max_size=40).map(str.encode))
def test_any_bytes_are_words_or_an_error(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    try:
        words = read(tmp_path_factory.getbasetemp(), data)
    except TokctlError as error:
        assert error.hint
    else:
        assert all(word and morphemes and all(morphemes) for word, morphemes in words)


# -- Figures -----------------------------------------------------------------------------------


def gold(**words: str) -> list[GoldWord]:
    return [GoldWord(word, tuple(morphemes.split())) for word, morphemes in words.items()]


def test_figures_by_hand() -> None:
    tokenizer = byte_level_model([" c", " ca", " cat", " u", " un", " d", " do", "ed"])
    report = boundary_agreement(
        tokenizer,
        gold(untied="un ti ed", cats="cat s", cat="cat", do="do", dog="dog", ran="run ed"),
    )
    # Ġun|t|i|ed has 2, 3, 4 of the gold 2, 4; Ġcat|s its one; Ġcat and Ġdo none; Ġdo|g 2, and the
    # list none; `run ed` is not `ran`.
    assert (report.words, report.not_surface, report.one_morpheme) == (6, 1, 3)
    assert (report.gold, report.cut, report.shared, report.one_token) == (3, 5, 3, 0)
    assert report.figures == pytest.approx(
        {
            "precision": 3 / 5,
            "recall": 1,
            "f1": 2 * 3 / 8,
            "macro_precision": (2 / 3 + 1 + 0) / 3,
            "macro_recall": 1,
            "macro_f1": (4 / 5 + 1 + 0) / 3,
            "all_cut": 1,
            "morphscore_recall": 1,
            "morphscore_precision": (2 / 3 + 1) / 2,
            "morphscore_recall_all": 1,
            "morphscore_precision_all": (2 / 3 + 1) / 2,
        }
    )


def test_words_of_one_token() -> None:
    tokenizer = byte_level_model([" c", " ca", " cat", " cats", " d", " do", " dog"])
    report = boundary_agreement(tokenizer, gold(cats="cat s", dogs="dog s", sat="s at"))
    # Ġcats is one token; Ġdog|s; Ġ|s|a|t.
    assert (report.one_token, report.gold, report.cut, report.shared) == (1, 3, 3, 2)
    figures = report.figures
    assert figures["morphscore_recall"] == 1
    assert figures["morphscore_recall_all"] == pytest.approx(2 / 3)
    assert figures["morphscore_precision"] == pytest.approx(3 / 4)
    assert figures["morphscore_precision_all"] == pytest.approx(1.5 / 3)
    assert figures["all_cut"] == pytest.approx(2 / 3)
    assert figures["recall"] == pytest.approx(2 / 3)


def test_the_published_examples() -> None:
    """The examples that MorphScore's documentation gives, one segmentation each."""
    tokenizer = byte_level_model([" a", " al", "iz", "diz"])
    assert boundary_agreement(tokenizer, gold(aldiz="aldi z")).figures["morphscore_recall"] == 0
    tokenizer = byte_level_model([" a", " al", "di", " aldi"])
    assert boundary_agreement(tokenizer, gold(aldiz="aldi z")).figures["morphscore_recall"] == 1
    tokenizer = byte_level_model([" a", " al", "di", " aldi", " aldiz"])
    figures = boundary_agreement(tokenizer, gold(aldiz="aldi z")).figures
    assert figures["morphscore_recall"] == Undefined(
        "no word of two morphemes or more is two tokens or more"
    )
    assert figures["morphscore_recall_all"] == 0


def test_a_cut_inside_a_character_is_a_boundary() -> None:
    tokenizer = byte_level_model([])
    report = boundary_agreement(tokenizer, gold(né="n é"))
    assert (report.gold, report.cut, report.shared) == (1, 2, 1)


def test_nothing_to_measure() -> None:
    for words in ([], gold(ran="run ed"), gold(cat="cat")):
        report = boundary_agreement(byte_level_model([" c", " ca", " cat"]), words)
        assert list(report.figures) == [definition.name for definition in DEFINITIONS]
        assert all(isinstance(figure, Undefined) for figure in report.figures.values())


WORDS = st.lists(st.text("lowernstiéd", min_size=1, max_size=4), min_size=1, max_size=4)


@pytest.mark.few(4)
@pytest.mark.parametrize("name", RECIPES)
@part_of_examples(3)
@given(lists=st.lists(WORDS, max_size=4), extra=st.booleans())
def test_figures_equal_the_twins(name: str, lists: list[list[str]], extra: bool) -> None:
    pairs = [("".join(morphemes), morphemes) for morphemes in lists]
    if extra:
        pairs.append(("lowest", ["low", "er"]))
    words = [GoldWord(word, tuple(morphemes)) for word, morphemes in pairs]
    report = boundary_agreement(model(name), words)
    expected = twin.morphology(model(name), pairs)
    assert list(report.figures) == list(expected)
    for figure, (label, wanted) in zip(report.figures.values(), expected.items(), strict=True):
        if wanted is None:
            assert isinstance(figure, Undefined), label
        else:
            assert figure == pytest.approx(float(wanted), abs=1e-12), label
            assert 0 <= float(wanted) <= 1


def test_gpt2() -> None:
    tokenizer = Tokenizer.load(shared_file("vocab/gpt2.tokenizer.json"))
    report = boundary_agreement(
        tokenizer, gold(unhappiness="un happi ness", walked="walk ed", house="house")
    )
    # Ġunh|appiness, Ġwalked, Ġhouse.
    assert (report.gold, report.cut, report.shared, report.one_token) == (3, 1, 0, 1)
