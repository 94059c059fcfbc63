"""What is written is never read by the same run, nor by the next one as a text."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests import systems
from tests.cli.run import Result, command, error, process, tokctl
from tests.idfiles import made

ELSEWHERE = "choose another place with -o PATH, or leave it out with --exclude"


@pytest.fixture(autouse=True)
def corpus(models_folder: Path, models: object) -> None:
    """A folder with texts at two depths, and a model."""
    del models
    Path("m.json").write_bytes((models_folder / "bytes.json").read_bytes())
    Path("corpus/sub").mkdir(parents=True)
    Path("corpus/a.txt").write_bytes(b"low lower\n")
    Path("corpus/sub/b.txt").write_bytes(b"newest\n")


def encode(*more: str, form: str = "bin") -> Result:
    """What the command says, without the notes that ids in binary are no UTF-8."""
    done = tokctl("encode", "-m", "m.json", *(("--as", form) if form else ()), *more)
    lines = done.err.splitlines(keepends=True)
    said = [line for line in lines if "looks like UTF-16" not in line]
    return done._replace(err="".join(said))


@pytest.mark.parametrize(
    ("output", "texts"),
    [
        ("corpus/sub/b.bin", ("corpus",)),
        ("corpus/c.txt", ("corpus/*.txt",)),
        ("corpus/c.txt", ("corpus/**/*.txt",)),
    ],
)
def test_the_second_run_does_not_read_what_the_first_wrote(
    output: str, texts: tuple[str, ...]
) -> None:
    assert encode("-o", output, *texts) == (0, b"", "")
    before = Path(output).read_bytes()
    # A pattern names the file itself, so that nothing leaves the file out.
    elsewhere = ELSEWHERE if texts == ("corpus",) else ELSEWHERE.partition(",")[0]
    message = f"can't write {output}: it is one of the files to read"
    refused = error(message, f"FILE reads it; {elsewhere}")
    assert encode("-o", output, *texts) == (2, b"", refused)
    assert encode("--count", "-o", output, *texts, form="") == (2, b"", refused)
    assert Path(output).read_bytes() == before
    assert encode("-o", output, "--exclude", Path(output).name, "corpus") == (0, b"", "")


def test_a_file_of_the_folder_that_is_not_read_can_be_written() -> None:
    for _ in range(2):
        assert encode("-o", "corpus/ids", "--include", "*.txt", "corpus") == (0, b"", "")
    index = ("--index", "corpus/sub/i.npy", "--include", "*.txt", "corpus")
    for _ in range(2):
        assert encode("-o", "ids", *index) == (0, b"", "")
    hint = f"FILE reads it; {ELSEWHERE.replace('-o PATH', '--index PATH')}"
    refused = error("can't write corpus/sub/i.npy: it is one of the files to read", hint)
    assert encode("-o", "ids", "--index", "corpus/sub/i.npy", "corpus") == (2, b"", refused)


@systems.symlinks
def test_the_index_is_another_file() -> None:
    Path("link.npy").symlink_to("ids.npy")
    for index in ("ids.npy", "./corpus/../ids.npy", "link.npy"):
        done = encode("-o", "ids.npy", "--index", index, "corpus")
        hint = "give each its own name"
        assert done == (2, b"", error("-o and --index name the same file", hint))


@pytest.mark.parametrize("form", ["bin", "jsonl"])
def test_shards_in_the_folder_that_is_read(form: str) -> None:
    """They would be other texts for the run that goes on."""
    shards = ("--shard-size", "2", "-o", "corpus/ids")
    message = "can't write shards to corpus/ids: corpus is read with all that is in it"
    assert encode(*shards, "corpus", form=form) == (2, b"", error(message, ELSEWHERE))
    assert not Path("corpus/ids").exists()
    Path("link").symlink_to("corpus")
    linked = ("--shard-size", "2", "-o", "link/ids", "corpus")
    assert encode(*linked, form=form).err == error(message.replace("corpus/", "link/"), ELSEWHERE)
    apart = (*shards, "--exclude", "ids", "corpus")
    assert encode(*apart, form=form) == (0, b"", "")
    found = made.contents(Path("corpus/ids"))
    assert "nothing was done" in encode(*apart, "--resume", form=form).err
    Path("corpus/ids/manifest.json").unlink()
    journal = Path("corpus/ids/journal.jsonl")
    journal.write_bytes(b"{}\n")  # read as a text, it would be one of JSON Lines
    message = "can't write shards to corpus/ids: corpus/ids/journal.jsonl in it is one of the "
    done = encode(*shards, "--resume", "corpus/**/*", form=form)
    assert done == (2, b"", error(message + "files to read", f"FILE reads it; {ELSEWHERE}"))
    journal.unlink()
    for path in Path("corpus/ids").iterdir():
        path.unlink()
    assert encode(*apart, "--resume", form=form) == (0, b"", "")
    assert made.contents(Path("corpus/ids")) == found


@pytest.mark.few(2)
@pytest.mark.parametrize("stdin", [False, True])
@pytest.mark.parametrize("name", ["encode", "count", "decode"])
def test_stdout_that_is_read(name: str, stdin: bool) -> None:
    """It would grow as long as the disk has room."""
    more = {"encode": ("encode",), "count": ("encode", "--count"), "decode": ("decode",)}[name]
    Path("text").write_bytes(b"65 66\n" * 3)
    with Path("text").open("rb") as source, Path("text").open("ab") as out:
        done = subprocess.run(
            command(*more, "-m", "m.json", *([] if stdin else ["text"])),
            stdin=source if stdin else subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.PIPE,
            check=False,
            timeout=600,
        )
    which = "stdin" if stdin else "text"
    message = f"stdout goes to {which}, which is one of the files to read"
    hint = "redirect stdout to another file, or leave this file out"
    assert (done.returncode, done.stderr.decode()) == (2, error(message, hint))
    assert Path("text").read_bytes() == b"65 66\n" * 3


def test_stdout_into_the_folder_that_is_read() -> None:
    with Path("corpus/out").open("wb") as out:
        done = process("encode", "-m", "m.json", "corpus", stdout=out)
    assert done.err.startswith(
        "error: stdout goes to corpus/out, which is one of the files to read"
    )
    assert Path("corpus/out").read_bytes() == b""
