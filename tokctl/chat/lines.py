"""Conversations from JSON Lines: each line is a list of messages, or an object that has one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from tokctl.chat.template import Conversation, TokenizerChat
from tokctl.errors import TokctlError
from tokctl.sources import Archive, Batch, Document, Records, Source
from tokctl.sources.blocks import whole_lines

#: Bytes of rendered texts in a batch: a template can make a short line long.
_BATCH = 1 << 20
_BOM = "\ufeff"


class ChatText(bytes):
    """A conversation as text.

    Attributes:
        spans: what the assistant wrote: begins and ends, in characters.
    """

    spans: list[tuple[int, int]]


def rendered(source: Source, chat: TokenizerChat, *, mask: bool) -> Records | Archive:
    """A source of conversations as one of their texts, each a record.

    With `mask`, the texts are `ChatText`.

    Raises:
        TokctlError: reading it, naming the line: it is not a conversation, the template fails or
            refuses it, or does not show which part is the assistant's.
    """
    if isinstance(source, Archive):
        members = source.members
        return source._replace(
            members=lambda: (rendered(each, chat, mask=mask) for each in members())  # type: ignore[misc]
        )
    if isinstance(source, Records):
        raise TokctlError(
            f"{source.name} is a table, and conversations are read from JSON Lines",
            "write each conversation on a line of its own, as JSON",
        )
    document: Document = source
    read = [0]

    def blocks() -> Iterator[bytes]:
        read[0] = 0
        for block in document.blocks():
            read[0] += len(block)
            yield block

    tell: Callable[[], int] = document.tell or (lambda: read[0])
    return Records(
        document.name,
        document.size,
        lambda: _batches(blocks(), document.name, chat, mask),
        tell,
        document.prompt,
    )


def _batches(
    blocks: Iterator[bytes], name: str, chat: TokenizerChat, mask: bool
) -> Iterator[Batch]:
    number, size = 0, 0
    texts: list[bytes] = []
    for block in whole_lines(blocks):
        for line in block.removesuffix(b"\n").split(b"\n"):
            number += 1
            if not line.strip(b" \t\r"):
                # Texts of a batch stand on lines that follow one another.
                if texts:
                    yield Batch(texts, first=number - len(texts))
                texts, size = [], 0
                continue
            text = _text(line, f"{name}: line {number}", chat, mask=mask, first=number == 1)
            texts.append(text)
            size += len(text)
            if size >= _BATCH:
                yield Batch(texts, first=number - len(texts) + 1)
                texts, size = [], 0
        if texts:
            yield Batch(texts, first=number - len(texts) + 1)
        texts, size = [], 0


def _text(line: bytes, place: str, chat: TokenizerChat, *, mask: bool, first: bool) -> bytes:
    try:
        text, spans = chat.render(conversation(line, first=first), mask=mask)
        data = text.encode()
    except TokctlError as error:
        raise TokctlError(f"{place}: {error.message}", error.hint, error.exit_code) from None
    except UnicodeEncodeError as error:
        raise TokctlError(
            f"{place}: {error.object[error.start]!r} is half a character",
            "a pair of surrogates (\\ud83d\\ude00) is one; leave out what is alone",
        ) from None
    if spans is None:
        return data
    masked = ChatText(data)
    masked.spans = spans
    return masked


def conversation(line: bytes, *, first: bool = False) -> Conversation:
    """The conversation of a line; `first`: a byte order mark can begin it.

    Raises:
        TokctlError: it holds none.
    """
    try:
        text = line.decode()
        value: Any = json.loads(text.removeprefix(_BOM) if first else text)
    except UnicodeDecodeError as error:
        raise TokctlError(f"byte {error.start} is not UTF-8", "JSON is UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise TokctlError(
            f"is no JSON: {str(error)[:100]}", "each line is one conversation"
        ) from None
    if isinstance(value, list):
        return Conversation(value)
    if not isinstance(value, dict) or "messages" not in value:
        keys = f"; it has: {', '.join(list(value)[:20])}" if isinstance(value, dict) else ""
        raise TokctlError(
            f"is no conversation{keys}",
            "a line is a list of messages, or an object with messages, tools, documents and "
            "chat_template_kwargs",
        )
    return Conversation(
        value["messages"],
        value.get("tools"),
        value.get("documents"),
        value.get("chat_template_kwargs") or {},
    )
