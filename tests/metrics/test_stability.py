"""Cuts under typos, case and white space: by hand, by the twin, and the same on every machine."""

from __future__ import annotations

import os
import subprocess
import sys
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import part_of_examples
from tests.explain.health.sick import byte_level_model
from tests.metrics.models import RECIPES, TEXT, model
from tests.twins import suite as twin
from tokctl.analysis.metrics import Undefined
from tokctl.analysis.suite_metrics import STABILITY as DEFINITIONS
from tokctl.analysis.texts import Text
from tokctl.extras.suite import stability as module
from tokctl.extras.suite.stability import (
    VARIANTS,
    StabilityReport,
    Variation,
    stability,
    words_of,
)


def variation(report: StabilityReport, name: str) -> Variation:
    return next(one for one in report.variations if one.name == name)


def test_case_and_spaces_by_hand() -> None:
    tokenizer = byte_level_model([" c", " ca", " cat", "at", "cat"])
    report = stability(tokenizer, "cat Cat")
    # Words: cat = Ġcat, Cat = Ġ|C|at.
    assert (report.distinct, sorted(report.words)) == (2, ["Cat", "cat"])
    lower = variation(report, "lower")  # Cat -> Ġcat
    assert (lower.group, lower.words) == ("case", 1)
    assert lower.figures == {"changed": 1, "token_ratio": pytest.approx(1 / 3), "kept": 0}
    upper = variation(report, "upper")  # both -> Ġ|C|A|T: 1, 2 against none, and against 1
    assert upper.figures == {
        "changed": 1,
        "token_ratio": pytest.approx((4 + 4 / 3) / 2),
        "kept": pytest.approx(2 * 1 / (0 + 2 + 1 + 2)),
    }
    none = variation(report, "no-space")  # cat -> cat, C|at
    assert none.figures == {
        "changed": 0.5,
        "token_ratio": pytest.approx((1 + 2 / 3) / 2),
        "kept": 1,
    }
    double = variation(report, "double-space")  # Ġ|Ġcat, Ġ|Ġ|C|at
    assert double.figures == {
        "changed": 1,
        "token_ratio": pytest.approx((2 + 4 / 3) / 2),
        "kept": 1,
    }


def test_boundaries_are_aligned_through_the_edit() -> None:
    pieces = [(" ", " "), ("ab", "ab"), ("cd", "dc"), ("é", "é")]
    # Behind the space, at both edges of what changed, inside é; not inside the change.
    assert list(module._aligned(pieces)) == [(2, 2), (3, 3), (3, 3), (5, 5), (5, 5), (6, 6)]
    deletion = [(" ", " "), ("a", "a"), ("b", ""), ("cd", "cd")]
    assert sorted(set(module._aligned(deletion))) == [(2, 2), (3, 2), (4, 3)]
    longer = [(" ", " "), ("s", "S"), ("ß", "SS"), ("e", "E")]
    assert sorted(set(module._aligned(longer))) == [(2, 2), (4, 4)]


def test_typos_change_one_place() -> None:
    tokenizer = byte_level_model([])
    words = "treasure island captain Pirates ODDLY aaa"
    report = stability(tokenizer, words)
    assert variation(report, "transposition").words == 5  # of aaa none differ
    assert variation(report, "deletion").words == 6
    for word in words.split():
        alphabets = {False: sorted(set(words.lower()) - {" "}), True: ["D", "L", "O", "P", "Y"]}
        for name, size in (("transposition", 0), ("deletion", -1), ("duplication", 1)):
            pieces = module._typos(name, 0, alphabets)(word)
            new = "".join(new for _, new in pieces[1:])
            assert "".join(old for old, _ in pieces[1:]) == (word if pieces else "")
            if pieces:
                assert len(new) == len(word) + size and new != word
                if name == "transposition":
                    assert sorted(new) == sorted(word)
        new = "".join(new for _, new in module._typos("substitution", 0, alphabets)(word)[1:])
        apart = [(a, b) for a, b in zip(word, new, strict=True) if a != b]
        assert len(apart) == 1 and apart[0][0].isupper() == apart[0][1].isupper()
    # Each byte is a token: only the number of bytes matters, and every boundary is kept.
    for one in report.variations:
        assert one.figures["kept"] == 1
    assert variation(report, "substitution").figures["changed"] == 0
    assert variation(report, "deletion").figures["changed"] == 1


