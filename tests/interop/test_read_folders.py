"""Folders that transformers reads by more than their `tokenizer.json`: the same here."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from tests.errors import raises_code
from tests.interop.peers import assert_same, auto, folder_of, text_file, trained, write
from tokctl import TokctlError, Tokenizer

FAST = {"tokenizer_class": "PreTrainedTokenizerFast"}
MASK = {"content": "<mask>", "lstrip": True, "rstrip": False, "normalized": False}


def token(content: str, **flags: bool) -> dict[str, Any]:
    plain = {"lstrip": False, "rstrip": False, "single_word": False, "normalized": False}
    return {"content": content, "special": True, **plain, **flags}


#: Configurations of folders: of which preset, `tokenizer_config.json`, other files.
CASES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "no class": ("gpt2", {}, {"config": {"model_type": "gpt2"}}),
    "plain": ("gpt2", FAST, {}),
    "version 5": ("llama3", {"tokenizer_class": "TokenizersBackend"}, {}),
    "unheard of": ("llama3", {"tokenizer_class": "NobodysTokenizer"}, {}),
    "bos in vain": ("llama2", FAST | {"add_bos_token": False, "add_eos_token": True}, {}),
    "a new pad": ("gpt2", FAST | {"pad_token": "<pad>", "eos_token": "<|endoftext|>"}, {}),
    "an old word is special": ("gpt2", FAST | {"cls_token": "the", "image_token": "<x y>"}, {}),
    "roles with flags": (
        "bert",
        FAST | {"mask_token": {"__type": "AddedToken", **MASK}},
        {},
    ),
    "special map": (
        "bert",
        FAST,
        {"special_tokens_map": {"mask_token": MASK, "pad_token": "[PAD]"}},
    ),
    "added.json": (
        "bert",
        FAST | {"additional_special_tokens": ["<end>"]},
        {"added_tokens": {"<x y>": 700, "<end>": 701}},
    ),
    "extras": ("qwen", FAST | {"extra_special_tokens": ["<x y>", "<end>"]}, {}),
    "extras by name": ("qwen", FAST | {"extra_special_tokens": {"boi_token": "<x y>"}}, {}),
    "decoder with flags": (
        "gpt2",
        FAST | {"added_tokens_decoder": {"0": token("<|endoftext|>", lstrip=True)}},
        {},
    ),
    "decoder with more": (
        "gpt2",
        FAST
        | {
            "added_tokens_decoder": {
                "701": token("<end>", rstrip=True),
                "700": token("<x y>", lstrip=True, special=False, normalized=True),
                "702": token("word", single_word=True, special=False),
            }
        },
        {},
    ),
    "cleaned up": ("bert", FAST | {"clean_up_tokenization_spaces": True}, {}),
    "cleaned up, Unigram": ("t5", FAST | {"clean_up_tokenization_spaces": True}, {}),
    "not cleaned up, BPE": ("llama2", FAST | {"clean_up_tokenization_spaces": True}, {}),
    # Classes that build their own pipeline.
    "BERT": ("bert", {"tokenizer_class": "BertTokenizer"}, {}),
    "BERT, cased": ("bert", {"tokenizer_class": "BertTokenizerFast", "do_lower_case": False}, {}),
    "BERT, accents": (
        "bert-cased",
        {
            "tokenizer_class": "BertTokenizer",
            "strip_accents": False,
            "tokenize_chinese_chars": False,
        },
        {},
    ),
    "BERT, other roles": (
        "bert",
        {"tokenizer_class": "BertTokenizer", "cls_token": "[SEP]", "mask_token": "<mask>"},
        {},
    ),
    "BERT by model": ("bert", {}, {"config": {"model_type": "bert"}}),
    "GPT-2": ("gpt2", {"tokenizer_class": "GPT2Tokenizer"}, {}),
    "GPT-2, prefix": ("gpt2", {"tokenizer_class": "GPT2Tokenizer", "add_prefix_space": True}, {}),
    "GPT-2 of another": ("cl100k", {"tokenizer_class": "GPT2TokenizerFast"}, {}),
    "GPT-2, bos": ("llama3", {"tokenizer_class": "GPT2Tokenizer", "add_bos_token": True}, {}),
    "RoBERTa": (
        "gpt2",
        {"tokenizer_class": "RobertaTokenizer", "mask_token": {"__type": "AddedToken", **MASK}},
        {},
    ),
    "RoBERTa, prefix": (
        "gpt2",
        {"tokenizer_class": "RobertaTokenizer", "add_prefix_space": True, "trim_offsets": False},
        {},
    ),
    "GPT-NeoX": ("llama3", {"tokenizer_class": "GPTNeoXTokenizer", "add_bos_token": True}, {}),
    "Qwen 2": ("gpt2", {"tokenizer_class": "Qwen2Tokenizer", "bos_token": None}, {}),
    "Llama": ("llama2", {"tokenizer_class": "LlamaTokenizer"}, {}),
    "Llama, legacy": ("llama2", {"tokenizer_class": "LlamaTokenizerFast", "legacy": True}, {}),
    "Llama, no prefix": (
        "llama2",
        {"tokenizer_class": "LlamaTokenizer", "add_prefix_space": False, "legacy": None},
        {},
    ),
    "Llama 3": ("llama3", {"tokenizer_class": "LlamaTokenizer"}, {}),
    "Gemma": ("llama2", {"tokenizer_class": "GemmaTokenizer"}, {}),
    "DistilBERT": ("bert", {"tokenizer_class": "DistilBertTokenizerFast"}, {}),
    "BART": ("gpt2", {"tokenizer_class": "BartTokenizer"}, {}),
    "T5": ("t5", {"tokenizer_class": "T5Tokenizer", "extra_ids": 3}, {}),
    "T5, extras": (
        "t5",
        {"tokenizer_class": "T5Tokenizer", "additional_special_tokens": ["<extra_id_0>"]},
        {},
    ),
    "ALBERT": ("albert", {"tokenizer_class": "AlbertTokenizer"}, {}),
    "ALBERT, cased": (
        "albert",
        {"tokenizer_class": "AlbertTokenizer", "do_lower_case": False, "keep_accents": True},
        {},
    ),
    "XLNet": ("sentencepiece-unigram", {"tokenizer_class": "XLNetTokenizer"}, {}),
    "XLM-R": ("albert", {"tokenizer_class": "XLMRobertaTokenizer"}, {}),
}


@pytest.mark.few(2)
@pytest.mark.parametrize("case", CASES)
def test_what_the_files_say(case: str, tmp_path: Path) -> None:
    name, config, files = CASES[case]
    folder_of(trained(name), tmp_path / "x", config, **files)
    theirs = auto(tmp_path / "x")
    ours = Tokenizer.load(tmp_path / "x")
    assert ours.format == "huggingface-folder"
    assert_same(ours, theirs)
    # And once more, written here.
    ours.save(tmp_path / "again", "huggingface-folder")
    again = auto(tmp_path / "again")
    assert_same(ours, again)
    roles = {role: str(text) for role, text in theirs.special_tokens_map.items()}
    assert {role: str(text) for role, text in again.special_tokens_map.items()} == roles


def test_a_folder_that_transformers_saved(tmp_path: Path) -> None:
    folder_of(trained("bert"), tmp_path / "x", FAST)
    theirs = auto(tmp_path / "x")
    theirs.add_tokens(["<x y>", "word"])
    theirs.add_special_tokens({"mask_token": "<mask>", "additional_special_tokens": ["<end>"]})
    theirs.save_pretrained(tmp_path / "saved")
    assert_same(Tokenizer.load(tmp_path / "saved"), theirs)


def test_a_class_of_another_model(tmp_path: Path) -> None:
    folder_of(trained("bert"), tmp_path / "x", {"tokenizer_class": "GPT2Tokenizer"})
    with raises_code("damaged-model", "GPT2Tokenizer has a BPE model, and its"):
        Tokenizer.load(tmp_path / "x")


# -- faults that readers are known for ----------------------------------------------------


def test_merges_of_2024(tmp_path: Path) -> None:
    """`["a", "b"]` and `"a b"` are the same merge."""
    document = folder_of(trained("gpt2"), tmp_path / "pairs", FAST)
    pairs = document["model"]["merges"]
    assert isinstance(pairs[0], list)
    folder_of(trained("gpt2"), tmp_path / "texts", FAST)
    document["model"]["merges"] = [" ".join(pair) for pair in pairs]
    write(tmp_path / "texts", "tokenizer.json", document)
    ours = Tokenizer.load(tmp_path / "texts")
    assert ours.model.merges == Tokenizer.load(tmp_path / "pairs").model.merges
    assert_same(ours, auto(tmp_path / "texts"))


def test_added_tokens_beyond_the_vocabulary(tmp_path: Path) -> None:
    document = folder_of(trained("gpt2"), tmp_path / "x", FAST)
    size = len(document["model"]["vocab"])
    more = [token("<end>", special=False), token("<x y>", rstrip=True)]
    document["added_tokens"] += [entry | {"id": size + at} for at, entry in enumerate(more)]
    write(tmp_path / "x", "tokenizer.json", document)
    ours = Tokenizer.load(tmp_path / "x")
    assert ours.encode_ids("the<end>", special="all")[-1] == size
    assert_same(ours, auto(tmp_path / "x"))
    document["added_tokens"][-1]["id"] += 5
    write(tmp_path / "x", "tokenizer.json", document)
    # Whatever the file says, the library gives it the next id.
    ours = Tokenizer.load(tmp_path / "x")
    assert ours.encode_ids("a <x y> b", special="all")[-2] == size + 1
    assert_same(ours, auto(tmp_path / "x"))


def test_special_tokens_that_take_spaces_along(tmp_path: Path) -> None:
    document = folder_of(trained("gpt2"), tmp_path / "x", FAST)
    document["added_tokens"] = [token("<|endoftext|>", lstrip=True, rstrip=True) | {"id": 0}]
    write(tmp_path / "x", "tokenizer.json", document)
    ours, theirs = Tokenizer.load(tmp_path / "x"), auto(tmp_path / "x")
    some = ["a  <|endoftext|>  b", " <|endoftext|>", "<|endoftext|> \n<|endoftext|>x"]
    assert_same(ours, theirs, some)
    assert ours.encode_ids(" <|endoftext|> ", special="all") == [0]


@pytest.mark.parametrize("name", ["llama2", "t5", "gpt2", "sentencepiece-bpe"])
def test_leading_spaces(name: str, tmp_path: Path) -> None:
    """A text's first space is one that readers like to lose, or to find twice."""
    trained(name).save(tmp_path / "x", "huggingface-folder", lossy=True)
    ours, theirs = Tokenizer.load(tmp_path / "x"), auto(tmp_path / "x")
    some = ["", " ", "  ", " a", "  a", "a ", "▁a", " ▁a", "</s> a", "</s>a", " </s>  a", "\na"]
    assert_same(ours, theirs, some)


