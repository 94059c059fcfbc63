"""The course of the tutorial: its code runs as it is printed, page after page, and learns what the
documents and tokctl's own trainers learn."""

from __future__ import annotations

import ast
import json
import re
import sys
from dataclasses import replace
from functools import cache
from math import exp
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import part_of_examples, shared_file
from tests.tools.docs.tutorial import (
    FOLDER,
    PAGES,
    built,
    code_before,
    code_of,
    difference,
    needs_the_book,
)
from tokctl import Tokenizer, preset
from tokctl.extras.course import exercises
from tokctl.extras.course.exercises import EXERCISES, Exercise, written_call
from tokctl.extras.course.exercises import PAGES as NAMES
from tokctl.model import Model, TrainingStage
from tokctl.model.parts import PRE_TOKENIZERS
from tokctl.model.presets import BPE
from tokctl.sources.corpora import corpus_path

if not FOLDER.is_dir():
    pytest.skip("the documentation is not in an installed wheel", allow_module_level=True)

COURSE = [FOLDER / f"{name}.md" for name in NAMES]


@cache
def mytok() -> dict[str, Any]:
    """The names of the reader's file at the end of the course."""
    names: dict[str, Any] = {"__name__": "mytok"}
    for page in COURSE:
        exec(code_of(page.read_text(encoding="utf-8")), names)
    return names


def counted(name: str) -> dict[str, int]:
    lines = corpus_path(name).read_text(encoding="utf-8").splitlines()
    return {word: int(count) for word, count in (line.split("\t") for line in lines)}


@pytest.fixture(scope="module")
def documents() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(shared_file("golden/documents.json").read_bytes())
    return data


# -- The pages -------------------------------------------------------------------------------------


