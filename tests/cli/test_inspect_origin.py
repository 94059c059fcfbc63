"""inspect says which format a file has, and where its model came from before that."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.run import tokctl
from tokctl import Tokenizer
from tokctl.model import ImportedFrom
from tokctl.tokenizer.model_names import find_baseline, name_files

Models = dict[str, Path]
COMPANIONS = {"chat_template.jinja": "{{ messages }}", "a/b\x1b.txt": ""}


def converted(models: Models, origin: ImportedFrom | None) -> None:
    model = Tokenizer.load(models["bytes"]).model
    Tokenizer(replace(model, training=None, origin=origin, extra_files=COMPANIONS)).save("m.json")


@pytest.mark.parametrize("question", [(), ("--recipe",)])
def test_a_file_that_was_converted_shows_both(models: Models, question: tuple[str, ...]) -> None:
    converted(models, ImportedFrom("tiktoken", "cl100k\t_base"))
    lines = tokctl("inspect", "m.json", *question, "--csv").out.decode().splitlines()
    lines = lines[lines.index("fact,value") + 1 :]
    assert lines[bool(question) :][:3] == [
        "format,tokctl model file",
        'origin,"tiktoken ranks, cl100k\\t_base"',
        'companions,"a/b\\x1b.txt, chat_template.jinja"',
    ]
    data = json.loads(tokctl("inspect", "m.json", *question, "--json").out)
    assert data["format"] == "tokctl"
    assert data["origin"] == {"format": "tiktoken", "name": "cl100k\t_base"}
    assert data["companions"] == sorted(COMPANIONS)


@pytest.mark.parametrize("columns", [60, 120])
def test_on_a_terminal(models: Models, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    converted(models, ImportedFrom("tiktoken", "a name of some length " * 6))
    for question in ((), ("--recipe",)):
        done = tokctl("inspect", "m.json", *question, stdout_is_terminal=True, color="never")
        shown = done.out.decode()
        assert all(len(line) <= columns for line in shown.splitlines())
        for label in ("format", "origin", "companions"):
            assert label in shown


def test_a_format_that_only_a_later_tokctl_knows(models: Models) -> None:
    converted(models, ImportedFrom("holograms"))
    assert "\norigin      holograms\n" in tokctl("inspect", "m.json").out.decode()


def test_an_origin_that_says_nothing_new_is_not_shown(models: Models) -> None:
    Tokenizer.load(models["bytes"]).save("m.json", "huggingface")
    shown = tokctl("inspect", "m.json").out.decode()
    assert "\nformat      Hugging Face tokenizer.json\n" in shown
    assert "\norigin " not in shown
    data = json.loads(tokctl("inspect", "m.json", "--json").out)
    assert data["origin"] == {"format": "huggingface", "name": ""}


def test_names_of_models_that_are_compared() -> None:
    Path("gpt2.v1").mkdir()
    paths = [
        "gpt2.v1",
        "gpt2.v1/../gpt2.v1/",
        "hf:org/bert",
        "hf:org/bert@main",
        "a.gguf",
        "x.json",
    ]
    assert name_files(paths) == {
        "gpt2.v1": "gpt2.v1",
        "gpt2.v1/../gpt2.v1/": "gpt2.v1/../gpt2.v1/",
        "bert": "hf:org/bert",
        "bert@main": "hf:org/bert@main",
        "a": "a.gguf",
        "x": "x.json",
    }
    assert name_files(["."]) == {Path.cwd().name: "."}
    assert name_files(["hf:a/m", "hf:b/m"]) == {"hf:a/m": "hf:a/m", "hf:b/m": "hf:b/m"}
    names = {"bert": "hf:org/bert"}
    assert find_baseline("hf:org/bert", names) == find_baseline("bert", names) == "bert"
    assert find_baseline("hf:org/other", names) is None
