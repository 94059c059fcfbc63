"""The chat template of a model, and the ids of conversations.

What a template sees is what `PreTrainedTokenizerBase.apply_chat_template` of transformers 5 shows
it: the messages without fields that are null, reasoning under the names that templates read, the
special tokens by their roles.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tokctl.errors import TokctlError
from tokctl.files import note_read
from tokctl.formats.huggingface.folder import CONFIG, TEMPLATE, TEMPLATES, roles_of
from tokctl.values import brief

if TYPE_CHECKING:
    from tokctl.chat.sandbox import JinjaTemplate, Rendering
    from tokctl.tokenizer import Tokenizer

#: Fields of a message that hold an assistant's reasoning. Templates read the first, or the second.
_REASONING = ("reasoning_content", "thinking", "reasoning")
#: What messages, tools and so on can be nested in each other.
_DEEPEST = 100
#: Names that a conversation's own values have in a template.
_OWN = ("messages", "tools", "documents", "add_generation_prompt")


@dataclass
class Conversation:
    """What is rendered.

    Attributes:
        messages: each a dict with `role` and, as a rule, `content`.
        tools: descriptions of functions, as JSON schemas; None: there are none.
        documents: dicts with `title` and `text`; None: there are none.
        options: further names that the template knows, such as `enable_thinking`.
    """

    messages: Sequence[Mapping[str, Any]]
    tools: Sequence[Mapping[str, Any]] | None = None
    documents: Sequence[Mapping[str, Any]] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


class RenderedChat(NamedTuple):
    """A conversation as text.

    Attributes:
        text: what is encoded.
        spans: what the assistant wrote, as begin and end in characters; None: not asked for.
    """

    text: str
    spans: list[tuple[int, int]] | None = None


class ChatEncoding(NamedTuple):
    """A conversation as ids.

    Attributes:
        ids: of the whole text.
        assistant_mask: 1 for each token that the assistant wrote, even in part, else 0; None: not
            asked for.
        text: what was encoded.
    """

    ids: list[int]
    assistant_mask: list[int] | None
    text: str


class TokenizerChat:
    """A tokenizer with a chat template.

    Attributes:
        tokenizer: what encodes.
        template: a Jinja template, or the name of one of several that came with the model; None:
            the model's own, of which `tool_use` is for conversations with tools.
        generation_prompt: ends with what makes the model answer.
        options: names that the template knows, for every conversation.
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
        """`path` is where the model was read from: its template can lie beside it. `name` is that
        of `template` in messages.

        Raises:
            TokctlError: jinja2 is missing, there is no template, or it can't be read.
        """
        self.tokenizer = tokenizer
        self.generation_prompt = generation_prompt
        self.options = _plain(dict(options or {}), "the options")
        for own in _OWN:
            if own in self.options:
                raise TokctlError(f"{own!r} can't be an option of a template", "leave it out")
        texts = _files(tokenizer, path)
        self._roles = _roles(tokenizer, texts)
        self._templates = known = _templates(texts)
        if template is not None:
            # A name alone renders no message: where it is not known, it is a mistake.
            if template.isidentifier() and template not in known:
                named = ", ".join(sorted(filter(None, known)))
                raise TokctlError(
                    f"there is no chat template {template!r}; this model has "
                    f"{named or 'none with a name'}",
                    "--chat-template takes a file, or the name of one of the model's templates",
                )
            self._templates = {"": known.get(template, template)}
        self._name = name
        if not self._templates:
            raise TokctlError(
                "this model has no chat template",
                "it stands in chat_template.jinja or tokenizer_config.json beside the model; "
                "--chat-template FILE gives one",
            )
        if not {"", "default"} & {*self._templates}:
            names = ", ".join(sorted(self._templates))
            raise TokctlError(
                f"this model has several chat templates, and none is the default: {names}",
                "--chat-template NAME takes one of them",
            )
        self.template_for(None)

    @property
    def facts(self) -> dict[str, Any]:
        """What the texts depend on beside the conversations, as JSON can hold it."""
        return {
            "templates": self._templates,
            "generation_prompt": self.generation_prompt,
            "options": self.options,
        }

    def template_for(self, tools: object) -> JinjaTemplate:
        """The template for conversations with tools, or without (None)."""
        from tokctl.chat.sandbox import compiled

        names = ("", *(("tool_use",) if tools is not None else ()), "default")
        name = next(name for name in names if name in self._templates)
        return compiled(self._templates[name], self._name)

    def values(self, chat: Conversation) -> dict[str, Any]:
        """What the template sees of a conversation.

        Raises:
            TokctlError: it is not a conversation.
        """
        for what, value in (("tools", chat.tools), ("documents", chat.documents)):
            if value is not None and not _is_list_of_objects(value):
                raise TokctlError(
                    f"the {what} can't be {brief(value)}", "they are a list of objects"
                )
        if not _is_list_of_objects(chat.messages) or not chat.messages:
            what = "are none" if chat.messages == [] else f"can't be {brief(chat.messages)}"
            raise TokctlError(
                f"the messages {what}",
                'they are a list of objects: [{"role": "user", "content": "…"}]',
            )
        if not isinstance(chat.options, Mapping):
            raise TokctlError(f"the options can't be {brief(chat.options)}", "they are an object")
        values = {**self._roles, **self.options, **_plain(dict(chat.options), "the options")}
        values["messages"] = [_message(message) for message in chat.messages]
        values["tools"] = _plain(chat.tools, "the tools")
        values["documents"] = _plain(chat.documents, "the documents")
        values["add_generation_prompt"] = self.generation_prompt
        return values

    def render(self, chat: Conversation, *, mask: bool = False) -> RenderedChat:
        """The text of a conversation; with `mask`, also what the assistant wrote in it.

        Raises:
            TokctlError: the template fails, refuses the conversation, or does not show which
                part is the assistant's.
        """
        template, values = self.template_for(chat.tools), self.values(chat)
        done: Rendering = template.render(values)
        if not mask:
            return RenderedChat(done.text)
        if template.marks_generation:
            return RenderedChat(done.text, done.spans)
        from tokctl.chat.mask import assistant_spans

        return RenderedChat(done.text, assistant_spans(template, values, done.text))

    def encode(self, chat: Conversation, *, mask: bool = False) -> ChatEncoding:
        """The ids of a conversation. Special tokens are found in all of its text.

        Raises:
            TokctlError: as `render`; a character has no id.
        """
        text, spans = self.render(chat, mask=mask)
        if spans is None:
            return ChatEncoding(self.tokenizer.encode_ids(text, special="all"), None, text)
        encoding = self.tokenizer.encode(text, special="all")
        return ChatEncoding(encoding.ids, token_mask(encoding.offsets, spans), text)


