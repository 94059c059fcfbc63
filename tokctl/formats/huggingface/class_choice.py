"""Which class of `transformers` a folder is loaded with: what `AutoTokenizer.from_pretrained`
of version 5.23 takes, called without `trust_remote_code`."""

from __future__ import annotations

from typing import Any

from tokctl.errors import TokctlError
from tokctl.formats.huggingface.class_names import BY_MODEL, MISNAMED, REFUSED, UNNAMED
from tokctl.formats.huggingface.classes import CLASSES
from tokctl.formats.huggingface.components import Json

#: Takes `tokenizer.json` as it is.
BACKEND = "TokenizersBackend"
#: Stands before a class that is code in the folder, or in another.
OWN_CODE = "code: "
_MISTRAL = "MistralCommonBackend"
_AS_IT_STANDS = "name its tokenizer.json to read that file as it stands: -m {}/tokenizer.json"


def chosen(config: Json, model: Json, document: Json | None, *, tekken: bool) -> str:
    """The name of the class, without `Fast`; of a class of the folder's own with `OWN_CODE`
    before it.

    Args:
        config: `tokenizer_config.json`.
        model: `config.json`.
        document: `tokenizer.json`.
        tekken: is there a `tekken.json`, which mistral-common reads where it is installed?
    """
    kind = _text(model, "model_type")
    registered = BY_MODEL.get(kind, "")
    own = _bare(_text(config, "tokenizer_class"))
    given = own or _bare(_text(model, "tokenizer_class"))
    misnamed = kind in MISNAMED
    code = own_code(config)
    if code and not misnamed:
        return f"{OWN_CODE}{code:.80}"
    if not code:
        misnamed = misnamed or _text(model, "model_name") in MISNAMED
        is_llama = given == "LlamaTokenizer" and registered != _MISTRAL and not misnamed
        if is_llama and document is not None and has_byte_level(document):
            return BACKEND
        if given and registered and registered != given:
            if (
                not misnamed
                and f"{given}Fast" in REFUSED
                and given + "Fast" in _names(config, model)
            ):
                return f"{given}Fast"
            name = registered if misnamed else given
            if registered not in (BACKEND, _MISTRAL) and is_class(name):
                return name
            return _MISTRAL if registered == _MISTRAL and tekken else BACKEND
    name = given or UNNAMED.get(kind, registered) or BACKEND
    return BACKEND if name == _MISTRAL and not given and not tekken else name


def is_class(name: str) -> bool:
    """Is it a class that does more than to read `tokenizer.json`?"""
    return name in CLASSES or name in REFUSED


def refused(name: str, folder: str) -> TokctlError | None:
    """Why tokctl does not run the class; None where it does."""
    hint = _AS_IT_STANDS.format(folder)
    if name.startswith(OWN_CODE):
        code = name.removeprefix(OWN_CODE)
        return TokctlError(
            f"its tokenizer is a program of its own ({code}), which tokctl does not run", hint
        )
    return TokctlError(f"its class {name} {REFUSED[name]}", hint) if name in REFUSED else None


def own_code(config: Json) -> str:
    """The class of the folder's own that its configuration names; "" where there is none."""
    found = config.get("auto_map")
    if isinstance(found, dict):
        found = found.get("AutoTokenizer")
    if isinstance(found, (list, tuple)):
        return next((name for name in reversed(found) if isinstance(name, str)), "")
    return found if isinstance(found, str) else ""


def _text(data: Json, name: str) -> str:
    value = data.get(name)
    return value if isinstance(value, str) else ""


def _names(config: Json, model: Json) -> tuple[str, str]:
    return _text(config, "tokenizer_class"), _text(model, "tokenizer_class")


def _bare(name: str) -> str:
    return name.removesuffix("Fast")


def has_byte_level(value: Any, depth: int = 0) -> bool:
    """Is there a component ByteLevel?"""
    if depth > 12 or not isinstance(value, (dict, list)):
        return False
    if isinstance(value, list):
        return any(has_byte_level(one, depth + 1) for one in value)
    if value.get("type") == "ByteLevel":
        return True
    return any(has_byte_level(one, depth + 1) for key, one in value.items() if key != "model")