def test_holes_in_the_vocabulary(tmp_path: Path) -> None:
    document = folder_of(trained("bert"), tmp_path / "x", FAST)
    vocab = document["model"]["vocab"]
    gone = sorted(vocab, key=vocab.__getitem__)[300:600:37]
    for text in gone:
        del vocab[text]
    write(tmp_path / "x", "tokenizer.json", document)
    ours, theirs = Tokenizer.load(tmp_path / "x"), auto(tmp_path / "x")
    assert_same(ours, theirs)
    assert ours.model.special_ids["<|unused_300|>"] == 300
    # There the next added token gets an id that is taken.
    document["added_tokens"].append(token("<end>") | {"id": len(vocab)})
    write(tmp_path / "x", "tokenizer.json", document)
    with raises_code("damaged-model", r"'<end>' gets the id 6.. there, which is the id of '"):
        Tokenizer.load(tmp_path / "x")


# -- folders without a tokenizer.json -----------------------------------------------------


def test_vocabulary_files_alone(tmp_path: Path) -> None:
    for name, kind in (("gpt2", "GPT2Tokenizer"), ("gpt2", "RobertaTokenizer")):
        folder = tmp_path / kind
        trained(name).save(folder, "vocab-merges")
        write(folder, "tokenizer_config.json", {"tokenizer_class": kind})
        ours = Tokenizer.load(folder)
        assert ours.format == "huggingface-folder"
        assert_same(ours, auto(folder))
    config = {"tokenizer_class": "GPT2Tokenizer", "add_bos_token": True, "bos_token": "<s>"}
    write(folder, "tokenizer_config.json", config)
    assert_same(Tokenizer.load(folder), auto(folder))


