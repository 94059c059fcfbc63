"""The examples that no test of their page runs: every command line of every page is one that tokctl
takes, and the Python code of the pages without a test of their own runs."""

from __future__ import annotations

import importlib.util
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from tests.conftest import shared_file
from tests.tools.docs.tutorial import ROOT
from tokctl import Recommendation, Tokenizer, preset
from tokctl.cli.app import build
from tokctl.sources.corpora import corpus_path

DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]

# -- Commands ------------------------------------------------------------------------------------

#: A placeholder for more than one word, which no parser takes.
LEFT_OUT = ("…", "COMMAND")


def command_lines(text: str) -> Iterator[str]:
    """The lines of a page that a reader types into a shell: those of blocks with a `$`, and those
    of other blocks that begin with tokctl, or pipe into it."""
    fenced = re.findall(r"```(\w*)\n(.*?)```", text, flags=re.DOTALL)
    bare = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    blocks = [*fenced, *(("", block) for block in re.findall(r"(?:^ {4}.*\n)+", bare, re.M))]
    for kind, block in blocks:
        if kind not in ("console", "bash", "text", ""):
            continue
        for line in block.replace("\\\n", " ").splitlines():
            typed = line.strip()
            if typed.startswith("$ "):
                yield typed[2:]
            elif kind != "console" and re.match(r"(?:[^|`]* \| |\w+=\$\()?tokctl [a-z-]+", typed):
                yield typed


def commands(line: str) -> Iterator[list[str]]:
    """The arguments of each tokctl in a line of the shell, outer ones last."""
    while inner := re.search(r"\$\(([^()]*)\)", line):
        yield from commands(inner[1])
        line = f"{line[: inner.start()]}X{line[inner.end() :]}"
    words = shlex.shlex(re.sub(r"\$\w+", "1", line), posix=True, punctuation_chars=True)
    words.commenters = "#"
    found: list[str] | None = None
    redirected = False
    for word in [*words, ";"]:
        if word and set(word) <= set("();<>|&"):
            redirected = word in ("<", ">", ">>")
            if found is not None and not redirected:
                yield found
                found = None
        elif redirected:
            redirected = False
        elif found is not None:
            found.append(word)
        elif word == "tokctl":
            found = []


def parsed(arguments: list[str]) -> None:
    """Reads the arguments as the program does, and runs nothing."""
    command: Any = typer.main.get_command(build())
    context = command.make_context("tokctl", list(arguments))
    while hasattr(command, "resolve_command"):
        rest = [*context._protected_args, *context.args]
        if not rest:
            return
        name, command, rest = command.resolve_command(context, rest)
        context = command.make_context(name, rest, parent=context)


@pytest.mark.few(2)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_tokctl_takes_every_command_line(page: Path) -> None:
    for line in command_lines(page.read_text(encoding="utf-8")):
        for arguments in commands(line):
            if not any(mark in word for word in arguments for mark in LEFT_OUT):
                try:
                    parsed(arguments)
                except Exception as error:
                    pytest.fail(f"tokctl {shlex.join(arguments)}\n{error}", pytrace=False)


def test_there_are_many_of_them() -> None:
    texts = [page.read_text(encoding="utf-8") for page in PAGES]
    assert sum(len([*commands(line)]) for text in texts for line in command_lines(text)) > 300


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("tokctl train a.txt  # a comment", [["train", "a.txt"]]),
        ("cat a | tokctl encode -m M --eos '' > b", [["encode", "-m", "M", "--eos", ""]]),
        ('M=$(tokctl train -q "$x") && ls', [["train", "-q", "1"]]),
        ("tokctl train $(tokctl corpora path a)", [["corpora", "path", "a"], ["train", "X"]]),
        ("tokctl decode --eos '<|end|>' a < b; ls", [["decode", "--eos", "<|end|>", "a"]]),
        ("ls tokctl.json", []),
    ],
)
def test_commands_are_found_in_a_line(line: str, found: list[list[str]]) -> None:
    assert [*commands(line)] == found


@pytest.mark.parametrize(
    "arguments",
    [["train", "--no-such-option"], ["trian"], ["train", "--vocab", "many"], ["corpora", "fetch"]],
)
def test_what_tokctl_does_not_take_is_found(arguments: list[str]) -> None:
    with pytest.raises(Exception, match=r"No such|not a whole number|Missing"):
        parsed(arguments)


