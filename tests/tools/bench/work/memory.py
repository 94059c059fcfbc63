"""Rows of memory: what each command needs at its peak, with a text and with one ten times as
long. One round each: what counts is whether it grows."""

from __future__ import annotations

from tests.tools.bench.rows import TOKCTL, Contender, Row, Sizes

#: What is done, by its task in `tests.tools.bench.peers.memory_`.
TITLES = {
    "encode_ids": "encode",
    "encode_stdin": "encode, from stdin",
    "encode_gzip": "encode, from gzip",
    "encode_json_lines": "encode, from JSON Lines",
    "encode_tokens": "encode --as tokens",
    "encode_jsonl": "encode --as jsonl --offsets",
    "encode_bin": "encode --as bin",
    "encode_npy": "encode --as npy",
    "encode_parquet": "encode --as parquet, from JSON Lines",
    "encode_megatron": "encode --as megatron, from JSON Lines",
    "encode_safetensors": "encode --as safetensors, from JSON Lines",
    "encode_shards": "encode --shard-size 20M",
    "encode_count": "encode --count",
    "decode_bin": "decode --from bin",
    "train": "train",
    "train_within": "train --memory 100M",
    "inspect_use": "inspect --use",
    "inspect_gap": "inspect --gap",
    "compare": "compare",
}
#: Python makes what the one writes, token by token, and the other looks for a bound: they get a
#: tenth of the text.
SLOW = ("encode_jsonl", "inspect_gap")
#: Seconds after which a command is given up.
LONG = 1200.0


def rows(sizes: Sizes) -> list[Row]:
    return [
        Row(
            "memory",
            title,
            f"mixed@{size // 10 if task in SLOW else size}",
            (Contender(TOKCTL, "memory_", task),),
            key=f"memory-{task}",
            vocab=sizes.bpe,
            model="" if task.startswith("train") else "gpt2",
            reference=TOKCTL,
            rounds=1,
            timeout=LONG,
            at=size,
        )
        for task, title in TITLES.items()
        for size in sizes.memory
    ]
