"""The native module can't allocate: a result, or an error that is told, and no other file."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.faults import exhausted
from tests.faults.allocating import ALL, Failing, campaign, failing
from tokctl.core.errors import OutOfMemoryError

MODEL = ("-m", "bpe.json")
QUICK = [
    ("encode", "-q", *MODEL, "--threads", "2", "-o", "out", "words"),
    ("encode", "-q", "-m", "unigram.json", "--as", "jsonl", "-o", "out", "run"),
    ("decode", "-q", *MODEL, "-o", "out", "ids"),
    ("train", "-q", "--algo", "wordpiece", "--vocab", "400", "-o", "out", "words"),
    ("convert", "-q", "bpe.json", "--to", "huggingface", "-o", "out"),
    ("inspect", "-q", "bpe.json", "--word", "low"),
]


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Failing]:
    try:
        with failing(tmp_path_factory.mktemp("allocations"), 20_000) as made:
            yield made
    except OSError as error:
        pytest.skip(str(error))


def some(commands: Failing, arguments: tuple[str, ...]) -> tuple[int, int, int]:
    allocations = commands.run(arguments).allocations
    return campaign(commands, arguments, max(allocations // 12, 1))


@pytest.mark.few(2)
@pytest.mark.parametrize("arguments", QUICK, ids=lambda arguments: arguments[0])
def test_some_of_them(commands: Failing, arguments: tuple[str, ...]) -> None:
    allocations, runs, _ = some(commands, arguments)
    assert allocations > 20 and runs > 20


@pytest.mark.campaign
def test_every_command(commands: Failing) -> None:
    """Each allocation: `python -m tests.faults.allocating`."""
    for arguments in exhausted.commands():
        assert some(commands, arguments)[2]


@pytest.mark.slow
def test_where_none_is_made_at_all(commands: Failing) -> None:
    """Nothing can be prepared then, and yet the command says what is wrong."""
    ended = commands.run(QUICK[0], 0, ALL).ended
    error = OutOfMemoryError()
    assert (ended.code, ended.err) == (2, f"error: {error.message}\nhint: {error.hint}\n")
