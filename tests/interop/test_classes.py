"""Classes of transformers that build a pipeline of their own: run as they are there, or refused."""

from __future__ import annotations

import base64
import importlib
import io
import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from tests.errors import raises_code
from tests.interop.peers import assert_same, auto, folder_of, text_file, trained, write
from tokctl import TokctlError, Tokenizer
from tokctl.formats.huggingface.classes import known_classes
from tokctl.model.byte_level import BYTES

MASKS = {"mask_token": "[MASK]", "pad_token": {"__type": "AddedToken", "content": "<end>"}}
#: Cases by class: the vocabulary, `tokenizer_config.json`.
CASES: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "Barthez": [("albert", {}), ("fairseq", {"add_prefix_space": False})],
    "BigBird": [("albert", {}), ("t5", {"add_prefix_space": False, **MASKS})],
    "Blenderbot": [("gpt2", {}), ("gpt2", {"add_prefix_space": False})],
    "Camembert": [("t5", {}), ("with rules", {"add_prefix_space": False})],
    "CLIP": [("clip", {}), ("clip", {"pad_token": "<end>"})],
    "CodeGen": [("gpt2", {}), ("gpt2", {"add_prefix_space": True, "pad_token": "<end>"})],
    "CodeLlama": [("llama2", {}), ("llama2", {"add_prefix_space": False, "eot_token": "<end>"})],
    "Cohere": [("gpt2", {}), ("gpt2", {"add_prefix_space": True, **MASKS})],
    "ConvBert": [("bert", {}), ("bert", {"do_lower_case": False})],
    "DPRContextEncoder": [("bert", {}), ("bert", {"do_lower_case": True})],
    "DPRQuestionEncoder": [("bert-cased", {})],
    "Deberta": [("gpt2", {}), ("gpt2", {"add_prefix_space": True})],
    "DebertaV2": [
        ("albert", {}),
        ("t5", {"do_lower_case": True, "split_by_punct": True, "add_prefix_space": False}),
    ],
    "FNet": [("albert", {"do_lower_case": False})],
    "Funnel": [
        ("bert", {"unk_token": "[UNK]"}),
        ("bert", {"unk_token": "[UNK]", "do_lower_case": False, "clean_text": False}),
    ],
    "Herbert": [("words", {})],
    "MBart": [("fairseq", {}), ("fairseq with rules", {"src_lang": "fr_XX", **MASKS})],
    "MBart50": [("with languages", {}), ("with languages", {"src_lang": "sl_SI"})],
    "MPNet": [("bert", {}), ("bert-cased", {"do_lower_case": False, **MASKS})],
    "Nllb": [
        ("sentencepiece-bpe", {}),
        ("sentencepiece-bpe", {"src_lang": "fra_Latn", "legacy_behaviour": True}),
        ("BPE with rules", {"extra_special_tokens": ["eng_Latn"]}),
    ],
    "OpenAIGPT": [("words", {})],
    "Pegasus": [("pegasus", {}), ("pegasus", {"offset": 10, "additional_special_tokens": []})],
    "Qwen3_5": [("gpt2", {}), ("qwen", {"add_prefix_space": True})],
    "Reformer": [("sentencepiece-bpe", {}), ("BPE with rules", {})],
    "RemBert": [("albert", {}), ("with rules", {"keep_accents": False, "do_lower_case": True})],
    "Siglip2": [("llama2", {})],
    "Udop": [("t5", {}), ("albert", {})],
    "Whisper": [("whisper", {}), ("whisper", {"predict_timestamps": True})],
    "XGLM": [("fairseq", {}), ("fairseq with rules", {"add_prefix_space": False})],
}


@lru_cache
def rules() -> str:
    """The rules of a model of SentencePiece."""
    spm = pytest.importorskip("sentencepiece")
    made = io.BytesIO()
    lines = text_file().read_text(encoding="utf-8").splitlines()
    spm.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=made, vocab_size=300, minloglevel=2
    )
    proto = importlib.import_module("sentencepiece.sentencepiece_model_pb2").ModelProto()
    proto.ParseFromString(made.getvalue())
    return base64.b64encode(proto.normalizer_spec.precompiled_charsmap).decode()


