"""Mistral's tekken.json: the ids, texts and special tokens of mistral_common, and of tiktoken."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import shared_file
from tests.exact.pipeline_peers import texts
from tests.exact.strings import strings
from tests.formats.ranks import their_encoding, tokens
from tests.formats.test_damaged import ODD, places
from tests.formats.test_rust_patterns import TEKKEN
from tokctl import TokctlError, Tokenizer, formats

NAMED = ["<unk>", "<s>", "</s>", "[INST]", "<pad>"]
IMAGE = {"image_patch_size": 16, "max_image_size": 64}


def document(found: list[bytes], **changes: Any) -> dict[str, Any]:
    """A file with these tokens, of which two are not used, and ten special tokens."""
    unused = [*found, b"never 1", b"never 2"]
    config = {
        "pattern": TEKKEN,
        "num_vocab_tokens": len(unused),
        "default_vocab_size": len(found) + 10,
        "default_num_special_tokens": 10,
        "version": "v11",
    }
    config |= (changed := changes.pop("config", {}))
    if "default_num_special_tokens" in changed and "default_vocab_size" not in changed:
        config["default_vocab_size"] = len(found) + changed["default_num_special_tokens"]
    vocab = [
        {"rank": rank, "token_bytes": base64.b64encode(token).decode(), "token_str": None}
        for rank, token in enumerate(unused)
    ]
    special = [
        {"rank": rank, "token_str": text, "is_control": True} for rank, text in enumerate(NAMED)
    ]
    whole = {"config": config, "vocab": vocab, "special_tokens": special, "version": 1, "type": ""}
    whole |= changes
    return {key: value for key, value in whole.items() if value is not ...}


def loaded(whole: dict[str, Any]) -> Tokenizer:
    return Tokenizer(formats.parse(json.dumps(whole).encode(), "tekken.json"))


def test_it_is_tiktoken_inside() -> None:
    pytest.importorskip("tiktoken")
    ours, theirs = loaded(document(tokens())), their_encoding(tokens(), TEKKEN)
    for text in texts(size=6000, seed=21):
        ids = [id_ + 10 for id_ in theirs.encode(text, disallowed_special=())]
        assert ours.encode_ids(text) == ids, text[:200]
        assert ours.decode(ids) == text
    assert ours.model.origin == ("tekken", "")
    assert ours.tokens[:10] == [*NAMED, *(f"<SPECIAL_{id_}>" for id_ in range(5, 10))]
    assert ours.vocab_size == len(tokens()) + 10


def their_tekken(path: Path) -> Any:
    module = pytest.importorskip("mistral_common.tokens.tokenizers.tekken")
    return module.Tekkenizer.from_file(path)


FILES: dict[str, dict[str, Any]] = {
    "named": {},
    "agreed": {
        "special_tokens": ...,
        "config": {"version": "v3", "default_num_special_tokens": 25},
    },
    "cut short": {"config": {"default_vocab_size": 1500}},
    "images": {"multimodal": IMAGE},
    "cl100k": {"config": {"pattern": r"\p{N}{1,3}|\P{N}+"}},
}


@pytest.mark.parametrize("name", sorted(FILES))
def test_against_mistral_common(name: str, tmp_path: Path) -> None:
    path = tmp_path / "tekken.json"
    path.write_text(json.dumps(document(tokens(), **FILES[name])), encoding="utf-8")
    theirs, ours = their_tekken(path), Tokenizer.load(path)
    assert ours.format == "tekken" and ours.vocab_size == theirs.n_words
    assert ours.special_ids == {text: theirs.get_special_token(text) for text in ours.special_ids}
    assert len(ours.special_ids) == theirs.num_special_tokens
    policy = pytest.importorskip("mistral_common.tokens.tokenizers.base").SpecialTokenPolicy
    for text in [*strings(300, seed=4), "<s>[INST] a </s>"]:
        ids = theirs.encode(text, bos=False, eos=False)
        assert ours.encode_ids(text) == ids
        begun = theirs.encode(text, bos=True, eos=False)
        assert ours.encode(text, add_special=True).ids == begun
        assert ours.decode(begun) == theirs.decode(begun, policy.KEEP)
        assert ours.decode(begun, skip_special=True) == theirs.decode(begun, policy.IGNORE) == text
    for id_ in range(theirs.n_words):
        assert ours.model.tokens[id_] == theirs.id_to_byte_piece(id_, policy.KEEP)
    kept = {f"tekken.{key}.json": json.dumps(FILES[name][key], indent=2) for key in ("multimodal",)
            if key in FILES[name]}  # fmt: skip
    assert ours.model.extra_files == kept


def test_cl100k_as_tekken(tmp_path: Path) -> None:
    """A vocabulary of real size; the bytes come first here, in their order."""
    lines = shared_file("vocab/cl100k_base.tiktoken").read_bytes().splitlines()
    found = [base64.b64decode(line.split()[0]) for line in lines]
    found = [bytes([byte]) for byte in range(256)] + [token for token in found if len(token) > 1]
    path = tmp_path / "tekken.json"
    path.write_text(json.dumps(document(found)), encoding="utf-8")
    theirs, ours = their_tekken(path), Tokenizer.load(path)
    for text in texts(size=3000, seed=22):
        assert ours.encode_ids(text) == theirs.encode(text, bos=False, eos=False)


def test_a_folder(tmp_path: Path) -> None:
    (tmp_path / "tekken.json").write_text(json.dumps(document(tokens())), encoding="utf-8")
    assert Tokenizer.load(tmp_path).model == Tokenizer.load(tmp_path / "tekken.json").model
    (tmp_path / "tokenizer.json").write_bytes(b"{}")
    source = formats.ModelInput("x", path=tmp_path)
    assert not formats.format_named("tekken").detect(source)


def test_written_otherwise(tmp_path: Path) -> None:
    """As ranks of tiktoken's: the same ids, but for `<s>` around them."""
    ours = loaded(document(tokens(), multimodal=IMAGE))
    lost = formats.losses(ours.model, "tiktoken")
    assert [loss.what.split(":")[0] for loss in lost] == [
        "the post-processor template",
        "the files that came with it (tekken.multimodal.json)",
    ]
    ours.save(tmp_path / "x", "tiktoken", lossy=True)
    again = Tokenizer.load(tmp_path / "x")
    assert again.encode_ids("<s>a b 12", special="all") == ours.encode_ids(
        "<s>a b 12", special="all"
    )
    saved = formats.parse(formats.serialize(ours.model), "x")
    assert saved == ours.model


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"config": {"default_vocab_size": 10}}, "do not fit together"),
        (
            {"config": {"default_num_special_tokens": -1, "default_vocab_size": 500}},
            "do not fit together",
        ),
        (
            {"config": {"default_num_special_tokens": "1", "default_vocab_size": 500}},
            "do not fit together",
        ),
        ({"config": {"default_vocab_size": 10**9}}, "tokens, and its config says"),
        (
            {"config": {"default_vocab_size": 10**9, "default_num_special_tokens": 10**9 - 300}},
            "special tokens are too many",
        ),
        ({"config": {"default_vocab_size": 200}}, "not every byte has a token"),
        ({"config": {"pattern": r"\w+"}}, "can't split a text as .* leaves out"),
        ({"config": {"pattern": 7}}, "wrong type"),
        ({"special_tokens": ...}, "files of version 'v11' name their special tokens"),
        ({"special_tokens": {}}, "wrong type"),
        ({"special_tokens": [{"rank": 1, "token_str": "<s>"}]}, "special token 0 has the rank 1"),
        (
            {"special_tokens": [{"rank": 0, "token_str": text} for text in ("<s>", "</s>")]},
            "special token 1 has the rank 0",
        ),
        ({"special_tokens": [{"rank": "0", "token_str": "<s>"}]}, "has the rank '0'"),
        ({"special_tokens": [{"rank": 0, "token_str": 5}]}, "wrong type"),
        ({"special_tokens": [{"rank": 0}]}, "the field 'token_str' is missing"),
        ({"special_tokens": [{"rank": 0, "token_str": "<SPECIAL_3>"}]}, "have the same text"),
        ({"special_tokens": [{"rank": 0, "token_str": ""}]}, "empty"),
        ({"special_tokens": [{"rank": 0, "token_str": "a"}] * 11}, "names 11 special tokens"),
        ({"vocab": []}, "it has 0 tokens"),
        ({"vocab": {}}, "wrong type"),
    ],
)
def test_what_is_an_error(change: dict[str, Any], why: str) -> None:
    with pytest.raises(TokctlError, match=why) as caught:
        loaded(document(tokens()[:400], **change))
    assert "tekken.json" in caught.value.message


