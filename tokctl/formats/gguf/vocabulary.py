"""The tokens of a GGUF file, and which of them are found in a text before it is segmented.

By llama.cpp's `llama_vocab::impl::load` and `tokenizer_st_partition` (`src/llama-vocab.cpp`).
Tokens have types; some spellings are taken for control tokens whatever their type says.
Control and unknown tokens are found where the caller allows special tokens (`parse_special`),
user-defined ones always. All of them are found in the text as it is, the longest first.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from tokctl.errors import TokctlError
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
from tokctl.values import cached_property

#: Ends of texts, by spelling: control tokens, whatever their type.
_ENDS = (
    *("<|eot_id|>", "<|im_end|>", "<|end|>", "<|return|>", "<|call|>", "<|flush|>", "<|calls|>"),
    *("<end_of_turn>", "<|endoftext|>", "</s>", "<|eom_id|>", "<EOT>", "_<EOT>", "[EOT]", "[EOS]"),
    *("<|end_of_text|>", "<end_of_utterance>", "<eos>", "<turn|>", "<|tool_response>"),
    *("<\uff5cend▁of▁sentence\uff5c>", "[e~["),
)
#: Marks of gaps to fill in, by what they mean: one of each is a control token unless a key
#: names it.
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
        *("<PRE>", "▁<PRE>", "<|code_prefix|>", "<|prefix|>"),
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
        *("<SUF>", "▁<SUF>", "<|code_suffix|>", "<|suffix|>"),
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
        *("<MID>", "▁<MID>", "<|code_middle|>", "<|middle|>"),
    ),
    ("fim_pad",): ("<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]"),
    ("fim_rep",): ("<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>"),
    ("fim_sep",): ("<|file_sep|>",),
}
#: Always shown, and so user-defined, whatever their type.
_SHOWN = ("<|channel|>", "<|message|>", "<|start|>", "<|constrain|>")
#: Twice as many as the largest vocabularies have.
_MOST_TOKENS = 1 << 19
#: Added tokens of which more characters must be compared are no vocabulary's.
_MOST_WORK = 1 << 22


@dataclass
class Vocabulary:
    """The tokens of a file.

    texts: as the file spells them, by id.
    types: as llama.cpp has them in the end; a spelling above changes some.
    scores: by id; 0 where the file has none.
    special: the ids of the control tokens, unknown ones among them.
    """

    keys: dict[str, Any]
    texts: list[str]
    types: list[int]
    scores: list[float]
    special: set[int] = field(default_factory=set)

    @cached_property
    def ids(self) -> dict[str, int]:
        """The id of each token."""
        return {text: id_ for id_, text in enumerate(self.texts)}

    @property
    def user_defined(self) -> list[int]:
        """The ids of the tokens that are always found first."""
        return [id_ for id_, kind in enumerate(self.types) if kind == USER_DEFINED]

    def id_of(self, name: str, default: int | None = None) -> int | None:
        """The id that the key `tokenizer.ggml.NAME_token_id` holds; one that is not a token's
        counts for nothing."""
        size = len(self.texts)
        found = self.keys.get(f"tokenizer.ggml.{name}_token_id")
        if found is not None and (type(found) is not int or found < 0):
            raise ValueError(f"its {name}_token_id is {found!r}")
        if found is not None and found < size:
            return int(found)
        return default if default is not None and default < size else None


def vocabulary(keys: dict[str, Any]) -> Vocabulary:
    """The vocabulary in a file's metadata; ValueError if it is damaged."""
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
        raise ValueError("one of its scores is no number")
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
        raise ValueError(f"its {name} is no list of such numbers as it should be")
    if len(found) < size:
        raise ValueError(f"there are {len(found)} entries in its {name} for {size} tokens")
    return found[:size]


def _by_spelling(found: Vocabulary) -> None:
    """Sets the special tokens, and the types that spellings decide."""
    ids, types = found.ids, found.types
    special = {id_ for id_, kind in enumerate(types) if kind in (CONTROL, UNKNOWN)}
    for names, spellings in _GAPS.items():
        if all(found.id_of(name) is None for name in names):
            there = [ids[text] for text in spellings if text in ids]
            plain = [id_ for id_ in there if types[id_] != CONTROL]
            if plain and len(there) > 1:
                raise TokctlError(
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
    """The spellings of all tokens that end a text."""
    default = {"gpt2": 11, "t5": 1, "llama": 2}.get(found.keys["tokenizer.ggml.model"])
    named = {found.id_of("eos", default), found.id_of("eot"), found.id_of("eom")}
    return {found.texts[id_] for id_ in {*ends, *named} if id_ is not None}


def added(
    found: Vocabulary, made: Collection[int] = (), *, found_first: Collection[int] = ()
) -> list[AddedToken]:
    """The added tokens, in id order.

    made: the ids that the model makes of ordinary text, too. A control token among them is
        left to the model.
    found_first: ordinary tokens that are always found, as user-defined ones are.
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
            raise TokctlError(
                f"one of its tokens takes white space along, and another is {token.text!r:.80}: "
                "llama.cpp gives it to the longer one",
                ANOTHER,
            )
    if _overlap([token.text for token in tokens], strips=bool(left or right)):
        return [token._replace(longest_first=True) for token in tokens]
    return tokens


def _stripping(found: Vocabulary) -> tuple[set[int], set[int]]:
    """The tokens that take white space along: by the names of models, as the files say nothing."""
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
    """Does it matter that llama.cpp finds the longest token first, wherever it stands? The
    leftmost, of these the longest, is the same unless the end of one is the start of another
    that is no shorter. TokctlError if of two that are as long chance decides, or where such
    tokens take white space along (`strips`)."""
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
                # One of other characters, too, and one that is not the token itself.
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
                # Both ways take runs of one character from the left, the longest first.
                runs = _is_run(text) and _is_run(other)
                sizes = len(other.encode()), len(text.encode())
                if sizes[0] < sizes[1] or other == text or runs:
                    continue
                if strips or sizes[0] == sizes[1]:
                    raise TokctlError(
                        f"its tokens {text!r:.80} and {other!r:.80} overlap, and which of them "
                        "llama.cpp finds is left to chance",
                        ANOTHER,
                    )
                overlap = True
    return overlap


def _check_work(work: int) -> None:
    if work > _MOST_WORK:
        raise TokctlError(
            "its control and user-defined tokens are longer in all than tokctl reads", ANOTHER
        )


def _is_run(text: str) -> bool:
    return text.count(text[0]) == len(text)


def template_of(
    found: Vocabulary, added: list[AddedToken], begin: int | None, end: int | None
) -> tuple[Part, ...]:
    """The template that puts the tokens of these ids around each text; none for no ids."""
    special = {token.id: token.text for token in added if token.special}
    for id_ in (begin, end):
        if id_ is not None and (id_ not in special or any(c.isspace() for c in special[id_])):
            raise TokctlError(
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
    """What stands before a text and after it. The arguments are what counts where the file
    says nothing."""
    keys = found.keys
    begins = keys.get("tokenizer.ggml.add_bos_token", begins)
    ends = keys.get("tokenizer.ggml.add_eos_token", ends)
    return (
        found.id_of("bos", begin) if begins else None,
        found.id_of("eos", end) if ends else None,
    )
