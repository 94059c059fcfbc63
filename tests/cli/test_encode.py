"""What encode writes, in every form."""

from __future__ import annotations

import struct
from pathlib import Path

import orjson
import pytest

from tests import systems
from tests.cli.run import error, names, tokctl
from tokctl import Tokenizer

Models = dict[str, Path]


def test_ids_line_by_line(models: Models) -> None:
    given = b"low lower\n\nnewest"
    done = tokctl("encode", "-m", models["bytes"], stdin=given)
    tokenizer = Tokenizer.load(models["bytes"])
    lines = [" ".join(map(str, tokenizer.encode_ids(line))) for line in given.split(b"\n")]
    assert done == (0, "\n".join(lines).encode(), "")
    assert tokctl("encode", "-m", models["bytes"], "-", stdin=given) == done


@pytest.mark.parametrize("given", [b"", b"\n", b"low", b"low\n", b"\n\n", b"low\r\nlower\r\n"])
@pytest.mark.parametrize("form", ["ids", "tokens", "pieces", "jsonl"])
def test_a_line_for_a_line(models: Models, given: bytes, form: str) -> None:
    done = tokctl("encode", "-m", models["bytes"], "--as", form, stdin=given)
    assert done.code == 0
    assert done.out.count(b"\n") == given.count(b"\n")
    assert done.out.endswith(b"\n") == given.endswith(b"\n")


def test_forms_pinned(models: Models) -> None:
    given = "lower café\n".encode() + b"\xff low"
    model = models["bytes"]

    def out(*arguments: str) -> bytes:
        done = tokctl("encode", "-m", model, *arguments, stdin=given)
        assert (done.code, done.err) == (0, "")
        return done.out

    first, second = (Tokenizer.load(model).encode(line) for line in given.split(b"\n"))
    assert out("--as", "tokens").decode() == "lo w er Ġ caf Ã ©\nÿ Ġlow"
    assert out("--as", "pieces") == (
        b'["lo","w","er"," ","caf",{"bytes":"ww=="},{"bytes":"qQ=="}]\n[{"bytes":"/w=="}," low"]'
    )
    lines = out("--as", "jsonl").split(b"\n")
    assert lines[0] == orjson.dumps({"ids": first.ids, "tokens": first.tokens})
    assert lines[1] == orjson.dumps({"ids": second.ids, "tokens": second.tokens})
    assert out("--json") == out("--as", "jsonl")
    offsets = [orjson.loads(line)["offsets"] for line in out("--json", "--offsets").split(b"\n")]
    # In characters; both halves of é cover it, and the odd byte counts as one.
    assert offsets[0] == [[0, 2], [2, 3], [3, 5], [5, 6], [6, 9], [9, 10], [9, 10]]
    assert offsets[1] == [[0, 1], [1, 5]]


def test_white_space_in_a_token_is_escaped(folder: Path) -> None:
    Path("a.txt").write_text("a b\ta b\ta b\n" * 3, encoding="utf-8")
    trained = tokctl("train", "-q", "--chars", "--pretokenize", "none", "--vocab", "9", "a.txt")
    assert (trained.code, trained.err) == (0, "")
    done = tokctl("encode", "-m", "a.bpe.json", "--as", "tokens", "--whole", "a.txt")
    words = done.out.decode().removesuffix("\n").split(" ")
    tokens = Tokenizer.load("a.bpe.json").encode(Path("a.txt").read_text("utf-8")).tokens
    assert [word.encode().decode("unicode_escape") for word in words] == tokens
    assert folder.joinpath("a.bpe.json").exists()


def test_whole_takes_each_file_as_one_text(models: Models) -> None:
    Path("a").write_bytes(b"low\nlower\n")
    Path("b").write_bytes(b"newest")
    done = tokctl("encode", "-m", models["bytes"], "--whole", "a", "b")
    tokenizer = Tokenizer.load(models["bytes"])
    expected = [tokenizer.encode_ids(text) for text in (b"low\nlower\n", b"newest")]
    assert [[int(word) for word in line.split()] for line in done.out.splitlines()] == expected


def test_files_that_end_inside_a_line_stay_apart(models: Models) -> None:
    for name, data in {"a": b"low", "empty": b"", "b": b"low\n", "c": b" ", "d": b"low"}.items():
        Path(name).write_bytes(data)
    done = tokctl(
        "encode", "-m", models["wordpiece"], "--as", "tokens", "a", "empty", "b", "c", "d"
    )
    assert done == (0, b"low\nlow\n\nlow", "")


@pytest.mark.parametrize("name", ["bytes", "regex"])
def test_bin(models: Models, name: str) -> None:
    given = b"low\nlower\xff\r\n"
    done = tokctl("encode", "-m", models[name], "--as", "bin", stdin=given)
    ids = Tokenizer.load(models[name]).encode_ids(given)
    assert done == (0, struct.pack(f"<{len(ids)}H", *ids), "")


