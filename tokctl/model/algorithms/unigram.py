"""Unigram: pieces with log probabilities; the segmentation with the highest sum is used."""

from __future__ import annotations

from collections.abc import Iterator
from math import exp
from typing import TYPE_CHECKING, Any

from tokctl.core.errors import Unsupported
from tokctl.model.algorithms.algorithm import Algorithm, HuggingFaceDifference

if TYPE_CHECKING:
    from tokctl.model.algorithms.job import Trained, TrainingJob
    from tokctl.model.filled import Model, TrainingRecord
    from tokctl.model.recipe import Recipe

#: Most seed pieces of a training, and the most characters in a piece: both as in SentencePiece.
SEEDS = 1_000_000
USUAL_LONGEST_PIECE = 16


class Unigram(Algorithm):
    """Unigram, trained in rounds of expectation and maximization, then pruning."""

    name = "unigram"
    title = "Unigram"
    learns = "pieces"
    default = {
        "normalizers": "nmt_nfkc",
        "pre_tokenizers": "metaspace",
        "segmentation": "viterbi",
        "unk_token": "<unk>",
        "unknown": "char",
        "fuse_unknown": True,
        "decoders": "metaspace",
        "special_tokens": ("<unk>",),
    }
    segmentations = ("viterbi",)
    options = ("show_steps", "byte_fallback", "fuse_unknown")
    token_kinds = ("special", "character", "piece")
    exhausted = exhausted_briefly = "the text gave no more pieces"
    # The trainer stores a token's length in one byte.
    longest_token = 255

    def train(self, job: TrainingJob) -> Trained:
        """Train in rounds. Special tokens have the lowest ids, then bytes, then pieces by score."""
        from tokctl import _native
        from tokctl.model.algorithms.job import Trained
        from tokctl.model.filled import Round

        initial = [token.decode() for token in job.initial_tokens]
        coverage, most, required = job.settings["limits"]
        # The limits of the alphabet must not drop characters of initial tokens.
        required += "".join(initial)
        has_limits = coverage is not None or most is not None
        limits = (coverage, most, required)
        result = _native.train_unigram(
            job.counts,
            vocab_size=job.vocab_size,
            special_tokens=[token.encode() for token in job.recipe.special_tokens],
            byte_fallback=job.recipe.byte_fallback,
            seed_size=SEEDS,
            shrinking_factor=0.75,
            sub_iterations=2,
            max_piece_length=job.settings["max_token_length"] or USUAL_LONGEST_PIECE,
            alphabet=list(_native.alphabet_of(job.counts, limits=limits)) if has_limits else None,
            required=list(dict.fromkeys(required)),
            initial_tokens=[text for text in initial if len(text) > 1],
            threads=job.threads,
            progress=job.report,
        )
        first_ids = job.recipe.first_tokens
        return Trained(
            tokens=first_ids + [text for text, _ in result.pieces],
            alphabet=result.alphabet_size,
            exhausted=result.exhausted,
            scores=[0.0] * len(first_ids) + [score for _, score in result.pieces],
            rounds=[
                Round(*row[:5], tuple((text.decode(), loss) for text, loss in row[5]))
                for row in result.rounds
            ],
        )

    def check_extension(self, recipe: Recipe) -> None:
        """Raise TokctlError."""
        raise Unsupported(
            "a unigram model can't be extended: its scores are those of one vocabulary",
            "train a new one on the old and the new texts together",
        )

    def ranked(self, model: Model, ids: list[int]) -> list[int]:
        """Return the ids by score, the highest first; tied pieces stay in id order."""
        return sorted(ids, key=lambda id_: -model.scores[id_])

    def kind_of(self, model: Model, id_: int, text: bytes) -> str:
        """Return whether the token has one character or several."""
        return "piece" if len(model.tokens[id_].decode()) > 1 else "character"

    def choice(self, recipe: Recipe) -> tuple[str, str]:
        """Return how pruning chooses."""
        text = "pieces that the text's likelihood would lose most without (EM, pruning)"
        return "chosen", text

    def encoding(self, recipe: Recipe) -> str:
        """Return how pieces are chosen for a pre-token."""
        single = ", sums in single precision" if recipe.rounds_to_single else ""
        return super().encoding(recipe) + single

    def why_stopped(self, record: TrainingRecord) -> str:
        """Return what the text has no more of."""
        return "the text has no more pieces that are of use"

    def why_whole(self, model: Model, id_: int) -> str:
        """Return the probability of the piece."""
        return f"a whole piece, probability {exp(model.scores[id_]):.2g}"

    def huggingface_model(self, recipe: Recipe, unk_id: int | None) -> dict[str, Any]:
        """Return a model of the type Unigram."""
        return {"type": "Unigram", "unk_id": unk_id, "byte_fallback": recipe.byte_fallback}

    def huggingface_differences(self, recipe: Recipe) -> Iterator[HuggingFaceDifference]:
        """Yield that sums are in double precision, and unknown characters one token."""
        if recipe.precision == "single":
            lost = (
                "sums of log probabilities in single precision, which decide between near-equal "
                "ways"
            )
            if recipe.byte_fallback:
                lost += ", and bytes that no text can spell (<0x41>)"
            refusal = "its Unigram adds log probabilities in double precision"
            yield HuggingFaceDifference({"precision": "double"}, lost, refusal)
        if not recipe.fuse_unknown:
            lost = "one unknown token for each unknown character"
            refusal = "its Unigram makes one unknown token of several characters"
            yield HuggingFaceDifference({"fuse_unknown": True}, lost, refusal)
