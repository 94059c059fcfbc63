"""The tutorial's exercises: their tasks, their cases and the judging of answers.

The reader's file runs in a separate Python process, with a limit on time and, if the system has
one, on memory. The process calls the function with each case of an exercise. The results are
compared with those of tokctl's own trainers, encoders and decoders for the same arguments: no
result is stored here. Cases are the same in every run: random cases have a fixed seed.
"""

from __future__ import annotations

import ast
import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from itertools import pairwise, takewhile
from pathlib import Path
from random import Random
from typing import Any

from tokctl import _native
from tokctl.analysis import metrics
from tokctl.analysis.comparison.measuring import measure
from tokctl.analysis.explain import explain, pair_counts, token_history, unreachable
from tokctl.analysis.explain.words import MergedWord
from tokctl.core import systems
from tokctl.core.errors import BadInput, BadOption
from tokctl.core.humanize import listed
from tokctl.core.schema import AnyOf, fits
from tokctl.model import FilledRecipe, Marker, Merge, Recipe, TrainingStage, byte_level
from tokctl.model.parts import PRE_TOKENIZERS
from tokctl.model.presets import BPE, BPE_CHARACTERS, UNIGRAM, WORD, WORDPIECE, preset
from tokctl.sources.corpora import corpus_path
from tokctl.tokenizer import Tokenizer

__all__ = [
    "EXERCISES",
    "CaseResult",
    "Exercise",
    "ExerciseCase",
    "ExerciseVerdict",
    "Trouble",
    "exercise",
    "judge",
]

#: Default time limit in seconds for all cases of an exercise together.
SECONDS = 10.0
#: Highest time limit: systems count milliseconds in 31 bits.
MOST_SECONDS = 1_000_000.0
#: Memory limit in bytes of the process that runs the reader's code.
MEMORY = 1 << 30


@dataclass(frozen=True)
class ExerciseCase:
    """The arguments of one call of the reader's function.

    Attributes:
        name: what the case tests, in a few words.
        arguments: texts, numbers, bytes, and lists, tuples and mappings of these.
    """

    name: str
    arguments: tuple[Any, ...]


#: Names of the pages without file extension, from page 1.
PAGES = (
    "1-words-and-symbols",
    "2-bpe",
    "3-wordpiece",
    "4-unigram",
    "5-treasure-island",
    "6-comparing",
    "7-an-erratum",
    "8-bytes",
    "9-patterns",
    "10-special-tokens",
    "11-what-a-model-sees",
    "12-beyond-words",
)


@dataclass(frozen=True)
class Exercise:
    """An exercise: a function that the reader writes.

    Attributes:
        number: page and position on the page, such as `2.1`.
        signature: name and parameters of the function, such as `train(counts, size)`.
        task: what the function returns.
        cases: function that makes the cases: the page's example first, then small cases.
        expected: function that returns tokctl's result for the arguments of a case.
    """

    number: str
    signature: str
    task: str
    cases: Callable[[Random], Iterable[ExerciseCase]]
    expected: Callable[..., Any]

    @property
    def page(self) -> str:
        """Name of the page, without its file extension."""
        return PAGES[int(self.number.partition(".")[0]) - 1]

    @property
    def name(self) -> str:
        """Name of the function."""
        return self.signature.partition("(")[0]

    @property
    def example(self) -> ExerciseCase:
        """The page's example."""
        return self.all_cases()[0]

    def all_cases(self) -> list[ExerciseCase]:
        """Return all cases, which are the same in every run."""
        return list(self.cases(Random(self.number)))


@dataclass(frozen=True)
class Trouble:
    """Why the reader's code gave no result.

    Attributes:
        what: the exception with its message, or a description of the failure.
        places: the reader's own lines that led to it, as line number, function and text.
    """

    what: str
    places: tuple[tuple[int, str, str], ...] = ()


@dataclass(frozen=True)
class CaseResult:
    """The result of one case.

    Attributes:
        case: the case.
        expected: tokctl's result.
        got: result of the reader's function; meaningless if there was trouble.
        difference: first difference between the two, in words; None if they are equal.
        trouble: why the function gave no result; None if it gave one.
        printed: first characters that the function printed, which are not judged.
        ran: False if an earlier case ended the run.
    """

    case: ExerciseCase
    expected: Any = None
    got: Any = None
    difference: str | None = None
    trouble: Trouble | None = None
    printed: str = ""
    ran: bool = True

    @property
    def passed(self) -> bool:
        """Whether the case ran and gave the expected result."""
        return self.ran and self.trouble is None and self.difference is None


@dataclass(frozen=True)
class ExerciseVerdict:
    """The results of all cases of an exercise.

    Attributes:
        exercise: the exercise.
        results: result of each case, in order.
    """

    exercise: Exercise
    results: tuple[CaseResult, ...]

    @property
    def passed(self) -> bool:
        """Whether all cases passed."""
        return all(result.passed for result in self.results)

    @property
    def first_failed(self) -> CaseResult | None:
        """First case that did not pass; None if all passed."""
        return next((result for result in self.results if not result.passed), None)

    def to_dict(self) -> dict[str, Any]:
        """Return the results as JSON data, with arguments and values as Python literals."""
        return {
            "exercise": self.exercise.number,
            "function": self.exercise.signature,
            "passed": self.passed,
            "cases": [
                {
                    "name": result.case.name,
                    "passed": result.passed,
                    "ran": result.ran,
                    "call": written_call(self.exercise, result.case),
                    "expected": repr(result.expected) if result.ran else None,
                    "got": repr(result.got) if result.ran and not result.trouble else None,
                    "difference": result.difference,
                    "trouble": asdict(result.trouble) if result.trouble else None,
                    "printed": result.printed,
                }
                for result in self.results
            ],
        }


def written_call(exercise: Exercise, case: ExerciseCase) -> str:
    """Return the call of a case as Python code."""
    return f"{exercise.name}({', '.join(map(repr, case.arguments))})"


def exercise(number: str) -> Exercise:
    """Return the exercise with a number such as `2.1`.

    Raises:
        TokctlError: no exercise has this number.
    """
    if number in EXERCISES:
        return EXERCISES[number]
    near = [one for one in EXERCISES if one.partition(".")[0] == number.partition(".")[0]]
    told = f"page {number.partition('.')[0]} has {listed(near)}; " if near else ""
    raise BadOption(
        f"no exercise has the number {number!r}",
        f"{told}tokctl check-exercise --list shows all",
        "unknown-name",
    )


# -- Running the reader's code -------------------------------------------------------------------

