"""What is done with a case of each target. Any exception but a TokctlError is a fault, and so is a
result that is not what another way to it gives."""

from __future__ import annotations

import contextlib
import io
import json
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path

from tests.chat.forms import CONVERSATIONS
from tests.cli.run import Result
from tests.formats.models import RECIPES, filled
from tests.tools.fuzz.properties import properties
from tests.tools.fuzz.seeds import CUT, READERS, SHARDED, parted
from tokctl import TokctlError, Tokenizer, formats, sources
from tokctl.extras.chat.sandbox import JinjaTemplate
from tokctl.formats import FORMATS, LoadOptions, UnsupportedByFormat
from tokctl.idfiles import reader
from tokctl.sources import Archive, ReadOptions

TEXT = "low lower newest 123 naïve \u6771\u4eac\t<s>\n"

#: The commands see one case in so many: they take longer than all the rest.
ONE_IN = 16

#: Of larger models a few bytes can be thousands of tokens, which every format writes.
LARGEST = 4_000

#: More bytes of a text are not read: what is compressed may hold any number of them.
MOST = 1 << 24

#: Where what is written goes; the case's own files lie in it.
Trial = Callable[[bytes, Path], None]


# Models


def model(case: bytes, folder: Path) -> None:
    """Reads a model, and encodes, decodes and converts with it; some through the commands."""
    try:
        found = read(case, folder)
    except TokctlError as error:
        assert error.message and error.hint and "Traceback" not in error.message
        return
    tokenizer = Tokenizer(found)
    ids = used(tokenizer)
    data = formats.serialize(found)
    again = formats.parse(data, "again")
    assert again == found
    if tokenizer.vocab_size > LARGEST:
        return
    converted(tokenizer, ids)
    if zlib.crc32(case) % ONE_IN == 0:
        commands(data, folder)


def read(case: bytes, folder: Path) -> formats.Model:
    """The model of a case; several files are a folder, and companions stand beside a file."""
    if CUT not in case:
        try:
            return formats.parse(case, "case")
        except TokctlError:  # of ranks alone
            return formats.parse(case, "case", LoadOptions(pattern="qwen2"))
    main = laid(case, folder)
    return formats.load(main if main.is_file() else folder)


def laid(case: bytes, folder: Path) -> Path:
    """Puts the files of a case into the folder, and nothing else; the path of the main one."""
    for old in folder.iterdir():
        if old.is_file():
            old.unlink()
    for name, data in parted(case).items():
        target = f"case{name}" if name[:1] in ("", ".") else name
        if "/" not in target and "\0" not in target and len(target) < 100:
            (folder / target).write_bytes(data)
    return folder / "case"


def used(tokenizer: Tokenizer) -> list[int] | None:
    """Encodes and decodes; the ids, None where a character has none."""
    size = tokenizer.vocab_size
    try:
        ids = tokenizer.encode_ids(TEXT)
    except TokctlError:
        ids = None
    else:
        encoding = tokenizer.encode(TEXT)
        assert encoding.ids == ids
        assert all(0 <= start <= end <= len(TEXT) for start, end in encoding.offsets)
        assert tokenizer.encode_ids([TEXT, TEXT], threads=2) == [ids, ids]
        assert all(0 <= id_ < size for id_ in ids)
        whole = tokenizer.decode(ids, errors="replace")
        stream = tokenizer.decode_stream()
        assert "".join([*map(stream.push, ids), stream.finish()]) == whole
    with contextlib.suppress(TokctlError):
        marked = tokenizer.encode(TEXT, TEXT, special="all", add_special=True)
        assert all(0 <= id_ < size for id_ in marked.ids)
    return ids


def converted(tokenizer: Tokenizer, ids: list[int] | None) -> None:
    """A format that names no loss holds the model."""
    for known in FORMATS:
        if not (known.writes and known.reads) or known.name == "tokctl":
            continue
        try:
            lost = formats.losses(tokenizer.model, known.name)
            files = formats.write(tokenizer.model, known.name)
        except UnsupportedByFormat:
            continue
        if set(files) != {""} or not all(loss.minor for loss in lost):
            continue
        again = Tokenizer(formats.parse(files[""], "again"))
        if ids is not None:
            assert again.encode_ids(TEXT) == ids, known.name
            assert again.decode(ids, errors="replace") == tokenizer.decode(ids, errors="replace")


def commands(data: bytes, folder: Path) -> None:
    """The commands about a model end with 0, or with 2 and an error that says why."""
    from tests.cli.run import tokctl

    path, text, ids = folder / "case.json", folder / "case.txt", folder / "case.ids"
    path.write_bytes(data)
    text.write_text(TEXT, encoding="utf-8")
    lines = [
        ("inspect", path),
        ("inspect", path, "--json"),
        ("inspect", path, "--merges", "1:9"),
        ("inspect", path, "--word", "lower"),
        ("inspect", path, "--token", "#5"),
        ("inspect", path, "--use", text),
        ("inspect", path, "--check", text),
        ("encode", "-m", path, "--as", "tokens", text),
        ("encode", "-m", path, "--as", "jsonl", "--offsets", text),
        ("encode", "-m", path, "--as", "npy", "-o", ids, text),
        ("decode", "-m", path, ids),
        ("compare", "-m", path, "-m", f"again={path}", text, "--json"),
    ]
    for line in lines:
        if line[0] == "decode" and not ids.exists():
            continue
        done = tokctl(*line)
        said = done.err
        assert done.code in (0, 2), (line[0], done.code, said)
        assert (done.code == 2) == ("error: " in said), (line, said)
        assert "Traceback" not in said and "internal error" not in said, said


# Texts


