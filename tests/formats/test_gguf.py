"""Vocabularies of GGUF files: the ids of llama.cpp, and of the libraries where it agrees."""

from __future__ import annotations

import json
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import regex
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.conftest import shared_file
from tests.errors import raises_code
from tests.exact.strings import strings
from tests.formats.test_sentencepiece_model import sentences
from tokctl import TokctlError, Tokenizer, formats, preset
from tokctl.formats.gguf import pre_tokenizers
from tokctl.model import ImportedFrom, byte_level

pytest.importorskip("gguf")
spm = pytest.importorskip("sentencepiece")

from tests.formats import gguf_files as files  # noqa: E402

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "gguf.json").read_text())
VARIANTS: dict[str, dict[str, Any]] = {
    "merged": {"remove_extra_whitespaces": True},
    "bare": {"add_space_prefix": False},
    "llama bare": {"add_space_prefix": False, "add_eos_token": True},
    "cased": {"normalizer.lowercase": False},
}


def golden_values(name: str) -> dict[str, Any]:
    """The keys of a model that has golden ids."""
    kind, _, variant = name.partition(" ")
    return {**files.tiny(kind), **VARIANTS.get(name, VARIANTS.get(variant, {}))}


# -- what llama.cpp gives --------------------------------------------------------------


@pytest.mark.parametrize("name", GOLDEN["models"])
def test_the_ids_of_llama_cpp(name: str) -> None:
    tokenizer = Tokenizer(files.model(golden_values(name)))
    for text, (none, every, around) in GOLDEN["models"][name].items():
        assert list(tokenizer.encode(text).ids) == none, text
        assert list(tokenizer.encode(text, special="all").ids) == every, text
        found = tokenizer.encode(text, special="all", add_special=True)
        assert list(found.ids) == around, text


@pytest.mark.few(4)
@pytest.mark.parametrize("pre", GOLDEN["splits"])
def test_the_splits_of_llama_cpp(pre: str) -> None:
    tokenizer = Tokenizer(files.model(files.pairs(pre, GOLDEN["texts"])))
    names = tokenizer.tokens
    for text, lengths in zip(GOLDEN["texts"], GOLDEN["splits"][pre], strict=True):
        found = "".join(str(len(names[id_])) for id_ in tokenizer.encode(text).ids)
        assert found == lengths, text


def test_every_name_is_one_that_was_compared() -> None:
    assert set(pre_tokenizers._SPLITTINGS) == {
        pre_tokenizers._KNOWN_NAMES[name] for name in GOLDEN["splits"]
    }
    assert set(pre_tokenizers._KNOWN_NAMES.values()) == set(pre_tokenizers._SPLITTINGS)
    names = (
        pre_tokenizers._KEEPS_WHOLE_WORDS
        | pre_tokenizers._ADDS_BOS
        | pre_tokenizers._NO_DEFAULT_BOS
    )
    assert names <= pre_tokenizers._KNOWN_NAMES.keys()


# -- what the first libraries give, where llama.cpp agrees -----------------------------


def test_sentencepiece_bpe() -> None:
    data = files.trained(
        sentences(),
        model_type="bpe",
        vocab_size=340,
        byte_fallback=True,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        user_defined_symbols=["<sep>"],
    )
    theirs = spm.SentencePieceProcessor(model_proto=data)
    ours = Tokenizer(files.model(files.of_sentencepiece(data)))
    for text in [*strings(300), "the cat  sat on Übermut\n"]:
        if "▁" not in text and text.strip() and "<sep>" not in text:
            assert list(ours.encode(text).ids) == theirs.encode(text), text
            if "\0" not in text:
                assert ours.decode(ours.encode(text).ids) == text


