"""Pipelines put together at random as `tokenizer.json`, run through Hugging Face tokenizers and
through tokctl.

    python -m tests.tools.random_pipelines --seeds 1000

prints what was read, refused and compared, and each difference with the seed that makes it.
`test_random_pipelines.py` runs some seeds of every day; `test_found.py` holds what was found.
"""
