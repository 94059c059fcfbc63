"""tiktoken's rank files: one token in base64 and its rank per line.

The file holds neither the pattern nor the special tokens: both are facts of the encoding.
For the published files the digest says which encoding it is (`known`); for others the
caller says it, or a file beside them does (`sidecar`), which tokctl writes.

tiktoken merges the two neighbours that spell the token of the lowest rank, and a pre-token
that is a token stays whole; ranks are ids.
"""

from tokctl.formats.tiktoken.reading import is_one, read
from tokctl.formats.tiktoken.writing import losses, write

__all__ = ["is_one", "losses", "read", "write"]
