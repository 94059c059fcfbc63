"""What people who know other libraries try first."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tokctl
from tests import systems
from tests.errors import raises_code
from tokctl import (
    AddedToken,
    Padding,
    Texts,
    TokctlError,
    Tokenizer,
    Truncation,
    compare,
    count_tokens,
    preset,
)
from tokctl.model.parts import NORMALIZERS

TEXTS = ["There is still a lot of treasure.\n" * 20, "naïve ☕ " * 30, "", "a lot " * 40] * 8


@pytest.fixture(scope="module")
def tok() -> Tokenizer:
    return Tokenizer.train(Texts(TEXTS), vocab_size=300)


# -- training on what a program gives ---------------------------------------------------------


@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1).filter(
        lambda texts: any(text.strip() for text in texts)
    ),
    st.sampled_from(["bpe", "wordpiece", "word"]),
)
def test_it_is_training_on_the_same_json_lines(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], algorithm: str
) -> None:
    path = tmp_path_factory.mktemp("texts") / "texts.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    options: dict[str, Any] = {"algorithm": algorithm, "vocab_size": 400}
    try:
        whole = saved(Tokenizer.train([path], **options), path)
    except TokctlError as error:
        with pytest.raises(TokctlError, match=re.escape(error.message)):
            Tokenizer.train(Texts(texts), **options)
        return
    some: list[Any] = [iter(texts), [texts[:2], tuple(texts[2:])], [t.encode() for t in texts]]
    for given_texts in some:
        assert saved(Tokenizer.train(Texts(given_texts), **options), path) == whole


def saved(tokenizer: Tokenizer, beside: Path) -> bytes:
    tokenizer.save(beside.with_name("model.json"))
    return beside.with_name("model.json").read_bytes()


def test_an_iterable_is_walked_through_once_and_not_kept() -> None:
    taken = 0

    def texts() -> Iterator[str]:
        nonlocal taken
        for number in range(100_000):
            taken += 1
            yield f"word{number % 50} and {number % 7}"

    options: dict[str, Any] = {"vocab_size": 300, "sample": 0.5, "seed": 3}
    one = Tokenizer.train(Texts(texts()), threads=1, **options)
    assert taken == 100_000
    assert one == Tokenizer.train(Texts(texts()), threads=2, **options)
    assert one.model.training is not None
    # Half of the texts, four pre-tokens each: a word, its digits, "and", a digit.
    assert 195_000 < one.model.training.pre_tokens < 205_000


def test_what_the_iterable_raises_comes_through() -> None:
    def texts() -> Iterator[str]:
        yield "a lot"
        raise LookupError("the database is gone")

    with pytest.raises(LookupError, match="the database is gone"):
        Tokenizer.train(Texts(texts()), vocab_size=300)


def test_texts_that_are_none() -> None:
    for wrong in ([5], [None], [["a", 5]]):
        with pytest.raises(TypeError, match="a text is str or bytes, not"):
            Tokenizer.train(Texts(wrong), vocab_size=300)  # type: ignore[arg-type]
    with raises_code("bad-value"):
        Tokenizer.train(Texts("text"), vocab_size=300)
    with raises_code("bad-input"):
        Tokenizer.train(Texts([]), vocab_size=300)
    with raises_code("not-utf8", "text 2: line 1, byte 1 is not UTF-8"):
        Tokenizer.train(Texts(["a", b"b\xff"]), vocab_size=300, algorithm="wordpiece")


# -- the vocabulary -----------------------------------------------------------------------------


def test_in_and_equality(tok: Tokenizer, tmp_path: Path) -> None:
    assert "Ġlot" in tok
    assert "no such" not in tok
    assert 5 not in tok
    tok.save(tmp_path / "one.json")
    tok.save(tmp_path / "two.json", "huggingface")
    again = Tokenizer.load(tmp_path / "one.json")
    assert tok == again
    assert hash(tok) == hash(again)
    assert len({tok, again}) == 1
    other = Tokenizer.train(Texts(TEXTS), vocab_size=270)
    assert len(other) < len(tok)
    assert tok != other
    assert tok != "tok"
    changed = Tokenizer.train(Texts([*TEXTS, "zzz " * 999]), vocab_size=300)
    assert tok != changed
    foreign = Tokenizer.load(tmp_path / "two.json")
    assert foreign == Tokenizer.load(tmp_path / "two.json")
    assert foreign.encode_ids(TEXTS) == tok.encode_ids(TEXTS)


def test_special_tokens_by_what_they_are_for(tok: Tokenizer, tmp_path: Path) -> None:
    roles = ("bos", "eos", "unk", "pad", "cls", "sep", "mask")
    assert all(getattr(tok, f"{role}_token") is None for role in roles)
    assert all(getattr(tok, f"{role}_token_id") is None for role in roles)
    bert = Tokenizer.train({"low": 5}, vocab_size=60, recipe=preset("bert"))
    assert [getattr(bert, f"{role}_token") for role in roles] == [
        None, None, "[UNK]", "[PAD]", "[CLS]", "[SEP]", "[MASK]",
    ]  # fmt: skip
    assert bert.unk_token_id == bert.unk_id
    assert bert.tokens[bert.sep_token_id or 0] == "[SEP]"
    # What a folder's own files say comes before a usual spelling.
    bert.save(tmp_path / "folder", "huggingface-folder")
    config = tmp_path / "folder" / "tokenizer_config.json"
    said = json.loads(config.read_text()) if config.exists() else {}
    said["eos_token"] = {"content": "[SEP]"}
    config.write_text(json.dumps(said))
    assert Tokenizer.from_pretrained(tmp_path / "folder").eos_token == "[SEP]"


def test_from_pretrained(tok: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tok.save(tmp_path / "one.json")
    assert Tokenizer.from_pretrained(tmp_path / "one.json") == tok
    with raises_code("conflict", "has no revision 'main'"):
        Tokenizer.from_pretrained(tmp_path / "one.json", revision="main")
    asked = []
    monkeypatch.setattr(Tokenizer, "load", lambda path: asked.append(path) or tok)
    for name, revision in (("gpt2", None), ("org/name", "v1"), ("hf:org/name", None)):
        Tokenizer.from_pretrained(name, revision=revision)
    assert asked == ["hf:gpt2", "hf:org/name@v1", "hf:org/name"]


# -- back to text ----------------------------------------------------------------------------------


def test_encodings_are_decoded(tok: Tokenizer) -> None:
    encodings = tok.encode_batch(TEXTS)
    assert [tok.decode(encoding) for encoding in encodings] == TEXTS
    assert tok.decode_batch(encodings) == TEXTS
    assert tok.decode_bytes(tok.encode("☕")) == "☕".encode()


# -- what is wrong ---------------------------------------------------------------------------------

Call = Callable[[Tokenizer], object]
WRONG: list[tuple[str, Call, str]] = [
    (
        "invalid value 'longest' for padding",
        lambda t: t.encode("a", padding="longest"),
        "Padding()",
    ),  # type: ignore[arg-type]
    ("invalid value True for padding", lambda t: t.encode_ids(["a"], padding=True), "Padding()"),
    ("invalid value 'x' for padding", lambda t: t.encode_batch([], padding="x"), "Padding()"),  # type: ignore[arg-type]
    ("invalid value 1.5 for padding", lambda t: t.encode_iter([], padding=1.5), "Padding()"),  # type: ignore[arg-type]
    (
        "invalid value True for truncation",
        lambda t: t.encode_ids("a", truncation=True),
        "Truncation(",
    ),
    ("invalid value '8' for truncation", lambda t: t.encode("a", truncation="8"), "Truncation("),  # type: ignore[arg-type]
    ("invalid value '2' for threads", lambda t: t.encode_ids(["a"], threads="2"), "number"),  # type: ignore[call-overload]
    ("invalid value '3' for batch_size", lambda t: t.encode_iter([], batch_size="3"), "number"),  # type: ignore[arg-type]
    ("invalid value 5 for special", lambda t: t.encode("a", special=5), "none, all"),  # type: ignore[arg-type]
    (
        "invalid value 'bert' for recipe",
        lambda t: t.train([], vocab_size=9, recipe="bert"),
        "preset",
    ),  # type: ignore[arg-type]
    ("invalid value '9' for the vocabulary size", lambda t: t.train([], vocab_size="9"), "number"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("message", "call", "hint"), WRONG, ids=[entry[0] for entry in WRONG])
def test_wrong_types_are_told_with_what_is_right(
    tok: Tokenizer, message: str, call: Call, hint: str
) -> None:
    with pytest.raises(TokctlError) as error:
        call(tok)
    assert message in error.value.message
    assert error.value.hint is not None
    assert hint in error.value.hint


def test_misspelt_options_get_a_suggestion(tok: Tokenizer) -> None:
    for call, meant in (
        (lambda: tok.train([], vocab_size=9, min_freqency=2), "min_frequency"),  # type: ignore[call-arg]
        (lambda: tok.train(Texts([]), vocab_sise=9), "vocab_size"),  # type: ignore[call-arg]
        (lambda: Tokenizer.load("x", patern="gpt2"), "pattern"),  # type: ignore[call-arg]
        (lambda: tok.save("x", lossi=True), "lossy"),  # type: ignore[call-arg]
        (lambda: tok.encode_file("x", line=True), "lines"),  # type: ignore[call-arg]
    ):
        with pytest.raises(TypeError, match=f"did you mean '{meant}'"):
            call()
    with pytest.raises(TypeError, match=r"no option 'quite_another'$"):
        tok.train([], vocab_size=9, quite_another=1)  # type: ignore[call-arg]


# -- what is shown ---------------------------------------------------------------------------------


def test_everything_shows_itself_within_a_screen(tok: Tokenizer, tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("There is still a lot of treasure. " * 3_000)
    text = path.read_text()
    long = Tokenizer.train({"x" * 50_000: 3, "y" * 3_000: 2}, vocab_size=2_000)
    comparison = compare([tok, ("other", long)], [path])
    rule = NORMALIZERS.part("replace", pattern="x" * 50_000, content="y")
    ruled = replace(preset("sentencepiece-unigram"), normalizers=(rule,))
    shown = [
        rule, ruled, tok, long, tok.model, tok.recipe, tok.model.training, tok.encode(text),
        comparison, long.encode("x" * 60_000), tok.encode_array(text), tok.explain("treasure"),
        long.explain("x" * 900), tok.token_history("Ġlot"), long.token_history(len(long) - 1),
        tok.post_processor, tok.decode_stream(), Padding(), Truncation(5), AddedToken("<x>", 5),
        tok.encode(text, truncation=Truncation(10, stride=2), padding=Padding(20, id=0)),
        count_tokens([path], [tok]),
    ]  # fmt: skip
    for one in shown:
        assert len(repr(one)) < 80 * 24, repr(one)[:300]
    assert repr(tok.encode("a lot")) == "<Encoding of 2 tokens: ['a', 'Ġlot']>"


class Tags(HTMLParser):
    """The tags that are open, and every tag that was."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, _attributes: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        if tag not in ("wbr", "br", "hr"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def tags(html: str) -> Tags:
    found = Tags()
    found.feed(html)
    found.close()
    assert not found.open
    return found


