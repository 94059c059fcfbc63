"""Parts as the native core takes them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tokctl.errors import TokctlError
from tokctl.model.parts.part import Part

#: Kinds that are rules of SentencePiece's, with the name that these have there.
CHARS_MAPS = {
    "nmt_nfkc": "nmt_nfkc",
    "nmt_nfkc_cf": "nmt_nfkc_cf",
    "nfkc_cf": "nfkc_cf",
    "sp_nfkc": "nfkc",
}


def native_parts(parts: Iterable[Part]) -> list[dict[str, Any]]:
    """Descriptions of the parts for the core: the kind and every option."""
    return [_native(part) for part in parts]


def _native(part: Part) -> dict[str, Any]:
    if part.kind in CHARS_MAPS:
        return {"kind": "chars-map", "name": CHARS_MAPS[part.kind], "keep": list(part["keep"])}
    if part.kind == "precompiled":
        import base64

        try:
            blob = base64.b64decode(part["rules"], validate=True)
        except ValueError as error:
            raise TokctlError(
                f"the precompiled rules are no base64: {error}",
                "take them from a model file as they are",
            ) from None
        found = {"kind": "chars-map", "blob": blob, "keep": list(part["keep"])}
        return {**found, "graphemes": part["graphemes"]}
    return {"kind": part.kind, **dict(part.options)}
