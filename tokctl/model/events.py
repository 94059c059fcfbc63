"""The merges of a training and the tokens removed by it or after it, step by step.

A removed token has a number above the highest id. Text never becomes a removed token, so only
`MergeLog` knows these numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from tokctl.core.errors import AGAIN, BadModel
from tokctl.model import byte_level


class Merge(NamedTuple):
    """A merge of a training.

    Attributes:
        left: id of the left side.
        right: id of the right side.
        token: id of the merged token.
        count: weighted occurrences of the pair before the merge.
        left_count: weighted occurrences of the left side before the merge.
        right_count: weighted occurrences of the right side before the merge.
    """

    left: int
    right: int
    token: int
    count: int  # type: ignore[assignment]  # hides tuple.count, which nobody needs
    left_count: int
    right_count: int


class Removal(NamedTuple):
    """The removal of a token from the vocabulary.

    PickyBPE: `count` of `whole` occurrences had just become the new token, so `count / whole` is
    the IoS. Scaffold-BPE: the token occurred `count` times, and the most frequent next candidate
    `whole` times. LiteToken: merges made the token `whole` times in some texts, and it stayed
    `count` times, so `count / whole` is the FI ratio; the step is the last one.

    Attributes:
        step: number of merges before the removal.
        token: id or number of the removed token.
        count: occurrences that decided about the removal, as above.
        whole: occurrences that `count` is compared with, as above.
    """

    step: int
    token: int
    count: int  # type: ignore[assignment]
    whole: int


@dataclass(frozen=True)
class MergeLog:
    """The merges and removals of a training, in order.

    Each merge is followed by the removals of its step.

    Attributes:
        removed: bytes of the tokens that have no id at the end, in the order of first creation;
            their numbers follow the highest id.
        merges: merges in the order made.
        removals: removals in the order made; for Scaffold-BPE only the final ones.
    """

    removed: tuple[bytes, ...]
    merges: list[Merge]
    removals: list[Removal]

    def spelled(self, *, is_byte_level: bool) -> list[str]:
        """Return the removed tokens as files spell them."""
        if is_byte_level:
            return byte_level.spell_all(self.removed)
        return [token.decode() for token in self.removed]

    def to_dict(self, *, is_byte_level: bool) -> dict[str, Any]:
        """Return the merges and removals as JSON data."""
        return {
            "removed": self.spelled(is_byte_level=is_byte_level),
            "merges": list(map(tuple, self.merges)),
            "removals": list(map(tuple, self.removals)),
        }

    @classmethod
    def from_dict(cls, data: Any, *, is_byte_level: bool) -> MergeLog:
        """Return the events that `to_dict` wrote; `check` tests whether they fit the vocabulary.

        Args:
            data: the events as JSON data.
            is_byte_level: whether tokens are spelled in GPT-2's printable characters.

        Raises:
            ValueError: a row or a spelling is wrong.
            TypeError: a field has the wrong type.
            KeyError: a field is missing.
        """
        names = data["removed"]
        if not isinstance(names, list) or set(map(type, names)) - {str}:
            raise TypeError("removed")
        to_bytes = byte_level.unspell if is_byte_level else str.encode
        merges = [Merge(*row) for row in _check_rows(data["merges"], len(Merge._fields))]
        removals = [Removal(*row) for row in _check_rows(data["removals"], len(Removal._fields))]
        return cls(tuple(map(to_bytes, names)), merges, removals)

    def check(self, tokens: Sequence[bytes]) -> None:
        """Raise an error unless the events lead from initial symbols to the vocabulary.

        Args:
            tokens: bytes of the tokens that have an id, in id order.

        Raises:
            TokctlError: names the first merge or removal that does not fit.
        """
        texts = [*tokens, *self.removed]
        merged_ids = {merge.token for merge in self.merges if merge.token < len(texts)}
        present = set(range(len(texts))) - merged_ids
        ever_present = set(present)
        pending = iter([*self.removals, None])
        removal = next(pending)
        for step, merge in enumerate(self.merges, 1):
            for side in (merge.left, merge.right):
                if side not in ever_present:
                    raise BadModel(
                        f"merge {step} names the token {side}, which does not exist",
                        AGAIN,
                        "damaged-model",
                    )
            if merge.token >= len(texts):
                raise BadModel(
                    f"merge {step} makes the token {merge.token}, which does not exist",
                    AGAIN,
                    "damaged-model",
                )
            if texts[merge.left] + texts[merge.right] != texts[merge.token]:
                raise BadModel(
                    f"merge {step} makes a token that is not spelled as its sides",
                    AGAIN,
                    "damaged-model",
                )
            present.add(merge.token)
            ever_present.add(merge.token)
            while removal and removal.step == step:
                if removal.token not in present or removal.token not in merged_ids:
                    raise BadModel(
                        f"after merge {step} the token {removal.token} is removed, which does not "
                        "exist or was not merged",
                        AGAIN,
                        "damaged-model",
                    )
                present.remove(removal.token)
                removal = next(pending)
        if removal:
            raise BadModel(
                f"a removal is out of order, or after merge {removal.step}, which does not exist",
                AGAIN,
                "damaged-model",
            )
        if present != set(range(len(tokens))):
            raise BadModel(
                "the tokens left by merges and removals differ from the vocabulary",
                AGAIN,
                "damaged-model",
            )

    def renumbered(self, ids: Sequence[int], size: int) -> MergeLog:
        """Return the events for a model with other ids.

        Args:
            ids: new id of each old id.
            size: number of new ids.
        """
        new_ids = [*ids, *range(size, size + len(self.removed))]
        merges = [
            merge._replace(
                left=new_ids[merge.left], right=new_ids[merge.right], token=new_ids[merge.token]
            )
            for merge in self.merges
        ]
        removals = [removal._replace(token=new_ids[removal.token]) for removal in self.removals]
        return replace(self, merges=merges, removals=removals)


def _check_rows(rows: Any, length: int) -> list[list[int]]:
    """Return the rows of a table of counts after checking them.

    Raises:
        ValueError: a row has the wrong length, or a value is not an unsigned 64-bit number.
    """
    for row in rows:
        if len(row) != length or set(map(type, row)) != {int} or min(row) < 0:
            raise ValueError("an event is not a row of whole numbers")
        if max(row) >= 2**64:
            raise ValueError("a count of the events does not fit 64 bits")
    return list(rows)
