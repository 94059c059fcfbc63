"""Tar archives, read forwards: ustar, pax and GNU; each member is read like a file of its own."""

from __future__ import annotations

import tarfile
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any, cast

from tokctl.core.errors import BadInput, BadOption, TokctlError
from tokctl.sources.blocks import BLOCK_SIZE, BlockStream, ByteSource
from tokctl.sources.document import Archive, Document, Records

#: Largest depth of archives in archives: an archive that contains itself must end.
_MAX_DEPTH = 8
#: Largest size of a header in bytes; larger than a block.
_LONGEST_HEADER = 1 << 24

Opener = Callable[[ByteSource], Document | Records | Archive]


def members(
    data: ByteSource, blocks: Callable[[], Iterator[bytes]], open_member: Opener, depth: int
) -> Iterator[Document | Records]:
    """Yield the regular files of an archive in order; a nested archive is replaced by its members.

    Folders, links and devices are skipped. A member can be read until the next one is requested;
    the rest of it is skipped then.

    Args:
        data: the archive.
        blocks: function that returns the decompressed bytes of the archive.
        open_member: function that makes a source of a member.
        depth: number of archives around this one.

    Raises:
        TokctlError: the archive is damaged, cut short, or nested too deeply. The message names it.
    """
    name = data.name
    if depth > _MAX_DEPTH:
        raise BadInput(
            f"{name}: archives in archives, nested more than {_MAX_DEPTH} deep",
            "unpack it",
            "too-large",
        )
    with closing(_ForwardStream(blocks(), name)) as stream:
        if not stream.peek(1):
            raise _cut_error(name)
        tar = _open_tar(stream, name)
        while (member := _next_member(tar, name)) is not None:
            tar.members.clear()  # type: ignore[attr-defined]  # else the list grows
            if not member.isreg():
                continue
            if member.size < 0:
                raise _damage_error(name, ValueError(f"a file of {member.size} bytes"))
            member_data = _member_data(tar, stream, member, name)
            source = open_member(member_data)
            if isinstance(source, Archive):
                yield from source.members()
            else:
                yield source
            stream.member_number += 1
        if any(block.strip(b"\0") for block in stream.rest()):
            raise BadInput(
                f"{name}: there is more data after the end of the archive",
                "joined archives are not one archive: name each, or tar --concatenate",
                "damaged",
            )


def _member_data(
    tar: tarfile.TarFile, stream: _ForwardStream, member: tarfile.TarInfo, name: str
) -> ByteSource:
    path = f"{name}/{member.name.removeprefix('./').lstrip('/')}"
    number = stream.member_number

    def blocks() -> Iterator[bytes]:
        with _tar_errors(name):
            sparse = tar.extractfile(member) if member.issparse() else None
            remaining = member.size
            while remaining:
                if stream.member_number != number:
                    raise BadOption(
                        f"{path}: the archive has been read past this member",
                        "read its members in their order",
                    )
                if sparse is not None:
                    block = sparse.read(min(remaining, BLOCK_SIZE))
                else:
                    stream.seek(member.offset_data + member.size - remaining)
                    block = stream.some(min(remaining, BLOCK_SIZE))
                if not block:
                    raise _cut_error(name)
                remaining -= len(block)
                yield block

    return ByteSource(path, blocks, size=member.size)


class _ForwardStream(BlockStream):
    """Stream with the methods that `tarfile` needs to read forwards."""

    def __init__(self, blocks: Iterator[bytes], name: str) -> None:
        super().__init__(blocks)
        self.name = name
        self.member_number = 0  # index of the member that may be read

    def read(self, size: int = -1) -> bytes:
        if size > _LONGEST_HEADER:
            raise tarfile.ReadError(f"a header of {size} bytes")
        return super().read(size)

    def tell(self) -> int:
        return self.position

    def seek(self, position: int) -> int:
        if position < self.position:
            raise BadOption(
                f"{self.name}: the archive has been read past this member",
                "read its members in their order",
            )
        if self.skip(position - self.position) < 0 or self.position < position:
            raise _cut_error(self.name)
        return self.position


class _TarHeader(tarfile.TarInfo):
    """Header of a member; a damaged header is an error, where `tarfile` takes it for the end."""

    @classmethod
    def fromtarfile(cls, tar: tarfile.TarFile) -> _TarHeader:
        try:
            return super().fromtarfile(tar)
        except tarfile.EOFHeaderError:  # type: ignore[attr-defined]
            raise  # blocks of zeros: the end of the archive
        except tarfile.HeaderError as error:
            # If the blocks of zeros are missing, the archive may be cut anywhere.
            kinds = (tarfile.EmptyHeaderError, tarfile.TruncatedHeaderError)  # type: ignore[attr-defined]
            name = cast(_ForwardStream, tar.fileobj).name
            raise (
                _cut_error(name) if isinstance(error, kinds) else _damage_error(name, error)
            ) from None


def _open_tar(stream: _ForwardStream, name: str) -> tarfile.TarFile:
    with _tar_errors(name):
        return tarfile.TarFile(
            fileobj=cast(Any, stream),
            tarinfo=_TarHeader,
            encoding="utf-8",
            errors="surrogateescape",
        )


def _next_member(tar: tarfile.TarFile, name: str) -> tarfile.TarInfo | None:
    with _tar_errors(name):
        return tar.next()


class _tar_errors:  # noqa: N801  (a context manager, called like a function)
    """Context manager that turns tarfile's errors into TokctlErrors that name the archive."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, tarfile.ReadError) and "unexpected end" in str(error):
            raise _cut_error(self.name) from None
        if isinstance(error, (tarfile.TarError, OSError, ValueError, LookupError)):
            raise _damage_error(self.name, error) from None


def _cut_error(name: str) -> TokctlError:
    return BadInput(
        f"{name} is cut short: the archive has no end",
        "download or write the archive again; tar -t lists its members",
        "damaged",
    )


def _damage_error(name: str, error: BaseException) -> TokctlError:
    return BadInput(
        f"{name} is damaged, or not a tar archive: {error}",
        "download or write the archive again; tar -t lists its members",
        "damaged",
    )
