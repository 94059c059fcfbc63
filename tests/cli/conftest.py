"""Small models and an empty folder to work in."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.explain import models as small
from tokctl import Tokenizer, preset
from tokctl.model import Recipe
from tokctl.model.presets import BPE, BPE_CHARACTERS, WORDPIECE

TEXT = """low low low low low lower lower newest newest newest newest newest newest
widest widest widest longer, and a sea-chest of treasure; a naïve café in 東京 🙂
"""

RECIPES: dict[str, Recipe] = {
    "bytes": replace(BPE, special_tokens=("<|end|>",)),
    "regex": replace(BPE, name="custom", pre_tokenizers=r"regex:\w+|\W"),
    "characters": BPE_CHARACTERS,
    "wordpiece": WORDPIECE,
    "no-unknown": preset("notebook-bpe"),
}
Models = dict[str, Path]
SIZES = {"bytes": 280, "regex": 280, "characters": 60, "wordpiece": 60, "no-unknown": 60}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: empty, and a test's own."""
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    for name in ("TOKCTL_MODEL", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    return here


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A model file for each of `RECIPES`."""
    made = tmp_path_factory.mktemp("models")
    text = made / "text.txt"
    text.write_text(TEXT, encoding="utf-8")
    for name, recipe in RECIPES.items():
        tokenizer = Tokenizer.train([text], vocab_size=SIZES[name], recipe=recipe)
        tokenizer.save(made / f"{name}.json")
    return {name: made / f"{name}.json" for name in RECIPES}


@pytest.fixture
def text() -> Path:
    """A text with a special token and odd spaces, in the current folder."""
    path = Path("text.txt")
    path.write_text(TEXT + "\nlow <|end|> newest\n\n  two  spaces\ttab\n", encoding="utf-8")
    return path


@pytest.fixture
def bpe(tmp_path: Path) -> str:
    """A notebook's BPE of 21 tokens."""
    path = tmp_path / "bpe.json"
    small.toy(small.NOTEBOOK_BPE, 21).save(path)
    return str(path)


@pytest.fixture
def wordpiece(tmp_path: Path) -> str:
    """The notebook's WordPiece of 100 tokens."""
    path = tmp_path / "wordpiece.json"
    small.toy(small.NOTEBOOK_WORDPIECE, 100).save(path)
    return str(path)


@pytest.fixture
def bert(tmp_path: Path) -> str:
    """A model that matches the longest token first."""
    path = tmp_path / "bert.json"
    small.model("longest-match").save(path)
    return str(path)


@pytest.fixture
def toy(tmp_path: Path) -> str:
    """The documents' toy corpus."""
    path = tmp_path / "toy.txt"
    path.write_text(small.TOY)
    return str(path)
