"""convert: other formats into tokctl's, and vocabularies made smaller."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from pathlib import Path

import orjson
import pytest

from tests.cli.run import error, names, tokctl
from tokctl import Tokenizer
from tokctl.formats.tiktoken import PUBLISHED, TiktokenEncoding
from tokctl.model.patterns import PATTERNS
from tokctl.model.presets import DEFAULTS, PRESETS

Models = dict[str, Path]
TEXT = "low lower newest widest, a sea-chest of treasure; low low\n" * 3


@pytest.fixture
def trained() -> dict[str, Path]:
    """A model of each algorithm, and of a preset with special tokens."""
    made = {}
    Path("text.txt").write_text(TEXT, encoding="utf-8")
    for name, option in {**dict.fromkeys(DEFAULTS, "--algo"), "bert": "--preset"}.items():
        path = Path(f"{name}.json")
        size = "300" if DEFAULTS.get(name, DEFAULTS["word"]).is_byte_level else "60"
        done = tokctl("train", "-q", option, name, "--vocab", size, "-o", path, "text.txt")
        assert done.code == 0, done.err
        made[name] = path
    return made


def test_prune_of_every_algorithm(trained: dict[str, Path]) -> None:
    for name, path in trained.items():
        before = Tokenizer.load(path)
        size = before.vocab_size - 2
        done = tokctl("convert", "--prune", str(size), path)
        if before.model.events:
            assert done.code == 2 and "can't be pruned" in done.err
            continue
        assert (done.code, done.out) == (0, f"{name}.{size}.json\n".encode()), done.err
        after = Tokenizer.load(f"{name}.{size}.json")
        assert after.vocab_size == size
        assert set(after.tokens) < set(before.tokens)
        assert list(after.special_ids) == list(before.special_ids)
        encoded = tokctl("encode", "-m", f"{name}.{size}.json", "text.txt")
        assert encoded.code == 0
        assert max(map(int, encoded.out.split())) < size


def test_merges_that_stay_are_those_of_a_smaller_training(trained: dict[str, Path]) -> None:
    tokctl("convert", trained["bpe"], "--prune", "270", "-o", "small.json")
    tokctl("train", "-q", "--vocab", "270", "-o", "trained.json", "text.txt")
    small, again = Tokenizer.load("small.json"), Tokenizer.load("trained.json")
    assert (small.tokens, small.merges) == (again.tokens, again.merges)


def test_without_prune_nothing_is_lost(trained: dict[str, Path]) -> None:
    Path("elsewhere").mkdir()
    for path in trained.values():
        moved = path.rename(Path("elsewhere") / path.name)
        assert tokctl("convert", moved).out == f"{path.name}\n".encode()
        assert path.read_bytes() == moved.read_bytes()


def test_json_facts(trained: dict[str, Path]) -> None:
    done = tokctl("convert", "--json", "--prune", "260", "-o", "s.json", trained["bpe"])
    facts = orjson.loads(done.out)
    assert (facts["path"], facts["vocab_size"]) == ("s.json", 260)
    assert facts["vocab_size_before"] == Tokenizer.load(trained["bpe"]).vocab_size
    assert (facts["merges"], facts["obstacle"]) == (4, None)


def test_what_hugging_face_refuses_is_said() -> None:
    tokctl("train", "-q", "--preset", "notebook-bpe", "--vocab", "99", "-o", "m.json", stdin=b"a b")
    done = tokctl("convert", "m.json", "-o", "n.json")
    assert (done.code, done.out) == (0, b"n.json\n")
    assert done.err.startswith("note: Hugging Face refuses this file: without an unknown token ")
    assert tokctl("-q", "convert", "m.json", "-o", "n.json").err == ""


def test_model_of_the_environment(models: Models) -> None:
    done = tokctl("convert", "-o", "x.json", environ={"TOKCTL_MODEL": str(models["bytes"])})
    assert done == (0, b"x.json\n", "")
    assert Path("x.json").read_bytes() == models["bytes"].read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        ((), "no model is given", "name one: tokctl convert spiece.model"),
        (
            ("nosuch",),
            "can't read the model nosuch: No such file or directory",
            "train one first: tokctl train book.txt; a model of the Hugging Face Hub: hf:nosuch",
        ),
        (
            ("m.json", "-o", "-"),
            "the model can't go to stdout",
            "name a file: -o PATH",
        ),
        (
            ("m.json", "-o", "m.json"),
            "can't write m.json: it is one of the files to read",
            "MODEL reads it; choose another place with -o PATH",
        ),
        (
            ("m.json", "--prune", "3"),
            "3 ids are too few: the special tokens and the alphabet of this model are 257",
            "ask for 257 or more",
        ),
        (
            ("m.json", "--prune", "9999"),
            "the model has 280 ids, and can't be pruned to 9,999",
            "ask for fewer ids; to have more, train on from a model of merges (--extend)",
        ),
    ],
)
def test_refused(
    models: Models, folder: Path, arguments: tuple[str, ...], message: str, hint: str
) -> None:
    Path("m.json").write_bytes(models["bytes"].read_bytes())
    assert tokctl("convert", *arguments) == (2, b"", error(message, hint))
    assert names(folder) == ["m.json"]


# -- models of other libraries, with -m and with convert ---------------------------------


def same_everywhere(path: str, ids: list[int], text: str) -> None:
    """encode -m, decode -m and convert take the file, and agree with its library."""
    encoded = tokctl("encode", "-m", path, stdin=text.encode())
    assert (encoded.code, encoded.err) == (0, "")
    assert [int(id_) for id_ in encoded.out.split()] == ids
    decoded = tokctl("decode", "-m", path, stdin=encoded.out)
    assert (decoded.code, decoded.out.decode()) == (0, text)
    converted = tokctl("convert", path, "-o", "converted.json")
    assert (converted.code, converted.out) == (0, b"converted.json\n")
    assert tokctl("encode", "-m", "converted.json", stdin=text.encode()).out == encoded.out


def test_ranks_of_tiktoken(monkeypatch: pytest.MonkeyPatch) -> None:
    tiktoken = pytest.importorskip("tiktoken")
    ranks = [bytes([byte]) for byte in range(256)] + [b"lo", b"low", b"er", b" n", b"est"]
    lines = [b"%b %d\n" % (b64encode(token), rank) for rank, token in enumerate(ranks)]
    data = b"".join(lines)
    Path("ours.tiktoken").write_bytes(data)
    unknown = tokctl("encode", "-m", "ours.tiktoken", stdin=b"low")
    assert unknown.code == 2 and "does not know of which encoding" in unknown.err
    facts = TiktokenEncoding("ours", "gpt2", {})
    monkeypatch.setitem(PUBLISHED, sha256(data).hexdigest(), facts)
    theirs = tiktoken.Encoding(
        "ours",
        pat_str=PATTERNS["gpt2"],
        mergeable_ranks={token: rank for rank, token in enumerate(ranks)},
        special_tokens={},
    )
    text = "low lower newest 東京"
    same_everywhere("ours.tiktoken", theirs.encode(text), text)


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_a_model_of_sentencepiece(kind: str) -> None:
    sentencepiece = pytest.importorskip("sentencepiece")
    Path("text.txt").write_text(TEXT * 20, encoding="utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input="text.txt", model_prefix="sp", vocab_size=26, model_type=kind, minloglevel=9
    )
    theirs = sentencepiece.SentencePieceProcessor(model_file="sp.model")
    text = "low lower newest, widest sea"
    same_everywhere("sp.model", theirs.encode(text), text)


def test_a_tokenizer_of_hugging_face() -> None:
    tokenizers = pytest.importorskip("tokenizers")
    theirs = tokenizers.ByteLevelBPETokenizer()
    theirs.train_from_iterator([TEXT], vocab_size=280, show_progress=False)
    theirs.save("theirs.json")
    text = "low lower newest, 東京 sea"
    same_everywhere("theirs.json", theirs.encode(text).ids, text)


@pytest.mark.parametrize("name", PRESETS)
def test_any_preset_is_read_again(name: str) -> None:
    done = tokctl(
        "train", "-q", "--preset", name, "--vocab", "400", "-o", "m.json", stdin=TEXT.encode()
    )
    assert done.code == 0
    assert tokctl("-q", "convert", "m.json", "-o", "n.json").code == 0
    assert Path("n.json").read_bytes() == Path("m.json").read_bytes()
