"""Kinds and codes of errors of the command line, trainings, models, analyses and extras."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import tokctl
from tokctl import (
    BadInput,
    BadModel,
    BadOption,
    Texts,
    TokctlError,
    Tokenizer,
    Unsupported,
    preset,
)
from tokctl.analysis.health import check_health
from tokctl.analysis.held_out import check_share
from tokctl.analysis.texts import read_text
from tokctl.cli.world import Console
from tokctl.core import schema
from tokctl.core.errors import CoreError, ExitCode, OutOfMemoryError
from tokctl.core.files import whole_file
from tokctl.extras.adapt import adapt
from tokctl.extras.course.exercises import exercise
from tokctl.extras.course.grader import judge
from tokctl.extras.recommend import recommend
from tokctl.extras.recommend.candidates import candidates_of
from tokctl.extras.suite import run_suite, texts
from tokctl.extras.suite.morphology import read_gold
from tokctl.model import Model, Recipe
from tokctl.model.parts import PRE_TOKENIZERS
from tokctl.model.patterns import compile_pattern
from tokctl.model.presets import BPE, BPE_CHARACTERS
from tokctl.report import charts
from tokctl.report.charts.drawing import ending_of
from tokctl.sources import Document
from tokctl.training import counting
from tokctl.training.resizing import prune

TEXT = "low low low lower lower newest newest widest longer\n" * 20


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small models and wrong files, which the tests only read."""
    folder = tmp_path_factory.mktemp("errors")
    (folder / "a.txt").write_text(TEXT)
    for name, algorithm, size in (("m", "bpe", 270), ("u", "unigram", 24), ("p", "picky", 270)):
        tokenizer = Tokenizer.train([folder / "a.txt"], vocab_size=size, algorithm=algorithm)
        tokenizer.save(folder / f"{name}.json")
    (folder / "empty.txt").write_text("")
    (folder / "latin.txt").write_bytes(b"caf\xe9\n")
    (folder / "counts.txt").write_text("low\tmany\n")
    (folder / "words.txt").write_text("no form of a gold list\n")
    (folder / "wrong.py").write_text("def (\n")
    return folder


