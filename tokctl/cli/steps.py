"""The first steps of a training, from the pre-tokens that it counted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokctl.render.steps import TrainingStep
    from tokctl.tokenizer import Tokenizer

#: Pre-tokens of one corpus state that are shown.
_WORDS = 20


def training_steps(
    tokenizer: Tokenizer, counts: Sequence[tuple[bytes, int]], steps: int
) -> Iterator[TrainingStep]:
    """The corpus state before the first merge, and behind each of the first `steps` merges.

    Args:
        counts: the pre-tokens with their counts, in first-seen order.

    Of a small corpus every pre-token is there, in the order that the tie rule scans; of a
    large one, those that the step has changed.
    """
    from tokctl.render.steps import StateWord, TrainingStep
    from tokctl.tokenizer import Tokenizer

    steps = min(steps, len(tokenizer.merges))
    # The merges in the order learned, whatever way the model encodes later.
    recipe = replace(tokenizer.recipe, segmentation="replay", max_input_chars=None)
    replay = Tokenizer(replace(tokenizer.model, recipe=recipe)).encoder.replay
    names = tokenizer.tokens
    changed_at: dict[int, list[int]] = {}
    for number, (word, _) in enumerate(counts):
        for rank in dict.fromkeys(replay(word, steps)[2]):
            changed_at.setdefault(rank + 1, []).append(number)
    order = list(range(len(counts)))
    for step in range(steps + 1):
        rewritten = changed_at.get(step, [])
        changed = set(rewritten)
        if changed and recipe.tie_break == "rewritten-last":
            rewritten = [word for word in order if word in changed]
            order = [*(word for word in order if word not in changed), *rewritten]
        shown = order if step == 0 or len(counts) <= _WORDS else rewritten
        merge = tokenizer.merges[step - 1] if step else None
        yield TrainingStep(
            number=step,
            merge=merge,
            names=tuple(names[id_] for id_ in merge[:3]) if merge else (),
            words=[
                StateWord(
                    count=counts[number][1],
                    tokens=[names[id_] for id_ in replay(counts[number][0], step)[0]],
                    changed=number in changed,
                )
                for number in shown[:_WORDS]
            ],
            more=max(0, len(shown) - _WORDS),
        )
