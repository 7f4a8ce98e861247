# Class 132, guided: the code of both editions. Built by scripts/build_notebooks.py.
# ruff: noqa: E402, F704 (a cell imports what it is about, and may await)
# %% setup
import copy
import json

import matplotlib.pyplot as plt
import pandas as pd
from IPython.display import display

from ai_evolution.labs import run_lab, verify

plt.rcParams.update({"figure.dpi": 80, "font.size": 10, "axes.spines.top": False, "axes.spines.right": False})
pd.set_option("display.max_colwidth", None, "display.width", 120, "display.max_columns", None)
BLUE, RUST, GREY = "#1f5a92", "#a8481b", "0.55"
LANG = "en"


def tr(en, es):
    """The words for this edition."""
    return es if LANG == "es" else en


# %% run
report = run_lab("mcp", seed=0)
findings = {finding.id: finding for finding in report.evidence}
print(tr("claims:", "afirmaciones:"), len(findings))
print(tr("that hold:", "que se cumplen:"), sum(finding.holds for finding in report.evidence))
print(report.digest)
assert report.holds

# %% table
table = pd.DataFrame(
    {
        tr("claim", "afirmación"): [getattr(finding.claim, LANG) for finding in report.evidence],
        tr("holds", "se cumple"): [finding.holds for finding in report.evidence],
    },
    index=pd.Index(findings, name="id"),
)
display(table)
print(len(table), tr("rows", "filas"))
assert table.iloc[:, 1].all()


# %% finding
def show(claim_id):
    """One finding: what was expected and what was observed."""
    finding = findings[claim_id]
    print(claim_id, "·", ", ".join(finding.sources))
    for name, value in (("expected", finding.expected), ("observed", finding.observed)):
        print(f"  {name}: {json.dumps(value, ensure_ascii=False)}")


show("mcp.control")
assert findings["mcp.control"].observed["model"] == ["tool"]

# %% limits
for limit in report.limitations:
    print(f"{limit.id}: {getattr(limit.says, LANG)}")
assert {"mcp.scripted-model", "mcp.heuristics"} <= {limit.id for limit in report.limitations}

# %% wire
from ai_evolution.labs.mcp import LEGACY, MODERN

wires = {era: report.result[f"wire_{era}"] for era in (LEGACY, MODERN)}
for era, frames in wires.items():
    print(era)
    for frame in frames:
        arrow = "→" if frame["direction"] == "client->server" else "←"
        print(f"  {arrow} {frame['method']:<26}{frame['kind']:<13}{frame['size']:>5}")
assert wires[MODERN][0]["method"] == "server/discover"

# %% same-question
for era, frames in wires.items():
    asked = next(frame["message"] for frame in frames if frame["method"] == "tools/call")
    print(era, json.dumps(asked["params"]), sep="\n")
assert "_meta" in asked["params"]

# %% bytes
BEGINS = tr("to begin", "para empezar")
methods = {"tools/list": "tools/list", "tools/call": "tools/call", "resources/read": "resources/read"}
parts = {BEGINS: {}, **{method: {} for method in methods}}
for era, frames in wires.items():
    for frame in frames:
        part = parts[methods.get(frame["method"], BEGINS)]
        part[era] = part.get(era, 0) + frame["size"]
sizes = pd.DataFrame(parts).T
sizes[tr("more", "de más")] = sizes[MODERN] - sizes[LEGACY]
display(sizes)
print(tr("bytes in all:", "bytes en total:"), sizes.sum().to_dict())
assert {era: int(sizes[era].sum()) for era in wires} == {
    era: counted["bytes"] for era, counted in report.result["eras"].items()
}
assert sizes.iloc[1:, 2].between(290, 350).all()

# %% bars
fig, ax = plt.subplots(figsize=(7.5, 2.8))
for offset, (era, colour) in zip((0.19, -0.19), ((LEGACY, RUST), (MODERN, BLUE)), strict=True):
    bars = ax.barh([y + offset for y in range(len(sizes))], sizes[era], 0.36, color=colour, label=era)
    ax.bar_label(bars, padding=3, fontsize=9)
