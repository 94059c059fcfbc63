"""The import rules of `docs/architecture.md`, read off the code."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tokctl
from tests.tools.house import folder as room

PACKAGE = Path(tokctl.__file__).parent
CHECKOUT = Path(__file__).resolve().parents[2]
MODULES = sorted(
    path.relative_to(PACKAGE.parent)
    for path in PACKAGE.rglob("*.py")
    if "native" not in path.relative_to(PACKAGE).parts
)


def module_name(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(path: Path) -> set[str]:
    """Every module that a file imports, anywhere in it, with the names taken from it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse((PACKAGE.parent / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide where things come from"
            assert node.module is not None
            found.add(node.module)
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_import_rules(path: Path) -> None:
    name = module_name(path)
    imports = imported(path)
    packages = {module.split(".")[0] for module in imports}
    own = {module for module in imports if module.startswith("tokctl.")}
    here = room(name)

    assert "typer" not in packages or here == "cli", "only cli imports Typer"
    assert "rich" not in packages or here == "report", "only report imports Rich"
    assert "textual" not in packages or here == "extras.watch", "only watch imports Textual"
    assert "tqdm" not in packages or here == "cli", "only cli shows progress"
    drawing = {"altair", "markupsafe", "vl_convert"}
    drawers = ("report", "extras.page")
    assert not packages & drawing or here in drawers, "only report and page draw"
    templates = ("extras.page", "extras.chat")
    assert "jinja2" not in packages or here in templates, "pages and chat templates"
    if here != "cli" and name != "tokctl.__main__":
        assert not {m for m in own if room(m) == "cli"}, "nothing but cli imports cli"
    if here != "cli" and not here.startswith("extras") and name != "tokctl":
        assert not {m for m in own if room(m).startswith("extras")}, "extras are imported by name"
    if name.startswith("tokctl.cli."):
        from tokctl.cli.app import COMMANDS

        others = {f"tokctl.cli.{command}" for command in COMMANDS} - {name}
        assert not own & others or name == "tokctl.cli.app", "commands do not import one another"


def rust_files(crate: str) -> list[Path]:
    source = CHECKOUT / "tokctl" / "native" / crate / "src"
    if not source.is_dir():
        pytest.skip("the Rust source is not in an installed wheel")
    return sorted(source.rglob("*.rs"))


def test_rust_rooms() -> None:
    """`train` and `encode` may use `model`, and never each other; the core knows no Python."""
    for path in rust_files("core"):
        text = path.read_text(encoding="utf-8")
        code = re.sub(r"//.*", "", text)
        assert "pyo3" not in code, path
        if not path.stem.endswith("tests"):
            assert not re.search(r"\bprintln!|\beprintln!|std::fs|std::io", code), path
        parts = path.relative_to(CHECKOUT).parts
        if "train" in parts:
            assert "crate::encode" not in code and "crate::decode" not in code, path
        if "encode" in parts:
            assert "crate::train" not in code, path
        if "model" in parts:
            assert not re.search(r"crate::(train|encode|decode|count)", code), path


def test_only_the_binding_names_pyo3() -> None:
    manifests = CHECKOUT / "tokctl" / "native"
    if not manifests.is_dir():
        pytest.skip("the Rust source is not in an installed wheel")
    assert "pyo3" not in (manifests / "core" / "Cargo.toml").read_text(encoding="utf-8")
    assert "pyo3" in (manifests / "python" / "Cargo.toml").read_text(encoding="utf-8")


def test_the_public_names_are_there_and_lazy() -> None:
    for name in tokctl.__all__:
        assert getattr(tokctl, name) is not None
    with pytest.raises(AttributeError, match="nothing_of_the_sort"):
        _ = tokctl.nothing_of_the_sort


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = (
        "import sys, tokctl, tokctl.cli.encode, tokctl.tokenizer;"
        "print([m for m in ('rich', 'regex', 'numpy', 'tqdm', 'hypothesis') if m in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "[]\n"


def test_compare_is_a_function_however_it_is_imported() -> None:
    code = "from tokctl import Comparison, compare; assert callable(compare), compare"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_folder_without_the_rust_module_says_so(tmp_path: Path) -> None:
    """As Python does in a checkout, where the sources hide what is installed."""
    (tmp_path / "tokctl").mkdir()
    source = Path(tokctl.__file__).read_bytes()
    (tmp_path / "tokctl" / "__init__.py").write_bytes(source)
    command = [sys.executable, "-c", "from tokctl import _native"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert ran.stderr.splitlines()[-1].startswith("ImportError: tokctl's Rust module is not built")
