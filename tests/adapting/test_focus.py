"""FOCUS: weights against the slow twin, rows in files, and files of vectors that are none."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from tests.adapting.test_embeddings import BEFORE, FOUND, SIZE, read, rows, written
from tests.cli.run import tokctl
from tests.conftest import part_of_examples
from tests.errors import raises_code
from tests.twins import adapt as rounding
from tests.twins import focus as twin
from tokctl import TokctlError, adapt
from tokctl.extras.adapt import focus
from tokctl.extras.adapt.focus import Combination, combinations

Vectors = Mapping[str, Sequence[float]]

TOKENS = FOUND.tokenizer.tokens
ABAB, ABCDX, SPECIAL = FOUND.new
#: The tokens that both models have, by old id.
KEPT = {old: TOKENS[new] for old, new in enumerate(FOUND.ids) if new is not None}


def saved(path: Path, vectors: Vectors, end: str = "\n") -> Path:
    """A file of vectors; fastText's own lines end with a space."""
    (dimensions,) = {len(vector) for vector in vectors.values()}
    lines = [f"{len(vectors)} {dimensions}"]
    lines += [" ".join([token, *map(repr, vector)]) for token, vector in vectors.items()]
    path.write_text(end.join([*lines, ""]), encoding="utf-8")
    return path


def made(path: Path, vectors: Vectors, **more: Any) -> dict[int, Combination]:
    return combinations(FOUND, saved(path / "a.vec", vectors, **more))


def check(found: Mapping[int, Combination], vectors: Vectors) -> None:
    """The weights are those of the twin: within two roundings, and of the same rows."""
    for new in FOUND.new:
        expected = twin.weights(KEPT, TOKENS[new], vectors)
        if expected is None:
            assert new not in found
            continue
        ids, weights = found[new]
        assert list(ids) == sorted(expected)
        for id_, weight in zip(ids, weights, strict=True):
            assert weight > 0
            assert abs(Fraction(weight) - expected[id_]) <= Fraction(1, 2**51)
        assert abs(sum(map(Fraction, weights)) - 1) <= Fraction(len(ids), 2**51)


def test_by_hand(tmp_path: Path) -> None:
    """The cosines are 1, 0.6 and 0: of the first two, what is above (1.6 - 1) / 2."""
    vectors = {"abab": [2.0, 0.0], "ab": [7.0, 0.0], "cd": [3.0, 4.0], "a": [0.0, 1.0]}
    found = made(tmp_path, vectors)
    assert found.keys() == {ABAB}
    ids, weights = found[ABAB]
    assert [BEFORE.tokens[id_] for id_ in ids] == ["ab", "cd"]
    assert weights == pytest.approx((0.7, 0.3), abs=2**-25)
    check(found, vectors)


numbers = st.integers(-9, 9).map(float) | st.decimals(-2, 2, places=4).map(float)


@given(data=st.data(), dimensions=st.integers(1, 4))
@part_of_examples(2)
def test_weights_are_those_of_the_definition(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, dimensions: int
) -> None:
    names = st.sampled_from(["ab", "cd", "abcd", *"abcdef", "abab", "abcdx", "<s>", "other"])
    vector = st.lists(numbers, min_size=dimensions, max_size=dimensions)
    vectors = data.draw(st.dictionaries(names, vector, min_size=1))
    folder = tmp_path_factory.getbasetemp()
    try:
        found = made(folder, vectors, end=data.draw(st.sampled_from(["\n", " \n", "\r\n"])))
    except TokctlError as caught:
        assert "has no vector for any token that stays" in caught.message
        assert not any(any(vectors.get(name, ())) for name in KEPT.values())
        return
    check(found, vectors)
    shuffled = dict(sorted(vectors.items(), key=lambda one: str(one[1])))
    assert made(folder, shuffled) == found


@pytest.mark.parametrize("spread", [0.01, 0.3, 2.0])
def test_many_tokens_and_dimensions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spread: float
) -> None:
    """Where all vectors are near one another, all rows have weights."""
    monkeypatch.setattr(focus, "_LARGEST", 8)
    draw = random.Random(spread)

    def vector() -> list[float]:
        return [round(1 + draw.gauss(0, spread), 5) for _ in range(12)]

    vectors = {token: vector() for token in [*KEPT.values(), *(TOKENS[id_] for id_ in FOUND.new)]}
    vectors = {focus.unspaced(token): vector for token, vector in vectors.items()}
    found = made(tmp_path, vectors)
    check(found, {**vectors, **{token: vectors[focus.unspaced(token)] for token in KEPT.values()}})
    counts = [len(ids) for ids, _ in found.values()]
    assert len(counts) == 3 and (min(counts) > 100 if spread < 0.1 else max(counts) < 100)


