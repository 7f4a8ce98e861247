"""The bridge: what a call must pass before a tool is called, and what comes back."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from bridge_tools import INTEGER, STRING, Bank, Calls, kind, tool

from ai_evolution.errors import UsageError
from ai_evolution.ptc.bridge import AGAIN, Bridge, Doubt
from ai_evolution.ptc.sandbox import Answer, Call, open_unsafe

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def bank(tmp_path: Path) -> Bank:
    return Bank(tmp_path / "ledger")


async def _twice(n: int) -> int:
    return 2 * n


DOUBLE = tool("double", _twice, {"n": INTEGER}, INTEGER, reads=True)


async def test_a_program_gets_the_data_of_a_success_and_not_its_envelope(bank: Bank) -> None:
    bridge = Bridge([DOUBLE, *bank.tools()])
    call = Calls()
    assert await bridge.on_call(call("double", n=21)) == Answer(42)
    assert await bridge.on_call(call("pay", to="a", cents=5)) == Answer({"paid": 5})


@pytest.mark.parametrize(
    ("schema", "given", "got"),
    [
        ({"type": "array"}, [1], [1]),
        ({"type": ["array", "null"]}, None, None),
        ({"type": "object"}, {"value": 3}, {"value": 3}),
        ({"properties": {"value": INTEGER}, "required": ["value"]}, {"value": 3}, 3),
        ({"type": ["object", "array"], "required": ["value"]}, {"value": 3}, {"value": 3}),
        ({"anyOf": [{"type": "array"}, INTEGER]}, 3, 3),
        (None, "text", "text"),
        (None, {"value": 1, "more": 2}, {"value": 1, "more": 2}),
    ],
)
async def test_a_bare_value_comes_back_bare(schema: Any, given: Any, got: Any) -> None:
    async def give() -> Any:
        return given

    answer = await Bridge([tool("give", give, {}, schema, reads=True)]).on_call(Calls()("give"))
    assert answer == Answer(got)


async def test_arguments_that_break_the_contract_never_reach_the_tool(bank: Bank) -> None:
    asked: list[Call] = []

    async def approve(call: Call) -> bool:
        asked.append(call)
        return True

    bridge = Bridge(bank.tools(), approve=approve)
    answer = await bridge.on_call(Calls()("pay", to="a", cents="5"))
    assert kind(answer) == "CallerBreach"
    assert answer.error is not None
    assert "/cents" in json.dumps(answer.error["envelope"])
    assert (bank.paid, asked, bridge.made.total()) == ([], [], 0)


async def test_a_result_that_breaks_the_contract_never_reaches_the_program() -> None:
    async def lie() -> str:
        return "secret-4711"

    answer = await Bridge([tool("lie", lie, {}, INTEGER, reads=True)]).on_call(Calls()("lie"))
    assert kind(answer) == "ToolBreach"
    assert "secret-4711" not in json.dumps(answer.error)


async def test_an_exception_of_a_tool_says_nothing_of_its_text() -> None:
    def leak() -> int:
        raise ValueError("secret-4711")

    answer = await Bridge([tool("leak", leak, {}, reads=True)]).on_call(Calls()("leak"))
    assert kind(answer) == "ToolBreach"
    assert "secret-4711" not in json.dumps(answer.error)


async def test_a_declared_failure_is_told_as_one(bank: Bank) -> None:
    answer = await Bridge(bank.tools()).on_call(Calls()("pay", to="a", cents=5000))
    assert kind(answer) == "ToolFailure"
    assert answer.error is not None
    assert answer.error["message"].startswith("TOO_MUCH")


async def test_a_tool_that_is_not_on_the_list_is_not_called(bank: Bank) -> None:
    assert kind(await Bridge([DOUBLE]).on_call(Calls()("pay", to="a", cents=5))) == "UnknownTool"


async def test_quotas_hold_for_each_tool_and_for_all_together() -> None:
    call = Calls()
    bridge = Bridge([DOUBLE], quotas={"double": 2})
    kinds = [kind(await bridge.on_call(call("double", n=n))) for n in range(4)]
    assert kinds == ["", "", "QuotaExceeded", "QuotaExceeded"]
    together = Bridge([DOUBLE, tool("other", _twice, {"n": INTEGER}, reads=True)], quotas={"*": 2})
    kinds = [kind(await together.on_call(call(name, n=1))) for name in ("double", "other", "double")]
    assert kinds == ["", "", "QuotaExceeded"]


@pytest.mark.parametrize("quotas", [{"nobody": 1}, {"double": -1}, {"double": True}])
def test_a_quota_that_means_nothing_is_refused(quotas: dict[str, int]) -> None:
    with pytest.raises(UsageError):
        Bridge([DOUBLE], quotas=quotas)


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(UsageError, match="double"):
        Bridge([DOUBLE, DOUBLE])


async def test_a_call_has_a_deadline_and_a_program_is_told_when_it_passed() -> None:
    async def wait() -> None:
        await asyncio.Event().wait()

    answer = await Bridge([tool("wait", wait, {}, reads=True)], deadline=0.01).on_call(Calls()("wait"))
    assert kind(answer) == "DeadlineExceeded"


def test_a_tool_has_effects_unless_it_says_that_it_only_reads(bank: Bank) -> None:
    stubs = {stub.name: stub for stub in Bridge(bank.tools()).stubs()}
    assert {name: stub.has_effects for name, stub in stubs.items()} == {
        "balance": False,
        "pay": True,
        "pay_once": True,
    }


async def test_approval_is_asked_one_at_a_time_and_only_for_effects(bank: Bank) -> None:
    asked: list[str] = []

    async def approve(call: Call) -> bool:
        asked.append(f"{call.arguments['to']} begins")
        await asyncio.sleep(0)
        asked.append(f"{call.arguments['to']} ends")
        return call.arguments["to"] != "mallory"

    bridge, call = Bridge(bank.tools(), approve=approve), Calls()
    calls = [call("pay", to="a", cents=1), call("pay", to="mallory", cents=2), call("balance", of="x")]
    answers = await asyncio.gather(*map(bridge.on_call, calls))
    assert [kind(each) for each in answers] == ["", "ApprovalRefused", ""]
    assert asked == ["a begins", "a ends", "mallory begins", "mallory ends"]
    assert [each["to"] for each in bank.paid] == ["a"]


@pytest.mark.parametrize("said", [None, 1, "yes"])
async def test_only_true_is_an_approval(bank: Bank, said: Any) -> None:
    async def approve(call: Call) -> Any:
        return said

    assert kind(await Bridge(bank.tools(), approve=approve).on_call(Calls()("pay", to="a", cents=1))) == (
        "ApprovalRefused"
    )


async def test_an_approver_that_fails_did_not_approve(bank: Bank) -> None:
    async def approve(call: Call) -> bool:
        raise RuntimeError

    answer = await Bridge(bank.tools(), approve=approve).on_call(Calls()("pay", to="a", cents=1))
    assert (kind(answer), bank.paid) == ("ApprovalRefused", [])


async def test_the_idempotency_key_is_the_hosts_alone(bank: Bank) -> None:
    bridge, call = Bridge(bank.tools(), new_key=iter(["execution", "k1", "k2"]).__next__), Calls()
    stub = next(stub for stub in bridge.stubs() if stub.name == "pay_once")
    assert stub.parameters == ("to", "cents")
    assert "idempotency_key" not in json.dumps(stub.schema)
    await bridge.on_call(call("pay_once", to="a", cents=1))
    await bridge.on_call(call("pay_once", to="a", cents=1))
    assert [each["key"] for each in bank.paid] == ["k1", "k2"]
    answer = await bridge.on_call(call("pay_once", to="a", cents=1, idempotency_key="k1"))
    assert kind(answer) == "CallerBreach"
    assert len(bank.paid) == 2


async def test_a_key_can_have_another_name_when_the_schema_marks_it() -> None:
    seen: list[str] = []

    async def send(text: str, requestToken: str) -> None:
        seen.append(requestToken)

    key = {**STRING, "pattern": "^k-[0-9]+$", "x-idempotency-key": True}
    bridge = Bridge([tool("send", send, {"text": STRING, "requestToken": key})], new_key=lambda: "k-1")
    assert kind(await bridge.on_call(Calls()("send", text="hi"))) == ""
    assert (seen, bridge.stubs()[0].parameters) == (["k-1"], ("text",))


# an effect of which nobody knows whether it happened


class Flaky:
    """A tool whose first call has its effect and then fails."""

    def __init__(self) -> None:
        self.keys: list[str] = []

    async def act(self, n: int, idempotency_key: str = "") -> dict[str, Any]:
        self.keys.append(idempotency_key)
        if len(self.keys) == 1:
            raise ConnectionError
        return {}


async def test_a_retry_after_a_crash_of_the_tool_has_the_key_of_the_first_try() -> None:
    flaky, call = Flaky(), Calls()
    bridge = Bridge([tool("act", flaky.act, {"n": INTEGER, "idempotency_key": STRING})])
    first, second, third = [await bridge.on_call(call("act", n=1)) for _ in range(3)]
    assert (kind(first), kind(second), kind(third)) == ("ToolBreach", "", "")
    assert flaky.keys[0] == flaky.keys[1] != flaky.keys[2]


@pytest.mark.parametrize(
    ("says", "expected", "made"),
    [
        (None, "EffectUncertain", 1),
        (AGAIN, "", 2),
        (Answer({"found": "it went through"}), "", 1),
    ],
)
async def test_without_a_key_somebody_is_asked_before_a_retry(says: Any, expected: str, made: int) -> None:
    flaky, call, doubts = Flaky(), Calls(), []

    async def settle(doubt: Doubt) -> Any:
        doubts.append((doubt.call.arguments, bool(doubt.key)))
        return says

    bridge = Bridge([tool("act", flaky.act, {"n": INTEGER})], settle=settle)
    await bridge.on_call(call("act", n=1))
    answer = await bridge.on_call(call("act", n=1))
    assert kind(answer) == expected
    assert doubts == [({"n": 1}, True)]
    assert len(flaky.keys) == made
    await bridge.on_call(call("act", n=2))
    assert len(doubts) == 1, "other arguments are another effect"


async def test_a_retry_after_a_deadline_is_in_doubt_too() -> None:
    made = 0

    async def slow() -> None:
        nonlocal made
        made += 1
        await asyncio.Event().wait()

    bridge, call = Bridge([tool("slow", slow, {})], deadline=0.01), Calls()
    kinds = [kind(await bridge.on_call(call("slow"))) for _ in range(2)]
    assert (kinds, made) == (["DeadlineExceeded", "EffectUncertain"], 1)


async def test_an_effect_goes_on_when_its_program_is_cut_off_and_the_next_one_gets_its_answer() -> None:
    begun, go, made = asyncio.Event(), asyncio.Event(), 0

    async def slow(n: int) -> dict[str, int]:
        nonlocal made
        made += 1
        begun.set()
        await go.wait()
        return {"n": n}

    bridge, call = Bridge([tool("slow", slow, {"n": INTEGER})]), Calls()
    first = asyncio.create_task(bridge.on_call(call("slow", n=1)))
    await begun.wait()
    first.cancel()
    await asyncio.wait([first])
    second = asyncio.create_task(bridge.on_call(call("slow", n=1)))
    await asyncio.sleep(0)
    go.set()
    assert await second == Answer({"n": 1})
    await bridge.aclose()
    assert made == 1
    assert await bridge.on_call(call("slow", n=1)) == Answer({"n": 1})
    assert made == 2, "an answer is handed on once"


async def test_what_only_reads_is_cut_off_with_its_program() -> None:
    begun, cut = asyncio.Event(), asyncio.Event()

    async def read() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            cut.set()

    task = asyncio.create_task(Bridge([tool("read", read, {}, reads=True)]).on_call(Calls()("read")))
    await begun.wait()
    task.cancel()
    async with asyncio.timeout(5):
        await cut.wait()


async def test_a_program_meets_the_bridge_through_a_real_runner(bank: Bank) -> None:
    bridge = Bridge([DOUBLE, *bank.tools()], quotas={"pay": 1})
    code = """
import asyncio
print(await asyncio.gather(*[double(n) for n in range(20)]))
await pay("a", 5)
try:
    await pay("b", 6)
except ToolError as error:
    print(error.type)
await double("x")
"""
    async with await open_unsafe().open(bridge.stubs()) as session:
        outcome = await bridge.run(session, code)
    assert outcome.output == f"{[2 * n for n in range(20)]}\nQuotaExceeded\n"
    assert outcome.error is not None
    assert outcome.error.message.startswith("CallerBreach: INVALID_ARGUMENTS")
    assert [frame.code for frame in outcome.error.frames] == ['await double("x")']
    assert [each["to"] for each in bank.paid] == ["a"]
