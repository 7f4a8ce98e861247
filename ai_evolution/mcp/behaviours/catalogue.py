"""Every behaviour: its sentence in both languages, its place in the specification, what is expected."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ai_evolution.mcp.behaviours import checks
from ai_evolution.mcp.behaviours.subject import Behaviour


def _behaviours() -> Iterable[Behaviour]:
    spec = "MCP 2026-07-28, "
    yield Behaviour(
        "era.spoken",
        "The server speaks the revision that it is asked for, and says so.",
        "El servidor habla la revisión que se le pide, y lo dice.",
        spec + "server/discover; MCP 2025-11-25, Lifecycle",
        (),
        "the revision asked for",
        checks.era_spoken,
    )
    yield Behaviour(
        "tools.described",
        "Every tool that must be there is listed once, with a description and with schemas of an object that"
        " are JSON Schema 2020-12 and point nowhere outside.",
        "Cada herramienta exigida aparece una vez, con descripción y con esquemas de objeto que son JSON"
        " Schema 2020-12 y no apuntan fuera de sí mismos.",
        spec + "Tools, Data Types; JSON Schema usage",
        (),
        [],
        checks.tools_described,
    )
    yield Behaviour(
        "tools.order",
        "tools/list gives the same tools in the same order each time.",
        "tools/list da las mismas herramientas en el mismo orden cada vez.",
        spec + "Tools, Listing Tools (SHOULD)",
        (),
        "the same",
        checks.tools_order,
    )
    yield Behaviour(
        "lists.pages",
        "The pages of tools/list end and repeat nothing; a cursor that nobody gave out is refused: -32602.",
        "Las páginas de tools/list terminan y no repiten nada; un cursor que nadie dio se rechaza: -32602.",
        spec + "Pagination",
        (),
        {"twice": 0, "false cursor": -32602},
        checks.lists_pages,
    )
    yield Behaviour(
        "tools.unknown",
        "A call of a tool that does not exist is a protocol error, -32602, and no result.",
        "Llamar a una herramienta que no existe es un error de protocolo, -32602, y no un resultado.",
        spec + "Tools, Error Handling",
        (),
        -32602,
        checks.unknown_tool,
    )
    yield Behaviour(
        "call.succeeds",
        "The call that should succeed does: no error and some content.",
        "La llamada que debe salir bien sale bien: sin error y con contenido.",
        spec + "Tools, Calling Tools",
        ("call",),
        "a result with content",
        checks.call_succeeds,
    )
    yield Behaviour(
        "call.independent",
        "A call is answered while a slow one is still running.",
        "Una llamada se contesta mientras otra lenta sigue en marcha.",
        "JSON-RPC 2.0: requests are independent; " + spec + "Overview",
        ("call", "slow"),
        "answered meanwhile",
        checks.call_independent,
    )
    yield Behaviour(
        "arguments.types",
        "An argument of another type than the published schema says is refused, not coerced.",
        "Un argumento de otro tipo que el del esquema publicado se rechaza, no se convierte.",
        spec + "Tools, Security Considerations (servers MUST validate all tool inputs)",
        ("call",),
        [],
        checks.arguments_types,
    )
    yield Behaviour(
        "arguments.limits",
        "A value outside the limits of the published schema is refused.",
        "Un valor fuera de los límites del esquema publicado se rechaza.",
        spec + "Tools, Security Considerations (servers MUST validate all tool inputs)",
        ("call",),
        [],
        checks.arguments_limits,
    )
    yield Behaviour(
        "arguments.required",
        "A call that lacks a required argument is refused.",
        "Una llamada a la que le falta un argumento obligatorio se rechaza.",
        spec + "Tools, Security Considerations (servers MUST validate all tool inputs)",
        ("call",),
        [],
        checks.arguments_required,
    )
    yield Behaviour(
        "arguments.closed",
        "An argument that the tool does not know is refused, not ignored: a model that misspells it is told.",
        "Un argumento que la herramienta no conoce se rechaza, no se ignora: si un modelo lo escribe mal,"
        " se entera.",
        "ours; " + spec + "Tools, inputSchema (additionalProperties)",
        ("call",),
        "refused",
        checks.arguments_closed,
    )
    yield Behaviour(
        "arguments.explained",
        "Bad arguments come back as a tool error that names the argument, so that a model can mend its call.",
        "Los argumentos malos vuelven como error de herramienta que nombra el argumento, para que un modelo"
        " pueda corregir su llamada.",
        "SEP-1303; MCP 2025-11-25, Tools, Error Handling",
        ("call",),
        {"as": "isError", "names the argument": True},
        checks.arguments_explained,
    )
    yield Behaviour(
        "result.structured",
        "The tool publishes an output schema, and its structured content is valid against it.",
        "La herramienta publica un esquema de salida y su contenido estructurado lo cumple.",
        spec + "Tools, Output Schema (servers MUST provide structured results that conform)",
        ("call",),
        [],
        checks.result_structured,
    )
    yield Behaviour(
        "result.twice",
        "Structured content is also there as JSON text, for clients that read only text.",
        "El contenido estructurado está también como texto JSON, para los clientes que solo leen texto.",
        spec + "Tools, Structured Content (SHOULD)",
        ("call",),
        "the same, as text",
        checks.result_twice,
    )
    yield Behaviour(
        "failure.told",
        "A tool that is there and fails says so: isError with a text, no protocol error and no success.",
        "Una herramienta que existe y falla lo dice: isError con un texto, ni error de protocolo ni éxito.",
        spec + "Tools, Error Handling",
        ("fail",),
        "isError with a text",
        checks.failure_told,
    )
    yield Behaviour(
        "crash.masked",
        "When the tool's own code breaks, the caller learns that it did and nothing from inside: no secret,"
        " no traceback.",
        "Cuando se rompe el código de la herramienta, quien llama se entera de eso y de nada de dentro: ni"
        " secretos ni trazas.",
        "ours; " + spec + "Security Best Practices",
        ("crash",),
        {"ends": "refused", "leaks": []},
        checks.crash_masked,
    )
    yield Behaviour(
        "crash.survived",
        "After a tool broke, the server still works.",
        "Después de que una herramienta se rompa, el servidor sigue funcionando.",
        "ours",
        ("crash", "call"),
        "alive",
        checks.crash_survived,
    )
    yield Behaviour(
        "cancel.reaches",
        "A cancelled call gets no result, and the tool itself stops.",
        "Una llamada cancelada no recibe resultado, y la propia herramienta se detiene.",
        spec + "Cancellation (SHOULD stop processing)",
        ("slow", "traces"),
        {"answered": False, "tools stopped": 1},
        checks.cancel_reaches,
    )
    yield Behaviour(
        "progress.told",
        "Progress carries the caller's token and rises with each report; who gave no token gets none.",
        "El progreso lleva el token de quien llama y crece en cada aviso; sin token no se recibe ninguno.",
        spec + "Progress (the value MUST increase)",
        ("progress",),
        {"reports": "some", "token kept": True, "rising": True, "unasked": 0},
        checks.progress_told,
    )
    yield Behaviour(
        "ask.accepted",
        "The tool asks the user, and does its work when the user agrees.",
        "La herramienta pregunta al usuario y hace su trabajo cuando este acepta.",
        spec + "Elicitation",
        ("ask",),
        "asked, then done",
        checks.ask_accepted,
    )
    yield Behaviour(
        "ask.refused",
        "When the user declines or cancels, the work is not done.",
        "Cuando el usuario rechaza o cancela, el trabajo no se hace.",
        spec + "Elicitation, Response Actions",
        ("ask",),
        {"decline": "not done", "cancel": "not done"},
        checks.ask_refused,
    )
    yield Behaviour(
        "ask.nonsense",
        "An answer that breaks the schema of the form is not taken for consent.",
        "Una respuesta que incumple el esquema del formulario no se toma por consentimiento.",
        spec + "Elicitation, Security (both parties SHOULD validate)",
        ("ask",),
        "not done",
        checks.ask_nonsense,
    )
    yield Behaviour(
        "ask.undeclared",
        "A client that did not declare elicitation is not asked, and the work is not done without asking.",
        "A un cliente que no declaró elicitation no se le pregunta, y el trabajo no se hace sin preguntar.",
        spec + "Elicitation, Capabilities; -32021",
        ("ask",),
        {"asked": False, "done": False},
        checks.ask_undeclared,
    )
    yield Behaviour(
        "resources.readable",
        "Every listed resource can be read, and its contents carry its URI.",
        "Todo recurso listado se puede leer, y su contenido lleva su URI.",
        spec + "Resources, Reading Resources",
        (),
        [],
        checks.resources_readable,
    )
    yield Behaviour(
        "prompts.required",
        "A prompt without its required arguments is refused with -32602.",
        "Un prompt sin sus argumentos obligatorios se rechaza con -32602.",
        spec + "Prompts, Error Handling",
        (),
        [],
        checks.prompts_required,
    )
    yield Behaviour(
        "rpc.ids",
        "A response carries the id of its request as it was, text or number.",
        "Una respuesta lleva el id de su petición tal como era, texto o número.",
        "JSON-RPC 2.0, section 5; " + spec + "Messages",
        (),
        {"text": "kept", "number": "kept", "zero": "kept"},
        checks.ids_kept,
    )
    yield Behaviour(
        "rpc.unknown-method",
        "A method that does not exist is answered with -32601.",
        "Un método que no existe se contesta con -32601.",
        "JSON-RPC 2.0, section 5.1",
        (),
        -32601,
        checks.unknown_method,
    )
    yield Behaviour(
        "rpc.invalid-params",
        "A tools/call without a name, or whose arguments are no object, is answered with -32602.",
        "Un tools/call sin nombre, o cuyos argumentos no son un objeto, se contesta con -32602.",
        "JSON-RPC 2.0, section 5.1; " + spec + "Tools, Error Handling",
        (),
        {"no name": -32602, "arguments no object": -32602},
        checks.invalid_params,
    )
    yield Behaviour(
        "rpc.malformed-json",
        "A body that is not JSON is answered with -32700.",
        "Un cuerpo que no es JSON se contesta con -32700.",
        "JSON-RPC 2.0, section 5.1",
        ("url",),
        -32700,
        checks.malformed_json,
    )
    yield Behaviour(
        "stdout.clean",
        "Nothing but JSON-RPC messages is written to standard output.",
        "En la salida estándar no se escribe nada más que mensajes JSON-RPC.",
        spec + "Transports, stdio (MUST NOT write anything that is not a valid MCP message)",
        ("command",),
        [],
        checks.stdout_clean,
    )


BEHAVIOURS: Mapping[str, Behaviour] = {behaviour.id: behaviour for behaviour in _behaviours()}
