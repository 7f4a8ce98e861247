"""The exercise of class 134 solved with the SDK and ``ai_evolution.a2a``: another stack, and it streams."""

from __future__ import annotations

import asyncio
from typing import Any

from a2a.helpers import get_data_parts, new_data_part, new_task_from_user_message, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.tasks import TaskUpdater
from a2a.types import TaskState

from ai_evolution.a2a.app import build_app

LIMITS = {"Lisbon": 80_000, "Oslo": 150_000, "Lima": 120_000}
DEFAULT_LIMIT = 50_000


async def limit_for(destination: str) -> int:
    if destination == "Antarctica":
        await asyncio.sleep(30)
    if destination == "Atlantis":
        raise LookupError("rulebook://ledger.internal/limits?key=k-7731 has no row 'Atlantis'")
    return LIMITS.get(destination, DEFAULT_LIMIT)


def card(base_url: str) -> dict[str, Any]:
    return {
        "name": "trip-approval",
        "description": "Decides whether a business trip may be booked.",
        "version": "1.0.0",
        "supportedInterfaces": [
            {"url": base_url + "/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
        ],
        "capabilities": {"streaming": True, "pushNotifications": False},
        "defaultInputModes": ["application/json", "text/plain"],
        "defaultOutputModes": ["application/json"],
        "securitySchemes": {"bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}},
        "securityRequirements": [{"schemes": {"bearer": {"list": []}}}],
        "skills": [
            {
                "id": "trip-approval",
                "name": "Trip approval",
                "description": "Approves a trip, asks who approves it, or rejects the request.",
                "tags": ["travel"],
            }
        ],
    }


class TripApproval(AgentExecutor):
    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        task = context.current_task or new_task_from_user_message(context.message)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        if context.current_task is None:
            await event_queue.enqueue_event(task)
            await self._decide(context, updater)
        else:
            (trip,) = get_data_parts(task.history[0].parts)
            await updater.start_work()
            await self._deliver(updater, trip, f"approved by {context.get_user_input().strip()}")

    async def _decide(self, context: RequestContext, updater: TaskUpdater) -> None:
        trips = get_data_parts(context.message.parts)
        amount = trips[0].get("amount_cents") if len(trips) == 1 else None
        if (
            not isinstance(amount, float | int)
            or isinstance(amount, bool)
            or amount != int(amount)
            or amount <= 0
        ):
            why = "amount_cents must be a whole number above zero"
            await updater.reject(updater.new_agent_message([new_text_part(why)]))
            return
        await updater.start_work()
        if amount > await limit_for(str(trips[0]["destination"])):
            question = updater.new_agent_message([new_text_part("Above the limit. Who approves it?")])
            await updater.update_status(TaskState.TASK_STATE_INPUT_REQUIRED, question)
        else:
            await self._deliver(updater, trips[0], "within limit")

    async def _deliver(self, updater: TaskUpdater, trip: Any, rule: str) -> None:
        decision = {"approved": True, "amount_cents": int(trip["amount_cents"]), "rule": rule}
        await updater.add_artifact([new_data_part(decision)], name="decision")
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        task = context.current_task
        assert task is not None
        await TaskUpdater(event_queue, task.id, task.context_id).cancel()


def build(base_url: str, tokens: dict[str, str]) -> Any:
    return build_app(card(base_url), TripApproval(), tokens=tokens)