#: Program of the other process: it loads the file, calls the function with each case, and writes a
#: line of JSON for each result. The reader's output is redirected, so that it can't mix with these.
_RUNNER = r"""
import ast, contextlib, importlib.util, io, json, math, os, sys, traceback

asked = json.load(sys.stdin)
path = asked["path"]
results = os.fdopen(os.dup(1), "w", encoding="utf-8")
nowhere = os.open(os.devnull, os.O_RDWR)
for stream in (0, 1, 2):
    os.dup2(nowhere, stream)
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (asked["memory"], asked["memory"]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
except (ImportError, ValueError, OSError):
    pass  # no such limits here


def report(**facts):
    results.write(json.dumps(facts) + "\n")
    results.flush()


class Printed(io.StringIO):
    def write(self, text):
        if self.tell() < 2000:
            super().write(text[:2000])
        return len(text)


def trouble(error):
    what = "".join(traceback.format_exception_only(type(error), error)).strip().splitlines()[-1]
    if isinstance(error, SystemExit):
        what = "SystemExit: the code asked Python to end (sys.exit)"
    places = [
        [frame.lineno, frame.name, frame.line or ""]
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == path
    ]
    if isinstance(error, SyntaxError) and error.filename == path:
        places.append([error.lineno or 0, "", (error.text or "").strip()])
    return {"what": what[:500], "places": places[-3:]}


def plain(value):
    if value is None or type(value) in (bool, int, str, bytes):
        return value
    if isinstance(value, float):
        if math.isnan(value) or math.isinf(value):
            raise TypeError(repr(float(value)))
        return float(value)
    for kind in (bool, int, str, bytes):
        if isinstance(value, kind):
            return kind(value)
    if isinstance(value, dict):
        return {plain(key): plain(one) for key, one in value.items()}
    for kind in (list, tuple, set, frozenset):
        if isinstance(value, kind):
            return (set if kind is frozenset else kind)(plain(one) for one in value)
    raise TypeError("an object of the type " + type(value).__name__)


def attempt(call):
    printed = Printed()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            return call(), None, printed.getvalue()
        except BaseException as error:
            return None, trouble(error), printed.getvalue()


def load():
    name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None:
        raise ImportError("the name of the file has to end with .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


sys.path[0] = os.path.dirname(path)
module, error, printed = attempt(load)
if error:
    report(unloaded=error)
    os._exit(0)
function = getattr(module, asked["function"], None)
if not callable(function):
    report(missing=True)
    os._exit(0)
report(ready=True)
for number, written in enumerate(asked["cases"]):
    arguments = ast.literal_eval(written)
    value, error, printed = attempt(lambda: function(*arguments))
    if error is None:
        try:
            written = repr(plain(value))
            if len(written) > 5_000_000:
                raise TypeError("a value of over 5,000,000 characters")
            ast.literal_eval(written)
        except TypeError as odd:
            error = {"what": "the function returned " + str(odd), "places": []}
        except (RecursionError, MemoryError, SyntaxError, ValueError):
            error = {"what": "the function returned a value that is too large", "places": []}
    report(case=number, value=None if error else written, trouble=error, printed=printed)
os._exit(0)
"""


#: Message if the reader's code wrote among the reports.
_WRITTEN_TO = "it has written to files that it did not open"

#: Schemas of a report line.
_TROUBLE = {"what": str, "places": [(AnyOf(int, None), str, str)]}
_REPORT = AnyOf(
    {"unloaded": _TROUBLE},
    {"missing": bool},
    {"ready": bool},
    {"case": int, "value": str, "trouble": None, "printed": str},
    {"case": int, "value": None, "trouble": _TROUBLE, "printed": str},
)


def judge(asked: Exercise, path: str | Path, seconds: float = SECONDS) -> ExerciseVerdict:
    """Run the reader's file in another process and compare its results with tokctl's.

    Args:
        asked: exercise to judge.
        path: path of a Python file. Its code runs with all permissions of the current user.
        seconds: time for all cases together, at most `MOST_SECONDS`.

    Raises:
        TokctlError: the file can't be read or run, or lacks the function.

    Example:
        >>> verdict = judge(exercise("2.1"), "answers.py")
        >>> verdict.passed
        True
    """
    file = Path(path).absolute()
    hint = f"write the function {asked.signature}: {asked.task}"
    if not file.is_file():
        what = "it is a folder" if file.is_dir() else "there is no such file"
        raise BadInput(f"{path}: {what}", hint, "unreadable")
    cases = asked.all_cases()
    lines, ended = _run(asked, file, cases, seconds)
    first = lines[0] if lines else {}
    if "unloaded" in first:
        trouble = _trouble(first["unloaded"])
        where = f", line {trouble.places[-1][0]}" if trouble.places else ""
        raise BadInput(f"{path}{where}: the file can't be run: {trouble.what}", hint)
    if "missing" in first:
        raise BadInput(f"{path}: there is no function {asked.name} in it", hint)
    if "ready" not in first:
        raise BadInput(f"{path}: the file can't be run: {ended}", hint)
    told = {line["case"]: line for line in lines[1:] if "case" in line}
    results = []
    for number, case in enumerate(cases):
        if number in told:
            results.append(_result(asked, case, told[number]))
        elif number == len(told):
            expected = asked.expected(*case.arguments)
            results.append(CaseResult(case, expected, trouble=Trouble(ended)))
        else:
            results.append(CaseResult(case, ran=False))
    return ExerciseVerdict(asked, tuple(results))


