"""Explanations of how words are split, as documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from fractions import Fraction
from typing import Any

from tokctl.analysis.explain import (
    Candidate,
    Explanation,
    FoundWord,
    Leftover,
    LookedUpWord,
    Match,
    MatchedWord,
    MergedWord,
    MergeStep,
    Path,
    PathPiece,
    RefinedWord,
    RemovalRecord,
    ScoredWord,
    Word,
)
from tokctl.core.humanize import percent, plural
from tokctl.model.parts import AddedToken
from tokctl.report.document import (
    Block,
    Column,
    Content,
    Figure,
    Gap,
    Inline,
    Name,
    Paragraph,
    Report,
    Span,
    Table,
    Tokens,
    text_or_bytes,
)
from tokctl.report.inspect.training import decimal, merge_data, told_of
from tokctl.report.visible import brief, decoded, visible

#: Losing pairs shown per step on a terminal.
_LOSERS = 5
#: Most tokens of one state or path on a terminal.
_TOKENS = 200


def word(explanation: Explanation) -> Report:
    """Return the document that explains how the words of a text are split."""
    return Report(
        "inspect",
        "How a word is split",
        lambda: _blocks(explanation),
        lambda: {
            # A text from the command line can contain bytes that are not UTF-8.
            "word": text_or_bytes(explanation.text.encode("utf-8", "surrogateescape")),
            "segmentation": explanation.segmentation,
            "normalized": explanation.normalized,
            "words": [
                {"pre_token": text_or_bytes(word.data)}
                | _data(word)
                | {"tokens": word.tokens, "ids": word.ids}
                for word in explanation.words
            ],
        },
    )


def _blocks(explanation: Explanation) -> Iterator[Block]:
    if explanation.normalized is not None:
        normalized = Span(brief(explanation.normalized), "not dim")
        yield Paragraph(["normalized  ", normalized], "dim")
    if not explanation.words:
        nothing = "The pre-tokenizer leaves nothing of this text: it has no tokens."
        yield Paragraph(nothing if explanation.text else "An empty text has no tokens.")
    for place, word in enumerate(explanation.words):
        if place or explanation.normalized is not None:
            yield Gap()
        title = f"{brief(visible(decoded(word.data)))}  "
        yield Paragraph([title, Tokens(word.tokens, (), _TOKENS)], "bold")
        match word:
            case MergedWord():
                yield from _merged_blocks(word)
            case RefinedWord():
                yield from _refined_blocks(word)
            case MatchedWord():
                yield from _matched_blocks(word)
            case ScoredWord():
                yield from _scored_blocks(word)
            case LookedUpWord():
                yield from _looked_up_blocks(word)
            case FoundWord():
                how = f"  an added token, found {how_found(word.added)}, before the model segments"
                yield Paragraph(how, "dim")


def _data(word: Word) -> dict[str, Any]:
    match word:
        case MergedWord():
            return _merged_data(word)
        case RefinedWord():
            return {"whole": word.whole, "symbols": word.symbols, "steps": word.steps}
        case MatchedWord():
            return {"matches": word.matches, "failure": word.failure}
        case ScoredWord():
            return {"paths": word.paths}
        case LookedUpWord():
            return {"unit": word.unit, "lookups": word.lookups}
        case FoundWord():
            return {"added": added_data(word.added)}


# Words that are segmented by merges.

#: Columns of a list of steps.
_STEPS = (
    Column(right=True, field="step"),
    Column(fold=True, field="what"),
    Column(fold=True, field="tokens"),
)

_WHOLE = "it is a token, and stays whole: no merge is tried"


def _merged_blocks(word: MergedWord) -> Iterator[Block]:
    if word.whole:
        yield Paragraph(f"  {_WHOLE}", "dim")
        return
    rows: list[list[Content]] = [
        ["", Span(f"{brief(character)} has no token", "dim"), Tokens(tokens, (), _TOKENS)]
        for character, tokens in word.fallbacks
    ]
    rows.append(["", Span(_symbols(word), "dim"), Tokens(word.symbols, (), _TOKENS)])
    rows += [_step_cells(word, step) for step in word.steps]
    yield Table(_STEPS, rows)
    for rest in word.leftovers:
        pair = f"{brief(rest.left)} + {brief(rest.right)}"
        why = Span(f"  {_why_not(word, rest)}", "dim")
        yield Paragraph(["  not merged: ", pair, why], "dim")


def _symbols(word: MergedWord) -> str:
    """Return the name of the units that the merges start from."""
    return "words" if word.joined else "symbols"


def _step_cells(word: MergedWord, step: MergeStep) -> list[Content]:
    merge = step.merge
    times = f", {len(step.places)} times" if len(step.places) > 1 else ""
    pair: list[Inline] = [f"{brief(merge.left)} + {brief(merge.right)}{times}"]
    score = f"{merge.score} ≈ {decimal(merge)}"
    pair += [Span(f"\n{fact}", "dim") for fact in told_of(merge, score)]
    # Each merge further left in the word has moved this one left by one token.
    made = [place - earlier for earlier, place in enumerate(step.places)]
    tokens: list[Inline] = [Tokens(step.state, made, _TOKENS)]
    if step.losers:
        tokens.append(Span(f"\nlater: {_losers(word, step.losers)}", "dim"))
    return [Figure(merge.step), pair, tokens]


def _losers(word: MergedWord, losers: Sequence[Candidate]) -> str:
    label = "rank" if word.ranked else "step"
    pairs = [
        f"{brief(pair.left)} + {brief(pair.right)} ({label} {pair.step:,})"
        for pair in losers[:_LOSERS]
    ]
    if len(losers) > _LOSERS:
        pairs.append(f"{len(losers) - _LOSERS} more")
    return ", ".join(pairs)


def _why_not(word: MergedWord, rest: Leftover) -> str:
    if rest.reason == "unknown":
        lacking = dict.fromkeys(map(brief, rest.lacks))
        return f"{' and '.join(lacking)} {'is' if len(lacking) == 1 else 'are'} not in the alphabet"
    if rest.reason == "passed":
        return f"came up after step {rest.step:,}, which merges them"
    if word.ranked:
        return "no token is spelled so"
    why = "never merged in training"
    if other := rest.instead:
        pair = f"{brief(other.left)} + {brief(other.right)}"
        why += f"; {brief(other.token)} is made of {pair} at step {other.step:,}"
    return why


def _merged_data(word: MergedWord) -> dict[str, Any]:
    steps = [
        {
            "merge": merge_data(step.merge),
            "places": step.places,
            "later": step.losers,
            "state": step.state,
        }
        for step in word.steps
    ]
    rests = [
        asdict(rest) | {"instead": rest.instead and merge_data(rest.instead)}
        for rest in word.leftovers
    ]
    return {
        "whole": word.whole,
        "ranked": word.ranked,
        "joined": word.joined,
        "symbols": word.symbols,
        "byte_fallback": [{"text": text, "tokens": tokens} for text, tokens in word.fallbacks],
        "steps": steps,
        "not_merged": rests,
    }


# Words that go through merges and removals.


def why_removed(removal: RemovalRecord) -> str:
    """Return why the training removed a token."""
    count, whole = removal.count, removal.whole
    if removal.residue:
        whole_times = plural(whole, "occurrence")
        return f"{count:,} of {whole_times} outside longer tokens (FI ratio {count / whole:.4g})"
    if removal.scaffold:
        return f"it occurred {plural(count, 'time')}, and what came next {whole:,} times"
    share = Fraction(count, whole)
    ios = "1" if share == 1 else f"{float(share):.4g}"
    return f"{count:,} of {whole:,} had become part of {brief(removal.by or '')} (IoS {ios})"


def _refined_blocks(word: RefinedWord) -> Iterator[Block]:
    if word.whole:
        yield Paragraph(f"  {_WHOLE}", "dim")
        return
    rows: list[list[Content]] = [["", Span("symbols", "dim"), Tokens(word.symbols, (), _TOKENS)]]
    for step in word.steps:
        what: list[Inline] = [" + ".join(map(brief, step.parts))]
        if step.apart:
            what = [f"{brief(step.token)} taken apart"]
            if step.removal:
                since = ""
                if step.removal.residue:
                    since = "a residue: "
                elif step.removal.scaffold:
                    since = f"a scaffold token since step {step.removal.step:,}: "
                what.append(Span(f"\n{since}{why_removed(step.removal)}", "dim"))
        elif step.count is not None:
            what.append(Span(f"\ncount {step.count:,}", "dim"))
        number = "" if step.step is None else Figure(step.step)
        rows.append([number, what, Tokens(step.state, step.places, _TOKENS)])
    yield Table(_STEPS, rows)


# Words that are segmented by longest match.


#: Columns of a list of pieces of a word.
_PIECES = (Column(fold=True, field="piece"), Column(fold=True, style="dim", field="note"))


def _matched_blocks(word: MatchedWord) -> Iterator[Block]:
    rows: list[list[Content]] = [
        [Name(match.stretch), "no token fits: unknown"]
        if match.token is None
        else [Tokens([match.token], (), 1), _tried(match)]
        for match in word.matches
    ]
    if rows:
        yield Table(_PIECES, rows)
    if word.failure:
        yield Paragraph(f"{_failure(word)}.")


def _tried(match: Match) -> str:
    if not match.longer_count:
        return "nothing longer is left"
    longer = list(map(brief, match.longer))
    if match.longer_count > len(longer):
        longer.insert(1, "…")
    return f"no token: {', '.join(longer)}"


def _failure(word: MatchedWord) -> str:
    failure = word.failure
    assert failure is not None
    if failure.reason == "too-long":
        return (
            f"{plural(failure.characters, 'character')}; words of more than {failure.limit:,} "
            "are unknown as a whole"
        )
    where = "nothing fits" if failure.rest == word.data.decode() else "nothing fits the rest"
    return f"{where}, {visible(failure.rest)}: the whole word is unknown"


# Words that are segmented by the scores of pieces.


def _scored_blocks(word: ScoredWord) -> Iterator[Block]:
    taken, *others = word.paths
    rows: list[list[Content]] = [
        [Figure(piece.score, "score"), *_piece_cells(piece)] for piece in taken.pieces
    ]
    if len(taken.pieces) > 1:
        rows.append([Figure(taken.score, "score"), Span("in all", "dim"), ""])
    yield Table((Column(right=True, field="score"), *_PIECES), rows)
    if taken.probability is not None:
        share = percent(taken.probability, 2)
        yield Paragraph(f"{share} of all ways to write it, by probability", "dim")
    if not others:
        yield Paragraph("There is no other way.", "dim")
        return
    and_share = "" if taken.probability is None else ", and their probability"
    yield Paragraph(f"The next best, and how much less{and_share}:", "dim")
    yield Table(
        (
            Column(right=True, field="less"),
            Column(right=True, field="probability"),
            Column(fold=True, field="tokens"),
        ),
        [
            [
                Figure(-path.behind, "score"),
                "" if path.probability is None else Figure(path.probability, "percent2"),
                Tokens(path_names(path), (), _TOKENS),
            ]
            for path in others
        ],
    )
    if taken.probability is not None:
        rest = 1 - sum(path.probability or 0 for path in word.paths)
        if rest > 1e-6:
            left = f"All other ways together have {percent(rest, 2)}; --nbest N shows more."
            yield Paragraph(left, "dim")


def _piece_cells(piece: PathPiece) -> list[Content]:
    if piece.token is not None:
        return [Tokens([piece.token], (), 1), ""]
    if piece.fallback:
        note = f"{brief(piece.text)} has no piece: its bytes, and the penalty"
        return [Tokens(piece.fallback, (), _TOKENS), note]
    return [Name(piece.text), "no piece: the penalty"]


def path_names(path: Path) -> list[str]:
    """Return the tokens of a path; an unknown character stands for itself."""
    found: list[str] = []
    for piece in path.pieces:
        found += [piece.token or piece.text] if not piece.fallback else piece.fallback
    return found


# Words and characters that are looked up, and added tokens.


def _looked_up_blocks(word: LookedUpWord) -> Iterator[Block]:
    rows: list[list[Content]] = []
    for lookup in word.lookups[:_TOKENS]:
        if lookup.token is None:
            rows.append([Name(lookup.text), f"unknown: {_missing(word)}"])
        else:
            count = "" if lookup.count is None else f"counted {plural(lookup.count, 'time')}"
            rows.append([Tokens([lookup.token], (), 1), count])
    yield Table(_PIECES, rows)
    if len(word.lookups) > _TOKENS:
        yield Paragraph(f"… {len(word.lookups) - _TOKENS:,} more", "dim")


def _missing(word: LookedUpWord) -> str:
    return f"none of the {plural(word.size, word.unit)} that have a token"


def how_found(token: AddedToken) -> str:
    """Return when and in which text an added token is found, in words."""
    parts = ["where the caller allows it" if token.special else "always"]
    parts.append("in the normalized text" if token.normalized else "in the text as given")
    if token.single_word:
        parts.append("between no word characters")
    strips = {"left": token.strip_left, "right": token.strip_right}
    sides = [side for side, strip in strips.items() if strip]
    if sides:
        parts.append(f"with the white space on the {' and '.join(sides)}")
    return ", ".join(parts)


def added_data(token: AddedToken) -> dict[str, Any]:
    """Return an added token for JSON."""
    return {name: getattr(token, name) for name in AddedToken.__annotations__}
