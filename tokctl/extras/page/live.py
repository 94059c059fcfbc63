"""Data with which a page splits any text in the browser.

It consists of compact models and of character properties. These come from the core and from the
`regex` package, so that the Unicode version of the browser does not matter.

`templates/segment.js` reads the data. A model is included only if the script gives exactly tokctl's
ids; for any other model, also one with a new feature, the page gives the reason.
"""

from __future__ import annotations

import base64
import json
import struct
import sys
import zlib
from collections.abc import Iterable, Sequence
from typing import Any

from tokctl import _native
from tokctl.extras.page.live_characters import changes, normal_forms
from tokctl.extras.page.live_patterns import GRAPHEMES, NotInPageError, translated
from tokctl.model import Merge, Model
from tokctl.model.encoders import byte_ids, searched_tokens
from tokctl.model.parts import AddedToken, Part, native_parts, template_pieces
from tokctl.model.patterns import DEEPSEEK_V3, PATTERNS

#: Most bytes that the packed models may take in one page.
MOST_BYTES = 12_000_000

#: Pre-tokenizers that keep the matches of their pattern and drop the rest.
_DROPPING = ("whitespace", "whitespace-punctuation", "bert", "gpt2-words")
#: Characters that the core and Hugging Face's `Punctuation` split off.
_PUNCTUATION = r"[\p{P}$+<=>^`|~]"


class _Tables:
    """Tables shared by the models of a page; each table is stored once and found by its index."""

    def __init__(self) -> None:
        self.classes: list[Any] = []
        self.changes: list[Any] = []
        self.blobs: list[bytes] = []
        #: Normal forms in use: True for NFKC or NFKD, False for NFC or NFD.
        self.forms: set[bool] = set()

    @staticmethod
    def _index_of(entries: list[Any], entry: Any) -> int:
        if entry not in entries:
            entries.append(entry)
        return entries.index(entry)

    def pattern(self, pattern: str) -> dict[str, Any]:
        """Add the classes of a pattern; return their index and the pattern's source."""
        source, classes = translated(pattern)
        return {"classes": self._index_of(self.classes, classes), "source": source}

    def single(self, name: str) -> dict[str, Any]:
        """Add the changes of a normalizer of single characters; return the step."""
        return {"kind": "changes", "changes": self._index_of(self.changes, changes(name))}

    def form(self, name: str) -> dict[str, Any]:
        """Note that a normal form is in use; return the step."""
        is_compatible = "k" in name
        self.forms.add(is_compatible)
        return {"kind": "form", "compatible": is_compatible, "composes": name.endswith("c")}

    def blob(self, blob: bytes) -> int:
        """Add a charsmap; return its index."""
        return self._index_of(self.blobs, blob)

    def packed(self) -> str:
        """Return all tables except the charsmaps as compressed JSON in base64."""
        tables = {
            "classes": [[number for run in runs for number in run] for runs in self.classes],
            "changes": self.changes,
            "forms": normal_forms(compatible=True in self.forms) if self.forms else None,
        }
        return _packed(json.dumps(tables, separators=(",", ":")).encode())


def _why_not(model: Model) -> str | None:
    """Return why the script can't run the model after its pre-tokenizers; None if it can."""
    recipe = model.recipe
    if recipe.segmentation not in _SEGMENTATIONS:
        return f"the page does not segment by {recipe.algorithm}, {recipe.segmentation}"
    if any(part.kind not in ("template", "trim-offsets") for part in recipe.post_processors):
        return "the page does not know its post-processor"
    never = model.reserved_ids - set(_made(model))
    ordinary = [token for id_, token in enumerate(model.tokens) if id_ not in never]
    if len(set(ordinary)) != len(ordinary) or b"" in ordinary:
        return "two of its tokens have the same spelling, or one has none"
    return None


def _made(model: Model) -> list[int]:
    """Return the ids of special tokens that text becomes, too, if special tokens are allowed."""
    return [token.id for token in model.added if token.made]


