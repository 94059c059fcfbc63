"""Values as people type them, for every option of the catalogue that has choices or numbers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from tests.cli.run import tokctl
from tests.errors import raises_code
from tokctl import Tokenizer
from tokctl.cli import command as commands
from tokctl.cli import numbers
from tokctl.cli.app import COMMANDS, build
from tokctl.core.values import limit_screen


def parameters() -> Iterator[tuple[str, Any]]:
    """The options and arguments of every command."""
    group: Any = typer.main.get_command(build())
    for name, command in group.commands.items():
        for inner in getattr(command, "commands", {"": command}).values():
            for each in inner.params:
                if getattr(each, "declared", None) is not None:
                    yield f"{name} {each.name}", each


CHOICES = [one for one in parameters() if commands.values_of(one[1])]
NUMBERS = [one for one in parameters() if getattr(one[1], "number", None)]


def read(parameter: Any, value: Any) -> Any:
    return commands._read(parameter, lambda _context, given: given, None, value)


def test_the_catalogue_is_tried() -> None:
    assert {name.split()[0] for name, _ in CHOICES} > {"train", "encode", "decode", "compare"}
    assert len(CHOICES) > 40 and len(NUMBERS) > 20 and len(COMMANDS) > 10


@pytest.mark.parametrize(("name", "parameter"), CHOICES, ids=[name for name, _ in CHOICES])
def test_choices_are_read_in_any_case(name: str, parameter: Any) -> None:
    known = commands.values_of(parameter)
    assert len({value.casefold() for value in known}) == len(known), name
    for value in known:
        for typed in (value, value.upper(), value.title()):
            many = parameter.multiple or parameter.nargs == -1
            if ":" in value or (many and "," in value):
                continue
            found = read(parameter, (typed,) if many else typed)
            assert found == ((value,) if many else value), name


@pytest.mark.parametrize(("name", "parameter"), CHOICES, ids=[name for name, _ in CHOICES])
def test_a_near_miss_of_a_choice_is_guessed(name: str, parameter: Any) -> None:
    if not commands._is_closed(parameter):
        pytest.skip(f"{name} takes other values, too")
    for value in commands.values_of(parameter):
        if len(value) > 4:
            wrong = value[:2] + value[3] + value[2] + value[4:]
            if wrong not in commands.values_of(parameter):
                with raises_code("bad-value", r"hint: did you mean \S+\? "):
                    commands._check(parameter, wrong)


@pytest.mark.parametrize(("name", "parameter"), NUMBERS, ids=[name for name, _ in NUMBERS])
def test_numbers_may_have_separators(name: str, parameter: Any) -> None:
    assert read(parameter, "20,000") == read(parameter, "20_000") == 20000, name
    for wrong in ("20,00", "2,0000", ",200", "20,000,", "20__000", "_20", "1,2", "20, 000"):
        with pytest.raises(typer.BadParameter):
            read(parameter, wrong)


@pytest.mark.parametrize("text", ["1,234K", "1_234K", "1234K"])
def test_separators_before_a_unit(text: str) -> None:
    assert numbers.whole_number(text) == 1_234_000
    assert numbers.size_of("--memory", text) == 1234 << 10


def test_a_list_of_sizes_stays_a_list() -> None:
    assert numbers.vocab_sizes(["300,280"]) == [300, 280]
    assert numbers.vocab_sizes(["20_000,8K"]) == [20000, 8000]
    for wrong in ("20,000", "8,192,000"):
        with raises_code("bad-value"):
            numbers.vocab_sizes([wrong])


def test_text_of_a_step_keeps_its_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("low lower lowest\n" * 9)
    done = tokctl("train", "--normalize", "Lowercase,prepend:NFC,LINES", "-o", "m.json", "a.txt")
    assert done.code == 0, done
    steps = [str(part) for part in Tokenizer.load("m.json").recipe.normalizers]
    assert steps == ["lowercase", "prepend:NFC,LINES"]


@pytest.mark.parametrize(("words", "like"), [
    (["help", "encode"], ["encode", "--help"]), (["help"], ["--help"]),
    (["version"], ["--version"]), (["-V"], ["--version"]),
])  # fmt: skip
def test_words_for_help_and_version(words: list[str], like: list[str]) -> None:
    assert tokctl(*words).code == tokctl(*like).code == 0
    assert tokctl(*words).out == tokctl(*like).out


@pytest.mark.parametrize("name", ["wordpeice", "unigramm", "Pickyy"])
def test_the_api_guesses_the_algorithm(name: str) -> None:
    with raises_code("unknown-name", r"hint: did you mean (wordpiece|unigram|picky)\? "):
        Tokenizer.train({"a": 1}, vocab_size=300, algorithm=name)


def test_the_api_tells_the_case_of_letters() -> None:
    with raises_code("unknown-name", r"hint: did you mean bpe\? "):
        Tokenizer.train({"a": 1}, vocab_size=300, algorithm="BPE")


LISTS = ["[65, 66]", "65,66", "[65 66]", " [ 65,66 ] ", "65 , 66", "[65,66]\r"]


@pytest.fixture
def bytes_model(tmp_path: Path) -> Path:
    path = tmp_path / "m.json"
    Tokenizer.train({"a": 1}, vocab_size=300).save(path)
    return path


@pytest.mark.parametrize("line", LISTS)
def test_lists_of_ids_are_decoded(line: str, bytes_model: Path) -> None:
    plain = tokctl("decode", "-m", bytes_model, stdin=b"65 66\n65\n[]\n".replace(b"[]", b""))
    done = tokctl("decode", "-m", bytes_model, stdin=f"{line}\n65\n[]\n".encode())
    assert (done.code, done.out) == (0, plain.out), done


@pytest.mark.parametrize(("line", "column"), [
    ("[65", 1), ("65]", 1), ("65,,66", 1), ("65,66,", 1), ("20,000", 1), ("[65] 66", 1),
    ("1 [2]", 3), ("[[65]]", 1), ("65,x", 1), ("65;66", 1),
])  # fmt: skip
def test_junk_is_named_with_its_place(line: str, column: int, bytes_model: Path) -> None:
    done = tokctl("decode", "-m", bytes_model, stdin=f"65\n{line}\n".encode())
    assert done.code == 2 and f"line 2, column {column}:" in done.err, done


def test_an_id_outside_keeps_its_column(bytes_model: Path) -> None:
    done = tokctl("decode", "-m", bytes_model, stdin=b"[65, 66]\n[65, 99999]\n")
    assert done.code == 2 and "line 2, column 6:" in done.err, done


@pytest.mark.parametrize(("said", "kept"), [
    ("1000000000", "4096"), ("0", None), ("-5", None), ("x", None), ("", None), ("080", "80"),
    ("9" * 5000, "4096"), ("80", "80"), ("٣", None),
])  # fmt: skip
def test_screens_have_a_sane_size(said: str, kept: str | None) -> None:
    environ = {"COLUMNS": said, "LINES": said, "OTHER": "x"}
    limit_screen(environ)
    assert (environ.get("COLUMNS"), environ.get("LINES")) == (kept, kept)
