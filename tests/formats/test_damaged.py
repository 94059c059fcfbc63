"""Whatever a file holds, reading it gives a model or a TokctlError."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.errors import raises_code
from tests.formats.models import RECIPES, filled, with_added
from tests.formats.test_sentencepiece_model import trained
from tokctl import TokctlError, formats
from tokctl.model import ImportedFrom


def stripped(data: bytes) -> bytes:
    """Our file as another library would have written it."""
    document = json.loads(data)
    del document["model"]["tokctl"]
    return json.dumps(document).encode()


OURS = {name: formats.serialize(filled(RECIPES[name])) for name in ("bert", "unigram", "llama2")}
OURS["added"] = formats.serialize(with_added(RECIPES["unigram that they load"]))
FILES: dict[str, bytes] = {
    **OURS,
    "their bert": stripped(OURS["bert"]),
    "their llama": stripped(OURS["llama2"]),
    "their unigram": stripped(OURS["added"]),
    "sentencepiece": trained(model_type="bpe", normalization_rule_name="nmt_nfkc")[:9000],
    "sentencepiece, small": trained(model_type="unigram", user_defined_symbols=["<sep>"]),
    "sentencepiece, words": trained(model_type="word", vocab_size=15),
}
for _kind in ("unigram", "bpe"):
    _model = formats.parse(trained(model_type=_kind), "m")
    FILES[f"sentencepiece vocab, {_kind}"] = formats.write(_model, "sentencepiece-vocab")[""]


def tried(data: bytes) -> None:
    try:
        model = formats.parse(data, "x")
    except TokctlError as error:
        assert "x" in error.message
        assert "Traceback" not in str(error)
    else:
        assert formats.parse(formats.serialize(model), "y") == model


@given(st.data(), st.sampled_from(sorted(FILES)))
def test_cut_off(data: st.DataObject, name: str) -> None:
    tried(FILES[name][: data.draw(st.integers(0, len(FILES[name])))])


@given(st.data(), st.sampled_from(sorted(FILES)))
def test_wrong_bytes(data: st.DataObject, name: str) -> None:
    content = bytearray(FILES[name])
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place] = data.draw(st.integers(0, 255))
    tried(bytes(content))


@given(st.data(), st.sampled_from(sorted(FILES)))
def test_slices_twice(data: st.DataObject, name: str) -> None:
    content = FILES[name]
    start = data.draw(st.integers(0, len(content)))
    end = data.draw(st.integers(start, len(content)))
    at = data.draw(st.integers(0, len(content)))
    tried(content[:at] + content[start:end] + content[at:])


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a document, of long lists only the start."""
    keys = list(value)[:6] if isinstance(value, dict) else range(min(len(value), 3))
    found = []
    for key in keys:
        found.append((*path, key))
        if isinstance(value[key], (dict, list)):
            found += places(value[key], (*path, key))
    return found


ODD = [
    None,
    True,
    -1,
    0,
    10**25,
    2**40,
    1.5,
    1e308,
    "",
    "x",
    [],
    {},
    [[]],
    {"type": "x"},
]


@given(st.data(), st.sampled_from([name for name in sorted(FILES) if "piece" not in name]))
def test_wrong_values(data: st.DataObject, name: str) -> None:
    document = json.loads(FILES[name])
    path = data.draw(st.sampled_from(places(document)))
    inner = document
    for key in path[:-1]:
        inner = inner[key]
    if data.draw(st.booleans()) and isinstance(inner, dict):
        del inner[path[-1]]
    else:
        inner[path[-1]] = data.draw(st.sampled_from(ODD))
    tried(json.dumps(document).encode())


def test_a_unigram_model_without_scores() -> None:
    document = json.loads(formats.serialize(formats.parse(FILES["sentencepiece, small"], "x")))
    assert document["model"]["tokctl"].pop("scores")
    with raises_code("damaged-model"):
        formats.parse(json.dumps(document).encode(), "x")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"\n\x00\n",
        b"\n\x05\n\x03<s>",
        b"\n\xff\xff\xff\x7f\n",
        b"IQ== 0\n",
        b"IQ== 0",
        b'{"model": {"type": "BPE"}}',
        b'{"model": {"type": "BPE", "vocab": {}, "merges": []}}',
        b'{"model": {"type": "Unigram", "vocab": []}}',
        b'{"version": "2.0", "model": {"type": "BPE", "vocab": {}, "merges": []}}',
        b'{"normalizer": '
        + b'{"type":"Sequence","normalizers":[' * 100
        + b"]}" * 100
        + b', "model": {"type": "BPE", "vocab": {}, "merges": []}}',
    ],
)
def test_odd_files(data: bytes) -> None:
    tried(data)


def test_texts_that_are_no_characters() -> None:
    """JSON can spell half of a surrogate pair, and no file could be written with it."""
    model = formats.parse(OURS["bert"], "x")
    for changes in ({"origin": ImportedFrom("x", "\ud8ff")}, {"extra_files": {"a": "\ud8ff"}}):
        with raises_code("damaged-model", "not UTF-8"):
            replace(model, **changes)
