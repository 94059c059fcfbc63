"""THIRD-PARTY.md lists what tokctl is made of, with the licences that those say they have."""

from __future__ import annotations

import importlib.metadata
import json
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NATIVE = ROOT / "tokctl" / "native"
PAGE = (ROOT / "THIRD-PARTY.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

#: Extras that nobody needs to use tokctl.
OURS = (
    *("test", "test-page", "test-interop", "test-cluster", "test-engines", "test-spark"),
    *("site", "fuzz", "bench", "dev"),
)

#: Of packages that name their licence in words, or in a text.
IN_WORDS = {
    "Apache 2.0": "Apache-2.0",
    "3-Clause BSD License": "BSD-3-Clause",
    "BSD License": "BSD-3-Clause",
    "MIT License": "MIT",
    "Apache Software License": "Apache-2.0",
}


def table(heading: str) -> list[list[str]]:
    """The rows of the table below a heading."""
    section = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (.*) \|$", section, re.MULTILINE)
    return [[cell.strip() for cell in row.split(" | ")] for row in rows[1:]]


CRATES: dict[str, str] = dict(table("Inside the native module") + table("While it is built"))
PACKAGES = {name: (extra, licence) for name, extra, licence in table("Python packages")}


def locked() -> set[str]:
    lock = tomllib.loads((NATIVE / "Cargo.lock").read_text(encoding="utf-8"))
    return {package["name"] for package in lock["package"] if "source" in package}


@pytest.mark.skipif(not NATIVE.joinpath("Cargo.lock").exists(), reason="no Rust sources here")
def test_every_crate_is_listed() -> None:
    assert CRATES.keys() == locked()


@pytest.mark.skipif(shutil.which("cargo") is None, reason="needs cargo")
def test_crates_have_these_licences() -> None:
    done = subprocess.run(
        ["cargo", "metadata", "--format-version", "1", "--offline", "--locked"],
        cwd=NATIVE,
        capture_output=True,
        check=False,
    )
    if done.returncode:
        pytest.skip("the crates are not on this machine")
    found = {
        package["name"]: package["license"]
        for package in json.loads(done.stdout)["packages"]
        if package["source"]
    }
    assert found == CRATES


@pytest.mark.skipif(shutil.which("cargo") is None, reason="needs cargo")
def test_what_is_in_the_module_and_what_is_not() -> None:
    tree = ["cargo", "tree", "-e", "normal,no-proc-macro", "--prefix", "none", "--target", "all"]
    done = subprocess.run(
        [*tree, "-p", "tokctl-python", "--offline", "--locked", "--format", "{p}"],
        cwd=NATIVE,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.skip("the crates are not on this machine")
    inside = {line.split()[0] for line in done.stdout.splitlines()}
    assert inside - {"tokctl-core", "tokctl-python"} == {
        name for name, _ in table("Inside the native module")
    }


def needed() -> dict[str, str]:
    """The packages of those who use tokctl, each with its extra."""
    wanted = {"always": PROJECT["dependencies"], **PROJECT["optional-dependencies"]}
    return {
        re.split(r"[^\w.-]", text)[0]: extra
        for extra, texts in wanted.items()
        if extra not in OURS
        for text in texts
    }


def test_every_package_is_listed() -> None:
    listed = {name: extra.split(",")[0] for name, (extra, _) in PACKAGES.items()}
    assert listed == needed()


@pytest.mark.parametrize("name", PACKAGES)
def test_packages_have_these_licences(name: str) -> None:
    try:
        about = importlib.metadata.metadata(name)
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("it is not installed")
    listed = PACKAGES[name][1]
    said = about.get("License-Expression") or about.get("License") or ""
    if said in IN_WORDS or "\n" in said or not said:
        kinds = [
            kind.split(" :: ")[-1]
            for kind in about.get_all("Classifier", [])
            if kind.startswith("License")
        ]
        said = IN_WORDS.get(said) or " AND ".join(IN_WORDS.get(kind, kind) for kind in kinds)
        # NumPy before 2.4 names its own licence, and not those of what it carries.
        listed = "BSD-3-Clause" if name == "numpy" else listed
    assert said == listed
