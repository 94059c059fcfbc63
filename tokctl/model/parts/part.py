"""A step of a pipeline as plain data: a kind and its options."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn

from tokctl.errors import TokctlError

# Every command imports this module, and `dataclass` compiles the methods of a class when it
# is imported: half a millisecond each. So these classes are written out.


class Option:
    """One option of a kind of part.

    type: `str`, `bool`, `int`, or `tuple` for a list of texts.
    default: None where the option must be given.
    choices: the values that it may have; empty: any of its type.
    least: the least number, for `int`.
    may_be_empty: for `str`.
    one_character: the text is one character, neither more nor less, for `str`.
    """

    __slots__ = ("choices", "default", "least", "may_be_empty", "one_character", "type")

    def __init__(
        self,
        type: type,  # noqa: A002 (what the attribute is called)
        default: Any = None,
        choices: tuple[str, ...] = (),
        least: int = 0,
        may_be_empty: bool = True,
        one_character: bool = False,
    ) -> None:
        self.type = type
        self.default: Any = default
        self.choices: tuple[str, ...] = choices
        self.least: int = least
        self.may_be_empty: bool = may_be_empty
        self.one_character: bool = one_character

    def check(self, what: str, given: object) -> None:
        """TokctlError unless `given` is a value that the option can have."""
        if type(given) is not self.type:
            raise TokctlError(f"{what} is {given!r}, and should be {_TYPES[self.type]}")
        value: Any = given
        if self.choices and value not in self.choices:
            raise TokctlError(
                f"{what} can't be {value!r}", f"choose one of: {', '.join(self.choices)}"
            )
        if self.type is int and not self.least <= value < 2**31:
            raise TokctlError(f"{what} can't be {value}", f"it is a number from {self.least} up")
        if self.type is tuple:
            for text in value:
                Option(str, may_be_empty=False).check(f"a text of {what}", text)
        if self.type is str:
            if not value and not self.may_be_empty:
                raise TokctlError(f"{what} can't be empty")
            if self.one_character and len(value) != 1:
                raise TokctlError(f"{what} can't be {value!r}", "it is one character")
            try:
                value.encode()
            except UnicodeEncodeError:
                raise TokctlError(f"{what}, {value!r}, is not UTF-8") from None


_TYPES = {
    str: "a text",
    bool: "true or false",
    int: "a whole number",
    tuple: "a list of texts",
}


class Kind:
    """A kind of part: what it does, in one line, and its options.

    main: the options that the text form `kind:VALUE` sets, with `separator` between two.
    """

    __slots__ = ("about", "main", "options", "separator")

    def __init__(
        self,
        about: str,
        options: Mapping[str, Option] | None = None,
        main: tuple[str, ...] = (),
        separator: str = "=>",
    ) -> None:
        self.about: str = about
        self.options: Mapping[str, Option] = options or {}
        self.main: tuple[str, ...] = main
        self.separator: str = separator


class Part:
    """One normalizer, pre-tokenizer, post-processor or decoder.

    Made by `Family.part`, which checks it. `options` holds every option of the kind, in
    the kind's order; `part["name"]` is the value of one. It never changes, and two parts of
    the same kind with the same options are equal.
    """

    __slots__ = ("family", "kind", "options")
    family: Family
    kind: str
    options: tuple[tuple[str, Any], ...]

    def __init__(
        self, family: Family, kind: str, options: tuple[tuple[str, Any], ...] = ()
    ) -> None:
        object.__setattr__(self, "family", family)
        object.__setattr__(self, "kind", kind)
        object.__setattr__(self, "options", options)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a part never changes: {name} can't be set")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a part never changes: {name} can't be deleted")

    def __reduce__(self) -> tuple[Any, ...]:
        return Part, (self.family, self.kind, self.options)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Part):
            return NotImplemented
        return (self.kind, self.options) == (other.kind, other.options)

    def __hash__(self) -> int:
        return hash((self.kind, self.options))

    def __repr__(self) -> str:
        return f"Part(kind={self.kind!r}, options={self.options!r})"

    def __getitem__(self, name: str) -> Any:
        return dict(self.options)[name]

    def to_dict(self) -> dict[str, Any]:
        """As JSON would hold it: the kind, and the options that differ from their default."""
        known = self.family.kinds[self.kind].options
        changed = {name: value for name, value in self.options if value != known[name].default}
        return {"kind": self.kind, **changed}

    def __str__(self) -> str:
        """The text form: `kind`, `kind:VALUE`, or JSON where these can't say it all."""
        import json

        kind = self.family.kinds[self.kind]
        changed = self.to_dict()
        del changed["kind"]
        if not changed:
            return self.kind
        for name, meant in self.family.aliases.items():
            given = [option for option, value in meant.items() if value is None]
            text = f"{name}:{self[given[0]]}" if given and given[0] in changed else name
            if {"kind": self.kind, **changed}.keys() == meant.keys() and self._is(text):
                return text
        values = [_spelled(self[name]) for name in kind.main]
        text = f"{self.kind}:{kind.separator.join(values)}"
        if changed.keys() <= set(kind.main) and self._is(text):
            return text
        return json.dumps(self.to_dict(), ensure_ascii=False)

    def _is(self, text: str) -> bool:
        """Does a text form describe this part?"""
        try:
            return self.family.parse(text) == self
        except TokctlError:
            return False


