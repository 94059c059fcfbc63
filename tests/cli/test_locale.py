"""The same bytes in every locale; messages that never fail for want of a character."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import systems
from tests.cli.run import Result, process

Models = dict[str, Path]

#: Settings of the environment that must change nothing. Python takes C and POSIX for UTF-8,
#: unless it is told not to.
SAME = (
    {"LC_ALL": "C"},
    {"LC_ALL": "POSIX"},
    {"LC_ALL": "tr_TR.UTF-8"},
    {"LC_ALL": "de_DE.UTF-8"},
    {"LC_ALL": "C", "PYTHONUTF8": "0"},
    {"LC_ALL": "C.UTF-8", "PYTHONIOENCODING": "latin-1"},
    {"LC_ALL": "C.UTF-8", "PYTHONIOENCODING": "ascii"},
)
LINES = (
    ("encode", "-m", "MODEL", "tëxt.txt"),
    ("encode", "-m", "MODEL", "--count", "tëxt.txt"),
    ("inspect", "MODEL", "--word", "naïve"),
    ("compare", "-m", "MODEL", "--word", "naïve", "tëxt.txt"),
    ("train", "-q", "--special-token", "«É»", "--vocab", "300", "-o", "/dev/stdout", "tëxt.txt"),
    ("convert", "--list-formats"),
    ("man", "encode"),
)
PLAIN = {"LC_ALL": "C.UTF-8", "PYTHONUTF8": "1"}


def there(locale: str) -> bool:
    """Is the locale on this machine?"""
    if locale in ("C", "POSIX", "C.UTF-8"):
        return True
    if shutil.which("locale") is None:
        return False
    listed = subprocess.run(["locale", "-a"], capture_output=True, text=True, check=True).stdout
    return locale.lower().replace("-", "") in listed.lower().replace("-", "").split()


def run(env: dict[str, str], *arguments: str, models: Models) -> Result:
    given = [str(models["bytes"]) if each == "MODEL" else each for each in arguments]
    return process(*given, env={**env, "TOKCTL_CACHE": "/nowhere"})


def settings(env: dict[str, str]) -> str:
    return " ".join(f"{name}={value}" for name, value in env.items())


@pytest.fixture(scope="module")
def expected() -> dict[tuple[str, ...], Result]:
    """What the lines write in the plainest locale, once they have been run there."""
    return {}


@pytest.fixture
def odd(text: Path) -> Path:
    return text.rename("tëxt.txt")


@pytest.mark.few(2)
@systems.streams
@pytest.mark.parametrize("env", SAME, ids=settings)
def test_the_same_bytes(
    env: dict[str, str], models: Models, odd: Path, expected: dict[tuple[str, ...], Result]
) -> None:
    assert odd.exists()
    if not there(env["LC_ALL"]):
        pytest.skip(f"the locale {env['LC_ALL']} is not on this machine")
    for line in LINES:
        if line not in expected:
            expected[line] = run(PLAIN, *line, models=models)
            assert expected[line].code == 0, expected[line]
        assert run(env, *line, models=models) == expected[line], line


#: Those in which a terminal could not show everything.
POOR = [env for env in SAME if "PYTHONIOENCODING" in env or "PYTHONUTF8" in env]


@pytest.mark.few(2)
@pytest.mark.parametrize("env", POOR, ids=settings)
@pytest.mark.parametrize("line", [("--help",), ("encode", "--help")])
def test_help_in_every_encoding(env: dict[str, str], line: tuple[str, ...], models: Models) -> None:
    if not there(env["LC_ALL"]):
        pytest.skip(f"the locale {env['LC_ALL']} is not on this machine")
    done = run(env, *line, models=models)
    assert (done.code, done.err) == (0, "")
    encoding = env.get("PYTHONIOENCODING", "utf-8")
    shown = done.out.decode(encoding)
    assert "Usage: tokctl" in shown
    if encoding in ("ascii", "latin-1"):
        assert ("│" not in shown and "Examples:" in shown) or line == ("--help",)


@pytest.mark.parametrize("env", POOR, ids=settings)
def test_messages_in_every_encoding(env: dict[str, str], models: Models) -> None:
    """What an encoding has not is escaped, and the error is the error."""
    if not there(env["LC_ALL"]):
        pytest.skip(f"the locale {env['LC_ALL']} is not on this machine")
    for name in ("naïve-東京.txt", "odd-\udcff.txt"):
        done = run(env, "encode", "-m", "MODEL", name, models=models)
        assert done.code == 2 and done.err.startswith("error: can't read "), done
        assert "hint: there is no such file" in done.err
        assert "Traceback" not in done.err and "UnicodeEncodeError" not in done.err


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "line",
    [
        ("encode", "-m", "MODEL", "NAME"),
        ("encode", "-m", "MODEL", "--count", "NAME"),
        ("encode", "-m", "MODEL", "--as", "bin", "-o", "NAME.bin", "NAME"),
        ("encode", "-m", "NAME.json", "NAME"),
        ("decode", "-m", "NAME.json", "ids-NAME"),
        ("train", "-q", "--vocab", "260", "NAME"),
        ("train", "--vocab", "260", "--weight", "NAME=2", "NAME"),
        ("inspect", "NAME.json"),
        ("inspect", "NAME.json", "--check", "NAME"),
        ("inspect", "NAME.json", "--use", "NAME"),
        ("compare", "-m", "NAME.json", "NAME"),
        ("compare", "-m", "NAME.json", "--json", "NAME"),
        ("compare", "-m", "NAME.json", "--lang", "en=NAME"),
        ("convert", "NAME.json", "--to", "huggingface", "--lossy", "--verify", "NAME"),
    ],
    ids=" ".join,
)
def test_names_that_are_not_utf8(line: tuple[str, ...], models: Models) -> None:
    name = b"odd-\xff".decode("utf-8", "surrogateescape")
    try:
        Path(name).write_bytes(b"low lower\n")
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    Path(f"ids-{name}").write_bytes(b"1 2\n")
    Path(f"{name}.json").write_bytes(models["bytes"].read_bytes())
    given = [each.replace("NAME", name) for each in line]
    done = run(PLAIN, *given, models=models)
    assert done.code == 0, done
    assert "Traceback" not in done.err


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "line",
    [
        ("encode", "-m", "NAME", "a"),
        ("encode", "-m", "MODEL", "NAME"),
        ("decode", "-m", "MODEL", "NAME"),
        ("train", "NAME"),
        ("inspect", "NAME"),
        ("compare", "-m", "NAME", "a"),
        ("convert", "NAME"),
        ("corpora", "path", "NAME"),
        ("corpora", "fetch", "NAME"),
        ("man", "NAME"),
        ("NAME",),
    ],
    ids=" ".join,
)
def test_errors_show_names_that_are_not_utf8(line: tuple[str, ...], models: Models) -> None:
    Path("a").write_bytes(b"low\n")
    name = b"odd-\xff".decode("utf-8", "surrogateescape")
    done = run(PLAIN, *(each.replace("NAME", name) for each in line), models=models)
    assert done.code == 2 and done.err.startswith("error: "), done
    assert r"odd-\udcff" in done.err and "this should not have happened" not in done.err


def test_a_program_from_stdin_is_not_started_anew(models: Models, text: Path) -> None:
    """Python has read it, and there would be nothing left to run."""
    done = subprocess.run(
        [sys.executable, "-", "encode", "-m", str(models["bytes"]), "--count", str(text)],
        input=b"from tokctl.__main__ import main; main()",
        capture_output=True,
        env={**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"") and done.stdout
