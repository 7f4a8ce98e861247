"""The exercise of class 131: a tool that renews loans of books, its contract, and a converter.

Here are the sentences, one per behaviour, in the order in which they are judged; what is looked at is in
``renewal_checks``, the library around the tool in ``library``.
"""

from __future__ import annotations

from collections.abc import Mapping

from ai_evolution.a2a.behaviours import Observation
from ai_evolution.grading import renewal_checks as checks
from ai_evolution.grading.examiner import Behaviour, examine
from ai_evolution.grading.talk import Talk, Wire
from ai_evolution.grading.task import Exercise, Sitting

SLUG = "131-contracts"


def judge(sitting: Sitting) -> tuple[Observation, ...]:
    """Examine the tool that serves; after a silence, a fresh child is tried, three times at most."""
    try:
        talk: Talk | None = Wire(sitting.host.channel(sitting.patience))
    except OSError:
        talk = None

    def fresh() -> Talk | None:
        host = sitting.again()
        try:
            return None if host is None else Wire(host.channel(sitting.patience))
        except OSError:
            return None

    limits = (sitting.only, sitting.seed, sitting.patience, sitting.ends)
    return examine(BEHAVIOURS, SLUG, talk, fresh, *limits, seen=sitting.seen)


_TABLE = (
    Behaviour(
        "document.valid",
        "The description is ATDF in the article's form, its schemas are schemas, lint finds neither error"
        " nor warning in it, and it says when not to use the tool.",
        "La descripción es ATDF con la forma del artículo, sus esquemas son esquemas, lint no encuentra"
        " en ella ni errores ni avisos, y dice cuándo no usar la herramienta.",
        "ATDF, the article (S04)",
        checks.document_valid,
    ),
    Behaviour(
        "document.strict",
        "Its schemas alone refuse what has a wrong shape (arguments, successes, errors that say nothing)"
        " and accept what has the right one.",
        "Sus esquemas, por sí solos, rechazan lo que tiene mala forma (argumentos, éxitos, errores que no"
        " dicen nada) y aceptan lo que la tiene buena.",
        "JSON Schema 2020-12",
        checks.document_strict,
    ),
    Behaviour(
        "examples.hold",
        "Each example of the description, run at its own clock, ends as it says.",
        "Cada ejemplo de la descripción, ejecutado a su propia hora, acaba como dice.",
        "ATDF, the article (S04)",
        checks.examples_hold,
    ),
    Behaviour(
        "examples.reach",
        "The error schema declares the seven codes, and running the examples reaches each of them, and"
        " success.",
        "El esquema de error declara los siete códigos, y al ejecutar los ejemplos se llega a todos, y"
        " también al éxito.",
        "ATDF, the article (S04)",
        checks.examples_reach,
    ),
    Behaviour(
        "call.succeeds",
        "A good call renews the loan once, with the right book and moment, and answers with the right"
        " four values, whatever the offsets.",
        "Una llamada correcta renueva el préstamo una sola vez, con el libro y el momento debidos, y"
        " contesta con los cuatro valores debidos, sean cuales sean los desfases horarios.",
        "exercise, the table of outcomes",
        checks.call_succeeds,
    ),
    Behaviour(
        "call.refused",
        "A call that breaks a rule is refused with that rule's code and field before the library hears of"
        " it; a reserved book is not renewed.",
        "Una llamada que incumple una regla se rechaza con el código y el campo de esa regla antes de que"
        " la biblioteca se entere; un libro reservado no se renueva.",
        "P142, precondition",
        checks.call_refused,
    ),
    Behaviour(
        "call.shape",
        "Date-times that are naive or malformed, arguments that are missing, unknown or of another type:"
        " INVALID_ARGUMENTS, with the field at fault, before the library hears of it.",
        "Fechas sin desfase o mal escritas, y argumentos que faltan, sobran o son de otro tipo:"
        " INVALID_ARGUMENTS, con el campo responsable, antes de que la biblioteca se entere.",
        "RFC 3339, section 5.6",
        checks.call_shape,
    ),
    Behaviour(
        "call.limits",
        "At the limits themselves the rules say what they say: due now and 28 days to the second are"
        " allowed, until equal to due is not.",
        "Justo en los límites, las reglas dicen lo que dicen: vencer ahora mismo y 28 días exactos se"
        " admiten; que until sea igual a due, no.",
        "exercise, the table of outcomes",
        checks.call_limits,
    ),
    Behaviour(
        "clock.injected",
        "The same call at other clocks ends as it must there, and meta.timestamp is the clock that was"
        " handed in.",
        "La misma llamada con otros relojes acaba como debe en cada uno, y meta.timestamp es el reloj que"
        " se le dio.",
        "ATDF, the article (S04)",
        checks.clock_injected,
    ),
    Behaviour(
        "error.usable",
        "A caller that only follows field, expected and solution repairs a call with n faults in n"
        " corrections.",
        "Quien solo sigue field, expected y solution arregla una llamada con n fallos en n correcciones.",
        "RFC 9457, section 3",
        checks.error_usable,
    ),
    Behaviour(
        "call.envelope",
        "Whatever arguments arrive, the call ends in a valid envelope that the declared schema of its"
        " outcome accepts.",
        "Lleguen los argumentos que lleguen, la llamada acaba en un sobre válido que el esquema declarado"
        " de su desenlace acepta.",
        "P145",
        checks.call_envelope,
    ),
    Behaviour(
        "failure.neutral",
        "When the library breaks, the call ends in TOOL_FAILED, and nothing of the exception (text,"
        " class, trace) is in the answer.",
        "Cuando se rompe la biblioteca, la llamada acaba en TOOL_FAILED, y nada de la excepción (texto,"
        " clase, traza) está en la respuesta.",
        "P142",
        checks.failure_neutral,
    ),
    Behaviour(
        "failure.lie",
        "When the library puts down something other than was asked, or answers nonsense, the call ends in"
        " TOOL_FAILED; the same moment in another spelling is no lie.",
        "Cuando la biblioteca anota otra cosa que la pedida, o contesta un disparate, la llamada acaba en"
        " TOOL_FAILED; el mismo momento escrito de otra manera no es una mentira.",
        "P142, postcondition",
        checks.failure_lie,
    ),
    Behaviour(
        "convert.keyword",
        "additionalProperties goes into the short form and comes back: false, true, {} or a schema, at"
        " any depth.",
        "additionalProperties llega a la forma breve y vuelve: false, true, {} o un esquema, a cualquier"
        " profundidad.",
        "JSON Schema 2020-12",
        checks.convert_keyword,
    ),
    Behaviour(
        "convert.rest",
        "What went there and back before still does: nesting, lists, schemas that are true or false, the"
        " empty schema.",
        "Lo que ya iba y volvía lo sigue haciendo: anidamiento, listas, esquemas que son true o false, el"
        " esquema vacío.",
        "JSON Schema 2020-12",
        checks.convert_rest,
    ),
    Behaviour(
        "convert.losses",
        "What the short form has no place for is reported, by JSON pointer: all of it, and nothing else.",
        "Lo que no cabe en la forma breve se declara, con su puntero JSON: todo ello, y nada más.",
        "RFC 6901",
        checks.convert_losses,
    ),
)
BEHAVIOURS: Mapping[str, Behaviour] = {each.id: each for each in _TABLE}

EXERCISE = Exercise(
    class_slug=SLUG,
    file="my_tool.py",
    room="tool",
    entry="build(library, clock)",
    wanted={"en": "a function of the arguments", "es": "una función de los argumentos"},
    names={
        "en": {"of": "the tool's process", "to": "the tool was ended", "your": "tool"},
        "es": {
            "of": "el proceso de la herramienta",
            "to": "se puso fin a la herramienta",
            "your": "herramienta",
        },
    },
    behaviours=BEHAVIOURS,
    settings=lambda _: {},
    judge=judge,
)
