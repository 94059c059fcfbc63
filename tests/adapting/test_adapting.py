"""Tokens that go, tokens that are learned, and what becomes of the ids."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import part_of_examples, shared_file
from tests.errors import raises_code
from tests.exact.training_options import MARKERS, recipe, tied_words
from tests.explain.health.sick import byte_level_model
from tests.twins import adapt as twin
from tokctl import Adaptation, TokctlError, Tokenizer, adapt
from tokctl.formats import merging
from tokctl.model import Merge, Model
from tokctl.model.parts import AddedToken
from tokctl.model.presets import BPE, CHAR, UNIGRAM, WORD, WORDPIECE, preset
from tokctl.sources import Document, Source
from tokctl.training import TrainOptions, train_on_counts
from tokctl.training.resizing import ids_by_use, keep_only

WORDS = st.dictionaries(
    st.text(alphabet="abcd", min_size=1, max_size=7), st.integers(1, 4), min_size=2, max_size=9
)


def source(text: str | bytes, name: str = "text") -> Source:
    data = text.encode() if isinstance(text, str) else text
    return Document(name, len(data), lambda: iter([data]))


def trained(words: dict[str, int], size: int = 300, **more: object) -> Model:
    counts = {word.encode(): count for word, count in words.items()}
    return train_on_counts(counts, replace(BPE, **more), TrainOptions(vocab_size=size))


def names(found: Adaptation) -> dict[str, tuple[int | None, int | None]]:
    """The map by token."""
    rows = [json.loads(line) for line in found.map_lines()]
    assert len({row["token"] for row in rows}) == len(rows)
    return {row["token"]: (row["old"], row["new"]) for row in rows}


def check_ids(found: Adaptation) -> None:
    """Every id has one meaning, and tokens are the same bytes before and after."""
    before, after = found.before.model, found.tokenizer.model
    known = [new for new in found.ids if new is not None]
    assert len(set(known)) == len(known)
    assert sorted([*known, *found.new, *found.holes]) == list(range(after.size))
    for old, new in enumerate(found.ids):
        if new is not None:
            assert before.tokens[old] == after.tokens[new]
    gone = {before.tokens[old] for old in found.removed}
    assert not gone & set(after.tokens)


def check_merges(model: Model) -> None:
    """No merge lacks a part, and every token that is merged has a merge."""
    symbols = set(model.reserved_ids)
    symbols |= {i for i, t in enumerate(model.tokens) if model.recipe.is_initial_symbol(t)}
    for merge in model.merges:
        assert {merge.left, merge.right} <= symbols
        symbols.add(merge.token)
    assert symbols == set(range(model.size))


# -- pruning ------------------------------------------------------------------------------------


@given(words=WORDS, text=st.text(alphabet="abcd ", max_size=40), share=st.floats(0, 1))
def test_what_stays_equals_the_twin(words: dict[str, int], text: str, share: float) -> None:
    model = trained(words, special_tokens=("<|x|>",))
    uses = Counter(Tokenizer(model).encode_ids(text))
    size = 257 + int(share * (model.size - 257))
    parts = {merge.token: (merge.left, merge.right) for merge in model.merges}
    pairs = [merge[:3] for merge in model.merges]
    stays = range(257)
    expected = twin.kept(model.size, size, uses, parts, stays)
    assert ids_by_use(model, uses, pairs, size=size) == expected
    found = adapt(Tokenizer(model), prune=size, texts=source(text))
    after = found.tokenizer.model
    assert after.size == size
    check_ids(found)
    check_merges(after)


@pytest.mark.few(2)
@pytest.mark.parametrize("marker", MARKERS)
@given(words=tied_words, share=st.floats(0, 1))
@part_of_examples(3)
def test_no_merge_ever_lacks_a_part(marker: str, words: dict[str, int], share: float) -> None:
    model = train_on_counts(words, recipe(marker), TrainOptions(vocab_size=40))
    made = {merge.token for merge in model.merges}
    least = model.size - len(made)
    text = " ".join(word for word, count in words.items() for _ in range(count))
    found = adapt(Tokenizer(model), prune=least + int(share * len(made)), texts=source(text))
    check_ids(found)
    check_merges(found.tokenizer.model)


@given(words=WORDS, text=st.text(alphabet="abcd ", min_size=1, max_size=60))
def test_a_text_that_uses_nothing_that_goes_keeps_its_ids(words: dict[str, int], text: str) -> None:
    model = trained(words)
    tokenizer = Tokenizer(model)
    used = set(tokenizer.encode_ids(text))
    parts = {merge.token: merge[:2] for merge in model.merges}
    waiting = list(used)
    while waiting:
        for part in parts.get(waiting.pop(), ()):
            if part not in used:
                used.add(part)
                waiting.append(part)
    least = len(used | set(range(256)))
    for keep_ids in (False, True):
        found = adapt(tokenizer, prune=least, texts=source(text), keep_ids=keep_ids)
        assert found.uses == (0, len(tokenizer.encode_ids(text)))
        ids = [found.ids[id_] for id_ in tokenizer.encode_ids(text)]
        assert found.tokenizer.encode_ids(text) == ids
        moved = found.moved(source(text))
        assert moved.same == moved.tokens


def test_the_least_used_leaf_goes_and_its_uses_go_to_its_parts() -> None:
    tokenizer = byte_level_model(["ab", "abc", "cd", "xy"])
    ids = {token: tokenizer.token_to_id(token) for token in ("ab", "abc", "cd", "xy")}
    text = source("abc abc ab cd cd cd cd")
    order = []
    for size in range(259, 255, -1):
        found = adapt(tokenizer, prune=size, texts=text)
        order.append([name for name, id_ in ids.items() if found.ids[id_] is None])  # type: ignore[index]
    # xy is not used; abc is used least; ab has its own use and those of abc, and cd has four.
    assert order == [["xy"], ["abc", "xy"], ["ab", "abc", "xy"], ["ab", "abc", "cd", "xy"]]


@given(words=WORDS, text=st.text(alphabet="abcd ", max_size=40), least=st.integers(1, 5))
def test_what_is_used_less_goes(words: dict[str, int], text: str, least: int) -> None:
    tokenizer = Tokenizer(trained(words))
    found = adapt(tokenizer, min_uses=least, texts=source(text))
    size = found.tokenizer.vocab_size
    # It is what pruning to that size leaves, and the next leaf to go is used often enough.
    assert found.ids == adapt(tokenizer, prune=size, texts=source(text)).ids
    if size > 256:
        smaller = adapt(tokenizer, prune=size - 1, texts=source(text))
        (gone,) = set(smaller.removed) - set(found.removed)
        uses = Counter(found.tokenizer.encode_ids(text))
        assert uses[found.ids[gone]] >= least or found.uses != (0, uses.total())
    if least == 1:
        assert found.uses == (0, len(tokenizer.encode_ids(text)))


def test_of_equally_used_tokens_the_last_goes_first() -> None:
    tokenizer = byte_level_model(["ab", "cd", "xy"])
    found = adapt(tokenizer, prune=258, texts=source("ab cd xy"))
    assert found.removed == [tokenizer.token_to_id("xy")]


def test_several_merges_of_one_token() -> None:
    # As in files that Hugging Face's library made of SentencePiece's: abc is made in two ways.
    tokens = [bytes([byte]) for byte in range(256)] + [b"ab", b"bc", b"abc"]
    merges = [Merge(97, 98, 256, 0, 0, 0), Merge(98, 99, 257, 0, 0, 0)]
    merges += [Merge(256, 99, 258, 0, 0, 0), Merge(97, 257, 258, 0, 0, 0)]
    model = Model(replace(BPE, segmentation="merges"), tokens, merges)
    found = adapt(Tokenizer(model), prune=258, texts=source("abc abc bc"))
    # Only ab and c make abc: bc can go, and its merge with it, and no other merge lacks a part.
    assert found.tokenizer.encode("abc").tokens == ["abc"]
    replayed = replace(model, recipe=replace(BPE, segmentation="replay"))
    assert adapt(Tokenizer(replayed), prune=258, texts=source("bc bc bc")).removed == [258]


def test_word_piece_without_merges_loses_any_token_but_the_alphabet() -> None:
    tokens = ["[UNK]", "a", "b", "##a", "##b", "ab", "abab", "##ab"]
    bert = replace(WORDPIECE, unk_token="[UNK]", special_tokens=("[UNK]",))
    model = Model(bert, [token.encode() for token in tokens])
    found = adapt(Tokenizer(model), prune=6, texts=source("abab abab aab"))
    assert found.tokenizer.tokens == ["[UNK]", "a", "b", "##a", "##b", "abab"]
    with raises_code("bad-value", r"4 ids are too few.*are 5") as caught:
        adapt(Tokenizer(model), prune=4, texts=source("ab"))
    assert caught.value.hint == "ask for 5 or more"


def test_unigram_keeps_characters_and_what_is_reserved() -> None:
    tokens = ["<unk>", "ab", "a", "abc", "b", "bc", "c", "ca"]
    scores = [0.0, -3.0, -9.0, -2.0, -8.0, -3.0, -7.0, -4.0]
    model = Model(UNIGRAM, [token.encode() for token in tokens], scores=scores)
    tokenizer = Tokenizer(model)
    found = adapt(tokenizer, prune=5, texts=source("ca ca abc"))
    assert found.tokenizer.tokens == ["<unk>", "a", "b", "c", "ca"]
    assert found.tokenizer.model.scores == [0.0, -9.0, -8.0, -7.0, -4.0]
    with raises_code("unsupported"):
        adapt(tokenizer, vocab_size=20, texts=source("ca"))


def test_words_and_characters_are_pruned_by_use() -> None:
    for made in (WORD, CHAR):
        model = train_on_counts({"to": 9, "be": 8, "or": 7}, made, TrainOptions(vocab_size=20))
        found = adapt(Tokenizer(model), prune=2, texts=source("or or or"))
        assert found.tokenizer.tokens[-1] in ("or", "o", "r") and found.tokenizer.vocab_size == 2


def test_added_tokens_stay_and_so_does_what_they_are_made_of() -> None:
    tokenizer = byte_level_model(
        ["ab", "abc"], added=[AddedToken("<x>", 0), AddedToken("<y>", 0, False)]
    )
    found = adapt(tokenizer, prune=258, texts=source("<y>z"))
    assert found.tokenizer.tokens[-2:] == ["<x>", "<y>"]
    assert found.tokenizer.encode("<y>z").tokens == ["<y>", "z"]


def test_a_model_of_ranks_keeps_its_ranks_in_order() -> None:
    model = trained({"abcd": 5, "bcd": 3, "cdcd": 2, "dab": 1})
    ranked = Tokenizer(merging.with_ranks(model, scored=False))
    text = "abcd bcd cdcd dab abab"
    found = adapt(ranked, prune=258, texts=source("cdcd cd"))
    assert found.tokenizer.recipe.has_ranks
    expected = Tokenizer(
        keep_only(model, [i for i, new in enumerate(found.ids) if new is not None])
    )
    assert found.tokenizer.encode_ids(text) == expected.encode_ids(text)
    more = adapt(ranked, vocab_size=ranked.vocab_size + 2, texts=source("zyzy\n" * 9))
    assert more.tokenizer.recipe.has_ranks and more.tokenizer.tokens[-2:] == ["zy", "zyzy"]
    kept = adapt(
        ranked, prune=258, texts=source("ab"), keep_ids=True, vocab_size=259, new_texts=source("zy")
    )
    # Ids are ranks: the new token does not get a freed one.
    assert kept.new == [ranked.vocab_size] and kept.tokenizer.recipe.has_ranks
    assert kept.tokenizer.losses("tiktoken") == [] or all(
        loss.minor for loss in kept.tokenizer.losses("tiktoken")
    )


# -- learning, ids, the map -----------------------------------------------------------------------


@given(words=WORDS, new=WORDS, share=st.floats(0, 1), keep_ids=st.booleans())
@part_of_examples(2)
def test_ids_after_pruning_and_learning(
    words: dict[str, int], new: dict[str, int], share: float, keep_ids: bool
) -> None:
    tokenizer = Tokenizer(trained(words, 290))
    size = 256 + int(share * (tokenizer.vocab_size - 256))
    text = " ".join(new)
    found = adapt(
        tokenizer,
        prune=size,
        texts=source(" ".join(words)),
        vocab_size=size + 5,
        new_texts=source(text),
        special_tokens=["<|new|>"],
        keep_ids=keep_ids,
    )
    check_ids(found)
    after = found.tokenizer.model
    if keep_ids:
        kept = [old for old, id_ in enumerate(found.ids) if id_ is not None]
        assert all(found.ids[old] == old for old in kept)
        assert [after.special_ids[f"<|unused_{hole}|>"] for hole in found.holes] == list(
            found.holes
        )
        free = sorted(set(range(after.size)) - set(kept))
        assert found.new == free[: len(found.new)]  # from the lowest on
        # Compact, it is the same model.
        compact = adapt(
            tokenizer,
            prune=size,
            texts=source(" ".join(words)),
            vocab_size=size + 5,
            new_texts=source(text),
            special_tokens=["<|new|>"],
        )
        one, two = found.tokenizer.encode(text), compact.tokenizer.encode(text)
        assert one.tokens == two.tokens
    else:
        assert not found.holes
        assert [old for old, id_ in enumerate(found.ids) if id_ == old][:256] == list(range(256))


def test_a_token_that_is_learned_again_is_the_same() -> None:
    tokenizer = byte_level_model(["ab", "cd", "xy"])
    how = {
        "prune": 257,
        "texts": source("ab"),
        "vocab_size": 259,
        "new_texts": source("xy\nxy\nxy\nzw\nzw"),
    }
    xy = tokenizer.token_to_id("xy")
    assert xy is not None
    compact = adapt(tokenizer, **how)  # type: ignore[arg-type]
    assert compact.restored == (xy,) and compact.ids[xy] == 257
    assert names(compact)["zw"] == (None, 258) and names(compact)["cd"] == (xy - 1, None)
    kept = adapt(tokenizer, keep_ids=True, **how)  # type: ignore[arg-type]
    assert kept.ids[xy] == xy and kept.new == [xy - 1] and not kept.holes


def test_holes_are_filled_and_emptied() -> None:
    tokenizer = byte_level_model(["ab", "cd", "xy"])
    first = adapt(tokenizer, prune=257, texts=source("xy"), keep_ids=True)
    assert first.holes == (256, 257) and first.tokenizer.vocab_size == 259
    assert list(first.tokenizer.special_ids) == ["<|unused_256|>", "<|unused_257|>"]
    # A hole is a hole again, and with new tokens it is used.
    again = adapt(first.tokenizer, prune=257, texts=source("xy"), keep_ids=True)
    assert again.ids == tuple(range(259)) and not again.holes and not again.removed
    more = adapt(first.tokenizer, vocab_size=258, texts=source("pq pq"), keep_ids=True)
    assert more.tokenizer.token_to_id("pq") == 256 and more.ids[257] == 257
    assert more.removed == [] and more.ids[256] is None
    compact = adapt(first.tokenizer, prune=257, texts=source("xy"))
    assert compact.tokenizer.vocab_size == 257 and not compact.tokenizer.special_ids
    # Without either, nothing is numbered anew.
    plain = adapt(first.tokenizer, special_tokens=["<s>"])
    assert plain.ids == tuple(range(259)) and plain.new == [259]


def test_added_tokens() -> None:
    tokenizer = byte_level_model(["ab"])
    found = adapt(tokenizer, special_tokens=["<s>", "<s>"], added_tokens=["abba"])
    assert found.tokenizer.tokens[-2:] == ["<s>", "abba"] and found.new == [257, 258]
    assert found.tokenizer.encode("ababba<s>").tokens == ["ab", "abba", "<", "s", ">"]
    assert found.tokenizer.encode("<s>", special="all").tokens == ["<s>"]
    again = adapt(found.tokenizer, special_tokens=["<s>"], vocab_size=260, texts=source("zyzy"))
    assert again.ids == tuple(range(259)) and again.tokenizer.tokens[-1] == "zy"


def test_the_map_is_ordered(tmp_path: Path) -> None:
    tokenizer = byte_level_model(["ab", "cd"])
    found = adapt(tokenizer, prune=257, texts=source("cd"), special_tokens=["<s>"])
    found.save_map(tmp_path / "map.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "map.jsonl").read_bytes().splitlines()]
    assert [row["old"] for row in rows] == [*range(258), None]
    assert rows[256:] == [
        {"old": 256, "new": None, "token": "ab"},
        {"old": 257, "new": 256, "token": "cd"},
        {"old": None, "new": 257, "token": "<s>"},
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "no change is requested"),
        ({"prune": 257}, "texts are needed"),
        ({"vocab_size": 300}, "no texts to learn"),
        ({"prune": 255, "texts": source("a")}, "too few"),
        ({"prune": 999, "texts": source("a")}, "can't be pruned to 999"),
        ({"vocab_size": 258, "texts": source("a")}, "leave nothing to learn: 258 stay"),
        (
            {"vocab_size": 259, "texts": source("a"), "special_tokens": ["<s>"]},
            "leave nothing to learn: 258 stay and 1 that are added",
        ),
        ({"special_tokens": ["ab"]}, "spelled like a token"),
        ({"added_tokens": ["cd"]}, "new added token 'cd' is spelled like"),
        ({"added_tokens": [""]}, "one of the added tokens is empty"),
        ({"special_tokens": ["<s>"], "added_tokens": ["<s>"]}, "can't be both a special token and"),
        ({"special_tokens": "<s>"}, "invalid value '<s>'"),
        ({"prun": 3}, "prune"),
        ({"min_uses": 0, "texts": source("a")}, "invalid value 0 for min_uses"),
        ({"min_uses": 2, "prune": 257, "texts": source("a")}, "each says which tokens are removed"),
        ({"min_uses": 2}, "texts are needed"),
        ({"min_uses": 1, "texts": source("ab cd"), "vocab_size": 258}, "leave nothing to learn"),
    ],
)
def test_what_can_not_be(options: dict[str, object], message: str) -> None:
    tokenizer = byte_level_model(["ab", "cd"])
    with pytest.raises((TokctlError, TypeError), match=message):
        adapt(tokenizer, **options)  # type: ignore[arg-type]


def test_other_models_can_not_be_extended() -> None:
    tokens = ["[UNK]", "a", "##a", "aa"]
    bert = replace(WORDPIECE, unk_token="[UNK]", special_tokens=("[UNK]",))
    model = Model(bert, [token.encode() for token in tokens])
    with raises_code("unsupported"):
        adapt(Tokenizer(model), vocab_size=9, texts=source("aaa"))
    with raises_code("bad-value"):
        adapt(model, prune=3, texts=source("a"))  # type: ignore[arg-type]


# -- what moved -----------------------------------------------------------------------------------


def test_a_kept_token_beside_one_that_went() -> None:
    # Without ab, b and c merge, and c is no more.
    tokenizer = byte_level_model(["ab", "bc"])
    found = adapt(tokenizer, prune=257, texts=source("bc"))
    moved = found.moved([source("bc\nxabc abc\n", "a.txt")])
    assert (moved.lines, moved.tokens, moved.same, moved.gone, moved.moved) == (2, 7, 3, 2, 2)
    first = moved.examples[0]
    assert (str(first), first.token) == ("a.txt, line 2, column 4", "c")
    assert (first.before, first.after) == (("ab", "c"), ("a", "bc"))


@given(words=WORDS, text=st.text(alphabet="abcdé \n", max_size=60), share=st.floats(0, 1))
@part_of_examples(2)
def test_what_became_of_each_token(words: dict[str, int], text: str, share: float) -> None:
    tokenizer = Tokenizer(trained(words, 290))
    size = 256 + int(share * (tokenizer.vocab_size - 256))
    found = adapt(
        tokenizer,
        prune=size,
        texts=source(" ".join(words)),
        vocab_size=size + 4,
        new_texts=source("abab dcdc dcba"),
    )
    moved = found.moved(source(text))
    lines = text.split("\n")
    lines = lines if lines[-1] else lines[:-1]
    rows = [tokenizer.encode_ids(line) for line in lines]
    assert moved.tokens == sum(map(len, rows))
    assert moved.tokens == moved.same + moved.gone + moved.covered + moved.moved
    assert moved.gone == sum(found.ids[id_] is None for row in rows for id_ in row)
    same = sum(
        len(row)
        for row, line in zip(rows, lines, strict=True)
        if [found.ids[id_] for id_ in row] == found.tokenizer.encode_ids(line)
    )
    assert moved.same >= same


def test_learning_alone_moves_nothing() -> None:
    tokenizer = byte_level_model(["ab", "bc"])
    found = adapt(tokenizer, vocab_size=262, texts=source("abcd abcd cdcd"))
    moved = found.moved(source("abcdcd\ndcba\n"))
    assert moved.moved == moved.gone == 0 and moved.covered


def test_a_line_with_a_character_without_a_token() -> None:
    made = replace(recipe("none"), unk_token=None)
    tokenizer = Tokenizer(train_on_counts({"ab": 2, "cd": 2}, made, TrainOptions(vocab_size=8)))
    found = adapt(tokenizer, special_tokens=["<s>"])
    moved = found.moved(source("ab\nxy\ncd"))
    assert (moved.lines, moved.left_out, moved.same) == (3, 1, moved.tokens)


def test_published_models(tmp_path: Path) -> None:
    """GPT-2's, with what stays and what is learned, in the library that defines its format."""
    import tokenizers

    gpt2 = Tokenizer.load(shared_file("vocab/gpt2.tokenizer.json"))
    text = shared_file("corpora/treasure-island.txt")
    code = shared_file("corpora/code.txt").read_bytes()[:200_000]
    found = adapt(gpt2, prune=11_000, texts=text, vocab_size=11_500, new_texts=source(code))
    check_ids(found)
    check_merges(found.tokenizer.model)
    assert found.moved(text).moved == 0 and found.uses and found.uses[0] == 0
    found.tokenizer.save(tmp_path / "new.json", "huggingface")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "new.json"))
    lines = code.decode("utf-8", "replace").split("\n")
    ours = found.tokenizer.encode_ids(lines)
    assert ours == [one.ids for one in theirs.encode_batch(lines, add_special_tokens=False)]


