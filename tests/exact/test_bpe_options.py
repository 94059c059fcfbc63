"""Byte fallback, fused unknowns, whole pre-tokens and merges by vocabulary, against the libraries
that define them."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.exact.lone_segmenters import bpe
from tests.exact.test_unigram_encoding import BYTES, NORMAL, ids_of, listed, sentencepiece_model
from tokctl._native import NO_ID

hf = pytest.importorskip("tokenizers")
tiktoken = pytest.importorskip("tiktoken")

letters = "abé字"
#: Long ones for the heap, short ones for the scan; some characters have no token.
texts = st.one_of(
    st.text(alphabet=letters + "xÿ", min_size=1, max_size=12),
    st.text(alphabet=letters + "x", min_size=30, max_size=80),
)
choices = st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), max_size=25)


def merges_of(
    tokens: list[str], picks: list[tuple[int, int]], prefix: str = ""
) -> list[tuple[str, str]]:
    """Merges of tokens that are there; the tokens that they make are added."""
    merges = []
    for left, right in picks:
        pair = (tokens[left % len(tokens)], tokens[right % len(tokens)])
        whole = pair[0] + pair[1].removeprefix(prefix)
        # (A right part without the prefix makes Hugging Face panic.)
        if pair not in merges and len(whole) < 12 and pair[1].startswith(prefix):
            merges.append(pair)
            tokens += [whole] if whole not in tokens else []
    return merges


@pytest.mark.parametrize("prefix", ["", "##"])
@given(
    known=st.sets(st.sampled_from(letters), min_size=1),
    picks=choices,
    byte_tokens=st.sampled_from(["none", "all", "some"]),
    fuse=st.booleans(),
    whole=st.booleans(),
    text=texts,
)
def test_hugging_face_gives_the_same_ids(
    prefix: str,
    known: set[str],
    picks: list[tuple[int, int]],
    byte_tokens: str,
    fuse: bool,
    whole: bool,
    text: str,
) -> None:
    """The unknown token and those of bytes take part in merges."""
    names = {"none": [], "all": BYTES, "some": BYTES[:0xC3] + BYTES[0xC4:]}[byte_tokens]
    # Merges among letters, the unknown token and some bytes.
    tokens = ["<unk>", *names[0x61:0x63], *names[0x78:0x79], *names[-30:-25], *sorted(known)]
    tokens += [prefix + letter for letter in sorted(known)] if prefix else []
    merges = merges_of(tokens, picks, prefix)
    tokens += [name for name in names if name not in tokens]
    numbers = {token: number for number, token in enumerate(tokens)}
    model = bpe(
        [(token.encode(), number) for token, number in numbers.items()],
        merges=[
            (numbers[left], numbers[right], numbers[left + right.removeprefix(prefix)])
            for left, right in merges
        ],
        marker=("continuation", prefix) if prefix else ("none", ""),
        unknown_id=0,
        byte_ids=[numbers.get(name, NO_ID) for name in BYTES] if names else None,
        fuse_unknown=fuse,
        whole_words=whole,
    )
    theirs = hf.Tokenizer(
        hf.models.BPE(
            numbers,
            merges,
            unk_token="<unk>",
            fuse_unk=fuse,
            byte_fallback=bool(names),
            ignore_merges=whole,
            **({"continuing_subword_prefix": prefix} if prefix else {}),
        )
    )
    for probe in (text, *tokens[-3:]):
        segments = model.segment(probe.encode())
        assert ids_of(segments) == theirs.encode(probe).ids
        assert sum(length for _, length in segments) == len(probe.encode())


@given(picks=choices, byte_fallback=st.booleans(), text=texts, data=st.data())
def test_sentencepiece_gives_the_same_ids(
    picks: list[tuple[int, int]], byte_fallback: bool, text: str, data: st.DataObject
) -> None:
    """Scores tie, and need not follow the order in which tokens can be made."""
    tokens = list(letters)
    merges_of(tokens, picks)
    scores = {token: float(-data.draw(st.integers(0, 6))) for token in tokens}
    pieces = listed(scores, [], byte_fallback)
    ordinary = [(place, piece) for place, piece in enumerate(pieces) if piece[2] == NORMAL]
    model = bpe(
        [(token.encode(), number) for number, (token, _, _) in ordinary],
        ranks=[int(-score) for _, (_, score, _) in ordinary],
        unknown_id=0,
        byte_ids=list(range(1, 257)) if byte_fallback else None,
        fuse_unknown=True,
    )
    theirs = sentencepiece_model(pieces, model_type=2, byte_fallback=byte_fallback)
    assert ids_of(model.segment(text.encode())) == theirs.encode(text)


@given(picks=choices, text=texts, data=st.data())
def test_tiktoken_gives_the_same_ids(
    picks: list[tuple[int, int]], text: str, data: st.DataObject
) -> None:
    tokens = [bytes([byte]) for byte in range(256)]
    made = [bytes([byte]) for byte in letters.encode()]
    for left, right in picks:
        whole = made[left % len(made)] + made[right % len(made)]
        if whole not in made and len(whole) < 12:
            made.append(whole)
    tokens += [token for token in made if len(token) > 1]
    ranks = data.draw(st.permutations(range(256, len(tokens))))
    numbered = {token: number for number, token in enumerate(tokens[:256])}
    numbered |= dict(zip(tokens[256:], ranks, strict=True))
    theirs = tiktoken.Encoding("test", pat_str=r"[\s\S]+", mergeable_ranks=numbered,
                               special_tokens={})  # fmt: skip
    model = bpe(
        list(numbered.items()), ranks=list(numbered.values()), units="bytes", whole_words=True
    )
    assert ids_of(model.segment(text.encode())) == theirs.encode(text)


@given(picks=choices, text=texts, data=st.data())
def test_merging_by_vocabulary_equals_the_definition(
    picks: list[tuple[int, int]], text: str, data: st.DataObject
) -> None:
    """The slow way: of all neighbours that spell a token, those of the lowest rank, leftmost."""
    tokens = [*letters, "x", "ÿ"]
    merges_of(tokens, picks)
    ranks = {token: data.draw(st.integers(0, 8)) for token in tokens}
    symbols = list(text)
    while present := [
        (ranks[left + right], place)
        for place, (left, right) in enumerate(pairwise(symbols))
        if left + right in ranks
    ]:
        place = min(present)[1]
        symbols[place : place + 2] = ["".join(symbols[place : place + 2])]
    model = bpe(
        [(token.encode(), number) for number, token in enumerate(tokens)],
        ranks=[ranks[token] for token in tokens],
    )
    expected = [(tokens.index(symbol), len(symbol.encode())) for symbol in symbols]
    assert model.segment(text.encode()) == expected
