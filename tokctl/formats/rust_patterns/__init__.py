"""The patterns that tiktoken, and what is built on it, split a text by.

tiktoken looks for the pattern with Rust's `fancy-regex`, and drops what stands between the
matches; tokctl looks for `regex:PATTERN` with Python's `regex`, and drops nothing. So a
pattern is taken over where both read it alike (`grammar`) and it leaves nothing out.
"""

from tokctl.formats.rust_patterns.splitting import pattern_of, pre_tokenizers_of

__all__ = ["pattern_of", "pre_tokenizers_of"]
