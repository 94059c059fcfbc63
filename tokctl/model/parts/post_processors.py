"""The kinds of post-processors: what is put around the tokens of a text, or of two."""

from __future__ import annotations

import re
from typing import NamedTuple

from tokctl.errors import TokctlError
from tokctl.model.parts.part import Family, Kind, Option

POST_PROCESSORS = Family(
    "post-processor",
    {
        "template": Kind(
            "special tokens around a text ($A) and around two ($A, $B); :1 sets a type id",
            {
                "single": Option(str, "$A", may_be_empty=False),
                "pair": Option(str, "$A:0 $B:1", may_be_empty=False),
            },
            main=("single", "pair"),
        ),
        "trim-offsets": Kind(
            "offsets leave the spaces of byte-level tokens out",
            {"prefix_space": Option(bool, True)},
        ),
    },
)


class TemplatePiece(NamedTuple):
    """One piece of a template: `A` or `B` for a text, else a special token, and its type id."""

    sequence: str | None
    token: str | None
    type_id: int


def template_pieces(template: str) -> list[TemplatePiece]:
    """The pieces of a template such as `[CLS] $A [SEP] $B:1 [SEP]:1`, in order.

    Raises:
        TokctlError: `$C`, a type id that is none, a text named twice.
    """
    pieces = []
    for word in template.split():
        match = re.fullmatch(r"(.+?)(?::([0-9]{1,9}))?", word, re.DOTALL)
        text, type_id = (match[1], int(match[2] or 0)) if match else (word, 0)
        if text in ("$A", "$B"):
            pieces.append(TemplatePiece(text[1], None, type_id))
        elif text.startswith("$"):
            raise TokctlError(
                f"the template {template!r} names {text}", "a text is $A, a second one $B"
            )
        else:
            pieces.append(TemplatePiece(None, text, type_id))
    return pieces


def check_template(single: str, pair: str, special_tokens: tuple[str, ...]) -> None:
    """TokctlError unless both templates hold their texts once and name special tokens only."""
    for template, texts in ((single, ["A"]), (pair, ["A", "B"])):
        pieces = template_pieces(template)
        if [piece.sequence for piece in pieces if piece.sequence] != texts:
            wanted = " and ".join(f"${text}" for text in texts)
            raise TokctlError(
                f"the template {template!r} should hold {wanted}, once, in order",
                "for instance: [CLS] $A [SEP]=>[CLS] $A [SEP] $B:1 [SEP]:1",
            )
        for piece in pieces:
            if piece.token is not None and piece.token not in special_tokens:
                names = ", ".join(special_tokens) or "none"
                raise TokctlError(
                    f"the template {template!r} names {piece.token}, which is no special token",
                    f"special tokens: {names}",
                )