def _run(
    asked: Exercise, file: Path, cases: Sequence[ExerciseCase], seconds: float
) -> tuple[list[dict[str, Any]], str]:
    """Return the reports that the other process wrote, and how the process ended."""
    told = {
        "path": str(file),
        "function": asked.name,
        "memory": MEMORY,
        "cases": [repr(case.arguments) for case in cases],
    }
    process = subprocess.Popen(
        # -B writes no bytecode beside the reader's file; a fixed hash seed repeats the verdict.
        [sys.executable, "-B", "-c", _RUNNER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONHASHSEED": "0", "PYTHONSAFEPATH": ""},
        start_new_session=True,
    )
    try:
        written, _ = process.communicate(json.dumps(told).encode(), timeout=seconds)
        ended = f"the process ended by itself, with exit code {process.returncode}"
    except subprocess.TimeoutExpired:
        systems.end_group(process)
        try:
            written, _ = process.communicate(timeout=1)
        except subprocess.TimeoutExpired as held:  # a child in another session holds the pipe
            written = held.output or b""
            assert process.stdout is not None
            process.stdout.close()
        ended = f"there was no result after {seconds:g} seconds"
    finally:
        systems.end_group(process)
    lines = []
    for line in written.splitlines():
        try:
            lines.append(json.loads(line))
        except (ValueError, RecursionError):  # a line cut off by the time limit
            break
    # The reader's code may have written to the same file descriptor.
    if not all(fits(line, _REPORT) for line in lines):
        return [], _WRITTEN_TO
    return lines, ended


def _trouble(told: dict[str, Any]) -> Trouble:
    return Trouble(told["what"], tuple((line, name, text) for line, name, text in told["places"]))


def _result(asked: Exercise, case: ExerciseCase, told: dict[str, Any]) -> CaseResult:
    expected = asked.expected(*case.arguments)
    if told["trouble"]:
        return CaseResult(
            case, expected, trouble=_trouble(told["trouble"]), printed=told["printed"]
        )
    try:
        got = ast.literal_eval(told["value"])
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return CaseResult(case, expected, trouble=Trouble(_WRITTEN_TO))
    return CaseResult(case, expected, got, difference(expected, got), printed=told["printed"])


def difference(expected: Any, got: Any, place: str = "") -> str | None:
    """Return the first difference between two values, in words; None if they are equal.

    Lists and tuples with equal items are equal, and so are numbers that differ only by rounding.

    Args:
        expected: tokctl's value.
        got: value of the reader's function.
        place: path to the values inside the results, such as `[2]['low']`; empty for the results.
    """
    told = f"at {place}: " if place else ""
    if isinstance(expected, float):
        is_number = isinstance(got, (int, float)) and abs(got) <= sys.float_info.max
        if is_number and math.isclose(expected, got, rel_tol=1e-6, abs_tol=1e-9):
            return None
    elif isinstance(expected, (list, tuple)):
        if isinstance(got, (list, tuple)):
            for number, (one, other) in enumerate(zip(expected, got, strict=False)):
                if found := difference(one, other, f"{place}[{number}]"):
                    return found
            if len(expected) == len(got):
                return None
            return f"{told}{len(expected)} items are expected, and there are {len(got)}"
    elif isinstance(expected, dict):
        if isinstance(got, dict):
            for key in [*expected, *got]:
                if key not in got or key not in expected:
                    missing = "is missing" if key in expected else "should not be there"
                    return f"{told}the key {key!r} {missing}"
                if found := difference(expected[key], got[key], f"{place}[{key!r}]"):
                    return found
            return None
    elif type(expected) is type(got) and expected == got:
        return None
    return f"{told}{expected!r} is expected, and it is {got!r}" if place else "not the same"


# -- Data for the cases --------------------------------------------------------------------------

#: Words and counts of the notebooks' toy text.
TOY = {"low": 5, "lower": 2, "newest": 6, "widest": 3, "longer": 1}
#: Texts with several scripts, accents, digits, marks and spaces.
MANY = (
    "Crème brûlée, bitte!",
    "ЁЖИК в тумане: 42 шага.",
    "東京タワーは333メートル",
    "नमस्ते दुनिया…",
    "Ça va?  Ψωμί, 100 %.",
    "🙂👍🏽 naïve café",
)

Counts = dict[str, int]
Pair = tuple[str, str]


@cache
def _words_of(name: str) -> Counts:
    """Return a bundled list of words with their counts."""
    lines = corpus_path(name).read_text(encoding="utf-8").splitlines()
    return {word: int(count) for word, _, count in (line.partition("\t") for line in lines)}


def _random_word(random: Random, letters: str = "abc", most: int = 8) -> str:
    return "".join(random.choice(letters) for _ in range(random.randint(1, most)))


def _random_counts(random: Random, letters: str = "abc", words: int = 6) -> Counts:
    """Return words of few letters with small counts, which make many ties."""
    return {_random_word(random, letters): random.randint(1, 4) for _ in range(words)}


def _counted(*texts: str) -> Counts:
    counts: Counts = {}
    for word in " ".join(texts).split():
        counts[word] = counts.get(word, 0) + 1
    return counts


def _corpora(random: Random, longer: int = 6) -> Iterator[tuple[str, Counts]]:
    """Yield corpora to train on: those of the documents, then random ones and edge cases."""
    yield "the toy text", TOY
    yield "the cats", _words_of("guide-cats")
    yield "the pugs", _words_of("slides-hug")
    yield "nothing at all", {}
    yield "one letter", {"a": 3}
    yield "the same letter again and again", {"aaaaaaa": 2, "aaa": 1}
    for number in range(1, longer + 1):
        yield f"a random corpus, {number}", _random_counts(random, "ab" if number % 2 else "abcd")
    yield "many scripts", _counted(*MANY, *MANY[:3])


def _texts(name: str, texts: Iterable[str]) -> Iterator[ExerciseCase]:
    for number, text in enumerate(texts, 1):
        yield ExerciseCase(f"{name}, {number}", (text,))


def _sizes(
    example: tuple[Counts, int], corpora: Iterable[tuple[str, Counts]], recipe: Recipe
) -> Iterator[ExerciseCase]:
    """Yield cases with vocabulary sizes for no merge, a few merges, and all merges."""
    yield ExerciseCase("the page's example", example)
    for number, (name, counts) in enumerate(corpora):
        least = len(_alphabet(counts, recipe))
        for more in (0, 5, 1000) if number < 2 else (1000,):
            yield ExerciseCase(f"{name}, size {least + more}", (counts, least + more))


# -- tokctl's results ----------------------------------------------------------------------------

_AT_SPACES = PRE_TOKENIZERS.steps("whitespace")
#: BPE over characters, without special tokens.
_PLAIN = replace(
    BPE_CHARACTERS, pre_tokenizers=_AT_SPACES, unk_token=None, special_tokens=(), name="plain"
)
_LOWEST_ID = replace(_PLAIN, tie_break="lowest-id")
_NOTEBOOK = replace(preset("notebook-bpe"), normalizers=(), pre_tokenizers=_AT_SPACES)
_HASHES = replace(WORDPIECE, pre_tokenizers=_AT_SPACES, unk_token=None, special_tokens=())
_HASHES_BY_COUNT = replace(_HASHES, score="count")
_ENDING = replace(_PLAIN, marker=Marker("end", "_"))


def _alphabet(counts: Iterable[str], recipe: Recipe) -> set[str]:
    """Return the initial symbols of the words."""
    marker = recipe.marker
    symbols = {marker.text} if marker.is_symbol else set()
    for word in counts:
        symbols |= {
            marker.on_symbol(text, first=place == 0, last=place == len(word) - 1)
            for place, text in enumerate(word)
        }
    return symbols


def _trained(counts: Counts, size: int, recipe: Recipe) -> Tokenizer | None:
    """Return the tokenizer that tokctl trains; None without words, which training refuses."""
    if not counts:
        return None
    return Tokenizer.train_on_counts(counts, vocab_size=size, recipe=recipe)


def _merges(tokenizer: Tokenizer | None) -> list[Pair]:
    if tokenizer is None:
        return []
    names = tokenizer.tokens
    return [(names[merge.left], names[merge.right]) for merge in tokenizer.merges]


def _learned(counts: Counts, size: int, recipe: Recipe) -> list[Pair]:
    return _merges(_trained(counts, size, recipe))


def _with_merges(merges: Sequence[Pair], letters: str, recipe: Recipe = _PLAIN) -> Tokenizer:
    """Return a model with these merges, and with `letters` besides the merges' characters."""
    texts = [*letters.replace(" ", ""), *(text for pair in merges for text in "".join(pair))]
    tokens = sorted(set(texts))
    for left, right in merges:
        tokens += [text for text in (left, right, left + right) if text not in tokens]
    ids = {token: id_ for id_, token in enumerate(tokens)}
    found = [Merge(ids[left], ids[right], ids[left + right], 0, 0, 0) for left, right in merges]
    return Tokenizer(FilledRecipe(recipe, [token.encode() for token in tokens], found))


def _pieces(splitting: str, text: str) -> list[str]:
    """Return the pre-tokens of a text."""
    recipe = replace(_PLAIN, pre_tokenizers=PRE_TOKENIZERS.steps(splitting))
    normalized, ranges = Tokenizer(FilledRecipe(recipe, [])).pre_tokens(text)
    return [normalized[start:end].decode() for start, end in ranges]


# -- 1. Words and symbols ------------------------------------------------------------------------


def _split_cases(random: Random) -> Iterator[ExerciseCase]:
    yield ExerciseCase("the page's example", ("Cats are great, but dogs are better!",))
    yield from _texts("an odd text", ["", "   ", "...", "a+b=c $5", "don't\tstop\n"])
    yield from _texts("many scripts", MANY)
    signs = "ab ,.!$—»"
    yield from _texts("a random text", [_random_word(random, signs, 20) for _ in range(6)])


def _plain_cases(_: Random) -> Iterator[ExerciseCase]:
    yield ExerciseCase("the page's example", ("ThÍs is áN ExaMPlé",))
    odd = ["", "ΟΔΟΣ", "cafe\u0301", "İstanbul", "ﬁn", "Ångström 10²"]
    yield from _texts("an odd text", odd)
    yield from _texts("many scripts", MANY)


def _plain(text: str) -> str:
    return _native.normalize(["nfd", "strip-accents", "lowercase"], text.encode()).decode()


def _word_id_cases(random: Random) -> Iterator[ExerciseCase]:
    yield ExerciseCase("the page's example", ({"low": 2, "lower": 3, "new": 2}, 3, "lower low new"))
    for number in range(1, 7):
        counts = _random_counts(random, words=8)
        text = " ".join([*random.sample(list(counts), 3), _random_word(random), *counts])
        yield ExerciseCase(f"a random corpus, {number}", (counts, random.randint(2, 9), text))
    yield ExerciseCase("an empty text", (TOY, 4, ""))
    yield ExerciseCase("many scripts", (_counted(*MANY), 8, " ".join(MANY)))


def _word_ids(counts: Counts, size: int, text: str) -> list[int]:
    recipe = replace(WORD, pre_tokenizers=_AT_SPACES)
    model = Tokenizer.train_on_counts(counts, vocab_size=size, recipe=recipe)
    return model.encode_ids(text)


# -- 2. BPE --------------------------------------------------------------------------------------


def _rank_cases(random: Random) -> Iterator[ExerciseCase]:
    learned = [("e", "s"), ("es", "t"), ("l", "o"), ("lo", "w")]
    yield ExerciseCase("the page's example", ("lowest", learned))
    yield ExerciseCase("no merges", ("low", []))
    yield ExerciseCase("an empty word", ("", learned))
    yield ExerciseCase("overlapping places", ("aaaaa", [("a", "a"), ("aa", "aa")]))
    for number in range(1, 9):
        counts = _random_counts(random)
        merges = _learned(counts, 14, _PLAIN)
        yield ExerciseCase(f"random merges, {number}", (_random_word(random, most=12), merges))
    merges = _learned(_counted(*MANY, *MANY), 200, _PLAIN)
    for number, word in enumerate(_counted(*MANY), 1):
        yield ExerciseCase(f"many scripts, {number}", (word, merges))


def _by_rank(word: str, merges: Sequence[Pair]) -> list[str]:
    return _with_merges(merges, word).encode(word).tokens


def _trainer(recipe: Recipe) -> Callable[[Counts, int], list[Pair]]:
    def train(counts: Counts, size: int) -> list[Pair]:
        return _learned(counts, size, recipe)

    return train


def _training(
    recipe: Recipe, example: tuple[Counts, int]
) -> Callable[[Random], Iterator[ExerciseCase]]:
    def cases(random: Random) -> Iterator[ExerciseCase]:
        return _sizes(example, _corpora(random), recipe)

    return cases


# -- 3. WordPiece --------------------------------------------------------------------------------


def _match_cases(random: Random) -> Iterator[ExerciseCase]:
    vocabulary = ["w", "new", "newe", "##r", "##e", "##w", "##st"]
    yield ExerciseCase("the page's example", ("newer", vocabulary))
    for word in ("new", "knewer", "newkst", "newesk", "x", ""):
        yield ExerciseCase(f"the word {word!r}", (word, vocabulary))
    for number in range(1, 9):
        tokens = {_random_word(random, most=3) for _ in range(5)}
        inside = {"##" + _random_word(random, most=3) for _ in range(6)}
        word = _random_word(random, "abcd", 10)
        yield ExerciseCase(f"a random word, {number}", (word, sorted(tokens | inside)))
    yield ExerciseCase("many scripts", ("東京タワー", ["東", "##京タ", "##京", "##ー"]))


def _matched(word: str, vocabulary: Sequence[str]) -> list[str]:
    recipe = replace(WORDPIECE, unknown="char", pre_tokenizers=_AT_SPACES)
    tokens = [text.encode() for text in ("[UNK]", *vocabulary)]
    return Tokenizer(FilledRecipe(recipe, tokens)).encode(word).tokens


def _join_cases(random: Random) -> Iterator[ExerciseCase]:
    yield ExerciseCase("the page's example", (["newe", "##r", "longe", "##st"],))
    yield ExerciseCase("no tokens", ([],))
    yield ExerciseCase("one token", (["a"],))
    for number in range(1, 6):
        tokens = ["a", *random.choices(["low", "##er", "##s", "[UNK]", "x"], k=7)]
        yield ExerciseCase(f"random tokens, {number}", (tokens,))
    yield ExerciseCase("many scripts", (["東", "##京", "é", "##t", "##é"],))


def _joined(tokens: Sequence[str]) -> str:
    names = list(dict.fromkeys(["[UNK]", *tokens]))
    model = Tokenizer(FilledRecipe(WORDPIECE, [name.encode() for name in names]))
    return model.decode([names.index(token) for token in tokens])


# -- 4. Unigram ----------------------------------------------------------------------------------

_SCORES = {"h": -6.0, "u": -5.0, "g": -5.5, "s": -4.0, "hu": -7.0, "ug": -6.25, "hug": -9.0}


def _random_scores(random: Random, letters: str = "abc") -> dict[str, float]:
    """Return a score for every letter and for some longer pieces."""
    pieces = [*letters, *(_random_word(random, letters, 4) for _ in range(9))]
    return {piece: -round(random.uniform(1, 9), 4) for piece in dict.fromkeys(pieces)}


def _unigram(scores: Mapping[str, float]) -> Tokenizer:
    recipe = replace(UNIGRAM, normalizers=(), pre_tokenizers=(), decoders=())
    tokens = [text.encode() for text in ("<unk>", *scores)]
    return Tokenizer(FilledRecipe(recipe, tokens, scores=[0.0, *scores.values()]))


def _best_cases(random: Random) -> Iterator[ExerciseCase]:
    yield ExerciseCase("the page's example", ("hugs", _SCORES, 2))
    yield ExerciseCase("fewer ways than asked", ("hu", _SCORES, 5))
    for number in range(1, 8):
        word, scores = _random_word(random, most=7), _random_scores(random)
        yield ExerciseCase(f"random scores, {number}", (word, scores, random.randint(1, 6)))
    scores = {"東": -3.0, "京": -3.5, "東京": -4.25, "é": -2.0}
    yield ExerciseCase("many scripts", ("東京é", scores, 3))


def _n_best(word: str, scores: Mapping[str, float], n: int) -> list[tuple[list[str], float]]:
    return [(way.tokens, way.score) for way in _unigram(scores).nbest(word, n)]


def _unknown_cases(random: Random) -> Iterator[ExerciseCase]:
    yield ExerciseCase("the page's example", ("hugs & mugs", _SCORES))
    yield ExerciseCase("an empty word", ("", _SCORES))
    yield ExerciseCase("nothing known", ("xyz", _SCORES))
    # A piece that scores lower than leaving one of its characters unknown.
    yield ExerciseCase("a dear piece", ("xa", {"xa": -30.0, "a": -1.0, "b": -2.0}))
    for number in range(1, 8):
        scores = _random_scores(random)
        for letter in random.sample("abc", 2):
            scores.pop(letter)
        yield ExerciseCase(f"random scores, {number}", (_random_word(random, most=9), scores))
    yield ExerciseCase("many scripts", ("東京タワーé", {"京": -3.0, "é": -2.0, "東京": -5.0}))


def _with_unknown(word: str, scores: Mapping[str, float]) -> list[str]:
    return _unigram(scores).encode(word).tokens


def _loss_cases(random: Random) -> Iterator[ExerciseCase]:
    yield ExerciseCase("the page's example", ("hug", _SCORES))
    yield ExerciseCase("a shorter piece", ("ug", _SCORES))
    for number in range(1, 9):
        scores = _random_scores(random)
        piece = random.choice([one for one in scores if len(one) > 1])
        yield ExerciseCase(f"random scores, {number}", (piece, scores))


def _loss(piece: str, scores: Mapping[str, float]) -> tuple[list[str], float]:
    found = token_history(_unigram(scores), piece).piece_score
    assert found is not None and found.instead is not None and found.gain is not None
    return [part.text for part in found.instead.pieces], found.gain


# -- 5. Treasure Island --------------------------------------------------------------------------


def _history_cases(random: Random) -> Iterator[ExerciseCase]:
    merges = [("h", "e"), ("e", "d"), ("c", "k"), ("he", "ck"), ("ck", "ed"), ("c", "he")]
    yield ExerciseCase("the page's example", ("checked", merges))
    yield ExerciseCase("no merge fits", ("xyz", merges))
    yield ExerciseCase("twice in one step", ("hehe", merges))
    for number in range(1, 8):
        learned = _learned(_random_counts(random), 16, _PLAIN)
        yield ExerciseCase(f"random merges, {number}", (_random_word(random, most=12), learned))


def _history(word: str, merges: Sequence[Pair]) -> list[tuple[int, str, str]]:
    (found,) = explain(_with_merges(merges, word), word).words
    assert isinstance(found, MergedWord)
    return [(step.merge.step, step.merge.left, step.merge.right) for step in found.steps]


def _unused_cases(random: Random) -> Iterator[ExerciseCase]:
    yield ExerciseCase("the page's example", (TOY, _learned(TOY, 20, _ENDING)))
    yield ExerciseCase("no merges", (TOY, []))
    for name, counts in _corpora(random):
        if counts:
            yield ExerciseCase(name, (counts, _learned(counts, 1000, _ENDING)))


def _unused(counts: Counts, merges: Sequence[Pair]) -> list[str]:
    model = _with_merges(merges, "".join([*counts, "_"]), _ENDING)
    used = {token for word in counts for token in model.encode(word).tokens}
    made = dict.fromkeys(left + right for left, right in merges)
    return [token for token in made if token not in used]


def _quick_cases(random: Random) -> Iterator[ExerciseCase]:
    yield from _sizes((TOY, 15), _corpora(random, 3), _PLAIN)
    story = list(_counted(corpus_path("sample").read_text(encoding="utf-8")))
    compounds = {"".join(random.choices(story, k=2)): random.randint(1, 9) for _ in range(20_000)}
    yield ExerciseCase("20,000 words, made of two words of the story", (compounds, 600))


# -- 6. Comparing --------------------------------------------------------------------------------


def _figure_cases(random: Random) -> Iterator[ExerciseCase]:
    merges = [("l", "o"), ("lo", "w"), ("e", "r")]
    yield ExerciseCase("the page's example", ("low lower slow low", merges))
    for number in range(1, 7):
        counts = _random_counts(random, words=8)
        text = " ".join([*counts, _random_word(random), *counts])
        learned = _learned(counts, random.randint(5, 20), _PLAIN)
        yield ExerciseCase(f"a random text, {number}", (text, learned))
    text = " ".join(MANY)
    yield ExerciseCase("many scripts", (text, _learned(_counted(*MANY[:4]), 90, _PLAIN)))


def _figures(text: str, merges: Sequence[Pair]) -> tuple[float, float]:
    letters = "".join(text.split())
    counts = measure(_with_merges(merges, letters), text.encode(), 1)
    fertility, whole = metrics.fertility(counts), metrics.strr(counts)
    assert isinstance(fertility, float) and isinstance(whole, float)
    return fertility, whole


def _renyi_cases(random: Random) -> Iterator[ExerciseCase]:
    yield ExerciseCase("the page's example", ([8, 4, 2, 2], 8))
    yield ExerciseCase("all as frequent", ([3, 3, 3, 3], 4))
    yield ExerciseCase("one token alone", ([7], 10))
    yield ExerciseCase("tokens that never come", ([5, 0, 5, 0], 16))
    for number in range(1, 6):
        counts = [random.randint(0, 1000) for _ in range(random.randint(2, 30))] + [1]
        size = len(counts) + random.randint(0, 50)
        yield ExerciseCase(f"random counts, {number}", (counts, size))


# -- 7. An erratum -------------------------------------------------------------------------------


def _table_cases(random: Random) -> Iterator[ExerciseCase]:
    yield ExerciseCase("the page's example", ({"hug": 10, "pug": 5, "hugs": 5}, 1))
    for steps in range(4):
        yield ExerciseCase(f"the pugs after {steps} merges", (_words_of("slides-hug"), steps))
    for steps in (0, 3, 7):
        yield ExerciseCase(f"the cats after {steps} merges", (_words_of("guide-cats"), steps))
    for number in range(1, 7):
        counts = _random_counts(random, "abcd")
        learned = _learned(counts, 1000, _HASHES)
        steps = random.randint(0, len(learned))
        yield ExerciseCase(f"a random corpus, {number}", (counts, steps))


def _table(counts: Counts, steps: int) -> list[tuple[str, str, int, int, int]]:
    model = _trained(counts, 1000, _HASHES)
    assert model is not None
    words = [(word.encode(), count) for word, count in counts.items()]
    return [
        (pair.left, pair.right, pair.count, pair.left_count, pair.right_count)
        for pair in pair_counts(model, steps, words).pairs
    ]


def _step_cases(random: Random) -> Iterator[ExerciseCase]:
    pugs = _words_of("slides-hug")
    for token in ("hug", "hugs", "##gs", "pugs", "h", "bun"):
        name = "the page's example" if token == "hug" else f"the token {token!r}"
        yield ExerciseCase(name, (token, pugs))
    for number in range(1, 7):
        counts = _random_counts(random, "abcd")
        token = random.choice([*counts, "".join(random.sample("abcd", 2))])
        yield ExerciseCase(f"a random corpus, {number}", (token, counts))


def _step(token: str, counts: Counts) -> int | None:
    model = _trained(counts, 1000, _HASHES)
    assert model is not None
    made = (model.tokens[merge.token] for merge in model.merges)
    return next((step for step, one in enumerate(made, 1) if one == token), None)


# -- 8. Bytes ------------------------------------------------------------------------------------


def _utf8_cases(random: Random) -> Iterator[ExerciseCase]:
    yield ExerciseCase("the page's example", ("né€🙂",))
    edges = ["", "\x00\x7f", "\x80\u07ff", "\u0800\uffff", "\U00010000\U0010ffff", "\ud7ff\ue000"]
    yield from _texts("the edges", edges)
    yield from _texts("many scripts", MANY)
    points = [chr(random.choice([random.randrange(0xD800), random.randrange(0xE000, 0x110000)]))
              for _ in range(40)]  # fmt: skip
    yield from _texts("random characters", ["".join(points[at : at + 8]) for at in range(0, 40, 8)])


def _utf8(text: str) -> bytes:
    model = Tokenizer(FilledRecipe(BPE, [bytes([byte]) for byte in range(256)]))
    return model.decode_bytes(model.encode_ids(text))


def _broken(random: Random, text: str) -> list[bytes]:
    """Return the bytes of a text, cut at random positions."""
    data = text.encode()
    cuts = {0, len(data), *(random.randrange(len(data) + 1) for _ in range(len(data) // 2))}
    return [data[start:end] for start, end in pairwise(sorted(cuts))]


def _stream_cases(random: Random) -> Iterator[ExerciseCase]:
    yield ExerciseCase("the page's example", ([b"caf", b"\xc3", b"\xa9 ", b"\xf0\x9f"],))
    yield ExerciseCase("no tokens", ([],))
    yield ExerciseCase("a byte that starts nothing", ([b"a", b"\xff", b"b"],))
    yield ExerciseCase("a character that never ends", ([b"\xe2\x82", b"x", b"\xac"],))
    for number, text in enumerate(MANY, 1):
        yield ExerciseCase(f"many scripts, {number}", (_broken(random, text),))


def _streamed(tokens: Sequence[bytes]) -> list[str]:
    names = list(dict.fromkeys(tokens)) or [b"a"]
    stream = Tokenizer(FilledRecipe(BPE, names)).decode_stream()
    return [*(stream.push(names.index(token)) for token in tokens), stream.finish()]


def _text_cases(random: Random) -> Iterator[ExerciseCase]:
    example = ["Ġ", "caf", "Ã", "©", "Ã©"]
    yield ExerciseCase("the page's example", ([1, 4, 0, 1, 2], example))
    yield ExerciseCase("no ids", ([], example))
    for number, text in enumerate(MANY, 1):
        tokens = [byte_level.spell(part) for part in _broken(random, text)]
        names = sorted(set(tokens))
        ids = [names.index(token) for token in tokens]
        yield ExerciseCase(f"many scripts, {number}", (ids, names))
        ids = [random.randrange(len(names)) for _ in range(8)]
        yield ExerciseCase(f"random ids, {number}", (ids, names))


def _text(ids: Sequence[int], vocabulary: Sequence[str]) -> str:
    tokens = byte_level.unspell_all(list(vocabulary))
    return Tokenizer(FilledRecipe(BPE, tokens)).decode(ids, errors="replace")


# -- 9. Patterns ---------------------------------------------------------------------------------


def _gpt2_cases(random: Random) -> Iterator[ExerciseCase]:
    yield ExerciseCase("the page's example", ("It's 2024,  isn't it?",))
    odd = ["", " ", "a  b", "a   ", "  a", "\n\n x\n", "'s", "'S it'll", "'re've", "x' y", "1a2"]
    yield from _texts("an odd text", odd)
    yield from _texts("many scripts", MANY)
    signs = "ab1 '!\n\t é²st"
    yield from _texts("a random text", [_random_word(random, signs, 16) for _ in range(12)])


def _group_cases(random: Random) -> Iterator[ExerciseCase]:
    yield ExerciseCase("the page's example", ("1234567", True))
    for digits in ("", "1", "12", "123", "1234", "12345", "123456"):
        for right in (False, True):
            side = "right" if right else "left"
            yield ExerciseCase(f"{len(digits)} digits from the {side}", (digits, right))
    for number in range(1, 5):
        digits = _random_word(random, "0123456789", 30)
        yield ExerciseCase(f"random digits, {number}", (digits, number % 2 == 0))


def _groups(digits: str, right: bool) -> list[str]:
    return _pieces(r"regex:\d{1,3}(?=(\d{3})*\b)" if right else "cl100k", digits)


@cache
def _ranks() -> dict[bytes, int]:
    """Return a small byte-level vocabulary with ids, as in tiktoken's files."""
    model = Tokenizer.train_on_counts(_random_counts(Random(9), "abcd", 60), vocab_size=300)
    return {token: id_ for id_, token in enumerate(model.model.tokens)}


def _by_ranks(ranks: Mapping[bytes, int]) -> Tokenizer:
    recipe = replace(BPE, segmentation="ranks", pre_tokenizers=())
    return Tokenizer(FilledRecipe(recipe, sorted(ranks, key=ranks.__getitem__)))


def _long_cases(random: Random) -> Iterator[ExerciseCase]:
    small = {b"a": 0, b"b": 1, b"ab": 2, b"aba": 3, b"bab": 4, b"abab": 5}
    for word in (b"abababa", b"", b"a", b"bbbb", b"aabbaabb"):
        name = "the page's example" if word == b"abababa" else f"the word {word!r}"
        yield ExerciseCase(name, (word, small))
    for number in range(1, 6):
        word = _random_word(random, "ab", 30).encode()
        yield ExerciseCase(f"a random word, {number}", (word, small))
    few = {token: rank for token, rank in _ranks().items() if set(token) <= set(b"abcd")}
    close = {token: rank for rank, token in enumerate(few)}
    for size in (100, 60_000):
        word = bytes(random.choices(b"abcd", k=size))
        yield ExerciseCase(f"a word of {size:,} letters", (word, close))


def _long(word: bytes, ranks: Mapping[bytes, int]) -> list[int]:
    return _by_ranks(ranks).encode_ids(word)


# -- 10. Special tokens --------------------------------------------------------------------------


def _special_cases(random: Random) -> Iterator[ExerciseCase]:
    marks = ["<|end|>", "<|end|", "<|", "[X]"]
    yield ExerciseCase("the page's example", ("Hi<|end|>you", ["<|end|>"]))
    for text in ("", "no tokens here", "<|end|><|end|>", "<|end|", "<<|end|>>", "[x][X]"):
        yield ExerciseCase(f"the text {text!r}", (text, marks))
    yield ExerciseCase("none allowed", ("Hi<|end|>you", []))
    yield ExerciseCase("signs that patterns know", ("a.b*c", [".", "*"]))
    for number in range(1, 7):
        parts = random.choices([*marks, "a", "|>", "<", "é", " "], k=8)
        yield ExerciseCase(f"a random text, {number}", ("".join(parts), marks))


def _cut_special(text: str, special: Sequence[str]) -> list[tuple[str, bool]]:
    recipe = replace(_PLAIN, pre_tokenizers=(), special_tokens=tuple(special))
    letters = sorted({*text} - {*special})
    model = Tokenizer(FilledRecipe(recipe, [token.encode() for token in (*special, *letters)]))
    found: list[tuple[str, bool]] = []
    encoding = model.encode(text, special="all")
    for id_, part in zip(encoding.ids, encoding.surfaces, strict=True):
        is_special = id_ < len(special)
        if not is_special and found and not found[-1][1]:
            part = found.pop()[0] + part
        found.append((part, is_special))
    return found


def _pair_cases(random: Random) -> Iterator[ExerciseCase]:
    yield ExerciseCase("the page's example", (["how", "are"], ["fine"]))
    yield ExerciseCase("one text alone", (["how", "are"], None))
    yield ExerciseCase("nothing in it", ([], None))
    yield ExerciseCase("two that are empty", ([], []))
    for number in range(1, 5):
        first = [_random_word(random) for _ in range(random.randint(0, 5))]
        second = [_random_word(random) for _ in range(random.randint(0, 5))]
        yield ExerciseCase(f"random words, {number}", (first, second))


def _framed(first: Sequence[str], second: Sequence[str] | None) -> tuple[list[str], list[int]]:
    bert = preset("bert")
    recipe = replace(
        WORD,
        pre_tokenizers=_AT_SPACES,
        special_tokens=bert.special_tokens,
        post_processors=bert.post_processors,
    )
    names = list(dict.fromkeys([*bert.special_tokens, *first, *(second or [])]))
    model = Tokenizer(FilledRecipe(recipe, [name.encode() for name in names]))
    pair = None if second is None else " ".join(second)
    encoding = model.encode(" ".join(first), pair, add_special=True)
    return encoding.tokens, encoding.type_ids


# -- 11. What a model sees -----------------------------------------------------------------------


def _reach_cases(random: Random) -> Iterator[ExerciseCase]:
    example = {b"a": 0, b"b": 1, b"c": 2, b"bc": 3, b"ab": 4, b"abc": 5, b"acb": 6}
    yield ExerciseCase("the page's example", (example,))
    yield ExerciseCase("bytes alone", ({b"x": 0, b"\xff": 1},))
    yield ExerciseCase("a trained vocabulary", (_ranks(),))
    for number in range(1, 8):
        words = {_random_word(random, most=5).encode() for _ in range(12)}
        tokens = [b"a", b"b", b"c", *sorted(word for word in words if len(word) > 1)]
        merged = tokens[3:]
        random.shuffle(merged)
        names = [*tokens[:3], *merged]
        ranks = {token: rank for rank, token in enumerate(names)}
        yield ExerciseCase(f"random tokens, {number}", (ranks,))


def _out_of_reach(ranks: Mapping[bytes, int]) -> list[bytes]:
    model = _by_ranks(ranks)
    return [model.model.tokens[id_] for id_ in unreachable(model).ids]


def _typo_cases(random: Random) -> Iterator[ExerciseCase]:
    merges = [("t", "h"), ("th", "e"), ("i", "r")]
    yield ExerciseCase("the page's example", ("their", merges))
    for word in ("", "a", "aa", "the"):
        yield ExerciseCase(f"the word {word!r}", (word, merges))
    for number in range(1, 7):
        learned = _learned(_random_counts(random), 16, _PLAIN)
        yield ExerciseCase(f"random merges, {number}", (_random_word(random, most=9), learned))


def _typos(word: str, merges: Sequence[Pair]) -> dict[str, int]:
    swapped = [word[:at] + word[at + 1] + word[at] + word[at + 2 :] for at in range(len(word) - 1)]
    model = _with_merges(merges, word)
    return {typo: len(model.encode_ids(typo)) for typo in swapped if typo != word}


# -- 12. Beyond words ----------------------------------------------------------------------------

#: Lines with common phrases, so that superwords arise.
_LINES = [
    "The ship came out of the fog.",
    "Out of the fog came the sound of the sea.",
    "The captain came out of the house: he was out of breath.",
    "The end of the story: the captain and the ship came out of the sea.",
]


def _in_stages(*stages: TrainingStage) -> Recipe:
    return replace(BPE, pre_tokenizers=(), stages=stages)


def _allowed_cases(random: Random) -> Iterator[ExerciseCase]:
    tokens = [" of the", " on the other hand, I", "Answer: ", " on the other hand", "the  end"]
    yield ExerciseCase("the page's example", (tokens[:3], 4, [": "]))
    yield ExerciseCase("more tokens", (tokens, 4, [": "]))
    yield ExerciseCase("nothing is forbidden", (tokens, 4, []))
    yield ExerciseCase("one word", (tokens, 1, [": ", " on"]))
    yield ExerciseCase("no tokens", ([], 1, [": "]))
    yield ExerciseCase("spaces alone", (["  ", "   a", "a   ", " a b "], 1, []))
    yield ExerciseCase("other white space", (["a\tb", "a\nb", "a\u00a0b", "a\u3000b"], 1, []))
    yield ExerciseCase("many scripts", (list(MANY), 2, ["é", "… "]))
    for number in range(1, 6):
        made = [random.choice("ab:") + _random_word(random, "ab : ", 9) for _ in range(8)]
        case = (made, random.randint(1, 3), random.sample([": ", "ab", "b a"], number % 3))
        yield ExerciseCase(f"random tokens, {number}", case)


def _allowed(tokens: Sequence[str], most: int, forbidden: Sequence[str]) -> list[str]:
    """Return the tokens that training can make from a text of only that token."""
    recipe = _in_stages(TrainingStage(max_words=most, forbidden=tuple(forbidden)))

    def is_made(token: str) -> bool:
        size = 256 + len(token.encode())
        model = Tokenizer.train_on_counts({token: 1}, vocab_size=size, recipe=recipe)
        return token.encode() in model.model.tokens

    return [token for token in tokens if is_made(token)]


def _superword_cases(random: Random) -> Iterator[ExerciseCase]:
    two = ["out of the sea", "out of the fog"]
    yield ExerciseCase("the page's example", (two, 267, 264, 2, []))
    yield ExerciseCase("all lines", (_LINES, 330, 300, 4, [": "]))
    yield ExerciseCase("no more than two words", (_LINES, 330, 300, 2, []))
    yield ExerciseCase("no word of the story", (_LINES, 330, 300, 9, ["the", ": "]))
    yield ExerciseCase("no second stage", (_LINES, 290, 290, 4, []))
    yield ExerciseCase("no first stage", (_LINES, 280, 256, 1, []))
    yield ExerciseCase("more than there is to merge", (_LINES[:1], 400, 300, 3, [" of"]))
    yield ExerciseCase("many scripts", ([*MANY, *MANY[:3]], 300, 280, 2, [", "]))
    for number in range(1, 6):
        lines = [_random_word(random, "ab ,", 14) for _ in range(5)]
        case = (lines, 280, random.randint(256, 270), random.randint(1, 3), [", "][: number % 2])
        yield ExerciseCase(f"random lines, {number}", case)


def _superwords(
    lines: Sequence[str], size: int, transition: int, most: int, forbidden: Sequence[str]
) -> list[Pair]:
    recipe = _in_stages(
        TrainingStage(PRE_TOKENIZERS.steps("gpt2"), until=str(transition)),
        TrainingStage(max_words=most, forbidden=tuple(forbidden)),
    )
    counts: Counts = {}
    for line in lines:
        counts[line] = counts.get(line, 0) + 1
    return _learned(counts, size, recipe)


def _prompt_cases(random: Random) -> Iterator[ExerciseCase]:
    merges = [("Ġ", "o"), ("Ġo", "f"), ("Ġ", "t"), ("Ġof", "Ġt"), ("h", "e"), ("ĠofĠt", "he")]
    yield ExerciseCase("the page's example", (" out of", " the sea", merges))
    yield ExerciseCase("a space at the end", (" out of ", "the sea", merges))
    yield ExerciseCase("nothing follows", (" out of", "", merges))
    yield ExerciseCase("nothing comes before", ("", " out of the sea", merges))
    learned = _superwords(_LINES, 330, 300, 4, [])
    line = "The captain came out of the sea."
    for at in (3, 12, 13, 16, 21, 24, 26):
        yield ExerciseCase(f"after {at} letters", (line[:at], line[at:], learned))
    for number in range(1, 5):
        text = [_random_word(random, "ab ", 8) for _ in range(4)]
        merges = _superwords(text, 270, 260, 3, [])
        yield ExerciseCase(f"random merges, {number}", (text[0], text[1], merges))


def _taken_back(prompt: str, rest: str, merges: Sequence[Pair]) -> int:
    ids = {text: id_ for id_, text in enumerate(sorted(byte_level.BYTES))}
    for left, right in merges:
        ids.setdefault(left + right, len(ids))
    found = [Merge(ids[left], ids[right], ids[left + right], 0, 0, 0) for left, right in merges]
    tokens = [byte_level.unspell(token) for token in ids]
    model = Tokenizer(FilledRecipe(replace(BPE, pre_tokenizers=()), tokens, found))
    alone, whole = model.encode_ids(prompt), model.encode_ids(prompt + rest)
    same = takewhile(lambda two: two[0] == two[1], zip(alone, whole, strict=False))
    return len(alone) - len(list(same))


# -- All exercises -------------------------------------------------------------------------------

#: All exercises by number, in the order of the pages.
EXERCISES = {
    one.number: one
    for one in (
        Exercise(
            "1.1",
            "split_punctuation(text)",
            "the words of a text, each punctuation mark by itself",
            _split_cases,
            lambda text: _pieces("bert", text),
        ),
        Exercise(
            "1.2",
            "plain(text)",
            "the text in small letters and without accents",
            _plain_cases,
            _plain,
        ),
        Exercise(
            "1.3",
            "word_ids(counts, size, text)",
            "the ids that a vocabulary of whole words gives a text",
            _word_id_cases,
            _word_ids,
        ),
        Exercise(
            "2.1",
            "encode_by_rank(word, merges)",
            "the tokens of a word, by the earliest merge that fits",
            _rank_cases,
            _by_rank,
        ),
        Exercise(
            "2.2",
            "train_moving(counts, size)",
            "the merges of BPE as the notebook trains it",
            _training(_NOTEBOOK, (TOY, 20)),
            _trainer(_NOTEBOOK),
        ),
        Exercise(
            "2.3",
            "train_lowest_id(counts, size)",
            "the merges of BPE where the lowest ids win a tie",
            _training(_LOWEST_ID, (TOY, 16)),
            _trainer(_LOWEST_ID),
        ),
        Exercise(
            "3.1",
            "train_by_count(counts, size)",
            "the merges of WordPiece where the highest count wins",
            _training(_HASHES_BY_COUNT, (TOY, 18)),
            _trainer(_HASHES_BY_COUNT),
        ),
        Exercise(
            "3.2",
            "match_characters(word, vocabulary)",
            "the longest tokens that match, and [UNK] for each character that none matches",
            _match_cases,
            _matched,
        ),
        Exercise(
            "3.3", "join_hashes(tokens)", "the text of WordPiece tokens", _join_cases, _joined
        ),
        Exercise(
            "4.1",
            "n_best(word, scores, n)",
            "the n best ways to write a word, each with its score",
            _best_cases,
            _n_best,
        ),
        Exercise(
            "4.2",
            "pieces_or_unknown(word, scores)",
            "the best pieces, and <unk> for what has none",
            _unknown_cases,
            _with_unknown,
        ),
        Exercise(
            "4.3",
            "loss(piece, scores)",
            "the best way to write a piece without it, and what that costs",
            _loss_cases,
            _loss,
        ),
        Exercise(
            "5.1",
            "steps_of(word, merges)",
            "the merges that a word goes through, with their steps",
            _history_cases,
            _history,
        ),
        Exercise(
            "5.2",
            "unused_tokens(counts, merges)",
            "the merged tokens that the text no longer uses",
            _unused_cases,
            _unused,
        ),
        Exercise(
            "5.3",
            "train_quickly(counts, size)",
            "the merges of BPE, of 20,000 distinct words, in seconds",
            _quick_cases,
            _trainer(_PLAIN),
        ),
        Exercise(
            "6.1",
            "word_figures(text, merges)",
            "tokens per word, and the share of words kept whole",
            _figure_cases,
            _figures,
        ),
        Exercise(
            "6.2",
            "renyi(counts, size)",
            "the Rényi efficiency of order 2.5",
            _renyi_cases,
            metrics.renyi_efficiency,
        ),
        Exercise(
            "7.1",
            "score_table(counts, steps)",
            "every pair after some merges of WordPiece, the best first",
            _table_cases,
            _table,
        ),
        Exercise(
            "7.2",
            "step_of(token, counts)",
            "the step in which WordPiece makes a token, or None",
            _step_cases,
            _step,
        ),
        Exercise("8.1", "utf8(text)", "the bytes of a text, without encode()", _utf8_cases, _utf8),
        Exercise(
            "8.2",
            "stream(tokens)",
            "what can be shown after each token that arrives",
            _stream_cases,
            _streamed,
        ),
        Exercise(
            "8.3",
            "text_of(ids, vocabulary)",
            "the text of ids whose tokens are spelled as GPT-2 does",
            _text_cases,
            _text,
        ),
        Exercise(
            "9.1",
            "split_gpt2(text)",
            "the pre-tokens of GPT-2's pattern, without regex",
            _gpt2_cases,
            lambda text: _pieces("gpt2", text),
        ),
        Exercise(
            "9.2",
            "digit_groups(digits, right)",
            "a number in groups of three, from the left or the right",
            _group_cases,
            _groups,
        ),
        Exercise(
            "9.3",
            "encode_long(word, ranks)",
            "the ids of a word of any length, in seconds",
            _long_cases,
            _long,
        ),
        Exercise(
            "10.1",
            "cut_at_special(text, special)",
            "a text, cut at its special tokens",
            _special_cases,
            _cut_special,
        ),
        Exercise(
            "10.2",
            "frame_pair(first, second)",
            "tokens in BERT's template, with their type ids",
            _pair_cases,
            _framed,
        ),
        Exercise(
            "11.1",
            "out_of_reach(ranks)",
            "the tokens that no text ever becomes",
            _reach_cases,
            _out_of_reach,
        ),
        Exercise(
            "11.2",
            "typo_costs(word, merges)",
            "how many tokens each swap of two neighbours costs",
            _typo_cases,
            _typos,
        ),
        Exercise(
            "12.1",
            "allowed(tokens, most, forbidden)",
            "the tokens of at most so many words, without what is forbidden",
            _allowed_cases,
            _allowed,
        ),
        Exercise(
            "12.2",
            "train_superwords(lines, size, transition, most, forbidden)",
            "the merges of SuperBPE with its two limits",
            _superword_cases,
            _superwords,
        ),
        Exercise(
            "12.3",
            "taken_back(prompt, rest, merges)",
            "how many tokens of a prompt change when the text goes on",
            _prompt_cases,
            _taken_back,
        ),
    )
}
