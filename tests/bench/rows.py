"""What is measured: each row is one piece of work that several contenders do. Which rows there
are stands in `work/`."""

from __future__ import annotations

from dataclasses import dataclass

TOKCTL = "tokctl"
#: The same in a row for several threads, with one: its ratio is what the others gain.
ONE_THREAD = "tokctl, 1 thread"
HF = "HF tokenizers"
SENTENCEPIECE = "sentencepiece"
GIGATOKEN = "gigatoken"
TIKTOKEN = "tiktoken"

BOTH = ("first", "again")
TEXTS = ("books", "code", "multilingual")


@dataclass(frozen=True)
class Contender:
    """peer, task: see `Job`. own_rules: why its result can't be ours; empty where it must be.
    threads: where they are not the row's."""

    name: str
    peer: str
    task: str
    own_rules: str = ""
    threads: int = 0

    @property
    def ours(self) -> bool:
        """Whether it is tokctl, in whatever way."""
        return self.peer in ("tokctl_", "memory_")


@dataclass(frozen=True)
class Row:
    """One piece of work.

    Attributes:
        section: one of `report.HEADINGS`.
        key: what the targets and the growth table call it; empty where they don't.
        passes: which passes are shown: `first`, `again`, or both.
        again: passes behind the first in one process.
        model: for encoding and decoding: one of `tests.bench.texts.MODELS`.
        reference: the contender whose digest is the right one; ours where it is missing.
        document: seconds that the document behind the project prints for this work.
        rounds: at most so many.
        timeout: a job that takes longer is given up, in seconds.
        score: a training says how well its models fit the text, too.
        at: where the row stands on the axis of its chart: bytes, or ids.
    """

    section: str
    title: str
    text: str
    contenders: tuple[Contender, ...]
    key: str = ""
    passes: tuple[str, ...] = ("first",)
    again: int = 0
    threads: int = 1
    vocab: int = 0
    model: str = ""
    reference: str = HF
    document: float | None = None
    rounds: int = 9
    timeout: float = 150.0
    score: bool = False
    at: int = 0


@dataclass(frozen=True)
class Sizes:
    """Sizes of vocabularies, and of made texts in bytes."""

    bpe: int = 32_000
    wordpiece: int = 32_000
    unigram: tuple[int, int] = (8_000, 32_000)
    notebook_bpe: int = 10_000
    notebook_wordpiece: int = 20_000
    command: int = 50_000
    texts: tuple[str, ...] = TEXTS
    code: int = 100_000_000
    code_vocab: int = 50_000
    dna: int = 10_000_000
    growth: tuple[int, ...] = (1_000_000, 10_000_000, 100_000_000)
    growth_vocab: tuple[int, ...] = (1_000, 4_000, 16_000, 32_000, 64_000, 128_000)
    growth_text: int = 10_000_000
    odd: int = 2_000_000
    odd_long: int = 10_000_000
    added: int = 400_000
    memory: tuple[int, int] = (100_000_000, 1_000_000_000)


#: With --quick.
QUICK = Sizes(
    bpe=4_000,
    wordpiece=4_000,
    unigram=(2_000, 4_000),
    command=4_000,
    texts=("books",),
    code=1_000_000,
    code_vocab=4_000,
    dna=100_000,
    growth=(100_000, 300_000),
    growth_vocab=(1_000, 4_000),
    growth_text=300_000,
    odd=100_000,
    odd_long=200_000,
    added=20_000,
    memory=(1_000_000, 3_000_000),
)


def threads_named(threads: int) -> str:
    return f"{threads} thread{'s'[: threads - 1]}"