#: Segmentations by a list of merges, and all others that the script has.
_BY_MERGES = {"merges", "replay", "events", "events-to-symbols", "demolish", "remerge"}
_SEGMENTATIONS = _BY_MERGES | {"ranks", "symbols", "longest-match", "viterbi", "lookup"}


def page_data(models: Sequence[tuple[str, Model]]) -> dict[str, Any]:
    """Return the data of the models for the page.

    Args:
        models: (name as the page shows it, model) pairs, in the page's order.

    Returns:
        A dict: `models`, each with its `name` and either a `reason` or the data for the script;
        `unicode` and `blobs`, the shared tables, compressed and in base64.
    """
    tables = _Tables()
    rows: list[dict[str, Any]] = []
    bytes_left = MOST_BYTES
    for name, model in models:
        try:
            pipeline = _pipeline(model, tables)
            reason = _why_not(model)
        except NotInPageError as refusal:
            reason = str(refusal)
        if reason:
            rows.append({"name": name, "reason": reason})
            continue
        row = {"name": name, **pipeline, **_row(model)}
        bytes_left -= len(row["columns"])
        if bytes_left < 0:
            row = {"name": name, "reason": "the page would become too large with it"}
        rows.append(row)
    return {
        "models": rows,
        "unicode": tables.packed(),
        "blobs": list(map(_packed, tables.blobs)),
    }


def _packed(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data, 9)).decode()


# From text to pre-tokens -------------------------------------------------------------------


def _pipeline(model: Model, tables: _Tables) -> dict[str, Any]:
    """Return the normalizers, pre-tokenizers and added tokens for the script.

    Raises:
        NotInPageError: the script can't do one of them.
    """
    recipe = model.recipe
    for index, part in enumerate(recipe.pre_tokenizers):
        if part.kind == "metaspace" and part["prepend"] == "first":
            if recipe.normalizers:
                raise NotInPageError(
                    "the page can't tell which normalized character was the first of the text"
                )
            if index:
                raise NotInPageError("the page can't tell which piece was the first of the text")
    listed_tokens = [token for token in model.added if token.listed]
    text_only = frozenset(searched_tokens(model, ())[1])
    return {
        "normalizers": [step for part in recipe.normalizers for step in _normalizer(part, tables)],
        "split": [step for part in recipe.pre_tokenizers for step in _split(part, tables)],
        "added": [_found(model, token, token in text_only) for token in listed_tokens],
        "byLength": any(token.longest_first for token in listed_tokens),
        "space": tables.pattern(r"\s")["classes"],
        "word": tables.pattern(r"\w")["classes"],
    }


def _found(model: Model, token: AddedToken, text_only: bool) -> dict[str, Any]:
    """Return an added token for the script, without fields that are False.

    Args:
        model: the model.
        token: one of its added tokens.
        text_only: whether no token is found inside the token where it is not allowed.
    """
    text = token.text
    if token.normalized and not token.literal and model.recipe.normalizers:
        parts = native_parts(model.recipe.normalizers)
        text = _native.normalize(parts, text.encode()).decode()
    row = {
        "text": text,
        "id": token.id,
        "always": not token.special or token.named,
        "textOnly": text_only,
        "alone": token.single_word,
        "left": token.strip_left,
        "right": token.strip_right,
        "later": token.normalized,
    }
    return {name: value for name, value in row.items() if value is not False}


def _normalizer(part: Part, tables: _Tables) -> list[dict[str, Any]]:
    kind = part.kind
    if kind in ("nfc", "nfd", "nfkc", "nfkd"):
        return [tables.form(kind)]
    if kind in ("lowercase", "strip-accents", "nmt", "delete-newlines"):
        return [tables.single(kind)]
    if kind == "bert":
        steps = [tables.single(f"bert {name}") for name, is_set in part.options if is_set]
        if part["strip_accents"]:
            steps.insert(part["clean_text"] + part["cjk_spacing"], tables.form("nfd"))
        return steps
    if kind == "strip":
        space = tables.pattern(r"\s")["classes"]
        return [{"kind": "strip", "classes": space, **dict(part.options)}]
    if kind == "replace" and part["regex"]:
        return [{"kind": "search", **tables.pattern(part["pattern"]), "content": part["content"]}]
    (step,) = native_parts([part])
    if step["kind"] == "chars-map":
        blob = step["blob"] if "blob" in step else _native.chars_map_named(step["name"])
        step = {"kind": "chars-map", "blob": tables.blob(blob), "keep": step["keep"]}
        if dict(part.options).get("graphemes"):
            step["graphemes"] = tables.pattern(GRAPHEMES)
    return [step]


