"""Catalogue of the command line: every option and argument once, and the class of all commands.

A command is a function whose parameters are entries of the catalogue:
`def encode(context: typer.Context, model: options.Model = None, …)`. The class `Command` adds the
options that every command has (`SHARED`, such as `--color`).

Modules that declare commands do without `from __future__ import annotations`: each annotation of a
command would be compiled four times at every start.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Annotated, Any, NamedTuple, get_args

import typer
from typer.core import TyperCommand, TyperGroup
from typer.models import ArgumentInfo, OptionInfo

from tokctl.cli.world import Console
from tokctl.core.errors import BadOption
from tokctl.core.files import watched
from tokctl.core.values import did_you_mean

#: Command names in the order of the help; each lives in the module of its name, with `_` for `-`.
COMMANDS = (
    *("train", "encode", "decode", "inspect", "compare", "recommend", "convert", "adapt"),
    *("bench", "check", "corpora", "check-exercise", "completion", "man"),
)

#: Forms of `encode --as` that are lines of text; `tokctl.idfiles.FORMS` has the others.
LINE_FORMS = ("ids", "tokens", "pieces", "jsonl")

#: Function that returns the possible values of an option. It is called only when they are needed.
Values = Callable[[], Iterable[str]]


class Reads(NamedTuple):
    """How the value of an option or argument names a path that the command reads.

    Attributes:
        path: returns the path within the value.
        whole_folder: if the path is a folder, every file directly in it counts as read.
    """

    path: Callable[[str], str] = str
    whole_folder: bool = False


class Writes(NamedTuple):
    """How the value of an option names a path that the command writes.

    Attributes:
        stdout: without a value, or with the value `-`, the output goes to stdout.
    """

    stdout: bool = False


#: Path of texts; in a folder, only the chosen files are read.
TEXTS = Reads()
#: Path of a model, weights or shards; every file in their folder counts as read.
FOLDER = Reads(whole_folder=True)
#: Path after the name of a language or a model: `fi=fi.txt`.
NAMED = Reads(lambda value: value.partition("=")[2])
NAMED_FOLDER = NAMED._replace(whole_folder=True)
#: Path before a number: `fi.txt=2.0`.
WEIGHTED = Reads(lambda value: value.rpartition("=")[0])
FILE = Writes()
FILE_OR_STDOUT = Writes(stdout=True)


class CliOption(OptionInfo):
    """An option of the catalogue.

    Attributes:
        reads: how the value names a path to read; None: the value names no such path.
        writes: how the value names a path to write; None: the value names no such path.
        values: returns the possible values, which also serve as the metavar if none is given.
            None: the alternatives of a metavar like `strict|replace`, or any value.
        closed: whether other values are an error; None: whether the metavar lists the values.
        short: the option's few words on the screen of `-h`; None: `-h` leaves the option out.
        former: an earlier name of the option, which still works, and which no help shows.
    """

    def __init__(
        self,
        usage: str,
        help: str,  # noqa: A002
        *,
        short: str | None = None,
        former: str | None = None,
        panel: str | None = None,
        values: Values | None = None,
        closed: bool | None = None,
        reads: Reads | None = None,
        writes: Writes | None = None,
        **settings: Any,
    ) -> None:
        """Declare an option by its usage and its help.

        `usage` has the names and the metavar of the value, as in `--output -o PATH`; a flag has no
        metavar. `panel` is the heading in the help, and `settings` go to `typer.Option`. The other
        parameters are described under the attributes.
        """
        words = usage.split(" ")
        names = [word for word in words if word.startswith("-")]
        super().__init__(
            default=...,
            param_decls=names,
            metavar=" ".join(words[len(names) :]),
            help=help,
            rich_help_panel=panel,
            **settings,
        )
        self.values = values
        self.closed = closed
        self.reads = reads
        self.writes = writes
        self.short = short
        self.former = former


class CliArgument(ArgumentInfo):
    """An argument of the catalogue, with the attributes of `CliOption` that fit arguments."""

    def __init__(
        self,
        metavar: str,
        help: str,  # noqa: A002
        *,
        values: Values | None = None,
        closed: bool | None = None,
        reads: Reads | None = None,
    ) -> None:
        super().__init__(default=..., metavar=metavar, help=help, show_default=False)
        self.values = values
        self.closed = closed
        self.reads = reads
        self.writes: Writes | None = None


# -- commands ---------------------------------------------------------------------------------

#: Options of `tokctl` itself that every command also takes after its own name.
SHARED = ("color", "quiet", "verbose", "debug", "progress")

#: Numeric types of parameters, by annotation.
_NUMBERS: dict[Any, type] = {int: int, int | None: int, float | None: float}


class Command(TyperCommand):
    """A command whose parameters are in the catalogue; its context object is the `Console`."""

    def __init__(self, name: str | None, **settings: Any) -> None:
        super().__init__(name, **settings)
        _read_values_here(self)

    def get_help_option(self, ctx: Any) -> Any:
        """Return the `--help` flag, which needs no value to be parsed."""
        return _help_option(super().get_help_option(ctx), has_screen=bool(_often(self)))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Show the help: all of it for `--help`, one screen for `-h`.

        Values that the code knows, such as presets, are looked up only here. Like Typer's own help,
        the text goes to stdout and not into `formatter`.
        """
        for parameter in self.params:
            parameter.metavar = metavar_of(parameter)
        often = _often(self)
        if "--help" in ctx.obj.arguments or not often:
            super().format_help(ctx, formatter)
        else:
            rows = [(_usage_of(option), option.declared.short) for option in often]
            options = [each for each in self.params if each.param_type_name == "option"]
            number = len(options) + len(SHARED)
            more = f"{ctx.command_path} --help has all {number} options, and more examples."
            typer.echo(_screen(self, ctx, rows, more))

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the command's own parameters, the shared options, and `--help`."""
        *own, help_option = super().get_params(ctx)
        return [*own, *(p for p in ctx.find_root().command.params if p.name in SHARED), help_option]

    def make_parser(self, ctx: Any) -> Any:
        """Return Typer's parser, which also accepts the former names of options."""
        parser = super().make_parser(ctx)
        for parameter in self.params:
            declared = getattr(parameter, "declared", None)
            if former := getattr(declared, "former", None):
                now, parameter.opts = parameter.opts, [former]
                parameter.add_to_parser(parser, ctx)
                parameter.opts = now
        return parser

    def invoke(self, ctx: Any) -> Any:
        """Run the command.

        Raises:
            PastTyper: carries a Ctrl-C, or an error of the system, out of the command.
            TokctlError: the command failed.
        """
        apply(ctx.obj, **{name: ctx.params.pop(name) for name in SHARED})
        try:
            for parameter in self.params:
                _check(parameter, ctx.params[parameter.name])
            with watched(ctx.obj.inputs):
                ctx.obj.inputs.declare(self.params, ctx.params)
                return super().invoke(ctx)
        except (KeyboardInterrupt, EOFError, OSError) as error:
            raise PastTyper(error) from error


class CommandGroup(TyperGroup):
    """A group of commands: `tokctl` itself, or `tokctl corpora`."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        _read_values_here(self)

    def get_help_option(self, ctx: Any) -> Any:
        """Return the `--help` flag, as `Command` does."""
        return _help_option(super().get_help_option(ctx), has_screen=True)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Show the help: all of it for `--help`, one screen with the commands for `-h`."""
        if "--help" in ctx.obj.arguments:
            super().format_help(ctx, formatter)
        else:
            rows = [
                (name, command.short_help or command.help or "")
                for name, command in self.commands.items()
            ]
            more = f"{ctx.command_path} COMMAND -h shows its options, and --help everything."
            typer.echo(_screen(self, ctx, rows, more))


def _often(command: Any) -> list[Any]:
    """Return the options of a command that `-h` shows."""
    return [each for each in command.params if getattr(each.declared, "short", None)]


def _usage_of(option: Any) -> str:
    """Return the usage of an option, as in `-o, --output PATH`."""
    long, *short = option.opts
    value = "" if option.is_flag else option.declared.metavar or option.name.upper()
    return f"{short[0] + ',' if short else '':3} {long} {value}".rstrip()


def _screen(command: Any, context: Any, rows: Sequence[tuple[str, str]], more: str) -> str:
    """Return the screen of `-h`: usage, three examples, and `rows` of options or commands."""
    usage = " ".join((context.command_path, *command.collect_usage_pieces(context)))
    examples = re.findall(r"^  \S.*", command.epilog, re.MULTILINE)[:3]
    width = max(len(written) for written, _ in rows)
    lines = [
        # From 14 rows on, the screen has no room for this empty line.
        *(
            f"Usage: {usage}",
            *([""] if len(rows) < 14 else []),
            command.short_help or command.help,
            "",
        ),
        *(*examples, ""),
        *(f"  {written:{width}}  {text}" for written, text in rows),
        *("", more),
    ]
    return "\n".join(lines)


def _help_option(flag: Any, *, has_screen: bool) -> Any:
    """Return the flag without a type in the help, and with the default False.

    Typer would parse the default None as a value.
    """
    flag.metavar, flag.default = "", False
    if has_screen:
        flag.help = "Show this message and exit; -h shows one screen."
    return flag


