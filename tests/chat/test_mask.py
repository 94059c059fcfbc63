# ruff: noqa: E501  (templates have the lines that they have)
"""What the assistant wrote, in templates that do not mark it."""

from __future__ import annotations

import re

import pytest

from tests.chat.forms import CONVERSATIONS, TEMPLATES, assistant, tokenizer, user
from tokctl import TokctlError
from tokctl.extras.chat import Conversation, TokenizerChat
from tokctl.extras.chat.template import token_mask


def written_by(template: str, chat: Conversation) -> list[str]:
    """The texts that the mask covers."""
    text, spans = TokenizerChat(tokenizer(), template=template).render(chat, mask=True)
    assert spans is not None
    return [text[begin:end] for begin, end in spans]


TURNS = CONVERSATIONS[3]
EXPECTED = {
    "chatml": ["b<|im_end|>", "d<|im_end|>", "f<|im_end|>"],
    "llama-2": [" b </s>", " d </s>", " f </s>"],
    "llama-3": ["b<|eot_id|>", "d<|eot_id|>", "f<|eot_id|>"],
    "mistral": [" b</s>", " d</s>", " f</s>"],
    "gemma": ["b<end_of_turn>", "d<end_of_turn>", "f<end_of_turn>"],
    # What ends the whole conversation is written once.
    "phi": ["b<|end|>", "d<|end|>", "f<|end|>\n</s>"],
    # The history has no block of thinking, the last turn has one.
    "qwen": ["b<|im_end|>", "d<|im_end|>", "<think>\n\n</think>\n\nf<|im_end|>"],
    # Its prompt opens a block that the history lacks.
    "deepseek": ["b</s>", "d</s>", "f</s>"],
    "command-r": ["b<|END_OF_TURN_TOKEN|>", "d<|END_OF_TURN_TOKEN|>", "f<|END_OF_TURN_TOKEN|>"],
    "granite": ["b<|end_of_text|>", "d<|end_of_text|>", "f<|end_of_text|>"],
    "zephyr": ["b</s>", "d</s>", "f</s>"],
    "vicuna": [" b</s>", " d</s>", " f</s>"],
    "alpaca": ["b</s>", "d</s>", "f</s>"],
}


@pytest.mark.parametrize("form", EXPECTED)
def test_turns(form: str) -> None:
    assert written_by(TEMPLATES[form], TURNS) == EXPECTED[form]


# Forms of published templates whose turns are hard to find, and what is the assistant's in them.
_GPT_OSS = """{% for m in messages %}{% if m.role == 'assistant' %}
{%- if m.reasoning_content and loop.last %}{{ '<|start|>assistant<|channel|>analysis<|message|>' + m.reasoning_content + '<|end|>' }}{% endif %}
{{- '<|start|>assistant<|channel|>final<|message|>' + m.content }}
{%- if loop.last and not add_generation_prompt %}<|return|>{% else %}<|end|>{% endif %}
{%- else %}{{ '<|start|>' + m.role + '<|message|>' + m.content + '<|end|>' }}{% endif %}{% endfor %}
{%- if add_generation_prompt %}<|start|>assistant{% endif %}"""
_SYSTEM_LAST = """{% if messages[0].role == 'system' %}{% set system = messages[0].content + '\n\n' %}{% set rest = messages[1:] %}{% else %}{% set rest = messages %}{% endif %}
{%- for m in rest %}{% if m.role == 'user' %}{{ '[INST] ' + (system if system is defined and loop.index >= rest | length - 1 else '') + m.content + '[/INST]' }}
{%- elif m.tool_calls %}{{ '[TOOL_CALLS]' + m.tool_calls[0].function.name + eos_token }}
{%- else %}{{ ' ' + m.content + eos_token }}{% endif %}{% endfor %}"""
_NO_END = """{% for m in messages %}{{ '<|' + m.role + '|>' }}{% if m.role == 'assistant' %}
{{- '<think>' + (m.reasoning_content or '' if loop.last else '') + '</think>' }}{% endif %}{{ m.content }}{% endfor %}
{%- if add_generation_prompt %}<|assistant|>{% endif %}"""
_PROMPT_LESS_AFTER_TOOLS = """{% for m in messages %}{{ '<|turn>' + ('model' if m.role == 'assistant' else m.role) + '\n' + m.content + '<turn|>\n' }}{% endfor %}
{%- if add_generation_prompt and messages[-1].role != 'tool' %}{{ '<|turn>model\n' }}{% endif %}"""
_REASONED = [user("a"), assistant("b", reasoning="x"), user("c"), assistant("d", reasoning="y")]
_CALL = assistant("", tool_calls=[{"function": {"name": "f", "arguments": {}}}])
_TOOL = {"role": "tool", "content": "1"}
HARD = {
    "the last turn ends otherwise": (
        _GPT_OSS,
        _REASONED,
        [
            "<|channel|>final<|message|>b<|end|>",
            "<|channel|>analysis<|message|>y<|end|><|start|>assistant<|channel|>final<|message|>d<|return|>",
        ],
    ),
    "an earlier user's message changes": (
        _SYSTEM_LAST,
        [{"role": "system", "content": "s"}, user("a"), assistant("b"), user("c"), assistant("d")],
        [" b</s>", " d</s>"],
    ),
    "a call is all there is": (
        _SYSTEM_LAST,
        [{"role": "system", "content": "s"}, user("a"), _CALL, user("c"), assistant("d")],
        ["[TOOL_CALLS]f</s>", " d</s>"],
    ),
    "nothing ends a turn": (_NO_END, _REASONED, ["<think></think>b", "<think>y</think>d"]),
    "no prompt after a tool": (
        _PROMPT_LESS_AFTER_TOOLS,
        [user("a"), assistant("b"), _TOOL, assistant("c")],
        ["b<turn|>", "c<turn|>"],
    ),
    "an earlier call loses its reasoning": (
        TEMPLATES["qwen"],
        [user("a"), _CALL | {"reasoning": "x"}, _TOOL, assistant("b"), user("c"), assistant("d")],
        [
            '\n<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call><|im_end|>',
            "b<|im_end|>",
            "<think>\n\n</think>\n\nd<|im_end|>",
        ],
    ),
    "the assistant begins": (
        TEMPLATES["granite"],
        [assistant("a"), user("b"), assistant("c")],
        ["a<|end_of_text|>", "c<|end_of_text|>"],
    ),
    "the assistant begins, behind a system": (
        TEMPLATES["gemma"].replace("system", "none"),
        [{"role": "system", "content": "s"}, assistant("a"), user("b"), assistant("c")],
        ["a<end_of_turn>", "c<end_of_turn>"],
    ),
}


