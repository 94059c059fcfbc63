"""The tokenizer: training, saving, loading, encoding, decoding, explaining."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokctl import _native, byte_level
from tokctl.encoding import (
    Encoding,
    bad_ids_error,
    character_offsets,
    no_id_error,
    token_names,
)
from tokctl.errors import TokctlError
from tokctl.recipe import FilledRecipe, Merge, Recipe
from tokctl.texts import as_bytes

if TYPE_CHECKING:
    from tokctl.explain import Explanation, TokenHistory
    from tokctl.formats import Loss
    from tokctl.postprocess import Padding, PostProcessor, Truncation
    from tokctl.sampling import Segmentation
    from tokctl.sources import Document
    from tokctl.streaming import DecodeStream
    from tokctl.training import Progress, Timing

#: Selections of special tokens whose matchers a tokenizer keeps.
MOST_MATCHERS = 16

#: Which special tokens may be spelled in a text: `none`, `all`, or these.
Special = str | Sequence[str]


def train(sources: Sequence[str | Path | Document], **options: Any) -> Tokenizer:
    """`Tokenizer.train`, as a function."""
    return Tokenizer.train(sources, **options)


def load(path: str | Path) -> Tokenizer:
    """`Tokenizer.load`, as a function."""
    return Tokenizer.load(path)


class Tokenizer:
    """A filled recipe that encodes and decodes. It never changes and may be shared by threads."""

    def __init__(self, model: FilledRecipe) -> None:
        self.model = model
        #: Name of the format of the file that it was read from; None: it was made here.
        self.format: str | None = None

    # -- making, saving, loading ------------------------------------------------------

    @classmethod
    def train(
        cls,
        sources: Sequence[str | Path | Document],
        *,
        vocab_size: int,
        algorithm: str | None = None,
        recipe: Recipe | None = None,
        progress: Progress | None = None,
        timing: Timing | None = None,
        **options: Any,
    ) -> Tokenizer:
        """Trains on files; `-` is stdin.

        Args:
            sources: paths, each one text; documents of `tokctl.sources` are taken, too.
            vocab_size: ids wanted in all.
            algorithm: `bpe` (the default), `wordpiece`, `unigram`, `word` or `char`, for its
                default recipe.
            recipe: takes the place of `algorithm`.
            progress, timing, options: see `tokctl.training`.

        Raises:
            TokctlError: see `tokctl.training.train`.
        """
        from tokctl import training

        recipe = _recipe(algorithm, recipe)
        asked = training.Options(vocab_size=vocab_size, **options)
        return cls(training.train(sources, recipe, asked, progress, timing))

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
                the Hugging Face Hub (`tokctl.hub`).
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
            from tokctl import hub

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

    def __repr__(self) -> str:
        return f"<Tokenizer {self.recipe.name}, {self.vocab_size:,} tokens>"

    # -- what it is -------------------------------------------------------------------

    @property
    def recipe(self) -> Recipe:
        """How text becomes tokens."""
        return self.model.recipe

    @property
    def merges(self) -> list[Merge]:
        """The merge history, in the order learned."""
        return self.model.merges

    @property
    def vocab_size(self) -> int:
        """Everything that has an id."""
        return len(self.model.tokens)

    @property
    def special_ids(self) -> dict[str, int]:
        """The ids of the special tokens, in id order."""
        return self.model.special_ids

    @property
    def unk_id(self) -> int | None:
        """The id of the unknown token, if the recipe has one."""
        token = self.recipe.unk_token
        return None if token is None else self.special_ids[token]

    @property
    def obstacle(self) -> str | None:
        """Why Hugging Face refuses this tokenizer's file; None where it loads it."""
        from tokctl import formats

        return formats.obstacle(self.model)

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

    # -- encoding ---------------------------------------------------------------------

    @cached_property
    def encoder(self) -> _native.Encoder:
        """The native encoder."""
        from tokctl.segmenting import encoder

        return encoder(self.model)

    @cached_property
    def _matchers(self) -> dict[tuple[str, ...], _native.Matchers]:
        return {}

    def special_matcher(self, special: Special) -> _native.Matchers | None:
        """The matcher of the added tokens: those that are always found, and the special
        tokens that a text may spell. None where there is nothing to find."""
        known = self.special_ids
        wanted = [special] if isinstance(special, str) else list(special or ())
        if "all" in wanted:
            wanted = list(known)
        wanted = [] if wanted == ["none"] else wanted
        for token in wanted:
            if token not in known:
                names = ", ".join(list(known)[:50]) or "none"
                raise TokctlError(
                    f"{token!r} is no special token of this model", f"it has: {names}"
                )
        key = tuple(wanted)
        allowed = set(wanted)
        if key not in self._matchers:
            from tokctl.segmenting import matchers

            found = matchers(self.model, self.encoder, allowed)
            if found is None:
                return None
            if len(self._matchers) >= MOST_MATCHERS:
                self._matchers.clear()
            self._matchers[key] = found
        return self._matchers[key]

    def as_bytes(self, text: str | bytes) -> bytes:
        """The bytes of a text, as `tokctl.texts.as_bytes` has them for this recipe's units."""
        return as_bytes(text, self.recipe.units)

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
        """The tokens of a text, or of two, with their places.

        Args:
            text: str, or bytes (a byte-level model takes any).
            pair: a second text, for templates with `$B`.
            special: special tokens that the texts may spell; by default their spelling is
                ordinary text.
            add_special: puts the post-processor's special tokens around.
            truncation, padding: see `tokctl.postprocess`; a number is the length.

        Raises:
            TokctlError: text that is not UTF-8, for a character model; lengths that leave
                no room.
        """
        first = self._encode(text, special)
        if pair is None and not add_special and truncation is None and padding is None:
            plain = all(part.kind == "template" for part in self.recipe.post_processors)
            if plain:
                return first
        from tokctl.postprocess import Padding, Truncation, pad_batch

        if isinstance(truncation, int):
            truncation = Truncation(truncation)
        if isinstance(padding, int):
            padding = Padding(padding)
        second = None if pair is None else self._encode(pair, special)
        encoding = self.post_processor.process(
            first, second, add_special=add_special, truncation=truncation
        )
        return pad_batch([encoding], padding, self.special_ids)[0] if padding else encoding

    @cached_property
    def post_processor(self) -> PostProcessor:
        """What is put around the tokens where `add_special` asks for it."""
        from tokctl.postprocess import PostProcessor

        return PostProcessor.of(self.recipe.post_processors, self.special_ids)

    def encode_all(
        self,
        texts: Sequence[str | bytes | tuple[str | bytes, str | bytes]],
        *,
        threads: int = 1,
        special: Special = "none",
        add_special: bool = False,
        truncation: Truncation | int | None = None,
        padding: Padding | int | None = None,
    ) -> list[Encoding]:
        """The encodings of many texts, or pairs of texts, padded to the same length where
        `padding` asks for it. The arguments are those of `encode`."""
        from concurrent.futures import ThreadPoolExecutor

        from tokctl.postprocess import Padding, pad_batch

        _check_batch(texts, threads)
        self.special_matcher(special)  # made once, before the threads ask for it

        def encode(text: str | bytes | tuple[str | bytes, str | bytes]) -> Encoding:
            first, pair = text if isinstance(text, tuple) else (text, None)
            return self.encode(
                first, pair, special=special, add_special=add_special, truncation=truncation
            )

        if threads == 1:
            encodings = list(map(encode, texts))
        else:
            with ThreadPoolExecutor(min(threads, 64)) as pool:
                encodings = list(pool.map(encode, texts))
        if padding is None:
            return encodings
        padding = Padding(padding) if isinstance(padding, int) else padding
        return pad_batch(encodings, padding, self.special_ids)

    def _encode(self, text: str | bytes, special: Special) -> Encoding:
        data = self.as_bytes(text)
        ids, starts, ends, words = self._columns(data, special)
        marker = self.recipe.marker
        names = token_names(self.tokens, marker, ids, data, starts, ends, words)
        pieces = [data[a:b].decode("utf-8", "replace") for a, b in zip(starts, ends, strict=True)]
        offsets = list(zip(starts, ends, strict=True))
        if isinstance(text, str) and len(text) != len(data):
            characters = character_offsets(text, offsets)
            return Encoding(ids, names, pieces, characters, words, byte_offsets=offsets)
        return Encoding(ids, names, pieces, offsets, words)

    def _columns(
        self, data: bytes, special: Special = "none"
    ) -> tuple[list[int], list[int], list[int], list[int | None]]:
        return self.encoder.tokens(data, self.special_matcher(special))

    def encode_ids(self, text: str | bytes, *, special: Special = "none") -> list[int]:
        """The ids alone: faster than `encode`."""
        return self.encode_batch([text], special=special)[0]

    def encode_batch(
        self,
        texts: Sequence[str | bytes],
        *,
        threads: int = 1,
        special: Special = "none",
        add_special: bool = False,
        truncation: Truncation | int | None = None,
        padding: Padding | int | None = None,
    ) -> list[list[int]]:
        """The ids of each text. The result does not depend on the number of threads.

        Raises:
            TokctlError: as `encode`; also where a character has no id.
        """
        _check_batch(texts, threads)
        data = [self.as_bytes(text) for text in texts]
        batch = self.encoder.batch(data, threads, self.special_matcher(special))
        if self.unk_id is None and self.recipe.alphabet != "bytes":
            for number, ids in enumerate(batch):
                if _native.NO_ID in ids:
                    raise no_id_error(f"a character of text {number}")
        if not add_special and truncation is None and padding is None:
            return batch
        from tokctl.postprocess import finish_ids

        return finish_ids(
            batch,
            self.post_processor,
            self.special_ids,
            add_special=add_special,
            truncation=truncation,
            padding=padding,
        )

    def pre_tokens(self, text: str | bytes) -> tuple[bytes, list[tuple[int, int]]]:
        """The normalized text, and its pre-tokens as byte ranges of it."""
        normalized, ranges, *_ = self.encoder.pre_tokens(self.as_bytes(text))
        return normalized, ranges

    def nbest(self, text: str | bytes, n: int) -> list[Segmentation]:
        """The `n` most probable segmentations (unigram); see `tokctl.sampling`."""
        from tokctl.sampling import nbest

        return nbest(self, text, n)

    def sample(
        self, text: str | bytes, *, alpha: float = 0.1, nbest_size: int = -1, seed: int
    ) -> list[int]:
        """The ids of a segmentation drawn at random (unigram); see `tokctl.sampling`."""
        from tokctl.sampling import sample

        return sample(self, text, alpha=alpha, nbest_size=nbest_size, seed=seed)

    # -- decoding ---------------------------------------------------------------------

    @cached_property
    def decoder(self) -> _native.Decoder:
        """The native decoder."""
        from tokctl.segmenting import decoder

        return decoder(self.model)

    def decode_bytes(self, ids: Sequence[int], *, skip_special: bool = False) -> bytes:
        """The bytes that `ids` stand for; TokctlError where one is outside the vocabulary."""
        try:
            return self.decoder.decode(list(ids), skip_special)
        except (_native.CoreError, OverflowError, TypeError) as error:
            raise bad_ids_error(error, self.vocab_size) from None

    def decode(
        self, ids: Sequence[int], *, skip_special: bool = False, errors: str = "strict"
    ) -> str:
        """The text that `ids` stand for.

        Args:
            skip_special: leaves special tokens out.
            errors: what to do where the bytes are not UTF-8 (ids can end inside a
                character): `strict`, or any other error handler of `bytes.decode`.
        """
        return self._as_text(self.decode_bytes(ids, skip_special=skip_special), errors)

    def decode_stream(self, *, skip_special: bool = False) -> DecodeStream:
        """Decodes ids as they come: each piece of text as soon as no later token can change
        it, and never half a character; see `tokctl.streaming`."""
        from tokctl.streaming import DecodeStream

        return DecodeStream(self, skip_special=skip_special)

    def decode_tokens(self, tokens: Sequence[str], *, errors: str = "strict") -> str:
        """The text that token strings stand for; they need not be in the vocabulary."""
        own = self._spelled_as_themselves
        try:
            if self.recipe.units == "bytes":
                encoded = [own[t] if t in own else byte_level.unspell(t) for t in tokens]
            else:
                encoded = [token.encode() for token in tokens]
        except UnicodeEncodeError as error:
            raise TokctlError(f"the token {error.object!r} is not UTF-8") from None
        except ValueError as error:
            raise TokctlError(str(error), "a space is spelled Ġ, a line feed Ċ") from None
        return self._as_text(self.decoder.decode_tokens(encoded), errors)

    @cached_property
    def _spelled_as_themselves(self) -> dict[str, bytes]:
        """The tokens of a byte-level model that are no stand-ins of bytes, with their bytes."""
        ids = self.model.apart | {token.id for token in self.model.added}
        return {self.tokens[id_]: self.model.tokens[id_] for id_ in ids}

    def _as_text(self, data: bytes, errors: str) -> str:
        try:
            return data.decode("utf-8", errors)
        except UnicodeDecodeError as error:
            raise TokctlError(
                f"the decoded bytes are not UTF-8 at byte {error.start}",
                "take decode_bytes(), or errors='replace'",
            ) from None

    # -- explaining -------------------------------------------------------------------

    def explain(self, word: str) -> Explanation:
        """How a word is split, step by step, and why not otherwise."""
        from tokctl.explain import explain

        return explain(self, word)

    def token_history(self, token: str | int) -> TokenHistory:
        """Where a token comes from (its merge tree) and which tokens are made with it."""
        from tokctl.explain import token_history

        return token_history(self, token)

    def corpus_state(self, step: int, text: str | bytes) -> dict[tuple[str, ...], int]:
        """The segmented pre-tokens of a text, with their counts, after `step` merges."""
        from tokctl.explain import corpus_state

        return corpus_state(self, step, text)


def _check_batch(texts: Sequence[Any], threads: int) -> None:
    if isinstance(texts, (str, bytes)):
        raise TokctlError("a batch is a list of texts, not one text", "use encode_ids(text)")
    if threads < 1:
        raise TokctlError(f"threads can't be {threads}", "it is a number from 1 up")


def _recipe(algorithm: str | None, recipe: Recipe | None) -> Recipe:
    from tokctl.presets import default_recipe

    if recipe is None:
        return default_recipe(algorithm or "bpe")
    if algorithm is not None and algorithm != recipe.algorithm:
        raise TokctlError(f"the recipe {recipe.name!r} is {recipe.algorithm}, not {algorithm}")
    return recipe


def _from_bytes(data: bytes) -> Tokenizer:
    from tokctl import formats

    return Tokenizer(formats.parse(data, "a pickled tokenizer"))
