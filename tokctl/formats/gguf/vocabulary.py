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
from tokctl.formats.contract import ANOTHER
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
_ENDS = (
    *("<|eot_id|>", "<|im_end|>", "<|end|>", "<|return|>", "<|call|>", "<|flush|>", "<|calls|>"),
    *("<end_of_turn>", "<|endoftext|>", "</s>", "<|eom_id|>", "<EOT>", "_<EOT>", "[EOT]", "[EOS]"),
    *("<|end_of_text|>", "<end_of_utterance>", "<eos>", "<turn|>", "<|tool_response>"),
    *("<\uff5cend▁of▁sentence\uff5c>", "[e~["),
)
#: Spellings of fill-in-the-middle tokens, by the keys of their ids. If no key names
#: one, one token of each entry is a control token.
_GAPS = {
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
_SHOWN = ("<|channel|>", "<|message|>", "<|start|>", "<|constrain|>")
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
        found = self.keys.get(f"tokenizer.ggml.{name}_token_id")
        if found is not None and (type(found) is not int or found < 0):
            raise ValueError(f"its {name}_token_id is {found!r}")
        if found is not None and found < size:
            return int(found)
        return default if default is not None and default < size else None


def vocabulary(keys: dict[str, Any]) -> Vocabulary:
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
    found = Vocabulary(keys, texts, list(types), list(map(float, scores)))
    if len(found.ids) != size:
        twice = next(text for id_, text in enumerate(texts) if found.ids[text] != id_)
        raise ValueError(f"the token {twice!r:.80} is there twice")
    _by_spelling(found)
    return found


def _numbers(keys: dict[str, Any], name: str, size: int, codes: str) -> Any:
    found = keys.get(f"tokenizer.ggml.{name}")
    if found is None:
        return None
    if getattr(found, "typecode", " ") not in codes:
        raise ValueError(f"its {name} is not a list of numbers of the expected type")
    if len(found) < size:
        raise ValueError(f"there are {len(found)} entries in its {name} for {size} tokens")
    return found[:size]


def _by_spelling(found: Vocabulary) -> None:
    """Set the special tokens, and the types that depend on spellings."""
    ids, types = found.ids, found.types
    special = {id_ for id_, kind in enumerate(types) if kind in (CONTROL, UNKNOWN)}
    for names, spellings in _GAPS.items():
        if all(found.id_of(name) is None for name in names):
            there = [ids[text] for text in spellings if text in ids]
            plain = [id_ for id_ in there if types[id_] != CONTROL]
            if plain and len(there) > 1:
                raise Unsupported(
                    f"it has {found.texts[there[0]]!r} and {found.texts[there[1]]!r}, and which "
                    "of them is a control token llama.cpp leaves to chance",
                    f"set tokenizer.ggml.{names[0]}_token_id in the file",
                )
            special.update(plain)
    ends = {ids[text] for text in _ENDS if text in ids}
    special |= ends
    shown = {ids[text] for text in _SHOWN if text in ids}
    calls = {"<|call|>", "<|calls|>"} & ids.keys()
    if "<|end|>" in ids and calls and {"<|return|>", "<|flush|>"} & ids.keys():
        shown.add(ids["<|end|>"])
    for id_ in shown:
        types[id_] = USER_DEFINED
    if "</s>" in ids and {"<|tool_response>", "<|plamo:eos|>"} & _ending(found, ends):
        types[ids["</s>"]] = NORMAL
        special.discard(ids["</s>"])
    for id_ in special - shown:
        if types[id_] == USER_DEFINED:
            types[id_] = CONTROL
    found.special = special - shown


def _ending(found: Vocabulary, ends: set[int]) -> set[str]:
    """Return the spellings of all tokens that end a text."""
    default = {"gpt2": 11, "t5": 1, "llama": 2}.get(found.keys["tokenizer.ggml.model"])
    named = {found.id_of("eos", default), found.id_of("eot"), found.id_of("eom")}
    return {found.texts[id_] for id_ in {*ends, *named} if id_ is not None}


def added(
    found: Vocabulary, made: Collection[int] = (), *, found_first: Collection[int] = ()
) -> list[AddedToken]:
    """Return the added tokens, in id order.

    Args:
        found: the vocabulary.
        made: the ids that the model can also make from ordinary text. A control token among them is
            not an added token.
        found_first: the ids of ordinary tokens that are always found, like user-defined tokens.

    Raises:
        TokctlError: which of two tokens llama.cpp finds in a text is not determined.
    """
    plain = {*found.user_defined, *found_first}
    left, right = _stripping(found)
    tokens = [
        AddedToken(
            found.texts[id_],
            id_,
            special=id_ not in plain,
            strip_left=id_ in left,
            strip_right=id_ in right,
            ordinary=id_ in plain and id_ in made,
        )
        for id_ in sorted(plain | (found.special - set(made)))
    ]
    for token in tokens:
        if (left and token.text[-1].isspace()) or (right and token.text[0].isspace()):
            raise Unsupported(
                f"one of its tokens takes white space along, and another is {token.text!r:.80}: "
                "llama.cpp gives it to the longer one",
                ANOTHER,
            )
    if _overlap([token.text for token in tokens], strips=bool(left or right)):
        return [token._replace(longest_first=True) for token in tokens]
    return tokens


def _stripping(found: Vocabulary) -> tuple[set[int], set[int]]:
    """Return the ids of the tokens that take white space along, on the left and on the right.

    Files do not store this property: llama.cpp derives it from the names of models.
    """
    keys, ids = found.keys, found.ids
    pre = keys.get("tokenizer.ggml.pre", "")
    architecture = keys.get("general.architecture", "")
    name = keys.get("general.name", "").lower()
    masks = ("jina-v2-de", "jina-v2-es", "jina-v2-code")
    if any(part in pre for part in masks) or any(
        part in architecture for part in ("nomic-bert-moe", "jina-bert-v3")
    ):
        return {ids["<mask>"]} if "<mask>" in ids else set(), set()
    if "phi-3" in name or "phi3" in name:
        every = {*found.user_defined, *found.special, *_known(ids, "</s>")}
        return set(), every - _known(ids, "<unk>", "<s>", "<|endoftext|>")
    return (_known(ids, "[MASK]"), set()) if "modern-bert" in name else (set(), set())


def _known(ids: dict[str, int], *texts: str) -> set[int]:
    return {ids[text] for text in texts if text in ids}


def _overlap(texts: list[str], *, strips: bool) -> bool:
    """Return whether finding the longest token first differs from finding the leftmost one first.

    llama.cpp finds the longest token first, wherever it is. Finding the leftmost token, and of
    several the longest, gives the same result unless the end of a token is the start of another
    token that is at least as long.

    Raises:
        TokctlError: overlapping tokens are equally long, so that chance decides, or tokens take
            white space along (`strips`).
    """
    overlap = False
    firsts = {text[0] for text in texts}
    ends: dict[str, list[str]] = {}
    work = 0
    for text in sorted(texts, key=len):
        for start in range(1, len(text)):
            if text[start] in firsts:
                work += len(text) - start
                _check_work(work)
                shortest = ends.setdefault(text[start:], [])
                # Also keep a text of different characters, and a second one in case `other` is the
                # first.
                if len(shortest) < 2 or (len(shortest) < 4 and not _is_run(text)):
                    shortest.append(text)
    lengths = sorted({len(end) for end in ends})
    for other in texts:
        for length in lengths:
            if length >= len(other):
                break
            work += length
            _check_work(work)
            for text in ends.get(other[:length], ()):
                # Both methods take runs of one character from the left, the longest first.
                runs = _is_run(text) and _is_run(other)
                sizes = len(other.encode()), len(text.encode())
                if sizes[0] < sizes[1] or other == text or runs:
                    continue
                if strips or sizes[0] == sizes[1]:
                    raise Unsupported(
                        f"its tokens {text!r:.80} and {other!r:.80} overlap, and which of them "
                        "llama.cpp finds is left to chance",
                        ANOTHER,
                    )
                overlap = True
    return overlap


def _check_work(work: int) -> None:
    if work > _MOST_WORK:
        raise Unsupported(
            "its control and user-defined tokens are longer in all than tokctl reads", ANOTHER
        )


def _is_run(text: str) -> bool:
    return text.count(text[0]) == len(text)


def template_of(
    found: Vocabulary, added: list[AddedToken], begin: int | None, end: int | None
) -> tuple[Part, ...]:
    """Return the template that puts the tokens `begin` and `end` around each text, if any.

    Raises:
        TokctlError: one of the two is not a control token, or contains white space.
    """
    special = {token.id: token.text for token in added if token.special}
    for id_ in (begin, end):
        if id_ is not None and (id_ not in special or any(c.isspace() for c in special[id_])):
            raise Unsupported(
                f"it puts the token {found.texts[id_]!r:.80} around texts, which is not a control "
                "token",
                ANOTHER,
            )
    before, after = ([special[id_]] if id_ is not None else [] for id_ in (begin, end))
    if not before and not after:
        return ()
    first = [*before, "$A", *after]
    second = [f"{text}:1" for text in (*before, "$B", *after)]
    part = POST_PROCESSORS.part(
        "template", single=" ".join(first), pair=" ".join([*first, *second])
    )
    return (part,)


def surrounding_ids(
    found: Vocabulary, *, begins: bool, ends: bool, begin: int | None, end: int | None
) -> tuple[int | None, int | None]:
    """Return the ids of the tokens before and after a text, or None for no token.

    Args:
        found: the vocabulary.
        begins: whether a token comes before the text, unless the file says otherwise.
        ends: whether a token comes after the text, unless the file says otherwise.
        begin: the id before the text, unless the file has one.
        end: the id after the text, unless the file has one.
    """
    keys = found.keys
    begins = keys.get("tokenizer.ggml.add_bos_token", begins)
    ends = keys.get("tokenizer.ggml.add_eos_token", ends)
    return (
        found.id_of("bos", begin) if begins else None,
        found.id_of("eos", end) if ends else None,
    )
