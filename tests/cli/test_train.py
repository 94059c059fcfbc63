"""What train writes, and which recipe its options make."""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.cli.run import names, tokctl
from tests.cli.steps import golden_steps
from tokctl import Texts, Tokenizer
from tokctl.model.presets import BPE, BPE_CHARACTERS, PRESETS, WORDPIECE

TOY = b"low low low low low lower lower newest newest newest newest newest newest " + (
    b"widest widest widest longer"
)


def recipe_of(*arguments: str) -> dict[str, Any]:
    """The recipe in the file that these options make."""
    done = tokctl("train", "-q", "--vocab", "300", "-o", "m.json", *arguments, stdin=TOY)
    assert (done.code, done.err) == (0, "")
    return Tokenizer.load("m.json").recipe.to_dict()


def changed(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in after.items() if before[key] != value}


def test_stdout_is_the_path_alone(folder: Path) -> None:
    Path("book.of.txt").write_bytes(TOY)
    done = tokctl("train", "-q", "--vocab", "270", "book.of.txt")
    assert done == (0, b"book.of.bpe.json\n", "")
    done = tokctl("train", "-q", "--algo", "wordpiece", "--vocab", "40", stdin=TOY)
    assert done == (0, b"stdin.wordpiece.json\n", "")
    done = tokctl("train", "-q", "--vocab", "270", "-o", "x.json", "-", stdin=TOY)
    assert done == (0, b"x.json\n", "")
    assert names(folder) == ["book.of.bpe.json", "book.of.txt", "stdin.wordpiece.json", "x.json"]
    assert Path("x.json").read_bytes() == Path("book.of.bpe.json").read_bytes()


def test_summary_pinned() -> None:
    done = tokctl("train", "--chars", "--pretokenize", "whitespace", "--marker", "end:_", stdin=TOY)
    assert done.code == 0
    shown = re.sub(r"\d+\.\d\d", "0.00", done.err)
    assert shown == (
        "read        1 document, 101 bytes\n"
        "pre-tokens  17 (5 distinct)\n"
        "alphabet    12\n"
        "merges      18\n"
        "vocabulary  31 (1 special)\n"
        "first       e s, es t, est _, l o, lo w\n"
        "last        wid est_, low er_, lo n, lon g, long er_\n"
        "seconds     count 0.00, merge 0.00, write 0.00\n"
        "stopped at 31 of 10,000: no pair is left to merge\n"
        "note: Hugging Face refuses this file: it has no word marker that is a symbol of its "
        "own (_)\n"
    )


def test_summary_says_why_it_stopped() -> None:
    limits = ("--min-frequency", "3", "--max-token-length", "2")
    done = tokctl("train", "--vocab", "300", *limits, stdin=TOY)
    assert done.err.endswith(
        "stopped at 263 of 300: no pair that occurs 3 times and makes a token of 2 at most "
        "is left to merge\n"
    )
    enough = tokctl("train", "--vocab", "260", "--force", stdin=TOY)
    assert "all merges  e s" in enough.err and "stopped" not in enough.err


def test_verbose_adds_recipe_and_digest() -> None:
    done = tokctl("train", "--verbose", "--vocab", "260", stdin=TOY)
    assert "\nrecipe      bpe: bpe, bytes, gpt2, count, lowest-id\n" in done.err
    assert re.search(r"\nsha256      [0-9a-f]{64}\n", done.err)


def test_json_is_one_object() -> None:
    done = tokctl("train", "-q", "--vocab", "300", "--json", stdin=TOY)
    facts = orjson.loads(done.out)
    assert list(facts["seconds"]) == ["count", "merge", "write"]
    del facts["seconds"]
    record = Tokenizer.load("stdin.bpe.json").model.training
    assert record is not None and record.exhausted
    assert facts == {
        "path": "stdin.bpe.json",
        "replaced": False,
        "recipe": orjson.loads(orjson.dumps(BPE.to_dict())),
        "vocab_size": 275,
        "merges": 19,
        "training": orjson.loads(orjson.dumps(asdict(record))),
    }


def test_the_same_bytes_again_and_on_any_threads(sample: str) -> None:
    Path("a.txt").write_text(sample, encoding="utf-8")
    for threads in ("1", "2", "5"):
        tokctl("train", "-q", "--vocab", "600", "--threads", threads, "-o", threads, "a.txt")
    piped = tokctl("train", "-q", "--vocab", "600", stdin=sample.encode())
    files = [Path(name).read_bytes() for name in ("1", "2", "5", piped.out.decode().strip())]
    assert len(set(files)) == 1


def test_it_equals_the_python_api(sample: str) -> None:
    Path("a.txt").write_text(sample, encoding="utf-8")
    Path("b.txt").write_bytes(TOY)
    tokctl("train", "-q", "--algo", "wordpiece", "--vocab", "500", "a.txt", "b.txt")
    Tokenizer.train(["a.txt", "b.txt"], algorithm="wordpiece", vocab_size=500).save("api.json")
    assert Path("a.wordpiece.json").read_bytes() == Path("api.json").read_bytes()


def test_default_recipes_keep_their_names() -> None:
    assert recipe_of() == recipe_of("--bytes") == BPE.to_dict()
    assert recipe_of("--chars") == BPE_CHARACTERS.to_dict()
    assert recipe_of("-a", "wordpiece", "--score", "likelihood") == WORDPIECE.to_dict()
    for name, (_, recipe) in PRESETS.items():
        assert recipe_of("--preset", name) == recipe.to_dict()


