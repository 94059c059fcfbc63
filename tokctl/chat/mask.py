"""Which part of a rendered conversation an assistant wrote, where the template does not mark it.

Most published templates have no `{% generation %}` (transformers#34172). What a model writes can
then be found by rendering: it begins where the conversation before it ends with the generation
prompt, because that is what the model is given, and it ends where its turn ends.

For the assistant's message number i of a conversation M with the text T:

- The turn begins where M[:i] with the generation prompt ends. A prompt may end with a block of
  thinking that the template puts into the last turn alone (`<think>`); it may be missing in T.
- The turn ends where M[:i + 1] ends; or, as a conversation may have an end of its own, where
  M[:i + 1] with the generation prompt ends but for that prompt.

Such a part of M ends where T begins with the text of the part. Templates that write earlier turns
differently from the last one, as those that leave reasoning out of the history, need another way:
in both T and the part, the last message of the part gets one more character. What follows the
first difference in the part is its rest, which must follow in T as well.

White space after the last token of the turn in angle brackets, such as the line feed behind
`<|im_end|>`, is not the assistant's: the model stops before it.

Whatever does not fit is refused. Each turn of an assistant costs two renderings, or up to eight.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from tokctl.errors import TokctlError
from tokctl.values import cached_property

if TYPE_CHECKING:
    from tokctl.chat.sandbox import JinjaTemplate

#: Turns of an assistant in one conversation: more would take too long.
MOST_TURNS = 500

#: What a generation prompt can begin for the model.
_THINKING = re.compile(
    r"(?:<((?:\w+:)?(?:think|thinking|reasoning))>\s*(?:</\1>\s*)?"
    r"|<\|START_THINKING\|>\s*(?:<\|END_THINKING\|>\s*)?"
    r"|<\|channel>thought\s*(?:<channel\|>\s*)?"
    r"|Here are my reasoning steps:\s*)\Z"
)
_TOKEN = re.compile(r"<[^<>\s]{1,40}>|\[/?[A-Z_]{1,40}\]|\[e~\[")
#: A special token and the white space behind it.
_AFTER_END = re.compile(rf"(?:{_TOKEN.pattern})(\s+)\Z")
_HINT = "mark it in the template: {% generation %} … {% endgeneration %}, or leave the mask out"


def assistant_spans(
    template: JinjaTemplate, values: dict[str, Any], text: str
) -> list[tuple[int, int]]:
    """What the assistant wrote in the `text` of a conversation: begins and ends, in characters.

    Args:
        values: what the template saw, with `add_generation_prompt`.

    Raises:
        TokctlError: it can't be decided; the message says at which message, and why.
    """
    rendered = _Rendered(template, values, text)
    turns = [at for at, each in enumerate(values["messages"]) if each.get("role") == "assistant"]
    if len(turns) > MOST_TURNS:
        raise rendered.undecided(f"{len(turns):,} turns of the assistant are too many", None)
    spans: list[tuple[int, int]] = []
    for at in turns:
        begin = rendered.begin(at)
        end = rendered.end(at, begin)
        if found := _AFTER_END.search(text, begin, end):
            end = found.start(1)
        if end > begin:
            if spans and begin < spans[-1][1]:
                raise rendered.undecided("its turns overlap", at)
            spans.append((begin, end))
    return spans


class _Rendered:
    """A conversation, its text, and where parts of the conversation end in that."""

    def __init__(self, template: JinjaTemplate, values: dict[str, Any], text: str) -> None:
        self._template = template
        self._values = values
        self._messages: list[dict[str, Any]] = values["messages"]
        self._text = text

    def begin(self, at: int) -> int:
        """Where turn number `at` begins."""
        if at == 0:
            return self._begin_of_first()
        prompted = self._render(self._messages[:at], at, prompt=True)
        place = self._reached(at, at, [prompted, _THINKING.sub("", prompted)], prompt=True)
        if place is None:
            raise self.undecided("the text does not begin with the generation prompt before it", at)
        asker, prompts = self._messages[at - 1].get("role"), self._prompts
        if asker != "user" and not prompted.endswith(prompts):
            # After a tool, a template may add no prompt, and yet write it before the answer.
            if self._text.startswith(prompts[0], place):
                return place + len(prompts[0])
            if asker == "assistant":
                raise self.undecided("nothing asks for it, and a turn comes before it", at)
        return place

    def _begin_of_first(self) -> int:
        """Where the first message begins: behind the prompt that others have. It is the last one
        before the text of the message."""
        other = self._render([{"role": "assistant", "content": self._more}, *self._messages[1:]], 0)
        content = other.find(self._more)
        for prompt in self._prompts:
            found = other.rfind(prompt, 0, max(content, 0)) if prompt else -1
            if found >= 0 and found + len(prompt) <= _common(self._text, other):
                return found + len(prompt)
        raise self.undecided("there is no message before it", 0)

    def end(self, at: int, begin: int) -> int:
        """Where turn number `at` ends, which begins at `begin`."""
        until = self._messages[: at + 1]
        is_last = len(until) == len(self._messages)
        is_text = is_last and not self._values["add_generation_prompt"]
        alone = self._text if is_text else self._render(until, at)
        if is_last and self._goes_on(alone, at):
            raise self.undecided("behind it stands what begins another turn", at)
        place = self._reached(at, at + 1, [alone])
        if place is None:
            prompted, prompt = self._render(until, at, prompt=True), self._prompts[0]
            if prompt and prompted.endswith(prompt):
                ended = prompted.removesuffix(prompt)
                place = self._reached(at, at + 1, [ended], prompt=True)
        if place is None or place < begin:
            raise self.undecided("its end is written differently from that of a last turn", at)
        return place

    def _reached(
        self, at: int, count: int, parts: list[str], *, prompt: bool = False
    ) -> int | None:
        """Where the first `count` messages end in the text. Of their own texts, which begin
        alike, the first that fits counts; None: none does."""
        for part in parts:
            if self._text.startswith(part):
                return len(part)
        before, after = self._messages[: count - 1], self._messages[count:]
        mark = re.compile(rf"\s*{self._more}")
        for longer in _lengthened(self._messages[count - 1], self._more):
            whole = self._render([*before, longer, *after], at)
            alone = self._render([*before, longer], at, prompt=prompt)
            place, same = _common(self._text, whole), _common(parts[0], alone)
            here, there = mark.match(whole, place), mark.match(alone, same)
            if here is None or there is None or here[0] != there[0]:
                continue  # it is not written here, or not in the same way
            for part in parts:
                if self._text.startswith(part[same:], place):
                    return place + len(part) - same
        return None

    def _goes_on(self, text: str, at: int) -> bool:
        """Does the text, of a conversation that ends with turn number `at`, go on behind that turn
        as any conversation does that is not asked for an answer (with the front of another turn)?

        What the generation prompt takes the place of, such as an end of sequence, is its end.
        """
        messages = self._messages
        users = [each for each in messages if each.get("role") == "user"]
        if at == 0 or not users:
            return False
        try:
            continued = self._render([*messages, users[-1]], at)
        except TokctlError:
            return False
        own = text[_token_at(text, _common(text, continued)) :]
        if not own:
            return False
        before = self._render(messages[:at], at)
        prompted = self._render(messages[:at], at, prompt=True)
        return before.endswith(own) and prompted.startswith(before)

    @cached_property
    def _prompts(self) -> tuple[str, str]:
        """The generation prompt behind the first message of a user that the assistant answers, and
        what it is without thinking; empty where none is to be seen."""
        roles = [message.get("role") for message in self._messages]
        pairs = pairwise(roles)
        count = next((at for at, pair in enumerate(pairs, 1) if pair == ("user", "assistant")), 1)
        before = self._render(self._messages[:count], count)
        prompted = self._render(self._messages[:count], count, prompt=True)
        prompt = prompted[_token_at(prompted, _common(before, prompted)) :]
        return prompt, _THINKING.sub("", prompt)

    @cached_property
    def _more(self) -> str:
        """A character that occurs nowhere in the messages, of those for private use."""
        used = set(json.dumps(self._values["messages"], ensure_ascii=False))
        # A text that has all of them is left with the first: at worst, its mask is refused.
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

    def undecided(self, why: str, at: int | None) -> TokctlError:
        """The error that says so, of turn number `at`."""
        place = "" if at is None else f", message {at + 1}"
        name = self._template.name
        return TokctlError(
            f"{name} does not show which tokens are the assistant's{place}: {why}", _HINT
        )


def _lengthened(message: dict[str, Any], more: str) -> Iterator[dict[str, Any]]:
    """The message with one more character: behind its text; behind the name of its last call."""
    content, calls = message.get("content", ""), message.get("tool_calls")
    if isinstance(content, str):
        yield {**message, "content": content.rstrip() + more}
    if isinstance(content, list):
        texts = [at for at, part in enumerate(content) if _has_text(part, "text")]
        for at in texts[-1:]:
            part = {**content[at], "text": content[at]["text"].rstrip() + more}
            yield {**message, "content": [*content[:at], part, *content[at + 1 :]]}
    if isinstance(calls, list) and calls and isinstance(calls[-1], dict):
        called: dict[str, Any] = calls[-1].get("function") or {}
        if _has_text(called, "name"):
            call = {**calls[-1], "function": {**called, "name": called["name"] + more}}
            yield {**message, "tool_calls": [*calls[:-1], call]}


def _has_text(value: Any, name: str) -> bool:
    return isinstance(value, dict) and isinstance(value.get(name), str)


def _token_at(text: str, place: int) -> int:
    """The place, or the start of the special token that it lies in."""
    start = max(text.rfind("<", 0, place), text.rfind("[", 0, place), 0)
    token = _TOKEN.match(text, start)
    return start if token is not None and token.end() > place else place


def _common(first: str, second: str) -> int:
    """How many characters both begin with."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first.startswith(second[low:middle], low):
            low = middle
        else:
            high = middle - 1
    return low
