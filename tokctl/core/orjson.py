"""orjson, or `tokctl.core.plain_json` where orjson can't be installed: on Python without a GIL."""

from __future__ import annotations

from tokctl.core.signals import held

try:
    with held():  # an exception while orjson is imported would crash the process
        from orjson import (
            OPT_APPEND_NEWLINE,
            OPT_INDENT_2,
            OPT_SORT_KEYS,
            Fragment,
            JSONDecodeError,
            dumps,
            loads,
        )
except ModuleNotFoundError:
    from json import JSONDecodeError  # type: ignore[assignment]

    from tokctl.core.plain_json import (  # type: ignore[assignment]
        OPT_APPEND_NEWLINE,
        OPT_INDENT_2,
        OPT_SORT_KEYS,
        Fragment,
        dumps,
        loads,
    )

__all__ = [
    "OPT_APPEND_NEWLINE",
    "OPT_INDENT_2",
    "OPT_SORT_KEYS",
    "Fragment",
    "JSONDecodeError",
    "dumps",
    "loads",
]
