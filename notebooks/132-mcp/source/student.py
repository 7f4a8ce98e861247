# Class 132, student: the code of both editions. Built by scripts/build_notebooks.py. The solution has
# the same cells; only those named my-... differ, and it adds some named wrong-...
# ruff: noqa: E402, F401, F704, ARG001 (a cell imports what it is about, and may await; a starter uses little)
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
    "weather": None,
    "open-file": None,
    "slash": None,
    "booking": None,
    "calendar": None,
    "greeting": None,
}  # "model", "application" or "person"

# %% check-who
note(practice.check_who(who))

# %% pieces
recorded_pieces = await practice.pieces()
for letter, piece in recorded_pieces.items():
    print(letter, json.dumps(piece.message), end="\n\n")
assert len(recorded_pieces) == 6

# %% my-eras
eras = {"A": None, "B": None, "C": None, "D": None, "E": None, "F": None}
# "2026-07-28", "2025-11-25", or "both" for a message that either could have

# %% check-eras
note(practice.check_eras(eras, recorded_pieces))

# %% my-predictions
messages = {"2025-11-25": None, "2026-07-28": None}  # to connect, list, call once and read once
dearer = None  # how many bytes more a call and its answer take in the new era
got = {
    'seats "5"': None,
    'seats "1_000"': None,
    "seats true": None,
    "seats 5.5": None,
    "seats -3": None,
}  # how many seats the function of the SDK's tool is asked for, or "refused"
ends = {"dies": None, "floods": None, "babbles": None, "stalls": None}
# "ServerLost", "ResultRefused" or "DeadlinePassed"
consents = {
    "says nothing": None,
    "only reads": None,
    "destroys": None,
    "destroys nothing": None,
    "may be repeated": None,
    "only reads and destroys": None,
}  # "asks" a person first, or just "calls"
suite = None  # of the servers with one fault, per cent that fail a required scenario of the official suite

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

from ai_evolution.atdf.contract import ToolFailure  # ToolFailure(code, text, expected=..., solution=...)


async def cook(dish, portions, context: Context):
    """Cook the portions one after the other; tell of each with context.report_progress(n, of)."""
    return {}


# %% check-cook
note(await practice.check_cook(cook))

# %% approved
approved, today = practice.relisted("words")
print(json.dumps(approved))
print(json.dumps(today["description"]))
assert approved != today


# %% my-same
def same(approved, today):
    """Whether the tool is still the one that was approved. Both are JSON, as in tools/list."""
    return True


# %% check-same
note(practice.check_same(same))

# %% conversation
frames = await practice.conversation()
for number, frame in enumerate(frames):
    print(f"{number:>3} {frame['direction']}  {frame['method']}")
assert practice.changed_in(frames) is not None

# %% my-change
change = {"message": None, "tool": None, "where": None}  # a number of those above, a name, a JSON pointer

# %% check-change
note(practice.check_change(change, frames))

# %% summary
print(summary(checks.values(), LANG))
assert len(checks) == 11
