"""What a page needs to split any text in the browser: models in a compact form, and the properties
of characters, taken from the core, so that no browser's own version of Unicode matters.

`templates/segment.js` reads it. A model is in it only where that script gives the very ids of
tokctl; of every other model, and of whatever is new, the page gives the reason.
"""

from __future__ import annotations

import base64
import json
import struct
import sys
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import groupby
from typing import Any

from tokctl import _native
from tokctl.model import FilledRecipe
from tokctl.model.encoders import byte_ids
from tokctl.model.parts import Part, native_parts, template_pieces

#: Bytes that the models of one page may take, as they stand in it.
MOST_BYTES = 12_000_000

_NORMALIZERS = {
    "bert",
    "nmt_nfkc",
    "nmt_nfkc_cf",
    "nfkc_cf",
    "sp_nfkc",
    "precompiled",
    "collapse-spaces",
    "strip-spaces",
    "prepend",
    "replace",
}
_PRE_TOKENIZERS = {"gpt2", "cl100k", "llama3", "qwen2", "bert", "metaspace"}


def supported(model: FilledRecipe) -> str | None:
    """Why a page can't split text as the model does; None if it can, id for id."""
    recipe = model.recipe
    for what, parts, known in (
        ("normalizer", recipe.normalizers, _NORMALIZERS),
        ("pre-tokenizer", recipe.pre_tokenizers, _PRE_TOKENIZERS),
    ):
        for part in parts:
            if part.kind not in known or not _has_plain_options(part):
                return f"the page does not know its {what} {part.kind}"
    by_merging = recipe.lists_merges or recipe.has_ranks
    if not (by_merging or recipe.matches_longest or recipe.traits.has_scores):
        return f"the page does not segment by {recipe.algorithm}, {recipe.segmentation}"
    if recipe.traits.learns_superwords or model.supermerges or model.events is not None:
        return "the page knows no merges across words, and no removed tokens"
    if len(recipe.pre_tokenizers) > 1:
        return "the page knows one pre-tokenizer for a model, and this one has several"
    if recipe.marker.text and not (recipe.matches_longest and recipe.marker.is_continuation):
        return f"the page does not know its marker {recipe.marker.kind} {recipe.marker.text}"
    if recipe.drops_unknown:
        return "the page can't leave out unknown characters"
    if recipe.normalizers and any(
        part.kind == "metaspace" and part["prepend"] == "first" for part in recipe.pre_tokenizers
    ):
        return "the page can't tell which normalized character was the first of the text"
    if recipe.unk_token is None and not recipe.has_every_byte:
        return "it has no unknown token for what its vocabulary lacks"
    if any(part.kind not in ("template", "trim-offsets") for part in recipe.post_processors):
        return "the page does not know its post-processor"
    if reason := _added(model):
        return reason
    return _vocabulary(model)


def _has_plain_options(part: Part) -> bool:
    """Do the options ask for nothing but what the script does?"""
    options = dict(part.options)
    return not (options.get("graphemes") or options.get("keep") or options.get("regex"))


def _added(model: FilledRecipe) -> str | None:
    """What is odd about the tokens that are found in text before it is split."""
    for token in model.added:
        if not token.listed:
            continue
        if token.single_word or token.strip_left or token.strip_right:
            return f"its token {token.text} takes heed of what stands beside it"
        if token.longest_first or token.made:
            return f"its token {token.text} is found in a way that the page does not know"
        if token.normalized and model.recipe.normalizers:
            return f"its token {token.text} is found in normalized text"
    return None


def _vocabulary(model: FilledRecipe) -> str | None:
    """What is odd about tokens and merges."""
    tokens, recipe = model.tokens, model.recipe
    ids = {token: id_ for id_, token in enumerate(tokens)}
    if len(ids) != len(tokens) or b"" in ids:
        return "two of its tokens have the same spelling, or one has none"
    if recipe.lists_merges:
        if len({merge[:2] for merge in model.merges}) != len(model.merges):
            return "it has a pair with two merges"
        if any(tokens[one] + tokens[two] != tokens[new] for one, two, new, *_ in model.merges):
            return "a merge of it makes a token that is spelled otherwise"
    return None


def page_data(models: Sequence[tuple[str, FilledRecipe]]) -> dict[str, Any]:
    """What the page holds of the models, in their order.

    Args:
        models: each with its name, as the page shows it.

    Returns:
        `models`: for each `name`, and either `reason` or what the script needs; `unicode` and
        `blobs`: the tables that they share, compressed, in base64.
    """
    blobs: list[bytes] = []
    rows: list[dict[str, Any]] = []
    left = MOST_BYTES
    for name, model in models:
        reason = supported(model)
        row = {"name": name, "reason": reason} if reason else {"name": name, **_row(model, blobs)}
        if not reason:
            left -= len(row["columns"])
            if left < 0:
                row = {"name": name, "reason": "the page would become too large with it"}
        rows.append(row)
    has_bert = any(
        step["kind"] == "bert" for row in rows if "columns" in row for step in row["normalizers"]
    )
    tables = {"nfd": [], "lower": [], "order": [], **_classes()}
    if has_bert:
        tables = _bert_tables()
    return {
        "models": rows,
        "unicode": _packed(json.dumps(tables, separators=(",", ":")).encode()),
        "blobs": list(map(_packed, blobs)),
    }