def test_ids_are_packed_little_endian() -> None:
    from tokctl.cli.encode_output import packed

    for width, ids in ((2, [0, 65_535]), (4, [0, 65_536, 2**32 - 1])):
        assert packed(ids, width) == b"".join(id_.to_bytes(width, "little") for id_ in ids)


def test_count_like_wc(models: Models) -> None:
    Path("a.txt").write_bytes(b"low lower\n" * 20)
    Path("b\n.txt").write_bytes(b"low")
    done = tokctl("encode", "-m", models["bytes"], "--count", "a.txt", "b\n.txt")
    assert done == (0, b"80 200 a.txt\n 2   3 b\\n.txt\n82 203 total\n", "")
    alone = tokctl("encode", "-m", models["bytes"], "--count", stdin=b"low lower\n")
    assert alone.out == b"4 10\n"
    by_line = tokctl("encode", "-m", models["bytes"], "--count", "--lines", stdin=b"low lower\n")
    assert by_line.out == b"3 10\n"
    in_json = tokctl("encode", "-m", models["bytes"], "--count", "--json", "a.txt", "b\n.txt")
    assert orjson.loads(in_json.out) == {
        "files": [
            {"name": "a.txt", "tokens": 80, "bytes": 200, "documents": 1},
            {"name": "b\n.txt", "tokens": 2, "bytes": 3, "documents": 1},
        ],
        "tokens": 82,
        "bytes": 203,
        "documents": 2,
    }


@pytest.mark.parametrize("name", ["bytes", "regex", "wordpiece"])
@pytest.mark.parametrize("form", ["--as=ids", "--count"])
def test_threads_change_nothing(models: Models, name: str, form: str, sample: str) -> None:
    given = (sample + "\n\nlow").encode()
    one = tokctl("encode", "-m", models[name], form, stdin=given)
    assert one.code == 0
    for threads in (2, 7):
        arguments = ("encode", "-m", models[name], form, "--threads", str(threads))
        assert tokctl(*arguments, stdin=given) == one


def test_count_is_the_number_of_ids(models: Models, sample: str) -> None:
    for name in ("bytes", "regex", "characters", "wordpiece"):
        for whole, lines in (((), ("--lines",)), (("--whole",), ())):
            shared = ("encode", "-m", models[name])
            ids = tokctl(*shared, *whole, stdin=sample.encode()).out.split()
            count = tokctl(*shared, "--count", *lines, stdin=sample.encode()).out.split()
            assert int(count[0]) == len(ids)


def test_special_tokens_are_text_unless_allowed(models: Models) -> None:
    def tokens(*arguments: str) -> str:
        given = b"low<|end|>low"
        done = tokctl("encode", "-m", models["bytes"], "--as", "tokens", *arguments, stdin=given)
        assert done.code == 0
        return done.out.decode()

    as_text = "lo w < | e n d | > lo w"
    assert tokens() == tokens("--special", "none") == as_text
    assert tokens("--special", "all") == tokens("--special", "<|end|>") == "lo w <|end|> lo w"
    assert tokctl("encode", "-m", models["bytes"], "--special", "all", stdin=b"<|end|>").out == b"0"
    unknown = tokctl("encode", "-m", models["bytes"], "--special", "<s>", stdin=b"")
    assert unknown.err == error(
        "'<s>' is not a special token of this model", "special tokens of the model: <|end|>"
    )


def test_model_of_the_environment(models: Models) -> None:
    named = tokctl("encode", "-m", models["bytes"], stdin=b"low")
    environ = {"TOKCTL_MODEL": str(models["bytes"])}
    assert tokctl("encode", stdin=b"low", environ=environ) == named
    other = tokctl("encode", "-m", models["wordpiece"], stdin=b"low", environ=environ)
    assert other.out != named.out


def test_output_file_is_whole_or_absent(models: Models, folder: Path) -> None:
    Path("good.txt").write_bytes(b"low\n")
    Path("bad.txt").write_bytes(b"low\n" * 10 + b"\xff\n")
    done = tokctl("encode", "-m", models["wordpiece"], "-o", "ids", "good.txt")
    assert done == (0, b"", "")
    kept = Path("ids").read_bytes()
    assert kept.endswith(b"\n")
    failed = tokctl("encode", "-m", models["wordpiece"], "-o", "ids", "good.txt", "bad.txt")
    assert (failed.code, failed.out) == (2, b"")
    assert Path("ids").read_bytes() == kept
    assert names(folder) == ["bad.txt", "good.txt", "ids"]


def test_not_utf8_names_file_line_and_byte(models: Models) -> None:
    Path("bad.txt").write_bytes(b"low\nlow\xff low\n")
    hint = "use --errors replace to put U+FFFD in its place, or a byte-level model"
    for name in ("wordpiece", "characters"):
        done = tokctl("encode", "-m", models[name], "bad.txt")
        message = "bad.txt: line 2, byte 7 is not UTF-8, and this model reads characters"
        assert (done.code, done.err) == (2, error(message, hint))
        replaced = tokctl("encode", "-m", models[name], "--errors", "replace", "bad.txt")
        same = tokctl("encode", "-m", models[name], stdin="low\nlow\ufffd low\n".encode())
        assert (replaced.code, replaced.out) == (0, same.out)