@given(st.lists(st.integers(-(2**52), 2**52), min_size=1, max_size=30))
def test_sparsemax(cosines: list[int]) -> None:
    places, weights = focus._sparsemax(numpy.array(cosines, dtype="f8"))
    expected = twin.sparsemax([Fraction(cosine, 2**52) for cosine in cosines])
    assert places == [place for place, weight in enumerate(expected) if weight]
    for place, weight in zip(places, weights, strict=True):
        assert abs(Fraction(weight) - expected[place]) <= Fraction(1, 2**51)


# -- rows -------------------------------------------------------------------------------------

VECTORS = {
    "abab": [1.0, 0.5, 0.0],
    "abcdx": [0.0, 1.0, -1.0],
    "ab": [1.0, 0.0, 0.25],
    "cd": [0.0, 2.0, 1.0],
    "abcd": [0.5, 0.5, -0.5],
    "x": [0.0, 0.0, 0.0],
    "other": [1.0, 1.0, 1.0],
}


@pytest.mark.parametrize("dtype", ["F64", "F32", "F16", "BF16"])
def test_rows_are_weighted_sums(tmp_path: Path, dtype: str) -> None:
    kind = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}[dtype]
    matrix = rows(1) if dtype == "BF16" else rows(1, dtype=kind)
    if dtype == "BF16":
        matrix = (matrix.view("<u4") >> 16).astype("<u2")
    written(tmp_path / "a", {"wte.weight": (dtype, [SIZE, 5], matrix.tobytes())})
    vectors = saved(tmp_path / "a.vec", VECTORS)
    (carried,) = FOUND.carry_embeddings(
        tmp_path / "a", tmp_path / "b", new_rows="focus", vectors=vectors
    )
    assert (carried.kept, carried.by_focus, carried.by_mean) == (SIZE - 1, 2, 1)
    assert carried.by_pieces == carried.zeros == 0
    _, found = read(tmp_path / "b")
    new = numpy.frombuffer(found["wte.weight"], kind).reshape(-1, 5)
    for old, id_ in enumerate(FOUND.ids):
        assert id_ is None or new[id_].tolist() == matrix[old].tolist()
    exact = matrix if dtype != "BF16" else (matrix.astype("<u4") << 16).view("<f4")
    for id_, (ids, weights) in combinations(FOUND, vectors).items():
        assert len(ids) > 1
        expected = [0.0] * 5
        for old, weight in zip(ids, weights, strict=True):
            expected = [
                total + weight * float(number)
                for total, number in zip(expected, exact[old], strict=True)
            ]
        if dtype == "BF16":
            assert new[id_].tolist() == list(map(rounding.bfloat16, expected))
        else:
            assert new[id_].tolist() == numpy.array(expected).astype(kind).tolist()


def test_input_output_and_bias_have_the_same_weights(tmp_path: Path) -> None:
    tensors = {"wte.weight": rows(1), "lm_head.weight": rows(1), "b": rows(1, SIZE, 1)[:, 0]}
    save_file(tensors, tmp_path / "a")
    vectors = saved(tmp_path / "a.vec", VECTORS)
    said: list[tuple[str, int, int | None]] = []
    carried = FOUND.carry_embeddings(
        tmp_path / "a",
        tmp_path / "b",
        tensors=list(tensors),
        new_rows="focus",
        vectors=vectors,
        progress=lambda *one: said.append(one),
    )
    new = load_file(tmp_path / "b")
    assert new["wte.weight"].tobytes() == new["lm_head.weight"].tobytes()
    assert [one.by_focus for one in carried] == [2] * 3 and len(new["b"]) == SIZE + 2
    assert ("focus", 2, 2) in said


def test_tokens_are_called_as_encode_writes_them(tmp_path: Path) -> None:
    """A token with white space is one word of the file that fastText reads, and of its own."""
    found = adapt(BEFORE, added_tokens=["c d", "x\u3000"])
    found.tokenizer.save(tmp_path / "m.json")
    line = ("encode", "-m", tmp_path / "m.json", "--as", "tokens")
    done = tokctl(*line, stdin="abc dx\u3000".encode())
    assert done.out.decode().split(" ") == ["ab", "c\\x20d", "x\\u3000"]
    vectors = saved(tmp_path / "a.vec", {"c\\x20d": [1.0], "ab": [2.0], "x\\u3000": [-1.0]})
    ab = BEFORE.token_to_id("ab")
    assert combinations(found, vectors) == dict.fromkeys(found.new, Combination((ab,), (1.0,)))


