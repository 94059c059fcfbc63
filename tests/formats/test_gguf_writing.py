"""Models written as GGUF: the reader gives them back, or `losses` has said what it does not."""

from __future__ import annotations

import base64
import string
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.exact.spilled import document
from tests.exact.strings import strings
from tests.formats.models import RECIPES, filled, with_added
from tests.formats.test_sentencepiece_model import sentences
from tokctl import Recipe, Tokenizer, formats, preset
from tokctl.formats import UnsupportedByFormat
from tokctl.formats.gguf import pre_tokenizers
from tokctl.model import Model
from tokctl.model.parts import PRE_TOKENIZERS, AddedToken
from tokctl.model.presets import DEFAULTS

gguf = pytest.importorskip("gguf")
pytest.importorskip("sentencepiece")

from tests.formats import gguf_files as files  # noqa: E402
from tests.formats.test_gguf import GOLDEN, gemma4, golden_values  # noqa: E402


def lost(model: Model) -> list[str]:
    return [loss.what for loss in formats.losses(model, "gguf") if not loss.minor]


def again(model: Model) -> Tokenizer:
    return Tokenizer(formats.parse(formats.write(model, "gguf")[""], "x.gguf"))


#: What shows where a text is split: a pre-token for each difference between patterns.
SHOWING = (
    "'\u017ft",
    "\n \n  ",
    "eЯ",
    "\u1100\u1161\u11a8",
    "a\u0903",
    "▁the",
    "for",
    "x²",
    "字東",
)


@lru_cache(maxsize=32)
def trained(
    name: str, normalizers: str | tuple[str, ...] | None = None, splitting: str | None = None
) -> Tokenizer:
    """A preset, perhaps with other parts, trained on a few sentences and what shows splits."""
    recipe = preset(name)
    if normalizers is not None:
        recipe = replace(recipe, normalizers=normalizers)
    if splitting is not None:
        recipe = replace(recipe, pre_tokenizers=splitting.split(","))
    words = {word: 5 for text in sentences() for word in text.split()}
    words |= dict.fromkeys(SHOWING, 50) if recipe.is_byte_level else dict.fromkeys(SHOWING[3:], 50)
    return Tokenizer.train(words, vocab_size=500, recipe=recipe)


@lru_cache(maxsize=1)
def spaced() -> Tokenizer:
    """SentencePiece's BPE as llama.cpp has it: spaces are marked, and nothing else is done."""
    data = files.trained(
        sentences(),
        model_type="bpe",
        vocab_size=400,
        byte_fallback=True,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
    )
    return Tokenizer(formats.parse(data, "x.model"))


@lru_cache(maxsize=4)
def superwords(splitting: tuple[str, ...]) -> Tokenizer:
    """SuperBPE, whose tokens reach over words, with some splitting of numbers."""
    text = "of the sea of the 1234567 x² and ٣٤ of the sea\n" * 9
    recipe = replace(DEFAULTS["superbpe"].with_transition("280"), pre_tokenizers=splitting)
    return Tokenizer.train([document("text", text.encode())], vocab_size=320, recipe=recipe)


# -- without a loss --------------------------------------------------------------------

WHOLE = {
    "gpt2": lambda: trained("gpt2"),
    "starcoder": lambda: trained("gpt2", splitting="digits-individual,gpt2"),
    "deepseek": lambda: trained("gpt2", splitting="deepseek-v3"),
    "llama": spaced,
    "superbpe": lambda: superwords(pre_tokenizers._SPLITTINGS["superbpe"]),
}
texts = st.one_of(
    st.text(max_size=60),
    st.sampled_from(list(strings(400, seed=7))),
    st.sampled_from(["for (i = 0; i < n; ++i) {\n\t\tx[i] += 3;\n}", "a <|endoftext|><s> b</s>"]),
    st.binary(max_size=40).map(lambda data: data.decode("utf-8", "replace")),
    st.text(" \n\ta1's\u017f▁東é<|>", max_size=40),
    st.text(" 1234567²٣", max_size=40),
)


