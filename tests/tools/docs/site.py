"""The documentation as a site: every page of docs/, the README, and the reference pages, which are
made from the options of the command line and from the docstrings.

    pip install -e '.[site]'
    python -m tests.tools.docs.site            # builds it into site/; a warning is an error
    python -m http.server -d site        # to read it

Neither the build nor the pages load anything from the network. The pages are copied to a temporary
folder, where those that are made lie beside those that are written. `SITE_URL` is where the site
will be published; the workflow sets it.

A new page of docs/ is on the site without a change here, under *More pages*. Its name in `SECTIONS`
puts it elsewhere.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tokctl
from tests.tools import shells
from tests.tools.docs.tutorial import PAGES, ROOT

OUTPUT = ROOT / "site"

#: What stands in which section, in this order; a name without a page is left out.
SECTIONS = {
    "How-to guides": (
        "install", "tour", "cookbook", "drop-in", "training", "recommend", "adapt", "compare",
        "inspect", "watch", "report", "health", "counting", "chat", "cluster", "engines", "arrow",
        "corpora",
    ),
    "Reference": (
        "api", "shell", "sources", "encoding", "decoding", "formats", "idfiles", "model-file",
        "pipeline", "metrics", "suite",
    ),
    "Explanation": ("algorithms", "parity", "gap", "architecture", "decisions", "performance"),
    "Benchmarks": ("benchmarks", "recent", "memory", "bench"),
}  # fmt: skip
#: Pages beside docs/. Their links into docs/ are links to a neighbour here.
PROJECT = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "THIRD-PARTY.md")

#: Where modules are that people import, below tokctl/; those with `__all__` have a page.
MODULES = (
    "*.py",
    "*/__init__.py",
    "analysis/*/__init__.py",
    "core/*.py",
    "extras/*.py",
    "extras/*/__init__.py",
    "extras/compat/*.py",
    "extras/compat/*/*.py",
)

_CONFIGURATION = """\
[project]
site_name = "tokctl"
site_description = "Train, run, inspect and compare subword tokenizers"
docs_dir = "pages"
site_dir = "site"
extra_css = ["site.css"]
nav = {nav}
{site_url}

[project.theme]
font = false
language = "en"
features = [
    "content.code.copy", "navigation.footer", "navigation.indexes", "navigation.prune",
    "navigation.top", "search.highlight", "toc.follow",
]
icon.logo = "lucide/scissors"

[[project.theme.palette]]
media = "(prefers-color-scheme)"
toggle.icon = "lucide/sun-moon"
toggle.name = "Use light mode"

[[project.theme.palette]]
media = "(prefers-color-scheme: light)"
scheme = "default"
toggle.icon = "lucide/sun"
toggle.name = "Use dark mode"

[[project.theme.palette]]
media = "(prefers-color-scheme: dark)"
scheme = "slate"
toggle.icon = "lucide/moon"
toggle.name = "Use the system's mode"

# What GitHub shows of the same pages, and lists of definitions.
[project.markdown_extensions]
tables = {{}}
sane_lists = {{}}
def_list = {{}}
"pymdownx.superfences" = {{}}
"pymdownx.highlight" = {{ pygments_lang_class = true }}

[project.markdown_extensions.toc]
permalink = true
toc_depth = 3
slugify = {{ object = "pymdownx.slugs.slugify", kwds = {{ case = "lower" }} }}

[project.plugins.mkdocstrings.handlers.python]
paths = [{root}]

