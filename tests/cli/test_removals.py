"""Models whose training removed tokens, on the command line: what is shown, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.cli.run import tokctl
from tokctl import Tokenizer

STORY = Path(__file__).parents[2] / "corpora" / "the-lamplighters-atlas.txt"
TEXT = STORY.read_bytes()[:12_000]
SIZE = 700


#: BoundlessBPE with removals.
BOUNDLESS = ("--algo", "boundless", "--threshold", "0.7")


def trained(*arguments: str) -> str:
    """What a training says of its model, m.json."""
    Path("a.txt").write_bytes(TEXT)
    done = tokctl("train", "--vocab", str(SIZE), "-o", "m.json", *arguments, "a.txt")
    assert done.code == 0, done.err
    return done.err


def events() -> dict[str, Any]:
    """Those in the file."""
    found: dict[str, Any] = orjson.loads(Path("m.json").read_bytes())["model"]["tokctl"]["events"]
    return found


def refused(*arguments: str) -> str:
    """What is said about arguments that are an error."""
    done = tokctl(*arguments)
    assert (done.code, done.out) == (2, b"")
    assert done.err.startswith("error: ") and "\nhint: " in done.err
    return done.err


def shown(*arguments: str) -> str:
    done = tokctl("inspect", "m.json", *arguments)
    assert (done.code, done.err) == (0, "")
    return done.out.decode()


def removals(text: str) -> list[dict[str, Any]]:
    """The removals that a text's words go through."""
    words = orjson.loads(shown("--word", text, "--json"))["words"]
    return [step["removal"] for word in words for step in word["steps"] if step["removal"]]


def test_a_training_says_how_many_tokens_it_removed() -> None:
    said = trained("--algo", "picky")
    facts = orjson.loads(shown("--json"))
    removed = facts["removed"]
    assert removed > 0 and f"removed     {removed} tokens" in said
    assert "Hugging Face refuses this file" in said
    assert facts["vocab_size"] == SIZE and facts["merges"] >= SIZE - 256 + removed
    assert f"{removed} tokens removed again" in shown()


def test_a_threshold_decides() -> None:
    counts = []
    for threshold in ("0.2", "0.5", "1"):
        trained("--algo", "picky", "--threshold", threshold)
        assert f"tokens removed from an IoS of {threshold}" in shown()
        counts.append(len(events()["removals"]))
    assert counts == sorted(counts, reverse=True) and counts[0] > counts[-1]


def test_a_removed_token_says_why() -> None:
    trained("--algo", "picky", "--threshold", "0.7")
    step, _, count, whole = next(row for row in events()["removals"] if row[1] == SIZE)
    name = events()["removed"][0]
    data = orjson.loads(shown("--token", name, "--json"))
    assert data["id"] is None and data["kind"] == "removed"
    first = data["removals"][0]
    assert (first["step"], first["count"], first["whole"]) == (step, count, whole)
    assert "no id, removed" in shown("--token", name)
    assert "was removed, so no text is split into it" in refused(
        "inspect", "m.json", "--token", name, "a.txt"
    )


def test_a_word_shows_removals_among_its_steps() -> None:
    trained("--algo", "picky", "--threshold", "0.7")
    removed = removals(TEXT[:900].decode())
    assert removed and not any(one["scaffold"] for one in removed)
    assert " taken apart" in shown("--word", TEXT[:900].decode())
    trained("--algo", "scaffold")
    removed = events()["removed"]
    assert removed
    assert any(one["scaffold"] for one in removals(removed[-1].replace("Ġ", " ")))


def test_a_model_of_superwords_explains_its_removals() -> None:
    said = trained(*BOUNDLESS)
    facts = orjson.loads(shown("--json"))
    removed = events()["removed"]
    assert f"removed     {len(removed)} tokens" in said and "superwords  " in said
    assert facts["removed"] == len(removed) > 0 and facts["supermerges"] > 0
    assert "to bytes" in shown("--recipe") and "from an IoS of 0.7" in shown("--csv")
    first = facts["first_supermerges"][0]["step"]
    assert first == facts["merges"] + 1 == len(events()["merges"]) + 1
    assert shown("--merges", f"{first}:{first}", "--csv").split("\n")[1].startswith(f"{first},")
    _, number, count, whole = events()["removals"][0]
    assert number >= SIZE
    gone = orjson.loads(shown("--token", removed[number - SIZE], "--json"))
    assert gone["kind"] == "removed"
    assert (count, whole) in [(one["count"], one["whole"]) for one in gone["removals"]]
    superword = Tokenizer.load("m.json").tokens[-1].replace("Ġ", " ")
    token = orjson.loads(shown("--token", superword, "--json"))
    assert token["kind"] == "superword"
    steps = [merge["step"] for merge in token["merges"]]
    assert steps == sorted(steps) and steps[0] < first <= steps[-1]
    words = orjson.loads(shown("--word", TEXT[:3000].decode(), "--json"))["words"]
    apart = [step for word in words for step in word["steps"] if step.get("removal")]
    assert apart and all(len(part) == 1 for step in apart for part in step["parts"])
    assert any(word.get("joined") for word in words)


