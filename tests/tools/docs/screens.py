"""Pictures of tokctl at work, for the README and the site: what commands show on a terminal, a
recording of `--watch`, and the page that `--html` writes.

    python -m tests.tools.docs.screens             # says which are out of date
    python -m tests.tools.docs.screens --write     # makes them anew

The commands run on a terminal of their own with the bundled sample. What Rich and Textual draw
there becomes an SVG that loads nothing, no font either: each run of text says how wide it is, so
that the columns stand in any monospaced font. The page is a photograph by Chromium, and is left
alone where there is none.
"""

from __future__ import annotations

import asyncio
import base64
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch
from xml.sax.saxutils import escape

from rich.cells import cell_len
from rich.color import Color
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from tests.tools.docs.tutorial import ROOT, Reader, on_a_terminal
from tokctl import Tokenizer, preset
from tokctl.analysis.explain import count_pre_tokens
from tokctl.sources import documents
from tokctl.sources.corpora import corpus_path

FOLDER = ROOT / "docs" / "pictures"

# -- Drawing lines of a terminal -----------------------------------------------------------------

SIZE = 14
CELL, LINE = 8.4, 19
MARGIN, TOP = 16, 44

#: Dark, as most terminals are, and readable on a page of either kind.
_INK, _QUIET, _DARK = "#ececf0", "#a9aab5", "#16171b"
_THEME = TerminalTheme(
    (22, 23, 27),
    (236, 236, 240),
    [(22, 23, 27), (255, 123, 114), (86, 211, 140), (232, 166, 40),
     (121, 184, 255), (220, 146, 189), (93, 208, 220), (255, 255, 255)],
)  # fmt: skip

_STYLE = f"""
text {{ font: {SIZE}px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
 fill: {_INK}; white-space: pre; }}
.card {{ stroke: #5a5b66; }} .prompt {{ fill: {_QUIET}; }}
"""
#: Seconds that each screen of a recording is shown.
_PACE = 1.8
_MOTION = """
.f {{ opacity: 0; }} .last {{ opacity: 1; }}
@media (prefers-reduced-motion: no-preference) {{
 .f {{ animation: one {all}s step-end infinite; }} }}
@keyframes one {{ 0% {{ opacity: 1; }} {share:.3f}% {{ opacity: 0; }} }}
"""


class _Styles:
    """Classes of CSS for the styles of a picture, in the order in which they are met."""

    def __init__(self, background: str) -> None:
        self.classes: dict[str, str] = {}
        self.background = background

    def of(self, style: Style | None) -> tuple[str, str]:
        """The class of a text, and the colour behind it; empty: the ordinary ones."""
        style = style or Style()
        ink, behind = self._colour(style.color, True), self._colour(style.bgcolor, False)
        if style.reverse:
            ink, behind = behind or self.background, ink or _INK
        if style.dim:
            ink = _QUIET
        css = f"fill: {ink};" if ink and ink != _INK else ""
        css += " font-weight: 700;" * bool(style.bold) + " font-style: italic;" * bool(style.italic)
        css += " text-decoration: underline;" * bool(style.underline)
        name = self.classes.setdefault(css, f"s{len(self.classes)}") if css else ""
        return name, "" if behind == self.background else behind

    @staticmethod
    def _colour(color: Color | None, foreground: bool) -> str:
        if color is None or color.is_default:
            return ""
        return color.get_truecolor(_THEME, foreground).hex

    def css(self) -> str:
        return "\n".join(f".{name} {{ {css.strip()} }}" for css, name in self.classes.items())


def _drawn(segments: Iterable[Segment], row: int, styles: _Styles) -> str:
    """A line of a terminal as elements: neighbours of one style are one text, and neighbours of one
    colour are one box, however the line was put together."""
    texts: list[list[Any]] = []  # class, first column, text
    boxes: list[list[Any]] = []  # colour, first column, columns
    column = 0
    for segment in segments:
        if segment.control or not segment.text:
            continue
        (name, behind), cells = styles.of(segment.style), cell_len(segment.text)
        if texts and texts[-1][0] == name:
            texts[-1][2] += segment.text
        else:
            texts.append([name, column, segment.text])
        if boxes and boxes[-1][0] == behind:
            boxes[-1][2] += cells
        else:
            boxes.append([behind, column, cells])
        column += cells
    drawn = [
        f'<rect x="{at * CELL:.5g}" y="-14" width="{cells * CELL:.5g}" height="{LINE}" '
        f'fill="{behind}"/>'
        for behind, at, cells in boxes
        if behind
    ]
    for name, at, text in texts:
        if bare := text.strip():
            looks = f' class="{name}"' if name else ""
            at += cell_len(text[: len(text) - len(text.lstrip())])
            wide = f' textLength="{cells * CELL:.5g}"' if (cells := cell_len(bare)) > 1 else ""
            drawn.append(f'<text{looks} x="{at * CELL:.5g}"{wide}>{escape(bare)}</text>')
    place = f"translate({MARGIN} {TOP + row * LINE})"
    return f'<g transform="{place}">{"".join(drawn)}</g>' if drawn else ""


