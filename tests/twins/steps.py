"""Slow twin of the steps of a pre-tokenizer: a piece is a list of (character, place).

Written from the definitions: Hugging Face's components (`tokenizers/src/pre_tokenizers`, and
`NormalizedString::split` for what becomes of a match), Unicode's scripts and the Penn
Treebank's rules as NLTK's `TreebankWordTokenizer` states them. A place is a (start, end) in
characters of the input; an inserted character has that of the one it stands in front of.
"""

from collections.abc import Callable
from itertools import groupby
from typing import Any

import regex

from tests.twins.matches import matches
from tests.twins.pretokenize import DEEPSEEK_V3, PATTERNS, Span

Piece = list[tuple[str, Span]]
Marked = list[tuple[int, int, bool]]


def run(parts: str | list[Any], text: str, at_start: bool = True) -> list[tuple[str, Span]]:
    """The pre-tokens with their places, after every step."""
    pieces = [[(char, (at, at + 1)) for at, char in enumerate(text)]]
    for part in [parts] if isinstance(parts, str) else parts:
        options = {"kind": part} if isinstance(part, str) else part
        pieces = [new for piece in pieces if piece for new in _step(options, piece, at_start)]
    return [(_text(piece), (piece[0][1][0], piece[-1][1][1])) for piece in pieces if piece]


def _text(piece: Piece) -> str:
    return "".join(char for char, _ in piece)


def _step(options: dict[str, Any], piece: Piece, at_start: bool) -> list[Piece]:
    kind, text = options["kind"], _text(piece)
    if kind == "none":
        return [piece]
    if kind == "metaspace":
        return _metaspace(options, piece, at_start)
    if kind == "prefix-space":
        return [piece if text.startswith(" ") else [(" ", piece[0][1]), *piece]]
    if kind == "scripts":
        return [piece[a:b] for a, b in _scripts(text)]
    if kind == "penn-treebank":
        return [piece[a:b] for a, b in _penn_treebank(text)]
    if kind == "fixed":
        return [piece[a : a + options["length"]] for a in range(0, len(piece), options["length"])]
    if kind == "deepseek-v3":
        pieces = [piece]
        for pattern in DEEPSEEK_V3:
            pieces = [new for old in pieces for new in _split(old, pattern, "isolated")]
        return pieces
    if kind == "graphemes":
        # `regex` joins marks to a lone surrogate; by UAX #29 nothing joins one.
        return _split(piece, r"[\udc80-\udcff]|(?:(?![\udc80-\udcff])\X)", "isolated")
    if kind == "punctuation":
        return _split(piece, r"[\p{P}$+<=>^`|~]", options["behaviour"])
    if kind == "digits":
        return _split(piece, r"\p{N}", "isolated" if options["individual"] else "contiguous")
    if kind == "digit-groups":
        digits = rf"\p{{N}}{{1,{options['length']}}}"
        groups = rf"{digits}(?=(?:\p{{N}}{{{options['length']}}})*(?!\p{{N}}))"
        return _split(piece, groups, "isolated")
    if kind == "digit-cuts":
        return _split(piece, rf"(?=(?:\d{{{options['length']}}})+(?!\d))", "isolated")
    if kind == "delimiter":
        return _split(piece, regex.escape(options["text"]), "removed")
    if kind == "split":
        pattern = options["pattern"] if options["regex"] else regex.escape(options["pattern"])
        return _split(piece, pattern, options["behaviour"], options.get("invert", False))
    return _split(piece, PATTERNS[kind], "removed", invert=True)


def _split(piece: Piece, pattern: str, behaviour: str, invert: bool = False) -> list[Piece]:
    marked: Marked = []
    done = 0
    for start, end in matches(pattern, _text(piece)):
        if done < start:
            marked.append((done, start, invert))
        marked.append((start, end, not invert))
        done = end
    if done < len(piece):
        marked.append((done, len(piece), invert))
    return [piece[a:b] for a, b in _behave(marked, behaviour) if a < b]


def _behave(marked: Marked, behaviour: str) -> list[Span]:
    if behaviour == "removed":
        return [(a, b) for a, b, is_match in marked if not is_match]
    if behaviour == "isolated":
        return [(a, b) for a, b, _ in marked]
    if behaviour == "contiguous":
        runs = [list(run) for _, run in groupby(marked, key=lambda piece: piece[2])]
        return [(run[0][0], run[-1][1]) for run in runs]
    joins_match = behaviour == "merged-with-previous"
    spans: list[Span] = []
    for number, (start, end, is_match) in enumerate(marked):
        if number and is_match == joins_match and marked[number - 1][2] != joins_match:
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    return spans