class PastTyper(BaseException):
    """Carrier of an error past Typer, which would end the process in its own way."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(error)
        self.error = error


def _read_values_here(command: Any) -> None:
    """Parse text and number values by `_read` instead of Typer.

    From 0.29 on, Typer imports pydantic for that, which takes twice as long as the rest of a start;
    and its messages about wrong numbers differ between versions. Each parameter gets the attributes
    `declared`, its entry in the catalogue, and `number`, its numeric type or None.
    """
    if command.callback is None:
        return
    hints = inspect.get_annotations(inspect.unwrap(command.callback), eval_str=True)
    for parameter in command.params:
        kind, parameter.declared = get_args(hints[parameter.name])
        parameter.number = _NUMBERS.get(kind)
        # Typer 0.29 adds brackets, also around a metavar that has them.
        if (parameter.metavar or "").startswith("["):
            parameter.get_usage_pieces = partial(_usage, parameter.metavar)
        if parameter.callback is None:
            parameter.process_value = partial(_read, parameter, parameter.process_value)


def _usage(metavar: str, _context: Any) -> list[str]:
    return [metavar]


def _read(parameter: Any, by_typer: Callable[[Any, Any], Any], context: Any, value: Any) -> Any:
    """Return the value of a parameter from the command line, or its default.

    Raises:
        typer.BadParameter: the value is not a number, or is below the minimum.
    """
    if parameter.multiple or parameter.nargs == -1:
        return tuple(_as_listed(parameter, one) for one in value or ())
    if value is None:
        return by_typer(context, None) if parameter.required else None
    number = parameter.number
    if number is None:
        return _as_listed(parameter, value)
    if isinstance(value, number):
        return value
    least = parameter.declared.min
    try:
        found = whole_number(value) if number is int else number(without_separators(value))
    except ValueError:
        wrong = f"{value!r} is no {'whole ' if number is int else ''}number."
    else:
        if least is None or found >= least:
            return found
        wrong = f"{found} is less than {least}."
    raise typer.BadParameter(wrong, context, parameter, [*parameter.opts])


def _as_listed(parameter: Any, value: Any) -> Any:
    """Return a value as the catalogue spells it, if the two differ only in the case of letters.

    In a list with commas, each word is looked up, up to the first word with an argument of its own
    (`replace:a`) or JSON.
    """
    if not isinstance(value, str) or value == value.lower():
        return value
    known = values_of(parameter)
    names = {name.casefold(): name for name in known}
    words = value.split(",") if parameter.multiple else [value]
    for place, word in enumerate(words):
        if ":" in word or word.startswith("{"):
            break
        if word not in known:
            words[place] = names.get(word.casefold(), word)
    return ",".join(words)


_GROUPED = re.compile(r"[+-]?[0-9]{1,3}(?:,[0-9]{3})+(?![0-9,])|[+-]?[0-9]+(?:_[0-9]+)+")


def without_separators(text: str) -> str:
    """Return a number without thousands separators: `20,000` and `20_000` become `20000`."""
    text = text.strip()
    if found := _GROUPED.match(text):
        return re.sub("[,_]", "", found[0]) + text[found.end() :]
    return text


_WHOLE = re.compile(r"([+-]?[0-9]+)([KMG]?)", re.IGNORECASE)
_SCALES = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9}


def whole_number(text: str) -> int:
    """Parse a number of things other than bytes: `10000`, or `10K` with powers of 1000 (K, M, G).

    Raises:
        ValueError: the text is not such a number.
    """
    if not (found := _WHOLE.fullmatch(without_separators(text))):
        raise ValueError(text)
    return int(found[1]) * _SCALES[found[2].upper()]


def count_of(option: str, text: str, below: int, hint: str) -> int:
    """Parse a whole number from 1 up for an option.

    Args:
        option: the option, for the message.
        text: the number, as `whole_number` takes it.
        below: the number must be less.
        hint: the hint of the error.

    Raises:
        TokctlError: the text is not a number, or is out of range.
    """
    try:
        found = whole_number(text)
    except ValueError:
        found = 0
    if not 0 < found < below:
        raise BadOption(f"{option} can't be {text!r}", hint, "bad-value")
    return found


def vocab_sizes(values: Sequence[str]) -> list[int]:
    """Return the sizes of a `--vocab` that may be repeated and may hold commas, in order."""
    words = [word for value in values for word in value.split(",")]
    for value in values:
        if re.search(r",0[0-9]{2}\b", value) and (one := without_separators(value)) != value:
            hint = f"write {one}; a comma stands between sizes: 8K,16K,32K"
            raise BadOption(f"--vocab can't be {value!r}", hint, "bad-value")
    return [
        count_of("--vocab", word.strip(), 2**32, "give a size, or several: 8K,16K,32K")
        for word in words
    ]


def held_out_share(value: str) -> float | None:
    """Parse the share of a `--held-out`; return None if the value is the path of a text.

    Raises:
        TokctlError: the value is a number, but not a share.
    """
    from tokctl.analysis.held_out import check_share

    try:
        share = float(value)
    except ValueError:
        return None
    check_share(share)
    return share


def values_of(parameter: Any) -> tuple[str, ...]:
    """Return all possible values of a parameter, or nothing if any value is possible."""
    declared = parameter.declared
    if declared.values is not None:
        return tuple(declared.values())
    alternatives = tuple((declared.metavar or "").split("|"))
    words = all(word.replace("-", "").isalnum() and word.islower() for word in alternatives)
    return alternatives if len(alternatives) > 1 and words else ()


def metavar_of(parameter: Any) -> str:
    """Return the metavar of a parameter's value, or an empty text for a flag."""
    return parameter.metavar or "|".join(values_of(parameter))


def _check(parameter: Any, value: Any) -> None:
    """Raise TokctlError if the catalogue lists all values of a parameter, but not `value`."""
    if _is_closed(parameter) and value is not None and value != parameter.default:
        name = parameter.opts[0] if parameter.param_type_name == "option" else "the shell"
        choose(name, value, values_of(parameter))


def _is_closed(parameter: Any) -> bool:
    """Return whether a value outside the catalogue is an error.

    By default it is one if the metavar lists the values.
    """
    declared = parameter.declared
    if declared.closed is None:
        return declared.values is None and not parameter.multiple and bool(values_of(parameter))
    return bool(declared.closed)


def choose(option: str, value: str, allowed: Sequence[str]) -> str:
    """Return `value` if it is one of the allowed values of the option.

    Raises:
        TokctlError: another value is given; the hint names the nearest allowed one.
    """
    if value not in allowed:
        hint = f"{did_you_mean(value, allowed)}choose one of: {', '.join(allowed)}"
        raise BadOption(f"{option} can't be {value!r}", hint, "bad-value")
    return value


# -- options of every command -----------------------------------------------------------------


def apply(
    world: Console,
    *,
    color: str | None,
    quiet: bool,
    verbose: bool,
    debug: bool,
    progress: str | None,
) -> None:
    """Store the shared options in the world; None and False change nothing."""
    if color is not None:
        world.color = choose("--color", color, COLORS)
    world.quiet |= quiet
    world.verbose |= verbose
    world.debug |= debug
    name = "--progress"
    if progress is None and not world.progress:
        name, progress = "$TOKCTL_PROGRESS", world.environ.get("TOKCTL_PROGRESS") or "auto"
    if progress is not None:
        world.progress = choose(name, progress, PROGRESS)
    if world.progress == "json":
        world.speak_events()


def given_early(arguments: Sequence[str], option: str) -> str | None:
    """Return the last value that the command line gives to an option, before it is parsed.

    Errors in the command line are reported before `apply` is called, and need these values.
    """
    value = None
    for place, word in enumerate(arguments):
        if word == "--":
            break
        if word == option:
            value = "".join(arguments[place + 1 : place + 2])
        elif word.startswith(f"{option}="):
            value = word.removeprefix(f"{option}=")
    return value


COLORS = ("auto", "always", "never")
PROGRESS = ("auto", "bar", "log", "json", "none")

_everywhere = partial(CliOption, panel="Everywhere")
Color = Annotated[
    str | None,
    _everywhere(
        "--color auto|always|never",
        "When to use colour; auto: on a terminal, unless NO_COLOR is set.",
    ),
]
Quiet = Annotated[bool, _everywhere("--quiet -q", "Show no progress and no summary.")]
Verbose = Annotated[bool, _everywhere("--verbose", "Say more about what was done.")]
Debug = Annotated[bool, _everywhere("--debug", "Show the traceback of an error.")]
Progress = Annotated[
    str | None,
    _everywhere(
        "--progress auto|bar|log|json|none",
        "How to show the progress of long work on stderr: a bar, occasional lines, or one JSON "
        "object per line. auto: a bar on a terminal, lines elsewhere. The default is "
        "$TOKCTL_PROGRESS, or auto.",
    ),
]

# -- values that the code knows ---------------------------------------------------------------


def _presets() -> Iterable[str]:
    from tokctl.model.presets import PRESETS

    return PRESETS


def _algorithms() -> Iterable[str]:
    from tokctl.model import ALGORITHMS

    return ALGORITHMS


def _algorithms_and_presets() -> Iterable[str]:
    return dict.fromkeys((*_algorithms(), *_presets()))


def _tie_breaks() -> Iterable[str]:
    from tokctl.model import TIE_BREAKS

    return TIE_BREAKS


