"""Many texts: as they come from an iterable, or out of files of any form.

What is behind `Tokenizer.encode_iter` and `Tokenizer.encode_file`.
"""
