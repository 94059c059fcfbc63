"""The Unigram encoder against its slow twin, SentencePiece and Hugging Face."""

from __future__ import annotations

import io
import struct
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import shared_file
from tests.exact.lone_segmenters import Unigram
from tests.twins import unigram_encode as twin

spm = pytest.importorskip("sentencepiece")
hf = pytest.importorskip("tokenizers")

#: Few letters and round scores: full of ties, and of sums that 32 bits round.
letters = "abé字😀"
words = st.text(alphabet=letters, min_size=1, max_size=5)
scores = st.one_of(
    st.sampled_from([-1.0, -2.0, -3.0, -0.1, -0.2, -0.3, 0.0, 25.0]),
    st.floats(-20, 0, width=32),
)
vocabularies = st.dictionaries(words, scores, min_size=1, max_size=30)
#: Characters that no piece has are among them.
texts = st.text(alphabet=letters + "xÿ語", max_size=60)
short_texts = st.text(alphabet=letters + "xÿ", max_size=8)

NORMAL, UNKNOWN, USER_DEFINED, BYTE = 1, 2, 4, 6
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


def message(*fields: tuple[int, bytes | int | float]) -> bytes:
    """A protocol buffer message."""

    def number(value: int) -> bytes:
        more = value >> 7
        return bytes([value & 127 | 128]) + number(more) if more else bytes([value])

    out = b""
    for field, value in fields:
        if isinstance(value, bytes):
            out += number(field << 3 | 2) + number(len(value)) + value
        elif isinstance(value, float):
            out += number(field << 3 | 5) + struct.pack("<f", value)
        else:
            out += number(field << 3) + number(value)
    return out


def fields(data: bytes) -> Iterator[tuple[int, bytes | int | float]]:
    """The fields of a protocol buffer message."""
    at = 0

    def number() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
            if byte < 128:
                return value

    while at < len(data):
        field, kind = divmod(number(), 8)
        if kind == 0:
            yield field, number()
        elif kind == 5:
            yield field, struct.unpack("<f", data[at : at + 4])[0]
            at += 4
        else:
            length = number()
            yield field, data[at : at + length]
            at += length


def their_n_best(
    model: spm.SentencePieceProcessor, text: str, n: int
) -> list[tuple[list[int], float]]:
    """Ids and scores."""
    found = []
    for _, one in fields(model.nbest_encode(text, nbest_size=n, out_type="serialized_proto")):
        ids, score = [], 0.0
        for field, value in fields(one):
            if field == 2:
                ids += [inner for number, inner in fields(value) if number == 2]
            elif field == 3:
                score = value
        found.append((ids, score))
    return found


def sentencepiece_model(
    pieces: list[tuple[str, float, int]], model_type: int = 1, byte_fallback: bool = False
) -> spm.SentencePieceProcessor:
    """SentencePiece with these pieces (text, score, type); it leaves the text as it is."""
    protos = [
        (1, message((1, text.encode()), (2, float(score)), (3, kind)))
        for text, score, kind in pieces
    ]
    trainer = message((3, model_type), (35, int(byte_fallback)))
    normalizer = message((1, b"identity"), (3, 0), (4, 0), (5, 0))
    model = message(*protos, (2, trainer), (3, normalizer))
    return spm.SentencePieceProcessor(model_proto=model)


def listed(
    vocabulary: dict[str, float], user_defined: list[str], byte_fallback: bool
) -> list[tuple[str, float, int]]:
    """The unknown piece first, then the bytes, the user-defined pieces, the others."""
    pieces = [("<unk>", 0.0, UNKNOWN)]
    if byte_fallback:
        pieces += [(name, 0.0, BYTE) for name in BYTES]
    pieces += [(text, 0.0, USER_DEFINED) for text in user_defined]
    return pieces + [
        (text, score, NORMAL) for text, score in vocabulary.items() if text not in user_defined
    ]


def ours(pieces: list[tuple[str, float, int]], byte_fallback: bool) -> Unigram:
    numbered = [(text.encode(), number, score) for number, (text, score, _) in enumerate(pieces)]
    of_type = [kind for _, _, kind in pieces]
    return Unigram(
        [piece for piece, kind in zip(numbered, of_type, strict=True) if kind == NORMAL],
        unknown_id=0,
        byte_ids=list(range(1, 257)) if byte_fallback else None,
        user_defined=[
            piece[:2] for piece, kind in zip(numbered, of_type, strict=True) if kind == USER_DEFINED
        ],
        precision="single",
    )


def ids_of(segments: list[tuple[int, int]]) -> list[int]:
    return [number for number, _ in segments]


@given(vocabularies, st.lists(words, max_size=2, unique=True), st.booleans(), texts)
def test_sentencepiece_gives_the_same_ids(
    vocabulary: dict[str, float], user_defined: list[str], byte_fallback: bool, text: str
) -> None:
    pieces = listed(vocabulary, user_defined, byte_fallback)
    model = ours(pieces, byte_fallback)
    theirs = sentencepiece_model(pieces, byte_fallback=byte_fallback)
    segments = model.segment(text.encode())
    assert ids_of(segments) == theirs.encode(text)
    assert sum(length for _, length in segments) == len(text.encode())


