"""Names for models that are shown side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from tokctl.core.errors import BadOption
from tokctl.tokenizer.tokenizer import Tokenizer

#: A model of a comparison: a tokenizer, a name with a tokenizer, or the path of a model file.
ModelArgument = Tokenizer | str | Path | tuple[str, Tokenizer]


def named_models(models: Sequence[ModelArgument]) -> dict[str, Tokenizer]:
    """Return the models by name, in order; see `tokctl.analysis.comparison.compare`.

    A model from a file is named after the file, another one after its recipe.

    Raises:
        TokctlError: `models` is not a list of models, two models have the same name, or a file is
            not a model.
    """
    if isinstance(models, (str, bytes)) or not isinstance(models, Sequence):
        raise BadOption(
            "the models of a comparison must be a list",
            'write a list, for example compare(["a.json", "b.json"], ["text.txt"])',
            "bad-value",
        )
    files = name_files([str(model) for model in models if isinstance(model, (str, Path))])
    names = {path: name for name, path in files.items()}
    tokenizers: dict[str, Tokenizer] = {}
    for model in models:
        if isinstance(model, (str, Path)):
            name, tokenizer = names[str(model)], Tokenizer.load(model)
        elif isinstance(model, Tokenizer):
            name, number, tokenizer = model.recipe.name, 1, model
            while name in tokenizers:
                number += 1
                name = f"{model.recipe.name}-{number}"
        else:
            name, tokenizer = model
        if name in tokenizers:
            raise BadOption(f"two models are called {name!r}", "name them: (name, tokenizer)")
        tokenizers[name] = tokenizer
    return tokenizers


def find_baseline(baseline: str, names: Mapping[str, str]) -> str | None:
    """Return the name of the model that `baseline` names, by its name or by its file.

    Args:
        baseline: name of a model, or path of a model file.
        names: file of each model, by name; empty for a model without a file.

    Returns:
        The name of the model; None if `baseline` is the file of another model.

    Raises:
        TokctlError: `baseline` is neither a model of the comparison nor a file.
    """
    for name, path in names.items():
        if baseline == name or (path and _is_same_file(baseline, path)):
            return name
    from tokctl.formats import hub

    if not hub.is_hub_name(baseline) and not Path(baseline).exists():
        raise BadOption(
            f"the baseline {baseline!r} is neither a model of this comparison nor a file",
            f"name a file, or one of: {', '.join(names)}",
            "unknown-name",
        )
    return None


def _is_same_file(first: str, second: str) -> bool:
    return first == second or Path(first).resolve() == Path(second).resolve()


#: File name endings of models, besides the formats' own; the longer one of two comes first.
ENDINGS = (".tokenizer.json", ".json", ".gguf")


def name_files(paths: Sequence[str], taken: Sequence[str] = ()) -> dict[str, str]:
    """Return the path of each model by a short name.

    The name is the file's name without its ending, the folder's name, or the name of the
    repository on the Hugging Face Hub. If it is ambiguous or taken, the whole path is the name.

    Args:
        paths: paths of the models.
        taken: names of other models.

    Raises:
        TokctlError: a path is given twice.
    """
    if repeated := [path for path, counts in Counter(paths).items() if counts > 1]:
        raise BadOption(f"the model {repeated[0]} is given twice", "give each of them once")
    short_names = [_short_name(path) for path in paths]
    counts = Counter([*short_names, *taken])
    return {
        path if counts[name] > 1 else name: path
        for name, path in zip(short_names, paths, strict=True)
    }


def _short_name(path: str) -> str:
    """Return the short name of a model: `gpt2` for `gpt2.tokenizer.json` or `hf:ORG/gpt2`.

    A file whose name is an ending alone keeps its name.
    """
    from tokctl.formats import FORMATS, hub

    if hub.is_hub_name(path):
        return path.removeprefix(hub.PREFIX).rpartition("/")[2]
    if Path(path).is_dir():
        return Path(path).resolve().name or path
    name = Path(path).name
    for ending in (
        *ENDINGS,
        *(model_format.suffix for model_format in FORMATS if model_format.suffix),
    ):
        if name.endswith(ending) and name != ending:
            return name.removesuffix(ending)
    return name
