"""Verification: compare the ids and decoded texts of a model and of a file made from it.

`verify` loads a file with tokctl, and with the installed libraries that define its format, and
encodes texts with each of them.
"""

from __future__ import annotations

import base64
import ctypes
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from importlib.metadata import version
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tokctl import formats
from tokctl.core.errors import BadInput, TokctlError
from tokctl.core.humanize import plural
from tokctl.formats.vocab_merges import is_clip_vocabulary
from tokctl.sources import Document, Records, Source, flat, open_sources
from tokctl.tokenizer.documents import line_blocks

if TYPE_CHECKING:
    from tokctl.model import Model
    from tokctl.tokenizer import Tokenizer
    from tokctl.tokenizer.tokenizer import Special

#: Number of ids that are shown before the first differing id, and from it on.
_BEFORE, _AFTER = 2, 4
#: Number of characters that are shown on each side of the first difference of decoded texts.
_CONTEXT = 20

#: Size in bytes of a block of lines; a longer line is a block of its own.
_BLOCK_SIZE = 1 << 18
#: Buffer size in bytes for one piece of llama.cpp: the longest token of a GGUF file that tokctl
#: reads.
_LONGEST_PIECE = 1 << 12

#: Ids with their tokens.
Tokens = tuple[tuple[int, str], ...]


@dataclass(frozen=True)
class Difference:
    """The first difference between a reader of the file and the model.

    Attributes:
        reader: `tokctl`, or the library with its version.
        what: `ids`, `text` (equal ids that are decoded to different texts) or `error`.
        text: Name of the text; empty if the file could not be loaded.
        line: Number of the line, from 1; in a source of records, the number of the record.
        column: Character in the line or the record, from 1; 0 for an error.
        before: The model's ids, with their tokens, around the difference.
        found: The reader's ids, with their tokens, around the difference.
        said: The two decoded texts around their first difference, or the error.
        unit: Unit of `line`: `line` or `row`.
    """

    reader: str
    what: str
    text: str = ""
    line: int = 0
    column: int = 0
    before: Tokens = ()
    found: Tokens = ()
    said: tuple[str, ...] = ()
    unit: str = "line"

    @property
    def place(self) -> str:
        """Return the position as text: `book.txt, line 3, column 14`."""
        return f"{self.text}, {self.unit} {self.line}, column {self.column}"

    def __str__(self) -> str:
        if self.what == "error" and not self.text:
            return f"{self.reader} can't load it: {self.said[0]}"
        if self.what == "error":
            return f"{self.reader} fails at {self.text}, {self.unit} {self.line}: {self.said[0]}"
        other = "other ids" if self.what == "ids" else "another text for the same ids"
        return f"{self.reader} gives {other}: {self.place}"


