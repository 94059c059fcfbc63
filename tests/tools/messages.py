"""Every message and hint that tokctl raises, in one text: `python -m tests.tools.messages`.

The tool reads the package's source and writes `tests/golden/messages.txt`: one line for each
message, with the module, the kind of error, its code, the message and the hint. A field stands as
its expression in braces. An argument that is a name, a call or a choice is followed to the texts
that it can be: local variables, constants, return values, and the callers of a helper. What cannot
be followed is an `UnreadableError`, so that no message is left out in silence.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "tokctl"
SNAPSHOT = ROOT / "tests/golden/messages.txt"
ERRORS = "tokctl.core.errors"
REWORDED = "reworded"
#: Attributes and parameters of an error that another one takes over: they stay fields.
PASSED_ON = {"message", "hint", "code"}
#: How many callers of callers are followed.
DEEPEST = 5

Function = ast.FunctionDef | ast.AsyncFunctionDef


class UnreadableError(Exception):
    """A message or hint whose texts the tool cannot find in the source."""


class Message(NamedTuple):
    """One message with its hint, as they stand in the source."""

    module: str
    kind: str
    code: str
    message: str
    hint: str

    def __str__(self) -> str:
        return " · ".join(
            text.replace("\\", "\\\\").replace("\n", "\\n").replace("\0", "\\0") for text in self
        )


@dataclass
class Module:
    """A module's tree, and what its names mean."""

    name: str
    tree: ast.Module
    is_package: bool
    parents: dict[ast.AST, ast.AST] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for node in ast.walk(self.tree):
            for child in ast.iter_child_nodes(node):
                self.parents[child] = node

    @cached_property
    def imported(self) -> dict[str, tuple[str, str]]:
        """The module and the name there of each imported name, functions' imports included."""
        found = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    found[alias.asname or alias.name] = (node.module, alias.name)
        return found

    def inside(self, node: ast.AST, *kinds: type[ast.AST]) -> ast.AST | None:
        """Return the innermost node of one of `kinds` around `node`."""
        while (above := self.parents.get(node)) is not None:
            if isinstance(above, kinds):
                return above
            node = above
        return None


@dataclass(frozen=True)
class Scope:
    """Where an expression stands, and what its function's parameters are in one call."""

    module: Module
    function: Function | None
    given: dict[str, tuple[ast.expr, Scope]] | None = None
    depth: int = 0

    def outer(self) -> Scope:
        """Return the scope around the function."""
        assert self.function is not None
        above = self.module.inside(self.function, ast.FunctionDef, ast.AsyncFunctionDef)
        assert above is None or isinstance(above, Function)
        return replace(self, function=above, given=None)


def parameters(function: Function) -> list[str]:
    """Return the names of a function's parameters, without `self`."""
    every = function.args
    names = [one.arg for one in (*every.posonlyargs, *every.args)]
    if names[:1] in (["self"], ["cls"]):
        del names[0]
    return names + [one.arg for one in every.kwonlyargs]


def defaults(function: Function) -> dict[str, ast.expr]:
    """Return the default values of a function's parameters."""
    every = function.args
    positional = [*every.posonlyargs, *every.args]
    found = {
        one.arg: value
        for one, value in zip(
            positional[len(positional) - len(every.defaults) :], every.defaults, strict=True
        )
    }
    for one, value in zip(every.kwonlyargs, every.kw_defaults, strict=True):
        if value is not None:
            found[one.arg] = value
    return found


