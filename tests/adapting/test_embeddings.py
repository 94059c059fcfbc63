"""Embeddings of a language model, carried over to other ids, in files of safetensors."""

from __future__ import annotations

import json
import math
import os
import struct
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from tests import memory, systems
from tests.adapting.test_adapting import source, trained
from tests.conftest import part_of_examples
from tests.errors import raises_code
from tests.exact.training_options import recipe
from tests.explain.health.sick import byte_level_model
from tests.twins import adapt as twin
from tokctl import Adaptation, TokctlError, Tokenizer, adapt
from tokctl.extras.adapt.embeddings import row_origins
from tokctl.idfiles.random_access import ByteMeter, RandomAccessFile
from tokctl.idfiles.safetensors import StoredTensor
from tokctl.idfiles.weights import EmbeddingMatrix
from tokctl.model import Model
from tokctl.model.parts import PRE_TOKENIZERS
from tokctl.model.presets import WORDPIECE
from tokctl.training import TrainOptions, train_on_counts

INPUT, OUTPUT = "model.embed_tokens.weight", "lm_head.weight"
BEFORE = byte_level_model(["ab", "cd", "abcd", "xy"])
SIZE = BEFORE.vocab_size  # 260
#: xy goes; abab and abcdx are learned, which `BEFORE` cuts into ab ab, and abcd x.
FOUND = adapt(
    BEFORE,
    prune=SIZE - 1,
    texts=source("abcd"),
    vocab_size=SIZE + 2,
    new_texts=source("abab\n" * 9 + "abcdx\n" * 7),
    special_tokens=["<s>"],
)


def rows(seed: int, count: int = SIZE, dimensions: int = 5, dtype: str = "f4") -> Any:
    return numpy.random.default_rng(seed).standard_normal((count, dimensions)).astype(dtype)


def written(path: Path, tensors: dict[str, tuple[str, list[int], bytes]], **extra: str) -> Path:
    """A file made by hand: any type, in any order."""
    header: dict[str, Any] = {"__metadata__": extra} if extra else {}
    place = 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [place, place + len(data)]}
        place += len(data)
    text = json.dumps(header).encode()
    data = b"".join(data for *_, data in tensors.values())
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


def read(path: Path) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The header of a file, and the bytes of each tensor."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    assert size % 8 == 0
    found = {}
    for name, tensor in header.items():
        if name != "__metadata__":
            begin, end = tensor["data_offsets"]
            found[name] = data[8 + size + begin : 8 + size + end]
    return header, found


def test_what_is_looked_at() -> None:
    names = FOUND.tokenizer.tokens
    assert [names[id_] for id_ in FOUND.new] == ["abab", "abcdx", "<s>"]
    assert FOUND.removed == [BEFORE.token_to_id("xy")]
    ids = {name: BEFORE.token_to_id(name) for name in ("ab", "abcd", "x", "<", "s", ">")}
    origins = row_origins(FOUND, "pieces")
    assert origins[-3:] == [
        (ids["ab"], ids["ab"]),
        (ids["abcd"], ids["x"]),
        (ids["<"], ids["s"], ids[">"]),
    ]
    assert origins[:-3] == [id_ for id_ in range(SIZE) if FOUND.ids[id_] is not None]
    assert row_origins(FOUND, "zeros")[-3:] == [None] * 3
    assert row_origins(FOUND, "mean")[-3:] == [()] * 3


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2"])
@pytest.mark.parametrize("new_rows", ["pieces", "mean", "zeros"])
def test_rows_follow_their_tokens(tmp_path: Path, dtype: str, new_rows: str) -> None:
    matrix = rows(1, dtype=dtype)
    layer = rows(2, 3, 4)
    save_file({"wte.weight": matrix, "h.0.w": layer}, tmp_path / "a", metadata={"format": "pt"})
    (carried,) = FOUND.carry_embeddings(tmp_path / "a", tmp_path / "b", new_rows=new_rows)
    found = load_file(tmp_path / "b")
    new = found["wte.weight"]
    assert new.dtype == matrix.dtype and new.shape == (SIZE + 2, 5)
    for old, id_ in enumerate(FOUND.ids):
        assert id_ is None or new[id_].tobytes() == matrix[old].tobytes()
    origins = row_origins(FOUND, new_rows)
    for id_ in FOUND.new:
        origin = origins[id_]
        if new_rows == "zeros":
            assert not new[id_].any()
            continue
        pieces = matrix if origin == () else matrix[list(origin)]  # type: ignore[arg-type]
        expected = twin.mean(pieces.astype("f8").tolist())
        assert new[id_].tolist() == numpy.array(expected).astype(dtype).tolist()
    assert found["h.0.w"].tobytes() == layer.tobytes()
    header, _ = read(tmp_path / "b")
    assert header["__metadata__"] == {"format": "pt"}
    assert (carried.kept, carried.rows, carried.rows_before) == (SIZE - 1, SIZE + 2, SIZE)
    said = {"pieces": carried.by_pieces, "mean": carried.by_mean, "zeros": carried.zeros}
    assert said.pop(new_rows) == 3 and not any(said.values())
    # The same bytes each time.
    FOUND.carry_embeddings(tmp_path / "a", tmp_path / "c", new_rows=new_rows)
    assert (tmp_path / "b").read_bytes() == (tmp_path / "c").read_bytes()


