"""Post-processing against Hugging Face's, every field of every window.

Its plain encodings are what ours start from, so that nothing but post-processing differs.
"""

from __future__ import annotations

from typing import Any

import pytest
import tokenizers
from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers import processors

from tests.postprocess.peers import (
    SPECIAL_IDS,
    byte_level,
    copy,
    fields_of,
    plain,
    texts,
    without,
)
from tokctl import TokctlError, Tokenizer, formats
from tokctl.model.parts import bert_template as bert
from tokctl.model.parts import roberta_template as roberta
from tokctl.tokenizer.encoding import Encoding
from tokctl.tokenizer.postprocess import (
    Padding,
    PostProcessor,
    Truncation,
    pad_batch,
    postprocess,
)

BYTES = processors.ByteLevel
CLS, SEP = ("[CLS]", SPECIAL_IDS["[CLS]"]), ("[SEP]", SPECIAL_IDS["[SEP]"])
BOS, EOS = ("<s>", SPECIAL_IDS["<s>"]), ("</s>", SPECIAL_IDS["</s>"])


def trimming(prefix_space: bool) -> dict[str, Any]:
    return {"kind": "trim-offsets", "prefix_space": prefix_space}


def template(single: str, pair: str) -> tuple[Any, dict[str, Any]]:
    theirs = processors.TemplateProcessing(
        single=single, pair=pair, special_tokens=[*SPECIAL_IDS.items()]
    )
    return theirs, {"kind": "template", "single": single, "pair": pair}


#: Names with their post-processor and ours.
T5 = template("$A </s>", "$A </s> $B:1 </s>:1")
LLAMA = template("<s> $A", "<s> $A <s>:1 $B:1")
#: CodeLlama's: the text behind the gap comes first.
INFILLING = template("<s> $A", "<s> [SEP]:1 $B:1 [CLS] $A")
KINDS: dict[str, tuple[Any, list[Any]]] = {
    "none": (None, []),
    "bert": (processors.BertProcessing(SEP, CLS), [bert()]),
    "roberta": (
        processors.RobertaProcessing(EOS, BOS, trim_offsets=True, add_prefix_space=True),
        ["trim-offsets", roberta()],
    ),
    "roberta, no prefix": (
        processors.RobertaProcessing(EOS, BOS, trim_offsets=True, add_prefix_space=False),
        [trimming(False), roberta()],
    ),
    "roberta, untrimmed": (
        processors.RobertaProcessing(EOS, BOS, trim_offsets=False),
        [roberta()],
    ),
    "byte-level": (BYTES(trim_offsets=True, add_prefix_space=True), ["trim-offsets"]),
    "byte-level, no prefix": (BYTES(add_prefix_space=False, trim_offsets=True), [trimming(False)]),
    "byte-level, untrimmed": (BYTES(trim_offsets=False), []),
    "template": (T5[0], [T5[1]]),
    "second text first": (INFILLING[0], [INFILLING[1]]),
    "llama": (
        processors.Sequence([BYTES(trim_offsets=True, add_prefix_space=True), LLAMA[0]]),
        ["trim-offsets", LLAMA[1]],
    ),
}
STRATEGIES = {
    "longest-first": "longest_first",
    "only-first": "only_first",
    "only-second": "only_second",
}

truncations = st.builds(
    Truncation,
    st.integers(0, 12),
    st.sampled_from([0, 0, 1, 2, 4]),
    st.sampled_from([*STRATEGIES]),
    st.sampled_from(["right", "left"]),
)
paddings = st.builds(
    Padding,
    st.one_of(st.none(), st.integers(0, 20)),
    st.one_of(st.none(), st.integers(1, 9)),
    st.sampled_from(["right", "left"]),
    type_id=st.integers(0, 3),
)


