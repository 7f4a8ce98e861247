"""Every behaviour: its sentence in both languages, its place in the specification, what is expected."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ai_evolution.a2a.behaviours import checks
from ai_evolution.a2a.behaviours.subject import Behaviour
from ai_evolution.a2a.behaviours.wire import CANCELED, COMPLETED, FAILED, INPUT_REQUIRED, REJECTED


def _behaviours() -> Iterable[Behaviour]:
    spec = "A2A 1.0, section "
    yield Behaviour(
        "card.published",
        "The Agent Card is at /.well-known/agent-card.json, open to all, with every required field and a"
        " JSON-RPC 1.0 endpoint on the same origin.",
        "La Agent Card está en /.well-known/agent-card.json, abierta a cualquiera, con todos los campos"
        " obligatorios y un punto de acceso JSON-RPC 1.0 en el mismo origen.",
        spec + "8.2 and 4.4.1; RFC 8615",
        (),
        [],
        checks.card_published,
    )
    yield Behaviour(
        "version.demanded",
        "A call without the A2A-Version header, or with version 2.0, is refused with -32009; version 1.0"
        " is understood (an unknown task is then -32001).",
        "Una llamada sin la cabecera A2A-Version, o con la versión 2.0, se rechaza con -32009; la versión 1.0"
        " se entiende (y una tarea desconocida da entonces -32001).",
        spec + "3.6.2",
        (),
        {"no header": -32009, "1.0": -32001, "2.0": -32009},
        checks.version_demanded,
    )
    yield Behaviour(
        "auth.demanded",
        "A call without a token, or with an unknown one, gets HTTP 401 with a WWW-Authenticate header.",
        "Una llamada sin token, o con uno desconocido, recibe HTTP 401 con la cabecera WWW-Authenticate.",
        spec + "7 and 3.3.2; RFC 6750, section 3",
        ("token",),
        {"no token": "401 with WWW-Authenticate", "wrong token": "401 with WWW-Authenticate"},
        checks.auth_demanded,
    )
    yield Behaviour(
        "rpc.unknown-method",
        "A method that does not exist is answered with -32601.",
        "Un método que no existe se contesta con -32601.",
        spec + "9.5; JSON-RPC 2.0, section 5.1",
        (),
        -32601,
        checks.unknown_method,
    )
    yield Behaviour(
        "rpc.malformed-json",
        "A body that is not JSON is answered with -32700.",
        "Un cuerpo que no es JSON se contesta con -32700.",
        spec + "9.5; JSON-RPC 2.0, section 5.1",
        (),
        -32700,
        checks.malformed_json,
    )
    yield Behaviour(
        "rpc.invalid-params",
        "A SendMessage without a message or without parts, and a GetTask without an id, are answered"
        " with -32602.",
        "Un SendMessage sin mensaje o sin partes, y un GetTask sin id, se contestan con -32602.",
        spec + "3.3.2 and 9.5",
        (),
        {"no message": -32602, "message without parts": -32602, "no task id": -32602},
        checks.invalid_params,
    )
    yield Behaviour(
        "task.unknown",
        "GetTask and CancelTask for a task that does not exist are answered with -32001.",
        "GetTask y CancelTask sobre una tarea que no existe se contestan con -32001.",
        spec + "3.1.3, 3.1.5 and 5.4",
        (),
        {"GetTask": -32001, "CancelTask": -32001},
        checks.unknown_task,
    )
    yield Behaviour(
        "task.completes",
        "Asked to return immediately, the agent answers with a task at once; followed with GetTask, its"
        " states come in a legal order and end in TASK_STATE_COMPLETED.",
        "Si se le pide volver de inmediato, el agente contesta enseguida con una tarea; seguida con GetTask,"
        " sus estados llegan en un orden legal y terminan en TASK_STATE_COMPLETED.",
        spec + "3.1.1, 3.2.2 and 4.1.3",
        ("complete",),
        {"order": "legal", "ends": COMPLETED},
        checks.task_completes,
    )
    yield Behaviour(
        "task.asks",
        "When something is missing the task stops in TASK_STATE_INPUT_REQUIRED with a question; the answer,"
        " sent with the same taskId, goes on with that very task and completes it.",
        "Cuando falta un dato, la tarea se detiene en TASK_STATE_INPUT_REQUIRED con una pregunta; la"
        " respuesta, enviada con el mismo taskId, continúa esa misma tarea y la completa.",
        spec + "3.4.2",
        ("ask",),
        {
            "first": INPUT_REQUIRED,
            "question": True,
            "same task": True,
            "same context": True,
            "ends": COMPLETED,
        },
        checks.task_asks,
    )
    yield Behaviour(
        "context.matches",
        "A message whose contextId is not that of its task is refused with -32602, and the task stays"
        " where it was.",
        "Un mensaje cuyo contextId no es el de su tarea se rechaza con -32602, y la tarea se queda donde"
        " estaba.",
        spec + "3.4.1",
        ("ask",),
        {"message": -32602, "state": INPUT_REQUIRED},
        checks.context_matches,
    )
    yield Behaviour(
        "artifact.present",
        "The result of a completed task is in an artifact with a data part, not only in the chat.",
        "El resultado de una tarea completada está en un artefacto con una parte de datos, no solo en la"
        " conversación.",
        spec + "3.7 and 4.1.7",
        ("complete",),
        "an artifact",
        checks.result_in_artifact,
    )
    yield Behaviour(
        "artifact.typed",
        "The artifact's data is valid against the declared schema: right fields, right values, whole numbers"
        " where integers were promised.",
        "Los datos del artefacto cumplen el esquema declarado: los campos debidos, los valores debidos y"
        " números enteros donde se prometieron enteros.",
        "JSON Schema 2020-12; " + spec + "4.1.7",
        ("complete",),
        [],
        checks.artifact_typed,
    )
    yield Behaviour(
        "artifact.stable",
        "GetTask returns the artifacts that SendMessage returned.",
        "GetTask devuelve los mismos artefactos que devolvió SendMessage.",
        spec + "3.1.3",
        ("complete",),
        "the same",
        checks.artifact_stable,
    )
    yield Behaviour(
        "task.terminal",
        "A task that has ended takes no more messages: -32004, and its state does not change.",
        "Una tarea terminada no admite más mensajes: -32004, y su estado no cambia.",
        spec + "3.1.1",
        ("complete",),
        {"message": -32004, "state": COMPLETED},
        checks.terminal_refuses,
    )
    yield Behaviour(
        "task.owned",
        "Another caller's task is answered like one that does not exist: -32001 for GetTask, CancelTask and"
        " SendMessage.",
        "La tarea de otro cliente se contesta como si no existiera: -32001 en GetTask, CancelTask y"
        " SendMessage.",
        spec + "3.3.2 and 13.1",
        ("complete", "token", "other_token"),
        {"GetTask": -32001, "CancelTask": -32001, "SendMessage": -32001},
        checks.task_owned,
    )
    yield Behaviour(
        "message.once",
        "The same message (same messageId) sent twice by the same caller is one task.",
        "El mismo mensaje (mismo messageId) enviado dos veces por el mismo cliente es una sola tarea.",
        spec + "3.3.1 (a MAY there, demanded here)",
        ("complete",),
        "one task",
        checks.message_once,
    )
    yield Behaviour(
        "history.bounded",
        "GetTask keeps to historyLength: no message for 0, at most one for 1, some when it is not given.",
        "GetTask respeta historyLength: ningún mensaje con 0, uno como mucho con 1 y alguno si no se indica.",
        spec + "3.2.4",
        ("complete",),
        {"0": 0, "1": 1, "unset": "some"},
        checks.history_bounded,
    )
    yield Behaviour(
        "stream.honest",
        "SendStreamingMessage does what the card says: events in order that close with the result, or,"
        " where the card does not offer streaming, -32004.",
        "SendStreamingMessage hace lo que dice la tarjeta: eventos en orden que acaban con el resultado o, si"
        " la tarjeta no ofrece streaming, -32004.",
        spec + "3.1.2 and 3.3.4",
        ("complete",),
        "as the card says",
        checks.stream_honest,
    )
    yield Behaviour(
        "input.rejected",
        "Work that the agent will not do ends in TASK_STATE_REJECTED with a reason in words.",
        "El trabajo que el agente no va a hacer termina en TASK_STATE_REJECTED con un motivo en palabras.",
        spec + "4.1.3",
        ("reject",),
        {"ends": REJECTED, "reason": True},
        checks.input_rejected,
    )
    yield Behaviour(
        "cancel.refused",
        "CancelTask on a task that has ended is answered with -32002, and its state does not change.",
        "CancelTask sobre una tarea terminada se contesta con -32002, y su estado no cambia.",
        spec + "3.1.5",
        ("complete",),
        {"CancelTask": -32002, "state": COMPLETED},
        checks.cancel_refused,
    )
    yield Behaviour(
        "failure.neutral",
        "When the agent's own code breaks the task ends in TASK_STATE_FAILED, and nothing of the exception"
        " (text, class, trace) leaves the agent.",
        "Cuando falla el propio código del agente, la tarea termina en TASK_STATE_FAILED, y nada de la"
        " excepción (texto, clase, traza) sale del agente.",
        spec + "1.2 (opaque execution) and 3.3.2",
        ("crash",),
        {"ends": FAILED, "leaks": []},
        checks.failure_neutral,
    )
    yield Behaviour(
        "cancel.ends",
        "CancelTask on a task that is being worked on ends it in TASK_STATE_CANCELED, and it stays so.",
        "CancelTask sobre una tarea en curso la termina en TASK_STATE_CANCELED, y así se queda.",
        spec + "3.1.5",
        ("slow",),
        {"before": "active", "answer": CANCELED, "after": CANCELED},
        checks.cancel_ends,
    )


BEHAVIOURS: Mapping[str, Behaviour] = {b.id: b for b in _behaviours()}
"""Every behaviour by id, in the order in which ``examine`` walks them: what may hang comes last."""
