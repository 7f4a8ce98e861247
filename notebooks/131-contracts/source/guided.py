# Class 131, guided: the code of both editions. Built by scripts/build_notebooks.py.
# ruff: noqa: E402 (a cell imports what it is about)
# %% setup
import copy
import json

import matplotlib.pyplot as plt
from IPython.display import display

from ai_evolution.labs import run_lab, verify
from ai_evolution.labs.practice_contracts import FLAWS, Table, noticed
from ai_evolution.world import EPOCH

plt.rcParams.update({"figure.dpi": 80, "font.size": 10, "axes.spines.top": False, "axes.spines.right": False})
LANG = "en"


def tr(en, es):
    """The words for this edition."""
    return es if LANG == "es" else en


# %% run
report = run_lab("contracts", seed=0)
findings = {finding.id: finding for finding in report.evidence}
print(tr("claims:", "afirmaciones:"), len(findings))
print(tr("that hold:", "que se cumplen:"), sum(finding.holds for finding in report.evidence))
print(report.digest)
assert report.holds

# %% table
head = ["id", tr("claim", "afirmación"), tr("holds", "se cumple")]
table = Table(head, [(f.id, getattr(f.claim, LANG), f.holds) for f in report.evidence])
display(table)
print(len(table.rows), tr("rows", "filas"))
assert all(holds for _, _, holds in table.rows)


# %% finding
def show(claim_id):
    """One finding: what was expected and what was observed."""
    finding = findings[claim_id]
    print(claim_id, "·", ", ".join(finding.sources))
    for name, value in (("expected", finding.expected), ("observed", finding.observed)):
        print(f"  {name}: {json.dumps(value, ensure_ascii=False)}")


show("contract.equality")
assert findings["contract.equality"].observed["a second"] is None

# %% limits
for limit in report.limitations:
    print(f"{limit.id}: {getattr(limit.says, LANG)}")
assert {"contract.scripted", "contract.six-servers"} <= {limit.id for limit in report.limitations}

# %% backwards
from ai_evolution.atdf.schemas import problems
from ai_evolution.labs import dates

tool = dates.date_range(LANG).at(EPOCH)
backwards = {"Start": "2026-02-02T10:00:00Z", "End": "2026-02-01T10:00:00Z"}
print(tr("the schema objects to:", "el esquema objeta:"), problems(backwards, tool.description.input_schema))
outcome = tool.outcome(backwards)
print(tr("the contract blames:", "el contrato señala a:"), outcome.blame)
assert outcome.blame == "caller"

# %% envelope
print(json.dumps(outcome.envelope, ensure_ascii=False, indent=1))
assert outcome.envelope["meta"]["timestamp"] in outcome.envelope["data"]["expected"]

# %% condition
[condition] = tool.pre
print(condition.id, ":", condition.says[LANG])
fine = {"Start": "2026-02-01T10:00:00Z", "End": "2026-02-01T12:00:00Z"}
for moment in (EPOCH, EPOCH.replace(month=3)):
    print(f"{moment:%Y-%m-%d}", condition.holds(fine, moment))
assert condition.holds(fine, EPOCH)
assert not condition.holds(fine, EPOCH.replace(month=3))

# %% formats
show("contract.format")
print(report.result["refused"]["data"]["solution"])
assert findings["contract.format"].observed["in"] == 0

# %% blame
show("contract.blame")
show("contract.no-leak")
print(json.dumps(report.result["crash"]["data"], ensure_ascii=False))
assert findings["contract.no-leak"].observed == {"caller": False, "operator": True}

# %% examples
from ai_evolution.atdf import examples
from ai_evolution.labs.contracts import PROSE

results = examples.run(dates.date_range(LANG), PROSE)
for result in results:
    print(f"{result.at:%Y-%m-%d %H:%M:%S} · {result.says(LANG)} · {dict(result.loosened)}")
assert all(result.holds for result in results)

# %% noticed
rows = noticed(dates.with_edges("en"))
for flaw, seen in rows.items():
    print(f"{FLAWS[flaw][LANG]:<32}", *("x" if each else "-" for each in seen))
