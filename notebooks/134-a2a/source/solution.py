# Class 134, solution: the code of both editions. Built by scripts/build_notebooks.py. The cells are those of
# the student's notebook; only those named my-... differ, and those named wrong-... stand here alone.
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
order = ["SUBMITTED", "WORKING", "INPUT_REQUIRED", "WORKING", "COMPLETED"]

# %% check-order
print(", ".join(sorted(practice.PIECES)))
note(practice.check_order(order))

# %% wrong-order
early = practice.check_order(["SUBMITTED", "INPUT_REQUIRED", "WORKING", "WORKING", "COMPLETED"])
back = practice.check_order(["WORKING", "SUBMITTED", "INPUT_REQUIRED", "WORKING", "COMPLETED"])
print(early.says(LANG), back.says(LANG), sep="\n")
assert (early.done, back.done) == (True, False)

# %% my-moves
legal = {
    ("SUBMITTED", "REJECTED"): True,
    ("WORKING", "SUBMITTED"): False,
    ("INPUT_REQUIRED", "COMPLETED"): True,
    ("COMPLETED", "WORKING"): False,
    ("FAILED", "CANCELED"): False,
    ("WORKING", "WORKING"): True,
}

# %% check-moves
note(practice.check_moves(legal))

# %% my-predictions
cheapest_first = ["handoff", "tool", "task"]
pays_from = 3
executions = 1
stranger = "not found"

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

# %% wrong-translators
rows = {row["clients"]: row for row in report.result["integrations"] if row["clients"] == row["services"]}
print({n: (row["private"], row["common"]) for n, row in rows.items()})
assert rows[2]["private"] == rows[2]["common"] == 4

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
my_card = {
    "name": "Translation desk",
    "description": "Translates contracts and says which clauses it was unsure about",
    "version": "1.0.0",
    "supportedInterfaces": [
        {"url": f"{practice.HOME}/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    ],
    "capabilities": {"streaming": True, "pushNotifications": False},
    "securitySchemes": {"bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}},
    "securityRequirements": [{"schemes": {"bearer": {"list": []}}}],
    "defaultInputModes": ["text/plain"],
    "defaultOutputModes": ["application/json"],
    "skills": [
        {
            "id": "translate-contract",
            "name": "Contract translation",
            "description": "Takes the text of a contract and gives it clause by clause in another language",
            "tags": ["translation", "contracts"],
        }
    ],
}

# %% check-card
print(practice.JOB.skill, "·", practice.HOME)
note(practice.check_card(my_card))

# %% wrong-card
open_door = {name: value for name, value in my_card.items() if name != "securityRequirements"}
print(practice.check_card(open_door).says(LANG))
misspelt = {**open_door, "securityRequirement": my_card["securityRequirements"]}
print(practice.check_card(misspelt).says(LANG))
assert not practice.check_card(open_door).done
assert not practice.check_card(misspelt).done

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
verdict = {"alder": "output-mode", "birch": "protocol", "cedar": "auth", "elm": "push", "fir": "fits"}

# %% check-verdict
print("fits,", ", ".join(practice.MISFIT))
note(practice.check_choice(verdict))

# %% wrong-verdict
tempting = {**verdict, "alder": "fits", "fir": "auth"}
print(practice.check_choice(tempting).says(LANG))
assert len(practice.check_choice(tempting).missing) == 2

# %% situations
for name, situation in practice.SITUATIONS.items():
    print(f"{name}: {situation[LANG]}")
assert len(practice.SITUATIONS) == 4

# %% my-places
places = {"question": "message", "first-half": "artifact", "refusal": "message", "certificate": "artifact"}

# %% check-places
note(practice.check_places(places))

# %% wrong-places
print(practice.check_places({**places, "first-half": "message"}).says(LANG))
assert not practice.check_places({**places, "first-half": "message"}).done

# %% consents
for name, consent in practice.CONSENTS.items():
    print(name, dict(consent))
print(tr("the agent asks:", "el agente pregunta:"), practice.QUESTION)
assert "C-4" not in practice.CONSENTS


# %% my-answer
async def answer(question, consent):
    """The parts that answer the agent's question, or None to give the task up."""
    if question != practice.QUESTION or consent is None or consent["status"] != "given":
        return None
    return [{"data": {"international": consent["reach"] == "world"}}]


# %% check-answer
note(await practice.check_answer(answer))


# %% wrong-answer
async def obliging(_question, consent):
    """Says yes to whoever asks, as long as there is an entry."""
    return [{"data": {"international": True}}] if consent else None


obliged = await practice.check_answer(obliging)
print(obliged.says(LANG))
assert len(obliged.missing) == 3

# %% desk
outcome = await practice.ask_the_desk(answer)
for name, delivered in outcome.items():
    print(name, delivered)
assert list(outcome) == ["C-1", "C-2", "C-3", "C-4"]

# %% summary
print(practice.summary(checks.values(), LANG))
assert len(checks) == 11