# -- files that are none ----------------------------------------------------------------------

GOOD = "2 2\nab 1 2\nabab 1 -1e-3\n"
BAD = {
    "": "its first line lacks the number",
    "ab 1 2\n": "its first line lacks the number",
    "2 2": "its first line lacks the number",
    "2 0\n": "vectors have 0 numbers",
    "2 70000\n": "vectors have 70,000 numbers",
    GOOD.replace("2 2", "3 2", 1): "line 4 is not there, and there should be 3 vectors",
    GOOD.replace("2 2", "1 2", 1): "line 3 is there, and there should be 1 vector",
    GOOD.replace("1 2", "1 2 3"): "line 2 has 3 numbers, and by the first line 2",
    GOOD.replace("1 2", "1\t2"): "line 2 has 1 number, and by the first line 2",
    GOOD.replace("1 2", "1 x"): "line 2 has a value that is not a number",
    GOOD.replace("1 2", "1 nan"): "line 2 has a value that is not a number",
    GOOD.replace("1 2", "1 -inf"): "line 2 has a value that is not a number",
    GOOD.replace("1 2", "1 1e200"): "line 2 has a value that is not a number, or is beyond 1e+100",
    GOOD.replace("1 2", "1 1_0"): "line 2 has a value that is not a number",
    GOOD.replace("abab", "ab"): "line 3 has 'ab', as line 2 has",
    GOOD.replace("ab 1", "a" * 2_000_000 + " 1"): "line 2 is too long",
    "1 2\nabab 1 2\n": "has no vector for any token that stays",
    "1 2\nab 0 0\n": "has no vector for any token that stays",
}


@pytest.mark.parametrize("text", BAD)
def test_no_file_of_vectors(tmp_path: Path, text: str) -> None:
    path = tmp_path / "bad.vec"
    path.write_text(text)
    with pytest.raises(TokctlError) as caught:
        combinations(FOUND, path)
    assert BAD[text] in caught.value.message and str(path) in caught.value.message
    assert caught.value.hint


@given(place=st.integers(0, len(GOOD) - 1), byte=st.integers(0, 255), cut=st.integers(0, 30))
def test_a_damaged_file_is_an_error_or_another_file(
    tmp_path_factory: pytest.TempPathFactory, place: int, byte: int, cut: int
) -> None:
    data = bytearray(GOOD.encode())
    data[place] = byte
    path = tmp_path_factory.getbasetemp() / "damaged.vec"
    path.write_bytes(bytes(data[: len(data) - cut]))
    try:
        found = combinations(FOUND, path)
    except TokctlError as caught:
        assert caught.hint
    else:
        assert all(weights == (1.0,) for _, weights in found.values())


def test_other_faults(tmp_path: Path) -> None:
    with raises_code("unreadable"):
        focus.check_vectors(tmp_path / "none.vec")
    with raises_code("unreadable"):
        focus.check_vectors(tmp_path)
    save_file({"wte.weight": rows(1)}, tmp_path / "a")
    vectors = saved(tmp_path / "a.vec", VECTORS)
    for options, what in (
        ({"new_rows": "focus"}, "need a vector for each token"),
        ({"vectors": vectors}, "vectors are used only for rows by FOCUS"),
    ):
        with pytest.raises(TokctlError, match=what):
            FOUND.carry_embeddings(tmp_path / "a", tmp_path / "b", **options)  # type: ignore[arg-type]
    assert not (tmp_path / "b").exists()


# -- with fastText itself -----------------------------------------------------------------------


def test_what_fasttext_learns(tmp_path: Path) -> None:
    """The recipe of docs/adapt.md, on a small scale: each token that is used often has a row."""
    fasttext = pytest.importorskip("fasttext")
    text = "abab cd abcdx abab\n" * 60
    cut = [" ".join(focus.unspaced(token) for token in FOUND.tokenizer.encode(line).tokens)
           for line in text.splitlines()]  # fmt: skip
    (tmp_path / "tokens.txt").write_text("\n".join([*cut, ""]), encoding="utf-8")
    # With one thread, fastText 0.9.2 stops now and then: it meets what is no number.
    options = {"minCount": 10, "dim": 10, "bucket": 100, "thread": 12, "verbose": 0}
    model = fasttext.train_unsupervised(str(tmp_path / "tokens.txt"), "cbow", **options)
    vectors = {word: model.get_word_vector(word).tolist() for word in model.words}
    found = made(tmp_path, vectors)
    assert {"abab", "abcdx", "cd", "Ġ"} <= vectors.keys() and found.keys() == {ABAB, ABCDX}
    check(found, vectors)
    assert SPECIAL not in found
