"""What the benchmark makes of its samples: verdicts, ratios, targets, curves and the page. No
process is started; every figure here is made up."""

from __future__ import annotations

import io
import itertools
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from tests.tools.bench import chart, curves, results, rows, targets
from tests.tools.bench.job import Sample
from tests.tools.bench.judge import (
    REFERENCE,
    RIGHT,
    UNCHECKED,
    WRONG,
    Line,
    judge,
    overlap,
)
from tests.tools.bench.likelihood import PENALTY, SPACE, best_cost, bits_per_character
from tests.tools.bench.report import cells, markdown, show, targets_table
from tests.tools.bench.results import Measured
from tests.tools.bench.rows import Contender, Reported, Row
from tests.tools.bench.work.growth import CURVES

BOOKS = Row(
    "encoding",
    "ids",
    "books",
    (
        Contender(rows.TOKCTL, "tokctl_", "encode_list"),
        Contender(rows.HF, "huggingface", "encode_list"),
        Contender("fast", "gigatoken_", "encode_list"),
    ),
    model="bpe",
)


def sample(seconds: float, *digests: str, memory: int = 1) -> Sample:
    return Sample(first=seconds, cpu=(2 * seconds,), memory=memory, digests=digests)


def judged(**samples: list[Sample]) -> list[Line]:
    named = {"ours": rows.TOKCTL, "hf": rows.HF, "fast": "fast"}
    return judge(BOOKS, {named[name]: found for name, found in samples.items()})


def verdicts(lines: list[Line]) -> list[str]:
    return [line.verdict for line in lines]


def part(lines: list[Line], size: int = 1_000_000) -> Measured:
    return Measured(lines[0].row, tuple(lines), size, "a text")


def test_other_ids_have_no_speed() -> None:
    lines = judged(
        ours=[sample(2, "a"), sample(2, "a")],
        hf=[sample(8, "a"), sample(9, "a")],
        fast=[sample(0.001, "b"), sample(0.001, "b")],
    )
    assert verdicts(lines) == [RIGHT, REFERENCE, "other ids"]
    assert [line.ratio for line in lines] == [(1, 1, 1), (4, 4, 4.5), None]
    assert cells(lines[2], part(lines))[3:7] == (WRONG, "-", WRONG, WRONG)
    assert cells(lines[2], part(lines))[8:] == ("b", "other ids")
    assert cells(lines[1], part(lines))[5:7] == ("0.0625 MB/s", "0.125 MB/s")
    console = Console(file=io.StringIO(), width=200)
    show([part(lines)], console)
    assert console.file.getvalue().count(WRONG) == 3  # type: ignore[attr-defined]
    assert f"| {WRONG} | - | {WRONG} |" in markdown([part(lines)], {}, 2, "", "")


def test_what_changes_between_rounds_or_passes_is_wrong() -> None:
    lines = judged(
        ours=[sample(1, "a", "a"), sample(1, "a", "a")],
        hf=[sample(1, "a", "b")],
        fast=[sample(1, "a"), sample(1, "b")],
    )
    assert verdicts(lines) == [REFERENCE] + ["other ids, not the same twice"] * 2


@pytest.mark.parametrize(
    ("ours", "theirs", "fast", "expected", "result"),
    [
        ("a", "b", "b", None, (WRONG, REFERENCE, RIGHT)),  # ours can be wrong, too
        ("a", "b", "a", "a", (RIGHT, "other ids", RIGHT)),  # the text itself decides
        ("a", "b", "b", "c", (WRONG, "other ids", "other ids")),
    ],
)
def test_who_is_right(
    ours: str, theirs: str, fast: str, expected: str | None, result: tuple[str, ...]
) -> None:
    samples = {
        name: [sample(1, digest)]
        for name, digest in ((rows.TOKCTL, ours), (rows.HF, theirs), ("fast", fast))
    }
    lines = judge(BOOKS, samples, expected)
    assert tuple(verdicts(lines)) == result
    if result[0] == WRONG:
        assert all(line.ratio is None for line in lines)


def test_who_fails_is_named_and_nobody_else_is_compared() -> None:
    lines = judged(ours=[sample(1, "a")], hf=[Sample(error="no such file")], fast=[])
    assert verdicts(lines) == [UNCHECKED, "not measured: no such file", "not measured"]


