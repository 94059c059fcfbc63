"""The arguments of `Tokenizer.train`, and the training that the sources ask for."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from tokctl import _native
from tokctl.core.errors import BadOption
from tokctl.core.foreign_names import no_option
from tokctl.core.values import brief
from tokctl.model import Model, Recipe
from tokctl.sources import AUTO, Batch, Named, ReadOptions, Records, Source
from tokctl.tokenizer.encoding import utf8_of
from tokctl.tokenizer.iterables import AHEAD, AHEAD_FOR_THREADS, MOST_CHARACTERS
from tokctl.training import Engine, Progress, TextStats, Timing, TrainOptions, train_on_counts
from tokctl.training import train as train_on_texts
from tokctl.training.parity import ParityOptions, train_by_language

if TYPE_CHECKING:
    #: What a model is trained on.
    Sources: TypeAlias = (
        "Named | Texts | Iterable[Named | Texts]"
        "| Mapping[str, Named | Texts | Iterable[Named | Texts]]"
        "| Mapping[str, int] | Mapping[bytes, int] | _native.Counts"
    )

#: Kinds of sources, as messages name them.
Kind: TypeAlias = Literal["texts", "texts by language", "counts"]

#: The arguments that only some kinds of sources allow.
_KINDS: dict[str, tuple[Kind, ...]] = {
    "parity": ("texts by language",),
    "read": ("counts",),
    "reading": ("texts", "texts by language"),
    "engine": ("texts",),
}


class Texts:
    """Texts from a program as a source to train on: a list, a generator, a column of a table.

    Args:
        texts: str or bytes, each a document, or lists of them (batches). They are iterated once and
            not kept.

    Raises:
        TokctlError: `texts` is a single text.
        TypeError: `texts` is not iterable.

    Example:
        >>> tok = Tokenizer.train(Texts(["a lot"] * 9), vocab_size=259)
        >>> tok.encode("a lot").tokens
        ['a', 'Ġlot']
    """

    def __init__(self, texts: Iterable[str | bytes | Sequence[str | bytes]]) -> None:
        if isinstance(texts, (str, bytes)):
            raise BadOption("the texts are a list, not one text", "give Texts([text])", "bad-value")
        if isinstance(texts, Mapping):
            raise BadOption(
                "a dict is not a list of texts",
                "give it without Texts: its values count",
                "bad-value",
            )
        _check_ordered(texts)
        if not isinstance(texts, Iterable):
            raise TypeError(f"the texts are an iterable, not {type(texts).__name__}")
        self._texts: Any = texts

    def source(self, *, byte_level: bool) -> Records:
        """Return the texts as a source; `byte_level` is for `utf8_of`."""
        bytes_read = 0

        def batches() -> Iterator[Batch]:
            nonlocal bytes_read
            first, size = 1, 0
            batch: list[bytes] = []
            for text in self._flat():
                batch.append(utf8_of(text, byte_level=byte_level))
                size += len(batch[-1])
                if size >= MOST_CHARACTERS or len(batch) >= AHEAD_FOR_THREADS:
                    yield Batch(batch, first=first)
                    bytes_read += size
                    first, size, batch = first + len(batch), 0, []
            yield Batch(batch, first=first)
            bytes_read += size

        return Records("the texts", None, batches, lambda: bytes_read, unit="text")

    def _flat(self) -> Iterator[str | bytes]:
        for text in self._items():
            if isinstance(text, (list, tuple)):
                yield from text
            else:
                yield text

    def _items(self) -> Iterable[Any]:
        texts = self._texts
        if not hasattr(texts, "to_pylist"):
            return texts  # type: ignore[no-any-return]
        # Columns of Arrow tables yield objects that are not str, and a list of all texts could be
        # larger than memory.
        starts = range(0, len(texts), AHEAD)
        return chain.from_iterable(texts.slice(start, AHEAD).to_pylist() for start in starts)


@dataclass(frozen=True, kw_only=True)
class TrainArguments(TrainOptions):
    """Keyword arguments of `Tokenizer.train`: each field of `TrainOptions`, and how to train.

    Attributes:
        algorithm: `bpe` (the default), `wordpiece`, `unigram`, `word`, `char`, `superbpe`,
            `boundless`, `picky` or `scaffold`, for its default recipe.
        recipe: used instead of `algorithm`.
        special_tokens: they get the lowest ids, after the special tokens of the recipe.
        parity: how languages take turns, if the sources are texts by language; None: the defaults.
        reading: how to read the paths (the format, the text field, the files of a folder); None:
            according to names and first bytes.
        progress: receives the state of the training; see `tokctl.training`.
        timing: receives the time of each phase; see `tokctl.training`.
        engine: what counts the texts, such as `tokctl.extras.ray.Cluster()`; None: this process.
            The result does not depend on it.
        read: the record of the texts for the model file, if the sources are their counts; None:
            what the counts alone show.
    """

    algorithm: str | None = None
    recipe: Recipe | None = None
    special_tokens: Sequence[str] = ()
    parity: ParityOptions | None = None
    reading: ReadOptions | None = None
    progress: Progress | None = None
    timing: Timing | None = None
    engine: Engine | None = None
    read: TextStats | None = None

    @classmethod
    def of(cls, options: TrainOptions | None, given: Mapping[str, Any]) -> TrainArguments:
        """Return the arguments of a call; a value in `given` comes before the one of `options`.

        Raises:
            TypeError: a name is unknown; the message suggests a similar one.
        """
        if not isinstance(options, TrainOptions | None):
            raise BadOption(
                f"invalid value {brief(options)} for the options",
                "give options by name, for example vocab_size=8000, or tokctl.TrainOptions(…)",
                "bad-value",
            )
        if not given.keys() <= (names := {field.name for field in fields(cls)}):
            raise no_option("train", sorted(names), given)
        return cls(**{**(vars(options) if options else {}), **given})

    @property
    def options(self) -> TrainOptions:
        """The options of the training alone, which a cluster sends to its workers."""
        names = [field.name for field in fields(TrainOptions)]
        return TrainOptions(**{name: getattr(self, name) for name in names})


def train(sources: Sources, arguments: TrainArguments) -> Model:
    """Return a model trained on texts, on texts by language, or on counts.

    Raises:
        TokctlError: an argument does not suit the sources; see also `tokctl.training.train`.
    """
    kind = _kind_of(sources)
    for name, kinds in _KINDS.items():
        if kind not in kinds and getattr(arguments, name) is not None:
            example = ": {'fi': 'fi.txt', 'sw': 'sw.txt'}" if name == "parity" else ""
            raise BadOption(
                f"{name} is for {' or '.join(kinds)}, and the sources are {kind}",
                f"leave {name} out, or give {kinds[0]}{example}",
                "conflict",
            )
    for name, value, expected in (
        ("parity", arguments.parity, ParityOptions),
        ("read", arguments.read, TextStats),
    ):
        if value is not None and not isinstance(value, expected):
            raise BadOption(
                f"invalid value {brief(value)} for {name}",
                f"give {expected.__name__}(…)",
                "bad-value",
            )
    options, recipe = arguments.options, _recipe_of(arguments)
    progress, timing = arguments.progress, arguments.timing
    reading = arguments.reading or AUTO
    if kind == "counts":
        return train_on_counts(sources, recipe, options, progress, timing, arguments.read)  # type: ignore[arg-type]

    def paths(given: Any) -> list[Named]:
        """Return paths and sources as a list, with a source in place of each `Texts`."""
        _check_ordered(given)
        is_list = isinstance(given, Iterable) and not isinstance(given, (str, bytes, Source))
        found = list(given) if is_list else [given]
        for one in found:
            if not isinstance(one, (str, os.PathLike, Source, Texts)):
                raise BadOption(
                    f"invalid value {brief(one)} for the sources",
                    "give paths, tokctl.Texts(texts), a dict of these by language, or a dict of "
                    "counts, for example {'low': 5}",
                    "bad-value",
                )
        byte_level = recipe.is_byte_level
        return [
            one.source(byte_level=byte_level) if isinstance(one, Texts) else one for one in found
        ]

    if kind == "texts":
        texts = paths(sources)
        return train_on_texts(texts, recipe, options, progress, timing, reading, arguments.engine)
    parity = arguments.parity or ParityOptions()
    if parity.dev is not None:
        parity = replace(parity, dev={name: paths(one) for name, one in parity.dev.items()})
    named: Mapping[str, Any] = sources  # type: ignore[assignment]
    languages = {name: paths(one) for name, one in named.items()}
    return train_by_language(languages, recipe, options, parity, progress, timing, reading)


def _check_ordered(sources: object) -> None:
    """Raise TokctlError for a set, whose order differs from process to process."""
    if isinstance(sources, (set, frozenset)):
        raise BadOption(
            "a set has no order, and the model depends on it", "sort it: sorted(…)", "bad-value"
        )


def _kind_of(sources: Sources) -> Kind:
    if isinstance(sources, _native.Counts):
        return "counts"
    if not isinstance(sources, Mapping):
        return "texts"
    value = next(iter(sources.values()), 0)
    # A count is a number. The trainings check the other values.
    is_text = isinstance(value, (Iterable, os.PathLike, Texts))
    return "texts by language" if is_text else "counts"


def _recipe_of(arguments: TrainArguments) -> Recipe:
    """Return the recipe to train.

    Raises:
        TokctlError: the recipe has another algorithm than `algorithm`.
    """
    from tokctl.model.presets import default_recipe

    algorithm, recipe, extended = arguments.algorithm, arguments.recipe, arguments.extended
    if not isinstance(recipe, Recipe | None):
        raise BadOption(
            f"invalid value {brief(recipe)} for recipe",
            "give a Recipe, for example tokctl.preset('gpt2')",
            "bad-value",
        )
    if recipe is None and extended is not None:
        recipe = extended.recipe
    if recipe is None:
        recipe = default_recipe("bpe" if algorithm is None else algorithm)
    if algorithm is not None and algorithm != recipe.algorithm:
        raise BadOption(
            f"the recipe {recipe.name!r} is {recipe.algorithm}, not {algorithm}",
            "leave the algorithm out, or take a recipe of that algorithm",
            "conflict",
        )
    with_tokens = recipe.with_special_tokens(special_tokens_of(arguments.special_tokens))
    return recipe if with_tokens == recipe else replace(with_tokens, name="custom")


def special_tokens_of(tokens: Sequence[str]) -> list[str]:
    """Return the texts of special tokens as a list.

    Raises:
        TokctlError: `tokens` is not an iterable of texts.
    """
    is_list = isinstance(tokens, Iterable) and not isinstance(tokens, (str, bytes))
    texts = list(tokens) if is_list else []
    if not is_list or not all(isinstance(text, str) for text in texts):
        raise BadOption(
            f"invalid value {brief(tokens)} for the special tokens",
            "give a list of texts, for example ['<|endoftext|>']",
            "bad-value",
        )
    return texts
