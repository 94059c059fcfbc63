"""Tokens on which a language model has hardly been trained: by reach, by use, by embeddings.

Three methods, from the cheapest to the most reliable:

- **unreachable**: no text is encoded to the token, by the trials of
  `tokctl.analysis.explain.vocabulary`.
- **never used, rarely used**: by the number of uses of each id in the measured text. Special tokens
  and byte tokens are left out, as in the health check.
- **embeddings**: by the embedding matrix of a language model, after Land and Bartolo 2024 ("Fishing
  for Magikarp", arXiv 2405.05417); `tokctl.analysis.health.embeddings` defines the method.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tokctl.analysis.health import RARE
from tokctl.analysis.health.embeddings import EmbeddingFacts, embedding_facts
from tokctl.analysis.health.subject import CheckContext
from tokctl.analysis.health.use import usable_ids
from tokctl.analysis.metrics import MetricValue, Undefined, ratio
from tokctl.core.errors import BadOption
from tokctl.tokenizer import Tokenizer


@dataclass(frozen=True)
class UndertrainedReport:
    """Tokens of a model that are probably under-trained.

    Attributes:
        of: Number of tokens that text can give, without byte tokens.
        unreachable: Ids of unreachable tokens, ascending.
        undecided: Number of tokens whose trials were cut short; if there are any, no id counts as
            unreachable.
        rare: Number of uses below which a token is rare.
        never_used: Ids of tokens that are never used, ascending.
        rarely_used: Ids of rare tokens, the rarest first.
        embeddings: Results from the embeddings; None if none were given, Undefined if they
            show nothing.
        figures: Values by the names of `suite_metrics.UNDERTRAINED`, in their order.
    """

    of: int
    unreachable: tuple[int, ...]
    undecided: int
    rare: int
    never_used: tuple[int, ...]
    rarely_used: tuple[int, ...]
    embeddings: EmbeddingFacts | Undefined | None
    figures: Mapping[str, MetricValue]


def undertrained(
    tokenizer: Tokenizer,
    counts: Mapping[int, int],
    *,
    embeddings: str | Path | None = None,
    tensor: str | None = None,
    indicator: str | None = None,
    rare: int = RARE,
) -> UndertrainedReport:
    """Return the tokens that are probably under-trained.

    Takes about a second for 100,000 tokens, and the time to read the embeddings.

    Args:
        tokenizer: The model.
        counts: Number of uses of each id in the measured text (`Counts.id_counts`).
        embeddings: Safetensors file, as in `embedding_facts`.
        tensor: Name of the embedding matrix, as in `embedding_facts`.
        indicator: Indicator of training, as in `embedding_facts`.
        rare: Number of uses below which a token is rare.

    Raises:
        TokctlError: As in `embedding_facts`; or a tensor is named without embeddings.
    """
    if embeddings is None and tensor is not None:
        raise BadOption(
            "a tensor needs embeddings", "also give the file of the embeddings", "missing-option"
        )
    subject = CheckContext(tokenizer, None, limit=None, rare=rare)
    ids = usable_ids(subject)
    reach = subject.reach_beside_added
    id_set = set(ids)
    unreachable = tuple(id_ for id_ in reach.ids if id_ in id_set)
    never = tuple(id_ for id_ in ids if not counts.get(id_, 0))
    rarely = sorted(
        (id_ for id_ in ids if 0 < counts.get(id_, 0) < rare), key=lambda id_: (counts[id_], id_)
    )
    facts = None if embeddings is None else embedding_facts(subject, embeddings, tensor, indicator)
    no_tokens = "the model has no tokens that text could give"
    undecided = f"{reach.undecided:,} tokens are undecided after {reach.trials:,} trials"
    if isinstance(facts, EmbeddingFacts):
        candidates = ratio(len(facts.candidates), facts.of, no_tokens)
        separability = ratio(facts.apart, facts.of, no_tokens)
    else:
        candidates = separability = facts or Undefined("no embeddings were given")
    figures = {
        "unreachable": Undefined(undecided)
        if reach.undecided
        else ratio(len(unreachable), len(ids), no_tokens),
        "never_used": ratio(len(never), len(ids), no_tokens),
        "rarely_used": ratio(len(rarely), len(ids), no_tokens),
        "candidates": candidates,
        "apart": separability,
    }
    return UndertrainedReport(
        of=len(ids),
        unreachable=unreachable,
        undecided=reach.undecided,
        rare=rare,
        never_used=never,
        rarely_used=tuple(rarely),
        embeddings=facts,
        figures=figures,
    )