def test_fewer_rounds_are_compared_with_ours_in_the_same() -> None:
    lines = judged(
        ours=[sample(1, "a"), sample(100, "a")],
        hf=[sample(7, "a")],
        fast=[sample(2, "a"), sample(50, "a")],
    )
    assert [line.ratio for line in lines[1:]] == [(7, 7, 7), (2, 0.5, 2)]


def test_the_processors_time_is_compared() -> None:
    samples = {
        rows.TOKCTL: [Sample(first=9, again=(8,), cpu=(1, 2), digests=("a",))],
        "fast": [Sample(first=3, again=(4,), cpu=(3, 5), digests=("a",))],
    }
    both = (BOOKS.contenders[0], BOOKS.contenders[2])
    lines = judge(replace(BOOKS, passes=rows.BOTH, contenders=both), samples)[1::2]
    assert [line.ratio and line.ratio[0] for line in lines] == [3, 2.5]
    assert [line.seconds for line in lines] == [3, 4]
    assert [line.cpu for line in lines] == [3, 5]


def test_what_others_report_is_never_measured() -> None:
    paper = Reported(593, "a paper", "another text")
    for reported, ratio in ((paper, None), (replace(paper, same_work=True), (296.5, 296.5, 296.5))):
        row = replace(BOOKS, reported=reported, contenders=BOOKS.contenders[:1])
        lines = judge(row, {rows.TOKCTL: [sample(1, "a")]})
        found = cells(lines[1], part(lines))
        assert lines[1].ratio == ratio
        assert found[2:3] + found[5:] == ("a paper", "-", "0.00169 MB/s", "-", "-", "another text")
        assert not targets.worst_cells([part(lines)])
        assert targets.beside(lines, targets.FASTEST) is None


def test_overlap_is_the_jaccard_index() -> None:
    assert overlap(frozenset("abc"), frozenset("bcd")) == 0.5
    assert overlap(frozenset(), frozenset()) == 1


def test_ratios_are_never_written_with_an_exponent() -> None:
    found = [targets.figure(ratio) for ratio in (0.2012, 3, 17.46, 999.4, 999.9, 1951.8)]
    assert found == ["0.201", "3", "17.5", "999", "1,000", "1,952"]


# -- targets -------------------------------------------------------------------------------

GPT2 = (
    Contender(rows.TOKCTL, "tokctl_", ""),
    Contender("gigatoken", "gigatoken_", ""),
    Contender("slow", "tiktoken_", "", "its own rules"),
    Contender(rows.ONE_THREAD, "tokctl_", ""),
)


def made(ours: float, ratios: dict[str, float | None], **more: object) -> Measured:
    row = Row("encoding", "ids", "books", GPT2, key="key")
    lines = [
        Line(row, rows.TOKCTL, "first", 9, (1, 1, 1), 50, "", RIGHT, cpu=ours, **more),  # type: ignore[arg-type]
        Line(row, rows.DOCUMENT, "first", 1, (0.01, 0.01, 0.01), None, "", ""),
    ]
    for name, ratio in ratios.items():
        shown = None if ratio is None else (ratio, ratio, ratio)
        exact = name != "slow"
        lines.append(
            Line(row, name, "first", 1, shown, 40, "", "", wrong=ratio is None, exact=exact)
        )
    return Measured(row, tuple(lines), 1, "")


def verdict(check: targets.Check, *measured: Measured) -> tuple[str, str]:
    outcome = targets.outcome(targets.Target("", "", check), measured)
    return outcome.verdict, outcome.found


def test_a_target_is_reached_where_every_row_reaches_it() -> None:
    check = targets.ratio(1.3, "key", "gigatoken")
    fast, slow = made(1, {"gigatoken": 1.3}), made(1, {"gigatoken": 1.29})
    many = verdict(check, *[fast] * 9, slow)
    assert many == (targets.MISSED, "books 1.29x; books 1.3x; books 1.3x; better in 7 more")
    middle = targets.typical(1.3, ["key"], "gigatoken", "first")
    assert verdict(middle, fast, fast, slow) == (targets.REACHED, "of 3 cells 1.3x")
    assert verdict(middle, fast, slow, slow)[0] == targets.MISSED
    assert verdict(middle, fast, made(1, {}))[0] == targets.ABSENT
    assert verdict(check, fast) == (targets.REACHED, "books 1.3x")
    assert verdict(check, slow) == (targets.MISSED, "books 1.29x")
    assert verdict(check, fast, slow)[0] == targets.MISSED
    assert verdict(check) == (targets.ABSENT, "")
    # A peer that did not run says nothing, and does not let the other row decide alone.
    assert verdict(check, made(1, {}))[0] == targets.ABSENT
    assert verdict(check, fast, made(1, {}))[0] == targets.MISSED


