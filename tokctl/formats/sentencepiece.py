"""SentencePiece's model files (`.model`): a protobuf message of pieces and two specifications."""

from __future__ import annotations

import math
import struct
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import takewhile
from typing import Any, NamedTuple

from tokctl.core.errors import Unsupported
from tokctl.formats import charsmap, merging
from tokctl.formats.contract import (
    LARGEST_VOCABULARY,
    TRY_ANOTHER_FILE,
    Files,
    LostFeature,
    ModelInput,
    UnsupportedByFormat,
    extra_files_lost,
    invalid_bytes_lost,
    lengths_lost,
    training_lost,
    unless_damaged,
)
from tokctl.model import ALGORITHMS, Algorithm, ImportedFrom, Model, Recipe, user_defined_score
from tokctl.model.byte_level import BYTE_TOKENS
from tokctl.model.parts import (
    DECODERS,
    NORMALIZERS,
    PRE_TOKENIZERS,
    AddedToken,
    Part,
    with_invalid_bytes,
)

__all__ = ["losses", "read", "write"]

# -- the protobuf message ------------------------------------------------------------


#: For each message and field: the number, the type, and the label or default. Enumerations are
#: numbers in the file.
_SCHEMA = {
    "SentencePiece": {
        "piece": (1, "TYPE_BYTES", None),
        "score": (2, "TYPE_FLOAT", None),
        "type": (3, "TYPE_INT32", "1"),
    },
    "TrainerSpec": {
        "model_type": (3, "TYPE_INT32", "1"),
        "vocab_size": (4, "TYPE_INT32", "8000"),
        "treat_whitespace_as_suffix": (24, "TYPE_BOOL", "false"),
        "byte_fallback": (35, "TYPE_BOOL", "false"),
        "unk_id": (40, "TYPE_INT32", "0"),
        "bos_id": (41, "TYPE_INT32", "1"),
        "eos_id": (42, "TYPE_INT32", "2"),
        "pad_id": (43, "TYPE_INT32", "-1"),
        "unk_surface": (44, "TYPE_BYTES", None),
        "unk_piece": (45, "TYPE_BYTES", None),
        "bos_piece": (46, "TYPE_BYTES", None),
        "eos_piece": (47, "TYPE_BYTES", None),
        "pad_piece": (48, "TYPE_BYTES", None),
    },
    "NormalizerSpec": {
        "name": (1, "TYPE_BYTES", None),
        "precompiled_charsmap": (2, "TYPE_BYTES", None),
        "add_dummy_prefix": (3, "TYPE_BOOL", "true"),
        "remove_extra_whitespaces": (4, "TYPE_BOOL", "true"),
        "escape_whitespaces": (5, "TYPE_BOOL", "true"),
    },
    "ModelProto": {
        "pieces": (1, "SentencePiece", "repeated"),
        "trainer_spec": (2, "TrainerSpec", None),
        "normalizer_spec": (3, "NormalizerSpec", None),
        "denormalizer_spec": (5, "NormalizerSpec", None),
    },
}


def parse(data: bytes) -> Any:
    """Return the `ModelProto` in `data`.

    Raises:
        TokctlError: the package protobuf is missing.
        ValueError: the data is not such a message.
    """
    message_class = _message_class()
    from google.protobuf.message import DecodeError

    proto = message_class()
    try:
        proto.ParseFromString(data)
    except (DecodeError, RuntimeError) as error:
        raise ValueError(f"it is not a protobuf message ({error})") from None
    return proto


def new_message() -> Any:
    """Return an empty `ModelProto`.

    Raises:
        TokctlError: the package protobuf is missing.
    """
    return _message_class()()


def serialize(proto: Any) -> bytes:
    """Return the bytes of a message as a file, equal for equal messages."""
    return bytes(proto.SerializeToString(deterministic=True))


@lru_cache(maxsize=1)
def _message_class() -> Any:
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    except ImportError:
        raise Unsupported(
            "a SentencePiece model needs the package protobuf",
            "install it: pip install 'tokctl[sentencepiece]'",
            "missing-package",
        ) from None
    package = "tokctl.sentencepiece"
    file = descriptor_pb2.FileDescriptorProto(
        name="tokctl_sentencepiece.proto", package=package, syntax="proto2"
    )
    kinds = descriptor_pb2.FieldDescriptorProto
    for name, fields in _SCHEMA.items():
        descriptor = file.message_type.add(name=name)
        for field, (number, kind, default) in fields.items():
            repeated = default == "repeated"
            entry = descriptor.field.add(
                name=field,
                number=number,
                label=kinds.LABEL_REPEATED if repeated else kinds.LABEL_OPTIONAL,
            )
            if kind in _SCHEMA:
                entry.type = kinds.TYPE_MESSAGE
                entry.type_name = f".{package}.{kind}"
            else:
                entry.type = getattr(kinds, kind)
                if default is not None:
                    entry.default_value = default
    # A separate pool, because SentencePiece's package registers its messages in the default one.
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.ModelProto"))


MARK = "▁"
#: The text of an unknown piece in decoded text, unless the model file has another.
UNKNOWN_SURFACE = " \u2047 "
NUL = "\0"
#: SentencePiece's rule for decoding bytes that are not UTF-8.
INVALID = "replace-bytes"
_EVERY_MARK = 2**31 - 1


# -- spaces --------------------------------------------------------------------------