[project.plugins.mkdocstrings.handlers.python.options]
docstring_style = "google"
docstring_section_style = "list"
filters = "public"
heading_level = 2
show_root_heading = true
show_source = false
show_signature_annotations = true
separate_signature = true
line_length = 80
members_order = "source"
merge_init_into_class = true
extensions = [{extension}]
"""

_CSS = """\
/* A long word in code is cut before it makes a table wider than the page. */
.md-typeset dt code { overflow-wrap: anywhere; }
.md-typeset dt:target { scroll-margin-top: 4rem; text-decoration: underline; }
.md-typeset pre > code { line-height: 1.25; }
/* Wide tables scroll by themselves; a name in a cell is not cut. */
.md-typeset table code { white-space: nowrap; }
"""


def written() -> dict[str, str]:
    """The pages that are written by hand, by their names on the site."""
    found = {}
    for name in ("README.md", *PROJECT):
        text = (ROOT / name).read_text(encoding="utf-8")
        # Badges are loaded from elsewhere, or are on GitHub alone.
        text = re.sub(r"^\[?!\[[^]]*\]\((?:https:|\.\./\.\.).*\n", "", text, flags=re.MULTILINE)
        text = re.sub(r"(\]\(|src(?:set)?=\")docs/", r"\1", text)
        found[name] = text.replace("](README.md", "](index.md")
    found["index.md"] = found.pop("README.md")
    for path in sorted((ROOT / "docs").rglob("*.md")):
        name = path.relative_to(ROOT / "docs").as_posix()
        text = path.read_text(encoding="utf-8")
        above = "../" * (name.count("/") + 1)
        for other in PROJECT:
            text = text.replace(f"]({above}{other}", f"]({above[3:]}{other}")
        found[name] = text.replace(f"]({above}README.md", f"]({above[3:]}index.md")
    titles = {name: text.partition("\n")[0].removeprefix("# ") for name, text in found.items()}

    def titled(link: re.Match[str]) -> str:
        """A link whose text is the name of a page's file gets the page's title."""
        return f"[{titles.get(link[1], link[1])}]({link[1]}{link[2] or ''})"

    named = re.compile(r"\[(?:docs/)?([\w-]+\.md)\]\(\1(#[\w-]+)?\)")
    return {name: named.sub(titled, text) for name, text in found.items()}


# -- The command line ----------------------------------------------------------------------------


def command_pages() -> dict[str, str]:
    """A page for each command, by its name on the site."""
    return {
        f"commands/{'-'.join(command.path)}.md": command_page(command)
        for command in shells.command_tree().every()
    }


def command_page(command: shells.ShellCommand) -> str:
    """What `--help` says, and the manual page, as Markdown."""
    lines = [f"# {' '.join(command.path)}", "", _plain(command.help), ""]
    usage = [" ".join(command.path), "[OPTIONS]"]
    usage += ["COMMAND [ARGUMENTS]"] if command.commands else []
    usage += [argument.metavar for argument in command.arguments]
    lines += ["```text", " ".join(usage), "```", ""]
    lines += [
        f"- [`{' '.join(below.path)}`]({'-'.join(below.path)}.md): {_plain(below.short)}"
        for below in command.commands
    ]
    lines += ["", *_epilog(command.epilog)]
    if command.arguments:
        lines += ["## Arguments", ""]
        for argument in command.arguments:
            lines += _defined(f"*{_plain(argument.metavar)}*", argument)
    panels = list(dict.fromkeys(option.panel for option in command.options))
    for panel in sorted(panels, key=bool):
        lines += [f"## {_plain(panel) if panel else 'Options'}", ""]
        for option in command.options:
            if option.panel == panel:
                names = ", ".join(
                    f'<a id="{name.lstrip("-")}"></a>`{name}`' for name in option.names
                )
                metavar = f" *{_plain(option.metavar)}*" if option.metavar else ""
                lines += _defined(names + metavar, option)
    return "\n".join(lines) + "\n"


def _defined(head: str, option: shells.ShellOption) -> list[str]:
    text = _plain(option.help)
    if option.default:
        text += f" The default is {_plain(option.default)}."
    missing = [v for v in option.values if not re.search(rf"\b{re.escape(v)}\b", text)]
    if missing and "|" not in option.metavar:
        text += f" One of: {', '.join(f'`{value}`' for value in option.values)}."
    return [head, f":   {text}", ""]


def _epilog(epilog: str) -> Iterator[str]:
    """Examples, and what else stands below the options: a line that ends with a colon is a heading,
    and indented lines stay as they are."""
    literal: list[str] = []
    for part in [*re.split(r"\n[ \t]*\n", epilog), ""]:
        if part.startswith("  "):
            literal += [*([""] if literal else []), *part.rstrip().split("\n")]
            continue
        if literal:
            yield from ("```text", *(line.removeprefix("  ") for line in literal), "```", "")
            literal = []
        heading = re.fullmatch(r"([A-Z][\w ]*):", part.strip())
        yield from (f"## {heading[1]}" if heading else _plain(" ".join(part.split())), "")


def _plain(text: str) -> str:
    """Text of a help as Markdown: none of its characters is markup; names of options are code."""
    text = re.sub(r"([\\`*_\[\]])", r"\\\1", text).replace("<", "&lt;")
    return re.sub(r"(?<![\w-])(--?[a-zA-Z][\w-]*)", r"`\1`", text)


# -- The Python API ------------------------------------------------------------------------------


def python_pages() -> dict[str, str]:
    """A page for the names of `tokctl`, one for `Tokenizer`, and one for each module."""
    names = [name for name in tokctl.__all__ if name not in ("__version__", "Tokenizer")]
    pages = {
        "python/Tokenizer.md": "# Tokenizer\n\n::: tokctl.Tokenizer\n",
        "python/tokctl.md": "# tokctl\n\n"
        "`from tokctl import …` finds these names and [`Tokenizer`](Tokenizer.md).\n\n"
        + "\n".join(f"::: tokctl.{name}\n" for name in names),
    }
    package, placed = ROOT / "tokctl", ("tokctl", "tokctl.tokenizer")
    for path in sorted({path for pattern in MODULES for path in package.glob(pattern)}):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        if module in placed or "\n__all__ = " not in path.read_text(encoding="utf-8"):
            continue
        options = "    options:\n      show_root_heading: false\n      show_root_toc_entry: false\n"
        pages[f"python/{module}.md"] = f"# {module}\n\n::: {module}\n{options}"
    return pages


# -- The site ------------------------------------------------------------------------------------


def navigation(names: set[str]) -> list[Any]:
    """The pages in order: names, and sections as `{title: pages}`."""
    tutorial = [f"tutorial/{path.name}" for path in PAGES]
    sections: dict[str, list[Any]] = {"Tutorial": tutorial}
    for title, pages in SECTIONS.items():
        sections[title] = [f"{page}.md" for page in pages if f"{page}.md" in names]
    sections["Reference"] += [
        {"Command line": [name for name in command_pages() if name in names]},
        {"Python": [name for name in python_pages() if name in names]},
    ]
    placed = {"index.md", *PROJECT, *re.findall(r"[\w./-]+\.md", json.dumps(sections))}
    if others := sorted(names - placed):
        sections["More pages"] = others
    sections["Project"] = list(PROJECT)
    return [{"tokctl": "index.md"}, *({title: pages} for title, pages in sections.items())]


def _toml(value: Any) -> str:
    """Strings, lists and tables on one line."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_toml(k)} = {_toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value)


