"""`tokctl`, and `python -m tokctl`."""

import gc
import os
import sys
from typing import NoReturn

#: Objects made before Python's collector looks for cycles. A command imports thousands of
#: objects that stay, and the default of 700 would walk them over and over.
_BETWEEN_COLLECTIONS = 100_000


def main() -> None:
    """Runs the command line."""
    gc.set_threshold(_BETWEEN_COLLECTIONS)
    from tokctl.cli.app import main as run

    try:
        run()
    except SystemExit as end:
        _end(end)


def _end(end: SystemExit) -> NoReturn:
    """Ends the process at once, when all is written: to take Python's modules and objects apart
    would take as long as to read a model. Where threads are left, or a debugger or a profiler
    watches, it ends as usual."""
    import atexit
    import threading

    watched = sys.gettrace() or sys.getprofile() or sys.flags.inspect
    if watched or threading.active_count() > 1 or type(end.code) is not int:
        raise end
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            raise end from None
    os._exit(end.code)


if __name__ == "__main__":
    main()
