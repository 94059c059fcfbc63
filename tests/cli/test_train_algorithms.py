"""train, for every algorithm: what it shows, and which options change the model how."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.cli.run import error, tokctl
from tokctl import Tokenizer
from tokctl.model.presets import DEFAULTS

TOY = (
    b"low low low low low lower lower newest newest newest newest newest newest "
    b"widest widest widest longer\n"
)


def trained(*arguments: str, stdin: bytes = TOY, size: str = "300") -> Tokenizer:
    """The model that these options make."""
    done = tokctl("train", "-q", "--vocab", size, "-o", "m.json", *arguments, stdin=stdin)
    assert (done.code, done.err) == (0, "")
    return Tokenizer.load("m.json")


def notes(*arguments: str) -> list[str]:
    """What train says about the recipe that these options make."""
    done = tokctl("train", "--vocab", "300", "-o", "m.json", *arguments, stdin=TOY)
    assert done.code == 0
    return [
        line.removeprefix("note: ")
        for line in done.err.splitlines()
        if line.startswith("note: ") and "Hugging Face" not in line
    ]


@pytest.mark.parametrize("algorithm", DEFAULTS)
def test_each_algorithm_equals_the_python_api(algorithm: str, sample: str) -> None:
    Path("a.txt").write_text(sample, encoding="utf-8")
    done = tokctl("train", "-q", "--algo", algorithm, "--vocab", "500", "a.txt")
    assert done == (0, f"a.{algorithm}.json\n".encode(), "")
    Tokenizer.train(["a.txt"], algorithm=algorithm, vocab_size=500).save("api.json")
    assert Path(f"a.{algorithm}.json").read_bytes() == Path("api.json").read_bytes()


def shown(*arguments: str) -> str:
    done = tokctl("train", *arguments, stdin=TOY)
    assert done.code == 0
    return re.sub(r"\d+\.\d\d(?=[,\n])", "0.00", done.err)


def test_summary_of_words_pinned() -> None:
    assert shown("--algo", "word", "--vocab", "4") == (
        "read        1 document, 102 bytes\n"
        "pre-tokens  17 (5 distinct)\n"
        "vocabulary  4 (1 special)\n"
        "frequent    newest 6, low 5, widest 3\n"
        "seconds     count 0.00, train 0.00, write 0.00\n"
    )


def test_summary_of_characters_pinned() -> None:
    assert shown("--algo", "char", "--normalize", "delete-newlines") == (
        "read        1 document, 102 bytes\n"
        "pre-tokens  1 (1 distinct)\n"
        "alphabet    12\n"
        "vocabulary  13 (1 special)\n"
        "frequent    e 18, w 16, ␣ 16, s 9, t 9, l 8, o 8, n 7, r 3, i 3\n"
        "seconds     count 0.00, train 0.00, write 0.00\n"
        "stopped at 13 of 10,000: the text has no other character\n"
    )


def test_summary_of_unigram_tells_its_rounds(sample: str) -> None:
    Path("a.txt").write_text(sample, encoding="utf-8")
    done = tokctl("train", "--algo", "unigram", "--vocab", "600", "--show-steps", "2", "a.txt")
    rounds = Tokenizer.load("a.unigram.json").model.rounds
    assert len(rounds) > 2
    sizes = [one.pieces for one in rounds] + [rounds[-1].pieces - rounds[-1].dropped]
    steps, summary = done.err.split("\n\n")
    for number, one in enumerate(rounds[:2], 1):
        title = f"round {number}: {one.pieces:,} pieces, {one.objective:.4f} nats per pre-token\n"
        assert title in steps
        assert f"; unused {one.unused:,}; dropped {one.dropped:,}\n" in steps
    assert "round 3" not in steps
    line = re.search(r"^rounds +(\d+): ([\d,→ ]+) pieces$", summary, re.MULTILINE)
    assert line and int(line[1]) == len(rounds)
    assert [int(size.replace(",", "")) for size in line[2].split(" → ")] == sizes
    assert f"objective   {rounds[0].objective:.4f} to {rounds[-1].objective:.4f} nats" in summary
    assert "\nlikeliest   " in summary
    told = tokctl("train", "-q", "--json", "--algo", "unigram", "--vocab", "600", "a.txt")
    found = orjson.loads(told.out)["rounds"]
    assert [(one["pieces"], one["dropped"]) for one in found] == [
        (one.pieces, one.dropped) for one in rounds
    ]


@pytest.mark.parametrize("algorithm", DEFAULTS)
def test_list_of_options_that_every_algorithm_has(algorithm: str) -> None:
    found = trained("-a", algorithm, "--special-token", "<s>", "--template", "<s> $A").recipe
    assert "<s>" in found.special_tokens
    assert [str(part) for part in found.post_processors] == ["template:<s> $A=>$A:0 $B:1"]
    done = tokctl("encode", "-m", "m.json", "--add-special", "--as", "tokens", stdin=b"low")
    assert done.out.startswith(b"<s> ")


def test_options_of_the_recipe() -> None:
    found = trained("-a", "unigram", "--byte-fallback", "--no-fuse-unknown", size="400").recipe
    assert found.byte_fallback and not found.fuse_unknown
    assert [str(part) for part in found.decoders] == ["metaspace", "byte-fallback"]
    found = trained("--chars", "--fuse-unknown", "--decoder", "fuse,replace:_=> ").recipe
    assert found.fuse_unknown
    assert [str(part) for part in found.decoders] == ["fuse", "replace:_=> "]
    found = trained("-a", "char", "--graphemes").recipe
    assert (found.splitting, found.segmentation) == ("graphemes", "lookup")
    found = trained("--preset", "t5", "--template", "none", "--decoder", "none").recipe
    assert found.post_processors == found.decoders == ()


def test_graphemes_stay_whole() -> None:
    text = "e\u0301👩‍👩‍👧 e\u0301".encode()
    tokenizer = trained("-a", "char", "--graphemes", stdin=text)
    assert tokenizer.encode(text).surfaces == ["e\u0301", "👩‍👩‍👧", " ", "e\u0301"]


def test_options_of_the_alphabet() -> None:
    def alphabet(*arguments: str) -> set[str]:
        return {t for t in trained("--chars", *arguments).tokens if len(t) == 1}

    every = alphabet()
    assert alphabet("--alphabet-limit", "3") < every and len(alphabet("--alphabet-limit", "3")) == 3
    assert len(alphabet("--coverage", "0.5")) < len(every)
    assert alphabet("--initial-alphabet", "☃z") == every | {"☃", "z"}


def test_weights_sample_and_seed() -> None:
    Path("a.txt").write_bytes(b"ab ab\n" * 10)
    Path("b.txt").write_bytes(b"cd cd cd\n" * 10)

    def first(*arguments: str) -> str:
        done = tokctl("train", "-q", "-o", "m.json", "--vocab", "257", *arguments, "a.txt", "b.txt")
        assert done.code == 0, done.err
        return Tokenizer.load("m.json").tokens[-1]

    assert first() == "cd"
    assert first("--weight", "a.txt=2.0") == "ab"

    def record(*arguments: str) -> Any:
        asked = ("train", "-q", "--json", "--force", "--sample", "0.5")
        done = tokctl(*asked, *arguments, "a.txt", "b.txt")
        return orjson.loads(done.out)["training"]

    some = record()
    assert 0 < some["pre_tokens"] < 50
    assert record("--seed", "0") == some
    assert any(record("--seed", str(seed))["sha256"] for seed in range(1, 3))
    totals = {record("--seed", str(seed))["pre_tokens"] for seed in range(1, 9)}
    assert len(totals) > 1


def test_counts() -> None:
    Path("words.tsv").write_bytes(b"hug\t10\npug\t5\npun\t12\nbun\t4\nhugs\t5\n")
    done = tokctl("train", "-q", "--chars", "--vocab", "11", "--word-counts", "words.tsv")
    assert done == (0, b"words.bpe.json\n", "")
    tokenizer = Tokenizer.load("words.bpe.json")
    assert tokenizer.tokens[-3:] == ["ug", "un", "hug"]
    assert [merge.count for merge in tokenizer.merges] == [20, 16, 15]
    bad = tokctl("train", "--word-counts", "-", stdin=b"hug\t10\npug 5\n")
    assert bad.code == 2 and bad.err.startswith("error: stdin: line 2")


def test_extend() -> None:
    small = trained(size="260")
    Path("m.json").rename("old.json")
    done = tokctl("train", "--extend", "old.json", "--vocab", "270", "-o", "m.json", stdin=TOY)
    assert done.code == 0
    assert "vocabulary  270, 260 of them from the model that was extended\n" in done.err
    assert Tokenizer.load("m.json").tokens[:260] == small.tokens
    nothing = tokctl("train", "--extend", "m.json", "--vocab", "270", "-o", "n.json", stdin=TOY)
    assert nothing.code == 2 and not Path("n.json").exists()
    assert "has 270 ids already, so that 270 in all leave nothing to learn" in nothing.err
    refused = tokctl("train", "--extend", "old.json", "--chars", stdin=TOY)
    what = "the model to extend has symbols of bytes"
    assert refused == (2, b"", error(what, "leave --chars out"))
    refused = tokctl("train", "--extend", "old.json", "--preset", "gpt2", stdin=TOY)
    assert refused.code == 2 and "--preset and --extend" in refused.err
    trained("-a", "unigram")
    refused = tokctl("train", "--extend", "m.json", "-o", "n.json", stdin=TOY)
    assert refused.code == 2 and "a unigram model can't be extended" in refused.err


def test_defaults_that_do_not_fit_are_left_out_with_the_reason() -> None:
    assert notes("-a", "unigram") == notes("--preset", "llama2") == notes("-a", "word") == []
    dropped = "the pre-tokenizer bert drops spaces, and decoding can't bring them back"
    assert notes("-a", "unigram", "--pretokenize", "bert") == [
        "the decoder metaspace is left out: nothing shows spaces as metaspace does",
        dropped,
    ]
    assert Tokenizer.load("m.json").recipe.decoders == ()
    assert notes("--preset", "llama2", "--pretokenize", "bert", "--vocab", "900") == [
        "the decoders replace, strip are left out: nothing shows spaces as metaspace does",
        dropped,
    ]
    assert notes("-a", "word", "--pretokenize", "gpt2") == [
        "the decoder join is left out: the tokens hold the spaces themselves"
    ]
    assert notes("--preset", "llama2", "--no-byte-fallback") == [
        "the decoder byte-fallback is left out: there are no bytes to fall back to"
    ]
    # Given by name, a decoder is taken as it is.
    assert notes("-a", "unigram", "--pretokenize", "bert", "--decoder", "join") == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("-a", "wordpiece", "--pretokenize", "metaspace"),
        ("-a", "word", "--pretokenize", "metaspace"),
        ("-a", "char", "--pretokenize", "metaspace"),
        ("--chars", "--pretokenize", "metaspace:first"),
        ("--preset", "bert", "--pretokenize", "metaspace"),
        ("--preset", "bert", "--marker", "continuation:@@"),
        ("-a", "word", "--pretokenize", "gpt2"),
        ("-a", "unigram", "--pretokenize", "none"),
        ("-a", "unigram", "--pretokenize", "metaspace:never"),
    ],
)
def test_the_decoder_fits_what_was_asked_for(arguments: tuple[str, ...]) -> None:
    tokenizer = trained(*arguments)
    text = "low lower newest widest"
    assert tokenizer.decode(tokenizer.encode_ids(text)) == text


def test_the_bar_of_a_unigram_training_counts_rounds() -> None:
    """The trainer tells how many pieces are left; about how many rounds that is, people see."""
    from tokctl.cli.progress import ProgressDisplay
    from tokctl.cli.world import Console

    stderr = io.StringIO()
    world = Console(io.BytesIO(), io.BytesIO(), stderr, stderr_is_terminal=True)
    with ProgressDisplay(world, rounds=True) as bars:
        seen = [bars._round(94, 5000)]
        pieces = (384_837, 102_974, 60_517, 60_517, 45_387, 19_147, 8_077, 5_498, 4_999, 0)
        seen += [bars._round(left, 5000) for left in pieces]
        bars("merge", 94, 5000)
        bars("merge", 384_837, 5000)
        bars("merge", 4_999, 5000)
    assert seen[0] == ("seed", 0, None)
    done = [one[1] for one in seen[1:]]
    assert done[0] == 0 and done == sorted(done)
    totals = [one[2] for one in seen[2:]]
    assert len(set(totals)) == 1 and totals[0] is not None
    assert 0 < done[3] < done[-1] < totals[0] <= 13


@pytest.mark.parametrize("algorithm", [name for name in DEFAULTS if name != "unigram"])
@pytest.mark.parametrize("weight", ["0.001", "1/2", "1.5", "3"])
def test_one_weight_for_all_changes_nothing(algorithm: str, weight: str) -> None:
    """Nothing is too rare for a minimum that nobody asked for. (Unigram's seeds and its
    maximization depend on how much was counted.)"""
    Path("a.txt").write_bytes(TOY)
    plain = trained("--algo", algorithm, "a.txt")
    weighted = trained("--algo", algorithm, "--weight", f"a.txt={weight}", "a.txt")
    assert weighted.tokens == plain.tokens
    assert [merge[:3] for merge in weighted.merges] == [merge[:3] for merge in plain.merges]
