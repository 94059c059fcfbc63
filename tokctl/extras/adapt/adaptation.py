"""Adaptation of a vocabulary: tokens are removed, others are learned, and old ids map to new ones.

The steps, each of which is optional:

1. Remove the tokens that some texts use least (`tokctl.training.resizing.ids_by_use`), or the
   residues of merging (`tokctl.extras.adapt.residues`).
2. Continue training from the tokens that are left, on the same or on other texts. A model with
ranks
   is converted to merges first, and back if ranks can express the result.
3. Add special and other added tokens. 4. Assign ids. Either ids have no gaps and keep their order.
Or each kept token keeps its id, and
   new tokens get the freed ids in ascending order. In models whose ids are ranks (tiktoken's), a
   new token with a freed id would merge before older ones, so new tokens get the ids after the
   last one. A freed id that is left over is a hole, which a special token `<|unused_ID|>` fills.

A token that was removed in step 1 and learned again in step 2 counts as the same token. It keeps
its embedding, and also its id if ids are kept and are not ranks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from tokctl.analysis.explain.usage import segmented
from tokctl.core.errors import BadOption, Unsupported
from tokctl.core.files import whole_file
from tokctl.core.values import ShortRepr, brief, suggesting
from tokctl.extras.adapt import residues as residue
from tokctl.formats import merging
from tokctl.formats.contract import UnsupportedByFormat
from tokctl.formats.holes import MOST_HOLES, filler_text
from tokctl.model import Model, Recipe
from tokctl.model.parts import PRE_TOKENIZERS
from tokctl.tokenizer import Tokenizer
from tokctl.tokenizer.postprocess import check_number
from tokctl.training import resizing

if TYPE_CHECKING:
    from tokctl.extras.adapt.embeddings import CarriedMatrix
    from tokctl.extras.adapt.moved import MovedTokens
    from tokctl.sources import ReadOptions, Source
    from tokctl.training import Progress
    from tokctl.training.options import Number

    Texts = str | Path | Source | Sequence[str | Path | Source]


@dataclass(frozen=True, repr=False)
class Adaptation(ShortRepr):
    """The old and the new model, and the new id of each old token.

    Attributes:
        before: the old model.
        tokenizer: the new model.
        ids: new id of each old id; None if the token was removed.
        holes: new ids without a token, which new fillers have.
        restored: old ids of tokens that were removed and learned again.
        uses: number of times that the texts use the removed tokens, and all tokens; None if uses
            were not counted.
        residues: the removed residues, and the limits that define them; None if only other tokens
            were to be removed.
    """

    before: Tokenizer
    tokenizer: Tokenizer
    ids: tuple[int | None, ...]
    holes: tuple[int, ...] = ()
    restored: tuple[int, ...] = ()
    uses: tuple[int, int] | None = None
    residues: residue.Residues | None = None

    @property
    def size(self) -> int:
        """Number of tokens of the new model, without fillers of holes."""
        return self.tokenizer.vocab_size - len(_fillers(self.tokenizer.model))

    @property
    def removed(self) -> list[int]:
        """Old ids of the removed tokens, without holes."""
        holes = _fillers(self.before.model)
        return [old for old, new in enumerate(self.ids) if new is None and old not in holes]

    @property
    def new(self) -> list[int]:
        """New ids of the tokens that the old model does not have."""
        known = {*self.ids, *self.holes}
        return [id_ for id_ in range(self.tokenizer.vocab_size) if id_ not in known]

    def map_lines(self) -> Iterator[bytes]:
        """Yield one JSON line per token with its old id, its new id (null if removed) and its text.

        The fields are `old`, `new` and `token`. The lines are in the order of the old ids, followed
        by the new tokens (`old` is null) in the order of their ids, without holes.
        """
        from tokctl.core import orjson

        before, after = self.before.tokens, self.tokenizer.tokens
        old_ones = ((old, new, before[old]) for old, new in enumerate(self.ids))
        for old, new, token in chain(old_ones, ((None, new, after[new]) for new in self.new)):
            row = {"old": old, "new": new, "token": token}
            yield orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)

    def save_map(self, path: str | Path) -> None:
        """Write `map_lines` to a file, completely or not at all.

        Args:
            path: the file.

        Raises:
            TokctlError: the file can't be written.
        """
        with whole_file(path) as file:
            file.writelines(self.map_lines())

    @suggesting
    def carry_embeddings(
        self,
        path: str | Path,
        output: str | Path,
        *,
        tensors: Sequence[str] = (),
        new_rows: str = "pieces",
        vectors: str | Path | None = None,
        progress: Progress | None = None,
    ) -> list[CarriedMatrix]:
        """Write a language model's weights for the new ids; see `tokctl.extras.adapt.embeddings`.

        Args:
            path: a safetensors file, the index of several, or the folder that has one of these.
            output: the new file; for several files, the folder for them and their index.
            tensors: the matrices with a row for each id; by default those with the usual names of
                input and output embeddings.
            new_rows: one of `NEW_ROWS`.
            vectors: for `focus`, a text file with a vector for each token of the new model: see
                `tokctl.extras.adapt.focus.combinations`.
            progress: called with the phase `copy`, the bytes written and their total; for `focus`
                before that with `focus`, the new tokens done and their total.

        Returns:
            Facts about each matrix that was written.

        Raises:
            TokctlError: a file can't be read or written; a matrix is missing or has another size;
                or the vectors are in another format, or none is for a kept token.
        """
        from tokctl.extras.adapt.embeddings import carry

        return carry(self, path, output, tensors, new_rows, vectors, progress)

    def moved(
        self, texts: Texts, *, threads: int = 1, reading: ReadOptions | None = None
    ) -> MovedTokens:
        """Return the kept tokens that some texts lose although no new token covers them.

        See `tokctl.extras.adapt.moved`.

        Args:
            texts: paths, or sources of `tokctl.sources`; one, or several.
            threads: number of threads that encode.
            reading: how to read the paths; None: according to names and first bytes.

        Raises:
            TokctlError: a text can't be read, or is not UTF-8.
        """
        from tokctl.extras.adapt.moved import moved

        return moved(self, _open_texts(texts, reading), threads)


@suggesting
def adapt(
    tokenizer: Tokenizer,
    *,
    prune: int | None = None,
    min_uses: int | None = None,
    residues: Number | None = None,
    residue_entropy: float | None = None,
    texts: Texts = (),
    vocab_size: int | None = None,
    new_texts: Texts | None = None,
    special_tokens: Sequence[str] = (),
    added_tokens: Sequence[str] = (),
    keep_ids: bool = False,
    errors: str = "strict",
    threads: int | None = None,
    reading: ReadOptions | None = None,
    progress: Progress | None = None,
) -> Adaptation:
    """Remove tokens that texts hardly use, and learn new ones.

    Args:
        tokenizer: the old model; it is not changed.
        prune: the number of tokens to keep: those that `texts` use most.
        min_uses: instead of `prune`: tokens that `texts` use fewer times are removed.
        residues: instead of both: remove residues of merging with at most this FI ratio, above 0
            and at most 1. Nothing is learned then.
        residue_entropy: the highest entropy of their neighbours, in bits; None: 2.
        texts: paths, or sources of `tokctl.sources`; one, or several.
        vocab_size: the total number of tokens, including `special_tokens` and `added_tokens`; holes
            don't count.
        new_texts: the texts from which new tokens are learned; by default `texts`.
        special_tokens: tokens with ids after the learned tokens, recognized in a text only if the
            caller allows them.
        added_tokens: tokens with ids after the special ones, always recognized in a text.
        keep_ids: whether remaining tokens keep their ids.
        errors: `strict` or `replace`, for text that is not UTF-8 (character models).
        threads: the number of threads for counting; None: one per processor that this process may
            use. The result does not depend on it.
        reading: how to read the paths; None: according to names and first bytes.
        progress: see `tokctl.training`.

    Returns:
        The new model, and how ids changed.

    Raises:
        TokctlError: a text can't be read; nothing was requested; the size is too small for what
            must stay, or too large; this model can't be trained further.

    Example:
        tok = Tokenizer.load("gpt2.tokenizer.json")
        found = adapt(tok, prune=32_000, texts=["books.txt"], keep_ids=True)
        found.tokenizer.save("books.json", "huggingface")
    """
    model = _check_adaptable(tokenizer)
    added = _AddedTexts(special_tokens, added_tokens)
    prunes = prune is not None or min_uses is not None or residues is not None
    _check_requests(prune, min_uses, residues, vocab_size, added)
    highest = residue.limits(residues, residue_entropy)
    if residues is not None:
        model = residue.with_merges(model)
    has_texts = bool(texts) or not isinstance(texts, Sequence)
    if prunes and not has_texts:
        raise BadOption(
            "texts are needed to count how often tokens are used",
            "name texts; tokctl convert --prune N removes tokens without texts",
            "missing-option",
        )
    fillers = _fillers(model) if prunes or keep_ids else set()
    if vocab_size is not None:
        if new_texts is None and not has_texts:
            raise BadOption(
                "there are no texts to learn new tokens from", "give some", "missing-option"
            )
        model = _as_extensible(model)
        if min_uses is None:
            token_count = len(model.tokens) - len(fillers)
            _check_room(token_count if prune is None else prune, vocab_size, added.count(model))
    kept_ids = [id_ for id_ in range(len(model.tokens)) if id_ not in fillers]
    uses = found = None
    if prunes:
        counts = _count_uses(tokenizer, _open_texts(texts, reading), errors)
        if highest is not None:
            found = residue.find(model, counts, *highest)
            kept_ids = sorted(set(kept_ids).difference(token.id for token in found.found))
        else:
            kept_ids = resizing.ids_by_use(
                model, counts, _token_pairs(model), fillers, size=prune, min_uses=min_uses or 0
            )
        removed_ids = set(range(len(model.tokens))).difference(kept_ids)
        uses = sum(counts[id_] for id_ in removed_ids), counts.total()
    model = _without_removed(model, kept_ids, found, fillers)
    if vocab_size is not None:
        _check_room(len(kept_ids), vocab_size, added.count(model))
        sources = _open_texts(texts if new_texts is None else new_texts, reading)
        room = vocab_size - added.count(model)
        model = _extend_vocabulary(model, tokenizer.model, sources, room, errors, threads, progress)
    return _numbered(tokenizer, added.to(model), kept_ids, fillers, keep_ids, uses, found)


def _without_removed(
    model: Model,
    kept_ids: Sequence[int],
    residues: residue.Residues | None,
    fillers: Collection[int],
) -> Model:
    """Return the model with only the tokens `kept_ids`; of residues it keeps the merges."""
    if residues is not None and residues.found:
        return residue.without(model, residues, fillers)
    return resizing.keep_only(model, kept_ids) if len(kept_ids) < len(model.tokens) else model


def _check_adaptable(tokenizer: object) -> Model:
    """Return the model of a tokenizer; raise TokctlError if it can't be adapted."""
    if not isinstance(tokenizer, Tokenizer):
        raise BadOption(
            f"invalid value {brief(tokenizer)} for the tokenizer",
            "Tokenizer.load(path) reads one",
            "bad-value",
        )
    model = tokenizer.model
    if model.events is not None or model.supermerges:
        raise Unsupported(
            f"a {model.recipe.traits.title} model can't be adapted after tokens were removed or "
            "whole pre-tokens were merged",
            "adapt an earlier model, or train one on the new texts",
        )
    return model


