"""Checks of reach and use: unreachable tokens, and tokens and merges that a text does not use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from tokctl import _native
from tokctl._native import NO_ID
from tokctl.analysis.explain.vocabulary import token_text, written_text
from tokctl.analysis.explain.words import pre_tokens_of
from tokctl.analysis.health.results import CheckResult, Example
from tokctl.analysis.health.subject import CheckContext, not_made
from tokctl.core.humanize import times
from tokctl.model.parts import AddedToken, native_parts

# -- Unreachable tokens, by the stage that causes it ---------------------------------------------

# Trials with a token's own text find the unreachable tokens (see `explain/vocabulary.py`). To find
# the cause, the stages run on the text in each context of `_PLACES`:
#
# 1. If the text survives the normalizer in no context, the normalizer is the cause.
# 2. Else, if the text is inside one pre-token in no context, the pre-tokenizer is.
# 3. Else the encoding is: merges, longest match or the best path.
#
# If a token is reachable, but not once added tokens are found first, added tokens are the cause.
# Tokens of single bytes are not checked: a vocabulary keeps them for rare characters.
#
# The categories are those of Land and Bartolo, "Fishing for Magikarp" (2024, arXiv 2405.05417),
# who decode each token and encode the result: *partial UTF-8 sequences* (`partial-utf8`),
# *unreachable* tokens (this section) and *special* tokens (`special-from-text`).

UNREACHABLE = (
    "unreachable-by-encoding",
    "unreachable-by-pre-tokenizer",
    "unreachable-by-normalizer",
    "unreachable-by-added-token",
)

#: Contexts of a token's text, as the text before and after: nothing, a space, a letter, a digit, a
#: sign, a line end. None repeats the token's own character at that end, which is of the same kind.
_PLACES: tuple[tuple[bytes | None, bytes | None], ...] = (
    (b"", b""),
    (b" ", b""),
    (b"a", b"a"),
    (None, None),
    (b"", None),
    (None, b""),
    (b" ", b" "),
    (b"1", b"1"),
    (b".", b"."),
    (b"\n", b"\n"),
)


def check_reach(subject: CheckContext) -> Iterator[CheckResult]:
    """Yield a finding for each cause of unreachable tokens."""
    reach, beside = subject.reach, subject.reach_beside_added
    if left := max(reach.undecided, beside.undecided):
        yield from not_made(
            UNREACHABLE, f"{left:,} tokens are undecided after {reach.trials:,} trials"
        )
        return
    causes: dict[str, list[int]] = {name: [] for name in UNREACHABLE}
    stages = Stages(subject)
    kept_out = subject.reserve.union(reach.ids)
    for id_ in reach.ids:
        if id_ not in subject.reserve:
            causes[stages.cause(id_)].append(id_)
    causes[UNREACHABLE[3]] = [id_ for id_ in beside.ids if id_ not in kept_out]
    of = len(set(subject.ordinary) - subject.reserve)
    # Trials give partial tokens to the merges alone: the rest of their characters is not known.
    partial = len(subject.partial - kept_out)
    for name, ids in causes.items():
        cut = name == UNREACHABLE[1]
        yield subject.found(
            name,
            ids,
            of,
            undecided=partial if cut else 0,
            detail="What is no whole characters is not decided." if cut and partial else "",
        )


class Stages:
    """The stages before the encoding, run on one token's text at a time."""

    def __init__(self, subject: CheckContext) -> None:
        self.tokenizer = subject.tokenizer
        self.partial = subject.partial
        self.normalizers = native_parts(subject.recipe.normalizers)
        self.has_mark = bool(subject.recipe.space_mark)

    def cause(self, id_: int) -> str:
        """Return the name of the check for a token that no trial gave."""
        if id_ in self.partial or not any(self._forms(id_)):  # only a marker: no text
            return UNREACHABLE[0]
        there = False
        for text in self._texts(id_):
            if not self._survives(id_, text):
                continue
            there = True
            if self._is_whole(id_, text):
                return UNREACHABLE[0]
        return UNREACHABLE[1] if there else UNREACHABLE[2]

    def _texts(self, id_: int) -> Iterator[bytes]:
        """Yield the token's text in each context of `_PLACES`."""
        text = written_text(self.tokenizer, id_)
        characters = text.decode()
        first, last = characters[:1].encode(), characters[-1:].encode()
        for before, after in _PLACES:
            left = first if before is None else before
            right = last if after is None else after
            yield left + text + right
        if self.has_mark:
            yield self.tokenizer.model.tokens[id_]

    def _survives(self, id_: int, text: bytes) -> bool:
        """Return whether the normalizers leave the token's text in `text`."""
        normalized = _native.normalize(self.normalizers, text) if self.normalizers else text
        return any(form in normalized for form in self._forms(id_))

    def _is_whole(self, id_: int, text: bytes) -> bool:
        """Return whether the token's text lies inside one pre-token of `text`."""
        rewritten, ranges, *_ = self.tokenizer.encoder.pre_tokens(text)
        spots = (spot for form in self._forms(id_) if form for spot in _spots(rewritten, form))
        return any(start <= first and last <= end for first, last in spots for start, end in ranges)

    def _forms(self, id_: int) -> set[bytes]:
        """Return the forms of the token's text after a stage: with spaces, and with space marks."""
        if self.has_mark:
            return {written_text(self.tokenizer, id_), self.tokenizer.model.tokens[id_]}
        return {token_text(self.tokenizer, id_)}


