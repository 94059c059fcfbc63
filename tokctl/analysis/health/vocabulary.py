"""Checks of the vocabulary itself: ids, special tokens, bytes, scripts and characters."""

from __future__ import annotations

import codecs
import json
import re
from collections import Counter
from collections.abc import Collection, Hashable, Iterator, Mapping
from typing import Any

from tokctl import _native
from tokctl.analysis.explain.vocabulary import place_of
from tokctl.analysis.health.results import CheckResult, Example
from tokctl.analysis.health.subject import CheckContext, not_made
from tokctl.formats.holes import filler_text
from tokctl.model.byte_level import BYTE_TOKENS, NEVER_IN_UTF8

# -- Ids: duplicates and holes -------------------------------------------------------------------


def check_duplicates(subject: CheckContext) -> Iterator[CheckResult]:
    """Yield findings about tokens with the same text.

    `duplicates-in-place` compares the text without its marker and the position in a word.
    `duplicates-alone` compares the bytes that one id decodes to; special tokens and ids that decode
    to nothing are left out.
    """
    tokenizer = subject.tokenizer
    places = {id_: (text, place_of(tokenizer, id_)) for id_, text in subject.bare.items()}
    yield _shared(subject, "duplicates-in-place", places)
    decode = tokenizer.decoder.decode
    special = tokenizer.model.special_id_set
    ids = (id_ for id_ in range(tokenizer.vocab_size) if id_ not in special)
    texts = {id_: decode([id_], False) for id_ in ids}
    yield _shared(subject, "duplicates-alone", {id_: text for id_, text in texts.items() if text})


def _shared(subject: CheckContext, name: str, meanings: Mapping[int, Hashable]) -> CheckResult:
    """Return the finding about ids that share a meaning with another id."""
    first: dict[Hashable, int] = {}
    groups: dict[int, list[int]] = {}
    for id_, meaning in meanings.items():
        groups.setdefault(first.setdefault(meaning, id_), []).append(id_)
    shared = {id_: group for group in groups.values() if len(group) > 1 for id_ in group}

    def others(id_: int) -> str:
        return "as " + ", ".join(f"#{other}" for other in shared[id_][:4] if other != id_)

    texts = sum(len(group) > 1 for group in groups.values())
    detail = f"{texts:,} {'text has' if texts == 1 else 'texts have'} two ids or more."
    return subject.found(name, list(shared), len(meanings), notes=others, detail=detail)


def check_holes(subject: CheckContext) -> Iterator[CheckResult]:
    """Yield the finding about holes in the ids.

    A model in memory has no holes. The reader of a file fills each hole with a special token
    `<|unused_ID|>` (`tokctl.formats.holes`), or refuses the file. So this check finds the fillers
    by their spelling.
    """
    added = subject.model.added
    ids = [token.id for token in added if token.special and token.text == filler_text(token.id)]
    yield subject.found("holes-in-ids", ids, subject.tokenizer.vocab_size)


# -- Special tokens, and the ordinary text that gives them ---------------------------------------

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

#: Special tokens named in a chat template.
_NAMED = re.compile(r"<\|[\w.-]+\|>", re.ASCII)
_TEMPLATE = re.compile(r"\.jinja\Z")
_CONFIGURATIONS = ("tokenizer_config.json", "special_tokens_map.json")


def check_specials(subject: CheckContext) -> Iterator[CheckResult]:
    """Yield findings about special tokens that text can give, lookalikes, and names without an id.

    Text is encoded with no special token allowed (`special="none"`).
    """
    yield _from_text(subject)
    yield _control(subject)
    yield _without_id(subject)
    yield subject.finding("no-unknown-token", int(_meets_nothing(subject)), 1)


def looks_like_control(text: str) -> bool:
    """Return whether a token looks like a control token.

    Control tokens are `<|…|>`; `[…]` with capitals, digits and `_`, or BERT's `[unused7]`; `<…>` or
    `</…>` with one of the names in `_ROLES`, alone or followed by `_` and more. HTML's tags and the
    types of programs (`<div>`, `<int>`) are not.
    """
    return _CONTROL.fullmatch(text) is not None


def _from_text(subject: CheckContext) -> CheckResult:
    """Return the finding about special tokens that their own spelling gives as ordinary text.

    The unknown token is left out: it stands for any unknown text, even for its own spelling.
    """
    unk_id = subject.tokenizer.unk_id
    special = {text: id_ for text, id_ in subject.tokenizer.special_ids.items() if id_ != unk_id}
    ids = [id_ for text, id_ in special.items() if subject.gives(text, id_)]
    return subject.found("special-from-text", ids, len(special))


