"""The course as an MCP server: any client can find its tools, run a lab, read a page, check an exercise."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from ai_evolution import labs
from ai_evolution.errors import ProtocolRefusal, ToolFailed
from ai_evolution.evidence import Claim, Finding, Input, Limitation, Result
from ai_evolution.labs import LABS, Lab
from ai_evolution.mcp.client import Host, connect
from ai_evolution.tutor import course_server
from ai_evolution.tutor.pages import PARTS

ROOT = Path(__file__).parents[2]
MODES = {"2026-07-28": "auto", "2025-11-25": "legacy"}
both = pytest.mark.parametrize("era", MODES)
STARTER = "classes/134-a2a/exercise/starter.py"


class Coin:
    """A lab of two claims that can be held up before the second."""

    CLAIMS = (
        Claim("coin.two-sides", "A coin has two sides.", "Una moneda tiene dos caras.", ("P138",)),
        Claim("coin.lucky", "The seed is not 13.", "La semilla no es 13.", ("P138",)),
    )
    LIMITATIONS = (Limitation("coin.one", "scope", "One coin only.", "Solo una moneda."),)
    PROTOCOLS = {"coin": "1.0"}  # noqa: RUF012

    def __init__(self) -> None:
        self.go, self.ended = threading.Event(), threading.Event()
        self.go.set()

    async def run(self, world: Any, *, transport: str, peers: Any) -> AsyncIterator[Any]:
        try:
            yield Input("toss", world.random.randrange(1000))
            yield Result("side", "heads")
            yield Finding("coin.two-sides", 2, 2)
            assert self.go.wait(60)
            yield Finding("coin.lucky", True, world.seed != 13)
        finally:
            self.ended.set()


@pytest.fixture
def coin(monkeypatch: pytest.MonkeyPatch) -> Coin:
    module = Coin()
    lab = Lab(name="coin", class_slug="134-a2a", title={"en": "Coin", "es": "Moneda"}, load=lambda: module)  # type: ignore[arg-type, return-value]
    monkeypatch.setitem(LABS, "coin", lab)  # type: ignore[index, arg-type]
    return module


@contextlib.asynccontextmanager
async def student(era: str = "2026-07-28", root: Path = ROOT, lang: str = "en", **options: Any) -> Any:
    async def yes(*_: Any) -> bool:
        return True

    given = {"approve": yes, "deadline": 60.0, "mode": MODES[era], **options}
    async with connect(course_server(root, lang=lang), **given) as host:
        await host.tools()
        yield host


async def code(host: Host, name: str, arguments: dict[str, Any]) -> str:
    with pytest.raises(ToolFailed) as caught:
        await host.call(name, arguments)
    told: str = json.loads(caught.value.content[0]["text"])["data"]["code"]
    return told


def bounded(work: Any) -> None:
    async def run() -> None:
        async with asyncio.timeout(90):
            await work

    asyncio.run(run())


@both
def test_a_client_that_knows_nothing_finds_the_tools_the_pages_and_the_tutor(era: str) -> None:
    async def work() -> None:
        async with student(era) as host:
            tools = {each.name: each for each in await host.tools()}
            assert list(tools) == [
                "validate_date_range", "get_team_members", "get_expenses", "get_custom_budget", "list_files",
                "read_file", "search_files", "list_classes", "run_lab", "verify_evidence", "check_exercise",
            ]  # fmt: skip
            assert all(each.output_schema for each in tools.values())
            assert {name for name, each in tools.items() if each.annotations.destructive_hint} == {
                "check_exercise"
            }
            found = (await host.call("list_classes", {})).structured
            pages = [row["page"] for row in found["classes"]]
            assert set(pages) <= {str(each.uri) for each in await host.resources()}
            page = (await host.read("class://134/es"))[0]
            assert page["text"] == (ROOT / "classes/134-a2a/README.es.md").read_text(encoding="utf-8")
            assert page["mimeType"] == "text/markdown"
            for part in PARTS:
                assert (await host.read(f"class://134/en/{part}"))[0]["text"]
            said = str(await host.prompt("tutor", {"number": "134", "language": "es"}))
            assert "class://134/es" in said
            assert "No calificas" in said

    bounded(work())


@pytest.mark.parametrize(
    "uri", ["class://134/fr", "class://7/en/exercise", "class://134/en/..%2F..%2FLICENSE"]
)
def test_a_page_that_there_is_not_is_a_protocol_error(uri: str) -> None:
    async def work() -> None:
        async with student() as host:
            with pytest.raises(ProtocolRefusal) as caught:
                await host.read(uri)
            assert caught.value.code == -32602
            with pytest.raises(ProtocolRefusal):
                await host.prompt("tutor", {"number": "7"})

    bounded(work())


@both
@pytest.mark.parametrize("lang", ["en", "es"])
def test_a_lab_is_run_with_progress_and_its_evidence_verified(coin: Coin, era: str, lang: str) -> None:
    steps: list[tuple[float, Any, Any]] = []

    async def progress(done: float, total: float | None, text: str | None) -> None:
        steps.append((done, total, text))

    async def work() -> None:
        async with student(era, lang=lang) as host:
            given = {"lab": "coin", "seed": 13, "full": True}
            run = (await host.call("run_lab", given, progress=progress)).structured
            assert steps == [(1, 2, "coin.two-sides"), (2, 2, "coin.lucky")]
            assert (run["holds"], [each["holds"] for each in run["findings"]]) == (False, [True, False])
            assert run["findings"][0]["claim"] == getattr(coin.CLAIMS[0], lang)
            assert run["digest"] == labs.run_lab("coin", 13).digest
            document = run["evidence"]
            same = (await host.call("verify_evidence", {"evidence": document})).structured
            assert (same["same"], same["failing"]) == (True, ["coin.lucky"])
            document["inputs"]["toss"] += 1
            other = (await host.call("verify_evidence", {"evidence": document})).structured
            assert (other["same"], other["pointer"]) == (False, "/inputs/toss")

    bounded(work())


@both
def test_cancelling_ends_the_lab_and_the_next_one_can_run(coin: Coin, era: str) -> None:
    async def work() -> None:
        async with student(era) as host:
            begun = asyncio.Event()

            async def progress(*_: Any) -> None:
                begun.set()

            coin.go.clear()
            call = asyncio.ensure_future(host.call("run_lab", {"lab": "coin"}, progress=progress))
            await begun.wait()
            call.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await call
            coin.go.set()
            assert await asyncio.to_thread(coin.ended.wait, 60)
            assert (await host.call("run_lab", {"lab": "coin"})).structured["holds"]

    bounded(work())


def test_what_is_not_accepted_is_said_with_what_would_be(coin: Coin) -> None:
    async def work() -> None:
        async with student() as host:
            assert await code(host, "run_lab", {"lab": "heads"}) == "NOT_ACCEPTED"
            assert await code(host, "run_lab", {"lab": "coin", "parameters": {"bias": 1}}) == "NOT_ACCEPTED"
            assert await code(host, "run_lab", {"lab": "coin", "seed": -1}) == "INVALID_ARGUMENTS"
            assert await code(host, "verify_evidence", {}) == "PRECONDITION_BROKEN"
            assert await code(host, "verify_evidence", {"evidence": {}, "path": "a"}) == "PRECONDITION_BROKEN"
            assert await code(host, "verify_evidence", {"evidence": {"kind": "coin"}}) == "NOT_EVIDENCE"
            assert await code(host, "verify_evidence", {"path": "README.md"}) == "NOT_EVIDENCE"
            assert await code(host, "verify_evidence", {"path": "../x.json"}) == "NOT_SERVED"
            assert await code(host, "check_exercise", {"class": "999", "file": STARTER}) == "NOT_ACCEPTED"
            assert await code(host, "check_exercise", {"class": "134", "file": "../a.py"}) == "NOT_SERVED"
            assert (
                await code(host, "check_exercise", {"class": "134", "file": STARTER, "only": ["x"]})
                == "NOT_ACCEPTED"
            )

    bounded(work())


def test_an_exercise_is_checked_when_the_person_says_so(tmp_path: Path) -> None:
    shutil.copy(ROOT / STARTER, tmp_path / "mine.py")
    questions: list[str] = []
    answers: list[Any] = ["decline", "cancel", {"start": False}, {"start": True}]
    steps: list[Any] = []

    async def elicit(question: dict[str, Any]) -> Any:
        questions.append(question["message"])
        return answers.pop(0)

    async def progress(done: float, total: float | None, text: str | None) -> None:
        steps.append((done, total, text))

    async def work() -> None:
        wanted = {"class": "134", "file": "mine.py", "only": ["card.published", "task.completes"]}
        async with student(root=tmp_path, elicit=elicit) as host:
            for _ in range(3):
                assert await code(host, "check_exercise", wanted) == "NOT_ALLOWED"
            assert steps == []
            report = (await host.call("check_exercise", wanted, progress=progress)).structured
        assert steps == [(1, 2, "card.published"), (2, 2, "task.completes")]
        assert (report["passed"], report["held"], report["count"]) == (False, 1, 2)
        assert len(questions) == 4
        assert "mine.py" in questions[0]

    bounded(work())


def test_without_programs_nothing_of_a_student_can_be_started() -> None:
    server = course_server(ROOT, programs=False)
    assert "check_exercise" not in {each.name for each in server.contracts}


def test_a_folder_that_is_no_repository_is_served_without_classes(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n", encoding="utf-8")

    async def work() -> None:
        async with student(root=tmp_path) as host:
            assert await host.resources() == []
            assert (await host.call("list_classes", {})).structured["classes"] == []
            assert (await host.call("read_file", {"path": "a.txt"})).structured["text"] == "one\n"

    bounded(work())
