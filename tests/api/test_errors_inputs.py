"""Errors of inputs, model files, ids and calls have the kind and the code that callers catch."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

from tests.formats.models import RECIPES, filled
from tokctl import TokctlError, Tokenizer, idfiles
from tokctl.core.errors import BadInput, BadModel, BadOption, CoreError, Unsupported
from tokctl.extras.chat import Conversation, TokenizerChat
from tokctl.extras.chat.sandbox import JinjaTemplate
from tokctl.formats.contract import unless_damaged
from tokctl.idfiles.shards import StoppedError
from tokctl.sources import ReadOptions
from tokctl.sources.corpora import corpus_path
from tokctl.tokenizer.postprocess import Padding

MESSAGES = [{"role": "user", "content": "a"}]


class Case(NamedTuple):
    """A call, the error that it raises, and what it needs."""

    kind: type[TokctlError]
    code: str
    call: Callable[[], object]
    files: Mapping[str, bytes] = MappingProxyType({})
    missing: Sequence[str] = ()


def model(name: str = "gpt2") -> Tokenizer:
    return Tokenizer(filled(RECIPES[name]))


def encoded(path: str, recipe: str = "gpt2", **reading: Any) -> object:
    return model(recipe).encode_file(path, reading=ReadOptions(**reading))


def ids(path: str, **options: Any) -> bytes:
    return b"".join(idfiles.read_text(model(), path, **options))


def chat(template: str | None = None, messages: Any = MESSAGES) -> str:
    return TokenizerChat(model(), template=template).render(Conversation(messages))[0]


def twice_the_shards() -> None:
    for size in (2, 3):
        idfiles.write(model(), ["a.txt"], "shards", shard_size=size, resume=size == 3)


def changed_shards() -> None:
    idfiles.write(model(), ["a.txt"], "shards", shard_size=2)
    next(Path("shards").glob("*.bin")).write_bytes(b"ab")
    idfiles.write(model(), ["a.txt"], "shards", shard_size=2, resume=True)


def nested(depth: int) -> list[Any]:
    inner: list[Any] = []
    for _ in range(depth):
        inner = [inner]
    return inner


class NoMemory:
    """A value whose text takes more memory than there is."""

    def __str__(self) -> str:
        raise MemoryError


def own_file(**changed: Any) -> None:
    """Load a file of tokctl's format in which something was changed."""
    model().save("m.json")
    document = json.loads(Path("m.json").read_bytes())
    document["model"]["tokctl"] |= changed
    Path("m.json").write_text(json.dumps(document))
    Tokenizer.load("m.json")


A = {"a.txt": b"ab abc\n"}

