"""The tokens of a GGUF file, and which of them are found in a text before it is segmented.

The rules are those in llama.cpp's `llama_vocab::impl::load` and `tokenizer_st_partition`
(`src/llama-vocab.cpp`). Tokens have types, but some spellings are control tokens whatever their
type says. Control and unknown tokens are found if the caller allows special tokens
(`parse_special`). User-defined tokens are always found. All of them are found in the unnormalized
text, the longest first.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from tokctl.core.errors import Unsupported
from tokctl.core.values import cached_property
from tokctl.formats.contract import TRY_ANOTHER_FILE
from tokctl.formats.sentencepiece import (
    BYTE,
    CONTROL,
    NORMAL,
    UNKNOWN,
    UNUSED,
    USER_DEFINED,
)
from tokctl.model.parts import POST_PROCESSORS, AddedToken, Part

#: Spellings of tokens that end a text: control tokens, whatever their type.
_END_SPELLINGS = (
    *("<|eot_id|>", "<|im_end|>", "<|end|>", "<|return|>", "<|call|>", "<|flush|>", "<|calls|>"),
    *("<end_of_turn>", "<|endoftext|>", "</s>", "<|eom_id|>", "<EOT>", "_<EOT>", "[EOT]", "[EOS]"),
    *("<|end_of_text|>", "<end_of_utterance>", "<eos>", "<turn|>", "<|tool_response>"),
    *("<\uff5cend▁of▁sentence\uff5c>", "[e~["),
)
#: Spellings of fill-in-the-middle tokens, by the keys of their ids. If no key names
#: one, one token of each entry is a control token.
_FIM_SPELLINGS = {
    ("fim_pre", "prefix"): (
        *(
            "<|fim_prefix|>",
            "<fim-prefix>",
            "<fim_prefix>",
            "<\uff5cfim▁begin\uff5c>",
            "<PRE>",
            "▁<PRE>",
        ),
        *("<|code_prefix|>", "<|prefix|>"),
    ),
    ("fim_suf", "suffix"): (
        *(
            "<|fim_suffix|>",
            "<fim-suffix>",
            "<fim_suffix>",
            "<\uff5cfim▁hole\uff5c>",
            "<SUF>",
            "▁<SUF>",
        ),
        *("<|code_suffix|>", "<|suffix|>"),
    ),
    ("fim_mid", "middle"): (
        *(
            "<|fim_middle|>",
            "<fim-middle>",
            "<fim_middle>",
            "<\uff5cfim▁end\uff5c>",
            "<MID>",
            "▁<MID>",
        ),
        *("<|code_middle|>", "<|middle|>"),
    ),
    ("fim_pad",): ("<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]"),
    ("fim_rep",): ("<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>"),
    ("fim_sep",): ("<|file_sep|>",),
}
#: Tokens that llama.cpp always shows, which makes them user-defined whatever their type.
_SHOWN_SPELLINGS = ("<|channel|>", "<|message|>", "<|start|>", "<|constrain|>")
#: Most tokens of a file: twice as many as the largest vocabularies have.
_MOST_TOKENS = 1 << 19
#: Most characters to compare among added tokens. No real vocabulary needs more.
_MOST_WORK = 1 << 22


@dataclass
class Vocabulary:
    """The tokens of a file.

    Attributes:
        keys: the metadata of the file.
        texts: the tokens as the file spells them, by id.
        types: the types by id, after llama.cpp's changes by spelling.
        scores: the scores by id; 0 if the file has none.
        special: the ids of the control tokens and of unknown tokens.
    """

    keys: dict[str, Any]
    texts: list[str]
    types: list[int]
    scores: list[float]
    special: set[int] = field(default_factory=set)

    @cached_property
    def ids(self) -> dict[str, int]:
        """The id of each token, by text."""
        return {text: id_ for id_, text in enumerate(self.texts)}

    @property
    def user_defined(self) -> list[int]:
        """The ids of the tokens that are always found first."""
        return [id_ for id_, kind in enumerate(self.types) if kind == USER_DEFINED]

    def id_of(self, name: str, default: int | None = None) -> int | None:
        """Return the id in the key `tokenizer.ggml.NAME_token_id`, or `default`.

        An id beyond the vocabulary is ignored, in the key and in `default`.

        Raises:
            ValueError: the value of the key is not an id.
        """
        size = len(self.texts)
        value = self.keys.get(f"tokenizer.ggml.{name}_token_id")
        if value is not None and (type(value) is not int or value < 0):
            raise ValueError(f"its {name}_token_id is {value!r}")
        if value is not None and value < size:
            return int(value)
        return default if default is not None and default < size else None


def read_vocabulary(keys: dict[str, Any]) -> Vocabulary:
    """Return the vocabulary in a file's metadata.

    Raises:
        ValueError: the metadata is damaged.
        TokctlError: llama.cpp's choice of control tokens is not determined.
    """
    texts = keys.get("tokenizer.ggml.tokens")
    if not isinstance(texts, list) or not texts:
        raise ValueError("it holds no list of tokens")
    size = len(texts)
    if size > _MOST_TOKENS:
        raise ValueError(f"it has {size} tokens, and at most {_MOST_TOKENS} are read")
    texts = [text or f"[EMPTY_{id_}]" for id_, text in enumerate(texts)]
    types = _numbers(keys, "token_type", size, "il") or [NORMAL] * size
    scores = _numbers(keys, "scores", size, "fil") or [0.0] * size
    if not all(map(math.isfinite, scores)):
        raise ValueError("one of its scores is not a number")
    if set(types) - {NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE}:
        raise ValueError("one of its tokens is of an unknown type")
    vocab = Vocabulary(keys, texts, list(types), list(map(float, scores)))
    if len(vocab.ids) != size:
        repeated = next(text for id_, text in enumerate(texts) if vocab.ids[text] != id_)
        raise ValueError(f"the token {repeated!r:.80} occurs twice")
    _set_types_by_spelling(vocab)
    return vocab


def _numbers(keys: dict[str, Any], name: str, size: int, codes: str) -> Any:
    numbers = keys.get(f"tokenizer.ggml.{name}")
    if numbers is None:
        return None
    if getattr(numbers, "typecode", " ") not in codes:
        raise ValueError(f"its {name} is not a list of numbers of the expected type")
    if len(numbers) < size:
        raise ValueError(f"there are {len(numbers)} entries in its {name} for {size} tokens")
    return numbers[:size]


def _set_types_by_spelling(vocab: Vocabulary) -> None:
    """Set the special tokens, and the types that depend on spellings."""
    ids, types = vocab.ids, vocab.types
    special = {id_ for id_, kind in enumerate(types) if kind in (CONTROL, UNKNOWN)}
    for names, spellings in _FIM_SPELLINGS.items():
        if all(vocab.id_of(name) is None for name in names):
            present = [ids[text] for text in spellings if text in ids]
            plain = [id_ for id_ in present if types[id_] != CONTROL]
            if plain and len(present) > 1:
                raise Unsupported(
                    f"it has {vocab.texts[present[0]]!r} and {vocab.texts[present[1]]!r}, and "
                    "llama.cpp leaves to chance which of them is a control token",
                    f"set tokenizer.ggml.{names[0]}_token_id in the file",
                )
            special.update(plain)
    end_ids = {ids[text] for text in _END_SPELLINGS if text in ids}
    special |= end_ids
    shown_ids = {ids[text] for text in _SHOWN_SPELLINGS if text in ids}
    calls = {"<|call|>", "<|calls|>"} & ids.keys()
    if "<|end|>" in ids and calls and {"<|return|>", "<|flush|>"} & ids.keys():
        shown_ids.add(ids["<|end|>"])
    for id_ in shown_ids:
        types[id_] = USER_DEFINED
    if "</s>" in ids and {"<|tool_response>", "<|plamo:eos|>"} & _end_texts(vocab, end_ids):
        types[ids["</s>"]] = NORMAL
        special.discard(ids["</s>"])
    for id_ in special - shown_ids:
        if types[id_] == USER_DEFINED:
            types[id_] = CONTROL
    vocab.special = special - shown_ids


def _end_texts(vocab: Vocabulary, end_ids: set[int]) -> set[str]:
    """Return the spellings of all tokens that end a text."""
    default = {"gpt2": 11, "t5": 1, "llama": 2}.get(vocab.keys["tokenizer.ggml.model"])
    keyed = {vocab.id_of("eos", default), vocab.id_of("eot"), vocab.id_of("eom")}
    return {vocab.texts[id_] for id_ in {*end_ids, *keyed} if id_ is not None}


def added_tokens(
    vocab: Vocabulary, makeable: Collection[int] = (), *, found_first: Collection[int] = ()
) -> list[AddedToken]:
    """Return the added tokens, in id order.

    Args:
        vocab: the vocabulary.
        makeable: the ids that the model can also make from ordinary text. A control token among
            them is not an added token.
        found_first: the ids of ordinary tokens that are always found, like user-defined tokens.

    Raises:
        TokctlError: which of two tokens llama.cpp finds in a text is not determined.
    """
    found_always = {*vocab.user_defined, *found_first}
    left, right = _stripping_ids(vocab)
    tokens = [
        AddedToken(
            vocab.texts[id_],
            id_,
            special=id_ not in found_always,
            strip_left=id_ in left,
            strip_right=id_ in right,
            ordinary=id_ in found_always and id_ in makeable,
        )
        for id_ in sorted(found_always | (vocab.special - set(makeable)))
    ]
    for token in tokens:
        if (left and token.text[-1].isspace()) or (right and token.text[0].isspace()):
            raise Unsupported(
                f"one of its tokens takes white space along, and another is {token.text!r:.80}: "
                "llama.cpp gives it to the longer one",
                TRY_ANOTHER_FILE,
            )
    if _order_matters([token.text for token in tokens], strips=bool(left or right)):
        return [token._replace(longest_first=True) for token in tokens]
    return tokens


def _stripping_ids(vocab: Vocabulary) -> tuple[set[int], set[int]]:
    """Return the ids of the tokens that take white space along, on the left and on the right.

    Files do not store this property: llama.cpp derives it from the names of models.
    """
    keys, ids = vocab.keys, vocab.ids
    pre = keys.get("tokenizer.ggml.pre", "")
    architecture = keys.get("general.architecture", "")
    name = keys.get("general.name", "").lower()
    masks = ("jina-v2-de", "jina-v2-es", "jina-v2-code")
    if any(part in pre for part in masks) or any(
        part in architecture for part in ("nomic-bert-moe", "jina-bert-v3")
    ):
        return {ids["<mask>"]} if "<mask>" in ids else set(), set()
    if "phi-3" in name or "phi3" in name:
        candidates = {*vocab.user_defined, *vocab.special, *_present_ids(ids, "</s>")}
        return set(), candidates - _present_ids(ids, "<unk>", "<s>", "<|endoftext|>")
    return (_present_ids(ids, "[MASK]"), set()) if "modern-bert" in name else (set(), set())


def _present_ids(ids: dict[str, int], *texts: str) -> set[int]:
    return {ids[text] for text in texts if text in ids}


def _order_matters(texts: list[str], *, strips: bool) -> bool:
    """Return whether finding the longest token first differs from finding the leftmost one first.

    llama.cpp finds the longest token first, wherever it is. Finding the leftmost token, and of
    several the longest, gives the same result unless the end of a token is the start of another
    token that is at least as long.

    Raises:
        TokctlError: overlapping tokens are equally long, so that chance decides, or tokens take
            white space along (`strips`).
    """
    overlap = False
    first_characters = {text[0] for text in texts}
    suffixes: dict[str, list[str]] = {}
    work = 0
    for text in sorted(texts, key=len):
        for start in range(1, len(text)):
            if text[start] in first_characters:
                work += len(text) - start
                _check_work(work)
                shortest = suffixes.setdefault(text[start:], [])
                # Also keep a text of different characters, and a second one in case `other` is the
                # first.
                if len(shortest) < 2 or (len(shortest) < 4 and not _is_run(text)):
                    shortest.append(text)
    lengths = sorted({len(suffix) for suffix in suffixes})
    for other in texts:
        for length in lengths:
            if length >= len(other):
                break
            work += length
            _check_work(work)
            for text in suffixes.get(other[:length], ()):
                # Both methods take runs of one character from the left, the longest first.
                runs = _is_run(text) and _is_run(other)
                sizes = len(other.encode()), len(text.encode())
                if sizes[0] < sizes[1] or other == text or runs:
                    continue
                if strips or sizes[0] == sizes[1]:
                    raise Unsupported(
                        f"its tokens {text!r:.80} and {other!r:.80} overlap, and which of them "
                        "llama.cpp finds is left to chance",
                        TRY_ANOTHER_FILE,
                    )
                overlap = True
    return overlap


def _check_work(work: int) -> None:
    if work > _MOST_WORK:
        raise Unsupported(
            "its control and user-defined tokens are longer in total than tokctl reads",
            TRY_ANOTHER_FILE,
        )


def _is_run(text: str) -> bool:
    return text.count(text[0]) == len(text)


def build_template(
    vocab: Vocabulary, added: list[AddedToken], bos: int | None, eos: int | None
) -> tuple[Part, ...]:
    """Return the template that puts the tokens `bos` and `eos` around each text, if any.

    Raises:
        TokctlError: one of the two is not a control token, or contains white space.
    """
    special = {token.id: token.text for token in added if token.special}
    for id_ in (bos, eos):
        if id_ is not None and (id_ not in special or any(c.isspace() for c in special[id_])):
            raise Unsupported(
                f"it puts the token {vocab.texts[id_]!r:.80} around texts, which is not a control "
                "token",
                TRY_ANOTHER_FILE,
            )
    before, after = ([special[id_]] if id_ is not None else [] for id_ in (bos, eos))
    if not before and not after:
        return ()
    single = [*before, "$A", *after]
    second_text = [f"{text}:1" for text in (*before, "$B", *after)]
    part = POST_PROCESSORS.part(
        "template", single=" ".join(single), pair=" ".join([*single, *second_text])
    )
    return (part,)


def bos_and_eos_ids(
    vocab: Vocabulary, *, adds_bos: bool, adds_eos: bool, bos: int | None, eos: int | None
) -> tuple[int | None, int | None]:
    """Return the ids of the tokens before and after a text, or None for no token.

    Args:
        vocab: the vocabulary.
        adds_bos: whether a token comes before the text, unless the file says otherwise.
        adds_eos: whether a token comes after the text, unless the file says otherwise.
        bos: the id before the text, unless the file has one.
        eos: the id after the text, unless the file has one.
    """
    keys = vocab.keys
    adds_bos = keys.get("tokenizer.ggml.add_bos_token", adds_bos)
    adds_eos = keys.get("tokenizer.ggml.add_eos_token", adds_eos)
    return (
        vocab.id_of("bos", bos) if adds_bos else None,
        vocab.id_of("eos", eos) if adds_eos else None,
    )
