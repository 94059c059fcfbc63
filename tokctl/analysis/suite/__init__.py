"""Figures of a model beyond those of `metrics.py`, each reported and never ranked by."""
