"""What the tests share: the bundled sample, the texts beside the checkout, Hypothesis's budget."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from hypothesis import HealthCheck, settings

# A shell that starts the tests in the background ignores Ctrl-C for them, and processes that they
# start would inherit that. A handler is not inherited: those get the signal's default.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# So does `nohup` with the signal that a closed terminal sends; here it goes on being ignored.
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda *_: None)

# Work that takes seconds tells of itself on stderr, and what is short takes seconds on a machine
# that is busy.
os.environ["TOKCTL_PROGRESS"] = "none"

# No test outlives the machine: what is written need not be on the disk, which is slow.
os.fsync = lambda _: None


def _portably(method: Callable[..., Any], **defaults: str) -> Callable[..., Any]:
    """A method of paths that takes one encoding, and one end of lines, where none is given. tokctl
    itself must give one: users have no such help."""

    def portable(path: Path, *given: str, **options: Any) -> Any:
        caller = sys._getframe(1).f_globals.get("__name__", "")
        assert "encoding" in options or not caller.startswith("tokctl."), f"{caller}: no encoding"
        if len(given) == len(defaults) - 1:  # the encoding comes behind the text, if there is one
            options = {**defaults, **options}
        return method(path, *given, **options)

    return portable


# What tests write and read is the same on every system.
Path.write_text = _portably(Path.write_text, encoding="utf-8", newline="\n")  # type: ignore[method-assign]
Path.read_text = _portably(Path.read_text, encoding="utf-8")  # type: ignore[method-assign]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow all but N of the parameters of a test that has `@pytest.mark.few(N)`.

    Names of tests are hashed, so that the N lie anywhere in the grid, whatever its axes are, and
    stay when others are added.
    """
    grids: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("few") and not item.get_closest_marker("slow"):
            grids.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for grid in grids.values():
        kept = grid[0].get_closest_marker("few").args[0]  # type: ignore[union-attr]
        for item in sorted(grid, key=lambda item: crc32(item.nodeid.encode()))[kept:]:
            item.add_marker(pytest.mark.slow)


def pytest_collection_finish() -> None:
    """Thousands of tests stay to the end: no search for garbage need look through them."""
    gc.collect()
    gc.freeze()


SHARED = Path(__file__).resolve().parents[2] / "shared"

# `TOKCTL_EXAMPLES=1000 pytest` looks further than a day's run does.
settings.register_profile(
    "tokctl",
    max_examples=int(os.environ.get("TOKCTL_EXAMPLES", "30")),
    deadline=None,
    derandomize="TOKCTL_EXAMPLES" not in os.environ,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("tokctl")


def slow_but(values: Iterable[str], *fast: str) -> list[Any]:
    """Parameters of which all but `fast` are for `-m slow`: the others take the same branches."""
    found = list(values)
    assert set(fast) <= set(found)
    return [one if one in fast else pytest.param(one, marks=pytest.mark.slow) for one in found]


def part_of_examples(divisor: int) -> settings:
    """Fewer examples, for a property that is tested for many parameters."""
    return settings(max_examples=max(1, settings().max_examples // divisor))


@pytest.fixture(scope="session")
def sample() -> str:
    """The text of the bundled sample."""
    from tokctl.sources.corpora import corpus_path

    return corpus_path("sample").read_text(encoding="utf-8")


def shared_file(name: str) -> Path:
    """A file that lies beside the checkout; the test is skipped where it does not."""
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"{name} is not here: it lies beside the project's own checkouts only")
    return path


@pytest.fixture(scope="session")
def treasure_island() -> Path:
    return shared_file("corpora/treasure-island.txt")
