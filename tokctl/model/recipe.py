"""The description of how text becomes tokens: plain data, from normalizer to decoder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import Field, dataclass, fields, replace
from typing import Any, AnyStr, NamedTuple

from tokctl.core.errors import AGAIN, BadModel, BadOption, CoreError
from tokctl.core.values import ShortRepr, did_you_mean
from tokctl.model.algorithms import ALGORITHMS, Algorithm
from tokctl.model.byte_level import BYTE_TOKENS, BYTES, unspell
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

#: Allowed values of the fields of a recipe; `ALGORITHMS` lists the algorithms.
UNITS = ("bytes", "characters")
MARKER_KINDS = ("none", "end", "end-fused", "start", "continuation")
SCORES = ("count", "likelihood")
TIE_BREAKS = ("first-seen", "rewritten-last", "lowest-id", "highest-text")
UNKNOWNS = ("word", "char", "drop")
ALPHABETS = ("seen", "characters", "bytes")
PRECISIONS = ("double", "single")

#: Kind of removed tokens, by the segmentation that applies the removals to a text.
_REMOVALS = {
    "events": "intermediate",
    "events-to-symbols": "to-symbols",
    "demolish": "scaffold",
    "remerge": "residue",
}


class Marker(NamedTuple):
    """The mark by which tokens show where a word starts, continues or ends.

    Attributes:
        kind: `none`; `start` or `end` (a symbol of its own before or after the word);
            `end-fused` (part of the word's last symbol); `continuation` (a prefix of every
            symbol of the word except the first).
        text: the marker's text, for instance `##`; empty for `none`.
    """

    kind: str = "none"
    text: str = ""

    @property
    def is_continuation(self) -> bool:
        """Return whether the marker is a prefix of the symbols inside a word (`##ing`)."""
        return self.kind == "continuation"

    @property
    def is_end_fused(self) -> bool:
        """Return whether the marker is part of a word's last symbol (`w</w>`)."""
        return self.kind == "end-fused"

    @property
    def is_symbol(self) -> bool:
        """Return whether the marker is a symbol of its own, before or after the word."""
        return self.kind in ("start", "end")

    @property
    def starts_words(self) -> bool:
        """Return whether a word's first token begins with the marker (`Ġthe`)."""
        return self.kind == "start"

    @property
    def ends_words(self) -> bool:
        """Return whether a word's last token ends with the marker (`the</w>`)."""
        return self.kind in ("end", "end-fused")

    def removed_from(self, token: bytes) -> bytes:
        """Return the token without its marker; a token without marker is unchanged."""
        marker = self.text.encode()
        return token.removesuffix(marker) if self.ends_words else token.removeprefix(marker)

    def merged(self, left: AnyStr, right: AnyStr) -> AnyStr:
        """Return the token of a merge; a continuation prefix of the right side is dropped."""
        if not self.is_continuation:
            return left + right
        marker = self.text if isinstance(right, str) else self.text.encode()
        return left + right.removeprefix(marker)

    def on_symbol(self, text: str, *, first: bool, last: bool) -> str:
        """Return the symbol of a character in a word.

        A `start` or `end` marker is a separate symbol, so only the other kinds change the text.

        Args:
            text: the character.
            first: whether the character is the word's first one.
            last: whether the character is the word's last one.
        """
        if self.is_continuation and not first:
            return self.text + text
        return text + self.text if self.is_end_fused and last else text