@pytest.mark.parametrize("tidy", [False, True])
def test_sentencepiece_unigram(tidy: bool) -> None:
    data = files.trained(
        sentences(),
        model_type="unigram",
        vocab_size=80,
        normalization_rule_name="nmt_nfkc",
        remove_extra_whitespaces=tidy,
    )
    theirs = spm.SentencePieceProcessor(model_proto=data)
    ours = Tokenizer(files.model(files.of_sentencepiece(data)))
    compared = 0
    for text in [*strings(300), "the cat  sat on ﬁne noon "]:
        if "▁" in text or not text.strip():
            continue
        normal = theirs.normalize(text)
        # Of two equally good ways, sums of single and of double precision choose another.
        if ours.decode(ours.encode(text).ids) and normal:
            best = theirs.encode(text)
            score = sum(map(theirs.get_score, best))
            found = list(ours.encode(text).ids)
            same = abs(sum(map(theirs.get_score, found)) - score) < 1e-3
            assert found == best or (same and len(best) == len(found)), text
            compared += found == best
    assert compared > 100


def test_gpt2() -> None:
    path = shared_file("vocab/gpt2.tokenizer.json")
    theirs = Tokenizer.load(path)
    values = files.of_bytes(theirs, "gpt-2", bos_token_id=50256, eos_token_id=50256)
    ours = Tokenizer(files.model(values))
    for text in strings(300):
        assert ours.encode(text).ids == theirs.encode(text).ids, text
        found = ours.encode(text, special="all").ids
        assert found == theirs.encode(text, special="all").ids
        assert ours.decode(found) == text
    assert ours.model.merges[0][:3] == theirs.model.merges[0][:3]
    assert ours.special_ids == {"<|endoftext|>": 50256}


def gemma4(**more: Any) -> dict[str, Any]:
    """A model like Gemma 4's: BPE over characters, bytes for those without a token."""
    bytes_ = [f"<0x{byte:02X}>" for byte in range(256)]
    merges = ["a b", "▁ ab", "ab ab", "▁ ▁", "▁▁ ▁▁", "é a", "b ▁", "\n \n"]
    characters = ["▁", "a", "b", "c", "é", "字", "<", ">", "\n"]
    made = [merge.replace(" ", "") for merge in merges]
    tokens = ["<pad>", "<eos>", "<bos>", *bytes_, *characters, *made]
    tokens += ["\n" * count for count in range(3, 9)] + ["<tab>", "▁▁▁"]
    types = [files.CONTROL] * 3 + [files.BYTE] * 256 + [files.NORMAL] * (len(tokens) - 261)
    return {
        "model": "gemma4",
        "tokens": tokens,
        "token_type": [*types, files.USER_DEFINED, files.NORMAL],
        "merges": merges,
        "bos_token_id": 2,
        "eos_token_id": 1,
        **more,
    }


def by_hand(values: dict[str, Any], text: str) -> list[int]:
    """Its ids, as `llm_tokenizer_bpe_session::tokenize` makes them."""
    ids = {token: id_ for id_, token in enumerate(values["tokens"])}
    ranks = {tuple(merge.split(" ")): rank for rank, merge in enumerate(values["merges"])}
    found: list[int] = []
    for part in regex.split(r"(<tab>)", text):
        if part == "<tab>":
            found.append(ids[part])
            continue
        for word in regex.findall(r"[^\n]+|\n+", part.replace(" ", "▁")):
            symbols = [word] if word[0] == "\n" and word in ids else list(word)
            while len(symbols) > 1:
                known = [(ranks[p], at) for at, p in enumerate(pairwise(symbols)) if p in ranks]
                if not known:
                    break
                _, at = min(known)
                symbols[at : at + 2] = ["".join(symbols[at : at + 2])]
            for symbol in symbols:
                spelled = [f"<0x{byte:02X}>" for byte in symbol.encode()]
                found += [ids[one] for one in ([symbol] if symbol in ids else spelled)]
    return found


@given(st.text("ab cé\n字\t<>x", max_size=40).map(lambda text: text.replace("c", "<tab>")))
def test_gemma_4(text: str) -> None:
    """Merges of characters, runs of line feeds whole, and `<bos>` whatever the file says."""
    assume("\n" * 9 not in text)
    values = gemma4()
    ours = Tokenizer(GEMMA_4)
    ids = by_hand(values, text)
    assert ours.encode_ids(text) == ids
    assert list(ours.encode(text, add_special=True).ids) == [2, *ids]
    assert ours.decode(ids) == text
    assert ours.encode_ids(f"{text}<bos>", special="all")[-1] == 2
    assert 2 not in ours.encode_ids(f"{text}<bos>")


