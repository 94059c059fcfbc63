"""Completion scripts for bash, zsh and fish, and manual pages.

`python -m tests.tools.shells [FOLDER]` makes them from the tree of commands that also makes the
help, and writes them into the package (see `tokctl/cli/installed.py`) or into a folder.
"""

from __future__ import annotations

import argparse
import re
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from tokctl import __version__
from tokctl.cli.command import metavar_of, values_of
from tokctl.cli.installed import INSTALLED, SCRIPTS, page_path

# -- the tree of commands -------------------------------------------------------------------------


@dataclass(frozen=True)
class ShellOption:
    """An option or an argument.

    Attributes:
        names: spellings of the option, long ones first, `--no-…` included. An argument has one
            name, its metavar.
        help: the help text.
        panel: the heading in the help.
        metavar: the name of the value; empty: a flag.
        values: all possible values; empty: any value.
        default: the default in words; empty: none, or the help names it.
        files: whether the value can be a file name.
        repeated: whether several values can be given.
    """

    names: tuple[str, ...]
    help: str
    panel: str
    metavar: str
    values: tuple[str, ...]
    default: str
    files: bool
    repeated: bool

    @property
    def long(self) -> tuple[str, ...]:
        """Names such as `--model`."""
        return tuple(name for name in self.names if name.startswith("--"))

    @property
    def short(self) -> tuple[str, ...]:
        """Names such as `-m`."""
        return tuple(name for name in self.names if not name.startswith("--"))


@dataclass(frozen=True)
class ShellCommand:
    """A command or a group of commands.

    Attributes:
        path: the words that call the command: `("tokctl", "corpora", "list")`.
        short: the help in one line.
        help: the help, a paragraph or more.
        epilog: the text below the options.
        options: the options.
        arguments: the arguments.
        commands: the commands of a group.
    """

    path: tuple[str, ...]
    short: str
    help: str
    epilog: str
    options: tuple[ShellOption, ...]
    arguments: tuple[ShellOption, ...]
    commands: tuple[ShellCommand, ...] = ()

    @property
    def key(self) -> str:
        """The words after `tokctl`, such as `corpora list`; empty for `tokctl` itself."""
        return " ".join(self.path[1:])

    def every(self) -> Iterator[ShellCommand]:
        """Yield the command and all commands below it."""
        yield self
        for command in self.commands:
            yield from command.every()


def command_tree() -> ShellCommand:
    """Return the tree of `tokctl` and all its commands."""
    from tokctl.cli.app import build

    return _described(typer.main.get_command(build()), ("tokctl",), None)


def _described(command: Any, path: tuple[str, ...], parent: Any) -> ShellCommand:
    settings = command.context_settings  # they name the help option
    context = typer.Context(command, info_name=path[-1], parent=parent, **settings)
    given = command.get_params(context)
    parameters = [_described_parameter(each) for each in given]
    arguments = [each.param_type_name == "argument" for each in given]
    help_ = _without_markup(command.help)
    return ShellCommand(
        path=path,
        short=_without_markup(command.short_help) or _one_line(help_),
        help=help_,
        epilog=_without_markup(command.epilog, lines=True),
        options=tuple(p for p, detect in zip(parameters, arguments, strict=True) if not detect),
        arguments=tuple(p for p, detect in zip(parameters, arguments, strict=True) if detect),
        commands=tuple(
            _described(below, (*path, name), context)
            for name, below in getattr(command, "commands", {}).items()
            if not below.hidden
        ),
    )


def _described_parameter(given: Any) -> ShellOption:
    flag = bool(getattr(given, "is_flag", False))
    argument = given.param_type_name == "argument"
    metavar = "" if flag else (metavar_of(given) or given.name.upper())
    names = (metavar,) if argument else (*given.opts, *given.secondary_opts)
    closed = () if flag else values_of(given)
    number = not flag and given.number is not None
    default = getattr(given, "show_default", False) and not flag and given.default
    return ShellOption(
        names=tuple(sorted(names, key=lambda name: not name.startswith("--"))),
        help=_without_markup(getattr(given, "help", None)),
        panel=_without_markup(getattr(given, "rich_help_panel", None)),
        metavar=metavar,
        values=closed,
        default=str(default) if default else "",
        files=not (flag or closed or number),
        repeated=bool(getattr(given, "multiple", False)) or given.nargs == -1,
    )


