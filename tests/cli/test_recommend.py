"""`tokctl recommend`: what it writes, and that the command which it names works."""

from __future__ import annotations

import csv
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import systems
from tests.cli.run import Result, error, tokctl
from tests.recommend.made import lexicon_text
from tokctl.cli.recommend import parameters
from tokctl.core.errors import TokctlError
from tokctl.extras.recommend.candidates import CANDIDATES
from tokctl.tokenizer import Tokenizer

SMALL = ("--algo", "bpe/gpt2,unigram/o200k", "--vocab", "500,1000,2000,4000")


@pytest.fixture(autouse=True)
def text(folder: Path) -> Path:
    path = folder / "a.txt"
    path.write_bytes(lexicon_text())
    return path


def run(*arguments: str, **world: object) -> Result:
    return tokctl("recommend", "-q", *arguments, **world)  # type: ignore[arg-type]


def told(*arguments: str, **world: object) -> Any:
    """What `--json` gives; the advice as a table of subjects."""
    done = run("--json", *arguments, **world)
    assert (done.code, done.err) == (0, "")
    found = json.loads(done.out)
    return found | {"advice": {one["subject"]: one["text"] for one in found["advice"]}}


def test_facts() -> None:
    found = told(*SMALL, "a.txt")
    assert (found["vocab_size"], found["candidate"]) == (1000, "unigram/o200k")
    size, corpus = Path("a.txt").stat().st_size, found["corpus"]
    assert (corpus["documents"], corpus["bytes"], corpus["sampled_bytes"]) == (1, size, None)
    assert corpus["training_bytes"] + corpus["held_out_bytes"] == size
    assert list(found["advice"]) == [
        "vocabulary size", "algorithm", "pre-tokenizer", "numbers", "coverage", "evidence",
    ]  # fmt: skip
    assert [curve["candidate"] for curve in found["curves"]] == ["bpe/gpt2", "unigram/o200k"]
    command = found["command"]
    assert command.startswith("tokctl train --algo unigram --normalize none --pretokenize o200k ")
    assert command.endswith(" --vocab 1000 a.txt")
    assert list(told(*SMALL, "--params", "1M", "a.txt")["advice"])[1] == "embeddings"


def test_tables() -> None:
    tables = run(*SMALL, "--csv", "--params", "1M", "a.txt").out.decode().split("\n\n")
    advice, curves, one = (list(csv.reader(table.splitlines())) for table in tables)
    assert advice[:2] == [["Recommendation"], ["fact", "value"]]
    assert curves[:2] == [
        ["Bytes per token on what is held out"],
        ["vocabulary", "bpe/gpt2", "unigram/o200k", "unigram/o200k verdict"],
    ]
    assert all(float(cell) > 1 for row in curves[2:5] for cell in row[1:3])
    assert {row[3] for row in curves[2:5]} == {"best"}
    assert one[0] == ["The curve of unigram/o200k"]
    assert {len(row) for row in one[1:]} == {6}


def test_every_sentence_has_a_figure() -> None:
    for params in ((), ("--params", "1M")):
        advice = told(*SMALL, *params, "a.txt")["advice"]
        assert all(any(char.isdigit() for char in sentence) for sentence in advice.values())


def test_for_people(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = (*SMALL, "--params", "1M", "--no-pager", "a.txt")
    for width in (40, 80, 160):
        monkeypatch.setenv("COLUMNS", str(width))
        done = run(*arguments, stdout_is_terminal=True, environ={"NO_COLOR": "1"})
        lines = done.out.decode().splitlines()
        headings = ["Recommendation", "Bytes per token on what is held out", "Command"]
        assert [line for line in lines if line in headings] == headings
        assert lines[-1].startswith("tokctl train --algo ")  # whole, however narrow it is
        assert lines[-1].endswith(" a.txt")
        assert all(len(line) <= width for line in lines[:-1])
        assert b"\x1b" not in done.out


def test_other_forms() -> None:
    found = json.loads(run(*SMALL, "--json", "a.txt").out)
    assert found["vocab_size"] == 1000
    assert found["candidate"] == "unigram/o200k"
    assert found["command"].endswith(" a.txt")
    assert [len(curve["points"]) for curve in found["curves"]] == [4, 3]
    assert found["model"] is None
    markdown = run(*SMALL, "--markdown", "a.txt").out.decode()
    assert markdown.startswith("# Recommendation\n")
    assert f"\n    {found['command']}\n" in markdown
    latex = run(*SMALL, "--latex", "a.txt").out.decode()
    assert r"\section*{Command}" in latex
    done = run(*SMALL, "--json", "--latex", "a.txt")
    assert done == (2, b"", error("--json and --latex are two outputs", "choose one of them"))


@pytest.mark.parametrize("name", CANDIDATES)
def test_the_options_make_the_candidate(name: str) -> None:
    one = CANDIDATES[name]
    assert tokctl("train", "-q", *one.options, "-v", "900", "-o", "m.json", "a.txt").code == 0
    made = Tokenizer.load("m.json")
    assert made.model.recipe == one.recipe
    assert made.vocab_size == 900


@pytest.mark.few(2)
@systems.shell
@pytest.mark.parametrize("name", ["a b's.txt", "-x.txt", "tab\there.txt", "$HOME;é.txt"])
def test_the_command_works_when_it_is_pasted(name: str, tmp_path: Path) -> None:
    Path("a.txt").rename(name)
    named = ("--", name) if name.startswith("-") else (name,)
    command = run(*SMALL, *named).out.decode().splitlines()[-1]
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    (bin_ / "tokctl").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m tokctl "$@"\n')
    (bin_ / "tokctl").chmod(0o755)
    environ = {**os.environ, "PATH": f"{bin_}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", command], capture_output=True, env=environ, check=True)
    assert Tokenizer.load(done.stdout.decode().rstrip("\n")).vocab_size == 1000