GEMMA_4 = files.model(gemma4())


def test_gemma_4_by_its_other_names() -> None:
    for more in ({"pre": "gemma4"}, {"model": "gpt2", "pre": "gemma4"}):
        assert files.model(gemma4(add_bos_token=False, **more)).recipe == GEMMA_4.recipe
    granite = files.model(gemma4(model="gpt2", pre="granite-embed-multi-311m"))
    assert granite.recipe == GEMMA_4.recipe


@pytest.mark.parametrize(
    ("token", "kind", "why"),
    [
        ("ab", files.CONTROL, "ordinary text can"),
        ("c", files.CONTROL, "ordinary text can"),
        ("<0x41>", files.NORMAL, "tokens for 255 of the 256 bytes"),
    ],
)
def test_gemma_4_that_is_refused(token: str, kind: int, why: str) -> None:
    values = gemma4()
    place = values["tokens"].index(token)
    values["token_type"][place] = kind
    if token == "<0x41>":
        values["tokens"][place] = "<A>"
    with pytest.raises(TokctlError, match=why):
        files.model(values)


# -- what a file says ------------------------------------------------------------------


def test_what_comes_along() -> None:
    values = {**files.pairs("llama-bpe", ["ab"]), "tokenizer.chat_template": "{{ messages }}"}
    found = files.model(values)
    assert found.origin == ImportedFrom("gguf", "A model (llama-bpe)")
    assert found.extra_files == {"chat_template.jinja": "{{ messages }}"}
    assert found.recipe.whole_words
    assert not files.model(files.pairs("qwen2", ["ab"])).recipe.whole_words
    assert files.model(files.tiny("llama")).origin == ImportedFrom("gguf", "A model")


def test_around_two_texts() -> None:
    tokenizer = Tokenizer(files.model({**files.tiny("llama"), "add_eos_token": True}))
    names = [tokenizer.tokens[i] for i in tokenizer.encode("a", "b", add_special=True).ids]
    assert names == ["<s>", "▁a", "</s>", "<s>", "▁", "b", "</s>"]


def test_spellings_that_are_control_tokens() -> None:
    """Whatever their type says; and those that are always shown."""
    values = files.tiny("llama")
    values["tokens"] = [*values["tokens"][:-2], "<|im_end|>", "<|channel|>"]
    values["token_type"] = [*values["token_type"][:-2], 4, 3]
    tokenizer = Tokenizer(files.model(values))
    size = len(values["tokens"])
    assert tokenizer.special_ids.keys() == {"<unk>", "<s>", "</s>", "<|im_end|>"}
    assert size - 1 in tokenizer.encode("a<|channel|>").ids
    assert size - 2 not in tokenizer.encode("a<|im_end|>").ids
    assert size - 2 in tokenizer.encode("a<|im_end|>", special="all").ids


def test_phi_3_takes_spaces_along() -> None:
    """Behind control and user-defined tokens, but for a few: llama.cpp knows it by its name."""
    values = files.tiny("llama")
    values["tokens"] = [{"  ": "<x>", "\n\n": "<y>"}.get(text, text) for text in values["tokens"]]
    phi = Tokenizer(files.model({**values, "general.name": "Phi-3 mini"}))
    sep, a = phi.tokens.index("<sep>"), phi.tokens.index("▁a")
    assert list(phi.encode("<sep> \n  a").ids) == [sep, a]
    assert len(Tokenizer(files.model(values)).encode("<sep> \n  a").ids) > 2
    assert list(phi.encode("</s> a<s>a", special="all").ids) == [2, a, 1, a]
    with raises_code("unsupported"):
        files.model({**files.tiny("llama"), "general.name": "Phi-3 mini"})


def test_a_pattern_that_the_caller_knows() -> None:
    values = files.pairs("unheard-of", ["ab"])
    with raises_code("unsupported") as caught:
        files.model(values)
    assert "pattern" in (caught.value.hint or "")
    found = files.model(values, pattern="digits-individual,gpt2")
    same = files.model(files.pairs("smollm", ["ab"])).recipe
    assert found.recipe.pre_tokenizers == same.pre_tokenizers


# -- what is refused -------------------------------------------------------------------


