"""Special tokens, and what ordinary text can do with them.

**Ordinary text** is text for which no special token is allowed (`special="none"`). A token
**looks like a control token** if it is `<|…|>`; `[…]` with capitals, digits and `_`, or BERT's
`[unused7]`; `<…>` or `</…>` with one of the names in `_ROLES`, alone or with more behind a `_`;
or `<0x41>` where such tokens stand for bytes. HTML's tags and the types of programs (`<div>`,
`<int>`) do not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from tokctl.analysis.health.report import Example
from tokctl.analysis.health.subject import Answer, Subject
from tokctl.formats.holes import filler
from tokctl.model.symbols import BYTE_TOKENS

_ROLES = (
    "s|unk|unknown|pad|bos|eos|sep|cls|mask|eod|eot|eom|eop|bom|pre|suf|mid|fim|sys|inst|"
    "user|assistant|system|human|bot|think|thinking|tool|tools|function|image|img|audio|video|"
    "vision|start|end|begin|turn|extra|unused|reserved|special|sentinel|mention|endoftext"
)
_CONTROL = re.compile(
    r"<\|[^<>|]+\|>"
    r"|\[/?[A-Z][A-Z0-9_]+\]|\[unused\d+\]"
    rf"|</?(?:{_ROLES})(?:[_-]?\w*_\w*|\d*)>"
)
#: What a chat template names.
_NAMED = re.compile(r"<\|[\w.-]+\|>", re.ASCII)
_TEMPLATE = re.compile(r"\.jinja\Z")
_CONFIGURATIONS = ("tokenizer_config.json", "special_tokens_map.json")


def check(subject: Subject) -> Iterator[Answer]:
    yield _from_text(subject)
    yield _control(subject)
    yield _without_id(subject)
    yield subject.finding("no-unknown-token", int(_meets_nothing(subject)), 1)


def looks_like_control(text: str) -> bool:
    """Does a token look like a control token?"""
    return _CONTROL.fullmatch(text) is not None


def _from_text(subject: Subject) -> Answer:
    """Special tokens that their own spelling gives; the unknown token stands for whatever is
    unknown, its own spelling among it."""
    unk_id = subject.tokenizer.unk_id
    special = {text: id_ for text, id_ in subject.tokenizer.special_ids.items() if id_ != unk_id}
    ids = [id_ for text, id_ in special.items() if subject.gives(text, id_)]
    return subject.found("special-from-text", ids, len(special))


def _control(subject: Subject) -> Answer:
    """Ordinary and added tokens that look like control tokens, as far as text gives them."""
    special = subject.tokenizer.special_ids
    taken = set(special.values())
    candidates = {
        id_: text
        for id_, text in subject.texts_of.items()
        if id_ not in taken and (text.strip() in special or looks_like_control(text.strip()))
    }
    for token in subject.model.added:
        if not token.special and looks_like_control(token.text.strip()):
            candidates[token.id] = token.text
    tokens = subject.model.tokens
    spelled = tokens if subject.recipe.byte_fallback else ()
    candidates |= {id_: data.decode() for id_, data in enumerate(spelled) if data in BYTE_TOKENS}
    given = {id_ for id_, text in candidates.items() if subject.gives(text, id_)}
    notes = dict.fromkeys(_always_found(subject), "an added token")
    notes |= {id_: "the text of a special token" for id_ in given if candidates[id_] in special}
    of = subject.tokenizer.vocab_size - len(special)
    return subject.found(
        "control-from-text", sorted(given), of, notes=lambda id_: notes.get(id_, "")
    )


def _always_found(subject: Subject) -> list[int]:
    return [token.id for token in subject.model.added if not token.special]


def _without_id(subject: Subject) -> Answer:
    """What the recipe, and the files that came with the model, name as special tokens."""
    known = subject.tokenizer.vocabulary
    named = dict.fromkeys(
        (text for text in subject.tokenizer.special_ids if text != filler(known[text])),
        "the recipe",
    )
    for file, text in sorted(subject.model.companions.items()):
        for name in _names_of(file, text):
            named.setdefault(name, file)
    missing = [name for name in named if name not in known]
    examples = (
        Example(None, name, name.encode("utf-8", "surrogatepass"), named[name])
        for name in missing[: subject.limit]
    )
    return subject.finding("special-without-id", len(missing), len(named), examples=examples)


def _names_of(file: str, text: str) -> Iterator[str]:
    """The special tokens that a companion names: by their role, or in a chat template."""
    if _TEMPLATE.search(file):
        yield from _NAMED.findall(text)
    if file not in _CONFIGURATIONS:
        return
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return
    if not isinstance(data, dict):
        return
    for role, value in data.items():
        if role.endswith("_token"):
            yield from _content(value)
        elif role in ("additional_special_tokens", "extra_special_tokens"):
            listed = list(value.values()) if isinstance(value, dict) else value
            for one in listed if isinstance(listed, list) else ():
                yield from _content(one)
        elif role == "chat_template" and isinstance(value, str):
            yield from _NAMED.findall(value)


def _content(value: Any) -> Iterator[str]:
    text = value.get("content") if isinstance(value, dict) else value
    if isinstance(text, str) and text:
        yield text


def _meets_nothing(subject: Subject) -> bool:
    """Can the model meet a character that nothing stands for?"""
    recipe = subject.recipe
    # A byte-level model meets bytes alone, and byte fallback gives each character some:
    # `missing-bytes` and `missing-byte-tokens` say whether they are all there.
    return recipe.units != "bytes" and recipe.unk_token is None and not recipe.byte_fallback
