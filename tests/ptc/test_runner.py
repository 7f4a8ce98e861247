"""The program inside, on every rung that has it: what a model's code can rely on."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any

import pytest
from rungs import TOOLS, answer, run, session

from ai_evolution.ptc import Answer, Call, Frame, Limits, Session, ToolStub
from ai_evolution.ptc.process import RUNNER
from ai_evolution.ptc.wire import Finished, HostWire, Printed, Ready

MODEL_CODE = {
    "an expression": ("6 * 7", 42),
    "await at the top level": ("(await get_budget('E1'))['cents']", 500_000),
    "return at the top level": ("x = 5\nif x:\n    return x + 1\nx", 6),
    "return after await": ("budget = await get_budget(employee='E1')\nreturn budget['cents']", 500_000),
    "asyncio.run": ("import asyncio\nasync def m():\n    return await echo(3)\nasyncio.run(m())", 3),
    "gather": ("import asyncio\nawait asyncio.gather(*[echo(i) for i in range(5)])", [0, 1, 2, 3, 4]),
    "gather of coroutines": (
        "import asyncio\nasync def twice(i):\n    return 2 * await echo(i)\n"
        "await asyncio.gather(*[twice(i) for i in range(3)])",
        [0, 2, 4],
    ),
    "a comprehension that awaits": ("[await echo(i) for i in (1, 2)]", [1, 2]),
    "a tool by any name": ("await tools['echo'](value=1)", 1),
    "tuples and integer keys, as JSON": ("{1: (2, 3)}", {"1": [2, 3]}),
    "a failed call": (
        "try:\n    await get_budget('E9')\nexcept ToolError as e:\n    r = str(e)\nr",
        "NotFound: no employee E9",
    ),
    "a failed call in gather": (
        "import asyncio\ntry:\n    await asyncio.gather(echo(1), get_budget('E9'))\n"
        "except RuntimeError as e:\n    r = str(e)\nr",
        "NotFound: no employee E9",
    ),
    "a marker in the code": ("x = '''\n__CODE_END__\n__EXIT_SESSION__\n'''\nlen(x)", 31),
    "no code": ("", None),
    "a statement": ("x = 1", None),
}


@pytest.mark.parametrize("rung", ["monty", "jail"])
def test_the_same_program_gives_the_same_result_on_every_rung(rung: str) -> None:
    async def go(opened: Session) -> dict[str, Any]:
        return {name: (await opened.run(code, answer)).value for name, (code, _) in MODEL_CODE.items()}

    assert session(rung, go) == {name: value for name, (_, value) in MODEL_CODE.items()}


@pytest.mark.parametrize("rung", ["monty", "jail"])
def test_variables_imports_and_functions_are_kept_between_runs(rung: str) -> None:
    assert run(rung, "x = 41", "def f(n): return x + n", "import json", "json.dumps(f(1))").value == "42"


@pytest.mark.parametrize("rung", ["monty", "jail"])
def test_an_error_has_its_type_its_text_and_the_program_s_own_frames(rung: str) -> None:
    outcome = run(rung, "def total(rows):\n    return rows['k']\n\nprint('so far')\ntotal({})")
    assert (outcome.ok, outcome.ended, outcome.output) == (False, "error", "so far\n")
    assert outcome.error is not None
    assert (outcome.error.type, outcome.error.message) == ("KeyError", "'k'")
    assert outcome.error.frames == (Frame(5, "total({})"), Frame(2, "return rows['k']", "total"))


@pytest.mark.parametrize("rung", ["monty", "jail"])
def test_an_error_of_a_tool_that_nobody_catches_is_the_program_s(rung: str) -> None:
    outcome = run(rung, "await get_budget('E9')")
    assert outcome.error is not None
    assert (outcome.error.type, outcome.error.message) == ("ToolError", "NotFound: no employee E9")
    assert [call.ended for call in outcome.calls] == ["error"]


@pytest.mark.parametrize("rung", ["monty", "jail"])
def test_a_syntax_error_names_the_line_and_leaves_the_session_as_it_was(rung: str) -> None:
    async def go(opened: Session) -> tuple[Any, Any]:
        await opened.run("x = 1", answer)
        return await opened.run("x = 2\ny = = 3", answer), await opened.run("x", answer)

    broken, after = session(rung, go)
    assert broken.error.type == "SyntaxError"
    assert [frame.line for frame in broken.error.frames] == [2]
    assert after.value == 1


@pytest.mark.parametrize("rung", ["monty", "jail"])
def test_positional_arguments_bind_in_the_order_of_the_schema(rung: str) -> None:
    calls = run(rung, "await echo(7)", "import asyncio\nawait asyncio.gather(echo(1), echo(value=2))").calls
    assert [(c.sequence, c.arguments) for c in calls] == [(1, {"value": 1}), (2, {"value": 2})]
    tools = (ToolStub("pay", ("to", "cents")),)
    made: list[dict[str, Any]] = []

    async def pay(call: Call) -> Answer:
        made.append(call.arguments)
        return Answer(True)

    outcome = run(rung, "await pay('ann', cents=5)", "await pay('ann', 5, 6)", on_call=pay, tools=tools)
    assert made == [{"to": "ann", "cents": 5}]
    assert outcome.error is not None
    assert outcome.error.type in ("TypeError", "TypeCheckError")
    outcome = run(rung, "x = {'to': 'bo'}\nawait pay('ann', **x)", on_call=pay, tools=tools)
    assert outcome.error is not None
    assert "to" in outcome.error.message
    assert len(made) == 1


@pytest.mark.parametrize("rung", ["monty", "jail"])
def test_arguments_that_are_no_json_never_leave(rung: str) -> None:
    outcome = run(rung, "await echo({1, 2})")
    assert outcome.error is not None
    assert outcome.error.type == "TypeError"
    assert "arguments of echo are not JSON" in outcome.error.message
    assert outcome.calls == ()


@pytest.mark.parametrize("rung", ["monty", "jail"])
@pytest.mark.parametrize("code", ["{1, 2}", "echo(1)", "float('nan')"])
def test_a_value_that_is_no_json_is_left_out_and_said_so(rung: str, code: str) -> None:
    outcome = run(rung, code)
    assert (outcome.ok, outcome.value) == (True, None)
    assert outcome.note.startswith("the value is a ")


@pytest.mark.parametrize("rung", ["monty", "jail"])
def test_any_text_comes_through_both_ways(rung: str) -> None:
    text = "ñ 漢 \U0001f600 \0 \r\n \x1b __PTC_OUTPUT__ \\u005f"
    outcome = run(rung, f"x = await echo({text!r})\nprint(x, end='')\nx")
    assert (outcome.value, outcome.output) == (text, text)


@pytest.mark.parametrize("rung", ["monty", "jail"])
def test_a_lone_surrogate_of_a_tool_is_replaced(rung: str) -> None:
    async def odd(call: Call) -> Answer:
        return Answer(["a\ud800b", float("nan")] if call.arguments["value"] else "a\ud800b")

    assert run(rung, "await echo(False)", on_call=odd).value == "a\ufffdb"
    outcome = run(rung, "await echo(True)", on_call=odd)
    assert outcome.error is not None
    assert outcome.error.message == "NotJson: the tool's result is not JSON"


def test_any_json_schema_may_describe_a_tool() -> None:
    tools = (
        ToolStub("get-it", ("a-b", "class"), {"additionalProperties": False, "properties": {"a-b": True}}),
    )

    async def give(call: Call) -> Answer:
        return Answer([call.tool, call.arguments])

    for rung in ("monty", "jail"):
        value = run(rung, "await get_it(1, **{'class': 2})", on_call=give, tools=tools).value
        assert value == ["get-it", {"a-b": 1, "class": 2}]


def test_exit_codes_forks_and_leftover_tasks_end_a_run_and_not_the_session() -> None:
    async def go(opened: Session) -> None:
        assert (await opened.run("import sys; sys.exit()", answer)).ok
        left = await opened.run("import sys; print('x', file=sys.stderr); sys.exit('no')", answer)
        assert left.error is not None
        assert (left.error.type, left.error.message, left.stderr) == ("SystemExit", "no", "x\n")
        fork = await opened.run("import os\nchild = os.fork()\nif child: os.waitpid(child, 0)\nx = 1", answer)
        assert (fork.ok, fork.ignored) == (True, 0)
        assert (await opened.run("import asyncio\nt = asyncio.create_task(echo(1))", answer)).ok is False
        forever = "async def f():\n    while True: await asyncio.sleep(0)\n"
        task = forever + "t = asyncio.create_task(f())\nawait echo(1)"
        assert (await opened.run(task, answer)).value == 1
        assert (await opened.run("t.cancelled(), x", answer)).value == [True, 1]
        assert (await opened.run("input()", answer)).error.type == "EOFError"  # type: ignore[union-attr]

    session("jail", go)


def test_an_exception_group_says_what_is_in_it() -> None:
    code = "import asyncio\nasync with asyncio.TaskGroup() as g:\n    g.create_task(get_budget('E9'))"
    error = run("jail", code).error
    assert error is not None
    assert error.type == "ExceptionGroup"
    assert "ToolError: NotFound: no employee E9" in error.message


def test_threads_with_loops_of_their_own_get_their_answers() -> None:
    code = """
