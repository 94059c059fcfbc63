"""The benchmark's machinery, on a tiny text and with nothing timed: does every kind of row
run, are digests compared, and is a wrong result shown as wrong and not as fast?"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from tests.bench import __main__ as suite
from tests.bench import rows
from tests.bench.driver import run_job
from tests.bench.job import Job, Sample, ids_from_bytes, ids_to_bytes
from tests.bench.judge import REFERENCE, RIGHT, UNCHECKED, WRONG, Line, judge, overlap
from tests.bench.report import cells, figures, footnotes, markdown, show
from tests.bench.rows import Contender, Row, Sizes
from tests.bench.texts import Materials

pytest.importorskip("tokenizers")

TINY = Sizes(bpe=400, wordpiece=400, unigram=(200, 300), notebook_bpe=200, notebook_wordpiece=400)
ABSENT = "is not installed"


@pytest.fixture(scope="module")
def materials(tmp_path_factory: pytest.TempPathFactory) -> Materials:
    """The start of the bundled sample under every text's name, corpora or none."""
    folder = tmp_path_factory.mktemp("bench")
    return Materials(folder, limit=20_000, corpora=folder / "nothing")


@pytest.fixture(scope="module")
def lines(materials: Materials) -> list[Line]:
    """One row of each kind, one round."""
    kinds = {(row.section, row.title): row for row in reversed(rows.all_rows(TINY))}
    found = []
    for row in reversed(kinds.values()):
        small = replace(row, again=min(row.again, 1))
        found += suite.measure_row(small, materials, 1, lambda _: None)
    return found


def test_every_kind_of_row_comes_to_the_right_result(lines: list[Line]) -> None:
    for line in lines:
        if line.verdict.endswith(ABSENT):
            continue
        exact = next(
            (not c.own_rules for c in line.row.contenders if c.name == line.contender), False
        )
        if exact:
            # Peers of the extra `bench` that are not installed measure nothing.
            measured = {
                other.contender
                for other in lines
                if other.row == line.row and not other.verdict.endswith(ABSENT)
            }
            alone = measured & {c.name for c in line.row.contenders} == {line.contender}
            assert line.verdict in ((UNCHECKED,) if alone else (RIGHT, REFERENCE)), line
            assert len(line.digest) == 16, line
        elif line.contender == "in the document":
            assert line.seconds in (931, 256)
        else:
            assert line.verdict.startswith("own rules"), line
        assert line.ratio is not None, line
    assert {line.row.section for line in lines} == {
        "training",
        "encoding",
        "decoding",
        "processes",
    }


def test_ours_is_compared_with_hugging_face(lines: list[Line]) -> None:
    shown: dict[tuple[Row, str], dict[str, str]] = {}
    for line in lines:
        if any(c.name == rows.HF and not c.own_rules for c in line.row.contenders):
            shown.setdefault((line.row, line.pass_), {})[line.contender] = line.digest
    assert shown
    for digests in shown.values():
        assert digests[rows.TOKCTL] == digests[rows.HF] != ""


def test_the_page_has_every_line_and_no_path_of_this_machine(
    lines: list[Line], materials: Materials
) -> None:
    page = markdown(lines, materials, {"tokctl": "0", "rustbpe": None}, 1, "d1gest")
    assert page.count("\n| ") == len(lines) + 4  # and four heads
    assert "`d1gest`" in page
    assert "Not installed, so not measured: rustbpe." in page
    assert "the start of the bundled sample" in page
    assert str(materials.folder) not in page
    assert footnotes(lines)


BOOKS = Row(
    "encoding",
    "ids",
    "books",
    (
        Contender(rows.TOKCTL, "tokctl_", "encode_list"),
        Contender(rows.HF, "huggingface", "encode_list"),
        Contender("fast", "gigatoken_", "encode_list"),
    ),
    vocab=TINY.bpe,
    model="bpe",
)


def sample(seconds: float, *digests: str) -> Sample:
    return Sample(first=seconds, memory=1, digests=digests)


def verdicts(lines: list[Line]) -> dict[str, str]:
    return {line.contender: line.verdict for line in lines}


