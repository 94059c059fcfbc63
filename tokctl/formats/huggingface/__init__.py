"""Hugging Face's formats: `tokenizer.json`, and the folders of `transformers`."""