def _check_requests(
    prune: int | None,
    min_uses: int | None,
    residues: Number | None,
    vocab_size: int | None,
    added: _AddedTexts,
) -> None:
    """Raise TokctlError if no change is requested, or changes that exclude each other."""
    removals = [one for one in (prune, min_uses, residues) if one is not None]
    if not (removals or vocab_size is not None or added.texts):
        raise BadOption(
            "no change is requested",
            "give --prune N, --min-uses N, --residues RATIO, --vocab N, --special-token TOKEN or "
            "--add-token TOKEN",
            "missing-option",
        )
    if prune is not None and min_uses is not None:
        raise BadOption(
            "--prune and --min-uses can't be combined: each says which tokens are removed",
            "leave --prune or --min-uses out",
            "conflict",
        )
    if residues is not None and (len(removals) > 1 or vocab_size is not None):
        raise BadOption(
            "residues can't be combined with other removals or with new tokens",
            "leave --prune, --min-uses and --vocab out: adapt the model with them first, then "
            "the result with --residues",
            "conflict",
        )
    if min_uses is not None:
        check_number("min_uses", min_uses, 1)


def _numbered(
    tokenizer: Tokenizer,
    model: Model,
    kept_ids: Sequence[int],
    fillers: Collection[int],
    keep_ids: bool,
    uses: tuple[int, int] | None,
    residues: residue.Residues | None,
) -> Adaptation:
    """Return the adaptation after the tokens of the new model got their final ids."""
    relearned = _relearned_ids(tokenizer.model, model, kept_ids)
    new = _new_numbering(tokenizer.model, kept_ids, relearned, len(model.tokens), keep_ids=keep_ids)
    model, holes = _with_holes(model, new)
    # A hole that was already a hole keeps its id.
    ids = [id_ if id_ in holes and id_ in fillers else None for id_ in range(tokenizer.vocab_size)]
    for new_id, old in chain(enumerate(kept_ids), relearned.items()):
        ids[old] = new[new_id]
    return Adaptation(
        before=tokenizer,
        tokenizer=Tokenizer(model),
        ids=tuple(ids),
        holes=tuple(sorted(holes.difference(fillers))),
        restored=tuple(sorted(relearned.values())),
        uses=uses,
        residues=residues,
    )