def _packed(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data, 9)).decode()


def _row(model: FilledRecipe, blobs: list[bytes]) -> dict[str, Any]:
    recipe = model.recipe
    before, after = _template(model)
    return {
        "size": model.size,
        "units": recipe.units,
        "normalizers": [_step(part, blobs) for part in recipe.normalizers],
        "split": native_parts(recipe.pre_tokenizers),
        "segmentation": recipe.segmentation,
        "unk": None if recipe.unk_token is None else model.special_ids[recipe.unk_token],
        "unknown": recipe.unknown,
        "unknownScore": _unknown_score(model) if recipe.traits.has_scores else 0,
        "fuse": recipe.fuse_unknown,
        "bytes": _bytes(model) if recipe.byte_fallback else None,
        "whole": recipe.whole_words,
        "most": recipe.max_input_chars,
        "prefix": recipe.marker.text,
        "single": recipe.rounds_to_single,
        "hasRanks": recipe.has_ranks and bool(model.scores),
        "reserved": sorted(model.reserved_ids),
        "special": sorted(model.special_ids.values()),
        "added": [
            (token.text, token.id, not token.special or token.named)
            for token in model.added
            if token.listed
        ],
        "before": before,
        "after": after,
        "columns": _packed(_columns(model)),
    }


def _unknown_score(model: FilledRecipe) -> float:
    """10 below the lowest score: of the pieces in SentencePiece, of all in Hugging Face's."""
    if not model.recipe.rounds_to_single:
        return min(model.scores, default=sys.float_info.max) - 10
    others = model.reserved_ids | model.user_defined
    scores = [_single(score) for id_, score in enumerate(model.scores) if id_ not in others]
    return _single(min(scores, default=_MOST_SINGLE) - 10)


#: The highest number of 32 bits.
_MOST_SINGLE = float(2**128 - 2**104)


def _single(number: float) -> float:
    """The number rounded to 32 bits."""
    return float(struct.unpack("f", struct.pack("f", number))[0])


def _bytes(model: FilledRecipe) -> list[int]:
    return [-1 if id_ == _native.NO_ID else id_ for id_ in byte_ids(model)]


def _template(model: FilledRecipe) -> tuple[list[int], list[int]]:
    """The ids that the post-processor puts before and behind a text."""
    sides: tuple[list[int], list[int]] = ([], [])
    for part in model.recipe.post_processors:
        if part.kind != "template":
            continue
        behind = False
        for piece in template_pieces(part["single"]):
            if piece.sequence is not None:
                behind = True
            elif piece.token is not None:
                sides[behind].append(model.special_ids[piece.token])
    return sides


def _step(part: Part, blobs: list[bytes]) -> dict[str, Any]:
    """A normalizer for the script; rules of SentencePiece's are shared by the models."""
    (step,) = native_parts([part])
    if step["kind"] != "chars-map":
        return step
    blob = step["blob"] if "blob" in step else _native.chars_map_named(step["name"])
    if blob not in blobs:
        blobs.append(blob)
    return {"kind": "chars-map", "blob": blobs.index(blob)}


def _varints(numbers: Iterable[int]) -> bytes:
    out = bytearray()
    for number in numbers:
        while number > 127:
            out.append(number & 127 | 128)
            number >>= 7
        out.append(number)
    return bytes(out)


