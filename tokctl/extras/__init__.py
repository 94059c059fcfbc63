"""Rooms that the rest of tokctl works without; each is imported by its own name."""
