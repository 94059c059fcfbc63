"""Output for people: terminal, Markdown, LaTeX, HTML pages, charts.

Only this package imports Rich. It reads result types and computes no results.
"""
