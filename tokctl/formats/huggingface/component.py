"""What the tables of components share: reading fields of JSON with care, and refusing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from tokctl.errors import TokctlError
from tokctl.formats.contract import InexpressibleError as InexpressibleError
from tokctl.formats.contract import damaged
from tokctl.model.parts import Part

Json = dict[str, Any]
#: Makes the component of a part; `InexpressibleError` where the format has none.
Writer = Callable[[Part], Json]
#: Makes the parts of a component; TokctlError where tokctl has none.
Reader = Callable[["Fields"], "list[Part]"]

#: A sequence of sequences deeper than this is no tokenizer.
_DEEPEST = 20
_REQUIRED = object()
_NAMES = {str: "a text", bool: "true or false", int: "a whole number"}


class Fields:
    """The fields of a component, each checked when it is read.

    family: what the component is called in messages, `normalizer` for instance.
    """

    def __init__(self, family: str, data: Any) -> None:
        if not isinstance(data, dict):
            raise ValueError(f"a {family} is {_shown(data)}, and should be an object")
        self.family = family
        self.data: Json = data

    def text(self, name: str, default: Any = _REQUIRED) -> Any:
        return self._typed(name, str, default)

    def flag(self, name: str, default: Any = _REQUIRED) -> Any:
        return self._typed(name, bool, default)

    def number(self, name: str, default: Any = _REQUIRED) -> Any:
        return self._typed(name, int, default)

    def character(self, name: str) -> str:
        text = self.text(name)
        if len(text) != 1:
            raise ValueError(self._wrong(name, text, "one character"))
        return str(text)

    @property
    def type(self) -> str:
        return str(self.text("type"))

    def _typed(self, name: str, wanted: Any, default: Any) -> Any:
        value = self.data.get(name)
        if value is None and default is not _REQUIRED:
            return default
        if type(value) is not wanted:
            raise ValueError(self._wrong(name, value, _NAMES[wanted]))
        return value

    def _wrong(self, name: str, value: Any, wanted: str) -> str:
        kind = self.data.get("type")
        named = f" {kind}" if isinstance(kind, str) else ""
        return f"{name!r} of the {self.family}{named} is {_shown(value)}, and should be {wanted}"


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:60] + "…"


def flatten(data: Any, family: str, key: str, depth: int = 0) -> list[Fields]:
    """The components of a sequence one after the other; `key` is where it lists them."""
    if data is None:
        return []
    if depth > _DEEPEST:
        raise ValueError(f"the {family}s are nested too deeply")
    fields = Fields(family, data)
    if fields.type != "Sequence":
        return [fields]
    members = fields.data.get(key)
    if not isinstance(members, list):
        raise ValueError(f"{key!r} of the {family} Sequence is no list")
    return [one for member in members for one in flatten(member, family, key, depth + 1)]


def unknown_type(fields: Fields) -> TokctlError:
    """The error for a component that no table holds."""
    return TokctlError(
        f"its {fields.family} {_shown(fields.type)} is none that tokctl knows",
        "tokctl knows the components of Hugging Face tokenizers 0.23",
    )


def in_sequence(components: Iterable[Json], key: str) -> Json | None:
    """One component for all of them: null for none, a Sequence for several."""
    listed = list(components)
    if len(listed) < 2:
        return listed[0] if listed else None
    return {"type": "Sequence", key: listed}


@contextmanager
def unless_damaged(name: str) -> Iterator[None]:
    """Errors of reading the file `name` as TokctlErrors that name it."""
    try:
        yield
    except KeyError as error:
        raise damaged(name, f"the field {error} is missing") from None
    except (TypeError, AttributeError):
        raise damaged(name, "a field is of another type than it should be") from None
    except (ValueError, OverflowError, RecursionError) as error:
        raise damaged(name, str(error)) from None
    except TokctlError as error:
        if error.message.startswith(name):
            raise
        message = f"tokctl can't use {name}: {error.message}"
        raise TokctlError(message, error.hint) from None
