"""Shards that many processes write: the folder is that of one machine, whatever becomes of them."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import part_of_examples
from tests.errors import raises_code
from tests.idfiles import made
from tests.idfiles.shared import NAMES, Stopped, Workers, files
from tokctl import TokctlError, Tokenizer, idfiles
from tokctl.cli.encode_output import RowEncoder, RowOptions, RowWriter, token_names
from tokctl.cli.options.encode import TextOptions
from tokctl.idfiles import dtype_for, pieces, shard_journal, shared_shards
from tokctl.idfiles.output import Target
from tokctl.idfiles.stream import ChunkStream, Encoder, NativeEncoder
from tokctl.idfiles.writer import write_stream
from tokctl.sources import open_sources, parts
from tokctl.tokenizer.documents import DocumentEncoder

Models = dict[str, Tokenizer]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups, frames and windows of a size that small texts have many of."""
    monkeypatch.setattr(shared_shards, "_IDS_PER_GROUP", 500)
    monkeypatch.setattr(pieces, "_FRAME", 200)
    monkeypatch.setattr(parts, "_WINDOW", 16)


def write(tokenizer: Tokenizer, sources: Any, workers: Workers | None, **more: Any) -> Any:
    """What is in a fresh folder of the shards of one machine, or of the workers."""
    name = "one" if workers is None else "many"
    if not more.get("resume"):
        shutil.rmtree(name, ignore_errors=True)
    done = idfiles.write(tokenizer, sources, name, engine=workers, **more)
    assert done.manifest is not None
    return made.contents(Path(name))


def expect_error(tokenizer: Tokenizer, sources: Any, workers: Workers | None, **more: Any) -> str:
    with pytest.raises(TokctlError) as raised:
        write(tokenizer, sources, workers, **more)
    return raised.value.message


@part_of_examples(6)
@given(
    name=st.sampled_from(["bytes", "characters", "wordpiece", "unigram"]),
    form=st.sampled_from(idfiles.BINARY_FORMS),
    size=st.sampled_from([100, 777, 10**9]),
    part=st.sampled_from([100, 400, 10**9]),
    lines=st.booleans(),
    eos=st.booleans(),
    names=st.lists(st.sampled_from(NAMES), min_size=1, max_size=8),
    group=st.sampled_from([1, 500, 1 << 24]),
    seed=st.integers(0, 99),
)
def test_the_folder_is_that_of_one_machine(
    models: Models,
    name: str,
    form: str,
    size: int,
    part: int,
    lines: bool,
    eos: bool,
    names: list[str],
    group: int,
    seed: int,
) -> None:
    files()
    shared_shards._IDS_PER_GROUP = group
    end = "<|end|>" if eos and name == "bytes" else None
    given: dict[str, Any] = {"form": form, "shard_size": size, "lines": lines, "eos": end}
    workers = Workers(part, seed)
    found = write(models[name], names, workers, **given)
    assert found == write(models[name], names, None, **given)


@pytest.mark.parametrize("form", idfiles.BINARY_FORMS)
def test_shards_of_one_id_and_documents_without(models: Models, form: str) -> None:
    for texts in ([b""], [b"", b""], [b"", b"low", b"", b"newest", b""], []):
        for number, text in enumerate(texts):
            Path(f"{number}.txt").write_bytes(text)
        names = [f"{number}.txt" for number in range(len(texts))]
        given: dict[str, Any] = {"form": form, "shard_size": 1}
        workers = Workers(1)
        assert write(models["bytes"], names, workers, **given) == write(
            models["bytes"], names, None, **given
        )


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("form", "options", "more"),
    [
        ("jsonl", {}, {}),
        ("jsonl", {}, {"offsets": True}),
        ("npy", {"max_length": 8, "stride": 2}, {}),
        ("parquet", {"pad": "9", "pad_token": "<|end|>"}, {}),
    ],
)
@pytest.mark.parametrize("lines", [False, True])
def test_rows_of_the_command_line(
    models: Models, form: str, options: dict[str, Any], more: dict[str, Any], lines: bool
) -> None:
    files()
    tokenizer = models["bytes"]
    dtype = dtype_for(form, tokenizer.vocab_size)
    row_options = RowOptions.of(tokenizer, TextOptions(**options))
    for name, workers in (("one", None), ("many", Workers(200))):
        documents = DocumentEncoder(tokenizer, lines=lines)
        rows = RowWriter(documents, form, options=row_options, width=dtype.width, **more)
        encoder: Encoder = RowEncoder(rows)
        if rows.is_native:
            encoder = NativeEncoder(documents, 2, None, partial(token_names, tokenizer, form))
        target = Target(name, form, dtype, shard_size=400)
        write_stream(ChunkStream(open_sources(NAMES), encoder), target, workers)
    assert made.contents(Path("many")) == made.contents(Path("one"))


