"""Hugging Face's `tokenizer.json`: reading it, and writing the nearest model that it can express.

`outline` returns a whole document without the vocabulary and the merges. tokctl's own model file
(`tokctl.formats.tokenizer_json`) is such a document with an additional key. `nearest` returns the
nearest model that the format can express. Truncation and padding settings of a file are kept and
written again. tokctl applies them only if a call asks for them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from tokctl import _native
from tokctl._native import ModelFile
from tokctl.core.errors import BadModel, CoreError, Unsupported
from tokctl.formats.contract import (
    TRY_ANOTHER_FILE,
    Files,
    LostFeature,
    ModelInput,
    UnsupportedByFormat,
    extra_files_lost,
    invalid_bytes_lost,
    training_lost,
    unless_damaged,
)
from tokctl.formats.huggingface import components
from tokctl.formats.huggingface.components import Ids, Json, read_lengths
from tokctl.formats.huggingface.models import (
    DocumentModel,
    drops_unknown,
    needs_unknown,
    needs_unknown_for_bytes,
    read_model,
    store_model,
    write_model,
)
from tokctl.model import ALGORITHMS, ImportedFrom, Model, Recipe, byte_level
from tokctl.model.parts import (
    DECODERS,
    NORMALIZERS,
    PRE_TOKENIZERS,
    AddedToken,
    Part,
    is_lossless,
    native_parts,
    template_pieces,
    with_invalid_bytes,
)

#: The name of every recipe that is read from such a file.
NAME = "huggingface"
#: Why the format can't hold a model with two tokens that are spelled alike.
AMBIGUOUS = "it knows tokens by their spelling, and two of these are spelled alike"


def read(source: ModelInput) -> Model:
    """Return the model in the file.

    Raises:
        TokctlError: the file is damaged, or tokctl can't do what it says with the same result.
    """
    with unless_damaged(source.name):
        document, lists = source.outline, source.lists
        if lists is None:
            document = with_library_scores(document, source)
        elif lists.is_scored:
            lists.take_scores_of_serde_json()
        return read_document(document, lists)


def with_library_scores(document: Json, source: ModelInput) -> Json:
    """Return the document with the scores that Hugging Face's library reads from the file.

    The library's parser reads some scores wrong by one unit in the last place, which decides
    between segmentations that are equally good.

    Args:
        document: the parsed file.
        source: the file.
    """
    import json

    model = document["model"]
    if not isinstance(model, dict) or not isinstance(model.get("vocab"), list):
        return document
    parse_number = _native.read_as_serde_json
    parsed = json.loads(source.data, parse_float=parse_number, parse_int=parse_number)
    return {**document, "model": {**model, "vocab": parsed["model"]["vocab"]}}


def losses(model: Model) -> list[LostFeature]:
    """Return what the file loses: parts of the model, and extra files.

    Raises:
        UnsupportedByFormat: the format can't hold a model of this kind.
    """
    return [*document_losses(model), *extra_files_lost(model)]


def write(model: Model) -> Files:
    """Return the file, on one line.

    Raises:
        UnsupportedByFormat: the format can't hold a model of this kind.
    """
    from tokctl.core import orjson

    return {"": orjson.dumps(build_document(model), option=orjson.OPT_APPEND_NEWLINE)}


# -- reading --------------------------------------------------------------------------


def read_document(
    document: Json,
    lists: ModelFile | None = None,
    *,
    origin: ImportedFrom = ImportedFrom(NAME),  # noqa: B008 (a tuple can't change)
    extra_files: dict[str, str] | None = None,
) -> Model:
    """Return the model in a document.

    Args:
        document: the content of a `tokenizer.json`.
        lists: the vocabulary and the merges, if the core has read them.
        origin: the origin of the model.
        extra_files: the texts of the files that come with the model, by name.

    Raises:
        TokctlError: the document has a setting that tokctl can't apply with the same result.
        ValueError: a value in the document is wrong.
        KeyError: a field is missing.
        TypeError: a field has a wrong type.
    """
    try:
        return _read_document(document, lists, origin, extra_files)
    except CoreError as error:
        if error.kind != "no-byte":
            raise
        # A token is not spelled as bytes, so this is a model of characters.
        return _read_document(document, lists, origin, extra_files, allow_bytes=False)


def _read_document(
    document: Json,
    lists: ModelFile | None,
    origin: ImportedFrom,
    extra_files: dict[str, str] | None,
    *,
    allow_bytes: bool = True,
) -> Model:
    """Return the model in a document; a model of characters unless `allow_bytes`."""
    version = document.get("version", "1.0")
    if version != "1.0":
        raise Unsupported(f"its version is {version!r:.40}, and tokctl reads 1.0", TRY_ANOTHER_FILE)
    model = read_model(document["model"], lists)
    normalizers, spells_bytes = components.read_normalizers(document.get("normalizer"))
    pre_tokenizers = components.read_pre_tokenizers(document.get("pre_tokenizer"))
    if spells_bytes:
        pre_tokenizers.insert(0, components.BYTE_LEVEL)
    vocabulary = model.lists
    missing: set[int] = set()
    if pre_tokenizers[-1:] == [components.BYTE_LEVEL]:
        missing = {byte for one, byte in byte_level.BYTES.items() if vocabulary.id(one) is None}
    # Without a decoder that reverses the spelling, decoded text would have bytes as they are
    # spelled.
    undoes_bytes = components.undoes_bytes(document.get("decoder"))
    is_byte_level = allow_bytes and undoes_bytes and _is_byte_level(model, pre_tokenizers, missing)
    if is_byte_level:
        pre_tokenizers.pop()
    # Hugging Face numbers added tokens from the number of tokens, even if another token has this
    # id.
    size = len(vocabulary) - len(model.holes)
    added = components.read_added_tokens(document.get("added_tokens"), vocabulary.id, size)
    if model.holes:
        added = _fill_holes(added, model)
    if spells_bytes:
        added = _found_before_spelling(added, undoes_bytes=undoes_bytes)
    if is_byte_level and not model.recipe.get("whole_words"):
        # A byte-level model reads the text of these tokens as bytes.
        added = [token._replace(made=False) if token.made else token for token in added]
    added_ids = {token.text: token.id for token in added}

    def id_of(text: str) -> int | None:
        return added_ids[text] if text in added_ids else vocabulary.id(text)

    post_processors = components.read_post_processors(document.get("post_processor"), id_of)
    required = {*filter(None, [model.unk_token]), *_template_tokens(post_processors)}
    added = _mark_special(added, required, id_of, ordinary=not is_byte_level)
    if is_byte_level:
        _set_byte_level(model, missing)
        added = _separate_from_bytes(added, required, vocabulary)
    recipe = Recipe(
        **{"name": NAME, **model.recipe},
        normalizers=tuple(normalizers),
        pre_tokenizers=tuple(pre_tokenizers),
        units="bytes" if is_byte_level else "characters",
        unk_token=model.unk_token,
        post_processors=tuple(post_processors),
        decoders=tuple(
            components.read_decoders(document.get("decoder"), is_byte_level=is_byte_level)
        ),
        special_tokens=tuple(token.text for token in added if token.special),
    )
    core = store_model(vocabulary, recipe, added)
    return Model.of_core(
        recipe,
        core,
        added_tokens=tuple(added),
        origin=origin,
        extra_files=extra_files,
        lengths=read_lengths(document),
    )


def _fill_holes(added: list[AddedToken], model: DocumentModel) -> list[AddedToken]:
    """Return the added tokens, and a special token for each id without a token.

    Raises:
        TokctlError: an added token would get the id of a token in the vocabulary.
    """
    taken = {token.id: token for token in added if model.lists.id(token.text) is None}
    for id_, token in taken.items():
        if id_ < len(model.lists) and (text := model.lists.spelled(id_)):
            raise BadModel(
                f"its added token {token.text!r} gets the id {id_} there, which is the id of "
                f"{text!r} in its vocabulary",
                TRY_ANOTHER_FILE,
                "damaged-model",
            )
    missing = [id_ for id_ in model.holes if id_ not in taken]
    if not missing:
        return added
    from tokctl.formats.holes import filler_token

    return [*added, *map(filler_token, missing)]


def _found_before_spelling(added: list[AddedToken], *, undoes_bytes: bool) -> list[AddedToken]:
    """Return the added tokens of a document whose normalizer spells bytes.

    Hugging Face finds normalized tokens in the spelled text, which has no white space to include.
    tokctl finds them in the text before bytes are spelled.

    Raises:
        TokctlError: a token can't be found in the same way.
    """
    found = [token for token in added if token.normalized]
    if found and not undoes_bytes:
        raise Unsupported(
            f"its normalizer ByteLevel spells the added token {found[0].text!r}, and its decoder "
            "does not undo that",
            TRY_ANOTHER_FILE,
        )
    for token in found:
        if token.single_word:
            raise Unsupported(
                f"the added token {token.text!r} is a single word among bytes that the normalizer "
                "ByteLevel has spelled as letters",
                TRY_ANOTHER_FILE,
            )
    return [
        token._replace(strip_left=False, strip_right=False) if token.normalized else token
        for token in added
    ]


def _template_tokens(parts: list[Part]) -> list[str]:
    """Return the tokens that templates name."""
    templates = [
        part[name] for part in parts if part.kind == "template" for name in ("single", "pair")
    ]
    return [piece.token for text in templates for piece in template_pieces(text) if piece.token]


def _mark_special(
    added: list[AddedToken], required: set[str], ids: Ids, *, ordinary: bool
) -> list[AddedToken]:
    """Return the added tokens in id order, with the tokens in `required` as special tokens."""
    tokens = [
        token._replace(special=True, named=True)
        if token.text in required and not token.special
        else token
        for token in added
    ]
    known = {token.text for token in tokens}
    tokens += [
        AddedToken(name, id_, ordinary=ordinary, named=True, listed=False)
        for name in required - known
        if (id_ := ids(name)) is not None
    ]
    return sorted(tokens, key=lambda token: token.id)


def _is_byte_level(model: DocumentModel, splitting: list[Part], missing: Collection[int]) -> bool:
    """Return whether tokctl reads the model as a byte-level model.

    It must be BPE, with bytes spelled in the last step and nothing removed from the text before.
    Other models, with the characters that spell bytes, are read as models of characters. `missing`
    are the bytes that have no token.
    """
    recipe = model.recipe
    return (
        splitting[-1:] == [components.BYTE_LEVEL]
        and components.BYTE_LEVEL not in splitting[:-1]
        and all(is_lossless(part) or part.kind == "prefix-space" for part in splitting[:-1])
        and ALGORITHMS[recipe["algorithm"]].reads_bytes
        and not recipe["marker"].text
        and not (missing and recipe["byte_fallback"])
    )


def _set_byte_level(model: DocumentModel, missing: Collection[int]) -> None:
    """Complete the recipe of a byte-level model.

    In Hugging Face, a byte without a token is unknown. It becomes the unknown token, or is dropped
    if there is none. Bytes that never occur in UTF-8 do not matter, because the library reads UTF-8
    only.
    """
    recipe = model.recipe
    recipe["alphabet"] = "seen" if missing else "bytes"
    recipe["byte_fallback"] = False
    if model.unk_token is None or not missing:
        recipe["fuse_unknown"] = False
    if byte_level.NEVER_IN_UTF8.issuperset(missing):
        recipe.pop("unknown", None)


def _separate_from_bytes(
    added: list[AddedToken], required: set[str], vocabulary: ModelFile
) -> list[AddedToken]:
    """Return the added tokens of a byte-level model.

    A special token whose text also spells other bytes (`§` spells A7) is the token of those bytes,
    too. Ordinary text produces it, and Hugging Face also finds it where a text contains its
    spelling. A token of the vocabulary that does not spell bytes (`<x y>`) is found, and never made
    by merging. `required` are the tokens that the file needs as special tokens.

    Raises:
        TokctlError: a token in `required` is also a token of bytes.
    """

    def spells_other_bytes(token: AddedToken) -> bool:
        if not token.special or token.text.isascii() or vocabulary.id(token.text) != token.id:
            return False
        return set(token.text) <= byte_level.BYTES.keys()

    def separated(token: AddedToken) -> AddedToken:
        if spells_other_bytes(token):
            if token.text in required:
                raise Unsupported(
                    f"its token {token.text!r} is both a special token and a byte token",
                    TRY_ANOTHER_FILE,
                )
            return token._replace(special=False, ordinary=True)
        if token.ordinary and not set(token.text) <= byte_level.BYTES.keys():
            return token._replace(ordinary=False)
        return token

    return list(map(separated, added))


# -- writing --------------------------------------------------------------------------


def document_losses(model: Model) -> list[LostFeature]:
    """Return what the document loses of the model and of its training.

    Raises:
        UnsupportedByFormat: the format can't hold a model of this kind.
    """
    writable, differences = nearest(_with_merges(model))
    _check_spellings(writable)
    outline(writable, lossy=True)
    counted = any(merge[3] for merge in model.merges)
    lost = training_lost(model, model.rounds, model.counts, counted)
    return [*differences, *_score_bits_lost(model), *lost]


def _score_bits_lost(model: Model) -> list[LostFeature]:
    """Return the loss of scores that Hugging Face's parser can't read exactly from any text.

    The loss matters only between segmentations whose sums differ by rounding.
    """
    unreadable = _native.texts_for_serde_json(model.scores)[1]
    if not unreadable:
        return []
    what = f"the last bit of {unreadable:,} scores, which Hugging Face's parser misreads"
    return [LostFeature(what, minor=True)]


def build_document(model: Model) -> dict[str, Any]:
    """Return the document of the nearest model; ranks become the equivalent merges.

    Raises:
        UnsupportedByFormat: the format can't hold a model of this kind.
    """
    model, _ = nearest(_with_merges(model))
    _check_spellings(model)
    document = outline(model, lossy=True)
    model_object = document["model"]
    spelled = model.spelled[: model_size(model)]
    if model_object["type"] == "Unigram":
        model_object["vocab"] = list(zip(spelled, written_scores(model.scores), strict=False))
    else:
        model_object["vocab"] = {token: id_ for id_, token in enumerate(spelled)}
    if model_object["type"] == "BPE":
        name = model.spelled.__getitem__
        model_object["merges"] = [(name(left), name(right)) for left, right, *_ in model.merges]
    return document


def written_scores(scores: list[float]) -> list[Any]:
    """Return scores for `orjson.dumps`, so that every parser reads their exact values.

    Hugging Face's parser misreads the shortest texts of some scores. These get other texts.
    """
    from tokctl.core import orjson

    texts, _ = _native.texts_for_serde_json(scores)
    return [
        score if text is None else orjson.Fragment(text)
        for score, text in zip(scores, texts, strict=True)
    ]


def _with_merges(model: Model) -> Model:
    # Imported here because reading does not need the module.
    from tokctl.formats.merging import with_merges

    return with_merges(model)


def _check_spellings(model: Model) -> None:
    if model.is_ambiguous:
        raise UnsupportedByFormat(AMBIGUOUS)


def why_not_loadable(recipe_or_model: Recipe | Model) -> str | None:
    """Return why the format can't express the recipe with the same ids, or None if it can.

    For a recipe without a vocabulary, special tokens are assumed to have the lowest ids, as after a
    training.
    """
    try:
        outline(recipe_or_model)
    except UnsupportedByFormat as reason:
        return str(reason)
    return None


def outline(recipe_or_model: Recipe | Model, *, lossy: bool = False) -> dict[str, Any]:
    """Return the document for a recipe, without the vocabulary and the merges.

    Args:
        recipe_or_model: a recipe, or a model.
        lossy: whether to allow the differences that `nearest` lists.

    Raises:
        UnsupportedByFormat: the format can't express the recipe; the message says why.
    """
    recipe, added = _recipe_and_added(recipe_or_model)
    ids = {token.text: token.id for token in added if token.special}
    unk_id = None if recipe.unk_token is None else ids[recipe.unk_token]
    model = write_model(recipe, unk_id, lossy=lossy)
    lengths = recipe_or_model.lengths if isinstance(recipe_or_model, Model) else {}
    document = {
        "version": "1.0",
        **{name: lengths.get(name) for name in ("truncation", "padding")},
        "added_tokens": components.write_added_tokens(added),
        "normalizer": components.write_normalizers(recipe.normalizers),
        "pre_tokenizer": components.write_pre_tokenizers(
            recipe.pre_tokenizers, is_byte_level=recipe.is_byte_level
        ),
        "post_processor": components.write_post_processors(recipe.post_processors, ids),
        "decoder": components.write_decoders(recipe),
        "model": model,
    }
    if not lossy and (found := special_made_from_text(recipe_or_model)):
        raise UnsupportedByFormat(
            f"its {model['type']} would find the special token {found[0]} in ordinary text"
        )
    if isinstance(recipe_or_model, Model) and (
        misspelled := _misspelled_added_token(recipe_or_model)
    ):
        raise UnsupportedByFormat(
            f"its vocabulary has no {misspelled!r}, which is one of its tokens"
        )
    return document


def _misspelled_added_token(model: Model) -> str | None:
    """Return an added token of the vocabulary whose text differs from its spelling there, or None.

    Hugging Face would give this token another id.
    """
    spell = byte_level.spell if model.recipe.is_byte_level else bytes.decode
    tokens = (token for token in model.added if token.ordinary)
    return next(
        (token.text for token in tokens if spell(model.token(token.id)) != token.text), None
    )


def special_made_from_text(recipe_or_model: Recipe | Model) -> list[str]:
    """Return the special tokens that Hugging Face's model can make from text that spells them."""
    recipe, added = _recipe_and_added(recipe_or_model)
    size = model_size(recipe_or_model) if isinstance(recipe_or_model, Model) else None
    # A token that the first library's model made from text may be made again.
    separate = (token for token in added if not token.ordinary and not token.made)
    in_vocabulary = [token for token in separate if size is None or token.id < size]
    return [token.text for token in in_vocabulary if _can_be_made(recipe, token)]


