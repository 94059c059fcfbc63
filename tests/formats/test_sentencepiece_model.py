"""SentencePiece's models as recipes: the same pieces, and by a slow twin the same ids."""

from __future__ import annotations

import io
import random
from dataclasses import replace
from typing import Any

import pytest

from tests.conftest import shared_file
from tests.errors import raises_code
from tests.exact.strings import strings
from tests.formats import pipeline_twin as twin
from tests.tools.zoo.cases import Case
from tests.tools.zoo.peers import SentencePiece
from tokctl import TokctlError, Tokenizer, formats, preset
from tokctl.formats import sentencepiece
from tokctl.model import Model

spm = pytest.importorskip("sentencepiece")

WORDS = [
    "the",
    "cat",
    "sat",
    "on",
    "the",
    "mat",
    "and",
    "then",
    "the",
    "hat",
    "ate",
    "a",
    "fat",
    "rat",
    "at",
    "noon",
    "low",
    "lower",
    "newer",
]


def sentences() -> list[str]:
    draw = random.Random(7)
    return [" ".join(draw.choices(WORDS, k=8)) for _ in range(300)]


def trained(**options: Any) -> bytes:
    out = io.BytesIO()
    spm.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences()),
        model_writer=out,
        minloglevel=2,
        hard_vocab_limit=False,
        **{"vocab_size": 60, "normalization_rule_name": "identity", **options},
    )
    return out.getvalue()


MODELS: dict[str, dict[str, Any]] = {
    "unigram": {"model_type": "unigram"},
    "bpe": {"model_type": "bpe"},
    "char": {"model_type": "char"},
    "unigram, bytes": {"model_type": "unigram", "byte_fallback": True, "vocab_size": 320},
    "bpe, bytes": {"model_type": "bpe", "byte_fallback": True, "vocab_size": 320},
    "unigram, symbols": {"model_type": "unigram", "user_defined_symbols": ["<sep>", "at", "▁▁"]},
    "bpe, symbols": {"model_type": "bpe", "user_defined_symbols": ["<sep>", "at", "▁▁"]},
    "char, symbols": {"model_type": "char", "user_defined_symbols": ["<sep>", "at", "ate"]},
    "bpe, as it is": {
        "model_type": "bpe",
        "add_dummy_prefix": False,
        "remove_extra_whitespaces": False,
        "user_defined_symbols": ["▁▁", "▁▁▁"],
    },
    "unigram, spaces kept": {"model_type": "unigram", "remove_extra_whitespaces": False},
    "unigram, controls": {"model_type": "unigram", "control_symbols": ["<2en>", "<2de>"]},
    "word": {"model_type": "word", "vocab_size": 15},
    "word, bytes": {"model_type": "word", "byte_fallback": True, "vocab_size": 270},
    "char, bytes": {"model_type": "char", "byte_fallback": True, "vocab_size": 320},
    "unigram, suffix": {"treat_whitespace_as_suffix": True},
    "bpe, suffix, spaces kept": {
        "model_type": "bpe",
        "treat_whitespace_as_suffix": True,
        "remove_extra_whitespaces": False,
    },
    "unigram, other ids": {
        "model_type": "unigram",
        "pad_id": 0,
        "unk_id": 3,
        "bos_id": 2,
        "eos_id": 1,
    },
}


@pytest.fixture(scope="module", params=MODELS, ids=lambda name: name.replace(", ", "-"))
def pair(request: pytest.FixtureRequest) -> tuple[Model, Any]:
    data = trained(**MODELS[request.param])
    return formats.parse(data, "m.model"), spm.SentencePieceProcessor(model_proto=data)


def test_pieces_and_their_kinds(pair: tuple[Model, Any]) -> None:
    ours, theirs = pair
    ids = range(theirs.get_piece_size())
    assert [token.decode() for token in ours.tokens] == [theirs.id_to_piece(id_) for id_ in ids]
    special = [id_ for id_ in ids if theirs.is_control(id_) or theirs.is_unknown(id_)]
    assert sorted(ours.special_ids.values()) == special
    assert ours.special_ids[str(ours.recipe.unk_token)] == theirs.unk_id()
    if ours.recipe.segmentation in ("viterbi", "ranks"):
        for id_ in ids:
            if ours.scores[id_] <= 0:  # above it is a user-defined piece
                assert ours.scores[id_] == theirs.get_score(id_)
    assert all(theirs.is_byte(id_) for id_ in ours.reserved_ids - {t.id for t in ours.added})


def texts() -> list[str]:
    draw = random.Random(3)
    bits = [
        *WORDS,
        " ",
        "  ",
        "   ",
        "é",
        "日本",
        "<sep>",
        "<s>",
        "<unk>",
        "<0x41>",
        "▁",
        "▁▁",
        "x",
    ]
    made = ["".join(draw.choices([*bits, " "], k=draw.randint(0, 9))) for _ in range(300)]
    return ["", " ", "the cat", "  the   cat  ", "<sep>the<sep> <sep>cat", "\nthe cat\n", *made]