@pytest.mark.parametrize("name", WHOLE)
def test_the_same_model(name: str) -> None:
    ours = WHOLE[name]()
    assert lost(ours.model) == []
    read = again(ours.model)
    assert read.tokens == ours.tokens
    assert read.special_ids == ours.special_ids

    @given(texts)
    def same(text: str) -> None:
        ids = ours.encode_ids(text)
        assert read.encode_ids(text) == ids
        assert read.decode(ids, errors="replace") == ours.decode(ids, errors="replace")
        marked = ours.encode_ids(text, special="all", add_special=True)
        assert read.encode_ids(text, special="all", add_special=True) == marked

    same()


@pytest.mark.parametrize("name", [*GOLDEN["models"], "gemma4", "falcon3", "chameleon"])
def test_what_was_read_is_written_as_it_was(name: str) -> None:
    if name == "gemma4":
        values = gemma4()
    else:
        values = golden_values(name) if name in GOLDEN["models"] else files.pairs(name, ["abc"])
    first = files.model({"general.name": "", **values})
    if name.startswith("bert"):
        # Its marks are around each text there, whatever a file says.
        assert len(lost(first)) <= 1
        return
    assert lost(first) == []
    second = again(first).model
    assert (second.tokens, second.merges, second.added) == (
        first.tokens, first.merges, first.added,
    )  # fmt: skip
    whole = {"whole_words": first.recipe.whole_words}
    assert replace(second.recipe, **whole) == first.recipe
    assert formats.write(first, "gguf") == formats.write(second, "gguf")


def test_every_name_is_read_as_what_it_is_written_for() -> None:
    for name, meant in pre_tokenizers._KNOWN_NAMES.items():
        parts = PRE_TOKENIZERS.steps(pre_tokenizers._SPLITTINGS[meant])
        whole = name in pre_tokenizers._KEEPS_WHOLE_WORDS
        found = pre_tokenizers.nearest_name(parts, whole)
        assert found is not None and not found.losses
        read = pre_tokenizers.splitting_named(found.name, None)
        assert (read.parts, read.whole_words) == (parts, whole), name


def test_the_package_reads_the_same_metadata(tmp_path: Path) -> None:
    model = trained("llama3").model
    model = replace(model, extra_files={"chat_template.jinja": "{{ messages }}"})
    path = tmp_path / "x.gguf"
    Tokenizer(model).save(path, "gguf", lossy=True)
    reader = gguf.GGUFReader(path)
    assert reader.tensors == []
    found = {key: field.contents() for key, field in reader.fields.items()}
    names = model.spelled
    begin, end = (model.special_ids[f"<|{name}_of_text|>"] for name in ("begin", "end"))
    assert found == {
        "GGUF.version": 3,
        "GGUF.tensor_count": 0,
        "GGUF.kv_count": 11,
        "general.architecture": "gpt2",
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "llama3",
        "tokenizer.ggml.tokens": names,
        "tokenizer.ggml.token_type": [3 if id_ in (begin, end) else 1 for id_ in range(len(names))],
        "tokenizer.ggml.merges": [
            f"{names[left]} {names[right]}" for left, right, *_ in model.merges
        ],
        "tokenizer.ggml.bos_token_id": begin,
        "tokenizer.ggml.eos_token_id": end,
        "tokenizer.ggml.add_bos_token": True,
        "tokenizer.ggml.add_eos_token": False,
        "tokenizer.chat_template": "{{ messages }}",
    }
    assert Tokenizer.load(path).model.extra_files == model.extra_files


