"""`AddedToken` with the members of Hugging Face's `tokenizers`."""

from __future__ import annotations

from typing import Any, ClassVar


class AddedToken:
    """A token that is matched in text before the model segments the rest.

    Attributes:
        content: the text.
        single_word: matched only without a letter on either side.
        lstrip, rstrip: the match includes the white space before it, after it.
        normalized: matched in the normalized text.
        special: left out by `decode`.
    """

    #: Names of the flags that a `tokenizer.json` stores.
    FLAGS: ClassVar = ("single_word", "lstrip", "rstrip", "normalized", "special")

    def __init__(
        self,
        content: str = "",
        *,
        single_word: bool = False,
        lstrip: bool = False,
        rstrip: bool = False,
        normalized: bool | None = None,
        special: bool = False,
    ) -> None:
        self.content = content
        self.single_word = single_word
        self.lstrip = lstrip
        self.rstrip = rstrip
        self._normalized = normalized
        self.special = special

    @property
    def normalized(self) -> bool:
        """Return whether the token is matched in the normalized text.

        The default is true for tokens that are not special.
        """
        return not self.special if self._normalized is None else self._normalized

    def __getstate__(self) -> dict[str, Any]:
        return {"content": self.content, **{name: getattr(self, name) for name in self.FLAGS}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def __str__(self) -> str:
        return self.content

    def __repr__(self) -> str:
        return (
            f'AddedToken("{self.content}", rstrip={self.rstrip}, lstrip={self.lstrip}, '
            f"single_word={self.single_word}, normalized={self.normalized}, "
            f"special={self.special})"
        )

    def __eq__(self, other: object) -> bool:
        # An `AddedToken` of `tokenizers` compares equal, too.
        names = ("content", *self.FLAGS)
        if not all(hasattr(other, name) for name in names):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in names)

    def __hash__(self) -> int:
        return hash(self.content)