def source(*readings: ReadOptions) -> Trial:
    """Reads sources of text: a file and a pipe hold the same, or are refused both."""

    def trial(case: bytes, folder: Path) -> None:
        path = folder / "case"
        path.write_bytes(case)
        for reading in readings:
            # A pipe is not waited for: there its form has to be said, unless its bytes say it.
            from_file = digest(lambda: sources.open_sources([path], reading))  # noqa: B023
            stdin = io.BytesIO(case)
            from_pipe = digest(lambda: sources.open_sources(["-"], reading, stdin=stdin))  # noqa: B023
            assert from_file == from_pipe, (reading, from_file, from_pipe)

    return trial


def digest(opened: Callable[[], list[sources.Source]]) -> str | None:
    """A digest of all texts, and of where each ends; None where they are refused."""
    found = sha256()
    left = MOST
    try:
        for block in texts_of(opened()):
            found.update(block)
            left -= len(block)
            if left < 0:
                break
    except TokctlError as error:
        assert error.message and error.hint and "Traceback" not in error.message
        return None
    return found.hexdigest()


def texts_of(opened: list[sources.Source]) -> Iterator[bytes]:
    for one in opened:
        if isinstance(one, Archive):
            yield from texts_of(list(one.members()))
        elif isinstance(one, sources.Records):
            for batch in one.batches():
                for text in batch.texts:
                    yield json.dumps(len(text)).encode()
                    yield text
        else:
            yield from one.blocks()


def id_file(case: bytes, folder: Path) -> None:
    """Decodes a file of ids, of the form that its bytes or its name say."""
    if CUT in case:
        path = laid(case, folder)
        path = folder / "ids" if (folder / "ids.idx").exists() else path
    else:
        path = folder / "ids"
        for old in folder.glob("ids*"):
            old.unlink()
        path.write_bytes(case)
    for form in ("auto", "bin"):
        left = MOST
        try:
            for block in reader.read_text(decoder(), path, form=form):
                left -= len(block)
                if left < 0:
                    break
        except TokctlError as error:
            assert error.message and error.hint and "Traceback" not in error.message


@cache
def decoder() -> Tokenizer:
    """A model of bytes, for files of ids."""
    return Tokenizer(filled(RECIPES["gpt2"]))


def template(case: bytes, _folder: Path) -> None:
    """Renders conversations with a chat template."""
    try:
        made = JinjaTemplate(case.decode("utf-8", "replace"), "case")
    except TokctlError as error:
        assert error.message and error.hint and "Traceback" not in error.message
        return
    for chat in (CONVERSATIONS[0], CONVERSATIONS[-1]):
        values = {"messages": chat.messages, "tools": chat.tools, "documents": chat.documents}
        try:
            made.render({**values, "bos_token": "<s>", "eos_token": "</s>"})
        except TokctlError as error:
            assert error.message and error.hint and "Traceback" not in error.message
            assert "more memory" not in error.message


def embeddings(case: bytes, folder: Path) -> None:
    """Weights are looked at beside a model, and carried over to another."""
    from tests.cli.run import tokctl

    for old in folder.rglob("*"):
        if old.is_file():
            old.unlink()
    given = laid(case, folder) if CUT in case else folder / "case"
    if CUT in case:
        given = folder / "model.safetensors.index.json"
    else:
        given.write_bytes(case)
    model, text = folder / "m.json", folder / "t.txt"
    model.write_bytes(formats.serialize(decoder().model))
    text.write_text(TEXT, encoding="utf-8")
    carried = ("--embeddings", given, "--new-embeddings", folder / "new.safetensors")
    for line in (
        ("inspect", model, "--check", "--embeddings", given, text),
        ("adapt", model, "--special-token", "<new>", "-o", folder / "new.json", *carried),
    ):
        ended(tokctl(*line), line, (0, 1, 2))


def manifest(case: bytes, folder: Path) -> None:
    """A folder of shards is checked, decoded, and resumed."""
    from tests.cli.run import tokctl

    ids = folder / "ids"
    ids.mkdir(exist_ok=True)
    laid(case, ids)
    model, text = folder / "m.json", folder / "t.txt"
    model.write_bytes(formats.serialize(decoder().model))
    text.write_bytes(SHARDED)
    encoded = ("encode", "-m", model, "--as", "npy", "--shard-size", "60", text, "-o", ids)
    for line in (
        ("check", ids),
        ("decode", "-m", model, ids),
        (*encoded, "--resume"),
    ):
        ended(tokctl(*line), line, (0, 1, 2))


def ended(done: Result, line: tuple[object, ...], codes: tuple[int, ...]) -> None:
    """A command has ended with a result, or with an error that says why."""
    said = done.err
    assert done.code in codes, (line[0], done.code, said)
    assert (done.code == 2) == ("error: " in said), (line, said)
    assert done.code != 2 or "hint: " in said, (line, said)
    assert "Traceback" not in said and "should not have happened" not in said, said


def twins(case: bytes, _folder: Path) -> None:
    """One of the property tests, with values that are made from the case."""
    properties()(case)


#: What can be fuzzed, by name.
TARGETS: dict[str, Trial] = {
    **dict.fromkeys((name for name in READERS if name != "word-counts"), model),
    "tables": source(*(ReadOptions(form) for form in ("auto", "parquet", "arrow"))),
    "lines": source(
        ReadOptions("jsonl"), ReadOptions("tsv"), ReadOptions("jsonl", text_field="text.text")
    ),
    "archives": source(ReadOptions("auto"), ReadOptions("tar")),
    "ids": id_file,
    "templates": template,
    "embeddings": embeddings,
    "manifests": manifest,
    "twins": twins,
}
