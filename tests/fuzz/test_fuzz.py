"""A fixed set of mutated inputs for every target; `python -m tests.tools.fuzz` runs for longer."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import pytest

from tests.conftest import slow_but
from tests.tools.fuzz.corpus import cases
from tests.tools.fuzz.mutations import mutated
from tests.tools.fuzz.seeds import READERS, seeds
from tests.tools.fuzz.targets import TARGETS, read
from tokctl import Tokenizer

CASES = int(os.environ.get("TOKCTL_EXAMPLES", "300"))
#: Whose cases a seed alone can make; those of `twins` are the property tests' own.
SHOT_AT = [name for name in TARGETS if name != "twins"]


@pytest.mark.few(2)
@pytest.mark.parametrize("name", slow_but(SHOT_AT, "tiktoken", "tokctl", "ids", "lines"))
def test_whatever_a_file_holds(name: str, tmp_path: Path) -> None:
    draw = random.Random(f"{name} {CASES}")
    starts = seeds(name)
    if not starts:
        pytest.skip("the library that makes such files is not installed")
    slowest = 0.0
    for number in range(CASES):
        case = mutated(draw.choice(starts), draw)
        begun = time.process_time()
        try:
            TARGETS[name](case, tmp_path)
        except Exception:
            Path(f"{tmp_path}-case-{number}").write_bytes(case)
            raise
        slowest = max(slowest, time.process_time() - begun)
    print(f"{CASES:,} cases, the slowest {slowest:.2f} s of CPU time")


@pytest.mark.parametrize("name", ["twins"])
def test_what_fuzzing_kept(name: str, tmp_path: Path) -> None:
    """Cases that reached new code; those of the others are tried in `test_guarded.py`."""
    for number, case in enumerate(cases(name)):
        try:
            TARGETS[name](case, tmp_path)
        except Exception as error:
            error.add_note(f"case {number} of {name}")
            raise


@pytest.mark.parametrize("name", [name for name in READERS if name != "word-counts"])
def test_what_they_start_from_is_whole(name: str, tmp_path: Path) -> None:
    """A case that is refused at once would lead nowhere."""
    for case in seeds(name):
        Tokenizer(read(case, tmp_path))
