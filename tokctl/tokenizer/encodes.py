"""From texts to ids: the methods of a tokenizer that encode."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

from tokctl import _native
from tokctl._native import IdArray
from tokctl.errors import TokctlError
from tokctl.tokenizer.described import Described
from tokctl.tokenizer.encoding import Encoding, character_offsets, no_id_error, token_names
from tokctl.tokenizer.texts import as_bytes
from tokctl.values import cached_property

if TYPE_CHECKING:
    from array import array

    from tokctl.tokenizer.postprocess import Padding, PostProcessor, Truncation

#: Selections of special tokens whose matchers a tokenizer keeps.
MOST_MATCHERS = 16

T = TypeVar("T")

#: Which special tokens may be spelled in a text: `none`, `all`, or these.
Special = str | Sequence[str]


class Encodes(Described):
    """What a tokenizer does with texts."""

    @cached_property
    def encoder(self) -> _native.Encoder:
        """The native encoder."""
        from tokctl.tokenizer.segmenting import encoder

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
        found = self._matchers.get(key)
        if found is None:
            from tokctl.tokenizer.segmenting import matchers

            found = matchers(self.model, self.encoder, allowed)
            if found is None:
                return None
            if len(self._matchers) >= MOST_MATCHERS:
                self._matchers.clear()
            self._matchers[key] = found
        return found

    def as_bytes(self, text: str | bytes) -> bytes:
        """The bytes of a text, as `as_bytes` has them for this recipe's units."""
        return as_bytes(text, byte_level=self.recipe.is_byte_level)

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
            truncation, padding: see `tokctl.tokenizer.postprocess`; a number is the length.

        Raises:
            TokctlError: text that is not UTF-8, for a character model; lengths that leave
                no room.
        """
        first = self._encode(text, special)
        if pair is None and not add_special and truncation is None and padding is None:
            plain = all(part.kind == "template" for part in self.recipe.post_processors)
            if plain:
                return first
        from tokctl.tokenizer.postprocess import Padding, Truncation, pad_batch

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
        from tokctl.tokenizer.postprocess import PostProcessor

        return PostProcessor.of(self.recipe.post_processors, self.special_ids)

    def encode_all(
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
        `padding` asks for it. The arguments are those of `encode`."""
        from concurrent.futures import ThreadPoolExecutor

        from tokctl.tokenizer.postprocess import Padding, pad_batch

        texts = check_batch(texts, threads)
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
        """The ids alone: faster than `encode`.

        Raises:
            TokctlError: as `encode`; also where a character has no id.
        """
        matcher = self.special_matcher(special)
        try:
            return self.encoder.ids(text, matcher, self.as_bytes, self._must_have_ids)
        except _native.CoreError as error:
            raise no_id(error) from None

    def encode_array(
        self, text: str | bytes, *, threads: int = 1, special: Special = "none"
    ) -> IdArray:
        """The ids as an array of 32-bit numbers, without a Python object for each.

        It has the buffer protocol: `numpy.asarray`, `memoryview` and `decode` read it where
        it stands. The result does not depend on the number of threads.

        Raises:
            TokctlError: as `encode_ids`.
        """
        check_threads(threads)
        matcher = self.special_matcher(special)
        try:
            return self.encoder.array(text, threads, matcher, self.as_bytes, self._must_have_ids)
        except _native.CoreError as error:
            raise no_id(error) from None

    @cached_property
    def _must_have_ids(self) -> bool:
        """Can a character be without an id, and no token stand for it?"""
        return self.unk_id is None and not self.recipe.is_byte_level

    def encode_batch(
        self,
        texts: Iterable[str | bytes],
        *,
        threads: int = 1,
        special: Special = "none",
        add_special: bool = False,
        truncation: Truncation | int | None = None,
        padding: Padding | int | None = None,
    ) -> list[list[int]]:
        """The ids of each text. The result does not depend on the number of threads.

        Args:
            texts: anything that is walked through once: a list, an array of NumPy's or Arrow's, a
                column of pandas.
            threads, special, add_special, truncation, padding: as those of `encode_all`.

        Raises:
            TokctlError: as `encode`; also where a character has no id.
        """
        texts = check_batch(texts, threads)
        matcher = self.special_matcher(special)
        try:
            batch = self.encoder.batch(texts, threads, matcher, self.as_bytes, self._must_have_ids)
        except _native.CoreError as error:
            raise no_id(error) from None
        if not add_special and truncation is None and padding is None:
            return batch
        from tokctl.tokenizer.postprocess import finish_ids

        return finish_ids(
            batch,
            self.post_processor,
            self.special_ids,
            add_special=add_special,
            truncation=truncation,
            padding=padding,
        )

    def encode_batch_array(
        self, texts: Iterable[str | bytes], *, threads: int = 1, special: Special = "none"
    ) -> tuple[IdArray, array[int]]:
        """The ids of many texts end to end, without a Python object for each, and where those of
        each text begin.

        The ids of text `i` are `ids[offsets[i] : offsets[i + 1]]`; `offsets` are 64-bit numbers,
        one more than there are texts, as in Arrow's lists. Both have the buffer protocol. The
        result does not depend on the number of threads.

        Raises:
            TokctlError: as `encode_batch`.
        """
        from array import array

        texts = check_batch(texts, threads)
        matcher = self.special_matcher(special)
        how = threads, matcher, self.as_bytes, self._must_have_ids
        try:
            ids, offsets = self.encoder.batch_array(texts, *how)
        except _native.CoreError as error:
            raise no_id(error) from None
        return ids, array("q", offsets)

    def pre_tokens(self, text: str | bytes) -> tuple[bytes, list[tuple[int, int]]]:
        """The normalized text, and its pre-tokens as byte ranges of it."""
        normalized, ranges, *_ = self.encoder.pre_tokens(self.as_bytes(text))
        return normalized, ranges


def check_batch(texts: Iterable[T], threads: int) -> Iterable[T]:
    """The texts as str and bytes. Arrow's arrays are walked through as objects of its own."""
    if isinstance(texts, (str, bytes)):
        raise TokctlError("a batch is a list of texts, not one text", "use encode_ids(text)")
    check_threads(threads)
    plain: Callable[[], Iterable[T]] | None = getattr(texts, "to_pylist", None)
    return texts if plain is None else plain()


def check_threads(threads: int) -> None:
    if threads < 1:
        raise TokctlError(f"threads can't be {threads}", "it is a number from 1 up")


def no_id(error: _native.CoreError, first: int = 0) -> Exception:
    """The error to show for a native one; `first` is the number of the first text."""
    if error.args[1] == "no-id":
        return no_id_error(f"a character of text {first + error.args[2][0]}")
    return error