def _split(part: Part, tables: _Tables) -> list[dict[str, Any]]:
    kind = part.kind

    def by(pattern: str, behaviour: str = "isolated", **more: Any) -> dict[str, Any]:
        return {"kind": "search", **tables.pattern(pattern), "behaviour": behaviour, **more}

    if kind in _DROPPING:
        return [by(PATTERNS[kind], "removed", invert=True)]
    if kind == "graphemes":
        return [by(GRAPHEMES)]
    if kind in PATTERNS:
        return [by(PATTERNS[kind])]
    if kind == "deepseek-v3":
        return [by(pattern) for pattern in DEEPSEEK_V3]
    if kind == "digits":
        return [by(r"\p{N}" if part["individual"] else r"\p{N}+")]
    if kind == "digit-groups":
        return [by(r"\p{N}+", groups=part["length"])]
    if kind == "digit-cuts":
        return [by(r"\d+", cuts=part["length"])]
    if kind == "fixed":
        return [by(rf"(?s:.){{1,{part['length']}}}")]
    if kind == "punctuation":
        return [by(_PUNCTUATION, part["behaviour"])]
    if kind == "split" and part["regex"]:
        return [by(part["pattern"], part["behaviour"], invert=part["invert"])]
    if kind == "delimiter":
        return [{"kind": "split", "pattern": part["text"], "behaviour": "removed"}]
    if kind in ("split", "metaspace", "prefix-space", "byte-level"):
        return native_parts([part])
    raise NotInPageError(f"the page does not know its pre-tokenizer {kind}")


# From pre-tokens to ids --------------------------------------------------------------------


def _row(model: Model) -> dict[str, Any]:
    recipe = model.recipe
    prefix_ids, suffix_ids = _template(model)
    return {
        "size": model.size,
        "units": recipe.units,
        "segmentation": recipe.segmentation,
        "unk": None if recipe.unk_token is None else model.special_ids[recipe.unk_token],
        "unknown": recipe.unknown,
        "unknownScore": _unknown_score(model) if recipe.maximizes_probability else 0,
        "fuse": recipe.fuse_unknown,
        "bytes": _bytes(model) if recipe.byte_fallback else None,
        "whole": recipe.whole_words,
        "most": recipe.max_input_chars,
        "marker": recipe.marker,
        "single": recipe.rounds_to_single,
        "hasRanks": recipe.has_ranks and bool(model.scores),
        "reserved": sorted(model.reserved_ids),
        "made": _made(model),
        "special": sorted(model.special_ids.values()),
        "before": prefix_ids,
        "after": suffix_ids,
        **_history(model),
        "columns": _packed(_columns(model)),
    }


def _history(model: Model) -> dict[str, Any]:
    """Return what a plain list of merges does not express: removals and supermerges."""
    history: dict[str, Any] = {}
    if model.events is not None:
        history["removed"] = len(model.events.removed)
        history["removals"] = [removal[:2] for removal in model.events.removals]
    if model.supermerges:
        history["supermerges"] = [merge[:3] for merge in model.supermerges]
    return history


def _unknown_score(model: Model) -> float:
    """Return the score of an unknown character: the lowest score minus 10.

    SentencePiece takes the lowest score of the pieces, Hugging Face the lowest of all tokens.
    """
    if not model.recipe.rounds_to_single:
        return min(model.scores, default=sys.float_info.max) - 10
    excluded = model.reserved_ids | model.user_defined
    scores = [_single(score) for id_, score in enumerate(model.scores) if id_ not in excluded]
    return _single(min(scores, default=_MOST_SINGLE) - 10)


#: Greatest finite number of 32 bits.
_MOST_SINGLE = float(2**128 - 2**104)


