# P141, Hoare triples: the code of both editions of the miniature. Built by scripts/build_notebooks.py.
# %% setup
import ast
from itertools import pairwise, product

import matplotlib.pyplot as plt

from ai_evolution.world import World

plt.rcParams.update({"figure.dpi": 80, "figure.figsize": (7, 3.6)})
SEED = 0
LANG = "en"


def tr(en, es):
    """The words for this edition."""
    return es if LANG == "es" else en


# %% program
POSTPONE = [("start", "start + delay"), ("end", "end + delay"), ("nights", "end - start")]
WISH = "now < start and nights >= 1"


def run(program, state):
    """The state after the assignments, one after another. The state that was handed in stays as it was."""
    state = dict(state)
    for name, expression in program:
        state[name] = eval(expression, {}, state)
    return state


def says(assertion, state):
    """Whether an assertion is true in a state."""
    return bool(eval(assertion, {}, state))


before = {"now": 2, "start": 3, "end": 5, "delay": -1, "nights": 0}
after = run(POSTPONE, before)
print(tr("before:", "antes:  "), before)
print(tr("after: ", "después:"), after)
print(f"{WISH}:", says(WISH, after))
assert after == {"now": 2, "start": 2, "end": 4, "delay": -1, "nights": 2}
assert not says(WISH, after)

# %% states
DAYS, DELAYS = range(6), range(-2, 3)
STATES = [
    {"now": now, "start": start, "end": end, "delay": delay, "nights": 0}
    for now, start, end, delay in product(DAYS, DAYS, DAYS, DELAYS)
]


def broken(pre, program, post):
    """The states where the precondition holds and, after the program, the postcondition does not."""
    return [s for s in STATES if says(pre, s) and not says(post, run(program, s))]


print(tr("states:", "estados:"), len(STATES))
print(tr("that end well:", "que acaban bien:"), sum(says(WISH, run(POSTPONE, s)) for s in STATES))
assert len(STATES) == 6 * 6 * 6 * 5

# %% predict
CANDIDATES = {
    "A": "start < end",
    "B": "now < start and start < end",
    "C": "now < start and start < end and delay >= 0",
    "D": "now < start + delay and start < end",
}
PREDICTION = {
    "A": None,
    "B": None,
    "C": None,
    "D": None,
}  # True: every state that it admits ends well


# %% substitute
def substitute(assertion, name, expression):
    """The assertion with every free ``name`` replaced by the expression: Hoare's axiom of assignment."""

    class Replace(ast.NodeTransformer):
        def visit_Name(self, node):
            return ast.parse(expression, mode="eval").body if node.id == name else node

    return ast.unparse(Replace().visit(ast.parse(assertion, mode="eval")))


def wp(program, post):
    """What must hold before for ``post`` to hold after: the assignments substituted, the last one first."""
    for name, expression in reversed(program):
        post = substitute(post, name, expression)
        print(f"  {name + ' := ' + expression:<26}{post}")
    return post


print(f"  {'':<26}{WISH}")
weakest = wp(POSTPONE, WISH)
exact = all(says(weakest, s) == says(WISH, run(POSTPONE, s)) for s in STATES)
print(tr("true exactly where the run ends well:", "cierta justo donde la ejecución acaba bien:"), exact)
assert weakest == "now < start + delay and end + delay - (start + delay) >= 1"
assert exact

# %% compare
rows = {}
for name, pre in CANDIDATES.items():
    admitted = [s for s in STATES if says(pre, s)]
    bad = broken(pre, POSTPONE, WISH)
    lost = sum(says(weakest, s) and not says(pre, s) for s in STATES)
    rows[name] = (len(admitted) - len(bad), len(bad), lost)
print(tr("    ends well  broken  turned away   {P} C {Q}", "   acaba bien     mal    rechazado   {P} C {Q}"))
for name, (good, bad, lost) in rows.items():
    verdict = tr("valid" if not bad else "not valid", "válida" if not bad else "no válida")
    said = "" if PREDICTION[name] is None else f"  ({tr('you said', 'dijiste')} {PREDICTION[name]})"
    print(f"{name}{good:>10}{bad:>9}{lost:>13}   {verdict:<10}{said}  {CANDIDATES[name]}")