@pytest.mark.few(8)
def test_ids(pair: tuple[Model, Any]) -> None:
    ours, theirs = pair
    for text in texts():
        assert twin.encode(ours, twin.normalize(ours, text)) == theirs.encode(text), text


def test_ids_by_the_native_encoder(pair: tuple[Model, Any]) -> None:
    model, theirs = pair
    ours = Tokenizer(model)
    for text in texts():
        assert ours.encode_ids(text) == theirs.encode(text), text


def test_ids_and_text_of_a_whole_model() -> None:
    path = shared_file("vocab/sentencepiece-unigram-en.model")
    ours, theirs = Tokenizer.load(path), spm.SentencePieceProcessor(model_file=str(path))
    lines = shared_file("corpora/multilingual.txt").read_text(encoding="utf-8").split("\n")[:400]
    for line in lines:
        ids = ours.encode_ids(line)
        assert ids == theirs.encode(line)
        assert ours.decode(ids) == theirs.decode(ids)


@pytest.mark.parametrize("rule", ["nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf"])
def test_its_own_rules_are_known_by_name(rule: str) -> None:
    model = formats.parse(trained(model_type="char", normalization_rule_name=rule), "m.model")
    assert model.recipe.normalizers[0].kind == {"nfkc": "sp_nfkc"}.get(rule, rule)
    assert [part.kind for part in model.recipe.normalizers[1:]] == [
        "strip-spaces",
        "collapse-spaces",
        "prepend",
        "replace",
        "strip-spaces",
        "replace",
    ]


def test_other_rules_travel_along() -> None:
    data = shared_file("vocab/sentencepiece-unigram-en.model").read_bytes()
    model = formats.parse(data, "en.model")
    rules = model.recipe.normalizers[0]
    assert (rules.kind, rules["graphemes"]) == ("precompiled", False)
    theirs = spm.SentencePieceProcessor(model_proto=data)
    for text in (
        "Hello world, this is a test of ﬁne things.",
        "\uff28\uff45\uff4c\uff4c\uff4f \uff11\uff12",
        "it's <s> 日本",
    ):
        # Their own normalizer does the part that no rule of ours is needed for.
        normalized = theirs.normalize(text)
        assert twin.encode(model, normalized) == theirs.encode(text)


def test_decoders_give_the_text(pair: tuple[Model, Any]) -> None:
    model, theirs = pair
    ours = Tokenizer(model)
    for text in texts():
        ids = theirs.encode(text)
        if not (text.lstrip(" ").startswith("▁") and "▁▁" in ours.vocabulary):
            assert ours.decode(ids) == theirs.decode(ids), text


def test_text_that_starts_with_a_space_of_its_own_spelling() -> None:
    """They remove one `▁` of each piece before any text; here as many as at the start of the
    text, or one where a piece starts with two."""
    data = trained(**MODELS["bpe, symbols"])
    ours, theirs = Tokenizer(formats.parse(data, "m")), spm.SentencePieceProcessor(model_proto=data)
    ids = theirs.piece_to_id(["▁", "▁the"])
    assert (ours.decode(ids), theirs.decode(ids)) == (" the", "the")
    ids = theirs.piece_to_id(["▁▁", "▁the"])
    assert ours.decode(ids) == theirs.decode(ids) == "  the"


def with_pieces(data: bytes, pieces: list[str], kind: int, changed_rules: bool = False) -> bytes:
    """The model with more pieces; with rules that have no name, if they are to be others."""
    proto = sentencepiece.parse(data)
    for text in pieces:
        proto.pieces.add(piece=text.encode(), score=-1.0, type=kind)
    if changed_rules:
        # A rule more at the end, which nothing leads to.
        proto.normalizer_spec.precompiled_charsmap += b"x\0"
    return bytes(proto.SerializeToString())


NORMAL, USER_DEFINED = 1, 4


@pytest.mark.parametrize("changed_rules", [False, True])
def test_rules_leave_user_defined_pieces_alone(changed_rules: bool) -> None:
    symbols = ["<sep>", "the", "ﬁ", "①", "a\u3000b", "\uff21"]
    data = trained(model_type="char", normalization_rule_name="nmt_nfkc")
    data = with_pieces(data, symbols, USER_DEFINED, changed_rules)
    model = formats.parse(data, "x")
    assert [t.text for t in model.added if not t.special] == symbols
    first = model.recipe.normalizers[0]
    assert first.kind == ("precompiled" if changed_rules else "nmt_nfkc")
    assert first["keep"] == tuple(symbols)
    keeping = replace(preset("sentencepiece-bpe"), normalizers=[first])
    reason = "not to what they match" if changed_rules else "normalizes user-defined pieces, too"
    assert reason in str(formats.why_not_loadable(keeping))
    assert formats.why_not_loadable(model)
    ours, theirs = Tokenizer(model), spm.SentencePieceProcessor(model_proto=data)
    for text in ("the\u0301", "ﬁﬂ①②", "a\u3000b \uff21\uff22 he\u0301", "<sep\u0338>\u0338"):
        assert ours.encode_ids(text) == theirs.encode(text)
    assert formats.parse(formats.serialize(model), "x") == model


