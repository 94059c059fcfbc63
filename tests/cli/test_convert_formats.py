"""convert --to: every format that tokctl writes, what it can't hold, and --verify."""

from __future__ import annotations

import base64
import importlib.util
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import orjson
import pytest

from tests.cli.conftest import TEXT, Models
from tests.cli.run import error, names, process, tokctl
from tests.errors import raises_code
from tokctl import Tokenizer, formats, preset
from tokctl.formats import LostFeature, UnsupportedByFormat
from tokctl.formats.huggingface import document

WRITTEN = [known for known in formats.FORMATS if known.writes]
NAMES = [known.name for known in WRITTEN]


@pytest.mark.few(16)
@pytest.mark.parametrize("known", WRITTEN, ids=NAMES)
@pytest.mark.parametrize("name", ["bytes", "regex", "characters", "wordpiece", "no-unknown"])
def test_every_format(
    models: Models, folder: Path, text: Path, name: str, known: formats.Format
) -> None:
    """It is written and verified, or refused with a reason and nothing is there."""
    done = tokctl("convert", models[name], "--to", known.name, "-o", "out", "--verify", text)
    model = Tokenizer.load(models[name]).model
    try:
        losses = formats.losses(model, known.name)
    except UnsupportedByFormat as reason:
        assert done.code == 2
        first, hint = done.err.splitlines()
        assert first == f"error: {known.title} can't express this model: {reason}"
        assert hint.startswith("hint: formats that can: tokctl")
        assert known.name not in hint.split("; ")[0].removeprefix("hint: formats that can: ").split(
            ", "
        )
        assert names(folder) == ["text.txt"]
        return
    for loss in losses:
        assert loss.what in done.err
    if any(not loss.minor for loss in losses):
        assert (done.code, done.out) == (2, b"")
        assert f"error: {known.title} can't hold " in done.err
        assert "hint: --lossy writes it without " in done.err
        assert names(folder) == ["text.txt"]
        lossy = tokctl("convert", models[name], "--to", known.name, "-o", "out", "--lossy")
        assert (lossy.code, lossy.out) == (0, b"out\n"), lossy.err
        assert "warning: " in lossy.err
        return
    if done.code == 1 and "was not verified" in done.err:
        # A library that hardly anybody has: llama-cpp-python takes minutes to build.
        assert known.name == "gguf" and importlib.util.find_spec("llama_cpp") is None
        assert "hint: pip install llama-cpp-python, or leave --verify out" in done.err
        assert names(folder) == ["text.txt"]
        done = tokctl("convert", models[name], "--to", known.name, "-o", "out")
        assert (done.code, done.out) == (0, b"out\n"), done.err
    else:
        assert (done.code, done.out) == (0, b"out\n"), done.err
        assert "\nthe same " in f"\n{done.err}"
    assert Path("out").is_dir() == known.is_folder
    again = Tokenizer.load("out")
    assert again.encode(TEXT).ids == Tokenizer.load(models[name]).encode(TEXT).ids


def test_default_names(models: Models) -> None:
    Path("m.json").write_bytes(models["bytes"].read_bytes())
    assert tokctl("convert", "m.json").out == b"m.tokctl.json\n"
    assert tokctl("convert", "m.json", "--to", "huggingface").out == b"m.huggingface.json\n"
    assert tokctl("convert", "m.json", "--prune", "270").out == b"m.270.json\n"
    Path("in").mkdir()
    Path("m.json").rename("in/m.v2.json")
    assert tokctl("convert", "in/m.v2.json", "--to", "huggingface").out == b"m.v2.json\n"


