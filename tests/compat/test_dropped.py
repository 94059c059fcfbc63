"""Offsets beside characters that are removed: by a normalizer, or by a model without an unknown
token. Such a character belongs to no token, unless it stands inside one."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

tokenizers = pytest.importorskip("tokenizers")

from tests.compat.test_added_tokens import document  # noqa: E402
from tests.exact.strings import EXAMPLES  # noqa: E402
from tokctl import Tokenizer as OurTokenizer  # noqa: E402
from tokctl.extras.compat.tokenizers import Tokenizer  # noqa: E402

MODEL = {"vocab": {"a": 0, "b": 1, "ab": 2, "é": 3, "éa": 4}, "merges": [["a", "b"], ["é", "a"]]}
NORMALIZERS: dict[str, Any] = {
    "literal": {"type": "Replace", "pattern": {"String": "z"}, "content": ""},
    "pattern": {"type": "Replace", "pattern": {"Regex": "z+"}, "content": ""},
    "strip": {"type": "Strip", "strip_left": True, "strip_right": True},
    "accents": {"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "StripAccents"}]},
    "bert": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": False,
             "strip_accents": True, "lowercase": True},
    "nmt": {"type": "Nmt"},
}  # fmt: skip
#: What each of them removes.
REMOVED = {"literal": "z", "pattern": "z", "strip": " ", "accents": "\u0301", "bert": "\0\u0301",
           "nmt": "\x01\x7f"}  # fmt: skip


def of_characters(**parts: Any) -> str:
    return document([], "BPE", MODEL, pre_tokenizer=None, **parts)


def test_a_character_that_the_model_drops(tmp_path: Path) -> None:
    text = of_characters()
    made = Tokenizer.from_str(text)
    for given, offsets in {
        "abz": [(0, 2)], "zab": [(1, 3)], "zabz": [(1, 3)], "abzab": [(0, 2), (3, 5)],
        "zz": [], "bzzzéa": [(0, 1), (4, 6)],
        # It stands inside of the token that is merged over it.
        "azb": [(0, 3)], "zazbz": [(1, 4)],
    }.items():  # fmt: skip
        assert made.encode(given).offsets == offsets
    found = made.encode("abz")
    assert [found.char_to_token(place) for place in range(4)] == [0, 0, None, None]
    assert made.encode_batch(["zab", "éz" * 3])[1].offsets == [(0, 1), (2, 3), (4, 5)]
    # The library counts only what it keeps.
    theirs = tokenizers.Tokenizer.from_str(text)
    assert theirs.encode("abz").offsets == [(0, 2)]
    assert theirs.encode("zab").offsets == [(0, 2)]
    path = tmp_path / "tokenizer.json"
    path.write_text(text)
    ours = OurTokenizer.load(path).encode("zéz ab")
    assert (ours.offsets, ours.byte_offsets) == ([(1, 2), (4, 6)], [(1, 3), (5, 7)])
    command = ["encode", "-m", str(path), "--as", "jsonl", "--offsets"]
    done = subprocess.run(
        [sys.executable, "-m", "tokctl", *command],
        input="zab\n", capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert json.loads(done.stdout.splitlines()[0])["offsets"] == [[1, 3]]


def mapped(theirs: Any, text: str, dropped: str) -> list[tuple[int, int]]:
    """The library's offsets in what it keeps of a text, as places in the text."""
    places = [place for place, character in enumerate(text) if character not in dropped]
    kept = "".join(text[place] for place in places)
    return [(places[a], places[b - 1] + 1) for a, b in theirs.encode(kept).offsets]


@pytest.mark.parametrize("fallback", [False, True])
def test_generated_texts(fallback: bool) -> None:
    """With byte fallback, too: `ß` has bytes there, `z` has none."""
    vocab = {**MODEL["vocab"], "<0xC3>": 5, "<0x9F>": 6}  # type: ignore[dict-item]
    model = {**MODEL, "vocab": vocab, "byte_fallback": fallback}
    text = document([], "BPE", model, pre_tokenizer=None)
    ours, theirs = Tokenizer.from_str(text), tokenizers.Tokenizer.from_str(text)
    draw = random.Random(0)
    for _ in range(max(EXAMPLES // 5, 100)):
        given = "".join(draw.choice("abéz ") for _ in range(draw.randrange(12)))
        found = ours.encode(given)
        assert found.ids == theirs.encode(given).ids
        assert found.offsets == mapped(theirs, given, "z "), given
    if fallback:
        found = ours.encode("zßzaz")
        assert (found.ids, found.offsets) == ([5, 6, 0], [(1, 2), (1, 2), (3, 4)])


def test_a_long_text() -> None:
    """Long texts are cut, encoded by several threads, and have the same offsets."""
    text = of_characters()
    ours, theirs = Tokenizer.from_str(text), tokenizers.Tokenizer.from_str(text)
    draw = random.Random(0)
    given = "".join(draw.choice("aabbéz") for _ in range(100_000))
    assert ours.encode(given).offsets == mapped(theirs, given, "z")


@pytest.mark.parametrize("name", NORMALIZERS)
def test_what_a_normalizer_removes(name: str) -> None:
    text = of_characters(normalizer=NORMALIZERS[name])
    ours, theirs = Tokenizer.from_str(text), tokenizers.Tokenizer.from_str(text)
    removed, draw = REMOVED[name], random.Random(name)
    for _ in range(max(EXAMPLES // 10, 60)):
        given = "".join(draw.choice("ab" + removed) for _ in range(draw.randrange(9)))
        if name == "strip":
            given = given.strip().replace(" ", "").join(("  ", " "))
        found = ours.encode(given)
        assert found.offsets == theirs.encode(given).offsets, given
        for start, end in found.offsets:
            assert given[start] not in removed
            # What is removed behind a character goes with it there, if it was decomposed.
            assert given[end - 1] not in removed or name in ("accents", "bert")
