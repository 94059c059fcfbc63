"""The tokens that llama.cpp puts around a text, as a template."""

from __future__ import annotations

from tokctl.errors import TokctlError
from tokctl.formats.gguf.vocabulary import Vocabulary
from tokctl.model.parts import POST_PROCESSORS, AddedToken, Part


def template(
    found: Vocabulary, added: list[AddedToken], begin: int | None, end: int | None
) -> tuple[Part, ...]:
    """The template that puts the tokens of these ids around each text; none for no ids."""
    special = {token.id: token.text for token in added if token.special}
    for id_ in (begin, end):
        if id_ is not None and (id_ not in special or any(c.isspace() for c in special[id_])):
            raise TokctlError(
                f"it puts the token {found.texts[id_]!r:.80} around texts, which is no control "
                "token",
            )
    before, after = ([special[id_]] if id_ is not None else [] for id_ in (begin, end))
    if not before and not after:
        return ()
    first = [*before, "$A", *after]
    second = [f"{text}:1" for text in (*before, "$B", *after)]
    part = POST_PROCESSORS.part(
        "template", single=" ".join(first), pair=" ".join([*first, *second])
    )
    return (part,)


def ids(
    found: Vocabulary, *, begins: bool, ends: bool, begin: int | None, end: int | None
) -> tuple[int | None, int | None]:
    """What stands before a text and behind it. The arguments are what counts where the file
    says nothing."""
    keys = found.keys
    begins = keys.get("tokenizer.ggml.add_bos_token", begins)
    ends = keys.get("tokenizer.ggml.add_eos_token", ends)
    return (
        found.id_of("bos", begin) if begins else None,
        found.id_of("eos", end) if ends else None,
    )
