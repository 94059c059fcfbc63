"""The answers of `tokctl inspect` as plain data for JSON.

Trees are given as lists of merges: a tree can be deeper than a JSON reader allows.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from tokctl.analysis.explain import (
    Explanation,
    FileFacts,
    FoundWord,
    LookedUpWord,
    MatchedWord,
    MergedWord,
    MergeRecord,
    PairCount,
    PairCounts,
    PreTokenState,
    ScoredWord,
    Summary,
    TextUse,
    TokenHistory,
    TokenUse,
    Word,
)
from tokctl.model import Round
from tokctl.model.parts import AddedToken


def text_or_bytes(data: bytes) -> dict[str, str]:
    """`{"text": …}`, or `{"bytes": base64}` for what is not UTF-8."""
    try:
        return {"text": data.decode()}
    except UnicodeDecodeError:
        return {"bytes": base64.b64encode(data).decode()}


def merge(record: MergeRecord) -> dict[str, Any]:
    """The score as a decimal, and exactly as `numerator/denominator`."""
    data = asdict(record)
    score = data.pop("score")
    if score is not None:
        data |= {"score": float(score), "exact_score": str(score)}
    return data


def merges(records: Sequence[MergeRecord]) -> dict[str, Any]:
    return {"merges": [merge(record) for record in records]}


def pairs(found: PairCounts, limit: int | None) -> dict[str, Any]:
    return {
        "step": found.step,
        "pairs": [_pair(pair) for pair in found.pairs[:limit]],
        "unknown": found.unknown,
        "known": found.known,
    }


def _pair(pair: PairCount) -> dict[str, Any]:
    data = asdict(pair)
    score = pair.score
    if data.pop("by_score") and score is not None:
        data |= {"score": float(score), "exact_score": str(score)}
    return data


def state(step: int, record: MergeRecord | None, words: Sequence[PreTokenState]) -> dict[str, Any]:
    return {
        "step": step,
        "merge": record and merge(record),
        "words": [asdict(word) for word in words],
    }


def word(explanation: Explanation) -> dict[str, Any]:
    # A text from the command line can hold bytes that are not UTF-8.
    text = explanation.text.encode("utf-8", "surrogateescape")
    normalized = explanation.normalized
    return {
        "word": text_or_bytes(text),
        "segmentation": explanation.segmentation,
        "normalized": normalized,
        "words": [_word(word) for word in explanation.words],
    }


def _word(word: Word) -> dict[str, Any]:
    match word:
        case MergedWord():
            said = _merged(word)
        case MatchedWord():
            said = {
                "matches": [asdict(match) for match in word.matches],
                "failure": word.failure and asdict(word.failure),
            }
        case ScoredWord():
            said = {"paths": [asdict(path) for path in word.paths]}
        case LookedUpWord():
            said = {"unit": word.unit, "lookups": [asdict(lookup) for lookup in word.lookups]}
        case FoundWord():
            said = {"added": _added(word.added)}
    return {
        "pre_token": text_or_bytes(word.data),
        **said,
        "tokens": word.tokens,
        "ids": word.ids,
    }


def _added(token: AddedToken) -> dict[str, Any]:
    return {name: getattr(token, name) for name in AddedToken.__annotations__}


def _merged(word: MergedWord) -> dict[str, Any]:
    steps = [
        {
            "merge": merge(step.merge),
            "places": step.places,
            "later": [asdict(loser) for loser in step.losers],
            "state": step.state,
        }
        for step in word.steps
    ]
    return {
        "whole": word.whole,
        "ranked": word.ranked,
        "symbols": word.symbols,
        "byte_fallback": [{"text": text, "tokens": names} for text, names in word.fallbacks],
        "steps": steps,
        "not_merged": [
            asdict(rest) | {"instead": rest.instead and merge(rest.instead)}
            for rest in word.leftovers
        ],
    }


def rounds(records: Sequence[Round]) -> dict[str, Any]:
    rounds = [
        record._asdict()
        | {"examples": [{"piece": piece, "loss": loss} for piece, loss in record.examples]}
        for record in records
    ]
    return {"rounds": rounds}


def token(history: TokenHistory, limit: int | None, use: TokenUse | None = None) -> dict[str, Any]:
    text = {} if use is None else {"text": _token_use(use, limit)}
    return text | {
        "token": history.token,
        "id": history.id,
        "stands_for": text_or_bytes(history.data),
        "kind": history.kind,
        "added": history.added and _added(history.added),
        "worth": history.piece_score and asdict(history.piece_score),
        "counted": history.training_count and asdict(history.training_count),
        "ranked": history.ranked,
        "merge": history.merge and merge(history.merge),
        "again": [merge(record) for record in history.again],
        "merges": [merge(record) for record in history.merges],
        "uses": [asdict(use) for use in history.uses[:limit]],
    }


def _token_use(use: TokenUse, limit: int | None) -> dict[str, Any]:
    words = [
        {"word": text_or_bytes(word.data)} | {name: getattr(word, name) for name in _OF_WORDS}
        for word in use.words[:limit]
    ]
    return {
        "uses": use.uses,
        "place": use.place,
        "tokens_used": use.used,
        "tokens": use.tokens,
        "words_in_all": len(use.words),
        "words": words,
    }


_OF_WORDS = ("count", "uses", "tokens")


def use(found: TextUse) -> dict[str, Any]:
    data = asdict(found)
    for name in ("frequent", "rarest"):
        data[name] = [{"token": token, "uses": uses} for token, uses in data[name]]
    lengths = {str(length): share for length, share in data["lengths"].items()}
    return data | {"lengths": {"unit": data.pop("unit"), "tokens": lengths}}


def source(facts: FileFacts) -> dict[str, Any]:
    return {
        "format": facts.format,
        "origin": facts.origin and facts.origin._asdict(),
        "companions": list(facts.companions),
    }


def summary(facts: Summary) -> dict[str, Any]:
    checks = facts.checks
    return {
        **source(facts.source),
        "recipe": facts.recipe.to_dict(),
        "training": facts.training and asdict(facts.training),
        "obstacle": facts.obstacle,
        "differences": list(facts.differences),
        "vocab_size": facts.vocab_size,
        "merges": facts.merges,
        "special": facts.special,
        "added": [_added(token) for token in facts.added],
        "kinds": facts.kinds,
        "places": facts.places,
        "contents": facts.contents,
        "scripts": facts.scripts,
        "lengths": {
            "unit": facts.unit,
            "tokens": {str(length): count for length, count in facts.lengths.items()},
        },
        "longest": [{"token": name, "length": length} for name, length in facts.longest],
        "first_merges": [merge(record) for record in facts.first_merges],
        "last_merges": [merge(record) for record in facts.last_merges],
        "frequent": [{"token": name, "count": count} for name, count in facts.frequent],
        "highest": [{"token": name, "score": score} for name, score in facts.highest],
        "lowest": [{"token": name, "score": score} for name, score in facts.lowest],
        **rounds(facts.rounds),
        "checks": {
            "unreachable": checks.reach.unreachable,
            "undecided": checks.reach.undecided,
            "trials": checks.reach.trials,
            "duplicates": checks.duplicates,
            "holes": [],
            "two_places": checks.two_places,
            "remade": checks.remade,
        },
    }