def _recipe_and_added(recipe_or_model: Recipe | Model) -> tuple[Recipe, tuple[AddedToken, ...]]:
    if isinstance(recipe_or_model, Model):
        return recipe_or_model.recipe, recipe_or_model.added
    tokens = enumerate(recipe_or_model.special_tokens)
    return recipe_or_model, tuple(AddedToken(text, id_) for id_, text in tokens)


def model_size(model: Model) -> int:
    """Return the size of the model's own vocabulary, which has the lowest ids.

    Added tokens after these ids are not part of it, unless merges name them. Hugging Face's model
    then can't make them from ordinary text, and they get the next free ids, which equal their own.
    """
    unknown = model.recipe.unk_token
    unk_id = None if unknown is None else model.special_ids[unknown]
    size = model.size
    separate_ids = {token.id for token in model.added if not token.ordinary and not token.made}
    highest = None
    while size > 1 and size - 1 in separate_ids and size - 1 != unk_id:
        # A token outside the vocabulary gets the score 0 when it is read, or the highest score if
        # that is above 0.
        if model.scores and highest is None:
            highest = max(model.scores)
        if highest is not None and (highest > 0 or model.scores[size - 1]):
            break
        size -= 1
    if size < model.size:
        size = max(size, model.highest_merged + 1)
    return size


