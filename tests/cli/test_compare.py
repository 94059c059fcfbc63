"""`tokctl compare` as a person calls it."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from datetime import date, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from tests.cli.comparing import BOTH, SENTENCE, Call, Done, call
from tests.cli.test_compare_pages import PAGE
from tests.metrics.models import TEXT, model
from tokctl import Tokenizer
from tokctl.analysis.metrics import metric_names

__all__ = ["call"]


def test_json(call: Call) -> None:
    found = call(*BOTH, "--json", *SENTENCE)
    assert (found.code, found.err) == (0, "")
    document = json.loads(found.out)
    assert found.out.count("\n") == 1
    assert list(document) == [
        "schema",
        "baseline",
        "training",
        "texts",
        "metrics",
        "models",
        "findings",
        "sentences",
        "words",
        "disagreements",
        "overlap",
        "agreement",
        "languages",
        "sweep",
        "provenance",
    ]
    assert document["schema"] == "tokctl.compare/1"
    assert document["baseline"] == "b"
    assert document["texts"] == [
        {
            "name": "low.txt",
            "documents": 1,
            "bytes": 71,
            "characters": 71,
            "words": 12,
            "lines": 4,
        }
    ]
    assert [metric["name"] for metric in document["metrics"]] == metric_names()
    first = document["models"][0]
    assert list(first) == [
        "name",
        "algorithm",
        "recipe",
        "vocab_size",
        "emittable_ids",
        "exhausted",
        "trained_on",
        "metrics",
        "reasons",
        "against_baseline",
        "intervals",
        "speed",
        "texts",
    ]
    assert list(first["metrics"]) == metric_names()
    assert first["metrics"]["unk_rate"] is None
    assert list(first["reasons"]) == ["unk_rate"]
    assert first["texts"] == [
        {"name": "low.txt", "metrics": first["metrics"], "reasons": first["reasons"]}
    ]
    assert document["models"][1]["emittable_ids"] == 34
    assert document["sentences"][0]["segmentations"][1] == {
        "model": "w",
        "count": 7,
        "tokens": ["[UNK]", "low", "##est", "(", "new", ")", "[UNK]"],
        "ids": [0, 22, 26, 1, 25, 2, 0],
    }
    assert document["disagreements"][0] == {
        "word": "lower",
        "count": 2,
        "weight": 2,
        "segmentations": [
            {"model": "b", "count": 2, "tokens": ["Ġlow", "er"], "ids": [262, 258]},
            {"model": "w", "count": 1, "tokens": ["lower"], "ids": [33]},
        ],
    }
    assert document["overlap"] == [[1.0, 16 / 287], [16 / 287, 1.0]]
    assert document["agreement"] == [[1.0, 1 / 3], [1 / 3, 1.0]]


@pytest.mark.parametrize(
    ("condition", "code"),
    [
        ("nsl > 1", 0),
        ("nsl >= 1", 1),
        ("nsl<0.5", 0),
        (" nsl <= 5e-1 ", 1),
        ("tokens > 27", 1),
        ("round_trip < 0.75", 0),
        ("unk_rate > 0", 0),
        ("tokens > -1", 1),
    ],
)
def test_conditions(call: Call, condition: str, code: int) -> None:
    assert call(*BOTH, "-q", "--fail-if", condition).code == code


def test_what_a_condition_says(call: Call) -> None:
    conditions = ("--fail-if", "nsl < 0.7", "--fail-if", "unk_rate >= 0", "--fail-if", "nsl > 9")
    found = call(*BOTH, *SENTENCE, *conditions)
    assert found.figures == Done(
        1,
        PAGE,
        "note: not checked: unk_rate >= 0 for b: it is n/a: nothing is unknown to this model: "
        "every byte has a token\n"
        "error: nsl < 0.7 for w: it is 0.5; unk_rate >= 0 for w: it is 0\n"
        "hint: the conditions of --fail-if say when to fail; --json has every figure\n",
    )


def test_a_baseline_of_another_file(call: Call) -> None:
    found = call("-m", "w.json", "--baseline", "b.json", "low.txt", *SENTENCE)
    assert found.figures == Done(0, PAGE, "")
    # It is not checked: its NSL is 1.
    arguments = ("-m", "w.json", "--baseline", "b.json", "low.txt", "--fail-if", "nsl >= 1")
    assert call(*arguments).code == 0


@pytest.mark.parametrize("baseline", ["w", "w.json", "./w.json"])
def test_a_baseline_among_the_models(call: Call, baseline: str) -> None:
    found = call(*BOTH, "--baseline", baseline, "--json")
    models = json.loads(found.out)["models"]
    assert [entry["name"] for entry in models] == ["b", "w"]
    assert [entry["metrics"]["nsl"] for entry in models] == [2.0, 1.0]
    assert call(*BOTH, "--baseline", baseline, "--fail-if", "nsl == 1").code == 2


def test_models_of_one_name_keep_their_paths(call: Call) -> None:
    Path("old").mkdir()
    model("bpe").save("old/b.json")
    found = call("-m", "b.json", "-m", "old/b.json", "low.txt", "--json")
    assert [entry["name"] for entry in json.loads(found.out)["models"]] == ["b.json", "old/b.json"]


def test_training_first(call: Call, tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    found = call("low.txt", "--vocab", "300", "--algo", "wordpiece,bpe", "--json")
    assert [entry["name"] for entry in json.loads(found.out)["models"]] == ["wordpiece", "bpe"]
    assert found.err == (
        "training wordpiece and bpe with 300 ids on low.txt; they are not saved\n"
        "note: wordpiece reaches 34 ids: no pair was left to merge\n"
        "note: bpe reaches 279 ids: no pair was left to merge\n"
    )
    assert sorted(tmp_path.iterdir()) == before


def test_the_bundled_sample() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tokctl", "compare"],
        capture_output=True,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
        # Not what readline, which pytest imports, puts into the process's own: COLUMNS.
        env=dict(os.environ),
    )
    assert done.returncode == 0
    size, text, trained = done.stdout.splitlines()[:3]
    assert size.startswith("The text is too short for 10,000 ids: the models are compared at 1,")
    assert text.startswith("the-lamplighters-atlas.txt, held-out part: 5,493 characters")
    assert trained == (
        "Trained on 36,880 bytes of the-lamplighters-atlas.txt; measured on 5,656 bytes held out "
        "(10 of 100 blocks of paragraphs, seed 0)."
    )
    assert "\x1b" not in done.stdout
    first, second, *notes = done.stderr.splitlines()
    assert first == "no text was given: using the bundled sample, the-lamplighters-atlas.txt"
    assert second.startswith(
        "training bpe, wordpiece-likelihood, wordpiece-count and unigram with 10,000 and 20,000 ids"
    )
    assert [note.split(" reaches ")[0] for note in notes] == [
        "note: bpe",
        "note: wordpiece-likelihood",
        "note: wordpiece-count",
        "note: unigram",
    ]


PARAGRAPHS = "".join(f"low {number}\n\nlowest {number} newer\n\n" for number in range(100))


def test_what_is_held_out(call: Call) -> None:
    Path("p.txt").write_text(PARAGRAPHS)
    Path("q.txt").write_text("low lower lowest\n")
    options = ("--algo", "bpe", "--vocab", "258")

    def training(*arguments: str) -> tuple[str, dict[str, Any]]:
        document = json.loads(call(*options, *arguments, "--json").out)
        return call(*options, *arguments).out.splitlines()[1], document["training"]

    held_out = [15, 36, 44, 46, 69, 74, 76, 85, 87, 99]
    said, found = training("p.txt")
    assert said == (
        "Trained on 2,230 bytes of p.txt; measured on 250 bytes held out (10 of 100 blocks of "
        "paragraphs, seed 0)."
    )
    assert (found["share"], found["seed"], found["asked"], found["size"]) == (0.1, 0, 258, None)
    part = {"unit": "paragraphs", "units": 100, "held_out": held_out}
    assert found["texts"] == [{"name": "p.txt", "bytes": 2230, **part}]
    assert training("p.txt", "--held-out-seed", "1")[1]["texts"][0]["held_out"] != held_out
    assert "(25 of 100 blocks" in training("p.txt", "--held-out", "0.25")[0]
    assert training("p.txt", "--held-out", "0")[0] == (
        "Trained on 2,480 bytes of p.txt, and measured on the same: a text that the models don't "
        "know takes more tokens."
    )
    said, found = training("p.txt", "--held-out", "q.txt")
    assert said == "Trained on 2,480 bytes of p.txt; measured on another text."
    assert found["share"] is None
    assert training("q.txt")[0] == (
        "Trained on 17 bytes of q.txt, and measured on the same; too short to hold 0.1 of it out: "
        "a text that the models don't know takes more tokens."
    )


def test_languages_lose_the_same_lines(call: Call) -> None:
    for name in ("en", "fi"):
        Path(f"{name}.txt").write_text("".join(f"{name} {line}\n\n" for line in range(50)))
    found = call(
        "--algo", "bpe", "--vocab", "260", "--lang", "en=en.txt", "--lang", "fi=fi.txt", "--json"
    )
    english, finnish = json.loads(found.out)["training"]["texts"]
    assert english["unit"] == "lines" and len(english["held_out"]) == 10
    assert english["held_out"] == finnish["held_out"]


def test_how_it_was_made(call: Call, tmp_path: Path) -> None:
    text = tmp_path / "low.txt"
    arguments = ("--algo", "bpe", "--vocab", "260", str(text))
    found = json.loads(call(*arguments, "--json").out)["provenance"]
    assert found["command"] == "tokctl compare --algo bpe --vocab 260 low.txt --json"
    data = text.read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    assert found["texts"] == [{"name": str(text), "bytes": len(data), "sha256": digest}]
    model = Tokenizer.train(["low.txt"], vocab_size=260)
    model.save("made.json")
    made = Path("made.json").read_bytes()
    alone = json.loads(call(*arguments, "--held-out", "0", "--json").out)["provenance"]
    assert alone["models"] == [
        {"name": "bpe", "bytes": len(made), "sha256": hashlib.sha256(made).hexdigest()}
    ]
    page = call(*arguments).out.partition("How this was made\n")[2]
    assert page.startswith("command  tokctl compare --algo bpe --vocab 260 low.txt\ntokctl   ")
    assert f"low.txt: {len(data)} bytes, sha256 {digest}" in page and str(tmp_path) not in page
    # The day is named where it is asked for, in every form.
    assert found["date"] == ""
    dated = json.loads(call(*arguments, "--date", "--json").out)["provenance"]["date"]
    assert abs(date.fromisoformat(dated) - date.today()) <= timedelta(days=1)
    for form in ((), ("--markdown",), ("--latex",)):
        assert dated in call(*arguments, "--date", *form).out.replace("{-}", "-")


def test_figures_of_what_is_held_out(call: Call) -> None:
    """Against the rule, a training and a count of their own."""
    Path("p.txt").write_text(PARAGRAPHS)
    found = json.loads(call("--algo", "bpe", "--vocab", "300", "p.txt", "--json").out)
    parts = [f"{part}\n\n" for part in PARAGRAPHS.split("\n\n") if part]
    blocks = [parts[2 * number] + parts[2 * number + 1] for number in range(100)]
    order = sorted(range(100), key=lambda number: hashlib.sha256(f"0:{number}".encode()).digest())
    held_out = set(order[:10])
    runs = [
        "".join(blocks[number] for _, number in run)
        for is_held, run in groupby(enumerate(range(100)), lambda pair: pair[1] in held_out)
        if not is_held
    ]
    for number, run in enumerate(runs):
        Path(f"run-{number:02}").write_text(run)
    model = Tokenizer.train(sorted(Path().glob("run-*")), vocab_size=300)
    measured = [blocks[number] for number in sorted(held_out)]
    tokens = sum(len(model.encode(block).ids) for block in measured)
    words = sum(len(block.split()) for block in measured)
    (report,) = found["models"]
    assert report["vocab_size"] == model.vocab_size
    assert report["metrics"]["tokens"] == tokens
    assert report["metrics"]["fertility"] == pytest.approx(tokens / words)
    assert report["metrics"]["bytes_per_token"] == len("".join(measured)) / tokens


def test_models_of_one_size(call: Call) -> None:
    Path("p.txt").write_text(PARAGRAPHS)
    found = call("--algo", "bpe,wordpiece,unigram,char", "--vocab", "400,350", "p.txt")
    assert found.out.startswith("No size is reached by all models: bpe has ")
    found = call("--algo", "wordpiece,unigram,word", "--vocab", "400", "p.txt", "--json")
    document = json.loads(found.out)
    size = document["training"]["size"]
    assert document["training"]["asked"] == 400 and size < 400
    sizes = {model["name"]: model["vocab_size"] for model in document["models"]}
    assert sizes["wordpiece"] == sizes["unigram"] == size >= sizes["word"]
    page = call("--algo", "wordpiece,unigram,word", "--vocab", "400", "p.txt").out
    assert page.startswith(f"The text is too short for 400 ids: the models are compared at {size}")


def test_a_model_that_knows_the_text_is_marked(call: Call) -> None:
    Path("new.txt").write_text("new newer\n")
    found = json.loads(call(*BOTH, "new.txt", "--json").out)
    assert [model["trained_on"] for model in found["models"]] == [["low.txt"], ["low.txt"]]
    assert "trained on" not in call(*BOTH[:4], "new.txt").out


def test_several_texts(call: Call) -> None:
    Path("new.txt").write_text("new newer\n")
    page = call(*BOTH, "new.txt").out
    assert page.startswith("2 texts: 81 characters, 14 words, 5 lines.")
    assert "Bytes per token, by text\n             b      w\nlow.txt  2.536  5.071\n" in page


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no.txt"], "error: can't read no.txt: No such file or directory\nhint: "),
        (["-m", "no.json", "low.txt"], "error: can't read the model no.json: No such file"),
        (
            ["-m", "low.txt", "low.txt"],
            "error: low.txt is not a model file in a supported format, or it is damaged",
        ),
        (
            ["-m", "b.json"] * 2,
            "error: the model b.json is given twice\nhint: give each of them once\n",
        ),
        (["--lang", "a=low.txt"] * 2, "error: the language a is named twice\nhint: give each "),
        (["--fail-if", "nsl"], "error: 'nsl' is not a condition\nhint: write METRIC OP NUMBER"),
        (["--fail-if", "nsl > 1 > 2"], "error: 'nsl > 1 > 2' is not a condition\n"),
        (["--fail-if", "nsl > nan"], "error: 'nsl > nan' is not a condition\n"),
        (["--fail-if", "fertilty > 2"], "error: no metric is called 'fertilty'\nhint: did you "),
        (["--algo", "bep"], "error: no algorithm or preset is called 'bep'\nhint: choose one"),
        (["-m", "b.json", "--algo", "bpe"], "error: --algo and --vocab are for training"),
        (["--json", "--markdown"], "error: --json and --markdown are two outputs\n"),
        (["--baseline", "x"], "error: the baseline 'x' is neither a model of this comparison nor"),
        (["--errors", "ignore"], "error: invalid value 'ignore' for --errors\n"),
        (["-", "-"], "error: stdin (-) is named twice\n"),
        (
            ["--vocab", "9", "low.txt"],
            "training bpe, wordpiece-likelihood, wordpiece-count and unigram with 9 ids on low.txt",
        ),
        (
            ["--held-out", "1.5", "low.txt"],
            "error: invalid value 1.5 for the held-out share\nhint: give a share of at least 0 "
            "and less than 1\n",
        ),
        (["--held-out", "no.txt", "low.txt"], "error: can't read no.txt: No such file"),
        (
            [*BOTH, "--held-out", "low.txt"],
            "error: --held-out low.txt can't be used with -m\nhint: models that exist already",
        ),
        (
            ["--held-out", "low.txt", "--lang", "en=low.txt"],
            "error: --held-out low.txt can't be used with --lang\nhint: give a share",
        ),
    ],
)
def test_errors(call: Call, arguments: list[str], message: str) -> None:
    found = call(*arguments)
    assert (found.code, found.out) == (2, "")
    assert found.err.startswith(message)


def test_models_that_agree(call: Call) -> None:
    model("bpe").save("c.json")
    page = call("-m", "b.json", "-m", "c.json", "low.txt", "--sentence", "").out
    assert "tokens\n\nb  0\nc  0\n\nWords that are cut most differently\nnone (" in page
    assert "*" not in page.split("Sentences")[0].replace("* best", "")


def test_one_model_is_compared_with_nothing(call: Call) -> None:
    found = call("-m", "b.json", "low.txt")
    assert (found.code, "Vocabulary overlap" in found.out) == (0, False)


def test_a_text_without_words(call: Call) -> None:
    Path("dna.txt").write_text("ACGT" * 99 + "\n")
    found = call("-m", "b.json", "dna.txt", "--fail-if", "fertility > 1")
    reason = "the text has fewer than one space per 20 characters"
    assert f"n/a: fertility, continued words, STRR: {reason}\n" in found.out
    note = f"note: not checked: fertility > 1 for b: it is n/a: {reason}\n"
    assert (found.code, found.err) == (0, note)


def test_text_that_is_not_utf8(call: Call) -> None:
    Path("bad.txt").write_bytes(b"low\nl\xffow\n")
    found = call("-m", "b.json", "-m", "w.json", "bad.txt")
    assert found == Done(
        2,
        "",
        "error: bad.txt: line 2, byte 5 is not UTF-8, and this model reads characters\n"
        "hint: use --errors replace to put U+FFFD in its place, or a byte-level model\n",
    )
    assert call("-m", "b.json", "bad.txt").code == 0
    assert call("-m", "b.json", "-m", "w.json", "bad.txt", "--errors", "replace").code == 0


def test_names_cannot_command_a_terminal(call: Call) -> None:
    Path("a\x1b[31m.txt").write_text(TEXT)
    model("bpe").save("b\x1b[31m.json")
    found = call("-m", "b\x1b[31m.json", "a\x1b[31m.txt", "--sentence", "\x1b[31mlow")
    assert "\x1b" not in found.out
    assert found.out.startswith("a\\x1b[31m.txt: 71 characters")


def test_help_fits_and_names_every_metric(call: Call, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("--help").code == 0
    page = capsys.readouterr().out
    for name in metric_names():
        assert name in page
    # A name that Typer made of a metavar would be in capitals.
    assert not re.search(r"--[A-Z]", page)


def test_words_that_are_asked_for(call: Call) -> None:
    found = call(*BOTH, "--word", "widest", "--word", "low", "--json")
    assert [story["word"] for story in json.loads(found.out)["words"]] == ["widest", "low"]
    wrong = call(*BOTH, "--words", "widest")
    assert wrong.err == (
        "error: invalid value 'widest' for --words\n"
        "hint: choose spaces or unicode; to explain a word, use --word\n"
    )


def test_what_a_metric_is(call: Call) -> None:
    page = call("--explain", "nsl").out
    assert page.startswith("nsl  NSL\n")
    assert "arXiv 2402.01035" in page
    assert "vocabulary_use" in call("--explain", "all").out
    entry = json.loads(call("--explain", "gini", "--json").out)["definitions"][0]
    assert entry["name"] == "gini"
    assert call("--explain", "nls").err.startswith(
        "error: no metric is called 'nls'\nhint: did you mean nsl?"
    )


def test_a_word_that_was_asked_for(call: Call) -> None:
    page = call("-m", "b.json", "low.txt", "--word", "longer", "--word", "lower").out
    assert "\n\nWords, and why they are split this way\nlonger  once in the text\nb  " in page
    assert "\n\nlower  twice in the text\nb  " in page