@pytest.mark.parametrize("more", [(), ("--whole",), ("--as", "bin"), ("--json",), ("--count",)])
def test_a_character_without_an_id_names_its_place(models: Models, more: tuple[str, ...]) -> None:
    done = tokctl("encode", "-m", models["no-unknown"], *more, stdin="low\nlow ☃\n".encode())
    hint = (
        "see the text with --as tokens, or train a model with an unknown token "
        "(--unk-token '[UNK]')"
    )
    message = "stdin: line 2: '☃' is not in the model's alphabet, and it has no unknown token"
    assert (done.code, done.err) == (2, error(message, hint))
    looked = tokctl("encode", "-m", models["no-unknown"], "--as", "tokens", stdin="☃".encode())
    assert (looked.code, looked.out.decode()) == (0, "Ġ ☃")


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (
            ("--as", "npz"),
            "invalid value 'npz' for --as",
            "choose one of: ids, tokens, pieces, jsonl, bin, npy, parquet, megatron, safetensors",
        ),
        (("--offsets",), "--offsets needs --as jsonl", "add --as jsonl"),
        (
            ("--json", "--as", "ids"),
            "--json is --as jsonl, and --as is ids",
            "leave one of them out",
        ),
        (
            ("--count", "--as", "ids"),
            "--as can't be used with --count: it shows counts",
            "leave one of them out",
        ),
        (("--errors", "x"), "invalid value 'x' for --errors", "choose one of: strict, replace"),
        (
            ("nosuch",),
            "can't read nosuch: No such file or directory",
            "there is no such file in . or at that path; check the spelling",
        ),
        (("-o", "."), "can't write .: it is a folder", "name a file in it"),
        (
            ("-o", "no/ids"),
            "can't write no/ids: there is no folder no",
            "make it first: mkdir -p no",
        ),
        (
            ("--special", "none", "--special", "a"),
            "--special none can't be combined with others",
            "leave out none, or the others",
        ),
        (
            (),
            "there is no text: stdin is a terminal",
            "name a file, or pipe text in: cat book.txt | tokctl …; - lets you type",
        ),
    ],
)
def test_bad_usage(
    models: Models, folder: Path, arguments: tuple[str, ...], message: str, hint: str
) -> None:
    done = tokctl("encode", "-m", models["bytes"], *arguments)
    assert done == (2, b"", error(message, hint))
    assert names(folder) == []


def test_no_model() -> None:
    hint = "name one first, with -m or in $TOKCTL_MODEL; to make one: tokctl train book.txt"
    for command in ("encode", "decode"):
        assert tokctl(command, stdin=b"") == (2, b"", error("no model is given", hint))


def test_bin_is_not_for_a_terminal(models: Models) -> None:
    arguments = ("encode", "-m", models["bytes"], "--as", "bin")
    done = tokctl(*arguments, stdin=b"low", stdout_is_terminal=True)
    message = "a terminal can't show numbers in binary"
    assert done == (2, b"", error(message, "add -o PATH, or a pipe"))
    assert tokctl(*arguments, "-o", "ids", stdin=b"low", stdout_is_terminal=True).code == 0


@systems.symlinks
def test_the_source_is_not_overwritten(models: Models) -> None:
    Path("a.txt").write_bytes(b"low\n")
    Path("link").symlink_to("a.txt")
    for output in ("a.txt", "./a.txt", "link"):
        done = tokctl("encode", "-m", models["bytes"], "-o", output, "a.txt")
        message = f"can't write {output}: it is one of the files to read"
        spelled = "" if output == "a.txt" else " as a.txt"
        hint = f"FILE reads it{spelled}; choose another place with -o PATH"
        assert done == (2, b"", error(message, hint))
    assert Path("a.txt").read_bytes() == b"low\n"


@pytest.mark.parametrize("form", ["tokens", "pieces", "jsonl"])
def test_what_python_writes_comes_in_portions(
    models: Models, form: str, sample: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Output need not wait for a whole block; where it is cut changes nothing."""
    from tokctl.tokenizer import documents

    given = (sample + "\n\nlow").encode()
    at_once = tokctl("encode", "-m", models["wordpiece"], "--as", form, stdin=given)
    count = tokctl("encode", "-m", models["wordpiece"], "--count", "--max-length", "3", stdin=given)
    for size in (1, 100):
        monkeypatch.setattr(documents, "TEXT_BATCH_SIZE", size)
        arguments = ("encode", "-m", models["wordpiece"])
        assert tokctl(*arguments, "--as", form, stdin=given) == at_once
        assert tokctl(*arguments, "--count", "--max-length", "3", stdin=given) == count
