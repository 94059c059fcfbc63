"""Models in Hugging Face's format: writing any recipe, and reading each type of model.

The definitions are in `tokenizers/src/models` of Hugging Face tokenizers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from tokctl._native import ModelFile, StoredModel
from tokctl.core.errors import BadModel, Unsupported
from tokctl.formats.contract import TRY_ANOTHER_FILE
from tokctl.formats.huggingface.components import Fields, Json, UnsupportedByFormat, unknown_type
from tokctl.model import Marker, Recipe
from tokctl.model.algorithms.wordpiece import NO_LIMIT
from tokctl.model.parts import AddedToken


def drops_unknown(recipe: Recipe) -> bool:
    """Return whether an unknown character is an error in tokctl and dropped in Hugging Face."""
    unknown = recipe.unk_token is None and not recipe.byte_fallback and not recipe.drops_unknown
    return unknown and not recipe.is_byte_level


def needs_unknown(recipe: Recipe) -> bool:
    """Return whether Hugging Face's type for this recipe requires an unknown token."""
    return recipe.marker.is_continuation or recipe.looks_up_pre_tokens


def needs_unknown_for_bytes(recipe: Recipe) -> bool:
    """Return whether the recipe is a Unigram with byte fallback and without an unknown token.

    Hugging Face's Unigram needs its unknown token before it falls back to bytes.
    """
    return recipe.maximizes_probability and recipe.byte_fallback and recipe.unk_token is None


# -- writing --------------------------------------------------------------------------


def write_model(recipe: Recipe, unk_id: int | None, *, lossy: bool = False) -> Json:
    """Return the object `model` for a recipe, without the vocabulary and the merges.

    Args:
        recipe: the recipe.
        unk_id: the id of the unknown token, if there is one.
        lossy: whether to accept that Hugging Face drops unknown characters.

    Raises:
        UnsupportedByFormat: the format can't express the recipe.
    """
    if needs_unknown_for_bytes(recipe) and not lossy:
        raise UnsupportedByFormat("its Unigram falls back to bytes only with an unknown token")
    if drops_unknown(recipe) and not lossy:
        raise UnsupportedByFormat(
            "without an unknown token it drops characters that have no token, in silence"
        )
    if recipe.unk_token is None and needs_unknown(recipe):
        raise UnsupportedByFormat(f"its {recipe.algorithm} models need an unknown token")
    if recipe.marker.is_symbol:
        marker = recipe.marker.text
        raise UnsupportedByFormat(f"it has no word marker that is a symbol of its own ({marker})")
    for difference in recipe.traits.huggingface_differences(recipe):
        if difference.refusal:
            raise UnsupportedByFormat(difference.refusal)
    return recipe.traits.huggingface_model(recipe, unk_id)


# -- reading --------------------------------------------------------------------------


@dataclass(eq=False, repr=False)
class DocumentModel:
    """A model as a document describes it.

    Attributes:
        recipe: fields of the recipe that the model sets, without `units`.
        lists: the vocabulary, the merges and the scores.
        unk_token: the unknown token, if the vocabulary has it.
        holes: the ids without a token.
    """

    recipe: Json
    lists: ModelFile
    unk_token: str | None = None
    holes: list[int] = field(default_factory=list)


def read_model(data: Any, lists: ModelFile | None = None) -> DocumentModel:
    """Return the model of a document.

    Args:
        data: the object `model`.
        lists: the vocabulary, merges and scores, if the core has read them and `data` has null in
            their place.

    Raises:
        TokctlError: tokctl has no model like this one.
        ValueError: the object is damaged.
    """
    fields = Fields("model", data)
    name = fields.text("type", None) or _guess_type(fields.data, lists)
    if name not in _READERS:
        raise unknown_type(fields)
    model = _READERS[name](fields, lists)
    if name != "BPE":
        model.lists.drop_merges()
    return model


def _guess_type(data: Json, lists: ModelFile | None) -> str:
    """Return the type of a model in an old file, which has no field `type`."""
    if "merges" in data:
        return "BPE"
    if isinstance(data.get("vocab"), list) or (lists is not None and lists.is_scored):
        return "Unigram"
    return "WordPiece" if "continuing_subword_prefix" in data else "WordLevel"