def peer(
    base: tokenizers.Tokenizer,
    processor: Any,
    truncation: Truncation | None = None,
    padding: Padding | None = None,
) -> tokenizers.Tokenizer:
    tokenizer = copy(base)
    if processor is not None:
        tokenizer.post_processor = processor
    if truncation is not None:
        tokenizer.enable_truncation(
            truncation.max_length,
            stride=truncation.stride,
            strategy=STRATEGIES[truncation.strategy],
            direction=truncation.direction,
        )
    if padding is not None:
        tokenizer.enable_padding(
            direction=padding.direction,
            pad_id=SPECIAL_IDS[padding.token],
            pad_type_id=padding.type_id,
            pad_token=padding.token,
            length=padding.length,
            pad_to_multiple_of=padding.multiple_of,
        )
    return tokenizer


def described(name: str, add_special: bool, ours: Encoding, theirs: Any) -> tuple[Any, Any]:
    """Both as they are to be compared."""
    both = fields_of(ours), fields_of(theirs)
    if name == "none":
        # Without a post-processor, padding is the first text's there, and in windows the
        # second text is, too. `test_sequence_ids_without_a_post_processor` says ours.
        return without(both[0], "sequence_ids"), without(both[1], "sequence_ids")
    if name.startswith("roberta") and not add_special:
        # Without special tokens, windows of a second text keep its type id there.
        return without(both[0], "type_ids", True), without(both[1], "type_ids", True)
    return both


@pytest.mark.few(2)
@pytest.mark.parametrize("name", KINDS)
@given(
    first=texts,
    second=st.one_of(st.none(), texts),
    prefix_space=st.booleans(),
    add_special=st.booleans(),
    truncation=st.one_of(st.none(), truncations),
    padding=st.one_of(st.none(), paddings),
)
def test_equals_huggingface(
    name: str,
    first: str,
    second: str | None,
    prefix_space: bool,
    add_special: bool,
    truncation: Truncation | None,
    padding: Padding | None,
) -> None:
    processor, parts = KINDS[name]
    base = byte_level(prefix_space)
    try:
        ours = postprocess(
            plain(base, first),
            None if second is None else plain(base, second),
            parts=parts,
            special_ids=SPECIAL_IDS,
            add_special=add_special,
            truncation=truncation,
            padding=padding,
        )
    except TokctlError as error:
        assert truncation is not None
        refused_for_a_reason(truncation, str(error))
        return
    try:
        tokenizer = peer(base, processor, truncation, padding)
    except BaseException as error:
        # It checks the settings with special tokens, though none may be wanted.
        assert not add_special and "stride" in str(error), error
        return
    theirs = tokenizer.encode(first, second, add_special_tokens=add_special)
    got, expected = described(name, add_special, ours, theirs)
    assert got == expected


def refused_for_a_reason(truncation: Truncation, message: str) -> None:
    """A setting was at fault that the error names."""
    reasons = {
        "max_length is": truncation.max_length < 4,
        "the stride": truncation.stride > 0,
        "no second text": truncation.strategy == "only-second",
        "not enough": truncation.strategy != "longest-first",
    }
    assert any(told in message and holds for told, holds in reasons.items()), message


@pytest.mark.parametrize("name", ["bert", "llama", "byte-level"])
@given(
    pairs=st.lists(st.tuples(texts, texts), max_size=4),
    alone=st.booleans(),
    room=st.one_of(st.none(), st.integers(7, 20)),
    padding=paddings,
)
def test_batches_equal_huggingface(
    name: str, pairs: list[tuple[str, str]], alone: bool, room: int | None, padding: Padding
) -> None:
    processor, parts = KINDS[name]
    base = byte_level(False)
    truncation = None if room is None else Truncation(room)
    prepared = PostProcessor.of(parts, SPECIAL_IDS)
    batch = [
        prepared.process(plain(base, a), None if alone else plain(base, b), truncation=truncation)
        for a, b in pairs
    ]
    tokenizer = peer(base, processor, truncation, padding)
    theirs = tokenizer.encode_batch([a for a, _ in pairs] if alone else pairs)
    ours = pad_batch(batch, padding, SPECIAL_IDS)
    assert [fields_of(one) for one in ours] == [fields_of(one) for one in theirs]


