"""A sandbox for chat templates: Jinja2 with transformers' additions, and with limits.

A template comes with a model, so it is a program by someone else. Jinja2's immutable sandbox denies
it attributes that lead out of the sandbox. This module also counts every loop pass, call and new
value, and refuses values that could become too large before they are made (see `bounds`). So every
template ends, after the same number of steps on every machine.

The settings, filters, globals and tags equal those of `apply_chat_template` in transformers 5
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

from tokctl.core.errors import BadInput, BadModel, Unsupported

try:
    import jinja2
    from jinja2 import nodes
    from jinja2.exceptions import SecurityError, TemplateError, TemplateSyntaxError
    from jinja2.ext import Extension, loopcontrols
    from jinja2.lexer import Token, TokenStream
    from jinja2.parser import Parser
    from jinja2.sandbox import ImmutableSandboxedEnvironment
    from jinja2.utils import Namespace, pass_eval_context

    from tokctl.extras.chat.bounds import (
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
    raise Unsupported(
        "rendering a chat template needs the package jinja2",
        "pip install 'tokctl[chat]'",
        "missing-package",
    ) from None

#: The most steps (loop passes and calls) in one rendering; real renderings have thousands.
MOST_STEPS = 300_000
#: Nodes of a loop's or macro's body that count as one more step.
_PARTS = 16
#: Steps of a call, which takes longer than a loop pass.
_CALL = 8
#: The most characters that all operations of one rendering read together. This bounds the time of
#: a single step.
MOST_WORK = 1 << 27
#: The most characters in all values that a rendering makes. This bounds the memory.
MOST_MADE = 1 << 23
#: Increases of the three limits above for each character of the conversation.
_STEPS_EACH, _WORK_EACH, _MADE_EACH = 1, 1 << 10, 1 << 8
#: The most that `MOST_MADE` grows to in this way.
_MOST_MADE_EVER = 1 << 28
#: The most bits of a new number; by default Python writes at most 4,300 digits.
_MOST_BITS = 1 << 14
#: The most characters and tokens of a template; published templates have a tenth of them.
LONGEST_TEMPLATE = 1 << 20
MOST_TOKENS = 20_000

_NAME = "<template>"
_NONE: dict[str, Any] = {}


class TooMuchError(TemplateError):
    """A template has reached a limit."""


class TemplateDict:
    """The global `dict` of templates: callable, without attributes that lead out of the sandbox."""

    def __call__(self, *args: Any, **named: Any) -> dict[Any, Any]:
        """Return a new dict from the arguments."""
        return dict(*args, **named)

    def fromkeys(self, *args: Any) -> dict[Any, Any]:
        """Return a new dict from keys, like `dict.fromkeys`."""
        return dict.fromkeys(*args)


class TemplateNamespace(Namespace):
    """The global `namespace` of templates, which refuses names that begin with an underscore."""

    def __init__(*args: Any, **named: Any) -> None:
        # Jinja2 also declares no `self`, so that an attribute can have that name.
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
    """The tag `{% generation %} … {% endgeneration %}`, which marks the assistant's text.

    Attributes:
        spans: start and end of each block in the rendered text, in characters.
        done: the number of characters rendered before the current piece.
    """

    tags = {"generation"}  # noqa: RUF012  (as Jinja2 declares it)

    def __init__(self, environment: jinja2.Environment) -> None:
        super().__init__(environment)
        self.spans: list[tuple[int, int]] = []
        self.done = 0

    def filter_stream(self, stream: TokenStream) -> Iterator[Token]:
        """Yield the tokens of a template.

        Raises:
            TooMuchError: the template has more than `MOST_TOKENS`, each of which takes time to
                compile.
        """
        for number, token in enumerate(stream):
            if number >= MOST_TOKENS:
                raise TooMuchError(f"it has more than {MOST_TOKENS:,} tokens")
            yield token

    def parse(self, parser: Parser) -> nodes.Node:
        """Return the node of a `generation` block: a call of `_rendered` with its body."""
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("_rendered"), [], [], body).set_lineno(line)

    @pass_eval_context
    def _rendered(self, _context: nodes.EvalContext, caller: Callable[[], str]) -> str:
        text = caller()
        self.spans.append((self.done, self.done + len(text)))
        return text


class Sandbox(ImmutableSandboxedEnvironment):
    """The Jinja2 environment of one template, for one thread at a time.

    Attributes:
        steps: steps counted in the current rendering.
        work: characters read in the current rendering.
        made: characters of all values made in the current rendering.
    """

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
        """The extension that records the `generation` blocks."""
        return self.extensions[Generation.identifier]  # type: ignore[return-value]

    def allow(self, size: int) -> None:
        """Reset the counters, and set the limits for a conversation of `size` characters."""
        self.steps = self.work = self.made = 0
        self._most_steps = MOST_STEPS + size * _STEPS_EACH
        self._most_work = MOST_WORK + size * _WORK_EACH
        self._most_made = min(MOST_MADE + size * _MADE_EACH, _MOST_MADE_EVER)

    def step(self, parts: int = 0) -> None:
        """Count one step, and one more for every `_PARTS` of `parts`.

        Raises:
            TooMuchError: the limit of steps is exceeded.
        """
        self.steps += 1 + parts // _PARTS
        if self.steps > self._most_steps:
            raise TooMuchError(f"it does not end within {self._most_steps:,} steps")

    def passed(self, parts: int, kept_size: int) -> bool:
        """Count a pass through the body of a loop, macro or block, and return True.

        Args:
            parts: the number of nodes in the body.
            kept_size: the characters of the values that the body writes out.

        Raises:
            TooMuchError: a limit is exceeded.
        """
        self.steps += 1 + parts // _PARTS
        self.made += kept_size
        if self.steps > self._most_steps or self.made > self._most_made:
            self.step()
            self.ask(0)
        return True

    def read(self, amount: int) -> None:
        """Count `amount` characters that an operation is going to read.

        Raises:
            TooMuchError: the limit of characters read is exceeded.
        """
        self.work += amount
        if self.work > self._most_work:
            raise TooMuchError(f"its operations read more than {self._most_work:,} characters")

    def _make(self, amount: int) -> None:
        """Count `amount` characters of a new value."""
        self.made += amount
        if self.made > self._most_made:
            self.ask(0)

    def ask(self, amount: int) -> None:
        """Check that a value of up to `amount` characters can be made.

        Raises:
            TooMuchError: the value would exceed the limit of characters made.
        """
        if self.made + amount > self._most_made:
            raise TooMuchError(
                f"it makes values longer than {self._most_made:,} characters together"
            )

    def _operands(self, values: Sequence[Any], named: dict[str, Any] = _NONE) -> Operands:
        try:
            operands = Operands(values, named, self._most_work)
        except TooMuchValueError:
            self.read(self._most_work + 1)
            raise
        self.read(operands.characters + operands.elements * VALUE)
        return operands

    def _asked(self, cost: Cost, values: Sequence[Any], named: dict[str, Any]) -> None:
        """Count the time of an operation, and check the size of its result, before it runs."""
        if not cost.times:
            return
        operands = self._operands(values, named)
        if cost.times > 1:
            self.read((operands.characters + operands.elements * VALUE) * (cost.times - 1))
        if cost.more is not None:
            self.read(cost.more(operands))
        self.ask(cost.made(operands))

    def _kept(self, value: Any) -> Any:
        """Count a new value and return it; an iterator counts each element when it is read."""
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
        """Return a filter or a test that counts `cost` with each call."""
        first_argument = 1 if hasattr(function, "jinja_pass_arg") else 0

        @wraps(function)
        def limited(*args: Any, **named: Any) -> Any:
            self.step(_CALL * _PARTS)
            if cost.whole:
                args = _whole(args)
            self._asked(cost, args[first_argument:], named)
            result = function(*args, **named)
            return self._kept(result) if cost.times or is_lazy(result) else result

        return limited

    def _parse(self, source: str, name: str | None, filename: str | None) -> Any:
        """Parse a template so that loops, comparisons, slices and `~` call this environment."""
        tree = super()._parse(source, name, filename)
        for body in list(tree.find_all((nodes.For, nodes.Macro, nodes.CallBlock, nodes.Block))):
            _count_passes(body)
        return _Operations().visit(tree)

    def shown(self, value: Any) -> str:
        """Return the text that the template writes for `value`, and count it."""
        if type(value) is not str and not isinstance(value, str):
            self.step()
            self.ask(WRITTEN.made(self._operands((value,))))
            value = str(value)
        self._make(_OUTPUT + len(value))
        return value  # type: ignore[no-any-return]

    def weighed(self, value: Any) -> Any:
        """Return `value`, and count that an operation reads it with all nested values.

        Raises:
            TooMuchError: the limit of characters read is exceeded.
        """
        if type(value) is str:
            self.read(len(value))
        else:
            self._operands((value,))
        return value

    def sliced(self, value: Any, *ends: Any) -> Any:
        """Return `value[slice(*ends)]`, and count the part."""
        part = slice(*ends)
        if isinstance(value, (str, bytes, list, tuple)):
            length = len(range(*part.indices(len(value))))
            self.read(length)
            self._make(length if isinstance(value, (str, bytes)) else 2 * length)
        return value[part]

    def joined(self, *parts: Any) -> str:
        """Return the parts joined as text (the operator `~`), and count the text."""
        not_texts = [part for part in parts if not isinstance(part, str)]
        length = sum(len(part) for part in parts if isinstance(part, str))
        self.read(length)
        self.ask(length + (WRITTEN.made(self._operands(not_texts)) if not_texts else 0))
        text = "".join(map(str, parts))
        self._make(shallow(text))
        return text

    def call(self, context: Any, function: Any, /, *args: Any, **named: Any) -> Any:
        """Call a function or method for the template, within the bounds of its cost.

        Raises:
            SecurityError: no bound is known, or the sandbox refuses the call.
            TooMuchError: a limit is exceeded.
        """
        bound_to = getattr(function, "__self__", None)
        if bound_to is self:
            return function(*args)  # `passed`, `joined` and others that `_parse` puts in
        self.step(_CALL * _PARTS)
        if isinstance(function, CALLED) or bound_to is self.generation:
            return self._kept(super().call(context, function, *args, **named))
        owner = None
        if (cost := self._costs.get(id(function))) is None:
            # Jinja2's sandbox wraps `format`, to deny attributes that lead out of the sandbox.
            cost, owner = method_cost(getattr(function, "__wrapped__", function))
        if cost is None:
            raise SecurityError(f"it calls {getattr(function, '__name__', function)!r}")
        if cost.whole:
            args = _whole(args)
        self._asked(cost, args if owner is None else (owner, *args), named)
        result = super().call(context, function, *args, **named)
        return self._kept(result) if cost.times or is_lazy(result) else result

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Compute a binary operation whose result can be large.

        Raises:
            TooMuchError: a limit is exceeded.
        """
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


