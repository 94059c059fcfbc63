"""What the tests of whole pipelines share: the texts, and the comparison with a peer.

A day's run compares slices and a few hundred strings. All there is, in two hours on two cores:

    TOKCTL_WHOLE_TEXTS=1 TOKCTL_EXAMPLES=100000 python -m pytest -n 2 -rP tests/exact/test_pipeline*
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from tests.conftest import shared_file
from tests.exact.strings import WHOLE, strings
from tokctl import Tokenizer, formats
from tokctl.tokenizer import Special

CORPORA = ("books.txt", "code.txt", "multilingual.txt")
#: A text is compared in pieces of so many characters.
PIECE = 100_000
#: Two texts at once, for templates.
PAIRS = (("a b c", "d e f"), ("", "x"), ("naïve café", "東京 1,234"), ("don't", ""))


def corpus(name: str, size: int, start: int = 0) -> str:
    """So many characters of a corpus."""
    with shared_file(f"corpora/{name}").open(encoding="utf-8", newline="") as file:
        file.read(start)
        return file.read(size)


@lru_cache(maxsize=1)
def declarations() -> tuple[str, ...]:
    """The Universal Declaration of Human Rights in 18 languages."""
    folder = shared_file("corpora/udhr")
    return tuple(path.read_text(encoding="utf-8") for path in sorted(folder.iterdir()))


def texts(size: int = 8000, seed: int = 0) -> Iterator[str]:
    """The corpora, the declarations and generated strings: some of each, or all."""
    for name in CORPORA:
        if WHOLE:
            whole = corpus(name, -1)
            yield from (whole[at : at + PIECE] for at in range(0, len(whole), PIECE))
        else:
            yield corpus(name, size, 400_000)
    for declaration in declarations():
        yield declaration if WHOLE else declaration[: size // 4]
    yield from strings(seed=seed)


@lru_cache(maxsize=1)
def training_text() -> str:
    """A little of everything to train on."""
    size = 60_000 if WHOLE else 20_000
    return "".join(
        (
            corpus("books.txt", 2 * size),
            corpus("multilingual.txt", 2 * size),
            corpus("code.txt", size),
            *(text[:2000] for text in declarations()),
        )
    )


def train(folder: Path, **options: Any) -> Tokenizer:
    """A tokenizer trained on `training_text`."""
    path = folder / "text.txt"
    path.write_bytes(training_text().encode())
    return Tokenizer.train([path], **options)


def loaded_there(ours: Tokenizer) -> Any:
    """Our model file, loaded by Hugging Face. Special tokens in a text are text here; there,
    only if one says so."""
    import tokenizers

    theirs = tokenizers.Tokenizer.from_str(formats.serialize(ours.model).decode())
    theirs.encode_special_tokens = True
    return theirs


def loaded_here(theirs: Any, folder: Path) -> Tokenizer:
    """Hugging Face's tokenizer, saved there and loaded here."""
    path = folder / "tokenizer.json"
    theirs.save(str(path))
    return Tokenizer.load(path)


def row(ours: Tokenizer, encoding: Any) -> list[tuple[Any, ...]]:
    """Their encoding, token by token. What they give the unknown token's id has here its
    name, too: their Unigram names it by its text."""
    names = [
        ours.recipe.unk_token if id_ == ours.unk_id else name
        for id_, name in zip(encoding.ids, encoding.tokens, strict=True)
    ]
    return list(zip(encoding.ids, names, encoding.offsets, encoding.type_ids, strict=True))


def compare(
    ours: Tokenizer,
    theirs: Any,
    texts: Iterable[str],
    *,
    special: Special = "none",
    same: Callable[[str], str] = str,
) -> None:
    """`assert_same` for each text: alone and with the next one, without special tokens
    around them and with. `same` makes of a text one that both normalize alike."""
    number = ids = changed = 0
    differences: list[str] = []
    last = ""
    for number, text in enumerate(texts, 1):
        asked = same(text)
        changed += asked != text
        pair = last if number % 4 > 1 else None
        last = asked if len(asked) < 1000 else last
        try:
            ids += assert_same(ours, theirs, asked, pair, number % 2 == 0, special)
        except AssertionError as error:
            differences.append(str(error))
    print(f"{number:,} texts ({changed:,} changed), {ids:,} ids, {len(differences)} differences")
    assert not differences, "\n".join(differences[:5])


def assert_same(
    ours: Tokenizer,
    theirs: Any,
    text: str,
    pair: str | None = None,
    add_special: bool = False,
    special: Special = "none",
) -> int:
    """Ids, tokens, offsets and type ids are equal, and so are the texts that the ids give;
    how many ids."""
    found = ours.encode(text, pair, special=special, add_special=add_special)
    their_encoding = theirs.encode(text, pair, add_special_tokens=add_special)
    columns = (found.raw_ids, found.tokens, found.offsets, found.type_ids)
    here, there = list(zip(*columns, strict=True)), row(ours, their_encoding)
    if here != there:
        pairs = enumerate(zip(here, there, strict=False))
        at = next((n for n, (a, b) in pairs if a != b), min(len(here), len(there)))
        start = here[at][2][0] if at < len(here) else 0
        around = text[max(0, start - 20) : start + 20]
        raise AssertionError(
            f"{around!r}, {pair!r}: {here[at : at + 3]} here, {there[at : at + 3]} there"
        )
    for skip in (False, True):
        decoded = ours.decode(their_encoding.ids, skip_special=skip, errors="replace")
        their_text = theirs.decode(their_encoding.ids, skip_special_tokens=skip)
        assert decoded == their_text, f"{decoded!r} here, {their_text!r} there"
    return len(here)
