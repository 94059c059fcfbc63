"""tiktoken's rank files: one token in base64 and its rank per line.

The file contains neither the pattern nor the special tokens, which belong to the encoding. The
digest of a published file tells its encoding (`PUBLISHED`). For other files the caller names them,
or a sidecar does: a file beside the ranks, which tokctl writes (`Sidecar`).

tiktoken merges the two neighbours that spell the token of the lowest rank. A pre-token that is a
token stays whole. Ranks are ids.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import hashlib
import os
import re
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from tokctl import _native
from tokctl.core import orjson
from tokctl.core.errors import BadModel, BadOption, TokctlError, Unsupported
from tokctl.formats import holes, merging
from tokctl.formats.contract import (
    AGAIN,
    LARGEST_VOCABULARY,
    Files,
    LostFeature,
    ModelInput,
    UnsupportedByFormat,
    damaged,
    extra_files_lost,
    lengths_lost,
    training_lost,
    unusable,
)
from tokctl.model import ImportedFrom, Model, Recipe
from tokctl.model.parts import PRE_TOKENIZERS, AddedToken, Part, template_pieces

__all__ = ["losses", "read", "write"]


class TiktokenEncoding(NamedTuple):
    """The parts of an encoding that its rank file leaves out.

    Attributes:
        name: tiktoken's name of the encoding; empty if unknown.
        pre_tokenizers: how text is split, in text form or as parts.
        special: the ids of the special tokens, by text.
    """

    name: str
    pre_tokenizers: str | tuple[Part, ...]
    special: dict[str, int]


_END_OF_TEXT = {"<|endoftext|>": 50256}
_O200K = {"<|endoftext|>": 199999, "<|endofprompt|>": 200018}
_HARMONY = {
    199998: "<|startoftext|>",
    199999: "<|endoftext|>",
    200002: "<|return|>",
    200003: "<|constrain|>",
    200005: "<|channel|>",
    200006: "<|start|>",
    200007: "<|end|>",
    200008: "<|message|>",
    200012: "<|call|>",
}


def _harmony() -> dict[str, int]:
    """Return the special tokens of o200k_harmony.

    tiktoken has two names for the id 200018. The name from o200k_base is used here, because an id
    has one token.
    """
    names = {id_: f"<|reserved_{id_}|>" for id_ in range(199998, 201088)}
    names |= _HARMONY | {id_: text for text, id_ in _O200K.items()}
    return {text: id_ for id_, text in names.items()}


#: The encodings, by name.
ENCODINGS = {
    encoding.name: encoding
    for encoding in (
        TiktokenEncoding("gpt2", "gpt2", _END_OF_TEXT),
        TiktokenEncoding("r50k_base", "gpt2", _END_OF_TEXT),
        TiktokenEncoding("p50k_base", "gpt2", _END_OF_TEXT),
        TiktokenEncoding(
            "p50k_edit",
            "gpt2",
            _END_OF_TEXT
            | {"<|fim_prefix|>": 50281, "<|fim_middle|>": 50282, "<|fim_suffix|>": 50283},
        ),
        TiktokenEncoding(
            "cl100k_base",
            "cl100k",
            {
                "<|endoftext|>": 100257,
                "<|fim_prefix|>": 100258,
                "<|fim_middle|>": 100259,
                "<|fim_suffix|>": 100260,
                "<|endofprompt|>": 100276,
            },
        ),
        TiktokenEncoding("o200k_base", "o200k", _O200K),
        TiktokenEncoding("o200k_harmony", "o200k", _harmony()),
    )
}

#: The encodings by the SHA-256 of the published file. p50k_edit and o200k_harmony share the files
#: of p50k_base and o200k_base, so only their names tell them apart.
PUBLISHED = {
    "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930": ENCODINGS["r50k_base"],
    "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069": ENCODINGS["p50k_base"],
    "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7": ENCODINGS["cl100k_base"],
    "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d": ENCODINGS["o200k_base"],
}


def cached() -> dict[str, Path]:
    """Return the published files in tiktoken's cache, by the names of their encodings, sorted.

    The cache is the folder in `TIKTOKEN_CACHE_DIR` or `DATA_GYM_CACHE_DIR`, otherwise a folder in
    the system's folder for temporary files. The network is not used.
    """
    from tempfile import gettempdir

    folder = os.environ.get("TIKTOKEN_CACHE_DIR") or os.environ.get("DATA_GYM_CACHE_DIR")
    found = {}
    for path in Path(folder or Path(gettempdir(), "data-gym-cache")).glob("[0-9a-f]" * 40):
        with suppress(OSError):
            if known := PUBLISHED.get(hashlib.sha256(path.read_bytes()).hexdigest()):
                found[known.name] = path
    return dict(sorted(found.items()))


#: The suffix that a sidecar appends to the name of the rank file.
SIDECAR_SUFFIX = ".json"


class Sidecar(NamedTuple):
    """The content of a sidecar: the arguments of tiktoken's class `Encoding`.

    Attributes:
        encoding: the name, the pre-tokenizers and the special tokens.
        explicit_n_vocab: the number of ranks and special tokens, if every id is used; otherwise
            None.
        name: the name of the sidecar in messages.
    """

    encoding: TiktokenEncoding
    explicit_n_vocab: int | None
    name: str


def sidecar_bytes(
    name: str, pattern: str, special: dict[str, int], explicit_n_vocab: int | None
) -> bytes:
    """Return the content of a sidecar file, as indented JSON."""
    arguments = {
        "name": name,
        "pat_str": pattern,
        "special_tokens": special,
        "explicit_n_vocab": explicit_n_vocab,
    }
    return orjson.dumps(arguments, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def read_sidecar(source: ModelInput, *, with_pattern: bool = True) -> Sidecar:
    """Return the content of a sidecar.

    Args:
        source: the sidecar file.
        with_pattern: whether to use its pattern; False if the caller knows how text is split.

    Raises:
        TokctlError: the file is damaged, or tokctl can't translate its pattern.
    """
    from tokctl.formats.rust_patterns import pre_tokenizers_of

    document = source.document
    try:
        name, pattern = document["name"], document["pat_str"]
        special = document["special_tokens"]
        total = document.get("explicit_n_vocab")
        text_types = {type(name), type(pattern), *map(type, special)}
        number_types = {*map(type, special.values()), *([] if total is None else [type(total)])}
    except KeyError as error:
        raise damaged(source.name, f"the field {error} is missing") from None
    except (TypeError, AttributeError):
        raise damaged(source.name, "it does not hold the arguments of an encoding") from None
    if text_types != {str} or number_types - {int}:
        raise damaged(source.name, "a field has the wrong type")
    if not with_pattern:
        return Sidecar(TiktokenEncoding(name, (), special), total, source.name)
    try:
        pre_tokenizer = pre_tokenizers_of(pattern)
    except UnsupportedByFormat as reason:
        raise Unsupported(
            f"tokctl can't split a text as {source.name} says: {reason}",
            "say how it is split: tokctl convert --pattern cl100k, or --pattern 'regex:…'",
        ) from None
    return Sidecar(TiktokenEncoding(name, pre_tokenizer, special), total, source.name)


#: No rank or id reaches this number.
_MOST_TOKENS = 1 << 24


def read(source: ModelInput) -> Model:
    """Return the model in the file.

    Raises:
        TokctlError: the file is damaged, its encoding is unknown, or its pattern can't be
            translated.
    """
    sibling = _find_sidecar(source)
    encoding = _choose_encoding(source, sibling)
    ranks, empty_rank = _read_ranks(source.read_up_to(LARGEST_VOCABULARY), source.name)
    special = encoding.special
    if empty_rank is not None and empty_rank not in special.values():
        # Whisper's ranks end with the empty token, which no text contains: it becomes a special
        # token.
        special = special | {holes.filler_text(empty_rank): empty_rank}
    total = len(ranks) + len(special)
    if sibling and encoding == sibling.encoding and sibling.explicit_n_vocab not in (None, total):
        raise damaged(
            source.name,
            f"it has {total} ranks and special tokens, and {sibling.name} says "
            f"{sibling.explicit_n_vocab}",
        )
    try:
        return build_model(ranks, encoding._replace(special=special))
    except ValueError as error:
        if source.hints.any_given:
            raise BadOption(
                f"{source.name} does not fit the pattern or the special tokens given: {error}",
                "check that the file and the ids belong to this encoding",
                "conflict",
            ) from None
        raise damaged(source.name, str(error)) from None
    except TokctlError as error:
        raise unusable(source.name, error, hinted=source.hints.any_given) from None


def _find_sidecar(source: ModelInput) -> Sidecar | None:
    if source.path is None or None not in source.hints:
        return None
    file = source.sibling(source.path.name + SIDECAR_SUFFIX)
    return None if file is None else read_sidecar(file, with_pattern=source.hints.pattern is None)


def _choose_encoding(source: ModelInput, sibling: Sidecar | None) -> TiktokenEncoding:
    """Return what the rank file leaves out.

    The caller's hints come first, then the sidecar, then the digest of a published file.
    """
    pattern, special = source.hints
    # As a pattern, `gpt2` is a pre-tokenizer, as everywhere. The encoding is also called r50k_base.
    if pattern in ENCODINGS and pattern != "gpt2":
        encoding = ENCODINGS[pattern]
    elif pattern is not None:
        # The special tokens of the sidecar apply unless the caller names others.
        sidecar_special = {} if sibling is None else sibling.encoding.special
        encoding = TiktokenEncoding("", _parse_pattern(pattern), sidecar_special)
    elif sibling is not None:
        encoding = sibling.encoding
    else:
        encoding = _published_encoding(source)
    return encoding if special is None else encoding._replace(special=special)


def _parse_pattern(pattern: str) -> str | tuple[Part, ...]:
    """Return the pre-tokenizers that the caller names.

    A regular expression is read like tiktoken's patterns, which drop the text between matches.
    """
    from tokctl.formats.rust_patterns import pre_tokenizers_of

    if pattern == "none":
        return ()
    if not pattern.startswith("regex:"):
        return tuple(PRE_TOKENIZERS.parse_list(pattern))
    try:
        return pre_tokenizers_of(pattern.removeprefix("regex:"))
    except UnsupportedByFormat as reason:
        raise Unsupported(
            f"tokctl can't split texts by this pattern: {reason}",
            "give a pattern that matches every part of a text, or a pre-tokenizer such as cl100k",
        ) from None


def _published_encoding(source: ModelInput) -> TiktokenEncoding:
    digest = hashlib.sha256(source.data).hexdigest()
    if digest in PUBLISHED:
        return PUBLISHED[digest]
    names = ", ".join(known.name for known in PUBLISHED.values())
    raise BadOption(
        f"{source.name} holds ranks of tiktoken, and tokctl does not know of which encoding: "
        f"its sha256 is {digest}",
        "the file says neither how text is split nor its special tokens. Say it once: tokctl "
        "convert --pattern cl100k_base (or another encoding), llama3 (or another pre-tokenizer) "
        "or 'regex:…'. "
        f"The published files of {names} are known: copy it again if it should be one of these",
        "missing-option",
    )


def build_model(ranks: _native.RankFile, encoding: TiktokenEncoding) -> Model:
    """Return the model of an encoding with the given ranks.

    Args:
        ranks: the ordinary tokens.
        encoding: the name, the pre-tokenizers and the special tokens.

    Raises:
        ValueError: an id has two tokens, too many ids are unused, or a byte has no token.
    """
    if (byte := ranks.missing_byte()) is not None:
        raise ValueError(f"the byte 0x{byte:02X} has no token, and tiktoken needs one")
    special: dict[int, str] = {}
    for text, id_ in encoding.special.items():
        if not 0 <= id_ < _MOST_TOKENS:
            raise ValueError(f"the special token {text!r} can't have the id {id_}")
        if id_ in special:
            raise ValueError(f"the special tokens {special[id_]!r} and {text!r} have one id")
        special[id_] = text
    added = holes.special_tokens(ranks, special)
    recipe = Recipe(
        name=encoding.name or "tiktoken",
        algorithm="bpe",
        pre_tokenizers=PRE_TOKENIZERS.steps(encoding.pre_tokenizers),
        units="bytes",
        alphabet="bytes",
        tie_break="lowest-id",
        segmentation="ranks",
        whole_words=True,
        special_tokens=tuple(token.text for token in added),
    )
    origin = ImportedFrom("tiktoken", encoding.name)
    core = ranks.fill({token.id: token.text.encode() for token in added})
    return Model.of_core(recipe, core, added_tokens=added, origin=origin)


_LINES = re.compile(rb"([^\r\n]*)(?:\r\n|[\r\n]|\Z)")


def _read_ranks(data: bytes, name: str) -> tuple[_native.RankFile, int | None]:
    """Return the ranks, and the rank of the empty token if the file lists one.

    Raises:
        TokctlError: a line is not a token and its rank, or repeats one; the message names the line.
    """
    # tiktoken skips characters that are not base64, such as an editor's byte order mark.
    data = data.removeprefix(codecs.BOM_UTF8)
    scanned = _native.RankFile.scan(data)
    if scanned is not None:
        return scanned, None
    ranks: dict[bytes, int] = {}
    line_numbers: dict[int, int] = {}
    # Lines are split off one by one, so that a file in another format fails at its first line.
    for number, match in enumerate(_LINES.finditer(data), 1):
        line = match[1]
        if not line:
            continue  # tiktoken skips empty lines
        try:
            text, digits = line.split()
            token = base64.b64decode(text.lstrip(b"="), validate=True)
            if not digits.isdigit() or (text[:1] == b"=" and token):
                raise ValueError
        except ValueError:
            raise BadModel(
                f"{name}, line {number}: expected a token in base64 and its rank",
                AGAIN,
                "damaged-model",
            ) from None
        rank = int(digits[:20])
        if len(digits) > 20 or rank >= _MOST_TOKENS:
            raise BadModel(
                f"{name}, line {number}: the rank {digits[:20].decode()} is too large",
                AGAIN,
                "damaged-model",
            )
        if rank in line_numbers:
            raise BadModel(
                f"{name}, line {number}: line {line_numbers[rank]} also has the rank {rank}",
                AGAIN,
                "damaged-model",
            )
        if token in ranks:
            raise BadModel(
                f"{name}, line {number}: line {line_numbers[ranks[token]]} also has the token "
                f"{token!r:.80}",
                AGAIN,
                "damaged-model",
            )
        ranks[token] = rank
        line_numbers[rank] = number
    empty_rank = ranks.pop(b"", None)
    return _native.RankFile.of(list(ranks.items())), empty_rank


def losses(model: Model) -> list[LostFeature]:
    """Return the losses of `model`: what a rank file and its sidecar can't hold.

    Raises:
        UnsupportedByFormat: the model is not byte-level BPE with ids as ranks.
    """
    from tokctl.formats.rust_patterns import pattern_of

    _with_id_ranks(model)
    recipe = model.recipe
    found = [LostFeature(f"the normalizer {part}") for part in recipe.normalizers]
    try:
        pattern_of(recipe.pre_tokenizers)
    except UnsupportedByFormat as reason:
        found.append(LostFeature(f"how text is split: {reason}"))
    found += [
        LostFeature(f"the decoder {part}") for part in recipe.decoders if part.kind != "byte-level"
    ]
    found += [
        LostFeature(f"the post-processor {part}")
        for part in recipe.post_processors
        if _adds_tokens(part)
    ]
    found += _added_token_losses(model)
    if any(part.kind == "trim-offsets" for part in recipe.post_processors):
        found.append(LostFeature("that offsets leave spaces out", minor=True))
    return [*found, *training_lost(model), *lengths_lost(model), *extra_files_lost(model)]


def write(model: Model) -> Files:
    """Return the ranks in id order, and the sidecar.

    Raises:
        UnsupportedByFormat: the model is not byte-level BPE with ids as ranks.
    """
    from tokctl.formats.rust_patterns import pattern_of

    model = _with_id_ranks(model)
    reserved = model.reserved_ids
    ranks = [(token, id_) for id_, token in enumerate(model.tokens) if id_ not in reserved]
    special = {token.text: token.id for token in model.added if token.id in reserved}
    if model.origin is not None and model.origin.format == "tiktoken":
        # Holes in the ids of the original file become holes again.
        special = {text: id_ for text, id_ in special.items() if text != holes.filler_text(id_)}
    try:
        pattern = pattern_of(model.recipe.pre_tokenizers)
    except UnsupportedByFormat:
        pattern = pattern_of(())
    uses_every_id = len(ranks) + len(special) == len(model.tokens)
    encode = binascii.b2a_base64
    data = b"".join([b"%s %d\n" % (encode(token, newline=False), id_) for token, id_ in ranks])
    sibling = sidecar_bytes(
        name=_encoding_name(model, data),
        pattern=pattern,
        special=special,
        explicit_n_vocab=len(model.tokens) if uses_every_id else None,
    )
    return {"": data, SIDECAR_SUFFIX: sibling}


def _encoding_name(model: Model, data: bytes) -> str:
    """Return the name of the encoding: from the origin, the digest or the recipe."""
    if model.origin is not None and model.origin.name:
        return model.origin.name
    known = PUBLISHED.get(hashlib.sha256(data).hexdigest())
    return known.name if known else model.recipe.name


def _with_id_ranks(model: Model) -> Model:
    """Return the model segmented by its ids as ranks.

    Raises:
        UnsupportedByFormat: the model is not byte-level BPE, or its ids do not work as ranks.
    """
    recipe = model.recipe
    if not recipe.traits.is_plain_bpe:
        raise UnsupportedByFormat(f"tiktoken has BPE alone, and this is {recipe.algorithm}")
    if not recipe.is_byte_level:
        raise UnsupportedByFormat("tiktoken's BPE is one of bytes, and this is one of characters")
    ranked = merging.with_ranks(model, scored=False)
    reserved = ranked.reserved_ids
    tokens = [token for id_, token in enumerate(ranked.tokens) if id_ not in reserved]
    distinct = set(tokens)
    if len(distinct) != len(tokens):
        raise UnsupportedByFormat("two of its tokens are the same bytes")
    if any(bytes([byte]) not in distinct for byte in range(256)):
        raise UnsupportedByFormat("not every byte has a token")
    if not recipe.whole_words:
        _check_whole_words(ranked)
    return ranked


def _check_whole_words(model: Model) -> None:
    """Raise UnsupportedByFormat for a token that merges don't make but a pre-token could equal."""
    merged = {merge.token for merge in merging.with_merges(model).merges} | model.reserved_ids
    for id_, token in enumerate(model.tokens):
        if id_ not in merged and len(token) > 1:
            raise UnsupportedByFormat(
                f"no merge makes {model.spelled[id_]!r}, and tiktoken would take it for a "
                "pre-token that reads so"
            )


