"""The pictures of docs/tutorial, drawn from what tokctl's trainers and encoders give.

    python -m tests.tools.docs.pictures            # says which pictures are stale
    python -m tests.tools.docs.pictures --write    # draws them

Each is one SVG that needs nothing else: no script, no font to fetch. It has its own background, so
that it can be read on any page, follows the reader's light or dark theme, and has a title and a
description for those who do not see it. Tokens are boxes with an edge, and what is new has a
thicker one: nothing is told by colour alone. What moves keeps still where a reader asks for that.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from string import Template
from unicodedata import east_asian_width
from xml.etree import ElementTree

from tests.metrics.models import document
from tests.tools.docs.tutorial import BOOK, FOLDER
from tokctl import Tokenizer, preset
from tokctl.analysis.explain import ScoredWord, count_pre_tokens, read_counts
from tokctl.analysis.replay import LeadingPair, MergeReplay
from tokctl.model import Marker, Recipe, byte_level
from tokctl.model.presets import BPE, DEFAULTS, UNIGRAM
from tokctl.report.visible import visible
from tokctl.sources import Document, documents
from tokctl.sources.corpora import corpus_path

PICTURES_FOLDER = FOLDER / "pictures"

# -- Drawing -------------------------------------------------------------------------------------

WIDTH = 720
MARGIN = 24
#: Of a character of the monospaced font, in parts of its size: a little more than most fonts take.
_CELL = 0.615
#: Sizes of the text in a box, and the looks that have them.
_SIZES = {12: "small ", 14: "", 16: "big "}
#: Left and right of a token's text, inside its box.
_PADDING = 5

#: What a theme decides. No variables of CSS: some programs that show SVG don't know them.
_THEMED = Template("""
text { fill: $ink; } .q { fill: $quiet; } .b .q { fill: $ink; } .no { fill: $strong; }
.card, .b rect { fill: $card; stroke: $edge; } .mark { fill: $grid; } .count { fill: $quiet; }
.t0 rect, .bar { fill: $f0; stroke: $s0; } .t1 rect { fill: $f1; stroke: $s1; }
.t2 rect { fill: $f2; stroke: $s2; } .t3 rect { fill: $f3; stroke: $s3; }
.new rect, .best { fill: $new; stroke: $ink; }
.l { stroke: $quiet; } .g { stroke: $grid; } .l0 { stroke: $s0; } .l1 { stroke: $s1; }
.wrong { stroke: $strong; }
""")
#: Fills (`f`) and edges (`s`) of neighbouring tokens are shades of the colours of Okabe and Ito,
#: which differ for every kind of colour vision.
_LIGHT = {
    "card": "#fcfcfd", "edge": "#c9c9d2", "ink": "#1b1b20", "quiet": "#565661",
    "grid": "#e6e6ec", "new": "#ffd34d", "strong": "#b34700",
    "f0": "#d3e8f8", "f1": "#fbe6bd", "f2": "#cfeddf", "f3": "#f3dbe8",
    "s0": "#0066a4", "s1": "#a06400", "s2": "#007a59", "s3": "#a0467a",
}  # fmt: skip
_DARK = {
    "card": "#16171b", "edge": "#5a5b66", "ink": "#ececf0", "quiet": "#a9aab5",
    "grid": "#2c2d34", "new": "#7a5b00", "strong": "#ff9d5c",
    "f0": "#173d59", "f1": "#574006", "f2": "#0e4938", "f3": "#532f47",
    "s0": "#5db8ee", "s1": "#e8a628", "s2": "#35c79c", "s3": "#dc92bd",
}  # fmt: skip
_STYLE = f"""
text {{ font: 14px system-ui, "Segoe UI", "Helvetica Neue", Arial, "DejaVu Sans", sans-serif; }}
.m, .b text {{ font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono",
 "Noto Sans Mono CJK JP", monospace; }}
