"""What is written as SentencePiece's model file: rules, pieces, and what is refused or lost."""

from __future__ import annotations

import json
import random
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tokenizers as hf
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import shared_file
from tests.formats.test_sentencepiece_model import sentences, texts, trained
from tokctl import Tokenizer, _native, formats, preset
from tokctl.core.errors import CoreError
from tokctl.formats import UnsupportedByFormat, sentencepiece
from tokctl.model import Model
from tokctl.model.parts import AddedToken
from tokctl.model.presets import CHAR, UNIGRAM, WORD

spm = pytest.importorskip("sentencepiece")


def there(model: Model) -> Any:
    return spm.SentencePieceProcessor(model_proto=formats.write(model, "sentencepiece")[""])


def lost(model: Model) -> list[str]:
    return [loss.what for loss in formats.losses(model, "sentencepiece") if not loss.minor]


def small(recipe: Any, **changes: Any) -> Model:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "text.txt"
        path.write_text("\n".join(sentences()), encoding="utf-8")
        return Tokenizer.train([path], recipe=replace(recipe, **changes), vocab_size=330).model


# -- rules ----------------------------------------------------------------------------


@pytest.mark.few(2)
@pytest.mark.parametrize("name", ["nfkc", "nmt_nfkc", "nfkc_cf", "nmt_nfkc_cf"])
def test_its_own_rules_to_the_byte(name: str) -> None:
    proto = sentencepiece.parse(trained(model_type="char", normalization_rule_name=name))
    assert _native.chars_map_named(name) == proto.normalizer_spec.precompiled_charsmap


#: Letters whose bytes share prefixes, and one of one byte.
letters = st.text("aéèê字字孖🙂🙃", min_size=1, max_size=4)


def with_rules(blob: bytes) -> Any:
    """SentencePiece that does nothing but apply rules."""
    proto = sentencepiece.parse(trained(model_type="char"))
    spec = proto.normalizer_spec
    spec.precompiled_charsmap = blob
    spec.add_dummy_prefix = spec.remove_extra_whitespaces = spec.escape_whitespaces = False
    return spm.SentencePieceProcessor(model_proto=sentencepiece.serialize(proto))


@given(
    st.dictionaries(letters, st.text("xyzé", max_size=3), min_size=1, max_size=30),
    st.lists(st.text("aéèê字孖🙂🙃b", max_size=12), max_size=5),
)
def test_rules_are_compiled(rules: dict[str, str], some: list[str]) -> None:
    theirs = with_rules(_native.compile_chars_map(rules))
    for text in some:
        expected, at = "", 0
        while at < len(text):
            keys = [key for key in rules if text.startswith(key, at)]
            key = max(keys, key=len, default=text[at])
            expected += rules.get(key, key)
            at += len(key)
        assert theirs.normalize(text) == expected


def test_many_rules_are_laid_out_in_many_blocks() -> None:
    """More than the 4,096 units that are free at a time, with tails in common."""
    draw = random.Random(1)
    rules = {
        "".join(map(chr, draw.choices(range(0x3041, 0x3400), k=draw.randint(1, 4)))): f"{n % 50}"
        for n in range(20_000)
    }
    theirs = with_rules(_native.compile_chars_map(rules))
    assert all(theirs.normalize(key) == value for key, value in rules.items())


@pytest.mark.parametrize(
    "rules", [{"a\0": "b"}, {"a": "\0"}, {"": "b"}, {"a" * n: "" for n in range(1, 40)}]
)
def test_rules_that_sentencepiece_refuses(rules: dict[str, str]) -> None:
    with pytest.raises(CoreError, match="a rule "):
        _native.compile_chars_map(rules)


def test_no_rules() -> None:
    assert _native.compile_chars_map({}) == b""


# -- models of other libraries --------------------------------------------------------


def all_merges(data: bytes) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """A vocabulary and its merges as `transformers` takes them out of a model file: every way
    to make a piece of two others, by the piece's score."""
    pieces = sentencepiece.parse(data).pieces
    vocabulary = {piece.piece.decode(): id_ for id_, piece in enumerate(pieces)}
    merges = []
    for piece in pieces:
        text = piece.piece.decode()
        ways = [(text[:at], text[at:]) for at in range(1, len(text))]
        known = [way for way in ways if way[0] in vocabulary and way[1] in vocabulary]
        merges += [(way, piece.score) for way in known if piece.type == 1]
    merges.sort(key=lambda entry: -entry[1])
    return vocabulary, [way for way, _ in merges]


