"""Installs the wheel of a folder that fits this Python into a new environment, without a compiler,
and runs the README's first commands there: python packaging/try_wheel.py DIST

It ends with an error where a command fails, or gives back another text than it was given; on Python
without a GIL also where using tokctl turns one on.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tempfile
import time
import venv
from pathlib import Path

TEXT = "The parrot shrieks of doubloons"

#: A module that needs the GIL turns it on, with a warning.
WITHOUT_GIL = """
import sys
from tokctl import Tokenizer
assert Tokenizer.train({"ab": 2}, vocab_size=257).encode_ids("ab") == [256]
assert not sys._is_gil_enabled()
"""


def first_commands(command: list[str], folder: str) -> str:
    """What `compare` prints; AssertionError where training, encoding and decoding lose a text."""

    def tokctl(*arguments: str, text: str = "") -> str:
        run = subprocess.run(
            [*command, *arguments],
            input=text.encode(),
            stdout=subprocess.PIPE,
            cwd=folder,
            check=True,
        )
        return run.stdout.decode()

    shown = tokctl("compare")
    assert "unigram" in shown, shown
    sample = tokctl("corpora", "path", "sample").strip()
    model = tokctl("train", "--algo", "bpe", "--vocab", "1000", sample).strip()
    ids = tokctl("encode", "-m", model, text=TEXT)
    back = tokctl("decode", "-m", model, text=ids)
    assert back == TEXT, (ids, back)
    return shown


def main(dist: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        venv.create(folder, with_pip=True)
        scripts = Path(folder) / ("Scripts" if os.name == "nt" else "bin")
        # The packages that tokctl needs come from the registry, it itself from the folder alone.
        python = str(scripts / "python")
        install = [python, "-m", "pip", "-q", "--disable-pip-version-check", "install"]
        install += ["--only-binary", ":all:"]
        found = ["--no-index", "--find-links", str(dist.resolve()), "--no-deps"]
        subprocess.run([*install, *found, "tokctl"], check=True)
        subprocess.run([*install, "tokctl"], check=True)
        print(f"{time.perf_counter() - begun:.1f} s to install")
        print(first_commands([str(scripts / "tokctl")], folder).partition("\n")[0])
        print(f"{time.perf_counter() - begun:.1f} s with the first commands")
        if sysconfig.get_config_var("Py_GIL_DISABLED"):
            subprocess.run([python, "-W", "error", "-c", WITHOUT_GIL], check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
