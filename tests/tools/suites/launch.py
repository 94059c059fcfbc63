"""A process that runs a suite with tokctl beside its library's calls:
`python -m tests.tools.suites.launch RECORD FOLDER ARGUMENT…`, arguments as pytest's."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.tools.suites.record import Recorder


def install(recorder: Recorder) -> None:
    """Stands around the calls of every library that is installed."""
    if find_spec("tokenizers"):
        from tests.tools.suites import huggingface_calls

        huggingface_calls.install(recorder)
    if find_spec("tiktoken"):
        from tests.tools.suites import tiktoken_calls

        tiktoken_calls.install(recorder)
    if find_spec("sentencepiece"):
        from tests.tools.suites import sentencepiece_calls

        sentencepiece_calls.install(recorder)


class Plugin:
    """Tells the recorder which test runs, and what became of it."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.recorder.test = item.nodeid
        return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.outcome != "passed":
            self.recorder.outcomes[report.nodeid] = report.outcome

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.recorder.outcomes[report.nodeid] = report.outcome


def main() -> int:
    record, folder, *arguments = sys.argv[1:]
    recorder = Recorder()
    install(recorder)
    # The suite has a package `tests` of its own, which takes the place of this one.
    project = Path(__file__).parents[3]
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != project]
    for name in [name for name in sys.modules if name.split(".")[0] == "tests"]:
        del sys.modules[name]
    os.chdir(folder)
    sys.path.insert(0, folder)
    code = pytest.main(arguments, plugins=[Plugin(recorder)])
    recorder.write(Path(record))
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