@given(vocabularies, st.lists(words, max_size=2, unique=True), texts, st.integers(2, 60))
def test_sentencepiece_gives_the_same_n_best(
    vocabulary: dict[str, float], user_defined: list[str], text: str, n: int
) -> None:
    """Order of ties and rounding of scores included."""
    pieces = listed(vocabulary, user_defined, byte_fallback=False)
    expected = their_n_best(sentencepiece_model(pieces), text, n) if text else [([], 0.0)]
    found = ours(pieces, byte_fallback=False).nbest(text.encode(), n)
    assert [(ids_of(one), score) for one, score in found] == expected


@pytest.mark.few(2)
@pytest.mark.parametrize("count", [5, 12, 60, 400, 3000])
def test_sentencepiece_gives_up_at_the_same_point(count: int) -> None:
    """Long texts: sums that start afresh, agendas that are cut down, the best path alone."""
    vocabulary = {"a": -3.3, "b": -30.7, "ab": -31.1, "ba": -32.2, "aab": -33.3, "abab": -61.7}
    pieces = listed(vocabulary, ["bb"], byte_fallback=False)
    theirs, model = sentencepiece_model(pieces), ours(pieces, byte_fallback=False)
    text = "".join("ab" if number % 7 else "baabba" for number in range(count))
    assert ids_of(model.segment((text * 5).encode())) == theirs.encode(text * 5)
    for n in (2, 30, 500):
        found = [(ids_of(one), score) for one, score in model.nbest(text.encode(), n)]
        assert found == their_n_best(theirs, text, n)


@given(vocabularies, st.booleans(), texts, st.integers(0, 256))
def test_hugging_face_gives_the_same_ids(
    vocabulary: dict[str, float], byte_fallback: bool, text: str, missing: int
) -> None:
    """One byte may have no token; `<unk>` and the byte tokens are pieces of the text as well."""
    names = [name for byte, name in enumerate(BYTES) if byte != missing] if byte_fallback else []
    pieces = [("<unk>", 0.0), *((name, -1.5) for name in names), *vocabulary.items()]
    numbers = {text: number for number, (text, _) in enumerate(pieces)}
    model = Unigram(
        [(text.encode(), number, score) for number, (text, score) in enumerate(pieces)],
        unknown_id=0,
        byte_ids=[numbers.get(name, 2**32 - 1) for name in BYTES] if byte_fallback else None,
        precision="double",
    )
    theirs = hf.Tokenizer(hf.models.Unigram(pieces, 0, byte_fallback))
    for probe in (text, text + "<unk>" + text, "x<unk>y<0x41>"):
        assert ids_of(model.segment(probe.encode())) == theirs.encode(probe).ids


@given(
    vocabularies,
    st.sampled_from(["single", "double"]),
    st.booleans(),
    st.booleans(),
    texts,
    st.sampled_from([1, 1, 1, 200]),
)
def test_encoder_equals_twin(
    vocabulary: dict[str, float],
    precision: str,
    fuse: bool,
    byte_fallback: bool,
    text: str,
    repeats: int,
) -> None:
    vocabulary = {piece: twin.single(score) for piece, score in vocabulary.items()}
    numbers = {piece: number for number, piece in enumerate(vocabulary, 300)}
    byte_ids = list(range(256)) if byte_fallback else None
    model = Unigram(
        [(piece.encode(), numbers[piece], score) for piece, score in vocabulary.items()],
        unknown_id=299,
        byte_ids=byte_ids,
        fuse_unknown=fuse,
        precision=precision,
    )
    unknown_score = min(vocabulary.values()) - twin.UNKNOWN_PENALTY
    if precision == "single":
        unknown_score = twin.single(unknown_score)
    text *= repeats
    path, score = twin.best(text, vocabulary, unknown_score, precision)
    # Hugging Face looks an unknown stretch up as a whole; scores this high bring that about.
    if precision == "single" or max(vocabulary.values()) <= 0:
        expected = twin.ids(path, numbers, 299, byte_ids, fuse, precision)
        assert model.segment(text.encode()) == expected
        bytes_apart = twin.ids(path, numbers, 299, byte_ids, fuse, "single")
        assert model.nbest(text.encode(), 1) == [(bytes_apart, score)]


@given(vocabularies, short_texts)
def test_n_best_equals_twin(vocabulary: dict[str, float], text: str) -> None:
    numbers = {piece: number for number, piece in enumerate(vocabulary, 1)}
    pieces = [(piece.encode(), numbers[piece], score) for piece, score in vocabulary.items()]
    model = Unigram(pieces, unknown_id=0, fuse_unknown=False, precision="double")
    paths = twin.all_paths(text, vocabulary, min(vocabulary.values()) - twin.UNKNOWN_PENALTY)
    found = model.nbest(text.encode(), 1024)
    assert len(found) == min(len(paths), 1024)
    assert [score for _, score in found] == pytest.approx([score for _, score in paths[:1024]])
    if len(paths) <= 1024:
        expected = sorted(twin.ids(path, numbers, 0, fuse=False) for path, _ in paths)
        if max(vocabulary.values()) <= 0:
            assert sorted(segments for segments, _ in found) == expected


