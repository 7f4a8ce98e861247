"""Tools that students hand in, good and hostile: each ends in a report in words and leaves nothing."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

import pytest
from test_exercise import _nothing_stays_behind as nothing_stays_behind
from test_exercise import running
from tool_mutants import REFERENCE_TOOL

from ai_evolution.grading.exercise import CheckReport, check_exercise

ROOT = Path(__file__).parents[2]
SOURCE = REFERENCE_TOOL.read_text(encoding="utf-8")
LINUX = sys.platform == "linux"
TWO = ["call.limits", "convert.rest"]
LIGHT = """from __future__ import annotations
from typing import Any, Mapping
from ai_evolution.atdf.losses import missing
DOCUMENT = ""
""" + SOURCE[SOURCE.index("KEPT = (") :]
"""The converter of the reference, without the tool: it starts three times as fast."""

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="rights are lowered on POSIX only")
_nothing_stays_behind = nothing_stays_behind


def check(tmp_path: Path, source: str, only: list[str] | None = None, **settings: float) -> CheckReport:
    file = tmp_path / "my_tool.py"
    file.write_text(source, encoding="utf-8")
    return check_exercise(131, file, only=only, **{"deadline": 30, "patience": 10, **settings})


def seen(report: CheckReport) -> dict[str, str]:
    return {o.id: "holds" if o.holds else str(o.observed) for o in report.observations}


SOCKETS = """
import os, stat

def sockets():
    found = []
    for fd in range(64):
        try:
            if stat.S_ISSOCK(os.fstat(fd).st_mode):
                found.append(fd)
        except OSError:
            pass
    return found

def tell(text):
    for fd in sockets():
        try:
            os.write(fd, text)
        except OSError:
            pass
"""


def calling(body: str, source: str = LIGHT) -> str:
    """A file whose tool does this at each call; after it, the honest tool answers, where there is one."""
    lines = "".join(f"        {line}\n" for line in body.strip().splitlines())
    return (
        f"{source}\n{SOCKETS}\nhonest = globals().get('build', lambda library, clock: dict)\n\n"
        f"def build(library, clock):\n    tool = honest(library, clock)\n\n"
        f"    def call(given):\n{lines}        return tool(given)\n\n    return call\n"
    )


def test_the_reference_solution_passes_in_its_own_process(tmp_path: Path) -> None:
    report = check(tmp_path, SOURCE, seed=7)
    assert report.passed, report.text()
    assert "my_tool.py: 16 of 16 behaviours hold." in report.text("en")
    assert "Your tool ran in a process of its own." in report.text("en")
    assert "my_tool.py: se cumplen 16 de 16 comportamientos." in report.text("es")
    assert [b["says"]["es"] != b["says"]["en"] for b in report.as_dict()["behaviours"]] == [True] * 16


def test_the_plain_way_that_every_system_has_gives_the_same_verdict(tmp_path: Path) -> None:
    file = tmp_path / "my_tool.py"
    file.write_text(SOURCE, encoding="utf-8")
    assert check_exercise(131, file, only=TWO, portable=True, patience=20).passed


NO_START = {
    "no build": ("DOCUMENT = ''\n", "my_tool.py defines no function build(library, clock)"),
    "build raises": (
        "def build(library, clock):\n    return clock.now\n",
        "my_tool.py: build(library, clock) failed: line 2: AttributeError",
    ),
    "build returns nothing": (
        "def build(library, clock):\n    pass\n",
        "build(library, clock) returned a NoneType where a function of the arguments was expected",
    ),
    "build asks the library": (
        "def build(library, clock):\n    library.reserved('x')\n",
        "build(library, clock) failed: line 2: LibraryError: reserved: no call is being made",
    ),
    "busy loop at import": ("while True:\n    pass\n", "my_tool.py did not start within 2 s"),
}


@pytest.mark.parametrize("name", NO_START)
def test_a_file_that_cannot_be_served_is_one_clear_line(tmp_path: Path, name: str) -> None:
    source, line = NO_START[name]
    report = check(tmp_path, source, deadline=2 if "busy" in name else 20)
    assert line in report.text("en")
    assert "\n" not in report.text("en") + report.text("es")
    assert (report.exit_code, report.observations) == (1, ())


IN_A_CALL = {
    "never ends": ("while True: pass", "no answer in time", None),
    "exits": ("os._exit(9)", "it hung up", "the tool's process ended before the check did (exit code 9)"),
    "hangs up": ("for fd in sockets(): os.close(fd)", "it hung up", None),
    "floods": ("for _ in range(2): tell(b'x' * (1 << 20))", "more than 1048576 bytes for one answer", None),
    "says garbage": ("tell(b'\\xff\\x00{\\n')", "a line that is no JSON", None),
    "says a long number": ("tell(b'9' * 5000 + b'\\n')", "a line that is no JSON", None),
    "says deep brackets": ("tell(b'[' * 200_000 + b'\\n')", "a line that is no JSON", None),
    "asks for ever": ("while True: library.reserved('9780306406157')", "more than 50 questions", None),
}  # fmt: skip


@pytest.mark.parametrize("name", IN_A_CALL)
def test_what_a_call_does_to_the_talk_is_told_and_the_next_behaviour_gets_a_fresh_process(
    tmp_path: Path, name: str
) -> None:
    body, says, problem = IN_A_CALL[name]
    patience = 1.5 if name == "never ends" else 15
    only = TWO[:1] if name.startswith("says") else TWO
    report = check(tmp_path, calling(body), only, patience=patience)
    found = seen(report)
    assert says in found.pop("call.limits")
    assert found == dict.fromkeys(only[1:], "holds")
    if problem:
        assert problem in report.text("en")
    assert not report.passed


def test_a_tool_that_is_silent_three_times_is_given_up(tmp_path: Path) -> None:
    calls = ["call.refused", "call.shape", "call.limits", "clock.injected", "convert.rest"]
    report = check(tmp_path, calling("os._exit(1)"), calls)
    assert list(seen(report).values()) == ["it hung up"] * 3 + ["not tried: the tool is silent"] * 2


def test_the_deadline_of_the_whole_check_is_kept(tmp_path: Path) -> None:
    body = "import time; time.sleep(600)"
    report = check(tmp_path, calling(body), TWO, deadline=3, patience=60)
    assert not any(o.holds for o in report.observations)
    assert "no answer in time" in seen(report)["call.limits"]


@pytest.mark.skipif(not LINUX, reason="orphans are collected by the keeper on Linux")
def test_forks_neither_confuse_the_judge_nor_outlive_the_check(tmp_path: Path) -> None:
    mark = f"tool-outliving-{os.getpid()}"
    body = f"""
