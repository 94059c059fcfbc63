"""`--html`, `--plot` and `--chart` as a person gives them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.run import Result, error, names, process, tokctl
from tests.conftest import shared_file
from tests.metrics.models import TEXT, model
from tokctl import Tokenizer
from tokctl.report import charts

pytest.importorskip("altair", reason="pages need the extra `report`")
pytest.importorskip("jinja2", reason="pages need the extra `report`")
pytest.importorskip("vl_convert", reason="pages need the extra `report`")

MODELS = ("-m", "b.json", "-m", "w.json")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two models and a text."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TOKCTL_MODEL", raising=False)
    model("bpe").save("b.json")
    model("wordpiece").save("w.json")
    Path("low.txt").write_text(TEXT)
    return tmp_path


FILES = ["b.json", "low.txt", "w.json"]


def refused(*arguments: str) -> str:
    ran = tokctl(*arguments)
    assert (ran.code, ran.out) == (2, b"")
    assert "p.html" not in names(Path())
    return ran.err


def test_the_page_of_a_comparison() -> None:
    assert tokctl("compare", *MODELS, "low.txt", "--html", "p.html") == Result(0, b"p.html\n", "")
    assert names(Path()) == sorted([*FILES, "p.html"])
    page = Path("p.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert "low.txt: 71 characters" in page
    # The same again, over the old file.
    first = Path("p.html").read_bytes()
    ran = tokctl("compare", *MODELS, "low.txt", "--html", "p.html", "--threads", "1")
    again = Path("p.html").read_bytes().replace(b" --threads 1", b"")
    assert (ran.code, again) == (0, first)


@pytest.mark.slow
def test_a_page_with_everything_that_can_be_asked_for() -> None:
    Path("en.txt").write_text(TEXT)
    Path("fi.txt").write_text("low lower\n" * 3)
    asked = ["--vocab", "262,270", "--algo", "bpe,wordpiece", "--lang", "en=en.txt"]
    asked += ["--lang", "fi=fi.txt", "--intervals", "--speed", "--words", "unicode"]
    ran = tokctl("compare", "-q", "low.txt", *asked, "--html", "p.html")
    assert ran == Result(0, b"p.html\n", "")
    page = Path("p.html").read_text(encoding="utf-8")
    for title in ("Vocabulary sizes", "Languages", "encodes, MB/s", "What the figures say"):
        assert title in page
    assert re.search(r"<small>[\d.,]+ to [\d.,]+</small>", page)


@pytest.mark.slow
def test_the_page_of_a_large_text_is_small(treasure_island: Path) -> None:
    books = shared_file("corpora/books.txt")
    models = []
    for name in ("bpe", "wordpiece", "unigram"):
        Tokenizer.train([treasure_island], vocab_size=10_000, algorithm=name).save(f"{name}.json")
        models += ["-m", f"{name}.json"]
    assert tokctl("compare", *models, str(books), "--html", "p.html").code == 0
    assert 50_000 < Path("p.html").stat().st_size < 3_000_000


@pytest.mark.slow
def test_the_page_of_a_model() -> None:
    for extra_arguments in ([], ["low.txt"], ["-"]):
        arguments = ["inspect", "b.json", "--html", "p.html", *extra_arguments]
        assert tokctl(*arguments, stdin=TEXT.encode()) == Result(0, b"p.html\n", "")
        page = Path("p.html").read_text(encoding="utf-8")
        assert ("Sentences" in page) == bool(extra_arguments)
    assert "From stdin: 71 characters, 12 words." in page


@pytest.mark.slow
def test_texts_that_are_not_utf_8() -> None:
    Path("bad.txt").write_bytes(b"lo\xffw\n")
    err = refused("inspect", "w.json", "bad.txt", "--html", "p.html")
    assert "bad.txt: line 1, byte 2 is not UTF-8" in err
    asked = ("inspect", "w.json", "bad.txt", "--html", "p.html", "--errors", "replace")
    assert tokctl(*asked).code == 0


@pytest.mark.slow
def test_a_page_and_a_chart_at_once() -> None:
    ran = tokctl("compare", *MODELS, "low.txt", "--html", "p.html", "--plot", "c.json")
    assert ran == Result(0, b"p.html\nc.json\n", "")
    # The most useful one that there is.
    assert json.loads(Path("c.json").read_bytes())["title"]["text"] == "Metrics relative to b"


@pytest.mark.few(2)
@pytest.mark.parametrize("ending", ["png", "svg", "pdf", "json"])
def test_charts_of_a_model(ending: str) -> None:
    ran = tokctl("inspect", "b.json", "--plot", f"c.{ending}", "--chart", "kinds")
    assert ran == Result(0, f"c.{ending}\n".encode(), "")
    assert Path(f"c.{ending}").stat().st_size > 500


def test_the_names_of_the_charts() -> None:
    for command, found in (("compare", charts.COMPARE), ("inspect", charts.INSPECT)):
        ran = tokctl(command, "--chart", "list")
        lines = "".join(f"{name}\t{what}\n" for name, what in found.items())
        assert ran == Result(0, lines.encode(), "")


@pytest.mark.slow
def test_conditions_are_checked_beside_a_page() -> None:
    ran = tokctl("compare", *MODELS, "low.txt", "--html", "p.html", "--fail-if", "tokens > 20")
    assert (ran.code, ran.out) == (1, b"p.html\n")
    assert Path("p.html").exists()


def test_what_can_not_be_written_is_known_before_the_work() -> None:
    def compare(*arguments: str) -> str:
        return refused("compare", *MODELS, "low.txt", *arguments)

    assert compare("--html", "no/p.html").startswith("error: can't write no/p.html: there is no")
    assert "it is one of the files to read" in compare("--html", "low.txt")
    assert "choose another place with --html FILE" in compare("--html", "low.txt")
    assert "it is one of the files to read" in compare("--plot", "b.json")
    assert compare("--html", "-").startswith("error: --html can't go to stdout")
    assert compare("--html", "").startswith("error: --html is empty")
    assert "--html and --json are two outputs" in compare("--html", "p.html", "--json")
    assert "--plot and --markdown are two outputs" in compare("--plot", "c.svg", "--markdown")
    assert "--chart needs --plot" in compare("--chart", "lengths")
    assert "no chart of tokctl compare is called 'kinds'" in compare(
        "--plot", "c.svg", "--chart", "kinds"
    )
    assert "c.gif, which ends in .gif" in compare("--plot", "c.gif")
    assert "name the same file" in compare("--html", "x.svg", "--plot", "./x.svg")
    assert Path("low.txt").read_text() == TEXT
    err = refused("inspect", "b.json", "--html", "p.html", "--word", "low")
    assert "--html and --word are two outputs" in err
    err = refused("inspect", "b.json", "--plot", "c.svg", "--chart", "loss")
    assert "this result has no chart 'loss'" in err
    assert names(Path()) == FILES


def test_an_empty_text() -> None:
    Path("empty.txt").write_bytes(b"")
    for arguments in (["compare", *MODELS, "empty.txt"], ["inspect", "b.json", "empty.txt"]):
        assert tokctl(*arguments, "--html", "p.html") == Result(0, b"p.html\n", "")


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(charts._NEEDED, "a_module_that_nobody_has", "its-package")
    for option, path in (("--html", "p.html"), ("--plot", "c.svg")):
        err = refused("compare", *MODELS, "low.txt", option, path)
        assert err == error("pages and charts need its-package", "pip install 'tokctl[report]'")


WATCHED = """
import atexit, sys
heavy = ("altair", "jinja2", "vl_convert")
atexit.register(lambda: print([m for m in heavy if m in sys.modules], file=sys.stderr))
sys.argv = ["tokctl", "inspect", "b.json", "--word", "low"]
from tokctl.__main__ import main
main()
"""


def test_other_outputs_import_nothing_of_it() -> None:
    found = subprocess.run(
        [sys.executable, "-c", WATCHED], capture_output=True, text=True, check=True
    )
    assert found.stderr == "[]\n"


def test_as_a_process() -> None:
    ran = process("compare", *MODELS, "low.txt", "--html", "p.html")
    assert ran == Result(0, b"p.html\n", "")