def _spots(text: bytes, part: bytes) -> Iterator[tuple[int, int]]:
    """Yield the spans of `part` in `text`, overlapping ones included."""
    at = text.find(part)
    while at >= 0:
        yield at, at + len(part)
        at = text.find(part, at + 1)


# -- Use by a text -------------------------------------------------------------------------------

# A token is **used** as often as its id occurs when the texts are encoded, each document
# separately, with no special token allowed. `never-used` and `rarely-used` leave out special
# tokens, which no text gives, and tokens of single bytes, which are kept for rare characters.

OF_TEXT = ("unknown-in-text", "never-used", "rarely-used")
NEEDS_TEXT = "it needs a text"
#: Lines to encode in one call.
_LINES_AT_A_TIME = 10_000


def check_use(subject: CheckContext) -> Iterator[CheckResult]:
    """Yield findings about unknown, unused and rare tokens of the texts."""
    if subject.texts is None:
        yield from not_made(OF_TEXT, NEEDS_TEXT)
        return
    used = subject.used
    total = used.total()
    unknown = sum(used[id_] for id_ in _unknown_ids(subject))
    examples = islice(_unknown(subject), subject.limit) if unknown else ()
    yield subject.finding("unknown-in-text", unknown, total, examples=examples)
    ids = usable_ids(subject)
    never = [id_ for id_ in ids if not used[id_]]
    yield subject.found("never-used", never, len(ids))
    rare = sorted((id_ for id_ in ids if 0 < used[id_] < subject.rare), key=used.__getitem__)
    detail = f"Used fewer than {subject.rare:,} times."
    yield subject.found(
        "rarely-used", rare, len(ids), notes=lambda id_: times(used[id_]), detail=detail
    )


def usable_ids(subject: CheckContext) -> list[int]:
    """Return the ids that a text may be expected to use."""
    ids = [id_ for id_ in subject.ordinary if id_ not in subject.reserve]
    ids += [token.id for token in subject.model.added if not (token.special or token.ordinary)]
    return ids


def _unknown_ids(subject: CheckContext) -> set[int]:
    """Return `NO_ID` and the id of the unknown token if there is one."""
    unk_id = subject.tokenizer.unk_id
    return {NO_ID} if unk_id is None else {NO_ID, unk_id}


def _unknown(subject: CheckContext) -> Iterator[Example]:
    """Yield each distinct unknown part of the texts once.

    The texts are encoded again line by line. A part is found only if it is unknown in its line
    alone.
    """
    encoder, unknown = subject.tokenizer.encoder, _unknown_ids(subject)
    seen = set()
    for text in subject.texts or ():
        lines = (line for data in text.documents for line in data.splitlines(keepends=True))
        while group := list(islice(lines, _LINES_AT_A_TIME)):
            for line, ids in zip(group, encoder.batch(group, 1, subject.matcher), strict=True):
                if unknown.isdisjoint(ids):
                    continue
                for id_, start, end, _ in zip(*encoder.tokens(line, subject.matcher), strict=True):
                    piece = line[start:end]
                    if id_ in unknown and piece not in seen:
                        seen.add(piece)
                        yield Example(None, piece.decode("utf-8", "replace"), piece)


# -- Merges that no longer matter ----------------------------------------------------------------

# The **tree** of a token is the merge that makes the token and the merges that make its parts, down
# to the initial symbols. If merges are applied by rank, each token has one tree: every occurrence
# is made like the token's own text alone (`Merging::made` in the core). So:
#
# - Without a text, a merge **matters** if it is in the tree of a reachable token. It does not
#   matter if its token is unreachable and part of no reachable token, or if another pair always
#   makes its token first.
# - With a text, a merge matters if it is in the tree of a token that the text uses. Encoding the
#   text applies exactly these merges: each makes a token of the text, or a part of one.
# - A token is **only a part** if the text does not use the token itself but a token whose tree
#   contains it ("BPE Gets Picky", Chizhov et al. 2024, arXiv 2409.04599, calls these intermediate
#   tokens).
#
# A model of ranks names no pairs: its merges are derived from the ranks, one for each merged token.
# If words have a marker, or merges are replayed in the order learned, a token can be made in
# several ways. Without a text, the tree then contains every merge that makes the token, so that no
# needed merge is called useless. With a text, the merges applied to its pre-tokens are counted.

