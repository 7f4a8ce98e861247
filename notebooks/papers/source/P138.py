# P138, KQML: the code of both editions of the miniature. Built by scripts/build_notebooks.py.
# %% setup
import re
from dataclasses import dataclass

import matplotlib.pyplot as plt

from ai_evolution.world import World

plt.rcParams.update({"figure.dpi": 80, "figure.figsize": (7, 3.6)})
SEED = 0
LANG = "en"


def tr(en, es):
    """The words for this edition."""
    return es if LANG == "es" else en


# %% parse
def parse(text):
    """A KQML message as (performative, {parameter: value}); the value of :content is not looked into."""
    performative, rest = re.fullmatch(r"\((\S+)\s+(.*)\)", text, re.DOTALL).groups()
    pairs = re.findall(r":([a-z-]+)\s+(\"[^\"]*\"|[^\s:]+)", rest)
    return performative, {name: value.strip('"') for name, value in pairs}


question = """(ask-one :sender recruiter :receiver checker :reply-with q1
                      :language JSON :ontology hiring :content "{'sanctions': 'candidate-7'}")"""
performative, fields = parse(question)
print(tr("performative:", "performativa:"), performative)
for name, value in fields.items():
    print(f"  {name:<11}{value}")
assert performative == "ask-one"
assert fields["content"] == "{'sanctions': 'candidate-7'}"


# %% route
def route(text):
    """What a switchboard does: it reads the envelope and never the content."""
    performative, fields = parse(text)
    return f"{performative} -> {fields['receiver']}"


contents = ["{'sanctions': 'candidate-7'}", "{'diploma': 'candidate-9'}", "PRICE(IBM, ?p)", "%$#!"]
routes = [route(question.replace("{'sanctions': 'candidate-7'}", content)) for content in contents]
print(tr("contents:", "contenidos:"), len(contents), "·", tr("routes:", "rutas:"), set(routes))
assert set(routes) == {"ask-one -> checker"}

# %% predict
PREDICTION = {
    "direct": None,
    "hub": None,
    "pays_from": None,
}  # your numbers, for 5 requesters and 4 providers

# %% dialects
ACTS = ("ask", "tell", "refuse")  # what every system here can mean
FIELDS = ("act", "about", "ref")


@dataclass(frozen=True)
class Dialect:
    """One system's private format: its words for the acts, its names for the fields, its separator."""

    name: str
    words: dict
    keys: dict
    separator: str

    def write(self, message):
        said = {**message, "act": self.words[message["act"]]}
        return self.separator.join(f"{self.keys[field]}={said[field]}" for field in FIELDS)

    def read(self, text):
        pairs = dict(part.split("=") for part in text.split(self.separator))
        acts = {word: act for act, word in self.words.items()}
        message = {field: pairs[self.keys[field]] for field in FIELDS}
        return {**message, "act": acts[message["act"]]}


def invent(world, name, acts=ACTS):
    """A dialect that nobody else speaks, drawn from the world."""

    def token():
        return "".join(world.random.choices("bdfgklmnprstz", k=4))

    words, keys = {act: token() for act in acts}, {field: token() for field in FIELDS}
    return Dialect(name, words, keys, world.random.choice(";|,&"))


world = World("P138", SEED)
requesters = [invent(world, f"requester-{i}") for i in range(5)]
providers = [invent(world, f"provider-{j}") for j in range(4)]
message = {"act": "ask", "about": "candidate-7", "ref": "q1"}
spoken = [dialect.write(message) for dialect in (*requesters, *providers)]
print("\n".join(spoken))
assert len(set(spoken)) == 9
assert all(dialect.read(dialect.write(message)) == message for dialect in (*requesters, *providers))


# %% direct
def bridge(source, target):
    """A private bridge: one table of words and one of fields, good for this pair and no other."""
    words = {source.words[act]: target.words[act] for act in source.words if act in target.words}
    names = {source.keys[field]: target.keys[field] for field in FIELDS}

    def translate(text):
        pairs = dict(part.split("=") for part in text.split(source.separator))
        said = {names[key]: words.get(value, value) for key, value in pairs.items()}
        return target.separator.join(f"{key}={value}" for key, value in said.items())

    return translate


bridges = {(a.name, b.name): bridge(a, b) for a in requesters for b in providers}
arrived = [b.read(bridges[a.name, b.name](a.write(message))) for a in requesters for b in providers]
print(tr("bridges written:", "puentes escritos:"), len(bridges))
print(
    tr("messages that arrive whole:", "mensajes que llegan enteros:"),
    arrived.count(message),
    "/",
    len(arrived),
)
assert len(bridges) == 5 * 4
assert arrived == [message] * 20

