"""Reading of files of ids in every form that `tokctl encode` writes, and decoding block by block.

    from tokctl import Tokenizer, idfiles

    for text in idfiles.read_text(Tokenizer.load("book.json"), "ids.parquet"):
        print(text.decode(), end="")

`tokctl decode` uses this module; see `docs/decoding.md`. The readers of the forms are modules of
their own, which are imported when a file has that form.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from tokctl._native import DecodeStream
from tokctl.core.errors import BadInput, BadOption, CoreError, TokctlError
from tokctl.idfiles import lines
from tokctl.idfiles.dtypes import Dtype, dtype_named, unsigned_for
from tokctl.idfiles.random_access import ByteMeter, IdInput, InputFile
from tokctl.idfiles.registry import BY_NAME, READABLE
from tokctl.sources.blocks import COMPRESSION_SUFFIXES, BlockStream, without_compression_suffix

if TYPE_CHECKING:
    from tokctl.idfiles.chunks import IdPart
    from tokctl.idfiles.manifest import ShardList
    from tokctl.tokenizer import Tokenizer

#: Forms that are read. `auto` finds the form from the name and the first bytes.
INPUT_FORMS = ("auto", "ids", "jsonl", *READABLE)

#: Number of first bytes that distinguish all forms.
_MAGIC_LENGTH = 16
#: Bytes that ids in decimal consist of.
_DECIMAL = b"0123456789 \t\r\n"

#: Bytes of text that are joined before they are yielded, so that small documents share a block.
_OUTPUT_BLOCK = 1 << 18


def read_text(tokenizer: Tokenizer, path: str | Path, **options: Any) -> Iterator[bytes]:
    """Yield the text of a file of ids, of stdin (`-`) or of a folder of shards, block by block.

    Args:
        tokenizer: model of the ids.
        path: the file, or the folder or its manifest.
        options: fields of `IdReadOptions`: form, dtype, field, skip_special, separator, eos.

    Raises:
        TokctlError: the file is missing, damaged or cut off, or an id is outside the vocabulary.
            The message names the file and the position.

    Example:
        tok = Tokenizer.load("book.json")
        text = b"".join(read_text(tok, "ids.npy", eos="<|endoftext|>"))
    """
    return IdSource(str(path), IdReadOptions(**options)).text(tokenizer)


@dataclass(frozen=True)
class IdReadOptions:
    """Options for reading files of ids and for writing their documents as text.

    Attributes:
        form: one of `INPUT_FORMS`. For a folder of shards, the manifest gives the form.
        dtype: NumPy's name of the number type of the form `bin`; None: uint16, or uint32 for a
            model of more than 65,536 tokens.
        field: field of objects, column or tensor that holds the ids; None: the one that encode
            writes.
        skip_special: whether to leave special tokens out.
        separator: bytes after each document; see `decode_parts`.
        eos: text of the token that ends each document, and that is left out. Not for forms of
            lines.

    Raises:
        TokctlError: the form or the dtype is unknown, or the two can't be combined.
    """

    form: str = "auto"
    dtype: str | None = None
    field: str | None = None
    skip_special: bool = False
    separator: bytes | None = None
    eos: str | None = None

    def __post_init__(self) -> None:
        if self.form not in INPUT_FORMS:
            hint = f"choose one of: {', '.join(INPUT_FORMS)}"
            raise BadOption(f"invalid value {self.form!r} for the form of ids", hint, "bad-value")
        if self.dtype is not None:
            dtype_named(self.dtype)
            if self.form not in ("auto", "bin"):
                raise BadOption(
                    f"a dtype is for bin, and the form is {self.form}",
                    "leave one of them out",
                    "conflict",
                )

    def bin_dtype(self, tokenizer: Tokenizer, from_manifest: str | None = None) -> Dtype:
        """Return the type of the numbers of the form `bin`.

        Args:
            tokenizer: model of the ids; the size of its vocabulary gives the default.
            from_manifest: name of the type in the manifest of shards, if any; `dtype` takes
                precedence.
        """
        name = self.dtype or from_manifest
        return dtype_named(name) if name else unsigned_for(tokenizer.vocab_size)


class IdSource:
    """A file of ids, stdin or a folder of shards. Its existence is checked; reading starts later.

    Attributes:
        name: name in messages.
        size: size in bytes, before decompression; None if unknown.
        meter: counter of the bytes read.
    """

    def __init__(self, name: str, options: IdReadOptions, stdin: BinaryIO | None = None) -> None:
        """Find a source by its name on the command line; `-` is stdin.

        Args:
            name: a path; the prefix of Megatron's two files; a folder of shards or its manifest; or
                `-`.
            options: how to read the source.
            stdin: stream to read for `-`; None: the stdin of the process.

        Raises:
            TokctlError: the source is missing, can't be read, or is a folder without a manifest.
        """
        from tokctl.sources import STDIN, documents

        self._options = options
        self._shards: ShardList | None = None
        self._file: InputFile | None = None
        self._path: str | None = None
        self.size: int | None = None
        self.meter = ByteMeter()
        self.name = name
        if name != STDIN:
            if Path(name).is_dir() or Path(name).name == "manifest.json":
                from tokctl.idfiles.manifest import list_shards

                self._shards = list_shards(name)
                self.size = self._shards.size
                return
            self._path = name
            if megatron_files := _megatron_pair(name):
                self.size = sum(Path(path).stat().st_size for path in megatron_files)
                return
        document = documents([name], stdin=stdin, raw=_is_raw(name, options))[0]
        self.name, self.size = document.name, document.size
        self._file = InputFile(
            document.name,
            lambda: self.meter.watch(document.blocks(), document.tell),
            meter=self.meter,
        )

    def text(self, tokenizer: Tokenizer) -> Iterator[bytes]:
        """Yield the text of the source, block by block.

        Args:
            tokenizer: model of the ids.

        Raises:
            TokctlError: the source is damaged or cut off, holds no ids, or an id is not one of the
                model. The message names the position.
        """
        if self._shards is not None:
            return self._text_of_shards(tokenizer, self._shards)
        if self._file is None:  # the name is the prefix of Megatron's two files
            file = InputFile(self.name, meter=self.meter)
            dtype = self._options.bin_dtype(tokenizer)
            source = IdInput(file, BlockStream(iter(())), self._path, dtype)
            return self._decode(tokenizer, BY_NAME["megatron"].read(source))
        return self._text_of_file(tokenizer, self._file)

    def _text_of_file(self, tokenizer: Tokenizer, file: InputFile) -> Iterator[bytes]:
        options = self._options
        stream = BlockStream(file.blocks())
        form = options.form
        if form == "auto":
            form = _detect_form(stream, self._path)
            if options.dtype is not None and form in ("ids", "jsonl"):
                form = "bin"  # a dtype is only for numbers
        self._check_eos(file.name, form)
        if form == "ids":
            yield from lines.from_decimal(
                tokenizer, file.name, stream.rest(), skip_special=options.skip_special
            )
        elif form == "jsonl":
            yield from self._from_jsonl(tokenizer, file.name, stream.rest())
        else:
            path = self._path if self._path and _is_uncompressed_file(self._path, stream) else None
            file = InputFile(file.name, stream.rest, path, file.meter)
            dtype = options.bin_dtype(tokenizer)
            source = IdInput(file, stream, self._path, dtype, options.field)
            yield from self._decode(tokenizer, BY_NAME[form].read(source))

    def _text_of_shards(self, tokenizer: Tokenizer, shard_list: ShardList) -> Iterator[bytes]:
        options = self._options
        if options.form not in ("auto", shard_list.form):
            raise BadOption(
                f"{self.name} holds {shard_list.form}, not {options.form}",
                "leave --from out",
                "conflict",
            )
        if shard_list.form not in INPUT_FORMS[2:]:
            raise BadInput(
                f"{self.name} holds {shard_list.form!r}, which is not a form of ids",
                f"its manifest must name one of: {', '.join(INPUT_FORMS[2:])}",
                "damaged",
            )
        self._check_eos(self.name, shard_list.form)
        files = (
            InputFile(path, partial(self._shard_blocks, path), path, self.meter)
            for path in shard_list.verified()
        )
        if shard_list.form == "jsonl":
            for file in files:
                yield from self._from_jsonl(tokenizer, file.name, file.blocks())
            return
        dtype = options.bin_dtype(tokenizer, shard_list.dtype)

        def parts(file: InputFile) -> Iterator[IdPart]:
            stream = BlockStream(file.blocks())
            source = IdInput(file, stream, file.path, dtype, options.field)
            return BY_NAME[shard_list.form].read(source)

        # A document may continue in the next shard.
        yield from self._decode(tokenizer, chain.from_iterable(map(parts, files)))

    def _shard_blocks(self, path: str) -> Iterator[bytes]:
        """Yield the bytes of a shard."""
        from tokctl.sources import documents

        return self.meter.watch(documents([path], raw=True)[0].blocks(), None)

    def _check_eos(self, name: str, form: str) -> None:
        if self._options.eos is not None and form in ("ids", "jsonl"):
            raise BadOption(
                f"{name}: --eos is for forms of numbers, and this is {form}: a line is a document",
                "--skip-special leaves special tokens out",
                "conflict",
            )

    def _from_jsonl(
        self, tokenizer: Tokenizer, name: str, blocks: Iterable[bytes]
    ) -> Iterator[bytes]:
        field, skip_special = self._options.field, self._options.skip_special
        return lines.from_jsonl(tokenizer, name, blocks, field, skip_special=skip_special)

    def _decode(self, tokenizer: Tokenizer, parts: Iterable[IdPart]) -> Iterator[bytes]:
        options = self._options
        if options.eos is not None:
            from tokctl.tokenizer.documents import end_id

            parts = split_documents(parts, end_id(tokenizer, options.eos))
        return decode_parts(
            tokenizer, parts, skip_special=options.skip_special, separator=options.separator
        )


def _is_raw(name: str, options: IdReadOptions) -> bool:
    """Return whether the bytes of a file are plain numbers, to be read without decompression.

    The first ids can look like the beginning of a compressed file, so only the name decides whether
    a file of the form `bin` is compressed.
    """
    is_numeric = options.form == "bin" or options.dtype is not None
    is_numeric = is_numeric or (options.form == "auto" and name.endswith(".bin"))
    return is_numeric and not name.endswith(COMPRESSION_SUFFIXES)


def _is_uncompressed_file(path: str, stream: BlockStream) -> bool:
    """Return whether a path is a regular file and the stream yields its bytes undecompressed."""
    if not Path(path).is_file():
        return False
    head = stream.peek(16)
    try:
        with Path(path).open("rb") as file:
            return file.read(len(head)) == head
    except OSError:
        return False


def _megatron_pair(name: str) -> tuple[str, str] | None:
    """Return Megatron's two files if a name is not a file but the prefix of both; else None."""
    if Path(name).exists():
        return None
    from tokctl.idfiles.megatron import find_pair

    return find_pair(name)


