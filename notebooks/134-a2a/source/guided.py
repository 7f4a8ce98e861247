# Class 134, guided: the code of both editions. Built by scripts/build_notebooks.py.
# ruff: noqa: E402 (a cell imports what it is about)
# %% setup
import base64
import copy
import json
from functools import cache
from itertools import product

import matplotlib.pyplot as plt
import pandas as pd
from IPython.display import display

from ai_evolution.labs import run_lab, verify
from ai_evolution.labs.practice import arrows

plt.rcParams.update({"figure.dpi": 80, "font.size": 10, "axes.spines.top": False, "axes.spines.right": False})
pd.set_option("display.max_colwidth", None, "display.width", 120)
LANG = "en"


def tr(en, es):
    """The words for this edition."""
    return es if LANG == "es" else en


# %% run
report = run_lab("multiagent", seed=0)
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


show("a2a.message-once")
assert findings["a2a.message-once"].observed["executions"] == 1

# %% limits
for limit in report.limitations:
    print(f"{limit.id}: {getattr(limit.says, LANG)}")
assert {"a2a.scripted-agent", "a2a.one-machine"} <= {limit.id for limit in report.limitations}

# %% frames
frames = report.result["wire"]
for frame in frames:
    method = (frame["sent"] or {}).get("method", "-")
    print(f"{frame['request']:<34} {method:<21} {frame['status']}  {len(frame['received'])}")
assert [len(frame["received"]) for frame in frames] == [1, 3, 3]

# %% card
from ai_evolution.a2a.cards import output_schema

card = frames[0]["received"][0]
for interface in card["supportedInterfaces"]:
    print(interface["protocolBinding"], interface["protocolVersion"], interface["url"])
print("skill:", card["skills"][0]["id"], "->", card["skills"][0]["outputModes"])
print("security:", card["securityRequirements"])
print("schema:", output_schema(card, "background-check")["properties"])
assert "tools" not in card

# %% protected
protected = card["signatures"][0]["protected"]
header = json.loads(base64.urlsafe_b64decode(protected + "=" * (-len(protected) % 4)))
for name, value in header.items():
    print(f"{name}: {value}")
assert header["kid"] == findings["a2a.card-signed"].observed[1]

# %% covered
from ai_evolution.a2a.cards import generate_key, public_key, sign_card, uncovered, verify_card
from ai_evolution.errors import CardRefused
from ai_evolution.labs.hiring import checks_card
from ai_evolution.world import World

key = generate_key(World("guided").random)
mine = sign_card(checks_card(), key, "my-key")
print(verify_card(mine, {"my-key": public_key(key)}))
assert verify_card(mine, {"my-key": public_key(key)}) == "my-key"


# %% strike
def verdict(card):
    """The word with which a card is refused, or the key that signed it."""
    try:
        return verify_card(card, {"my-key": public_key(key)})
    except CardRefused as refusal:
        return refusal.reason


struck = {name: verdict({k: v for k, v in mine.items() if k != name}) for name in mine}
for name, word in struck.items():
    print(f"{name:<22}{word}")
assert all(word != "my-key" for word in struck.values())

# %% sdk
print(uncovered(checks_card()))
show("a2a.card-tampered")
assert uncovered(checks_card()) == ["/securityRequirements"]
assert findings["a2a.card-tampered"].observed["security"] == "CardRefused: altered"

# %% unfit
show("a2a.unfit-refused")
assert findings["a2a.unfit-refused"].observed["messages"] == 0

# %% steps
steps = arrows(frames)
for number, step in enumerate(steps, 1):
    print(f"{number:>2}  {step.source:>6} -> {step.target:<6}  {step.says}")
states = [step.says for step in steps if step.source == "checks" and step.says.isupper()]
assert states == [s.removeprefix("TASK_STATE_") for s in findings["a2a.lifecycle"].observed["Katherine Kay"]]

# %% sequence
lanes, colour = {"hiring": 0.0, "checks": 1.0}, {"hiring": "#1f5a92", "checks": "#a8481b"}
fig, ax = plt.subplots(figsize=(8, 5))
for name, x in lanes.items():
    ax.plot([x, x], [0.2, len(steps) + 0.6], color="0.6", lw=1)
    ax.text(x, 0, f"{name}.example", ha="center", weight="bold", color=colour[name])
