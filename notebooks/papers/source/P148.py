# P148, a note on distributed computing: the code of both editions. Built by scripts/build_notebooks.py.
# Bars of characters and no plot: to import matplotlib costs more than all the rest of this notebook.
# %% setup
import json
from collections import Counter
from itertools import permutations

from ai_evolution.world import World

SEED = 0
LANG = "en"
RUNS = 2000


def tr(en, es):
    """The words for this edition."""
    return es if LANG == "es" else en


# %% memory
def tidy(rows):
    """Sorts the caller's list where it lies, as ``list.sort`` does."""
    rows.sort()
    return len(rows)


def remote(procedure):
    """The same name, the same parameters, another address space: what goes over is a copy."""

    def call(*arguments):
        return json.loads(json.dumps(procedure(*json.loads(json.dumps(arguments)))))

    return call


mine, theirs = [3, 1, 2], [3, 1, 2]
print(tr("here: ", "aquí:"), tidy(mine), mine)
print(tr("there:", "allí:"), remote(tidy)(theirs), theirs)
assert mine == [1, 2, 3]
assert theirs == [3, 1, 2]

# %% predict
PREDICTION = {
    "orders of 6 that keep both updates": None,
    "half-done of 2000, one machine": None,  # four steps, a fault in 5 % of them
    "half-done of 2000, four machines": None,
}


# %% concurrency
def final(order, value=0):
    """A counter on another machine. Each client reads it and writes back one more, in this order."""
    seen = {}
    for client in order:
        if client in seen:
            value = seen[client] + 1
        else:
            seen[client] = value
    return value


def orders(clients):
    """Every order in which the two steps of each client can happen."""
    return sorted(set(permutations(sorted([*range(clients)] * 2))))


print(tr("clients  orders  that keep every update", "clientes  órdenes  que conservan todo"))
keeps = {}
for clients in (1, 2, 3):
    every = orders(clients)
    keeps[clients] = sum(final(order) == clients for order in every)
    print(f"{clients:>7}{len(every):>8}{keeps[clients]:>8}")
example = next(order for order in orders(2) if final(order) == 1)
print(tr("one that loses an update:", "uno que pierde una:"), example, "->", final(example))
assert keeps == {1: 1, 2: 2, 3: 6}


# %% partial
PARTS = ("flight", "hotel", "car", "museum")


class Broken(Exception):
    """What the program gets; it was written for parts in its own process."""


def one_machine(world, p):
    """All parts live in the process of the program. When one fails, the process is gone, with everything."""
    booked = []
    for part in PARTS:
        if world.random.random() < p:
            return []
        booked.append(part)
    return booked


def four_machines(world, p):
    """Each part has a machine of its own, which fails before or after it has booked. The others go on."""
    booked = []
    try:
        for part in PARTS:
            fails, after = world.random.random() < p, world.random.random() < 0.5
            if not fails or after:
                booked.append(part)
            if fails:
                raise Broken
    except Broken:
        pass  # the program ends here: in its own process there would be nothing left to mend
    return booked


left = {}
print(tr("parts booked at the end:", "partes reservadas al final:"), *range(5), sep="      ")
for name, program in (("one", one_machine), ("four", four_machines)):
    world = World(f"P148/{name}", SEED)
    left[name] = Counter(len(program(world, 0.05)) for _ in range(RUNS))
    label = tr("one machine", "una máquina") if name == "one" else tr("four machines", "cuatro máquinas")
    print(f"{label:<25}", *(f"{left[name][n]:>6}" for n in range(5)))
half = {name: sum(counts[n] for n in (1, 2, 3)) for name, counts in left.items()}
assert half["one"] == 0
assert half["four"] > 0

# %% compare
measured = {
    "orders of 6 that keep both updates": keeps[2],
    "half-done of 2000, one machine": half["one"],
    "half-done of 2000, four machines": half["four"],
}
for name, value in measured.items():
    print(f"{name:<36}{tr('predicted', 'predicho')} {PREDICTION[name]}, {tr('measured', 'medido')} {value}")
assert abs(half["four"] / RUNS - (1 - 0.95**4 - 0.025 - 0.95**3 * 0.025)) < 0.02


# %% parts
def some_fail(world, n, p, shared):
    """Whether some part fails, and whether all do. ``shared``: they are on one machine."""
    fates = [world.random.random() < p] * n if shared else [world.random.random() < p for _ in range(n)]
    return any(fates), all(fates)


