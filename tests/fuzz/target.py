"""What is done with a case: read it, and use the model if it is one."""

from __future__ import annotations

from pathlib import Path

from tests.fuzz.seeds import CUT, parted
from tokctl import TokctlError, Tokenizer, formats
from tokctl.formats import Hints

TEXT = "low lower newest 123 naïve \u6771\u4eac\t<s>\n"


def tried(case: bytes, folder: Path) -> None:
    """Any exception but a TokctlError, and an error that names no file, is a fault."""
    try:
        model = read(case, folder)
    except TokctlError as error:
        assert error.message and "Traceback" not in error.message
        return
    tokenizer = Tokenizer(model)
    try:
        ids = tokenizer.encode_ids(TEXT)
    except TokctlError:
        return  # a character without an id
    tokenizer.decode(ids, errors="replace")
    tokenizer.encode(TEXT, special="all", add_special=True)
    again = formats.parse(formats.serialize(model), "again")
    assert again == model


def read(case: bytes, folder: Path) -> formats.FilledRecipe:
    """The model of a case; several files are a folder, and companions stand beside a file."""
    if CUT not in case:
        try:
            return formats.parse(case, "case")
        except TokctlError:  # of ranks alone
            return formats.parse(case, "case", Hints(pattern="qwen2"))
    files = parted(case)
    for old in folder.iterdir():
        old.unlink()
    for name, data in files.items():
        target = f"case{name}" if name[:1] in ("", ".") else name
        if "/" not in target and "\0" not in target and len(target) < 100:
            (folder / target).write_bytes(data)
    main = folder / "case"
    return formats.load(main if main.is_file() else folder)
