"""What `train` checks before a text is read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tokctl.cli import sizes, streams
from tokctl.cli.world import World
from tokctl.errors import TokctlError

if TYPE_CHECKING:
    from decimal import Decimal

    from tokctl._native import Counts
    from tokctl.model import Recipe
    from tokctl.sources import Source
    from tokctl.training import Options


def share(option: str, text: str | None) -> Decimal | None:
    """The share, exactly as it was written; TokctlError where it is none."""
    if text is None:
        return None
    from decimal import Decimal, InvalidOperation

    from tokctl.training.options import share as checked

    try:
        number = Decimal(text)
        if not number.is_finite():
            raise InvalidOperation
    except InvalidOperation:
        raise TokctlError(
            f"{option} can't be {text!r}", "it is a share: above 0 and at most 1"
        ) from None
    checked(option, number)
    return number


def weights(given: Sequence[str]) -> dict[str, str]:
    """The weights by the names of their texts; TokctlError where one is none."""
    found: dict[str, str] = {}
    for entry in given:
        name, equals, number = entry.rpartition("=")
        if not equals or not name or not number:
            raise TokctlError(
                f"--weight can't be {entry!r}", "name the text, then its weight: book.txt=2.0"
            )
        if name in found:
            raise TokctlError(f"{name} has two weights", "leave one of them out")
        found[name] = number
    return found


#: Below this, counting would write more than it counts.
LEAST_MEMORY = 16 << 20


def memory(text: str | None) -> int | None:
    """Bytes; TokctlError where it is no number of them, or so few that nothing is won."""
    return None if text is None else sizes.size_of("--memory", text, LEAST_MEMORY)


def more_than_memory(counted: Counts, asked: Options) -> str | None:
    """A note where what is left to train on takes more than counting was allowed."""
    if asked.memory is None or (bytes_ := counted.memory()) <= asked.memory:
        return None
    return (
        f"the {len(counted):,} pre-tokens that are left take {sizes.spoken(bytes_)}, more than "
        f"--memory {sizes.spoken(asked.memory)}, and training takes more than that: --memory "
        "limits the counting; a higher --min-count leaves fewer"
    )


def check_before(
    recipe: Recipe,
    asked: Options,
    counts: bool,
    files: list[str] | None,
    sources: streams.Sources,
) -> None:
    """What is known not to go together, or to be too small, before a text is read."""
    from tokctl.training import resizing

    asked.check_against(recipe)
    if asked.extend:
        resizing.check_extension(asked.extend, recipe)
        if asked.vocab_size <= (size := len(asked.extend.tokens)):
            raise TokctlError(
                f"the model to extend has {size:,} ids already, so that {asked.vocab_size:,} in "
                "all leave nothing to learn",
                f"ask for more in all: --vocab {size + 1000}",
            )
    if counts and len(files or []) > 1:
        raise TokctlError(
            "--counts takes one file",
            "counts of the same word add up: cat a b | tokctl train --counts -",
        )
    if counts and (asked.weights or asked.sample is not None or asked.errors != "strict"):
        raise TokctlError(
            "--weight, --sample and --errors are for texts, and --counts reads words that are "
            "counted already",
            "leave them out, or change the counts",
        )
    if counts and sources.given:
        raise TokctlError(
            "--counts reads lines of words and counts, and options of texts mean nothing there",
            "leave --format, --text-field, --include, --exclude and --files-from out",
        )
    least = 256 + len(recipe.special_tokens)
    if recipe.is_byte_level and asked.vocab_size < least:
        raise TokctlError(
            f"a vocabulary of {asked.vocab_size} is too small: "
            f"the alphabet and the special tokens need {least}",
            f"ask for {least} or more: --vocab {least}",
        )


def check_save_counts(
    world: World,
    save_counts: str,
    path: str,
    texts: Sequence[Source],
    asked: Options,
    files: list[str],
    extend: str | None,
) -> None:
    """TokctlError where the counts can't be written, before a text is read."""
    from tokctl.training.counting import weigh

    if save_counts == "-":
        raise TokctlError("the counts can't go to stdout", "name a file: --save-counts PATH")
    if os.path.realpath(save_counts) == os.path.realpath(path):
        raise TokctlError(f"the counts and the model can't both be {path}", "give one another name")
    streams.check_output(world, save_counts, files, extend)
    if weigh([text.name for text in texts], asked.weights)[1] != 1:
        raise TokctlError(
            "weights with decimals make counts that are no whole numbers, which a file of "
            "counts can't hold",
            "give whole weights, or leave --save-counts out",
        )