SIZES, Q = (1, 5, 20, 50), 0.02
print(
    tr(
        "  n  one machine  n machines  1-(1-p)^n  some, not all",
        "  n  una máquina  n máquinas  1-(1-p)^n  no todas",
    )
)
curves = {}
for n in SIZES:
    alone, apart = World(f"P148/alone-{n}", SEED), World(f"P148/apart-{n}", SEED)
    together = [some_fail(alone, n, Q, True) for _ in range(RUNS)]
    single = [some_fail(apart, n, Q, False) for _ in range(RUNS)]
    some = [sum(a for a, _ in fates) / RUNS for fates in (together, single)]
    partial = sum(a and not b for a, b in single) / RUNS
    curves[n] = (*some, partial)
    print(f"{n:>3}{some[0]:>13.3f}{some[1]:>12.3f}{1 - (1 - Q) ** n:>11.3f}{partial:>15.3f}")
    assert abs(some[1] - (1 - (1 - Q) ** n)) < 0.04
    assert not any(a and not b for a, b in together)
for n in SIZES:
    print(f"{n:>3}", "#" * round(60 * curves[n][1]))
assert curves[50][1] > 20 * curves[50][0]

# %% interfaces
RECORDS, PATIENCE = 5, 30  # one record a tick; a person leaves after thirty ticks


def outage(world):
    """When the server is away: not at all, for some ticks, or for good. From and until, in ticks."""
    start = world.random.randint(0, 8)
    return start, start + world.random.choice([0, 0, 2, 6, 15, 1000])


def write(away, now, tries):
    """The tick at which the record is on the server, or None when ``tries`` ticks were not enough."""
    return next((t for t in range(now, now + tries) if not away[0] <= t < away[1]), None)


def pretends_soft(away):
    """An error after three ticks. The program is older than the wire: it never looked at errors."""
    now, stored = 0, 0
    for _ in range(RECORDS):
        done = write(away, now, 3)
        stored += done is not None
        now = (now + 3 if done is None else done) + 1
    return "saved" if stored == RECORDS else "said saved, was not"


def pretends_hard(away):
    """No error ever: the call does not come back before the server does."""
    now = 0
    for _ in range(RECORDS):
        now = write(away, now, 2000) + 1
    return "saved" if now <= PATIENCE else "hangs"


def tells(away):
    """Done, or not known yet. The program was written for both, keeps what is open, and asks again."""
    waiting, now = RECORDS, 0
    while waiting and now < PATIENCE:
        waiting -= write(away, now, 1) is not None
        now += 1
    return "said not yet" if waiting else "saved"


INTERFACES = {
    tr("like local, with errors", "como local, con errores"): pretends_soft,
    tr("like local, it waits", "como local, espera"): pretends_hard,
    tr("made for a wire", "hecha para un cable"): tells,
}
OUTCOMES = {
    "saved": tr("saved", "guardado"),
    "said saved, was not": tr("false 'saved'", "falso guardado"),
    "hangs": tr("hangs", "colgado"),
    "said not yet": tr("'not yet'", "«aún no»"),
}
print(" " * 26, *(f"{word:>16}" for word in OUTCOMES.values()))
results = {}
for name, interface in INTERFACES.items():
    world = World("P148/outage", SEED)
    counts = Counter(interface(outage(world)) for _ in range(RUNS))
    results[interface] = counts
    print(f"{name:<26}", *(f"{counts[outcome]:>16}" for outcome in OUTCOMES))
assert results[pretends_soft]["said saved, was not"] > 0
assert results[pretends_hard]["hangs"] == results[tells]["said not yet"] > 0
assert results[tells]["said saved, was not"] == results[tells]["hangs"] == 0


# %% shapes
def added(order, value=0):
    """The same counter with one operation, ``add``: a client has a single step, and it happens there."""
    for _ in order:
        value += 1
    return value


for clients in (2, 3):
    every = list(permutations(range(clients)))
    kept = sum(added(order) == clients for order in every)
    print(tr("'add':", "«add»:"), clients, tr("clients,", "clientes,"), kept, "/", len(every))
    assert kept == len(every)
answer = remote(sorted)(theirs)
print(tr("the list, handed back:", "la lista, devuelta:"), answer)
assert answer == mine