def stage(folder: Path) -> None:
    """Writes the configuration and all pages into an empty folder."""
    pages = {**written(), **command_pages(), **python_pages()}
    shutil.copytree(ROOT / "docs", folder / "pages", ignore=shutil.ignore_patterns("*.md"))
    for name, text in pages.items():
        path = folder / "pages" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (folder / "pages" / "site.css").write_text(_CSS, encoding="utf-8")
    url = os.environ.get("SITE_URL", "")
    (folder / "zensical.toml").write_text(
        _CONFIGURATION.format(
            nav=_toml(navigation(set(pages))),
            site_url=f"site_url = {_toml(url)}" if url else "",
            root=_toml(str(ROOT)),
            extension=_toml(str(Path(__file__).with_name("shared_descriptions.py"))),
        ),
        encoding="utf-8",
    )


def build(output: Path) -> list[str]:
    """Builds the site; what is wrong with it, if anything. Then nothing is written."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        stage(folder)
        done = subprocess.run(
            [sys.executable, "-m", "zensical", "build", "--strict"],
            cwd=folder,
            env={**os.environ, "NO_COLOR": "1"},
            capture_output=True,
            text=True,
        )
        said = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)
        # What griffe finds in a docstring is no warning for zensical.
        wrong = [line for line in said.splitlines() if line.startswith("griffe: ")]
        if done.returncode:
            wrong.append(said.partition("Traceback (most recent")[0])
        if not wrong:
            shutil.rmtree(output, ignore_errors=True)
            shutil.move(folder / "site", output)
        return wrong


def main() -> int:
    wrong = build(OUTPUT)
    print("\n".join(wrong) if wrong else OUTPUT / "index.html")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