def _without_markup(text: str | None, *, lines: bool = False) -> str:
    """Return a help text without Rich's escapes.

    Line ends come from the source code, and become spaces unless `lines` keeps them.
    """
    text = (text or "").replace("\\[", "[")
    if lines:
        return text.strip("\n")
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n")).strip()


def _one_line(text: str) -> str:
    """Return the first sentence."""
    return re.split(r"(?<=\.)\s", text, maxsplit=1)[0]


#: Longest description in characters; longer ones push the next option off the screen.
_BRIEF = 60


def brief(text: str) -> str:
    """Return the first part of a help text that makes sense alone, cut near `_BRIEF` characters."""
    first = re.split(r"(?<=\w)(?:\.(?:\s|$)|;\s|:\s)", text, maxsplit=1)[0]
    if len(first) <= _BRIEF:
        return first
    cut = first[:_BRIEF].rsplit(" ", 1)[0].rstrip(",.(")
    return f"{cut} ..."


# -- bash, 3.2 or newer, with or without the package bash-completion ------------------------------


_BASH_HEAD = """\
# bash completion for tokctl; made by: tokctl completion bash
# shellcheck shell=bash disable=SC2034,SC2207

# What the function below writes here is completed as file names, or not at all.
_tokctl_default() {
    if [ "$1" = files ]; then
        compopt -o default -o bashdefault 2>/dev/null
    else
        compopt +o default +o bashdefault 2>/dev/null
    fi
    COMPREPLY=()
}

_tokctl() {
    local current=${COMP_WORDS[COMP_CWORD]} before='' command='' ended='' word i
    COMPREPLY=()
    [ "$COMP_CWORD" -gt 0 ] && before=${COMP_WORDS[COMP_CWORD - 1]}
    # --option=value comes as three words.
    if [ "$current" = '=' ]; then
        current=''
    elif [ "$before" = '=' ] && [ "$COMP_CWORD" -gt 1 ]; then
        before=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        case "$command:$word" in
"""

_BASH_MIDDLE = """\
            *:--) ended=1; break ;;
        esac
    done

    local values='' options='' commands='' takes=files
    if [ -z "$ended" ]; then
        case "$command:$before" in
"""

_BASH_TAIL = """\
            *) takes='' ;;
        esac
        if [ "$takes" = values ]; then
            _tokctl_default none
            COMPREPLY=($(compgen -W "$values" -- "$current"))
            return
        elif [ -n "$takes" ]; then
            _tokctl_default "$takes"
            return
        fi
    fi
    case "$command" in
"""

_BASH_END = """\
    esac
    if [ -z "$ended" ] && [[ $current == -* ]]; then
        _tokctl_default none
        COMPREPLY=($(compgen -W "$options" -- "$current"))
    elif [ -n "$commands" ]; then
        _tokctl_default none
        COMPREPLY=($(compgen -W "$commands" -- "$current"))
    else
        _tokctl_default "$takes"
    fi
}

complete -o bashdefault -o default -F _tokctl tokctl
"""


def bash_script(root: ShellCommand) -> str:
    """Return the completion script for bash."""
    lines = [_BASH_HEAD]
    for command in root.every():
        for below in command.commands:
            lines.append(
                f"            '{command.key}:{below.path[-1]}') command='{below.key}' ;;\n"
            )
    # Skip the values of options before the command: `tokctl --color always train`.
    for name in _names_with_value(root.options):
        lines.append(
            f"            ':{name}') i=$((i + 1)); "
            "[ \"${COMP_WORDS[i]-}\" = '=' ] && i=$((i + 1)) ;;\n"
        )
    lines.append(_BASH_MIDDLE)
    for command in root.every():
        lines += _bash_values(command)
    lines.append(_BASH_TAIL)
    for command in root.every():
        lines += _bash_words(command)
    lines.append(_BASH_END)
    return "".join(lines)


