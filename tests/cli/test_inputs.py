"""Nothing that a command reads is replaced by what it writes: all pairs of the catalogue, and the
files that only the work finds."""

from __future__ import annotations

import itertools
import os
import re
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests import systems
from tests.cli.conftest import Models
from tests.cli.run import Result, names, tokctl
from tests.cli.test_options import ROOT, commands
from tests.errors import raises_code
from tokctl import idfiles
from tokctl.cli.command import metavar_of
from tokctl.tokenizer import Tokenizer

#: Metavars of values that are no paths. An option with another one says what it reads or writes.
NOT_PATHS = {
    *("'METRIC OP NUMBER'", "'ONE=>TWO'", "A,B", "A:B", "ALGO,…", "CHARACTERS", "FORM", "FORMAT"),
    *("KIND:TEXT", "METRIC", "N", "N,…", "NAME", "NAME,…", "NAME=2.5", "NAME=VALUE", "N|N%"),
    *("N|longest", "PATTERN", "RATIO", "RULE", "SHARE", "SIZE", "SPLIT", "TOKEN", "TOKEN=ID"),
    *("TYPE", "WORD", "X", "[COMMAND]...", "[N]", "bash|zsh|fish"),
}
#: Options whose TEXT is the text itself.
TEXT_ITSELF = {"--forbid", "--initial-token", "--unk-token", "--separator", "--sentence"}


def is_path(parameter: Any) -> bool:
    """Return whether the metavar does not rule out that the value is a path."""
    metavar = metavar_of(parameter)
    if getattr(parameter, "is_flag", False) or parameter.number or metavar in NOT_PATHS:
        return False
    if metavar == "TEXT" and parameter.opts[0] in TEXT_ITSELF:
        return False
    return not re.fullmatch(r"[a-z0-9-]+(\|[a-z0-9-]+)+", metavar)


def test_every_path_says_whether_it_is_read_or_written() -> None:
    for command in commands(ROOT):
        for parameter in command.params:
            declared = parameter.declared
            said = (declared.reads is not None) + (declared.writes is not None)
            assert said == is_path(parameter), f"{command.name} {parameter.opts}"


def all_pairs() -> list[tuple[Any, Any, Any]]:
    """Every command with an option or argument that reads and an option that writes."""
    return [
        (command, reader, writer)
        for command in commands(ROOT)
        for reader in command.params
        for writer in command.params
        if reader.declared.reads and writer.declared.writes
    ]


def words(command: Any, reader: Any, path: str) -> list[str]:
    """The words that make a command read a path by one of its options or arguments."""
    takes = reader.declared.reads.path
    (value,) = (one for one in (path, f"a={path}", f"{path}=2") if takes(one) == path)
    if reader.param_type_name == "option":
        return [reader.opts[0], value]
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    return ["other"] * arguments.index(reader) + [value]


def test_all_pairs(record_property: Any) -> None:
    pairs = all_pairs()
    refused = otherwise = 0
    for link, (command, reader, writer) in itertools.product(
        ("same", "hard", "symbolic", "read by a link"), pairs
    ):
        for name in ("in", "out"):
            Path(name).unlink(missing_ok=True)
        Path("in").write_bytes(b"low lower\n")
        if link == "hard":
            os.link("in", "out")
        elif link != "same":
            Path("out").symlink_to("in")
        read, written = ("out", "in") if link == "read by a link" else ("in", "out")
        written = "./in" if link == "same" else written
        option = [writer.opts[0], written]
        done = tokctl(command.name, *words(command, reader, read), *option, stdin=b"")
        told = f"{command.name} {reader.opts} {writer.opts} {link}: {done.err}"
        assert done.code == 2, told
        assert Path("in").read_bytes() == b"low lower\n", told
        assert names(Path()) == (["in"] if link == "same" else ["in", "out"]), told
        if "it is one of the files to read\n" not in done.err:
            otherwise += 1
            continue
        refused += 1
        by_option = reader.param_type_name == "option"
        said = reader.opts[-1] if by_option else reader.declared.metavar.strip("[].…")
        assert f"hint: {said} reads it" in done.err, told
        assert f"choose another place with {writer.opts[-1]} " in done.err, told
    counted = {"pairs": len(pairs), "refused": refused, "refused for another reason": otherwise}
    record_property("pairs", counted)
    print(counted)
    assert len(pairs) >= 60
    assert (refused, otherwise) == (4 * len(pairs), 0)


