"""The counts that say whether the structure is simple: `python -m tests.tools.house`.

Files and lines of Python and Rust, lines by room, the longest functions and those with the most
parameters, modules that one other module imports, circles of folders and of files (imports inside
functions and for types alone included), classes with the same name, and what usual commands load
and run.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "tokctl"

#: Program that runs tokctl with its arguments, and reports on stderr which of its files are loaded,
#: in which of these a function runs, and how many functions run. The body of a class and a
#: comprehension are code objects too, but no functions.
RUN = """
import atexit, inspect, sys, threading
ran = set()
def note(frame, event, _argument):
    if event == "call":
        ran.add(frame.f_code)
def report():
    sys.setprofile(None)
    modules = list(sys.modules.items())
    own = {getattr(m, "__file__", None) for n, m in modules if n.split(".")[0] == "tokctl"}
    files = {file for file in own if file and file.endswith(".py")}
    named = [c for c in ran if c.co_flags & inspect.CO_OPTIMIZED and c.co_name[0] != "<"]
    functions = {(c.co_filename, c.co_qualname) for c in named if c.co_filename in files}
    print("counts", len(files), len({file for file, _ in functions}), len(functions),
          file=sys.stderr)
atexit.register(report)
threading.setprofile(note)
sys.setprofile(note)
from tokctl.__main__ import main
main()
"""


class Used(NamedTuple):
    """What a command uses of tokctl: files loaded, files in which a function runs, functions."""

    loaded: int
    files: int
    functions: int


class Function(NamedTuple):
    """Size of a function of the package.

    Attributes:
        name: module and qualified name.
        lines: lines from `def` to the end, the docstring included.
        parameters: parameters, without `self` and `cls`.
        is_keyword_api: whether the function is public, and all but the first few parameters can
            only be given by name.
    """

    name: str
    lines: int
    parameters: int
    is_keyword_api: bool


def modules() -> dict[str, Path]:
    """Every module of the package by its name, without the Rust tools."""
    found: dict[str, Path] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if "native" in parts:
            continue
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(path: Path, known: dict[str, Path]) -> set[str]:
    """The modules of the package that a file imports, anywhere in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name in known}
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                if name in known:
                    found.add(name)
                elif node.module in known:
                    found.add(node.module)
    return found


def folder(name: str) -> str:
    """Return the room of a module: `model`, or `extras.chat` for each of the extras."""
    parts = name.split(".")[1:]
    return ".".join(parts[:2]) if parts[:1] == ["extras"] else "".join(parts[:1])


@cache
def graph() -> dict[str, set[str]]:
    known = modules()
    return {name: imports(path, known) - {name} for name, path in known.items()}


