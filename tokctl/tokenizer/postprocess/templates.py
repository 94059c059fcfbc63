"""Templates: special tokens around the tokens of a text, or of two.

As Hugging Face's TemplateProcessing, BertProcessing and RobertaProcessing; these are one
kind here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tokctl.errors import TokctlError
from tokctl.model.parts import template_pieces
from tokctl.tokenizer.encoding import Encoding, Windows, windows_of
from tokctl.tokenizer.postprocess.columns import added, changed, each_window, join
from tokctl.values import cached_property


@dataclass(frozen=True)
class Template:
    """What stands before, between and behind the texts.

    Attributes:
        around: one more than there are texts; tokens that stand for no text.
        type_ids: of the tokens of each text.
    """

    around: tuple[Encoding, ...]
    type_ids: tuple[int, ...]

    @classmethod
    def read(cls, text: str, special_ids: Mapping[str, int]) -> Template:
        """The template that `[CLS] $A [SEP]` describes, say.

        Raises:
            TokctlError: a piece that is none, a token without an id.
        """
        groups: list[list[tuple[str, int, int]]] = [[]]
        type_ids = []
        for piece in template_pieces(text):
            if piece.token is None:
                type_ids.append(piece.type_id)
                groups.append([])
            elif piece.token not in special_ids:
                raise TokctlError(
                    f"the template {text!r} names {piece.token}, which has no id",
                    f"special tokens: {', '.join(special_ids) or 'none'}",
                )
            else:
                groups[-1].append((piece.token, special_ids[piece.token], piece.type_id))
        around = [
            added([g[0] for g in group], [g[1] for g in group], [g[2] for g in group])
            for group in groups
        ]
        return cls(tuple(around), tuple(type_ids))

    @cached_property
    def bare(self) -> Template:
        """The same without its special tokens: type ids stay."""
        return replace(self, around=(added([], [], []),) * len(self.around))

    @cached_property
    def added_tokens_count(self) -> int:
        """How many special tokens it puts there."""
        return sum(map(len, self.around))

    def wrap_ids(self, ids: Sequence[int], pair_ids: Sequence[int] | None = None) -> list[int]:
        """The ids of a text, or of two, with those of the special tokens."""
        wrapped = [*self.around[0].raw_ids, *ids, *self.around[1].raw_ids]
        if pair_ids is not None:
            wrapped += [*pair_ids, *self.around[2].raw_ids]
        return wrapped

    def apply(self, first: Encoding, second: Encoding | None = None) -> Encoding:
        """The tokens of a text, or of two, with the special tokens.

        Windows get them, too. Of two texts, every window of the one meets every window of
        the other: first those of the first text's windows, then those of its beginning.
        """
        if second is None:
            return self._wrap([first], each_window(first, lambda window: self._wrap([window])))
        if not windows_of(first) and not windows_of(second):
            return self._wrap([first, second])
        return self._wrap([first, second], lambda: self._windows(first, second))

    def _windows(self, first: Encoding, second: Encoding) -> list[Encoding]:
        """The windows of two texts, of which one has some."""
        firsts = [first, *first.overflowing]
        seconds = [second, *second.overflowing]
        rows = [[self._wrap([a, b]) for b in seconds[1:]] for a in firsts]
        overflowing = []
        for window, row in zip(firsts[1:], rows[1:], strict=True):
            overflowing += [self._wrap([window, second], row), *row]
        for place, whole in enumerate(rows[0]):
            # Where both texts overflow, Hugging Face lists windows within windows.
            overflowing.append(changed(whole, overflowing=[row[place] for row in rows[1:]]))
        return overflowing

    def _wrap(self, texts: list[Encoding], overflowing: Windows = ()) -> Encoding:
        if self._changes_nothing and "type_ids" not in vars(texts[0]):
            return replace_windows(texts[0], overflowing)
        joined = [self.around[0]]
        for number, text in enumerate(texts):
            size = len(text)
            types = [self.type_ids[number]] * size
            numbers: list[int | None] = [number] * size
            joined.append(changed(text, type_ids=types, sequence_ids=numbers))
            joined.append(self.around[number + 1])
        return join(joined, overflowing)

    @cached_property
    def _changes_nothing(self) -> bool:
        return self.added_tokens_count == 0 and self.type_ids == (0,)


def replace_windows(encoding: Encoding, overflowing: Windows) -> Encoding:
    """The encoding with other windows; itself where it has none and gets none."""
    if not overflowing and not windows_of(encoding):
        return encoding
    return changed(encoding, overflowing=overflowing)