def changed(kind: str, **more: Any) -> dict[str, Any]:
    return {**(files.pairs(kind, ["ab"]) if "-" in kind else files.tiny(kind)), **more}


def with_tokens(kind: str, *tokens: tuple[str, int]) -> dict[str, Any]:
    values = changed(kind)
    values["tokens"] = [*values["tokens"], *(text for text, _ in tokens)]
    values["token_type"] = [*values["token_type"], *(type_ for _, type_ in tokens)]
    if "scores" in values:
        values["scores"] = [*values["scores"], *(0.0 for _ in tokens)]
    return values


LLAMA = files.tiny("llama")["tokens"]


@pytest.mark.parametrize("control", [False, True])
def test_bytes_that_utf8_never_has(control: bool) -> None:
    """The first have no token; or it is a control token, as in DeepSeek's files."""
    values = changed("gpt-2")
    tokens, types = list(values["tokens"]), list(values["token_type"])
    never = {byte_level.CHARACTERS[byte] for byte in byte_level.NEVER_IN_UTF8}
    for id_, token in enumerate(tokens):
        if token in never:
            tokens[id_] = token if control else f"<gone_{id_}>"
            types[id_] = files.CONTROL if control else files.NORMAL
    ours = Tokenizer(files.model({**values, "tokens": tokens, "token_type": types}))
    whole = Tokenizer(files.model(values))
    for text in ("low lower", "¬ß日 🧑\n", "\0\x7f"):
        assert ours.encode_ids(text) == whole.encode_ids(text)
    with raises_code("no-id"):
        ours.encode_ids(b"a\xff")


