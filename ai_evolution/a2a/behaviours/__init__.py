"""An independent judge of A2A 1.0 agents: what does this agent do, seen from the outside?

How it works. A ``Subject`` says where the agent is, which tokens it knows and which inputs bring
it into which state (a ``Probe`` each). ``examine`` walks through ``BEHAVIOURS``, speaks raw HTTP
(httpx and json, neither our client nor the SDK's: a judge that shares code with the judged shares
its mistakes) and returns one ``Observation`` per behaviour: what the specification expects, what
was observed, and, where the two differ, the requests and answers themselves.

What it refuses to do. It never raises because of what an agent does: silence, floods, closed
connections and nonsense are observations. It follows no redirect and no interface URL that leaves
the agent's own origin. It reads at most ``MAX_BODY`` bytes of an answer, and every check has a
deadline. It keeps no token in what it reports. It judges the JSON-RPC binding alone.

Two of the behaviours ask for more than the specification's MUST, because an agent that meets
strangers needs them: one task per ``messageId`` (a MAY in section 3.3.1) and a task that ends
``TASK_STATE_FAILED`` with a neutral text when the agent's own code breaks.

A JSON number such as ``12000.0`` counts as the integer that it is (JSON Schema 2020-12, and the
SDK's protobuf ``Struct`` writes integers so); ``"12000"`` and ``12000.5`` do not.
"""

from __future__ import annotations

from ai_evolution.a2a.behaviours.catalogue import BEHAVIOURS
from ai_evolution.a2a.behaviours.examination import applicable, examine
from ai_evolution.a2a.behaviours.subject import Behaviour, Exchange, Observation, Probe, Subject

__all__ = [
    "BEHAVIOURS",
    "Behaviour",
    "Exchange",
    "Observation",
    "Probe",
    "Subject",
    "applicable",
    "examine",
]
