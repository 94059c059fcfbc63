"""tiktoken's calls: `tiktoken.Encoding`."""

from __future__ import annotations

import base64
import functools
import json
import tempfile
from pathlib import Path
from typing import Any

import tiktoken

from tests.tools.suites.record import Recorder, Untranslatable, mirror
from tokctl import TokctlError, Tokenizer
from tokctl.formats.tiktoken import ENCODINGS


@functools.lru_cache(4)
def _read(encoding: tiktoken.Encoding) -> Tokenizer | TokctlError:
    """The encoding as files that tokctl reads: ranks, and the rest beside them."""
    ranks = sorted(encoding._mergeable_ranks.items(), key=lambda item: item[1])
    rest = {
        "name": encoding.name,
        "pat_str": encoding._pat_str,
        "special_tokens": encoding._special_tokens,
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "encoding.tiktoken")
        lines = [base64.b64encode(token) + b" %d\n" % rank for token, rank in ranks]
        path.write_bytes(b"".join(lines))
        # One id that has two names is nothing that a file of tokctl's could say.
        ids = encoding._special_tokens.values()
        known = encoding.name in ENCODINGS and len(set(ids)) < len(ids)
        if not known:
            path.with_name("encoding.tiktoken.json").write_text(json.dumps(rest))
        try:
            return Tokenizer.load(path, pattern=encoding.name if known else None)
        except TokctlError as error:
            return error


def ours(encoding: tiktoken.Encoding) -> Tokenizer:
    made = _read(encoding)
    if isinstance(made, TokctlError):
        raise Untranslatable(f"not read: {made.message}")
    return made


def _text(text: str) -> str:
    """Surrogates, which tiktoken joins or replaces before it encodes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Untranslatable("a str that is no text: surrogates, which tiktoken replaces") from None
    return text


def _encode(encoding: tiktoken.Encoding, text: str, **given: Any) -> list[int]:
    made = ours(encoding)
    allowed = given.get("allowed_special", set())
    names = set(encoding._special_tokens) if allowed == "all" else set(allowed)
    disallowed = given.get("disallowed_special", "all")
    refused = set(encoding._special_tokens) - names if disallowed == "all" else set(disallowed)
    if any(name in text for name in refused):
        raise Untranslatable("`disallowed_special`: a check that tokctl has not")
    special = "all" if allowed == "all" else sorted(names) or "none"
    return made.encode_ids(_text(text), special=special)


def _encode_ordinary(encoding: tiktoken.Encoding, text: str) -> list[int]:
    return ours(encoding).encode_ids(_text(text))


def _batch(one: Any) -> Any:
    def batch(encoding: tiktoken.Encoding, texts: Any, **given: Any) -> list[Any]:
        given.pop("num_threads", None)
        return [one(encoding, text, **given) for text in texts]

    return batch


def _encode_bytes(encoding: tiktoken.Encoding, data: bytes) -> list[int]:
    # There it is text as far as it is UTF-8, and the rest is one pre-token.
    try:
        return ours(encoding).encode_ids(data.decode())
    except UnicodeDecodeError:
        raise Untranslatable("bytes that are not UTF-8, which tiktoken makes one word of") from None


def _decode_bytes(encoding: tiktoken.Encoding, ids: Any) -> bytes:
    return ours(encoding).decode_bytes(ids)


def _decode(encoding: tiktoken.Encoding, ids: Any, errors: str = "replace") -> str:
    return ours(encoding).decode(ids, errors=errors)


def _single_token(encoding: tiktoken.Encoding, token: str | bytes) -> int:
    data = token.encode() if isinstance(token, str) else token
    ids: dict[bytes, int] = ours(encoding).__dict__.setdefault("ids_of_bytes", {})
    if not ids:
        model = ours(encoding).model
        ids.update({data: id_ for id_, data in enumerate(model.tokens)})
    return ids[data]


def _single_bytes(encoding: tiktoken.Encoding, id_: int) -> bytes:
    data = ours(encoding).decode_bytes([id_])
    if data == b"<|unused_%d|>" % id_:
        raise Untranslatable("an id that no token has: an error there, a filler here")
    return data


def _tokens_bytes(encoding: tiktoken.Encoding, ids: Any) -> list[bytes]:
    return [ours(encoding).decode_bytes([id_]) for id_ in ids]


def _with_offsets(encoding: tiktoken.Encoding, ids: list[int]) -> tuple[str, list[int]]:
    made = ours(encoding)
    text = made.decode(ids)
    encoded = made.encode(text, special="all")
    if encoded.ids != list(ids):
        raise Untranslatable("places of ids that are not those of their text")
    return text, [start for start, _ in encoded.offsets]


def _numpy(found: Any, theirs: Any) -> Any:
    from tests.tools.suites.record import alike

    return alike(list(found), theirs.tolist())


def _none(reason: str) -> Any:
    def none(*_: Any, **__: Any) -> Any:
        raise Untranslatable(reason)

    return none


def install(recorder: Recorder) -> None:
    def put(name: str, mine: Any, **options: Any) -> None:
        mirror(recorder, tiktoken.Encoding, name, mine, call=f"Encoding.{name}", **options)

    put("encode", _encode)
    put("encode_ordinary", _encode_ordinary)
    put("encode_to_numpy", _encode, compare=_numpy)
    put("encode_batch", _batch(_encode))
    put("encode_ordinary_batch", _batch(_encode_ordinary))
    put("_encode_bytes", _encode_bytes)
    put("encode_single_token", _single_token)
    put("encode_with_unstable", _none("`encode_with_unstable`: unstable there, not here"))
    put("decode", _decode)
    put("decode_bytes", _decode_bytes)
    put("decode_batch", _batch(_decode))
    put("decode_bytes_batch", _batch(_decode_bytes))
    put("decode_single_token_bytes", _single_bytes)
    put("decode_tokens_bytes", _tokens_bytes)
    put("decode_with_offsets", _with_offsets)
    put("token_byte_values", lambda encoding: sorted(_ranks_of(encoding)))


def _ranks_of(encoding: tiktoken.Encoding) -> list[bytes]:
    made = ours(encoding)
    own = set(made.special_ids.values())
    return [data for id_, data in enumerate(made.model.tokens) if id_ not in own]
