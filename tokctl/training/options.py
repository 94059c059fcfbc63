"""Options of a training, in addition to the recipe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from tokctl.core.errors import BadOption
from tokctl.core.options import Check, check_options, number, option, options_of
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


def parse_share(name: str, text: str) -> Decimal:
    """Return a share exactly as it is written.

    Args:
        name: the option, for the message.
        text: the share, such as `0.9995`.

    Raises:
        TokctlError: the text is not a number above 0 and at most 1.
    """
    from decimal import Decimal, InvalidOperation

    try:
        number = Decimal(text)
        if not number.is_finite():
            raise InvalidOperation
    except InvalidOperation:
        raise BadOption(
            f"invalid value {text!r} for {name}",
            "give a share above 0 and at most 1",
            "bad-value",
        ) from None
    share(name, number)
    return number


def _value(what: str, kind: type, hint: str) -> Check:
    """Return a check that a value has a type."""

    def check(_name: str, value: Any) -> None:
        if not isinstance(value, kind) or (isinstance(value, str) and kind is not str):
            raise BadOption(f"invalid value {brief(value)} for {what}", hint, "bad-value")

    return check


def _check_initial_alphabet(_name: str, text: Any) -> None:
    _value("the initial alphabet", str, "give a text of these characters")(_name, text)
    for character in text:
        if "\ud800" <= character <= "\udfff":
            raise BadOption(
                f"the initial alphabet can't have {character!r}",
                "remove it: remove lone surrogates, which are not characters",
                "bad-value",
            )


def _check_model(_name: str, value: Any) -> None:
    if not isinstance(getattr(value, "model", value), Model | None):
        raise BadOption(
            f"invalid value {brief(value)} for extend",
            "give a Tokenizer, for example Tokenizer.load('book.json')",
            "bad-value",
        )


#: Heading of most options in the help.
_VOCABULARY = "What gets an id"


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

    vocab_size: int = option(
        10_000,
        "--vocab -v N",
        "The vocabulary size: all ids, including special tokens and alphabet. 10K is 10,000.",
        kind=int,
        min=1,
        short="The vocabulary size; by default 10K (10,000)",
        check=number("the vocabulary size"),
        recorded=int,
    )
    min_count: int = option(
        1,
        "--min-count N",
        "Drop pre-tokens that occur fewer than N times.",
        panel=_VOCABULARY,
        kind=int,
        min=1,
        check=number("the least count"),
        recorded=int,
        told="pre-tokens from {} occurrences",
    )
    min_frequency: int = option(
        1,
        "--min-frequency N",
        "Don't merge pairs, or give ids to words, that occur fewer than N times.",
        panel=_VOCABULARY,
        kind=int,
        min=1,
        short="Merge no pair that occurs less than N times",
        check=number("the least frequency"),
        recorded=int,
        told="pairs from {} occurrences",
    )
    threshold: Number | None = option(
        None,
        "--threshold SHARE",
        "Remove a token when this share of its occurrences becomes part of another one; by default "
        "0.9 for picky, and boundless removes none.",
        panel=_VOCABULARY,
        kind=str | None,
        parse=parse_share,
        check=share,
        told="tokens removed from an IoS of {}",
    )
    max_token_length: int | None = option(
        None,
        "--max-token-length N",
        "The length limit of tokens, in bytes or characters; by default none, and 16 for unigram.",
        panel=_VOCABULARY,
        kind=int | None,
        min=1,
        check=number("the greatest token length"),
        recorded=int,
        told="tokens up to length {}",
    )
    whole_characters: bool = option(
        False,
        "--whole-characters",
        "For models of bytes: merge bytes into whole characters first, and then only whole "
        "characters. A token of several bytes is then text, or the beginning of one character.",
        panel=_VOCABULARY,
        kind=bool,
        check=_value("whole_characters", bool, "give True or False"),
        recorded=bool,
        told="characters kept whole",
    )
    initial_tokens: Sequence[str] = option(
        (),
        "--initial-token TEXT",
        "Give this text one token, even if it doesn't occur. The first merges make it, so the "
        "pre-tokenizer must not cut it. A space in front counts. Can be repeated.",
        panel=_VOCABULARY,
        kind=list[str] | None,
        check=_value(
            "the initial tokens", Sequence, "give a list of texts, for example ['low', ' low']"
        ),
        recorded=tuple,
        told="the initial tokens {}",
    )
    coverage: Number | None = option(
        None,
        "--coverage SHARE",
        "Give ids to the most frequent characters until they cover this share of the text, such as "
        "0.9995; by default to all characters.",
        panel=_VOCABULARY,
        kind=str | None,
        parse=parse_share,
        check=share,
        recorded=float,
        told="characters that cover {} of the text",
    )
    alphabet_limit: int | None = option(
        None,
        "--alphabet-limit N",
        "Give ids to the N most frequent characters only; by default to all.",
        panel=_VOCABULARY,
        kind=int | None,
        min=1,
        check=number("the alphabet limit"),
        recorded=int,
        told="an alphabet of {} at most",
    )
    initial_alphabet: str = option(
        "",
        "--initial-alphabet CHARACTERS",
        "Give these characters an id even if the text doesn't contain them.",
        panel=_VOCABULARY,
        show_default=False,
        check=_check_initial_alphabet,
        recorded=str,
        told="with {} in the alphabet",
    )
    # The command line declares these itself: it reads them from other forms.
    weights: Mapping[str, Number] = option(
        factory=dict,
        check=_value(
            "the weights",
            Mapping,
            "give a dict by the names of the sources, for example {'book.txt': 2}",
        ),
    )
    sample: Number | None = option(None, check=share, recorded=float)
    seed: int = option(0, check=number("seed", 0, 64), recorded=int)
    extend: Model | HasModel | None = option(None, check=_check_model)
    errors: str = option("strict", check=lambda _name, value: check_errors(value))
    threads: int | None = option(None, check=number("the number of threads"))
    memory: int | None = option(None, check=number("the memory"))
    temporary: str | Path | None = option(None)

    def __post_init__(self) -> None:
        check_options(self)

    def recorded(self) -> dict[str, Any]:
        """Return the values that a model file records, by the names in `TrainingRecord`."""
        found: dict[str, Any] = {}
        for name, declared in options_of(self).items():
            if declared.recorded is not None:
                value = getattr(self, name)
                found[name] = None if value is None else declared.recorded(value)
        # Without a sample, nothing is random.
        return found if self.sample is not None else found | {"seed": 0}

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
        if self.whole_characters and not recipe.is_byte_level:
            raise BadOption(
                "whole characters are for models of bytes, and the tokens of this model have whole "
                "characters anyway",
                "leave --whole-characters out",
                "conflict",
            )
        recipe.traits.check_training(recipe, self)
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
