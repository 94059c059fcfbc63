"""An algorithm is one file: nobody else compares its name, or what a recipe's words stand for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import tokctl
from tokctl.model import ALGORITHMS, ALPHABETS, MARKER_KINDS, UNITS
from tokctl.model.algorithms import Algorithm

PACKAGE = Path(tokctl.__file__).parent
#: What holds the field of a recipe, by the last part of its name, and the field's values.
#: A value that only looks alike (a decoder's kind `wordpiece`) is none of these.
ASKED = {
    "algorithm": set(ALGORITHMS),
    "algo": set(ALGORITHMS),
    "segmentation": {name for one in ALGORITHMS.values() for name in one.segmentations},
    "units": set(UNITS),
    "alphabet": set(ALPHABETS),
    "marker": set(MARKER_KINDS),
    "kind": set(MARKER_KINDS) - {"none"},
}


def literals(node: ast.expr) -> set[str]:
    """The strings of a literal, or of a tuple, list or set of them."""
    parts = node.elts if isinstance(node, (ast.Tuple, ast.List, ast.Set)) else [node]
    found = (part.value for part in parts if isinstance(part, ast.Constant))
    return {value for value in found if isinstance(value, str)}


def last_name(node: ast.expr) -> str:
    """`algorithm` of `recipe.algorithm`, `asked["algorithm"]` and `algorithm`."""
    if isinstance(node, ast.Subscript):
        return next(iter(literals(node.slice)), "")
    return getattr(node, "attr", getattr(node, "id", ""))


def comparisons(source: str) -> Iterator[tuple[int, str]]:
    """The lines where a field of a recipe is compared with its values as text."""
    for node in ast.walk(ast.parse(source)):
        operands: list[ast.expr] = []
        if isinstance(node, ast.Compare):
            operands = [node.left, *node.comparators]
        elif isinstance(node, ast.Match):
            operands = [node.subject]
            operands += [
                case.pattern.value
                for case in node.cases
                if isinstance(case.pattern, ast.MatchValue)
            ]
        said = set().union(*map(literals, operands)) if operands else set()
        for name in {last_name(operand) for operand in operands}:
            if said & ASKED.get(name, set()):
                yield node.lineno, ast.unparse(node)


def found_in(*rooms: str) -> list[str]:
    return [
        f"{path.relative_to(PACKAGE)}:{line}: {text}"
        for room in rooms
        for path in sorted((PACKAGE / room).rglob("*.py"))
        for line, text in comparisons(path.read_text(encoding="utf-8"))
    ]


def test_comparisons_are_found() -> None:
    source = (
        'recipe.algorithm == "bpe"\nalgo not in ("word", "char")\n"viterbi" != segmentation\n'
        'kind in {"end", "end-fused"}\nasked["units"] == "bytes"\n'
        'match recipe.algorithm:\n    case "unigram":\n        pass\n'
        'part.kind == "wordpiece"\nkind == "none"\nalgorithm == other\nlayout == "bytes"\n'
    )
    assert sorted(line for line, _ in comparisons(source)) == [1, 2, 3, 4, 5, 6]


def test_no_room_compares_what_a_recipe_says() -> None:
    rooms = [path.name for path in PACKAGE.iterdir() if path.is_dir()]
    assert "model" in rooms and "cli" in rooms
    assert found_in(*(room for room in rooms if room not in ("model", "native"))) == []


def test_only_the_algorithms_know_their_names() -> None:
    files = [path for path in (PACKAGE / "model").glob("*.py") if path.name != "presets.py"]
    assert {path.name for path in files} >= {"recipe.py", "filled.py"}
    for path in files:
        source = path.read_text(encoding="utf-8")
        assert not [text for _, text in comparisons(source) if "algorithm" in text], path


def test_each_algorithm_is_whole() -> None:
    from tokctl.core.errors import UnsupportedByFormat
    from tokctl.model.presets import DEFAULTS

    declared = {name for name in Algorithm.__annotations__ if not hasattr(Algorithm, name)}
    methods = {"train", "kind_of", "why_stopped"}
    for name, algorithm in ALGORITHMS.items():
        assert isinstance(algorithm, Algorithm) and algorithm.name == name
        assert not [one for one in declared if not hasattr(algorithm, one)]
        assert not [m for m in methods if getattr(type(algorithm), m) is getattr(Algorithm, m)]
        assert DEFAULTS[name].segmentation == algorithm.segmentations[0]
        assert DEFAULTS[name].traits is algorithm
        for segmentation in algorithm.segmentations:
            recipe = replace(DEFAULTS[name], segmentation=segmentation)
            try:
                assert "type" in algorithm.huggingface_model(recipe, 0)
            except UnsupportedByFormat as refusal:
                assert str(refusal)


#: Attributes of algorithms that other rooms print, list or pass on, and those that they ask.
SHOWN = {"title", "options", "token_kinds", "token_place", "exhausted", "exhausted_briefly"}
SHOWN |= {"why_split", "why_unknown"}
ASKED_FACTS = {"is_nested", "is_plain_bpe", "learns", "longest_token", "reads_twice"}


def test_few_facts_are_asked_elsewhere() -> None:
    read: set[str] = set()
    for path in PACKAGE.rglob("*.py"):
        if "model" not in path.relative_to(PACKAGE).parts:
            source = path.read_text(encoding="utf-8")
            read |= set(re.findall(r"\btraits\.(\w+)\b(?!\()", source))
    assert read - SHOWN == ASKED_FACTS
