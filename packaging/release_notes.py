"""The section of CHANGELOG.md that a tag is about: python packaging/release_notes.py v0.1.0"""

from __future__ import annotations

import re
import sys
from pathlib import Path

CHANGELOG = Path(__file__).parents[1] / "CHANGELOG.md"


def notes(tag: str, changelog: str) -> str:
    """The text below the heading that names the version; ValueError where none does."""
    version = re.escape(tag.removeprefix("v"))
    sections = re.split(r"^## (.*)$", changelog, flags=re.MULTILINE)
    for heading, text in zip(sections[1::2], sections[2::2], strict=True):
        if re.search(rf"(?<![\w.]){version}(?![\w.])", heading):
            return text.strip() + "\n"
    raise ValueError(f"CHANGELOG.md has no section for {tag}")


if __name__ == "__main__":
    sys.stdout.write(notes(sys.argv[1], CHANGELOG.read_text(encoding="utf-8")))
