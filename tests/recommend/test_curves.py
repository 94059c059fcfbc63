"""What is measured of candidates is what trainings one by one give."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.metrics.models import document
from tests.recommend.made import lexicon_text
from tests.twins import recommend as twin
from tokctl import Recommendation, TokctlError, recommend
from tokctl.extras.recommend.candidates import CANDIDATES, candidates_of
from tokctl.extras.recommend.corpus import HeldOutCorpus, _pieces, _Sampler, read_corpus
from tokctl.sources import Document, opened
from tokctl.tokenizer import Tokenizer

SHARED = Path(__file__).parents[3] / "shared" / "corpora"
SIZES = [400, 700, 1100]
FREELY = ["bpe/gpt2", "bpe/metaspace", "unigram/o200k", "wordpiece/count"]


def held_out(corpus: HeldOutCorpus) -> list[bytes]:
    return [text.document(n) for text in corpus.measured for n in range(text.documents)]


def check_against_twin(found: Recommendation, corpus: HeldOutCorpus) -> int:
    """Every point of every curve; how many there were."""
    documents = held_out(corpus)
    points = 0
    for curve in found.curves:
        for point in curve.points:
            training = [text.source() for text in corpus.training]
            recipe = CANDIDATES[curve.name].recipe
            assert twin.tokens_at(recipe, point.size, training, documents) == point.tokens
            assert point.bytes_per_token == sum(map(len, documents)) / point.tokens
            points += 1
    return points


@pytest.mark.parametrize("sizes", [[400, 600, 1200], None])
def test_curves_are_those_of_trainings_one_by_one(sizes: list[int] | None) -> None:
    text = document(lexicon_text(lines=800))
    found = recommend(text, candidates=FREELY, sizes=sizes, threads=2)
    assert check_against_twin(found, read_corpus([text])) >= 6


@pytest.mark.slow
@pytest.mark.parametrize("name", ["books.txt", "code.txt", "multilingual.txt"])
def test_curves_of_real_texts(name: str) -> None:
    if not (SHARED / name).exists():
        pytest.skip("the shared texts are not there")
    text = document((SHARED / name).read_bytes()[:400_000].decode(errors="ignore"))
    found = recommend(text, threads=2)
    assert check_against_twin(found, read_corpus([text])) >= 20


def test_threads_and_runs_change_nothing() -> None:
    text = document(lexicon_text())
    one, two = (recommend(text, params=10**6, sizes=SIZES, threads=n).to_dict() for n in (1, 3))
    assert one == two
    assert recommend(text, params=10**6, sizes=SIZES, seed=7).to_dict()["curves"] != one["curves"]


def test_a_text_that_gives_fewer_pieces_than_the_next_multiple_of_128() -> None:
    found = recommend(document(b"ab ba\n" * 50), candidates=["unigram"], sizes=[300])
    for curve in found.curves:
        (point,) = curve.points
        assert 256 < point.size < 300 and point.size == curve.reach


def test_a_candidate_that_loses_text_is_left_out() -> None:
    text = document(lexicon_text(lines=800))
    found = recommend(text, candidates=["bpe/gpt2", "wordpiece"], sizes=[400, 600])
    lossy = next(curve for curve in found.curves if curve.name == "wordpiece/count")
    assert lossy.round_trip < 1
    assert found.candidate == "bpe/gpt2"
    alone = recommend(text, candidates=["wordpiece"], sizes=[400, 600])
    assert alone.candidate == "wordpiece/count"


@pytest.mark.slow
def test_tokens_that_cross_words_are_tried_where_there_are_no_spaces() -> None:
    def names(text: bytes) -> set[str]:
        return {curve.name for curve in recommend(document(text), sizes=[400, 700]).curves}

    text = lexicon_text(lines=800)
    crossing = {name for name, one in CANDIDATES.items() if one.crosses}
    assert not names(text) & crossing
    assert names(text.replace(b" ", b"")) >= crossing
    assert {one.name for one in candidates_of(["bpe/metaspace"], spaceless=False)} < crossing


def test_coverage_is_chosen_by_tokens() -> None:
    # Many characters that come once: each would take an id.
    rare = "".join(chr(0x4E00 + number) for number in range(900))
    lines = lexicon_text(lines=1500).decode().split("\n")
    text = "\n".join(line + rare[n : n + 1] for n, line in enumerate(lines))
    found = recommend(document(text), candidates=["unigram/o200k"], sizes=[1400])
    assert [trial.coverage for trial in found.coverages] == ["1", "0.9999", "0.9995"]
    whole, _, least = found.coverages
    assert whole.alphabet > least.alphabet > 850
    assert least.more < 0
    assert found.coverage == "0.9995"
    assert found.options[-2:] == ("--coverage", "0.9995")
    assert recommend(document(text), candidates=["bpe/gpt2"], sizes=[1100]).coverage is None


# -- The corpus, a sample of it, and what is held out ----------------------------------------------


@settings(max_examples=60)
@given(
    parts=st.lists(
        st.tuples(st.sampled_from(["é\n", "word ", "日", "\n"]), st.integers(1, 30_000))
    ),
    cuts=st.lists(st.integers(1, 70_000), min_size=1, max_size=4),
)
def test_pieces_are_the_same_however_blocks_are_cut(
    parts: list[tuple[str, int]], cuts: list[int]
) -> None:
    data = "".join(text * times for text, times in parts).encode()
    blocks, start = [], 0
    while start < len(data):
        size = cuts[len(blocks) % len(cuts)]
        blocks.append(data[start : start + size])
        start += size
    pieces = list(_pieces(blocks))
    assert b"".join(pieces) == data
    assert pieces == list(_pieces([data]))
    assert all(piece.decode() and len(piece) <= 1 << 17 for piece in pieces)


def test_blocks_that_end_where_a_piece_does() -> None:
    data = b"word " * (1 << 18)
    for size in (1 << 17, 1 << 18, 1 << 20):
        assert b"".join(_pieces([data[:size]])) == data[:size]
        assert list(_pieces([data[:size], data[size:]])) == list(_pieces([data]))


@given(
    pieces=st.lists(st.binary(min_size=1, max_size=9), max_size=40),
    size=st.integers(1, 120),
    seed=st.integers(0, 3),
)
def test_a_sample_is_of_the_least_hashes(pieces: list[bytes], size: int, seed: int) -> None:
    sampler = _Sampler(size, seed)
    for number, piece in enumerate(pieces):
        sampler.add(number, piece, 1)
    expected = twin.kept_pieces(pieces, size, seed)
    assert [text for text, _ in sampler.documents()] == expected
    assert sampler.is_all == (expected == pieces)


def test_a_longer_corpus_is_sampled() -> None:
    data = lexicon_text(lines=9000)
    corpus = read_corpus([document(data)], sample_size=400_000)
    assert corpus.bytes == len(data)
    assert corpus.sampled is not None
    assert 250_000 < corpus.sampled <= 400_000
    assert corpus.training_bytes + corpus.measured_bytes == corpus.sampled
    lines = set(data.split(b"\n"))
    assert all(line in lines for text in held_out(corpus) for line in text.split(b"\n"))
    whole = read_corpus([document(data)], sample_size=len(data))
    assert (whole.sampled, whole.unit) == (None, "paragraphs")


def test_a_text_without_lines_loses_pieces() -> None:
    data = "日本語の文".encode() * 100_000
    corpus = read_corpus([document(data)])
    assert corpus.unit == "pieces"
    assert corpus.training_bytes + corpus.measured_bytes == len(data)
    assert all(text.decode() for text in held_out(corpus))


def test_documents_are_held_out_whole(tmp_path: Path) -> None:
    path = tmp_path / "many.jsonl"
    path.write_text("".join(f'{{"text": "the text {n}"}}\n' for n in range(50)))
    corpus = read_corpus(opened(str(path)))
    assert (corpus.documents, corpus.unit) == (50, "documents")
    assert len(held_out(corpus)) == 5
    trained = {text.document(n) for text in corpus.training for n in range(text.documents)}
    assert not trained & set(held_out(corpus))


def test_another_text_can_be_measured(tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_bytes(lexicon_text(lines=200, seed=1))
    text = document(lexicon_text(lines=800))
    found = recommend(text, held_out=str(other), candidates=["bpe/gpt2"], sizes=[400])
    assert found.corpus.measured_bytes == len(other.read_bytes())
    assert found.corpus.training_bytes == len(lexicon_text(lines=800))


def test_counts_of_documents_weigh(tmp_path: Path) -> None:
    path = tmp_path / "many.tsv"
    path.write_text("".join(f"word number {n}\t{1 + n % 3}\n" for n in range(60)))
    from tokctl.sources import ReadOptions, open_sources

    corpus = read_corpus(open_sources([str(path)], ReadOptions("tsv")))
    assert corpus.training_bytes + corpus.measured_bytes == sum(
        len(f"word number {n}") * (1 + n % 3) for n in range(60)
    )


# -- Any text --------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(
    text=st.text(alphabet="ab é\n日1.", max_size=300),
    params=st.sampled_from([None, 10**6, 10**9]),
    candidates=st.sampled_from([["bpe/gpt2"], ["unigram"], ["bpe/metaspace", "wordpiece"]]),
)
def test_any_text_gives_a_result_or_an_error(
    text: str, params: int | None, candidates: list[str]
) -> None:
    try:
        found = recommend(
            document(text), params=params, candidates=candidates, sizes=[270, 20, 300]
        )
    except TokctlError as error:
        assert error.hint
        return
    for curve in found.curves:
        sizes = [point.size for point in curve.points]
        assert sizes == sorted(set(sizes))
    assert (found.size is None) == (not found.options)
    assert all(one.text for one in found.advice)


@pytest.mark.parametrize("name", CANDIDATES)
def test_candidates_lose_nothing_or_are_known_to(name: str) -> None:
    text = lexicon_text(lines=300) + "  two  spaces\ttab 12345 日本 é\n".encode()
    tokenizer = Tokenizer.train(
        [Document("t", len(text), lambda: iter([text]))],
        vocab_size=900,
        recipe=CANDIDATES[name].recipe,
    )
    back = tokenizer.decode(tokenizer.encode(text.decode()).ids)
    assert (back == text.decode()) == (name != "wordpiece/count")


def test_errors() -> None:
    def message(text: bytes, **options: object) -> str:
        with pytest.raises(TokctlError) as error:
            recommend(document(text), **options)  # type: ignore[arg-type]
        assert error.value.hint
        return error.value.message

    text = lexicon_text(lines=60)
    assert message(b"") == "the text is empty"
    assert message(b"one line\n").startswith("the text is too short")
    assert (
        message(b"a\xff\n" * 100)
        == "text: line 1, byte 1 is not UTF-8, and this model reads characters"
    )
    assert message(text, candidates=["char"]) == "no candidate is called 'char'"
    assert message(text, sizes=[]) == "no size is named"
    assert message(text, held_out=0.0).startswith("nothing is held out")
    assert message(text, held_out=2.0) == "invalid value 2.0 for the held-out share"
    assert message(text, params=3) == "invalid value 3 for parameters"
    assert message(text, sample_size=9).startswith("a sample of 9 bytes is too small")
    for sizes, threads, sample in product(([0], [300]), (0, 1), (0, 5000)):
        if sizes == [300] and threads and sample:
            continue
        assert message(text, sizes=sizes, threads=threads, sample_size=sample)
