"""Results of `tokctl inspect` as documents.

The modules `model`, `training`, `tokens`, `words` and `gap` build one `Answer` for each result.
"""
