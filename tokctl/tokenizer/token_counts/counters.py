"""What counts the tokens of one model, as texts come in blocks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Iterable, Sequence
from itertools import islice, starmap
from operator import mul, sub
from typing import TYPE_CHECKING

from tokctl._native import NO_ID, CoreError, IdWriter
from tokctl.tokenizer.encoding import no_id_in
from tokctl.tokenizer.token_counts.settings import Lengths, Settings

if TYPE_CHECKING:
    from tokctl.errors import TokctlError
    from tokctl.sources import Batch
    from tokctl.tokenizer import Tokenizer

#: Says where in a source a text stands, by its number in what is counted at once.
_Place = Callable[[int], str]


class Counter(ABC):
    """Counts the tokens that one model makes of texts.

    A document comes in blocks (`feed`), then `end`, and the sum of what these return is its
    tokens. A batch of records comes whole (`records`).
    """

    def __init__(self, tokenizer: Tokenizer, settings: Settings) -> None:
        """TokctlError where the settings do not fit the model."""
        self.tokenizer = tokenizer
        self.settings = settings
        self.lengths = Lengths(tokenizer, settings)
        #: What finds the added tokens.
        self.matcher = tokenizer.special_matcher(settings.special)
        self.reset()

    @property
    def reads_characters(self) -> bool:
        """Must its texts be UTF-8?"""
        return not self.tokenizer.recipe.is_byte_level

    @abstractmethod
    def reset(self) -> None:
        """Forgets a document that was not read to its end."""

    @abstractmethod
    def feed(self, block: bytes, name: str) -> int:
        """The tokens that this block completes, of a document with this name.

        Raises:
            TokctlError: a character has no id; the message names its line.
        """

    @abstractmethod
    def end(self, name: str) -> int:
        """The tokens that the end of the document completes; another one may begin."""

    def records(self, batch: Batch, name: str, unit: str) -> int:
        """The tokens of some documents, each whole and as often as it stands for itself."""
        found = self.texts(batch.texts, lambda text: f"{name}: {unit} {batch.first + text}")
        if batch.counts is None:
            return sum(found)
        return sum(map(mul, found, batch.counts))

    def texts(self, texts: Sequence[bytes], place: _Place) -> Iterable[int]:
        """The tokens of each text; `place` names one for an error."""
        encoder = self.tokenizer.encoder
        must = self.tokenizer.unk_id is None and not self.tokenizer.recipe.is_byte_level
        try:
            _, packed = encoder.batch_array(texts, self.settings.threads, self.matcher, None, must)
        except CoreError as error:
            if error.args[1] != "no-id":
                raise
            text = error.args[2][0]
            raise self.no_id(texts[text], place(text)) from None
        offsets = array("q", packed)
        found = map(sub, islice(offsets, 1, None), offsets)
        return map(self.lengths, found) if self.lengths.changes else found

    def no_id(self, text: bytes, place: str, line: int | None = None) -> TokctlError:
        """The error for the first character of `text` that has no id. `line` is the line that
        the text starts in, where that is part of the place."""
        return no_id_in(self.tokenizer, text, self.settings.special, place, line)


class BlockCounter(Counter):
    """Counts as text comes, where no text must be there as a whole."""

    def reset(self) -> None:
        self._tokens = 0  # of a whole text, so far
        self._waiting: list[bytes] = []
        cuts = "lines"
        if self.settings.whole:
            at_once = self.tokenizer.recipe.normalizers or self.matcher
            cuts = "nowhere" if at_once else "pieces"
        self._at_once = cuts == "nowhere"
        self._writer = IdWriter(
            self.tokenizer.encoder,
            self.matcher,
            cuts=cuts,
            form="counted",
            threads=self.settings.threads,
        )

    def feed(self, block: bytes, name: str) -> int:
        if self._at_once:
            self._waiting.append(block)
            return 0
        return self._fed(block, name, last=False)

    def end(self, name: str) -> int:
        block = b"".join(self._waiting)
        self._waiting.clear()
        tokens = self._fed(block, name, last=True)
        if self.settings.whole and self.lengths.changes:
            tokens = self.lengths(self._tokens)
            self._tokens = 0
        return tokens

    def _fed(self, block: bytes, name: str, *, last: bool) -> int:
        _, tokens, lacking = self._writer.feed(block, last)
        if lacking is not None:
            line, text = lacking
            raise self.no_id(text, name, 1 + line)
        if self.settings.whole and self.lengths.changes:
            self._tokens += tokens
            return 0
        return tokens


class LineCounter(Counter):
    """Counts line by line, where something is put around each line, or cut off."""

    def reset(self) -> None:
        self._waiting: list[bytes] = []  # of a line that goes on; joined once, however long
        self._lines = 0  # that have ended

    def feed(self, block: bytes, name: str) -> int:
        end = block.rfind(b"\n") + 1
        if not end:
            self._waiting.append(block)
            return 0
        lines = b"".join((*self._waiting, block[: end - 1])).split(b"\n")
        self._waiting = [block[end:]] if end < len(block) else []
        return self._counted(lines, name)

    def end(self, name: str) -> int:
        tokens = self._counted([b"".join(self._waiting)], name) if self._waiting else 0
        self._lines = 0
        self._waiting.clear()
        return tokens

    def _counted(self, lines: list[bytes], name: str) -> int:
        first = 1 + self._lines
        self._lines += len(lines)
        return sum(self.texts(lines, lambda text: f"{name}: line {first + text}"))


class SampledLines(LineCounter):
    """Counts segmentations that are drawn at random, line by line."""

    def __init__(self, tokenizer: Tokenizer, settings: Settings) -> None:
        self._drawn = 0
        tokenizer.sample(b"", alpha=settings.sample or 0.0, seed=settings.seed)  # can it be?
        super().__init__(tokenizer, settings)

    def texts(self, texts: Sequence[bytes], place: _Place) -> Iterable[int]:
        return starmap(self._sampled, ((text, place(number)) for number, text in enumerate(texts)))

    def _sampled(self, text: bytes, place: str) -> int:
        seed = (self.settings.seed + self._drawn) % 2**64
        self._drawn += 1
        ids = self.tokenizer.sample(text, alpha=self.settings.sample or 0.0, seed=seed)
        if self.tokenizer.unk_id is None and NO_ID in ids:
            raise self.no_id(text, place)
        return self.lengths(len(ids))


class SampledWhole(SampledLines):
    """Counts segmentations that are drawn at random, each of a whole document."""

    def feed(self, block: bytes, name: str) -> int:
        del name
        self._waiting.append(block)
        return 0

    def end(self, name: str) -> int:
        text = b"".join(self._waiting)
        self._waiting.clear()
        return sum(self.texts([text], lambda _: name))


def counter(tokenizer: Tokenizer, settings: Settings) -> Counter:
    """What counts as the settings say."""
    if settings.sample is not None:
        return (SampledWhole if settings.whole else SampledLines)(tokenizer, settings)
    around = settings.add_special or settings.max_length is not None
    kind = LineCounter if around and not settings.whole else BlockCounter
    return kind(tokenizer, settings)
