"""The benchmark's machinery, on a tiny text and with nothing timed: does every kind of row
run and come to the right result, and is nothing that fails dropped silently?"""

from __future__ import annotations

import json
import random
import re
import sys
from dataclasses import replace
from math import inf
from pathlib import Path

import pytest

from tests.tools.bench import __main__ as suite
from tests.tools.bench import driver, made, page, recent, rows, work
from tests.tools.bench.driver import measure, presentable, run_job
from tests.tools.bench.job import Job, Sample, ids_from_bytes, ids_to_bytes
from tests.tools.bench.judge import REFERENCE, RIGHT, UNCHECKED, WRONG, judge
from tests.tools.bench.memory import memory_page
from tests.tools.bench.report import footnotes, markdown
from tests.tools.bench.results import Measured
from tests.tools.bench.rows import Contender, Row, Sizes
from tests.tools.bench.texts import Materials, zstd

pytest.importorskip("tokenizers")

TINY = Sizes(
    bpe=400,
    wordpiece=400,
    unigram=(400, 500),
    notebook_bpe=200,
    notebook_wordpiece=400,
    command=400,
    texts=("books",),
    scale=(20_000,),
    scale_vocab=500,
    code=20_000,
    code_vocab=400,
    files=20_000,
    forms=10_000,
    lines=20_000,
    dna=2_000,
    growth_vocab=(400,),
    odd=2_000,
    odd_long=4_000,
    added=50,
    memory=(20_000, 40_000),
    recent=(20_000, 40_000, 60_000),
)
ABSENT = "is not installed"
#: What peers are known to do otherwise, by model or text. All others give the right ids.
OTHERWISE = {
    ("tokie", "unigram"),
    ("tokie", "sentencepiece-unigram"),
    ("tokie", "sentencepiece-bpe"),
    ("tokie", "sentencepiece-unigram-scripts"),
    ("tokie", "sentencepiece-bpe-scripts"),
    ("iree", "english-20kB"),
    ("tiktoken", "random bytes@2000"),  # takes text alone
}
#: The letters of each kind of long text.
LARGE = {
    "english": "abcdefghiklmnoprstuvy",
    "code": "abcdefghilmnoprstx_(){};",
    "scripts": "абвгдежзиклмн日月火水木金土山川田",
}


def quiet(_: str) -> None:
    pass


def natural(letters: str, lines: int) -> bytes:
    """Words as frequent as Zipf's law makes them, their number growing with the text."""
    source = random.Random(letters)
    words: list[str] = []
    found = []
    for number in range(lines * 8):
        if source.random() < 3 / (3 + number**0.5):
            words.append("".join(source.choices(letters, k=source.randrange(4, 12))))
        found.append(words[-1] if not number else source.choice(words))
    rows = (" ".join(found[at : at + 8]) for at in range(0, len(found), 8))
    return "".join(f"{row}.\n" for row in rows).encode()


@pytest.fixture(scope="module")
def materials(tmp_path_factory: pytest.TempPathFactory) -> Materials:
    """The start of the bundled sample under every short text's name, corpora or none; long ones
    of made words, to be varied."""
    folder = tmp_path_factory.mktemp("bench")
    nothing = folder / "nothing"
    (nothing / "large").mkdir(parents=True)
    for kind, letters in LARGE.items():
        packed = zstd.compress(natural(letters, 120))
        (nothing / "large" / f"{kind}.txt.zst").write_bytes(packed)
    return Materials(folder, limit=20_000, corpora=nothing, vocabularies=nothing)


@pytest.fixture(scope="module")
def measured(materials: Materials) -> list[Measured]:
    """One row of each kind, one round."""
    kinds = {
        (row.section, row.model, row.key, row.title if row.key in ("", "odd") else ""): row
        for row in reversed(
            [*work.all_rows(TINY), *work.memory_rows(TINY), *work.recent_rows(TINY)]
        )
    }
    found = []
    for row in reversed(kinds.values()):
        small = replace(row, again=min(row.again, 1))
        found.append(suite.measure_row(small, materials, 1, quiet))
    return found