.h {{ font-size: 17px; font-weight: 600; }} .w, .new text {{ font-weight: 700; }}
.q {{ font-size: 13px; }} .small text {{ font-size: 12px; }} .big text {{ font-size: 16px; }}
.e {{ text-anchor: end; }} .c, .b text {{ text-anchor: middle; }}
.l, .g, .l0, .l1, .wrong {{ fill: none; }} .l0, .l1, .best, .new rect {{ stroke-width: 2.5; }}
.l1 {{ stroke-dasharray: 7 4; }} .wrong {{ stroke-width: 2; stroke-dasharray: 5 3; }}
{_THEMED.substitute(_LIGHT)}
@media (prefers-color-scheme: dark) {{ {_THEMED.substitute(_DARK)} }}
"""


def wide(text: str, size: float = 14) -> float:
    """The width of a monospaced text, in pixels."""
    cells = sum(2 if east_asian_width(char) in "WF" else 1 for char in text)
    return cells * size * _CELL


class Picture:
    """An SVG that is being drawn. Places are in pixels from the upper left corner; a text's is
    the left end (with the look `e` the right end, with `c` the middle) of its base line."""

    def __init__(self, title: str, description: str, *, style: str = "") -> None:
        """
        Args:
            title: what is seen first, and what a screen reader says first.
            description: all that there is to see, in words.
            style: CSS of this picture's own.
        """
        self.root = ElementTree.Element(
            "svg", {"xmlns": "http://www.w3.org/2000/svg", "role": "img"}
        )
        self.root.set("aria-labelledby", "title description")
        self.add("title", id="title").text = title
        self.add("desc", id="description").text = " ".join(description.split())
        self.add("style").text = _STYLE + style
        self._card = self.add("rect", "card", x=0.5, y=0.5, width=WIDTH - 1, rx=8)
        self.text(MARGIN, 34, title, "h")

    def add(
        self, tag: str, look: str = "", inside: ElementTree.Element | None = None, **places: object
    ) -> ElementTree.Element:
        """An element, inside another or on the picture itself."""
        given = {
            name.replace("_", "-"): f"{round(value, 1):g}"
            if isinstance(value, float)
            else f"{value}"
            for name, value in places.items()
        }
        attributes = {"class": look, **given} if look else given
        return ElementTree.SubElement(self.root if inside is None else inside, tag, attributes)

    def group(self, look: str) -> ElementTree.Element:
        """What belongs together, and can be shown and hidden."""
        return self.add("g", look)

    def text(
        self,
        x: float,
        y: float,
        text: object,
        look: str = "",
        inside: ElementTree.Element | None = None,
    ) -> None:
        """A line of text."""
        self.add("text", look, inside, x=float(x), y=float(y)).text = f"{text}"

    def box(
        self,
        x: float,
        y: float,
        token: str,
        look: str = "",
        *,
        width: float | None = None,
        size: int = 14,
        inside: ElementTree.Element | None = None,
    ) -> float:
        """A token in its box, its base line at `y`; the box's right end."""
        width = wide(token, size) + 2 * _PADDING if width is None else width
        outer = self.add("g", f"b {_SIZES[size]}{look}".strip(), inside)
        height = size + 9
        self.add(
            "rect", "", outer, x=float(x), y=y - size - 2, width=float(width), height=height, rx=4
        )
        self.text(x + width / 2, y, token, "", outer)
        return x + width

    def row(
        self,
        x: float,
        y: float,
        tokens: Iterable[str],
        made: Sequence[int] = (),
        *,
        size: int = 14,
        limit: float = WIDTH - MARGIN,
        inside: ElementTree.Element | None = None,
    ) -> tuple[float, float]:
        """Tokens side by side, those at the places `made` as new; on more lines where they reach
        the limit. The right end and the base line of the last one."""
        at = x
        for place, token in enumerate(tokens):
            if at + wide(token, size) + 2 * _PADDING > limit:
                at, y = x, y + size + 18
            look = "new" if place in made else f"t{place % 4}"
            at = self.box(at, y, token, look, size=size, inside=inside) + 4
        return at - 4, y

    def line(self, look: str, *points: tuple[float, float]) -> None:
        """A line through these points."""
        path = " ".join(f"{round(x, 1):g} {round(y, 1):g}" for x, y in points)
        self.add("path", look, d=f"M{path}")

    def arrow(self, x: float, y: float, length: float) -> None:
        """An arrow to the right."""
        self.line("l", (x, y), (x + length, y))
        self.line("l", (x + length - 6, y - 4), (x + length, y), (x + length - 6, y + 4))

    def finished(self, height: float) -> str:
        """The file's text."""
        self._card.set("height", f"{height - 1:g}")
        self.root.set("viewBox", f"0 0 {WIDTH} {height:g}")
        self.root.set("width", f"{WIDTH}")
        self.root.set("height", f"{height:g}")
        ElementTree.indent(self.root, "")
        return ElementTree.tostring(self.root, encoding="unicode") + "\n"


# -- What is drawn -------------------------------------------------------------------------------

#: The words of pages 1 to 3.
LOW = "low " * 5 + "lower " * 2 + "newest " * 6 + "widest " * 3 + "longer"


def _replay(recipe: Recipe, size: int, *sources: Document) -> MergeReplay:
    """A training, and the way to look at each of its steps."""
    tokenizer = Tokenizer.train(sources, vocab_size=size, recipe=recipe)
    return MergeReplay(tokenizer, count_pre_tokens(tokenizer, sources))


def _whole_words(name: str, marker: Marker | None = None, **options: str) -> Recipe:
    """A preset that cuts at white space."""
    recipe = replace(preset(name), pre_tokenizers="whitespace", normalizers=(), **options)
    return recipe if marker is None else replace(recipe, marker=marker)


