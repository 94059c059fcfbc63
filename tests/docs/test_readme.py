"""The README and the tour tell the truth: their commands run and print what they say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests import systems
from tests.conftest import shared_file
from tokctl import Tokenizer
from tokctl.cli.app import COMMANDS
from tokctl.model.presets import PRESETS

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
TOUR = (ROOT / "docs" / "tour.md").read_text(encoding="utf-8")
DOCS = sorted((ROOT / "docs").rglob("*.md"))


def blocks(page: str, kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", page, flags=re.DOTALL)


def console_steps(page: str) -> list[tuple[str, str]]:
    """Every command with the output shown below it."""
    steps: list[tuple[str, str]] = []
    for block in blocks(page, "console"):
        joined = block.replace("\\\n", " ")
        for part in re.split(r"^\$ ", joined, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            steps.append((command.split("   #")[0].strip(), output))
    return steps


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tour")
    book = shared_file("corpora/treasure-island.txt")
    (path / "treasure-island.txt").write_bytes(book.read_bytes())
    (path / "toy.txt").write_text("low low lower lowest newest newest widest\n")
    return path


@pytest.mark.slow
@systems.shell
@pytest.mark.parametrize(("page", "least"), [(README, 4), (TOUR, 40)], ids=["README", "tour"])
def test_the_commands(page: str, least: int, folder: Path) -> None:
    """In order, each with a shell, as a reader would."""
    shell = f'tokctl() {{ "{sys.executable}" -m tokctl "$@"; }}; less() {{ cat; }}; set -e; '
    # pytest sets COLUMNS, which is honoured.
    environ = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    assert len(console_steps(page)) >= least
    for command, output in console_steps(page):
        done = subprocess.run(
            ["bash", "-c", shell + command],
            cwd=folder,
            env=environ,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        if output:
            assert done.stdout == output, command


def test_what_compare_prints_is_what_the_tour_shows() -> None:
    # pytest sets COLUMNS, which is honoured.
    environ = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    done = subprocess.run(
        [sys.executable, "-m", "tokctl", "-q", "compare"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env=environ,
    )
    shown = next(block for block in blocks(TOUR, "text") if block.startswith("The text is"))
    printed = done.stdout.splitlines()
    assert [line for line in shown.splitlines() if line not in printed] == []


def test_the_python_example(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    (folder / "book.txt").write_bytes((folder / "treasure-island.txt").read_bytes())
    names: dict[str, object] = {}
    (example,) = blocks(README, "python")
    exec(example, names)
    assert names["text"] == "There is still a lot of treasure"
    assert isinstance(names["tok"], Tokenizer)
    assert Tokenizer.load("book.json").vocab_size == 10_000


def test_the_number_of_recipes() -> None:
    assert f"lists {len(PRESETS)} recipes" in " ".join(TOUR.split())


def test_the_first_two_commands_set_everything_up() -> None:
    first, second = re.findall(r"^    (pip install .*)$", README, flags=re.MULTILINE)
    assert first == "pip install . && tokctl compare"
    assert second == "pip install -e '.[test]' && python -m pytest"
    lines = README.splitlines()
    shown = next(place for place, line in enumerate(lines) if "docs/pictures/compare.svg" in line)
    assert lines.index(f"    {first}") < shown < 60


def test_badges_say_what_is_true() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    badges = re.findall(r"^\[?!\[([^]]+)\]\((\S+?)\)", README.partition("\n**")[0], flags=re.M)
    assert [alt for alt, _ in badges] == [
        "tests",
        f"Python {project['requires-python'].removeprefix('>=')} or newer",
        f"licence: {project['license']}",
    ]
    of_tests, of_python, of_licence = (unquote(address) for _, address in badges)
    workflow = of_tests.removeprefix("../../actions/workflows/").removesuffix("/badge.svg")
    assert (ROOT / ".github" / "workflows" / workflow).is_file()
    assert f"python-{project['requires-python'].removeprefix('>=')}+-" in of_python
    assert f"licence-{project['license'].replace('-', '--')}-" in of_licence


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", *DOCS], ids=lambda path: str(path.relative_to(ROOT))
)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        # On GitHub, the runs of a workflow stand beside the branches.
        elsewhere = target.startswith(("http", "../../actions/workflows/"))
        assert elsewhere or (page.parent / target).exists(), target


def test_every_option_in_the_docs_exists() -> None:
    """A page that names an option which is gone is stale."""
    helps = ""
    for command in ("", *COMMANDS):
        arguments = [sys.executable, "-m", "tokctl", *([command] if command else []), "--help"]
        shown = subprocess.run(
            arguments, capture_output=True, text=True, check=True, env={"COLUMNS": "200"}
        )
        helps += shown.stdout
    known = set(re.findall(r"--[a-z][a-z-]+", helps))
    pages = [ROOT / "README.md"]
    pages += (ROOT / "docs" / f"{name}.md" for name in ("algorithms", "model-file", "tour"))
    pages += (ROOT / "docs" / "tutorial").glob("*.md")
    for page in pages:
        named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", page.read_text(encoding="utf-8")))
        assert named <= known, f"{page.name}: {sorted(named - known)}"
