"""The libraries that define the formats, each as a reader of a file.

A loader takes the path (a file or a folder) and the model before, which says what the
file leaves to its caller. It raises ImportError where its library is not installed.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from tokctl.model import FilledRecipe


class Reader(NamedTuple):
    """A file as somebody has loaded it.

    Attributes:
        name: who, with a version.
        encode: the ids of each text; the second argument asks for the special tokens that
            the model puts around.
        decode: the text of ids; U+FFFD for what is none.
        token: what it calls an id.
        special: which special tokens it finds in a text: `all` or `none`.
        puts_around: does it know what the model puts around?
    """

    name: str
    encode: Callable[[Sequence[str], bool], list[list[int]]]
    decode: Callable[[list[int]], str]
    token: Callable[[int], str]
    special: str = "all"
    puts_around: bool = False


def _named(package: str) -> str:
    return f"{package} {version(package)}"


def _tokenizers(theirs: Any, *, special: str = "all", puts_around: bool = False) -> Reader:
    def encode(texts: Sequence[str], around: bool) -> list[list[int]]:
        return [one.ids for one in theirs.encode_batch(list(texts), add_special_tokens=around)]

    return Reader(
        _named("tokenizers"),
        encode,
        lambda ids: str(theirs.decode(ids, skip_special_tokens=False)),
        lambda id_: str(theirs.id_to_token(id_)),
        special,
        puts_around,
    )


def tokenizer_json(path: Path, _model: FilledRecipe) -> Reader:
    """`tokenizer.json`, or the one in a folder."""
    import tokenizers

    file = path / "tokenizer.json" if path.is_dir() else path
    return _tokenizers(tokenizers.Tokenizer.from_file(str(file)), puts_around=True)


def auto_tokenizer(path: Path, _model: FilledRecipe) -> Reader:
    """A folder, as transformers' `AutoTokenizer` takes it."""
    # It says that it can't find PyTorch, which nobody needs here.
    quiet = "TRANSFORMERS_NO_ADVISORY_WARNINGS"
    os.environ.setdefault(quiet, "1")
    import transformers

    theirs = transformers.AutoTokenizer.from_pretrained(str(path), local_files_only=True)

    def encode(texts: Sequence[str], around: bool) -> list[list[int]]:
        found = theirs(list(texts), add_special_tokens=around, verbose=False)
        return [list(ids) for ids in found["input_ids"]]

    def decode(ids: list[int]) -> str:
        return str(
            theirs.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False)
        )

    def token(id_: int) -> str:
        return str(theirs.convert_ids_to_tokens(id_))

    return Reader(_named("transformers"), encode, decode, token, puts_around=True)


def vocab_merges(path: Path, model: FilledRecipe) -> Reader:
    """GPT-2's two files, as tokenizers' BPE of bytes takes them, or its BPE of characters."""
    import tokenizers

    folder = path if path.is_dir() else path.parent
    files = str(folder / "vocab.json"), str(folder / "merges.txt")
    if model.recipe.is_byte_level:
        return _tokenizers(tokenizers.ByteLevelBPETokenizer.from_file(*files), special="none")
    return _tokenizers(tokenizers.CharBPETokenizer.from_file(*files), special="none")


def bert_vocab(path: Path, model: FilledRecipe) -> Reader:
    """BERT's `vocab.txt`; whether text is lowercased is for the caller to say."""
    from tokenizers import BertWordPieceTokenizer

    options: dict[str, Any] = {"lowercase": False}
    for part in model.recipe.normalizers:
        told = part.to_dict()
        if part.kind == "bert":
            names = ("lowercase", "clean_text", "handle_chinese_chars", "strip_accents")
            options = {"lowercase": True} | {n: told[n] for n in names if n in told}
        elif part.kind == "lowercase":
            options["lowercase"] = True
    file = path / "vocab.txt" if path.is_dir() else path
    return _tokenizers(BertWordPieceTokenizer(str(file), **options), puts_around=True)


def tiktoken_ranks(path: Path, _model: FilledRecipe) -> Reader:
    """tiktoken's ranks, with the pattern and the special tokens that lie beside them."""
    import tiktoken

    # Its own reader of the file keeps a copy in a cache by the path, not by the content.
    ranks = {}
    for line in path.read_bytes().splitlines():
        spelled, rank = line.split()
        ranks[base64.b64decode(spelled)] = int(rank)
    facts = json.loads(Path(f"{path}.json").read_bytes())
    theirs = tiktoken.Encoding(**facts, mergeable_ranks=ranks)

    def encode(texts: Sequence[str], _around: bool) -> list[list[int]]:
        return theirs.encode_ordinary_batch(list(texts), num_threads=1)

    def token(id_: int) -> str:
        return theirs.decode_single_token_bytes(id_).decode("utf-8", "backslashreplace")

    return Reader(_named("tiktoken"), encode, theirs.decode, token, "none")


def sentencepiece_model(path: Path, _model: FilledRecipe) -> Reader:
    """SentencePiece's `.model`."""
    import sentencepiece

    theirs = sentencepiece.SentencePieceProcessor(model_proto=path.read_bytes())

    def encode(texts: Sequence[str], _around: bool) -> list[list[int]]:
        return [theirs.encode(text) for text in texts]

    return Reader(
        _named("sentencepiece"),
        encode,
        lambda ids: str(theirs.decode(ids)),
        lambda id_: str(theirs.id_to_piece(id_)),
        "none",
    )


class Peer(NamedTuple):
    """A library that defines a format.

    Attributes:
        package: as it is installed.
        load: see the top of this file.
    """

    package: str
    load: Callable[[Path, FilledRecipe], Reader]


#: By the name of the format.
PEERS: dict[str, tuple[Peer, ...]] = {
    "tokctl": (Peer("tokenizers", tokenizer_json),),
    "huggingface": (Peer("tokenizers", tokenizer_json),),
    "huggingface-folder": (
        Peer("transformers", auto_tokenizer),
        Peer("tokenizers", tokenizer_json),
    ),
    "vocab-merges": (Peer("tokenizers", vocab_merges),),
    "bert-vocab": (Peer("tokenizers", bert_vocab),),
    "tiktoken": (Peer("tiktoken", tiktoken_ranks),),
    "sentencepiece": (Peer("sentencepiece", sentencepiece_model),),
}