def test_a_wrong_digest_has_no_speed(materials: Materials) -> None:
    judged = judge(
        BOOKS,
        {
            rows.TOKCTL: [sample(2, "a"), sample(2, "a")],
            rows.HF: [sample(8, "a"), sample(9, "a")],
            "fast": [sample(0.001, "a"), sample(0.001, "b")],  # wrong in one round of two
        },
    )
    assert verdicts(judged) == {rows.TOKCTL: RIGHT, rows.HF: REFERENCE, "fast": WRONG}
    assert [line.ratio for line in judged] == [(1, 1, 1), (4.25, 4, 4.5), None]
    assert cells(judged[2], materials)[3:6] == (WRONG, "-", WRONG)
    assert cells(judged[2], materials)[7:] == ("b", WRONG)
    console = Console(file=io.StringIO(), width=200)
    show(judged, materials, console)
    assert console.file.getvalue().count(WRONG) == 3  # type: ignore[attr-defined]
    assert f"| {WRONG} | - | {WRONG} |" in markdown(judged, materials, {}, 2, "")


@pytest.mark.parametrize(
    ("ours", "theirs", "fast", "expected", "result"),
    [
        ("a", "b", "b", None, (WRONG, REFERENCE, RIGHT)),  # ours can be wrong, too
        ("a", "b", "a", "a", (RIGHT, WRONG, RIGHT)),  # the text itself decides
        ("a", "b", "b", "c", (WRONG, WRONG, WRONG)),
    ],
)
def test_who_is_right(
    ours: str, theirs: str, fast: str, expected: str | None, result: tuple[str, ...]
) -> None:
    samples = {
        name: [sample(1, digest)]
        for name, digest in ((rows.TOKCTL, ours), (rows.HF, theirs), ("fast", fast))
    }
    judged = judge(BOOKS, samples, expected)
    assert tuple(verdicts(judged).values()) == result
    if result[0] == WRONG:
        assert all(line.ratio is None for line in judged)


def test_a_result_that_changes_between_passes_is_wrong() -> None:
    samples = {
        rows.TOKCTL: [sample(1, "a", "a")],
        rows.HF: [sample(1, "a", "b")],
        "fast": [Sample(error="no such file")],
    }
    assert verdicts(judge(BOOKS, samples)) == {
        rows.TOKCTL: REFERENCE,
        rows.HF: WRONG,
        "fast": "not measured: no such file",
    }


def test_a_wrong_result_of_a_real_process_is_seen(
    materials: Materials, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    liar = Contender("liar", "tokctl_", "train_bpe")  # its digest is that of merges
    row = replace(BOOKS, contenders=(*BOOKS.contenders[:2], liar))
    judged = suite.measure_row(row, materials, 1, lambda _: None)
    assert verdicts(judged) == {rows.TOKCTL: RIGHT, rows.HF: REFERENCE, "liar": WRONG}

    one_row: Callable[[Sizes], list[Row]] = lambda _: [row]  # noqa: E731
    monkeypatch.setattr(suite, "all_rows", one_row)
    monkeypatch.setattr(suite, "QUICK_LIMIT", 20_000)
    assert suite.main(["--quick"]) == 1
    assert WRONG in capsys.readouterr().out


def test_a_run_during_which_tokctl_changed_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    prints = iter(["before", "after"])
    monkeypatch.setattr(suite, "fingerprint", lambda: next(prints))
    monkeypatch.setattr(suite, "all_rows", lambda _: [])
    monkeypatch.setattr(suite, "PAGE", tmp_path / "page.md")
    assert suite.main(["--write"]) == 1
    assert "tokctl changed during the run" in capsys.readouterr().err
    assert not (tmp_path / "page.md").exists()


def test_a_job_that_fails_says_why(tmp_path: Path) -> None:
    job = Job("tokctl_", "encode_list", str(tmp_path / "no.txt"), str(tmp_path), model="no.json")
    found = run_job(job)
    assert found.error is not None
    assert "can't read the model no.json" in found.error


def test_ids_travel_as_32_bit_numbers() -> None:
    data = ids_to_bytes([1, 65536, 2**32 - 1])
    assert data == bytes.fromhex("01000000 00000100 ffffffff")
    assert list(ids_from_bytes(data)) == [1, 65536, 2**32 - 1]


def test_ratios_are_never_written_with_an_exponent() -> None:
    assert [figures(ratio) for ratio in (0.2012, 3, 17.46, 999.4, 999.9, 1951.8)] == [
        "0.201",
        "3",
        "17.5",
        "999",
        "1,000",
        "1,952",
    ]


def test_overlap_is_the_jaccard_index() -> None:
    assert overlap(frozenset("abc"), frozenset("bcd")) == 0.5
    assert overlap(frozenset(), frozenset()) == 1