ax.set_yticks(range(len(sizes)), sizes.index)
ax.invert_yaxis()
ax.set_xlabel(tr("canonical bytes", "bytes canónicos"))
ax.legend(frameon=False, loc="lower right")
plt.show()
share = sizes.loc["tools/list", MODERN] / sizes[MODERN].sum()
print(tr("share of the list in the new era:", "parte de la lista en la época nueva:"), f"{share:.0%}")
assert 0.6 < share < 0.7

# %% growth
from ai_evolution.labs import practice_mcp as practice

CALLS = 20
WAYS = {
    tr("handshake", "saludo"): ("legacy", RUST),
    tr("asks who is there", "pregunta quién está"): ("auto", BLUE),
    tr("asks nothing", "no pregunta nada"): (MODERN, GREY),
}
paths = {way: await practice.growth(mode, CALLS, listed=False) for way, (mode, _) in WAYS.items()}
for way, path in paths.items():
    print(f"{way:<22}", *path[:4], "...", path[-1])
assert all(len(path) == CALLS + 1 for path in paths.values())

# %% lines
titles = [tr("messages", "mensajes"), tr("canonical bytes", "bytes canónicos")]
fig, axes = plt.subplots(1, 2, figsize=(9, 3.3))
for which, (ax, title) in enumerate(zip(axes, titles, strict=True)):
    for way, path in paths.items():
        ax.plot(range(CALLS + 1), [point[which] for point in path], color=WAYS[way][1], label=way)
    ax.set(title=title, xlabel=tr("calls on one connection", "llamadas por una conexión"))
    ax.set_xticks(range(0, CALLS + 1, 5))
axes[0].legend(frameon=False)
closer = axes[1].inset_axes((0.14, 0.56, 0.34, 0.42))
for way, path in paths.items():
    closer.plot(range(4), [size for _, size in path[:4]], color=WAYS[way][1], marker="o", ms=3)
fig.tight_layout()
plt.show()
steps = {way: [path[-1][which] - path[-2][which] for which in (0, 1)] for way, path in paths.items()}
print(tr("each further call adds [messages, bytes]:", "cada llamada más suma [mensajes, bytes]:"), steps)
assert len({step[0] for step in steps.values()}) == 1


# %% crossing
def crossings(one, other, which):
    """After how many calls the first of two ways is no longer at the same side of the other."""
    sides = [(a[which] > b[which]) - (a[which] < b[which]) for a, b in zip(one, other, strict=True)]
    return [calls for calls in range(1, len(sides)) if sides[calls] != sides[calls - 1]]


old, asking, trusting = paths.values()
crossed = {
    way: {title: crossings(path, old, which) for which, title in enumerate(titles)}
    for way, path in zip(list(paths)[1:], (asking, trusting), strict=True)
}
print(tr("crosses the handshake's line at call:", "cruza la línea del saludo en la llamada:"))
print(crossed)
assert [found for way in crossed.values() for found in way.values()] == [[], [], [], [2]]

# %% one-call-each
each = {way: [CALLS * path[1][which] for which in (0, 1)] for way, path in paths.items()}
print(CALLS, tr("calls, one connection for all:", "llamadas, una conexión para todas:"))
print(" ", {way: list(path[-1]) for way, path in paths.items()})
print(CALLS, tr("calls, one connection for each:", "llamadas, una conexión para cada una:"))
print(" ", each)
handshake, _, nothing = each.values()
assert nothing[0] < handshake[0]
assert nothing[1] < handshake[1]

# %% grid
forbidden = practice.forbidden()
reached = {kind: await practice.handed_over(kind) for kind in ("plain", "contracted")}
grid = pd.DataFrame(reached).map(lambda got: got if got == practice.REFUSED else json.dumps(got))
grid.insert(0, tr("forbidden", "prohibida"), forbidden)
display(grid)
through = {kind: sum(forbidden[name] and got != practice.REFUSED for name, got in found.items())
           for kind, found in reached.items()}  # fmt: skip
print(sum(forbidden.values()), tr("forbidden calls; let through:", "llamadas prohibidas; pasan:"), through)
assert through["contracted"] == 0

# %% shades
kinds = {"plain": tr("SDK alone", "solo el SDK"), "contracted": tr("under a contract", "con un contrato")}
sent = {name: dict(call) for name, call in practice.WRONG.items()}