@given(numbers=st.lists(st.floats(-1e40, 1e40, allow_subnormal=True), min_size=1, max_size=20))
def test_numbers_are_rounded_once_to_bf16(numbers: list[float]) -> None:
    tensor = StoredTensor("BF16", (1, len(numbers)), 0, 2 * len(numbers))
    file = RandomAccessFile("none", open(os.devnull, "rb", buffering=0), ByteMeter())  # noqa: PTH123, SIM115
    with file.file:
        found = EmbeddingMatrix("m", file, tensor).rounded(numpy.array([numbers]))
    bits = [int.from_bytes(found[at : at + 2], "little") for at in range(0, len(found), 2)]
    assert bits == [twin.bfloat16(number) for number in numbers]


@pytest.mark.parametrize(
    ("number", "bits"),
    [
        (1.0, 0x3F80),
        (1 + 2**-8, 0x3F80),  # as near to 1 as to the next: to even
        (1 + 2**-8 + 2**-40, 0x3F81),  # rounding it to an F32 first would lose the rest
        (1 + 3 * 2**-8, 0x3F82),
        (-(1 + 2**-8 + 2**-40), 0xBF81),
        (2.0**-133, 0x0001),
        (2.0**-134, 0x0000),
        (-0.0, 0x8000),
        (1e39, 0x7F80),
    ],
)
def test_bf16_by_hand(number: float, bits: int) -> None:
    test_numbers_are_rounded_once_to_bf16.hypothesis.inner_test([number])  # type: ignore[attr-defined]
    assert twin.bfloat16(number) == bits


def test_bf16_in_a_file(tmp_path: Path) -> None:
    numbers = rows(3)
    upper = (numbers.view("u4") >> 16).astype("<u2")
    written(tmp_path / "a", {"wte.weight": ("BF16", [SIZE, 5], upper.tobytes())})
    FOUND.carry_embeddings(tmp_path / "a", tmp_path / "b")
    _, found = read(tmp_path / "b")
    new = numpy.frombuffer(found["wte.weight"], "<u2").reshape(-1, 5)
    for old, id_ in enumerate(FOUND.ids):
        assert id_ is None or new[id_].tolist() == upper[old].tolist()
    ab = BEFORE.token_to_id("ab")
    assert new[FOUND.new[0]].tolist() == upper[ab].tolist()  # the mean of a row and itself
    values = (upper.astype("u4") << 16).view("f4").astype("f8")
    expected = twin.mean(values[[BEFORE.token_to_id("abcd"), BEFORE.token_to_id("x")]].tolist())
    assert new[FOUND.new[1]].tolist() == [twin.bfloat16(number) for number in expected]


