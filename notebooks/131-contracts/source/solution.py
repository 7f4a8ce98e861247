# Class 131, solution: the code of both editions. Built by scripts/build_notebooks.py. The cells are those of
# the student's notebook; only those named my-... differ, and those named wrong-... stand here alone.
# ruff: noqa: E402 (a cell imports what it is about)
# %% setup
from ai_evolution.labs import practice_contracts as practice
from ai_evolution.labs import run_lab
from ai_evolution.labs.selfcheck import check_each, check_estimate, check_prediction, summary, words

LANG = "en"
checks = {}


def tr(en, es):
    """The words for this edition."""
    return es if LANG == "es" else en


def note(check):
    """Say what a self-check found, and keep it for the summary."""
    checks[check.name["en"]] = check
    print(check.says(LANG))


# %% sentences
for name, sentence in practice.SENTENCES.items():
    print(f"{name}: {sentence[LANG]}")
assert set(practice.LAYERS) == {"shape", "meaning", "quality", "evidence"}

# %% my-layers
layers = {
    "offset": "shape",
    "order": "meaning",
    "free": "meaning",
    "whole": "shape",
    "share": "quality",
    "fast": "quality",
    "run": "evidence",
}

# %% check-layers
note(practice.check_layers(layers))

# %% wrong-layers
tempting = practice.check_layers({**layers, "order": "shape", "fast": "meaning"})
print(tempting.says(LANG))
assert len(tempting.missing) == 2

# %% incidents
for name, incident in practice.INCIDENTS.items():
    print(f"{name}: {incident[LANG]}")
assert "nobody" in practice.BLAMES

# %% my-blame
blame = {
    "text": "caller",
    "past": "caller",
    "nine": "tool",
    "extra": "tool",
    "full": "nobody",
    "closed": "tool",
    "turned": "description",
}

# %% check-blame
note(practice.check_blame(blame))

# %% wrong-blame
tempting = practice.check_blame({**blame, "extra": "caller", "closed": "nobody"})
print(tempting.says(LANG))
for name in ("extra", "closed"):
    print(name, *(breach.message for breach in practice.incident(name).breaches), sep=" · ")
assert len(tempting.missing) == 2

# %% my-predictions
flaws_noticed = 1
required_lost = 45
tries_opaque = 6
tries_structured = 2.5
kept = 100 * (0.98**100 + 100 * 0.02 * 0.98**99)
levels = {
    "accepts more": "minor",
    "accepts less": "major",
    "promises more": "minor",
    "promises less": "major",
    "other words": "patch",
}

# %% run
report = run_lab("contracts", seed=0)
print(sum(finding.holds for finding in report.evidence), "/", len(report.evidence))
print(sum(report.inputs["recorded_tools"].values()), tr("recorded tools", "herramientas grabadas"))
assert report.holds

# %% compare-flaws
caught = len(report.finding("contract.drift").observed["article"])
note(check_prediction(words("the flaws noticed", "los defectos notados"), flaws_noticed, caught))
assert caught < len(report.result["drift"])

# %% compare-required
lost = report.result["losses"]["atdf-1"]["required"]
note(check_estimate(words("what is lost", "lo que se pierde"), required_lost, lost))
assert "required" not in report.result["losses"]["openai"]

# %% compare-tries
tries = report.result["tries"]
print(tr("scripted repairer, cases:", "reparador guionizado, casos:"), len(report.inputs["broken_calls"]))
note(check_estimate(words("tries, opaque", "intentos, opaco"), tries_opaque, tries["opaque"]["mean"]))
measured = tries["structured"]["mean"]
note(check_estimate(words("tries, structured", "intentos, estructurado"), tries_structured, measured))
assert measured < tries["code"]["mean"] < tries["opaque"]["mean"]

# %% compare-kept
lucky = report.result["lucky"]
between = (100 * lucky["low"], 100 * lucky["high"])
share = 100 * lucky["kept"] / lucky["samples"]
note(check_estimate(words("the lucky samples", "las muestras con suerte"), kept, share, between))
assert lucky["taken for proof"] == 0