for y, step in enumerate(steps, 1):
    ends = {"xy": (lanes[step.target], y), "xytext": (lanes[step.source], y)}
    ax.annotate("", **ends, arrowprops={"arrowstyle": "-|>", "color": colour[step.source], "lw": 1.4})
    ax.text(0.5, y - 0.1, step.says, ha="center", va="bottom", color=colour[step.source])
for y in (i + 0.5 for i in range(1, len(steps)) if steps[i].exchange != steps[i - 1].exchange):
    ax.axhline(y - 0.2, color="0.85", lw=0.8, ls="--")
ax.set(xlim=(-0.25, 1.25), ylim=(len(steps) + 0.7, -0.5))
ax.axis("off")
ax.set_title(tr("A card and a task, as they crossed", "Una tarjeta y una tarea, tal como cruzaron"))
plt.show()
print(len(steps), tr("messages", "mensajes"), "·", len(frames), tr("exchanges", "intercambios"))
assert (len(steps), len(frames)) == (10, 3)

# %% same-task
question = frames[1]["received"][-1]["result"]["statusUpdate"]
answered = frames[2]["sent"]["params"]["message"]
print(question["status"]["message"]["parts"][0]["text"])
print(answered["parts"], answered["taskId"], answered["contextId"])
assert (answered["taskId"], answered["contextId"]) == (question["taskId"], question["contextId"])

# %% artifact
told = [event["result"] for event in frames[2]["received"]]
artifact = next(event["artifactUpdate"]["artifact"] for event in told if "artifactUpdate" in event)
chat = told[-1]["statusUpdate"]["status"]["message"]["parts"][0]["text"]
print("artifact:", artifact["name"], artifact["parts"][0]["data"])
print("chat:    ", chat)
print("delivered:", findings["a2a.typed-artifact"].observed["Katherine Kay"])
assert "99 sources" in chat
assert artifact["parts"][0]["data"]["sources"] == 2

# %% chat
show("a2a.chat-is-not-result")
assert findings["a2a.chat-is-not-result"].observed["chat alone"] == "DeliverableInvalid"

# %% faults
for claim_id in ("a2a.stream-cut", "a2a.message-once", "a2a.push-authenticated", "a2a.killed-at-work"):
    show(claim_id)
assert findings["a2a.stream-cut"].observed[1] == 1
assert findings["a2a.push-authenticated"].observed["forged"] == 401

# %% hooks
answers = findings["a2a.push-guarded"].observed
for url in report.inputs["webhooks_refused"][:3]:
    print(answers[url], url)
print(len(answers), tr("addresses tried", "direcciones probadas"))
assert set(answers.values()) == {-32602}

# %% stranger
for claim_id in ("a2a.wrong-token", "a2a.task-owned", "a2a.opacity"):
    show(claim_id)
assert findings["a2a.task-owned"].observed["GetTask"] == -32001
assert findings["a2a.opacity"].observed["the search finds what did cross"] is True

# %% ways
ways = {name: report.result["three_ways"][name] for name in ("handoff", "tool", "task")}
columns = ["round_trips", "messages", "bytes", "caller_learns", "callee_learns"]
display(pd.DataFrame(ways, index=columns).T)
ratio = ways["task"]["bytes"] / ways["tool"]["bytes"]
print(tr("task / tool, in bytes:", "tarea / herramienta, en bytes:"), f"{ratio:.2f}")
assert ways["handoff"]["bytes"] == 0 < ways["tool"]["bytes"] < ways["task"]["bytes"]

# %% price
names = [
    tr("hand-off", "traspaso interno"),
    tr("MCP tool", "herramienta MCP"),
    tr("A2A task", "tarea A2A"),
]
units = {
    "bytes": tr("bytes of message bodies", "bytes de los cuerpos"),
    "messages": tr("messages", "mensajes"),
}
fig, axes = plt.subplots(1, 2, figsize=(8, 2.4), sharey=True)
for ax, (unit, label) in zip(axes, units.items(), strict=True):
    values = [way[unit] for way in ways.values()]
    bars = ax.barh(names, values, color=["#8a8a8a", "#1f5a92", "#a8481b"])
    ax.bar_label(bars, padding=4)
    ax.set(xlabel=label, xlim=(0, max(values) * 1.2))
    print(unit, values)
axes[0].invert_yaxis()
fig.tight_layout()
plt.show()
assert sorted(ways, key=lambda name: ways[name]["messages"]) == list(ways)