def _columns(model: FilledRecipe) -> bytes:
    """Vocabulary and merges, or scores: numbers as varints (LEB128)."""
    recipe = model.recipe
    # Tokens of bytes are texts of a character for each byte; lengths are in UTF-16 units.
    encoding = "latin-1" if recipe.is_byte_level else "utf-8"
    texts = [token.decode(encoding) for token in model.tokens]
    lengths = [len(text.encode("utf-16-le")) // 2 for text in texts]
    text = "".join(texts).encode()
    parts = [_varints(lengths), _varints([len(text)]), text]
    if recipe.lists_merges:
        last, made = -1, []
        for merge in model.merges:
            step = merge.token - last - 1
            made.append(2 * step if step >= 0 else -2 * step - 1)
            last = merge.token
        parts += [_varints([len(made)]), _varints(made)]
        parts.append(_varints(lengths[merge.left] for merge in model.merges))
    elif recipe.has_ranks and model.scores:
        parts.append(_varints(_ranks(model)))
    elif recipe.traits.has_scores:
        single = recipe.rounds_to_single
        defined = model.user_defined
        scores = [
            0.1 * (len(token) - 1) if id_ in defined else score
            for id_, (token, score) in enumerate(zip(model.tokens, model.scores, strict=True))
        ]
        parts.append(struct.pack(f"<{len(scores)}{'f' if single else 'd'}", *scores))
    return b"".join(parts)


def _ranks(model: FilledRecipe) -> list[int]:
    """The rank of each token: that of its score, the highest first."""
    reserved = model.reserved_ids
    scores = sorted(
        {score for id_, score in enumerate(model.scores) if id_ not in reserved}, reverse=True
    )
    ranks = {score: rank for rank, score in enumerate(scores)}
    return [ranks.get(score, 0) for score in model.scores]


# The properties of characters -----------------------------------------------------------

_LETTER, _NUMBER, _SPACE, _PUNCTUATION, _REMOVED, _MARK, _JOINS = (1 << n for n in range(7))


@cache
def _characters() -> list[str]:
    """Every character but the surrogates, which no text holds."""
    return [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]


@cache
def _of_characters() -> bytes:
    """The class of every code point, as the core's pre-tokenizers show it."""
    classes = bytearray(0x110000)
    text = "".join(_characters()).encode()

    def mark(name: str, kind: Callable[[str, bool, int], int]) -> None:
        done = 0
        for start, end in [*_native.pre_tokens([{"kind": name}], text), (len(text), len(text))]:
            for place, stop, is_gap in ((done, start, True), (start, end, False)):
                part = text[place:stop].decode()
                found = kind(part[0], is_gap, len(part)) if part else 0
                for char in part if found else "":
                    classes[ord(char)] |= found
            done = end

    def word_kind(first: str, is_gap: bool, _: int) -> int:
        if is_gap:
            return _SPACE
        for other, kind in (("a", _LETTER), ("1", _NUMBER)):
            joined = (other + first).encode()
            if len(_native.pre_tokens([{"kind": "gpt2-words"}], joined)) == 1:
                return kind
        return 0

    def is_punctuation(first: str, is_gap: bool, length: int) -> int:
        if is_gap or length > 1:
            return 0
        around = f"a{first}".encode()
        return _PUNCTUATION * (len(_native.pre_tokens([{"kind": "bert"}], around)) == 2)

    mark("gpt2-words", word_kind)
    mark("bert", is_punctuation)
    return bytes(classes)


def _runs(classes: bytes) -> dict[str, Any]:
    return {"classes": [(len(list(group)), kind) for kind, group in groupby(classes)]}


@cache
def _classes() -> Mapping[str, Any]:
    return _runs(_of_characters())


def _changed(parts: list[dict[str, Any]], between: str = "\n", before: str = "") -> dict[str, str]:
    """The characters that a normalizer changes where they stand behind `before`, with what it makes
    of both; `between` is none that it changes, or that joins what stands beside it."""
    found: dict[str, str] = {}
    characters = [char for char in _characters() if char not in (between, "\n")]
    for start in range(0, len(characters), 1024):
        texts = [before + char for char in characters[start : start + 1024]]
        joined = between.join(texts)
        made = _native.normalize(parts, joined.encode()).decode()
        if made != joined:
            pairs = zip(texts, made.split(between), strict=True)
            found |= {text[-1]: after for text, after in pairs if after != text}
    return found


@cache
def _bert_tables() -> dict[str, Any]:
    """The classes, decompositions, lower case, and the order of the marks that stay."""
    classes = bytearray(_of_characters())
    steps = ("clean_text", "cjk_spacing", "strip_accents", "lowercase")

    def bert(name: str) -> list[dict[str, Any]]:
        return [{"kind": "bert", **{step: step == name for step in steps}}]

    for char, made in _changed(bert("clean_text"), between="a").items():
        if not made:
            classes[ord(char)] |= _REMOVED
    decompose = [{"kind": "nfd"}]
    nfd = _changed(decompose)
    bare = _changed(bert("strip_accents"))
    for char, made in bare.items():
        if not made:
            classes[ord(char)] |= _MARK
    # U+0345 has the highest combining class: a mark that has a lower one goes in front of it.
    last = "\u0345"
    swapped = _changed(decompose, before=last)
    joining = [last, *(char for char in swapped if char not in nfd)]
    for char in joining:
        classes[ord(char)] |= _JOINS
    kept = [char for char in joining if bare.get(char, char)]

    def goes_before(one: str, two: str) -> bool:
        made = _native.normalize(decompose, (two + one).encode()).decode()
        return one != two and made == one + two

    hangul = range(0xAC00, 0xAC00 + 11172)
    return {
        **_runs(bytes(classes)),
        "nfd": [(ord(char), made) for char, made in nfd.items() if ord(char) not in hangul],
        "lower": [(ord(char), made) for char, made in _changed(bert("lowercase")).items()],
        "order": [(char, sum(goes_before(other, char) for other in kept)) for char in kept],
    }
