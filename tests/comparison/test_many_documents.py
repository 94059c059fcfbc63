"""A comparison on many documents in one source is that on as many files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests.errors import raises_code
from tests.many import archive, files, records
from tests.metrics.models import TEXT, document, model
from tokctl.analysis.comparison import Comparison, Text, compare, read_texts, train_sizes
from tokctl.analysis.comparison.measuring import speed
from tokctl.analysis.comparison.samples import pick_sentences
from tokctl.analysis.comparison.stories import _count_phrase
from tokctl.analysis.texts import count_words
from tokctl.core.errors import TokctlError
from tokctl.model.presets import default_recipe
from tokctl.sources import Source

MODELS = [(name, model(name)) for name in ("bpe", "wordpiece", "unigram", "end")]
#: 50 documents; joined, many of them would make other words, lines and tokens.
DOCUMENTS = [
    *(word.encode() for word in TEXT.split()),
    *(line.encode() for line in TEXT.splitlines(keepends=True)),
    *(b"lo", b"w", b"new\r", b"\nest", b"", b" ", b"low\n\nlower", "wid\u00e9".encode()),
]
DOCUMENTS = [DOCUMENTS[n * n % len(DOCUMENTS)] for n in range(50)]
WORDS = ["lowest", "low", "low (", "est"]


def _compared(texts: Sequence[Source], **more: Any) -> Comparison:
    how = {"sentences": ["the lowest (new)"], "words": WORDS, "intervals": True, "threads": 1}
    return compare(MODELS, texts, **{**how, **more})


def _of_all(comparison: Comparison) -> dict[str, Any]:
    """Its document, without what is said text by text."""
    found = comparison.to_dict()
    del found["texts"], found["provenance"]
    for one in found["models"]:
        del one["texts"]
    return found


@pytest.mark.few(2)
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("rule", ["spaces", "unicode"])
def test_the_figures_of_as_many_files(threads: int, rule: str) -> None:
    expected = _compared(files(DOCUMENTS), word_rule=rule)
    for source in (
        records(DOCUMENTS),
        records(DOCUMENTS, batch=50),
        records(DOCUMENTS, [1] * 50),
        archive(DOCUMENTS),
    ):
        found = _compared([source], threads=threads, word_rule=rule)
        assert _of_all(found) == _of_all(expected)
        assert found.total == expected.total
        (text,) = found.texts
        assert text == replace(found.total, name=source.name)
        assert text.documents == 50
    assert {text.documents for text in expected.texts} == {1}


def test_a_count_is_so_many_files() -> None:
    counts = [n % 4 for n in range(50)]
    repeated = [one for one, n in zip(DOCUMENTS, counts, strict=True) for _ in range(n)]
    expected = _compared(files(repeated))
    found = _compared([records(DOCUMENTS, counts)])
    assert found.texts[0].documents == sum(counts)
    assert found.total == expected.total
    assert _of_all(found) == _of_all(expected)


def test_texts_of_all_kinds_beside_one_another() -> None:
    mixed: list[Source] = [
        *files(DOCUMENTS[:9]),
        records(DOCUMENTS[9:30], name="a.jsonl"),
        archive(DOCUMENTS[30:], name="b.tar"),
    ]
    found = _compared(mixed)
    assert _of_all(found) == _of_all(_compared(files(DOCUMENTS)))
    assert [text.name for text in found.texts[-2:]] == ["a.jsonl", "b.tar"]
    assert [text.documents for text in found.texts[-2:]] == [21, 20]


def test_languages_of_many_documents() -> None:
    lines = [line.encode() for line in TEXT.splitlines(keepends=True)]
    sources = {"en": records(lines), "fi": archive(lines[:2]), "sv": document(TEXT)}
    found = _compared([], languages=sources)
    assert found.languages is not None
    assert [entry.lines for entry in found.languages.languages] == [len(lines), 2, len(lines)]
    assert [text.name for text in found.texts] == ["en", "fi", "sv"]
    # A text in three, and a model that cuts before each line end, are the same.
    bpe = [text.figures for text in found.models[1].texts]
    assert bpe[0] == bpe[2]


@pytest.mark.parametrize("algorithm", ["bpe", "wordpiece", "unigram", "word", "char"])
def test_training_on_them(algorithm: str) -> None:
    """What is compared was trained on the very texts, and the reasons know it."""
    recipe = default_recipe(algorithm)
    lines = [line.encode() for line in TEXT.splitlines(keepends=True)] * 2
    counts = [1, 2] * (len(lines) // 2)
    repeated = [one for one, n in zip(lines, counts, strict=True) for _ in range(n)]
    made = []
    for sources in (files(repeated), [records(lines, counts)]):
        texts = read_texts(sources, characters=False, errors="strict")
        trained = train_sizes({algorithm: recipe}, texts, [40 if algorithm != "bpe" else 270])
        (tokenizer,) = trained.values()
        stories = compare([tokenizer], texts, words=["lowest", "wider"]).stories
        made.append((tokenizer.model.tokens, tokenizer.model.merges, stories))
    assert made[0] == made[1]


def test_sentences_do_not_go_on_in_the_next_document() -> None:
    first = b"Here is a sentence that has no end, for its document ends in the middle"
    second = b"of it. And this one is whole, and long enough to be shown to everybody."
    texts = read_texts([records([first, second])], characters=False, errors="strict")
    for sentence in pick_sentences(texts):
        assert any(sentence in one.decode() for one in (first, second))
    assert "And this one is whole" in pick_sentences(texts)[0]
    # Where the document at the place is too short, those behind it are searched.
    short = [b"Hi.", b"Yes.", b"", b"No"] * 20
    texts = read_texts([records([*short, second, *short])], characters=False, errors="strict")
    assert pick_sentences(texts)[0] == second.decode().partition(". ")[2]
    texts = read_texts([records([b"\n", b"Hi."])], characters=False, errors="strict")
    assert pick_sentences(texts) == ["Hi."]
    assert pick_sentences(read_texts([records([])], characters=False, errors="strict")) == []


def test_words_do_not_go_on_in_the_next_document() -> None:
    source = records([b"sea", b"-chest sea-chest", b"a sea-", b"chest"], [2, 3, 1, 1])
    texts = read_texts([source], characters=False, errors="strict")
    assert _count_phrase("sea-chest", texts) == 3
    assert _count_phrase("sea-", texts) == 1
    assert count_words(texts, "whitespace", 2) == {
        b"sea": 2,
        b"-chest": 3,
        b"sea-chest": 3,
        b"a": 1,
        b"sea-": 1,
        b"chest": 1,
    }
    # What is not UTF-8 is U+FFFD, in each document by itself.
    texts = read_texts([records([b"a\xc3", b"\xa9"])], characters=False, errors="strict")
    assert (
        _count_phrase("a\ufffd", texts),
        _count_phrase("\ufffd", texts),
        _count_phrase("é", texts),
    ) == (1, 1, 0)


def test_documents_that_hold_some_bytes() -> None:
    (text,) = read_texts([records([b"ab", b"", b"cab", b"ab ab", b"x"])], **PLAIN)
    assert list(text.documents_with(b"ab")) == [0, 2, 3]
    assert list(text.documents_with(b"bc")) == []
    assert [text.document(number) for number in range(5)] == [b"ab", b"", b"cab", b"ab ab", b"x"]
    whole = Text("", b"ab ab")
    assert list(whole.documents_with(b"b a")) == [0]
    assert whole.document(0) == b"ab ab"


PLAIN: dict[str, Any] = {"characters": False, "errors": "strict"}


def test_what_is_read() -> None:
    source = records([b"a", b"bc", b""], [1, 0, 2])
    (text,) = read_texts([source], **PLAIN)
    assert (text.data, list(text.ends or ()), list(text.counts or ())) == (b"a", [1, 1], [1, 2])
    assert (text.documents, text.size) == (3, 1)
    # One document is one, wherever it stood.
    for one in (records([b"ab"]), records([b"ab"], [1]), archive([b"ab"]), files([b"ab"])[0]):
        (text,) = read_texts([one], **PLAIN)
        assert (text.data, text.ends, text.counts) == (b"ab", None, None)
    (text,) = read_texts([records([])], **PLAIN)
    assert (text.data, text.documents, list(text.batches())) == (b"", 0, [])
    # Batches are the documents again, some at a time.
    many = [b"x" * (n % 7) for n in range(40_000)]
    (text,) = read_texts([records(many, batch=999)], **PLAIN)
    batches = list(text.batches())
    assert len(batches) > 2
    assert [one for batch in batches for one in batch.texts] == many
    assert [batch.first for batch in batches][:2] == [1, 1 + len(batches[0].texts)]


def test_nothing_to_compare_on() -> None:
    found = compare([model("bpe")], [records([])])
    assert (found.total.documents, found.total.bytes, found.total.lines) == (0, 0, 0)
    with raises_code("missing-option"):
        compare([model("bpe")], [])


def test_text_that_is_not_utf8_names_its_line_or_row() -> None:
    broken = [b"low", b"lower", b"ne\xc3", b"\xa9w"]
    for unit in ("line", "row"):
        with pytest.raises(TokctlError) as raised:
            compare([model("wordpiece")], [records(broken, name="a.parquet", unit=unit)])
        message = (
            f"a.parquet: {unit} 3: line 1, byte 2 is not UTF-8, and this model reads characters"
        )
        assert raised.value.message == message
    with raises_code("not-utf8", r"^0\.txt: line 1, byte 2 is not UTF-8"):
        compare([model("wordpiece")], [archive(broken[2:])])
    # Two halves of a character are two characters that are lost.
    found = compare([model("wordpiece")], [records(broken)], errors="replace")
    assert found.total.characters == 3 + 5 + 3 + 2
    # A text in memory is checked document by document, too.
    (text,) = read_texts([records(broken)], **PLAIN)
    with raises_code("not-utf8", "line 3: line 1, byte 2 is not UTF-8"):
        compare([model("wordpiece")], [text])
    assert compare([model("bpe")], [text]).total.characters == 3 + 5 + 3 + 2


def test_counts_that_are_too_large() -> None:
    with pytest.raises(TokctlError) as raised:
        compare([model("bpe")], [records([b"low", b"er"], [1, 2**55], name="a.tsv")])
    assert raised.value.message.startswith("a.tsv: the texts are too large to measure")
    found = compare([model("bpe")], [records([b"low", b"er"], [1, 2**50])])
    assert found.total.bytes == 3 + 2 * 2**50
    with pytest.raises(TokctlError) as raised:
        compare([model("bpe")], [records([b"low"], [10**8])], intervals=True)
    assert raised.value.hint == "leave --intervals out, or give smaller counts"


def test_speed_is_that_of_documents_on_lines_of_their_own() -> None:
    texts = read_texts([records([b"low", b"er\n", b"new"])], **PLAIN)
    assert speed(model("bpe"), texts, 1).bytes == len(b"low\ner\nnew\n")
