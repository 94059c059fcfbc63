"""How text becomes tokens: plain data, from normalizer to decoder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import Field, dataclass, fields, replace
from typing import Any, AnyStr, NamedTuple

from tokctl.errors import AGAIN, CoreError, TokctlError
from tokctl.model.algorithms import ALGORITHMS, Algorithm
from tokctl.model.byte_level import BYTE_TOKENS
from tokctl.model.parts import (
    DECODERS,
    NORMALIZERS,
    POST_PROCESSORS,
    PRE_TOKENIZERS,
    Part,
    check_template,
    is_lossless,
    native_parts,
    text_of,
)
from tokctl.values import Brief, did_you_mean

#: What the fields of a recipe may say; `ALGORITHMS` has the algorithms.
UNITS = ("bytes", "characters")
MARKER_KINDS = ("none", "end", "end-fused", "start", "continuation")
SCORES = ("count", "likelihood")
TIE_BREAKS = ("first-seen", "rewritten-last", "lowest-id", "highest-text")
UNKNOWNS = ("word", "char", "drop")
ALPHABETS = ("seen", "characters", "bytes")
PRECISIONS = ("double", "single")

#: Which tokens were taken away, by the segmentation that does the same to a text.
_REMOVALS = {
    "events": "intermediate",
    "events-to-symbols": "to-symbols",
    "demolish": "scaffold",
    "remerge": "residue",
}


class Marker(NamedTuple):
    """How tokens show where a word starts, goes on or ends.

    kind: `none`; `end` and `start` (a symbol of its own behind or before the word);
        `end-fused` (glued to the last character); `continuation` (in front of every
        symbol but a word's first).
    text: what it looks like, `##` for instance; empty for `none`.
    """

    kind: str = "none"
    text: str = ""

    @property
    def is_continuation(self) -> bool:
        """Do tokens that go on with a word begin with it (`##ing`)?"""
        return self.kind == "continuation"

    @property
    def is_end_fused(self) -> bool:
        """Is it glued to a word's last symbol (`w</w>`)?"""
        return self.kind == "end-fused"

    @property
    def is_symbol(self) -> bool:
        """Is it a symbol of its own, before or after the word?"""
        return self.kind in ("start", "end")

    @property
    def starts_words(self) -> bool:
        """Does a word's first token begin with it (`Ġthe`)?"""
        return self.kind == "start"

    @property
    def ends_words(self) -> bool:
        """Does a word's last token end with it (`the</w>`)?"""
        return self.kind in ("end", "end-fused")

    def removed_from(self, token: bytes) -> bytes:
        """The token without the marker, where it carries one."""
        mark = self.text.encode()
        return token.removesuffix(mark) if self.ends_words else token.removeprefix(mark)

    def merged(self, left: AnyStr, right: AnyStr) -> AnyStr:
        """The token that merging two neighbours makes: the right one's prefix goes."""
        if not self.is_continuation:
            return left + right
        mark = self.text if isinstance(right, str) else self.text.encode()
        return left + right.removeprefix(mark)

    def on_symbol(self, text: str, *, first: bool, last: bool) -> str:
        """How a character is spelled as a symbol of a word; `first` and `last`: of its symbols."""
        if self.is_continuation and not first:
            return self.text + text
        return text + self.text if self.is_end_fused and last else text


@dataclass(frozen=True, repr=False)
class TrainingStage(Brief):
    """A part of a training of merges: until when it goes, and what its merges may join.

    SuperBPE (arXiv 2503.13423) learns words first and then tokens of several words: the first
    stage splits at words, and the second does not.

    Attributes:
        pre_tokenizers: split further what the recipe's pre-tokenizers have split, in this stage
            alone; none for the last stage.
        until: where the stage ends, as ids (`"18000"`) or as a share of the vocabulary (`"90%"`);
            empty for the last stage.
        max_words: the most words of a new token, parts between spaces that are not empty.
        forbidden: texts that no new token contains.
    """

    pre_tokenizers: tuple[Part, ...] = ()
    until: str = ""
    max_words: int | None = None
    forbidden: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        steps = PRE_TOKENIZERS.steps(self.pre_tokenizers)
        object.__setattr__(self, "pre_tokenizers", steps)
        object.__setattr__(self, "forbidden", tuple(self.forbidden))
        if self.until:
            self.size(1)
        if self.max_words is not None and not 0 < self.max_words < 2**53:
            raise TokctlError(
                f"a token can't have {self.max_words} words at most", "it is a number from 1 up"
            )
        if not all(self.forbidden):
            raise TokctlError(
                "a forbidden text can't be empty", "give a text: every token contains the empty one"
            )

    @property
    def is_share(self) -> bool:
        """Does it end at a share of the vocabulary?"""
        return self.until.endswith("%")

    def size(self, vocab_size: int) -> int:
        """The ids of the vocabulary when the stage ends: a share is rounded down."""
        number = self.until.removesuffix("%")
        whole, _, decimals = number.partition(".")
        digits = whole + decimals
        share = self.is_share
        if not (digits.isascii() and digits.isdecimal() and len(digits) < 16) or (
            decimals and not share
        ):
            raise TokctlError(
                f"a stage can't end at {self.until!r}",
                "it is a number of ids, or a share of the vocabulary: 18000 or 90%",
            )
        if not share:
            return min(int(whole), vocab_size)
        of = 100 * 10 ** len(decimals)
        if int(digits) > of:
            raise TokctlError(f"a stage can't end at {self.until}", "100% is all of the vocabulary")
        ids: int = vocab_size * int(digits) // of
        return ids

    def to_dict(self) -> dict[str, Any]:
        """The stage as JSON would hold it."""
        return {
            "pre_tokenizers": [part.to_dict() for part in self.pre_tokenizers],
            "until": self.until,
            "max_words": self.max_words,
            "forbidden": list(self.forbidden),
        }

    @classmethod
    def from_dict(cls, data: Any) -> TrainingStage:
        """The stage that `to_dict` described; TypeError or KeyError if a field is wrong."""
        parts, until = data["pre_tokenizers"], data["until"]
        if not isinstance(parts, list) or type(until) is not str:
            raise TypeError("stages")
        most = data["max_words"]
        if not (most is None or type(most) is int):
            raise TypeError("stages")
        split = tuple(map(PRE_TOKENIZERS.from_dict, parts))
        return cls(split, until, most, strings(data["forbidden"]))


@dataclass(frozen=True, repr=False)
class Recipe(Brief):
    """How text becomes tokens.

    The parts of the pipeline can be given as `Part`s or in their text form (`"nfkc"`,
    `["digits", "gpt2"]`, `"regex:\\\\w+"`).

    Attributes:
        name: the preset's name, or the algorithm's for a default recipe.
        algorithm: one of `ALGORITHMS`.
        normalizers: applied to the text in this order.
        pre_tokenizers: each splits what those before it have split; none: the whole text
            is one pre-token.
        units: what a symbol starts as, `bytes` or `characters`.
        marker: see `Marker`.
        alphabet: `seen` (initial symbols of the counted pre-tokens), `characters`
            (these, and every character in its bare form), `bytes` (all 256). A byte-level model
            that other libraries made may lack some bytes: its alphabet is `seen`.
        score: `count`, or `likelihood`: count(ab) / (count(a) * count(b)).
        tie_break: which of several best pairs is merged; see `docs/algorithms.md`.
        segmentation: `merges` by rank, `replay` of the merges in the order learned,
            `ranks` (any two neighbours that spell a token, the lowest id first),
            `longest-match`, `viterbi`, `lookup` of the whole pre-token, `symbols`. Where tokens
            were taken away: `events` (PickyBPE) or `events-to-symbols` (BoundlessBPE), merges and
            removals in order; `demolish` (Scaffold-BPE); or `remerge` of what residues fall into
            (LiteToken).
        unk_token: stands for what has no token; None if nothing needs it, or where
            an unknown character is to be an error.
        unknown: `word`, or `char` for the unknown character alone (longest match); `drop`
            where merges leave out what has no token and nothing stands for, without a trace, as
            Hugging Face's BPE does.
        max_input_chars: a longer word is unknown as a whole (longest match); None: no limit.
        byte_fallback: a character without a token becomes the tokens of its bytes, `<0x0A>`.
        fuse_unknown: unknown characters side by side are one unknown token.
        whole_words: a pre-token that is a token stays whole, whatever the merges say.
        precision: of the sums of log probabilities: `double`, or `single` as SentencePiece.
        post_processors: what is put around the tokens, where the caller asks for it.
        decoders: how tokens become text again; none: the marker says it.
        special_tokens: these have the lowest ids, in this order, `unk_token` among them.
        stages: of the training of merges, in their order; none: one stage, which may merge
            whatever the pre-tokenizers leave together.
    """

    name: str
    algorithm: str
    normalizers: tuple[Part, ...] = ()
    pre_tokenizers: tuple[Part, ...] = ()
    units: str = "characters"
    marker: Marker = Marker()  # noqa: RUF009 (a tuple can't change)
    alphabet: str = "seen"
    score: str = "count"
    tie_break: str = "first-seen"
    segmentation: str = "merges"
    unk_token: str | None = None
    unknown: str = "word"
    max_input_chars: int | None = None
    byte_fallback: bool = False
    fuse_unknown: bool = False
    whole_words: bool = False
    precision: str = "double"
    post_processors: tuple[Part, ...] = ()
    decoders: tuple[Part, ...] = ()
    special_tokens: tuple[str, ...] = ()
    stages: tuple[TrainingStage, ...] = ()

    def __post_init__(self) -> None:
        for name, family in _FAMILIES.items():
            object.__setattr__(self, name, family.steps(getattr(self, name)))
        object.__setattr__(self, "marker", Marker(*self.marker))
        object.__setattr__(self, "special_tokens", tuple(self.special_tokens))
        stages = (
            one if isinstance(one, TrainingStage) else TrainingStage(**one) for one in self.stages
        )
        object.__setattr__(self, "stages", tuple(stages))
        check(self)

    @property
    def traits(self) -> Algorithm:
        """What holds of every recipe of this algorithm."""
        return ALGORITHMS[self.algorithm]

    @property
    def is_byte_level(self) -> bool:
        """Are symbols, and so the alphabet, bytes? If not, they are characters."""
        return self.units == "bytes"

    @property
    def has_every_byte(self) -> bool:
        """Has each of the 256 bytes a token, so that nothing is ever unknown?"""
        return self.alphabet == "bytes"

    @property
    def drops_unknown(self) -> bool:
        """Is what has no token left out without a trace?"""
        return self.unknown == "drop"

    @property
    def has_bare_characters(self) -> bool:
        """Has every character of the training text an id in its bare form, too?"""
        return self.alphabet == "characters"

    @property
    def merges_by_likelihood(self) -> bool:
        """Is the pair of the highest `count(ab) / (count(a) * count(b))` merged, not that of the
        highest count?"""
        return self.score == "likelihood"

    @property
    def matches_longest(self) -> bool:
        """Is the longest token taken that matches, from left to right?"""
        return self.segmentation == "longest-match"

    @property
    def looks_up_pre_tokens(self) -> bool:
        """Is every pre-token one token: a word, or a grapheme split off before?"""
        return self.segmentation == "lookup"

    @property
    def emits_symbols(self) -> bool:
        """Is every character a token, with nothing merged?"""
        return self.segmentation == "symbols"

    @property
    def replays_merges(self) -> bool:
        """Are the merges made one after the other, in the order learned?"""
        return self.segmentation == "replay"

    @property
    def has_ranks(self) -> bool:
        """Do any two neighbours merge that spell a token, by its rank? Then there is no list of
        merges, as in tiktoken's files."""
        return self.segmentation == "ranks"

    @property
    def segments_by_merging(self) -> bool:
        """Is a pre-token merged from its symbols, however merges are chosen?"""
        return self.segmentation in ("merges", "replay", "ranks")

    @property
    def lists_merges(self) -> bool:
        """Is the merge of the lowest rank made first, of a list of merges?"""
        return self.segmentation == "merges"

    @property
    def rounds_to_single(self) -> bool:
        """Are sums of log probabilities rounded to 32 bits, as SentencePiece's?"""
        return self.precision == "single"

    @property
    def removal(self) -> str:
        """Which tokens were taken away: by training, `intermediate` (PickyBPE), `to-symbols` (the
        same in BoundlessBPE: what is left of a token falls into symbols) or `scaffold`
        (Scaffold-BPE); afterwards, `residue` (LiteToken). Empty if none were; else the model
        has `Events`, and no merges that others could make."""
        return _REMOVALS.get(self.segmentation, "")

    @property
    def has_threshold(self) -> bool:
        """Is a token removed where a share of its occurrences has become another one?"""
        return self.removal in ("intermediate", "to-symbols")

    def with_threshold(self) -> Recipe:
        """The recipe whose training removes tokens by a threshold; the same where it does, or where
        the algorithm knows none."""
        if self.has_threshold or "threshold" not in self.traits.options:
            return self
        return replace(self, name="custom", segmentation="events-to-symbols")

    def is_byte_token(self, token: bytes) -> bool:
        """Does byte fallback make the token?"""
        return self.byte_fallback and token in BYTE_TOKENS

    def is_initial_symbol(self, token: bytes) -> bool:
        """Can segmentation start from the token: a byte, a character (one that carries a fused
        marker, too), a marker that is a symbol of its own, or what byte fallback makes?

        `start` and `end` markers are symbols of their own, so a token of one and a character
        is merged from two; `end-fused` and `continuation` are part of a symbol. Training on
        from a model (`native/core`: `train/extend.rs`) tells them apart in the same way.
        """
        if self.is_byte_level:
            return len(token) == 1
        if self.is_byte_token(token):
            return True
        if self.marker.is_symbol:
            return token == self.marker.text.encode() or len(token.decode()) == 1
        return len((self.marker.removed_from(token) or token).decode()) == 1

    def with_transition(self, *ends: str) -> Recipe:
        """This recipe with other ends of its stages but the last: ids or shares."""
        if len(ends) != max(0, len(self.stages) - 1):
            raise TokctlError(
                f"the recipe {self.name} has {len(self.stages)} stages, and {len(ends)} ends are "
                "given",
                "there is one end for each stage but the last",
            )
        stages = (replace(stage, until=end) for stage, end in zip(self.stages, ends, strict=False))
        return replace(self, stages=(*stages, *self.stages[-1:]))

    @property
    def splitting(self) -> str:
        """The pre-tokenizers in their text form, `none` for no splitting."""
        return text_of(self.pre_tokenizers)

    @property
    def uses_regex(self) -> bool:
        """Is a part searched for by a regular expression, so that documents are read whole?"""
        parts = (*self.normalizers, *self.pre_tokenizers)
        return any(dict(part.options).get("regex", False) for part in parts)

    def with_special_tokens(self, tokens: Sequence[str]) -> Recipe:
        """This recipe with more special tokens, after those it has."""
        added = [token for token in dict.fromkeys(tokens) if token not in self.special_tokens]
        return replace(self, special_tokens=(*self.special_tokens, *added))

    def to_dict(self) -> dict[str, Any]:
        """The recipe as JSON would hold it."""
        data = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        for name in _FAMILIES:
            data[name] = [part.to_dict() for part in data[name]]
        data["marker"] = {"kind": self.marker.kind, "text": self.marker.text}
        data["special_tokens"] = list(self.special_tokens)
        data["stages"] = [stage.to_dict() for stage in self.stages]
        if not self.stages:
            del data["stages"]
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Recipe:
        """The recipe that `to_dict` described; TokctlError if a field is not as it should be."""
        known = {entry.name: entry for entry in fields(cls)}
        values = _of_format_1(data) if "pre_tokenizer" in data else dict(data)
        if unknown := set(values) - set(known):
            raise TokctlError(
                f"the recipe has a field {min(unknown)!r} that this tokctl lacks",
                "use the tokctl that wrote the recipe, or a newer one",
            )
        try:
            marker = Marker(values["marker"]["kind"], values["marker"]["text"])
            if not all(isinstance(part, str) for part in marker):
                raise TypeError("marker")
            values["marker"] = marker
            values["special_tokens"] = strings(values["special_tokens"])
            if "stages" in values:
                values["stages"] = tuple(map(TrainingStage.from_dict, values["stages"]))
            for name, family in _FAMILIES.items():
                if not isinstance(values.setdefault(name, []), list):
                    raise TypeError(name)
                values[name] = tuple(map(family.from_dict, values[name]))
            for name in values.keys() - _FAMILIES.keys() - {"marker", "special_tokens", "stages"}:
                if not has_type(known[name], values[name]) or (name, values[name]) == _NO_UNKNOWN:
                    raise TypeError(name)
            return cls(**values)
        except (KeyError, TypeError) as error:
            raise TokctlError(f"the recipe's field {error} is missing or wrong", AGAIN) from None


_FAMILIES = {
    "normalizers": NORMALIZERS,
    "pre_tokenizers": PRE_TOKENIZERS,
    "post_processors": POST_PROCESSORS,
    "decoders": DECODERS,
}


def strings(values: Any) -> tuple[str, ...]:
    """The texts of a list; TypeError if it is none."""
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise TypeError("list of texts")
    return tuple(values)


#: An unknown token has a text.
_NO_UNKNOWN = ("unk_token", "")
#: The types of the values that a field can have, by its annotation.
_TYPES = {
    "bool": (bool,),
    "int": (int,),
    "str": (str,),
    "int | None": (int, type(None)),
    "float | None": (float, type(None)),
    "str | None": (str, type(None)),
    "tuple[str, ...]": (tuple,),
    "tuple[int, ...]": (tuple,),
}


def has_type(field: Field[Any], value: Any) -> bool:
    """Is the value of the type that the field of a dataclass is annotated with?"""
    return type(value) in _TYPES[str(field.type)]


def _of_format_1(data: dict[str, Any]) -> dict[str, Any]:
    """The fields of a recipe that names one pre-tokenizer and its normalizers."""
    values = dict(data)
    splitting = values.pop("pre_tokenizer")
    if not isinstance(splitting, str):
        raise TokctlError("the recipe's field 'pre_tokenizer' is missing or wrong", AGAIN)
    values["normalizers"] = [{"kind": kind} for kind in strings(data["normalizers"])]
    values["pre_tokenizers"] = [part.to_dict() for part in PRE_TOKENIZERS.steps(splitting)]
    return values


def check(recipe: Recipe) -> None:
    """TokctlError, with a hint, where two fields do not fit or one says what is not known."""
    for name, value, allowed in (
        ("algorithm", recipe.algorithm, tuple(ALGORITHMS)),
        ("units", recipe.units, UNITS),
        ("marker", recipe.marker.kind, MARKER_KINDS),
        ("alphabet", recipe.alphabet, ALPHABETS),
        ("score", recipe.score, SCORES),
        ("tie break", recipe.tie_break, TIE_BREAKS),
        ("unknown", recipe.unknown, UNKNOWNS),
        ("precision", recipe.precision, PRECISIONS),
    ):
        if value not in allowed:
            raise TokctlError(
                f"no {name} is called {value!r}",
                f"{did_you_mean(value, allowed)}choose one of: {', '.join(allowed)}",
            )
    _check_patterns((*recipe.normalizers, *recipe.pre_tokenizers, *recipe.decoders))
    _check_rules(recipe.normalizers)
    if recipe.tie_break == "highest-text" and recipe.merges_by_likelihood:
        raise TokctlError(
            "the tie break highest-text is for scores by count, and this is likelihood",
            "take another tie break, or the score count (--score count)",
        )
    if recipe.tie_break == "highest-text" and (recipe.removal or recipe.traits.learns_superwords):
        raise TokctlError(
            f"{recipe.algorithm} can't be trained with the tie break highest-text",
            "take another tie break: --tie-break lowest-id",
        )
    _check_segmentation(recipe)
    _check_superwords(recipe)
    _check_unknown(recipe)
    _check_pre_tokenizers(recipe)
    _check_marker(recipe)
    _check_special_tokens(recipe)
    _check_stages(recipe)
    _check_around(recipe)
    if recipe.max_input_chars is not None and not 0 <= recipe.max_input_chars < 2**53:
        raise TokctlError(
            f"max_input_chars can't be {recipe.max_input_chars}",
            "it is a number from 0 up, or None for no limit",
        )


def _check_patterns(parts: tuple[Part, ...]) -> None:
    patterns = [part["pattern"] for part in parts if dict(part.options).get("regex", False)]
    if patterns:
        # Imported late: few recipes have a pattern, and every start would pay for the library.
        from tokctl.model.patterns import compile_pattern

        for pattern in patterns:
            compile_pattern(pattern)


def _check_rules(normalizers: tuple[Part, ...]) -> None:
    for part in normalizers:
        if part.kind == "precompiled":
            # Imported late: few recipes hold rules, and not every command needs the core.
            from tokctl import _native

            try:
                _native.normalize(native_parts([part]), b"")
            except CoreError as error:
                raise TokctlError(
                    f"the precompiled rules are damaged: {error.message}",
                    "take them from a model file as they are",
                ) from None


def _check_segmentation(recipe: Recipe) -> None:
    allowed = recipe.traits.segmentations
    if recipe.segmentation not in allowed:
        every = {name for one in ALGORITHMS.values() for name in one.segmentations}
        if recipe.segmentation not in every:
            message = f"no segmentation is called {recipe.segmentation!r}"
        else:
            message = f"{recipe.algorithm} can't be segmented by {recipe.segmentation}"
        raise TokctlError(message, f"choose one of: {', '.join(allowed)}")
    if recipe.byte_fallback and (recipe.is_byte_level or not recipe.traits.can_fall_back):
        raise TokctlError(
            "only models of characters can fall back to bytes, and WordPiece can't",
            "leave byte fallback out, or take another algorithm",
        )
    if recipe.is_byte_level and not recipe.traits.reads_bytes:
        raise TokctlError(
            f"{recipe.algorithm} reads characters, not bytes",
            "leave --bytes out; byte fallback gives unigram the bytes of unknown characters",
        )


def _check_superwords(recipe: Recipe) -> None:
    if not recipe.traits.learns_superwords:
        return
    if not recipe.is_byte_level or recipe.whole_words or recipe.merges_by_likelihood:
        raise TokctlError(
            f"{recipe.algorithm} merges bytes by count, and nothing comes before its merges",
            "leave --chars and --score out, or take --algo bpe",
        )


def _check_unknown(recipe: Recipe) -> None:
    merges = recipe.segments_by_merging or recipe.removal == "residue"
    if recipe.drops_unknown and not (merges or recipe.emits_symbols):
        raise TokctlError(
            f"{recipe.algorithm} segmented by {recipe.segmentation} can't drop what has no token",
            "merges can: --algo bpe --chars, or --algo wordpiece --segment merges",
        )
    if recipe.drops_unknown and (recipe.unk_token is not None or recipe.has_every_byte):
        raise TokctlError(
            "nothing is dropped if every byte has a token, or if there is an unknown token",
            "leave the unknown token out (--unk-token ''), or --unknown drop",
        )


def _check_pre_tokenizers(recipe: Recipe) -> None:
    for part in recipe.pre_tokenizers:
        if recipe.is_byte_level and not is_lossless(part) and part.kind != "prefix-space":
            raise TokctlError(
                f"the pre-tokenizer {str(part)!r} does not keep the text as it is, so a "
                "byte-level model could not give the text back",
                "use gpt2, cl100k, none or regex:PATTERN, or train on characters (--chars)",
            )


def _check_marker(recipe: Recipe) -> None:
    kind, text = recipe.marker
    # Continuations that look as starts of words do are found by the longest match alone.
    bare = kind == "continuation" and recipe.matches_longest
    if (kind == "none") != (text == "") and not bare:
        raise TokctlError(
            "a word marker needs a kind and a text, or neither",
            "for instance Marker('end-fused', '</w>'), or Marker()",
        )
    if recipe.is_byte_level and text:
        raise TokctlError(
            "a byte-level model has no word marker: its tokens hold the spaces themselves",
            "leave the marker out, or train on characters (--chars)",
        )
    if recipe.traits.marks_continuations != recipe.marker.is_continuation:
        raise TokctlError(
            "WordPiece needs a continuation marker, and only WordPiece has one",
            "give wordpiece Marker('continuation', '##'), and others another kind or none",
        )
    if kind not in recipe.traits.marker_kinds:
        raise TokctlError(
            f"{recipe.algorithm} has no word marker",
            "leave it out: markers are for bpe and wordpiece",
        )
    fitting = ("bytes", "seen") if recipe.is_byte_level else ("seen", "characters")
    if recipe.alphabet not in fitting:
        raise TokctlError(
            "a byte-level model has an alphabet of bytes, and no other has one",
            "set both units and alphabet to bytes, or neither",
        )


def _check_special_tokens(recipe: Recipe) -> None:
    if len(set(recipe.special_tokens)) != len(recipe.special_tokens):
        raise TokctlError("a special token is given twice", "give each once")
    if "" in recipe.special_tokens:
        raise TokctlError("a special token can't be empty", "give it a text, such as <pad>")
    for token in recipe.special_tokens:
        try:
            token.encode()
        except UnicodeEncodeError:
            raise TokctlError(
                f"the special token {token!r} is not UTF-8", "a lone surrogate is not a character"
            ) from None
    if recipe.unk_token is not None and recipe.unk_token not in recipe.special_tokens:
        raise TokctlError(
            f"the unknown token {recipe.unk_token!r} is no special token",
            "put it among the special tokens",
        )


def _check_stages(recipe: Recipe) -> None:
    if recipe.stages and not (recipe.traits.is_plain_bpe and recipe.marker.kind == "none"):
        raise TokctlError(
            "only BPE without a word marker is trained in stages",
            "leave the stages out, or take --algo superbpe",
        )
    *earlier, last = recipe.stages or (TrainingStage(),)
    if last.until or last.pre_tokenizers or not all(stage.until for stage in earlier):
        raise TokctlError(
            "each stage but the last needs an end, and the last one splits as the recipe does",
            "an end is a number of ids, or a share of the vocabulary: 90%",
        )
    _check_patterns(tuple(part for stage in recipe.stages for part in stage.pre_tokenizers))
    for stage in recipe.stages:
        for part in stage.pre_tokenizers:
            if not is_lossless(part):
                raise TokctlError(
                    f"the pre-tokenizer {str(part)!r} does not keep the text as it is, so a stage "
                    "can't split by it",
                    "use gpt2, cl100k, none or regex:PATTERN",
                )


def _check_around(recipe: Recipe) -> None:
    """TokctlError unless post-processors and decoders fit the model."""
    for part in recipe.post_processors:
        if part.kind == "template":
            check_template(part["single"], part["pair"], recipe.special_tokens)
    needs = {
        "wordpiece": (not recipe.is_byte_level, "a model of characters"),
        "metaspace": (not recipe.is_byte_level, "a model of characters"),
        "bpe-suffix": (not recipe.is_byte_level, "a model of characters"),
        "byte-fallback": (recipe.byte_fallback, "a model with byte fallback"),
    }
    for part in recipe.decoders:
        fits, needed = needs.get(part.kind, (True, ""))
        if not fits:
            raise TokctlError(
                f"the decoder {part} does not fit: it needs {needed}",
                "leave the decoder out, and the recipe decodes as it should",
            )
