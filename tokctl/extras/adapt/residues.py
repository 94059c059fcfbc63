"""Residues of merging, removed after training: LiteToken (Sun et al. 2026, arXiv 2602.04706).

A token is merged from a pair of tokens, these from other pairs, and so on: the tree of the token. A
text uses a token in two ways: as a token of its encoding (**final**), and inside the trees of these
tokens (**intermediate**). The FI ratio is final / (final + intermediate). A residue is a merged
token with a low FI ratio whose neighbours in the trees are nearly always the same. The neighbours
of a root or an affix, which many words contain, have a high entropy.

The new model makes all of its merges and splits the residues in the result. Then it merges the
adjacent tokens again, without making any residue (the segmentation `remerge`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from math import fsum, log2
from typing import Any

from tokctl.core.errors import BadOption, TokctlError, Unsupported
from tokctl.core.values import brief
from tokctl.formats import merging
from tokctl.formats.contract import UnsupportedByFormat
from tokctl.model import Merge, MergeLog, Model, Removal
from tokctl.training import resizing
from tokctl.training.options import Number, share

#: Default of the largest entropy of a residue's neighbours, in bits.
ENTROPY = 2.0
#: Largest number of residues that are shown.
SHOWN = 10


@dataclass(frozen=True)
class Residue:
    """A token that texts use almost only as a part of other tokens.

    Attributes:
        id: id in the old model.
        token: spelling in the vocabulary.
        final: number of times that the encoding of the texts has the token.
        intermediate: number of times that the token is inside the trees of other tokens.
        entropy: entropy of its neighbours in these trees, in bits, rounded to 10 decimals. A
            neighbour is the token that it is merged with, and the side.
    """

    id: int
    token: str
    final: int
    intermediate: int
    entropy: float

    @property
    def ratio(self) -> float:
        """FI ratio."""
        return self.final / (self.final + self.intermediate)


@dataclass(frozen=True)
class Residues:
    """Residues of a model in some texts.

    Attributes:
        ratio: largest FI ratio of a residue.
        entropy: largest entropy of a residue's neighbours, in bits.
        judged: number of merged tokens that the texts use, final or intermediate, and that so have
            a ratio.
        found: the residues, by ascending id.
    """

    ratio: Fraction
    entropy: float
    judged: int
    found: tuple[Residue, ...]

    @property
    def examples(self) -> list[Residue]:
        """Residues that the texts make most often, at most `SHOWN`."""
        return sorted(self.found, key=lambda one: (-one.final - one.intermediate, one.id))[:SHOWN]

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers and the examples as values for JSON."""
        return {
            "tokens": len(self.found),
            "judged": self.judged,
            "examples": [asdict(one) | {"ratio": one.ratio} for one in self.examples],
        }


def limits(ratio: Number | None, entropy: float | None) -> tuple[Fraction, float] | None:
    """Return the checked limits of the FI ratio and of the entropy; None if no ratio is given.

    Args:
        ratio: largest FI ratio, above 0 and at most 1.
        entropy: largest entropy, in bits; None: `ENTROPY`.

    Raises:
        TokctlError: a limit is not in its range, or only the entropy is given.
    """
    if ratio is None:
        if entropy is None:
            return None
        raise BadOption(
            "residue_entropy needs residues, and none are removed",
            "add --residues RATIO",
            "missing-option",
        )
    highest = share("residues", ratio)
    assert highest is not None
    max_entropy = ENTROPY if entropy is None else entropy
    if (
        isinstance(max_entropy, bool)
        or not isinstance(max_entropy, (int, float))
        or not max_entropy >= 0
    ):
        raise BadOption(
            f"invalid value {brief(max_entropy)} for residue_entropy",
            "give a number of bits of at least 0, for example 2",
            "bad-value",
        )
    return Fraction(*highest), max_entropy


def with_merges(model: Model) -> Model:
    """Return the model with merges instead of ranks.

    Args:
        model: a BPE model.

    Raises:
        TokctlError: the model does not merge by rank, or its merges can't be reconstructed.
    """
    recipe = model.recipe
    if not (recipe.traits.is_plain_bpe and recipe.segments_by_merging) or recipe.replays_merges:
        raise BadOption(
            f"only models that merge by rank have residues, and this {recipe.algorithm} model is "
            f"segmented by {recipe.segmentation}",
            "use --prune N to remove the tokens that the texts use least",
            "conflict",
        )
    try:
        return merging.with_merges(model)
    except UnsupportedByFormat as reason:
        raise _undetermined(reason) from None


def _undetermined(reason: object) -> TokctlError:
    return Unsupported(
        f"can't tell which pairs its tokens were merged from: {reason}",
        "use --prune N to remove the tokens that the texts use least",
    )