@dataclass(frozen=True)
class Verification:
    """Result of a verification.

    Attributes:
        lines: Number of compared lines, including `left_out`.
        ids: Number of ids, as the model encodes the texts line by line.
        left_out: Number of lines with a character for which the model has no token.
        readers: The compared readers, whether they agree or not.
        not_compared: Sentences that say which readers were not compared, and why.
        differences: The first difference of each reader that does not agree.
        missing: The libraries that define the format, if none of them is installed, so that tokctl
            was compared only with itself.
    """

    lines: int
    ids: int
    left_out: int
    readers: tuple[str, ...]
    not_compared: tuple[str, ...]
    differences: tuple[Difference, ...]
    missing: tuple[str, ...] = ()

    @property
    def same(self) -> bool:
        """Return whether all readers give the same ids and the same text."""
        return not self.differences

    def __str__(self) -> str:
        if self.differences:
            return "\n".join(map(str, self.differences))
        same = f"the same {plural(self.ids, 'id')} in {plural(self.lines, 'line')}"
        return f"{same}: {', '.join(self.readers)}"

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON data."""
        return {"same": self.same, **asdict(self)}


def verify(
    tokenizer: Tokenizer,
    other: Tokenizer | str | Path,
    texts: Iterable[str | Path | Source],
    *,
    format: str | None = None,  # noqa: A002
    around: bool = True,
) -> Verification:
    """Compare a model with a file made from it: ids and decoded text.

    Texts are compared line by line, and many lines together.

    Args:
        tokenizer: The model from which the file was made.
        other: A file or folder, which is loaded with tokctl and with the libraries that define its
            format; or another tokenizer.
        texts: Each a str (a text), a path (a file of any supported form, or a folder) or a source
            of `tokctl.sources`. Records are compared one by one.
        format: Format of the file; by default it is detected.
        around: Whether to compare the special tokens that the model puts around texts, too.

    Raises:
        TokctlError: A text can't be read, or is not UTF-8.

    Example:
        verify(tok, "exported.json", [Path("book.txt")]).same  # True
    """
    readers, not_compared, missing, differences = readers_of(tokenizer, other, format)
    reader_names = tuple(reader.name for reader in readers)
    reader_names += tuple(difference.reader for difference in differences)
    lines = ids = left_out = 0
    for block in chain.from_iterable(map(_blocks, texts, count(1))):
        model_block = _ModelBlock(tokenizer, block)
        lines += len(model_block.lines)
        ids += sum(len(row) for row in model_block.rows("none") if row is not None)
        left_out += sum(row is None for row in model_block.rows("none"))
        differences += _differences(model_block, readers, around)
    return Verification(
        lines, ids, left_out, reader_names, not_compared, tuple(differences), missing
    )


def first_differences(
    tokenizer: Tokenizer, readers: Sequence[LoadedTokenizer], blocks: Iterable[Block]
) -> list[Difference]:
    """Return the first difference of each reader in some blocks of texts, if it has one."""
    remaining = list(readers)
    differences: list[Difference] = []
    for block in blocks:
        differences += _differences(_ModelBlock(tokenizer, block), remaining, False)
    return differences


def _differences(
    model_block: _ModelBlock, readers: list[LoadedTokenizer], around: bool
) -> Iterator[Difference]:
    """Yield the differences in a block, and remove their readers from `readers`."""
    for reader in list(readers):
        if difference := _first_difference(model_block, reader, around):
            readers.remove(reader)
            yield difference


def _blocks(text: str | Path | Source, number: int) -> Iterator[Block]:
    """Yield the blocks of a text, path or source; a text given as str is named by `number`."""
    if isinstance(text, str):
        data = text.encode("utf-8", "surrogatepass")
        text = Document(f"text {number}", len(data), lambda: iter([data]))
    for source in open_sources([text]) if isinstance(text, Path) else [text]:
        yield from text_blocks(source)


class _ModelBlock:
    """A block with the model's own ids; None for a text that the model can't encode."""

    def __init__(self, tokenizer: Tokenizer, block: Block) -> None:
        self.tokenizer = tokenizer
        self.block = block
        self.lines = block.lines
        self._rows: dict[tuple[Special, bool], list[list[int] | None]] = {}

    def rows(self, special: Special) -> list[list[int] | None]:
        """Return the ids of each line."""
        return self._cached_rows(self.lines, special, False)

    def rows_around(self, special: Special) -> list[list[int] | None]:
        """Return the ids of each line with the special tokens around it.

        If the model puts none there, only the first line is encoded, which shows whether other
        readers add some.
        """
        adds_tokens = self.tokenizer.post_processor.added_tokens_count()
        return self._cached_rows(self.lines if adds_tokens else self.lines[:1], special, True)

    def whole_text_ids(self, special: Special) -> list[int] | None:
        """Return the ids of all lines as one text."""
        return self._encode([self.block.text], special, False)[0]

    def _cached_rows(
        self, texts: Sequence[str], special: Special, around: bool
    ) -> list[list[int] | None]:
        """Return the ids of `texts`, encoded once for each setting."""
        key = special, around
        if key not in self._rows:
            self._rows[key] = self._encode(texts, special, around)
        return self._rows[key]

    def _encode(
        self, texts: Sequence[str], special: Special, around: bool
    ) -> list[list[int] | None]:
        """Return the ids of each text, or None for a text that can't be encoded."""
        encode = self.tokenizer.encode_ids
        try:
            return list(encode(texts, special=special, add_special=around))
        except TokctlError:
            if len(texts) == 1:
                return [None]
            return [self._encode([text], special, around)[0] for text in texts]


