"""Why a word is split as it is, where a token comes from, what a training had made by a step.

Results are plain data; `tokctl.render` shows them.
"""

from __future__ import annotations

from tokctl.explain.history import MergeRecord, merge_records
from tokctl.explain.matches import Failure, Match, MatchedWord
from tokctl.explain.reach import Reach, unreachable
from tokctl.explain.states import StateWord, corpus_state, count_pre_tokens, state_words
from tokctl.explain.summary import Checks, Summary, summarize
from tokctl.explain.tokens import MergeTree, TokenHistory, Use, token_history
from tokctl.explain.words import (
    Candidate,
    Explanation,
    Leftover,
    MergedWord,
    MergeStep,
    explain,
)

__all__ = [
    "Candidate",
    "Checks",
    "Explanation",
    "Failure",
    "Leftover",
    "Match",
    "MatchedWord",
    "MergeRecord",
    "MergeStep",
    "MergeTree",
    "MergedWord",
    "Reach",
    "StateWord",
    "Summary",
    "TokenHistory",
    "Use",
    "corpus_state",
    "count_pre_tokens",
    "explain",
    "merge_records",
    "state_words",
    "summarize",
    "token_history",
    "unreachable",
]
