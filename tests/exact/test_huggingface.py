"""Trainers and files against Hugging Face `tokenizers`, which defines several recipes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import shared_file
from tests.exact.test_pretokenizers import TURNING
from tokctl import Recipe, Tokenizer, default_recipe, formats, preset
from tokctl.model import Marker
from tokctl.model.patterns import PATTERNS

hf = pytest.importorskip("tokenizers")

TEXTS = ("books.txt", "code.txt", "multilingual.txt")
#: How much of each text is compared; all of it with TOKCTL_WHOLE_TEXTS=1.
SLICE = 600_000

WORDPIECE_BY_COUNT = replace(
    default_recipe("wordpiece"), score="count", alphabet="characters", tie_break="lowest-id"
)


def read(path: Path, size: int = SLICE) -> str:
    import os

    if os.environ.get("TOKCTL_WHOLE_TEXTS"):
        size = -1
    with path.open(encoding="utf-8", newline="") as file:
        return file.read(size)


def loaded(tokenizer: Tokenizer) -> hf.Tokenizer:
    theirs = hf.Tokenizer.from_str(formats.serialize(tokenizer.model).decode())
    # Text is text here; there, only if one says so.
    theirs.encode_special_tokens = True
    return theirs


def train_on_text(text: str, tmp_path: Path, recipe: Recipe, vocab_size: int) -> Tokenizer:
    path = tmp_path / "text.txt"
    path.write_bytes(text.encode())
    return Tokenizer.train([path], recipe=recipe, vocab_size=vocab_size)


def tied_text(count: int) -> str:
    """A text full of ties."""
    return " ".join(f"{a}{b}{c}" for a in "abcdef" for b in "abcdef" for c in "ab") * count


def texts() -> list[str]:
    return [tied_text(2), "a" * 500 + " " + "ab" * 300, "日本語 の 文章 " * 40, ""]


def hf_merges(theirs: hf.Tokenizer) -> list[tuple[str, str]]:
    return [tuple(pair) for pair in json.loads(theirs.to_str())["model"]["merges"]]


def our_merges(ours: Tokenizer) -> list[tuple[str, str]]:
    return [(ours.tokens[m.left], ours.tokens[m.right]) for m in ours.merges]


def hf_bpe(text: str, vocab_size: int, min_frequency: int = 0) -> hf.Tokenizer:
    theirs = hf.Tokenizer(hf.models.BPE())
    theirs.pre_tokenizer = hf.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = hf.trainers.BpeTrainer(
        vocab_size=vocab_size,
        min_frequency=min_frequency,
        initial_alphabet=hf.pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["<|endoftext|>"],
        show_progress=False,
    )
    theirs.train_from_iterator([text], trainer)
    return theirs


@pytest.mark.parametrize("text", [t for t in texts() if t])
def test_bpe_merges_on_ties(text: str, tmp_path: Path) -> None:
    ours = train_on_text(text, tmp_path, preset("gpt2"), 400)
    assert our_merges(ours) == hf_merges(hf_bpe(text, 400))


@pytest.mark.slow
@pytest.mark.parametrize("name", TEXTS)
def test_bpe_merges_on_books(name: str, tmp_path: Path) -> None:
    text = read(shared_file(f"corpora/{name}"))
    ours = train_on_text(text, tmp_path, preset("gpt2"), 4000)
    assert our_merges(ours) == hf_merges(hf_bpe(text, 4000))
    assert ours.vocabulary == hf_bpe(text, 4000).get_vocab()


@given(text=st.text(alphabet="ab c'é", min_size=1, max_size=200))
def test_bpe_merges_on_generated_text(text: str) -> None:
    from tokctl import _native
    from tokctl.training import TextStats, Timing, TrainOptions, fill

    counter = _native.Counter("gpt2", [], 2)
    counter.feed(text.encode())
    model = fill(
        counter.finish(1),
        TextStats(1, len(text), ""),
        preset("gpt2"),
        TrainOptions(vocab_size=300),
        None,
        Timing(),
    )
    assert our_merges(Tokenizer(model)) == hf_merges(hf_bpe(text, 300))


def test_min_frequency_as_theirs(sample: str, tmp_path: Path) -> None:
    path = tmp_path / "sample.txt"
    path.write_text(sample, encoding="utf-8")
    ours = Tokenizer.train([path], recipe=preset("gpt2"), vocab_size=5000, min_frequency=7)
    assert our_merges(ours) == hf_merges(hf_bpe(sample, 5000, 7))


def test_wordpiece_by_count_has_their_vocabulary(sample: str, tmp_path: Path) -> None:
    """Their trainer numbers `##` symbols in the order of a random hash, and so breaks ties
    between runs differently; given the alphabet as special tokens it has our order."""
    ours = train_on_text(sample, tmp_path, WORDPIECE_BY_COUNT, 3000)
    assert ours.model.training is not None
    alphabet = ours.tokens[: 1 + ours.model.training.alphabet_size]
    theirs = hf.Tokenizer(hf.models.WordPiece(unk_token="[UNK]"))
    pattern = PATTERNS["bert"]
    theirs.pre_tokenizer = hf.pre_tokenizers.Split(hf.Regex(pattern), "removed", invert=True)
    trainer = hf.trainers.WordPieceTrainer(
        vocab_size=3000, special_tokens=alphabet, show_progress=False
    )
    theirs.train_from_iterator([sample], trainer)
    assert theirs.get_vocab() == ours.vocabulary


RECIPES = {
    "gpt2": preset("gpt2"),
    "wordpiece": default_recipe("wordpiece"),
    "wordpiece by count": WORDPIECE_BY_COUNT,
    "wordpiece of 12 characters": replace(default_recipe("wordpiece"), max_input_chars=12),
    "bytes, one pre-token": replace(preset("gpt2"), pre_tokenizers="none"),
    "bytes, a pattern": replace(preset("gpt2"), pre_tokenizers=r"regex: ?\p{L}+|\p{N}{1,3}|\s+"),
    "characters": default_recipe("bpe", characters=True),
    "characters, words": replace(
        default_recipe("bpe", characters=True), pre_tokenizers="gpt2-words"
    ),
    "characters, a suffix": replace(
        default_recipe("bpe", characters=True),
        pre_tokenizers="whitespace",
        marker=Marker("end-fused", "</w>"),
    ),
    "characters, no newlines": replace(
        default_recipe("bpe", characters=True), normalizers=("delete-newlines",)
    ),
}


@pytest.fixture(scope="module", params=RECIPES, ids=lambda name: name.replace(" ", "-"))
def pair(
    request: pytest.FixtureRequest, sample: str, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Tokenizer, hf.Tokenizer]:
    """A recipe that their format expresses: our tokenizer, and our file loaded by theirs."""
    recipe = RECIPES[request.param]
    text = sample[:12_000] if recipe.splitting == "none" else sample
    ours = train_on_text(text, tmp_path_factory.mktemp("pair"), recipe, 1500)
    return ours, loaded(ours)


def assert_same_ids(ours: Tokenizer, theirs: hf.Tokenizer, text: str) -> None:
    encoding = theirs.encode(text)
    assert ours.encode_ids(text) == encoding.ids
    decoded = ours.decode(encoding.ids, errors="replace")
    assert decoded == theirs.decode(encoding.ids, skip_special_tokens=False)


@pytest.mark.few(3)
@given(text=st.one_of(st.text(max_size=60), st.text(alphabet=TURNING, max_size=60)))
def test_ids_on_generated_text(pair: tuple[Tokenizer, hf.Tokenizer], text: str) -> None:
    # What their older Unicode tables do not know yet is left out: it is no letter there.
    known = "".join(char for char in text if not _unassigned(char))
    assert_same_ids(*pair, known)


def _unassigned(char: str) -> bool:
    import unicodedata

    return unicodedata.category(char) in ("Cn", "Cs")


@pytest.mark.parametrize("text", texts())
def test_ids_on_ties(pair: tuple[Tokenizer, hf.Tokenizer], text: str) -> None:
    assert_same_ids(*pair, text)


@pytest.mark.few(2)
@pytest.mark.parametrize("name", TEXTS)
def test_ids_on_books(pair: tuple[Tokenizer, hf.Tokenizer], name: str) -> None:
    ours, theirs = pair
    if ours.recipe.splitting == "none":
        pytest.skip("their encoder is quadratic in a pre-token's length")
    text = read(shared_file(f"corpora/{name}"), SLICE // 4)
    assert ours.encode_ids(text) == theirs.encode(text).ids


REFUSED = {
    "notebook-bpe": preset("notebook-bpe"),
    "notebook-wordpiece": preset("notebook-wordpiece"),
    "unknown characters": replace(default_recipe("wordpiece"), unknown="char"),
    "merges": replace(default_recipe("wordpiece"), segmentation="replay"),
    "end marker": replace(default_recipe("bpe", characters=True), marker=Marker("end", "_")),
    "a special token that is a word": replace(
        default_recipe("wordpiece"), special_tokens=("[UNK]", "MASK")
    ),
    "a special token in one piece": replace(
        default_recipe("wordpiece"), pre_tokenizers="whitespace"
    ),
    "their patterns differ": replace(preset("gpt2"), pre_tokenizers=r"regex:^\w+"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_recipe_that_they_lack_is_refused_by_them(name: str) -> None:
    ours = Tokenizer.train({"ab": 2, "ba": 1}, recipe=REFUSED[name], vocab_size=300)
    data = formats.serialize(ours.model)
    assert json.loads(data)["version"] == "tokctl-1"
    with pytest.raises(Exception, match="Unknown tokenizer version"):
        hf.Tokenizer.from_str(data.decode())
    assert Tokenizer(formats.parse(data, "x")).model == ours.model


@pytest.mark.parametrize(
    ("pattern", "portable"),
    [
        (r" ?\p{L}+| ?\p{N}+|\s+(?!\S)|\s+", True),
        (r"[^\s\p{L}]+|[a-z\-\]]++", True),
        (r"(?:ab|c)*?d{2,3}.", True),
        (r"a{2}+", True),
        (r"^a|b$", True),
        (r"\w+|\b", False),
        (r"(?i:'s)", True),
        (r"[a[b]]", True),
        (r"[a-c&&b]", True),
        (r"(a)\1", True),
        (r"(?P<x>a)", True),
        (r"\p{Han}", True),
        (r"[a-z]*", True),
        (r"a+|(?:b?c?)|d", True),
        (r"(?:ab){0,3}", True),
        (r"(?=\n)", True),
        (r"a|", True),
        (r" ?(?:ab)*c", True),
        (r"(?:a|bc){2,}", True),
    ],
)
def test_which_patterns_mean_the_same_there(pattern: str, portable: bool) -> None:
    recipe = replace(preset("gpt2"), pre_tokenizers=f"regex:{pattern}")
    ours = Tokenizer.train({"ab": 2}, recipe=recipe, vocab_size=258)
    expected = "1.0" if portable else "tokctl-1"
    written = formats.serialize(ours.model)
    assert json.loads(written)["version"] == expected
    if portable:
        there = hf.Tokenizer.from_str(written.decode())
        for text in (
            "aab aaab",
            "abcd\nab\n",
            "a'S b's A's",
            "[a]b]",
            "aa xx 漢字a",
            "ab cd ddd.",
            "",
        ):
            assert ours.encode(text).ids == there.encode(text).ids, text
            assert ours.encode(text).word_ids == there.encode(text).word_ids, text