def _normalizers() -> Iterable[str]:
    from tokctl.model.parts import NORMALIZERS

    return ("none", *NORMALIZERS.names())


def _pre_tokenizers() -> Iterable[str]:
    from tokctl.model.parts import PRE_TOKENIZERS

    return ("none", *PRE_TOKENIZERS.names())


def _decoders() -> Iterable[str]:
    from tokctl.model.parts import DECODERS

    return ("none", *DECODERS.names())


def _forms() -> Iterable[str]:
    from tokctl.idfiles import FORMS

    return (*LINE_FORMS, *FORMS)


def _id_forms() -> Iterable[str]:
    from tokctl.idfiles.reader import FORMS

    return FORMS


def _id_dtypes() -> Iterable[str]:
    from tokctl.idfiles.dtypes import DTYPES

    return DTYPES


def _sources() -> Iterable[str]:
    from tokctl.sources.document import FORMATS

    return FORMATS


def _model_formats() -> Iterable[str]:
    from tokctl.formats import FORMATS

    return (known.name for known in FORMATS if known.writes)


def _metrics() -> Iterable[str]:
    from tokctl.analysis.metrics import DEFINITIONS
    from tokctl.analysis.suite_metrics import DEFINITIONS as OF_SUITE

    return ("all", *DEFINITIONS, *OF_SUITE)


def _comparison_charts() -> Iterable[str]:
    from tokctl.report.charts import COMPARE

    return ("list", *COMPARE)


def _model_charts() -> Iterable[str]:
    from tokctl.report.charts import INSPECT

    return ("list", *INSPECT)


def _exercises() -> Iterable[str]:
    from tokctl.extras.course.exercises import EXERCISES

    return EXERCISES


def _corpora() -> Iterable[str]:
    from tokctl.sources.corpora import list_corpora

    return (corpus.name for corpus in list_corpora())


def _commands() -> Iterable[str]:
    return COMMANDS


# -- Where the text comes from ----------------------------------------------------------------

_source = partial(CliOption, panel="Where the text comes from")

Format = Annotated[
    str,
    _source(
        "--format FORM",
        "The format of the texts: text, jsonl, parquet, arrow, tsv (a text, a tab and its "
        "count), tar, or raw (nothing is decompressed). auto recognizes JSON Lines by the file "
        "name and the others, except tsv, by their first bytes. gzip, zstd, xz and bz2 are "
        "decompressed.",
        values=_sources,
    ),
]
TextField = Annotated[
    str | None,
    _source(
        "--text-field NAME",
        "The JSON Lines field, or the column, that holds the text; by default text. "
        "a.b is field b inside a. If you give it, stdin is read as JSON Lines, unless it is "
        "a table.",
    ),
]
Include = Annotated[
    list[str] | None,
    _source(
        "--include PATTERN",
        "In folders, read only the files that match: '*.md' by name, 'docs/**/*.md' by path. "
        "Can be repeated.",
    ),
]
Exclude = Annotated[
    list[str] | None,
    _source("--exclude PATTERN", "In folders, skip files and folders that match. Can be repeated."),
]
FilesFrom = Annotated[
    str | None,
    _source(
        "--files-from FILE",
        "Read the names of the texts from this file, one per line, taken literally; - is stdin.",
        reads=TEXTS,
    ),
]
Files0From = Annotated[
    str | None,
    _source(
        "--files0-from FILE",
        "The same, with a NUL after each name, as find -print0 writes them.",
        reads=TEXTS,
    ),
]

# -- The model and the output of encode and decode --------------------------------------------


_MODEL = (
    "The model: a file or folder in any format that tokctl reads (tokctl convert "
    "--list-formats shows them), or hf:ORG/NAME on the Hugging Face Hub. The default is "
    "$TOKCTL_MODEL."
)
Model = Annotated[
    str | None,
    CliOption(
        "--model -m MODEL",
        _MODEL,
        short="The model; or give it first, without -m",
        reads=FOLDER,
    ),
]
Output = Annotated[
    str | None,
    CliOption(
        "--output -o PATH",
        "Write to this file, completely or not at all; by default to stdout.",
        short="Write to this file",
        writes=FILE_OR_STDOUT,
    ),
]

# -- train ------------------------------------------------------------------------------------

_vocabulary = partial(CliOption, panel="What gets an id")
_text = partial(CliOption, panel="What is read")
_output = partial(CliOption, panel="What is shown")
_languages = partial(CliOption, panel="Languages (parity-aware bpe)")

Coverage = Annotated[
    str | None,
    _vocabulary(
        "--coverage SHARE",
        "Give ids to the most frequent characters until they cover this share of the text, "
        "such as 0.9995; by default to all characters.",
    ),
]
AlphabetLimit = Annotated[
    int | None,
    _vocabulary(
        "--alphabet-limit N",
        "Give ids to the N most frequent characters only; by default to all.",
        min=1,
    ),
]
InitialAlphabet = Annotated[
    str,
    _vocabulary(
        "--initial-alphabet CHARACTERS",
        "Give these characters an id even if the text doesn't contain them.",
        show_default=False,
    ),
]
Weight = Annotated[
    list[str] | None,
    _text(
        "--weight FILE=2.0",
        "How much each occurrence in this text (or archive, or file of a folder) counts; "
        "by default 1. Can be repeated.",
        reads=WEIGHTED,
    ),
]
TrainCounts = Annotated[
    bool,
    _text(
        "--word-counts",
        r"The file holds word counts instead of text: on each line a word, a tab and its count. "
        r"\n, \r, \t, \\ and \xff in a word are escapes.",
        former="--counts",
    ),
]
SaveCounts = Annotated[
    str | None,
    _output(
        "--save-counts PATH",
        "Before training starts, also write the pre-tokens with their counts, as a file for "
        "--word-counts. If the name ends in .gz, the file is compressed.",
        writes=FILE,
    ),
]
TrainSample = Annotated[
    str | None,
    _text(
        "--sample SHARE",
        "Read only a random share of the lines (or of the documents in JSON Lines and tables), "
        "such as 0.1.",
    ),
]
TrainSeed = Annotated[
    int | None, _text("--seed N", "The random seed for --sample; by default 0.", min=0)
]
Extend = Annotated[
    str | None,
    _text(
        "--extend MODEL",
        "Continue training this model, with its recipe: it keeps its ids, and --vocab is the "
        "new total.",
        short="Continue training this model",
        reads=FOLDER,
    ),
]
TrainLang = Annotated[
    list[str] | None,
    _languages(
        "--lang NAME=FILE",
        "A text in the language NAME, instead of FILE alone; can be repeated. At each step, the "
        "language that is compressed worst chooses the pair to merge.",
        reads=NAMED,
    ),
]
LangDev = Annotated[
    list[str] | None,
    _languages(
        "--lang-dev NAME=FILE",
        "A development text in the language NAME, which shows how it is compressed; best the same "
        "sentences in each language. By default the training texts show it.",
        reads=NAMED,
    ),
]
ParityVariant = Annotated[
    str | None,
    _languages(
        "--parity base|window",
        "base (default): the worst compressed language always chooses. window: skip a language "
        "that chose more than its share of the last merges.",
    ),
]
GlobalMerges = Annotated[
    str | None,
    _languages(
        "--global-merges N|N%",
        "Let all texts together choose the first N merges, as in ordinary BPE; or N% of the "
        "merges. By default 0.",
    ),
]
ParityMeasure = Annotated[
    str | None,
    _languages(
        "--parity-measure tokens|bytes|characters",
        "What makes a language badly compressed: the tokens of its text (default with "
        "--lang-dev), tokens per byte (default without), or tokens per character.",
    ),
]
ParityTarget = Annotated[
    list[str] | None,
    _languages(
        "--parity-target NAME=2.5",
        "The compression that this language should have in proportion to the others; by default "
        "1. "
        "Can be repeated.",
    ),
]
ParityWindow = Annotated[
    int | None,
    _languages(
        "--parity-window N",
        "With --parity window, the number of choices that it holds; by default 100.",
        min=1,
    ),
]
ParityLimit = Annotated[
    str | None,
    _languages(
        "--parity-limit X",
        "With --parity window, how many times its equal share of the window a language may have; "
        "by default 2.",
    ),
]
TrainFiles = Annotated[
    list[str] | None,
    CliArgument(
        "[FILE]...",
        "Texts: files in any supported format, folders, archives or URLs; - or no FILE is "
        "stdin. A model file is refused, unless --format says how to read it.",
        reads=TEXTS,
    ),
]
Vocab = Annotated[
    int,
    CliOption(
        "--vocab -v N",
        "The vocabulary size: all ids, including special tokens and alphabet. 10K is 10,000.",
        min=1,
        short="The vocabulary size; by default 10K (10,000)",
    ),
]
TrainOutput = Annotated[
    str | None,
    CliOption(
        "--output -o PATH",
        "The model file; by default the first text's name with .ALGO.json, in this folder, which "
        "replaces only a model that was trained with the same options.",
        short="The model file",
        writes=FILE,
    ),
]
Force = Annotated[
    bool,
    CliOption(
        "--force",
        "Without -o, replace a file of that name even if it is another model, or no model.",
    ),
]
ListPresets = Annotated[
    bool,
    CliOption(
        "--list-presets",
        "List the presets and exit.",
        short="List the presets",
    ),
]
ShowSteps = Annotated[
    int,
    _output(
        "--show-steps N",
        "Show the corpus state and the merge at each of the first N steps of training; for "
        "unigram, the first N rounds.",
        min=0,
        short="Show the first N steps of the training",
    ),
]
TrainThreads = Annotated[
    int | None, CliOption("--threads N", "Work on N threads; by default one per processor.", min=1)
]
Memory = Annotated[
    str | None,
    CliOption(
        "--memory SIZE",
        "Limit the memory used for counting: 500M, 2G (powers of 1024). What does not fit goes "
        "to temporary files in $TMPDIR, or next to the model; the result is the same.",
        short="Limit the memory used for counting: 2G",
    ),
]
Engine = Annotated[
    str | None,
    CliOption(
        "--engine NAME",
        "Let a cluster of Ray count the texts: ray is the one in RAY_ADDRESS, or workers on this "
        "machine; ray://HOST:PORT is another one. The result is the same.",
    ),
]
Plan = Annotated[
    bool,
    CliOption(
        "--plan",
        "Don't train: estimate, from a sample of the texts, the time and memory that --engine "
        "will need.",
    ),
]
TrainJson = Annotated[bool, _output("--json", "Print facts as JSON instead of the path.")]
TrainErrors = Annotated[
    str,
    _text(
        "--errors strict|replace",
        "If text is not UTF-8 and symbols are characters: stop (strict), or read U+FFFD there "
        "(replace).",
        closed=True,
    ),
]
MinCount = Annotated[
    int, _vocabulary("--min-count N", "Drop pre-tokens that occur fewer than N times.", min=1)
]
MinFrequency = Annotated[
    int,
    _vocabulary(
        "--min-frequency N",
        "Don't merge pairs, or give ids to words, that occur fewer than N times.",
        min=1,
        short="Merge no pair that occurs less than N times",
    ),
]
Transition = Annotated[
    str | None,
    _vocabulary(
        "--transition SIZE",
        "The size of the vocabulary from which superbpe joins words: ids, or a share of --vocab; "
        "by default 90%.",
    ),
]
MaxWords = Annotated[
    int | None,
    _vocabulary(
        "--max-words N",
        "The most words of a merged token; by default no limit, and 4 for superbpe.",
        min=1,
    ),
]
Forbid = Annotated[
    list[str] | None,
    _vocabulary(
        "--forbid TEXT",
        "Merge no token that contains this text; by default ': ' for superbpe. Can be repeated; "
        "none: no text.",
    ),
]
Threshold = Annotated[
    str | None,
    _vocabulary(
        "--threshold SHARE",
        "Remove a token when this share of its occurrences becomes part of another one; by default "
        "0.9 for picky, and boundless removes none.",
    ),
]
MaxTokenLength = Annotated[
    int | None,
    _vocabulary(
        "--max-token-length N",
        "The length limit of tokens, in bytes or characters; by default none, and 16 for unigram.",
        min=1,
    ),
]
WholeCharacters = Annotated[
    bool,
    _vocabulary(
        "--whole-characters",
        "For models of bytes: merge bytes into whole characters first, and then only whole "
        "characters. A token of several bytes is then text, or the beginning of one character.",
    ),
]
InitialToken = Annotated[
    list[str] | None,
    _vocabulary(
        "--initial-token TEXT",
        "Give this text one token, even if it doesn't occur. The first merges make it, so the "
        "pre-tokenizer must not cut it. A space in front counts. Can be repeated.",
    ),
]
InitialTokensFrom = Annotated[
    str | None,
    _vocabulary(
        "--initial-tokens-from FILE",
        "The same for each line of this file, taken literally.",
        reads=TEXTS,
    ),
]

