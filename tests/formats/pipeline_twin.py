"""A slow twin of encoding with the parts that SentencePiece's models are read as."""

from __future__ import annotations

import re
from itertools import pairwise

from tokctl.model import Model


def normalize(model: Model, text: str) -> str:
    """For models without rules."""
    given = text
    for part in model.recipe.normalizers:
        if part.kind == "strip-spaces":
            text = text.lstrip(" ") if part["left"] else text
            text = text.rstrip(" ") if part["right"] else text
        elif part.kind == "collapse-spaces":
            text = re.sub(" +", " ", text)
        elif part.kind == "prepend":
            text = part["text"] + text if text else text
        elif part.kind == "dummy-space" and given.strip(" "):
            text = text + " " if part["behind"] else " " + text
        elif part.kind == "dummy-space":
            text = text + " " * bool(text) if part["behind"] else " " * bool(text) + text
        elif part.kind == "replace":
            text = text.replace(part["pattern"], part["content"])
        else:
            raise AssertionError(part)
    return text


def encode(model: Model, normalized: str) -> list[int]:
    """The ids of a normalized text; special tokens are not looked for."""
    found = [token for token in model.added if not token.special]
    assert all(token.normalized and token.literal for token in found)
    names = sorted((token.text for token in found), key=len, reverse=True)
    ids = {token.text: token.id for token in found}
    pattern = "|".join(map(re.escape, names)) or r"(?!)"
    out: list[int] = []
    done = 0
    for match in [*re.finditer(pattern, normalized), None]:
        stretch = normalized[done : match.start() if match else len(normalized)]
        assert not model.recipe.pre_tokenizers or model.recipe.algorithm == "word"
        out += ids_of(model, segment(model, stretch))
        if match:
            out.append(ids[match[0]])
            done = match.end()
    return out


def ids_of(model: Model, pieces: list[str]) -> list[int]:
    """Unknown pieces in a row are one; with byte fallback they are their bytes."""
    recipe = model.recipe
    known = ordinary(model)
    assert recipe.fuse_unknown and recipe.unk_token is not None
    out: list[int] = []
    unknown = False
    for piece in pieces:
        was, unknown = unknown, piece not in known
        if not unknown:
            out.append(known[piece])
        elif recipe.byte_fallback:
            out += [model.tokens.index(b"<0x%02X>" % byte) for byte in piece.encode()]
        elif not was:
            out.append(model.special_ids[recipe.unk_token])
    return out


def ordinary(model: Model) -> dict[str, int]:
    reserved = model.reserved_ids
    return {t.decode(): id_ for id_, t in enumerate(model.tokens) if id_ not in reserved}


def segment(model: Model, text: str) -> list[str]:
    known = ordinary(model)
    how = model.recipe.segmentation
    if how == "lookup":
        return re.findall("▁[^▁]*|^[^▁]+", text)
    if how == "symbols":
        return list(text)
    if how == "ranks":
        pieces = list(text)
        while True:
            joined = [a + b for a, b in pairwise(pieces)]
            best = [(-model.scores[known[t]], at) for at, t in enumerate(joined) if t in known]
            if not best:
                return pieces
            at = min(best)[1]
            pieces[at : at + 2] = [joined[at]]
    assert how == "viterbi"
    lowest = min(model.scores[id_] for id_ in known.values())
    ends: list[tuple[float, int]] = [(0.0, 0)]
    for end in range(1, len(text) + 1):
        options = []
        for start in range(end):
            piece = text[start:end]
            if piece in known:
                options.append((ends[start][0] + model.scores[known[piece]], -start))
            elif end - start == 1:
                options.append((ends[start][0] + lowest - 10, -start))
        best_score, start = max(options)
        ends.append((best_score, -start))
    pieces, at = [], len(text)
    while at:
        pieces.append(text[ends[at][1] : at])
        at = ends[at][1]
    return pieces[::-1]