def words_and_symbols() -> str:
    replay = _replay(_whole_words("notebook-bpe", Marker("none")), 100, document(LOW))
    words = replay.goto(0).words
    symbols = {symbol for word in words for symbol in word.tokens}
    counted = ", ".join(f"{''.join(word.tokens)} {word.count} times" for word in words)
    total = sum(word.count for word in words)
    picture = Picture(
        "What training reads: words, their counts, their symbols",
        f"""A text of {total} words is cut at white space and counted: {counted}. Each word is then
        spelled as its characters: {len(symbols)} different symbols.""",
    )
    picture.text(MARGIN, 66, "the text, cut into words", "q")
    at, y = float(MARGIN), 94.0
    for spelled in LOW.split():
        if at + wide(spelled) > WIDTH - MARGIN:
            at, y = float(MARGIN), y + 30
        at = picture.box(at, y, spelled) + 7
    y += 50
    for x, head in ((MARGIN, "distinct word"), (150, "count"), (390, "symbols")):
        picture.text(x, y, head, "q")
    for word in words:
        y += 34
        picture.box(MARGIN, y, "".join(word.tokens))
        picture.text(168, y, word.count, "e w")
        for place in range(word.count):
            picture.add("rect", "count", x=178 + 18 * place, y=y - 13, width=14, height=16, rx=2)
        picture.arrow(310, y - 5, 60)
        at = 390.0
        for symbol in word.tokens:
            at = picture.box(at, y, symbol, "t0") + 4
    y += 40
    told = f"{total} words, {len(words)} distinct, spelled with {len(symbols)} symbols: "
    picture.text(MARGIN, y, told + " ".join(sorted(symbols)), "q")
    return picture.finished(y + 22)


#: Seconds that each step of the replay is shown.
_PACE = 2


def bpe() -> str:
    replay = _replay(_whole_words("notebook-bpe", Marker("end", "_")), 21, document(LOW))
    frames = [replay.goto(step) for step in range(replay.total + 1)]
    numbers = sorted(word.number for word in frames[0].words)
    initial = {word.number: word.tokens for word in frames[0].words}
    merges = [frame.merge for frame in frames if frame.merge]
    shown = len(frames) + 1  # the last one twice as long
    style = f"""
.frame {{ opacity: 0; }} .last {{ opacity: 1; }}
@media (prefers-reduced-motion: no-preference) {{
 .frame {{ animation: one {_PACE * shown}s step-end infinite; }} .last {{ animation-name: two; }} }}
@keyframes one {{ 0% {{ opacity: 1; }} {100 / shown:.3f}% {{ opacity: 0; }} }}
@keyframes two {{ 0% {{ opacity: 1; }} {200 / shown:.3f}% {{ opacity: 0; }} }}
"""
    told = "; ".join(
        f"{step}. {one.left} and {one.right} become {one.token}, {one.count} times"
        for step, one in enumerate(merges, 1)
    )
    picture = Picture(
        "Byte-pair encoding: each step merges the most frequent pair",
        f"""A replay of {replay.total} merges over the words low, lower, newest, widest and
        longer. {told}. At the end low_ and newest_ are one token each. Where motion is reduced
        the end is shown.""",
        style=style,
    )
    top, left = 92, 400
    picture.text(MARGIN, 66, "words with their counts", "q")
    for x, head in ((left, "step"), (left + 46, "pair"), (left + 170, "token"), (690, "count")):
        picture.text(x, 66, head, "q e" if x == 690 else "q")
    for number, frame in enumerate(frames):
        group = picture.group("frame last" if frame is frames[-1] else "frame")
        group.set("style", f"animation-delay:{_PACE * (number - shown)}s")
        if frame.step:
            y = top - 20 + 32 * (frame.step - 1)
            picture.add("rect", "mark", group, x=left - 10, y=y, width=306, height=30, rx=4)
        words = {word.number: word for word in frame.words}
        for place, one in enumerate(numbers):
            y, word = top + 26 + 60 * place, words[one]
            mark = "*" if word.changed else ""
            picture.text(MARGIN, y, mark, "m w", group)
            picture.row(78, y, word.tokens, word.made, size=16, inside=group)
        if not frame.step:
            picture.text(left, 398, "before the first merge", "q", group)
        else:
            said = f"after step {frame.step}: {frame.tokens} tokens, {frame.vocabulary} ids"
            picture.text(left, 398, said, "q", group)
    for place, one in enumerate(numbers):
        y = top + 26 + 60 * place
        count = replay.counts[one][1]
        picture.text(62, y, count, "e w")
        picture.text(78, y - 26, " ".join(initial[one]), "q m")
    for step, merge in enumerate(merges, 1):
        y = top + 32 * (step - 1)
        picture.text(left + 22, y, step, "e")
        end = picture.box(left + 46, y, merge.left, "t0")
        picture.text(end + 10, y, "+", "c")
        picture.box(end + 20, y, merge.right, "t1")
        picture.box(left + 170, y, merge.token, "t2")
        picture.text(690, y, merge.count, "e")
    return picture.finished(418)