def _first_difference(
    model_block: _ModelBlock, reader: LoadedTokenizer, around: bool
) -> Difference | None:
    """Return the first difference in a block, or None.

    The lines are compared one by one, then as one text, then with the special tokens around them.
    """
    block = model_block.block
    rows = model_block.rows(reader.special)
    for number, ids in enumerate(_reader_rows(reader, model_block.lines, rows), block.line):
        row, line = rows[number - block.line], model_block.lines[number - block.line]
        if row is None:
            continue
        if difference := _compare_text(model_block, reader, line, number, row, ids):
            return difference
    if (
        block.text
        and model_block.lines != [block.text]
        and (whole_ids := model_block.whole_text_ids(reader.special)) is not None
    ):
        (ids,) = _reader_rows(reader, [block.text], [whole_ids])
        if difference := _compare_text(model_block, reader, block.text, block.line, whole_ids, ids):
            return difference
    if around and reader.puts_around:
        rows = model_block.rows_around(reader.special)
        lines = model_block.lines[: len(rows)]
        for number, ids in enumerate(_reader_rows(reader, lines, rows, around=True), block.line):
            row, line = rows[number - block.line], lines[number - block.line]
            if row is not None and ids != row:
                return _compare_text(model_block, reader, line, number, row, ids)
    return None


def _reader_rows(
    reader: LoadedTokenizer,
    texts: Sequence[str],
    rows: Sequence[list[int] | None],
    *,
    around: bool = False,
) -> Iterator[list[int] | BaseException]:
    """Yield the reader's ids of each text that the model can encode, or the exception it raises.

    For other texts, an empty list is yielded.
    """
    encodable = [text for text, row in zip(texts, rows, strict=True) if row is not None]
    try:
        encoded = iter(reader.encode(encodable, around) if encodable else [])
    except BaseException as error:
        reason(error)
        if len(texts) == 1:
            yield error
            return
        for text, row in zip(texts, rows, strict=True):
            yield from _reader_rows(reader, [text], [row], around=around)
        return
    for row in rows:
        yield [] if row is None else next(encoded)


def _compare_text(
    model_block: _ModelBlock,
    reader: LoadedTokenizer,
    text: str,
    line: int,
    row: list[int],
    ids: list[int] | BaseException,
) -> Difference | None:
    """Return the difference in a text, or None; `line` numbers its first line or its record."""
    tokenizer, block = model_block.tokenizer, model_block.block

    def difference_at(what: str, offset: int, messages: tuple[str, ...] = ()) -> Difference:
        """Return a difference at character `offset` of the text."""
        if block.documents:
            at = line, offset + 1
        else:
            lines = text[:offset].split("\n")
            at = line + len(lines) - 1, len(lines[-1]) + 1
        return Difference(reader.name, what, block.name, *at, said=messages, unit=block.unit)

    if isinstance(ids, BaseException):
        return replace(difference_at("error", 0, (reason(ids),)), column=0)
    if ids != row:
        at = _first_differing_index(row, ids)
        return replace(
            difference_at("ids", _character_offset(tokenizer, text, reader.special, row, at)),
            before=_tokens_around(row, at, lambda id_: tokenizer.tokens[id_]),
            found=_tokens_around(ids, at, reader.token),
        )
    before = tokenizer.decode(row, errors="replace")
    try:
        after = reader.decode(ids)
    except BaseException as error:
        return replace(difference_at("error", 0, (reason(error),)), column=0)
    if before == after:
        return None
    at = _first_differing_index(before, after)
    window = slice(max(0, at - _CONTEXT), at + _CONTEXT)
    # Until the first difference, the decoded text has the same lines as the text.
    text = before
    return difference_at("text", at, (before[window], after[window]))


def _first_differing_index(before: Sequence[object], after: Sequence[object]) -> int:
    """Return the first index at which two sequences differ."""
    pairs = enumerate(zip(before, after, strict=False))
    return next(
        (index for index, (first, second) in pairs if first != second), min(len(before), len(after))
    )


def _character_offset(
    tokenizer: Tokenizer, text: str, special: Special, row: list[int], index: int
) -> int:
    """Return the character offset in the text of the first differing token."""
    encoding = tokenizer.encode(text, special=special)
    if encoding.ids != row:  # the ids include special tokens around the text
        return 0
    return encoding.offsets[index][0] if index < len(encoding.offsets) else len(text)


