"""Manual pages: the help of a command in the macros of man(7).

The pages are ASCII, and hold neither a date nor a path: the same tree gives the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tokctl.cli.shells import manners, roff
from tokctl.cli.shells.tree import Command, Option

#: Headings of an epilog that are not shown: other sections of the page say the same.
_SAID = ("Exit codes:", "Environment:")

#: The section of what stands under no heading.
_NOTES = "Notes"


def name(command: Command) -> str:
    """What the page is called: `tokctl-train`."""
    return "-".join(command.path)


def page(command: Command, root: Command, version: str) -> str:
    """The page of a command of the tree `root`."""
    lines = [
        f'.TH {roff.word(name(command).upper())} 1 "" "tokctl {version}" "tokctl"',
        ".nh",  # no hyphenation: names of options are to be found by searching
        ".SH NAME",
        f"{roff.text(name(command))} \\- {roff.text(_headline(command))}",
        ".SH SYNOPSIS",
        *_synopsis(command),
        ".SH DESCRIPTION",
        *roff.paragraphs(command.help),
        *_commands(command),
        *_options(command),
        *_epilog(command),
        *_exit_codes(command),
        *_environment(command),
        *_see_also(command, root),
    ]
    return "\n".join(lines) + "\n"


def _headline(command: Command) -> str:
    """What the command does, as a line of `apropos`."""
    short = command.short.rstrip(".")
    return short[:1].lower() + short[1:]


def _synopsis(command: Command) -> Iterator[str]:
    yield f".B {roff.text(' '.join(command.path))}"
    yield r"[\fIoptions\fR]"
    if command.commands:
        yield r"\fIcommand\fR [\fIarguments\fR]"
    for argument in command.arguments:
        yield roff.text(argument.metavar)


def _commands(command: Command) -> Iterator[str]:
    if command.commands:
        yield ".SH COMMANDS"
    for below in command.commands:
        yield ".TP"
        yield rf"\fB{roff.text(name(below))}\fR(1)"
        yield from roff.running(below.short)


def _options(command: Command) -> Iterator[str]:
    if command.arguments:
        yield ".SH ARGUMENTS"
        for argument in command.arguments:
            yield from _option(argument)
    if not command.options:
        return
    yield ".SH OPTIONS"
    panels = list(dict.fromkeys(option.panel for option in command.options))
    for panel in sorted(panels, key=bool):  # those without a heading first, the others as they come
        if panel:
            yield f".SS {roff.quoted(panel)}"
        for option in command.options:
            if option.panel == panel:
                yield from _option(option)


def _option(option: Option) -> Iterator[str]:
    yield ".TP"
    if option.names == (option.metavar,):
        yield rf"\fI{roff.text(option.metavar)}\fR"
    else:
        names = ", ".join(rf"\fB{roff.text(each)}\fR" for each in option.names)
        yield names + (rf" \fI{roff.text(option.metavar)}\fR" if option.metavar else "")
    told = option.help
    if option.default:
        told = f"{told} The default is {option.default}."
    yield from roff.running(told)
    missing = [
        value
        for value in option.values
        if not re.search(rf"\b{re.escape(value)}\b", f"{told} {option.metavar}")
    ]
    if missing:
        yield ".br"
        yield from roff.running(f"One of: {', '.join(option.values)}.")


def _epilog(command: Command) -> Iterator[str]:
    """Examples, and what else stands below the options. A heading is a line that ends with a
    colon, with indented lines below it; those stay as they are."""
    section = ""
    fresh = False  # nothing stands in the section yet
    for part in re.split(r"\n[ \t]*\n", command.epilog):
        # A sentence about exit codes can end a paragraph.
        part = re.split(rf"^(?:{'|'.join(_SAID)})", part, maxsplit=1, flags=re.MULTILINE)[0]
        heading = re.fullmatch(r"([A-Z][\w ]*):", part.strip())
        if not part.strip():
            continue
        if heading or not (part.startswith("  ") or section == _NOTES):
            section = heading[1] if heading else _NOTES
            yield f".SH {roff.quoted(section.upper())}"
            fresh = True
        if heading:
            continue
        if not fresh:
            yield ".PP"
        fresh = False
        if part.startswith("  "):
            yield from roff.literal(part)
        else:
            yield from roff.running(" ".join(part.split()))


def _exit_codes(command: Command) -> Iterator[str]:
    yield ".SH EXIT STATUS"
    codes = list(manners.EXIT_CODES)
    if failed := manners.FAILED.get(command.key):
        codes.insert(1, ("1", failed))
    elif not command.key:
        codes.insert(1, ("1", " ".join(f"{key}: {text}" for key, text in manners.FAILED.items())))
    yield from _table(codes)


def _environment(command: Command) -> Iterator[str]:
    first = command.path[1] if len(command.path) > 1 else ""
    yield ".SH ENVIRONMENT"
    yield from _table((each.name, each.text) for each in manners.variables(first))


def _table(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    for head, text in rows:
        yield ".TP"
        yield rf"\fB{roff.text(head)}\fR"
        yield from roff.running(text)


def _see_also(command: Command, root: Command) -> Iterator[str]:
    """The command above, its neighbours, and those below."""
    others = [
        each
        for each in root.every()
        if each is not command
        and (each.path == command.path[:-1] or each.path[:-1] in (command.path[:-1], command.path))
    ]
    if others:
        yield ".SH SEE ALSO"
        yield ",\n".join(rf"\fB{roff.text(name(each))}\fR(1)" for each in others)
