"""Hugging Face's formats: `tokenizer.json`, and folders of `transformers`."""
