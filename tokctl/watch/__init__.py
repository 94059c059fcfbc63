"""A training replayed in a terminal, step by step: `tokctl inspect MODEL --watch`.

The only room that knows Textual (the extra `watch`), and it shows a `Replay` of
`tokctl.analysis.replay`, nothing else. Import `tokctl.watch.app` where it is used.
"""
