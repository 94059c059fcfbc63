"""The calls of `tokenizers`: `Tokenizer`, `Encoding`, and the parts of a pipeline alone.

The model is the tokenizer's own serialization at the moment of the call. A part that is called
alone is translated as `alone.py` does it.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections import OrderedDict
from typing import Any, NamedTuple

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors

from tests.tools.suites.alone import Json, alone, decoder_alone, parsed, whole_words, word_level
from tests.tools.suites.record import Different, Recorder, Untranslatable, alike, mirror
from tests.tools.zoo.peers import differing_columns
from tokctl import Encoding, Tokenizer

#: The serialization, taken before anything is put around it.
_TO_STR = tokenizers.Tokenizer.to_str

# -- models ------------------------------------------------------------------------------

#: What documents became, by their digest.
_READ: OrderedDict[bytes, Tokenizer | Untranslatable] = OrderedDict()


def _serialized(tokenizer: Any) -> str:
    try:
        return str(_TO_STR(tokenizer))
    except Exception:
        raise Untranslatable("a part that is written in Python") from None


class _Known(NamedTuple):
    """A tokenizer, as it was when it was read."""

    theirs: Any
    looks: tuple[Any, ...]
    ours: Tokenizer | Untranslatable


#: The last few that were asked. To serialize a large one takes longer than any call.
_KNOWN: dict[int, _Known] = {}

#: How many times any tokenizer, or part of one, was changed.
_CHANGES = [0]


def _looks(tokenizer: Any) -> tuple[Any, ...]:
    return _CHANGES[0], tokenizer.truncation, tokenizer.padding


def ours(tokenizer: Any) -> Tokenizer:
    looks = _looks(tokenizer)
    known = _KNOWN.get(id(tokenizer))
    if known is None or known.theirs is not tokenizer or known.looks != looks:
        while len(_KNOWN) >= 4:
            del _KNOWN[next(iter(_KNOWN))]
        known = _Known(tokenizer, looks, _translated(tokenizer))
        _KNOWN[id(tokenizer)] = known
    if isinstance(known.ours, Untranslatable):
        raise known.ours
    return known.ours


def _count_changes() -> None:
    """Looks out for what changes a tokenizer; truncation and padding are looked at."""
    whole = tokenizers.Tokenizer
    owners = (normalizers.Normalizer, pre_tokenizers.PreTokenizer, processors.PostProcessor)
    methods = [(owner, "__setattr__") for owner in (*owners, decoders.Decoder, models.Model, whole)]
    methods += [(part.Sequence, "__setitem__") for part in (normalizers, pre_tokenizers)]
    methods += [(processors.Sequence, "__setitem__"), (whole, "__setstate__")]
    methods += [(whole, name) for name in ("add_tokens", "add_special_tokens")]
    for owner, name in methods:
        setattr(owner, name, _counting(getattr(owner, name)))


def _counting(change: Any) -> Any:
    @functools.wraps(change)
    def changed(*given: Any, **named: Any) -> Any:
        # This is about a call, and no part of the model.
        _CHANGES[0] += given[1:2] != ("encode_special_tokens",)
        return change(*given, **named)

    return changed


def _translated(tokenizer: Any) -> Tokenizer | Untranslatable:
    try:
        data = _serialized(tokenizer)
    except Untranslatable as error:
        return error
    digest = hashlib.sha256(data.encode()).digest()
    if digest not in _READ:
        while len(_READ) >= 8:
            _READ.popitem(last=False)
        try:
            _READ[digest] = parsed(data)
        except Untranslatable as error:
            _READ[digest] = error
    return _READ[digest]


def _new_vocabulary(*_: Any, **__: Any) -> Any:
    _CHANGES[0] += 1
    raise Untranslatable("training: compared in tests/exact")


def _state_of(part: Any) -> bytes:
    try:
        return bytes(part.__getstate__())
    except Exception:
        raise Untranslatable("a part that is written in Python") from None


def _state(part: Any) -> Json:
    state: Json = json.loads(_state_of(part))
    return state


# -- encoding ----------------------------------------------------------------------------

#: The encodings that a test holds, with ours; theirs are kept, so that no id comes twice.
_HELD: OrderedDict[int, tuple[Any, Encoding]] = OrderedDict()


def _hold(theirs: Any, mine: Encoding) -> None:
    _HELD[id(theirs)] = theirs, mine
    while len(_HELD) > 1000:
        _HELD.popitem(last=False)


def _text(text: Any) -> Any:
    return str(text) if isinstance(text, str) else text


def _words(asked: bool) -> None:
    if asked:
        raise Untranslatable("a text that comes in words (`is_pretokenized`)")


def _options(tokenizer: Any, add_special_tokens: bool) -> Json:
    return {
        "special": "none" if tokenizer.encode_special_tokens else "all",
        "add_special": add_special_tokens,
        "truncation": ours(tokenizer).truncation,
    }


def _encode(
    tokenizer: Any,
    sequence: Any,
    pair: Any = None,
    is_pretokenized: bool = False,
    add_special_tokens: bool = True,
) -> tuple[Tokenizer, Json, Encoding]:
    made = ours(tokenizer)
    if not isinstance(sequence, str) or not isinstance(pair, (str, type(None))):
        _words(is_pretokenized)
        raise TypeError("no text")
    _words(is_pretokenized)
    options = _options(tokenizer, add_special_tokens)
    encoding = made.encode(sequence, pair, padding=made.padding, **options)
    _ = encoding.ids  # an error where a character has none
    return made, _names(tokenizer), encoding


def _batch(
    tokenizer: Any, texts: Any, is_pretokenized: bool = False, add_special_tokens: bool = True
) -> tuple[Tokenizer, Json, list[Encoding]]:
    made = ours(tokenizer)
    _words(is_pretokenized)
    if not isinstance(texts, (list, tuple)) and not hasattr(texts, "tolist"):
        raise TypeError("no texts")
    given: list[Any] = []
    for text in texts:
        pair = None if isinstance(text, str) else tuple(map(_text, text))
        given.append(str(text) if pair is None else pair)
    options = _options(tokenizer, add_special_tokens)
    found = made.encode_batch(given, padding=made.padding, **options)
    return made, _names(tokenizer), found


def _names(tokenizer: Any) -> Json:
    return {id_: token.content for id_, token in tokenizer.get_added_tokens_decoder().items()}


def _encoding(found: tuple[Tokenizer, Json, Encoding], theirs: Any) -> list[Different]:
    made, added, mine = found
    _hold(theirs, mine)
    if list(mine.raw_ids) != theirs.ids:
        return [Different("ids", mine.tokens, theirs.tokens)]
    for one in differing_columns(made, mine, theirs, added):
        return [Different(*one)]
    for kind, here, there in (
        ("word ids", mine.word_ids, theirs.word_ids),
        ("sequence ids", mine.sequence_ids, theirs.sequence_ids),
    ):
        if list(here) != list(there):
            padded = not made.recipe.post_processors and 0 in mine.attention_mask
            kind = OF_PADDING if padded and kind == "sequence ids" else kind
            return [Different(kind, list(zip(mine.tokens, here, strict=True)), there)]
    if len(mine.overflowing) != len(theirs.overflowing):
        return [Different("windows", mine.overflowing, theirs.overflowing)]
    for window, there in zip(mine.overflowing, theirs.overflowing, strict=True):
        if window.ids != there.ids:
            return [Different("windows", window.tokens, there.tokens)]
        _hold(there, window)
    return []


def _encodings(found: tuple[Tokenizer, Json, list[Encoding]], theirs: list[Any]) -> list[Different]:
    made, added, mine = found
    differences = []
    for here, there in zip(mine, theirs, strict=True):
        differences += _encoding((made, added, here), there)
    return differences


def _ids(found: tuple[Tokenizer, Json, list[Encoding]], theirs: list[Any]) -> list[Different]:
    _, _, mine = found
    return alike([list(one.raw_ids) for one in mine], [one.ids for one in theirs])


#: Differences that are the library's own, or that are meant: `docs/encoding.md` has them.
AS_BYTES = "an added token spelled as bytes are, taken for bytes there"
OF_PADDING = "without a post-processor, padding is of the first text there"

# -- decoding, vocabulary ------------------------------------------------------------------


def _decode(tokenizer: Any, ids: Any, skip_special_tokens: bool = True) -> str:
    made = ours(tokenizer)
    ids = list(ids)
    if any(id_ >= made.vocab_size for id_ in ids):
        raise Untranslatable("an id outside the vocabulary: left out there, an error here")
    return made.decode(ids, skip_special=skip_special_tokens, errors="replace")


_as_bytes = decoders.ByteLevel().decode


def _decoded(mine: str, theirs: str) -> list[Different]:
    """An added token's text may be taken for bytes there: see docs/encoding.md."""
    if mine == theirs:
        return []
    pairs = zip(mine, theirs, strict=False)
    taken = len(mine) == len(theirs) and all(a == b or _as_bytes([a]) == b for a, b in pairs)
    return [Different(AS_BYTES if taken else "result", mine, theirs)]


