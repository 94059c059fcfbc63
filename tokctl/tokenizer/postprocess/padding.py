"""Padding: the encodings of a batch at one length, as Hugging Face's `pad_encodings`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tokctl.errors import TokctlError
from tokctl.tokenizer.encoding import Encoding
from tokctl.tokenizer.postprocess.columns import added, changed, each_window, join
from tokctl.tokenizer.postprocess.truncation import DIRECTIONS, check_name, check_number


@dataclass(frozen=True)
class Padding:
    """To what length encodings are filled up, and with what. Longer ones stay as they are.

    Attributes:
        length: tokens; None: as many as the longest of the batch has.
        multiple_of: the length is raised to the next multiple of this.
        direction: the end that is filled up: `right` or `left`.
        token: how the padding token is spelled.
        id: its id; None: looked up among the special tokens.
        type_id: of the padding.

    Raises:
        TokctlError: a number that is none, an unknown name.
    """

    length: int | None = None
    multiple_of: int | None = None
    direction: str = "right"
    token: str = "[PAD]"
    id: int | None = None
    type_id: int = 0

    def __post_init__(self) -> None:
        for name, least in (("length", 0), ("multiple_of", 1), ("id", 0)):
            if getattr(self, name) is not None:
                check_number(f"the padding's {name}", getattr(self, name), least)
        check_number("the padding's type_id", self.type_id, 0)
        check_name("direction of padding", self.direction, DIRECTIONS)

    def with_id(self, special_ids: Mapping[str, int]) -> Padding:
        """The same with an id; TokctlError where the token is no special token."""
        if self.id is not None:
            return self
        if self.token not in special_ids:
            raise TokctlError(
                f"the padding token {self.token} is no special token of this model",
                f"it has: {', '.join(special_ids) or 'none'}; or give the padding's id",
            )
        return replace(self, id=special_ids[self.token])

    def target(self, lengths: Sequence[int]) -> int:
        """The length that encodings of these lengths are filled up to."""
        target = max(lengths, default=0) if self.length is None else self.length
        return target + -target % (self.multiple_of or 1)

    def fill(self, size: int) -> Encoding:
        """So many padding tokens."""
        if self.id is None:
            raise TokctlError(f"the padding token {self.token} has no id", "give the padding's id")
        padding = added([self.token] * size, [self.id] * size, [self.type_id] * size)
        return changed(padding, attention_mask=[0] * size)

    def pad(self, encoding: Encoding, target: int) -> Encoding:
        """The encoding and its windows, each filled up to `target` tokens."""
        return self._pad(encoding, target, {})

    def _pad(
        self, encoding: Encoding, target: int, done: dict[int, tuple[Encoding, Encoding]]
    ) -> Encoding:
        # Two texts that both overflow share windows; each is padded once. Kept beside its
        # padded form, a window keeps its `id` to itself.
        if id(encoding) not in done:
            windows = each_window(encoding, lambda window: self._pad(window, target, done))
            missing = target - len(encoding)
            if missing <= 0:
                padded = changed(encoding, overflowing=windows) if windows else encoding
            elif self.direction == "right":
                padded = join([encoding, self.fill(missing)], windows)
            else:
                padded = join([self.fill(missing), encoding], windows)
            done[id(encoding)] = encoding, padded
        return done[id(encoding)][1]

    def pad_ids(self, ids: Sequence[int], target: int) -> list[int]:
        """The ids, filled up to `target` of them."""
        filling = self.fill(max(target - len(ids), 0)).raw_ids
        return [*ids, *filling] if self.direction == "right" else [*filling, *ids]


def pad_batch(
    encodings: Sequence[Encoding],
    padding: Padding,
    special_ids: Mapping[str, int] | None = None,
) -> list[Encoding]:
    """The encodings of a batch, all filled up to the same length.

    Args:
        special_ids: where the padding's id is looked up if it has none.
    """
    padding = padding.with_id(special_ids or {})
    target = padding.target([len(encoding) for encoding in encodings])
    return [padding.pad(encoding, target) for encoding in encodings]
