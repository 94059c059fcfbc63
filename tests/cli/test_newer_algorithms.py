"""What the commands say of trainings in stages, of superwords, of languages and of removals."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.cli.inspecting import printed, rows, told
from tests.cli.run import Result, tokctl
from tokctl import Tokenizer
from tokctl.analysis.replay import MergeReplay

TEXT = "one of the cats of the house\nsome of the cats, and one of the 12 houses of the cat\n" * 4
SWAHILI = "paka mmoja wa nyumba hii\nbaadhi ya paka, na nyumba moja ya paka\n" * 4


def made(*arguments: str, text: str = TEXT) -> Result:
    """A training of `m.json`."""
    Path("a.txt").write_text(text, encoding="utf-8")
    done = tokctl("train", *arguments, "-o", "new.json")
    assert done.code == 0, done.err
    Path("new.json").replace("m.json")
    return done


def stages(vocab: str = "290", *more: str) -> Result:
    return made("-a", "superbpe", "--vocab", vocab, "--transition", "280", *more, "a.txt")


def languages(*more: str) -> Result:
    Path("b.txt").write_text(SWAHILI, encoding="utf-8")
    return made("--lang", "en=a.txt", "--lang", "sw=b.txt", "--vocab", "280", *more)


def inspected(*arguments: str, **options: Any) -> str:
    return printed("m.json", *arguments, **options)


def row(text: str, label: str) -> str:
    """What a line of facts says."""
    return next(line for line in text.splitlines() if line.startswith(label))[len(label) :].strip()


def fact(label: str) -> str:
    """What the recipe says under a label."""
    return dict(rows("m.json", "--recipe"))[label]


def merges(*steps: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = orjson.loads(inspected("--merges", *(steps or (":",)), "--json"))[
        "merges"
    ]
    return found


def test_a_training_tells_where_its_stages_began() -> None:
    said = row(stages().err, "stage 2")
    tokens = Tokenizer.load("m.json").model.tokens[280:]
    words = [len(token.split()) for token in tokens]
    assert len(tokens) == 10 and max(words) > 1
    several = sum(count > 1 for count in words)
    assert said == (
        f"began at 280 ids and made 10 tokens, {several} of them of several words, "
        f"up to {max(words)}"
    )


def test_a_training_of_superwords_tells_where_they_begin() -> None:
    said = row(made("-a", "boundless", "--vocab", "300", "a.txt").err, "superwords")
    model = Tokenizer.load("m.json").model
    count = len(model.supermerges)
    first = f"the first counted {model.supermerges[0].count} times"
    assert said.startswith(
        f"{count}, the ids from {len(model.tokens) - count} on; {first}: Ġof Ġthe"
    )


def test_each_merge_tells_its_stage() -> None:
    stages()
    history = merges()
    assert [one["stage"] for one in history] == [1] * 24 + [2] * 10
    assert [line[5:] for line in rows("m.json", "--merges", ":")] == [["1"]] * 24 + [["2"]] * 10
    last = history[-1]["token"]
    assert told("m.json", "--token", last)["merges"][-1]["stage"] == 2
    text = Tokenizer.load("m.json").decode([289])
    words = told("m.json", "--word", text)["words"]
    assert {step["merge"]["stage"] for word in words for step in word["steps"]} == {1, 2}
    shown = inspected("--token", last, terminal=True)
    assert ", stage 2" in shown and "stage 1" not in shown


def test_the_stages_of_an_extended_model_are_those_of_the_new_training() -> None:
    """Those before are in its file no more."""
    stages()
    made("--extend", "m.json", "--vocab", "293", "a.txt")
    assert [one.get("stage") for one in merges()] == [None] * 34 + [2] * 3
    shown = inspected("--merges", "34:35", terminal=True).splitlines()
    assert [line.split()[-1] for line in shown if line.split()[:1] in (["34"], ["35"])] == [
        "-",
        "2",
    ]
    assert tokctl("convert", "--prune", "292", "m.json", "-o", "new.json").code == 0
    Path("new.json").replace("m.json")
    assert [one.get("stage") for one in merges()] == [None] * 34 + [2] * 2


def test_ids_that_were_kept_tell_no_stage() -> None:
    stages()
    Path("b.txt").write_text(f"{Tokenizer.load('m.json').decode([289])}\n", encoding="utf-8")
    options = ("--prune", "285", "--keep-ids", "-o", "new.json")
    assert tokctl("adapt", "m.json", "b.txt", *options).code == 0
    Path("new.json").replace("m.json")
    history = merges()
    assert Tokenizer.load("m.json").vocab_size == 290  # five of them are holes
    assert len(history) == 29 and not any("stage" in one for one in history)


def test_the_recipe_tells_what_lines_are() -> None:
    stages()
    said = [row[1] for row in rows("m.json", "--recipe")]
    assert "lines (every line on its own, with its line feed)" in said


def test_the_recipe_tells_how_superwords_are_made() -> None:
    made("-a", "boundless", "--vocab", "300", "a.txt")
    assert fact("merged").endswith("; a pair of whole words (a supermerge) where it is more "
                                        "frequent")  # fmt: skip
    assert fact("encoded").endswith("that are one token each, by their supermerges")


def test_the_recipe_tells_how_languages_took_turns() -> None:
    languages()
    text = (
        "en, sw: the one whose text costs the most tokens per byte chooses, by the counts of its "
    )
    text += "own"
    assert fact("languages") == text
    languages(
        *("--lang-dev", "en=a.txt", "--lang-dev", "sw=b.txt", "--global-merges", "5"),
        *("--parity", "window", "--parity-window", "7", "--parity-target", "sw=2.5"),
    )
    assert fact("languages") == (
        "en, sw: the one whose development text costs the most tokens (times its target: sw 5/2) "
        "chooses, by the counts of its own; not if it chose over 2 times its equal share of the "
        "last 7 merges; the first 5 merges by the counts of all"
    )


@pytest.mark.slow
def test_pages_tell_of_languages() -> None:
    languages()
    Tokenizer.load("m.json").save("other.json")
    asked = ("--lang", "en=a.txt", "--lang", "sw=b.txt", "--html", "both.html")
    done = tokctl("compare", "-q", "-m", "m.json", "-m", "other.json", *asked)
    assert done.code == 0, done.err
    texts = cells(Path("both.html"))
    assert texts[texts.index("Gini of tokens per line") + 1].startswith("0.")
    inspected("--html", "m.html")
    texts = cells(Path("m.html"))
    record = Tokenizer.load("m.json").model.parity
    assert record is not None
    at = texts.index("merges chosen")
    chosen, before, after = record.merges_of()["en"], record.before[0], record.after[0]
    row_of_en = ["en", str(chosen), str(before), str(after), f"{after / record.lengths[0]:.4f}"]
    assert texts[at + 4 : at + 9] == row_of_en
    assert texts.count("chosen for") == 2  # of the first merges and the last
    assert '"chosen for","sw"' in Path("m.html").read_text("utf-8").replace(", ", ",")


def cells(page: Path) -> list[str]:
    """What the cells of the page's tables hold."""
    found: list[str] = []
    inside = False

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, _: object) -> None:
            nonlocal inside
            if tag in ("td", "th"):
                inside = True
                found.append("")

        def handle_endtag(self, tag: str) -> None:
            nonlocal inside
            inside = inside and tag not in ("td", "th")

        def handle_data(self, data: str) -> None:
            if inside:
                found[-1] += data.strip()

    Reader().feed(page.read_text("utf-8"))
    return found


