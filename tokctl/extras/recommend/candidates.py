"""Candidates: the tokenizers that can be recommended, and the sizes to try them at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from tokctl.core.errors import BadOption
from tokctl.model import Recipe
from tokctl.model.parts import DECODERS, PRE_TOKENIZERS
from tokctl.model.presets import default_recipe

#: Sizes at which every candidate is trained, each twice the previous one.
SIZES = tuple(1024 << octave for octave in range(8))
#: Sizes between two doublings, in sixteenths: about a quarter of an octave apart. All sizes from
#: 8,192 up are multiples of 512.
QUARTERS = (16, 19, 23, 27)
#: Character coverages to try for a model that reads characters.
COVERAGES = ("1", "0.9999", "0.9995")


class TokenizerCandidate(NamedTuple):
    """A tokenizer that can be recommended.

    Attributes:
        name: The algorithm, and what distinguishes the candidate from others of this algorithm.
        recipe: The recipe to train.
        options: Options of `tokctl train` that describe the recipe.
        crosses: Whether tokens can join a word with the punctuation and the line end after it,
            which compresses better and makes tokens like `sea.` beside `sea`. Such a candidate is
            tried only if a text has no spaces between words, or if it is named.
    """

    name: str
    recipe: Recipe
    options: tuple[str, ...]
    crosses: bool = False


def _of_bytes(pattern: str) -> TokenizerCandidate:
    """Return the byte-level BPE candidate with this pre-tokenizer."""
    recipe = default_recipe("bpe")
    steps = PRE_TOKENIZERS.steps(pattern)
    if steps != recipe.pre_tokenizers:
        recipe = replace(recipe, name="custom", pre_tokenizers=steps)
    return TokenizerCandidate(f"bpe/{pattern}", recipe, ("--algo", "bpe", "--pretokenize", pattern))


def _of_characters(
    recipe: Recipe, name: str, pre_tokenizer: str, *options: str
) -> TokenizerCandidate:
    """Return a lossless candidate: without normalizers, and with bytes for unknown characters."""
    spaces = ["metaspace:never"] if pre_tokenizer.startswith("metaspace") else []
    lossless = replace(
        recipe,
        name="custom",
        normalizers=(),
        pre_tokenizers=PRE_TOKENIZERS.steps(pre_tokenizer),
        byte_fallback=True,
        decoders=DECODERS.steps([*spaces, "byte-fallback"]),
    )
    written = ("--algo", recipe.algorithm, *options, "--pretokenize", pre_tokenizer)
    return TokenizerCandidate(
        f"{recipe.algorithm}/{name}", lossless, (*written, "--byte-fallback"), bool(spaces)
    )


_UNIGRAM = default_recipe("unigram")
_UNIGRAM_OPTIONS = ("--normalize", "none")
_BPE_CHARACTERS = replace(default_recipe("bpe", characters=True), tie_break="lowest-id")

#: In order of preference: if candidates differ by no more than noise, the first is recommended.
CANDIDATES = {
    one.name: one
    for one in (
        *map(_of_bytes, ("gpt2", "cl100k", "o200k", "qwen2")),
        _of_characters(
            *(_BPE_CHARACTERS, "metaspace", "metaspace:never"),
            *("--chars", "--tie-break", "lowest-id"),
        ),
        _of_characters(_UNIGRAM, "cl100k", "cl100k", *_UNIGRAM_OPTIONS),
        _of_characters(_UNIGRAM, "o200k", "o200k", *_UNIGRAM_OPTIONS),
        _of_characters(_UNIGRAM, "metaspace", "metaspace:never", *_UNIGRAM_OPTIONS),
        TokenizerCandidate(
            "wordpiece/count",
            replace(
                default_recipe("wordpiece"),
                name="custom",
                score="count",
                alphabet="characters",
                tie_break="lowest-id",
            ),
            ("--algo", "wordpiece", "--score", "count"),
        ),
    )
}


def candidates_of(names: Sequence[str] | None, *, spaceless: bool) -> list[TokenizerCandidate]:
    """Return the candidates with these names or algorithms; None: all.

    Args:
        names: Names of candidates or of algorithms; None: all algorithms.
        spaceless: Whether the text has no spaces between words. Otherwise a candidate whose tokens
            cross the ends of words must be named itself.

    Raises:
        TokctlError: A name is unknown.
    """
    by_algorithm: dict[str, list[str]] = {}
    for name, candidate in CANDIDATES.items():
        of_it = by_algorithm.setdefault(candidate.recipe.algorithm, [])
        if spaceless or not candidate.crosses:
            of_it.append(name)
    algorithms: set[str] = set()
    for name in by_algorithm if names is None else names:
        if name not in CANDIDATES and name not in by_algorithm:
            raise BadOption(
                f"no candidate is called {name!r}",
                f"choose {', '.join(by_algorithm)}; or one of {', '.join(CANDIDATES)}; "
                "tokctl compare --algo trains and measures every algorithm",
                "unknown-name",
            )
        algorithms.update(by_algorithm.get(name, [name]))
    if not algorithms:
        raise BadOption("no candidate is named", "name one, or leave it to all", "missing-option")
    return [candidate for name, candidate in CANDIDATES.items() if name in algorithms]


def sizes_of(sizes: Sequence[int] | None) -> tuple[int, ...]:
    """Return the sizes to try, ascending; raise TokctlError if one is not a vocabulary size."""
    grid = SIZES if sizes is None else tuple(sorted(set(sizes)))
    for size in grid:
        if type(size) is not int or not 0 < size < 2**32:
            raise BadOption(
                f"invalid value {size!r} for sizes",
                "give numbers of ids of at least 1",
                "bad-value",
            )
    if not grid:
        raise BadOption("no size is named", "name one, or leave it to all", "missing-option")
    return grid
