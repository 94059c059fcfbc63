"""What every format has in common: where a model comes from, what a format can't hold, what
is written.

A module of a format has

- `is_one(source) -> bool`: is this the format, by its content;
- `read(source) -> FilledRecipe`: TokctlError that names the file where it is not whole;
- and, where tokctl writes the format, `losses(model) -> list[Loss]` and
  `write(model) -> Files`, both of which raise `InexpressibleError` where the format has
  nothing like the model;
- and, where it is a folder, it may have `NEIGHBOURS`: files of other models that would change
  what is read of it.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from tokctl.errors import AGAIN as AGAIN
from tokctl.errors import CoreError, TokctlError
from tokctl.files import note_read
from tokctl.model.parts import Part, with_invalid_bytes
from tokctl.values import cached_property

if TYPE_CHECKING:
    from tokctl._native import ModelFile
    from tokctl.model import FilledRecipe

#: No vocabulary comes near this; a larger file is read by mistake.
LARGEST_FILE = 1 << 27
#: The same of formats that hold a vocabulary and no more: a million tokens are half of it.
LARGEST_VOCABULARY = 1 << 25
#: As much of a file as its format is told by.
HEAD = 1 << 12

#: What to do about a file that is not whole, and about one that tokctl can't use.
ANOTHER = "another file of that tokenizer may do: tokctl convert --list-formats shows what is read"

#: What a format consists of on disk. A format of one file has it under the name "", and a
#: companion under what is put behind the file's name (`.json`); a folder's files have theirs. The
#: last file of a folder is one without which it is not read.
Files = dict[str, bytes]


class InexpressibleError(Exception):
    """The format can't express something with the same ids; the text says why."""


class Loss(NamedTuple):
    """What a format can't hold of a model.

    what: ends a sentence that begins with "it can't hold" ("the normalizer nfkc").
    minor: without it no text gets other ids, and the ids of no text give another text: what is
        known of a training, say.
    """

    what: str
    minor: bool = False


def training_lost(model: FilledRecipe, *known: object) -> list[Loss]:
    """The loss of what is known of a training: its record, or any of `known`."""
    if model.training is None and not any(known):
        return []
    return [Loss("what is known of its training", minor=True)]


def lengths_lost(model: FilledRecipe) -> list[Loss]:
    """The loss of the truncation and the padding that came with a model, if any."""
    if not model.lengths:
        return []
    return [Loss(f"the {' and the '.join(model.lengths)} that came with it", minor=True)]


def companions_lost(model: FilledRecipe) -> list[Loss]:
    """The loss of the files that came with a model, if any."""
    if not model.companions:
        return []
    return [Loss(f"the files that came with it ({', '.join(model.companions)})", minor=True)]


def invalid_bytes_lost(decoders: tuple[Part, ...], invalid: str) -> list[Loss]:
    """The loss of how invalid bytes are decoded, where the format's rule is `invalid`."""
    if with_invalid_bytes(decoders, invalid) == decoders:
        return []
    return [Loss("what ids become whose bytes are no UTF-8", minor=True)]


class Hints(NamedTuple):
    """What a file leaves open, as the caller says.

    pattern: how text is split: the text form of pre-tokenizers.
    special: the ids of special tokens, by text.
    """

    pattern: str | None = None
    special: dict[str, int] | None = None


