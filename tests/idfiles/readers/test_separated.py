"""Documents that end with a token of their own."""

from __future__ import annotations

from array import array
from itertools import pairwise
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.errors import raises_code
from tests.idfiles.readers.files import MODEL
from tokctl import Tokenizer, preset
from tokctl.idfiles.chunks import IdPart
from tokctl.idfiles.reader import read_text, split_documents

WORDS = {"low": 5, "lower": 2}
ENDED = Tokenizer.train(WORDS, vocab_size=265, recipe=preset("gpt2"))
EOS = "<|endoftext|>"


def split(ids: list[int], last: int, ends: bool) -> list[list[int]]:
    """The slow twin's documents; what is behind the last `last` is one where it is not empty."""
    documents: list[list[int]] = [[]]
    for id_ in ids:
        if id_ == last:
            documents.append([])
        else:
            documents[-1].append(id_)
    if not documents[-1] and (len(documents) > 1 or not ends):
        documents.pop()
    return documents


@given(
    ids=st.lists(st.sampled_from([0, 1, 256, 257, 1 << 8 | 1 << 15, 7]), max_size=20),
    last=st.sampled_from([0, 1, 256, 257, 7]),
    code=st.sampled_from(["H", "I", "i", "Q", "q"]),
    cuts=st.lists(st.integers(0, 20), max_size=4),
    ends=st.booleans(),
)
def test_a_twin(ids: list[int], last: int, code: str, cuts: list[int], ends: bool) -> None:
    places = sorted({0, *(cut for cut in cuts if cut < len(ids)), len(ids)})
    parts = [
        IdPart(array(code, ids[a:b]), lambda at, a=a: str(a + at), ends and b == len(ids))
        for a, b in pairwise(places)
    ] or [IdPart(array(code), str, ends)]
    found: list[list[int]] = [[]]
    for part in split_documents(parts, last):
        for at, id_ in enumerate(part.ids):
            assert ids[int(part.locate(at))] == id_
        found[-1] += part.ids
        if part.ends:
            found.append([])
    assert not found[-1] or not ends
    if not found[-1]:
        found.pop()
    assert found == split(ids, last, ends)


def test_text_of_documents(tmp_path: Path) -> None:
    last = ENDED.special_ids[EOS]
    texts = [b"low\n", b"", b"lower low", b"\xff"]
    ids = [id_ for text in texts for id_ in (*ENDED.encode_ids(text), last)]
    np.save(tmp_path / "a.npy", np.array(ids, dtype="<u2"))

    def text(**how: object) -> bytes:
        return b"".join(read_text(ENDED, tmp_path / "a.npy", **how))

    assert text() == b"".join(text + EOS.encode() for text in texts)
    assert text(eos=EOS) == b"low\n\nlower low\n\xff\n"
    assert text(eos=EOS, separator=b"\0") == b"".join(text + b"\0" for text in texts)
    with raises_code("unknown-name", "'<x>' is not a token of this model"):
        text(eos="<x>")
    (tmp_path / "ids").write_bytes(b"1 2")
    with raises_code("conflict", "--eos is for forms of numbers, and this is ids"):
        b"".join(read_text(MODEL, tmp_path / "ids", eos=EOS))
