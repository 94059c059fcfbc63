"""Which classes transformers has, and which one a folder is loaded with.

Both are asked of transformers itself, so that a new class or another choice shows.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

from tests.interop.peers import auto, folder_of, trained, transformers, write
from tests.tools.transformers_classes import class_names, class_there, is_plain, made, roles_of
from tokctl.formats.huggingface.class_names import choose_class, classes_by_model_type
from tokctl.formats.huggingface.classes import FILE, known_classes, table

tokenization_auto = importlib.import_module("transformers.models.auto.tokenization_auto")

CLASSES = known_classes()
REFUSED = {name for name, row in table()["classes"].items() if "refused" in row}
PLAIN = {name for name, row in table()["classes"].items() if "plain" in row}


@pytest.mark.slow
def test_the_file_is_what_transformers_says() -> None:
    """`python -m tests.tools.transformers_classes` writes it anew."""
    assert made(table()) == FILE.read_text(encoding="utf-8")


def test_every_class_is_run_plain_or_refused() -> None:
    assert len(class_names()) > 100
    assert not {*CLASSES} & {*REFUSED}
    checked = 0
    for name in sorted(class_names()):
        found = class_there(name)
        bare = name.removesuffix("Fast")
        if found is None:
            continue
        checked += 1
        is_refused = name in REFUSED or bare in REFUSED
        is_run = bare in CLASSES and not is_refused
        known = [is_refused, is_run, bare in PLAIN]
        assert sum(known) == 1, (name, known)
        assert known[2] == is_plain(found), name
        if is_run:
            backend = transformers.PreTrainedTokenizerFast
            assert issubclass(found, backend), name
            # A class that inherits __init__ reads the file, and changes it afterwards.
            assert CLASSES[bare].kept == ("__init__" not in vars(found)), name
            if found.model is not None:
                assert found.model.__name__ == CLASSES[bare].model, name
    assert checked > 100
    for name in {*CLASSES, *REFUSED} - {"Pop2PianoTokenizer", "MistralCommonBackend"}:
        assert class_there(name) is not None, name


def test_special_tokens_by_role_are_those_of_the_classes() -> None:
    """The defaults of `__init__`, for every class that is run."""
    for name, ours in CLASSES.items():
        found = class_there(name)
        assert found is not None
        assert {role: str(text) for role, text in ours.roles.items()} == roles_of(found), name


NAMED = {"mbart": "MBartTokenizer", "mbart50": "MBart50Tokenizer", "nllb": "NllbTokenizer"}


def test_languages_and_models_are_those_of_transformers() -> None:
    for name in NAMED:
        module = importlib.import_module(f"transformers.models.{name}.tokenization_{name}")
        assert CLASSES[NAMED[name]].extra == module.FAIRSEQ_LANGUAGE_CODES
    there = {
        model: name.removesuffix("Fast")
        for model, name in tokenization_auto.TOKENIZER_MAPPING_NAMES.items()
        if name
    }
    # What is missing there needs a library that is not installed.
    ours = {model: name for model, name in classes_by_model_type().items() if model in there}
    if "MistralCommonBackend" not in there.values():
        ours = {m: "TokenizersBackend" if "Mistral" in name else name for m, name in ours.items()}
    assert ours == there
    assert {*table()["misnamed"]} == tokenization_auto.MODELS_WITH_INCORRECT_HUB_TOKENIZER_CLASS


# -- which class a folder has -------------------------------------------------------------


NAMES = (
    "",
    "PreTrainedTokenizerFast",
    "LlamaTokenizer",
    "BertTokenizerFast",
    "NobodysTokenizer",
    "WhisperTokenizer",
)


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the classes that AutoTokenizer takes, instead of loading them."""
    found: list[str] = []

    def note(cls: type[Any], *_args: Any, **_options: Any) -> None:
        found.append(cls.__name__)

    mistral = importlib.import_module("transformers.tokenization_mistral_common")
    rag = importlib.import_module("transformers.models.rag.tokenization_rag")
    for one in (
        transformers.PreTrainedTokenizerBase,
        mistral.MistralCommonBackend,
        rag.RagTokenizer,
    ):
        monkeypatch.setattr(one, "from_pretrained", classmethod(note))
    return found


def test_the_class_is_chosen_as_there(taken: list[str], tmp_path: Path) -> None:
    pytest.importorskip("mistral_common")
    folder = tmp_path / "x"
    document = folder_of(trained("gpt2"), folder, {})
    compared = 0
    few = (
        "bert",
        "llama",
        "mistral",
        "qwen2",
        "phi3",
        "granite",
        "dpr",
        "whisper",
        "nllb",
        "gpt-sw3",
    )
    for model in (*classes_by_model_type(), "llama", "no such model"):
        write(folder, "config.json", {"model_type": model})
        for name in NAMES if model in few else ("",):
            config = {"tokenizer_class": name} if name else {}
            write(folder, "tokenizer_config.json", config)
            try:
                auto(folder)
            except (ImportError, ValueError):
                continue  # It needs a library that is not installed.
            there = taken.pop()
            compared += 1
            found = choose_class(config, {"model_type": model}, document, tekken=False)
            alias = class_there(found)
            ours = alias.__name__ if alias and not is_plain(alias) else "TokenizersBackend"
            there = "TokenizersBackend" if there == "PythonBackend" else there
            assert ours == there, (model, name)
    assert compared > 250
