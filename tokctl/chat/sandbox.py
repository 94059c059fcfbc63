"""Runs chat templates: Jinja2 with what transformers adds to it, and with limits.

A template comes with a model, so it is a program by someone else. Jinja2's immutable sandbox keeps
it from attributes that lead out of it; here every loop, call and new text is counted as well, so
that a template ends, after the same number of steps on every machine.

The settings, filters, globals and tags are those of `apply_chat_template` of transformers 5
(`utils/chat_template_utils.py`), so that a template renders the same text.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import wraps
from typing import Any, NamedTuple

from tokctl.errors import TokctlError

try:
    import jinja2
    from jinja2 import nodes
    from jinja2.exceptions import SecurityError, TemplateError, TemplateSyntaxError
    from jinja2.ext import Extension, loopcontrols
    from jinja2.parser import Parser
    from jinja2.sandbox import ImmutableSandboxedEnvironment
    from jinja2.tests import TESTS
    from jinja2.utils import Namespace, pass_eval_context
except ImportError:
    raise TokctlError(
        "rendering a chat template needs the package jinja2", "pip install 'tokctl[chat]'"
    ) from None

#: Passes of loops and calls in one rendering; a real one has thousands.
MOST_STEPS = 1_000_000
#: Characters of a text that a template makes.
LONGEST_TEXT = 1 << 26
#: Characters that all operations of one rendering read and make; each value in a list counts as
#: `_VALUE` of them. It bounds time and memory where a single step does much.
MOST_WORK = 1 << 28
_VALUE = 8
_MANY = (list, tuple, dict, set, range)
#: Filters that take microseconds for a character.
_SLOW = {"do_wordwrap", "do_urlize", "do_striptags", "do_pprint", "do_xmlattr", "do_title"}
#: Bits of a number that is multiplied.
_MOST_BITS = 1 << 13

_NAME = "<template>"


class TooMuchError(TemplateError):
    """A template reaches a limit."""


class TemplateDict:
    """`dict` in a template: it can be called, and has no attribute that leads out."""

    def __call__(self, *args: Any, **named: Any) -> dict[Any, Any]:
        return dict(*args, **named)

    def fromkeys(self, *args: Any) -> dict[Any, Any]:
        """As that of `dict`."""
        return dict.fromkeys(*args)


class TemplateNamespace(Namespace):
    """`namespace` in a template, without names that begin with an underscore."""

    def __init__(*args: Any, **named: Any) -> None:
        # As in Jinja2, so that an attribute may be called `self`.
        self, args = args[0], args[1:]
        values = dict(*args, **named)
        for name in values:
            _check_name(name)
        Namespace.__init__(self, values)

    def __setitem__(self, name: str, value: Any) -> None:
        _check_name(name)
        super().__setitem__(name, value)


def _check_name(name: object) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise SecurityError(f"a namespace can't have an attribute {name!r}")


class Generation(Extension):
    """`{% generation %} … {% endgeneration %}`: what an assistant writes.

    Attributes:
        spans: of the rendering, where that begins and ends, in characters.
        done: characters of the rendering that came before the piece that is made now.
    """

    tags = {"generation"}  # noqa: RUF012  (as Jinja2 declares it)

    def __init__(self, environment: jinja2.Environment) -> None:
        super().__init__(environment)
        self.spans: list[tuple[int, int]] = []
        self.done = 0

    def parse(self, parser: Parser) -> nodes.Node:
        """The block, as a call with what is in it."""
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("_rendered"), [], [], body).set_lineno(line)

    @pass_eval_context
    def _rendered(self, _context: nodes.EvalContext, caller: Callable[[], str]) -> str:
        text = caller()
        self.spans.append((self.done, self.done + len(text)))
        return text


class CountedLoop:
    """What a loop walks through; each pass is a step."""

    def __init__(self, environment: Sandbox, values: Any) -> None:
        self._environment = environment
        self._values = values

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[Any]:
        for value in self._values:
            self._environment.step()
            yield value


class Sandbox(ImmutableSandboxedEnvironment):
    """The environment of one template, for one thread at a time."""

    intercepted_binops = frozenset(["+", "*", "**", "%"])

    def __init__(self) -> None:
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=[Generation, loopcontrols],
            finalize=lambda value: value if isinstance(value, str) else self.weighed(value),
        )
        self.steps = self.work = 0
        for named in (self.filters, self.tests):
            for name, function in list(named.items()):
                named[name] = self._limited(function)
        self.filters["tojson"] = self._limited(_to_json)
        self.globals |= {
            "raise_exception": _raise,
            "strftime_now": _strftime_now,
            "dict": TemplateDict(),
            "namespace": TemplateNamespace,
        }

    @property
    def generation(self) -> Generation:
        """What the blocks of the assistant report to."""
        return self.extensions[Generation.identifier]  # type: ignore[return-value]

    def step(self) -> None:
        """Counts a step.

        Raises:
            TooMuchError: there were too many.
        """
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise TooMuchError(f"it does not end within {MOST_STEPS:,} steps")

    def weighed(self, value: Any) -> Any:
        """The value, now that an operation reads or makes it, with all that is in it.

        Raises:
            TooMuchError: there was too much of that, or it is too long.
        """
        if isinstance(value, str):
            _check_length(len(value))
            self._add_work(len(value))
        elif isinstance(value, _MANY):
            # The same list can be in a list many times over: it is read as often.
            waiting = [value]
            while waiting:
                each = waiting.pop()
                if isinstance(each, _MANY):
                    self._add_work(len(each) * _VALUE)
                    if isinstance(each, dict):
                        waiting += each.values()
                    elif not isinstance(each, range):
                        waiting += each
                elif isinstance(each, str):
                    self._add_work(len(each))
        return value

    def sliced(self, value: Any) -> Any:
        """What is sliced: it alone is read."""
        if isinstance(value, (str, *_MANY)):
            self._add_work(len(value))
        return value

    def _add_work(self, amount: int) -> None:
        self.work += amount
        if self.work > MOST_WORK:
            raise TooMuchError(f"its operations read and make more than {MOST_WORK:,} characters")

    def _limited(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A filter, or a test."""

        @wraps(function)
        def limited(*args: Any, **named: Any) -> Any:
            if function not in _FREE:
                self.step()
                for each in (*args, *named.values()):
                    self.weighed(each)
                    self.steps += len(each) if isinstance(each, _MANY) else 0
                    if isinstance(each, str) and function.__name__ in _SLOW:
                        self._add_work(len(each) * 64)
                _check_arguments(function, args, named)
            return self.weighed(function(*args, **named))

        return limited

    def _parse(self, source: str, name: str | None, filename: str | None) -> Any:
        """Lets loops, comparisons, slices, and texts joined by `~`, go through here."""
        tree = super()._parse(source, name, filename)
        for loop in tree.find_all(nodes.For):
            loop.iter = _called("counted", [loop.iter], loop.lineno)
        return _Operations().visit(tree)

    def counted(self, values: Any) -> CountedLoop:
        """What a loop walks through."""
        return CountedLoop(self, values)

    def joined(self, *parts: Any) -> str:
        """The parts as one text (`a ~ b`)."""
        texts = [str(self.weighed(part)) for part in parts]
        _check_length(sum(map(len, texts)))
        text: str = self.weighed("".join(texts))
        return text

    def call(self, context: Any, function: Any, /, *args: Any, **named: Any) -> Any:
        """A call in a template."""
        if getattr(function, "__self__", None) is self:
            return function(*args)  # a loop, or a text: the names are those of its surroundings
        self.step()
        for each in (getattr(function, "__self__", None), *args, *named.values()):
            self.weighed(each)
        _check_arguments(function, args, named)
        return self.weighed(super().call(context, function, *args, **named))

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """An operation that can make something long."""
        self.step()
        if operator == "*":
            for some, times in ((left, right), (right, left)):
                if isinstance(times, int) and hasattr(some, "__len__"):
                    _check_length(len(some) * times)
            if isinstance(left, int) and isinstance(right, int):
                _check_bits(left.bit_length() + right.bit_length())
        elif operator == "**" and isinstance(left, int) and isinstance(right, int):
            _check_bits(left.bit_length() * right)
        elif operator == "%" and isinstance(left, str):
            self.weighed(right)
            _check_format(left, right if isinstance(right, tuple) else (right,))
        elif operator == "+" and isinstance(left, (str, list)) and isinstance(right, (str, list)):
            _check_length(len(left) + len(right))
        return self.weighed(super().call_binop(context, operator, left, right))


