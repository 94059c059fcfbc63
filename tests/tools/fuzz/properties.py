"""The property tests of texts, as one function of bytes: Hypothesis makes their values of what
libFuzzer tries. They hold ids, places and texts against the slow twins and against the peers."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

MODULES = (
    "added_tokens",
    "any_recipe",
    "bpe_options",
    "decoders",
    "encoding",
    "extending",
    "normalizer_rules",
    "normalizers",
    "pretokenizer_steps",
    "pretokenizers",
    "training",
    "training_options",
    "unigram_encoding",
    "unigram_training",
    "word_models",
)


class Property(NamedTuple):
    """A test, what is drawn for it, and one set of its parameters."""

    name: str
    test: Callable[..., None]
    drawn: dict[str, Any]
    parameters: dict[str, Any]


def found() -> Iterator[Property]:
    """Every property test of `MODULES` that needs nothing of pytest but its parameters."""
    import_module("tests.conftest")  # Hypothesis's profile, which some of them ask for
    for module in MODULES:
        for name, test in vars(import_module(f"tests.exact.test_{module}")).items():
            inner = getattr(getattr(test, "hypothesis", None), "inner_test", None)
            if inner is None or any(mark.name == "slow" for mark in marks(test)):
                continue
            wanted = inspect.signature(inner).parameters.keys()
            for parameters in sets(test):
                drawn = test.hypothesis._given_kwargs
                if drawn.keys() | parameters.keys() == wanted:
                    yield Property(f"{module}.{name}", inner, drawn, parameters)


def marks(test: Any) -> list[Any]:
    return getattr(test, "pytestmark", [])


def sets(test: Any) -> Iterator[dict[str, Any]]:
    """The sets of parameters that pytest would run the test with."""
    axes = []
    for mark in marks(test):
        if mark.name != "parametrize":
            continue
        names, values = mark.args
        names = [name.strip() for name in names.split(",")] if isinstance(names, str) else names
        rows = []
        for value in values:
            if hasattr(value, "marks"):  # pytest.param
                if value.marks:
                    continue
                row = value.values
            else:
                row = (value,) if len(names) == 1 else value
            rows.append(dict(zip(names, row, strict=True)))
        axes.append(rows)
    for chosen in itertools.product(*axes):
        yield {name: value for row in chosen for name, value in row.items()}


@cache
def properties() -> Callable[[bytes], Any]:
    """Runs the property that the first bytes choose, on values that the others make."""
    from hypothesis import given
    from hypothesis import strategies as st

    every = sorted(found(), key=lambda one: (one.name, repr(one.parameters)))
    # Of tests with many parameters no more is tried than of those with few.
    by_name = [list(some) for _, some in itertools.groupby(every, lambda one: one.name)]

    @given(st.data())
    def chosen(data: Any) -> None:
        one = data.draw(st.sampled_from(data.draw(st.sampled_from(by_name))))
        drawn = {name: data.draw(kind) for name, kind in one.drawn.items()}
        one.test(**one.parameters, **drawn)

    fuzz: Callable[[bytes], Any] = chosen.hypothesis.fuzz_one_input
    return fuzz
