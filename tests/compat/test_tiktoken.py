"""Every call beside `tiktoken`, and what its own tests say (tiktoken/tests), in our words."""

from __future__ import annotations

import copy
import pickle
import random
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

from tests.errors import raises_code

real = pytest.importorskip("tiktoken")
from tiktoken.model import MODEL_PREFIX_TO_ENCODING, MODEL_TO_ENCODING  # noqa: E402

from tests.conftest import shared_file  # noqa: E402
from tests.exact.strings import EXAMPLES, strings  # noqa: E402
from tokctl import Tokenizer, preset  # noqa: E402
from tokctl.extras.compat import tiktoken  # noqa: E402
from tokctl.formats.rust_patterns import pattern_of  # noqa: E402
from tokctl.sources.corpora import corpus_path  # noqa: E402

COUNT = EXAMPLES if EXAMPLES >= 100_000 else max(EXAMPLES // 4, 100)


@cache
def facts(name: str) -> dict[str, Any]:
    """The arguments of a small encoding."""
    made = Tokenizer.train([corpus_path("sample")], recipe=preset(name), vocab_size=700)
    own = made.model.reserved_ids
    tokens = [token for id_, token in enumerate(made.model.tokens) if id_ not in own]
    return {
        "name": name,
        "pat_str": pattern_of(made.recipe.pre_tokenizers),
        "mergeable_ranks": {token: rank for rank, token in enumerate(tokens)},
        "special_tokens": {"<|endoftext|>": 800, "<|end|>": 801, "<|more|>": 802},
    }


def both(name: str) -> tuple[tiktoken.Encoding, Any]:
    given = facts(name)
    return tiktoken.Encoding(**given), real.Encoding(**given)


NAMES = ("gpt2", "cl100k")


def texts(count: int = COUNT) -> list[str]:
    some = [
        "",
        "<|endoftext|>",
        "a<|end|>b <|more|>",
        "hello  ",
        "\n\n \n",
        "\ud83d\udc4d x \ud83d",
    ]
    some += [text + draw for text, draw in zip(strings(20, 1), ["<|end|>", "  "] * 10, strict=True)]
    return [*some, *corpus_path("sample").read_text("utf-8").splitlines()[:50], *strings(count)]


@pytest.mark.parametrize("name", NAMES)
def test_ids(name: str) -> None:
    ours, theirs = both(name)
    some = texts()
    ordinary = [theirs.encode_ordinary(text) for text in some]
    assert [ours.encode_ordinary(text) for text in some] == ordinary
    assert ours.encode_ordinary_batch(some, num_threads=2) == ordinary
    for allowed in ("all", {"<|end|>"}, {"<|endoftext|>", "<|more|>"}, frozenset()):
        options: dict[str, Any] = {"allowed_special": allowed, "disallowed_special": ()}
        wanted = [theirs.encode(text, **options) for text in some]
        assert [ours.encode(text, **options) for text in some] == wanted
        assert ours.encode_batch(some, **options) == wanted
        clean = [text for text in some if text.isprintable()]
        for text in clean[:100]:
            found = ours.encode_to_numpy(text, **options)
            there = theirs.encode_to_numpy(text, **options)
            assert (found.dtype, found.tolist()) == (there.dtype, there.tolist())


@pytest.mark.parametrize("name", NAMES)
def test_text_of_ids(name: str) -> None:
    ours, theirs = both(name)
    rows = [theirs.encode(text, allowed_special="all") for text in texts(100)]
    draw = random.Random(name)
    rows += [[draw.randrange(600) for _ in range(draw.randrange(9))] for _ in range(100)]
    assert ours.decode_batch(rows) == theirs.decode_batch(rows)
    assert ours.decode_bytes_batch(rows) == theirs.decode_bytes_batch(rows)
    for ids in rows:
        assert ours.decode(ids, "ignore") == theirs.decode(ids, "ignore")
        assert ours.decode_tokens_bytes(ids) == theirs.decode_tokens_bytes(ids)
        try:
            wanted = theirs.decode_with_offsets(ids)
        except UnicodeDecodeError:
            with pytest.raises(UnicodeDecodeError):
                ours.decode_with_offsets(ids)
        else:
            assert ours.decode_with_offsets(ids) == wanted
    for wrong in (799, 5000):
        for call in (ours.decode, ours.decode_bytes):
            with pytest.raises(KeyError):
                call([1, wrong])
        with pytest.raises(KeyError):
            ours.decode_single_token_bytes(wrong)


@pytest.mark.parametrize("name", NAMES)
def test_the_vocabulary(name: str) -> None:
    ours, theirs = both(name)
    for attribute in ("name", "n_vocab", "max_token_value", "eot_token", "special_tokens_set"):
        assert getattr(ours, attribute) == getattr(theirs, attribute)
    assert ours.token_byte_values() == theirs.token_byte_values()
    assert repr(ours) == repr(theirs)
    for token in range(ours.n_vocab):
        assert ours.is_special_token(token) == theirs.is_special_token(token)
        try:
            data = theirs.decode_single_token_bytes(token)
        except KeyError:
            continue
        assert ours.decode_single_token_bytes(token) == data
        assert ours.encode_single_token(data) == token
    assert ours.encode_single_token("<|end|>") == 801
    with pytest.raises(KeyError):
        ours.encode_single_token("no such token")


@pytest.mark.parametrize("name", NAMES)
def test_unstable_ends(name: str) -> None:
    ours, theirs = both(name)
    options: dict[str, Any] = {"allowed_special": "all"}
    for text in [*texts(40), "a\n\n", "東京", "  \t", "x \u3000", "<|end|>"]:
        if not text.isprintable() and "\ud83d" in text:
            continue
        stable, completions = ours.encode_with_unstable(text, **options)
        wanted, there = theirs.encode_with_unstable(text, **options)
        assert stable == wanted
        assert set(map(tuple, completions)) == set(map(tuple, there))


@pytest.mark.parametrize("name", NAMES)
def test_bytes_that_are_no_text(name: str) -> None:
    ours, theirs = both(name)
    draw = random.Random(name)
    for text in [*texts(40), "  a", "\n\n"]:
        data = text.encode("utf-8", "surrogatepass")
        for given in (
            data,
            data[: draw.randrange(len(data) + 1)],
            data + b"\xed\xff",
            b"\xff" + data,
        ):
            assert ours._encode_bytes(given) == theirs._encode_bytes(given), given


def test_special_tokens_that_are_not_allowed() -> None:
    ours, theirs = both("gpt2")
    text = "<|endoftext|> hello <|end|>"
    for options in (
        {}, {"disallowed_special": "all"}, {"disallowed_special": {"<|end|>"}},
        {"allowed_special": {"<|end|>"}}, {"disallowed_special": ["<|endoftext|>"]},
        {"allowed_special": {"<|endoftext|>"}, "disallowed_special": {"<|endoftext|>"}},
    ):  # fmt: skip
        for call in ("encode", "encode_to_numpy", "encode_with_unstable"):
            with pytest.raises(ValueError, match="disallowed special token") as mine:
                getattr(ours, call)(text, **options)
            with pytest.raises(ValueError, match="disallowed special token"):
                getattr(theirs, call)(text, **options)
            assert "allowed_special" in str(mine.value)
        with pytest.raises(ValueError, match="disallowed special token"):
            ours.encode_batch(["a", text], **options)  # type: ignore[arg-type]
    with pytest.raises(ValueError) as mine:
        ours.encode(" <|end|>")
    with pytest.raises(ValueError) as other:
        theirs.encode(" <|end|>")
    assert str(mine.value) == str(other.value)
    for wrong in (None, 5, ["a"]):
        with pytest.raises(TypeError):
            ours.encode_ordinary(wrong)  # type: ignore[arg-type]


def test_copies() -> None:
    ours, _ = both("gpt2")
    text = "hello <|end|>"
    wanted = ours.encode(text, allowed_special="all")
    for copied in (pickle.loads(pickle.dumps(ours)), copy.deepcopy(ours), copy.copy(ours)):
        assert copied.encode(text, allowed_special="all") == wanted
        assert copied.name == "gpt2"


def test_arguments_that_make_no_encoding() -> None:
    given = facts("gpt2")
    with pytest.raises(AssertionError):
        tiktoken.Encoding(**given, explicit_n_vocab=5)
    with raises_code("bad-value"):
        tiktoken.Encoding(**{**given, "mergeable_ranks": {b"a": 0}})
    with raises_code("bad-value"):
        twice = {**given["mergeable_ranks"], b"no such token": 0}
        tiktoken.Encoding(**{**given, "mergeable_ranks": twice})


@pytest.mark.parametrize(
    "special",
    [{"<a>": 800, "<b>": 800}, {"<a>": 800, "<b>": 5_000_000}, {"<a>": 2**32 - 2}, {"<a>": 257}],
)
def test_ids_of_special_tokens(special: dict[str, int]) -> None:
    """Two names of one id, ids far behind the others, and the id of an ordinary token."""
    given = {**facts("gpt2"), "special_tokens": special}
    ours, theirs = tiktoken.Encoding(**given), real.Encoding(**given)
    assert (ours.n_vocab, ours.max_token_value) == (theirs.n_vocab, theirs.max_token_value)
    for text in ("low<a> x<b><a>", "<b>", "x <a>"):
        options: dict[str, Any] = {"allowed_special": "all"}
        ids = theirs.encode(text, **options)
        assert ours.encode(text, **options) == ids
        assert ours.encode_batch([text], **options) == [ids]
        assert ours.encode_to_numpy(text, **options).tolist() == ids
        assert (
            ours.encode_with_unstable(text, **options)[0]
            == (theirs.encode_with_unstable(text, **options)[0])
        )
        if 800 not in ids or len(set(special.values())) == len(special):
            assert ours.decode(ids) == theirs.decode(ids)
    for text, id_ in special.items():
        assert ours.encode_single_token(text) == id_
        assert ours.is_special_token(id_)
    assert pickle.loads(pickle.dumps(ours)).encode("<a>", allowed_special="all") == [special["<a>"]]


@pytest.mark.parametrize(
    ("name", "given"),
    [
        (name, given)
        for name in ("decode", "decode_bytes", "decode_tokens_bytes")
        for given in ([-1], [1 << 32], ["a"], [None], [1.5], None, 5, [70_000])
    ]
    + [("decode_single_token_bytes", one) for one in (-1, 1 << 32, "a", None, 1.5, 70_000)],
)
def test_what_is_no_id(name: str, given: Any) -> None:
    ours, theirs = both("gpt2")
    with pytest.raises((TypeError, OverflowError, KeyError)) as wanted:
        getattr(theirs, name)(given)
    with pytest.raises(wanted.type):
        getattr(ours, name)(given)


def test_models_have_the_encodings_that_they_have_there() -> None:
    names = [*MODEL_TO_ENCODING, *(f"{start}2099" for start in MODEL_PREFIX_TO_ENCODING)]
    for name in names:
        assert tiktoken.encoding_name_for_model(name) == real.encoding_name_for_model(name)
    for name in ("", "gpt", "no-model"):
        with pytest.raises(KeyError):
            tiktoken.encoding_name_for_model(name)
    assert set(tiktoken.list_encoding_names()) == set(real.list_encoding_names())


def test_encodings_come_from_the_cache_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(tiktoken, "_MADE", {})
    with raises_code("unreadable"):
        tiktoken.get_encoding("cl100k_base")
    with pytest.raises(ValueError, match="Unknown encoding"):
        tiktoken.get_encoding("no_base")
    ranks = shared_file("vocab/cl100k_base.tiktoken")
    (tmp_path / "9b5ad71b2ce5302211f9c61530b329a4922fc6a4").write_bytes(ranks.read_bytes())
    found = tiktoken.encoding_for_model("gpt-4")
    assert found is tiktoken.get_encoding("cl100k_base")
    assert pickle.loads(pickle.dumps(found)) is found
    # The vectors of tiktoken's tests.
    for text, ids in {
        "hello world": [15339, 1917], "'rer": [2351, 81], "today\n \n": [31213, 27907],
        "today\n ": [31213, 198, 220], " \x850": [220, 126, 227, 15],
        "\ud83d\udc4d": [9468, 239, 235],
    }.items():  # fmt: skip
        assert found.encode(text) == ids
    assert found.encode("hello <|endoftext|>", allowed_special="all") == [15339, 220, 100257]
    text = "hello world<|endoftext|> green cow"
    ids = found.encode(text, allowed_special="all")
    assert found.decode_with_offsets(ids) == (text, [0, 5, 11, 24, 30])
    assert found.decode_with_offsets(found.encode(" Ġ除"))[1] == [0, 1]
    text = "我非常渴望与人工智能一起工作"
    assert found.decode_with_offsets(found.encode(text))[1] == [
        0, 1, 2, 3, 3, 4, 4, 5, 6, 7, 8, 8, 9, 10, 11, 12, 13
    ]  # fmt: skip
    for char in ("^", "0", "a", "'s", " ", "\n"):
        big = " " + char * 10_000 + "\n"
        assert found.decode(found.encode(big)) == big
    given = real.Encoding(
        "cl100k_base",
        pat_str=found._pat_str,
        mergeable_ranks=found._mergeable_ranks,
        special_tokens=found._special_tokens,
    )
    for text in texts(100):
        there = given.encode(text, allowed_special="all")
        assert found.encode(text, allowed_special="all") == there
        assert found.decode(there) == given.decode(there)


#: Arguments for every parameter of the calls below; most are of a wrong type.
ODD: tuple[Any, ...] = (
    *(-1, 0, 3, 2**32, 2**64, True, None, 1.5, "a", b"a", "", "all", "<|end|>", {"<|end|>"}),
    *(["<|end|>"], ("<|end|>", "x"), {"x"}, [None], [5], {5}, ["a", b"b"], ("a", "b"), {"a": 1}),
)


#: Calls that search for special tokens which a text must not spell.
SEARCHING = ("encode", "encode_to_numpy", "encode_with_unstable", "encode_batch")


def _outcome(call: Any) -> Any:
    """The result, in a form to compare, or the type of the exception."""
    try:
        found = call()
    except Exception as error:
        return type(error)
    if isinstance(found, tuple):  # encode_with_unstable, whose completions have no order
        return found[0], sorted(found[1])
    return found.tolist() if hasattr(found, "tolist") else found


@pytest.mark.parametrize(
    "name",
    [
        *("encode", "encode_ordinary", "encode_to_numpy", "encode_with_unstable", "_encode_bytes"),
        *("encode_single_token", "encode_batch", "encode_ordinary_batch"),
        *("decode_single_token_bytes", "is_special_token"),
    ],
)
def test_arguments_of_wrong_types(name: str) -> None:
    ours, theirs = both("cl100k")
    for given in ODD:
        calls = getattr(ours, name), getattr(theirs, name)
        takes = {"disallowed_special": ()} if name in SEARCHING else {}
        for more in ({}, takes):
            found = [_outcome(partial(call, given, **more)) for call in calls]
            assert found[0] == found[1], (given, more)


@pytest.mark.parametrize("name", ["encode_to_numpy", "encode_with_unstable"])
def test_lone_surrogates_are_no_text(name: str) -> None:
    for one in both("cl100k"):
        with pytest.raises(UnicodeEncodeError):
            getattr(one, name)("x \ud83d y")


@pytest.mark.parametrize(
    ("name", "first", "keyword"),
    [
        *(
            (name, text, keyword)
            for name in ("encode", "encode_to_numpy", "encode_with_unstable")
            for text in ("a b", "a <|end|> b")
            for keyword in ("allowed_special", "disallowed_special")
        ),
        ("encode_batch", ["a b", "c"], "allowed_special"),
        ("encode_batch", ["a b", "c"], "num_threads"),
        ("encode_ordinary_batch", ["a b", "c"], "num_threads"),
        ("decode", [200, 201], "errors"),
    ],
)
def test_keywords_of_wrong_types(name: str, first: Any, keyword: str) -> None:
    ours, theirs = both("cl100k")
    for value in ODD:
        for more in ({}, {"disallowed_special": ()}) if keyword == "allowed_special" else ({},):
            given = {**more, keyword: value}
            calls = getattr(ours, name), getattr(theirs, name)
            found = [_outcome(partial(call, first, **given)) for call in calls]
            if value == {5} and found[1] is ValueError:
                # There the text is searched before the set is looked at.
                assert found[0] is TypeError
                continue
            assert found[0] == found[1], given
