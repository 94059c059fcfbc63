"""The box of a page: any text, split in Chromium into the very ids of tokctl."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.conftest import shared_file
from tests.explain import every
from tests.metrics.models import document
from tests.report import published_forms
from tests.report.made import EVIL, hostile, made
from tests.report.test_browser import BROWSER, Opened, browser, page_of
from tokctl import TokctlError, Tokenizer, formats
from tokctl.analysis.comparison import compare
from tokctl.extras.page.live import page_data
from tokctl.model.filled import Model
from tokctl.model.presets import DEFAULTS, preset

__all__ = ["browser"]

pytestmark = pytest.mark.skipif(BROWSER is None, reason="there is no Chromium on this machine")

PUBLISHED = ("gpt2.tokenizer.json", "cl100k_base.tiktoken", "sentencepiece-unigram-en.model")
TRAINED = (
    "bert",
    "bert-cased",
    "sentencepiece-bpe",
    "sentencepiece-unigram",
    "llama2",
    "llama3",
    "t5",
    "o200k",
    "qwen",
    "albert",
    "char-bpe",
)
#: Algorithms with models of their own kind.
NEWER = ("superbpe", "boundless", "picky", "scaffold", "word", "char")
SPELLED = [
    *published_forms.FLAGS,
    "<|endoftext|>",
    "[CLS]",
    "[MASK]",
    "[UNK]",
    "<s>",
    "</s>",
    "<unk>",
    "<0x41>",
    "##",
    "▁",
]
SPACES = " \t\n\r\u00a0\u3000\u2003\x0b"
ODD = [
    "'s",
    "'RE",
    "'\u017f",
    # A mark of Unicode 18.
    "\u017f\u0b53",
    "don't",
    "😀👩\u200d👩\u200d👧",
    "e\u0301\u0327",
    # Marks that BERT's normalizer keeps, and puts in order.
    "\U0001d16d\u0316\U0001d165\u302e",
    "가각힣",
    "1234567",
    "  x",
    "{};//\r\n\r\n",
    "ﬁ①㌀",
    "İΑΣ",
    "``x''",
    "New new\u0327\u0301",
    "  <mask> <|user|>  <extra_id_0> ",
    # Vowel signs that compose with what may compose with them.
    "\U00016d67\U00016d68\U00016d63\U00016d67\U00016d67",
    "\u0085\u200b\ufeff\x00",
]


def texts_to_train() -> list[Path]:
    return [shared_file("corpora/multilingual.txt"), shared_file("corpora/treasure-island.txt")]


@cache
def models() -> dict[str, Tokenizer]:
    """The published ones, and those of the same recipes as others."""
    found = {name: Tokenizer.load(shared_file(f"vocab/{name}")) for name in PUBLISHED}
    for name in TRAINED:
        found[name] = Tokenizer.train(texts_to_train(), vocab_size=5500, recipe=preset(name))
    return found


@cache
def other_models() -> dict[str, Tokenizer]:
    """Published pipelines around models trained here, and the newer algorithms."""
    texts = texts_to_train()
    found = dict(published_forms.every(texts, 5500))
    for name in NEWER:
        found[name] = Tokenizer.train(texts, vocab_size=5500, recipe=DEFAULTS[name])
    found["removals"] = every.model("boundless with removals")
    by_language = {path.stem: [path] for path in texts}
    found["parity"] = Tokenizer.train(by_language, vocab_size=5500)
    return found


@cache
def corpora() -> list[str]:
    root = shared_file("corpora")
    return [path.read_text(errors="replace") for path in sorted(root.rglob("*.txt"))]


def generated(count: int, seed: int) -> Iterator[str]:
    """Pieces of texts and code, characters of all planes, white space, special tokens, bytes."""
    rng = random.Random(seed)

    def characters() -> str:
        most = rng.choice([0x250, 0x3000, 0x10000, 0x20000, 0x110000])
        codes = (rng.randrange(most) for _ in range(rng.randrange(1, 6)))
        return "".join(chr(code) for code in codes if not 0xD800 <= code < 0xE000)

    def part() -> str:
        text = rng.choice(corpora())
        start = rng.randrange(len(text))
        kind = rng.randrange(6)
        if kind == 0:
            return text[start : start + rng.randrange(1, 40)]
        if kind == 1:
            return "".join(rng.choices(SPACES, k=rng.randrange(1, 6)))
        if kind == 2:
            return rng.randbytes(rng.randrange(1, 9)).decode("utf-8", "replace")
        return characters() if kind == 3 else rng.choice(SPELLED if kind == 4 else ODD)

    for _ in range(count):
        yield "".join(part() for _ in range(rng.randrange(1, 8)))


class Segmenter:
    """The script of the page by itself."""

    def __init__(self, browser: Any, tokenizers: dict[str, Tokenizer]) -> None:
        self.tokenizers = tokenizers
        self.page = browser.new_page()
        folder = files("tokctl.extras.page") / "templates"
        self.page.add_script_tag(content=(folder / "segment.js").read_text(encoding="utf-8"))
        data = page_data([(name, one.model) for name, one in tokenizers.items()])
        assert [row["name"] for row in data["models"] if "reason" in row] == []
        self.page.evaluate("async (data) => { window.models = await segmenter.open(data); }", data)

    def ids(self, place: int, texts: list[str], special: bool) -> list[list[int]]:
        script = """([place, texts, special]) => JSON.stringify(
            JSON.parse(texts).map((text) => models[place].ids(text, special)))"""
        return list(json.loads(self.page.evaluate(script, [place, json.dumps(texts), special])))

    def check(self, texts: list[str], specials: tuple[bool, ...] = (False, True)) -> None:
        for name in self.tokenizers:
            self.check_model(name, texts, specials)

    def check_model(
        self, name: str, texts: list[str], specials: tuple[bool, ...] = (False, True)
    ) -> None:
        place, tokenizer = list(self.tokenizers).index(name), self.tokenizers[name]
        for special in specials:
            found = self.ids(place, texts, special)
            allowed = "all" if special else "none"
            for text, one in zip(texts, found, strict=True):
                try:
                    expected = tokenizer.encode_ids(text, special=allowed, add_special=special)
                except TokctlError:
                    # It has no token for something; in the page that has this number.
                    assert -1 in one, (name, special, text[:200])
                else:
                    assert one == list(expected), (name, special, text[:200])


def _reason(model: Model) -> str | None:
    """Return why the page does not segment as the model does; None if it does."""
    row = page_data([("", model)])["models"][0]
    return row.get("reason")


def check_all(segmenter: Segmenter) -> None:
    segmenter.check(corpora())
    every_one = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    blocks = range(0, len(every_one), 512)
    segmenter.check(["".join(every_one[at : at + 512]) for at in blocks])
    segmenter.check(["x ".join(every_one[at : at + 512]) for at in blocks[:256]])
    segmenter.check(["E\u0327".join(every_one[at : at + 512]) for at in blocks[:256]])
    texts = list(generated(100_000, 1))
    for at in range(0, len(texts), 5_000):
        segmenter.check(texts[at : at + 5_000], (at % 10_000 > 0,))


@pytest.mark.campaign
def test_every_text_has_the_same_ids_as_in_tokctl(browser: Any) -> None:
    check_all(Segmenter(browser, models()))


@pytest.mark.campaign
def test_every_text_has_the_same_ids_with_published_pipelines(browser: Any) -> None:
    check_all(Segmenter(browser, other_models()))


def test_texts_have_the_same_ids_as_in_tokctl(browser: Any) -> None:
    small = Path(__file__)
    tokenizers = {name: every.model(name) for name in every.NAMES}
    tokenizers |= dict(published_forms.every([small], 700))
    texts = ["", "low lowest newer wider\n", *EVIL, *ODD, "résumé naïve 字 가각"]
    kept = [text.encode("utf-8", "replace").decode() for text in texts]
    Segmenter(browser, tokenizers).check([*kept, *generated_small(150)])


@pytest.mark.parametrize(
    ("first", "count"), [(0, 12), pytest.param(100, 500, marks=pytest.mark.slow)]
)
def test_pipelines_put_together_at_random(browser: Any, first: int, count: int) -> None:
    pytest.importorskip("tokenizers", reason="the pipelines are made for Hugging Face's library")
    from tests.tools.random_pipelines.documents import document as random_document
    from tests.tools.random_pipelines.documents import text

    tokenizers: dict[str, Tokenizer] = {}
    texts: dict[str, list[str]] = {}
    for seed in range(first, first + count):
        data, added = random_document(seed)
        try:
            found = Tokenizer(formats.parse(json.dumps(data).encode(), "random.json"))
        except TokctlError:
            continue
        if _reason(found.model) is None:
            draw, name = random.Random(seed), str(seed)
            tokenizers[name] = found
            given = (text(draw, added) for _ in range(30))
            texts[name] = [one.encode("utf-8", "replace").decode() for one in given]
    assert len(tokenizers) > count // 3
    segmenter = Segmenter(browser, tokenizers)
    for name, given in texts.items():
        segmenter.check_model(name, given)


def test_a_token_that_stays_text_hides_no_token_with_its_normalized_text(browser: Any) -> None:
    def added(id_: int, content: str, special: bool) -> dict[str, Any]:
        flags = dict.fromkeys(("single_word", "lstrip", "rstrip"), False)
        return {"id": id_, "content": content, "normalized": True, "special": special, **flags}

    data = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [added(2, "first", True), added(3, "second", False)],
        "normalizer": {"type": "Replace", "pattern": {"Regex": r"[^\s]+"}, "content": "e"},
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": None,
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": {"[UNK]": 0, "a": 1}, "unk_token": "[UNK]"},
    }
    tokenizer = Tokenizer(formats.parse(json.dumps(data).encode(), "equal.json"))
    assert tokenizer.encode_ids("any text") == [3, 3]
    assert tokenizer.encode_ids("any text", special="all") == [2, 2]
    Segmenter(browser, {"a": tokenizer}).check(["any text", "a", "first second"])


def generated_small(count: int) -> Iterator[str]:
    """The same without the shared texts."""
    rng = random.Random(2)
    words = [*SPELLED, *ODD, "the", " of", "lowest", "\n\n", "   ", "def f(x):", "12", "é", "世界"]
    for _ in range(count):
        yield "".join(rng.choices(words, k=rng.randrange(1, 9)))


#: Of each kind of segmentation, normalizer and pre-tokenizer that walks through its text.
LONG = ("o200k", "qwen", "albert", "notebook-wordpiece")
LONG_DEFAULTS = ("superbpe", "picky")


def test_long_words_take_no_quadratic_time(browser: Any) -> None:
    small = Path(__file__)
    recipes = {name: preset(name) for name in LONG} | {
        name: DEFAULTS[name] for name in LONG_DEFAULTS
    }
    tokenizers = {
        name: Tokenizer.train([small], vocab_size=500, recipe=recipe)
        for name, recipe in recipes.items()
    }
    letters = ("a", " ", "A", "7", "e\u0301", "字")
    segmenter = Segmenter(browser, tokenizers)
    segmenter.check([letter * (100_000 // len(letter)) for letter in letters], (False,))


def test_long_stretches_without_a_piece_become_bytes(browser: Any) -> None:
    recipe = replace(preset("sentencepiece-unigram"), byte_fallback=True, fuse_unknown=True)
    small = Tokenizer.train([Path(__file__)], vocab_size=600, recipe=recipe)
    Segmenter(browser, {"a": small}).check(["\u9f98" * 200_000], (False,))


def test_lone_surrogates_are_replaced(browser: Any) -> None:
    small = Tokenizer.train([Path(__file__)], vocab_size=500, recipe=preset("gpt2"))
    segmenter = Segmenter(browser, {"a": small})
    for text in ("\ud800", "a\udfffb", "\udc00\ud800 ", "😀\ud83d"):
        replaced = re.sub("[\ud800-\udfff]", "\ufffd", text)
        assert segmenter.ids(0, [text], False) == [small.encode_ids(replaced)]


def test_a_model_that_can_not_be_equal_says_so() -> None:
    model = Tokenizer.train([Path(__file__)], vocab_size=500, recipe=preset("gpt2")).model
    assert _reason(model) is None
    for change in (
        {"pre_tokenizers": (r"regex:(a|b)\1",)},
        {"pre_tokenizers": (r"regex:(?:a|aa)+",)},
        {"pre_tokenizers": (r"regex:\X",)},
        {"units": "characters", "alphabet": "seen", "pre_tokenizers": ("penn-treebank",)},
    ):
        other = replace(model, recipe=replace(model.recipe, **change))
        reason = _reason(other)
        assert "page" in (reason or ""), change
        rows = page_data([("a", other), ("b", model)])["models"]
        assert rows[0] == {"name": "a", "reason": reason}
        assert "columns" in rows[1]


@pytest.fixture
def box(browser: Any, tmp_path: Path) -> Iterator[Opened]:
    path = tmp_path / "page.html"
    path.write_text(page_of(hostile()), encoding="utf-8")
    found = Opened(browser, path, viewport={"width": 1100, "height": 800})
    found.page.wait_for_selector("#try[data-ready]")
    yield found
    assert found.complaints == []
    assert set(found.requests) == {path.as_uri()}
    found.context.close()


def test_the_box_shows_what_tokctl_says(box: Opened) -> None:
    text = "low <b>lowest</b> </script><script>alert(1)</script>"
    box.page.get_by_label("Text", exact=True).fill(text)
    for place, model in enumerate(hostile().models.values()):
        row = box.page.locator("#try-rows .chips").nth(place)
        ids = row.locator(".chip .id").all_text_contents()
        assert list(map(int, ids)) == model.encode(text).ids
        counted = box.page.locator("#try-counts tbody tr").nth(place).locator("td").first
        assert counted.inner_text() == f"{len(ids):,}"
    assert box.page.locator("#try-rows b, #try-rows script").count() == 0
    price = box.page.locator("#try-counts input").first
    price.fill("2")
    each = len(next(iter(hostile().models.values())).encode(text).ids) / len(text)
    cost = box.page.locator("#try-counts tbody tr").first.locator("td").last.inner_text()
    assert float(cost) == pytest.approx(2 * each / 1000, rel=1e-3)


def test_the_word_that_is_pointed_at_is_replayed(box: Opened) -> None:
    box.page.get_by_label("Text", exact=True).fill("low script")
    first = box.page.locator("#try-rows .chips").first.locator("button.chip").first
    first.focus()
    steps = box.page.locator("#try-replay li")
    lines = [step.locator(".line").inner_text().replace("\n", "") for step in steps.all()]
    assert len(lines) > 1
    assert set(lines) == {"low"}
    assert "merge" in steps.last.inner_text()
    box.page.keyboard.press("ArrowRight")
    second = "document.activeElement.parentElement.querySelectorAll('button')[1]"
    assert box.page.evaluate(f"document.activeElement === {second}")


def test_only_what_changed_is_drawn_again(box: Opened) -> None:
    text = "low lower " * 400
    field = box.page.get_by_label("Text", exact=True)
    field.fill(text)
    mark = "document.querySelectorAll('#try-rows button.chip').forEach(c => { c.old = true; })"
    fresh = "[...document.querySelectorAll('#try-rows button.chip')].filter(c => !c.old).length"
    box.page.evaluate(mark)
    for place, most in ((len(text), 0), (10, 3 * 12)):
        field.evaluate("(field, at) => field.setSelectionRange(at, at)", place)
        field.press("q")
        assert box.page.evaluate(fresh) <= most
        text = text[:place] + "q" + text[place:]
    for place, model in enumerate(hostile().models.values()):
        row = box.page.locator("#try-rows .chips").nth(place)
        ids = [int(id_) for id_ in row.locator(".chip .id").all_text_contents()]
        assert ids == model.encode(text).ids[:300]
    assert box.page.locator("#try-rows button[tabindex='0']").count() == 3


def test_the_box_says_what_has_no_token(browser: Any, tmp_path: Path) -> None:
    models = {"a": every.model("notebook-bpe"), "b": every.model("default boundless")}
    found = made(models, compare(list(models.items()), [document("low lower\n")]))
    path = tmp_path / "page.html"
    path.write_text(page_of(found), encoding="utf-8")
    opened = Opened(browser, path)
    opened.page.wait_for_selector("#try[data-ready]")
    opened.page.get_by_label("Text", exact=True).fill("low \u4e16")
    rows = opened.page.locator("#try-rows .chips")
    assert "no token" in rows.first.inner_text()
    assert "refuses it" in rows.first.inner_text()
    assert "refuses it" not in rows.last.inner_text()
    rows.first.locator("button.chip").last.focus()
    assert "no token" in opened.page.locator("#try-replay").inner_text()
    opened.page.get_by_label("Text", exact=True).fill("the low lower the low lower")
    for chip in rows.last.locator("button.chip").all():
        chip.hover()
        assert opened.page.locator("#try-replay h3").count() == 1
    assert opened.complaints == []
    opened.context.close()


def test_a_link_carries_the_text(box: Opened) -> None:
    text = "naïve & <i>#%\n字"
    box.page.get_by_label("Text", exact=True).fill(text)
    link = box.page.get_by_role("link", name="Link that carries this text")
    link.focus()
    href = str(link.get_attribute("href"))
    assert href == f"#try={quote(text, safe='')}"
    box.page.get_by_label("Text", exact=True).fill("")
    box.page.goto(box.page.url.partition("#")[0] + href)
    box.page.wait_for_selector("#try[data-ready]")
    assert box.page.get_by_label("Text", exact=True).input_value() == text


def test_tables_sort(box: Opened) -> None:
    head = box.page.locator("#try-counts thead th").nth(1)
    counts = box.page.locator("#try-counts tbody tr td:nth-child(2)")
    for direction in ("ascending", "descending"):
        head.get_by_role("button").click()
        assert head.get_attribute("aria-sort") == direction
        found = [int(text.replace(",", "")) for text in counts.all_inner_texts()]
        assert found == sorted(found, reverse=direction == "descending")
