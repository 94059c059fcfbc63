"""Conversations read from JSON Lines and tables.

Each line is a list of messages, or an object with such a list; each row of a table is an object.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from tokctl.core.errors import BadInput, TokctlError
from tokctl.extras.chat.template import Conversation, TokenizerChat
from tokctl.sources import Archive, Batch, Document, Records, Source
from tokctl.sources.blocks import whole_lines

#: Bytes of rendered texts per batch. The bytes of the lines say little, because a template can
#: make a long text of a short line.
_BATCH = 1 << 20
_BOM = "\ufeff"

#: Keys of the list of messages: the usual one, and that of ShareGPT's files.
MESSAGES, SHAREGPT = "messages", "conversations"
#: Keys that are read from an object, and columns that are read from a table.
COLUMNS = (MESSAGES, SHAREGPT, "system", "tools", "documents", "chat_template_kwargs")

#: Role by the value of `from` in ShareGPT's files and in data sets with the same form.
_SHAREGPT_ROLES = {
    "human": "user",
    "gpt": "assistant",
    "system": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "observation": "tool",
}


class ChatText(bytes):
    """A rendered conversation as UTF-8, with the spans that the assistant wrote.

    Attributes:
        spans: start and end of each of the assistant's spans, in characters.
    """

    spans: list[tuple[int, int]]


@dataclass
class Unanswered:
    """Conversations in which the assistant wrote nothing.

    Attributes:
        count: the number of these conversations.
        place: the file and line of the first one.
        roles: the roles in the first one, in order of appearance.
    """

    count: int = 0
    place: str = ""
    roles: tuple[str, ...] = ()

    def add(self, location: str, chat: Conversation) -> None:
        """Count a conversation; record the place and the roles of the first one."""
        self.count += 1
        if self.count == 1:
            self.place = location
            self.roles = tuple(dict.fromkeys(str(message.get("role")) for message in chat.messages))


def rendered(
    source: Source, chat: TokenizerChat, *, mask: bool, unanswered: Unanswered | None = None
) -> Records | Archive:
    """Return a source of rendered texts, one record for each conversation in `source`.

    Args:
        source: JSON Lines as a document, records that are JSON objects (see `Reading.columns`), or
            an archive of either.
        chat: the tokenizer whose template renders the conversations.
        mask: make each text a `ChatText`, with the spans that the assistant wrote.
        unanswered: with `mask`, collects the conversations without such a span.

    Raises:
        TokctlError: while the result is read. A line is not a conversation, the template fails or
            refuses it, or the template does not show which part is the assistant's. The error
            names the line.
    """
    if isinstance(source, Archive):
        members = source.members

        def inside() -> Iterator[Any]:
            for member in members():
                yield rendered(member, chat, mask=mask, unanswered=unanswered)

        return source._replace(members=inside)
    render = partial(_text, chat=chat, mask=mask, unanswered=unanswered)
    if isinstance(source, Records):
        name, unit, records = source.name, source.unit, source.batches

        def rows() -> Iterator[tuple[int, Sequence[bytes]]]:
            return ((batch.first, batch.texts) for batch in records())

        return source._replace(
            batches=lambda: _batches(rows(), f"{name}: {unit}", render), splitter=None
        )
    document: Document = source
    read = [0]

    def lines() -> Iterator[tuple[int, Sequence[bytes]]]:
        read[0], number = 0, 1
        for block in whole_lines(blocks()):
            some = block.removesuffix(b"\n").split(b"\n")
            yield number, some
            number += len(some)

    def blocks() -> Iterator[bytes]:
        for block in document.blocks():
            read[0] += len(block)
            yield block

    return Records(
        document.name,
        document.size,
        lambda: _batches(lines(), f"{document.name}: line", render),
        document.tell or (lambda: read[0]),
        document.prompt,
    )


def _batches(
    groups: Iterator[tuple[int, Sequence[bytes]]], location: str, render: Callable[..., bytes]
) -> Iterator[Batch]:
    """Yield batches of rendered texts.

    Each of `groups` is the number of its first line, from 1, and its lines. Empty lines are
    skipped.
    """
    for first, some in groups:
        number, size = first, 0
        texts: list[bytes] = []
        for number, line in enumerate(some, first):
            if line.strip(b" \t\r"):
                text = render(line, f"{location} {number}", is_first=number == 1)
                texts.append(text)
                size += len(text)
                if size < _BATCH:
                    continue
                yield Batch(texts, first=number - len(texts) + 1)
            elif texts:
                # A batch numbers its texts from its first line on, so an empty line ends it.
                yield Batch(texts, first=number - len(texts))
            texts, size = [], 0
        if texts:
            yield Batch(texts, first=number - len(texts) + 1)


def _text(
    line: bytes,
    location: str,
    *,
    chat: TokenizerChat,
    mask: bool,
    unanswered: Unanswered | None,
    is_first: bool,
) -> bytes:
    try:
        read = conversation(line, is_first=is_first)
        text, spans = chat.render(read, mask=mask)
        data = text.encode()
    except TokctlError as error:
        raise error.reworded(f"{location}: {error.message}") from None
    except UnicodeEncodeError as error:
        raise BadInput(
            f"{location}: {error.object[error.start]!r} is a lone surrogate, half of a character",
            "write both surrogates (\\ud83d\\ude00), or leave this one out",
            "bad-record",
        ) from None
    if spans is None:
        return data
    if not spans and unanswered is not None:
        unanswered.add(location, read)
    masked = ChatText(data)
    masked.spans = spans
    return masked


def conversation(line: bytes, *, is_first: bool = False) -> Conversation:
    """Return the conversation that a line of JSON holds.

    Args:
        line: one line, in UTF-8.
        is_first: whether the line is the first one, which may begin with a byte order mark.

    Raises:
        TokctlError: the line is not JSON, or not a conversation.
    """
    try:
        text = line.decode()
        value: Any = json.loads(text.removeprefix(_BOM) if is_first else text)
    except UnicodeDecodeError as error:
        raise BadInput(
            f"byte {error.start} is not UTF-8", "convert the file to UTF-8", "not-utf8"
        ) from None
    except (ValueError, RecursionError) as error:
        raise BadInput(
            f"is not valid JSON: {str(error)[:100]}", "each line is one conversation", "bad-record"
        ) from None
    if isinstance(value, list):
        value = {MESSAGES: value}
    if not isinstance(value, dict) or not {MESSAGES, SHAREGPT} & {*value}:
        keys = (
            f" (keys: {', '.join(list(value)[:20]) or 'none'})" if isinstance(value, dict) else ""
        )
        raise BadInput(
            f"is not a conversation{keys}",
            "write a list of messages in each line, or an object with messages, tools, documents "
            "and "
            "chat_template_kwargs",
            "bad-record",
        )
    parsed = {name: _parsed(value.get(name)) for name in COLUMNS}
    name = MESSAGES if parsed[MESSAGES] is not None else SHAREGPT
    if isinstance(messages := parsed[name], list):
        messages = [_message(message, number) for number, message in enumerate(messages, 1)]
        if name == SHAREGPT and (system := value.get("system")):
            messages = [{"role": "system", "content": system}, *messages]
    return Conversation(
        messages,
        parsed["tools"],
        parsed["documents"],
        parsed["chat_template_kwargs"] or {},
    )


def _parsed(value: Any) -> Any:
    """Return the value of a JSON string: tables often keep values of variable type as JSON.

    Any other value, or a string that is not JSON, is returned as it is.
    """
    if isinstance(value, str):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _message(message: Any, number: int) -> Any:
    """Return a message with `role` and `content`, converted from ShareGPT's `from` and `value`."""
    if not isinstance(message, dict) or message.get("role") is not None:
        return message
    if not isinstance(sender := message.get("from"), str) or "value" not in message:
        raise BadInput(
            f"message {number} has no role (keys: {', '.join(list(message)[:20]) or 'none'})",
            'a message is {"role": "user", "content": "…"}, or {"from": "human", "value": "…"}',
            "bad-record",
        )
    if sender not in _SHAREGPT_ROLES:
        raise BadInput(
            f"message {number} is from {sender!r}",
            f"of from and value, {', '.join(_SHAREGPT_ROLES)} are known; write it with role and "
            "content",
            "bad-record",
        )
    fields = {name: value for name, value in message.items() if name not in ("from", "value")}
    return {**fields, "role": _SHAREGPT_ROLES[sender], "content": message["value"]}
