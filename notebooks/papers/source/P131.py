# P131, speech acts: the code of both editions of the miniature. Built by scripts/build_notebooks.py.
# %% setup
import json
from collections import Counter

import matplotlib.pyplot as plt
from a2a.types import Message
from google.protobuf.json_format import ParseDict

from ai_evolution.world import World

plt.rcParams.update({"figure.dpi": 80, "figure.figsize": (7, 3.6)})
SEED = 0
LANG = "en"


def tr(en, es):
    """The words for this edition."""
    return es if LANG == "es" else en


# %% forces
p = {"check": "references", "of": "candidate-7"}

speaker, hearer = tr("speaker", "hablante"), tr("hearer", "oyente")
FORCES = {
    # force: (who owes something afterwards, what would settle it)
    "assert": (speaker, tr("evidence that p is so", "pruebas de que p es así")),
    "ask": (hearer, tr("an answer: p or not p", "una respuesta: p o no p")),
    "order": (hearer, tr("p is made true", "que p se haga verdad")),
    "promise": (speaker, tr("p is made true", "que p se haga verdad")),
    "permit": (tr("nobody", "nadie"), tr("nothing: p is now allowed", "nada: p queda permitido")),
}
print("p =", p)
for force, (debtor, settled_by) in FORCES.items():
    print(f"{force + '(p)':<12}{debtor:<10}{settled_by}")
assert FORCES["order"][1] == FORCES["promise"][1]  # the same thing settles both ...
assert FORCES["order"][0] != FORCES["promise"][0]  # ... and somebody else owes it


# %% conditions
def happy(force, world_state):
    """Which of the conditions for a successful act fail; the last one nobody can look up."""
    failed = []
    if force in ("order", "ask", "permit") and not world_state["speaker_has_authority"]:
        failed.append("preparatory")
    if force in ("order", "promise") and world_state["already_done"]:
        failed.append("preparatory")
    if not world_state["speaker_means_it"]:
        failed.append("sincerity")
    return failed


state = {"speaker_has_authority": False, "already_done": False, "speaker_means_it": True}
verdicts = {force: happy(force, state) for force in FORCES}
for force, failed in verdicts.items():
    print(f"{force:<9}{failed}")
assert verdicts["order"] == ["preparatory"]
assert verdicts["promise"] == []

# %% predict
PREDICTION = {"misread by words": None, "misread by field": None}  # out of 1000 messages

# %% messages
SENTENCES = {  # the same content, as people put it; each list mixes direct and indirect ways
    "ask": tr(
        ["Are the references checked?", "I would like to know whether the references are checked."],
        ["¿Están comprobadas las referencias?", "Quisiera saber si las referencias están comprobadas."],
    ),
    "order": tr(
        ["Check the references.", "Could you check the references?", "The references need checking."],
        [
            "Comprueba las referencias.",
            "¿Podrías comprobar las referencias?",
            "Hay que comprobar las referencias.",
        ],
    ),
    "promise": tr(
        ["I will check the references.", "You will have the references checked by noon."],
        ["Comprobaré las referencias.", "Tendrás las referencias comprobadas a mediodía."],
    ),
    "assert": tr(
        ["The references are checked.", "Did you know the references are checked?"],
        ["Las referencias están comprobadas.", "¿Sabías que las referencias están comprobadas?"],
    ),
}
world = World("P131", SEED)
sent = []
for _ in range(1000):
    meant = world.random.choice(list(SENTENCES))
    sent.append({"force": meant, "text": world.random.choice(SENTENCES[meant])})
counts = Counter(message["force"] for message in sent)
print(dict(sorted(counts.items())))
assert sum(counts.values()) == 1000


# %% by-words
def by_words(text):
    """A reader who goes by the surface: question mark, first person future, bare verb."""
    first = text.split()[0].strip("¿").lower()
    if text.endswith("?"):
        return "ask"
    if text.startswith(tr("I will", "Comprobaré")):
        return "promise"
    if first in ("check", "comprueba"):
        return "order"
    return "assert"


