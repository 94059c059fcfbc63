"""`docs/compare.md` names every key of the JSON document, and no other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.metrics.models import TEXT, document
from tokctl.analysis.comparison import TrainedText, Training, compare, digest_of_text, train_sizes
from tokctl.analysis.metrics import metric_names
from tokctl.analysis.texts import Text
from tokctl.model.presets import default_recipe

PAGE = (Path(__file__).parents[2] / "docs" / "compare.md").read_text(encoding="utf-8")


def paths(value: Any, path: str, names: set[str]) -> Iterator[str]:
    """Where values stand; an object whose keys are data is `{}`."""
    if isinstance(value, dict):
        data = set(value) <= names
        for key, inner in value.items():
            yield from paths(inner, f"{path}.{'{}' if data else key}".lstrip("."), names)
    elif isinstance(value, list):
        for inner in value:
            yield from paths(inner, f"{path}[]", names)
    else:
        yield path


def test_every_key_is_documented() -> None:
    text = Text("low.txt", TEXT.encode())
    recipes = {name: default_recipe(name) for name in ("bpe", "wordpiece")}
    sweep = train_sizes(recipes, [text], [262, 270])
    found = compare(
        [(name, sweep[name, 262]) for name in recipes],
        [text.source()],
        languages={"en": text.source(), "fi": document("low\n")},
        sweep=sweep,
        intervals=True,
        speed=True,
    )
    names = {*metric_names(), *recipes, "parity", "tokens_per_line"}
    part = TrainedText(digest_of_text(text), 60, "lines", 4, (1,))
    training = Training((part,), 0.1, 0, 262)
    alone = compare([sweep["bpe", 262]], [text.source()], training=training)
    keys = {key for one in (found, alone) for key in paths(one.to_dict(), "", names)}
    documented = set(re.findall(r"^\| `([^`]+)` \|", PAGE, flags=re.MULTILINE))
    assert keys == documented
