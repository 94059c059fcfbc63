"""The unknown token, and tokens of a template, that no list of added tokens has.

There these are ordinary tokens that have a part to play; here they are special tokens. That
shows where special tokens are left out of a decoded text, or are matched in a text: both are
pinned here, and nothing else differs.
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
    dropped = 0
    for text in texts():
        if unlisted in text:
            continue
        ids = theirs.encode(text)
        assert ours.encode(text, special="all", add_special=True).ids == ids, text
        assert ours.decode(ids) == theirs.decode(ids), text
        kept = theirs.decode(ids, skip_special_tokens=True)
        if id_ in ids:
            # There it stays; here it goes as any special token does.
            dropped += 1
            assert unlisted in kept
            without = [one for one in ids if one != id_]
            assert ours.decode(ids, skip_special=True) == theirs.decode(
                without, skip_special_tokens=True
            )
        else:
            assert ours.decode(ids, skip_special=True) == kept, text
    assert dropped
    # In a text it is found as a special token, where these are allowed; there it never is. (Where
    # the model itself makes it of text, as Unigram may, tokctl's does not.)
    if name == "bert":
        text = f"a {unlisted} b"
        plain = theirs.encode(text, add_special_tokens=False)
        assert ours.encode_ids(text, special="none") == plain
        assert ours.encode_ids(text, special="all") != plain