def misread(read):
    """Per force: how many messages ``read`` takes for something else."""
    wrong = Counter(message["force"] for message in sent if read(message) != message["force"])
    return {force: wrong[force] for force in SENTENCES}


words = misread(lambda message: by_words(message["text"]))
field = misread(lambda message: message["force"])
print(tr("by the words:", "por las palabras:"), words, sum(words.values()), "/ 1000")
print(tr("by a field:", "por un campo:"), field, sum(field.values()), "/ 1000")
assert sum(field.values()) == 0
assert sum(words.values()) > 0

# %% compare
measured = {"misread by words": sum(words.values()), "misread by field": sum(field.values())}
for name, seen in measured.items():
    print(f"{name}: {tr('predicted', 'predicho')} {PREDICTION[name]}, {tr('counted', 'contado')} {seen}")
assert measured["misread by words"] > measured["misread by field"]

# %% plot
forces = list(SENTENCES)
rates = [words[force] / counts[force] for force in forces]
for force, rate in zip(forces, rates, strict=True):
    print(f"{force:<9}{words[force]:>3} / {counts[force]:>2} = {rate:.2f}")
fig, ax = plt.subplots()
ax.bar([x - 0.2 for x in range(4)], rates, width=0.4, label=tr("by the words", "por las palabras"))
ax.plot([x + 0.2 for x in range(4)], [0] * 4, "s", color="C1", label=tr("by a field", "por un campo"))
ax.set_xticks(range(4), forces)
ax.legend()
ax.set(ylim=(0, 1), ylabel=tr("share taken for another act", "proporción tomada por otro acto"))
plt.show()
assert max(rates) == rates[forces.index("order")]


# %% envelopes
def kqml(force, content):
    """The act in its own field."""
    return {"performative": force, "content": json.dumps(content)}


def a2a(force, content):
    """A2A 1.0: one kind of message for every act; what is wanted stands in the text."""
    text = f"{force}: {json.dumps(content)}"
    return {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": text}]}


def envelope(message, content_fields):
    """What can be read without reading the content."""
    return json.dumps({key: value for key, value in message.items() if key not in content_fields})


for force in FORCES:
    ParseDict(a2a(force, p), Message())  # the installed SDK accepts each of them
seen_kqml = {envelope(kqml(force, p), {"content"}) for force in FORCES}
seen_a2a = {envelope(a2a(force, p), {"parts"}) for force in FORCES}
print(tr("different envelopes, KQML:", "sobres distintos, KQML:"), len(seen_kqml))
print(tr("different envelopes, A2A 1.0:", "sobres distintos, A2A 1.0:"), len(seen_a2a), *seen_a2a)
assert (len(seen_kqml), len(seen_a2a)) == (5, 1)

# %% states
STATES = {  # the act that an agent performs when it moves a task; p is "the work is done"
    "TASK_STATE_SUBMITTED": ("assert", tr("the request arrived", "la petición ha llegado")),
    "TASK_STATE_WORKING": ("promise", tr("I am on it", "me ocupo de ello")),
    "TASK_STATE_INPUT_REQUIRED": ("ask", tr("I need this from you", "necesito esto de ti")),
    "TASK_STATE_AUTH_REQUIRED": ("ask", tr("I need a credential from you", "necesito una credencial tuya")),
    "TASK_STATE_COMPLETED": ("assert", tr("p, and here is the artifact", "p, y aquí está el artefacto")),
    "TASK_STATE_FAILED": ("assert", tr("not p, and it will not be", "no p, y no lo será")),
    "TASK_STATE_CANCELED": ("assert", tr("the promise is withdrawn", "la promesa se retira")),
    "TASK_STATE_REJECTED": ("refuse", tr("I never promised", "nunca lo prometí")),
}
for name, (force, gloss) in STATES.items():
    print(f"{name:<27}{force:<9}{gloss}")
acts = Counter(force for force, _ in STATES.values())
print(dict(acts))
assert acts == {"assert": 4, "ask": 2, "promise": 1, "refuse": 1}