def _pair(picture: Picture, x: float, y: float, pair: LeadingPair) -> None:
    end = picture.box(x, y, pair.left, "t0")
    picture.text(end + 8, y, "+", "c")
    picture.box(end + 16, y, pair.right, "t1")


def _score(pair: LeadingPair) -> str:
    """The score as it is computed: `9/(18·9)`."""
    return f"{pair.count}/({pair.left_count}·{pair.right_count})"


def wordpiece() -> str:
    sides = []
    for criterion in ("count", "likelihood"):
        recipe = _whole_words("notebook-wordpiece", Marker("continuation", "_"), score=criterion)
        sides.append(_replay(recipe, 100, document(LOW)).goto(1, leading=7))
    merges = [frame.merge for frame in sides if frame.merge]
    picture = Picture(
        "One first step, two criteria",
        f"""The same words under two criteria. By count the first merge is {merges[0].left} and
        {merges[0].right}, {merges[0].count} times together. By likelihood, count of the pair over
        the product of the counts of its parts, it is {merges[1].left} and {merges[1].right},
        which occur once each: score {merges[1].score}.""",
    )
    heads = {
        "By count, as BPE does": "count(ab)",
        "By score, as WordPiece does": "count(ab) / (count(a) · count(b))",
    }
    ends = []
    for x, (head, formula), frame in zip((MARGIN, 350), heads.items(), sides, strict=True):
        picture.text(x, 66, head, "w")
        picture.text(x, 88, formula, "q")
        best = max(float(pair.score or pair.count) for pair in frame.pairs)
        y = 122.0
        for pair in frame.pairs:
            _pair(picture, x, y, pair)
            part = float(pair.score or pair.count) / best
            room = 130.0
            look = "best" if pair.chosen else "bar"
            picture.add("rect", look, x=x + 84, y=y - 14, width=max(2.0, part * room), height=18)
            value = f"{pair.count}"
            if pair.score is not None:
                value = f"{_score(pair)} = {pair.score}"
            look = "m w" if pair.chosen else "m"
            picture.text(x + 84 + max(2.0, part * room) + 8, y, value, look)
            y += 32
        picture.text(x, y + 12, "so this step makes", "q")
        y += 10
        for word in frame.words:
            if word.changed:
                y += 34
                picture.text(x + 10, y, word.count, "c")
                picture.row(x + 28, y, word.tokens, word.made)
        ends.append(y)
    return picture.finished(max(ends) + 28)


def _sample() -> Sequence[Document]:
    """The bundled story, which pages 4 and 11 train on."""
    return documents([str(corpus_path("sample"))])


def _signed(score: float) -> str:
    """With the minus sign, which is as wide as a digit."""
    return f"{score:.2f}".replace("-", "\N{MINUS SIGN}")


def unigram() -> str:
    word = "lighthouses"
    tokenizer = Tokenizer.train(_sample(), vocab_size=800, recipe=UNIGRAM)
    (scored,) = tokenizer.explain(word).words
    assert isinstance(scored, ScoredWord)
    best = scored.paths[0]
    text = "".join(piece.text for piece in best.pieces)
    scores = dict(zip(tokenizer.tokens, tokenizer.model.scores, strict=True))
    ends = list(accumulate(len(piece.text) for piece in best.pieces))
    taken = set(zip([0, *ends], ends, strict=False))
    spans = [(a, b) for a in range(len(text)) for b in range(a + 1, len(text) + 1)]
    found = [span for span in spans if text[slice(*span)] in scores]
    picture = Picture(
        f"All pieces that fit {text}, and the best way through",
        f"""The {len(found)} pieces of a Unigram model that occur in {text}, each over the
        characters that it covers, with its score. The best path is
        {", ".join(piece.text for piece in best.pieces)}, {best.score:.2f} in all; the next best has
        {scored.paths[1].score:.2f}.""",
    )
    column = (WIDTH - 2 * MARGIN) / len(text)
    lanes: list[list[tuple[int, int]]] = []  # single characters below all others
    for span in found:
        if span[1] - span[0] > 1:
            lane = next((lane for lane in lanes if lane[-1][1] <= span[0]), None)
            if lane is None:
                lanes.append(lane := [])
            lane.append(span)
    lanes.append([span for span in found if span[1] - span[0] == 1])
    top = 96.0
    bottom = top + 46 * len(lanes)
    for at in range(len(text) + 1):
        x = MARGIN + at * column
        picture.line("g", (x, top - 30), (x, bottom - 14))
    for line, start, end in ((n, *span) for n, lane in enumerate(lanes) for span in lane):
        y, name = top + 46 * line, text[start:end]
        look = "new" if (start, end) in taken else "t0"
        x, width = MARGIN + start * column + 3, (end - start) * column - 6
        outer = picture.add("g", f"b {look}")
        picture.add("rect", "", outer, x=x, y=y - 20, width=width, height=38, rx=4)
        picture.text(x + width / 2, y - 4, name, "", outer)
        picture.text(x + width / 2, y + 12, _signed(scores[name]), "q", outer)
    y = bottom + 18
    picture.text(MARGIN, y, "the best ways to write it, their scores (sums) and probabilities", "q")
    for place, path in enumerate(scored.paths[:3]):
        y += 34
        made = range(len(path.pieces)) if not place else ()
        picture.row(MARGIN, y, [piece.text for piece in path.pieces], made)
        picture.text(520, y, _signed(path.score), "e m")
        picture.text(610, y, f"{path.probability or 0:.2%}", "e m")
    return picture.finished(y + 28)


