"""The manifest of a finished folder of shards."""

from __future__ import annotations

from typing import Any

from tokctl.idfiles.shards.journal import Journal, files_in
from tokctl.idfiles.shards.origin import Origin

#: Of what the manifest holds; it grows when that changes.
VERSION = 1


def manifest(origin: Origin, journal: Journal) -> dict[str, Any]:
    """What `manifest.json` holds: the same for the same sources, model and options."""
    sources = []
    for number, name in enumerate(origin.names):
        size, _, documents, ids = journal.facts.get(number) or [*origin.facts(number), 0, 0]
        sources.append({"name": name, "bytes": size, "documents": documents, "ids": ids})
    shards = journal.shards
    return {
        "manifest": VERSION,
        **origin.job,
        "sources": sources,
        "shards": shards,
        "totals": {
            "shards": len(shards),
            "documents": sum(shard["documents"] for shard in shards),
            "ids": sum(shard["ids"] for shard in shards),
            "bytes": sum(file["bytes"] for shard in shards for file in files_in(shard)),
        },
    }
