"""Folders that tokctl writes, loaded by AutoTokenizer: the same ids and texts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import shared_file
from tests.interop.peers import assert_same, auto, trained
from tokctl import Tokenizer, formats
from tokctl.model.presets import PRESETS

pytest.importorskip("jinja2")

NOT_THERE = ("notebook-bpe", "notebook-wordpiece")
TRAINED = [name for name in PRESETS if name not in NOT_THERE]
TRAINED += ["bpe", "wordpiece", "unigram", "word", "char"]

CHAT = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content | trim }}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
MESSAGES = [
    {"role": "system", "content": " Be brief. "},
    {"role": "user", "content": "Hé 🙂\n{{x}}"},
]


@pytest.mark.few(2)
@pytest.mark.parametrize("name", TRAINED)
def test_every_preset(name: str, tmp_path: Path) -> None:
    made = trained(name)
    folder = tmp_path / name
    made.save(folder, "huggingface-folder", lossy=True)
    theirs, again = auto(folder), Tokenizer.load(folder)
    assert_same(again, theirs)
    major = [loss for loss in formats.losses(made.model, "huggingface-folder") if not loss.minor]
    if not major:
        assert_same(made, theirs)
    else:
        assert any(part.kind == "nmt_nfkc" for part in made.recipe.normalizers)
        plain = (text for text in ("a b", "It's 12.5 %", "naïve  café", "\tx\n", "ﬁ ℵ"))
        assert_same(made, theirs, plain)


@pytest.mark.parametrize("name", ["gpt2.tokenizer.json", "cl100k_base.tiktoken"])
def test_published_vocabularies(name: str, tmp_path: Path) -> None:
    made = Tokenizer.load(shared_file(f"vocab/{name}"))
    made.save(tmp_path / "x", "huggingface-folder")
    theirs = auto(tmp_path / "x")
    assert theirs.eos_token == "<|endoftext|>"
    assert_same(made, theirs)


def test_a_chat_template_comes_through(tmp_path: Path) -> None:
    """As text in the configuration, as a file, and as several files: untouched."""
    first, second = tmp_path / "first", tmp_path / "second"
    trained("qwen").save(first, "huggingface-folder")
    before = auto(first)
    before.chat_template = {"default": CHAT, "tool_use": CHAT + "tools"}
    before.model_max_length = 4096
    before.save_pretrained(first)
    assert (first / "additional_chat_templates" / "tool_use.jinja").is_file()
    Tokenizer.load(first).save(second, "huggingface-folder")
    after = auto(second)
    assert after.chat_template == before.chat_template and after.model_max_length == 4096
    for more in ({}, {"add_generation_prompt": True}, {"chat_template": "tool_use"}):
        given = before.apply_chat_template(MESSAGES, tokenize=False, **more)
        assert after.apply_chat_template(MESSAGES, tokenize=False, **more) == given
        ids = before.apply_chat_template(MESSAGES, **more)["input_ids"]
        assert after.apply_chat_template(MESSAGES, **more)["input_ids"] == ids
    name = "additional_chat_templates/tool_use.jinja"
    assert (second / name).read_bytes() == (first / name).read_bytes()
    # Into a folder that is there already, too, and by way of tokctl's own file.
    Tokenizer.load(first).save(tmp_path / "own.json")
    (tmp_path / "third").mkdir()
    Tokenizer.load(tmp_path / "own.json").save(tmp_path / "third", "huggingface-folder")
    assert auto(tmp_path / "third").chat_template == before.chat_template


def test_a_chat_template_in_the_configuration(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    trained("gpt2").save(first, "huggingface-folder")
    path = first / "tokenizer_config.json"
    huge = 10**30
    config = json.loads(path.read_text()) | {"chat_template": CHAT, "model_max_length": huge}
    path.write_text(json.dumps(config | {"x": [1, None]}))
    Tokenizer.load(first).save(second, "huggingface-folder")
    written = json.loads((second / "tokenizer_config.json").read_text())
    assert (written["chat_template"], written["x"]) == (CHAT, [1, None])
    assert (written["model_max_length"], type(written["model_max_length"])) == (huge, int)
    given = auto(first).apply_chat_template(MESSAGES, tokenize=False)
    assert auto(second).apply_chat_template(MESSAGES, tokenize=False) == given


def test_writing_twice_gives_the_same_bytes() -> None:
    model = trained("llama2").model
    assert formats.write(model, "huggingface-folder") == formats.write(model, "huggingface-folder")
    formats_there = formats.write(model, "huggingface-folder")
    assert set(formats_there) == {
        "tokenizer.json",
        "tokenizer_config.json",
        "special_tokens_map.json",
    }


def test_an_extra_file_can_not_leave_the_folder() -> None:
    from dataclasses import replace

    names = ("../x.jinja", "additional_chat_templates/../../x.jinja", "/etc/x", "weights.bin")
    model = replace(trained("gpt2").model, extra_files=dict.fromkeys(names, "x"))
    assert not set(names) & set(formats.write(model, "huggingface-folder"))
    (*_, loss) = formats.losses(model, "huggingface-folder")
    assert loss.minor and "../x.jinja" in loss.what