@lru_cache
def words() -> str:
    """BPE that marks the ends of words; by Hugging Face tokenizers."""
    hf = pytest.importorskip("tokenizers")
    made = hf.Tokenizer(hf.models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    made.pre_tokenizer = hf.pre_tokenizers.BertPreTokenizer()
    trainer = hf.trainers.BpeTrainer(
        vocab_size=1000,
        special_tokens=["<s>", "<pad>", "</s>", "<unk>"],
        end_of_word_suffix="</w>",
        show_progress=False,
    )
    made.train([str(text_file())], trainer)
    document = json.loads(made.to_str())
    document["added_tokens"] = []
    return json.dumps(document)


def make(kind: str, folder: Path, config: dict[str, Any]) -> None:
    """A folder with one of the vocabularies of `CASES`."""
    base = {"with rules": "t5", "with languages": "albert", "pegasus": "albert", "whisper": "gpt2"}
    base |= {"BPE with rules": "sentencepiece-bpe", "words": "gpt2"}
    base |= {"fairseq": "t5", "fairseq with rules": "t5", "clip": "gpt2"}
    document = folder_of(trained(base.get(kind, kind)), folder, config)
    model = document["model"]
    if kind == "words":
        document = json.loads(words())
    elif kind.startswith("fairseq"):
        first = [(text, 0.0) for text in ("<s>", "<pad>", "</s>", "<unk>")]
        model["vocab"] = first + model["vocab"][3:]
        document["added_tokens"], document["post_processor"] = [], None
    if kind.endswith("with rules"):
        document["normalizer"] = {"type": "Precompiled", "precompiled_charsmap": rules()}
    elif kind == "with languages":
        model["vocab"] += [(code, 0.0) for code in known_classes()["MBart50Tokenizer"].extra]
    elif kind == "clip":
        letters = sorted(BYTES)
        tokens = [*letters, *(f"{one}</w>" for one in letters), "lo", "low</w>", "e", "er</w>"]
        tokens += ["<|startoftext|>", "<|endoftext|>"]
        model["vocab"] = {token: id_ for id_, token in enumerate(dict.fromkeys(tokens))}
        model["merges"] = [("l", "o"), ("lo", "w</w>"), ("e", "r</w>")]
        document["added_tokens"], document["post_processor"] = [], None
    elif kind == "pegasus":
        model["vocab"] = [entry for entry in model["vocab"] if entry[0] != "<unk>"]
        model["vocab"] += [("<unk>", 0.0)]
        model["unk_id"] = len(model["vocab"]) - 1
        document["added_tokens"] = []
        document["post_processor"] = None
    elif kind == "whisper":
        size = len(model["vocab"])
        texts = ("<|startoftranscript|>", "<|notimestamps|>", "<|0.00|>", "<|12.34|>")
        for id_, text in enumerate(texts, size):
            flags = dict.fromkeys(("lstrip", "rstrip", "single_word", "normalized"), False)
            special = id_ < size + 2
            document["added_tokens"].append(
                {"id": id_, "content": text, "special": special} | flags
            )
    write(folder, "tokenizer.json", document)


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("name", "place"), [(name, at) for name, cases in CASES.items() for at in range(len(cases))]
)
def test_a_class_is_run_as_it_is_there(name: str, place: int, tmp_path: Path) -> None:
    kind, config = CASES[name][place]
    make(kind, tmp_path / "x", {"tokenizer_class": f"{name}Tokenizer", **config})
    theirs = auto(tmp_path / "x")
    assert type(theirs).__name__ != "TokenizersBackend"
    ours = Tokenizer.load(tmp_path / "x")
    assert_same(ours, theirs)
    if name == "Whisper":
        text = "a<|0.00|> b <|12.34|><|1.2.3|>"
        assert_same(ours, theirs, [text])
        assert theirs.decode(theirs.encode(text, add_special_tokens=False)) == "a b <|1.2.3|>"
    ours.save(tmp_path / "again", "huggingface-folder")
    assert_same(ours, auto(tmp_path / "again"))


# -- what is refused ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["NougatTokenizer", "LayoutLMv3TokenizerFast", "ByT5Tokenizer", "ParakeetTokenizer"],
)
def test_a_refused_class_says_why(name: str, tmp_path: Path) -> None:
    folder_of(trained("gpt2"), tmp_path / "x", {"tokenizer_class": name})
    with pytest.raises(TokctlError, match=f"its class {name.removesuffix('Fast')} ") as error:
        Tokenizer.load(tmp_path / "x")
    assert f"-m {tmp_path / 'x'}/tokenizer.json" in (error.value.hint or "")
    # What the hint says works.
    assert Tokenizer.load(tmp_path / "x" / "tokenizer.json").encode_ids("a b")


def test_options_that_are_not_known_are_refused(tmp_path: Path) -> None:
    make("whisper", tmp_path / "x", {"tokenizer_class": "WhisperTokenizer", "language": "fr"})
    with raises_code("unsupported"):
        Tokenizer.load(tmp_path / "x")


@pytest.mark.parametrize("auto_map", [["x.Slow", "x.Fast"], {"AutoTokenizer": ["x.Slow", None]}])
def test_a_tokenizer_that_is_a_program_is_refused(auto_map: Any, tmp_path: Path) -> None:
    config = {"tokenizer_class": "NobodysTokenizer", "auto_map": auto_map}
    folder_of(trained("gpt2"), tmp_path / "x", config)
    with raises_code("unsupported", r"is a program of its own \(x\.(Slow|Fast)\)"):
        Tokenizer.load(tmp_path / "x")
    # Of other programs a tokenizer does not care.
    write(tmp_path / "x", "tokenizer_config.json", config | {"auto_map": {"AutoModel": "x.Y"}})
    assert_same(Tokenizer.load(tmp_path / "x"), auto(tmp_path / "x"), ["a b"])


def test_infilling_is_a_call_of_its_own(tmp_path: Path) -> None:
    """CodeLlama's class takes a text with `<FILL_ME>` for a beginning and an end, between which
    the model fills in; here that is a special token like others."""
    make("llama2", tmp_path / "x", {"tokenizer_class": "CodeLlamaTokenizer"})
    theirs, ours = auto(tmp_path / "x"), Tokenizer.load(tmp_path / "x")
    ids = ours.model.special_ids
    there = theirs.encode("def f<FILL_ME>x")
    assert {ids["▁<PRE>"], ids["▁<SUF>"], ids["▁<MID>"]} <= set(there)
    here = ours.encode_ids("def f<FILL_ME>x", special="all")
    assert ids["<FILL_ME>"] in here and ids["▁<PRE>"] not in here
