"""Completion for zsh: a file `_tokctl` in a folder of `$fpath`, or a script to `source`."""

from __future__ import annotations

from tokctl.cli.shells.tree import Command, Option
from tokctl.cli.shells.words import brief

_TAIL = """\

if [[ ${funcstack[1]} == _tokctl ]]; then
    _tokctl "$@"
else
    compdef _tokctl tokctl
fi
"""


def script(root: Command) -> str:
    """The whole script."""
    head = "#compdef tokctl\n# zsh completion for tokctl; made by: tokctl completion zsh\n"
    parts = [_function(command) for command in root.every()]
    return "\n".join([head, *parts]) + _TAIL


def _name(command: Command) -> str:
    return "_" + "-".join(command.path)


def _function(command: Command) -> str:
    lines = [f"{_name(command)}() {{"]
    if command.commands:
        lines.append('    local curcontext="$curcontext" state line ret=1')
        specs = [*map(_option, command.options), "'1: :->command'", "'*:: :->rest'"]
        lines += ["    _arguments -C -s -S \\", *_continued(specs, " && ret=0")]
        lines += ["    case $state in", "        command)", "            local -a commands=("]
        lines += [
            f"                {_quoted(f'{below.path[-1]}:{brief(below.short)}')}"
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
            f"                {below.path[-1]}) {_name(below)} && ret=0 ;;"
            for below in command.commands
        ]
        lines += ["            esac", "            ;;", "    esac", "    return ret"]
    else:
        specs = [*map(_option, command.options), *map(_argument, command.arguments)]
        lines += ["    _arguments -s -S \\", *_continued(specs, "")]
    return "\n".join([*lines, "}", ""])


def _continued(specs: list[str], end: str) -> list[str]:
    return [f"        {spec} \\" for spec in specs[:-1]] + [f"        {specs[-1]}{end}"]


def _option(option: Option) -> str:
    """A specification of `_arguments`."""
    names = [f"{name}{_joined(name)}" if option.metavar else name for name in option.names]
    spelled = names[0] if len(names) == 1 else "{" + ",".join(names) + "}"
    told = _escaped(brief(option.help), "[]:")
    action = f":{_escaped(option.metavar, ':')}:{_action(option)}" if option.metavar else ""
    described = _quoted(f"[{told}]{action}")
    if option.repeated:
        return f"'*'{spelled}{described}"
    return f"'({' '.join(option.names)})'{spelled}{described}"


def _joined(name: str) -> str:
    """`--option=value` and `-ovalue` are taken as well as two words."""
    return "=" if name.startswith("--") else "+"


def _argument(argument: Option) -> str:
    place = "*" if argument.repeated else ""
    metavar = argument.metavar.strip("[].…")
    return _quoted(f"{place}:{_escaped(metavar, ':')}:{_action(argument)}")


def _action(option: Option) -> str:
    if option.values:
        return f"({' '.join(option.values)})"
    return "_files" if option.files else " "


def _escaped(text: str, characters: str) -> str:
    return "".join(f"\\{char}" if char in characters + "\\" else char for char in text)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
