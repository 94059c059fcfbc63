"""The tokenizer: trains, loads, saves, encodes, decodes, explains."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

from tokctl import _native
from tokctl._native import IdArray
from tokctl.errors import CoreError, TokctlError
from tokctl.habits import Answering
from tokctl.model import FilledRecipe, Merge, Recipe, byte_level, encoders
from tokctl.tokenizer.encoding import (
    Encoding,
    bad_ids_error,
    character_offsets,
    native_error,
    token_names,
    utf8_of,
)
from tokctl.values import brief, cached_property, suggesting

if TYPE_CHECKING:
    import os
    from array import array
    from typing import Protocol

    import tokctl
    from tokctl.formats import Loss
    from tokctl.sources import Named, Reading, Source
    from tokctl.tokenizer.documents import DocumentEncoder
    from tokctl.tokenizer.postprocess import Padding, PostProcessor, Truncation
    from tokctl.tokenizer.sampling import Segmentation
    from tokctl.training import Engine, Progress, TextStats, Timing
    from tokctl.training.options import Number
    from tokctl.training.parity import Texts

    class FlatIds(Protocol):
        """The ids of many texts end to end: a list, an array."""

        def __len__(self) -> int: ...
        def __getitem__(self, key: slice, /) -> Iterable[int]: ...


__all__ = ["DecodeStream", "Special", "Tokenizer"]

T = TypeVar("T")

#: Which special tokens a text may spell: `none`, `all`, or these.
Special = str | Sequence[str]

#: Selections of special tokens whose matchers a tokenizer keeps.
MOST_MATCHERS = 16

#: Threads that share out a batch of `Encoding`s, at most: making Python's objects is for one at a
#: time.
MOST_THREADS = 64


class RoleToken:
    """The special token with a role (`tokctl.tokenizer.roles`); None if the model has none."""

    def __init__(self, role: str) -> None:
        self.role = role

    def __get__(self, tokenizer: Tokenizer, owner: type) -> str | None:
        from tokctl.tokenizer.roles import token_of

        return token_of(tokenizer, self.role)


class RoleId:
    """The id of that token; None if the model has none."""

    def __init__(self, role: str) -> None:
        self.role = role

    def __get__(self, tokenizer: Tokenizer, owner: type) -> int | None:
        from tokctl.tokenizer.roles import token_of

        token = token_of(tokenizer, self.role)
        return None if token is None else tokenizer.special_ids[token]


class Tokenizer(Answering):
    """A tokenizer: it turns text into ids, and ids into text.

    Make one with `train` or `load`. A tokenizer never changes; you can only set `cache_memory`.
    Threads can share it, and a process can fork while they work. Its pickle contains the model
    file, with the same bytes each time.

    Attributes:
        model: the recipe with its vocabulary and merges, as data.
        format: the format of the file that it was read from; None if it was trained in this
            process.
    """

    def __init__(self, model: FilledRecipe) -> None:
        if not isinstance(model, FilledRecipe):
            raise TokctlError(
                f"a tokenizer can't be made of {brief(model)}",
                "Tokenizer.load(path) reads one, Tokenizer.train(files, vocab_size=…) trains one",
            )
        self.model = model
        self.format: str | None = None

    if not TYPE_CHECKING:

        def __setattr__(self, name: str, value: object) -> None:
            # Elsewhere this changes how text is cut; here nothing would happen.
            if name in ("normalizer", "pre_tokenizer", "post_processor", "decoder"):
                raise AttributeError(
                    f"a tokenizer never changes, and its {name} is part of its recipe: give "
                    f"another one to Tokenizer.train(…, recipe=replace(recipe, {name}s=…))",
                    name=name,
                )
            object.__setattr__(self, name, value)

    # -- making, loading, saving ------------------------------------------------------

    @classmethod
    @suggesting
    def train(
        cls,
        sources: str | Path | Source | Sequence[str | Path | Source],
        *,
        vocab_size: int,
        algorithm: str | None = None,
        recipe: Recipe | None = None,
        special_tokens: Sequence[str] = (),
        min_count: int = 1,
        min_frequency: int = 1,
        max_token_length: int | None = None,
        whole_characters: bool = False,
        initial_tokens: Sequence[str] = (),
        coverage: Number | None = None,
        alphabet_limit: int | None = None,
        initial_alphabet: str = "",
        threshold: Number | None = None,
        weights: Mapping[str, Number] | None = None,
        sample: Number | None = None,
        seed: int = 0,
        extend: Tokenizer | FilledRecipe | None = None,
        errors: str = "strict",
        threads: int | None = None,
        memory: int | None = None,
        temporary: str | Path | None = None,
        reading: Reading | None = None,
        progress: Progress | None = None,
        timing: Timing | None = None,
        engine: Engine | None = None,
    ) -> Tokenizer:
        """Trains on files, folders, archives or tables; `-` is stdin.

        Args:
            sources: paths, or sources of `tokctl.sources`; one, or several.
            vocab_size: the total number of ids: special tokens, alphabet and merged tokens.
            algorithm: `bpe` (the default), `wordpiece`, `unigram`, `word`, `char`, `picky` or
                `scaffold`, for its default recipe.
            recipe: used instead of `algorithm`.
            special_tokens: they get the lowest ids, after the special tokens of the recipe.
            min_count: pre-tokens that occur less often are dropped before training.
            min_frequency: pairs that occur less often are never merged, and words that occur less
                often are not tokens of a word model.
            max_token_length: in the recipe's units, bytes or characters.
            whole_characters: (byte-level) a token of several bytes consists of whole UTF-8
                characters, or is the beginning of a single one.
            initial_tokens: texts that become tokens even if they do not occur; each must be a
                single pre-token.
            coverage: the share of all character occurrences that the alphabet must cover.
            alphabet_limit: the maximum number of characters that get an id; the most frequent ones
                do.
            initial_alphabet: characters that get an id even if they do not occur.
            threshold: for PickyBPE (None: 0.9) and BoundlessBPE (None: no tokens are removed).
            weights: how much an occurrence in a source counts, by the source's name; by default 1.
            sample: the share of the lines, or documents, to read.
            seed: the random seed for `sample`.
            extend: a tokenizer to continue from, with its recipe; it keeps its ids and its merges,
                and new special tokens get the last ids.
            errors: `strict` or `replace`, for text that is not UTF-8 (character recipes).
            threads: the number of threads for counting; None: one per processor that this process
                may use. The result does not depend on it.
            memory: the maximum size of the counting tables in bytes; None: no limit. The result
                does not depend on it.
            temporary: the folder for temporary files, which `memory` may need; None: the system's.
            reading: how to read the paths (`tokctl.sources.Reading`: the format, the text field,
                the files of a folder); None: according to names and first bytes.
            progress, timing: see `tokctl.training`.
            engine: what counts the texts, such as `tokctl.ray.Cluster()`; None: this process. The
                result does not depend on it.

        Raises:
            TokctlError: see `tokctl.training.train`.
        """
        from tokctl import training
        from tokctl.sources import AUTO

        extend = _model_of(extend)
        options = training.Options(
            vocab_size=vocab_size,
            min_count=min_count,
            min_frequency=min_frequency,
            max_token_length=max_token_length,
            whole_characters=whole_characters,
            initial_tokens=initial_tokens,
            threads=threads,
            errors=errors,
            coverage=coverage,
            alphabet_limit=alphabet_limit,
            initial_alphabet=initial_alphabet,
            threshold=threshold,
            weights=weights or {},
            sample=sample,
            seed=seed,
            extend=extend,
            memory=memory,
            temporary=temporary,
        )
        recipe = _recipe_of(algorithm, recipe, special_tokens, extend)
        model = training.train(sources, recipe, options, progress, timing, reading or AUTO, engine)
        return cls(model)

    @classmethod
    @suggesting
    def train_from_iterator(
        cls,
        texts: Iterable[str | bytes | Sequence[str | bytes]],
        *,
        vocab_size: int,
        algorithm: str | None = None,
        recipe: Recipe | None = None,
        special_tokens: Sequence[str] = (),
        min_count: int = 1,
        min_frequency: int = 1,
        max_token_length: int | None = None,
        whole_characters: bool = False,
        initial_tokens: Sequence[str] = (),
        coverage: Number | None = None,
        alphabet_limit: int | None = None,
        initial_alphabet: str = "",
        threshold: Number | None = None,
        sample: Number | None = None,
        seed: int = 0,
        extend: Tokenizer | FilledRecipe | None = None,
        errors: str = "strict",
        threads: int | None = None,
        memory: int | None = None,
        temporary: str | Path | None = None,
        progress: Progress | None = None,
        timing: Timing | None = None,
    ) -> Tokenizer:
        """Trains on texts from a program: a list, a generator, a column of a table.

        Args:
            texts: str or bytes, each a document of its own, or lists of these (batches). They are
                iterated once and not kept.

        The other arguments are those of `train`. The model is the one that `train` makes from a
        JSON Lines file with the same texts.

        Raises:
            TokctlError: see `tokctl.training.train`.
            TypeError: something is not a text.
        """
        from tokctl import training
        from tokctl.tokenizer.iterables import records

        extend = _model_of(extend)
        options = training.Options(
            vocab_size=vocab_size,
            min_count=min_count,
            min_frequency=min_frequency,
            max_token_length=max_token_length,
            whole_characters=whole_characters,
            initial_tokens=initial_tokens,
            threads=threads,
            errors=errors,
            coverage=coverage,
            alphabet_limit=alphabet_limit,
            initial_alphabet=initial_alphabet,
            threshold=threshold,
            sample=sample,
            seed=seed,
            extend=extend,
            memory=memory,
            temporary=temporary,
        )
        recipe = _recipe_of(algorithm, recipe, special_tokens, extend)
        source = records(_batch(texts, 1), byte_level=recipe.is_byte_level)
        return cls(training.train(source, recipe, options, progress, timing))

    @classmethod
    @suggesting
    def train_by_language(
        cls,
        languages: Texts,
        *,
        vocab_size: int,
        dev: Texts | None = None,
        variant: str = "base",
        global_merges: int | str = 0,
        measure: str | None = None,
        targets: Mapping[str, Number] | None = None,
        window: int = 100,
        limit: Number = 2,
        algorithm: str | None = None,
        recipe: Recipe | None = None,
        special_tokens: Sequence[str] = (),
        min_count: int = 1,
        min_frequency: int = 1,
        max_token_length: int | None = None,
        coverage: Number | None = None,
        alphabet_limit: int | None = None,
        initial_alphabet: str = "",
        sample: Number | None = None,
        seed: int = 0,
        errors: str = "strict",
        threads: int | None = None,
        memory: int | None = None,
        temporary: str | Path | None = None,
        reading: Reading | None = None,
        progress: Progress | None = None,
        timing: Timing | None = None,
    ) -> Tokenizer:
        """Trains parity-aware BPE: the worst compressed language chooses the next merge.

        Args:
            languages: what `train` takes as `sources`, by the name of the language.
            dev: development texts in the same languages, on which compression is measured, ideally
                the same sentences in each; None: it is measured on the training texts.
            variant: `base`, or `window`: no language chooses more than its share of the last
                `window` merges, which is `limit` times an equal one.
            global_merges: the number of first merges that all texts choose together, or a share of
                the merges: `"50%"`.
            measure: `tokens` (the default with `dev`), `bytes` (without) or `characters`: what the
                tokens of a language are divided by.
            targets: the compression that a language should have in proportion to the others; by
                default 1.

        The other arguments are those of `train`; `min_count` and `sample` are for each language's
        training text.

        Raises:
            TokctlError: see `tokctl.training.parity.train_by_language`.
        """
        from tokctl import training
        from tokctl.sources import AUTO
        from tokctl.training.parity import Parity, train_by_language

        for what, texts in (("languages", languages), ("dev", dev)):
            if not (isinstance(texts, Mapping) or (what == "dev" and texts is None)):
                raise TokctlError(
                    f"{what} can't be {brief(texts)}",
                    "it is a dict of texts, by language: {'fi': 'fi.txt', 'sw': 'sw.txt'}",
                )
        options = training.Options(
            vocab_size=vocab_size,
            min_count=min_count,
            min_frequency=min_frequency,
            max_token_length=max_token_length,
            threads=threads,
            errors=errors,
            coverage=coverage,
            alphabet_limit=alphabet_limit,
            initial_alphabet=initial_alphabet,
            sample=sample,
            seed=seed,
            memory=memory,
            temporary=temporary,
        )
        parity = Parity(variant, global_merges, measure, window, limit, targets or {})
        recipe = _recipe_of(algorithm, recipe, special_tokens, None)
        model = train_by_language(
            languages, recipe, options, parity, dev, progress, timing, reading or AUTO
        )
        return cls(model)

    @classmethod
    @suggesting
    def train_on_counts(
        cls,
        words: Mapping[str, int] | Mapping[bytes, int] | _native.Counts,
        *,
        vocab_size: int,
        algorithm: str | None = None,
        recipe: Recipe | None = None,
        special_tokens: Sequence[str] = (),
        min_count: int = 1,
        min_frequency: int = 1,
        max_token_length: int | None = None,
        whole_characters: bool = False,
        initial_tokens: Sequence[str] = (),
        coverage: Number | None = None,
        alphabet_limit: int | None = None,
        initial_alphabet: str = "",
        threshold: Number | None = None,
        extend: Tokenizer | FilledRecipe | None = None,
        errors: str = "strict",
        threads: int | None = None,
        read: TextStats | None = None,
    ) -> Tokenizer:
        """Trains on pre-tokens with their counts, in the order of the mapping.

        Neither normalizers nor pre-tokenizers are applied to them.

        Args:
            words: a mapping, or the result of `tokctl.arrow.counts_from_table`.
            read: the model file's record of the texts; None: what is known from the counts.

        The other arguments are those of `train`.

        Raises:
            TokctlError: see `tokctl.training.train_on_counts`.
        """
        from tokctl import training

        extend = _model_of(extend)
        options = training.Options(
            vocab_size=vocab_size,
            min_count=min_count,
            min_frequency=min_frequency,
            max_token_length=max_token_length,
            whole_characters=whole_characters,
            initial_tokens=initial_tokens,
            threads=threads,
            errors=errors,
            coverage=coverage,
            alphabet_limit=alphabet_limit,
            initial_alphabet=initial_alphabet,
            threshold=threshold,
            extend=extend,
        )
        recipe = _recipe_of(algorithm, recipe, special_tokens, extend)
        return cls(training.train_on_counts(words, recipe, options, read=read))

    @classmethod
    @suggesting
    def load(
        cls,
        path: str | Path,
        *,
        pattern: str | None = None,
        special_tokens: Mapping[str, int] | None = None,
        cache_memory: int | None = None,
    ) -> Tokenizer:
        """Reads a model of any format that tokctl knows, a file or a folder.

        Args:
            path: the file or folder; `hf:ORG/NAME` or `hf:ORG/NAME@REVISION` for one of
                the Hugging Face Hub (`tokctl.formats.hub`).
            pattern: how text is split, if the file does not say it (tiktoken's ranks):
                pre-tokenizers in their text form, such as `cl100k` or `regex:…`.
            special_tokens: their ids by text, if the file does not contain them.
            cache_memory: see the attribute `cache_memory`; None: its default.

        Raises:
            TokctlError: it is missing, damaged, or of no format that tokctl knows, or
                `cache_memory` is too small.
        """
        from tokctl import formats

        _check_path(path)
        if not isinstance(special_tokens, Mapping | None):
            raise TokctlError(
                f"special_tokens can't be {brief(special_tokens)}",
                "they are a dict of their ids: {'<|endoftext|>': 50256}",
            )
        special = None if special_tokens is None else dict(special_tokens)
        hints = formats.Hints(pattern, special)
        if str(path).startswith("hf:"):
            from tokctl.formats import hub

            loaded = hub.read(str(path), hints)
        else:
            loaded = formats.read(path, hints)
        tokenizer = cls(loaded.model)
        tokenizer.format = loaded.format.name
        if cache_memory is not None:
            tokenizer.cache_memory = cache_memory
        return tokenizer

    @classmethod
    def from_pretrained(cls, name: str | Path, *, revision: str | None = None) -> Tokenizer:
        """Reads the tokenizer of a folder, of a file, or of a repository of the Hugging Face Hub.

        Args:
            name: a path, if there is such a file or folder; else `ORG/NAME`, with or without
                `hf:` in front.
            revision: a branch, a tag or a commit of the repository.

        Raises:
            TokctlError: as `load`.
        """
        from pathlib import Path

        from tokctl.formats import hub

        _check_path(name)
        if Path(name).exists():
            if revision is not None:
                raise TokctlError(
                    f"{name} is a file or folder here, and has no revision {revision!r}",
                    f"hf:{name} is the repository of that name",
                )
            return cls.load(name)
        asked = str(name) if hub.is_name(name) else hub.PREFIX + str(name)
        return cls.load(asked if revision is None else f"{asked}@{revision}")

    def with_special_tokens(self, tokens: Sequence[str]) -> Tokenizer:
        """This tokenizer with more special tokens, which get new ids after all others. Existing
        special tokens stay as they are. Texts that don't contain any of them keep their ids.

        Raises:
            TokctlError: one of them is empty, or is spelled like another token.
        """
        from tokctl.training.resizing import with_special_tokens

        return Tokenizer(with_special_tokens(self.model, _tokens_of(tokens)))

    @suggesting
    def save(self, path: str | Path, format: str = "tokctl", *, lossy: bool = False) -> None:  # noqa: A002
        """Writes the model to a file or folder, completely or not at all.

        Args:
            path: the new file, or the folder if the format is one.
            format: a name of `tokctl.formats.FORMATS`.
            lossy: leaves out what the format can't hold, even if ids or texts change.

        Raises:
            TokctlError: it can't be written, or the format can't hold it.
        """
        from tokctl.formats.saving import save

        _check_path(path)
        save(self.model, path, format, lossy=lossy)

    def losses(self, format: str) -> list[Loss]:  # noqa: A002
        """What would be lost in a format, the most important first.

        Raises:
            TokctlError: it has nothing like the model, or tokctl does not write it.
        """
        from tokctl.formats.saving import losses

        return losses(self.model, format)

    @property
    def obstacle(self) -> str | None:
        """Why Hugging Face refuses this tokenizer's file; None if it loads it."""
        from tokctl import formats

        return formats.obstacle(self.model)

    def __reduce__(self) -> tuple[Any, ...]:
        from tokctl import formats

        return _from_bytes, (formats.serialize(self.model),)

    def __copy__(self) -> Tokenizer:
        return self  # it never changes

    def __deepcopy__(self, memo: dict[int, Any]) -> Tokenizer:
        return self

    def __repr__(self) -> str:
        return f"<Tokenizer {self.recipe.name}, {self.vocab_size:,} tokens>"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from tokctl import to_html

        return to_html(self)

    def __eq__(self, other: object) -> bool:
        """Do both give the same ids for every text? True if recipes, tokens, merges and scores are
        equal; the record of the training and the file do not matter."""
        if not isinstance(other, Tokenizer):
            return NotImplemented
        return self.model is other.model or self._content == other._content

    def __hash__(self) -> int:
        return hash((self.vocab_size, self.model.tokens[-1]))

    @property
    def _content(self) -> tuple[object, ...]:
        model = self.model
        events = model.events
        merges = [*(events.merges if events else model.merges), *model.supermerges]
        removals = [removal[:2] for removal in events.removals] if events else []
        steps = ([merge[:3] for merge in merges], removals)
        return model.recipe, model.tokens, steps, model.scores, model.added, model.lengths

    # -- the recipe and the vocabulary ---------------------------------------------------

    @property
    def recipe(self) -> Recipe:
        """How text becomes tokens."""
        return self.model.recipe

    @property
    def merges(self) -> list[Merge]:
        """The merge history, in the order learned; merges of whole pre-tokens
        (`model.supermerges`) are not in it."""
        return self.model.merges

    @property
    def vocab_size(self) -> int:
        """The number of ids; `len(tokenizer)` is the same."""
        return self.model.size

    def __len__(self) -> int:
        return self.model.size

    def __bool__(self) -> bool:
        return True  # a tokenizer is one, however few tokens it has

    @cached_property
    def tokens(self) -> list[str]:
        """Every token by id, as text; byte-level ones in GPT-2's stand-ins (`Ġ` is a space)."""
        names = list(self.model.spelled)
        for token in self.model.added:
            names[token.id] = token.text
        return names

    @cached_property
    def vocabulary(self) -> dict[str, int]:
        """The id of every token."""
        return {token: id_ for id_, token in enumerate(self.tokens)}

    def __contains__(self, token: object) -> bool:
        """Is there such a token, as `tokens` spells it?"""
        return isinstance(token, str) and token in self.vocabulary

    @suggesting
    def get_vocab(self) -> dict[str, int]:
        """The id of every token, as a new dict."""
        return dict(self.vocabulary)

    def token_to_id(self, token: str) -> int | None:
        """The id of a token, as `tokens` spells it; None if there is no such token."""
        if not isinstance(token, str):
            raise TokctlError(f"a token can't be {brief(token)}", "it is a str, as in tok.tokens")
        return self.vocabulary.get(token)

    def id_to_token(self, id: int) -> str | None:  # noqa: A002
        """The token with this id, as `tokens` spells it; None if no token has it."""
        try:
            return self.tokens[id] if 0 <= id < self.vocab_size else None
        except TypeError:
            raise TokctlError(f"an id can't be {brief(id)}", "it is a whole number") from None

    @property
    def special_ids(self) -> dict[str, int]:
        """The ids of the special tokens, in id order."""
        return self.model.special_ids

    @property
    def unk_id(self) -> int | None:
        """The id of the unknown token, if the recipe has one."""
        token = self.recipe.unk_token
        return None if token is None else self.special_ids[token]

    bos_token, bos_token_id = RoleToken("bos"), RoleId("bos")
    eos_token, eos_token_id = RoleToken("eos"), RoleId("eos")
    unk_token, unk_token_id = RoleToken("unk"), RoleId("unk")
    pad_token, pad_token_id = RoleToken("pad"), RoleId("pad")
    cls_token, cls_token_id = RoleToken("cls"), RoleId("cls")
    sep_token, sep_token_id = RoleToken("sep"), RoleId("sep")
    mask_token, mask_token_id = RoleToken("mask"), RoleId("mask")

    # -- one text, or a batch, to ids ------------------------------------------------------

    @suggesting
    def encode(
        self,
        text: str | bytes,
        pair: str | bytes | None = None,
        *,
        special: Special = "none",
        add_special: bool = False,
        truncation: Truncation | int | None = None,
        padding: Padding | int | None = None,
    ) -> Encoding:
        """The tokens of a text, or of a pair of texts, with their ids and offsets.

        Args:
            text: str, or bytes (a byte-level model takes any).
            pair: a second text, for templates with `$B`.
            special: the special tokens to recognize in the texts; by default their spelling is
                ordinary text.
            add_special: adds the post-processor's special tokens around the text.
            truncation, padding: see `tokctl.tokenizer.postprocess`; a number is the length.

        Raises:
            TokctlError: the text is not UTF-8 and the model is character-level; the length leaves
                no room for the text.
        """
        first = self._encode(text, special)
        if pair is None and not add_special and truncation is None and padding is None:
            plain = all(part.kind == "template" for part in self.recipe.post_processors)
            if plain:
                return first
        from tokctl.tokenizer.postprocess import Padding, Truncation, pad_batch

        truncation, padding = Truncation.of(truncation), Padding.of(padding)
        second = None if pair is None else self._encode(pair, special)
        encoding = self.post_processor.process(
            first, second, add_special=add_special, truncation=truncation
        )
        return pad_batch([encoding], padding, self.special_ids)[0] if padding else encoding

    def _encode(self, text: str | bytes, special: Special) -> Encoding:
        data = self.as_bytes(text)
        ids, starts, ends, words = self.encoder.tokens(data, self.special_matcher(special))
        marker = self.recipe.marker
        names = token_names(self.tokens, marker, ids, data, starts, ends, words)
        surfaces = [data[a:b].decode("utf-8", "replace") for a, b in zip(starts, ends, strict=True)]
        offsets = list(zip(starts, ends, strict=True))
        if isinstance(text, str) and len(text) != len(data):
            characters = character_offsets(text, offsets)
            return Encoding(ids, names, surfaces, characters, words, byte_offsets=offsets)
        return Encoding(ids, names, surfaces, offsets, words)

    @suggesting
    def encode_batch(
        self,
        texts: Iterable[str | bytes | tuple[str | bytes, str | bytes]],
        *,
        threads: int = 1,
        special: Special = "none",
        add_special: bool = False,
        truncation: Truncation | int | None = None,
        padding: Padding | int | None = None,
    ) -> list[Encoding]:
        """The encodings of many texts, or pairs of texts, padded to the same length where
        `padding` asks for it. The other arguments are those of `encode`.

        If you need only ids, `encode_ids` and `encode_array` are many times as fast.
        """
        from concurrent.futures import ThreadPoolExecutor

        from tokctl.tokenizer.postprocess import Padding, pad_batch

        texts = _batch(texts, threads)
        padding = Padding.of(padding)
        self.special_matcher(special)  # made once, before the threads ask for it

        def encode(text: str | bytes | tuple[str | bytes, str | bytes]) -> Encoding:
            if isinstance(text, tuple) and len(text) != 2:
                raise TokctlError(
                    f"{brief(text)} is not a pair of texts", "a pair is (first, second)"
                )
            first, pair = text if isinstance(text, tuple) else (text, None)
            return self.encode(
                first, pair, special=special, add_special=add_special, truncation=truncation
            )

        if threads == 1:
            encodings = list(map(encode, texts))
        else:
            with ThreadPoolExecutor(min(threads, MOST_THREADS)) as pool:
                encodings = list(pool.map(encode, texts))
        return encodings if padding is None else pad_batch(encodings, padding, self.special_ids)

    @overload
    def encode_ids(  # type: ignore[overload-overlap]  # a str is an iterable of str, too
        self,
        text: str | bytes,
        *,
        threads: int = 1,
        special: Special = "none",
        add_special: bool = False,
        truncation: Truncation | int | None = None,
        padding: Padding | int | None = None,
    ) -> list[int]: ...
    @overload
    def encode_ids(
        self,
        text: Iterable[str | bytes],
        *,
        threads: int = 1,
        special: Special = "none",
        add_special: bool = False,
        truncation: Truncation | int | None = None,
        padding: Padding | int | None = None,
    ) -> list[list[int]]: ...
    def encode_ids(
        self,
        text: str | bytes | Iterable[str | bytes],
        *,
        threads: int = 1,
        special: Special = "none",
        add_special: bool = False,
        truncation: Truncation | int | None = None,
        padding: Padding | int | None = None,
    ) -> list[int] | list[list[int]]:
        """Only the ids, of one text or of each of many; faster than `encode`.

        Args:
            text: one text, or an iterable of many, such as a list, an array of NumPy or Arrow, or a
                column of pandas.
            threads: share many texts out. The ids do not depend on it.
            special, add_special, truncation, padding: as those of `encode`.

        Raises:
            TokctlError: as `encode`; also where a character has no id.
        """
        matcher = self.special_matcher(special)
        plain = not add_special and truncation is None and padding is None
        try:
            if isinstance(text, (str, bytes)):
                ids = self.encoder.ids(text, matcher, self.as_bytes, self.must_have_ids)
                return ids if plain else self._finished([ids], add_special, truncation, padding)[0]
            texts = _batch(text, threads)
            batch = self.encoder.batch(texts, threads, matcher, self.as_bytes, self.must_have_ids)
        except CoreError as error:
            raise native_error(error) from None
        return batch if plain else self._finished(batch, add_special, truncation, padding)

    def _finished(
        self,
        batch: list[list[int]],
        add_special: bool,
        truncation: Truncation | int | None,
        padding: Padding | int | None,
    ) -> list[list[int]]:
        """The ids of some texts, cut, with special tokens around, and filled up."""
        from tokctl.tokenizer.postprocess import Padding, Truncation

        padding = Padding.of(padding)
        if add_special or truncation is not None:
            cut = Truncation.of(truncation)
            process = self.post_processor.process_ids
            batch = [process(ids, add_special=add_special, truncation=cut) for ids in batch]
        if padding is not None:
            padding = padding.with_id(self.special_ids)
            target = padding.target([len(ids) for ids in batch])
            batch = [padding.pad_ids(ids, target) for ids in batch]
        return batch

    @overload
    def encode_array(  # type: ignore[overload-overlap]
        self,
        text: str | bytes,
        *,
        threads: int = 1,
        special: Special = "none",
        dtype: str = "uint32",
    ) -> IdArray: ...
    @overload
    def encode_array(
        self,
        text: Iterable[str | bytes],
        *,
        threads: int = 1,
        special: Special = "none",
        dtype: str = "uint32",
    ) -> tuple[IdArray, array[int]]: ...
    @suggesting
    def encode_array(
        self,
        text: str | bytes | Iterable[str | bytes],
        *,
        threads: int = 1,
        special: Special = "none",
        dtype: str = "uint32",
    ) -> IdArray | tuple[IdArray, array[int]]:
        """The ids as an array of numbers, without a Python object for each; for many texts, one
        array and the offsets at which the ids of each text begin.

        The ids of text `i` of many are `ids[offsets[i] : offsets[i + 1]]`; `offsets` are 64-bit
        numbers, one more than there are texts, as in Arrow's lists. All arrays support the buffer
        protocol: `numpy.asarray`, `memoryview` and `decode` read them without copying. The result
        does not depend on the number of threads.

        Args:
            text: one text, or many, as those of `encode_ids`.
            dtype: the type of the numbers: `uint32`, or `uint16`, which takes half the memory.

        Raises:
            TokctlError: as `encode_ids`; uint16 can't hold every id of this model.
        """
        bits = self._bits(dtype)
        matcher = self.special_matcher(special)
        try:
            if isinstance(text, (str, bytes)):
                check_threads(threads)
                return self.encoder.array(
                    text, threads, matcher, self.as_bytes, self.must_have_ids, bits=bits
                )
            texts = _batch(text, threads)
            ids, offsets = self.encoder.batch_array(
                texts, threads, matcher, self.as_bytes, self.must_have_ids, bits
            )
        except CoreError as error:
            raise native_error(error) from None
        from array import array

        return ids, array("q", offsets)

    def _bits(self, dtype: str) -> int:
        """How many bits a number of this type has, which has to hold every id of the model."""
        if dtype not in ("uint16", "uint32"):
            raise TokctlError(f"dtype can't be {dtype!r}", "it is 'uint16' or 'uint32'")
        if dtype == "uint16" and self.vocab_size > 1 << 16:
            raise TokctlError(
                "uint16 can't hold every id of this model: they go up to "
                f"{self.vocab_size - 1:,}, and uint16 to 65,535",
                "take uint32",
            )
        return int(dtype.removeprefix("uint"))

    # -- texts as they come, and files, to ids ---------------------------------------------

    @suggesting
    def encode_iter(
        self,
        texts: Iterable[str | bytes],
        *,
        batch_size: int | None = None,
        threads: int = 1,
        special: Special = "none",
        add_special: bool = False,
        truncation: Truncation | int | None = None,
        padding: Padding | int | None = None,
    ) -> Iterator[list[int]]:
        """The ids of each text of an iterable, which may be endless, in order.

        Texts are read in batches: first one text, then twice as many each time, up to `batch_size`
        texts or a million characters. No thread keeps running between two batches.

        Args:
            texts: str or bytes: a generator, an open file's lines, an array.
            batch_size: the maximum number of texts to read ahead; with 1, each text is encoded as
                soon as it arrives. None: 1,024, or 16,384 with several threads.
            threads: share the texts of a batch out. The ids don't depend on it.
            special, add_special, truncation: as those of `encode`.
            padding: needs a length, because the longest text is not known.

        Raises:
            TokctlError: as `encode_ids`. An error in a text, or from the iterable, is raised after
                the ids of the texts before it.
        """
        from tokctl.tokenizer import iterables
        from tokctl.tokenizer.postprocess import Padding

        texts = _batch(texts, threads)
        most = iterables.most_ahead(batch_size, threads)
        plain = not add_special and truncation is None and padding is None
        if padding is not None and (padding := Padding.of(padding)).length is None:
            raise TokctlError(
                "padding a stream of texts needs a length",
                "give a number, or Padding(length=…)",
            )
        if not plain:
            self._finished([[]], add_special, truncation, padding)  # an error now
        matcher = self.special_matcher(special)

        def encode(some: list[str | bytes]) -> list[list[int]]:
            ids = self.encoder.batch(some, threads, matcher, self.as_bytes, self.must_have_ids)
            return ids if plain else self._finished(ids, add_special, truncation, padding)

        return (ids for some in iterables.encoded(texts, most, encode) for ids in some)

    @suggesting
    def encode_iter_array(
        self,
        texts: Iterable[str | bytes],
        *,
        batch_size: int | None = None,
        threads: int = 1,
        special: Special = "none",
        dtype: str = "uint32",
    ) -> Iterator[tuple[IdArray, array[int]]]:
        """The same without a Python object for each id: `(ids, offsets)` for one batch of texts at
        a time, as `encode_array` returns them. The arguments are those of `encode_iter`, and
        `dtype` of `encode_array`."""
        from array import array

        from tokctl.tokenizer import iterables

        texts = _batch(texts, threads)
        most = iterables.most_ahead(batch_size, threads)
        matcher, bits = self.special_matcher(special), self._bits(dtype)

        def encode(some: list[str | bytes]) -> tuple[IdArray, array[int]]:
            options = threads, matcher, self.as_bytes, self.must_have_ids, bits
            ids, offsets = self.encoder.batch_array(some, *options)
            return ids, array("q", offsets)

        return iterables.encoded(texts, most, encode)

    @suggesting
    def encode_file(
        self,
        sources: str | os.PathLike[str] | Source | Sequence[str | os.PathLike[str] | Source],
        *,
        reading: Reading | None = None,
        lines: bool = False,
        eos: str | int | None = None,
        threads: int = 1,
        special: Special = "none",
        errors: str = "strict",
        dtype: str = "uint32",
    ) -> tuple[IdArray, array[int]]:
        """The ids of all documents of files in one array, and the offsets at which the ids of each
        document begin.

        The ids of document `i` are `ids[offsets[i] : offsets[i + 1]]`. They are the ids that
        `tokctl encode` writes, with any number of threads. Memory holds the ids and some blocks of
        text, or a whole document if the model normalizes text or finds special tokens in it.

        Args:
            sources: a path (`-` is stdin), a source of `tokctl.sources`, or a list of these. A text
                file is one document; so is each line of JSON Lines and each row of a table.
            reading: how to read the files, if their names and first bytes do not show it.
            lines: treat each line of a text as a document, without its line feed.
            eos: a token of the vocabulary, or its id, to add after each document.
            threads: share the work out.
            special: the special tokens to recognize in the texts.
            errors: `strict` or `replace`, for text that is not UTF-8 (character models).
            dtype: the type of the ids, `uint32` or `uint16`, as in `encode_array`.

        Raises:
            TokctlError: a file can't be read, or a character has no id; the error names file and
                line.
        """
        from tokctl.sources import AUTO, opened
        from tokctl.tokenizer import documents

        encoder, bits = self._documents(threads, special, lines, errors), self._bits(dtype)
        end_id = None if eos is None else documents.end_id(self, eos)
        return documents.arrays(encoder, opened(sources, reading or AUTO), end_id, bits)

    @suggesting
    def encode_file_iter(
        self,
        sources: str | os.PathLike[str] | Source | Sequence[str | os.PathLike[str] | Source],
        *,
        reading: Reading | None = None,
        lines: bool = False,
        eos: str | int | None = None,
        threads: int = 1,
        special: Special = "none",
        errors: str = "strict",
        dtype: str = "uint32",
    ) -> Generator[IdArray, None, None]:
        """An array of ids for each document of files, one after the other. The arguments are those
        of `encode_file`. Memory holds some megabytes, or one document. Missing files are an error
        at once; files are read as you iterate.
        """
        from tokctl.sources import AUTO, opened
        from tokctl.tokenizer import documents

        encoder, bits = self._documents(threads, special, lines, errors), self._bits(dtype)
        end_id = None if eos is None else documents.end_id(self, eos)
        return documents.each(encoder, opened(sources, reading or AUTO), end_id, bits)

    def _documents(
        self, threads: int, special: Special, lines: bool, errors: str
    ) -> DocumentEncoder:
        from tokctl.tokenizer.documents import DocumentEncoder

        check_threads(threads)
        if errors not in ("strict", "replace"):
            raise TokctlError(f"errors can't be {errors!r}", "it is strict or replace")
        self.special_matcher(special)  # an unknown token is an error now
        return DocumentEncoder(self, lines=lines, special=special, errors=errors, threads=threads)

    # -- conversations ---------------------------------------------------------------------

    @suggesting
    def encode_chat(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        documents: Sequence[Mapping[str, Any]] | None = None,
        template: str | None = None,
        generation_prompt: bool = False,
        assistant_mask: bool = False,
        **options: Any,
    ) -> tokctl.ChatEncoding:
        """The ids of a conversation, rendered by the model's chat template; see
        `tokctl.encode_chat`."""
        from tokctl import encode_chat

        return encode_chat(
            self,
            messages,
            tools=tools,
            documents=documents,
            template=template,
            generation_prompt=generation_prompt,
            assistant_mask=assistant_mask,
            **options,
        )

    # -- segmentations other than the best -------------------------------------------------

    def nbest(self, text: str | bytes, n: int) -> list[Segmentation]:
        """The `n` most probable segmentations (unigram); see `tokctl.tokenizer.sampling`."""
        from tokctl.tokenizer.sampling import nbest

        return nbest(self, text, n)

    @suggesting
    def sample(
        self, text: str | bytes, *, alpha: float = 0.1, nbest_size: int = -1, seed: int
    ) -> list[int]:
        """The ids of a segmentation drawn at random (unigram); see `tokctl.tokenizer.sampling`."""
        from tokctl.tokenizer.sampling import sample

        return sample(self, text, alpha=alpha, nbest_size=nbest_size, seed=seed)

    # -- what encoding is made of ------------------------------------------------------------

    @cached_property
    def encoder(self) -> _native.Encoder:
        """The native encoder."""
        return encoders.encoder(self.model)

    @property
    def cache_memory(self) -> int:
        """The maximum size in bytes of the cache of pre-tokens, for each thread that encodes: by
        default 335,544,320 (320 MiB), at least 1,048,576. The caches start small; only long texts
        reach the limit, and then entries that were not used recently are dropped. Setting it
        empties the caches. Ids do not depend on it.

        Raises:
            TokctlError: the size is below the minimum.
        """
        return self.encoder.cache_memory

    @cache_memory.setter
    def cache_memory(self, size: int) -> None:
        if type(size) is not int:
            raise TokctlError(f"cache_memory can't be {brief(size)}", "it is a number of bytes")
        if size < _native.LEAST_CACHE_MEMORY:
            raise TokctlError(
                f"cache_memory can't be {size:,}", f"it is {_native.LEAST_CACHE_MEMORY:,} at least"
            )
        for encoder in (self.encoder, *self._encoders.values()):
            encoder.cache_memory = size

    @cached_property
    def post_processor(self) -> PostProcessor:
        """What `add_special` adds around the tokens."""
        from tokctl.tokenizer.postprocess import PostProcessor

        # As Hugging Face calls them: added tokens, and Unigram's unknown stretches.
        as_in_text = {
            token.id: token.text if token.id == self.unk_id else None
            for token in self.model.added
            if token.strip_left or token.strip_right or token.normalized
        }
        if self.recipe.traits.has_scores and self.unk_id is not None:
            as_in_text[self.unk_id] = None
        return PostProcessor.of(self.recipe.post_processors, self.special_ids, as_in_text)

    @property
    def truncation(self) -> Truncation | None:
        """The truncation that a Hugging Face file stores, for calls that ask for it:
        `encode(text, truncation=tokenizer.truncation)`. None if it stores none."""
        from tokctl.tokenizer.postprocess import Truncation

        stored = self.model.lengths.get("truncation")
        return None if stored is None else Truncation.stored(stored)

    @property
    def padding(self) -> Padding | None:
        """The padding that a Hugging Face file stores, as `truncation`."""
        from tokctl.tokenizer.postprocess import Padding

        stored = self.model.lengths.get("padding")
        return None if stored is None else Padding.stored(stored)

    def pre_tokens(self, text: str | bytes) -> tuple[bytes, list[tuple[int, int]]]:
        """The normalized text, and its pre-tokens as byte ranges of it."""
        normalized, ranges, *_ = self.encoder.pre_tokens(self.as_bytes(text))
        return normalized, ranges

    def special_matcher(self, special: Special) -> _native.Matchers | None:
        """The matcher of the added tokens: those that are always found, and the special
        tokens that a text may spell. None if there is nothing to find.

        Raises:
            TokctlError: one of them is not a special token.
        """
        # Looked up as it was asked for: there may be tens of thousands of special tokens.
        key = (special,) if isinstance(special, str) else _names_of(special)
        if made := self._matchers.get(key):
            return made[0]
        known = self.special_ids
        wanted = list(key)
        if "all" in wanted:
            wanted = list(known)
        wanted = [] if wanted == ["none"] else wanted
        for token in wanted:
            if token not in known:
                names = ", ".join(list(known)[:50]) or "none"
                raise TokctlError(
                    f"{token!r} is no special token of this model", f"it has: {names}"
                )
        found = encoders.matchers(self.model, self._encoder_with(wanted), set(wanted))
        if len(self._matchers) >= MOST_MATCHERS:
            self._matchers.clear()
        self._matchers[key] = (found,)
        return found

    def _encoder_with(self, allowed: Iterable[str]) -> _native.Encoder:
        """What encodes where these special tokens are allowed: one of its own where the model may
        make some of them, too."""
        names = set(allowed)
        made = frozenset(
            token.id for token in self.model.added if token.made and token.text in names
        )
        if not made:
            return self.encoder
        if made not in self._encoders:
            if len(self._encoders) >= MOST_MATCHERS:
                self._encoders.clear()
            found = self._encoders[made] = encoders.encoder(self.model, made)
            found.cache_memory = self.encoder.cache_memory
        return self._encoders[made]

    @cached_property
    def _encoders(self) -> dict[frozenset[int], _native.Encoder]:
        return {}

    @cached_property
    def _matchers(self) -> dict[tuple[str, ...], tuple[_native.Matchers | None]]:
        return {}

    @cached_property
    def must_have_ids(self) -> bool:
        """Can a character be without an id, and no token stand for it?"""
        recipe = self.recipe
        return self.unk_id is None and not (recipe.has_every_byte or recipe.drops_unknown)

    def as_bytes(self, text: str | bytes) -> bytes:
        """The bytes of a text, as the native encoder takes them.

        In a str for a byte-level model, lone surrogates stand for bytes that are not UTF-8
        (Python's `surrogateescape`).

        Raises:
            TokctlError: this recipe's units can't be read from it.
            TypeError: it is not a text.
        """
        if isinstance(text, bytes) and not self.recipe.is_byte_level:
            _check_utf8(text)
        return utf8_of(text, byte_level=self.recipe.is_byte_level)

    # -- ids to text ---------------------------------------------------------------------

    @cached_property
    def decoder(self) -> _native.Decoder:
        """The native decoder."""
        return encoders.decoder(self.model)

    def decode_bytes(self, ids: Iterable[int] | Encoding, *, skip_special: bool = False) -> bytes:
        """The bytes that `ids` stand for; TokctlError if one is outside the vocabulary.

        Arrays of integers (NumPy's, `array.array`, what `encode_array` gives) are read without
        a Python object for each id. Of an `Encoding` its ids are taken, padding and all.
        """
        if isinstance(ids, Encoding):
            ids = ids.ids
        try:
            return self.decoder.decode(ids, skip_special)
        except (CoreError, OverflowError, TypeError) as error:
            raise bad_ids_error(error, self.vocab_size, ids) from None

    def decode(
        self, ids: Iterable[int] | Encoding, *, skip_special: bool = False, errors: str = "strict"
    ) -> str:
        """The text that `ids` stand for, which are those of `decode_bytes`.

        Args:
            skip_special: leave out special tokens.
            errors: what to do where the bytes are not UTF-8 (ids can end inside a
                character): `strict`, or any other error handler of `bytes.decode`.
        """
        if isinstance(ids, Encoding):
            ids = ids.ids
        try:
            return self.decoder.text(ids, skip_special, errors)
        except UnicodeDecodeError as error:
            raise _not_utf8(error) from None
        except (CoreError, OverflowError, TypeError) as error:
            raise bad_ids_error(error, self.vocab_size, ids) from None

    @overload
    def decode_batch(
        self,
        ids: Iterable[Iterable[int] | Encoding],
        offsets: None = None,
        *,
        skip_special: bool = False,
        errors: str = "strict",
    ) -> list[str]: ...
    @overload
    def decode_batch(
        self,
        ids: FlatIds,
        offsets: Iterable[int],
        *,
        skip_special: bool = False,
        errors: str = "strict",
    ) -> list[str]: ...
    @suggesting
    def decode_batch(
        self,
        ids: Iterable[Iterable[int] | Encoding] | FlatIds,
        offsets: Iterable[int] | None = None,
        *,
        skip_special: bool = False,
        errors: str = "strict",
    ) -> list[str]:
        """The text of each of many ids.

        Args:
            ids: the ids of each text: lists, arrays, encodings, or the rows of a two-dimensional
                array; or, with `offsets`, all ids in one array, as `encode_array` returns them.
            offsets: where the ids of each text begin, and at the end where the last ones end.
            skip_special, errors: as those of `decode`.

        Raises:
            TokctlError: as `decode`, with the number of the text, from 0.
        """
        if not isinstance(ids, Iterable):
            raise TokctlError(f"the ids can't be {brief(ids)}", "they are a list of lists")
        rows = ids if offsets is None else _rows(ids, offsets)  # type: ignore[arg-type]
        texts = []
        try:
            for row in rows:
                texts.append(self.decode(row, skip_special=skip_special, errors=errors))
        except TokctlError as error:
            raise TokctlError(f"text {len(texts)}: {error.message}", error.hint) from None
        return texts

    @suggesting
    def decode_stream(self, *, skip_special: bool = False) -> DecodeStream:
        """Decodes ids as they arrive: returns each piece of text as soon as no later token can
        change it, and never half a character; see `DecodeStream`."""
        return DecodeStream(self, skip_special=skip_special)

    def decode_tokens(self, tokens: Sequence[str], *, errors: str = "strict") -> str:
        """The text that token strings stand for; they need not be in the vocabulary."""
        if not all(isinstance(token, str) for token in tokens):
            raise TokctlError("the tokens are texts", "decode(ids) takes ids")
        own = self._spelled_as_themselves
        try:
            if self.recipe.is_byte_level:
                encoded = [own[t] if t in own else byte_level.unspell(t) for t in tokens]
            else:
                encoded = [token.encode() for token in tokens]
        except UnicodeEncodeError as error:
            raise TokctlError(
                f"the token {error.object!r} is not UTF-8", "remove lone surrogates from it"
            ) from None
        except ValueError as error:
            raise TokctlError(str(error), "a space is spelled Ġ, a line feed Ċ") from None
        try:
            return self.decoder.decode_tokens(encoded).decode("utf-8", errors)
        except UnicodeDecodeError as error:
            raise _not_utf8(error) from None

    @cached_property
    def _spelled_as_themselves(self) -> dict[str, bytes]:
        """The tokens of a byte-level model that are not stand-ins of bytes, with their bytes."""
        ids = self.model.reserved_ids | {token.id for token in self.model.added}
        return {self.tokens[id_]: self.model.tokens[id_] for id_ in ids}

    # -- explaining ------------------------------------------------------------------------
    # Analyses are built on tokenizers, so this class can't know them. It asks for them by the
    # names that the package offers (`tokctl.explain` …), as its users may do themselves.

    def explain(self, word: str, nbest: int | None = None) -> tokctl.Explanation:
        """How a word is split, step by step, and why not differently; with the `nbest` best
        segmentations of each pre-token (unigram)."""
        from tokctl import explain

        return explain(self, word, nbest)

    def token_history(self, token: str | int) -> tokctl.TokenHistory:
        """Where a token comes from (its merge tree) and which tokens are made with it."""
        from tokctl import token_history

        return token_history(self, token)

    def corpus_state(self, step: int, text: str | bytes) -> dict[tuple[str, ...], int]:
        """The segmented pre-tokens of a text, with their counts, after `step` merges."""
        from tokctl import corpus_state

        return corpus_state(self, step, text)

    def token_gap(
        self,
        texts: Named | Sequence[Named],
        *,
        errors: str = "strict",
        limit: int | None = None,
        rounds: int = 100,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> tokctl.TokenGap:
        """How far the tokens of texts (paths and sources) are from the fewest: the exact minimum
        for this vocabulary, and a lower bound for every vocabulary of its size."""
        from tokctl import token_gap

        return token_gap(
            self,
            texts,
            errors=errors,
            limit=limit,
            rounds=rounds,
            threads=threads,
            progress=progress,
        )


class DecodeStream(Answering):
    """Turns ids into text piece by piece, as from a language model that is still writing.

    The pieces joined are what `Tokenizer.decode` gives for all the ids at once, with
    U+FFFD where bytes are not UTF-8. A piece never ends inside a character, nor where a
    later token could still change it.
    """

    def __init__(self, tokenizer: Tokenizer, *, skip_special: bool = False) -> None:
        self._stream = _native.DecodeStream(tokenizer.decoder, skip_special)
        self._size = tokenizer.vocab_size
        self._finished = False

    def push(self, ids: int | Iterable[int]) -> str:
        """The text that is certain now and was not before; often none.

        Raises:
            TokctlError: an id outside the vocabulary; the stream is finished.
        """
        if self._finished:
            raise TokctlError("the stream is finished", "decode what follows with a new one")
        try:
            return self._stream.push_text(ids)
        except (CoreError, OverflowError, TypeError) as error:
            raise bad_ids_error(error, self._size, ids) from None

    def finish(self) -> str:
        """What was held back; nothing can be pushed after it, and a second time it is nothing."""
        if self._finished:
            return ""
        self._finished = True
        return self._stream.finish_text()


def check_threads(threads: int) -> None:
    """TokctlError if nothing can be shared out among so many threads."""
    if type(threads) is not int or threads < 1:
        raise TokctlError(f"threads can't be {threads!r}", "it is a number from 1 up")


def _check_path(path: object) -> None:
    from os import PathLike

    if not isinstance(path, (str, PathLike)):
        raise TokctlError(f"the path can't be {brief(path)}", "it is a str, or a Path")


def _names_of(special: Sequence[str] | None) -> tuple[str, ...]:
    names = tuple(special or ()) if isinstance(special, Iterable | None) else (special,)
    if not all(isinstance(name, str) for name in names):
        raise TokctlError(f"special can't be {brief(special)}", "it is none, all, or token texts")
    return names


def _recipe_of(
    algorithm: str | None,
    recipe: Recipe | None,
    special_tokens: Sequence[str],
    extend: FilledRecipe | None,
) -> Recipe:
    from dataclasses import replace

    from tokctl.model.presets import default_recipe

    if not isinstance(recipe, Recipe | None):
        raise TokctlError(
            f"recipe can't be {brief(recipe)}", "it is a Recipe, such as tokctl.preset('gpt2')"
        )
    if recipe is None and extend is not None:
        recipe = extend.recipe
    if recipe is None:
        recipe = default_recipe("bpe" if algorithm is None else algorithm)
    if algorithm is not None and algorithm != recipe.algorithm:
        raise TokctlError(
            f"the recipe {recipe.name!r} is {recipe.algorithm}, not {algorithm}",
            "leave the algorithm out, or take a recipe of that algorithm",
        )
    changed = recipe.with_special_tokens(_tokens_of(special_tokens))
    return recipe if changed == recipe else replace(changed, name="custom")


def _model_of(extend: Tokenizer | FilledRecipe | None) -> FilledRecipe | None:
    if isinstance(extend, Tokenizer):
        return extend.model
    if not isinstance(extend, FilledRecipe | None):
        raise TokctlError(
            f"extend can't be {brief(extend)}", "it is a Tokenizer: Tokenizer.load('book.json')"
        )
    return extend


def _tokens_of(tokens: Sequence[str]) -> list[str]:
    """The texts of special tokens; TokctlError if they are none."""
    is_list = isinstance(tokens, Iterable) and not isinstance(tokens, (str, bytes))
    texts = list(tokens) if is_list else []
    if not is_list or not all(isinstance(text, str) for text in texts):
        raise TokctlError(
            f"the special tokens can't be {brief(tokens)}", "they are texts: ['<|endoftext|>']"
        )
    return texts


def _from_bytes(data: bytes) -> Tokenizer:
    from tokctl import formats

    return Tokenizer(formats.parse(data, "a pickled tokenizer"))


# Pickles name the package, so that they stay the same bytes wherever the function lies in it.
_from_bytes.__module__ = "tokctl.tokenizer"


def _batch(texts: Iterable[T], threads: int) -> Iterable[T]:
    """The texts as str and bytes. Arrow's arrays are walked through as objects of its own."""
    if isinstance(texts, (str, bytes)):
        raise TokctlError("the texts are a list, not one text", "give [text]; encode_ids takes one")
    if not isinstance(texts, Iterable):
        raise TypeError(f"a text is str or bytes, not {type(texts).__name__}")
    check_threads(threads)
    to_list: Callable[[], Iterable[T]] | None = getattr(texts, "to_pylist", None)
    return texts if to_list is None else to_list()


def _check_utf8(text: bytes) -> None:
    from tokctl.sources import invalid_utf8

    try:
        text.decode()
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        raise invalid_utf8("the text", line, error.start) from None


def _rows(ids: FlatIds, offsets: Iterable[int]) -> Iterable[Iterable[int]]:
    places = list(map(index, offsets))
    if not places or places[0] < 0 or places[-1] > len(ids) or places != sorted(places):
        raise TokctlError(
            f"the offsets are not places in {len(ids)} ids, in order",
            "they are one more than there are texts, the first one 0",
        )
    # A slice of our own array is a copy, one of its memory is not.
    memory = memoryview(ids) if isinstance(ids, _native.IdArray) else ids
    return (memory[start:end] for start, end in pairwise(places))


def _not_utf8(error: UnicodeDecodeError) -> TokctlError:
    return TokctlError(
        f"the decoded bytes are not UTF-8 at byte {error.start}",
        "take decode_bytes(), or errors='replace'",
    )