drift = {flaw: {"article": any(seen[:2]), "edges": any(seen)} for flaw, seen in rows.items()}
assert drift == report.result["drift"]

# %% notices
ranges = [
    tr("article 1\nfine", "artículo 1\nbien"),
    tr("article 2\npast, backwards", "artículo 2\npasado y al revés"),
    tr("edge 1\nstart is now", "borde 1\nel inicio es ahora"),
    tr("edge 2\nend is start", "borde 2\nel fin es el inicio"),
]
fig, ax = plt.subplots(figsize=(7.5, 3.2))
ax.pcolormesh(list(rows.values()), cmap="Oranges", vmin=0, vmax=2, edgecolors="white", linewidth=3)
for y, seen in enumerate(rows.values()):
    for x, each in enumerate(seen):
        ax.text(x + 0.5, y + 0.5, tr("notices", "lo nota") if each else "–", ha="center", va="center")
ax.invert_yaxis()
ax.set_xticks([0.5, 1.5, 2.5, 3.5], ranges)
ax.set_yticks([y + 0.5 for y in range(len(rows))], [FLAWS[flaw][LANG] for flaw in rows])
ax.tick_params(length=0)
ax.xaxis.tick_top()
ax.spines[:].set_visible(False)
plt.show()
caught = [sum(column) for column in zip(*rows.values(), strict=True)]
print(tr("flaws noticed by each example:", "defectos que nota cada ejemplo:"), caught)
assert caught == [0, 1, 3, 3]

# %% endings
endings = report.result["endings"]
codes = ["success", "400", "INVALID_ARGUMENTS"]
display(
    Table(["", *codes], [(drawn, *(seen.get(code, 0) for code in codes)) for drawn, seen in endings.items()])
)
print(sum(sum(seen.values()) for seen in endings.values()), tr("calls", "llamadas"))
assert list(endings["acceptable to the schema"]) == ["400"]

# %% one-case
from ai_evolution.labs import repairer

broken_calls = report.inputs["broken_calls"]
case = next(case for case in broken_calls if len(case["flaws"]) == 2)
arguments, answer = case["arguments"], tool.call(case["arguments"])
print(tr("flaws drawn:", "defectos sorteados:"), case["flaws"])
while answer["status"] == "error":
    print(answer["data"]["code"], json.dumps(arguments))
    arguments = repairer.corrections(arguments, answer["data"])
    answer = tool.call(arguments)
print(answer["status"], json.dumps(arguments))
assert answer["status"] == "success"

# %% tries
from ai_evolution.atdf.sla import wilson

tries, cases = report.result["tries"], len(broken_calls)
spreads = {level: {int(n): c for n, c in tries[level]["spread"].items()} for level in repairer.LEVELS}
most = max(spreads["structured"])
print(tr("scripted repairer, tries up to", "reparador guionizado, intentos hasta"), most)
for level, spread in spreads.items():
    soon = sum(count for number, count in spread.items() if number <= most)
    low, high = wilson(soon, cases)
    print(f"{level:<11}{soon:>3} / {cases} = {soon / cases:.0%}  [{low:.0%}, {high:.0%}]")
assert all(sum(spread.values()) == cases for spread in spreads.values())

# %% three-lives
titles = [
    tr("that it failed", "que falló"),
    tr("the code as well", "también el código"),
    tr("the structured error", "el error estructurado"),
]
last = max(max(spread) for spread in spreads.values())
fig, axes = plt.subplots(1, 3, figsize=(9, 2.9), sharex=True, sharey=True)
for ax, title, (level, spread) in zip(axes, titles, spreads.items(), strict=True):
    ax.bar(list(spread), list(spread.values()), color="#1f5a92")
    mean = tries[level]["mean"]
    ax.axvline(mean, color="#a8481b", lw=1.2, ls="--")
    ax.text(last, 40, f"n = {cases}\n{tr('mean', 'media')} {mean}", ha="right", va="top")
    ax.set(title=title, xlabel=tr("tries to success", "intentos hasta acertar"), xlim=(0, last + 1))
