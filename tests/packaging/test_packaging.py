"""What a release is made with: packaging/ and the workflows."""

from __future__ import annotations

import re
import runpy
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import tokctl

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
VERSION = tomllib.loads(
    (ROOT / "tokctl" / "native" / "Cargo.toml").read_text(encoding="utf-8"),
)["workspace"]["package"]["version"]

REPOSITORY = "https://example.org/we/ours"


def script(name: str) -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "packaging" / f"{name}.py"))


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_versions_agree() -> None:
    (recipe,) = re.findall(r'^  version: "(.*)"$', read("packaging/conda/recipe.yaml"), re.M)
    assert tokctl.__version__ == VERSION == recipe


def test_the_conda_recipe_needs_what_the_package_needs() -> None:
    project = tomllib.loads(read("pyproject.toml"))["project"]
    wanted = {need.partition(";")[0].strip() for need in project["dependencies"]}
    section = read("packaging/conda/recipe.yaml").partition("  run:\n")[2].partition("\ntests:")[0]
    named = set(re.findall(r"(?:- |then: )([\w.-]+ >=[\d.]+)$", section, re.M))
    assert {need.replace(" ", "") for need in named} == wanted


def test_notes_are_the_section_of_the_tag() -> None:
    notes = script("release_notes")["notes"]
    changelog = "## Unreleased\n- c\n\n## 0.1.10\n- b\n\n## 0.1.1 (a date)\n- a\n- aa\n"
    assert notes("v0.1.1", changelog) == "- a\n- aa\n"
    assert notes("v0.1.10", changelog) == "- b\n"
    for tag in ("v0.1", "v1.1", "v0.1.1rc1"):
        with pytest.raises(ValueError, match=f"no section for {tag}"):
            notes(tag, changelog)
    assert notes(f"v{VERSION}", read("CHANGELOG.md"))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("see [a](docs/a.md#b) and [c](#c)", "see [a](R/blob/1/docs/a.md#b) and [c](#c)"),
        ("![a](docs/a.svg)", "![a](R/raw/1/docs/a.svg)"),
        ("[![a](b.svg)](LICENSE)", "[![a](R/raw/1/b.svg)](R/blob/1/LICENSE)"),
        ("[![a](../../x/badge.svg)](../../x)", "[![a](R/x/badge.svg)](R/x)"),
        ("![a](https://b/c.svg)[m](mailto:a@b)", "![a](https://b/c.svg)[m](mailto:a@b)"),
    ],
)
def test_links_get_whole_addresses(before: str, after: str) -> None:
    made = script("prepare")["with_addresses"](before, REPOSITORY, "1")
    assert made == after.replace("R/", f"{REPOSITORY}/")


def test_no_link_of_the_readme_needs_the_repository() -> None:
    made = script("prepare")["with_addresses"](read("README.md"), REPOSITORY, "v1")
    targets = re.findall(r"\]\(([^)]+)\)", made)
    assert len(targets) == len(re.findall(r"\]\(([^)]+)\)", read("README.md"))) > 20
    assert [to for to in targets if not to.startswith(("#", "https://"))] == []
    assert "![A terminal with the output of tokctl compare: " in made
    assert f"({REPOSITORY}/raw/v1/docs/pictures/compare.svg)" in made


def test_a_release_has_addresses_and_what_has_no_gil_no_orjson() -> None:
    prepare = script("prepare")
    before = tomllib.loads(read("pyproject.toml"))
    assert "urls" not in before["project"]
    after = tomllib.loads(prepare["with_urls"](read("pyproject.toml"), REPOSITORY))
    assert after["project"].pop("urls")["Repository"] == REPOSITORY
    assert after == before
    after = tomllib.loads(prepare["without_orjson"](read("pyproject.toml")))
    gone = set(before["project"]["dependencies"]) - set(after["project"].pop("dependencies"))
    assert {name.partition(">")[0] for name in gone} == {"orjson"}
    del before["project"]["dependencies"]
    assert after == before


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_to_commits(path: Path) -> None:
    for used in re.findall(r"uses: (.*)", path.read_text(encoding="utf-8")):
        assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v[\d.]+", used), used


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_run_what_there_is(path: Path) -> None:
    for name in re.findall(r"packaging/\w+\.py", path.read_text(encoding="utf-8")):
        assert (ROOT / name).is_file(), name


def test_the_first_commands_that_a_wheel_is_tried_with(tmp_path: Path) -> None:
    shown = script("try_wheel")["first_commands"]([sys.executable, "-m", "tokctl"], str(tmp_path))
    assert "unigram" in shown
