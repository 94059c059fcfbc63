"""Every kind of JSON that tokctl reads, with every wrong type at every position: a result, or a
TokctlError with a hint; never another exception.

Of the models, a part of the changes is tried; `TOKCTL_EXAMPLES=100000` tries all.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import settings

from tests.idfiles import made
from tests.idfiles.shared import Stopped, Workers
from tests.schemas.mutations import mutations
from tests.tools.fuzz import seeds, targets
from tokctl import TokctlError, Tokenizer, formats, idfiles
from tokctl.extras.chat.lines import conversation
from tokctl.extras.chat.template import TokenizerChat
from tokctl.idfiles import shared_shards
from tokctl.idfiles.random_access import InputFile
from tokctl.idfiles.reader import read_text
from tokctl.idfiles.safetensors import replace_tensors, stored_tensors
from tokctl.idfiles.shard_check import check_shards
from tokctl.idfiles.shard_stores import LocalStore
from tokctl.idfiles.weights import Weights
from tokctl.model.parts import DECODERS, NORMALIZERS, POST_PROCESSORS, PRE_TOKENIZERS
from tokctl.sources import flat, open_sources, parts

#: Changes of a document that are tried.
MOST = 5 * settings().max_examples


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    return made.models(tmp_path_factory.mktemp("models"))["bytes"]


def check_all(document: Any, read: Callable[[Any], object]) -> None:
    """Reads the document, and every change of it."""
    read(document)
    changes = list(mutations(document))
    if len(changes) > MOST:
        changes = random.Random(1).sample(changes, MOST)
    refused = 0
    for what, changed in changes:
        try:
            read(changed)
        except TokctlError as error:
            assert error.message and "Traceback" not in error.message, what
            refused += 1
        except Exception as error:
            raise AssertionError(f"{what}: {error!r}") from error
    assert refused


# -- folders of shards ---------------------------------------------------------------------------


class Shards(NamedTuple):
    """A run that stopped, or has finished."""

    model: Tokenizer
    engine: Workers | None
    form: str = "bin"

    def write(self, resume: bool = False) -> object:
        return idfiles.write(
            self.model, ["a.txt", "b.txt"], "f", form=self.form, shard_size=40, resume=resume,
            engine=self.engine,
        )  # fmt: skip

    def stop(self, at: int) -> None:
        """Stops when the journal has so many lines."""
        Path("a.txt").write_bytes(made.TRAINED_ON.encode())
        Path("b.txt").write_bytes(b"low\n" * 30)
        add = LocalStore.add_to_journal

        def added(place: LocalStore, number: int, line: bytes) -> None:
            add(place, number, line)
            if number == at:
                raise Stopped

        with pytest.MonkeyPatch.context() as patched, suppress(Stopped):
            patched.setattr(LocalStore, "add_to_journal", added)
            self.write()


@pytest.mark.parametrize("form", ["bin", "megatron"])
def test_manifests(model: Tokenizer, form: str) -> None:
    shards = Shards(model, None, form)
    shards.stop(-1)
    manifest = json.loads(Path("f/manifest.json").read_text())

    def read(document: Any) -> None:
        failures = []
        Path("f/manifest.json").write_text(json.dumps(document))
        for use in (
            lambda: check_shards("f"),
            lambda: list(read_text(model, "f")),
            lambda: shards.write(resume=True),
        ):
            try:
                use()
            except TokctlError as error:
                assert error.hint
                failures.append(error)
        if failures:
            raise failures[0]

    def sealed(document: Any) -> None:
        if isinstance(document, dict):
            made.write_manifest(Path("f"), document)
            document = json.loads(Path("f/manifest.json").read_text())
        read(document)

    check_all(manifest, read)
    check_all(manifest, sealed)


@pytest.mark.parametrize("shared", [False, True])
def test_journals(model: Tokenizer, shared: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    shards = Shards(model, Workers(60) if shared else None)
    monkeypatch.setattr(shared_shards, "_IDS_PER_GROUP", 50)
    monkeypatch.setattr(parts, "_WINDOW", 16)
    shards.stop(6 if shared else 3)
    lines = Path("f/journal.jsonl").read_bytes().splitlines()
    journal = [json.loads(line) for line in lines]
    for line in journal:
        del line["sha256"]
    assert {"shards" if shared else "shard"} <= {key for line in journal for key in line}
    folders = [path for path in (Path("f"), Path("f/.pieces")) if path.exists()]
    kept = {path: path.read_bytes() for one in folders for path in one.iterdir() if path.is_file()}

    def read(document: Any) -> None:
        for path, data in kept.items():
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(data)
        Path("f/manifest.json").unlink(missing_ok=True)
        given = document if isinstance(document, list) else [document]
        Path("f/journal.jsonl").write_bytes(made.journal_of(*given))
        shards.write(resume=True)

    check_all(journal, read)


# -- models --------------------------------------------------------------------------------------


@pytest.mark.few(2)
@pytest.mark.parametrize("name", ["tokctl", "huggingface", "tekken", "word-counts", "vocab-merges"])
def test_models(name: str, tmp_path: Path) -> None:
    for case in seeds.seeds(name):
        several = seeds.parted(case) if seeds.CUT in case else {"": case}
        for file, data in several.items():
            if data.lstrip()[:1] != b"{":
                continue

            def read(document: Any, file: str = file, several: Any = several) -> None:
                changed = {**several, file: json.dumps(document).encode()}
                found = seeds.joined(changed) if len(changed) > 1 else changed[file]
                targets.used(Tokenizer(targets.read(found, tmp_path)))

            check_all(json.loads(data), read)


FOLDER: dict[str, Any] = {
    "tokenizer_config.json": {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": "<s>",
        "eos_token": {"content": "</s>", "lstrip": False, "rstrip": False, "normalized": True,
                      "single_word": False, "special": True, "__type": "AddedToken"},
        "unk_token": None,
        "additional_special_tokens": ["<x>", {"content": "<y>", "special": True}],
        "extra_special_tokens": {"image_token": "<z>"},
        "added_tokens_decoder": {"300": {"content": "<w>", "special": True, "lstrip": True}},
        "add_bos_token": True,
        "add_eos_token": False,
        "add_prefix_space": False,
        "clean_up_tokenization_spaces": True,
        "model_max_length": 512,
        "padding_side": "left",
        "truncation_side": "right",
        "do_lower_case": True,
        "legacy": False,
        "chat_template": [{"name": "default", "template": "{{ messages[0].content }}"}],
    },
    "special_tokens_map.json": {
        "bos_token": {"content": "<s>", "lstrip": False},
        "eos_token": "</s>",
        "additional_special_tokens": ["<x>"],
    },
    "added_tokens.json": {"<x>": 301, "<y>": 302},
    "config.json": {"model_type": "gpt2", "vocab_size": 400, "architectures": ["GPT2LMHeadModel"]},
}  # fmt: skip


@pytest.mark.few(2)
@pytest.mark.parametrize("name", FOLDER)
@pytest.mark.parametrize("given", ["huggingface", "vocab-merges"])
def test_files_of_a_folder(name: str, given: str, model: Tokenizer, tmp_path: Path) -> None:
    written = formats.write(model.model, given)
    for file, data in written.items():
        (tmp_path / (file or "tokenizer.json")).write_bytes(data)
    others = {
        "tokenizer_config.json": {
            "tokenizer_class": "GPT2TokenizerFast" if given == "vocab-merges" else
            "PreTrainedTokenizerFast"
        },
        "config.json": FOLDER["config.json"],
    }  # fmt: skip
    for other, document in others.items():
        (tmp_path / other).write_text(json.dumps(document))
    messages = conversation(b'[{"role": "user", "content": "low"}]')

    def read(document: Any) -> None:
        (tmp_path / name).write_text(json.dumps(document))
        tokenizer = Tokenizer.load(tmp_path)
        targets.used(tokenizer)
        with suppress(TokctlError):
            TokenizerChat(tokenizer, path=tmp_path).render(messages)
        list(formats.losses(tokenizer.model, "huggingface"))

    read(others.get(name, {}))
    with suppress(TokctlError):  # the whole document need not go with both
        read(FOLDER[name])
    check_all(FOLDER[name], read_or(read))


def read_or(read: Callable[[Any], object]) -> Callable[[Any], object]:
    """The reader, for documents that are all refused: the first call may be, too."""
    calls = iter(range(1 << 60))

    def tried(document: Any) -> None:
        if next(calls) == 0:
            with suppress(TokctlError):
                read(document)
            return
        read(document)

    return tried


@pytest.mark.parametrize(
    ("family", "document"),
    [
        (NORMALIZERS, {"kind": "replace", "pattern": "a", "content": "b"}),
        (PRE_TOKENIZERS, {"kind": "regex", "pattern": "a"}),
        (DECODERS, {"kind": "byte-level"}),
        (POST_PROCESSORS, {"kind": "template", "single": [], "pair": []}),
    ],
)
def test_parts(family: Any, document: Any) -> None:
    check_all(document, read_or(lambda given: family.parse(json.dumps(given))))


# -- texts and ids -------------------------------------------------------------------------------


def test_conversations(model: Tokenizer) -> None:
    template = "{% for m in messages %}{{ m.role }}{{ m.content }}{% endfor %}"
    chat = TokenizerChat(model, template=template)
    documents = [
        {
            "messages": [
                {"role": "user", "content": "low"},
                {"role": "assistant", "content": [{"type": "text", "text": "low"}]},
            ],
            "tools": [{"type": "function", "function": {"name": "x", "parameters": {}}}],
            "documents": [{"title": "x", "text": "y"}],
            "chat_template_kwargs": {"x": 1},
        },
        {"conversations": [{"from": "human", "value": "low"}], "system": "x"},
    ]
    for document in documents:
        check_all(document, lambda one: chat.render(conversation(json.dumps(one).encode())))


def test_lines_of_texts_and_of_ids(model: Tokenizer) -> None:
    def texts(document: Any) -> None:
        Path("a.jsonl").write_text(json.dumps(document) + "\n")
        for source in flat(open_sources(["a.jsonl"])):
            list(source.batches())  # type: ignore[union-attr]

    def ids(document: Any) -> None:
        Path("i.jsonl").write_text(json.dumps(document) + "\n")
        list(read_text(model, "i.jsonl", form="jsonl"))

    check_all({"text": "low", "id": 1}, texts)
    check_all({"ids": [1, 2, 3], "tokens": ["a"]}, ids)


def test_saved_datasets() -> None:
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"text": ["low"]})
    Path("d").mkdir()
    with pa.ipc.new_stream("d/a.arrow", table.schema) as writer:
        writer.write_table(table)
    Path("d/dataset_info.json").write_text("{}")
    state = {"_data_files": [{"filename": "a.arrow"}], "_split": "train"}

    def read(document: Any) -> None:
        Path("d/state.json").write_text(json.dumps(document))
        for source in flat(open_sources(["d"])):
            list(source.batches())  # type: ignore[union-attr]

    check_all(state, read)
    Path("e").mkdir()
    Path("d").rename("e/train")
    Path("e/train/state.json").write_text(json.dumps(state))

    def read_splits(document: Any) -> None:
        Path("e/dataset_dict.json").write_text(json.dumps(document))
        for source in flat(open_sources(["e"])):
            list(source.batches())  # type: ignore[union-attr]

    check_all({"splits": ["train"]}, read_splits)


# -- tensors -------------------------------------------------------------------------------------


def written_tensors(path: Path, header: Any) -> None:
    data = json.dumps(header).encode()
    path.write_bytes(len(data).to_bytes(8, "little") + data + bytes(16))


HEADER = {
    "__metadata__": {"format": "pt"},
    "input_ids": {"dtype": "U16", "shape": [4], "data_offsets": [0, 8]},
    "offsets": {"dtype": "I64", "shape": [1], "data_offsets": [8, 16]},
}


def test_headers_of_tensors(model: Tokenizer) -> None:
    path = Path("x.safetensors")

    def read(document: Any) -> None:
        written_tensors(path, document)
        with InputFile("x", path=str(path)).opened() as file:
            stored_tensors(file, "?")
            list(replace_tensors(file, {}, "?"))

    def read_ids(document: Any) -> None:
        written_tensors(path, document)
        list(read_text(model, path))

    check_all(HEADER, read)
    check_all(HEADER, read_or(read_ids))


def test_indexes_of_tensors() -> None:
    matrix = {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}
    written_tensors(Path("a.safetensors"), {"wte.weight": matrix})
    document = {"metadata": {"total_size": 16}, "weight_map": {"wte.weight": "a.safetensors"}}

    def read(document: Any) -> None:
        Path("m.json").write_text(json.dumps(document))
        with ExitStack() as stack:
            weights = Weights(Path("m.json"), stack)
            chosen, _ = weights.choose(2, None, None)
            np.asarray(chosen.numbers(0, 2))
            if weights._index_path is not None:
                weights._new_index({})

    check_all(document, read)


# -- no JSON at all, and JSON that no document is ------------------------------------------------

RAW = [
    b"[" * 10**5,
    b'{"a":' * 10**5,
    b"[" * 600 + b"]" * 600,
    b'{"x": NaN}',
    b'{"x": 1e999}',
    b'{"x": "\\ud800"}',
    b'{"x": 1, "x": [2]}',
    b'{"x": "\xff"}',
    b"null",
]


@pytest.mark.parametrize("raw", RAW, ids=range(len(RAW)))
def test_what_is_nested_deeply_or_no_json(raw: bytes, model: Tokenizer) -> None:
    def header() -> object:
        Path("x").write_bytes(len(raw).to_bytes(8, "little") + raw)
        with InputFile("x", path="x").opened() as file:
            return list(replace_tensors(file, {}, "?"))

    def index() -> object:
        Path("m.json").write_bytes(raw)
        return Weights(Path("m.json"), ExitStack())

    def texts() -> object:
        Path("a.jsonl").write_bytes(raw)
        return [list(source.batches()) for source in flat(open_sources(["a.jsonl"]))]  # type: ignore[union-attr]

    def ids() -> object:
        Path("i.jsonl").write_bytes(raw)
        return list(read_text(model, "i.jsonl", form="jsonl"))

    def manifest() -> object:
        Path("f").mkdir(exist_ok=True)
        Path("f/manifest.json").write_bytes(raw)
        return check_shards("f")

    def journal() -> object:
        Path("f/manifest.json").unlink(missing_ok=True)
        Path("f/journal.jsonl").write_bytes(raw + b"\n" + raw + b"\n")
        return Shards(model, None).write(resume=True)

    def dataset() -> object:
        Path("d").mkdir(exist_ok=True)
        Path("d/dataset_dict.json").write_bytes(raw)
        return open_sources(["d"])

    def folder() -> object:
        Path("t").mkdir(exist_ok=True)
        data = formats.write(model.model, "huggingface")[""]
        Path("t/tokenizer.json").write_bytes(data)
        found = []
        for name in FOLDER:
            Path("t", name).write_bytes(raw)
            try:
                found.append(Tokenizer.load("t"))
            finally:
                Path("t", name).unlink()
        Path("t/tokenizer.json").write_bytes(raw)
        return Tokenizer.load("t")

    readers = (manifest, journal, index, texts, ids, dataset, folder, header)
    for read in readers:
        with pytest.raises(TokctlError):
            read()
    with suppress(TokctlError):
        conversation(raw)
