"""`tokctl encode --chat`, and the rows with several columns: `--assistant-mask`, `--pack`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

from tokctl.cli import streams
from tokctl.cli.world import World
from tokctl.errors import TokctlError
from tokctl.wording import listed, plural

if TYPE_CHECKING:
    from tokctl.chat.lines import Unanswered
    from tokctl.cli.encode_output import RowWriter
    from tokctl.idfiles.columns import ColumnWriter
    from tokctl.idfiles.dtypes import Dtype
    from tokctl.idfiles.packing import Columns
    from tokctl.sources import Source
    from tokctl.tokenizer import Tokenizer


@dataclass(eq=False, repr=False)
class ChatOptions:
    """The options of `encode` about chats, and about rows with several columns.

    Attributes:
        facts: what the texts depend on beside the conversations; known when they are `rendered`.
        unanswered: conversations in which nothing is the assistant's, if that was asked for.
    """

    chat: bool = False
    chat_template: str | None = None
    chat_option: Sequence[str] | None = None
    generation_prompt: bool = False
    assistant_mask: bool = False
    pack: int | None = None
    facts: dict[str, Any] | None = None
    unanswered: Unanswered | None = None

    def check(self, form: str, given: dict[str, bool]) -> None:
        """TokctlError if options do not go together; `given` are those of other kinds."""
        for name, value in vars(self).items():
            if value and not self.chat and name != "pack":
                raise TokctlError(f"--{name.replace('_', '-')} is for --chat", "add --chat")
        if self.chat:
            _refuse(
                "--chat", given, ("--whole", "--lines", "--special", "--text-field", "--engine")
            )
        if self.assistant_mask:
            _refuse("--assistant-mask", given, ("--count", "--alpha"))
        if self.pack is not None:
            names = ("--count", "--pad", "--stride", "--alpha", "--offsets", "--byte-offsets")
            _refuse("--pack", given, (*names, "--full"))
        wanted = "--pack" if self.pack is not None else "--assistant-mask"
        if (self.pack is not None or self.assistant_mask) and form not in (
            forms := ("jsonl", "parquet", "safetensors")
        ):
            raise TokctlError(
                f"{wanted} gives several columns, which --as {form} can't hold",
                f"take one of: {', '.join(forms)}",
            )
        if self.has_columns(form):
            _refuse(wanted, given, ("--shard-size", "--stride", "--pad"))

    def has_columns(self, form: str) -> bool:
        """Are rows written that have several columns, and are not rows of `encode`'s own jsonl?"""
        return self.pack is not None or (self.assistant_mask and form != "jsonl")

    def rendered(
        self, world: World, texts: Sequence[Source], tokenizer: Tokenizer, model: str
    ) -> list[Source]:
        """The sources of conversations as those of their texts."""
        from tokctl.chat import TokenizerChat
        from tokctl.chat.lines import Unanswered, rendered

        template, name = self._template(world)
        chat = TokenizerChat(
            tokenizer,
            template=template,
            path=model,
            name=name,
            generation_prompt=self.generation_prompt,
            options=dict(map(_option, self.chat_option or ())),
        )
        self.facts = chat.facts
        self.unanswered = Unanswered()
        return [
            rendered(source, chat, mask=self.assistant_mask, unanswered=self.unanswered)
            for source in texts
        ]

    def say_unanswered(self, world: World) -> None:
        """Says in how many conversations the assistant wrote nothing, if that was asked for."""
        found = self.unanswered
        if found is not None and found.count:
            world.say(
                f"note: the mask of {plural(found.count, 'conversation')} is all 0: nothing is "
                f"the assistant's; {found.place} has the roles {', '.join(found.roles)}"
            )

    def _template(self, world: World) -> tuple[str | None, str]:
        """The template that `--chat-template` gives, and what it is called in messages."""
        from pathlib import Path

        if self.chat_template is None:
            return None, "the chat template"
        if not Path(self.chat_template).is_file() and self.chat_template.isidentifier():
            return self.chat_template, f"the chat template {self.chat_template!r}"
        (document,) = streams.documents(world, [self.chat_template])
        try:
            text = b"".join(document.blocks()).decode()
        except UnicodeDecodeError as error:
            raise TokctlError(
                f"{document.name} is not UTF-8 at byte {error.start}", "a template is a text"
            ) from None
        return text, document.name


def _refuse(option: str, given: dict[str, bool], others: Sequence[str]) -> None:
    wrong = [other for other in others if given.get(other)]
    if wrong:
        raise TokctlError(f"{option} does not go with {listed(wrong)}", "leave one of them out")


def _option(text: str) -> tuple[str, Any]:
    """`enable_thinking=false`: the name, and the value, which is JSON, or else a text."""
    import json

    name, found, value = text.partition("=")
    if not found or not name.isidentifier():
        raise TokctlError(
            f"--chat-option can't be {text!r}", "spell it NAME=VALUE: enable_thinking=false"
        )
    try:
        return name, json.loads(value)
    except (ValueError, RecursionError):
        return name, value


def write_columns(
    world: World,
    options: ChatOptions,
    rows: RowWriter,
    texts: Sequence[Source],
    *,
    dtype: Dtype,
    output: str | None,
) -> None:
    """Writes rows with several columns, packed or not."""
    from tokctl.cli.encode_output import summary
    from tokctl.cli.progress import Bars
    from tokctl.idfiles.columns import open_columns
    from tokctl.idfiles.dtypes import DTYPES
    from tokctl.idfiles.packing import IDS, LENGTHS, MASK, POSITIONS, Packer

    start = perf_counter()
    dtypes = {IDS: dtype}
    packer = None if options.pack is None else Packer(options.pack)
    if packer is not None:
        dtypes |= {POSITIONS: DTYPES["int32"], LENGTHS: DTYPES["int32"]}
    if options.assistant_mask:
        dtypes[MASK] = DTYPES["uint8"]

    def write(writer: ColumnWriter) -> None:
        with Bars(world) as progress:
            for row in _documents(rows, texts, progress):
                for each in (row,) if packer is None else packer.add(row):
                    writer.add(each)
            for each in () if packer is None else packer.rest():
                writer.add(each)

    if output is None or output == "-":
        with streams.output(world, None) as out, open_columns(rows.form, out, dtypes) as writer:
            write(writer)
    else:
        opened: AbstractContextManager[ColumnWriter] = open_columns(rows.form, output, dtypes)
        with opened as writer:
            write(writer)
    if world.verbose:
        world.say(summary(rows.documents, perf_counter() - start))


def _documents(rows: RowWriter, texts: Sequence[Source], progress: Any) -> Iterator[Columns]:
    from tokctl.idfiles.packing import IDS
    from tokctl.tokenizer.documents import TrackedSources

    tracked = TrackedSources(texts, progress)
    for _, _, source in tracked.each():
        for batch in rows.documents.texts(source):
            for row in rows.columns(batch, source.name):
                rows.documents.tokens += len(row[IDS])
                yield row
            tracked.tell()
