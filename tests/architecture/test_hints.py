"""Every error that reaches a person says what to do, and shows nothing that a terminal obeys."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

import tokctl
from tests.cli.run import tokctl as run
from tokctl.core.errors import CoreError, TokctlError
from tokctl.idfiles.random_access import InputFile
from tokctl.idfiles.safetensors import stored_tensors

PACKAGE = Path(tokctl.__file__).parent


def errors_made() -> Iterator[tuple[str, ast.Call]]:
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = getattr(getattr(node, "func", None), "id", "")
            if isinstance(node, ast.Call) and name in ("TokctlError", "StoppedError"):
                yield f"{path.relative_to(PACKAGE)}:{node.lineno}", node


def test_every_error_has_a_hint() -> None:
    assert inspect.signature(TokctlError).parameters["hint"].default is inspect.Parameter.empty
    without = []
    for place, call in errors_made():
        hints = [*call.args[1:2], *(one.value for one in call.keywords if one.arg == "hint")]
        is_whole = any(isinstance(one, ast.Starred) for one in call.args)
        empty = any(isinstance(one, ast.Constant) and not one.value for one in hints)
        if (not hints and not is_whole) or empty:
            without.append(place)
    assert not without


@pytest.mark.parametrize("kind", ["invalid", "no-id", "unknown-id", "not-an-id", "a new kind"])
def test_every_error_of_the_core_has_a_hint(kind: str) -> None:
    assert CoreError("wrong", kind, (0, 0, 0)).hint


@pytest.mark.parametrize("text", ["\x1b[31mred\x07", "a\nb", "\udcff", "\u202e"])
def test_control_characters_are_escaped(text: str) -> None:
    error = TokctlError(f"wrong: {text}", f"not {text}")
    message, hint = str(error).split("\n")
    assert message.isprintable() and hint.isprintable()
    assert error.message == f"wrong: {text}"


@pytest.mark.parametrize(
    "words",
    [
        ["compare", "--algo", "bpe", "--word", "\udcff", "a.txt"],
        ["compare", "--algo", "bpe", "--sentence", "\udcff", "a.txt"],
        ["train", "-a", "", "a.txt"],
        ["adapt", "m.json", "--add-token", "\udcff"],
        ["adapt", "m.json", "--add-token", ""],
        ["inspect", "--errors", "x", "m.json"],
    ],
)
def test_inputs_that_people_type(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("low lower lowest low\n" * 9)
    run("train", "--vocab", "260", "-o", "m.json", "a.txt")
    done = run(*words)
    assert done.code == 2 and "error: " in done.err and "\nhint: " in done.err, done


@pytest.mark.parametrize("facts", ["3", '"text"', "[]", "null", '{"format": 3}', '{"a": null}'])
def test_metadata_that_is_no_text(facts: str, tmp_path: Path) -> None:
    header = f'{{"__metadata__": {facts}}}'.encode()
    path = tmp_path / "a.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header)
    whole = InputFile(str(path), path=str(path))
    match = r"__metadata__.* is .*, not (an object|a string)\nhint: "
    with whole.opened() as file, pytest.raises(TokctlError, match=match):
        stored_tensors(file, "write the file again")
