"""Merges that no longer matter.

The **tree** of a token is the merges that make it, and those that make its parts, down to the
symbols that words start as. Where merges go by rank, each token has one tree: wherever it is
made, it is made as its own text alone would make it (`Merging::made` in the core). So:

- Without a text, a merge **matters** if it is in the tree of a reachable token. It does not
  where its token is unreachable and no reachable token is made of it, nor where another pair
  always makes its token first.
- With a text, it matters if it is in the tree of a token that the text uses. These are exactly
  the merges that are made while the text is encoded: what is merged is the token in the end,
  or a part of it.
- A token is **only a part** if the text does not use it, and it is in the tree of one that it
  uses ("BPE Gets Picky", Chizhov et al. 2024, arXiv 2409.04599, calls these intermediate
  tokens).

A model of ranks names no pairs: its merges are those that follow from the ranks, one for each
token that is made. Where words carry a marker, or merges are replayed in the order learned, a
token can be made in more than one way. Without a text every merge that makes it then belongs to
its tree, so that no merge is called useless that is not; with a text, the merges that its
pre-tokens go through are counted themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tokctl._native import NO_ID
from tokctl.analysis.explain.pre_tokens import pre_tokens_of
from tokctl.analysis.health.report import Example
from tokctl.analysis.health.subject import Answer, Subject, not_made
from tokctl.analysis.health.using import NEEDS_TEXT
from tokctl.model.parts import AddedToken

WITHOUT_TEXT, WITH_TEXT = "merges-without-effect", ("merges-without-use", "only-parts")

#: Left, right, token.
Triple = tuple[int, int, int]
#: More steps than any model has.
_EVERY_STEP = (1 << 32) - 2


def check(subject: Subject) -> Iterator[Answer]:
    if reason := _no_merges(subject):
        yield from not_made([WITHOUT_TEXT, *WITH_TEXT], reason)
        return
    trees = Trees(subject)
    reach = subject.reach_beside_added
    if reach.undecided:
        yield from not_made([WITHOUT_TEXT], "not every token is decided to be reachable or not")
    else:
        kept_out = set(reach.ids)
        reached = [id_ for id_ in subject.ordinary if id_ not in kept_out]
        yield _useless(subject, trees, WITHOUT_TEXT, trees.needed(reached))
    if subject.texts is None:
        yield from not_made(WITH_TEXT, NEEDS_TEXT)
        return
    used = [id_ for id_ in subject.used if id_ != NO_ID]
    needed = trees.needed(used) if trees.are_sure else _made_of_texts(subject)
    yield _useless(subject, trees, WITH_TEXT[0], needed)
    inside = {id_ for step in needed for id_ in trees.merges[step]}
    ids = [id_ for id_ in subject.ordinary if id_ not in subject.reserve]
    parts = [id_ for id_ in ids if id_ in inside and not subject.used[id_]]
    yield subject.found(WITH_TEXT[1], parts, len(ids))


def _no_merges(subject: Subject) -> str:
    recipe = subject.recipe
    if recipe.segmentation in ("merges", "replay", "ranks"):
        return ""
    if subject.model.merges:
        return "the model encodes by longest match, whatever was merged in training"
    return "the model has no merges"


class Trees:
    """The merges of a model, and which of them tokens are made of.

    Attributes:
        merges: (left, right, token) by step.
        by_token: the steps that can make each token.
        are_sure: each token has one tree.
    """

    def __init__(self, subject: Subject) -> None:
        model, recipe = subject.model, subject.recipe
        self.are_sure = recipe.marker.kind == "none" and recipe.segmentation != "replay"
        tokens = [(model.tokens[id_], id_) for id_ in subject.ordinary]
        made = subject.tokenizer.encoder.made(tokens) if self.are_sure else []
        self.has_steps = recipe.segmentation != "ranks"
        self.merges: list[Triple] = (
            [(left, right, token) for left, right, token, *_ in model.merges]
            if self.has_steps
            else made
        )
        self.by_token: dict[int, list[int]] = {}
        # Of equal pairs only the first is ever found.
        chosen = set(made) if self.are_sure else None
        for step, triple in enumerate(self.merges):
            if chosen is None:
                self.by_token.setdefault(triple[2], []).append(step)
            elif triple in chosen:
                chosen.remove(triple)
                self.by_token.setdefault(triple[2], []).append(step)

    def needed(self, ids: Iterable[int]) -> set[int]:
        """The steps in the trees of these tokens."""
        found: set[int] = set()
        waiting = list(ids)
        seen = set(waiting)
        while waiting:
            for step in self.by_token.get(waiting.pop(), ()):
                found.add(step)
                for part in self.merges[step][:2]:
                    if part not in seen:
                        seen.add(part)
                        waiting.append(part)
        return found


def _made_of_texts(subject: Subject) -> set[int]:
    """The steps that the pre-tokens of the texts go through."""
    words: set[bytes] = set()
    for text in subject.texts or ():
        for document in text.documents:
            pre_tokens = pre_tokens_of(subject.tokenizer, document)
            words.update(word for word in pre_tokens if not isinstance(word, AddedToken))
    replay = subject.tokenizer.encoder.replay
    found: set[int] = set()
    for word in words:
        found.update(replay(word, _EVERY_STEP)[2])
    return found


def _useless(subject: Subject, trees: Trees, name: str, needed: set[int]) -> Answer:
    steps = [step for step in range(len(trees.merges)) if step not in needed]
    names = subject.tokenizer.tokens
    examples: list[Example] = []
    for step in steps[: subject.limit]:
        left, right, token = trees.merges[step]
        pair = f"{names[left]} + {names[right]}"
        note = f"step {step + 1:,}: {pair}" if trees.has_steps else pair
        examples.append(subject.example(token, note))
    return subject.finding(name, len(steps), len(trees.merges), examples=examples)
