"""Engines that share tables out, where they are installed: `.[test-engines]`, `.[test-spark]`."""
