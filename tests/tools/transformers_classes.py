"""Writes what `formats/huggingface/classes.json` says of the tokenizer classes of transformers.

    python -m tests.tools.transformers_classes

The library says which classes it has, which one a `model_type` has, and what `DERIVED` lists. The
other keys of a row, and the reasons, are people's: they stay as they are, as does the whole row of
a class that needs a library that is not installed. A new class needs `refused`, `as`, or a pipeline
in `classes.py`; `tests/interop/test_class_names.py` says so.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import pkgutil
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

from tokctl.formats.huggingface.class_names import without_fast
from tokctl.formats.huggingface.classes import FILE, ROLES

#: The keys of a row that are taken from transformers, and `extra` if it is a list of languages.
DERIVED = ("model_types", "plain", "model", "roles", "kept")


def _module(name: str) -> Any:
    return importlib.import_module(f"transformers.{name}")


@lru_cache
def class_names() -> frozenset[str]:
    """The names of all tokenizers that transformers knows: of AutoTokenizer's table, of the
    modules, and the aliases by which it finds further ones."""
    names = {
        name
        for name in _module("models.auto.tokenization_auto").TOKENIZER_MAPPING_NAMES.values()
        if name
    }
    names |= set(_module("convert_slow_tokenizer").SLOW_TO_FAST_CONVERTERS)
    models = _module("models")
    for package in pkgutil.iter_modules(models.__path__):
        folder = Path(models.__path__[0]) / package.name
        for path in folder.glob("tokenization_*.py"):
            try:
                found = _module(f"models.{package.name}.{path.stem}")
            except (ImportError, NameError):
                continue  # It needs a library that is not installed.
            names |= {
                name
                for name in getattr(found, "__all__", ())
                if name.endswith(("Tokenizer", "TokenizerFast", "Legacy"))
            }
    return frozenset(names)


def class_there(name: str) -> type[Any] | None:
    """The class of transformers that AutoTokenizer takes for a name."""
    found = _module("models.auto.tokenization_auto").tokenizer_class_from_name(name)
    if found is None or not inspect.isclass(found):
        return None
    base = _module("tokenization_utils_base").PreTrainedTokenizerBase
    return found if base in found.__mro__ or name == "RagTokenizer" else None


def is_plain(found: type[Any]) -> bool:
    """Does AutoTokenizer read `tokenizer.json` with it, and change nothing?"""
    import transformers

    return found in (transformers.PreTrainedTokenizerFast, transformers.PreTrainedTokenizer)


def roles_of(found: type[Any]) -> dict[str, str]:
    """The special tokens that are defaults of `__init__`, in the order of `ROLES`."""
    roles: dict[str, str] = {}
    for one in reversed(found.__mro__):
        if "__init__" in vars(one):
            for parameter in inspect.signature(one.__init__).parameters.values():
                if parameter.name.endswith("_token") and isinstance(parameter.default, str):
                    roles[parameter.name] = parameter.default
    order = [*ROLES, *roles]
    return dict(sorted(roles.items(), key=lambda role: order.index(role[0])))


def class_by_model() -> dict[str, str]:
    """The class of each `model_type` if all libraries are installed: read off the source."""
    module = _module("models.auto.tokenization_auto")
    found = dict(module.TOKENIZER_MAPPING_NAMES)
    table = next(
        node.value
        for node in ast.parse(inspect.getsource(module)).body
        if ast.unparse(node).startswith("TOKENIZER_MAPPING_NAMES = ")
    )
    for pair in table.args[0].elts:
        kind, name = pair.elts
        while isinstance(name, ast.IfExp):  # if a library is installed
            name = name.body
        found[kind.value] = name.value
    return {kind: without_fast(name) for kind, name in found.items()}


def unnamed(by_model: dict[str, str]) -> dict[str, str]:
    """The class for a folder that names none, where it is not the class of its `model_type`.

    These models have no configuration of their own, or share another model's, or their
    configuration is refused.
    """
    module = _module("models.auto.configuration_auto")
    owners = {configuration: kind for kind, configuration in module.CONFIG_MAPPING_NAMES.items()}
    found = {}
    for kind, name in by_model.items():
        try:
            owner = owners[type(module.AutoConfig.for_model(kind)).__name__]
        except ValueError:  # no configuration, or one that needs more than the `model_type`
            owner = ""
        chosen = by_model.get(owner, "TokenizersBackend")
        if chosen != name:
            found[kind] = chosen
    return dict(sorted(found.items()))


def row_of(name: str, given: dict[str, Any], by_model: dict[str, str]) -> dict[str, Any]:
    """The row of a class: what transformers says, and what people wrote in the row `given`."""
    row: dict[str, Any] = {}
    if kinds := sorted(kind for kind, its in by_model.items() if its == name):
        row["model_types"] = kinds
    found = class_there(name)
    if found is None or {"refused", "as"} & given.keys():
        return row | {key: value for key, value in given.items() if key != "model_types"}
    if is_plain(found):
        return row | {"plain": True}
    row["model"] = found.model.__name__ if found.model else given.get("model")
    row["roles"] = roles_of(found)
    if "__init__" not in vars(found):
        # A class that inherits __init__ reads the file, and changes it afterwards.
        row["kept"] = True
    row |= {key: value for key, value in given.items() if key not in DERIVED}
    if languages := getattr(sys.modules[found.__module__], "FAIRSEQ_LANGUAGE_CODES", None):
        row["extra"] = languages
    return row


def made(given: dict[str, Any]) -> str:
    """The text of the file, with what people wrote taken from `given`, its content so far."""
    import transformers

    by_model = class_by_model()
    names = {without_fast(name) for name in class_names() if class_there(name)} | {
        *by_model.values()
    }
    names |= {*given["classes"]}
    rows = {name: row_of(name, given["classes"].get(name, {}), by_model) for name in sorted(names)}
    auto = _module("models.auto.tokenization_auto")
    return written(
        {
            "transformers": ".".join(transformers.__version__.split(".")[:2]),
            "reasons": given["reasons"],
            "misnamed": sorted(auto.MODELS_WITH_INCORRECT_HUB_TOKENIZER_CLASS),
            "unnamed": unnamed(by_model),
            "classes": rows,
        }
    )


def written(content: dict[str, Any]) -> str:
    """JSON with a line for each row of an object, and one for anything else."""
    parts = []
    for key, value in content.items():
        text = json.dumps(value, ensure_ascii=False)
        if key in ("classes", "reasons"):
            rows = (
                f"  {json.dumps(name)}: {json.dumps(row, ensure_ascii=False)}"
                for name, row in value.items()
            )
            text = "{\n" + ",\n".join(rows) + "\n}"
        parts.append(f"{json.dumps(key)}: {text}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    FILE.write_text(made(json.loads(FILE.read_text(encoding="utf-8"))), encoding="utf-8")
