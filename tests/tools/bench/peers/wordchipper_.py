"""wordchipper: OpenAI's vocabularies alone, which it downloads into a cache. Here the cache holds
the ranks of the model, under the name of the vocabulary with the same pattern. It gives lists,
and has one thread for a text."""

from __future__ import annotations

import json
import os
from base64 import b64encode
from pathlib import Path
from typing import NamedTuple

import wordchipper

from tests.tools.bench.job import Job, Outcome, ids_outcome
from tests.tools.bench.peers.calls import encoding
from tokctl.model.byte_level import unspell


class _Loaded(NamedTuple):
    """least: the model's lowest id; ranks begin at 0."""

    tokenizer: wordchipper.Tokenizer
    least: int


def _from_ranks(job: Job, name: str, ranks: bytes, least: int = 0) -> _Loaded:
    path = Path(job.folder, "io.crates.wordchipper", "openai", name, f"{name}.tiktoken")
    path.parent.mkdir(parents=True)
    path.write_bytes(ranks)
    # Its cache is where this variable says.
    os.environ["XDG_CACHE_HOME"] = job.folder
    return _Loaded(wordchipper.Tokenizer.from_pretrained(name), least)


def _loaded(job: Job, name: str = "r50k_base") -> _Loaded:
    document = json.loads(Path(job.model).read_bytes())
    special = {token["content"] for token in document["added_tokens"]}
    ids = {token: id_ for token, id_ in document["model"]["vocab"].items() if token not in special}
    least = min(ids.values())
    lines = [b"%s %d\n" % (b64encode(unspell(token)), ids[token] - least) for token in ids]
    return _from_ranks(job, name, b"".join(lines), least)


def _o200k(job: Job) -> _Loaded:
    return _loaded(job, "o200k_base")


def _cl100k(job: Job) -> _Loaded:
    return _from_ranks(job, "cl100k_base", Path(job.model).read_bytes())


def _encode(loaded: _Loaded, text: str, _: int) -> tuple[int, list[int]]:
    return loaded.least, loaded.tokenizer.encode(text)


def _outcome(found: tuple[int, list[int]]) -> Outcome:
    least, ids = found
    return ids_outcome(id_ + least for id_ in ids)


encode_array = encoding(_loaded, _encode, _outcome)
encode_o200k = encoding(_o200k, _encode, _outcome)
encode_cl100k = encoding(_cl100k, _encode, _outcome)