def _read_bpe(fields: Fields, lists: ModelFile | None) -> DocumentModel:
    dropout = fields.data.get("dropout")
    if dropout:
        raise Unsupported(
            f"its model leaves out merges at random (dropout {dropout!r:.20}), so a text has no "
            "fixed ids",
            "set dropout to null in the file",
        )
    prefix = fields.text("continuing_subword_prefix", None) or ""
    suffix = fields.text("end_of_word_suffix", None) or ""
    if prefix and suffix:
        raise Unsupported(
            "its BPE has a prefix for continuations and a suffix for ends of words",
            TRY_ANOTHER_FILE,
        )
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
            raise Unsupported(
                "its BPE has a prefix for continuations and falls back to bytes", TRY_ANOTHER_FILE
            )
        recipe["algorithm"] = "wordpiece"
        recipe["marker"] = Marker("continuation", prefix)
        recipe["segmentation"] = "merges"
        recipe["unknown"] = "char"
    unk_token = fields.text("unk_token", None)
    if unk_token is None:
        recipe["unknown"] = "drop"
    model = _read_vocabulary(fields, lists, unk_token, recipe, merges=True)
    model.lists.drop_repeated_merges()  # the library uses the last of equal merges
    if prefix and not model.lists.merges_go_on_with(prefix):
        raise BadModel(
            f"one of its merges has a right side without the prefix {prefix!r}",
            TRY_ANOTHER_FILE,
            "damaged-model",
        )
    return model


def _read_wordpiece(fields: Fields, lists: ModelFile | None) -> DocumentModel:
    prefix = fields.text("continuing_subword_prefix")
    limit = fields.number("max_input_chars_per_word")
    recipe = {
        "algorithm": "wordpiece",
        "tie_break": "lowest-id",
        "segmentation": "longest-match",
        "marker": Marker("continuation", prefix),
        "max_input_chars": None if limit >= NO_LIMIT else limit,
    }
    return _read_vocabulary(fields, lists, fields.text("unk_token"), recipe)


def _read_word_level(fields: Fields, lists: ModelFile | None) -> DocumentModel:
    recipe = {"algorithm": "word", "segmentation": "lookup"}
    return _read_vocabulary(fields, lists, fields.text("unk_token"), recipe)


def _read_unigram(fields: Fields, lists: ModelFile | None) -> DocumentModel:
    if lists is None:
        pieces, scores = pieces_and_scores(fields.data["vocab"])
        lists = ModelFile.of(list(pieces), [], scores=scores, scored=True, columns=NO_COLUMNS)
    elif not lists.is_scored:
        raise ValueError("the vocabulary is not a list")
    unk_id = fields.number("unk_id", None)
    if unk_id is not None and not 0 <= unk_id < len(lists):
        raise ValueError(f"the unk_id {unk_id} is not in the vocabulary")
    recipe = {
        "algorithm": "unigram",
        "segmentation": "viterbi",
        "fuse_unknown": True,
        "byte_fallback": fields.flag("byte_fallback", False),
    }
    unk_token = None if unk_id is None else lists.spelled(unk_id)
    if unk_token is not None and lists.id(unk_token) != unk_id:
        raise ValueError(f"the unknown token {unk_token!r} is in the vocabulary twice")
    return DocumentModel(recipe, lists, unk_token)


_READERS = {
    "BPE": _read_bpe,
    "WordPiece": _read_wordpiece,
    "WordLevel": _read_word_level,
    "Unigram": _read_unigram,
}


# -- vocabularies and merges ------------------------------------------------------------

#: The columns of lists without counts of merges and tokens.
NO_COLUMNS: tuple[list[int] | None, ...] = (None,) * 4


def _read_vocabulary(
    fields: Fields,
    lists: ModelFile | None,
    unk_token: str | None,
    recipe: Json,
    *,
    merges: bool = False,
) -> DocumentModel:
    """Return a model whose vocabulary is an object of tokens and ids, which may have holes."""
    vocabulary = fields.data["vocab"]
    missing: list[int] = []
    if lists is None:
        missing = _find_holes(vocabulary)
        tokens: list[str | None]
        if missing:
            tokens = [None] * (len(vocabulary) + len(missing))
            for token, id_ in vocabulary.items():
                tokens[id_] = token
        else:
            tokens = list(tokens_in_order(vocabulary))
        merge_sides = merge_ids(vocabulary, fields.data["merges"]) if merges else []
        lists = ModelFile.of(tokens, merge_sides, scores=[], scored=False, columns=NO_COLUMNS)
    elif lists.is_scored:
        raise ValueError("the vocabulary is not an object")
    elif merges and "merges" not in fields.data:
        raise KeyError("merges")
    has_unknown = unk_token is not None and lists.id(unk_token) is not None
    return DocumentModel(recipe, lists, unk_token if has_unknown else None, missing)


