"""Documents about one token (origin, later merges, use) and about all tokens of a text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from math import exp
from typing import Any

from tokctl.analysis.explain import (
    MergeTree,
    PieceScore,
    Share,
    TextUse,
    TokenHistory,
    TokenUse,
)
from tokctl.core.humanize import percent, plural
from tokctl.report.document import (
    Block,
    Column,
    Content,
    Figure,
    Gap,
    Heading,
    Inline,
    Name,
    Paragraph,
    Report,
    Span,
    Table,
    Tokens,
    Tree,
    text_or_bytes,
)
from tokctl.report.inspect.training import (
    FITTING,
    decimal,
    merge_data,
    scored,
    told_of,
)
from tokctl.report.inspect.words import added_data, how_found, path_names, why_removed
from tokctl.report.visible import brief, decoded

#: Most tokens on a terminal of one word, or of the segmentation that would replace a piece.
_LONGEST = 60
#: Most tokens of each list on a terminal.
_FEW = 12


# One token.


def token(history: TokenHistory, limit: int | None, use: TokenUse | None = None) -> Report:
    """Return the document of one token: its origin, the tokens made with it, its use in a text.

    Args:
        history: origin of the token, and the tokens made with it.
        limit: most tokens made with it, and most words, to show; None shows all in JSON, and a
            screenful elsewhere.
        use: use of the token in a text; None without a text.
    """
    return Report(
        "inspect",
        "Token",
        lambda: _token_blocks(history, limit or FITTING, use),
        lambda: _token_data(history, limit, use),
    )


def _token_blocks(token: TokenHistory, limit: int, use: TokenUse | None) -> Iterator[Block]:
    """Yield facts, use in a text, the merge tree, and the first `limit` tokens made with it."""
    what = "no id, removed" if token.id is None else f"id {token.id:,}, {token.kind}"
    yield Paragraph([Span(brief(token.token), "bold"), f"  {what}"])
    size = f"{plural(len(token.data), 'byte')}: {_hexadecimal(token.data)}"
    yield Paragraph(size + _spelled(token), "dim")
    if token.kind == "byte":
        yield Paragraph("Stands for that byte of characters that have no token.")
    if token.added:
        yield Paragraph(f"Found {how_found(token.added)}.")
    for removal in token.removals:
        when = "the training, a residue" if removal.residue else f"step {removal.step:,}"
        yield Paragraph(f"Removed after {when}: {why_removed(removal)}.")
    if token.piece_score:
        yield from _piece_score_blocks(token.piece_score)
    if token.training_count:
        counted = token.training_count
        place = f"place {counted.place:,} of {counted.tokens:,}"
        yield Paragraph(f"Counted {plural(counted.count, 'time')} in training, {place}.")
    if use:
        yield Gap()
        yield from _token_use_blocks(use, limit)
    if token.merge:
        yield Gap()
        yield _tree(token)
    for merge in token.again:
        pair = f"{brief(merge.left)} + {brief(merge.right)}"
        yield Paragraph(f"made again at step {merge.step:,}: {pair}")
    if not token.uses:
        if token.kind in ("alphabet", "merged", "other"):
            yield Gap()
            yield Paragraph("No other token is made with it.", "dim")
        return
    yield Gap()
    yield Paragraph(f"{plural(len(token.uses), 'token')} made with it:")
    yield _uses_table(token, limit)
    if len(token.uses) > limit:
        more = f"{len(token.uses) - limit:,} more: --limit {len(token.uses)} shows all"
        yield Paragraph(more, "dim")


def _piece_score_blocks(piece: PieceScore) -> Iterator[Block]:
    figures = f"score {scored(piece.score)}, probability {exp(piece.score):.4g}"
    yield Paragraph(f"{figures}, place {piece.place:,} of {plural(piece.pieces, 'piece')}")
    if piece.instead is None or piece.gain is None:
        yield Paragraph("There is no other way to write its text.", "dim")
        return
    others = Tokens(path_names(piece.instead), (), _LONGEST)
    score = Span(f"  score {scored(piece.instead.score)}", "dim")
    yield Paragraph(["without it: ", others, score])
    if piece.gain < 0:
        yield Paragraph(f"It scores {scored(-piece.gain)} less than that: it is never taken.")
    else:
        cost = scored(piece.gain)
        yield Paragraph(f"Dropping it would cost {cost} nats each time it is taken.")


def _spelled(token: TokenHistory) -> str:
    """Return the text of the bytes if the token does not show it: `âĢľ` is a quotation mark."""
    try:
        text = token.data.decode()
    except UnicodeDecodeError:
        return ", no whole characters"
    return "" if text == token.token else f", the text “{brief(text)}”"


def _hexadecimal(data: bytes) -> str:
    return data[:24].hex(" ") + (" …" if len(data) > 24 else "")


def _step_name(token: TokenHistory) -> str:
    """Return the name of a merge's number: "rank" or "step"."""
    return "rank" if token.ranked else "step"