# %% knowledge
secrets = {
    "prompt": tr("the agent's\ninstructions", "las instrucciones\ndel agente"),
    "tool": tr("the name\nof its tool", "el nombre de\nsu herramienta"),
    "salary": tr("the caller's\nsalary ceiling", "el tope salarial\nde quien encarga"),
}
known = [[s in way["caller_learns"] + way["callee_learns"] for s in secrets] for way in ways.values()]
learner = ["hiring", "hiring", "checks"]
fig, ax = plt.subplots(figsize=(7, 2.8))
ax.pcolormesh(known, cmap="Oranges", vmin=0, vmax=2, edgecolors="white", linewidth=3)
for (row, column), leaks in ((place, known[place[0]][place[1]]) for place in product(range(3), repeat=2)):
    word = tr(f"{learner[column]} learns it", f"{learner[column]} se entera") if leaks else "–"
    ax.text(column + 0.5, row + 0.5, word, ha="center", va="center")
ax.invert_yaxis()
ax.set_xticks([0.5, 1.5, 2.5], secrets.values())
ax.set_yticks([0.5, 1.5, 2.5], names)
ax.tick_params(length=0)
ax.xaxis.tick_top()
ax.spines[:].set_visible(False)
plt.show()
print({name: sum(line) for name, line in zip(ways, known, strict=True)})
assert [sum(line) for line in known] == [3, 1, 0]

# %% translators
rows = pd.DataFrame(report.result["integrations"])
display(rows[["clients", "services", "private", "common", "understood"]])
square = rows[rows.clients == rows.services]
pays = int(square.clients[square.common < square.private].min())
print(tr("a common language pays from n =", "la lengua común compensa desde n ="), pays)
assert pays == findings["kqml.translators"].observed["pays from"] == 3

# %% curve
fig, ax = plt.subplots(figsize=(7, 3.6))
ax.plot(square.clients, square.private, "o-", color="#8a8a8a", label=tr("one per pair", "uno por pareja"))
ax.plot(square.clients, square.common, "s-", color="#a8481b", label=tr("common language", "lengua común"))
ax.axvline(pays, color="0.7", lw=0.8, ls="--")
ax.annotate(tr("pays from here", "compensa desde aquí"), (pays + 0.06, 21), color="0.35")
ax.set_xticks(square.clients)
ax.set(
    xlabel=tr("clients = services", "clientes = servicios"),
    ylabel=tr("translators written", "traductores escritos"),
)
ax.legend(frameon=False, loc="upper left")
plt.show()
print(dict(zip(square.clients, zip(square.private, square.common, strict=True), strict=True)))
assert list(square.private - square.common) == [-1, 0, 3, 8, 15]

# %% bad-peer
from ai_evolution.labs.hiring import Verifier, say
from ai_evolution.labs.multiagent import Cast


class Apologetic(Verifier):
    """Fails politely, and quotes the exception that made it fail."""

    async def second_turn(self, updater, asked, answer):
        try:
            await super().second_turn(updater, asked, answer)
        except LookupError as error:
            await updater.failed(say(updater, f"So sorry: {error}"))


# %% broken
broken = run_lab("multiagent", seed=0, peers=Cast(verifier=Apologetic))
false = [finding.id for finding in broken.evidence if not finding.holds]
print(tr("no longer true:", "ya no se cumple:"), false)
print(broken.finding("a2a.opacity").observed)
assert false == ["a2a.opacity"]

# %% seed
other = run_lab("multiagent", seed=1)
print(report.digest[:23], *[person["name"] for person in report.inputs["candidates"]], sep=" · ")
print(other.digest[:23], *[person["name"] for person in other.inputs["candidates"]], sep=" · ")
moved = [a.id for a, b in zip(report.evidence, other.evidence, strict=True) if a.observed != b.observed]
print(tr("observed otherwise:", "observado distinto:"), moved)
assert other.holds
assert other.digest != report.digest

# %% verify
again = cache(run_lab)  # one recomputation serves every question below
print(verify(report, recompute=again).says(LANG))
assert verify(report, recompute=again).holds

# %% tamper
document = copy.deepcopy(report.document())
place = next(item for item in document["evidence"] if item["id"] == "a2a.typed-artifact")
place["observed"]["Katherine Kay"]["sources"] = place["expected"]["Katherine Kay"]["sources"] = 9
tampered = verify(document, recompute=again)
print(tampered.says(LANG))
assert tampered.pointer.endswith("/sources")

# %% forge
from ai_evolution.evidence import digest_of

document["digest"] = digest_of(document)
forged = verify(document, recompute=again)
print(document["digest"] == report.digest, forged.says(LANG), sep="\n")
assert not forged.holds
