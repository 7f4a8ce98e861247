# P136, agent communication languages: the code of both editions of the miniature.
# Built by scripts/build_notebooks.py.
# %% setup
import hashlib
import json
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import product

import matplotlib.pyplot as plt

from ai_evolution.world import World

plt.rcParams.update({"figure.dpi": 80, "figure.figsize": (5.2, 4.2)})
SEED = 0
LANG = "en"


def tr(en, es):
    """The words for this edition."""
    return es if LANG == "es" else en


# %% twins
@dataclass(frozen=True)
class Agent:
    """``believes`` is private: only this notebook, which made the agent, can read it."""

    believes: dict
    tells: dict

    def trace(self):
        """Everything that crosses the wire."""
        return [{"performative": "inform", "content": {name: value}} for name, value in self.tells.items()]


def digest(trace):
    """A short hash of the bytes an observer has."""
    return hashlib.sha256(json.dumps(trace).encode("utf-8")).hexdigest()[:16]


sincere = Agent(believes={"no_sanctions": True}, tells={"no_sanctions": True})
insincere = Agent(believes={"no_sanctions": False}, tells={"no_sanctions": True})
print(tr("sincere:  ", "sincero:  "), digest(sincere.trace()), sincere.trace())
print(tr("insincere:", "insincero:"), digest(insincere.trace()), insincere.trace())
assert digest(sincere.trace()) == digest(insincere.trace())
assert sincere.believes != insincere.believes


# %% mentalistic
def conforms(agent):
    """A semantics of beliefs: who informs that p must believe p. It needs to open the agent."""
    return agent.believes == agent.tells


print(tr("with the mind open:", "con la mente abierta:"), conforms(sincere), conforms(insincere))
assert (conforms(sincere), conforms(insincere)) == (True, False)

# %% predict
PREDICTION = {"pairs that conform": None, "traces that decide": None, "observer right": None}

# %% matrix
NAMES = ("p", "q", "r")
minds = [dict(zip(NAMES, values, strict=True)) for values in product((True, False), repeat=3)]
grid = [[conforms(Agent(mind, told)) for told in minds] for mind in minds]
pairs = sum(map(sum, grid))
decided = sum(len({row[column] for row in grid}) == 1 for column in range(8))
print(tr("minds x traces:", "mentes x trazas:"), len(minds), "x", len(minds), "=", len(minds) ** 2)
print(tr("pairs that conform:", "parejas conformes:"), pairs)
print(tr("traces that decide it:", "trazas que lo deciden:"), decided)
assert (pairs, decided) == (8, 0)

fig, ax = plt.subplots()
ax.imshow(grid, cmap="Blues", vmin=0, vmax=1)
labels = ["".join("T" if mind[name] else "F" for name in NAMES) for mind in minds]
ax.set(xticks=range(8), yticks=range(8), xticklabels=labels, yticklabels=labels)
ax.set(xlabel=tr("what is told (public)", "lo que se dice (público)"))
ax.set(ylabel=tr("what is believed (private)", "lo que se cree (privado)"))
plt.show()

# %% observer
world = World("P136", SEED)
crowd = []
for _ in range(2000):
    told = world.random.choice(minds)
    honest = world.random.random() < 0.5
    mind = told if honest else world.random.choice([other for other in minds if other != told])
    crowd.append(Agent(mind, told))
seen, hidden = crowd[:1000], crowd[1000:]
votes = defaultdict(Counter)
for agent in seen:
    votes[digest(agent.trace())][conforms(agent)] += 1  # a teacher opens these thousand minds
guess = {trace: count.most_common(1)[0][0] for trace, count in votes.items()}
right = sum(guess[digest(agent.trace())] == conforms(agent) for agent in hidden) / 1000
print(tr("traces it has seen:", "trazas que ha visto:"), len(guess))
print(tr("right about new agents:", "acierta con agentes nuevos:"), right)
assert len(guess) == 8
assert abs(right - 0.5) < 0.06