def _tokens_per_word(replay: MergeReplay) -> list[tuple[int, float]]:
    """Tokens per word of the text after so many merges."""
    words = sum(count for _, count in replay.counts)
    early = [0, 25, 50, 100, 150, 200, 300, 400, 600, 800]
    steps = [*early, *range(1000, replay.total, 1000), replay.total]
    return [
        (step, replay.goto(step, limit=0, leading=1, arrange="count").tokens / words)
        for step in steps
    ]


def treasure_island() -> str:
    book = documents([str(BOOK)])
    replays = [
        _replay(preset(name), size, *book)
        for name, size in (("notebook-bpe", 10_000), ("notebook-wordpiece", 20_000))
    ]
    names = ("BPE", "WordPiece")
    curves = [_tokens_per_word(replay) for replay in replays]
    stages = [replay.stages(replay.find_word("treasure")) for replay in replays]
    told = " ".join(
        f"{name} ends at {curve[-1][1]:.2f} after {curve[-1][0]:,} merges."
        for name, curve in zip(names, curves, strict=True)
    )
    picture = Picture(
        "Treasure Island: tokens per word, merge by merge",
        f"""A chart of tokens per word against merges. {told} Below it how the word treasure comes
        together: BPE has it whole at step {stages[0][-1].step:,}; WordPiece, which merges rare
        symbols first, has it in {len(stages[1][-1].tokens)} tokens after its last merge.""",
    )
    left, right, top, bottom, most = 64.0, 690.0, 66.0, 268.0, 5

    def place(step: float, tokens: float) -> tuple[float, float]:
        return left + step / 20_000 * (right - left), bottom - tokens / most * (bottom - top)

    for tokens in range(most + 1):
        picture.line("g", place(0, tokens), place(20_000, tokens))
        picture.text(left - 8, place(0, tokens)[1] + 5, tokens, "q e")
    for step in range(0, 20_001, 5_000):
        x = place(step, 0)[0]
        picture.text(x, bottom + 20, f"{step:,}", "q e" if step == 20_000 else "q c")
    picture.text(right, bottom + 40, "merges", "q e")
    picture.text(left + 6, top - 8, "tokens per word", "q")
    for number, (name, curve) in enumerate(zip(names, curves, strict=True)):
        picture.line(f"l{number}", *(place(*point) for point in curve))
        x, y = place(*curve[-1])
        picture.text(*((x, y - 16) if number else (x + 8, y + 5)), name, "w e" if number else "w")
    y = bottom + 76
    for number, (name, told_stages) in enumerate(zip(names, stages, strict=True)):
        x = MARGIN + 310 * number
        picture.line(f"l{number}", (x, y - 5), (x + 44, y - 5))
        picture.text(x + 58, y, f"treasure by {name}, after step", "w")
        for line, stage in enumerate(told_stages, 1):
            picture.text(x + 48, y + 30 * line, f"{stage.step:,}", "q e")
            picture.row(x + 58, y + 30 * line, stage.tokens, stage.made, size=12)
    return picture.finished(y + 30 * max(map(len, stages)) + 24)


