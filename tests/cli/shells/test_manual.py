"""Manual pages: valid, whole, the same in every run, and those of the wheel."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.cli.run import tokctl
from tests.tools.shells import ShellCommand, page_name, roff
from tokctl.cli.app import COMMANDS

CHECKOUT = Path(__file__).resolve().parents[3]
REFRESH = "python -m tests.tools.shells"


def pages(files: dict[str, str]) -> dict[str, str]:
    return {Path(name).name: text for name, text in files.items() if name.endswith(".1")}


def test_every_command_has_a_page(root: ShellCommand, files: dict[str, str]) -> None:
    expected = {"tokctl.1", *(f"tokctl-{name}.1" for name in COMMANDS)}
    assert expected <= set(pages(files))
    assert {f"{page_name(each)}.1" for each in root.every()} == set(pages(files))


def test_structure(root: ShellCommand, files: dict[str, str]) -> None:
    for command in root.every():
        page = pages(files)[f"{page_name(command)}.1"]
        assert page.isascii() and page.endswith("\n")
        assert page.startswith(f".TH {page_name(command).upper()} 1 ".replace("-", r"\-"))
        sections = re.findall(r'^\.SH "?(.*?)"?$', page, flags=re.MULTILINE)
        assert sections[:3] == ["NAME", "SYNOPSIS", "DESCRIPTION"]
        assert {"OPTIONS", "EXIT STATUS", "ENVIRONMENT", "SEE ALSO"} <= set(sections)
        if not command.commands and command.key != "":
            assert "EXAMPLES" in sections, command.key
        for option in command.options:
            for name in option.names:
                assert rf"\fB{roff(name)}\fR" in page
        # Requests that are used, and nothing that text has made into one.
        requests = set(re.findall(r"^[.'](\S*)", page, flags=re.MULTILINE))
        assert requests <= {"TH", "SH", "SS", "TP", "PP", "B", "nh", "nf", "fi", "br"}


@pytest.mark.parametrize(
    "checker",
    [("groff", "-man", "-Tutf8", "-ww", "-z"), ("mandoc", "-Tlint", "-Wwarning")],
    ids=lambda checker: checker[0],
)
def test_pages_are_valid(checker: tuple[str, ...], prefix: Path) -> None:
    if shutil.which(checker[0]) is None:
        pytest.skip(f"{checker[0]} is not installed here")
    for page in sorted((prefix / "share/man/man1").iterdir()):
        done = subprocess.run(
            [*checker, str(page)], capture_output=True, text=True, check=False, timeout=600
        )
        said = (done.stdout + done.stderr).splitlines()
        # No date: the same tree gives the same page.
        assert [line for line in said if "missing date" not in line] == []


def test_a_page_reads_as_the_help(prefix: Path) -> None:
    if shutil.which("groff") is None:
        pytest.skip("groff is not installed here")
    done = subprocess.run(
        ["groff", "-man", "-Tutf8", "-P-cbou", str(prefix / "share/man/man1/tokctl-encode.1")],
        capture_output=True, text=True, check=True, timeout=600,
    )  # fmt: skip
    shown = " ".join(done.stdout.split())
    assert "--byte-offsets Add offsets in bytes to jsonl." in shown
    assert 'echo "a lot of treasure" | tokctl encode -m book.json' in shown
    assert '{"ids": …, "tokens": …} and, if you ask for them:' in shown
    assert "--errors strict|replace" in shown and "The default is strict." in shown
    assert "tokctl-train(1)" in shown


@pytest.mark.parametrize(
    ("plain", "written"),
    [
        ("a-b", r"a\-b"),
        (".TH x", r"\&.TH x"),
        ("'quoted'", r"\(aqquoted\(aq"),
        (r"\n and \xff", r"\(rsn and \(rsxff"),
        ("naïve …", r"na\[u00EF]ve \[u2026]"),
        ('~ ^ ` "', r"\(ti \(ha \(ga \(dq"),
        ("two\nlines", "two lines"),
    ],
)
def test_text_is_never_a_request(plain: str, written: str) -> None:
    assert roff(plain) == written


def test_man_writes_the_page(root: ShellCommand, files: dict[str, str]) -> None:
    assert tokctl("man", "corpora", "fetch").out.decode() == pages(files)["tokctl-corpora-fetch.1"]
    assert tokctl("man").out.decode() == pages(files)["tokctl.1"]
    for each in root.commands:
        assert tokctl("man", *each.path[1:]).out.startswith(b".TH TOKCTL"), each.path
    done = tokctl("man", "swim")
    assert done.code == 2 and done.err.startswith("error: there is no command 'swim'\nhint: choose")


def test_the_same_in_every_process(files: dict[str, str], folder: Path) -> None:
    for seed, columns in (("1", "40"), ("2", "200")):
        env = {**os.environ, "PYTHONHASHSEED": seed, "COLUMNS": columns, "HOME": str(folder)}
        made = folder / seed
        made.mkdir()
        command = [sys.executable, "-m", "tests.tools.shells", str(made)]
        subprocess.run(command, env=env, check=True, timeout=600)
        assert {name: (made / name).read_text(encoding="utf-8") for name in files} == files


def test_the_files_of_the_wheel_are_those_of_this_version(files: dict[str, str]) -> None:
    if not (CHECKOUT / "pyproject.toml").exists():
        pytest.skip("this is no checkout")
    build = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
    data = CHECKOUT / build["tool"]["maturin"]["data"] / "data"
    found = {
        path.relative_to(data).as_posix(): path.read_text(encoding="utf-8")
        for path in data.rglob("*")
        if path.is_file()
    }
    assert found.keys() == files.keys(), f"run: {REFRESH}"
    for name, text in files.items():
        assert found[name] == text, f"{name} is of another version; run: {REFRESH}"


def test_nothing_of_this_machine_is_in_them(files: dict[str, str]) -> None:
    for name, text in files.items():
        assert str(CHECKOUT) not in text and str(Path.home()) not in text.replace("/root/", ""), (
            name
        )
        assert not re.search(r"\b20\d\d-\d\d", text), name