@pytest.mark.slow
def test_every_kind_of_row_comes_to_the_right_result(measured: list[Measured]) -> None:
    assert {part.row.section for part in measured} == {
        *("scale", "encoding", "decoding", "training", "processes", "growth", "odd", "memory")
    }
    for part in measured:
        here = [line for line in part.lines if not line.verdict.endswith(ABSENT)]
        for line in here:
            if (reported := part.row.reported) and line.contender == reported.source:
                assert line.seconds == reported.seconds
                assert (line.ratio is None) != reported.same_work
                assert line.memory is None and not line.digest
                continue
            places = {part.row.model, part.row.text}
            if places & {place for name, place in OTHERWISE if name == line.contender}:
                assert line.wrong or line.seconds is None, f"no longer otherwise: {line}"
                assert line.verdict.startswith(("other ", "not measured"))
                continue
            if line.exact:
                # Which peers there are depends on what is installed. (Decoded ids are held
                # against the text as well, with or without one.)
                others = {other.verdict for other in here if other.contender != line.contender}
                compared = not others.isdisjoint({RIGHT, REFERENCE})
                allowed = {RIGHT, REFERENCE} if compared else {RIGHT, REFERENCE, UNCHECKED}
                assert line.verdict in allowed, line
                assert len(line.digest) == 16, line
            else:
                # Where nothing is tied, they come to the same.
                assert line.verdict.startswith(("own rules", RIGHT)), line
            assert line.ratio is not None, line


@pytest.mark.slow
def test_every_contender_is_in_its_row(measured: list[Measured]) -> None:
    for part in measured:
        for pass_ in part.row.passes:
            shown = [line.contender for line in part.lines if line.pass_ == pass_]
            named = [contender.name for contender in part.row.contenders]
            reported = [part.row.reported.source] if part.row.reported else []
            assert shown == named + reported


@pytest.mark.slow
def test_ours_is_compared_with_hugging_face(measured: list[Measured]) -> None:
    compared = 0
    for part in measured:
        digests = {line.contender: line.digest for line in part.lines if line.exact}
        if rows.HF in digests:
            compared += 1
            assert digests[rows.TOKCTL] == digests[rows.HF] != ""
    assert compared >= 10


@pytest.mark.slow
def test_unigram_models_are_scored_alike(measured: list[Measured]) -> None:
    (part,) = [part for part in measured if part.row.key == "train-unigram"]
    bits = {line.contender: line.bits for line in part.lines}
    assert all(bits[name] for name in bits if not name.endswith(ABSENT))


@pytest.mark.slow
def test_the_page_has_every_line_and_no_path_of_this_machine(
    measured: list[Measured], materials: Materials
) -> None:
    page = markdown(measured, {"tokctl": "0", "rustbpe": None}, 1, "d1gest", "picture.svg")
    for part in measured:
        for line in part.lines:
            assert f"| {part.row.text} | {line.contender} |" in page
    assert "`d1gest`" in page
    assert "(picture.svg)" in page
    assert "Not installed, so not measured: rustbpe." in page
    assert "the start of the bundled sample" in page
    assert str(materials.folder) not in page
    assert str(Path(sys.prefix)) not in page
    assert footnotes(measured)


@pytest.mark.slow
def test_parity_has_the_merges_of_hugging_face(measured: list[Measured]) -> None:
    (part,) = [part for part in measured if part.row.key == "train-parity"]
    ours, theirs = part.lines
    assert (ours.contender, theirs.contender) == (rows.TOKCTL, rows.HF)
    if theirs.seconds is None:
        pytest.skip(theirs.verdict)  # a release without ParityBpeTrainer
    assert ours.digest == theirs.digest != ""


def test_the_page_of_recent_algorithms_keeps_the_rows_of_earlier_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two, three = (replace(BOOKS, title=title) for title in ("one", "two", "three"))
    found: list[str] = []

    def measured_row(row: Row, *_: object) -> Measured:
        found.append(row.title)
        lines = judge(row, {c.name: [Sample(1, cpu=(1,), digests=("a",))] for c in row.contenders})
        return Measured(row, tuple(lines), 1, "a text", day=f"day of {row.title}")

    monkeypatch.setattr(suite, "recent_rows", lambda _: [one, two, three])
    monkeypatch.setattr(suite, "measure_row", measured_row)
    monkeypatch.setattr(suite, "fingerprint", lambda: "d1gest")
    monkeypatch.setattr(suite, "RECENT_PAGE", tmp_path / "recent.md")
    files = ["--cache", str(tmp_path), "--results", str(tmp_path / "results.jsonl")]
    pages = []
    for only in ("two", "three", "encoding"):
        assert suite.main(["--recent", "--only", only, "--write", *files]) == 0
        pages.append((tmp_path / "recent.md").read_text(encoding="utf-8"))
    assert found == ["two", "three", "one"]
    assert "**Not measured yet**: one, books; three, books." in pages[0]
    assert "**Not measured yet**: one, books." in pages[1]
    assert "Not measured yet" not in pages[2]
    assert "\nDays of measuring: day of one, day of three, day of two." in pages[2]
    shown = [f"| {row.title} |" in pages[1] for row in (one, two, three)]
    assert shown == [False, True, True]
    assert "has the digest `d1gest`" in pages[2]
    # What is measured elsewhere has pages of its own, which a part of a run would not fill.
    for other in ([], ["--memory"]):
        with pytest.raises(SystemExit):
            suite.main([*other, "--only", "two", "--write", *files])


