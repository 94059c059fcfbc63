"""What `tokenizer.json` can't hold: each is named, and the nearest is written."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
import tokenizers as hf

from tests.exact.strings import strings
from tests.formats.models import RECIPES, RECORD, filled, with_added
from tests.formats.test_sentencepiece_model import trained
from tokctl import Tokenizer, formats
from tokctl.formats import UnsupportedByFormat
from tokctl.model import Model
from tokctl.model.parts import AddedToken


def major(model: Model) -> list[str]:
    return [loss.what for loss in formats.losses(model, "huggingface") if not loss.minor]


def written(model: Model) -> hf.Tokenizer:
    return hf.Tokenizer.from_str(formats.write(model, "huggingface")[""].decode())


def changed(name: str, **fields: Any) -> Model:
    return filled(replace(RECIPES[name], **fields))


def with_listed(name: str, token: AddedToken) -> Model:
    """The model with one of its tokens found before it segments."""
    model = filled(RECIPES[name])
    recipe = RECIPES[name].with_special_tokens([token.text] if token.special else [])
    return replace(model, recipe=recipe, added_tokens=(*model.added, token))


#: What is lost of a model, by the words that say so; and the key of the document that shows it.
CASES: dict[str, tuple[Model, str]] = {
    "single precision": (
        changed("unigram that they load", precision="single"),
        "sums of log probabilities in single precision",
    ),
    "unknown characters": (
        changed("unigram that they load", fuse_unknown=False),
        "one unknown token for each unknown character",
    ),
    "unknown words": (changed("word", fuse_unknown=True), "one unknown token for several"),
    "unknown, WordPiece": (
        changed("bert", unknown="char"),
        "an unknown token for the unknown character alone",
    ),
    "replayed": (changed("gpt2", segmentation="replay"), "merges that are replayed"),
    "WordPiece by merges": (changed("bert", segmentation="merges"), "WordPiece by merges"),
    "no unknown token": (
        changed("chars", unk_token=None, special_tokens=()),
        "that a character without a token is an error",
    ),
    "found inside words": (
        with_listed("unigram", AddedToken("abc", 5, single_word=True)),
        "special tokens that no text can spell (abc)",
    ),
    "found as given alone": (
        with_listed("unigram that they load", AddedToken("a", 1, special=False)),
        "special tokens that no text can spell (a)",
    ),
    "case folding": (
        filled(RECIPES["unigram with case folding"]),
        "it has nmt_nfkc and lower case",
    ),
    "SentencePiece's rules": (filled(RECIPES["t5"]), "text is composed in part"),
    "graphemes": (filled(RECIPES["graphemes"]), "graphemes: it takes a character with the marks"),
    "kept pieces": (
        changed("unigram", normalizers=({"kind": "nmt_nfkc", "keep": ["<x>"]},)),
        "that its user-defined pieces are not normalized",
    ),
    "a mark inside": (
        changed("char-bpe", marker=("end-fused", "b")),
        "tokens with b before their end",
    ),
    "special tokens in text": (
        changed("wordpiece", pre_tokenizers=("whitespace",)),
        "special tokens that no text can spell ([UNK])",
    ),
    "a decoder on bytes": (changed("gpt2", decoders=("fuse",)), "the decoder fuse on bytes"),
}


@pytest.mark.parametrize("case", CASES)
def test_it_is_named_and_the_nearest_is_written(case: str) -> None:
    model, words = CASES[case]
    assert [what for what in major(model) if words in what]
    theirs = written(model)
    ids = {token: id_ for id_, token in enumerate(model.spelled)}
    assert theirs.get_vocab() == ids
    assert theirs.encode("abc ab").ids
    again = formats.parse(formats.write(model, "huggingface")[""], "x")
    assert again.tokens == model.tokens
    # What was lost once is not lost again, but for what the file leaves open.
    open_still = ("no unknown token", "special tokens in text", "a mark inside")
    open_still += ("found inside words",)
    assert case in open_still or not [what for what in major(again) if words in what]


def test_what_is_lost_of_no_text_is_minor() -> None:
    model = replace(filled(RECIPES["gpt2"]), extra_files={"notes.txt": "x"})
    assert formats.losses(model, "huggingface") == [
        ("the record of its training", True),
        ("the files that came with it (notes.txt)", True),
    ]
    bare = replace(
        model, training=None, extra_files={}, merges=[m._replace(count=0) for m in model.merges]
    )
    assert formats.losses(bare, "huggingface") == []
    assert RECORD is model.training


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("notebook-bpe", "no word marker that is a symbol of its own"),
        ("end marker", "no word marker that is a symbol of its own"),
        ("notebook-wordpiece", "need an unknown token"),
        ("graphemes", "need an unknown token"),
    ],
)
def test_what_has_nothing_near_it(name: str, why: str) -> None:
    recipe = RECIPES[name]
    if recipe.segmentation == "lookup":
        recipe = replace(recipe, unk_token=None)
    for ask in (formats.losses, formats.write):
        with pytest.raises(UnsupportedByFormat, match=why):
            ask(filled(recipe), "huggingface")


def test_bytes_without_an_unknown_token() -> None:
    """Its Unigram asks for the unknown token before it falls back to bytes."""
    fields = {"byte_fallback": True, "unk_token": None, "special_tokens": ("<s>",)}
    model = changed("unigram that they load", **fields)
    (lost,) = major(model)
    assert "the bytes of unknown characters" in lost
    assert Tokenizer(model).encode_ids("z")
    with pytest.raises(Exception, match="`unk_id` is missing"):
        written(model).encode("z")
    assert formats.why_not_loadable(model)


def test_a_special_token_that_a_merge_makes_stays_in_the_vocabulary() -> None:
    """`abc` has the highest id: behind the vocabulary, its merge would name no token."""
    model = with_listed("gpt2", AddedToken("abc", 258))
    assert major(model) == []
    for again in (written(model), Tokenizer(formats.parse(formats.serialize(model), "x"))):
        assert again.encode("ab").ids == [257]
        assert again.encode("abc").ids == [258]


def test_the_lowest_score_is_not_that_of_an_added_token() -> None:
    """It would decide there how bad an unknown character is."""
    model = with_listed("unigram", AddedToken("a", 1))
    assert model.scores[1] == min(model.scores)
    model = replace(model, recipe=replace(model.recipe, normalizers=()))
    assert major(model) == []
    ours, theirs = Tokenizer(model), written(model)
    again = Tokenizer(formats.parse(formats.write(model, "huggingface")[""], "x"))
    for text in ("abcz", "zab", "bzc"):
        assert ours.encode_ids(text, special="all") == theirs.encode(text).ids
        assert again.encode_ids(text, special="all") == theirs.encode(text).ids


def test_normalized_tokens_are_decoded_as_they_are_found() -> None:
    model = filled(replace(RECIPES["gpt2"], normalizers=("lowercase",)))
    tokens = [
        AddedToken(text, 259 + at, False, normalized=True) for at, text in enumerate(("Ä!", "B!"))
    ]
    model = replace(
        model,
        tokens=[*model.tokens, "Ä!".encode(), b"B!"],
        added_tokens=(*model.added, tokens[0]._replace(literal=True, normalized=False), tokens[1]),
    )
    assert major(model) == []
    ids = [66, 260, 66]
    assert Tokenizer(model).decode(ids) == written(model).decode(ids)
    assert Tokenizer(model).decode([260]) == "b!"
    assert Tokenizer(model).decode([259]) == "Ä!"


def test_literal_tokens() -> None:
    """Their spelling is normalized there; where that changes nothing, nothing is lost."""
    model = with_added(RECIPES["unigram that they load"])

    def added(text: str) -> Model:
        tokens = [*model.tokens, text.encode()]
        token = AddedToken(text, len(model.tokens), False, normalized=True, literal=True)
        return replace(
            model, tokens=tokens, scores=[*model.scores, 0.0], added_tokens=(*model.added, token)
        )

    assert major(added("<sep>")) == major(model) == []
    assert json.loads(formats.write(added("<sep>"), "huggingface")[""])["added_tokens"][-1][
        "normalized"
    ]
    (lost,) = major(added("ﬁ"))
    assert (
        lost == "that the added token 'ﬁ' is found in normalized text, spelled as it stands there"
    )
    assert written(added("ﬁ")).encode("ﬁ").ids


@pytest.mark.parametrize("options", [{"model_type": "unigram"}, {"model_type": "bpe"}])
@pytest.mark.parametrize("byte_fallback", [False, True])
def test_models_of_sentencepiece(options: dict[str, Any], byte_fallback: bool) -> None:
    """The promise for `--lossy`: on ordinary text it is the same model."""
    data = trained(byte_fallback=byte_fallback, vocab_size=300, **options)
    model = formats.parse(data, "x.model")
    lost = " ".join(major(model))
    assert ("single precision" in lost) == (options["model_type"] == "unigram")
    ours, theirs = Tokenizer(model), written(model)
    for text in ("It is a  truth universally", "acknowledged, that", " a single man", "Œuvre 12"):
        assert ours.encode_ids(text) == theirs.encode(text, add_special_tokens=False).ids, text
        ids = ours.encode_ids(text)
        assert ours.decode(ids) == theirs.decode(ids, skip_special_tokens=False)


@pytest.mark.parametrize("name", sorted(set(RECIPES) - {"notebook-bpe", "notebook-wordpiece"}))
def test_no_major_loss_means_the_same_ids(name: str) -> None:
    model = filled(RECIPES[name])
    try:
        lost = major(model)
    except UnsupportedByFormat:
        return
    if lost:
        return
    ours, theirs = Tokenizer(model), written(model)
    again = Tokenizer(formats.parse(formats.write(model, "huggingface")[""], "x"))
    for text in strings(150):
        ids = theirs.encode(text, add_special_tokens=False).ids
        assert ours.encode_ids(text, special="all") == ids
        assert again.encode_ids(text, special="all") == ids
        decoded = theirs.decode(ids, skip_special_tokens=False)
        assert ours.decode(ids) == again.decode(ids) == decoded
