"""Programmatic tool calling: the model writes one program, the program calls the tools, the result returns.

``sandbox`` is the one interface and the ladder of places to run in; ``limits`` what a program may use;
``wire`` the protocol between host and runner; ``runner`` the program inside; ``doctor`` tries what holds on
this machine.
"""

from ai_evolution.ptc.limits import Limits
from ai_evolution.ptc.sandbox import (
    SANDBOXES,
    Answer,
    Call,
    CallRecord,
    Frame,
    OnCall,
    Outcome,
    RunError,
    Sandbox,
    Session,
    ToolStub,
    open_unsafe,
    pick,
)

__all__ = [
    "SANDBOXES",
    "Answer",
    "Call",
    "CallRecord",
    "Frame",
    "Limits",
    "OnCall",
    "Outcome",
    "RunError",
    "Sandbox",
    "Session",
    "ToolStub",
    "open_unsafe",
    "pick",
]
