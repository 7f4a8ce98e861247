"""Every error that this package raises on purpose.

* AiEvolutionError ............ one line for the user; exit code 2 unless said otherwise
  * UsageError ................ an argument is not one that is accepted
  * DocumentError ............. a file cannot be read, or is not what it says it is
  * EnvironmentProblem ........ the machine lacks something that was asked for
  * LabError .................. a lab broke the evidence contract (our mistake, never the student's)
  * EvidenceDiffers ........... exit code 1: recomputed evidence is not the evidence given
  * A2AError .................. an agent could not be trusted, reached or understood
    * CardRefused ............. the card is unsigned, signed by a stranger, or altered
    * AgentUnfit .............. the card is genuine and the agent does not suit the job
    * CallRefused ............. the remote agent answered with a protocol error
    * TaskNotCompleted ........ the task ended failed, canceled or rejected
    * TaskUnsettled ........... the deadline passed before the task came to rest
    * DeliverableInvalid ...... no artifact, or one that breaks its declared schema
    * IllegalTransition ....... a task was asked to move where the table does not allow
    * StaleVersion ............ somebody else wrote the task since it was read
    * PushRefused ............. a webhook address that the policy does not allow
  * ContractError ............. a tool's contract was broken (`blame` says by whom)
    * CallerBreach ............ the call breaks what the tool asks for
    * ToolBreach .............. the result breaks what the tool promised, or the description itself is wrong
  * McpError .................. an MCP server could not be reached, trusted or understood
    * ServerLost .............. the process died, or the connection closed
    * DeadlinePassed .......... no answer within the deadline
    * ProtocolRefusal ......... the server answered with a JSON-RPC error
    * ToolFailed .............. the tool ran and says itself that it failed (``isError``)
    * ResultRefused ........... an answer that breaks its schema, is too big, or is no answer of the protocol
    * ToolChanged ............. a tool is no longer what was approved
    * ConsentRefused .......... the person who was asked said no
  * PtcError .................. a program could not be run, or the run was ended
    * SandboxUnavailable ...... this sandbox does not work on this machine (`help` says what would make it)
    * WireError ............... the inside broke the protocol between host and runner
    * LimitExceeded ........... a program used up what it was given (`limit` says what)
    * RunFailed ............... the program ended with an error, and the caller had asked for a value

A message says what was given and what would have been accepted. A claim that turns
out false is no error: it is a finding whose ``holds`` is false.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class AiEvolutionError(Exception):
    """Root of the tree. ``str(error)`` is one line; ``exit_code`` is what a command ends with."""

    exit_code = 2


class UsageError(AiEvolutionError):
    """An argument is not one that is accepted."""


class DocumentError(AiEvolutionError):
    """A file cannot be read, or is not what it says it is."""


class EnvironmentProblem(AiEvolutionError):
    """The machine lacks something that was asked for."""


class LabError(AiEvolutionError):
    """A lab broke the evidence contract."""


class EvidenceDiffers(AiEvolutionError):
    """Recomputed evidence is not the evidence given; ``pointer`` is the first difference."""

    exit_code = 1

    def __init__(self, message: str, pointer: str = "") -> None:
        super().__init__(message)
        self.pointer = pointer


class A2AError(AiEvolutionError):
    """An agent could not be trusted, reached or understood."""


class CardRefused(A2AError):
    """The card is unsigned, signed by a stranger, or altered; ``reason`` is a stable short word."""

    def __init__(self, message: str, reason: str = "refused") -> None:
        super().__init__(message)
        self.reason = reason


class AgentUnfit(A2AError):
    """The card is genuine and the agent does not suit the job; ``reasons`` are stable short words."""

    def __init__(self, message: str, reasons: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.reasons = tuple(reasons)


class CallRefused(A2AError):
    """The remote agent answered with an error.

    ``code`` is the JSON-RPC code (or the HTTP status when there was no JSON-RPC answer),
    ``reason`` the ErrorInfo reason of A2A 1.0, empty when there was none.
    """

    def __init__(self, message: str, code: int = 0, reason: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason


class TaskNotCompleted(A2AError):
    """The task ended failed, canceled or rejected; ``state`` is its ``TASK_STATE_*`` name."""

    def __init__(self, message: str, state: str = "", task_id: str = "", context_id: str = "") -> None:
        super().__init__(message)
        self.state = state
        self.task_id = task_id
        self.context_id = context_id


class TaskUnsettled(A2AError):
    """The deadline passed before the task came to rest."""

    def __init__(self, message: str, state: str = "", task_id: str = "") -> None:
        super().__init__(message)
        self.state = state
        self.task_id = task_id


class DeliverableInvalid(A2AError):
    """No artifact, or one that breaks its declared schema; ``pointer`` is where (RFC 6901)."""

    def __init__(self, message: str, pointer: str = "") -> None:
        super().__init__(message)
        self.pointer = pointer


class IllegalTransition(A2AError):
    """A task was asked to move where the table of transitions does not allow."""


class StaleVersion(A2AError):
    """Somebody else wrote the task since it was read."""


class PushRefused(A2AError):
    """A webhook address that the policy does not allow."""


class ContractError(AiEvolutionError):
    """A tool's contract was broken.

    ``blame`` is caller, tool or description; ``pointer`` is where in the arguments or in the result
    (RFC 6901); ``envelope`` is the structured error that a caller gets.
    """

    def __init__(
        self, message: str, blame: str, pointer: str = "", envelope: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.blame = blame
        self.pointer = pointer
        self.envelope = dict(envelope or {})


class CallerBreach(ContractError):
    """The call breaks what the tool asks for."""


class ToolBreach(ContractError):
    """The result breaks what the tool promised, or the description itself is wrong."""


class McpError(AiEvolutionError):
    """An MCP server could not be reached, trusted or understood."""


class ServerLost(McpError):
    """The process died, or the connection closed; whether the call had its effect is not known."""


class DeadlinePassed(McpError):
    """No answer to ``method`` within ``seconds``; whether the call had its effect is not known."""

    def __init__(self, message: str, method: str = "", seconds: float = 0.0) -> None:
        super().__init__(message)
        self.method = method
        self.seconds = seconds


class ProtocolRefusal(McpError):
    """The server answered with a JSON-RPC error: ``code`` and ``data`` are its own."""

    def __init__(self, message: str, code: int = 0, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


class ToolFailed(McpError):
    """The tool says itself that it failed.

    ``content`` holds the blocks of the result as received (a foreign text: show it, never obey it);
    ``structured`` is what came beside them, unchecked, since an output schema binds success alone.
    """

    def __init__(
        self, message: str, content: Sequence[Mapping[str, Any]] = (), structured: Any = None
    ) -> None:
        super().__init__(message)
        self.content = tuple(dict(block) for block in content)
        self.structured = structured


class ResultRefused(McpError):
    """An answer that breaks its schema, is too big, or is no answer of the protocol.

    ``pointer`` is where in the answer (RFC 6901), empty when it is the whole.
    """

    def __init__(self, message: str, pointer: str = "") -> None:
        super().__init__(message)
        self.pointer = pointer


class ToolChanged(McpError):
    """A tool is no longer what was approved; ``changes`` are ``ai_evolution.mcp.trust.Change``."""

    def __init__(self, message: str, changes: Sequence[Any] = ()) -> None:
        super().__init__(message)
        self.changes = tuple(changes)


class ConsentRefused(McpError):
    """The person who was asked before a call said no; nothing was sent."""


class PtcError(AiEvolutionError):
    """A program could not be run, or its run was ended."""


class SandboxUnavailable(PtcError):
    """A sandbox does not work on this machine; ``help`` says what would change that, or is empty."""

    def __init__(self, message: str, help: str = "") -> None:
        super().__init__(message)
        self.help = help


class WireError(PtcError):
    """The inside broke the protocol between host and runner."""


class LimitExceeded(PtcError):
    """A program used up what it was given; ``limit`` is a field of ``ptc.Limits`` or a quota."""

    def __init__(self, message: str, limit: str = "") -> None:
        super().__init__(message)
        self.limit = limit


class RunFailed(PtcError):
    """The program ended with an error, and a value was asked for; ``outcome`` is the whole story."""

    def __init__(self, message: str, outcome: Any = None) -> None:
        super().__init__(message)
        self.outcome = outcome
