"""Servers with one fault each, made from the fixture server: who notices, the official suite or we?

A ``Mutant`` is a sentence about what it does wrong, a function that builds it, and the behaviours of
``ai_evolution.mcp.behaviours`` that must not hold for it (``caught``), those and no others. Which official
scenarios notice is measured, not typed: ``scripts/conformance.py`` writes it to ``docs/conformance``.

Every fault is one that a person could make in an evening. They are for judges to look at, never to be built
upon: the fixture server (``fixtures``) is the one that is right.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio
import mcp.types as t
from mcp import MCPError
from mcp.server import Server

from ai_evolution.mcp.fixtures import SECRET, TOOLS, Context, fixture_server

Handler = Callable[[Context, Any], Awaitable[Any]]
Wrap = Callable[[Handler, Context, Any], Awaitable[Any]]


@dataclass(frozen=True)
class Mutant:
    """A server with one fault. ``build`` makes a new one; ``caught`` are the behaviours that notice."""

    id: str
    en: str
    es: str
    caught: tuple[str, ...]
    break_it: Callable[[Server[Any]], None] = field(repr=False)

    def build(self) -> Server[Any]:
        server = fixture_server()
        self.break_it(server)
        return server


def _around(method: str, wrap: Wrap) -> Callable[[Server[Any]], None]:
    """Put ``wrap`` between the wire and the handler of one method."""

    def break_it(server: Server[Any]) -> None:
        entry = server.get_request_handler(method)
        assert entry is not None

        async def handler(ctx: Context, params: Any) -> Any:
            return await wrap(entry.handler, ctx, params)

        server.add_request_handler(method, entry.params_type, handler)

    return break_it


def _text(text: str, *, is_error: bool = False) -> t.CallToolResult:
    return t.CallToolResult(content=[t.TextContent(text=text)], is_error=is_error)


def _both(*parts: Callable[[Server[Any]], None]) -> Callable[[Server[Any]], None]:
    def break_it(server: Server[Any]) -> None:
        for part in parts:
            part(server)

    return break_it


# --------------------------------------------------------------------------- tools and lists

ABSENT = frozenset({"test_error_handling", "test_simple_text", "test_multiple_content_types"})


async def _without_absent(handler: Handler, ctx: Context, params: Any) -> Any:
    listed = await handler(ctx, params)
    return t.ListToolsResult(tools=[tool for tool in listed.tools if tool.name not in ABSENT])


async def _absent_fail(handler: Handler, ctx: Context, params: Any) -> Any:
    if params.name in ABSENT:
        return _text(f"Unknown tool: {params.name}", is_error=True)
    return await handler(ctx, params)


async def _unknown_as_result(handler: Handler, ctx: Context, params: Any) -> Any:
    if params.name not in TOOLS:
        return _text(f"Unknown tool: {params.name}", is_error=True)
    return await handler(ctx, params)


def _shuffled(server: Server[Any]) -> None:
    turns = itertools.count()

    async def wrap(handler: Handler, ctx: Context, params: Any) -> Any:
        tools = (await handler(ctx, params)).tools
        turn = next(turns) % len(tools)
        return t.ListToolsResult(tools=[*tools[turn:], *tools[:turn]])

    _around("tools/list", wrap)(server)


async def _endless(handler: Handler, ctx: Context, _: Any) -> Any:
    listed = await handler(ctx, None)
    return t.ListToolsResult(tools=listed.tools, next_cursor="more")


async def _untyped(handler: Handler, ctx: Context, params: Any) -> Any:
    tools = (await handler(ctx, params)).tools
    anything = {"input_schema": {"type": "object"}}
    return t.ListToolsResult(tools=[tool.model_copy(update=anything) for tool in tools])


# -------------------------------------------------------------------------------- arguments


def _lax(value: Any) -> Any:
    """What a lenient library makes of an argument of ``own_sum``."""
    if isinstance(value, str) and value.lstrip("-").isdigit():
        return int(value)
    return {"yes": True, "true": True}.get(value, value) if isinstance(value, str) else value


def _converted(name: str, value: Any) -> Any:
    if name == "loud":
        return bool(_lax(value))
    return int(_lax(value)) if isinstance(value, bool | float) else _lax(value)


async def _coerced(handler: Handler, ctx: Context, params: Any) -> Any:
    if params.name == "own_sum":
        lax = {name: _converted(name, value) for name, value in (params.arguments or {}).items()}
        params = params.model_copy(update={"arguments": lax})
    return await handler(ctx, params)


async def _extra_ignored(handler: Handler, ctx: Context, params: Any) -> Any:
    known = TOOLS[params.name][0].input_schema["properties"] if params.name in TOOLS else {}
    kept = {name: value for name, value in (params.arguments or {}).items() if name in known}
    return await handler(ctx, params.model_copy(update={"arguments": kept}))


async def _limits_ignored(handler: Handler, ctx: Context, params: Any) -> Any:
    given = params.arguments or {}
    inside = {name: value for name, value in given.items() if type(value) is not int or abs(value) <= 1000}
    if params.name == "own_sum" and inside != given:
        fitting = {name: value if name in inside else 1000 for name, value in given.items()}
        params = params.model_copy(update={"arguments": fitting})
    return await handler(ctx, params)


async def _defaults_invented(handler: Handler, ctx: Context, params: Any) -> Any:
    if params.name == "own_sum":
        params = params.model_copy(update={"arguments": {"a": 0, "b": 0, **(params.arguments or {})}})
    return await handler(ctx, params)


async def _mute_refusal(handler: Handler, ctx: Context, params: Any) -> Any:
    result = await handler(ctx, params)
    blocks = result.content if isinstance(result, t.CallToolResult) and result.is_error else []
    if any(isinstance(b, t.TextContent) and b.text.startswith("Invalid arguments") for b in blocks):
        raise MCPError(-32602, "Invalid params", None)
    return result


# ------------------------------------------------------------------------- results, failures


async def _lies(handler: Handler, ctx: Context, params: Any) -> Any:
    result = await handler(ctx, params)
    if params.name == "own_sum" and not result.is_error:
        lie = {**result.structured_content, "sum": str(result.structured_content["sum"])}
        return t.CallToolResult(content=[t.TextContent(text=json.dumps(lie))], structured_content=lie)
    return result


async def _no_text(handler: Handler, ctx: Context, params: Any) -> Any:
    result = await handler(ctx, params)
    if params.name == "own_sum" and not result.is_error:
        return result.model_copy(update={"content": [t.TextContent(text="See the structured content.")]})
    return result


async def _failure_hidden(handler: Handler, ctx: Context, params: Any) -> Any:
    if params.name == "test_error_handling":
        return _text("Sorry, that did not work.")
    return await handler(ctx, params)


async def _leaks(handler: Handler, ctx: Context, params: Any) -> Any:
    if params.name == "own_crash":
        return _text(f"Error executing tool own_crash: cannot log in with {SECRET}", is_error=True)
    return await handler(ctx, params)


def _dies(server: Server[Any]) -> None:
    dead = False

    async def wrap(handler: Handler, ctx: Context, params: Any) -> Any:
        nonlocal dead
        if dead:
            raise MCPError(-32603, "Internal error", None)
        dead = params.name == "own_crash"
        return await handler(ctx, params)

    _around("tools/call", wrap)(server)


# ----------------------------------------------------------------------- time and the user


def _deaf(server: Server[Any]) -> None:
    kept = set()

    async def wrap(handler: Handler, ctx: Context, params: Any) -> Any:
        if params.name != "own_slow":
            return await handler(ctx, params)

        async def work() -> Any:
            return await handler(ctx, params)

        task = asyncio.create_task(work())
        kept.add(task)
        return await asyncio.shield(task)

    _around("tools/call", wrap)(server)


def _one_at_a_time(server: Server[Any]) -> None:
    lock = anyio.Lock()

    async def wrap(handler: Handler, ctx: Context, params: Any) -> Any:
        async with lock:
            return await handler(ctx, params)

    _around("tools/call", wrap)(server)


async def _backwards(handler: Handler, ctx: Context, params: Any) -> Any:
    if params.name != "test_tool_with_progress":
        return await handler(ctx, params)
    for left in (100, 50, 0):
        await ctx.session.report_progress(left, 100)
    return _text("Done, in three steps.")


def _with_answers(params: Any, change: Callable[[t.ElicitResult], t.ElicitResult]) -> Any:
    given = getattr(params, "input_responses", None) or {}
    changed = {key: change(one) if isinstance(one, t.ElicitResult) else one for key, one in given.items()}
    return params.model_copy(update={"input_responses": changed}) if changed else params


def _agreed(_: t.ElicitResult) -> t.ElicitResult:
    return t.ElicitResult(action="accept", content={"sure": True})


async def _no_means_yes(handler: Handler, ctx: Context, params: Any) -> Any:
    def change(answer: t.ElicitResult) -> t.ElicitResult:
        return answer if answer.action == "accept" else _agreed(answer)

    return await handler(ctx, _with_answers(params, change) if params.name == "own_delete" else params)


async def _anything_means_yes(handler: Handler, ctx: Context, params: Any) -> Any:
    def change(answer: t.ElicitResult) -> t.ElicitResult:
        return _agreed(answer) if answer.action == "accept" else answer

    return await handler(ctx, _with_answers(params, change) if params.name == "own_delete" else params)


async def _asks_nobody(handler: Handler, ctx: Context, params: Any) -> Any:
    declared = ctx.session.client_capabilities
    if params.name == "own_delete" and (declared is None or declared.elicitation is None):
        return _text("Deleted.")
    return await handler(ctx, params)


# -------------------------------------------------------------------- prompts and resources


async def _dangling(handler: Handler, ctx: Context, params: Any) -> Any:
    listed = await handler(ctx, params)
    ghost = t.Resource(uri="test://ghost", name="ghost", mime_type="text/plain")
    return t.ListResourcesResult(resources=[*listed.resources, ghost])


async def _prompt_guesses(handler: Handler, ctx: Context, params: Any) -> Any:
    guessed = {"arg1": "", "arg2": "", "resourceUri": "test://static-text", **(params.arguments or {})}
    return await handler(ctx, params.model_copy(update={"arguments": guessed}))


MUTANTS: Mapping[str, Mutant] = {
    mutant.id: mutant
    for mutant in (
        Mutant(
            "lacks-tools",
            "Three tools are missing, and a call of one ends in isError like any failure.",
            "Faltan tres herramientas, y llamar a una acaba en isError como cualquier fallo.",
            ("failure.told", "tools.described"),
            _both(_around("tools/list", _without_absent), _around("tools/call", _absent_fail)),
        ),
        Mutant(
            "unknown-as-result",
            "A tool that does not exist is answered with isError (what the SDK's MCPServer 2.3 does).",
            "Una herramienta que no existe se contesta con isError (lo que hace el MCPServer 2.3 del SDK).",
            ("tools.unknown",),
            _around("tools/call", _unknown_as_result),
        ),
        Mutant(
            "shuffles",
            "The tools come in another order each time.",
            "Las herramientas llegan cada vez en otro orden.",
            ("tools.order",),
            _shuffled,
        ),
        Mutant(
            "endless",
            "Every page of tools/list has a next one.",
            "Cada página de tools/list tiene otra detrás.",
            (
                "arguments.explained", "arguments.limits", "arguments.required", "arguments.types",
                "crash.masked", "failure.told", "lists.pages", "result.structured", "tools.described",
                "tools.order",
            ),
            _around("tools/list", _endless),
        ),
        Mutant(
            "untyped",
            "The published schemas say nothing about the arguments.",
            "Los esquemas publicados no dicen nada de los argumentos.",
            ("arguments.explained", "arguments.types"),
            _around("tools/list", _untyped),
        ),
        Mutant(
            "coerces",
            "Arguments are converted to what the code needs (what pydantic does by default).",
            "Los argumentos se convierten en lo que el código necesita (lo que pydantic hace por defecto).",
            ("arguments.explained", "arguments.types"),
            _around("tools/call", _coerced),
        ),
        Mutant(
            "ignores-extra",
            "Arguments that the tool does not know are ignored.",
            "Los argumentos que la herramienta no conoce se ignoran.",
            ("arguments.closed",),
            _around("tools/call", _extra_ignored),
        ),
        Mutant(
            "ignores-limits",
            "Numbers beyond the published limits are accepted.",
            "Se aceptan números fuera de los límites publicados.",
            ("arguments.limits",),
            _around("tools/call", _limits_ignored),
        ),
        Mutant(
            "invents-defaults",
            "A required argument that is missing is taken as zero.",
            "Un argumento obligatorio que falta se toma por cero.",
            ("arguments.required",),
            _around("tools/call", _defaults_invented),
        ),
        Mutant(
            "mute-refusal",
            "Bad arguments are a protocol error that does not say which one is bad.",
            "Los argumentos malos son un error de protocolo que no dice cuál es malo.",
            ("arguments.explained",),
            _around("tools/call", _mute_refusal),
        ),
        Mutant(
            "lies",
            "The structured content breaks the output schema.",
            "El contenido estructurado incumple el esquema de salida.",
            ("result.structured",),
            _around("tools/call", _lies),
        ),
        Mutant(
            "no-text",
            "The structured content is not there as text.",
            "El contenido estructurado no está como texto.",
            ("result.twice",),
            _around("tools/call", _no_text),
        ),
        Mutant(
            "hides-failure",
            "A tool that failed apologises, and says that it succeeded.",
            "Una herramienta que falló se disculpa, y dice que salió bien.",
            ("failure.told",),
            _around("tools/call", _failure_hidden),
        ),
        Mutant(
            "leaks",
            "The text of an exception goes to the caller, with the secret in it.",
            "El texto de una excepción llega a quien llama, con el secreto dentro.",
            ("crash.masked",),
            _around("tools/call", _leaks),
        ),
        Mutant(
            "dies",
            "After one tool broke, none works any more.",
            "Después de romperse una herramienta, ninguna funciona.",
            (
                "ask.accepted", "ask.nonsense", "ask.refused", "ask.undeclared", "cancel.reaches",
                "crash.survived", "progress.told",
            ),
            _dies,
        ),
        Mutant(
            "deaf",
            "A cancelled tool goes on working.",
            "Una herramienta cancelada sigue trabajando.",
            ("cancel.reaches",),
            _deaf,
        ),
        Mutant(
            "one-at-a-time",
            "One call waits for another to end.",
            "Una llamada espera a que termine otra.",
            ("call.independent",),
            _one_at_a_time,
        ),
        Mutant(
            "backwards",
            "Progress falls from 100 to 0.",
            "El progreso baja de 100 a 0.",
            ("progress.told",),
            _around("tools/call", _backwards),
        ),
        Mutant(
            "no-means-yes",
            "The user declines, and the work is done.",
            "El usuario rechaza, y el trabajo se hace.",
            ("ask.refused",),
            _around("tools/call", _no_means_yes),
        ),
        Mutant(
            "anything-means-yes",
            "Any filled form is taken for consent, whatever it says.",
            "Cualquier formulario relleno se toma por consentimiento, diga lo que diga.",
            ("ask.nonsense",),
            _around("tools/call", _anything_means_yes),
        ),
        Mutant(
            "asks-nobody",
            "When the client cannot ask its user, the work is done without asking.",
            "Si el cliente no puede preguntar al usuario, el trabajo se hace sin preguntar.",
            ("ask.undeclared",),
            _around("tools/call", _asks_nobody),
        ),
        Mutant(
            "dangling",
            "A resource is listed that cannot be read.",
            "Se lista un recurso que no se puede leer.",
            ("resources.readable",),
            _around("resources/list", _dangling),
        ),
        Mutant(
            "prompt-guesses",
            "A prompt fills in the arguments that it lacks.",
            "Un prompt rellena los argumentos que le faltan.",
            ("prompts.required",),
            _around("prompts/get", _prompt_guesses),
        ),
    )
}  # fmt: skip