def test_vocab_txt_alone(tmp_path: Path) -> None:
    trained("bert").save(tmp_path / "vocab.txt", "bert-vocab")
    for config in ({}, {"do_lower_case": False}, {"unk_token": "[PAD]"}):
        write(tmp_path, "tokenizer_config.json", {"tokenizer_class": "BertTokenizer", **config})
        assert_same(Tokenizer.load(tmp_path), auto(tmp_path))


ALBERT = {
    "pad_id": 0,
    "unk_id": 1,
    "bos_id": 2,
    "eos_id": 3,
    "bos_piece": "[CLS]",
    "eos_piece": "[SEP]",
}


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("kind", "file", "options"),
    [
        ("T5Tokenizer", "spiece.model", {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1}),
        ("AlbertTokenizer", "spiece.model", ALBERT),
        ("XLNetTokenizer", "spiece.model", {}),
        ("XLMRobertaTokenizer", "sentencepiece.bpe.model", {}),
        ("LlamaTokenizer", "tokenizer.model", {"model_type": "bpe", "byte_fallback": True}),
    ],
)
def test_models_of_sentencepiece(
    kind: str, file: str, options: dict[str, Any], tmp_path: Path
) -> None:
    spm = pytest.importorskip("sentencepiece")
    made = io.BytesIO()
    spm.SentencePieceTrainer.train(
        sentence_iterator=iter(text_file().read_text(encoding="utf-8").splitlines()),
        model_writer=made,
        minloglevel=2,
        vocab_size=600,
        **{"model_type": "unigram", "user_defined_symbols": ["<x y>", "<end>"], **options},
    )
    (tmp_path / file).write_bytes(made.getvalue())
    for config in ({}, {"add_eos_token": True, "add_bos_token": True}, {"mask_token": "<end>"}):
        write(tmp_path, "tokenizer_config.json", {"tokenizer_class": kind, **config})
        assert_same(Tokenizer.load(tmp_path), auto(tmp_path))


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({}, "its tokenizer_class does not say how its vocabulary is used"),
        (
            {"tokenizer_class": "M2M100Tokenizer"},
            "its class M2M100Tokenizer is a program in Python that does not read tokenizer.json",
        ),
        (
            {"tokenizer_class": "LayoutLMv3Tokenizer"},
            "its class LayoutLMv3Tokenizer takes more than a text: words with their places, tags "
            "or entities",
        ),
        (
            {"tokenizer_class": "MBartTokenizer"},
            "tokctl does not build its class MBartTokenizer from vocabulary files",
        ),
        (
            {"auto_map": {"AutoTokenizer": ["own.Own", None]}},
            "its tokenizer is a program of its own (own.Own), which tokctl does not run",
        ),
    ],
)
def test_vocabulary_files_of_a_class_that_is_not_built_from_them(
    config: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    """The reason is the class's own; what is named in the hint helps."""
    trained("gpt2").save(tmp_path / "x", "vocab-merges")
    write(tmp_path / "x", "tokenizer_config.json", config)
    with pytest.raises(TokctlError) as found:
        Tokenizer.load(tmp_path / "x")
    assert found.value.message == f"{tmp_path / 'x'} has no tokenizer.json, and {reason}"
    saves_one = "does not read" not in reason and "takes more" not in reason
    assert ("writes a tokenizer.json" in found.value.hint) == (saves_one and "own" not in reason)


def test_configurations_that_are_damaged(tmp_path: Path) -> None:
    folder_of(trained("gpt2"), tmp_path / "x", FAST)
    for content in (
        "",
        "{",
        "[]",
        '{"a": NaN',
        "[" * 100_000,
        '{"added_tokens_decoder": {"x": 1}}',
    ):
        (tmp_path / "x" / "tokenizer_config.json").write_text(content)
        with raises_code("damaged-model"):
            Tokenizer.load(tmp_path / "x")
    assert json.loads((tmp_path / "x" / "tokenizer.json").read_text())
