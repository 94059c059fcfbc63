"""What a new user types first: where it is no command line, the hint says which one is."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import typer

from tests.cli.run import process, tokctl
from tokctl.cli import guesses
from tokctl.cli.app import COMMANDS, build

#: A command line, and what its hint has to say.
GUESSES = [
    ("help trian", "did you mean train?"),
    ("train -a wordpeice a.txt", "did you mean wordpiece?"),
    ("convert m.json --to tiktokn", "did you mean tiktoken?"),
    ("compare --vocab 20,000 a.txt", "write 20000; a comma stands between sizes"),
    ("tokenize a.txt", "tokctl encode --as tokens"),
    ("count a.txt", "tokctl encode --count"),
    ("explain m.json lowest", "tokctl inspect MODEL --word WORD"),
    ("show m.json", "tokctl inspect MODEL"),
    ("presets", "tokctl train --list-presets"),
    ("download gpt2", "hf:ORG/NAME"),
    ("trian a.txt", "did you mean train?"),
    ("corpora get sample", "did you mean fetch?"),
    ("corpora --list", "tokctl corpora list"),
    ("--model m.json encode a.txt", "--model comes after the command: tokctl encode --model …"),
    ("-m m.json encode a.txt", "-m comes after the command"),
    ("-v encode a.txt", "--verbose has no short form"),
    ("--colr never encode a.txt", "did you mean --color?"),
    ("train --vocab-size 300 a.txt", "did you mean --vocab?"),
    ("train --vocab_size 300 a.txt", "did you mean --vocab?"),
    ("train --size 300 a.txt", "did you mean --vocab?"),
    ("train --algorithm bpe a.txt", "did you mean --algo?"),
    ("train --model bpe a.txt", "--algo names the algorithm"),
    ("train bpe a.txt", "an algorithm is named by --algo bpe"),
    ("train --out x.json a.txt", "did you mean --output?"),
    ("train -i a.txt", "name files without an option"),
    ("train --special-tokens '<s>' a.txt", "did you mean --special-token?"),
    ("train --unk '[UNK]' a.txt", "did you mean --unk-token?"),
    ("train --algo wordpiece --unknown '[UNK]' a.txt", "the token's text is --unk-token"),
    ("train --algo wordpiece --unk-token char a.txt", "--unknown char"),
    ("train --min-freq 2 a.txt", "did you mean --min-frequency?"),
    ("train --pre-tokenizer gpt2 a.txt", "did you mean --pretokenize?"),
    ("train --count a.txt", "--word-counts"),
    ("train --list", "--list-presets"),
    ("encode --counts a.txt", "use --count"),
    ("encode --sample 0.1 a.txt", "--alpha draws segmentations"),
    ("encode --special-token '<s>' a.txt", "--special finds special tokens in the text"),
    ("encode --text 'a lot'", "pipe the text in"),
    ("encode -m m.json 'a lot of it'", "echo 'a lot of it' | tokctl …"),
    ("decode -m m.json '1 2 3'", "echo '1 2 3' | tokctl …"),
    ("decode -m m.json 1 2 3", "echo 1 | tokctl …"),
    ("encode -m gpt2 a.txt", "hf:gpt2"),
    ("encode -m cl100k_base a.txt", "cl100k_base.tiktoken"),
    ("encode a.txt", "name one first, with -m"),
    ("encode --max-len 5 a.txt", "did you mean --max-length?"),
    ("encode --jobs 2 a.txt", "did you mean --threads?"),
    ("encode --add-special-tokens a.txt", "did you mean --add-special?"),
    ("encode -m m.json --format tokens a.txt", "what is written is --as tokens"),
    ("encode -m m.json --as json a.txt", "did you mean jsonl?"),
    ("encode -m m.json --as numpy a.txt", "did you mean npy?"),
    ("decode --skip-special-tokens", "did you mean --skip-special?"),
    ("convert m.json --to hf", "did you mean huggingface?"),
    ("convert m.json out.tiktoken", "--to names the format, -o the new file"),
    ("convert m.json --as tiktoken", "--to names the format"),
    ("inspect a.txt", "tokctl train a.txt"),
    ("inspect m.json --tokens", "did you mean --token?"),
    ("inspect m.json --word", "see: tokctl inspect --help"),
    ("compare --models m.json a.txt", "did you mean --model?"),
]


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("guesses")
    (folder / "a.txt").write_text("a lot of treasure " * 30)
    options = ("-q", "--vocab", "270", "-o", folder / "m.json")
    assert tokctl("train", *options, folder / "a.txt").code == 0
    return folder


@pytest.mark.parametrize(("line", "hint"), GUESSES, ids=[line for line, _ in GUESSES])
def test_a_guess_leads_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch, line: str, hint: str
) -> None:
    monkeypatch.chdir(folder)
    before = sorted(folder.iterdir())
    done = tokctl(*shlex.split(line))
    assert (done.code, done.out) == (2, b"")
    error, said = done.err.splitlines()
    assert error.startswith("error: ")
    assert said.startswith("hint: ")
    assert hint in said
    assert "Possible options" not in error
    assert sorted(folder.iterdir()) == before


def test_hints_name_what_there_is() -> None:
    """Commands and options in the tables exist."""
    made = typer.main.get_command(build())
    names = {name: guesses._names(command) for name, command in made.commands.items()}  # type: ignore[attr-defined]
    every = {option for own in names.values() for option in own} | set(guesses._names(made))
    for word, line in guesses.COMMANDS.items():
        assert word not in COMMANDS
        for command in re.findall(r"tokctl (\w+)", line):
            assert command in COMMANDS, line
        assert set(re.findall(r"(?<!\S)--[\w-]+", line)) <= every | {"--help"}, line
    for (command, option), sentence in guesses.OF_COMMAND.items():
        assert option not in names[command], option
        assert set(re.findall(r"(?<!\S)--[\w-]+", sentence)) <= every, sentence
    assert set(guesses.OPTIONS.values()) <= every


def test_former_spellings_work_and_no_help_has_them(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    Path("words.tsv").write_text("low\t5\nlower\t3\n")
    made = []
    for special, counts in (("--special", "--counts"), ("--special-token", "--word-counts")):
        arguments = (
            "train",
            "-q",
            "-v",
            "300",
            special,
            "<s>",
            counts,
            "words.tsv",
            "-o",
            "c.json",
        )
        assert tokctl(*arguments).code == 0
        made.append(Path("c.json").read_bytes())
        shown = tokctl("inspect", "c.json", "--state", "0", "words.tsv", counts)
        assert shown.code == 0
        made.append(shown.out)
        wrong = tokctl("convert", "c.json", special, "a")
        assert "invalid value 'a' for --special-token" in wrong.err
    assert made[:2] == made[2:]
    for command in ("train", "inspect", "convert"):
        help_ = process(command, "--help", env={"COLUMNS": "100"}).out.decode()
        assert not re.search(r"--counts\b|--special\b(?!-)", help_)