def _tokens_around(ids: list[int], index: int, token: Callable[[int], str]) -> Tokens:
    """Return the ids around index `index`, each with its token, or a question mark if unknown."""
    tokens = []
    for id_ in ids[max(0, index - _BEFORE) : index + _AFTER]:
        try:
            tokens.append((id_, token(id_)))
        except BaseException as error:
            reason(error)
            tokens.append((id_, "?"))
    return tuple(tokens)


# -- Texts in blocks, so that texts of any size can be compared


class Block(NamedTuple):
    """Some lines of a text, or some documents of a source of records.

    Attributes:
        name: Name of the text.
        line: Number of the first line, or of the first document in its source, from 1.
        text: The lines; empty for documents.
        documents: The documents, each compared whole and separately.
        unit: Unit of `line`: `line` or `row`.
    """

    name: str
    line: int
    text: str
    documents: tuple[str, ...] = ()
    unit: str = "line"

    @property
    def lines(self) -> list[str]:
        """Return the texts to encode one by one: lines without their ends, or documents.

        A line ends only at a line feed.
        """
        if self.documents:
            return list(self.documents)
        lines = self.text.split("\n")
        return lines if lines[-1] else lines[:-1]


def text_blocks(source: Source, size: int = _BLOCK_SIZE) -> Iterator[Block]:
    """Yield the blocks of a text.

    Raises:
        TokctlError: The text is not UTF-8, which the libraries require.
    """
    for document in flat([source]):
        if isinstance(document, Document):
            yield from _line_blocks(document, size)
        else:
            yield from _document_blocks(document)


def _line_blocks(document: Document, size: int) -> Iterator[Block]:
    """Yield the lines of a document in blocks of about `size` bytes."""
    line = 1
    for data in line_blocks(document.blocks(), size):
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            line += data.count(b"\n", 0, error.start)
            raise _not_utf8(document.name, "line", line) from None
        yield Block(document.name, line, text)
        line += data.count(b"\n")


def _document_blocks(records: Records) -> Iterator[Block]:
    """Yield the documents of a source of records, one block per batch."""
    for batch in records.batches():
        documents = []
        for number, data in enumerate(batch.texts, batch.first):
            try:
                documents.append(data.decode())
            except UnicodeDecodeError:
                raise _not_utf8(records.name, records.unit, number) from None
        # The documents' weights don't affect their ids.
        if documents:
            yield Block(records.name, batch.first, "", tuple(documents), records.unit)


def _not_utf8(name: str, unit: str, number: int) -> TokctlError:
    return BadInput(
        f"{name}: {unit} {number} is not UTF-8", "verify with a text in UTF-8", "not-utf8"
    )


# -- Readers of a file: tokctl, and the libraries that define its format


class LoadedTokenizer(NamedTuple):
    """A file as loaded by a library.

    Attributes:
        name: The library, with its version.
        encode: Returns the ids of each text; the second argument says whether to add the special
            tokens that the model puts around texts.
        decode: Returns the text of ids, with U+FFFD for bytes that are not UTF-8.
        token: Returns the library's name of an id.
        special: Special tokens that the library recognizes in a text, as in `Tokenizer.encode`.
        puts_around: Whether the library adds the special tokens that the model puts around texts.
        batch: Returns the ids of many texts, using the given number of threads, in the library's
            fastest way that gives lists; None: use `encode`.
    """

    name: str
    encode: Callable[[Sequence[str], bool], list[list[int]]]
    decode: Callable[[list[int]], str]
    token: Callable[[int], str]
    special: Special = "all"
    puts_around: bool = False
    batch: Callable[[list[str], int], list[list[int]]] | None = None


