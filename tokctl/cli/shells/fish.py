"""Completion for fish."""

from __future__ import annotations

from collections.abc import Iterator

from tokctl.cli.shells.tree import Command, Option
from tokctl.cli.shells.words import brief

_HEAD = """\
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

_TAIL = """\
        end
    end
    echo "$command"
end

function __tokctl_in
    test (__tokctl_command) = "$argv"
end

"""


def script(root: Command) -> str:
    """The whole script."""
    lines = [_HEAD]
    for command in root.every():
        for below in command.commands:
            lines.append(
                f"            case '{command.key}:{below.path[-1]}'\n"
                f"                set command '{below.key}'\n"
            )
    # A value is no command: `tokctl --color always train`.
    for option in root.options:
        if option.metavar:
            cases = " ".join(f"':{name}'" for name in option.names)
            lines.append(f"            case {cases}\n                set skip 1\n")
    lines.append(_TAIL)
    for command in root.every():
        lines += [f"{line}\n" for line in _command(command)]
    return "".join(lines)


def _command(command: Command) -> Iterator[str]:
    start = f"complete -c tokctl -n \"__tokctl_in '{command.key}'\""
    if not any(argument.files for argument in command.arguments):
        yield f"{start} -f"
    for below in command.commands:
        yield f"{start} -a {below.path[-1]} -d {_quoted(brief(below.short))}"
    for argument in command.arguments:
        if argument.values:
            yield f"{start} -a {_quoted(' '.join(argument.values))}"
    for option in command.options:
        yield start + _option(option)


def _option(option: Option) -> str:
    names = "".join(f" -l {name.removeprefix('--')}" for name in option.long)
    names += "".join(f" -s {name.removeprefix('-')}" for name in option.short)
    if not option.metavar:
        value = ""
    elif option.values:
        value = f" -x -a {_quoted(' '.join(option.values))}"
    else:
        value = " -r -F" if option.files else " -x"
    return f"{names}{value} -d {_quoted(brief(option.help))}"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
