"""An extension of griffe: where a docstring describes two arguments at once, as `a, b: …`, each
gets the description. Without it griffe takes `a, b` for a name, and says that there is none."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

_SHARED = re.compile(r"^( *)(\w+(?:, \w+)+): (.*(?:\n\1 +.*)*)$", flags=re.MULTILINE)


class SharedDescriptions(Extension):
    def on_object(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = _SHARED.sub(_one_each, obj.docstring.value)


def _one_each(found: re.Match[str]) -> str:
    indent, names, text = found.groups()
    return "\n".join(f"{indent}{name}: {text}" for name in names.split(", "))