class Package:
    """The source of all modules, with the look-ups that following a text needs."""

    def __init__(self, folder: Path = PACKAGE) -> None:
        self.modules: dict[str, Module] = {}
        for path in sorted(folder.rglob("*.py")):
            parts = (folder.name, *path.relative_to(folder).with_suffix("").parts)
            if "native" not in parts:
                is_package = parts[-1] == "__init__"
                name = ".".join(parts[:-1] if is_package else parts)
                tree = ast.parse(path.read_text(encoding="utf-8"))
                self.modules[name] = Module(name, tree, is_package)
        self.kinds = self._kinds()
        self.calls: dict[str, list[tuple[ast.Call, Module]]] = defaultdict(list)
        self.functions: dict[str, list[tuple[Function, Module]]] = defaultdict(list)
        for module in self.modules.values():
            for node in ast.walk(module.tree):
                if isinstance(node, ast.Call) and (name := called(node)):
                    self.calls[name].append((node, module))
                elif isinstance(node, Function):
                    self.functions[node.name].append((node, module))

    def _kinds(self) -> dict[str, ast.ClassDef]:
        """Return the error classes by name: `TokctlError` and what derives from it."""
        classes = {
            node.name: node
            for module in self.modules.values()
            for node in ast.walk(module.tree)
            if isinstance(node, ast.ClassDef)
        }
        kinds = {"TokctlError": classes["TokctlError"]}
        while more := {
            name: node
            for name, node in classes.items()
            if name not in kinds
            and any(ast.unparse(base).split(".")[-1] in kinds for base in node.bases)
        }:
            kinds |= more
        return kinds

    def general_code(self, kind: str) -> str:
        """Return the code of errors of `kind` that are raised without one."""
        node = self.kinds[kind]
        for line in node.body:
            if isinstance(line, ast.Assign | ast.AnnAssign):
                target = line.target if isinstance(line, ast.AnnAssign) else line.targets[0]
                if ast.unparse(target) == "general_code" and isinstance(line.value, ast.Constant):
                    return str(line.value.value)
        base = next(b for b in map(ast.unparse, node.bases) if b.split(".")[-1] in self.kinds)
        return self.general_code(base.split(".")[-1])

    def initializer(self, kind: str) -> Function | None:
        """Return the `__init__` of an error class that takes other arguments than its base."""
        if kind == "TokctlError":
            return None
        body = self.kinds[kind].body
        return next((n for n in body if isinstance(n, Function) and n.name == "__init__"), None)

    def constant(self, name: str, module: Module) -> tuple[ast.expr, Module] | None:
        """Return the value of a module's constant, in the module that assigns it."""
        for node in module.tree.body:
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                for target in targets:
                    if isinstance(target, ast.Name) and target.id == name:
                        return node.value, module
                    if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                        for one, value in zip(target.elts, node.value.elts, strict=True):
                            if isinstance(one, ast.Name) and one.id == name:
                                return value, module
        if name in module.imported:
            source, there = module.imported[name]
            if source in self.modules:
                return self.constant(there, self.modules[source])
        return None

    def named(self, call: ast.Call, module: Module) -> list[tuple[Function, Module]]:
        """Return the functions that a call can mean, by name."""
        name = called(call)
        found = self.functions.get(name, [])
        if isinstance(call.func, ast.Attribute):
            own = [one for one in found if one[1] is module]
            receiver = call.func.value.id if isinstance(call.func.value, ast.Name) else ""
            if ".".join(module.imported.get(receiver, ())) in self.modules:
                where = ".".join(module.imported[receiver])
                return [one for one in found if one[1].name == where]
            if own and receiver == "self":
                return own
            known = {source for source, _ in module.imported.values()} | {module.name}
            return [one for one in found if one[1].name in known] or found
        if own := [one for one in found if one[1] is module]:
            return own
        if name in module.imported:
            source, there = module.imported[name]
            return [one for one in self.functions.get(there, []) if one[1].name == source]
        return []

    def callers(self, function: Function, module: Module) -> list[tuple[ast.Call, Module]]:
        """Return the calls of a function, of a method, or, for `__init__`, of its class."""
        inside = module.inside(function, ast.ClassDef)
        name = function.name
        if name == "__init__" and isinstance(inside, ast.ClassDef):
            name = inside.name
        found = []
        for call, where in self.calls.get(name, []):
            if isinstance(call.func, ast.Attribute):
                candidates = {id(one) for one, _ in self.named(call, where)}
                if id(function) in candidates or name != function.name:
                    found.append((call, where))
            elif where is module or where.imported.get(name, ("", ""))[0] == module.name:
                found.append((call, where))
        return found

    def scope(self, node: ast.AST, module: Module, depth: int = 0) -> Scope:
        """Return the scope in which a node stands."""
        function = module.inside(node, ast.FunctionDef, ast.AsyncFunctionDef)
        assert function is None or isinstance(function, Function)
        return Scope(module, function, None, depth)


def called(call: ast.Call) -> str:
    """Return the last name of what is called."""
    if isinstance(call.func, ast.Name):
        return call.func.id
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def bound(call: ast.Call, function: Function, scope: Scope) -> dict[str, tuple[ast.expr, Scope]]:
    """Return what a call gives for each parameter of a function."""
    names = parameters(function)
    given: dict[str, tuple[ast.expr, Scope]] = {
        name: (value, scope) for name, value in defaults(function).items()
    }
    for name, value in zip(names, call.args, strict=False):
        if isinstance(value, ast.Starred):
            break
        given[name] = (value, scope)
    for keyword in call.keywords:
        if keyword.arg in names:
            given[keyword.arg] = (keyword.value, scope)
    return given


