# P145, QuickCheck: the code of both editions of the miniature. Built by scripts/build_notebooks.py.
# %% setup
from collections import Counter
from itertools import product
from math import ceil, log

import matplotlib.pyplot as plt

from ai_evolution.world import World

plt.rcParams.update({"figure.dpi": 80, "figure.figsize": (7, 3.6)})
SEED = 0
LANG = "en"


def tr(en, es):
    """The words for this edition."""
    return es if LANG == "es" else en


# %% property
def days(start, end):
    """The days of a stay, both ends included. There is one slip in it."""
    if end - start < 1:
        return []
    return list(range(start, end + 1))


def covers(stay):
    """The property: from the first day to the last, each of them once."""
    start, end = stay
    found = days(start, end)
    return len(found) == end - start + 1 and found[:1] == [start] and found[-1:] == [end]


EXAMPLES = [(1, 3), (10, 17), (0, 1), (28, 31), (5, 90)]
print(tr("examples that pass:", "ejemplos que pasan:"), sum(map(covers, EXAMPLES)), "/", len(EXAMPLES))
assert all(map(covers, EXAMPLES))


# %% check
def pairs(world):
    """Two days of a hundred, in order."""
    return tuple(sorted((world.random.randrange(100), world.random.randrange(100))))


def check(holds, generate, world, most=100):
    """QuickCheck in five lines: (how many tests, the counterexample or None)."""
    for test in range(1, most + 1):
        value = generate(world)
        if not holds(value):
            return test, value
    return most, None


for campaign in (1, 2, 3):
    tests, found = check(covers, pairs, World(f"P145/campaign-{campaign}", SEED))
    print(campaign, tr("tests:", "pruebas:"), tests, "·", tr("counterexample:", "contraejemplo:"), found)

# %% predict
PREDICTION = {
    "percent that miss it, 100 tests": None,
    "percent that miss it, 300 tests": None,
    "tests for 95 percent": None,
}

# %% miss
SIZES = (10, 30, 100, 200, 300, 500)
CAMPAIGNS = 4000
first = []  # the test in which each campaign meets the fault for the first time
world = World("P145/campaigns", SEED)
for _ in range(CAMPAIGNS):
    test, stay = check(covers, pairs, world, most=max(SIZES))
    first.append(test if stay else None)
q = sum(not covers(sorted(both)) for both in product(range(100), repeat=2)) / 100**2
print("q =", q)
print(tr("    n   missed   (1-q)^n", "    n   sin ver   (1-q)^n"))
missed = {}
for n in SIZES:
    missed[n] = sum(test is None or test > n for test in first) / CAMPAIGNS
    print(f"{n:>5}{missed[n]:>9.3f}{(1 - q) ** n:>10.3f}")
    assert abs(missed[n] - (1 - q) ** n) < 0.025
assert q == 0.01

# %% compare
enough = ceil(log(0.05) / log(1 - q))
measured = {
    "percent that miss it, 100 tests": round(100 * missed[100], 1),
    "percent that miss it, 300 tests": round(100 * missed[300], 1),
    "tests for 95 percent": enough,
}
for name, value in measured.items():
    print(f"{name:<33}{tr('predicted', 'predicho')} {PREDICTION[name]}, {tr('measured', 'medido')} {value}")
print(tr("no failure in 300, 95 % bound on q:", "ningún fallo en 300, cota de q al 95 %:"), 3 / 300)
assert enough == 299
assert 3 < measured["percent that miss it, 300 tests"] < 7


# %% bias
def stays(world):
    """A start and a length: what a person writes first, since a stay lasts a night at least."""
    start = world.random.randrange(90)
    return start, start + world.random.randint(1, 10)


def mixed(world):
    """Half of the tests as before, half of them at the borders."""
    if world.random.random() < 0.5:
        return stays(world)
    start = world.random.choice([0, 1, 30, 98, 99])
    return start, min(start + world.random.choice([0, 1]), 99)