class SpaceOptions(NamedTuple):
    """SentencePiece's options for spaces.

    Attributes:
        dummy: where a space is added: `before` the text, `behind` it, or nowhere (empty).
        remove_extra: whether spaces at the ends of a text are removed and runs of spaces joined.
        escape: whether `▁` replaces spaces.
    """

    dummy: str
    remove_extra: bool
    escape: bool

    @classmethod
    def of(cls, proto: Any) -> SpaceOptions:
        """Return the options in a model file."""
        spec = proto.normalizer_spec
        behind = proto.trainer_spec.treat_whitespace_as_suffix
        dummy = ("behind" if behind else "before") if spec.add_dummy_prefix else ""
        return cls(dummy, spec.remove_extra_whitespaces, spec.escape_whitespaces)

    @property
    def strips(self) -> bool:
        """Whether decoding removes `▁` at the start of a text."""
        return bool(self.dummy) or self.remove_extra


#: All combinations of the options.
ALL_SPACE_OPTIONS = [
    SpaceOptions(dummy, tidy, escape)
    for dummy in ("before", "behind", "")
    for tidy in (True, False)
    for escape in (True, False)
]


def normalizers(spaces: SpaceOptions, *, rules: bool) -> tuple[Part, ...]:
    """Return the normalizers for spaces.

    Args:
        spaces: SentencePiece's options.
        rules: whether normalization rules come before these normalizers.
    """
    part = NORMALIZERS.part
    dummy, remove_extra, escape = spaces
    parts = []
    if remove_extra:
        parts += [part("strip-spaces", right=not escape), part("collapse-spaces")]
    if dummy == "before":
        # SentencePiece adds the space even if its rules delete the whole text. `remove_extra`
        # removes this space again, so both normalizers do the same.
        alone = rules and not remove_extra
        parts.append(part("dummy-space") if alone else part("prepend", text=" "))
    if remove_extra and escape:
        # At the end of a text, SentencePiece removes its own ▁ and the text's ▁ alike. No later
        # step distinguishes the two.
        parts.append(part("replace", pattern=MARK, content=" "))
        parts.append(part("strip-spaces", left=False))
    if dummy == "behind":
        parts.append(part("dummy-space", behind=True))
    if escape:
        parts.append(part("replace", pattern=" ", content=MARK))
    return tuple(parts)


def decoders(
    spaces: SpaceOptions,
    texts: Iterable[str],
    unk_token: str,
    surface: str = UNKNOWN_SURFACE,
    *,
    byte_fallback: bool,
    words: bool = False,
) -> tuple[Part, ...]:
    """Return the decoders that turn pieces into text.

    Args:
        spaces: SentencePiece's options.
        texts: all pieces of the model.
        unk_token: the unknown piece.
        surface: the text that decoding writes for an unknown piece.
        byte_fallback: whether the model has byte tokens.
        words: whether each piece is a whole word.
    """
    part = DECODERS.part
    texts = list(texts)
    parts = [part("replace", pattern=unk_token, content=surface)]
    bytes_ = part("byte-fallback", invalid=INVALID)
    has_double_mark = not words and any(piece.startswith(MARK * 2) for piece in texts)
    start = _EVERY_MARK if spaces.remove_extra and not has_double_mark else 1
    to_space = part("replace", pattern=MARK, content=" ")
    if byte_fallback and (words or MARK not in texts):
        # Bytes can spell a ▁ (of a word without a token), which SentencePiece leaves as it is.
        if not spaces.strips:
            space_decoders = [part("metaspace", prepend="never")]
        elif any(MARK in piece.lstrip(MARK) for piece in texts):
            space_decoders = [part("strip", content=MARK, start=start, first_only=True), to_space]
        else:
            space_decoders = [part("metaspace", prepend="always")]
        return (*parts, *space_decoders, bytes_, part("fuse"))
    if byte_fallback:
        parts.append(bytes_)
    parts.append(part("fuse"))
    if spaces.strips:
        # This comes before ▁ becomes a space, because `surface` can begin with a space, too.
        parts.append(part("strip", content=MARK, start=start))
    parts.append(to_space)
    return tuple(parts)


#: The name of every recipe that is read from such a file.
NAME = "sentencepiece"
MODEL_TYPES = {1: "unigram", 2: "bpe", 3: "word", 4: "char"}
SEGMENTATIONS = {"unigram": "viterbi", "bpe": "ranks", "word": "lookup", "char": "symbols"}
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6
#: The lowest finite number of single precision. It replaces the logarithm of 0.
LOWEST = -(2.0**128 - 2.0**104)
#: The pre-tokens of a word model: each begins with `▁`, except the first one of a text.
WORDS = PRE_TOKENIZERS.steps(f"split:{MARK}=>merged-with-next")


# -- reading -------------------------------------------------------------------------


def read(source: ModelInput) -> Model:
    """Return the model in the file.

    Raises:
        TokctlError: the file is damaged, or tokctl can't run the model.
    """
    data = source.read_up_to(LARGEST_VOCABULARY)
    with unless_damaged(source.name):
        return read_message(parse(data), ImportedFrom("sentencepiece"))


