"""Errors that tests expect: by their code, which stays when a message is reworded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tokctl import TokctlError


@contextmanager
def raises_code(code: str, match: str | None = None) -> Iterator[pytest.ExceptionInfo[TokctlError]]:
    """Expect a `TokctlError` with this code and a hint.

    Messages are in `tests/golden/messages.txt`: give `match` for the values inside them only.
    """
    with pytest.raises(TokctlError, match=match) as caught:
        yield caught
    assert caught.value.code == code
    assert caught.value.hint
