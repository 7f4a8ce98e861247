# P149, end-to-end arguments: the code of both editions of the miniature. Built by scripts/build_notebooks.py.
# Bars of characters and no plot: to import matplotlib costs more than all the rest of this notebook.
# %% setup
import hashlib
import zlib
from collections import Counter
from statistics import mean

from ai_evolution.world import World

SEED = 0
LANG = "en"
RUNS = 1000


def tr(en, es):
    """The words for this edition."""
    return es if LANG == "es" else en


# %% path
FILE = [bytes(range(32 * i, 32 * i + 32)) for i in range(8)]  # eight blocks of 32 bytes
WIRES = 3  # with a gateway between one wire and the next


def over_the_wire(world, block, p):
    """With probability ``p`` one byte arrives as another."""
    if world.random.random() >= p:
        return block
    at, flip = world.random.randrange(len(block)), world.random.randint(1, 255)
    return block[:at] + bytes([block[at] ^ flip]) + block[at + 1 :]


def through_the_gateway(world, block, q):
    """With probability ``q`` two neighbouring bytes change places, in the memory of the machine."""
    if world.random.random() >= q:
        return block
    at = world.random.randrange(len(block) - 1)
    return block[:at] + block[at : at + 2][::-1] + block[at + 2 :]


def carry(world, block, p, q, checked):
    """One block over the whole path: what arrives, and how many sendings it took.

    ``checked``: each wire compares a CRC-32 and sends again until it fits. A gateway computes a new one.
    """
    sendings = 0
    for wire in range(WIRES):
        while True:
            sendings += 1
            arrived = over_the_wire(world, block, p)
            if not checked or zlib.crc32(arrived) == zlib.crc32(block):
                break
        block = arrived if wire == WIRES - 1 else through_the_gateway(world, arrived, q)
    return block, sendings


def digest(blocks):
    """What the two ends compare."""
    return hashlib.sha256(b"".join(blocks)).hexdigest()


def transfer(world, file, p, q, hops, ends):
    """The file over the path: (is it right, sendings, attempts). ``ends``: again until both ends agree."""
    sendings = attempts = 0
    while True:
        attempts += 1
        carried = [carry(world, block, p, q, hops) for block in file]
        arrived = [block for block, _ in carried]
        sendings += sum(count for _, count in carried)
        if not ends or digest(arrived) == digest(file):
            return arrived == file, sendings, attempts


print(transfer(World("P149/calm", SEED), FILE, 0, 0, hops=True, ends=True))
assert transfer(World("P149/calm", SEED), FILE, 0, 0, hops=True, ends=True) == (True, 24, 1)

# %% predict
PREDICTION = {
    "wrong of 1000, each wire checked": None,  # p = 2 % of the blocks on each wire
    "wrong of 1000, the ends check": None,  # q = 0.2 % of the blocks in each gateway
    "attempts, only the ends check": None,
}

# %% places
P, Q = 0.02, 0.002
PLACES = {
    "nothing": (False, False),
    "each wire": (True, False),
    "the ends": (False, True),
    "both": (True, True),
}
NAMES = {
    "nothing": tr("nothing", "nada"),
    "each wire": tr("each wire", "cada cable"),
    "the ends": tr("the ends", "los extremos"),
    "both": tr("both", "ambos"),
}


def measure(p, q, hops, ends, name):
    """A thousand transfers: how many are wrong, mean sendings, mean attempts."""
    world = World(f"P149/{name}-{p}-{q}", SEED)
    done = [transfer(world, FILE, p, q, hops, ends) for _ in range(RUNS)]
    return sum(not right for right, *_ in done), mean(s for _, s, _ in done), mean(a for *_, a in done)


found = {name: measure(P, Q, *where, name) for name, where in PLACES.items()}
print(tr(f"{'checked':<14}wrong  sendings  attempts", f"{'comprueba':<14}  mal    envíos  intentos"))
for name, (wrong, sendings, attempts) in found.items():
    print(f"{NAMES[name]:<14}{wrong:>5}{sendings:>10.1f}{attempts:>10.2f}")
assert found["the ends"][0] == found["both"][0] == 0
assert 0 < found["each wire"][0] < found["nothing"][0]
assert found["both"][1] < found["the ends"][1]

# %% compare
measured = {
    "wrong of 1000, each wire checked": found["each wire"][0],
    "wrong of 1000, the ends check": found["the ends"][0],
    "attempts, only the ends check": round(found["the ends"][2], 2),
}
for name, value in measured.items():
    print(f"{name:<34}{tr('predicted', 'predicho')} {PREDICTION[name]}, {tr('measured', 'medido')} {value}")
intact = (1 - P) ** 24 * (1 - Q) ** 16
print("1 / ((1-p)^24 (1-q)^16) =", round(1 / intact, 2))
assert abs(found["the ends"][2] - 1 / intact) < 0.15