def read_message(proto: Any, origin: ImportedFrom | None, default: str | None = None) -> Model:
    """Return the model in a message.

    Args:
        proto: the message.
        origin: the origin of the model.
        default: the kind of normalization rules to use if the message has none.

    Raises:
        ValueError: the message is inconsistent.
        TokctlError: tokctl can't run the model.
    """
    trainer_spec = proto.trainer_spec
    algorithm = MODEL_TYPES.get(trainer_spec.model_type)
    if algorithm is None:
        raise ValueError(f"its model type is {trainer_spec.model_type}")
    if proto.denormalizer_spec.precompiled_charsmap:
        raise Unsupported(
            "it has rules for denormalizing, which tokctl does not support", TRY_ANOTHER_FILE
        )
    tokens = [bytes(piece.piece) for piece in proto.pieces]
    byte_fallback = proto.trainer_spec.byte_fallback
    texts = _decode_pieces(tokens, byte_fallback=byte_fallback)
    # In SentencePiece, a NUL in a text always becomes its byte token, never a piece of one NUL.
    types = [
        UNUSED if text == NUL else piece.type
        for text, piece in zip(texts, proto.pieces, strict=True)
    ]
    traits = ALGORITHMS[algorithm]
    _check_pieces(proto, traits, texts, types)
    scores = [float(piece.score) for piece in proto.pieces]
    if traits.learns in ("words", "characters"):
        # A required character that was never seen has -inf. Scores have no effect in these models.
        scores = [LOWEST if score == -math.inf else score for score in scores]
    if not all(map(math.isfinite, scores)):
        raise ValueError("one of its scores is not a number")
    if traits.learns == "pieces":
        scores = [
            user_defined_score(token) if kind == USER_DEFINED else score
            for token, score, kind in zip(tokens, scores, types, strict=True)
        ]
    user_defined = [text for text, kind in zip(texts, types, strict=True) if kind == USER_DEFINED]
    blob = bytes(proto.normalizer_spec.precompiled_charsmap)
    rules = (charsmap.read_rules(blob, user_defined),) if blob else ()
    if not blob and default is not None:
        rules = (NORMALIZERS.part(default, keep=user_defined),)
    spaces = SpaceOptions.of(proto)
    _check_kept_spaces(spaces, user_defined)
    added = _added_tokens(traits, texts, types)
    unk_token = texts[types.index(UNKNOWN)]
    recipe = Recipe(
        name=NAME,
        algorithm=algorithm,
        normalizers=(*rules, *normalizers(spaces, rules=bool(rules))),
        pre_tokenizers=WORDS if traits.learns == "words" else (),
        segmentation=SEGMENTATIONS[algorithm],
        unk_token=unk_token,
        byte_fallback=trainer_spec.byte_fallback,
        fuse_unknown=True,
        precision="single",
        decoders=decoders(
            spaces,
            texts,
            unk_token,
            _unknown_surface(trainer_spec),
            byte_fallback=trainer_spec.byte_fallback,
            words=traits.learns == "words",
        ),
        special_tokens=tuple(token.text for token in added if token.special),
    )
    return Model(recipe, tokens, scores=scores, added_tokens=tuple(added), origin=origin)


def _decode_pieces(tokens: list[bytes], *, byte_fallback: bool) -> list[str]:
    texts = []
    for id_, token in enumerate(tokens):
        try:
            texts.append(token.decode())
        except UnicodeDecodeError:
            raise ValueError(f"piece {id_} is not UTF-8") from None
        if not token:
            raise ValueError(f"piece {id_} is empty")
        if b"\0" in token and not (byte_fallback and texts[-1] == NUL):
            raise ValueError(f"piece {id_} holds a NUL, which SentencePiece refuses, too")
    return texts


def _check_pieces(proto: Any, traits: Algorithm, texts: list[str], types: list[int]) -> None:
    """Check the pieces as SentencePiece does, and for what tokctl can't do.

    Raises:
        ValueError: SentencePiece would refuse the pieces.
        TokctlError: tokctl can't run a model with these pieces.
    """
    if not texts:
        raise ValueError("it has no pieces")
    if set(types) - {NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE}:
        raise ValueError("one of its pieces is of an unknown type")
    if types.count(UNKNOWN) != 1:
        raise ValueError(f"it has {types.count(UNKNOWN)} unknown pieces, and should have one")
    reserved = (UNKNOWN, CONTROL, BYTE)
    reserved_and_text = [(kind in reserved, text) for text, kind in zip(texts, types, strict=True)]
    if len(set(reserved_and_text)) != len(reserved_and_text):
        times = Counter(reserved_and_text)
        repeated = next(key[1] for key in reserved_and_text if times[key] > 1)
        raise ValueError(f"the piece {repeated!r} occurs twice")
    byte_pieces = {text for text, kind in zip(texts, types, strict=True) if kind == BYTE}
    all_bytes = {token.decode() for token in BYTE_TOKENS}
    if proto.trainer_spec.byte_fallback:
        if byte_pieces != all_bytes:
            raise ValueError("some of its byte pieces are missing")
    elif byte_pieces:
        raise ValueError("it has byte pieces, but no byte fallback")
    unused = (text for text, kind in zip(texts, types, strict=True) if kind == UNUSED)
    unused_piece = next((text for text in unused if text != NUL), None)
    if traits.learns == "merges" and unused_piece is not None:
        raise Unsupported(
            f"its piece {unused_piece!r} is unused, and is split again where merges make it",
            "use the model without a restricted vocabulary",
        )


def _check_kept_spaces(spaces: SpaceOptions, user_defined: list[str]) -> None:
    """Raise TokctlError if a user-defined piece contains spaces that would be joined elsewhere."""
    for text in user_defined:
        if spaces.remove_extra and "  " in text:
            raise Unsupported(
                f"its user-defined piece {text!r} keeps adjacent spaces, which are joined "
                "everywhere else",
                "train it with --remove_extra_whitespaces=false, or without that piece",
            )


def _added_tokens(traits: Algorithm, texts: list[str], types: list[int]) -> list[AddedToken]:
    """Return the added tokens: pieces that text never becomes, and pieces that are found first."""
    added = []
    for id_, (text, kind) in enumerate(zip(texts, types, strict=True)):
        if kind in (UNKNOWN, CONTROL, UNUSED):
            added.append(AddedToken(text, id_))
        if kind == USER_DEFINED and traits.learns in ("merges", "characters"):
            added.append(AddedToken(text, id_, special=False, normalized=True, literal=True))
    return added


