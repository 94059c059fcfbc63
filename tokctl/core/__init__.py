"""Errors, atomic files, differences between systems, JSON and wording, for every other room."""
