"""Compare the matches of one pattern in texts: tokenizers' and tokctl's."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random

import tokenizers

from tests.tools.random_patterns.made import PatternMaker, texts
from tokctl import TokctlError
from tokctl.formats.huggingface.components import native_pattern
from tokctl.model.patterns import can_backtrack, compile_pattern, matches

#: In place of each match; no text has it.
MARK = "\ue000"


@dataclass
class Outcome:
    """What was compared, and what was not."""

    patterns: int = 0
    pairs: int = 0
    #: Patterns that tokenizers does not compile.
    invalid: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    timeouts: int = 0
    #: Matches that were found: nothing would be proven without any.
    matches: int = 0
    faults: list[str] = field(default_factory=list)


def reason(message: str) -> str:
    """What a refusal says, without the pattern and the position."""
    return re.sub(r"^.*at character \d+: |^.*regex package: ", "", message, flags=re.DOTALL)


def compare(pattern: str, some: list[str], outcome: Outcome) -> None:
    """Search the texts for a pattern in both libraries, and note what differs."""
    try:
        theirs = tokenizers.Regex(pattern)
    except Exception:  # the binding raises no narrower one
        outcome.invalid += 1
        return
    try:
        ours = native_pattern(pattern)
        compiled = compile_pattern(f"regex:{ours}")
    except TokctlError as error:
        outcome.refused[reason(error.message)[:60]] += 1
        return
    outcome.patterns += 1
    splitting = tokenizers.pre_tokenizers.Split(theirs, "isolated")
    replacing = tokenizers.normalizers.Replace(theirs, MARK)
    limit = 0.5 if can_backtrack(ours) else None
    for text in some:
        try:
            spans = matches(compiled, text, limit)
        except TimeoutError:
            outcome.timeouts += 1
            continue
        try:
            wanted = [span for _, span in splitting.pre_tokenize_str(text)]
            expected = replacing.normalize_str(text)
        except BaseException as error:  # a panic of the binding is no Exception
            if "retry-limit" not in str(error):
                raise
            outcome.timeouts += 1
            continue
        outcome.pairs += 1
        outcome.matches += len(spans)
        cuts = sorted({0, len(text)}.union(*spans)) if spans else [0, len(text)]
        found = [(a, b) for a, b in pairwise(cuts) if a < b]
        replaced, done = "", 0
        for start, end in spans:
            replaced += text[done:start] + MARK
            done = end
        replaced += text[done:]
        if found != [(a, b) for a, b in wanted if a < b] or replaced != expected:
            outcome.faults.append(
                f"{pattern!r} in {text!a}: {[text[a:b] for a, b in spans]!a} here, "
                f"{expected!a} and {[text[a:b] for a, b in wanted]!a} there"
            )
            return


def campaign(seed: int, pairs: int, each: int = 40) -> Outcome:
    """Compare random patterns, with some texts each, until so many pairs were compared."""
    random = Random(seed)
    outcome = Outcome()
    maker = PatternMaker(random)
    while outcome.pairs < pairs:
        pattern = maker.pattern()
        compare(pattern, texts(random, pattern, each), outcome)
    return outcome