# %% compare
measured = {"pairs that conform": pairs, "traces that decide": decided, "observer right": right}
for name, value in measured.items():
    print(f"{name:<20}{tr('predicted', 'predicho')} {PREDICTION[name]}, {tr('seen', 'visto')} {value}")
assert measured["traces that decide"] == 0


# %% commitment
def status(trace, now):
    """Where a public commitment stands, read from the messages alone."""
    due = None
    for act in trace:
        if act["act"] == "promise":
            due = act["by"]
        elif act["act"] == "release":
            return "released"
        elif act["act"] == "deliver" and due is not None:
            return "kept" if act["at"] <= due else "broken"
    if due is None:
        return "none"
    return "open" if now <= due else "broken"


promise = {"act": "promise", "what": "report", "by": 5}
stories = {
    "kept": [promise, {"act": "deliver", "at": 4}],
    "late": [promise, {"act": "deliver", "at": 9}],
    "silent": [promise],
    "let off": [promise, {"act": "release"}],
    "no promise": [],
}
read = {name: status(trace, now=10) for name, trace in stories.items()}
for name, verdict in read.items():
    print(f"{name:<11}{verdict}")
assert list(read.values()) == ["kept", "broken", "broken", "released", "none"]
assert status([promise], now=3) == "open"


# %% agree
def behave(world):
    """An agent with a secret intention and a public trace."""
    means_it = world.random.random() < 0.5
    on_time = world.random.random() < (0.8 if means_it else 0.3)
    at = world.random.randint(1, 5) if on_time else world.random.randint(6, 12)
    return means_it, [promise, {"act": "deliver", "at": at}]


world = World("P136/commitments", SEED)
agents = [behave(world) for _ in range(1000)]
verdicts = [status(trace, now=20) for _, trace in agents]
client = [verdict == "broken" for verdict in verdicts]
auditor = [trace[1]["at"] > trace[0]["by"] for _, trace in agents]  # another's code, the same messages
agree = sum(a == b for a, b in zip(client, auditor, strict=True))
meant = sum(means_it and verdict == "broken" for (means_it, _), verdict in zip(agents, verdicts, strict=True))
print(tr("two observers agree:", "dos observadores coinciden:"), agree, "/ 1000")
print(
    tr("broken:", "incumplidos:"), sum(client), "·", tr("of them well meant:", "con buena intención:"), meant
)
assert agree == 1000
assert 0 < meant < sum(client)

# %% a2a
TERMINAL = {"TASK_STATE_COMPLETED", "TASK_STATE_FAILED", "TASK_STATE_CANCELED", "TASK_STATE_REJECTED"}


def public_faults(states, artifact):
    """What anyone with the recorded exchange of an A2A 1.0 task can hold against the agent."""
    faults = []
    ends = [place for place, state in enumerate(states) if state in TERMINAL]
    if ends and ends[0] != len(states) - 1:
        faults.append("moved after a terminal state")
    if not ends:
        faults.append("never ended")
    well_formed = isinstance(artifact, dict) and isinstance(artifact.get("sources"), int)
    if states[-1] == "TASK_STATE_COMPLETED" and not well_formed:
        faults.append("completed without the declared artifact")
    return faults


work = ["TASK_STATE_SUBMITTED", "TASK_STATE_WORKING", "TASK_STATE_COMPLETED"]
looked = {"result": "no findings", "sources": 4}
invented = {"result": "no findings", "sources": 4}  # this agent looked at nothing and wrote the same
cases = {
    "honest work": public_faults(work, looked),
    "number as text": public_faults(work, {"result": "no findings", "sources": "4"}),
    "zombie": public_faults([*work, "TASK_STATE_WORKING"], looked),
    "for ever": public_faults(work[:2], None),
    "invented": public_faults(work, invented),
}
for name, faults in cases.items():
    print(f"{name:<15}{faults}")
assert [name for name, faults in cases.items() if not faults] == ["honest work", "invented"]