def test_input_output_and_bias(tmp_path: Path) -> None:
    tensors = {INPUT: rows(1), OUTPUT: rows(2), "lm_head.bias": rows(3, SIZE, 1)[:, 0]}
    save_file(tensors, tmp_path / "a")
    both = FOUND.carry_embeddings(tmp_path / "a", tmp_path / "b")
    assert [one.tensor for one in both] == [INPUT, OUTPUT]
    # What has as many numbers may be one of them, too: it is said, and copied.
    assert both[0].alike == ("lm_head.bias",)
    found = load_file(tmp_path / "b")
    assert found["lm_head.bias"].tobytes() == tensors["lm_head.bias"].tobytes()
    names = [INPUT, OUTPUT, "lm_head.bias"]
    all_three = FOUND.carry_embeddings(tmp_path / "a", tmp_path / "c", tensors=names)
    assert all_three[2].dimensions == 1 and all_three[0].alike == ()
    found = load_file(tmp_path / "c")
    for name in names:
        assert found[name].shape == (SIZE + 2, *tensors[name].shape[1:])
        for old, id_ in enumerate(FOUND.ids):
            assert id_ is None or found[name][id_].tolist() == tensors[name][old].tolist()


def test_padding_is_left_out_and_holes_are_zeros(tmp_path: Path) -> None:
    kept = adapt(BEFORE, prune=257, texts=source("xy"), keep_ids=True)
    assert kept.holes == (256, 257, 258)
    matrix = rows(1, SIZE + 60)
    save_file({"wte.weight": matrix}, tmp_path / "a")
    (carried,) = kept.carry_embeddings(tmp_path / "a", tmp_path / "b")
    new = load_file(tmp_path / "b")["wte.weight"]
    assert new.shape == (SIZE, 5) and not new[256:259].any() and carried.zeros == 3
    assert new[:256].tolist() == matrix[:256].tolist()
    assert new[259].tolist() == matrix[259].tolist()


def test_every_tensor_is_aligned(tmp_path: Path) -> None:
    """A matrix of another size moves what follows it; wider numbers come first."""
    tensors = {
        "odd": ("U8", [3], b"abc"),
        "wte.weight": ("F16", [SIZE, 1], rows(1, SIZE, 1, "f2").tobytes()),
        "wide": ("F64", [2], struct.pack("<2d", 1.5, 2.5)),
        "next": ("F32", [1], struct.pack("<f", 0.5)),
    }
    written(tmp_path / "a", tensors, note="kept é")
    one_less = adapt(BEFORE, prune=SIZE - 1, texts=source("abcd"))
    one_less.carry_embeddings(tmp_path / "a", tmp_path / "b")
    header, found = read(tmp_path / "b")
    assert list(header) == ["__metadata__", *tensors]
    assert header["__metadata__"] == {"note": "kept é"}
    widths = {"F64": 8, "F32": 4, "F16": 2, "U8": 1}
    places = sorted(t["data_offsets"] for name, t in header.items() if name != "__metadata__")
    assert [begin for begin, _ in places] == [0, *(end for _, end in places[:-1])]
    for name, (dtype, _, data) in tensors.items():
        assert header[name]["data_offsets"][0] % widths[dtype] == 0
        assert name == "wte.weight" or found[name] == data
    assert load_file(tmp_path / "b")["wte.weight"].shape == (SIZE - 1, 1)


def sharded(folder: Path) -> dict[str, Any]:
    tensors = {INPUT: rows(1), "model.layers.0.w": rows(2, 3, 4), OUTPUT: rows(3)}
    folder.mkdir()
    files = {}
    for number, (name, tensor) in enumerate(tensors.items(), 1):
        files[name] = f"model-0000{number}-of-00003.safetensors"
        save_file({name: tensor}, folder / files[name], metadata={"format": "pt"})
    size = sum(tensor.nbytes for tensor in tensors.values())
    index = {"metadata": {"total_size": size}, "weight_map": files}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return tensors