def _called(name: str, arguments: list[Any], line: int) -> Any:
    function = nodes.EnvironmentAttribute(name)
    return nodes.Call(function, arguments, [], None, None).set_lineno(line)


class _Operations(jinja2.visitor.NodeTransformer):
    def visit_Compare(self, node: nodes.Compare) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        for each in node.ops:
            each.expr = _called("weighed", [each.expr], node.lineno)
        return node

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        if isinstance(node.arg, nodes.Slice):
            node.node = _called("sliced", [node.node], node.lineno)
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        return _called("joined", node.nodes, node.lineno)  # type: ignore[no-any-return]


# -- limits ---------------------------------------------------------------------------------------


def _check_length(length: int) -> None:
    if length > LONGEST_TEXT:
        raise TooMuchError(f"it makes something longer than {LONGEST_TEXT:,} characters")


def _check_bits(bits: int) -> None:
    if bits > _MOST_BITS:
        raise TooMuchError(f"it makes a number longer than {_MOST_BITS:,} bits")


#: Methods, filters and functions with a number that says how long their text becomes.
_WIDE = {
    *("ljust", "rjust", "center", "zfill", "expandtabs", "do_center", "do_indent"),
    *("do_batch", "do_slice", "generate_lorem_ipsum"),
}
_WIDE_PERCENT = re.compile(r"%[^a-zA-Z%]*\d{8}")
_WIDE_FIELD = re.compile(r"\{[^{}]*:[^{}]*\d{8}")