def test_scores_and_rules_as_the_package_reads_them(tmp_path: Path) -> None:
    # The package takes long for each entry of a list: rules of a few bytes.
    model = trained("t5", normalizers=("replace:é=>e", "collapse-spaces")).model
    path = tmp_path / "x.gguf"
    Tokenizer(model).save(path, "gguf", lossy=True)
    fields = gguf.GGUFReader(path).fields
    scores = fields["tokenizer.ggml.scores"].contents()
    assert len(scores) == len(model.tokens) and min(scores) < -3
    (rules,) = [one for one in again(model).recipe.normalizers if one.kind == "precompiled"]
    blob = bytes(fields["tokenizer.ggml.precompiled_charsmap"].contents())
    assert blob == base64.b64decode(rules["rules"])
    found = {key: field.contents() for key, field in fields.items() if len(field.data) == 1}
    assert found["tokenizer.ggml.remove_extra_whitespaces"] is True
    assert found["tokenizer.ggml.unknown_token_id"] == model.special_ids["<unk>"]
    assert found["tokenizer.ggml.padding_token_id"] == model.special_ids["<pad>"]
    assert found["tokenizer.ggml.add_eos_token"] is True


# -- with losses -----------------------------------------------------------------------

LOST = [
    # A loss, the model that has it, and a text that shows it.
    ("llama3", "U+017F", "we'\u017ft"),
    ("cl100k", "white space at the end", "a\n \n  "),
    ("qwen", "nfc", "e\u0301"),
    ("o200k", "case outside ASCII", "naïveЯЯяя"),
    ("bert-cased", "U+000B", "the\vthe"),
    ("bert", "Hangul", "각"),
    ("bert", "not accents stay", "a\u0903"),
    ("llama2", "starts with a space", " the"),
    ("t5", "a ▁ that a text itself has", "the▁"),
]


@pytest.mark.parametrize(("name", "what", "text"), LOST)
def test_a_loss_is_one(name: str, what: str, text: str) -> None:
    ours = trained(name)
    assert any(what in one.replace("\u017f", "U+017F") for one in lost(ours.model))
    assert again(ours.model).encode_ids(text) != ours.encode_ids(text)


@pytest.mark.parametrize(
    "splitting",
    [(r"regex:\p{N}+", "digit-cuts"), ("digits", "digit-cuts"), ("digit-groups",)],
)
def test_superbpe_is_the_same_but_for_other_digits(splitting: tuple[str, ...]) -> None:
    """The published SuperBPE files split any decimal digits in threes, llama.cpp ASCII's."""
    ours = superwords(splitting)
    assert lost(ours.model) == [pre_tokenizers._OTHER_DIGITS]
    assert any(b" of the" in token for token in ours.model.tokens)
    read = again(ours.model)
    assert read.encode_ids("٣٤٥٦") != ours.encode_ids("٣٤٥٦")

    @given(st.text("of the sea 1234567\n", max_size=60) | st.text(string.printable, max_size=60))
    def same(text: str) -> None:
        assert read.encode_ids(text) == ours.encode_ids(text)

    same()


def test_superbpe_of_single_lines_is_refused() -> None:
    with pytest.raises(UnsupportedByFormat, match="none of its names means"):
        lost(superwords(("digit-groups", "lines")).model)


@pytest.mark.parametrize("name", ["llama3", "cl100k", "qwen", "bert-cased"])
def test_elsewhere_the_ids_are_the_same(name: str) -> None:
    ours = trained(name, normalizers="none") if name == "qwen" else trained(name)
    read = again(ours.model)
    for text in strings(400, seed=3):
        text = text.translate(dict.fromkeys(map(ord, "\u017f\v\f\x85"))).rstrip() + "."
        if "▁" not in text:
            assert read.encode_ids(text) == ours.encode_ids(text), text


def test_the_dotted_capital() -> None:
    ours = trained("bert", normalizers='{"kind": "bert", "strip_accents": false}')
    assert any("\u0130" in one for one in lost(ours.model))
    assert any("two texts" in one for one in lost(ours.model))