def test_which_words_are_taken() -> None:
    text = "“Boy” isn't it... an old-fashioned x99 boy, naïve naïve, ABC? e\u0301te\u0301 "
    text += "海海海 ภาษาไทย ひらがな один "
    found = words_of(Text("", (text + "a" * 41).encode() + b" \xffbad"))
    assert found == ["Boy", "boy", "naïve", "ABC", "e\u0301te\u0301", "один"]
    many = " ".join(f"word{chr(97 + n // 26 % 26)}{chr(97 + n % 26)}" for n in range(676))
    report = stability(byte_level_model([]), many, seed=7)
    by_hash = sorted(many.split(), key=lambda word: sha256(f"7:word:{word}".encode()).digest()[:8])
    assert report.words == tuple(by_hash)


def test_at_most_so_many_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WORDS", 3)
    text = "one two three four five six seven"
    words = {seed: stability(byte_level_model([]), text, seed=seed).words for seed in range(4)}
    assert all(len(found) == 3 for found in words.values())
    assert len(set(words.values())) > 1
    turned = " ".join(reversed(text.split()))
    assert stability(byte_level_model([]), turned, seed=2).words == words[2]


def test_nothing_to_change() -> None:
    for text in ("", "12 34 !!", "海海海海海海海" * 9):
        report = stability(byte_level_model([]), text)
        assert (report.distinct, report.words) == (0, ())
        assert [one.name for one in report.variations] == [name for _, name in VARIANTS]
        for one in report.variations:
            assert list(one.figures) == [definition.name for definition in DEFINITIONS]
            assert one.words == 0 and all(isinstance(f, Undefined) for f in one.figures.values())


@pytest.mark.parametrize("name", RECIPES)
@part_of_examples(6)
@given(text=st.text("lowernstiéßǆD \t", max_size=30), seed=st.integers(0, 3))
def test_figures_equal_the_twins(name: str, text: str, seed: int) -> None:
    tokenizer = model(name)
    report = stability(tokenizer, text, seed=seed)
    letters = sorted(set("".join(report.words)))
    alphabets = {up: [one for one in letters if one.isupper() == up] for up in (False, True)}
    for group, variant in VARIANTS:
        rewrite = (
            module._typos(variant, seed, alphabets)
            if group == "typos"
            else module._REWRITES[variant]
        )
        words = changed = counted = shared = 0
        ratios = []
        for word in report.words:
            pieces = rewrite(word)
            if all(old == new for old, new in pieces):
                continue
            words += 1
            new = "".join(new for _, new in pieces[1:])
            before = twin.cuts(tokenizer, " ", word)
            after = twin.cuts(tokenizer, pieces[0][1], new)
            changed += before[0] != after[0]
            ratios += [after[0] / before[0]] if before[0] else []
            all_counted, both = twin.kept(word, new, pieces[1:], before, after)
            counted, shared = counted + all_counted, shared + len(both)
        found = variation(report, variant)
        assert found.words == words
        expected = {
            "changed": changed / words if words else None,
            "token_ratio": sum(ratios) / len(ratios) if ratios else None,
            "kept": 2 * shared / counted if counted else None,
        }
        for label, wanted in expected.items():
            figure = found.figures[label]
            if wanted is None:
                assert isinstance(figure, Undefined)
            else:
                assert figure == pytest.approx(wanted, abs=1e-12)


def test_the_same_under_any_hash_seed() -> None:
    code = (
        "from tests.metrics.models import TEXT, model\n"
        "from tokctl.extras.suite.stability import stability\n"
        "print(stability(model('bpe'), TEXT, seed=3))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("0", "1")
    }
    assert outputs == {f"{stability(model('bpe'), TEXT, seed=3)}\n"}
