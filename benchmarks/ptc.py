"""What a sandbox costs: the rungs monty and jail against a plain subprocess, in one run.

    python benchmarks/ptc.py [--rounds 5] [--runs 1000] [--sessions 100] [--out FILE]

The baseline is ``open_unsafe()``: the same runner and the same wire without walls; *pipe* is a child that
answers lines of JSON, driven by blocking reads, and shows what the wire itself costs. The rungs take turns in
each round, so that a slow moment of the machine meets all of them; a figure is the median of the rounds.

* open: a session from nothing to its first result and gone again (monty from a kept pool)
* run: a program that was not seen before, in an open session (for monty, its type check included), and one
  that was seen, in a new session
* call: one of 1,000 calls of a tool, one after the other
* gather: 20 calls of a tool that takes 200 ms, against the sum of their times
* large: a tool's result of 5 MB
* many: 10,000 calls in one session
* crowd: 100 sessions at once, each with 20 calls
* leaks: 1,000 runs of which a third time out, crash or are killed; what the host holds before and after

Bars (issue 5): monty runs in under 5 ms and calls in under 0.5 ms; jail calls in under 0.2 ms; gather is at
least 15 times as fast as its sum; no descriptor, child, thread or file is left. Exit code 1: one is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Awaitable, Iterable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from ai_evolution.errors import SandboxUnavailable
from ai_evolution.ptc import Answer, Call, Limits, Sandbox, ToolStub, open_unsafe, pick
from ai_evolution.ptc.sandboxes.monty import MontySandbox

CALLS, MANY, LARGE, SLOW = 1000, 10_000, 5_000_000, 0.2
ROOMY = Limits(seconds=300)
TOOL = (ToolStub("tool", ("value",), {"type": "object", "properties": {"value": {}}}),)
BARS = {
    ("monty", "run_ms"): ("<", 5.0),
    ("monty", "call_ms"): ("<", 0.5),
    ("jail", "call_ms"): ("<", 0.2),
    ("monty", "gather_speedup"): (">", 15.0),
    ("jail", "gather_speedup"): (">", 15.0),
}
PIPE = "import sys\nfor line in sys.stdin:\n    sys.stdout.write(line)\n    sys.stdout.flush()\n"
Rungs = dict[str, Sandbox]
Figures = dict[str, float]


async def answer(call: Call) -> Answer:
    value = call.arguments["value"]
    if value == "slow":
        await asyncio.sleep(SLOW)
    return Answer("x" * LARGE if value == "large" else value)


async def timed(work: Awaitable[Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    result = await work
    return time.perf_counter() - began, result


async def whole(place: Sandbox, code: str = "1 + 1") -> Any:
    async with await place.open(TOOL, ROOMY) as session:
        return (await session.run(code, answer)).check()


async def one_round(place: Sandbox, number: int) -> Figures:
    """Every figure of one rung, once."""
    await whole(place)
    figures: Figures = {"open_ms": (await timed(whole(place)))[0] * 1e3}
    async with await place.open(TOOL, ROOMY) as session:
        await session.run("0", answer)

        async def run(code: str) -> tuple[float, Any]:
            seconds, outcome = await timed(session.run(code, answer))
            return seconds, outcome.check()

        fresh = [(await run(f"{number} * 1000 + {i}"))[0] for i in range(20)]
        figures["run_ms"] = statistics.median(fresh) * 1e3
        figures["call_ms"] = (await run(f"for i in range({CALLS}):\n    await tool(i)"))[0] / CALLS * 1e3
        code = "import asyncio\nlen(await asyncio.gather(*[tool('slow') for _ in range(20)]))"
        figures["gather_speedup"] = 20 * (await run("await tool('slow')"))[0] / (await run(code))[0]
        figures["large_ms"] = (await run("len(await tool('large'))"))[0] * 1e3
    return figures


async def many(place: Sandbox) -> Figures:
    async with await place.open(TOOL, ROOMY) as session:
        code = f"n = 0\nfor i in range({MANY}):\n    n += await tool(1)\nn"
        seconds, outcome = await timed(session.run(code, answer))
        assert outcome.check() == MANY, outcome
    return {"many_s": seconds}


async def crowd(place: Sandbox, sessions: int) -> Figures:
    async def one() -> Any:
        return await whole(place, "n = 0\nfor i in range(20):\n    n += await tool(1)\nn")

    seconds, results = await timed(asyncio.gather(*[one() for _ in range(sessions)]))
    assert results == [20] * sessions
    return {"crowd_s": seconds, "crowd_ms_each": seconds / sessions * 1e3}


def pipe() -> Figures:
    """A child that echoes lines of JSON, and blocking reads."""
    argv = [sys.executable, "-I", "-S", "-u", "-c", PIPE]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        began = time.perf_counter()
        for number in range(CALLS):
            child.stdin.write(json.dumps({"call_id": f"c{number}", "value": number}).encode() + b"\n")
            child.stdin.flush()
            json.loads(child.stdout.readline())
        return {"call_ms": (time.perf_counter() - began) / CALLS * 1e3}


# --- leaks ---------------------------------------------------------------------------------------


def held() -> dict[str, int]:
    """What this process holds, its zombies too."""
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii").split()
    return {
        "descriptors": len(list(Path("/proc/self/fd").iterdir())),
        "children": len(children),
        "threads": sum(not thread.name.startswith("asyncio_") for thread in threading.enumerate()),
        "files": len(list(Path(tempfile.gettempdir()).iterdir())),
    }


def inside() -> set[int]:
    """Processes of this machine that are, or were, the inside of something, zombies included."""
    found = set()
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                name = (
                    (folder / "stat")
                    .read_text(encoding="utf-8", errors="replace")
                    .split("(")[1]
                    .split(")")[0]
                )
                command = (folder / "cmdline").read_bytes()
                zombie = not command and name in ("bwrap", "monty", "python3", "python3.11", "prlimit")
                if zombie or b"runner.py" in command or b"monty" in command.split(b"\0")[0]:
                    found.add(int(folder.name))
            except (OSError, IndexError):
                continue
    return found


async def bad_runs(place: Sandbox, runs: int) -> dict[str, int]:
    """Runs in sessions of three; every third one times out, crashes, or is killed. How they ended."""
    ends: dict[str, int] = {}

    async def kill(call: Call) -> Answer:
        if call.arguments["value"] == "kill me":
            child = getattr(session, "pid", None) or getattr(session, "_pid", None)
            assert child is not None
            os.kill(child, 9)
        return Answer(1)

    bad = ("while True: pass", "import os\nos._exit(1)", "await tool('kill me')")
    for number in range(0, runs, 3):
        async with await place.open(TOOL, Limits(seconds=0.1 if number % 9 == 0 else 30)) as session:
            for code in ("await tool(1)", "print('x' * 1000)", bad[number // 3 % 3]):
                outcome = await session.run(code, kill)
                ends[outcome.ended] = ends.get(outcome.ended, 0) + 1
    return ends


async def leaks(place: Sandbox, runs: int) -> dict[str, Any]:
    await bad_runs(place, 9)
    strangers = inside()
    before = held()
    began = time.perf_counter()
    ends = await bad_runs(place, runs)
    seconds = time.perf_counter() - began
    deadline = time.monotonic() + 10
    while (left := inside() - strangers) and time.monotonic() < deadline:  # noqa: ASYNC110
        await asyncio.sleep(0.05)
    after = held()
    clean = before == after and not left
    return {
        "runs": runs,
        "seconds": seconds,
        "ends": ends,
        "before": before,
        "after": after,
        "left": len(left),
        "clean": clean,
    }


# --- all of it -----------------------------------------------------------------------------------


async def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    result: dict[str, Any] = {"figures": {}, "leaks": {}, "not_run": {}}
    async with AsyncExitStack() as stack:
        rungs: Rungs = {"unsafe": open_unsafe()}
        for name in ("jail", "monty"):
            try:
                place = await stack.enter_async_context(MontySandbox()) if name == "monty" else pick(name)
                await whole(place)
                rungs[name] = place
            except SandboxUnavailable as error:
                result["not_run"][name] = str(error)
        series: dict[str, list[Figures]] = {name: [] for name in ("pipe", *rungs)}
        for number in range(arguments.rounds):
            series["pipe"].append(pipe())
            for name, place in rungs.items():
                series[name].append(await one_round(place, number))
            print(f"  round {number + 1} of {arguments.rounds}", file=sys.stderr)
        for name, rounds in series.items():
            result["figures"][name] = {
                key: statistics.median(figures[key] for figures in rounds) for key in rounds[0]
            }
        for name, place in rungs.items():
            print(f"  {name}: many, crowd", file=sys.stderr)
            result["figures"][name] |= await many(place)
            result["figures"][name] |= await crowd(place, arguments.sessions)
    with tempfile.TemporaryDirectory(prefix="ai-evolution-bench-") as folder:
        tempfile.tempdir = folder  # ours alone, so that a file in it is a file of ours
        for name in rungs:
            if sys.platform == "linux" and arguments.runs:
                print(f"  {name}: {arguments.runs} runs that end badly", file=sys.stderr)
                place = MontySandbox() if name == "monty" else rungs[name]
                result["leaks"][name] = await leaks(place, arguments.runs)
        tempfile.tempdir = None
    return result


def bars(result: dict[str, Any]) -> Iterable[tuple[str, bool]]:
    for (rung, key), (sign, bar) in BARS.items():
        if (figure := result["figures"].get(rung, {}).get(key)) is not None:
            holds = figure < bar if sign == "<" else figure > bar
            yield f"{rung} {key} {figure:.3f} {sign} {bar}", holds
    for rung, leak in result["leaks"].items():
        yield f"{rung}: nothing left of {leak['runs']} runs, {leak['ends']}", leak["clean"]


def show(result: dict[str, Any]) -> None:
    figures = result["figures"]
    keys = list(dict.fromkeys(key for of in figures.values() for key in of))
    print(f"{'figure':16}" + "".join(f"{name:>12}{'':>8}" for name in figures))
    base = figures["unsafe"]
    for key in keys:
        cells = ""
        for of in figures.values():
            ratio = f"x{of[key] / base[key]:.2f}" if key in of else ""
            cells += f"{of[key]:12.3f}{ratio:>8}" if key in of else f"{'':20}"
        print(f"{key:16}{cells}")
    for name, why in result["not_run"].items():
        print(f"{name} NOT RUN: {why}")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--runs", type=int, default=1000, help="runs of the leak test, for each rung; 0: none"
    )
    parser.add_argument("--sessions", type=int, default=100)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/ptc.json"))
    arguments = parser.parse_args()
    result = asyncio.run(measure(arguments))
    show(result)
    verdicts = list(bars(result))
    for what, holds in verdicts:
        print(f"{'holds  ' if holds else 'MISSED '} {what}")
    result |= {
        "bars": dict(verdicts),
        "machine": {"cores": os.cpu_count(), "python": platform.python_version(), "load": os.getloadavg()},
    }
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(f"\nwritten: {arguments.out}")
    return 0 if all(holds for _, holds in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