def _names_with_value(options: Iterable[ShellOption]) -> list[str]:
    return [name for option in options if option.metavar for name in option.names]


def _bash_values(command: ShellCommand) -> list[str]:
    """Return the cases of options whose value is being typed."""
    lines = []
    for option in command.options:
        if not option.metavar:
            continue
        cases = " | ".join(f"'{command.key}:{name}'" for name in option.names)
        if option.values:
            lines.append(
                f"            {cases}) takes=values; values='{' '.join(option.values)}' ;;\n"
            )
        else:
            takes = "files" if option.files else "none"
            lines.append(f"            {cases}) takes={takes} ;;\n")
    return lines


def _bash_words(command: ShellCommand) -> list[str]:
    """Return the case of a command: its options, and the other words that can follow."""
    names = " ".join(name for option in command.options for name in option.names)
    lines = [f"        '{command.key}')\n            options='{names}'\n"]
    words = [below.path[-1] for below in command.commands]
    for argument in command.arguments:
        words += argument.values
    if words:
        lines.append(f"            commands='{' '.join(words)}'\n")
    files = any(argument.files for argument in command.arguments)
    lines.append(f"            takes={'files' if files else 'none'}\n            ;;\n")
    return lines


# -- zsh: a file `_tokctl` in a folder of `$fpath`, or a script to `source` -----------------------


_ZSH_TAIL = """\

if [[ ${funcstack[1]} == _tokctl ]]; then
    _tokctl "$@"
else
    compdef _tokctl tokctl
fi
"""


def zsh_script(root: ShellCommand) -> str:
    """Return the completion script for zsh."""
    head = "#compdef tokctl\n# zsh completion for tokctl; made by: tokctl completion zsh\n"
    parts = [_zsh_function(command) for command in root.every()]
    return "\n".join([head, *parts]) + _ZSH_TAIL


def _zsh_name(command: ShellCommand) -> str:
    return "_" + "-".join(command.path)


def _zsh_function(command: ShellCommand) -> str:
    lines = [f"{_zsh_name(command)}() {{"]
    if command.commands:
        lines.append('    local curcontext="$curcontext" state line ret=1')
        specs = [*map(_zsh_option, command.options), "'1: :->command'", "'*:: :->rest'"]
        lines += ["    _arguments -C -s -S \\", *_zsh_lines(specs, " && ret=0")]
        lines += ["    case $state in", "        command)", "            local -a commands=("]
        lines += [
            f"                {_zsh_quoted(f'{below.path[-1]}:{brief(below.short)}')}"
            for below in command.commands
        ]
        lines += [
            "            )",
            "            _describe -t commands command commands && ret=0",
            "            ;;",
            "        rest)",
            "            case $words[1] in",
        ]
        lines += [
            f"                {below.path[-1]}) {_zsh_name(below)} && ret=0 ;;"
            for below in command.commands
        ]
        lines += ["            esac", "            ;;", "    esac", "    return ret"]
    else:
        specs = [*map(_zsh_option, command.options), *map(_zsh_argument, command.arguments)]
        lines += ["    _arguments -s -S \\", *_zsh_lines(specs, "")]
    return "\n".join([*lines, "}", ""])


def _zsh_lines(specs: list[str], end: str) -> list[str]:
    return [f"        {spec} \\" for spec in specs[:-1]] + [f"        {specs[-1]}{end}"]


def _zsh_option(option: ShellOption) -> str:
    """Return the specification of an option for `_arguments`."""
    names = [f"{name}{_zsh_joined(name)}" if option.metavar else name for name in option.names]
    spelled = names[0] if len(names) == 1 else "{" + ",".join(names) + "}"
    text = _zsh_escaped(brief(option.help), "[]:")
    action = f":{_zsh_escaped(option.metavar, ':')}:{_zsh_action(option)}" if option.metavar else ""
    described = _zsh_quoted(f"[{text}]{action}")
    if option.repeated:
        return f"'*'{spelled}{described}"
    return f"'({' '.join(option.names)})'{spelled}{described}"


