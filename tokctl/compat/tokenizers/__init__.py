"""What programs call on Hugging Face's `tokenizers`: `Tokenizer`, `Encoding`, `AddedToken`.

    from tokctl.compat.tokenizers import Tokenizer

    tok = Tokenizer.from_file("tokenizer.json")
    tok.encode("a text").ids

Ids, tokens, offsets and words come from tokctl's encoder; templates, truncation and padding follow
`tokenizers` 0.23, whose source defines them. The parts of a pipeline (`models`, `normalizers`,
`pre_tokenizers`, `processors`, `trainers`, `Regex`, …) are those of `tokenizers`, which must be
installed for them. docs/drop-in.md says what is equal and what is not.
"""

from __future__ import annotations

from typing import Any

from tokctl.compat.tokenizers.encoding import Encoding
from tokctl.compat.tokenizers.tokenizer import AddedToken, Tokenizer

__all__ = ["AddedToken", "Encoding", "Tokenizer"]

#: Names of `tokenizers` that are taken from there.
_THEIRS = frozenset(
    "models normalizers pre_tokenizers processors trainers NormalizedString PreTokenizedString "
    "Regex Token OffsetReferential OffsetType Offsets SplitDelimiterBehavior TextInputSequence "
    "PreTokenizedInputSequence TextEncodeInput PreTokenizedEncodeInput InputSequence "
    "EncodeInput".split()
)
#: Names that are neither ours nor taken, with what there is instead.
_ELSEWHERE = dict.fromkeys(
    "implementations BertWordPieceTokenizer ByteLevelBPETokenizer CharBPETokenizer "
    "SentencePieceBPETokenizer SentencePieceUnigramTokenizer".split(),
    "save one of `tokenizers`, and Tokenizer.from_file(path) reads it",
)


def __getattr__(name: str) -> Any:
    if name in _THEIRS:
        from importlib import import_module

        theirs = import_module("tokenizers")
        return getattr(theirs, name)
    if name in _ELSEWHERE:
        raise AttributeError(f"tokctl.compat.tokenizers has no {name}: {_ELSEWHERE[name]}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
