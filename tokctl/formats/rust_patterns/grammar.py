r"""Patterns that Python's `regex` and Rust's `fancy-regex` read alike.

Both search from the left and take the first alternative that matches, greedily where the
pattern says so. They differ in what they write (`$` is the end of the text in Rust, in
Python also the place before a last line feed; `[a&&[^b]]` is an intersection in Rust only)
and in what some things mean (`\h`, `\Z`, `{,3}`, a `[` in a class; `(?i:i)` matches `İ` in
Python). What is read here means the same in both, as each writes it; anything else is an
InexpressibleError. Characters that a newer Unicode version added are those of the library:
both are told by its tables.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from tokctl.formats.contract import InexpressibleError
from tokctl.formats.rust_patterns.characters import Characters

#: Groups in groups, at most.
_DEEPEST = 40
#: The greatest number of a quantifier: a pattern is compiled to as many copies.
_MOST_TIMES = 1000

_TIMES = re.compile(r"\{([0-9]{1,4})(,?)([0-9]{0,4})\}")
_GROUP = re.compile(r"\((?:\?(:|[is]:|=|!|<=|<!|>))?")
_NOT_LITERAL = "\\[](){}*+?|^$."


class Node(NamedTuple):
    """A part of a pattern.

    python, rust: how each writes it.
    least: characters that it takes at least.
    optional: can it always match nothing, wherever it stands?
    ones: patterns of one character each: where one of these stands, the part matches.
    single: does it take one character, whatever stands around it?
    held: patterns of single characters that it takes where it can, and never gives back.
    """

    python: str
    rust: str
    least: int = 0
    optional: bool = False
    ones: tuple[str, ...] = ()
    single: bool = False
    held: tuple[str, ...] = ()


def parse(pattern: str, *, rust: bool) -> Node:
    """The pattern, which is Rust's or Python's; InexpressibleError where it is not read alike."""
    reader = _Reader(pattern, rust)
    node = reader.alternatives(0)
    if reader.at < len(pattern):
        raise reader.unlike()
    return node


class _Reader(Characters):
    def alternatives(self, depth: int) -> Node:
        if depth > _DEEPEST:
            raise InexpressibleError(f"the groups of its pattern are more than {_DEEPEST} deep")
        found = [self.sequence(depth)]
        while self.ahead("|"):
            self.at += 1
            found.append(self.sequence(depth))
        if len(found) == 1:
            return found[0]
        return Node(
            "|".join(node.python for node in found),
            "|".join(node.rust for node in found),
            min(node.least for node in found),
            any(node.optional for node in found),
            tuple(one for node in found for one in node.ones),
            all(node.single for node in found),
            tuple(one for node in found for one in node.held),
        )

    def sequence(self, depth: int) -> Node:
        parts = []
        while self.at < len(self.pattern) and self.pattern[self.at] not in "|)":
            parts.append(self.quantified(depth))
        if len(parts) == 1:
            return parts[0]
        return Node(
            "".join(node.python for node in parts),
            "".join(node.rust for node in parts),
            sum(node.least for node in parts),
            all(node.optional for node in parts),
            _ones_of(parts),
            held=tuple(one for node in parts for one in node.held),
        )

    def quantified(self, depth: int) -> Node:
        start = self.at
        node = self.atom(depth)
        times = self.times()
        if times is None:
            return node
        text, least, most = times
        kind = ""
        if self.pattern[self.at : self.at + 1] in ("?", "+"):
            kind = self.pattern[self.at]
            self.at += 1
        if self.times() is not None:
            raise self.unlike("a quantifier of a quantifier")
        if node.least == 0 and (not node.optional or most is None or most > 1):
            # Both differ in what they do where nothing can be repeated, or looked for twice.
            self.at = start
            raise self.unlike()
        # One that gives nothing back is sure only where it takes single characters.
        sure = kind != "+" or node.single
        ones = node.ones if sure and least <= 1 and most != 0 else ()
        return Node(
            f"{node.python}{text}{kind}",
            f"{node.rust}{text}{kind}",
            node.least * least,
            sure and (least == 0 or node.optional),
            ones,
            held=(*node.held, *(node.ones if kind == "+" else ())),
        )

    def times(self) -> tuple[str, int, int | None] | None:
        """A quantifier: as it is written, the least and the greatest number."""
        sign = self.pattern[self.at : self.at + 1]
        if sign and sign in "*+?":
            self.at += 1
            return sign, int(sign == "+"), 1 if sign == "?" else None
        if sign != "{":
            return None
        match = _TIMES.match(self.pattern, self.at)
        if match is None:
            raise self.unlike()
        least = int(match[1])
        most = least if not match[2] else int(match[3]) if match[3] else None
        if max(least, most or 0) > _MOST_TIMES or (most is not None and most < least):
            raise self.unlike()
        self.at = match.end()
        return match[0], least, most

    def atom(self, depth: int) -> Node:
        sign = self.pattern[self.at]
        if sign == "(":
            return self.group(depth)
        if sign == "[":
            return self.characters()
        if sign in "^$":
            self.at += 1
            if sign == "^":
                return Node("^", "^")
            return Node(r"\Z", "$") if self.rust else Node(r"(?=\n?\Z)", r"(?=\n?\z)")
        if sign == ".":
            self.at += 1
            return Node(".", ".", 1, False, ("(?s:.)" if self.any_dot else r"[^\n]",), True)
        if sign == "\\":
            return self.escape()
        if sign in _NOT_LITERAL or not self.fits_case(sign):
            raise self.unlike()
        self.at += 1
        return _single(sign, self.any_case)

    def escape(self) -> Node:
        if self.ahead(r"\z" if self.rust else r"\Z"):
            self.at += 2
            return Node(r"\Z", r"\z")
        return _single(self.one_escape(), self.any_case)

    def group(self, depth: int) -> Node:
        start = self.at
        match = _GROUP.match(self.pattern, start)
        assert match is not None
        kind = match[1] or ":"
        self.at = match.end()
        if match[1] is None and self.ahead("?"):
            self.at = start
            raise self.unlike()
        self.any_case += kind == "i:"
        self.any_dot += kind == "s:"
        inner = self.alternatives(depth + 1)
        self.any_case -= kind == "i:"
        self.any_dot -= kind == "s:"
        if not self.ahead(")"):
            raise InexpressibleError("a group of its pattern has no end")
        self.at += 1
        python, rust = f"(?{kind}{inner.python})", f"(?{kind}{inner.rust})"
        if kind in ("=", "!", "<=", "<!"):
            if kind[0] == "<" and not inner.single:
                self.at = start
                raise self.unlike()
            return Node(python, rust)
        if kind == ">":
            return Node(python, rust, inner.least)
        return inner._replace(python=python, rust=rust)

    def characters(self) -> Node:
        """A class, `[…]`."""
        members = self.members()
        if not self.ahead("&&"):
            self.at += 1
            return _single(f"[{members}]", self.any_case)
        self.at += 2
        if not self.rust or not self.ahead("["):
            raise self.unlike()
        inner = self.members()
        self.at += 1
        if not self.ahead("]") or members.startswith("^"):
            raise self.unlike()
        self.at += 1
        text = f"(?:(?=[{inner}])[{members}])"
        return Node(text, f"[{members}&&[{inner}]]", 1, False, (text,), True)


def _single(text: str, any_case: int) -> Node:
    one = f"(?i:{text})" if any_case else text
    return Node(text, text, 1, False, (one,), True)


def _ones_of(parts: list[Node]) -> tuple[str, ...]:
    """The single characters that a sequence matches: those of one part, where every other can
    be nothing, but for those that an earlier part takes for itself."""
    needed = [at for at, node in enumerate(parts) if not node.optional]
    if len(needed) > 1:
        return ()
    found = []
    for at in needed or range(len(parts)):
        held = [one for node in parts[:at] for one in node.held]
        guard = f"(?!{'|'.join(held)})" if held else ""
        found += [f"{guard}{one}" for one in parts[at].ones]
    return tuple(found)
