"""What is measured: each row is one piece of work that several contenders do. Which rows there
are stands in `work/`."""

from __future__ import annotations

from dataclasses import dataclass, field

TOKCTL = "tokctl"
#: The same in a row for several threads, with one: its ratio is what the others gain.
ONE_THREAD = "tokctl, 1 thread"
#: The same text as bytes, in a row for `str`; and what CPython takes to make these of it.
BYTES = "tokctl, bytes"
CONVERSION = "str.encode"
#: In a row for short texts, the same in longer ones.
PIECES = "tokctl, of 64 kB"
#: The same encoding without files around it.
IN_MEMORY = "tokctl, in memory"
HF = "HF tokenizers"
SENTENCEPIECE = "sentencepiece"
GIGATOKEN = "gigatoken"
TIKTOKEN = "tiktoken"
#: The time that a notebook prints; see `Reported`.
DOCUMENT = "in the document"

BOTH = ("first", "again")
TEXTS = ("books", "code", "multilingual")
#: The kinds of long texts; see `long`.
ENGLISH, SCRIPTS = "english", "scripts"
LONG = (ENGLISH, "code", SCRIPTS)


@dataclass(frozen=True)
class Contender:
    """peer, task: see `Job`. own_rules: why its result can't be ours; empty where it must be.
    threads: where they are not the row's. rounds: at most so many."""

    name: str
    peer: str
    task: str
    own_rules: str = ""
    threads: int = 0
    rounds: int = 9

    @property
    def ours(self) -> bool:
        """Whether it is tokctl, in whatever way."""
        return self.peer in ("tokctl_", "memory_")


@dataclass(frozen=True)
class Reported:
    """A time that others print, which was not measured here.

    Attributes:
        seconds: by their clock.
        source: where it is printed.
        about: on what it was measured.
        same_work: it is of the row's own text and vocabulary, so that its ratio means something.
    """

    seconds: float
    source: str
    about: str
    same_work: bool = False


@dataclass(frozen=True)
class Row:
    """One piece of work.

    Attributes:
        section: one of `report.HEADINGS`.
        key: what the targets and the growth table call it; empty where they don't.
        passes: which passes are shown: `first`, `again`, or both.
        again: passes behind the first in one process.
        model: for encoding and decoding; see `Materials.model`.
        reference: the contender whose digest is the right one; ours where it is missing.
        reported: what a document or a paper prints for this work.
        rounds: at most so many.
        timeout: a job that takes longer is given up, in seconds.
        score: a training says how well its models fit the text, too.
        at: where the row stands on the axis of its chart: bytes, or ids.
        times: it has so many times the rounds that are asked for: what is short is soon disturbed.
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
    reported: Reported | None = None
    rounds: int = 9
    timeout: float = 150.0
    score: bool = False
    at: int = 0
    times: int = field(default=1, repr=False)


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
    scale: tuple[int, ...] = (10**6, 10**7, 10**8, 10**9)
    scale_vocab: int = 200_000
    code: int = 100_000_000
    code_vocab: int = 50_000
    files: int = 10**9
    forms: int = 10**8
    short: int = 3 * 10**7
    lines: int = 10**7
    dna: int = 10_000_000
    growth_vocab: tuple[int, ...] = (1_000, 4_000, 16_000, 32_000, 64_000, 128_000)
    odd: int = 2_000_000
    odd_long: int = 10_000_000
    added: int = 400_000
    memory: tuple[int, int] = (100_000_000, 1_000_000_000)
    recent: tuple[int, int, int] = (8_000_000, 10**8, 10**9)


#: With --quick.
QUICK = Sizes(
    bpe=4_000,
    wordpiece=4_000,
    unigram=(2_000, 4_000),
    command=4_000,
    texts=("books",),
    scale=(10**6,),
    scale_vocab=4_000,
    code=1_000_000,
    code_vocab=4_000,
    files=10**6,
    forms=10**5,
    short=10**6,
    lines=10**5,
    dna=100_000,
    growth_vocab=(1_000, 4_000),
    odd=100_000,
    odd_long=200_000,
    added=20_000,
    memory=(1_000_000, 3_000_000),
    recent=(300_000, 10**6, 3 * 10**6),
)


def long(kind: str, size: int) -> str:
    """The name of a long text: real as far as that goes, and varied beyond."""
    return f"{kind}-{amount(size)}"


def amount(size: int) -> str:
    """1 GB, 300 kB, without the space."""
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit}{name}"
    return f"{size}B"


def threads_named(threads: int) -> str:
    return f"{threads} thread{'s'[: threads - 1]}"
