"""`tokctl check-exercise`: right answers pass, and every kind of wrong one gets its verdict."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests import systems
from tests.cli.run import error, tokctl
from tests.tools.docs.tutorial import FOLDER, code_of
from tokctl.cli.options import values
from tokctl.core.errors import TokctlError
from tokctl.extras.course import cases, grader
from tokctl.extras.course.exercises import EXERCISES, PAGES, exercise
from tokctl.extras.course.grader import difference, judge

HERE = Path(__file__).parent

if not FOLDER.is_dir():
    pytest.skip("the documentation is not in an installed wheel", allow_module_level=True)


@pytest.fixture(scope="module")
def solved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The reader's file with all exercises."""
    pages = [(FOLDER / f"{name}.md").read_text(encoding="utf-8") for name in PAGES]
    solutions = (HERE / "solutions.py").read_text(encoding="utf-8")
    path = tmp_path_factory.mktemp("course") / "mytok.py"
    path.write_text("\n\n".join([*map(code_of, pages), solutions]), encoding="utf-8")
    return path


@pytest.fixture
def written(tmp_path: Path) -> Any:
    def write(code: str) -> Path:
        path = tmp_path / "mine.py"
        path.write_text(code, encoding="utf-8")
        return path

    return write


#: Exercise 5.3 trains on 20,000 words in Python.
NUMBERS = [pytest.param(one, marks=pytest.mark.slow) if one == "5.3" else one for one in EXERCISES]


@pytest.mark.few(3)
@pytest.mark.parametrize("number", NUMBERS)
def test_a_right_answer_passes(number: str, solved: Path) -> None:
    verdict = judge(EXERCISES[number], solved)
    assert verdict.first_failed is None
    assert verdict.passed and len(verdict.results) >= 8


# -- The cases -------------------------------------------------------------------------------------


def test_the_file_of_cases_has_a_case_on_each_line() -> None:
    path = Path(cases.__file__).with_name("cases.json")
    written = json.loads(path.read_bytes())
    assert list(written) == list(EXERCISES)
    blocks = []
    for number, found in written.items():
        assert all(list(case) == ["name", "arguments"] for case in found)
        lines = ",\n".join(f"    {json.dumps(case, ensure_ascii=False)}" for case in found)
        blocks.append(f'  "{number}": [\n{lines}\n  ]')
    assert path.read_bytes().decode() == "{\n" + ",\n".join(blocks) + "\n}\n"


@pytest.mark.parametrize("number", EXERCISES)
def test_every_exercise_has_cases(number: str) -> None:
    one = EXERCISES[number]
    found = one.all_cases()
    assert found[0] == one.example
    names = [case.name for case in found]
    assert names[0] == "the page's example"
    assert len(set(names)) == len(names)
    parameters = one.signature.count(",") + 1
    assert all(len(case.arguments) == parameters for case in found)
    answers = {repr(one.expected(*case.arguments)) for case in found[:12]}
    assert len(answers) >= 3  # what always says the same can't pass


def test_each_reader_of_a_case_has_arguments_of_its_own() -> None:
    one = EXERCISES["6.2"]
    one.example.arguments[0].clear()
    assert one.example.arguments == one.all_cases()[0].arguments == ([8, 4, 2, 2], 8)


def test_numbers_are_known_without_the_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise AssertionError("the cases are read")

    monkeypatch.setattr(cases, "_written_cases", refuse)
    assert list(values.exercises()) == list(EXERCISES)


def test_numbers_follow_the_pages() -> None:
    assert list(EXERCISES) == [one.number for one in EXERCISES.values()]
    for place, page in enumerate(PAGES, 1):
        numbers = [one.number for one in EXERCISES.values() if one.page == page]
        assert numbers == [f"{place}.{at}" for at in range(1, len(numbers) + 1)]
        assert 2 <= len(numbers) <= 3


