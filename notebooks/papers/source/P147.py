# P147, remote procedure calls: the code of both editions. Built by scripts/build_notebooks.py.
# Tables and no plot: to import matplotlib costs more than all the rest of this notebook.
# %% setup
import json
from collections import Counter

from ai_evolution.world import World

SEED = 0
LANG = "en"
CALLS = 2000


def tr(en, es):
    """The words for this edition."""
    return es if LANG == "es" else en


# %% stub
class Purse:
    """The procedures, on the machine that has the money. ``kept`` is on its disk, as the money is."""

    def __init__(self):
        self.paid, self.kept = 0, {}

    def pay(self, euros, key=None):
        if key in self.kept:
            return self.kept[key]
        self.paid += euros
        if key is not None:
            self.kept[key] = self.paid
        return self.paid


class Failed(Exception):
    """All that a caller learns when no answer came."""


class Stub:
    """To its user this is the purse. It packs a call, sends it, and takes the answer with the same id."""

    def __init__(self, send, tries=1):
        self.send, self.tries, self.id = send, tries, 0

    def __getattr__(self, method):
        def call(*params):
            self.id += 1
            packet = json.dumps({"id": self.id, "method": method, "params": params})
            for _ in range(self.tries):
                answer = json.loads(self.send(packet) or "{}")
                if answer.get("id") == self.id:
                    return answer["result"]
            raise Failed

        return call


class Server:
    """Unpacks a call, runs it, packs the answer. With ``remembers`` the last answer is kept by its id."""

    def __init__(self, remembers=False):
        self.purse, self.remembers, self.last, self.runs = Purse(), remembers, {}, Counter()

    def receive(self, packet):
        call = json.loads(packet)
        if not (self.remembers and self.last.get("id") == call["id"]):
            result = getattr(self.purse, call["method"])(*call["params"])
            self.runs[call["id"]] += 1
            self.last = {"id": call["id"], "result": result}
        return json.dumps(self.last)


here, there = Purse(), Server()
remote = Stub(there.receive)
print(here.pay(5), here.pay(20), "|", remote.pay(5), remote.pay(20))
print(tr("the last answer on the wire:", "la última respuesta en el cable:"), json.dumps(there.last))
assert there.purse.paid == here.paid == 25


# %% lossy
def lossy(receive, world, p):
    """The wire. Each packet is lost with probability ``p``, whichever way it goes."""

    def send(packet):
        if world.random.random() < p:
            return None  # the call is lost
        answer = receive(packet)
        return None if world.random.random() < p else answer  # the answer is lost

    return send


def calls(stub, many=CALLS):
    """Pay one euro, many times. The ids of the calls that failed."""
    failed = []
    for number in range(1, many + 1):
        try:
            stub.pay(1)
        except Failed:
            failed.append(number)
    return failed


# %% predict
PREDICTION = {
    "failed calls that did run, %": None,  # one try, each packet lost in 20 % of the cases
    "runs per call, tried until answered": None,
    "the same, with ids remembered": None,
}

# %% once
P = 0.2
once = Server()
failed = calls(Stub(lossy(once.receive, World("P147/once", SEED), P)))
did_run = sum(once.runs[number] for number in failed)
share = did_run / len(failed)
print(tr("calls:", "llamadas:"), CALLS, tr("· failed:", "· fallidas:"), len(failed))
print(tr("failed, and the money moved:", "fallidas, y el dinero se movió:"), did_run, f"({share:.1%})")
print("(1-p)/(2-p) =", round((1 - P) / (2 - P), 3))
assert abs(share - (1 - P) / (2 - P)) < 0.03


# %% again
def runs_per_call(p, remembers, name):
    """Tried until answered (at most 100 times): the counts of runs, over the calls."""
    server = Server(remembers)
    failed = calls(Stub(lossy(server.receive, World(f"P147/{name}-{p}", SEED), p), tries=100))
    assert not failed
    return server.runs


blind, kept = runs_per_call(P, False, "blind"), runs_per_call(P, True, "kept")
for name, runs in ((tr("no memory", "sin memoria"), blind), (tr("ids remembered", "con memoria"), kept)):
    print(f"{name:<16}{sum(runs.values()) / CALLS:.3f}", dict(sorted(Counter(runs.values()).items())))
assert set(kept.values()) == {1}