# -- train: the recipe ------------------------------------------------------------------------

_splitting = partial(CliOption, panel="How text is split")
_unknown = partial(CliOption, panel="What is unknown")
_wordpiece = partial(CliOption, panel="How wordpiece encodes")
_decoding = partial(CliOption, panel="What is added around texts, and how tokens become text")

Algo = Annotated[
    str | None,
    CliOption(
        "--algo -a",
        "The algorithm; by default bpe.",
        values=_algorithms,
        short="bpe (default), wordpiece, unigram, superbpe, …",
    ),
]
Preset = Annotated[
    str | None,
    CliOption(
        "--preset NAME",
        "Start from a named recipe: gpt2, bert, llama3, t5, …",
        values=_presets,
        short="A named recipe: gpt2, bert, llama3, t5, …",
    ),
]
TrainSpecial = Annotated[
    list[str] | None,
    CliOption(
        "--special-token TOKEN",
        "Add a special token; it gets one of the lowest ids. Can be repeated.",
        short="A special token; can be repeated",
        former="--special",
    ),
]
Normalize = Annotated[
    list[str] | None,
    _splitting(
        "--normalize A,B",
        "How the text is normalized first, step by step: nfc, nfd, nfkc, nfkd, lowercase, "
        "strip-accents, bert, nmt_nfkc (default for unigram), nmt_nfkc_cf, collapse-spaces, "
        "strip-spaces, strip, delete-newlines, replace:OLD=>NEW, prepend:TEXT, …; or none. "
        "Can be repeated; steps after a free text (prepend:TEXT) need a new --normalize.",
        values=_normalizers,
        short="Steps before splitting: nfc, lowercase, …",
    ),
]
Pretokenize = Annotated[
    list[str] | None,
    _splitting(
        "--pretokenize A,B",
        "How text is split into pre-tokens, step by step: gpt2 (default for bpe), bert (for "
        "wordpiece and word), metaspace (for unigram), gpt2-words, cl100k, o200k, llama3, qwen2, "
        "deepseek-v3, whitespace, whitespace-punctuation, punctuation, digits, "
        "digits-individual, digit-groups (threes from the right), digit-cuts, scripts, characters, "
        "graphemes, penn-treebank, lines, delimiter:TEXT, split:TEXT, regex:PATTERN (of Python's "
        "regex package), …; or none. Byte-level models accept only those that keep the text "
        "unchanged. Can be repeated.",
        values=_pre_tokenizers,
        short="How text is split: gpt2, cl100k, bert, …",
    ),
]
Characters = Annotated[
    bool | None,
    _splitting("--chars/--bytes", "Start from characters, or from bytes (default for bpe)."),
]
Marker = Annotated[
    str | None,
    _splitting(
        "--marker KIND:TEXT",
        "With --chars, how a word's start or end is marked: none, end:_, "
        "end-fused:</w>, start:Ġ; for wordpiece continuation:## (default).",
    ),
]
UnkToken = Annotated[
    str | None,
    _unknown(
        "--unk-token TEXT",
        "The token for whatever has no token: by default [UNK], <unk> for unigram, and none for "
        "byte-level models, which need none; '' means none.",
    ),
]
ByteFallback = Annotated[
    bool | None,
    _unknown(
        "--byte-fallback/--no-byte-fallback",
        "Encode a character without a token as its bytes, such as <0xE2> (unigram, and bpe with "
        "--chars). The byte tokens take 256 ids.",
    ),
]
FuseUnknown = Annotated[
    bool | None,
    _unknown(
        "--fuse-unknown/--no-fuse-unknown",
        "Encode adjacent unknown characters as one unknown token (default for unigram; also "
        "for bpe with --chars).",
    ),
]
Graphemes = Annotated[
    bool,
    _splitting(
        "--graphemes",
        "For char: keep graphemes whole, such as accented letters and emoji sequences.",
    ),
]
Template = Annotated[
    str | None,
    _decoding(
        "--template 'ONE=>TWO'",
        "What encode --add-special adds around one text ($A) and a pair ($A, $B): "
        "'[CLS] $A [SEP]=>[CLS] $A [SEP] $B:1 [SEP]:1'; :1 is a type id. Its tokens must be "
        "special tokens (--special-token). none: add nothing.",
    ),
]
Decoder = Annotated[
    list[str] | None,
    _decoding(
        "--decoder A,B",
        "How tokens become text, step by step: byte-level, wordpiece, metaspace, "
        "byte-fallback, bpe-suffix, join, fuse, replace:OLD=>NEW, …. By default, the steps that "
        "match the rest of the recipe; none: only the marker is undone. Can be repeated.",
        values=_decoders,
    ),
]
Score = Annotated[
    str | None,
    _vocabulary(
        "--score count|likelihood",
        "For wordpiece, how pairs are scored: likelihood (default) is "
        "count(ab) / (count(a) x count(b)); count is what Hugging Face uses, with "
        "its alphabet and its tie rule.",
    ),
]
TieBreak = Annotated[
    str | None,
    _vocabulary(
        "--tie-break RULE",
        "Which of several equally good pairs is merged: first-seen, rewritten-last, "
        "lowest-id (default for bytes) or highest-text.",
        values=_tie_breaks,
    ),
]
Segment = Annotated[
    str | None,
    _wordpiece(
        "--segment longest-match|merges",
        "How the wordpiece model segments words: longest match first (default), or by "
        "replaying the merges.",
    ),
]
Unknown = Annotated[
    str | None,
    _unknown(
        "--unknown word|char|drop",
        "What becomes unknown in wordpiece: the whole word (default), or only the character. "
        "drop: leave out what has no token, as Hugging Face's BPE does without an unknown token "
        "(bpe with --chars, wordpiece by merges, char).",
        closed=False,
    ),
]
MaxInputChars = Annotated[
    int | None,
    _wordpiece(
        "--max-input-chars N", "Words of more than N characters are unknown; by default 100.", min=1
    ),
]

