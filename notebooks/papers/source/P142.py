# P142, design by contract: the code of both editions of the miniature. Built by scripts/build_notebooks.py.
# %% setup
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import mean

import matplotlib.pyplot as plt

from ai_evolution.world import World

plt.rcParams.update({"figure.dpi": 80, "figure.figsize": (7, 3.6)})
SEED = 0
LANG = "en"


def tr(en, es):
    """The words for this edition."""
    return es if LANG == "es" else en


# %% chain
def whole(*names):
    """A condition of shape alone: these are whole numbers, none below zero."""
    return lambda r: all(isinstance(r[name], int) and r[name] >= 0 for name in names)


@dataclass(frozen=True)
class Supplier:
    """One tool of the chain: what it does, what it demands, what it promises (of before and after)."""

    name: str
    body: Callable
    pre: Callable
    post: Callable
    shape: Callable


CHAIN = [
    Supplier(
        "nights",
        lambda r: {**r, "nights": r["end"] - r["start"]},
        lambda r: r["start"] < r["end"] and r["guests"] >= 1,
        lambda r, s: s == {**r, "nights": r["end"] - r["start"]},
        whole("nights"),
    ),
    Supplier(
        "price",
        lambda r: {**r, "price": 30 * r["nights"] * r["guests"]},
        lambda r: r["nights"] >= 1,
        lambda r, s: s == {**r, "price": 30 * r["nights"] * r["guests"]},
        whole("price"),
    ),
    Supplier(
        "tax",
        lambda r: {**r, "tax": r["price"] // 10},
        lambda r: r["price"] >= 0,
        lambda r, s: s == {**r, "tax": r["price"] // 10},
        whole("tax"),
    ),
    Supplier(
        "share",
        lambda r: {**r, "share": (r["price"] + r["tax"]) // r["guests"]},
        lambda r: r["guests"] >= 1,
        lambda _, s: 0 <= s["price"] + s["tax"] - s["share"] * s["guests"] < s["guests"],
        whole("share"),
    ),
]


def run(chain, request):
    """The request through every tool, nobody looking."""
    for supplier in chain:
        request = supplier.body(request)
    return request


def ask(world):
    """A request that keeps the first tool's demands."""
    start = world.random.randrange(20)
    return {"start": start, "end": start + world.random.randint(1, 7), "guests": world.random.randint(1, 4)}


print(run(CHAIN, {"start": 3, "end": 5, "guests": 2}))
assert run(CHAIN, {"start": 3, "end": 5, "guests": 2})["share"] == 66

# %% faults
CALLER_FAULTS = {
    "ends before it starts": lambda r: {**r, "start": r["end"], "end": r["start"]},
    "no guests": lambda r: {**r, "guests": 0},
}
TOOL_FAULTS = {
    "nights": lambda r: {**r, "nights": r["end"] - r["start"] + 1},
    "price": lambda r: {**r, "price": 30 * r["nights"]},
    "tax": lambda r: {**r, "tax": -(r["price"] // 10)},
    "share": lambda r: {**r, "share": r["price"] // r["guests"]},
}


def case(world):
    """One run with one fault: the request, the chain, and who is guilty (known here, and nowhere else)."""
    request, chain = ask(world), list(CHAIN)
    guilty = world.random.choice(["caller", *TOOL_FAULTS])
    if guilty == "caller":
        request = CALLER_FAULTS[world.random.choice(list(CALLER_FAULTS))](request)
    else:
        at = [supplier.name for supplier in chain].index(guilty)
        chain[at] = replace(chain[at], body=TOOL_FAULTS[guilty])
    return request, chain, guilty


world = World("P142", SEED)
CASES = [case(world) for _ in range(1000)]
truth = Counter(guilty for _, _, guilty in CASES)
print(tr("who is guilty:", "quién es culpable:"), dict(sorted(truth.items())))
assert sum(truth.values()) == 1000

# %% predict
PREDICTION = {
    "noticed without contracts": None,
    "noticed with contracts": None,
    "right blame, postconditions only": None,
}  # of the 1000 cases

# %% watch
PLACES = ["caller", *(supplier.name for supplier in CHAIN), "customer"]


def watch(chain, request, before, after):
    """Where a run is stopped, and who gets the blame. ("customer", None): a wrong answer is delivered.

    ``before`` and ``after`` say what is checked of a tool. What raises is blamed, as in any traceback.
    """
    for supplier in chain:
        if not before(supplier, request):
            return supplier.name, PLACES[PLACES.index(supplier.name) - 1]
        try:
            answer = supplier.body(request)
        except ArithmeticError:
            return supplier.name, supplier.name
        if not after(supplier, request, answer):
            return supplier.name, supplier.name
        request = answer
    return "customer", None


def nothing(*_):
    return True


def demand(supplier, before):
    return supplier.pre(before)


def shape(supplier, _, after):
    return supplier.shape(after)


def promise(supplier, before, after):
    return supplier.post(before, after)


WATCHES = {
    "nothing": (nothing, nothing),
    "shape": (nothing, shape),
    "post only": (nothing, promise),
    "contract": (demand, promise),
}
NAMES = {
    "nothing": tr("nothing", "nada"),
    "shape": tr("shape of answers", "forma de la respuesta"),
    "post only": tr("postconditions", "poscondiciones"),
    "contract": tr("pre and post", "pre y pos"),
}
outcomes = {
    name: [watch(chain, request, *how) for request, chain, _ in CASES] for name, how in WATCHES.items()
}

honest = World("P142/honest", SEED)
alarms = {name: {watch(CHAIN, ask(honest), *how) for _ in range(200)} for name, how in WATCHES.items()}
print(tr("alarms in 200 runs without a fault:", "alarmas en 200 ejecuciones sin fallo:"))
print({NAMES[name]: sum(place != "customer" for place, _ in seen) for name, seen in alarms.items()})
assert all(seen == {("customer", None)} for seen in alarms.values())

# %% compare
guilty = [name for _, _, name in CASES]
harmless = {
    i
    for i, (request, chain, who) in enumerate(CASES)
    if who != "caller" and run(chain, request) == run(CHAIN, request)
}
harmful = [i for i in range(len(CASES)) if i not in harmless]
print(
    tr(
        f"{'checked':<23}noticed  wrong delivered  right blame  wrong blame  distance",
        f"{'se comprueba':<23}visto  mal entregadas   culpa bien   culpa mal   distancia",
    )
)
table = {}
for name, found in outcomes.items():
    noticed = [i for i, (_, blamed) in enumerate(found) if blamed]
    right = sum(found[i][1] == guilty[i] for i in noticed)
    wrong = sum(found[i][1] is None for i in harmful)
    gap = mean(PLACES.index(found[i][0]) - PLACES.index(guilty[i]) for i in harmful)
    table[name] = {"noticed": len(noticed), "wrong": wrong, "right blame": right}
    print(f"{NAMES[name]:<23}{len(noticed):>5}{wrong:>15}{right:>14}{len(noticed) - right:>13}{gap:>11.2f}")
print(tr("faults that did no harm:", "fallos que no hicieron daño:"), len(harmless))
measured = {
    "noticed without contracts": table["nothing"]["noticed"],
    "noticed with contracts": table["contract"]["noticed"],
    "right blame, postconditions only": table["post only"]["right blame"],
}
for name, value in measured.items():
    print(f"{name:<34}{tr('predicted', 'predicho')} {PREDICTION[name]}, {tr('measured', 'medido')} {value}")
assert table["nothing"] == {"noticed": 97, "wrong": 856, "right blame": 0}
assert table["contract"]["wrong"] == 0
assert table["contract"]["right blame"] == table["contract"]["noticed"] == len(harmful)
assert {(guilty[i], CASES[i][0]["guests"]) for i in harmless} == {("price", 1)}

# %% plot
fig, axes = plt.subplots(1, 2, figsize=(8.5, 3.6), sharey=True)
causes, ends = PLACES[:-1], PLACES[1:]
words = {"customer": tr("customer", "cliente final"), "caller": tr("caller", "quien llama")}
for ax, name in zip(axes, ("nothing", "contract"), strict=True):
    pairs = Counter((guilty[i], outcomes[name][i][0]) for i in harmful)
    grid = [[pairs[cause, end] for end in ends] for cause in causes]
    ax.imshow(grid, cmap="Blues", vmin=0, vmax=250)
    for y, row in enumerate(grid):
        for x in (x for x, count in enumerate(row) if count):
            ax.text(x, y, row[x], ha="center", va="center", color="white" if row[x] > 120 else "black")
    ax.set_xticks(range(len(ends)), [words.get(end, end) for end in ends], rotation=25)
    ax.set(title=f"{tr('checked:', 'se comprueba:')} {NAMES[name]}", xlabel=tr("surfaces at", "aparece en"))
    print(f"{NAMES[name]}:")
    for cause, end in sorted(pairs):
        print(f"  {words.get(cause, cause)} -> {words.get(end, end)}: {pairs[cause, end]}")
axes[0].set_yticks(range(len(causes)), [words.get(cause, cause) for cause in causes])
axes[0].set(ylabel=tr("is caused by", "lo causa"))
fig.tight_layout()
plt.show()

# %% blame
by_caller = [i for i, who in enumerate(guilty) if who == "caller"]
for name in ("post only", "contract"):
    blamed = Counter(str(outcomes[name][i][1]) for i in by_caller)
    print(f"{NAMES[name]}:", dict(blamed.most_common()))
assert {outcomes["contract"][i][1] for i in by_caller} == {"caller"}
assert {outcomes["post only"][i][1] for i in by_caller} == {"share", None}


# %% weak
def promising_less(supplier):
    """``price`` with a postcondition of shape alone; the other tools as they are."""
    if supplier.name != "price":
        return supplier
    return replace(supplier, post=lambda _, after: supplier.shape(after))


through = Counter()
for i in harmful:
    request, chain, who = CASES[i]
    _, blamed = watch([promising_less(supplier) for supplier in chain], request, *WATCHES["contract"])
    through[who] += blamed is None
print(tr("wrong answers delivered, by cause:", "respuestas malas entregadas, por causa:"))
print(dict(sorted(through.items())))
assert {who for who, count in through.items() if count} == {"price"}
assert through["price"] == sum(guilty[i] == "price" for i in harmful)


# %% invariant
class Quota:
    """What an agent may still spend. The invariant: 0 <= used <= limit, after every operation."""

    def __init__(self, limit):
        self.limit, self.used = limit, 0

    def holds(self):
        return 0 <= self.used <= self.limit

    def spend(self, n):  # pre: n <= limit - used
        self.used += n

    def refund(self, n):  # the slip: nobody asks whether n was ever spent
        self.used -= n


def one_run(world):
    """The step of the first bad refund, of the first broken invariant, and of the first overrun."""
    quota, really, steps = Quota(10), 0, [None, None, None]
    for step in range(500):
        n = world.random.randint(1, 4)
        if world.random.random() < 0.4:
            events = [n > really, None, None]
            quota.refund(n)
            really = max(really - n, 0)
        elif n <= quota.limit - quota.used:
            events = [None, None, None]
            quota.spend(n)
            really += n
        else:
            continue
        events[1:] = [not quota.holds(), really > quota.limit]
        steps = [step if old is None and now else old for old, now in zip(steps, events, strict=True)]
        if events[2]:
            break
    return steps


runs = [one_run(World(f"P142/quota-{i}", SEED)) for i in range(200)]
broken = [invariant - bad for bad, invariant, _ in runs]
paid = [overrun - bad for bad, _, overrun in runs]
print(tr("operations from the bad refund until", "operaciones desde el reembolso malo hasta"))
print(tr("  the invariant is broken:", "  que se rompe el invariante:"), f"{mean(broken):.1f}")
print(tr("  the limit is overrun:", "  que se rebasa el límite:"), f"{mean(paid):.1f}")
print(tr("  in the worst run:", "  en la peor ejecución:"), max(paid))
assert set(broken) == {0}
assert min(paid) >= 1
