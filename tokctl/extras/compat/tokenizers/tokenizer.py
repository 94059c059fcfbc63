"""`Tokenizer` with the members of Hugging Face's `tokenizers`."""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import wraps
from operator import index
from os import PathLike
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import tokctl
from tokctl import _native
from tokctl.core.errors import BadModel, BadOption, TokctlError, Unsupported
from tokctl.core.values import available_threads
from tokctl.extras.compat.tokenizers import arguments
from tokctl.extras.compat.tokenizers.added_token import AddedToken
from tokctl.extras.compat.tokenizers.encoding import Encoding, padded, truncated
from tokctl.extras.compat.tokenizers.processing import PostProcess
from tokctl.extras.compat.tokenizers.text_tokens import BareTokens, Engine, WordTokens
from tokctl.formats.huggingface.components import read_added_tokens
from tokctl.model.parts import native_parts
from tokctl.tokenizer.encoding import Part, Source, encoding_of, of_parts
from tokctl.tokenizer.postprocess import longest_first

Json = dict[str, Any]
P = ParamSpec("P")
T = TypeVar("T")

#: Fewest characters of a batch that several threads encode.
_WORTH_THREADS = 1 << 15


class _Component:
    """A part of the pipeline, read and assigned as an object of `tokenizers`."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, tokenizer: Tokenizer | None, owner: type) -> Any:
        if tokenizer is None:
            return self
        if tokenizer._document[self.name] is None:
            return None
        return getattr(tokenizer._original(), self.name)

    def __set__(self, tokenizer: Tokenizer, value: Any) -> None:
        try:
            document = None if value is None else json.loads(value.__getstate__())
        except Exception:
            raise Unsupported(
                f"tokctl can't run the {self.name} {value!r}",
                "use the parts of the package tokenizers, not parts written in Python",
            ) from None
        tokenizer._change({self.name: document}, encodes=self.name != "post_processor")


def _asynchronous(method: Callable[P, T]) -> Callable[P, Awaitable[T]]:
    """Return an asynchronous method that runs `method` in another thread."""

    @wraps(method)
    async def run(*args: P.args, **named: P.kwargs) -> T:
        from asyncio import to_thread

        return await to_thread(method, *args, **named)

    run.__name__ = f"async_{method.__name__}"
    run.__qualname__ = f"Tokenizer.{run.__name__}"
    run.__doc__ = f"Return the result of `{method.__name__}`, computed in another thread."
    return run


class Tokenizer:
    """A tokenizer of a `tokenizer.json`, with the members of `tokenizers.Tokenizer`.

    Threads may share it while none changes it. A large batch is divided among as many threads as
    the process may use; `TOKENIZERS_PARALLELISM=false` or `RAYON_NUM_THREADS` set fewer. Results
    do not depend on the number of threads.

    Example:
        >>> tok = Tokenizer.from_file("book.json")
        >>> tok.encode("a lot").tokens
        ['a', 'Ġlot']
    """

    normalizer = _Component()
    pre_tokenizer = _Component()
    post_processor = _Component()
    decoder = _Component()
    model = _Component()

    def __init__(self, model: Any = None) -> None:
        if model is None:
            raise BadOption(
                "a tokenizer needs a model",
                "Tokenizer.from_file(path) reads one, tokctl.Tokenizer.train trains one",
                "missing-option",
            )
        self._start(
            {
                "version": "1.0",
                "truncation": None,
                "padding": None,
                "added_tokens": [],
                **dict.fromkeys(("normalizer", "pre_tokenizer", "post_processor", "decoder")),
                "model": json.loads(model.__getstate__()),
            }
        )

    def _start(self, document: Json, data: bytes | None = None) -> None:
        from tokctl.formats.contract import unless_damaged

        for name in ("normalizer", "pre_tokenizer", "post_processor", "decoder"):
            document.setdefault(name, None)
        document.setdefault("added_tokens", [])
        self._document = document
        self._data = data
        self._encode_special_tokens = False
        self._truncation: Json | None
        self._padding: Json | None
        with unless_damaged("tokenizer.json"):
            self._truncation = _truncation_of(document.get("truncation"))
            self._padding = _padding_of(document.get("padding"))
            self._forget(encodes=True)

    def _forget(self, *, encodes: bool) -> None:
        """Discard everything that was derived from the document, after a change to it.

        Args:
            encodes: whether the change affects the encoder, which is then discarded, too.
        """
        if encodes:
            self._ours: tokctl.Tokenizer | None = None
            self._engine_of: dict[bool, Engine] = {}
        self._process = PostProcess(self._document["post_processor"])
        self._theirs: Any = None
        self._vocab: dict[str, int] | None = None
        self._names: dict[int, str] | None = None
        self._added_now: dict[int, Json] | None = None
        self._added_ids: dict[str, int] | None = None
        self._specials: set[str] | None = None

    def _change(self, parts: Json, *, encodes: bool) -> None:
        self._document = {**self._document, **parts}
        self._data = None
        self._forget(encodes=encodes)

    # -- making, loading, saving --------------------------------------------------------------

    @staticmethod
    def from_str(json: str) -> Tokenizer:
        """Return the tokenizer of a document.

        Raises:
            TokctlError: the text is no tokenizer.json, or tokctl can't run it.
        """
        return Tokenizer.from_buffer(json.encode())

    @staticmethod
    def from_buffer(buffer: bytes) -> Tokenizer:
        """Return the tokenizer of a document, given as bytes.

        Raises:
            TokctlError: the bytes are no tokenizer.json, or tokctl can't run it.
        """
        from tokctl.core import orjson

        try:
            document = orjson.loads(buffer)
        except orjson.JSONDecodeError as error:
            raise BadModel(
                f"not a tokenizer.json: the text is not valid JSON ({error})",
                "give the text of a tokenizer.json, as Tokenizer.to_str writes it",
                "not-a-model",
            ) from None
        if not isinstance(document, dict) or not isinstance(document.get("model"), dict):
            raise BadModel(
                'not a tokenizer.json: the field "model" is missing',
                "give the text of a tokenizer.json, as Tokenizer.to_str writes it",
                "not-a-model",
            )
        made = Tokenizer.__new__(Tokenizer)
        made._start(document, bytes(buffer))
        made._tokenizer  # noqa: B018  (an error now)
        return made

    @staticmethod
    def from_file(path: str | PathLike[str]) -> Tokenizer:
        """Return the tokenizer of a `tokenizer.json`.

        Raises:
            TokctlError: the file can't be read, is damaged, or tokctl can't run it.
        """
        from tokctl.formats.contract import unreadable

        try:
            data = Path(path).read_bytes()
        except OSError as error:
            raise unreadable(str(path), error) from None
        return Tokenizer.from_buffer(data)

    @staticmethod
    def from_pretrained(
        identifier: str, revision: str = "main", token: str | None = None
    ) -> Tokenizer:
        """Return the tokenizer of a repository on the Hugging Face Hub.

        The package `huggingface_hub` downloads the repository's `tokenizer.json`.

        Args:
            identifier: `ORG/NAME`.
            revision: a branch, a tag or a commit.
            token: access token of a private repository.

        Raises:
            TokctlError: `huggingface_hub` is missing, or tokctl can't run the tokenizer.
        """
        try:
            from huggingface_hub import hf_hub_download
        except ImportError:
            raise Unsupported(
                "from_pretrained needs the package huggingface_hub",
                "pip install huggingface_hub, or Tokenizer.from_file(path)",
                "missing-package",
            ) from None
        path = hf_hub_download(identifier, "tokenizer.json", revision=revision, token=token)
        return Tokenizer.from_file(path)

    def to_str(self, pretty: bool = False) -> str:
        """Return the document as JSON text; with `pretty`, indented."""
        truncation, padding = self._truncation, self._padding
        document = {
            **self._document,
            "added_tokens": list(self._added.values()),
            "truncation": truncation and _stored_truncation(truncation),
            "padding": padding and _stored_padding(padding),
        }
        if pretty:
            return json.dumps(document, ensure_ascii=False, indent=2)
        return json.dumps(document, ensure_ascii=False, separators=(",", ":"))

    def save(self, path: str | PathLike[str], pretty: bool = True) -> None:
        """Write the document to a file, completely or not at all."""
        from tokctl.core.files import whole_file

        with whole_file(os.fspath(path)) as file:
            file.write(self.to_str(pretty).encode())

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.to_str(), self._encode_special_tokens)

    def __repr__(self) -> str:
        try:
            return repr(self._original())
        except TokctlError:
            return f"<tokctl.extras.compat Tokenizer, {self.get_vocab_size():,} tokens>"

    def __str__(self) -> str:
        try:
            return str(self._original())
        except TokctlError:
            return repr(self)

    def _original(self) -> Any:
        """Return this tokenizer as an object of `tokenizers`, for members that tokctl lacks.

        Raises:
            TokctlError: the package `tokenizers` is missing.
        """
        if self._theirs is None:
            try:
                import tokenizers
            except ImportError:
                raise Unsupported(
                    "the parts of a pipeline are objects of the package tokenizers",
                    "pip install tokenizers; tokctl.Tokenizer.load(path).recipe describes them",
                    "missing-package",
                ) from None
            self._theirs = tokenizers.Tokenizer.from_str(self.to_str())
        return self._theirs

    # -- the vocabulary -----------------------------------------------------------------------

    @property
    def _tokenizer(self) -> tokctl.Tokenizer:
        if self._ours is None:
            from tokctl import formats

            data = self._data
            if data is None:
                kept = {"truncation": None, "padding": None, "post_processor": None}
                data = json.dumps({**self._document, **kept}, ensure_ascii=False).encode()
            self._ours = tokctl.Tokenizer(formats.parse(data, "tokenizer.json"))
        return self._ours

    @property
    def _engine(self) -> Engine:
        as_text = self._encode_special_tokens
        found = self._engine_of.get(as_text)
        if found is None:
            found = Engine(self._tokenizer, special_as_text=as_text)
            self._engine_of[as_text] = found
        return found

    @property
    def _model_vocab(self) -> dict[str, int]:
        if self._vocab is None:
            vocab = self._document["model"]["vocab"]
            if isinstance(vocab, list):
                vocab = {token: id_ for id_, (token, _) in enumerate(vocab)}
            self._vocab = vocab
        return self._vocab

    @property
    def _model_size(self) -> int:
        return len(self._document["model"]["vocab"])

    @property
    def _added(self) -> dict[int, Json]:
        """Return the added tokens by id, in ascending order.

        The document lists all tokens that were ever added; of several entries with one text the
        last one counts.
        """
        if self._added_now is None:
            rows = self._document["added_tokens"]
            last = {row["content"]: row for row in rows}
            tokens = read_added_tokens(rows, self._model_vocab.get, self._model_size)
            self._added_now = {
                token.id: {**last[token.text], "id": token.id}
                for token in sorted(tokens, key=lambda token: token.id)
            }
        return self._added_now

    @property
    def _special(self) -> set[str]:
        """Return the texts that `decode` leaves out.

        A token that was special once stays special.
        """
        if self._specials is None:
            rows = self._document["added_tokens"]
            self._specials = {row["content"] for row in rows if row["special"]}
        return self._specials

    @property
    def _token_of(self) -> dict[int, str]:
        """Return the text of each id's token.

        An added token that is matched in the normalized text has its normalized text.
        """
        if self._names is None:
            names = {id_: token for token, id_ in self._model_vocab.items()}
            if isinstance(self._document["model"]["vocab"], list):
                names = {n: token for n, (token, _) in enumerate(self._document["model"]["vocab"])}
            parts = native_parts(self._tokenizer.recipe.normalizers)
            for id_, token in self._added.items():
                text = token["content"]
                if token["normalized"] and parts:
                    text = _native.normalize(parts, text.encode()).decode()
                names[id_] = text
            self._names = names
        return self._names

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]:
        """Return the id of each token, by its text."""
        found = dict(self._model_vocab)
        if arguments.flag(with_added_tokens):
            found.update({token["content"]: id_ for id_, token in self._added.items()})
        return found

    def get_vocab_size(self, with_added_tokens: bool = True) -> int:
        """Return the number of tokens, with or without added tokens."""
        if not arguments.flag(with_added_tokens):
            return self._model_size
        known = self._model_vocab
        return len(known) + sum(token["content"] not in known for token in self._added.values())

    def get_added_tokens_decoder(self) -> dict[int, AddedToken]:
        """Return the added tokens by id, in ascending order."""
        names = ("content", *AddedToken.FLAGS)
        return {
            id_: AddedToken(**{name: token[name] for name in names})
            for id_, token in sorted(self._added.items())
        }

    def token_to_id(self, token: str) -> int | None:
        """Return the id of a token; None if no token has this text."""
        token = arguments.instance(token, str)
        if self._added_ids is None:
            self._added_ids = {added["content"]: id_ for id_, added in self._added.items()}
        return self._added_ids.get(token, self._model_vocab.get(token))

    def id_to_token(self, id: int) -> str | None:  # noqa: A002
        """Return the text of an id's token; None if no token has this id."""
        return self._token_of.get(arguments.unsigned(id, 32))

    def add_tokens(self, tokens: Sequence[str | AddedToken]) -> int:
        """Add tokens with ids after all others; return how many were new or changed."""
        return self._add(tokens, special=False)

    def add_special_tokens(self, tokens: Sequence[str | AddedToken]) -> int:
        """Add special tokens with ids after all others; return how many were new or changed."""
        return self._add(tokens, special=True)

    def _add(self, tokens: Sequence[Any], *, special: bool) -> int:
        tokens = arguments.instance(tokens, list)
        known = {row["content"]: row for row in self._added.values()}
        rows = []
        for token in tokens:
            if isinstance(token, str):
                token = AddedToken(token, special=special)
            elif not hasattr(token, "single_word"):
                raise TypeError("Input must be a List[Union[str, AddedToken]]")
            elif special:
                token.special = True
            content = token.content
            if not content:
                continue
            row = {"content": content, **{name: getattr(token, name) for name in AddedToken.FLAGS}}
            found = known.get(content)
            if found is None or any(found[name] != value for name, value in row.items()):
                known[content] = row
                rows.append({"id": 0, **row})
        if rows:
            self._check_new(rows)
            listed = self._document["added_tokens"]
            self._change({"added_tokens": [*listed, *rows]}, encodes=True)
        return len(rows)

    def _check_new(self, rows: list[Json]) -> None:
        """Raise an error if a new token would get another id here than in `tokenizers`.

        `tokenizers` counts from the highest id of the added tokens, which may differ from the
        number of ids if the vocabulary has gaps.

        Raises:
            TokctlError: names the token and both ids.
        """
        size = self._model_size
        highest = max(self._added, default=-1)
        known = self._model_vocab.keys() | {row["content"] for row in self._added.values()}
        free = size + sum(id_ >= size for id_ in self._added)
        if highest >= size and highest + 1 != free:
            new = next((row["content"] for row in rows if row["content"] not in known), None)
            if new is not None:
                raise Unsupported(
                    f"tokctl can't add {new!r}: tokenizers gives the id {highest + 1} to the token "
                    f"now, and another when the file is read again",
                    "the vocabulary has gaps between its ids; add the token to the file",
                )

    @property
    def encode_special_tokens(self) -> bool:
        """Return whether the spelling of a special token is encoded as ordinary text."""
        return self._encode_special_tokens

    @encode_special_tokens.setter
    def encode_special_tokens(self, value: bool) -> None:
        self._encode_special_tokens = bool(value)

    # -- truncation and padding ---------------------------------------------------------------

    @property
    def truncation(self) -> Json | None:
        """Return the settings of `enable_truncation`; None without truncation."""
        return self._truncation and dict(self._truncation)

    @property
    def padding(self) -> Json | None:
        """Return the settings of `enable_padding`; None without padding."""
        return self._padding and dict(self._padding)

    def enable_truncation(
        self,
        max_length: int,
        stride: int = 0,
        strategy: str = "longest_first",
        direction: str = "right",
    ) -> None:
        """Truncate encodings from now on.

        Args:
            max_length: most tokens, special tokens included.
            stride: number of tokens that adjacent windows share.
            strategy: which of two texts is cut: `longest_first`, `only_first` or `only_second`.
            direction: the end to cut off, `right` or `left`.

        Raises:
            ValueError: a name is unknown, or the stride is too large.
        """
        max_length, stride = arguments.unsigned(max_length), arguments.unsigned(stride)
        if arguments.instance(strategy, str) not in ("longest_first", "only_first", "only_second"):
            raise ValueError(
                f"Unknown `strategy`: `{strategy}`. Use one of `longest_first`, `only_first`, or "
                "`only_second`"
            )
        arguments.direction(direction)
        added = self._process.added(False)
        if max_length - added < stride:
            raise ValueError(
                f"tokenizer stride set to {stride}, which is greater than or equal to its "
                f"effective max length of {max_length - added} (= {max_length} original max "
                f"length - {added} added special tokens), "
            )
        self._truncation = {
            "max_length": max_length,
            "stride": stride,
            "strategy": strategy,
            "direction": direction,
        }

    def no_truncation(self) -> None:
        """Stop truncating encodings."""
        self._truncation = None

    def enable_padding(
        self,
        direction: str = "right",
        pad_id: int = 0,
        pad_type_id: int = 0,
        pad_token: str = "[PAD]",
        length: int | None = None,
        pad_to_multiple_of: int | None = None,
    ) -> None:
        """Pad encodings from now on.

        Args:
            direction: the end to pad, `right` or `left`.
            pad_id: padding id.
            pad_type_id: type id of the padding.
            pad_token: padding token.
            length: number of tokens; None: the length of the longest encoding of a batch.
            pad_to_multiple_of: the length is rounded up to a multiple of this number.

        Raises:
            ValueError: the direction is unknown.
        """
        multiple = pad_to_multiple_of
        self._padding = {
            "length": None if length is None else arguments.unsigned(length),
            "pad_to_multiple_of": None if multiple is None else arguments.unsigned(multiple),
            "pad_id": arguments.unsigned(pad_id, 32),
            "pad_token": arguments.instance(pad_token, str),
            "pad_type_id": arguments.unsigned(pad_type_id, 32),
            "direction": arguments.direction(direction),
        }

    def no_padding(self) -> None:
        """Stop padding encodings."""
        self._padding = None

    # -- encoding -----------------------------------------------------------------------------

    def num_special_tokens_to_add(self, is_pair: bool) -> int:
        """Return how many special tokens are added to one text, or to two."""
        return self._process.added(arguments.flag(is_pair))

    def encode(
        self,
        sequence: arguments.TextOrWords,
        pair: arguments.TextOrWords | None = None,
        is_pretokenized: bool = False,
        add_special_tokens: bool = True,
    ) -> Encoding:
        """Return the encoding of a text, or of two.

        Args:
            sequence: a text; with `is_pretokenized`, a list of words.
            pair: the second text or list of words.
            is_pretokenized: whether the texts are lists of words, each encoded on its own.
            add_special_tokens: whether to add the template's special tokens.

        Raises:
            TypeError: an argument is not a text or a list of words.
            TokctlError: a character has no id, and the model has no unknown token.
        """
        add_special_tokens = add_special_tokens is True or arguments.flag(add_special_tokens)
        if pair is None and is_pretokenized is False and isinstance(sequence, str):
            source = self._engine.encode(sequence)
            made = self._single(source, len(source), add_special_tokens)
        else:
            is_pretokenized = arguments.flag(is_pretokenized)
            first = arguments.text_or_words(sequence, is_pretokenized)
            second = None if pair is None else arguments.text_or_words(pair, is_pretokenized)
            given = [(first, second)]
            made = self._encodings(given, is_pretokenized, add_special_tokens, bare=False)[0]
        if self._padding is not None:
            made = padded([made], self._padding)[0]
        return Encoding._of(made)

    def encode_batch(
        self,
        input: Sequence[Any],  # noqa: A002
        is_pretokenized: bool = False,
        add_special_tokens: bool = True,
    ) -> list[Encoding]:
        """Return the encodings of many texts, or pairs of texts.

        Args:
            input: texts, or pairs; see `encode`.
            is_pretokenized: see `encode`.
            add_special_tokens: see `encode`.
        """
        return self._batch(input, is_pretokenized, add_special_tokens, bare=False)

    def encode_batch_fast(
        self,
        input: Sequence[Any],  # noqa: A002
        is_pretokenized: bool = False,
        add_special_tokens: bool = True,
    ) -> list[Encoding]:
        """Return the encodings of many texts, without tokens, offsets and words.

        Here `encode_batch` is as fast, because it computes these columns only on first use.

        Args:
            input: texts, or pairs; see `encode`.
            is_pretokenized: see `encode`.
            add_special_tokens: see `encode`.
        """
        return self._batch(input, is_pretokenized, add_special_tokens, bare=True)

    def _batch(
        self, texts: Sequence[Any], is_pretokenized: bool, add_special: bool, *, bare: bool
    ) -> list[Encoding]:
        if isinstance(texts, str):
            raise TypeError("Can't extract `str` to `Vec`")
        add_special, is_pretokenized = arguments.flag(add_special), arguments.flag(is_pretokenized)
        given = [arguments.text_or_pair(one, is_pretokenized) for one in texts]
        made = self._encodings(given, is_pretokenized, add_special, bare=bare)
        if self._padding is not None:
            # `tokenizers` pads each encoding alone first, and then the batch.
            padding = self._padding
            made = padded([padded([one], padding)[0] for one in made], padding)
        return list(map(Encoding._of, made))

    def _encodings(
        self,
        given: list[tuple[arguments.TextOrWords, arguments.TextOrWords | None]],
        is_pretokenized: bool,
        add_special: bool,
        *,
        bare: bool,
    ) -> list[tokctl.Encoding]:
        texts: list[str] = []
        for both in given:
            for one in both:
                if one is not None:
                    texts += [one] if isinstance(one, str) else one
        found = iter(self._engine.encode_batch(texts, _threads(texts)))

        def of(words: arguments.TextOrWords, type_id: int) -> tokctl.Encoding:
            parts: list[Part] = []
            for number in range(1 if isinstance(words, str) else len(words)):
                source = next(found)
                tokens: Source = source
                if bare:
                    tokens = BareTokens(source)
                elif is_pretokenized:
                    tokens = WordTokens(source, number)
                if size := len(source):
                    parts.append((tokens, 0, size, 0 if bare else type_id, 0, 1, (), 0))
            return of_parts(tuple(parts), sum(part[2] for part in parts))

        made = []
        for first, second in given:
            if second is None and isinstance(first, str):
                source = next(found)
                tokens = BareTokens(source) if bare else source
                made.append(self._single(tokens, len(source), add_special))
            else:
                text, pair = of(first, 0), None if second is None else of(second, 1)
                made.append(self._processed(text, pair, add_special))
        return made

    def _single(self, source: Source, size: int, add_special: bool) -> tokctl.Encoding:
        """Return the encoding of one text, by a shortcut for the usual case."""
        if self._truncation is None:
            plan = self._process.plan(add_special)
            if plan is not None:
                before, start, tail, behind, around, ranged = plan
                part = (source, 0, size, *tail)
                ranges = {0: (start, start + size)} if ranged else None
                return of_parts((*before, part, *behind), size + around, ranges)
        return self._processed(encoding_of(source, size), None, add_special)

    def _processed(
        self, first: tokctl.Encoding, pair: tokctl.Encoding | None, add_special: bool
    ) -> tokctl.Encoding:
        if self._truncation is not None:
            first, pair = self._cut(first, pair, add_special)
        return self._process(first, pair, add_special)

    def _cut(
        self, first: tokctl.Encoding, pair: tokctl.Encoding | None, add_special: bool
    ) -> tuple[tokctl.Encoding, tokctl.Encoding | None]:
        """Return both texts truncated like `truncate_encodings` of `tokenizers`."""
        asked = self._truncation
        assert asked is not None
        room = asked["max_length"]
        if add_special:
            room -= self._process.added(pair is not None)
        if room < 0:
            raise ValueError(
                f"max_length is {asked['max_length']}, and the special tokens alone are more"
            )
        lengths = [len(first), 0 if pair is None else len(pair)]
        excess = sum(lengths) - room
        strategy = asked["strategy"]
        if room == 0:
            lengths = [0, 0]
        elif excess <= 0:
            pass
        elif strategy == "longest_first":
            if pair is None:
                lengths[0] = room
            else:
                lengths = [*longest_first(lengths[0], lengths[1], room)]
        else:
            target = int(strategy == "only_second")
            if target and pair is None:
                raise ValueError("Truncation error: Second sequence not provided")
            if lengths[target] <= excess:
                raise ValueError(
                    "Truncation error: Sequence to truncate too short to respect the provided "
                    "max_length"
                )
            lengths[target] -= excess
        how = asked["stride"], asked["direction"]
        second = None if pair is None else truncated(pair, lengths[1], *how)
        return truncated(first, lengths[0], *how), second

    def post_process(
        self, encoding: Encoding, pair: Encoding | None = None, add_special_tokens: bool = True
    ) -> Encoding:
        """Return one encoding, or two as one, truncated, with special tokens, and padded.

        Args:
            encoding: tokens of the first text, without special tokens.
            pair: tokens of the second text; None: there is only one.
            add_special_tokens: whether to add the template's special tokens.
        """
        first = arguments.instance(encoding, Encoding)._tokens
        second = None if pair is None else arguments.instance(pair, Encoding)._tokens
        made = self._processed(first, second, arguments.flag(add_special_tokens))
        return Encoding._of(made if self._padding is None else padded([made], self._padding)[0])

    # -- decoding -----------------------------------------------------------------------------

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True) -> str:
        """Return the text of ids; ids without a token are left out.

        Args:
            ids: the ids.
            skip_special_tokens: whether to leave out special tokens.

        Raises:
            TypeError: `ids` are not whole numbers.
            OverflowError: a number does not fit 32 bits.
        """
        ids = self._with_text(ids, False)
        skip_special = arguments.flag(skip_special_tokens)
        return self._tokenizer.decode(ids, skip_special=skip_special, errors="replace")

    def _with_text(self, ids: Sequence[int], skip_special: bool) -> list[int]:
        """Return the ids that have a token, without special tokens if `skip_special` is true."""
        if isinstance(ids, str):
            raise TypeError("Can't extract `str` to `Vec`")
        known = self._token_of
        found = [id_ for id_ in ids if id_ in known]
        if len(found) < len(ids) and not all(0 <= index(id_) < 1 << 32 for id_ in ids):
            raise OverflowError("number out of range for an id")
        if skip_special:
            special = self._special
            found = [id_ for id_ in found if known[id_] not in special]
        return found

    def decode_batch(
        self, sequences: Sequence[Sequence[int]], skip_special_tokens: bool = True
    ) -> list[str]:
        """Return the text of each sequence of ids; see `decode`."""
        return [self.decode(ids, skip_special_tokens) for ids in sequences]

    # -- asynchronous methods -------------------------------------------------------------------

    async_encode = _asynchronous(encode)
    async_encode_batch = _asynchronous(encode_batch)
    async_encode_batch_fast = _asynchronous(encode_batch_fast)
    async_decode_batch = _asynchronous(decode_batch)

    # -- training -----------------------------------------------------------------------------

    def train(self, files: Sequence[str] | str, trainer: Any = None) -> None:
        """Train the model on files with `tokenizers`; `tokctl.Tokenizer.train` is faster.

        Args:
            files: paths of the files.
            trainer: a trainer of `tokenizers`.

        Raises:
            TokctlError: the package `tokenizers` is missing, or tokctl can't run the new model.
        """
        theirs = self._original()
        theirs.train(files, trainer)
        self._take(theirs)

    def train_from_iterator(
        self, iterator: Iterable[Any], trainer: Any = None, length: int | None = None
    ) -> None:
        """Train the model on texts, or on lists of texts, with `tokenizers`.

        Args:
            iterator: the texts.
            trainer: a trainer of `tokenizers`.
            length: number of texts, for a progress bar.

        Raises:
            TokctlError: see `train`.
        """
        theirs = self._original()
        theirs.train_from_iterator(iterator, trainer, length)
        self._take(theirs)

    def _take(self, trained: Any) -> None:
        made = _restore(trained.to_str(), self._encode_special_tokens)
        vars(self).update(vars(made))  # after an error above, this tokenizer is unchanged


