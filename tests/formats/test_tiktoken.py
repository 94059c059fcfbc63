"""tiktoken's rank files read: the same ids for the same text, holes and all, or an error."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import shared_file
from tests.errors import raises_code
from tests.exact.strings import strings
from tests.formats.ranks import BYTES, rank_file, their_encoding, tokens
from tokctl import TokctlError, Tokenizer, formats, preset
from tokctl._native import RankFile
from tokctl.formats.contract import LoadOptions
from tokctl.formats.tiktoken import ENCODINGS, PUBLISHED, TiktokenEncoding, build_model
from tokctl.model.patterns import KNOWN_PATTERNS, PATTERNS


def test_cl100k() -> None:
    data = shared_file("vocab/cl100k_base.tiktoken").read_bytes()
    model = formats.parse(data, "cl100k_base.tiktoken")
    lines = [line.split() for line in data.splitlines()]
    assert all(model.tokens[int(rank)] == base64.b64decode(token) for token, rank in lines)
    assert len(model.tokens) == 100277
    assert model.recipe.splitting == "cl100k"
    assert (model.recipe.segmentation, model.recipe.whole_words) == ("ranks", True)
    ids = model.special_ids
    assert ids["<|endoftext|>"] == 100257 and ids["<|endofprompt|>"] == 100276
    holes = [100256, *range(100261, 100276)]
    assert [ids[f"<|unused_{hole}|>"] for hole in holes] == holes
    assert len(ids) == 5 + len(holes)
    again = formats.parse(formats.serialize(model), "again")
    assert again == model
    assert formats.why_not_loadable(model) == "its BPE merges by rank only"


def test_its_facts_are_the_published_ones() -> None:
    public = pytest.importorskip("tiktoken_ext.openai_public")
    digests: dict[str, str] = {}
    for name, constructor in public.ENCODING_CONSTRUCTORS.items():

        def load(*_: str, expected_hash: str = "", name: str = name, **__: str) -> dict[bytes, int]:
            digests[name] = expected_hash
            return {}

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(public, "load_tiktoken_bpe", load)
            patch.setattr(public, "data_gym_to_mergeable_bpe_ranks", load)
            facts = constructor()
        ours = ENCODINGS[name]
        special = facts["special_tokens"]
        if name == "o200k_harmony":  # one id has two names there
            assert special.pop("<|reserved_200018|>") == special["<|endofprompt|>"]
        assert special == ours.special
        assert KNOWN_PATTERNS[facts["pat_str"]] == ours.pre_tokenizers
    assert {digest: known.name for digest, known in PUBLISHED.items()} == {
        digests[name]: name for name in ("r50k_base", "p50k_base", "cl100k_base", "o200k_base")
    }


def test_a_special_token_between_ranks() -> None:
    encoding = TiktokenEncoding("x", "gpt2", {"<|end|>": 256})
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"ab": 257, b"bc": 259}
    model = build_model(RankFile.of(list(ranks.items())), encoding)
    assert model.special_ids == {"<|end|>": 256, "<|unused_258|>": 258}
    assert model.tokens[257:] == [b"ab", b"<|unused_258|>", b"bc"]
    assert formats.parse(formats.serialize(model), "x") == model


def test_other_ranks_are_an_error_with_a_hint() -> None:
    with raises_code("missing-option") as caught:
        formats.parse(b"IQ== 0\nIg== 1\n", "my.tiktoken")
    assert caught.value.hint
    assert "r50k_base, p50k_base, cl100k_base, o200k_base" in caught.value.hint
    assert "--pattern cl100k_base" in caught.value.hint


# -- what the caller says -----------------------------------------------------------------


@pytest.mark.few(2)
@pytest.mark.parametrize("start", [0, 3, 1000])
@pytest.mark.parametrize("splitting", ["gpt2", "cl100k", r"regex:\s+|\S+"])
def test_hints(tmp_path: Path, splitting: str, start: int) -> None:
    """The pattern and the special tokens are said; ranks need not start at 0."""
    pytest.importorskip("tiktoken")
    path = tmp_path / "x.model"
    path.write_bytes(rank_file(tokens(), start))
    special = {"<|a|>": 1 if start else 5000, "<|b c|>": 9999}
    pattern = PATTERNS.get(splitting, splitting.removeprefix("regex:"))
    theirs = their_encoding(tokens(), pattern, special, start)
    ours = Tokenizer.load(path, pattern=splitting, special_tokens=special)
    assert ours.format == "tiktoken"
    for text in strings(120, seed=start):
        ids = theirs.encode_ordinary(text)
        assert ours.encode_ids(text) == ids
        assert ours.decode(ids) == text
    text = "x<|a|>y <|b c|><|a|"
    assert ours.encode_ids(text, special="all") == theirs.encode(text, allowed_special="all")
    assert ours.decode([5000 if not start else 1, start]) == theirs.decode(
        [5000 if not start else 1, start]
    )


@pytest.mark.parametrize("name", sorted({*ENCODINGS} - {"gpt2"}))
def test_an_encoding_by_name(name: str) -> None:
    facts = ENCODINGS[name]
    many = [*BYTES, *(b"%06d" % number for number in range(min(facts.special.values()) - 256))]
    model = formats.parse(rank_file(many), "x", LoadOptions(pattern=name))
    assert model.recipe.splitting == facts.pre_tokenizers
    assert facts.special.items() <= model.special_ids.items()
    assert model.origin and model.origin.name == name
    model = formats.parse(rank_file(BYTES), "x", LoadOptions(name, {"<|x|>": 256}))
    assert model.special_ids == {"<|x|>": 256}


def test_gpt2_is_a_pre_tokenizer() -> None:
    """As everywhere else; its encoding is called r50k_base, too."""
    model = formats.parse(rank_file(BYTES), "x", LoadOptions("gpt2"))
    assert model.recipe.splitting == "gpt2"
    assert len(model.tokens) == 256


def test_a_pattern_beside_what_the_file_beside_says(tmp_path: Path) -> None:
    ours = Tokenizer.train({"low": 3}, vocab_size=258, recipe=preset("gpt2"))
    path = tmp_path / "x.tiktoken"
    ours.save(path, "tiktoken")
    again = Tokenizer.load(path, pattern="cl100k")
    assert again.recipe.splitting == "cl100k"
    assert again.special_ids == ours.special_ids


def test_a_pattern_that_leaves_text_out_is_refused() -> None:
    """tiktoken drops such text, and tokctl never does."""
    with raises_code("unsupported"):
        formats.parse(rank_file(BYTES), "x", LoadOptions("regex:[a-z]+"))


def test_several_pre_tokenizers() -> None:
    model = formats.parse(rank_file(BYTES), "x", LoadOptions("digits, gpt2"))
    assert model.recipe.splitting == "digits, gpt2"
    with raises_code("unknown-name", "no pre-tokenizer is called 'gtp2'"):
        formats.parse(rank_file(BYTES), "x", LoadOptions("gtp2"))


# -- files that are odd -------------------------------------------------------------------

LINES = rank_file([*BYTES, b"ab", b"abc"])


@pytest.mark.parametrize(
    "data",
    [
        b"".join(reversed(LINES.splitlines(keepends=True))),
        LINES.replace(b"\n", b"\r\n"),
        LINES.replace(b"\n", b"\r"),
        LINES.replace(b"\n", b"\n\n"),
        LINES + b"\n\n",
        LINES[:-1],
        LINES.replace(b" 257\n", b" 0257\n"),
        LINES.replace(b" 257\n", b"  257 \n"),
        LINES.replace(b" 257\n", b" 300\n"),
        LINES + b"= 258\n",
        LINES.replace(b"YWJj 257", b"==== 257\nYWJj 258"),
    ],
    ids=[
        *("unsorted", "CRLF", "CR", "blank", "ends", "no end", "zero", "spaces", "hole"),
        *("empty", "empty between"),
    ],
)
def test_what_tiktoken_takes(data: bytes, tmp_path: Path) -> None:
    load = pytest.importorskip("tiktoken.load")
    path = tmp_path / "x"
    path.write_bytes(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_CACHE_DIR", "")
        ranks = load.load_tiktoken_bpe(str(path))
    theirs = pytest.importorskip("tiktoken").Encoding(
        "x", pat_str=PATTERNS["gpt2"], mergeable_ranks=ranks, special_tokens={}
    )
    ours = Tokenizer.load(path, pattern="gpt2")
    assert ours.vocab_size == theirs.n_vocab
    for text in ("abc abcabé", "\n ab"):
        assert ours.encode_ids(text) == theirs.encode(text)


def test_a_special_token_with_the_rank_of_the_empty_token() -> None:
    model = formats.parse(LINES + b"= 258\n", "x", LoadOptions("gpt2", {"<|end|>": 258}))
    assert model.special_ids == {"<|end|>": 258}
    model = formats.parse(LINES + b"= 258\n", "x", LoadOptions("gpt2", {"<|end|>": 259}))
    assert model.special_ids == {"<|unused_258|>": 258, "<|end|>": 259}


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (b" 257\n", b" 256\n", "line 258: line 257 also has the rank 256"),
        (b"YWJj", b"YWI=", "line 258: line 257 also has the token b'ab'"),
        (b"YWJj 257", b"YWJj", "line 258: expected a token in base64"),
        (b"YWJj 257", b"YWJj x", "line 258: expected a token"),
        (b"YWJj 257", b"YWJj 2 3", "line 258: expected a token"),
        (b"YWJj 257", b"YWJj -1", "line 258: expected a token"),
        (b"YWJj 257", b"YWJj +1", "line 258: expected a token"),
        (b"YWJj 257", b"YWJj 2_5", "line 258: expected a token"),
        (b"YWJj 257", b" \t", "line 258: expected a token"),
        (b"YWJj 257", b"YWJj! 257", "line 258: expected a token"),
        (b"YWJj 257", b"=YWJj 257", "line 258: expected a token"),
        (b"YWJj 257", b"==== 257\n= 258", "line 259: line 258 also has the token b''"),
        (b"YWJj 257", b"YWJj 99999999999999999999999", "line 258: the rank 9999.* is too large"),
        (b"YWJj 257", b"YWJj " + b"9" * 5000, "line 258: the rank 9999.* is too large"),
        (b"YWJj 257", b"YWJj 16000000", "only 258 have a token"),
        (b"IQ== 33\n", b"", "the byte 0x21 has no token"),
    ],
)
def test_what_is_an_error(old: bytes, new: bytes, why: str) -> None:
    assert LINES.count(old) == 1
    with pytest.raises(TokctlError, match=why) as caught:
        formats.parse(LINES.replace(old, new), "odd.file", LoadOptions("gpt2"))
    assert "odd.file" in caught.value.message


@pytest.mark.parametrize(
    ("special", "why"),
    [
        ({"<|a|>": 5}, "the id 5 has a token and the special token '<|a|>'"),
        ({"<|a|>": 300, "<|b|>": 300}, "have one id"),
        ({"<|a|>": -1}, "can't have the id -1"),
        ({"<|a|>": 2**40}, "can't have the id"),
        ({"<|a|>": 10**6}, "only 259 have a token"),
        ({"": 300}, "can't be empty"),
        ({"\ud800": 300}, "not UTF-8"),
        ({"<|unused_258|>": 300}, "same text|given twice"),
    ],
)
def test_special_tokens_that_are_none(special: dict[str, int], why: str) -> None:
    with pytest.raises(TokctlError, match=why.replace("|a|", r"\|a\|")) as caught:
        formats.parse(LINES, "odd.file", LoadOptions("gpt2", special))
    assert "odd.file" in caught.value.message


@given(st.data())
def test_damaged_files(data: st.DataObject) -> None:
    content = bytearray(LINES)
    start = data.draw(st.integers(0, len(content)))
    end = data.draw(st.integers(start, len(content)))
    kind = data.draw(st.sampled_from(["cut", "drop", "twice", "flip"]))
    if kind == "cut":
        content = content[:end]
    elif kind == "drop":
        del content[start:end]
    elif kind == "twice":
        content[start:start] = content[start:end]
    else:
        for _ in range(3):
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    try:
        model = formats.parse(bytes(content), "x", LoadOptions("gpt2"))
    except TokctlError as error:
        assert "x" in error.message
    else:
        assert formats.parse(formats.serialize(model), "y") == model
