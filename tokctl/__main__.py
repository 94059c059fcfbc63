"""`tokctl`, and `python -m tokctl`."""

import gc

#: Objects made before Python's collector looks for cycles. A command imports thousands of
#: objects that stay, and the default of 700 would walk them over and over.
_BETWEEN_COLLECTIONS = 100_000


def main() -> None:
    """Runs the command line."""
    gc.set_threshold(_BETWEEN_COLLECTIONS)
    from tokctl.cli.app import main as run

    run()


if __name__ == "__main__":
    main()
