"""Models: what each algorithm is there, and what theirs are here.

Definitions: `tokenizers/src/models` of Hugging Face tokenizers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from tokctl.errors import TokctlError
from tokctl.formats.holes import holes
from tokctl.formats.huggingface.component import Fields, InexpressibleError, Json, unknown_type
from tokctl.formats.huggingface.unknown import drops_unknown, fails_at_bytes, needs_unknown
from tokctl.formats.scanned import LongWayError, Vocabulary
from tokctl.model import Marker, Recipe

if TYPE_CHECKING:
    from tokctl._native import ModelFile

#: Larger than any word; the format knows no "no limit".
_NO_LIMIT = 2**53 - 1


# -- writing --------------------------------------------------------------------------


def to_json(recipe: Recipe, unk_id: int | None, *, lossy: bool = False) -> Json:
    """The model but for its vocabulary and merges; `InexpressibleError` where there is none.

    lossy: writes one that drops unknown characters, too.
    """
    if fails_at_bytes(recipe) and not lossy:
        raise InexpressibleError("its Unigram falls back to bytes only with an unknown token")
    if drops_unknown(recipe) and not lossy:
        raise InexpressibleError(
            "without an unknown token it drops characters that have no token, in silence"
        )
    if recipe.unk_token is None and needs_unknown(recipe):
        raise InexpressibleError(f"its {recipe.algorithm} models need an unknown token")
    if recipe.marker.is_symbol:
        raise InexpressibleError(
            f"it has no word marker that is a symbol of its own ({recipe.marker.text})"
        )
    theirs = recipe.traits.huggingface.get(recipe.segmentation)
    if theirs is None:
        raise InexpressibleError(recipe.traits.not_in_huggingface)
    return _WRITERS[theirs](recipe, unk_id)


def _bpe(recipe: Recipe, _unk_id: int | None) -> Json:
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": recipe.unk_token,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": recipe.marker.text or None,
        "fuse_unk": recipe.fuse_unknown,
        "byte_fallback": recipe.byte_fallback,
        "ignore_merges": recipe.whole_words,
    }


def _wordpiece(recipe: Recipe, _unk_id: int | None) -> Json:
    if recipe.unknown != "word":
        raise InexpressibleError("its WordPiece knows no unknown characters, only unknown words")
    return {
        "type": "WordPiece",
        "unk_token": recipe.unk_token,
        "continuing_subword_prefix": recipe.marker.text,
        "max_input_chars_per_word": recipe.max_input_chars or _NO_LIMIT,
    }


def _unigram(recipe: Recipe, unk_id: int | None) -> Json:
    if recipe.precision != "double":
        raise InexpressibleError("its Unigram adds log probabilities in double precision")
    if not recipe.fuse_unknown:
        raise InexpressibleError("its Unigram makes one unknown token of several characters")
    return {"type": "Unigram", "unk_id": unk_id, "byte_fallback": recipe.byte_fallback}


def _word(recipe: Recipe, _unk_id: int | None) -> Json:
    if recipe.fuse_unknown:
        raise InexpressibleError("its WordLevel makes an unknown token of every unknown word")
    if recipe.byte_fallback:
        raise InexpressibleError("its WordLevel does not fall back to bytes")
    return {"type": "WordLevel", "unk_token": recipe.unk_token}


#: By the type of their model; which one an algorithm has is said in `tokctl.model.algorithms`.
_WRITERS = {"BPE": _bpe, "WordPiece": _wordpiece, "Unigram": _unigram, "WordLevel": _word}


# -- reading --------------------------------------------------------------------------


@dataclass(eq=False, repr=False)
class ReadModel:
    """A model as it was found.

    Attributes:
        recipe: what it says about the recipe, by field; no `units` yet.
        spelled: its tokens by id, as the file spells them.
        vocabulary: their ids.
        unk_token: if it has one that is in the vocabulary.
        pairs: the merges, as spelled.
        scores: by id.
        holes: ids that no token has; they are spelled "".

    Where the core has read vocabulary and merges, `spelled` and `pairs` are empty.
    """

    recipe: Json
    spelled: list[str]
    vocabulary: dict[str, int] | Vocabulary
    unk_token: str | None = None
    pairs: list[tuple[str, str]] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    holes: list[int] = field(default_factory=list)


def from_json(data: Any, file: ModelFile | None = None) -> ReadModel:
    """The model of a file; TokctlError where tokctl has none like it.

    file: what the core has read of it; LongWayError where that does not do.
    """
    fields = Fields("model", data)
    if file is not None:
        return _by_core(fields, file)
    name = fields.text("type", None) or _guessed(fields.data)
    if name not in _READERS:
        raise unknown_type(fields)
    return _READERS[name](fields)


def _by_core(fields: Fields, file: ModelFile) -> ReadModel:
    shape: Json = {"vocab": [] if file.is_scored else {}}
    name = fields.text("type", None) or _guessed(fields.data | shape)
    if (
        name not in _READERS
        or ("merges" in fields.data) != (name == "BPE")
        or file.is_scored != (name == "Unigram")
        or (name == "BPE" and fields.data.get("continuing_subword_prefix"))
        or file.has_equal_merges()
    ):
        raise LongWayError
    fields.data = {**fields.data, "vocab": Vocabulary(file), "merges": []}
    return _READERS[name](fields)


def _guessed(data: Json) -> str:
    """The type in a file from before the field `type`."""
    if "merges" in data:
        return "BPE"
    if isinstance(data.get("vocab"), list):
        return "Unigram"
    return "WordPiece" if "continuing_subword_prefix" in data else "WordLevel"


def ordered(vocabulary: Any) -> list[str]:
    """The tokens of a vocabulary, token → id, by id; ValueError unless these are 0, 1, 2, …"""
    if not isinstance(vocabulary, dict):
        raise ValueError("the vocabulary is no object")
    numbers = list(vocabulary.values())
    spelled = list(vocabulary)
    if set(map(type, numbers)) - {int}:
        raise ValueError("one of the ids of the vocabulary is no whole number")
    wanted = range(len(numbers))
    if numbers != list(wanted):
        if numbers and min(numbers) < 0:
            raise ValueError(f"the vocabulary has the id {min(numbers)}")
        if len(present := set(numbers)) != len(numbers):
            twice = next(one for one, two in pairwise(sorted(numbers)) if one == two)
            raise ValueError(f"two tokens of the vocabulary have the id {twice}")
        if present != set(wanted):
            hole = next(number for number in wanted if number not in present)
            raise ValueError(f"no token of the vocabulary has the id {hole}, and others follow it")
        spelled.sort(key=vocabulary.__getitem__)
    return spelled


def _start(fields: Fields, unk_token: str | None, recipe: Json) -> ReadModel:
    vocabulary = fields.data["vocab"]
    if isinstance(vocabulary, Vocabulary):
        return ReadModel(recipe, [], vocabulary, unk_token if unk_token in vocabulary else None)
    missing = _holes(vocabulary)
    if missing:
        spelled = [""] * (len(vocabulary) + len(missing))
        for token, id_ in vocabulary.items():
            spelled[id_] = token
    else:
        spelled = ordered(vocabulary)
    known = unk_token if unk_token in vocabulary else None
    return ReadModel(recipe, spelled, vocabulary, known, holes=missing)


def _holes(vocabulary: Any) -> list[int]:
    """The ids that no token of a vocabulary has; none where `ordered` says what is wrong."""
    if not isinstance(vocabulary, dict):
        return []
    ids = set(vocabulary.values())
    if set(map(type, vocabulary.values())) != {int} or min(ids) < 0 or len(ids) != len(vocabulary):
        return []
    return holes(ids)


def _read_bpe(fields: Fields) -> ReadModel:
    dropout = fields.data.get("dropout")
    if dropout:
        raise TokctlError(
            f"its model leaves out merges at random (dropout {dropout!r:.20}), so that a text "
            "has no ids of its own",
            "set dropout to null in the file",
        )
    prefix = fields.text("continuing_subword_prefix", None) or ""
    suffix = fields.text("end_of_word_suffix", None) or ""
    if prefix and suffix:
        raise TokctlError("its BPE has a prefix for continuations and a suffix for ends of words")
    recipe = {
        "algorithm": "bpe",
        "tie_break": "lowest-id",
        "marker": Marker("end-fused", suffix) if suffix else Marker(),
        "fuse_unknown": fields.flag("fuse_unk", False),
        "byte_fallback": fields.flag("byte_fallback", False),
        "whole_words": fields.flag("ignore_merges", False),
    }
    if prefix:
        if recipe["byte_fallback"]:
            raise TokctlError("its BPE has a prefix for continuations and falls back to bytes")
        recipe["algorithm"] = "wordpiece"
        recipe["marker"] = Marker("continuation", prefix)
        recipe["segmentation"] = "merges"
        recipe["unknown"] = "char"
    model = _start(fields, fields.text("unk_token", None), recipe)
    model.pairs = _pairs(fields.data["merges"])
    if prefix and not all(right.startswith(prefix) for _, right in model.pairs):
        raise TokctlError(f"one of its merges has a right side without the prefix {prefix!r}")
    return model


def _pairs(merges: Any) -> list[tuple[str, str]]:
    """The merges, each a list of two tokens or, in older files, a text with a space."""
    if not isinstance(merges, list):
        raise ValueError("the merges are no list")
    if merges and isinstance(merges[0], str):
        lines = [line for line in merges if not line.startswith("#version")]
        pairs = [tuple(line.split(" ")) for line in lines]
    else:
        pairs = list(map(tuple, merges))
    if set(map(len, pairs)) - {2}:
        step = next(step for step, pair in enumerate(pairs) if len(pair) != 2)
        raise ValueError(f"merge {step + 1} is no pair of two tokens")
    if len(set(pairs)) != len(pairs):
        # Of equal merges the last one counts there.
        last = {pair: step for step, pair in enumerate(pairs)}
        pairs = sorted(last, key=last.__getitem__)
    return pairs


def _read_wordpiece(fields: Fields) -> ReadModel:
    prefix = fields.text("continuing_subword_prefix")
    if not prefix:
        raise TokctlError("its WordPiece has no prefix for continuations")
    limit = fields.number("max_input_chars_per_word")
    recipe = {
        "algorithm": "wordpiece",
        "tie_break": "lowest-id",
        "segmentation": "longest-match",
        "marker": Marker("continuation", prefix),
        "max_input_chars": None if limit >= _NO_LIMIT else limit,
    }
    return _start(fields, fields.text("unk_token"), recipe)


def _read_words(fields: Fields) -> ReadModel:
    recipe = {"algorithm": "word", "segmentation": "lookup"}
    return _start(fields, fields.text("unk_token"), recipe)


def _read_unigram(fields: Fields) -> ReadModel:
    vocabulary = fields.data["vocab"]
    spelled: list[str] = []
    if isinstance(vocabulary, Vocabulary):
        scores = vocabulary.file.scores()
    else:
        spelled, scores = scored(vocabulary)
        vocabulary = {token: id_ for id_, token in enumerate(spelled)}
    unk_id = fields.number("unk_id", None)
    if unk_id is not None and not 0 <= unk_id < len(scores):
        raise ValueError(f"the unk_id {unk_id} is not in the vocabulary")
    recipe = {
        "algorithm": "unigram",
        "segmentation": "viterbi",
        "fuse_unknown": True,
        "byte_fallback": fields.flag("byte_fallback", False),
    }
    unk_token = None
    if unk_id is not None:
        unk_token = spelled[unk_id] if spelled else vocabulary.file.spelled(unk_id)
    if unk_token is not None and vocabulary[unk_token] != unk_id:
        raise ValueError(f"the unknown token {unk_token!r} is in the vocabulary twice")
    return ReadModel(recipe, spelled, vocabulary, unk_token, scores=scores)


def scored(vocab: Any) -> tuple[list[str], list[float]]:
    """Pieces and scores of a Unigram vocabulary, by id."""
    if not isinstance(vocab, list):
        raise ValueError("the vocabulary is no list")
    spelled = [piece for piece, _ in vocab]
    scores = [score for _, score in vocab]
    if set(map(type, spelled)) - {str} or set(map(type, scores)) - {float, int}:
        raise ValueError("an entry of the vocabulary is no token with its score")
    return spelled, list(map(float, scores))


_READERS = {
    "BPE": _read_bpe,
    "WordPiece": _read_wordpiece,
    "WordLevel": _read_words,
    "Unigram": _read_unigram,
}
