"""The command line: one thin file per command, and the error boundary in `app`."""
