"""tokctl, through its Python API; and its commands as whole processes."""

from __future__ import annotations

import json
import multiprocessing
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.bench.job import (
    WARM_UP,
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
from tests.bench.likelihood import SPACE, bits_per_character
from tests.bench.processes import Finished, run, stdout_outcome, written_outcome
from tokctl import _native
from tokctl.model import Recipe
from tokctl.model.presets import default_recipe, preset
from tokctl.sources import documents
from tokctl.tokenizer import Tokenizer
from tokctl.training import Options
from tokctl.training import count as counted

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
    return Task(lambda: _train(job, preset("gpt2")), _byte_merges)


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
    recipe, options = preset("gpt2"), Options(vocab_size=job.vocab, threads=job.threads)

    def run_count() -> Any:
        return counted(documents([job.text]), recipe, options)[0]

    return Task(run_count, lambda counts: Outcome(short(counts.to_lines())))


def _loaded(job: Job) -> Tokenizer:
    tokenizer = Tokenizer.load(job.model)
    _ = tokenizer.encoder, tokenizer.decoder
    return tokenizer


def ids_in_memory(tokenizer: Tokenizer, text: str | bytes, threads: int) -> Any:
    """The ids of one text as 32-bit numbers in one buffer."""
    return tokenizer.encode_array(text, threads=threads)


def ids_of_texts(tokenizer: Tokenizer, texts: list[str], threads: int) -> Any:
    """The ids of many texts as 32-bit numbers in one buffer, and where those of each begin."""
    return tokenizer.encode_array(texts, threads=threads)


def bytes_of_array(tokenizer: Tokenizer, ids: Any) -> bytes:
    """The bytes that an array of ids stands for."""
    return tokenizer.decode_bytes(ids)


def encode_list(job: Job) -> Task:
    tokenizer, text = _loaded(job), job.read_text()
    tokenizer.encode_ids(WARM_UP)
    return Task(lambda: tokenizer.encode_ids(text), ids_outcome)


def encode_array(job: Job) -> Task:
    tokenizer, text = _loaded(job), job.read_bytes()
    ids_in_memory(tokenizer, WARM_UP.encode(), job.threads)
    return Task(lambda: ids_in_memory(tokenizer, text, job.threads), buffer_outcome)


def encode_str(job: Job) -> Task:
    return _encode_str(job, job.read_text())


def encode_str_bytes(job: Job) -> Task:
    """As `encode_array`, where the text came to be a `str` before: both begin alike."""
    return _encode_str(job, job.read_text().encode())


def _encode_str(job: Job, text: str | bytes) -> Task:
    tokenizer = _loaded(job)
    ids_in_memory(tokenizer, WARM_UP, job.threads)
    return Task(lambda: ids_in_memory(tokenizer, text, job.threads), buffer_outcome)


def convert_str(job: Job) -> Task:
    """What CPython takes to make bytes of a `str`."""
    text = job.read_text()
    return Task(text.encode, lambda _: Outcome(""))


def load(job: Job) -> Task:
    """A model loaded, and the first letter encoded."""
    return Task(
        lambda: ids_in_memory(Tokenizer.load(job.model), WARM_UP.encode(), 1), buffer_outcome
    )


def encode_short_texts(job: Job) -> Task:
    return _encode_many(job, job.read_chunks(size=100))


def encode_twice(job: Job) -> Task:
    """The text by two tokenizers that share nothing, one after the other."""
    tokenizers, text = [_loaded(job), _loaded(job)], job.read_bytes()
    for tokenizer in tokenizers:
        ids_in_memory(tokenizer, WARM_UP.encode(), 1)
    return Task(lambda: [ids_in_memory(each, text, 1) for each in tokenizers][1], buffer_outcome)


def encode_at_once(job: Job) -> Task:
    """The text by two processes that share nothing, at once."""
    tokenizer, text = _loaded(job), job.read_bytes()
    ids_in_memory(tokenizer, WARM_UP.encode(), 1)
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()

    def work() -> None:
        while theirs.recv():
            ids_in_memory(tokenizer, text, 1)
            theirs.send(True)

    context.Process(target=work, daemon=True).start()

    def at_once() -> Any:
        ours.send(True)
        ids = ids_in_memory(tokenizer, text, 1)
        ours.recv()
        return ids

    return Task(at_once, buffer_outcome)


def encode_texts(job: Job) -> Task:
    return _encode_many(job, job.read_chunks())


def encode_lines(job: Job) -> Task:
    return _encode_many(job, job.read_lines())


def _encode_many(job: Job, texts: list[str]) -> Task:
    tokenizer = _loaded(job)
    ids_of_texts(tokenizer, [WARM_UP], job.threads)
    return Task(lambda: ids_of_texts(tokenizer, texts, job.threads)[0], buffer_outcome)


def decode(job: Job) -> Task:
    tokenizer, ids = _loaded(job), job.read_ids().tolist()
    tokenizer.decode_bytes(ids[:1])
    return Task(lambda: tokenizer.decode_bytes(ids), text_outcome)


def decode_array(job: Job) -> Task:
    """From an array as `encode_array` gives one, which it reads in place."""
    tokenizer, ids = _loaded(job), _native.IdArray(job.read_ids())
    bytes_of_array(tokenizer, ids[:1])
    return Task(lambda: bytes_of_array(tokenizer, ids), text_outcome)


def file_in_process(job: Job) -> Task:
    """What `tokctl encode --as bin FILE` does, through the library: load, read, encode, write."""
    ids = Path(job.folder) / "ids"

    def straight() -> None:
        text = job.read_bytes()
        ids.write_bytes(ids_in_memory(Tokenizer.load(job.model), text, job.threads))

    return Task(straight, lambda _: written_outcome(ids))


def lines_in_process(job: Job) -> Task:
    """What `tokctl encode FILE` does, through the library: ids in decimal, line by line."""
    ids = Path(job.folder) / "ids"

    def straight() -> None:
        found = Tokenizer.load(job.model).encode_ids(job.read_lines(), threads=job.threads)
        text = "".join(f"{' '.join(map(str, line))}\n" for line in found)
        ids.write_text(text, encoding="ascii")

    return Task(straight, lambda _: Outcome(short(ids.read_bytes())))


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
