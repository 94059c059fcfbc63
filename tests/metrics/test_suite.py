"""The suite: its texts, what it finds of models, and what it says of that."""

from __future__ import annotations

import unicodedata
from dataclasses import replace
from itertools import combinations, product

import pytest

from tests.errors import raises_code
from tests.metrics import slow
from tests.metrics.models import TEXT, document, model
from tests.twins import suite_splits as twin
from tokctl.analysis.comparison.results import Interval
from tokctl.analysis.metrics import DEFINITIONS as METRICS_DEFINED
from tokctl.analysis.metrics import Undefined, definition_of
from tokctl.analysis.suite_metrics import DEFINITIONS
from tokctl.analysis.texts import Text
from tokctl.extras.suite import (
    MOST_FINDINGS,
    MOST_UNKNOWN,
    Suite,
    domain_names,
    run_suite,
)
from tokctl.extras.suite.morphology import GoldWord
from tokctl.extras.suite.texts import (
    MOST_TEXTS,
    REFERENCE,
    bundled_domains,
    numbers,
    parallel_texts,
    user_domains,
)
from tokctl.model import Model
from tokctl.model.presets import BPE_CHARACTERS
from tokctl.sources import corpora
from tokctl.tokenizer import Tokenizer

NAMES = ("bpe", "wordpiece", "unigram")
GOLD = {"gold.tsv": [GoldWord("lowest", ("low", "est")), GoldWord("wide", ("wide",))]}
#: The characters of a name in Unicode's data begin with the script's.
SCRIPTS = {"Han": ("CJK",), "Japanese": ("CJK", "HIRAGANA", "KATAKANA")}
BUNDLED = ["prose", "code", "mark-up", "names", "numbers", "many scripts"]


@pytest.fixture(scope="module")
def found() -> Suite:
    return run_suite(
        [(name, model(name)) for name in NAMES], [document(TEXT, "a/low.txt")], gold=GOLD
    )


# -- Texts -------------------------------------------------------------------------------------


def test_sentences_are_parallel_and_in_their_script() -> None:
    texts = parallel_texts()
    assert len(texts) == len({one.language for one in texts}) == 25
    assert len({one.script for one in texts}) == 14
    assert texts[0].language == REFERENCE
    for one in texts:
        lines = one.text.data.decode().splitlines()
        assert len(lines) == len(set(lines)) == 12
        text = "".join(lines)
        assert unicodedata.normalize("NFC", text) == text
        letters = [character for character in text if character.isalpha()]
        own = SCRIPTS.get(one.script, (one.script.upper(),))
        assert all(unicodedata.name(letter).startswith(own) for letter in letters), one.language


def test_domains() -> None:
    domains = bundled_domains(parallel_texts())
    assert [domain.name for domain in domains] == BUNDLED
    for domain in domains:
        assert domain.is_bundled
        assert 2_000 < sum(text.size for text in domain.texts) < 30_000
        for text in domain.texts:
            assert text.data.decode().endswith("\n") and b"\r" not in text.data
    assert {corpus.name for corpus in corpora.list_corpora()} >= {
        *("suite-prose", "suite-code", "suite-markup", "suite-names", "suite-parallel")
    }


def test_numbers_are_made_by_a_rule() -> None:
    assert numbers() == numbers()
    assert numbers(1) == "".join(
        numbers().splitlines(keepends=True)[: len(numbers(1).splitlines())]
    )
    assert len(set(numbers().splitlines())) == len(numbers().splitlines()) == 90


def test_many_texts_are_one_domain() -> None:
    texts = [Text(f"{n}.txt", b"low\n") for n in range(MOST_TEXTS + 1)]
    assert [domain.name for domain in user_domains(texts[1:])] == [text.name for text in texts[1:]]
    (domain,) = user_domains(texts)
    assert (domain.name, domain.texts, domain.is_bundled) == ("7 texts", tuple(texts), False)