class _AddedTexts:
    """Special and other tokens to add."""

    def __init__(self, special: Sequence[str], always: Sequence[str]) -> None:
        for kind, texts in (("special", special), ("added", always)):
            if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
                raise BadOption(
                    f"invalid value {brief(texts)} for the {kind} tokens",
                    "give a list of texts",
                    "bad-value",
                )
            if "" in texts:
                raise BadOption(
                    f"one of the {kind} tokens is empty", "give each a text", "bad-value"
                )
        self.special, self.always = list(dict.fromkeys(special)), list(dict.fromkeys(always))
        if in_both := set(self.special) & set(self.always):
            raise BadOption(
                f"{min(in_both)!r} can't be both a special token and another added token",
                "leave one out",
                "conflict",
            )
        self.texts = [*self.special, *self.always]

    def count(self, model: Model) -> int:
        """Return the number of these tokens that the model lacks."""
        return len(set(self.texts) - {token.text for token in model.added})

    def to(self, model: Model) -> Model:
        """Return the model with these tokens."""
        model = resizing.with_special_tokens(model, self.special)
        return resizing.with_added_tokens(model, self.always)


def _open_texts(texts: Texts, reading: ReadOptions | None) -> list[Source]:
    from tokctl.sources import AUTO, opened

    return list(opened(texts, reading or AUTO))


