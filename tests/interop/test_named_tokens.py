"""Special tokens that files name by a text, by an object, or by both, beside transformers."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.exact.strings import EXAMPLES
from tests.interop.peers import auto, write
from tests.interop.test_classes import make
from tokctl import Tokenizer
from tokctl.formats.huggingface.classes import ROLES

FLAGS = ("single_word", "lstrip", "rstrip", "normalized")
#: Vocabularies of `make`, and classes for them: such that build their pipeline and such that don't.
KINDS = (
    ("clip", "CLIP"),
    ("gpt2", "GPT2"),
    ("gpt2", "Roberta"),
    ("gpt2", "PreTrained"),
    ("bert", "Bert"),
    ("bert", "PreTrained"),
    ("t5", "T5"),
    ("llama2", "Llama"),
    ("words", "OpenAIGPT"),
    ("sentencepiece-bpe", "Reformer"),
    ("t5", "Udop"),
    ("gpt2", "Cohere"),
    ("gpt2", "Qwen2"),
    ("fairseq", "XLMRoberta"),
    ("gpt2", "Deberta"),
)


def named(content: str, *flags: str, **more: Any) -> dict[str, Any]:
    """A token as an object, with these flags."""
    return {"content": content, **{name: name in flags for name in FLAGS}, **more}


def compare(folder: Path, some: list[str], *, decodes: bool = True) -> None:
    theirs, ours = auto(folder), Tokenizer.load(folder)
    assert list(ours.special_ids.values()) == sorted(ours.special_ids.values())
    for text in some:
        ids = theirs.encode(text)
        assert ours.encode(text, special="all", add_special=True).ids == ids, text
        for skip in (False, True):
            found = ours.decode(ids, skip_special=skip).strip()
            wanted = theirs.decode(ids, skip_special_tokens=skip).strip()
            assert found == wanted or not decodes, (text, ids)


def test_a_text_after_an_object(tmp_path: Path) -> None:
    """CLIP of a diffusion model: the end of a text fills up, too, and is then found as it is."""
    end = named("<|endoftext|>", "normalized")
    names: dict[str, Any] = {
        "bos_token": named("<|startoftext|>", "normalized"),
        "eos_token": end,
        "unk_token": end,
        "pad_token": "<|endoftext|>",
    }
    for pad in ("<|endoftext|>", end):
        folder = tmp_path / str(type(pad).__name__)
        make("clip", folder, {"tokenizer_class": "CLIPTokenizer"})
        document = json.loads((folder / "tokenizer.json").read_text())["model"]
        write(folder, "vocab.json", document["vocab"])
        merges = "\n".join(map(" ".join, document["merges"]))
        (folder / "merges.txt").write_text(f"#version: 0.2\n{merges}\n")
        (folder / "tokenizer.json").unlink()
        write(folder, "special_tokens_map.json", names | {"pad_token": pad})
        compare(folder, ["<|ENDOFTEXT|> low", "low<|endoftext|> <|StartOfText|>"])
        token = next(t for t in Tokenizer.load(folder).model.added if t.text == "<|endoftext|>")
        assert token.normalized is not isinstance(pad, str)


@pytest.mark.parametrize("seed", range(max(EXAMPLES // 50, 24)))
def test_generated_names(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    kind, name = KINDS[seed % len(KINDS)]
    contents = ["<end>", "<New>", "</s>", "<unk>", "[SEP]", "<|endoftext|>", "<|startoftext|>"]

    def value(**more: Any) -> Any:
        content = draw.choice(contents)
        flags = [flag for flag in FLAGS if draw.random() < 0.3]
        return content if draw.random() < 0.4 else named(content, *flags, **more)

    # An unknown token has to be in the vocabulary.
    roles = [role for role in ROLES if role != "unk_token" and draw.random() < 0.6]
    in_config = {role: value(__type="AddedToken") for role in roles if draw.random() < 0.7}
    in_map = {role: value() for role in roles if role not in in_config or draw.random() < 0.3}
    class_name = "PreTrainedTokenizerFast" if name == "PreTrained" else f"{name}Tokenizer"
    config: dict[str, Any] = {"tokenizer_class": class_name, **in_config}
    if draw.random() < 0.3:
        config["additional_special_tokens"] = [
            value(__type="AddedToken") for _ in range(draw.randrange(4))
        ]
    make(kind, tmp_path / "x", config)
    if draw.random() < 0.6:
        write(tmp_path / "x", "special_tokens_map.json", in_map)
    if draw.random() < 0.3:
        document = json.loads((tmp_path / "x" / "tokenizer.json").read_text())
        write(tmp_path / "x", "tokenizer.json", {**document, "added_tokens": []})
    parts = [*contents, *map(str.upper, contents), *map(str.lower, contents), " ", "low", "  ", "e"]
    some = ["".join(draw.choice(parts) for _ in range(draw.randrange(9))) for _ in range(40)]
    # In lower case, an object before a text leaves the token the name of the object there.
    compare(tmp_path / "x", some, decodes=kind not in ("clip", "bert"))
