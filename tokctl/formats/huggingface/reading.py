"""A `tokenizer.json` that another library wrote, as a filled recipe.

Truncation and padding are options of one call here and are not kept.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from tokctl.errors import TokctlError
from tokctl.formats.holes import unused
from tokctl.formats.huggingface import (
    added_tokens,
    decoders,
    models,
    normalizers,
    post_processors,
    pre_tokenizers,
)
from tokctl.formats.huggingface.models import ReadModel
from tokctl.formats.scanned import LongWayError, fill
from tokctl.model import ALGORITHMS, FilledRecipe, Merge, Origin, Recipe, byte_level
from tokctl.model.parts import AddedToken, Part, template_pieces

if TYPE_CHECKING:
    from tokctl._native import ModelFile

#: The name of every recipe that comes out of such a file.
NAME = "huggingface"


def read(document: dict[str, Any], file: ModelFile | None = None) -> FilledRecipe:
    """The model in a document.

    file: its vocabulary and merges, where the core has read them.

    Raises:
        LongWayError: the document has to be read without `file`.
        TokctlError: it holds what tokctl can't do with the same result.
        ValueError, KeyError, TypeError: it is damaged.
    """
    version = document.get("version", "1.0")
    if version != "1.0":
        raise TokctlError(f"its version is {version!r:.40}, and tokctl reads 1.0")
    model = models.from_json(document["model"], file)
    before, spells_bytes = normalizers.from_json(document.get("normalizer"))
    splitting, splits_bytes = pre_tokenizers.from_json(document.get("pre_tokenizer"))
    if spells_bytes and (splitting or splits_bytes):
        raise TokctlError("its pre-tokenizers split what its normalizer ByteLevel has spelled")
    of_bytes = spells_bytes or splits_bytes
    size = len(model.vocabulary) if file else len(model.spelled)
    # A token that is added gets the number of tokens as its id, even where that is taken.
    given = size - len(model.holes)
    added = added_tokens.from_json(document.get("added_tokens"), model.vocabulary, given)
    if model.holes:
        added = _filled(added, model)
    ids = ChainMap(
        {token.text: token.id for token in added}, cast(dict[str, int], model.vocabulary)
    )
    after = post_processors.from_json(document.get("post_processor"), ids)
    added = _with_special(added, [model.unk_token, *_named(after)], ids)
    if of_bytes:
        _check_bytes(model)
    recipe = Recipe(
        **{"name": NAME, **model.recipe},
        normalizers=tuple(before),
        pre_tokenizers=tuple(splitting),
        units="bytes" if of_bytes else "characters",
        alphabet="bytes" if of_bytes else "seen",
        unk_token=model.unk_token,
        post_processors=tuple(after),
        decoders=tuple(decoders.from_json(document.get("decoder"), of_bytes=of_bytes)),
        special_tokens=tuple(token.text for token in added if token.special),
    )
    apart = {token.id for token in added if not token.ordinary}
    total = max([size, *(token.id + 1 for token in added)])
    scores = model.scores + [0.0] * (total - size) if model.scores else []
    _check_scores(scores, apart)
    if file is not None:
        core = fill(file, recipe, added)
        if core is None:
            raise LongWayError
        origin = Origin("huggingface")
        return FilledRecipe.of_core(recipe, core, added_tokens=tuple(added), origin=origin)
    return FilledRecipe(
        recipe,
        tokens_of(recipe, model.spelled, added),
        merges_of(recipe, model.vocabulary, model.pairs),
        scores=scores,
        added_tokens=tuple(added),
        origin=Origin("huggingface"),
    )


def _filled(added: list[AddedToken], model: ReadModel) -> list[AddedToken]:
    """The added tokens with those that fill holes of the vocabulary."""
    taken = {token.id: token for token in added if token.text not in model.vocabulary}
    for id_, token in taken.items():
        if id_ < len(model.spelled) and model.spelled[id_]:
            raise TokctlError(
                f"its added token {token.text!r} gets the id {id_} there, which "
                f"{model.spelled[id_]!r} of its vocabulary has"
            )
    return [*added, *(unused(id_) for id_ in model.holes if id_ not in taken)]


def _named(parts: list[Part]) -> list[str]:
    """The tokens that templates name."""
    templates = [part[name] for part in parts if part.kind == "template" for name in _TEMPLATES]
    return [piece.token for text in templates for piece in template_pieces(text) if piece.token]


_TEMPLATES = ("single", "pair")


def _with_special(
    added: list[AddedToken], wanted: list[str | None], ids: Mapping[str, int]
) -> list[AddedToken]:
    """The added tokens, `wanted` ones among them as special tokens, in id order."""
    names = set(filter(None, wanted))
    tokens = [t._replace(special=True, ordinary=False) if t.text in names else t for t in added]
    known = {token.text for token in tokens}
    tokens += [AddedToken(name, ids[name]) for name in names - known]
    return sorted(tokens, key=lambda token: token.id)


def _check_bytes(model: ReadModel) -> None:
    """TokctlError unless every byte has a token, and normal BPE is made of them."""
    algorithm = model.recipe["algorithm"]
    if not ALGORITHMS[algorithm].reads_bytes:
        raise TokctlError(
            f"its {algorithm} model reads bytes spelled as characters",
            "tokctl has bytes for BPE only",
        )
    # No byte is without a token, so neither is ever needed.
    model.recipe["byte_fallback"] = model.recipe["fuse_unknown"] = False
    if missing := [one for one in byte_level.BYTES if one not in model.vocabulary]:
        raise TokctlError(
            f"its byte-level vocabulary has no token for {len(missing)} of the 256 bytes, "
            f"{min(missing)!r} among them",
            "Hugging Face tokenizers drops such bytes in silence; train it with "
            "initial_alphabet=pre_tokenizers.ByteLevel.alphabet()",
        )


def _check_scores(scores: list[float], apart: set[int]) -> None:
    """TokctlError where an added token decides how bad an unknown character is."""
    ordinary = [score for id_, score in enumerate(scores) if id_ not in apart]
    if scores and ordinary and min(scores) < min(ordinary):
        raise TokctlError(
            f"its added token with the id {scores.index(min(scores))} has the lowest score of "
            "all, which tokctl would not count for unknown characters"
        )


def tokens_of(recipe: Recipe, spelled: list[str], added: list[AddedToken]) -> list[bytes]:
    """Each token's bytes by id. `spelled` are the model's own; other added tokens follow."""
    total = max([len(spelled), *(token.id + 1 for token in added)])
    if total > len(spelled) + len(added):
        raise ValueError(f"there is no token with the id {total - 2}, and one with {total - 1}")
    texts: list[str] = [*spelled, *[""] * (total - len(spelled))]
    apart = {token.id: token.text for token in added if not token.ordinary}
    if not recipe.is_byte_level:
        for id_, text in apart.items():
            texts[id_] = text
        return [text.encode() for text in texts]
    for id_ in apart:
        texts[id_] = ""
    tokens = byte_level.unspell_all(texts)
    for id_, text in apart.items():
        tokens[id_] = text.encode()
    return tokens


def merges_of(
    recipe: Recipe, vocabulary: Mapping[str, int], pairs: list[tuple[str, str]]
) -> list[Merge]:
    """The merges with their ids; of a training nothing is known."""
    nothing = [0] * len(pairs)
    return merges_from([*merge_ids(recipe, vocabulary, pairs), nothing, nothing, nothing])


def merges_from(columns: list[list[int]]) -> list[Merge]:
    """Merges from their six columns."""
    return list(map(partial(tuple.__new__, Merge), zip(*columns, strict=True)))


def merge_ids(
    recipe: Recipe, vocabulary: Mapping[str, int], pairs: list[Any]
) -> tuple[list[int], list[int], list[int]]:
    """The ids of the left sides, the right sides and the new tokens; ValueError where one is
    no token."""
    # Comprehensions over whole columns: a command that encodes one line waits for this.
    mark = recipe.marker.text if recipe.marker.is_continuation else ""
    lefts = [left for left, _ in pairs]
    rights = [right for _, right in pairs]
    tails = [right.removeprefix(mark) for right in rights] if mark else rights
    joined = [left + tail for left, tail in zip(lefts, tails, strict=True)]
    columns: list[list[int]] = []
    for names in (lefts, rights, joined):
        try:
            columns.append(list(map(vocabulary.__getitem__, names)))
        except KeyError:
            step = next(step for step, name in enumerate(names) if name not in vocabulary)
            message = f"merge {step + 1} names {names[step]!r}, which is no token"
            raise ValueError(message) from None
    return columns[0], columns[1], columns[2]