#: What is wrong, the exercise, the end of the reader's file, the name of the first case that fails.
WRONG = {
    "the first that is met wins a tie": (
        "2.3",
        "def train_lowest_id(counts, size): return train(counts, size, letters)[1]",
        "the page's example",
    ),
    "the last that is met wins a tie": (
        "3.1",
        """
def train_by_count(counts, size):
    def last(state):
        pairs = count_pairs(state)
        return max(reversed(pairs), key=pairs.get, default=None)
    return train(counts, size, with_hashes, last, joined_inside)[1]
""",
        "the page's example",
    ),
    "words stay where they are": (
        "2.2",
        "def train_moving(counts, size): return train_fast(counts, size, start_and_letters)[1]",
        "the toy text",
    ),
    "one merge too few": (
        "3.1",
        """
def train_by_count(counts, size):
    return train(counts, size - 1, with_hashes, most_frequent, joined_inside)[1]
""",
        "the page's example",
    ),
    "the likelihood": (
        "3.1",
        """
def train_by_count(counts, size):
    return train(counts, size, with_hashes, likeliest, joined_inside)[1]
""",
        "the page's example",
    ),
    "the wrong side": (
        "9.2",
        "def digit_groups(digits, right): return [digits[i:i+3] for i in range(0, len(digits), 3)]",
        "the page's example",
    ),
    "floats that are not exact": (
        "6.2",
        "def renyi(counts, size): return round(-1.0, 3)",
        "the page's example",
    ),
    "ASCII alone": (
        "8.1",
        "def utf8(text): return bytes(ord(c) % 256 for c in text)",
        "the page's example",
    ),
    "words without a limit": (
        "1.3",
        """
def word_ids(counts, size, text):
    ids = {word: id_ for id_, word in enumerate(counts, 1)}
    return [ids.get(word, 0) for word in text.split()]
""",
        "the page's example",
    ),
}


@pytest.mark.few(3)
@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_answer_fails(wrong: str, written: Any, solved: Path) -> None:
    number, code, where = WRONG[wrong]
    path = written(f"{solved.read_text(encoding='utf-8')}\n{code}\n")
    verdict = judge(EXERCISES[number], path)
    failed = verdict.first_failed
    assert not verdict.passed and failed is not None
    assert failed.case.name.startswith(where)
    assert failed.difference is not None and failed.trouble is None
    assert failed.expected == EXERCISES[number].expected(*failed.case.arguments) != failed.got


def stub(body: str) -> str:
    return f"def plain(text):\n    {body}\n"


@pytest.mark.parametrize(
    ("body", "what", "places"),
    [
        ("raise NotImplementedError", "NotImplementedError", [(2, "plain")]),
        ("import sys; sys.exit(0)", "SystemExit: ", [(2, "plain")]),
        ("return text[99999]", "IndexError: ", [(2, "plain")]),
        ("return helper(text)\ndef helper(text):\n    return 1 / 0", "ZeroDivisionError: ",
         [(2, "plain"), (4, "helper")]),
        ("return plain(text)", "RecursionError: ", [(2, "plain")] * 3),
        ("return input()", "EOFError", [(2, "plain")]),
        ("return (letter for letter in text)", "an object of the type generator", []),
        ("return float('nan')", "nan", []),
        ("v = []\n    for _ in range(500): v = [v]\n    return v", "too large", []),
        ("return 10 ** 5000", "too large", []),
    ],
)  # fmt: skip
def test_code_that_stops_is_told_by_its_own_lines(
    body: str, what: str, places: list[tuple[int, str]], written: Any
) -> None:
    verdict = judge(exercise("1.2"), written(stub(body)))
    assert not any(result.passed for result in verdict.results)
    assert all(result.ran for result in verdict.results)  # one case does not end the others
    failed = verdict.first_failed
    assert failed is not None and failed.trouble is not None
    assert what in failed.trouble.what
    assert [place[:2] for place in failed.trouble.places] == places
    assert all(text for _, _, text in failed.trouble.places)


def test_an_endless_loop_ends_with_the_time(written: Any) -> None:
    code = stub("while not text: pass\n    return 'this is an example'")
    start = time.monotonic()
    first, second, *others = judge(exercise("1.2"), written(code), seconds=1.5).results
    assert time.monotonic() - start < 8
    assert first.passed  # what came before it counts
    assert second.trouble is not None
    assert second.trouble.what == "there was no result after 1.5 seconds"
    assert others and not any(result.ran or result.passed for result in others)


def test_a_process_that_ends_itself(written: Any) -> None:
    first, *others = judge(exercise("1.2"), written(stub("import os; os._exit(3)"))).results
    assert first.trouble is not None
    assert first.trouble.what == "the process ended by itself, with exit code 3"
    assert others and not any(result.ran or result.passed for result in others)


@pytest.mark.slow
def test_a_slow_trainer_has_not_the_time(written: Any, solved: Path) -> None:
    slow = "def train_quickly(counts, size): return train(counts, size, letters)[1]"
    verdict = judge(exercise("5.3"), written(f"{solved.read_text(encoding='utf-8')}\n{slow}\n"))
    *others, last = verdict.results
    assert all(result.passed for result in others) and not last.passed


