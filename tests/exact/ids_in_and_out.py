"""Small models, and what comes of a call, for the tests of ids in and out."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from tokctl import TokctlError, Tokenizer, default_recipe, preset

WORDS = {b" the": 9, b" there": 5, b"hello": 4, " für".encode(): 3, b" a quite long pre-token": 2}


@cache
def byte_level() -> Tokenizer:
    return Tokenizer.train(WORDS, recipe=preset("gpt2"), vocab_size=300)


@cache
def characters() -> Tokenizer:
    return Tokenizer.train(
        {"the": 9, "there": 5, "hello": 4}, recipe=default_recipe("wordpiece"), vocab_size=40
    )


def outcome(work: Callable[[], Any]) -> Any:
    """What it gives, or what is raised."""
    try:
        return work()
    except (TokctlError, TypeError) as error:
        return type(error), str(error)
