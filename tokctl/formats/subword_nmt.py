"""subword-nmt's codes: merges in order, and a vocabulary of `token count` lines beside them.

A word is its characters, the last one with `</w>`, and the merges apply in order. subword-nmt ends
each token with `@@` unless it ends a word: its `low@@ er` is `low` and `er</w>` in tokctl. A token
that the vocabulary lacks is split again, as by `subword-nmt apply-bpe --vocabulary`: into the pair
that was first merged into it, until each part is in the vocabulary or is a character. Ids are the
line numbers of the vocabulary, from 0. Characters that the codes have and the vocabulary lacks get
the ids after them.
"""

from __future__ import annotations

import re

from tokctl.core.errors import BadModel, Unsupported
from tokctl.formats.contract import ModelInput, damaged, unless_damaged
from tokctl.formats.huggingface import vocab_files
from tokctl.model import ImportedFrom, Marker, Merge, Model, Recipe
from tokctl.model.events import MergeLog, Removal
from tokctl.model.parts import PRE_TOKENIZERS, AddedToken

_SUFFIX, _SEPARATOR = "</w>", "@@"
_VERSION = re.compile(r"#version: *([0-9.]+)")
_UNKNOWN = ("<unk>", "<UNK>", "[UNK]", "UNK")
#: Words are separated by spaces. White space at the ends of a line belongs to no word.
_SPACES = r"\A[\r ]+|[\r ]*\n[\r\n ]*|[\r ]+\z| "


def vocabulary_names(codes: str) -> list[str]:
    """Return possible names of the vocabulary beside the file `codes`, the likeliest first."""
    candidates = [f"{codes}.vocab", codes.replace("codes", "vocab"), codes.replace("code", "vocab")]
    candidates += [codes.replace("bpe", "vocab"), "vocab", "vocab.txt", "vocab.bpe", "vocabulary"]
    return [name for name in dict.fromkeys(candidates) if name != codes]


def read(source: ModelInput) -> Model:
    """Return the model of the codes and the vocabulary beside them.

    Raises:
        TokctlError: the vocabulary is missing, or one of the two files is damaged.
    """
    vocabulary = _find_vocabulary(source)
    with unless_damaged(source.name):
        pairs = _read_merges(source)
    with unless_damaged(vocabulary.name):
        tokens = _read_tokens(vocabulary)
    with unless_damaged(source.name):
        return _build_model(pairs, tokens)


def _find_vocabulary(source: ModelInput) -> ModelInput:
    file_name = source.path.name if source.path else ""
    candidates = vocabulary_names(file_name)
    found = next((file for name in candidates if (file := source.sibling(name))), None)
    if found is None:
        raise BadModel(
            f"{source.name} holds merges of subword-nmt, and their vocabulary is not beside it",
            f"put it there as {candidates[0]}: subword-nmt get-vocab writes one, with TOKEN COUNT "
            "in each line; a merges.txt needs its vocab.json",
        )
    return found


def _read_merges(source: ModelInput) -> list[tuple[str, str]]:
    """Return the merges in order, without repetitions of earlier merges."""
    lines = [line.strip("\r\n ") for line in vocab_files.read_lines(source)]
    version = _VERSION.match(lines[0])
    if version is None or version[1] in ("0.1", "0.1.0"):
        raise Unsupported(
            "its merges are of version 0.1, in which </w> is a symbol that no token shows",
            "learn the codes again with subword-nmt 0.3, which writes version 0.2",
        )
    if version[1] not in ("0.2", "0.2.0"):
        raise Unsupported(
            f"its merges are of version {version[1]}, and tokctl reads 0.2",
            "learn the codes again with subword-nmt 0.3, which writes version 0.2",
        )
    merges: dict[tuple[str, str], None] = {}
    for number, line in enumerate(lines[1:], 2):
        left, space, right = line.partition(" ")
        if not (left and space and right) or " " in right:
            raise damaged(source.name, f"line {number} is not a pair of symbols")
        merges[left, right] = None
    return list(merges)


