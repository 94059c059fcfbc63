"""The base class of algorithms: what the rest of tokctl reads of one, and asks it to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from tokctl.core.errors import BadOption, UnsupportedByFormat

if TYPE_CHECKING:
    from tokctl.model.algorithms.job import Trained, TrainingJob
    from tokctl.model.filled import Model, TrainingRecord
    from tokctl.model.recipe import Recipe

#: How a pre-token is encoded, by the recipe's segmentation.
_SEGMENTATIONS = {
    "merges": "merges by rank, the earliest learned first",
    "replay": "merges replayed in the order learned",
    "ranks": "any two neighbours that spell a token merge, the token of the lowest rank first",
    "longest-match": "the longest token first, from left to right",
    "viterbi": "the segmentation with the highest sum of scores (Viterbi)",
    "lookup": "each pre-token is looked up whole",
    "symbols": "one token per character",
    "events": "merges and removals replayed in the order learned",
    "events-to-symbols": "merges and removals replayed in the order learned, to bytes",
    "demolish": "merges by rank; then each scaffold token becomes the tokens it was made of",
    "remerge": "merges by rank; then residues become what they were made of, which merges again",
}


class HuggingFaceDifference(NamedTuple):
    """A difference between a recipe and the model of its algorithm in Hugging Face's library.

    Attributes:
        fields: fields of the nearest recipe that the library has.
        lost: the loss of that recipe; None if the change affects no text.
        refusal: why the library can't give the same ids; None if it can.
    """

    fields: Mapping[str, Any]
    lost: str | None = None
    refusal: str | None = None


class Algorithm:
    """An algorithm: its default recipe, its training, and whatever depends on it elsewhere.

    There is one instance of each concrete class, in `ALGORITHMS`. Code outside
    `tokctl.model.algorithms` reads the attributes and calls the methods (`recipe.traits.train`);
    it never compares an algorithm's name.

    Attributes:
        name: name in recipes and on the command line.
        title: display name in reports.
        learns: what a training chooses, one after the other.
        default: fields of the default recipe (parts in text form), without `name` and
            `algorithm`.
        default_characters: fields of the default recipe that `--chars` changes; empty for an
            algorithm that always reads characters.
        segmentations: how the algorithm's models can segment a pre-token; see
            `Recipe.segmentation`.
        options: command-line options of this algorithm that other algorithms may lack.
        token_kinds: origins that tokens can have, in display order; see `kind_of`.
        token_place: where in a word the tokens stand, if their spelling does not tell.
        why_split, why_unknown: why a word is split, or unknown, if the reason is always the same.
        exhausted: why training can end before the vocabulary is full.
        exhausted_briefly: like `exhausted`, in a summary.
        not_in_huggingface: what Hugging Face's library lacks for the segmentations that
            `huggingface_model` refuses.
        marker_kinds: kinds of word markers that the recipes can have.
        is_plain_bpe: merges by rank, or ranks alone, define the segmentation completely, as in
            merges.txt, in tiktoken's rank files and in SentencePiece's BPE.
        reads_bytes: the recipes can be byte-level.
        reads_twice: training reads the texts twice.
        can_fall_back: the recipes can have byte fallback.
        is_nested: on one text, a training for a smaller vocabulary learns a prefix of what a
            training for a larger one learns, so pruning gives the smaller training's result.
        longest_token: the greatest length of a token in characters; None: no limit.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    learns: ClassVar[Literal["merges", "pieces", "words", "characters"]]
    default: ClassVar[Mapping[str, Any]]
    default_characters: ClassVar[Mapping[str, Any]] = {}
    segmentations: ClassVar[tuple[str, ...]]
    options: ClassVar[tuple[str, ...]]
    token_kinds: ClassVar[tuple[str, ...]]
    token_place: ClassVar[str] = ""
    why_split: ClassVar[str] = ""
    why_unknown: ClassVar[str] = ""
    exhausted: ClassVar[str]
    exhausted_briefly: ClassVar[str] = "the text gave no more tokens"
    not_in_huggingface: ClassVar[str] = ""
    marker_kinds: ClassVar[tuple[str, ...]] = ("none",)
    is_plain_bpe: ClassVar[bool] = False
    reads_bytes: ClassVar[bool] = False
    reads_twice: ClassVar[bool] = False
    can_fall_back: ClassVar[bool] = True
    is_nested: ClassVar[bool] = False
    longest_token: ClassVar[int | None] = None

    # -- training and its limits ----------------------------------------------------------

    def train(self, job: TrainingJob) -> Trained:
        """Train a vocabulary."""
        raise NotImplementedError

    def check(self, recipe: Recipe) -> None:
        """Raise TokctlError if a recipe has symbols that the algorithm can't merge or look up."""
        if recipe.byte_fallback and (recipe.is_byte_level or not self.can_fall_back):
            raise BadOption(
                "only models of characters can fall back to bytes, and WordPiece can't",
                "leave byte fallback out, or take another algorithm",
                "conflict",
            )
        if recipe.is_byte_level and not self.reads_bytes:
            raise BadOption(
                f"{self.name} reads characters, not bytes",
                "leave --bytes out; byte fallback gives unigram the bytes of unknown characters",
                "conflict",
            )

    def check_marker(self, kind: str) -> None:
        """Raise TokctlError if the recipes can't have a kind of word marker."""
        if ("continuation" in self.marker_kinds) != (kind == "continuation"):
            raise BadOption(
                "WordPiece needs a continuation marker, and only WordPiece has one",
                "give wordpiece Marker('continuation', '##'), and others another kind or none",
                "conflict",
            )
        if kind not in self.marker_kinds:
            raise BadOption(
                f"{self.name} has no word marker",
                "leave it out: markers are for bpe and wordpiece",
                "conflict",
            )

    def check_training(self, recipe: Recipe, options: Any) -> None:
        """Raise TokctlError if `options` (`TrainOptions`) do not suit the algorithm."""
        if options.threshold is not None and "threshold" not in self.options:
            raise BadOption(
                f"a threshold is for removals as by PickyBPE, and this is {self.name}",
                "leave it out, or take --algo picky or boundless",
                "conflict",
            )
        longest, asked = self.longest_token, options.max_token_length
        if longest is not None and asked is not None and asked > longest:
            raise BadOption(
                f"invalid value {asked} for the greatest token length of {self.name}",
                f"its pieces have up to {longest} characters: --max-token-length {longest}",
                "bad-value",
            )
        if options.initial_tokens and recipe.removal:
            raise BadOption(
                f"{self.name} can't have initial tokens: its training may take them away",
                "leave them out, or take --algo bpe or superbpe",
                "conflict",
            )

    def check_extension(self, recipe: Recipe) -> None:
        """Raise TokctlError if no training can continue from a model with such a recipe."""

    def check_known_merges(self, model: Model) -> None:
        """Raise TokctlError if a training can't continue for lack of the model's merges."""

    def can_split_anew(self, old: Recipe, recipe: Recipe) -> bool:
        """Return whether a training can continue from `old` with other pre-tokenizers."""
        return False

    # -- pruning --------------------------------------------------------------------------

    def permanent_ids(self, model: Model) -> set[int]:
        """Return the ids that pruning keeps: added tokens, and the initial symbols of merges."""
        kept = {token.id for token in model.added}
        merged = {merge.token for merge in (*model.merges, *model.supermerges)}
        for id_, token in enumerate(model.tokens):
            # In a model with merges, a token that no merge makes is an initial symbol.
            if self.is_initial_symbol(model.recipe, token) or (merged and id_ not in merged):
                kept.add(id_)
        return kept

    def is_initial_symbol(self, recipe: Recipe, token: bytes) -> bool:
        """Return whether other tokens of the model may be made from this one."""
        return recipe.is_initial_symbol(token)

    def ranked(self, model: Model, ids: list[int]) -> list[int]:
        """Return the ids of a vocabulary without merges, those that pruning keeps longest first."""
        return ids

    def alphabet_size(self, model: Model, size: int) -> int:
        """Return the size of a trained model's alphabet after pruning to `size` ids."""
        return model.training.alphabet_size if model.training else 0

    # -- reports --------------------------------------------------------------------------

    def kind_of(self, model: Model, id_: int, text: bytes) -> str:
        """Return the origin of a token that text becomes; one of `token_kinds`, or `other`.

        Args:
            model: the model.
            id_: the id of the token.
            text: the bytes of the text that the token stands for, without word marker.
        """
        raise NotImplementedError

    def lists_merges(self, recipe: Recipe) -> bool:
        """Return whether the models have a list of merges."""
        return False

    def criteria(self, recipe: Recipe) -> list[str]:
        """Return the names of the rules by which training chooses, for a one-line summary."""
        return []

    def choice(self, recipe: Recipe) -> tuple[str, str]:
        """Return a label, and the rule by which training chooses tokens in words."""
        raise NotImplementedError

    def encoding(self, recipe: Recipe) -> str:
        """Return how a pre-token is encoded, in words."""
        text = _SEGMENTATIONS[recipe.segmentation]
        return (
            f"a pre-token that is a token stays whole; else {text}" if recipe.whole_words else text
        )

    def why_stopped(self, record: TrainingRecord) -> str:
        """Return why a training ended before the vocabulary was full."""
        raise NotImplementedError

    def why_whole(self, model: Model, id_: int) -> str:
        """Return why the word of an ordinary token is not split; empty: its merges say so."""
        return ""

    # -- Hugging Face's format ------------------------------------------------------------

    def huggingface_model(self, recipe: Recipe, unk_id: int | None) -> dict[str, Any]:
        """Return the object `model` of a tokenizer.json that gives the same ids, without lists.

        Args:
            recipe: the recipe.
            unk_id: the id of the unknown token, if there is one.

        Raises:
            UnsupportedByFormat: the format can't express the recipe, and not by one of
                `huggingface_differences`.
        """
        raise UnsupportedByFormat(self.not_in_huggingface)

    def huggingface_differences(self, recipe: Recipe) -> Iterator[HuggingFaceDifference]:
        """Yield how the library's model of this algorithm differs from the recipe."""
        if recipe.precision == "single":
            # Models that don't add scores lose nothing.
            yield HuggingFaceDifference({"precision": "double"})


def limits_of(record: TrainingRecord, longest: str) -> str:
    """Return the limits of a training as a relative clause; `longest` has its verb."""
    limits = []
    if record.min_frequency > 1:
        limits.append(f"occurs {record.min_frequency:,} times")
    if record.max_token_length is not None:
        limits.append(f"{longest} of {record.max_token_length:,} at most")
    if record.whole_characters:
        limits.append("keeps characters whole")
    return f" that {' and '.join(limits)}" if limits else ""
