"""Under-trained tokens by the embeddings of a language model, in files of safetensors."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save_file

from tests.conftest import part_of_examples
from tests.errors import raises_code
from tests.explain.health.sick import byte_level_model
from tests.twins import suite as twin
from tokctl import Tokenizer
from tokctl.analysis.health import embeddings as module
from tokctl.analysis.health.embeddings import EmbeddingFacts, embedding_facts
from tokctl.analysis.health.subject import CheckContext
from tokctl.analysis.metrics import Undefined
from tokctl.analysis.suite_metrics import UNDERTRAINED as DEFINITIONS
from tokctl.core.errors import TokctlError
from tokctl.extras.suite.undertrained import undertrained
from tokctl.idfiles import weights
from tokctl.idfiles.weights import Weights
from tokctl.model.parts import AddedToken

INPUT, OUTPUT = "model.embed_tokens.weight", "lm_head.weight"
#: Tokens of letters, long enough a list that 2% are several.
WORDS = [a + b for a in "abcdefghijklmnop" for b in "abcdefghijklmnop"]


def tokenizer() -> Tokenizer:
    return byte_level_model(WORDS, added=(AddedToken("<|end|>", 0), AddedToken("<reserved1>", 0)))


MODEL = tokenizer()
SIZE = MODEL.vocab_size
FIRST = 256  # of the words
#: The ids of the bytes that are in no UTF-8.
IN_NO_UTF8 = [MODEL.model.tokens.index(bytes([n])) for n in (0xC0, 0xC1, *range(0xF5, 0x100))]


def rows(seed: int, count: int, dimensions: int = 24, *, off: float = 0.0) -> Any:
    """Trained rows: normal, around a place that is the same for all."""
    numbers = numpy.random.default_rng(seed)
    return (numbers.normal(size=(count, dimensions)) + off).astype(numpy.float32)


def facts(
    folder: Path, tensors: Mapping[str, Any], tensor: str | None = None, **more: Any
) -> EmbeddingFacts:
    save_file(dict(tensors), folder / "model.safetensors")
    found = embedding_facts(
        CheckContext(MODEL, None, limit=None, rare=10), folder / "model.safetensors", tensor, **more
    )
    assert isinstance(found, EmbeddingFacts)
    return found


def error(folder: Path, tensors: Mapping[str, Any], tensor: str | None = None) -> TokctlError:
    with pytest.raises(TokctlError) as caught:
        facts(folder, tensors, tensor)
    assert caught.value.hint
    return caught.value


PLANTED = [FIRST + 7, FIRST + 100, FIRST + 255]


def test_the_norm_finds_planted_rows(tmp_path: Path) -> None:
    matrix = rows(1, SIZE + 5)
    matrix[PLANTED] *= 0.01
    matrix[0] = 0  # a single byte, which is not looked at
    found = facts(tmp_path, {INPUT: matrix, OUTPUT: rows(2, SIZE + 5)})
    assert (found.indicator, found.tensor, found.tied, found.reference) == ("norm", INPUT, False, 0)
    assert (found.dtype, found.rows, found.dimensions) == ("F32", SIZE + 5, 24)
    assert sorted(one.id for one in found.candidates[:3]) == PLANTED
    assert found.apart == 3
    assert {one.token for one in found.candidates[:3]} == {WORDS[n - FIRST] for n in PLANTED}
    # 256 words are looked at: the lowest 2% are 6 of them.
    assert found.of == 256 and len(found.candidates) == 6
    assert found.left_out["bytes"][0] == 256 and found.left_out["special"][0] == 2
    norms = twin.norms(matrix.tolist())
    assert [one.value for one in found.candidates] == pytest.approx(
        sorted(norms[FIRST : FIRST + 256])[:6]
    )
    assert found.left_out["bytes"][1] == sum(norm <= found.threshold for norm in norms[:FIRST]) > 0


def test_nothing_planted_leaves_candidates_and_none_apart(tmp_path: Path) -> None:
    found = facts(tmp_path, {INPUT: rows(1, SIZE), OUTPUT: rows(2, SIZE)})
    assert len(found.candidates) == 6
    assert found.apart == 0 and found.bound < found.threshold < found.median
    report = undertrained(MODEL, {}, embeddings=tmp_path / "model.safetensors")
    assert report.figures["candidates"] == pytest.approx(6 / 256)
    assert report.figures["apart"] == 0


@pytest.mark.parametrize("kind", module.INDICATORS[1:])
def test_the_cosine_finds_rows_like_those_of_unused_ids(tmp_path: Path, kind: str) -> None:
    matrix = rows(1, SIZE + 3, 64)
    unused = [*IN_NO_UTF8, SIZE - 1, SIZE, SIZE + 1, SIZE + 2]
    pushed = PLANTED + unused
    matrix[pushed] = rows(9, 1, 64)[0] + 0.1 * rows(3, len(pushed), 64)
    # A direction that all rows share, more or less: the first component.
    shared = 1 + rows(5, len(matrix), 1) / 2
    matrix += shared * rows(6, 1, 64)
    found = facts(tmp_path, {INPUT: matrix}, indicator=None if kind == "cosine" else kind)
    assert (found.indicator, found.tied) == (kind, True)
    # Bytes in no UTF-8, a token that calls itself reserved, padding.
    assert found.reference == 13 + 1 + 3
    assert sorted(one.id for one in found.candidates[:3]) == PLANTED
    # What all rows share makes them alike, and spreads the distances: it has to be taken off.
    assert found.apart == (0 if kind == "cosine-plain" else 3)
    assert found.candidates[2].value < found.candidates[3].value / 5
    expected = twin.distances(matrix.tolist(), unused, kind)
    values = {one.id: one.value for one in found.candidates}
    assert values == pytest.approx({id_: expected[id_] for id_ in values}, abs=1e-6)


def test_unused_rows_that_are_the_first_component(tmp_path: Path) -> None:
    """Taking off the component takes off what tells them; the mean does not."""
    matrix = rows(1, SIZE + 40, 64)
    pushed = [*PLANTED, *range(SIZE, SIZE + 40)]
    matrix[pushed] = 2 * rows(9, 1, 64)[0] + 0.1 * rows(3, len(pushed), 64)
    found = {
        kind: facts(tmp_path, {INPUT: matrix}, indicator=kind) for kind in module.INDICATORS[1:]
    }
    assert sorted(one.id for one in found["cosine"].candidates[:3]) == PLANTED
    assert found["cosine"].apart == 3
    assert found["cosine-without-component"].apart == 0


def test_which_matrix_and_which_indicator(tmp_path: Path) -> None:
    first, second = rows(1, SIZE), rows(2, SIZE)
    # One matrix twice is tied; an output alone, or by name, is measured by the cosine.
    assert facts(tmp_path, {INPUT: first, OUTPUT: first}).tied
    assert facts(tmp_path, {"wte.weight": first}).tensor == "wte.weight"
    alone = facts(tmp_path, {OUTPUT: first})
    assert (alone.tensor, alone.tied, alone.indicator) == (OUTPUT, True, "cosine")
    both = {INPUT: first, OUTPUT: second}
    named = facts(tmp_path, both, OUTPUT)
    assert (named.tensor, named.tied, named.indicator) == (OUTPUT, False, "cosine")
    assert facts(tmp_path, both, indicator="cosine").indicator == "cosine"
    assert facts(tmp_path, {INPUT: first}, indicator="norm").indicator == "norm"
    # A layer is no output, whatever it is called.
    layer = {INPUT: first, "model.blocks.0.ff_out.weight": second}
    assert facts(tmp_path, layer).tied
    other = facts(tmp_path, {"mine": first, OUTPUT: second}, "mine")
    assert (other.tensor, other.indicator) == ("mine", "norm")


@pytest.mark.parametrize("dtype", ["F64", "F32", "F16", "BF16"])
def test_every_type_is_read(tmp_path: Path, dtype: str) -> None:
    exact = rows(1, SIZE)
    exact[PLANTED] *= 0.01
    if dtype == "BF16":
        # NumPy has no such type: the upper halves, and the header by hand.
        halves = (exact.view(numpy.uint32) >> 16).astype(numpy.uint16)
        stored = (halves.astype(numpy.uint32) << 16).view(numpy.float32)
        header = {
            INPUT: {"dtype": "BF16", "shape": exact.shape, "data_offsets": [0, halves.nbytes]}
        }
        data = json.dumps(header).encode()
        path = tmp_path / "model.safetensors"
        path.write_bytes(len(data).to_bytes(8, "little") + data + halves.tobytes())
    else:
        stored = exact.astype({"F64": "f8", "F32": "f4", "F16": "f2"}[dtype])
        path = tmp_path / "model.safetensors"
        save_file({INPUT: stored}, path)
    subject = CheckContext(MODEL, None, limit=None, rare=10)
    found = embedding_facts(subject, path, indicator="norm")
    assert isinstance(found, EmbeddingFacts) and found.dtype == dtype and found.apart == 3
    norms = twin.norms(stored.astype(numpy.float64).tolist())
    assert {one.id: one.value for one in found.candidates} == pytest.approx(
        {one.id: norms[one.id] for one in found.candidates}
    )


def test_pieces_make_no_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = rows(4, SIZE)
    whole = {kind: facts(tmp_path, {INPUT: matrix}, indicator=kind) for kind in module.INDICATORS}
    monkeypatch.setattr(weights, "_BLOCK_SIZE", 7 * 24 * 4 + 1)
    for kind, expected in whole.items():
        found = facts(tmp_path, {INPUT: matrix}, indicator=kind)
        assert [one.id for one in found.candidates] == [one.id for one in expected.candidates]
        assert [one.value for one in found.candidates] == pytest.approx(
            [one.value for one in expected.candidates], abs=1e-9
        )


def test_several_files_and_their_index(tmp_path: Path) -> None:
    shards = [tmp_path / f"model-0000{n}-of-00002.safetensors" for n in (1, 2)]
    save_file({INPUT: rows(1, SIZE)}, shards[0])
    save_file({OUTPUT: rows(2, SIZE)}, shards[1])
    index = tmp_path / "model.safetensors.index.json"
    files = {INPUT: shards[0].name, OUTPUT: shards[1].name}
    index.write_text(json.dumps({"weight_map": files}))
    subject = CheckContext(MODEL, None, limit=None, rare=10)
    for path in (index, tmp_path):
        found = embedding_facts(subject, path)
        assert isinstance(found, EmbeddingFacts)
        assert (found.tensor, found.indicator) == (INPUT, "norm")
    with raises_code("bad-input"):
        embedding_facts(subject, shards[0])
    nul = r'{"weight_map": {"model.embed_tokens.weight": "a\u0000b"}}'
    for wrong in (
        nul,
        '{"weight_map": {"a": "../b"}}',
        '{"weight_map": [1]}',
        "[]",
        "{",
        '{"a": 1}',
    ):
        index.write_text(wrong)
        with pytest.raises(TokctlError) as caught:
            embedding_facts(subject, index)
        assert caught.value.hint
    index.write_text(json.dumps({"weight_map": {INPUT: shards[1].name}}))
    with pytest.raises(TokctlError, match=f"has no tensor '{INPUT}'"):
        embedding_facts(subject, index)


def test_what_is_no_embedding_matrix(tmp_path: Path) -> None:
    few = error(tmp_path, {INPUT: rows(1, SIZE - 1)})
    assert few.message.endswith(
        f"the tensor {INPUT!r} has {SIZE - 1} rows, and the model {SIZE} ids"
    )
    many = error(tmp_path, {INPUT: numpy.zeros((SIZE + (1 << 16) + 1, 1), numpy.float32)})
    assert "rows, and the model" in many.message
    none = error(tmp_path, {"x.0.weight": rows(1, 3), "norm": rows(1, 4)})
    assert "has no tensors with a usual name of embeddings" in none.message
    assert none.hint == "name one with --tensor: norm"
    missing = error(tmp_path, {INPUT: rows(1, SIZE)}, "lm_head")
    assert missing.message.endswith("has no tensor 'lm_head'")
    assert missing.hint == f"choose one of: {INPUT}"
    two = error(tmp_path, {"a.wte.weight": rows(1, SIZE), "b.wte.weight": rows(1, SIZE)})
    assert two.hint == "name one with --tensor: a.wte.weight, b.wte.weight"
    flat = error(tmp_path, {INPUT: rows(1, SIZE).reshape(-1)})
    assert f"is F32 of shape [{SIZE * 24}]" in flat.message
    whole = error(tmp_path, {INPUT: rows(1, SIZE).astype("i4")})
    assert "is I32 of shape" in whole.message
    damaged = rows(1, SIZE)
    damaged[5, 3] = numpy.nan
    assert "row 5 of the tensor" in error(tmp_path, {INPUT: damaged}).message
    huge = numpy.ones((SIZE, 24))
    huge[7, 1] = -1e300
    assert "row 7 of the tensor" in error(tmp_path, {INPUT: huge}).message
    empty = error(tmp_path, {INPUT: numpy.zeros((SIZE, 0), numpy.float32)})
    assert "has 0 numbers in each row" in empty.message
    with raises_code("bad-value", "invalid value 'l3' for the indicator"):
        facts(tmp_path, {INPUT: rows(1, SIZE)}, indicator="l3")


@given(
    cut=st.integers(0, 400),
    place=st.integers(0, 200),
    byte=st.integers(0, 255),
)
def test_a_damaged_file_is_an_error(
    tmp_path_factory: pytest.TempPathFactory, cut: int, place: int, byte: int
) -> None:
    folder = tmp_path_factory.getbasetemp()
    path = folder / "damaged.safetensors"
    save_file({INPUT: rows(1, SIZE, 1)}, path)
    data = bytearray(path.read_bytes())
    data[place] = byte
    path.write_bytes(bytes(data[: len(data) - cut]))
    try:
        found = embedding_facts(CheckContext(MODEL, None, limit=None, rare=10), path)
    except TokctlError as error:
        assert error.hint
    else:
        assert isinstance(found, (EmbeddingFacts, Undefined))


def test_files_that_are_none(tmp_path: Path) -> None:
    subject = CheckContext(MODEL, None, limit=None, rare=10)
    (tmp_path / "text.safetensors").write_text("no header fits in here: it is text")
    for path, message in (
        (tmp_path / "none.safetensors", "can't read"),
        (tmp_path, "has no model.safetensors"),
        (tmp_path / "none.json", "can't read"),
        (tmp_path / "text.safetensors", "is not a safetensors file"),
    ):
        with pytest.raises(TokctlError, match=message) as caught:
            embedding_facts(subject, path)
        assert caught.value.hint


def test_without_numpy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_file({INPUT: rows(1, SIZE)}, tmp_path / "model.safetensors")
    monkeypatch.setitem(sys.modules, "numpy", None)
    with raises_code("missing-package") as caught:
        embedding_facts(CheckContext(MODEL, None, limit=None, rare=10), tmp_path)
    assert caught.value.hint == "pip install 'tokctl[embeddings]'"


def test_no_id_is_known_to_be_unused(tmp_path: Path) -> None:
    from tests.explain.health.sick import merging

    plain = merging(["ab", "abc"])
    save_file({INPUT: rows(1, plain.vocab_size)}, tmp_path / "model.safetensors")
    subject = CheckContext(plain, None, limit=None, rare=10)
    found = embedding_facts(subject, tmp_path)
    assert isinstance(found, Undefined) and "known to be unused" in found.reason
    zeros = numpy.vstack([rows(1, plain.vocab_size), numpy.zeros((2, 24), numpy.float32)])
    save_file({INPUT: zeros}, tmp_path / "model.safetensors")
    found = embedding_facts(subject, tmp_path)
    assert isinstance(found, Undefined) and "zeros" in found.reason
    report = undertrained(plain, {}, embeddings=tmp_path)
    assert report.figures["apart"] == report.embeddings == found


@part_of_examples(4)
@given(seed=st.integers(0, 1000), dimensions=st.integers(1, 5))
def test_indicators_equal_the_twins(
    tmp_path_factory: pytest.TempPathFactory, seed: int, dimensions: int
) -> None:
    matrix = rows(seed, 40, dimensions, off=seed % 3)
    matrix[:, 0] *= 4  # so that the first component is far from the second
    path = tmp_path_factory.getbasetemp() / "twin.safetensors"
    save_file({"wte.weight": matrix}, path)
    from contextlib import ExitStack

    with ExitStack() as stack:
        read, _ = Weights(path, stack).choose(40, None, None)
        assert list(module.norms(read)) == pytest.approx(twin.norms(matrix.tolist()))
        for kind in module.INDICATORS[1 : 4 if dimensions > 1 else 3]:
            found = list(module.distances(read, [3, 5, 8], kind))
            expected = twin.distances(matrix.tolist(), [3, 5, 8], kind)
            assert found == pytest.approx(expected, abs=1e-6)


# -- The report of the suite -------------------------------------------------------------------


def test_use_and_reach() -> None:
    sick = byte_level_model(["ab", "bc", "abc", "de", "def"])
    ids = {token: id_ for id_, token in enumerate(sick.tokens)}
    counts = {ids["ab"]: 50, ids["de"]: 9, ids["def"]: 3, 97: 1}
    report = undertrained(sick, counts)
    assert (report.of, report.rare, report.embeddings) == (5, 10, None)
    assert report.never_used == (ids["bc"], ids["abc"])
    assert report.rarely_used == (ids["def"], ids["de"])
    assert report.unreachable == ()
    assert list(report.figures) == [definition.name for definition in DEFINITIONS]
    assert report.figures["never_used"] == report.figures["rarely_used"] == 2 / 5
    assert isinstance(report.figures["apart"], Undefined)
    with raises_code("missing-option"):
        undertrained(sick, counts, tensor="x")


def test_unreachable_tokens_are_left_out_of_the_candidates(tmp_path: Path) -> None:
    from dataclasses import replace

    # No merge makes the last token.
    sick = Tokenizer(replace(MODEL.model, tokens=[*MODEL.model.tokens, b"qrstuv"]))
    matrix = rows(1, SIZE + 1)
    matrix[SIZE] = 0
    save_file({INPUT: matrix}, tmp_path / "model.safetensors")
    report = undertrained(sick, {}, embeddings=tmp_path, indicator="norm")
    assert report.unreachable == (SIZE,)
    assert isinstance(report.embeddings, EmbeddingFacts)
    assert report.embeddings.left_out["unreachable"] == (1, 1)
    assert report.embeddings.apart == 0
