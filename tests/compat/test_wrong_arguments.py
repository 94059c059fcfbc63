"""Arguments of wrong types and numbers out of range: the result, or the kind of error, is that of
the library."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("tokenizers")
numpy = pytest.importorskip("numpy")

from tests.compat.models import both  # noqa: E402

NUMBERS = (-1, 0, 3, 2**32, 2**64, True, None, "a", b"a", 1.5, [1], numpy.int64(2))
LISTS = ("abc", [-1], [2**32], [None], ["a"], [1.5], [True], [numpy.int64(3)], (3, 4), None, 5)
#: Calls of a tokenizer, and of an encoding, with the arguments to try.
CALLS = {
    "id_to_token": NUMBERS,
    "token_to_id": (*NUMBERS, "Widget"),
    "get_vocab": (True, False, *NUMBERS),
    "get_vocab_size": (True, False, *NUMBERS),
    "num_special_tokens_to_add": (True, False, *NUMBERS),
    "add_tokens": (None, "a", 5, ("a",), [None], [5]),
    "add_special_tokens": (None, "a", 5, ("a",), [None], [5]),
    "decode": LISTS,
    "decode_batch": ([[-1]], ["a"], [[3]], [5], None),
    "encode": (None, 5, b"a", ["a"], 1.5),
    "encode_batch": ("a", [None], [5], None, [["a", "b", "c"]]),
}
OF_ENCODINGS = (
    *("char_to_token", "char_to_word", "token_to_chars", "token_to_word", "token_to_sequence"),
    *("word_to_tokens", "word_to_chars", "set_sequence_id", "truncate", "pad"),
)


def outcome(call: Any, given: Any) -> tuple[str, Any]:
    """The name of the exception, or the result."""
    try:
        found = call(given)
    except Exception as error:
        return type(error).__name__, None
    if hasattr(found, "ids"):
        found = found.ids
    return "", found


@pytest.mark.parametrize("name", CALLS)
def test_tokenizers(name: str) -> None:
    for given in CALLS[name]:
        ours, theirs = (outcome(getattr(one, name), given) for one in both("bert"))
        assert ours == theirs, given


@pytest.mark.parametrize("name", OF_ENCODINGS)
def test_encodings(name: str) -> None:
    for given in NUMBERS:
        # So much padding is for no machine.
        if name == "pad" and type(given) is int and given == 2**32:
            continue
        mine, other = (one.encode("a Widget") for one in both("bert"))
        ours, theirs = (outcome(getattr(one, name), given) for one in (mine, other))
        assert (ours, mine.ids) == (theirs, other.ids), given
