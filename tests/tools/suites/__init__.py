"""The peers' own test suites, run through tokctl: `python -m tests.tools.suites --checkouts DIR`.

A suite runs as its authors run it, against the installed library. Around the library's calls stands
what `launch.py` puts there: each is answered by the library, as ever, and a second time by tokctl
with the same model, which is taken from the library at that moment. What is the same, what
differs, and what tokctl has no such call for is counted, by test and with a reason.

Nothing of others is in here. DIR holds unpacked source distributions of the installed versions
(`pip download --no-deps --no-binary :all: tokenizers==…`), named `tokenizers-…`, `tiktoken-…`,
`sentencepiece-…`, `transformers-…`. What the suites download is theirs to download: HF_HOME and
TIKTOKEN_CACHE_DIR say where it is kept.

`--write` puts the counts into `results.tsv` and the table of docs/formats.md.
"""
