"""`python -m tokctl`."""

from tokctl.cli.app import main

main()
