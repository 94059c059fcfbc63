"""Runs chat templates: Jinja2 with what transformers adds to it, and with limits.

A template comes with a model, so it is a program by someone else. Jinja2's immutable sandbox keeps
it from attributes that lead out of it; here every loop, call and new value is counted as well, and
refused before it is made (`bounds` says how large it can become), so that a template ends, after
the same number of steps on every machine.

The settings, filters, globals and tags are those of `apply_chat_template` of transformers 5
(`utils/chat_template_utils.py`), so that a template renders the same text.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import wraps
from typing import Any, NamedTuple

from tokctl.errors import TokctlError

try:
    import jinja2
    from jinja2 import nodes
    from jinja2.exceptions import SecurityError, TemplateError, TemplateSyntaxError
    from jinja2.ext import Extension, loopcontrols
    from jinja2.lexer import Token, TokenStream
    from jinja2.parser import Parser
    from jinja2.sandbox import ImmutableSandboxedEnvironment
    from jinja2.utils import Namespace, pass_eval_context

    from tokctl.chat.bounds import (
        CALLED,
        FILTERS,
        FUNCTIONS,
        PERCENT,
        TESTS,
        VALUE,
        WRITTEN,
        Cost,
        Operands,
        TooMuchValueError,
        is_lazy,
        measure,
        method_cost,
        shallow,
    )
except ImportError:
    raise TokctlError(
        "rendering a chat template needs the package jinja2", "pip install 'tokctl[chat]'"
    ) from None

#: Passes of loops and calls in one rendering; a real one has thousands. A large body of a loop or
#: macro counts as one step for so many of its parts.
MOST_STEPS = 300_000
_PARTS = 16
#: Steps of a call, which takes longer than a pass.
_CALL = 8
#: Characters that all operations of one rendering read. It bounds the time of a single step.
MOST_WORK = 1 << 27
#: Characters of all values that a rendering makes. It bounds the memory.
MOST_MADE = 1 << 23
#: What is added to these limits for each character of the conversation, and the most of the last.
_STEPS_EACH, _WORK_EACH, _MADE_EACH = 1, 1 << 10, 1 << 8
_MOST_MADE_EVER = 1 << 28
#: Bits of a number that is made; Python writes none of more than 4,300 digits.
_MOST_BITS = 1 << 14
#: Characters and tokens of a template; published ones have a tenth of that.
LONGEST_TEMPLATE = 1 << 20
MOST_TOKENS = 20_000

_NAME = "<template>"
_NONE: dict[str, Any] = {}


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

    def filter_stream(self, stream: TokenStream) -> Iterator[Token]:
        """The tokens of a template, whose number is limited: each takes time to compile."""
        for number, token in enumerate(stream):
            if number >= MOST_TOKENS:
                raise TooMuchError(f"it has more than {MOST_TOKENS:,} tokens")
            yield token

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


class Sandbox(ImmutableSandboxedEnvironment):
    """The environment of one template, for one thread at a time."""

    intercepted_binops = frozenset(["+", "*", "**", "%"])

    def __init__(self) -> None:
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=[Generation, loopcontrols],
            finalize=self.shown,
        )
        self.allow(0)
        self.filters["tojson"] = _to_json
        for functions, costs in ((self.filters, FILTERS), (self.tests, TESTS)):
            for name, function in list(functions.items()):
                functions[name] = self._limited(function, costs[name])
        self.globals |= {
            "raise_exception": _raise,
            "strftime_now": _strftime_now,
            "dict": TemplateDict(),
            "namespace": TemplateNamespace,
        }
        self._costs = {id(function): FUNCTIONS[name] for name, function in self.globals.items()}

    @property
    def generation(self) -> Generation:
        """What the blocks of the assistant report to."""
        return self.extensions[Generation.identifier]  # type: ignore[return-value]

    def allow(self, size: int) -> None:
        """Begin to count, with limits for a conversation of so many characters."""
        self.steps = self.work = self.made = 0
        self._most_steps = MOST_STEPS + size * _STEPS_EACH
        self._most_work = MOST_WORK + size * _WORK_EACH
        self._most_made = min(MOST_MADE + size * _MADE_EACH, _MOST_MADE_EVER)

    def step(self, parts: int = 0) -> None:
        """Count a step, or a pass through a body with so many parts.

        Raises:
            TooMuchError: there were too many.
        """
        self.steps += 1 + parts // _PARTS
        if self.steps > self._most_steps:
            raise TooMuchError(f"it does not end within {self._most_steps:,} steps")

    def passed(self, parts: int, kept: int) -> bool:
        """Count a pass through the body of a loop, macro or block; always true."""
        self.steps += 1 + parts // _PARTS
        self.made += kept
        if self.steps > self._most_steps or self.made > self._most_made:
            self.step()
            self.ask(0)
        return True

    def read(self, amount: int) -> None:
        """Count characters that an operation is going to read.

        Raises:
            TooMuchError: there were too many.
        """
        self.work += amount
        if self.work > self._most_work:
            raise TooMuchError(f"its operations read more than {self._most_work:,} characters")

    def _make(self, amount: int) -> None:
        """Count what a new value takes."""
        self.made += amount
        if self.made > self._most_made:
            self.ask(0)

    def ask(self, amount: int) -> None:
        """Ask whether a value that takes at most so many characters can be made.

        Raises:
            TooMuchError: it can't.
        """
        if self.made + amount > self._most_made:
            raise TooMuchError(
                f"it makes values longer than {self._most_made:,} characters together"
            )

    def _operands(self, values: Sequence[Any], named: dict[str, Any] = _NONE) -> Operands:
        try:
            found = Operands(values, named, self._most_work)
        except TooMuchValueError:
            self.read(self._most_work + 1)
            raise
        self.read(found.characters + found.elements * VALUE)
        return found

    def _asked(self, cost: Cost, values: Sequence[Any], named: dict[str, Any]) -> None:
        """Ask for all that an operation takes, before it runs."""
        if not cost.times:
            return
        operands = self._operands(values, named)
        if cost.times > 1:
            self.read((operands.characters + operands.elements * VALUE) * (cost.times - 1))
        if cost.more is not None:
            self.read(cost.more(operands))
        self.ask(cost.made(operands))

    def _kept(self, value: Any) -> Any:
        """Count a new value; one that is made while it is read counts with each element."""
        if type(value) is str:
            self._make(shallow(value))
            return value
        if is_lazy(value):
            return self._elements(value)
        if isinstance(value, int):
            _check_bits(value.bit_length())
        else:
            self._make(shallow(value))
        return value

    def _elements(self, values: Iterator[Any]) -> Iterator[Any]:
        for value in values:
            self.step()
            self._make(shallow(value))
            yield value

    def _limited(self, function: Callable[..., Any], cost: Cost) -> Callable[..., Any]:
        """A filter, or a test."""
        first = 1 if hasattr(function, "jinja_pass_arg") else 0

        @wraps(function)
        def limited(*args: Any, **named: Any) -> Any:
            self.step(_CALL * _PARTS)
            if cost.whole:
                args = _whole(args)
            self._asked(cost, args[first:], named)
            found = function(*args, **named)
            return self._kept(found) if cost.times or is_lazy(found) else found

        return limited

    def _parse(self, source: str, name: str | None, filename: str | None) -> Any:
        """Lets loops, comparisons, slices, and texts joined by `~`, go through here."""
        tree = super()._parse(source, name, filename)
        for body in list(tree.find_all((nodes.For, nodes.Macro, nodes.CallBlock, nodes.Block))):
            _count_passes(body)
        return _Operations().visit(tree)

    def shown(self, value: Any) -> str:
        """Return a value as the text that the template writes."""
        if type(value) is not str and not isinstance(value, str):
            self.step()
            self.ask(WRITTEN.made(self._operands((value,))))
            value = str(value)
        self._make(_OUTPUT + len(value))
        return value  # type: ignore[no-any-return]

    def weighed(self, value: Any) -> Any:
        """The value, now that an operation reads it with all that is in it.

        Raises:
            TooMuchError: there was too much of that.
        """
        if type(value) is str:
            self.read(len(value))
        else:
            self._operands((value,))
        return value

    def sliced(self, value: Any, *ends: Any) -> Any:
        """A part of a text or a list."""
        part = slice(*ends)
        if isinstance(value, (str, bytes, list, tuple)):
            length = len(range(*part.indices(len(value))))
            self.read(length)
            self._make(length if isinstance(value, (str, bytes)) else 2 * length)
        return value[part]

    def joined(self, *parts: Any) -> str:
        """The parts as one text (`a ~ b`)."""
        others = [part for part in parts if not isinstance(part, str)]
        length = sum(len(part) for part in parts if isinstance(part, str))
        self.read(length)
        self.ask(length + (WRITTEN.made(self._operands(others)) if others else 0))
        text = "".join(map(str, parts))
        self._make(shallow(text))
        return text

    def call(self, context: Any, function: Any, /, *args: Any, **named: Any) -> Any:
        """A call in a template."""
        bound_to = getattr(function, "__self__", None)
        if bound_to is self:
            return function(*args)  # a pass, or a text: the names are those of its surroundings
        self.step(_CALL * _PARTS)
        if isinstance(function, CALLED) or bound_to is self.generation:
            return self._kept(super().call(context, function, *args, **named))
        owner = None
        if (cost := self._costs.get(id(function))) is None:
            # The sandbox wraps `format`, so that it looks up no attribute that leads out.
            cost, owner = method_cost(getattr(function, "__wrapped__", function))
        if cost is None:
            raise SecurityError(f"it calls {getattr(function, '__name__', function)!r}")
        if cost.whole:
            args = _whole(args)
        self._asked(cost, args if owner is None else (owner, *args), named)
        found = super().call(context, function, *args, **named)
        return self._kept(found) if cost.times or is_lazy(found) else found

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """An operation that can make something long."""
        self.step()
        if operator == "+" and type(left) is str and type(right) is str:
            self._make(shallow(left) + len(right))
            return left + right
        if operator == "*":
            for some, times in ((left, right), (right, left)):
                if isinstance(times, int) and hasattr(some, "__len__"):
                    self.ask((shallow(some) - shallow("")) * max(0, times))
            if isinstance(left, int) and isinstance(right, int):
                _check_bits(left.bit_length() + right.bit_length())
        elif operator == "**" and isinstance(left, int) and isinstance(right, int):
            _check_bits(left.bit_length() * right)
        elif operator == "%" and isinstance(left, (str, bytes)):
            values = right if isinstance(right, tuple) else (right,)
            self._asked(PERCENT, (left, *values), {})
        elif operator == "+" and hasattr(left, "__len__") and hasattr(right, "__len__"):
            self.ask(shallow(left) + shallow(right))
        return self._kept(super().call_binop(context, operator, left, right))


#: What each piece of the output takes beside its characters.
_OUTPUT = 2
#: Values that a body makes by writing them out.
_WRITTEN_OUT = (nodes.List, nodes.Tuple, nodes.Dict, nodes.Pair)


def _whole(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """The values, with lists for what is made while it is read."""
    return tuple(list(value) if is_lazy(value) else value for value in values)


def _count_passes(body: Any) -> None:
    """Lets each pass through the body of a loop, macro or block count, with all in it."""
    parts = kept = 0
    for node in body.find_all(nodes.Node):
        parts += 1
        if isinstance(node, _WRITTEN_OUT):
            kept += 16 * (2 + sum(1 for _ in node.iter_child_nodes()))
        elif isinstance(node, nodes.TemplateData):
            kept += len(node.data)
        elif isinstance(node, nodes.Const) and isinstance(node.value, str):
            kept += len(node.value)
    numbers = [nodes.Const(parts), nodes.Const(kept)]
    count = _called("passed", numbers, body.lineno)
    if isinstance(body, nodes.For) and body.test is not None:
        # What the condition passes over is walked through all the same.
        body.test = nodes.And(count, body.test, lineno=body.lineno)
    else:
        body.body.insert(0, nodes.ExprStmt(count, lineno=body.lineno))


def _called(name: str, arguments: list[Any], line: int) -> Any:
    function = nodes.EnvironmentAttribute(name)
    return nodes.Call(function, arguments, [], None, None).set_lineno(line)


class _Operations(jinja2.visitor.NodeTransformer):
    def visit_Compare(self, node: nodes.Compare) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        for each in node.ops:
            if isinstance(each.expr, nodes.Const):
                continue  # as long as it is in the template, which has a limit
            each.expr = _called("weighed", [each.expr], node.lineno)
        return node

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        if isinstance(node.arg, nodes.Slice):
            ends = (node.arg.start, node.arg.stop, node.arg.step)
            values = [nodes.Const(None) if end is None else end for end in ends]
            return _called("sliced", [node.node, *values], node.lineno)  # type: ignore[no-any-return]
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        return _called("joined", node.nodes, node.lineno)  # type: ignore[no-any-return]


# -- limits ---------------------------------------------------------------------------------------


def _check_bits(bits: int) -> None:
    if bits > _MOST_BITS:
        raise TooMuchError(f"it makes a number longer than {_MOST_BITS:,} bits")


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
        if len(source) > LONGEST_TEMPLATE:
            raise TokctlError(
                f"{name} can't be compiled: it has {len(source):,} characters",
                f"give a template of at most {LONGEST_TEMPLATE:,} with --chat-template FILE",
            )
        try:
            tree = self._environment.parse(source)
            self._template = self._environment.from_string(source)
        except TemplateSyntaxError as error:
            raise TokctlError(
                f"{name}: line {error.lineno}: {error.message}",
                "it is no chat template of Jinja2; --chat-template FILE gives another",
            ) from None
        except MemoryError:
            # Python's own parser says so, too, of what is nested too deeply.
            raise TokctlError(
                f"{name} can't be compiled: there is not enough memory for what is nested in it",
                "--chat-template FILE gives another",
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
        characters, elements = measure(values, float("inf"))
        environment.allow(characters + elements * VALUE)
        generation = environment.generation
        generation.spans, generation.done = [], 0
        pieces: list[str] = []
        try:
            for piece in self._template.generate(**values):
                pieces.append(piece)
                generation.done += len(piece)
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
        except MemoryError as error:
            raise TokctlError(
                f"{self._place(error)} needs more memory than there is",
                "give it shorter conversations, or raise the limit of the process",
            ) from None
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