def comparing() -> str:
    sentence = "The captain and the lieutenant had a discussion."
    book = documents([str(BOOK)])
    recipes = {
        "BPE, byte-level": BPE,
        "WordPiece by likelihood": preset("wordpiece-likelihood"),
        "WordPiece by count": preset("wordpiece-count"),
        "Unigram": UNIGRAM,
    }
    cut = {
        name: Tokenizer.train(book, vocab_size=5000, recipe=recipe).encode(sentence).tokens
        for name, recipe in recipes.items()
    }
    picture = Picture(
        "One sentence, four tokenizers",
        f"""The sentence “{sentence}” as four models cut it that were trained on Treasure Island
        with 5,000 ids each. """
        + " ".join(f"{name}: {len(tokens)} tokens." for name, tokens in cut.items()),
    )
    picture.text(MARGIN, 62, f"“{sentence}” Trained on Treasure Island, 5,000 ids each.", "q")
    y = 62.0
    for name, tokens in cut.items():
        y += 40
        picture.text(MARGIN, y, name, "w")
        picture.text(WIDTH - MARGIN, y, f"{len(tokens)} tokens", "e")
        _, y = picture.row(MARGIN, y + 30, tokens)
    return picture.finished(y + 28)


def erratum() -> str:
    path = corpus_path("slides-hug")
    (source,) = documents([str(path)])
    recipe = preset("wordpiece-likelihood")
    words = dict(line.split("\t") for line in path.read_text(encoding="utf-8").splitlines())
    tokenizer = Tokenizer.train(
        {word: int(count) for word, count in words.items()}, vocab_size=11, recipe=recipe
    )
    replay = MergeReplay(tokenizer, read_counts(tokenizer, source))
    before, third = replay.goto(2), replay.goto(3)
    claimed = next(pair for pair in third.pairs if (pair.left, pair.right) == ("hu", "##g"))
    best = third.pairs[0]
    assert best.score and claimed.score
    factor = next(word.count for word in before.words if word.tokens == ("hu", "##g"))
    picture = Picture(
        "The third merge: hu ##gs, not hu ##g",
        f"""The words after the second merge, and all pairs with their scores. {best.left} and
        {best.right} have {_score(best)}, {best.score}, the highest. {claimed.left} and
        {claimed.right} have {_score(claimed)}, {claimed.score}, fifth of six. The published
        example had {claimed.count}/({claimed.left_count}·{factor}), 1/15.""",
    )
    picture.text(MARGIN, 66, "after step 2", "q")
    y = 96.0
    for word in before.words:
        picture.text(MARGIN + 20, y, word.count, "e")
        at = MARGIN + 34.0
        for token in word.tokens:
            look = {"hu": "t0", "##g": "t1", "##gs": "t2"}.get(token, "")
            at = picture.box(at, y, token, look) + 4
        y += 36
    symbols = {"hu": best.left_count, "##g": claimed.right_count, "##gs": best.right_count}
    y += 4
    for place, (symbol, count) in enumerate(symbols.items()):
        end = picture.box(MARGIN + 34, y, symbol, f"t{place}")
        picture.text(end + 10, y, f"{count} times", "q")
        y += 30
    left, room = 330.0, 150.0
    picture.text(left - 96, 66, "pairs", "q")
    picture.text(left, 66, "scores: count(ab) / (count(a) · count(b))", "q")
    y = 96.0
    for pair in third.pairs:
        score = pair.score or best.score
        end = wide(pair.left) + wide(pair.right) + 4 * _PADDING + 16
        _pair(picture, left - 8 - end, y, pair)
        width = float(score / best.score) * room
        look = "best" if pair.chosen else "bar"
        picture.add("rect", look, x=left, y=y - 14, width=width, height=18)
        reach = width
        if pair is claimed:
            picture.add("rect", "wrong", x=left, y=y - 14, width=room, height=18)
            reach = room
        shown = f"{_score(pair)} = {score}"
        picture.text(left + reach + 10, y, shown, "m w" if pair.chosen else "m")
        y += 36
        if pair is claimed:
            said = f"not {pair.count}/({pair.left_count}·{factor}) = 1/15: pug has a ##g, too"
            picture.text(left + 2, y - 6, said, "no")
            y += 22
    return picture.finished(374)