def _can_be_made(recipe: Recipe, token: AddedToken) -> bool:
    """Return whether Hugging Face's model can make this token from text that spells the token.

    In a Unigram model every token can be made. But Hugging Face finds an added token first, unless
    the token is inside a word, or only the normalized text spells it.
    """
    text = token.text
    if recipe.matches_longest or recipe.looks_up_pre_tokens or recipe.whole_words:
        return _is_one_pre_token(recipe, text.removeprefix(recipe.marker.text))
    if recipe.maximizes_probability:
        raw = bool(recipe.normalizers) and not token.normalized
        return token.single_word or (raw and not token.special)
    if recipe.is_byte_level:
        return False
    return len(text.removesuffix(recipe.marker.text)) == 1


def _is_one_pre_token(recipe: Recipe, text: str) -> bool:
    """Return whether `text` may be part of one pre-token.

    The result is False only if a scanner splits the text in every context.
    """
    return all(
        part.kind not in _CONTEXT_FREE
        or len(_native.pre_tokens(native_parts([part]), text.encode())) == 1
        for part in recipe.pre_tokenizers
    )


#: Scanners that split a text in the same way in every context.
_CONTEXT_FREE = ("bert", "gpt2-words", "gpt2", "cl100k", "o200k", "llama3", "qwen2", "characters")


