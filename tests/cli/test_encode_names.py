"""`encode --as tokens` and `--as jsonl`: what Rust writes is what `Encoding` gives, one text after
the other."""

from __future__ import annotations

from pathlib import Path
from unicodedata import category

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cli.run import tokctl
from tests.cli.test_encode_blocks import NAMES, Models
from tokctl import Tokenizer
from tokctl._native import NO_ID

#: Parts of texts: known and unknown characters, what JSON escapes, every kind of white space.
PARTS = ["low", "er", " ", "  ", "\t", "\n", "\r", "é", "東京", "🙂", '"', "\\", "\x00", "\x7f",
         "\u2028", "\xa0", "<|end|>", "<|", "newest widest", "sea-chest" * 9, "\n\n"]  # fmt: skip
TEXTS = st.lists(st.lists(st.sampled_from(PARTS), max_size=12).map("".join), min_size=1, max_size=4)


def escaped(token: str) -> str:
    def written(char: str) -> str:
        hidden = char.isspace() or category(char) == "Cc"
        return char.encode("unicode_escape").decode() if hidden else char

    return "".join("\\x20" if char == " " else written(char) for char in token)


def expected(tokenizer: Tokenizer, form: str, text: str, special: str, eos: str | None) -> str:
    """The row of a text, token by token."""
    encoding = tokenizer.encode(text.encode(), special=special)
    ids, tokens = list(encoding.raw_ids), list(encoding.tokens)
    if eos is not None:
        ids.append(tokenizer.vocabulary[eos])
        tokens.append(eos)
    if form == "tokens":
        return " ".join(map(escaped, tokens))
    return orjson.dumps({"ids": ids, "tokens": tokens}).decode()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    texts=TEXTS,
    form=st.sampled_from(["tokens", "jsonl"]),
    name=st.sampled_from(NAMES),
    options=st.tuples(st.booleans(), st.booleans(), st.sampled_from([None, "l"]), st.booleans()),
)
def test_rows_are_those_of_encodings(
    models: Models,
    texts: list[str],
    form: str,
    name: str,
    options: tuple[bool, bool, str | None, bool],
) -> None:
    whole, takes_special, eos, two = options
    special = "all" if takes_special and name == "bytes" else "none"
    tokenizer = Tokenizer.load(models[name])
    rows: list[list[str]] = []  # of each file, and of the records
    for number, text in enumerate(texts):
        Path(f"{number}.txt").write_bytes(text.encode())
        rows.append([text] if whole else text.split("\n"))
    Path("a.jsonl").write_bytes(b"".join(orjson.dumps({"text": t}) + b"\n" for t in texts))
    paths = [f"{number}.txt" for number in range(len(texts))]
    command = ["encode", "-m", models[name], "--as", form, "--threads", "2" if two else "1"]
    command += ["--special", special] * (special != "none") + ["--whole"] * whole
    command += [] if eos is None else ["--eos", eos]
    lacking = form == "jsonl" and any(
        NO_ID in tokenizer.encode(text.encode(), special=special).raw_ids for text in texts
    )
    done = tokctl(*command, *paths)
    from_records = tokctl(*command, "a.jsonl")
    if lacking:
        assert done.code == from_records.code == 2
        assert "is not in the model's alphabet" in done.err
        assert "is not in the model's alphabet" in from_records.err
        return
    shown = []
    for text, lines in zip(texts, rows, strict=True):
        made = [expected(tokenizer, form, line, special, eos) for line in lines]
        if not whole and (not text or text.endswith("\n")):
            made.pop()  # behind the last line feed there is no line
        if made:
            shown.append("\n".join(made))
    together = "\n".join(shown)
    ended = whole or texts[-1].endswith("\n")
    if whole:
        assert done.out.decode() == together + "\n"
    else:
        assert done.out.decode().rstrip("\n") == together.rstrip("\n")
        assert done.out.endswith(b"\n") == ended or not texts[-1]
    records = [expected(tokenizer, form, text, special, eos) + "\n" for text in texts]
    assert from_records.out.decode() == "".join(records)


@pytest.mark.parametrize("whole", [(), ("--whole",)])
def test_shards_of_json_hold_the_same_lines(
    models: Models, folder: Path, whole: tuple[str, ...]
) -> None:
    Path("a.txt").write_bytes(b"low lower\n\nnewest widest\n" * 30 + b"low")
    Path("b.txt").write_bytes(b"")
    Path("c.txt").write_bytes("a naïve café\n".encode() * 9)
    Path("d.txt").write_bytes(b"lower")
    several = ("a.txt", "b.txt", "c.txt", "d.txt")
    for name in ("bytes", "wordpiece"):
        command = ("encode", "-m", models[name], "--as", "jsonl", *whole)
        plain = tokctl(*command, *several).out
        done = tokctl(*command, "--shard-size", "50", "-o", name, *several)
        assert done.code == 0, done.err
        shards = sorted(folder.joinpath(name).glob("shard-*.jsonl"))
        assert len(shards) > 1
        # In a shard, every line has an end.
        assert b"".join(path.read_bytes() for path in shards) == plain.removesuffix(b"\n") + b"\n"
        for path in shards[:-1]:
            ids = [orjson.loads(line)["ids"] for line in path.read_bytes().splitlines()]
            assert sum(map(len, ids)) >= 50
