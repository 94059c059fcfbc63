"""Rows of encoding as the text grows: three kinds of text, four sizes, two vocabularies, `bytes`
and `str`, one thread and two. What takes only `str` stands in the rows for that."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

from tests.tools.bench.rows import (
    BOTH,
    BYTES,
    CONVERSION,
    GIGATOKEN,
    LONG,
    SCRIPTS,
    TIKTOKEN,
    Contender,
    Row,
    Sizes,
    long,
    threads_named,
)
from tests.tools.bench.work.encoding import some
from tests.tools.bench.work.training import beside_one_thread

#: The vocabularies by the name of their model: as the rows call them.
VOCABULARIES = {"gpt2": "r50k", "o200k": "o200k"}
FROM_BYTES = some("encode_array", "tokctl gigatoken")
FROM_STR = some("encode_str", "tokctl gigatoken")
OTHERS = some(
    "encode_array",
    "fastokens splintr tokie quicktok wordchipper tiktoken hf kitoken iree",
    "encode_list",
)
BESIDE_STR = (
    Contender(BYTES, "tokctl_", "encode_str_bytes"),
    Contender(CONVERSION, "tokctl_", "convert_str", "what CPython alone takes to make bytes of it"),
)
#: They don't read the pattern in the file, and are told another than GPT-2's.
TOLD = (TIKTOKEN, "wordchipper")
#: Up to which size a contender runs, in bytes: beyond, it is far behind and takes minutes.
LIMITS = {
    "fastokens": 10**8,
    "splintr": 10**7,
    "tokie": 10**7,
    "quicktok": 10**8,
    "wordchipper": 10**7,
    "tiktoken": 10**7,
    "HF tokenizers": 10**6,
    "kitoken": 10**6,
    "iree": 10**6,
}
FAR = ("tokie", "wordchipper", "tiktoken", "HF tokenizers", "kitoken", "iree")


def key(model: str, form: str, threads: int) -> str:
    return f"scale-{VOCABULARIES[model]}-{form}-{threads}"


def rows(sizes: Sizes) -> list[Row]:
    return [
        _row(sizes, *cell)
        for cell in product(sizes.scale, VOCABULARIES, LONG, ("bytes", "str"), (1, 2))
        if cell[0] < 10**9 or _tells_more(*cell[1:])
    ]


def _tells_more(model: str, _: str, form: str, threads: int) -> bool:
    """With a gigabyte: each vocabulary; `str` and two threads with one of them, and not both."""
    return (form, threads) == ("bytes", 1) or (model == "gpt2" and (form, threads) != ("str", 2))


def _row(sizes: Sizes, size: int, model: str, kind: str, form: str, threads: int) -> Row:
    contenders = FROM_BYTES if form == "bytes" else (*FROM_STR, *_others(size, model))
    if threads > 1:
        contenders = beside_one_thread(contenders[: 4 if size <= 10**7 else 2])
    elif form == "str" and kind == SCRIPTS:
        contenders = (contenders[0], *BESIDE_STR, *contenders[1:])
    return Row(
        "scale",
        f"{VOCABULARIES[model]}, {form}, {threads_named(threads)}",
        long(kind, size),
        contenders,
        key=key(model, form, threads),
        passes=BOTH,
        again={1: 9, 10: 5, 100: 3}.get(size // 10**6, 1),
        threads=threads,
        vocab=sizes.scale_vocab if model == "o200k" else sizes.bpe,
        model=model,
        reference=TIKTOKEN if any(c.name == TIKTOKEN for c in contenders) else GIGATOKEN,
        # The larger the text, the less a process more or less matters.
        rounds=3 if size <= 10**7 else 2,
        at=size,
        times=3 if size <= 10**6 and threads == 1 else 1,
    )


def _others(size: int, model: str) -> list[Contender]:
    found = [
        # Of those that are far behind one round says how far.
        replace(other, rounds=1) if other.name in FAR else other
        for other in OTHERS
        if size <= LIMITS[other.name]
    ]
    if model == "o200k":
        told = dict.fromkeys(TOLD, "encode_o200k")
        return [replace(other, task=told.get(other.name, other.task)) for other in found]
    # quicktok knows no pattern of GPT-2's.
    return [other for other in found if other.name != "quicktok"]
