"""The metadata of GGUF files: what the package `gguf` reads of it, and any damage an error."""

from __future__ import annotations

import os
import struct
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import systems
from tests.cost import cost
from tokctl import TokctlError, formats
from tokctl.formats.contract import ModelInput
from tokctl.formats.gguf import metadata

gguf = pytest.importorskip("gguf")

from tests.formats import gguf_files  # noqa: E402

VALUES: dict[str, Any] = {
    **gguf_files.tiny("t5"),
    "general.name": "Ümläut ▁",
    "pre": "",
    "add_bos_token": False,
    "remove_extra_whitespaces": True,
    "bos_token_id": 2**32 - 1,
    "tokenizer.chat_template": "{{ x }}" * 99,
    "other.texts": ["", "x" * 70_000, "y"],
    "other.numbers": [-1, 2**31 - 1],
}


def keys(data: bytes, wanted: frozenset[str]) -> dict[str, Any]:
    return metadata.read(ModelInput("x", data=data), wanted)


@pytest.mark.parametrize("big", [False, True])
def test_the_same_values(tmp_path: Path, big: bool) -> None:
    """All that GGUFReader reads, tensors behind it or not."""
    data = gguf_files.written(VALUES, tensor=True, big=big)
    path = tmp_path / "x.gguf"
    path.write_bytes(data)
    fields = gguf.GGUFReader(path).fields
    theirs = {key: field.contents() for key, field in fields.items() if "GGUF." not in key}
    del theirs["other.texts"]  # one of them is longer than a token may be
    found = keys(data, frozenset(theirs))
    ours = {k: v if isinstance(v, str | int | float) else list(v) for k, v in found.items()}
    assert ours == theirs
    assert len(ours) > 12


