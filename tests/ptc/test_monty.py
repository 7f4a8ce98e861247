"""The embedded rung: type check, subset, snapshots, its pool, and its exit."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from typing import Any

import pytest
from rungs import TOOLS, answer, run, sandbox, session

from ai_evolution.errors import SandboxUnavailable, UsageError
from ai_evolution.ptc import Answer, Call, Limits, Session, ToolStub
from ai_evolution.ptc.sandboxes.monty import MontySandbox, Snapshot, annotation, stored, stubs


@pytest.fixture(autouse=True)
def _usable() -> None:
    sandbox("monty")


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("await echo(1)\nawait get_budget(employe='E1')", "`employe` does not match any known parameter"),
        ("await echo(1)\nawait get_budget(quarter='Q3')", "required parameter `employee`"),
        ("await echo(1)\nawait get_budget('E1', 'Q3', 7)", "Too many positional arguments"),
        ("await echo(1)\nawait get_budget(5)", "Expected `str`"),
        ("await echo(1)\nawait get_bugdet('E1')", "`get_bugdet` used when not defined"),
    ],
)
def test_a_mistake_in_the_use_of_a_tool_costs_no_call(code: str, said: str) -> None:
    outcome = run("monty", code)
    assert outcome.error is not None
    assert (outcome.ended, outcome.error.type, outcome.calls) == ("error", "TypeCheckError", ())
    assert said in outcome.error.message
    assert outcome.error.frames[0].line == 2


@pytest.mark.parametrize(
    "code",
    [
        "x: int = 'a'\nx",  # what a checker dislikes and Python runs
        "d = await echo({'a': 1})\nd['a']\n'a'",
        "def f(a):\n    return a.b\n'a'",
        "import json\nreturn json.loads('\"a\"')",
        "'a'",
    ],
)
def test_nothing_but_the_use_of_tools_and_names_is_held_against_a_program(code: str) -> None:
    assert run("monty", code).value == "a"


def test_a_name_from_a_run_that_failed_is_known_to_the_next() -> None:
    assert run("monty", "x = 41\n1 / 0", "x + 1").value == 42


def test_without_type_check_a_mistake_is_found_when_it_runs() -> None:
    async def go() -> Any:
        async with MontySandbox(type_check=False) as place, await place.open(TOOLS) as opened:
            return await opened.run("await echo(1)\nawait get_bugdet('E1')", answer)

    outcome = asyncio.run(go())
    assert (outcome.error.type, len(outcome.calls)) == ("NameError", 1)


@pytest.mark.parametrize(
    "code",
    [
        "class A(dict): pass",
        "def f():\n    yield 1\nf()",
        "async def f():\n    async with f: pass",
        "import enum",
    ],
)
def test_what_the_subset_lacks_ends_with_an_error_and_goes_nowhere_else(code: str) -> None:
    outcome = run("monty", code)
    assert outcome.error is not None
    assert outcome.error.type in ("NotImplementedError", "ModuleNotFoundError", "SyntaxError")
    assert ("jail" in outcome.note) == (outcome.error.type == "NotImplementedError")


def test_schemas_become_annotations_no_narrower_than_they_are() -> None:
    assert annotation({"type": "string"}) == "str"
    assert annotation({"type": ["integer", "null"]}) == "int | None"
    assert annotation({"enum": [1]}) == annotation(True) == annotation({"type": "what"}) == "Any"
    text = stubs({t.identifier: t for t in (*TOOLS, ToolStub("a-b", ("c-d",)))})
    assert "async def get_budget(employee: str, quarter: str = ...) -> Any: ..." in text
    assert "async def echo(value: Any = ...) -> Any: ..." in text
    assert "async def a_b(*given: Any, **others: Any) -> Any: ..." in text
    compile(text, "stubs", "exec")


def test_every_way_to_give_a_name_a_value_is_seen() -> None:
    code = """