def _check_arguments(function: Any, args: Sequence[Any], named: dict[str, Any]) -> None:
    """TooMuchError if a call would make a text that is too long."""
    name = getattr(function, "__name__", "")
    owner = getattr(getattr(function, "__wrapped__", function), "__self__", None)
    values = [*([owner] if isinstance(owner, str) else []), *args, *named.values()]
    texts = [value for value in values if isinstance(value, str)]
    if name in _WIDE:
        size = max(1, *map(_places, values)) if name in ("expandtabs", "do_indent") else 1
        for value in values:
            if isinstance(value, int):
                _check_length(abs(value) * size)
    elif name in ("replace", "do_replace") and len(texts) >= 3:
        text, old, new = texts[:3]
        _check_length(len(text) + text.count(old) * (len(new) - len(old)))
    elif name == "translate" and isinstance(owner, str) and args and isinstance(args[0], dict):
        widest = max((len(each) for each in args[0].values() if isinstance(each, str)), default=1)
        _check_length(len(owner) * widest)
    elif name == "join" and isinstance(owner, str) and args:
        count = len(args[0]) if hasattr(args[0], "__len__") else 0
        _check_length(count * len(owner))
    elif name in ("format", "format_map", "do_format") and texts:
        _check_format(texts[0], values[1:])


def _places(value: Any) -> int:
    """Where something can be put into a text: at its lines and tabs."""
    return 1 + value.count("\n") + value.count("\t") if isinstance(value, str) else 1


def _check_format(text: str, values: Iterable[Any]) -> None:
    """TooMuchError for a large width in a format: `'%9999999999d'`."""
    if _WIDE_PERCENT.search(text) or _WIDE_FIELD.search(text):
        raise TooMuchError(f"it formats with {text[:40]!r}")
    if "*" in text or ":{" in text:
        for value in values:
            if isinstance(value, int):
                _check_length(abs(value))


#: What looks at no more than a value's length or kind.
_FREE = {
    len,
    *(TESTS[name] for name in ("defined", "undefined", "none", "string", "mapping")),
    *(TESTS[name] for name in ("iterable", "sequence", "number", "boolean", "true")),
}


# -- globals and filters ----------------------------------------------------------------------


def _raise(message: Any) -> Any:
    raise TemplateRefusalError(str(message))


class TemplateRefusalError(TemplateError):
    """The template itself refuses a conversation (`raise_exception`)."""