def _zsh_joined(name: str) -> str:
    """Return the suffix that lets zsh also accept `--option=value` and `-ovalue`."""
    return "=" if name.startswith("--") else "+"


def _zsh_argument(argument: ShellOption) -> str:
    place = "*" if argument.repeated else ""
    metavar = argument.metavar.strip("[].…")
    return _zsh_quoted(f"{place}:{_zsh_escaped(metavar, ':')}:{_zsh_action(argument)}")


def _zsh_action(option: ShellOption) -> str:
    if option.values:
        return f"({' '.join(option.values)})"
    return "_files" if option.files else " "


def _zsh_escaped(text: str, characters: str) -> str:
    return "".join(f"\\{char}" if char in characters + "\\" else char for char in text)


def _zsh_quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


# -- fish -----------------------------------------------------------------------------------------


_FISH_HEAD = """\
# fish completion for tokctl; made by: tokctl completion fish

# The command that has been typed so far, as tokctl names it: "corpora list"; empty: none yet.
function __tokctl_command
    set -l words (commandline -opc)
    set -l command
    set -l skip 1
    for word in $words
        if test $skip -gt 0
            set skip (math $skip - 1)
            continue
        end
        switch "$command:$word"
"""

_FISH_TAIL = """\
        end
    end
    echo "$command"
end

function __tokctl_in
    test (__tokctl_command) = "$argv"
end

"""


def fish_script(root: ShellCommand) -> str:
    """Return the completion script for fish."""
    lines = [_FISH_HEAD]
    for command in root.every():
        for below in command.commands:
            lines.append(
                f"            case '{command.key}:{below.path[-1]}'\n"
                f"                set command '{below.key}'\n"
            )
    # Skip the values of options before the command: `tokctl --color always train`.
    for option in root.options:
        if option.metavar:
            cases = " ".join(f"':{name}'" for name in option.names)
            lines.append(f"            case {cases}\n                set skip 1\n")
    lines.append(_FISH_TAIL)
    for command in root.every():
        lines += [f"{line}\n" for line in _fish_command(command)]
    return "".join(lines)


def _fish_command(command: ShellCommand) -> Iterator[str]:
    start = f"complete -c tokctl -n \"__tokctl_in '{command.key}'\""
    if not any(argument.files for argument in command.arguments):
        yield f"{start} -f"
    for below in command.commands:
        yield f"{start} -a {below.path[-1]} -d {_fish_quoted(brief(below.short))}"
    for argument in command.arguments:
        if argument.values:
            yield f"{start} -a {_fish_quoted(' '.join(argument.values))}"
    for option in command.options:
        yield start + _fish_option(option)


def _fish_option(option: ShellOption) -> str:
    names = "".join(f" -l {name.removeprefix('--')}" for name in option.long)
    names += "".join(f" -s {name.removeprefix('-')}" for name in option.short)
    if not option.metavar:
        value = ""
    elif option.values:
        value = f" -x -a {_fish_quoted(' '.join(option.values))}"
    else:
        value = " -r -F" if option.files else " -x"
    return f"{names}{value} -d {_fish_quoted(brief(option.help))}"


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


# -- exit codes and the environment, for manual pages; docs/shell.md repeats them -----------------


#: Exit codes of every command.
EXIT_CODES = (
    ("0", "Success, also if the reader of a pipe closed it early."),
    ("2", "Bad usage or input; stderr says what is wrong and what to do."),
    ("130", "Interrupted, by Ctrl-C (SIGINT)."),
    ("143", "Ended by SIGTERM."),
)
#: Meaning of exit code 1, for the commands that have it.
FAILED = {
    "inspect": "A finding of --check has the severity of --fail-on, or a worse one.",
    "compare": "A condition of --fail-if is true.",
    "convert": "--verify found a difference, or the library to compare with is missing; "
    "nothing was written.",
    "adapt": "--verify found a kept token that is made no more; nothing was written.",
    "bench": "With --validate, a library gave other ids.",
    "check": "There are faults.",
    "check-exercise": "A case does not pass.",
}