def test_a_notebook_shows_tokens_and_tables(tok: Tokenizer, tmp_path: Path) -> None:
    shown = tags(tok.encode("a lot of <b>treasure</b>")._repr_html_())
    assert shown.seen == {"div", "span", "wbr"}
    assert shown.text.startswith("a␣lot␣of␣<b>t")
    long = tags(tok.encode("a lot " * 9_999)._repr_html_())
    assert "more" in long.text
    assert long.text.count("lot") < 600

    facts = tags(tok._repr_html_())
    assert f"{len(tok)} tokens" in facts.text
    assert "table" in facts.seen

    # No name on Windows has angle brackets.
    path = tmp_path / ("<script>alert(1)<b>.txt" if systems.UNIX else "script&b.txt")
    path.write_text("a lot of <script>alert(1)</script> <img src=x onerror=alert(1)>\n" * 50)
    page = tags(compare([("<i>one</i>", tok), ("two", tok)], [path])._repr_html_())
    assert "table" in page.seen
    assert page.seen <= {
        "h1", "h2", "p", "ul", "li", "table", "thead", "tbody", "tr", "th", "td", "strong", "code",
    }  # fmt: skip
    assert "<i>one</i>" in page.text
    with pytest.raises(TypeError, match="not list"):
        tokctl.to_html([])
