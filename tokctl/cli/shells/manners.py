"""How tokctl gets on with a shell: exit codes, and the environment. For man pages; the page
`docs/shell.md` has the same, and a test holds that none is missing there."""

from __future__ import annotations

from dataclasses import dataclass

#: What every command returns.
EXIT_CODES = (
    ("0", "Done. Also where a pipe was closed by whoever read it: they had enough."),
    ("2", "Bad usage or input; stderr says what is wrong, and what to do."),
    ("130", "Interrupted, by Ctrl-C (SIGINT)."),
    ("143", "Ended by SIGTERM."),
)
#: What some return besides.
FAILED = {
    "inspect": "A finding of --check is as bad as --fail-on says.",
    "compare": "A condition of --fail-if holds.",
    "convert": "--verify found a difference; nothing was written.",
}


@dataclass(frozen=True)
class Variable:
    """A variable of the environment.

    Attributes:
        name: as it is set.
        text: what it does.
        commands: those that it means something to; none: all.
    """

    name: str
    text: str
    commands: tuple[str, ...] = ()


_MODELS = ("train", "encode", "decode", "inspect", "compare", "convert")

VARIABLES = (
    Variable(
        "TOKCTL_MODEL",
        "The model where none is named.",
        ("encode", "decode", "inspect", "convert"),
    ),
    Variable(
        "TOKCTL_CACHE",
        "The folder for fetched texts. Without it tokctl in $XDG_CACHE_HOME, else ~/.cache/tokctl.",
        ("corpora", "train", "compare"),
    ),
    Variable(
        "XDG_CACHE_HOME",
        "The folder for caches, where TOKCTL_CACHE is not set; an absolute path.",
        ("corpora", "train", "compare"),
    ),
    Variable("TOKCTL_PROGRESS", "The default of --progress: auto, bar, log, json or none."),
    Variable(
        "TOKCTL_SIMD",
        "Which instructions scan text: portable, avx2 or avx512, where the processor has them; "
        "without it the best. The results are the same.",
        _MODELS,
    ),
    Variable("NO_COLOR", "Set to anything but nothing: no colour, unless --color asks for it."),
    Variable(
        "TERM", "With dumb: no colour, no progress bar, no pager. Others leave --watch out, too."
    ),
    Variable(
        "COLUMNS", "The width of tables and help, where no terminal says it; 0 counts as not set."
    ),
    Variable(
        "LINES",
        "The height of the screen, for the pager, where no terminal says it.",
        ("inspect", "compare"),
    ),
    Variable("COLORFGBG", "The terminal's colours: --watch is light or dark by it.", ("inspect",)),
    Variable(
        "PAGER",
        "The program that shows long answers on a terminal; less without it, none if it is "
        "empty or cat.",
        ("inspect", "compare", "man"),
    ),
    Variable(
        "LESS, LESSCHARSET, LV",
        "Options of the pager; FRX, utf-8 and -c where they are not set.",
        ("inspect", "compare", "man"),
    ),
    Variable(
        "TMPDIR",
        "The folder for temporary files. A file that is written is made in its own folder.",
        ("convert",),
    ),
    Variable(
        "HF_TOKEN, HF_HOME, HF_HUB_OFFLINE",
        "For models named hf:ORG/NAME, by the package huggingface_hub: the access token, the "
        "folder of its cache, and, with 1, that nothing is fetched.",
        _MODELS,
    ),
    Variable(
        "HTTPS_PROXY, NO_PROXY",
        "For what is fetched: the proxy, and the hosts that need none.",
        ("corpora", *_MODELS),
    ),
)


def variables(command: str) -> tuple[Variable, ...]:
    """Those that mean something to a command, by the first of its words; empty: to any."""
    return tuple(
        variable
        for variable in VARIABLES
        if not command or not variable.commands or command in variable.commands
    )
