"""GGUF files for tests, as the package `gguf` of llama.cpp writes them."""

from __future__ import annotations

import io
import random
import tempfile
from collections.abc import Iterable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import sentencepiece as spm

from tokctl import Tokenizer, formats
from tokctl.formats import sentencepiece
from tokctl.model import Model, byte_level
from tokctl.model.byte_level import BYTE_TOKENS

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)


def written(values: dict[str, Any], *, tensor: bool = False, big: bool = False) -> bytes:
    """A file with these keys of `tokenizer.ggml`, and what llama.cpp needs to load it. A value
    is a text, a flag, a number, a list, or an array of bytes."""
    order = gguf.GGUFEndian.BIG if big else gguf.GGUFEndian.LITTLE
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.gguf"
        writer = gguf.GGUFWriter(path, "llama", endianess=order)
        for key, value in {"general.name": "A model", **values}.items():
            name = key if "." in key.replace("normalizer.", "") else f"tokenizer.ggml.{key}"
            if isinstance(value, np.ndarray):
                writer.add_array(name, bytes(value))
            elif isinstance(value, bool):
                writer.add_bool(name, value)
            elif isinstance(value, int):
                writer.add_uint32(name, value)
            elif isinstance(value, str):
                writer.add_string(name, value)
            else:
                writer.add_array(name, value)
        for key, number in [("context_length", 8), ("embedding_length", 8), ("block_count", 1)]:
            writer.add_uint32(f"llama.{key}", number)
        writer.add_uint32("llama.feed_forward_length", 8)
        writer.add_uint32("llama.attention.head_count", 1)
        writer.add_float32("llama.attention.layer_norm_rms_epsilon", 1e-5)
        if tensor:
            writer.add_tensor("token_embd.weight", np.zeros((64, 64), dtype=np.float32))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        if tensor:
            writer.write_tensors_to_file()
        writer.close()
        return path.read_bytes()


def model(values: dict[str, Any], name: str = "x.gguf", **hints: Any) -> Model:
    """The model that tokctl reads of such a file."""
    return formats.parse(written(values), name, formats.LoadOptions(**hints))


def trained(sentences: list[str], **options: Any) -> bytes:
    """A model of SentencePiece."""
    out = io.BytesIO()
    spm.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences),
        model_writer=out,
        minloglevel=2,
        hard_vocab_limit=False,
        **options,
    )
    return out.getvalue()


def of_sentencepiece(data: bytes) -> dict[str, Any]:
    """The keys for a model of SentencePiece, as llama.cpp converts it: user-defined pieces
    have plain spaces there."""
    proto = sentencepiece.parse(data)
    types = [piece.type for piece in proto.pieces]
    texts = [bytes(piece.piece).decode() for piece in proto.pieces]
    plain = [
        text.replace("▁", " ") if kind == USER_DEFINED else text
        for text, kind in zip(texts, types, strict=True)
    ]
    spec = proto.normalizer_spec
    values = {
        "model": "llama" if proto.trainer_spec.model_type == 2 else "t5",
        "tokens": plain,
        "scores": [float(piece.score) for piece in proto.pieces],
        "token_type": types,
        "unknown_token_id": types.index(UNKNOWN),
        "add_space_prefix": spec.add_dummy_prefix,
    }
    if proto.trainer_spec.model_type == 1:
        values["remove_extra_whitespaces"] = spec.remove_extra_whitespaces
        rules = bytes(spec.precompiled_charsmap)
        if rules:
            values["precompiled_charsmap"] = np.frombuffer(rules, dtype=np.uint8)
        if "</s>" in texts:
            values["eos_token_id"] = texts.index("</s>")
    return values


def of_bytes(tokenizer: Tokenizer, pre: str = "gpt-2", **more: Any) -> dict[str, Any]:
    """The keys for a byte-level model; its added tokens are control tokens."""
    found = tokenizer.model
    names = found.spelled
    types = [NORMAL] * len(names)
    for token in found.added:
        types[token.id] = CONTROL if token.special else USER_DEFINED
    return {
        "model": "gpt2",
        "pre": pre,
        "tokens": names,
        "token_type": types,
        "merges": [f"{names[left]} {names[right]}" for left, right, *_ in found.merges],
        **more,
    }