def characters_and_bytes() -> str:
    trained_on, text = "the thé, the café, the cafés and the theatre", "café た 🙂"
    recipe = replace(BPE, pre_tokenizers=r"regex:\s?\S+|\s")
    tokenizer = Tokenizer.train([document(trained_on)], vocab_size=264, recipe=recipe)
    encoding = tokenizer.encode(text)
    picture = Picture(
        "Characters, bytes, stand-ins, tokens",
        f"""The text {text}: {len(text)} characters are {len(text.encode())} bytes in UTF-8. Each
        byte has a printable stand-in; the model joins these into {len(encoding)} tokens:
        {", ".join(encoding.tokens)}.""",
    )
    left = 118.0
    column = (WIDTH - MARGIN - left) / len(text.encode())
    rows = ("character", 76), ("code point", 100), ("UTF-8 byte", 152), ("stand-in", 206)
    for name, y in (*rows, ("token", 264), ("id", 292)):
        picture.text(MARGIN, y, name, "q")
    at = 0
    for number, char in enumerate(text):
        data = char.encode()
        x, width = left + at * column, len(data) * column
        outer = picture.add("g", f"b t{number % 4}")
        picture.add("rect", "", outer, x=x + 2, y=54, width=width - 4, height=54, rx=4)
        picture.text(x + width / 2, 76, visible(char), "", outer)
        picture.text(x + width / 2, 100, f"{ord(char):04X}", "q", outer)
        for byte in data:
            middle = left + (at + 0.5) * column
            picture.line("l", (x + width / 2, 108), (middle, 135))
            picture.box(middle - 19, 152, f"{byte:02X}", f"t{number % 4}", width=38)
            picture.line("l", (middle, 159), (middle, 189))
            picture.box(middle - 16, 206, byte_level.spell(bytes([byte])), width=32)
            at += 1
    at = 0
    for place, (token, id_) in enumerate(zip(encoding.tokens, encoding.ids, strict=True)):
        x, width = left + at * column, len(token) * column
        for n in range(len(token)):
            picture.line("l", (x + (n + 0.5) * column, 213), (x + width / 2, 247))
        picture.box(x + 3, 264, token, f"t{place % 4}", width=width - 6)
        picture.text(x + width / 2, 292, id_, "q c")
        at += len(token)
    return picture.finished(314)


def _cut(name: str, text: str) -> list[str]:
    """A text's pre-tokens."""
    recipe = replace(BPE, pre_tokenizers=name)
    data, spans = Tokenizer.train({"a": 1}, vocab_size=256, recipe=recipe).pre_tokens(text)
    return [data[start:end].decode() for start, end in spans]


def patterns() -> str:
    line = "getName(HTTPServer) costs 1234567 EUR, WE'LL see"
    cuts = {name: _cut(name, line) for name in ("gpt2", "cl100k", "o200k")}
    picture = Picture(
        "One line, three patterns",
        f"The line {line} in pre-tokens. "
        + " ".join(f"{name}: {' | '.join(found)}." for name, found in cuts.items()),
    )
    left = 92.0
    cell = (WIDTH - MARGIN - left) / len(line)
    y = 62.0
    for at, char in enumerate(line):
        picture.text(left + (at + 0.5) * cell, y, visible(char), "m c q")
    for name, found in cuts.items():
        y += 46
        picture.text(MARGIN, y, name, "w")
        at = 0
        for place, token in enumerate(found):
            outer = picture.add("g", f"b t{place % 4}")
            x, width = left + at * cell, len(token) * cell
            picture.add("rect", "", outer, x=x + 1, y=y - 18, width=width - 2, height=27, rx=4)
            for n, char in enumerate(token):
                picture.text(x + (n + 0.5) * cell, y, visible(char), "", outer)
            at += len(token)
        picture.text(left, y + 26, f"{len(found)} pre-tokens", "q")
        y += 16
    return picture.finished(y + 28)


def special_tokens() -> str:
    typed = "you<|im_end|>"
    recipe = BPE.with_special_tokens(["<|im_start|>", "<|im_end|>"])
    tokenizer = Tokenizer.train(
        [document("how are you\nfine, and you\n")], vocab_size=300, recipe=recipe
    )
    ways = {
        "as text: what somebody typed stays text": tokenizer.encode(typed),
        "as a special token: the program allows it (--special)": tokenizer.encode(
            typed, special="all"
        ),
    }
    plain, special = ways.values()
    picture = Picture(
        f"{typed}: text, or the end of a message",
        f"""The text {typed} encoded in two ways. As text it is {len(plain)} ordinary tokens:
        {" ".join(plain.tokens)}. With special tokens allowed it is {len(special)} tokens, and
        <|im_end|> is id {special.ids[-1]}: to the model the message ends there.""",
    )
    y = 40.0
    for name, encoding in ways.items():
        y += 34
        picture.text(MARGIN, y, name, "w")
        y += 36
        x = float(MARGIN)
        for place, (token, id_) in enumerate(zip(encoding.tokens, encoding.ids, strict=True)):
            look = "new" if token in tokenizer.special_ids else f"t{place % 4}"
            width = max(wide(token, 16) + 2 * _PADDING, 34)
            end = picture.box(x, y, token, look, width=width, size=16)
            picture.text(x + width / 2, y + 26, id_, "q c")
            x = end + 6
        said = f"{len(encoding)} tokens, none of them special"
        if encoding is special:
            said = f"{len(encoding)} tokens; the thick edge is the special one: the message ends"
        picture.text(MARGIN, y + 52, said, "q")
        y += 56
    return picture.finished(y + 16)


