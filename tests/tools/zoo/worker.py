"""A process that compares one file, within limits of its own, and prints what it found as JSON:
`python -m tests.tools.zoo.worker LISTED PATH STRINGS LISTS`."""

from __future__ import annotations

import json
import os
import random
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.tools.zoo.cases import Case, cases, damaged_lists
from tests.tools.zoo.listed import Listed
from tests.tools.zoo.peers import Peer, Recorded, TheirError, opened
from tokctl._native import NO_ID
from tokctl.core.errors import TokctlError

#: Seconds of CPU and bytes of memory that one file may take.
CPU, MEMORY = 1500, 6 << 30


#: Texts that damaged id lists are made of, and tokens that are looked at for fragments.
TEXTS, LOOKED_AT = 400, 4_000
#: The kind of differences in the text of a damaged id list.
DAMAGED = "damaged ids"


def compare(listed: Listed, path: Path, count: int, lists: int = 0) -> dict[str, Any]:
    """Compare `count` strings and the texts of `lists` damaged id lists."""
    try:
        peer = opened(listed, path)
    except ModuleNotFoundError as error:
        return {"missing": error.name}
    except TokctlError as error:
        return {"loads": False, "reason": _said(error, path)}
    except TheirError as error:
        return {"loads": False, "theirs": False, "reason": _said(error, path)}
    asked = list(cases(count, peer.own))
    if isinstance(peer, Recorded):
        asked = [Case(text) for text in peer.answers]
    strings = 0
    counts: Counter[str] = Counter()
    shortest: dict[str, tuple[Case, object, object]] = {}
    for case in asked:
        strings += 1
        for kind, here, there in {found[0]: found for found in _of(peer, case)}.values():
            counts[kind] += 1
            if kind not in shortest or len(case.text) < len(shortest[kind][0].text):
                shortest[kind] = case, here, there
    examples = {}
    for kind, (case, here, there) in shortest.items():
        small, here, there = _shrunk(peer, kind, case, here, there)
        examples[kind] = [repr(tuple(small)), repr(here)[:400], repr(there)[:400]]
    damaged = [] if isinstance(peer, Recorded) else list(_damaged(peer, lists))
    differing = [ids for ids in damaged if _texts(peer, ids)]
    if differing:
        counts[DAMAGED] = len(differing)
        ids = _shrunk_ids(peer, min(differing, key=len))
        examples[DAMAGED] = [repr(ids), *(repr(text)[:400] for text in _texts(peer, ids))]
    return {
        "loads": True,
        "strings": strings,
        "lists": len(damaged),
        "differences": counts,
        "examples": examples,
    }


def _damaged(peer: Peer, count: int) -> Iterator[list[int]]:
    """Yield `count` damaged id lists of the peer's vocabulary."""
    ours = peer.ours
    texts = []
    for case in cases(TEXTS, peer.own):
        try:
            texts.append([id_ for id_ in ours.encode(case.text).raw_ids if id_ != NO_ID])
        except TokctlError:
            continue
    if not any(texts):
        return
    size = ours.vocab_size
    looked_at = random.Random(size).sample(range(size), min(size, LOOKED_AT))
    looked_at += [id_ for id_ in map(ours.token_to_id, _BYTES) if id_ is not None]
    fragments = [id_ for id_ in looked_at if "\ufffd" in ours.decode([id_], errors="replace")]
    special = list(ours.special_ids.values())
    yield from damaged_lists(count, texts, size, fragments, special)


#: How tokenizers with byte fallback name the bytes.
_BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


def _texts(peer: Peer, ids: list[int]) -> tuple[object, ...]:
    """Return both texts of `ids` if they differ, else nothing."""
    return next((found[1:] for found in peer.decodings(ids)), ())


def _shrunk_ids(peer: Peer, ids: list[int]) -> list[int]:
    """Return as few of `ids` as show a difference."""
    at = 0
    while at < len(ids):
        fewer = ids[:at] + ids[at + 1 :]
        if fewer and _texts(peer, fewer):
            ids = fewer
        else:
            at += 1
    return ids


def _said(error: Exception, path: Path) -> str:
    """The first sentence of a message, without the machine's paths."""
    said = str(error).replace(str(path), path.name).replace(str(path.parent), "the folder")
    return said.split("\nhint:")[0].splitlines()[0][:200]


def _of(peer: Peer, case: Case) -> list[tuple[str, object, object]]:
    try:
        return list(peer.differences(case))
    except BaseException as error:
        if isinstance(error, (KeyboardInterrupt, SystemExit, MemoryError)):
            raise
        return [("broken", f"{type(error).__name__}: {error}", "")]


def _shrunk(
    peer: Peer, kind: str, case: Case, here: object, there: object
) -> tuple[Case, object, object]:
    """The case with as little text as shows the difference."""
    if isinstance(peer, Recorded):
        return case, here, there
    tries = 400

    def shows(new: Case) -> bool:
        nonlocal here, there, tries
        tries -= 1
        found = [entry for entry in _of(peer, new) if entry[0] == kind]
        if found:
            here, there = found[0][1:]
        return bool(found)

    for change in ({"pair": None}, {"length": 0}, {"around": False}, {"special": False}):
        new = case._replace(**change)
        if new != case and shows(new):
            case = new
    for field in ("text", "pair"):
        size = len(getattr(case, field) or "")
        while size and tries > 0:
            size = (size + 1) // 2 if size > 1 else 0
            at = 0
            while size and tries > 0 and at < len(getattr(case, field)):
                text = getattr(case, field)
                new = case._replace(**{field: text[:at] + text[at + size :]})
                if shows(new):
                    case = new
                else:
                    at += size
    return case, here, there


def main() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_CPU, (CPU, CPU))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    # The folder is all that is read.
    os.environ["HF_HUB_OFFLINE"] = "1"
    listed, path = Listed(*json.loads(sys.argv[1])), Path(sys.argv[2])
    print(json.dumps(compare(listed, path, *map(int, sys.argv[3:])), ensure_ascii=True))


if __name__ == "__main__":
    main()