def _control(subject: CheckContext) -> CheckResult:
    """Return the finding about other tokens that look like control tokens and that text gives."""
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


def _always_found(subject: CheckContext) -> list[int]:
    return [token.id for token in subject.model.added if not token.special]


def _without_id(subject: CheckContext) -> CheckResult:
    """Return the finding about special tokens that the recipe or a file names, without an id."""
    known = subject.tokenizer.vocabulary
    named = dict.fromkeys(
        (text for text in subject.tokenizer.special_ids if text != filler_text(known[text])),
        "the recipe",
    )
    for file, text in sorted(subject.model.extra_files.items()):
        for name in _names_of(file, text):
            named.setdefault(name, file)
    missing = [name for name in named if name not in known]
    examples = (
        Example(None, name, name.encode("utf-8", "surrogatepass"), named[name])
        for name in missing[: subject.limit]
    )
    return subject.finding("special-without-id", len(missing), len(named), examples=examples)


def _names_of(file: str, text: str) -> Iterator[str]:
    """Yield the special tokens that an extra file names, by role or in a chat template."""
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


def _meets_nothing(subject: CheckContext) -> bool:
    """Return whether some characters have neither a token nor an unknown token."""
    recipe = subject.recipe
    # A byte-level model reads bytes, and byte fallback writes each character as bytes:
    # `missing-bytes` and `missing-byte-tokens` check whether all bytes have tokens.
    nothing = recipe.unk_token is None and not recipe.byte_fallback
    return nothing and not recipe.is_byte_level


# -- Bytes ---------------------------------------------------------------------------------------

# In UTF-8 (RFC 3629) the bytes C0, C1 and F5 to FF never occur; the other 243 do. A token of a
# byte-level model is **partial** if its bytes are not whole characters but can be part of some:
# they begin or end inside a character. Land and Bartolo (2024, arXiv 2405.05417) call these
# partial UTF-8 sequences. A token is **never** UTF-8 if no bytes before and after make it valid.

TEXT = frozenset(range(256)) - NEVER_IN_UTF8
_MISSING = ("missing-bytes", "missing-binary-bytes")
_PARTS = ("partial-utf8", "never-utf8")
_CONTINUATION = bytes(range(0x80, 0xC0))


def check_bytes(subject: CheckContext) -> Iterator[CheckResult]:
    """Yield findings about missing bytes and about tokens that are not whole characters."""
    tokens = subject.model.tokens
    if subject.recipe.is_byte_level:
        there = {tokens[id_][0] for id_ in subject.reserve}
        yield _missing(subject, _MISSING[0], TEXT, there)
        yield _missing(subject, _MISSING[1], NEVER_IN_UTF8, there)
        never = [id_ for id_ in sorted(subject.partial) if not may_be_utf8(tokens[id_])]
        partial = sorted(subject.partial.difference(never))
        for name, ids in zip(_PARTS, (partial, never), strict=True):
            alone = sum(len(tokens[id_]) == 1 for id_ in ids)
            detail = f"{alone:,} of them are single bytes." if alone else ""
            # All byte-level models share the alphabet, so longer tokens are better examples.
            ids = sorted(ids, key=lambda id_: len(tokens[id_]) == 1)
            yield subject.found(name, ids, len(subject.ordinary), detail=detail)
    else:
        yield from not_made([*_MISSING, *_PARTS], "the model reads characters, not bytes")
    if subject.recipe.byte_fallback:
        there = {int(tokens[id_][3:5], 16) for id_ in subject.byte_tokens}
        yield _missing(subject, "missing-byte-tokens", TEXT, there)
    else:
        yield from not_made(["missing-byte-tokens"], "the model does not fall back to bytes")


def may_be_utf8(data: bytes) -> bool:
    """Return whether some bytes before and after `data` make the whole valid UTF-8."""
    whole = data.lstrip(_CONTINUATION)
    if len(data) - len(whole) > 3:
        return False
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        decoder.decode(whole)
    except UnicodeDecodeError:
        return False
    # Python rejects a surrogate only at its third byte, so check its first two here.
    rest = bytes(decoder.getstate()[0])
    return not (rest[:1] == b"\xed" and rest[1:2] >= b"\xa0")


def _missing(
    subject: CheckContext, name: str, needed: Collection[int], there: Collection[int]
) -> CheckResult:
    """Return the finding about the bytes in `needed` that are not in `there`."""
    bytes_ = sorted(set(needed).difference(there))
    examples = (Example(None, f"0x{byte:02X}", bytes([byte])) for byte in bytes_[: subject.limit])
    return subject.finding(name, len(bytes_), len(needed), examples=examples)


# -- Scripts and digits --------------------------------------------------------------------------

