"""Types and helpers shared by all formats: the file that is read, losses, limits and errors.

A format has a row in `registry`, with the function that recognizes its files, and a module with

- `read(source) -> Model`: the model; raises TokctlError, naming the file, if the file is
  damaged;
- if tokctl writes the format, `losses(model) -> list[Loss]` and `write(model) -> Files`, which both
  raise `UnsupportedByFormat` if the format can't hold a model of this kind;
- if the format is a folder, optionally `CONFLICTING_FILES`: names of files of other models that
  would change how the folder is read.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from tokctl.core.errors import AGAIN as AGAIN
from tokctl.core.errors import BadInput, BadModel, BadOption, CoreError, TokctlError
from tokctl.core.errors import UnsupportedByFormat as UnsupportedByFormat
from tokctl.core.files import note_read
from tokctl.core.values import cached_property
from tokctl.model.parts import Part, with_invalid_bytes

if TYPE_CHECKING:
    from tokctl._native import ModelFile
    from tokctl.model import Model

#: Bytes of the largest model file. No vocabulary comes near this size: a larger file is not a
#: model.
LARGEST_FILE = 1 << 27
#: Bytes of the largest file that holds a vocabulary alone. A million tokens take half of it.
LARGEST_VOCABULARY = 1 << 25
#: Bytes at the beginning of a file from which its format is recognized.
HEAD_SIZE = 1 << 12

#: The hint for a file that is incomplete, or that tokctl can't use.
TRY_ANOTHER_FILE = (
    "try another file of the same tokenizer; tokctl convert --list-formats lists the formats"
)

#: The files of a saved model, by name. A format of one file uses the name "" for the file, and a
#: suffix such as `.json`, appended to the file's name, for a companion. A folder uses file names,
#: and its last file is one without which the folder is not read.
Files = dict[str, bytes]


class LostFeature(NamedTuple):
    """A property of a model that a format can't hold.

    Attributes:
        what: the end of a sentence that begins with "it can't hold" ("the normalizer nfkc").
        minor: whether the loss changes neither the ids of any text nor the text of any ids: the
            record of a training, for example.
    """

    what: str
    minor: bool = False


def training_lost(model: Model, *training_data: object) -> list[LostFeature]:
    """Return the loss of the training record, or of `training_data` if one of them is true."""
    if model.training is None and not any(training_data):
        return []
    return [LostFeature("the record of its training", minor=True)]


def lengths_lost(model: Model) -> list[LostFeature]:
    """Return the loss of the truncation and padding settings that came with a model, if any."""
    if not model.lengths:
        return []
    return [LostFeature(f"the {' and the '.join(model.lengths)} that came with it", minor=True)]


def extra_files_lost(model: Model) -> list[LostFeature]:
    """Return the loss of the extra files that came with a model, if any."""
    if not model.extra_files:
        return []
    return [
        LostFeature(f"the files that came with it ({', '.join(model.extra_files)})", minor=True)
    ]


def invalid_bytes_lost(decoders: tuple[Part, ...], invalid: str) -> list[LostFeature]:
    """Return the loss of the rule for decoding invalid bytes, unless the rule is `invalid`.

    Args:
        decoders: the decoders of the model.
        invalid: the format's rule for bytes that are not UTF-8.
    """
    if with_invalid_bytes(decoders, invalid) == decoders:
        return []
    return [LostFeature("how ids are decoded whose bytes are not UTF-8", minor=True)]


class LoadOptions(NamedTuple):
    """Settings that a file can leave open and that the caller supplies.

    Attributes:
        pattern: how text is split: pre-tokenizers in their text form.
        special: the ids of special tokens, by text.
    """

    pattern: str | None = None
    special: dict[str, int] | None = None

    @property
    def any_given(self) -> bool:
        """Whether the caller gave at least one."""
        return self != LoadOptions()


class ModelInput:
    """The file or folder that a model is read from.

    Attributes:
        name: the name in messages.
        path: the path of the file; None for data that came from no file.
        hints: settings that the file can leave open.
    """

    def __init__(
        self,
        name: str,
        *,
        path: Path | None = None,
        data: bytes | None = None,
        hints: LoadOptions = LoadOptions(),  # noqa: B008 (a tuple can't change)
    ) -> None:
        self.name = name
        self.path = path
        self.hints = hints
        self._data = data
        if data is None and path is not None and not path.is_file() and not path.is_dir():
            # A pipe can be read only once, so it is read whole; a missing file raises an error.
            self._data = self._read_all()

    @property
    def is_folder(self) -> bool:
        """Whether the source is a folder."""
        return self.path is not None and self._data is None and self.path.is_dir()

    @property
    def size(self) -> int:
        """The size of the file in bytes."""
        if self._data is not None or self.path is None:
            return len(self._data or b"")
        return self.path.stat().st_size

    @cached_property
    def head(self) -> bytes:
        """The first `HEAD_SIZE` bytes, which are enough to recognize most formats."""
        if self.is_folder:
            return b""
        with self.open() as file:
            return file.read(HEAD_SIZE)

    @cached_property
    def data(self) -> bytes:
        """The whole content.

        Raises:
            TokctlError: the file can't be read, or is larger than `LARGEST_FILE`.
        """
        return self._read_all() if self._data is None else self._data

    def read_up_to(self, limit: int) -> bytes:
        """Return the whole content.

        Raises:
            TokctlError: the file is larger than `limit` bytes; nothing is read then.
        """
        if self.size > limit:
            raise _too_large(self.name, limit)
        return self.data

    @cached_property
    def document(self) -> Any:
        """The content parsed as JSON.

        Raises:
            TokctlError: the content is not JSON.
        """
        orjson = _orjson(len(self.data))
        try:
            return orjson.loads(self.data)
        except orjson.JSONDecodeError as error:
            raise damaged(self.name, f"it is not valid JSON ({error})") from None

    @cached_property
    def _parsed(self) -> tuple[Any, ModelFile | None]:
        from tokctl._native import ModelFile

        orjson = _orjson(len(self.data))
        lists = ModelFile.scan(self.data) if self.is_json else None
        if lists is not None:
            try:
                return orjson.loads(lists.rest), lists
            except orjson.JSONDecodeError:
                pass  # `document` reports what is wrong
        return self.document, None

    @property
    def lists(self) -> ModelFile | None:
        """The long lists of a `tokenizer.json`, as read by the native core.

        None if the file has no such lists, or if they are not formatted as libraries write them.
        """
        return self._parsed[1]

    @property
    def outline(self) -> Any:
        """The `document`, with null in place of the lists that `lists` holds."""
        return self._parsed[0]

    @property
    def is_json(self) -> bool:
        """Whether the content begins with `{`, like a JSON object."""
        return self.head.lstrip(b" \t\r\n")[:1] == b"{"

    def open(self) -> BinaryIO:
        """Open the content as a binary file, for formats that are read in parts."""
        if self._data is not None or self.path is None:
            return io.BytesIO(self._data or b"")
        note_read(self.path)
        try:
            return self.path.open("rb")
        except (OSError, ValueError) as error:
            raise unreadable(self.name, error) from None

    def sibling(self, name: str) -> ModelInput | None:
        """Return the file `name` in the folder of the source, or None if there is no such file.

        That folder is the source itself, if it is a folder.
        """
        if self.path is None or (self._data is not None and not self.is_folder):
            return None
        path = (self.path if self.is_folder else self.path.parent) / name
        return ModelInput(str(path), path=path, hints=self.hints) if path.is_file() else None

    def _read_all(self) -> bytes:
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


#: Memory that orjson needs at most: bytes before it reads anything, then bytes per byte of JSON.
_PARSING = (16 << 20, 12)


def _orjson(size: int) -> Any:
    """Return the module orjson, once there is memory to parse `size` bytes of JSON.

    orjson aborts the process if it can't allocate memory, when it is imported or while it parses.
    So as much memory as it needs at most is mapped first, which raises an exception instead.
    """
    import mmap

    mmap.mmap(-1, _PARSING[0] + _PARSING[1] * size).close()
    from tokctl.core import orjson

    return orjson


def _too_large(name: str, limit: int) -> TokctlError:
    return BadModel(
        f"{name} is too large for a model file",
        f"tokctl reads files of this format of up to {limit >> 20} MiB",
        "too-large",
    )


def unreadable(name: str, error: Exception) -> TokctlError:
    """Return the error for a model file that can't be opened."""
    reason = getattr(error, "strerror", None) or str(error)
    hint = "check the file and its permissions"
    if isinstance(error, FileNotFoundError):
        hint = "train one first: tokctl train book.txt"
        if re.fullmatch(r"[\w-]+(/[\w.-]+)?", name):
            hint += f"; a model of the Hugging Face Hub: hf:{name}"
        if re.fullmatch(r"\w+_base|o200k_harmony", name):
            hint = f"tiktoken's ranks are a file: {name}.tiktoken"
    return BadModel(f"can't read the model {name}: {reason}", hint, "unreadable")


