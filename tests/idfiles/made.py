"""Sources made by hand, small models, and what their documents' ids are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson

from tokctl import Tokenizer, preset
from tokctl.idfiles import manifest as shard_manifest
from tokctl.model.presets import BPE, BPE_CHARACTERS, WORDPIECE
from tokctl.sources import Archive, Batch, Document, Records, Source

TRAINED_ON = """low low low low low lower lower newest newest newest newest newest newest
widest widest widest longer, and a sea-chest of treasure; a naïve café in 東京 🙂
"""

#: Ties (every pair as often as the next), several scripts, empty ones, one that is long.
TEXTS = [
    b"low lower newest\nwidest\n",
    b"",
    b"abababab cdcdcdcd abcdabcd " * 7,
    "a naïve café in 東京 🙂\n\nlow".encode(),
    b"",
    b"\n",
    b"newest low " * 60,
    b"x",
]

#: Those whose every character a model has that knows no other.
PLAIN = [b"low lower newest", b"", b"widest\nlow\n", b"newest low " * 40, b"low"]


def models(folder: Path) -> dict[str, Tokenizer]:
    """Bytes with a special token, characters with and without an unknown token, words."""
    from dataclasses import replace

    text = folder / "text.txt"
    text.write_text(TRAINED_ON, encoding="utf-8")
    recipes = {
        "bytes": (replace(BPE, special_tokens=("<|end|>",)), 280),
        "characters": (BPE_CHARACTERS, 60),
        "wordpiece": (WORDPIECE, 60),
        "no-unknown": (preset("notebook-bpe"), 60),
        "unigram": (preset("t5"), 60),
    }
    made = {}
    for name, (recipe, size) in recipes.items():
        made[name] = Tokenizer.train([text], vocab_size=size, recipe=recipe)
        made[name].save(folder / f"{name}.json")
    return made


def texts_of(name: str) -> list[bytes]:
    """Texts that a model can take."""
    return PLAIN if name == "no-unknown" else TEXTS


def document(text: bytes, name: str = "document", block: int = 7) -> Document:
    """One text, in small blocks."""

    def blocks() -> Iterator[bytes]:
        for start in range(0, len(text), block):
            yield text[start : start + block]

    return Document(name, len(text), blocks)


def records(
    texts: Sequence[bytes], name: str = "records", batch: int = 3, unit: str = "row"
) -> Records:
    """Many texts, some at a time, with counts, which encode takes no notice of."""
    read = [0]

    def batches() -> Iterator[Batch]:
        read[0] = 0
        for start in range(0, len(texts), batch):
            some = texts[start : start + batch]
            read[0] += sum(map(len, some))
            yield Batch(some, [2] * len(some), start + 1)

    return Records(name, sum(map(len, texts)), batches, lambda: read[0], unit=unit)


def archive(members: Sequence[Document | Records], name: str = "archive.tar") -> Archive:
    """Sources in one."""
    return Archive(name, None, lambda: iter(members), lambda: 0)


def mixed(texts: Sequence[bytes]) -> list[Source]:
    """The texts as documents, records and members of an archive, in their order."""
    third = len(texts) // 3
    first = [document(text, f"{number}.txt") for number, text in enumerate(texts[:third])]
    inner: list[Document | Records] = [document(text, "member") for text in texts[2 * third : -1]]
    return [*first, records(texts[third : 2 * third]), archive([*inner, records(texts[-1:])])]


def lines_of(text: bytes) -> list[bytes]:
    """The lines of a text; behind the last line feed there is none."""
    lines = text.split(b"\n")
    return lines if lines[-1] else lines[:-1]


def ids_of(tokenizer: Tokenizer, texts: Sequence[bytes], *end: int) -> list[list[int]]:
    """The ids of each text, with `end` behind them."""
    return [[*tokenizer.encode_ids(text), *end] for text in texts]


def journal_of(*lines: Any) -> bytes:
    """A journal of these lines, with their digests; a line that is no object has none."""
    found, last = [], ""
    for line in lines:
        sealed = shard_manifest.add_digest(line, last) if isinstance(line, dict) else line
        last = sealed["sha256"] if isinstance(line, dict) else last
        found.append(orjson.dumps(sealed) + b"\n")
    return b"".join(found)


def write_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    """Writes a manifest with the digest of what it says now."""
    rest = {key: value for key, value in manifest.items() if key != "sha256"}
    (folder / "manifest.json").write_bytes(orjson.dumps(shard_manifest.add_digest(rest)))


def contents(folder: Path) -> dict[str, bytes]:
    """Everything in a folder."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
