"""Residues of merging, taken away after training: LiteToken (Sun et al. 2026, arXiv 2602.04706).

A token is made of the pair of tokens that its own text ends with, these of theirs, and so on: its
tree. A text uses a token in two ways: as a token of its encoding (**final**), and inside the trees
of those tokens (**intermediate**). The FI ratio is final / (final + intermediate). A residue is a
merged token whose FI ratio is low, and whose neighbours in the trees are nearly always the same:
of a root or an affix, which many words are made with, their entropy is high.

The model that is left makes all of its merges, takes the residues of the result apart, and merges
what then stands there again, without making any (the segmentation `remerge`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from math import fsum, log2
from typing import Any

from tokctl.errors import TokctlError
from tokctl.formats import merging
from tokctl.formats.contract import InexpressibleError
from tokctl.model import Events, FilledRecipe, Merge, Removal
from tokctl.training import resizing
from tokctl.training.options import Number, share
from tokctl.values import brief

#: The most bits that the neighbours of a residue have, if nothing else is said.
ENTROPY = 2.0
#: Residues that are named.
SHOWN = 10


@dataclass(frozen=True)
class Residue:
    """A token that texts hardly use but to make others of it.

    Attributes:
        id: in the model before.
        token: as the vocabulary spells it.
        final: how often the encoding of the texts has the token.
        intermediate: how often the tokens of the encoding are made with it.
        entropy: of its neighbours there, in bits, rounded to 10 decimals. A neighbour is the token
            that it is merged with, on its side.
    """

    id: int
    token: str
    final: int
    intermediate: int
    entropy: float

    @property
    def ratio(self) -> float:
        """The FI ratio."""
        return self.final / (self.final + self.intermediate)


@dataclass(frozen=True)
class Residues:
    """The residues of a model in some texts.

    Attributes:
        ratio, entropy: the most that a residue has of each.
        judged: merged tokens that the texts use, as tokens or inside of them: those that have a
            ratio.
        found: by id.
    """

    ratio: Fraction
    entropy: float
    judged: int
    found: tuple[Residue, ...]

    @property
    def examples(self) -> list[Residue]:
        """Those that the texts make most often."""
        return sorted(self.found, key=lambda one: (-one.final - one.intermediate, one.id))[:SHOWN]

    def to_dict(self) -> dict[str, Any]:
        """As JSON would hold it."""
        return {
            "tokens": len(self.found),
            "judged": self.judged,
            "examples": [asdict(one) | {"ratio": one.ratio} for one in self.examples],
        }


def limits(ratio: Number, entropy: float | None) -> tuple[Fraction, float]:
    """What is asked for; TokctlError if it is none."""
    highest = share("residues", ratio)
    assert highest is not None
    most = ENTROPY if entropy is None else entropy
    if isinstance(most, bool) or not isinstance(most, (int, float)) or not most >= 0:
        raise TokctlError(
            f"residue_entropy can't be {brief(most)}", "it is a number of bits from 0 up: 2"
        )
    return Fraction(*highest), most


def with_merges(model: FilledRecipe) -> FilledRecipe:
    """The model with merges in place of ranks; TokctlError if it does not merge by rank."""
    recipe = model.recipe
    if not (recipe.traits.is_plain_bpe and recipe.segments_by_merging) or recipe.replays_merges:
        raise TokctlError(
            f"residues are those of merges by rank, and this is a {recipe.algorithm} model "
            f"segmented by {recipe.segmentation}",
            "--prune takes away what the texts use least",
        )
    try:
        return merging.by_merges(model)
    except InexpressibleError as reason:
        raise _untold(reason) from None


def _untold(reason: object) -> TokctlError:
    return TokctlError(
        f"what its tokens are made of can't be told: {reason}",
        "--prune takes away what the texts use least",
    )


def _pairs(model: FilledRecipe) -> list[merging.Triple]:
    try:
        return merging.pairs(model)
    except InexpressibleError as reason:
        raise _untold(reason) from None


def find(model: FilledRecipe, uses: Mapping[int, int], ratio: Fraction, entropy: float) -> Residues:
    """The residues of a model of merges.

    Args:
        uses: how often texts use each id; 0 where none is said.
        ratio, entropy: the most that a residue has of each.
    """
    recipe = model.recipe
    stays = model.reserved_ids | model.user_defined | {token.id for token in model.added}
    made = Counter(uses)  # final and intermediate
    neighbours: dict[int, Counter[tuple[str, int]]] = {}
    found, judged = [], 0
    # Longer tokens first: shorter ones are their parts.
    for left, right, token in sorted(_pairs(model), key=lambda pair: -len(model.tokens[pair[2]])):
        times = made[token]
        if not times:
            continue
        made[left] += times
        made[right] += times
        neighbours.setdefault(left, Counter())["right", right] += times
        neighbours.setdefault(right, Counter())["left", left] += times
        if token in stays or recipe.is_initial_symbol(model.tokens[token]):
            continue
        judged += 1
        final = uses.get(token, 0)
        if final < times and final * ratio.denominator <= ratio.numerator * times:
            bits = _entropy(neighbours[token])
            if bits <= entropy:
                name = model.spelled[token]
                found.append(Residue(token, name, final, times - final, bits))
    return Residues(ratio, entropy, judged, tuple(sorted(found, key=lambda one: one.id)))


def _entropy(counts: Counter[tuple[str, int]]) -> float:
    """Shannon's, in bits. Rounded, so that no last bit of a logarithm decides."""
    total = counts.total()
    return round(log2(total) - fsum(n * log2(n) for n in counts.values()) / total, 10) + 0.0


