"""`tokctl recommend`: which tokenizer to train on a corpus."""

import re
from typing import TYPE_CHECKING

import typer

from tokctl.cli import paging, streams
from tokctl.cli.command import add_command
from tokctl.cli.numbers import held_out_share, size_of, vocab_sizes, without_separators
from tokctl.cli.options.others import (
    Params,
    RecommendAlgos,
    RecommendHeldOut,
    RecommendSeed,
    RecommendSizes,
    SampleSize,
)
from tokctl.cli.options.shared import AnswerOptions, CompareErrors, CompareThreads, TrainFiles
from tokctl.cli.options.sources import ListedTexts
from tokctl.cli.progress import ProgressDisplay
from tokctl.cli.world import Console
from tokctl.core.errors import BadOption

if TYPE_CHECKING:
    from tokctl.sources import Source

EXAMPLES = """Examples:

  tokctl recommend book.txt
  tokctl recommend --params 1B corpus/
  tokctl recommend --algo bpe --vocab 16K,32K,64K,128K a.txt
  tokctl recommend --text-field body corpus.jsonl.zst
  tokctl recommend --held-out other.txt book.txt
  tokctl recommend --algo bpe/o200k,unigram/metaspace a.txt
  tokctl recommend --sample-size 100M --seed 1 corpus/
  tokctl recommend -q a.txt | grep '^tokctl train' | sh

The command is the last line. Candidates are bpe/gpt2, bpe/cl100k,
bpe/o200k, bpe/qwen2, unigram/cl100k, unigram/o200k and
wordpiece/count; if the text has no spaces, or if you name
them, also bpe/metaspace and unigram/metaspace.
The rules and their sources are in docs/recommend.md."""


SHORT = "Recommend a vocabulary size, algorithm and pre-tokenizer."


def register(app: typer.Typer) -> None:
    """Add `tokctl recommend` to `app`."""
    add_command(app, recommend, epilog=EXAMPLES, short_help=SHORT)


def recommend(
    context: typer.Context,
    texts: TrainFiles = None,
    params: Params = None,
    algo: RecommendAlgos = None,
    vocab: RecommendSizes = None,
    held_out: RecommendHeldOut = "0.1",
    seed: RecommendSeed = 0,
    sample_size: SampleSize = "20M",
    errors: CompareErrors = "strict",
    threads: CompareThreads = None,
    *,
    shown: AnswerOptions,
    sources: ListedTexts,
) -> None:
    """Recommend a tokenizer for texts: vocabulary size, algorithm, pre-tokenizer and coverage,
    with the figures behind it, and the command that trains it.

    Candidates are trained on nine tenths of the texts and measured on the rest.
    The size is the knee of the best curve: from there a doubling saves less
    than 5% of the tokens. With --params it is the one with the least training
    compute for a byte of text.
    """  # noqa: D205 (one paragraph of the help)
    world: Console = context.obj
    form = paging.form(shown.given)
    from tokctl.extras.recommend import recommend as recommended_for
    from tokctl.extras.recommend.candidates import candidates_of
    from tokctl.extras.recommend.shape import ModelShape

    size = size_of("--sample-size", sample_size)
    count = None if params is None else parameters(params)
    if count is not None:
        ModelShape.of(count)
    names = None if not algo else [name.strip() for one in algo for name in one.split(",")]
    candidates_of(names, spaceless=True)
    sizes = None if not vocab else vocab_sizes(vocab)
    share = held_out_share(held_out)
    if share is None and held_out == "-" and "-" in (texts or ["-"]):
        raise BadOption("stdin (-) is named twice", "it can be read only once", "conflict")
    opened = sources.open(world, texts)
    streams.refuse_models(texts or (), opened, sources.format)
    other: list[Source] = []
    if share is None:
        other = sources.without_lists().open(world, [held_out])
        streams.refuse_models([held_out], other, sources.format)
    with ProgressDisplay(world) as bars:
        found = recommended_for(
            opened,
            params=count,
            candidates=names,
            sizes=sizes,
            held_out=other if share is None else share,
            seed=seed,
            sample_size=size,
            threads=threads,
            errors=errors,
            progress=bars,
        )
    from tokctl.extras.recommend.report import recommendation_answer

    named = texts or ([] if sources.lists else ["-"])
    command = found.command(named, _reading(sources, errors))
    answer = recommendation_answer(found, command)
    paging.write(world, answer, form or "text", pages=not shown.no_pager)


_PARAMETERS = re.compile(r"([0-9]{1,15})(?:\.([0-9]{1,9}))?([KMBGT]?)", re.IGNORECASE)
_SCALES = {"": 1, "K": 10**3, "M": 10**6, "B": 10**9, "G": 10**9, "T": 10**12}


def parameters(text: str) -> int:
    """Parse a number of model parameters, such as `125M` or `1.3B`.

    Raises:
        TokctlError: the text is not such a number.
    """
    match = _PARAMETERS.fullmatch(without_separators(text))
    if not match:
        raise BadOption(
            f"invalid value {text!r} for --params",
            "give a number of parameters: 125M, 1B, 7B, 1.3B",
            "bad-value",
        )
    whole, part, unit = match.groups(default="")
    scale = _SCALES[unit.upper()]
    found: int = int(whole) * scale + int(part or 0) * scale // 10 ** len(part)
    return found


def _reading(sources: ListedTexts, errors: str) -> list[str]:
    """Return the options that say how texts are read, as words of a command line."""
    given = [
        *([("--format", sources.format)] if sources.format != "auto" else []),
        *([("--text-field", sources.text_field)] if sources.text_field is not None else []),
        *(("--include", pattern) for pattern in sources.include or ()),
        *(("--exclude", pattern) for pattern in sources.exclude or ()),
        *([("--files-from", sources.files_from)] if sources.files_from is not None else []),
        *([("--files0-from", sources.files0_from)] if sources.files0_from is not None else []),
        *([("--errors", errors)] if errors != "strict" else []),
    ]
    return [word for pair in given for word in pair]