def _count_uses(tokenizer: Tokenizer, sources: Sequence[Source], errors: str) -> Counter[int]:
    """Return how many times texts use each id."""
    uses: Counter[int] = Counter()
    for pre_token in segmented(tokenizer, sources, errors):
        for id_ in pre_token.ids:
            uses[id_] += pre_token.count
    return uses


def _token_pairs(model: Model) -> Sequence[Sequence[int]]:
    """Return the pair that each token is made of; all merges if the pairs are unknown."""
    try:
        return merging.token_merges(model) if model.merges or model.recipe.has_ranks else []
    except UnsupportedByFormat:
        return model.merges


# -- more tokens --------------------------------------------------------------------------------


def _as_extensible(model: Model) -> Model:
    """Return the model, with merges instead of ranks; raise TokctlError if it can't be trained."""
    try:
        model = merging.with_merges(model)
    except UnsupportedByFormat as reason:
        raise Unsupported(
            f"new tokens can't be learned: {reason}",
            "adapt a model whose algorithm merges pairs, or leave --add-token out",
        ) from None
    resizing.check_extension(model, model.recipe)
    return model


def _check_room(size: int, vocab_size: int, added: int) -> None:
    """Raise TokctlError if `vocab_size` leaves no token to learn."""
    if type(vocab_size) is not int or vocab_size - added <= size:
        added_note = f" and {added} that are added" if added else ""
        raise BadOption(
            f"{vocab_size} tokens in all leave nothing to learn: {size} stay{added_note}",
            f"ask for more than {size + added}",
            "bad-value",
        )