def test_default_names_of_folders(models: Models, monkeypatch: pytest.MonkeyPatch) -> None:
    a_folder(monkeypatch)
    Path("m.json").write_bytes(models["bytes"].read_bytes())
    done = tokctl("convert", "m.json", "--to", "a-folder")
    assert (done.code, done.out) == (0, b"m\n"), done.err
    assert done.err == "note: in it: m/tokenizer.json\nnote: in it: m/deep/more.json\n"
    assert names(Path("m")) == ["deep", "tokenizer.json"]
    again = tokctl("convert", "m.json", "--to", "a-folder")
    assert again == (
        2,
        b"",
        error("m exists already", "choose another folder with -o PATH, or replace this one: -o m"),
    )
    facts = orjson.loads(tokctl("convert", "m.json", "--to", "a-folder", "-o", "n", "--json").out)
    assert (facts["path"], facts["files"]) == ("n", ["n/tokenizer.json", "n/deep/more.json"])


def a_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """A format that is a folder, and one with a companion."""

    def write(model: Any) -> dict[str, bytes]:
        return {"tokenizer.json": formats.serialize(model), "deep/more.json": b"{}"}

    def write_two(model: Any) -> dict[str, bytes]:
        return {"": formats.serialize(model), ".json": b"{}"}

    made = []
    for name, suffix, writer in (("a-folder", "", write), ("two", ".two", write_two)):
        module = SimpleNamespace(
            write=writer, losses=lambda _: [], detect=lambda _: False, read=None
        )
        one = formats.Format(name, f"{name} format", "", suffix)
        made.append(
            type("Made", (formats.Format,), {"load": lambda _, module=module: module})(*one)
        )
    listed = (*formats.FORMATS, *made)
    for where in ("tokctl.formats.FORMATS", "tokctl.formats.FORMATS"):
        monkeypatch.setattr(where, listed)


def test_the_model_beside_a_folder_is_not_written_over(models: Models) -> None:
    Path("m.json").write_bytes(models["bytes"].read_bytes())
    assert tokctl("convert", "m.json", "--to", "huggingface-folder").code == 0
    done = tokctl("convert", "m")
    hint = "choose another file with -o PATH, or replace this one: -o m.json"
    assert done == (2, b"", error("m.json exists already", hint))
    assert Path("m.json").read_bytes() == models["bytes"].read_bytes()
    assert tokctl("convert", "m", "-o", "m.json").code == 0


def test_a_folder_of_another_format(models: Models, text: Path) -> None:
    Path("m.json").write_bytes(models["bytes"].read_bytes())
    assert tokctl("convert", "m.json", "--to", "huggingface-folder").code == 0
    asked = ("--to", "vocab-merges", "-o", "m", "--lossy", "--verify", str(text))
    done = tokctl("convert", "m.json", *asked)
    assert done.code == 2
    assert "error: the folder m holds tokenizer.json, which would also become part" in done.err
    assert "vocab.json" not in names(Path("m"))


def test_what_nobody_reads_is_not_verified(text: Path) -> None:
    made = tokctl("train", "--algo", "word", "--vocab", "20", "-o", "words.json", str(text))
    assert made.code == 0
    asked = ("--to", "word-counts", "-o", "w.tsv", "--lossy", "--verify", str(text))
    done = tokctl("convert", "words.json", *asked)
    assert done.code == 2 and not Path("w.tsv").exists()
    message = "no program reads a model from word counts, so there is nothing to verify"
    assert done.err.endswith(error(message, "leave --verify out"))


def test_files_that_belong_together(models: Models, monkeypatch: pytest.MonkeyPatch) -> None:
    a_folder(monkeypatch)
    done = tokctl("convert", models["bytes"], "--to", "two", "-o", "a.two")
    assert done == (0, b"a.two\n", "note: with it: a.two.json\n")
    Path("b.two.json").write_bytes(models["bytes"].read_bytes())
    done = tokctl("convert", "b.two.json", "--to", "two", "-o", "b.two")
    assert done.code == 2 and "b.two.json: it is one of the files to read" in done.err
    assert names(Path()) == ["a.two", "a.two.json", "b.two.json"]


