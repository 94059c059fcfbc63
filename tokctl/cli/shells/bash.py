"""Completion for bash, 3.2 or newer, with or without the package bash-completion."""

from __future__ import annotations

from collections.abc import Iterable

from tokctl.cli.shells.tree import Command, Option

_HEAD = """\
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

_MIDDLE = """\
            *:--) ended=1; break ;;
        esac
    done

    local values='' options='' commands='' takes=files
    if [ -z "$ended" ]; then
        case "$command:$before" in
"""

_TAIL = """\
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

_END = """\
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


def script(root: Command) -> str:
    """The whole script."""
    lines = [_HEAD]
    for command in root.every():
        for below in command.commands:
            lines.append(
                f"            '{command.key}:{below.path[-1]}') command='{below.key}' ;;\n"
            )
    # A value is no command: `tokctl --color always train`.
    for name in _with_values(root.options):
        lines.append(
            f"            ':{name}') i=$((i + 1)); "
            "[ \"${COMP_WORDS[i]-}\" = '=' ] && i=$((i + 1)) ;;\n"
        )
    lines.append(_MIDDLE)
    for command in root.every():
        lines += _values(command)
    lines.append(_TAIL)
    for command in root.every():
        lines += _words(command)
    lines.append(_END)
    return "".join(lines)


def _with_values(options: Iterable[Option]) -> list[str]:
    return [name for option in options if option.metavar for name in option.names]


def _values(command: Command) -> list[str]:
    """The cases of options whose value is being typed."""
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


def _words(command: Command) -> list[str]:
    """The case of a command: its options, and what else can follow."""
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
