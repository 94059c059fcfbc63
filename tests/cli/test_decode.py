"""What decode makes of what encode wrote, and of what it did not."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.run import error, tokctl
from tokctl import Tokenizer

Models = dict[str, Path]

TEXTS = [b"", b"\n", b"low", b"low\n", b"\r\n", b"a\r\nb\rc\n", b" \n  x", b"\x00\xff\xfe\n\n\x80"]


def round_trip(model: Path, text: bytes, form: str) -> bytes:
    # Any bytes are meant, and those of a form that is known by its first bytes, too.
    encoded = tokctl("encode", "-m", model, "--as", form, "--format", "raw", stdin=text)
    assert (encoded.code, encoded.err) == (0, "")
    decoded = tokctl("decode", "-m", model, "--from", form, stdin=encoded.out)
    assert (decoded.code, decoded.err) == (0, "")
    return decoded.out


@pytest.mark.parametrize("form", ["ids", "jsonl", "bin"])
@pytest.mark.parametrize("name", ["bytes", "regex"])
@pytest.mark.parametrize("text", TEXTS)
def test_round_trip(models: Models, text: bytes, name: str, form: str) -> None:
    assert round_trip(models[name], text, form) == text


@given(text=st.binary(max_size=300), form=st.sampled_from(["ids", "jsonl", "bin"]))
@pytest.mark.parametrize("name", ["bytes", "regex"])
def test_round_trip_of_anything(models: Models, name: str, text: bytes, form: str) -> None:
    assert round_trip(models[name], text, form) == text


def test_long_lines_and_many_blocks(models: Models) -> None:
    from tokctl.sources.blocks import whole_lines

    text = b"low lower\xff" * 300_000 + b"\n" + b"newest\n" * 100_000
    assert round_trip(models["bytes"], text, "ids") == text
    blocks = [text[at : at + 65_536] for at in range(0, len(text), 65_536)]
    cut = list(whole_lines(blocks))
    assert b"".join(cut) == text
    assert all(block.endswith(b"\n") for block in cut)


@given(st.lists(st.binary(max_size=6).map(lambda data: data.replace(b"a", b"\n")), max_size=9))
def test_whole_lines(blocks: list[bytes]) -> None:
    from tokctl.sources.blocks import whole_lines

    cut = list(whole_lines(blocks))
    assert b"".join(cut) == b"".join(blocks)
    assert all(block.endswith(b"\n") for block in cut[:-1])


def test_wordpiece_gives_words_back(models: Models) -> None:
    assert round_trip(models["wordpiece"], b"low  lower\nnewest", "ids") == b"low lower\nnewest"
    assert round_trip(models["wordpiece"], b"low  lower\nnewest", "bin") == b"low lower newest"


def test_skip_special(models: Models) -> None:
    arguments = ("decode", "-m", models["bytes"])
    assert tokctl(*arguments, stdin=b"0 0\n").out == b"<|end|><|end|>\n"
    assert tokctl(*arguments, "--skip-special", stdin=b"0 0\n").out == b"\n"


def test_several_files_one_behind_the_other(models: Models) -> None:
    tokctl("encode", "-m", models["bytes"], "-o", "a", stdin=b"low")
    tokctl("encode", "-m", models["bytes"], "-o", "b", stdin=b"er\n")
    assert tokctl("decode", "-m", models["bytes"], "a", "b", "a").out == b"lower\nlow"
    assert tokctl("decode", "-m", models["bytes"], "-o", "c", "a", "b") == (0, b"", "")
    assert Path("c").read_bytes() == b"lower\n"


KNOWN = "this model's ids are 0 to 279"
OBJECT = 'each line is an object with ids: {"ids": [1, 2]}'


@pytest.mark.parametrize(
    ("form", "data", "message", "hint"),
    [
        (
            "ids",
            b"1 2\n3 low\n",
            'line 2, column 3: "low" is not an id',
            f"{KNOWN}; from text to ids: tokctl encode",
        ),
        (
            "ids",
            b"1 -2\n",
            'line 1, column 3: "-2" is not an id',
            f"{KNOWN}; from text to ids: tokctl encode",
        ),
        ("ids", b"1\n" * 9 + b" 280", "line 10, column 2: id 280 is outside the vocabulary", KNOWN),
        ("jsonl", b'{"ids":[1]}\n[1]\n', 'line 2 has no list of "ids"', OBJECT),
        ("jsonl", b'{"ids":[1, 280]}', "line 1, number 2: 280 is not an id of this model", KNOWN),
        ("jsonl", b'{"ids":[true]}', "line 1, number 1: True is not an id", KNOWN),
        ("bin", b"\1\0\2\0\xff\xff", "byte 4: id 65535 is outside the vocabulary", KNOWN),
        (
            "bin",
            b"\1\0\2",
            "3 bytes are not a whole number of ids of 2 bytes each",
            "the file may be cut off, or written with another model: give the "
            "width of its ids with --dtype",
        ),
    ],
)
def test_bad_input_names_its_place(
    models: Models, form: str, data: bytes, message: str, hint: str
) -> None:
    Path("in").write_bytes(data)
    done = tokctl("decode", "-m", models["bytes"], "--from", form, "-o", "out", "in")
    assert done == (2, b"", error(f"in: {message}", hint))
    assert not Path("out").exists()


def test_no_json_is_an_error(models: Models) -> None:
    done = tokctl("decode", "-m", models["bytes"], "--json", stdin=b'{"ids":[1]}\nx\n')
    assert (done.code, done.out) == (2, b"")
    assert done.err.startswith("error: stdin: line 2 is not valid JSON: ")
    assert done.err.endswith(f"hint: {OBJECT}\n")


def test_json_is_from_jsonl(models: Models) -> None:
    given = b'{"tokens":[],"ids":[0]}\n'
    plain = tokctl("decode", "-m", models["bytes"], "--from", "jsonl", stdin=given)
    assert plain == (0, b"<|end|>\n", "")
    assert tokctl("decode", "-m", models["bytes"], "--json", stdin=given) == plain
    clash = tokctl("decode", "-m", models["bytes"], "--json", "--from", "bin", stdin=given)
    assert clash.err == error(
        "--json means --from jsonl, but --from is bin", "leave one of them out"
    )


@given(st.binary(max_size=200), st.sampled_from(["ids", "jsonl", "bin"]))
def test_rubbish_is_an_error_never_a_crash(models: Models, data: bytes, form: str) -> None:
    done = tokctl("decode", "-m", models["bytes"], "--from", form, stdin=data)
    assert done.code in (0, 2)
    assert "should not have happened" not in done.err
    assert done.code == 0 or done.err.startswith("error: stdin: ")


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_bin_blocks_may_end_inside_an_id(models: Models, size: int) -> None:
    tokenizer = Tokenizer.load(models["bytes"])
    ids = tokenizer.encode_ids(b"low lower\n")
    data = struct.pack(f"<{len(ids)}H", *ids)
    assert text_of_blocks(tokenizer, data, size) == b"low lower\n"


def text_of_blocks(tokenizer: Tokenizer, data: bytes, size: int) -> bytes:
    """What a file gives that comes in blocks of this size."""
    from tokctl.idfiles.dtypes import DTYPES
    from tokctl.idfiles.raw import read_numbers
    from tokctl.idfiles.reader import decode_parts
    from tokctl.sources.blocks import BlockStream

    blocks = [data[at : at + size] for at in range(0, len(data), size)]
    parts = read_numbers(BlockStream(iter(blocks)), "in", DTYPES["uint16"], 0)
    return b"".join(decode_parts(tokenizer, parts))
