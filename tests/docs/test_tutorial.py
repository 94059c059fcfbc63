"""The tutorial shows what its commands print."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import systems
from tests.conftest import shared_file
from tests.tools.docs import tutorial
from tests.tools.docs.tutorial import (
    COOKBOOK,
    PAGES,
    BuildError,
    built,
    built_page,
    difference,
    needs_languages,
    needs_the_book,
    parts,
    steps,
)

systems.unix_module("termios")


@pytest.mark.slow
@pytest.mark.parametrize("page", [*PAGES, COOKBOOK], ids=lambda path: path.stem)
def test_a_page_shows_what_its_commands_print(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    if needs_the_book(text):
        shared_file("corpora/treasure-island.txt")
    if needs_languages(text):
        shared_file("corpora/udhr/eng.txt")
    told = difference(page.name, text, built_page(page, text))
    if told:
        pytest.fail(
            f"{told}\n\nif that is right: python -m tests.tools.docs.tutorial --write", False
        )


def test_the_pages_have_commands() -> None:
    assert len(PAGES) >= 8
    assert sum(len(steps(page.read_text(encoding="utf-8"))) for page in PAGES) >= 60


def page_of(*lines: str) -> str:
    return "\n".join(["# A page", "```console", *lines, "```", "The end.", ""])


def test_stale_output_is_found_and_corrected() -> None:
    stale = page_of(
        "$ echo one; echo two >&2", "eins", "$ printf 'a  \\n\\nb\\n\\n' > f", "$ cat f"
    )
    right = page_of(
        "$ echo one; echo two >&2", "one", "two", "$ printf 'a  \\n\\nb\\n\\n' > f",
        "$ cat f", "a", "", "b",
    )  # fmt: skip
    assert built(stale) == right
    assert built(right) == right
    assert "-eins" in difference("x.md", stale, right) and "+two" in difference(
        "x.md", stale, right
    )
    assert difference("x.md", right, right) == ""


def test_a_command_can_go_on_on_the_next_line() -> None:
    page = page_of("$ echo one \\", "    two", "one two", "$ echo three", "three")
    assert [step.shell for step in steps(page)] == ["echo one \\\n    two", "echo three"]
    assert built(page) == page
    assert [part for part in parts(page) if isinstance(part, str)] == [
        "# A page", "```console", "```", "The end.",
    ]  # fmt: skip


def test_commands_see_a_terminal_and_nothing_of_this_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TOKCTL_MODEL", "not-here.json")
    monkeypatch.setenv("COLUMNS", "200")
    page = page_of(
        "$ test -t 1 && test -t 2 && echo yes", "yes",
        '$ echo "$COLUMNS ${TOKCTL_MODEL-none}"', "80 none",
        "$ ls",
    )  # fmt: skip
    assert built(page) == page


def python_page(*lines: str) -> str:
    return "\n".join(["```python", *lines, "```", ""])


def test_python_blocks_run_in_the_folder_of_the_commands() -> None:
    page = page_of("$ echo 7 > seven") + python_page('open("seven").read()  # "7\\n"')
    assert built(page, grows=False) == page
    with pytest.raises(BuildError, match="a Python block fails"):
        built(page.replace('"7\\n"', '"8"'), grows=False)
    built(python_page("1 + 1  # 2", "import not_installed", "1 + 1  # 3"), grows=False)
    with pytest.raises(BuildError, match="no_such"):
        built(python_page("import tokctl.no_such"), grows=False)


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("tokctl inspect not-here.json", "exit code 2"),
        ("pwd", "is in the output of"),
        ("printf 'a\\rb\\n'", "no page can hold"),
        ("printf '\\033[2J\\n'", "no page can hold"),
    ],
)
def test_what_no_page_may_hold(command: str, why: str) -> None:
    with pytest.raises(BuildError, match=why):
        built(page_of(f"$ {command}"))


def test_a_command_that_waits_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tutorial, "TIMEOUT_SECONDS", 0.3)
    with pytest.raises(BuildError, match="exit code -9"):
        built(page_of("$ sleep 60 | cat"))


def test_what_is_no_console_block_is_named() -> None:
    with pytest.raises(BuildError, match="line 3: a block starts"):
        built(page_of("one"))
    with pytest.raises(BuildError, match="no end"):
        built("```console\n$ echo one\n")