WITHOUT_TEXT, WITH_TEXT = "merges-without-effect", ("merges-without-use", "only-parts")
#: Ids of a merge: left, right, token.
Triple = tuple[int, int, int]
#: A number of merges that no model reaches.
_EVERY_STEP = (1 << 32) - 2


def check_merges(subject: CheckContext) -> Iterator[CheckResult]:
    """Yield findings about merges that no text needs, or that these texts don't need."""
    if reason := _no_merges(subject):
        yield from not_made([WITHOUT_TEXT, *WITH_TEXT], reason)
        return
    trees = Trees(subject)
    reach = subject.reach_beside_added
    if reach.undecided:
        yield from not_made([WITHOUT_TEXT], "not every token is decided to be reachable or not")
    else:
        kept_out = set(reach.ids)
        reached = [id_ for id_ in subject.ordinary if id_ not in kept_out]
        yield _useless(subject, trees, WITHOUT_TEXT, trees.needed(reached))
    if subject.texts is None:
        yield from not_made(WITH_TEXT, NEEDS_TEXT)
        return
    used = [id_ for id_ in subject.used if id_ != NO_ID]
    needed = trees.needed(used) if trees.are_sure else _made_of_texts(subject)
    yield _useless(subject, trees, WITH_TEXT[0], needed)
    inside = {id_ for step in needed for id_ in trees.merges[step]}
    ids = [id_ for id_ in subject.ordinary if id_ not in subject.reserve]
    parts = [id_ for id_ in ids if id_ in inside and not subject.used[id_]]
    yield subject.found(WITH_TEXT[1], parts, len(ids))


def _no_merges(subject: CheckContext) -> str:
    """Return why the model's merges can't be checked; empty if they can."""
    recipe = subject.recipe
    if recipe.segments_by_merging:
        return ""
    if subject.model.merges:
        return "the model encodes by longest match, whatever was merged in training"
    if subject.model.events:
        return "removals come between the merges of the model"
    return "the model has no merges"


class Trees:
    """The merges of a model, and which merges make each token.

    Attributes:
        are_sure: whether each token has only one tree.
        has_steps: whether the merges have steps; else they are derived from ranks.
        merges: left, right and token by step; supermerges come last.
        by_token: steps that can make each token.
    """

    def __init__(self, subject: CheckContext) -> None:
        model, recipe = subject.model, subject.recipe
        self.are_sure = not recipe.marker.text and not recipe.replays_merges
        tokens = [(model.tokens[id_], id_) for id_ in subject.ordinary]
        made = subject.tokenizer.encoder.made(tokens) if self.are_sure else []
        self.has_steps = not recipe.has_ranks
        joined = [merge[:3] for merge in model.supermerges]
        self.merges: list[Triple] = (
            [*(merge[:3] for merge in model.merges), *joined] if self.has_steps else made
        )
        self.by_token: dict[int, list[int]] = {}
        # Of several steps with one pair, encoding only uses the first.
        chosen = {*made, *joined} if self.are_sure else None
        for step, triple in enumerate(self.merges):
            if chosen is None:
                self.by_token.setdefault(triple[2], []).append(step)
            elif triple in chosen:
                chosen.remove(triple)
                self.by_token.setdefault(triple[2], []).append(step)

    def needed(self, ids: Iterable[int]) -> set[int]:
        """Return the steps in the trees of the tokens `ids`."""
        found: set[int] = set()
        waiting = list(ids)
        seen = set(waiting)
        while waiting:
            for step in self.by_token.get(waiting.pop(), ()):
                found.add(step)
                for part in self.merges[step][:2]:
                    if part not in seen:
                        seen.add(part)
                        waiting.append(part)
        return found


def _made_of_texts(subject: CheckContext) -> set[int]:
    """Return the steps that encoding the pre-tokens of the texts applies."""
    words: set[bytes] = set()
    for text in subject.texts or ():
        for document in text.documents:
            pre_tokens = pre_tokens_of(subject.tokenizer, document)
            words.update(word for word in pre_tokens if not isinstance(word, AddedToken))
    replay = subject.tokenizer.encoder.replay
    found: set[int] = set()
    for word in words:
        found.update(replay(word, _EVERY_STEP)[2])
    return found


def _useless(subject: CheckContext, trees: Trees, name: str, needed: set[int]) -> CheckResult:
    """Return the finding about the merges that are not in `needed`."""
    steps = [step for step in range(len(trees.merges)) if step not in needed]
    names = subject.tokenizer.tokens
    examples: list[Example] = []
    for step in steps[: subject.limit]:
        left, right, token = trees.merges[step]
        pair = f"{names[left]} + {names[right]}"
        note = f"step {step + 1:,}: {pair}" if trees.has_steps else pair
        examples.append(subject.example(token, note))
    return subject.finding(name, len(steps), len(trees.merges), examples=examples)
