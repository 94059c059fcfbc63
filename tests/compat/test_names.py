"""Every public name of the libraries: ours has it, or says why not."""

from __future__ import annotations

import inspect
import sys
from types import ModuleType
from typing import Any

import pytest

from tests.errors import raises_code

tokenizers = pytest.importorskip("tokenizers")
tiktoken = pytest.importorskip("tiktoken")

from tests.compat.models import both  # noqa: E402
from tokctl.extras.compat import tiktoken as our_tiktoken  # noqa: E402
from tokctl.extras.compat import tokenizers as ours  # noqa: E402
from tokctl.extras.compat.tokenizers import decoders  # noqa: E402

#: Not ours: ready-made tokenizers, which are refused with a hint; what the modules import for
#: themselves.
REFUSED = {
    "implementations", "BertWordPieceTokenizer", "ByteLevelBPETokenizer", "CharBPETokenizer",
    "SentencePieceBPETokenizer", "SentencePieceUnigramTokenizer",
}  # fmt: skip
IMPORTED = {"Enum", "List", "Tuple", "Union", "tokenizers", "core", "load", "model", "registry"}


def public(one: Any) -> list[str]:
    return [name for name in dir(one) if not name.startswith("_")]


@pytest.mark.parametrize(
    "pair",
    [
        (ours, tokenizers),
        (decoders, tokenizers.decoders),
        (our_tiktoken, tiktoken),
        (our_tiktoken.Encoding, tiktoken.Encoding),
        (ours.Tokenizer, tokenizers.Tokenizer),
        (ours.Encoding, tokenizers.Encoding),
        (ours.AddedToken("a"), tokenizers.AddedToken("a")),
    ],
    ids=lambda pair: str(pair[1])[:40],
)
def test_every_public_name_is_there(pair: tuple[Any, Any]) -> None:
    mine, theirs = pair
    for name in public(theirs):
        if name in IMPORTED and isinstance(theirs, ModuleType):
            continue
        if name in REFUSED:
            with pytest.raises(AttributeError, match="from_file"):
                getattr(mine, name)
            continue
        assert hasattr(mine, name), name
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = mine.no_such_name


def parameters(call: Any) -> list[tuple[str, Any]]:
    return [
        (one.name, one.default)
        for one in inspect.signature(call).parameters.values()
        if one.name != "self"
    ]


@pytest.mark.parametrize("name", public(tiktoken.Encoding))
def test_tiktokens_arguments(name: str) -> None:
    mine, theirs = getattr(our_tiktoken.Encoding, name), getattr(tiktoken.Encoding, name)
    if callable(theirs):
        for (here, default), (there, other) in zip(
            parameters(mine), parameters(theirs), strict=True
        ):
            # An empty set is one, frozen or not.
            assert (here, default or None) == (there, other or None)


@pytest.mark.parametrize("kind", ["Tokenizer", "Encoding"])
def test_arguments_of_tokenizers(kind: str) -> None:
    for name in public(getattr(tokenizers, kind)):
        theirs = getattr(getattr(tokenizers, kind), name)
        try:
            wanted = parameters(theirs)
        except (TypeError, ValueError):
            continue
        mine = parameters(getattr(getattr(ours, kind), name))
        assert [one[0] for one in mine] == [one[0] for one in wanted], name


def test_without_their_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Encoding and decoding need nothing of it."""
    tok, _ = both("gpt2")
    document = tok.to_str()
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    from tokctl.extras.compat.tokenizers import Tokenizer
    from tokctl.extras.compat.tokenizers.decoders import DecodeStream

    again = Tokenizer.from_str(document)
    assert DecodeStream().step(again, again.encode("a Widget").ids) == "a Widget"
    with pytest.raises(ImportError, match="tokenizers"):
        _ = ours.models
    with raises_code("missing-package"):
        _ = again.pre_tokenizer


def test_parts_that_are_theirs() -> None:
    tok, _ = both("gpt2")
    assert isinstance(tok.pre_tokenizer, ours.pre_tokenizers.ByteLevel)
    assert isinstance(tok.decoder, decoders.ByteLevel)
