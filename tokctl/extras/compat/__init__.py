"""Replacements for the classes of other libraries, with their names, arguments and results.

`tokctl.extras.compat.tokenizers` replaces Hugging Face's `tokenizers`, and
`tokctl.extras.compat.tiktoken` replaces `tiktoken`. `tokctl.as_hf` makes a tokenizer of
`transformers` use the former. docs/drop-in.md lists the differences.
"""
