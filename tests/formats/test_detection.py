"""A file's format is recognized without a module of any format; reading imports the one found."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.formats.models import RECIPES, filled
from tests.formats.test_tekken import document, tokens
from tokctl import formats
from tokctl.formats import FORMATS, UnsupportedByFormat
from tokctl.formats.saving import save

pytest.importorskip("google.protobuf")

#: What tokctl does not write.
OTHERS = {
    "clip-merges": b'"bpe_simple_vocab_16e6.txt#version: 0.2\nl o\n',
    "subword-nmt": b"#version: 0.2\nl o\nlo w</w>\n",
    "tekken": json.dumps(document(tokens())).encode(),
    "word-counts": b"low\t5\nlower\t2\n",
}
#: Recognizes the file with the name given, then reads it if there is a third argument; says the
#: format, and the modules of formats after each step.
RUN = """
import json, sys
from pathlib import Path
from tokctl import formats
from tokctl.formats.registry import detect
found = detect(formats.ModelInput("x", path=Path(sys.argv[1])))
def there():
    loaded = [name.removeprefix("tokctl.formats.") for name in sys.modules]
    return [known.name for known in formats.FORMATS if known.module in loaded]
before = there()
found.load()
alone = there()
if found.reads:
    formats.read(sys.argv[1])
print(json.dumps([found.name, before, alone, there()]))
"""


def sample(name: str, folder: Path) -> Path:
    """A file or folder of a format."""
    known = formats.format_named(name)
    path = folder / f"x{known.suffix}"
    if name in OTHERS:
        path.write_bytes(OTHERS[name])
        Path(f"{path}.vocab").write_text("low 5\nl 2\n")  # subword-nmt reads it with its codes
        return path
    for recipe in RECIPES.values():
        try:
            save(filled(recipe), path, name, lossy=True)
        except (UnsupportedByFormat, formats.TokctlError):
            continue
        return path
    raise AssertionError(f"no recipe can be written as {name}")


@pytest.mark.few(2)
@pytest.mark.parametrize("name", [known.name for known in FORMATS])
def test_only_the_module_of_the_format_found_is_imported(name: str, tmp_path: Path) -> None:
    path = sample(name, tmp_path)
    ran = subprocess.run(
        [sys.executable, "-c", RUN, str(path)], capture_output=True, check=True, text=True
    )
    found, detected, alone, read = json.loads(ran.stdout)
    assert found == name
    assert detected == []
    assert name in alone
    assert read == alone


def test_every_format_can_be_recognized() -> None:
    default: Any = formats.Format._field_defaults["detect"]
    assert default(formats.ModelInput("x", data=b"")) is False
    assert [known.name for known in FORMATS if known.detect is default] == []