@pytest.fixture(autouse=True)
def here(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(made)
    monkeypatch.delenv("TOKCTL_MODEL", raising=False)


@pytest.fixture
def reported(monkeypatch: pytest.MonkeyPatch) -> list[TokctlError]:
    """The errors that a command line reports."""
    found: list[TokctlError] = []
    monkeypatch.setattr(Console, "report", lambda _, error: found.append(error))
    return found


@pytest.mark.few(25)
@pytest.mark.parametrize(
    ("line", "kind", "code"),
    [
        # The command line itself.
        ("nonsense", BadOption, "unknown-name"),
        ("train --nonsense", BadOption, "unknown-name"),
        ("train --seed x a.txt", BadOption, "bad-value"),
        ("train --vocab", BadOption, "bad-option"),
        ("corpora fetch", BadOption, "missing-option"),
        ("man nonsense", BadOption, "unknown-name"),
        # Options, and what they have to do with each other.
        ("train --vocab none a.txt", BadOption, "bad-value"),
        ("train --sample 1.5 a.txt", BadOption, "bad-value"),
        ("train --preset nonsense a.txt", BadOption, "unknown-name"),
        ("train --seed 1 a.txt", BadOption, "missing-option"),
        ("train --algo wordpiece --bytes a.txt", BadOption, "conflict"),
        ("train --parity-window 9 a.txt", BadOption, "missing-option"),
        ("train --pretokenize nonsense a.txt", BadOption, "unknown-name"),
        ("train -o n.json --save-counts a.txt a.txt", BadOption, "output-taken"),
        ("train -o n.json --save-counts n.json a.txt", BadOption, "output-taken"),
        ("encode -m m.json --lines --whole a.txt", BadOption, "conflict"),
        ("encode -m m.json --resume --as bin -o i.bin a.txt", BadOption, "missing-option"),
        ("encode -m m.json --engine nonsense --as npy --shard-size 9 -o s a.txt", BadOption, None),
        ("encode --count --pad 9 -m m.json a.txt", BadOption, "conflict"),
        ("decode -m m.json --from npy --dtype uint16 a.txt", BadOption, "conflict"),
        ("inspect", BadOption, "missing-option"),
        ("inspect m.json --recipe --check", BadOption, "conflict"),
        ("inspect u.json --merges :", BadOption, "conflict"),
        ("inspect m.json --rounds", BadOption, "conflict"),
        ("inspect m.json --token nonsense", BadOption, "unknown-name"),
        ("inspect m.json --state 999 a.txt", BadOption, "bad-value"),
        ("convert m.json -o -", BadOption, "bad-value"),
        ("convert m.json --prune 999 --to huggingface -o n.json", BadOption, "bad-value"),
        ("compare -m m.json --fail-if nonsense>1 a.txt", BadOption, "unknown-name"),
        ("compare -m m.json --fail-if 1 a.txt", BadOption, "bad-value"),
        ("compare -m m.json --tensor t a.txt --suite", BadOption, "missing-option"),
        ("compare -m m.json - -", BadOption, "conflict"),
        ("recommend --params many a.txt", BadOption, "bad-value"),
        ("adapt m.json -o n.json a.txt", BadOption, None),
        ("check", BadOption, "missing-option"),
        ("check-exercise", BadOption, "missing-option"),
        ("check-exercise 99.9 wrong.py", BadOption, "unknown-name"),
        # Inputs.
        ("train -o n.json empty.txt", BadInput, "bad-input"),
        ("train -o n.json m.json", BadInput, "bad-input"),
        ("train -o nowhere/n.json a.txt", BadInput, "unreadable"),
        ("train -o n.json --save-counts nowhere/c.txt a.txt", BadInput, "unreadable"),
        ("train -o n.json --files-from a.txt", BadInput, "unreadable"),
        ("train -o n.json --initial-tokens-from latin.txt a.txt", BadInput, "not-utf8"),
        ("train -o n.json --word-counts counts.txt", BadInput, "bad-record"),
        ("inspect m.json --watch --word-counts counts.txt", Unsupported, "unsupported"),
        ("compare -m m.json --suite --gold absent.tsv a.txt", BadInput, "unreadable"),
        ("check-exercise 1.1 absent.py", BadInput, "unreadable"),
        ("check-exercise 1.1 wrong.py", BadInput, "bad-input"),
        # What tokctl cannot do.
        ("inspect p.json --state 3 a.txt", Unsupported, "unsupported"),
        ("convert p.json --prune 260 -o n.json", Unsupported, "unsupported"),
        # Conditions.
        ("compare -m m.json --fail-if fertility>0 a.txt", TokctlError, "condition-failed"),
        ("inspect m.json --check a.txt --fail-on info", TokctlError, "condition-failed"),
    ],
)
def test_command_lines(
    line: str,
    kind: type[TokctlError],
    code: str | None,
    reported: list[TokctlError],
) -> None:
    done = tokctl(*line.split())
    (error,) = reported
    assert (type(error), error.code) == (kind, code or error.code), error
    failed = ExitCode.CONDITION_FAILED if code == "condition-failed" else ExitCode.BAD_INPUT
    assert done.code == error.exit_code == failed
    assert error.hint


def _model() -> Tokenizer:
    return Tokenizer.load("m.json")


def _no_memory() -> Any:
    raise MemoryError


def _filled(**changes: Any) -> Model:
    return Model(BPE_CHARACTERS, [b"[UNK]", b"a"], **changes)


@pytest.mark.parametrize(
    ("call", "kind", "code"),
    [
        # core
        (lambda: schema.check({"a": 1}, {"a": str}, "a.json", "again"), BadInput, "damaged"),
        # model
        (lambda: preset("nonsense"), BadOption, "unknown-name"),
        (lambda: PRE_TOKENIZERS.parse_list("nonsense"), BadOption, "unknown-name"),
        (lambda: PRE_TOKENIZERS.part("delimiter"), BadOption, "missing-option"),
        (lambda: PRE_TOKENIZERS.part("fixed", length="5"), BadOption, "bad-value"),
        (lambda: compile_pattern("regex:("), BadOption, "bad-value"),
        (lambda: replace(BPE, segmentation="nonsense"), BadOption, "unknown-name"),
        (lambda: replace(BPE, segmentation="viterbi"), BadOption, "conflict"),
        (lambda: Recipe.from_dict({**BPE.to_dict(), "future": 1}), BadModel, "bad-model"),
        (lambda: Recipe.from_dict({**BPE.to_dict(), "units": 1}), BadModel, "damaged-model"),
        (lambda: _filled(scores=[0.5]), BadModel, "damaged-model"),
        # training
        (lambda: Tokenizer.train(["a.txt"], vocab_size=0), BadOption, "bad-value"),
        (lambda: Tokenizer.train(["a.txt"], vocab_size=9), BadOption, "bad-value"),
        (lambda: counting.check_count("low", -1), BadInput, "bad-record"),
        (lambda: Tokenizer.train(["empty.txt"], vocab_size=300), BadInput, "bad-input"),
        (lambda: replace(BPE, special_tokens=("<a>", "<a>")), BadOption, "conflict"),
        (lambda: prune(_model().model, 9999), BadOption, "bad-value"),
        (lambda: prune(Tokenizer.load("p.json").model, 260), Unsupported, "unsupported"),
        # analysis
        (lambda: check_share(2), BadOption, "bad-value"),
        (lambda: check_health(_model(), tensor="t"), BadOption, "missing-option"),
        (lambda: _model().token_history(99_999), BadInput, "bad-ids"),
        (lambda: _model().token_history("nonsense"), BadOption, "unknown-name"),
        (lambda: _model().explain("ab" * 50_000), BadInput, "too-large"),
        (
            lambda: read_text(
                "a", [Document("a", 1, _no_memory)], characters=False, errors="strict"
            ),
            Unsupported,
            "out-of-memory",
        ),
        # report
        (lambda: ending_of("a.doc"), BadOption, "bad-value"),
        # extras
        (lambda: adapt(_model()), BadOption, "missing-option"),
        (lambda: adapt(5), BadOption, "bad-value"),  # type: ignore[arg-type]
        (lambda: adapt(Tokenizer.load("p.json"), prune=260), Unsupported, "unsupported"),
        (lambda: candidates_of(["nonsense"], spaceless=False), BadOption, "unknown-name"),
        (lambda: recommend(["empty.txt"]), BadInput, "bad-input"),
        (lambda: run_suite([]), BadOption, "missing-option"),
        (lambda: read_gold("absent.tsv"), BadInput, "unreadable"),
        (lambda: read_gold("latin.txt"), BadInput, "not-utf8"),
        (lambda: read_gold("words.txt"), BadInput, "bad-record"),
        (lambda: exercise("99.9"), BadOption, "unknown-name"),
        (lambda: judge(exercise("1.1"), "wrong.py"), BadInput, "bad-input"),
    ],
)
def test_calls(call: Callable[[], object], kind: type[TokctlError], code: str) -> None:
    with pytest.raises(TokctlError) as caught:
        call()
    assert (type(caught.value), caught.value.code) == (kind, code), caught.value


def test_missing_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(charts, "find_spec", lambda _: None)
    with pytest.raises(Unsupported) as caught:
        charts.check_extra()
    assert caught.value.code == "missing-package"


def test_damaged_files_of_the_installation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "corpus").write_text("one field\n")
    monkeypatch.setattr(texts, "corpus_path", lambda _: tmp_path / "corpus")
    with pytest.raises(BadInput) as caught:
        texts.parallel_texts()
    assert caught.value.code == "damaged"


