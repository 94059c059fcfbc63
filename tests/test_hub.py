"""`hf:ORG/NAME`: out of a cache without a network, and from a Hub that stands here."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import error, process
from tests.errors import raises_code
from tests.sources.made import nobody
from tokctl import Tokenizer, formats
from tokctl.formats import hub

pytest.importorskip("huggingface_hub")

COMMIT = "0123456789abcdef0123456789abcdef01234567"
TEXT = "low lower newest, 東京 sea"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A tokenizer.json of Hugging Face's kind."""
    path = tmp_path_factory.mktemp("model") / "tokenizer.json"
    made = Tokenizer.train({"low": 5, "lower": 2, "newest": 6}, vocab_size=270)
    made.save(path, "huggingface")
    return path.read_bytes()


@pytest.fixture
def cache(tmp_path: Path, model: bytes) -> Path:
    """The cache of that library with one repository, as it lays it out."""
    home = tmp_path / "home"
    repository = home / "hub" / "models--some-org--small"
    snapshot = repository / "snapshots" / COMMIT
    for folder in (repository / "refs", repository / "blobs", snapshot):
        folder.mkdir(parents=True)
    (repository / "refs" / "main").write_text(COMMIT)
    (repository / "blobs" / "abc").write_bytes(model)
    try:
        (snapshot / "tokenizer.json").symlink_to("../../blobs/abc")
    except OSError:  # where no links can be made, it puts the file itself there
        (snapshot / "tokenizer.json").write_bytes(model)
    return home


def offline(home: Path, **more: str) -> dict[str, str]:
    return {"HF_HOME": str(home), "HF_HUB_OFFLINE": "1", "HF_HUB_CACHE": str(home / "hub"), **more}


@pytest.mark.parametrize("name", ["hf:some-org/small", f"hf:some-org/small@{COMMIT}"])
def test_a_model_of_the_cache(cache: Path, model: bytes, tmp_path: Path, name: str) -> None:
    plain = tmp_path / "plain.json"
    plain.write_bytes(model)
    done = process("encode", "-m", name, stdin=TEXT.encode(), env=offline(cache))
    assert (done.code, done.err) == (0, "")
    assert [int(id_) for id_ in done.out.split()] == Tokenizer.load(plain).encode(TEXT).ids


def test_every_command_takes_it(cache: Path, tmp_path: Path) -> None:
    env = offline(cache)
    text = tmp_path / "text.txt"
    text.write_text(TEXT)
    done = process("inspect", "hf:some-org/small", "--json", env=env)
    facts = json.loads(done.out)
    origin = facts["origin"]
    assert origin["name"] == f"hf:some-org/small@{COMMIT}"
    title = formats.format_named(origin["format"]).title
    assert facts["format"].startswith("huggingface") and title.startswith("Hugging Face ")
    shown = process("inspect", "hf:some-org/small", "--recipe", env=env).out.decode()
    assert f" origin {title}, hf:some-org/small@{COMMIT} " in " ".join(shown.split())
    done = process("convert", "hf:some-org/small", env=env, cwd=tmp_path)
    assert (done.code, done.out, done.err) == (0, b"small.json\n", "")
    assert Tokenizer.load(tmp_path / "small.json").model.origin == tuple(origin.values())
    compared = process(
        "compare", "-m", "hf:some-org/small", "--baseline", "hf:some-org/small@main",
        text, "--json", env=env,
    )  # fmt: skip
    assert compared.code == 0, compared.err
    assert [one["name"] for one in json.loads(compared.out)["models"]] == ["small@main", "small"]
    extended = tmp_path / "more.json"
    done = process(
        "train", "-q", "--extend", "hf:some-org/small", "--vocab", "275", "-o", extended, text,
        env=env,
    )  # fmt: skip
    assert done.code == 0, done.err
    assert Tokenizer.load(extended).vocab_size == 275


def test_what_is_not_cached_is_an_error_offline(cache: Path) -> None:
    done = process("encode", "-m", "hf:some-org/other", stdin=b"a", env=offline(cache))
    assert done == (
        2,
        b"",
        error(
            "hf:some-org/other is not in the cache, and HF_HUB_OFFLINE says not to fetch it",
            "unset HF_HUB_OFFLINE, or check HF_HOME, where the cache is",
        ),
    )


def test_no_network(cache: Path) -> None:
    with nobody() as closed:
        env = offline(cache, HF_HUB_OFFLINE="0", HF_ENDPOINT=f"http://{closed}")
        done = process("encode", "-m", "hf:some-org/other", stdin=b"a", env=env)
    assert (done.code, done.out) == (2, b"")
    assert done.err.startswith("error: the Hugging Face Hub can't be reached, and hf:some-org/")
    assert process("encode", "-m", "hf:some-org/small", stdin=b"a", env=env).code == 0


@pytest.mark.parametrize("name", ["hf:", "hf:a/b/c", "hf:a b", "hf:a/b@", "hf:/b", "hf:a/b@x y"])
def test_names_that_are_none(name: str) -> None:
    with raises_code("bad-value") as caught:
        Tokenizer.load(name)
    assert caught.value.hint == "spell it hf:ORG/NAME or hf:ORG/NAME@REVISION"