#: Overhead of each piece of the output, in characters.
_OUTPUT = 2
#: Nodes of literals, which make a new value in each pass.
_WRITTEN_OUT = (nodes.List, nodes.Tuple, nodes.Dict, nodes.Pair)


def _whole(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the values, with a list in place of each iterator."""
    return tuple(list(value) if is_lazy(value) else value for value in values)


def _count_passes(body: Any) -> None:
    """Change the body of a loop, macro or block so that each pass calls `Sandbox.passed`."""
    parts = kept_size = 0
    for node in body.find_all(nodes.Node):
        parts += 1
        if isinstance(node, _WRITTEN_OUT):
            kept_size += 16 * (2 + sum(1 for _ in node.iter_child_nodes()))
        elif isinstance(node, nodes.TemplateData):
            kept_size += len(node.data)
        elif isinstance(node, nodes.Const) and isinstance(node.value, str):
            kept_size += len(node.value)
    numbers = [nodes.Const(parts), nodes.Const(kept_size)]
    count = _called("passed", numbers, body.lineno)
    if isinstance(body, nodes.For) and body.test is not None:
        # A pass that the loop's condition skips takes time as well.
        body.test = nodes.And(count, body.test, lineno=body.lineno)
    else:
        body.body.insert(0, nodes.ExprStmt(count, lineno=body.lineno))


def _called(name: str, arguments: list[Any], line: int) -> Any:
    function = nodes.EnvironmentAttribute(name)
    return nodes.Call(function, arguments, [], None, None).set_lineno(line)


class _Operations(jinja2.visitor.NodeTransformer):
    """Replaces comparisons, slices and `~` by calls of the sandbox's methods."""

    def visit_Compare(self, node: nodes.Compare) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        for operand in node.ops:
            if isinstance(operand.expr, nodes.Const):
                continue  # a constant is no longer than the template, which has a limit
            operand.expr = _called("weighed", [operand.expr], node.lineno)
        return node

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        if isinstance(node.arg, nodes.Slice):
            bounds = (node.arg.start, node.arg.stop, node.arg.step)
            values = [nodes.Const(None) if end is None else end for end in bounds]
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
    """The template itself refuses the conversation, by `raise_exception`."""


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
    """Format the current time, or the time in `SOURCE_DATE_EPOCH`, so that runs can be repeated."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    if epoch.isascii() and epoch.isdigit():
        return datetime.fromtimestamp(int(epoch), UTC).strftime(form)
    return datetime.now().strftime(form)


# -- a template ---------------------------------------------------------------------------------


class Rendering(NamedTuple):
    """The result of rendering a template.

    Attributes:
        text: the rendered text.
        spans: start and end of each `{% generation %}` block, in characters.
    """

    text: str
    spans: list[tuple[int, int]]


class JinjaTemplate:
    """A compiled chat template.

    Attributes:
        name: the name of the template in messages.
        source: the text of the template.
        marks_generation: whether the template has `{% generation %}` blocks.
    """

    def __init__(self, source: str, name: str) -> None:
        """Compile a template.

        Raises:
            TokctlError: the template is too long, or not valid; the error names the line.
        """
        self.name = name
        self.source = source
        self._environment = Sandbox()
        if len(source) > LONGEST_TEMPLATE:
            raise BadModel(
                f"{name} can't be compiled: it has {len(source):,} characters",
                f"give a template of at most {LONGEST_TEMPLATE:,} with --chat-template FILE",
                "too-large",
            )
        try:
            tree = self._environment.parse(source)
            self._template = self._environment.from_string(source)
        except TemplateSyntaxError as error:
            raise BadModel(
                f"{name}: line {error.lineno}: {error.message}",
                "the file is not a Jinja2 template; give another with --chat-template FILE",
            ) from None
        except MemoryError:
            # Python's parser raises this, too, if the code is nested too deeply.
            raise BadModel(
                f"{name} can't be compiled: its nesting needs more memory than there is",
                "give another template with --chat-template FILE",
                "too-large",
            ) from None
        except (RecursionError, OverflowError, ValueError, SyntaxError, TemplateError) as error:
            raise BadModel(
                f"{name} can't be compiled: {_first_line(error)}",
                "give another template with --chat-template FILE",
            ) from None
        self.marks_generation = any(
            call.call.node.name == "_rendered"
            for call in tree.find_all(nodes.CallBlock)
            if isinstance(call.call.node, nodes.ExtensionAttribute)
        )

    def render(self, values: dict[str, Any]) -> Rendering:
        """Return the text that the template makes of `values`.

        Raises:
            TokctlError: the template refuses the values, fails, or reaches a limit; the error names
                the line.
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
            raise BadInput(
                f"{self._place(error)} refuses the conversation: {_first_line(error)}",
                "check the roles, their order and the fields of the messages",
                "bad-record",
            ) from None
        except TooMuchError as error:
            raise BadModel(
                f"{self._place(error)} is stopped: {_first_line(error)}",
                "give another template with --chat-template FILE",
                "too-large",
            ) from None
        except SecurityError as error:
            raise BadModel(
                f"{self._place(error)} does what templates may not do: {_first_line(error)}",
                "do not trust this template; give another with --chat-template FILE",
            ) from None
        except MemoryError as error:
            raise Unsupported(
                f"{self._place(error)} needs more memory than there is",
                "give shorter conversations, or raise the memory limit of the process",
                "out-of-memory",
            ) from None
        except Exception as error:
            # A template is a program, and can raise any exception.
            error_name = "" if isinstance(error, TemplateError) else f"{type(error).__name__}: "
            raise BadInput(
                f"{self._place(error)} fails: {error_name}{_first_line(error)}",
                "check the messages against the template, or give another with --chat-template "
                "FILE",
            ) from None
        return Rendering("".join(pieces), generation.spans)

    def _place(self, error: BaseException) -> str:
        """Return the name of the template, with the line where an error occurred if known."""
        line, trace = None, error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == _NAME:
                line = trace.tb_lineno
            trace = trace.tb_next
        return self.name if line is None else f"{self.name}: line {line}"


#: The most compiled templates that a thread keeps.
_MOST_KEPT = 64


class _Kept(threading.local):
    def __init__(self) -> None:
        self.templates: dict[tuple[str, str], JinjaTemplate] = {}


_kept = _Kept()


def compiled(source: str, name: str) -> JinjaTemplate:
    """Return the compiled template; each thread has its own.

    Raises:
        TokctlError: the template can't be compiled.
    """
    templates = _kept.templates
    if (source, name) not in templates:
        if len(templates) >= _MOST_KEPT:
            templates.clear()
        templates[source, name] = JinjaTemplate(source, name)
    return templates[source, name]


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:300] if lines else type(error).__name__
