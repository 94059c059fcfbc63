# ruff: noqa: E501  (templates have the lines that they have)
"""Chat templates in the forms of published ones, written for these tests, and conversations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tokctl import Tokenizer, preset
from tokctl.extras.chat import Conversation

#: A template for each form.
TEMPLATES = {
    "chatml": """{% for m in messages %}
{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>' + '\\n' }}
{%- endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}
""",
    "llama-2": """{% if messages[0]['role'] == 'system' %}
{% set rest = messages[1:] %}{% set first = '<<SYS>>\\n' + messages[0]['content'] + '\\n<</SYS>>\\n\\n' %}
{% else %}{% set rest = messages %}{% set first = '' %}{% endif %}
{% for m in rest %}
{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}
{{ raise_exception('roles must alternate') }}
{% endif %}
{% set text = first + m['content'] if loop.index0 == 0 else m['content'] %}
{% if m['role'] == 'user' %}{{ bos_token + '[INST] ' + text | trim + ' [/INST]' }}
{%- else %}{{ ' ' + text | trim + ' ' + eos_token }}{% endif %}
{%- endfor %}""",
    "llama-3": """{{ bos_token }}{% set today = date_string | default('26 Jul 2024') %}
{%- for m in messages %}{{ '<|start_header_id|>' ~ m['role'] ~ '<|end_header_id|>\\n\\n' }}
{%- if tools and loop.first %}{% for t in tools %}{{ t | tojson(indent=4) }}{{ '\\n\\n' }}{% endfor %}{% endif %}
{%- if m.tool_calls %}{% for call in m.tool_calls %}
{{- '{"name": "' + call.function.name + '", "parameters": ' }}{{ call.function.arguments | tojson }}{{ '}' }}
{%- endfor %}{% else %}{{ m['content'] | trim }}{% endif %}<|eot_id|>
{%- endfor %}{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}""",
    "mistral": """{{ bos_token }}{% set ns = namespace(index=0) %}
{%- for m in messages %}
{%- if m.role == 'user' %}
{%- if tools is not none and loop.last %}[AVAILABLE_TOOLS]{{ tools | tojson }}[/AVAILABLE_TOOLS]{% endif %}
{{- '[INST] ' + m.content + '[/INST]' }}{% set ns.index = ns.index + 1 %}
{%- elif m.role == 'tool' %}{{ '[TOOL_RESULTS]' + m.content | string + '[/TOOL_RESULTS]' }}
{%- elif m.tool_calls is defined %}
{%- for call in m.tool_calls %}[TOOL_CALLS]{{ call.function | tojson }}{% endfor %}{{ eos_token }}
{%- elif m.role == 'assistant' %}{{ ' ' + m.content | trim + eos_token }}
{%- else %}{{ raise_exception('only user, assistant and tool') }}{% endif %}
{%- endfor %}""",
    "gemma": """{{ bos_token }}{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}
{% for m in messages %}{% set role = 'model' if m.role == 'assistant' else m.role %}
{{ '<start_of_turn>' + role + '\\n' + m.content | trim + '<end_of_turn>\\n' }}
{%- endfor %}{% if add_generation_prompt %}{{ '<start_of_turn>model\\n' }}{% endif %}""",
    "phi": """{% for m in messages %}{{ '<|' ~ m.role ~ '|>\\n' ~ m.content ~ '<|end|>\\n' }}{% endfor %}
{%- if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% else %}{{ eos_token }}{% endif %}""",
    "qwen": """{% if tools %}{{ '<|im_start|>system\\n<tools>' }}
{%- for tool in tools %}{{ '\\n' ~ (tool | tojson) }}{% endfor %}{{ '\\n</tools><|im_end|>\\n' }}{% endif %}
{%- set ns = namespace(last=0) %}
{%- for m in messages %}{% if m.role == 'user' %}{% set ns.last = loop.index0 %}{% endif %}{% endfor %}
{%- for m in messages %}
{%- if m.role == 'assistant' %}
{%- set content = m.content or '' %}{% set thought = '' %}
{%- if m.reasoning_content is string %}{% set thought = m.reasoning_content %}
{%- elif '</think>' in content %}
{%- set thought = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
{%- set content = content.split('</think>')[-1].lstrip('\\n') %}{% endif %}
{{- '<|im_start|>assistant\\n' }}
{%- if loop.index0 > ns.last and (loop.last or thought) %}
{{- '<think>\\n' + thought.strip('\\n') + '\\n</think>\\n\\n' + content.lstrip('\\n') }}
{%- else %}{{ content }}{% endif %}
{%- for call in m.tool_calls or [] %}
{{- '\\n<tool_call>\\n{"name": "' ~ call.function.name ~ '", "arguments": ' ~ (call.function.arguments | tojson) ~ '}\\n</tool_call>' }}
{%- endfor %}{{ '<|im_end|>\\n' }}
{%- elif m.role == 'tool' %}{{ '<|im_start|>user\\n<tool_response>\\n' ~ m.content ~ '\\n</tool_response><|im_end|>\\n' }}
{%- else %}{{ '<|im_start|>' ~ m.role ~ '\\n' ~ m.content ~ '<|im_end|>\\n' }}{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}
{%- if enable_thinking is defined and enable_thinking is false %}{{ '<think>\\n\\n</think>\\n\\n' }}{% endif %}
{%- endif %}""",
    "deepseek": """{% if not add_generation_prompt is defined %}{% set add_generation_prompt = false %}{% endif %}
{%- set ns = namespace(system='') %}{% for m in messages if m.role == 'system' %}{% set ns.system = m.content %}{% endfor %}
{{- bos_token }}{{ ns.system }}
{%- for m in messages %}{% if m.role == 'user' %}{{ '<|User|>' + m.content }}
{%- elif m.role == 'assistant' and m.content %}{{ '<|Assistant|>' + m.content.split('</think>')[-1] + eos_token }}{% endif %}
{%- endfor %}{% if add_generation_prompt %}{{ '<|Assistant|><think>\\n' }}{% endif %}""",
    "command-r": """{{ bos_token }}{% for d in documents or [] %}{{ 'Document: ' ~ loop.index0 ~ '\\n' }}
{%- for name, value in d.items() %}{{ name ~ ': ' ~ value ~ '\\n' }}{% endfor %}{% endfor %}
{%- for m in messages %}{% if m.role == 'tool' %}{% continue %}{% endif %}
{{- '<|START_OF_TURN_TOKEN|><|' ~ {'user': 'USER', 'assistant': 'CHATBOT', 'system': 'SYSTEM'}[m.role] ~ '_TOKEN|>' ~ (m.content or '') | trim ~ '<|END_OF_TURN_TOKEN|>' }}
{%- endfor %}{% if add_generation_prompt %}<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>{% endif %}""",
    "granite": """{% macro turn(role, text) %}{{ '<|start_of_role|>' + role + '<|end_of_role|>' + text + '<|end_of_text|>\\n' }}{% endmacro %}
{%- if messages[0].role != 'system' %}{{ turn('system', 'Today is ' + strftime_now('%Y') | length | string + ' digits.') }}{% endif %}
{%- for m in messages %}{{ turn(m.role, m.content or '') }}{% endfor %}
{%- if add_generation_prompt %}{{ '<|start_of_role|>assistant<|end_of_role|>' }}{% endif %}""",
    "zephyr": """{% for m in messages %}
{% if m['role'] == 'user' %}
{{ '<|user|>\\n' + m['content'] + eos_token }}
{% elif m['role'] == 'system' %}
{{ '<|system|>\\n' + m['content'] + eos_token }}
{% elif m['role'] == 'assistant' %}
{{ '<|assistant|>\\n'  + m['content'] + eos_token }}
{% endif %}
{% if loop.last and add_generation_prompt %}
{{ '<|assistant|>' }}
{% endif %}
{% endfor %}""",
    "vicuna": """{% for m in messages %}{% if m.role == 'system' %}{{ m.content + ' ' }}
{%- elif m.role == 'user' %}{{ 'USER: ' + m.content + ' ' }}{% else %}{{ 'ASSISTANT: ' + m.content + eos_token }}{% endif %}
{%- endfor %}{% if add_generation_prompt %}ASSISTANT:{% endif %}""",
    "alpaca": """{{ bos_token }}{% for m in messages %}{% if m.role == 'user' %}{{ '### Instruction: ' + m.content + '\\n\\n' }}
{%- elif m.role == 'assistant' %}{{ '### Response: ' + m.content + eos_token }}{% else %}{{ m.content + '\\n\\n' }}{% endif %}
{%- endfor %}{% if add_generation_prompt %}{{ '### Response: ' }}{% endif %}""",
    "generation": """{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' }}
{%- if m.role == 'assistant' %}{% generation %}{{ m.content + '<|im_end|>' }}{% endgeneration %}{{ '\\n' }}
{%- else %}{{ m.content + '<|im_end|>\\n' }}{% endif %}{% endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}""",
    "typed": """{% for m in messages %}{{ m.role }}:
{%- if m.content is string %}{{ m.content }}{% else %}
{%- for part in m.content | selectattr('type', 'equalto', 'text') %}{{ part['text'] }}{% if not loop.last %} {% endif %}{% endfor %}{% endif %}
{%- if m.role == 'assistant' %}{% break %}{% endif %}{{ '\\n' }}{% endfor %}""",
}

_TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "weather",
            "description": 'The weather <now> in "a" city & so on',
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
        },
    }
]
_CALL = [
    {
        "id": "abc",
        "type": "function",
        "function": {"name": "weather", "arguments": {"city": "Zürich", "n": 12345678901234567890}},
    }
]


def user(text: Any) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text, **more}


_SYSTEM = {"role": "system", "content": "Be brief. 日本 <b>&"}
_TOOL = {"role": "tool", "tool_call_id": "abc", "name": "weather", "content": '{"t": 3}'}
_DOCUMENTS = [{"title": "One", "text": "some text"}, {"title": "Two", "text": "more"}]

CONVERSATIONS = [
    Conversation([user("Hi")]),
    Conversation([user("Hi"), assistant("Hello there.")]),
    Conversation([_SYSTEM, user(" Hi \n"), assistant(" Yes,\n\nyes "), user("So"), assistant("é")]),
    Conversation([user("a"), assistant("b"), user("c"), assistant("d"), user("e"), assistant("f")]),
    Conversation(
        [user("2+2"), assistant("<think>\nsum\n</think>\n\n4"), user("no"), assistant("5")]
    ),
    Conversation(
        [user("1"), assistant("2", reasoning="sum"), user("3"), assistant("4", thinking="more")]
    ),
    Conversation(
        [user("rain?"), assistant(None, tool_calls=_CALL), _TOOL, assistant("No.")], _TOOLS
    ),
    Conversation([user("who?"), assistant("me")], None, _DOCUMENTS),
    Conversation([user([{"type": "text", "text": "a"}, {"type": "image"}]), assistant("b")]),
    Conversation(
        [user("<|im_end|> </s> 🙂"), assistant("[INST]")], options={"enable_thinking": False}
    ),
    Conversation([assistant("first"), user("x"), assistant("y"), assistant("z")]),
]

SPECIAL = ("<s>", "</s>", "<|im_start|>", "<|im_end|>", "<|end|>", "[INST]", "[/INST]")


def tokenizer() -> Tokenizer:
    """A byte-level model with the tokens that many templates write."""
    recipe = preset("gpt2").with_special_tokens(SPECIAL)
    return Tokenizer.train({"Ġthe": 5, "assistant": 4, "user": 4}, vocab_size=300, recipe=recipe)


def written(folder: Path, template: str | None = None) -> Path:
    """The folder of that model, with a template beside it."""
    tokenizer().save(folder, "huggingface-folder")
    if template is not None:
        (folder / "chat_template.jinja").write_text(template, encoding="utf-8")
    return folder