class Reader:
    """Finds the texts that an expression can be."""

    def __init__(self, package: Package) -> None:
        self.package = package

    def texts(self, node: ast.expr, scope: Scope) -> list[str]:
        """Return the texts that a whole argument can be.

        Raises:
            UnreadableError: the source does not say.
        """
        if scope.depth > DEEPEST:
            raise UnreadableError(f"more than {DEEPEST} calls deep: {ast.unparse(node)}")
        match node:
            case ast.Constant(value=str(text)):
                return [text]
            case ast.Constant(value=None):
                return []
            case ast.JoinedStr():
                return self._joined(node, scope)
            case ast.BinOp(op=ast.Add()):
                left, right = self.texts(node.left, scope), self.texts(node.right, scope)
                return [a + b for a in left for b in right]
            case ast.IfExp():
                return [*self.texts(node.body, scope), *self.texts(node.orelse, scope)]
            case ast.BoolOp(op=ast.Or()):
                *firsts, last = [self.texts(one, scope) for one in node.values]
                return [*(text for texts in firsts for text in texts if text), *last]
            case ast.BoolOp(op=ast.And()):
                return self.texts(node.values[-1], scope)
            case ast.Name():
                return self._name(node, scope)
            case ast.Attribute():
                return self._attribute(node, scope)
            case ast.Subscript(slice=ast.Slice()):
                return ["{" + plain(node) + "}"]
            case ast.Subscript(slice=ast.Constant(value=int(number))):
                return self._entries(node.value, scope, number)
            case ast.Subscript():
                return self._entries(node.value, scope)
            case ast.YieldFrom(value=ast.Call() as call):
                return self._results(call, scope, yielded)
            case ast.Call():
                return self._call(node, scope)
            case ast.GeneratorExp(elt=elt, generators=[loop]):
                is_same = ast.unparse(elt) == ast.unparse(loop.target)
                return self.texts(loop.iter if is_same else elt, scope)
        raise UnreadableError(ast.unparse(node))

    def _joined(self, node: ast.JoinedStr, scope: Scope) -> list[str]:
        found = [""]
        for part in node.values:
            if isinstance(part, ast.Constant):
                more = [str(part.value)]
            else:
                assert isinstance(part, ast.FormattedValue)
                more = self._field(part, scope)
            found = [before + one for before in found for one in more]
        return found

    def _field(self, part: ast.FormattedValue, scope: Scope) -> list[str]:
        """Return the literal texts of a field that is a constant or given by a caller, or `{x}`."""
        if isinstance(part.value, ast.Constant):
            raise UnreadableError(f"braces in an f-string that are no field: {template(part)}")
        if isinstance(part.value, ast.Name) and part.conversion == -1:
            name = part.value.id
            if scope.given and name in scope.given:
                value, outside = scope.given[name]
                if literal(value) and phrase(value):
                    return self.texts(value, outside) or [""]
            elif scope.function is None or name not in parameters(scope.function):
                constant = self.package.constant(name, scope.module)
                if constant and literal(constant[0]):
                    return self.texts(constant[0], Scope(constant[1], None))
        return [template(part)]

    def _name(self, node: ast.Name, scope: Scope) -> list[str]:
        if scope.given and node.id in scope.given:
            value, outside = scope.given[node.id]
            return self.texts(value, replace(outside, depth=scope.depth + 1))
        if scope.function is None:
            constant = self.package.constant(node.id, scope.module)
            if constant is None:
                raise UnreadableError(f"no constant {node.id}")
            return self.texts(constant[0], Scope(constant[1], None, None, scope.depth))
        if node.id in parameters(scope.function):
            if node.id in PASSED_ON and scope.function.name in ("__init__", "reworded"):
                return ["{" + node.id + "}"]
            return self._from_callers(node.id, scope)
        if values := list(assigned(node.id, scope.function)):
            texts = [text for value in values for text in self._assigned(node.id, value, scope)]
            # A variable that begins empty is filled before it is used.
            return [text for text in texts if text] or texts
        return self._name(node, scope.outer())

    def _assigned(self, name: str, value: ast.expr, scope: Scope) -> list[str]:
        """Return the texts of a value that the variable `name` gets, which may name it."""
        if isinstance(value, ast.Call) and called(value) == "replace":
            return []
        inner = {one.id for one in ast.walk(value) if isinstance(one, ast.Name)}
        if name in inner and not isinstance(value, ast.JoinedStr):
            return ["{" + plain(value) + "}"]
        return self.texts(value, scope)

    def _from_callers(self, name: str, scope: Scope) -> list[str]:
        assert scope.function is not None
        found = []
        callers = self.package.callers(scope.function, scope.module)
        for call, module in callers:
            outside = self.package.scope(call, module, scope.depth + 1)
            if name in (given := bound(call, scope.function, outside)):
                value, where = given[name]
                found += self.texts(value, where)
        if not callers:
            raise UnreadableError(f"nothing calls {scope.function.name}, which is given {name}")
        return found

    def _attribute(self, node: ast.Attribute, scope: Scope) -> list[str]:
        if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"):
            owner = scope.module.inside(scope.function or node, ast.ClassDef)
            if isinstance(owner, ast.ClassDef):
                values = list(attributes(node.attr, owner))
                found = []
                for value, function in values:
                    found += self.texts(value, Scope(scope.module, function, None, scope.depth + 1))
                if values:
                    return found
        if node.attr in PASSED_ON:
            return ["{" + plain(node) + "}"]
        raise UnreadableError(ast.unparse(node))

    def _entries(self, node: ast.expr, scope: Scope, number: int | None = None) -> list[str]:
        """Return the texts in a dictionary, or the text with a number in a tuple."""
        where = scope
        if isinstance(node, ast.Name):
            constant = self.package.constant(node.id, scope.module)
            if constant is None:
                raise UnreadableError(f"no table {node.id}")
            node, where = constant[0], Scope(constant[1], None, None, scope.depth)
        if isinstance(node, ast.Dict):
            return [text for value in node.values for text in self.texts(value, where)]
        if isinstance(node, ast.Tuple) and number is not None:
            return self.texts(node.elts[number], where)
        raise UnreadableError(ast.unparse(node))

    def _call(self, node: ast.Call, scope: Scope) -> list[str]:
        if isinstance(node.func, ast.Attribute):
            if node.func.attr == "get":
                rest = [text for one in node.args[1:] for text in self.texts(one, scope)]
                return [*self._entries(node.func.value, scope), *rest]
            if node.func.attr in ("format", "replace"):
                return self.texts(node.func.value, scope)
            if node.func.attr == "rstrip":
                return [text.rstrip() for text in self.texts(node.func.value, scope)]
            if node.func.attr in ("join", "lower"):
                return ["{" + plain(node) + "}"]
        elif called(node) == "str" and len(node.args) == 1:
            return ["{" + plain(node) + "}"]
        elif called(node) == "next":
            return self.texts(node.args[0], scope)
        return self._results(node, scope, returned)

    def _results(
        self, node: ast.Call, scope: Scope, values: Callable[[Function], Iterator[ast.expr]]
    ) -> list[str]:
        """Return the texts among the values that the called functions return or yield."""
        functions = self.package.named(node, scope.module)
        if not functions:
            raise UnreadableError(ast.unparse(node))
        found = []
        for function, module in functions:
            given = bound(node, function, scope)
            inner = Scope(module, function, given, scope.depth + 1)
            for value in values(function):
                found += self.texts(value, inner)
        return found

    def rows(self, call: ast.Call, module: Module) -> Iterator[Message]:
        """Yield the messages that one call builds, for each caller of a helper."""
        scope = self.package.scope(call, module)
        kind = called(call)
        if kind == "__init__":
            owner = module.inside(call, ast.ClassDef)
            assert isinstance(owner, ast.ClassDef)
            kind = owner.name
        scopes = [scope]
        if (function := scope.function) and not set(parameters(function)).isdisjoint(
            names_used(call, function)
        ):
            callers = self.package.callers(function, module)
            scopes = [
                replace(scope, given=bound(one, function, self.package.scope(one, where, 1)))
                for one, where in callers
            ] or scopes
        for one in scopes:
            for arguments in self._arguments(call, one):
                yield from self._combined(arguments, kind, one)

    def _arguments(
        self, call: ast.Call, scope: Scope
    ) -> Iterator[dict[str, tuple[ast.expr, Scope]]]:
        """Yield message, hint and code as expressions: one set, or those of a starred call."""
        if len(call.args) == 1 and isinstance(call.args[0], ast.Starred):
            inner = call.args[0].value
            assert isinstance(inner, ast.Call)
            for function, module in self.package.named(inner, scope.module):
                where = Scope(module, function, bound(inner, function, scope), scope.depth + 1)
                yield from self._tuples(returned(function), where)
            return
        names = ("message", "hint", "code")
        given = {name: (value, scope) for name, value in zip(names, call.args, strict=False)}
        yield given | {one.arg: (one.value, scope) for one in call.keywords if one.arg in names}

    def _tuples(
        self, values: Iterator[ast.expr], scope: Scope
    ) -> Iterator[dict[str, tuple[ast.expr, Scope]]]:
        for value in values:
            if isinstance(value, ast.Tuple):
                names = ("message", "hint", "code")
                yield {name: (one, scope) for name, one in zip(names, value.elts, strict=False)}
            elif isinstance(value, ast.Call):
                for function, module in self.package.named(value, scope.module):
                    where = Scope(module, function, bound(value, function, scope), scope.depth + 1)
                    yield from self._tuples(returned(function), where)
            elif isinstance(value, ast.Name) and scope.function:
                yield from self._tuples(assigned(value.id, scope.function), scope)
            else:
                raise UnreadableError(ast.unparse(value))

    def _combined(
        self, arguments: dict[str, tuple[ast.expr, Scope]], kind: str, scope: Scope
    ) -> Iterator[Message]:
        old = "{%s}" if kind == REWORDED else ""
        found = {}
        for name in ("message", "hint", "code"):
            texts = self.texts(*arguments[name]) if name in arguments else []
            if not texts and kind == REWORDED:
                texts = [old % name]
            elif not texts and name == "code":
                texts = [self.package.general_code(kind)]
            elif not texts:
                raise UnreadableError(f"no {name}")
            found[name] = texts
        code = "/".join(sorted(set(found["code"])))
        for message in found["message"]:
            for hint in found["hint"]:
                yield Message(scope.module.name, kind, code, message, hint)