GENERATORS = {"pairs": pairs, "stays": stays, "mixed": mixed}
curves = {}
for name, generate in GENERATORS.items():
    world = World(f"P145/{name}", SEED)
    tests = [check(covers, generate, world, most=500) for _ in range(300)]
    at = [test if stay else 501 for test, stay in tests]
    curves[name] = [sum(test > n for test in at) / len(at) for n in SIZES]
    print(f"{name:<7}", " ".join(f"{n}: {value:.3f}" for n, value in zip(SIZES, curves[name], strict=True)))
assert set(curves["stays"]) == {1.0}
assert curves["mixed"][1] < 0.01

fig, ax = plt.subplots()
ax.plot(range(1, 501), [(1 - q) ** n for n in range(1, 501)], ":", color="gray", label="(1-q)^n, q = 0.01")
for (name, curve), mark in zip(curves.items(), "osd", strict=True):
    ax.plot(SIZES, curve, mark, label=name)
ax.set(xscale="log", xlabel=tr("tests in a campaign", "pruebas de una campaña"), ylim=(-0.03, 1.05))
ax.set_ylabel(tr("campaigns that miss the fault", "campañas que no ven el fallo"))
ax.legend()
plt.show()


# %% classify
KINDS = (tr("one day", "un día"), tr("to 10 nights", "hasta 10 noches"), tr("longer", "más larga"))


def kind(stay):
    """What to count while testing."""
    length = stay[1] - stay[0]
    return KINDS[0 if length == 0 else (1 if length <= 10 else 2)]


for name, generate in GENERATORS.items():
    world = World(f"P145/classify-{name}", SEED)
    counts = Counter(kind(generate(world)) for _ in range(1000))
    print(f"{name:<7}", {label: counts[label] for label in KINDS})
    assert (counts[KINDS[0]] == 0) == (name == "stays")


# %% merge
def merge(stays):
    """Stays that touch or overlap become one. There is one slip in it."""
    merged = []
    for start, end in sorted(stays):
        if merged and start <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], end)
        else:
            merged.append((start, end))
    return merged


def keeps_days(stays):
    """The property: the same days are taken before and after."""
    before, after = ({day for a, b in some for day in range(a, b + 1)} for some in (stays, merge(stays)))
    return before == after


def lists(world):
    """Up to eight stays."""
    return [pairs(world) for _ in range(world.random.randint(0, 8))]


test, found = check(keeps_days, lists, World("P145/merge", SEED))
print(tr("test", "prueba"), test, found)
assert not keeps_days(found)


# %% shrink
def smaller(stays):
    """Every list that is one step simpler: a stay less, or one end nearer to zero."""
    for i, (start, end) in enumerate(stays):
        yield [*stays[:i], *stays[i + 1 :]]
        for a, b in ((start // 2, end), (start - 1, end), (start, (start + end) // 2), (start, end - 1)):
            if 0 <= a <= b and (a, b) != (start, end):
                yield [*stays[:i], (a, b), *stays[i + 1 :]]


def shrink(holds, value):
    """The way from a counterexample down to one that has no simpler counterexample beside it."""
    way = [value]
    while simpler := next((other for other in smaller(way[-1]) if not holds(other)), None):
        way.append(simpler)
    return way


way = shrink(keeps_days, found)
for value in (way[0], way[1], way[len(way) // 2], way[-1]):
    print(value)
print(len(way) - 1, tr("steps", "pasos"))
ends = Counter()
for i in range(200):
    _, value = check(keeps_days, lists, World(f"P145/shrink-{i}", SEED))
    ends[str(shrink(keeps_days, value)[-1])] += 1
print(tr("where 200 others end:", "dónde acaban otros 200:"), dict(ends.most_common()))
assert sorted(way[-1]) == [(0, 2), (1, 1)]
assert set(ends) == {"[(0, 2), (1, 1)]", "[(1, 1), (0, 2)]"}