axes[0].set_ylabel(tr("cases (scripted repairer)", "casos (reparador guionizado)"))
fig.tight_layout()
plt.show()
fewer = tries["structured needs fewer"]
print(tr("scripted repairer, structured needs fewer:", "reparador guionizado, menos con estructurado:"))
print(f"{fewer['cases']} / {fewer['of']}  [{fewer['low']:.0%}, {fewer['high']:.0%}]")
assert fewer["low"] > 0.5

# %% ledger
show("repair.ledger")
assert findings["repair.ledger"].observed["calls"] == 5

# %% flat
from ai_evolution.atdf.convert import convert
from ai_evolution.labs.contracts import LOSSY, recorded

recordings = recorded()
edit = next(tool for tool in recordings["filesystem"] if tool["name"] == "edit_file")
flat = convert(edit, "atdf-1")
print(json.dumps(flat.document["how_to_use"]["inputs"], indent=1))
for loss in flat.losses:
    print(loss.pointer, json.dumps(loss.value)[:70])
print(len(flat.losses), tr("losses in all", "pérdidas en total"))
assert {"/annotations", "/inputSchema/required"} <= {loss.pointer for loss in flat.losses}

# %% lossless
there = convert(edit, "atdf-2")
back = convert(there.document, "mcp").document
print(json.dumps(back) == json.dumps(edit), len(there.losses))
show("translate.lossless")
assert json.dumps(back) == json.dumps(edit)

# %% heat
losses = report.result["losses"]
keywords = {word: [losses[form].get(word, 0) for form in LOSSY] for form in LOSSY for word in losses[form]}
keywords = dict(sorted(keywords.items(), key=lambda item: -sum(item[1])))
how_many = sum(report.inputs["recorded_tools"].values())
fig, ax = plt.subplots(figsize=(7, 6))
ax.pcolormesh(list(keywords.values()), cmap="Oranges", vmin=0, vmax=80, edgecolors="white", linewidth=2)
for y, counts in enumerate(keywords.values()):
    for x, count in enumerate(counts):
        ax.text(x + 0.5, y + 0.5, count or "–", ha="center", va="center")
ax.invert_yaxis()
ax.set_xticks([x + 0.5 for x in range(len(LOSSY))], LOSSY)
ax.set_yticks([y + 0.5 for y in range(len(keywords))], keywords, family="monospace")
ax.tick_params(length=0)
ax.xaxis.tick_top()
ax.spines[:].set_visible(False)
plt.show()
print(
    how_many,
    tr("tools; lose required:", "herramientas; pierden required:"),
    dict(zip(LOSSY, keywords["required"], strict=True)),
)
assert keywords["required"][0] > max(keywords["required"][1:])

# %% versions
from ai_evolution.atdf.compatibility import diff
from ai_evolution.atdf.description import read
from ai_evolution.labs import tables

for name, revision in tables.REVISIONS.items():
    change = diff(read(tables.BEFORE)[0], read(revision)[0])
    example = change.breaking_example
    shown = "" if example is None else f"{example.kind} {json.dumps(example.value)}: {example.problem}"
    print(f"{name:<15}{change.level:<7}{shown}")
assert report.result["breaking_call"] == {"seats": 7}

# %% sla
samples = [report.result["sla"][name] for name in ("short", "long", "long and bad")]
head = ["calls", "failed", "low", "high", "verdict"]
display(Table(head, [[sample[name] for name in head] for sample in samples]))
lucky = report.result["lucky"]
print(f"{lucky['kept']} / {lucky['samples']}  [{lucky['low']:.1%}, {lucky['high']:.1%}]")
assert [sample["verdict"] for sample in samples] == ["not-shown", "holds", "does-not-hold"]
assert lucky["taken for proof"] == 0

# %% needs
from ai_evolution.atdf.sla import ServiceLevel, conform