def test_text_that_is_no_utf8_is_replaced_as_on_one_machine(models: Models) -> None:
    text = b"low \xff lower\xe6\x9d newest \xf0\x9f low\xc3 widest\n" * 30
    Path("a.txt").write_bytes(text)
    given: dict[str, Any] = {"form": "bin", "shard_size": 50, "errors": "replace"}
    for part in (20, 33, 100):
        found = write(models["characters"], ["a.txt"], Workers(part), **given)
        assert found == write(models["characters"], ["a.txt"], None, **given)


@pytest.mark.parametrize(
    ("form", "step"),
    [("bin", 7), *(pytest.param(form, 1, marks=pytest.mark.slow) for form in idfiles.BINARY_FORMS)],
)
def test_a_run_that_stopped_anywhere_is_gone_on_with(models: Models, form: str, step: int) -> None:
    files()
    given: dict[str, Any] = {"form": form, "shard_size": 300, "lines": True}
    expected = write(models["bytes"], NAMES, None, **given)
    counting = Workers(600)
    assert write(models["bytes"], NAMES, counting, **given) == expected
    for stop in range(0, counting.done, step):
        with pytest.raises(Stopped):
            write(models["bytes"], NAMES, Workers(600, stop, stop), **given)
        again = Workers(10**9, stop)  # the size of the parts is that of the first run
        assert write(models["bytes"], NAMES, again, resume=True, **given) == expected
        assert again.done <= counting.done - stop
        assert idfiles.write(
            models["bytes"], NAMES, "many", engine=again, resume=True, **given
        ).was_there


def stopped_at(what: str, models: Models, given: dict[str, Any]) -> None:
    """Leaves the folder of a run that stopped when its journal had its first line of that kind."""
    add = shard_journal.Journal.add

    def added(record: Any, **line: Any) -> None:
        add(record, **line)
        if what in line:
            raise Stopped

    with pytest.MonkeyPatch.context() as patched, pytest.raises(Stopped):
        patched.setattr(shard_journal.Journal, "add", added)
        write(models["bytes"], NAMES, Workers(600), **given)


@pytest.mark.few(3)
@pytest.mark.parametrize("stop", ["plan", "group"])
@pytest.mark.parametrize("place", ["data", "table", "cut", "missing"])
def test_a_damaged_piece_is_named_and_made_again(models: Models, place: str, stop: str) -> None:
    files()
    given: dict[str, Any] = {"form": "bin", "shard_size": 300}
    expected = write(models["bytes"], NAMES, None, **given)
    stopped_at(stop, models, given)
    piece = max(Path("many/.pieces").iterdir(), key=lambda path: path.stat().st_size)
    data = bytearray(piece.read_bytes())
    data[3 if place == "data" else -5] ^= 1
    piece.write_bytes(data[:-1] if place == "cut" else data)
    if place == "missing":
        piece.unlink()
    if place in ("data", "table"):  # the others are seen before anything begins
        message = expect_error(models["bytes"], NAMES, Workers(600), resume=True, **given)
        assert message.startswith(f"{Path.cwd() / piece} is damaged: ")
        assert not piece.exists()
    again = Workers(600)
    assert write(models["bytes"], NAMES, again, resume=True, **given) == expected


