"""Text that comes in blocks, on any number of threads: `encode` writes what the library gives."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.cli.run import error, tokctl
from tokctl import Tokenizer, sources
from tokctl.cli.encode_output import decimal, packed
from tokctl.core.values import available_threads
from tokctl.tokenizer import documents

Models = dict[str, Path]

NAMES = ("bytes", "regex", "characters", "wordpiece", "no-unknown")
FORMS = ("ids", "bin", "tokens", "jsonl")

TEXTS = {
    "empty": b"",
    "one line": b"low lower newest",
    "line feeds": b"\n\n\nlow\n\n",
    "CR LF": b"low lower\r\n\r\nnewest widest\r\nlow\r",
    "no line feed": b" ".join([b"low lower newest widest"] * 40),
    "letters": b"low" * 300,
    "blanks": b" \t  low   \n   \n low  lower \n",
    "café": "a naïve café in 東京 🙂\n".encode() * 9 + "東京".encode() * 40,
    "special": b"low<|end|>low\n<|end|>\n<|en\nd|>" + b"low <|end|> lower " * 20,
}


@pytest.fixture(params=[1, 7, 64])
def block_size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Text comes in blocks of so many bytes."""
    size: int = request.param
    read = sources.read_blocks
    monkeypatch.setattr("tokctl.sources.blocks.read_blocks", lambda stream, _: read(stream, size))
    return size


def is_of(name: str, text: bytes) -> bool:
    """Has every character of the text an id?"""
    return name != "no-unknown" or not set(text.decode()) & set("<|>\r\t東京🙂")


CASES = [
    *((name, kind, "none") for name in NAMES for kind in TEXTS if is_of(name, TEXTS[kind])),
    *(("bytes", kind, "<|end|>") for kind in TEXTS),
]


@pytest.mark.few(3)
@pytest.mark.usefixtures("block_size")
@pytest.mark.parametrize(("name", "kind", "special"), CASES)
def test_blocks_leave_no_trace(models: Models, name: str, kind: str, special: str) -> None:
    text = TEXTS[kind]
    Path("a.txt").write_bytes(text)
    tokenizer = Tokenizer.load(models[name])
    whole = tokenizer.encode_ids(text, special=special)
    lines = [tokenizer.encode_ids(line, special=special) for line in text.split(b"\n")]
    command = ("encode", "-m", models[name], "--special", special)
    for threads in ("1", "5"):
        shared = (*command, "--threads", threads)
        assert tokctl(*shared, "a.txt").out == b"\n".join(map(decimal, lines))
        assert tokctl(*shared, stdin=text).out == b"\n".join(map(decimal, lines))
        assert tokctl(*shared, "--whole", "a.txt").out == decimal(whole) + b"\n"
        assert tokctl(*shared, "--as", "bin", "a.txt").out == packed(whole, 2)
        count = tokctl(*shared, "--count", "--lines", "a.txt").out
        assert count == b"%d %d a.txt\n" % (sum(map(len, lines)), len(text))
        for same in ((), ("--whole",)):
            count = tokctl(*shared, "--count", *same, "a.txt").out
            assert count == b"%d %d a.txt\n" % (len(whole), len(text))


@pytest.mark.usefixtures("block_size")
def test_bytes_that_are_not_utf8(models: Models) -> None:
    text = b"low \xff\xfe\nlower \xe6\x9d\n\x80" * 20
    Path("a.txt").write_bytes(text)
    tokenizer = Tokenizer.load(models["bytes"])
    whole = packed(tokenizer.encode_ids(text), 2)
    assert tokctl("encode", "-m", models["bytes"], "--as", "bin", "a.txt").out == whole
    message = "a.txt: line 1, byte 4 is not UTF-8, and this model reads characters"
    hint = "use --errors replace to put U+FFFD in its place, or a byte-level model"
    for form in ("ids", "bin"):
        done = tokctl("encode", "-m", models["wordpiece"], "--as", form, "a.txt")
        assert (done.code, done.err) == (2, error(message, hint))
        replaced = tokctl(
            "encode", "-m", models["wordpiece"], "--as", form, "--errors", "replace", "a.txt"
        )
        given = text.decode(errors="replace").encode()
        assert replaced.out == tokctl("encode", "-m", models["wordpiece"], "--as", form,
                                      stdin=given).out  # fmt: skip