def test_a_folder_is_not_written_over_its_own_files(
    models: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_folder(monkeypatch)
    Path("m").mkdir()
    Path("m/tokenizer.json").write_bytes(models["bytes"].read_bytes())
    for target in ("m", "m/tokenizer.json"):
        done = tokctl("convert", "m/tokenizer.json", "--to", "a-folder", "-o", target)
        assert (done.code, done.out) == (2, b"")
    assert tokctl("convert", "m/tokenizer.json", "--to", "a-folder", "-o", "no/where").code == 2
    assert Path("m/tokenizer.json").read_bytes() == models["bytes"].read_bytes()
    assert names(Path("m")) == ["tokenizer.json"]


# -- what is left out ---------------------------------------------------------------------


@pytest.fixture
def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hugging Face's file, as if it could not hold a normalizer, a template and a date."""
    found = [
        LostFeature("the date", minor=True),
        LostFeature("the normalizer nfkc"),
        LostFeature("a template"),
    ]
    monkeypatch.setattr(document, "losses", lambda _: list(found))


@pytest.mark.usefixtures("forgetful")
def test_what_is_lost_is_said_before_anything_is_written(models: Models, folder: Path) -> None:
    arguments = ("convert", models["bytes"], "--to", "huggingface", "-o", "out.json")
    title = "Hugging Face tokenizer.json"
    refused = tokctl(*arguments)
    said = error(
        f"{title} can't hold the normalizer nfkc; a template",
        "--lossy writes it without them, and then ids or texts can differ",
    )
    assert refused == (2, b"", f"note: {title} can't hold the date\n{said}")
    assert tokctl("-q", *arguments).err == said
    assert names(folder) == []
    allowed = tokctl(*arguments, "--lossy")
    assert (allowed.code, allowed.out) == (0, b"out.json\n")
    assert allowed.err == (
        f"warning: {title} can't hold the normalizer nfkc: it is left out\n"
        f"warning: {title} can't hold a template: it is left out\n"
        f"note: {title} can't hold the date\n"
    )
    facts = orjson.loads(tokctl(*arguments, "--lossy", "--json").out)
    assert facts["losses"] == [
        {"what": "the normalizer nfkc", "minor": False},
        {"what": "a template", "minor": False},
        {"what": "the date", "minor": True},
    ]
    assert (facts["format"], facts["files"]) == ("huggingface", ["out.json"])


@pytest.mark.usefixtures("forgetful")
def test_losses_in_python(models: Models) -> None:
    tokenizer = Tokenizer.load(models["bytes"])
    assert [loss.what for loss in tokenizer.losses("huggingface")][2] == "the date"
    assert tokenizer.losses("tokctl") == []
    with raises_code("unsupported", "can't hold the normalizer nfkc, and 1 more"):
        tokenizer.save("out.json", "huggingface")


def test_nothing_like_it_in_python(models: Models) -> None:
    tokenizer = Tokenizer.load(models["no-unknown"])
    for refused in (tokenizer.losses, lambda name: tokenizer.save("out.json", name, lossy=True)):
        with raises_code("unsupported") as caught:
            refused("huggingface")
        assert str(caught.value.hint).startswith("formats that can: tokctl")
    with raises_code("unknown-name", "no format is called 'nope'"):
        tokenizer.losses("nope")
    assert not Path("out.json").exists()


# -- what is asked ------------------------------------------------------------------------


def test_the_list_of_formats() -> None:
    done = tokctl("convert", "--list-formats")
    rows = [line.split("\t") for line in done.out.decode().splitlines()]
    assert rows == [
        [one.name, one.title, "read" if one.reads else "-", "write" if one.writes else "-"]
        for one in formats.FORMATS
    ]
    listed = orjson.loads(tokctl("convert", "--list-formats", "--json").out)
    assert [one["name"] for one in listed] == [one.name for one in formats.FORMATS]
    shown = tokctl("convert", "--list-formats", stdout_is_terminal=True).out.decode()
    assert shown.startswith("tokctl  ") and "\t" not in shown


@pytest.mark.parametrize("columns", ["60", "80", "120"])
def test_help_names_every_format(columns: str) -> None:
    shown = process("convert", "--help", env={"COLUMNS": columns, "NO_COLOR": "1"}).out.decode()
    assert all(len(line) <= int(columns) for line in shown.splitlines())
    for known in formats.FORMATS:
        assert f"\n   {known.name} " in shown and known.title in " ".join(shown.split())


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (
            ("--to", "nope"),
            "no format is called 'nope'",
            f"choose one of: {', '.join(one.name for one in formats.FORMATS if one.writes)}",
        ),
        (
            ("-o", "x.tiktoken"),
            "x.tiktoken has a usual name of tiktoken ranks, but without --to its format would be "
            "tokctl model file",
            "choose the format: --to tiktoken or --to tokctl",
        ),
        (
            ("--special-token", "a", "-o", "x.json"),
            "invalid value 'a' for --special-token",
            "name the token, then its id: '<|end|>=50256'",
        ),
        (
            ("--special-token", "=3", "-o", "x.json"),
            "invalid value '=3' for --special-token",
            "name the token, then its id: '<|end|>=50256'",
        ),
        (
            ("--special-token", "a=3", "--special-token", "a=4", "-o", "x.json"),
            "the special token 'a' has two ids",
            "leave one of them out",
        ),
        (("--to", "tokctl", "-o", ""), "-o is empty", "choose another place with -o PATH"),
    ],
)
def test_refused(
    models: Models, folder: Path, arguments: tuple[str, ...], message: str, hint: str
) -> None:
    assert tokctl("convert", models["bytes"], *arguments) == (2, b"", error(message, hint))
    assert names(folder) == []