# -- the nearest model ----------------------------------------------------------------
#
# Each step removes one feature that the format has no field for, and names the loss. A feature with
# no near equivalent (a word marker that is a separate symbol, for example) stays, and writing it
# raises `UnsupportedByFormat`.


class Simplification(NamedTuple):
    """A model without one of its features.

    Attributes:
        model: the changed model.
        lost: the loss of the feature; None if the change affects no text.
    """

    model: Model
    lost: LostFeature | str | None


def nearest(model: Model) -> tuple[Model, list[LostFeature]]:
    """Return the nearest model that the format can express, and the losses."""
    losses = []
    for step in _STEPS:
        for simplified in step(model):
            model = simplified.model
            if simplified.lost:
                lost = simplified.lost
                losses.append(lost if isinstance(lost, LostFeature) else LostFeature(lost))
    return model, losses


Steps = Iterator[Simplification]


def _with(model: Model, **fields: Any) -> Model:
    return replace(model, recipe=replace(model.recipe, **fields))


def _algorithm(model: Model) -> Steps:
    """Yield what the library's own model of this algorithm does differently."""
    for difference in model.recipe.traits.huggingface_differences(model.recipe):
        model = _with(model, **difference.fields)
        yield Simplification(model, difference.lost)


def _unknown(model: Model) -> Steps:
    recipe = model.recipe
    if drops_unknown(recipe) and not needs_unknown(recipe):
        yield Simplification(
            model, "that a character without a token is an error: it drops it in silence"
        )
    if needs_unknown_for_bytes(recipe):
        yield Simplification(
            model, "the bytes of unknown characters: it needs an unknown token to get there"
        )