def _spelled(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class Family:
    """All kinds of normalizers, say.

    name: what one of them is called in messages.
    aliases: text forms that stand for another part, `NAME` or `NAME:` (with a value).
    """

    __slots__ = ("aliases", "kinds", "name")

    def __init__(
        self,
        name: str,
        kinds: Mapping[str, Kind],
        aliases: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        self.name: str = name
        self.kinds: Mapping[str, Kind] = kinds
        self.aliases: Mapping[str, Mapping[str, Any]] = aliases or {}

    def part(self, kind: str, **options: Any) -> Part:
        """The part of that kind; TokctlError where kind or options are wrong."""
        if not isinstance(kind, str) or kind not in self.kinds:
            import difflib

            close = difflib.get_close_matches(str(kind), self.names(), n=1)
            listed = f"choose one of: {', '.join(self.names())}"
            hint = f"did you mean {close[0]}?" if close else listed
            raise TokctlError(f"no {self.name} is called {kind!r}", hint)
        known = self.kinds[kind].options
        if unknown := options.keys() - known.keys():
            names = ", ".join(known) or "none"
            raise TokctlError(
                f"the {self.name} {kind} has no option {min(unknown)!r}", f"it has: {names}"
            )
        values = []
        for name, option in known.items():
            value = options.get(name, option.default)
            if value is None:
                raise TokctlError(
                    f"the {self.name} {kind} needs the option {name!r}", self.example(kind)
                )
            if option.type is tuple and isinstance(value, list):
                value = tuple(value)
            option.check(f"the option {name} of the {self.name} {kind}", value)
            values.append((name, value))
        return Part(self, kind, tuple(values))

    def names(self) -> list[str]:
        """Every name that a text form can start with."""
        return [*self.kinds, *(alias for alias in self.aliases if alias not in self.kinds)]

    def example(self, kind: str) -> str:
        main = self.kinds[kind].main
        shown = self.kinds[kind].separator.join(name.upper() for name in main)
        return f"write {kind}:{shown}" if main else f"it is called {kind}"

    def from_dict(self, data: Any) -> Part:
        """The part that `to_dict` described."""
        if not isinstance(data, Mapping) or "kind" not in data:
            raise TokctlError(f"a {self.name} is described by an object with a kind, not {data!r}")
        options = {name: value for name, value in data.items() if name != "kind"}
        return self.part(data["kind"], **options)

    def parse(self, text: str) -> Part:
        """The part that a text form describes: `kind`, `kind:VALUE`, or a JSON object."""
        if text.startswith("{"):
            return self._from_json(text)
        name, colon, value = text.partition(":")
        if name in self.aliases:
            meant = dict(self.aliases[name])
            for option, given in meant.items():
                if given is None:
                    if not value:
                        raise TokctlError(
                            f"the {self.name} {name} needs a value", f"write {name}:VALUE"
                        )
                    meant[option] = value
                    colon = ""
            if colon:
                raise TokctlError(f"the {self.name} {name} takes no value, and has {value!r}")
            return self.part(meant.pop("kind"), **meant)
        if not colon or name not in self.kinds:
            return self.part(name)
        kind = self.kinds[name]
        if not kind.main:
            raise TokctlError(f"the {self.name} {name} takes no value, and has {value!r}")
        values = value.split(kind.separator) if len(kind.main) > 1 else [value]
        if len(values) > len(kind.main):
            raise TokctlError(f"{text!r} has too many {kind.separator!r}", self.example(name))
        pairs = zip(kind.main, values, strict=False)
        return self.part(name, **{n: self._value(kind.options[n], v) for n, v in pairs})

    def _value(self, option: Option, text: str) -> Any:
        if option.type is bool:
            return {"true": True, "false": False}.get(text, text)
        if option.type is int:
            return int(text) if text.isdecimal() and text.isascii() and len(text) < 10 else text
        return text

    def _from_json(self, text: str) -> Part:
        import json

        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise TokctlError(f"the {self.name} {text!r} is no JSON: {error}") from None
        return self.from_dict(data)

    def parse_list(self, text: str) -> list[Part]:
        """The parts of a list with commas between. One whose value is a free text takes
        all that follows it."""
        parts: list[Part] = []
        while text:
            name = text.split(",", 1)[0].split(":", 1)[0]
            if text.startswith("{") or self._takes_text(name):
                return [*parts, self.parse(text)]
            one, _, text = text.partition(",")
            if one.strip():
                parts.append(self.parse(one.strip()))
            text = text.lstrip()
        return parts

    def _takes_text(self, name: str) -> bool:
        if name in self.aliases:
            return None in self.aliases[name].values()
        if name not in self.kinds:
            return False
        kind = self.kinds[name]
        return any(kind.options[n].type is str and not kind.options[n].choices for n in kind.main)

    def steps(self, steps: Steps) -> tuple[Part, ...]:
        """A sequence of parts from parts, text forms and descriptions; `none` is no step."""
        if isinstance(steps, (str, Part, Mapping)):
            steps = [steps]
        found: list[Part] = []
        for step in steps:
            if isinstance(step, Part):
                if step.family is not self:
                    raise TokctlError(f"{step} is a {step.family.name}, not a {self.name}")
                found.append(step)
            elif isinstance(step, str):
                found += [] if step in ("none", "") else [self.parse(step)]
            else:
                found.append(self.from_dict(step))
        return tuple(found)


#: What a sequence of parts can be given as.
Steps = str | Part | Mapping[str, Any] | Sequence[str | Part | Mapping[str, Any]]


def text_of(parts: Iterable[Part]) -> str:
    """A sequence of parts in their text form; `none` for no part."""
    return ", ".join(map(str, parts)) or "none"
