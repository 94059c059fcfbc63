"""What has no token, and nothing that stands for it: it is dropped, as in Hugging Face's BPE."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import tokenizers as hf
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.run import tokctl
from tests.errors import raises_code
from tokctl import Tokenizer, default_recipe, formats
from tokctl.model.byte_level import CHARACTERS, NEVER_IN_UTF8

BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False}
TEXTS = st.text("ab c\0§çÀé日¶🧑\t\u200d", max_size=30) | st.text(max_size=12)


def theirs(
    vocabulary: list[str],
    merges: list[tuple[str, str]],
    added: list[str] | None = None,
    **model: object,
) -> str:
    ids = {token: id_ for id_, token in enumerate(vocabulary)}
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    tokens = [{"id": ids[text], "content": text, "special": True, **flags} for text in added or []]
    byte_level = BYTE_LEVEL if model.pop("bytes") else None
    return json.dumps({
        "version": "1.0", "added_tokens": tokens, "normalizer": None, "post_processor": None,
        "pre_tokenizer": byte_level or {"type": "WhitespaceSplit"},
        "decoder": byte_level or {"type": "Fuse"},
        "model": {"type": "BPE", "vocab": ids, "merges": merges, "unk_token": None} | model,
    })  # fmt: skip


def both(text: str) -> tuple[hf.Tokenizer, Tokenizer]:
    return hf.Tokenizer.from_str(text), Tokenizer(formats.parse(text.encode(), "theirs.json"))


def alphabet(missing: frozenset[int]) -> list[str]:
    return [CHARACTERS[byte] for byte in range(256) if byte not in missing]


MISSING = {
    "what UTF-8 never has": NEVER_IN_UTF8,
    "NUL, and the second byte of letters": NEVER_IN_UTF8 | {0, 0xA9, 0xA7},
    "a letter between two that merge": NEVER_IN_UTF8 | {ord(" ")},
    "nearly all": frozenset(range(256)) - {ord("a"), ord("b")},
}


@pytest.mark.few(2)
@pytest.mark.parametrize("missing", MISSING.values(), ids=MISSING)
@given(text=TEXTS)
def test_bytes_without_a_token(missing: frozenset[int], text: str) -> None:
    own = [*alphabet(missing), "ab", "abab"]
    there, here = both(theirs(own, [("a", "b"), ("ab", "ab")], bytes=True))
    assert here.recipe.drops_unknown == (not missing <= NEVER_IN_UTF8)
    expected = there.encode(text).ids
    assert here.encode_ids(text) == here.encode(text).ids == expected
    assert list(here.encode_array(text)) == expected
    assert here.encode_ids([text, text], threads=2) == [expected, expected]
    assert here.decode(expected, errors="replace") == there.decode(expected)


@given(text=TEXTS)
def test_an_unknown_token_stands_for_bytes(text: str) -> None:
    own = [*alphabet(NEVER_IN_UTF8 | {0, 0xA7}), "ab", "<unk>"]
    for fuse in (False, True):
        there, here = both(
            theirs(own, [("a", "b")], ["<unk>"], unk_token="<unk>", fuse_unk=fuse, bytes=True)
        )
        assert here.encode_ids(text) == there.encode(text).ids


@given(text=TEXTS)
def test_characters_without_a_token(text: str) -> None:
    there, here = both(theirs(["a", "b", "é", "ab", "éa"], [("a", "b"), ("é", "a")], bytes=False))
    assert here.recipe.drops_unknown
    expected = there.encode(text).ids
    assert (
        here.encode_ids(text) == here.encode(text).ids == list(here.encode_array(text)) == expected
    )


@pytest.mark.parametrize("token", ["§", "ç", "À", "Ġa"])
@given(text=TEXTS)
def test_a_special_token_spelled_as_a_byte(token: str, text: str) -> None:
    own = [*alphabet(frozenset()), "Ġa"]
    there, here = both(theirs(own, [("Ġ", "a")], [token], bytes=True))
    for given_text in (text, f"{text}{token}{text}"):
        ids = there.encode(given_text).ids
        assert here.encode_ids(given_text, special="all") == ids
        assert here.encode_ids(given_text) == ids
        assert max(ids, default=0) < here.vocab_size
        assert here.decode(ids, errors="replace") == there.decode(ids, skip_special_tokens=False)


def test_a_byte_that_text_never_has_is_an_error() -> None:
    _, here = both(theirs(alphabet(NEVER_IN_UTF8), [], bytes=True))
    with raises_code("no-id"):
        here.encode_ids(b"a\xffb")


def test_places_of_what_is_dropped() -> None:
    _, here = both(theirs(["a", "b", "ab"], [("a", "b")], bytes=False))
    assert here.encode("xaxbx xyz b").offsets == [(1, 4), (10, 11)]


def test_places_behind_dropped_bytes_are_those_of_the_text() -> None:
    """There each token has the place that it would have, were the dropped bytes not in the word:
    the places of all that follows slide to the left, here on to the space. That is a fault of
    theirs: a token's place is not what it was made of."""
    there, here = both(theirs([*"abĠ"], [], bytes=True))
    text = "a xxb"
    found = there.encode(text)
    assert here.encode_ids(text) == found.ids == [0, 2, 1]
    assert found.offsets == [(0, 1), (1, 2), (2, 3)]
    places = here.encode(text).offsets
    assert places == [(0, 1), (1, 2), (4, 5)]
    assert [text[start:end] for start, end in places] == ["a", " ", "b"]


def test_written_and_read_again() -> None:
    _, here = both(theirs([*alphabet(frozenset({0, 0xA7})), "ab"], [("a", "b")], bytes=True))
    for form in ("tokctl", "huggingface"):
        again = Tokenizer(formats.parse(formats.write(here.model, form)[""], "m.json"))
        assert again.recipe.drops_unknown
        assert again.encode_ids("a\0b§") == here.encode_ids("a\0b§")


def test_the_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "book.txt").write_text("low lower lowest\n" * 9)
    done = tokctl(
        "train", "--chars", "--unknown", "drop", "--vocab", "30", "-o", "m.json", "book.txt"
    )
    assert done.code == 0
    encoded = tokctl("encode", "-m", "m.json", "--as", "tokens", stdin="löw?".encode())
    assert encoded.out == b"l w"
    assert (
        encoded.err
        == "note: characters without a token are left out of the ids: m.json drops them\n"
    )
    assert Tokenizer.load("m.json").recipe.unk_token is None
    shown = tokctl("inspect", "m.json")
    assert b"left out, without a trace" in shown.out
    options = ("--unknown", "drop", "--vocab", "30")
    refused = tokctl("train", "--algo", "unigram", *options, "book.txt")
    assert refused.code == 2
    assert "unigram segmented by viterbi can't drop what has no token" in refused.err


def test_recipes_that_drop() -> None:
    with raises_code("conflict"):
        replace(default_recipe("bpe"), unknown="drop")