def test_all_pairs_of_outputs() -> None:
    pairs = [
        (command, *two)
        for command in commands(ROOT)
        for two in itertools.combinations([one for one in command.params if one.declared.writes], 2)
    ]
    assert len(pairs) >= 7
    for command, first, second in pairs:
        for link, path in itertools.product((None, "missing"), ("new", "./new")):
            if link and not Path("link").is_symlink():
                Path("link").symlink_to("new")
            line = (first.opts[0], "link" if link else "new", second.opts[0], path)
            required = [one for one in command.params if one.required and one.opts[0][0] != "-"]
            done = tokctl(command.name, *("other" for _ in required), *line, stdin=b"")
            message = f"error: {first.opts[-1]} and {second.opts[-1]} name the same file\n"
            assert (done.code, done.err.startswith(message)) == (2, True), done.err
            assert not Path("new").exists()


@pytest.fixture
def inputs(models: Models) -> None:
    """A model, a text that names itself, and a list of it."""
    Path("m.json").write_bytes(models["bytes"].read_bytes())
    Path("a.txt").write_bytes(b"low lower\n")
    Path("names.txt").write_bytes(b"a.txt\n")
    Path("names0.txt").write_bytes(b"a.txt\0")
    Path("gold.tsv").write_bytes(b"lower\tlow er\n")
    Path("chat.jsonl").write_bytes(b'[{"role": "user", "content": "low"}]\n')
    Path("template.jinja").write_bytes(b"{{ messages[0].content }}")


@pytest.mark.usefixtures("inputs")
@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("encode -m m.json --files-from names.txt -o names.txt", "names.txt"),
        ("encode -m m.json --count --files-from names.txt -o names.txt", "names.txt"),
        ("encode -m m.json --files0-from names0.txt -o names0.txt", "names0.txt"),
        ("encode -m m.json --as bin -o x --files-from names.txt --index names.txt", "names.txt"),
        ("encode -m m.json --files-from names.txt -o a.txt", "a.txt"),
        ("train -v 300 --files-from names.txt -o names.txt", "names.txt"),
        ("train -v 300 --files-from names.txt --save-counts names.txt", "names.txt"),
        ("train -v 300 --initial-tokens-from names.txt -o names.txt a.txt", "names.txt"),
        (
            "encode -m m.json --chat --chat-template template.jinja -o template.jinja chat.jsonl",
            "template.jinja",
        ),
        ("compare -m m.json --suite --gold gold.tsv --html gold.tsv a.txt", "gold.tsv"),
        ("compare -m m.json --suite --embeddings m.json=a.txt --html a.txt", "a.txt"),
        ("convert m.json --to tiktoken -o a.txt --verify a.txt", "a.txt"),
        ("encode -m m.json -o a.txt a.*", "a.txt"),
    ],
)
def test_what_replaced_an_input(line: str, path: str) -> None:
    before = {name: Path(name).read_bytes() for name in names(Path())}
    done = tokctl(*line.split(), stdin=None)
    assert done.code == 2
    assert done.err.startswith(f"error: can't write {path}: it is one of the files to read\nhint: ")
    assert {name: Path(name).read_bytes() for name in names(Path())} == before


def refused(*line: str) -> Result:
    before = {str(path): path.read_bytes() for path in sorted(Path().rglob("*")) if path.is_file()}
    done = tokctl(*line)
    assert done.code == 2 and "it is one of the files to read\n" in done.err, done.err
    assert {
        str(path): path.read_bytes() for path in sorted(Path().rglob("*")) if path.is_file()
    } == before
    return done


