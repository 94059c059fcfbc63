"""Rows of the algorithms since 2024: trained as the text grows, and the models with superwords
encoding. Only parity-aware BPE is trained by another library that can be installed; what a paper
prints of its own stands beside ours as that."""

from __future__ import annotations

from tests.tools.bench.rows import (
    BOTH,
    HF,
    TOKCTL,
    Contender,
    Reported,
    Row,
    Sizes,
    amount,
    threads_named,
)
from tests.tools.bench.work.encoding import OVER_WORDS

#: By what they are called in a recipe; ordinary BPE for what the others cost beside it.
TITLES = {
    "default_bpe": "BPE",
    "superbpe": "SuperBPE",
    "boundless": "BoundlessBPE",
    "picky": "PickyBPE",
    "scaffold": "Scaffold-BPE",
}
#: What "Faster Superword Tokenization" reports in its abstract, and for so many bytes.
PAPER, ITS_SIZE = "arXiv 2604.05192", 10**9
ITS_TEXT = "reported, not measured: 1 GB of another text, on another machine"
REPORTED = {
    "superbpe": Reported(593, PAPER, ITS_TEXT),
    "boundless": Reported(603, PAPER, ITS_TEXT),
}
#: Hugging Face's trainer takes minutes beyond, in bytes.
MOST = 10**8


def rows(sizes: Sizes) -> list[Row]:
    def train(task: str, title: str, text: str, size: int, *peers: Contender) -> Row:
        return Row(
            "training",
            f"{title} {sizes.bpe:,}, {threads_named(2)}",
            f"{text}@{amount(size)}",
            (Contender(TOKCTL, "tokctl_", f"train_{task}"), *peers),
            key=f"train-{task}",
            threads=2,
            vocab=sizes.bpe,
            reported=REPORTED.get(task) if size == ITS_SIZE else None,
            timeout=600.0,
            at=size,
        )

    def encode(model: str, text: str, contenders: tuple[Contender, ...]) -> Row:
        return Row(
            "encoding",
            f"{TITLES[model]} {sizes.bpe:,}",
            text,
            contenders,
            key=f"encode-{model}",
            passes=BOTH,
            again=3,
            vocab=sizes.bpe,
            model=model,
        )

    parity = (Contender(HF, "huggingface", "train_parity"),)
    return [
        *(
            train(task, title, "books", size)
            for task, title in TITLES.items()
            for size in sizes.recent
        ),
        # Hardly a line occurs twice: the worst case where lines and runs of words are counted.
        *(train(task, TITLES[task], "spans", sizes.recent[-1]) for task in REPORTED),
        *(
            train(
                "parity", "parity-aware BPE", "languages", size, *(parity if size <= MOST else ())
            )
            for size in sizes.recent
        ),
        *(encode("superbpe", text, OVER_WORDS) for text in sizes.texts),
        *(encode("boundless", text, OVER_WORDS[:1]) for text in sizes.texts),
    ]
