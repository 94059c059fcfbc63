"""The tokenizer: training, saving, loading, encoding, decoding, explaining."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokctl.errors import TokctlError
from tokctl.model import FilledRecipe, Recipe
from tokctl.tokenizer.decodes import Decodes
from tokctl.tokenizer.encodes import Special
from tokctl.tokenizer.encodes_bulk import EncodesBulk

if TYPE_CHECKING:
    from tokctl.analysis.explain import Explanation, TokenHistory
    from tokctl.formats import Loss
    from tokctl.sources import Reading, Source
    from tokctl.tokenizer.sampling import Segmentation
    from tokctl.training import Progress, Timing

__all__ = ["Special", "Tokenizer", "load", "train"]


def train(
    sources: str | Path | Source | Sequence[str | Path | Source], **options: Any
) -> Tokenizer:
    """`Tokenizer.train`, as a function."""
    return Tokenizer.train(sources, **options)


def load(path: str | Path) -> Tokenizer:
    """`Tokenizer.load`, as a function."""
    return Tokenizer.load(path)


class Tokenizer(EncodesBulk, Decodes):
    """A filled recipe that encodes and decodes.

    It never changes. Threads may share it, a process may fork while they work, and its pickle is
    the model's file: the same bytes each time.
    """

    def __init__(self, model: FilledRecipe) -> None:
        super().__init__(model)
        #: Name of the format of the file that it was read from; None: it was made here.
        self.format: str | None = None

    # -- making, saving, loading ------------------------------------------------------

    @classmethod
    def train(
        cls,
        sources: str | Path | Source | Sequence[str | Path | Source],
        *,
        vocab_size: int,
        algorithm: str | None = None,
        recipe: Recipe | None = None,
        reading: Reading | None = None,
        progress: Progress | None = None,
        timing: Timing | None = None,
        **options: Any,
    ) -> Tokenizer:
        """Trains on files, folders, archives, tables; `-` is stdin.

        Args:
            sources: paths, or sources of `tokctl.sources`; one, or several.
            vocab_size: ids wanted in all.
            algorithm: `bpe` (the default), `wordpiece`, `unigram`, `word` or `char`, for its
                default recipe.
            recipe: takes the place of `algorithm`.
            reading: how the paths are read (`tokctl.sources.Reading`: the form, the field that
                holds the text, the files of a folder); None: as names and first bytes say.
            progress, timing, options: see `tokctl.training`.

        Raises:
            TokctlError: see `tokctl.training.train`.
        """
        from tokctl import training
        from tokctl.sources import AUTO

        recipe = _recipe(algorithm, recipe)
        asked = training.Options(vocab_size=vocab_size, **options)
        reading = reading or AUTO
        return cls(training.train(sources, recipe, asked, progress, timing, reading))

    @classmethod
    def train_on_counts(
        cls,
        words: Mapping[str, int] | Mapping[bytes, int],
        *,
        vocab_size: int,
        algorithm: str | None = None,
        recipe: Recipe | None = None,
        **options: Any,
    ) -> Tokenizer:
        """Trains on pre-tokens with their counts, in the order of the mapping."""
        from tokctl import training

        recipe = _recipe(algorithm, recipe)
        asked = training.Options(vocab_size=vocab_size, **options)
        return cls(training.train_on_counts(words, recipe, asked))

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        pattern: str | None = None,
        special_tokens: Mapping[str, int] | None = None,
    ) -> Tokenizer:
        """Reads a model of any format that tokctl knows, a file or a folder.

        Args:
            path: the file or folder; `hf:ORG/NAME` or `hf:ORG/NAME@REVISION` for one of
                the Hugging Face Hub (`tokctl.formats.hub`).
            pattern: how text is split, where the file does not say it (ranks of
                tiktoken's): the text form of pre-tokenizers, `cl100k` or `regex:…`.
            special_tokens: their ids by text, where the file does not say them.

        Raises:
            TokctlError: it is missing, damaged, or of no format that tokctl knows.
        """
        from tokctl import formats

        special = None if special_tokens is None else dict(special_tokens)
        hints = formats.Hints(pattern, special)
        if str(path).startswith("hf:"):
            from tokctl.formats import hub

            loaded = hub.read(str(path), hints)
        else:
            loaded = formats.read(path, hints)
        tokenizer = cls(loaded.model)
        tokenizer.format = loaded.format.name
        return tokenizer

    def save(self, path: str | Path, format: str = "tokctl", *, lossy: bool = False) -> None:  # noqa: A002
        """Writes the model, whole or not at all.

        Args:
            path: the new file, or folder where the format is one.
            format: a name of `tokctl.formats.FORMATS`.
            lossy: leaves out what the format can't hold, even where ids or texts change.

        Raises:
            TokctlError: it can't be written, or the format can't hold it.
        """
        from tokctl.formats.saving import save

        save(self.model, path, format, lossy=lossy)

    def losses(self, format: str) -> list[Loss]:  # noqa: A002
        """What a format can't hold of the model, the most important first.

        Raises:
            TokctlError: it has nothing like the model, or tokctl does not write it.
        """
        from tokctl.formats.saving import losses

        return losses(self.model, format)

    def __reduce__(self) -> tuple[Any, ...]:
        from tokctl import formats

        return _from_bytes, (formats.serialize(self.model),)

    def __copy__(self) -> Tokenizer:
        return self  # it never changes

    def __deepcopy__(self, memo: dict[int, Any]) -> Tokenizer:
        return self

    def __repr__(self) -> str:
        return f"<Tokenizer {self.recipe.name}, {self.vocab_size:,} tokens>"

    # -- sampling --------------------------------------------------------------------

    def nbest(self, text: str | bytes, n: int) -> list[Segmentation]:
        """The `n` most probable segmentations (unigram); see `tokctl.tokenizer.sampling`."""
        from tokctl.tokenizer.sampling import nbest

        return nbest(self, text, n)

    def sample(
        self, text: str | bytes, *, alpha: float = 0.1, nbest_size: int = -1, seed: int
    ) -> list[int]:
        """The ids of a segmentation drawn at random (unigram); see `tokctl.tokenizer.sampling`."""
        from tokctl.tokenizer.sampling import sample

        return sample(self, text, alpha=alpha, nbest_size=nbest_size, seed=seed)

    # -- explaining -------------------------------------------------------------------

    def explain(self, word: str, nbest: int | None = None) -> Explanation:
        """How a word is split, step by step, and why not otherwise; with `nbest` ways of each
        pre-token (unigram)."""
        from tokctl.analysis.explain import explain

        return explain(self, word, nbest)

    def token_history(self, token: str | int) -> TokenHistory:
        """Where a token comes from (its merge tree) and which tokens are made with it."""
        from tokctl.analysis.explain import token_history

        return token_history(self, token)

    def corpus_state(self, step: int, text: str | bytes) -> dict[tuple[str, ...], int]:
        """The segmented pre-tokens of a text, with their counts, after `step` merges."""
        from tokctl.analysis.explain import corpus_state

        return corpus_state(self, step, text)


def _recipe(algorithm: str | None, recipe: Recipe | None) -> Recipe:
    from tokctl.model.presets import default_recipe

    if recipe is None:
        return default_recipe(algorithm or "bpe")
    if algorithm is not None and algorithm != recipe.algorithm:
        raise TokctlError(f"the recipe {recipe.name!r} is {recipe.algorithm}, not {algorithm}")
    return recipe


def _from_bytes(data: bytes) -> Tokenizer:
    from tokctl import formats

    return Tokenizer(formats.parse(data, "a pickled tokenizer"))
