"""Every preset, and every default recipe: through encode and decode, at once and in pieces."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.run import tokctl
from tokctl import Tokenizer, sources
from tokctl.model import Recipe
from tokctl.model.presets import BPE_CHARACTERS, CHAR, DEFAULTS, PRESETS, UNIGRAM

TEXT = (
    "low  lower\n\n newest\u3000 widest 東京 cafe\u0301\r\n\tlonger ▁x\n ▁ y don't can't! 12 34"
    "\n  a,b . c\u00a0d  \n👩\u200d👩\u200d👧 (x) \n\n\n end\u2028 ▁▁ of 1234567 it's_a 🙂 "
)
ENDINGS = ("", "x", " ", "  ", "\n", "\r\n", "e\u0301", " 東")

#: The presets and the defaults; and parts where a cut could be felt: what is put before a text,
#: matches over spaces, and steps one behind the other.
RECIPES: dict[str, Recipe] = {
    **{name: recipe for name, (_about, recipe) in PRESETS.items()},
    **{f"default {name}": recipe for name, recipe in DEFAULTS.items()},
    "characters": BPE_CHARACTERS,
    "prefix-space": replace(BPE_CHARACTERS, pre_tokenizers=("prefix-space", "gpt2")),
    "metaspace": replace(BPE_CHARACTERS, pre_tokenizers=("metaspace",)),
    "metaspace:first": replace(BPE_CHARACTERS, pre_tokenizers=("metaspace:first",)),
    "metaspace:never": replace(BPE_CHARACTERS, pre_tokenizers=("metaspace:never",)),
    "whole": replace(BPE_CHARACTERS, pre_tokenizers=({"kind": "metaspace", "split": False},)),
    "bare unigram": replace(UNIGRAM, normalizers=()),
    "digits, then metaspace": replace(
        UNIGRAM, normalizers=(), pre_tokenizers=("digits", "metaspace")
    ),
    "graphemes": replace(CHAR, segmentation="lookup", pre_tokenizers=("graphemes",)),
    "penn-treebank": replace(BPE_CHARACTERS, pre_tokenizers=("penn-treebank",)),
    "scripts": replace(BPE_CHARACTERS, pre_tokenizers=("scripts", "whitespace")),
    "joins to what is before": replace(
        BPE_CHARACTERS,
        pre_tokenizers=({"kind": "split", "pattern": " ", "behaviour": "merged-with-previous"},),
    ),
    "a pattern": replace(BPE_CHARACTERS, pre_tokenizers=(r"regex:\w+ \w+|.",)),
}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    made = tmp_path_factory.mktemp("presets")
    paths = {}
    (made / "text.txt").write_text(TEXT * 3, encoding="utf-8")
    for name, recipe in RECIPES.items():
        size = 256 * (recipe.units == "bytes" or recipe.byte_fallback) + 120
        tokenizer = Tokenizer.train([made / "text.txt"], vocab_size=size, recipe=recipe)
        paths[name] = made / f"{len(paths)}.json"
        tokenizer.save(paths[name])
    return paths


@pytest.mark.few(2)
@pytest.mark.parametrize("name", RECIPES)
def test_whole_texts_in_pieces(
    trained: dict[str, Path], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However a text comes in, and wherever it is cut, the ids are those of the text at once."""
    model = str(trained[name])
    tokenizer = Tokenizer.load(model)
    for number, ending in enumerate(ENDINGS):
        text = (TEXT * 2 + ending).encode()
        Path("text.txt").write_bytes(text)
        whole = tokenizer.encode(text).ids
        for size in (1, 2, 3, 7, 64)[number % 2 :: 2]:
            monkeypatch.setattr(
                "tokctl.sources.blocks.read_blocks",
                lambda stream, _, n=size: iter(lambda: stream.read(n), b""),
            )
            ids = tokctl("encode", "-m", model, "--whole", "text.txt")
            assert [int(id_) for id_ in ids.out.split()] == whole
            packed = tokctl("encode", "-m", model, "--as", "bin", "text.txt")
            assert packed.out == b"".join(id_.to_bytes(2, "little") for id_ in whole)
            counted = tokctl("encode", "-m", model, "--count", "--whole", "text.txt")
            assert counted.out.split()[0] == b"%d" % len(whole)


@pytest.mark.parametrize("name", ["gpt2", "llama2", "metaspace", "bare unigram", "characters"])
def test_these_are_cut(trained: dict[str, Path], name: str) -> None:
    """So that the test above tests something: a text comes in more than one piece."""
    from tokctl.tokenizer.documents import DocumentEncoder

    text = TEXT.encode()
    blocks = [text[at : at + 7] for at in range(0, len(text), 7)]
    document = sources.Document("text", len(text), lambda: iter(blocks))
    encoder = DocumentEncoder(Tokenizer.load(trained[name]))
    assert sum(some.tokens > 0 for some in encoder.encode(document, "decimal")) > 5


@pytest.mark.few(30)
@pytest.mark.parametrize("form", ["ids", "jsonl", "bin"])
@pytest.mark.parametrize("name", RECIPES)
def test_round_trip(trained: dict[str, Path], name: str, form: str) -> None:
    """decode gives what the model itself decodes; of a byte-level model, the text."""
    model = trained[name]
    tokenizer = Tokenizer.load(model)
    text = TEXT.encode()
    encoded = tokctl("encode", "-m", model, "--as", form, stdin=text)
    decoded = tokctl("decode", "-m", model, "--from", form, stdin=encoded.out)
    assert (encoded.code, decoded.code, decoded.err) == (0, 0, "")
    texts = [text] if form == "bin" else text.split(b"\n")
    ids = [tokenizer.encode(one).ids for one in texts]
    assert decoded.out == b"\n".join(map(tokenizer.decode_bytes, ids))
    if tokenizer.recipe.units == "bytes" and not tokenizer.recipe.normalizers:
        assert decoded.out == text


@pytest.mark.parametrize("name", RECIPES)
def test_decoding_bin_never_writes_half_a_character(trained: dict[str, Path], name: str) -> None:
    """Ids may come one by one; what goes out is whole characters each time."""
    from tokctl.cli.encode_output import packed
    from tokctl.idfiles.dtypes import DTYPES
    from tokctl.idfiles.raw import read_numbers
    from tokctl.idfiles.reader import decode_parts
    from tokctl.sources.blocks import BlockStream

    tokenizer = Tokenizer.load(trained[name])
    ids = tokenizer.encode_ids(TEXT)
    single = [packed([id_], 2) for id_ in ids]
    parts = read_numbers(BlockStream(iter(single)), "in", DTYPES["uint16"], 0)
    blocks = list(decode_parts(tokenizer, parts))
    for block in blocks:
        block.decode()
    assert b"".join(blocks) == tokenizer.decode_bytes(ids)