class Source:
    """A file or a folder that a model is to be read from.

    Attributes:
        name: what it is called in messages.
        path: None for data that came from no file.
        hints: what the file leaves open, as the caller says.
    """

    def __init__(
        self,
        name: str,
        *,
        path: Path | None = None,
        data: bytes | None = None,
        hints: Hints = Hints(),  # noqa: B008 (a tuple can't change)
    ) -> None:
        self.name = name
        self.path = path
        self.hints = hints
        self._given = data
        if data is None and path is not None and not path.is_file() and not path.is_dir():
            # A pipe can be read once only; what is not there is an error here.
            self._given = self._whole()

    @property
    def is_folder(self) -> bool:
        """Is it a folder?"""
        return self.path is not None and self._given is None and self.path.is_dir()

    @property
    def size(self) -> int:
        """Bytes of the file."""
        if self._given is not None or self.path is None:
            return len(self._given or b"")
        return self.path.stat().st_size

    @cached_property
    def head(self) -> bytes:
        """The first bytes: all that detection needs."""
        if self.is_folder:
            return b""
        with self.open() as file:
            return file.read(HEAD)

    @cached_property
    def data(self) -> bytes:
        """The whole content; TokctlError if it can't be read, or is not a model's size."""
        return self._whole() if self._given is None else self._given

    def within(self, most: int) -> bytes:
        """The whole content; TokctlError, before it is read, where that is more bytes."""
        if self.size > most:
            raise _too_large(self.name, most)
        return self.data

    @cached_property
    def document(self) -> Any:
        """The content as JSON; TokctlError if it is none."""
        orjson = _orjson(len(self.data))
        try:
            return orjson.loads(self.data)
        except orjson.JSONDecodeError as error:
            raise damaged(self.name, f"it is no JSON ({error})") from None

    @cached_property
    def _scanned(self) -> tuple[Any, ModelFile | None]:
        from tokctl._native import ModelFile

        orjson = _orjson(len(self.data))
        lists = ModelFile.scan(self.data) if self.is_json else None
        if lists is not None:
            try:
                return orjson.loads(lists.rest), lists
            except orjson.JSONDecodeError:
                pass  # `document` says what is wrong
        return self.document, None

    @property
    def lists(self) -> ModelFile | None:
        """The long lists of a `tokenizer.json`, read by the core; None if it has none, or
        has written them otherwise than libraries do."""
        return self._scanned[1]

    @property
    def outline(self) -> Any:
        """The `document`, with null in place of what is in `lists`."""
        return self._scanned[0]

    @property
    def is_json(self) -> bool:
        """Does it begin as a JSON object does?"""
        return self.head.lstrip(b" \t\r\n")[:1] == b"{"

    def open(self) -> BinaryIO:
        """The content as a file, for formats that are read in part."""
        if self._given is not None or self.path is None:
            return io.BytesIO(self._given or b"")
        note_read(self.path)
        try:
            return self.path.open("rb")
        except (OSError, ValueError) as error:
            raise unreadable(self.name, error) from None

    def beside(self, name: str) -> Source | None:
        """The file of that name in the folder, or in the folder where the file is; None if
        there is none."""
        if self.path is None or (self._given is not None and not self.is_folder):
            return None
        path = (self.path if self.is_folder else self.path.parent) / name
        return Source(str(path), path=path, hints=self.hints) if path.is_file() else None

    def _whole(self) -> bytes:
        if self.path is None:
            return b""
        note_read(self.path)
        try:
            with self.path.open("rb") as file:
                if self.path.is_file() and self.path.stat().st_size > LARGEST_FILE:
                    raise _too_large(self.name, LARGEST_FILE)
                data = file.read(LARGEST_FILE + 1)
        except (OSError, ValueError) as error:
            raise unreadable(self.name, error) from None
        if len(data) > LARGEST_FILE:
            raise _too_large(self.name, LARGEST_FILE)
        return data


#: What orjson takes before it has read anything, and then for each byte, at most.
_PARSING = (16 << 20, 12)


def _orjson(size: int) -> Any:
    """The module orjson, which ends the process where it finds no memory, for itself or for so many
    bytes of JSON: it is looked for before."""
    import mmap

    mmap.mmap(-1, _PARSING[0] + _PARSING[1] * size).close()
    from tokctl import orjson

    return orjson


def _too_large(name: str, most: int) -> TokctlError:
    return TokctlError(
        f"{name} is too large for a model file",
        f"tokctl reads files of this format of up to {most >> 20} MiB",
    )


def unreadable(name: str, error: Exception) -> TokctlError:
    """The error for a file that can't be opened."""
    reason = getattr(error, "strerror", None) or str(error)
    hint = "check that file and its rights"
    if isinstance(error, FileNotFoundError):
        hint = "train one first: tokctl train book.txt"
        if re.fullmatch(r"[\w-]+(/[\w.-]+)?", name):
            hint += f"; a model of the Hugging Face Hub: hf:{name}"
        if re.fullmatch(r"\w+_base|o200k_harmony", name):
            hint = f"tiktoken's ranks are a file: {name}.tiktoken"
    return TokctlError(f"can't read the model {name}: {reason}", hint)


def damaged(name: str, why: str) -> TokctlError:
    """The error for a file that is not whole, or not what it seems to be."""
    return TokctlError(
        f"{name} is no model file, or a damaged one: {why}",
        AGAIN,
    )


@contextmanager
def unless_damaged(name: str) -> Iterator[None]:
    """Errors of reading the file `name` as TokctlErrors that name it."""
    try:
        yield
    except KeyError as error:
        raise damaged(name, f"the field {error} is missing") from None
    except (TypeError, AttributeError):
        raise damaged(name, "a field is of another type than it should be") from None
    except (ValueError, OverflowError, RecursionError) as error:
        raise damaged(name, str(error)) from None
    except CoreError as error:
        raise damaged(name, error.message) from None
    except TokctlError as error:
        if error.message.startswith(name):
            raise
        message = f"tokctl can't use {name}: {error.message}"
        raise TokctlError(message, error.hint) from None