@dataclass(frozen=True, repr=False)
class TrainingStage(ShortRepr):
    """A stage of merge training, with its end and its limits on merges.

    SuperBPE (arXiv 2503.13423) learns words first and then tokens of several words: the first
    stage splits text into words, and the second does not.

    Attributes:
        pre_tokenizers: in this stage alone, split the recipe's pre-tokens further; none for the
            last stage.
        until: vocabulary size at the end of the stage, as a number of ids (`"18000"`) or a share
            of the full vocabulary (`"90%"`); empty for the last stage.
        max_words: most words in a new token; a word is a non-empty part between spaces.
        forbidden: texts that no new token may contain.
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
            raise BadOption(
                f"a token can't have {self.max_words} words at most",
                "give a whole number of at least 1",
                "bad-value",
            )
        if not all(self.forbidden):
            raise BadOption(
                "a forbidden text can't be empty",
                "give a text: every token contains the empty one",
                "bad-value",
            )

    @property
    def is_share(self) -> bool:
        """Return whether the stage ends at a share of the vocabulary, not at a number of ids."""
        return self.until.endswith("%")

    def size(self, vocab_size: int) -> int:
        """Return the number of ids at the end of the stage, at most `vocab_size`.

        A share is rounded down.

        Raises:
            TokctlError: `until` is neither a number of ids nor a share up to 100%.
        """
        number = self.until.removesuffix("%")
        integer_part, _, decimals = number.partition(".")
        digits = integer_part + decimals
        share = self.is_share
        if not (digits.isascii() and digits.isdecimal() and len(digits) < 16) or (
            decimals and not share
        ):
            raise BadOption(
                f"a stage can't end at {self.until!r}",
                "give a number of ids, or a share of the vocabulary: 18000 or 90%",
                "bad-value",
            )
        if not share:
            return min(int(integer_part), vocab_size)
        denominator = 100 * 10 ** len(decimals)
        if int(digits) > denominator:
            raise BadOption(
                f"a stage can't end at {self.until}",
                "give a share of at most 100%, which is the whole vocabulary",
                "bad-value",
            )
        ids: int = vocab_size * int(digits) // denominator
        return ids

    def to_dict(self) -> dict[str, Any]:
        """Return the stage as JSON data."""
        return {
            "pre_tokenizers": [part.to_dict() for part in self.pre_tokenizers],
            "until": self.until,
            "max_words": self.max_words,
            "forbidden": list(self.forbidden),
        }

    @classmethod
    def from_dict(cls, data: Any) -> TrainingStage:
        """Return the stage that `to_dict` wrote.

        Raises:
            TypeError: a field has the wrong type.
            KeyError: a field is missing.
            TokctlError: a value is invalid.
        """
        parts, until = data["pre_tokenizers"], data["until"]
        if not isinstance(parts, list) or type(until) is not str:
            raise TypeError("stages")
        max_words = data["max_words"]
        if not (max_words is None or type(max_words) is int):
            raise TypeError("stages")
        pre_tokenizers = tuple(map(PRE_TOKENIZERS.from_dict, parts))
        return cls(pre_tokenizers, until, max_words, strings(data["forbidden"]))


@dataclass(frozen=True, repr=False)
class Recipe(ShortRepr):
    r"""A description of how text becomes tokens, without the vocabulary.

    The parts of the pipeline can be `Part`s or text forms (`"nfkc"`, `["digits", "gpt2"]`,
    `"regex:\\w+"`). Invalid or conflicting fields raise `TokctlError`.

    Attributes:
        name: name of the preset, or of the algorithm for a default recipe.
        algorithm: one of `ALGORITHMS`.
        normalizers: applied to the text in this order.
        pre_tokenizers: applied in this order; each splits the pieces of the previous one. None:
            the whole text is one pre-token.
        units: initial symbols, `bytes` or `characters`.
        marker: mark of word starts, continuations or ends; see `Marker`.
        alphabet: `seen` (initial symbols of the counted pre-tokens), `characters` (also every
            character in its bare form), `bytes` (all 256). A byte-level model from another library
            may lack some bytes; its alphabet is `seen`.
        score: `count`, or `likelihood`: count(ab) / (count(a) * count(b)).
        tie_break: rule for choosing among equally good pairs; see `docs/algorithms.md`.
        segmentation: `merges` by rank; `replay` of the merges in the order learned; `ranks` (merge
            adjacent tokens that together spell a token, the lowest id first); `longest-match`;
            `viterbi`; `lookup` of the whole pre-token; `symbols`. For models with removed tokens:
            `events` (PickyBPE) or `events-to-symbols` (BoundlessBPE), which apply merges and
            removals in order; `demolish` (Scaffold-BPE); `remerge` (LiteToken), which merges the
            parts of residue tokens again.
        unk_token: token for text without a token; None if every text has tokens, or if an unknown
            character is to be an error.
        unknown: for longest match, what becomes the unknown token: the whole `word`, or only the
            unknown character (`char`). For merges, `drop` leaves out unknown characters without a
            trace, as Hugging Face's BPE does without an unknown token.
        max_input_chars: for longest match, most characters of a word; a longer word is unknown as
            a whole. None: no limit.
        byte_fallback: a character without a token becomes its bytes' tokens, such as `<0x0A>`.
        fuse_unknown: adjacent unknown characters become one unknown token.
        whole_words: a pre-token that is a token stays whole, whatever the merges say.
        precision: precision of log probability sums: `double`, or `single` as in SentencePiece.
        post_processors: add special tokens around the tokens when the caller asks for them.
        decoders: how tokens become text again; none: the marker decides.
        special_tokens: `unk_token` and other special tokens, in id order; their ids come first.
        stages: stages of merge training, in order. None: one stage, which may merge anything
            inside a pre-token.
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
            stage if isinstance(stage, TrainingStage) else TrainingStage(**stage)
            for stage in self.stages
        )
        object.__setattr__(self, "stages", tuple(stages))
        check(self)

    @property
    def traits(self) -> Algorithm:
        """Return the algorithm itself, of which `algorithm` is the name."""
        return ALGORITHMS[self.algorithm]

    @property
    def is_byte_level(self) -> bool:
        """Return whether initial symbols are bytes rather than characters."""
        return self.units == "bytes"

    @property
    def has_every_byte(self) -> bool:
        """Return whether each of the 256 bytes has a token, so that no text is unknown."""
        return self.alphabet == "bytes"

    @property
    def drops_unknown(self) -> bool:
        """Return whether text without a token is left out without a trace."""
        return self.unknown == "drop"

    @property
    def space_mark(self) -> str:
        """Return the character that stands for a space in tokens, such as `▁` for SentencePiece.

        A pre-tokenizer or a normalizer writes it. Empty if spaces are kept unchanged or dropped.
        """
        for part in self.pre_tokenizers:
            if part.kind == "metaspace":
                return str(part["replacement"])
        for part in self.normalizers:
            if part.kind == "replace" and part["pattern"] == " " and part["content"].strip():
                return str(part["content"])
        return ""

    @property
    def has_bare_characters(self) -> bool:
        """Return whether every training character also has an id in its bare form."""
        return self.alphabet == "characters"

    @property
    def merges_by_likelihood(self) -> bool:
        """Return whether training merges the pair of highest likelihood, not highest count."""
        return self.score == "likelihood"

    @property
    def matches_longest(self) -> bool:
        """Return whether segmentation takes the longest matching token, from left to right."""
        return self.segmentation == "longest-match"

    @property
    def looks_up_pre_tokens(self) -> bool:
        """Return whether every pre-token is one token: a word, or a grapheme split off earlier."""
        return self.segmentation == "lookup"

    @property
    def emits_symbols(self) -> bool:
        """Return whether every character is one token, without merges."""
        return self.segmentation == "symbols"

    @property
    def replays_merges(self) -> bool:
        """Return whether segmentation makes the merges one after the other, as learned."""
        return self.segmentation == "replay"

    @property
    def has_ranks(self) -> bool:
        """Return whether adjacent tokens merge by the rank of the token that they spell.

        Such a model has no list of merges, like a tiktoken file.
        """
        return self.segmentation == "ranks"

    @property
    def segments_by_merging(self) -> bool:
        """Return whether merges, however chosen, build a pre-token's tokens from its symbols."""
        return self.segmentation in ("merges", "replay", "ranks")

    @property
    def maximizes_probability(self) -> bool:
        """Return whether segmentation takes the tokens with the highest product of probabilities.

        Each token then has a log probability, and a pre-token has several segmentations.
        """
        return self.segmentation == "viterbi"

    @property
    def rounds_to_single(self) -> bool:
        """Return whether sums of log probabilities are rounded to 32 bits, as in SentencePiece."""
        return self.precision == "single"

    @property
    def removal(self) -> str:
        """Return the kind of tokens that were removed; empty if none were.

        Training removes `intermediate` tokens (PickyBPE), `to-symbols` tokens (BoundlessBPE: like
        PickyBPE, but a removed token splits into symbols) or `scaffold` tokens (Scaffold-BPE).
        LiteToken removes `residue` tokens afterwards. A model with removals has `Events` and no
        merges that other libraries could apply.
        """
        return _REMOVALS.get(self.segmentation, "")

    @property
    def has_threshold(self) -> bool:
        """Return whether a token is removed once a share of its occurrences merged into another."""
        return self.removal in ("intermediate", "to-symbols")

    def with_threshold(self) -> Recipe:
        """Return the recipe whose training removes tokens by a threshold.

        The recipe itself is returned if its training already does, or if the algorithm has no
        threshold.
        """
        if self.has_threshold or "threshold" not in self.traits.options:
            return self
        return replace(self, name="custom", segmentation="events-to-symbols")

    @property
    def first_tokens(self) -> list[bytes]:
        """Return the tokens with the lowest ids: special tokens, then the byte tokens, if any."""
        special = [token.encode() for token in self.special_tokens]
        return [*special, *BYTE_TOKENS] if self.byte_fallback else special

    @property
    def spelled_like_special(self) -> list[bytes]:
        """Return the byte strings that a model file would spell like a special token.

        In a byte-level model with the special token `Ġt`, for example, a space and a `t` are
        spelled like it.
        """
        if not self.is_byte_level:
            return []
        return [unspell(token) for token in self.special_tokens if set(token) <= BYTES.keys()]

    def is_byte_token(self, token: bytes) -> bool:
        """Return whether byte fallback produces the token."""
        return self.byte_fallback and token in BYTE_TOKENS

    def is_initial_symbol(self, token: bytes) -> bool:
        """Return whether segmentation can start from the token.

        Initial symbols are bytes, characters (also with a fused marker), markers that are symbols
        of their own, and the tokens of byte fallback.

        `start` and `end` markers are symbols of their own, so a token of a marker and a character
        is the result of a merge. `end-fused` and `continuation` markers are part of a symbol.
        Continued training (`native/core`: `train/extend.rs`) uses this rule too.
        """
        if self.is_byte_level:
            return len(token) == 1
        if self.is_byte_token(token):
            return True
        if self.marker.is_symbol:
            return token == self.marker.text.encode() or len(token.decode()) == 1
        return len((self.marker.removed_from(token) or token).decode()) == 1

    def with_transition(self, *ends: str) -> Recipe:
        """Return the recipe with other ends for all stages but the last.

        Args:
            *ends: numbers of ids (`"18000"`) or shares of the vocabulary (`"90%"`), one per stage.

        Raises:
            TokctlError: the number of ends is wrong, or an end is invalid.
        """
        if len(ends) != max(0, len(self.stages) - 1):
            raise BadOption(
                f"the recipe {self.name} has {len(self.stages)} stages, and {len(ends)} ends are "
                "given",
                "give one end for each stage but the last",
                "bad-value",
            )
        stages = (replace(stage, until=end) for stage, end in zip(self.stages, ends, strict=False))
        return replace(self, stages=(*stages, *self.stages[-1:]))

    @property
    def splitting(self) -> str:
        """Return the text forms of the pre-tokenizers; `none` without pre-tokenizers."""
        return text_of(self.pre_tokenizers)

    def with_special_tokens(self, tokens: Sequence[str]) -> Recipe:
        """Return the recipe with more special tokens after its own; duplicates are skipped."""
        added = [token for token in dict.fromkeys(tokens) if token not in self.special_tokens]
        return replace(self, special_tokens=(*self.special_tokens, *added))

    def to_dict(self) -> dict[str, Any]:
        """Return the recipe as JSON data."""
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
        """Return the recipe that `to_dict` wrote, also in the older format 1.

        Raises:
            TokctlError: a field is unknown, missing or wrong.
        """
        declared = {entry.name: entry for entry in fields(cls)}
        values = _upgrade_format_1(data) if "pre_tokenizer" in data else dict(data)
        if unknown := set(values) - set(declared):
            raise BadModel(
                f"the recipe has a field {min(unknown)!r} that this version of tokctl does not "
                "know",
                "use the version that wrote the recipe, or a newer one",
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
                if (
                    not has_type(declared[name], values[name])
                    or (name, values[name]) == _NO_UNKNOWN
                ):
                    raise TypeError(name)
            return cls(**values)
        except (KeyError, TypeError) as error:
            raise BadModel(
                f"the recipe's field {error} is missing or wrong", AGAIN, "damaged-model"
            ) from None


_FAMILIES = {
    "normalizers": NORMALIZERS,
    "pre_tokenizers": PRE_TOKENIZERS,
    "post_processors": POST_PROCESSORS,
    "decoders": DECODERS,
}


def strings(values: Any) -> tuple[str, ...]:
    """Return the texts of a list as a tuple.

    Raises:
        TypeError: `values` is not a list of texts.
    """
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise TypeError("list of texts")
    return tuple(values)


#: An unknown token may not be empty: this field and value together are refused.
_NO_UNKNOWN = ("unk_token", "")
#: Accepted types of a field's values, by the field's annotation.
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
    """Return whether the type of `value` matches the annotation of a dataclass field."""
    return type(value) in _TYPES[str(field.type)]


def _upgrade_format_1(data: dict[str, Any]) -> dict[str, Any]:
    """Return the current fields of a recipe in format 1, which names one pre-tokenizer."""
    values = dict(data)
    splitting = values.pop("pre_tokenizer")
    if not isinstance(splitting, str):
        raise BadModel(
            "the recipe's field 'pre_tokenizer' is missing or wrong", AGAIN, "damaged-model"
        )
    values["normalizers"] = [{"kind": kind} for kind in strings(data["normalizers"])]
    values["pre_tokenizers"] = [part.to_dict() for part in PRE_TOKENIZERS.steps(splitting)]
    return values


def check(recipe: Recipe) -> None:
    """Raise an error if a field is invalid or two fields conflict.

    Raises:
        TokctlError: names the field or the conflict, and how to resolve it.
    """
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
            raise BadOption(
                f"no {name} is called {value!r}",
                f"{did_you_mean(value, allowed)}choose one of: {', '.join(allowed)}",
                "unknown-name",
            )
    _check_patterns((*recipe.normalizers, *recipe.pre_tokenizers, *recipe.decoders))
    _check_rules(recipe.normalizers)
    if recipe.tie_break == "highest-text" and recipe.merges_by_likelihood:
        raise BadOption(
            "the tie break highest-text is for scores by count, and this is likelihood",
            "take another tie break, or the score count (--score count)",
            "conflict",
        )
    if recipe.tie_break == "highest-text" and (recipe.removal or recipe.traits.reads_twice):
        raise BadOption(
            f"{recipe.algorithm} can't be trained with the tie break highest-text",
            "take another tie break: --tie-break lowest-id",
            "conflict",
        )
    _check_segmentation(recipe)
    recipe.traits.check(recipe)
    _check_unknown(recipe)
    _check_pre_tokenizers(recipe)
    _check_marker(recipe)
    _check_special_tokens(recipe)
    _check_stages(recipe)
    _check_around(recipe)
    if recipe.max_input_chars is not None and not 0 <= recipe.max_input_chars < 2**53:
        raise BadOption(
            f"invalid value {recipe.max_input_chars} for max_input_chars",
            "give a number of at least 0, or None for no limit",
            "bad-value",
        )


def _check_patterns(parts: tuple[Part, ...]) -> None:
    patterns = [part["pattern"] for part in parts if dict(part.options).get("regex", False)]
    if patterns:
        # Imported late: few recipes have a pattern, and importing `regex` slows down every start.
        from tokctl.model.patterns import compile_pattern

        for pattern in patterns:
            compile_pattern(pattern)


def _check_rules(normalizers: tuple[Part, ...]) -> None:
    for part in normalizers:
        if part.kind == "precompiled":
            # Imported late: few recipes hold rules, and not every command needs the native core.
            from tokctl import _native

            try:
                _native.normalize(native_parts([part]), b"")
            except CoreError as error:
                raise BadOption(
                    f"the precompiled rules are damaged: {error.message}",
                    "copy them unchanged from a model file",
                    "bad-value",
                ) from None


def _check_segmentation(recipe: Recipe) -> None:
    allowed = recipe.traits.segmentations
    if recipe.segmentation not in allowed:
        every = {name for one in ALGORITHMS.values() for name in one.segmentations}
        hint = f"choose one of: {', '.join(allowed)}"
        if recipe.segmentation not in every:
            message = f"no segmentation is called {recipe.segmentation!r}"
            raise BadOption(message, hint, "unknown-name")
        message = f"{recipe.algorithm} can't be segmented by {recipe.segmentation}"
        raise BadOption(message, hint, "conflict")


def _check_unknown(recipe: Recipe) -> None:
    merges = recipe.segments_by_merging or recipe.removal == "residue"
    if recipe.drops_unknown and not (merges or recipe.emits_symbols):
        raise BadOption(
            f"{recipe.algorithm} segmented by {recipe.segmentation} can't drop what has no token",
            "merges can: --algo bpe --chars, or --algo wordpiece --segment merges",
            "conflict",
        )
    if recipe.drops_unknown and (recipe.unk_token is not None or recipe.has_every_byte):
        raise BadOption(
            "nothing is dropped if every byte has a token, or if there is an unknown token",
            "leave the unknown token out (--unk-token ''), or --unknown drop",
            "conflict",
        )


def _check_pre_tokenizers(recipe: Recipe) -> None:
    for part in recipe.pre_tokenizers:
        if recipe.is_byte_level and not is_lossless(part) and part.kind != "prefix-space":
            raise BadOption(
                f"the pre-tokenizer {str(part)!r} does not keep the text as it is, so a "
                "byte-level model could not give the text back",
                "use gpt2, cl100k, none or regex:PATTERN, or train on characters (--chars)",
                "conflict",
            )


def _check_marker(recipe: Recipe) -> None:
    kind, text = recipe.marker
    # Only longest match can have continuations that look like starts of words.
    bare = kind == "continuation" and recipe.matches_longest
    if (kind == "none") != (text == "") and not bare:
        raise BadOption(
            "a word marker needs a kind and a text, or neither",
            "for instance Marker('end-fused', '</w>'), or Marker()",
            "bad-value",
        )
    if recipe.is_byte_level and text:
        raise BadOption(
            "a byte-level model has no word marker: its tokens hold the spaces themselves",
            "leave the marker out, or train on characters (--chars)",
            "conflict",
        )
    recipe.traits.check_marker(kind)
    fitting = ("bytes", "seen") if recipe.is_byte_level else ("seen", "characters")
    if recipe.alphabet not in fitting:
        raise BadOption(
            "a byte-level model has an alphabet of bytes, and no other has one",
            "set both units and alphabet to bytes, or neither",
            "conflict",
        )


def _check_special_tokens(recipe: Recipe) -> None:
    if len(set(recipe.special_tokens)) != len(recipe.special_tokens):
        raise BadOption("a special token is given twice", "give each of them once", "conflict")
    if "" in recipe.special_tokens:
        raise BadOption(
            "a special token can't be empty", "give it a text, such as <pad>", "bad-value"
        )
    for token in recipe.special_tokens:
        try:
            token.encode()
        except UnicodeEncodeError:
            raise BadOption(
                f"the special token {token!r} is not UTF-8",
                "remove lone surrogates, which are not characters",
                "bad-value",
            ) from None
    if recipe.unk_token is not None and recipe.unk_token not in recipe.special_tokens:
        raise BadOption(
            f"the unknown token {recipe.unk_token!r} is not a special token",
            "add the token to the special tokens",
            "unknown-name",
        )


def _check_stages(recipe: Recipe) -> None:
    if recipe.stages and not (recipe.traits.is_plain_bpe and recipe.marker.kind == "none"):
        raise BadOption(
            "only BPE without a word marker is trained in stages",
            "leave the stages out, or take --algo superbpe",
            "conflict",
        )
    *earlier, last = recipe.stages or (TrainingStage(),)
    if last.until or last.pre_tokenizers or not all(stage.until for stage in earlier):
        raise BadOption(
            "each stage but the last needs an end, and the last one splits as the recipe does",
            "an end is a number of ids, or a share of the vocabulary: 90%",
            "bad-value",
        )
    _check_patterns(tuple(part for stage in recipe.stages for part in stage.pre_tokenizers))
    for stage in recipe.stages:
        for part in stage.pre_tokenizers:
            if not is_lossless(part):
                raise BadOption(
                    f"the pre-tokenizer {str(part)!r} does not keep the text as it is, so a stage "
                    "can't split by it",
                    "use gpt2, cl100k, none or regex:PATTERN",
                    "conflict",
                )


def _check_around(recipe: Recipe) -> None:
    """Raise an error unless post-processors and decoders fit the model."""
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
            raise BadOption(
                f"the decoder {part} does not fit: it needs {needed}",
                "leave the decoder out to use the recipe's own",
                "conflict",
            )
