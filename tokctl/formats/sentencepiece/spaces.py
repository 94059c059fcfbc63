"""What SentencePiece does with spaces, as normalizers and as decoders.

By its source (`Normalizer::Normalize` of `src/normalizer.cc`, `Decode` of
`src/sentencepiece_processor.cc`): its rules come first, then spaces are removed and joined, then
`▁` is put before the text, or behind it, and in place of each space: all of them normalizers,
because it matches user-defined pieces in the text that results. At the end of the text it
removes `▁`, those that the text itself spells among them.

Decoding takes one `▁` of the first piece away, and where extra spaces are removed one of each
piece before any text: all of them, unless a piece starts with two.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from tokctl.model.parts import DECODERS, NORMALIZERS, Part

MARK = "▁"
#: What stands for an unknown piece, where a model file says nothing else.
UNKNOWN_SURFACE = " \u2047 "
_ALL = 2**31 - 1


class Spaces(NamedTuple):
    """The options of a model.

    dummy: where a space is put: `before` the text, `behind` it, or nowhere.
    tidy: are spaces removed at the ends, and runs of them joined?
    escape: does `▁` stand for a space?
    """

    dummy: str
    tidy: bool
    escape: bool

    @classmethod
    def of(cls, proto: Any) -> Spaces:
        """Those of a model file."""
        spec = proto.normalizer_spec
        behind = proto.trainer_spec.treat_whitespace_as_suffix
        dummy = ("behind" if behind else "before") if spec.add_dummy_prefix else ""
        return cls(dummy, spec.remove_extra_whitespaces, spec.escape_whitespaces)

    @property
    def strips(self) -> bool:
        """Does decoding remove `▁` at the start?"""
        return bool(self.dummy) or self.tidy


#: Every way there is.
EVERY = [
    Spaces(dummy, tidy, escape)
    for dummy in ("before", "behind", "")
    for tidy in (True, False)
    for escape in (True, False)
]


def normalizers(spaces: Spaces, *, rules: bool) -> tuple[Part, ...]:
    """What is done with spaces, behind the rules, if there are any."""
    part = NORMALIZERS.part
    dummy, tidy, escape = spaces
    parts = []
    if tidy:
        parts += [part("strip-spaces", right=not escape), part("collapse-spaces")]
    if dummy == "before":
        # Rules can leave nothing of a text; then it gets a space, which is removed again if any.
        alone = rules and not tidy
        parts.append(part("dummy-space") if alone else part("prepend", text=" "))
    if tidy and escape:
        # At the end it removes its own ▁ and the text's alike; nothing else tells them apart.
        parts.append(part("replace", pattern=MARK, content=" "))
        parts.append(part("strip-spaces", left=False))
    if dummy == "behind":
        parts.append(part("dummy-space", behind=True))
    if escape:
        parts.append(part("replace", pattern=" ", content=MARK))
    return tuple(parts)


def decoders(
    spaces: Spaces,
    texts: Iterable[str],
    unk_token: str,
    surface: str = UNKNOWN_SURFACE,
    *,
    byte_fallback: bool,
    words: bool = False,
) -> tuple[Part, ...]:
    """How pieces, of which these are all, become text again. words: each is a whole word."""
    part = DECODERS.part
    texts = list(texts)
    parts = [part("replace", pattern=unk_token, content=surface)]
    if byte_fallback and (words or MARK not in texts):
        # The mark may be among the bytes, as that of a word without a token: there it stays.
        prepend = "always" if spaces.strips else "never"
        spaced = part("metaspace", prepend=prepend)
        return (*parts, spaced, part("byte-fallback"), part("fuse"))
    if byte_fallback:
        parts.append(part("byte-fallback"))
    parts.append(part("fuse"))
    if spaces.strips:
        # Before ▁ is a space: what stands for an unknown piece starts with one, too.
        twice = not words and any(piece.startswith(MARK * 2) for piece in texts)
        parts.append(part("strip", content=MARK, start=_ALL if spaces.tidy and not twice else 1))
    parts.append(part("replace", pattern=MARK, content=" "))
    return tuple(parts)
