# Class 132, solution: the code of both editions. Built by scripts/build_notebooks.py. The cells are those of
# the student's notebook; only those named my-... differ, and those named wrong-... stand here alone.
# ruff: noqa: E402, F704 (a cell imports what it is about, and may await)
# %% setup
import json

from ai_evolution.labs import practice_mcp as practice
from ai_evolution.labs import run_lab
from ai_evolution.labs.selfcheck import check_each, check_estimate, summary, words

LANG = "en"
checks = {}


def tr(en, es):
    """The words for this edition."""
    return es if LANG == "es" else en


def note(check):
    """Say what a self-check found, and keep it for the summary."""
    checks[check.name["en"]] = check
    print(check.says(LANG))


# %% wishes
for name, wish in practice.WISHES.items():
    print(f"{name}: {wish[LANG]}")
assert set(practice.DECIDERS) == {"model", "application", "person"}

# %% my-who
who = {
    "weather": "model",
    "open-file": "application",
    "slash": "person",
    "booking": "model",
    "calendar": "application",
    "greeting": "person",
}

# %% check-who
note(practice.check_who(who))

# %% wrong-who
tempting = practice.check_who({**who, "open-file": "model", "booking": "person"})
print(tempting.says(LANG))
assert len(tempting.missing) == 2

# %% pieces
recorded_pieces = await practice.pieces()
for letter, piece in recorded_pieces.items():
    print(letter, json.dumps(piece.message), end="\n\n")
assert len(recorded_pieces) == 6

# %% my-eras
eras = {
    "A": "2025-11-25",
    "B": "2026-07-28",
    "C": "2025-11-25",
    "D": "2026-07-28",
    "E": "2025-11-25",
    "F": "both",
}

# %% check-eras
note(practice.check_eras(eras, recorded_pieces))

# %% wrong-eras
tempting = practice.check_eras({**eras, "E": "both", "F": "2025-11-25"}, recorded_pieces)
print(tempting.says(LANG))
assert len(tempting.missing) == 2

# %% my-predictions
messages = {"2025-11-25": 3 + 3 * 2, "2026-07-28": 2 + 3 * 2}
dearer = 250
got = {
    'seats "5"': 5,
    'seats "1_000"': "refused",
    "seats true": "refused",
    "seats 5.5": "refused",
    "seats -3": -3,
}
ends = {"dies": "ServerLost", "floods": "ResultRefused"}
ends |= dict.fromkeys(("babbles", "stalls"), "DeadlinePassed")
consents = {
    "says nothing": "asks",
    "only reads": "calls",
    "destroys": "asks",
    "destroys nothing": "calls",
    "may be repeated": "asks",
    "only reads and destroys": "asks",
}
suite = 40

# %% run
report = run_lab("mcp", seed=0)
print(sum(finding.holds for finding in report.evidence), "/", len(report.evidence))
assert report.holds

# %% compare-messages
measured = {era: counted["messages"] for era, counted in report.result["eras"].items()}
note(check_each(words("the messages", "los mensajes"), messages, measured))
assert set(measured) == {"2025-11-25", "2026-07-28"}

# %% compare-dearer
calls = {
    era: sum(frame["size"] for frame in report.result[f"wire_{era}"] if frame["method"] == "tools/call")
    for era in measured
}
print(calls)
more = calls["2026-07-28"] - calls["2025-11-25"]
note(check_estimate(words("the dearer call", "la llamada más cara"), dearer, more))

# %% compare-got
arrived = await practice.handed_over("plain", {name: practice.WRONG[name] for name in practice.PREDICTED})
seats = {name: found if found == practice.REFUSED else found["seats"] for name, found in arrived.items()}
note(check_each(words("what arrives", "lo que llega"), got, seats))

# %% compare-ends
ended = {kind: first for kind, (first, _) in report.finding("mcp.bad-endings").observed.items()}
note(check_each(words("the bad ends", "los malos finales"), ends, ended))

# %% compare-consents
note(check_each(words("who is asked", "por quién se pregunta"), consents, await practice.consents()))

# %% compare-suite
found = practice.mutants()
noticed = sum(bool(mutant["official"]) for mutant in found)
print(noticed, "/", len(found))
note(check_estimate(words("the suite", "la batería"), suite, round(100 * noticed / len(found))))

# %% kitchen
print(json.dumps(practice.KITCHEN["tool"]["input"]["properties"]))
print(json.dumps(practice.KITCHEN["tool"]["output"]))
print(practice.MENU)
assert practice.DECLARED in json.dumps(practice.KITCHEN["tool"]["output"]["error"])

# %% my-cook
from mcp.server.mcpserver import Context

from ai_evolution.atdf.contract import ToolFailure


async def cook(dish, portions, context: Context):
    """Cook the portions one after the other; tell of each with context.report_progress(n, of)."""
    if dish not in practice.MENU:
        there = ", ".join(practice.MENU)
        raise ToolFailure(
            practice.DECLARED, f"there is no {dish}", expected=there, solution="choose a dish that there is"
        )
    for portion in range(1, portions + 1):
        await context.report_progress(portion, portions)
    return {"dish": dish, "cooked": portions}


# %% check-cook
note(await practice.check_cook(cook))


# %% wrong-cook
async def eager(dish, portions, context: Context):
    """Tells of the portions when they are done, and says no in a result."""
    if dish not in practice.MENU:
        return {"dish": dish, "cooked": 0}
    await context.report_progress(portions, portions)
    return {"dish": dish, "cooked": portions}


tempting = await practice.check_cook(eager)
print(tempting.says(LANG))
assert len(tempting.missing) == 2

# %% approved
approved, today = practice.relisted("words")
print(json.dumps(approved))
print(json.dumps(today["description"]))
assert approved != today


# %% my-same
import rfc8785

READ = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")


def same(approved, today):
    """Whether the tool is still the one that was approved. Both are JSON, as in tools/list."""
    one, other = (rfc8785.dumps({member: tool.get(member) for member in READ}) for tool in (approved, today))
    return one == other


# %% check-same
note(practice.check_same(same))


# %% wrong-same
def equal(approved, today):
    """Python knows when two dicts are equal."""
    return approved == today


tempting = practice.check_same(equal)
print(tempting.says(LANG))
assert len(tempting.missing) == 2

# %% conversation
frames = await practice.conversation()
for number, frame in enumerate(frames):
    print(f"{number:>3} {frame['direction']}  {frame['method']}")
assert practice.changed_in(frames) is not None

# %% my-change
from ai_evolution.mcp.trust import differences

first, change = {}, {}
for number, frame in enumerate(frames):
    for tool in frame["message"].get("result", {}).get("tools", []):
        approved = first.setdefault(tool["name"], tool)
        if not change and not same(approved, tool):
            change = {
                "message": number,
                "tool": tool["name"],
                "where": next(differences(approved, tool)),
            }

# %% check-change
note(practice.check_change(change, frames))

# %% wrong-change
answers = [n for n, frame in enumerate(frames) if "tools" in frame["message"].get("result", {})]
lists = [frames[n]["message"]["result"]["tools"] for n in answers]
moved = next(n for n, tools in zip(answers, lists, strict=True) if tools != lists[0])
tempting = practice.check_change({**change, "message": moved}, frames)
print(moved, tempting.says(LANG), sep="\n")
assert len(tempting.missing) == 1

# %% summary
print(summary(checks.values(), LANG))
assert len(checks) == 11
