"""`tokctl train --lang`: parity-aware BPE from the command line, and what files keep of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.run import error, tokctl
from tests.errors import raises_code
from tokctl import ParityOptions, Tokenizer
from tokctl.analysis.explain.languages import language_shares
from tokctl.training.resizing import prune

EN = "the cat sat on the mat and the cat ran to the man\n" * 3
SW = "paka alikaa juu ya mkeka na paka alikimbia kwa mtu\n" * 3
FI = "kissa istui matolla ja kissa juoksi miehen luo\n"


pytestmark = pytest.mark.usefixtures("texts")


@pytest.fixture
def texts(folder: Path) -> Path:
    for name, text in (("en", EN), ("sw", SW), ("fi", FI)):
        Path(f"{name}.txt").write_text(text)
        Path(f"{name}.dev").write_text(text[: len(text) // 2])
    return folder


ALL = "--lang en=en.txt --lang sw=sw.txt --lang fi=fi.txt"
DEV = "--lang-dev fi=fi.dev --lang-dev en=en.dev --lang-dev sw=sw.dev"


def test_the_command_and_the_function_train_the_same_model() -> None:
    line = f"train -q {ALL} {DEV} --global-merges 4 --parity window --parity-window 5 --vocab 290"
    done = tokctl(*line.split(), "--parity-limit", "1", "-o", "m.json")
    assert (done.code, done.out) == (0, b"m.json\n")
    names = ("en", "sw", "fi")
    tokenizer = Tokenizer.train(
        {name: f"{name}.txt" for name in names},
        vocab_size=290,
        parity=ParityOptions(
            dev={name: Path(f"{name}.dev") for name in names},
            global_merges=4,
            variant="window",
            window=5,
            limit=1,
        ),
    )
    loaded = Tokenizer.load("m.json")
    assert loaded.model == tokenizer.model
    record = loaded.model.parity
    assert record is not None and record.languages == names
    assert (record.measure, record.window, record.limit) == ("tokens", 5, "1")
    assert [record.language_of(rank) for rank in range(4)] == [""] * 4
    assert set(record.merges_of().values()) <= set(range(1, 31))
    for place, name in enumerate(names):
        half = Path(f"{name}.dev").read_text()
        assert record.after[place] == len(loaded.encode(half).ids), name
        assert record.before[place] == len(half.encode())


def test_several_files_of_a_language_and_any_number_of_threads() -> None:
    line = f"train -q {ALL} --lang en=sw.txt --vocab 300 --threads"
    for threads in "12":
        assert tokctl(*line.split(), threads, "-o", f"{threads}.json").code == 0
    assert Path("1.json").read_bytes() == Path("2.json").read_bytes()
    record = Tokenizer.load("1.json").model.parity
    assert record is not None and record.measure == "bytes" and not record.dev
    assert record.lengths == (len(EN) + len(SW), len(SW), len(FI)) == record.before


def test_what_the_training_tells() -> None:
    done = tokctl("train", *ALL.split(), "--vocab", "280", "--global-merges", "25%")
    assert done.out == b"en.bpe.json\n"
    found = language_shares(Tokenizer.load("en.bpe.json").model.parity)  # type: ignore[arg-type]
    assert sum(one.merges for one in found.languages) + found.together == 24
    for one in found.languages:
        tokens = f"{one.before:,} → {one.after:,} tokens"
        assert f"{one.name}: {tokens}, {one.merges} merge" in done.err
    assert "all together: 6 merges\n" in done.err
    assert f"\ngini        0.0000 → {found.gini_after:.4f}, of tokens per byte\n" in done.err
    facts = json.loads(tokctl("train", "-q", *ALL.split(), "--vocab", "280", "--json").out)
    assert set(facts["languages"]["languages"]) == {"en", "sw", "fi"}


def test_inspect_says_who_chose_a_merge() -> None:
    assert tokctl("train", "-q", *ALL.split(), "--vocab", "290", "--global-merges", "2").code == 0
    record = Tokenizer.load("en.bpe.json").model.parity
    assert record is not None
    rows = tokctl("inspect", "en.bpe.json", "--merges", "1:6", "--csv").out.decode().splitlines()
    chosen = [record.language_of(rank) or "all" for rank in range(6)]
    assert [row.split(",")[-1] for row in rows] == ["chosen for", *chosen]
    merges = json.loads(tokctl("inspect", "en.bpe.json", "--merges", "2:3", "--json").out)["merges"]
    assert [merge["language"] for merge in merges] == ["", chosen[2]]
    (word,) = json.loads(tokctl("inspect", "en.bpe.json", "--word", "cat", "--json").out)["words"]
    steps = [step["merge"]["language"] for step in word["steps"]]
    assert steps and set(steps) <= {"en", "sw", "fi", ""}
    tables = tokctl("inspect", "en.bpe.json", "--csv").out.decode()
    assert "\nlanguages of the training\nlanguage,merges chosen,tokens before,after," in tables
    shown = tokctl(
        "train", "-q", *ALL.split(), "--vocab", "259", "--show-steps", "3", "-o", "n"
    ).err
    assert shown.count(", chosen for ") == 3
    pairs = json.loads(tokctl("inspect", "en.bpe.json", "--pairs", "3", "en.txt", "--json").out)[
        "pairs"
    ]
    assert not any(pair["wins"] for pair in pairs)


def test_a_pruned_and_an_extended_model_keep_what_is_theirs() -> None:
    tokenizer = Tokenizer.train({"a": "en.txt", "b": "sw.txt"}, vocab_size=280)
    record = tokenizer.model.parity
    assert record is not None
    smaller = prune(tokenizer.model, 270).parity
    assert smaller is not None and smaller.chosen == record.chosen[:14]
    larger = Tokenizer.train("fi.txt", vocab_size=290, extend=tokenizer)
    assert larger.model.parity == record
    larger.save("larger.json")
    assert Tokenizer.load("larger.json").model == larger.model
    found = json.loads(tokctl("inspect", "larger.json", "--merges", "24:25", "--json").out)
    assert ["language" in merge for merge in found["merges"]] == [True, False]


DAMAGE = {
    "a list": ([], ""),
    "an unknown field": ({"more": 1}, ""),
    "no name": ({"languages": []}, "its languages have no names of their own"),
    "one name twice": ({"languages": ["a", "a"]}, "its languages have no names of their own"),
    "a number as name": ({"languages": ["a", 1]}, ""),
    "too few counts": ({"after": [1]}, "there is not one number for each of its languages"),
    "a count below 0": ({"before": [1, -1]}, "one of the numbers of before is not a count"),
    "a float": ({"chosen": [0.0]}, ""),
    "no such language": (
        {"chosen": [2]}, "one of its merges was chosen by a language that is not named",
    ),
    "more than there are": ({"chosen": [0] * 99}, "languages chose more merges than it has"),
    "a wrong number": ({"global_merges": 2**64}, ""),
    "a text as number": ({"global_merges": "1"}, ""),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_record_is_an_error(name: str) -> None:
    change, why = DAMAGE[name]
    Tokenizer.train({"a": "en.txt", "b": "sw.txt"}, vocab_size=280).save("m.json")
    document = json.loads(Path("m.json").read_text())
    private = document["model"]["tokctl"]
    private["parity"] = {**private["parity"], **change} if isinstance(change, dict) else change
    Path("m.json").write_text(json.dumps(document))
    with raises_code("damaged-model", r"m\.json") as raised:
        Tokenizer.load("m.json")
    assert why in str(raised.value)


TWO = "--lang a=en.txt --lang b=sw.txt"
CASES = [
    ("--lang a=en.txt", "parity-aware training needs two languages or more",
     "name a text for each: --lang fi=fi.txt --lang sw=sw.txt"),
    ("--lang a", "invalid value 'a' for --lang", "write it as --lang fi=fi.txt"),
    ("--parity base en.txt", "--parity needs --lang",
     "add --lang NAME=FILE, or leave --parity out"),
    (f"{TWO} --lang-dev a=en.txt", "b has no development text",
     "give one for each language, or for none: then the training texts are measured"),
    (f"{TWO} --lang-dev c=en.txt", "there is a development text for c, and no text to train on",
     "the languages are a, b"),
    (f"{TWO} --parity-target c=2", "there is a target for c, and no text to train on",
     "the languages are a, b"),
    (f"{TWO} --parity-target a=0", "invalid value 0 for the target of a", "give a number above 0"),
    (f"{TWO} --algo wordpiece",
     "parity-aware training chooses merges by count, and wordpiece is trained by likelihood",
     "take --algo bpe, or --score count"),
    (f"{TWO} --algo unigram",
     "parity-aware training chooses merges by count, and unigram is trained without merges",
     "take --algo bpe"),
    (f"{TWO} --algo boundless",
     "parity-aware training only merges pairs within words, and boundless also merges neighbouring "
     "words", "take --algo bpe"),
    (f"{TWO} --algo picky",
     "parity-aware training only merges pairs within words, and picky also removes tokens",
     "take --algo bpe"),
    (f"{TWO} --algo scaffold",
     "parity-aware training only merges pairs within words, and scaffold also removes tokens",
     "take --algo bpe"),
    (f"{TWO} fi.txt",
     "a text without a name can't be used with --lang: each text there is a language's",
     "leave one of them out"),
    (f"{TWO} --weight en.txt=2",
     "--weight can't be used with --lang: a language is served when it costs most, however long "
     "its text", "leave one of them out"),
    (f"{TWO} --word-counts",
     "--word-counts can't be used with --lang: each language has its own counts",
     "leave one of them out"),
    (f"{TWO} --save-counts x",
     "--save-counts can't be used with --lang: each language has its own counts",
     "leave one of them out"),
    (f"{TWO} --parity-window 5", "--parity-window is for the window", "add --parity window"),
    (f"{TWO} --parity window --parity-limit x", "invalid value 'x' for the window's limit",
     "give a number above 0"),
    (f"{TWO} --global-merges 150%",
     "invalid value '150%' for the merges that all languages choose together",
     "give their number, or a share: 50%"),
    (f"{TWO} --parity-measure lines", "invalid value 'lines' for --parity-measure",
     "choose one of: tokens, bytes, characters"),
    ("--lang a=en.txt --lang b=empty.txt", "the text of b has no pre-token",
     "name a text with words, or lower --min-count"),
    (f"{TWO} --algo wordpiece --tie-break highest-text",
     "the tie break highest-text is for scores by count, and this is likelihood",
     "take another tie break, or the score count (--score count)"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "message", "hint"), CASES, ids=[case[0] for case in CASES])
def test_refused(texts: Path, line: str, message: str, hint: str) -> None:
    Path("empty.txt").write_text("")
    assert tokctl("train", *line.split()) == (2, b"", error(message, hint))
    assert not list(texts.glob("*.json"))


def test_a_model_to_extend_is_refused() -> None:
    assert tokctl("train", "-q", "en.txt", "--vocab", "260", "-o", "m.json").code == 0
    done = tokctl("train", *TWO.split(), "--extend", "m.json")
    assert done.err == error(
        "--extend can't be used with --lang: languages take turns from the first merge on",
        "leave one of them out",
    )
    for wrong in (["en.txt"], "en.txt", {"low": 5}):
        with raises_code("conflict") as caught:
            Tokenizer.train(wrong, parity=ParityOptions())  # type: ignore[arg-type]
        assert "{'fi': 'fi.txt', 'sw': 'sw.txt'}" in str(caught.value.hint)
    with raises_code("conflict"):
        Tokenizer.train({"a": "en.txt", "b": "sw.txt"}, engine=object())  # type: ignore[arg-type]
