"""Stand-ins for the classes of other libraries, with their names, arguments and answers.

`tokctl.compat.tokenizers` is for Hugging Face's `tokenizers`, `tokctl.compat.tiktoken` for
`tiktoken`; `tokctl.as_hf` puts the first under a tokenizer of `transformers`. What is equal, and
what is not, is in docs/drop-in.md.
"""