# %% hub
PERFORMATIVES = {"ask": "ask-one", "tell": "tell", "refuse": "sorry"}


def to_common(dialect):
    """An adapter of one system: out of its dialect into KQML."""

    def translate(text):
        said = dialect.read(text)
        act = PERFORMATIVES.get(said["act"], "ask-one")  # what the layer cannot name becomes the nearest
        return f'({act} :reply-with {said["ref"]} :content "{said["about"]}")'

    return translate


def from_common(dialect):
    """An adapter of one system: out of KQML into its dialect."""
    acts = {performative: act for act, performative in PERFORMATIVES.items()}

    def translate(text):
        performative, fields = parse(text)
        return dialect.write(
            {"act": acts[performative], "about": fields["content"], "ref": fields["reply-with"]}
        )

    return translate


out = {a.name: to_common(a) for a in requesters}
into = {b.name: from_common(b) for b in providers}
arrived = [b.read(into[b.name](out[a.name](a.write(message)))) for a in requesters for b in providers]
print(tr("adapters written:", "adaptadores escritos:"), len(out) + len(into))
print(
    tr("messages that arrive whole:", "mensajes que llegan enteros:"),
    arrived.count(message),
    "/",
    len(arrived),
)
print(tr("on the way:", "por el camino:"), out["requester-0"](requesters[0].write(message)))
assert len(out) + len(into) == 5 + 4
assert arrived == [message] * 20


# %% compare
def compare(prediction, measured):
    """One line for each prediction; nothing here can fail."""
    for name, seen in measured.items():
        said = prediction[name]
        verdict = "-" if said is None else ("=" if said == seen else "x")
        print(f"{verdict} {name:<10} {tr('predicted', 'predicho')} {said}, {tr('counted', 'contado')} {seen}")


pays_from = next(n for n in range(1, 10) if n * n > 2 * n)
compare(PREDICTION, {"direct": len(bridges), "hub": len(out) + len(into), "pays_from": pays_from})
assert pays_from == 3

# %% breakeven
sizes = range(1, 9)
AGREEMENT = 12  # what it cost to agree on the layer, in adapters; change it and run again
direct, hub = [n * n for n in sizes], [2 * n for n in sizes]
dear = [2 * n + AGREEMENT for n in sizes]
cross = next(n for n in sizes if n * n > 2 * n + AGREEMENT)
print(tr(" n    direct    common    common + agreement", " n   directo     común     común + acuerdo"))
for row in zip(sizes, direct, hub, dear, strict=True):
    print("{:>2}{:>10}{:>10}{:>20}".format(*row))
print(tr("it pays from n =", "compensa desde n ="), pays_from)
print(tr("with that agreement, from n =", "con ese acuerdo, desde n ="), cross)
assert (direct[1], hub[1]) == (4, 4)
assert cross == 5

T = {
    "en": ("systems on each side", "translators to write", "direct", "common layer", "with its agreement"),
    "es": ("sistemas en cada lado", "traductores por escribir", "directo", "capa común", "con su acuerdo"),
}[LANG]
fig, ax = plt.subplots()
ax.plot(sizes, direct, "o-", label=T[2])
ax.plot(sizes, hub, "s-", label=T[3])
ax.plot(sizes, dear, "s--", label=T[4])
ax.axvline(cross, color="gray", lw=0.8)
ax.set(xlabel=T[0], ylabel=T[1])
ax.legend()
plt.show()

# %% loss
RICH = (*ACTS, "insist")  # two of the systems on each side can also insist
rich_requesters = [invent(world, f"rich-requester-{i}", RICH) for i in range(2)]
rich_providers = [invent(world, f"rich-provider-{j}", RICH) for j in range(2)]
urgent = {"act": "insist", "about": "candidate-7", "ref": "q2"}
pairs = [(a, b) for a in rich_requesters for b in rich_providers]
kept_direct = sum(b.read(bridge(a, b)(a.write(urgent))) == urgent for a, b in pairs)
kept_hub = sum(b.read(from_common(b)(to_common(a)(a.write(urgent)))) == urgent for a, b in pairs)
a, b = pairs[0]
arrives = b.read(from_common(b)(to_common(a)(a.write(urgent))))["act"]
print(
    tr("pairs that keep 'insist', directly:", "parejas que conservan «insist», directas:"), kept_direct, "/ 4"
)
print(tr("through the common layer:", "por la capa común:"), kept_hub, "/ 4")
print(tr("what arrives instead:", "lo que llega en su lugar:"), arrives)
assert (kept_direct, kept_hub, arrives) == (4, 0, "ask")