def _detect_form(stream: BlockStream, path: str | None) -> str:
    """Return the form of a stream; `ids` if nothing shows another form.

    The first bytes decide, if ids in decimal can't begin with them. Otherwise the endings `.bin`
    and `.arrow` of the name do. At most `_MAGIC_LENGTH` bytes of the stream are read for this.
    """
    head = stream.peek(1)
    if head and head not in (bytes([byte]) for byte in _DECIMAL):
        head = stream.peek(_MAGIC_LENGTH)
    for form in BY_NAME.values():
        if form.magic and head.startswith(form.magic):
            return form.name
    name = without_compression_suffix(path or "")
    if name.endswith(".arrow"):
        return "arrow"
    if name.endswith(".bin") and stream.peek(_MAGIC_LENGTH).strip(_DECIMAL):
        from tokctl.idfiles import megatron

        megatron_files = megatron.find_pair(path) if path else None
        return "megatron" if megatron_files and megatron.is_index(megatron_files[1]) else "bin"
    if _is_safetensors(head):
        return "safetensors"
    return "jsonl" if head.lstrip().startswith(b"{") else "ids"


def _is_safetensors(head: bytes) -> bool:
    """Return whether first bytes look like safetensors: the size of a header, then JSON.

    The size has zero bytes, which a text has not.
    """
    size = int.from_bytes(head[:8], "little")
    return len(head) >= 10 and 2 <= size < 1 << 32 and head[8:10] in (b'{"', b"{ ", b"{}")