# A character's script is Unicode's property Script (UAX #24). Common (digits, punctuation, most
# signs) and Inherited (combining marks) fit every script. Scripts that are written together count
# as one, as in UTS #39: Han, Hiragana and Katakana (Japanese), Han and Bopomofo, Han and Hangul
# (Korean).
#
# A token has **lookalikes** if a run of letters (`_LETTERS`) contains letters of at least two of
# Latin, Greek and Cyrillic. Any other mix of scripts is **mixed**. Digits are decimal digits of any
# script (Nd).

#: Most digits in a row that are not a long number.
SHORT = 3

#: Groups of scripts that are written together.
_TOGETHER = (
    frozenset(("Han", "Hiragana", "Katakana")),
    frozenset(("Han", "Bopomofo")),
    frozenset(("Han", "Hangul")),
)

_ALIKE = frozenset(("Latin", "Greek", "Cyrillic"))
_DIGIT = re.compile(r"\d")
_LETTER = re.compile(r"[^\W\d_]")
_LONG_NUMBER = re.compile(rf"\d{{{SHORT + 1},}}")
_LETTERS = re.compile(r"[^\W\d_]+")


def check_scripts(subject: CheckContext) -> Iterator[CheckResult]:
    """Yield findings about tokens that mix scripts."""
    texts = subject.texts_of
    alike: list[int] = []
    mixed: list[int] = []
    notes: dict[int, str] = {}
    for id_, text in texts.items():
        if text.isascii() or fits(scripts := scripts_of(text)):
            continue
        notes[id_] = " + ".join(scripts)
        (alike if has_lookalikes(text) else mixed).append(id_)
    yield subject.found("lookalike-scripts", alike, len(texts), notes=notes.__getitem__)
    yield subject.found("mixed-scripts", mixed, len(texts), notes=notes.__getitem__)


def check_digits(subject: CheckContext) -> Iterator[CheckResult]:
    """Yield findings about digits beside letters, and about long numbers."""
    texts = subject.texts_of
    numbers = {id_: text for id_, text in texts.items() if _DIGIT.search(text)}
    both = [id_ for id_, text in numbers.items() if _LETTER.search(text)]
    yield subject.found("digits-with-letters", both, len(texts))
    runs = {
        id_: max(map(len, _LONG_NUMBER.findall(text)), default=0) for id_, text in numbers.items()
    }
    long = [id_ for id_, run in runs.items() if run]
    by_length = sorted(Counter(run for run in runs.values() if run).items())
    detail = ", ".join(f"{count:,} of {run:,} digits" for run, count in by_length) + "."
    yield subject.found("long-numbers", long, len(texts), detail=detail)


def scripts_of(text: str) -> tuple[str, ...]:
    """Return the scripts of a text by name, sorted, without Common and Inherited."""
    return tuple(sorted(_native.scripts_of(text)))


def fits(scripts: tuple[str, ...]) -> bool:
    """Return whether these scripts are written together."""
    return len(scripts) < 2 or any(together.issuperset(scripts) for together in _TOGETHER)


def has_lookalikes(text: str) -> bool:
    """Return whether a run of letters mixes Latin, Greek or Cyrillic."""
    return any(len(_ALIKE.intersection(scripts_of(run))) > 1 for run in _LETTERS.findall(text))


# -- Characters ----------------------------------------------------------------------------------

#: Most characters of a token that is not long.
LONG = 32
_CONTROL_CHARACTER = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
#: Spaces after another character; line ends don't count as spaces.
_TRAILING = re.compile(r"\S[^\S\r\n\v\f\x1c-\x1f\x85\u2028\u2029]+\Z")


def check_characters(subject: CheckContext) -> Iterator[CheckResult]:
    """Yield findings about damaged text, control characters, spaces and length."""
    texts = subject.texts_of
    whole = len(texts)
    damaged = [id_ for id_, text in texts.items() if "\ufffd" in text]
    yield subject.found("replacement-characters", damaged, whole)
    alphabet = subject.reserve
    control = [
        id_
        for id_, text in texts.items()
        if id_ not in alphabet and _CONTROL_CHARACTER.search(text)
    ]
    yield subject.found("control-characters", control, whole)
    trailing = [
        id_ for id_, text in texts.items() if text[-1:].isspace() and _TRAILING.search(text)
    ]
    yield subject.found("trailing-spaces", trailing, whole)
    sizes = {id_: len(text) for id_, text in texts.items() if len(text) > LONG}
    long = sorted(sizes, key=lambda id_: (-sizes[id_], id_))
    detail = f"The longest has {sizes[long[0]]:,}." if long else ""
    yield subject.found("long-tokens", long, whole, detail=detail)
