"""Hints for commands and options that do not exist: what the user may have meant.

Imported only when a command line can't be parsed, so that a start pays nothing for it.
"""

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

#: Words that users may try as commands, and the command lines that do what the words say.
COMMANDS = {
    "tokenize": "tokctl encode --as tokens",
    "detokenize": "tokctl decode",
    "count": "tokctl encode --count",
    "wc": "tokctl encode --count",
    "stats": "tokctl encode --count, or tokctl inspect MODEL",
    "explain": "tokctl inspect MODEL --word WORD",
    "show": "tokctl inspect MODEL",
    "info": "tokctl inspect MODEL",
    "view": "tokctl inspect MODEL",
    "vocab": "tokctl inspect MODEL",
    "merges": "tokctl inspect MODEL --merges :",
    "lint": "tokctl inspect MODEL --check",
    "validate": "tokctl inspect MODEL --check",
    "watch": "tokctl inspect MODEL --watch TEXT",
    "diff": "tokctl compare -m ONE -m OTHER TEXT",
    "eval": "tokctl compare -m MODEL TEXT",
    "evaluate": "tokctl compare -m MODEL TEXT",
    "export": "tokctl convert MODEL --to FORMAT",
    "save": "tokctl convert MODEL --to FORMAT",
    "formats": "tokctl convert --list-formats",
    "presets": "tokctl train --list-presets",
    "list-presets": "tokctl train --list-presets",
    "list": "tokctl corpora list, train --list-presets, convert --list-formats",
    "download": "tokctl corpora fetch NAME for a text; -m hf:ORG/NAME takes a model of the Hub",
    "fetch": "tokctl corpora fetch NAME for a text; -m hf:ORG/NAME takes a model of the Hub",
    "get": "tokctl corpora fetch NAME",
    "extend": "tokctl train --extend MODEL; tokctl adapt takes tokens away as well",
    "prune": "tokctl adapt MODEL --prune N TEXT; tokctl convert MODEL --prune N",
    "trim": "tokctl adapt MODEL --prune N TEXT",
    "resize": "tokctl adapt MODEL --prune N --vocab N TEXT",
    "completions": "tokctl completion bash",
}

#: Hints for options that a command lacks, by command and option. Users know these options from
#: another command or from another library.
OF_COMMAND = {
    ("decode", "--as"): "--from names the input format, and the output is text",
    ("decode", "--format"): "--from names the input format",
    ("decode", "--text-field"): "--ids-field names the ids",
    ("encode", "--from"): "--format says what is read, --as what is written",
    ("encode", "--to"): "--as says what is written",
    ("encode", "--counts"): "use --count",
    ("encode", "--count-tokens"): "use --count",
    ("encode", "--sample"): "--alpha draws segmentations at random; only train samples lines",
    ("encode", "--dropout"): "--alpha draws segmentations of a unigram model at random",
    (
        "encode",
        "--nbest",
    ): "inspect --word TEXT --nbest N shows the best segmentations of a unigram model",
    (
        "encode",
        "--special-token",
    ): "--special finds special tokens in the text; train and convert add new ones",
    ("encode", "--text"): "pipe the text in: echo 'a lot' | tokctl encode -m MODEL",
    ("encode", "--tokens"): "use --as tokens",
    ("encode", "--ids"): "ids are the default (--as ids)",
    ("encode", "--bos"): "--add-special adds the special tokens of the model's template",
    ("train", "--count"): "--word-counts reads words with their counts; encode use --count",
    ("train", "--model"): "--algo names the algorithm, --extend a model to continue",
    ("train", "--list"): "--list-presets",
    ("train", "--lowercase"): "--normalize lowercase",
    ("convert", "--as"): "--to names the format",
    ("convert", "--from"): "the input format is detected; --to names the output format",
    ("convert", "--list"): "--list-formats",
    ("corpora", "--list"): "tokctl corpora list",
    (
        "inspect",
        "--vocab",
    ): "inspect without options shows the vocabulary; --token TOKEN shows one token",
}

