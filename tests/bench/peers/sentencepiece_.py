"""SentencePiece: trains by rules of its own (words split at spaces alone, characters)."""

from __future__ import annotations

from pathlib import Path

import sentencepiece

from tests.bench.job import Job, Outcome, Task

#: Its mark for a space.
SPACE = "▁"


def train_bpe(job: Job) -> Task:
    prefix = Path(job.folder) / "sentencepiece"

    def train() -> str:
        sentencepiece.SentencePieceTrainer.train(
            input=job.text,
            model_prefix=str(prefix),
            model_type="bpe",
            vocab_size=job.vocab,
            num_threads=job.threads,
            max_sentence_length=1 << 30,
            minloglevel=2,
        )
        return f"{prefix}.model"

    def outcome(model: str) -> Outcome:
        loaded = sentencepiece.SentencePieceProcessor(model_file=model)
        pieces = [
            loaded.id_to_piece(id_)
            for id_ in range(loaded.get_piece_size())
            if not loaded.is_control(id_) and not loaded.is_unknown(id_)
        ]
        return Outcome("", [piece.replace(SPACE, " ").encode() for piece in pieces])

    return Task(train, outcome)
