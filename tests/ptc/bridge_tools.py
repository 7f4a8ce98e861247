"""Tools for tests of the bridge, described as MCP does, and a ledger in a file of what was done."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ai_evolution.atdf.contract import Contract, ToolFailure
from ai_evolution.ptc.sandbox import Answer, Call

INTEGER, STRING = {"type": "integer"}, {"type": "string"}


def tool(
    name: str,
    function: Callable[..., Any],
    properties: Mapping[str, Any],
    result: Mapping[str, Any] | None = None,
    *,
    reads: bool | None = None,
    **options: Any,
) -> Contract:
    description: dict[str, Any] = {
        "name": name,
        "description": f"{name}, for a test.",
        "inputSchema": {
            "type": "object",
            "properties": dict(properties),
            "required": list(properties),
            "additionalProperties": False,
        },
    }
    if result is not None:
        description["outputSchema"] = dict(result)
    if reads is not None:
        description["annotations"] = {"readOnlyHint": reads}
    return Contract(description, function, **options)


class Bank:
    """Payments go into a file, so that they outlive whoever made them. ``stop`` is called around one."""

    def __init__(self, ledger: Path, stop: Callable[[str, str], None] = lambda when, to: None) -> None:
        self.ledger = ledger
        self.stop = stop

    @property
    def paid(self) -> list[dict[str, Any]]:
        if not self.ledger.exists():
            return []
        return [json.loads(line) for line in self.ledger.read_text(encoding="utf-8").splitlines()]

    def _pay(self, to: str, cents: int, key: str) -> dict[str, Any]:
        self.stop("before", to)
        with self.ledger.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"to": to, "cents": cents, "key": key}) + "\n")
        self.stop("after", to)
        return {"paid": cents}

    async def pay(self, to: str, cents: int) -> dict[str, Any]:
        if cents > 1000:
            raise ToolFailure("TOO_MUCH", "over the limit", expected="at most 1000", solution="pay less")
        return self._pay(to, cents, "")

    async def pay_once(self, to: str, cents: int, idempotency_key: str) -> dict[str, Any]:
        if any(each["key"] == idempotency_key for each in self.paid):
            return {"paid": cents}
        return self._pay(to, cents, idempotency_key)

    def tools(self) -> list[Contract]:
        async def balance(of: str) -> int:
            await asyncio.sleep(0)
            return len(of)

        properties = {"to": STRING, "cents": INTEGER}
        result = {"type": "object", "properties": {"paid": INTEGER}, "required": ["paid"]}
        return [
            tool("balance", balance, {"of": STRING}, INTEGER, reads=True),
            tool("pay", self.pay, properties, result, reads=False),
            tool("pay_once", self.pay_once, {**properties, "idempotency_key": STRING}, result),
        ]


class Calls:
    """Numbers calls as a session does."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, tool: str, **arguments: Any) -> Call:
        self.count += 1
        return Call(f"c{self.count}", self.count, tool, arguments)


def kind(answer: Answer) -> str:
    return answer.error["type"] if answer.error is not None else ""
