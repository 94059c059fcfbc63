"""Rank files written, with the file beside them that says the rest."""

from __future__ import annotations

import binascii
import hashlib
from itertools import pairwise

from tokctl.formats import holes, merging
from tokctl.formats.contract import Files, InexpressibleError, Loss, companions_lost, training_lost
from tokctl.formats.rust_patterns import pattern_of
from tokctl.formats.tiktoken import sidecar
from tokctl.formats.tiktoken.known import KNOWN
from tokctl.model import FilledRecipe
from tokctl.model.parts import AddedToken, Part, template_pieces


def losses(model: FilledRecipe) -> list[Loss]:
    """What a rank file and the file beside it can't hold."""
    _ranked(model)
    recipe = model.recipe
    found = [Loss(f"the normalizer {part}") for part in recipe.normalizers]
    try:
        pattern_of(recipe.pre_tokenizers)
    except InexpressibleError as reason:
        found.append(Loss(f"how text is split: {reason}"))
    found += [Loss(f"the decoder {part}") for part in recipe.decoders if part.kind != "byte-level"]
    found += [Loss(f"the post-processor {part}") for part in recipe.post_processors if _adds(part)]
    found += _losses_of_added(model)
    if any(part.kind == "trim-offsets" for part in recipe.post_processors):
        found.append(Loss("that offsets leave spaces out", minor=True))
    return [*found, *training_lost(model), *companions_lost(model)]


def write(model: FilledRecipe) -> Files:
    """The ranks in the order of the ids, and the file beside them."""
    model = _ranked(model)
    apart = model.apart
    ranks = [(token, id_) for id_, token in enumerate(model.tokens) if id_ not in apart]
    special = {token.text: token.id for token in model.added if token.id in apart}
    if model.origin is not None and model.origin.format == "tiktoken":
        # A hole of the file that it came from is a hole again.
        special = {text: id_ for text, id_ in special.items() if text != holes.filler(id_)}
    try:
        pattern = pattern_of(model.recipe.pre_tokenizers)
    except InexpressibleError:
        pattern = pattern_of(())
    whole = len(ranks) + len(special) == len(model.tokens)
    encode = binascii.b2a_base64
    data = b"".join([b"%s %d\n" % (encode(token, newline=False), id_) for token, id_ in ranks])
    beside = sidecar.write(
        name=_name(model, data),
        pattern=pattern,
        special=special,
        explicit_n_vocab=len(model.tokens) if whole else None,
    )
    return {"": data, sidecar.SUFFIX: beside}


def _name(model: FilledRecipe, data: bytes) -> str:
    """What the encoding is called: as where it came from, as the file is known, as its recipe."""
    if model.origin is not None and model.origin.name:
        return model.origin.name
    known = KNOWN.get(hashlib.sha256(data).hexdigest())
    return known.name if known else model.recipe.name


def _ranked(model: FilledRecipe) -> FilledRecipe:
    """The model segmented by its ids; InexpressibleError where these are not its ranks."""
    recipe = model.recipe
    if recipe.algorithm != "bpe":
        raise InexpressibleError(f"tiktoken has BPE alone, and this is {recipe.algorithm}")
    if not recipe.is_byte_level:
        raise InexpressibleError("tiktoken's BPE is one of bytes, and this is one of characters")
    ranked = merging.by_ranks(model, scored=False)
    apart = ranked.apart
    own = [token for id_, token in enumerate(ranked.tokens) if id_ not in apart]
    known = set(own)
    if len(known) != len(own):
        raise InexpressibleError("two of its tokens are the same bytes")
    if any(bytes([byte]) not in known for byte in range(256)):
        raise InexpressibleError("not every byte has a token")
    if not recipe.whole_words:
        _check_whole_words(ranked)
    return ranked


def _check_whole_words(model: FilledRecipe) -> None:
    """InexpressibleError where a pre-token is a token, and the merges don't make it one."""
    made = {merge.token for merge in merging.by_merges(model).merges} | model.apart
    for id_, token in enumerate(model.tokens):
        if id_ not in made and len(token) > 1:
            raise InexpressibleError(
                f"no merge makes {model.spelled[id_]!r}, and tiktoken would take it for a "
                "pre-token that reads so"
            )


def _adds(part: Part) -> bool:
    """Does a post-processor put tokens around a text?"""
    if part.kind != "template":
        return False
    return any(piece.token is not None for piece in template_pieces(part["single"])) or any(
        piece.token is not None for piece in template_pieces(part["pair"])
    )


def _losses_of_added(model: FilledRecipe) -> list[Loss]:
    found = []
    flagged = [token.text for token in model.added if token.special and not _is_plain(token)]
    always = [token.text for token in model.added if not token.special]
    if flagged:
        found.append(Loss(f"how special tokens are found ({_listed(flagged)})"))
    if always:
        found.append(Loss(f"added tokens that are no special tokens ({_listed(always)})"))
    texts = sorted(token.text for token in model.added if token.special)
    alike = [text for text, longer in pairwise(texts) if longer.startswith(text)]
    if alike:
        found.append(
            Loss(f"which of two special tokens is found where one begins as the other ({alike[0]})")
        )
    kinds = {token.normalized for token in model.added}
    if len(kinds) > 1 and not flagged and not always:
        found.append(Loss("that some special tokens are looked for before others"))
    return found


def _is_plain(token: AddedToken) -> bool:
    return not (token.single_word or token.strip_left or token.strip_right)


def _listed(texts: list[str]) -> str:
    return ", ".join(texts[:3]) + (f" and {len(texts) - 3} more" if len(texts) > 3 else "")