# -- encode -----------------------------------------------------------------------------------

_written = partial(CliOption, panel="What is written")
_length = partial(CliOption, panel="What is added around texts, and their length")
_id_file = partial(CliOption, panel="Files of ids: bin, npy, parquet, megatron, safetensors")

EncodeFiles = Annotated[
    list[str] | None,
    CliArgument(
        "[FILE]...",
        "Texts; - or no FILE is stdin. Without -m, the first FILE can be the model.",
        reads=TEXTS,
    ),
]
EncodeForm = Annotated[
    str | None,
    _written(
        "--as FORM",
        "ids (default), tokens, pieces, jsonl, bin, npy, parquet, megatron or safetensors; "
        "see below.",
        values=_forms,
        closed=True,
        short="ids, tokens, pieces, jsonl, bin, npy, parquet, …",
    ),
]
Count = Annotated[
    bool,
    _written(
        "--count",
        "Instead of ids, write the tokens, bytes and name of each file, and the total. With "
        "--lines, each line is encoded on its own, without its line feed.",
        short="Count tokens and bytes of each file",
    ),
]
Csv = Annotated[bool, _written("--csv", "With --count: write CSV with a header and no total.")]
Sort = Annotated[
    str | None,
    _written(
        "--sort tokens|bytes|name",
        "With --count: sort by tokens (of the first model) or bytes, largest first, or by name; "
        "by default, files stay in the order they were read.",
        closed=True,
    ),
]
EncodeModels = Annotated[
    list[str] | None,
    CliOption(
        "--model -m MODEL",
        f"{_MODEL} Can be repeated with --count, which then writes a column per model.",
        short="The model; or give it first, without -m",
        reads=FOLDER,
    ),
]
Whole = Annotated[
    bool,
    _text(
        "--whole",
        "Treat each file as one text, including its line feeds, instead of each line.",
        short="Each file is one text, not each line",
    ),
]
Offsets = Annotated[bool, _written("--offsets", "Add offsets in characters to jsonl.")]
ByteOffsets = Annotated[bool, _written("--byte-offsets", "Add offsets in bytes to jsonl.")]
Full = Annotated[
    bool,
    _written(
        "--full",
        "Add every field to jsonl; see below.",
        short="Everything: tokens, offsets, masks, as JSON",
    ),
]
EncodeJson = Annotated[
    bool, _written("--json", "The same as --as jsonl; with --count, one JSON document.")
]
EncodeSpecial = Annotated[
    list[str] | None,
    _text(
        "--special TOKEN",
        "Recognize this special token in the text; or all, or none (the default: special tokens "
        "in the text are ordinary text). Can be repeated.",
        short="Special tokens to recognize in the text",
    ),
]
AddSpecial = Annotated[
    bool,
    _length(
        "--add-special/--no-add-special",
        "Add the special tokens of the model's template around each text; off by default.",
        show_default=False,
        short="Add the template's special tokens",
    ),
]
MaxLength = Annotated[
    int | None,
    _length(
        "--max-length N",
        "Truncate each text to N tokens, including special tokens.",
        min=1,
        short="Truncate each text to N tokens",
    ),
]
Stride = Annotated[
    int | None,
    _length(
        "--stride N",
        "Write what --max-length cuts off as further windows of that length, each on its own "
        "line; each window repeats the last N tokens of the one before.",
        min=0,
    ),
]
Pad = Annotated[
    str | None,
    _length(
        "--pad N|longest",
        "Pad shorter texts to N tokens, or to the length of the longest text; for longest, "
        "all texts are read into memory.",
        short="Pad shorter texts to N tokens",
    ),
]
PadToken = Annotated[
    str | None,
    _length(
        "--pad-token TOKEN", "The token for --pad; by default [PAD] or <pad>, if the model has it."
    ),
]
EncodeAlpha = Annotated[
    float | None,
    _text(
        "--alpha ALPHA",
        "Unigram: sample a segmentation at random, with a probability in proportion to "
        "exp(ALPHA x score); for example 0.1. For ids, tokens, jsonl and bin.",
    ),
]
EncodeSeed = Annotated[
    int | None,
    _text(
        "--seed N",
        "The random seed for --alpha: the same seed and text give the same tokens; line n "
        "uses N + n. By default 0.",
        min=0,
    ),
]
EncodeErrors = Annotated[
    str,
    _text(
        "--errors strict|replace",
        "If text is not UTF-8 and the model is character-level: stop (strict), or read U+FFFD "
        "there (replace). Byte-level models accept any bytes.",
        closed=True,
    ),
]
EncodeThreads = Annotated[
    int | None,
    _text(
        "--threads N",
        "Work on N threads; by default one per processor. The output does not depend on it. "
        "For ids, files of ids and --count.",
        min=1,
        short="Work on N threads; same output",
    ),
]
CacheMemory = Annotated[
    str | None,
    _text(
        "--cache-memory SIZE",
        "Limit each thread's cache of pre-tokens: 64M, 1G (powers of 1024); by default 320M, "
        "which only long texts fill. The output does not depend on it.",
    ),
]
EncodeEos = Annotated[
    str | None,
    _length(
        "--eos TOKEN",
        "Add this token of the vocabulary after each text.",
        short="Add this token after each text",
    ),
]
Lines = Annotated[
    bool,
    _id_file(
        "--lines",
        "Treat each line as a document, instead of each file; also for --count. Without --as, "
        "this is the default.",
    ),
]
EncodeDtype = Annotated[
    str | None,
    _id_file(
        "--dtype uint16|uint32|int32", "The type of the ids; by default what the vocabulary needs."
    ),
]
Index = Annotated[
    str | None,
    _id_file(
        "--index PATH",
        "For bin and npy, write to PATH where documents end: an .npy file of 64-bit numbers, "
        "0 first, then one per document.",
        writes=FILE,
    ),
]
ShardSize = Annotated[
    str | None,
    _id_file(
        "--shard-size N",
        "Write shards of N ids (100M is a hundred million; also K and G) and a manifest into "
        "the folder or the address (s3://…) that -o names; also for jsonl.",
    ),
]
Resume = Annotated[
    bool,
    _id_file("--resume", "Continue the shards of a run that was stopped; the result is the same."),
]
EncodeEngine = Annotated[
    str | None,
    _id_file(
        "--engine NAME",
        "Let a cluster of Ray write the shards: ray is the one in RAY_ADDRESS, or workers on this "
        "machine; ray://HOST:PORT is another one. The result is the same.",
    ),
]

_chat = partial(CliOption, panel="Chats")
Chat = Annotated[
    bool,
    _chat(
        "--chat",
        "Read conversations from JSON Lines or tables, render each with the model's chat template, "
        "and encode that text with its special tokens. A line is a list of messages, or an object "
        "with messages, and if need be tools, documents and chat_template_kwargs.",
        short="Encode conversations with the chat template",
    ),
]
ChatTemplate = Annotated[
    str | None,
    _chat(
        "--chat-template FILE|NAME",
        "Take the template in this file, or the one of this name if the model has several; by "
        "default that of the model, or of the files next to it.",
        reads=TEXTS,
    ),
]
ChatOption = Annotated[
    list[str] | None,
    _chat(
        "--chat-option NAME=VALUE",
        "Set a name that the template knows, such as enable_thinking=false; the value is JSON or "
        "text. Can be repeated.",
    ),
]
GenerationPrompt = Annotated[
    bool, _chat("--generation-prompt", "End each text with the prompt for the model's answer.")
]
AssistantMask = Annotated[
    bool,
    _chat(
        "--assistant-mask",
        "Add assistant_mask: 1 for each token that the assistant wrote, 0 for all others. For "
        "jsonl, parquet and safetensors.",
    ),
]
Pack = Annotated[
    int | None,
    _length(
        "--pack N",
        "Pack whole documents into sequences of up to N ids, with position_ids and seq_lengths; "
        "only longer ones are cut. For jsonl, parquet and safetensors.",
        min=1,
    ),
]

# -- check ------------------------------------------------------------------------------------

CheckFolders = Annotated[
    list[str] | None,
    CliArgument(
        "FOLDER...",
        "Folders of shards, or addresses of them, or their manifest.json.",
        reads=FOLDER,
    ),
]

# -- decode -----------------------------------------------------------------------------------