def became(name, got):
    """0 refused, 1 as it was sent, 2 something else."""
    return 0 if got == practice.REFUSED else 1 + (json.dumps(got) != json.dumps(sent[name]))


shades = [[became(name, reached[kind][name]) for kind in kinds] for name in sent]
words = [tr("refused", "rechazada"), tr("as sent", "tal cual"), tr("another call", "otra llamada")]
assert {shade for row in shades for shade in row} == {0, 1, 2}

# %% heat
fig, ax = plt.subplots(figsize=(6, 5.6))
ax.pcolormesh(shades, cmap="Oranges", vmin=0, vmax=3.5, edgecolors="white", linewidth=2)
for y, row in enumerate(shades):
    for x, shade in enumerate(row):
        ax.text(x + 0.5, y + 0.5, words[shade], ha="center", va="center")
ax.invert_yaxis()
ax.set_xticks([0.5, 1.5], kinds.values())
ax.set_yticks([y + 0.5 for y in range(len(sent))], sent, family="monospace")
ax.tick_params(length=0)
ax.xaxis.tick_top()
ax.spines[:].set_visible(False)
plt.show()
count = {name: [column.count(shade) for shade in range(3)] for name, column in
         zip(kinds.values(), zip(*shades, strict=True), strict=True)}  # fmt: skip
print(words, count)
assert all(sum(numbers) == len(sent) for numbers in count.values())

# %% lies-and-errors
show("mcp.liar-caught")
show("mcp.errors-apart")
show("mcp.no-leak")
assert findings["mcp.no-leak"].observed["secret"] == 0

# %% talk
show("mcp.question")
show("mcp.progress")
show("mcp.cancelled")
assert findings["mcp.question"].observed[MODERN] == findings["mcp.question"].observed[LEGACY]

# %% endings
show("mcp.bad-endings")
assert len(findings["mcp.bad-endings"].observed) == 4

# %% pins
from ai_evolution.errors import ToolChanged
from ai_evolution.labs import toolbox
from ai_evolution.mcp.client import connect
from ai_evolution.mcp.trust import Pins

pins = Pins()
async with connect(toolbox.house()) as host:
    pins.approve("house", await host.tools())
said = {}
for kind in ("shuffled", "changed"):
    async with connect(toolbox.KINDS[kind](), pins=pins, known_as="house") as host:
        try:
            said[kind] = (await host.call("look_back")).structured
        except ToolChanged as error:
            said[kind] = str(error)
    print(f"{kind}: {said[kind]}")
assert "/description" in said["changed"]

# %% poison
from ai_evolution.mcp.scan import hazards, shown

async with connect(toolbox.poisoned()) as host:
    tools = await host.tools()
print(toolbox.POISON.encode("ascii", "ignore").decode())
print(len(toolbox.POISON), tr("characters, of which print:", "caracteres, de los que se imprimen:"), end=" ")
print(sum(character.isprintable() for character in toolbox.POISON))
for hazard in hazards(tools):
    print(hazard.kind, "·", hazard.tool)
show("mcp.poisoned")
assert shown(toolbox.POISON) != toolbox.POISON

# %% consent
show("mcp.asks-first")
asked = await practice.consents()
for about, what in asked.items():
    print(f"{about:<26}{json.dumps(practice.HINTS[about]):<52}{what}")
assert asked["says nothing"] == "asks"

# %% fields
stated = dict(report.result["fields"])
total = stated.pop("tools")
stated |= {"when to use it": 0, "how it fails": findings["mcp.fields"].observed["failures"]}
names = sorted(stated, key=stated.get)
fig, ax = plt.subplots(figsize=(7, 2.9))
bars = ax.barh(names, [stated[name] for name in names], color=BLUE)
ax.bar_label(bars, padding=3)
ax.set_xlabel(
    tr(f"how many of {total} recorded tools state it", f"cuántas de {total} herramientas lo declaran")
)
plt.show()
print(total, stated)
assert abs(2 * stated["outputSchema"] - total) < 3

# %% adapters
show("mcp.adapters")
for many in (3, 10, 30):
    print(f"{many} + {many}: {many * many} / {2 * many}")
assert findings["mcp.adapters"].observed["right"] == 9

