"""Installs the wheel of a folder that fits this Python into a new environment, without a compiler,
and runs the README's first commands there: python packaging/try_wheel.py DIST

It ends with an error where a command fails, or gives back another text than it was given.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

TEXT = "The parrot shrieks of doubloons"


def main(dist: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        venv.create(folder, with_pip=True)
        scripts = Path(folder) / ("Scripts" if os.name == "nt" else "bin")
        # The packages that tokctl needs come from the registry, it itself from the folder alone.
        pip = [str(scripts / "python"), "-m", "pip", "-q", "--disable-pip-version-check"]
        found = ["--no-index", "--find-links", str(dist.resolve()), "--no-deps"]
        subprocess.run([*pip, "install", *found, "--only-binary", "tokctl", "tokctl"], check=True)
        subprocess.run([*pip, "install", "tokctl"], check=True)

        def tokctl(*arguments: str, text: str = "") -> str:
            run = subprocess.run(
                [str(scripts / "tokctl"), *arguments],
                input=text.encode(),
                stdout=subprocess.PIPE,
                cwd=folder,
                check=True,
            )
            return run.stdout.decode()

        shown = tokctl("compare")
        print(f"{time.perf_counter() - begun:.1f} s from nothing to the comparison")
        assert "unigram" in shown, shown
        sample = tokctl("corpora", "path", "sample").strip()
        model = tokctl("train", "--algo", "bpe", "--vocab", "1000", sample).strip()
        ids = tokctl("encode", "-m", model, text=TEXT)
        back = tokctl("decode", "-m", model, text=ids)
        assert back == TEXT, (ids, back)
        print(shown.partition("\n")[0])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