DecodeFiles = Annotated[
    list[str] | None,
    CliArgument(
        "[FILE]...",
        "What encode wrote: files, or folders of shards; - or no FILE is stdin. Without -m, the "
        "first FILE can be the model.",
        reads=FOLDER,
    ),
]
DecodeForm = Annotated[
    str,
    CliOption(
        "--from FORM",
        "The input format: ids, jsonl, bin, npy, parquet, arrow, megatron or safetensors. auto "
        "goes by file names and first bytes; anything else is read as ids.",
        values=_id_forms,
        closed=True,
        short="ids, jsonl, bin, npy, parquet, …; default: auto",
    ),
]
DecodeDtype = Annotated[
    str | None,
    CliOption(
        "--dtype TYPE",
        "The type of the ids in bin: uint8, int8, uint16, … int64; by default uint16, or uint32 "
        "if the model has more than 65,536 tokens.",
        values=_id_dtypes,
        closed=True,
    ),
]
IdsField = Annotated[
    str | None,
    CliOption(
        "--ids-field NAME",
        "The column, tensor or jsonl field that holds the ids; by default input_ids, and ids "
        "for jsonl.",
    ),
]
Separator = Annotated[
    str | None,
    CliOption(
        "--separator TEXT",
        r"Write TEXT after each document of parquet, arrow, megatron and safetensors; "
        r"\n, \t, \r, \0 and \\ are escapes. By default a line feed, if the document does "
        "not end with one.",
    ),
]
DecodeEos = Annotated[
    str | None,
    CliOption(
        "--eos TOKEN", "Documents end with this token, in bin and npy too; it is not written."
    ),
]
SkipSpecial = Annotated[
    bool,
    CliOption(
        "--skip-special",
        "Leave out special tokens.",
        short="Leave out special tokens",
    ),
]
DecodeJson = Annotated[bool, CliOption("--json", "The same as --from jsonl.")]

# -- inspect ----------------------------------------------------------------------------------

_question = partial(CliOption, panel="Questions (one at a time)")
_answer = partial(CliOption, panel="How it answers")

InspectModel = Annotated[
    str | None,
    CliArgument(
        "MODEL",
        "The model, unless -m names it: a file, a folder or hf:ORG/NAME; by default $TOKCTL_MODEL.",
        reads=FOLDER,
    ),
]
InspectTexts = Annotated[
    list[str] | None,
    CliArgument(
        "TEXT",
        "Text files for --state, --pairs, --use and --gap; - or no TEXT is stdin. For --token, a "
        "text whose words use the token. --check, --watch, --html and --plot take texts, too.",
        reads=TEXTS,
    ),
]
Merges = Annotated[
    str | None,
    _question(
        "--merges A:B",
        "The merge history from step A to B, inclusive. Also A:, :B, : and N (one step), and "
        "-N: for the last N steps.",
        short="The merge history from step A to B",
    ),
]
MergesOf = Annotated[
    str | None,
    _question(
        "--merges-of TOKEN",
        "Every merge that uses or makes the token. est*, *est and *est* mean all tokens whose "
        "text starts with, ends with or contains est. Can be combined with --merges.",
    ),
]
State = Annotated[
    int | None,
    _question(
        "--state STEP",
        "The corpus state of the texts after that step; 0 is before the first merge.",
        short="The corpus state of TEXT after that step",
    ),
]
Pairs = Annotated[
    int | None,
    _question(
        "--pairs STEP",
        "The pairs in that corpus state with the counts or scores that training compares, and "
        "the pair that would be merged next.",
    ),
]
InspectWord = Annotated[
    str | None,
    _question(
        "--word WORD",
        "How this word or text is split, step by step, and why.",
        short="How a word is split, step by step, and why",
    ),
]
Token = Annotated[
    str | None,
    _question(
        "--token TOKEN",
        "The merges that make a token and those that use it; '#300' is the token with id 300, "
        "unless a token has that spelling. With a TEXT, also the words that use it most.",
        short="The merges that make and use a token",
    ),
]
Use = Annotated[
    bool,
    _question(
        "--use",
        "Which tokens the texts use and how often, and which they never use.",
        short="Which tokens TEXT uses, and which never",
    ),
]
TextGap = Annotated[
    bool,
    _question(
        "--gap",
        "How far the tokens of the texts are from the fewest: the exact minimum for this "
        "vocabulary, a lower bound for every vocabulary of its size, and the pre-tokens that lose "
        "the most.",
        short="How far the tokens of TEXT are from the fewest",
    ),
]
RecipeOnly = Annotated[
    bool,
    _question(
        "--recipe",
        "The whole recipe, stage by stage, and where it came from; --json shows every field.",
        short="The whole recipe",
    ),
]
Rounds = Annotated[
    bool,
    _question(
        "--rounds",
        "The rounds of a Unigram training: the loss curve, and the pieces that each round kept "
        "and dropped.",
    ),
]
Watch = Annotated[
    bool,
    _question(
        "--watch",
        "Replay the training on the texts step by step; the keys go forward and back. Without "
        "a TEXT, on the bundled sample. Needs the extra tokctl\\[watch].",
        short="Replay the training on TEXT",
    ),
]
Limit = Annotated[
    int | None,
    _answer(
        "--limit N",
        "Lines to show with --merges, --merges-of, --state, --pairs and --token; by default "
        "all, except that a terminal shows 30 (but all merges). With --use: tokens in each list. "
        "With --gap: pre-tokens. With --check: examples of each finding.",
        min=1,
        short="Show at most N lines",
    ),
]
NBest = Annotated[
    int | None,
    _answer(
        "--nbest N",
        "With --word and a Unigram model: how many segmentations to show, with their "
        "probabilities; by default 5, at most 512.",
        min=1,
    ),
]
InspectCounts = Annotated[
    bool,
    _answer(
        "--word-counts",
        "With --state, --pairs and --watch: the file holds word counts instead of text, as "
        "train --word-counts reads them.",
        former="--counts",
    ),
]
InspectErrors = Annotated[
    str | None,
    _answer(
        "--errors strict|replace",
        "If TEXT is not UTF-8 and the model is character-level: stop (strict, the default), or "
        "read U+FFFD there (replace).",
    ),
]
_NO_PAGER = "On a terminal, don't use $PAGER (less) for output longer than the screen."
InspectNoPager = Annotated[
    bool,
    _answer("--no-pager", _NO_PAGER),
]
InspectJson = Annotated[
    bool,
    _answer(
        "--json",
        "The answer as one JSON document.",
        short="The answer as JSON",
    ),
]
InspectMarkdown = Annotated[bool, _answer("--markdown", "The answer as Markdown.")]
InspectLatex = Annotated[
    bool, _answer("--latex", "The answer as LaTeX; its tables need the package booktabs.")
]
Check = Annotated[
    bool,
    _question(
        "--check",
        "Check the health of the model: unreachable tokens, missing bytes, special tokens that "
        "text can spell, and more; with TEXT, also tokens that the text never uses. "
        "docs/health.md explains each check.",
        short="The health of the model",
    ),
]
FailOn = Annotated[
    str | None,
    _answer(
        "--fail-on info|warning|error",
        "With --check: exit with code 1 if it finds anything of that severity or worse.",
        closed=True,
    ),
]

InspectEmbeddings = Annotated[
    str | None,
    _answer(
        "--embeddings FILE",
        "With --check: the embeddings of a language model, .safetensors, its .index.json or their "
        "folder: which tokens are under-trained (needs NumPy: pip install 'tokctl\\[embeddings]').",
        reads=FOLDER,
    ),
]
InspectTensor = Annotated[
    str | None,
    _answer(
        "--tensor NAME",
        "With --embeddings: the name of the tensor, if it is not a usual one.",
    ),
]

# -- Pages and charts of inspect and compare --------------------------------------------------

_page = partial(CliOption, panel="Pages and charts (pip install 'tokctl\\[report]')")

Html = Annotated[
    str | None,
    _page(
        "--html FILE",
        "Write one HTML page that needs no network, and print its path.",
        short="Write one HTML page",
        writes=FILE,
    ),
]
Plot = Annotated[
    str | None,
    _page(
        "--plot FILE",
        "Write a chart as .png, .svg, .pdf or .json (Vega-Lite), and print its path.",
        writes=FILE,
    ),
]
_CHART = "Which chart --plot writes; `--chart list` lists them."
InspectChart = Annotated[str | None, _page("--chart NAME", _CHART, values=_model_charts)]
CompareChart = Annotated[str | None, _page("--chart NAME", _CHART, values=_comparison_charts)]

# -- compare ----------------------------------------------------------------------------------

_models = partial(CliOption, panel="Models")
_look = partial(CliOption, panel="What to look at")
_comparison = partial(CliOption, panel="Output")
_reading = partial(CliOption, panel="Reading")
_suite = partial(CliOption, panel="The suite (with --suite)")

DEFAULT_ALGORITHMS = "bpe,wordpiece-likelihood,wordpiece-count,unigram"
#: Sizes that `compare` trains without `--vocab`; the last one is shown in detail.
DEFAULT_SIZES = (20_000, 10_000)