def token_mask(offsets: Iterable[tuple[int, int]], spans: Sequence[tuple[int, int]]) -> list[int]:
    """1 for each token that lies in one of the spans, even in part. Both are in order."""
    mask, place = [], 0
    for start, end in offsets:
        while place < len(spans) and start >= spans[place][1]:
            place += 1
        mask.append(int(place < len(spans) and end > spans[place][0]))
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
    """The ids of a conversation, rendered by the model's chat template: those of
    `apply_chat_template` of transformers.

    Args:
        messages: dicts with `role` and `content`.
        tools: functions that the model may call, as JSON schemas.
        documents: dicts with `title` and `text`.
        template: a Jinja template, or the name of one of several of the model's.
        generation_prompt: ends with what makes the model answer.
        assistant_mask: also says which tokens the assistant wrote.
        options: further names that the template knows, such as `enable_thinking=False`.

    Raises:
        TokctlError: jinja2 is missing; the model has no template; the template fails, refuses the
            conversation, or does not show which part is the assistant's.
    """
    chat = TokenizerChat(tokenizer, template=template, generation_prompt=generation_prompt)
    return chat.encode(Conversation(messages, tools, documents, options), mask=assistant_mask)


# -- what a template sees -----------------------------------------------------------------------


def _is_list_of_objects(value: object) -> bool:
    return (
        isinstance(value, Sequence)
        and not isinstance(value, (str, bytes))
        and all(isinstance(each, Mapping) or hasattr(each, "model_dump") for each in value)
    )


