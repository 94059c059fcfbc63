"""Duplicates, holes, bytes: what is wrong with a vocabulary, whatever the text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.explain.every import model
from tests.explain.health.sick import (
    CHARACTERS,
    byte_level_model,
    finding,
    health,
    merging,
    reason,
    tokens,
    unigram,
)
from tokctl import Tokenizer
from tokctl.analysis.health.vocabulary import TEXT, may_be_utf8
from tokctl.model import Marker, Model
from tokctl.model.byte_level import NEVER_IN_UTF8
from tokctl.model.presets import BPE_CHARACTERS

HEALTHY = byte_level_model(["ab", "abc", " a"])


def test_a_healthy_model() -> None:
    report = health(HEALTHY)
    assert [one.name for one in report.findings] == ["partial-utf8", "never-utf8"]
    assert report.verdict == "info"
    assert report.at_least("warning") == ()


# -- duplicates -----------------------------------------------------------------------------


def test_duplicates_in_the_same_place() -> None:
    recipe = replace(BPE_CHARACTERS, marker=Marker("none", ""), pre_tokenizers="whitespace")
    tokens_ = [token.encode() for token in recipe.special_tokens] + [b"a", b"b", b"a"]
    sick = Tokenizer(Model(recipe, tokens_))
    found = finding(health(sick), "duplicates-in-place")
    assert found is not None
    first = len(recipe.special_tokens)
    assert [(one.id, one.note) for one in found.examples] == [
        (first, f"as #{first + 2}"),
        (first + 2, f"as #{first}"),
    ]
    assert found.detail == "1 text has two ids or more."


def test_the_same_text_elsewhere_in_a_word() -> None:
    tokenizer = unigram({"▁a": -1.0, "a": -2.0, "b": -2.0, "▁": -3.0}, pre_tokenizers="metaspace")
    report = health(tokenizer)
    assert finding(report, "duplicates-in-place") is None
    assert tokens(report, "duplicates-alone") == ["▁a", "a"]
    assert finding(health(HEALTHY), "duplicates-alone") is None


# -- holes ------------------------------------------------------------------------------------


def test_holes_that_a_reader_has_filled(tmp_path: Path) -> None:
    import base64

    rows = [(byte, bytes([byte])) for byte in range(256)] + [(258, b"ab"), (260, b"abc")]
    path = tmp_path / "some.tiktoken"
    path.write_text("".join(f"{base64.b64encode(t).decode()} {id_}\n" for id_, t in rows))
    tokenizer = Tokenizer.load(path, pattern="gpt2", special_tokens={"<|end|>": 257})
    found = finding(health(tokenizer), "holes-in-ids")
    assert found is not None
    assert [one.id for one in found.examples] == [256, 259]
    assert (found.count, found.of) == (2, 261)
    assert finding(health(HEALTHY), "holes-in-ids") is None


# -- bytes ------------------------------------------------------------------------------------


def test_missing_bytes() -> None:
    model_ = HEALTHY.model
    gone = {b"\xe2", b"\xff", b"q"}
    kept = [token for token in model_.tokens if token not in gone]
    ids = {token: id_ for id_, token in enumerate(kept)}
    old = model_.tokens
    merges = [
        merge._replace(
            left=ids[old[merge.left]], right=ids[old[merge.right]], token=ids[old[merge.token]]
        )
        for merge in model_.merges
    ]
    report = health(Tokenizer(replace(model_, tokens=kept, merges=merges)))
    assert report.verdict == "error"
    assert tokens(report, "missing-bytes") == ["0x71", "0xE2"]
    assert tokens(report, "missing-binary-bytes") == ["0xFF"]
    found = finding(report, "missing-bytes")
    assert found is not None
    assert [(one.id, one.data) for one in found.examples] == [(None, b"q"), (None, b"\xe2")]
    assert found.of == 243
    assert finding(health(HEALTHY), "missing-bytes") is None
    assert "characters" in reason(health(merging(["ab"])), "missing-bytes")


def test_missing_byte_tokens() -> None:
    pieces = {f"<0x{byte:02X}>": -9.0 for byte in range(256)} | {"a": -1.0}
    healthy = unigram(pieces, byte_fallback=True)
    assert finding(health(healthy), "missing-byte-tokens") is None
    del pieces["<0xC3>"], pieces["<0xC0>"]
    sick = unigram(pieces, byte_fallback=True)
    assert tokens(health(sick), "missing-byte-tokens") == ["0xC3"]
    assert "fall back" in reason(health(HEALTHY), "missing-byte-tokens")


def test_bytes_of_utf_8() -> None:
    every = {
        byte
        for char in range(0x110000)
        if not 0xD800 <= char < 0xE000
        for byte in chr(char).encode()
    }
    assert every == TEXT
    assert set(range(256)) - every == NEVER_IN_UTF8


@given(st.binary(min_size=1, max_size=5))
def test_what_may_be_utf_8_against_trying(data: bytes) -> None:
    assert may_be_utf8(data) == by_trying(data)


EDGES = """80 808080 80808080 e080 e0a0 eda0 ed9f edbf edbf80 f490 f48f f080 f09080 c3 c361 8061f0
bfbfbfc3 c0 f5 61c162 c3a9 fffe e2 e282 e28261 61eda0"""


@pytest.mark.parametrize("data", [*map(bytes.fromhex, EDGES.split())], ids=bytes.hex)
def test_edges_of_utf_8(data: bytes) -> None:
    assert may_be_utf8(data) == by_trying(data)


def by_trying(data: bytes) -> bool:
    """Puts every kind of beginning before and of end behind."""
    begins = [b"", b"\xc3", b"\xe1", b"\xe1\x80", b"\xf1", b"\xf1\x80", b"\xf1\x80\x80"]
    begins += [b"\xe0", b"\xed", b"\xf0", b"\xf4"]
    ends = [b"", *(bytes(tail) for tail in ([0x80], [0xA0], [0x90]))]
    ends += [tail + b"\x80" * more for tail in ends[1:] for more in (1, 2)]
    for begin in begins:
        for end in ends:
            try:
                (begin + data + end).decode()
            except UnicodeDecodeError:
                continue
            return True
    return False


def test_partial_and_impossible_tokens() -> None:
    words = {
        "é": "partial",
        "é".encode() + b"\xc3": "partial",
        b"\xffa": "never",
        b"a\xc3b": "never",
    }
    tokens_ = [*HEALTHY.model.tokens, *(w if isinstance(w, bytes) else w.encode() for w in words)]
    sick = Tokenizer(replace(HEALTHY.model, tokens=tokens_))
    report = health(sick, limit=2)
    partial, never = finding(report, "partial-utf8"), finding(report, "never-utf8")
    assert partial is not None and never is not None
    assert partial.count == 256 - 128 - 13 + 1  # é itself is whole
    assert partial.examples[0].data == b"\xc3\xa9\xc3"
    assert never.count == 13 + 2
    assert [one.data for one in never.examples] == [b"\xffa", b"a\xc3b"]


def test_the_rest_of_the_kinds() -> None:
    report = health(model("llama2"))
    assert finding(report, "missing-byte-tokens") is None
    assert "characters" in reason(health(merging(["ab"], CHARACTERS)), "partial-utf8")
