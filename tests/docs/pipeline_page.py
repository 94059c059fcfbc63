"""docs/pipeline.md, made from the kinds themselves. `python -m tests.docs.pipeline_page`
writes it; a test fails when it is stale."""

from __future__ import annotations

from pathlib import Path

from tokctl.model.parts import DECODERS, NORMALIZERS, POST_PROCESSORS, PRE_TOKENIZERS, PartFamily
from tokctl.model.presets import PRESETS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "pipeline.md"

INTRODUCTION = """\
# The parts of a pipeline

A text goes through normalizers, pre-tokenizers, the model, and post-processors; decoders lead
back. A part is a kind with its options. On the command line and from Python it is written as
`kind`, as `kind:VALUE`, or as JSON:

    tokctl train --normalize nfkc,lowercase --pretokenize digits,gpt2 book.txt
    tokctl train --pretokenize 'regex:\\w+|\\W+' book.txt
    tokctl train --pretokenize '{"kind": "split", "pattern": "-", "behaviour": "removed"}' book.txt

```python
from dataclasses import replace
from tokctl.model.presets import preset

splitting = ["digits", "gpt2"]
recipe = replace(preset("gpt2"), name="mine", normalizers=["nfc"], pre_tokenizers=splitting)
```

Parts in a list act one after the other; a pre-tokenizer splits what those before it have split. A
value that is a free text takes all that follows it, so give it last or repeat the option. A part
that does not fit its model (a decoder of bytes for a model of characters, a template that names an
unknown token) is refused when the recipe is made.

The presets (`tokctl train --list-presets`) are recipes made of these parts; `tokctl inspect MODEL
--recipe` shows that of a model.
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
        rows.append(f"| `{written}` | {_cell(meant['kind'] + ' with ' + options)} | |")
    return "\n".join(rows) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