def _decode_batch(tokenizer: Any, rows: Any, skip_special_tokens: bool = True) -> list[str]:
    return [_decode(tokenizer, ids, skip_special_tokens) for ids in rows]


def _get_vocab(tokenizer: Any, with_added_tokens: bool = True) -> dict[str, int]:
    if not with_added_tokens:
        raise Untranslatable("the vocabulary without added tokens: one vocabulary here")
    return ours(tokenizer).get_vocab()


def _size(tokenizer: Any, with_added_tokens: bool = True) -> int:
    if not with_added_tokens:
        raise Untranslatable("the vocabulary without added tokens: one vocabulary here")
    tokens = ours(tokenizer).tokens
    # Ids that no token has, and that have a filler here, are not counted there.
    return len(tokens) - sum(token == f"<|unused_{id_}|>" for id_, token in enumerate(tokens))


def _added_count(tokenizer: Any, is_pair: bool) -> int:
    return ours(tokenizer).post_processor.added_tokens_count(is_pair)


# -- the parts alone -----------------------------------------------------------------------


def _normalize(part: Any, text: str) -> str:
    if not isinstance(text, str):
        raise TypeError("no text")
    made = alone(word_level([]), normalizer=_state(part))
    return made.pre_tokens(text)[0].decode()


def _decode_tokens(part: Any, tokens: list[str]) -> str:
    made = decoder_alone(_state(part), tokens)
    return made.decode([made.vocabulary[token] for token in tokens], errors="replace")