def _scores(model: Model) -> Steps:
    """Yield the model with no score below the lowest score of the tokens that it makes.

    In Hugging Face, the lowest score of all tokens decides the cost of an unknown character. In
    SentencePiece, only tokens that the model makes count.
    """
    if model.recipe.precision != "single":
        return
    makeable = [score for id_, score in enumerate(model.scores) if id_ not in model.reserved_ids]
    lowest = min(makeable, default=0.0)
    if model.recipe.maximizes_probability and makeable and min(model.scores) < lowest:
        yield Simplification(
            replace(model, scores=[max(score, lowest) for score in model.scores]), None
        )


_CASE_FOLDING = ("nmt_nfkc_cf", "nfkc_cf")


def _normalizers(model: Model) -> Steps:
    steps: list[Part] = []
    lost = []
    for part in model.recipe.normalizers:
        nearest, reasons = _nearest_normalizer(part)
        steps += nearest
        lost += reasons
    if tuple(steps) != model.recipe.normalizers:
        model = _with(model, normalizers=tuple(steps))
    for reason in lost:
        yield Simplification(model, reason)


def _nearest_normalizer(part: Part) -> tuple[list[Part], list[str]]:
    reasons = []
    options = dict(part.options)
    if options.get("keep"):
        reasons.append("that its user-defined pieces are not normalized")
        options["keep"] = ()
    if part.kind in _CASE_FOLDING:
        kind = "nmt_nfkc" if part.kind == "nmt_nfkc_cf" else "sp_nfkc"
        reasons.append(f"SentencePiece's rules {part.kind}: it has {kind} and lower case")
        return [NORMALIZERS.part(kind), NORMALIZERS.part("lowercase")], reasons
    if part.kind in ("nmt_nfkc", "sp_nfkc"):
        reasons.append(
            f"SentencePiece's rules {part.kind} where text is composed in part (ê and U+0300) or "
            "newer than its tables: it has NFKC"
        )
    if part.kind == "precompiled" and not part["graphemes"]:
        reasons.append("its own rules on what they match: it applies them to graphemes")
        options["graphemes"] = True
    return [NORMALIZERS.part(part.kind, **options) if reasons else part], reasons


