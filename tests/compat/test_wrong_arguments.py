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
#: Keyword arguments beside those that each call needs, each to be tried with all of ODD.
KEYWORDS: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "enable_padding": (
        {},
        ("direction", "pad_id", "pad_type_id", "pad_token", "length", "pad_to_multiple_of"),
    ),
    "enable_truncation": ({"max_length": 5}, ("max_length", "stride", "strategy", "direction")),
    "encode": ({"sequence": "a b"}, ("pair", "is_pretokenized", "add_special_tokens")),
    "encode_batch": ({"input": ["a b"]}, ("is_pretokenized", "add_special_tokens")),
    "decode": ({"ids": [1, 2]}, ("skip_special_tokens",)),
}
KEYWORDS_OF_ENCODINGS: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "char_to_token": ({"char_pos": 0}, ("sequence_index",)),
    "char_to_word": ({"char_pos": 0}, ("sequence_index",)),
    "word_to_tokens": ({"word_index": 0}, ("sequence_index",)),
    "word_to_chars": ({"word_index": 0}, ("sequence_index",)),
    "pad": ({"length": 9}, ("direction", "pad_id", "pad_type_id", "pad_token")),
    "truncate": ({"max_length": 4}, ("stride", "direction")),
}
#: 2**32 tokens of padding would fill the memory; `id_to_token` and others try this number.
ODD = tuple(value for value in (*NUMBERS, "", "left", "longest_first") if value != 2**32)
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
    if isinstance(found, list):
        found = [getattr(one, "ids", one) for one in found]
    return "", getattr(found, "ids", found)


@pytest.mark.parametrize("name", CALLS)
def test_tokenizers(name: str) -> None:
    for given in CALLS[name]:
        ours, theirs = (outcome(getattr(one, name), given) for one in both("bert"))
        assert ours == theirs, given


@pytest.mark.few(6)
@pytest.mark.parametrize(
    ("name", "keyword"), [(name, one) for name, (_, some) in KEYWORDS.items() for one in some]
)
def test_keywords_of_tokenizers(name: str, keyword: str) -> None:
    for value in ODD:
        given = {**KEYWORDS[name][0], keyword: value}
        found = []
        for one in both("bert"):
            answer = outcome(lambda given, one=one: getattr(one, name)(**given), given)
            encoded = one.encode("a Widget b")
            found.append((answer, encoded.ids, encoded.tokens, encoded.type_ids))
        if keyword == "max_length" and value in (0, 1):
            # Less than the two special tokens: tokenizers cuts nothing from then on.
            assert found[0][0][0] == "ValueError"
            continue
        assert found[0] == found[1], value


@pytest.mark.parametrize("name", OF_ENCODINGS)
def test_encodings(name: str) -> None:
    for given in NUMBERS:
        if name == "pad" and given == 2**32:
            continue
        mine, other = (one.encode("a Widget") for one in both("bert"))
        ours, theirs = (outcome(getattr(one, name), given) for one in (mine, other))
        assert (ours, mine.ids) == (theirs, other.ids), given


@pytest.mark.parametrize(
    ("name", "keyword"),
    [(name, one) for name, (_, some) in KEYWORDS_OF_ENCODINGS.items() for one in some],
)
def test_keywords_of_encodings(name: str, keyword: str) -> None:
    for value in ODD:
        given = {**KEYWORDS_OF_ENCODINGS[name][0], keyword: value}
        found = []
        for one in both("bert"):
            encoding = one.encode("a Widget b c")
            answer = outcome(lambda given, one=encoding: getattr(one, name)(**given), given)
            found.append((answer, encoding.ids, encoding.tokens, encoding.type_ids))
        assert found[0] == found[1], value


def test_stride_of_the_whole_window() -> None:
    """A panic in `tokenizers`; here an ordinary error."""
    encoding = both("bert")[0].encode("a Widget b c")
    with pytest.raises(ValueError, match="stride"):
        encoding.truncate(2, stride=2)


@pytest.mark.parametrize("given", [None, 5, "a", [None], [5], []], ids=repr)
def test_what_is_no_encoding(given: Any) -> None:
    import tokenizers

    from tokctl.extras.compat.tokenizers import Encoding

    assert outcome(Encoding.merge, given) == outcome(tokenizers.Encoding.merge, given)
    ours, theirs = (outcome(one.post_process, given) for one in both("bert"))
    assert ours == theirs
