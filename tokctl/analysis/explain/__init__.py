"""Why a word is split as it is, where a token comes from, what a training had made by a step.

Results are plain data; `tokctl.render` shows them.
"""

from __future__ import annotations

from tokctl.analysis.explain.files import FileFacts, file_facts
from tokctl.analysis.explain.history import MergeRecord, merge_records
from tokctl.analysis.explain.lookups import FoundWord, LookedUpWord, Lookup
from tokctl.analysis.explain.matches import Failure, Match, MatchedWord
from tokctl.analysis.explain.merges_of import HOW, Wanted, merges_of
from tokctl.analysis.explain.merging import Candidate, Leftover, MergeStep
from tokctl.analysis.explain.pairs import PairCount, PairCounts, pair_counts
from tokctl.analysis.explain.paths import Path, Piece, ScoredWord
from tokctl.analysis.explain.reach import Reach, unreachable
from tokctl.analysis.explain.rounds import rounds
from tokctl.analysis.explain.states import (
    StateWord,
    corpus_state,
    count_pre_tokens,
    read_counts,
    state_words,
)
from tokctl.analysis.explain.summary import Checks, Summary, summarize
from tokctl.analysis.explain.tokens import MergeTree, TokenHistory, Use, token_history
from tokctl.analysis.explain.uses import (
    Segmented,
    Share,
    TextUse,
    TokenUse,
    WordUse,
    segmented,
    text_use,
    token_use,
)
from tokctl.analysis.explain.words import Explanation, MergedWord, Word, explain
from tokctl.analysis.explain.worth import Counted, Worth
from tokctl.analysis.health import Finding, Health, check_health

__all__ = [
    "HOW",
    "Candidate",
    "Checks",
    "Counted",
    "Explanation",
    "Failure",
    "FileFacts",
    "Finding",
    "FoundWord",
    "Health",
    "Leftover",
    "LookedUpWord",
    "Lookup",
    "Match",
    "MatchedWord",
    "MergeRecord",
    "MergeStep",
    "MergeTree",
    "MergedWord",
    "PairCount",
    "PairCounts",
    "Path",
    "Piece",
    "Reach",
    "ScoredWord",
    "Segmented",
    "Share",
    "StateWord",
    "Summary",
    "TextUse",
    "TokenHistory",
    "TokenUse",
    "Use",
    "Wanted",
    "Word",
    "WordUse",
    "Worth",
    "check_health",
    "corpus_state",
    "count_pre_tokens",
    "explain",
    "file_facts",
    "merge_records",
    "merges_of",
    "pair_counts",
    "read_counts",
    "rounds",
    "segmented",
    "state_words",
    "summarize",
    "text_use",
    "token_history",
    "token_use",
    "unreachable",
]
