"""Tokens that are found in a text before anything else is done with it."""

from __future__ import annotations

from dataclasses import dataclass

from tokctl.errors import TokctlError


@dataclass(frozen=True)
class AddedToken:
    """A token that is matched as a whole, whatever the model would make of its text.

    Attributes:
        text: its spelling in a text and in the vocabulary.
        id: its id.
        special: matched only where the caller allows special tokens; others always are.
        single_word: only where no word character stands beside it.
        strip_left, strip_right: it takes white space on that side along.
        normalized: matched in the normalized text, not in the text as given.
        literal: where it is matched in the normalized text, by its spelling as it is;
            otherwise its spelling is normalized, too, as Hugging Face does.
        ordinary: the model may make it of ordinary text, too; never true of a special one.
    """

    text: str
    id: int
    special: bool = True
    single_word: bool = False
    strip_left: bool = False
    strip_right: bool = False
    normalized: bool = False
    literal: bool = False
    ordinary: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.text, str) or not self.text:
            raise TokctlError("an added token can't be empty")
        try:
            self.text.encode()
        except UnicodeEncodeError:
            raise TokctlError(f"the added token {self.text!r} is not UTF-8") from None
        if type(self.id) is not int or not 0 <= self.id < 2**32 - 1:
            raise TokctlError(f"the added token {self.text!r} can't have the id {self.id!r}")