#: Options of other tools, and tokctl's names for them, in every command that has the latter.
OPTIONS = {
    "-V": "--version",
    "-O": "--output",
    "--save": "--output",
    "--size": "--vocab",
    "--type": "--algo",
    "--unk": "--unk-token",
    "--normalizer": "--normalize",
    "--pre-tokenizer": "--pretokenize",
    "--character-coverage": "--coverage",
    "--truncate": "--max-length",
    "--truncation": "--max-length",
    "-j": "--threads",
    "--jobs": "--threads",
    "--workers": "--threads",
    "--num-threads": "--threads",
    "--num-workers": "--threads",
    "--num-proc": "--threads",
}

_FILES = ("-i", "--input", "--file", "--files", "--input-file")


def explained(error: Any, command: str | None) -> tuple[str, str, str | None]:
    """Return a message, a hint and a code for a usage error, in place of Typer's message.

    Args:
        error: the exception of Typer or Click.
        command: the command on the command line; None: no command is named.
    """
    message = re.sub(r"\.? (\(Possible options: .*\)|Did you mean .*)$", "", error.format_message())
    message = message.rstrip(".")
    see = f"see: tokctl {command} --help" if command else "see: tokctl --help"
    meant = ""
    if unknown := re.match(r"No such command '(.*)'$", message):
        meant = _command(unknown[1], error.ctx.command.commands)
    elif message.startswith("No such option"):
        meant = _option(error.option_name, error.ctx.command, command)
    elif command == "convert" and "extra argument" in message:
        meant = "--to names the format, -o the new file"
    if meant.startswith("tokctl "):
        hint = meant
    elif meant:
        hint = f"{meant}{'' if meant.endswith('?') else ';'} {see}"
    else:
        hint = see
    return message[:1].lower() + message[1:], hint, _code(error, message)


def _code(error: Any, message: str) -> str | None:
    # Typer raises classes of its own or of Click, depending on the version, by the same names.
    names = {kind.__name__ for kind in type(error).__mro__}
    if "NoSuchOption" in names or message.startswith("No such command"):
        return "unknown-name"
    if "MissingParameter" in names:
        return "missing-option"
    return "bad-value" if "BadParameter" in names else None


def _command(word: str, known: Mapping[str, Any]) -> str:
    if "fetch" in known:  # the group `tokctl corpora`
        near = ["fetch"] if word in ("get", "download") else get_close_matches(word, known, 1)
    elif word in COMMANDS:
        return COMMANDS[word]
    else:
        near = get_close_matches(word, known, 1)
    return f"did you mean {near[0]}?" if near else ""


def _option(word: str, asked: Any, command: str | None) -> str:
    """Return a hint for the unknown option `word`, or an empty text if no option is similar.

    `asked` is the command or group that lacks the option.
    """
    if meant := OF_COMMAND.get((command or "", word)):
        return meant
    own = _names(asked)
    inner = getattr(asked, "commands", {}).get(command)
    if inner and word in _names(inner):
        return f"{word} comes after the command: tokctl {command} {word} …"
    if word in _FILES and "--files-from" in own:
        return "name files without an option"
    if word == "-v":
        return "--verbose has no short form"
    near = _nearest(word.replace("_", "-"), own)
    return f"did you mean {near}?" if near else ""


def _names(command: Any) -> list[str]:
    """Return the names of the command's options, long and short."""
    return [
        name
        for each in command.params
        if each.param_type_name == "option"
        for name in (*each.opts, *each.secondary_opts)
    ]


def _nearest(word: str, own: Sequence[str]) -> str | None:
    """Return the option of `own` that `word` may mean, or None.

    The table of other tools' names comes first, then a shared beginning, then similar spelling.
    """
    if OPTIONS.get(word) in own:
        return OPTIONS[word]
    if len(word) < 4:
        return None
    begun = [name for name in own if len(name) > 3 and name.startswith(word)]
    begun += [name for name in own if len(name) > 3 and word.startswith(name)]
    if begun:
        return min(begun, key=lambda name: abs(len(name) - len(word)))
    near = get_close_matches(word, own, 1, 0.75)
    return near[0] if near else None