CompareTexts = Annotated[
    list[str] | None,
    CliArgument(
        "[TEXT]…",
        "Texts, each one document; - is stdin. The default is the bundled sample. Model files "
        "among them are compared, as if given with -m.",
        reads=TEXTS,
    ),
]
CompareModels = Annotated[
    list[str] | None,
    _models(
        "--model -m MODEL",
        "A model: a file or folder in any format, or hf:ORG/NAME; can be repeated. "
        "Without it, models are trained on the texts.",
        short="A model; can be repeated",
        reads=FOLDER,
    ),
]
Baseline = Annotated[
    str | None,
    _models(
        "--baseline NAME|MODEL",
        "The model that NSL and the differences are relative to; by default the first. A "
        "MODEL that is not among the others is added to the comparison.",
        reads=FOLDER,
    ),
]
CompareAlgos = Annotated[
    list[str] | None,
    _models(
        "--algo ALGO,…",
        "What to train: an algorithm of train, such as superbpe, or a preset; "
        f"by default {DEFAULT_ALGORITHMS.replace(',', ', ')}.",
        values=_algorithms_and_presets,
        short="What to train; by default all",
    ),
]
CompareSizes = Annotated[
    list[str] | None,
    _models(
        "--vocab -v N,…",
        "The vocabulary size of the trained models; by default 20000,10000. If you give several, "
        "models of every size are trained, and the last size is shown in detail.",
        short="Sizes to train: 5K,10K",
    ),
]
HeldOut = Annotated[
    str,
    _models(
        "--held-out SHARE|FILE",
        "What trained models are measured on: a share of each text, which is left out of "
        "training (documents, or blocks of paragraphs or lines); another text; or, with 0, the "
        "training text itself.",
        short="What to measure on; by default 0.1 of each text",
        reads=TEXTS,
    ),
]
HeldOutSeed = Annotated[int, _models("--held-out-seed N", "The random seed for --held-out.")]
Lang = Annotated[
    list[str] | None,
    _look(
        "--lang NAME=FILE",
        "A text in the language NAME; can be repeated. All of these texts must say the same, "
        "line by line.",
        short="A text in a language; can be repeated",
        reads=NAMED,
    ),
]
Reference = Annotated[
    str | None,
    _look("--reference NAME", "The language that parity is relative to; by default the first."),
]
Sentence = Annotated[
    list[str] | None,
    _look(
        "--sentence TEXT",
        "A sentence to show; can be repeated. By default, a few from the texts.",
        short="A sentence to show",
    ),
]
CompareWords = Annotated[
    list[str] | None,
    _look(
        "--word WORD",
        "A word to explain; can be repeated. By default, some words of the sentences that the "
        "models split differently.",
        short="A word to explain",
    ),
]
WordRule = Annotated[
    str,
    _look(
        "--words spaces|unicode",
        "What counts as a word for fertility, STRR and continued words: text between white "
        "space (spaces), or a word as defined by UAX #29 (unicode).",
        closed=False,
    ),
]
Intervals = Annotated[
    bool,
    _look(
        "--intervals",
        "Add 95% intervals, computed by resampling the lines of the texts (bootstrap), to tell "
        "real differences from noise.",
        short="95% intervals: is a difference more than noise?",
    ),
]
Speed = Annotated[
    bool,
    _look("--speed", "Measure how fast each model encodes and decodes here; varies between runs."),
]
Explain = Annotated[
    str | None,
    _look(
        "--explain METRIC",
        "Explain a metric, or all of them, instead of comparing: its formula, unit and source, "
        "and when it misleads.",
        values=_metrics,
        short="What a metric is, and when it misleads",
    ),
]
Suite = Annotated[
    bool,
    _suite(
        "--suite",
        "Measure more: bundled prose, code, numbers, names, mark-up and sentences in 25 languages; "
        "how numbers, code and characters are cut; stability under typos, case and spaces; tokens "
        "that are hardly trained. See docs/suite.md.",
        short="Texts by domain, languages, numbers, code, …",
    ),
]
Published = Annotated[
    bool,
    _suite(
        "--published",
        "Add published vocabularies that are on this machine, in the caches of the Hugging Face "
        "Hub and of tiktoken. Never uses the network.",
    ),
]
Gold = Annotated[
    list[str] | None,
    _suite(
        "--gold FILE",
        "A list of words with their morphemes, to compare the cuts with; may be repeated. A line "
        "is a word, a tab, and its morphemes separated by spaces. No model is ranked by it.",
        reads=TEXTS,
    ),
]
SuiteEmbeddings = Annotated[
    list[str] | None,
    _suite(
        "--embeddings MODEL=FILE",
        "The embeddings of a model, a safetensors file: tokens whose vectors are unusual may be "
        "hardly trained. May be repeated, once for each model.",
        reads=NAMED_FOLDER,
    ),
]
SuiteTensor = Annotated[
    str | None,
    _suite(
        "--tensor NAME",
        "The matrix of embeddings in these files, where a usual name does not say it.",
    ),
]
FailIf = Annotated[
    list[str] | None,
    _comparison(
        "--fail-if 'METRIC OP NUMBER'",
        "Exit with code 1 if this is true of a model over all texts; OP is one of "
        "< <= > >=. Can be repeated. A model that only --baseline names is not checked.",
    ),
]
Markdown = Annotated[
    bool,
    _comparison(
        "--markdown",
        "Write Markdown.",
        short="Write Markdown",
    ),
]
Latex = Annotated[
    bool, _comparison("--latex", "Write LaTeX tables; they need the package booktabs.")
]
Date = Annotated[
    bool,
    _comparison(
        "--date",
        "Say on which day the comparison was made. Without it, the output is always the same.",
    ),
]
CompareNoPager = Annotated[
    bool,
    _comparison("--no-pager", _NO_PAGER),
]
CompareJson = Annotated[
    bool,
    _comparison(
        "--json",
        "Write one JSON document.",
        short="Write JSON",
    ),
]
CompareErrors = Annotated[
    str,
    _reading(
        "--errors strict|replace",
        "If text is not UTF-8 and a model is character-level: stop (strict), or read U+FFFD "
        "there (replace).",
        closed=True,
    ),
]
CompareThreads = Annotated[
    int | None,
    _reading(
        "--threads N", "Work on N threads; by default one per processor. Same results.", min=1
    ),
]

# -- recommend --------------------------------------------------------------------------------


def _candidates() -> Iterable[str]:
    from tokctl.extras.recommend import CANDIDATES

    return (*dict.fromkeys(one.recipe.algorithm for one in CANDIDATES.values()), *CANDIDATES)


Params = Annotated[
    str | None,
    CliOption(
        "--params N",
        "Parameters of the model that the tokenizer is for, without embeddings: 125M, 1B, 7B. The "
        "size is then the one with the least training compute for a byte of text.",
        short="Parameters of the model that it is for: 1B",
    ),
]
RecommendAlgos = Annotated[
    list[str] | None,
    CliOption(
        "--algo -a NAME,…",
        "What to try: algorithms (bpe, unigram, wordpiece), or single candidates (bpe/o200k) of "
        "the list below; by default all that suit the text.",
        values=_candidates,
        short="What to try: bpe, or bpe/o200k; by default all",
    ),
]
RecommendSizes = Annotated[
    list[str] | None,
    CliOption(
        "--vocab -v N,…",
        "The only sizes to try. By default powers of two from 1,024 to 131,072, and then "
        "some around the best.",
        short="Sizes to try: 16K,32K",
    ),
]
RecommendHeldOut = Annotated[
    str,
    CliOption(
        "--held-out SHARE|FILE",
        "What candidates are measured on: a share of the texts that they are not trained on "
        "(documents, or blocks of paragraphs or lines), or another text.",
        short="What is measured: 0.1 of the texts by default",
        reads=TEXTS,
    ),
]
RecommendSeed = Annotated[
    int, CliOption("--seed N", "The random seed for the sample and the held-out part.", min=0)
]
SampleSize = Annotated[
    str,
    CliOption(
        "--sample-size SIZE",
        "If the texts are longer, use a random sample of this size: 20M, 1G (powers of 1024).",
        short="Of longer texts, use a sample: 20M by default",
    ),
]

# -- convert ----------------------------------------------------------------------------------

_left_open = partial(CliOption, panel="What the model file doesn't say")

ConvertModel = Annotated[
    str | None,
    CliArgument(
        "[MODEL]",
        "The model: a file or folder in any format that tokctl reads, or hf:ORG/NAME; "
        "by default $TOKCTL_MODEL.",
        reads=FOLDER,
    ),
]
To = Annotated[
    str | None,
    CliOption(
        "--to -t FORMAT",
        "The format to write, one of those listed below; by default tokctl.",
        values=_model_formats,
        short="The format to write",
    ),
]
ConvertOutput = Annotated[
    str | None,
    CliOption(
        "--output -o PATH",
        "The new file, or the folder if the format is one; by default the model's name with "
        "the extension of the format, in this folder.",
        short="The new file, or folder",
        writes=FILE,
    ),
]
Lossy = Annotated[
    bool,
    CliOption(
        "--lossy",
        "Write what the format can hold and leave out the rest.",
        short="Leave out what the format can't hold",
    ),
]
Verify = Annotated[
    list[str] | None,
    CliOption(
        "--verify TEXT",
        "Before saving the new file, load it with tokctl and with the library that defines its "
        "format, and compare ids and decoded text on TEXT; - is stdin. Can be repeated.",
        short="Compare ids with the format's own library",
        reads=TEXTS,
    ),
]
Prune = Annotated[
    int | None,
    CliOption(
        "--prune N",
        "Keep only the N most useful ids; see below.",
        min=1,
        short="Keep the N most useful ids",
    ),
]
Pattern = Annotated[
    str | None,
    _left_open(
        "--pattern SPLIT",
        "How text is split, if the file doesn't say: a value of train --pretokenize, such as "
        "cl100k or 'regex:…'.",
        values=_pre_tokenizers,
    ),
]
ConvertSpecial = Annotated[
    list[str] | None,
    _left_open(
        "--special-token TOKEN=ID",
        "Add a special token with its id. Can be repeated.",
        former="--special",
    ),
]
ListFormats = Annotated[
    bool,
    CliOption(
        "--list-formats",
        "Show every format, and whether tokctl reads or writes it.",
        short="List the formats",
    ),
]
ConvertJson = Annotated[bool, CliOption("--json", "Print facts as JSON instead of the path.")]

