"""Mistral's `tekken.json`, read only: byte-level BPE by ranks, special tokens with the lowest ids.

The file is read as `mistral_common` does (`tokens/tokenizers/tekken.py`):

- The first `config.default_num_special_tokens` ids are special tokens. `special_tokens` names the
  first of them, and the rest are `<SPECIAL_ID>`. Files up to version 7 may leave the names out:
  their first 20 are agreed (`DEFAULT_SPECIAL_TOKENS`).
- The first `default_vocab_size - default_num_special_tokens` entries of `vocab` have the next ids,
  in order. Further entries are not used.
- `config.pattern` splits a text as in tiktoken. Special tokens are never found in a text.

Settings for images, sound and chats do not affect the ids of a text. They are kept as extra files.
"""

from __future__ import annotations

import base64
import re
from typing import Any

from tokctl.core import orjson
from tokctl.core.errors import Unsupported
from tokctl.formats.contract import (
    TRY_ANOTHER_FILE,
    ModelInput,
    UnsupportedByFormat,
    unless_damaged,
)
from tokctl.formats.registry import TEKKEN_JSON
from tokctl.model import ImportedFrom, Model, Recipe
from tokctl.model.parts import PRE_TOKENIZERS, AddedToken

#: The special tokens of files that name none.
DEFAULT_SPECIAL_TOKENS = (
    "<unk>",
    "<s>",
    "</s>",
    "[INST]",
    "[/INST]",
    "[AVAILABLE_TOOLS]",
    "[/AVAILABLE_TOOLS]",
    "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]",
    "[TOOL_CALLS]",
    "[IMG]",
    "<pad>",
    "[IMG_BREAK]",
    "[IMG_END]",
    "[PREFIX]",
    "[MIDDLE]",
    "[SUFFIX]",
    "[SYSTEM_PROMPT]",
    "[/SYSTEM_PROMPT]",
    "[TOOL_CONTENT]",
)
#: The last version whose files may name no special tokens.
_LAST_UNNAMED_VERSION = 7
_VERSION = re.compile(r"v([0-9]{1,4})(?:m[0-9]+)?")

#: A file with more special tokens than this, and more than other tokens, is damaged.
_MOST_SPECIAL = 1 << 16
#: Parts of a file that are kept unread, as extra files.
_EXTRA_PARTS = ("multimodal", "image", "audio", "model_settings_builder")
_BOS = "<s>"


def read(source: ModelInput) -> Model:
    """Return the model in the file or folder.

    Raises:
        TokctlError: the file is damaged, or tokctl can't translate its pattern.
    """
    if source.is_folder:
        source = source.sibling(TEKKEN_JSON) or source
    try:
        with unless_damaged(source.name):
            return _build_model(source.document)
    except UnsupportedByFormat as reason:
        raise Unsupported(
            f"tokctl can't split a text as {source.name} says: {reason}", TRY_ANOTHER_FILE
        ) from None


def _build_model(document: dict[str, Any]) -> Model:
    from tokctl.formats.rust_patterns import pre_tokenizers_of

    config = document["config"]
    size, reserved = config["default_vocab_size"], config["default_num_special_tokens"]
    if type(size) is not int or type(reserved) is not int or not 0 <= reserved < size:
        raise ValueError("default_vocab_size and default_num_special_tokens do not fit together")
    vocab = document["vocab"]
    if type(vocab) is not list or type(config["pattern"]) is not str:
        raise TypeError("vocab")
    if size - reserved > len(vocab):
        raise ValueError(f"it has {len(vocab)} tokens, and its config says {size - reserved}")
    if reserved > max(_MOST_SPECIAL, size - reserved):
        raise ValueError(f"{reserved} special tokens are too many")
    special = _special_texts(document, config, reserved)
    tokens = [text.encode() for text in special]
    tokens += _tokens(vocab[: size - reserved])
    recipe = Recipe(
        name="tekken",
        algorithm="bpe",
        pre_tokenizers=PRE_TOKENIZERS.steps(pre_tokenizers_of(config["pattern"])),
        units="bytes",
        alphabet="bytes",
        tie_break="lowest-id",
        segmentation="ranks",
        whole_words=True,
        post_processors=_bos_template(special),  # type: ignore[arg-type]
        special_tokens=tuple(special),
    )
    added = tuple(AddedToken(text, id_) for id_, text in enumerate(special))
    return Model(
        recipe,
        tokens,
        added_tokens=added,
        origin=ImportedFrom("tekken"),
        extra_files=_extra_files(document),
    )


def _special_texts(document: dict[str, Any], config: dict[str, Any], reserved: int) -> list[str]:
    """Return the texts of the special tokens, by id."""
    entries = document.get("special_tokens")
    if entries is None:
        version = _VERSION.fullmatch(config["version"])
        if version is None or int(version[1]) > _LAST_UNNAMED_VERSION:
            raise ValueError(
                f"files of version {config['version']!r:.20} name their special tokens"
            )
        entries = [
            {"rank": rank, "token_str": text} for rank, text in enumerate(DEFAULT_SPECIAL_TOKENS)
        ]
    if type(entries) is not list:
        raise TypeError("special_tokens")
    if len(entries) > reserved:
        raise ValueError(f"it names {len(entries)} special tokens, and its config says {reserved}")
    by_rank: dict[int, str] = {}
    for number, entry in enumerate(entries):
        text, rank = entry["token_str"], entry["rank"]
        if type(text) is not str:
            raise TypeError("token_str")
        # Entries may be in any order. The ranks after them belong to special tokens without names.
        if type(rank) is not int or not 0 <= rank < len(entries) or rank in by_rank:
            raise ValueError(f"special token {number} has the rank {rank!r:.20}")
        by_rank[rank] = text
    found = [by_rank[rank] for rank in range(len(entries))]
    found += [f"<SPECIAL_{id_}>" for id_ in range(len(found), reserved)]
    if len(set(found)) != len(found):
        raise ValueError("two special tokens have the same text")
    return found


def _tokens(vocab: list[Any]) -> list[bytes]:
    """Return the tokens in rank order; the first 256 are the single bytes."""
    tokens = []
    for rank, entry in enumerate(vocab):
        if entry["rank"] != rank or type(entry["token_bytes"]) is not str:
            raise ValueError(f"entry {rank} of the vocabulary has the rank {entry['rank']!r:.20}")
        token = base64.b64decode(entry["token_bytes"], validate=True)
        if not token or (rank < 256 and token != bytes([rank])):
            raise ValueError(f"invalid value {token!r:.80} for entry {rank} of the vocabulary")
        tokens.append(token)
    if len(tokens) < 256:
        raise ValueError("not every byte has a token")
    if len(set(tokens)) != len(tokens):
        raise ValueError("two tokens are the same bytes")
    return tokens


def _bos_template(special: list[str]) -> tuple[str, ...]:
    """Return the template that puts `<s>` before a text, if `<s>` is a special token."""
    if _BOS not in special:
        return ()
    return (f"template:{_BOS} $A=>{_BOS} $A {_BOS}:1 $B:1",)


def _extra_files(document: dict[str, Any]) -> dict[str, str]:
    """Return the unread parts of the document, each as the text of an extra file."""
    return {
        f"tekken.{key}.json": orjson.dumps(document[key], option=orjson.OPT_INDENT_2).decode()
        for key in _EXTRA_PARTS
        if document.get(key) is not None
    }
