"""Tasks that are lost, clusters that are not there, and one that is reached as a client."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import command, error
from tests.cli.run import tokctl as run
from tests.errors import raises_code
from tests.idfiles import made
from tokctl import TokctlError, Tokenizer, idfiles

ray = pytest.importorskip("ray")

import tokctl.extras.ray.tasks as ray_tasks  # noqa: E402
from tokctl.extras.ray import Cluster  # noqa: E402


@ray.remote(max_retries=3)
def _dying(folder: str, times: int) -> ray_tasks.TaskResult:
    for number in range(times):
        mark = Path(folder, f"{times}-{number}")
        if not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
    return ray_tasks.tried(times)


@pytest.mark.usefixtures("cluster")
def test_a_task_that_is_done_again_is_told(tmp_path: Path) -> None:
    told: list[str] = []
    ran = ray_tasks.run(
        [0, 1, 2], lambda times: [_dying.remote(str(tmp_path), times)], "part {}".format, 2,
        told.append,
    )  # fmt: skip
    assert sorted(given for _, given, _ in ran) == [0, 1, 2]
    again = "done again, because its worker was lost"
    assert sorted(told) == [f"part 1: {again}", f"part 2: {again} 2 times"]


_LOSES_A_WORKER = """
import time
import tests.cluster.test_ray_failures as failures
from tokctl.extras.ray import tasks

with tasks.connected(None) as processors:
    start = lambda times: [failures._dying.remote({folder!r}, times)]
    assert len(list(tasks.run([1], start, str, processors))) == 1
    time.sleep(2)
"""


@pytest.mark.slow
def test_ray_prints_nothing_of_lost_workers(tmp_path: Path) -> None:
    code = _LOSES_A_WORKER.format(folder=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout == b""


@pytest.mark.usefixtures("cluster")
def test_progress_has_documents_and_ids(texts: list[Path], tmp_path: Path) -> None:
    said: list[tuple[str, int, Any, Any]] = []

    def progress(phase: str, done: int, _total: int | None) -> None:
        said.append((phase, done, getattr(done, "documents", None), getattr(done, "ids", None)))

    trained = Tokenizer.train(texts, vocab_size=600, progress=progress, engine=Cluster(None, 9000))
    phases = [phase for phase, *_ in said]
    assert list(dict.fromkeys(phases))[:3] == ["count", "merge-counts", "collect"]
    record = trained.model.training
    assert record is not None
    counted = [row for row in said if row[0] == "count"]
    assert counted[-1][2] == record.documents
    for engine in (Cluster(None, 9000), None):
        said.clear()
        done = idfiles.write(
            trained, texts, tmp_path / str(engine is None), shard_size=5000, progress=progress,
            engine=engine,
        )  # fmt: skip
        last = [row for row in said if row[0] == "encode"][-1]
        assert last[2:] == (done.documents, done.ids)


@pytest.mark.usefixtures("cluster")
def test_nodes_that_differ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.txt"
    path.write_text("low lower\n" * 99)
    with monkeypatch.context() as patched:
        patched.setattr(ray_tasks, "__version__", "0.0.1")
        with raises_code("unsupported", r"a node of the cluster has tokctl .*, and this"):
            Tokenizer.train([path], vocab_size=300, engine=Cluster())
    here = TokctlError(f"can't read {path}: No such file or directory", "so")
    found = ray_tasks.at_nodes(here)
    assert found.message == f"can't read {path}: No such file or directory (on a node: it is here)"
    assert found.hint and found.hint.startswith("put the file where every node finds it")
    gone = TokctlError("can't read gone.txt: No such file or directory", "so")
    assert ray_tasks.at_nodes(gone) is gone


@pytest.mark.parametrize(
    ("address", "message"),
    [
        (
            "ray://127.0.0.1:FREE",
            "can't reach the cluster ray://127.0.0.1:FREE: Connection refused",
        ),
        ("ray://", "ray:// is not the address of a cluster"),
        ("ray://127.0.0.1", "ray://127.0.0.1 is not the address of a cluster"),
    ],
)
def test_a_cluster_that_does_not_answer(address: str, message: str, tmp_path: Path) -> None:
    ray.shutdown()
    text = tmp_path / "a.txt"
    text.write_text("low lower\n" * 99)
    port = str(_free_port())
    address, message = address.replace("FREE", port), message.replace("FREE", port)
    hint = "write ray://HOST:PORT; Ray's default port is 10001"
    if "reach" in message:
        hint = "its head is started by: ray start --head --ray-client-server-port PORT"
    done = run("train", "--engine", address, "-o", tmp_path / "m.json", text)
    assert done == (2, b"", error(message, hint))


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


@pytest.fixture
def head(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A cluster of other processes, which takes clients; its address."""
    ray.shutdown()
    port = _free_port()
    environment = {**os.environ, "RAY_AUTH_MODE": "disabled", "PYTHONPATH": str(Path.cwd())}
    folder = tmp_path_factory.mktemp("head")
    started = subprocess.Popen(
        [sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block", "--port=0",
         f"--ray-client-server-port={port}", "--include-dashboard=false", "--num-cpus=2"],
        env=environment, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        start_new_session=True,
    )  # fmt: skip
    try:
        for _ in range(600):
            with socket.socket() as one:
                if one.connect_ex(("127.0.0.1", port)) == 0:
                    break
            if started.poll() is not None:
                pytest.skip("no head can be started here")
            time.sleep(0.1)
        yield f"ray://127.0.0.1:{port}"
    finally:
        started.terminate()
        try:
            started.wait(timeout=30)
        except subprocess.TimeoutExpired:
            os.killpg(started.pid, signal.SIGKILL)


