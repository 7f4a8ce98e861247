"""``mcp conformance`` as it is typed: what it refuses, and what it says where the suite is at hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from ai_evolution.cli import mcp_conformance
from ai_evolution.cli.show import Screen
from ai_evolution.errors import EnvironmentProblem
from ai_evolution.mcp.behaviours import Observation
from ai_evolution.mcp.conformance import Check, ConformanceReport, Scenario, installed, node

Cli = Callable[..., Any]


def _lacking() -> str:
    try:
        node()
    except EnvironmentProblem as problem:
        return str(problem)
    return "" if installed() else "the suite is not in the cache; `ai-evolution mcp conformance` installs it"


LACKING = _lacking()
needs_suite = pytest.mark.skipif(bool(LACKING), reason=LACKING or "-")


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (
            ["--server", "http://x/", "--client", "y"],
            "--server and --client were given; one subject at a time",
        ),
        (["--requirements", "2024-11-05"], "'2024-11-05' is not known"),
        (["--client", "'"], "is not a command line"),
        (["--server", "file:///x"], "is not a server's address"),
        (["--server", "http://127.0.0.1:9/mcp"], "nothing answers at"),
    ],
)
def test_a_call_that_makes_no_sense_is_refused_in_one_line(cli: Cli, argv: list[str], words: str) -> None:
    done = cli("mcp", "conformance", *argv)
    assert done.code == 2
    assert words in done.err
    assert done.err.count("\n") == 1


def test_its_help_is_there_in_both_languages_without_node(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert "--requirements" in cli("mcp", "conformance", "--help").out
    assert "batería" in cli("mcp", "conformance", "--help", "--lang", "es").out


def test_what_failed_is_shown_with_its_reason_and_what_counts_is_counted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    check = Check("tools-list", "FAILURE", "Server lists its tools", "Missing tools array\x1b[2J")
    scenarios = (
        Scenario("tools-list", "fail", (check,), True),
        Scenario("prompts-list", "pass", (), True),
        Scenario("tasks-lifecycle", "fail", (), False, "extension"),
    )
    report = ConformanceReport("server", "2026-07-28", scenarios, {"suite": "s@1", "node": "24.1.0"})
    ours = [Observation("tools.unknown", -32602, "isError")]
    mcp_conformance.show(Screen("en"), report, ours)
    told = capsys.readouterr().out
    for line in (
        "     tools-list: Server lists its tools",
        "tasks-lifecycle (extension)",
        "     expected: -32602",
        '     observed: "isError"',
        "1 of 2 required server scenarios of 2026-07-28 pass.",
        "0 of 1 of our own behaviours hold.",
    ):
        assert line in told
    assert "\x1b" not in told


@needs_suite
def test_one_scenario_on_the_fixture_server_as_json(cli: Cli) -> None:
    done = cli("mcp", "conformance", "--only", "tools-list", "--json")
    told = json.loads(done.out)
    assert done.code == 0
    assert (told["ok"], told["required"], told["passed"], told["behaviours"]) == (True, 1, 1, [])
