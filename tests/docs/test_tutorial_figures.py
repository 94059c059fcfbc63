"""The tutorial shows every figure that the documents print, on the page where it belongs.

That the pages show what the commands print is `test_tutorial.py`'s; this is that the commands
ask for what the documents tell.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import pytest

from tests.conftest import shared_file
from tests.tools.docs.tutorial import FOLDER, Step, steps

WORDS, BPE, WORDPIECE, BOOK, COMPARING, ERRATUM = (
    "1-words-and-symbols",
    "2-bpe",
    "3-wordpiece",
    "5-treasure-island",
    "6-comparing",
    "7-an-erratum",
)


@pytest.fixture(scope="module")
def documents() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(shared_file("golden/documents.json").read_bytes())
    return data


class Shown:
    """What a page shows below its commands.

    A line is compared by its words: rules between columns, the mark of what has changed, and
    how wide a column is do not matter.
    """

    def __init__(self, page: str) -> None:
        self.steps = steps((FOLDER / f"{page}.md").read_text(encoding="utf-8"))

    def by(self, *parts: str) -> list[list[str]]:
        """What the command that has these parts shows, as the words of each line."""
        return _words(self._only(parts))

    def raw(self, *parts: str) -> list[str]:
        """What it shows, as the lines are."""
        return list(self._only(parts).output)

    def _only(self, parts: tuple[str, ...]) -> Step:
        found = [step for step in self.steps if all(part in f"{step.shell}\n" for part in parts)]
        assert len(found) == 1, (parts, [step.shell for step in found])
        return found[0]

    def texts(self) -> str:
        """All commands, as one line."""
        return " ".join(" ".join(step.shell.replace("\\\n", " ").split()) for step in self.steps)


def _words(step: Step) -> list[list[str]]:
    return [
        [word for word in line.replace("│", " ").split() if word != "*"] for line in step.output
    ]


def merges(lines: list[list[str]]) -> list[str]:
    """The pairs of a table of merges, whose first column counts the steps."""
    rows = [line for line in lines if line and line[0].replace(",", "").isdigit()]
    assert [row[0] for row in rows] == [str(step) for step in range(1, len(rows) + 1)]
    return [f"{row[1]} {row[2]}" for row in rows]


def state(lines: Iterable[list[str]]) -> dict[str, int]:
    """The words of a corpus state with their counts.

    What a step has merged stands in brackets; what was there before it stands behind `was`.
    """
    found = {}
    for line in lines:
        if len(line) > 1 and line[0].isdigit():
            tokens = line[1 : line.index("was")] if "was" in line else line[1:]
            found[" ".join(token.strip("[]") for token in tokens)] = int(line[0])
    return found


def sizes(lines: list[list[str]]) -> dict[str, int]:
    """The numbers of a summary, by the word that starts the line."""
    return {
        line[0]: int(line[1].replace(",", ""))
        for line in lines
        if len(line) > 1 and line[1].replace(",", "").isdigit()
    }


def pairs(lines: list[list[str]]) -> list[list[str]]:
    """The rows of a table of pairs, which has a title and column names before them, and a line
    with their number behind them."""
    assert lines[0][0] == "Pairs" and lines[2] == [*lines[2][:-2], "merged", "at"]
    rows = lines[4:-2]
    assert lines[-1][:2] == [str(len(rows)), "pairs;"]
    return rows


def scores(lines: list[list[str]]) -> dict[str, Fraction]:
    """Pairs with their score, which stands there as `count/(left·right)` and as a decimal."""
    found = {}
    for first, second, score, decimal, *_ in pairs(lines):
        count, left, right = map(int, re.findall(r"\d+", score))
        assert score == f"{count}/({left}·{right})"
        found[f"{first} {second}"] = Fraction(count, left * right)
        assert float(decimal) == pytest.approx(count / (left * right), rel=1e-3)
    return found


def exact_scores(lines: list[str]) -> dict[str, Fraction]:
    """Pairs with their score, of CSV with the columns left, right, score, decimal score."""
    rows = [line.split(",") for line in lines[1:]]
    found = {f"{row[0]} {row[1]}": Fraction(row[2]) for row in rows}
    assert [float(row[3]) for row in rows] == pytest.approx(
        [float(score) for score in found.values()], rel=1e-3
    )
    return found


def test_first_notebook_toy(documents: dict[str, Any]) -> None:
    told, page = documents["notebook_bpe_toy"], Shown(BPE)
    assert f"echo {told['document']} > low.txt" in page.texts()
    assert f"--marker end:{told['end_marker']} --vocab {told['vocab_size']} " in page.texts()
    assert merges(page.by("inspect bpe.json --merges :")) == told["merges"]
    size = sizes(page.by("inspect bpe.json | grep"))
    assert size == {"alphabet": told["alphabet_size"], "vocabulary": told["vocab_size"]}
    counts = {
        f"{line[0]} {line[1]}": int(line[2])
        for line in pairs(page.by("inspect bpe.json --pairs 0"))
    }
    assert counts == told["initial_pair_counts"]
    final = page.by("inspect bpe.json", f"--state {len(told['merges'])} ")
    assert state(final[1:-1]) == told["final_state"]
    for text, tokens in told["encode"].items():
        assert page.by(f"echo {text} | tokctl encode -m bpe.json --as tokens") == [tokens]
    assert page.raw("tokctl decode -m") == [told["decode_back"]]


def test_first_notebook_start_marker(documents: dict[str, Any]) -> None:
    told, page = documents["notebook_bpe_start_marker"], Shown(BPE)
    assert f"--vocab {told['vocab_size']} -o start.json" in page.texts()
    assert merges(page.by("inspect start.json --merges :")) == told["merges"]
    size = sizes(page.by("-o start.json"))
    assert size["merges"] == told["merges_done"]
    assert size["vocabulary"] == told["final_vocab_size"]


def test_second_notebook_toy(documents: dict[str, Any]) -> None:
    told, page = documents["notebook_wordpiece_toy"], Shown(WORDPIECE)
    assert f"echo {told['document']} > low.txt" in page.texts()
    marker = f"--marker continuation:{told['continuation_marker']}"
    assert f"{marker} --vocab {told['vocab_size']} " in page.texts()
    assert merges(page.by("inspect wp.json --merges :")) == told["merges"]
    size = sizes(page.by("inspect wp.json | grep"))
    assert size == {"alphabet": told["alphabet_size"], "vocabulary": told["final_vocab_size"]}
    assert scores(page.by("inspect wp.json --pairs 0")) == {
        pair: Fraction(score).limit_denominator(10_000)
        for pair, score in told["initial_scores"].items()
    }
    final = page.by("inspect wp.json", f"--state {len(told['merges'])} ")
    assert state(final[1:-1]) == told["final_state"]
    texts = " ".join(f"'{text}'" if " " in text else text for text in told["encode_by_merges"])
    shown = page.by(f"printf '%s\\n' {texts} |", "encode -m wp.json --as tokens")
    assert shown == list(told["encode_by_merges"].values())


def test_guide(documents: dict[str, Any]) -> None:
    told, page = documents["guide_cats"], Shown(BPE)
    words = {word: int(count) for word, count in page.by("cat cats.tsv")}
    assert words == told["words"]
    figures = told["bpe"]
    training = page.by("-o cats.json cats.tsv", f"--vocab {figures['vocab_size']} ")
    learned = [f"{line[2]} {line[4]}" for line in training if line and line[0] == "step"]
    assert learned == figures["merges"]
    last = max(place for place, line in enumerate(training) if line and line[0] == "step")
    assert state(training[last + 1 :]) == figures["final_state"]
    shown = page.by(f"printf '%s\\n' {' '.join(figures['encode'])} |", "cats.json --as tokens")
    assert shown == list(figures["encode"].values())

    figures, page = told["wordpiece"], Shown(WORDPIECE)
    assert f"--vocab {figures['vocab_size']} -o cats.json" in page.texts()
    text = (FOLDER / f"{WORDPIECE}.md").read_text(encoding="utf-8")
    assert f"The alphabet has {figures['alphabet_size']} symbols" in text
    assert merges(page.by("inspect cats.json --merges :")) == figures["merges"]
    final = page.by(
        "inspect cats.json", f"--state {len(figures['merges'])} --word-counts cats.tsv\n"
    )
    assert state(final[1:-1]) == figures["final_state"]


def test_slides_bpe(documents: dict[str, Any]) -> None:
    told, page = documents["slides_hug"], Shown(BPE)
    words = {word: int(count) for word, count in page.by("cat hug.tsv")}
    assert words == told["words"]
    figures = told["bpe"]
    # The slides don't count [UNK] among the ten.
    assert f"--vocab {figures['vocab_size'] + 1} -o hug.json" in page.texts()
    table = page.by("inspect hug.json --merges :")
    assert merges(table) == figures["merges"]
    counts = [int(line[4]) for line in table if line and line[0].isdigit()]
    assert counts == figures["counts_at_merge"]
    shown = page.by(f"printf '%s\\n' {' '.join(figures['encode'])} |", "hug.json --as tokens")
    assert shown == list(figures["encode"].values())


def test_the_erratum(documents: dict[str, Any]) -> None:
    told, page = documents["slides_hug"], Shown(ERRATUM)
    figures = told["wordpiece"]
    training = page.by("--show-steps 3 -o hug.json")
    learned = [f"{line[2]} {line[4]}" for line in training if line and line[0] == "step"]
    assert learned == figures["merges"]
    spelled = {symbol for word in state(training[1:6]) for symbol in word.split()}
    assert spelled == set(figures["alphabet"])
    # The first table of merges has the exact scores, among them that of the pair that wins.
    table = next(step for step in page.steps if "--merges :" in step.shell)
    exact = {
        f"{line[1]} {line[2]}": line[5] for line in _words(table) if line and line[0].isdigit()
    }
    assert exact == {"##g ##s": "1/20", "h ##u": "1/36", "hu ##gs": "1/15"}
    first = exact_scores(page.raw("--pairs 0 --word-counts hug.tsv --csv | cut"))
    assert scores(page.by("--pairs 0 --word-counts hug.tsv\n")) == first
    told_scores = {pair: Fraction(score) for pair, score in figures["first_scores"].items()}
    assert {pair: first[pair] for pair in told_scores} == told_scores
    # After it all have the same score, among them the one that is merged next.
    assert set(exact_scores(page.raw("--pairs 1 --word-counts hug.tsv --csv | cut")).values()) == {
        told_scores["h ##u"]
    }
    # What the note says of the step that the slides get wrong.
    third = exact_scores(page.raw("--pairs 2 --word-counts hug.tsv --csv | cut"))
    assert scores(page.by("--pairs 2 --word-counts hug.tsv\n")) == third
    assert next(iter(third)) == "hu ##gs"
    assert third["hu ##g"] == Fraction(2, 45) and third["hu ##gs"] == Fraction(1, 15)
    assert third["hu ##g"] < Fraction(1, 21) < max(third.values()) == third["hu ##gs"]
    text = (FOLDER / f"{ERRATUM}.md").read_text(encoding="utf-8")
    for fraction in ("1/15", "2/45", "1/21", "1/36", "1/20"):
        assert fraction in figures["note"] + str(figures) and fraction in text


def test_treasure_island(documents: dict[str, Any]) -> None:
    told, page = documents["treasure_island"], Shown(BOOK)
    for sentence in told["sentences"]:
        assert f'echo "{sentence}" >' in page.texts()
    for name, kind in (("bpe", "notebook-bpe"), ("wp", "notebook-wordpiece")):
        figures = told["bpe" if name == "bpe" else "wordpiece"]
        size = sizes(page.by(f"--preset {kind} --vocab {figures['vocab_size']} "))
        assert size["vocabulary"] == figures["vocab_size"]
        here = {key.removesuffix("_here"): value for key, value in figures.items()}
        assert size["alphabet"] == here["alphabet_size"]
        assert size["merges"] == here["merges_done"]
        tokens = [line.split(" ") for line in page.raw(f"encode -m {name}.json --as tokens")]
        assert tokens == figures["tokens"]
    text = (FOLDER / f"{BOOK}.md").read_text(encoding="utf-8")
    for figure in ("alphabet_size_in_document", "merges_done_in_document"):
        assert f"{told['wordpiece'][figure]:,}" in text
    for seconds in told["seconds_in_document"].values():
        assert f"{seconds // 60} minutes and {seconds % 60} seconds" in text


def test_the_two_models_compared(documents: dict[str, Any]) -> None:
    told, page = documents["treasure_island"], Shown(COMPARING)
    for sentence in told["sentences"]:
        assert f'echo "{sentence}" >' in page.texts()
    for name, kind, figures in (
        ("bpe", "notebook-bpe", told["bpe"]),
        ("wp", "notebook-wordpiece", told["wordpiece"]),
    ):
        assert f"--preset {kind} --vocab {figures['vocab_size']} -o {name}.json" in page.texts()
    # The sum over the five sentences, and the tokens of the third.
    lines = page.by("/^tokens ↓/p", "five-lines.txt")
    sums = [sum(map(len, told[kind]["tokens"])) for kind in ("bpe", "wordpiece")]
    assert [int(word.rstrip("*")) for word in lines[0][2:]] == sums
    captain = told["sentences"].index("The captain and the lieutenant had a discussion.")
    lines = page.by("/^The captain/", "two.txt")
    for name, kind in (("bpe", "bpe"), ("wp", "wordpiece")):
        tokens = told[kind]["tokens"][captain]
        count, *first = lines[1 if name == "bpe" else 2][1:]
        rest = lines[4 if name == "bpe" else 5][1:]
        assert int(count) == len(tokens) and [*first, *rest] == tokens
    # The words that the documents' sentences are cut at, with a reason from each model.
    reasons = page.by("/^checked/", "words.txt")
    for word in ("checked", "lieutenant", "Alice"):
        start = next(place for place, line in enumerate(reasons) if line[:1] == [word])
        rows = [line[0] for line in reasons[start + 1 :] if line]
        assert [row for row in rows if row in ("bpe", "wordpiece", "unigram")][:3] == [
            "bpe", "wordpiece", "unigram",
        ]  # fmt: skip


def test_pre_tokenizers(documents: dict[str, Any]) -> None:
    told, page = documents["pretokenize"], Shown(WORDS)
    assert f'echo "{told["text"]}" > sentence.txt' in page.texts()
    assert f'echo "{told["gpt2-words"]["text"]}" > hello.txt' in page.texts()
    assert f"echo '{told['words_text']}' > cats.txt" in page.texts()

    def pieces(name: str, text: str) -> list[str]:
        (line,) = page.raw(f"encode -m {name}.json --as pieces {text}.txt")
        found: list[str] = json.loads(line)
        return found

    assert pieces("whitespace", "sentence") == told["whitespace"]
    assert pieces("whitespace", "cats") == told["whitespace_words"]
    assert pieces("bert", "cats") == told["punctuation_words"]
    assert pieces("gpt2-words", "hello") == told["gpt2-words"]["pieces"]
    (offsets,) = page.raw("--offsets sentence.txt")
    together = zip(pieces("bert", "sentence"), json.loads(offsets), strict=True)
    assert [list(pair) for pair in together] == told["bert"]
    for name in ("gpt2", "metaspace"):
        assert page.by(f"encode -m {name}.json --as tokens") == [told[name]]


def test_normalizers(documents: dict[str, Any]) -> None:
    told, page = documents["normalize"], Shown(WORDS)
    assert f"echo '{told['text']}' > messy.txt" in " ".join(step.shell for step in page.steps)
    shown = page.raw("--algo char --normalize $name")
    names = [name.removesuffix(".json") for name in shown[::2]]
    assert dict(zip(names, shown[1::2], strict=True)) == {
        name: told[name] for name in ("nfc", "lowercase", "bert", "collapse-spaces")
    }


#: What each test above looks for. `source` is where a fact was found, and names no figure.
LOOKED_FOR = {
    "notebook_bpe_toy": {
        "document", "pretokenize", "end_marker", "vocab_size", "alphabet_size",
        "initial_pair_counts", "merges", "final_state", "encode", "decode_back",
    },
    "notebook_bpe_start_marker": {
        "document", "pretokenize", "start_marker", "vocab_size", "merges_done",
        "final_vocab_size", "merges",
    },
    "notebook_wordpiece_toy": {
        "document", "pretokenize", "continuation_marker", "vocab_size", "alphabet_size",
        "final_vocab_size", "initial_scores", "merges", "final_state", "encode_by_merges",
    },
    "treasure_island": {
        "sentences", "text", "pretokenize", "bpe", "wordpiece", "seconds_in_document",
    },
    "guide_cats": {"words", "bpe", "wordpiece"},
    "slides_hug": {"words", "bpe", "wordpiece"},
    "pretokenize": {
        "text", "whitespace", "bert", "gpt2", "metaspace", "gpt2-words", "whitespace_words",
        "punctuation_words", "words_text",
    },
    "normalize": {"text", "nfc", "lowercase", "bert", "collapse-spaces"},
}  # fmt: skip


def test_nothing_of_the_documents_is_forgotten(documents: dict[str, Any]) -> None:
    """A figure that is added to the file has to be looked for above."""
    told = {name: set(values) - {"source"} for name, values in documents.items()}
    assert told == LOOKED_FOR
