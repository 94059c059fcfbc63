"""docs/pipeline.md, made from the kinds themselves. `python -m tests.tools.docs.pipeline_page`
writes it; a test fails when it is stale."""

from __future__ import annotations

from pathlib import Path

from tokctl.model.parts import DECODERS, NORMALIZERS, POST_PROCESSORS, PRE_TOKENIZERS, PartFamily
from tokctl.model.presets import PRESETS

PAGE = Path(__file__).resolve().parents[3] / "docs" / "pipeline.md"

INTRODUCTION = """\
# The parts of a pipeline

To become ids, a text passes through normalizers, pre-tokenizers, the model, and post-processors;
decoders turn tokens back into text. This page lists all of these parts and the presets that
combine them. You need it when you build a recipe of your own, or want to know what a stage of
`tokctl inspect MODEL --recipe` does.

A part is a kind with its options. On the command line and from Python you write it as `kind`, as
`kind:VALUE`, or as JSON:

    tokctl train --normalize nfkc,lowercase --pretokenize digits,gpt2 book.txt
    tokctl train --pretokenize 'regex:\\w+|\\W+' book.txt
    tokctl train --pretokenize '{"kind": "split", "pattern": "-", "behaviour": "removed"}' book.txt

```python
from dataclasses import replace
from tokctl.model.presets import preset

splitting = ["digits", "gpt2"]
recipe = replace(preset("gpt2"), name="mine", normalizers=["nfc"], pre_tokenizers=splitting)
```

The parts in a list are applied in order; each pre-tokenizer splits the results of the one before. A
value that is free text extends to the end of the argument, commas included, so give it last or
repeat the option. A part that does not fit its model (a byte decoder for a character model, a
template that names a token which does not exist) is refused when the recipe is made.

A pattern (`regex:VALUE`, `split` and `replace`) is one of Python's `regex` package. Patterns of
other libraries are translated when a file is read or written; see [formats.md](formats.md).

The presets (`tokctl train --list-presets`) are recipes made of these parts; `tokctl inspect MODEL
--recipe` shows the recipe of a model.
"""


def page() -> str:
    families = {
        "Normalizers": NORMALIZERS,
        "Pre-tokenizers": PRE_TOKENIZERS,
        "Post-processors": POST_PROCESSORS,
        "Decoders": DECODERS,
    }
    parts = [INTRODUCTION]
    parts += [section(title, family) for title, family in families.items()]
    rows = "\n".join(f"| `{name}` | {_cell(about)} |" for name, (about, _) in PRESETS.items())
    parts.append(f"## Presets\n| name | what it is |\n|---|---|\n{rows}\n")
    return "\n".join(parts)


def section(title: str, family: PartFamily) -> str:
    rows = [f"## {title}", "| kind | what it does | options |", "|---|---|---|"]
    for name, kind in family.kinds.items():
        options = []
        for option, value in kind.options.items():
            shown = " or ".join(f"`{choice}`" for choice in value.choices)
            plain = [] if value.default == () else value.default
            default = "" if plain is None else f" = `{plain!r}`"
            options.append(f"`{option}`{default}" + (f" ({shown})" if shown else ""))
        rows.append(f"| `{name}` | {_cell(kind.about)} | {_cell('; '.join(options))} |")
    for alias, meant in family.aliases.items():
        options = ", ".join(
            f"{option} {'VALUE' if value is None else value!r}"
            for option, value in meant.items()
            if option != "kind"
        )
        written = f"{alias}:VALUE" if None in meant.values() else alias
        what = f"{meant['kind']} with {options}"
        if alias in family.abouts:
            what = f"{family.abouts[alias]}: {what}"
        rows.append(f"| `{written}` | {_cell(what)} | |")
    return "\n".join(rows) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