def test_a_wrong_result_reaches_no_target() -> None:
    wrong = made(1, {"gigatoken": None}, wrong=True)
    for check in (targets.ratio(0, "key"), targets.own(99, "key")):
        assert verdict(check, wrong)[0] == targets.MISSED


def test_the_fastest_peer_is_the_one_that_counts() -> None:
    found = made(1, {"gigatoken": 5.0, "slow": 3.0, rows.ONE_THREAD: 1.0})
    assert verdict(targets.ratio(4, "key"), found) == (targets.MISSED, "books 3x (slow)")
    exact = targets.ratio(4, "key", exact=True)
    assert verdict(exact, found) == (targets.REACHED, "books 5x (gigatoken)")
    other_ids = made(1, {"gigatoken": None, "slow": 3.0})
    assert verdict(exact, other_ids)[0] == targets.ABSENT


def scaled(size: int, seconds: float, cpu: float = 1.0, wrong: bool = False) -> Measured:
    """A row with tokctl on two threads and on one, on `bytes` and on `str`, and a peer."""
    row = Row("scale", "r50k", f"scripts-{size}", GPT2, key="key", at=size, passes=rows.BOTH)
    lines = []
    for pass_ in rows.BOTH:
        ours = (1, 1, 1)
        lines += [
            Line(row, rows.TOKCTL, pass_, seconds, ours, 1, "", "", wrong=wrong, cpu=cpu),
            Line(row, rows.ONE_THREAD, pass_, 1, ours, 1, "", "", cpu=2.0),
            Line(row, rows.BYTES, pass_, 1, ours, 1, "", "", cpu=2.0),
            Line(row, rows.CONVERSION, pass_, 1, ours, 1, "", "", cpu=0.2),
            Line(row, "gigatoken", pass_, 1, (1 / seconds,) * 3, 1, "", "", cpu=3.0),
        ]
    return Measured(row, tuple(lines), size, "")


def test_processors_time_str_growth_and_speed() -> None:
    for cpu, reached in ((2.2, targets.REACHED), (2.3, targets.MISSED)):
        check = targets.processors(1.1, "key", rows.BOTH)
        assert verdict(check, scaled(10, 1, cpu))[0] == reached
    for cpu, reached in ((2.5, targets.REACHED), (2.6, targets.MISSED)):
        check = targets.from_str(1.15, ["key"], "scripts")
        assert verdict(check, scaled(10, 1, cpu))[0] == reached
        assert verdict(targets.from_str(1.15, ["key"], "code"), scaled(10, 1, cpu)) == (
            (targets.ABSENT, "")
        )
    check = targets.growth(1.2, ["key"], "again")
    small = scaled(10**7, 9.0, 1.0)
    for seconds, reached in ((119.0, targets.REACHED), (121.0, targets.MISSED)):
        assert verdict(check, small, scaled(10**9, 9.0, seconds))[0] == reached
    assert verdict(check, small)[0] == targets.ABSENT
    assert verdict(check, small, scaled(10**9, 1, wrong=True))[0] == targets.ABSENT
    speed = targets.rate(100, "key")
    assert verdict(speed, scaled(10**8, 9.0, 1.0)) == (targets.REACHED, "r50k 100 MB/s")
    assert verdict(speed, scaled(10**8, 9.0, 1.1))[0] == targets.MISSED
    assert verdict(speed, scaled(10**8, 9.0, 1.0, wrong=True))[0] == targets.MISSED


def test_the_headline_is_the_worst_cell() -> None:
    found = [scaled(10, 0.5), scaled(20, 2.0), scaled(30, 1.0)]
    (worst,) = targets.worst_cells(found)
    assert (worst.ratio, worst.peer, worst.clock) == (0.5, "gigatoken", 0.5)
    assert (worst.cells, worst.slower) == (6, 2)
    assert worst.place == "r50k, scripts-20, first"
    page = markdown(found, {}, 1, "", "")
    assert "In its worst cell tokctl is 0.5 times as fast" in page
    assert "| 6 | 2 | r50k, scripts-20, first | gigatoken | 0.5 | 0.5 |" in page
    # One that makes the result by other rules, or a wrong one, is no measure.
    assert targets.worst_cells([made(1, {"slow": 0.1, "gigatoken": None})]) == []