def _token_pairs(model: Model) -> list[merging.MergeTriple]:
    try:
        return merging.token_merges(model)
    except UnsupportedByFormat as reason:
        raise _undetermined(reason) from None


def find(model: Model, uses: Mapping[int, int], ratio: Fraction, entropy: float) -> Residues:
    """Return the residues of a model with merges.

    Args:
        model: see `with_merges`.
        uses: number of times that texts use each id; 0 for an id that is missing.
        ratio: largest FI ratio of a residue.
        entropy: largest entropy of a residue's neighbours, in bits.
    """
    recipe = model.recipe
    protected = model.reserved_ids | model.user_defined | {token.id for token in model.added}
    occurrences = Counter(uses)  # final plus intermediate uses
    neighbours: dict[int, Counter[tuple[str, int]]] = {}
    residues, judged = [], 0
    # Longer tokens first: their uses count as uses of their parts.
    for left, right, token in sorted(
        _token_pairs(model), key=lambda pair: -len(model.tokens[pair[2]])
    ):
        times = occurrences[token]
        if not times:
            continue
        occurrences[left] += times
        occurrences[right] += times
        neighbours.setdefault(left, Counter())["right", right] += times
        neighbours.setdefault(right, Counter())["left", left] += times
        if token in protected or recipe.is_initial_symbol(model.tokens[token]):
            continue
        judged += 1
        final = uses.get(token, 0)
        if final < times and final * ratio.denominator <= ratio.numerator * times:
            bits = _entropy(neighbours[token])
            if bits <= entropy:
                name = model.spelled[token]
                residues.append(Residue(token, name, final, times - final, bits))
    return Residues(ratio, entropy, judged, tuple(sorted(residues, key=lambda one: one.id)))


def _entropy(counts: Counter[tuple[str, int]]) -> float:
    """Return the Shannon entropy in bits.

    It is rounded so that the last bit of a logarithm does not decide which tokens are residues.
    """
    total = counts.total()
    return round(log2(total) - fsum(n * log2(n) for n in counts.values()) / total, 10) + 0.0


def without(model: Model, residues: Residues, removed: Collection[int]) -> Model:
    """Return the model without the residues and without the ids in `removed`.

    The other tokens are numbered without gaps, in their old order.

    Args:
        model: a model with merges.
        residues: residues of the model.
        removed: more ids to remove.

    Raises:
        TokctlError: a merge takes a token that a later merge makes.
    """
    residue_of = {residue.id: residue for residue in residues.found}
    kept_ids = [id_ for id_ in range(model.size) if id_ not in residue_of and id_ not in removed]
    merges = _topological_order(model, residue_of)
    born = dict.fromkeys(merge.token for merge in merges if merge.token in residue_of)
    numbers = {old: new for new, old in enumerate([*kept_ids, *born])}
    events = MergeLog(
        tuple(model.tokens[old] for old in born),
        resizing.renumber_merges(merges, numbers),
        [
            Removal(
                len(merges), numbers[old], residue_of[old].final, _occurrences_made(residue_of[old])
            )
            for old in born
        ],
    )
    record = model.training and replace(
        model.training,
        vocab_size=len(kept_ids),
        exhausted=False,
        pruned_from=model.size,
        stage_ends=(),
    )
    bare = replace(model, merges=[], scores=[], training=record, parity=None)
    bare = resizing.renumber(bare, {old: numbers[old] for old in kept_ids})
    return replace(bare, recipe=replace(bare.recipe, segmentation="remerge"), events=events)


def _occurrences_made(residue: Residue) -> int:
    return residue.final + residue.intermediate


def _topological_order(model: Model, residue_ids: Collection[int]) -> list[Merge]:
    """Return the merges, each after the merges that make its parts.

    A merge that no text makes is left out if its parts are made later. So is every merge that makes
    a token in `residue_ids` from another pair than the one that texts make it from.
    """
    pairs = {token: (left, right) for left, right, token in _token_pairs(model)}
    available = set(range(model.size)).difference(merge.token for merge in model.merges)
    ordered = []
    for step, merge in enumerate(model.merges, 1):
        is_made = pairs.get(merge.token) == (merge.left, merge.right)
        if merge.left in available and merge.right in available:
            if merge.token not in residue_ids or (is_made and merge.token not in available):
                ordered.append(merge)
                available.add(merge.token)
        elif is_made and merge.token not in available:
            raise Unsupported(
                f"merge {step} uses a token that only a later merge makes",
                "use --prune N to remove the tokens that the texts use least",
            )
    return ordered