def readers_of(
    tokenizer: Tokenizer, other: Tokenizer | str | Path, format_name: str | None
) -> tuple[list[LoadedTokenizer], tuple[str, ...], tuple[str, ...], list[Difference]]:
    """Load a file with every available reader.

    Returns:
        The readers; sentences on the readers that were not used; the missing libraries, if none
        that defines the format is installed; and a difference for each reader that fails to load
        the file.
    """
    from tokctl.tokenizer import Tokenizer

    if isinstance(other, Tokenizer):
        return [_own_reader(other)], (), (), []
    readers: list[LoadedTokenizer] = []
    failed: list[Difference] = []
    reasons: list[str] = []
    missing: list[str] = []
    try:
        if format_name is None or formats.format_named(format_name).reads:
            loaded = Tokenizer.load(other)
            format_name = format_name or loaded.format
            readers.append(_own_reader(loaded))
    except TokctlError as error:
        failed.append(Difference("tokctl", "error", said=(error.message,)))
    obstacle = formats.why_not_loadable(tokenizer.model) if format_name == "tokctl" else None
    for peer in PEERS.get(format_name or "", ()):
        if obstacle:
            reasons.append(f"{peer.package} refuses the file: {obstacle}")
            continue
        try:
            readers.append(peer.load(Path(other), tokenizer.model))
        except ImportError as error:
            # A peer may need `transformers` for some files.
            package = "transformers" if error.name == "transformers" else peer.package
            reasons.append(f"{package} is not installed")
            missing.append(package)
        except BaseException as error:
            failed.append(Difference(peer.package, "error", said=(reason(error),)))
    if len(missing) < len(PEERS.get(format_name or "", ())):
        missing = []
    return readers, tuple(reasons), tuple(missing), failed


def _own_reader(tokenizer: Tokenizer) -> LoadedTokenizer:
    """Return a tokenizer of tokctl as a reader."""

    def encode(texts: Sequence[str], around: bool) -> list[list[int]]:
        return tokenizer.encode_ids(texts, special="all", add_special=around)

    return LoadedTokenizer(
        "tokctl",
        encode,
        lambda ids: tokenizer.decode(ids, errors="replace"),
        lambda id_: tokenizer.tokens[id_] if id_ < tokenizer.vocab_size else "?",
        puts_around=True,
    )


def reason(error: BaseException) -> str:
    """Return the first line of an exception's message; raise interrupts and memory errors again.

    Callers catch BaseException, because the panics of Rust libraries are not an `Exception`.
    """
    if isinstance(error, (KeyboardInterrupt, SystemExit, MemoryError, GeneratorExit)):
        raise error
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def _name_and_version(package: str) -> str:
    """Return the package's name with its installed version."""
    return f"{package} {version(package)}"


def without_lengths(theirs: Any) -> Any:
    """Return `theirs`, a tokenizer of the library tokenizers, without truncation and padding.

    The library applies the settings that its file stores to every text; tokctl applies them only if
    a call asks for them.
    """
    theirs.no_truncation()
    theirs.no_padding()
    return theirs


def _tokenizers(
    theirs: Any, *, special: Special = "all", puts_around: bool = False
) -> LoadedTokenizer:
    """Return a tokenizer of the library tokenizers as a reader."""
    without_lengths(theirs)

    def encode(texts: Sequence[str], around: bool) -> list[list[int]]:
        return [
            encoding.ids for encoding in theirs.encode_batch(list(texts), add_special_tokens=around)
        ]

    def batch(texts: list[str], _threads: int) -> list[list[int]]:
        # The fast method computes no offsets. The environment sets its number of threads.
        return [
            encoding.ids for encoding in theirs.encode_batch_fast(texts, add_special_tokens=False)
        ]

    return LoadedTokenizer(
        _name_and_version("tokenizers"),
        encode,
        lambda ids: str(theirs.decode(ids, skip_special_tokens=False)),
        lambda id_: str(theirs.id_to_token(id_)),
        special,
        puts_around,
        batch,
    )


def tokenizer_json(path: Path, _model: Model) -> LoadedTokenizer:
    """Load a `tokenizer.json`, or the one in a folder, with tokenizers."""
    import tokenizers

    file = path / "tokenizer.json" if path.is_dir() else path
    return _tokenizers(tokenizers.Tokenizer.from_file(str(file)), puts_around=True)


#: Arguments that override the settings of a folder's configuration in a call of transformers.
_CALL_OPTIONS: dict[str, Any] = {
    "padding": False,
    "truncation": False,
    "split_special_tokens": False,
    "verbose": False,
}


