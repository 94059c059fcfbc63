"""tiktoken's rank files: the same ids for the same bytes, holes and all."""

from __future__ import annotations

import base64

import pytest

from tests.conftest import shared_file
from tokctl import TokctlError, formats
from tokctl.formats import tiktoken_ranks


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
    assert formats.obstacle(model) == "its BPE merges by rank only"


def test_its_facts_are_the_published_ones() -> None:
    public = pytest.importorskip("tiktoken_ext.openai_public")
    for digest, encoding in tiktoken_ranks.KNOWN.items():
        asked: dict[str, str] = {}

        def load(_url: str, expected_hash: str, asked: dict[str, str] = asked) -> dict[bytes, int]:
            asked["hash"] = expected_hash
            return {}

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(public, "load_tiktoken_bpe", load)
            facts = public.ENCODING_CONSTRUCTORS[encoding.name]()
        assert asked["hash"] == digest
        assert facts["special_tokens"] == encoding.special
        from tokctl.pretokenizers import KNOWN_PATTERNS

        assert KNOWN_PATTERNS[facts["pat_str"]] == encoding.pre_tokenizer


def test_a_special_token_between_ranks() -> None:
    encoding = tiktoken_ranks.Encoding("x", "gpt2", {"<|end|>": 256})
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"ab": 257, b"bc": 259}
    model = tiktoken_ranks.fill(ranks, encoding)
    assert model.special_ids == {"<|end|>": 256, "<|unused_258|>": 258}
    assert model.tokens[257:] == [b"ab", b"<|unused_258|>", b"bc"]
    assert formats.parse(formats.serialize(model), "x") == model


def test_other_ranks_are_an_error_with_a_hint() -> None:
    with pytest.raises(TokctlError, match="does not know of which encoding") as caught:
        formats.parse(b"IQ== 0\nIg== 1\n", "my.tiktoken")
    assert (
        caught.value.hint and "r50k_base, p50k_base, cl100k_base, o200k_base" in caught.value.hint
    )


@pytest.mark.parametrize("line", [b"IQ==", b"!!! x", b"IQ== -1", b"IQ== 99999999999999999999999"])
def test_a_line_that_is_none(line: bytes) -> None:
    with pytest.raises(TokctlError, match="x, line 2"):
        tiktoken_ranks._ranks(b"IQ== 0\n" + line, "x")
