"""What a training by merges did, step by step: merges, and tokens that were taken away again, by
the training or after it.

The numbers of tokens that were taken away are those after the last id. No text becomes them, so
that nothing but `Events` knows them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from tokctl.errors import AGAIN, TokctlError
from tokctl.model import byte_level


class Merge(NamedTuple):
    """One step of a training. Counts are weighted occurrences before the merge."""

    left: int
    right: int
    token: int
    count: int  # type: ignore[assignment]  # hides tuple.count, which nobody needs
    left_count: int
    right_count: int


class Removal(NamedTuple):
    """A token was taken out of the vocabulary after the merge number `step`, from 1.

    count, whole: PickyBPE: of `whole` occurrences, `count` had just become the new token, so that
        `count / whole` is its IoS. Scaffold-BPE: the token occurred `count` times, and what was
        the most frequent next `whole` times. LiteToken: of the `whole` times that some texts made
        the token it stayed `count` times, so that `count / whole` is its FI ratio; the step is
        the last one.
    """

    step: int
    token: int
    count: int  # type: ignore[assignment]
    whole: int


@dataclass(frozen=True)
class Events:
    """The merges and removals of a training, in order: after each merge the removals of its step.

    Attributes:
        removed: the bytes of the tokens that have no id at the end; their numbers follow the
            ids, in the order in which they were first made.
        merges: by number.
        removals: of a Scaffold-BPE training only those that were final.
    """

    removed: tuple[bytes, ...]
    merges: list[Merge]
    removals: list[Removal]

    def spelled(self, *, is_byte_level: bool) -> list[str]:
        """The removed tokens, as files spell them."""
        if is_byte_level:
            return byte_level.spell_all(self.removed)
        return [token.decode() for token in self.removed]

    def to_dict(self, *, is_byte_level: bool) -> dict[str, Any]:
        """As JSON would hold it."""
        return {
            "removed": self.spelled(is_byte_level=is_byte_level),
            "merges": list(map(tuple, self.merges)),
            "removals": list(map(tuple, self.removals)),
        }

    @classmethod
    def from_dict(cls, data: Any, *, is_byte_level: bool) -> Events:
        """The events as `to_dict` wrote them; ValueError, TypeError, KeyError if a field is
        wrong. `check` says whether they fit the tokens."""
        names = data["removed"]
        if not isinstance(names, list) or set(map(type, names)) - {str}:
            raise TypeError("removed")
        as_bytes = byte_level.unspell if is_byte_level else str.encode
        merges = [Merge(*row) for row in _rows(data["merges"], len(Merge._fields))]
        removals = [Removal(*row) for row in _rows(data["removals"], len(Removal._fields))]
        return cls(tuple(map(as_bytes, names)), merges, removals)

    def check(self, tokens: Sequence[bytes]) -> None:
        """TokctlError unless the events make of initial symbols what is there at the end.

        tokens: those with an id, in id order.
        """
        texts = [*tokens, *self.removed]
        made = {merge.token for merge in self.merges if merge.token < len(texts)}
        present = set(range(len(texts))) - made
        ever = set(present)
        waiting = iter([*self.removals, None])
        removal = next(waiting)
        for step, merge in enumerate(self.merges, 1):
            for side in (merge.left, merge.right):
                if side not in ever:
                    raise TokctlError(
                        f"merge {step} names the token {side}, which is not there", AGAIN
                    )
            if merge.token >= len(texts):
                raise TokctlError(
                    f"merge {step} makes the token {merge.token}, which is not there", AGAIN
                )
            if texts[merge.left] + texts[merge.right] != texts[merge.token]:
                raise TokctlError(
                    f"merge {step} makes a token that is not spelled as its sides", AGAIN
                )
            present.add(merge.token)
            ever.add(merge.token)
            while removal and removal.step == step:
                if removal.token not in present or removal.token not in made:
                    raise TokctlError(
                        f"after merge {step} the token {removal.token} is removed, which is not "
                        "there or is not a merged one",
                        AGAIN,
                    )
                present.remove(removal.token)
                removal = next(waiting)
        if removal:
            raise TokctlError(
                f"a removal is out of order, or after a merge {removal.step} of none", AGAIN
            )
        if present != set(range(len(tokens))):
            raise TokctlError(
                "the tokens that the events leave are not those of the vocabulary", AGAIN
            )

    def renumbered(self, ids: Sequence[int], size: int) -> Events:
        """The same where there are `size` ids: `ids` has the new one of each that there was."""
        numbers = [*ids, *range(size, size + len(self.removed))]
        merges = [
            merge._replace(
                left=numbers[merge.left], right=numbers[merge.right], token=numbers[merge.token]
            )
            for merge in self.merges
        ]
        removals = [removal._replace(token=numbers[removal.token]) for removal in self.removals]
        return replace(self, merges=merges, removals=removals)


def _rows(rows: Any, length: int) -> list[list[int]]:
    """The rows of a table of counts."""
    for row in rows:
        if len(row) != length or set(map(type, row)) != {int} or min(row) < 0:
            raise ValueError("an event is not a row of whole numbers")
        if max(row) >= 2**64:
            raise ValueError("a count of the events does not fit 64 bits")
    return list(rows)
