"""The options of `encode` for files of ids, and what stands behind each text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import orjson
import pytest

from tests.cli.run import Result, error, names, tokctl
from tests.idfiles import made
from tests.idfiles.reading import NAMES, documents
from tokctl import Tokenizer, idfiles

Models = dict[str, Tokenizer]
TEXT = b"low lower\n\nnewest\nlow"
END = "<|end|>"


@pytest.fixture
def encode(models_folder: Path, models: Models) -> object:
    """`tokctl encode` with the model of bytes."""
    del models

    def run(*arguments: str | Path, stdin: bytes = TEXT, model: str = "bytes") -> Result:
        return tokctl("encode", "-m", models_folder / f"{model}.json", *arguments, stdin=stdin)

    return run


@pytest.mark.parametrize("form", idfiles.BINARY_FORMS)
@pytest.mark.parametrize("name", ["bytes", "wordpiece"])
def test_eos_stands_behind_each_document(models: Models, form: str, name: str) -> None:
    tokenizer = models[name]
    eos = END if name == "bytes" else "[UNK]"
    end = tokenizer.special_ids[eos]
    index = Path("index.npy") if form in ("bin", "npy") else None
    idfiles.write(tokenizer, made.mixed(made.TEXTS), NAMES[form], form=form, eos=eos, index=index)
    assert documents(form, Path(NAMES[form]), index) == made.ids_of(tokenizer, made.TEXTS, end)


@pytest.mark.parametrize("threads", ["1", "3"])
def test_eos_in_lines(models: Models, encode, threads: str) -> None:  # type: ignore[no-untyped-def]
    end = models["bytes"].special_ids[END]
    long = b"\n".join([TEXT] * 9000) + b"\n"
    for text in (TEXT, TEXT + b"\n", b"", b"\n", long):
        lines = made.ids_of(models["bytes"], made.lines_of(text), end)
        for form in ("ids", "jsonl", "tokens", "pieces"):
            if text is long and form != "ids":
                continue
            shown = encode("--as", form, "--eos", END, "--threads", threads, stdin=text)
            assert (shown.code, shown.err) == (0, "")
            assert shown.out.endswith(b"\n") == text.endswith(b"\n")
            found = shown.out.splitlines()
            assert len(found) == len(lines)
            if form == "ids":
                assert [[int(id_) for id_ in line.split()] for line in found] == lines
            if form == "jsonl":
                assert [orjson.loads(line)["ids"] for line in found] == lines
            if form == "tokens":
                assert all(line.split(b" ")[-1] == END.encode() for line in found)
        whole = encode("--whole", "--eos", END, "--threads", threads, stdin=text).out
        assert [int(id_) for id_ in whole.split()] == made.ids_of(models["bytes"], [text], end)[0]
        assert whole.count(b"\n") == 1


def test_eos_stands_behind_the_template(models_folder: Path) -> None:
    text = models_folder / "bert.txt"
    text.write_bytes(b"low lower newest\n" * 5)
    model = models_folder / "bert.json"
    made_ = tokctl("train", "-q", "--preset", "bert", "--vocab", "40", "-o", model, text)
    assert made_.code == 0
    tokenizer = Tokenizer.load(model)
    special = tokenizer.special_ids
    shown = tokctl(
        "encode", "-m", model, "--add-special", "--eos", "[PAD]", "--as", "bin", "--lines",
        stdin=b"low\n\n",
    )  # fmt: skip
    ids = np.frombuffer(shown.out, "<u2").tolist()
    inside = tokenizer.encode_ids("low")
    around = [special["[CLS]"], special["[SEP]"], special["[PAD]"]]
    assert ids == [around[0], *inside, *around[1:], *around]


def test_records_are_lines_and_texts_without_an_end_stay_apart(
    models: Models,
    monkeypatch: pytest.MonkeyPatch,
    encode,  # type: ignore[no-untyped-def]
) -> None:
    from tokctl import sources

    texts = [b"low\nlow", b"", b"newest"]
    tokenizer = models["bytes"]
    opened = [made.document(b"low"), made.records(texts), made.document(b"low\n")]
    monkeypatch.setattr(sources, "open_sources", lambda *_, **__: opened)
    expected = made.ids_of(tokenizer, [b"low", *texts, b"low"])
    for form in ("ids", "jsonl"):
        for more in ((), ("--threads", "2"), ("--whole",)):
            shown = encode("--as", form, *more).out
            lines = shown.splitlines()
            if form == "ids":
                found = [[int(id_) for id_ in line.split()] for line in lines]
            else:
                found = [orjson.loads(line)["ids"] for line in lines]
            if more == ("--whole",):
                expected_ = [*expected[:-1], tokenizer.encode_ids("low\n")]
                assert found == expected_
            else:
                assert (found, shown[-1:]) == (expected, b"\n")
    tokens = encode("--as", "tokens", "--eos", END).out.decode().splitlines()
    assert [line.split(" ")[-1] for line in tokens] == [END] * 5
    longest = encode("--as", "ids", "--pad", "longest", "--pad-token", END).out
    assert len({len(line.split()) for line in longest.splitlines()}) == 1


@pytest.mark.parametrize("more", [(), ("--add-special",)])
@pytest.mark.parametrize("form", ["ids", "bin", "jsonl"])
def test_what_has_no_id_is_named(
    monkeypatch: pytest.MonkeyPatch,
    encode,
    form: str,
    more: tuple[str, ...],  # type: ignore[no-untyped-def]
) -> None:
    from tokctl import sources

    opened = [made.records([b"low", b"low\nlow", "low\n☃".encode()], name="a.parquet", batch=2)]
    monkeypatch.setattr(sources, "open_sources", lambda *_, **__: opened)
    done = encode("-q", "--as", form, *more, model="no-unknown")
    assert (done.code, "a.parquet: row 3: '☃' is not in" in done.err) == (2, True)
    opened[:] = [made.records([b"low", b"a\xff"], name="a.jsonl", unit="line")]
    done = encode("-q", "--as", form, *more, model="wordpiece")
    assert done.err.startswith("error: a.jsonl: line 2: line 1, byte 1 is not UTF-8")
    replaced = encode("-q", "--as", form, *more, "--errors", "replace", model="wordpiece")
    opened[:] = [made.records([b"low", "a\ufffd".encode()])]
    assert replaced == encode("-q", "--as", form, *more, model="wordpiece")


def test_index(models: Models, encode) -> None:  # type: ignore[no-untyped-def]
    lines = made.ids_of(models["bytes"], made.lines_of(TEXT))
    for form in ("bin", "npy"):
        done = encode("--as", form, "--lines", "-o", "ids", "--index", "index.npy")
        assert (done.code, done.err) == (0, "")
        assert documents(form, Path("ids"), Path("index.npy")) == lines
    shown = encode("--as", "bin", "--index", "other.npy")
    assert np.load("other.npy").tolist() == [0, len(shown.out) // 2]


def test_rows_made_one_by_one_are_documents(models: Models, encode) -> None:  # type: ignore[no-untyped-def]
    """Windows come as documents of their own."""
    whole = made.ids_of(models["bytes"], [TEXT])[0]
    for form in idfiles.BINARY_FORMS:
        index = ("--index", "index.npy") if form in ("bin", "npy") else ()
        arguments = ("--as", form, "--max-length", "3", "--stride", "0", "-o", "ids")
        assert encode(*arguments, *index).code == 0
        found = documents(form, Path("ids"), Path("index.npy") if index else None)
        assert ([id_ for row in found for id_ in row], {len(row) for row in found[:-1]}) == (
            whole,
            {3},
        )


def test_progress_is_told_in_bytes(models: Models) -> None:
    told: list[tuple[str, int, int | None]] = []

    def progress(phase: str, done: int, total: int | None) -> None:
        told.append((phase, done, total))

    sources = made.mixed(made.TEXTS)[:-1]
    size = sum(source.size or 0 for source in sources)
    idfiles.write(models["bytes"], sources, "ids.bin", progress=progress)
    assert {phase for phase, _, _ in told} == {"encode"}
    assert {total for _, _, total in told} == {size}
    done = [done for _, done, _ in told]
    assert (done, done[-1]) == (sorted(done), size)
    told.clear()
    idfiles.write(models["bytes"], [made.archive([])], "ids.bin", progress=progress)
    assert told == [("encode", 0, None)]


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (("--eos", "</s>"), "--eos: '</s>' is not a token of this model",
         "its special tokens are: <|end|>"),
        (("--eos", END, "--pad", "3", "--pad-token", END),
         "--eos can't be used with --pad: the end is not that of the text",
         "leave one of them out"),
        (("--eos", END, "--max-length", "3"),
         "--eos can't be used with --max-length: the end is not that of the text",
         "leave one of them out"),
        (("--count", "--eos", END), "--eos can't be used with --count: it shows counts",
         "leave one of them out"),
        (("--lines", "--whole"),
         "--lines can't be used with --whole: one is the opposite of the other",
         "leave one of them out"),
        (("--dtype", "uint32"), "--dtype is for files of ids",
         "add --as, and one of: bin, npy, parquet, megatron, safetensors"),
        (("--as", "bin", "--dtype", "int8"), "invalid value 'int8' for --dtype",
         "choose one of: uint16, uint32, int32"),
        (("--as", "parquet", "--index", "i"), "--index is for bin and npy",
         "leave it out, or take --as npy"),
        (("--as", "npy", "--index", "i", "-o", "i"), "-o and --index name the same file",
         "give each its own name"),
        (("--as", "npy", "--index", ""), "--index is empty", "name a file"),
        (("--as", "npy", "--index", "no/i"), "can't write no/i: there is no folder no",
         "make it first: mkdir -p no"),
        (("--as", "megatron"), "--as megatron writes two files",
         "give their prefix: -o PREFIX"),
        (("--resume",), "--resume needs --shard-size",
         "add --shard-size N, or leave --resume out"),
        (("--shard-size", "5"), "--shard-size can't be used with --as ids",
         "take one of: bin, npy, parquet, megatron, safetensors, jsonl"),
        (("--as", "bin", "--shard-size", "5"), "--shard-size writes a folder", "add -o FOLDER"),
        (("--as", "bin", "--shard-size", "0", "-o", "f"), "invalid value '0' for --shard-size",
         "give a number of ids of at least 1, for example 100M"),
        (("--as", "bin", "--shard-size", "5", "--index", "i", "-o", "f"),
         "--index can't be used with --shard-size: shards have indexes of their own",
         "leave one of them out"),
        (("--as", "bin", "--shard-size", "5", "-o", "no/f"),
         "can't write no/f: there is no folder no", "make it first: mkdir -p no"),
    ],
)  # fmt: skip
def test_bad_usage(
    folder: Path,
    encode,
    arguments: tuple[str, ...],
    message: str,
    hint: str,  # type: ignore[no-untyped-def]
) -> None:
    assert encode(*arguments) == (2, b"", error(message, hint))
    assert names(folder) == []


def test_parquet_needs_pyarrow(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    encode,  # type: ignore[no-untyped-def]
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    done = encode("--as", "parquet", "-o", "ids.parquet")
    message, hint = "writing Parquet needs pyarrow", "pip install 'tokctl[parquet]'"
    assert done == (2, b"", error(message, hint))
    assert names(folder) == []