def _extend_vocabulary(
    model: Model,
    unadapted: Model,
    sources: Sequence[Source],
    size: int,
    errors: str,
    threads: int | None,
    progress: Progress | None,
) -> Model:
    """Return the model with new tokens learned from texts.

    It is segmented by ranks if `unadapted` was and ranks can express the merges.
    """
    from tokctl import training

    recipe = _with_word_splits(model)
    base = replace(model, recipe=recipe)
    options = training.TrainOptions(vocab_size=size, extend=base, errors=errors, threads=threads)
    trained = training.train(sources, recipe, options, progress)
    trained = replace(
        trained,
        recipe=model.recipe,
        origin=model.origin,
        extra_files=model.extra_files,
        lengths=model.lengths,
    )
    if unadapted.recipe.has_ranks:
        try:
            return merging.with_ranks(trained, scored=bool(unadapted.scores))
        except UnsupportedByFormat:
            pass  # ranks can't express it: it keeps its merges
    return trained


def _with_word_splits(model: Model) -> Recipe:
    """Return the recipe to learn with.

    In SentencePiece's models a sentence is one pre-token, and no token continues after the sign of
    a space. To keep new tokens from doing so, the recipe splits before each sign. It also removes
    line feeds, because SentencePiece learns from lines.
    """
    recipe = model.recipe
    mark = recipe.space_mark
    splits = any(part.kind == "metaspace" and part["split"] for part in recipe.pre_tokenizers)
    if not mark or splits:
        return recipe
    ordinary = set(range(len(model.tokens))) - model.reserved_ids
    if any(mark in model.tokens[id_].decode().lstrip(mark) for id_ in ordinary):
        return recipe
    lines = {"kind": "split", "pattern": "\n", "behaviour": "removed"}
    words = {"kind": "split", "pattern": mark, "behaviour": "merged-with-next"}
    pre_tokenizers = map(PRE_TOKENIZERS.from_dict, (lines, words))
    return replace(recipe, pre_tokenizers=(*recipe.pre_tokenizers, *pre_tokenizers))


# -- ids ----------------------------------------------------------------------------------------


def _fillers(model: Model) -> set[int]:
    """Return the ids of the special tokens that fill holes."""
    return {
        token.id for token in model.added if token.special and token.text == filler_text(token.id)
    }


def _relearned_ids(original: Model, model: Model, kept: Sequence[int]) -> dict[int, int]:
    """Return the old ids of the tokens that were removed and learned again.

    The keys are the indexes of the tokens in `model`, which come after the `kept` ones.
    """
    unavailable = original.reserved_ids.union(kept)
    old_ids = {token: id_ for id_, token in enumerate(original.tokens) if id_ not in unavailable}
    new_ids = range(len(kept), len(model.tokens))
    return {at: old_ids[model.tokens[at]] for at in new_ids if model.tokens[at] in old_ids}


def _new_numbering(
    original: Model,
    kept: Sequence[int],
    relearned: Mapping[int, int],
    size: int,
    *,
    keep_ids: bool,
) -> list[int]:
    """Return the final id of each of `size` tokens, of which the first are the `kept` ones."""
    if not keep_ids:
        return list(range(size))
    next_id = len(original.tokens)
    new_ids = range(len(kept), size)
    if original.recipe.has_ranks and not original.scores:  # ids are ranks
        return [*kept, *range(next_id, next_id + len(new_ids))]
    free = iter(sorted(set(range(next_id + size)).difference(kept, relearned.values())))
    return [
        *kept,
        *(relearned[new_id] if new_id in relearned else next(free) for new_id in new_ids),
    ]


def _with_holes(model: Model, numbering: Sequence[int]) -> tuple[Model, set[int]]:
    """Return the model with the ids `numbering` and with fillers in its holes, and these holes."""
    total = max(numbering) + 1
    holes = sorted(set(range(total)).difference(numbering))
    if len(holes) > max(len(numbering), MOST_HOLES):
        raise BadOption(
            f"{len(holes):,} ids would be holes, and only {len(numbering):,} have a token",
            "number the tokens anew, without keeping ids",
            "conflict",
        )
    if list(numbering) == list(range(total)):
        return model, set()
    model = resizing.with_special_tokens(model, [filler_text(id_) for id_ in holes])
    if model.training:  # the stages ended at ids that have other tokens now
        model = replace(model, training=replace(model.training, stage_ends=()))
    return resizing.renumber(model, dict(enumerate([*numbering, *holes]))), set(holes)