def what_a_model_sees() -> str:
    number = "1234567"
    tokenizer = Tokenizer.train(_sample(), vocab_size=1500, recipe=preset("cl100k"))
    texts = (" lamplighter", "lamplighter", " Lamplighter", "LAMPLIGHTER", " strawberry")
    seen = {text: tokenizer.encode(text) for text in texts}
    cuts = {
        "gpt2": _cut("gpt2", number),
        "cl100k, o200k": _cut("cl100k", number),
        "each digit": _cut("digits-individual", number),
    }
    picture = Picture(
        "What you write, and what a model sees",
        "Words as tokens and ids: "
        + "; ".join(
            f"{visible(text)} is {' '.join(found.tokens)}, ids {' '.join(map(str, found.ids))}"
            for text, found in seen.items()
        )
        + f". The number {number} in pre-tokens: "
        + "; ".join(f"{name}: {' '.join(found)}" for name, found in cuts.items())
        + ".",
    )
    for x, head in ((MARGIN, "you write"), (170, "tokens"), (500, "the model sees")):
        picture.text(x, 66, head, "q")
    y = 66.0
    for text, encoding in seen.items():
        y += 34
        picture.text(MARGIN, y, visible(text), "m")
        picture.row(170, y, encoding.tokens)
        picture.text(500, y, " ".join(map(str, encoding.ids)), "m")
    y += 50
    picture.text(MARGIN, y, "you write", "q")
    picture.text(170, y, "what the pattern leaves whole", "q")
    for place, (name, found) in enumerate(cuts.items()):
        y += 34
        if not place:
            picture.text(MARGIN, y, number, "m")
        picture.row(170, y, found)
        picture.text(500, y, name)
    return picture.finished(y + 28)


def beyond_words() -> str:
    line = "The lamplighter stood at the top of the street and looked at the sea."
    # Each paragraph as one line: the story breaks its lines in the middle of a sentence.
    text = re.sub(r"(?<!\n)\n(?!\n)", " ", corpus_path("sample").read_text(encoding="utf-8"))
    superbpe = DEFAULTS["superbpe"].with_transition("80%")
    words = replace(BPE, pre_tokenizers=[*superbpe.pre_tokenizers, "gpt2"])
    recipes = {
        "BPE": (words, 1500),
        "SuperBPE after stage 1, which is BPE": (words, 1200),
        "SuperBPE after stage 2": (superbpe, 1500),
        "BPE without a pattern": (replace(BPE, pre_tokenizers="lines"), 1500),
    }
    cut = {
        name: Tokenizer.train([document(text)], vocab_size=size, recipe=recipe).encode(line).tokens
        for name, (recipe, size) in recipes.items()
    }
    picture = Picture(
        "Words first, then more than words",
        f"""The line “{line}” in tokens, after training on the story that comes with tokctl. """
        + " ".join(f"{name}: {', '.join(tokens)}." for name, tokens in cut.items()),
    )
    y = 34.0
    for name, tokens in cut.items():
        y += 40
        picture.text(MARGIN, y, name, "w")
        size = recipes[name][1]
        picture.text(WIDTH - MARGIN, y, f"{size:,} ids, {len(tokens)} tokens", "e")
        several = [place for place, token in enumerate(tokens) if "Ġ" in token.strip("Ġ")]
        _, y = picture.row(MARGIN, y + 30, tokens, several)
    picture.text(MARGIN, y + 40, "a thick edge: more than one word", "q")
    return picture.finished(y + 62)


#: By the name of the page. Those in `OF_THE_BOOK` need *Treasure Island*.
PICTURES: dict[str, Callable[[], str]] = {
    "1-words-and-symbols": words_and_symbols,
    "2-bpe": bpe,
    "3-wordpiece": wordpiece,
    "4-unigram": unigram,
    "5-treasure-island": treasure_island,
    "6-comparing": comparing,
    "7-an-erratum": erratum,
    "8-bytes": characters_and_bytes,
    "9-patterns": patterns,
    "10-special-tokens": special_tokens,
    "11-what-a-model-sees": what_a_model_sees,
    "12-beyond-words": beyond_words,
}
OF_THE_BOOK = {"5-treasure-island", "6-comparing"}


def path_of(name: str) -> Path:
    """Where the picture of a page is."""
    return PICTURES_FOLDER / f"{name}.svg"


def main(arguments: Sequence[str]) -> int:
    """Draws the pictures, or says which are stale; 1 where some are."""
    stale = []
    for name, draw in PICTURES.items():
        if name in OF_THE_BOOK and not BOOK.exists():
            print(f"{name}: not drawn, there is no {BOOK.name}")
            continue
        path, drawn = path_of(name), draw()
        if path.exists() and path.read_text(encoding="utf-8") == drawn:
            continue
        stale.append(name)
        if "--write" in arguments:
            path.parent.mkdir(exist_ok=True)
            path.write_text(drawn, encoding="utf-8")
        print(f"{name}: {'drawn' if '--write' in arguments else 'stale'}")
    return int(bool(stale) and "--write" not in arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
