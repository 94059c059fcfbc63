"""The chat template of a model, and the ids of conversations.

A template gets the same variables as from `PreTrainedTokenizerBase.apply_chat_template` of
transformers 5: the messages without null fields, reasoning under the names that templates read, and
the special tokens by role.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tokctl.core.errors import BadInput, BadModel, BadOption
from tokctl.core.files import note_read
from tokctl.core.values import brief
from tokctl.formats.huggingface.folder import TEMPLATE, TEMPLATES, roles_of
from tokctl.formats.registry import TOKENIZER_CONFIG

if TYPE_CHECKING:
    from tokctl.extras.chat.sandbox import JinjaTemplate, Rendering
    from tokctl.tokenizer import Tokenizer

#: Fields of a message that hold the assistant's reasoning. Templates read the first or the second.
_REASONING = ("reasoning_content", "thinking", "reasoning")
#: The deepest nesting of messages, tools, documents and options.
_DEEPEST = 100
#: Template variables that a conversation sets itself, so that options can't.
_RESERVED_NAMES = ("messages", "tools", "documents", "add_generation_prompt")


@dataclass
class Conversation:
    """A conversation to render.

    Attributes:
        messages: dicts with `role` and usually `content`.
        tools: descriptions of functions, as JSON schemas; None: no tools.
        documents: dicts with `title` and `text`; None: no documents.
        options: other variables of the template, such as `enable_thinking`.
    """

    messages: Sequence[Mapping[str, Any]]
    tools: Sequence[Mapping[str, Any]] | None = None
    documents: Sequence[Mapping[str, Any]] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


class RenderedChat(NamedTuple):
    """A conversation as text.

    Attributes:
        text: the rendered text.
        spans: start and end of each span that the assistant wrote, in characters; None: not
            requested.
    """

    text: str
    spans: list[tuple[int, int]] | None = None


class ChatEncoding(NamedTuple):
    """A conversation as ids.

    Attributes:
        ids: the ids of the whole text.
        assistant_mask: for each id, 1 if the assistant wrote at least a part of the token, else 0;
            None: not requested.
        text: the rendered text.
    """

    ids: list[int]
    assistant_mask: list[int] | None
    text: str


class TokenizerChat:
    """A tokenizer with a chat template, which renders and encodes conversations.

    Attributes:
        tokenizer: the tokenizer that encodes the texts.
        generation_prompt: whether a text ends with the prompt that makes the model answer.
        options: variables of the template, for every conversation.

    Example:
        chat = TokenizerChat(tokenizer, generation_prompt=True)
        ids = chat.encode(Conversation([{"role": "user", "content": "Hi"}])).ids
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        *,
        template: str | None = None,
        path: str | Path | None = None,
        name: str = "the chat template",
        generation_prompt: bool = False,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """Find and compile the chat template.

        Args:
            tokenizer: the tokenizer that encodes the texts.
            template: a Jinja template, or the name of one of the model's templates. None: the
                model's own: `tool_use` for conversations with tools, `default` for all others.
            path: the path of the model. If the model brought no template, the files next to it are
                read.
            name: the name of the template in messages.
            generation_prompt: end each text with the prompt that makes the model answer.
            options: variables of the template, for every conversation.

        Raises:
            TokctlError: jinja2 is missing, or the template is missing or not valid.
        """
        self.tokenizer = tokenizer
        self.generation_prompt = generation_prompt
        self.options = _plain_value(dict(options or {}), "the options")
        for reserved in _RESERVED_NAMES:
            if reserved in self.options:
                raise BadOption(
                    f"{reserved!r} can't be an option of a template", "leave it out", "bad-value"
                )
        texts = _files(tokenizer, path)
        self._roles = _roles(tokenizer, texts)
        self._templates = templates = _templates(texts)
        if template is not None:
            # An identifier alone would render no message, so an unknown one is a misspelt name.
            if template.isidentifier() and template not in templates:
                named = ", ".join(sorted(filter(None, templates)))
                raise BadOption(
                    f"there is no chat template {template!r}; this model has "
                    f"{named or 'none with a name'}",
                    "--chat-template takes a file, or the name of one of the model's templates",
                    "unknown-name",
                )
            self._templates = {"": templates.get(template, template)}
        self._name = name
        if not self._templates:
            raise BadOption(
                "this model has no chat template",
                "put chat_template.jinja beside the model, or give a template with --chat-template "
                "FILE",
                "missing-option",
            )
        if not {"", "default"} & {*self._templates}:
            names = ", ".join(sorted(self._templates))
            raise BadOption(
                f"this model has several chat templates, and none is the default: {names}",
                "--chat-template NAME takes one of them",
                "missing-option",
            )
        self.template_for(None)

    @property
    def facts(self) -> dict[str, Any]:
        """The settings that the rendered texts depend on, as a JSON object."""
        return {
            "templates": self._templates,
            "generation_prompt": self.generation_prompt,
            "options": self.options,
        }

    def template_for(self, tools: object) -> JinjaTemplate:
        """Return the template for conversations with these tools; None: without tools."""
        from tokctl.extras.chat.sandbox import compiled

        names = ("", *(("tool_use",) if tools is not None else ()), "default")
        name = next(name for name in names if name in self._templates)
        return compiled(self._templates[name], self._name)

    def values(self, chat: Conversation) -> dict[str, Any]:
        """Return the template's variables for a conversation.

        Raises:
            TokctlError: `chat` is not a valid conversation.
        """
        for kind, value in (("tools", chat.tools), ("documents", chat.documents)):
            if value is not None and not _is_list_of_objects(value):
                raise BadInput(
                    f"invalid value {brief(value)} for the {kind}",
                    "give a list of objects",
                    "bad-record",
                )
        if not _is_list_of_objects(chat.messages) or not chat.messages:
            kind = "are none" if chat.messages == [] else f"can't be {brief(chat.messages)}"
            raise BadInput(
                f"the messages {kind}",
                'give a list of objects: [{"role": "user", "content": "…"}]',
                "bad-record",
            )
        if not isinstance(chat.options, Mapping):
            raise BadInput(
                f"invalid value {brief(chat.options)} for the options",
                "give an object",
                "bad-record",
            )
        values = {**self._roles, **self.options, **_plain_value(dict(chat.options), "the options")}
        values["messages"] = [_message(message) for message in chat.messages]
        values["tools"] = _plain_value(chat.tools, "the tools")
        values["documents"] = _plain_value(chat.documents, "the documents")
        values["add_generation_prompt"] = self.generation_prompt
        return values

    def render(self, chat: Conversation, *, mask: bool = False) -> RenderedChat:
        """Return the text of a conversation; with `mask`, also the spans that the assistant wrote.

        Raises:
            TokctlError: the template fails, refuses the conversation, or does not show which
                part is the assistant's.
        """
        template, values = self.template_for(chat.tools), self.values(chat)
        rendering: Rendering = template.render(values)
        if not mask:
            return RenderedChat(rendering.text)
        if template.marks_generation:
            return RenderedChat(rendering.text, rendering.spans)
        from tokctl.extras.chat.mask import assistant_spans

        return RenderedChat(rendering.text, assistant_spans(template, values, rendering.text))

    def encode(self, chat: Conversation, *, mask: bool = False) -> ChatEncoding:
        """Return the ids of a conversation; with `mask`, also the mask of the assistant's tokens.

        Special tokens are recognized in the whole text.

        Raises:
            TokctlError: see `render`; or a character has no id.
        """
        text, spans = self.render(chat, mask=mask)
        if spans is None:
            return ChatEncoding(self.tokenizer.encode_ids(text, special="all"), None, text)
        encoding = self.tokenizer.encode(text, special="all")
        return ChatEncoding(encoding.ids, token_mask(encoding.offsets, spans), text)


