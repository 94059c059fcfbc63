"""Replay of a training in a terminal, step by step: `tokctl inspect MODEL --watch`.

This is the only package that imports Textual (the extra `watch`). It draws a `Replay` of
`tokctl.analysis.replay`. Import `tokctl.extras.watch.app` where it is used, and not at the start.
"""
