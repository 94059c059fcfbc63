"""The words of `docs/benchmarks.md` that no run changes."""

INTRODUCTION = """\
# tokctl compared with other libraries

This page is written by `python -m tests.tools.bench --write`; don't edit it. To measure again,
from a checkout with the extra `bench` installed:

    python -m tests.tools.bench              # the tables, in the terminal
    python -m tests.tools.bench --quick      # short texts, small vocabularies, one round
    python -m tests.tools.bench --only encoding
    python -m tests.tools.bench --write --results run.jsonl  # this page; resumes a stopped run
    python -m tests.tools.bench --memory     # peak memory instead: docs/memory.md
    python -m tests.tools.bench --recent     # the algorithms since 2024 instead: docs/recent.md

A whole run takes up to an hour on two cores that other programs also use. Slow work has one round;
if the run exceeds its `--minutes`, so does everything except quick work. The first run takes 15
minutes longer, to make the long texts and the model of 200,000 ids, which stay in a cache outside
the project (`--cache`). `--quick` takes less than three minutes.
"""

READING = """\
## How to read the rows

- **Only the ratio means something.** "time, ours = 1" is a contender's time divided by
  tokctl's in the same rounds: above 1 it is slower than tokctl, below 1 faster. Both are the least
  over up to {runs} (three times as many with 1 MB on one thread), because other work on the machine
  can only add time. The lowest and the highest ratio of a round are also given. A slow contender
  has fewer rounds, and so have all but the quick ones if the run's time is up.
- **CPU time is compared**: that of all threads of a pass together. It hardly changes if other
  programs use the machine, as they did here; for one thread it is the time on an idle machine. Two
  threads that divide the work without loss take the same CPU time as one, which is "tokctl, 1
  thread" in a row for two threads; a peer that leaves the second thread idle has no such loss.
  "clock" is the elapsed time on this machine: don't compare it with figures from elsewhere.
- Every contender runs in its own process, one after the other in each round (A B C,
  A B C, …), so that no caches, threads or memory of one disturb another. All use as many
  threads as the row says, or one.
- **A wrong result has no speed**: each time is followed by the digest of the result
  (the first 16 digits of SHA-256: of the merges in order, of the ids as 32-bit
  little-endian numbers, of the decoded bytes, of the output). `same` is equal to that of the
  contender marked `reference` (tokctl itself can be `wrong`), or, for decoded byte-level ids,
  to the text's own. `other ids`: the peer loads the model and gives ids that are not those of
  the reference. `not measured` says why: most peers don't know every kind of model.
  `not compared`: no other library did this work, so the digest only shows that the rounds agree.
  `own rules`: the contender defines the result differently, see the end.
- Training is timed from the file on disk to the model in memory. HF tokenizers, rustbpe and
  bpeasy get the text in pieces, cut where every pre-tokenizer cuts: they share pieces out among
  threads, and the merges are those of the whole text.
- Encoding and decoding start with the model loaded and one letter done, so that what a
  library imports when it is first called is not counted. `first` is the first pass in a fresh
  process, the one that a shell pipeline sees; `again` the median of the later passes over the
  same text: up to nine with 1 MB, one with 1 GB.
- **Texts as they grow**: `english` is technical prose, `code` is Go and Java, `scripts` has Greek,
  Hindi, Japanese, Khmer, Korean, Russian, Vietnamese and Chinese. Each size is made of blocks of
  the real text, in an order that gives each part a bit of all. Beyond the real text come copies in
  another order, in which rare words have the end of another word of their script, so many that the
  number of distinct words goes on to grow as in the real text: n^b, with b, Heaps' exponent, below.
  `r50k` is GPT-2's vocabulary; `o200k` has o200k's pattern and 200,000 ids, trained by tokctl
  on the three texts. Libraries that only accept `str` are in the rows for `str`, and from 10 MB or
  100 MB on only the faster ones; with 1 GB there are `str` and two threads only for `r50k`.
- For every library, the fastest call is used that gives all ids and nothing else: except in the row
  "in a list", 32-bit numbers in one buffer if the library has that (tokctl, gigatoken, fastokens,
  splintr, tokie, quicktok, iree-tokenizer, tiktoken for one text), else a list (HF tokenizers,
  sentencepiece, kitoken, wordchipper, tiktoken for many texts). A list is Python's, of one `int`
  per id. gigatoken gets one text as a batch, whose memory it uses again, up to 32 MB, and by
  `encode`, which is faster there, beyond.
- quicktok is the package `quicktok-v1`: it knows o200k's and cl100k's patterns, but not GPT-2's.
  wordchipper takes OpenAI's vocabularies alone, from a cache: it gets the model's ranks as the
  one with the same pattern. rustbpe encodes with nothing but what it trained itself, and bpeasy
  trains only.
- Decoding "from an array" gives every library the ids in the kind of array that its own encoding
  makes, and "from a list" a list.
- The peers get tokctl's own model, or GPT-2's: in Hugging Face's format, tiktoken its tokens
  with their ids as ranks. For WordPiece, HF tokenizers gets its own BERT scanner in place of the
  file's pattern, which is faster and gives the same ids on this text; splintr gets the models
  without their templates, whose special tokens its fast calls put around every text. In the
  rows "SentencePiece's" and "cl100k" it is the other way round: tokctl loads a model that
  SentencePiece trained, and the ranks file of tiktoken; a library that reads neither gets tokctl's
  conversion of it.
- "Line by line" is one call for all lines of the text: SentencePiece takes a line for a
  sentence. The many texts are pieces of the book of 64 kB.
- **Likelihood** of Unigram models: libraries compute it differently, so all are scored by one
  function, `tests/tools/bench/likelihood.py`. Every word of the text gets its best segmentation
  under the model's own log probabilities, scaled to add up to one; the sum is printed in bits per
  character. Fewer bits are a higher likelihood.
- Hugging Face's Unigram trainer is left out: it takes minutes for what takes seconds here. So
  are, for letters without a space, gigatoken and HF tokenizers, whose time grows with the square
  of a word's length.
- "peak" is the peak resident memory of the whole process after the first pass, with the
  interpreter, the library, the text and the result in it; for whole processes, of these.
- A time "in the document" is printed in the notebook that the project grew from; it was
  measured elsewhere, so its ratio is a rough one.
"""
