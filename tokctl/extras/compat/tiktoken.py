"""A replacement for `tiktoken`: `Encoding`, `get_encoding`, `encoding_for_model`.

    from tokctl.extras.compat import tiktoken

    enc = tiktoken.get_encoding("cl100k_base")
    enc.encode("a text")

Members, defaults and errors follow tiktoken 0.14 (`tiktoken/core.py`). Nothing is downloaded:
`get_encoding` reads tiktoken's cache. docs/drop-in.md lists the differences.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from operator import index
from typing import TYPE_CHECKING, Any, NoReturn

import tokctl
from tokctl import _native
from tokctl.core.errors import BadModel, BadOption, CoreError, Unsupported
from tokctl.core.values import available_threads, cached_property
from tokctl.formats import tiktoken as rank_files
from tokctl.formats.contract import UnsupportedByFormat
from tokctl.formats.rust_patterns import pattern_of, pre_tokenizers_of
from tokctl.model import encoders
from tokctl.model.parts import PRE_TOKENIZERS

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = [
    "Encoding",
    "encoding_for_model",
    "encoding_name_for_model",
    "get_encoding",
    "list_encoding_names",
]


class Encoding:
    r"""A byte-level tokenizer with ranks, a pattern and special tokens, like `tiktoken.Encoding`.

    Args:
        name: name of the encoding.
        pat_str: the pattern that splits a text, for Rust's `fancy-regex`.
        mergeable_ranks: the rank, which is the id, of each token's bytes.
        special_tokens: the ids of special tokens, by text.
        explicit_n_vocab: the expected number of ids, which is checked; None: no check.

    Raises:
        TokctlError: tokctl can't split text like the pattern; a byte has no token; two tokens have
            the same rank.

    Example:
        >>> ranks = {bytes([byte]): byte for byte in range(256)} | {b"ab": 256}
        >>> enc = Encoding("mine", pat_str=r"\w+|\W+", mergeable_ranks=ranks, special_tokens={})
        >>> enc.encode("ab!")
        [256, 33]
    """

    def __init__(
        self,
        name: str,
        *,
        pat_str: str,
        mergeable_ranks: dict[bytes, int],
        special_tokens: dict[str, int],
        explicit_n_vocab: int | None = None,
    ) -> None:
        highest = max(mergeable_ranks.values()), max(special_tokens.values(), default=0)
        if explicit_n_vocab:
            assert len(mergeable_ranks) + len(special_tokens) == explicit_n_vocab
            assert max(highest) == explicit_n_vocab - 1
        if len(set(mergeable_ranks.values())) < len(mergeable_ranks):
            raise BadOption(
                f"invalid encoding {name!r}: two of its tokens have the same rank",
                "give each token of mergeable_ranks a rank of its own",
                "bad-value",
            )
        inner = _inner_ids(mergeable_ranks, special_tokens)
        try:
            facts = rank_files.TiktokenEncoding(name, pre_tokenizers_of(pat_str), inner)
            model = rank_files.build_model(
                _native.RankFile.of(list(mergeable_ranks.items())), facts
            )
        except UnsupportedByFormat as reason:
            raise Unsupported(
                f"tokctl can't split a text as the pattern of {name!r} does: {reason}",
                "use tiktoken for this encoding",
            ) from None
        except (ValueError, CoreError) as error:
            raise BadOption(
                f"invalid encoding {name!r}: {error}",
                "encode of a tiktoken encoding takes the names of its special tokens",
                "bad-value",
            ) from None
        self._start(name, pat_str, mergeable_ranks, special_tokens, tokctl.Tokenizer(model))
        self._outer_ids |= {
            id_: special_tokens[text] for text, id_ in inner.items() if special_tokens[text] != id_
        }

    def _start(
        self,
        name: str,
        pat_str: str,
        mergeable_ranks: dict[bytes, int],
        special_tokens: dict[str, int],
        tokenizer: tokctl.Tokenizer,
    ) -> None:
        self.name = name
        self._pat_str = pat_str
        self._mergeable_ranks = mergeable_ranks
        self._special_tokens = special_tokens
        self.max_token_value = max(
            max(mergeable_ranks.values()), max(special_tokens.values(), default=0)
        )
        self._special_token_values = set(special_tokens.values())
        self._tokenizer = tokenizer
        #: Ids of special tokens by the tokenizer's own id, where the two differ.
        self._outer_ids: dict[int, int] = {}

    def __repr__(self) -> str:
        return f"<Encoding {self.name!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        if self is _MADE.get(self.name):
            return get_encoding, (self.name,)
        arguments = self.name, self._pat_str, self._mergeable_ranks, self._special_tokens
        return _restored, arguments

    # -- text to ids --------------------------------------------------------------------------

    def encode_ordinary(self, text: str) -> list[int]:
        """Return the ids of a text, in which the spelling of a special token is ordinary text."""
        _check_text(text)
        return self._tokenizer.encoder.ids(text, None, _repaired)

    def encode(
        self,
        text: str,
        *,
        allowed_special: str | AbstractSet[str] = frozenset(),
        disallowed_special: str | Collection[str] = "all",
    ) -> list[int]:
        """Return the ids of a text.

        Args:
            text: the text.
            allowed_special: special tokens that the text may spell, or `all`.
            disallowed_special: special tokens that it must not spell; `all`: those not allowed.

        Raises:
            ValueError: the text spells a disallowed special token.
        """
        allowed = self._checked([text], allowed_special, disallowed_special)
        ids = self._tokenizer.encoder.ids(text, self._matcher(allowed), _repaired)
        return self._with_outer(ids)

    def _with_outer(self, ids: list[int]) -> list[int]:
        outer = self._outer_ids
        return [outer.get(id_, id_) for id_ in ids] if outer else ids

    def encode_to_numpy(
        self,
        text: str,
        *,
        allowed_special: str | AbstractSet[str] = frozenset(),
        disallowed_special: str | Collection[str] = "all",
    ) -> npt.NDArray[np.uint32]:
        """Return the ids that `encode` returns as a NumPy array, without an object for each id."""
        import numpy as np

        allowed = self._checked([text], allowed_special, disallowed_special)
        ids = self._tokenizer.encoder.array(text, 1, self._matcher(allowed), _strict)
        if self._outer_ids:
            return np.array(self._with_outer(ids.tolist()), dtype=np.uint32)
        return np.frombuffer(memoryview(ids), dtype=np.uint32)

    def encode_ordinary_batch(self, text: list[str], *, num_threads: int = 8) -> list[list[int]]:
        """Return the ids of each text, in which special tokens are ordinary text.

        At most as many threads run as there are processors.
        """
        texts = list(text)
        for item in texts:
            _check_text(item)
        return self._tokenizer.encoder.batch(texts, _threads(num_threads), None, _repaired)

    def encode_batch(
        self,
        text: list[str],
        *,
        num_threads: int = 8,
        allowed_special: str | AbstractSet[str] = frozenset(),
        disallowed_special: str | Collection[str] = "all",
    ) -> list[list[int]]:
        """Return the ids of each text; see `encode`."""
        texts = list(text)
        allowed = self._checked(texts, allowed_special, disallowed_special)
        threads, matcher = _threads(num_threads), self._matcher(allowed)
        batch = self._tokenizer.encoder.batch(texts, threads, matcher, _repaired)
        return list(map(self._with_outer, batch))

    def encode_with_unstable(
        self,
        text: str,
        *,
        allowed_special: str | AbstractSet[str] = frozenset(),
        disallowed_special: str | Collection[str] = "all",
    ) -> tuple[list[int], list[list[int]]]:
        """Return the ids that no continuation of the text changes, and the possible ids after them.

        Special tokens are handled as in `encode`.
        """
        allowed = self._checked([text], allowed_special, disallowed_special)
        data = text.encode()
        ids, unstable = self._before_last(data, allowed)
        return ids, list(map(list, self._completions(unstable))) if unstable else []

    def _before_last(self, data: bytes, allowed: frozenset[str]) -> tuple[list[int], bytes]:
        """Return the ids of a text before its last pre-token, and the bytes of the last pre-token.

        If the last pre-token begins with white space, white space tokens before it belong to the
        bytes. A special token at the end of the text is stable.
        """
        columns = self._tokenizer.encoder.tokens(data, self._matcher(allowed))
        ids, words = self._with_outer(columns[0]), columns[3]
        if not ids or (allowed and ids[-1] in self._special_token_values):
            return ids, b""
        repeats = words.count(words[-1])
        if self._is_space(ids[-repeats]):
            while repeats < len(ids) and self._is_space(ids[-repeats - 1]):
                repeats += 1
        return ids[:-repeats], self.decode_bytes(ids[-repeats:])

    def _is_space(self, token: int) -> bool:
        data = self._bytes_of.get(token)
        return data is not None and not data.strip(b" \n\t")

    def _completions(self, unstable: bytes) -> set[tuple[int, ...]]:
        """Return the ids that the last bytes of a text may become.

        They are tokens that begin with the bytes, and tokens that begin with an end of the bytes.
        """
        ranks = self._mergeable_ranks
        completions: set[tuple[int, ...]] = {
            (ranks[token],) for token in self._starting_with(unstable)
        }
        for split in range(1, len(unstable)):
            for token in self._starting_with(unstable[split:]):
                possible = unstable[:split] + token
                try:
                    ids = self.encode_ordinary(possible.decode())
                except UnicodeDecodeError:
                    ids = self._encode_single_piece(possible)
                size = 0
                for count, id_ in enumerate(ids, 1):
                    size += len(self._bytes_of[id_])
                    if size >= len(unstable):
                        ids = ids[:count]
                        break
                completions.add(tuple(ids))
        text = unstable.decode("utf-8", "replace")
        if len(unstable) > 1 and text[-1:].isspace() and text[-1] not in "\x1c\x1d\x1e\x1f":
            size = len(text[-1].encode())
            if size < len(unstable):
                halves = unstable[:-size], unstable[-size:]
                completions.add(
                    tuple(id_ for data in halves for id_ in self._encode_single_piece(data))
                )
        return completions

    def _starting_with(self, data: bytes) -> Iterable[bytes]:
        index = bisect_left(self._sorted, data)
        while index < len(self._sorted) and self._sorted[index].startswith(data):
            yield self._sorted[index]
            index += 1

    def encode_single_token(self, text_or_bytes: str | bytes) -> int:
        """Return the id of a token, special or not.

        Raises:
            KeyError: no token is spelled like this.
        """
        data = text_or_bytes.encode() if isinstance(text_or_bytes, str) else text_or_bytes
        if not isinstance(data, bytes):
            raise TypeError(f"a token is str or bytes, not {type(data).__name__}")
        id_ = self._mergeable_ranks.get(data)
        if id_ is None:
            id_ = self._special_bytes[data]
        return id_

    def _encode_single_piece(self, text_or_bytes: str | bytes) -> list[int]:
        """Return the ids of bytes that the pattern does not split."""
        return self._pieces.ids(text_or_bytes)

    def _encode_bytes(self, text: bytes) -> list[int]:
        """Return the ids of bytes; the pattern splits only the bytes before invalid UTF-8."""
        if not isinstance(text, bytes):
            raise TypeError(f"argument 'text': '{type(text).__name__}' object is not 'bytes'")
        try:
            return self.encode_ordinary(text.decode())
        except UnicodeDecodeError as error:
            ids, unstable = self._before_last(text[: error.start], frozenset())
            return ids + self._encode_single_piece(unstable + text[error.start :])

    def _checked(
        self,
        texts: Sequence[str],
        allowed: str | AbstractSet[str],
        disallowed: str | Collection[str],
    ) -> frozenset[str]:
        """Return the special tokens that the texts may spell.

        Raises:
            TypeError: `allowed` is neither a set of str nor `all`.
            ValueError: a text spells a disallowed special token.
        """
        special = self.special_tokens_set
        if isinstance(allowed, str) and allowed == "all":
            allowed = special
        elif not isinstance(allowed, (set, frozenset)):
            raise TypeError(f"allowed_special is a set or 'all', not {type(allowed).__name__}")
        elif not all(isinstance(token, str) for token in allowed):
            raise TypeError("allowed_special holds a value that is not a str")
        refused = special - allowed if disallowed == "all" else disallowed
        search = _any_of(frozenset(refused)) if refused else None
        for text in texts:
            _check_text(text)
            if search and (match := search(text)):
                raise_disallowed_special_token(match[0])
        return frozenset(allowed) & special

    def _matcher(self, allowed: frozenset[str]) -> _native.Matchers | None:
        if not allowed:
            return None
        everything = len(allowed) == len(self._special_tokens)
        return self._tokenizer.special_matcher("all" if everything else sorted(allowed))

    # -- ids to text --------------------------------------------------------------------------

    def decode_bytes(self, tokens: Sequence[int]) -> bytes:
        """Return the bytes of ids.

        Raises:
            KeyError: no token has one of the ids.
        """
        if not self._holes:
            try:
                return self._tokenizer.decoder.decode(tokens, False)
            except CoreError:
                pass
        return b"".join(map(self.decode_single_token_bytes, tokens))

    def decode(self, tokens: Sequence[int], errors: str = "replace") -> str:
        """Return the text of ids.

        Args:
            tokens: the ids.
            errors: error handler of `bytes.decode` for bytes that are not UTF-8.

        Raises:
            KeyError: no token has one of the ids.
        """
        return self.decode_bytes(tokens).decode("utf-8", errors=errors)

    def decode_single_token_bytes(self, token: int) -> bytes:
        """Return the bytes of one id.

        Raises:
            KeyError: no token has the id.
            OverflowError: the number can't be an id.
        """
        if not 0 <= index(token) < 1 << 32:
            raise OverflowError(f"{token} is out of range for an id")
        return self._bytes_of[token]

    def decode_tokens_bytes(self, tokens: Sequence[int]) -> list[bytes]:
        """Return the bytes of each id; see `decode_single_token_bytes` for errors."""
        return [self.decode_single_token_bytes(token) for token in tokens]

    def decode_with_offsets(self, tokens: Sequence[int]) -> tuple[str, list[int]]:
        """Return the text of ids, and the index of the character with each token's first byte.

        Raises:
            KeyError: no token has one of the ids.
            UnicodeDecodeError: the bytes are not UTF-8.
        """
        offsets = []
        characters = 0
        pieces = self.decode_tokens_bytes(tokens)
        for piece in pieces:
            inside = sum(0x80 <= byte < 0xC0 for byte in piece)
            offsets.append(max(0, characters - (0x80 <= piece[0] < 0xC0)))
            characters += len(piece) - inside
        return b"".join(pieces).decode(), offsets

    def decode_batch(
        self,
        batch: Sequence[Sequence[int]],
        *,
        errors: str = "replace",
        num_threads: int = 8,  # noqa: ARG002
    ) -> list[str]:
        """Return the text of each sequence of ids; one thread is fast enough."""
        return [self.decode(tokens, errors) for tokens in batch]

    def decode_bytes_batch(
        self,
        batch: Sequence[Sequence[int]],
        *,
        num_threads: int = 8,  # noqa: ARG002
    ) -> list[bytes]:
        """Return the bytes of each sequence of ids."""
        return list(map(self.decode_bytes, batch))

    # -- the vocabulary -----------------------------------------------------------------------

    def token_byte_values(self) -> list[bytes]:
        """Return the bytes of all tokens except special tokens, sorted."""
        return list(self._sorted)

    @property
    def eot_token(self) -> int:
        """Return the id of `<|endoftext|>`.

        Raises:
            KeyError: the encoding has no such token.
        """
        return self._special_tokens["<|endoftext|>"]

    @cached_property
    def special_tokens_set(self) -> set[str]:
        """Return the texts of the special tokens."""
        return set(self._special_tokens)

    def is_special_token(self, token: int) -> bool:
        """Return whether the id is the id of a special token."""
        assert isinstance(token, int)
        return token in self._special_token_values

    @property
    def n_vocab(self) -> int:
        """Return the highest id plus one."""
        return self.max_token_value + 1

    @cached_property
    def _sorted(self) -> list[bytes]:
        return sorted(self._mergeable_ranks)

    @cached_property
    def _special_bytes(self) -> dict[bytes, int]:
        return {text.encode(): id_ for text, id_ in self._special_tokens.items()}

    @cached_property
    def _bytes_of(self) -> dict[int, bytes]:
        special_bytes = {id_: text for text, id_ in self._special_bytes.items()}
        return special_bytes | {id_: token for token, id_ in self._mergeable_ranks.items()}

    @cached_property
    def _holes(self) -> bool:
        """Return whether some ids have no token, or another id in the native decoder."""
        return bool(self._outer_ids) or len(self._bytes_of) < self.n_vocab

    @cached_property
    def _pieces(self) -> _native.Encoder:
        return encoders.pre_token_encoder(self._tokenizer.model)


#: Greatest distance of a special token's id from the ranks. Beyond it, unused ids waste memory.
_FAR = 1 << 16


def _inner_ids(ranks: dict[bytes, int], special: dict[str, int]) -> dict[str, int]:
    """Return the ids that the special tokens have in the model.

    They are the ids as given. If two tokens share an id, or if an id is far above the ranks, the
    ids directly after the ranks are used instead.
    """
    first_id, ids = max(ranks.values()) + 1, set(special.values())
    is_near = len(ids) == len(special) and max(ids, default=0) < first_id + _FAR
    if is_near and ids.isdisjoint(ranks.values()):
        return dict(special)
    return {text: first_id + index for index, text in enumerate(special)}


def _threads(number: float | None) -> int:
    """Return the number of threads of a batch, at most one per processor.

    Raises:
        ValueError: `number` is below 1, as for Python's ThreadPoolExecutor.
    """
    if number is not None and number <= 0:
        raise ValueError("max_workers must be greater than 0")
    return available_threads() if number is None else max(1, int(min(number, available_threads())))


def _repaired(text: str | bytes) -> bytes:
    """Return the UTF-8 of a text with surrogates: pairs become characters, others U+FFFD."""
    assert isinstance(text, str)  # see `_check_text`
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def _strict(text: str | bytes) -> bytes:
    """Return the UTF-8 of a text; UnicodeEncodeError for lone surrogates."""
    assert isinstance(text, str)  # see `_check_text`
    return text.encode()


def _check_text(text: Any) -> None:
    """Raise TypeError unless `text` is a str; the native encoder takes bytes, too."""
    if not isinstance(text, str):
        raise TypeError(f"argument 'text': '{type(text).__name__}' object is not a 'str'")


@lru_cache(maxsize=128)
def _any_of(tokens: frozenset[str]) -> Callable[[str], re.Match[str] | None]:
    return re.compile("|".join(map(re.escape, sorted(tokens)))).search


def raise_disallowed_special_token(token: str) -> NoReturn:
    """Raise the `ValueError` for a special token that a text must not spell."""
    raise ValueError(
        f"Encountered text corresponding to disallowed special token {token!r}.\n"
        "If you want this text to be encoded as a special token, "
        f"pass it to `allowed_special`, e.g. `allowed_special={{{token!r}, ...}}`.\n"
        "If you want this text to be encoded as normal text, disable the check for this token "
        f"by passing `disallowed_special=(enc.special_tokens_set - {{{token!r}}})`.\n"
        "To disable this check for all special tokens, pass `disallowed_special=()`.\n"
    )


def _restored(
    name: str, pat_str: str, ranks: dict[bytes, int], special: dict[str, int]
) -> Encoding:
    return Encoding(name, pat_str=pat_str, mergeable_ranks=ranks, special_tokens=special)


# -- published encodings ------------------------------------------------------------------------

#: Published encodings that were loaded in this process, by name.
_MADE: dict[str, Encoding] = {}

#: The encoding whose rank file an encoding uses, if it has no file of its own.
_FILES = {"gpt2": "r50k_base", "p50k_edit": "p50k_base", "o200k_harmony": "o200k_base"}

#: Model names of each encoding; below, beginnings of model names (`tiktoken/model.py`).
_MODELS = {
    "o200k_base": "o1 o3 o4-mini gpt-5 gpt-4.1 gpt-4o",
    "cl100k_base": (
        "gpt-4 gpt-3.5-turbo gpt-3.5 gpt-35-turbo davinci-002 babbage-002 text-embedding-ada-002 "
        "text-embedding-3-small text-embedding-3-large"
    ),
    "p50k_base": (
        "text-davinci-003 text-davinci-002 code-davinci-002 code-davinci-001 code-cushman-002 "
        "code-cushman-001 davinci-codex cushman-codex"
    ),
    "p50k_edit": "text-davinci-edit-001 code-davinci-edit-001",
    "r50k_base": (
        "text-davinci-001 text-curie-001 text-babbage-001 text-ada-001 davinci curie babbage ada "
        "text-similarity-davinci-001 text-similarity-curie-001 text-similarity-babbage-001 "
        "text-similarity-ada-001 text-search-davinci-doc-001 text-search-curie-doc-001 "
        "text-search-babbage-doc-001 text-search-ada-doc-001 code-search-babbage-code-001 "
        "code-search-ada-code-001"
    ),
    "gpt2": "gpt2 gpt-2",
}
_BEGINNINGS = {
    "o200k_base": ("o1- o3- o4-mini- gpt-5 gpt-4.5- gpt-4.1- chatgpt-4o- gpt-4o- ft:gpt-4o"),
    "o200k_harmony": "gpt-oss-",
    "cl100k_base": (
        "gpt-4- gpt-3.5-turbo- gpt-35-turbo- ft:gpt-4 ft:gpt-3.5-turbo ft:davinci-002 "
        "ft:babbage-002"
    ),
}


def list_encoding_names() -> list[str]:
    """Return the names of the published encodings."""
    return list(rank_files.ENCODINGS)


def get_encoding(encoding_name: str) -> Encoding:
    """Return a published encoding, from tiktoken's cache.

    The cache is the folder named by `TIKTOKEN_CACHE_DIR`, or tiktoken's default folder.

    Raises:
        ValueError: no encoding has this name.
        TokctlError: the encoding is not in the cache.
    """
    if encoding_name in _MADE:
        return _MADE[encoding_name]
    facts = rank_files.ENCODINGS.get(encoding_name)
    if facts is None:
        raise ValueError(
            f"Unknown encoding {encoding_name}.\nEncodings: {', '.join(list_encoding_names())}"
        )
    path = rank_files.cached().get(_FILES.get(encoding_name, encoding_name))
    if path is None:
        raise BadModel(
            f"the ranks of {encoding_name} are not in tiktoken's cache, and tokctl does not "
            "download them",
            "set TIKTOKEN_CACHE_DIR to the folder that has them, run tiktoken once, or take "
            "Encoding(name, pat_str=…, mergeable_ranks=…, special_tokens=…)",
            "unreadable",
        )
    pattern = pattern_of(PRE_TOKENIZERS.steps(facts.pre_tokenizers))
    encoding = Encoding.__new__(Encoding)
    # `pattern` must not be "gpt2", which names a way of splitting too; the file is enough.
    named = None if encoding_name == "gpt2" else encoding_name
    tokenizer = tokctl.Tokenizer.load(path, pattern=named)
    reserved = tokenizer.model.reserved_ids
    tokens = enumerate(tokenizer.model.tokens)
    ranks = {data: id_ for id_, data in tokens if id_ not in reserved}
    encoding._start(encoding_name, pattern, ranks, dict(facts.special), tokenizer)
    return _MADE.setdefault(encoding_name, encoding)


def encoding_name_for_model(model_name: str) -> str:
    """Return the name of a model's encoding.

    Raises:
        KeyError: the model is unknown.
    """
    for encoding, names in _MODELS.items():
        if model_name in names.split():
            return encoding
    for encoding, beginnings in _BEGINNINGS.items():
        if model_name.startswith(tuple(beginnings.split())):
            return encoding
    raise KeyError(
        f"Could not automatically map {model_name} to a tokeniser. "
        "Please use `tiktoken.get_encoding` to explicitly get the tokeniser you expect."
    )


def encoding_for_model(model_name: str) -> Encoding:
    """Return the encoding of a model; see `get_encoding`.

    Raises:
        KeyError: the model is unknown.
    """
    return get_encoding(encoding_name_for_model(model_name))
