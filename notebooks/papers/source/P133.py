# P133, Contract Net: the code of both editions of the miniature. Built by scripts/build_notebooks.py.
# %% setup
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from statistics import mean

import matplotlib.pyplot as plt

from ai_evolution.world import World

plt.rcParams.update({"figure.dpi": 80, "figure.figsize": (7, 3.6)})
SEED = 0
LANG = "en"


def tr(en, es):
    """The words for this edition."""
    return es if LANG == "es" else en


# %% round
@dataclass
class Contractor:
    """A node that may bid. ``cost`` is what the task really costs it; ``bid`` is what it says."""

    name: str
    skills: set
    cost: float
    bid: float


def contract_net(asked, skill):
    """One round of the protocol. Returns the messages and the contractor that got the award, or None."""
    messages = [("announce", node.name) for node in asked]
    bidders = [node for node in asked if skill in node.skills]
    messages += [("bid", node.name) for node in bidders]
    if not bidders:
        return messages, None
    chosen = min(bidders, key=lambda node: (node.bid, node.name))
    messages += [("award", chosen.name), ("report", chosen.name)]
    return messages, chosen


world = World("P133", SEED)
team = []
for i in range(6):
    skills = {"translate"} if i % 2 else {"translate", "verify"}
    cost = round(world.random.random(), 2)
    team.append(Contractor(f"node-{i}", skills, cost, cost))
messages, chosen = contract_net(team, "verify")
for kind, name in messages:
    print(f"{kind:<9}{name}")
print(dict(Counter(kind for kind, _ in messages)), "->", chosen.name)
assert Counter(kind for kind, _ in messages) == {"announce": 6, "bid": 3, "award": 1, "report": 1}
assert chosen.cost == min(node.cost for node in team if "verify" in node.skills)

# %% predict
PREDICTION = {
    "messages, 20 asked": None,
    "cost, 1 asked": None,
    "cost, 4 asked": None,
    "cost, 20 asked": None,
}


# %% quality
def market(world, size=20):
    """Contractors who all have the skill, with costs spread evenly between 0 and 1, and honest bids."""
    costs = [world.random.random() for _ in range(size)]
    return [Contractor(f"node-{i:02}", {"verify"}, cost, cost) for i, cost in enumerate(costs)]


ASKED = (1, 2, 4, 8, 12, 20)
TASKS = 2000
found, sent = {}, {}
for k in ASKED:
    world = World(f"P133/asked-{k}", SEED)
    rounds = [contract_net(world.random.sample(market(world), k), "verify") for _ in range(TASKS)]
    found[k] = mean(chosen.cost for _, chosen in rounds)
    sent[k] = mean(len(messages) for messages, _ in rounds)
print(tr(" k  messages   cost   1/(k+1)", " k  mensajes  coste   1/(k+1)"))
for k in ASKED:
    print(f"{k:>2}{sent[k]:>10.0f}{found[k]:>7.3f}{1 / (k + 1):>10.3f}")
assert all(sent[k] == 2 * k + 2 for k in ASKED)
assert all(abs(found[k] - 1 / (k + 1)) < 0.02 for k in ASKED)

# %% compare
measured = {
    "messages, 20 asked": sent[20],
    "cost, 1 asked": round(found[1], 2),
    "cost, 4 asked": round(found[4], 2),
    "cost, 20 asked": round(found[20], 2),
}
for name, seen in measured.items():
    print(f"{name:<20}{tr('predicted', 'predicho')} {PREDICTION[name]}, {tr('measured', 'medido')} {seen:g}")
assert measured["cost, 4 asked"] < measured["cost, 1 asked"]

# %% plot
saved = [(found[a] - found[b]) / (sent[b] - sent[a]) for a, b in pairwise(ASKED)]
for (a, b), gain in zip(pairwise(ASKED), saved, strict=True):
    print(
        f"k {a:>2} -> {b:>2}: {gain:.4f}",
        tr("of cost saved per extra message", "de coste por mensaje de más"),
    )
