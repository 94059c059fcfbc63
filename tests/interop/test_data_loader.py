"""PyTorch's DataLoader, whose workers encode. How its workers go about it is tried without PyTorch
in `tests/api/test_processes.py`."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from tokctl import Tokenizer, preset

torch = pytest.importorskip("torch")

TEXTS = [f"There is still a lot of treasure {number}" for number in range(60)]


class Texts:
    """A data set of texts, encoded when they are asked for."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer

    def __len__(self) -> int:
        return len(TEXTS)

    def __getitem__(self, number: int) -> Any:
        return torch.tensor(self.tokenizer.encode_ids(TEXTS[number]))


def padded(rows: list[Any]) -> Any:
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.parametrize("workers", [0, 2])
def test_workers_encode(method: str, workers: int) -> None:
    words = {" treasure": 9, " still": 5, " lot": 3}
    tokenizer = Tokenizer.train(words, recipe=preset("gpt2"), vocab_size=280)
    wanted = tokenizer.encode_ids(TEXTS, threads=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loader = torch.utils.data.DataLoader(
            Texts(tokenizer),
            batch_size=8,
            num_workers=workers,
            collate_fn=padded,
            multiprocessing_context=method if workers else None,
        )
        found = [row.tolist() for batch in loader for row in batch]
    assert [row[: len(ids)] for row, ids in zip(found, wanted, strict=True)] == wanted
