"""docs/shell.md names every variable that the code looks up, every exit code, every event."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tokctl
from tests.tools import shells
from tokctl.cli.app import EPILOG
from tokctl.cli.command import PROGRESS
from tokctl.cli.progress import PHASES
from tokctl.core.errors import ExitCode

PACKAGE = Path(tokctl.__file__).parent
PAGE = PACKAGE.parent / "docs" / "shell.md"

#: A look-up: `environ["X"]`, `environ.get("X")`, `env::var("X")`, `setdefault(…)`, by a name.
LOOK_UP = re.compile(
    r"""(?:environ(?:\.get|\.setdefault|\.pop)?\s*[\[(]|getenv\(|env::var(?:_os)?\()\s*
        (?:"([A-Z][A-Z0-9_]*)"|(\w+))""",
    re.VERBOSE,
)
#: Look-ups by a name that is a variable of the code: what it is there.
BY_NAME = {"quiet": "TRANSFORMERS_NO_ADVISORY_WARNINGS"}


def page() -> str:
    if not PAGE.exists():
        pytest.skip("the documentation is not in an installed wheel")
    return PAGE.read_text(encoding="utf-8")


def looked_up() -> set[str]:
    """Every variable of the environment that the code names."""
    found = set()
    for path in (*PACKAGE.rglob("*.py"), *PACKAGE.glob("native/*/src/**/*.rs")):
        if path.stem == "tests":
            continue
        for literal, name in LOOK_UP.findall(path.read_text(encoding="utf-8")):
            if name and name not in BY_NAME:
                pytest.fail(f"{path}: an environment variable without a name: {name}")
            found.add(literal or BY_NAME[name])
    return found


def rows(section: str) -> set[str]:
    """What stands in code in the first cells of a section's table."""
    part = page().partition(f"## {section}\n")[2].partition("\n## ")[0]
    firsts = re.findall(r"^\| (.*?) \|", part, flags=re.MULTILINE)
    return {name for first in firsts for name in re.findall(r"`(\w+)`", first)}


def test_every_variable_is_there() -> None:
    found = looked_up()
    assert {"TOKCTL_MODEL", "TOKCTL_CACHE", "TOKCTL_PROGRESS", "NO_COLOR", "PAGER"} <= found
    documented = rows("Environment")
    assert found - documented == set()
    of_pages = {name for each in shells.VARIABLES for name in each.name.split(", ")}
    assert of_pages - documented == set()
    # The pages leave out what nobody sets for tokctl.
    of_everyone = {"HOME", "PATH", "TRANSFORMERS_NO_ADVISORY_WARNINGS"}
    of_everyone |= {"TOKENIZERS_PARALLELISM", "RAYON_NUM_THREADS"}
    of_everyone |= {"RAY_USAGE_STATS_ENABLED", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"}
    of_everyone |= {"TOKENIZERS_PARALLELISM", "RAYON_NUM_THREADS"}  # of the Python API alone
    assert documented - of_pages == of_everyone


def test_exit_codes() -> None:
    part = page().partition("## Exit codes\n")[2].partition("\n## ")[0]
    codes = set(re.findall(r"^\| (\d+) \|", part, flags=re.MULTILINE))
    assert codes == {str(int(code)) for code in ExitCode} | {"143"}
    assert codes == {code for code, _ in shells.EXIT_CODES} | {"1"}


def test_the_help_names_them() -> None:
    for code in ("0", "1", "2", "130", "143"):
        assert re.search(rf"\b{code}\b", EPILOG)
    for name in re.findall(r"\b[A-Z]+(?:_[A-Z]+)+\b", EPILOG):
        assert name in rows("Environment")
    own = {name for name in looked_up() if name.startswith("TOKCTL_")}
    assert all(name in EPILOG for name in own)


def test_progress() -> None:
    documented = rows("Progress")
    assert set(PROGRESS) <= documented
    assert {"progress", "done", "error", "note", "message"} <= documented
    text = page().partition("`phase` is ")[2].partition(";")[0]
    assert set(re.findall(r"`([\w-]+)`", text)) == set(PHASES)
