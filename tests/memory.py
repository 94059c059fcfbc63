"""How much memory this process has needed at its peak."""

from __future__ import annotations

from pathlib import Path

#: Where a process has to run to import this.
ROOT = Path(__file__).parents[1]


def peak() -> int:
    """Of resident memory, in kB, on Linux. `ru_maxrss` would count from the size of the process
    that started this one, and so never rise in a small one."""
    status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    return int(status.partition("VmHWM:")[2].split()[0])