def _restore(document: str, encode_special_tokens: bool) -> Tokenizer:
    made = Tokenizer.from_str(document)
    made.encode_special_tokens = encode_special_tokens
    return made


def _threads(texts: Sequence[str]) -> int:
    if len(texts) < 2 or sum(map(len, texts)) < _WORTH_THREADS:
        return 1
    parallelism = os.environ.get("TOKENIZERS_PARALLELISM", "").lower()
    if parallelism in ("off", "false", "f", "no", "n", "0"):
        return 1
    asked = os.environ.get("RAYON_NUM_THREADS", "")
    if asked.isdigit() and int(asked):
        return int(asked)
    return available_threads()


_STRATEGIES = {
    "LongestFirst": "longest_first",
    "OnlyFirst": "only_first",
    "OnlySecond": "only_second",
}


def _truncation_of(stored: Mapping[str, Any] | None) -> Json | None:
    if stored is None:
        return None
    return {
        "max_length": stored["max_length"],
        "stride": stored["stride"],
        "strategy": _STRATEGIES[stored["strategy"]],
        "direction": stored.get("direction", "Right").lower(),
    }


def _stored_truncation(asked: Json) -> Json:
    strategy = next(name for name, ours in _STRATEGIES.items() if ours == asked["strategy"])
    return {
        "direction": asked["direction"].title(),
        "max_length": asked["max_length"],
        "strategy": strategy,
        "stride": asked["stride"],
    }


def _padding_of(stored: Mapping[str, Any] | None) -> Json | None:
    if stored is None:
        return None
    strategy = stored["strategy"]
    return {
        "length": None if strategy == "BatchLongest" else strategy["Fixed"],
        "pad_to_multiple_of": stored["pad_to_multiple_of"],
        "pad_id": stored["pad_id"],
        "pad_token": stored["pad_token"],
        "pad_type_id": stored["pad_type_id"],
        "direction": stored["direction"].lower(),
    }


def _stored_padding(asked: Json) -> Json:
    length = asked["length"]
    return {
        "strategy": "BatchLongest" if length is None else {"Fixed": length},
        "direction": asked["direction"].title(),
        "pad_to_multiple_of": asked["pad_to_multiple_of"],
        "pad_id": asked["pad_id"],
        "pad_type_id": asked["pad_type_id"],
        "pad_token": asked["pad_token"],
    }