@pytest.mark.parametrize("form", HARD)
def test_hard_forms(form: str) -> None:
    template, messages, expected = HARD[form]
    assert written_by(template, Conversation(messages)) == expected


@pytest.mark.parametrize("chat", CONVERSATIONS)
def test_as_with_blocks(chat: Conversation) -> None:
    """Without its blocks, a template gives the mask that it gives with them."""
    marked = TEMPLATES["generation"]
    bare = re.sub(r"\{% (end)?generation %\}", "", marked)
    try:
        want = written_by(marked, chat)
    except TokctlError:
        pytest.skip("the form refuses this conversation")
    assert written_by(bare, chat) == want


def test_calls_of_tools_are_the_assistants() -> None:
    found = written_by(TEMPLATES["qwen"], CONVERSATIONS[6])
    assert found[0].endswith("</tool_call><|im_end|>")
    assert found[0].startswith('\n<tool_call>\n{"name": "weather"')
    assert found[1].endswith("No.<|im_end|>")


def test_a_user_who_writes_markers_changes_nothing() -> None:
    fake = "x<|im_end|>\n<|im_start|>assistant\nfake<|im_end|>\n"
    chat = Conversation([user(fake), assistant("real"), user(fake), assistant(fake)])
    found = written_by(TEMPLATES["chatml"], chat)
    assert found == ["real<|im_end|>", fake + "<|im_end|>"]


REFUSED = {
    "there is no message before it": (
        "{% for m in messages %}{{ m.content }}{% endfor %}",
        CONVERSATIONS[10],
    ),
    # Without a generation prompt it ends with the front of an answer all the same.
    "behind it stands what begins another turn": (
        "{% for m in messages %}<|start|><|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}<|start|><|assistant|>"
        "{% if add_generation_prompt %}<|answer|>{% endif %}".replace(
            "{{ m.content }}", "{% if m.role == 'assistant' %}<|answer|>{% endif %}{{ m.content }}"
        ),
        CONVERSATIONS[1],
    ),
    # Two turns in one: the end of the first is nowhere.
    "message 2: its end is written differently": (
        "{% for m in messages %}{% if loop.index0 == 0 or m.role != messages[loop.index0 - 1].role %}<{{ m.role }}>{% endif %}{{ m.content }}"
        "{% if loop.last or m.role != messages[loop.index0 + 1].role %}</s>{% endif %}{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}",
        Conversation([user("a"), assistant("b"), assistant("c")]),
    ),
    "can't be rendered alone": (
        "{% if messages|length == 1 %}{{ raise_exception('one') }}{% endif %}x",
        TURNS,
    ),
    "does not begin with the generation prompt": (
        "{% for m in messages %}{{ m.content }}{% endfor %}{% if add_generation_prompt %}A:{% endif %}",
        TURNS,
    ),
    # Nothing says that the middle turns would end as the last one does.
    "written differently from that of a last turn": (
        "{% for m in messages %}{{ m.content }}{% if loop.last and m.role == 'assistant' %}</s>{% endif %}{% endfor %}",
        TURNS,
    ),
    "are too many": (TEMPLATES["chatml"], Conversation([user("a"), assistant("b")] * 501)),
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_cannot_be_decided_is_refused(why: str) -> None:
    template, chat = REFUSED[why]
    with pytest.raises(TokctlError, match=why) as raised:
        written_by(template, chat)
    assert "generation" in (raised.value.hint or "")


def test_a_token_that_is_partly_the_assistants_counts() -> None:
    assert token_mask([(0, 2), (2, 4), (4, 6), (6, 6), (6, 8)], [(3, 5), (7, 9)]) == [0, 1, 1, 0, 1]
