"""Opening a file of ids of any form, and its text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from tokctl.errors import TokctlError
from tokctl.idfiles.readers import lines
from tokctl.idfiles.readers.given import Given, Meter
from tokctl.sources.streams import Stream

if TYPE_CHECKING:
    from tokctl.idfiles.readers import shards
    from tokctl.idfiles.readers.contract import Part
    from tokctl.idfiles.readers.kinds import Kind
    from tokctl.tokenizer.decodes import Decodes

#: What a file of ids can be; `auto` is what its name and its first bytes say.
FORMS = (
    "auto",
    "ids",
    "jsonl",
    "bin",
    "npy",
    "parquet",
    "arrow",
    "megatron",
    "safetensors",
)

#: First bytes.
_MAGICS = {
    b"\x93NUMPY": "npy",
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"MMIDIDX\0\0": "megatron",
}

#: So many first bytes tell every form.
_HEAD = 16
#: Of which ids in decimal are made.
_DECIMAL = b"0123456789 \t\r\n"
_COMPRESSED = (".gz", ".zst", ".xz", ".bz2")


@dataclass(frozen=True)
class How:
    """How files of ids are read, and what becomes of them.

    Attributes:
        form: one of `FORMS`. A folder of shards has the form that its manifest says.
        dtype: of the form `bin`: a name of NumPy's; None: uint16, or uint32 for a model of more
            than 65,536 tokens.
        field: the field of objects, the column or the tensor that holds the ids; None: what
            encode writes.
        skip_special: leaves special tokens out.
        separator: see `tokctl.idfiles.readers.decoding.text_of`.
        eos: the text of a token: a document ends with it, and it is left out. Not for lines.

    Raises:
        TokctlError: there is no such form or dtype, or they do not go together.
    """

    form: str = "auto"
    dtype: str | None = None
    field: str | None = None
    skip_special: bool = False
    separator: bytes | None = None
    eos: str | None = None

    def __post_init__(self) -> None:
        if self.form not in FORMS:
            hint = f"choose one of: {', '.join(FORMS)}"
            raise TokctlError(f"ids can't be read as {self.form!r}", hint)
        if self.dtype is not None:
            from tokctl.idfiles.readers.kinds import named

            named(self.dtype, "the dtype")
            if self.form not in ("auto", "bin"):
                raise TokctlError(
                    f"a dtype is for bin, and the form is {self.form}", "leave one of them out"
                )

    def text_of(self, tokenizer: Decodes, parts: Iterable[Part]) -> Iterator[bytes]:
        """The text of the ids of a file."""
        from tokctl.idfiles.readers.decoding import text_of

        if self.eos is not None:
            from tokctl.idfiles.encoding import eos_id
            from tokctl.idfiles.readers.separated import separated

            parts = separated(parts, eos_id(tokenizer, self.eos))
        return text_of(tokenizer, parts, skip_special=self.skip_special, separator=self.separator)

    def kind(self, tokenizer: Decodes, dtype: str | None = None) -> Kind:
        """Of the numbers of the form `bin`; `dtype` is what a manifest says."""
        from tokctl.idfiles.readers.kinds import named

        width = "uint16" if tokenizer.vocab_size <= 1 << 16 else "uint32"
        return named(self.dtype or dtype or width, "the dtype")


class Source:
    """A file of ids, stdin or a folder of shards, checked to be there; nothing is read yet."""

    def __init__(self, name: str, how: How, stdin: BinaryIO | None = None) -> None:
        """`name` as the command line takes it; `-` is stdin.

        Raises:
            TokctlError: it is missing, can't be read, or is a folder without a manifest.
        """
        from tokctl.sources import STDIN, documents

        self._how = how
        self._shards: shards.Shards | None = None
        self._given: Given | None = None
        self._path: str | None = None
        #: Bytes that it has, as they lie there, and those that were read; None: not known.
        self.size: int | None = None
        self.meter = Meter()
        self.name = name
        if name != STDIN:
            if _may_be_shards(name):
                from tokctl.idfiles.readers.shards import read

                self._shards = read(name)
                self.size = sum(Path(path).stat().st_size for path in self._shards.paths)
                return
            self._path = name
            if pair := _pair_of(name):
                self.size = sum(Path(path).stat().st_size for path in pair)
                return
        document = documents([name], stdin=stdin, raw=_is_raw(name, how))[0]
        self.name, self.size = document.name, document.size
        self._given = Given(
            document.name,
            lambda: self.meter.watch(document.blocks(), document.tell),
            meter=self.meter,
        )

    def text(self, tokenizer: Decodes) -> Iterator[bytes]:
        """Its text, as it comes.

        Raises:
            TokctlError: naming the place: it is damaged or cut short, holds no ids, or one that
                the model does not have.
        """
        if self._shards is not None:
            return self._of_shards(tokenizer, self._shards)
        if self._given is None:
            given = Given(self.name, lambda: iter(()), meter=self.meter)
            return self._of_numbers(tokenizer, "megatron", given, Stream(iter(())))
        return self._of_file(tokenizer, self._given)

    def _of_file(self, tokenizer: Decodes, given: Given) -> Iterator[bytes]:
        how = self._how
        stream = Stream(given.blocks())
        form = how.form
        if form == "auto":
            form = _form_of(stream, self._path)
            if how.dtype is not None and form in ("ids", "jsonl"):
                form = "bin"  # the dtype says it
        _check_eos(given.name, form, how)
        name, special = given.name, how.skip_special
        if form == "ids":
            yield from lines.from_decimal(tokenizer, name, stream.rest(), skip_special=special)
        elif form == "jsonl":
            blocks = stream.rest()
            yield from lines.from_jsonl(tokenizer, name, blocks, how.field, skip_special=special)
        else:
            path = self._path if self._path and _is_plain(self._path, stream) else None
            given = Given(name, stream.rest, path, given.meter)
            yield from self._of_numbers(tokenizer, form, given, stream)

    def _of_numbers(
        self, tokenizer: Decodes, form: str, given: Given, stream: Stream
    ) -> Iterator[bytes]:
        from tokctl.idfiles.readers.binary import parts_of

        how = self._how
        kind = how.kind(tokenizer)
        parts = parts_of(form, given, stream, self._path, how.field, kind)
        return how.text_of(tokenizer, parts)

    def _of_shards(self, tokenizer: Decodes, found: shards.Shards) -> Iterator[bytes]:
        how = self._how
        if how.form not in ("auto", found.form):
            raise TokctlError(f"{self.name} holds {found.form}, not {how.form}", "leave --from out")
        if found.form not in FORMS[1:]:
            raise TokctlError(f"{self.name} holds {found.form!r}, which is no form of ids", None)
        given = [
            Given(path, partial(self._blocks_of, path), path, self.meter) for path in found.paths
        ]
        special, field = how.skip_special, how.field
        _check_eos(self.name, found.form, how)
        if found.form == "jsonl":
            for one in given:
                yield from lines.from_jsonl(
                    tokenizer, one.name, one.blocks(), field, skip_special=special
                )
            return
        from tokctl.idfiles.readers.binary import parts_of

        kind = how.kind(tokenizer, found.dtype)

        def of(one: Given) -> Iterator[Part]:
            return parts_of(found.form, one, Stream(one.blocks()), one.path, field, kind)

        # A document may go on in the next shard.
        parts = chain.from_iterable(map(of, given))
        yield from how.text_of(tokenizer, parts)

    def _blocks_of(self, path: str) -> Iterator[bytes]:
        """The bytes of a shard."""
        from tokctl.sources import documents

        return self.meter.watch(documents([path], raw=True)[0].blocks(), None)


def _is_raw(name: str, how: How) -> bool:
    """Are the bytes bare numbers? The first ids can look like the beginning of a compressed
    file, so that only a name says that they are compressed."""
    numbers = how.form == "bin" or how.dtype is not None
    numbers = numbers or (how.form == "auto" and name.endswith(".bin"))
    return numbers and not name.endswith(_COMPRESSED)


def _is_plain(path: str, stream: Stream) -> bool:
    """Is it a regular file whose bytes come as they are, not decompressed?"""
    if not Path(path).is_file():
        return False
    head = stream.peek(16)
    try:
        with Path(path).open("rb") as file:
            return file.read(len(head)) == head
    except OSError:
        return False


def _check_eos(name: str, form: str, how: How) -> None:
    if how.eos is not None and form in ("ids", "jsonl"):
        raise TokctlError(
            f"{name}: --eos is for forms of numbers, and this is {form}: a line is a document",
            "--skip-special leaves special tokens out",
        )


def _may_be_shards(name: str) -> bool:
    """A folder, or a manifest by its name."""
    return Path(name).is_dir() or Path(name).name == "manifest.json"


def _pair_of(name: str) -> tuple[str, str] | None:
    """Megatron's two files, where a name is no file but what the names of both begin with."""
    if Path(name).exists():
        return None
    from tokctl.idfiles.readers.megatron import pair

    return pair(name)


