"""tokctl, through its Python API; and its commands as whole processes."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

from tests.bench.job import (
    WARM_UP,
    Job,
    Outcome,
    Task,
    ids_outcome,
    lines_outcome,
    merges_outcome,
    short,
    text_outcome,
)
from tests.bench.processes import Finished, run, stdout_outcome
from tokctl.presets import default_recipe, preset
from tokctl.recipe import Recipe
from tokctl.tokenizer import Tokenizer

#: Whole processes start this, in the checkout: the script `tokctl` could be another one's.
COMMAND = [sys.executable, "-m", "tokctl"]


def wordpiece_by_count() -> Recipe:
    """Hugging Face's criterion, ties and alphabet."""
    return replace(
        default_recipe("wordpiece"), score="count", alphabet="characters", tie_break="lowest-id"
    )


def _train(job: Job, recipe: Recipe) -> Tokenizer:
    return Tokenizer.train([job.text], vocab_size=job.vocab, recipe=recipe, threads=job.threads)


def train_bpe(job: Job) -> Task:
    def outcome(trained: Tokenizer) -> Outcome:
        tokens = trained.model.tokens
        merges = [(tokens[merge.left], tokens[merge.right]) for merge in trained.merges]
        return merges_outcome(merges, tokens[1:257])

    return Task(lambda: _train(job, preset("gpt2")), outcome)


def train_wordpiece(job: Job) -> Task:
    def outcome(trained: Tokenizer) -> Outcome:
        return Outcome("", trained.model.tokens[1:])

    return Task(lambda: _train(job, wordpiece_by_count()), outcome)


def train_unigram(job: Job) -> Task:
    def outcome(trained: Tokenizer) -> Outcome:
        special = trained.special_ids
        pieces = [token for token in trained.tokens if token not in special]
        return Outcome("", [piece.replace("▁", " ").encode() for piece in pieces])

    return Task(lambda: _train(job, preset("sentencepiece-unigram")), outcome)


def _loaded(job: Job) -> Tokenizer:
    tokenizer = Tokenizer.load(job.model)
    _ = tokenizer.encoder, tokenizer.decoder
    return tokenizer


def encode_list(job: Job) -> Task:
    tokenizer, text = _loaded(job), job.read_text()
    tokenizer.encode_ids(WARM_UP)
    return Task(lambda: tokenizer.encode_ids(text), ids_outcome)


def encode_lines(job: Job) -> Task:
    tokenizer, lines = _loaded(job), job.read_lines()
    tokenizer.encode_batch([WARM_UP])
    return Task(lambda: tokenizer.encode_batch(lines, threads=job.threads), lines_outcome)


def encode_array(job: Job) -> Task:
    """What the command line writes as binary ids: 32 bits each, in one `bytes`."""
    encoder, text = _loaded(job).encoder, job.read_bytes()
    encoder.packed(WARM_UP.encode(), 4, None)
    return Task(lambda: encoder.packed(text, 4, None)[0], lambda packed: Outcome(short(packed)))


def decode(job: Job) -> Task:
    tokenizer, ids = _loaded(job), job.read_ids().tolist()
    tokenizer.decode_bytes(ids[:1])
    return Task(lambda: tokenizer.decode_bytes(ids), text_outcome)


def _train_process(job: Job, preset_name: str) -> Task:
    model = Path(job.folder) / "model.json"
    command = [*COMMAND, "train", "--preset", preset_name]
    command += ["--vocab", str(job.vocab), "-o", str(model), job.text]

    def outcome(finished: Finished) -> Outcome:
        document = json.loads(model.read_bytes())["model"]
        pairs = document["tokctl"].get("merges") or document["merges"]
        lines = "".join(f"{left} {right}\n" for left, right in pairs)
        return Outcome(short(lines.encode()), memory=finished.memory)

    return Task(lambda: run(command), outcome)


def process_notebook_bpe(job: Job) -> Task:
    return _train_process(job, "notebook-bpe")


def process_notebook_wordpiece(job: Job) -> Task:
    return _train_process(job, "notebook-wordpiece")


def process_encode(job: Job) -> Task:
    line = job.read_bytes()
    return Task(lambda: run([*COMMAND, "encode", "-m", job.model], line), stdout_outcome)
