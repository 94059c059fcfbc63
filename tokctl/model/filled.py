"""A recipe with the results of training: the contents of a model file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from tokctl.core.errors import AGAIN, BadModel
from tokctl.core.values import cached_property, gc_paused
from tokctl.model import byte_level
from tokctl.model.byte_level import BYTE_TOKENS
from tokctl.model.events import Merge, MergeLog
from tokctl.model.parts import AddedToken, check_added
from tokctl.model.recipe import Recipe, has_type, strings

if TYPE_CHECKING:
    from tokctl._native import StoredModel


class ImportedFrom(NamedTuple):
    """The source of a model that tokctl has not trained.

    Attributes:
        format: name of the source format in `tokctl.formats`.
        name: name of the model in the file or in the library that knows the model (`cl100k_base`,
            the `general.name` of a GGUF file); empty if unknown.
    """

    format: str
    name: str = ""


class Round(NamedTuple):
    """A round of Unigram training: expectation and maximization, then pruning.

    Attributes:
        pieces: number of pieces after maximization, before pruning.
        objective: mean negative log-likelihood of a pre-token, in nats.
        tokens: expected number of tokens in the whole corpus.
        unused: pieces that maximization removed because they were expected less than 0.5 times.
        dropped: pieces that pruning removed.
        examples: some of the dropped pieces with their loss, highest loss first. The last round
            prunes by score and has no losses.
    """

    pieces: int
    objective: float
    tokens: int
    unused: int
    dropped: int
    examples: tuple[tuple[str, float | None], ...] = ()


@dataclass(frozen=True)
class ParityRecord:
    """A record of parity-aware training: which language chose each merge, and the token counts.

    Attributes:
        languages: names of the languages, in the order given.
        variant: `base` or `window`.
        measure: divisor of a text's token count: `tokens` (no divisor), `bytes` or `characters`.
        dev: SHA-256 of the development texts, like `TrainingRecord.sha256`; empty if the training
            texts were measured.
        global_merges: number of merges, the first ones, that all languages chose together.
        chosen: for each later merge, the index of its language in `languages`.
        before, after: for each language, token count of the measured text before the first merge
            and after the last one.
        lengths: for each language, the divisor that `measure` names.
        window, limit: size of the window, and a language's largest allowed share of the window
            relative to an equal share, as a fraction; None and empty for `base`.
        targets: for each language, the wanted relative compression, as a fraction; empty: equal for
            all languages.
    """

    languages: tuple[str, ...]
    variant: str
    measure: str
    dev: str
    global_merges: int
    chosen: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    lengths: tuple[int, ...]
    window: int | None = None
    limit: str = ""
    targets: tuple[str, ...] = ()

    def language_of(self, rank: int) -> str | None:
        """Return the language that chose the merge of a rank.

        Args:
            rank: rank of the merge, from 0.

        Returns:
            The language; empty if all languages chose the merge together; None if the merge is not
            part of this training.
        """
        index = rank - self.global_merges
        if index < 0:
            return ""
        return self.languages[self.chosen[index]] if index < len(self.chosen) else None

    def merges_of(self) -> dict[str, int]:
        """Return how many merges each language chose, by language."""
        counts = Counter(self.chosen)
        return {name: counts[index] for index, name in enumerate(self.languages)}

    def of(self, ranks: Sequence[int]) -> ParityRecord:
        """Return the record for the merges of the given ranks alone, which must ascend."""
        indexes = (rank - self.global_merges for rank in ranks)
        return replace(
            self,
            global_merges=sum(rank < self.global_merges for rank in ranks),
            chosen=tuple(self.chosen[index] for index in indexes if 0 <= index < len(self.chosen)),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON data, without unused options."""
        data = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        defaults = {entry.name: entry.default for entry in fields(self)}
        return {name: value for name, value in data.items() if value != defaults[name]}

    @classmethod
    def from_dict(cls, data: dict[str, Any], merges: int) -> ParityRecord:
        """Return the record that `to_dict` wrote.

        Args:
            data: the record as JSON data.
            merges: number of merges of the model.

        Raises:
            TypeError: a field has the wrong type.
            ValueError: a number is out of range, or two fields conflict.
        """
        lists = {name: tuple(value) for name, value in data.items() if type(value) is list}
        record = cls(**(data | lists))
        for entry in fields(cls):
            value = getattr(record, entry.name)
            kind = str(entry.type)
            types = {
                "str": (str,),
                "int": (int,),
                "int | None": (int, type(None)),
            }.get(kind, (tuple,))
            if type(value) not in types:
                raise TypeError(entry.name)
            items = value if isinstance(value, tuple) else (value,)
            numbers = [item for item in items if item is not None and "int" in kind]
            texts = [item for item in items if "str" in kind]
            if set(map(type, numbers)) - {int} or set(map(type, texts)) - {str}:
                raise TypeError(entry.name)
            if numbers and (min(numbers) < 0 or max(numbers) >= 2**64):
                raise ValueError(f"one of the numbers of {entry.name} is not a count")
        count = len(record.languages)
        per_language = {len(item) for item in (record.before, record.after, record.lengths)}
        if record.targets:
            per_language.add(len(record.targets))
        if not count or len(set(record.languages)) < count:
            raise ValueError("its languages have no names of their own")
        if per_language != {count}:
            raise ValueError("there is not one number for each of its languages")
        if max(record.chosen, default=0) >= count:
            raise ValueError("one of its merges was chosen by a language that is not named")
        if record.global_merges + len(record.chosen) > merges:
            raise ValueError("languages chose more merges than it has")
        return record