def test_formats_that_are_only_read(models: Models) -> None:
    for known in formats.FORMATS:
        if not known.writes:
            done = tokctl("convert", models["bytes"], "--to", known.name, "-o", "x")
            message = f"tokctl reads {known.title}, and does not write it"
            assert done.code == 2
            assert done.err == error(message, f"choose one of: {', '.join(NAMES)}")


def test_hints_reach_the_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    load = Tokenizer.load

    def spy(path: str, **more: Any) -> Tokenizer:
        seen.append(more)
        return load(path, **more)

    monkeypatch.setattr(Tokenizer, "load", spy)
    lines = (base64.b64encode(bytes([byte])) + b" %d\n" % byte for byte in range(256))
    Path("x.tiktoken").write_bytes(b"".join(lines))
    arguments = (
        "--pattern",
        "cl100k",
        "--special-token",
        "<|end|>=256",
        "--special-token",
        "a=b=257",
    )
    assert tokctl("convert", "x.tiktoken", "-o", "x.json", *arguments).code == 0
    assert seen == [{"pattern": "cl100k", "special_tokens": {"<|end|>": 256, "a=b": 257}}]


def test_hints_that_the_file_does_not_need_are_refused(models: Models) -> None:
    """They would have no effect, and nobody would know."""
    for arguments in (("--pattern", "cl100k"), ("--special-token", "a=3")):
        done = tokctl("convert", models["bytes"], "-o", "x.json", *arguments)
        assert done.code == 2 and "(tokctl model file) already says" in done.err
        assert not Path("x.json").exists()


def test_a_default_name_replaces_nothing(models: Models) -> None:
    tokctl("convert", models["bytes"], "--to", "tiktoken", "-o", "m.tiktoken")
    Path("m.json").write_bytes(b"mine")
    done = tokctl("convert", "m.tiktoken")
    assert done.code == 2 and done.err.startswith("error: m.json exists already")
    assert Path("m.json").read_bytes() == b"mine"


def test_a_template_that_is_lost_is_not_compared() -> None:
    """What --lossy left out on purpose is no difference of a text."""
    Path("text.txt").write_text("low lower\n")
    ours = Tokenizer.train({"low": 3}, vocab_size=300, recipe=preset("llama3"))
    ours.save("m.json")
    assert ours.recipe.post_processors
    arguments = ("--to", "tiktoken", "-o", "m.tiktoken", "--verify", "text.txt")
    assert tokctl("convert", "m.json", *arguments).code == 2
    done = tokctl("convert", "m.json", *arguments, "--lossy")
    assert done.code == 0, done.err
    assert "note: not compared: the special tokens around texts" in done.err
    assert "the same " in done.err