@pytest.mark.few(2)
@pytest.mark.parametrize("page", COURSE, ids=lambda path: path.stem)
def test_python_prints_what_the_page_shows(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    if needs_the_book(text):
        shared_file("corpora/treasure-island.txt")
    told = difference(page.name, text, built(text, code_before(page), commands=False))
    if told:
        pytest.fail(
            f"{told}\n\nif that is right: python -m tests.tools.docs.tutorial --write", False
        )


def test_the_course_has_all_pages() -> None:
    assert [page for page in PAGES if page.stem != "README"] == COURSE
    contents = (FOLDER / "README.md").read_text(encoding="utf-8")
    for page in COURSE:
        title = page.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
        assert f"| [{title}]({page.name}) |" in contents


@pytest.mark.parametrize("page", COURSE, ids=lambda path: path.stem)
def test_every_page_has_its_parts(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    sections = re.findall(r"^## (.*)$", text, flags=re.MULTILINE)
    assert sections.count("Build it") == 1
    assert sections[-2:] == ["Exercises", "Sources"]
    code = [line for line in code_of(text).splitlines() if line.strip()]
    assert 2 <= len(code) <= 90
    assert all(len(line) <= 100 for line in code)
    sources = text.partition("\n## Sources\n")[2]
    assert len(re.findall(r"^- ", sources, flags=re.MULTILINE)) >= 2
    assert "](https://" in sources


def test_the_code_needs_the_standard_library_and_regex_alone() -> None:
    code = "\n".join(code_of(page.read_text(encoding="utf-8")) for page in COURSE)
    imported = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add(node.module or "")
    assert imported - {"regex"} <= set(sys.stdlib_module_names)
    assert "regex" in imported and "tokctl" not in code


@pytest.mark.parametrize("one", EXERCISES.values(), ids=EXERCISES)
def test_the_page_asks_for_the_exercise(one: Exercise) -> None:
    text = (FOLDER / f"{one.page}.md").read_text(encoding="utf-8")
    found = re.search(
        rf"^\*\*{re.escape(one.number)}\*\* `{re.escape(one.signature)}`.*?```text\n(.*?)```",
        text,
        flags=re.MULTILINE | re.DOTALL,
    )
    assert found, f"**{one.number}** `{one.signature}` …, and a block with its example"
    case = one.example
    example = f"{written_call(one, case)} → {one.expected(*case.arguments)!r}"
    assert found[1].split() == example.split()


# -- What the code learns --------------------------------------------------------------------------


def names(pairs: list[tuple[str, str]]) -> list[str]:
    return [" ".join(pair) for pair in pairs]


def test_bpe_of_the_documents(documents: dict[str, Any]) -> None:
    my = mytok()
    told = documents["notebook_bpe_toy"]
    counts = my["count_words"](told["document"])
    start = my["first_state"](counts, my["letters_and_end"])
    found = my["count_pairs"](start)
    assert {" ".join(pair): count for pair, count in found.items()} == told["initial_pair_counts"]
    for train in (my["train"], my["train_fast"]):
        vocabulary, merges, *state = train(counts, told["vocab_size"])
        assert len(my["alphabet"](start)) == told["alphabet_size"]
        assert names(merges) == told["merges"] and len(vocabulary) == told["vocab_size"]
    _, merges, state = my["train"](counts, told["vocab_size"])
    assert {" ".join(word): count for word, count in state.items()} == told["final_state"]
    for text, tokens in told["encode"].items():
        assert my["encode"](text, merges) == tokens
    assert my["decode"](my["encode"](told["decode_back"], merges)) == told["decode_back"]

    told = documents["notebook_bpe_start_marker"]
    vocabulary, merges = my["train_fast"](
        counts, told["vocab_size"], my["start_and_letters"], moving=True
    )
    assert names(merges) == told["merges"] and len(vocabulary) == told["final_vocab_size"]


def test_the_guide_and_the_slides(documents: dict[str, Any]) -> None:
    my = mytok()
    hashes = my["with_hashes"], my["likeliest"], my["joined_inside"]
    for name, key in (("guide-cats", "guide_cats"), ("slides-hug", "slides_hug")):
        counts, told = counted(name), documents[key]
        _, bpe, _ = my["train"](counts, 1000, my["letters"])
        _, wordpiece, _ = my["train"](counts, 1000, *hashes)
        merges = told["bpe"]["merges"]
        assert names(bpe)[: len(merges)] == merges
        merges = told["wordpiece"]["merges"]
        assert names(wordpiece)[: len(merges)] == merges


def test_wordpiece_of_the_notebook(documents: dict[str, Any]) -> None:
    my = mytok()
    told = documents["notebook_wordpiece_toy"]
    state = my["first_state"](my["count_words"](told["document"]), my["with_hashes"])
    symbols, pairs = my["count_symbols"](state), my["count_pairs"](state)
    scores = {
        " ".join(pair).replace("##", "_"): n / (symbols[pair[0]] * symbols[pair[1]])
        for pair, n in pairs.items()
    }
    assert scores == pytest.approx(told["initial_scores"])
    assert len(symbols) == told["alphabet_size"]


@pytest.mark.slow
def test_the_whole_book(documents: dict[str, Any]) -> None:
    my = mytok()
    book = shared_file("corpora/treasure-island.txt")
    counts = my["book_words"](book.read_text(encoding="utf-8"))
    model = Tokenizer.train([book], vocab_size=10_000, recipe=preset("notebook-bpe"))
    _, merges = my["train_fast"](counts, 10_000, my["start_and_letters"], moving=True)
    assert merges == [(model.tokens[m.left], model.tokens[m.right]) for m in model.merges]
    told = documents["treasure_island"]
    assert len(merges) == told["bpe"]["merges_done"]


@pytest.mark.parametrize("scores", [{"a": -1.5, "b": -2.5, "ab": -3.0, "ba": -2.0, "aba": -3.25}])
def test_expected_counts_are_those_of_all_ways(scores: dict[str, float]) -> None:
    counts = {"abab": 3, "a": 2, "babba": 1}
    expected = dict.fromkeys(scores, 0.0)
    for word, count in counts.items():
        ways = exercises._n_best(word, scores, 500)
        total = sum(exp(score) for _, score in ways)
        for pieces, score in ways:
            for piece in pieces:
                expected[piece] += count * exp(score) / total
    assert mytok()["expected_counts"](counts, scores) == pytest.approx(expected)


WORDS = st.dictionaries(
    st.text("abcé東", min_size=1, max_size=8), st.integers(1, 5), min_size=1, max_size=8
)


@part_of_examples(4)
@given(WORDS, st.integers(0, 30), st.text("abcé東", max_size=12))
def test_any_corpus_gives_the_merges_and_tokens_of_tokctl(
    counts: dict[str, int], more: int, word: str
) -> None:
    my = mytok()
    size = len(set("".join(counts))) + more
    _, merges, _ = my["train"](counts, size, my["letters"])
    assert merges == exercises._learned(counts, size, exercises._PLAIN)
    assert my["train_fast"](counts, size, my["letters"])[1] == merges
    tokens = my["encode_word"](word, merges, my["letters"])
    assert tokens == exercises._with_merges(merges, word).encode(word).tokens

    size = len(my["alphabet"](my["first_state"](counts, my["with_hashes"]))) + more
    likelihood = my["with_hashes"], my["likeliest"], my["joined_inside"]
    vocabulary, merges, _ = my["train"](counts, size, *likelihood)
    assert merges == exercises._learned(counts, size, exercises._HASHES)
    recipe = replace(preset("wordpiece-likelihood"), pre_tokenizers="whitespace")
    names = [token.encode() for token in ("[UNK]", *vocabulary)]
    model = Tokenizer(Model(recipe, names))
    assert my["longest_match"](word, set(vocabulary)) == model.encode(word).tokens


# -- GPT-2 and GPT-4, id for id --------------------------------------------------------------------

ODD = [
    "",
    " ",
    "  a  ",
    "\n\n x\r\n",
    "it's IT'S 'tis",
    "1234567 ١٢٣٤",
    "a_b(c)\tname",
    "🙂👍🏽 ꙮ",
    "नमस्ते",
]


def texts() -> list[str]:
    """Pieces of the declaration of human rights in several languages, and odd ones."""
    found = list(ODD)
    for path in sorted(shared_file("corpora/udhr").iterdir()):
        if path.is_file():
            found.append(path.read_text(encoding="utf-8", errors="replace")[:2000])
    return found


def test_ids_of_gpt4() -> None:
    path = shared_file("vocab/cl100k_base.tiktoken")
    my, model = mytok(), Tokenizer.load(path)
    ranks = my["load_ranks"](path)
    assert len(ranks) == 100_256
    checked = 0
    for text in texts():
        ids = my["encode_ranks"](text, ranks, my["CL100K"])
        assert ids == model.encode_ids(text)
        assert my["decode_ranks"](ids, ranks) == text if len(text) < 100 else True
        checked += len(ids)
    assert checked > 10_000


def test_ids_of_gpt2() -> None:
    path = shared_file("vocab/gpt2.tokenizer.json")
    my, model = mytok(), Tokenizer.load(path)
    vocabulary = json.loads(path.read_text(encoding="utf-8"))["model"]["vocab"]
    ranks = {my["bytes_of"]([token]): id_ for token, id_ in vocabulary.items() if id_ < 50_256}
    for text in texts():
        assert my["encode_ranks"](text, ranks, my["GPT2"]) == model.encode_ids(text)


@pytest.mark.parametrize(
    ("name", "pattern"), [("GPT2", "gpt2"), ("CL100K", "cl100k"), ("O200K", "o200k")]
)
def test_patterns(name: str, pattern: str) -> None:
    my = mytok()
    for text in [*ODD, "getName(HTTPServer) WE'LL don't costs/us/\n\n end"]:
        assert my["split"](text, my[name]) == exercises._pieces(pattern, text)


def test_byte_level_training_equals_the_trainer() -> None:
    my = mytok()
    text = "the thé, the café, naïve 🙂🙂 and the theatre; 東京東京 was there, there"
    for words in (my["words_and_spaces"](text), my["split"](text, my["GPT2"])):
        assert "".join(words) == text
        vocabulary, merges = my["train_bytes"](words, 300)
        counts = {word: words.count(word) for word in words}
        model = Tokenizer.train(counts, vocab_size=300, algorithm="bpe")
        assert list(vocabulary) == model.tokens
        assert merges == [(model.tokens[m.left], model.tokens[m.right]) for m in model.merges]
        ids = my["encode_bytes"](words, vocabulary, merges)
        assert my["decode_bytes"](ids, vocabulary) == text


@part_of_examples(4)
@given(st.lists(st.text("ab ,.", max_size=12), max_size=6), st.integers(256, 275))
def test_superbpe_equals_the_trainer(lines: list[str], transition: int) -> None:
    my = mytok()
    pattern = PRE_TOKENIZERS.steps("gpt2")
    stages = TrainingStage(pattern, until=str(transition)), TrainingStage()
    recipe = replace(BPE, pre_tokenizers=(), stages=stages)
    vocabulary, merges = my["train_superbpe"](lines, 280, transition)
    counts = {line: lines.count(line) for line in lines if line}
    if counts:
        model = Tokenizer.train(counts, vocab_size=280, recipe=recipe)
        assert list(vocabulary) == model.tokens
        assert merges == [(model.tokens[m.left], model.tokens[m.right]) for m in model.merges]
        ids = my["encode_bytes"](lines, vocabulary, merges)
        assert ids == [id_ for line in lines for id_ in model.encode_ids(line)]