def _single(number: float) -> float:
    """Return the number rounded to 32 bits."""
    return float(struct.unpack("f", struct.pack("f", number))[0])


def _bytes(model: Model) -> list[int]:
    return [-1 if id_ == _native.NO_ID else id_ for id_ in byte_ids(model)]


def _template(model: Model) -> tuple[list[int], list[int]]:
    """Return the ids that the post-processor puts before and after a text."""
    sides: tuple[list[int], list[int]] = ([], [])
    for part in model.recipe.post_processors:
        if part.kind != "template":
            continue
        is_after_text = False
        for piece in template_pieces(part["single"]):
            if piece.sequence is not None:
                is_after_text = True
            elif piece.token is not None:
                sides[is_after_text].append(model.special_ids[piece.token])
    return sides


def _varints(numbers: Iterable[int]) -> bytes:
    out = bytearray()
    for number in numbers:
        while number > 127:
            out.append(number & 127 | 128)
            number >>= 7
        out.append(number)
    return bytes(out)


def _columns(model: Model) -> bytes:
    """Return vocabulary and merges, ranks or scores; whole numbers are varints (LEB128)."""
    recipe = model.recipe
    # A byte-level token is stored with one character per byte. Lengths count UTF-16 units.
    encoding = "latin-1" if recipe.is_byte_level else "utf-8"
    texts = [token.decode(encoding) for token in model.tokens]
    lengths = [len(text.encode("utf-16-le")) // 2 for text in texts]
    text = "".join(texts).encode()
    parts = [_varints(lengths), _varints([len(text)]), text]
    merges = model.events.merges if model.events is not None else model.merges
    if recipe.segmentation in _BY_MERGES:
        parts.append(_merges(merges, texts, model.reserved_ids))
    elif recipe.has_ranks and model.scores:
        parts.append(_varints(_ranks(model)))
    elif recipe.maximizes_probability:
        single = recipe.rounds_to_single
        defined = model.user_defined
        scores = [
            0.1 * (len(token) - 1) if id_ in defined else score
            for id_, (token, score) in enumerate(zip(model.tokens, model.scores, strict=True))
        ]
        parts.append(struct.pack(f"<{len(scores)}{'f' if single else 'd'}", *scores))
    return b"".join(parts)


def _merges(merges: Sequence[Merge], texts: Sequence[str], reserved: frozenset[int]) -> bytes:
    """Return merges as varints: their number, whether they are plain, and the merges.

    Merges are plain if both sides of each can be found by their spelling. Then the ids of the new
    tokens follow, each as its zigzag-coded distance from the id after the last one, and then the
    lengths of the left sides. Other merges have left, right and new id.
    """
    ids = sorted(range(len(texts)), key=lambda id_: id_ not in reserved)
    id_of_text = {texts[id_]: id_ for id_ in ids}

    def is_spelled(left_id: int, right_id: int, merged_id: int) -> bool:
        if (
            max(left_id, right_id, merged_id) >= len(texts)
            or texts[left_id] + texts[right_id] != texts[merged_id]
        ):
            return False
        return id_of_text[texts[left_id]] == left_id and id_of_text[texts[right_id]] == right_id

    are_all_spelled = all(is_spelled(*merge[:3]) for merge in merges)
    count = _varints([len(merges), int(are_all_spelled)])
    if not are_all_spelled:
        return count + _varints(number for merge in merges for number in merge[:3])
    last_id, rows = -1, []
    for merge in merges:
        step = merge.token - last_id - 1
        rows.append(2 * step if step >= 0 else -2 * step - 1)
        last_id = merge.token
    sides = (len(texts[merge.left].encode("utf-16-le")) // 2 for merge in merges)
    return count + _varints(rows) + _varints(sides)


def _ranks(model: Model) -> list[int]:
    """Return the rank of each token by score; the highest score has rank 0."""
    reserved = model.reserved_ids
    scores = sorted(
        {score for id_, score in enumerate(model.scores) if id_ not in reserved}, reverse=True
    )
    ranks = {score: rank for rank, score in enumerate(scores)}
    return [ranks.get(score, 0) for score in model.scores]