def token_mask(offsets: Iterable[tuple[int, int]], spans: Sequence[tuple[int, int]]) -> list[int]:
    """Return 1 for each token that overlaps one of the spans, else 0.

    Args:
        offsets: start and end of each token in characters, in ascending order.
        spans: start and end of each span in characters, in ascending order.
    """
    mask, position = [], 0
    for start, end in offsets:
        while position < len(spans) and start >= spans[position][1]:
            position += 1
        mask.append(int(position < len(spans) and end > spans[position][0]))
    return mask


def encode_chat(
    tokenizer: Tokenizer,
    messages: Sequence[Mapping[str, Any]],
    *,
    tools: Sequence[Mapping[str, Any]] | None = None,
    documents: Sequence[Mapping[str, Any]] | None = None,
    template: str | None = None,
    generation_prompt: bool = False,
    assistant_mask: bool = False,
    **options: Any,
) -> ChatEncoding:
    """Return the ids of a conversation, rendered by the model's chat template.

    Text and ids equal those of `apply_chat_template` in transformers 5.

    Args:
        tokenizer: the tokenizer that encodes the text.
        messages: dicts with `role` and `content`.
        tools: functions that the model can call, as JSON schemas.
        documents: dicts with `title` and `text`.
        template: a Jinja template, or the name of one of the model's templates; None: the model's
            own.
        generation_prompt: end the text with the prompt that makes the model answer.
        assistant_mask: also return which tokens the assistant wrote.
        options: other variables of the template, such as `enable_thinking=False`.

    Raises:
        TokctlError: jinja2 is missing; the model has no template; the template fails, refuses the
            conversation, or does not show which part is the assistant's.

    Example:
        chat = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}]
        encoded = encode_chat(tokenizer, chat, assistant_mask=True)
        encoded.ids, encoded.assistant_mask  # two lists of the same length
    """
    chat = TokenizerChat(tokenizer, template=template, generation_prompt=generation_prompt)
    return chat.encode(Conversation(messages, tools, documents, options), mask=assistant_mask)


