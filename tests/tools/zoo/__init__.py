"""Published tokenizers beside the libraries that define them: `python -m tests.tools.zoo`.

Nothing of others is in here: `list.tsv` says where each file was published, with its digest, and
`results.tsv` what was measured. The files are read from a folder that `--files` names, laid out
as OWNER+NAME/PATH, or fetched from the address of the repository at its commit.
"""