def test_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever a read ends, the values are the same."""
    data = gguf_files.written(VALUES)
    wanted = frozenset({"tokenizer.ggml.tokens", "tokenizer.chat_template", "general.name"})
    whole = keys(data, wanted)
    for block in (1, 2, 7, 8, 9, 64, 1000):
        monkeypatch.setattr(metadata, "_BLOCK", block)
        assert keys(data, wanted) == whole


def test_tensors_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "x.gguf"
    path.write_bytes(gguf_files.written(gguf_files.tiny("llama"), tensor=True))
    with path.open("r+b") as file:
        file.truncate(1 << 40)  # a sparse file: a terabyte of tensors
    assert len(formats.load(path).tokens) == len(gguf_files.tiny("llama")["tokens"])
    assert cost(lambda: formats.load(path), 100) <= 100


def text(content: bytes) -> bytes:
    return struct.pack("<Q", len(content)) + content


def file(pairs: int, *rest: bytes) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", 3, 0, pairs) + b"".join(rest)


TOKENS = text(b"tokenizer.ggml.tokens")
NAME = text(b"general.name")
DEEP = b"".join(struct.pack("<IQ", 9, 1) for _ in range(5000))
HOSTILE = {
    "no end": b"GGUF",
    "another version": b"GGUF" + struct.pack("<IQQ", 1, 0, 0),
    "many pairs": file(2**60),
    "as many pairs as fit": file(2**14, *[text(b"") + struct.pack("<IB", 0, 1)] * 2**14),
    "a long list of numbers": file(1, NAME, struct.pack("<IIQ", 9, 4, 2**60)),
    "a long list that is kept": file(
        1, text(b"tokenizer.ggml.scores"), struct.pack("<IIQ", 9, 6, 2**60)
    ),
    "a long list of texts": file(1, TOKENS, struct.pack("<IIQ", 9, 8, 2**60), bytes(99)),
    "a long text": file(1, NAME, struct.pack("<IQ", 8, 2**62), b"x"),
    "a long key": file(1, struct.pack("<Q", 2**62), b"x"),
    "lists in lists": file(1, TOKENS, struct.pack("<I", 9), DEEP),
    "lists in lists that are passed over": file(1, text(b"x"), struct.pack("<I", 9), DEEP),
    "an unknown type": file(1, NAME, struct.pack("<IQ", 77, 0)),
    "a key twice": file(2, *[NAME, struct.pack("<IB", 0, 1)] * 2),
    "a long text in a list": file(1, TOKENS, struct.pack("<IIQQ", 9, 8, 1, 2**62)),
    "a text that ends behind the file": file(
        1, text(b"x"), struct.pack("<IIQQ", 9, 8, 3, 9), b"123456789" + struct.pack("<Q", 2**40)
    ),
    "not UTF-8": file(1, TOKENS, struct.pack("<IIQ", 9, 8, 2), text(b"a"), text(b"\xff")),
    "no vocabulary": file(1, NAME, struct.pack("<I", 8), text(b"x")),
    "empty tokens": file(
        2, text(b"tokenizer.ggml.model"), struct.pack("<I", 8), text(b"llama"), TOKENS,
        struct.pack("<IIQ", 9, 8, 2**19), bytes(8 * 2**19),
    ),
    "a million tokens": file(
        2, text(b"tokenizer.ggml.model"), struct.pack("<I", 8), text(b"llama"), TOKENS,
        struct.pack("<IIQ", 9, 8, 2**20), bytes(8 * 2**20),
    ),
    "more tokens than any has": file(
        1, TOKENS, struct.pack("<IIQ", 9, 8, 2**23), bytes(8 * 2**23)
    ),
    "long tokens": file(
        1, TOKENS, struct.pack("<IIQ", 9, 8, 2**14), *[text(b"x" * 4000)] * 2**14
    ),
}  # fmt: skip


@pytest.mark.few(4)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files(name: str, tmp_path: Path) -> None:
    """Each is an error that names the file, soon, and without much memory."""
    path = tmp_path / "x.gguf"
    path.write_bytes(HOSTILE[name])

    def refused() -> None:
        with pytest.raises(TokctlError, match=r"x\.gguf"):
            formats.load(path)

    assert cost(refused, 150) <= 150


@systems.linux
@pytest.mark.parametrize("name", ["empty tokens", "more tokens than any has", "long tokens"])
def test_memory(name: str, tmp_path: Path) -> None:
    import resource

    path = tmp_path / "x.gguf"
    path.write_bytes(HOSTILE[name])
    child = os.fork()
    if not child:
        # Nothing may leave this process but by `_exit`.
        code = 1
        try:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            try:
                formats.load(path)
            except TokctlError:
                after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
                code = 0 if after - before < 200 << 10 else 3
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_counts_allocate_nothing() -> None:
    data = HOSTILE["a long list that is kept"]
    formats.FORMATS  # noqa: B018 (what is imported once is not counted)
    with pytest.raises(TokctlError):
        formats.parse(data, "x")
    tracemalloc.start()
    with pytest.raises(TokctlError):
        formats.parse(data, "x")
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


KINDS = ("llama", "bert", "gpt2", "t5")
SMALL = {kind: gguf_files.written(gguf_files.tiny(kind)) for kind in KINDS}


def tried(data: bytes) -> None:
    try:
        model = formats.parse(data, "x")
    except TokctlError as error:
        assert "x" in error.message
    else:
        assert formats.parse(formats.serialize(model), "y") == model


@given(st.data(), st.sampled_from(sorted(SMALL)))
def test_cut_off(data: st.DataObject, kind: str) -> None:
    tried(SMALL[kind][: data.draw(st.integers(0, len(SMALL[kind])))])


@given(st.data(), st.sampled_from(sorted(SMALL)))
def test_wrong_bytes(data: st.DataObject, kind: str) -> None:
    content = bytearray(SMALL[kind])
    for _ in range(data.draw(st.integers(1, 5))):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place] = data.draw(st.sampled_from([0, 1, 0xFF, *range(256)]))
    tried(bytes(content))


@given(st.data(), st.sampled_from(sorted(SMALL)))
def test_slices_twice(data: st.DataObject, kind: str) -> None:
    content = SMALL[kind]
    start = data.draw(st.integers(0, len(content)))
    end = data.draw(st.integers(start, min(start + 99, len(content))))
    place = data.draw(st.integers(0, len(content)))
    tried(content[:place] + content[start:end] + content[place:])


ODD: list[Any] = ["", "x", True, 0, 2**32 - 1, ["a"], [1, 2], [0.5, float("nan")], ["a", "a"]]


@given(st.data(), st.sampled_from(sorted(SMALL)))
def test_wrong_values(data: st.DataObject, kind: str) -> None:
    values = gguf_files.tiny(kind)
    key = data.draw(st.sampled_from(sorted([*values, "merges", "precompiled_charsmap", "pre"])))
    tried(gguf_files.written({**values, key: data.draw(st.sampled_from(ODD))}))