# -- the variables of a template ----------------------------------------------------------------


def _is_list_of_objects(value: object) -> bool:
    return (
        isinstance(value, Sequence)
        and not isinstance(value, (str, bytes))
        and all(isinstance(item, Mapping) or hasattr(item, "model_dump") for item in value)
    )


def _message(message: Any) -> dict[str, Any]:
    values = _plain_value(message, "a message")
    fields = {name: value for name, value in values.items() if value is not None}
    reasoning = next((fields[name] for name in _REASONING if name in fields), None)
    return (
        fields
        if reasoning is None
        else {"thinking": reasoning, **fields, "reasoning_content": reasoning}
    )


def _plain_value(value: Any, owner: str, depth: int = 0) -> Any:
    """Return a copy of `value` that consists of JSON's types only.

    A template can call the methods of every object that it gets, so it gets no other types. `owner`
    names the value in errors.
    """
    if value is None or type(value) in (str, int, float, bool):
        return value
    if depth > _DEEPEST:
        raise BadInput(
            f"{owner} can't be nested so deeply",
            "check that no list or object contains itself",
            "too-large",
        )
    for kind in (str, int, float):
        if isinstance(value, kind):
            return kind(value)
    if isinstance(value, Mapping):
        return {
            _plain_value(name, owner, depth + 1): _plain_value(item, owner, depth + 1)
            for name, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_plain_value(item, owner, depth + 1) for item in value]
    if callable(dump := getattr(value, "model_dump", None)):
        return _plain_value(dump(), owner, depth + 1)
    raise BadInput(
        f"{owner} can't hold {brief(value)}",
        "use only texts, numbers, lists, objects, true, false and null",
        "bad-record",
    )


# -- the files of a model -----------------------------------------------------------------------


def _files(tokenizer: Tokenizer, path: str | Path | None) -> dict[str, str]:
    """Return the extra files of a model by name; without a template, those next to its file."""
    texts = tokenizer.model.extra_files
    folder = None if path is None or str(path).startswith("hf:") else Path(path)
    if _templates(texts) or folder is None or not folder.is_file():
        return texts
    files = dict(texts)
    for name in (TOKENIZER_CONFIG, TEMPLATE):
        file = folder.parent / name
        note_read(file)
        try:
            files[name] = file.read_text(encoding="utf-8")
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            raise BadModel(
                f"can't read {file}: {error}",
                "give a template with --chat-template FILE",
                "unreadable",
            ) from None
    return files


def _config(texts: Mapping[str, str]) -> dict[str, Any]:
    try:
        config = json.loads(texts.get(TOKENIZER_CONFIG, "{}"))
    except (ValueError, RecursionError) as error:
        raise BadModel(
            f"{TOKENIZER_CONFIG} is not valid JSON: {error}",
            "give a template with --chat-template FILE",
            "damaged-model",
        ) from None
    return config if isinstance(config, dict) else {}


def _templates(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the chat templates by name.

    `default` is used unless another name is given. Template files take precedence over
    `tokenizer_config.json`, as in transformers.
    """
    templates = {"default": texts[TEMPLATE]} if TEMPLATE in texts else {}
    for name, text in texts.items():
        if name.startswith(f"{TEMPLATES}/"):
            templates[name.removeprefix(f"{TEMPLATES}/").removesuffix(".jinja")] = text
    if templates:
        return templates
    configured = _config(texts).get("chat_template")
    if isinstance(configured, str):
        return {"default": configured}
    entries = configured if isinstance(configured, list) else []
    if isinstance(configured, dict):
        entries = [{"name": name, "template": text} for name, text in configured.items()]
    return {
        entry["name"]: entry["template"]
        for entry in entries
        if isinstance(entry, dict)
        and isinstance(entry.get("name"), str)
        and isinstance(entry.get("template"), str)
    }


#: Template variables of the special tokens.
_NAMES = {f"{role}_token" for role in ("bos", "eos", "unk", "sep", "pad", "cls", "mask")}


def _roles(tokenizer: Tokenizer, texts: Mapping[str, str]) -> dict[str, str]:
    """Return the special tokens by role, like `special_tokens_map` of transformers."""
    roles = roles_of(tokenizer.model)
    if TOKENIZER_CONFIG in texts and TOKENIZER_CONFIG not in tokenizer.model.extra_files:
        # The roles in the file next to the model replace those guessed from the tokens' spellings.
        for name, value in _config(texts).items():
            content = value.get("content") if isinstance(value, dict) else value
            if isinstance(content, str) and content in tokenizer.vocabulary:
                roles[name] = content
    return {name: text for name, text in roles.items() if text and name in _NAMES}