def tokens_in_order(vocabulary: Any) -> list[str]:
    """Return the tokens of a vocabulary in id order.

    Raises:
        ValueError: the ids are not exactly 0, 1, 2, …
    """
    if not isinstance(vocabulary, dict):
        raise ValueError("the vocabulary is not an object")
    numbers = list(vocabulary.values())
    spelled = list(vocabulary)
    if set(map(type, numbers)) - {int}:
        raise ValueError("one of the ids of the vocabulary is not a whole number")
    expected = range(len(numbers))
    if numbers != list(expected):
        if numbers and min(numbers) < 0:
            raise ValueError(f"the vocabulary has the id {min(numbers)}")
        if len(present := set(numbers)) != len(numbers):
            repeated = next(id_ for id_, next_id in pairwise(sorted(numbers)) if id_ == next_id)
            raise ValueError(f"two tokens of the vocabulary have the id {repeated}")
        if present != set(expected):
            missing = next(number for number in expected if number not in present)
            raise ValueError(
                f"no token of the vocabulary has the id {missing}, and others follow it"
            )
        spelled.sort(key=vocabulary.__getitem__)
    return spelled


def _find_holes(vocabulary: Any) -> list[int]:
    """Return the ids without a token; empty if `tokens_in_order` would raise another error."""
    if not isinstance(vocabulary, dict):
        return []
    ids = set(vocabulary.values())
    if set(map(type, vocabulary.values())) != {int} or min(ids) < 0 or len(ids) != len(vocabulary):
        return []
    # Imported here because the native core reads almost every file, and finds its holes.
    from tokctl.formats.holes import find_holes

    return find_holes(ids)


def pieces_and_scores(vocab: Any) -> tuple[list[str], list[float]]:
    """Return the pieces and the scores of a Unigram vocabulary, by id.

    Raises:
        ValueError: an entry is not a token with its score.
    """
    if not isinstance(vocab, list):
        raise ValueError("the vocabulary is not a list")
    pieces = [piece for piece, _ in vocab]
    scores = [score for _, score in vocab]
    if set(map(type, pieces)) - {str} or set(map(type, scores)) - {float, int}:
        raise ValueError("an entry of the vocabulary is not a token with its score")
    return pieces, list(map(float, scores))


def merge_ids(vocabulary: dict[str, int], merges: Any) -> list[list[int]]:
    """Return the ids of the left sides and of the right sides of merges.

    Args:
        vocabulary: the ids of the tokens, by text.
        merges: each a list of two tokens or, in older files, a text with a space.

    Raises:
        ValueError: a merge is not a pair of tokens.
    """
    if not isinstance(merges, list):
        raise ValueError("the merges are not a list")
    if merges and isinstance(merges[0], str):
        merges = [line.split(" ") for line in merges if not line.startswith("#version")]
    if set(map(len, merges)) - {2}:
        step = next(step for step, pair in enumerate(merges, 1) if len(pair) != 2)
        raise ValueError(f"merge {step} is not a pair of two tokens")
    return [token_ids(vocabulary, [pair[side] for pair in merges]) for side in (0, 1)]


def token_ids(vocabulary: dict[str, int], names: Sequence[str]) -> list[int]:
    """Return the ids of `names`, which has one token of each merge.

    Raises:
        ValueError: a name is not a token.
    """
    try:
        return list(map(vocabulary.__getitem__, names))
    except KeyError:
        step = next(step for step, name in enumerate(names) if name not in vocabulary)
        message = f"merge {step + 1} names {names[step]!r}, which is not a token"
        raise ValueError(message) from None


def store_model(lists: ModelFile, recipe: Recipe, added: Sequence[AddedToken]) -> StoredModel:
    """Return the tokens and merges of a recipe as the core stores them.

    Args:
        lists: the vocabulary and the merges.
        recipe: the recipe.
        added: the added tokens. They may have ids after the vocabulary. Those that are not ordinary
            keep their spelling.

    Raises:
        ValueError: an id has no token, or the lists do not fit the recipe.
    """
    size = max([len(lists), *(token.id + 1 for token in added)])
    if size > len(lists) + len(added):
        raise ValueError(f"there is no token with the id {size - 2}, and one with {size - 1}")
    return lists.fill(
        byte_level=recipe.is_byte_level,
        mark=recipe.marker.text if recipe.marker.is_continuation else "",
        size=size,
        reserved=[(token.text, token.id) for token in added if not token.ordinary],
    )
