"""`python -m tokctl.cli.shells FOLDER`: writes completions and manual pages below a folder, where
an installation keeps them. `tokctl.data/data` of the checkout travels in the wheel."""

from __future__ import annotations

import sys
from pathlib import Path

from tokctl.cli.shells.installed import files


def main() -> None:
    """Writes the files, and takes pages away whose command has gone."""
    if len(sys.argv) != 2:
        sys.exit("usage: python -m tokctl.cli.shells FOLDER")
    folder = Path(sys.argv[1])
    wanted = files()
    for old in folder.glob("share/man/man1/tokctl*.1"):
        if old.relative_to(folder).as_posix() not in wanted:
            old.unlink()
    for name, text in wanted.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