def test_llama_as_hugging_face_has_it() -> None:
    """Of all ways to make a token one is ever used: the scores say the same."""
    data = trained(
        model_type="bpe",
        vocab_size=330,
        byte_fallback=True,
        remove_extra_whitespaces=False,
    )
    vocabulary, merges = all_merges(data)
    theirs = hf.Tokenizer(
        hf.models.BPE(vocabulary, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    )
    theirs.normalizer = hf.normalizers.Sequence(
        [hf.normalizers.Prepend("▁"), hf.normalizers.Replace(" ", "▁")]
    )
    theirs.decoder = hf.decoders.Sequence(
        [
            hf.decoders.Replace("▁", " "),
            hf.decoders.ByteFallback(),
            hf.decoders.Fuse(),
            hf.decoders.Strip(" ", 1, 0),
        ]
    )
    theirs.add_special_tokens(["<unk>", "<s>", "</s>"])
    theirs.encode_special_tokens = True
    model = formats.parse(theirs.to_str().encode(), "tokenizer.json")
    assert len(model.merges) > len({merge.token for merge in model.merges})
    assert lost(model) == []
    written, first = there(model), spm.SentencePieceProcessor(model_proto=data)
    for text in texts():
        ids = theirs.encode(text).ids
        assert written.encode(text) == first.encode(text) == ids
        assert written.decode(ids) == theirs.decode(ids)


def test_t5_as_hugging_face_has_it() -> None:
    """Metaspace, rules and a replacement: the losses, and the same ids for a plain text."""
    proto = sentencepiece.parse(trained(model_type="unigram", normalization_rule_name="nmt_nfkc"))
    vocab = [(piece.piece.decode(), piece.score) for piece in proto.pieces]
    theirs = hf.Tokenizer(hf.models.Unigram(vocab, 0, byte_fallback=False))
    rules = bytes(proto.normalizer_spec.precompiled_charsmap)
    theirs.normalizer = hf.normalizers.Sequence(
        [
            hf.normalizers.Precompiled(rules),
            hf.normalizers.Strip(left=False, right=True),
            hf.normalizers.Replace(hf.Regex(" {2,}"), "▁"),
        ]
    )
    theirs.pre_tokenizer = hf.pre_tokenizers.Metaspace()
    theirs.decoder = hf.decoders.Metaspace()
    theirs.add_special_tokens(["<unk>", "<s>", "</s>"])
    model = formats.parse(theirs.to_str().encode(), "tokenizer.json")
    told = lost(model)
    assert any("double precision" in what for what in told)
    assert any("grapheme" in what for what in told)
    assert not any("normalizer " in what or "decoders" in what for what in told)
    written = there(model)
    for text in texts():
        if "▁" not in text and "<" not in text:
            assert written.encode(text) == theirs.encode(text).ids


# -- pieces ---------------------------------------------------------------------------


def test_tokens_that_no_merge_makes_stay_unmade() -> None:
    model = small(preset("llama2"), pre_tokenizers=(), normalizers=("prepend:▁", "replace: =>▁"))
    tokens = [*model.tokens, b"catx", b"zq", b"at"]
    odd = replace(model, tokens=list(dict.fromkeys(tokens)), training=None)
    theirs, ours = there(odd), Tokenizer(odd)
    for text in [*texts(), "catx zq"]:
        assert theirs.encode(text) == ours.encode_ids(text)


def test_added_tokens() -> None:
    base = small(preset("llama2"), pre_tokenizers=(), normalizers=("prepend:▁", "replace: =>▁"))
    base = replace(base, recipe=replace(base.recipe, post_processors=()))
    size = len(base.tokens)

    def added(**flags: Any) -> Model:
        token = AddedToken("<sep>", size, **{"special": False, "normalized": True, **flags})
        return replace(base, tokens=[*base.tokens, b"<sep>"], added_tokens=(*base.added, token))

    exact = added(literal=True)
    assert lost(exact) == []
    theirs, ours = there(exact), Tokenizer(exact)
    for text in texts():
        assert theirs.encode(text) == ours.encode_ids(text)
    for flags in ({"normalized": False}, {}, {"literal": True, "strip_left": True}):
        assert lost(added(**flags)) == [
            "the way that the added token '<sep>' is found in a text"
        ], flags


def test_what_the_pieces_lose() -> None:
    base = small(UNIGRAM)
    double = next(what for what in lost(base) if "double" in what)
    single = replace(base, recipe=replace(base.recipe, precision="single"))
    assert lost(single) == [what for what in lost(base) if what != double]
    apart = replace(single, recipe=replace(single.recipe, fuse_unknown=False))
    assert any("unknown token of its own" in what for what in lost(apart))
    nul = replace(single, tokens=[*single.tokens, b"\0"], scores=[*single.scores, -3.0])
    assert "the token '\\x00', which holds a NUL" in lost(nul)
    assert there(nul).id_to_piece(len(single.tokens)) == f"<|unused_{len(single.tokens)}|>"
    bare = small(CHAR, unk_token=None, special_tokens=(), fuse_unknown=True)
    assert "that it has no unknown token" in lost(bare)
    theirs = there(bare)
    assert theirs.unk_id() == len(bare.tokens)
    assert theirs.encode("the cat") == Tokenizer(bare).encode_ids("the cat")
    few = small(preset("llama2"))
    at = few.tokens.index(b"<0x41>")
    few = replace(few, tokens=[*few.tokens[:at], b"<0x4x>", *few.tokens[at + 1 :]])
    assert any("fallback to bytes" in what for what in lost(few))
    there(few)


def test_rules_and_what_they_leave_alone() -> None:
    data = trained(model_type="bpe", normalization_rule_name="nmt_nfkc", user_defined_symbols=["ﬁ"])
    model = formats.parse(data, "m")
    assert lost(model) == []
    rules, *rest = model.recipe.normalizers
    from tokctl.model.parts import NORMALIZERS

    for keep, message in (((), "change 'ﬁ'"), (("ﬁ", "x"), "leave alone 'x'")):
        part = NORMALIZERS.part(rules.kind, keep=list(keep))
        changed = replace(model.recipe, normalizers=(part, *rest))
        assert lost(replace(model, recipe=changed)) == [f"that its rules {message}"]


def test_roles_are_named() -> None:
    model = small(preset("albert"))
    theirs = there(model)
    roles = theirs.unk_id(), theirs.bos_id(), theirs.eos_id(), theirs.pad_id()
    names = ("<unk>", "[CLS]", "[SEP]", "<pad>")
    assert roles == tuple(model.special_ids[name] for name in names)


REFUSED = {
    "bytes": (preset("gpt2"), "its tokens are bytes"),
    "wordpiece": (preset("bert"), "has no wordpiece"),
    "marker": (preset("char-bpe"), "no word marker"),
    "graphemes": (replace(CHAR, segmentation="lookup", pre_tokenizers=("graphemes",)), "by lookup"),
    "words": (WORD, "words begin with ▁"),
    "replay": (
        replace(preset("llama2"), segmentation="replay"),
        "in the order in which they were learned",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_it_has_nothing_like(name: str) -> None:
    recipe, message = REFUSED[name]
    with pytest.raises(UnsupportedByFormat, match=message):
        formats.losses(small(recipe), "sentencepiece")


def test_a_whole_model_again() -> None:
    """A file of another maker's: every field that means anything."""
    data = shared_file("vocab/sentencepiece-unigram-en.model").read_bytes()
    model = formats.parse(data, "en.model")
    assert lost(model) == []
    written = formats.write(model, "sentencepiece")[""]
    old, new = sentencepiece.parse(data), sentencepiece.parse(written)
    for one, other in zip(old.pieces, new.pieces, strict=True):
        assert (one.piece, one.score, one.type) == (other.piece, other.score, other.type)
    for name in ("precompiled_charsmap", "add_dummy_prefix", "remove_extra_whitespaces"):
        assert getattr(old.normalizer_spec, name) == getattr(new.normalizer_spec, name)
    assert formats.parse(written, "en.model") == model
    assert json.loads(formats.serialize(model))["version"] == "tokctl-1"