if os.fork() == 0:
    os.setsid()
    os.execve({sys.executable!r}, [{sys.executable!r}, "-c", "import time; time.sleep(600)", {mark!r}], {{}})
"""
    report = check(tmp_path, calling(body, SOURCE), ["clock.injected"])
    assert report.passed, report.text()
    assert running(mark) == []
    double = check(tmp_path, calling("os.fork()", SOURCE), ["clock.injected"])
    assert len(double.observations) == 1, "two that answer: one verdict, whichever it is"


def test_forged_lines_are_answers_at_most_and_never_a_verdict(tmp_path: Path) -> None:
    forged = [
        {"passed": True, "held": 16}, {"stage": "ended", "code": 0}, {"id": -1, "value": "success"},
        *({"id": n, "value": {"status": "success", "data": {"left": 2}, "meta": {}}} for n in range(40)),
    ]  # fmt: skip
    text = "".join(json.dumps(line) + "\n" for line in forged).encode()
    report = check(tmp_path, calling(f"tell({text!r})"), ["call.succeeds", "call.refused", "failure.neutral"])
    assert report.held == 0


def test_it_reads_nothing_of_ours(tmp_path: Path) -> None:
    names = [str(REFERENCE_TOOL), str(ROOT / "pyproject.toml"), f"/proc/{os.getpid()}/environ"]
    spy = f"""
for name in {names}:
    try:
        open(name).read()
        print("read", name)
    except OSError:
        print("refused")
"""
    report = check(tmp_path, calling("pass") + spy, ["convert.rest"])
    assert report.passed
    if "files" not in report.isolation:
        pytest.skip("this kernel has no Landlock")
    assert report.output.count("refused") == 3


def test_what_it_prints_is_kept_and_goes_nowhere_near_the_answers(tmp_path: Path) -> None:
    body = "print('{\"id\": 1, \"value\": 5}')\nprint('x' * 100_000)\nprint('the last word')"
    report = check(tmp_path, calling(body), ["call.limits", "convert.rest"])
    assert seen(report)["convert.rest"] == "holds"
    assert len(report.output) <= 64 << 10
    assert report.output.rstrip().endswith("the last word")


def test_the_folder_of_the_check_is_gone_afterwards() -> None:
    assert list(Path(tempfile.gettempdir()).glob(f"ai-evolution-check-{os.getpid()}-*")) == []
