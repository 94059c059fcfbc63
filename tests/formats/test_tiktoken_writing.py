"""Models written as tiktoken's ranks: the same ids there, the same model here."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import shared_file
from tests.errors import raises_code
from tests.exact.pipeline_peers import texts
from tests.exact.strings import strings
from tests.formats.models import RECIPES, filled, with_added
from tests.formats.test_merging import ranked
from tokctl import Recipe, TokctlError, Tokenizer, formats, preset
from tokctl.formats import UnsupportedByFormat
from tokctl.model.parts import AddedToken

tiktoken = pytest.importorskip("tiktoken")


def loaded_there(path: Path) -> Any:
    """As the documentation has it: the file beside holds all arguments but the ranks."""
    import tiktoken.load

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_CACHE_DIR", "")  # it would keep the file of another test
        ranks = tiktoken.load.load_tiktoken_bpe(str(path))
    beside = path.with_name(f"{path.name}.json")
    return tiktoken.Encoding(**json.loads(beside.read_text("utf-8")), mergeable_ranks=ranks)


def major(model: Any) -> list[str]:
    return [loss.what for loss in formats.losses(model, "tiktoken") if not loss.minor]


def same(ours: Tokenizer, folder: Path, some: Any) -> Tokenizer:
    """Saved, it is the same there and read again: ids, text, special tokens."""
    path = folder / "x.tiktoken"
    ours.save(path, "tiktoken")
    theirs, again = loaded_there(path), Tokenizer.load(path)
    assert again.format == "tiktoken"
    for text in some:
        ids = ours.encode_ids(text)
        assert theirs.encode_ordinary(text) == ids, text[:200]
        assert again.encode_ids(text) == ids, text[:200]
        whole = ours.encode_ids(text, special="all")
        assert again.encode_ids(text, special="all") == whole
        assert theirs.encode(text, allowed_special="all") == whole
        assert theirs.decode_bytes(whole) == ours.decode_bytes(whole) == again.decode_bytes(whole)
    known = {id_ for id_, token in enumerate(ours.tokens) if not token.startswith("<|unused")}
    assert [theirs.decode_single_token_bytes(id_) for id_ in sorted(known)] == [
        ours.model.tokens[id_] for id_ in sorted(known)
    ]
    assert again.model.tokens == ours.model.tokens
    return again


def test_gpt2_is_the_file_that_openai_publishes(tmp_path: Path) -> None:
    ours = Tokenizer.load(shared_file("vocab/gpt2.tokenizer.json"))
    assert major(ours.model) == []
    files = formats.write(ours.model, "tiktoken")
    found = hashlib.sha256(files[""]).hexdigest()
    assert found == "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930"
    beside = json.loads(files[".json"])
    from tiktoken_ext import openai_public

    assert beside == {
        "name": "r50k_base",
        "pat_str": openai_public.r50k_pat_str,
        "special_tokens": {"<|endoftext|>": 50256},
        "explicit_n_vocab": 50257,
    }
    same(ours, tmp_path, texts(size=4000, seed=8))


def test_cl100k_comes_back_as_it_was(tmp_path: Path) -> None:
    path = shared_file("vocab/cl100k_base.tiktoken")
    ours = Tokenizer.load(path)
    assert formats.losses(ours.model, "tiktoken") == []
    assert formats.write(ours.model, "tiktoken")[""] == path.read_bytes()
    again = same(ours, tmp_path, texts(size=2000, seed=9))
    assert again.model == ours.model
    # Without the file beside it, it is known by its digest.
    (tmp_path / "x.tiktoken.json").unlink()
    assert Tokenizer.load(tmp_path / "x.tiktoken").model == ours.model


@pytest.mark.few(4)
@pytest.mark.parametrize(
    "splitting",
    ["gpt2", "cl100k", "o200k", "llama3", "qwen2", "deepseek-v3", "none", r"regex:\d|\p{L}+"],
)
def test_what_is_trained_here(splitting: str, tmp_path: Path) -> None:
    special = ("<|im_start|>", "<|endoftext|>")
    recipe = replace(
        preset("gpt2"), pre_tokenizers=(splitting,), special_tokens=special, post_processors=()
    )
    (tmp_path / "text").write_text("\n".join(strings(800, seed=12)), encoding="utf-8")
    ours = Tokenizer.train([tmp_path / "text"], vocab_size=900, recipe=recipe)
    assert major(ours.model) == []
    some = [*strings(150, seed=13), "a<|endoftext|>b <|im_start|>", "<|begin_of_text|>"]
    again = same(ours, tmp_path, some)
    assert again.recipe.splitting == splitting
    assert [loss.what for loss in formats.losses(ours.model, "tiktoken")] == [
        "the record of its training"
    ]


@given(
    st.dictionaries(st.text("ab \n1", min_size=1, max_size=7), st.integers(1, 9), min_size=1),
    st.sampled_from(["gpt2", "none", r"regex:a|\s", "fixed:2", "digits"]),
    st.lists(st.text("ab \n1é", max_size=30), max_size=6),
)
def test_the_promise(counts: dict[str, int], splitting: str, some: list[str]) -> None:
    """Without a major loss, every text has the same ids there."""
    recipe = replace(preset("gpt2"), pre_tokenizers=splitting)  # type: ignore[arg-type]
    ours = Tokenizer.train(counts, vocab_size=290, recipe=recipe)
    if major(ours.model):
        return
    files = formats.write(ours.model, "tiktoken")
    from tests.formats.ranks import their_encoding

    reserved = ours.model.reserved_ids
    own = [token for id_, token in enumerate(ours.model.tokens) if id_ not in reserved]
    assert sorted(reserved) == list(range(len(reserved)))
    theirs = their_encoding(own, json.loads(files[".json"])["pat_str"], start=len(reserved))
    for text in [*some, *counts]:
        assert theirs.encode_ordinary(text) == ours.encode_ids(text)


@pytest.mark.parametrize("name", sorted(RECIPES))
def test_every_recipe(name: str, tmp_path: Path) -> None:
    """It is written and read again, or there is a reason why not."""
    model = filled(RECIPES[name])
    try:
        found = major(model)
    except UnsupportedByFormat as reason:
        assert model.recipe.units != "bytes", reason
        with raises_code("unsupported"):
            Tokenizer(model).save(tmp_path / "x", "tiktoken")
        return
    if not found:
        same(Tokenizer(model), tmp_path, strings(30, seed=2))
        return
    with raises_code("unsupported"):
        Tokenizer(model).save(tmp_path / "x", "tiktoken")
    Tokenizer(model).save(tmp_path / "x", "tiktoken", lossy=True)
    assert Tokenizer.load(tmp_path / "x").model.tokens == model.tokens


def losing(**changes: Any) -> list[str]:
    return major(filled(replace(RECIPES["gpt2"], **changes)))


def test_what_is_lost() -> None:
    assert losing() == []
    assert losing(normalizers=("nfc", "lowercase")) == [
        "the normalizer nfc",
        "the normalizer lowercase",
    ]
    assert losing(pre_tokenizers=("digits", "gpt2")) == [
        "how text is split: several pre-tokenizers, one after the other"
    ]
    assert losing(pre_tokenizers=("prefix-space", "gpt2"))
    assert losing(pre_tokenizers=("graphemes",)) == [
        "how text is split: the pre-tokenizer graphemes"
    ]
    assert losing(decoders=("byte-level",)) == []
    assert losing(decoders=("byte-level", "strip")) == ["the decoder strip"]
    template = "template:<|endoftext|> $A=>$A $B"
    assert losing(post_processors=(template,)) == [f"the post-processor {template}"]
    assert losing(post_processors=("template:$A", "trim-offsets")) == []
    added = major(with_added(RECIPES["gpt2"]))
    assert added == [
        "how special tokens are found (<end>)",
        "added tokens that are not special tokens (<x y>, word, abc)",
    ]
    special = ("<|endoftext|>", "<|end", "<|endo")
    assert losing(special_tokens=special) == [
        "which of two special tokens is found where one begins like the other (<|end)"
    ]


def test_what_ranks_would_do_otherwise() -> None:
    """A token that no merge makes, where a pre-token that is a token is split all the same."""
    recipe = replace(ranked([b"ab"]).recipe, whole_words=False)
    model = replace(ranked([b"ab", b"xyz"]), recipe=recipe)
    assert Tokenizer(model).encode("xyz").tokens == ["x", "y", "z"]
    with pytest.raises(UnsupportedByFormat, match="no merge makes 'xyz'"):
        formats.losses(model, "tiktoken")
    assert formats.losses(ranked([b"ab", b"xyz"]), "tiktoken") == []
    with pytest.raises(UnsupportedByFormat, match="two of its tokens are the same bytes"):
        twice = ranked([b"ab"])
        formats.losses(replace(twice, tokens=[*twice.tokens, b"ab"]), "tiktoken")


def test_special_tokens_anywhere(tmp_path: Path) -> None:
    model = ranked([b"ab", b"abc", b"<s>", b"<|x|>"])
    added = (AddedToken("<s>", 258), AddedToken("<|x|>", 259))
    recipe: Recipe = model.recipe.with_special_tokens(["<s>", "<|x|>"])
    ours = Tokenizer(replace(model, recipe=recipe, added_tokens=added))
    same(ours, tmp_path, ["abc<s>", "<|x|><s>ab"])
    beside = json.loads((tmp_path / "x.tiktoken.json").read_bytes())
    assert beside["explicit_n_vocab"] == 260
    assert beside["special_tokens"] == {"<s>": 258, "<|x|>": 259}


@given(st.lists(st.integers(0, 2999), max_size=12))
def test_any_ids_are_the_same_text(ids: list[int]) -> None:
    """Also where they end, or begin, inside a character."""
    from tests.formats.ranks import rank_file, their_encoding, tokens
    from tokctl.formats.contract import LoadOptions

    special = {"<|é|>": 2990 + 10}
    found = tokens()[:2990]
    ids = [id_ for id_ in ids if id_ < 2990] + [3000]
    ours = Tokenizer(formats.parse(rank_file(found), "x", LoadOptions("gpt2", special)))
    theirs = their_encoding(found, r"[\s\S]+", special)
    assert ours.decode(ids, errors="replace") == theirs.decode(ids)
    assert ours.decode_bytes(ids) == theirs.decode_bytes(ids)


# -- the file beside ----------------------------------------------------------------------


def pair(folder: Path) -> tuple[Path, Path]:
    """A rank file, and the file beside it."""
    path = folder / "x.tiktoken"
    Tokenizer(filled(RECIPES["gpt2"])).save(path, "tiktoken")
    return path, folder / "x.tiktoken.json"


def test_what_the_caller_says_comes_first(tmp_path: Path) -> None:
    path, beside = pair(tmp_path)
    assert Tokenizer.load(path).recipe.splitting == "gpt2"
    told = Tokenizer.load(path, pattern="o200k")
    assert (told.recipe.splitting, told.special_ids) == ("o200k", {"<|endoftext|>": 0})
    told = Tokenizer.load(path, special_tokens={"<x>": 500})
    assert told.recipe.splitting == "gpt2" and told.special_ids["<x>"] == 500
    beside.write_bytes(b"{")
    told = Tokenizer.load(path, pattern="cl100k", special_tokens={"<x>": 0})
    assert told.recipe.splitting == "cl100k" and told.special_ids == {"<x>": 0}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"pat_str": None}, "wrong type"),
        ({"pat_str": r"\w+"}, "can't split a text as .* leaves out U\\+0000"),
        ({"special_tokens": []}, "does not hold the arguments"),
        ({"special_tokens": {"a": 1.5}}, "wrong type"),
        ({"special_tokens": {"a": True}}, "wrong type"),
        ({"explicit_n_vocab": 12}, "has 259 ranks and special tokens, and .* says 12"),
        ({"explicit_n_vocab": "12"}, "wrong type"),
        ({"name": 1}, "wrong type"),
    ],
)
def test_a_file_beside_that_is_wrong(change: dict[str, Any], why: str, tmp_path: Path) -> None:
    path, beside = pair(tmp_path)
    beside.write_text(json.dumps(json.loads(beside.read_bytes()) | change), encoding="utf-8")
    with pytest.raises(TokctlError, match=why):
        Tokenizer.load(path)
    for content in (b"", b"[]", b"7", b"{}", b'{"name": "x"}', b"\xff"):
        beside.write_bytes(content)
        with raises_code("damaged-model", r"x\.tiktoken\.json"):
            Tokenizer.load(path)


@given(st.data())
def test_a_damaged_file_beside(tmp_path_factory: pytest.TempPathFactory, data: Any) -> None:
    path, beside = pair(tmp_path_factory.mktemp("x"))
    content = bytearray(beside.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    beside.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    try:
        Tokenizer.load(path)
    except TokctlError as error:
        assert "x.tiktoken" in error.message
