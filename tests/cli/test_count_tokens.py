"""`encode --count`: what people see, what programs read, and what is refused."""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path

import orjson
import pytest

from tests.cli.run import error, tokctl
from tokctl import Tokenizer
from tokctl.cli.counting import cells, shortened
from tokctl.core.values import available_threads

Models = dict[str, Path]

REPLACE = "use --errors replace to put U+FFFD in its place, or a byte-level model"


@pytest.fixture
def texts() -> None:
    """Three files: c has the most tokens, b the most bytes."""
    Path("a.txt").write_bytes(b"low lower\n")
    Path("b.txt").write_bytes(b"low " * 20)
    Path("c.txt").write_bytes(b"<>{}" * 15)


def count(model: Path, *arguments: str | Path, **world: object) -> bytes:
    done = tokctl("encode", "-m", model, "--count", *arguments, **world)
    assert (done.code, done.err) == (0, "")
    return done.out


@pytest.mark.usefixtures("texts")
def test_rows_and_their_order(models: Models) -> None:
    model = models["bytes"]
    assert count(model, "b.txt", "a.txt", "c.txt") == (
        b"22  80 b.txt\n 4  10 a.txt\n60  60 c.txt\n86 150 total\n"
    )

    def order(by: str, *files: str) -> list[bytes]:
        shown = count(model, "--sort", by, *files).decode().splitlines()
        return [line.split()[-1].encode() for line in shown]

    given = ("b.txt", "c.txt", "a.txt")
    assert order("tokens", *given) == [b"c.txt", b"b.txt", b"a.txt", b"total"]
    assert order("bytes", *given) == [b"b.txt", b"c.txt", b"a.txt", b"total"]
    assert order("name", *given) == [b"a.txt", b"b.txt", b"c.txt", b"total"]
    for name in ("z", "B", "é"):
        Path(name).write_bytes(b"low lower\n")
    same = ("z", "é", "a.txt", "B")
    assert order("tokens", *same)[:-1] == [b"B", b"a.txt", b"z", "é".encode()]
    assert count(model, "--sort", "name", stdin=b"") == b"0 0\n"


@pytest.mark.usefixtures("texts")
def test_a_column_for_each_model(models: Models) -> None:
    one, two = models["bytes"], models["wordpiece"]
    alone = [count(model, "a.txt", "b.txt").split() for model in (one, two)]
    both = count(one, "-m", two, "a.txt", "b.txt")
    assert both.decode() == (
        "bytes wordpiece bytes name\n    4         2    10 a.txt\n   22        20    80 b.txt\n"
        "   26        22    90 total\n"
    )
    assert [line.split()[0] for line in both.splitlines()[1:]] == alone[0][::3]
    assert [line.split()[1] for line in both.splitlines()[1:]] == alone[1][::3]
    assert count(one, "-m", two, stdin=b"low") == b"bytes wordpiece bytes\n    2         1     3\n"
    for threads in ("2", "5"):
        assert count(one, "-m", two, "--threads", threads, "a.txt", "b.txt") == both


@pytest.mark.usefixtures("texts")
def test_models_of_one_name_are_called_by_their_paths(models: Models) -> None:
    Path("x").mkdir()
    Path("x/bytes.json").write_bytes(models["wordpiece"].read_bytes())
    head = count(models["bytes"], "-m", "x/bytes.json", "a.txt").splitlines()[0].decode()
    assert head.split() == [str(models["bytes"]), "x/bytes.json", "bytes", "name"]
    twice = tokctl("encode", "-m", "a", "-m", "a", "--count", stdin=b"")
    assert twice == (2, b"", error("the model a is given twice", "give each of them once"))


@pytest.mark.usefixtures("texts")
def test_json(models: Models) -> None:
    shown = orjson.loads(count(models["bytes"], "--json", "b.txt", "a.txt"))
    row = {"name": "a.txt", "tokens": 4, "bytes": 10, "documents": 1}
    assert shown["files"][1] == row
    assert {key: shown[key] for key in ("tokens", "bytes", "documents")} == {
        "tokens": 26,
        "bytes": 90,
        "documents": 2,
    }
    assert "models" not in shown
    assert "errors" not in shown
    two = models["wordpiece"]
    shown = orjson.loads(
        count(models["bytes"], "-m", two, "--json", "--sort", "name", "b.txt", "a.txt")
    )
    assert shown == {
        "files": [
            {"name": "a.txt", "tokens": {"bytes": 4, "wordpiece": 2}, "bytes": 10, "documents": 1},
            {
                "name": "b.txt",
                "tokens": {"bytes": 22, "wordpiece": 20},
                "bytes": 80,
                "documents": 1,
            },
        ],
        "tokens": {"bytes": 26, "wordpiece": 22},
        "bytes": 90,
        "documents": 2,
        "models": ["bytes", "wordpiece"],
    }


