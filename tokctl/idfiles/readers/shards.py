"""A folder of shards, which a manifest lists in their order."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tokctl.errors import TokctlError

MANIFEST = "manifest.json"
#: What a folder has instead while encode writes to it.
_JOURNAL = "journal.jsonl"
_HINT = "it is what tokctl encode --shard-size writes beside the shards"


@dataclass(frozen=True)
class Shards:
    """The shards of a folder.

    Attributes:
        form: of all of them.
        dtype: of their ids; None: nothing says it.
        paths: in the order of the ids.
    """

    form: str
    dtype: str | None
    paths: list[str]


def read(path: str) -> Shards:
    """What the manifest of a folder says; `path` is either of them.

    Raises:
        TokctlError: there is none, it can't be read, or a shard is missing.
    """
    import orjson

    manifest = _manifest_of(path)
    try:
        said = orjson.loads(Path(manifest).read_bytes())
    except OSError as error:
        raise TokctlError(f"can't read {manifest}: {error.strerror}", "check that file") from None
    except orjson.JSONDecodeError as error:
        raise TokctlError(f"{manifest} is no JSON: {error}", _HINT) from None
    listed = said.get("shards") if isinstance(said, dict) else None
    form = said.get("form") if isinstance(said, dict) else None
    if not isinstance(listed, list) or not isinstance(form, str):
        raise TokctlError(f"{manifest} is no manifest of shards", _HINT)
    folder = Path(manifest).parent
    paths = []
    for number, shard in enumerate(listed, 1):
        name = shard.get("file") if isinstance(shard, dict) else None
        # A manifest from elsewhere names files beside it, and no others.
        if not isinstance(name, str) or name in ("", ".", "..") or "/" in name or "\0" in name:
            raise TokctlError(f"{manifest}: shard {number} has no name of a file", _HINT)
        _check(folder / name, shard.get("bytes"))
        paths.append(str(folder / name))
    dtype = said.get("dtype")
    return Shards(form, dtype if isinstance(dtype, str) else None, paths)


def _manifest_of(path: str) -> str:
    if not Path(path).is_dir():
        return path
    inside = Path(path, MANIFEST)
    if inside.is_file():
        return str(inside)
    if Path(path, _JOURNAL).is_file():
        raise TokctlError(
            f"{path} holds shards of a run that stopped", "finish it: tokctl encode --resume"
        )
    raise TokctlError(f"{path} is a folder without {MANIFEST}", "name the files in it")


def _check(path: Path, size: object) -> None:
    """TokctlError where the shard is not there, or not as long as it was."""
    hint = "copy it again from where it came, or make the shards again"
    if not path.is_file():
        raise TokctlError(f"the shard {path} is missing", hint)
    there = path.stat().st_size
    if type(size) is int and size != there:
        raise TokctlError(f"the shard {path} has {there:,} bytes, not {size:,}", hint)
