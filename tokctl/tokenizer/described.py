"""What a tokenizer is: its recipe, its tokens, their ids."""

from __future__ import annotations

from tokctl.model import FilledRecipe, Merge, Recipe
from tokctl.values import cached_property


class Described:
    """A filled recipe, and what can be said of it."""

    def __init__(self, model: FilledRecipe) -> None:
        self.model = model

    @property
    def recipe(self) -> Recipe:
        """How text becomes tokens."""
        return self.model.recipe

    @property
    def merges(self) -> list[Merge]:
        """The merge history, in the order learned."""
        return self.model.merges

    @property
    def vocab_size(self) -> int:
        """Everything that has an id."""
        return self.model.size

    @property
    def special_ids(self) -> dict[str, int]:
        """The ids of the special tokens, in id order."""
        return self.model.special_ids

    @property
    def unk_id(self) -> int | None:
        """The id of the unknown token, if the recipe has one."""
        token = self.recipe.unk_token
        return None if token is None else self.special_ids[token]

    @property
    def obstacle(self) -> str | None:
        """Why Hugging Face refuses this tokenizer's file; None where it loads it."""
        from tokctl import formats

        return formats.obstacle(self.model)

    @cached_property
    def tokens(self) -> list[str]:
        """Every token by id, as text; byte-level ones in GPT-2's stand-ins (`Ġ` is a space)."""
        names = list(self.model.spelled)
        for token in self.model.added:
            names[token.id] = token.text
        return names

    @cached_property
    def vocabulary(self) -> dict[str, int]:
        """The id of every token."""
        return {token: id_ for id_, token in enumerate(self.tokens)}
