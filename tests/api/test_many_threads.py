"""More threads than there are processors, chunks, or room for: the same ids."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.formats.models import RECIPES, filled
from tokctl import Tokenizer

TEXT = "".join(f"word{number} and \u00e9{number % 7}\n" for number in range(20_000))

#: Asks for as many threads as there can be.
ALONE_AFTER_ALL = """
import sys
from tests.api.test_many_threads import TEXT, tokenizer
tok = tokenizer()
alone = tok.encode_array(TEXT).tolist()
assert tok.encode_array(TEXT * 4, threads=sys.maxsize).tolist() == alone * 4
assert tok.encoder.array(TEXT.encode(), 1000, None, None, False, 4096).tolist() == alone
"""


def tokenizer() -> Tokenizer:
    return Tokenizer(filled(RECIPES["gpt2"]))


@pytest.mark.parametrize("threads", [65, 300, sys.maxsize])
def test_as_many_threads_as_asked_for(threads: int) -> None:
    tok = tokenizer()
    alone = tok.encode_array(TEXT).tolist()
    assert tok.encoder.array(TEXT.encode(), threads, None, None, False, 512).tolist() == alone
    texts = TEXT.splitlines(keepends=True)
    assert (
        tok.encode_array(texts, threads=threads)[0].tolist() == tok.encode_array(texts)[0].tolist()
    )


def test_threads_that_the_system_has_no_room_for_are_done_without() -> None:
    # No thread can have a stack of that size.
    environment = {**os.environ, "RUST_MIN_STACK": str(1 << 50)}
    subprocess.run([sys.executable, "-c", ALONE_AFTER_ALL], check=True, env=environment)
