"""Added tokens in text: against Hugging Face's and against the twin, with every kind of token."""

from __future__ import annotations

import unicodedata
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.exact.lone_segmenters import encoder
from tests.twins.added import Added, find
from tokctl import _native

hf = pytest.importorskip("tokenizers")

KINDS = list(product([False, True], repeat=3))
#: Letters, marks, joiners, digits, punctuation and every width of white space.
LETTERS = "ab_-1\u0301\u200dé字Ⓐ² \t\n\x0b\x1c\x85\xa0\u2003\u200b\u3000\U0001f600"

contents = st.one_of(
    st.sampled_from(["a", "ab", "aba", "<a>", " a", "a ", " ", "  ", "\n", "é", "_", "-", "aab"]),
    st.text(alphabet=LETTERS, min_size=1, max_size=4),
)
tokens_strategy = st.lists(
    st.tuples(contents, st.sampled_from(KINDS)).map(lambda pair: Added(pair[0], *pair[1])),
    unique_by=lambda token: token.text,
    max_size=6,
)


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[Added], str]:
    """Tokens, and a text in which there are some."""
    tokens = draw(tokens_strategy)
    known = st.sampled_from([token.text for token in tokens]) if tokens else st.nothing()
    parts = st.one_of(known, st.text(alphabet=LETTERS, max_size=3), st.text(max_size=3))
    return tokens, "".join(draw(st.lists(parts, max_size=10)))


class Found:
    """The encoder's search for added tokens (text, and the three flags of `Added`) in the text
    as given; ids are their places in the list."""

    def __init__(self, tokens: list[tuple[bytes, tuple[bool, bool, bool]]]) -> None:
        self.encoder = encoder("lookup", [])
        rows = [
            (text, n, (*kind, False), (False, True), False) for n, (text, kind) in enumerate(tokens)
        ]
        self.matchers = _native.Matchers(self.encoder, rows)

    def spans(self, text: bytes) -> list[tuple[int | None, tuple[int, int]]]:
        """Added tokens, and the stretches between, which have no id."""
        found, ranges, places, ids = self.encoder.pre_tokens(text, self.matchers)
        assert [found[a:b] for a, b in ranges] == [text[a:b] for a, b in places]
        return list(zip(ids, places, strict=True))

    def find(self, text: bytes) -> list[tuple[int, int, int]]:
        return [(*place, id_) for id_, place in self.spans(text) if id_ is not None]


def added(tokens: list[Added]) -> Found:
    return Found([(t.text.encode(), tuple(t[1:])) for t in tokens])


def hugging_face(tokens: list[Added]) -> Any:
    """What is no added token is one unknown token."""
    tokenizer = hf.Tokenizer(hf.models.WordLevel({"": 0}, unk_token=""))
    tokenizer.add_tokens(
        [
            hf.AddedToken(text, single_word=word, lstrip=left, rstrip=right, normalized=False)
            for text, word, left, right in tokens
        ]
    )
    return tokenizer


def characters(text: str) -> dict[int, int]:
    """Place in characters by place in bytes."""
    places = {0: 0}
    at = 0
    for number, character in enumerate(text, 1):
        at += len(character.encode())
        places[at] = number
    return places


@given(case=cases())
def test_tokens_are_found_where_the_twin_finds_them(case: tuple[list[Added], str]) -> None:
    tokens, text = case
    places = characters(text)
    ours = [(places[a], places[b], n) for a, b, n in added(tokens).find(text.encode())]
    assert ours == find(tokens, text)


def compare(tokens: list[Added], text: str) -> None:
    try:
        theirs = hugging_face(tokens).encode(text, add_special_tokens=False)
    except BaseException as error:
        # White space that two tokens strip, and the second is nothing else.
        if type(error).__name__ != "PanicException":
            raise
        assert any(token.text.isspace() for token in tokens)
        return
    places = characters(text)
    spans = added(tokens).spans(text.encode())
    assert [0 if id_ is None else id_ + 1 for id_, _ in spans] == theirs.ids
    assert [(places[a], places[b]) for _, (a, b) in spans] == theirs.offsets


@given(case=cases())
def test_tokens_are_found_where_hugging_face_finds_them(case: tuple[list[Added], str]) -> None:
    compare(*case)


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", KINDS)
@given(texts=st.lists(contents, unique=True, min_size=1, max_size=5), data=st.data())
def test_every_kind_of_token(
    kind: tuple[bool, bool, bool], texts: list[str], data: st.DataObject
) -> None:
    parts = st.one_of(st.sampled_from(texts), st.text(alphabet=LETTERS, max_size=2))
    compare([Added(text, *kind) for text in texts], "".join(data.draw(st.lists(parts))))


@pytest.mark.slow
@pytest.mark.parametrize("kind", [(True, False, False), (False, True, True)])
def test_every_character_beside_a_token(kind: tuple[bool, bool, bool]) -> None:
    """Which are word characters, and which white space, for Hugging Face's `regex`."""
    tokens = [Added("<x>", *kind)]
    theirs = hugging_face(tokens)
    ours = added(tokens)
    differing = []
    for start in range(0, 0x110000, 0x40):
        chars = [chr(c) for c in range(start, start + 0x40) if not 0xD800 <= c < 0xE000]
        for form in ("{}<x>!", "!<x>{}"):
            text = "!".join(form.format(char) for char in chars)
            places = characters(text)
            found = [(places[a], places[b]) for a, b, _ in ours.find(text.encode())]
            encoding = theirs.encode(text)
            expected = [o for i, o in zip(encoding.ids, encoding.offsets, strict=True) if i]
            if found != expected:
                differing += [text[a - 1] + text[b : b + 1] for a, b in {*found} ^ {*expected}]
    # Code points that one of the two does not know yet.
    assert [c for c in differing if all(unicodedata.category(x) != "Cn" for x in c)] == []


@given(data=st.binary(max_size=30), tokens=st.lists(st.binary(max_size=3), max_size=5))
def test_any_bytes(data: bytes, tokens: list[bytes]) -> None:
    for kind in KINDS:
        matcher = Found([(token, kind) for token in tokens])
        for start, end, id_ in matcher.find(data):
            # The white space that a token begins with may be what the one before it has taken.
            rest = tokens[id_].decode(errors="surrogateescape").lstrip()
            assert rest.encode(errors="surrogateescape") in data[start:end]
        covered = b"".join(data[a:b] for _, (a, b) in matcher.spans(data))
        if not any(token.isspace() or token[:1].isspace() for token in tokens):
            assert covered == data


def test_four_hundred_thousand_tokens() -> None:
    texts = [f"<|reserved token {n}|>" for n in range(400_000)]
    matcher = Found([(t.encode(), (False, False, False)) for t in texts])
    text = "a <".join(texts[::1000]).encode()
    assert [id_ for _, _, id_ in matcher.find(text)] == list(range(0, 400_000, 1000))


def test_long_near_misses_take_no_longer() -> None:
    """Every place could begin the long token: 10^10 steps, were each tried to its end."""
    tokens = [Added("a" * n) for n in range(1, 1001)] + [Added("a" * 10_000 + "b")]
    found = added(tokens).find(b"a" * 1_000_500)
    assert len(found) == 1001
    assert found[-1] == (1_000_000, 1_000_500, 499)
