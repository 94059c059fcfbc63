"""The extra `report`: what pages and charts are made with, which not everybody has."""

from __future__ import annotations

from importlib.util import find_spec

from tokctl.errors import TokctlError

#: Modules and the packages that they come in.
_NEEDED = {"altair": "altair", "jinja2": "jinja2", "vl_convert": "vl-convert-python"}


def check() -> None:
    """TokctlError where something of the extra is not installed."""
    missing = [package for module, package in _NEEDED.items() if find_spec(module) is None]
    if missing:
        raise TokctlError(
            f"pages and charts need {' and '.join(missing)}", "pip install 'tokctl[report]'"
        )