def test_a_supermerge_is_no_step_of_a_corpus() -> None:
    made("-a", "boundless", "--vocab", "300", "a.txt")
    model = Tokenizer.load("m.json").model
    words = len(model.merges)
    done = tokctl("inspect", "m.json", "--state", str(words + 1), "a.txt")
    assert done.code == 2 and done.err == (
        f"error: step {words + 1} is a supermerge, and states show only merges within "
        f"pre-tokens\nhint: choose a step from 0 to {words}; --merges lists the supermerges as "
        "well\n"
    )
    total = words + len(model.supermerges)
    done = tokctl("inspect", "m.json", "--state", str(total + 1), "a.txt")
    assert done.err.startswith(f"error: there is no step {total + 1}: ")


def test_superwords_are_not_in_the_vocabulary_of_a_step() -> None:
    made("-a", "boundless", "--vocab", "300", "a.txt")
    replay = MergeReplay(Tokenizer.load("m.json"), [(b"house", 1)])
    frames = [replay.goto(step) for step in (0, replay.total)]
    assert [frame.vocabulary for frame in frames] == [256, 256 + replay.total]


@pytest.mark.parametrize("algorithm", ["picky", "scaffold", "boundless"])
def test_merges_are_there_instead_of_rounds(algorithm: str) -> None:
    made("-a", algorithm, "--vocab", "280", "a.txt")
    done = tokctl("inspect", "m.json", "--rounds")
    assert done.err.endswith("is not trained in rounds\nhint: see its merges: --merges :\n")