fig, ax = plt.subplots()
ax.plot([sent[k] for k in ASKED], [found[k] for k in ASKED], "o-", label=tr("measured", "medido"))
ax.plot([2 * k + 2 for k in range(1, 21)], [1 / (k + 1) for k in range(1, 21)], ":", label="1/(k+1)")
ax.set(xlabel=tr("messages per task", "mensajes por tarea"), ylabel=tr("mean cost", "coste medio"), ylim=0)
ax.legend()
plt.show()
assert saved == sorted(saved, reverse=True)


# %% liar
def with_liar(k):
    """Mean real cost, and the liar's share of the awards, when one node of twenty always bids zero."""
    world = World(f"P133/liar-{k}", SEED)
    costs, wins = [], 0
    for _ in range(TASKS):
        nodes = market(world)
        nodes[0] = Contractor("node-00", {"verify"}, cost=0.9, bid=0.0)
        _, chosen = contract_net(world.random.sample(nodes, k), "verify")
        costs.append(chosen.cost)
        wins += chosen.name == "node-00"
    return mean(costs), wins / TASKS


print(tr(" k  honest  with a liar  the liar's share", " k  honesto  con mentiroso  cuota del mentiroso"))
lied = {k: with_liar(k) for k in ASKED}
for k, (cost, share) in lied.items():
    print(f"{k:>2}{found[k]:>8.3f}{cost:>13.3f}{share:>18.2f}")
assert round(lied[20][0], 6) == 0.9
assert lied[20][1] == 1.0
best = min(ASKED, key=lambda k: lied[k][0])
print(tr("cheapest with the liar: k =", "lo más barato con el mentiroso: k ="), best)
assert best == 4
assert lied[4][0] > found[4]


# %% death
def until_reported(world, p, deadline):
    """Award, and award again when the deadline passes. Returns (awards, ticks); None: it waits for ever."""
    awards, start = 0, world.now()
    while awards < 50:
        awards += 1
        if world.random.random() >= p:
            world.tick(1)
            return awards, (world.now() - start).total_seconds()
        if deadline is None:
            return None
        world.tick(deadline)
    return None


print(
    tr(
        "  p   done without  done with  awards  1/(1-p)  ticks",
        "  p   hechas sin  hechas con  adjud.  1/(1-p)  tics",
    )
)
for p in (0.0, 0.1, 0.3, 0.5):
    world = World(f"P133/death-{p}", SEED)
    without = [until_reported(world, p, None) for _ in range(TASKS)]
    with_ = [until_reported(world, p, 5) for _ in range(TASKS)]
    share = mean(result is not None for result in without)
    awards, ticks = mean(result[0] for result in with_), mean(result[1] for result in with_)
    done = mean(result is not None for result in with_)
    print(f"{p:.1f}{share:>13.3f}{done:>12.3f}{awards:>8.2f}{1 / (1 - p):>8.2f}{ticks:>8.2f}")
    assert done == 1.0
    assert abs(share - (1 - p)) < 0.03
    assert abs(awards - 1 / (1 - p)) < 0.1


# %% slow
def executions(world, deadline):
    """A contractor that is not dead: the work takes 1 to 10 ticks. How often is one task carried out?"""
    count = 1
    while world.random.randint(1, 10) > deadline:
        count += 1
    return count


print(tr("deadline  tasks done twice or more", "plazo  tareas hechas dos veces o más"))
twice = {}
for deadline in (2, 5, 8, 10):
    world = World(f"P133/slow-{deadline}", SEED)
    twice[deadline] = mean(executions(world, deadline) > 1 for _ in range(TASKS))
    print(f"{deadline:>8}{twice[deadline]:>12.3f}")
assert twice[10] == 0.0
assert twice[2] > twice[5] > twice[8] > 0