@pytest.mark.parametrize("exists", [False, True])
def test_several_files(tmp_path: Path, exists: bool) -> None:
    tensors = sharded(tmp_path / "old")
    if exists:
        (tmp_path / "new").mkdir()
    carried = FOUND.carry_embeddings(tmp_path / "old", tmp_path / "new")
    assert [one.tensor for one in carried] == [INPUT, OUTPUT]
    assert [Path(name).name for name in carried[0].files] == sorted(
        path.name for path in (tmp_path / "new").iterdir()
    )[3:] + sorted(path.name for path in (tmp_path / "new").iterdir())[:3]
    index = json.loads((tmp_path / "new" / "model.safetensors.index.json").read_text())
    found = {
        name: load_file(tmp_path / "new" / file)[name] for name, file in index["weight_map"].items()
    }
    assert index["metadata"]["total_size"] == sum(tensor.nbytes for tensor in found.values())
    second = "model-00002-of-00003.safetensors"
    assert (
        load_file(tmp_path / "new" / second)["model.layers.0.w"].tolist()
        == tensors["model.layers.0.w"].tolist()
    )
    for name in (INPUT, OUTPUT):
        for old, id_ in enumerate(FOUND.ids):
            assert id_ is None or found[name][id_].tolist() == tensors[name][old].tolist()
    with raises_code("output-taken"):
        FOUND.carry_embeddings(tmp_path / "old", tmp_path / "old")
    (tmp_path / "file").touch()
    with raises_code("output-taken"):
        FOUND.carry_embeddings(tmp_path / "old", tmp_path / "file")


# -- how tokens are cut -------------------------------------------------------------------------


def pieces(found: Adaptation) -> dict[str, list[str]]:
    """The pieces of each new token."""
    origins = row_origins(found, "pieces")
    before, after = found.before.tokens, found.tokenizer.tokens
    return {after[id_]: [before[piece] for piece in origins[id_]] for id_ in found.new}  # type: ignore[union-attr]


@pytest.mark.parametrize("marker", ["none", "end", "end-fused", "start"])
def test_pieces_spell_the_token(marker: str) -> None:
    made = recipe(marker, pre_tokenizers=PRE_TOKENIZERS.steps("whitespace"))
    model = train_on_counts({"abcab": 5, "bca": 3}, made, TrainOptions(vocab_size=12))
    text = source("abcabd abcabd bcabca bcad dab dab " * 3)
    found = adapt(Tokenizer(model), vocab_size=model.size + 8, texts=text)
    said = pieces(found)
    assert len(said) >= 6
    for token, of in said.items():
        # d is new: the model before has no piece for it.
        assert "".join(of) == token.replace("d</w>", "").replace("d", "")
    assert any(len(of) > 1 for of in said.values()) and any(not of for of in said.values())


def test_pieces_of_word_piece_are_the_longest() -> None:
    model = train_on_counts({"abab": 5, "babb": 3, "ab": 9}, WORDPIECE, TrainOptions(vocab_size=12))
    found = adapt(Tokenizer(model), vocab_size=model.size + 5, texts=source("abababab babab " * 5))
    said = pieces(found)
    assert said
    old = set(found.before.tokens)
    for token, of in said.items():
        inside = token.startswith("##")
        rest = token.removeprefix("##")
        expected = []
        while rest:
            prefix = "##" if inside else ""
            cut = max(n for n in range(1, len(rest) + 1) if prefix + rest[:n] in old)
            expected.append(prefix + rest[:cut])
            rest, inside = rest[cut:], True
        assert of == expected