@pytest.mark.parametrize(
    ("arguments", "changes"),
    [
        (("--tie-break", "first-seen"), {"tie_break": "first-seen"}),
        (
            ("--special-token", "<s>", "--special-token", "</s>"),
            {"special_tokens": ["<s>", "</s>"]},
        ),
        (
            ("--pretokenize", r"regex:\w+"),
            {"pre_tokenizers": [{"kind": "split", "pattern": r"\w+", "regex": True}]},
        ),
        (
            ("--pretokenize", "digits,cl100k", "--normalize", "nfc", "--normalize", "lowercase"),
            {
                "pre_tokenizers": [{"kind": "digits"}, {"kind": "cl100k"}],
                "normalizers": [{"kind": "nfc"}, {"kind": "lowercase"}],
            },
        ),
    ],
)
def test_bpe_options(arguments: tuple[str, ...], changes: dict[str, Any]) -> None:
    found = changed(BPE.to_dict(), recipe_of(*arguments))
    assert {"name": "custom", **changes} == found


def test_character_options() -> None:
    before = BPE_CHARACTERS.to_dict()
    found = recipe_of("--chars", "--unk-token", "<unk>", "--special-token", "<s>")
    assert changed(before, found) == {
        "name": "custom",
        "unk_token": "<unk>",
        "special_tokens": ["<unk>", "<s>"],
    }
    found = recipe_of("--chars", "--unk-token", "", "--marker", "start:Ġ")
    assert changed(before, found) == {
        "name": "custom",
        "unk_token": None,
        "special_tokens": [],
        "marker": {"kind": "start", "text": "Ġ"},
    }
    found = recipe_of("--preset", "gpt2", "--chars")
    assert changed(before, found) == {
        "name": "custom",
        "special_tokens": ["[UNK]", "<|endoftext|>"],
    }


def test_wordpiece_options() -> None:
    before = WORDPIECE.to_dict()

    def found(*arguments: str) -> dict[str, Any]:
        made = changed(before, recipe_of("--algo", "wordpiece", *arguments))
        assert made.pop("name") == "custom"
        return made

    hugging_face = {"score": "count", "alphabet": "characters", "tie_break": "lowest-id"}
    assert found("--score", "count") == hugging_face
    own_rule = found("--score", "count", "--tie-break", "rewritten-last")
    assert own_rule == {**hugging_face, "tie_break": "rewritten-last"}
    replay = {"segmentation": "replay", "max_input_chars": None}
    assert found("--segment", "merges") == replay
    assert found("--unknown", "char", "--max-input-chars", "7") == {
        "unknown": "char",
        "max_input_chars": 7,
    }
    assert found("--marker", "continuation:_") == {"marker": {"kind": "continuation", "text": "_"}}


def test_limits_reach_the_trainer() -> None:
    limits = ("--min-count", "2", "--min-frequency", "3", "--max-token-length", "4")
    tokctl("train", "-q", "--vocab", "261", *limits, stdin=TOY)
    record = Tokenizer.load("stdin.bpe.json").model.training
    assert record is not None
    assert (record.vocab_size, record.min_count, record.min_frequency) == (261, 2, 3)
    assert (record.max_token_length, record.distinct_pre_tokens) == (4, 4)


def test_initial_tokens_and_whole_characters() -> None:
    Path("terms.txt").write_bytes("\ufeffwidow\r\n\n 最低\n".encode())
    given = ("--initial-token", " lowest", "--initial-tokens-from", "terms.txt")
    done = tokctl("train", "--vocab", "300", *given, "--whole-characters", stdin=TOY)
    assert done.code == 0
    assert "no pair that keeps characters whole is left to merge" in done.err
    tokenizer = Tokenizer.load("stdin.bpe.json")
    record = tokenizer.model.training
    assert record is not None and record.whole_characters
    assert record.initial_tokens == (" lowest", "widow", " 最低")
    for text in record.initial_tokens:
        assert len(tokenizer.encode_ids(text)) == 1
    shown = tokctl("inspect", "stdin.bpe.json").out.decode()
    assert "300 ids, characters kept whole, the initial tokens ␣lowest, widow, ␣最低," in shown
    again = Tokenizer.train(
        Texts([TOY]),
        vocab_size=300,
        whole_characters=True,
        initial_tokens=[" lowest", "widow", " 最低"],
    )
    assert again.merges == tokenizer.merges


def test_list_presets() -> None:
    done = tokctl("train", "--list-presets")
    assert (done.code, done.err) == (0, "")
    assert [line.split("  ")[0] for line in done.out.decode().splitlines()] == list(PRESETS)
    in_json = orjson.loads(tokctl("train", "--list-presets", "--json").out)
    assert [entry["name"] for entry in in_json] == list(PRESETS)


@pytest.mark.parametrize("case", golden_steps())
def test_show_steps(case: tuple[list[str], str]) -> None:
    arguments, shown = case
    done = tokctl("train", "-q", *arguments, stdin=TOY)
    assert (done.code, done.err) == (0, shown)


def test_show_steps_of_a_large_text(sample: str) -> None:
    done = tokctl("train", "-q", "--show-steps", "1", "--vocab", "300", stdin=sample.encode())
    before, after = done.err.split("step 1: ")
    assert before.count("\n") == 22 and re.search(r"\n  … and [\d,]+ more\n$", before)
    lines = after.splitlines()
    assert re.fullmatch(r"\S+ \+ \S+ → \S+  \(count [\d,]+\)", lines[0])
    assert all(re.match(r" +[\d,]+ \* ", line) for line in lines[1:21])
    assert re.fullmatch(r"  … and [\d,]+ more changed", lines[21])
    assert len(before.splitlines()) == 22
