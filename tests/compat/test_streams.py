"""`DecodeStream`, and what vLLM, SGLang and grammars call on a tokenizer of `transformers` and on
its backend, beside the originals."""

from __future__ import annotations

import copy
import os
import random
from typing import Any

import pytest

os.environ["HF_HUB_OFFLINE"] = "1"
tokenizers = pytest.importorskip("tokenizers")
transformers = pytest.importorskip("transformers")

from tests.compat.models import KINDS, both, lines  # noqa: E402
from tests.compat.test_transformers import original  # noqa: E402
from tests.exact.strings import strings  # noqa: E402
from tokctl import as_hf  # noqa: E402
from tokctl.extras.compat.tokenizers import Tokenizer  # noqa: E402
from tokctl.extras.compat.tokenizers.decoders import DecodeStream  # noqa: E402

Theirs = tokenizers.decoders.DecodeStream


def step(stream: Any, tokenizer: Any, ids: Any) -> Any:
    """The text, or the error."""
    try:
        return stream.step(tokenizer, ids)
    except Exception as error:
        return str(error)[:60]


def rows(theirs: Any, count: int) -> list[list[int]]:
    """Ids of texts, and at random."""
    draw = random.Random(count)
    found = [theirs.encode(text).ids for text in [*lines()[:10], *strings(count)]]
    size = theirs.get_vocab_size()
    return found + [[draw.randrange(size + 3) for _ in range(9)] for _ in range(count)]


@pytest.mark.few(3)
@pytest.mark.parametrize("kind", KINDS)
def test_streams_give_the_same(kind: str) -> None:
    ours, theirs = both(kind)
    draw = random.Random(kind)
    for ids in rows(theirs, 40):
        skip = draw.random() < 0.5
        before = draw.randrange(len(ids) + 1) if draw.random() < 0.5 else 0
        mine, other = DecodeStream(ids[:before], skip), Theirs(ids[:before], skip)
        of_theirs = DecodeStream(ids[:before], skip)
        place = before
        while place < len(ids):
            size = draw.choice((0, 0, 0, 1, 3))
            given = ids[place : place + size] if size else ids[place]
            wanted = step(other, theirs, given)
            assert step(mine, ours, given) == wanted, (ids, place)
            assert step(of_theirs, theirs, given) == wanted
            place += size or 1
            if draw.random() < 0.2:
                mine, other = copy.copy(mine), copy.copy(other)

    class Whole:
        def __index__(self) -> int:
            return 5

    for right in (Whole(), [Whole(), 6]):
        assert step(DecodeStream(), ours, right) == step(Theirs(), theirs, right)
    for wrong in ("a", "", ["a"], None, 1.5, -1, [-1], [1 << 32]):
        with pytest.raises(TypeError):
            DecodeStream().step(ours, wrong)  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            Theirs().step(theirs, wrong)


def test_a_run_of_tokens_without_text_is_not_decoded_again() -> None:
    ours, _ = both("gpt2")
    stream = DecodeStream(skip_special_tokens=True)
    end = ours.token_to_id("<|endoftext|>")
    assert end is not None
    assert stream.step(ours, [end] * 100_000) is None
    assert not stream._ids
    assert stream.step(ours, ours.encode("island").ids) == "island"


def served(tokenizer: Any, stream_of: Any, texts: list[str]) -> list[Any]:
    """The calls of vLLM's detokenizers and of its cached tokenizer, of SGLang's detokenizer and of
    grammars (xgrammar, llguidance), with their answers."""
    backend = tokenizer._tokenizer
    found: list[Any] = [backend is tokenizer.backend_tokenizer]
    added = {id_: token.content for id_, token in backend.get_added_tokens_decoder().items()}
    # vLLM keeps what it found out there.
    backend.added_token_ids = added
    found += [added, tokenizer.get_added_vocab(), sorted(tokenizer.get_vocab().items())]
    found += [len(tokenizer), tokenizer.vocab_size, tokenizer.is_fast]
    found += [tokenizer.all_special_ids, tokenizer.all_special_tokens, tokenizer.bos_token_id]
    for text in texts:
        ids = tokenizer.encode(text, add_special_tokens=True)
        found.append(ids)
        prompt = ids[: len(ids) // 2]
        for skip in (True, False):
            stream = stream_of(ids=prompt, skip_special_tokens=skip)
            found.append([step(stream, backend, id_) for id_ in ids[len(prompt) :]])
            found.append(tokenizer.convert_ids_to_tokens(ids, skip_special_tokens=skip))
            found.append(tokenizer.convert_tokens_to_string(found[-1]))
            found.append(
                tokenizer.batch_decode(
                    [ids, prompt], skip_special_tokens=skip, spaces_between_special_tokens=False
                )
            )
        found.append(tokenizer(text, add_special_tokens=False, return_attention_mask=False).data)
    document = tokenizer.backend_tokenizer.to_str()
    found.append(tokenizers.Tokenizer.from_str(document).encode(texts[0]).ids)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_what_servers_call(kind: str) -> None:
    theirs = original(kind)
    texts = ["a Widget of it 東京都", *lines()[:5], *strings(10)]
    mine = served(as_hf(theirs), DecodeStream, texts)
    assert mine == served(theirs, Theirs, texts)


def test_asynchronous_calls() -> None:
    import asyncio

    ours, theirs = both("bert")
    some = lines()[:5]

    async def asked(one: Any) -> list[Any]:
        encodings = await asyncio.gather(
            one.async_encode(some[0], some[1]), one.async_encode_batch(some)
        )
        fast = await one.async_encode_batch_fast(some, add_special_tokens=False)
        rows = [row.ids for row in [encodings[0], *encodings[1], *fast]]
        return [rows, await one.async_decode_batch(rows, skip_special_tokens=False)]

    assert asyncio.run(asked(ours)) == asyncio.run(asked(theirs))


def test_training_by_their_trainers() -> None:
    made = Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<pad>"],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator(lines()[:50], trainer, length=50)
    again = tokenizers.Tokenizer.from_str(made.to_str())
    assert made.get_vocab_size() == 400
    assert made.get_vocab() == again.get_vocab()
    assert made.encode(lines()[0]).tokens == again.encode(lines()[0]).tokens
