"""Real shells are asked what they would complete."""

from __future__ import annotations

import subprocess
from pathlib import Path

#: Calls bash's function as the shell does, and says what it asked for besides words.
_BASH = r"""
source "$1"
shift
compopt() { if [ "$1" = -o ]; then echo '(files)'; fi; }
COMP_WORDS=("$@")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_tokctl
printf '%s\n' "${COMPREPLY[@]}"
"""

#: Types a line into an interactive zsh, and has it list what it would complete. (Not by Ctrl-D:
#: what is typed before zsh listens goes through the terminal, where that is an end of file.)
_ZSH = r"""
zmodload zsh/zpty
fpath=(${1:h} $fpath)
zpty shell zsh -f -i
zpty -w shell "PS1= PS2= fpath=(${1:h} \$fpath); autoload -Uz compinit && compinit -u -D"
zpty -w shell "zstyle ':completion:*' list-packed no; LISTMAX=1000; stty columns 200 rows 100"
zpty -w shell "bindkey '^E' list-choices; echo rea''dy"
zpty -m -r shell seen $'*ready*' || exit 3
zpty -w -n shell "$2"$'\C-E'
sleep "$3"
zpty -w -n shell $'\C-U'
zpty -w shell 'echo en''ded'
zpty -m -r shell seen $'*ended*' || exit 4
print -r -- "$seen"
zpty -d shell
"""


def bash(script: Path, *words: str) -> list[str]:
    """What bash has for the last of the words; `(files)` where it completes names of files.
    `--option=value` is three words there, as readline splits it."""
    done = subprocess.run(
        ["bash", "--norc", "-c", _BASH, "bash", str(script), *words],
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    assert done.stderr == ""
    return done.stdout.split()


def fish(script: Path, line: str, folder: Path) -> list[str]:
    """What fish has for the end of the line."""
    done = subprocess.run(
        ["fish", "--no-config", "-c", f"source {script}; complete -C $argv[1]", line],
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
        cwd=folder,
        env={"HOME": str(folder), "PATH": "/usr/bin:/bin", "TERM": "xterm"},
    )
    return [answer.partition("\t")[0] for answer in done.stdout.splitlines()]


def zsh(script: Path, line: str, folder: Path, seconds: float = 0.3) -> str:
    """What zsh shows when it lists the choices for the end of the line, after some seconds:
    nothing says that it has."""
    done = subprocess.run(
        ["zsh", "-f", "-c", _ZSH, "zsh", str(script), line, str(seconds)],
        capture_output=True,
        text=True,
        errors="replace",
        check=True,
        timeout=600,
        cwd=folder,
        env={"HOME": str(folder), "PATH": "/usr/bin:/bin", "TERM": "xterm"},
    )
    return done.stdout