# %% judges
found = practice.mutants()
noticed = pd.DataFrame(
    {judge: [len(mutant[judge]) for mutant in found] for judge in practice.JUDGES},
    index=[mutant["id"] for mutant in found],
)
for mutant in found:
    print(f"{mutant['id']:<20}{mutant[LANG]}")
seen = {judge: int((noticed[judge] > 0).sum()) for judge in practice.JUDGES}
print(len(found), tr("mutants; noticed:", "mutantes; los notan:"), seen)
assert seen["official"] < seen["ours"]

# %% who-notices
labels = [
    tr("suite:\nrequired", "batería:\nobligatorio"),
    tr("suite:\nwarns", "batería:\navisa"),
    tr("suite: not\ncounted", "batería:\nno cuenta"),
    tr("our\nchecks", "las\nnuestras"),
]
fig, ax = plt.subplots(figsize=(6.5, 7.2))
ax.pcolormesh(noticed.clip(upper=1), cmap="Oranges", vmin=0, vmax=2, edgecolors="white", linewidth=2)
for y, counts in enumerate(noticed.to_numpy()):
    for x, count in enumerate(counts):
        ax.text(x + 0.5, y + 0.5, count or "–", ha="center", va="center")
ax.invert_yaxis()
ax.set_xticks([x + 0.5 for x in range(len(labels))], labels)
ax.set_yticks([y + 0.5 for y in range(len(noticed))], noticed.index, family="monospace")
ax.tick_params(length=0)
ax.xaxis.tick_top()
ax.spines[:].set_visible(False)
plt.show()
print(tr("noticed by none of the suite:", "no los nota nada de la batería:"))
print(int((noticed[list(practice.JUDGES[:3])].sum(axis=1) == 0).sum()), "/", len(noticed))
assert (noticed["ours"] > 0).all()

# %% transports
from ai_evolution.labs.mcp import FINE, Cast, Stage
from ai_evolution.mcp.journal import WireJournal

over = {}
for transport in ("memory", "http"):
    journal = WireJournal()
    async with Stage(Cast(), transport).connect("mcp.two-eras", "house", journal=journal) as host:
        await host.tools()
        await host.call("validate_date_range", FINE)
        await host.read(toolbox.MENU)
    over[transport] = journal.canonical()
    print(transport, len(over[transport]), sum(frame["size"] for frame in over[transport]))
print(tr("the same, byte for byte:", "lo mismo, byte a byte:"), over["memory"] == over["http"])
assert over["memory"] == over["http"]


# %% bad-host
class ByName(Pins):
    """Pins that know a tool by its name."""

    def check(self, server, tools):
        """What is new and what is gone."""
        return [change for change in super().check(server, tools) if change.kind != "changed"]


# %% broken
broken = run_lab("mcp", seed=0, peers=Cast(pins=ByName))
false = [finding.id for finding in broken.evidence if not finding.holds]
print(tr("no longer true:", "ya no se cumple:"), false)
print(json.dumps(broken.finding("mcp.rug-pull").observed))
assert false == ["mcp.rug-pull"]

# %% verify
from ai_evolution.evidence import Report, digest_of

handed_over = Report.load("../../classes/132-mcp/evidence.seed-0.json")


def ours(*_lab, **_parameters):
    """Recomputed in section 1: the lab has been run with this seed, so its report is what we compare with."""
    return report


print(verify(handed_over, recompute=ours).says(LANG))
assert verify(handed_over, recompute=ours).holds

# %% tamper
document = copy.deepcopy(handed_over.document())
place = next(item for item in document["evidence"] if item["id"] == "mcp.enforced")
for side in ("expected", "observed"):
    place[side]["plain"]["an unknown key"] = "ToolFailed INVALID_ARGUMENTS"
tampered = verify(document, recompute=ours)
print(tampered.says(LANG))
assert tampered.pointer.endswith("/an unknown key")

# %% forge
document["digest"] = digest_of(document)
forged = verify(document, recompute=ours)
print(document["digest"] == report.digest, forged.says(LANG), sep="\n")
assert not forged.holds

# %% false-report
caught = verify(broken, recompute=ours)
print(caught.says(LANG))
assert caught.pointer
