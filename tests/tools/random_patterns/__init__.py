"""Random regular expressions of a `tokenizer.json`: searched by Hugging Face and by tokctl."""