def _unknown_surface(trainer_spec: Any) -> str:
    if not trainer_spec.HasField("unk_surface"):
        return UNKNOWN_SURFACE
    try:
        surface = bytes(trainer_spec.unk_surface).decode()
    except UnicodeDecodeError:
        raise ValueError("what it writes for an unknown piece is not UTF-8") from None
    if MARK in surface:
        raise Unsupported(
            f"it writes {surface!r} for an unknown piece, with a {MARK} that is not a space there",
            f"train it with an --unk_surface without {MARK}",
        )
    return surface


# -- writing: pieces -----------------------------------------------------------------


class Piece(NamedTuple):
    """A piece of a model file."""

    text: bytes
    score: float
    type: int


def with_merge_scores(model: Model) -> tuple[Model, list[LostFeature]]:
    """Return a BPE model segmented by scores, and the losses.

    Tokens that no merge makes become special tokens.

    Raises:
        UnsupportedByFormat: no scores merge in the order of the model.
    """
    losses: list[LostFeature] = []
    # SentencePiece's byte tokens are never found in text and never part of merges.
    model = replace(model, recipe=replace(model.recipe, precision="single"))
    merged = {token for *_, token in merging.ranked_merges(model)}
    unmade = [
        id_
        for id_, token in enumerate(model.tokens)
        if id_ not in merged and id_ not in model.reserved_ids and len(token.decode()) > 1
    ]
    if unmade and model.recipe.whole_words:
        name = model.spelled[unmade[0]]
        losses.append(LostFeature(f"that the text {name!r} becomes one token without merges"))
    if model.recipe.has_ranks:
        # By scores, SentencePiece does not make these tokens either.
        unmade = []
    if unmade:
        names = ", ".join(repr(model.spelled[id_]) for id_ in unmade[:3])
        more = f" and {len(unmade) - 3} more" if len(unmade) > 3 else ""
        losses.append(
            LostFeature(
                f"tokens that no text is split into, except as control pieces ({names}{more})", True
            )
        )
    model = _with_special_tokens(model, unmade)
    recipe = replace(model.recipe, whole_words=False)
    model = merging.with_ranks(replace(model, recipe=recipe), scored=True)
    if not model.scores or any(score != _to_single(score) for score in model.scores):
        model = replace(model, scores=_whole_scores(model))
    return model, losses


def _with_special_tokens(model: Model, unmade: list[int]) -> Model:
    """Return the model with the tokens `unmade` as special tokens, which text never becomes."""
    if not unmade:
        return model
    added = {token.id: token for token in model.added}
    for id_ in unmade:
        added.setdefault(id_, AddedToken(model.spelled[id_], id_))
    texts = (model.spelled[id_] for id_ in unmade if added[id_].special)
    return replace(
        model,
        recipe=model.recipe.with_special_tokens(list(texts)),
        added_tokens=tuple(added[id_] for id_ in sorted(added)),
    )


def _whole_scores(model: Model) -> list[float]:
    """Return whole-number scores (0, -1, -2, …) in the order of the model's scores or ids."""
    if not model.scores:
        return [-float(id_) for id_ in range(len(model.tokens))]
    ranks = {score: -float(rank) for rank, score in enumerate(sorted(set(model.scores))[::-1])}
    return [ranks[score] for score in model.scores]


