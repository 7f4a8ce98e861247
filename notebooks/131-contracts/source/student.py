# Class 131, student: the code of both editions. Built by scripts/build_notebooks.py. The solution has
# the same cells; only those named my-... differ, and it adds some named wrong-...
# ruff: noqa: E402, ARG001 (a cell imports what it is about; a starter uses little)
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
    "offset": None,
    "order": None,
    "free": None,
    "whole": None,
    "share": None,
    "fast": None,
    "run": None,
}  # "shape", "meaning", "quality" or "evidence"

# %% check-layers
note(practice.check_layers(layers))

# %% incidents
for name, incident in practice.INCIDENTS.items():
    print(f"{name}: {incident[LANG]}")
assert "nobody" in practice.BLAMES

# %% my-blame
blame = {
    "text": None,
    "past": None,
    "nine": None,
    "extra": None,
    "full": None,
    "closed": None,
    "turned": None,
}  # "caller", "tool", "description" or "nobody"

# %% check-blame
note(practice.check_blame(blame))

# %% my-predictions
flaws_noticed = None  # of five flawed validators, how many the article's two examples notice
required_lost = None  # of the recorded tools, how many lose `required` in the flat form
tries_opaque = None  # how many tries the scripted repairer needs on average, told only that it failed
tries_structured = None  # the same with the structured error
kept = None  # per cent of samples of a hundred that keep 99 %, when the service fails 2 in 100
levels = {
    "accepts more": None,
    "accepts less": None,
    "promises more": None,
    "promises less": None,
    "other words": None,
}  # "patch", "minor" or "major"

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
def holds(arguments, now):
    """Whether the room may be had: now < Start < End, for at most four hours."""
    return True  # arguments["Start"] and arguments["End"] are texts; now is a datetime with an offset


# %% check-condition
note(practice.check_condition(holds))

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
more = []  # ("2025-07-12T10:00:00Z", "2025-07-12T12:00:00Z", "success"): start, end, status of the answer

# %% check-examples
for flaw in practice.FLAWS.values():
    print("·", flaw[LANG])
note(practice.check_examples(more))

# %% revisions
import json

for name, described in {tr("old", "vieja"): practice.OLD, tr("new", "nueva"): practice.NEW}.items():
    print(name, json.dumps(described["tool"]["input"]["properties"]))
assert practice.OLD != practice.NEW

# %% my-calls
breaks = {}  # accepted by the old revision, refused by the new one
gains = {}  # refused by the old revision, accepted by the new one

# %% check-calls
note(practice.check_calls(breaks, gains))

# %% level
from ai_evolution.atdf.compatibility import diff
from ai_evolution.atdf.description import read

change = diff(read(practice.OLD)[0], read(practice.NEW)[0])
for reason in change.reasons:
    print(f"{reason.level}: {reason.says[LANG]}")
assert change.level == "major"

# %% my-needed
needed = {"99 %, 0 failed": None, "99.9 %, 0 failed": None, "99 %, 5 failed": None}

# %% check-needed
note(practice.check_needed(needed))

# %% summary
print(summary(checks.values(), LANG))
assert len(checks) == 12
