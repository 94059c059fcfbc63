"""adapt: tokens taken away and learned, with embeddings, on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy
import pytest
from safetensors.numpy import load_file, save_file

from tests.cli.run import names, tokctl
from tests.explain.health.sick import byte_level_model
from tokctl import Tokenizer

TEXT = "low lower newest widest, a sea-chest of treasure; low low\n" * 3
CODE = "if (x) { return newest_low; }\nwhile (count) go_on(with, it);\n" * 20


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tokenizer:
    """m.json, with 280 ids; a.txt, code.txt; weights of it."""
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text(TEXT)
    Path("code.txt").write_text(CODE)
    special = ("--special-token", "<|end|>")
    done = tokctl("train", "-q", "--vocab", "280", *special, "-o", "m.json", "a.txt")
    assert done.code == 0, done.err
    tokenizer = Tokenizer.load("m.json")
    rows = numpy.arange(tokenizer.vocab_size * 3, dtype="f4").reshape(-1, 3)
    save_file({"wte.weight": rows}, "w.safetensors")
    return tokenizer


def test_the_whole_of_it(model: Tokenizer) -> None:
    size = model.vocab_size
    done = tokctl(
        *("adapt", "m.json", "--prune", size - 10, "a.txt", "--vocab", size + 5),
        *("--new-text", "code.txt", "--special-token", "<s>", "--add-token", "return_of"),
        *("--map", "map.jsonl", "--embeddings", "w.safetensors"),
        *("--new-embeddings", "new.safetensors", "-o", "new.json"),
    )
    assert (done.code, done.out) == (0, b"new.json\n"), done.err
    new = Tokenizer.load("new.json")
    assert new.vocab_size == size + 5 and new.tokens[-2:] == ["<s>", "return_of"]
    assert set(new.special_ids) == {"<|end|>", "<s>"}
    rows = [json.loads(line) for line in Path("map.jsonl").read_text().splitlines()]
    matrix, found = (load_file(name)["wte.weight"] for name in ("w.safetensors", "new.safetensors"))
    assert len(found) == size + 5
    for row in rows:
        if row["old"] is not None and row["new"] is not None:
            assert found[row["new"]].tolist() == matrix[row["old"]].tolist()
            assert new.tokens[row["new"]] == model.tokens[row["old"]] == row["token"]
    assert f"{size} ids before, {size + 5} now\n10 tokens taken away, " in done.err
    assert "wte.weight: F32 x 3, 280 rows before, 285 now\n" in done.err
    assert 'config.json must say: "vocab_size": 285' in done.err


def test_json_says_what_the_lines_say(model: Tokenizer) -> None:
    size = model.vocab_size
    line = ("adapt", "-m", "m.json", "--prune", size - 10, "a.txt", "-o", "new.json")
    done = tokctl(*line, "--json", "--verify", "a.txt")
    said = json.loads(done.out)
    assert said["vocab_size_before"] == size and said["vocab_size"] == size - 10
    assert (said["removed"], said["added"], said["restored"], said["holes"]) == (10, 0, 0, 0)
    assert said["path"] == "new.json" and said["files"] == ["new.json"] and said["uses"] > 50
    assert said["verified"]["lines"] == 3 and said["verified"]["moved"] == 0
    quiet = tokctl(*line, "-q")
    assert (quiet.code, quiet.out, quiet.err) == (0, b"new.json\n", "")


def test_texts_from_stdin_and_lists(model: Tokenizer) -> None:
    size = str(model.vocab_size - 10)
    line = ("adapt", "m.json", "--prune", size, "-o")
    assert tokctl(*line, "file.json", "a.txt").code == 0
    for name, stdin, more in (
        ("stdin.json", TEXT, ()),
        ("dash.json", TEXT, ("-",)),
        ("list.json", "a.txt\n", ("--files-from", "-")),
        ("records.json", json.dumps({"text": TEXT}), ("--text-field", "text")),
    ):
        done = tokctl(*line, name, *more, stdin=stdin.encode())
        assert done.code == 0, done.err
        assert Path(name).read_bytes() == Path("file.json").read_bytes()


def test_what_is_never_used_goes(model: Tokenizer) -> None:
    line = ("adapt", "m.json", "--min-uses", "1", "code.txt", "-o")
    done = tokctl(*line, "new.json", "--threads", "1")
    assert "tokens taken away, 0 uses of " in done.err
    new = Tokenizer.load("new.json")
    assert 257 < new.vocab_size < model.vocab_size
    assert new.encode(CODE).tokens == model.encode(CODE).tokens
    assert tokctl(*line, "again.json", "--threads", "4").code == 0
    assert Path("new.json").read_bytes() == Path("again.json").read_bytes()


def test_the_model_of_the_environment(model: Tokenizer) -> None:
    line = ("adapt", "--special-token", "<s>", "-o", "new.json")
    assert tokctl(*line, environ={"TOKCTL_MODEL": "m.json"}).code == 0
    assert Tokenizer.load("new.json").vocab_size == model.vocab_size + 1
    done = tokctl(*line)
    assert (done.code, done.err.splitlines()[0]) == (2, "error: no model is given")


def test_ids_are_kept(model: Tokenizer) -> None:
    size = model.vocab_size
    Path("t.txt").write_text("treasure newest " * 9)
    line = ("adapt", "m.json", "t.txt", "--prune", size - 15, "--keep-ids")
    assert tokctl(*line, "-o", "new.json").code == 0
    new = Tokenizer.load("new.json")
    kept = [token for token in model.tokens if token in new]
    assert len(kept) == size - 15 < new.vocab_size
    assert all(new.token_to_id(token) == model.token_to_id(token) for token in kept)
    assert f"{new.vocab_size - len(kept)} ids without a token" in tokctl(*line, "-o", "b.json").err


def test_the_format_is_that_of_the_model(model: Tokenizer) -> None:
    assert tokctl("convert", "-q", "m.json", "--to", "huggingface-folder", "-o", "old").code == 0
    line = ("adapt", "old", "--special-token", "<s>", "-o")
    done = tokctl(*line, "new")
    assert done.code == 0 and "tokenizer_config.json" in names(Path("new")), done.err
    assert Tokenizer.load("new").special_ids["<s>"] == model.vocab_size
    assert tokctl(*line, "new.tiktoken", "--to", "tiktoken").code == 0
    assert Tokenizer.load("new.tiktoken").special_ids["<s>"] == model.vocab_size
    done = tokctl("adapt", "m.json", "--special-token", "<s>", "-o", "x.tiktoken")
    assert done.code == 2 and "--to tiktoken" in done.err and not Path("x.tiktoken").exists()
    done = tokctl("adapt", "m.json", "--add-token", "zzz", "-o", "x.tiktoken", "--to", "tiktoken")
    assert done.code == 2 and "added tokens that are not special" in done.err
    lossy = ("--to", "tiktoken", "--lossy")
    assert tokctl("adapt", "m.json", "--add-token", "zzz", "-o", "x.tiktoken", *lossy).code == 0


def test_a_kept_token_that_is_made_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("ab\nab\nab\nbc\nbc\n")
    Path("b.txt").write_text("bc\n")
    assert tokctl("train", "-q", "--vocab", "258", "-o", "m.json", "a.txt").code == 0
    before = names(tmp_path)
    line = ("adapt", "m.json", "--prune", "257", "b.txt", "--map", "map", "-o", "new.json")
    failed = tokctl(*line, "--verify", "b.txt", "--verify", "-", stdin=b"bc\n\nx abc\n")
    assert (failed.code, failed.out) == (1, b"") and names(tmp_path) == before
    assert failed.err.splitlines() == [
        "verified: 6 tokens in 4 lines: 4 the same, 0 part of new tokens, 1 taken away, 1 kept but "
        "cut otherwise",
        "  stdin, line 3, column 5: 'c' is made no more",
        "    before  'ab'  'c'",
        "    now     'a'  'bc'",
        "error: 1 token of the texts that the model keeps would be split differently: nothing is "
        "written",
        "hint: keep more tokens, or leave --verify out to write the model anyway",
    ]
    done = tokctl(*line, "--verify", "b.txt")
    assert done.code == 0 and done.err.startswith("verified: 1 token in 1 line: 1 the same, ")
    assert names(tmp_path) == [*before, "map", "new.json"]


@pytest.mark.usefixtures("model")
def test_rows_by_focus() -> None:
    """The two passes of docs/adapt.md: the model, what its tokens are called, and the rows."""
    line = ("adapt", "m.json", "--vocab", "290", "--new-text", "code.txt", "-o", "new.json")
    assert tokctl(*line).code == 0
    done = tokctl("encode", "-m", "new.json", "--as", "tokens", "code.txt")
    words = sorted(set(done.out.decode().split()))
    vectors = [f"{word} {len(word)} {place}.5 " for place, word in enumerate(words, 1)]
    Path("new.vec").write_text("\n".join([f"{len(words)} 2", *vectors, ""]), encoding="utf-8")
    model = Path("new.json").read_bytes()
    done = tokctl(*line, *FOCUS, "--vectors", "new.vec", "--json")
    assert done.code == 0 and Path("new.json").read_bytes() == model
    (said,) = json.loads(done.out)["embeddings"]
    assert said["by_focus"] > 5 and said["by_focus"] + said["by_mean"] == 10
    assert f" {said['by_focus']} by FOCUS" in done.err
    rows = load_file("x")["wte.weight"]
    assert len(rows) == 290 and (rows[280:] <= rows[:280].max(axis=0)).all()


STEPS = "abcd " * 60 + "xabc " * 30 + "abc ab dx\n"


def test_residues_of_merging(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.txt").write_text(STEPS)
    model = byte_level_model(["ab", "abc", "abcd", "xabc", "dx"])
    model.save("m.json")
    rows = numpy.arange(model.vocab_size * 3, dtype="f4").reshape(-1, 3)
    save_file({"wte.weight": rows}, "w.safetensors")
    line = ("adapt", "m.json", "--residues", "0.1", "t.txt", "--map", "map.jsonl", *W)
    line = (*line, "--new-embeddings", "new.safetensors", "--verify", "t.txt")
    done = tokctl(*line, "-o", "new.json")
    assert (done.code, done.out) == (0, b"new.json\n"), done.err
    assert "2 residues among 5 merged tokens that the texts make (40.0%)\n" in done.err
    assert "  'ab': FI ratio 0.01087 (1 of 92), entropy 0\n" in done.err
    new, mapped = Tokenizer.load("new.json"), Path("map.jsonl").read_text().splitlines()
    gone = [json.loads(row)["token"] for row in mapped if json.loads(row)["new"] is None]
    assert sorted(gone) == ["ab", "abc"] and new.vocab_size == model.vocab_size - 2
    found = load_file("new.safetensors")["wte.weight"]
    assert found[new.token_to_id("abcd")].tolist() == rows[model.token_to_id("abcd")].tolist()
    assert new.encode("abcdabc").tokens == ["abcd", "a", "b", "c"]
    (gone,) = json.loads(tokctl("inspect", "new.json", "--token", "abc", "--json").out)["removals"]
    assert (gone["step"], gone["by"], gone["count"], gone["whole"]) == (5, None, 1, 91)
    word = tokctl("inspect", "new.json", "--word", "abc", "--csv").out.decode()
    assert ",abc taken apart; a residue: 1 of 91 occurrences outside longer tokens" in word
    fixed = (*line, "--keep-ids", "--residue-entropy", "0", "--json", "-o", "fixed.json")
    data = json.loads(tokctl(*fixed).out)
    assert data["residues"]["tokens"] == 1 and data["residues"]["judged"] == 5
    (one,) = data["residues"]["examples"]
    assert (one["token"], one["final"], one["intermediate"]) == ("ab", 1, 91)
    assert data["holes"] == data["removed"] == 1 and data["format"] == "tokctl"
    done = tokctl("convert", "new.json", "--to", "huggingface", "-o", "x.json")
    assert done.code == 2 and "residues were removed" in done.err


ADAPT = ("adapt", "m.json", "-o", "new.json")
SPECIAL = (*ADAPT, "--special-token", "<s>")
W = ("--embeddings", "w.safetensors")
FOCUS = (*W, "--new-embeddings", "x", "--new-rows", "focus")


@pytest.mark.few(22)
@pytest.mark.parametrize(
    ("line", "message"),
    [
        (ADAPT, "no change is requested"),
        (ADAPT[:2], "the new model needs a file"),
        ((*ADAPT[:2], "-o", "-", "--prune", "260", "a.txt"), "the new model needs a file"),
        ((*ADAPT[:2], "-o", "m.json", "--prune", "260", "a.txt"), "one of the files to read"),
        ((*ADAPT, "--prune", "3", "a.txt"), "3 ids are too few"),
        ((*ADAPT, "--prune", "0", "a.txt"), "0 is less than 1"),
        ((*ADAPT, "--prune", "x", "a.txt"), "'x' is not a whole number"),
        ((*ADAPT, "--prune", "999", "a.txt"), "can't be pruned to 999"),
        ((*ADAPT, "--prune", "260"), "stdin is a terminal"),
        ((*ADAPT, "--prune", "260", "none.txt"), "none.txt"),
        ((*ADAPT, "--vocab", "200", "a.txt"), "leave nothing to learn"),
        ((*ADAPT, "--new-text", "a.txt"), "--new-text needs --vocab"),
        (
            (*ADAPT, "--vocab", "310", "--new-text", "a.txt", "code.txt"),
            "no option uses the text code.txt",
        ),
        ((*SPECIAL, "a.txt"), "no option uses the text a.txt"),
        ((*ADAPT, "--min-uses", "0", "a.txt"), "0 is less than 1"),
        (
            (*ADAPT, "--min-uses", "1", "--prune", "260", "a.txt"),
            "each says which tokens are removed",
        ),
        ((*ADAPT, "--residues", "0", "a.txt"), "invalid value 0 for residues"),
        ((*ADAPT, "--residues", "2", "a.txt"), "invalid value 2 for residues"),
        ((*ADAPT, "--residues", "0.1"), "stdin is a terminal"),
        ((*ADAPT, "--residues", "0.1", "--prune", "260", "a.txt"), "can't be combined"),
        ((*ADAPT, "--residues", "0.1", "a.txt", "--to", "gguf"), "residues were removed"),
        (
            (*ADAPT, "--residue-entropy", "1", "--min-uses", "1", "a.txt"),
            "--residue-entropy needs --residues",
        ),
        ((*ADAPT, "--residue-entropy", "-1", "--residues", "1", "a.txt"), "is less than 0"),
        ((*ADAPT, "--threads", "0", "--prune", "260", "a.txt"), "0 is less than 1"),
        (
            (*ADAPT, "--errors", "ignore", "--prune", "260", "a.txt"),
            "invalid value 'ignore' for --errors",
        ),
        ((*SPECIAL, "--text-field", "x"), "--text-field says how texts are read"),
        ((*ADAPT, "--prune", "260", "--vocab", "270", "-"), "stdin can't be read twice"),
        ((*ADAPT, "--prune", "260", "-", "--verify", "-"), "stdin can't be read twice"),
        ((*ADAPT, "--prune", "260", "m.json", "a.txt"), "m.json"),
        ((*ADAPT, "--special-token", ""), "tokens is empty"),
        ((*ADAPT, "--add-token", "<|end|>"), "is a special token of the model"),
        ((*ADAPT, "--special-token", "x", "--add-token", "x"), "can't be both a special token and"),
        ((*SPECIAL, "--map", "-"), "the map can't go to stdout"),
        ((*SPECIAL, "--map", "new.json"), "-o and --map name the same file"),
        ((*SPECIAL, "--map", "m.json"), "one of the files to read"),
        ((*SPECIAL, "--map", "no/map"), "there is no folder no"),
        ((*SPECIAL, "--to", "tekken"), "does not write it"),
        ((*SPECIAL, "--to", "toctl"), "no format is called"),
        ((*SPECIAL, "--tensor", "x"), "--tensor needs --embeddings"),
        ((*SPECIAL, "--new-rows", "zeros"), "--new-rows needs --embeddings"),
        ((*SPECIAL, "--new-embeddings", "x"), "--new-embeddings needs --embeddings"),
        ((*SPECIAL, *W), "--embeddings needs --new-embeddings"),
        ((*SPECIAL, *W, "--new-embeddings", "-"), "can't go to stdout"),
        ((*SPECIAL, *W, "--new-embeddings", "w.safetensors"), "one of the files to read"),
        ((*SPECIAL, *W, "--new-embeddings", "x", "--tensor", "y"), "has no tensor 'y'"),
        (
            (*SPECIAL, *W, "--new-embeddings", "x", "--new-rows", "first"),
            "invalid value 'first' for --new-rows",
        ),
        ((*SPECIAL, *FOCUS), "need a vector for each token"),
        ((*SPECIAL, "--vectors", "x"), "--vectors needs --embeddings"),
        ((*SPECIAL, *W, "--new-embeddings", "x", "--vectors", "x"), "used only for rows by"),
        ((*SPECIAL, *FOCUS, "--vectors", "none.vec"), "can't read none.vec"),
        ((*SPECIAL, *FOCUS, "--vectors", "a.txt"), "its first line lacks the number"),
        ((*SPECIAL, *FOCUS, "--vectors", "x"), "can't read x"),
        ((*SPECIAL, "--embeddings", "none", "--new-embeddings", "x"), "can't read none"),
        ((*SPECIAL, "--embeddings", "a.txt", "--new-embeddings", "x"), "not a safetensors file"),
        ((*SPECIAL, "--verify", "none.txt"), "none.txt"),
        ((*SPECIAL, "--verify", "empty.txt"), "can't verify with an empty text"),
        (
            ("adapt", "m.json", "m.json", "-o", "x"),
            "is a second model, and m.json is the one to adapt",
        ),
        (("adapt", "a.txt", "-o", "x"), "no model is given"),
    ],
)
@pytest.mark.usefixtures("model")
def test_what_can_not_be(line: tuple[str, ...], message: str) -> None:
    Path("empty.txt").touch()
    before = names(Path())
    done = tokctl(*line)
    assert done.code == 2 and done.out == b"", done.err
    assert message in done.err and "\nhint: " in done.err
    assert names(Path()) == before


@pytest.mark.usefixtures("model")
def test_one_model_is_not_a_text() -> None:
    done = tokctl("adapt", "-m", "m.json", "--prune", "260", "m.json", "-o", "new.json")
    assert done.code == 2 and "m.json is a model" in done.err