def test_a_token_without_pieces_gets_the_mean_of_all(tmp_path: Path) -> None:
    made = replace(WORDPIECE, unk_token="[UNK]", special_tokens=("[UNK]",))
    model = Model(made, [b"[UNK]", b"a", b"##a"])
    found = adapt(Tokenizer(model), special_tokens=["xyz"], added_tokens=["aa"])
    assert pieces(found) == {"xyz": [], "aa": ["a", "##a"]}
    matrix = rows(1, 3)
    save_file({"wte.weight": matrix}, tmp_path / "a")
    (carried,) = found.carry_embeddings(tmp_path / "a", tmp_path / "b")
    new = load_file(tmp_path / "b")["wte.weight"]
    assert new[3].tolist() == numpy.array(twin.mean(matrix.astype("f8").tolist()), "f4").tolist()
    assert (carried.by_pieces, carried.by_mean, carried.kept) == (1, 1, 3)


@given(seed=st.integers(0, 1000), words=st.integers(1, 3), keep_ids=st.booleans())
@part_of_examples(3)
def test_any_adaptation(
    tmp_path_factory: pytest.TempPathFactory, seed: int, words: int, keep_ids: bool
) -> None:
    folder = tmp_path_factory.getbasetemp()
    tokenizer = Tokenizer(trained({"abcabc": 3, "dcd" * words: 2, "bad": 1}, 290))
    found = adapt(
        tokenizer,
        prune=257 + seed % 5,
        texts=source("abc dcd"),
        vocab_size=265,
        new_texts=source("badbad dada cdcd"),
        keep_ids=keep_ids,
    )
    matrix = rows(seed, tokenizer.vocab_size, 1 + seed % 3, "f2")
    save_file({"wte.weight": matrix}, folder / "any")
    found.carry_embeddings(folder / "any", folder / "any.new")
    new = load_file(folder / "any.new")["wte.weight"]
    assert len(new) == found.tokenizer.vocab_size
    for origin, row in zip(row_origins(found, "pieces"), new, strict=True):
        if origin is None:
            expected = [0.0] * len(row)
        elif isinstance(origin, int):
            expected = matrix[origin].tolist()
        else:
            old = matrix[list(origin)].astype("f8").tolist()
            expected = numpy.array(twin.mean(old)).astype("f2").tolist()
        assert row.tolist() == expected


# -- files that are none --------------------------------------------------------------------------


def error(tmp_path: Path, **options: Any) -> TokctlError:
    with pytest.raises(TokctlError) as caught:
        FOUND.carry_embeddings(tmp_path / "a", tmp_path / "b", **options)
    assert not (tmp_path / "b").exists()
    assert sorted(path.name for path in tmp_path.iterdir() if path.name[0] == ".") == []
    return caught.value


def test_matrices_that_do_not_fit(tmp_path: Path) -> None:
    save_file({"other": rows(1)}, tmp_path / "a")
    assert "no tensors with a usual name" in error(tmp_path).message
    assert error(tmp_path, tensors=["wte"]).message.endswith("has no tensor 'wte'")
    save_file({INPUT: rows(1, SIZE - 1)}, tmp_path / "a")
    assert f"has {SIZE - 1} rows, and the model {SIZE} ids" in error(tmp_path).message
    save_file({INPUT: rows(1).astype("i4")}, tmp_path / "a")
    assert "is I32 of shape" in error(tmp_path).message
    save_file({INPUT: rows(1).reshape(-1)}, tmp_path / "a")
    assert "is F32 of shape [1300]" in error(tmp_path).message
    save_file({INPUT: rows(1).reshape(SIZE, 5, 1)}, tmp_path / "a")
    assert "of shape [260, 5, 1]" in error(tmp_path, tensors=[INPUT]).message
    save_file({INPUT: rows(1)}, tmp_path / "a")
    assert error(tmp_path, new_rows="wechsel").hint == "choose one of: pieces, focus, mean, zeros"
    with raises_code("output-taken"):
        FOUND.carry_embeddings(tmp_path / "a", tmp_path / "a")