def _transformers(
    theirs: Any, *, special: Special = "all", puts_around: bool = True
) -> LoadedTokenizer:
    """Return a tokenizer of transformers as a reader."""

    def encode(texts: Sequence[str], around: bool) -> list[list[int]]:
        encoded = theirs(list(texts), add_special_tokens=around, **_CALL_OPTIONS)
        return [list(ids) for ids in encoded["input_ids"]]

    def decode(ids: list[int]) -> str:
        return str(
            theirs.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False)
        )

    def token(id_: int) -> str:
        return str(theirs.convert_ids_to_tokens(id_))

    name = _name_and_version("transformers")
    return LoadedTokenizer(name, encode, decode, token, special, puts_around)


def _import_transformers() -> Any:
    """Import transformers without its warnings."""
    # Without the variable, transformers warns that PyTorch is missing, which is not needed here.
    os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")
    import transformers

    return transformers


def auto_tokenizer(path: Path, _model: Model) -> LoadedTokenizer:
    """Load a folder with transformers' `AutoTokenizer`."""
    from_pretrained = _import_transformers().AutoTokenizer.from_pretrained
    return _transformers(from_pretrained(str(path), local_files_only=True))


def vocab_merges(path: Path, model: Model) -> LoadedTokenizer:
    """Load `vocab.json` and `merges.txt`.

    The reader is tokenizers' byte-level BPE, its BPE of characters, or transformers' class for
    CLIP.
    """
    folder = path if path.is_dir() else path.parent
    files = str(folder / "vocab.json"), str(folder / "merges.txt")
    if is_clip_vocabulary(json.loads(Path(files[0]).read_bytes())):
        tokenizer = _import_transformers().CLIPTokenizer(*files)
        # If the files have no ids for its two special tokens, the class gives them new ones.
        clip_specials = set(tokenizer.all_special_tokens)
        known_specials = tuple(sorted(clip_specials & model.special_ids.keys()))
        return _transformers(
            tokenizer,
            special=known_specials or "none",
            puts_around=len(known_specials) == len(clip_specials),
        )
    import tokenizers

    if model.recipe.is_byte_level:
        return _tokenizers(tokenizers.ByteLevelBPETokenizer.from_file(*files), special="none")
    unknown = model.recipe.unk_token or "<unk>"
    tokenizer = tokenizers.CharBPETokenizer.from_file(*files, unk_token=unknown)
    # The class makes only the unknown token a special one.
    return _tokenizers(tokenizer, special=tuple({unknown} & model.special_ids.keys()) or "none")


def bert_vocab(path: Path, model: Model) -> LoadedTokenizer:
    """Load BERT's `vocab.txt`; the model's recipe says whether text is lowercased."""
    from tokenizers import BertWordPieceTokenizer

    options: dict[str, Any] = {"lowercase": False}
    for part in model.recipe.normalizers:
        settings = part.to_dict()
        if part.kind == "bert":
            names = ("lowercase", "clean_text", "handle_chinese_chars", "strip_accents")
            options = {"lowercase": True} | {
                name: settings[name] for name in names if name in settings
            }
        elif part.kind == "lowercase":
            options["lowercase"] = True
    file = path / "vocab.txt" if path.is_dir() else path
    return _tokenizers(BertWordPieceTokenizer(str(file), **options), puts_around=True)


def tiktoken_ranks(path: Path, _model: Model) -> LoadedTokenizer:
    """Load tiktoken's ranks, with the pattern and special tokens from the JSON file beside them."""
    import tiktoken

    # tiktoken's own reader caches the file by its path, not by its content.
    ranks = {}
    for line in path.read_bytes().splitlines():
        encoded, rank = line.split()
        ranks[base64.b64decode(encoded)] = int(rank)
    settings = json.loads(Path(f"{path}.json").read_bytes())
    encoding = tiktoken.Encoding(**settings, mergeable_ranks=ranks)

    def encode(texts: Sequence[str], _around: bool) -> list[list[int]]:
        return encoding.encode_ordinary_batch(list(texts), num_threads=1)

    def token(id_: int) -> str:
        return encoding.decode_single_token_bytes(id_).decode("utf-8", "backslashreplace")

    def batch(texts: list[str], threads: int) -> list[list[int]]:
        if threads == 1:
            return [encoding.encode_ordinary(text) for text in texts]
        return encoding.encode_ordinary_batch(texts, num_threads=threads)

    name = _name_and_version("tiktoken")
    return LoadedTokenizer(name, encode, encoding.decode, token, "none", batch=batch)