def test_names() -> None:
    assert hub.parse_repository("hf:gpt2") == ("gpt2", None)
    assert hub.parse_repository("hf:a-b/c.d_1@refs/pr/3") == ("a-b/c.d_1", "refs/pr/3")
    assert not hub.is_hub_name("./hf:a/b")


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with raises_code("missing-package") as caught:
        Tokenizer.load("hf:some-org/small")
    assert caught.value.hint == "pip install 'tokctl[hub]'"


# -- a Hub of our own ---------------------------------------------------------------------


class Hub:
    """What the library asks a Hub for: the commit, the list of files, the files."""

    def __init__(self, repositories: dict[str, dict[str, bytes]]) -> None:
        self.repositories = repositories
        self.fetched: list[str] = []
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_HEAD(self) -> None:
                self.do_GET()

            def do_GET(self) -> None:
                hub.answer(self)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        path = request.path.partition("?")[0].strip("/").split("/")
        is_api = path[:2] == ["api", "models"]
        name, rest = "/".join(path[2:4] if is_api else path[:2]), path[4:] if is_api else path[2:]
        if name == "closed/gated":
            return self.send(request, 403, b"", {"X-Error-Code": "GatedRepo"})
        files = self.repositories.get(name)
        if files is None:
            return self.send(request, 404, b"", {"X-Error-Code": "RepoNotFound"})
        if rest[1:2] not in (["main"], [COMMIT]):
            return self.send(request, 404, b"", {"X-Error-Code": "RevisionNotFound"})
        if is_api and rest[0] == "tree":
            tree = [
                {"type": "file", "path": file, "size": len(data), "oid": "0" * 40}
                for file, data in files.items()
            ]
            return self.send(request, 200, json.dumps(tree).encode())
        if is_api:
            siblings = [{"rfilename": file} for file in files]
            facts = {"id": name, "modelId": name, "sha": COMMIT, "siblings": siblings}
            return self.send(request, 200, json.dumps(facts).encode())
        file = "/".join(rest[2:])
        if request.command == "GET":
            self.fetched.append(file)
        headers = {"ETag": f'"{name.replace("/", "-")}-{file}"', "X-Repo-Commit": COMMIT}
        return self.send(request, 200, files[file], headers)

    def send(
        self,
        request: BaseHTTPRequestHandler,
        status: int,
        data: bytes,
        headers: dict[str, str] | None = None,
    ) -> None:
        request.send_response(status)
        for key, value in {**(headers or {}), "Content-Length": str(len(data))}.items():
            request.send_header(key, value)
        request.end_headers()
        if request.command == "GET":
            request.wfile.write(data)


@pytest.fixture
def online(model: bytes) -> Iterator[Hub]:
    weights = dict.fromkeys(("model.safetensors", "pytorch_model.bin", "config.json"), b"weights")
    hub = Hub(
        {
            "org/both": weights
            | {
                "tokenizer.json": model,
                "tokenizer_config.json": b"{}",
                "vocab.json": b"{}",
                "merges.txt": b"",
                "spiece.model": b"x",
            },
            "org/old": weights | {"vocab.txt": b"[UNK]\na\n", "sub/vocab.txt": b"other"},
            "org/none": weights,
        }
    )
    yield hub
    hub.server.shutdown()


def asked(online: Hub, home: Path, name: str) -> Any:
    env = {"HF_HOME": str(home), "HF_ENDPOINT": online.address, "HF_HUB_OFFLINE": "0"}
    env |= {"HF_HUB_CACHE": str(home / "hub"), "HF_HUB_DISABLE_XET": "1"}
    return process("encode", "-m", name, stdin=TEXT.encode(), env=env)


def test_only_files_of_tokenizers_are_fetched(online: Hub, tmp_path: Path) -> None:
    done = asked(online, tmp_path, "hf:org/both")
    assert (done.code, done.err) == (0, ""), done.err
    assert sorted(online.fetched) == ["tokenizer.json", "tokenizer_config.json"]
    assert asked(online, tmp_path, "hf:org/both@main").out == done.out
    assert len(online.fetched) == 2  # the second time they were here


def test_files_of_older_tokenizers_are_fetched(online: Hub, tmp_path: Path) -> None:
    asked(online, tmp_path, "hf:org/old")
    assert online.fetched == ["vocab.txt"]


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("hf:org/none", "hf:org/none has no tokenizer that tokctl reads"),
        ("hf:org/nosuch", "the Hugging Face Hub has no repository org/nosuch, or does not"),
        ("hf:closed/gated", "hf:closed/gated is gated: its authors say who may fetch it"),
        ("hf:org/both@gone", "hf:org/both has no revision 'gone'"),
    ],
)
def test_what_the_hub_refuses(online: Hub, tmp_path: Path, name: str, message: str) -> None:
    done = asked(online, tmp_path, name)
    assert (done.code, done.out) == (2, b"")
    first, second = done.err.splitlines()
    assert first.startswith(f"error: {message}")
    assert second.startswith("hint: ")
    assert online.fetched == []