assert [name for name, (_, bad, _) in rows.items() if not bad] == ["C", "D"]
assert rows["B"][:2] == (74, 26)
assert rows["C"][2] == 59
assert rows["D"] == (119, 0, 0)
for name, pre in CANDIDATES.items():  # valid means: the candidate implies the weakest precondition
    assert (rows[name][1] == 0) == all(says(weakest, s) for s in STATES if says(pre, s))

# %% plot
fig, ax = plt.subplots()
parts = [
    (tr("admitted, ends well", "admitido, acaba bien"), "tab:blue"),
    (tr("admitted, broken", "admitido, acaba mal"), "tab:red"),
    (tr("turned away though good", "rechazado sin razón"), "lightgray"),
]
left = dict.fromkeys(rows, 0)
for index, (label, colour) in enumerate(parts):
    values = [rows[name][index] for name in rows]
    ax.barh(list(rows), values, left=[left[name] for name in rows], color=colour, label=label)
    left = {name: left[name] + rows[name][index] for name in rows}
ax.invert_yaxis()
ax.set(xlabel=tr("states", "estados"), ylabel=tr("precondition", "precondición"))
ax.legend()
plt.show()
print(tr("red, then grey:", "rojo y gris:"), {name: row[1:] for name, row in rows.items()})

# %% sample
world = World("P141", SEED)
TRIES = 2000
print(tr("states drawn   no broken one seen   (1-q)^n", "estados sorteados   no se vio el fallo   (1-q)^n"))
fine = [says(weakest, s) for s in STATES if says(CANDIDATES["B"], s)]  # how each admitted state ends
q = rows["B"][1] / len(fine)
for n in (1, 3, 5, 10, 20):
    unseen = 0
    for _ in range(TRIES):
        unseen += all(world.random.choices(fine, k=n))
    print(f"{n:>8}{unseen / TRIES:>20.3f}{(1 - q) ** n:>14.3f}")
    assert abs(unseen / TRIES - (1 - q) ** n) < 0.03

# %% forward
naive = broken("True", [("start", "start + delay")], "start == start + delay")
print(tr("states:", "estados:"), len(STATES))
print(tr("where the naive axiom is wrong:", "donde falla el axioma ingenuo:"), len(naive))
print(tr("one of them:", "uno de ellos:"), {key: naive[0][key] for key in ("start", "delay")})
assert len(naive) == len([s for s in STATES if s["delay"] != 0]) == 864


# %% loop
def divide(x, y, most=50):
    """Division by repeated subtraction. Every (r, q) on the way, and whether it ended."""
    r, q, seen = x, 0, [(x, 0)]
    while y <= r and len(seen) <= most:
        r, q = r - y, q + 1
        seen.append((r, q))
    return seen, not y <= r


runs = {(x, y): divide(x, y) for x in range(20) for y in range(6)}
invariant = all(x == r + y * q for (x, y), (seen, _) in runs.items() for r, q in seen)
ended = {pair for pair, (_, done) in runs.items() if done}
right = all(runs[x, y][0][-1] == (x % y, x // y) for x, y in ended)
print(tr("pairs:", "pares:"), len(runs), "·", tr("ended:", "terminan:"), len(ended))
print("x = r + y*q", tr("at every step:", "en cada paso:"), invariant)
print(tr("quotient and rest right, if it ended:", "cociente y resto correctos, si termina:"), right)
print(tr("did not end, y =", "no terminan, y ="), {y for x, y in runs.keys() - ended})
assert invariant
assert right
assert runs.keys() - ended == {(x, 0) for x in range(20)}

# %% total
falls = all(
    later[0] < earlier[0] and later[0] >= 0
    for (x, y), (seen, _) in runs.items()
    if y > 0
    for earlier, later in pairwise(seen)
)
print(tr("with y > 0, r falls and is never negative:", "con y > 0, r baja y nunca es negativo:"), falls)
assert falls
