"""Options of `recommend`."""

from typing import Annotated

from tokctl.cli.options import values
from tokctl.cli.options.declaring import TEXTS, CliOption

Params = Annotated[
    str | None,
    CliOption(
        "--params N",
        "Parameters of the model that the tokenizer is for, without embeddings: 125M, 1B, 7B. The "
        "size is then the one with the least training compute for a byte of text.",
        short="Parameters of the model that it is for: 1B",
    ),
]
RecommendAlgos = Annotated[
    list[str] | None,
    CliOption(
        "--algo -a NAME,…",
        "What to try: algorithms (bpe, unigram, wordpiece), or single candidates (bpe/o200k) of "
        "the list below; by default all that suit the text.",
        values=values.candidates,
        short="What to try: bpe, or bpe/o200k; by default all",
    ),
]
RecommendSizes = Annotated[
    list[str] | None,
    CliOption(
        "--vocab -v N,…",
        "The only sizes to try. By default powers of two from 1,024 to 131,072, and then "
        "some around the best.",
        short="Sizes to try: 16K,32K",
    ),
]
RecommendHeldOut = Annotated[
    str,
    CliOption(
        "--held-out SHARE|FILE",
        "What candidates are measured on: a share of the texts that they are not trained on "
        "(documents, or blocks of paragraphs or lines), or another text.",
        short="What is measured: 0.1 of the texts by default",
        reads=TEXTS,
    ),
]
RecommendSeed = Annotated[
    int, CliOption("--seed N", "The random seed for the sample and the held-out part.", min=0)
]
SampleSize = Annotated[
    str,
    CliOption(
        "--sample-size SIZE",
        "If the texts are longer, use a random sample of this size: 20M, 1G (powers of 1024).",
        short="Of longer texts, use a sample: 20M by default",
    ),
]