def literal(value: ast.expr) -> bool:
    """Return whether an expression is a text in quotes, or a choice of such texts."""
    if isinstance(value, ast.IfExp):
        return literal(value.body) and literal(value.orelse)
    if isinstance(value, ast.BinOp):
        return literal(value.left) and literal(value.right)
    return isinstance(value, ast.JoinedStr) or (
        isinstance(value, ast.Constant) and isinstance(value.value, str)
    )


def phrase(value: ast.expr) -> bool:
    """Return whether a text is worth showing in its sentence: an option, or more than a word."""
    texts = [one.value for one in ast.walk(value) if isinstance(one, ast.Constant)]
    return any(isinstance(one, str) and (" " in one or one.startswith("--")) for one in texts)


class _Quoted(ast.NodeTransformer):
    """Shows f-strings as texts, since Python's releases unparse them differently."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return ast.Constant("".join(template(part) for part in node.values))


def plain(node: ast.expr) -> str:
    """Return the source of an expression, the same in each release of Python."""
    tree = _Quoted().visit(ast.parse(ast.unparse(node), mode="eval"))
    return ast.unparse(tree)


def template(part: ast.expr) -> str:
    """Return a part of an f-string as it stands there."""
    if isinstance(part, ast.Constant):
        return str(part.value)
    assert isinstance(part, ast.FormattedValue)
    conversion = "" if part.conversion == -1 else "!" + chr(part.conversion)
    form = part.format_spec
    after = ":" + "".join(map(template, form.values)) if isinstance(form, ast.JoinedStr) else ""
    return "{" + plain(part.value) + conversion + after + "}"


def own_nodes(function: Function) -> Iterator[ast.AST]:
    """Yield the nodes of a function, without those of functions inside."""
    waiting = list(ast.iter_child_nodes(function))
    while waiting:
        node = waiting.pop(0)
        yield node
        if not isinstance(node, Function | ast.Lambda):
            waiting[:0] = ast.iter_child_nodes(node)


def returned(function: Function) -> Iterator[ast.expr]:
    """Yield the values that a function returns."""
    for node in own_nodes(function):
        if isinstance(node, ast.Return) and node.value is not None:
            yield node.value


def yielded(function: Function) -> Iterator[ast.expr]:
    """Yield the values that a generator yields."""
    for node in own_nodes(function):
        if isinstance(node, ast.Yield) and node.value is not None:
            yield node.value


def assigned(name: str, function: Function) -> Iterator[ast.expr]:
    """Yield the values that a local variable gets; `YieldFrom` stands for those of a loop."""
    for node in own_nodes(function):
        if isinstance(node, ast.For) and (call := _looped(node, name)):
            yield ast.YieldFrom(call)
        if isinstance(node, ast.NamedExpr) and node.target.id == name:
            yield node.value
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if isinstance(target, ast.Name) and target.id == name:
                yield node.value
            elif isinstance(target, ast.Tuple):
                for number, one in enumerate(target.elts):
                    if isinstance(one, ast.Name) and one.id == name:
                        yield from _unpacked(node.value, number)


def _looped(loop: ast.For, name: str) -> ast.Call | None:
    """Return the generator that a loop's variable runs through, with or without `enumerate`."""
    target, call = loop.target, loop.iter
    if isinstance(target, ast.Tuple) and isinstance(call, ast.Call) and called(call) == "enumerate":
        target, call = target.elts[1], call.args[0]
    is_it = isinstance(target, ast.Name) and target.id == name
    return call if is_it and isinstance(call, ast.Call) else None