# %% compare-levels
measured = report.finding("version.direction").observed
note(check_each(words("the revisions", "las revisiones"), levels, measured))
assert set(measured) == {"accepts more", "accepts less", "promises more", "promises less", "other words"}

# %% room-schema
from ai_evolution.atdf.schemas import problems

late = {"Start": "2026-02-01T10:00:00Z", "End": "2026-02-07T10:00:00Z"}
print(tr("the schema objects to:", "el esquema objeta:"), problems(late, practice.ROOM["tool"]["input"]))
assert not problems(late, practice.ROOM["tool"]["input"])


# %% my-condition
from datetime import datetime, timedelta


def holds(arguments, now):
    """Whether the room may be had: now < Start < End, for at most four hours."""
    start, end = (datetime.fromisoformat(arguments[name]) for name in ("Start", "End"))
    return now < start < end <= start + timedelta(hours=4)


# %% check-condition
note(practice.check_condition(holds))


# %% wrong-condition
def comparing_texts(arguments, now):
    """Compares as a dictionary would, and looks at the hours alone."""
    start, end = arguments["Start"], arguments["End"]
    return now.isoformat() < start < end and int(end[11:13]) - int(start[11:13]) <= 4


tempting = practice.check_condition(comparing_texts)
print(tempting.says(LANG))
assert len(tempting.missing) == 4

# %% room
answer = practice.room(holds, LANG).call(late)
print(answer["status"], answer["data"])
assert answer["status"] in ("success", "error")

# %% article
from ai_evolution.labs import dates

for example in dates.document(LANG)["tool"]["examples"]:
    print(example["output"]["status"], example["input"], example["output"]["meta"]["timestamp"])
print(tr("yours run at", "los tuyos corren a las"), practice.MOMENT)
assert list(dates.flaws()) == list(practice.FLAWS)

# %% my-examples
later = "2025-07-12T10:00:00Z"
more = [(practice.MOMENT, later, "error"), (later, later, "error")]

# %% check-examples
for flaw in practice.FLAWS.values():
    print("·", flaw[LANG])
note(practice.check_examples(more))

# %% wrong-examples
hour_before = "2025-07-12T09:00:00Z"
tempting = practice.check_examples([("2025-07-10T09:00:00Z", later, "error"), (later, hour_before, "error")])
print(tempting.says(LANG))
assert len(tempting.missing) == 2

# %% revisions
import json

for name, described in {tr("old", "vieja"): practice.OLD, tr("new", "nueva"): practice.NEW}.items():
    print(name, json.dumps(described["tool"]["input"]["properties"]))
assert practice.OLD != practice.NEW

# %% my-calls
breaks = {"seats": 2, "note": "x" * 141}
gains = {"seats": 9}

# %% check-calls
note(practice.check_calls(breaks, gains))

# %% wrong-calls
tempting = practice.check_calls({"seats": 9, "note": "x" * 141}, {"seats": 13})
print(tempting.says(LANG))
assert len(tempting.missing) == 2

# %% level
from ai_evolution.atdf.compatibility import diff
from ai_evolution.atdf.description import read

change = diff(read(practice.OLD)[0], read(practice.NEW)[0])
for reason in change.reasons:
    print(f"{reason.level}: {reason.says[LANG]}")
assert change.level == "major"

# %% my-needed
from itertools import count

from ai_evolution.atdf.sla import wilson

needed = {
    name: next(n for n in count(failed + 1) if wilson(n - failed, n)[0] >= promised)
    for name, (promised, failed) in practice.PROMISES.items()
}
print(needed)
assert min(needed.values()) == needed["99 %, 0 failed"]

# %% check-needed
note(practice.check_needed(needed))

# %% wrong-needed
tempting = practice.check_needed({"99 %, 0 failed": 300, "99.9 %, 0 failed": 3810, "99 %, 5 failed": 500})
print(tempting.says(LANG))
assert len(tempting.missing) == 3

# %% summary
print(summary(checks.values(), LANG))
assert len(checks) == 12
