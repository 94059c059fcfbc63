"""The unknown token, and tokens of a template, that no list of added tokens has.

There these are ordinary tokens that have a part to play: a decoded text keeps them where special
tokens are left out, and no text is searched for them. They are the same here.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.interop.peers import auto, folder_of, texts, trained, write
from tokctl import Tokenizer


@pytest.mark.parametrize(("name", "unlisted"), [("bert", "[UNK]"), ("t5", "<unk>")])
def test_an_unknown_token_that_is_not_listed(name: str, unlisted: str, tmp_path: Path) -> None:
    config = {"tokenizer_class": "PreTrainedTokenizerFast"}
    document = folder_of(trained(name), tmp_path / "x", config)
    listed = [entry for entry in document["added_tokens"] if entry["content"] != unlisted]
    write(tmp_path / "x", "tokenizer.json", document | {"added_tokens": listed})
    theirs, ours = auto(tmp_path / "x"), Tokenizer.load(tmp_path / "x")
    id_ = theirs.convert_tokens_to_ids(unlisted)
    kept = 0
    for text in texts():
        ids = theirs.encode(text)
        assert ours.encode(text, special="all", add_special=True).ids == ids, text
        assert ours.decode(ids) == theirs.decode(ids), text
        without = theirs.decode(ids, skip_special_tokens=True)
        assert ours.decode(ids, skip_special=True) == without, text
        if id_ in ids:
            kept += 1
            assert unlisted in without
    assert kept
    text = f"a {unlisted} b"
    plain = theirs.encode(text, add_special_tokens=False)
    assert ours.encode_ids(text, special="none") == plain
    assert ours.encode_ids(text, special="all") == plain
