"""Charts are drawn in a child process, whose end by whatever cause is an error with a hint."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.errors import raises_code
from tests.systems import KILL, limits, linux
from tokctl import TokctlError
from tokctl.report.charts.converter import Converter

pytest.importorskip("vl_convert", reason="charts need the extra `report`")

ROOT = Path(__file__).resolve().parents[2]
CHART = {"data": {"values": [{"a": 1}]}, "mark": "point", "encoding": {"x": {"field": "a"}}}
DRAWS = f"""
from tokctl.report.charts.converter import Converter
with Converter() as converter:
    print(converter.convert({CHART!r}, "svg").decode()[:4])
"""


def test_a_child_draws_several_charts() -> None:
    with Converter() as converter:
        first = converter.convert(CHART, "svg")
        assert converter.convert(CHART, "png").startswith(b"\x89PNG")
        with raises_code("unsupported") as raised:
            converter.convert({"mark": 3}, "svg")
        assert raised.value.hint
        assert converter.convert(CHART, "svg") == first


@pytest.mark.parametrize("way", ["-c", "-I -c", "stdin"])
def test_no_importable_main_is_needed(way: str, tmp_path: Path) -> None:
    # What lies in the folder of the caller is none of the child's modules.
    (tmp_path / "json.py").write_text("raise SystemExit('not this one')", encoding="utf-8")
    code = (
        f"import sys; sys.path = [p for p in sys.path if p]; sys.path += {[str(ROOT)]!r}\n{DRAWS}"
    )
    options, stdin = ([], code) if way == "stdin" else ([*way.split(), code], None)
    done = subprocess.run(
        [sys.executable, *options],
        input=stdin,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "<svg\n", "")


def test_a_child_that_is_killed() -> None:
    with Converter() as converter:
        os.kill(converter._process.pid, KILL)
        with pytest.raises(
            TokctlError, match="charts can't be drawn: the drawing process"
        ) as raised:
            converter.convert(CHART, "svg")
    assert raised.value.hint


def test_a_chart_without_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    from tokctl.report.charts import converter as module

    code = module._CODE.replace(
        "import serve;", "import serve; import tokctl.report.charts.converter as c;"
    )
    drawn = "lambda form, chart: b'x' if form == 'svg' else sum(iter(int, 1))"
    endless = f"c._drawn = {drawn}; c.SECONDS = 1;"
    monkeypatch.setattr(module, "_CODE", code.replace(" serve()", f" {endless} serve()"))
    told = pytest.raises(TokctlError, match="ended with exit code 1")
    with Converter() as converter, told as raised:
        converter.convert(CHART, "png")
    assert raised.value.hint


@pytest.mark.few(2)
@limits
@pytest.mark.parametrize("megabytes", [1_000, 4_000, 30_000, 10_000_000])
def test_a_limit_on_the_address_space(megabytes: int, tmp_path: Path) -> None:
    """The page is written whole, or not at all."""
    model = tmp_path / "m.json"
    text = tmp_path / "t.txt"
    text.write_text("low lower lowest newer newest\n" * 9, encoding="utf-8")
    tokctl = f"{sys.executable} -m tokctl"
    subprocess.run([*tokctl.split(), "train", "-q", "-v", "270", text, "-o", model], check=True)
    done = subprocess.run(
        ["sh", "-c", f"ulimit -v {megabytes * 1000}; exec {tokctl} inspect {model} --plot p.svg"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    left = sorted(path.name for path in tmp_path.iterdir())
    if done.returncode == 0:
        assert left == ["m.json", "p.svg", "t.txt"]
    else:
        assert done.returncode == 2, done.stderr
        assert "error: " in done.stderr and "hint: " in done.stderr
        assert left == ["m.json", "t.txt"]


@linux
@pytest.mark.parametrize("number", ["INT", "TERM", "KILL"])
def test_the_child_ends_with_its_parent(number: str) -> None:
    import signal

    code = "from tokctl.core.signals import handle_signals; handle_signals()\n" + DRAWS.replace(
        "    print(", "    print(converter._process.pid, flush=True)\n    while True: ("
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=ROOT,
    )
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    time.sleep(1)
    parent.send_signal(getattr(signal, f"SIG{number}"))
    parent.wait()
    parent.stdout.close()
    until = time.monotonic() + 20
    while _runs(child):
        assert time.monotonic() < until
        time.sleep(0.05)


def _runs(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"  # nobody may wait for an orphan in a container