import a.b, c as d
from e import f
for g in h: pass
with i as j: pass
try: k
except K as l: pass
def m(n, *o, **p): q: int = (r := 1)
class s: pass
t, (u, *v) = w
"""
    assert stored(code) == set("adfgjlmnopqrstuv")
    assert stored("x = (") == set()


def test_sleep_is_real_and_ends_with_the_run() -> None:
    code = "import asyncio, time\nasync def f(i):\n    await asyncio.sleep(0.01)\n    return i\n"
    assert run("monty", code + "time.sleep(0.01)\nawait asyncio.gather(*[f(i) for i in range(3)])").value == [
        0,
        1,
        2,
    ]
    assert (
        run("monty", "import asyncio\nawait asyncio.sleep(100)", limits=Limits(seconds=0.3)).ended
        == "timeout"
    )


def test_more_calls_than_the_client_allows_by_itself() -> None:
    outcome = run("monty", "n = 0\nfor i in range(1200):\n    n += await echo(i)\nn")
    assert (outcome.value, len(outcome.calls)) == (719_400, 1200)


PROGRAM = """
print("begun")
import asyncio
a, b = await asyncio.gather(echo(1), echo(2))
c = await echo(a + b)
print("ended")
[a, b, c]
"""


def test_a_program_goes_on_from_a_snapshot_in_another_process() -> None:
    kept: list[Snapshot] = []
    made: list[Call] = []

    async def see(call: Call) -> Answer:
        made.append(call)
        return Answer(call.arguments["value"])

    async def go() -> Any:
        async with await MontySandbox().open(TOOLS) as opened:
            whole = await opened.run(PROGRAM, see, on_snapshot=kept.append)
        made.clear()
        last = next(s for s in kept if s.made == 3)
        async with await MontySandbox().open(TOOLS) as other:
            again = await other.resume(last, see)
            with pytest.raises(UsageError, match="fresh"):
                await other.resume(last, see)
            return whole, again, await other.run("c + 1", see)

    whole, again, after = asyncio.run(go())
    assert whole.value == again.value == [1, 2, 3]
    assert whole.output == again.output == "begun\nended\n"
    assert [(call.id, call.sequence) for call in made] == [("c3", 3)]
    assert after.value == 4


def test_a_kept_pool_gives_each_session_an_empty_interpreter() -> None:
    async def go() -> Any:
        async with MontySandbox(type_check=False) as place:
            async with await place.open(()) as first:
                await first.run("secret = 1\nimport json\njson.x = 2", answer)
            async with await place.open(()) as second:
                return [
                    (await second.run(code, answer)).error.type  # type: ignore[union-attr]
                    for code in ("secret", "import json\njson.x")
                ]

    assert asyncio.run(go()) == ["NameError", "AttributeError"]


def test_a_pool_that_is_used_up_says_so_after_a_while() -> None:
    async def go() -> None:
        async with MontySandbox(processes=1, wait=0.05) as place, await place.open(()):
            with pytest.raises(SandboxUnavailable, match="all 1 workers"):
                await place.open(())

    asyncio.run(go())


def test_a_worker_that_is_killed_is_a_crash_and_the_next_run_has_another() -> None:
    async def go(opened: Session) -> Any:
        async def murder(call: Call) -> Answer:
            os.kill(opened._pid, 9)  # type: ignore[attr-defined]
            return Answer(1)

        return await opened.run("print('a')\nawait echo(1)", murder), await opened.run("1 + 1", murder)

    dead, after = session("monty", go)
    assert (dead.ended, dead.output, after.value) == ("crash", "a\n", 2)


def test_the_host_ends_well_after_a_worker_was_killed() -> None:
    """The asynchronous client of 1.4.0 aborts here (exit code 134): the reason for our thread."""
    script = """
import asyncio
from ai_evolution.ptc import Limits, pick
async def main():
    async with await pick("monty").open((), Limits(seconds=0.2)) as session:
        print((await session.run("while True: pass", None)).ended)
asyncio.run(main())
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "timeout\n", "")
