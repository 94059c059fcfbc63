"""`as_hf` beside the tokenizer of `transformers` that it is made of."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.errors import raises_code

os.environ["HF_HUB_OFFLINE"] = "1"
transformers = pytest.importorskip("transformers")

from tests.compat.models import KINDS, both, lines  # noqa: E402
from tests.exact.strings import EXAMPLES, strings  # noqa: E402
from tokctl import as_hf  # noqa: E402
from tokctl.extras.compat.tokenizers import Tokenizer  # noqa: E402

COUNT = EXAMPLES if EXAMPLES >= 100_000 else 30

#: The roles of special tokens, as the models of `models.py` have them.
ROLES: dict[str, dict[str, str]] = {
    "gpt2": {"eos_token": "<|endoftext|>", "pad_token": "<pad>"},
    "roberta": {
        "bos_token": "<s>",
        "eos_token": "</s>",
        "pad_token": "<pad>",
        "mask_token": "<mask>",
    },
    "bert": {
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
        "pad_token": "[PAD]",
        "unk_token": "[UNK]",
    },
    "old-bert": {"cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]"},
    "unigram": {
        "bos_token": "<s>",
        "eos_token": "</s>",
        "pad_token": "<pad>",
        "unk_token": "<unk>",
    },
    "llama": {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "</s>", "unk_token": "<unk>"},
    "words": {"pad_token": "[PAD]", "unk_token": "[UNK]"},
}


def original(kind: str, **more: Any) -> Any:
    theirs = both(kind)[1]
    return transformers.PreTrainedTokenizerFast(tokenizer_object=theirs, **ROLES[kind], **more)


#: Ways in which programs call it.
CALLS: tuple[dict[str, Any], ...] = (
    {},
    {"padding": True},
    {"padding": "max_length", "max_length": 12, "truncation": True},
    {"add_special_tokens": False, "return_offsets_mapping": True},
    {
        "truncation": True, "max_length": 15, "stride": 2, "return_overflowing_tokens": True,
        "return_offsets_mapping": True, "return_special_tokens_mask": True, "padding": True,
    },
    {"return_length": True, "padding": True, "pad_to_multiple_of": 8},
)  # fmt: skip


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", KINDS)
def test_calls_give_the_same(kind: str) -> None:
    theirs = original(kind)
    ours = as_hf(theirs)
    assert type(ours) is type(theirs)
    assert isinstance(ours.backend_tokenizer, Tokenizer)
    assert not isinstance(theirs.backend_tokenizer, Tokenizer)
    texts = ["a Widget of it", *lines()[:20], *(text[:80] for text in strings(COUNT))]
    pairs = list(reversed(texts))
    for given in CALLS:
        # `padding` makes of one long text many long rows.
        for n in range(0, len(texts), 1000):
            some, others = texts[n : n + 1000], pairs[n : n + 1000]
            assert dict(ours(some, **given)) == dict(theirs(some, **given)), given
            if n < 10_000:
                assert dict(ours(some, others, **given)) == dict(theirs(some, others, **given))
        assert dict(ours(texts[0], **given)) == dict(theirs(texts[0], **given)), given
    words = [text.split() for text in texts[:20]]
    here = ours(words, is_split_into_words=True)
    there = theirs(words, is_split_into_words=True)
    assert dict(here) == dict(there)
    assert [here.word_ids(n) for n in range(20)] == [there.word_ids(n) for n in range(20)]
    assert here.char_to_token(0, 0) == there.char_to_token(0, 0)
    assert dict(ours.pad({"input_ids": here["input_ids"]})) == dict(
        theirs.pad({"input_ids": here["input_ids"]})
    )
    ids = there["input_ids"]
    for skip in (True, False):
        decoded = theirs.batch_decode(ids, skip_special_tokens=skip)
        assert ours.batch_decode(ids, skip_special_tokens=skip) == decoded
        assert ours.decode(ids[0], skip_special_tokens=skip) == decoded[0]
    assert ours.tokenize(texts[0]) == theirs.tokenize(texts[0])
    tokens = ours.convert_ids_to_tokens(ids[0])
    assert tokens == theirs.convert_ids_to_tokens(ids[0])
    assert ours.convert_tokens_to_ids(tokens) == theirs.convert_tokens_to_ids(tokens)
    assert ours.convert_tokens_to_string(tokens) == theirs.convert_tokens_to_string(tokens)
    assert (len(ours), ours.vocab_size, ours.get_vocab()) == (
        len(theirs), theirs.vocab_size, theirs.get_vocab()
    )  # fmt: skip
    assert ours.all_special_ids == theirs.all_special_ids


# -- what their own tests ask (tests/test_tokenizers_backend_mixin.py), in our words -----------


@pytest.mark.parametrize("kind", KINDS)
def test_where_words_and_characters_are(kind: str) -> None:
    theirs = original(kind)
    ours = as_hf(theirs)
    text, pair = "Wonderful no inspiration example", "Amazing Widget of inspiration"
    for given in (([text] * 2,), ([text] * 2, [pair] * 2)):
        mine, other = (one(*given) for one in (ours, theirs))
        for row in (0, 1):
            for name in ("tokens", "word_ids", "sequence_ids"):
                assert getattr(mine, name)(row) == getattr(other, name)(row)
            for index in range(len(mine["input_ids"][row])):
                for name in ("token_to_sequence", "token_to_word", "token_to_chars"):
                    found = getattr(mine, name)(row, index)
                    assert found == getattr(other, name)(row, index), (name, index)
            for sequence in range(len(given)):
                for index in range(34):
                    for name in ("char_to_token", "char_to_word", "word_to_tokens"):
                        found = getattr(mine, name)(row, index, sequence)
                        assert found == getattr(other, name)(row, index, sequence), (name, index)
                words = mine.word_ids(row)[mine.sequence_ids(row).index(sequence) :]
                for index in {word for word in words if word is not None}:
                    if other.word_to_tokens(row, index, sequence) is not None:
                        found = mine.word_to_chars(row, index, sequence)
                        assert found == other.word_to_chars(row, index, sequence)


@pytest.mark.parametrize("kind", ["gpt2", "bert", "unigram"])
def test_the_pipeline_is_changed(kind: str) -> None:
    theirs = original(kind)
    ours = as_hf(theirs)
    prefix = getattr(theirs._tokenizer.model, "continuing_subword_prefix", None)
    assert getattr(ours._tokenizer.model, "continuing_subword_prefix", None) == prefix
    text = "Wonderful  no Widget"
    from tokenizers.processors import TemplateProcessing

    for one in (ours, theirs):
        one.backend_tokenizer.post_processor = TemplateProcessing(
            single="$A a", pair="$A a $B:1", special_tokens=[("a", one.convert_tokens_to_ids("a"))]
        )
        one.padding_side = one.truncation_side = "left"
    for more in ({}, {"padding": "max_length", "truncation": True, "max_length": 4}):
        assert dict(ours(text, **more)) == dict(theirs(text, **more))
    made = ours.train_new_from_iterator([lines()[:20]], 300)
    assert type(made) is type(ours)
    assert made.decode(made(lines()[0])["input_ids"])


@pytest.mark.parametrize("kind", KINDS)
def test_copies_folders_and_added_tokens(kind: str, tmp_path: Path) -> None:
    theirs = original(kind, model_max_length=40)
    ours = as_hf(theirs)
    text = "a Widget <new> <extra> of it"
    ours.save_pretrained(tmp_path / "ours")
    theirs.save_pretrained(tmp_path / "theirs")
    again = [
        transformers.PreTrainedTokenizerFast.from_pretrained(str(tmp_path / name))
        for name in ("ours", "theirs")
    ]
    assert dict(again[0](text)) == dict(again[1](text)) == dict(theirs(text))
    assert again[0].model_max_length == 40
    for one in (ours, theirs):
        assert one.add_tokens(["<new>", "Widget"]) == 1
        assert one.add_special_tokens({"additional_special_tokens": ["<extra>"]}) == 1
    for copied in (ours, pickle.loads(pickle.dumps(ours)), copy.deepcopy(ours), as_hf(ours)):
        assert isinstance(copied.backend_tokenizer, Tokenizer)
        assert dict(copied(text, return_offsets_mapping=True)) == dict(
            theirs(text, return_offsets_mapping=True)
        )
        assert copied.decode(copied(text)["input_ids"]) == theirs.decode(theirs(text)["input_ids"])


def test_special_tokens_that_are_split() -> None:
    theirs = original("bert")
    ours = as_hf(theirs)
    text = "a [SEP] b [MASK] c"
    for split in (True, False, True):
        here = ours(text, split_special_tokens=split)
        assert dict(here) == dict(theirs(text, split_special_tokens=split))


def test_what_is_no_fast_tokenizer() -> None:
    for wrong in (None, "gpt2", object(), both("bert")[1]):
        with raises_code("bad-value"):
            as_hf(wrong)


def test_the_package_stays_light() -> None:
    program = (
        "import sys, tokctl; tokctl.as_hf; import tokctl.extras.compat.tiktoken;"
        "print([name for name in ('transformers', 'tokenizers', 'numpy') if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert found.stdout.strip() == b"[]"
