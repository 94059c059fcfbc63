"""Tasks on Ray: the connection to a cluster, results as they arrive, and errors."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import ray
from ray._private import worker

from tokctl import __version__
from tokctl.core.errors import BadInput, BadOption, TokctlError, Unsupported
from tokctl.core.values import available_threads
from tokctl.sources import Source

#: Number of times that a task is repeated if its worker or node is lost.
RETRIES = 10

#: Prefix of the address of a cluster's server for clients.
_CLIENT = "ray://"

#: Seconds to wait for the server to accept a connection.
_PATIENCE = 10

#: Tasks queued for each processor of the cluster.
_AHEAD = 3

T = TypeVar("T")

#: Function that gets a line about a task that was repeated.
OnEvent = Callable[[str], None]

#: Working folder and tokctl version of the process that starts the tasks.
DriverHost = tuple[str, str]


class TaskResult(NamedTuple):
    """First result of a task.

    Attributes:
        given: what the task computed.
        lost: number of workers that were lost at the task before.
    """

    given: Any
    lost: int


def tried(given: Any) -> TaskResult:
    """Return the first result of a task, from within it; also works outside of Ray."""
    if not ray.is_initialized():
        return TaskResult(given, 0)
    core = ray.get_runtime_context().worker.core_worker
    # Ray has no public function for the number of attempts. The number does not change any result.
    number = getattr(core, "get_current_task_attempt_number", None)
    return TaskResult(given, number() if number else 0)


@contextlib.contextmanager
def connected(address: str | None) -> Iterator[int]:
    """Connect to the cluster, and yield its number of processors.

    A cluster that was started here is stopped when the block ends.

    Args:
        address: see `Cluster.address`.

    Raises:
        TokctlError: the cluster can't be reached, or the process is connected to another one.
    """
    if ray.is_initialized():
        if address is not None:
            raise BadOption(
                f"this process is connected to a cluster already, and can't go to {address}",
                "leave the address out, or call ray.shutdown() before",
                "conflict",
            )
        yield _processors()
        return
    # Turns off usage reports to Ray's makers, and a warning about graphics cards.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    settings: dict[str, Any] = {}
    if address is None and "RAY_ADDRESS" not in os.environ:
        settings = {"address": "local", "num_cpus": available_threads(), "include_dashboard": False}
    elif address is not None:
        settings = {"address": address}
    if address is not None and address.startswith(_CLIENT):
        _check_answers(address)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the error below says the same
            ray.init(log_to_driver=False, logging_level=logging.ERROR, **settings)
    except Exception as error:
        reason = str(error).strip().partition("\n")[0].rstrip(".")
        raise BadInput(
            f"can't reach the cluster {address or 'of Ray'}: {reason or type(error).__name__}",
            "see `ray status`; an address is HOST:PORT, ray://HOST:PORT or auto",
            "unreadable",
        ) from None
    # Ray prints messages about lost workers to stdout, even without `log_to_driver`. `run` reports
    # lost workers instead.
    prints_logs, worker._worker_logs_enabled = worker._worker_logs_enabled, False
    try:
        yield _processors()
    finally:
        ray.shutdown()
        worker._worker_logs_enabled = prints_logs


def _check_answers(address: str) -> None:
    """Raise TokctlError if no server answers: Ray would try for half a minute, and not say why."""
    host, colon, port = address.removeprefix(_CLIENT).partition("/")[0].rpartition(":")
    if not (colon and host and port.isdecimal() and int(port) < 1 << 16):
        raise BadOption(
            f"{address} is not the address of a cluster",
            "write ray://HOST:PORT; Ray's default port is 10001",
            "bad-value",
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), _PATIENCE).close()
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise BadInput(
            f"can't reach the cluster {address}: {reason}",
            "its head is started by: ray start --head --ray-client-server-port PORT",
            "unreadable",
        ) from None


def _processors() -> int:
    found: Any = ray.cluster_resources()  # type: ignore[no-untyped-call]
    return max(1, int(found.get("CPU", 1)))


def run(
    tasks: Iterable[T],
    start: Callable[[T], list[Any]],
    name: Callable[[T], str],
    processors: int,
    tell: OnEvent | None = None,
) -> Generator[tuple[T, Any, list[Any]], None, None]:
    """Yield each task as it ends, with its first result and references to its other results.

    Only as many tasks are started at a time as keep the workers busy.

    If the caller stops early, these few tasks end by themselves, at the latest with the connection.
    They are not cancelled: Ray can abort this process if a task ends at that moment (its pull
    request 54527).

    Args:
        tasks: the tasks, in the order in which they are started.
        start: function that starts a task and returns references, that of its `TaskResult` first.
        name: function that returns what a task reads, for messages.
        processors: number of processors of the cluster.
        tell: called with a line for each task whose workers were lost.

    Raises:
        TokctlError: a task raised it, or the workers of a task died repeatedly.
    """
    running: dict[Any, tuple[T, list[Any]]] = {}
    remaining_tasks = iter(tasks)
    while True:
        for task in islice(remaining_tasks, _AHEAD * processors - len(running)):
            result_ref, *other_refs = start(task)
            running[result_ref] = task, other_refs
        if not running:
            return
        (ready,), _ = ray.wait(list(running), num_returns=1)
        task, other_refs = running.pop(ready)
        with explained(name(task)):
            given, lost = ray.get(ready)
        if lost and tell:
            often = f" {lost} times" if lost > 1 else ""
            tell(f"{name(task)}: done again, because its worker was lost{often}")
        yield task, given, other_refs


def home() -> DriverHost:
    """Return the working folder and the tokctl version of this process."""
    return str(Path.cwd()), __version__


@contextlib.contextmanager
def at_home(of: DriverHost) -> Iterator[None]:
    """Run a task in the working folder of the process that started it, for relative paths.

    Args:
        of: folder and version of that process.

    Raises:
        TokctlError: this node has another version of tokctl.
    """
    folder, version = of
    if version != __version__:
        raise Unsupported(
            f"a node of the cluster has tokctl {__version__}, and this machine {version}",
            "install the same version on every node",
        )
    with contextlib.chdir(folder) if Path(folder).is_dir() else contextlib.nullcontext():
        yield


@contextlib.contextmanager
def explained(name: str) -> Iterator[None]:
    """Raise the errors of a task as the task raised them; TokctlError if its workers died.

    Args:
        name: what the task reads, for messages.
    """
    try:
        yield
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, TokctlError):
            raise at_nodes(error.cause) from None
        if isinstance(error.cause, ImportError) or "failed to import on the worker" in str(error):
            raise Unsupported(
                "a node of the cluster can't run the task: "
                f"{error.cause or 'tokctl is not installed there'}",
                f"install on every node tokctl {__version__}, and what it reads these texts with",
                "missing-package",
            ) from None
        raise
    except ray.exceptions.RayError as error:
        reason = str(error).strip().partition("\n")[0].rstrip(".")
        raise Unsupported(
            f"{name}: its worker was lost {RETRIES + 1} times: {reason}",
            "see `ray status`; smaller parts take less memory",
        ) from None


def at_nodes(error: TokctlError) -> TokctlError:
    """Return the error of a task; if only a node lacks a file, say that every node needs it."""
    name = error.message.removeprefix("can't read ").partition(": ")[0]
    if error.message.startswith("can't read ") and Path(name).exists():
        hint = "put the file where every node finds it at this path, or give an address"
        return error.reworded(f"{error.message} (on a node: it is here)", hint)
    return error


def check_portable(source: Source) -> None:
    """Raise TokctlError if other processes can't open a source."""
    try:
        ray.cloudpickle.dumps(source)  # type: ignore[no-untyped-call]
    except Exception:
        raise BadInput(
            f"{source.name} can't be read by the workers of a cluster",
            "put the text into a file where each of them finds it",
            "unreadable",
        ) from None
