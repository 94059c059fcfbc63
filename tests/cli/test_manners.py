"""Start-up, help, colour, and options before and after the command."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests import systems
from tests.cli.run import process, tokctl

Models = dict[str, Path]

COMMANDS = ("train", "encode", "decode", "corpora list", "corpora path", "corpora fetch")


@pytest.mark.parametrize("command", ["encode", "decode"])
def test_start_up_imports_no_more_than_it_needs(models: Models, command: str) -> None:
    code = (
        "import sys; from tokctl.cli.app import main\n"
        "try: main()\n"
        "finally: print(*sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, command, "-m", str(models["bytes"])],
        input=b"1\n",
        capture_output=True,
        check=True,
        timeout=600,
    )
    loaded = set(done.stderr.decode().split())
    assert not loaded & {"rich", "regex", "numpy", "tqdm", "concurrent", "pydantic"}
    assert "tokctl" in loaded


@pytest.mark.few(2)
@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_80_columns(command: str) -> None:
    done = process(*command.split(), "--help", env={"COLUMNS": "80", "NO_COLOR": "1"})
    assert (done.code, done.err) == (0, "")
    lines = done.out.decode().splitlines()
    assert all(len(line) <= 80 for line in lines)
    text = [line.rstrip() for line in lines]
    assert " Examples:" in text
    examples = text[text.index(" Examples:") + 2 :]
    assert examples[0].startswith("   ") and "tokctl" in examples[0]
    assert any("--color" in line for line in text)


def test_global_options_before_and_after(models: Models) -> None:
    given = {"stdin": b"low lower\n"}
    after = tokctl("train", "-q", "--vocab", "260", "-o", "a.json", **given)
    before = tokctl("-q", "train", "--vocab", "260", "-o", "a.json", **given)
    assert after == before == (0, b"a.json\n", "")
    assert tokctl("--color", "pink", "encode", "-m", models["bytes"], **given).err == (
        "error: invalid value 'pink' for --color\nhint: choose one of: auto, always, never\n"
    )


@pytest.mark.parametrize(
    ("world", "arguments", "coloured"),
    [
        ({}, (), False),
        ({"stderr_is_terminal": True}, (), True),
        ({"stderr_is_terminal": True, "environ": {"NO_COLOR": "1"}}, (), False),
        ({"stderr_is_terminal": True, "environ": {"TERM": "dumb"}}, (), False),
        ({"stderr_is_terminal": True}, ("--color", "never"), False),
        ({"environ": {"NO_COLOR": "1"}}, ("--color", "always"), True),
    ],
)
def test_colour(world: dict[str, object], arguments: tuple[str, ...], coloured: bool) -> None:
    failed = tokctl("encode", *arguments, stdin=b"", **world)
    assert ("\x1b[" in failed.err) == coloured
    trained = tokctl("train", "--vocab", "260", *arguments, stdin=b"low lower", **world)
    assert ("\x1b[" in trained.err) == coloured
    assert trained.out == b"stdin.bpe.json\n"
    mistaken = tokctl(*arguments, "nosuch", **world)
    assert ("\x1b[" in mistaken.err) == coloured


@systems.any_name
def test_file_names_can_hold_anything(models: Models) -> None:
    name = "bell\a\x1b[31m"
    Path(name).write_bytes(b"low \xff")
    done = tokctl("encode", "-m", models["wordpiece"], name)
    assert done.err.startswith(r"error: bell\x07\x1b[31m: line 1, byte 4 is not UTF-8")
    counted = tokctl("encode", "-m", models["bytes"], "--count", name)
    assert counted.out.endswith(rb" bell\x07\x1b[31m" + b"\n")
    for terminal, shown in ((True, rb"bell\x07\x1b[31m"), (False, name.encode())):
        arguments = ("encode", "-m", models["bytes"], "--count", "--csv", name)
        assert tokctl(*arguments, stdout_is_terminal=terminal).out.endswith(b"," + shown + b"\r\n")
    odd = b"odd-\xff".decode("utf-8", "surrogateescape")
    try:
        Path(odd).write_bytes(b"low lower")
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    trained = tokctl("train", "-q", "--vocab", "260", odd)
    assert trained == (0, b"odd-\xff.bpe.json\n", "")
    in_json = tokctl("encode", "-m", models["bytes"], "--count", "--json", odd)
    assert b'"name":{"bytes":"b2RkLf8="}' in in_json.out


def shell(line: str, folder: Path) -> subprocess.CompletedProcess[bytes]:
    run = f'tokctl() {{ "{sys.executable}" -m tokctl "$@"; }}; {line}'
    return subprocess.run(
        ["bash", "-c", run], cwd=folder, capture_output=True, check=False, timeout=600
    )


@pytest.mark.few(2)
@systems.shell
@systems.full_device
@pytest.mark.parametrize(
    "line",
    [
        "tokctl train --help | head -1 >/dev/null; exit ${PIPESTATUS[0]}",
        "tokctl train text.txt -o a.json 2>&1 >/dev/null | head -1; exit ${PIPESTATUS[0]}",
        "tokctl train text.txt -o a.json 2>/dev/full",
        "tokctl train -q text.txt -o /dev/stdout | head -c 10; exit ${PIPESTATUS[0]}",
    ],
)
def test_nobody_listens(line: str, folder: Path) -> None:
    """A closed pipe ends a command quietly, and messages that can't be shown stop nothing."""
    (folder / "text.txt").write_bytes(b"low lower lowest " * 50)
    assert shell(line, folder).returncode == 0


@systems.shell
def test_a_model_on_stdout_is_nothing_but_the_model(folder: Path) -> None:
    (folder / "text.txt").write_bytes(b"low lower lowest " * 50)
    done = shell("tokctl train -q text.txt -o /dev/stdout | cat", folder)
    assert done.returncode == 0 and done.stdout.endswith(b"}}}\n")


@pytest.mark.few(2)
@systems.shell
@pytest.mark.parametrize(
    "line",
    [
        "tokctl encode -m m.json text.txt -o m.json",
        "echo 65 | tokctl decode -m m.json -o m.json",
        "export TOKCTL_MODEL=m.json; echo a | tokctl encode -o m.json",
        "tokctl encode -m m.json -o text.txt < text.txt",
        "tokctl train -o text.txt < text.txt",
    ],
)
def test_output_never_replaces_what_is_read(line: str, folder: Path) -> None:
    (folder / "text.txt").write_bytes(b"low lower lowest " * 50)
    assert shell("tokctl train -q text.txt -o m.json", folder).returncode == 0
    before = {name: (folder / name).read_bytes() for name in ("text.txt", "m.json")}
    done = shell(line, folder)
    assert done.returncode == 2 and b"it is one of the files to read\nhint: " in done.stderr
    assert {name: (folder / name).read_bytes() for name in before} == before


@pytest.mark.few(2)
@systems.shell
@pytest.mark.parametrize(
    "command",
    [
        "encode -m {bytes} --count pipe",
        "encode -m {bytes} pipe",
        "train -q --vocab 260 -o m.json pipe",
        "compare -m {bytes} pipe",
    ],
)
def test_a_named_pipe_is_read_once(command: str, models: Models, folder: Path) -> None:
    """Opened a second time it would wait for a writer that has gone."""
    line = command.format(bytes=models["bytes"])
    done = shell(f"mkfifo pipe; (echo low lower lowest >pipe)& tokctl {line}", folder)
    assert done.returncode == 0, done.stderr