def _pre_tokenizers(model: Model) -> Steps:
    parts = model.recipe.pre_tokenizers
    if any(part.kind == "graphemes" for part in parts):
        clusters = PRE_TOKENIZERS.part("split", pattern=r"(?:\P{M}\p{M}*|\p{M}+)", regex=True)
        found = tuple(clusters if part.kind == "graphemes" else part for part in parts)
        yield Simplification(
            _with(model, pre_tokenizers=found),
            "graphemes: it takes a character with the marks after it",
        )


def _overlaps(model: Model) -> Steps:
    if any(token.longest_first for token in model.added):
        tokens = tuple(token._replace(longest_first=False) for token in model.added)
        lost = (
            "that the longest of tokens which overlap is found: it finds the one that starts first"
        )
        yield Simplification(replace(model, added_tokens=tokens), lost)


def _added(model: Model) -> Steps:
    if not any(token.normalized and token.literal for token in model.added):
        return
    changed = []
    lost = []
    for token in model.added:
        if token.normalized and token.literal:
            unchanged = _normalizes_to_itself(model, token)
            token = token._replace(literal=False, normalized=unchanged)
            if not unchanged:
                lost.append(token.text)
        changed.append(token)
    model = replace(model, added_tokens=tuple(changed))
    if lost:
        tokens = _describe_tokens(lost)
        yield Simplification(
            model, f"that {tokens} found in normalized text, spelled as it stands there"
        )
    else:
        yield Simplification(model, None)