@systems.groups
def test_what_code_starts_ends_with_it(written: Any, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    later = f"import time; time.sleep(0.8); open({str(mark)!r}, 'w')"
    body = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {later!r}])"
    judge(exercise("1.2"), written(stub(body)), seconds=5)
    time.sleep(1.1)
    assert not mark.exists()


@systems.fork
def test_a_process_in_a_session_of_its_own_is_not_waited_for(written: Any) -> None:
    code = (
        "import os, time\nif not os.fork():\n    os.setsid()\n    time.sleep(8)\n    os._exit(0)\n"
    )
    start = time.monotonic()
    verdict = judge(exercise("1.2"), written(code + stub("return text")), seconds=1)
    assert time.monotonic() - start < 5
    assert all(result.ran for result in verdict.results)


@systems.linux
def test_memory_has_a_limit(written: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grader, "MEMORY", 1 << 28)
    failed = judge(exercise("1.2"), written(stub("return bytearray(1 << 29)"))).first_failed
    assert failed is not None and failed.trouble is not None
    assert failed.trouble.what == "MemoryError"


def test_printing_changes_nothing_and_is_shown(written: Any) -> None:
    code = """
import os, unicodedata
print("loaded")
def plain(text):
    print("called with", text, "x" * 5000)
    os.write(1, b'{"case": 0, "value": "1", "trouble": null, "printed": ""}')
    found = unicodedata.normalize("NFD", text)
    return "".join(c.lower() for c in found if unicodedata.category(c)[0] != "M")
"""
    verdict = judge(exercise("1.2"), written(code))
    assert verdict.passed
    assert verdict.results[0].printed.startswith("called with ThÍs is áN ExaMPlé xxx")
    assert all(len(result.printed) <= 4000 for result in verdict.results)


def test_arguments_that_a_function_changes_are_its_own(written: Any) -> None:
    code = "def renyi(counts, size):\n    counts.clear()\n    return 0.0\n"
    verdict = judge(exercise("6.2"), written(code))
    assert verdict.results[0].case.arguments == ([8, 4, 2, 2], 8)


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("code", "message"),
    [
        (
            "def plain(text:\n    return text\n",
            "mine.py, line 1: the file can't be run: SyntaxError: ",
        ),
        ("import sys\nsys.exit(0)\n", "mine.py, line 2: the file can't be run: SystemExit: "),
        ("x = 1\n1 / 0\n", "mine.py, line 2: the file can't be run: ZeroDivisionError: "),
        ("while True: pass\n", "mine.py: the file can't be run: there was no result after 0.6 sec"),
        ("import os; os._exit(0)\n", "mine.py: the file can't be run: the process ended by itself"),
        ("plain = 3\n", "mine.py: there is no function plain in it"),
        ("", "mine.py: there is no function plain in it"),
        ("\0", "mine.py"),
        ("import os; os.write(3, b'5\\n')", "it has written to files that it did not open"),
        ("import os; os.write(3, b'{\"ready\": 1}\\n{}\\n')", "it has written to files"),
    ],
)
def test_a_file_that_can_not_be_run(code: str, message: str, written: Any) -> None:
    with pytest.raises(TokctlError) as raised:
        judge(exercise("1.2"), written(code), seconds=0.6)
    assert message in raised.value.message
    assert raised.value.hint is not None
    assert raised.value.hint.startswith("write the function plain(text): ")
    assert raised.value.exit_code == 2


@pytest.mark.parametrize(
    ("expected", "got", "told"),
    [
        ([1, 2], (1, 2), None),
        (1.0, 1.0 + 1e-12, None),
        (1.0, 1, None),
        (1.0, 10**400, "not the same"),
        (1.0, "1", "not the same"),
        (True, 1, "not the same"),
        ("1", 1, "not the same"),
        (None, None, None),
        ([("a", "b"), ("c", "d")], [["a", "b"], ["c", "x"]], "at [1][1]: 'd' is expected"),
        ([1, 2], [1], "2 items are expected, and there are 1"),
        ([1], None, "not the same"),
        ({"a": 1}, {"b": 1}, "the key 'a' is missing"),
        ({"a": 1}, {"a": 1, "b": 1}, "the key 'b' should not be there"),
        ({"a": [1.5]}, {"a": [2.5]}, "at ['a'][0]: 1.5 is expected, and it is 2.5"),
    ],
)
def test_where_two_values_differ(expected: Any, got: Any, told: str | None) -> None:
    found = difference(expected, got)
    assert found == told if told is None else found is not None and found.startswith(told)


# -- The command -----------------------------------------------------------------------------------


