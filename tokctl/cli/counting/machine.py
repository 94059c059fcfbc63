"""Counts for programs: JSON, comma-separated values. Names are exact, whatever they hold."""

from __future__ import annotations

import os
from typing import Any

from tokctl.cli.written import json, text_or_bytes
from tokctl.tokenizer.token_counts import FileCount, TokenCounts


def as_json(counts: TokenCounts) -> bytes:
    """One document. Of one model `tokens` are a number, of several an object by their names."""
    total = counts.total
    answer: dict[str, Any] = {"files": [_row(counts, row) for row in counts.files]}
    answer |= {key: value for key, value in _row(counts, total).items() if key != "name"}
    if len(counts.models) > 1:
        answer["models"] = [text_or_bytes(os.fsencode(name)) for name in counts.models]
    if counts.failures:
        answer["errors"] = [
            {
                "name": text_or_bytes(os.fsencode(failure.name)),
                "error": text_or_bytes(os.fsencode(failure.error.message)),
            }
            for failure in counts.failures
        ]
    return json(answer) + b"\n"


def _row(counts: TokenCounts, row: FileCount) -> dict[str, Any]:
    tokens: Any = row.tokens[0]
    if len(counts.models) > 1:
        names = (os.fsencode(name).decode("utf-8", "backslashreplace") for name in counts.models)
        tokens = dict(zip(names, row.tokens, strict=True))
    return {
        "name": text_or_bytes(os.fsencode(row.name)),
        "tokens": tokens,
        "bytes": row.bytes,
        "documents": row.documents,
    }


def as_csv(counts: TokenCounts) -> bytes:
    """A header and a row for each file, as RFC 4180 has it; the sums are left to the reader."""
    import csv
    from io import StringIO

    several = len(counts.models) > 1
    tokens = [f"tokens:{name}" for name in counts.models] if several else ["tokens"]
    text = StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow([*tokens, "bytes", "documents", "name"])
    writer.writerows([*row.tokens, row.bytes, row.documents, row.name] for row in counts.files)
    return os.fsencode(text.getvalue())
