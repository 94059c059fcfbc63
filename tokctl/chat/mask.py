"""Which part of a rendered conversation an assistant wrote, where the template does not mark it.

Most published templates have no `{% generation %}` (transformers#34172). What a model writes can
then be found by rendering: it begins where the conversation before it ends with the generation
prompt, because that is what the model is given, and it ends where its turn ends.

For the assistant's message number i of a conversation M with the text T, let P be M[:i] with the
generation prompt and F be M[:i + 1], both rendered.

- T must begin with P: the turn begins there. A prompt may end with a block of thinking that a
  template puts into the last turn alone (`<think>`); without it, T must begin with P.
- If T begins with F, the turn ends with F. Templates that write earlier turns differently from the
  last one, as those that leave reasoning out of the history, need another way to the end: in both
  T and F the message gets one more character. The first difference lies inside the turn, and what
  follows it in F up to its end is the rest of the turn; it must follow in T as well, but for
  special tokens that end a whole conversation.

White space after the last token of the turn in angle brackets, such as the line feed behind
`<|im_end|>`, is not the assistant's: the model stops before it.

Whatever does not fit is refused. Each turn of an assistant costs two to four renderings.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tokctl.errors import TokctlError

if TYPE_CHECKING:
    from tokctl.chat.sandbox import JinjaTemplate

#: Turns of an assistant in one conversation: more would take too long.
MOST_TURNS = 500

#: What a generation prompt can begin for the model.
_THINKING = re.compile(
    r"(?:<(think|thinking|reasoning|seed:think)>\s*(?:</\1>\s*)?"
    r"|<\|channel>thought\s*(?:<channel\|>\s*)?)\Z"
)
_TOKEN = r"(?:<[^<>\s]{1,40}>|\[/?[A-Z_]{1,40}\])"
#: A special token and the white space behind it.
_AFTER_END = re.compile(rf"{_TOKEN}(\s+)\Z")
#: Up to the last special token, with the white space behind it; and nothing but such.
_ENDS = re.compile(rf".*{_TOKEN}\s*", re.DOTALL)
_ONLY_ENDS = re.compile(rf"(?:{_TOKEN}|\s)*")
_HINT = "mark it in the template: {% generation %} … {% endgeneration %}, or leave the mask out"


def assistant_spans(
    template: JinjaTemplate, values: dict[str, Any], text: str
) -> list[tuple[int, int]]:
    """What the assistant wrote in the `text` of a conversation: begins and ends, in characters.

    Raises:
        TokctlError: it can't be decided; the message says at which message, and why.
    """
    messages = values["messages"]
    turns = [at for at, each in enumerate(messages) if each.get("role") == "assistant"]
    if len(turns) > MOST_TURNS:
        raise _undecided(template, f"{len(turns):,} turns of the assistant are too many", None)
    spans: list[tuple[int, int]] = []
    for at in turns:
        begin = _begin(template, values, text, at)
        end = _end(template, values, text, at, begin)
        if found := _AFTER_END.search(text, begin, end):
            end = found.start(1)
        if end > begin:
            if spans and begin < spans[-1][1]:
                raise _undecided(template, "its turns overlap", at)
            spans.append((begin, end))
    return spans


def _begin(template: JinjaTemplate, values: dict[str, Any], text: str, at: int) -> int:
    before = values["messages"][:at]
    if not before:
        raise _undecided(template, "there is no message before it", at)
    prompt = _rendered(template, values, before, at, generation_prompt=True)
    if text.startswith(prompt):
        return len(prompt)
    shorter = _THINKING.sub("", prompt)
    if shorter != prompt and text.startswith(shorter):
        return len(shorter)
    raise _undecided(template, "the text does not begin with the generation prompt before it", at)


def _end(template: JinjaTemplate, values: dict[str, Any], text: str, at: int, begin: int) -> int:
    messages = values["messages"]
    until = messages[: at + 1]
    alone = _rendered(template, values, until, at)
    if text.startswith(alone) and len(alone) >= begin:
        return len(alone)
    longer = _lengthened(messages[at], values)
    if longer is None:
        raise _undecided(template, "its end is written differently from that of a last turn", at)
    whole = [*messages[:at], longer, *messages[at + 1 :]]
    shared = _common(text, _rendered(template, values, whole, at, whole=True))
    of_alone = _common(alone, _rendered(template, values, [*messages[:at], longer], at))
    rest = alone[of_alone:]
    if not text.startswith(rest, shared):
        # What ends a whole conversation, such as an end of sequence, is not the turn's.
        both = rest[: _common(rest, text[shared : shared + len(rest)])]
        found = _ENDS.match(both)
        rest, more = (both[: found.end()], rest[found.end() :]) if found else ("", rest)
        if _ONLY_ENDS.fullmatch(more) is None:
            rest = ""
    if shared < begin or not rest:
        raise _undecided(template, "its end is written differently from that of a last turn", at)
    return shared + len(rest)


def _lengthened(message: dict[str, Any], values: dict[str, Any]) -> dict[str, Any] | None:
    """The message with one more character after its text, one that occurs nowhere; None if it
    has no text."""
    everything = repr(values["messages"])
    more = next(
        chr(code) for code in range(0xE000, 0xF900) if chr(code) not in everything
    )  # private use
    content = message.get("content", "")
    if isinstance(content, str):
        return {**message, "content": content.rstrip() + more}
    if isinstance(content, list):
        for place in range(len(content) - 1, -1, -1):
            part = content[place]
            if isinstance(part, dict) and isinstance(part.get("text"), str):
                part = {**part, "text": part["text"].rstrip() + more}
                return {**message, "content": [*content[:place], part, *content[place + 1 :]]}
    return None


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


def _rendered(
    template: JinjaTemplate,
    values: dict[str, Any],
    messages: list[dict[str, Any]],
    at: int,
    *,
    generation_prompt: bool = False,
    whole: bool = False,
) -> str:
    try:
        changed = {"messages": messages, "add_generation_prompt": generation_prompt}
        return template.render(values | changed).text
    except TokctlError as error:
        part = "it" if whole else "the conversation up to it"
        raise _undecided(
            template, f"{part} can't be rendered alone ({error.message})", at
        ) from None


def _undecided(template: JinjaTemplate, why: str, at: int | None) -> TokctlError:
    place = "" if at is None else f", message {at + 1}"
    return TokctlError(
        f"{template.name} does not show which tokens are the assistant's{place}: {why}", _HINT
    )