def _message(message: Any) -> dict[str, Any]:
    plain = _plain(message, "a message")
    found = {name: value for name, value in plain.items() if value is not None}
    said = next((found[name] for name in _REASONING if name in found), None)
    return found if said is None else {"thinking": said, **found, "reasoning_content": said}


def _plain(value: Any, what: str, depth: int = 0) -> Any:
    """The value, made of the types of JSON alone: a template can call methods of whatever it
    sees."""
    if value is None or type(value) in (str, int, float, bool):
        return value
    if depth > _DEEPEST:
        raise TokctlError(f"{what} can't be nested so deeply", "is there a circle?")
    for kind in (str, int, float):
        if isinstance(value, kind):
            return kind(value)
    if isinstance(value, Mapping):
        return {
            _plain(name, what, depth + 1): _plain(each, what, depth + 1)
            for name, each in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_plain(each, what, depth + 1) for each in value]
    if callable(dump := getattr(value, "model_dump", None)):
        return _plain(dump(), what, depth + 1)
    raise TokctlError(f"{what} can't hold {brief(value)}", "take what JSON can hold")


# -- the files of a model -----------------------------------------------------------------------


def _files(tokenizer: Tokenizer, path: str | Path | None) -> dict[str, str]:
    """The files that came with a model; those beside its file where none came."""
    texts = tokenizer.model.companions
    beside = None if path is None or str(path).startswith("hf:") else Path(path)
    if _templates(texts) or beside is None or not beside.is_file():
        return texts
    found = dict(texts)
    for name in (CONFIG, TEMPLATE):
        file = beside.parent / name
        note_read(file)
        try:
            found[name] = file.read_text(encoding="utf-8")
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            raise TokctlError(
                f"can't read {file}: {error}", "--chat-template FILE gives a template"
            ) from None
    return found


def _config(texts: Mapping[str, str]) -> dict[str, Any]:
    try:
        found = json.loads(texts.get(CONFIG, "{}"))
    except (ValueError, RecursionError) as error:
        raise TokctlError(
            f"{CONFIG} is no JSON: {error}", "--chat-template FILE gives a template"
        ) from None
    return found if isinstance(found, dict) else {}


def _templates(texts: Mapping[str, str]) -> dict[str, str]:
    """The chat templates by name; `default` is the one that is taken unless another is named.
    Files of their own come before the configuration, as in transformers."""
    found = {"default": texts[TEMPLATE]} if TEMPLATE in texts else {}
    for name, text in texts.items():
        if name.startswith(f"{TEMPLATES}/"):
            found[name.removeprefix(f"{TEMPLATES}/").removesuffix(".jinja")] = text
    if found:
        return found
    said = _config(texts).get("chat_template")
    if isinstance(said, str):
        return {"default": said}
    entries = said if isinstance(said, list) else []
    if isinstance(said, dict):
        entries = [{"name": name, "template": text} for name, text in said.items()]
    return {
        each["name"]: each["template"]
        for each in entries
        if isinstance(each, dict)
        and isinstance(each.get("name"), str)
        and isinstance(each.get("template"), str)
    }


#: The roles that a template knows by name.
_NAMES = {f"{role}_token" for role in ("bos", "eos", "unk", "sep", "pad", "cls", "mask")}


def _roles(tokenizer: Tokenizer, texts: Mapping[str, str]) -> dict[str, str]:
    """The special tokens by role, as `special_tokens_map` of transformers has them."""
    found = roles_of(tokenizer.model)
    if CONFIG in texts and CONFIG not in tokenizer.model.companions:
        # The file beside a model says what its name only suggests.
        for name, value in _config(texts).items():
            said = value.get("content") if isinstance(value, dict) else value
            if isinstance(said, str) and said in tokenizer.vocabulary:
                found[name] = said
    return {name: text for name, text in found.items() if text and name in _NAMES}