def _to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    return json.dumps(
        value,
        ensure_ascii=ensure_ascii,
        indent=indent,
        separators=separators,
        sort_keys=sort_keys,
    )


def _strftime_now(form: str) -> str:
    """Now; what `SOURCE_DATE_EPOCH` says, where it is set, so that a run can be repeated."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    if epoch.isascii() and epoch.isdigit():
        return datetime.fromtimestamp(int(epoch), UTC).strftime(form)
    return datetime.now().strftime(form)


# -- a template ---------------------------------------------------------------------------------


class Rendering(NamedTuple):
    """What a template makes.

    Attributes:
        text: what is encoded.
        spans: of the blocks `{% generation %}`: begin and end, in characters.
    """

    text: str
    spans: list[tuple[int, int]]


class JinjaTemplate:
    """A chat template, compiled.

    Attributes:
        name: for messages.
        source: its text.
        marks_generation: it has `{% generation %}`.
    """

    def __init__(self, source: str, name: str) -> None:
        """TokctlError if it can't be read; it names the line."""
        self.name = name
        self.source = source
        self._environment = Sandbox()
        try:
            tree = self._environment.parse(source)
            self._template = self._environment.from_string(source)
        except TemplateSyntaxError as error:
            raise TokctlError(
                f"{name}: line {error.lineno}: {error.message}",
                "it is no chat template of Jinja2; --chat-template FILE gives another",
            ) from None
        except (RecursionError, OverflowError, ValueError, SyntaxError, TemplateError) as error:
            raise TokctlError(
                f"{name} can't be compiled: {_first_line(error)}",
                "--chat-template FILE gives another",
            ) from None
        self.marks_generation = any(
            call.call.node.name == "_rendered"
            for call in tree.find_all(nodes.CallBlock)
            if isinstance(call.call.node, nodes.ExtensionAttribute)
        )

    def render(self, values: dict[str, Any]) -> Rendering:
        """The text for some values.

        Raises:
            TokctlError: the template refuses them, fails, or does not end; it names the line.
        """
        environment = self._environment
        environment.steps = environment.work = 0
        generation = environment.generation
        generation.spans, generation.done = [], 0
        pieces: list[str] = []
        try:
            for piece in self._template.generate(**values):
                pieces.append(piece)
                generation.done += len(piece)
                _check_length(generation.done)
        except TemplateRefusalError as error:
            raise TokctlError(
                f"{self._place(error)} refuses the conversation: {_first_line(error)}",
                "check the roles, their order and the fields of the messages",
            ) from None
        except TooMuchError as error:
            raise TokctlError(
                f"{self._place(error)} is stopped: {_first_line(error)}",
                "--chat-template FILE gives another template",
            ) from None
        except SecurityError as error:
            raise TokctlError(
                f"{self._place(error)} does what no template may: {_first_line(error)}",
                "do not trust it; --chat-template FILE gives another template",
            ) from None
        except MemoryError:
            raise
        except Exception as error:
            # Anything: it is a program, and fails as programs do.
            what = "" if isinstance(error, TemplateError) else f"{type(error).__name__}: "
            raise TokctlError(
                f"{self._place(error)} fails: {what}{_first_line(error)}",
                "are the messages what it expects? --chat-template FILE gives another",
            ) from None
        return Rendering("".join(pieces), generation.spans)

    def _place(self, error: BaseException) -> str:
        """The template, and the line of it where an error comes from."""
        line, trace = None, error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == _NAME:
                line = trace.tb_lineno
            trace = trace.tb_next
        return self.name if line is None else f"{self.name}: line {line}"


#: Compiled templates that a thread keeps.
_MOST_KEPT = 64


class _Kept(threading.local):
    def __init__(self) -> None:
        self.templates: dict[tuple[str, str], JinjaTemplate] = {}


_kept = _Kept()


def compiled(source: str, name: str) -> JinjaTemplate:
    """The template, one for each thread; TokctlError if it can't be read."""
    templates = _kept.templates
    if (source, name) not in templates:
        if len(templates) >= _MOST_KEPT:
            templates.clear()
        templates[source, name] = JinjaTemplate(source, name)
    return templates[source, name]


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:300] if lines else type(error).__name__
