"""The rounds of a Unigram training."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokctl.errors import TokctlError
from tokctl.model import Round

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer


def rounds(tokenizer: Tokenizer) -> list[Round]:
    """What each round left and dropped, first to last.

    Raises:
        TokctlError: another algorithm; a model whose file does not tell its training.
    """
    algorithm = tokenizer.recipe.algorithm
    if algorithm != "unigram":
        other = "see its merges: --merges" if tokenizer.merges else "see a token: --token TOKEN"
        raise TokctlError(f"a {algorithm} model is not trained in rounds", other)
    if not tokenizer.model.rounds:
        raise TokctlError(
            "this model's file says nothing of its training",
            "what its pieces are worth: --token PIECE",
        )
    return tokenizer.model.rounds