def sentencepiece_model(path: Path, _model: Model) -> LoadedTokenizer:
    """Load SentencePiece's `.model`."""
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor(model_proto=path.read_bytes())

    def encode(texts: Sequence[str], _around: bool) -> list[list[int]]:
        return [processor.encode(text) for text in texts]

    return LoadedTokenizer(
        _name_and_version("sentencepiece"),
        encode,
        lambda ids: str(processor.decode(ids)),
        lambda id_: str(processor.id_to_piece(id_)),
        "none",
        batch=lambda texts, threads: processor.encode(texts, num_threads=threads),
    )


@lru_cache(maxsize=1)
def _log_silencer() -> Any:
    """Return a callback that discards the lines that llama.cpp would print.

    It is cached, because llama.cpp may call it later.
    """
    import llama_cpp

    return llama_cpp.llama_log_callback(lambda *_: None)


def llama_cpp_vocabulary(path: Path, _model: Model) -> LoadedTokenizer:
    """Load only the vocabulary of a GGUF file with llama.cpp."""
    import llama_cpp

    llama_cpp.llama_log_set(_log_silencer(), None)
    # The class `Llama` can't be used: it creates a context, which needs more than a vocabulary.
    params = llama_cpp.llama_model_default_params()
    params.vocab_only = True
    loaded = llama_cpp.llama_model_load_from_file(os.fsencode(path), params)
    if not loaded:
        raise ValueError("it is not a vocabulary of llama.cpp's")
    vocabulary = llama_cpp.llama_model_get_vocab(loaded)
    value_buffer = ctypes.create_string_buffer(8)
    llama_cpp.llama_model_meta_val_str(loaded, b"tokenizer.ggml.add_space_prefix", value_buffer, 8)
    adds_space = value_buffer.value == b"true"

    def encode(texts: Sequence[str], around: bool) -> list[list[int]]:
        return [tokenized(text.encode(), around) for text in texts]

    def tokenized(text: bytes, around: bool) -> list[int]:
        # Every token takes at least a byte, except the special tokens around the text and an added
        # space.
        max_ids = len(text) + 4
        ids = (llama_cpp.llama_token * max_ids)()
        count = llama_cpp.llama_tokenize(vocabulary, text, len(text), ids, max_ids, around, True)
        if count < 0:
            raise ValueError(f"it makes {-count} ids of {len(text)} bytes")
        return list(ids[:count])

    def piece(id_: int) -> bytes:
        buffer = ctypes.create_string_buffer(_LONGEST_PIECE)
        size = llama_cpp.llama_token_to_piece(vocabulary, id_, buffer, _LONGEST_PIECE, 0, True)
        if size < 0:
            raise ValueError(f"the piece of {id_} has more than {_LONGEST_PIECE} bytes")
        return buffer.raw[:size]

    def decode(ids: list[int]) -> str:
        text = b"".join(map(piece, ids)).decode(errors="replace")
        return text.removeprefix(" ") if adds_space else text

    return LoadedTokenizer(
        _name_and_version("llama-cpp-python"),
        encode,
        decode,
        lambda id_: piece(id_).decode(errors="backslashreplace"),
        puts_around=True,
    )


class Peer(NamedTuple):
    """A library that defines a format.

    Attributes:
        package: Name of its package.
        load: Takes the path (a file or a folder) and the model before the conversion, which has the
            settings that the file leaves to its caller. It raises ImportError if the library is not
            installed.
    """

    package: str
    load: Callable[[Path, Model], LoadedTokenizer]


#: Peers by the name of the format.
PEERS: dict[str, tuple[Peer, ...]] = {
    "tokctl": (Peer("tokenizers", tokenizer_json),),
    "huggingface": (Peer("tokenizers", tokenizer_json),),
    "huggingface-folder": (
        Peer("transformers", auto_tokenizer),
        Peer("tokenizers", tokenizer_json),
    ),
    "vocab-merges": (Peer("tokenizers", vocab_merges),),
    "bert-vocab": (Peer("tokenizers", bert_vocab),),
    "tiktoken": (Peer("tiktoken", tiktoken_ranks),),
    "sentencepiece": (Peer("sentencepiece", sentencepiece_model),),
    "gguf": (Peer("llama-cpp-python", llama_cpp_vocabulary),),
}
