"""The tokenizer class that `transformers` 5.24 uses for a folder, as in `tokenization_auto.py`."""

from __future__ import annotations

from functools import cache
from typing import Any

from tokctl.core.errors import TokctlError, Unsupported
from tokctl.formats.huggingface.classes import known_classes, table
from tokctl.formats.huggingface.components import Json

#: The class that uses `tokenizer.json` unchanged.
BACKEND = "TokenizersBackend"
#: The prefix for a class whose code is in the folder, or in another one.
OWN_CODE = "code: "
_MISTRAL = "MistralCommonBackend"
_AS_IT_STANDS = "name its tokenizer.json to read that file as it stands: -m {}/tokenizer.json"


@cache
def classes_by_model_type() -> dict[str, str]:
    """Return the class of each `model_type`."""
    rows = table()["classes"].items()
    return {kind: name for name, row in rows for kind in row.get("model_types", ())}


def why_refused(name: str) -> str | None:
    """Return why tokctl does not run a class, or None if tokctl runs or does not know the class."""
    facts = table()["classes"].get(name, {})
    return table()["reasons"][facts["refused"]] if "refused" in facts else None


def choose_class(config: Json, model: Json, document: Json | None, *, tekken: bool) -> str:
    """Return the name of the class that `transformers` uses for a folder, without `Fast`.

    A class with its own code has the prefix `OWN_CODE`.

    Args:
        config: the content of `tokenizer_config.json`.
        model: the content of `config.json`.
        document: the content of `tokenizer.json`, or None.
        tekken: whether there is a `tekken.json`, which mistral-common reads if it is installed.
    """
    model_type = _text(model, "model_type")
    registered = classes_by_model_type().get(model_type, "")
    configured = without_fast(_text(config, "tokenizer_class"))
    named = configured or without_fast(_text(model, "tokenizer_class"))
    # The folders of these models often name a wrong class: the class of the `model_type` counts.
    all_misnamed = table()["misnamed"]
    misnamed = model_type in all_misnamed
    code = own_code(config)
    if code and not misnamed:
        return f"{OWN_CODE}{code:.80}"
    if not code:
        misnamed = misnamed or _text(model, "model_name") in all_misnamed
        is_llama = named == "LlamaTokenizer" and registered != _MISTRAL and not misnamed
        if is_llama and document is not None and has_byte_level(document):
            return BACKEND
        if named and registered and registered != named:
            if (
                not misnamed
                and why_refused(f"{named}Fast")
                and named + "Fast" in _named_classes(config, model)
            ):
                return f"{named}Fast"
            name = registered if misnamed else named
            if registered not in (BACKEND, _MISTRAL) and has_own_pipeline(name):
                return name
            return _MISTRAL if registered == _MISTRAL and tekken else BACKEND
    name = named or table()["unnamed"].get(model_type, registered) or BACKEND
    return BACKEND if name == _MISTRAL and not named and not tekken else name


def has_own_pipeline(name: str) -> bool:
    """Return whether `name` is a class that does more than read `tokenizer.json`."""
    return name in known_classes() or why_refused(name) is not None


def refusal(name: str, folder: str) -> TokctlError | None:
    """Return the error for a class that tokctl does not run, or None if tokctl runs the class."""
    hint = _AS_IT_STANDS.format(folder)
    if name.startswith(OWN_CODE):
        code = name.removeprefix(OWN_CODE)
        return Unsupported(
            f"its tokenizer is a program of its own ({code}), which tokctl does not run", hint
        )
    reason = why_refused(name)
    return Unsupported(f"its class {name} {reason}", hint) if reason else None


def own_code(config: Json) -> str:
    """Return the class with its own code that the configuration names, or an empty text."""
    value = config.get("auto_map")
    if isinstance(value, dict):
        value = value.get("AutoTokenizer")
    if isinstance(value, (list, tuple)):
        return next((name for name in reversed(value) if isinstance(name, str)), "")
    return value if isinstance(value, str) else ""


def _text(data: Json, name: str) -> str:
    value = data.get(name)
    return value if isinstance(value, str) else ""


def _named_classes(config: Json, model: Json) -> tuple[str, str]:
    return _text(config, "tokenizer_class"), _text(model, "tokenizer_class")


def without_fast(name: str) -> str:
    """Return the name of a class without `Fast`, which transformers ignores."""
    return name.removesuffix("Fast")


def has_byte_level(value: Any, depth: int = 0) -> bool:
    """Return whether `value`, a part of a `tokenizer.json`, contains a ByteLevel component."""
    if depth > 12 or not isinstance(value, (dict, list)):
        return False
    if isinstance(value, list):
        return any(has_byte_level(item, depth + 1) for item in value)
    if value.get("type") == "ByteLevel":
        return True
    return any(has_byte_level(item, depth + 1) for key, item in value.items() if key != "model")