#: What is expected of a pre-tokenizer or a model alone: its own answer, taken beforehand.
_PRE_TOKENIZE = pre_tokenizers.PreTokenizer.pre_tokenize_str


def _pre_tokenize(part: Any, text: str) -> list[tuple[str, tuple[int, int]]]:
    state = _state(part)
    expected = [token for token, _ in _PRE_TOKENIZE(part, text)]
    model = whole_words(expected) if "ByteLevel" in str(state) else word_level(expected)
    made = alone(model, pre_tokenizer=state)
    encoding = made.encode(text)
    return list(zip(encoding.tokens, encoding.offsets, strict=True))


def _tokenize(model: Any, text: str) -> list[tuple[int, str, tuple[int, int]]]:
    made = alone(_state(model))
    encoding = made.encode(text)
    return list(zip(encoding.ids, encoding.tokens, encoding.offsets, strict=True))


def _tokens(found: Any, theirs: Any) -> list[Different]:
    return alike(found, [(token.id, token.value, token.offsets) for token in theirs])


def _unavailable(reason: str) -> Any:
    def refuse(*_: Any, **__: Any) -> Any:
        raise Untranslatable(reason)

    return refuse


# -- the encoding's own questions ------------------------------------------------------------


def _held(theirs: Any) -> Encoding:
    if id(theirs) not in _HELD:
        raise Untranslatable("an encoding of none of these calls")
    return _HELD[id(theirs)][1]


def _question(name: str) -> Any:
    def ask(theirs: Any, *given: Any, **named: Any) -> Any:
        renamed = {
            {"token_index": "index", "char_pos": "position", "word_index": "word"}.get(
                key, key.replace("sequence_index", "sequence")
            ): value
            for key, value in named.items()
        }
        return getattr(_held(theirs), name)(*given, **renamed)

    return ask


def _changed(theirs: Any, *_: Any, **__: Any) -> Any:
    _HELD.pop(id(theirs), None)
    raise Untranslatable("an encoding that is changed in place")


QUESTIONS = (
    "word_to_tokens",
    "word_to_chars",
    "token_to_sequence",
    "token_to_chars",
    "token_to_word",
    "char_to_token",
    "char_to_word",
)


def install(recorder: Recorder) -> None:
    def put(owner: type, name: str, mine: Any, **options: Any) -> None:
        call = f"{owner.__name__}.{name}"
        mirror(recorder, owner, name, mine, call=call, **options)

    whole = tokenizers.Tokenizer
    for name in ("encode",):
        put(whole, name, _encode, compare=_encoding)
    for name in ("encode_batch", "encode_batch_fast"):
        # The fast one says nothing of places.
        put(whole, name, _batch, compare=_ids if name.endswith("fast") else _encodings)
    put(whole, "decode", _decode, compare=_decoded)
    put(whole, "decode_batch", _decode_batch)
    put(whole, "get_vocab", _get_vocab)
    put(whole, "get_vocab_size", _size)
    put(whole, "token_to_id", lambda there, token: ours(there).token_to_id(token))
    put(whole, "id_to_token", lambda there, id_: ours(there).id_to_token(id_))
    put(whole, "num_special_tokens_to_add", _added_count)
    put(whole, "post_process", _unavailable("`post_process` of an encoding"))
    put(whole, "train", _new_vocabulary)
    put(whole, "train_from_iterator", _new_vocabulary)
    _count_changes()
    put(normalizers.Normalizer, "normalize_str", _normalize)
    put(normalizers.Normalizer, "normalize", _unavailable("a text that is changed in place"))
    put(pre_tokenizers.PreTokenizer, "pre_tokenize_str", _pre_tokenize)
    put(
        pre_tokenizers.PreTokenizer, "pre_tokenize", _unavailable("a text that is changed in place")
    )
    put(decoders.Decoder, "decode", _decode_tokens)
    put(models.Model, "tokenize", _tokenize, compare=_tokens)
    put(processors.PostProcessor, "process", _unavailable("`process` of an encoding"))
    for name in QUESTIONS:
        put(tokenizers.Encoding, name, _question(name))
    for name in ("truncate", "pad", "set_sequence_id"):
        put(tokenizers.Encoding, name, _changed)
