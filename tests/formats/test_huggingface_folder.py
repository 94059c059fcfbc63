"""Folders of transformers, as far as it takes no transformers to see that they are read right
(`tests/interop` has the rest)."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.errors import raises_code
from tests.formats.damage import damaged
from tests.formats.models import RECIPES, filled, with_added
from tests.formats.test_damaged import ODD, places
from tests.formats.test_sentencepiece_model import trained
from tokctl import TokctlError, Tokenizer, formats
from tokctl.formats import UnsupportedByFormat, format_named, saving

TEMPLATE = "additional_chat_templates/tool use.jinja"


def folder(tmp_path: Path, name: str, config: dict[str, Any], **files: Any) -> Path:
    model = with_added(RECIPES[name])
    saving.save(model, tmp_path / "x", "huggingface-folder", lossy=True)
    path = tmp_path / "x"
    for other, content in {"tokenizer_config": config, **files}.items():
        (path / f"{other}.json").write_text(json.dumps(content))
    return path


def test_what_is_written() -> None:
    files = formats.write(filled(RECIPES["bert"]), "huggingface-folder")
    config = json.loads(files["tokenizer_config.json"])
    assert config == {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": False,
        "model_input_names": ["input_ids", "token_type_ids", "attention_mask"],
        "unk_token": "[UNK]",
        "sep_token": "[SEP]",
        "pad_token": "[PAD]",
        "cls_token": "[CLS]",
        "mask_token": "[MASK]",
    }
    assert json.loads(files["special_tokens_map.json"]) == {
        role: text for role, text in config.items() if role.endswith("_token")
    }
    strict = formats.write(filled(RECIPES["bert"]), "huggingface")[""]
    assert files["tokenizer.json"] == strict and b"tokctl" not in strict
    gpt2 = json.loads(
        formats.write(filled(RECIPES["gpt2"]), "huggingface-folder")["tokenizer_config.json"]
    )
    assert gpt2["add_prefix_space"] is False
    assert gpt2["model_input_names"] == ["input_ids", "attention_mask"]


def test_read_again_it_is_the_same(tmp_path: Path) -> None:
    for name in ("bert", "gpt2", "llama2", "unigram that they load"):
        model = with_added(RECIPES[name])
        saving.save(model, tmp_path / name, "huggingface-folder")
        again = Tokenizer.load(tmp_path / name)
        assert again.format == "huggingface-folder"
        assert again.model.tokens == model.tokens
        if model.recipe.segmentation == "merges":
            assert [m[:3] for m in again.model.merges] == [m[:3] for m in model.merges]
        assert set(again.special_ids) == set(model.special_ids)
        first = formats.write(again.model, "huggingface-folder")
        assert (
            formats.write(model, "huggingface-folder")["tokenizer.json"] == first["tokenizer.json"]
        )


def test_what_came_along_stays(tmp_path: Path) -> None:
    path = folder(tmp_path, "gpt2", {"model_max_length": 512, "chat_template": "x", "é": [1.0]})
    (path / "chat_template.jinja").write_bytes("{{ 'é' }}\r\n".encode())
    (path / TEMPLATE).parent.mkdir()
    (path / TEMPLATE).write_text("{{ tools }}")
    (path / "weights.bin").write_bytes(b"\0" * 100)
    model = formats.load(path)
    assert set(model.extra_files) == {
        "tokenizer_config.json",
        "special_tokens_map.json",
        "chat_template.jinja",
        TEMPLATE,
    }
    assert formats.parse(formats.serialize(model), "x") == model
    files = formats.write(model, "huggingface-folder")
    assert files["chat_template.jinja"] == "{{ 'é' }}\r\n".encode()
    assert files[TEMPLATE] == b"{{ tools }}"
    config = json.loads(files["tokenizer_config.json"])
    assert (config["model_max_length"], config["chat_template"], config["é"]) == (512, "x", [1.0])
    # An old folder gets the new folder in it.
    (tmp_path / "old").mkdir()
    saving.write(files, tmp_path / "old", format_named("huggingface-folder"))
    assert (tmp_path / "old" / TEMPLATE).read_bytes() == b"{{ tools }}"


def test_added_tokens_of_another_model_are_in_the_way(tmp_path: Path) -> None:
    model = Tokenizer(filled(RECIPES["gpt2"]))
    model.save(tmp_path / "x", "huggingface-folder")
    model.save(tmp_path / "x", "huggingface-folder")  # its own files are not
    (tmp_path / "x" / "added_tokens.json").write_text('{"<new>": 7}')
    with pytest.raises(
        TokctlError, match=r"holds added_tokens\.json, which would also become part"
    ):
        model.save(tmp_path / "x", "huggingface-folder")


def test_roles_of_tokens_that_are_gone(tmp_path: Path) -> None:
    path = folder(tmp_path, "gpt2", {"eos_token": "<|endoftext|>", "pad_token": "<pad>"})
    model = formats.load(path)
    assert "<pad>" in model.special_ids
    kept = tuple(token for token in model.added if token.text != "<pad>")
    recipe = replace(model.recipe, special_tokens=tuple(t.text for t in kept if t.special))
    smaller = replace(model, recipe=recipe, tokens=model.tokens[:-1], added_tokens=kept)
    files = formats.write(smaller, "huggingface-folder")
    config = json.loads(files["tokenizer_config.json"])
    assert config["eos_token"] == "<|endoftext|>" and "pad_token" not in config


def test_folders_that_are_none(tmp_path: Path) -> None:
    with raises_code("not-a-model"):
        formats.load(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text("{}")
    with raises_code("not-a-model"):
        formats.load(tmp_path)
    (tmp_path / "tokenizer.json").write_text('{"model": 1}')
    with raises_code("damaged-model", r"tokenizer\.json is not a model file"):
        formats.load(tmp_path)
    (tmp_path / "tokenizer.json").write_bytes(formats.serialize(filled(RECIPES["notebook-bpe"])))
    with raises_code("unsupported", "version is 'tokctl-1'"):
        formats.load(tmp_path)


def test_extra_files_that_are_too_much(tmp_path: Path) -> None:
    path = folder(tmp_path, "gpt2", {})
    (path / "chat_template.jinja").write_bytes(b"x" * (1 << 22) + b"x")
    with raises_code("damaged-model", "it has 4194305 bytes"):
        formats.load(path)
    (path / "chat_template.jinja").write_bytes(b"\xff")
    with raises_code("damaged-model", "not UTF-8 at byte 0"):
        formats.load(path)
    (path / "chat_template.jinja").unlink()
    (path / TEMPLATE).parent.mkdir()
    for number in range(65):
        (path / TEMPLATE).with_name(f"{number}.jinja").write_text("x")
    with raises_code("too-large", "more than 64 chat templates"):
        formats.load(path)


def test_a_model_that_it_has_nothing_for() -> None:
    with pytest.raises(UnsupportedByFormat, match="no word marker"):
        formats.write(filled(RECIPES["notebook-bpe"]), "huggingface-folder")


CONFIG = {
    "tokenizer_class": "BertTokenizer",
    "do_lower_case": True,
    "cls_token": "[CLS]",
    "mask_token": {"__type": "AddedToken", "content": "[MASK]", "lstrip": True},
    "additional_special_tokens": ["<end>"],
    "added_tokens_decoder": {"4": {"content": "[MASK]", "special": True}},
    "clean_up_tokenization_spaces": True,
}
FILES: dict[str, dict[str, bytes]] = {
    name: formats.write(with_added(RECIPES[name]), "huggingface-folder")
    for name in ("bert", "gpt2", "unigram that they load")
}
FILES["bert"] |= {"tokenizer_config.json": json.dumps(CONFIG).encode()}
FILES["gpt2"] |= {"added_tokens.json": b'{"<pad>": 262}', "config.json": b'{"model_type": "gpt2"}'}
FILES["pieces"] = {
    "tokenizer.model": trained(model_type="bpe"),
    "tokenizer_config.json": b'{"tokenizer_class": "LlamaTokenizer"}',
}
CHOICES = [(name, file) for name, files in FILES.items() for file in sorted(files)]


def tried(path: Path, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        (path / name).write_bytes(content)
    try:
        model = formats.load(path)
    except TokctlError as error:
        assert str(path) in error.message
        assert "Traceback" not in str(error)
        return
    assert formats.parse(formats.serialize(model), "y") == model
    try:
        formats.write(model, "huggingface-folder")
    except UnsupportedByFormat as reason:
        assert str(reason)


@given(st.data(), st.sampled_from(CHOICES))
def test_damaged_files(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, choice: tuple[str, str]
) -> None:
    name, file = choice
    files = FILES[name]
    tried(tmp_path_factory.mktemp("x"), files | {file: data.draw(damaged(files[file]))})


@given(st.data(), st.sampled_from([one for one in CHOICES if one[1].endswith("json")]))
def test_wrong_values(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, choice: tuple[str, str]
) -> None:
    name, file = choice
    document = json.loads(FILES[name][file])
    path = data.draw(st.sampled_from(places(document)))
    inner = document
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = data.draw(st.sampled_from(ODD))
    tried(tmp_path_factory.mktemp("x"), FILES[name] | {file: json.dumps(document).encode()})


def test_marian_is_told(tmp_path: Path) -> None:
    """Its class builds no tokenizer of this library's; the file that can be read is named."""
    (tmp_path / "tokenizer_config.json").write_text('{"source_lang": "en", "target_lang": "mg"}')
    (tmp_path / "config.json").write_text('{"model_type": "marian"}')
    (tmp_path / "vocab.json").write_text('{"</s>": 0, "<unk>": 1, "a": 2}')
    (tmp_path / "source.spm").write_bytes(b"")
    with raises_code("unsupported") as caught:
        Tokenizer.load(tmp_path)
    assert "source.spm" in (caught.value.hint or "")
