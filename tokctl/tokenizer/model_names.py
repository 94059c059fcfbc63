"""What models are called where several stand side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from tokctl.errors import TokctlError
from tokctl.tokenizer.tokenizer import Tokenizer

#: What can be compared: a tokenizer, alone or with a name, or the path of a model file.
Model = Tokenizer | str | Path | tuple[str, Tokenizer]


def named_models(models: Sequence[Model]) -> dict[str, Tokenizer]:
    """The models by name, in their order; see `tokctl.analysis.comparison.compare`.

    Raises:
        TokctlError: it is not a list of models, two have one name, a file holds no model.
    """
    if isinstance(models, (str, bytes)) or not isinstance(models, Sequence):
        raise TokctlError(
            "the models of a comparison are a list",
            'for instance compare(["a.json", "b.json"], ["text.txt"])',
        )
    files = name_files([str(model) for model in models if isinstance(model, (str, Path))])
    names = {path: name for name, path in files.items()}
    named: dict[str, Tokenizer] = {}
    for model in models:
        if isinstance(model, (str, Path)):
            name, tokenizer = names[str(model)], Tokenizer.load(model)
        elif isinstance(model, Tokenizer):
            name, number, tokenizer = model.recipe.name, 1, model
            while name in named:
                number += 1
                name = f"{model.recipe.name}-{number}"
        else:
            name, tokenizer = model
        if name in named:
            raise TokctlError(f"two models are called {name!r}", "name them: (name, tokenizer)")
        named[name] = tokenizer
    return named


def find_baseline(baseline: str, names: Mapping[str, str]) -> str | None:
    """The name of the model that `baseline` names: by its name, or by its file.

    Args:
        names: all models with their files; empty for a model without one.

    Returns:
        None if it is the file of another model.

    Raises:
        TokctlError: it is neither a model nor a file.
    """
    for name, path in names.items():
        if baseline == name or (path and _same(baseline, path)):
            return name
    from tokctl.formats import hub

    if not hub.is_name(baseline) and not Path(baseline).exists():
        raise TokctlError(
            f"the baseline {baseline!r} is no model of this comparison, and no file either",
            f"name a file, or one of: {', '.join(names)}",
        )
    return None


def _same(first: str, second: str) -> bool:
    return first == second or Path(first).resolve() == Path(second).resolve()


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
