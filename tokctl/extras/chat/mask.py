"""Spans of a rendered conversation that the assistant wrote, for templates that do not mark them.

Most published templates have no `{% generation %}` (transformers#34172). The assistant's turns can
then be found by rendering parts of the conversation. A turn begins where the conversation before
the turn, with the generation prompt, ends: that text is the model's input. It ends where the
conversation including the turn ends.

Let M be the messages, T their rendered text, and M[i] a message of the assistant:

- The turn begins where the text of M[:i] with the generation prompt ends. The prompt can end with
  a block of thinking (`<think>`) that the template puts into the last turn only; T may lack that
  block.
- The turn ends where the text of M[:i + 1] ends. A template can also end a conversation with a text
  of its own. Then the turn ends where the text of M[:i + 1] with the generation prompt ends,
  without that prompt.

If T begins with the text of a part of M, the part ends there. Some templates write earlier turns
differently from the last one (they leave reasoning out of the history, for example). For them, one
character is appended to the last message of the part, and both M and the part are rendered again.
The part's text after the first difference must then follow the first difference in T, too.

White space after the special token that ends the turn, such as the line feed after `<|im_end|>`, is
not the assistant's: the model stops before it.

A conversation that does not fit these rules is refused. Each turn of the assistant costs two to
eight renderings.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from tokctl.core.errors import TokctlError, Unsupported
from tokctl.core.values import cached_property

if TYPE_CHECKING:
    from tokctl.extras.chat.sandbox import JinjaTemplate

#: The most turns of the assistant in one conversation; more would take too long.
MOST_TURNS = 500

#: A block of thinking, open or empty, at the end of a generation prompt.
_THINKING = re.compile(
    r"(?:<((?:\w+:)?(?:think|thinking|reasoning))>\s*(?:</\1>\s*)?"
    r"|<\|START_THINKING\|>\s*(?:<\|END_THINKING\|>\s*)?"
    r"|<\|channel>thought\s*(?:<channel\|>\s*)?"
    r"|Here are my reasoning steps:\s*)\Z"
)
_TOKEN = re.compile(r"<[^<>\s]{1,40}>|\[/?[A-Z_]{1,40}\]|\[e~\[")
#: White space at the end, after a special token.
_AFTER_END = re.compile(rf"(?:{_TOKEN.pattern})(\s+)\Z")
_HINT = "mark it in the template: {% generation %} … {% endgeneration %}, or leave the mask out"


def assistant_spans(
    template: JinjaTemplate, values: dict[str, Any], text: str
) -> list[tuple[int, int]]:
    """Return the spans of `text` that the assistant wrote, as (start, end) in characters.

    Args:
        template: the template that rendered the conversation.
        values: the template's variables, with `messages` and `add_generation_prompt`.
        text: the rendered conversation.

    Raises:
        TokctlError: the spans can't be found; the error names the message and the reason.
    """
    rendered = _Rendered(template, values, text)
    turns = [
        at for at, message in enumerate(values["messages"]) if message.get("role") == "assistant"
    ]
    if len(turns) > MOST_TURNS:
        raise rendered.undecided(f"{len(turns):,} turns of the assistant are too many", None)
    spans: list[tuple[int, int]] = []
    for at in turns:
        begin = rendered.begin(at)
        end = rendered.end(at, begin)
        if match := _AFTER_END.search(text, begin, end):
            end = match.start(1)
        if end > begin:
            if spans and begin < spans[-1][1]:
                raise rendered.undecided("its turns overlap", at)
            spans.append((begin, end))
    return spans


class _Rendered:
    """A conversation with its rendered text, which finds where parts of the conversation end."""

    def __init__(self, template: JinjaTemplate, values: dict[str, Any], text: str) -> None:
        self._template = template
        self._values = values
        self._messages: list[dict[str, Any]] = values["messages"]
        self._text = text

    def begin(self, at: int) -> int:
        """Return the position in the text where the message at index `at` begins."""
        if at == 0:
            return self._begin_of_first_turn()
        prompted = self._render(self._messages[:at], at, prompt=True)
        position = self._reached_position(
            at, at, [prompted, _THINKING.sub("", prompted)], prompt=True
        )
        if position is None:
            raise self.undecided("the text does not begin with the generation prompt before it", at)
        asker, prompts = self._messages[at - 1].get("role"), self._prompts
        if asker != "user" and not prompted.endswith(prompts):
            # After a tool's message, a template can leave out the generation prompt when asked for
            # it, and still write it before the answer.
            if self._text.startswith(prompts[0], position):
                return position + len(prompts[0])
            if asker == "assistant":
                raise self.undecided("nothing asks for it, and a turn comes before it", at)
        return position

    def _begin_of_first_turn(self) -> int:
        """Return where the assistant's message begins if it is the first in the conversation.

        It begins after the last generation prompt before the content of the message.
        """
        variant = self._render(
            [{"role": "assistant", "content": self._more}, *self._messages[1:]], 0
        )
        content = variant.find(self._more)
        for prompt in self._prompts:
            prompt_start = variant.rfind(prompt, 0, max(content, 0)) if prompt else -1
            if prompt_start >= 0 and prompt_start + len(prompt) <= _common_prefix_length(
                self._text, variant
            ):
                return prompt_start + len(prompt)
        raise self.undecided("there is no message before it", 0)

    def end(self, at: int, begin: int) -> int:
        """Return where the message at index `at`, which begins at `begin`, ends in the text."""
        until = self._messages[: at + 1]
        is_last = len(until) == len(self._messages)
        is_text = is_last and not self._values["add_generation_prompt"]
        shortened = self._text if is_text else self._render(until, at)
        if is_last and self._continues_after(shortened, at):
            raise self.undecided("behind it stands what begins another turn", at)
        position = self._reached_position(at, at + 1, [shortened])
        if position is None:
            prompted, prompt = self._render(until, at, prompt=True), self._prompts[0]
            if prompt and prompted.endswith(prompt):
                rendered_end = prompted.removesuffix(prompt)
                position = self._reached_position(at, at + 1, [rendered_end], prompt=True)
        if position is None or position < begin:
            raise self.undecided("its end is written differently from that of a last turn", at)
        return position

    def _reached_position(
        self, at: int, count: int, parts: list[str], *, prompt: bool = False
    ) -> int | None:
        """Return where the first `count` messages end in the text; None if no position fits.

        Args:
            at: the index of the turn, for errors.
            count: the number of messages.
            parts: possible texts of these messages, which begin alike; the first that fits counts.
            prompt: whether the texts were rendered with the generation prompt.
        """
        for part in parts:
            if self._text.startswith(part):
                return len(part)
        earlier, later = self._messages[: count - 1], self._messages[count:]
        mark = re.compile(rf"\s*{self._more}")
        for longer in _lengthened(self._messages[count - 1], self._more):
            lengthened = self._render([*earlier, longer, *later], at)
            lengthened_alone = self._render([*earlier, longer], at, prompt=prompt)
            common_end, common_end_alone = (
                _common_prefix_length(self._text, lengthened),
                _common_prefix_length(parts[0], lengthened_alone),
            )
            match, match_alone = (
                mark.match(lengthened, common_end),
                mark.match(lengthened_alone, common_end_alone),
            )
            if match is None or match_alone is None or match[0] != match_alone[0]:
                continue  # the template does not write the character, or writes it differently
            for part in parts:
                if self._text.startswith(part[common_end_alone:], common_end):
                    return common_end + len(part) - common_end_alone
        return None

    def _continues_after(self, text: str, at: int) -> bool:
        """Return whether the template begins another turn after the last one, at index `at`.

        `text` is the conversation up to that turn. Its end is the beginning of another turn if the
        conversation before the turn ends with the same text, and the generation prompt comes after
        that text. An end that the prompt replaces, such as an end-of-sequence token, is not.
        """
        messages = self._messages
        users = [message for message in messages if message.get("role") == "user"]
        if at == 0 or not users:
            return False
        try:
            continued = self._render([*messages, users[-1]], at)
        except TokctlError:
            return False
        continuation = text[_token_at(text, _common_prefix_length(text, continued)) :]
        if not continuation:
            return False
        rendered_before = self._render(messages[:at], at)
        prompted = self._render(messages[:at], at, prompt=True)
        return rendered_before.endswith(continuation) and prompted.startswith(rendered_before)

    @cached_property
    def _prompts(self) -> tuple[str, str]:
        """The generation prompt, with and without its block of thinking; empty if there is none.

        It is the prompt after the first user message that the assistant answers.
        """
        roles = [message.get("role") for message in self._messages]
        pairs = pairwise(roles)
        count = next((at for at, pair in enumerate(pairs, 1) if pair == ("user", "assistant")), 1)
        rendered_before = self._render(self._messages[:count], count)
        prompted = self._render(self._messages[:count], count, prompt=True)
        prompt = prompted[_token_at(prompted, _common_prefix_length(rendered_before, prompted)) :]
        return prompt, _THINKING.sub("", prompt)

    @cached_property
    def _more(self) -> str:
        """A private-use character that occurs nowhere in the messages."""
        used = set(json.dumps(self._values["messages"], ensure_ascii=False))
        # Messages that contain all 6,400 of them get the first: at worst, their mask is refused.
        return next(
            (char for char in map(chr, range(0xE000, 0xF900)) if char not in used), "\ue000"
        )

    def _render(self, messages: list[dict[str, Any]], at: int, *, prompt: bool = False) -> str:
        changed = {"messages": messages, "add_generation_prompt": prompt}
        try:
            return self._template.render(self._values | changed).text
        except TokctlError as error:
            part = "it" if len(messages) == len(self._messages) else "the conversation up to it"
            raise self.undecided(f"{part} can't be rendered alone ({error.message})", at) from None

    def undecided(self, reason: str, at: int | None) -> TokctlError:
        """Return the error for a turn that can't be found.

        Args:
            reason: the reason.
            at: the index of the message; None: the whole conversation.
        """
        location = "" if at is None else f", message {at + 1}"
        name = self._template.name
        return Unsupported(
            f"{name} does not show which tokens are the assistant's{location}: {reason}", _HINT
        )


def _lengthened(message: dict[str, Any], addition: str) -> Iterator[dict[str, Any]]:
    """Yield copies of a message with `addition` added to its text, or to its last call's name."""
    content, calls = message.get("content", ""), message.get("tool_calls")
    if isinstance(content, str):
        yield {**message, "content": content.rstrip() + addition}
    if isinstance(content, list):
        texts = [at for at, part in enumerate(content) if _has_text(part, "text")]
        for at in texts[-1:]:
            part = {**content[at], "text": content[at]["text"].rstrip() + addition}
            yield {**message, "content": [*content[:at], part, *content[at + 1 :]]}
    if isinstance(calls, list) and calls and isinstance(calls[-1], dict):
        function: dict[str, Any] = calls[-1].get("function") or {}
        if _has_text(function, "name"):
            call = {**calls[-1], "function": {**function, "name": function["name"] + addition}}
            yield {**message, "tool_calls": [*calls[:-1], call]}


def _has_text(value: Any, name: str) -> bool:
    return isinstance(value, dict) and isinstance(value.get(name), str)


def _token_at(text: str, position: int) -> int:
    """Return `position`, or the start of the special token that `position` lies in."""
    start = max(text.rfind("<", 0, position), text.rfind("[", 0, position), 0)
    token = _TOKEN.match(text, start)
    return start if token is not None and token.end() > position else position


def _common_prefix_length(text: str, second: str) -> int:
    """Return the length of the common prefix, in characters."""
    low, high = 0, min(len(text), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if text.startswith(second[low:middle], low):
            low = middle
        else:
            high = middle - 1
    return low