# -- Python --------------------------------------------------------------------------------------

#: By the page's name: what its examples have smaller than the page, so that they take no time.
EXAMPLES: dict[str, dict[str, str]] = {
    "adapt": {"32_000": "400", "34_000": "450", "1169": "300"},
    "corpora": {},
    "parity": {"32_000": "400", "20_000": "20"},
    "pipeline": {},
    "recommend": {},
    "report": {},
}
#: Examples that need more machines than one.
ELSEWHERE = {"cluster"}
#: Packages whose examples take minutes, wherever they are installed.
SLOW_PACKAGES = {"fasttext"}


def blocks(page: str) -> list[str]:
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    return re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)


@pytest.fixture
def prepared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A folder with the files that pages speak of; the names that they suppose."""
    monkeypatch.chdir(tmp_path)
    story = corpus_path("sample").read_bytes()
    for name in ("book.txt", "books.txt", "a.txt", "b.txt", "dev.en"):
        Path(name).write_bytes(story)
    for name in ("code.txt", "sw.txt", "dev.sw"):
        Path(name).write_bytes(story.swapcase()[:20_000])
    gpt2 = Tokenizer.train(["a.txt"], vocab_size=500, recipe=preset("gpt2"))
    gpt2.save("gpt2.tokenizer.json", "huggingface")
    return {"a": gpt2, "b": Tokenizer.train(["b.txt"], algorithm="unigram", vocab_size=300)}


def run(page: str, names: dict[str, Any]) -> int:
    """Runs the examples of a page whose packages are here; how many did."""
    count = 0
    for block in blocks(page):
        packages = re.findall(r"^(?:from|import) (\w+)", block, flags=re.MULTILINE)
        if not SLOW_PACKAGES & set(packages) and all(map(importlib.util.find_spec, packages)):
            for large, small in EXAMPLES[page].items():
                assert large in block
                block = block.replace(large, small)
            exec(compile(block, f"{page}.md", "exec"), names)
            count += 1
    return count


def test_adapt(prepared: dict[str, Any]) -> None:
    numpy = pytest.importorskip("numpy")
    save_file = pytest.importorskip("safetensors.numpy").save_file
    save_file({"wte.weight": numpy.ones((500, 4), "float32")}, "model.safetensors")
    assert run("adapt", prepared) >= 1
    assert prepared["found"].tokenizer.vocab_size == 450
    assert Path("new.safetensors").is_file() and Path("ids.jsonl").is_file()


def test_corpora(prepared: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    book = shared_file("corpora/treasure-island.txt")
    monkeypatch.setenv("TOKCTL_CACHE", f"{Path.cwd()}")
    Path("corpora").mkdir()
    shutil.copy(book, "corpora")
    assert run("corpora", prepared) == 2
    assert prepared["tok"].vocab_size == 30


def test_parity(prepared: dict[str, Any]) -> None:
    assert run("parity", prepared) == 1
    assert set(prepared["tok"].model.parity.merges_of()) >= {"en", "sw"}


def test_pipeline(prepared: dict[str, Any]) -> None:
    assert run("pipeline", prepared) == 1
    assert [part.kind for part in prepared["recipe"].pre_tokenizers] == ["digits", "gpt2"]


def test_recommend(prepared: dict[str, Any]) -> None:
    assert run("recommend", prepared) == 1
    assert isinstance(prepared["found"], Recommendation)


def test_report(prepared: dict[str, Any]) -> None:
    for needed in ("altair", "jinja2", "vl_convert"):
        pytest.importorskip(needed, reason="pages need the extra `report`")
    assert run("report", prepared) == 1
    assert prepared["page"].startswith("<!DOCTYPE html>")


def test_the_code_of_every_page_is_run_by_some_test() -> None:
    tests = "\n".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")
    )
    with_code = [path.stem for path in DOCS.glob("*.md") if blocks(path.stem)]
    assert len(with_code) > 12
    for page in with_code:
        elsewhere = f'"{page}.md"' in tests or f'DOCS / "{page}.md"' in tests
        assert page in EXAMPLES or page in ELSEWHERE or elsewhere or page == "cookbook", page
