"""Shards at addresses: in memory, in a store that renames, and in S3 as moto plays it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import tokctl as run
from tests.errors import raises_code
from tests.idfiles import made
from tests.idfiles.shared import NAMES, Stopped, Workers, files
from tokctl import TokctlError, Tokenizer, idfiles
from tokctl.idfiles import shard_stores
from tokctl.idfiles.shard_check import check_shards

fsspec = pytest.importorskip("fsspec")

Models = dict[str, Tokenizer]


class Renaming(fsspec.get_filesystem_class("file")):  # type: ignore[misc]
    """A store in which a file is there while it grows, such as SFTP."""

    protocol = "renaming"

    def __init__(self, **more: Any) -> None:
        super().__init__(auto_mkdir=True, **more)

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return str(super()._strip_protocol(path.removeprefix("renaming://")))


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    moto = pytest.importorskip("moto.server")
    pytest.importorskip("s3fs")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def s3(server: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The bucket `ids`, empty."""
    for name, value in (
        ("AWS_ENDPOINT_URL", server),
        ("AWS_ACCESS_KEY_ID", "key"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("AWS_DEFAULT_REGION", "us-east-1"),
    ):
        monkeypatch.setenv(name, value)
    system = fsspec.filesystem("s3")
    system.invalidate_cache()
    if system.exists("ids"):
        system.rm("ids", recursive=True)
    system.mkdir("ids")
    return system


@pytest.fixture(params=["memory", "renaming", pytest.param("s3", marks=pytest.mark.slow)])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Where nothing is yet."""
    if request.param == "s3":
        request.getfixturevalue("s3")
        yield "s3://ids/some/shards"
    elif request.param == "renaming":
        fsspec.register_implementation("renaming", Renaming, clobber=True)
        yield f"renaming://{tmp_path}/shards"
    else:
        yield "memory://some/shards"
        fsspec.filesystem("memory").store.clear()


def contents(address: str) -> dict[str, bytes]:
    system, path = fsspec.core.url_to_fs(address)
    system.invalidate_cache()
    if not system.exists(path):
        return {}
    found = system.find(path)
    return {name.removeprefix(path).strip("/"): system.cat_file(name) for name in found}


def write(
    models: Models, to: str, workers: Workers | None = None, form: str = "bin", **more: Any
) -> Any:
    given = {"form": form, "shard_size": 300, **more}
    return idfiles.write(models["bytes"], NAMES, to, engine=workers, **given)


@pytest.mark.few(2)
@pytest.mark.parametrize("form", idfiles.BINARY_FORMS)
def test_what_a_folder_has(models: Models, address: str, form: str) -> None:
    files()
    write(models, "here", form=form)
    local = made.contents(Path("here"))
    for workers in (None, Workers(600)):
        to = f"{address}/{workers is None}"
        write(models, to, workers, form=form)
        assert contents(to) == local
        found = check_shards(to)
        assert not found.faults
        assert found == check_shards("here") == check_shards(f"{to}/manifest.json")
    system, path = fsspec.core.url_to_fs(to)
    name = next(name for name in local if name.startswith("shard-00001"))
    system.pipe_file(f"{path}/{name}", local[name][:-1])
    system.rm_file(f"{path}/{next(iter(sorted(local)[2:3]))}")
    faults = check_shards(to).faults
    assert any(fault.startswith(f"{to}/shard-0000") for fault in faults)


def test_a_path_as_an_address(models: Models, tmp_path: Path) -> None:
    files()
    write(models, "here")
    write(models, f"file://{tmp_path}/there")
    assert made.contents(tmp_path / "there") == made.contents(Path("here"))


class Failing:
    """Fails, or is the end of the process, when so many files have been uploaded."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, after: int, error: BaseException) -> None:
        deliver = shard_stores.RemoteStore.deliver
        self.delivered: list[str] = []

        def failing(place: shard_stores.RemoteStore, path: Path) -> None:
            if len(self.delivered) == after:
                raise error
            self.delivered.append(path.name)
            deliver(place, path)

        monkeypatch.setattr(shard_stores.RemoteStore, "deliver", failing)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize(
    "address", ["memory", pytest.param("s3", marks=pytest.mark.slow)], indirect=True
)
def test_resumed_from_any_moment(models: Models, address: str, shared: bool) -> None:
    files()
    write(models, "here")
    local = made.contents(Path("here"))

    def workers() -> Workers | None:
        return Workers(600) if shared else None

    step = 4 if address.startswith("memory") else 9
    for after in range(0, 1000, step):
        to = f"{address}/{after}"
        with pytest.MonkeyPatch.context() as patched:
            failing = Failing(patched, after, Stopped())
            try:
                write(models, to, workers())
                break
            except Stopped:
                pass
        # As after SIGKILL: nobody took the mark away.
        fsspec_system, path = fsspec.core.url_to_fs(to)
        fsspec_system.pipe_file(f"{path}/.tokctl-writer", b"gone")
        there = contents(to)
        assert {name: local[name] for name in there if name.startswith("shard-")}.items() <= (
            there.items()
        )
        assert "manifest.json" not in there
        done = write(models, to, workers(), resume=True)
        assert contents(to) == local
        assert done.kept <= len(failing.delivered)
    else:
        raise AssertionError
    assert after > 20


def test_an_upload_that_fails(s3: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is half there: not a part of a long file either, which is uploaded in parts."""
    from s3fs import S3FileSystem

    monkeypatch.setattr("s3fs.core.calculate_chunksize", lambda *_, **__: 5 << 20)
    place = shard_stores.open_store("s3://ids/long")
    (tmp_path / "long").write_bytes(bytes(11 << 20))
    call = S3FileSystem._call_s3
    parts = []

    async def failing(self: Any, method: str, *args: Any, **more: Any) -> Any:
        if method == "upload_part":
            parts.append(more["PartNumber"])
            if more["PartNumber"] == 2:
                raise OSError("the line was cut")
        return await call(self, method, *args, **more)

    with monkeypatch.context() as patched:
        patched.setattr(S3FileSystem, "_call_s3", failing)
        with raises_code("unreadable", r"can't write s3://ids/long/long: the line was cut"):
            place.deliver(tmp_path / "long")
    assert len(parts) > 1
    assert contents("s3://ids/long") == {}
    assert not s3.call_s3("list_multipart_uploads", Bucket="ids").get("Uploads")
    place.deliver(tmp_path / "long")
    assert contents("s3://ids/long") == {"long": bytes(11 << 20)}
    assert not (tmp_path / "long").exists()


def test_two_processes(models: Models, address: str) -> None:
    """Without locks, the one that began last goes on."""
    files()
    write(models, "here")
    with pytest.MonkeyPatch.context() as patched, pytest.raises(Stopped):
        Failing(patched, 7, Stopped())
        write(models, f"{address}/1")
    with raises_code("output-taken"):
        write(models, f"{address}/1")

    class Other(Workers):
        def run(self, *given: Any) -> Any:
            for number, found in enumerate(super().run(*given)):
                if number == 2:
                    write(models, f"{address}/2", Workers(600), resume=True)
                yield found

    with pytest.raises(TokctlError, match=f"another process is writing to {address}/2"):
        write(models, f"{address}/2", Other(600))
    assert contents(f"{address}/2") == made.contents(Path("here"))


def test_the_command_line(models_folder: Path, models: Models, s3: Any) -> None:
    del models, s3
    files()
    given: list[Any] = ["encode", "-m", models_folder / "bytes.json", "--as", "bin"]
    given += ["--shard-size", "300", *NAMES]
    assert run(*given, "-o", "here") == (0, b"", "")
    assert run(*given, "-o", "s3://ids/a") == (0, b"", "")
    assert contents("s3://ids/a") == made.contents(Path("here"))
    whole = run("check", "here").out.replace(b"here", b"s3://ids/a")
    assert run("check", "s3://ids/a") == (0, whole, "")
    again = run(*given, "-o", "s3://ids/a", "--resume")
    assert again.err.startswith("note: s3://ids/a is finished, with ")
    refused = run(*given, "-o", "s3://ids/a")
    assert refused.err.startswith("error: s3://ids/a holds finished shards\nhint: ")
    with pytest.MonkeyPatch.context() as patched:
        Failing(patched, 9, TokctlError("can't write s3://ids/b: the line was cut", "so"))
        stopped = run(*given, "-o", "s3://ids/b")
    assert stopped.code == 2
    assert "the complete shards stay in s3://ids/b; to continue, repeat" in stopped.err
    resumed = run(*given, "-o", "s3://ids/b", "--resume")
    assert (resumed.code, "were already there" in resumed.err) == (0, True)
    assert contents("s3://ids/b") == contents("s3://ids/a")


def test_what_can_not_be_written(
    models_folder: Path, models: Models, s3: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    del models
    files()
    given: list[Any] = ["encode", "-m", models_folder / "bytes.json", "--as", "bin", "x.txt"]
    shards = [*given, "--shard-size", "300", "-o"]
    for to, said in (
        ("s3://nowhere/a", "can't write s3://nowhere/a/"),
        ("nowhere://a", "nowhere://a: there is no protocol nowhere"),
        ("https://localhost/a", "can't "),
    ):
        done = run(*shards, to)
        assert done.code == 2, done.err
        assert done.err.startswith(f"error: {said}"), done.err
        assert "\nhint: " in done.err
    assert run("check", "s3://nowhere/a").code == 2
    one = run(*given, "-o", "s3://ids/ids.bin")
    assert one.code == 2
    assert "only shards go to an address" in one.err
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    type(s3).clear_instance_cache()
    done = run(*shards, "s3://ids/c")
    assert done.code == 2
    assert "s3://ids/c" in done.err
    assert "\nhint: " in done.err
