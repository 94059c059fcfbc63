"""Why a step took its pair, in a sentence."""

from __future__ import annotations

from tokctl.analysis.replay import Frame
from tokctl.watch.drawing import named
from tokctl.wording import plural

_TIES = {
    "first-seen": "the tie rule takes the first one met, words in the order first seen",
    "rewritten-last": "the tie rule takes the first one met; words that a merge rewrote are "
    "scanned last",
    "lowest-id": "the tie rule takes the lowest ids, left then right",
}


def why(frame: Frame) -> str:
    """Why the step that the pairs led to took its own, as far as the file and the text tell."""
    choice = frame.choice
    if choice is None:
        return "This model has no merges."
    own = next((pair for pair in frame.pairs if pair.chosen), None)
    scored = own is not None and own.score is not None
    measure = "score" if scored else "count"
    if choice.kind == "absent":
        return f"Step {frame.decides:,} merges a pair that is not in this text."
    if choice.kind == "unknown":
        return "The file does not say by what its training chose: pairs are shown by count."
    if choice.kind == "other" or own is None:
        leader = next((pair for pair in frame.pairs if pair.refused is None), None)
        first = f"{named(leader.left)} + {named(leader.right)}" if leader else "another pair"
        return (
            f"In this text {first} comes first: the model was trained on another text, or not "
            "by these merges alone."
        )
    if choice.kind == "best":
        sentence = f"The highest {measure}: no other pair has it."
    else:
        rule = _TIES[choice.tie_break]
        if choice.tie_break == "lowest-id":
            rule += f": {own.ids[0]}, {own.ids[1]}"
        sentence = f"{plural(choice.tied, 'pair')} share the highest {measure}: {rule}."
    if any(pair.refused and pair.place < own.place for pair in frame.pairs):
        sentence += " Those marked ! may not be merged."
    if choice.same_figures is False:
        sentence += " (Counted in this text; the training counted another.)"
    return sentence