def test_own_figures_memory_likelihood_and_vocabulary() -> None:
    found = made(0.5, {"gigatoken": 5.0})
    assert verdict(targets.own(0.5, "key"), found) == (targets.REACHED, "books 0.5 s")
    assert verdict(targets.own(0.49, "key"), found)[0] == targets.MISSED
    assert verdict(targets.own(49, "key", what="memory"), found)[0] == targets.MISSED
    assert verdict(targets.leanest("key"), found)[0] == targets.MISSED
    row = found.row
    for ours, reached in ((2.0, targets.REACHED), (2.2, targets.MISSED)):
        lines = (
            Line(row, rows.TOKCTL, "first", 1, None, 30, "", "", bits=ours),
            Line(row, "gigatoken", "first", 1, None, 40, "", "", bits=2.1, overlap=ours - 1.1),
        )
        again = Measured(row, lines, 1, "")
        assert verdict(targets.likelihood("key", "gigatoken"), again)[0] == reached
        assert verdict(targets.leanest("key"), again)[0] == targets.REACHED
        share = targets.same_vocabulary("key", "gigatoken", 1.0)
        other = {targets.REACHED: targets.MISSED, targets.MISSED: targets.REACHED}
        assert verdict(share, again)[0] == other[reached]


def test_every_target_has_rows_in_a_whole_run() -> None:
    from tests.tools.bench.work import all_rows

    keys = {row.key for row in all_rows(rows.Sizes())}
    empty = [
        Measured(row, tuple(judge(row, {c.name: [] for c in row.contenders})), 1, "")
        for row in all_rows(rows.Sizes())
    ]
    for outcome in targets.outcomes(empty):
        assert outcome.findings, outcome.target
        assert outcome.verdict == targets.ABSENT
    assert {"train-dna", *(curve.key for curve in CURVES)} <= keys
    table = "\n".join(targets_table(empty))
    assert "Missed: none." in table
    assert f"Not measured: {targets.TARGETS[0].work}" in table


def test_the_target_that_is_farthest_comes_first() -> None:
    far, near = made(0.07, {}), made(0.6, {})
    parts = [
        replace(found, row=replace(found.row, key=f"train-notebook-{key}"))
        for key, found in (("wordpiece", near), ("bpe", far))
    ]
    first, second, third, *_ = targets.outcomes(parts)
    assert [first.found, second.found] == ["books 0.07 s", "books 0.6 s"]
    assert [each.verdict for each in (first, second, third)] == [
        *(targets.MISSED, targets.MISSED, targets.ABSENT)
    ]


# -- growth --------------------------------------------------------------------------------