CASES: dict[str, Case] = {
    # Calls of Tokenizer
    "a model of something else": Case(BadOption, "bad-value", lambda: Tokenizer(3)),  # type: ignore[arg-type]
    "threads": Case(BadOption, "bad-value", lambda: model().encode_ids(["a"], threads=0)),
    "a name of a direction": Case(BadOption, "unknown-name", lambda: Padding(direction="up")),
    "a special token": Case(
        BadOption, "unknown-name", lambda: model().encode("a", special=["<no>"])
    ),
    "padding of a stream": Case(
        BadOption,
        "missing-option",
        lambda: model().encode_iter(["a"], padding=Padding(length=None, id=0)),
    ),
    "samples of BPE": Case(BadOption, "conflict", lambda: model().nbest("ab", 3)),
    "a finished stream": Case(BadOption, "bad-option", lambda: pushed_after_the_end()),
    "an id": Case(BadInput, "bad-ids", lambda: model().decode([10**6])),
    "ids that are None": Case(BadInput, "bad-ids", lambda: model().decode(None)),  # type: ignore[arg-type]
    "ids in a batch": Case(BadInput, "bad-ids", lambda: model().decode_batch([[0], [10**6]])),
    "a lone surrogate": Case(BadInput, "not-utf8", lambda: model("chars").encode("\udcff")),
    "bytes of half a character": Case(
        BadInput, "not-utf8", lambda: model().decode(model().encode("é").ids[:1], errors="strict")
    ),
    "no id": Case(BadInput, "no-id", lambda: model("notebook-bpe").encode_ids("ż")),
    "a token that spells no bytes": Case(
        BadInput, "bad-input", lambda: model().decode_tokens(["é é"])
    ),
    # Sources
    "no text": Case(BadInput, "unreadable", lambda: encoded("no.txt")),
    "a folder without files": Case(BadInput, "bad-input", lambda: encoded("empty")),
    "an unfinished gzip": Case(
        BadInput, "damaged", lambda: encoded("a.gz"), {"a.gz": gzip.compress(b"abc" * 99)[:-9]}
    ),
    "compressed twice": Case(
        Unsupported,
        "unsupported",
        lambda: encoded("a.gz"),
        {"a.gz": gzip.compress(gzip.compress(b"abc"))},
    ),
    "a line that is no JSON": Case(
        BadInput, "bad-record", lambda: encoded("a.jsonl"), {"a.jsonl": b"{]\n"}
    ),
    "a text of Latin-1": Case(
        BadInput, "not-utf8", lambda: encoded("b.txt", "chars"), {"b.txt": b"a \xe9\n"}
    ),
    "an argument that is no source": Case(BadOption, "bad-value", lambda: model().encode_file(3)),  # type: ignore[arg-type]
    "a field of plain text": Case(
        BadOption, "conflict", lambda: encoded("a.txt", text_field="body"), A
    ),
    "a corpus": Case(BadOption, "unknown-name", lambda: corpus_path("no-such-corpus")),
    "a table without pyarrow": Case(
        Unsupported,
        "missing-package",
        lambda: encoded("a.parquet", format="parquet"),
        {"a.parquet": b"PAR1 PAR1"},
        ["pyarrow"],
    ),
    # Model files
    "no model file": Case(BadModel, "unreadable", lambda: Tokenizer.load("no.json")),
    "a text as a model": Case(BadModel, "not-a-model", lambda: Tokenizer.load("a.txt"), A),
    "counts as a model": Case(
        BadModel, "not-a-model", lambda: Tokenizer.load("c"), {"c": b"ab\t3\nabc\t2\n"}
    ),
    "half a model": Case(BadModel, "damaged-model", lambda: own_file(recipe=None)),
    "another version": Case(Unsupported, "unsupported", lambda: own_file(format=10**6)),
    "ranks of an unknown encoding": Case(
        BadOption,
        "missing-option",
        lambda: Tokenizer.load("r.tiktoken"),
        {"r.tiktoken": b"YQ== 0\n"},
    ),
    "a pattern for a file that has one": Case(
        BadOption, "conflict", lambda: saved_and_loaded(pattern="gpt2")
    ),
    "a dropout": Case(
        Unsupported,
        "unsupported",
        lambda: Tokenizer.load("t.json"),
        {
            "t.json": json.dumps(
                {
                    "version": "1.0",
                    "added_tokens": [],
                    "model": {"type": "BPE", "dropout": 0.5, "vocab": {"a": 0}, "merges": []},
                }
            ).encode()
        },
    ),
    "a format that is not written": Case(
        Unsupported, "unsupported", lambda: model().save("m", "tekken")
    ),
    "a format that can't hold it": Case(
        Unsupported, "unsupported", lambda: model("unigram").save("m", "tiktoken")
    ),
    "an unknown format": Case(BadOption, "unknown-name", lambda: model().save("m", "no")),
    "a folder whose name a file has": Case(
        BadOption, "output-taken", lambda: model().save("a.txt", "huggingface-folder"), A
    ),
    "a revision of a file": Case(
        BadOption, "conflict", lambda: Tokenizer.from_pretrained("a.txt", revision="main"), A
    ),
    "the Hub without its package": Case(
        Unsupported,
        "missing-package",
        lambda: Tokenizer.from_pretrained("hf:somebody/something"),
        missing=["huggingface_hub"],
    ),
    # Files of ids
    "a form": Case(BadOption, "bad-value", lambda: ids("a.txt", form="no"), A),
    "a form and a type": Case(
        BadOption, "conflict", lambda: ids("a.npy", form="npy", dtype="uint16")
    ),
    "ids of another model": Case(
        BadInput, "bad-ids", lambda: ids("i.txt", form="ids"), {"i.txt": b"1 999999\n"}
    ),
    "an array that ends early": Case(
        BadInput, "damaged", lambda: ids("i.npy"), {"i.npy": b"\x93NUMPY\x01\x00"}
    ),
    "no file of ids": Case(BadInput, "unreadable", lambda: ids("no.npy")),
    "an object without ids": Case(
        BadInput, "bad-record", lambda: ids("i.jsonl", form="jsonl"), {"i.jsonl": b'{"a": 1}\n'}
    ),
    "an index of shards": Case(
        BadOption,
        "conflict",
        lambda: idfiles.write(model(), ["a.txt"], "s", index="i", shard_size=2),
        A,
    ),
    "to resume a file": Case(
        BadOption,
        "missing-option",
        lambda: idfiles.write(model(), ["a.txt"], "s", resume=True),
        A,
    ),
    "a folder that is not empty": Case(
        BadOption,
        "output-taken",
        lambda: idfiles.write(model(), ["a.txt"], "full", shard_size=2),
        A | {"full/a": b""},
    ),
    "another size of shards": Case(BadOption, "conflict", twice_the_shards, A),
    "a changed shard": Case(BadInput, "damaged", changed_shards, A),
    # Chats
    "no template": Case(BadOption, "missing-option", chat),
    "a template's name": Case(BadOption, "unknown-name", lambda: chat("tools")),
    "a damaged template": Case(BadModel, "bad-model", lambda: chat("{% if %}")),
    "a long template": Case(BadModel, "too-large", lambda: chat("a " * (1 << 22))),
    "a refused conversation": Case(
        BadInput,
        "bad-record",
        lambda: chat("{{ raise_exception('no') }}"),
    ),
    "a deep conversation": Case(
        BadInput,
        "too-large",
        lambda: chat("a {{ b }}", [{"role": "user", "content": nested(10_000)}]),
    ),
    "no memory": Case(
        Unsupported,
        "out-of-memory",
        lambda: JinjaTemplate("{{ a }}", "a template").render({"a": NoMemory()}),
    ),
    "messages that are a text": Case(
        BadInput,
        "bad-record",
        lambda: chat("a {{ b }}", messages="hello"),
    ),
}


