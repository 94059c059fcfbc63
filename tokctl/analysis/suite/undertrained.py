"""Tokens that a language model has hardly been trained on: by reach, by use, by embeddings.

Three views, from the cheapest to the surest:

- **unreachable**: no text is encoded to them, as `tokctl.analysis.explain.vocabulary` tries it.
- **never used, rarely used**: by how often the measured text gives each id. Special tokens and
  the tokens of single bytes are left out, as in the health check.
- **embeddings**: what the matrix of a language model says, after Land and Bartolo 2024 ("Fishing
  for Magikarp", arXiv 2405.05417); `tokctl.analysis.health.embeddings` defines it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tokctl.analysis.health import RARE
from tokctl.analysis.health.embeddings import DEVIATIONS, SHARE, EmbeddingFacts, embedding_facts
from tokctl.analysis.health.subject import Subject
from tokctl.analysis.health.use import usable_ids
from tokctl.analysis.metrics import Absent, Definition, Figure, ratio
from tokctl.errors import TokctlError
from tokctl.tokenizer import Tokenizer

_LAND = "Land and Bartolo 2024, arXiv 2405.05417"
_SHARE = "share, 0 to 1"

#: V tokens that text can give, without those of single bytes; E those of them that are whole
#: characters and reachable.
DEFINITIONS = (
    Definition(
        "unreachable",
        "unreachable tokens",
        "tokens that no trial with their own text gives / V",
        _SHARE,
        "neither",
        _LAND,
        "Trials can't prove that no text gives a token. Tokens that only serve to build others "
        "are still needed for merging.",
    ),
    Definition(
        "never_used",
        "never used",
        "tokens with n = 0 on the text / V",
        _SHARE,
        "neither",
        "",
        "It depends on the text as much as on the model: a short text uses few tokens, and a text "
        "in another language even fewer.",
    ),
    Definition(
        "rarely_used",
        "rarely used",
        f"tokens with 0 < n < {RARE} on the text / V",
        _SHARE,
        "neither",
        "",
        "As for never used. The limit is a convention, and a language model is trained on other "
        "texts.",
    ),
    Definition(
        "candidates",
        "candidates by embeddings",
        f"tokens with an indicator up to that of the lowest {SHARE:.0%} / E",
        _SHARE,
        "neither",
        _LAND,
        f"It is {SHARE:.0%} by definition, even in a model whose tokens are all well trained: "
        "these are the tokens to try in prompts. The number of outliers shows whether any are "
        "under-trained.",
    ),
    Definition(
        "apart",
        "outlying tokens",
        f"tokens with an indicator under median - {DEVIATIONS} · 1.4826 · MAD / E",
        _SHARE,
        "neither",
        f"{_LAND}; MAD as spread, Hampel 1974",
        "In a model with many under-trained tokens, the spread is wide, and mild cases are not "
        "outliers. A row can be short for reasons other than little training.",
    ),
)


@dataclass(frozen=True)
class UndertrainedReport:
    """The tokens of a model that are likely under-trained.

    Attributes:
        of: tokens that text can give, without those of single bytes.
        unreachable: ids, ascending.
        undecided: tokens whose trials were cut short; then no id is called unreachable.
        rare: a token that is used less often is rare.
        never_used: ids, ascending; rarely_used: ids, the rarest first.
        embeddings: None if none were given; Absent if they say nothing.
        figures: by the names of `DEFINITIONS`, in their order.
    """

    of: int
    unreachable: tuple[int, ...]
    undecided: int
    rare: int
    never_used: tuple[int, ...]
    rarely_used: tuple[int, ...]
    embeddings: EmbeddingFacts | Absent | None
    figures: Mapping[str, Figure]


def undertrained(
    tokenizer: Tokenizer,
    counts: Mapping[int, int],
    *,
    embeddings: str | Path | None = None,
    tensor: str | None = None,
    indicator: str | None = None,
    rare: int = RARE,
) -> UndertrainedReport:
    """The tokens that are likely under-trained.

    Takes a second for 100,000 tokens, and the time to read the embeddings.

    Args:
        counts: how often the measured text gives each id (`Counts.id_counts`).
        embeddings, tensor, indicator: as `embedding_facts` takes them.
        rare: a token that is used less often is rare.

    Raises:
        TokctlError: as `embedding_facts`; a tensor without embeddings.
    """
    if embeddings is None and tensor is not None:
        raise TokctlError("a tensor goes with embeddings", "name the file that it is in")
    subject = Subject(tokenizer, None, limit=None, rare=rare)
    ids = usable_ids(subject)
    reach = subject.reach_beside_added
    wanted = set(ids)
    unreachable = tuple(id_ for id_ in reach.ids if id_ in wanted)
    never = tuple(id_ for id_ in ids if not counts.get(id_, 0))
    rarely = sorted(
        (id_ for id_ in ids if 0 < counts.get(id_, 0) < rare), key=lambda id_: (counts[id_], id_)
    )
    found = None if embeddings is None else embedding_facts(subject, embeddings, tensor, indicator)
    no_tokens = "the model has no tokens that text could give"
    undecided = f"{reach.undecided:,} tokens are undecided after {reach.trials:,} trials"
    if isinstance(found, EmbeddingFacts):
        candidates = ratio(len(found.candidates), found.of, no_tokens)
        apart = ratio(found.apart, found.of, no_tokens)
    else:
        candidates = apart = found or Absent("no embeddings were given")
    figures = {
        "unreachable": Absent(undecided)
        if reach.undecided
        else ratio(len(unreachable), len(ids), no_tokens),
        "never_used": ratio(len(never), len(ids), no_tokens),
        "rarely_used": ratio(len(rarely), len(ids), no_tokens),
        "candidates": candidates,
        "apart": apart,
    }
    return UndertrainedReport(
        of=len(ids),
        unreachable=unreachable,
        undecided=reach.undecided,
        rare=rare,
        never_used=never,
        rarely_used=tuple(rarely),
        embeddings=found,
        figures=figures,
    )
