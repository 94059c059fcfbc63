"""Names of other libraries, and tokctl's names for the same things.

Names from Hugging Face's libraries, tiktoken and SentencePiece are not aliases in tokctl: the error
that Python raises for one of them gives tokctl's name. So does the error for a misspelt option.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Never

_CHANGES = "a tokenizer never changes; "

_TOKENIZER = {
    # loading and saving
    "from_file": "Tokenizer.load(path) reads every format",
    "from_str": "Tokenizer.load(path) reads a file",
    "from_buffer": "Tokenizer.load(path) reads a file",
    "to_str": "save(path) writes the file; a copy needs none, since a tokenizer never changes",
    "save_model": 'save(folder, "vocab-merges"), or "bert-vocab" for WordPiece',
    "save_pretrained": 'save(folder, "huggingface-folder")',
    "train_from_iterator": "Tokenizer.train(Texts(texts), …)",
    "train_new_from_iterator": "Tokenizer.train(Texts(texts), recipe=tok.recipe, …)",
    # to ids
    "encode_ordinary": "encode_ids(text)",
    "encode_ordinary_batch": "encode_ids(texts, threads=2)",
    "encode_batch_fast": "encode_ids(texts), or encode_array(texts)",
    "encode_to_numpy": "encode_array(text)",
    "encode_with_unstable": "no counterpart; encode a text when it is whole",
    "encode_plus": "encode(text)",
    "batch_encode_plus": "encode_batch(texts)",
    "encode_as_ids": "encode_ids(text)",
    "encode_as_pieces": "encode(text).tokens",
    "tokenize": "encode(text).tokens",
    "count": "len(tok.encode_ids(text)); tokctl.count_tokens counts files",
    "count_tokens": "len(tok.encode_ids(text)); tokctl.count_tokens counts files",
    "apply_chat_template": "encode_chat(messages, generation_prompt=…)",
    # to text
    "batch_decode": "decode_batch(ids)",
    "decode_ids": "decode(ids)",
    "decode_single_token_bytes": "decode_bytes([id])",
    "decode_tokens_bytes": "[tok.decode_bytes([id]) for id in ids]",
    "decode_with_offsets": "encode(text).offsets",
    # the vocabulary
    "encode_single_token": "token_to_id(token)",
    "convert_tokens_to_ids": "token_to_id(token)",
    "convert_ids_to_tokens": "id_to_token(id), or tok.tokens for all of them",
    "piece_to_id": "token_to_id(token)",
    "id_to_piece": "id_to_token(id)",
    "get_vocab_size": "len(tok)",
    "get_piece_size": "len(tok)",
    "n_vocab": "len(tok)",
    "max_token_value": "len(tok) - 1",
    "vocab": "vocabulary",
    "token_byte_values": "model.tokens, the bytes of every token by id",
    "name": "recipe.name",
    # special tokens
    "add_special_tokens": f"{_CHANGES}with_special_tokens(tokens) makes another",
    "add_tokens": f"{_CHANGES}with_special_tokens(tokens) makes another",
    "special_tokens": "special_ids, a dict of their ids",
    "special_tokens_set": "special_ids, a dict of their ids",
    "special_tokens_map": "special_ids; eos_token, pad_token, … by what they are for",
    "all_special_tokens": "special_ids, a dict of their ids",
    "all_special_ids": "special_ids.values()",
    "is_special_token": "id in tok.special_ids.values()",
    "added_tokens_decoder": "model.added",
    "get_added_tokens_decoder": "model.added",
    "num_special_tokens_to_add": 'len(tok.encode("", add_special=True))',
    "eot_token": "eos_token_id",
    "eos_id": "eos_token_id",
    "bos_id": "bos_token_id",
    "pad_id": "pad_token_id",
    # what is done to the text
    "enable_padding": f"{_CHANGES}encode_batch(texts, padding=Padding(…)) fills up",
    "enable_truncation": f"{_CHANGES}encode(text, truncation=Truncation(…)) cuts",
    "no_padding": "nothing is filled up unless a call asks for it",
    "no_truncation": "nothing is cut unless a call asks for it",
    "normalizer": "pre_tokens(text)[0] is the normalized text, recipe.normalizers the steps",
    "pre_tokenizer": "pre_tokens(text) splits, recipe.pre_tokenizers are the steps",
}

_ENCODING = {
    "input_ids": "ids",
    "token_type_ids": "type_ids",
    "special_tokens_mask": "special_mask",
    "offset_mapping": "offsets",
    "words": "word_ids",
    "pad": "encode(text, padding=…)",
    "truncate": "encode(text, truncation=…)",
}

_STREAM = {"step": "push(ids)", "flush": "finish()"}

#: Foreign attributes and their counterparts, by the tokctl class on which users look for them.
NAMES = {
    "Tokenizer": _TOKENIZER,
    "Encoding": _ENCODING,
    "DecodeStream": _STREAM,
}

#: Foreign options and their counterparts: the name of an option, or a phrase to show.
OPTIONS = {
    "add_special_tokens": "add_special",
    "add_bos": "add_special",
    "skip_special_tokens": "skip_special",
    "allowed_special": "special",
    "disallowed_special": "leave it out: what special does not name is ordinary text",
    "num_threads": "threads",
    "max_length": "truncation",
    "text_pair": "pair",
    "files": "sources",
    "trainer": "what a trainer is told, such as vocab_size, are options of the call",
    "length": "leave it out",
    "show_progress": "progress",
    "limit_alphabet": "alphabet_limit",
    "model_type": "algorithm",
    "character_coverage": "coverage",
    "pretty": "leave it out",
    "pad_id": "id",
    "pad_token": "token",
    "pad_type_id": "type_id",
    "pad_to_multiple_of": "multiple_of",
    "side": "direction",
    "return_tensors": "encode_array gives arrays",
    "return_offsets_mapping": "encode(text).offsets has them",
    "is_pretokenized": "join the words, and find them again by offsets",
    "is_split_into_words": "join the words, and find them again by offsets",
    "with_added_tokens": "leave it out: all tokens are there",
    "clean_up_tokenization_spaces": "leave it out",
}


class _Foreign:
    """A descriptor for a foreign name, which raises an AttributeError with tokctl's name.

    A `__getattr__` could do this as well, but would make every other attribute of the class slower.
    """

    def __init__(self, name: str, answer: str) -> None:
        self._name = name
        self._answer = answer

    def __get__(self, instance: object, owner: type) -> Never:
        kind = repr(owner.__name__)
        owned = f"type object {kind}" if instance is None else f"{kind} object"
        # `name=` keeps Python from adding its own guess.
        raise AttributeError(
            f"{owned} has no attribute {self._name!r}; in tokctl: {self._answer}", name=self._name
        )


class AnsweringType(type):
    """The metaclass of `Answering`, which adds the foreign names and hides them from `dir`."""

    def __init__(cls, name: str, bases: tuple[type, ...], members: dict[str, Any]) -> None:
        super().__init__(name, bases, members)
        for foreign, answer in NAMES.get(name, {}).items():
            # SentencePiece also has its names in CamelCase: EncodeAsPieces.
            for one in (foreign, "".join(map(str.capitalize, foreign.split("_")))):
                setattr(cls, one, _Foreign(one, answer))

    def __dir__(cls) -> list[str]:
        return _own(cls, super().__dir__())


class Answering(metaclass=AnsweringType):
    """A class whose errors for foreign attributes give tokctl's name."""

    def __dir__(self) -> list[str]:
        return _own(type(self), super().__dir__())