# %% compare
measured = {
    "failed calls that did run, %": round(100 * share, 1),
    "runs per call, tried until answered": round(sum(blind.values()) / CALLS, 2),
    "the same, with ids remembered": sum(kept.values()) / CALLS,
}
for name, value in measured.items():
    print(f"{name:<37}{tr('predicted', 'predicho')} {PREDICTION[name]}, {tr('measured', 'medido')} {value}")
assert abs(measured["runs per call, tried until answered"] - 1 / (1 - P)) < 0.05


# %% crash
class Mortal(Server):
    """Dies with probability ``c`` at two moments of a call. The purse survives; the memory does not."""

    def __init__(self, world, c, binds):
        super().__init__(remembers=True)
        self.world, self.c, self.binds, self.life = world, c, binds, 1

    def dies(self):
        if self.world.random.random() < self.c:
            self.last, self.life = {}, self.life + 1
            return True
        return False

    def bound(self):
        """What a caller gets when it binds: with ``binds``, a door to this life and to no later one."""
        life = self.life

        def receive(packet):
            if (self.binds and life != self.life) or self.dies():
                return None
            answer = self.receive(packet)
            return None if self.dies() else answer

        return receive


def mortal(binds):
    """Every call binds anew and is tried ten times. Counts of (did it return, how often did it run)."""
    world = World(f"P147/mortal-{binds}", SEED)
    server, outcomes = Mortal(world, 0.05, binds), Counter()
    for number in range(1, CALLS + 1):
        stub = Stub(lossy(server.bound(), world, 0.1), tries=10)
        stub.id = number - 1
        try:
            stub.pay(1)
            outcomes["returned", server.runs[number]] += 1
        except Failed:
            outcomes["failed", server.runs[number]] += 1
    return outcomes


RUNS = range(5)
words = {"returned": tr("returned", "volvió"), "failed": tr("failed", "falló")}
print(" " * 30, *(f"{n:>6}" for n in RUNS), tr("  runs", "  ejecuciones"))
ends = {binds: mortal(binds) for binds in (False, True)}
for binds, outcomes in ends.items():
    name = (
        tr("bound to one life", "atada a una vida") if binds else tr("to whoever answers", "a quien responda")
    )
    for how, word in words.items():
        print(f"{name:<20}{word:<10}", *(f"{outcomes[how, n]:>6}" for n in RUNS))
assert ends[False]["returned", 2] > 0
assert {n for (how, n), count in ends[True].items() if how == "returned"} == {1}
assert {n for (how, n), count in ends[True].items() if how == "failed"} == {0, 1}


# %% key
def insist(keyed):
    """Who gets an exception calls again, and it is a new call. Euros paid for each euro meant."""
    world = World("P147/insist", SEED)
    server = Mortal(world, 0.05, True)
    number = 0
    for order in range(CALLS):
        for _ in range(100):
            stub = Stub(lossy(server.bound(), world, 0.1), tries=10)
            stub.id = number = number + 1
            try:
                stub.pay(1, f"order-{order}" if keyed else None)
                break
            except Failed:
                continue
    return server.purse.paid


paid = {keyed: insist(keyed) for keyed in (False, True)}
print(tr("euros meant:", "euros que se querían pagar:"), CALLS)
print(tr("paid, a new id for each call:", "pagados, con un id nuevo por llamada:"), paid[False])
print(tr("paid, one key for each order:", "pagados, con una clave por pedido:"), paid[True])
assert paid[True] == CALLS < paid[False]


# %% time
def seconds(calls, rows, latency):
    """T = 2L + (sent + received) / B + work, for each call; 100 bytes of envelope, 200 bytes a row."""
    return calls * (2 * latency + (100 + 200 * rows) / 1_000_000 + 0.0005 * rows)


ROWS, LATENCIES = 200, (0.00001, 0.001, 0.02, 0.1)
print(
    tr(
        "one way, ms   row by row, s   all at once, s   ratio",
        "ida, ms   fila a fila, s   de una vez, s   razón",
    )
)
row_by_row = [seconds(ROWS, 1, latency) for latency in LATENCIES]
at_once = [seconds(1, ROWS, latency) for latency in LATENCIES]
for latency, slow, fast in zip(LATENCIES, row_by_row, at_once, strict=True):
    print(f"{1000 * latency:>11.2f}{slow:>15.2f}{fast:>17.2f}{slow / fast:>8.1f}")
assert row_by_row[0] / at_once[0] < 1.5
assert row_by_row[-1] / at_once[-1] > 100
