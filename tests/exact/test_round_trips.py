"""From every format into every other that can hold the model: the same ids, the same text.

Whatever `losses` calls a loss is refused without being asked for; what it does not name has
to come back. A model goes into one format, is read, goes into a second one, and is read again.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import pytest

from tests.conftest import shared_file
from tests.exact.pipeline_peers import texts, training_text
from tests.formats.models import RECIPES, with_added
from tests.tools.fuzz.seeds import seeds
from tokctl import TokctlError, Tokenizer, default_recipe, formats, preset
from tokctl.formats import FORMATS, UnsupportedByFormat
from tokctl.formats.saving import save
from tokctl.model import Merge, Model
from tokctl.model.parts import AddedToken

WRITTEN = [known.name for known in FORMATS if known.writes and known.reads]
SIZE = 2500


def by_preset(name: str) -> Callable[[Path], Tokenizer]:
    def make(folder: Path) -> Tokenizer:
        return trained(folder, recipe=preset(name))

    return make


def by_default(algorithm: str) -> Callable[[Path], Tokenizer]:
    def make(folder: Path) -> Tokenizer:
        return trained(folder, recipe=default_recipe(algorithm))

    return make


def trained(folder: Path, **options: object) -> Tokenizer:
    path = folder / "text.txt"
    path.write_bytes(training_text()[::3].encode())
    return Tokenizer.train([path], vocab_size=SIZE, **options)


def by_sentencepiece(kind: str, **options: object) -> Callable[[Path], Tokenizer]:
    def make(folder: Path) -> Tokenizer:
        spm = pytest.importorskip("sentencepiece")
        pytest.importorskip("google.protobuf")
        out = io.BytesIO()
        spm.SentencePieceTrainer.train(
            sentence_iterator=iter(training_text()[::3].split("\n")),
            model_writer=out,
            model_type=kind,
            vocab_size=SIZE if kind != "char" else 6000,
            hard_vocab_limit=False,
            minloglevel=2,
            num_threads=1,
            **options,
        )
        path = folder / "their.model"
        path.write_bytes(out.getvalue())
        return Tokenizer.load(path)

    return make


def shared(name: str) -> Callable[[Path], Tokenizer]:
    return lambda _folder: Tokenizer.load(shared_file(f"vocab/{name}"))


def odd_words(folder: Path) -> str:
    """A text of NUL, spaces of every kind, halves of characters and the markers' own letters."""
    words = [
        "\0",
        "a\0b",
        "\0\0",
        "naïve",
        "\u6771\u4eac",
        "🙂🙂",
        "a b",
        "\t\n",
        "▁a",
        "##b",
        "Ġc",
        "</w>",
    ]
    path = folder / "odd.txt"
    path.write_text(
        " ".join(words * 9) + "\n\u2028\x85\r\n" + "lower newest\0" * 9, "utf-8", newline=""
    )
    return str(path)


def odd(algorithm: str, **changes: object) -> Callable[[Path], Tokenizer]:
    """A model whose pieces hold what formats stumble over: text is split nowhere."""

    def make(folder: Path) -> Tokenizer:
        recipe = replace(default_recipe(algorithm), pre_tokenizers=(), **changes)
        return Tokenizer.train([odd_words(folder)], vocab_size=330, recipe=recipe)

    return make


def with_added_tokens(name: str) -> Callable[[Path], Tokenizer]:
    """Added tokens behind the vocabulary and in it, with every flag."""
    return lambda _folder: Tokenizer(with_added(RECIPES[name]))


def special_in_the_middle(folder: Path) -> Tokenizer:
    """Special tokens between the bytes and the merges, and behind all."""
    plain = by_preset("gpt2")(folder).model
    size = len(plain.tokens)
    at = {id_: id_ + 2 * (id_ > 300) for id_ in range(size)}
    tokens = [*plain.tokens[:301], b"<|mid|>", b"<|le dle|>", *plain.tokens[301:], b"<|last|>"]
    added = (
        *(token._replace(id=at[token.id]) for token in plain.added),
        AddedToken("<|mid|>", 301),
        AddedToken("<|le dle|>", 302),
        AddedToken("<|last|>", size + 2),
    )
    merges = [Merge(at[m.left], at[m.right], at[m.token], 0, 0, 0) for m in plain.merges]
    recipe = plain.recipe.with_special_tokens(["<|mid|>", "<|le dle|>", "<|last|>"])
    return Tokenizer(Model(recipe, tokens, merges, added_tokens=added))


