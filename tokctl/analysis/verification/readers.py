"""Who reads a file: tokctl, and the libraries that define its format."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tokctl import formats
from tokctl.analysis.verification.peers import PEERS, Reader
from tokctl.analysis.verification.result import Difference
from tokctl.errors import TokctlError

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer


def readers_of(
    tokenizer: Tokenizer, other: Tokenizer | str | Path, format_name: str | None
) -> tuple[list[Reader], tuple[str, ...], list[Difference]]:
    """The readers, why others are none, and who fails to load the file."""
    from tokctl.tokenizer import Tokenizer

    if isinstance(other, Tokenizer):
        return [_reader(other)], (), []
    readers: list[Reader] = []
    failed: list[Difference] = []
    reasons: list[str] = []
    try:
        if format_name is None or formats.named(format_name).reads:
            loaded = Tokenizer.load(other)
            format_name = format_name or loaded.format
            readers.append(_reader(loaded))
    except TokctlError as error:
        failed.append(Difference("tokctl", "error", said=(error.message,)))
    why = formats.obstacle(tokenizer.model) if format_name == "tokctl" else None
    for peer in PEERS.get(format_name or "", ()):
        if why:
            reasons.append(f"{peer.package} refuses the file: {why}")
            continue
        try:
            readers.append(peer.load(Path(other), tokenizer.model))
        except ImportError:
            reasons.append(f"{peer.package} is not installed")
        except BaseException as error:
            failed.append(Difference(peer.package, "error", said=(reason(error),)))
    return readers, tuple(reasons), failed


def _reader(tokenizer: Tokenizer) -> Reader:
    def encode(texts: Sequence[str], around: bool) -> list[list[int]]:
        return tokenizer.encode_batch(texts, special="all", add_special=around)

    return Reader(
        "tokctl",
        encode,
        lambda ids: tokenizer.decode(ids, errors="replace"),
        lambda id_: tokenizer.tokens[id_] if id_ < tokenizer.vocab_size else "?",
        puts_around=True,
    )


def reason(error: BaseException) -> str:
    """What a library says. Its panics are no `Exception`."""
    if isinstance(error, (KeyboardInterrupt, SystemExit, MemoryError, GeneratorExit)):
        raise error
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
