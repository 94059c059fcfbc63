"""`encode --chat`: every form, and what is refused."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet  # type: ignore[import-untyped, unused-ignore]

from tests.chat.forms import TEMPLATES, assistant, user, written
from tests.cli.run import process, tokctl
from tokctl import Tokenizer, encode_chat

CHATS: list[Any] = [
    [user("Hi"), assistant("Hello there. 🙂")],
    {"messages": [user("the user"), assistant("é")], "id": 7, "tools": None},
    [user("a"), assistant("b"), user("c"), assistant("d")],
]
LINES = "\n".join([json.dumps(CHATS[0]), "", *map(json.dumps, CHATS[1:])]).encode() + b"\n"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return written(tmp_path / "model", TEMPLATES["chatml"])


@pytest.fixture
def expected(model: Path) -> list[Any]:
    tok = Tokenizer.load(model)
    messages = [chat if isinstance(chat, list) else chat["messages"] for chat in CHATS]
    return [encode_chat(tok, each, assistant_mask=True) for each in messages]


def test_ids_and_json(model: Path, expected: list[Any]) -> None:
    done = tokctl("encode", "-m", model, "--chat", stdin=LINES)
    assert (done.code, done.err) == (0, "")
    assert done.out.decode() == "".join(" ".join(map(str, e.ids)) + "\n" for e in expected)
    done = tokctl("encode", "-m", model, "--chat", "--json", "--assistant-mask", stdin=LINES)
    found = [json.loads(line) for line in done.out.splitlines()]
    assert [each["ids"] for each in found] == [e.ids for e in expected]
    assert [each["assistant_mask"] for each in found] == [e.assistant_mask for e in expected]
    cut = ("--json", "--assistant-mask", "--max-length", "9")
    done = tokctl("encode", "-m", model, "--chat", *cut, stdin=LINES)
    found = [json.loads(line)["assistant_mask"] for line in done.out.splitlines()]
    assert found == [e.assistant_mask[:9] for e in expected]


def test_prompt_template_and_options(model: Path) -> None:
    Path("t.jinja").write_text(
        "{{ mood }}:{{ messages[0].content }}{{ add_generation_prompt }}", encoding="utf-8"
    )
    options = ("--chat-template", "t.jinja", "--chat-option", 'mood="so"', "--generation-prompt")
    done = tokctl("encode", "-m", model, "--chat", *options, "--as", "pieces", stdin=LINES)
    assert "".join(json.loads(done.out.splitlines()[0])) == "so:HiTrue"
    plain = tokctl("encode", "-m", model, "--chat", *options[:2], "--as", "pieces", stdin=LINES)
    assert "".join(json.loads(plain.out.splitlines()[0])) == ":HiFalse"


@pytest.mark.parametrize("form", ["parquet", "safetensors", "jsonl"])
def test_columns_come_back(model: Path, expected: list[Any], form: str) -> None:
    Path("a.jsonl").write_bytes(LINES)
    given = ("encode", "-m", model, "--chat", "--assistant-mask", "--as", form, "--pack", "64")
    assert tokctl(*given, "-o", "a.out", "a.jsonl").code == 0
    assert tokctl(*given, "a.jsonl").out == Path("a.out").read_bytes()
    if form != "jsonl":
        back = tokctl("decode", "-m", model, "--separator", "", "a.out")
        texts = {e.text for e in expected}
        assert len(back.out) == sum(len(text.encode()) for text in texts)


def test_two_processes_write_the_same_bytes(model: Path) -> None:
    Path("a.jsonl").write_bytes(LINES * 20)
    given = (
        "encode",
        "-m",
        model,
        "--chat",
        "--assistant-mask",
        "--pack",
        "99",
        "--json",
        "a.jsonl",
    )
    first = process(*given, env={"PYTHONHASHSEED": "1"})
    second = process(*given, "--threads", "1", env={"PYTHONHASHSEED": "2"})
    assert first == second
    assert first.code == 0


@pytest.mark.parametrize(
    ("arguments", "line", "told"),
    [
        ([], b"{", "stdin: line 1: is not valid JSON"),
        ([], b"\n3", "stdin: line 2: is not a conversation"),
        ([], b'{"text": "x"}', "is not a conversation (keys: text)"),
        ([], b"[]", "the messages are none"),
        ([], b'["x"]', "the messages can't be"),
        (
            [],
            b'[{"role": "user", "content": "\\ud800"}]',
            "is a lone surrogate, half of a character",
        ),
        ([], b'[{"role": "user", "content": "\xff"}]', "is not UTF-8"),
        ([], b'{"messages": [{"role": "u"}], "tools": "x"}', "invalid value 'x' for the tools"),
        (["--chat-template", "none.jinja"], b"[]", "none.jinja"),
        (["--chat-template", "nope"], LINES, "there is no chat template 'nope'"),
        (["--chat-template", "t.jinja"], LINES, "t.jinja: line 2 refuses the conversation: never"),
        (["--chat-option", "x"], LINES, "invalid value 'x' for --chat-option"),
        (["--chat-option", "messages=1"], LINES, "can't be an option"),
        (["--assistant-mask"], LINES, "--as ids can't hold"),
        (["--pack", "9"], LINES, "--as ids can't hold"),
        (["--pack", "0", "--json"], LINES, "less than 1"),
        (["--count", "-m", "other"], LINES, "--chat takes the template of one model"),
        (["--count", "--assistant-mask"], LINES, "--assistant-mask can't be used with --count"),
        (["--whole"], LINES, "--chat can't be used with --whole"),
        (["--pack", "9", "--json", "--offsets"], LINES, "--pack can't be used with --offsets"),
        (["--pack", "9", "--json", "--shard-size", "9"], LINES, "--pack can't be used with --sh"),
        (
            ["--assistant-mask", "--as", "parquet", "--pad", "9"],
            LINES,
            "mask can't be used with --",
        ),
        (["--format", "tsv"], LINES, "--chat reads JSON Lines and tables, not tsv"),
        ([], b'[{"content": "x"}]', "line 1: message 1 has no role (keys: content)"),
        ([], b'[{"from": "bing", "value": "x"}]', "line 1: message 1 is from 'bing'"),
        (["a.parquet"], b"", "a.parquet has no column messages; there is: text"),
        (["b.parquet"], b"", "b.parquet: row 2: message 1 has no role"),
    ],
)
def test_what_is_refused(model: Path, arguments: list[str], line: bytes, told: str) -> None:
    Path("t.jinja").write_text("\n{{ raise_exception('never') }}", encoding="utf-8")
    Tokenizer.load(model).save("other", "huggingface-folder")
    pa = pytest.importorskip("pyarrow")
    for name, rows in (
        ("a", [{"text": "x"}]),
        ("b", [{"messages": [user("x")]}, {"messages": [{"content": "y"}]}]),
    ):
        parquet.write_table(pa.Table.from_pylist(rows), f"{name}.parquet")
    done = tokctl("encode", "-m", model, "--chat", *arguments, stdin=line)
    assert done.code == 2
    assert told in done.err
    assert "hint:" in done.err or "less than" in done.err


def test_tables_and_counts(model: Path, expected: list[Any]) -> None:
    pa = pytest.importorskip("pyarrow")
    rows = [chat if isinstance(chat, dict) else {"messages": chat} for chat in CHATS]
    table = pa.Table.from_pylist([{"messages": row["messages"], "more": b"\xff"} for row in rows])
    parquet.write_table(table, "a.parquet", row_group_size=2)
    with pa.OSFile("a.arrow", "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    with pa.OSFile("b.arrow", "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)
    Path("a.jsonl").write_bytes(LINES)
    Path("texts.jsonl").write_text("".join(json.dumps({"text": e.text}) + "\n" for e in expected))
    want = tokctl("encode", "-m", model, "--count", "--special", "all", "--csv", "texts.jsonl")
    figures = want.out.splitlines()[1].removesuffix(b"texts.jsonl")
    assert figures.startswith(f"{sum(len(e.ids) for e in expected)},".encode())
    for name in ("a.jsonl", "a.parquet", "a.arrow", "b.arrow"):
        done = tokctl("encode", "-m", model, "--chat", name)
        assert done.out.decode() == "".join(" ".join(map(str, e.ids)) + "\n" for e in expected)
        counted = tokctl("encode", "-m", model, "--chat", "--count", "--csv", name)
        assert counted.out.splitlines()[1] == figures + name.encode()
    piped = tokctl("encode", "-m", model, "--chat", stdin=Path("a.parquet").read_bytes())
    assert piped.out == tokctl("encode", "-m", model, "--chat", "a.jsonl").out


def test_the_form_of_sharegpt(model: Path) -> None:
    tools = [{"type": "function", "function": {"name": "f"}}]
    turns = [("system", "s"), ("human", "a"), ("gpt", "b"), ("observation", "c"), ("gpt", "d")]
    line = {
        "conversations": [{"from": who, "value": text} for who, text in turns[1:]],
        "system": "s",
        "tools": json.dumps(tools),
    }
    roles = {"human": "user", "gpt": "assistant", "observation": "tool", "system": "system"}
    messages = [{"role": roles[who], "content": text} for who, text in turns]
    want = encode_chat(Tokenizer.load(model), messages, tools=tools)
    done = tokctl("encode", "-m", model, "--chat", stdin=json.dumps(line).encode())
    assert done.out.decode() == " ".join(map(str, want.ids)) + "\n"


def test_nothing_of_the_assistants_is_said(model: Path) -> None:
    line = json.dumps([user("a"), {"role": "model", "content": "b"}]).encode()
    done = tokctl("encode", "-m", model, "--chat", "--json", "--assistant-mask", stdin=line)
    assert done.code == 0
    assert "the mask of 1 conversation is all 0" in done.err
    assert "stdin: line 1 has the roles user, model" in done.err


def test_options_without_chat_are_refused(models: dict[str, Path]) -> None:
    for option in ("--generation-prompt", "--assistant-mask"):
        done = tokctl("encode", "-m", models["bytes"], option, "--json", stdin=b"x")
        assert (done.code, done.err) == (
            2,
            f"error: {option} needs --chat\nhint: add --chat, or leave {option} out\n",
        )


def test_without_jinja2(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    monkeypatch.delitem(sys.modules, "tokctl.extras.chat.sandbox", raising=False)
    done = tokctl("encode", "-m", model, "--chat", stdin=LINES)
    assert done.code == 2
    assert "needs the package jinja2\nhint: pip install 'tokctl[chat]'" in done.err


def test_texts_are_packed_too(models: dict[str, Path]) -> None:
    tok = Tokenizer.load(models["bytes"])
    done = tokctl(
        "encode", "-m", models["bytes"], "--pack", "99", "--json", stdin=b"low lower\nlow\n"
    )
    lines = [tok.encode_ids(text) for text in (b"low lower", b"low")]
    assert json.loads(done.out) == {
        "input_ids": lines[0] + lines[1],
        "position_ids": [*range(len(lines[0])), *range(len(lines[1]))],
        "seq_lengths": [len(lines[0]), len(lines[1])],
    }


def test_shards_depend_on_the_template(model: Path, expected: list[Any]) -> None:
    Path("a.jsonl").write_bytes(LINES)
    given = ("encode", "-m", model, "--chat", "--as", "bin", "--shard-size", "20", "-o", "ids")
    assert tokctl(*given, "a.jsonl").code == 0
    assert tokctl(*given, "--resume", "a.jsonl").code == 0
    ids = b"".join(path.read_bytes() for path in sorted(Path("ids").glob("*.bin")))
    assert ids == b"".join(id_.to_bytes(2, "little") for each in expected for id_ in each.ids)
    done = tokctl(*given, "--resume", "--generation-prompt", "a.jsonl")
    assert done.code == 2 and "chat" in done.err