def _tree(token: TokenHistory) -> Tree:
    merges = {merge.step: merge for merge in token.merges}

    def label(node: MergeTree) -> Content:
        parts: list[Inline] = [Span(brief(node.token), "bold" if node.parts else "")]
        merge = merges.get(node.step or 0)
        if merge:
            parts.append(Span(f"  {_step_name(token)} {merge.step:,}", "dim"))
            facts = told_of(merge, f"≈ {decimal(merge)}")
            parts += [Span(f", {fact}", "dim") for fact in facts]
        return parts

    return Tree(token.tree, label)


def _uses_table(token: TokenHistory, limit: int) -> Table:
    columns = (
        Column(_step_name(token), right=True),
        Column("left", right=True, fold=True),
        Column("right", fold=True),
        Column("token", fold=True, style="bold"),
    )
    own = token.token
    rows: list[list[Content]] = []
    for use in token.uses[:limit]:
        sides = (use.partner, own) if use.side == "right" else (own, use.partner)
        rows.append([Figure(use.step), *map(Name, sides), Name(use.result)])
    return Table(columns, rows, has_head=True)


def _token_data(token: TokenHistory, limit: int | None, use: TokenUse | None) -> dict[str, Any]:
    """Return the data for JSON.

    The tree becomes a list of merges, because it can be deeper than JSON readers allow.
    """
    text = {} if use is None else {"text": _token_use_data(use, limit)}
    return text | {
        "token": token.token,
        "id": token.id,
        "stands_for": text_or_bytes(token.data),
        "kind": token.kind,
        "added": token.added and added_data(token.added),
        "worth": token.piece_score,
        "counted": token.training_count,
        "ranked": token.ranked,
        "merge": token.merge and merge_data(token.merge),
        "again": list(map(merge_data, token.again)),
        "merges": list(map(merge_data, token.merges)),
        "removals": token.removals,
        "uses": token.uses[:limit],
    }


def _token_use_data(use: TokenUse, limit: int | None) -> dict[str, Any]:
    return {
        "uses": use.uses,
        "place": use.place,
        "tokens_used": use.used,
        "tokens": use.tokens,
        "words_in_all": len(use.words),
        "words": [
            {
                "word": text_or_bytes(word.data),
                "count": word.count,
                "uses": word.uses,
                "tokens": word.tokens,
            }
            for word in use.words[:limit]
        ],
    }


def _token_use_blocks(use: TokenUse, limit: int) -> Iterator[Block]:
    """Yield how often a text uses a token, and up to `limit` words that use it."""
    if not use.uses:
        yield Paragraph(f"Never used in the text, which has {plural(use.tokens, 'token')}.")
        return
    share = f"{_share(use.uses, use.tokens)} of its {plural(use.tokens, 'token')}"
    place = f"place {use.place:,} of the {plural(use.used, 'token')} that it uses"
    yield Paragraph(f"Used {plural(use.uses, 'time')} in the text, {share}: {place}.")
    rows: list[list[Content]] = []
    for word in use.words[:limit]:
        times = word.uses // word.count
        often = f"{word.count:,}" + (f", {times} each" if times > 1 else "")
        rows.append([often, Name(decoded(word.data)), Tokens(word.tokens, (), _LONGEST)])
    names = ("word", "tokens")
    yield Table(
        (Column(right=True, field="count"), *(Column(fold=True, field=n) for n in names)), rows
    )
    if len(use.words) > limit:
        more = plural(len(use.words) - limit, "more word")
        yield Paragraph(f"{more}: --limit {len(use.words)} shows all", "dim")