def _unpacked(value: ast.expr, number: int) -> Iterator[ast.expr]:
    if isinstance(value, ast.Tuple):
        yield value.elts[number]
    elif isinstance(value, ast.IfExp):
        yield from _unpacked(value.body, number)
        yield from _unpacked(value.orelse, number)
    else:
        yield ast.Subscript(value, ast.Constant(number))


def attributes(name: str, owner: ast.ClassDef) -> Iterator[tuple[ast.expr, Function | None]]:
    """Yield the values that an attribute of a class gets, with the method that assigns them."""
    for line in owner.body:
        if isinstance(line, Function):
            for node in own_nodes(line):
                if not isinstance(node, ast.Assign):
                    continue
                target = node.targets[0]
                if ast.unparse(target) == f"self.{name}":
                    yield node.value, line
                elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    for one, value in zip(target.elts, node.value.elts, strict=True):
                        if ast.unparse(one) == f"self.{name}":
                            yield value, line
        elif (
            isinstance(line, ast.Assign | ast.AnnAssign)
            and line.value is not None
            and ast.unparse(line.targets[0] if isinstance(line, ast.Assign) else line.target)
            == name
        ):
            yield line.value, None


def names_used(call: ast.Call, function: Function) -> set[str]:
    """Return the names in a call's arguments, and in what their local variables get."""
    found: set[str] = set()
    waiting = [*call.args, *(one.value for one in call.keywords)]
    while waiting:
        for node in ast.walk(waiting.pop()):
            if isinstance(node, ast.Name) and node.id not in found:
                found.add(node.id)
                waiting += assigned(node.id, function)
    return found