def decode_parts(
    tokenizer: Tokenizer,
    parts: Iterable[IdPart],
    *,
    skip_special: bool = False,
    separator: bytes | None = None,
) -> Iterator[bytes]:
    """Yield the text of each document, one after the other, in blocks.

    Args:
        tokenizer: model of the ids.
        parts: the ids.
        skip_special: whether to leave special tokens out.
        separator: bytes after each document; None: a line feed if the document does not end with
            one. Nothing is added after ids that no end of a document follows.

    Raises:
        TokctlError: an id is not one of the model. The message names the position.
    """

    def decode(ids: Sequence[int]) -> bytes:
        return tokenizer.decoder.decode(ids, skip_special)

    # The text of a token can depend on its neighbours; the stream holds back text until it is
    # certain.
    stream: DecodeStream | None = None  # of a document that has not ended
    blocks: list[bytes] = []
    size = 0
    last_byte = b""  # last byte of the document so far
    for part in parts:
        if part.ends and stream is None:
            text = _decode_part(tokenizer, part, decode)
        else:
            stream = stream or DecodeStream(tokenizer.decoder, skip_special)
            text = _decode_part(tokenizer, part, stream.push)
            if part.ends:
                text += stream.finish()
                stream = None
        blocks.append(text)
        size += len(text)
        last_byte = text[-1:] or last_byte
        if part.ends:
            if separator is not None:
                blocks.append(separator)
            elif last_byte != b"\n":
                blocks.append(b"\n")
            last_byte = b""
        if size >= _OUTPUT_BLOCK or not part.ends:
            yield b"".join(blocks)
            blocks.clear()
            size = 0
    if stream is not None:
        blocks.append(stream.finish())
    yield b"".join(blocks)