def _metaspace(options: dict[str, Any], piece: Piece, at_start: bool) -> list[Piece]:
    mark = options["replacement"]
    changed = [(mark if char == " " else char, place) for char, place in piece]
    first = at_start and piece[0][1][0] == 0
    wanted = {"always": True, "first": first, "never": False}[options["prepend"]]
    if wanted and changed[0][0] != mark:
        changed = [(mark, changed[0][1]), *changed]
    if not options["split"]:
        return [changed]
    return _split(changed, regex.escape(mark), "merged-with-next")


def _script(char: str) -> str:
    """The first character of those that tell one script from another."""
    if char == " " or regex.match(r"\p{Script=Unknown}", char):
        return "any"
    if char == "\u30fc" or regex.match(r"[\p{Script=Hiragana}\p{Script=Katakana}]", char):
        return "HAN"
    for name in _SCRIPTS:
        if regex.match(rf"\p{{Script={name}}}", char):
            return name
    raise ValueError(f"{char!r} has no script")


_SCRIPTS = sorted(set(regex._regex_core.PROPERTIES["SCRIPT"][1]) - {"HIRAGANA", "KATAKANA"})


def _scripts(text: str) -> list[Span]:
    last, starts = "any", []
    for at, char in enumerate(text):
        script = _script(char)
        if script not in ("any", last):
            starts.append(at)
        if script != "any":
            last = script
    ends = [*starts[1:], len(text)]
    return [(start, ends[number]) for number, start in enumerate(starts)]


Places = Callable[["regex.Match[str]"], list[int]]


def _around(match: "regex.Match[str]") -> list[int]:
    return [match.start(), match.end()]


def _group(number: int) -> Places:
    return lambda match: [match.start(number), match.end(number)]


#: What is looked for, and where a space is put in; in this order. `X` is where a space is put in
#: front of the text and behind it.
_PENN_TREEBANK: list[tuple[str, Places] | None] = [
    (r'^"', _around),
    (r"``", _around),
    (r"[ ([{<](\"|'')", _group(1)),
    (r"([:,])[^\d]", _group(1)),
    (r"[:,]$", _around),
    (r"\.\.\.", _around),
    (r"[;@#$%&]", _around),
    (r"(?<!\.)(?!^)(\.[])}>\"']*)\s*$", _group(1)),
    (r"[?!]", _around),
    (r"[^'](') ", _group(1)),
    (r"[][(){}<>]", _around),
    (r"--", _around),
    None,
    (r"''", _around),
    (r'"', _around),
    (r"[^' ]('[sS]|'[mM]|'[dD]|') ", _group(1)),
    (r"[^' ]('ll|'LL|'re|'RE|'ve|'VE|n't|N'T) ", _group(1)),
    *(
        (rf"\b(?ai:{first}({second})){end}", lambda m: [m.start(), m.start(1), m.end()])
        for first, second, end in [
            ("can", "not", r"\b"),
            ("d", "'ye", r"\b"),
            ("gim", "me", r"\b"),
            ("gon", "na", r"\b"),
            ("got", "ta", r"\b"),
            ("lem", "me", r"\b"),
            ("more", "'n", r"\b"),
            ("wan", "na", r"(?=\s)"),
        ]
    ),
    (r" (?i:('t)(?:is|was))\b", lambda m: [m.start(1), m.end(1), m.end()]),
]


def _penn_treebank(text: str) -> list[Span]:
    piece: list[tuple[str, int | None]] = [(char, at) for at, char in enumerate(text)]
    for rule in _PENN_TREEBANK:
        spaced = "".join(char for char, _ in piece)
        places = [0, len(piece)]
        if rule:
            places = [at for match in regex.finditer(rule[0], spaced) for at in rule[1](match)]
        for at in sorted(places, reverse=True):
            piece.insert(at, (" ", None))
    spaced = "".join(char for char, _ in piece)
    words = [[at for _, at in piece[a:b]] for a, b in map(_span, regex.finditer(r"\S+", spaced))]
    return [(word[0], word[-1] + 1) for word in words]  # type: ignore[operator, misc]


def _span(match: "regex.Match[str]") -> Span:
    return match.span()
