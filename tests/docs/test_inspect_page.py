"""`docs/inspect.md` names every key of the JSON that `tokctl inspect` writes, and no other."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.inspecting import inspect
from tests.explain import every

PAGE = (Path(__file__).parents[2] / "docs" / "inspect.md").read_text(encoding="utf-8")

#: The questions, by the heading of their table.
QUESTIONS: dict[str, list[list[str]]] = {
    "The summary": [[]],
    "`--merges`, `--merges-of`": [["--merges", ":3"], ["--merges-of", "l*"]],
    "`--state`": [["--state", "0", "t.txt"], ["--state", "1", "t.txt"]],
    "`--pairs`": [["--pairs", "1", "t.txt"]],
    "`--word`": [["--word", "lowest é語 <x>"], ["--word", "lowest", "--nbest", "3"]],
    "`--token`": [["--token", f"#{id_}", *text] for id_ in (0, 9, 60) for text in ([], ["t.txt"])],
    "`--use`": [["--use", "t.txt"]],
    "`--gap`": [["--gap", "t.txt"]],
    "`--rounds`": [["--rounds"]],
}
#: Objects that the page defines once: by what they must have.
KINDS = {
    "merge": {"step", "left", "right", "token", "count"},
    "added": {"text", "id", "special"},
    "text": {"text"},
    "bytes": {"bytes"},
}
#: What other pages document, and objects whose keys are data.
ELSEWHERE = {"recipe", "training", "origin"}
BY_NAME = {
    "special",
    "kinds",
    "places",
    "contents",
    "scripts",
    "lengths.tokens",
    "languages.languages",
}


def paths(value: Any, path: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        if path in ELSEWHERE:
            yield path
            return
        kind = next((kind for kind, keys in KINDS.items() if path and _is(kind, keys, value)), None)
        if kind:
            yield path
            return
        for key, inner in value.items():
            name = "{}" if path in BY_NAME else key
            yield from paths(inner, f"{path}.{name}".lstrip("."))
    elif value == []:
        yield f"{path}[]?"
    elif isinstance(value, list):
        for inner in value:
            yield from paths(inner, f"{path}[]")
    else:
        yield path


def _is(kind: str, keys: set[str], value: dict[str, Any]) -> bool:
    return set(value) == keys if kind in ("text", "bytes") else keys <= set(value)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """The keys that are there for some model."""
    folder = tmp_path_factory.mktemp("models")
    text = folder / "t.txt"
    text.write_bytes("low lower lowest newest é 語 low\n".encode())
    keys: dict[str, set[str]] = {title: set() for title in QUESTIONS}
    for number, name in enumerate(every.NAMES):
        path = folder / f"{number}.json"
        every.model(name).save(path)
        for title, questions in QUESTIONS.items():
            for question in questions:
                arguments = [str(text) if word == "t.txt" else word for word in question]
                ran = inspect(str(path), *arguments, "--json")
                if ran.code == 0:
                    keys[title] |= set(paths(json.loads(ran.out)))
    return keys


@pytest.mark.parametrize("title", QUESTIONS)
def test_every_key_is_documented(title: str, found: dict[str, set[str]]) -> None:
    section = PAGE.split(f"### {title}\n", 1)[1].split("\n#", 1)[0]
    documented = set(re.findall(r"^\| `([^`]+)` \|", section, flags=re.MULTILINE))
    keys = {key for key in found[title] if not key.endswith("?")}
    # A null stands where an object or a list may stand; of a list that is empty in each of
    # these models nothing is known but its name.
    nulls = {key for key in keys if any(o != key and o.startswith(key) for o in keys)}
    empty = tuple(key.rstrip("?") for key in found[title] - keys)
    assert keys - nulls == {
        key for key in documented - nulls if key in keys or not key.startswith(empty)
    }


def test_every_question_has_a_part() -> None:
    from tests.cli.test_inspect_examples import helped

    shown = set(re.findall(r"--[a-z-]+", helped()))
    questions = {"--merges", "--merges-of", "--state", "--pairs", "--word", "--token", "--use"}
    questions |= {
        "--gap",
        "--rounds",
        "--recipe",
        "--check",
        "--watch",
        "--html",
        "--plot",
        "--word-counts",
    }
    questions |= {"--nbest", "--limit", "--no-pager", "--markdown", "--latex"}
    assert questions <= shown
    for question in questions:
        assert f"`{question}" in PAGE
