"""Running tasks on Ray: the cluster, tasks as they end, their errors."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import ray

from tokctl.errors import TokctlError
from tokctl.sources import Source
from tokctl.values import available_threads

#: A task whose worker or node is lost is run again so many times.
RETRIES = 10

#: Tasks that wait for a worker, for each of the cluster's processors.
_AHEAD = 3

T = TypeVar("T")


@contextlib.contextmanager
def connected(address: str | None) -> Iterator[int]:
    """The cluster is there, with so many processors; one that was started for this is ended."""
    if ray.is_initialized():
        if address is not None:
            raise TokctlError(
                f"this process is connected to a cluster already, and can't go to {address}",
                "leave the address out, or call ray.shutdown() before",
            )
        yield _processors()
        return
    # Its own reports to its makers; and a warning about graphics cards.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    own: dict[str, Any] = {}
    if address is None and "RAY_ADDRESS" not in os.environ:
        own = {"address": "local", "num_cpus": available_threads(), "include_dashboard": False}
    elif address is not None:
        own = {"address": address}
    try:
        ray.init(log_to_driver=False, logging_level=logging.ERROR, **own)
    except Exception as error:
        reason = str(error).strip().partition("\n")[0].rstrip(".")
        raise TokctlError(
            f"can't reach the cluster {address or 'of Ray'}: {reason or type(error).__name__}",
            "see `ray status`; an address is HOST:PORT, ray://HOST:PORT or auto",
        ) from None
    try:
        yield _processors()
    finally:
        ray.shutdown()


def _processors() -> int:
    found: Any = ray.cluster_resources()  # type: ignore[no-untyped-call]
    return max(1, int(found.get("CPU", 1)))


def run(
    tasks: Iterable[T],
    start: Callable[[T], list[Any]],
    name: Callable[[T], str],
    processors: int,
) -> Generator[tuple[T, Any, list[Any]], None, None]:
    """Each task as it ends, with what it gives first, and references to what else it gives. No
    more are on their way at a time than keep the workers busy.

    Whatever ends this, those few end by themselves, at the latest with the connection. They are not
    cancelled: Ray can abort this process where a task ends at that moment (its pull request 54527).

    Args:
        start: starts a task; references to what it gives.
        name: of what a task reads, for messages.

    Raises:
        TokctlError: that of a task; a task whose workers died.
    """
    running: dict[Any, tuple[T, list[Any]]] = {}
    waiting = iter(tasks)
    while True:
        for task in islice(waiting, _AHEAD * processors - len(running)):
            first, *others = start(task)
            running[first] = task, others
        if not running:
            return
        (done,), _ = ray.wait(list(running), num_returns=1)
        task, others = running.pop(done)
        with explained(name(task)):
            given = ray.get(done)
        yield task, given, others


@contextlib.contextmanager
def at_home(folder: str) -> Iterator[None]:
    """In a task: in the folder of whoever asked, for relative paths."""
    with contextlib.chdir(folder) if Path(folder).is_dir() else contextlib.nullcontext():
        yield


@contextlib.contextmanager
def explained(name: str) -> Iterator[None]:
    """What a task raised, as it raised it; TokctlError where its workers died."""
    try:
        yield
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, TokctlError):
            raise error.cause from None
        raise
    except ray.exceptions.RayError as error:
        reason = str(error).strip().partition("\n")[0].rstrip(".")
        raise TokctlError(
            f"{name}: its worker was lost {RETRIES + 1} times: {reason}",
            "see `ray status`; smaller parts take less memory",
        ) from None


def check_portable(source: Source) -> None:
    """TokctlError for what other processes can't open."""
    try:
        ray.cloudpickle.dumps(source)  # type: ignore[no-untyped-call]
    except Exception:
        raise TokctlError(
            f"{source.name} can't be read by the workers of a cluster",
            "put the text into a file where each of them finds it",
        ) from None