@pytest.mark.usefixtures("block_size")
@pytest.mark.parametrize("threads", ["1", "2", "5"])
@pytest.mark.parametrize("form", [(), ("--whole",), ("--as", "bin"), ("--count",)])
def test_the_line_without_an_id_is_named(
    models: Models, form: tuple[str, ...], threads: str
) -> None:
    text = b"low\n" * 30 + "low ж low\nж\n".encode()
    done = tokctl("encode", "-m", models["no-unknown"], *form, "--threads", threads, stdin=text)
    assert done.code == 2
    assert done.err.startswith("error: ")
    assert "stdin: line 31: 'ж'" in done.err


@pytest.mark.few(2)
@pytest.mark.parametrize("name", ["bytes", "characters", "wordpiece", "regex"])
def test_threads_share_out_what_one_thread_gives(models: Models, name: str) -> None:
    """Text that is large enough to be shared out."""
    draw = random.Random(1)
    words = ["low", "lower", "newest", "widest", "longer", "a", "sea-chest", "café", "東京", "🙂"]
    text = "".join(
        draw.choice(words) + draw.choice([" ", " ", " ", "  ", "\n", "\r\n"]) for _ in range(90_000)
    ).encode()
    Path("a.txt").write_bytes(text)
    Path("b.txt").write_bytes(text[:100_000])
    tokenizer = Tokenizer.load(models[name])
    whole = tokenizer.encode_ids(text)
    for form in ((), ("--whole",), ("--as", "bin"), ("--count",)):
        shown = [
            tokctl("encode", "-m", models[name], *form, "--threads", threads, "a.txt", "b.txt")
            for threads in ("1", "2", "5")
        ]
        assert shown[0] == shown[1] == shown[2]
        if form == ("--as", "bin"):
            assert shown[0].out.startswith(packed(whole, 2))
        if form == ("--whole",):
            assert shown[0].out.startswith(decimal(whole) + b"\n")
        if not form:
            lines = text.split(b"\n")
            given = b"\n".join(decimal(tokenizer.encode_ids(line)) for line in lines)
            assert shown[0].out.startswith(given)


def test_parts_of_a_block(models: Models, monkeypatch: pytest.MonkeyPatch) -> None:
    """One thread takes a block part by part."""
    text = b"low lower\nnewest\n\nwidest widest longer" * 5
    for form in ("ids", "bin"):
        command = ("encode", "-m", models["bytes"], "--as", form, "--threads", "1")
        given = tokctl(*command, stdin=text)
        for part in (1, 3, 10):
            monkeypatch.setattr(documents, "FEED_SIZE", part)
            assert tokctl(*command, stdin=text) == given


@pytest.mark.parametrize("form", [*FORMS, "count"])
def test_verbose_says_what_was_done(models: Models, form: str) -> None:
    wanted = ("--count",) if form == "count" else ("--as", form)
    text = b"low lower\nnewest\n"
    done = tokctl("encode", "-m", models["bytes"], *wanted, "--verbose", stdin=text)
    plainly = tokctl("encode", "-m", models["bytes"], *wanted, stdin=text)
    assert (done.code, done.out, plainly.err) == (0, plainly.out, "")
    ids = Tokenizer.load(models["bytes"]).encode_ids
    lines = [text] if form in ("bin", "count") else text.split(b"\n")
    count = sum(len(ids(line)) for line in lines)
    assert done.err.startswith(f"{count:,} tokens of 17 bytes in ")
    assert f" MB/s; threads: {available_threads()}; cache: " in done.err
    assert done.err.count("\n") == 1
    assert (
        tokctl("encode", "-m", models["bytes"], *wanted, "-q", "--verbose", stdin=text) == plainly
    )


def test_records_come_some_at_a_time_where_python_makes_the_rows() -> None:
    """A batch of megabytes would become rows of hundreds of megabytes."""
    texts = [b"low " * (number % 700) for number in range(600)] + [b""]
    long = b"x" * 200_000
    given = [sources.Batch(texts, None, 3), sources.Batch([], None, 900), sources.Batch([long])]
    source = sources.Records("a", None, lambda: iter(given), lambda: 0)
    tokenizer = Tokenizer.train({"low": 1}, vocab_size=260)
    found = list(documents.DocumentEncoder(tokenizer).texts(source))
    assert [text for batch in found for text in batch.texts] == [*texts, long]
    assert all(sum(map(len, batch.texts[:-1])) < 1 << 16 for batch in found)
    first = 3
    for batch in found[:-1]:
        assert batch.first == first
        first += len(batch.texts)
    assert (found[-1].first, len(found)) == (1, 2 + sum(map(len, texts)) // (1 << 16))
