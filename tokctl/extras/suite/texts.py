"""Texts of the suite: the bundled domains, and parallel sentences in many languages.

All were written for tokctl. They are small, so their metrics come with intervals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tokctl.analysis.texts import Text
from tokctl.core.errors import BadInput
from tokctl.sources.corpora import corpus_path


@dataclass(frozen=True)
class Domain:
    """Texts of one kind.

    Attributes:
        name: Name of a bundled kind, or of the user's text.
        texts: Texts; the intervals draw from the lines of all of them.
        is_bundled: Whether the domain ships with tokctl.
    """

    name: str
    texts: tuple[Text, ...]
    is_bundled: bool


@dataclass(frozen=True)
class ParallelText:
    """The sentences of the suite in one language, one per line."""

    language: str
    script: str
    text: Text


#: Bundled corpus of each domain.
_FILES = {
    "prose": "suite-prose",
    "code": "suite-code",
    "mark-up": "suite-markup",
    "names": "suite-names",
}
#: Corpus of parallel sentences: language, script and sentence in each line, separated by tabs.
_PARALLEL = "suite-parallel"
#: Language that parity is relative to.
REFERENCE = "English"


def bundled_domains(parallel: Sequence[ParallelText]) -> list[Domain]:
    """Return prose, code, mark-up, names, numbers, and last the sentences in all languages.

    Raises:
        TokctlError: A file of this installation is missing.
    """
    domains = [
        Domain(name, (_text(name, corpus_path(corpus).read_bytes()),), True)
        for name, corpus in _FILES.items()
    ]
    domains.append(Domain("numbers", (_text("numbers", numbers().encode()),), True))
    scripts = tuple(one.text for one in parallel)
    return [*domains, Domain("many scripts", scripts, True)]


def parallel_texts() -> list[ParallelText]:
    """Return the sentences in each language, including the reference, in the file's order.

    Raises:
        TokctlError: The file of this installation is missing or damaged.
    """
    lines: dict[tuple[str, str], list[str]] = {}
    for line in corpus_path(_PARALLEL).read_text(encoding="utf-8").splitlines():
        try:
            language, script, sentence = line.split("\t")
        except ValueError:
            raise BadInput(
                f"the corpus {_PARALLEL} is damaged", "reinstall tokctl", "damaged"
            ) from None
        lines.setdefault((language, script), []).append(f"{sentence}\n")
    return [
        ParallelText(language, script, _text(language, "".join(own).encode()))
        for (language, script), own in lines.items()
    ]


def _text(name: str, data: bytes) -> Text:
    return Text(name, data, is_utf8=True)


#: Constants of a linear congruential generator modulo 2^32 (Numerical Recipes, "quick and dirty").
_MULTIPLIER, _INCREMENT = 1664525, 1013904223
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def numbers(lines: int = 10) -> str:
    """Return dates, times, decimals, hexadecimal numbers and tables: `lines` lines of each kind.

    The text is the same at each call.
    """
    state = 1

    def draw(below: int) -> int:
        nonlocal state
        state = (_MULTIPLIER * state + _INCREMENT) % 2**32
        return (state >> 8) % below

    texts: list[str] = []
    for _ in range(lines):
        year, month, day = 1900 + draw(140), draw(12), 1 + draw(28)
        clock = f"{draw(24):02}:{draw(60):02}:{draw(60):02}"
        texts += [
            f"{year}-{month + 1:02}-{day:02} {clock}.{draw(1000):03}",
            f"{day} {_MONTHS[month]} {year}, {day:02}/{month + 1:02}/{year % 100:02}",
            f"{draw(10)}.{draw(10**6):06} {draw(1000)}.{draw(100):02} -{draw(100)}.5e-{draw(9)}",
            f"{draw(10**4)} {draw(10**6)} {draw(10**6) * 10**3 + draw(10**3)} {draw(10**9):,}",
            f"0x{draw(2**16):04X} 0x{draw(2**24):08x} {draw(2**24):06x}{draw(2**24):06x}",
            f"#{draw(2**24):06x} 0b{draw(256):08b} {draw(101)}% {draw(90)}° +{draw(10**9)}",
            f"{draw(256)}.{draw(256)}.{draw(256)}.{draw(256)}:{draw(2**16)}",
            f"{draw(10**3):>6}{draw(10**4):>8}{draw(10**3) / 100:>8.2f}{-draw(100):>6}",
            f"{draw(500)},{draw(10**4)},{draw(10**4) / 1000:.3f},{draw(2)},{draw(10**5)}",
        ]
    return "\n".join(texts) + "\n"


#: Maximum number of the user's texts that are separate domains; more become one domain.
MOST_TEXTS = 6


def user_domains(texts: Sequence[Text]) -> list[Domain]:
    """Return each of the user's texts as a domain, or more than `MOST_TEXTS` as one domain."""
    if len(texts) <= MOST_TEXTS:
        return [Domain(text.name, (text,), False) for text in texts]
    return [Domain(f"{len(texts):,} texts", tuple(texts), False)]