def _decode_part(
    tokenizer: Tokenizer, part: IdPart, decode: Callable[[Sequence[int]], bytes]
) -> bytes:
    """Return `decode` of the ids; raise TokctlError if an id is outside the vocabulary."""
    try:
        return decode(part.ids)
    except CoreError as error:
        if error.kind != "unknown-id":
            raise
    except OverflowError:  # the number is too large or negative for any id
        pass
    raise _unknown_id_error(tokenizer, part)


def _unknown_id_error(tokenizer: Tokenizer, part: IdPart) -> TokctlError:
    """Return the error for the first number of a part that is not an id of the model."""
    size = tokenizer.vocab_size
    index, id_ = next((i, id_) for i, id_ in enumerate(part.ids) if not 0 <= id_ < size)
    return BadInput(
        f"{part.locate(index)}: id {id_} is outside the vocabulary",
        lines.id_range_hint(tokenizer),
        "bad-ids",
    )


def split_documents(parts: Iterable[IdPart], eos_id: int) -> Iterator[IdPart]:
    """Yield the parts, cut after each id `eos_id`, which ends a document and is left out.

    Args:
        parts: the ids.
        eos_id: id of the token that ends a document.
    """
    from tokctl.idfiles.chunks import IdPart

    at_boundary = False  # no id since the last end of a document
    for part in parts:
        view: Any = memoryview(part.ids)  # type: ignore[arg-type]
        begin = 0
        for index in _indexes_of(view, eos_id):
            yield IdPart(view[begin:index], partial(_locate_in_rest, part, begin), ends=True)
            begin, at_boundary = index + 1, True
        rest = view[begin:]
        if len(rest) or (part.ends and not at_boundary):
            yield IdPart(rest, partial(_locate_in_rest, part, begin), part.ends)
            at_boundary = part.ends
        elif part.ends:
            at_boundary = True


def _locate_in_rest(part: IdPart, begin: int, index: int) -> str:
    return part.locate(begin + index)


def _indexes_of(view: Any, id_: int) -> Iterator[int]:
    """Yield the ascending indexes of a number in a view; makes no object for each number."""
    try:
        pattern = struct.pack(f"={view.format}", id_)
    except struct.error:  # the type of the view can't hold the wanted number
        return
    if not len(view):
        return
    width = view.itemsize
    # Lookahead finds overlapping matches: an unaligned match must not hide the aligned one after
    # it.
    for match in re.finditer(b"(?=" + re.escape(pattern) + b")", view.cast("B")):
        if match.start() % width == 0:
            yield match.start() // width
