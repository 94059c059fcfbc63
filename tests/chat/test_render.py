"""Text, ids and masks of chat templates equal those of transformers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.chat.forms import CONVERSATIONS, TEMPLATES, tokenizer, user, written
from tests.errors import raises_code
from tokctl import TokctlError, Tokenizer, encode_chat
from tokctl.extras.chat import Conversation, TokenizerChat


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("chat") / "model")


@pytest.fixture(scope="module")
def theirs(folder: Path) -> Any:
    transformers = pytest.importorskip("transformers")
    return transformers.AutoTokenizer.from_pretrained(folder)


@pytest.mark.parametrize("prompt", [False, True])
@pytest.mark.parametrize("form", TEMPLATES)
def test_equal_to_transformers(folder: Path, theirs: Any, form: str, prompt: bool) -> None:
    source = TEMPLATES[form]
    chat = TokenizerChat(Tokenizer.load(folder), template=source, generation_prompt=prompt)
    masks = form == "generation"
    equal = 0
    for each in CONVERSATIONS:
        options: dict[str, Any] = {
            "tools": each.tools,
            "documents": each.documents,
            "chat_template": source,
            "add_generation_prompt": prompt,
            **each.options,
        }
        try:
            text = theirs.apply_chat_template(each.messages, tokenize=False, **options)
        except Exception:
            with pytest.raises(TokctlError):
                chat.render(each)
            continue
        ids = theirs.apply_chat_template(
            each.messages, return_dict=True, return_assistant_tokens_mask=masks, **options
        )
        encoded = chat.encode(each, mask=masks)
        assert encoded.text == text
        assert encoded.ids == list(ids["input_ids"])
        if masks:
            assert encoded.assistant_mask == list(ids["assistant_masks"])
        equal += 1
    assert equal >= 4


@pytest.mark.parametrize("place", ["file", "configuration", "list", "several"])
def test_the_template_that_came_with_the_model(tmp_path: Path, place: str) -> None:
    import json

    transformers = pytest.importorskip("transformers")
    folder = written(tmp_path / "model")
    config = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
    first, second = TEMPLATES["chatml"], TEMPLATES["zephyr"]
    if place == "file":
        (folder / "chat_template.jinja").write_text(first, encoding="utf-8")
        config["chat_template"] = second  # the file comes first
    elif place == "configuration":
        config["chat_template"] = first
    elif place == "list":
        config["chat_template"] = [
            {"name": "default", "template": first},
            {"name": "tool_use", "template": second},
        ]
    else:
        (folder / "chat_template.jinja").write_text(first, encoding="utf-8")
        (folder / "additional_chat_templates").mkdir()
        more = folder / "additional_chat_templates" / "tool_use.jinja"
        more.write_text(second, encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    theirs, ours = transformers.AutoTokenizer.from_pretrained(folder), Tokenizer.load(folder)
    for tools in (None, [{"type": "function", "function": {"name": "f"}}]):
        messages = [user("hi"), {"role": "assistant", "content": "you"}]
        text = theirs.apply_chat_template(messages, tools=tools, tokenize=False)
        assert encode_chat(ours, messages, tools=tools).text == text
        assert ours.encode_chat(messages, tools=tools).text == text
    if place in ("list", "several"):
        named = encode_chat(ours, messages, template="tool_use").text
        assert named == theirs.apply_chat_template(
            messages, chat_template="tool_use", tokenize=False
        )


def test_the_files_beside_a_model_file(folder: Path) -> None:
    """A `tokenizer.json` brings no files along; what lies beside it counts all the same."""
    model = folder / "tokenizer.json"
    beside = folder / "chat_template.jinja"
    beside.write_text(TEMPLATES["zephyr"], encoding="utf-8")
    try:
        chat = TokenizerChat(Tokenizer.load(model), path=model)
        assert chat.render(Conversation([user("x")])).text == "<|user|>\nx</s>\n"
    finally:
        beside.unlink()
    with raises_code("missing-option"):
        TokenizerChat(Tokenizer.load(model), path=model)


class Message:
    """As the clients of services have them."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields

    def model_dump(self) -> dict[str, Any]:
        return self.fields


def test_messages_that_are_objects() -> None:
    tok = tokenizer()
    given = [Message(role="user", content="hi", tool_calls=None)]
    want = encode_chat(tok, [user("hi")], template=TEMPLATES["chatml"])
    assert encode_chat(tok, given, template=TEMPLATES["chatml"]) == want  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("messages", "told"),
    [
        ([], "the messages are none"),
        ("hi", "the messages can't be 'hi'"),
        (["hi"], "the messages can't be"),
        ([{"role": "user", "content": object()}], "a message can't hold"),
    ],
)
def test_what_is_no_conversation(messages: Any, told: str) -> None:
    with pytest.raises(TokctlError, match=told):
        encode_chat(tokenizer(), messages, template=TEMPLATES["chatml"])


def test_a_circle_is_an_error() -> None:
    message: dict[str, Any] = user("x")
    message["self"] = message
    with raises_code("too-large"):
        encode_chat(tokenizer(), [message], template=TEMPLATES["chatml"])


def test_now_can_be_fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    template = "{{ strftime_now('%Y-%m-%d') }}"
    assert encode_chat(tokenizer(), [user("x")], template=template).text == "1970-01-01"