def _to_single(score: float) -> float:
    """Return a score rounded to single precision, as a file stores it."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", score))[0])
    except OverflowError:
        return math.inf


def model_pieces(model: Model) -> tuple[list[Piece], list[LostFeature]]:
    """Return the pieces of a model, and the losses.

    Args:
        model: the model; a BPE model as `with_merge_scores` returns it.

    Raises:
        UnsupportedByFormat: SentencePiece would refuse the pieces.
    """
    losses: list[LostFeature] = []
    types = _piece_types(model)
    texts = list(model.tokens)
    has_all_bytes = model.recipe.byte_fallback and BYTE in types
    for id_, text in enumerate(texts):
        if types[id_] == BYTE or b"\0" not in text:
            continue
        if text == NUL.encode() and has_all_bytes and id_ in model.reserved_ids:
            types[id_] = UNUSED
            continue
        losses.append(LostFeature(f"the token {model.spelled[id_]!r}, which holds a NUL"))
        texts[id_], types[id_] = b"<|unused_%d|>" % id_, CONTROL
    if len(set(texts)) != len(texts) or b"" in texts:
        raise UnsupportedByFormat("a token is empty, or two are spelled alike")
    if model.recipe.maximizes_probability and not {NORMAL, USER_DEFINED} & set(types):
        raise UnsupportedByFormat("it has no token that text becomes")
    scores = _written_scores(model)
    # The scores of words and of characters have no effect.
    scores_matter = not (model.recipe.looks_up_pre_tokens or model.recipe.emits_symbols)
    if scores_matter and not all(math.isfinite(_to_single(score)) for score in scores):
        raise UnsupportedByFormat("a score is too large for single precision")
    # SentencePiece ignores the score of a user-defined piece. Its training writes 0.
    pieces = [
        Piece(text, 0.0 if kind == USER_DEFINED else score, kind)
        for text, score, kind in zip(texts, scores, types, strict=True)
    ]
    if model.recipe.unk_token is None:
        name = next(
            name
            for name in (b"<unk>", *(b"<unk_%d>" % number for number in range(len(texts) + 1)))
            if name not in texts
        )
        pieces.append(Piece(name, 0.0, UNKNOWN))
        losses.append(LostFeature("that it has no unknown token", minor=has_all_bytes))
    return pieces, losses


def _piece_types(model: Model) -> list[int]:
    types = [NORMAL] * len(model.tokens)
    if model.recipe.byte_fallback:
        ids = {token: id_ for id_, token in enumerate(model.tokens)}
        present = [ids[token] for token in BYTE_TOKENS if token in ids]
        for id_ in present:
            types[id_] = BYTE if len(present) == len(BYTE_TOKENS) else CONTROL
    for id_ in model.user_defined:
        types[id_] = USER_DEFINED
    unchanged = {text.encode() for part in model.recipe.normalizers for text in _keep_option(part)}
    for id_, text in enumerate(model.tokens):
        if text in unchanged and (
            model.recipe.looks_up_pre_tokens
            or (model.recipe.maximizes_probability and _has_user_defined_score(model, id_))
        ):
            types[id_] = USER_DEFINED
    for id_ in _user_defined_bytes(model):
        types[id_] = USER_DEFINED
    for token in model.added:
        types[token.id] = CONTROL if token.special else USER_DEFINED
        if token.text == model.recipe.unk_token and token.special:
            types[token.id] = UNKNOWN
    return types


def _has_user_defined_score(model: Model, id_: int) -> bool:
    """Return whether a Unigram model prefers this token to all others, as if user-defined."""
    return model.scores[id_] == user_defined_score(model.tokens[id_])


def _user_defined_bytes(model: Model) -> list[int]:
    """Return the ids of user-defined pieces of one byte, which only their score of 0 identifies.

    They exist only in models without rules, because rules list the user-defined pieces.
    """
    recipe = model.recipe
    if not recipe.maximizes_probability or recipe.precision != "single":
        return []
    if min(model.scores, default=0) >= 0 or any(
        charsmap.compiled_rules(p) for p in recipe.normalizers
    ):
        return []
    scored = enumerate(zip(model.tokens, model.scores, strict=True))
    return [id_ for id_, (token, score) in scored if score == 0 and len(token) == 1]


def _keep_option(part: object) -> tuple[str, ...]:
    """Return the texts that a normalizer leaves unchanged."""
    found: tuple[str, ...] = dict(getattr(part, "options", ())).get("keep", ())
    return found


def _written_scores(model: Model) -> list[float]:
    """Return the scores for the file.

    Models of words or characters with counts get the logarithm of each token's share, as in
    training.
    """
    if model.scores:
        if model.recipe.maximizes_probability or model.recipe.traits.is_plain_bpe:
            return model.scores
        return [-math.inf if score == LOWEST else score for score in model.scores]
    total = sum(model.counts)
    if not total:
        return [0.0] * len(model.tokens)
    return [math.log(count / total) if count else 0.0 for count in model.counts]


# -- writing: decoders ---------------------------------------------------------------


def fit_decoders(model: Model, spaces: SpaceOptions) -> tuple[str, list[LostFeature]]:
    """Return the text for an unknown piece, and the losses of the decoders.

    There is no loss if the ids of every text still become the same text.
    """
    recipe = model.recipe
    texts = [token.decode(errors="replace") for token in model.tokens]
    unk_token = recipe.unk_token or "<unk>"
    parts = list(with_invalid_bytes(recipe.decoders, INVALID))
    invalid = invalid_bytes_lost(recipe.decoders, INVALID)
    byte_fallback, words = recipe.byte_fallback, recipe.looks_up_pre_tokens
    surface = unk_token
    if parts and parts[0].kind == "replace" and parts[0]["pattern"] == unk_token:
        surface = parts[0]["content"]
        exact = decoders(
            spaces, texts, unk_token, surface, byte_fallback=byte_fallback, words=words
        )
        if parts == list(exact) and not parts[0]["regex"] and MARK not in surface:
            return surface, invalid
    if MARK in surface:
        # SentencePiece would write the ▁ unchanged.
        what = f"that {surface!r} stands for an unknown piece, its {MARK} as a space"
        return surface.replace(MARK, " "), [LostFeature(what)]
    lost = [
        LostFeature(
            f"the decoders {', '.join(map(str, parts)) or 'that leave every token as it is'}"
        )
    ]
    ordinary = (text for id_, text in enumerate(texts) if id_ not in model.special_id_set)
    is_alike = _decodes_alike(parts, spaces, ordinary, byte_fallback=byte_fallback, words=words)
    return surface, invalid if is_alike else lost


def _decodes_alike(
    parts: list[Part],
    spaces: SpaceOptions,
    texts: Iterable[str],
    *,
    byte_fallback: bool,
    words: bool,
) -> bool:
    """Return whether these decoders give the right text for the pieces of any segmented text.

    Such pieces begin with the `▁` that was added before the text, if one was added, or are unknown.
    """
    texts = list(texts)
    kinds = [part.kind for part in parts if part.kind != "fuse"]
    if byte_fallback != ("byte-fallback" in kinds):
        return False
    before_fuse = list(takewhile(lambda kind: kind != "fuse", (part.kind for part in parts)))
    if byte_fallback and "byte-fallback" not in before_fuse:
        return False
    if byte_fallback and kinds[-1] != "byte-fallback" and (words or MARK not in texts):
        return False  # bytes can spell a ▁, which then stays as it is
    kinds = [kind for kind in kinds if kind != "byte-fallback"]
    if not kinds:
        return not spaces.escape and not spaces.strips and not any(MARK in t for t in texts)
    adds_mark_before = spaces.dummy == "before" and spaces.escape
    if kinds == ["metaspace"]:
        part = next(part for part in parts if part.kind == "metaspace")
        strips_first = part["prepend"] != "never"
        # The decoder removes every ▁ of the first token.
        marks_begin_pieces = not any(MARK in text[1:] for text in texts)
        return (
            part["replacement"] == MARK
            and strips_first == spaces.strips
            and (
                not strips_first
                or (adds_mark_before and marks_begin_pieces and "metaspace" in before_fuse)
            )
        )
    space_replacements = [part for part in parts if part.kind == "replace"]
    if len(space_replacements) != 1 or (
        space_replacements[0]["pattern"],
        space_replacements[0]["content"],
    ) != (MARK, " "):
        return False
    if kinds == ["replace"]:
        return not spaces.strips
    strips = [part for part in parts if part.kind == "strip"]
    if sorted(kinds) != ["replace", "strip"] or not spaces.strips or not adds_mark_before:
        return False
    if strips[0]["first_only"]:
        return False
    # After `fuse` the whole text is stripped, before it each token.
    strips_after_fuse = any(part.kind == "fuse" for part in parts[: parts.index(strips[0])])
    wanted = MARK if parts.index(strips[0]) < parts.index(space_replacements[0]) else " "
    strips_one_mark = (strips[0]["content"], strips[0]["start"], strips[0]["stop"]) == (
        wanted,
        1,
        0,
    )
    return strips_after_fuse and strips_one_mark


#: Patterns for runs of spaces in models that Hugging Face's libraries have converted.
_SPACE_RUNS = (" {2,}", " +", "  +", r"\s{2,}", "[ ]{2,}")


# -- writing: the options nearest to a recipe ----------------------------------------


class NormalizationRules(NamedTuple):
    """SentencePiece's normalization rules.

    Attributes:
        name: SentencePiece's name of the rules.
        blob: the compiled rules.
        keep: the texts that the rules leave unchanged.
    """

    name: str = "identity"
    blob: bytes = b""
    keep: tuple[str, ...] = ()


class NearestOptions(NamedTuple):
    """The options that come nearest to a recipe.

    Attributes:
        rules: the normalization rules.
        spaces: the options for spaces.
        surface: the text that decoding writes for an unknown piece.
        losses: what these options do differently.
    """

    rules: NormalizationRules
    spaces: SpaceOptions
    surface: str
    losses: list[LostFeature]


def nearest_options(model: Model) -> NearestOptions:
    """Return the options nearest to a model whose recipe has an unknown token or needs none."""
    recipe = model.recipe
    rules, rest, losses = _leading_rules(recipe.normalizers)
    pre_tokenizers = recipe.pre_tokenizers
    exact = [
        options
        for options in ALL_SPACE_OPTIONS
        if normalizers(options, rules=bool(rules.blob)) == tuple(rest)
    ]
    if exact and (pre_tokenizers == WORDS if recipe.looks_up_pre_tokens else not pre_tokenizers):
        spaces = exact[0]
    else:
        spaces, more = _nearest_spaces(model, rest, bool(rules.blob))
        losses += more
    if loss := _crossing_piece_lost(model):
        losses.append(loss)
    surface, more = fit_decoders(model, spaces)
    return NearestOptions(rules, spaces, surface, losses + more)


def _leading_rules(
    parts: Sequence[Part],
) -> tuple[NormalizationRules, list[Part], list[LostFeature]]:
    """Return the rules, the normalizers after them, and the loss of those before them."""
    for index, part in enumerate(parts):
        found = charsmap.compiled_rules(part)
        if found is None:
            continue
        lost = [_normalizer_lost(earlier) for earlier in parts[:index]]
        if part.kind == "precompiled" and part["graphemes"]:
            lost.append(
                LostFeature("that its rules are applied to a whole grapheme where one fits")
            )
        return NormalizationRules(*found, keep=part["keep"]), list(parts[index + 1 :]), lost
    rule_count = 0
    while rule_count < len(parts) and _is_compilable(parts[rule_count]):
        rule_count += 1
    if rule_count and (blob := charsmap.compile_replacements(parts[:rule_count])):
        return NormalizationRules("user_defined", blob), list(parts[rule_count:]), []
    return NormalizationRules(), list(parts), []


def _is_compilable(part: Part) -> bool:
    """Return whether `part` replaces a text by another, and neither contains a space or `▁`."""
    if part.kind != "replace" or part["regex"]:
        return False
    return not {" ", MARK} & {*part["pattern"], *part["content"]}


def _normalizer_lost(part: Part) -> LostFeature:
    return LostFeature(f"the normalizer {part}")


class _SpaceHandling:
    """The handling of spaces by a sequence of normalizers and pre-tokenizers."""

    def __init__(self) -> None:
        self.left = self.right = self.inside = False  # removed at the ends; joined inside
        self.prefix = ""  # "always", or "unless" the text begins with one
        self.escape = False
        self.losses: list[LostFeature] = []

    def apply_normalizer(self, part: Part) -> None:
        """Take in one normalizer."""
        if (
            (self.prefix or self.escape)
            and not _prepends_space(part)
            and not _replaces_spaces(part)
        ):
            self.losses.append(_normalizer_lost(part))
        elif part.kind in ("strip-spaces", "strip"):
            self.left |= part["left"]
            self.right |= part["right"]
            if part.kind == "strip":
                lost = "that other white space than spaces is removed at the ends of a text"
                self.losses.append(LostFeature(lost))
        elif part.kind == "collapse-spaces" or _collapses_spaces(part):
            self.inside = True
        elif _prepends_space(part, marked=self.escape):
            self.prefix = "always"
        elif _replaces_spaces(part) and part["content"] == MARK:
            self.escape = True
        else:
            self.losses.append(_normalizer_lost(part))

    def apply_pre_tokenizer(self, part: Part) -> None:
        """Take in one pre-tokenizer."""
        if part.kind == "metaspace" and part["replacement"] == MARK:
            self.escape = True
            if part["prepend"] != "never":
                self.prefix = self.prefix or "unless"
        elif part != WORDS[0] or not self.escape:
            self.losses.append(LostFeature(f"the pre-tokenizer {part}"))


def _prepends_space(part: Part, *, marked: bool = False) -> bool:
    """Return whether `part` puts a space before the text.

    Args:
        part: a normalizer.
        marked: whether `▁` has already replaced the spaces.
    """
    if part.kind == "prepend":
        return part["text"] == MARK or (part["text"] == " " and not marked)
    return part.kind == "dummy-space" and not part["behind"] and not marked


def _replaces_spaces(part: Part) -> bool:
    """Return whether `part` replaces each space by another text."""
    return part.kind == "replace" and part["pattern"] == " " and not part["regex"]


def _collapses_spaces(part: Part) -> bool:
    return (
        part.kind == "replace"
        and part["regex"]
        and part["pattern"] in _SPACE_RUNS
        and part["content"] in (" ", MARK)
    )


def _nearest_spaces(
    model: Model, parts: list[Part], rules: bool
) -> tuple[SpaceOptions, list[LostFeature]]:
    recipe, handling = model.recipe, _SpaceHandling()
    for part in parts:
        handling.apply_normalizer(part)
    for part in recipe.pre_tokenizers:
        handling.apply_pre_tokenizer(part)
    if recipe.looks_up_pre_tokens and not recipe.pre_tokenizers:
        handling.losses.append(LostFeature("that a whole text is one word"))
    remove_extra = handling.inside or (handling.left and handling.right)
    spaces = SpaceOptions("before" if handling.prefix else "", remove_extra, handling.escape)
    return spaces, handling.losses + [
        LostFeature(what) for what in _space_differences(handling, spaces, rules)
    ]


def _space_differences(handling: _SpaceHandling, spaces: SpaceOptions, rules: bool) -> list[str]:
    """Return the differences between what the recipe and SentencePiece do with spaces."""
    found = []
    if spaces.remove_extra:
        if not handling.left and handling.prefix != "unless":
            found.append("spaces at the start of a text, which it removes")
        if not handling.right:
            found.append("spaces at the end of a text, which it removes")
        if not handling.inside:
            found.append("spaces side by side, which it joins")
        if spaces.escape:
            found.append(f"a {MARK} that a text itself has at its start or end")
    else:
        if handling.left or handling.right:
            found.append("that spaces at the ends of a text are removed, and others are not")
        if handling.prefix == "unless":
            found.append(f"that a text which starts with a space, or {MARK}, gets no other")
        elif rules and handling.prefix:
            found.append("that a text which its rules leave nothing of gets no space")
    return found


def _crossing_piece_lost(model: Model) -> LostFeature | None:
    """Return a loss if a token crosses the start of a word although each word is a pre-token."""
    marker = MARK.encode()
    recipe = model.recipe
    splits_words = any(part.kind != "metaspace" or part["split"] for part in recipe.pre_tokenizers)
    if not splits_words or recipe.looks_up_pre_tokens:
        return None
    ordinary = (id_ for id_ in range(len(model.tokens)) if id_ not in model.reserved_ids)
    crossing = next((id_ for id_ in ordinary if marker in model.tokens[id_][1:]), None)
    if crossing is not None and not recipe.emits_symbols:
        return LostFeature(
            f"that words are split, which its piece {model.spelled[crossing]!r} joins"
        )
    if marker not in model.tokens and recipe.fuse_unknown and not recipe.byte_fallback:
        return LostFeature(
            f"that words are split: {MARK} has no token, and is one with its neighbours"
        )
    return None


#: Names of the special tokens for each role: SentencePiece's default, then names in other models.
_ROLES = {
    "bos": ("<s>", "<bos>", "[CLS]", "<|begin_of_text|>", "<cls>"),
    "eos": ("</s>", "<eos>", "[SEP]", "<|end_of_text|>", "<sep>"),
    "pad": ("<pad>", "[PAD]"),
}


# -- writing -------------------------------------------------------------------------


def losses(model: Model) -> list[LostFeature]:
    """Return what the file can't hold, and what SentencePiece does differently.

    Raises:
        UnsupportedByFormat: SentencePiece can't hold a model of this kind.
    """
    return build_message(model)[1]


def write(model: Model) -> Files:
    """Return the file, whose bytes depend on the model alone.

    Raises:
        UnsupportedByFormat: SentencePiece can't hold a model of this kind.
    """
    return {"": serialize(build_message(model)[0])}


def build_message(model: Model) -> tuple[Any, list[LostFeature]]:
    """Return the model as a message, and the losses.

    Raises:
        UnsupportedByFormat: SentencePiece can't hold a model of this kind.
    """
    _check_expressible(model)
    options = nearest_options(model)
    found = [*options.losses]
    if model.recipe.traits.is_plain_bpe:
        ranked, more = with_merge_scores(model)
        found += more
    else:
        ranked = model
    pieces, more = model_pieces(ranked)
    found += more + _segmentation_losses(model, pieces) + _other_losses(model, options, pieces)
    return _fill_message(model, options, pieces), found


def _check_expressible(model: Model) -> None:
    """Raise UnsupportedByFormat if SentencePiece can't hold a model of this kind."""
    recipe = model.recipe
    algorithm = recipe.algorithm
    if recipe.is_byte_level:
        raise UnsupportedByFormat("its tokens are bytes, and SentencePiece's are characters")
    if algorithm not in SEGMENTATIONS:
        raise UnsupportedByFormat(f"SentencePiece has no {algorithm}")
    if recipe.marker.text:
        raise UnsupportedByFormat(f"SentencePiece has no word marker but {MARK}")
    if not recipe.traits.is_plain_bpe and recipe.segmentation != SEGMENTATIONS[algorithm]:
        raise UnsupportedByFormat(f"SentencePiece segments no {algorithm} by {recipe.segmentation}")
    marker = MARK.encode()
    if recipe.looks_up_pre_tokens and not any(token.startswith(marker) for token in model.tokens):
        raise UnsupportedByFormat(f"SentencePiece's words begin with {MARK}, and none does here")