def small(name: str, number: int) -> Callable[[Path], Tokenizer]:
    """A small model that the fuzzing of a format starts from; of `gguf` the last ones are made by
    its package, as others write them."""

    def make(_folder: Path) -> Tokenizer:
        found = seeds(name)
        if number >= len(found):
            pytest.skip("the library that makes such files is not installed")
        return Tokenizer(formats.parse(found[number], name))

    return make


MODELS: dict[str, Callable[[Path], Tokenizer]] = {
    **{name: by_preset(name) for name in ("gpt2", "cl100k", "llama3", "bert", "llama2", "t5")},
    **{name: by_default(name) for name in ("wordpiece", "unigram", "word", "char")},
    "sentencepiece unigram": by_sentencepiece("unigram", user_defined_symbols=["<sep>", "the"]),
    "sentencepiece bpe": by_sentencepiece("bpe", byte_fallback=True, control_symbols=["<2en>"]),
    "sentencepiece char": by_sentencepiece("char"),
    "odd bytes": odd("bpe"),
    "odd characters": odd("bpe", units="characters", alphabet="seen", byte_fallback=True),
    "odd pieces": odd("unigram", normalizers=(), byte_fallback=True),
    "odd words": odd("word"),
    "added tokens, bytes": with_added_tokens("gpt2"),
    "added tokens, unigram": with_added_tokens("unigram that they load"),
    "special in the middle": special_in_the_middle,
    **{f"gguf {number}": small("gguf", number) for number in range(6)},
    "tekken": small("tekken", 0),
    "gpt2.tokenizer.json": shared("gpt2.tokenizer.json"),
    "cl100k_base.tiktoken": shared("cl100k_base.tiktoken"),
    "sentencepiece-unigram-en.model": shared("sentencepiece-unigram-en.model"),
}


@lru_cache(maxsize=1)
def all_texts() -> list[str]:
    return list(texts(size=4000, seed=4))


class Answers:
    """What a model makes of the texts, with its special tokens found and put around, too."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.ids: list[list[int]] = []
        self.marked: list[list[int]] = []
        self.decoded: list[bytes] = []
        asked = all_texts()
        spelled = [*asked[:40], *(f"a {token} b{token}" for token in tokenizer.special_ids)]
        self.marked = tokenizer.encode_ids(spelled, special="all", add_special=True)
        try:
            self.ids = tokenizer.encode_ids(asked)
        except TokctlError:  # a character without an id
            for text in asked:
                try:
                    self.ids += tokenizer.encode_ids([text])
                except TokctlError:
                    self.ids.append([])
        self.decoded = [tokenizer.decode_bytes(ids) for ids in [*self.ids, *self.marked]]

    def differences(self, other: Answers) -> Iterator[str]:
        for name in ("ids", "marked", "decoded"):
            here, there = getattr(self, name), getattr(other, name)
            if here != there:
                number, (a, b) = next(
                    (number, two)
                    for number, two in enumerate(zip(here, there, strict=True))
                    if two[0] != two[1]
                )
                at = next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), 0)
                yield f"{name} of text {number}, {at}: {a[at : at + 9]!r} and {b[at : at + 9]!r}"


def held(tokenizer: Tokenizer) -> Iterable[str]:
    """The formats that say they hold all of the model."""
    for name in WRITTEN:
        try:
            lost = formats.losses(tokenizer.model, name)
        except UnsupportedByFormat:
            continue
        if all(loss.minor for loss in lost):
            yield name


def through(tokenizer: Tokenizer, name: str, folder: Path) -> Tokenizer:
    """The model written in a format and read again."""
    path = folder / f"{name}-{len(list(folder.iterdir()))}{formats.format_named(name).suffix}"
    save(tokenizer.model, path, name)
    again = Tokenizer.load(path)
    assert again.format == name, f"what {name} wrote was read as {again.format}"
    return again


#: Models of so many tokens that all pairs of formats take long.
_LARGE = ("cl100k_base.tiktoken", "gpt2.tokenizer.json")


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow) if n in _LARGE else n for n in MODELS]
)
def test_every_pair_of_formats(name: str, tmp_path: Path) -> None:
    ours = MODELS[name](tmp_path)
    expected = Answers(ours)
    problems = []
    pairs = []
    for first in held(ours):
        once = through(ours, first, tmp_path)
        problems += [f"{first}: {what}" for what in expected.differences(Answers(once))]
        for second in held(once):
            twice = through(once, second, tmp_path)
            found = expected.differences(Answers(twice))
            problems += [f"{first}, {second}: {what}" for what in found]
            pairs.append((first, second))
    print(f"{len(all_texts()):,} texts, {len(pairs)} pairs: {sorted({a for a, _ in pairs})}")
    assert not problems, "\n".join(problems[:10])
    assert {("tokctl", "tokctl")} <= set(pairs)