ODD = 'a,"b"\n=1+1 \x1b[31m'


def test_csv(models: Models) -> None:
    names = [ODD, "b.txt", os.fsdecode(b"odd-\xff")]
    try:
        for name in names:
            Path(name).write_bytes(b"low\n")
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    shown = count(models["bytes"], "--csv", *names)
    assert shown.startswith(b"tokens,bytes,documents,name\r\n3,4,1,")
    assert shown.endswith(b"3,4,1,b.txt\r\n3,4,1,odd-\xff\r\n")
    rows = list(csv.DictReader(io.StringIO(os.fsdecode(shown), newline="")))
    assert [row["name"] for row in rows] == names
    both = count(models["bytes"], "-m", models["wordpiece"], "--csv", "b.txt")
    assert both == b"tokens:bytes,tokens:wordpiece,bytes,documents,name\r\n3,1,4,1,b.txt\r\n"


def test_hostile_names_are_exact_in_json_and_safe_on_a_terminal(models: Models) -> None:
    Path(ODD).write_bytes(b"low")
    assert orjson.loads(count(models["bytes"], "--json", ODD))["files"][0]["name"] == ODD
    assert count(models["bytes"], ODD) == b'2 3 a,"b"\\n=1+1 \\x1b[31m\n'


def test_names_fit_a_narrow_terminal(models: Models, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    name = "a-very-long-folder-name/and-a-long-file-name-in-it.txt"
    Path(name).parent.mkdir()
    Path(name).write_bytes(b"low")
    Path("東京" * 10).write_bytes(b"low")
    whole = count(models["bytes"], name, "東京" * 10)
    assert name in whole.decode()
    shown = count(models["bytes"], name, "東京" * 10, stdout_is_terminal=True).decode()
    assert all(cells(line) <= 30 for line in shown.splitlines())
    assert "a-very-l…" in shown
    assert shown.splitlines()[0].endswith("in-it.txt")
    long = Path("a-model-with-quite-a-name.json")
    long.write_bytes(models["wordpiece"].read_bytes())
    monkeypatch.setenv("COLUMNS", "34")
    headed = count(models["bytes"], "-m", long, name, stdout_is_terminal=True).decode()
    assert all(cells(line) <= 34 for line in headed.splitlines())
    assert headed.splitlines()[0].split() == ["bytes", "a-m…a-name", "bytes", "name"]


def test_shortened() -> None:
    assert shortened("abcdefghij", None) == shortened("abcdefghij", 10) == "abcdefghij"
    assert shortened("abcdefghij", 7) == "ab…ghij"
    assert shortened("東京東京東京", 7) == "東…東京"
    assert cells("e\u0301東") == 3


@pytest.mark.usefixtures("texts")
def test_what_cannot_be_counted_is_told_behind_the_rest(models: Models) -> None:
    Path("bad.txt").write_bytes(b"low\n\xff")
    for given in (("a.txt", "bad.txt", "b.txt"), ("bad.txt", "a.txt", "b.txt")):
        done = tokctl("encode", "-m", models["wordpiece"], "--count", *given)
        message = "bad.txt: line 2, byte 4 is not UTF-8, and this model reads characters"
        assert done == (2, b" 2 10 a.txt\n20 80 b.txt\n22 90 total\n", error(message, REPLACE))
    alone = tokctl("encode", "-m", models["wordpiece"], "--count", "bad.txt")
    assert alone == (2, b"", error(message, REPLACE))
    shown = tokctl("encode", "-m", models["wordpiece"], "--count", "--json", "bad.txt", "a.txt")
    assert shown.code == 2
    told = orjson.loads(shown.out)
    assert told["errors"] == [{"name": "bad.txt", "error": message}]
    assert [row["name"] for row in told["files"]] == ["a.txt"]
    Path("old").write_bytes(b"kept")
    nothing = tokctl("encode", "-m", models["wordpiece"], "--count", "-o", "old", "bad.txt")
    assert nothing.code == 2
    assert Path("old").read_bytes() == b"kept"


def test_many_errors_are_told_in_short(models: Models) -> None:
    names = [f"{n:02}" for n in range(25)]
    for name in names:
        Path(name).write_bytes(b"\xff")
    Path("good").write_bytes(b"low")
    done = tokctl("encode", "-m", models["wordpiece"], "--count", *names, "good")
    assert (done.code, done.out) == (2, b"1 3 good\n")
    lines = done.err.splitlines()
    assert lines[1] == f"hint: {REPLACE}"
    assert sum(line.startswith("error: ") for line in lines) == 21
    assert lines[-2:] == ["error: 5 more could not be counted", "hint: --json names them all"]
    assert len(lines) == 20 + 1 + 2


def test_a_missing_file_is_an_error_before_anything_is_read(models: Models) -> None:
    Path("a.txt").write_bytes(b"low")
    done = tokctl("encode", "-m", models["bytes"], "--count", "a.txt", "nosuch")
    assert (done.code, done.out) == (2, b"")
    assert done.err.startswith("error: can't read nosuch: ")


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (("--csv",), "--csv needs --count", "add --count, or leave --csv out"),
        (("--sort", "name"), "--sort needs --count", "add --count, or leave --sort out"),
        (
            ("--count", "--csv", "--json"),
            "--csv can't be used with --json: each is a form of its own",
            "leave one of them out",
        ),
        (
            ("--count", "--sort", "x"),
            "invalid value 'x' for --sort",
            "choose one of: tokens, bytes, name",
        ),
        (
            ("--count", "--pad", "3"),
            "--pad can't be used with --count: padding is not counted",
            "leave one of them out",
        ),
        (
            ("--count", "--pad-token", "x"),
            "--pad-token needs --pad",
            "add --pad N, or leave --pad-token out",
        ),
        (
            ("--count", "--stride", "3"),
            "--stride needs --max-length",
            "add --max-length N, or leave --stride out",
        ),
        (
            ("--count", "--seed", "3"),
            "--seed needs --alpha",
            "add --alpha ALPHA, or leave --seed out",
        ),
        (
            ("--count", "--alpha", "0.1"),
            "a wordpiece model has one segmentation of a text",
            "a unigram model has several, and their scores: tokctl train --algo unigram",
        ),
        (
            ("--count", "--special", "<x>"),
            "'<x>' is not a special token of this model",
            "special tokens of the model: [UNK]",
        ),
    ],
)
def test_what_does_not_go_together(
    models: Models, arguments: tuple[str, ...], message: str, hint: str
) -> None:
    done = tokctl("encode", "-m", models["wordpiece"], *arguments, stdin=b"low")
    assert done == (2, b"", error(message, hint))


