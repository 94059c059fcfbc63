"""A document in both libraries: the same texts through it, and what differs."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import tokenizers

from tests.tools.random_pipelines.documents import STAND_INS, Json, document, text
from tokctl import TokctlError, Tokenizer, formats
from tokctl.formats.huggingface.components import native_pattern
from tokctl.model.patterns import compile_pattern, matches


class Difference(NamedTuple):
    """What differs first of one text."""

    seed: int
    what: str
    text: str
    pair: str | None
    ours: Any
    theirs: Any


class Compared(NamedTuple):
    """What became of a seed.

    state: `compared`, or why not.
    strings: texts that both encoded, pairs as two.
    stopped: texts that one of them did not take, by reason.
    """

    state: str
    strings: int
    stopped: Counter[str]
    differences: list[Difference]


def loaded(made: Json) -> tuple[Tokenizer | str, tokenizers.Tokenizer | None]:
    """The document in both; for ours the reason where it is refused."""
    data = json.dumps(made)
    try:
        theirs = tokenizers.Tokenizer.from_str(data)
    except BaseException as error:
        # What it raises of itself, and what it panics with where it normalizes its added tokens.
        if type(error) is not Exception and type(error).__name__ != "PanicException":
            raise
        return f"does not load there: {error}", None
    try:
        return Tokenizer(formats.parse(data.encode(), "random.json")), theirs
    except TokctlError as error:
        return error.message, theirs


#: Normalizers that give what was inserted at the start of a text twice: these two where they
#: compose a later character; elsewhere they panic.
DOUBLING = ("Strip", "NFC", "NFKC")


def faulty(made: Json, theirs: tokenizers.Tokenizer) -> str | None:
    """What the library itself does wrong with such a document; `test_found.py` pins each."""
    if theirs.normalizer is None:
        return None
    contents = {token["content"] for token in made["added_tokens"]}
    found = [token["content"] for token in made["added_tokens"] if token["normalized"]]
    try:
        texts = [theirs.normalizer.normalize_str(content) for content in found]
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        return "it panics as it normalizes an added token"
    others = any(text in contents - {own} for own, text in zip(found, texts, strict=True))
    if len(set(texts)) != len(texts) or "" in texts or others:
        return "two added tokens are normalized alike: any of them is found, or left out, there"
    if any(STAND_INS & {*one} for one in texts) and "ByteLevel" in json.dumps(made["decoder"]):
        return "what an added token is normalized to is decoded as the bytes that it spells"
    doubling = '"ByteLevel"' in json.dumps(made["pre_tokenizer"])
    doubling |= any(f'"{kind}"' in json.dumps(made["normalizer"]) for kind in DOUBLING)
    if inserts(made["normalizer"]) and doubling:
        return "what was inserted is there twice after ByteLevel, Strip, NFC or NFKC"
    return None


#: What patterns of `documents.py` find something in, and nothing.
PROBE = "a foo, \n\u0301low 1x"


def inserts(normalizer: Json | None) -> bool:
    """Does a Replace put its content where it found nothing?"""
    steps = (normalizer or {}).get("normalizers", [normalizer])
    patterns = [step["pattern"] for step in steps if step and step["type"] == "Replace"]
    found = [
        matches(compile_pattern("regex:" + native_pattern(pattern["Regex"])), PROBE)
        for pattern in patterns
        if "Regex" in pattern
    ]
    return any(start == end for spans in found for start, end in spans)


def overlap(made: Json, theirs: tokenizers.Tokenizer) -> bool:
    """Do special and other added tokens have characters in common, where they are looked for?"""
    chars: dict[bool, set[str]] = {True: set(), False: set()}
    for token in made["added_tokens"]:
        chars[token["special"]] |= {*token["content"].lower()}
        if token["normalized"] and theirs.normalizer is not None:
            chars[token["special"]] |= {*theirs.normalizer.normalize_str(token["content"])}
    return bool(chars[True] & chars[False])


def compared(seed: int, strings: int) -> Compared:
    """The document of a seed, with so many texts."""
    made, added = document(seed)
    ours, theirs = loaded(made)
    stopped: Counter[str] = Counter()
    if isinstance(ours, str) or theirs is None:
        return Compared(str(ours), 0, stopped, [])
    if (fault := faulty(made, theirs)) is not None:
        return Compared(fault, 0, stopped, [])
    draw = random.Random(seed + 1)
    special = [token["content"] for token in made["added_tokens"] if token["special"]]
    # Where special tokens are not to be found, theirs may still make them of text, and ones that
    # it comes to hide what other tokens share with them; ours does neither.
    always = any(token.made for token in ours.model.added) or overlap(made, theirs)
    differences: list[Difference] = []
    done = tried = 0
    while tried < strings:
        first = text(draw, added)
        pair = text(draw, added) if draw.random() < 0.2 else None
        add_special, finds = draw.random() < 0.6, draw.random() < 0.8 or always
        tried += 1
        theirs.encode_special_tokens = not finds
        try:
            found = list(both(ours, theirs, first, pair, add_special, special if finds else []))
        except TokctlError as error:
            stopped[error.message[error.message.find(":") + 2 :][:60]] += 1
            continue
        except BaseException as error:
            # What it raises of itself, and what it panics with.
            if type(error) is not Exception and type(error).__name__ != "PanicException":
                raise
            stopped[f"there: {error}"[:60]] += 1
            continue
        done += 1 if pair is None else 2
        for what, a, b in found:
            if a != b:
                differences.append(Difference(seed, what, first, pair, a, b))
                break
    return Compared("compared", done, stopped, differences)


def ends_in_space(name: str) -> bool:
    """Is there white space, or what stands for it, at an end of what a token is called? Trimmed
    offsets lose as many characters of the text, which may have others there."""
    return name != name.strip().strip("Ġ")


def both(
    ours: Tokenizer,
    theirs: tokenizers.Tokenizer,
    first: str,
    pair: str | None,
    add_special: bool,
    special: list[str],
) -> Iterator[tuple[str, Any, Any]]:
    """Each property of the encoding, as ours and theirs."""
    b = theirs.encode(first, pair, add_special_tokens=add_special)
    a = ours.encode(
        first,
        pair,
        special=special or "none",
        add_special=add_special,
    )
    yield "ids", a.ids, b.ids
    if not ours.recipe.drops_unknown:
        # Behind a dropped character theirs are off by its width.
        trims = any(part.kind == "trim-offsets" for part in ours.recipe.post_processors)
        # An added token that the model makes, too, may stand for white space alone: ours go by the
        # id, which does not tell the two apart.
        trimmed = [
            trims
            and id_ in ours.post_processor.as_in_text
            and (name != surface or not surface.strip())
            and any(map(ends_in_space, (name, surface)))
            for id_, name, surface in zip(a.ids, b.tokens, a.surfaces, strict=False)
        ]
        yield (
            "offsets",
            *(
                [place for place, one in zip(places, trimmed, strict=False) if not one]
                for places in (a.offsets, b.offsets)
            ),
        )
    # There an added token is called what the text spells it, and Unigram's unknown stretch what it
    # is; here every id has one name.
    added = {token.id for token in ours.model.added}
    names = [ours.id_to_token(id_) if id_ in added else theirs.id_to_token(id_) for id_ in b.ids]
    yield "tokens", a.tokens, names
    yield "word ids", a.word_ids, b.word_ids
    yield "type ids", a.type_ids, b.type_ids
    yield "special mask", a.special_mask, b.special_tokens_mask
    yield "attention mask", a.attention_mask, b.attention_mask
    if pair is None:
        ids = ours.encode_ids(first, special=special or "none", add_special=add_special)
        yield "ids alone", ids, b.ids
    yield "overflowing", [w.ids for w in a.overflowing], [w.ids for w in b.overflowing]
    for skip in (False, True):
        decoded = ours.decode(b.ids, skip_special=skip, errors="replace")
        yield f"decoded, skip {skip}", decoded, theirs.decode(b.ids, skip_special_tokens=skip)