def _adds_tokens(part: Part) -> bool:
    """Return whether a post-processor adds tokens to a text."""
    if part.kind != "template":
        return False
    return any(piece.token is not None for piece in template_pieces(part["single"])) or any(
        piece.token is not None for piece in template_pieces(part["pair"])
    )


def _added_token_losses(model: Model) -> list[LostFeature]:
    found = []
    flagged = [token.text for token in model.added if token.special and not _has_no_flags(token)]
    ordinary = [token.text for token in model.added if not token.special]
    if flagged:
        found.append(LostFeature(f"how special tokens are found ({_listed(flagged)})"))
    if ordinary:
        found.append(LostFeature(f"added tokens that are not special tokens ({_listed(ordinary)})"))
    texts = sorted(token.text for token in model.added if token.special)
    prefixes = [text for text, longer in pairwise(texts) if longer.startswith(text)]
    if prefixes:
        found.append(
            LostFeature(
                "which of two special tokens is found where one begins like the other "
                f"({prefixes[0]})"
            )
        )
    normalized = {token.normalized for token in model.added}
    if len(normalized) > 1 and not flagged and not ordinary:
        found.append(LostFeature("that some special tokens are looked for before others"))
    return found


def _has_no_flags(token: AddedToken) -> bool:
    return not (token.single_word or token.strip_left or token.strip_right)


def _listed(texts: list[str]) -> str:
    return ", ".join(texts[:3]) + (f" and {len(texts) - 3} more" if len(texts) > 3 else "")
