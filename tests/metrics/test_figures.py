"""Each metric on examples worked out by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from tests.metrics.models import model
from tokctl.analysis.metrics import (
    METRICS,
    NOTHING,
    Counts,
    Range,
    Undefined,
    boundary_f1,
    bytes_per_token,
    canonical,
    canonical_vocabulary,
    characters_per_token,
    continued_words,
    fertility,
    jaccard,
    nsl,
    range_of,
    round_trip,
    strr,
    unk_rate,
    vocabulary_use,
)
from tokctl.model import Marker, Model
from tokctl.model.presets import BPE, BPE_CHARACTERS, CHAR, UNIGRAM, WORD, WORDPIECE, preset


def test_compression() -> None:
    # "naïve fox" is 10 bytes and 9 characters; say na ïve Ġfox.
    assert bytes_per_token(10, 3) == 10 / 3
    assert characters_per_token(9, 3) == 3
    assert nsl(3, 4) == 0.75
    assert isinstance(bytes_per_token(0, 0), Undefined)
    assert isinstance(nsl(3, 0), Undefined)


def _counts(words: int, characters: int, spaces: int, **others: int) -> Counts:
    return replace(NOTHING, words=words, characters=characters, spaces=spaces, **others)


def test_words() -> None:
    # "the lowest tree" as the | low ##est | tre ##e.
    counts = _counts(3, 15, 2, tokens=5, split_words=2, whole_words=1)
    assert fertility(counts) == 5 / 3
    assert continued_words(counts) == 2 / 3
    assert strr(counts) == 1 / 3


@pytest.mark.parametrize(
    ("words", "characters", "spaces", "absent"),
    [
        (5, 100, 5, False),  # one in 20 exactly
        (5, 101, 5, True),
        (1, 7, 1, False),  # "lowest\n"
        (1, 6, 0, True),  # "lowest": no space at all
        (2, 400, 350, True),  # two words of 25 characters, far apart
        (0, 0, 0, True),
        (0, 9, 9, True),
    ],
)
def test_a_text_without_spaces_has_no_words(
    words: int, characters: int, spaces: int, absent: bool
) -> None:
    counts = _counts(words, characters, spaces)
    figures = [figure(counts) for figure in (fertility, continued_words, strr)]
    assert [isinstance(figure, Undefined) for figure in figures] == [absent] * 3
    by_unicode = replace(counts, word_rule="unicode")
    assert isinstance(fertility(by_unicode), Undefined) == (words == 0)


def test_the_reason_is_given() -> None:
    reason = "the text has fewer than one space per 20 characters"
    assert fertility(_counts(1, 30, 0, tokens=6)) == Undefined(reason)
    assert fertility(NOTHING) == Undefined("the text has no words")


def test_unknown() -> None:
    assert unk_rate(1, 4, reads_everything=False) == 0.25
    assert unk_rate(0, 4, reads_everything=False) == 0
    assert isinstance(unk_rate(0, 4, reads_everything=True), Undefined)
    assert isinstance(unk_rate(0, 0, reads_everything=False), Undefined)


def test_round_trip() -> None:
    assert round_trip(3, 4) == 0.75
    assert isinstance(round_trip(0, 0), Undefined)


def test_vocabulary_use() -> None:
    assert vocabulary_use(3, 4) == 0.75
    recipe = replace(WORDPIECE, special_tokens=("[PAD]", "[UNK]", "[CLS]"))
    # a, ##b and [UNK]; [PAD] and [CLS] are never in ordinary text.
    filled = Model(recipe, [b"[PAD]", b"[UNK]", b"[CLS]", b"a", b"##b"])
    assert range_of(filled) == Range(False, 3)
    assert range_of(replace(filled, recipe=replace(recipe, unk_token=None))) == Range(False, 2)


def test_what_reads_everything() -> None:
    assert range_of(model("bpe").model) == Range(True, 270)
    fallback = model("byte-fallback").model
    assert range_of(fallback) == Range(True, len(fallback.tokens) - 1)  # <unk> can't come out
    lacking = [b"<0xZZ>" if token == b"<0x41>" else token for token in fallback.tokens]
    assert not range_of(replace(fallback, tokens=lacking)).reads_everything
    without = [b"??" if token == b"A" else token for token in model("bpe").model.tokens]
    assert not range_of(replace(model("bpe").model, tokens=without)).reads_everything


PREPENDED = replace(UNIGRAM, pre_tokenizers=(), normalizers=("prepend:▁", "replace: =>▁"))
END = replace(BPE_CHARACTERS, pre_tokenizers="whitespace", marker=Marker("end-fused", "</w>"))
START = replace(BPE_CHARACTERS, pre_tokenizers="whitespace", marker=Marker("start", "▁"))


@pytest.mark.parametrize(
    ("recipe", "token", "form"),
    [
        (BPE, b" the", ("start", b"the")),
        (BPE, b"the", ("inside", b"the")),
        (BPE, b" ", ("start", b"")),
        (BPE, b"  the", ("start", b" the")),
        (BPE, b"\n", ("inside", b"\n")),
        (BPE_CHARACTERS, b" the", ("start", b"the")),
        (replace(BPE, pre_tokenizers=r"regex:\s?\w+"), b" the", ("start", b"the")),
        (preset("notebook-bpe"), "Ġthe".encode(), ("start", b"the")),
        (preset("notebook-bpe"), b"the", ("inside", b"the")),
        (START, "▁the".encode(), ("start", b"the")),
        (UNIGRAM, "▁the".encode(), ("start", b"the")),
        (UNIGRAM, "▁".encode(), ("start", b"")),
        (UNIGRAM, b"the", ("inside", b"the")),
        (PREPENDED, "▁the".encode(), ("start", b"the")),
        (WORD, b"the", ("start", b"the")),
        (replace(WORD, pre_tokenizers="gpt2"), b" the", ("start", b"the")),
        (replace(WORD, pre_tokenizers="gpt2"), b"the", ("inside", b"the")),
        (CHAR, b"t", ("inside", b"t")),
        (START, "▁".encode(), ("start", b"")),
        (WORDPIECE, b"the", ("start", b"the")),
        (WORDPIECE, b"##the", ("inside", b"the")),
        (END, b"the</w>", ("end", b"the")),
        (END, b"the", ("open", b"the")),
        (replace(END, marker=Marker("end", "_")), b"the_", ("end", b"the")),
        (replace(END, marker=Marker("end", "_")), b"_", ("end", b"")),
        (replace(END, marker=Marker()), b"the", ("any", b"the")),
    ],
)
def test_canonical_form(recipe, token: bytes, form: tuple[str, bytes]) -> None:  # type: ignore[no-untyped-def]
    assert canonical(recipe, token) == form


def test_jaccard() -> None:
    first = {("start", b"the"), ("inside", b"the"), ("start", b"a")}
    assert jaccard(first, {("start", b"the"), ("end", b"a")}) == 1 / 4
    assert jaccard(first, first) == 1
    assert isinstance(jaccard(set(), set()), Undefined)


def test_overlap_across_markers() -> None:
    byte_level = Model(BPE, [b" the", b"ing", b"the"])
    wordpiece = Model(WORDPIECE, [b"[UNK]", b"the", b"##ing", b"##the"])
    notebook = Model(preset("notebook-bpe"), ["Ġthe".encode(), b"ing", b"the"])
    forms = {canonical_vocabulary(model) for model in (byte_level, wordpiece, notebook)}
    assert forms == {frozenset({("start", b"the"), ("inside", b"ing"), ("inside", b"the")})}


def test_boundaries_inside_words() -> None:
    # a|bc def against ab|c d|ef: none of 1 and 2 shared; then one shared of 1 and 2.
    assert boundary_f1(0, 1, 2) == 0
    assert boundary_f1(1, 1, 2) == 2 / 3
    assert isinstance(boundary_f1(0, 0, 0), Undefined)


def test_counts_add_up() -> None:
    one = Counts(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, {1: 5, 2: 2})
    assert one + NOTHING == one == NOTHING + one
    two = Counts(2, 4, 6, 8, 10, 12, 14, 16, 18, 20, {1: 5, 2: 5, 3: 1})
    assert one + replace(one, id_counts={3: 1, 2: 3}) == two
    assert two.id_counts.keys() == {1, 2, 3}


@pytest.mark.parametrize(
    ("figure", "written"),
    [
        (0.0, "0.0000"),
        (1e-9, "<0.0001"),
        (0.5, "0.5000"),
        (0.99999, ">0.9999"),
        (1.0, "1.0000"),
        (Undefined("why"), "n/a"),
    ],
)
def test_a_share_is_never_rounded_to_none_or_all(figure: float | Undefined, written: str) -> None:
    share = next(metric for metric in METRICS if metric.kind == "share")
    assert share.written(figure) == written


def test_the_figures_come_from_the_counts() -> None:
    # 8 ids once, one 8 times, two 12 times: 40 tokens.
    ids = {**dict.fromkeys(range(8), 1), 8: 8, 9: 12, 10: 12}
    counts = Counts(120, 100, 20, 21, 7, 14, 40, 4, 10, 5, ids)
    wordpiece = model("wordpiece").model
    baseline = replace(counts, tokens=50)
    reach = range_of(wordpiece)
    found = {metric.name: metric.figure(reach, counts, baseline) for metric in METRICS}
    assert found == {
        "tokens": 40,
        "bytes_per_token": 3.0,
        "characters_per_token": 2.5,
        "nsl": 0.8,
        "fertility": 40 / 21,
        "continued_words": 2 / 3,
        "strr": 1 / 3,
        "unk_rate": 0.1,
        "round_trip": 0.5,
        "vocabulary_use": 11 / 34,
        # p^2.5 is 8 of 1/40^2.5, one of 0.2^2.5, two of 0.3^2.5.
        "renyi_efficiency": pytest.approx(
            -math.log(8 * 0.025**2.5 + 0.2**2.5 + 2 * 0.3**2.5, 34) / 1.5
        ),
        "shannon_efficiency": pytest.approx(
            -(0.2 * math.log(0.025, 34) + 0.2 * math.log(0.2, 34) + 0.6 * math.log(0.3, 34))
        ),
    }
