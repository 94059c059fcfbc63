"""A recipe and what training found for it: all that a model file holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from tokctl.errors import AGAIN, TokctlError
from tokctl.model import byte_level
from tokctl.model.byte_level import BYTE_TOKENS
from tokctl.model.events import Events, Merge
from tokctl.model.parts import AddedToken, check_added
from tokctl.model.recipe import Recipe, has_type, strings
from tokctl.values import cached_property, no_garbage

if TYPE_CHECKING:
    from tokctl._native import StoredModel


class Origin(NamedTuple):
    """Where a model came from that tokctl has not trained.

    format: the name of its format in `tokctl.formats`.
    name: what the file, or the library that knows it, calls it (`cl100k_base`, the
        `general.name` of a GGUF file); empty if nothing does.
    """

    format: str
    name: str = ""


class Round(NamedTuple):
    """One round of a Unigram training: expectation and maximization, then pruning.

    pieces: in the vocabulary after the maximization, before the pruning.
    objective: mean negative log-likelihood of a pre-token, in nats.
    tokens: expected tokens of the whole corpus.
    unused: pieces that the maximization took away, being expected less than half a time.
    dropped: pieces that the pruning took away.
    examples: some of these with their loss, the highest first; the last round cuts by
        score, and has none.
    """

    pieces: int
    objective: float
    tokens: int
    unused: int
    dropped: int
    examples: tuple[tuple[str, float | None], ...] = ()


@dataclass(frozen=True)
class ParityRecord:
    """What a parity-aware training did: which language chose each merge, and what came of it.

    Attributes:
        languages: their names, in the order given.
        variant: `base` or `window`.
        measure: what the tokens of a text are divided by: `tokens` (nothing), `bytes` or
            `characters`.
        dev: SHA-256 of the development texts, as `TrainingRecord.sha256`; empty if the training
            texts were measured.
        global_merges: so many merges, the first ones, were chosen by all languages together.
        chosen: of each later merge, the place of its language in `languages`.
        before, after: of each language, the tokens of the text that was measured before the first
            merge and after the last.
        lengths: of each language, what the measure divides these by.
        window, limit: the size of the window, and how many times its equal share of the window a
            language could have, as a fraction; None and empty for `base`.
        targets: of each language, the compression that was wanted in proportion to the others, as a
            fraction; empty: all alike.
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
        """The language that chose the merge of a rank (the first is 0): empty if all of them
        chose it together; None if it is none of this training's."""
        place = rank - self.global_merges
        if place < 0:
            return ""
        return self.languages[self.chosen[place]] if place < len(self.chosen) else None

    def merges_of(self) -> dict[str, int]:
        """How many merges each language chose."""
        times = Counter(self.chosen)
        return {name: times[place] for place, name in enumerate(self.languages)}

    def of(self, ranks: Sequence[int]) -> ParityRecord:
        """The record of the merges of these ranks alone; they ascend."""
        places = (rank - self.global_merges for rank in ranks)
        return replace(
            self,
            global_merges=sum(rank < self.global_merges for rank in ranks),
            chosen=tuple(self.chosen[place] for place in places if 0 <= place < len(self.chosen)),
        )

    def to_dict(self) -> dict[str, Any]:
        """As JSON would hold it, without the options that were not used."""
        data = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        unused = {entry.name: entry.default for entry in fields(self)}
        return {name: value for name, value in data.items() if value != unused[name]}

    @classmethod
    def from_dict(cls, data: dict[str, Any], merges: int) -> ParityRecord:
        """The record as `to_dict` wrote it, of a model with so many merges; TypeError or ValueError
        if a field is wrong."""
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
            inside = value if isinstance(value, tuple) else (value,)
            numbers = [one for one in inside if one is not None and "int" in kind]
            texts = [one for one in inside if "str" in kind]
            if set(map(type, numbers)) - {int} or set(map(type, texts)) - {str}:
                raise TypeError(entry.name)
            if numbers and (min(numbers) < 0 or max(numbers) >= 2**64):
                raise ValueError(f"one of the numbers of {entry.name} is no count")
        count = len(record.languages)
        per_language = {len(one) for one in (record.before, record.after, record.lengths)}
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
    """What a training read and did; all of it depends on input and options alone.

    Attributes:
        documents, bytes, sha256: what was read. For one document `sha256` is that of its
            bytes; for several it is that of their digests, one hex line each.
        pre_tokens, distinct_pre_tokens: after `min_count`.
        alphabet_size: initial symbols that have an id.
        vocab_size: as asked for; the vocabulary is smaller when `exhausted`.
        whole_characters, initial_tokens: see `tokctl.training.Options`.
        initial_merges: the first merges, up to the last one that makes an initial token: counts
            did not choose them alone.
        coverage, alphabet_limit, initial_alphabet: what limited the alphabet.
        sample, seed: the share of the lines that was read, and what chose them.
        weights: of the documents, in their order, as fractions; empty: all alike.
        count_scale: every count is that many times the weighted one, to be a whole number.
        threshold: of removals, as it was given; None if none is by a threshold.
        extended: ids of the model that this training went on from, as far as they are still there;
            0: it started anew.
        pruned_from: ids before the last pruning; None: nothing was pruned.
        stage_ends: ids at the end of each stage but the last.
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
        """As JSON would hold it, without the options that were not used."""
        data = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        unused = {entry.name: entry.default for entry in fields(self)}
        data = {name: value for name, value in data.items() if value != unused[name]}
        return {k: list(v) if isinstance(v, tuple) else v for k, v in data.items()}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> TrainingRecord:
        """The record as `to_dict` wrote it; TypeError if a field is wrong."""
        lists = {"weights", "initial_tokens"} & data.keys()
        record = cls(**data | {name: strings(data[name]) for name in lists})
        if data.get("stage_ends"):
            record = replace(record, stage_ends=_sizes(data["stage_ends"]))
        for entry in fields(cls):
            value = getattr(record, entry.name)
            is_count = type(value) is int
            if not has_type(entry, value) or (is_count and not 0 <= value < 2**64):
                raise TypeError(entry.name)
        return record


def _sizes(values: Any) -> tuple[int, ...]:
    """The ascending sizes of a list; TypeError if it is none."""
    if not isinstance(values, list) or not all(type(value) is int for value in values):
        raise TypeError("stage_ends")
    if not all(0 <= value < 2**32 for value in values) or values != sorted(values):
        raise TypeError("stage_ends")
    return tuple(values)


@dataclass(frozen=True, repr=False)
class FilledRecipe:
    """A recipe with its vocabulary: all that a model file holds.

    Attributes:
        tokens: each token's bytes, markers included, by id.
        merges: in the order learned; empty if the history is unknown.
        training: None for a model that tokctl has not trained.
        scores: each token's natural log probability, by id (unigram); 0 where it has none.
        rounds: of a Unigram training.
        supermerges: merges of neighbouring pre-tokens that are one token each, in the order
            learned; training gives the superwords that they make the highest ids.
        counts: how often each token was counted in training, by id (word, char).
        added_tokens: those that are found before the model segments the text; by default
            the recipe's special tokens, with the lowest ids.
        origin: None for a model that tokctl has trained.
        companions: files of other libraries that came with the model and that tokctl has
            no use for (a chat template, say): their texts by name, kept as they are.
        events: where tokens were taken away: the merges are there, and none in `merges`.
        lengths: `truncation` and `padding` that came with the model, as Hugging Face's file has
            them: what encodings get there, and here where it is asked for.
        parity: which language chose each merge; None but for a parity-aware training.
    """

    recipe: Recipe
    tokens: list[bytes]
    merges: list[Merge] = field(default_factory=list)
    training: TrainingRecord | None = None
    scores: list[float] = field(default_factory=list)
    rounds: list[Round] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    added_tokens: tuple[AddedToken, ...] | None = None
    origin: Origin | None = None
    companions: dict[str, str] = field(default_factory=dict)
    lengths: dict[str, dict[str, Any]] = field(default_factory=dict)
    parity: ParityRecord | None = None
    events: Events | None = None
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
        origin: Origin | None = None,
        companions: dict[str, str] | None = None,
        lengths: dict[str, dict[str, Any]] | None = None,
        parity: ParityRecord | None = None,
        events: Events | None = None,
        supermerges: list[Merge] | None = None,
    ) -> FilledRecipe:
        """A model whose tokens, merges, scores and counts the core holds. The lists of them are
        made when they are asked for: encoding and decoding do without."""
        model = cls.__new__(cls)
        model.__dict__.update(
            recipe=recipe,
            training=training,
            rounds=list(rounds),
            added_tokens=added_tokens,
            origin=origin,
            companions=companions or {},
            lengths=lengths or {},
            parity=parity,
            events=events,
            supermerges=supermerges or [],
            core=core,
        )
        model.__post_init__()
        return model

    if TYPE_CHECKING:
        #: What holds tokens, merges, scores and counts; None where the lists alone do.
        core: ClassVar[StoredModel | None]
    else:
        core = None

        def __getattr__(self, name: str) -> Any:
            """A list that has not been asked for yet."""
            if name not in _LISTS or self.core is None:
                raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")
            with no_garbage():
                value = _LISTS[name](self.core)
            return self.__dict__.setdefault(name, value)

    def __repr__(self) -> str:
        return f"<FilledRecipe {self.recipe.name}, {self.size:,} tokens>"

    def __getstate__(self) -> dict[str, Any]:
        return {entry.name: getattr(self, entry.name) for entry in fields(self)}

    @property
    def size(self) -> int:
        """How many ids there are."""
        return len(self.tokens if self.core is None else self.core)

    def token(self, id_: int) -> bytes:
        """The bytes of one token."""
        return self.tokens[id_] if self.core is None else self.core.token(id_)

    @property
    def highest_merged(self) -> int:
        """The highest id that a merge takes or makes; 0 without merges."""
        if self.core is not None:
            return self.core.highest_merged() or 0
        return max(max(map(itemgetter(side), self.merges), default=0) for side in range(3))

    def __post_init__(self) -> None:
        size = self.size
        for name, given in (("scores", "scores"), ("counts", "token_counts")):
            needed = name == "scores" and self.recipe.traits.has_scores
            length = len(getattr(self, name)) if self.core is None else self.core.lengths[given]
            if (length or needed) and length != size:
                raise TokctlError(f"there is not one of the {name} for each token", AGAIN)
        check_added(self.added)
        for text in (*(self.origin or ()), *self.companions, *self.companions.values()):
            try:
                text.encode()
            except UnicodeEncodeError:
                message = f"what came with the model is not UTF-8: {text[:40]!r}"
                raise TokctlError(message, "a lone surrogate is not a character") from None
        for token in self.added:
            id_ = token.id
            if id_ >= size or (token.special and self.token(id_) != token.text.encode()):
                raise TokctlError(f"the added token {token.text!r} is not in the vocabulary", AGAIN)
        if (self.events is not None) != bool(self.recipe.removal):
            named = f"{self.recipe.algorithm} segmented by {self.recipe.segmentation}"
            raise TokctlError(
                f"{named} needs the events that removed tokens"
                if self.events is None
                else f"{named} removes no tokens, and this model has events that do",
                AGAIN,
            )
        if self.events is not None:
            self.events.check(self.tokens)
        if missing := set(self.recipe.special_tokens) - self.special_ids.keys():
            raise TokctlError(f"the special token {min(missing)!r} is not in the vocabulary", AGAIN)

    @cached_property
    def added(self) -> tuple[AddedToken, ...]:
        """The added tokens, special ones among them, in id order."""
        if self.added_tokens is None:
            texts = self.recipe.special_tokens
            return tuple(AddedToken(text, id_) for id_, text in enumerate(texts))
        return self.added_tokens

    @cached_property
    def special_ids(self) -> dict[str, int]:
        """Special tokens with their ids, in id order."""
        return {token.text: token.id for token in self.added if token.special}

    @cached_property
    def special_id_set(self) -> frozenset[int]:
        """The ids of the special tokens, to be asked for one by one."""
        return frozenset(self.special_ids.values())

    @cached_property
    def superword_ids(self) -> frozenset[int]:
        """The ids of the tokens that supermerges make."""
        return frozenset(merge.token for merge in self.supermerges)

    @cached_property
    def reserved_ids(self) -> frozenset[int]:
        """The ids that the model never makes of ordinary text: added tokens, and bytes as
        SentencePiece has them (Hugging Face's Unigram finds `<0x41>` in text)."""
        found = {token.id for token in self.added if not token.ordinary}
        if self.recipe.byte_fallback and self.recipe.precision == "single":
            if self.core is not None:
                found.update(self.core.byte_tokens())
            else:
                found |= {id_ for id_, token in enumerate(self.tokens) if token in BYTE_TOKENS}
        if self.recipe.is_byte_level:
            found -= self._bytes_alone(found)
        return frozenset(found)

    def _bytes_alone(self, ids: set[int]) -> set[int]:
        """Those of the ids that are a byte's only token: some models have `!` for padding.
        Without it a text with that byte would have no ids."""
        short = {id_ for id_ in ids if len(self.token(id_)) == 1}
        if not short:
            return short
        others = {t for id_, t in enumerate(self.tokens) if len(t) == 1 and id_ not in ids}
        return {id_ for id_ in short if self.tokens[id_] not in others}

    @cached_property
    def user_defined(self) -> frozenset[int]:
        """The ids of a SentencePiece Unigram model's user-defined pieces, as far as their score
        shows them: log probabilities are never above 0. (Those of one byte score 0 in
        any case.)"""
        if not self.recipe.traits.has_scores or self.recipe.precision != "single":
            return frozenset()
        high = [id_ for id_, score in enumerate(self.scores) if score > 0]
        found = (id_ for id_ in high if self.scores[id_] == user_defined_score(self.token(id_)))
        return frozenset(found) - self.reserved_ids

    @cached_property
    def spelled(self) -> list[str]:
        """Every token by id, as files spell it: byte-level ones in GPT-2's stand-ins, those
        with `reserved_ids` as they are."""
        if not self.recipe.is_byte_level:
            return [token.decode() for token in self.tokens]
        spelled = byte_level.spell_all(self.tokens)
        for id_ in self.reserved_ids:
            spelled[id_] = self.tokens[id_].decode()
        return spelled

    @cached_property
    def is_ambiguous(self) -> bool:
        """Are tokens spelled alike, or a merge's token not as its two sides?"""
        if len(set(self.spelled)) != len(self.spelled):
            return True
        if self.recipe.is_byte_level:
            ids = list(self.reserved_ids)
            stand_ins = byte_level.spell_all([self.tokens[id_] for id_ in ids])
            odd = {
                id_ for id_, text in zip(ids, stand_ins, strict=True) if text != self.spelled[id_]
            }
            if odd and any(odd & {*merge[:3]} for merge in self.merges):
                return True
        tokens = tails = self.tokens
        if self.recipe.marker.is_continuation:
            mark = self.recipe.marker.text.encode()
            tails = [token.removeprefix(mark) for token in tokens]
        return any(
            tokens[left] + tails[right] != tokens[new] for left, right, new, *_ in self.merges
        )


def merges_of(core: StoredModel) -> list[Merge]:
    """The merges that the core holds."""
    columns = core.merge_columns()
    return list(map(partial(tuple.__new__, Merge), zip(*columns, strict=True)))


#: How the lists of a model are made that the core holds.
_LISTS: dict[str, Callable[[StoredModel], list[Any]]] = {
    "tokens": lambda core: core.tokens(),
    "merges": merges_of,
    "scores": lambda core: core.scores(),
    "counts": lambda core: core.token_counts(),
}


def user_defined_score(token: bytes) -> float:
    """What SentencePiece's best path adds up for a user-defined piece of a Unigram model,
    whatever its file says: 0.1 for each byte after the first. (Its n best add 0.1 for each
    character after the first.)"""
    return 0.1 * (len(token) - 1)