@pytest.mark.parametrize(
    "options", [("--algo", "picky"), ("--algo", "scaffold"), BOUNDLESS], ids=lambda one: one[1]
)
def test_words_end_as_encode_has_them(options: tuple[str, ...]) -> None:
    trained(*options)
    text = TEXT[600:1600].decode()
    steps = orjson.loads(shown("--word", text, "--json"))["words"]
    for word in steps:
        if not word["whole"]:
            state = word["steps"][-1]["state"] if word["steps"] else word["symbols"]
            assert state == word["tokens"]


@pytest.mark.parametrize(
    "options", [("--algo", "picky"), ("--algo", "scaffold"), BOUNDLESS], ids=lambda one: one[1]
)
def test_what_is_refused(options: tuple[str, ...]) -> None:
    trained(*options)
    for question in (("--state", "1"), ("--pairs", "1")):
        assert "its training also removed tokens" in refused(
            "inspect", "m.json", *question, "a.txt"
        )
    said = refused("convert", "m.json", "--to", "huggingface", "-o", "b.json")
    assert "can't express this model" in said
    assert "can't be pruned" in refused("convert", "m.json", "--prune", "260", "-o", "b.json")
    assert "can't be extended" in refused(
        "train", "--extend", "m.json", "--vocab", "300", "a.txt", "-o", "b.json"
    )
    assert not Path("b.json").exists()


def test_compare_trains_them() -> None:
    Path("a.txt").write_bytes(TEXT)
    done = tokctl("compare", "--algo", "bpe,picky,scaffold", "--vocab", "400", "a.txt", "--json")
    assert done.code == 0, done.err
    names = [one["algorithm"] for one in orjson.loads(done.out)["models"]]
    assert names == ["bpe", "picky", "scaffold"]


def test_compare_shows_a_model_of_superwords() -> None:
    trained(*BOUNDLESS)
    done = tokctl("compare", "m.json", "a.txt", "--json")
    (found,) = orjson.loads(done.out)["models"]
    ids = Tokenizer.load("m.json").encode_ids(TEXT.decode())
    assert found["algorithm"] == "boundless" and found["vocab_size"] == SIZE
    assert str(len(ids)) in done.out.decode()


def test_encode_and_decode_on_the_command_line() -> None:
    trained(*BOUNDLESS)
    encoded = tokctl("encode", "--whole", "-m", "m.json", "a.txt")
    tokenizer = Tokenizer.load("m.json")
    assert list(map(int, encoded.out.split())) == tokenizer.encode_ids(TEXT)
    assert tokctl("decode", "-m", "m.json", stdin=encoded.out).out == TEXT + b"\n"
    for options in (["--memory", "16M"], ["--threads", "3"]):
        tokctl("train", "-q", *BOUNDLESS, "--vocab", str(SIZE), "-o", "b.json", "a.txt", *options)
        assert Path("b.json").read_bytes() == Path("m.json").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("--algo", "bpe", "--threshold", "0.5"),
            "--threshold is for boundless and picky, and this is bpe",
        ),
        (("--algo", "picky", "--threshold", "1.01"), "invalid value 1.01 for --threshold"),
        (("--algo", "picky", "--threshold", "0"), "invalid value 0 for --threshold"),
        (("--algo", "boundless", "--threshold", "1.01"), "invalid value 1.01 for --threshold"),
        (("--algo", "boundless", "--threshold", "-1"), "invalid value -1 for --threshold"),
        (("--algo", "superbpe", "--threshold", "0.9"), "and this is superbpe"),
        (("--algo", "picky", "--threshold", "nan"), "invalid value 'nan' for --threshold"),
        (("--algo", "scaffold", "--show-steps", "3"), "--show-steps is for"),
        (("--algo", "picky", "--score", "likelihood"), "--score is for wordpiece"),
    ],
)
def test_options_that_mean_nothing(arguments: tuple[str, ...], said: str) -> None:
    Path("a.txt").write_bytes(TEXT)
    assert said in refused("train", *arguments, "--vocab", str(SIZE), "a.txt", "-o", "m.json")