@dataclass(frozen=True)
class TrainingRecord:
    """A record of what a training read and did; depends only on input and options.

    Attributes:
        documents, bytes, sha256: number of documents, bytes, and SHA-256 of the input. For one
            document `sha256` is the digest of its bytes; for several, the digest of the documents'
            hex digests, one per line.
        pre_tokens, distinct_pre_tokens: counts after `min_count` was applied.
        alphabet_size: number of initial symbols that have an id.
        vocab_size: the size asked for; if `exhausted`, the vocabulary is smaller.
        min_count, min_frequency, max_token_length: see `tokctl.training.TrainOptions`.
        exhausted: whether training ended before the vocabulary was full.
        coverage, alphabet_limit, initial_alphabet: the options that limited the alphabet.
        sample, seed: share of the lines that was read, and the seed that selected them.
        weights: weights of the documents in order, as fractions; empty: equal weights.
        count_scale: factor from a weighted count to the stored count, which makes counts whole.
        threshold: threshold of removals, as given; None if no token is removed by a threshold.
        extended: number of ids from the model that this training continued, without ids removed
            since; 0: the training started anew.
        pruned_from: number of ids before the last pruning; None: never pruned.
        stage_ends: number of ids at the end of each stage except the last.
        whole_characters, initial_tokens: see `tokctl.training.TrainOptions`.
        initial_merges: number of merges up to the last one that makes an initial token; counts
            alone did not choose these merges.
    """

    documents: int
    bytes: int
    sha256: str
    pre_tokens: int
    distinct_pre_tokens: int
    alphabet_size: int
    vocab_size: int
    min_count: int
    min_frequency: int
    max_token_length: int | None
    exhausted: bool
    coverage: float | None = None
    alphabet_limit: int | None = None
    initial_alphabet: str = ""
    sample: float | None = None
    seed: int = 0
    weights: tuple[str, ...] = ()
    count_scale: int = 1
    threshold: str | None = None
    extended: int = 0
    pruned_from: int | None = None
    stage_ends: tuple[int, ...] = ()
    whole_characters: bool = False
    initial_tokens: tuple[str, ...] = ()
    initial_merges: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON data, without unused options."""
        data = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        defaults = {entry.name: entry.default for entry in fields(self)}
        data = {name: value for name, value in data.items() if value != defaults[name]}
        return {key: list(item) if isinstance(item, tuple) else item for key, item in data.items()}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> TrainingRecord:
        """Return the record that `to_dict` wrote.

        Raises:
            TypeError: a field has the wrong type or is out of range.
        """
        lists = {"weights", "initial_tokens"} & data.keys()
        record = cls(**data | {name: strings(data[name]) for name in lists})
        if data.get("stage_ends"):
            record = replace(record, stage_ends=_stage_ends(data["stage_ends"]))
        for entry in fields(cls):
            value = getattr(record, entry.name)
            is_count = type(value) is int
            if not has_type(entry, value) or (is_count and not 0 <= value < 2**64):
                raise TypeError(entry.name)
        return record


def _stage_ends(values: Any) -> tuple[int, ...]:
    """Return the sizes of `stage_ends` as a tuple.

    Raises:
        TypeError: `values` is not an ascending list of 32-bit sizes.
    """
    if not isinstance(values, list) or not all(type(value) is int for value in values):
        raise TypeError("stage_ends")
    if not all(0 <= value < 2**32 for value in values) or values != sorted(values):
        raise TypeError("stage_ends")
    return tuple(values)


@dataclass(frozen=True, repr=False)
class Model:
    """A recipe with its vocabulary: the contents of a model file.

    Attributes:
        recipe: how text becomes tokens.
        tokens: bytes of each token, markers included, by id.
        merges: merges in the order learned; empty if the order is unknown or tokens were removed.
        training: record of the training; None for a model that tokctl has not trained.
        scores: natural log probability of each token by id (Unigram); 0 for a token without one.
        rounds: rounds of a Unigram training.
        supermerges: merges of adjacent pre-tokens that are one token each, in the order learned;
            training gives the resulting superwords the highest ids.
        counts: how often each token was counted in training, by id (words, characters).
        added_tokens: tokens that are matched before the model segments the text. None: the
            recipe's special tokens, with the lowest ids.
        origin: source of an imported model; None for a model that tokctl has trained.
        extra_files: texts by file name of other libraries' files that came with the model and
            that tokctl keeps but does not use (a chat template, for instance).
        events: merges and removals of a model with removed tokens, whose `merges` are empty.
        lengths: `truncation` and `padding` of an imported Hugging Face model, in that library's
            format. Hugging Face always applies them; tokctl only on request.
        parity: which language chose each merge; None unless training was parity-aware.
    """

    recipe: Recipe
    tokens: list[bytes]
    merges: list[Merge] = field(default_factory=list)
    training: TrainingRecord | None = None
    scores: list[float] = field(default_factory=list)
    rounds: list[Round] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    added_tokens: tuple[AddedToken, ...] | None = None
    origin: ImportedFrom | None = None
    extra_files: dict[str, str] = field(default_factory=dict)
    lengths: dict[str, dict[str, Any]] = field(default_factory=dict)
    parity: ParityRecord | None = None
    events: MergeLog | None = None
    supermerges: list[Merge] = field(default_factory=list)

    @classmethod
    def of_core(
        cls,
        recipe: Recipe,
        core: StoredModel,
        training: TrainingRecord | None = None,
        *,
        rounds: Sequence[Round] = (),
        added_tokens: tuple[AddedToken, ...] | None = None,
        origin: ImportedFrom | None = None,
        extra_files: dict[str, str] | None = None,
        lengths: dict[str, dict[str, Any]] | None = None,
        parity: ParityRecord | None = None,
        events: MergeLog | None = None,
        supermerges: list[Merge] | None = None,
    ) -> Model:
        """Return a model whose tokens, merges, scores and counts stay in the native core.

        Their Python lists are created on first use. Encoding and decoding never need them. Apart
        from `core`, the arguments are the attributes of the class.
        """
        model = cls.__new__(cls)
        model.__dict__.update(
            recipe=recipe,
            training=training,
            rounds=list(rounds),
            added_tokens=added_tokens,
            origin=origin,
            extra_files=extra_files or {},
            lengths=lengths or {},
            parity=parity,
            events=events,
            supermerges=supermerges or [],
            core=core,
        )
        model.__post_init__()
        return model

    if TYPE_CHECKING:
        #: Native store of tokens, merges, scores and counts; None if only the lists exist.
        core: ClassVar[StoredModel | None]
    else:
        core = None

        def __getattr__(self, name: str) -> Any:
            """Create one of the lists that the native core holds, on first use."""
            if name not in _CORE_LISTS or self.core is None:
                raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")
            with gc_paused():
                value = _CORE_LISTS[name](self.core)
            return self.__dict__.setdefault(name, value)

    def __repr__(self) -> str:
        return f"<Model {self.recipe.name}, {self.size:,} tokens>"

    def __getstate__(self) -> dict[str, Any]:
        return {entry.name: getattr(self, entry.name) for entry in fields(self)}

    @property
    def size(self) -> int:
        """Return the number of ids."""
        return len(self.tokens if self.core is None else self.core)

    def token(self, id_: int) -> bytes:
        """Return the bytes of the token with this id."""
        return self.tokens[id_] if self.core is None else self.core.token(id_)

    @property
    def highest_merged(self) -> int:
        """Return the highest id on either side of a merge or made by one; 0 without merges."""
        if self.core is not None:
            return self.core.highest_merged() or 0
        return max(max(map(itemgetter(side), self.merges), default=0) for side in range(3))

    def __post_init__(self) -> None:
        size = self.size
        for name, core_name in (("scores", "scores"), ("counts", "token_counts")):
            is_required = name == "scores" and self.recipe.maximizes_probability
            length = len(getattr(self, name)) if self.core is None else self.core.lengths[core_name]
            if (length or is_required) and length != size:
                raise BadModel(
                    f"the numbers of {name} and of tokens differ", AGAIN, "damaged-model"
                )
        check_added(self.added)
        for text in (*(self.origin or ()), *self.extra_files, *self.extra_files.values()):
            try:
                text.encode()
            except UnicodeEncodeError:
                message = f"a text that came with the model is not UTF-8: {text[:40]!r}"
                raise BadModel(
                    message, "remove lone surrogates, which are not characters", "damaged-model"
                ) from None
        for token in self.added:
            id_ = token.id
            if id_ >= size or (token.special and self.token(id_) != token.text.encode()):
                raise BadModel(
                    f"the added token {token.text!r} is not in the vocabulary",
                    AGAIN,
                    "damaged-model",
                )
        if (self.events is not None) != bool(self.recipe.removal):
            model_name = f"{self.recipe.algorithm} segmented by {self.recipe.segmentation}"
            raise BadModel(
                f"{model_name} needs the events that removed tokens"
                if self.events is None
                else f"{model_name} removes no tokens, and this model has events that do",
                AGAIN,
                "damaged-model",
            )
        if self.events is not None:
            self.events.check(self.tokens)
        if missing := set(self.recipe.special_tokens) - self.special_ids.keys():
            raise BadModel(
                f"the special token {min(missing)!r} is not in the vocabulary",
                AGAIN,
                "damaged-model",
            )

    @cached_property
    def added(self) -> tuple[AddedToken, ...]:
        """Return the added tokens, including special tokens, in id order."""
        if self.added_tokens is None:
            texts = self.recipe.special_tokens
            return tuple(AddedToken(text, id_) for id_, text in enumerate(texts))
        return self.added_tokens

    @cached_property
    def special_ids(self) -> dict[str, int]:
        """Return the ids of the special tokens by their text, in id order."""
        return {token.text: token.id for token in self.added if token.special}

    @cached_property
    def special_id_set(self) -> frozenset[int]:
        """Return the ids of the special tokens as a set, for membership tests."""
        return frozenset(self.special_ids.values())

    @cached_property
    def merged_ids(self) -> frozenset[int]:
        """Return the ids of the tokens that merges inside a pre-token make, also removed ones."""
        merges = self.merges if self.events is None else self.events.merges
        return frozenset(merge.token for merge in merges)

    @cached_property
    def superword_ids(self) -> frozenset[int]:
        """Return the ids of the tokens that supermerges make."""
        return frozenset(merge.token for merge in self.supermerges)

    @cached_property
    def reserved_ids(self) -> frozenset[int]:
        """Return the ids that the model never produces from ordinary text.

        They are the ids of added tokens, and of byte tokens in SentencePiece models. (Hugging
        Face's Unigram finds the text `<0x41>` as a token.)
        """
        ids = {token.id for token in self.added if not token.ordinary}
        if self.recipe.byte_fallback and self.recipe.precision == "single":
            if self.core is not None:
                ids.update(self.core.byte_tokens())
            else:
                ids |= {id_ for id_, token in enumerate(self.tokens) if token in BYTE_TOKENS}
        if self.recipe.is_byte_level:
            ids -= self._only_byte_tokens(ids)
        return frozenset(ids)

    def _only_byte_tokens(self, ids: set[int]) -> set[int]:
        """Return the ids, of those given, whose token is the only one for a single byte.

        Some models use `!` for padding. Without the id, a text with this byte could not be encoded.
        """
        single_bytes = {id_ for id_ in ids if len(self.token(id_)) == 1}
        if not single_bytes:
            return single_bytes
        others = {
            token for id_, token in enumerate(self.tokens) if len(token) == 1 and id_ not in ids
        }
        return {id_ for id_ in single_bytes if self.tokens[id_] not in others}

    @cached_property
    def user_defined(self) -> frozenset[int]:
        """Return the ids of a SentencePiece Unigram model's user-defined pieces.

        They are recognized by their score: log probabilities are never above 0. A user-defined
        piece of one byte scores 0 in any case, so it is not included.
        """
        if not self.recipe.maximizes_probability or self.recipe.precision != "single":
            return frozenset()
        positive = [id_ for id_, score in enumerate(self.scores) if score > 0]
        ids = (id_ for id_ in positive if self.scores[id_] == user_defined_score(self.token(id_)))
        return frozenset(ids) - self.reserved_ids

    @cached_property
    def spelled(self) -> list[str]:
        """Return the text of each token by id, as files spell it.

        Byte-level tokens are written in GPT-2's printable characters, except for `reserved_ids`,
        which are written unchanged.
        """
        if not self.recipe.is_byte_level:
            return [token.decode() for token in self.tokens]
        spelled = byte_level.spell_all(self.tokens)
        for id_ in self.reserved_ids:
            spelled[id_] = self.tokens[id_].decode()
        return spelled

    @cached_property
    def is_ambiguous(self) -> bool:
        """Return whether spellings can't identify the tokens or the merges.

        This is so if two tokens are spelled alike, or if a merge's token is not spelled as its two
        sides together.
        """
        if len(set(self.spelled)) != len(self.spelled):
            return True
        if self.recipe.is_byte_level:
            ids = list(self.reserved_ids)
            as_characters = byte_level.spell_all([self.tokens[id_] for id_ in ids])
            differing = {
                id_
                for id_, text in zip(ids, as_characters, strict=True)
                if text != self.spelled[id_]
            }
            if differing and any(differing & {*merge[:3]} for merge in self.merges):
                return True
        tokens = tails = self.tokens
        if self.recipe.marker.is_continuation:
            prefix = self.recipe.marker.text.encode()
            tails = [token.removeprefix(prefix) for token in tokens]
        return any(
            tokens[left] + tails[right] != tokens[merged] for left, right, merged, *_ in self.merges
        )


def merges_of(core: StoredModel) -> list[Merge]:
    """Return the merges that the native core holds."""
    columns = core.merge_columns()
    return list(map(partial(tuple.__new__, Merge), zip(*columns, strict=True)))


#: Constructors of the lists that a model in the native core creates on first use.
_CORE_LISTS: dict[str, Callable[[StoredModel], list[Any]]] = {
    "tokens": lambda core: core.tokens(),
    "merges": merges_of,
    "scores": lambda core: core.scores(),
    "counts": lambda core: core.token_counts(),
}


def user_defined_score(token: bytes) -> float:
    """Return the score that SentencePiece's best path adds for a user-defined Unigram piece.

    The score is 0.1 for each byte after the first, whatever the model file says. (SentencePiece's
    n-best search adds 0.1 for each character after the first.)
    """
    return 0.1 * (len(token) - 1)