def picture(
    title: str,
    description: str,
    command: str,
    columns: int,
    *screens: list[list[Segment]],
    background: str = _DARK,
) -> str:
    """Screens as an SVG, shown in turn where there are several. Lines that are the same on all of
    them are drawn once."""
    styles = _Styles(background)
    rows = max(map(len, screens))
    lines = [
        [_drawn(screen[row] if row < len(screen) else [], row + 1, styles) for screen in screens]
        for row in range(rows)
    ]
    body = [drawn[0] for drawn in lines if len(set(drawn)) == 1 and drawn[0]]
    moving = ""
    if len(screens) > 1:
        moving = _MOTION.format(all=_PACE * len(screens), share=100 / len(screens))
        for number in range(len(screens)):
            inside = "\n".join(d[number] for d in lines if len(set(d)) > 1 and d[number])
            last = " last" if number == len(screens) - 1 else ""
            delay = f"animation-delay:{_PACE * (number - len(screens)):.5g}s"
            body.append(f'<g class="f{last}" style="{delay}">\n{inside}\n</g>')
    width, height = round(2 * MARGIN + columns * CELL), TOP + rows * LINE + 16
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" aria-labelledby="title description">',
        f'<title id="title">{escape(title)}</title>',
        f'<desc id="description">{escape(" ".join(description.split()))}</desc>',
        f"<style>{_STYLE}{moving}{styles.css()}</style>",
        f'<rect class="card" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8" '
        f'fill="{background}"/>',
        f'<text class="prompt" x="{MARGIN}" y="30">{escape(f"$ {command}")}</text>',
        *body,
        "</svg>",
        "",
    ])  # fmt: skip


# -- What is shown -------------------------------------------------------------------------------

COLUMNS = 92
#: What the pictures show, as it is typed.
COMPARE = "tokctl compare"
TRAIN = (
    "tokctl train --preset sentencepiece-bpe --vocab 2000 -o sample.json "
    '"$(tokctl corpora path sample)"'
)
WORD = "tokctl inspect sample.json --word lamplighters"
WATCH = 'tokctl inspect sample.json --watch "$(tokctl corpora path sample)"'
PAGE = "tokctl compare --html page.html"


def _printed(*commands: str) -> list[list[Segment]]:
    """What the last of these commands shows on a terminal in colour, line by line."""
    with tempfile.TemporaryDirectory() as place:
        reader = Reader(Path(place))
        del reader.environ["NO_COLOR"]
        reader.environ |= {
            "COLUMNS": f"{COLUMNS}", "TERM": "xterm-256color", "COLORTERM": "truecolor",
            "TOKCTL_PROGRESS": "none",
        }  # fmt: skip
        for command in commands:
            status, shown = on_a_terminal(command, reader.folder, reader.environ)
            if status:
                raise RuntimeError(f"{command}\n{shown}")
    console = Console(width=COLUMNS, color_system="truecolor", force_terminal=True)
    lines = [Text.from_ansi(line) for line in shown.rstrip().split("\n")]
    return [list(line.render(console, end="")) for line in lines]


def _plain(line: Iterable[Segment]) -> str:
    return "".join(segment.text for segment in line)


#: What begins the parts of the output that the picture shows; ⋮ stands for the others.
_PARTS = ("What the figures say", "Metrics", "Words, and why", "bathing")


def compare() -> str:
    parts: list[list[list[Segment]]] = [[]]
    for line in _printed(COMPARE.replace("tokctl", "tokctl -q", 1)):
        parts[-1].append(line)
        if not _plain(line):
            parts.append([])
    shown: list[list[Segment]] = []
    for part in parts:
        head = _plain(part[0]) if part else ""
        if head.startswith(_PARTS):
            # Of the words only the heading, and the word that is wanted.
            shown += part[:1] if head.startswith("Words") else part
        elif shown and _plain(shown[-1]) != "⋮":
            shown.append([Segment("⋮", Style(dim=True))])
    return picture(
        "tokctl compare: four tokenizers on one text",
        """A terminal. tokctl compare has trained BPE, Unigram and two kinds of WordPiece on the
        bundled story. It says what the figures mean, shows a table of metrics with the best figure
        of each row marked, and why each model splits the word bathing as it does.""",
        COMPARE,
        COLUMNS,
        shown,
    )


def word() -> str:
    return picture(
        "tokctl inspect --word: why a word is split this way",
        """A terminal. tokctl inspect shows the word lamplighters: its characters, then each merge
        that training made in it, with the step at which it was learned, its count, and the
        merges that came later; at the end the pairs that were never merged.""",
        WORD,
        COLUMNS,
        _printed(TRAIN, WORD),
    )


#: The keys of the recording; after each line of them a screen is shown.
_KEYS = ("", "→", "→", "f lamplighter ⏎", *["N"] * 10)
_NAMES = {"→": "right", "⏎": "enter"}
_SCREEN = (80, 20)


