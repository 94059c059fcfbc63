"""Chains of decoders against Hugging Face's, and against the twin; streams against both."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.twins.decode_chain import Step, decode_chain
from tokctl import _native
from tokctl.core.errors import CoreError
from tokctl.model.byte_level import spell

hf = pytest.importorskip("tokenizers")
D = hf.decoders


def meta(prepend: str) -> Step:
    return {"kind": "metaspace", "replacement": "▁", "prepend": prepend}


def replace(pattern: str, content: str, *, is_regex: bool = False) -> Step:
    return {"kind": "replace", "pattern": pattern, "regex": is_regex, "content": content}


def strip(content: str, start: int, stop: int, *, first_only: bool = False) -> Step:
    ends = {"start": start, "stop": stop}
    return {"kind": "strip", "content": content, **ends, "first_only": first_only}


def wordpiece(prefix: str, cleanup: bool) -> Step:
    return {"kind": "wordpiece", "prefix": prefix, "cleanup": cleanup}


def ctc(pad: str, word_delimiter: str, cleanup: bool) -> Step:
    return {"kind": "ctc", "pad": pad, "word_delimiter": word_delimiter, "cleanup": cleanup}


FALLBACK: Step = {"kind": "byte-fallback", "invalid": "replace-run"}
BY_BYTE: Step = {"kind": "byte-fallback", "invalid": "replace-bytes"}
FUSE: Step = {"kind": "fuse"}
JOIN: Step = {"kind": "join"}
RAW: Step = {"kind": "byte-level"}
CLIP: Step = {"kind": "bpe-suffix", "suffix": "</w>"}

SPACE = replace("▁", " ")
CHAINS: dict[str, list[Step]] = {
    "wordpiece": [wordpiece("##", True)],
    "wordpiece-bare": [wordpiece("##", False)],
    "wordpiece-no-prefix": [wordpiece("", True)],
    "metaspace": [meta("always")],
    "metaspace-first": [meta("first")],
    "metaspace-never": [meta("never")],
    "byte-fallback": [FALLBACK],
    "bpe": [CLIP],
    "ctc": [ctc("<pad>", "|", True)],
    "ctc-bare": [ctc("<pad>", "|", False)],
    "ctc-no-padding": [ctc("", "|", True)],
    "fuse": [FUSE],
    "strip": [strip(" ", 1, 1)],
    "strip-more": [strip("é", 2, 3)],
    "replace": [replace("a", "<é>")],
    "replace-long": [replace("aab", "")],
    "replace-regex": [replace(r"\s+|b?", "-", is_regex=True)],
    "llama": [SPACE, FALLBACK, FUSE, strip(" ", 1, 0)],
    "gemma": [SPACE, FALLBACK, FUSE],
    "albert": [replace("``", '"'), replace("''", '"'), meta("always")],
    "xlnet": [FALLBACK, meta("first"), strip(" ", 1, 0)],
    "fused-wordpiece": [FUSE, wordpiece("##", True)],
    "fused-bpe": [FUSE, CLIP],
    "fused-regex": [FUSE, replace(r"^\s|a(?=b)", "", is_regex=True)],
    "fused-fallback": [FUSE, FALLBACK, FUSE],
    "bpe-then-strip": [CLIP, strip(" ", 0, 1), wordpiece("a", True)],
    "ctc-then-wordpiece": [ctc("<pad>", "|", True), wordpiece("##", True)],
    "twice-fused": [FALLBACK, FUSE, replace("a", "aa"), FUSE, replace("aab", "b")],
}

#: Chains without an expression: Hugging Face's engine is another, and `^` is its line start.
LITERAL = [name for name, steps in CHAINS.items() if not any(step.get("regex") for step in steps)]
#: Chains of decoders that Hugging Face lacks.
CHAINS |= {
    "by-byte": [BY_BYTE],
    "by-byte-fused": [FUSE, BY_BYTE, FUSE],
    "strip-first": [strip("▁", 1, 1, first_only=True)],
    "sentencepiece": [strip("▁", 2, 0, first_only=True), SPACE, BY_BYTE, FUSE],
    "by-byte-then-ctc": [BY_BYTE, ctc("<pad>", "|", True)],
}


def theirs(step: Step) -> Any:
    fields: Any = {name: value for name, value in step.items() if name != "kind"}
    match step["kind"]:
        case "byte-level":
            return D.ByteLevel()
        case "wordpiece":
            return D.WordPiece(**fields)
        case "metaspace":
            return D.Metaspace(fields["replacement"], fields["prepend"])
        case "byte-fallback":
            return D.ByteFallback()
        case "bpe-suffix":
            return D.BPEDecoder(**fields)
        case "fuse":
            return D.Fuse()
        case "strip":
            return D.Strip(fields["content"], fields["start"], fields["stop"])
        case "replace":
            pattern = fields["pattern"]
            return D.Replace(hf.Regex(pattern) if fields["regex"] else pattern, fields["content"])
        case "ctc":
            return D.CTC(fields["pad"], fields["word_delimiter"], fields["cleanup"])
    raise ValueError(step["kind"])


ODD = (
    "", " ", "  ", "▁", "▁▁a", "a▁", "a", "aa", "aab", "b", "é", "éé", "éaé", "##a", "##", "#",
    "##é", "a</w>", "</w>", "</w", ">", "a</w>b</w>", "<0x41>", "<0xC3>", "<0xA9>", "<0xc3>",
    "<0xE2>", "<0x96>", "<0x81>", "<0x+A>", "<0x-A>", "<0xé>", "<0x4>", "<0x411>", "<0xF0>",
    "<0x9F>",
    "<pad>", "<pad>a", "|", "a|b", " .", ".", " ' ", "'", " n't", "n't", " do not", " do", " not",
    "'s", " 've", "``", "''", "Ġ", "Ã", "©", "Ãĺ", "ń", "ÿ", "<|end|>", "\U0001f600", "\n", "\t ",
)  # fmt: skip

token_lists = st.lists(st.one_of(st.sampled_from(ODD), st.text(max_size=4)), max_size=12)
chains = pytest.mark.parametrize("name", CHAINS)


def ours(steps: list[Step], tokens: list[str]) -> bytes:
    decoder = _native.Decoder(steps, [], [])
    return decoder.decode_tokens([token.encode() for token in tokens])


def hugging_faces(steps: list[Step], tokens: list[str]) -> str | None:
    """None where it panics: `Strip` at the end of a token that has nothing else."""
    decoder = D.Sequence([theirs(step) for step in steps])
    try:
        return decoder.decode(tokens)
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        assert any(step.get("stop") for step in steps)
        return None


@pytest.mark.few(2)
@pytest.mark.parametrize("name", LITERAL)
@given(tokens=token_lists)
def test_chain_equals_hugging_face(name: str, tokens: list[str]) -> None:
    steps = CHAINS[name]
    expected = hugging_faces(steps, tokens)
    if expected is not None:
        assert ours(steps, tokens).decode("utf-8", "replace") == expected


@given(tokens=st.lists(st.binary(max_size=4), max_size=12))
def test_bytes_equal_hugging_faces_spelled(tokens: list[bytes]) -> None:
    """Theirs are spelled in GPT-2's alphabet; tokctl's are the bytes themselves."""
    expected = D.ByteLevel().decode([spell(token) for token in tokens])
    found = _native.Decoder([RAW], [], []).decode_tokens(tokens)
    assert found.decode("utf-8", "replace") == expected


@given(tokens=token_lists)
def test_expression_equals_hugging_face(tokens: list[str]) -> None:
    step = replace(r"\s+|b?a", "-", is_regex=True)
    assert ours([step], tokens).decode() == theirs(step).decode(tokens)


@pytest.mark.few(3)
@chains
@given(tokens=token_lists)
def test_chain_equals_twin(name: str, tokens: list[str]) -> None:
    steps = CHAINS[name]
    assert ours(steps, tokens) == decode_chain(steps, tokens).encode("utf-8", "surrogateescape")


steps_strategy = st.lists(
    st.one_of(
        st.sampled_from([RAW, FALLBACK, FUSE, JOIN, CLIP]),
        st.sampled_from(["always", "first", "never"]).map(meta),
        st.builds(wordpiece, st.sampled_from(["##", "a", ""]), st.booleans()),
        st.builds(ctc, st.sampled_from(["<pad>", "a", ""]), st.sampled_from("| "), st.booleans()),
        st.builds(strip, st.sampled_from(" aé▁"), st.integers(0, 3), st.integers(0, 3)),
        st.builds(
            replace, st.sampled_from(["a", "aab", "é", "▁", "a<"]), st.sampled_from([" ", "", "aa"])
        ),
        st.just(replace(r"\s|aa", "é", is_regex=True)),
    ),
    max_size=4,
)


@given(steps=steps_strategy, tokens=token_lists)
def test_any_chain_equals_twin(steps: list[Step], tokens: list[str]) -> None:
    assert ours(steps, tokens) == decode_chain(steps, tokens).encode("utf-8", "surrogateescape")


@given(
    steps=steps_strategy,
    tokens=token_lists.filter(bool),
    data=st.data(),
    skip_special=st.booleans(),
)
def test_ids_and_streams_equal_tokens(
    steps: list[Step], tokens: list[str], data: st.DataObject, skip_special: bool
) -> None:
    vocabulary = [token.encode() for token in tokens]
    special = [len(token) == 3 for token in vocabulary]
    decoder = _native.Decoder(steps, vocabulary, special)
    ids = data.draw(st.lists(st.integers(0, len(tokens) - 1), max_size=20))
    kept = [vocabulary[i] for i in ids if not (skip_special and special[i])]
    expected = decoder.decode_tokens(kept)
    assert decoder.decode(ids, skip_special) == expected
    stream = _native.DecodeStream(decoder, skip_special)
    pieces = []
    while ids:
        size = data.draw(st.integers(0, 3))
        pieces.append(stream.push(ids[:size]))
        ids = ids[size:]
        # Nothing that was given is taken back, and none of it is half a character.
        assert expected.startswith(b"".join(pieces))
    pieces.append(stream.finish())
    assert b"".join(pieces) == expected
    whole = expected.decode("utf-8", "replace")
    assert "".join(piece.decode("utf-8", "replace") for piece in pieces) == whole
    with pytest.raises(CoreError):
        stream.push([0])


@given(data=st.binary(max_size=60))
def test_a_byte_level_stream_is_exact(data: bytes) -> None:
    decoder = _native.Decoder([RAW], [bytes([byte]) for byte in range(256)], [False] * 256)
    assert decoder.decode(list(data), False) == data
    stream = _native.DecodeStream(decoder, False)
    pieces = [stream.push([byte]) for byte in data]
    for at in range(len(data)):
        assert at + 1 - len(b"".join(pieces[: at + 1])) <= 3
    assert b"".join([*pieces, stream.finish()]) == data


def test_a_stream_gives_what_hugging_faces_gives() -> None:
    vocabulary = {"▁a": 0, "▁b": 1, "<0xC3>": 2, "<0xA9>": 3, "c": 4, "▁": 5}
    tokenizer = hf.Tokenizer(hf.models.WordLevel(vocabulary, unk_token="c"))
    tokenizer.decoder = D.Sequence([theirs(step) for step in CHAINS["llama"]])
    decoder = _native.Decoder(CHAINS["llama"], [t.encode() for t in vocabulary], [False] * 6)
    theirs_stream = D.DecodeStream(skip_special_tokens=False)
    stream = _native.DecodeStream(decoder, False)
    ids = [0, 1, 4, 5, 4, 1, 2, 3, 4, 0]
    ours_text = [stream.push([i]).decode() for i in ids]
    theirs_text = [theirs_stream.step(tokenizer, i) or "" for i in ids]
    assert "".join(ours_text) + stream.finish().decode() == "".join(theirs_text)
    # Theirs gives the bytes as soon as they are a character; ours once no byte can follow.
    assert ours_text == ["a", " b", "c", " ", "c", " b", "", "", "éc", " a"]


def test_special_tokens_pass_through_the_chain() -> None:
    """As ordinary strings do: in Hugging Face's too."""
    vocabulary = ["Ġlow", "<|end of text|>", "é", "Ċ"]
    tokenizer = hf.Tokenizer(hf.models.WordLevel({t: n for n, t in enumerate(vocabulary)}, "Ċ"))
    tokenizer.add_special_tokens([hf.AddedToken(t, special=True) for t in vocabulary[1:3]])
    tokenizer.decoder = D.ByteLevel()
    # `é` is a letter of GPT-2's alphabet, so theirs makes the byte E9 of the special token.
    assert (
        tokenizer.decode([0, 1, 2, 3], skip_special_tokens=False) == " low<|end of text|>\ufffd\n"
    )
    raw = [b" low", b"<|end of text|>", "é".encode(), b"\n"]
    decoder = _native.Decoder([RAW], raw, [False, True, True, False])
    assert decoder.decode([0, 1, 2, 3], False).decode() == " low<|end of text|>é\n"
    assert decoder.decode([0, 1, 2, 3], True) == b" low\n"
    tokenizer.decoder = D.WordPiece()
    steps = _native.Decoder(CHAINS["wordpiece"], [t.encode() for t in vocabulary], [False] * 4)
    expected = tokenizer.decode([1, 0, 2, 1], skip_special_tokens=False)
    assert (
        steps.decode([1, 0, 2, 1], False).decode()
        == expected
        == "<|end of text|> Ġlow é <|end of text|>"
    )


def test_no_decoder_joins_with_spaces() -> None:
    tokenizer = hf.Tokenizer(hf.models.WordLevel({"a": 0, "b": 1, "": 2}, "a"))
    decoder = _native.Decoder([JOIN], [b"a", b"b", b""], [False] * 3)
    for ids in ([], [0], [0, 1], [2, 0, 2, 1, 2]):
        assert decoder.decode(ids, False).decode() == tokenizer.decode(ids)


@pytest.mark.parametrize(
    "step",
    [
        {},
        {"kind": "none"},
        {"kind": "strip", "content": "ab", "start": 1, "stop": 0},
        {"kind": "strip", "content": "a", "start": -1, "stop": 0},
        {"kind": "bpe-suffix", "suffix": ""},
        {"kind": "metaspace", "replacement": "_", "prepend": "sometimes"},
        {"kind": "replace", "pattern": "", "regex": False, "content": ""},
    ],
)
def test_a_broken_step_is_an_error(step: Step) -> None:
    with pytest.raises(CoreError):
        _native.Decoder([step], [], [])