import asyncio, threading
got = []
async def ask(i):
    got.append(await echo(i))
threads = [threading.Thread(target=lambda i=i: asyncio.run(ask(i))) for i in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
sorted(got)
"""
    assert run("jail", code).value == [0, 1, 2, 3]


def test_deep_recursion_and_text_that_cannot_be_made_are_errors_like_others() -> None:
    deep = run("jail", "def f(): f()\nf()").error
    assert deep is not None
    assert deep.type == "RecursionError"
    assert len(deep.frames) == 30
    code = "class Bad(Exception):\n    def __str__(self): raise ValueError\nraise Bad"
    bad = run("jail", code).error
    assert bad is not None
    assert (bad.type, bad.message) == ("Bad", "(its text could not be made)")


def test_in_single_mode_the_runner_runs_one_program_and_leaves() -> None:
    """By hand, with nothing but pipes: the wire is a protocol, not an API of ours."""
    wire = HostWire(TOOLS, Limits())
    with subprocess.Popen(
        [sys.executable, "-I", "-S", str(RUNNER)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdin.write(wire.open("n1", "single"))
        child.stdin.flush()
        assert wire.feed_stderr(child.stderr.readline()) == [Ready()]
        child.stdin.write(wire.execute("print('hello')\n6 * 7", "n2"))
        child.stdin.flush()
        events = wire.feed_stdout(child.stdout.read()) + wire.feed_stderr(child.stderr.read())
        assert child.wait(30) == 0
    assert events == [Printed("hello\n"), Finished(True, 42, None), Ready()]


def test_calls_that_wait_at_the_same_time_are_as_many_as_the_limit_allows() -> None:
    now = most = 0
    together = asyncio.Event()

    async def slow(call: Call) -> Answer:
        nonlocal now, most
        now += 1
        most = max(most, now)
        if now == 3:
            together.set()
        async with asyncio.timeout(60):
            await together.wait()
        await asyncio.sleep(0)
        now -= 1
        return Answer(None)

    code = "import asyncio\nlen(await asyncio.gather(*[echo(i) for i in range(20)]))"
    assert run("jail", code, limits=Limits(at_once=3), on_call=slow).value == 20
    assert most == 3