def watch() -> str:
    # Here, since they are of the extra `watch`.
    from tokctl.cli.watching import replay_of
    from tokctl.extras.watch.app import WatchApp

    sources = list(documents([corpus_path("sample")]))
    tokenizer = Tokenizer.train(sources, vocab_size=2000, recipe=preset("sentencepiece-bpe"))
    replay = replay_of(tokenizer, count_pre_tokens(tokenizer, sources))

    async def screens() -> list[list[list[Segment]]]:
        app = WatchApp(replay, "sample.json", "the-lamplighters-atlas.txt")
        found: list[list[list[Segment]]] = []
        async with app.run_test(size=_SCREEN) as pilot:
            for keys in _KEYS:
                for typed in keys.split():
                    await pilot.press(*([_NAMES[typed]] if typed in _NAMES else typed))
                # What a key asks for is drawn a moment later, the keys at the bottom last.
                before: list[list[Segment]] = []
                while True:
                    await pilot.pause(0.05)
                    now = [list(strip) for strip in app.screen._compositor.render_strips()]
                    if now == before and "quit" in _plain(now[-1]):
                        break
                    before = now
                found.append(now)
        return found

    with patch.dict(os.environ):
        os.environ.pop("NO_COLOR", None)
        recorded = asyncio.run(screens())
    return picture(
        "tokctl inspect --watch: a training, step by step",
        """A recording of a terminal. The training of a BPE model is replayed: the first merges,
        each with the words that it changes and the pairs that competed with it; then the word
        lamplighter is followed through the steps that change it. Where motion is reduced, the last
        screen is shown.""",
        WATCH,
        _SCREEN[0],
        *recorded,
        background="#121212",
    )


#: By the name of the file. All can be told from what is there, byte by byte.
SCREENS: dict[str, Callable[[], str]] = {
    "compare.svg": compare,
    "word.svg": word,
    "watch.svg": watch,
}

# -- The page, in a browser ----------------------------------------------------------------------

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
PHOTOGRAPH = FOLDER / "page.webp"


def photograph(browser: Any) -> bytes:
    """The top of the page, as WebP. The pixels depend on the machine's fonts."""
    with tempfile.TemporaryDirectory() as place:
        reader = Reader(Path(place))
        status, shown = on_a_terminal(PAGE, reader.folder, reader.environ)
        if status:
            raise RuntimeError(shown)
        opened = browser.new_page(viewport={"width": 1200, "height": 760}, color_scheme="light")
        opened.goto((reader.folder / "page.html").as_uri())
        client = opened.context.new_cdp_session(opened)
        found = client.send("Page.captureScreenshot", {"format": "webp", "quality": 80})
        opened.close()
    return base64.b64decode(found["data"])


def difference(browser: Any, one: bytes, other: bytes) -> float:
    """How far two images are apart: 0 the same, 1 black and white. Measured in squares of 20
    pixels, which the shapes of letters don't change."""
    script = """async ([one, other]) => {
        const pixels = async data => {
            const image = new Image();
            image.src = "data:image/webp;base64," + data;
            await image.decode();
            const canvas = document.createElement("canvas");
            [canvas.width, canvas.height] = [60, 38];
            const context = canvas.getContext("2d");
            context.imageSmoothingQuality = "high";
            context.drawImage(image, 0, 0, 60, 38);
            return context.getImageData(0, 0, 60, 38).data;
        };
        const [a, b] = [await pixels(one), await pixels(other)];
        return a.reduce((sum, value, i) => sum + Math.abs(value - b[i]), 0) / a.length / 255;
    }"""
    opened = browser.new_page()
    data = [base64.b64encode(image).decode() for image in (one, other)]
    found = float(opened.evaluate(script, data))
    opened.close()
    return found


#: Pages that differ by less than this show the same.
ALIKE = 0.02


def _write_photograph(write: bool) -> str:
    """What became of it, in a word."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return "left alone: the extra test-page is not installed"
    if BROWSER is None:
        return "left alone: there is no Chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        now = photograph(browser)
        held = PHOTOGRAPH.read_bytes() if PHOTOGRAPH.exists() else b""
        if held and difference(browser, held, now) < ALIKE:
            return ""
    if write:
        PHOTOGRAPH.write_bytes(now)
    return "written" if write else "stale"


def main(arguments: Sequence[str]) -> int:
    """Makes the pictures, or says which are stale; 1 where some are."""
    write, stale = "--write" in arguments, False
    FOLDER.mkdir(exist_ok=True)
    for name, draw in SCREENS.items():
        path, drawn = FOLDER / name, draw()
        if path.exists() and path.read_text(encoding="utf-8") == drawn:
            continue
        stale = True
        if write:
            path.write_text(drawn, encoding="utf-8")
        print(f"{name}: {'written' if write else 'stale'}")
    if said := _write_photograph(write):
        stale |= said == "stale"
        print(f"{PHOTOGRAPH.name}: {said}")
    return int(stale and not write)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