@pytest.mark.usefixtures("inputs")
def test_files_that_only_the_work_finds() -> None:
    Path("texts").mkdir()
    Path("texts/b.txt").write_bytes(b"low\n")
    done = refused("encode", "-m", "m.json", "-o", "texts/b.txt", "texts")
    assert done.err.endswith(
        "hint: FILE reads it; choose another place with -o PATH, or leave it out with --exclude\n"
    )
    more = ("--exclude", "b.txt", "texts", "a.txt")
    assert tokctl("encode", "-m", "m.json", "-o", "texts/c.txt", "a.txt").code == 0
    assert tokctl("encode", "-m", "m.json", "-o", "texts/b.txt", *more).code == 0
    done = refused("encode", "-m", "m.json", "-o", "a.txt", "--files-from", "names.txt")
    assert "hint: --files-from reads it; " in done.err
    # The two files of a model: one is named, the other lies beside it.
    made = ("convert", "m.json", "--to", "vocab-merges", "-o", "pair")
    assert tokctl(*made).code == 0
    done = refused("encode", "-m", "pair/vocab.json", "-o", "pair/merges.txt", "a.txt")
    assert "hint: -m reads it as pair/merges.txt; " in done.err or "hint: -m reads it; " in done.err
    refused("encode", "-m", "pair", "-o", "pair/merges.txt", "a.txt")
    # A derived name: Megatron's second file.
    Path("p.idx").write_bytes(b"low\n")
    refused("encode", "-m", "m.json", "--as", "megatron", "-o", "p", "p.idx")


@pytest.mark.usefixtures("inputs")
def test_the_model_of_the_environment() -> None:
    environ = {"TOKCTL_MODEL": "m.json"}
    before = Path("m.json").read_bytes()
    done = tokctl("encode", "-o", "m.json", "a.txt", environ=environ)
    hint = "hint: $TOKCTL_MODEL reads it; choose another place with -o PATH\n"
    assert done.code == 2 and done.err.endswith(hint)
    assert Path("m.json").read_bytes() == before


@systems.symlinks
@pytest.mark.usefixtures("inputs")
def test_a_link_to_nothing_and_devices() -> None:
    Path("link").symlink_to("new.txt")
    assert tokctl("encode", "-m", "m.json", "-o", "link", "a.txt").code == 0
    refused("encode", "-m", "m.json", "-o", "link", "new.txt")
    for _ in range(2):
        assert tokctl("encode", "-m", "m.json", "-o", os.devnull, os.devnull).code == 0


def test_python_does_not_replace_what_it_reads(models: Models) -> None:
    tokenizer = Tokenizer.load(models["bytes"])
    Path("a.txt").write_bytes(b"low lower\n")
    os.link("a.txt", "hard.txt")
    for output in ("a.txt", "hard.txt"):
        with raises_code("output-taken"):
            idfiles.write(tokenizer, ["a.txt"], output, form="bin")
    assert names(Path()) == ["a.txt", "hard.txt"]
    assert Path("a.txt").read_bytes() == b"low lower\n"
    idfiles.write(tokenizer, ["a.txt"], "a.bin", form="bin")
    idfiles.write(tokenizer, ["a.txt"], "a.bin", form="bin")  # an older output is no input
    tokenizer.save("m.json")
    Tokenizer.load("m.json").save("m.json")  # a model is read whole before it is saved


# -- the default name of train ---------------------------------------------------------------------

TRAIN = ("train", "--json")


