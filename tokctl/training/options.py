"""Options of a training, in addition to the recipe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Protocol, TypeAlias

from tokctl.core.errors import BadOption
from tokctl.core.values import brief
from tokctl.model import Model, Recipe
from tokctl.sources import check_errors

if TYPE_CHECKING:
    from decimal import Decimal
    from fractions import Fraction
    from pathlib import Path

#: A share or a weight. A float stands for the decimal that Python prints for it.
Number: TypeAlias = "int | float | str | Decimal | Fraction"

#: Exclusive limit of numbers that pass into the core, so that they fit a signed 64-bit integer.
MOST = 2**63

#: The options that are numbers, named so that messages suit Python and the command line.
_NUMBERS = {
    "vocab_size": "the vocabulary size",
    "min_count": "the least count",
    "min_frequency": "the least frequency",
    "max_token_length": "the greatest token length",
    "threads": "the number of threads",
    "alphabet_limit": "the alphabet limit",
    "memory": "the memory",
}


class HasModel(Protocol):
    """An object with a model, such as a `Tokenizer`."""

    @property
    def model(self) -> Model:
        """The model."""


@dataclass(frozen=True, kw_only=True)
class TrainOptions:
    """The options of a training, in addition to the recipe.

    Attributes:
        vocab_size: Total number of ids: special tokens, alphabet and merged tokens.
        min_count: Pre-tokens that occur less often are dropped before training.
        min_frequency: Pairs that occur less often are never merged, and words that occur less often
            are not tokens of a word model.
        max_token_length: In the recipe's units, bytes or characters; markers don't count.
        whole_characters: (byte-level) A token of several bytes consists of whole UTF-8 characters,
            or is the beginning of a single one.
        initial_tokens: Texts that become tokens even if they do not occur. The first merges make
            them; a word model gives them an id.
        threads: Number of threads; None: the number of processors that this process may use. The
            result does not depend on it.
        errors: `strict` or `replace`, for text that is not UTF-8 (character recipes).
        coverage: Share of all character occurrences that the alphabet must cover: the most frequent
            characters get an id until it is reached.
        alphabet_limit: Maximum number of characters that get an id; the most frequent ones are
            kept.
        initial_alphabet: Characters that get an id even if they do not occur; `coverage` and
            `alphabet_limit` count them, but never drop them.
        weights: Weight of one occurrence, by the source's name (`-` for stdin; an archive as a
            whole, a file of a folder by its path); by default 1.
        sample: Share of the lines to read, or of the documents of a source of records; `seed` alone
            determines which ones.
        seed: Random seed for `sample`.
        threshold: For PickyBPE and BoundlessBPE: a token is removed if at least this share of its
            occurrences becomes part of another token. None: 0.9 for PickyBPE, no removals for
            BoundlessBPE.
        extend: A tokenizer or a model to continue from, with its recipe; it keeps its ids and its
            merges, and new special tokens get the last ids.
        memory: Maximum size of the counting tables in bytes; the rest goes to temporary files,
            which are merged. None: no limit. The result does not depend on it. Blocks of text and
            the memory that training itself needs are not included.
        temporary: Folder for the temporary files; None: the system's (`$TMPDIR`). The files have no
            names, so they disappear however the process ends.

    Example:
        TrainOptions(vocab_size=10_000, min_frequency=2, memory=1 << 30)
    """

    vocab_size: int = 10_000
    min_count: int = 1
    min_frequency: int = 1
    max_token_length: int | None = None
    whole_characters: bool = False
    initial_tokens: Sequence[str] = ()
    threads: int | None = None
    errors: str = "strict"
    coverage: Number | None = None
    alphabet_limit: int | None = None
    initial_alphabet: str = ""
    weights: Mapping[str, Number] = field(default_factory=dict)
    sample: Number | None = None
    seed: int = 0
    threshold: Number | None = None
    extend: Model | HasModel | None = None
    memory: int | None = None
    temporary: str | Path | None = None

    def __post_init__(self) -> None:
        for name, description in _NUMBERS.items():
            value = getattr(self, name)
            if value is not None and not (type(value) is int and 0 < value < MOST):
                raise BadOption(
                    f"invalid value {value!r} for {description}",
                    "give a whole number from 1 to 2^63 - 1",
                    "bad-value",
                )
        check_errors(self.errors)
        for name in ("coverage", "sample", "threshold"):
            share(name, getattr(self, name))
        if not (type(self.seed) is int and 0 <= self.seed < 2**64):
            raise BadOption(
                f"invalid value {self.seed!r} for seed",
                "give a whole number from 0 to 2^64 - 1",
                "bad-value",
            )
        if not isinstance(self.initial_alphabet, str):
            raise BadOption(
                f"invalid value {brief(self.initial_alphabet)} for the initial alphabet",
                "give a text of these characters",
                "bad-value",
            )
        if type(self.whole_characters) is not bool:
            raise BadOption(
                f"invalid value {brief(self.whole_characters)} for whole_characters",
                "give True or False",
                "bad-value",
            )
        if isinstance(self.initial_tokens, str) or not isinstance(self.initial_tokens, Sequence):
            raise BadOption(
                f"invalid value {brief(self.initial_tokens)} for the initial tokens",
                "give a list of texts, for example ['low', ' low']",
                "bad-value",
            )
        if not isinstance(getattr(self.extend, "model", self.extend), Model | None):
            raise BadOption(
                f"invalid value {brief(self.extend)} for extend",
                "give a Tokenizer, for example Tokenizer.load('book.json')",
                "bad-value",
            )
        if not isinstance(self.weights, Mapping):
            raise BadOption(
                f"invalid value {brief(self.weights)} for the weights",
                "give a dict by the names of the sources, for example {'book.txt': 2}",
                "bad-value",
            )
        for character in self.initial_alphabet:
            if "\ud800" <= character <= "\udfff":
                raise BadOption(
                    f"the initial alphabet can't have {character!r}",
                    "remove it: remove lone surrogates, which are not characters",
                    "bad-value",
                )

    @property
    def extended(self) -> Model | None:
        """The model to continue from, if there is one."""
        extend = self.extend
        return extend if extend is None or isinstance(extend, Model) else extend.model

    @property
    def limits_alphabet(self) -> bool:
        """Return whether an option limits or extends the alphabet."""
        return bool(self.coverage is not None or self.alphabet_limit or self.initial_alphabet)

    def check_against(self, recipe: Recipe) -> None:
        """Raise TokctlError if an option is meaningless for the recipe or conflicts with it."""
        if recipe.removal == "residue":
            raise BadOption(
                "residues are taken away after a training, and none can be made by this recipe",
                "train with the segmentation merges, then: tokctl adapt --residues RATIO",
                "conflict",
            )
        if self.threshold is not None and not recipe.with_threshold().has_threshold:
            raise BadOption(
                f"a threshold is for removals as by PickyBPE, and this is {recipe.algorithm}",
                "leave it out, or take --algo picky or boundless",
                "conflict",
            )
        asked_length, max_length = self.max_token_length, recipe.traits.longest_token
        if max_length is not None and asked_length is not None and asked_length > max_length:
            raise BadOption(
                f"invalid value {asked_length} for {_NUMBERS['max_token_length']} of "
                f"{recipe.algorithm}",
                f"its pieces have up to {max_length} characters: --max-token-length {max_length}",
                "bad-value",
            )
        if self.whole_characters and not recipe.is_byte_level:
            raise BadOption(
                "whole characters are for models of bytes, and the tokens of this model have whole "
                "characters anyway",
                "leave --whole-characters out",
                "conflict",
            )
        has_only_characters = recipe.traits.learns_characters and not recipe.looks_up_pre_tokens
        if self.initial_tokens and has_only_characters:
            raise BadOption(
                "a character model can't have initial tokens: its tokens are characters",
                "name them in --initial-alphabet",
                "conflict",
            )
        if self.initial_tokens and recipe.traits.learns_superwords:
            raise BadOption(
                f"{recipe.algorithm} can't have initial tokens: its supermerges are of words that "
                "the texts have",
                "leave them out, or take --algo bpe or superbpe",
                "conflict",
            )
        if self.initial_tokens and recipe.removal:
            raise BadOption(
                f"{recipe.algorithm} can't have initial tokens: its training may take them away",
                "leave them out, or take --algo bpe or superbpe",
                "conflict",
            )
        if not self.limits_alphabet:
            return
        options = "--coverage, --alphabet-limit and --initial-alphabet"
        if recipe.is_byte_level:
            raise BadOption(
                "coverage and limits of the alphabet are for characters, and a byte-level model "
                "has all 256 bytes",
                f"leave {options} out, or train on characters (--chars)",
                "conflict",
            )
        if recipe.looks_up_pre_tokens:
            raise BadOption(
                "coverage and limits of the alphabet are for characters, and the tokens of this "
                "model are whole pre-tokens",
                f"leave {options} out; --vocab and --min-frequency limit a list of words",
                "conflict",
            )


def exact(name: str, value: Number) -> Fraction:
    """Return a positive number as a fraction, or raise TokctlError.

    A float is read as the decimal that Python prints for it. Numerator and denominator must be
    below 2^63.
    """
    # Imported late, because few trainings have weights or shares.
    from decimal import Decimal
    from fractions import Fraction

    try:
        if isinstance(value, bool):
            raise TypeError
        number = Fraction(str(value) if isinstance(value, (float, Decimal)) else value)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        raise BadOption(
            f"invalid value {value!r} for {name}", "give a number above 0", "bad-value"
        ) from None
    if number <= 0:
        raise BadOption(f"invalid value {value} for {name}", "give a number above 0", "bad-value")
    if number.numerator >= MOST or number.denominator >= MOST:
        raise BadOption(
            f"invalid value {value} for {name}",
            "give a number closer to 1, or with fewer decimals",
            "bad-value",
        )
    return number


def share(name: str, value: Number | None) -> tuple[int, int] | None:
    """Return a share as (numerator, denominator); raise TokctlError unless 0 < share <= 1."""
    if value is None:
        return None
    number = exact(name, value)
    if number > 1:
        raise BadOption(
            f"invalid value {value} for {name}", "give a share above 0 and at most 1", "bad-value"
        )
    return number.numerator, number.denominator


@dataclass(eq=False, repr=False)
class Timing:
    """Seconds per phase of one training; never part of a model file.

    Attributes:
        seconds: Seconds by phase.
        started: Start of the current phase, by `time.perf_counter`.
    """

    seconds: dict[str, float] = field(default_factory=dict)
    started: float = field(default_factory=perf_counter)

    def lap(self, phase: str) -> None:
        """Add the time since the last call to `phase`."""
        now = perf_counter()
        self.seconds[phase] = self.seconds.get(phase, 0.0) + now - self.started
        self.started = now
