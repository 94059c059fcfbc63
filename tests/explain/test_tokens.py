"""Where tokens come from and where they go."""

from __future__ import annotations

import gc

import pytest

from tests.errors import raises_code
from tests.explain import models
from tokctl import TokctlError, Tokenizer
from tokctl.analysis.explain import Use, history, merge_records
from tokctl.model import Merge, Model


def test_the_tree_of_a_notebooks_token() -> None:
    found = models.toy(models.NOTEBOOK_BPE, 21).token_history("newest_")
    assert found.kind == "merged"
    assert found.data == b"newest_"
    assert found.merge is not None
    assert (found.merge.step, found.merge.count, found.merge.score) == (8, 6, None)
    assert [(depth, node.token, node.step) for depth, node in found.tree.walk()] == [
        (0, "newest_", 8),
        (1, "new", 7),
        (2, "ne", 6),
        (3, "n", None),
        (3, "e", None),
        (2, "w", None),
        (1, "est_", 3),
        (2, "est", 2),
        (3, "es", 1),
        (4, "e", None),
        (4, "s", None),
        (3, "t", None),
        (2, "_", None),
    ]
    assert [merge.step for merge in found.merges] == [1, 2, 3, 6, 7, 8]
    assert found.uses == ()


def test_where_a_token_goes() -> None:
    found = models.toy(models.NOTEBOOK_BPE, 21).token_history("e")
    assert (found.kind, found.merge, found.tree.parts) == ("alphabet", None, ())
    assert found.uses == (Use(1, "s", "left", "es"), Use(6, "n", "right", "ne"))
    both = models.model("plain").token_history("a").uses
    assert Use(next(use.step for use in both if use.result == "aa"), "a", "both", "aa") in both


def test_every_tree_spells_its_token() -> None:
    for name in models.RECIPES:
        tokenizer = models.model(name)
        mark = tokenizer.recipe.marker
        for id_, token in enumerate(tokenizer.tokens):
            found = tokenizer.token_history(id_)
            assert found.token == token
            leaves = [node.token for _, node in found.tree.walk() if not node.parts]
            if mark.kind == "continuation":
                leaves[1:] = [leaf.removeprefix(mark.text) for leaf in leaves[1:]]
            assert "".join(leaves) == token
            assert (found.kind == "merged") == (len(leaves) > 1)


def test_ids_spellings_and_texts() -> None:
    tokenizer = models.model("bytes")
    assert tokenizer.token_history(0).kind == "special"
    space = tokenizer.vocabulary["Ġ"]
    assert tokenizer.token_history(" ").id == space == tokenizer.token_history("Ġ").id
    # A number in a text is the token that is spelled so.
    assert tokenizer.token_history("7").id == tokenizer.vocabulary["7"] != 7


def test_a_tree_of_a_thousand_levels() -> None:
    word = "".join(map(chr, range(0x4E00, 0x4E00 + 1500)))
    tokenizer = Tokenizer.train({word: 1}, vocab_size=5000, recipe=models.CHARACTERS)
    found = tokenizer.token_history(word)
    assert max(depth for depth, _ in found.tree.walk()) == 1499
    assert len(found.merges) == 1499
    assert repr(found.tree).startswith("<MergeTree '一")
    del found
    gc.collect()


def test_a_history_that_goes_round_in_a_circle() -> None:
    # No training makes this, but a file can say it.
    tokens = [b"a", b"b", b"ab"]
    merges = [Merge(2, 1, 2, 1, 1, 1), Merge(0, 1, 2, 1, 1, 1)]
    tokenizer = Tokenizer(
        Model(
            models.CHARACTERS,
            [b"[UNK]", *tokens],
            [Merge(merge.left + 1, merge.right + 1, merge.token + 1, 1, 1, 1) for merge in merges],
        )
    )
    found = tokenizer.token_history("ab")
    assert [node.token for _, node in found.tree.walk()] == ["ab", "ab", "b"]
    assert [again.step for again in found.again] == [2]


@pytest.mark.parametrize(
    ("name", "token", "hint"),
    [
        ("end", "newest", "did you mean newest_? (or how the text is split: --word 'newest')"),
        ("longest-match", "##wid", "did you mean wid?"),
        ("plain", "newezt", "did you mean newest"),
        ("plain", "@", "see how the text is split: --word '@'"),
        ("bytes", "\ud800", "see how the text is split"),
    ],
)
def test_no_such_token(name: str, token: str, hint: str) -> None:
    with raises_code("unknown-name") as caught:
        models.model(name).token_history(token)
    assert caught.value.hint is not None
    assert caught.value.hint.startswith(hint)


@pytest.mark.parametrize("id_", [-1, 60])
def test_no_such_id(id_: int) -> None:
    with pytest.raises(TokctlError, match=f"there is no id {id_}"):
        models.model("plain").token_history(id_)


def test_a_stretch_of_the_history() -> None:
    tokenizer = models.toy(models.NOTEBOOK_BPE, 21)
    assert [merge.step for merge in merge_records(tokenizer, 8, 100)] == [8, 9]
    assert [merge.token for merge in merge_records(tokenizer)][:3] == ["es", "est", "est_"]
    for first in (0, 10):
        with pytest.raises(TokctlError, match=f"no step {first}"):
            merge_records(tokenizer, first)


def test_counts_that_a_file_does_not_know_give_no_score() -> None:
    tokenizer = models.toy(models.NOTEBOOK_WORDPIECE, 100)
    unknown = [merge._replace(left_count=0) for merge in tokenizer.merges]
    model = Model(tokenizer.recipe, tokenizer.model.tokens, unknown)
    assert {merge.score for merge in merge_records(Tokenizer(model))} == {None}


def test_nothing_keeps_a_tokenizer_alive() -> None:
    kept = len(history._HISTORIES)
    tokenizer = models.toy(models.NOTEBOOK_BPE, 21)
    tokenizer.token_history("e")
    assert len(history._HISTORIES) == kept + 1
    del tokenizer
    gc.collect()
    assert len(history._HISTORIES) == kept
