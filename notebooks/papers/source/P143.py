# P143, behavioural subtyping: the code of both editions. Built by scripts/build_notebooks.py.
# %% setup
import copy
import json
from itertools import product

import matplotlib.pyplot as plt
from jsonschema import Draft202012Validator

from ai_evolution.atdf.containment import containment
from ai_evolution.world import World

plt.rcParams.update({"figure.dpi": 80, "figure.figsize": (7.5, 3.6)})
SEED = 0
LANG = "en"


def tr(en, es):
    """The words for this edition."""
    return es if LANG == "es" else en


# %% old
def record(required, **properties):
    """The schema of an object with these members and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


OLD = {
    "input": record(
        ["city", "nights"],
        city={"type": "string"},
        nights={"type": "integer", "minimum": 1, "maximum": 30},
        board={"enum": ["none", "breakfast"]},
    ),
    "output": record(
        ["price", "state"],
        price={"type": "integer", "minimum": 0},
        state={"enum": ["confirmed", "waiting"]},
        note={"type": "string"},
    ),
}
EXAMPLE = {"input": {"city": "Oviedo", "nights": 2}, "output": {"price": 120, "state": "confirmed"}}


def accepts(schema, value):
    """Whether the value is valid against the schema."""
    return Draft202012Validator(schema).is_valid(value)


for side, value in EXAMPLE.items():
    print(f"{side:<7}", json.dumps(value), accepts(OLD[side], value))
    assert accepts(OLD[side], value)


# %% changes
def changed(side, change):
    """A new version of the tool: a copy of the old one with one side changed."""
    new = copy.deepcopy(OLD)
    change(new[side])
    return new


CHANGES = {
    tr("in: nights at most 14", "entrada: nights hasta 14"): (
        "input",
        lambda s: s["properties"]["nights"].update(maximum=14),
    ),
    tr("in: nights at most 60", "entrada: nights hasta 60"): (
        "input",
        lambda s: s["properties"]["nights"].update(maximum=60),
    ),
    tr("in: city may be left out", "entrada: city puede faltar"): (
        "input",
        lambda s: s["required"].remove("city"),
    ),
    tr("in: board must be given", "entrada: board obligatorio"): (
        "input",
        lambda s: s["required"].append("board"),
    ),
    tr("out: state may be 'paid'", "salida: state puede ser paid"): (
        "output",
        lambda s: s["properties"]["state"]["enum"].append("paid"),
    ),
    tr("out: state never 'waiting'", "salida: state nunca waiting"): (
        "output",
        lambda s: s["properties"]["state"]["enum"].remove("waiting"),
    ),
    tr("out: price may be left out", "salida: price puede faltar"): (
        "output",
        lambda s: s["required"].remove("price"),
    ),
    tr("out: note always there", "salida: note siempre"): ("output", lambda s: s["required"].append("note")),
}
NEW = {name: changed(side, change) for name, (side, change) in CHANGES.items()}
print("\n".join(NEW))
assert all(new != OLD for new in NEW.values())

# %% predict
PREDICTION = [None] * 8  # in the order above; True: the new version may stand in for the old one

# %% world
GAP = object()  # the member is not there


def objects(**members):
    """Every object that can be made of these values."""
    for values in product(*members.values()):
        yield {name: value for name, value in zip(members, values, strict=True) if value is not GAP}


CALLS = list(
    objects(
        city=["Oviedo", "", 7, GAP],
        nights=[*range(-1, 63), "2", GAP],
        board=["none", "breakfast", "full", GAP],
        pets=[1, GAP],
    )
)
RESULTS = list(
    objects(
        price=[-1, 0, 120, "120", GAP],
        state=["confirmed", "waiting", "paid", "", GAP],
        note=["", "late", None, GAP],
        tip=[5, GAP],
    )
)
print(len(CALLS), tr("calls,", "llamadas,"), len(RESULTS), tr("results", "resultados"))
allowed = [call for call in CALLS if accepts(OLD["input"], call)]
promised = [result for result in RESULTS if accepts(OLD["output"], result)]
print(
    tr("allowed by the old version:", "permitidos por la versión vieja:"),
    len(allowed),
    len(promised),
)


# %% judge
def breaks(new):
    """The calls that are no longer accepted, and the results that were never promised."""
    calls = [call for call in allowed if not accepts(new["input"], call)]
    results = [r for r in RESULTS if r not in promised and accepts(new["output"], r)]
    return calls, results


found = {name: breaks(new) for name, new in NEW.items()}
safe = {name: not calls and not results for name, (calls, results) in found.items()}
for (name, (calls, results)), guess in zip(found.items(), PREDICTION, strict=True):
    broken = [*calls, *results]
    shown = json.dumps(broken[0]) if broken else tr("nothing", "nada")
    said = "" if guess is None else f"  [{guess}]"
    print(f"{name:<28}{len(broken):>4}  {shown}{said}")
assert list(safe.values()) == [False, True, True, False, False, True, False, True]

# %% example
passes = {name: all(accepts(new[side], EXAMPLE[side]) for side in EXAMPLE) for name, new in NEW.items()}
caught = [name for name, ok in safe.items() if not ok and not passes[name]]
missed = [name for name, ok in safe.items() if not ok and passes[name]]
alarms = [name for name, ok in safe.items() if ok and not passes[name]]
print(tr("breaks, and the example sees it:", "rompe, y el ejemplo lo ve:"), *caught, sep="\n  ")
print(tr("breaks, and the example passes:", "rompe, y el ejemplo pasa:"), *missed, sep="\n  ")
print(tr("safe, and the example fails:", "no rompe, y el ejemplo falla:"), *alarms, sep="\n  ")
names = list(CHANGES)
assert (caught, alarms) == ([names[3]], [names[7]])
assert len(missed) == 3


# %% clients
def client(world):
    """What one client does: its calls, and the results that it knows how to handle."""
    longest = world.random.choice([3, 7, 7, 14, 30])
    calls = []
    for _ in range(20):
        call = {"city": "Oviedo", "nights": world.random.randint(1, longest)}
        if world.random.random() < 0.5:
            call["board"] = world.random.choice(["none", "breakfast"])
        calls.append(call)
    return calls, {"price": world.random.random() < 0.8, "state": world.random.random() < 0.3}


def stopped(client, name):
    """Whether one of its calls is refused, or a new kind of result meets code that does not expect it."""
    calls, reads = client
    if CHANGES[name][0] == "input":
        return not all(accepts(NEW[name]["input"], call) for call in calls)
    results = found[name][1]
    no_price = any("price" not in result for result in results)
    new_state = any(result["state"] == "paid" for result in results)
    return (reads["price"] and no_price) or (reads["state"] and new_state)


world = World("P143", SEED)
CLIENTS = [client(world) for _ in range(200)]
hit = {name: sum(stopped(one, name) for one in CLIENTS) for name in NEW}
print(tr("clients of 200 that stop working:", "clientes de 200 que dejan de funcionar:"))
for name, count in hit.items():
    print(f"  {name:<28}{count:>4}")
assert all((count == 0) == safe[name] for name, count in hit.items())

fig, ax = plt.subplots()
colours = ["tab:blue" if safe[name] else "tab:red" for name in hit]
ax.barh(list(hit), list(hit.values()), color=colours)
for y, count in enumerate(hit.values()):
    ax.text(count + 2, y, count, va="center")
ax.invert_yaxis()
ax.set(xlim=(0, 225), xlabel=tr("clients of 200 that stop working", "clientes de 200 que dejan de funcionar"))
plt.show()

# %% proof
for name, new in NEW.items():
    side = CHANGES[name][0]
    left, right = (OLD, new) if side == "input" else (new, OLD)
    verdict = containment(left[side], right[side])
    shown = tr("proven", "demostrado") if verdict.contained else json.dumps(verdict.breaks[0].witness)
    print(f"{name:<28}{shown}")
    assert verdict.contained == safe[name]


# %% order
def hotels_old(prices):
    """Promise: the prices, the lowest first."""
    return sorted(prices)


def hotels_new(prices):
    """The same schema: a list of whole numbers. The order is no longer kept."""
    return list(prices)


LIST = {"type": "array", "items": {"type": "integer"}}
world = World("P143/order", SEED)
asked = [[world.random.randint(40, 200) for _ in range(5)] for _ in range(500)]
valid = all(accepts(LIST, hotels_new(prices)) for prices in asked)
dearer = sum(hotels_new(prices)[0] > hotels_old(prices)[0] for prices in asked)
print(tr("results valid against the schema:", "resultados válidos según el esquema:"), valid)
print(tr("the first is not the lowest:", "el primero no es el más bajo:"), dearer, "/ 500")
assert valid
assert abs(dearer / 500 - 4 / 5) < 0.05


# %% history
class Log:
    """Entries are added and read. Its history constraint: what was there stays there, unchanged."""

    def __init__(self):
        self.entries = []

    def add(self, entry):
        self.entries.append(entry)
        return len(self.entries) - 1

    def read(self, index):
        return self.entries[index]


class TidyLog(Log):
    """``add`` and ``read`` are those of Log, word for word. One operation more."""

    def tidy(self):
        self.entries = sorted(set(self.entries))


def receipts_that_hold(log, world, tidies):
    """A client keeps the index of each entry that it added; another one may tidy up in between."""
    kept = []
    for step in range(30):
        entry = f"order-{world.random.randrange(20):02}"
        kept.append((log.add(entry), entry))
        if tidies and step % 10 == 9:
            log.tidy()
    return sum(index < len(log.entries) and log.read(index) == entry for index, entry in kept)


plain = receipts_that_hold(Log(), World("P143/log", SEED), tidies=False)
unused = receipts_that_hold(TidyLog(), World("P143/log", SEED), tidies=False)
tidied = receipts_that_hold(TidyLog(), World("P143/log", SEED), tidies=True)
print(tr("receipts that still hold, of 30:", "recibos que siguen valiendo, de 30:"))
print("  Log", plain, "· TidyLog", unused, "·", tr("TidyLog, tidied", "TidyLog, tras ordenar"), tidied)
assert plain == unused == 30
assert tidied < 15
