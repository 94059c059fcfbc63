"""Command line of tokctl: one thin module per command; `app` turns every error into a message."""
