"""`tokctl inspect --markdown` and `--latex`: every answer, of models of every kind."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest
from markdown_it import MarkdownIt  # a dependency of Rich

from tests.cli.inspecting import inspect, printed, refused
from tests.explain import every

GITHUB = MarkdownIt("gfm-like", {"linkify": False})
QUESTIONS = [
    [],
    ["--merges", ":3"],
    ["--merges-of", "l*"],
    ["--state", "1", "t.txt"],
    ["--pairs", "1", "t.txt"],
    ["--word", "lowest | *é* 語 <x> \x1b[1m`_\\input{x} $1 100%"],
    ["--token", "#60", "t.txt"],
    ["--use", "t.txt"],
    ["--gap", "t.txt"],
    ["--rounds"],
    ["--recipe"],
    ["--check", "t.txt"],
]


@pytest.fixture(params=["gpt2", "bert", "default unigram", "default word", "ranks", "added tokens"])
def path(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("t.txt").write_bytes("low lower lowest newest é 語 low\n".encode())
    every.model(request.param).save("model.json")
    return "model.json"


def written(path: str, question: list[str], form: str) -> str | None:
    """None where the model has no answer."""
    ran = inspect(path, *question, form)
    assert ran.code == inspect(path, *question).code
    return ran.out if ran.code == 0 else None


@pytest.mark.few(9)
@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question[:1])
def test_markdown(path: str, question: list[str]) -> None:
    page = written(path, question, "--markdown")
    if page is None:
        return
    assert page.startswith("# ")
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", page)
    drawn = GITHUB.render(page)
    # Tables stay tables, and no text of the model becomes an element.
    assert page.count("\n| --") + page.count("\n| :--") == drawn.count("<table>")
    known = {"h1", "h2", "p", "ul", "li", "strong", "code", "table", "thead", "tbody", "tr", "th"}
    assert set(re.findall(r"<(\w+)", drawn)) <= known | {"td"}
    # The parts are those of the terminal.
    shown = inspect(path, *question, terminal=True, environ={"PAGER": ""}).out
    text = html.unescape(re.sub(r"<[^>]+>", "", drawn))
    for title in re.findall(r"^[a-z]+(?: [a-z]+)*$", shown, re.MULTILINE):
        assert title in text


@pytest.mark.few(14)
@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question[:1])
def test_latex(path: str, question: list[str]) -> None:
    page = written(path, question, "--latex")
    if page is None:
        return
    assert page.startswith("% Written by tokctl inspect.")
    for name in ("tabular", "itemize"):
        assert page.count(rf"\begin{{{name}}}") == page.count(rf"\end{{{name}}}")
    assert "\\input" not in page
    for line in page.splitlines()[2:]:
        if line.startswith(r"\begin{tabular}"):
            continue
        assert line.count("{") - line.count(r"\{") == line.count("}") - line.count(r"\}")
        rest = re.sub(r"\\[{}$&#%_]|\\\\|\$(\\[a-z]+|-)\$", "", line)
        assert not re.search(r"[$#%_~^<>|\"'`]", rest)
    for head, rows in re.findall(r"\\begin\{tabular\}\{(.*)\}\n((?:.|\n)*?)\\end\{tabular\}", page):
        columns = len(re.findall(r"[lr]|p\{[^}]*\}", re.sub(r">\{[^}]*\}", "", head)))
        for row in rows.splitlines():
            if row.endswith(r"\\"):
                assert len(re.findall(r"(?<!\\)&", row)) == columns - 1


def test_the_tokens_that_a_step_made_are_marked(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    every.model("gpt2").save(path)
    page = printed(str(path), "--word", "lowest", "--markdown")
    assert re.search(r"`[^`]*\[lo\][^`]*`", page)


def test_one_form_at_a_time(tmp_path: Path) -> None:
    path = str(tmp_path / "b.json")
    every.model("gpt2").save(path)
    assert "error: --json and --markdown are two outputs" in refused(path, "--json", "--markdown")
    assert "error: --watch can't be combined with Markdown" in refused(
        path, "--watch", "--markdown"
    )
