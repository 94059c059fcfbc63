"""Files at addresses (`s3://`, `gs://`, `https://`, …), through fsspec."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tokctl.core.errors import BadInput, TokctlError, Unsupported
from tokctl.sources.blocks import BLOCK_SIZE, HEAD, ByteSource
from tokctl.sources.document import ReadOptions
from tokctl.sources.folders import FileFilter, has_magic, no_files_error

_ADDRESS = re.compile(r"(?:[a-z][a-z0-9+.-]*::)*[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_USER = re.compile(r"(://)[^/?#\s'\"]*@")
_QUERY = re.compile(r"(://[^\s?#'\"]*)[?#][^\s'\")]*")
#: Bytes per request to a store.
_REQUEST_SIZE = 1 << 23
#: Packages that fsspec needs for a protocol, if their name differs from it.
_PACKAGES = {"s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "abfs": "adlfs"}
_PACKAGES |= {"az": "adlfs", "hf": "huggingface_hub"}
_WEB_PROTOCOLS = ("http", "https")


def is_address(name: str) -> bool:
    """Return whether a name is an address and not the path of a file."""
    return _ADDRESS.match(name) is not None


def without_secrets(text: str) -> str:
    """Return a text in which addresses have no users, no passwords and no query."""
    return _QUERY.sub(r"\1", _USER.sub(r"\1", text))


def files_at(address: str, reading: ReadOptions) -> list[ByteSource]:
    """Return the files at an address, sorted by path.

    An address is a file, a folder with files, or a pattern.

    Args:
        address: the address.
        reading: options with `include` and `exclude` for a folder.

    Raises:
        TokctlError: the address can't be read, or has no files. The message leaves out its secrets.
    """
    name = without_secrets(address)
    system, path = file_system(address, name)
    with network(name):
        if _protocol(address) in _WEB_PROTOCOLS:
            # On the web, `?` starts a query, and a page has no files.
            is_pattern = "*" in name or "[" in name
            if not is_pattern:
                return [_remote_file(system, path, name, system.info(path))]
        elif system.isdir(path):
            return _named_files(system, _folder_files(system, path, name, reading))
        else:
            is_pattern = has_magic(path) and not system.exists(path)
            if not is_pattern:
                return [_remote_file(system, path, name, system.info(path))]
        matches = system.glob(path, detail=True)
        # With `**` the files of a folder match on their own.
        files = {file: info for file, info in matches.items() if info.get("type") != "directory"}
        if not files:
            raise BadInput(f"no file matches {name}", "check the pattern", "unreadable")
        return _named_files(system, files)


def _folder_files(system: Any, path: str, name: str, reading: ReadOptions) -> dict[str, Any]:
    """Return the files to read below a path, with the store's description of each."""
    file_filter = FileFilter(reading)
    base = path.rstrip("/") + "/"
    all_files: dict[str, Any] = system.find(path, detail=True)
    files = {
        file: info
        for file, info in all_files.items()
        if file_filter.takes(file.removeprefix(base).strip("/"))
    }
    if not files:
        raise no_files_error(name, len(all_files))
    return files


def _named_files(system: Any, files: dict[str, Any]) -> list[ByteSource]:
    return [
        _remote_file(system, path, without_secrets(system.unstrip_protocol(path)), files[path])
        for path in sorted(files)
    ]


def _remote_file(system: Any, path: str, name: str, info: dict[str, Any]) -> ByteSource:
    size = info.get("size")
    is_web = not {"http", "https"}.isdisjoint(
        (system.protocol,) if isinstance(system.protocol, str) else system.protocol
    )

    def blocks() -> Iterator[bytes]:
        bytes_read = 0
        with network(name), _open(system, path, is_web=is_web) as file:
            while block := file.read(BLOCK_SIZE):
                bytes_read += len(block)
                yield block
        if size is not None and bytes_read < size:
            raise BadInput(
                f"{name} is cut short: {bytes_read} of {size} bytes came", _TRY_AGAIN, "unreadable"
            )

    # A web server may ignore the range and send everything.
    head = None if is_web else system.cat_file(path, start=0, end=HEAD)
    return ByteSource(name, blocks, size=size, head=head, is_rereadable=True)


def _open(system: Any, path: str, *, is_web: bool) -> Any:
    if is_web:
        # One response that is streamed; without compression, so that sizes are right.
        return system.open(path, block_size=0, headers={"Accept-Encoding": "identity"})
    return system.open(path, "rb", block_size=_REQUEST_SIZE)


def _protocol(address: str) -> str:
    return address.partition("::")[0].partition("://")[0].lower()


def file_system(address: str, name: str) -> tuple[Any, str]:
    """Return the fsspec file system of an address, and the path in it.

    Args:
        address: the address.
        name: the address in messages.

    Raises:
        TokctlError: fsspec or a package for the protocol is missing, or the protocol is unknown.
    """
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise Unsupported(
            f"{name}: an address needs fsspec", "pip install 'tokctl[remote]'", "missing-package"
        ) from error
    protocol = _protocol(address)
    try:
        system, path = url_to_fs(address)
    except ImportError:
        package = _PACKAGES.get(protocol)
        install = f"pip install {package}" if package else "pip install 'tokctl[remote]'"
        raise Unsupported(
            f"{name}: fsspec needs a package for {protocol}://", install, "missing-package"
        ) from None
    except Exception as error:
        if "not known" in str(error):
            hint = "for a local file of this name, write ./ before it"
            raise BadInput(f"{name}: there is no protocol {protocol}", hint, "unreadable") from None
        raise _access_error(name, error) from None
    return system, path


_TRY_AGAIN = "check the address, the network and your rights, and try again"


class network:  # noqa: N801  (a context manager, called like a function)
    """Context manager that turns a store's errors into TokctlErrors that name the address.

    The message also says what failed: the verb `read`, `write`, `list` or `remove`.
    """

    def __init__(self, name: str, verb: str = "read") -> None:
        self.name = name
        self.verb = verb

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Exception) and not isinstance(error, TokctlError):
            raise _access_error(self.name, error, self.verb) from None


def _access_error(name: str, error: Exception, verb: str = "read") -> TokctlError:
    if isinstance(error, FileNotFoundError) and verb == "read":
        return BadInput(
            f"can't read {name}: there is no such file", "check the address", "unreadable"
        )
    reason = without_secrets(str(error)).strip().partition("\n")[0]
    return BadInput(
        f"can't {verb} {name}: {reason or type(error).__name__}", _TRY_AGAIN, "unreadable"
    )
