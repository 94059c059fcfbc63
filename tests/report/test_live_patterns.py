"""Patterns of a page: over classes of characters they find what they find in a text. Searched by
`regex`, which reads what JavaScript does: no browser is needed."""

from __future__ import annotations

import re

import pytest
import regex

from tests.exact.test_their_patterns import BLOOM, KIMI
from tests.report.test_live import generated_small
from tokctl.extras.page.live_patterns import NotInPageError, translated
from tokctl.formats.huggingface.components import native_pattern
from tokctl.model.patterns import PATTERNS


@pytest.mark.parametrize(
    "pattern",
    [
        *(pattern for name, pattern in PATTERNS.items() if name != "graphemes"),
        r"a{,2}b|(?i:ß|k)|[[:alpha:]_]\B",
        r"(?>a+|b)(?!a)\d?+.$",
        r"^\s|\x41\u0042|(?s:.)\Z",
        native_pattern(BLOOM),
        native_pattern(KIMI),
        native_pattern(r"(?i)straße|[\h&&[^a]]+|\R|."),
    ],
)
def test_patterns_over_classes_find_what_they_find_in_text(pattern: str) -> None:
    source, runs = translated(pattern)
    classes = [number for length, number in runs for _ in range(length)]
    source = source.replace("(?<g", "(?P<g").replace("$", r"\Z")
    own = regex.compile(re.sub(r"\\k<(g\d+)>", r"(?P=\1)", source), regex.DOTALL)
    for text in [*generated_small(60), "漢字aB 中x (y) [z]|,STRASSE strasse DEADBEEF"]:
        spelled = "".join(chr(classes[ord(char)]) for char in text)
        found = [match.span() for match in own.finditer(spelled)]
        assert found == [match.span() for match in regex.finditer(pattern, text)]


@pytest.mark.parametrize(
    "pattern",
    [r"(a)\1", r"(?:a|aa)+", r"\X", r"a(?i)b", r"(?<=(?>a))", "(" * 1000 + "a" + ")" * 1000],
)
def test_patterns_that_a_page_refuses(pattern: str) -> None:
    with pytest.raises(NotInPageError):
        translated(pattern)