@pytest.mark.parametrize("stop", ["piece", "plan", "group"])
def test_a_source_that_was_changed(models: Models, stop: str) -> None:
    files()
    given: dict[str, Any] = {"form": "bin", "shard_size": 300}
    stopped_at(stop, models, given)
    Path("a.txt").write_bytes(b"lower newest\n" * 99)
    if stop == "group":
        message = expect_error(models["bytes"], NAMES, Workers(600), resume=True, **given)
        assert message == "a.txt has 1287 bytes now; it had 972 when it was read"
        return
    # No shard is there yet: its pieces are forgotten.
    found = write(models["bytes"], NAMES, Workers(600), resume=True, **given)
    assert found == write(models["bytes"], NAMES, None, **given)


def test_a_source_that_is_changed_while_it_is_read(models: Models) -> None:
    files()
    given: dict[str, Any] = {"form": "bin", "shard_size": 300}

    class Meanwhile(Workers):
        def run(self, *given: Any) -> Any:
            for found in super().run(*given):
                with Path("a.txt").open("ab") as file:
                    file.write(b"low\n")
                yield found

    message = expect_error(models["bytes"], NAMES, Meanwhile(10**9), **given)
    assert message.startswith("a.txt has ")
    found = write(models["bytes"], NAMES, Workers(600), resume=True, **given)
    assert found == write(models["bytes"], NAMES, None, **given)


def test_what_was_begun_otherwise_is_refused(models: Models) -> None:
    files()
    given: dict[str, Any] = {"form": "bin", "shard_size": 300}
    with pytest.raises(Stopped):
        write(models["bytes"], NAMES, Workers(600, 0, 5), **given)
    message = expect_error(
        models["bytes"], NAMES, Workers(600), resume=True, form="bin", shard_size=9
    )
    assert message == "many was begun with shard_size 300, and now it is 9"
    with raises_code("conflict"):
        idfiles.write(models["bytes"], NAMES, "many", resume=True, form="bin", shard_size=300)
    with raises_code("output-taken"):
        idfiles.write(models["bytes"], NAMES, "many", form="bin", shard_size=300)


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("model", "name", "text", "more"),
    [
        ("bytes", "a.jsonl", b'{"text": "low"}\n' * 50 + b"{\n" + b'{"text": 3}\n' * 50, {}),
        ("bytes", "a.jsonl", b'{"text": "low"}\n' * 50 + b'\xef\xbb\xbf{"text": "low"}\n' * 9, {}),
        ("characters", "a.txt", b"low newest\n" * 50 + b"lo\xffw\n" + b"x\xff\n" * 50, {}),
        ("no-unknown", "a.txt", b"low newest\n" * 50 + b"lo%w\n" + b"lo$w\n" * 50, {}),
        ("no-unknown", "a.txt", b"low\n" * 50 + b"lo%w\n" + b"lo$w\n" * 50, {"lines": True}),
        ("no-unknown", "a.jsonl", b'{"text": "low"}\n' * 50 + b'{"text": "lo%w"}\n', {}),
    ],
)
def test_errors_are_those_of_one_machine(
    models: Models, model: str, name: str, text: bytes, more: dict[str, Any]
) -> None:
    Path(name).write_bytes(text)
    given: dict[str, Any] = {"form": "bin", "shard_size": 10, **more}
    expected = expect_error(models[model], [name], None, **given)
    assert "line 51" in expected
    for seed, part in enumerate((60, 60, 60, 16)):
        assert expect_error(models[model], [name], Workers(part, seed), **given) == expected
    # What was encoded before stays, and the text can be mended.
    Path(name).write_bytes(text[: text.index(b"\n") + 1] * 70)
    found = write(models[model], [name], Workers(60), resume=True, **given)
    assert found == write(models[model], [name], None, **given)


def test_workers_that_write_to_another_folder(
    models: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    files()
    monkeypatch.setattr(
        shared_shards, "write_piece", lambda *_: shard_journal.StoredPiece(9, 1, "", 1, 1)
    )
    message = expect_error(models["bytes"], ["x.txt"], Workers(600), form="bin", shard_size=300)
    assert message == f"{Path.cwd()}/many/.pieces/piece-00000-00000 was written, and is not here"