def test_damaged_rules_beside_user_defined_pieces() -> None:
    proto = sentencepiece.parse(
        trained(model_type="char", normalization_rule_name="nmt_nfkc", user_defined_symbols=["@"])
    )
    whole = bytes(proto.normalizer_spec.precompiled_charsmap)
    for rules in (b"x", whole[:3], whole[:1000], whole + b"\xff"):
        proto.normalizer_spec.precompiled_charsmap = rules
        with pytest.raises(TokctlError) as caught:
            formats.parse(bytes(proto.SerializeToString()), "x")
        assert (
            "x is not a model file in a supported format, or it is damaged: "
            in caught.value.message
        )
        assert "\n" not in caught.value.message and "(" not in caught.value.message


def test_many_pieces_are_read_in_linear_time() -> None:
    data = trained(model_type="char", normalization_rule_name="nmt_nfkc")
    for changed_rules in (False, True):
        symbols = [f"<extra_{number}>" for number in range(6000)]
        model = formats.parse(with_pieces(data, symbols, USER_DEFINED, changed_rules), "x")
        assert len(model.added) > 6000
    twice = [f"p{number}" for number in range(40_000)]
    with raises_code("damaged-model", "the piece 'p39999' occurs twice"):
        formats.parse(with_pieces(data, [*twice, "p39999"], NORMAL), "x")


UNUSED = 5


def test_an_unused_piece_of_bpe_is_refused() -> None:
    data = with_pieces(trained(model_type="bpe"), ["then"], UNUSED)
    with raises_code("unsupported", "'then' is unused, and is split again") as caught:
        formats.parse(data, "m.model")
    assert caught.value.hint


def test_spaces_that_stay_in_a_piece_are_refused() -> None:
    data = with_pieces(trained(model_type="char"), ["a  b"], USER_DEFINED)
    theirs = spm.SentencePieceProcessor(model_proto=data)
    assert (theirs.normalize("a  b"), theirs.normalize("a  x")) == ("▁a▁▁b", "▁a▁x")
    with raises_code("unsupported") as caught:
        formats.parse(data, "m.model")
    assert caught.value.hint


@pytest.mark.parametrize(
    ("piece", "message"),
    [(b"\0", "holds a NUL"), (b"a\0b", "holds a NUL"), (b"\xff", "not UTF-8"), (b"", "is empty")],
)
def test_pieces_that_are_none(piece: bytes, message: str) -> None:
    proto = sentencepiece.parse(trained(model_type="bpe"))
    place = len(proto.pieces)
    proto.pieces.add(piece=piece, score=-1.0)
    data = sentencepiece.serialize(proto)
    if piece != b"\xff":
        with pytest.raises(RuntimeError):
            spm.SentencePieceProcessor(model_proto=data)
    with pytest.raises(TokctlError, match=f"piece {place} .*{message}|piece {place} {message}"):
        formats.parse(data, "m.model")


def test_other_refusals() -> None:
    proto = sentencepiece.parse(trained(model_type="char"))
    proto.trainer_spec.unk_surface = "▁".encode()
    with raises_code("unsupported"):
        formats.parse(sentencepiece.serialize(proto), "m.model")
    proto.trainer_spec.ClearField("unk_surface")
    proto.denormalizer_spec.precompiled_charsmap = b"x"
    with raises_code("unsupported"):
        formats.parse(sentencepiece.serialize(proto), "m.model")


@pytest.mark.few(4)
@pytest.mark.parametrize("name", [name for name in MODELS if not name.startswith("word")])
@pytest.mark.parametrize("rules", ["identity", "nmt_nfkc_cf"])
def test_places_by_the_alignment_of_the_library(name: str, rules: str) -> None:
    data = trained(**MODELS[name] | {"normalization_rule_name": rules})
    ours, theirs = Tokenizer(formats.parse(data, "m")), spm.SentencePieceProcessor(model_proto=data)
    peer = SentencePiece(ours, theirs)
    for text in ("", " ", "the  cat ", " ﬁx", "Ⅷ\x07 a\u200b\u3000 é", "\x14\x89", *strings(300)):
        case = Case(text)
        assert not [found for found in peer.differences(case) if found[0] == "offsets"], text


def test_unknown_words_are_one_with_their_places() -> None:
    data = trained(model_type="word", vocab_size=30)
    ours, theirs = Tokenizer(formats.parse(data, "m")), spm.SentencePieceProcessor(model_proto=data)
    text = "the zzz  yyy cat é 日本 on"
    found = ours.encode(text)
    assert found.ids == theirs.encode(text)
    unknown = [span for id_, span in zip(found.ids, found.offsets, strict=True) if id_ == 0]
    assert [text[start:end].strip() for start, end in unknown] == ["zzz  yyy", "é 日本"]
    assert ours.encode_ids([text] * 3) == [found.ids] * 3


def test_without_protobuf(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    data = trained(model_type="char")
    sentencepiece._message_class.cache_clear()
    monkeypatch.setitem(sys.modules, "google.protobuf", None)
    with raises_code("missing-package") as caught:
        formats.parse(data, "m.model")
    assert caught.value.hint == "install it: pip install 'tokctl[sentencepiece]'"
