"""Replacements for the classes of other libraries, with their names, arguments and results.

`tokctl.compat.tokenizers` replaces Hugging Face's `tokenizers`, and `tokctl.compat.tiktoken`
replaces `tiktoken`. `tokctl.as_hf` makes a tokenizer of `transformers` use the former.
docs/drop-in.md lists the differences.
"""