def test_the_command_reads_as_this_one_did(folder: Path) -> None:
    lines = lexicon_text(lines=900).decode().splitlines()
    (folder / "many").mkdir()
    documents = "".join(json.dumps({"body": line}) + "\n" for line in lines if line)
    (folder / "many" / "b.jsonl").write_text(documents)
    (folder / "many" / "c.txt").write_text("not this")
    options = ("--text-field", "body", "--include", "*.jsonl")
    command = told("--algo", "bpe/gpt2", "--vocab", "400", *options, "many")["command"]
    assert command.endswith(" --vocab 400 --text-field body --include '*.jsonl' many")
    assert shlex.split(command)[0] == "tokctl"
    assert tokctl(*shlex.split(command)[1:], "-q").code == 0


def test_stdin() -> None:
    data = Path("a.txt").read_bytes()
    command = run(*SMALL, stdin=data).out.decode().splitlines()[-1]
    assert command.endswith(" -")


def test_a_text_that_is_too_short() -> None:
    from tokctl.sources.corpora import corpus_path

    found = told(str(corpus_path("sample")))
    assert found["command"] is None and found["vocab_size"] is None
    ((subject, sentence),) = found["advice"].items()
    assert subject == "vocabulary size"
    assert sentence.startswith("The text is too short to tell")
    assert "The largest size that all candidates reach is 1," in sentence
    shown = run(str(corpus_path("sample")), stdout_is_terminal=True, environ={"PAGER": ""})
    assert b"Command" not in shown.out and b"too short" in shown.out


def test_a_sample_is_told() -> None:
    corpus = told(*SMALL, "--sample-size", "150K", "a.txt")["corpus"]
    assert corpus["sampled_bytes"] <= 150 * 1024 < corpus["bytes"]
    shown = run(*SMALL, "--sample-size", "150K", "a.txt", stdout_is_terminal=True).out.decode()
    assert "pieces chosen at random" in " ".join(shown.split())


def test_a_sample_that_is_too_short(folder: Path) -> None:
    from tokctl.sources.corpora import corpus_path

    story = corpus_path("sample").read_bytes()
    (folder / "stories.txt").write_bytes(story * 4)
    (sentence,) = told("--sample-size", "100K", "stories.txt")["advice"].values()
    assert sentence.startswith("The sample is too short to tell")
    assert sentence.endswith("Take a larger one (--sample-size).")


def test_a_continuation_mark_is_no_punctuation_and_no_character() -> None:
    advice = told("--algo", "wordpiece", "--vocab", "400", "a.txt")["advice"]
    assert "symbols" in advice["coverage"] and "characters an id" not in advice["coverage"]
    assert advice["pre-tokenizer"].endswith(
        "bert. 0.0% of its tokens join letters with punctuation or line ends."
    )


def test_errors(folder: Path) -> None:
    def refused(*arguments: str) -> str:
        done = run(*arguments)
        assert (done.code, done.out) == (2, b"")
        assert done.err.startswith("error: ") and "\nhint: " in done.err
        return done.err.partition("\n")[0].removeprefix("error: ")

    (folder / "empty.txt").write_bytes(b"")
    assert refused("empty.txt") == "the text is empty"
    assert refused("--params", "1Q", "a.txt") == "invalid value '1Q' for --params"
    assert refused("--params", "3", "a.txt") == "invalid value 3 for parameters"
    assert refused("--algo", "word", "a.txt") == "no candidate is called 'word'"
    assert refused("--vocab", "0", "a.txt") == "invalid value '0' for --vocab"
    assert refused("--held-out", "0", "a.txt").startswith("nothing is held out")
    assert refused("--held-out", "nosuch", "a.txt").startswith("can't read nosuch")
    assert refused("--held-out", "-", "-") == "stdin (-) is named twice"
    assert refused("--sample-size", "0", "a.txt") == "invalid value '0' for --sample-size"
    assert refused("nosuch.txt").startswith("can't read nosuch.txt")
    assert tokctl("train", "-q", "-v", "300", "-o", "m.json", "a.txt").code == 0
    assert refused("m.json").startswith("m.json is a model")


@pytest.mark.parametrize(
    ("text", "number"),
    [("1B", 10**9), ("1.3b", 1_300_000_000), ("125M", 125 * 10**6), ("7G", 7 * 10**9)],
)
def test_numbers_of_parameters(text: str, number: int) -> None:
    assert parameters(text) == number


@pytest.mark.parametrize("text", ["", "B", "-1B", "1,5B", "1e9", "nan"])
def test_no_numbers_of_parameters(text: str) -> None:
    with pytest.raises(TokctlError):
        parameters(text)
