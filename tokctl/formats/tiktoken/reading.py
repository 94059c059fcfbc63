"""Rank files read: ranks, and the facts of the encoding from wherever they are said."""

from __future__ import annotations

import base64
import hashlib
import re

from tokctl import _native
from tokctl.errors import TokctlError
from tokctl.formats import holes
from tokctl.formats.contract import LARGEST_VOCABULARY, InexpressibleError, Source, damaged
from tokctl.formats.rust_patterns import pre_tokenizers_of
from tokctl.formats.tiktoken import sidecar
from tokctl.formats.tiktoken.known import ENCODINGS, KNOWN, Encoding
from tokctl.model import FilledRecipe, Origin, Recipe
from tokctl.model.parts import PRE_TOKENIZERS, Part

#: No rank comes near this.
_MOST_TOKENS = 1 << 24

#: A token in base64 and its rank.
_START = re.compile(
    rb"(?:[A-Za-z0-9+/]{4})*[A-Za-z0-9+/]{2}(?:==|[A-Za-z0-9+/][A-Za-z0-9+/=])"
    rb" [0-9]+[\r\n]"
)


def is_one(source: Source) -> bool:
    """Does it begin with a token and its rank?"""
    return _START.match(source.head) is not None


def read(source: Source) -> FilledRecipe:
    """The model of a file; TokctlError that names it where there is none."""
    beside = _sidecar(source)
    encoding = _encoding(source, beside)
    ranks = _ranks(source.within(LARGEST_VOCABULARY), source.name)
    total = len(ranks) + len(encoding.special)
    if beside and encoding == beside.encoding and beside.explicit_n_vocab not in (None, total):
        raise damaged(
            source.name,
            f"it has {total} ranks and special tokens, and {beside.name} says "
            f"{beside.explicit_n_vocab}",
        )
    try:
        return fill(ranks, encoding)
    except ValueError as error:
        if any(said is not None for said in source.hints):
            raise TokctlError(
                f"{source.name} does not fit the pattern or the special tokens given: {error}",
                "check whether it is the file of that encoding, and the ids",
            ) from None
        raise damaged(source.name, str(error)) from None
    except TokctlError as error:
        raise TokctlError(f"tokctl can't use {source.name}: {error.message}", error.hint) from None


def _sidecar(source: Source) -> sidecar.Sidecar | None:
    if source.path is None or None not in source.hints:
        return None
    found = source.beside(source.path.name + sidecar.SUFFIX)
    return None if found is None else sidecar.read(found, splits=source.hints.pattern is None)


def _encoding(source: Source, beside: sidecar.Sidecar | None) -> Encoding:
    """The facts: those that the caller gives, those of the file beside, those of a known file."""
    pattern, special = source.hints
    # `gpt2` is how text is split, as elsewhere; the encoding has another name, too.
    if pattern in ENCODINGS and pattern != "gpt2":
        encoding = ENCODINGS[pattern]
    elif pattern is not None:
        # Of the file beside, what the caller does not say still holds.
        said = {} if beside is None else beside.encoding.special
        encoding = Encoding("", _parts(pattern), said)
    elif beside is not None:
        encoding = beside.encoding
    else:
        encoding = _known(source)
    return encoding if special is None else encoding._replace(special=special)


def _parts(pattern: str) -> str | tuple[Part, ...]:
    """The pre-tokenizers that the caller names. A regular expression is one of tiktoken's, which
    drops what lies between its matches."""
    if pattern == "none":
        return ()
    if not pattern.startswith("regex:"):
        return tuple(PRE_TOKENIZERS.parse_list(pattern))
    try:
        return pre_tokenizers_of(pattern.removeprefix("regex:"))
    except InexpressibleError as reason:
        raise TokctlError(
            f"tokctl can't split a text as that pattern does: {reason}",
            "name a pattern that every text is made of, or a pre-tokenizer: cl100k",
        ) from None


def _known(source: Source) -> Encoding:
    digest = hashlib.sha256(source.data).hexdigest()
    if digest in KNOWN:
        return KNOWN[digest]
    names = ", ".join(known.name for known in KNOWN.values())
    raise TokctlError(
        f"{source.name} holds ranks of tiktoken's, and tokctl does not know of which encoding: "
        f"its sha256 is {digest}",
        "the file says neither how text is split nor its special tokens. Say it once: tokctl "
        "convert --pattern cl100k_base (or another encoding), llama3 (or another pre-tokenizer) "
        "or 'regex:…'. "
        f"The published files of {names} are known: copy it again if it should be one of these",
    )


def fill(ranks: dict[bytes, int], encoding: Encoding) -> FilledRecipe:
    """The model of an encoding with these ranks.

    Raises:
        ValueError: ids are given twice, or hardly at all; a byte has no token.
    """
    for byte in range(256):
        if bytes([byte]) not in ranks:
            raise ValueError(f"the byte 0x{byte:02X} has no token, and tiktoken needs one")
    by_id = {id_: token for token, id_ in ranks.items()}
    special: dict[int, str] = {}
    for text, id_ in encoding.special.items():
        if not 0 <= id_ < _MOST_TOKENS:
            raise ValueError(f"the special token {text!r} can't have the id {id_}")
        if id_ in special:
            raise ValueError(f"the special tokens {special[id_]!r} and {text!r} have one id")
        special[id_] = text
    tokens, added = holes.fill(by_id, special)
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
    origin = Origin("tiktoken", encoding.name)
    return FilledRecipe(recipe, tokens, added_tokens=added, origin=origin)


_LINES = re.compile(rb"([^\r\n]*)(?:\r\n|[\r\n]|\Z)")


def _ranks(data: bytes, name: str) -> dict[bytes, int]:
    """The ranks, in any order; TokctlError that names the line where one is none."""
    plain = _native.plain_ranks(data)
    if plain is not None:
        return plain
    ranks: dict[bytes, int] = {}
    places: dict[int, int] = {}
    # Line by line: a file that is wrong from the start is not taken apart first.
    for number, found in enumerate(_LINES.finditer(data), 1):
        line = found[1]
        if not line:
            continue  # as tiktoken does
        try:
            text, digits = line.split()
            token = base64.b64decode(text, validate=True)
            if not digits.isdigit() or not token:
                raise ValueError
        except ValueError:
            raise TokctlError(f"{name}, line {number}: no token in base64 and its rank") from None
        rank = int(digits[:20])
        if len(digits) > 20 or rank >= _MOST_TOKENS:
            raise TokctlError(
                f"{name}, line {number}: the rank {digits[:20].decode()} is too large"
            )
        if rank in places:
            raise TokctlError(
                f"{name}, line {number}: line {places[rank]} has the rank {rank}, too"
            )
        if token in ranks:
            raise TokctlError(
                f"{name}, line {number}: line {places[ranks[token]]} has the token {token!r:.80}, "
                "too"
            )
        ranks[token] = rank
        places[rank] = number
    return ranks