def _segmentation_losses(model: Model, pieces: list[Piece]) -> list[LostFeature]:
    """Return what SentencePiece does differently between normalized text and pieces."""
    recipe = model.recipe
    found = []
    has_all_bytes = any(piece.type == BYTE for piece in pieces)
    if recipe.byte_fallback and not has_all_bytes:
        found.append(LostFeature("its fallback to bytes, which do not all have tokens"))
    if not recipe.fuse_unknown and not has_all_bytes and recipe.unk_token is not None:
        found.append(
            LostFeature("that every unknown character, or word, is an unknown token of its own")
        )
    finds_byte_texts = (
        recipe.maximizes_probability or recipe.looks_up_pre_tokens or recipe.whole_words
    )
    if has_all_bytes and recipe.precision == "double" and finds_byte_texts:
        found.append(LostFeature("that the text <0x41> becomes the token of that byte"))
    if recipe.maximizes_probability and recipe.precision == "double":
        found.append(
            LostFeature(
                "sums of log probabilities in double precision: near-ties can be split otherwise"
            )
        )
    return found


def _other_losses(model: Model, options: NearestOptions, pieces: list[Piece]) -> list[LostFeature]:
    """Return the losses of added tokens, and of data beside the recipe."""
    recipe = model.recipe
    found = []
    for token in model.added:
        if token.special:
            continue
        is_literal = token.normalized and token.literal and not recipe.pre_tokenizers
        has_no_flags = not (token.single_word or token.strip_left or token.strip_right)
        if not (
            is_literal and has_no_flags and (recipe.traits.is_plain_bpe or recipe.emits_symbols)
        ):
            found.append(
                LostFeature(f"the way that the added token {token.text!r} is found in a text")
            )
    user_defined = {piece.text.decode() for piece in pieces if piece.type == USER_DEFINED}
    if options.rules.blob and user_defined != set(options.rules.keep):
        text = min(user_defined ^ set(options.rules.keep))
        verb = "change" if text in user_defined else "leave alone"
        found.append(LostFeature(f"that its rules {verb} {text!r}"))
    if options.spaces.remove_extra and any("  " in text for text in user_defined):
        found.append(LostFeature("that spaces side by side are joined in user-defined pieces, too"))
    if recipe.post_processors:
        names = ", ".join(map(str, recipe.post_processors))
        found.append(LostFeature(f"the post-processors {names}"))
    return [
        *found,
        *training_lost(model, model.rounds),
        *lengths_lost(model),
        *extra_files_lost(model),
    ]


