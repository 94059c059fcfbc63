"""`tokctl._native` as the fuzzer wants it: with counters of coverage that libFuzzer reads, and
with every check that a release leaves out."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

NATIVE = Path(__file__).resolve().parents[3] / "tokctl" / "native"

#: What cargo-fuzz passes, but for its sanitizer: `tests/sanitize` runs that.
_PASSES = ("level=3", "inline-8bit-counters", "pc-table", "trace-compares")
_FLAGS = [
    "-Cpasses=sancov-module",
    *(f"-Cllvm-args=-sanitizer-coverage-{option}" for option in _PASSES),
    "-Cdebug-assertions=on",
    "-Coverflow-checks=on",
]
_PROFILE = {"LTO": "off", "CODEGEN_UNITS": "16", "OPT_LEVEL": "2", "INCREMENTAL": "true"}


def build() -> Path:
    """Builds the module, and tells where it is."""
    said = subprocess.run(["rustc", "-vV"], check=True, capture_output=True, text=True).stdout
    # With a target of its own, what runs while building has none of the flags.
    host = said.partition("host: ")[2].split()[0]
    profile = {f"CARGO_PROFILE_RELEASE_{key}": value for key, value in _PROFILE.items()}
    subprocess.run(
        [
            *("cargo", "build", "-q", "--release", "-p", "tokctl-python"),
            *("--features", "pyo3/extension-module"),
            *("--target", host, "--target-dir", "target/fuzz"),
        ],
        cwd=NATIVE,
        env={**os.environ, "RUSTFLAGS": " ".join(_FLAGS), **profile},
        check=True,
    )
    return NATIVE / "target" / "fuzz" / host / "release" / "lib_native.so"


def runtime() -> Path:
    """What has to be loaded before Python: libFuzzer, for the module's counters."""
    found = importlib.util.find_spec("atheris")
    assert found is not None and found.origin is not None, "pip install -e '.[fuzz]'"
    return Path(found.origin).parent.parent / "ubsan_with_fuzzer.so"


def use(path: Path) -> None:
    """Makes that module `tokctl._native`; to be called before anything of tokctl is imported."""
    spec = importlib.util.spec_from_file_location("tokctl._native", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["tokctl._native"] = module
    spec.loader.exec_module(module)
