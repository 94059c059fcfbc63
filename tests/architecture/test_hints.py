"""Every error that reaches a person says what to do, and shows nothing that a terminal obeys."""

from __future__ import annotations

import inspect
import pickle
from pathlib import Path

import pytest

from tests.cli.run import tokctl as run
from tokctl.core.errors import (
    CODES,
    BadInput,
    BadModel,
    BadOption,
    CoreError,
    TokctlError,
    Unsupported,
)
from tokctl.idfiles.random_access import InputFile
from tokctl.idfiles.safetensors import stored_tensors


def test_a_hint_is_asked_for() -> None:
    """`tests/test_messages.py` reads the hint of every error."""
    assert inspect.signature(TokctlError).parameters["hint"].default is inspect.Parameter.empty
    general = {kind.general_code for kind in (BadOption, BadInput, BadModel, Unsupported)}
    assert general <= CODES.keys()


@pytest.mark.parametrize("kind", [TokctlError, BadOption, BadInput, BadModel, Unsupported])
def test_pickles_keep_the_kind_and_the_code(kind: type[TokctlError]) -> None:
    error = pickle.loads(pickle.dumps(kind("wrong", "right", "conflict", exit_code=1)))
    assert type(error) is kind
    assert (error.message, error.hint, error.code, error.exit_code) == (
        "wrong",
        "right",
        "conflict",
        1,
    )
    assert kind("wrong", "right").code == kind.general_code


def test_errors_with_other_constructors_become_one_of_the_four() -> None:
    error = pickle.loads(pickle.dumps(CoreError("id 9 is outside", "unknown-id", (9, 0, 0))))
    assert type(error) is BadInput and error.code == "bad-ids"


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