def _form_of(stream: Stream, path: str | None) -> str:
    """The form; `ids` where nothing else shows. Of a stream no more is read than tells it.

    First bytes decide, where ids in decimal can't begin like that. Else `.bin` and `.arrow` at
    the end of the name do.
    """
    head = stream.peek(1)
    if head and head not in (bytes([byte]) for byte in _DECIMAL):
        head = stream.peek(_HEAD)
    for magic, form in _MAGICS.items():
        if head.startswith(magic):
            return form
    name = (path or "").lower()
    for ending in _COMPRESSED:
        name = name.removesuffix(ending)
    if name.endswith(".arrow"):
        return "arrow"
    if name.endswith(".bin") and stream.peek(_HEAD).strip(_DECIMAL):
        from tokctl.idfiles.readers import megatron

        pair = megatron.pair(path) if path else None
        return "megatron" if pair and megatron.is_index(pair[1]) else "bin"
    if _is_safetensors(head):
        return "safetensors"
    return "jsonl" if head.lstrip().startswith(b"{") else "ids"


def _is_safetensors(head: bytes) -> bool:
    """Could it begin like this: with the size of a header, and JSON? A text has no zero bytes."""
    size = int.from_bytes(head[:8], "little")
    return len(head) >= 10 and 2 <= size < 1 << 32 and head[8:10] in (b'{"', b"{ ", b"{}")