def _normalizes_to_itself(model: Model, token: AddedToken) -> bool:
    parts = native_parts(model.recipe.normalizers)
    try:
        return bool(_native.normalize(parts, token.text.encode()) == token.text.encode())
    except CoreError:
        return False


def _describe_tokens(texts: list[str]) -> str:
    if len(texts) == 1:
        return f"the added token {texts[0]!r} is"
    return f"{len(texts)} added tokens ({texts[0]!r}, …) are"


def _spelled_in_text(model: Model) -> Steps:
    if found := special_made_from_text(model):
        tokens = found[0] if len(found) == 1 else f"{len(found)} of them, {found[0]} for one"
        yield Simplification(model, f"special tokens that no text can spell ({tokens})")


#: Hugging Face's rule for decoding invalid bytes.
INVALID = "replace-run"


def _decoders(model: Model) -> Steps:
    recipe = model.recipe
    first = recipe.decoders[0].kind if recipe.decoders else "byte-level"
    if recipe.is_byte_level and first not in ("byte-level", "join"):
        yield Simplification(
            _with(model, decoders=()), f"the decoder {first} on bytes: it gets them as spelled"
        )
    for lost in invalid_bytes_lost(recipe.decoders, INVALID):
        model = _with(model, decoders=with_invalid_bytes(model.recipe.decoders, INVALID))
        yield Simplification(model, lost)
    decoders = tuple(map(_strip_every_token, model.recipe.decoders))
    if decoders != model.recipe.decoders:
        model = _with(model, decoders=decoders)
        yield Simplification(model, "that only the first token is stripped: it strips every token")
    if recipe.marker.is_end_fused and not recipe.decoders:
        marker = recipe.marker.text.encode()
        if any(marker in token.removesuffix(marker) for token in model.tokens):
            yield Simplification(
                model,
                f"tokens with {recipe.marker.text} before their end: it decodes that as a space",
            )


def _strip_every_token(part: Part) -> Part:
    """Return the part, without the option of `strip` that Hugging Face's decoder lacks."""
    if part.kind != "strip":
        return part
    return DECODERS.part("strip", **dict(part.options) | {"first_only": False})


_STEPS: tuple[Callable[[Model], Steps], ...] = (
    _scores,
    _algorithm,
    _unknown,
    _normalizers,
    _pre_tokenizers,
    _overlaps,
    _added,
    _decoders,
    _spelled_in_text,
)
