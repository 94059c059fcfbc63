"""Completion: the scripts are right for their shells, and the shells complete with them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests import systems
from tests.cli.run import process, tokctl
from tests.cli.shells import asking
from tests.tools.shells import ShellCommand, ShellOption, brief
from tokctl.analysis import suite_metrics
from tokctl.analysis.metrics import DEFINITIONS
from tokctl.cli.app import COMMANDS
from tokctl.formats import FORMATS
from tokctl.model import ALGORITHMS
from tokctl.model.presets import PRESETS

SCRIPTS = {
    "bash": "share/bash-completion/completions/tokctl",
    "zsh": "share/zsh/site-functions/_tokctl",
    "fish": "share/fish/vendor_completions.d/tokctl.fish",
}


def needs(shell: str) -> None:
    if not systems.UNIX or shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed here")


@pytest.fixture
def bash(prefix: Path) -> Path:
    needs("bash")
    return prefix / SCRIPTS["bash"]


@pytest.fixture
def fish(prefix: Path) -> Path:
    needs("fish")
    return prefix / SCRIPTS["fish"]


@pytest.fixture
def zsh(prefix: Path) -> Path:
    needs("zsh")
    return prefix / SCRIPTS["zsh"]


@pytest.mark.parametrize("shell", SCRIPTS)
def test_the_script_is_right(shell: str, prefix: Path, files: dict[str, str]) -> None:
    assert tokctl("completion", shell).out.decode("utf-8") == files[SCRIPTS[shell]]
    needs(shell)
    checked = subprocess.run(
        [shell, "-n", prefix / SCRIPTS[shell]], capture_output=True, check=False, timeout=600
    )
    assert (checked.returncode, checked.stderr) == (0, b"")


def test_another_shell_is_an_error() -> None:
    done = tokctl("completion", "tcsh")
    assert (done.code, done.out) == (2, b"")
    assert done.err == (
        "error: invalid value 'tcsh' for the shell\nhint: choose one of: bash, zsh, fish\n"
    )


def values(root: ShellCommand, key: str, name: str) -> tuple[str, ...]:
    (command,) = (each for each in root.every() if each.key == key)
    (option,) = (each for each in command.options if name in each.names)
    return option.values


def test_closed_sets_are_those_of_the_code(root: ShellCommand) -> None:
    assert values(root, "train", "--algo") == tuple(ALGORITHMS)
    assert values(root, "train", "--preset") == tuple(PRESETS)
    assert values(root, "encode", "--errors") == ("strict", "replace")
    assert values(root, "encode", "--color") == ("auto", "always", "never")
    assert values(root, "encode", "--progress") == ("auto", "bar", "log", "json", "none")
    assert values(root, "compare", "--explain") == ("all", *DEFINITIONS, *suite_metrics.DEFINITIONS)
    written = tuple(known.name for known in FORMATS if known.writes)
    assert values(root, "convert", "--to") == written
    assert values(root, "encode", "--sort") == ("tokens", "bytes", "name")
    assert values(root, "encode", "--dtype") == ("uint16", "uint32", "int32")
    assert {"jsonl", "parquet", "tar"} <= set(values(root, "train", "--format"))
    assert {"bin", "npy", "megatron", "safetensors"} <= set(values(root, "encode", "--as"))
    assert {"auto", "bin", "arrow", "megatron"} <= set(values(root, "decode", "--from"))
    assert {"uint8", "int64"} <= set(values(root, "decode", "--dtype"))
    assert values(root, "encode", "--max-length") == ()


@pytest.mark.parametrize(
    ("option", "hint_of"),
    [("--as", "encode"), ("--errors", "encode"), ("--format", "encode"), ("--from", "decode"),
     ("--score", "train"), ("--tie-break", "train"), ("--segment", "train"),
     ("--unknown", "train")],
)  # fmt: skip
def test_completed_values_are_those_that_are_taken(
    root: ShellCommand, option: str, hint_of: str, text: Path, models: dict[str, Path]
) -> None:
    """The error for another value lists the same ones."""
    more = {"train": ["--algo", "wordpiece"], "encode": ["-m", str(models["bytes"])]}
    done = tokctl(hint_of, *more.get(hint_of, []), option, "nothing-like-it", str(text), stdin=b"")
    listed = done.err.partition("choose one of: ")[2].strip().split(", ")
    assert sorted(values(root, hint_of, option)) == sorted(listed)


def test_every_option_is_in_every_script(root: ShellCommand, files: dict[str, str]) -> None:
    for command in root.every():
        for option in command.options:
            for name in option.names:
                assert name in files[SCRIPTS["bash"]]
                assert name in files[SCRIPTS["zsh"]]
                spelled = f"-l {name[2:]} " if name.startswith("--") else f"-s {name[1:]} "
                assert spelled in files[SCRIPTS["fish"]]


CASES: list[tuple[str, list[str]]] = [
    ("tokctl ", sorted(COMMANDS)),
    ("tokctl enc", ["encode"]),
    ("tokctl --color ", ["always", "auto", "never"]),
    ("tokctl --color always --progress no", ["none"]),
    ("tokctl -q --color always tr", ["train"]),
    ("tokctl corpora ", ["fetch", "list", "path"]),
    ("tokctl corpora fetch treas", ["treasure-island"]),
    ("tokctl corpora list ", []),
    ("tokctl completion ", ["bash", "fish", "zsh"]),
    ("tokctl encode --as js", ["jsonl"]),
    ("tokctl encode --max-length ", []),
    ("tokctl encode -m model --files", ["--files-from", "--files0-from"]),
    ("tokctl train -a uni", ["unigram"]),
    ("tokctl convert --to senten", ["sentencepiece", "sentencepiece-vocab"]),
    ("tokctl compare --explain par", ["parity"]),
]
FILES = ["tokctl encode ", "tokctl encode -m ", "tokctl encode --as ids ", "tokctl inspect ",
         "tokctl convert --verify ", "tokctl encode -- --"]  # fmt: skip


@pytest.mark.parametrize(("line", "expected"), CASES)
def test_bash(bash: Path, line: str, expected: list[str]) -> None:
    assert sorted(asking.bash(bash, *line.split(" "))) == expected


@pytest.mark.parametrize("line", FILES)
def test_bash_completes_files_where_nothing_else_is_known(bash: Path, line: str) -> None:
    assert asking.bash(bash, *line.split(" ")) == ["(files)"]


def test_bash_with_an_equals_sign(bash: Path) -> None:
    assert asking.bash(bash, "tokctl", "encode", "--as", "=", "js") == ["jsonl"]
    assert asking.bash(bash, "tokctl", "encode", "--color", "=") == ["auto", "always", "never"]
    assert asking.bash(bash, "tokctl", "--color", "=", "always", "enc") == ["encode"]
    assert asking.bash(bash, "tokctl", "encode", "--model", "=") == ["(files)"]


@pytest.mark.parametrize(("line", "expected"), CASES)
def test_fish(fish: Path, line: str, expected: list[str], folder: Path) -> None:
    assert sorted(asking.fish(fish, line, folder)) == expected


def test_fish_completes_files_where_nothing_else_is_known(fish: Path, folder: Path) -> None:
    (folder / "book.json").write_bytes(b"")
    for line in FILES[:-1]:
        assert asking.fish(fish, line, folder) == ["book.json"], line
    assert asking.fish(fish, "tokctl encode --as=js", folder) == ["--as=jsonl"]


@pytest.mark.parametrize(
    ("line", "there", "absent"),
    [
        ("tokctl ", COMMANDS, ("--color",)),
        ("tokctl encode --as ", ("ids", "tokens", "jsonl"), ("book.json",)),
        ("tokctl encode --as=", ("ids", "tokens", "jsonl"), ("book.json",)),
        ("tokctl corpora ", ("fetch", "list", "path"), ("train",)),
        ("tokctl corpora fetch ", ("sample", "treasure-island"), ("book.json",)),
        ("tokctl encode -m ", ("book.json",), ("--as", "sample")),
        ("tokctl -q --color ", ("always", "auto", "never"), ("train",)),
        ("tokctl encode --f", ("--files-from", "--format", "--full"), ("--as",)),
    ],
)
def test_zsh(
    zsh: Path, line: str, there: tuple[str, ...], absent: tuple[str, ...], folder: Path
) -> None:
    (folder / "book.json").write_bytes(b"")
    (folder / "boot.json").write_bytes(b"")
    for seconds in (0.3, 2, 10, 60, 300):  # a machine may be busy
        answer = asking.zsh(zsh, line, folder, seconds)
        if all(word in answer for word in there):
            break
    assert [word for word in there if word not in answer] == [], answer
    assert [word for word in absent if word in answer] == [], answer


def test_the_shell_is_not_asked_by_an_environment_variable() -> None:
    """Typer's own completion is off: it would start Python at every key."""
    done = process("--help", env={"_TOKCTL_COMPLETE": "complete_bash", "COMP_WORDS": "tokctl"})
    assert b"--install-completion" not in done.out and b"Commands" in done.out


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Read them. Or not.", "Read them"),
        ("A model; a file.", "A model"),
        ("A share, 0.5 say, stays.", "A share, 0.5 say, stays"),
        ("word " * 30, "word " * 12 + "..."),
    ],
)
def test_brief(text: str, words: str) -> None:
    assert brief(text) == words


def test_options_know_what_they_take(root: ShellCommand) -> None:
    """Flags take nothing; numbers are no files."""
    (train,) = (each for each in root.every() if each.key == "train")
    by_name: dict[str, ShellOption] = {name: each for each in train.options for name in each.names}
    assert by_name["--json"].metavar == "" and not by_name["--json"].files
    assert not by_name["--vocab"].files and by_name["--vocab"].default == "10000"
    assert by_name["-o"].files and by_name["-o"].long == ("--output",)
    assert by_name["--special-token"].repeated and not by_name["--output"].repeated
    assert by_name["--bytes"] is by_name["--chars"]
