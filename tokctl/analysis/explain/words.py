"""How a text's pre-tokens are split, step by step, and why not otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokctl._native import NO_ID, normalize
from tokctl.analysis.explain.history import history_of, name_symbols
from tokctl.analysis.explain.lookups import FoundWord, LookedUpWord, look_up
from tokctl.analysis.explain.matches import MatchedWord, match_word
from tokctl.analysis.explain.merging import Leftover, MergeStep, Pair, Segmented
from tokctl.analysis.explain.paths import BEST, ScoredWord, paths_of
from tokctl.analysis.explain.pre_tokens import pre_tokens_of
from tokctl.analysis.explain.ranks import Ranks
from tokctl.errors import TokctlError
from tokctl.model.parts import AddedToken, native_parts
from tokctl.tokenizer.sampling import check_nbest

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer

#: Symbols of one pre-token. An explanation holds every state in between, which is
#: quadratic, and nobody reads further.
LONGEST = 1000


@dataclass(frozen=True)
class MergedWord:
    """A pre-token that is segmented by merges.

    Attributes:
        data: the pre-token's bytes, normalized and rewritten.
        symbols: what it starts as, markers included; characters that fall back to bytes
            as the tokens of these.
        state: what it ends as; a symbol without an id as the character itself.
        tokens: the same as `encode` names it, with the unknown token where there is one,
            and unknown symbols side by side as one where the recipe fuses them.
        ids: None where a character has no id.
        whole: the pre-token is a token and stays whole, whatever the merges would make of
            it; there are no steps then.
        ranked: there is no history of merges: the steps are ranks of tokens.
        fallbacks: the characters that fell back to bytes, with their tokens.
    """

    data: bytes
    symbols: tuple[str, ...]
    steps: tuple[MergeStep, ...]
    state: tuple[str, ...]
    leftovers: tuple[Leftover, ...]
    tokens: tuple[str, ...]
    ids: tuple[int | None, ...]
    whole: bool = False
    ranked: bool = False
    fallbacks: tuple[tuple[str, tuple[str, ...]], ...] = ()


#: A pre-token and how it is segmented.
Word = MergedWord | MatchedWord | ScoredWord | LookedUpWord | FoundWord


@dataclass(frozen=True)
class Explanation:
    """How a text becomes tokens.

    Attributes:
        text: as it was given.
        segmentation: the recipe's, one of `tokctl.model.SEGMENTATIONS`.
        words: one for each pre-token, in order, and one for each added token that the
            text holds; but for these all are of one type.
        normalized: the text that was split, where the normalizers have changed it; None
            where they have not, and where an added token cuts the text before they see it.
    """

    text: str
    segmentation: str
    words: tuple[Word, ...]
    normalized: str | None = None

    @property
    def tokens(self) -> list[str]:
        """The tokens of all pre-tokens, as `encode` gives them."""
        return [token for word in self.words for token in word.tokens]


def explain(tokenizer: Tokenizer, word: str, nbest: int | None = None) -> Explanation:
    """How each pre-token of a word or text is split, and why not otherwise.

    Args:
        nbest: paths of each pre-token, the one that is taken among them (unigram); None
            for `tokctl.analysis.explain.paths.BEST`.

    Raises:
        TokctlError: a pre-token of over `LONGEST` symbols, where merges or scores segment
            it; text that the model can't read; `nbest` out of range, or of a model that
            has one segmentation.
    """
    if nbest is not None:
        check_nbest(tokenizer, nbest)
    data = tokenizer.as_bytes(word)
    words = tuple(_words(tokenizer, data, nbest or BEST))
    whole = not any(isinstance(found, FoundWord) for found in words)
    normalized = _normalized(tokenizer, data) if whole else None
    return Explanation(word, tokenizer.recipe.segmentation, words, normalized)


def _normalized(tokenizer: Tokenizer, data: bytes) -> str | None:
    """The text as the normalizers leave it, if that is another."""
    normalizers = tokenizer.recipe.normalizers
    if not normalizers:
        return None
    changed = normalize(native_parts(normalizers), data)
    return None if changed == data else changed.decode("utf-8", "backslashreplace")


def _words(tokenizer: Tokenizer, data: bytes, nbest: int) -> Iterator[Word]:
    encoding = tokenizer.encode(data)
    columns = zip(encoding.word_ids, encoding.tokens, encoding.raw_ids, strict=True)
    # What each pre-token has become; an added token that is found always counts as one.
    made: dict[int, list[tuple[str, int]]] = {}
    for number, name, id_ in columns:
        if number is not None:
            made.setdefault(number, []).append((name, id_))
    groups = iter(made.values())
    for found in pre_tokens_of(tokenizer, data):
        if isinstance(found, AddedToken):
            next(groups, None)
            yield FoundWord(found.text.encode(), found, (found.text,), (found.id,))
            continue
        tokens = next(groups, [])
        names = tuple(name for name, _ in tokens)
        ids = tuple(tokenizer.unk_id if id_ == NO_ID else id_ for _, id_ in tokens)
        yield _word(tokenizer, found, names, ids, nbest)


def _word(
    tokenizer: Tokenizer,
    data: bytes,
    names: tuple[str, ...],
    ids: tuple[int | None, ...],
    nbest: int,
) -> Word:
    """One pre-token, which the encoder has made these tokens of."""
    segmentation = tokenizer.recipe.segmentation
    if segmentation == "longest-match":
        return match_word(tokenizer, data)
    if segmentation == "viterbi":
        return ScoredWord(data, paths_of(tokenizer, data, nbest), names, ids)
    if segmentation in ("lookup", "symbols"):
        return look_up(tokenizer, data, names, ids)
    if tokenizer.recipe.whole_words and len(ids) == 1 and _is_token(tokenizer, data, ids[0]):
        return MergedWord(data, (), (), names, (), names, ids, whole=True)
    return _merge_word(tokenizer, data, names, ids)


def _is_token(tokenizer: Tokenizer, data: bytes, id_: int | None) -> bool:
    return id_ is not None and tokenizer.model.tokens[id_] == data


def _merge_word(
    tokenizer: Tokenizer, data: bytes, names: tuple[str, ...], final: tuple[int | None, ...]
) -> MergedWord:
    ids, lengths, _ = tokenizer.encoder.replay(data, 0)
    if len(ids) > LONGEST:
        raise TokctlError(
            f"a pre-token of {len(ids):,} symbols is too long to explain step by step",
            f"give a part of it, up to {LONGEST:,} symbols; encode splits it at any length",
        )
    symbols = name_symbols(tokenizer, data, ids, lengths)
    ranked = tokenizer.recipe.segmentation == "ranks"
    if ranked:
        rules = Ranks(tokenizer)
        word = Segmented(rules, False, ids, symbols)
        steps = tuple(word.steps(_by_rank(rules, word)))
    else:
        history = history_of(tokenizer)
        _, _, ranks = tokenizer.encoder.replay(data, len(history.merges))
        word = Segmented(history, tokenizer.recipe.segmentation == "replay", ids, symbols)
        merges = [history.merges[rank] for rank in ranks]
        pairs = [(merge.left, merge.right) for merge in merges]
        steps = tuple(word.steps(zip(ranks, pairs, strict=True)))
    fallbacks = tuple(_fallbacks(tokenizer, data, symbols, lengths))
    # No merge could ever join these, which says it all.
    of_bytes = {name for _, names in fallbacks for name in names}
    return MergedWord(
        data=data,
        symbols=tuple(symbols),
        steps=steps,
        state=tuple(word.names),
        leftovers=tuple(
            rest for rest in word.leftovers() if not of_bytes & {rest.left, rest.right}
        ),
        tokens=names,
        ids=final,
        ranked=ranked,
        fallbacks=fallbacks,
    )


def _by_rank(rules: Ranks, word: Segmented) -> Iterator[tuple[int, Pair]]:
    """The pairs that merge, each looked for when those before it are merged."""
    while found := rules.lowest(word.ids):
        yield found


def _fallbacks(
    tokenizer: Tokenizer, data: bytes, symbols: Sequence[str], lengths: Sequence[int]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The characters that have become the tokens of their bytes."""
    if not tokenizer.recipe.byte_fallback:
        return
    at = 0
    symbol = 0
    while symbol < len(symbols):
        byte = f"<0x{data[at]:02X}>" if at < len(data) else ""
        if lengths[symbol] == 1 and symbols[symbol] == byte:
            # A character of n bytes begins here, and has n symbols.
            first = data[at]
            size = 1 if first < 0x80 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4
            yield data[at : at + size].decode(), tuple(symbols[symbol : symbol + size])
            at += size
            symbol += size
        else:
            at += lengths[symbol]
            symbol += 1