@pytest.mark.parametrize("nbest_size", [-1, 2])
def test_samples_follow_the_scores(nbest_size: int) -> None:
    vocabulary = {"a": -1.0, "b": -1.5, "ab": -2.0, "ba": -1.0, "aba": -4.0}
    numbers = {piece: number for number, piece in enumerate(vocabulary, 1)}
    pieces = [(piece.encode(), numbers[piece], score) for piece, score in vocabulary.items()]
    model = Unigram(pieces, unknown_id=0, precision="single")
    text, alpha, draws = "xabab", 0.7, 40_000
    paths = twin.all_paths(text, vocabulary, -14.0)[: nbest_size if nbest_size > 0 else None]
    expected = twin.probabilities([score for _, score in paths], alpha)
    samples = model.sample(text.encode(), alpha, nbest_size, 1, draws)
    seen = Counter(tuple(sample) for sample in samples)
    assert sum(seen.values()) == draws and len(seen) == len(paths)
    for (path, _), probability in zip(paths, expected, strict=True):
        share = seen[tuple(twin.ids(path, numbers, 0))] / draws
        # Five standard deviations.
        assert abs(share - probability) < 5 * (probability * (1 - probability) / draws) ** 0.5
    assert model.sample(text.encode(), alpha, nbest_size, 1, 50) == samples[:50]
    assert model.sample(text.encode(), alpha, nbest_size, 2, 50) != samples[:50]
    best = model.segment(text.encode())
    assert model.sample(text.encode(), alpha, 0, 1, 1) == [best]
    assert model.sample(text.encode(), 100.0, nbest_size, 1, 20) == [best] * 20


@given(vocabularies, st.binary(max_size=40), st.integers(-1, 5))
def test_any_bytes_are_covered(vocabulary: dict[str, float], text: bytes, nbest_size: int) -> None:
    pieces = [
        (piece.encode(), number, score) for number, (piece, score) in enumerate(vocabulary.items())
    ]
    model = Unigram([*pieces, (b"\xc3", 998, -1.0)], unknown_id=999, precision="single")
    for segments in (model.segment(text), *model.sample(text, 0.5, nbest_size, 1, 3)):
        assert sum(length for _, length in segments) == len(text)


def trained(path: Path, **options: object) -> tuple[spm.SentencePieceProcessor, Unigram]:
    """A model that SentencePiece trains on the start of a text, and ours with its pieces."""
    lines = path.read_text(encoding="utf-8", errors="ignore")[:150_000].splitlines()
    written = io.BytesIO()
    spm.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=written, model_type="unigram",
        vocab_size=1500, hard_vocab_limit=False, minloglevel=2, num_threads=1, **options,
    )  # fmt: skip
    theirs = spm.SentencePieceProcessor(model_proto=written.getvalue())
    numbers = range(theirs.get_piece_size())
    special = [theirs.is_control, theirs.is_unknown, theirs.is_byte, theirs.is_unused]
    byte_ids = [theirs.piece_to_id(name) for name in BYTES]
    user_defined = options.get("user_defined_symbols", [])
    assert isinstance(user_defined, list)
    model = Unigram(
        [
            (theirs.id_to_piece(number).encode(), number, theirs.get_score(number))
            for number in numbers
            if not any(is_special(number) for is_special in special)
            and theirs.id_to_piece(number) not in user_defined
        ],
        unknown_id=theirs.unk_id(),
        byte_ids=byte_ids if options.get("byte_fallback") else None,
        user_defined=[(text.encode(), theirs.piece_to_id(text)) for text in user_defined],
        precision="single",
    )
    return theirs, model


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"byte_fallback": True, "character_coverage": 0.98},
        {"user_defined_symbols": ["th", "字"]},
    ],
    ids=["plain", "bytes", "user-defined"],
)
@pytest.mark.parametrize("name", ["books.txt", "multilingual.txt", "code.txt"])
def test_a_trained_model_gives_sentencepieces_ids(name: str, options: dict[str, object]) -> None:
    path = shared_file(f"corpora/{name}")
    theirs, model = trained(path, **options)
    with path.open("rb") as file:
        file.seek(1_000_000)
        lines = file.read(200_000).decode(errors="ignore").splitlines()
    for number, line in enumerate(lines):
        normalized = theirs.normalize(line).encode()
        assert ids_of(model.segment(normalized)) == theirs.encode(line), line
        if number % 50 == 0 and normalized:
            found = model.nbest(normalized, 20)
            expected = their_n_best(theirs, line, 20)
            assert [(ids_of(one), score) for one, score in found] == expected


def test_a_long_word_takes_linear_time() -> None:
    """Two megabytes without a space, with pieces that overlap everywhere: no cut."""
    model = Unigram([(b"a" * n, n, -n / 3) for n in range(2, 17)], unknown_id=0)
    segments = model.segment(b"a" * 2_000_000)
    assert sum(length for _, length in segments) == 2_000_000
    assert len(model.sample(b"ab" * 500_000, 1.0, -1, 1, 1)[0]) == 1
