"""Numbers and names in sentences."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokctl.core.humanize import file_names, listed, percent, plural, times


@pytest.mark.parametrize(
    ("share", "written"),
    [
        (0.5, "50.0%"),
        (1, "100.0%"),
        (1.5, "150.0%"),
        (25.5, "2,550.0%"),
        (0.9999, ">99.9%"),
        (0.0001, "<0.1%"),
        (0, "0.0%"),
    ],
)
def test_percent(share: float, written: str) -> None:
    assert percent(share) == written


@given(share=st.floats(0, 1), digits=st.integers(1, 4))
def test_nothing_and_all_are_that(share: float, digits: int) -> None:
    shown = percent(share, digits)
    assert (shown == f"{0:.{digits}f}%") == (share == 0)
    assert (shown == f"{100:.{digits}f}%") == (share == 1)


def test_counts() -> None:
    assert [times(n) for n in (0, 1, 2, 3, 1000)] == [
        "never",
        "once",
        "twice",
        "3 times",
        "1,000 times",
    ]
    assert [plural(n, "id") for n in (0, 1, 2000)] == ["0 ids", "1 id", "2,000 ids"]
    assert plural(2, "box", "boxes") == "2 boxes"


def test_lists() -> None:
    assert listed(["a"]) == "a"
    assert listed(["a", "b"]) == "a and b"
    assert listed(["a", "b", "c"], "or") == "a, b or c"


@pytest.mark.parametrize(
    ("paths", "shown"),
    [
        ([], []),
        (["/home/me/a.txt"], ["a.txt"]),
        (["a.txt", "b/a.json"], ["a.txt", "a.json"]),
        (["/x/en/a.txt", "/x/de/a.txt", "/x/b.txt"], ["en/a.txt", "de/a.txt", "b.txt"]),
        (["a.txt", "/x/a.txt"], ["a.txt", "x/a.txt"]),
        (["/x/a", "/x/a"], ["a", "a"]),
        (["/", "", "stdin", "x/"], ["/", "", "stdin", "x"]),
        (["hf:org/name", "https://x.y/a.txt"], ["hf:org/name", "https://x.y/a.txt"]),
    ],
)
def test_files_are_called_by_as_much_as_tells_them_apart(
    paths: list[str], shown: list[str]
) -> None:
    assert file_names(paths) == shown