def test_training_again_says_that_it_replaced() -> None:
    Path("a.txt").write_bytes(b"low lower lowest\n" * 9)
    done = tokctl(*TRAIN, "-v", "300", "a.txt")
    assert (done.code, orjson.loads(done.out)["replaced"]) == (0, False)
    assert "replaced" not in done.err
    again = tokctl(*TRAIN, "-v", "300", "a.txt")
    assert (again.code, orjson.loads(again.out)["replaced"]) == (0, True)
    assert "\nreplaced    a.bpe.json\n" in again.err
    Path("a.txt").write_bytes(b"other texts\n")  # a model of the same options is made anew
    assert tokctl(*TRAIN, "-v", "300", "a.txt").code == 0
    named = tokctl(*TRAIN, "-v", "290", "-o", "a.bpe.json", "a.txt")
    assert (named.code, orjson.loads(named.out)["replaced"]) == (0, True)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (("-v", "310"), "vocab size 300, not 310"),
        (("-v", "300", "--min-count", "2"), "min count 1, not 2"),
        (("-v", "300", "--special-token", "<s>"), "the special tokens differ"),
        (("-v", "300", "--pretokenize", "cl100k"), "the pre tokenizers differ"),
        (("-v", "300", "--weight", "a.txt=2"), "the weights differ"),
        (("-v", "310", "--min-count", "2"), "vocab size 300, not 310, and 1 more"),
    ],
)
def test_other_options_replace_no_model(more: tuple[str, ...], says: str) -> None:
    Path("a.txt").write_bytes(b"low lower lowest\n" * 9)
    assert tokctl("train", "-q", "-v", "300", "a.txt").code == 0
    before = Path("a.bpe.json").read_bytes()
    done = tokctl("train", "-q", *more, "a.txt")
    assert done == (
        2,
        b"",
        f"error: a.bpe.json exists, and other options trained it: {says}\n"
        "hint: choose another name with -o PATH, or replace it with --force\n",
    )
    assert Path("a.bpe.json").read_bytes() == before
    assert tokctl("train", "-q", *more, "-o", "b.json", "a.txt").code == 0
    assert tokctl("train", "-q", *more, "--force", "a.txt").code == 0
    assert Path("a.bpe.json").read_bytes() == Path("b.json").read_bytes() != before
    assert tokctl("train", "-q", *more, "a.txt").code == 0


@pytest.mark.parametrize(
    "data", [b"notes\n", b"{}", b'{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}}']
)
def test_what_is_no_trained_model_is_not_replaced(data: bytes) -> None:
    Path("a.txt").write_bytes(b"low lower\n")
    Path("a.bpe.json").write_bytes(data)
    done = tokctl("train", "-q", "-v", "300", "a.txt")
    message = "error: a.bpe.json exists, and is not a model that tokctl trained\nhint: choose"
    assert done.code == 2 and done.err.startswith(message)
    assert Path("a.bpe.json").read_bytes() == data
    assert tokctl("train", "-q", "-v", "300", "--force", "a.txt").code == 0


@pytest.mark.parametrize(
    "line",
    [
        "--algo wordpiece -v 60",
        "--algo unigram -v 40",
        "--algo word -v 20",
        "--algo char -v 20",
        "--algo picky -v 300 --threshold 0.8",
        "--algo superbpe -v 300",
        "--algo boundless -v 300",
        "--preset llama3 -v 600",
        "--preset t5 -v 300",
        "-v 300 --chars --unk-token <unk> --coverage 0.99 --initial-token low",
        "-v 300 --sample 0.5 --seed 3 --weight a.txt=1.5",
        "-v 300 --template '<s> $A' --special-token <s> --normalize nfc",
        "-v 300 --lang x=a.txt --lang y=b.txt",
        "-v 300 --lang x=a.txt --lang y=b.txt --parity window --parity-target x=1.5",
    ],
)
def test_the_same_options_are_the_same(line: str) -> None:
    Path("a.txt").write_bytes(b"low lower lowest newest widest\n" * 9)
    Path("b.txt").write_bytes(b"wide and new and low\n" * 9)
    texts = () if "--lang" in line else ("a.txt",)
    asked = [word.strip("'") for word in re.findall(r"'[^']*'|\S+", line)]
    for _ in range(2):
        done = tokctl("train", "-q", *asked, *texts)
        assert done.code == 0, done.err