# %% better
print(
    tr(
        "p on a wire   wrong, each wire checked   attempts, ends",
        "p en un cable   mal, cada cable   intentos, extremos",
    )
)
wrongs = []
for p in (0.05, 0.02, 0.0):
    wrong, _, _ = measure(p, Q, True, False, "better")
    _, _, attempts = measure(p, Q, False, True, "better-ends")
    wrongs.append(wrong)
    print(f"{p:>11.2f}{wrong:>22}{attempts:>24.2f}")
expected = RUNS * (1 - (1 - Q) ** 16)
print(tr("expected wrong, whatever p is:", "mal esperados, sea p la que sea:"), round(expected, 1))
assert all(abs(wrong - expected) < 20 for wrong in wrongs)

# %% size
LENGTHS = (4, 8, 16, 32)
attempts = {"the ends": [], "both": []}
for name, row in attempts.items():
    for n in LENGTHS:
        world = World(f"P149/size-{name}-{n}", SEED)
        file = (FILE * 4)[:n]
        row.append(mean(transfer(world, file, P, Q, *PLACES[name])[2] for _ in range(150)))
    print(
        f"{NAMES[name]:<14}", " ".join(f"n={n}: {value:.2f}" for n, value in zip(LENGTHS, row, strict=True))
    )
assert attempts["the ends"][-1] > 4 > 1.5 > attempts["both"][-1]
for n, value in zip(LENGTHS, attempts["the ends"], strict=True):
    formula = 1 / ((1 - P) ** (3 * n) * (1 - Q) ** (2 * n))
    print(f"n={n:<3}", "#" * round(4 * value), tr("formula", "fórmula"), f"{formula:.2f}")


# %% duplicates
def shop(world, network_ids, order_keys, orders=2000):
    """Orders carried out, and calls that reach the shop, when packets double and people click again."""
    seen_packets, seen_orders, done, reached, packet = set(), set(), 0, 0, 0
    for order in range(orders):
        clicks = 2 if world.random.random() < 0.05 else 1  # the answer was slow
        for _ in range(clicks):
            packet += 1  # a click is a new packet, of the same order
            copies = 2 if world.random.random() < 0.1 else 1  # the network delivers it twice
            for _ in range(copies):
                if network_ids and packet in seen_packets:
                    continue
                seen_packets.add(packet)
                reached += 1
                if order_keys and order in seen_orders:
                    continue
                seen_orders.add(order)
                done += 1
    return done - orders, reached


print(
    tr(
        "who removes duplicates    too many   reach the shop",
        "quién quita duplicados    de más   llegan a la tienda",
    )
)
extra = {}
for name, where in PLACES.items():
    extra[name] = shop(World("P149/shop", SEED), *where)
    label = {"each wire": tr("the network", "la red"), "the ends": tr("the shop", "la tienda")}.get(
        name, NAMES[name]
    )
    print(f"{label:<22}{extra[name][0]:>10}{extra[name][1]:>14}")
assert extra["each wire"][0] > 0
assert extra["the ends"][0] == extra["both"][0] == 0
assert extra["both"][1] < extra["the ends"][1]


# %% ack
def delivery(world):
    """A packet reaches the machine, is read by the program, is acted on. Each step may be the last."""
    for step, p in (("lost", 0.05), ("at the machine", 0.05), ("read", 0.05)):
        if world.random.random() < p:
            return step
    return "done"


world = World("P149/ack", SEED)
fates = Counter(delivery(world) for _ in range(2000))
ACKS = {  # an acknowledgement is sent from the step where it is placed, by all that came as far
    tr("by the machine", "de la máquina"): ("at the machine", "read", "done"),
    tr("by the program", "del programa"): ("read", "done"),
    tr("after the act", "tras el acto"): ("done",),
}
truth = []
for name, steps in ACKS.items():
    acknowledged = sum(fates[step] for step in steps)
    truth.append(fates["done"] / acknowledged)
    print(
        f"{name:<18}{acknowledged:>6}", tr("acknowledged, and done:", "acuses, y hecho:"), f"{truth[-1]:.1%}"
    )
assert truth[0] < truth[1] < truth[2] == 1


# %% end
def stored(world, checks, lazy=False):
    """A file that the disk spoils in 3 % of the cases. Where is the end? (accepted, right on the disk)"""
    disk = FILE if world.random.random() >= 0.03 else [*FILE[:-1], b"\0" * 32]
    if checks == "in memory":
        return True, disk == FILE
    said = digest(FILE) if lazy else digest(disk)  # a lazy end repeats the hash that it was sent
    return said == digest(FILE), disk == FILE


ENDS = {
    tr("before it is written", "antes de escribir"): ("in memory", False),
    tr("read back from the disk", "releído del disco"): ("read back", False),
    tr("the end says it was read", "el extremo dice que leyó"): ("read back", True),
}
accepted_wrong = []
for name, where in ENDS.items():
    world = World("P149/end", SEED)
    outcomes = [stored(world, *where) for _ in range(2000)]
    accepted_wrong.append(sum(accepted and not right for accepted, right in outcomes))
    print(f"{name:<27}", tr("accepted and wrong:", "aceptados y mal:"), accepted_wrong[-1])
assert accepted_wrong[1] == 0
assert accepted_wrong[0] == accepted_wrong[2] > 0