@dataclass(frozen=True)
class Variable:
    """A variable of the environment.

    Attributes:
        name: the name, or several names with commas between them.
        text: the effect of the variable.
        commands: the commands that use the variable; empty: all.
    """

    name: str
    text: str
    commands: tuple[str, ...] = ()


_MODELS = ("train", "encode", "decode", "inspect", "compare", "convert", "adapt")

VARIABLES = (
    Variable(
        "TOKCTL_MODEL",
        "The model, if you name none.",
        ("encode", "decode", "inspect", "convert", "adapt"),
    ),
    Variable(
        "TOKCTL_CACHE",
        "The folder for downloaded texts; by default $XDG_CACHE_HOME/tokctl, or ~/.cache/tokctl.",
        ("corpora", "train", "compare"),
    ),
    Variable(
        "XDG_CACHE_HOME",
        "The folder for caches, if TOKCTL_CACHE is not set; an absolute path.",
        ("corpora", "train", "compare"),
    ),
    Variable("TOKCTL_PROGRESS", "The default of --progress: auto, bar, log, json or none."),
    Variable(
        "TOKCTL_SIMD",
        "The instructions that scan text: portable, avx2, avx512 or neon, if the processor has "
        "them; by default the fastest. The results are the same.",
        _MODELS,
    ),
    Variable("NO_COLOR", "If it is set and not empty: no colour, unless --color asks for it."),
    Variable(
        "TERM",
        "If it is dumb: no colour, no progress bar, no pager, no --watch. If it is unknown: no "
        "--watch.",
    ),
    Variable(
        "COLUMNS", "The width of tables and help, if there is no terminal; 0 counts as not set."
    ),
    Variable(
        "LINES",
        "The height of the screen, for the pager, if there is no terminal.",
        ("inspect", "compare"),
    ),
    Variable("COLORFGBG", "The terminal's colours: is --watch light or dark?", ("inspect",)),
    Variable(
        "PAGER",
        "The program that shows long output on a terminal; by default less. If it is empty or "
        "cat, there is no pager.",
        ("inspect", "compare", "man"),
    ),
    Variable(
        "LESS, LESSCHARSET, LV",
        "Options of the pager; by default FRX, utf-8 and -c.",
        ("inspect", "compare", "man"),
    ),
    Variable(
        "TMPDIR",
        "The folder for temporary files. Output files are prepared in their own folder.",
        ("convert",),
    ),
    Variable(
        "SOURCE_DATE_EPOCH",
        "The moment, in seconds since 1970, that chat templates take for now.",
        ("encode",),
    ),
    Variable(
        "HF_TOKEN, HF_HOME, HF_HUB_OFFLINE",
        "For models named hf:ORG/NAME, which the package huggingface_hub downloads: the access "
        "token, the folder of its cache, and 1 for no downloads.",
        _MODELS,
    ),
    Variable(
        "TIKTOKEN_CACHE_DIR, DATA_GYM_CACHE_DIR",
        "The folder of tiktoken's cache, in which --published looks; by default data-gym-cache in "
        "the folder for temporary files.",
        ("compare",),
    ),
    Variable(
        "RAY_ADDRESS",
        "The cluster of --engine ray; by default workers on this machine.",
        ("train", "encode"),
    ),
    Variable(
        "HTTPS_PROXY, NO_PROXY",
        "For downloads: the proxy, and the hosts that need none.",
        ("corpora", *_MODELS),
    ),
)


def variables(command: str) -> tuple[Variable, ...]:
    """Return the variables that a command uses, or all of them for an empty name.

    `command` is the first word after `tokctl`.
    """
    return tuple(
        variable
        for variable in VARIABLES
        if not command or not variable.commands or command in variable.commands
    )


# -- text for roff: escaped to ASCII, so that no part of it acts as a request or an escape --------


#: Characters of a line of roff source, before escaping.
_ROFF_WIDTH = 72
#: Characters that roff, or the font of a terminal, would replace by others.
_ROFF_ESCAPED = {
    "\\": r"\(rs",
    "-": r"\-",
    "'": r"\(aq",
    "`": r"\(ga",
    '"': r"\(dq",
    "^": r"\(ha",
    "~": r"\(ti",
}