def test_outputs_that_are_folders(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as caught, whole_file(tmp_path):
        pass
    assert caught.value.code == "unreadable"


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("too-large", "too-large"),
        ("no-id", "no-id"),
        ("unknown-id", "bad-ids"),
        ("id-outside", "bad-ids"),
        ("not-an-id", "bad-ids"),
        ("invalid", "bad-input"),
    ],
)
def test_the_core(kind: str, code: str) -> None:
    error = CoreError("wrong", kind, (0, 0, 0))
    assert isinstance(error, BadInput) and error.code == code


def test_too_little_memory_is_no_fault_of_the_input() -> None:
    error = OutOfMemoryError()
    assert isinstance(error, Unsupported) and error.code == "out-of-memory"


@pytest.mark.parametrize(
    ("sources", "options", "message"),
    [
        ({"a.txt", "b.txt"}, {}, "a set has no order"),
        ({"en": {"a.txt", "b.txt"}, "fi": "c.txt"}, {}, "a set has no order"),
        ({"en": Texts(["a"])}, {"parity": 5}, "invalid value 5 for parity"),
        ({"low": 5}, {"read": 5}, "invalid value 5 for read"),
    ],
)
def test_sources_and_options_of_a_training(
    sources: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(BadOption, match=message):
        Tokenizer.train(sources, vocab_size=300, **options)


@pytest.mark.parametrize("texts", [{"ab", "cd"}, frozenset("ab"), {"low": 5}])
def test_texts_without_an_order_or_with_counts_are_refused(texts: Any) -> None:
    with pytest.raises(BadOption):
        Texts(texts)


def test_the_character_that_utf8_can_not_hold_is_named() -> None:
    byte_level = Tokenizer.train({"low": 5}, vocab_size=257)
    with pytest.raises(BadInput, match="character 2 of the text"):
        byte_level.encode("\udc80 \ud800")
    characters = Tokenizer.train({"low": 5}, algorithm="wordpiece", vocab_size=9)
    with pytest.raises(BadInput, match="character 0 of the text"):
        characters.encode("\udc80 \ud800")