# -- Figures -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_domains_are_counted_as_the_twin_counts(found: Suite) -> None:
    texts = {domain.name: domain.texts for domain in bundled_domains(parallel_texts())}
    assert domain_names(found) == ["low.txt", *BUNDLED]
    for domain in found.domains[1:-1]:
        (text,) = texts[domain.name]
        assert domain.bytes == len(text.data)
        for name, own in zip(NAMES, domain.models, strict=True):
            counts = slow.counts(model(name), text.data)
            assert own.model == name
            assert own.figures["tokens"] == counts.tokens
            assert own.figures["bytes_per_token"] == len(text.data) / counts.tokens
            first = slow.counts(model("bpe"), text.data)
            assert own.figures["nsl"] == counts.tokens / first.tokens
            interval = own.intervals["bytes_per_token"]
            assert isinstance(interval, Interval)
            assert interval.low <= len(text.data) / counts.tokens <= interval.high
            assert "nsl" not in own.intervals


def test_who_reads_little_has_no_part_in_who_has_the_fewest(found: Suite) -> None:
    for domain in found.domains:
        reading = {
            own.model: own.figures["tokens"]
            for own in domain.models
            if isinstance(unknown := own.figures["unk_rate"], Undefined) or unknown <= MOST_UNKNOWN
        }
        assert domain.fewest in reading
        assert reading[domain.fewest] == min(reading.values())  # type: ignore[type-var]
        for own in domain.models:
            assert not own.within_noise or (own.model in reading and own.model != domain.fewest)
    scripts = found.domains[-1]
    assert scripts.fewest == "bpe"  # the others know no letter but those of their text


def test_a_model_that_drops_a_whole_text_has_not_the_fewest_tokens() -> None:
    recipe = replace(BPE_CHARACTERS, pre_tokenizers=(), unk_token=None, special_tokens=())
    drops = Tokenizer(Model(replace(recipe, unknown="drop"), [b"~"]))
    models = [("drops", drops), ("bpe", model("bpe"))]
    first = run_suite(models, [document(b"word", "a.txt")]).domains[0]
    assert (first.fewest, first.models[0].figures["unk_rate"]) == ("bpe", 1)
    assert run_suite(models[:1], [document(b"word", "a.txt")]).domains[0].fewest == ""


def test_languages_as_the_twin_counts(found: Suite) -> None:
    texts = {one.language: one.text.data for one in parallel_texts()}
    for place, name in enumerate(NAMES):
        tokens = {language: len(model(name).encode(text)) for language, text in texts.items()}
        for language in found.languages.languages:
            assert language.lines == 12
            parity = language.figures[place]["parity"]
            assert parity == tokens[language.name] / tokens[REFERENCE]
        costs = [count / 12 for count in tokens.values()]
        mean = sum(costs) / len(costs)
        pairs = sum(abs(a - b) for a, b in product(costs, costs))
        assert found.languages.gini[place] == pytest.approx(pairs / (2 * len(costs) ** 2 * mean))


def test_characters_by_script_as_the_twin_counts(found: Suite) -> None:
    for one in found.models:
        expected: dict[str, list[int]] = {}
        for text in parallel_texts():
            counts = twin.characters_cut(model(one.name), text.text.data.decode())
            own = expected.setdefault(text.script, [0, 0, 0])
            own[:] = [a + b for a, b in zip(own, counts, strict=True)]
        assert {
            script: [cuts.characters, cuts.non_ascii, cuts.cut]
            for script, cuts in one.characters.items()
        } == expected
        assert one.all_characters.characters == sum(own[0] for own in expected.values())


def test_what_others_measure_is_there(found: Suite) -> None:
    assert found.text == "a/low.txt"
    assert found.counted == sum(domain.bytes for domain in found.domains)
    for one in found.models:
        assert one.stability.words and one.stability.seed == 0
        assert one.undertrained.embeddings is None
        assert one.morphology["gold.tsv"].words == 2
    more = run_suite([("bpe", model("bpe"))], trained_on=[Text("t", b"low low")])
    assert more.text == "prose"
    assert more.counted == found.counted - found.domains[0].bytes + 7


