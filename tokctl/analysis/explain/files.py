"""Which file a model was read from, and where it came from before that."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tokctl.model import Origin
    from tokctl.tokenizer import Tokenizer


class FileFacts(NamedTuple):
    """What is known of a model's file.

    Attributes:
        format: name of the file's format; None for a model that was made here.
        title: what people call that format; empty without one.
        origin: where a model came from that tokctl has not trained.
        origin_title: what people call the format of the origin; empty without one.
        companions: names of the other files that came with it.
    """

    format: str | None = None
    title: str = ""
    origin: Origin | None = None
    origin_title: str = ""
    companions: tuple[str, ...] = ()

    @property
    def is_converted(self) -> bool:
        """Does the origin say more than the format does?"""
        origin = self.origin
        return origin is not None and (origin.format != self.format or bool(origin.name))


def file_facts(tokenizer: Tokenizer) -> FileFacts:
    """What is known of the file of a model."""
    model = tokenizer.model
    return FileFacts(
        tokenizer.format,
        _title(tokenizer.format or ""),
        model.origin,
        _title(model.origin.format if model.origin else ""),
        tuple(sorted(model.companions)),
    )


def _title(name: str) -> str:
    """What people call a format. A file can name one that only a later tokctl knows."""
    from tokctl.formats.known import FORMATS

    return next((known.title for known in FORMATS if known.name == name), name)