def test_a_solved_exercise(solved: Path) -> None:
    done = tokctl("check-exercise", "7.2", solved)
    assert (done.code, done.err) == (0, "")
    lines = done.out.decode().splitlines()
    assert lines[0] == (
        "7.2 step_of(token, counts): the step in which WordPiece makes a token, or None"
    )
    assert lines[1] == "passed  the page's example"
    assert lines[-1] == "7.2: all 12 cases passed"
    assert all(line.startswith("passed  ") for line in lines[1:-2])


def test_an_unsolved_exercise(written: Any) -> None:
    path = written("def step_of(token, counts):\n    print('hm')\n    return None\n")
    done = tokctl("check-exercise", "7.2", path)
    assert (done.code, done.err) == (1, "")
    shown = done.out.decode()
    assert "FAILED  the page's example\n" in shown
    _, _, failed = shown.partition("The first that failed: the page's example\n")
    assert [" ".join(line.split()) for line in failed.splitlines()] == [
        "called step_of('hug', {'hug': 10, 'pug': 5, 'pun': 12, 'bun': 4, 'hugs': 5})",
        "expected 4",
        "got None",
        "hint the function returned None: is there a return at its end?",
        "printed hm",
        "",
        # What is never made is None.
        "7.2: 3 of 12 cases passed",
    ]


def test_json(written: Any) -> None:
    path = written("def plain(text):\n    return text.lower()\n")
    done = tokctl("check-exercise", "1.2", path, "--json")
    assert done.code == 1
    data = json.loads(done.out)
    assert (data["exercise"], data["function"], data["passed"]) == ("1.2", "plain(text)", False)
    assert data["cases"][0] == {
        "name": "the page's example",
        "passed": False,
        "ran": True,
        "call": "plain('ThÍs is áN ExaMPlé')",
        "expected": "'this is an example'",
        "got": "'thís is án examplé'",
        "difference": "not the same",
        "trouble": None,
        "printed": "",
    }
    assert data["cases"][1]["passed"] is True


def test_the_list() -> None:
    done = tokctl("check-exercise", "--list")
    assert (done.code, done.err) == (0, "")
    rows = [line.split(maxsplit=1) for line in done.out.decode().splitlines()]
    assert [row[0] for row in rows if row and row[0] in EXERCISES] == list(EXERCISES)
    listed = json.loads(tokctl("check-exercise", "--list", "--json").out)
    assert [one["number"] for one in listed] == list(EXERCISES)
    assert listed[0] == {
        "number": "1.1",
        "function": "split_punctuation(text)",
        "page": "1-words-and-symbols",
        "returns": "the words of a text, each punctuation mark by itself",
        "example": "split_punctuation('Cats are great, but dogs are better!')",
    }


def test_wrong_usage(written: Any, tmp_path: Path) -> None:
    path = written("")
    task = "plain(text): the text in small letters and without accents"
    shows_all = "--list shows all"
    assert tokctl("check-exercise") == (
        2, b"", error("no exercise is named", f"tokctl check-exercise 1.1 mytok.py; {shows_all}")
    )  # fmt: skip
    hint = "tokctl check-exercise --list shows all"
    assert tokctl("check-exercise", "99", path) == (
        2, b"", error("no exercise has the number '99'", hint)
    )  # fmt: skip
    hint = f"page 2 has 2.1, 2.2 and 2.3; {hint}"
    assert tokctl("check-exercise", "2", path) == (
        2, b"", error("no exercise has the number '2'", hint)
    )  # fmt: skip
    hint = f"tokctl check-exercise 1.2 FILE checks the function {task[:11]} in it{task[11:]}"
    assert tokctl("check-exercise", "1.2") == (2, b"", error("no file is named", hint))
    missing = tmp_path / "no.py"
    assert tokctl("check-exercise", "1.2", missing) == (
        2, b"", error(f"{missing}: there is no such file", f"write the function {task}")
    )  # fmt: skip
    assert tokctl("check-exercise", "1.2", tmp_path) == (
        2, b"", error(f"{tmp_path}: it is a folder", f"write the function {task}")
    )  # fmt: skip
    for wrong in ("0", "-1", "nan", "inf", "1e+300"):
        assert tokctl("check-exercise", "1.2", path, "--timeout", wrong) == (
            2, b"", error(f"invalid value {wrong} for --timeout", "give seconds: 10")
        )  # fmt: skip
    assert tokctl("check-exercise", "1.2", path, "--timeout", "soon").code == 2


def test_the_help_says_that_code_is_run() -> None:
    from tests.cli.run import process

    shown = process("check-exercise", "--help", env={"COLUMNS": "80"}).out.decode()
    assert "RUNS THE CODE" in shown