def circles(edges: dict[str, set[str]]) -> list[set[str]]:
    """The strongly connected components of more than one node (Tarjan 1972)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[set[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in edges.get(node, ()):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            component: set[str] = set()
            while True:
                last = stack.pop()
                component.add(last)
                if last == node:
                    break
            if len(component) > 1:
                found.append(component)

    for node in edges:
        if node not in index:
            visit(node)
    return found


def folder_edges() -> dict[str, set[str]]:
    """Which room imports which. `tokctl/__init__.py` and `__main__.py` stand above all rooms."""
    edges: dict[str, set[str]] = defaultdict(set)
    for name, others in graph().items():
        if folder(name) in ("", "__main__"):
            continue
        edges[folder(name)] |= {folder(other) for other in others} - {folder(name), "", "extras"}
    return edges


def class_names() -> Counter[str]:
    """How often each class name is defined at the top of a module. Stand-ins for the classes of
    other libraries have the names of these."""
    names: Counter[str] = Counter()
    for name, path in modules().items():
        if folder(name) == "extras.compat":
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names.update(node.name for node in tree.body if isinstance(node, ast.ClassDef))
    return names


def names_defined_twice() -> list[str]:
    """Names that a module gives to two things at its top: the second hides the first."""
    found = []
    for module, path in modules().items():
        names: Counter[str] = Counter()
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                names[node.name] += 1
            targets = node.targets if isinstance(node, ast.Assign) else []
            if isinstance(node, ast.AnnAssign):
                targets = [node.target]
            places = [place for target in targets for place in ast.walk(target)]
            names.update(
                place.id
                for place in places
                if isinstance(place, ast.Name) and isinstance(place.ctx, ast.Store)
            )
        found += [f"{module}.{name}" for name, count in names.items() if count > 1]
    return found


def lines(paths: list[Path]) -> int:
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)


def functions() -> list[Function]:
    """Return the functions and methods of the package."""
    found: list[Function] = []

    def visit(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef):
                visit(node.body, f"{prefix}.{node.name}")
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                by_place = [*node.args.posonlyargs, *node.args.args]
                if by_place and by_place[0].arg in ("self", "cls"):
                    by_place = by_place[1:]
                by_name = node.args.kwonlyargs
                found.append(
                    Function(
                        f"{prefix}.{node.name}",
                        (node.end_lineno or node.lineno) - node.lineno + 1,
                        len(by_place) + len(by_name),
                        len(by_place) <= 4 and not node.name.startswith("_"),
                    )
                )
                visit(node.body, f"{prefix}.{node.name}")

    for module, path in modules().items():
        visit(ast.parse(path.read_text(encoding="utf-8")).body, module)
    return found


def commands() -> dict[str, Used]:
    """Return what usual commands use of tokctl."""
    from tokctl.sources.corpora import corpus_path

    sample = str(corpus_path("sample"))
    with tempfile.TemporaryDirectory() as place:
        model = f"{place}/model.json"

        def used(*arguments: str) -> Used:
            done = subprocess.run(
                [sys.executable, "-c", RUN, *arguments],
                input=b"text\n",
                capture_output=True,
                check=True,
                cwd=place,
            )
            counts = done.stderr.decode().rsplit("counts ", 1)[1]
            return Used(*map(int, counts.split()))

        return {
            "train": used("-q", "train", "--vocab", "400", "-o", model, sample),
            "encode": used("encode", "-m", model),
            "inspect --word": used("inspect", model, "--word", "lower"),
            "compare": used("-q", "compare", "-m", model, sample),
            "compare --html": used("-q", "compare", "-m", model, sample, "--html", "page.html"),
        }


def main() -> None:
    python = list(modules().values())
    rust = [p for p in sorted((PACKAGE / "native").rglob("*.rs")) if "target" not in p.parts]
    importers: Counter[str] = Counter()
    for others in graph().values():
        importers.update(others)
    repeated = {name for name, count in class_names().items() if count > 1}
    print(f"Python: {len(python)} files, {lines(python):,} lines")
    print(f"Rust: {len(rust)} files, {lines(rust):,} lines")
    rooms: Counter[str] = Counter()
    for name, path in modules().items():
        rooms[name.split(".")[1] if "." in name else "tokctl"] += lines([path])
    print("lines by room: " + ", ".join(f"{room} {size:,}" for room, size in rooms.most_common()))
    single = sum(1 for name in modules() if importers[name] == 1)
    print(f"modules with one importer: {single}")
    print(f"modules of 60 lines or fewer: {sum(lines([path]) <= 60 for path in python)}")
    print(f"circles of folders: {[sorted(each) for each in circles(folder_edges())] or 'none'}")
    print(f"circles of files: {len(circles(graph()))}")
    print(f"class names defined twice or more: {len(repeated)} {sorted(repeated)}")
    sizes = functions()
    print("longest functions:")
    for one in sorted(sizes, key=lambda one: -one.lines)[:10]:
        print(f"  {one.lines:5} lines  {one.name}")
    print("most parameters, without public functions that take them by name:")
    for one in sorted(sizes, key=lambda one: -one.parameters)[:40]:
        if one.parameters > 9 and not one.is_keyword_api:
            print(f"  {one.parameters:5}        {one.name}")
    for command, used in commands().items():
        print(
            f"{command}: {used.loaded} files loaded, {used.files} run, {used.functions} functions"
        )


if __name__ == "__main__":
    try:
        main()
        sys.stdout.flush()
    except BrokenPipeError:  # `| head` has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
