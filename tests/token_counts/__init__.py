"""Counting the tokens of sources."""