# -- adapt ------------------------------------------------------------------------------------

_embeddings = partial(CliOption, panel="Embeddings (pip install 'tokctl\\[embeddings]')")

AdaptTexts = Annotated[
    list[str] | None,
    CliArgument(
        "[TEXT]…",
        "Texts that the new model is for: --prune, --min-uses and --residues count on them, and "
        "--vocab learns from them; - or no TEXT is stdin. A model file before them is the model, "
        "as if given with -m.",
        reads=TEXTS,
    ),
]
AdaptPrune = Annotated[
    int | None,
    CliOption(
        "--prune N",
        "Keep only N tokens: remove those that the texts use least.",
        min=1,
        short="Keep the N tokens that the texts use most",
    ),
]
MinUses = Annotated[
    int | None,
    CliOption(
        "--min-uses N",
        "Instead of --prune: remove the tokens that the texts use fewer than N times; 1 removes "
        "those that they never use.",
        min=1,
        short="Or those that they use N times or more",
    ),
]
AdaptResidues = Annotated[
    str | None,
    CliOption(
        "--residues RATIO",
        "Instead of both: remove the residues of merging, tokens that occur almost only inside "
        "longer ones. RATIO is the highest share of a residue's occurrences that are not "
        "inside others (its FI ratio): 0.05.",
        short="Or the residues of merging, by their FI ratio",
    ),
]
ResidueEntropy = Annotated[
    float | None,
    CliOption(
        "--residue-entropy BITS",
        "The highest entropy of the tokens that a residue is merged with, in bits; by default 2. "
        "Roots and affixes have a higher one, and stay.",
        min=0,
    ),
]
AdaptVocab = Annotated[
    int | None,
    CliOption(
        "--vocab -v N",
        "Learn new tokens until there are N in all, including those of --special-token and "
        "--add-token.",
        min=1,
        short="Then learn new ones until there are N",
    ),
]
NewText = Annotated[
    list[str] | None,
    CliOption(
        "--new-text FILE",
        "Learn new tokens from this text instead of TEXT. Can be repeated.",
        short="Learn them from this text, not from TEXT",
        reads=TEXTS,
    ),
]
AdaptSpecial = Annotated[
    list[str] | None,
    CliOption(
        "--special-token TOKEN",
        "Add a special token, with an id after all that is learned. Can be repeated.",
        short="Add a special token; can be repeated",
    ),
]
AddToken = Annotated[
    list[str] | None,
    CliOption(
        "--add-token TOKEN",
        "Add a token that is always found in a text, before the model cuts it. Can be repeated.",
    ),
]
KeepIds = Annotated[
    bool,
    CliOption(
        "--keep-ids",
        "Remaining tokens keep their ids; new ones get the freed ids. Without it, ids are "
        "numbered without gaps.",
        short="Number nothing anew",
    ),
]
MapFile = Annotated[
    str | None,
    CliOption(
        "--map FILE",
        "Also write what became of each id, as JSON Lines: old, new, token.",
        writes=FILE,
    ),
]
AdaptOutput = Annotated[
    str | None,
    CliOption(
        "--output -o PATH",
        "The new model file, or the folder if the format is one.",
        short="The new model",
        writes=FILE,
    ),
]
AdaptTo = Annotated[
    str | None,
    CliOption(
        "--to -t FORMAT",
        "The format to write, one of convert --list-formats; by default that of the model, with "
        "--residues tokctl.",
        values=_model_formats,
    ),
]
AdaptVerify = Annotated[
    list[str] | None,
    CliOption(
        "--verify TEXT",
        "Before saving anything, check on TEXT that every remaining token occurs as before, or is "
        "part of a new one; - is stdin. Can be repeated.",
        short="Check that kept tokens are made as before",
        reads=TEXTS,
    ),
]
AdaptEmbeddings = Annotated[
    str | None,
    _embeddings(
        "--embeddings FILE",
        "The weights of the language model, .safetensors, its .index.json or their folder: their "
        "embeddings are moved to the new ids.",
        short="Weights whose embeddings get the new ids",
        reads=FOLDER,
    ),
]
NewEmbeddings = Annotated[
    str | None,
    _embeddings(
        "--new-embeddings PATH",
        "With --embeddings: the new weights, a file, or a folder if there are several files.",
        short="The new weights",
        writes=FILE,
    ),
]
AdaptTensor = Annotated[
    list[str] | None,
    _embeddings(
        "--tensor NAME",
        "With --embeddings: a tensor with a row for each id; by default the input and output "
        "embeddings by their usual names. Can be repeated.",
    ),
]
NewRows = Annotated[
    str,
    _embeddings(
        "--new-rows pieces|focus|mean|zeros",
        "With --embeddings: the row of a new token: the mean of the rows of the pieces that the "
        "old model cuts it into, FOCUS's combination of rows by --vectors, the mean of all rows, "
        "or zeros.",
        closed=True,
    ),
]
AdaptVectors = Annotated[
    str | None,
    _embeddings(
        "--vectors FILE",
        "For --new-rows focus: a vector for each token of the new model, .vec of fastText or "
        "word2vec.",
        reads=TEXTS,
    ),
]

# -- bench ------------------------------------------------------------------------------------

BenchModel = Annotated[
    str,
    CliArgument(
        "MODEL", "A model: a file or a folder of any format, or hf:ORG/NAME.", reads=FOLDER
    ),
]
BenchFiles = Annotated[
    list[str] | None,
    CliArgument(
        "[FILE]...",
        "Texts, of which each line, or record, is encoded on its own; - or no FILE is stdin.",
        reads=TEXTS,
    ),
]
BenchValidate = Annotated[
    bool,
    CliOption(
        "--validate",
        "Compare the ids of each text and show the first difference of each library.",
        short="Compare ids text by text",
    ),
]
BenchRepeat = Annotated[
    int,
    CliOption(
        "--repeat N",
        "Encode the texts N times in each library; after 30 s of one library, no more.",
        min=1,
        short="Passes of each library",
    ),
]
BenchThreads = Annotated[
    int,
    CliOption(
        "--threads N",
        "Let each library work on N threads, if it can.",
        min=1,
        short="Threads of each library",
    ),
]

# -- corpora, check-exercise, completion, man -------------------------------------------------


CorpusName = Annotated[str, CliArgument("NAME", "A name that corpora list shows.", values=_corpora)]
FactsJson = Annotated[bool, CliOption("--json", "Print facts as JSON.")]
ExerciseNumber = Annotated[
    str | None, CliArgument("[N]", "Number of the exercise: 2.1.", values=_exercises)
]
ExerciseFile = Annotated[
    str | None,
    CliArgument("[FILE]", "Python file with the function. Its code is run.", reads=TEXTS),
]
ListExercises = Annotated[bool, CliOption("--list", "Show every exercise with its page.")]
ExerciseTimeout = Annotated[
    float | None,
    CliOption("--timeout SECONDS", "How long all cases may take together; 10 by default."),
]
ExerciseJson = Annotated[bool, CliOption("--json", "The cases, or the list, as JSON.")]
Shell = Annotated[str, CliArgument("bash|zsh|fish", "The shell.", closed=True)]
CommandWords = Annotated[
    list[str] | None,
    CliArgument("[COMMAND]...", "The command; by default tokctl itself.", values=_commands),
]


#: Exponents of 1024 by unit; `sort -S` and `ulimit` count in powers of 1024, too.
_UNITS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}
_FORM = re.compile(r"([0-9]{1,15})(?:\.([0-9]{1,9}))?([KMGT]?)(?:iB)?", re.IGNORECASE)


def size_of(option: str, text: str, least: int = 1) -> int:
    """Parse a number of bytes: digits, and then K, M, G or T (or KiB and so on), powers of 1024.

    Args:
        option: the option, for the message.
        text: the size, such as `500M` or `1.5G`.
        least: the smallest size that is allowed.

    Raises:
        TokctlError: the text is not a size, or the size is too small.
    """
    match = _FORM.fullmatch(without_separators(text))
    if not match:
        raise BadOption(
            f"{option} can't be {text!r}",
            "give a number of bytes, or one with K, M, G or T after it (powers of 1024): 500M",
            "bad-value",
        )
    whole, part, unit = match.groups(default="")
    scale = 1 << 10 * _UNITS[unit.upper()]
    bytes_: int = int(whole) * scale + int(part or 0) * scale // 10 ** len(part)
    if bytes_ < least:
        raise BadOption(
            f"{option} can't be less than {spoken(least)}", f"say {spoken(least)}", "bad-value"
        )
    return bytes_


def spoken(bytes_: int) -> str:
    """Return a number of bytes as a short text: `1.5G` for 1536 MiB."""
    for unit in ("T", "G", "M", "K"):
        scale = 1 << 10 * _UNITS[unit]
        if bytes_ >= scale:
            part = f"{bytes_ / scale:.3g}" if bytes_ < 1000 * scale else str(bytes_ // scale)
            return part + unit
    return str(bytes_)
