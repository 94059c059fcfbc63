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
    ANOTHER,
    LARGEST_VOCABULARY,
    Files,
    LostFeature,
    ModelInput,
    UnsupportedByFormat,
    companions_lost,
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
    message = _message()
    from google.protobuf.message import DecodeError

    proto = message()
    try:
        proto.ParseFromString(data)
    except (DecodeError, RuntimeError) as error:
        raise ValueError(f"it is not a protobuf message ({error})") from None
    return proto


def new() -> Any:
    """Return an empty `ModelProto`.

    Raises:
        TokctlError: the package protobuf is missing.
    """
    return _message()()


def serialized(proto: Any) -> bytes:
    """Return the bytes of a message as a file, equal for equal messages."""
    return bytes(proto.SerializeToString(deterministic=True))


@lru_cache(maxsize=1)
def _message() -> Any:
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
        message = file.message_type.add(name=name)
        for field, (number, kind, default) in fields.items():
            repeated = default == "repeated"
            entry = message.field.add(
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
_ALL = 2**31 - 1


# -- spaces --------------------------------------------------------------------------


class Spaces(NamedTuple):
    """SentencePiece's options for spaces.

    Attributes:
        dummy: where a space is added: `before` the text, `behind` it, or nowhere (empty).
        tidy: whether spaces are removed at the ends of a text and runs of spaces are joined.
        escape: whether `▁` replaces spaces.
    """

    dummy: str
    tidy: bool
    escape: bool

    @classmethod
    def of(cls, proto: Any) -> Spaces:
        """Return the options in a model file."""
        spec = proto.normalizer_spec
        behind = proto.trainer_spec.treat_whitespace_as_suffix
        dummy = ("behind" if behind else "before") if spec.add_dummy_prefix else ""
        return cls(dummy, spec.remove_extra_whitespaces, spec.escape_whitespaces)

    @property
    def strips(self) -> bool:
        """Whether decoding removes `▁` at the start of a text."""
        return bool(self.dummy) or self.tidy


#: All combinations of the options.
EVERY = [
    Spaces(dummy, tidy, escape)
    for dummy in ("before", "behind", "")
    for tidy in (True, False)
    for escape in (True, False)
]


def normalizers(spaces: Spaces, *, rules: bool) -> tuple[Part, ...]:
    """Return the normalizers for spaces.

    Args:
        spaces: SentencePiece's options.
        rules: whether normalization rules come before these normalizers.
    """
    part = NORMALIZERS.part
    dummy, tidy, escape = spaces
    parts = []
    if tidy:
        parts += [part("strip-spaces", right=not escape), part("collapse-spaces")]
    if dummy == "before":
        # SentencePiece adds the space even if its rules delete the whole text. With `tidy`, such a
        # space is removed again, so both normalizers do the same.
        alone = rules and not tidy
        parts.append(part("dummy-space") if alone else part("prepend", text=" "))
    if tidy and escape:
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
    spaces: Spaces,
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
    twice = not words and any(piece.startswith(MARK * 2) for piece in texts)
    start = _ALL if spaces.tidy and not twice else 1
    to_space = part("replace", pattern=MARK, content=" ")
    if byte_fallback and (words or MARK not in texts):
        # Bytes can spell a ▁ (of a word without a token), which SentencePiece leaves as it is.
        if not spaces.strips:
            spaced = [part("metaspace", prepend="never")]
        elif any(MARK in piece.lstrip(MARK) for piece in texts):
            spaced = [part("strip", content=MARK, start=start, first_only=True), to_space]
        else:
            spaced = [part("metaspace", prepend="always")]
        return (*parts, *spaced, bytes_, part("fuse"))
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
    data = source.within(LARGEST_VOCABULARY)
    with unless_damaged(source.name):
        return filled(parse(data), ImportedFrom("sentencepiece"))


def filled(proto: Any, origin: ImportedFrom | None, default: str | None = None) -> Model:
    """Return the model in a message.

    Args:
        proto: the message.
        origin: the origin of the model.
        default: the kind of normalization rules to use if the message has none.

    Raises:
        ValueError: the message is inconsistent.
        TokctlError: tokctl can't run the model.
    """
    trained = proto.trainer_spec
    algorithm = MODEL_TYPES.get(trained.model_type)
    if algorithm is None:
        raise ValueError(f"its model type is {trained.model_type}")
    if proto.denormalizer_spec.precompiled_charsmap:
        raise Unsupported("it has rules for denormalizing, which tokctl does not support", ANOTHER)
    tokens = [bytes(piece.piece) for piece in proto.pieces]
    falls_back = proto.trainer_spec.byte_fallback
    texts = _texts(tokens, falls_back=falls_back)
    # In SentencePiece, a NUL in a text always becomes its byte token, never a piece of one NUL.
    types = [
        UNUSED if text == NUL else piece.type
        for text, piece in zip(texts, proto.pieces, strict=True)
    ]
    traits = ALGORITHMS[algorithm]
    _check(proto, traits, texts, types)
    scores = [float(piece.score) for piece in proto.pieces]
    if traits.by_frequency:
        # A required character that was never seen has -inf. Scores have no effect in these models.
        scores = [LOWEST if score == -math.inf else score for score in scores]
    if not all(map(math.isfinite, scores)):
        raise ValueError("one of its scores is not a number")
    if traits.has_scores:
        scores = [
            user_defined_score(token) if kind == USER_DEFINED else score
            for token, score, kind in zip(tokens, scores, types, strict=True)
        ]
    keep = [text for text, kind in zip(texts, types, strict=True) if kind == USER_DEFINED]
    blob = bytes(proto.normalizer_spec.precompiled_charsmap)
    rules = (charsmap.part_of(blob, keep),) if blob else ()
    if not blob and default is not None:
        rules = (NORMALIZERS.part(default, keep=keep),)
    spaces = Spaces.of(proto)
    _check_kept_spaces(spaces, keep)
    added = _added(traits, texts, types)
    unk_token = texts[types.index(UNKNOWN)]
    recipe = Recipe(
        name=NAME,
        algorithm=algorithm,
        normalizers=(*rules, *normalizers(spaces, rules=bool(rules))),
        pre_tokenizers=WORDS if traits.learns_words else (),
        segmentation=SEGMENTATIONS[algorithm],
        unk_token=unk_token,
        byte_fallback=trained.byte_fallback,
        fuse_unknown=True,
        precision="single",
        decoders=decoders(
            spaces,
            texts,
            unk_token,
            _surface(trained),
            byte_fallback=trained.byte_fallback,
            words=traits.learns_words,
        ),
        special_tokens=tuple(token.text for token in added if token.special),
    )
    return Model(recipe, tokens, scores=scores, added_tokens=tuple(added), origin=origin)


def _texts(tokens: list[bytes], *, falls_back: bool) -> list[str]:
    texts = []
    for id_, token in enumerate(tokens):
        try:
            texts.append(token.decode())
        except UnicodeDecodeError:
            raise ValueError(f"piece {id_} is not UTF-8") from None
        if not token:
            raise ValueError(f"piece {id_} is empty")
        if b"\0" in token and not (falls_back and texts[-1] == NUL):
            raise ValueError(f"piece {id_} holds a NUL, which SentencePiece refuses, too")
    return texts


def _check(proto: Any, traits: Algorithm, texts: list[str], types: list[int]) -> None:
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
    keys = [(kind in reserved, text) for text, kind in zip(texts, types, strict=True)]
    if len(set(keys)) != len(keys):
        times = Counter(keys)
        twice = next(key[1] for key in keys if times[key] > 1)
        raise ValueError(f"the piece {twice!r} is there twice")
    found = {text for text, kind in zip(texts, types, strict=True) if kind == BYTE}
    wanted = {token.decode() for token in BYTE_TOKENS}
    if proto.trainer_spec.byte_fallback:
        if found != wanted:
            raise ValueError("its byte pieces are not all there")
    elif found:
        raise ValueError("it has byte pieces, but no byte fallback")
    unused = (text for text, kind in zip(texts, types, strict=True) if kind == UNUSED)
    made = next((text for text in unused if text != NUL), None)
    if traits.is_plain_bpe and made is not None:
        raise Unsupported(
            f"its piece {made!r} is unused, and is taken apart again where merges make it",
            "use the model without a restricted vocabulary",
        )


def _check_kept_spaces(spaces: Spaces, keep: list[str]) -> None:
    """Raise TokctlError if a user-defined piece contains spaces that would be joined elsewhere."""
    for text in keep:
        if spaces.tidy and "  " in text:
            raise Unsupported(
                f"its user-defined piece {text!r} keeps spaces side by side, which are joined "
                "everywhere else",
                "train it with --remove_extra_whitespaces=false, or without that piece",
            )


def _added(traits: Algorithm, texts: list[str], types: list[int]) -> list[AddedToken]:
    """Return the added tokens: pieces that text never becomes, and pieces that are found first."""
    added = []
    for id_, (text, kind) in enumerate(zip(texts, types, strict=True)):
        if kind in (UNKNOWN, CONTROL, UNUSED):
            added.append(AddedToken(text, id_))
        if kind == USER_DEFINED and (traits.is_plain_bpe or traits.learns_characters):
            added.append(AddedToken(text, id_, special=False, normalized=True, literal=True))
    return added


def _surface(trained: Any) -> str:
    if not trained.HasField("unk_surface"):
        return UNKNOWN_SURFACE
    try:
        surface = bytes(trained.unk_surface).decode()
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


def ranked(model: Model) -> tuple[Model, list[LostFeature]]:
    """Return a BPE model segmented by scores, and the losses.

    Tokens that no merge makes become special tokens.

    Raises:
        UnsupportedByFormat: no scores merge in the order of the model.
    """
    losses: list[LostFeature] = []
    # SentencePiece's byte tokens are never found in text and never part of merges.
    model = replace(model, recipe=replace(model.recipe, precision="single"))
    made = {token for *_, token in merging.made(model)}
    idle = [
        id_
        for id_, token in enumerate(model.tokens)
        if id_ not in made and id_ not in model.reserved_ids and len(token.decode()) > 1
    ]
    if idle and model.recipe.whole_words:
        name = model.spelled[idle[0]]
        losses.append(
            LostFeature(f"that a text which is the token {name!r} becomes it without merges")
        )
    if model.recipe.has_ranks:
        # By scores, SentencePiece does not make these tokens either.
        idle = []
    if idle:
        names = ", ".join(repr(model.spelled[id_]) for id_ in idle[:3])
        more = f" and {len(idle) - 3} more" if len(idle) > 3 else ""
        losses.append(
            LostFeature(f"tokens that no text becomes, but as control pieces ({names}{more})", True)
        )
    model = _without(model, idle)
    recipe = replace(model.recipe, whole_words=False)
    model = merging.by_ranks(replace(model, recipe=recipe), scored=True)
    if not model.scores or any(score != _single(score) for score in model.scores):
        model = replace(model, scores=_scores(model))
    return model, losses


def _without(model: Model, idle: list[int]) -> Model:
    """Return the model with the tokens `idle` as special tokens, which text never becomes."""
    if not idle:
        return model
    added = {token.id: token for token in model.added}
    for id_ in idle:
        added.setdefault(id_, AddedToken(model.spelled[id_], id_))
    texts = (model.spelled[id_] for id_ in idle if added[id_].special)
    return replace(
        model,
        recipe=model.recipe.with_special_tokens(list(texts)),
        added_tokens=tuple(added[id_] for id_ in sorted(added)),
    )


def _scores(model: Model) -> list[float]:
    """Return whole-number scores (0, -1, -2, …) in the order of the model's scores or ids."""
    if not model.scores:
        return [-float(id_) for id_ in range(len(model.tokens))]
    places = {score: -float(at) for at, score in enumerate(sorted(set(model.scores))[::-1])}
    return [places[score] for score in model.scores]


def _single(score: float) -> float:
    """Return a score rounded to single precision, as a file stores it."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", score))[0])
    except OverflowError:
        return math.inf


def pieces(model: Model) -> tuple[list[Piece], list[LostFeature]]:
    """Return the pieces of a model, and the losses.

    Args:
        model: the model; a BPE model as `ranked` returns it.

    Raises:
        UnsupportedByFormat: SentencePiece would refuse the pieces.
    """
    losses: list[LostFeature] = []
    types = _types(model)
    texts = list(model.tokens)
    complete = model.recipe.byte_fallback and BYTE in types
    for id_, text in enumerate(texts):
        if types[id_] == BYTE or b"\0" not in text:
            continue
        if text == NUL.encode() and complete and id_ in model.reserved_ids:
            types[id_] = UNUSED
            continue
        losses.append(LostFeature(f"the token {model.spelled[id_]!r}, which holds a NUL"))
        texts[id_], types[id_] = b"<|unused_%d|>" % id_, CONTROL
    if len(set(texts)) != len(texts) or b"" in texts:
        raise UnsupportedByFormat("a token is empty, or two are spelled alike")
    if model.recipe.traits.has_scores and not {NORMAL, USER_DEFINED} & set(types):
        raise UnsupportedByFormat("it has no token that text becomes")
    scores = _written_scores(model)
    decides = not model.recipe.traits.by_frequency
    if decides and not all(math.isfinite(_single(score)) for score in scores):
        raise UnsupportedByFormat("a score is too large for single precision")
    # SentencePiece ignores the score of a user-defined piece. Its training writes 0.
    found = [
        Piece(text, 0.0 if kind == USER_DEFINED else score, kind)
        for text, score, kind in zip(texts, scores, types, strict=True)
    ]
    if model.recipe.unk_token is None:
        name = next(
            name
            for name in (b"<unk>", *(b"<unk_%d>" % at for at in range(len(texts) + 1)))
            if name not in texts
        )
        found.append(Piece(name, 0.0, UNKNOWN))
        losses.append(LostFeature("that it has no unknown token", minor=complete))
    return found, losses


def _types(model: Model) -> list[int]:
    types = [NORMAL] * len(model.tokens)
    if model.recipe.byte_fallback:
        ids = {token: id_ for id_, token in enumerate(model.tokens)}
        present = [ids[token] for token in BYTE_TOKENS if token in ids]
        for id_ in present:
            types[id_] = BYTE if len(present) == len(BYTE_TOKENS) else CONTROL
    for id_ in model.user_defined:
        types[id_] = USER_DEFINED
    kept = {text.encode() for part in model.recipe.normalizers for text in _kept(part)}
    traits = model.recipe.traits
    for id_, text in enumerate(model.tokens):
        if text in kept and (traits.learns_words or (traits.has_scores and _is_best(model, id_))):
            types[id_] = USER_DEFINED
    for id_ in _of_one_byte(model):
        types[id_] = USER_DEFINED
    for token in model.added:
        types[token.id] = CONTROL if token.special else USER_DEFINED
        if token.text == model.recipe.unk_token and token.special:
            types[token.id] = UNKNOWN
    return types


def _is_best(model: Model, id_: int) -> bool:
    """Return whether a Unigram model prefers this token to all others, as if user-defined."""
    return model.scores[id_] == user_defined_score(model.tokens[id_])


def _of_one_byte(model: Model) -> list[int]:
    """Return the ids of user-defined pieces of one byte, which only their score of 0 identifies.

    They exist only in models without rules, because rules list the user-defined pieces.
    """
    recipe = model.recipe
    if not recipe.traits.has_scores or recipe.precision != "single":
        return []
    if min(model.scores, default=0) >= 0 or any(charsmap.blob_of(p) for p in recipe.normalizers):
        return []
    scored = enumerate(zip(model.tokens, model.scores, strict=True))
    return [id_ for id_, (token, score) in scored if score == 0 and len(token) == 1]


def _kept(part: object) -> tuple[str, ...]:
    """Return the texts that a normalizer leaves unchanged."""
    found: tuple[str, ...] = dict(getattr(part, "options", ())).get("keep", ())
    return found


def _written_scores(model: Model) -> list[float]:
    """Return the scores for the file.

    Models of words or characters with counts get the logarithm of each token's share, as in
    training.
    """
    if model.recipe.traits.by_frequency and model.scores:
        return [-math.inf if score == LOWEST else score for score in model.scores]
    if model.scores:
        return model.scores
    total = sum(model.counts)
    if not total:
        return [0.0] * len(model.tokens)
    return [math.log(count / total) if count else 0.0 for count in model.counts]


# -- writing: decoders ---------------------------------------------------------------


def decoding(model: Model, spaces: Spaces) -> tuple[str, list[LostFeature]]:
    """Return the text for an unknown piece, and the losses of the decoders.

    There is no loss if the ids of every text still become the same text.
    """
    recipe = model.recipe
    texts = [token.decode(errors="replace") for token in model.tokens]
    unk_token = recipe.unk_token or "<unk>"
    found = list(with_invalid_bytes(recipe.decoders, INVALID))
    invalid = invalid_bytes_lost(recipe.decoders, INVALID)
    falls_back, words = recipe.byte_fallback, recipe.traits.learns_words
    surface = unk_token
    if found and found[0].kind == "replace" and found[0]["pattern"] == unk_token:
        surface = found[0]["content"]
        exact = decoders(spaces, texts, unk_token, surface, byte_fallback=falls_back, words=words)
        if found == list(exact) and not found[0]["regex"] and MARK not in surface:
            return surface, invalid
    if MARK in surface:
        # SentencePiece would write the ▁ unchanged.
        what = f"that {surface!r} stands for an unknown piece, its {MARK} as a space"
        return surface.replace(MARK, " "), [LostFeature(what)]
    lost = [
        LostFeature(
            f"the decoders {', '.join(map(str, found)) or 'that leave every token as it is'}"
        )
    ]
    plain = (text for id_, text in enumerate(texts) if id_ not in model.special_id_set)
    alike = _reads_alike(found, spaces, plain, byte_fallback=falls_back, words=words)
    return surface, invalid if alike else lost


def _reads_alike(
    parts: list[Part], spaces: Spaces, texts: Iterable[str], *, byte_fallback: bool, words: bool
) -> bool:
    """Return whether these decoders give the right text for the pieces of any segmented text.

    Such pieces begin with the `▁` that was added before the text, if one was added, or are unknown.
    """
    texts = list(texts)
    kinds = [part.kind for part in parts if part.kind != "fuse"]
    if byte_fallback != ("byte-fallback" in kinds):
        return False
    apart = list(takewhile(lambda kind: kind != "fuse", (part.kind for part in parts)))
    if byte_fallback and "byte-fallback" not in apart:
        return False
    if byte_fallback and kinds[-1] != "byte-fallback" and (words or MARK not in texts):
        return False  # bytes can spell a ▁, which then stays as it is
    kinds = [kind for kind in kinds if kind != "byte-fallback"]
    if not kinds:
        return not spaces.escape and not spaces.strips and not any(MARK in t for t in texts)
    begins = spaces.dummy == "before" and spaces.escape
    if kinds == ["metaspace"]:
        part = next(part for part in parts if part.kind == "metaspace")
        first = part["prepend"] != "never"
        # The decoder removes every ▁ of the first token.
        single = not any(MARK in text[1:] for text in texts)
        return (
            part["replacement"] == MARK
            and first == spaces.strips
            and (not first or (begins and single and "metaspace" in apart))
        )
    spaced = [part for part in parts if part.kind == "replace"]
    if len(spaced) != 1 or (spaced[0]["pattern"], spaced[0]["content"]) != (MARK, " "):
        return False
    if kinds == ["replace"]:
        return not spaces.strips
    strips = [part for part in parts if part.kind == "strip"]
    if sorted(kinds) != ["replace", "strip"] or not spaces.strips or not begins:
        return False
    if strips[0]["first_only"]:
        return False
    # After `fuse` the whole text is stripped, before it each token.
    fused = any(part.kind == "fuse" for part in parts[: parts.index(strips[0])])
    wanted = MARK if parts.index(strips[0]) < parts.index(spaced[0]) else " "
    one = (strips[0]["content"], strips[0]["start"], strips[0]["stop"]) == (wanted, 1, 0)
    return fused and one


#: Patterns for runs of spaces in models that Hugging Face's libraries have converted.
_RUNS = (" {2,}", " +", "  +", r"\s{2,}", "[ ]{2,}")


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


class Fitted(NamedTuple):
    """The options that come nearest to a recipe.

    Attributes:
        rules: the normalization rules.
        spaces: the options for spaces.
        surface: the text that decoding writes for an unknown piece.
        losses: what these options do differently.
    """

    rules: NormalizationRules
    spaces: Spaces
    surface: str
    losses: list[LostFeature]


def fitted(model: Model) -> Fitted:
    """Return the options nearest to a model whose recipe has an unknown token or needs none."""
    recipe = model.recipe
    rules, rest, losses = _rules(recipe.normalizers)
    splits = recipe.pre_tokenizers
    exact = [one for one in EVERY if normalizers(one, rules=bool(rules.blob)) == tuple(rest)]
    if exact and (splits == WORDS if recipe.traits.learns_words else not splits):
        spaces = exact[0]
    else:
        spaces, more = _nearest(model, rest, bool(rules.blob))
        losses += more
    if found := _joined_words(model):
        losses.append(found)
    surface, more = decoding(model, spaces)
    return Fitted(rules, spaces, surface, losses + more)


def _rules(parts: Sequence[Part]) -> tuple[NormalizationRules, list[Part], list[LostFeature]]:
    """Return the rules, the normalizers after them, and the loss of those before them."""
    for place, part in enumerate(parts):
        found = charsmap.blob_of(part)
        if found is None:
            continue
        lost = [_normalizer(before) for before in parts[:place]]
        if part.kind == "precompiled" and part["graphemes"]:
            lost.append(
                LostFeature("that its rules are applied to a whole grapheme where one fits")
            )
        return NormalizationRules(*found, keep=part["keep"]), list(parts[place + 1 :]), lost
    first = 0
    while first < len(parts) and _is_rule(parts[first]):
        first += 1
    if first and (blob := charsmap.of_replacements(parts[:first])):
        return NormalizationRules("user_defined", blob), list(parts[first:]), []
    return NormalizationRules(), list(parts), []


def _is_rule(part: Part) -> bool:
    """Return whether `part` replaces a text by another, and neither contains a space or `▁`."""
    if part.kind != "replace" or part["regex"]:
        return False
    return not {" ", MARK} & {*part["pattern"], *part["content"]}


def _normalizer(part: Part) -> LostFeature:
    return LostFeature(f"the normalizer {part}")


class _State:
    """The handling of spaces by a sequence of normalizers and pre-tokenizers."""

    def __init__(self) -> None:
        self.left = self.right = self.inside = False  # removed at the ends; joined inside
        self.prefix = ""  # "always", or "unless" the text begins with one
        self.escape = False
        self.losses: list[LostFeature] = []

    def step(self, part: Part) -> None:
        """Take in one normalizer."""
        if (self.prefix or self.escape) and not _puts(part) and not _marks(part):
            self.losses.append(_normalizer(part))
        elif part.kind in ("strip-spaces", "strip"):
            self.left |= part["left"]
            self.right |= part["right"]
            if part.kind == "strip":
                what = "that other white space than spaces is removed at the ends of a text"
                self.losses.append(LostFeature(what))
        elif part.kind == "collapse-spaces" or _joins(part):
            self.inside = True
        elif _puts(part, marked=self.escape):
            self.prefix = "always"
        elif _marks(part) and part["content"] == MARK:
            self.escape = True
        else:
            self.losses.append(_normalizer(part))

    def split(self, part: Part) -> None:
        """Take in one pre-tokenizer."""
        if part.kind == "metaspace" and part["replacement"] == MARK:
            self.escape = True
            if part["prepend"] != "never":
                self.prefix = self.prefix or "unless"
        elif part != WORDS[0] or not self.escape:
            self.losses.append(LostFeature(f"the pre-tokenizer {part}"))


def _puts(part: Part, *, marked: bool = False) -> bool:
    """Return whether `part` puts a space before the text.

    Args:
        part: a normalizer.
        marked: whether `▁` has already replaced the spaces.
    """
    if part.kind == "prepend":
        return part["text"] == MARK or (part["text"] == " " and not marked)
    return part.kind == "dummy-space" and not part["behind"] and not marked


def _marks(part: Part) -> bool:
    """Return whether `part` replaces each space by another text."""
    return part.kind == "replace" and part["pattern"] == " " and not part["regex"]


def _joins(part: Part) -> bool:
    return (
        part.kind == "replace"
        and part["regex"]
        and part["pattern"] in _RUNS
        and part["content"] in (" ", MARK)
    )


def _nearest(model: Model, parts: list[Part], rules: bool) -> tuple[Spaces, list[LostFeature]]:
    recipe, state = model.recipe, _State()
    for part in parts:
        state.step(part)
    for part in recipe.pre_tokenizers:
        state.split(part)
    if recipe.traits.learns_words and not recipe.pre_tokenizers:
        state.losses.append(LostFeature("that a whole text is one word"))
    tidy = state.inside or (state.left and state.right)
    spaces = Spaces("before" if state.prefix else "", tidy, state.escape)
    return spaces, state.losses + [LostFeature(what) for what in _differences(state, spaces, rules)]


def _differences(state: _State, spaces: Spaces, rules: bool) -> list[str]:
    """Return the differences between what the recipe and SentencePiece do with spaces."""
    found = []
    if spaces.tidy:
        if not state.left and state.prefix != "unless":
            found.append("spaces at the start of a text, which it removes")
        if not state.right:
            found.append("spaces at the end of a text, which it removes")
        if not state.inside:
            found.append("spaces side by side, which it joins")
        if spaces.escape:
            found.append(f"a {MARK} that a text itself has at its start or end")
    else:
        if state.left or state.right:
            found.append("that spaces at the ends of a text are removed, and others are not")
        if state.prefix == "unless":
            found.append(f"that a text which starts with a space, or {MARK}, gets no other")
        elif rules and state.prefix:
            found.append("that a text which its rules leave nothing of gets no space")
    return found


def _joined_words(model: Model) -> LostFeature | None:
    """Return a loss if a token crosses the start of a word although each word is a pre-token."""
    mark = MARK.encode()
    recipe = model.recipe
    splits = any(part.kind != "metaspace" or part["split"] for part in recipe.pre_tokenizers)
    if not splits or recipe.traits.learns_words:
        return None
    ordinary = (id_ for id_ in range(len(model.tokens)) if id_ not in model.reserved_ids)
    joined = next((id_ for id_ in ordinary if mark in model.tokens[id_][1:]), None)
    if joined is not None and not recipe.traits.learns_characters:
        return LostFeature(f"that words are split, which its piece {model.spelled[joined]!r} joins")
    if mark not in model.tokens and recipe.fuse_unknown and not recipe.byte_fallback:
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
    return message(model)[1]


def write(model: Model) -> Files:
    """Return the file, whose bytes depend on the model alone.

    Raises:
        UnsupportedByFormat: SentencePiece can't hold a model of this kind.
    """
    return {"": serialized(message(model)[0])}


def message(model: Model) -> tuple[Any, list[LostFeature]]:
    """Return the model as a message, and the losses.

    Raises:
        UnsupportedByFormat: SentencePiece can't hold a model of this kind.
    """
    _check_expressible(model)
    fit = fitted(model)
    found = [*fit.losses]
    if model.recipe.traits.is_plain_bpe:
        ready, more = ranked(model)
        found += more
    else:
        ready = model
    listed, more = pieces(ready)
    found += more + _segmenting(model, listed) + _around(model, fit, listed)
    return _filled_message(model, fit, listed), found


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
    marked = MARK.encode()
    if recipe.traits.learns_words and not any(token.startswith(marked) for token in model.tokens):
        raise UnsupportedByFormat(f"SentencePiece's words begin with {MARK}, and none does here")


def _segmenting(model: Model, listed: list[Piece]) -> list[LostFeature]:
    """Return what SentencePiece does differently between normalized text and pieces."""
    recipe = model.recipe
    found = []
    complete = any(piece.type == BYTE for piece in listed)
    if recipe.byte_fallback and not complete:
        found.append(LostFeature("its fallback to bytes, which do not all have tokens"))
    if not recipe.fuse_unknown and not complete and recipe.unk_token is not None:
        found.append(
            LostFeature("that every unknown character, or word, is an unknown token of its own")
        )
    looks_up = recipe.traits.has_scores or recipe.traits.learns_words or recipe.whole_words
    if complete and recipe.precision == "double" and looks_up:
        found.append(LostFeature("that the text <0x41> becomes the token of that byte"))
    if recipe.traits.has_scores and recipe.precision == "double":
        found.append(
            LostFeature(
                "sums of log probabilities in double precision: near-ties can be split otherwise"
            )
        )
    return found


def _around(model: Model, fit: Fitted, listed: list[Piece]) -> list[LostFeature]:
    """Return the losses of added tokens, and of data beside the recipe."""
    recipe = model.recipe
    found = []
    for token in model.added:
        if token.special:
            continue
        exact = token.normalized and token.literal and not recipe.pre_tokenizers
        plain = not (token.single_word or token.strip_left or token.strip_right)
        if not (
            exact and plain and (recipe.traits.is_plain_bpe or recipe.traits.learns_characters)
        ):
            found.append(
                LostFeature(f"the way that the added token {token.text!r} is found in a text")
            )
    kept = {piece.text.decode() for piece in listed if piece.type == USER_DEFINED}
    if fit.rules.blob and kept != set(fit.rules.keep):
        text = min(kept ^ set(fit.rules.keep))
        verb = "change" if text in kept else "leave alone"
        found.append(LostFeature(f"that its rules {verb} {text!r}"))
    if fit.spaces.tidy and any("  " in text for text in kept):
        found.append(LostFeature("that spaces side by side are joined in user-defined pieces, too"))
    if recipe.post_processors:
        names = ", ".join(map(str, recipe.post_processors))
        found.append(LostFeature(f"the post-processors {names}"))
    return [
        *found,
        *training_lost(model, model.rounds),
        *lengths_lost(model),
        *companions_lost(model),
    ]


def _filled_message(model: Model, fit: Fitted, listed: list[Piece]) -> Any:
    recipe, proto = model.recipe, new()
    for piece in listed:
        entry = proto.pieces.add(piece=piece.text, score=piece.score)
        if piece.type != 1:
            entry.type = piece.type
    trained = proto.trainer_spec
    trained.model_type = {name: number for number, name in MODEL_TYPES.items()}[recipe.algorithm]
    trained.vocab_size = len(listed)
    trained.treat_whitespace_as_suffix = fit.spaces.dummy == "behind"
    trained.byte_fallback = any(piece.type == BYTE for piece in listed)
    if fit.surface != UNKNOWN_SURFACE:
        trained.unk_surface = fit.surface.encode()
    _set_roles(trained, listed)
    spec = proto.normalizer_spec
    spec.name, spec.precompiled_charsmap = fit.rules.name.encode(), fit.rules.blob
    spec.add_dummy_prefix = bool(fit.spaces.dummy)
    spec.remove_extra_whitespaces = fit.spaces.tidy
    spec.escape_whitespaces = fit.spaces.escape
    return proto


def _set_roles(trained: Any, listed: list[Piece]) -> None:
    """Set the ids and names of the unknown, beginning, end and padding pieces."""
    ids = {piece.text.decode(): id_ for id_, piece in enumerate(listed) if piece.type == CONTROL}
    unknown = next(id_ for id_, piece in enumerate(listed) if piece.type == UNKNOWN)
    trained.unk_id = unknown
    if listed[unknown].text != b"<unk>":
        trained.unk_piece = listed[unknown].text
    for role, names in _ROLES.items():
        name = next((name for name in names if name in ids), None)
        setattr(trained, f"{role}_id", ids[name] if name is not None else -1)
        if name is not None and name != names[0]:
            setattr(trained, f"{role}_piece", name.encode())
