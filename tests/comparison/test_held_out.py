"""What is held out of texts: against the rule, written down once more."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.errors import raises_code
from tokctl.analysis.held_out import BLOCKS, split
from tokctl.analysis.texts import Text


def numbers(units: int, share: float, seed: int) -> list[int]:
    """The numbers of the units that are held out, by the rule."""
    digests = {hashlib.sha256(f"{seed}:{n}".encode()).hexdigest(): n for n in range(units)}
    return sorted(digests[digest] for digest in sorted(digests)[: int(share * units + 0.5)])


def blocks(units: list[bytes]) -> list[bytes]:
    """Consecutive units, put together to a hundred blocks at most."""
    count = min(len(units), BLOCKS)
    ends = [(number + 1) * len(units) // count for number in range(count)]
    return [b"".join(units[start:end]) for start, end in zip([0, *ends[:-1]], ends, strict=True)]


def paragraphs(text: bytes) -> list[bytes]:
    """Lines up to an empty one that is not followed by another."""
    found, part = [], b""
    lines = text.splitlines(keepends=True)
    for number, line in enumerate(lines):
        part += line
        rest = lines[number + 1 :]
        is_empty = not line.strip(b" \t\r\n") and line.endswith(b"\n") and part != line
        next_is_empty = rest and not rest[0].strip(b" \t\r\n") and rest[0].endswith(b"\n")
        if is_empty and not next_is_empty:
            found.append(part)
            part = b""
    return [*found, part] if part else found


lines = st.lists(st.sampled_from([b"a\n", b"bc d\n", b"\n", b" \n", b"\t\r\n"]), max_size=400)


@given(
    lines=lines, share=st.floats(0, 0.99), seed=st.integers(0, 9), end=st.sampled_from([b"", b"x"])
)
def test_a_document_is_split_by_blocks(
    lines: list[bytes], share: float, seed: int, end: bytes
) -> None:
    data = b"".join(lines) + end
    found = split(Text("t", data), share, seed=seed)
    for unit, units in (("paragraphs", paragraphs(data)), ("lines", data.splitlines(True))):
        made = blocks(units) if units else []
        held_out = numbers(len(made), share, seed)
        if 0 < len(held_out) < len(made):
            assert (found.unit, found.units, list(found.held_out)) == (unit, len(made), held_out)
            assert found.measured.data == b"".join(made[n] for n in held_out)
            rest = [n for n in range(len(made)) if n not in held_out]
            assert found.training.data == b"".join(made[n] for n in rest)
            runs = sum(1 for n in rest if n - 1 not in rest)
            assert found.training.documents == runs
            return
    assert (found.unit, found.held_out) == ("", ())
    assert found.training == found.measured == Text("t", data)


@given(
    documents=st.lists(st.binary(max_size=4), min_size=1, max_size=60),
    share=st.floats(0, 0.99),
    weighted=st.booleans(),
)
def test_documents_are_held_out_as_they_are(
    documents: list[bytes], share: float, weighted: bool
) -> None:
    ends = [sum(map(len, documents[: number + 1])) for number in range(len(documents))]
    counts = [1 + number % 3 for number in range(len(documents))] if weighted else None
    text = Text("t", b"".join(documents), ends, counts)
    found = split(text, share, seed=3)
    held_out = numbers(len(documents), share, 3)
    if not 0 < len(held_out) < len(documents):
        assert found.training == found.measured == text
        return
    assert (found.unit, found.units) == ("documents", len(documents))
    for part, chosen in ((found.measured, True), (found.training, False)):
        own = [n for n in range(len(documents)) if (n in held_out) == chosen]
        assert [part.document(n) for n in range(len(own))] == [documents[n] for n in own]
        assert list(part.counts or []) == ([counts[n] for n in own] if counts else [])


def test_texts_of_as_many_lines_lose_the_same() -> None:
    one = split(Text("a", b"a\n\n" * 150), lines=True)
    other = split(Text("b", b"longer line\n" * 300), lines=True)
    assert one.unit == "lines" and one.held_out == other.held_out
    assert len(one.held_out) == 10


@pytest.mark.parametrize("share", [-0.1, 1, 1.5, float("nan")])
def test_a_share_that_is_none(share: float) -> None:
    with raises_code("bad-value"):
        split(Text("t", b"a\n"), share)
