"""Many documents in one text: what is counted is the sum over the documents, each by itself."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.errors import raises_code
from tests.metrics.models import RECIPES, model
from tests.metrics.test_compare import TEXTS
from tokctl import _native
from tokctl.analysis.comparison.measuring import Measurement, agreements, intervals, measure_all
from tokctl.analysis.metrics import Counts, range_of
from tokctl.analysis.texts import Text
from tokctl.core.errors import CoreError

#: Documents that would become others if they were joined: letters of one word, a line end in two
#: halves, halves of a character, spaces, nothing at all.
PIECES = st.sampled_from(
    [
        b"",
        b"lo",
        b"w",
        b"\r",
        b"\n",
        b" ",
        b"new",
        b"est",
        b"\xc3",
        b"\xa9",
        b"(",
        b"low\nlow",
        b"\n\n",
    ]
)
DOCUMENTS = st.lists(PIECES | TEXTS, max_size=9)


def text_of(documents: Sequence[bytes], counts: Sequence[int] | None = None) -> Text:
    ends = array("Q")
    at = 0
    for document in documents:
        at += len(document)
        ends.append(at)
    return Text("many", b"".join(documents), ends, counts)


def _alone(name: str, documents: Sequence[bytes], rule: str) -> list[Measurement]:
    return [
        measure_all(model(name), one, 1, words=rule, boundaries=True, lines=True)
        for one in documents
    ]


@pytest.mark.few(2)
@pytest.mark.parametrize("name", RECIPES)
@given(documents=DOCUMENTS, rule=st.sampled_from(["spaces", "unicode"]), chunk=st.integers(1, 20))
def test_a_document_is_measured_by_itself(
    name: str, documents: list[bytes], rule: str, chunk: int
) -> None:
    tokenizer = model(name)
    alone = _alone(name, documents, rule)
    expected = Counts.total([one.counts for one in alone])
    for threads in (1, 2):
        # A chunk of few bytes takes documents together, and others alone.
        text = text_of(documents)
        found = _native.Measured.of(
            tokenizer.encoder,
            tokenizer.decoder,
            text.data,
            tokenizer.special_matcher("none"),
            _native.NO_ID if tokenizer.unk_id is None else tokenizer.unk_id,
            words=rule,
            threads=threads,
            boundaries=True,
            lines=True,
            ends=text.ends,
            chunk=chunk,
        )
        counts = Counts.of(found.counts, found.id_counts, rule)
        assert counts == (expected if documents else Counts.of([0] * 10, {}, rule))
        assert list(found.id_counts) == sorted(found.id_counts)
        assert found.lines == [line for one in alone for line in one.native.lines]
        own = sum(one.native.shared_boundaries(one.native) for one in alone)
        assert found.shared_boundaries(found) == own


@given(documents=st.lists(TEXTS | PIECES, min_size=1, max_size=9))
def test_boundaries_are_those_of_the_documents(documents: list[bytes]) -> None:
    names = ["bpe", "qwen", "llama3"]
    alone = [_alone(name, documents, "spaces") for name in names]
    many = [[measure_all(model(name), text_of(documents), 2, boundaries=True)] for name in names]
    assert agreements(many) == agreements(alone)


@pytest.mark.few(2)
@given(
    documents=st.lists(st.tuples(TEXTS | PIECES, st.integers(1, 4)), min_size=1, max_size=9).filter(
        lambda pairs: any(count > 1 for _, count in pairs)
    ),
)
@pytest.mark.parametrize("name", ["bpe", "qwen", "wordpiece", "end"])
def test_a_count_is_so_many_documents(name: str, documents: list[tuple[bytes, int]]) -> None:
    texts, counts = [text for text, _ in documents], [count for _, count in documents]
    repeated = [text for text, count in documents for _ in range(count)]
    weighted = measure_all(model(name), text_of(texts, counts), 2, boundaries=True, lines=True)
    plain = measure_all(model(name), text_of(repeated), 1, boundaries=True, lines=True)
    assert weighted.counts == plain.counts
    own, theirs = weighted.native, plain.native
    assert own.shared_boundaries(own) == theirs.shared_boundaries(theirs)
    ranges = {name: range_of(model(name).model)}
    assert intervals({name: [weighted]}, ranges, name, 1) == intervals(
        {name: [plain]}, ranges, name, 1
    )


@pytest.mark.slow
def test_many_groups_of_documents() -> None:
    """More than threads take at a time, and among them a document that they share out."""
    pieces = [b"low lower", b"newest\n", b"", b"wide", b"\n", "é (low".encode()]
    documents = [pieces[n * n % 6] for n in range(60_000)]
    documents[30_000] = b"lower newest widest\n" * 50_000
    for name in ("bpe", "wordpiece"):
        one, two = (
            measure_all(model(name), text_of(documents), threads, boundaries=True, lines=True)
            for threads in (1, 2)
        )
        assert one.counts == two.counts
        assert one.native.lines == two.native.lines
        assert one.native.shared_boundaries(two.native) == one.native.shared_boundaries(one.native)
        alone = {piece: measure_all(model(name), piece, 1).counts for piece in set(documents)}
        assert one.counts == Counts.total(alone[piece] for piece in documents)


def test_what_is_no_list_of_documents() -> None:
    bpe = model("bpe")

    def measured(ends: list[int], weights: list[int] | None = None) -> _native.Measured:
        how: dict[str, Any] = {"words": "spaces", "threads": 1, "boundaries": False}
        return _native.Measured.of(
            bpe.encoder,
            bpe.decoder,
            b"abc",
            None,
            None,
            lines=False,
            **how,
            ends=ends,
            weights=weights,
        )

    for ends in ([], [2], [2, 1, 3], [4], [3, 2]):
        with pytest.raises(CoreError, match="the documents are not the text"):
            measured(ends)
    with pytest.raises(CoreError, match="not a weight for each document"):
        measured([1, 3], [1])
    with pytest.raises(CoreError, match="documents that are too large, with their counts"):
        measured([1, 3], [1, 2**60])
    assert measured([1, 3], [1, 2**40]).counts[0] == 1 + 2 * 2**40


def test_lines_that_are_too_many_to_draw() -> None:
    text = text_of([b"a\nb\n", b"", b"c"], [5_000_000, 2**50, 1])
    measured = [measure_all(model("bpe"), text, 1, lines=True)]
    assert measured[0].counts.lines == 10_000_001
    with raises_code("too-large", "more than 10,000,000 lines"):
        intervals({"bpe": measured}, {"bpe": range_of(model("bpe").model)}, "bpe", 1)