def test_threads_change_nothing(found: Suite) -> None:
    again = run_suite(
        [(name, model(name)) for name in NAMES],
        [document(TEXT, "a/low.txt")],
        gold=GOLD,
        threads=1,
    )
    assert again == found


# -- Words -------------------------------------------------------------------------------------


def test_findings(found: Suite) -> None:
    assert 4 <= len(found.findings) <= MOST_FINDINGS
    first, unknown, dearest, numbers_cut, characters, *_ = found.findings
    assert first.startswith("Fewest tokens: ") and "a/low.txt" not in first
    assert unknown.startswith("Over 1% of the tokens are unknown: wordpiece in 6 of 7 domains")
    assert dearest.startswith("Dearest of 25 languages, against English: ")
    assert "wordpiece reads none of them" in dearest or "unread" in dearest
    assert numbers_cut.startswith("The most frequent cut of a number of four digits: ")
    assert (
        characters == "Characters beyond ASCII, of 14 scripts, that are cut into bytes: bpe 100.0%."
    )
    assert all(finding.endswith(".") for finding in found.findings)


def test_nothing_is_ranked_by_morphology(found: Suite) -> None:
    labels = [one.label for name, one in DEFINITIONS.items() if "morph" in name or "f1" in name]
    assert len(labels) > 4
    said = " ".join(found.findings).lower()
    assert "morph" not in said and not any(label.lower() in said for label in labels)


def test_one_model_is_told_of_by_itself() -> None:
    alone = run_suite([("bpe", model("bpe"))])
    assert alone.findings[0].startswith("A token of bpe carries ")
    assert domain_names(alone) == BUNDLED
    assert not any(own.within_noise for domain in alone.domains for own in domain.models)


def test_every_definition_is_whole() -> None:
    assert not set(DEFINITIONS) & set(METRICS_DEFINED)
    every = {**METRICS_DEFINED, **DEFINITIONS}
    labels = [one.label for one in every.values()]
    assert len(set(labels)) == len(labels)
    for name, definition in DEFINITIONS.items():
        assert definition_of(name, every) is definition
        assert definition_of(definition.label, every) is definition
        assert definition.better in ("higher", "lower", "neither")
        assert definition.formula and definition.unit and definition.misleads.endswith(".")


def test_what_can_not_be_done() -> None:
    with raises_code("missing-option"):
        run_suite([])
    with raises_code("unknown-name", "no model of the suite is called 'x'"):
        run_suite([("bpe", model("bpe"))], baseline="x")
    with raises_code("unknown-name", "no model of the suite is called 'x'"):
        run_suite([("bpe", model("bpe"))], embeddings={"x": "x.safetensors"})
    with raises_code("bad-value", "invalid value 0 for threads"):
        run_suite([("bpe", model("bpe"))], threads=0)


def test_a_damaged_installation(monkeypatch: pytest.MonkeyPatch) -> None:
    path = corpora.corpus_path("suite-code")
    monkeypatch.setattr("tokctl.extras.suite.texts.corpus_path", lambda _: path)
    with raises_code("damaged"):
        parallel_texts()


def test_equal_models_have_equal_figures() -> None:
    twice = run_suite([("a", model("bpe")), ("b", model("bpe"))])
    for one, other in combinations(twice.models, 2):
        assert replace(one, name="") == replace(other, name="")
    for domain in twice.domains:
        first, second = domain.models
        assert first.figures == second.figures
        assert (domain.fewest, first.within_noise, second.within_noise) == ("a", False, True)
    assert twice.findings[0] == (
        "Fewest tokens: a on every domain. As few, or more but not beyond noise: b on every domain."
    )
