"""The health of models that people use, of every recipe, and of models that were just trained."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import shared_file
from tests.cost import cost
from tests.errors import raises_code
from tests.explain.every import NAMES, TEXT, model
from tests.explain.health.sick import Tokenizer, finding, health, merging, tokens
from tests.metrics.models import document
from tokctl.analysis.health import CHECKS, SEVERITIES, Health, check_health
from tokctl.core.errors import TokctlError
from tokctl.model import byte_level
from tokctl.model.presets import BPE, preset


@pytest.mark.few(17)
@pytest.mark.parametrize("name", NAMES)
def test_every_check_of_every_model_is_answered_once(name: str) -> None:
    for texts in ((), (TEXT,), ("", "x\u0416\ufffd"), (TEXT, TEXT)):
        report = health(model(name), *texts)
        answers = [*report.findings, *report.passed, *report.not_made]
        assert sorted(one.name for one in answers) == sorted(CHECKS)
        for one in report.findings:
            assert 0 < one.count <= one.of
            if one.name == "unknown-in-text":  # each once, whatever the count
                assert 0 < len(one.examples) <= min(8, one.count)
            else:
                assert len(one.examples) == (one.name != "no-unknown-token") * min(8, one.count)
            assert (one.severity, one.what) == (CHECKS[one.name].severity, CHECKS[one.name].what)
        assert [one.count for one in report.passed] == [0] * len(report.passed)
        worst = [SEVERITIES.index(one.severity) for one in report.findings]
        assert worst == sorted(worst)
        json.dumps(report.to_dict())


@given(st.lists(st.text(min_size=1, max_size=30), min_size=1, max_size=4), st.integers(256, 300))
def test_a_model_just_trained_has_no_error(texts: list[str], size: int) -> None:
    for recipe in (BPE, preset("gpt2"), preset("llama3")):
        documents = [document(text.encode("utf-8", "replace")) for text in texts]
        tokenizer = Tokenizer.train(documents, vocab_size=size + 5, recipe=recipe)
        report = check_health(tokenizer, documents)
        assert report.at_least("error") == ()
        assert finding(report, "unknown-in-text") is None
        assert finding(report, "merges-without-use") is None


def test_a_model_of_the_sample_has_nothing_to_be_warned_of(sample: str) -> None:
    for name in ("gpt2", "bert-cased", "sentencepiece-unigram"):
        tokenizer = Tokenizer.train([document(sample)], vocab_size=1000, recipe=preset(name))
        assert check_health(tokenizer, [document(sample)]).at_least("warning") == ()


# -- GPT-2's: counted from the file, without tokctl's reader ----------------------------------


def health_at_most(most: float, tokenizer: Tokenizer) -> Health:
    """What is found in a model of this size, at no more than this cost."""
    found: list[Health] = []
    assert cost(lambda: found.append(health(tokenizer, limit=None)), most) <= most
    return found[-1]


@pytest.fixture(scope="module")
def gpt2() -> tuple[Tokenizer, list[bytes]]:
    """The model, and the bytes of its ordinary tokens as its file has them."""
    path = shared_file("vocab/gpt2.tokenizer.json")
    vocabulary = json.loads(path.read_text(encoding="utf-8"))["model"]["vocab"]
    spelled = sorted(vocabulary, key=vocabulary.__getitem__)
    spelled.remove("<|endoftext|>")
    return Tokenizer.load(path), [byte_level.unspell(text) for text in spelled]


def test_gpt2(gpt2: tuple[Tokenizer, list[bytes]]) -> None:
    tokenizer, known = gpt2
    report = health_at_most(500, tokenizer)
    broken, texts = [], []
    for data in known:
        try:
            texts.append(data.decode())
        except UnicodeDecodeError:
            broken.append(data)
    partial, never = finding(report, "partial-utf8"), finding(report, "never-utf8")
    assert partial is not None and never is not None
    found = {one.data for one in (*partial.examples, *never.examples)}
    assert found == set(broken)
    assert partial.count + never.count == len(broken) == 344
    assert {one.data[0] for one in never.examples} == {0xC0, 0xC1, *range(0xF5, 0x100)}
    damaged = finding(report, "replacement-characters")
    assert damaged is not None
    assert [one.data.decode() for one in damaged.examples] == [t for t in texts if "\ufffd" in t]
    numbers = finding(report, "long-numbers")
    assert numbers is not None
    assert numbers.count == sum(re.search("[0-9]{4}", text) is not None for text in texts)
    assert tokens(report, "lookalike-scripts") == ["ĠÎ¼g"]
    assert report.verdict == "warning"
    passed = {one.name for one in report.passed}
    assert {"unreachable-by-encoding", "merges-without-effect", "missing-bytes"} < passed


@pytest.mark.slow
def test_gpt2_on_a_book(gpt2: tuple[Tokenizer, list[bytes]], treasure_island: Path) -> None:
    tokenizer, known = gpt2
    report = check_health(tokenizer, [treasure_island], limit=None)
    used = Counter(tokenizer.encode_ids(treasure_island.read_bytes()))
    assert report.texts is not None
    assert (report.texts.tokens, report.texts.bytes) == (used.total(), 399_745)
    ids = [id_ for id_, data in enumerate(known) if len(data) > 1]
    never = finding(report, "never-used")
    assert never is not None
    assert [one.id for one in never.examples] == [id_ for id_ in ids if not used[id_]]
    rare = finding(report, "rarely-used")
    assert rare is not None
    assert rare.count == sum(0 < used[id_] < 10 for id_ in ids)
    # A token of several bytes is a merge, and one that is never used is needed, or is not.
    merges, parts = finding(report, "merges-without-use"), finding(report, "only-parts")
    assert merges is not None and parts is not None
    assert merges.count + parts.count == never.count


# -- others -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_cl100k() -> None:
    tokenizer = Tokenizer.load(shared_file("vocab/cl100k_base.tiktoken"))
    report = health_at_most(1000, tokenizer)
    holes = finding(report, "holes-in-ids")
    assert holes is not None
    assert [one.id for one in holes.examples] == [100_256, *range(100_261, 100_276)]
    assert "Ċ" not in "".join(tokens(report, "trailing-spaces"))
    assert {one.name for one in report.at_least("warning")} == {"replacement-characters"}
    assert finding(report, "long-numbers") is None  # its pattern takes three digits at most


def test_sentencepiece() -> None:
    pytest.importorskip("google.protobuf")
    tokenizer = Tokenizer.load(shared_file("vocab/sentencepiece-unigram-en.model"))
    report = health(tokenizer, "Hello world, 你", limit=None)
    unknown = finding(report, "unknown-in-text")
    assert unknown is not None
    alone = Counter(piece.replace("▁", "") for piece in tokenizer.tokens[3:])
    del alone[""]
    found = finding(report, "duplicates-alone")
    assert found is not None
    assert found.count == sum(count for count in alone.values() if count > 1)


def test_texts_of_every_kind(tmp_path: Path) -> None:
    tokenizer = merging(["ab"])
    path = tmp_path / "text.txt"
    path.write_text("abab")
    for texts in ([path], [str(path)], [tmp_path], [document("abab")]):
        report = check_health(tokenizer, texts)
        assert report.texts is not None and report.texts.tokens == 2
    both = check_health(tokenizer, [path, document("a")]).texts
    assert both is not None and (both.names[1], both.tokens, both.bytes) == ("text", 3, 5)
    for wrong in ([tmp_path / "none"], str(path)):
        with pytest.raises(TokctlError):
            check_health(tokenizer, wrong)
    with raises_code("not-utf8", "UTF-8"):
        check_health(tokenizer, [document(b"a\xff")])
    replaced = check_health(tokenizer, [document(b"a\xff")], errors="replace")
    assert finding(replaced, "unknown-in-text") is not None
    for options in ({"errors": "ignore"}, {"limit": -1}, {"rare": -1}):
        with pytest.raises(TokctlError):
            check_health(tokenizer, **options)  # type: ignore[arg-type]


def test_threads_change_nothing(sample: str) -> None:
    tokenizer = model("gpt2")
    one, two = (check_health(tokenizer, [document(sample)], threads=n) for n in (1, 2))
    assert one == two