def of_wordpiece(tokenizer: Tokenizer, **more: Any) -> dict[str, Any]:
    """The keys for a WordPiece model, in llama.cpp's spelling."""
    found = tokenizer.model
    special = found.special_ids
    texts = [
        text if text in special else text[2:] if text.startswith("##") else "▁" + text
        for text in found.spelled
    ]
    ids = {
        key: special[text]
        for key, text in (
            ("unknown_token_id", "[UNK]"),
            ("bos_token_id", "[CLS]"),
            ("seperator_token_id", "[SEP]"),
        )
    }
    types = [CONTROL if text in special else NORMAL for text in texts]
    return {"model": "bert", "tokens": texts, "token_type": types, **ids, **more}


@cache
def _shuffled_pairs() -> list[tuple[str, str]]:
    names = [byte_level.CHARACTERS[byte] for byte in range(256)]
    both = [(left, right) for left in names for right in names]
    random.Random(0).shuffle(both)
    return both


def pairs(pre: str, texts: Iterable[str] | None = None) -> dict[str, Any]:
    """A byte-level model whose tokens are all bytes and all pairs of bytes: where a text is
    split shows in its ids. With `texts`, of the pairs only those that these hold, in the same
    order: they have the same ids, and the model is soon read."""
    names = [byte_level.CHARACTERS[byte] for byte in range(256)]
    both = _shuffled_pairs()
    if texts is not None:
        held = {pair for text in texts for pair in pairwise(byte_level.spell(text.encode()))}
        both = [pair for pair in both if pair in held]
    tokens = [*names, *(left + right for left, right in both), "<|x|>", "<|y|>", "  \n "]
    return {
        "model": "gpt2",
        "pre": pre,
        "tokens": tokens,
        "token_type": [NORMAL] * (len(tokens) - 3) + [CONTROL, CONTROL, USER_DEFINED],
        "merges": [f"{left} {right}" for left, right in both],
        "bos_token_id": len(tokens) - 3,
        "eos_token_id": len(tokens) - 2,
        "add_bos_token": True,
    }


def tiny(kind: str) -> dict[str, Any]:
    """A model made by hand: `llama`, `bert`, `gpt2` or `t5`."""
    if kind == "gpt2":
        names = [byte_level.CHARACTERS[byte] for byte in range(256)]
        return {
            "model": kind,
            "pre": "qwen2",
            "tokens": [*names, "ab", "abc", "<|x|>"],
            "token_type": [*[NORMAL] * 258, CONTROL],
            "merges": ["a b", "ab c"],
        }
    if kind == "llama":
        bytes_ = [token.decode() for token in BYTE_TOKENS]
        words = ["▁", "a", "b", "▁a", "ab", "▁ab", "▁▁", "aa", "<", ">", "s", "left"]
        extra = ["  ", "<sep>", "\n\n"]
        tokens = ["<unk>", "<s>", "</s>", *bytes_, *words, *extra]
        kinds = [UNKNOWN, CONTROL, CONTROL, *[BYTE] * 256, *[NORMAL] * 11, UNUSED]
        scores = [0] * 259 + [-1, -9, -9, -3, -2, -2, -4, -5, -9, -9, -9, -9, 0, 0, 0]
        return {
            "model": kind,
            "tokens": tokens,
            "token_type": [*kinds, *[USER_DEFINED] * 3],
            "scores": list(map(float, scores)),
        }
    if kind == "bert":
        words = [*"abcdehl", "the", "cafe", "\u1112", "\u4e00", "ss", "i", "!", "\u0378"]
        starts = ["▁" + word for word in words]
        tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *starts, *words, "<new>"]
        count = len(starts) * 2
        return {
            "model": kind,
            "tokens": tokens,
            "token_type": [*[CONTROL] * 4, *[NORMAL] * count, USER_DEFINED],
            "unknown_token_id": 1,
            "bos_token_id": 2,
            "seperator_token_id": 3,
        }
    words = ["▁", "a", "b", "▁a", "ab", "▁ab", "aa", "<new>", "x"]
    return {
        "model": kind,
        "tokens": ["<pad>", "</s>", "<unk>", *words],
        "token_type": [CONTROL, CONTROL, UNKNOWN, *[NORMAL] * 7, USER_DEFINED, UNUSED],
        "scores": [0.0, 0.0, 0.0, -2.0, -3.0, -4.0, -2.5, -3.5, -5.5, -4.5, 0.0, -1.0],
        "add_space_prefix": True,
        "unknown_token_id": 2,
        "eos_token_id": 1,
    }