def test_sentencepiece_and_tiktoken_write_what_is_left(tmp_path: Path) -> None:
    unigram = Tokenizer.load(shared_file("vocab/sentencepiece-unigram-en.model"))
    text = shared_file("corpora/treasure-island.txt")
    found = adapt(unigram, prune=800, texts=text)
    found.tokenizer.save(tmp_path / "new.model", "sentencepiece")
    import sentencepiece

    theirs = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "new.model"))
    lines = text.read_text(encoding="utf-8").split("\n")[:2000]
    assert found.tokenizer.encode_ids(lines) == theirs.encode(lines)
    # With its ids kept, it has holes, which this format can hold as special tokens.
    kept = adapt(unigram, prune=800, texts=text, keep_ids=True)
    assert len(kept.holes) == 200
    assert [loss for loss in kept.tokenizer.losses("sentencepiece") if not loss.minor] == []


@pytest.mark.parametrize("byte_fallback", [False, True])
def test_sentencepiece_bpe_learns_more(tmp_path: Path, sample: str, byte_fallback: bool) -> None:
    """What is learned is written back as a model that SentencePiece reads, with the same ids."""
    import io

    import sentencepiece

    data = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sample.split("\n")),
        model_writer=data,
        vocab_size=600,
        model_type="bpe",
        byte_fallback=byte_fallback,
        user_defined_symbols=["<sep>"],
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        minloglevel=2,
        num_threads=1,
    )
    (tmp_path / "old.model").write_bytes(data.getvalue())
    code = "if (x) { return x; }\nfor (y) { return y; }\n" * 9
    for keep_ids in (False, True):
        found = adapt(
            Tokenizer.load(tmp_path / "old.model"),
            prune=500,
            texts=source(sample),
            vocab_size=540,
            new_texts=source(code),
            keep_ids=keep_ids,
        )
        check_ids(found)
        # No token goes on over a space or a line feed, though a text is one pre-token.
        new = [found.tokenizer.tokens[id_] for id_ in found.new]
        assert "▁return" in new and not [
            token for token in new if "▁" in token[1:] or "\n" in token
        ]
        found.tokenizer.save(tmp_path / "new.model", "sentencepiece")
        theirs = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "new.model"))
        lines = [*sample.split("\n"), code, "naïve 東京 <sep>x"]
        assert found.tokenizer.encode_ids(lines) == theirs.encode(lines)


def test_the_preset_of_gpt2_has_no_holes_to_begin_with() -> None:
    model = train_on_counts({b"ab": 3}, preset("gpt2"), TrainOptions(vocab_size=258))
    found = adapt(Tokenizer(model), prune=257, texts=source("x"), keep_ids=True)
    assert found.holes == () and found.tokenizer.vocab_size == 257
