"""Fuzzing of the readers: whatever a file holds is a model or a TokctlError, soon.

    python -m tests.fuzz gguf --seconds 600

runs atheris on one reader, guided by the coverage of `tokctl.formats`; without a name, all
readers one after the other. `tests/fuzz/test_readers.py` is the short, seeded run of every day.
"""