def roff(plain: str) -> str:
    """Return text as one escaped line of roff; line breaks become spaces."""
    line = "".join(map(_roff_char, " ".join(plain.split("\n"))))
    # A full stop at the start of a line would begin a request; apostrophes are escaped anyway.
    return rf"\&{line}" if line[:1] == "." else line


def _roff_char(char: str) -> str:
    if char in _ROFF_ESCAPED:
        return _ROFF_ESCAPED[char]
    return char if char.isascii() else rf"\[u{ord(char):04X}]"


def _roff_lines(plain: str) -> Iterator[str]:
    """Yield running text as escaped lines of readable length."""
    for line in textwrap.wrap(plain, _ROFF_WIDTH, break_long_words=False, break_on_hyphens=False):
        yield roff(line)


def _roff_quoted(plain: str) -> str:
    """Return text as one quoted argument of a request."""
    return f'"{roff(plain)}"'


def _roff_paragraphs(plain: str) -> Iterator[str]:
    """Yield the lines of paragraphs, which empty lines separate in `plain`."""
    for place, part in enumerate(plain.split("\n\n")):
        if place:
            yield ".PP"
        yield from _roff_lines(part)


def _roff_literal(plain: str) -> Iterator[str]:
    """Yield lines that keep their line breaks and spaces."""
    yield ".nf"
    for line in plain.split("\n"):
        # Some formatters treat an empty line as a request.
        yield roff(line) if line.strip() else r"\&"
    yield ".fi"


# -- manual pages: the help of a command in the macros of man(7) ----------------------------------


#: Headings of an epilog that are left out, since other sections of the page cover them.
_ELSEWHERE = ("Exit codes:", "Environment:")

#: Section for text of an epilog without a heading.
_NOTES = "Notes"


def page_name(command: ShellCommand) -> str:
    """Return the name of a command's manual page: `tokctl-train`."""
    return "-".join(command.path)


def manual_page(command: ShellCommand, root: ShellCommand) -> str:
    """Return the manual page of a command; `root` is the tree that lists its neighbours."""
    lines = [
        f'.TH {roff(page_name(command).upper())} 1 "" "tokctl {__version__}" "tokctl"',
        ".nh",  # no hyphenation, so that a search finds option names
        ".SH NAME",
        f"{roff(page_name(command))} \\- {roff(_man_headline(command))}",
        ".SH SYNOPSIS",
        *_man_synopsis(command),
        ".SH DESCRIPTION",
        *_roff_paragraphs(command.help),
        *_man_commands(command),
        *_man_options(command),
        *_man_epilog(command),
        *_man_exit_codes(command),
        *_man_environment(command),
        *_man_see_also(command, root),
    ]
    return "\n".join(lines) + "\n"


def _man_headline(command: ShellCommand) -> str:
    """Return what the command does, as one line for `apropos`."""
    short = command.short.rstrip(".")
    return short[:1].lower() + short[1:]


def _man_synopsis(command: ShellCommand) -> Iterator[str]:
    yield f".B {roff(' '.join(command.path))}"
    yield r"[\fIoptions\fR]"
    if command.commands:
        yield r"\fIcommand\fR [\fIarguments\fR]"
    for argument in command.arguments:
        yield roff(argument.metavar)


def _man_commands(command: ShellCommand) -> Iterator[str]:
    if command.commands:
        yield ".SH COMMANDS"
    for below in command.commands:
        yield ".TP"
        yield rf"\fB{roff(page_name(below))}\fR(1)"
        yield from _roff_lines(below.short)


def _man_options(command: ShellCommand) -> Iterator[str]:
    if command.arguments:
        yield ".SH ARGUMENTS"
        for argument in command.arguments:
            yield from _man_option(argument)
    if not command.options:
        return
    yield ".SH OPTIONS"
    panels = list(dict.fromkeys(option.panel for option in command.options))
    for panel in sorted(panels, key=bool):  # options without a heading come first
        if panel:
            yield f".SS {_roff_quoted(panel)}"
        for option in command.options:
            if option.panel == panel:
                yield from _man_option(option)