def damaged(name: str, why: str) -> TokctlError:
    """Return the error for a file that is incomplete or not what its beginning suggests."""
    return BadModel(
        f"{name} is not a model file in a supported format, or it is damaged: {why}",
        AGAIN,
        "damaged-model",
    )


@contextmanager
def unless_damaged(name: str, *, hinted: bool = False) -> Iterator[None]:
    """Turn errors in the block into TokctlErrors that name the file.

    Args:
        name: the name of the file.
        hinted: whether `LoadOptions` can be the cause of an error: a BadOption is raised as one.
    """
    try:
        yield
    except KeyError as error:
        raise damaged(name, f"the field {error} is missing") from None
    except (TypeError, AttributeError):
        raise damaged(name, "a field has the wrong type") from None
    except (ValueError, OverflowError, RecursionError) as error:
        raise damaged(name, str(error)) from None
    except CoreError as error:
        raise damaged(name, error.message) from None
    except TokctlError as error:
        if error.message.startswith(name):
            raise
        raise unusable(name, error, hinted=hinted) from None


def unusable(name: str, error: TokctlError, *, hinted: bool = False) -> TokctlError:
    """Return the error for a file whose content causes an error.

    A recipe with a wrong value, for instance, is a BadOption, and in a file it is a BadModel.

    Args:
        name: the name of the file.
        error: the cause.
        hinted: see `unless_damaged`.
    """
    message = f"tokctl can't use {name}: {error.message}"
    if isinstance(error, (BadOption, BadInput)) and not hinted:
        return BadModel(message, error.hint)
    return error.reworded(message)