def _own(kind: type, names: Iterable[str]) -> list[str]:
    from inspect import getattr_static

    return [name for name in names if type(getattr_static(kind, name, None)) is not _Foreign]


def no_option(function: str, names: Sequence[str], unknown: Iterable[str]) -> TypeError:
    """Return the error for an unknown option, with the option that the caller may have meant.

    Args:
        function: the name of the function that was called.
        names: the names of its options.
        unknown: the names of the options in the call, of which at least one is unknown.
    """
    from difflib import get_close_matches

    wrong = next(name for name in unknown if name not in names)
    answer = OPTIONS.get(wrong, "")
    if answer in names or " " not in answer:
        near = [answer] if answer in names else get_close_matches(wrong, names, 1)
        answer = f"did you mean {near[0]!r}?" if near else ""
    ending = f"; {answer}" if answer else ""
    return TypeError(f"{function}() has no option {wrong!r}{ending}")


def needs_names(function: Callable[..., Any], given: int) -> TypeError:
    """Return the error for a call with too many positional arguments.

    Args:
        function: the method that was called.
        given: the number of positional arguments, `self` included.
    """
    most = function.__code__.co_argcount
    options = ", ".join(f"{name}=…" for name in names_of(function)[most : most + 3])
    return TypeError(
        f"{spoken(function)}() takes {most - 1} without a name, and was given {given - 1}; "
        f"the others have names: {options}, …"
    )


def names_of(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of the arguments of `function`."""
    code = function.__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def spoken(function: Callable[..., Any]) -> str:
    """Return the name of a function, or of the class if `function` is an `__init__`."""
    return function.__qualname__.removesuffix(".__init__").rpartition(".")[2]
