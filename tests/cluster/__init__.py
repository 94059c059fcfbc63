"""Counting and encoding on Ray: the same bytes as on one machine, whatever dies."""