def test_numbers_that_are_none(tmp_path: Path) -> None:
    """A row that is copied may hold anything; a mean is made of numbers."""
    matrix = rows(1)
    xy, ab = BEFORE.token_to_id("xy"), BEFORE.token_to_id("ab")
    matrix[[xy, 7]] = numpy.nan
    save_file({INPUT: matrix}, tmp_path / "a")
    FOUND.carry_embeddings(tmp_path / "a", tmp_path / "b")
    assert numpy.isnan(load_file(tmp_path / "b")[INPUT][7]).all()
    (tmp_path / "b").unlink()
    assert "row 7 of the tensor" in error(tmp_path, new_rows="mean").message
    matrix[ab] = numpy.inf
    save_file({INPUT: matrix}, tmp_path / "a")
    assert f"row {ab} of the tensor" in error(tmp_path).message


@given(cut=st.integers(0, 400), place=st.integers(0, 200), byte=st.integers(0, 255))
def test_a_damaged_file_is_an_error_or_another_file(
    tmp_path_factory: pytest.TempPathFactory, cut: int, place: int, byte: int
) -> None:
    folder = tmp_path_factory.getbasetemp()
    save_file({INPUT: rows(1, SIZE, 1), "b": rows(2, 2, 2)}, folder / "a")
    data = bytearray((folder / "a").read_bytes())
    data[place] = byte
    (folder / "a").write_bytes(bytes(data[: len(data) - cut]))
    (folder / "b").unlink(missing_ok=True)
    try:
        FOUND.carry_embeddings(folder / "a", folder / "b")
    except TokctlError as caught:
        assert caught.hint and not (folder / "b").exists()
    else:
        header, _ = read(folder / "b")
        assert math.prod(header[INPUT]["shape"]) == SIZE + 2


@pytest.mark.parametrize(
    "described",
    [
        {"dtype": "F32", "shape": [SIZE, 5], "data_offsets": [0, 10**9]},
        {"dtype": "F32", "shape": [SIZE, 5], "data_offsets": [8, 8 + SIZE * 20]},
        {"dtype": "F32", "shape": [SIZE, 6], "data_offsets": [0, SIZE * 20]},
        {"dtype": "F99", "shape": [SIZE, 5], "data_offsets": [0, SIZE * 20]},
        {"dtype": "F32", "shape": [-SIZE, -5], "data_offsets": [0, SIZE * 20]},
        {"dtype": "F32", "shape": SIZE, "data_offsets": [0, SIZE * 20]},
        {"dtype": "F32", "shape": [SIZE, 5]},
        [],
    ],
)
def test_headers_that_are_wrong(tmp_path: Path, described: Any) -> None:
    text = json.dumps({INPUT: described}).encode()
    (tmp_path / "a").write_bytes(struct.pack("<Q", len(text)) + text + rows(1).tobytes())
    assert error(tmp_path).hint
    (tmp_path / "a").write_bytes(struct.pack("<Q", len(text) - 3) + text)
    assert error(tmp_path).hint
    (tmp_path / "a").write_bytes(struct.pack("<Q", 2) + b"[]")
    assert "header can't be read" in error(tmp_path).message


@systems.linux
def test_memory_is_that_of_a_block(tmp_path: Path) -> None:
    """The file is a hole of the file system; that it is read and written takes no more."""
    size, width = 260, 65536
    described = {"dtype": "F32", "shape": [size, width], "data_offsets": [0, size * width * 4]}
    text = json.dumps({"wte.weight": described}).encode()
    with (tmp_path / "a").open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(8 + len(text) + size * width * 4)
    program = """
import sys
from pathlib import Path
from tests.adapting.test_embeddings import FOUND
from tests.memory import peak
before = peak()
FOUND.carry_embeddings(sys.argv[1] + "/a", sys.argv[1] + "/b")
print(peak() - before)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=memory.ROOT,
        check=True,
    )
    assert (tmp_path / "b").stat().st_size > 68_000_000
    assert int(done.stdout) < 20_000  # kB


def test_without_numpy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_file({INPUT: rows(1)}, tmp_path / "a")
    monkeypatch.setitem(sys.modules, "numpy", None)
    assert error(tmp_path).hint == "pip install 'tokctl[embeddings]'"