@dataclass
class Collection:
    """What the tool found."""

    messages: list[Message]
    sites: int
    unreadable: list[str]


def sites(package: Package) -> Iterator[tuple[ast.Call, Module]]:
    """Yield the calls that build an error, or reword one."""
    special = {kind for kind in package.kinds if package.initializer(kind)}
    for module in package.modules.values():
        for node in ast.walk(module.tree):
            if not isinstance(node, ast.Call):
                continue
            name = called(node)
            built = name in package.kinds and name not in special
            if built or (name == REWORDED and (node.args or node.keywords)):
                yield node, module
            elif name == "__init__" and ast.unparse(node.func) == "super().__init__":
                owner = module.inside(node, ast.ClassDef)
                if isinstance(owner, ast.ClassDef) and owner.name in special:
                    yield node, module


def collect(package: Package | None = None) -> Collection:
    """Return every message and hint in the package, sorted, and what could not be read."""
    package = package or Package()
    reader = Reader(package)
    found: set[Message] = set()
    unreadable = []
    count = 0
    for call, module in sites(package):
        count += 1
        try:
            found.update(reader.rows(call, module))
        except UnreadableError as error:
            unreadable.append(f"{module.name}:{call.lineno}: {error}")
    return Collection(sorted(found), count, unreadable)


def written(messages: list[Message]) -> str:
    """Return the text of the snapshot."""
    return "".join(f"{one}\n" for one in messages)


def main() -> int:
    """Write the snapshot."""
    collection = collect()
    for line in collection.unreadable:
        print(f"cannot be read: {line}", file=sys.stderr)
    if collection.unreadable:
        return 1
    SNAPSHOT.write_text(written(collection.messages), encoding="utf-8")
    print(f"{len(collection.messages)} messages of {collection.sites} errors: {SNAPSHOT.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
