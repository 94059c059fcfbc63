"""The file beside a rank file that says the rest: NAME.tiktoken.json.

It holds the arguments of `tiktoken.Encoding` but for the ranks, so that

    import json, tiktoken, tiktoken.load
    ranks = tiktoken.load.load_tiktoken_bpe("NAME.tiktoken")
    encoding = tiktoken.Encoding(**json.load(open("NAME.tiktoken.json")), mergeable_ranks=ranks)

is the encoding. No other program writes such a file.
"""

from __future__ import annotations

from typing import NamedTuple

import orjson

from tokctl.errors import TokctlError
from tokctl.formats.contract import InexpressibleError, Source, damaged
from tokctl.formats.rust_patterns import pre_tokenizers_of
from tokctl.formats.tiktoken.known import Encoding

#: What is put behind the rank file's name.
SUFFIX = ".json"


class Sidecar(NamedTuple):
    """What it says; and where, for messages.

    explicit_n_vocab: ranks and special tokens there are, where no id is a hole; else None.
    """

    encoding: Encoding
    explicit_n_vocab: int | None
    name: str


def write(name: str, pattern: str, special: dict[str, int], explicit_n_vocab: int | None) -> bytes:
    """The file."""
    arguments = {
        "name": name,
        "pat_str": pattern,
        "special_tokens": special,
        "explicit_n_vocab": explicit_n_vocab,
    }
    return orjson.dumps(arguments, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def read(source: Source, *, splits: bool = True) -> Sidecar:
    """What the file says; TokctlError that names it where it is not whole.

    splits: does its pattern count? Otherwise the caller knows how text is split.
    """
    document = source.document
    try:
        name, pattern = document["name"], document["pat_str"]
        special = document["special_tokens"]
        total = document.get("explicit_n_vocab")
        texts = {type(name), type(pattern), *map(type, special)}
        numbers = {*map(type, special.values()), *([] if total is None else [type(total)])}
    except KeyError as error:
        raise damaged(source.name, f"the field {error} is missing") from None
    except (TypeError, AttributeError):
        raise damaged(source.name, "it does not hold the arguments of an encoding") from None
    if texts != {str} or numbers - {int}:
        raise damaged(source.name, "a field is of another type than it should be")
    if not splits:
        return Sidecar(Encoding(name, (), special), total, source.name)
    try:
        pre_tokenizer = pre_tokenizers_of(pattern)
    except InexpressibleError as reason:
        raise TokctlError(
            f"tokctl can't split a text as {source.name} says: {reason}",
            "say how it is split: tokctl convert --pattern cl100k, or --pattern 'regex:…'",
        ) from None
    return Sidecar(Encoding(name, pre_tokenizer, special), total, source.name)