def test_the_pages_begin_as_the_suite_writes_them() -> None:
    assert suite.PAGE.read_text(encoding="utf-8").startswith(page.INTRODUCTION)
    assert suite.RECENT_PAGE.read_text(encoding="utf-8").startswith(recent.PAGE)


@pytest.mark.slow
def test_the_page_of_memory_has_every_command(measured: list[Measured]) -> None:
    parts = [part for part in measured if part.row.section == "memory"]
    page = memory_page(parts, "d1gest")
    assert "`d1gest`" in page
    for part in parts:
        (line,) = part.lines
        assert line.memory, (part.row.title, line.verdict)
        assert f"\n| {part.row.title} | " in page


BOOKS = Row(
    "encoding",
    "ids",
    "books",
    (
        Contender(rows.TOKCTL, "tokctl_", "encode_list"),
        Contender(rows.HF, "huggingface", "encode_list"),
    ),
    vocab=TINY.bpe,
    model="bpe",
)


def test_a_wrong_result_of_a_real_process_is_seen(
    materials: Materials,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    liar = Contender("liar", "huggingface", "train_bpe")  # its digest is that of merges
    row = replace(BOOKS, contenders=(*BOOKS.contenders, liar))
    part = suite.measure_row(row, materials, 1, quiet)
    verdicts = {line.contender: line.verdict for line in part.lines}
    assert verdicts == {rows.TOKCTL: RIGHT, rows.HF: REFERENCE, "liar": "other ids"}

    monkeypatch.setattr(suite, "QUICK_LIMIT", 20_000)
    monkeypatch.setattr(suite, "all_rows", lambda _: [row])
    results, kept = tmp_path / "results.jsonl", ["--cache", str(tmp_path)]
    assert suite.main(["--quick", *kept, "--results", str(results)]) == 0
    out = capsys.readouterr().out
    assert "other ids" in out
    assert WRONG in out
    # What is wrong in a peer is its own affair; what is wrong in tokctl fails the run.
    ours = replace(liar, name=rows.TOKCTL, peer="tokctl_")
    monkeypatch.setattr(
        suite, "all_rows", lambda _: [replace(row, contenders=(ours, row.contenders[1]))]
    )
    assert suite.main(["--quick", *kept, "--results", str(results)]) == 1
    assert len(results.read_text().splitlines()) == 2


def test_a_run_that_ended_early_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    one = replace(BOOKS, title="one", contenders=BOOKS.contenders[:1])
    two = replace(one, title="two")
    monkeypatch.setattr(suite, "QUICK_LIMIT", 20_000)
    results, kept = tmp_path / "results.jsonl", ["--cache", str(tmp_path)]
    for found in ([one], [one, two]):
        monkeypatch.setattr(suite, "all_rows", lambda _, found=found: found)
        assert suite.main(["--quick", *kept, "--results", str(results)]) == 0
    said = capsys.readouterr().err
    assert said.count("encoding: one") == 1
    assert said.count("encoding: two") == 1


def test_a_run_during_which_tokctl_changed_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    prints = iter(["before", "after"])
    monkeypatch.setattr(suite, "fingerprint", lambda: next(prints))
    monkeypatch.setattr(suite, "all_rows", lambda _: [])
    monkeypatch.setattr(suite, "PAGE", tmp_path / "page.md")
    files = ["--cache", str(tmp_path), "--results", str(tmp_path / "results.jsonl")]
    assert suite.main(["--write", *files]) == 1
    assert "tokctl changed during the run" in capsys.readouterr().err
    assert not (tmp_path / "page.md").exists()


def test_a_job_that_fails_says_why(tmp_path: Path) -> None:
    job = Job("tokctl_", "encode_list", str(tmp_path / "no.txt"), str(tmp_path), model="no.json")
    found = run_job(job)
    assert found.error is not None
    assert "can't read the model no.json" in found.error


def test_a_crash_is_a_row_that_says_so(
    tmp_path: Path, materials: Materials, monkeypatch: pytest.MonkeyPatch
) -> None:
    crashing = tmp_path / "python"
    crashing.write_text("#!/bin/sh\nkill -SEGV $$\n", encoding="ascii")
    crashing.chmod(0o755)
    materials.model("bpe", TINY.bpe)
    monkeypatch.setattr(driver.sys, "executable", str(crashing))
    part = suite.measure_row(BOOKS, materials, 2, quiet)
    assert [line.verdict for line in part.lines] == ["not measured: killed by SIGSEGV"] * 2
    slow = "#!/bin/sh\nexec sleep 600\n"
    crashing.write_text(slow, encoding="ascii")
    job = Job("tokctl_", "encode_list", "no.txt", str(tmp_path))
    assert run_job(job, timeout=0.1).error == "not done after 0 s"


def test_a_model_that_cant_be_made_is_a_row_that_says_so(materials: Materials) -> None:
    part = suite.measure_row(replace(BOOKS, vocab=3), materials, 1, quiet)
    assert all("not measured: no material" in line.verdict for line in part.lines)


def test_the_clock_and_slow_contenders_cut_rounds(
    materials: Materials, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "_run", lambda *_, **__: Sample(1.0))

    def rounds(**more: object) -> list[int]:
        samples = measure(replace(BOOKS, rounds=4), materials, 9, quiet, **more)  # type: ignore[arg-type]
        return [len(found) for found in samples.values()]

    monkeypatch.setattr(driver, "QUICK", inf)
    monkeypatch.setattr(driver, "SLOW", inf)
    assert rounds() == [4, 4]
    assert rounds(more=lambda: False) == [4, 4]
    monkeypatch.setattr(driver, "QUICK", -1.0)
    assert rounds(more=lambda: False) == [1, 1]
    assert rounds() == [4, 4]
    monkeypatch.setattr(driver, "SLOW", -1.0)
    assert rounds() == [1, 1]


def test_errors_show_no_path_of_this_machine() -> None:
    said = presentable('can\'t parse "/home/some.one/x/model.json" of https://a.b/c\nmore')
    assert said == 'can\'t parse "model.json" of https://a.b/c'
    assert len(presentable("x" * 1000)) == driver.LONGEST + 1


def test_pieces_of_a_text_have_its_pre_tokens(materials: Materials, tmp_path: Path) -> None:
    from tokctl.model.presets import preset
    from tokctl.training import counts

    text = (
        materials.text("books").path.read_text(encoding="utf-8") + "\n\n a\n\tb\r\nc 's\n's\n1\n2"
    )
    path = tmp_path / "text.txt"
    path.write_bytes(text.encode())
    chunks = Job("", "", str(path), "").read_chunks(size=7)
    assert "".join(chunks) == text
    assert len(chunks) > 100
    for name in ("gpt2", "cl100k"):
        whole = counts.count([path], preset(name))
        parts: dict[bytes, int] = {}
        files = []
        for number, chunk in enumerate(chunks):
            files.append(tmp_path / f"{number}.txt")
            files[-1].write_bytes(chunk.encode())
        parts = counts.count(files, preset(name))
        assert parts == whole


def test_made_texts_are_the_same_in_every_run() -> None:
    book = b"The old lamp, and the lighter of lamps.\nWords again.\n" * 40
    for name, make in made.SHAPES.items():
        assert make(book, 4_000) == make(book, 4_000), name
        assert 3_900 <= len(make(book, 4_000)) <= 4_000, name
    words = made.SHAPES["distinct words"](book, 80_000).split()
    assert len(words) == len(set(words)) == 10_000
    assert b" " not in made.SHAPES["no spaces"](book, 1000)
    assert b"\n" not in made.SHAPES["one line"](book, 1000)
    assert set(made.dna(1000)) == set(b"ACGT")


@pytest.mark.parametrize(
    "letters", ["abcdefghiklmnoprstuvy", "абвгдежзиклмнопрстуя", "日月火水木金土山川田"]
)
def test_varied_texts_grow_as_the_real_one(letters: str, tmp_path: Path) -> None:
    real = natural(letters, 6_000)
    size = 10 * len(real)
    text = b"".join(made.varied(real, size))
    assert text == b"".join(made.varied(real, size))
    assert size * 0.99 < len(text) <= size
    assert text.endswith(b"\n")
    # It begins with the real text, in another order; and a shorter one is its beginning.
    whole = b"".join(made.varied(real, len(real)))
    assert sorted(whole.split()) == sorted(real.split())
    assert text.startswith(whole)
    assert text.startswith(b"".join(made.varied(real, len(real) // 3)))
    # No copy is the text again.
    part = len(real) // 4
    assert all(text.count(text[at : at + part]) == 1 for at in range(0, len(text) - part, part))
    path = tmp_path / "text"
    exponents = []
    for data in (whole, text):
        path.write_bytes(data)
        number, exponent = made.heaps(path)
        assert number == len(set(re.findall(r"[^\W\d_]+", data.decode())))
        exponents.append(exponent)
    assert exponents[1] == pytest.approx(exponents[0], abs=0.05)


def test_long_texts_stay_in_the_cache(materials: Materials, tmp_path: Path) -> None:
    name = rows.long("scripts", 30_000)
    first = Materials(tmp_path / "one", cache=tmp_path / "kept", corpora=materials.corpora)
    assert "Heaps' exponent" in first.text(name).about
    written = first.text(name).path.stat().st_mtime_ns
    again = Materials(tmp_path / "two", cache=tmp_path / "kept", corpora=materials.corpora)
    assert again.text(name) == first.text(name)
    assert again.text(name).path.stat().st_mtime_ns == written
    row = replace(BOOKS, text=name)
    assert not again.missing(row)
    elsewhere = Materials(tmp_path / "two", corpora=tmp_path)
    assert elsewhere.missing(row)
    assert elsewhere.missing(replace(BOOKS, model="o200k"))
    assert not elsewhere.missing(BOOKS)


def test_each_line_of_spans_is_somewhere_in_the_text() -> None:
    book = b" ".join(b"%d" % number for number in range(5_000))
    text = b"".join(made.spans(book, 30_000))
    assert text == b"".join(made.spans(book, 30_000)) and text.endswith(b"\n")
    assert 29_800 < len(text) <= 30_000
    lines = text.splitlines()
    assert len(set(lines)) > 0.99 * len(lines)
    spans = [list(map(int, line.split())) for line in lines]
    assert all(found == list(range(found[0], found[-1] + 1)) for found in spans)
    assert {len(found) for found in spans} == set(range(8, 24))


def test_each_language_has_a_file_of_its_own(materials: Materials, tmp_path: Path) -> None:
    text = "1|Дом.|2 cats|漢字 だ|漢字|λόγος|한글|हिन्दी|ខ្មែរ|đi|no|"
    assert made.languages(text.replace("|", "\n").encode()) == {
        name: lines.replace("|", "\n").encode()
        for name, lines in {
            "el": "λόγος|",
            "hi": "हिन्दी|",
            "ja": "漢字 だ|",
            "km": "ខ្មែរ|",
            "ko": "한글|",
            "ru": "Дом.|2 cats|",
            "vi": "đi|no|",
            "zh": "漢字|",
        }.items()
    }
    found = materials.text("languages@30kB")
    files = Job("", "", str(found.path), "").languages()
    assert list(files) == ["ru", "zh"]
    assert found.size == sum(path.stat().st_size for path in files.values())
    assert 28_000 < found.size <= 30_000
    row = replace(BOOKS, text=found.name)
    assert not materials.missing(row)
    assert Materials(tmp_path, corpora=tmp_path).missing(row)


def test_ids_travel_as_32_bit_numbers() -> None:
    data = ids_to_bytes([1, 65536, 2**32 - 1])
    assert data == bytes.fromhex("01000000 00000100 ffffffff")
    assert list(ids_from_bytes(data)) == [1, 65536, 2**32 - 1]


def test_added_tokens_are_in_the_model(materials: Materials) -> None:
    path = materials.model("added", 50)
    known = json.loads(path.read_bytes())["added_tokens"]
    assert sum(token["content"].startswith("<extra ") for token in known) == 50
