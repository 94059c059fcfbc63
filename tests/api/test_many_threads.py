"""More threads than there are processors, chunks, or room for: the same ids."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.formats.models import RECIPES, filled
from tokctl import Tokenizer

TEXT = "".join(f"word{number} and \u00e9{number % 7}\n" for number in range(20_000))

#: Leaves room for a few threads' stacks, and asks for as many as there can be.
SHORT_OF_MEMORY = """
import resource, sys
from pathlib import Path
from tests.api.test_many_threads import TEXT, tokenizer
tok = tokenizer()
alone = tok.encode_array(TEXT * 4).tolist()
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (200 << 20),) * 2)
assert tok.encode_array(TEXT * 4, threads=sys.maxsize).tolist() == alone
assert tok.encoder.array((TEXT * 4).encode(), 1000, None, None, False, 4096).tolist() == alone
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


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_threads_that_the_system_has_no_room_for_are_done_without() -> None:
    subprocess.run([sys.executable, "-c", SHORT_OF_MEMORY], check=True)