# The tokens of a text.


def use(found: TextUse, limit: int | None) -> Report:
    """Return the document of the tokens that a text uses.

    Args:
        found: uses of the tokens in the text.
        limit: most tokens of each list; None shows a few.
    """
    return Report(
        "inspect",
        "Tokens that a text uses",
        lambda: _use_blocks(found, limit or _FEW),
        lambda: _use_data(found),
    )


def _use_blocks(use: TextUse, limit: int) -> Iterator[Block]:
    """Yield the share of the vocabulary in use, and the tokens used most, least and never."""
    used = f"the text uses {use.used:,} of the {use.emittable:,} that it could"
    share = _share(use.used, use.emittable)
    yield Paragraph(f"{plural(use.tokens, 'token')}; {used}: {share}.", "bold")
    if use.unknown:
        share = _share(use.unknown, use.tokens)
        yield Paragraph(f"{plural(use.unknown, 'token')} unknown, {share} of all.")
    for title, tokens in (
        ("most frequent", use.frequent),
        ("rarest of those used", use.rarest),
    ):
        if tokens:
            yield Heading(title)
            yield _counted_table(tokens[:limit], use.tokens)
    if use.never_count:
        yield Heading(f"never used: {use.never_count:,}")
        more = use.never_count - len(use.never)
        left_out = [Span(f", … {more:,} more", "dim")] if more else []
        yield Paragraph([", ".join(map(brief, use.never)), *left_out])
    for title, groups in _groups(use):
        yield Heading(title)
        yield _shares_table(groups, use.tokens)


def _use_data(use: TextUse) -> dict[str, Any]:
    data = asdict(use)
    for name in ("frequent", "rarest"):
        data[name] = [{"token": token, "uses": uses} for token, uses in data[name]]
    lengths = {str(length): share for length, share in data["lengths"].items()}
    return data | {"lengths": {"unit": data.pop("unit"), "tokens": lengths}}


def _groups(use: TextUse) -> Iterator[tuple[str, Mapping[str, Share]]]:
    yield "by place in the word", use.places
    yield "by content", use.contents
    yield "by script", use.scripts
    yield f"by length in {use.unit}", {str(length): own for length, own in use.lengths.items()}


def _counted_table(tokens: Iterable[tuple[str, int]], total: int) -> Table:
    columns = (
        Column(right=True, field="uses"),
        Column(right=True, style="dim", field="share"),
        Column(fold=True, field="token"),
    )
    rows: list[list[Content]] = [
        [Figure(uses), Figure(uses / total, "percent2"), Name(token)] for token, uses in tokens
    ]
    return Table(columns, rows)


def _shares_table(groups: Mapping[str, Share], total: int) -> Table:
    columns = (
        Column(fold=True, field="group"),
        Column("tokens", right=True),
        Column("used", right=True),
        Column(right=True, field="share used"),
        Column("uses", right=True),
        Column(right=True, field="share of uses"),
    )
    rows: list[list[Content]] = [
        [
            group,
            *(Figure(share.tokens), Figure(share.used), _share_cell(share.used, share.tokens)),
            *(Figure(share.uses), _share_cell(share.uses, total)),
        ]
        for group, share in groups.items()
    ]
    return Table(columns, rows, has_head=True)


def _share_cell(part: int, whole: int) -> Content:
    return Figure(part / whole, "percent", style="dim") if whole else Span("none", "dim")


def _share(part: int, whole: int) -> str:
    return percent(part / whole) if whole else "none"
