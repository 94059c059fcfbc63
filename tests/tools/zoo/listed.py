"""The list of published files: what each is, where it is, and how to come by it."""

from __future__ import annotations

import hashlib
import urllib.request
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
LIST = HERE / "list.tsv"
#: The library that says what is right.
PEERS = {
    "tokenizer.json": "tokenizers",
    "folder": "transformers",
    "vocab-merges": "tokenizers",
    "bert-vocab": "tokenizers",
    "sentencepiece": "sentencepiece",
    "ranks": "tiktoken",
    "tekken": "tiktoken",
    "gguf": "llama.cpp",
}
#: Files that are read with the one that is listed, by its name.
BESIDE = {
    "vocab-merges": (("vocab.json", "merges.txt"),),
    "folder": tuple(
        ("tokenizer_config.json", name)
        for name in (
            "tokenizer.json",
            "special_tokens_map.json",
            "added_tokens.json",
            "config.json",
            "vocab.json",
            "merges.txt",
            "vocab.txt",
            "tokenizer.model",
            "spiece.model",
            "spm.model",
            "sentencepiece.bpe.model",
            "source.spm",
            "target.spm",
        )
    ),
    "gguf": ((".gguf", ".gguf.inp"), (".gguf", ".gguf.out")),
}


class Listed(NamedTuple):
    """A published file.

    Attributes:
        family: the models that it belongs to.
        kind: a key of `PEERS`.
        repository: OWNER/NAME on GitHub, or pypi:NAME==VERSION, crates:NAME==VERSION.
        commit: of the repository; empty for a package.
        path: in the repository, or in the package; of a folder its tokenizer_config.json.
        sha256: of the file.
        pattern: how text is split, where the file does not say it.
    """

    family: str
    kind: str
    repository: str
    commit: str
    path: str
    sha256: str
    pattern: str = ""

    @property
    def place(self) -> str:
        """Where it lies in a folder of files."""
        repository = self.repository.replace(":", "/").replace("==", "-")
        return f"{repository.replace('/', '+')}/{self.path}"

    @property
    def name(self) -> str:
        return f"{self.repository}: {self.path}"


def read(path: Path = LIST) -> list[Listed]:
    lines = path.read_text(encoding="utf-8").splitlines()
    fields = tuple(lines[0].split("\t"))
    if fields != Listed._fields:
        raise ValueError(f"{path.name}: the columns are {fields}")
    return [Listed(*line.split("\t")) for line in lines[1:]]


def obtain(listed: Listed, folder: Path, *, fetch: bool = False) -> Path | None:
    """The path of the file, fetched first where it is missing and `fetch` allows it; None where
    it can't be had. ValueError where it is another than the one that is listed."""
    path = folder / listed.place
    if not path.exists():
        if not fetch or not listed.commit:
            return None
        wanted = [listed.path]
        for old, new in BESIDE.get(listed.kind, ()):
            if listed.path.endswith(old):
                wanted.append(listed.path.removesuffix(old) + new)
        for name in wanted:
            address = f"https://github.com/{listed.repository}/raw/{listed.commit}/{name}"
            try:
                with urllib.request.urlopen(address, timeout=60) as answer:
                    data = answer.read()
            except OSError:
                continue
            there = folder / listed.place.removesuffix(listed.path) / name
            there.parent.mkdir(parents=True, exist_ok=True)
            there.write_bytes(data)
    if not path.exists():
        return None
    if hashlib.sha256(path.read_bytes()).hexdigest() != listed.sha256:
        raise ValueError(f"{path} is not the file that is listed")
    return path