def test_several_models_are_for_count(models: Models) -> None:
    both = ("-m", models["bytes"], "-m", models["wordpiece"])
    done = tokctl("encode", *both, stdin=b"low")
    hint = "name one model with -m, or add --count"
    assert done == (2, b"", error("several models are given, which only --count can use", hint))
    named = tokctl("encode", *both, "--count", "--special", "<|end|>", stdin=b"low")
    message = "wordpiece: '<|end|>' is not a special token of this model"
    assert named == (2, b"", error(message, "special tokens of the model: [UNK]"))


def test_output_to_a_file_and_the_model_of_the_environment(models: Models) -> None:
    environ = {"TOKCTL_MODEL": str(models["bytes"])}
    done = tokctl("encode", "--count", "-o", "n", stdin=b"low", environ=environ)
    assert done == (0, b"", "")
    assert Path("n").read_bytes() == b"2 3\n"
    own = models["bytes"]
    refused = tokctl("encode", "--count", "-m", own, "-o", own, stdin=b"low")
    assert refused.err.startswith(f"error: can't write {own}: it is one of the files to read")


def test_verbose_says_how_fast(models: Models) -> None:
    both = ("-m", models["bytes"], "-m", models["wordpiece"])
    done = tokctl("encode", *both, "--count", "--verbose", stdin=b"low lower")
    assert done.err.startswith("3 and 2 tokens of 9 bytes in ")
    assert f"MB/s; threads: {available_threads()}; cache: " in done.err


def test_no_file_at_all() -> None:
    from tokctl.cli.counting import table
    from tokctl.tokenizer.token_counts import TokenCounts

    assert table(TokenCounts(("m",), [], []), named=True, width=None) == "0 0 total\n"


def test_numbers_of_any_size_are_aligned() -> None:
    from tokctl.cli.counting import table
    from tokctl.tokenizer.token_counts import FileCount, TokenCounts

    rows = [FileCount("a", (2**53,), 2**62, 1), FileCount("b", (1,), 1, 1)]
    shown = table(TokenCounts(("m",), rows, []), named=True, width=None).splitlines()
    assert {line.index(name) for line, name in zip(shown, ("a", "b", "total"), strict=True)} == {37}
    assert str(2**62 + 1) in shown[-1]


def test_many_small_files_on_every_model(models: Models) -> None:
    """The same counts as one by one, for 300 files and four models in one run."""
    wanted = 0
    model = Tokenizer.load(models["bytes"])
    for n in range(300):
        text = f"low lower {n}\n" * (n % 5)
        Path(f"{n}.txt").write_text(text)
        wanted += len(model.encode_ids(text))
    names = sorted(str(path) for path in Path().glob("*.txt"))
    four = [models[name] for name in ("bytes", "regex", "characters", "wordpiece")]
    chosen = [part for path in four for part in ("-m", path)]
    done = tokctl("encode", *chosen, "--count", *names)
    assert done.code == 0
    lines = done.out.decode().splitlines()
    assert len(lines) == 302
    assert int(lines[-1].split()[0]) == wanted
