"""Added tokens beside `tokenizers`: ids in files that are wrong, tokens that are added again."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.errors import raises_code

tokenizers = pytest.importorskip("tokenizers")

from tests.exact.strings import EXAMPLES  # noqa: E402
from tokctl import Tokenizer as OurTokenizer  # noqa: E402
from tokctl.extras.compat.tokenizers import AddedToken, Tokenizer  # noqa: E402
from tokctl.extras.compat.tokenizers.decoders import DecodeStream  # noqa: E402

FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")
VOCABULARY = {
    token: id_ for id_, token in enumerate(["<unk>", "a", "b", "c", "A", "B", "ab", "<pad>", "Ab"])
}
MODELS: dict[str, dict[str, Any]] = {
    "WordLevel": {"vocab": VOCABULARY, "unk_token": "<unk>"},
    "BPE": {"vocab": VOCABULARY, "merges": [["a", "b"]], "unk_token": "<unk>"},
    "Unigram": {"vocab": [[token, -1.0 - id_] for token, id_ in VOCABULARY.items()], "unk_id": 0},
}
TEXTS = ("a <x> <pad> ab", "<x>y<Z>foo fooa", "Ab a <z> <UNK> AB", " <y>  <x> <unk> zz")


def entry(content: str, id_: int = 0, *flags: str) -> dict[str, Any]:
    """An added token of a document, with these flags."""
    return {"id": id_, "content": content, **{name: name in flags for name in FLAGS}}


def document(
    added: list[dict[str, Any]], kind: str = "WordLevel", model: Any = None, **parts: Any
) -> str:
    """A document with these added tokens."""
    names = ("truncation", "padding", "normalizer", "post_processor", "decoder")
    rest = {**dict.fromkeys(names), "pre_tokenizer": {"type": "WhitespaceSplit"}, **parts}
    model = {"type": kind, **(model or MODELS[kind])}
    return json.dumps({"version": "1.0", "added_tokens": added, **rest, "model": model})


def both(text: str) -> tuple[Tokenizer, Any]:
    return Tokenizer.from_str(text), tokenizers.Tokenizer.from_str(text)


def state(tokenizer: Any) -> dict[Any, Any]:
    """What depends on the ids of added tokens."""
    found: dict[Any, Any] = {}
    for text in TEXTS:
        for as_text in (False, True):
            tokenizer.encode_special_tokens = as_text
            one = tokenizer.encode(text)
            found["encode", text, as_text] = one.ids, one.tokens, one.offsets
            batch = tokenizer.encode_batch([text, text + " a a"])
            found["padded", text, as_text] = [(row.ids, row.tokens) for row in batch]
    tokenizer.encode_special_tokens = False
    for id_ in range(25):
        for skip in (True, False):
            found["decode", id_, skip] = tokenizer.decode([1, id_, 2], skip_special_tokens=skip)
        found["id_to_token", id_] = tokenizer.id_to_token(id_)
    vocabulary = found["vocabulary"] = tokenizer.get_vocab()
    for token in (*vocabulary, "<z>", "new"):
        found["token_to_id", token] = tokenizer.token_to_id(token)
    found["sizes"] = tokenizer.get_vocab_size(), tokenizer.get_vocab_size(False)
    decoder = tokenizer.get_added_tokens_decoder()
    found["decoder"] = {id_: repr(token) for id_, token in decoder.items()}
    found["document"] = json.loads(tokenizer.to_str())["added_tokens"]
    return found


def assert_equal(ours: Tokenizer, theirs: Any, what: object) -> None:
    here, there = state(ours), state(theirs)
    for name, wanted in there.items():
        assert here[name] == wanted, (what, name)


def generated(draw: random.Random) -> str:
    """A document whose added tokens have random ids and flags; some are listed twice."""
    contents = ("<x>", "<y>", "<Z>", "<pad>", "a", "Ab", "foo", "<unk>", "<x>y")
    added = [
        entry(
            draw.choice(contents),
            draw.randrange(20),
            *(name for name in FLAGS if draw.random() < 0.3),
        )
        for _ in range(draw.randrange(7))
    ]
    padding = {
        "strategy": "BatchLongest", "direction": "Right", "pad_to_multiple_of": None,
        "pad_id": draw.randrange(9), "pad_type_id": 0, "pad_token": "<pad>",
    }  # fmt: skip
    return document(
        added,
        draw.choice([*MODELS]),
        normalizer=draw.choice([None, {"type": "Lowercase"}]),
        padding=draw.choice([None, padding]),
    )


@pytest.mark.few(10)
@pytest.mark.parametrize("seed", range(max(EXAMPLES // 10, 40)))
def test_ids_and_flags(seed: int) -> None:
    draw = random.Random(seed)
    text = generated(draw)
    ours, theirs = both(text)
    assert_equal(ours, theirs, text)
    normalized = {row["content"] for row in json.loads(text)["added_tokens"] if row["normalized"]}
    for _ in range(3):
        given: list[tuple[str, dict[str, bool]]] = []
        for _ in range(draw.randrange(1, 4)):
            content = draw.choice(("<x>", "<y>", "<Z>", "<pad>", "new", "q", "a", "<unk>"))
            flags = {name: draw.random() < 0.3 for name in FLAGS}
            # Their `id_to_token` keeps the old name (docs/drop-in.md).
            flags["normalized"] |= content in normalized
            normalized |= {content} if flags["normalized"] else set()
            given.append((content, flags))
        call = draw.choice(("add_tokens", "add_special_tokens"))
        counts = [
            getattr(one, call)([kind(content, **flags) for content, flags in given])
            for one, kind in ((ours, AddedToken), (theirs, tokenizers.AddedToken))
        ]
        assert counts[0] == counts[1]
        assert_equal(ours, theirs, (text, call, given))
    assert_equal(Tokenizer.from_str(theirs.to_str()), type(theirs).from_str(theirs.to_str()), text)


def test_ids_that_a_file_lists() -> None:
    """The library gives an id to each added token, whatever the file says."""
    model = {"vocab": {"a": 0, "b": 1, "<unk>": 2, "<pad>": 3}, "unk_token": "<unk>"}
    added = [entry("<x>", 9, "normalized"), entry("<pad>", 0, "special")]
    text = document(added, model=model)
    for one in both(text):
        ids = one.encode("a <x> <pad>").ids
        assert ids == [0, 4, 3]
        assert one.decode(ids, skip_special_tokens=False) == "a <x> <pad>"
        assert one.decode(ids) == "a <x>"
        assert [one.token_to_id("<x>"), one.token_to_id("<pad>")] == [4, 3]
        assert [one.id_to_token(id_) for id_ in (4, 0, 9)] == ["<x>", "a", None]
        assert sorted(one.get_added_tokens_decoder()) == [3, 4]
        assert [row["id"] for row in json.loads(one.to_str())["added_tokens"]] == [3, 4]
        assert one.add_tokens(["<y>"]) == 1
        assert one.token_to_id("<y>") == 5


def test_ids_that_a_file_lists_in_tokctl(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(document([entry("<x>", 3), entry("<pad>", 0, "special"), entry("<y>", 3)]))
    made = OurTokenizer.load(path)
    ids = made.encode_ids("a <x> <pad> <y>", special="all")
    theirs = tokenizers.Tokenizer.from_file(str(path))
    assert ids == theirs.encode("a <x> <pad> <y>").ids
    assert made.decode(ids) == theirs.decode(ids, skip_special_tokens=False)
    assert [made.id_to_token(id_) for id_ in ids] == [theirs.id_to_token(id_) for id_ in ids]
    # The model file of tokctl, and that of the library, keep these ids.
    for number, kind in enumerate(("tokctl", "huggingface")):
        other = tmp_path / f"{number}.json"
        made.save(other, kind)
        assert OurTokenizer.load(other).encode_ids("a <x> <pad> <y>", special="all") == ids
        assert tokenizers.Tokenizer.from_file(str(other)).encode("a <x> <pad> <y>").ids == ids


def test_a_special_token_stays_special() -> None:
    for one in both(document([entry("<x>", 9, "special"), entry("<y>")])):
        assert one.add_tokens(["<x>"]) == 1
        ids = one.encode("a <x> <y>").ids
        assert one.decode(ids) == "a <y>"
        assert not one.get_added_tokens_decoder()[9].special
        one.encode_special_tokens = True
        assert one.encode("<x>").ids == [0]
    ours, _ = both(document([entry("<x>", 9, "special"), entry("<y>")]))
    ours.add_tokens(["<x>"])
    ids = ours.encode("a <x> <y>").ids
    stream = DecodeStream(skip_special_tokens=True)
    assert [stream.step(ours, id_) for id_ in ids] == ["a", None, " <y>"]


def test_a_token_that_is_listed_twice(tmp_path: Path) -> None:
    """The last entry counts; special is what one of them calls so."""
    rows = [entry("<x>", 9, "special"), entry("<y>", 3), entry("<x>", 8, "lstrip")]
    text = document([*rows, entry("<y>", 5, "normalized")])
    ours, theirs = both(text)
    assert_equal(ours, theirs, text)
    assert ours.encode("a  <x> <y>").tokens == ["a", "  <x>", "<y>"]
    path = tmp_path / "tokenizer.json"
    path.write_text(text)
    made = OurTokenizer.load(path)
    assert made.encode_ids("a  <x> <y>", special="all") == theirs.encode("a  <x> <y>").ids
    assert made.decode([9, 10], skip_special=True) == theirs.decode([9, 10])


def test_a_vocabulary_with_gaps() -> None:
    """The next id there depends on what was loaded before: the file would lose the id."""
    model = {"vocab": {"a": 0, "b": 5, "<unk>": 2, "<pad>": 9}, "unk_token": "<unk>"}
    ours, theirs = both(document([entry("<pad>"), entry("<y>")], model=model))
    for text in ("a <pad> b <y>", "<y>"):
        assert ours.encode(text).ids == theirs.encode(text).ids
    with raises_code("unsupported", "gives the id 10"):
        ours.add_tokens(["new"])
    assert theirs.add_tokens(["new"]) == 1
    assert theirs.token_to_id("new") == 10
    assert type(theirs).from_str(theirs.to_str()).token_to_id("new") != 10


def test_an_unknown_word_beside_a_single_word() -> None:
    """Unigram calls an unknown word by its text, and each word by its own."""
    for flags in (("single_word",), ("single_word", "special"), ("special",)):
        text = document([entry("a", 1, *flags), entry("foo", 9, *flags)], "Unigram")
        ours, theirs = both(text)
        for as_text in (False, True):
            ours.encode_special_tokens = theirs.encode_special_tokens = as_text
            for given in ("zz fooa qqa foo xfoo", "fooa a zza"):
                assert ours.encode(given).tokens == theirs.encode(given).tokens


def test_a_token_inside_a_special_one() -> None:
    """What spells a special token that is not looked for stays text as a whole."""
    vocabulary = {
        token: id_ for id_, token in enumerate(["<x_se>", "<", ">", "x", "_", "s", "e", "se"])
    }
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    text = document(
        [entry("<x_se>", 0, "special"), entry("_se", 8)],
        "BPE",
        {"vocab": vocabulary, "merges": [["s", "e"]]},
        pre_tokenizer={**byte_level, "use_regex": True},
        decoder={**byte_level, "use_regex": True},
    )
    ours, theirs = both(text)
    for one in (ours, theirs):
        assert one.encode("<x_se>_se").ids == [0, 8]
        one.encode_special_tokens = True
        assert one.encode("<x_se>").ids == [1, 3, 4, 7, 2]
        assert one.encode("_se<x_se>x_se").ids == [8, 1, 3, 4, 7, 2, 3, 8]
    draw = random.Random(0)
    for _ in range(200):
        some = "".join(draw.choice(("<x_se>", "_se", "<x", "se>", "x", "_")) for _ in range(9))
        assert ours.encode(some).ids == theirs.encode(some).ids
    made = OurTokenizer(ours._tokenizer.model)
    assert made.encode_ids("<x_se>_se") == [1, 3, 4, 7, 2, 8]
    assert made.encode_ids("<x_se>_se", special="all") == [0, 8]