def test_pieces_that_are_found_before_all_else() -> None:
    data = files.trained(
        sentences(),
        model_type="bpe",
        vocab_size=400,
        byte_fallback=True,
        user_defined_symbols=["<sep>"],
    )
    what = lost(formats.parse(data, "x.model"))
    assert "the way that the user-defined piece '<sep>' is found in a text" in what
    assert any("nmt_nfkc" in one for one in what)


def test_an_ordinary_token_that_is_spelled_as_an_end() -> None:
    words = {"</s>": 50, "low": 3}
    ours = Tokenizer.train(words, vocab_size=270, recipe=preset("gpt2"))
    assert "that '</s>' is an ordinary token" in lost(ours.model)
    assert "</s>" in ours.tokens and "</s>" not in ours.special_ids


# -- what there is nothing like --------------------------------------------------------


def with_control(text: str) -> Model:
    """GPT-2's with one more control token."""
    model = filled(RECIPES["gpt2"])
    tokens = [*model.tokens, text.encode()]
    recipe = model.recipe.with_special_tokens([text])
    added = (*model.added, AddedToken(text, len(tokens) - 1))
    return replace(model, recipe=recipe, tokens=tokens, added_tokens=added)


def recipe(name: str, **changes: Any) -> Recipe:
    return replace(RECIPES[name], **changes)


def ordinary_unknown() -> Model:
    """Unigram without an unknown token, in which `<unk>` is a piece like any other."""
    bare = replace(RECIPES["unigram"], unk_token=None, special_tokens=())
    tokens = [b"<unk>", b"a", b"b", b"ab"]
    return Model(
        bare,
        tokens,
        scores=[0.0, -1.0, -2.0, -1.5],
        added_tokens=(AddedToken("<unk>", 0, ordinary=True),),
    )


REFUSED = {
    "a pattern": (filled(recipe("gpt2", pre_tokenizers=("regex:\\w",))), "none of its names means"),
    "no splitting": (filled(recipe("gpt2", pre_tokenizers=())), "none of its names means none"),
    "the notebook's BPE": (filled(RECIPES["notebook-bpe"]), "have a marker"),
    "the notebook's WordPiece": (filled(RECIPES["notebook-wordpiece"]), "WordPiece (segmentation"),
    "an end marker": (filled(RECIPES["end marker"]), "have a marker"),
    "another prefix": (filled(recipe("bert", marker=("continuation", "@@"))), "and not with '@@'"),
    "other normalizers": (filled(recipe("bert", normalizers=("nfkc",))), "normalizers nfkc"),
    "no normalizers": (filled(RECIPES["wordpiece"]), "normalizers none"),
    "another splitting": (filled(recipe("bert", pre_tokenizers=("whitespace",))), "as BERT does"),
    "words": (filled(RECIPES["word"]), "words (segmentation: lookup)"),
    "characters": (filled(RECIPES["char"]), "characters (segmentation: symbols)"),
    "no bytes": (filled(RECIPES["sentencepiece-bpe"]), "no tokens for bytes"),
    "bytes that stay unused": (filled(recipe("unigram", byte_fallback=True)), "leaves unused"),
    "a NUL": (with_control("<\0>"), "holds a NUL"),
    "a NUL of Unigram": (filled(RECIPES["unigram"].with_special_tokens(["<\0>"])), "holds a NUL"),
    "a byte": (with_control("\u010a"), "spell"),
    "an unknown token that is none": (ordinary_unknown(), "reads it otherwise"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    model, why = REFUSED[name]
    for call in (formats.losses, formats.write):
        with pytest.raises(UnsupportedByFormat) as caught:
            call(model, "gguf")
        assert why in str(caught.value)


@pytest.mark.few(10)
@pytest.mark.parametrize("name", RECIPES)
def test_any_model_is_written_or_refused(name: str) -> None:
    for model in (filled(RECIPES[name]), with_added(RECIPES[name])):
        try:
            lost(model)
        except UnsupportedByFormat:
            continue
        assert again(model).vocab_size >= model.size