def _read_tokens(source: ModelInput) -> list[str]:
    """Return the symbols in the lines of a vocabulary, in order, spelled with `</w>`."""
    tokens = []
    for number, line in enumerate(vocab_files.read_lines(source), 1):
        token, _, count = line.strip("\r\n ").partition(" ")
        if not token or not count.isdecimal():
            raise damaged(source.name, f"line {number} is not a token and its count")
        if token.endswith(_SEPARATOR) and token != _SEPARATOR:
            tokens.append(token.removesuffix(_SEPARATOR))
        else:
            tokens.append(token if token in _UNKNOWN else token + _SUFFIX)
    if len(set(tokens)) != len(tokens):
        repeated = next(text for index, text in enumerate(tokens) if text in tokens[:index])
        raise damaged(source.name, f"the token {repeated!r} occurs twice")
    return tokens


def _build_model(pairs: list[tuple[str, str]], tokens: list[str]) -> Model:
    vocabulary = list(tokens)
    unknown = next((name for name in _UNKNOWN if name in vocabulary), None)
    if unknown is None:
        unknown = _UNKNOWN[0]
        vocabulary.append(unknown)
    merged = {left + right for left, right in pairs}
    texts = set(vocabulary)
    # Characters that merges take and that no line of the vocabulary has.
    symbols = dict.fromkeys(symbol for pair in pairs for symbol in pair)
    vocabulary += [symbol for symbol in symbols if symbol not in merged and symbol not in texts]
    texts |= set(vocabulary)
    removed = [text for text in dict.fromkeys(a + b for a, b in pairs) if text not in texts]
    ids = {text: id_ for id_, text in enumerate([*vocabulary, *removed])}
    merges = [
        Merge(ids[left], ids[right], ids[left + right], 0, 0, 0)
        for left, right in pairs
        if left in ids and right in ids
    ]
    if removed:
        _check_removed_tokens(pairs, set(removed))
    removals = [Removal(len(merges), ids[text], 0, 0) for text in removed]
    recipe = Recipe(
        name="subword-nmt",
        algorithm="scaffold" if removed else "bpe",
        pre_tokenizers=(
            PRE_TOKENIZERS.part("split", pattern=_SPACES, regex=True, behaviour="removed"),
        ),
        marker=Marker("end-fused", _SUFFIX),
        segmentation="demolish" if removed else "merges",
        unk_token=unknown,
        special_tokens=(unknown,),
    )
    events = MergeLog(tuple(text.encode() for text in removed), merges, removals)
    return Model(
        recipe,
        [text.encode() for text in vocabulary],
        merges=[] if removed else merges,
        added_tokens=(AddedToken(unknown, ids[unknown]),),
        events=events if removed else None,
        origin=ImportedFrom("subword-nmt"),
    )


def _check_removed_tokens(pairs: list[tuple[str, str]], removed: set[str]) -> None:
    """Raise TokctlError if a token without an id would not be split into its first merge's pair."""
    first_pairs: dict[str, tuple[str, str]] = {}
    other_pairs: dict[str, list[tuple[str, str]]] = {}
    for pair in pairs:
        text = "".join(pair)
        if text in first_pairs:
            other_pairs.setdefault(text, []).append(pair)
        first_pairs.setdefault(text, pair)
    sizes: dict[str, int] = {}

    def size(text: str) -> int:
        """Return the number of tokens that `text` is split into."""
        stack = [text]
        while stack:
            part = stack[-1]
            if part not in removed or part not in first_pairs:
                sizes[part] = 1
            elif missing := [side for side in first_pairs[part] if side not in sizes]:
                stack += missing
                continue
            else:
                sizes[part] = sum(sizes[side] for side in first_pairs[part])
            stack.pop()
        return sizes[text]

    for text in sorted(removed & other_pairs.keys(), key=len):
        fewest = sum(map(size, first_pairs[text]))
        if any(sum(map(size, pair)) < fewest for pair in other_pairs[text]):
            raise Unsupported(
                f"its token {text!r}, which the vocabulary lacks, is merged in several ways, and "
                "the first one is not the one with the fewest parts",
                "apply the codes with subword-nmt",
            )
