"""`tokctl encode --chat`, and rows with several columns: `--assistant-mask` and `--pack`."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from contextlib import AbstractContextManager
from time import perf_counter
from typing import TYPE_CHECKING, Any

from tokctl.cli import streams
from tokctl.cli.world import Console
from tokctl.core.errors import BadInput, BadOption
from tokctl.core.humanize import plural

if TYPE_CHECKING:
    from tokctl.cli.encode_output import RowWriter
    from tokctl.cli.options.encode import ChatOptions
    from tokctl.extras.chat.lines import Unanswered
    from tokctl.idfiles.columns import ColumnWriter
    from tokctl.idfiles.dtypes import Dtype
    from tokctl.idfiles.packing import Columns
    from tokctl.sources import Source
    from tokctl.tokenizer import Tokenizer


class Chats:
    """Conversations that `encode` renders, and rows with several columns.

    Attributes:
        options: the options of the command line.
        facts: the templates and settings that the rendered texts depend on; set by `rendered`.
        unanswered: the conversations without an assistant's turn; set by `rendered`.
    """

    def __init__(self, options: ChatOptions) -> None:
        self.options = options
        self.facts: dict[str, Any] | None = None
        self.unanswered: Unanswered | None = None

    def columns(self, form: str) -> tuple[str, ...]:
        """Return the columns of a table that can hold conversations; none without `--chat`.

        Args:
            form: the format of the texts.

        Raises:
            TokctlError: conversations are not read from this format.
        """
        if not self.options.chat:
            return ()
        if form == "tsv":
            raise BadOption(
                "--chat reads JSON Lines and tables, not tsv", "leave --format out", "conflict"
            )
        from tokctl.extras.chat.lines import COLUMNS

        return COLUMNS

    def check(self, form: str, given: Container[str]) -> None:
        """Raise TokctlError if rows with several columns do not fit the form or an option.

        Args:
            form: the output form of `--as`.
            given: the other options that are given.
        """
        pack, mask = self.options.pack is not None, self.options.assistant_mask
        wanted = "--pack" if pack else "--assistant-mask"
        forms = ("jsonl", "parquet", "safetensors")
        if (pack or mask) and form not in forms:
            raise BadOption(
                f"{wanted} gives several columns, which --as {form} can't hold",
                f"take one of: {', '.join(forms)}",
                "conflict",
            )
        if self.has_columns(form):
            for other in ("--shard-size", "--stride", "--pad"):
                if other in given:
                    raise BadOption(
                        f"--assistant-mask can't be used with {other}: rows have several columns",
                        "leave one of them out",
                        "conflict",
                    )

    def has_columns(self, form: str) -> bool:
        """Return whether rows need a column writer; jsonl holds an assistant mask without one."""
        return self.options.pack is not None or (self.options.assistant_mask and form != "jsonl")

    def rendered(
        self, world: Console, texts: Sequence[Source], tokenizer: Tokenizer, model: str
    ) -> list[Source]:
        """Return sources of rendered texts, one for each source of conversations in `texts`.

        Also sets `facts` and `unanswered`; the latter is complete once the sources have been read.

        Args:
            world: where a template from stdin is read.
            texts: the sources of conversations.
            tokenizer: the model, whose template is used unless `chat_template` is set.
            model: the path of the model file.
        """
        from tokctl.extras.chat import TokenizerChat
        from tokctl.extras.chat.lines import Unanswered, rendered

        template, name = self._template(world)
        chat = TokenizerChat(
            tokenizer,
            template=template,
            path=model,
            name=name,
            generation_prompt=self.options.generation_prompt,
            options=dict(map(_option, self.options.chat_option or ())),
        )
        self.facts = chat.facts
        self.unanswered = Unanswered()
        return [
            rendered(source, chat, mask=self.options.assistant_mask, unanswered=self.unanswered)
            for source in texts
        ]

    def say_unanswered(self, world: Console) -> None:
        """Tell the user how many conversations have a mask of zeros only."""
        found = self.unanswered
        if found is not None and found.count:
            world.say(
                f"note: the mask of {plural(found.count, 'conversation')} is all 0: nothing is "
                f"the assistant's; {found.place} has the roles {', '.join(found.roles)}"
            )

    def _template(self, world: Console) -> tuple[str | None, str]:
        """Return the template that `--chat-template` gives, and its name in messages."""
        from pathlib import Path

        if self.options.chat_template is None:
            return None, "the chat template"
        if (
            not Path(self.options.chat_template).is_file()
            and self.options.chat_template.isidentifier()
        ):
            return self.options.chat_template, f"the chat template {self.options.chat_template!r}"
        (document,) = streams.documents(world, [self.options.chat_template])
        try:
            text = b"".join(document.blocks()).decode()
        except UnicodeDecodeError as error:
            raise BadInput(
                f"{document.name} is not UTF-8 at byte {error.start}",
                "a template is a text",
                "not-utf8",
            ) from None
        return text, document.name


def _option(text: str) -> tuple[str, Any]:
    """Parse `enable_thinking=false` into a name and a value: JSON if it parses, else text."""
    import json

    name, found, value = text.partition("=")
    if not found or not name.isidentifier():
        raise BadOption(
            f"invalid value {text!r} for --chat-option",
            "spell it NAME=VALUE: enable_thinking=false",
            "bad-value",
        )
    try:
        return name, json.loads(value)
    except (ValueError, RecursionError):
        return name, value


def write_columns(
    world: Console,
    chats: Chats,
    rows: RowWriter,
    texts: Sequence[Source],
    *,
    dtype: Dtype,
    output: str | None,
) -> None:
    """Write rows with several columns, packed with `--pack`.

    Args:
        world: the streams, and where progress is shown.
        chats: the options `pack` and `assistant_mask` decide which columns there are.
        rows: encodes the texts, and holds the output form.
        texts: the sources to encode, already rendered if they are conversations.
        dtype: the type of the ids; the other columns are int32 and uint8.
        output: the path to write; None is stdout.
    """
    from tokctl.cli.encode_output import summary
    from tokctl.cli.progress import ProgressDisplay
    from tokctl.idfiles.columns import open_columns
    from tokctl.idfiles.dtypes import DTYPES
    from tokctl.idfiles.packing import IDS, LENGTHS, MASK, POSITIONS, Packer

    start, options = perf_counter(), chats.options
    dtypes = {IDS: dtype}
    packer = None if options.pack is None else Packer(options.pack)
    if packer is not None:
        dtypes |= {POSITIONS: DTYPES["int32"], LENGTHS: DTYPES["int32"]}
    if options.assistant_mask:
        dtypes[MASK] = DTYPES["uint8"]

    def write(writer: ColumnWriter) -> None:
        with ProgressDisplay(world) as progress:
            for row in _documents(rows, texts, progress):
                for each in (row,) if packer is None else packer.add(row):
                    writer.add(each)
            for each in () if packer is None else packer.rest():
                writer.add(each)

    if output is None:
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