@pytest.mark.slow
def test_over_a_client(
    head: str, texts: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--engine ray://HOST:PORT`: another cluster trains and encodes, with the same bytes."""
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    names = list(map(str, texts))
    for engine in ([], ["--engine", head]):
        name = f"{tmp_path}/{len(engine)}"
        for words in (
            ["train", "-q", "--vocab", "600", "-o", f"{name}.json", *names, *engine],
            ["encode", "-m", f"{tmp_path}/0.json", "--as", "npy", "--shard-size", "9K", "-o", name,
             *names, *engine],
        ):  # fmt: skip
            # On a busy machine the head may not be ready for a client when it takes connections.
            for _ in range(3):
                done = subprocess.run(
                    command(*words), capture_output=True, timeout=300, check=False
                )
                if b"can't reach the cluster" not in done.stderr:
                    break
            assert (done.stderr.decode(), done.returncode) == ("", 0)
    assert (tmp_path / "0.json").read_bytes() == (tmp_path / "2.json").read_bytes()
    assert made.contents(tmp_path / "0") == made.contents(tmp_path / "2")


@pytest.mark.slow
def test_shards_in_a_store(texts: list[Path], tmp_path: Path) -> None:
    """The workers of a cluster write to S3; nothing is left there but the folder."""
    moto = pytest.importorskip("moto.server")
    fsspec = pytest.importorskip("fsspec")
    pytest.importorskip("s3fs")
    ray.shutdown()
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        store = {
            "AWS_ENDPOINT_URL": f"http://{host}:{port}",
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
        }
        options = {
            "key": "key",
            "secret": "secret",
            "endpoint_url": store["AWS_ENDPOINT_URL"],
        }
        system = fsspec.filesystem("s3", **options)
        system.mkdir("ray")  # tests/idfiles has a bucket `ids` in this process
        model = tmp_path / "m.json"
        Tokenizer.train(texts, vocab_size=600).save(model)
        words = ["encode", "-m", str(model), "--as", "bin", "--shard-size", "9K"]
        words += list(map(str, texts))
        environment = {**os.environ, **store}
        for more in (["-o", f"{tmp_path}/here"], ["-o", "s3://ray/a", "--engine", "ray"]):
            done = subprocess.run(
                command(*words, *more), capture_output=True, env=environment, timeout=300,
                check=False,
            )  # fmt: skip
            assert (done.returncode, done.stderr) == (0, b"")
        system.invalidate_cache()
        there = {name.rpartition("/")[2]: system.cat_file(name) for name in system.find("ray/a")}
        assert there == made.contents(tmp_path / "here")
    finally:
        server.stop()
