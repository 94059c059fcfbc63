"""What models are called where several stand side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tokctl.errors import TokctlError

#: Of model files, beside those that the formats have; of two that fit the longer comes first.
ENDINGS = (".tokenizer.json", ".json", ".gguf")


def name_files(paths: Sequence[str], taken: Sequence[str] = ()) -> dict[str, str]:
    """A name for each model: what the file is called without its ending, the folder, or the
    repository of the Hugging Face Hub; or the whole path where several would have the same
    name, or one that is taken.

    Raises:
        TokctlError: a file is given twice.
    """
    if twice := [path for path, times in Counter(paths).items() if times > 1]:
        raise TokctlError(f"the model {twice[0]} is given twice", "give each once")
    short = [_short(path) for path in paths]
    times = Counter([*short, *taken])
    return {
        path if times[name] > 1 else name: path for name, path in zip(short, paths, strict=True)
    }


def _short(path: str) -> str:
    """`gpt2` for `gpt2.tokenizer.json`, the folder `gpt2` and `hf:ORG/gpt2`; a file called by
    an ending alone keeps it."""
    from tokctl.formats import FORMATS, hub

    if hub.is_name(path):
        return path.removeprefix(hub.PREFIX).rpartition("/")[2]
    if Path(path).is_dir():
        return Path(path).resolve().name or path
    name = Path(path).name
    for ending in (*ENDINGS, *(known.suffix for known in FORMATS if known.suffix)):
        if name.endswith(ending) and name != ending:
            return name.removesuffix(ending)
    return name