def pushed_after_the_end() -> None:
    stream = model().decode_stream()
    stream.finish()
    stream.push(0)


def saved_and_loaded(**hints: Any) -> None:
    model().save("m.json")
    Tokenizer.load("m.json", **hints)


@pytest.mark.few(17)
@pytest.mark.parametrize("name", CASES)
def test_kind_and_code(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = CASES[name]
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    for path, data in case.files.items():
        Path(path).parent.mkdir(exist_ok=True)
        Path(path).write_bytes(data)
    for package in case.missing:
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(TokctlError) as caught:
        case.call()
    assert isinstance(caught.value, case.kind), caught.value
    assert (caught.value.code, caught.value.exit_code) == (case.code, 2), caught.value


@pytest.mark.parametrize("kind", [BadOption, BadInput, BadModel, Unsupported, TokctlError])
def test_an_error_that_stops_the_work_keeps_its_kind_and_code(kind: type[TokctlError]) -> None:
    error = kind("can't write a: no space", "look", "conflict", exit_code=1)
    stopped = StoppedError.from_error(error)
    assert isinstance(stopped, kind) and isinstance(stopped, StoppedError)
    assert (stopped.message, stopped.code, stopped.exit_code) == (error.message, "conflict", 1)
    assert type(stopped.reworded()) is kind
    assert StoppedError.from_error(kind("a", "b")).code == kind.general_code


@pytest.mark.parametrize(
    ("error", "hinted", "kind", "code"),
    [
        (BadOption("no marker is 3", "take one", "bad-value"), False, BadModel, "bad-model"),
        (BadOption("no pattern is 3", "take one", "bad-value"), True, BadOption, "bad-value"),
        (BadInput("it has no text", "take another"), False, BadModel, "bad-model"),
        (Unsupported("it has two templates", "take another"), False, Unsupported, "unsupported"),
        (CoreError("a rule is cut off", "invalid", (0, 0, 0)), False, BadModel, "damaged-model"),
        (KeyError("vocab"), False, BadModel, "damaged-model"),
    ],
)
def test_errors_of_the_content_of_a_model_file(
    error: Exception, hinted: bool, kind: type[TokctlError], code: str
) -> None:
    with (
        pytest.raises(TokctlError, match=r"m\.json") as caught,
        unless_damaged("m.json", hinted=hinted),
    ):
        raise error
    assert type(caught.value) is kind and caught.value.code == code
