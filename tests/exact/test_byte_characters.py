"""Models of the characters that bytes are spelled with: `ByteLevel` that is not the last step of
a byte-level BPE."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest
import tokenizers as hf
from hypothesis import given
from hypothesis import strategies as st

from tokctl import Tokenizer, formats
from tokctl.model.byte_level import CHARACTERS

Json = dict[str, Any]


def byte_level(*, prefix: bool = False, regex: bool = True) -> Json:
    return {
        "type": "ByteLevel",
        "add_prefix_space": prefix,
        "trim_offsets": False,
        "use_regex": regex,
    }


def split(pattern: str, behavior: str = "Isolated", *, invert: bool = False) -> Json:
    return {
        "type": "Split",
        "pattern": {"Regex": pattern},
        "behavior": behavior,
        "invert": invert,
    }


def several(*steps: Json) -> Json:
    return {"type": "Sequence", "pretokenizers": list(steps)}


LETTERS = [CHARACTERS[byte] for byte in range(256)]
IDS = {token: id_ for id_, token in enumerate([*LETTERS, "ab", "Ġa", "Ð²", "<unk>", "12"])}
MERGES = [("a", "b"), ("Ġ", "a"), ("Ð", "²")]
ENDS = {**{one: id_ for id_, one in enumerate(LETTERS)}}
ENDS |= {f"{one}</w>": 256 + id_ for id_, one in enumerate(LETTERS)}
ENDS |= {"ab</w>": 512, "<|startoftext|>": 513, "<|endoftext|>": 514}
BPE: Json = {"type": "BPE", "vocab": IDS, "merges": MERGES, "unk_token": None}
CLIP = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
#: The pre-tokenizers, the model and whatever else it has.
MODELS: dict[str, tuple[Json | None, Json, Json]] = {
    "digits behind it (Falcon)": (
        several(
            {"type": "Punctuation", "behavior": "Contiguous"},
            byte_level(),
            {"type": "Digits", "individual_digits": False},
            split("[0-9][0-9][0-9]"),
        ),
        BPE,
        {},
    ),
    "a suffix, and spaces left out before it (CLIP)": (
        several(split(CLIP, "Removed", invert=True), byte_level()),
        {
            "type": "BPE", "vocab": ENDS, "merges": [("a", "b</w>")],
            "unk_token": "<|endoftext|>", "end_of_word_suffix": "</w>",
        },
        {"normalizer": {"type": "Sequence", "normalizers": [
            {"type": "NFC"},
            {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "},
            {"type": "Lowercase"},
        ]}},
    ),
    "words": (byte_level(), {"type": "WordLevel", "vocab": IDS, "unk_token": "<unk>"}, {}),
    "WordPiece": (
        byte_level(prefix=True),
        {
            "type": "WordPiece", "unk_token": "<unk>", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": {**IDS, **{f"##{one}": len(IDS) + at for at, one in enumerate(LETTERS)}},
        },
        {},
    ),
    "Unigram": (
        byte_level(prefix=True, regex=False),
        {"type": "Unigram", "unk_id": 0, "vocab": [
            [token, -1 - id_ / 7] for token, id_ in IDS.items()
        ], "byte_fallback": False},
        {},
    ),
    "a vocabulary with more than bytes (Cohere)": (
        byte_level(),
        BPE | {"vocab": {**IDS, "‼": len(IDS), "日": len(IDS) + 1, " ": len(IDS) + 2}},
        {},
    ),
    "a normalizer, and others behind it": (
        {"type": "Digits", "individual_digits": True},
        BPE,
        {"normalizer": {"type": "ByteLevel"}},
    ),
    "twice": (several(byte_level(), byte_level(prefix=True, regex=False)), BPE, {}),
    "before a part that keeps spaces": (several(byte_level(regex=False), split("Ġ")), BPE, {}),
}  # fmt: skip


@cache
def both(name: str) -> tuple[hf.Tokenizer, Tokenizer]:
    pre_tokenizer, model, more = MODELS[name]
    document = {
        "version": "1.0",
        "added_tokens": [],
        "pre_tokenizer": pre_tokenizer,
        "decoder": byte_level(),
        "model": model,
        **more,
    }
    text = json.dumps(document)
    return hf.Tokenizer.from_str(text), Tokenizer(formats.parse(text.encode(), "theirs.json"))


TEXTS = st.text("ab 12½²,.!в\u0432éİ日🧑\t\n\u3000", max_size=30)
#: Not what is newer than this Python's Unicode: there it may be no letter yet.
TEXTS |= st.text(st.characters(exclude_categories=("Cn", "Cs")), max_size=12)


@pytest.mark.few(3)
@pytest.mark.parametrize("name", MODELS)
@given(text=TEXTS)
def test_ids_places_and_text(name: str, text: str) -> None:
    there, here = both(name)
    expected = there.encode(text)
    found = here.encode(text)
    assert found.ids == here.encode_ids(text) == expected.ids
    assert list(here.encode_array(text)) == expected.ids
    assert found.tokens == expected.tokens
    assert found.offsets == expected.offsets
    assert here.decode(expected.ids, errors="replace") == there.decode(expected.ids)


@pytest.mark.few(2)
@pytest.mark.parametrize("name", MODELS)
def test_long_texts_by_threads(name: str) -> None:
    there, here = both(name)
    text = "ab 12 ½в日 a1!\n" * 5000
    expected = there.encode(text).ids
    for threads in (1, 2):
        assert list(here.encode_array(text, threads=threads)) == expected
        assert here.encode_ids([text, "ab"], threads=threads)[0] == expected


@pytest.mark.parametrize("name", MODELS)
def test_written_and_read_again(name: str) -> None:
    there, here = both(name)
    text = "ab 12 ½в日 a1!  it's\n"
    for form in ("tokctl", "huggingface"):
        if formats.losses(here.model, form):
            continue
        written = formats.write(here.model, form)[""]
        assert Tokenizer(formats.parse(written, "m.json")).encode_ids(text) == here.encode_ids(text)
        assert hf.Tokenizer.from_str(written.decode()).encode(text).ids == there.encode(text).ids
