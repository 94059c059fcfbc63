"""A replacement for Hugging Face's `tokenizers`: `Tokenizer`, `Encoding`, `AddedToken`.

    from tokctl.extras.compat.tokenizers import Tokenizer

    tok = Tokenizer.from_file("tokenizer.json")
    tok.encode("a text").ids

Ids, tokens, offsets and words come from tokctl's encoder; templates, truncation and padding follow
the source of `tokenizers` 0.23. The parts of a pipeline (`models`, `normalizers`,
`pre_tokenizers`, `processors`, `trainers`, `Regex`, …) are those of `tokenizers`, which must be
installed for them. docs/drop-in.md lists the differences.
"""

from __future__ import annotations

from typing import Any

from tokctl.extras.compat.tokenizers.added_token import AddedToken
from tokctl.extras.compat.tokenizers.encoding import Encoding
from tokctl.extras.compat.tokenizers.tokenizer import Tokenizer

__all__ = ["AddedToken", "Encoding", "Tokenizer"]

#: Names that are imported from `tokenizers`.
_THEIRS = (
    *("models", "normalizers", "pre_tokenizers", "processors", "trainers", "Regex", "Token"),
    *("NormalizedString", "PreTokenizedString", "OffsetReferential", "OffsetType", "Offsets"),
    *("SplitDelimiterBehavior", "InputSequence", "TextInputSequence", "PreTokenizedInputSequence"),
    *("EncodeInput", "TextEncodeInput", "PreTokenizedEncodeInput"),
)
#: Ready-made tokenizers of `tokenizers`, which are not replaced.
_READY_MADE = (
    *("implementations", "BertWordPieceTokenizer", "ByteLevelBPETokenizer", "CharBPETokenizer"),
    *("SentencePieceBPETokenizer", "SentencePieceUnigramTokenizer"),
)


def __getattr__(name: str) -> Any:
    if name in _THEIRS:
        import tokenizers

        return getattr(tokenizers, name)
    if name in _READY_MADE:
        raise AttributeError(
            f"tokctl.extras.compat.tokenizers has no {name}: save one of `tokenizers`, and "
            "Tokenizer.from_file(path) reads it"
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
