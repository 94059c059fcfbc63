"""Fuzzing: whatever a file holds is a result or a TokctlError, soon, and in bounded memory.

    pip install -e '.[dev,fuzz]'
    python -m tests.tools.fuzz                          # every target in turn, ten minutes each
    python -m tests.tools.fuzz gguf tables --seconds 60
    python -m tests.tools.fuzz gguf --case fuzz-work/faults/gguf/…

`targets.py` says what there is: a target for each reader of models, for tables, lines, archives and
files of ids, and the property tests against the slow twins and the peers. Cases are changed by
their structure (`structures.py`) or as libFuzzer would change them, and those that reach new code
are kept. The native module is built for it (`native.py`): with the coverage of its code, which
libFuzzer sees beside that of Python's, with overflow checks and debug assertions.

`corpus/` holds small cases that reach most of what was found; `test_fuzz.py` replays them, and
fires some hundred seeded shots at each reader. Linux, with a Rust toolchain.
"""
