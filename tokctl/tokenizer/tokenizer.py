"""The class `Tokenizer`: training, loading, saving, encoding, decoding and explaining."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload

from tokctl import _native
from tokctl._native import IdArray
from tokctl.core.errors import BadInput, BadOption, CoreError, TokctlError
from tokctl.core.foreign_names import Answering
from tokctl.core.values import available_threads, brief, cached_property, suggesting
from tokctl.model import Merge, Model, Recipe, byte_level, encoders
from tokctl.tokenizer.encoding import (
    Encoding,
    Trim,
    bad_ids_error,
    encoding_of,
    native_error,
    token_names,
    utf8_of,
)

if TYPE_CHECKING:
    import os
    from array import array
    from typing import Protocol

    import tokctl
    from tokctl.formats import LostFeature
    from tokctl.sources import Named, ReadOptions, Source
    from tokctl.tokenizer.documents import DocumentEncoder
    from tokctl.tokenizer.postprocess import Padding, PostProcessor, Truncation
    from tokctl.tokenizer.sampling import Segmentation
    from tokctl.tokenizer.training import Sources, TrainArguments
    from tokctl.training import Progress, TrainOptions

    class FlatIds(Protocol):
        """A flat sequence of the ids of many texts, such as a list or an array."""

        def __len__(self) -> int: ...
        def __getitem__(self, key: slice, /) -> Iterable[int]: ...

    P = ParamSpec("P")

    class TrainMethod(Protocol[P]):
        """A method `train` that takes the fields of a dataclass by name."""

        def __call__(
            self,
            sources: Sources,
            options: TrainOptions | None = None,
            *args: P.args,
            **given: P.kwargs,
        ) -> Tokenizer: ...

    def taking(_fields: Callable[P, object]) -> Callable[[object], TrainMethod[P]]: ...

    # Type checkers see the arguments of `train` this way, though they are declared once.
    _takes_train_arguments = taking(TrainArguments)

else:

    def _takes_train_arguments(method):
        return method


__all__ = ["DecodeStream", "Special", "Tokenizer"]

T = TypeVar("T")

#: Special tokens that a text may spell: `none`, `all`, or a sequence of their texts.
Special = str | Sequence[str]

#: Most selections of special tokens whose matchers a tokenizer keeps.
MOST_MATCHERS = 16


class RoleToken:
    """The special token with a role (`tokctl.tokenizer.roles`); None if the model has none."""

    def __init__(self, role: str) -> None:
        self.role = role

    def __get__(self, tokenizer: Tokenizer, owner: type) -> str | None:
        from tokctl.tokenizer.roles import token_of

        padding = tokenizer.padding
        return token_of(
            self.role,
            tokenizer.special_ids,
            tokenizer.model.extra_files,
            unk_token=tokenizer.recipe.unk_token,
            pad_token=None if padding is None else padding.token,
        )


class RoleId:
    """The id of the special token with a role; None if the model has none."""

    def __init__(self, role: str) -> None:
        self.token = RoleToken(role)

    def __get__(self, tokenizer: Tokenizer, owner: type) -> int | None:
        token = self.token.__get__(tokenizer, owner)
        return None if token is None else tokenizer.special_ids[token]


class Tokenizer(Answering):
    """A tokenizer: it turns text into ids, and ids into text.

    Create one with `train` or `load`. A tokenizer never changes; you can only set `cache_memory`.
    Threads can share it, and a process can fork while they work. Its pickle contains the model
    file, with the same bytes each time.

    Attributes:
        model: the recipe with its vocabulary and merges, as data.
        format: format of the file that the tokenizer was loaded from; None if it was trained in
            this process.

    Example:
        >>> tok = Tokenizer.train(["book.txt"], vocab_size=300)
        >>> tok.encode("a lot").tokens
        ['a', 'Ġlot']
    """

    def __init__(self, model: Model) -> None:
        if not isinstance(model, Model):
            raise BadOption(
                f"a tokenizer can't be made of {brief(model)}",
                "Tokenizer.load(path) reads one, Tokenizer.train(files, vocab_size=…) trains one",
                "bad-value",
            )
        self.model = model
        self.format: str | None = None

    if not TYPE_CHECKING:

        def __setattr__(self, name: str, value: object) -> None:
            # Hugging Face's class lets callers set these parts; tokctl would ignore them silently.
            if name in ("normalizer", "pre_tokenizer", "post_processor", "decoder"):
                raise AttributeError(
                    f"a tokenizer never changes, and its {name} is part of its recipe: give "
                    f"another one to Tokenizer.train(…, recipe=replace(recipe, {name}s=…))",
                    name=name,
                )
            object.__setattr__(self, name, value)

    # -- making, loading, saving ------------------------------------------------------

    @_takes_train_arguments
    @classmethod
    def train(
        cls, sources: Sources, options: TrainOptions | None = None, **given: Any
    ) -> Tokenizer:
        """Train a tokenizer on texts, on texts by language, or on counts.

        Args:
            sources: one of

                - a path, a source of `tokctl.sources`, or a sequence of these: files, folders,
                  archives and tables are read; `-` is stdin.
                - `Texts(iterable)`: texts from a program.
                - a dict of these by language: parity-aware BPE, in which the language with the
                  worst compression chooses the next merge. `parity` says how they take turns.
                - a dict of pre-tokens with their counts, or the result of
                  `tokctl.extras.arrow.counts_from_table`. Neither normalizers nor pre-tokenizers
                  are applied to them.
            options: the options of the training.
            given: the fields of `TrainOptions`, which come before those of `options`, and of
                `tokctl.tokenizer.training.TrainArguments`: `algorithm`, `recipe`,
                `special_tokens`, `parity`, `reading`, `progress`, `timing`, `engine`, `read`.

        Raises:
            TokctlError: see `tokctl.training.train`.
            TypeError: no option has this name, or an item of `Texts` is not a text.

        Example:
            >>> Tokenizer.train(["book.txt"], vocab_size=300, special_tokens=["<|endoftext|>"])
            <Tokenizer custom, 286 tokens>
            >>> Tokenizer.train({"fi": "fi.txt", "sw": "sw.txt"}, vocab_size=270)
            <Tokenizer bpe, 270 tokens>
            >>> Tokenizer.train({"low": 5, "lower": 2}, vocab_size=258).encode("low").tokens
            ['low']
        """
        from tokctl.tokenizer.training import TrainArguments, train

        return cls(train(sources, TrainArguments.of(options, given)))

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
        """Load a model in any format that tokctl knows, from a file or a folder.

        Args:
            path: the file or folder; `hf:ORG/NAME` or `hf:ORG/NAME@REVISION` for a model on the
                Hugging Face Hub (`tokctl.formats.hub`).
            pattern: how text is split, if the file does not say it (tiktoken's ranks):
                pre-tokenizers in their text form, such as `cl100k` or `regex:…`.
            special_tokens: ids of the special tokens by text, if the file does not contain them.
            cache_memory: see the attribute `cache_memory`; None: its default.

        Raises:
            TokctlError: the file is missing, damaged, or in no format that tokctl knows, or
                `cache_memory` is too small.

        Example:
            >>> Tokenizer.load("book.json").format
            'tokctl'
        """
        from tokctl import formats

        _check_path(path)
        if not isinstance(special_tokens, Mapping | None):
            raise BadOption(
                f"invalid value {brief(special_tokens)} for special_tokens",
                "give a dict of their ids, for example {'<|endoftext|>': 50256}",
                "bad-value",
            )
        special = None if special_tokens is None else dict(special_tokens)
        hints = formats.LoadOptions(pattern, special)
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
        """Load the tokenizer of a folder, of a file, or of a repository on the Hugging Face Hub.

        Args:
            name: a path, if the file or folder exists; otherwise `ORG/NAME`, with or without
                `hf:` in front.
            revision: a branch, a tag or a commit of the repository; None: the default branch.

        Raises:
            TokctlError: the model can't be loaded (see `load`), or a local path has a revision.

        Example:
            >>> tok = Tokenizer.from_pretrained("openai-community/gpt2")
        """
        from pathlib import Path

        from tokctl.formats import hub

        _check_path(name)
        if Path(name).exists():
            if revision is not None:
                raise BadOption(
                    f"{name} is a file or folder here, and has no revision {revision!r}",
                    f"hf:{name} is the repository of that name",
                    "conflict",
                )
            return cls.load(name)
        asked = str(name) if hub.is_hub_name(name) else hub.PREFIX + str(name)
        return cls.load(asked if revision is None else f"{asked}@{revision}")

    def with_special_tokens(self, tokens: Sequence[str]) -> Tokenizer:
        """Return a tokenizer with more special tokens, which get new ids after all others.

        Tokens that are special already keep their ids. Texts without the new tokens keep their ids.

        Raises:
            TokctlError: a token is empty, or is spelled like another token.

        Example:
            >>> Tokenizer.load("book.json").with_special_tokens(["<|user|>"]).special_ids
            {'<|user|>': 285}
        """
        from tokctl.tokenizer.training import special_tokens_of
        from tokctl.training.resizing import with_special_tokens

        return Tokenizer(with_special_tokens(self.model, special_tokens_of(tokens)))

    @suggesting
    def save(self, path: str | Path, format: str = "tokctl", *, lossy: bool = False) -> None:  # noqa: A002
        """Write the model to a file or folder, completely or not at all.

        Args:
            path: the new file, or the folder if the format is one.
            format: a name of `tokctl.formats.FORMATS`.
            lossy: whether to leave out what the format can't hold, even if ids or texts change.

        Raises:
            TokctlError: the file can't be written, or the format can't hold the model.

        Example:
            >>> tok.save("book.json")
            >>> tok.save("book", "huggingface-folder")
        """
        from tokctl.formats.saving import save

        _check_path(path)
        save(self.model, path, format, lossy=lossy)

    def losses(self, format: str) -> list[LostFeature]:  # noqa: A002
        """Return what the model would lose in a format, the most important loss first.

        Raises:
            TokctlError: the format can't hold the model at all, or tokctl does not write it.
        """
        from tokctl.formats.saving import losses

        return losses(self.model, format)

    @property
    def obstacle(self) -> str | None:
        """Return why Hugging Face refuses this tokenizer's file; None if Hugging Face loads it."""
        from tokctl import formats

        return formats.why_not_loadable(self.model)

    def __reduce__(self) -> tuple[Any, ...]:
        from tokctl import formats

        return _from_bytes, (formats.serialize(self.model),)

    def __copy__(self) -> Tokenizer:
        return self  # a tokenizer never changes

    def __deepcopy__(self, memo: dict[int, Any]) -> Tokenizer:
        return self

    def __repr__(self) -> str:
        return f"<Tokenizer {self.recipe.name}, {self.vocab_size:,} tokens>"

    def _repr_html_(self) -> str:
        """Return the HTML that a notebook shows."""
        from tokctl import to_html

        return to_html(self)

    def __eq__(self, other: object) -> bool:
        """Return whether both tokenizers give the same ids for every text.

        Recipes, tokens, merges and scores are compared; training records and files are not.
        """
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
        """Return the recipe: how text becomes tokens."""
        return self.model.recipe

    @property
    def merges(self) -> list[Merge]:
        """Return the merge history, in the order learned.

        Merges of whole pre-tokens are not included; they are in `model.supermerges`.
        """
        return self.model.merges

    @property
    def vocab_size(self) -> int:
        """Return the number of ids; `len(tokenizer)` is the same."""
        return self.model.size

    def __len__(self) -> int:
        return self.model.size

    def __bool__(self) -> bool:
        return True  # even a tokenizer without tokens is true, in spite of `__len__`

    @cached_property
    def tokens(self) -> list[str]:
        """Return the text of every token, by id.

        Byte-level tokens are written in GPT-2's printable characters (`Ġ` is a space).
        """
        names = list(self.model.spelled)
        for token in self.model.added:
            names[token.id] = token.text
        return names

    @cached_property
    def vocabulary(self) -> dict[str, int]:
        """Return the id of every token, by its text in `tokens`."""
        return {token: id_ for id_, token in enumerate(self.tokens)}

    def __contains__(self, token: object) -> bool:
        """Return whether a token has this text in `tokens`."""
        return isinstance(token, str) and token in self.vocabulary

    @suggesting
    def get_vocab(self) -> dict[str, int]:
        """Return the id of every token, by its text in `tokens`, as a new dict."""
        return dict(self.vocabulary)

    def token_to_id(self, token: str) -> int | None:
        """Return the id of a token, spelled as in `tokens`; None if no token has this text.

        Raises:
            TokctlError: `token` is not a str.

        Example:
            >>> tok.token_to_id("Ġlot")
            281
        """
        if not isinstance(token, str):
            raise BadOption(
                f"invalid value {brief(token)} for a token",
                "give a str, as in tok.tokens",
                "bad-value",
            )
        return self.vocabulary.get(token)

    def id_to_token(self, id: int) -> str | None:  # noqa: A002
        """Return the text of the token with this id, as in `tokens`; None if no token has this id.

        Raises:
            TokctlError: `id` is not a whole number.
        """
        try:
            return self.tokens[id] if 0 <= id < self.vocab_size else None
        except TypeError:
            raise BadOption(
                f"invalid value {brief(id)} for an id", "give a whole number", "bad-value"
            ) from None

    @property
    def special_ids(self) -> dict[str, int]:
        """Return the ids of the special tokens by text, in id order."""
        return self.model.special_ids

    @property
    def unk_id(self) -> int | None:
        """Return the id of the unknown token; None if the recipe has no unknown token."""
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
        """Return the tokens of a text, or of a pair of texts, with their ids and offsets.

        Args:
            text: str, or bytes (a byte-level model accepts any bytes).
            pair: a second text, for templates with `$B`.
            special: the special tokens to recognize in the texts; by default their spelling is
                ordinary text.
            add_special: whether to add the post-processor's special tokens around the text.
            truncation: a `Truncation`, or the maximum length; None: never truncate.
            padding: a `Padding`, or the minimum length; None: never pad.

        Raises:
            TokctlError: the text is not UTF-8 and the model is character-level; the length leaves
                no room for the text.

        Example:
            >>> encoding = tok.encode("a lot")
            >>> encoding.tokens, encoding.offsets
            (['a', 'Ġlot'], [(0, 1), (1, 5)])
        """
        plain = pair is None and not add_special and truncation is None and padding is None
        trims = self._trims if plain else None
        tokens = self._text_tokens(text, special)
        if trims is not None:
            return encoding_of(tokens, len(tokens), trims)
        second = None if pair is None else self._text_tokens(pair, special)
        return self._finish([(tokens, second)], add_special, truncation, padding)[0]

    def _text_tokens(self, text: str | bytes, special: Special) -> _native.TextTokens:
        matcher = self._usual_matcher if special == "none" else self.special_matcher(special)
        try:
            return self.encoder.encode(text, self, matcher)
        except CoreError as error:
            raise native_error(error) from None

    @cached_property
    def _trims(self) -> tuple[Trim, ...] | None:
        """Return how offsets are trimmed if nothing else is done to a plain text, else None."""
        if not self.recipe.post_processors:
            return ()
        processor = self.post_processor
        if processor.single.type_ids != (0,):
            return None
        return tuple((space, True, processor.as_in_text) for space in processor.trims)

    def _finish(
        self,
        texts: Iterable[tuple[_native.TextTokens, _native.TextTokens | None]],
        add_special: bool,
        truncation: Truncation | int | None,
        padding: Padding | int | None,
    ) -> list[Encoding]:
        """Return the encodings of texts and pairs after post-processing."""
        from tokctl.tokenizer.postprocess import Padding, Truncation, pad_batch

        truncation, padding = Truncation.of(truncation), Padding.of(padding)
        encodings = [
            self.post_processor.process(
                encoding_of(first, len(first)),
                None if second is None else encoding_of(second, len(second)),
                add_special=add_special,
                truncation=truncation,
            )
            for first, second in texts
        ]
        return encodings if padding is None else pad_batch(encodings, padding, self.special_ids)

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
        """Return the encodings of many texts, or of pairs of texts.

        With `padding`, all encodings get the same length. If you need only ids, `encode_ids` and
        `encode_array` are many times as fast.

        Args:
            texts: str or bytes, or tuples of two for pairs.
            threads: number of threads, at least 1. The encodings do not depend on it.
            special: see `encode`.
            add_special: see `encode`.
            truncation: see `encode`.
            padding: see `encode`; without a length, the longest encoding sets it.

        Raises:
            TokctlError: see `encode`.

        Example:
            >>> batch = tok.encode_batch(["a lot", "of"], padding=Padding(id=0))
            >>> [encoding.ids for encoding in batch]
            [[64, 281], [78, 69]]
        """
        given = list(_batch(texts, threads))
        flat: list[str | bytes] = []
        for text in given:
            if not isinstance(text, tuple):
                flat.append(text)
            elif len(text) == 2:
                flat += text
            else:
                raise BadOption(
                    f"{brief(text)} is not a pair of texts",
                    "a pair is (first, second)",
                    "bad-value",
                )
        matcher = self.special_matcher(special)
        try:
            tokens = self.encoder.encode_batch(flat, self, threads, matcher)
        except CoreError as error:
            raise native_error(error) from None
        trims = self._trims
        plain = not add_special and truncation is None and padding is None
        if plain and trims is not None and len(flat) == len(given):
            return [encoding_of(one, len(one), trims) for one in tokens]
        left = iter(tokens)
        pairs = [(next(left), next(left) if isinstance(one, tuple) else None) for one in given]
        return self._finish(pairs, add_special, truncation, padding)

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
        """Return only the ids, of one text or of each of many; faster than `encode`.

        Args:
            text: one text, or an iterable of many, such as a list, an array of NumPy or Arrow, or a
                column of pandas.
            threads: number of threads for many texts, at least 1. The ids do not depend on it.
            special: see `encode`.
            add_special: see `encode`.
            truncation: see `encode`.
            padding: see `encode`.

        Raises:
            TokctlError: see `encode`; also if a character has no id.

        Example:
            >>> tok.encode_ids("a lot")
            [64, 281]
            >>> tok.encode_ids(["a lot", "of"])
            [[64, 281], [78, 69]]
        """
        matcher = self._usual_matcher if special == "none" else self.special_matcher(special)
        ids_only = not add_special and truncation is None and padding is None
        try:
            if isinstance(text, (str, bytes)):
                ids = self.encoder.ids(text, matcher, self.as_bytes, self.must_have_ids)
                return (
                    ids
                    if ids_only
                    else self._finish_ids([ids], add_special, truncation, padding)[0]
                )
            texts = _batch(text, threads)
            batch = self.encoder.batch(texts, threads, matcher, self.as_bytes, self.must_have_ids)
        except CoreError as error:
            raise native_error(error) from None
        return batch if ids_only else self._finish_ids(batch, add_special, truncation, padding)

    def _finish_ids(
        self,
        batch: list[list[int]],
        add_special: bool,
        truncation: Truncation | int | None,
        padding: Padding | int | None,
    ) -> list[list[int]]:
        """Return the ids of each text truncated, with special tokens around, and padded."""
        from tokctl.tokenizer.postprocess import Padding, Truncation

        padding = Padding.of(padding)
        if add_special or truncation is not None:
            cutting = Truncation.of(truncation)
            process = self.post_processor.process_ids
            batch = [process(ids, add_special=add_special, truncation=cutting) for ids in batch]
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
        """Return the ids as an array of numbers, without a Python object for each.

        For many texts, the result is one array and the offsets at which the ids of each text begin.
        The ids of text `i` are `ids[offsets[i] : offsets[i + 1]]`; `offsets` are 64-bit numbers,
        one more than there are texts, as in Arrow's lists. All arrays support the buffer protocol:
        `numpy.asarray`, `memoryview` and `decode` read them without copying.

        Args:
            text: one text, or an iterable of many, as in `encode_ids`.
            threads: number of threads, at least 1. The ids do not depend on it.
            special: see `encode`.
            dtype: type of the numbers: `uint32`, or `uint16`, which takes half the memory.

        Raises:
            TokctlError: see `encode_ids`; also if `uint16` can't hold every id of this model.

        Example:
            >>> ids, offsets = tok.encode_array(["a lot", "of treasure"])
            >>> offsets
            array('q', [0, 2, 5])
        """
        bits = 32 if dtype == "uint32" else self._bits(dtype)
        matcher = self._usual_matcher if special == "none" else self.special_matcher(special)
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
        """Return the number of bits of an id of this type.

        Raises:
            TokctlError: the type is unknown, or can't hold every id of the model.
        """
        if dtype not in ("uint16", "uint32"):
            raise BadOption(
                f"invalid value {dtype!r} for dtype", "choose 'uint16' or 'uint32'", "bad-value"
            )
        if dtype == "uint16" and self.vocab_size > 1 << 16:
            raise BadOption(
                "uint16 can't hold every id of this model: they go up to "
                f"{self.vocab_size - 1:,}, and uint16 to 65,535",
                "take uint32",
                "conflict",
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
        """Yield the ids of each text of an iterable, which may be endless, in order.

        Texts are read in batches: first one text, then twice as many each time, up to `batch_size`
        texts or a million characters. No thread keeps running between two batches.

        Args:
            texts: str or bytes: a generator, an open file's lines, an array.
            batch_size: the maximum number of texts to read ahead; with 1, each text is encoded as
                soon as it arrives. None: 1,024, or 16,384 with several threads.
            threads: number of threads for each batch. The ids do not depend on it.
            special: see `encode`.
            add_special: see `encode`.
            truncation: see `encode`.
            padding: see `encode`; needs a length, because the longest text is not known.

        Raises:
            TokctlError: see `encode_ids`. An error in a text, or from the iterable, is raised after
                the ids of the texts before it.

        Example:
            >>> list(tok.encode_iter(["a lot", "of"]))
            [[64, 281], [78, 69]]
        """
        from tokctl.tokenizer import iterables
        from tokctl.tokenizer.postprocess import Padding

        texts = _batch(texts, threads)
        limit = iterables.batch_limit(batch_size, threads)
        ids_only = not add_special and truncation is None and padding is None
        if padding is not None and (padding := Padding.of(padding)).length is None:
            raise BadOption(
                "padding a stream of texts needs a length",
                "give a number, or Padding(length=…)",
                "missing-option",
            )
        if not ids_only:
            self._finish_ids(
                [[]], add_special, truncation, padding
            )  # raises errors before iteration
        matcher = self.special_matcher(special)

        def encode(batch: list[str | bytes]) -> list[list[int]]:
            ids = self.encoder.batch(batch, threads, matcher, self.as_bytes, self.must_have_ids)
            return ids if ids_only else self._finish_ids(ids, add_special, truncation, padding)

        return (ids for batch in iterables.encode_batches(texts, limit, encode) for ids in batch)

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
        """Yield `(ids, offsets)` for one batch of texts at a time, as `encode_array` returns them.

        Like `encode_iter`, but without a Python object for each id.

        Args:
            texts: see `encode_iter`.
            batch_size: see `encode_iter`.
            threads: see `encode_iter`.
            special: see `encode`.
            dtype: see `encode_array`.

        Raises:
            TokctlError: see `encode_iter` and `encode_array`.

        Example:
            >>> for ids, offsets in tok.encode_iter_array(["a lot", "of"]):
            ...     print(list(ids), list(offsets))
            [64, 281] [0, 2]
            [78, 69] [0, 2]
        """
        from array import array

        from tokctl.tokenizer import iterables

        texts = _batch(texts, threads)
        limit = iterables.batch_limit(batch_size, threads)
        matcher, bits = self.special_matcher(special), self._bits(dtype)

        def encode(batch: list[str | bytes]) -> tuple[IdArray, array[int]]:
            options = threads, matcher, self.as_bytes, self.must_have_ids, bits
            ids, offsets = self.encoder.batch_array(batch, *options)
            return ids, array("q", offsets)

        return iterables.encode_batches(texts, limit, encode)

    @suggesting
    def encode_file(
        self,
        sources: str | os.PathLike[str] | Source | Sequence[str | os.PathLike[str] | Source],
        *,
        reading: ReadOptions | None = None,
        lines: bool = False,
        eos: str | int | None = None,
        threads: int = 1,
        special: Special = "none",
        errors: str = "strict",
        dtype: str = "uint32",
    ) -> tuple[IdArray, array[int]]:
        """Return the ids of all documents of files in one array, with the documents' offsets.

        The ids of document `i` are `ids[offsets[i] : offsets[i + 1]]`. They are the ids that
        `tokctl encode` writes, with any number of threads. Memory holds the ids and some blocks of
        text, or a whole document if the model normalizes text or finds special tokens in it.

        Args:
            sources: a path (`-` is stdin), a source of `tokctl.sources`, or a list of these. A text
                file is one document; so is each line of JSON Lines and each row of a table.
            reading: how to read the files, if their names and first bytes do not show it.
            lines: whether each line of a text file is a document, without its line feed.
            eos: a token of the vocabulary, or its id, to add after each document.
            threads: number of threads, at least 1. The ids do not depend on it.
            special: the special tokens to recognize in the texts.
            errors: `strict` or `replace`, for text that is not UTF-8 (character models).
            dtype: type of the ids, `uint32` or `uint16`, as in `encode_array`.

        Raises:
            TokctlError: a file can't be read, or a character has no id; the error names file and
                line.

        Example:
            >>> ids, offsets = tok.encode_file("book.txt", lines=True)
            >>> len(offsets) - 1
            100
        """
        from tokctl.sources import AUTO, opened
        from tokctl.tokenizer import documents

        encoder, bits = self._documents(threads, special, lines, errors), self._bits(dtype)
        end_id = None if eos is None else documents.end_id(self, eos)
        return documents.encode_to_array(encoder, opened(sources, reading or AUTO), end_id, bits)

    @suggesting
    def encode_file_iter(
        self,
        sources: str | os.PathLike[str] | Source | Sequence[str | os.PathLike[str] | Source],
        *,
        reading: ReadOptions | None = None,
        lines: bool = False,
        eos: str | int | None = None,
        threads: int = 1,
        special: Special = "none",
        errors: str = "strict",
        dtype: str = "uint32",
    ) -> Generator[IdArray, None, None]:
        """Yield an array of ids for each document of files, one after the other.

        Memory holds some megabytes, or one document. Missing files are an error at once; files are
        read as you iterate.

        Args:
            sources: see `encode_file`.
            reading: see `encode_file`.
            lines: see `encode_file`.
            eos: see `encode_file`.
            threads: see `encode_file`.
            special: see `encode_file`.
            errors: see `encode_file`.
            dtype: see `encode_file`.

        Raises:
            TokctlError: see `encode_file`.

        Example:
            >>> sum(len(ids) for ids in tok.encode_file_iter("book.txt", lines=True))
            1100
        """
        from tokctl.sources import AUTO, opened
        from tokctl.tokenizer import documents

        encoder, bits = self._documents(threads, special, lines, errors), self._bits(dtype)
        end_id = None if eos is None else documents.end_id(self, eos)
        return documents.encode_each(encoder, opened(sources, reading or AUTO), end_id, bits)

    def _documents(
        self, threads: int, special: Special, lines: bool, errors: str
    ) -> DocumentEncoder:
        from tokctl.tokenizer.documents import DocumentEncoder

        check_threads(threads)
        if errors not in ("strict", "replace"):
            raise BadOption(
                f"invalid value {errors!r} for errors", "choose strict or replace", "bad-value"
            )
        self.special_matcher(special)  # raises the error for an unknown token before iteration
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
        """Return the ids of a conversation, rendered by the model's chat template.

        See `tokctl.encode_chat` for the arguments and errors.
        """
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
        """Return the `n` most probable segmentations of a text, most probable first (Unigram).

        See `tokctl.tokenizer.sampling.nbest`.
        """
        from tokctl.tokenizer.sampling import nbest

        return nbest(self, text, n)

    @suggesting
    def sample(
        self, text: str | bytes, *, alpha: float = 0.1, nbest_size: int = -1, seed: int
    ) -> list[int]:
        """Return the ids of a random segmentation of a text (Unigram).

        See `tokctl.tokenizer.sampling.sample` for the arguments.
        """
        from tokctl.tokenizer.sampling import sample

        return sample(self, text, alpha=alpha, nbest_size=nbest_size, seed=seed)

    # -- parts of the encoder ----------------------------------------------------------------

    @cached_property
    def encoder(self) -> _native.Encoder:
        """Return the native encoder."""
        return encoders.encoder(self.model)

    @property
    def cache_memory(self) -> int:
        """Return the maximum size in bytes of the pre-token cache of each encoding thread.

        The default is 335,544,320 (320 MiB), the minimum 1,048,576. The caches start small; only
        long texts reach the limit, and then entries that were not used recently are dropped.
        Setting the size empties the caches. Ids do not depend on it.

        Raises:
            TokctlError: the new size is below the minimum.
        """
        return self.encoder.cache_memory

    @cache_memory.setter
    def cache_memory(self, size: int) -> None:
        if type(size) is not int:
            raise BadOption(
                f"invalid value {brief(size)} for cache_memory",
                "give a number of bytes",
                "bad-value",
            )
        if size < _native.LEAST_CACHE_MEMORY:
            raise BadOption(
                f"invalid value {size:,} for cache_memory",
                f"give at least {_native.LEAST_CACHE_MEMORY:,}",
                "bad-value",
            )
        for encoder in (self.encoder, *self._encoders.values()):
            encoder.cache_memory = size

    @cached_property
    def post_processor(self) -> PostProcessor:
        """Return the post-processor, which adds special tokens around the tokens."""
        from tokctl.tokenizer.postprocess import PostProcessor

        # For trimming, Hugging Face uses the text in the input of these tokens, not their spelling:
        # some added tokens, and the unknown token of a Unigram model.
        as_in_text = {
            token.id: token.text if token.id == self.unk_id else None
            for token in self.model.added
            if token.varies_in_text
        }
        if self.recipe.maximizes_probability and self.unk_id is not None:
            as_in_text[self.unk_id] = None
        return PostProcessor.of(self.recipe.post_processors, self.special_ids, as_in_text)

    @property
    def truncation(self) -> Truncation | None:
        """Return the truncation stored in a Hugging Face file; None if the file sets nothing.

        Encoding applies it only on request: `encode(text, truncation=tokenizer.truncation)`.
        """
        from tokctl.tokenizer.postprocess import Truncation

        stored = self.model.lengths.get("truncation")
        return None if stored is None else Truncation.stored(stored)

    @property
    def padding(self) -> Padding | None:
        """Return the padding stored in a Hugging Face file; None if the file sets nothing.

        Encoding applies it only on request: `encode(text, padding=tokenizer.padding)`.
        """
        from tokctl.tokenizer.postprocess import Padding

        stored = self.model.lengths.get("padding")
        return None if stored is None else Padding.stored(stored)

    def pre_tokens(self, text: str | bytes) -> tuple[bytes, list[tuple[int, int]]]:
        """Return the normalized text, and its pre-tokens as byte ranges.

        Example:
            >>> tok.pre_tokens("a lot")
            (b'a lot', [(0, 1), (1, 5)])
        """
        normalized, ranges, *_ = self.encoder.pre_tokens(self.as_bytes(text))
        return normalized, ranges

    def special_matcher(self, special: Special) -> _native.Matchers | None:
        """Return the matcher of the added tokens; None if there is nothing to find.

        It finds the tokens that are always matched, and the special tokens that a text may spell.

        Args:
            special: the special tokens that a text may spell.

        Raises:
            TokctlError: an entry of `special` is not a special token.
        """
        # The key is `special` as given: normalizing tens of thousands of tokens would be slow.
        key = (special,) if isinstance(special, str) else _special_names(special)
        if cached := self._matchers.get(key):
            return cached[0]
        special_ids = self.special_ids
        allowed = list(key)
        if "all" in allowed:
            allowed = list(special_ids)
        allowed = [] if allowed == ["none"] else allowed
        for token in allowed:
            if token not in special_ids:
                names = ", ".join(list(special_ids)[:50]) or "none"
                raise BadOption(
                    f"{token!r} is not a special token of this model",
                    f"special tokens of the model: {names}",
                    "unknown-name",
                )
        matcher = encoders.matchers(self.model, self._encoder_with(allowed), set(allowed))
        if len(self._matchers) >= MOST_MATCHERS:
            self._matchers.clear()
        self._matchers[key] = (matcher,)
        return matcher

    @cached_property
    def _usual_matcher(self) -> _native.Matchers | None:
        """Return the matcher of texts that can spell no special tokens."""
        return self.special_matcher("none")

    def token_names(self, tokens: _native.TextTokens, start: int, stop: int) -> list[str]:
        """Return the texts of tokens `start` to `stop`, some of which have no id.

        The native encoder calls this method.
        """
        return token_names(self.tokens, self.recipe.marker, tokens, start, stop)

    def _encoder_with(self, allowed: Iterable[str]) -> _native.Encoder:
        """Return the encoder for texts that may spell the given special tokens.

        A separate encoder exists if the model itself may also produce some of these tokens.
        """
        names = set(allowed)
        made_ids = frozenset(
            token.id for token in self.model.added if token.made and token.text in names
        )
        if not made_ids:
            return self.encoder
        if made_ids not in self._encoders:
            if len(self._encoders) >= MOST_MATCHERS:
                self._encoders.clear()
            encoder = self._encoders[made_ids] = encoders.encoder(self.model, made_ids)
            encoder.cache_memory = self.encoder.cache_memory
        return self._encoders[made_ids]

    @cached_property
    def _encoders(self) -> dict[frozenset[int], _native.Encoder]:
        return {}

    @cached_property
    def _matchers(self) -> dict[tuple[str, ...], tuple[_native.Matchers | None]]:
        return {}

    @cached_property
    def must_have_ids(self) -> bool:
        """Return whether a character can lack an id, with no token to stand for it."""
        recipe = self.recipe
        return self.unk_id is None and not (recipe.has_every_byte or recipe.drops_unknown)

    def as_bytes(self, text: str | bytes) -> bytes:
        """Return the bytes of a text, as the native encoder takes them.

        In a str for a byte-level model, lone surrogates stand for bytes that are not UTF-8
        (Python's `surrogateescape`).

        Raises:
            TokctlError: the text is not UTF-8 (character-level model), or a lone surrogate stands
                for no byte.
            TypeError: `text` is neither str nor bytes.
        """
        if isinstance(text, bytes) and not self.recipe.is_byte_level:
            _check_utf8(text)
        return utf8_of(text, byte_level=self.recipe.is_byte_level)

    # -- ids to text ---------------------------------------------------------------------

    @cached_property
    def decoder(self) -> _native.Decoder:
        """Return the native decoder."""
        return encoders.decoder(self.model)

    def decode_bytes(self, ids: Iterable[int] | Encoding, *, skip_special: bool = False) -> bytes:
        """Return the bytes that ids stand for.

        Args:
            ids: ids, or an `Encoding`, whose ids include padding. Arrays of integers (of NumPy,
                `array.array`, from `encode_array`) are read without a Python object for each id.
            skip_special: whether to leave out special tokens.

        Raises:
            TokctlError: an id is outside the vocabulary, or `ids` is not a sequence of ids.

        Example:
            >>> tok.decode_bytes([64, 281])
            b'a lot'
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
        """Return the text that ids stand for.

        Args:
            ids: see `decode_bytes`.
            skip_special: whether to leave out special tokens.
            errors: handling of bytes that are not UTF-8 (ids can end inside a character):
                `strict`, or any other error handler of `bytes.decode`.

        Raises:
            TokctlError: see `decode_bytes`; also if `errors` is `strict` and the bytes are not
                UTF-8.

        Example:
            >>> tok.decode([64, 281])
            'a lot'
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
        """Return the text of each of many sequences of ids.

        Args:
            ids: the ids of each text: lists, arrays, encodings, or the rows of a two-dimensional
                array; or, with `offsets`, all ids in one array, as `encode_array` returns them.
            offsets: where the ids of each text begin, and at the end where the last ones end.
            skip_special: see `decode`.
            errors: see `decode`.

        Raises:
            TokctlError: see `decode`; the error names the number of the text, from 0.

        Example:
            >>> tok.decode_batch([[64, 281], [78, 69]])
            ['a lot', 'of']
        """
        if not isinstance(ids, Iterable):
            raise BadInput(
                f"invalid value {brief(ids)} for the ids", "give a list of lists of ids", "bad-ids"
            )
        rows = ids if offsets is None else _rows(ids, offsets)  # type: ignore[arg-type]
        texts = []
        try:
            for row in rows:
                texts.append(self.decode(row, skip_special=skip_special, errors=errors))
        except TokctlError as error:
            raise error.reworded(f"text {len(texts)}: {error.message}") from None
        return texts

    @suggesting
    def decode_stream(self, *, skip_special: bool = False) -> DecodeStream:
        """Return a decoder for ids that arrive one by one.

        It returns each piece of text as soon as no later token can change it, and never half a
        character; see `DecodeStream`.
        """
        return DecodeStream(self, skip_special=skip_special)

    def decode_tokens(self, tokens: Sequence[str], *, errors: str = "strict") -> str:
        """Return the text that token strings stand for; they need not be in the vocabulary.

        Args:
            tokens: tokens, spelled as in `Tokenizer.tokens`.
            errors: see `decode`.

        Raises:
            TokctlError: a token is no str or can't be spelled in this model, or the bytes are not
                UTF-8 and `errors` is `strict`.

        Example:
            >>> tok.decode_tokens(["a", "Ġlot"])
            'a lot'
        """
        if not all(isinstance(token, str) for token in tokens):
            raise BadOption("the tokens are texts", "decode(ids) takes ids", "bad-value")
        own = self._spelled_as_themselves
        try:
            if self.recipe.is_byte_level:
                encoded = [own[t] if t in own else byte_level.unspell(t) for t in tokens]
            else:
                encoded = [token.encode() for token in tokens]
        except UnicodeEncodeError as error:
            raise BadInput(
                f"the token {error.object!r} is not UTF-8",
                "remove lone surrogates from it",
                "not-utf8",
            ) from None
        except ValueError as error:
            raise BadInput(str(error), "a space is spelled Ġ, a line feed Ċ") from None
        try:
            return self.decoder.decode_tokens(encoded).decode("utf-8", errors)
        except UnicodeDecodeError as error:
            raise _not_utf8(error) from None

    @cached_property
    def _spelled_as_themselves(self) -> dict[str, bytes]:
        """Return the bytes of the tokens that a byte-level model does not spell byte by byte.

        They are the reserved and the added tokens, by text.
        """
        ids = self.model.reserved_ids | {token.id for token in self.model.added}
        return {self.tokens[id_]: self.model.tokens[id_] for id_ in ids}

    # -- explaining ------------------------------------------------------------------------
    # The analysis package depends on this class, so this class can't import it. It uses the names
    # that the package `tokctl` exports (`tokctl.explain` …), like any user.

    def explain(self, word: str, nbest: int | None = None) -> tokctl.Explanation:
        """Return how a word is split, step by step, and why not differently.

        Args:
            word: the word, as it stands in a text.
            nbest: number of best segmentations to include for each pre-token (Unigram); None: only
                the best one.
        """
        from tokctl import explain

        return explain(self, word, nbest)

    def token_history(self, token: str | int) -> tokctl.TokenHistory:
        """Return the merge tree of a token, and the tokens that are made with it."""
        from tokctl import token_history

        return token_history(self, token)

    def corpus_state(self, step: int, text: str | bytes) -> dict[tuple[str, ...], int]:
        """Return the segmented pre-tokens of a text, with their counts, after `step` merges.

        Example:
            >>> tok.corpus_state(3, "a lot")
            {('a',): 1, ('Ġ', 'l', 'o', 't'): 1}
        """
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
        """Return how far the token counts of texts are from the fewest possible.

        `texts` are paths and sources. The result has the exact minimum for this vocabulary, and a
        lower bound for every vocabulary of its size. See `tokctl.token_gap` for the arguments.
        """
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
    """A decoder that turns ids into text piece by piece, for a model that is still writing.

    The joined pieces are the text that `Tokenizer.decode` returns for all ids at once, with
    U+FFFD for bytes that are not UTF-8. A piece never ends inside a character, nor where a later
    token could still change it.

    Example:
        >>> stream = tok.decode_stream()
        >>> [stream.push(id_) for id_ in tok.encode_ids("é!")] + [stream.finish()]
        ['', 'é', '!', '']
    """

    def __init__(self, tokenizer: Tokenizer, *, skip_special: bool = False) -> None:
        self._stream = _native.DecodeStream(tokenizer.decoder, skip_special)
        self._size = tokenizer.vocab_size
        self._finished = False

    def push(self, ids: int | Iterable[int]) -> str:
        """Return the text that has become certain; often empty.

        Args:
            ids: one id, or several.

        Raises:
            TokctlError: an id is outside the vocabulary, or the stream is finished.
        """
        if self._finished:
            raise BadOption("the stream is finished", "decode further ids with a new stream")
        try:
            return self._stream.push_text(ids)
        except (CoreError, OverflowError, TypeError) as error:
            raise bad_ids_error(error, self._size, ids) from None

    def finish(self) -> str:
        """Return the text held back so far, and end the stream.

        Later calls return an empty text.
        """
        if self._finished:
            return ""
        self._finished = True
        return self._stream.finish_text()


def chosen_threads(threads: int | None) -> int:
    """Return `threads`, or the number of processors that this process may use if None.

    Raises:
        TokctlError: `threads` is not a whole number, or is below 1.
    """
    if threads is None:
        return available_threads()
    check_threads(threads)
    return threads


def check_threads(threads: int) -> None:
    """Raise an error unless `threads` is a number of threads.

    Raises:
        TokctlError: `threads` is not a whole number, or is below 1.
    """
    if type(threads) is not int or threads < 1:
        raise BadOption(
            f"invalid value {threads!r} for threads",
            "give a whole number of at least 1",
            "bad-value",
        )


def _check_path(path: object) -> None:
    from os import PathLike

    if not isinstance(path, (str, PathLike)):
        raise BadOption(
            f"invalid value {brief(path)} for the path", "give a str or a Path", "bad-value"
        )


def _special_names(special: Sequence[str] | None) -> tuple[str, ...]:
    names = tuple(special or ()) if isinstance(special, Iterable | None) else (special,)
    if not all(isinstance(name, str) for name in names):
        raise BadOption(
            f"invalid value {brief(special)} for special",
            "give none, all, or texts of special tokens",
            "bad-value",
        )
    return names


def _from_bytes(data: bytes) -> Tokenizer:
    from tokctl import formats

    return Tokenizer(formats.parse(data, "a pickled tokenizer"))


# A pickle names the package, not the module, so that moving the function keeps its bytes.
_from_bytes.__module__ = "tokctl.tokenizer"


def _batch(texts: Iterable[T], threads: int) -> Iterable[T]:
    """Return the texts as an iterable of str and bytes; Arrow arrays become lists."""
    if isinstance(texts, (str, bytes)):
        raise BadOption(
            "the texts are a list, not one text", "give [text]; encode_ids takes one", "bad-value"
        )
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
    bounds = list(map(index, offsets))
    if not bounds or bounds[0] < 0 or bounds[-1] > len(ids) or bounds != sorted(bounds):
        raise BadInput(
            f"the offsets are not ascending positions in {len(ids)} ids",
            "give one offset more than texts, the first one 0",
        )
    # A slice of an IdArray is a copy; a slice of a memoryview is not.
    memory = memoryview(ids) if isinstance(ids, _native.IdArray) else ids
    return (memory[start:end] for start, end in pairwise(bounds))


def _not_utf8(error: UnicodeDecodeError) -> TokctlError:
    return BadInput(
        f"the decoded bytes are not UTF-8 at byte {error.start}",
        "use decode_bytes(), or errors='replace'",
        "not-utf8",
    )