promise = 0.99
needs = {0: conform(ServiceLevel(availability=promise), []).judgements[0].needs}
needs[200] = next(n for n in range(200, 10_000, 200) if wilson(n - n // 200, n)[0] >= promise)
print(tr("calls, none of them failed:", "llamadas, sin ningún fallo:"), needs[0])
print(tr("calls, one in 200 failed:", "llamadas, con un fallo de cada 200:"), needs[200])
assert wilson(needs[0], needs[0])[0] >= promise > wilson(needs[0] - 1, needs[0] - 1)[0]

# %% interval
fig, ax = plt.subplots(figsize=(7.5, 3.8))
for each, colour in ((0, "#1f5a92"), (200, "#a8481b")):
    sizes = range(200, 6001, 200) if each else [*range(20, 400, 2), *range(400, 6001, 200)]
    ends = [wilson(n - (n // each if each else 0), n) for n in sizes]
    label = tr("one in 200 failed", "un fallo de cada 200") if each else tr("none failed", "ningún fallo")
    low, high = zip(*ends, strict=True)
    ax.fill_between(sizes, low, high, color=colour, alpha=0.25, lw=0, label=label)
    ax.plot(sizes, low, color=colour)
    ax.axvline(needs[each], color=colour, lw=0.8, ls="--")
    ax.text(needs[each] * 1.04, 0.962, f"n = {needs[each]}", color=colour)
ax.axhline(promise, color="0.3", lw=1)
ax.set_xscale("log")
ax.set_xticks([20, 100, 1000, 6000], [20, 100, 1000, 6000])
ax.yaxis.set_major_formatter("{x:.1%}")
ax.set(ylim=(0.96, 1.001), xlabel=tr("calls in the sample (log)", "llamadas de la muestra (log)"))
ax.set_ylabel(tr("true share, 95 % interval", "proporción real, intervalo del 95 %"))
ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(0, 0.6))
plt.show()
print({n: f"{wilson(n, n)[0]:.1%}" for n in (20, 100, needs[0], 3000)})
assert wilson(100, 100)[0] < promise

# %% roles
show("role.escalates")
show("role.no-silent-repair")
assert findings["role.no-silent-repair"].observed["twice"]["result"] is None

# %% net
show("net.by-contract")
for kind, sender, receiver in report.result["net"]:
    print(f"{kind:<9} {sender} -> {receiver}")
assert findings["net.by-contract"].observed["winner"] == report.result["net"][-1][1]

# %% bad-tool
from ai_evolution.labs.contracts import Cast


def hurried(lang, **options):
    """The same tool after a quick change: <= stands where < stood."""
    return dates.flawed(lang, dates.flaws()["end may be start"], **options)


# %% broken
broken = run_lab("contracts", seed=0, peers=Cast(published=hurried, guarded=hurried, edges=hurried))
false = [finding.id for finding in broken.evidence if not finding.holds]
print(tr("no longer true:", "ya no se cumple:"), false)
print(broken.finding("contract.equality").observed)
assert false == ["contract.equality"]

# %% passes
still = examples.run(hurried(LANG), PROSE)
print([result.says(LANG) for result in still])
assert all(result.holds for result in still)

# %% verify
from ai_evolution.evidence import Report, digest_of

handed_over = Report.load("../../classes/131-contracts/evidence.seed-0.json")


def ours(*_lab, **_parameters):
    """Recomputed in section 1: the lab has been run with this seed, so its report is what we compare with."""
    return report


print(verify(handed_over, recompute=ours).says(LANG))
assert verify(handed_over, recompute=ours).holds

# %% tamper
document = copy.deepcopy(handed_over.document())
place = next(item for item in document["evidence"] if item["id"] == "translate.flat-loses")
place["expected"]["required"] = place["observed"]["required"] = 4
tampered = verify(document, recompute=ours)
print(tampered.says(LANG))
assert tampered.pointer.endswith("/required")

# %% forge
document["digest"] = digest_of(document)
forged = verify(document, recompute=ours)
print(document["digest"] == report.digest, forged.says(LANG), sep="\n")
assert not forged.holds

# %% false-report
caught = verify(broken, recompute=ours)
print(caught.says(LANG))
assert caught.pointer
