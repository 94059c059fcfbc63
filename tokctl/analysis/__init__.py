"""Metrics, checks, explanations and comparisons: results as values, printed elsewhere."""