REFUSED = {
    "rwkv": ({"model": "rwkv"}, "rwkv"),
    "no_vocab": ({"model": "no_vocab"}, "holds none"),
    "whatever": ({"model": "whatever"}, "whatever"),
    "sarvam": (changed("gpt-2", pre="sarvam-moe"), "merges characters"),
    "kimi": (changed("gpt-2", pre="kimi-k2"), "without merges"),
    "a token twice": (with_tokens("llama", ("a", 1)), "'a' occurs twice"),
    "merging ordinary text": (with_tokens("llama", ("aab", 3)), "its control token 'aab'"),
    "one character": (with_tokens("llama", ("q", 3)), "its control token 'q'"),
    "overlap": (with_tokens("llama", ("p>abc", 4)), "overlap"),
    "bytes missing": (
        changed("llama", tokens=["<x>" if t == "<0x41>" else t for t in LLAMA]),
        "255 of the 256",
    ),
    "unigram with bytes": (with_tokens("t5", ("<0x41>", 6)), "tokens for bytes"),
    "user-defined, not ASCII": (with_tokens("t5", ("<é>", 4)), "the same byte"),
    "wordpiece with ▁": (with_tokens("bert", ("▁", 1)), "▁"),
    "wordpiece control": (with_tokens("bert", ("mask", 3)), "'mask'"),
    "no unknown": (changed("bert", unknown_token_id=6), "unknown token"),
    "a control token that is looked up": (
        {**with_tokens("gpt2", ("!word", 3)), "pre": "llama-bpe"},
        "'!word' is found in ordinary text",
    ),
    "bos is ordinary": (changed("gpt-2", bos_token_id=65), "not a control token"),
    "gap tokens": (with_tokens("llama", ("<PRE>", 1), ("<fim_prefix>", 1)), "chance"),
    "no merges": ({**changed("gpt-2"), "merges": [1, 2]}, "merges"),
    "merge of one": (changed("gpt-2", merges=["ab"]), "merge 1"),
    "merge of none": (changed("gpt-2", merges=["a b", "a bcd"]), "merge 2"),
    "no such flag": (changed("llama", add_bos_token="yes"), "add_bos_token"),
    "scores": (changed("llama", scores=[0.0]), "scores"),
    "nan": (changed("llama", scores=[float("nan")] * 300), "not a number"),
    "type": (changed("llama", token_type=[9] * 300), "unknown type"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    values, why = REFUSED[name]
    with pytest.raises(TokctlError) as caught:
        files.model(values, "some.gguf")
    assert why in caught.value.message
    assert "some.gguf" in caught.value.message


@pytest.mark.parametrize("token", ["<PRE>", "▁<SUF>", "<MID>", "<fim_prefix>", "<PAD>"])
def test_one_infill_token_is_no_choice(token: str) -> None:
    """Refused until the list of spellings named each one once."""
    model = files.model(with_tokens("llama", (token, files.NORMAL)))
    assert token.encode() in model.tokens or token.replace("▁", " ").encode() in model.tokens


OVERLAPPING = [
    ("<|end|>", files.CONTROL), (">>intro<<", files.CONTROL), ("<<|", files.USER_DEFINED),
    ("|>>>", files.CONTROL), ("<|>><|<<", files.CONTROL), ("|>>int", files.USER_DEFINED),
]  # fmt: skip
FALCON = files.model(with_tokens("gpt2", *OVERLAPPING))


def partition(text: str, tokens: list[str]) -> list[str]:
    """As llama.cpp's `tokenizer_st_partition`: one token after the other, the longest first."""
    parts = [(text, False)]
    for token in sorted(tokens, key=len, reverse=True):
        after = []
        for part, done in parts:
            if done:
                after.append((part, True))
                continue
            pieces = part.split(token)
            for piece in pieces[:-1]:
                after += [(piece, False), (token, True)]
            after.append((pieces[-1], False))
        parts = after
    return [part for part, _ in parts if part]


@given(
    st.lists(st.sampled_from(["<", "|", ">", "a", "end", "intro", *dict(OVERLAPPING)])),
    st.booleans(),
)
def test_the_longest_of_overlapping_tokens_is_found(parts: list[str], special: bool) -> None:
    """Falcon's `<|endoftext|>` ends as `>>INTRODUCTION<<` begins."""
    text = "".join(parts)
    ours = Tokenizer(FALCON)
    plain = [token for token, kind in OVERLAPPING if special or kind == files.USER_DEFINED]
    known = {token: id_ for id_, token in enumerate(ours.tokens)}
    expected: list[int] = []
    for part in partition(text, plain):
        expected += [known[part]] if part in plain else ours.encode_ids(part, special="none")
    assert ours.encode_ids(text, special="all" if special else "none") == expected
    copy = Tokenizer(formats.parse(formats.serialize(FALCON), "copy"))
    assert copy.model == FALCON
    assert copy.encode_ids(text, special="all" if special else "none") == expected


def test_overlapping_tokens_elsewhere() -> None:
    lost = [loss.what for loss in formats.losses(FALCON, "huggingface")]
    assert any("the longest of tokens which overlap" in what for what in lost)


def test_runs_of_spaces_are_no_overlap() -> None:
    runs = [(" " * n, 4) for n in range(3, 30)]
    tokenizer = Tokenizer(files.model(with_tokens("llama", *runs)))
    draw = random.Random(5)
    for _ in range(50):
        count = draw.randint(1, 80)
        found = [len(tokenizer.tokens[i]) for i in tokenizer.encode(" " * count + "a").ids[:-1]]
        rest = count % 29
        assert found[: count // 29] == [29] * (count // 29)
        assert rest < 2 or found[count // 29] == rest


def test_longest_tokens_first_within_bounds() -> None:
    """Hundreds of thousands of control tokens are read in no time."""
    values = with_tokens("llama", *((f"<|{n}|>", 3) for n in range(30_000)))
    assert len(files.model(values).added) == 30_006


def test_wordpiece_of_our_own() -> None:
    ours = Tokenizer.train(
        {word: 3 for text in sentences() for word in text.split()},
        vocab_size=60,
        recipe=preset("bert"),
    )
    read = Tokenizer(files.model(files.of_wordpiece(ours)))
    assert read.tokens == ours.tokens
    for text in [*sentences()[:50], "The, CAT! xyz"]:
        assert read.encode(text).ids == ours.encode(text).ids
        again = read.encode(text, add_special=True).ids
        assert again == ours.encode(text, add_special=True).ids


def test_detected_by_content(tmp_path: Path) -> None:
    path = tmp_path / "model.bin"
    path.write_bytes(files.written(files.tiny("bert")))
    assert formats.read(path).format.name == "gguf"
