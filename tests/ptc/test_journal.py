"""Runs that die in the middle, and what happens when they go on."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import rungs
from bridge_tools import INTEGER, Bank, Calls, kind, tool

from ai_evolution.errors import DocumentError, EnvironmentProblem, UsageError
from ai_evolution.ptc.bridge import AGAIN, Bridge, Doubt
from ai_evolution.ptc.journal import RunJournal
from ai_evolution.ptc.limits import Limits
from ai_evolution.ptc.sandbox import Answer, Outcome, Sandbox, open_unsafe

pytestmark = pytest.mark.anyio

PAYROLL = """
import asyncio
lengths = await asyncio.gather(*[balance(name) for name in ("ann", "bo", "cecil")])
receipts = await asyncio.gather(*[{pay}(name, 100) for name in ("ann", "bo", "cecil")])
print(sum(lengths), sum(receipt["paid"] for receipt in receipts))
"""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def played(
    path: Path, bank: Bank, code: str, place: Sandbox | None = None, **options: Any
) -> tuple[Outcome, Bridge]:
    """One life: a fresh bridge and a fresh sandbox over what is left of earlier ones."""
    with RunJournal(path) as journal:
        bridge = Bridge(bank.tools(), journal=journal, **options)
        async with await (place or open_unsafe()).open(bridge.stubs()) as session:
            outcome = await bridge.run(session, code)
        await bridge.aclose()
        return outcome, bridge


def killed(path: Path, bank: Bank, code: str) -> None:
    """A life that ends by SIGKILL, in a process of its own; what is left are the files."""
    child = os.fork()
    if child == 0:
        try:
            asyncio.run(played(path, bank, code))
        finally:
            os._exit(3)  # it was to be killed
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL


def at(when: str, whom: str) -> Callable[[str, str], None]:
    def stop(now: str, to: str) -> None:
        if (now, to) == (when, whom):
            os.kill(os.getpid(), signal.SIGKILL)

    return stop


fork = pytest.mark.skipif(sys.platform == "win32", reason="a process is killed by a POSIX signal")


@fork
@pytest.mark.parametrize(("when", "whom"), [("before", "ann"), ("after", "bo"), ("after", "cecil")])
def test_a_run_killed_around_an_effect_ends_with_each_effect_once(
    tmp_path: Path, when: str, whom: str
) -> None:
    journal, ledger, code = tmp_path / "journal", tmp_path / "ledger", PAYROLL.format(pay="pay_once")
    killed(journal, Bank(ledger, at(when, whom)), code)
    bank = Bank(ledger)
    assert len(bank.paid) < 3 or when == "after"
    outcome, bridge = asyncio.run(played(journal, bank, code))
    assert (outcome.output, outcome.ok) == ("10 300\n", True)
    assert sorted(each["to"] for each in bank.paid) == ["ann", "bo", "cecil"]
    assert bridge.replayed["balance"] == 3
    assert bridge.made["balance"] == 0


@fork
@pytest.mark.parametrize("when", ["before", "after"])
def test_an_effect_without_record_is_asked_about_and_never_repeated_in_silence(
    tmp_path: Path, when: str
) -> None:
    journal, ledger, code = tmp_path / "journal", tmp_path / "ledger", PAYROLL.format(pay="pay")
    killed(journal, Bank(ledger, at(when, "bo")), code)
    bank = Bank(ledger)
    happened = [each["to"] for each in bank.paid]

    outcome, _ = asyncio.run(played(journal, bank, code))
    assert outcome.error is not None
    assert outcome.error.message.startswith("EffectUncertain: pay may have had this effect already")
    assert [each["to"] for each in bank.paid if each["to"] == "bo"] == (["bo"] if when == "after" else [])

    async def settle(doubt: Doubt) -> Any:
        return Answer({"paid": 100}) if doubt.call.arguments["to"] in happened else AGAIN

    outcome, _ = asyncio.run(played(journal, bank, code, settle=settle))
    assert outcome.output == "10 300\n"
    assert sorted(each["to"] for each in bank.paid) == ["ann", "bo", "cecil"]


@fork
@pytest.mark.parametrize("rung", ["monty", "jail"])
def test_a_run_that_was_killed_on_one_rung_goes_on_upon_another(tmp_path: Path, rung: str) -> None:
    place = rungs.sandbox(rung)
    journal, ledger, code = tmp_path / "journal", tmp_path / "ledger", PAYROLL.format(pay="pay_once")
    killed(journal, Bank(ledger, at("after", "bo")), code)
    outcome, bridge = asyncio.run(played(journal, Bank(ledger), code, place=place))
    assert (outcome.output, outcome.error) == ("10 300\n", None)
    assert sorted(each["to"] for each in Bank(ledger).paid) == ["ann", "bo", "cecil"]
    assert bridge.replayed.total() >= 3


async def test_a_finished_run_replays_without_calling_anything(tmp_path: Path) -> None:
    bank, code = Bank(tmp_path / "ledger"), PAYROLL.format(pay="pay")
    first, _ = await played(tmp_path / "journal", bank, code)
    again, bridge = await played(tmp_path / "journal", bank, code)
    assert (first.output, again.output, len(bank.paid)) == ("10 300\n", "10 300\n", 3)
    assert (bridge.made.total(), bridge.replayed.total()) == (0, 6)


async def test_errors_are_replayed_as_they_were_told(tmp_path: Path) -> None:
    bank = Bank(tmp_path / "ledger")
    code = "try:\n    await pay('a', 5000)\nexcept ToolError as error:\n    print(error, error.envelope)"
    first, _ = await played(tmp_path / "journal", bank, code)
    again, bridge = await played(tmp_path / "journal", bank, code)
    assert "TOO_MUCH" in first.output
    assert (again.output, bridge.made.total()) == (first.output, 0)


async def test_another_program_is_refused(tmp_path: Path) -> None:
    bank = Bank(tmp_path / "ledger")
    await played(tmp_path / "journal", bank, "await pay('a', 1)")
    with pytest.raises(DocumentError, match="only the same program"):
        await played(tmp_path / "journal", bank, "await pay('a', 2)")
    assert len(bank.paid) == 1


async def test_a_program_that_goes_another_way_has_no_new_effects(tmp_path: Path) -> None:
    """It pays whom the time says: what no journal can replay is stopped at the effect."""
    bank, code = Bank(tmp_path / "ledger"), "import time\nawait pay(f'payee {time.time_ns()}', 1)"
    await played(tmp_path / "journal", bank, code)
    outcome, bridge = await played(tmp_path / "journal", bank, code, patience=0.05)
    assert outcome.error is not None
    assert outcome.error.message.startswith("ReplayDiverged")
    assert len(bank.paid) == len(bridge.unclaimed) == 1
    with pytest.raises(DocumentError, match="went another way"):
        bridge.begin("await pay('b', 1)")


async def test_a_new_effect_waits_for_the_recorded_ones_that_come_later(tmp_path: Path) -> None:
    """In the first life the slow branch came last; in the second its call comes first: no divergence."""
    bank = Bank(tmp_path / "ledger")
    call = Calls()
    with RunJournal(tmp_path / "journal") as journal:
        bridge = Bridge(bank.tools(), journal=journal)
        bridge.begin("code")
        await bridge.on_call(call("pay", to="quick", cents=1))
    with RunJournal(tmp_path / "journal") as journal:
        bridge, call = Bridge(bank.tools(), journal=journal), Calls()
        bridge.begin("code")
        slow = asyncio.create_task(bridge.on_call(call("pay", to="slow", cents=1)))
        await asyncio.sleep(0)
        quick = await bridge.on_call(call("pay", to="quick", cents=1))
        assert (kind(quick), kind(await slow)) == ("", "")
    assert [each["to"] for each in bank.paid] == ["quick", "slow"]


async def test_equal_calls_keep_their_own_answers_and_keys(tmp_path: Path) -> None:
    numbers = iter(range(100))

    async def draw() -> int:
        return next(numbers)

    answers = []
    for _ in range(2):
        with RunJournal(tmp_path / "journal") as journal:
            bridge, call = Bridge([tool("draw", draw, {}, INTEGER, reads=True)], journal=journal), Calls()
            bridge.begin("code")
            answers.append([await bridge.on_call(call("draw")) for _ in range(3)])
    assert answers[0] == answers[1] == [Answer(0), Answer(1), Answer(2)]


async def test_the_journal_tells_the_same_however_concurrent_calls_raced(tmp_path: Path) -> None:
    stories = []
    for order in ([0, 1, 2, 3], [3, 1, 0, 2]):
        gates = [asyncio.Event() for _ in order]

        async def wait(n: int, gates: list[asyncio.Event] = gates) -> int:
            await gates[n].wait()
            return n

        with RunJournal(tmp_path / f"journal {order}") as journal:
            contract = tool("wait", wait, {"n": INTEGER}, INTEGER)
            keys = iter(f"k{n}" for n in range(9))
            bridge, call = Bridge([contract], journal=journal, new_key=keys.__next__), Calls()
            bridge.begin("code")
            tasks = [asyncio.create_task(bridge.on_call(call("wait", n=n))) for n in range(4)]
            for n in order:
                gates[n].set()
                await tasks[n]
            stories.append(journal.entries())
    assert stories[0] == stories[1]
    assert [(entry.sequence, entry.key) for entry in stories[0]] == [
        (1, "k0"),
        (2, "k1"),
        (3, "k2"),
        (4, "k3"),
    ]


async def test_a_session_of_several_programs_resumes_with_its_variables(tmp_path: Path) -> None:
    bank = Bank(tmp_path / "ledger")
    async with await open_unsafe().open(Bridge(bank.tools()).stubs()) as session:
        with RunJournal(tmp_path / "journal") as journal:
            bridge = Bridge(bank.tools(), journal=journal)
            await bridge.run(session, "receipt = await pay('a', 7)")
            await bridge.run(session, "1 / 0")
    async with await open_unsafe().open(bridge.stubs()) as session:
        with RunJournal(tmp_path / "journal") as journal:
            bridge = Bridge(bank.tools(), journal=journal)
            assert [each.ended for each in await bridge.resume(session)] == ["done", "error"]
            third = await bridge.run(session, "receipt['paid']")
    assert (third.value, len(bank.paid)) == (7, 1)


async def test_what_a_program_that_was_cut_off_had_begun_is_not_done_again_after_a_crash(
    tmp_path: Path,
) -> None:
    """The first program ran out of time in its effect. Its answer goes to the repaired one, lives later."""
    made, begun, go = 0, asyncio.Event(), asyncio.Event()

    async def slow() -> str:
        nonlocal made
        made += 1
        begun.set()
        await go.wait()
        return "done"

    contract = tool("slow", slow, {})
    with RunJournal(tmp_path / "journal") as journal:
        bridge = Bridge([contract], journal=journal)
        async with await open_unsafe().open(bridge.stubs(), Limits(seconds=0.3)) as session:
            outcome = await bridge.run(session, "print('so far')\nawait slow()")
        assert (outcome.ended, outcome.output, outcome.calls[0].ended) == (
            "timeout",
            "so far\n",
            "unanswered",
        )
        go.set()
        await bridge.aclose()
    lives: list[tuple[list[Any], int]] = []
    for _ in range(2):
        with RunJournal(tmp_path / "journal") as journal:
            bridge = Bridge([contract], journal=journal)
            async with await open_unsafe().open(bridge.stubs()) as session:
                resumed = await bridge.resume(session)
                fresh = await bridge.run(session, "await slow()")
            lives.append(([each.value for each in (*resumed, fresh)], made))
    # the second life has the answer of the repaired program, and makes a call that is really new
    assert lives == [(["done"], 1), (["done", "done"], 2)]


async def test_a_new_effect_waits_as_long_as_something_is_being_done(tmp_path: Path) -> None:
    """While a tool works, the program may still be on its way to the effects it had before."""
    bank, go = Bank(tmp_path / "ledger"), asyncio.Event()

    async def wait() -> None:
        await go.wait()

    tools = [*bank.tools(), tool("wait", wait, {}, reads=True)]
    with RunJournal(tmp_path / "journal") as journal:
        bridge, call = Bridge(tools, journal=journal), Calls()
        bridge.begin("code")
        await bridge.on_call(call("pay", to="late", cents=1))
    with RunJournal(tmp_path / "journal") as journal:
        bridge, call = Bridge(tools, journal=journal, patience=0.01), Calls()
        bridge.begin("code")
        calls = [call("wait"), call("pay", to="new", cents=1)]
        working, new = [asyncio.create_task(bridge.on_call(each)) for each in calls]
        done, _ = await asyncio.wait([new], timeout=0.1)
        assert not done
        go.set()
        await working
        await bridge.on_call(call("pay", to="late", cents=1))
        assert kind(await new) == ""


# the file


def test_a_half_written_last_line_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with RunJournal(path, "x") as journal:
        journal.begin(1, "code")
    whole = path.read_bytes()
    for piece in (b"{", b'{"intent":1', b"\0\0\0"):
        path.write_bytes(whole + piece)
        with RunJournal(path, "x") as journal:
            assert [each.code for each in journal.programs] == ["code"]
        assert path.read_bytes() == whole


@pytest.mark.parametrize(
    "line",
    [
        "nonsense",
        "[]",
        '{"program":3,"code_hash":"sha256:0","code":""}',
        '{"program":2,"code_hash":"sha256:0","code":"changed"}',
        '{"answer":1,"sequence":1,"tool":"t","arguments_hash":"h","occurrence":1}',
        '{"answer":7,"sequence":1,"tool":"t","arguments_hash":"h","occurrence":1,"result":1}',
        '{"ended":9,"how":"done","untold":[]}',
    ],
)
def test_a_line_that_is_no_record_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "journal"
    with RunJournal(path, "x") as journal:
        journal.begin(1, "code")
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")
    with pytest.raises(DocumentError, match="line 3"):
        RunJournal(path)


def test_a_journal_belongs_to_one_execution_and_one_process(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with RunJournal(path, "x"), pytest.raises(EnvironmentProblem, match="going on elsewhere"):
        RunJournal(path, "x")
    with pytest.raises(DocumentError, match="'x'"):
        RunJournal(path, "y")
    with RunJournal(path) as journal:
        assert journal.execution_id == "x"
        with pytest.raises(UsageError):
            Bridge([], journal=journal, execution_id="y")


@pytest.mark.skipif(sys.platform == "win32", reason="modes of files are POSIX")
def test_a_journal_is_its_owners_alone(tmp_path: Path) -> None:
    with RunJournal(tmp_path / "journal"):
        assert (tmp_path / "journal").stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is full: /dev/full, Linux only")
async def test_no_effect_happens_that_can_not_be_recorded(tmp_path: Path) -> None:
    bank = Bank(tmp_path / "ledger")
    with RunJournal(tmp_path / "journal") as journal:
        bridge, call = Bridge(bank.tools(), journal=journal), Calls()
        bridge.begin("code")
        full = os.open("/dev/full", os.O_WRONLY)
        os.dup2(full, journal._fd)
        os.close(full)
        for _ in range(2):
            with pytest.raises(EnvironmentProblem, match="can't go on"):
                await bridge.on_call(call("pay", to="a", cents=1))
    assert bank.paid == []


async def test_a_bridge_with_a_journal_must_know_the_program(tmp_path: Path) -> None:
    with RunJournal(tmp_path / "journal") as journal:
        bridge = Bridge(Bank(tmp_path / "ledger").tools(), journal=journal)
        with pytest.raises(UsageError, match="begin"):
            await bridge.on_call(Calls()("balance", of="a"))
