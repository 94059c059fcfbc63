"""convert --verify: the libraries that read what was written, and what they say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.cli.conftest import TEXT, Models
from tests.cli.run import Result, error, names, tokctl
from tokctl import Tokenizer
from tokctl.analysis import verification


def verified(models: Models, *more: str | Path, **world: Any) -> Result:
    return tokctl(
        "convert", models["bytes"], "--to", "huggingface", "-o", "out.json", *more, **world
    )


def test_the_same(models: Models, text: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    done = verified(models, "--verify", text)
    assert (done.code, done.out) == (0, b"out.json\n")
    ours = Tokenizer.load(models["bytes"])
    lines = text.read_text().split("\n")[:-1]
    ids = sum(len(ours.encode(line).ids) for line in lines)
    same = f"the same {ids:,} ids in {len(lines)} lines: tokctl, tokenizers"
    assert f"{same} {tokenizers.__version__}\n" in done.err
    low = len(ours.encode("low").ids)
    twice = verified(models, "--verify", text, "--verify", "-", stdin=b"low\nlow")
    assert f"the same {ids + 2 * low:,} ids in {len(lines) + 2} lines" in twice.err
    facts = orjson.loads(verified(models, "--verify", text, "--json").out)["verified"]
    assert (facts["same"], facts["ids"], facts["lines"]) == (True, ids, len(lines))
    assert facts["readers"] == ["tokctl", f"tokenizers {tokenizers.__version__}"]


def wrong_peer(monkeypatch: pytest.MonkeyPatch, **changed: Any) -> None:
    """tokenizers, with something about it that is not so."""
    pytest.importorskip("tokenizers")
    right = verification.tokenizer_json

    def load(path: Path, model: Any) -> verification.LoadedTokenizer:
        reader = right(path, model)
        made = {name: change(getattr(reader, name)) for name, change in changed.items()}
        return reader._replace(name="wrong 1", **made)

    monkeypatch.setitem(verification.PEERS, "huggingface", (verification.Peer("wrong", load),))


def test_other_ids(
    models: Models, text: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def encode(right: Any) -> Any:
        def wrong(texts: list[str], around: bool) -> list[list[int]]:
            return [[*ids[:-2], 7, 8] if "sea" in one else ids
                    for one, ids in zip(texts, right(texts, around), strict=True)]  # fmt: skip

        return wrong

    wrong_peer(monkeypatch, encode=encode)
    done = verified(models, "--verify", text)
    assert (done.code, done.out) == (1, b"")
    ours = Tokenizer.load(models["bytes"])
    line = TEXT.split("\n")[1]
    ids = ours.encode(line)
    column = ids.offsets[-2][0] + 1
    lines = done.err.splitlines()[1:]
    assert lines[0] == f"wrong 1 gives other ids: text.txt, line 2, column {column}"
    end = "  ".join(f"{id_} {ours.tokens[id_]!r}" for id_ in ids.ids[-4:])
    assert lines[1] == f"  before   {end}"
    assert lines[2].startswith("  wrong 1  ") and lines[2].endswith("""7 "'"  8 '('""")
    assert lines[3:] == [
        "error: Hugging Face tokenizer.json would not be the same model for wrong 1: "
        "nothing is written",
        "hint: leave --verify out to write the model anyway",
    ]
    assert names(folder) == ["text.txt"]


def test_another_text(models: Models, text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong_peer(monkeypatch, decode=lambda right: lambda ids: right(ids).replace("café", "cafe"))
    done = verified(models, "--verify", text)
    assert (done.code, done.out) == (1, b"")
    column = TEXT.split("\n")[1].index("é") + 1
    place = f"wrong 1 gives another text for the same ids: text.txt, line 2, column {column}\n"
    assert place in done.err
    assert " a naïve café in 東京" in done.err and "became" in done.err


def test_a_library_that_fails(models: Models, text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(_: Any) -> Any:
        def encode(texts: list[str], _around: bool) -> Any:
            raise ValueError(f"no\nway with {len(texts)}")

        return encode

    wrong_peer(monkeypatch, encode=failing)
    done = verified(models, "--verify", text)
    assert done.code == 1
    assert "\nwrong 1 fails at text.txt, line 1: no\n" in done.err

    def load(path: Path, _model: Any) -> verification.LoadedTokenizer:
        raise ValueError(f"{path}: cut off")

    monkeypatch.setitem(verification.PEERS, "huggingface", (verification.Peer("wrong", load),))
    done = verified(models, "--verify", text)
    assert done.code == 1
    assert "\nwrong can't load it: out.json: cut off\n" in done.err


def test_a_library_that_is_not_there(
    models: Models, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "tokenizers", None)
    done = verified(models, "--verify", text)
    assert (done.code, done.out) == (1, b"")
    assert "note: not compared: tokenizers is not installed\nerror: " in done.err
    assert done.err.endswith(
        " was not verified: tokenizers would have to read it; nothing is written\n"
        "hint: pip install tokenizers, or leave --verify out\n"
    )
    assert not Path("out.json").exists()


def test_a_file_that_its_library_refuses(models: Models, text: Path) -> None:
    text.write_text("low lower\n東京 unseen\nlow ☃\n", encoding="utf-8")
    done = tokctl("convert", models["no-unknown"], "-o", "n.json", "--verify", text)
    assert done.code == 0
    assert "note: not compared: tokenizers refuses the file: without an unknown token" in done.err
    assert "note: not compared: 1 line with a character that the model has no token" in done.err


def test_a_text_that_is_none(models: Models, folder: Path) -> None:
    Path("bad.txt").write_bytes(b"fine\nfine\n\xff\n")
    done = verified(models, "--verify", "bad.txt")
    assert done.code == 2
    assert done.err.endswith(error("bad.txt: line 3 is not UTF-8", "verify with a text in UTF-8"))
    Path("empty.txt").touch()
    done = verified(models, "--verify", "empty.txt")
    said = error("can't verify with an empty text", "name another one")
    assert done.code == 2 and done.err.endswith(said)
    Path("empty.txt").unlink()
    done = verified(models, "--verify", "nosuch.txt")
    assert done.err.startswith("error: can't read nosuch.txt: No such file")
    assert verified(models, "--verify", "bad.txt", "-o", "bad.txt").code == 2
    assert names(folder) == ["bad.txt"]