def _fill_message(model: Model, options: NearestOptions, pieces: list[Piece]) -> Any:
    recipe, proto = model.recipe, new_message()
    for piece in pieces:
        entry = proto.pieces.add(piece=piece.text, score=piece.score)
        if piece.type != 1:
            entry.type = piece.type
    trainer_spec = proto.trainer_spec
    trainer_spec.model_type = {name: number for number, name in MODEL_TYPES.items()}[
        recipe.algorithm
    ]
    trainer_spec.vocab_size = len(pieces)
    trainer_spec.treat_whitespace_as_suffix = options.spaces.dummy == "behind"
    trainer_spec.byte_fallback = any(piece.type == BYTE for piece in pieces)
    if options.surface != UNKNOWN_SURFACE:
        trainer_spec.unk_surface = options.surface.encode()
    _set_roles(trainer_spec, pieces)
    spec = proto.normalizer_spec
    spec.name, spec.precompiled_charsmap = options.rules.name.encode(), options.rules.blob
    spec.add_dummy_prefix = bool(options.spaces.dummy)
    spec.remove_extra_whitespaces = options.spaces.remove_extra
    spec.escape_whitespaces = options.spaces.escape
    return proto


def _set_roles(trainer_spec: Any, pieces: list[Piece]) -> None:
    """Set the ids and names of the unknown, beginning, end and padding pieces."""
    ids = {piece.text.decode(): id_ for id_, piece in enumerate(pieces) if piece.type == CONTROL}
    unknown = next(id_ for id_, piece in enumerate(pieces) if piece.type == UNKNOWN)
    trainer_spec.unk_id = unknown
    if pieces[unknown].text != b"<unk>":
        trainer_spec.unk_piece = pieces[unknown].text
    for role, names in _ROLES.items():
        name = next((name for name in names if name in ids), None)
        setattr(trainer_spec, f"{role}_id", ids[name] if name is not None else -1)
        if name is not None and name != names[0]:
            setattr(trainer_spec, f"{role}_piece", name.encode())