def without(model: FilledRecipe, residues: Residues, gone: Collection[int]) -> FilledRecipe:
    """The model of merges whose residues have no ids, nor have the ids in `gone`; the others are
    numbered without gaps, in the order that they had.

    Raises:
        TokctlError: one of its merges that matter takes a token that a later one makes.
    """
    taken = {one.id: one for one in residues.found}
    stays = [id_ for id_ in range(model.size) if id_ not in taken and id_ not in gone]
    merges = _in_order(model, taken)
    born = dict.fromkeys(merge.token for merge in merges if merge.token in taken)
    numbers = {old: new for new, old in enumerate([*stays, *born])}
    events = Events(
        tuple(model.tokens[old] for old in born),
        resizing.renumbered_merges(merges, numbers),
        [Removal(len(merges), numbers[old], taken[old].final, _made(taken[old])) for old in born],
    )
    record = model.training and replace(
        model.training,
        vocab_size=len(stays),
        exhausted=False,
        pruned_from=model.size,
        stage_ends=(),
    )
    bare = replace(model, merges=[], scores=[], training=record, parity=None)
    bare = resizing.renumbered(bare, {old: numbers[old] for old in stays})
    return replace(bare, recipe=replace(bare.recipe, segmentation="remerge"), events=events)


def _made(residue: Residue) -> int:
    return residue.final + residue.intermediate


def _in_order(model: FilledRecipe, taken: Collection[int]) -> list[Merge]:
    """The merges, each after those that make its parts. Those that no text makes are left out where
    that is not so, and where they make one of the tokens in `taken`: it has one pair."""
    pairs = {token: (left, right) for left, right, token in _pairs(model)}
    known = set(range(model.size)).difference(merge.token for merge in model.merges)
    found = []
    for step, merge in enumerate(model.merges, 1):
        is_made = pairs.get(merge.token) == (merge.left, merge.right)
        if merge.left in known and merge.right in known:
            if merge.token not in taken or (is_made and merge.token not in known):
                found.append(merge)
                known.add(merge.token)
        elif is_made and merge.token not in known:
            raise TokctlError(
                f"merge {step} takes a token that a later merge makes",
                "--prune takes away what the texts use least",
            )
    return found
