"""tokctl, through its Python API; and its commands as whole processes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.tools.bench.job import (
    CHUNK,
    Job,
    Outcome,
    Task,
    array_outcome,
    buffer_outcome,
    ids_outcome,
    merges_outcome,
    short,
    text_outcome,
)
from tests.tools.bench.likelihood import SPACE, bits_per_character
from tests.tools.bench.peers.calls import decoding, encoding, loading
from tests.tools.bench.processes import Finished, run, stdout_outcome, written_outcome
from tokctl import _native
from tokctl.model import Recipe
from tokctl.model.presets import default_recipe, preset
from tokctl.sources import documents
from tokctl.tokenizer import Tokenizer
from tokctl.training import TrainOptions
from tokctl.training import count as counted

#: Whole processes start this, in the checkout: the script `tokctl` could be another one's.
COMMAND = [sys.executable, "-m", "tokctl"]
#: Characters of a short text.
SHORT = 100


def wordpiece_by_count() -> Recipe:
    """Hugging Face's criterion, ties and alphabet."""
    return replace(
        default_recipe("wordpiece"), score="count", alphabet="characters", tie_break="lowest-id"
    )


def _train(job: Job, recipe: Recipe) -> Tokenizer:
    return Tokenizer.train([job.text], vocab_size=job.vocab, recipe=recipe, threads=job.threads)


def train_bpe(job: Job) -> Task:
    return Task(lambda: _train(job, preset("gpt2")), _byte_merges)


def _trained_by(algorithm: str) -> Callable[[Job], Task]:
    """By its default recipe; the digest is that of the whole model file."""

    def task(job: Job) -> Task:
        def outcome(trained: Tokenizer) -> Outcome:
            path = Path(job.folder) / "model.json"
            trained.save(path)
            return _file_outcome(path)

        return Task(lambda: _train(job, default_recipe(algorithm)), outcome)

    return task


train_default_bpe = _trained_by("bpe")
train_superbpe = _trained_by("superbpe")
train_boundless = _trained_by("boundless")
train_picky = _trained_by("picky")
train_scaffold = _trained_by("scaffold")


def train_parity(job: Job) -> Task:
    """With Hugging Face's ties, and tokens per byte as the cost of a language."""
    recipe = replace(preset("gpt2"), tie_break="highest-text")

    def run_training() -> Tokenizer:
        return Tokenizer.train(
            job.languages(), vocab_size=job.vocab, recipe=recipe, threads=job.threads
        )

    return Task(run_training, _byte_merges)


def _byte_merges(trained: Tokenizer) -> Outcome:
    tokens = trained.model.tokens
    merges = [(tokens[merge.left], tokens[merge.right]) for merge in trained.merges]
    return merges_outcome(merges, tokens[1:257])


def train_wordpiece(job: Job) -> Task:
    def outcome(trained: Tokenizer) -> Outcome:
        return Outcome("", trained.model.tokens[1:])

    return Task(lambda: _train(job, wordpiece_by_count()), outcome)


def train_unigram(job: Job) -> Task:
    def outcome(trained: Tokenizer) -> Outcome:
        special = trained.special_ids
        pieces = [token for token in trained.tokens if token not in special]
        bits = None
        if job.score:
            scores = dict(zip(trained.tokens, trained.model.scores, strict=True))
            known = {piece: scores[piece] for piece in pieces}
            bits = bits_per_character(job.read_text(), known)
        return Outcome("", [piece.replace(SPACE, " ").encode() for piece in pieces], bits=bits)

    return Task(lambda: _train(job, preset("sentencepiece-unigram")), outcome)


def train_notebook_bpe(job: Job) -> Task:
    return Task(lambda: _train(job, preset("notebook-bpe")), _all_tokens)


def train_notebook_wordpiece(job: Job) -> Task:
    return Task(lambda: _train(job, preset("notebook-wordpiece")), _all_tokens)


def _all_tokens(trained: Tokenizer) -> Outcome:
    return Outcome(short("\n".join(trained.tokens).encode()))


def count(job: Job) -> Task:
    """The first half of a training: pre-tokens with their counts, in the order met. In Rust,
    without the dictionary that `tokctl.training.counts.count` makes of them."""
    recipe, options = preset("gpt2"), TrainOptions(vocab_size=job.vocab, threads=job.threads)

    def run_count() -> Any:
        return counted(documents([job.text]), recipe, options)[0]

    return Task(run_count, lambda counts: Outcome(short(counts.to_lines())))


def _loaded(job: Job) -> Tokenizer:
    tokenizer = Tokenizer.load(job.model)
    _ = tokenizer.encoder, tokenizer.decoder
    return tokenizer


