"""What must stay when code moves: model files, command lines and ids, recorded and compared.

    python -m tests.tools.record --tokctl OLD/bin/tokctl old/
    python -m tests.tools.record --tokctl NEW/bin/tokctl new/
    python -m tests.tools.record --compare old/ new/

Each folder gets one file for each model, for each command line (exit code, stdout, stderr, as a
pipe and in a terminal), and a digest of the ids of each shared text with each shared vocabulary.
`--compare` names what differs and exits with 1. Seconds and the folders of the run are masked.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import select
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.conftest import SHARED

PRESETS = [
    "albert",
    "bert",
    "bert-cased",
    "byte-bpe",
    "char-bpe",
    "cl100k",
    "gpt2",
    "llama2",
    "llama3",
    "notebook-bpe",
    "notebook-wordpiece",
    "o200k",
    "qwen",
    "sentencepiece-bpe",
    "sentencepiece-unigram",
    "t5",
    "wordpiece-count",
    "wordpiece-likelihood",
]

#: Name of a model file -> the options of `train` that make it from `story.txt`.
MODELS: dict[str, str] = {
    **{f"preset-{name}": f"--preset {name} --vocab 2000" for name in PRESETS},
    **{f"algo-{name}": f"--algo {name} --vocab 1500" for name in ("bpe", "wordpiece", "unigram")},
    "algo-word": "--algo word --vocab 800",
    "algo-char": "--algo char --vocab 500",
    "char-graphemes": "--algo char --graphemes --vocab 500",
    "bpe-chars": "--algo bpe --chars --vocab 900",
    "bpe-end": "--algo bpe --chars --marker end:_ --vocab 900",
    "bpe-end-fused": "--algo bpe --chars --marker 'end-fused:</w>' --vocab 900",
    "bpe-start": "--algo bpe --chars --marker start:Ġ --vocab 900",
    "bpe-fallback": "--algo bpe --chars --byte-fallback --vocab 900",
    "bpe-fuse": "--algo bpe --chars --unk-token '<unk>' --fuse-unknown --coverage 0.99 --vocab 900",
    "bpe-rewritten": "--algo bpe --chars --tie-break rewritten-last --vocab 900",
    "bpe-first-seen": "--algo bpe --tie-break first-seen --vocab 900",
    "bpe-lowest": "--algo bpe --chars --tie-break lowest-id --vocab 900",
    "bpe-special": "--special-token '<s>' --special-token '</s>' --template '<s> $A </s>' -v 900",
    "bpe-min-count": "--min-count 3 --vocab 900",
    "bpe-min-frequency": "--min-frequency 20 --vocab 900",
    "bpe-max-length": "--max-token-length 4 --vocab 900",
    "bpe-normalize": "--normalize nfc,lowercase --vocab 900",
    "bpe-digits": "--normalize nfc --pretokenize digits,gpt2 --vocab 900",
    "bpe-cl100k": "--pretokenize cl100k --vocab 900",
    "bpe-regex": r"--pretokenize 'regex:\w+|\s+|[^\w\s]+' --vocab 900",
    "bpe-none": "--pretokenize none --chars --vocab 200",
    "bpe-two-threads": "--threads 2 --vocab 900",
    "bpe-memory": "--memory 64M --vocab 900",
    "bpe-sample": "--sample 0.5 --seed 3 --vocab 900",
    "bpe-alphabet-limit": "--chars --alphabet-limit 40 --unk-token '[UNK]' --vocab 500",
    "bpe-initial": "--chars --initial-alphabet 'äöü' --vocab 900",
    "bpe-extended": "--extend algo-bpe.json --vocab 2500",
    "wordpiece-count": "--algo wordpiece --score count --vocab 1500",
    "wordpiece-merges": "--algo wordpiece --segment merges --vocab 1500",
    "wordpiece-unknown-char": "--algo wordpiece --unknown char --coverage 0.99 --vocab 1500",
    "wordpiece-max-chars": "--algo wordpiece --max-input-chars 5 --vocab 1500",
    "wordpiece-bert": "--algo wordpiece --normalize bert --vocab 1500",
    "wordpiece-marker": "--algo wordpiece --marker continuation:@@ --vocab 1500",
    "wordpiece-extended": "--extend algo-wordpiece.json --vocab 2500",
    "unigram-fallback": "--algo unigram --byte-fallback --coverage 0.9995 --vocab 1500",
    "unigram-nfkc": "--algo unigram --normalize nfkc --vocab 1500",
    "unigram-max": "--algo unigram --max-token-length 6 --vocab 1500",
    "unigram-no-fuse": "--algo unigram --no-fuse-unknown --vocab 1500",
    "word-punctuation": "--algo word --pretokenize whitespace --vocab 800",
    "decoder": "--algo wordpiece --decoder wordpiece,join --vocab 900",
    "superbpe": "--algo superbpe --transition 60% --vocab 1500",
    "boundless": "--algo boundless --vocab 1500",
    "picky": "--algo picky --vocab 1500",
    "picky-threshold": "--algo picky --threshold 0.8 --vocab 1500",
    "scaffold": "--algo scaffold --vocab 1500",
    "bpe-whole-characters": "--whole-characters --vocab 900",
    "bpe-initial-token": "--initial-token lighthouse --initial-token ' the' --vocab 900",
    "bpe-forbid": "--forbid lamp --vocab 900",
    "bpe-max-words": "--algo superbpe --transition 400 --max-words 2 --vocab 900",
    "parity-window": "--lang a=lines.txt --lang b=other.txt --parity window --vocab 600",
    "parity": "--lang en=lines.txt --lang de=other.txt --vocab 600",
    "counts": "--word-counts words.tsv --vocab 300",
    "jsonl": "--text-field text --vocab 900 documents.jsonl",
}

#: The models that every question is put to.
ASKED = (
    "algo-bpe",
    "algo-wordpiece",
    "algo-unigram",
    "algo-word",
    "algo-char",
    "preset-notebook-bpe",
    "preset-notebook-wordpiece",
    "wordpiece-merges",
    "superbpe",
    "boundless",
    "picky",
    "scaffold",
    "parity",
)

#: The forms that `encode --as` writes.
ID_FORMS = ("ids", "tokens", "pieces", "jsonl", "bin", "npy", "parquet", "megatron", "safetensors")

#: The formats that `convert --to` writes, and what each file is called.
FORMATS = {
    "tokctl": "x.tokctl.json",
    "huggingface": "x.json",
    "huggingface-folder": "hff",
    "vocab-merges": "vmf",
    "bert-vocab": "vocab.txt",
    "sentencepiece": "x.model",
    "word-counts": "x.tsv",
    "sentencepiece-vocab": "x.vocab",
    "gguf": "x.gguf",
    "tiktoken": "x.tiktoken",
}
COMMANDS = (
    *("train", "encode", "decode", "inspect", "compare", "recommend", "convert", "adapt", "bench"),
    *("check", "corpora", "corpora list", "corpora fetch", "corpora path", "check-exercise"),
    *("completion", "man"),
)

#: Command lines, run in the folder of the models; `tokctl` is left out. `|` makes a pipe.
LINES: list[str] = [
    "",
    "--help",
    "--version",
    *(f"{name} {option}" for name in COMMANDS for option in ("--help", "-h")),
    "man",
    "man encode",
    "man nonsense",
    *(f"completion {shell} | md5" for shell in ("bash", "zsh", "fish", "nonsense")),
    "help train",
    "check-exercise --list",
    "check-exercise --list --json",
    "check-exercise 2.1 answer.py",
    "check-exercise 2.1 answer.py --json",
    "check-exercise 9.9 answer.py",
    "check-exercise 2.1 missing.py",
    "train --list-presets",
    "convert --list-formats",
    "corpora list",
    "train story.txt --vocab 3 -o x.json",
    "train missing.txt",
    "train --algo nonsense story.txt",
    "train --preset nonsense story.txt",
    "train --algo bpe --preset gpt2 story.txt",
    "train --json -q --vocab 400 -o x.json story.txt",
    "train --verbose --vocab 400 -o x.json story.txt",
    "train --show-steps 3 --algo wordpiece --vocab 100 -o x.json toy.txt",
    "train --show-steps 2 --algo unigram --vocab 60 -o x.json toy.txt",
    "train --show-steps 2 --vocab 300 -o x.json toy.txt",
    "train --special-token '<s>' --template nonsense story.txt",
    "train --algo wordpiece bad.txt --vocab 300 -o x.json",
    "train --algo wordpiece --errors replace bad.txt --vocab 300 -o x.json",
    *(
        f"encode -m {model}.json {options} lines.txt"
        for model in ASKED
        for options in ("", "--as tokens", "--as pieces", "--json --offsets", "--whole")
    ),
    "encode -m preset-bert.json --json --full --add-special --max-length 12 --pad 12 lines.txt",
    "encode -m preset-bert.json --json --add-special --max-length 8 --stride 2 lines.txt",
    "encode -m algo-unigram.json --alpha 0.1 --seed 7 lines.txt",
    "encode -m algo-unigram.json --alpha 0.1 --seed 7 --as tokens lines.txt",
    "encode -m bpe-special.json --special all special.txt --as tokens",
    "encode -m bpe-special.json --special nonsense special.txt",
    "encode -m bpe-special.json --eos '</s>' lines.txt",
    "encode -m bpe-special.json --add-special --as tokens lines.txt",
    "encode -m algo-bpe.json --count story.txt lines.txt",
    "encode -m algo-bpe.json -m algo-unigram.json --count --json story.txt lines.txt",
    "encode -m algo-bpe.json -m algo-unigram.json --count --csv --sort tokens story.txt lines.txt",
    "encode -m algo-bpe.json documents.jsonl --as jsonl",
    "encode -m algo-bpe.json --text-field nonsense documents.jsonl",
    "encode -m algo-bpe.json --as bin story.txt | md5",
    "encode -m algo-bpe.json --as npy -o x.npy --index i.npy story.txt lines.txt; md5 x.npy i.npy",
    "encode -m algo-bpe.json --as parquet -o p.pq lines.txt; decode -m algo-bpe.json p.pq",
    "encode -m algo-bpe.json --as megatron -o mega lines.txt --lines; md5 mega.bin mega.idx",
    "encode -m algo-bpe.json --as safetensors -o x.safetensors lines.txt; md5 x.safetensors",
    "encode -m algo-bpe.json --as npy --shard-size 2K -o sh story.txt; md5 sh/manifest.json",
    "encode -m missing.json lines.txt",
    "encode -m story.txt lines.txt",
    "encode lines.txt",
    "encode -m algo-wordpiece.json bad.txt",
    "encode -m algo-wordpiece.json --errors replace bad.txt",
    "encode -m preset-notebook-bpe.json unseen.txt",
    "encode -m algo-bpe.json --as nonsense lines.txt",
    "encode -m algo-bpe.json lines.txt | decode -m algo-bpe.json",
    "encode -m algo-wordpiece.json lines.txt | decode -m algo-wordpiece.json",
    "encode -m algo-unigram.json --json lines.txt | decode -m algo-unigram.json --json",
    "decode -m algo-bpe.json story.txt",
    "decode -m algo-bpe.json ids.txt",
    *(
        f"inspect {model}.json {question}"
        for model in ASKED
        for question in (
            "",
            "--json",
            "--word lower",
            "--word lower --json",
            "--token he",
            "--recipe",
        )
    ),
    "inspect algo-bpe.json --merges 1:20",
    "inspect algo-bpe.json --merges -5 --json",
    "inspect algo-wordpiece.json --merges 1:20",
    "inspect algo-wordpiece.json --merges 1:20 --csv",
    "inspect algo-unigram.json --csv",
    "inspect algo-bpe.json --state 3 toy.txt --csv",
    "inspect algo-unigram.json --merges 1:20",
    "inspect algo-bpe.json --merges-of '*est*'",
    "inspect algo-bpe.json --state 3 toy.txt",
    "inspect algo-bpe.json --state 3 toy.txt --json",
    "inspect algo-wordpiece.json --pairs 3 toy.txt",
    "inspect algo-wordpiece.json --pairs 3 toy.txt --json",
    "inspect algo-bpe.json --use lines.txt",
    "inspect algo-bpe.json --use lines.txt --json",
    "inspect algo-bpe.json --gap lines.txt",
    "inspect algo-unigram.json --rounds",
    "inspect algo-unigram.json --rounds --json",
    "inspect algo-unigram.json --word lighthouse --nbest 5",
    "inspect algo-unigram.json --word lighthouse --nbest 5 --json",
    "inspect algo-wordpiece.json --check",
    "inspect algo-bpe.json --check story.txt --json",
    "inspect algo-bpe.json --token '#300' story.txt",
    "inspect algo-bpe.json --token nonsensetoken",
    "inspect algo-bpe.json --token he --json",
    "inspect algo-bpe.json --html x.html; md5 x.html",
    "inspect algo-unigram.json story.txt --html y.html; md5 y.html",
    "inspect algo-bpe.json --recipe --json",
    "inspect algo-bpe.json --word a --token b",
    "compare --vocab 600",
    "compare --vocab 600 --json",
    "compare --vocab 600 --markdown",
    "compare --vocab 600 --latex",
    "compare --vocab 600 --csv",
    "compare --vocab 300,600 story.txt",
    "compare -m algo-bpe.json -m algo-wordpiece.json -m preset-notebook-bpe.json lines.txt",
    "compare -m algo-bpe.json -m bpe-chars.json --baseline bpe-chars.json lines.txt --intervals",
    "compare -m algo-bpe.json -m algo-unigram.json --lang A=lines.txt --lang B=other.txt",
    "compare -m algo-bpe.json -m algo-unigram.json --word lower --sentence 'A light.' lines.txt",
    "compare -m algo-bpe.json lines.txt --fail-if 'fertility > 1'",
    "compare -m algo-bpe.json lines.txt --fail-if nonsense",
    "compare -m algo-bpe.json -m algo-unigram.json lines.txt --html z.html; md5 z.html",
    "compare -m algo-bpe.json lines.txt --plot p.svg --chart lengths; md5 p.svg",
    "compare --explain fertility",
    "compare --explain all",
    "compare --explain nonsense",
    "convert algo-bpe.json --to tiktoken -o x.tiktoken; md5 x.tiktoken",
    "convert algo-bpe.json --to huggingface-folder -o folder; md5 folder/tokenizer_config.json",
    "convert algo-unigram.json --to sentencepiece -o x.model; md5 x.model",
    "convert algo-wordpiece.json --to bert-vocab -o vocab.txt; md5 vocab.txt",
    "convert algo-unigram.json --to tiktoken -o x.tiktoken",
    "convert algo-bpe.json --to nonsense -o x",
    "convert --prune 600 -o small.json algo-bpe.json; md5 small.json",
    "convert algo-bpe.json --to vocab-merges -o vm --json; md5 vm/merges.txt",
    "convert algo-bpe.json --to huggingface -o hf.json --verify lines.txt",
    *(
        f"encode -m algo-bpe.json --as {form} -o f-{form} lines.txt; "
        f"decode -m algo-bpe.json --from {form} f-{form} | md5"
        for form in ID_FORMS
    ),
    *(
        f"encode -m algo-bpe.json --as {form} --shard-size 2K -o s-{form} story.txt other.txt; "
        f"check s-{form}; md5 s-{form}/manifest.json; decode -m algo-bpe.json s-{form} | md5"
        for form in ("bin", "npy", "parquet", "megatron", "safetensors")
    ),
    "check s-bin s-npy missing",
    "check story.txt",
    "encode -m algo-bpe.json --as bin --shard-size 2K -o s-bin story.txt other.txt",
    "encode -m algo-bpe.json --as bin --shard-size 2K --resume -o s-bin story.txt other.txt",
    "encode -m algo-bpe.json --as bin --shard-size 2K --resume -o s-bin story.txt",
    "encode -m algo-bpe.json --as bin --shard-size 0 -o s-none story.txt",
    "encode -m algo-bpe.json --as npy --pack 64 --eos '</s>' -o p.npy lines.txt",
    "encode -m bpe-special.json --as npy --pack 64 --eos '</s>' -o p.npy lines.txt; md5 p.npy",
    "encode -m bpe-special.json --as bin --dtype uint8 -o u8.bin lines.txt",
    "encode -m preset-bert.json --json --full --text-field a pairs.jsonl",
    "encode -m algo-bpe.json --text-field nothing pairs.jsonl",
    "encode -m algo-bpe.json --errors nonsense lines.txt",
    "encode -m algo-bpe.json --threads 0 lines.txt",
    "encode -m algo-bpe.json --max-length x lines.txt",
    "encode -m algo-bpe.json --pad 8 lines.txt",
    "encode -m algo-bpe.json --alpha 0.1 lines.txt",
    "encode -m algo-bpe.json --chat lines.txt",
    "encode -m algo-bpe.json -o algo-bpe.json lines.txt",
    "encode -m algo-bpe.json -o lines.txt lines.txt",
    "encode -m algo-bpe.json --as bin",
    "encode -m cut.json lines.txt",
    "encode -m empty.txt lines.txt",
    "encode -m algo-bpe.json empty.txt",
    "encode -m algo-bpe.json --files-from names.txt --count",
    "encode -m algo-bpe.json --include '*.txt' --count texts",
    *(
        f"convert {model}.json --to {form} -o {name} --json; md5 {name}"
        for form, name in FORMATS.items()
        for model in ("algo-bpe", "algo-wordpiece", "algo-unigram", "preset-llama2")
    ),
    *(
        f"convert {model}.json -o verified.json --verify lines.txt --json"
        for model in ("algo-bpe", "algo-wordpiece", "algo-unigram", "superbpe", "picky")
    ),
    "convert algo-bpe.json --to tekken -o x",
    "convert cut.json --to tiktoken -o x",
    "convert algo-bpe.json -o algo-bpe.json",
    "convert algo-wordpiece.json --to tiktoken --lossy -o x.tiktoken",
    "adapt -m algo-bpe.json --prune 700 -o a1.json lines.txt; md5 a1.json",
    "adapt -m algo-bpe.json --min-uses 1 -o a2.json lines.txt --json; md5 a2.json",
    "adapt -m algo-bpe.json --residues 0.1 -o a3.json story.txt; md5 a3.json",
    "adapt -m algo-bpe.json --vocab 1700 -o a4.json other.txt; md5 a4.json",
    "adapt -m algo-unigram.json --prune 700 -o a5.json lines.txt; md5 a5.json",
    "adapt -m algo-wordpiece.json --prune 700 -o a6.json lines.txt; md5 a6.json",
    "adapt -m algo-bpe.json -o a7.json lines.txt",
    "adapt -m algo-bpe.json --prune 700 --min-uses 2 -o a7.json lines.txt",
    "adapt -m algo-bpe.json --vocab 1700 --embeddings missing.npy -o a7.json lines.txt",
    "recommend --vocab 300,600 --algo bpe,unigram story.txt",
    "recommend --vocab 300,600 --algo bpe,unigram --json story.txt",
    "recommend --vocab 300 --algo nonsense story.txt",
    "bench missing.json lines.txt",
    "bench algo-bpe.json --repeat 0 lines.txt",
    "corpora path nonsense",
    "corpora fetch nonsense",
    "compare --suite -m algo-bpe.json -m algo-unigram.json lines.txt",
    "compare --suite -m algo-bpe.json -m algo-unigram.json lines.txt --json",
    "compare --suite -m algo-bpe.json lines.txt --markdown",
    "compare -m algo-bpe.json -m superbpe.json -m picky.json -m parity.json lines.txt",
    "compare -m missing.json lines.txt",
    "compare -m algo-bpe.json --baseline nonsense lines.txt",
    "compare --algo bpe,nonsense story.txt",
    "compare --vocab x story.txt",
    "inspect superbpe.json --token ' of the'",
    "inspect picky.json --merges 1:30",
    "inspect picky.json --state 5 toy.txt",
    "inspect parity.json --merges 1:10 --json",
    "inspect scaffold.json --check --json",
    "inspect algo-bpe.json --merges 5-10",
    "inspect algo-bpe.json --state 99999 toy.txt",
    "inspect algo-bpe.json --use",
    "inspect algo-bpe.json --rounds",
    "inspect algo-bpe.json --markdown",
    "inspect algo-bpe.json --latex",
    "inspect algo-bpe.json --plot p.svg --chart merges; md5 p.svg",
    "inspect algo-bpe.json --plot p.svg --chart nonsense",
    "inspect algo-unigram.json --check --fail-on info",
    "inspect cut.json",
    "inspect missing.json",
    "train --vocab 300 -o x.json empty.txt",
    "train --vocab 300 -o x.json --word-counts bad-counts.tsv",
    "train --vocab 300 -o x.json --extend missing.json story.txt",
    "train --vocab 300 -o x.json --extend story.txt story.txt",
    "train --vocab -3 -o x.json story.txt",
    "train --vocab 300 -o no-such-folder/x.json story.txt",
    "train --vocab 300 -o x.json --special-token '' story.txt",
    "train --vocab 300 -o x.json --pretokenize 'regex:(' story.txt",
    "train --vocab 300 -o x.json --normalize nonsense story.txt",
    "train --vocab 300 -o x.json --algo unigram --tie-break lowest-id story.txt",
    "train --vocab 300 -o x.json --transition 50% story.txt",
    "train --vocab 300 -o x.json --memory 1 story.txt",
    "train --vocab 300 -o x.json --lang en=story.txt",
    "train --vocab 300 --vcoab 400 story.txt",
    "train --vocab 300 -o story.txt story.txt",
    "train --vocab 400 -o algo-bpe.json story.txt",
    "train --progress json --vocab 300 -o x.json --force story.txt | md5",
    "--color never compare --vocab 300",
    "--color nonsense compare",
    "nonsense",
    "encode --nonsense",
]

#: Of these the picture in a terminal is recorded, too, narrow and wide.
IN_A_TERMINAL = [
    line
    for line in LINES
    if line.startswith(("inspect", "compare", "train --show", "encode -m algo-bpe.json --count"))
    and not re.search(r"--json|--html|--plot|md5", line)
]


def run(command: list[str], folder: Path, environment: dict[str, str]) -> tuple[int, bytes, bytes]:
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, stdin=subprocess.DEVNULL
    )
    return done.returncode, done.stdout, done.stderr


def in_terminal(
    command: list[str], folder: Path, environment: dict[str, str], columns: int
) -> tuple[int, bytes]:
    """Exit code and what is shown by a terminal of `columns` columns."""
    import fcntl
    import termios

    here, there = os.openpty()
    fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack("HHHH", 500, columns, 0, 0))
    child = subprocess.Popen(
        command,
        cwd=folder,
        env={**environment, "TERM": "xterm-256color", "PAGER": "cat"},
        stdin=subprocess.DEVNULL,
        stdout=there,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    os.close(there)
    shown = b""
    while True:
        ready, _, _ = select.select([here], [], [], 60)
        if not ready:
            child.kill()
            break
        try:
            data = os.read(here, 1 << 16)
        except OSError:
            break
        if not data:
            break
        shown += data
    os.close(here)
    return child.wait(), shown


def masked(data: bytes, folder: Path, sample: str) -> bytes:
    corpora = str(Path(sample).parent)
    data = data.replace(str(folder).encode(), b"HERE").replace(corpora.encode(), b"CORPORA")
    seconds = re.compile(rb"^seconds .*$|\"seconds +count.*$|\"seconds\":\{[^}]*\}", re.MULTILINE)
    data = seconds.sub(lambda found: re.sub(rb"[\d.]+", b"N", found[0]), data)
    data = re.sub(rb"\d+(\.\d+)? (s|ms)\b", b"N s", data)
    data = re.sub(rb'"(seconds|[a-z_]*seconds[a-z_]*)": ?[\d.e-]+', rb'"\1": N', data)
    return re.sub(rb"\d+(\.\d+)?( [MkG]?B/s)", rb"N\2", data)


def sources(folder: Path, sample: Path) -> None:
    """The texts that the command lines name."""
    story = sample.read_text(encoding="utf-8")
    lines = story.splitlines()
    (folder / "story.txt").write_text(story, encoding="utf-8")
    (folder / "lines.txt").write_text("\n".join(lines[:40]) + "\n", encoding="utf-8")
    (folder / "other.txt").write_text("\n".join(lines[40:80]) + "\n", encoding="utf-8")
    (folder / "toy.txt").write_text("low low low lower newest widest\n", encoding="utf-8")
    (folder / "unseen.txt").write_text("日本語 and ẞ\n", encoding="utf-8")
    (folder / "special.txt").write_text("a <s> b </s> c\n", encoding="utf-8")
    (folder / "bad.txt").write_bytes(b"one\ntwo \xff three\nfour\n")
    (folder / "empty.txt").write_bytes(b"")
    (folder / "cut.json").write_text('{"version": "1.0", "model": {"type": "BPE", "vo')
    (folder / "bad-counts.tsv").write_text("low\tmany\n", encoding="utf-8")
    (folder / "names.txt").write_text("story.txt\nlines.txt\n", encoding="utf-8")
    (folder / "answer.py").write_text("def train(counts, size):\n    return []\n")
    (folder / "pairs.jsonl").write_text('{"a": "one", "b": "two"}\n{"a": "three"}\n')
    (folder / "texts").mkdir()
    (folder / "texts" / "a.txt").write_text("a light\n", encoding="utf-8")
    (folder / "texts" / "b.md").write_text("a lamp\n", encoding="utf-8")
    (folder / "ids.txt").write_text("1 2 3\n4 99999999 5\n", encoding="utf-8")
    (folder / "words.tsv").write_text("low\t5\nlower\t2\nnewest\t6\nwidest\t3\n", encoding="utf-8")
    rows = [f'{{"text": "{line}"}}' for line in lines[:30] if '"' not in line and "\\" not in line]
    (folder / "documents.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")


def one_line(
    tokctl: str, line: str, folder: Path, environment: dict[str, str]
) -> tuple[bytes, int]:
    """What a command line prints: `a | b` is a pipe, `a; b` one after the other, `md5` digests."""
    shown, code = b"", 0
    for part in line.split("; "):
        text = b""
        for stage in part.split(" | "):
            words = shlex.split(stage)
            if words[:1] == ["md5"]:
                if len(words) == 1:
                    text = hashlib.md5(text).hexdigest().encode()
                for name in words[1:]:
                    path = folder / name
                    each = sorted(path.rglob("*")) if path.is_dir() else [path]
                    for file in each:
                        data = file.read_bytes() if file.is_file() else b"absent"
                        where = file.relative_to(folder)
                        text += f"{where} {hashlib.md5(data).hexdigest()}\n".encode()
                continue
            done = subprocess.run(
                [tokctl, *words], cwd=folder, env=environment, capture_output=True, input=text
            )
            code = code or done.returncode
            text = done.stdout
            shown += b"[stderr]\n" + done.stderr
        shown += b"[stdout]\n" + text
    return shown, code


def record(tokctl: str, out: Path, ids: bool) -> None:
    folder = Path(tempfile.mkdtemp(prefix="tokctl-record-"))
    environment = {
        **{k: v for k, v in os.environ.items() if not k.startswith(("TOKCTL", "COLUMNS", "LINES"))},
        "COLUMNS": "100",
        "LC_ALL": "C.UTF-8",
    }
    found = run([tokctl, "corpora", "path", "sample"], folder, environment)[1].decode().strip()
    sources(folder, Path(found))
    parts = {name: out / name for name in ("models", "lines", "terminal", "ids")}
    for part in parts.values():
        part.mkdir(parents=True, exist_ok=True)

    for name, options in MODELS.items():
        words = shlex.split(options)
        text = [] if words[-1].endswith((".jsonl", ".tsv")) else ["story.txt"]
        if "--lang" in words:
            text = []
        if "--word-counts" in words:
            words, text = ["--word-counts", *words[2:]], ["words.tsv"]
        path = folder / f"{name}.json"
        code, _, stderr = run(
            [tokctl, "-q", "train", *words, "-o", path.name, *text], folder, environment
        )
        shutil.copy(path, parts["models"]) if not code else (
            parts["models"] / f"{name}.error"
        ).write_bytes(masked(stderr, folder, found))
    for number, line in enumerate(LINES):
        shown, code = one_line(tokctl, line, folder, environment)
        head = f"$ tokctl {line}\n[exit {code}]\n".encode()
        data = head + masked(shown, folder, found)
        (parts["lines"] / f"{number:03}.txt").write_bytes(data)
    for number, line in enumerate(IN_A_TERMINAL):
        for columns in (72, 140):
            code, shown = in_terminal([tokctl, *shlex.split(line)], folder, environment, columns)
            head = f"$ tokctl {line}  ({columns} columns)\n[exit {code}]\n".encode()
            data = head + masked(shown, folder, found)
            (parts["terminal"] / f"{number:03}-{columns}.txt").write_bytes(data)
    if ids and SHARED.is_dir():
        texts = sorted((SHARED / "corpora").glob("*.txt")) + sorted(
            (SHARED / "corpora" / "udhr").glob("*")
        )
        for model in sorted((SHARED / "vocab").iterdir()):
            for text in texts:
                command = [tokctl, "encode", "-m", str(model), "--as", "bin", "--dtype", "uint32"]
                if model.suffix == ".tiktoken":
                    shown = run([*command, str(text)], folder, environment)
                else:
                    shown = run([*command, str(text), "--errors", "replace"], folder, environment)
                digest = hashlib.sha256(shown[1]).hexdigest()
                name = f"{model.name}-{text.name}.txt"
                (parts["ids"] / name).write_text(f"{shown[0]} {len(shown[1])} {digest}\n")
    shutil.rmtree(folder)
    print(*(f"{len(list(part.iterdir()))} {name}" for name, part in parts.items()), sep=", ")


def compare(old: Path, new: Path) -> int:
    """Names every file that differs; 1 if there is one."""
    before = {path.relative_to(old): path for path in old.rglob("*") if path.is_file()}
    after = {path.relative_to(new): path for path in new.rglob("*") if path.is_file()}
    differing = 0
    for name in sorted(before.keys() | after.keys()):
        if name not in before or name not in after:
            print(f"only in {'the new' if name in after else 'the old'}: {name}")
        elif before[name].read_bytes() != after[name].read_bytes():
            first = before[name].read_bytes().split(b"\n", 1)[0]
            print(f"differs: {name}  {first[:120].decode(errors='replace')}")
        else:
            continue
        differing += 1
    print(f"{len(before)} recorded before, {len(after)} after, {differing} differ")
    return 1 if differing else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--tokctl", default=str(Path(sys.executable).parent / "tokctl"))
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("--no-ids", action="store_true")
    arguments = parser.parse_args()
    if arguments.compare:
        return compare(*arguments.folders)
    record(str(Path(arguments.tokctl).absolute()), arguments.folders[0], not arguments.no_ids)
    return 0


if __name__ == "__main__":
    sys.exit(main())