def _man_option(option: ShellOption) -> Iterator[str]:
    yield ".TP"
    if option.names == (option.metavar,):
        yield rf"\fI{roff(option.metavar)}\fR"
    else:
        names = ", ".join(rf"\fB{roff(each)}\fR" for each in option.names)
        yield names + (rf" \fI{roff(option.metavar)}\fR" if option.metavar else "")
    text = option.help
    if option.default:
        text = f"{text} The default is {option.default}."
    yield from _roff_lines(text)
    missing = [
        value
        for value in option.values
        if not re.search(rf"\b{re.escape(value)}\b", f"{text} {option.metavar}")
    ]
    if missing:
        yield ".br"
        yield from _roff_lines(f"One of: {', '.join(option.values)}.")


def _man_epilog(command: ShellCommand) -> Iterator[str]:
    """Yield the sections of an epilog: examples, notes and others.

    A heading is a line that ends with a colon and has indented lines below it, which are kept
    as they are.
    """
    section = ""
    fresh = False  # whether the section is still empty
    for part in re.split(r"\n[ \t]*\n", command.epilog):
        # The lines on exit codes may follow other text of their paragraph.
        part = re.split(rf"^(?:{'|'.join(_ELSEWHERE)})", part, maxsplit=1, flags=re.MULTILINE)[0]
        heading = re.fullmatch(r"([A-Z][\w ]*):", part.strip())
        if not part.strip():
            continue
        if heading or not (part.startswith("  ") or section == _NOTES):
            section = heading[1] if heading else _NOTES
            yield f".SH {_roff_quoted(section.upper())}"
            fresh = True
        if heading:
            continue
        if not fresh:
            yield ".PP"
        fresh = False
        if part.startswith("  "):
            yield from _roff_literal(part)
        else:
            yield from _roff_lines(" ".join(part.split()))


def _man_exit_codes(command: ShellCommand) -> Iterator[str]:
    yield ".SH EXIT STATUS"
    codes = list(EXIT_CODES)
    if failed := FAILED.get(command.key):
        codes.insert(1, ("1", failed))
    elif not command.key:
        codes.insert(1, ("1", " ".join(f"{key}: {text}" for key, text in FAILED.items())))
    yield from _man_table(codes)


def _man_environment(command: ShellCommand) -> Iterator[str]:
    first = command.path[1] if len(command.path) > 1 else ""
    yield ".SH ENVIRONMENT"
    yield from _man_table((each.name, each.text) for each in variables(first))


def _man_table(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    for head, text in rows:
        yield ".TP"
        yield rf"\fB{roff(head)}\fR"
        yield from _roff_lines(text)


def _man_see_also(command: ShellCommand, root: ShellCommand) -> Iterator[str]:
    """Yield the references to the parent command, its other commands, and the commands below."""
    others = [
        each
        for each in root.every()
        if each is not command
        and (each.path == command.path[:-1] or each.path[:-1] in (command.path[:-1], command.path))
    ]
    if others:
        yield ".SH SEE ALSO"
        yield ",\n".join(rf"\fB{roff(page_name(each))}\fR(1)" for each in others)


# -- the files ------------------------------------------------------------------------------------


#: What writes each shell's completion script.
WRITERS = {"bash": bash_script, "zsh": zsh_script, "fish": fish_script}


def files() -> dict[str, str]:
    """Return all files for shells and for man: their text by path below the prefix.

    The prefix is `/usr`, a virtual environment or `~/.local`, for example.
    """
    root = command_tree()
    found = {path: WRITERS[shell](root) for shell, path in SCRIPTS.items()}
    return found | {page_path(command.path): manual_page(command, root) for command in root.every()}


def main() -> None:
    """Write the files into a folder, and remove pages of commands that no longer exist."""
    parser = argparse.ArgumentParser(prog="python -m tests.tools.shells", description=main.__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=INSTALLED)
    folder = parser.parse_args().folder
    wanted = files()
    for old in folder.glob("share/man/man1/tokctl*.1"):
        if old.relative_to(folder).as_posix() not in wanted:
            old.unlink()
    for name, text in wanted.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
