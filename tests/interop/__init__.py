"""Against `transformers` as people use it: `AutoTokenizer.from_pretrained(folder)`.

pip install 'tokctl[test-interop]'
"""