def grown() -> list[Measured]:
    found = []
    for key, unit in {curve.key: curve.unit for curve in CURVES}.items():
        for at in (10**7, 10**9) if unit == "bytes" else (1_000, 128_000):
            row = Row("growth", f"{key} {at}", f"t-{at}", GPT2, key=key, at=at, model="gpt2")
            lines = []
            for pass_ in rows.BOTH:
                lines += [
                    Line(row, rows.TOKCTL, pass_, 9, (1, 1, 1), 1, "", RIGHT, cpu=0.02),
                    Line(row, rows.ONE_THREAD, pass_, 9, (1, 1, 1), 1, "", RIGHT, cpu=0.01),
                    Line(row, "gigatoken", pass_, 9, None, 1, "", "other", wrong=True, cpu=0.01),
                    Line(row, "slow", pass_, 9, (3, 3, 3), 1, "", "own", exact=False, cpu=0.06),
                ]
            found.append(Measured(row, tuple(lines), at // 5 if unit == "bytes" else 10**7, ""))
    return found


def test_the_fastest_peer_of_a_curve_is_one_with_the_right_result() -> None:
    points = curves.points(list(reversed(grown())), CURVES[0])
    assert {name: list(by) for name, by in points.items()} == {
        ("t", rows.TOKCTL): [10**7, 10**9],
        ("t", "slow"): [10**7, 10**9],
    }
    assert points["t", rows.TOKCTL][10**7] == pytest.approx(0.01)
    table = curves.growth_tables(grown())
    assert len(table) == 2 * 3 + len(CURVES)
    assert table[0].startswith("| work | text | 10 MB | 1 GB | 1 GB : 10 MB | fastest peer, 1 GB |")
    assert table[2].endswith(", first pass | t | 0.0100 | 0.0001 | 0.01 | slow | 3 |")
    assert table[-2].endswith("| t | 0.0020 | 0.0020 | slow | 3 |")
    for head in (table[0], table[8]):
        assert head.count("|") == table[table.index(head) + 1].count("|")


def test_odd_shapes_are_beside_english() -> None:
    found = []
    for title, seconds in (("english", 0.1), ("one line", 0.3)):
        row = Row("odd", title, title, GPT2[:2], key="odd", model="gpt2")
        lines = (
            Line(row, rows.TOKCTL, "first", 9, (1, 1, 1), 1, "", RIGHT, cpu=seconds),
            Line(row, "gigatoken", "first", None, None, None, "", "not measured: why"),
        )
        found.append(Measured(row, lines, 1_000_000, ""))
    assert curves.odd_table(found)[-1] == ("| one line | 1 MB | 0.3000 | 3 | not measured | - |")


def test_the_chart_is_small_and_the_same_for_the_same_figures(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    one, two = tmp_path / "one.svg", tmp_path / "two.svg"
    chart.draw(grown(), one)
    chart.draw(grown(), two)
    picture = one.read_text(encoding="utf-8")
    assert picture == two.read_text(encoding="utf-8")
    assert len(picture) < 200_000
    for curve in CURVES:
        assert curve.title in picture
    assert chart.LOOKS[rows.TOKCTL][0] in picture
    assert chart.LOOKS["gigatoken"][0] not in picture  # its ids are others
    assert str(tmp_path) not in picture
    chart.draw([], two)  # a run that measured nothing of it
    assert two.stat().st_size < one.stat().st_size


# -- results -------------------------------------------------------------------------------


def test_results_come_back_as_they_were(tmp_path: Path) -> None:
    file = tmp_path / "results.jsonl"
    lines = judged(ours=[sample(2, "a")], hf=[sample(8, "a")], fast=[sample(1, "b")])
    known = part(lines)
    results.append(file, known, "f", 3)
    with file.open("a", encoding="utf-8") as cut_off:
        cut_off.write('{"row": "ab')
    assert results.read(file, [BOOKS], "f", 3) == {BOOKS: known}
    # Another tokctl, another number of rounds, another row: measured again.
    assert results.read(file, [BOOKS], "g", 3) == {}
    assert results.read(file, [BOOKS], "f", 2) == {}
    assert results.read(file, [Row("encoding", "other", "books", ())], "f", 3) == {}
    assert results.read(tmp_path / "none", [BOOKS], "f", 3) == {}


# -- likelihood ----------------------------------------------------------------------------

PIECES = {SPACE: 0.1, "a": 0.2, "b": 0.1, "ab": 0.25, SPACE + "a": 0.05, "ba": 0.2, "c": 0.1}


def every_cost(word: str, costs: dict[str, float], unknown: float) -> float:
    """The definition: the least over all ways to cut the word."""
    found = []
    for cuts in itertools.product((False, True), repeat=len(word) - 1):
        places = [0, *(n for n, cut in enumerate(cuts, start=1) if cut), len(word)]
        pieces = [word[a:b] for a, b in itertools.pairwise(places)]
        if all(piece in costs or len(piece) == 1 for piece in pieces):
            found.append(sum(costs.get(piece, unknown) for piece in pieces))
    return min(found)


@pytest.mark.parametrize("word", ["▁abab", "▁baba", "▁abcx", "▁a", "▁xx", "▁aabbaabab"])
def test_the_best_segmentation_is_the_best_of_all(word: str) -> None:
    costs = {piece: -math.log(chance) for piece, chance in PIECES.items()}
    unknown = max(costs.values()) + PENALTY
    assert best_cost(word, costs, unknown, 2) == pytest.approx(every_cost(word, costs, unknown))


def test_bits_are_those_of_the_definition_and_scale_does_not_matter() -> None:
    scores = {piece: math.log(chance) for piece, chance in PIECES.items()}
    text = "ab ab\nba cab a"
    costs = {piece: -score for piece, score in scores.items()}
    words = Counter(text.split())
    spent = sum(
        n * every_cost(SPACE + w, costs, max(costs.values()) + PENALTY) for w, n in words.items()
    )
    characters = sum(n * (len(w) + 1) for w, n in words.items())
    bits = bits_per_character(text, scores)
    assert bits == pytest.approx(spent / math.log(2) / characters)
    half = {piece: score - math.log(2) for piece, score in scores.items()}
    assert bits_per_character(text, half) == pytest.approx(bits)
    # A better fit takes fewer bits.
    assert bits_per_character("ab ab ab", scores) < bits_per_character("cc cc cc", scores)
    assert bits_per_character("", scores) == 0