@pytest.mark.parametrize("columns", [24, 40, 60, 100])
def test_bars_leave_room_for_what_they_count(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    stages()
    shown = inspected(terminal=True).splitlines()
    assert all(len(line) <= columns for line in shown)
    at = shown.index("tokens by origin")
    labels = [line.split()[:2] for line in shown[at + 1 : at + 4]]
    assert labels == [["special", "0"], ["alphabet", "256"], ["merged", "34"]]
    assert shown[at + 2].count("█") == min(30, columns - len("alphabet  256  "))


@pytest.mark.parametrize(
    ("option", "meant"),
    [
        (
            "--nbest",
            "inspect --word TEXT --nbest N shows the best segmentations of a unigram model",
        ),
        ("--dropout", "--alpha draws segmentations of a unigram model at random"),
    ],
)
def test_what_other_libraries_draw(option: str, meant: str) -> None:
    done = tokctl("encode", "-m", "m.json", option, "3", "a.txt")
    assert done.code == 2 and f"hint: {meant}; see: tokctl encode --help" in done.err


def test_languages_have_neither_stages_nor_initial_tokens() -> None:
    for options, message in (
        (
            ("-a", "superbpe"),
            "has neither stages nor limits of words\nhint: take --algo bpe, without",
        ),
        (
            ("--max-words", "3"),
            "has neither stages nor limits of words\nhint: take --algo bpe, without",
        ),
        (("--initial-token", "x"), "can't have initial tokens\nhint: leave them out\n"),
    ):
        for name in "ab":
            Path(f"{name}.txt").write_text(TEXT, encoding="utf-8")
        done = tokctl("train", "--lang", "en=a.txt", "--lang", "sw=b.txt", *options)
        assert done.code == 2 and f"error: parity-aware training {message}" in done.err


def test_merges_are_counted_alike_everywhere() -> None:
    """Without supermerges, and with those of tokens that were taken away."""
    for algorithm in ("boundless", "picky"):
        done = made("-q", "-a", algorithm, "--vocab", "300", "--json", "a.txt")
        model = Tokenizer.load("m.json").model
        count = len(model.events.merges if model.events else model.merges)
        assert count and orjson.loads(done.out)["merges"] == count
        assert orjson.loads(inspected("--json"))["merges"] == count
        done = tokctl("convert", "m.json", "--to", "tokctl", "-o", "other.json", "--json")
        assert orjson.loads(done.out)["merges"] == count


@pytest.mark.parametrize("columns", [30, 40, 60])
def test_a_narrow_terminal_has_the_figures_of_a_gap(
    columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    stages()
    shown = inspected("--gap", "a.txt", terminal=True)
    figures = orjson.loads(inspected("--gap", "a.txt", "--json"))
    assert all(len(line) <= columns for line in shown.splitlines())
    for label, name in (("this", "tokens"), ("fewest", "fewest"), ("lower", "bound")):
        lines = [line.split() for line in shown.splitlines() if line.startswith(f" {label}")]
        assert any(f"{figures[name]:,}" in line for line in lines), (label, shown)