def _encode(tokenizer: Tokenizer, text: str | bytes, threads: int) -> Any:
    """The ids of one text as 32-bit numbers in one buffer."""
    return tokenizer.encode_array(text, threads=threads)


def _encode_many(tokenizer: Tokenizer, texts: list[str], threads: int) -> Any:
    """The ids of many texts as 32-bit numbers in one buffer."""
    return tokenizer.encode_array(texts, threads=threads)[0]


def _encode_list(tokenizer: Tokenizer, text: str, _: int) -> list[int]:
    return tokenizer.encode_ids(text)


def _like_str(job: Job) -> bytes:
    """As bytes, where the text came to be a `str` before: both begin alike."""
    return job.read_text().encode()


def _short(job: Job) -> list[str]:
    return job.read_chunks(SHORT)


load = loading(lambda job: Tokenizer.load(job.model), _encode, buffer_outcome)
encode_list = encoding(_loaded, _encode_list, ids_outcome)
encode_array = encoding(_loaded, _encode, buffer_outcome, Job.read_bytes)
encode_str = encoding(_loaded, _encode, buffer_outcome)
encode_str_bytes = encoding(_loaded, _encode, buffer_outcome, _like_str)
encode_texts = encoding(_loaded, _encode_many, buffer_outcome, Job.read_chunks)
encode_short_texts = encoding(_loaded, _encode_many, buffer_outcome, _short)
encode_lines = encoding(_loaded, _encode_many, buffer_outcome, Job.read_lines)
decode = decoding(_loaded, lambda tokenizer, ids: tokenizer.decode_bytes(ids))


def convert_str(job: Job) -> Task:
    """What CPython takes to make bytes of a `str`."""
    text = job.read_text()
    return Task(text.encode, lambda _: Outcome(""))


def decode_array(job: Job) -> Task:
    """From an array as `encode_array` gives one, which it reads in place."""
    tokenizer, ids = _loaded(job), _native.IdArray(job.read_ids())
    tokenizer.decode_bytes(ids[:1])
    return Task(lambda: tokenizer.decode_bytes(ids), text_outcome)


def process_encode(job: Job) -> Task:
    line = job.read_bytes()
    return Task(lambda: run([*COMMAND, "encode", "-m", job.model], line), stdout_outcome)


def process_encode_bin(job: Job) -> Task:
    """Binary ids: 16 bits where the vocabulary lets them."""
    width = 2 if Tokenizer.load(job.model).vocab_size <= 1 << 16 else 4
    return _encode_file(job, "bin", lambda path: written_outcome(path, width=width))


def process_encode_npy(job: Job) -> Task:
    import numpy

    return _encode_file(job, "npy", lambda path: array_outcome(numpy.load(path)), ".npy")


def process_encode_ids(job: Job) -> Task:
    return _encode_file(job, "ids", _file_outcome)


def process_encode_jsonl(job: Job) -> Task:
    return _encode_file(job, "jsonl", _file_outcome)


def process_encode_tokens(job: Job) -> Task:
    return _encode_file(job, "tokens", _file_outcome)


def process_encode_count(job: Job) -> Task:
    command = [*COMMAND, "encode", "-m", job.model, "--count", "--threads", str(job.threads)]
    return Task(lambda: run([*command, job.text]), stdout_outcome)


def process_compare(job: Job) -> Task:
    return _compare(job, CHUNK)


def process_compare_short(job: Job) -> Task:
    return _compare(job, SHORT)


def _compare(job: Job, size: int) -> Task:
    """`tokctl compare` of one model on texts of that size: its metrics."""
    texts = Path(job.folder) / "texts.jsonl"
    with texts.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps({"text": text}) + "\n" for text in job.read_chunks(size))
    command = [*COMMAND, "compare", "-m", job.model, "--json", "--threads", str(job.threads)]

    def outcome(finished: Finished) -> Outcome:
        (model,) = json.loads(finished.stdout)["models"]
        return Outcome(short(json.dumps(model["metrics"]).encode()), memory=finished.memory)

    return Task(lambda: run([*command, str(texts)]), outcome)


def _file_outcome(path: Path) -> Outcome:
    return Outcome(short(path.read_bytes()))


def _encode_file(job: Job, form: str, look: Callable[[Path], Outcome], suffix: str = "") -> Task:
    """`tokctl encode --as FORM -o FILE`, and a look at the file."""
    made = Path(job.folder) / f"ids{suffix}"
    command = [*COMMAND, "encode", "-m", job.model, "--as", form, "--threads", str(job.threads)]
    return Task(
        lambda: run([*command, "-o", str(made), job.text]),
        lambda finished: look(made)._replace(memory=finished.memory),
    )
