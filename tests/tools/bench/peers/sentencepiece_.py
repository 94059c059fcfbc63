"""SentencePiece: trains by rules of its own (words split at spaces alone, characters), and
defines what a model of its own does with a text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import sentencepiece

from tests.tools.bench.job import WARM_UP, Job, Outcome, Task, lines_outcome
from tests.tools.bench.likelihood import SPACE, bits_per_character
from tests.tools.bench.processes import script

#: What makes its Unigram that of tokctl's preset: every character, words split at spaces alone.
LIKE_OURS = {
    "character_coverage": 1.0,
    "split_by_unicode_script": False,
    "split_by_number": False,
}


def train_model(
    text: Path, prefix: Path, model_type: str, vocab: int, threads: int = 1, **options: Any
) -> Path:
    """Trains; the path of the model file."""
    sentencepiece.SentencePieceTrainer.train(
        input=str(text),
        model_prefix=str(prefix),
        model_type=model_type,
        vocab_size=vocab,
        num_threads=threads,
        max_sentence_length=1 << 30,
        minloglevel=2,
        **options,
    )
    return prefix.with_name(f"{prefix.name}.model")


def _train(job: Job, model_type: str, **options: Any) -> Task:
    prefix = Path(job.folder) / "sentencepiece"

    def train() -> Path:
        return train_model(Path(job.text), prefix, model_type, job.vocab, job.threads, **options)

    def outcome(model: Path) -> Outcome:
        loaded = sentencepiece.SentencePieceProcessor(model_file=str(model))
        pieces = [
            loaded.id_to_piece(id_)
            for id_ in range(loaded.get_piece_size())
            if not loaded.is_control(id_) and not loaded.is_unknown(id_)
        ]
        bits = None
        if job.score and model_type == "unigram":
            scores = {piece: loaded.get_score(loaded.piece_to_id(piece)) for piece in pieces}
            bits = bits_per_character(job.read_text(), scores)
        return Outcome("", [piece.replace(SPACE, " ").encode() for piece in pieces], bits=bits)

    return Task(train, outcome)


def train_bpe(job: Job) -> Task:
    return _train(job, "bpe")


def train_unigram(job: Job) -> Task:
    # A tiny text has not enough pieces: then it takes those that there are.
    return _train(job, "unigram", hard_vocab_limit=False, **LIKE_OURS)


def encode_lines(job: Job) -> Task:
    loaded, lines = sentencepiece.SentencePieceProcessor(model_file=job.model), job.read_lines()
    loaded.encode([WARM_UP], num_threads=job.threads)
    return Task(lambda: loaded.encode(lines, num_threads=job.threads), lines_outcome)


_ENCODE_ONE_LINE = """
import sys
import sentencepiece
model = sentencepiece.SentencePieceProcessor(model_file=sys.argv[1])
for line in sys.stdin:
    print(*model.encode(line.rstrip("\\n")))
"""


def process_encode(job: Job) -> Task:
    return script(job, _ENCODE_ONE_LINE)
