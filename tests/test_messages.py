"""What people read when something is wrong: every error has a hint, and reads as the others do."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

from tests.tools import messages
from tests.tools.messages import Collection, Message
from tokctl.core.errors import CODES

#: At least so many errors are in the source: fewer mean that the tool overlooks some.
FEWEST_SITES = 830

#: Words that begin a sentence about something that the sentence does not name.
_OPENINGS = re.compile(r"(it|its|they|them|their|those|these|that|this is|such|so) ", re.IGNORECASE)

#: What is wrong in a text, by the pattern that finds it. Fields are `{}` there.
STYLE = {
    "ends with a full stop": r"[^.]\.$",
    "an exclamation mark": r"![^=]|!$",
    "'please'": r"\bplease\b",
    "apologizes": r"\b(sorry|oops|unfortunately)\b",
    "two spaces, or a space at an end": r"  |^ | $",
    "a space before a mark": r"\w [,;](\s|$)",
    "a contraction of 'is', 'are' or 'will'": r"\b(it|that|there|what)'s\b|\w'(re|ll|ve)\b",
    "'cannot' beside 'can't'": r"\bcannot\b",
    "'e.g.' or 'i.e.'": r"\b(e\.g|i\.e)\b",
    "a spelling with s for z": r"\b(recogni|normali|tokeni|initiali|seriali|organi)s(e|ing|ation)",
    "'is no' before a noun": r"(?<!there )\bis no (?!longer)\w",
}


@cache
def collected() -> Collection:
    return messages.collect()


def test_every_error_is_read() -> None:
    assert collected().unreadable == []
    assert collected().sites >= FEWEST_SITES


def test_the_snapshot_is_up_to_date() -> None:
    shown = messages.SNAPSHOT.read_text(encoding="utf-8")
    assert shown == messages.written(collected().messages), (
        "messages or hints have changed: python -m tests.tools.messages writes the snapshot anew; "
        "read its difference as a user does who sees nothing else"
    )


def test_every_error_has_a_message_a_hint_and_a_known_code() -> None:
    for one in collected().messages:
        assert one.message.strip() and one.code.strip(), one
        assert all(code in CODES for code in one.code.split("/")) or one.code == "{code}", one
        # An error that is reported for several files has its hint once.
        assert one.hint.strip() or one.kind == messages.REWORDED, one


def without_fields(text: str) -> str:
    """Return `text` with `{}` in place of each field."""
    depth, shown = 0, []
    for char in text:
        depth -= char == "}"
        if not depth:
            shown.append(char)
        depth += char == "{"
    return "".join(shown)


@pytest.mark.parametrize("what", STYLE)
def test_style(what: str) -> None:
    wrong = [
        f"{one.module}: {text}"
        for one in collected().messages
        for text in (one.message, one.hint)
        if re.search(STYLE[what], without_fields(text))
    ]
    assert not wrong, f"{what}:\n" + "\n".join(wrong)


def test_messages_begin_in_lower_case() -> None:
    """A message follows `error: `, a hint follows `hint: `: neither begins a sentence."""
    names = r"\w*[A-Z]\w*[A-Z]|(Tokenizer\.|Hugging Face|Megatron|Project Gutenberg|Python|Parquet)"
    wrong = [
        f"{one.module}: {text}"
        for one in collected().messages
        for text in (one.message, one.hint)
        if text[:1].isupper() and not re.match(names, text)
    ]
    assert not wrong, "\n".join(wrong)


def test_no_message_begins_with_a_pronoun() -> None:
    wrong = [
        f"{one.module}: {one.message}"
        for one in collected().messages
        # `formats.contract.unusable` puts "tokctl can't use FILE: " before those of the formats.
        if _OPENINGS.match(one.message) and not one.module.startswith("tokctl.formats.")
    ]
    assert not wrong, "\n".join(wrong)


def test_one_thing_is_said_in_one_way() -> None:
    """Hints that differ in spaces, marks, articles or upper case alone are one hint."""
    spellings: dict[str, set[str]] = defaultdict(set)
    for one in collected().messages:
        for text in (one.message, one.hint):
            said = without_fields(text).replace("--{}", "{}")
            words = re.findall(r"(?!(?:a|an|the)\b)(?<!\w)-{0,2}\w[\w-]*|{}", said.lower())
            if len(words) - words.count("{}") >= 4:
                spellings[" ".join(words)].add(said)
    twice = [sorted(texts) for texts in spellings.values() if len(texts) > 1]
    assert not twice, twice


# The tool itself: what it must follow, and what it must refuse.

ERRORS = (messages.PACKAGE / "core/errors.py").read_text(encoding="utf-8")


def found_in(folder: Path, source: str) -> Collection:
    package = folder / "tokctl"
    (package / "core").mkdir(parents=True)
    (package / "core/errors.py").write_text(ERRORS, encoding="utf-8")
    (package / "one.py").write_text(
        "from tokctl.core.errors import BadInput, BadOption\n" + source, encoding="utf-8"
    )
    found = messages.collect(messages.Package(package))
    return Collection(
        [one for one in found.messages if one.module == "tokctl.one"], found.sites, found.unreadable
    )


def test_the_tool_follows_names_and_helpers(tmp_path: Path) -> None:
    source = """
HINT = "do this"

def bad(name, what, hint=HINT):
    return BadInput(f"{name!r}: {what}", hint, "damaged")

def first(name, few):
    hint = "try few" if few else f"try {name:,}"
    raise BadOption(f"{name} is wrong", hint)

def second(name):
    raise bad(name, "too long")

def third(name):
    raise bad(name, "too short", "make it longer") from None
"""
    assert found_in(tmp_path, source).messages == [
        Message("tokctl.one", "BadInput", "damaged", "{name!r}: too long", "do this"),
        Message("tokctl.one", "BadInput", "damaged", "{name!r}: too short", "make it longer"),
        Message("tokctl.one", "BadOption", "bad-option", "{name} is wrong", "try few"),
        Message("tokctl.one", "BadOption", "bad-option", "{name} is wrong", "try {name:,}"),
    ]


def test_the_tool_follows_subclasses(tmp_path: Path) -> None:
    source = """
class LostError(BadInput):
    def __init__(self, file, problem):
        super().__init__(f"{file} is damaged: {problem}", "copy it again", "damaged")

def lost(file):
    raise LostError(file, "another checksum")
"""
    message = "{file} is damaged: another checksum"
    assert found_in(tmp_path, source).messages == [
        Message("tokctl.one", "LostError", "damaged", message, "copy it again")
    ]


@pytest.mark.parametrize(
    "source",
    [
        "def wrong(): raise BadOption('wrong', other(), 'conflict')",
        "def wrong(): raise BadOption(names[0], 'right')",
        "def wrong(hint): raise BadOption('wrong', hint)",
        "def wrong(): raise BadOption('wrong', None)",
        "def wrong(): raise BadOption('wrong')",
        "def wrong(): raise BadOption('wrong', f\"give {'low': 5}\")",
    ],
)
def test_the_tool_refuses_what_it_cannot_read(source: str, tmp_path: Path) -> None:
    found = found_in(tmp_path, source + "\n")
    assert len(found.unreadable) == 1 and found.unreadable[0].startswith("tokctl.one:2: ")
