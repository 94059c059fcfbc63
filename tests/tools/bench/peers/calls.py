"""The tasks that every encoder has, from how it loads a model and which call it has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.tools.bench.job import WARM_UP, Job, Outcome, Task, text_outcome

Load = Callable[[Job], Any]
#: From a tokenizer, what is to be encoded, and the number of threads to ids.
Encode = Callable[[Any, Any, int], Any]
Look = Callable[[Any], Outcome]


def encoding(
    load: Load, encode: Encode, look: Look, read: Callable[[Job], Any] = Job.read_text
) -> Callable[[Job], Task]:
    """The text encoded, or the texts that `read` makes of it."""

    def task(job: Job) -> Task:
        tokenizer, given, threads = load(job), read(job), job.threads
        letter: Any = [WARM_UP] if isinstance(given, list) else WARM_UP
        encode(tokenizer, letter.encode() if isinstance(given, bytes) else letter, threads)
        return Task(lambda: encode(tokenizer, given, threads), look)

    return task


def loading(load: Load, encode: Encode, look: Look) -> Callable[[Job], Task]:
    """The model loaded, and the first letter encoded."""
    return lambda job: Task(lambda: encode(load(job), WARM_UP, 1), look)


def decoding(load: Load, decode: Callable[[Any, Any], Any]) -> Callable[[Job], Task]:
    """From a list of ids to their text."""

    def task(job: Job) -> Task:
        tokenizer, ids = load(job), job.read_ids().tolist()
        decode(tokenizer, ids[:1])
        return Task(lambda: decode(tokenizer, ids), text_outcome)

    return task
