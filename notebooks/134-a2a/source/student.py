# Class 134, student: the code of both editions. Built by scripts/build_notebooks.py. The solution has
# the same cells; only those named my-... differ, and it adds some named wrong-...
# ruff: noqa: E402, F704 (a cell imports what it is about, and may await)
# %% setup
from ai_evolution.labs import practice, run_lab
from ai_evolution.labs.practice import check_prediction, words

LANG = "en"
checks = {}


def tr(en, es):
    """The words for this edition."""
    return es if LANG == "es" else en


def note(check):
    """Say what a self-check found, and keep it for the summary."""
    checks[check.name["en"]] = check
    print(check.says(LANG))


# %% my-order
order = None  # ["...", "...", "...", "...", "..."], the first state first

# %% check-order
print(", ".join(sorted(practice.PIECES)))
note(practice.check_order(order))

# %% my-moves
legal = {
    ("SUBMITTED", "REJECTED"): None,
    ("WORKING", "SUBMITTED"): None,
    ("INPUT_REQUIRED", "COMPLETED"): None,
    ("COMPLETED", "WORKING"): None,
    ("FAILED", "CANCELED"): None,
    ("WORKING", "WORKING"): None,
}  # True or False

# %% check-moves
note(practice.check_moves(legal))

# %% my-predictions
cheapest_first = None  # a list of "handoff", "tool", "task": fewest bytes first
pays_from = None  # the smallest n for which n clients and n services gain by a common language
executions = None  # how often the agent works when the same message arrives twice at once
stranger = None  # "forbidden" or "not found": what Mallory hears about our task

# %% run
report = run_lab("multiagent", seed=0)
print(sum(finding.holds for finding in report.evidence), "/", len(report.evidence))
assert report.holds

# %% on-the-wire
life = [step.says for step in practice.arrows(report.result["wire"]) if step.source == "checks"]
seen = [state for state in life if state.isupper()]
note(check_prediction(words("the order on the wire", "el orden en el cable"), order, seen))
assert practice.check_order(seen).done

# %% compare-bytes
ways = report.result["three_ways"]
measured = sorted(ways, key=lambda name: ways[name]["bytes"])
note(check_prediction(words("the order of cost", "el orden del coste"), cheapest_first, measured))
assert len(measured) == 3

# %% compare-translators
counted = report.finding("kqml.translators").observed["pays from"]
note(check_prediction(words("when it pays", "cuándo compensa"), pays_from, counted))
assert counted > 1

# %% compare-executions
runs = report.finding("a2a.message-once").observed["executions"]
note(check_prediction(words("executions", "ejecuciones"), executions, runs))
assert runs > 0

# %% compare-stranger
codes = report.finding("a2a.task-owned").observed
heard = "not found" if codes["GetTask"] == -32001 else "forbidden"
note(check_prediction(words("what Mallory hears", "lo que oye Mallory"), stranger, heard))
assert codes["GetTask"] == codes["CancelTask"]

# %% my-card
my_card = {}

# %% check-card
print(practice.JOB.skill, "·", practice.HOME)
note(practice.check_card(my_card))

# %% five
import pandas as pd
from IPython.display import display

cards = practice.five_cards()
pd.set_option("display.max_colwidth", None, "display.width", 160)
display(pd.DataFrame({name: practice.facts(card) for name, card in cards.items()}).T)
print(tr("needed:", "hace falta:"), practice.WANTED.output_modes, practice.WANTED.bindings)
print(practice.WANTED.protocol, practice.WANTED.schemes, "push:", practice.WANTED.push)
assert len(cards) == 5

# %% my-verdict
verdict = {"alder": None, "birch": None, "cedar": None, "elm": None, "fir": None}

# %% check-verdict
print("fits,", ", ".join(practice.MISFIT))
note(practice.check_choice(verdict))

# %% situations
for name, situation in practice.SITUATIONS.items():
    print(f"{name}: {situation[LANG]}")
assert len(practice.SITUATIONS) == 4

# %% my-places
places = {"question": None, "first-half": None, "refusal": None, "certificate": None}

# %% check-places
note(practice.check_places(places))

# %% consents
for name, consent in practice.CONSENTS.items():
    print(name, dict(consent))
print(tr("the agent asks:", "el agente pregunta:"), practice.QUESTION)
assert "C-4" not in practice.CONSENTS


# %% my-answer
async def answer(question, consent):
    """The parts that answer the agent's question, or None to give the task up."""
    if consent and question == "":  # when may the check go abroad?
        return [{"data": {"international": True}}]
    return None


# %% check-answer
note(await practice.check_answer(answer))

# %% desk
outcome = await practice.ask_the_desk(answer)
for name, delivered in outcome.items():
    print(name, delivered)
assert list(outcome) == ["C-1", "C-2", "C-3", "C-4"]

# %% summary
print(practice.summary(checks.values(), LANG))
assert len(checks) == 11