@pytest.mark.parametrize("name", KINDS)
def test_added_tokens_count_equals_huggingface(name: str) -> None:
    processor, parts = KINDS[name]
    if processor is not None:
        ours = PostProcessor.of(parts, SPECIAL_IDS)
        for pair in (False, True):
            assert ours.added_tokens_count(pair) == processor.num_special_tokens_to_add(pair)


@example("the", "", 2, 0, "only-first", True)
@example("the", "then", 3, 0, "only-second", False)
@given(
    first=texts,
    second=texts,
    max_length=st.integers(0, 12),
    stride=st.integers(0, 6),
    strategy=st.sampled_from([*STRATEGIES]),
    alone=st.booleans(),
)
def test_what_is_refused_fails_there_or_goes_wrong(
    first: str, second: str, max_length: int, stride: int, strategy: str, alone: bool
) -> None:
    """Where tokctl refuses what depends on the text, Hugging Face errs or panics."""
    processor, parts = KINDS["bert"]
    base = byte_level(False)
    other = None if alone else second
    truncation = Truncation(max_length, stride, strategy)
    try:
        postprocess(
            plain(base, first),
            None if other is None else plain(base, other),
            parts=parts,
            special_ids=SPECIAL_IDS,
            truncation=truncation,
        )
    except TokctlError:
        try:
            truncation.room(2 if alone else 3)
        except TokctlError:
            return
        with pytest.raises(BaseException, match=r"stride|Truncation error"):
            peer(base, processor, truncation).encode(first, other)


@given(first=texts, second=texts, prefix_space=st.booleans())
def test_methods_equal_huggingface(first: str, second: str, prefix_space: bool) -> None:
    processor, parts = KINDS["llama"]
    base = byte_level(prefix_space)
    ours = postprocess(
        plain(base, first), plain(base, second), parts=parts, special_ids=SPECIAL_IDS
    )
    theirs = peer(base, processor).encode(first, second)
    for sequence, text in enumerate((first, second)):
        for place in range(len(text) + 2):
            assert ours.char_to_token(place, sequence) == theirs.char_to_token(place, sequence)
            assert ours.char_to_word(place, sequence) == theirs.char_to_word(place, sequence)
        for word in range(len(text) + 2):
            assert ours.word_to_tokens(word, sequence) == theirs.word_to_tokens(word, sequence)
            assert ours.word_to_chars(word, sequence) == theirs.word_to_chars(word, sequence)
    for index in range(len(ours) + 2):
        assert ours.token_to_chars(index) == theirs.token_to_chars(index)
        assert ours.token_to_word(index) == theirs.token_to_word(index)
        assert ours.token_to_sequence(index) == theirs.token_to_sequence(index)


@pytest.mark.parametrize("trims", [False, True])
def test_a_templates_type_ids_need_no_options(trims: bool) -> None:
    """A plain `encode` gives the type ids that the library gives without special tokens."""
    template_of_four = processors.TemplateProcessing(
        single="[CLS] $A:4", pair="$A:4 $B:1", special_tokens=[("[CLS]", 0)]
    )
    theirs = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({"[CLS]": 0, "a": 1, "b": 2}, unk_token="[CLS]")
    )
    theirs.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    theirs.add_special_tokens(["[CLS]"])
    byte_level_steps = [processors.ByteLevel(trim_offsets=True)] if trims else []
    theirs.post_processor = processors.Sequence([*byte_level_steps, template_of_four])
    ours = Tokenizer(formats.parse(theirs.to_str().encode(), "tokenizer.json"))
    expected = theirs.encode("a b", add_special_tokens=False).type_ids
    assert expected == [4, 4]
    assert ours.encode("a b").type_ids == expected
    assert [one.type_ids for one in ours.encode_batch(["a b", "b"])] == [[4, 4], [4]]
    assert ours.encode("a b", add_special=True).type_ids == theirs.encode("a b").type_ids
