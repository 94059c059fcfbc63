"""An extension of griffe for the docstrings of tokctl.

Where a docstring describes two arguments at once, as `a, b: …`, each gets the description: griffe
takes `a, b` for a name, and says that there is none. The section `Example` is Python, which griffe
takes for text.
"""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

_SHARED = re.compile(r"^( *)(\w+(?:, \w+)+): (.*(?:\n\1 +.*)*)$", flags=re.MULTILINE)

_EXAMPLE = re.compile(r"^( *)Example:\n((?:\1 +.*(?:\n|$)|\n(?=\1 ))+)", flags=re.MULTILINE)


class SharedDescriptions(Extension):
    def on_object(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring is not None:
            separate = _SHARED.sub(_one_each, obj.docstring.value)
            obj.docstring.value = _EXAMPLE.sub(_as_code, separate)


def _one_each(found: re.Match[str]) -> str:
    indent, names, text = found.groups()
    return "\n".join(f"{indent}{name}: {text}" for name in names.split(", "))


def _as_code(found: re.Match[str]) -> str:
    indent, code = found.groups()
    fence = f"{indent}    ```"
    return f"{indent}Example:\n{fence}python\n{code.rstrip()}\n{fence}\n"