def test_a_vocabulary_that_is_wrong() -> None:
    for place, entry, why in (
        (300, {"rank": 7, "token_bytes": "YWI="}, "entry 300 of the vocabulary has the rank 7"),
        (300, {"rank": 300, "token_bytes": "YQ=="}, "two tokens are the same bytes"),
        (
            300,
            {"rank": 300, "token_bytes": ""},
            "invalid value b'' for entry 300 of the vocabulary",
        ),
        (5, {"rank": 5, "token_bytes": "YQ=="}, "invalid value b'a' for entry 5 of the vocabulary"),
        (300, {"rank": 300, "token_bytes": "!"}, "tekken.json"),
        (300, {"rank": 300}, "the field 'token_bytes' is missing"),
        (300, 5, "wrong type"),
    ):
        whole = document(tokens()[:400])
        whole["vocab"][place] = entry
        with pytest.raises(TokctlError, match=why):
            loaded(whole)


SMALL = json.dumps(document(tokens()[:270], multimodal=IMAGE)).encode()


def tried(data: bytes) -> None:
    try:
        model = formats.parse(data, "x")
    except TokctlError as error:
        assert "x" in error.message
    else:
        assert formats.parse(formats.serialize(model), "y") == model


@given(st.data())
def test_damaged_bytes(data: st.DataObject) -> None:
    content = bytearray(SMALL)
    start = data.draw(st.integers(0, len(content)))
    if data.draw(st.booleans()):
        content[start:start] = content[start : data.draw(st.integers(start, len(content)))]
    for _ in range(data.draw(st.integers(0, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    tried(bytes(content[: data.draw(st.integers(0, len(content)))]))
    tried(bytes(content))


@given(st.data())
def test_wrong_values(data: st.DataObject) -> None:
    whole = json.loads(SMALL)
    path = data.draw(st.sampled_from(places(whole)))
    inner = whole
    for key in path[:-1]:
        inner = inner[key]
    if data.draw(st.booleans()) and isinstance(inner, dict):
        del inner[path[-1]]
    else:
        inner[path[-1]] = data.draw(st.sampled_from(ODD))
    tried(json.dumps(whole).encode())


def test_special_tokens_in_any_order(tmp_path: Path) -> None:
    """The rank of a special token is its id, wherever it stands in the list."""
    special = [{"rank": rank, "token_str": text} for rank, text in enumerate(NAMED)]
    found = document(tokens(), special_tokens=special[::-1], config={"version": "v7"})
    found["special_tokens"] = [{**one, "is_control": True} for one in found["special_tokens"]]
    ours = loaded(found)
    assert ours.tokens[:6] == [*NAMED, "<SPECIAL_5>"]
    path = tmp_path / "tekken.json"
    path.write_text(json.dumps(found))
    theirs = their_tekken(path)
    for text in NAMED:
        assert ours.special_ids[text] == theirs.get_special_token(text)
    ids = theirs.encode("low lower", bos=True, eos=False)
    assert list(ours.encode("low lower", add_special=True).ids) == ids
