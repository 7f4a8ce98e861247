"""The server that the official conformance suite asks for, in a room of its own: scripted and harmless.

One low-level ``Server`` serves both eras. Each fixture is a function below, next to the sentence and the
schema that ``tools/list`` publishes for it; the names and the texts are the suite's, so that it finds them.
A fixture that needs the user asks through ``_Call.answers``: in revision 2026-07-28 the question travels
as an ``InputRequiredResult`` and the call comes again with the answer, before that the server asks back
over the open connection. The fixture does not notice which.

The last fixtures are ours, for ``ai_evolution.mcp.behaviours``, which asks for what no official scenario
does. ``fixture_subject`` says which is which.

It refuses what its published schemas refuse (the SDK's low-level server would let it pass), answers
-32602 for a tool, prompt, resource or page that it does not have, and keeps the text of an exception to
itself. It never touches a file, a process or another machine.
"""

from __future__ import annotations

import base64
import json
import re
import warnings
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio
import mcp.types as t
from jsonschema import Draft202012Validator
from mcp import MCPError
from mcp.server import CacheHint, Server, ServerRequestContext
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ToolsListChanged,
)
from mcp.shared.message import ServerMessageMetadata

from ai_evolution.mcp.behaviours import Ask, Call, Subject

NAME = "ai-evolution-fixtures"
MODERN = "2026-07-28"
INVALID_PARAMS = -32602
MISSING_CAPABILITY = -32021
SECRET = "a-password-that-no-answer-may-carry"
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
WAV = base64.b64encode(
    b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x80\x3e\0\0\2\0\x10\0data\0\0\0\0"
).decode()

Context = ServerRequestContext[Any, Any]
Page = t.PaginatedRequestParams | None
Question = t.ElicitRequest | t.CreateMessageRequest | t.ListRootsRequest
Asking = t.CallToolRequestParams | t.GetPromptRequestParams


@dataclass
class _Room:
    """What one server remembers: who listens, and what became of the slow calls."""

    bus: InMemorySubscriptionBus = field(default_factory=InMemorySubscriptionBus)
    slow: dict[str, int] = field(default_factory=lambda: {"running": 0, "cancelled": 0, "finished": 0})


class _NeedsInput(Exception):
    def __init__(self, questions: Mapping[str, Question], state: str | None) -> None:
        self.result = t.InputRequiredResult(input_requests=dict(questions), request_state=state)


@dataclass(frozen=True)
class _Call:
    room: _Room
    ctx: Context
    params: Asking

    @property
    def arguments(self) -> dict[str, Any]:
        return dict(self.params.arguments or {})

    def declared(self, capability: str) -> bool:
        capabilities = self.ctx.session.client_capabilities
        return capabilities is not None and getattr(capabilities, capability) is not None

    def require(self, capability: str) -> None:
        """MCPError -32021 when the client did not declare the capability."""
        if not self.declared(capability):
            data: dict[str, Any] = {"requiredCapabilities": {capability: {}}}
            raise MCPError(MISSING_CAPABILITY, f"this needs a client that declares {capability!r}", data)

    async def answers(self, questions: Mapping[str, Question], state: str | None = None) -> dict[str, Any]:
        """One answer for each question, by its key; where there is none yet, the question goes out."""
        for question in questions.values():
            self.require(CAPABILITY[type(question)])
        if self.ctx.protocol_version != MODERN:
            return {key: await self._ask(question) for key, question in questions.items()}
        given = self.params.input_responses or {}
        if not all(key in given and _answers(question, given[key]) for key, question in questions.items()):
            raise _NeedsInput(questions, state)
        return {key: given[key] for key in questions}

    async def _ask(self, question: Question) -> Any:
        asked = ServerMessageMetadata(related_request_id=self.ctx.request_id)
        return await self.ctx.session.send_request(question, ANSWER[type(question)], metadata=asked)


CAPABILITY: Mapping[type, str] = {
    t.ElicitRequest: "elicitation", t.CreateMessageRequest: "sampling", t.ListRootsRequest: "roots",
}  # fmt: skip
ANSWER: Mapping[type, type[t.Result]] = {
    t.ElicitRequest: t.ElicitResult, t.CreateMessageRequest: t.CreateMessageResult,
    t.ListRootsRequest: t.ListRootsResult,
}  # fmt: skip


def _answers(question: Question, answer: object) -> bool:
    """Whether this is an answer to that question; an accepted form must fit the schema that was sent."""
    if not isinstance(answer, ANSWER[type(question)]):
        return False
    if not isinstance(answer, t.ElicitResult) or answer.action != "accept":
        return True
    assert isinstance(question, t.ElicitRequest)
    assert isinstance(question.params, t.ElicitRequestFormParams)
    return Draft202012Validator(question.params.requested_schema).is_valid(answer.content)


def _form(message: str, properties: Mapping[str, Any], required: Sequence[str] = ()) -> t.ElicitRequest:
    schema = {"type": "object", "properties": dict(properties), "required": list(required)}
    return t.ElicitRequest(params=t.ElicitRequestFormParams(message=message, requested_schema=schema))


def _prompt_model(text: str, most: int = 100) -> t.CreateMessageRequest:
    said = t.SamplingMessage(role="user", content=t.TextContent(text=text))
    return t.CreateMessageRequest(params=t.CreateMessageRequestParams(messages=[said], max_tokens=most))


# ------------------------------------------------------------------------------------ tools

Content = t.ContentBlock
Told = str | Sequence[Content] | t.CallToolResult
Fixture = Callable[[_Call], Awaitable[Told]]
TOOLS: dict[str, tuple[t.Tool, Fixture]] = {}
NOTHING: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}


def _schema(required: Sequence[str] = (), **properties: Any) -> dict[str, Any]:
    return {
        "type": "object", "properties": properties, "required": list(required), "additionalProperties": False,
    }  # fmt: skip


def _tool(
    description: str, schema: dict[str, Any] = NOTHING, output: dict[str, Any] | None = None
) -> Callable[[Fixture], Fixture]:
    def keep(function: Fixture) -> Fixture:
        name = function.__name__
        if not name.startswith(("own_", "json_")):
            name = f"test_{name}"
        tool = t.Tool(name=name, description=description, input_schema=schema, output_schema=output)
        TOOLS[name] = (tool, function)
        return function

    return keep


def _image() -> t.ImageContent:
    return t.ImageContent(data=PNG, mime_type="image/png")


def _embedded(uri: str, text: str, mime_type: str) -> t.EmbeddedResource:
    return t.EmbeddedResource(resource=t.TextResourceContents(uri=uri, text=text, mime_type=mime_type))


@_tool("Answers with one text.")
async def simple_text(_: _Call) -> Told:
    return "This is a simple text response for testing."


@_tool("Answers with an image of one pixel.")
async def image_content(_: _Call) -> Told:
    return [_image()]


@_tool("Answers with a sound of no length.")
async def audio_content(_: _Call) -> Told:
    return [t.AudioContent(data=WAV, mime_type="audio/wav")]


@_tool("Answers with a resource inside.")
async def embedded_resource(_: _Call) -> Told:
    return [_embedded("test://embedded-resource", "This is an embedded resource content.", "text/plain")]


@_tool("Answers with a text, an image and a resource.")
async def multiple_content_types(_: _Call) -> Told:
    inside = json.dumps({"test": "data", "value": 123})
    return [
        t.TextContent(text="Multiple content types test:"),
        _image(),
        _embedded("test://mixed-content-resource", inside, "application/json"),
    ]


async def _log(call: _Call, text: str) -> None:
    with warnings.catch_warnings():  # logging is deprecated since 2026-07-28, and still to be served
        warnings.simplefilter("ignore")
        sending = call.ctx.session.send_log_message("info", text, related_request_id=call.ctx.request_id)
    await sending


@_tool("Writes three lines to the client's log while it works.")
async def tool_with_logging(call: _Call) -> Told:
    await _log(call, "Tool execution started")
    await anyio.sleep(0.05)
    await _log(call, "Tool processing data")
    await anyio.sleep(0.05)
    await _log(call, "Tool execution completed")
    return "Three lines were logged."


@_tool("Logs if, and only if, the request asks for a log (2026-07-28).")
async def logging_tool(call: _Call) -> Told:
    await _log(call, "Somebody wanted to know")
    return "Logged where it was wanted."


@_tool("Reports its progress: 0, 50 and 100 of 100.")
async def tool_with_progress(call: _Call) -> Told:
    for done in (0, 50, 100):
        await call.ctx.session.report_progress(done, 100)
        await anyio.sleep(0.05 if done < 100 else 0)
    return "Done, in three steps."


@_tool("Fails, and says so.")
async def error_handling(_: _Call) -> Told:
    return _failure("This tool intentionally returns an error for testing")


@_tool("Asks the client's model.", _schema(["prompt"], prompt={"type": "string"}))
async def sampling(call: _Call) -> Told:
    answer = (await call.answers({"answer": _prompt_model(call.arguments["prompt"])}))["answer"]
    return f"LLM response: {_said(answer)}"


@_tool("Asks the user for a name and an address.", _schema(["message"], message={"type": "string"}))
async def elicitation(call: _Call) -> Told:
    fields = {
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    }
    question = _form(call.arguments["message"], fields, ["username", "email"])
    answer = (await call.answers({"user": question}))["user"]
    return f"User response: action={answer.action}, content={json.dumps(answer.content)}"


@_tool("Asks the user with a default for every kind of field (SEP-1034).")
async def elicitation_sep1034_defaults(call: _Call) -> Told:
    return await _completed(call, {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    })  # fmt: skip


_ORDINALS = ((1, "First"), (2, "Second"), (3, "Third"))


@_tool("Asks the user with the five ways to offer a choice (SEP-1330).")
async def elicitation_sep1330_enums(call: _Call) -> Told:
    plain = ["option1", "option2", "option3"]
    titled = [{"const": f"value{n}", "title": f"{which} Option"} for n, which in _ORDINALS]
    several = [{"const": f"value{n}", "title": f"{which} Choice"} for n, which in _ORDINALS]
    old = {"enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option Three"]}
    return await _completed(call, {
        "untitledSingle": {"type": "string", "enum": plain},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {"type": "string", **old},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": plain}},
        "titledMulti": {"type": "array", "items": {"anyOf": several}},
    })  # fmt: skip


async def _completed(call: _Call, fields: Mapping[str, Any]) -> Told:
    answer = (await call.answers({"user": _form("Please look at these fields", fields)}))["user"]
    return f"Elicitation completed: action={answer.action}, content={json.dumps(answer.content)}"


SCHEMA_2020_12 = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


@_tool("Has a schema with the vocabulary of JSON Schema 2020-12 (SEP-1613, SEP-2106).", SCHEMA_2020_12)
async def json_schema_2020_12_tool(call: _Call) -> Told:
    return json.dumps(call.arguments)


_REGION = {"type": "string", "description": "Also travels as a header", "x-mcp-header": "Region"}


@_tool("Has an argument that also travels as an HTTP header (SEP-2243).", _schema(["region"], region=_REGION))
async def x_mcp_header(call: _Call) -> Told:
    return f"region={call.arguments['region']}"


@_tool("Cannot be used by a client without sampling.")
async def missing_capability(call: _Call) -> Told:
    call.require("sampling")
    return "The client can sample."


@_tool("Asks the user in the middle of its answer.")
async def streaming_elicitation(call: _Call) -> Told:
    await call.ctx.session.report_progress(1, 2)
    return await _completed(call, {"ok": {"type": "boolean"}})


@_tool("Tells whoever listens that the list of tools changed.")
async def trigger_tool_change(call: _Call) -> Told:
    await call.room.bus.publish(ToolsListChanged())
    return "Told."


@_tool("Tells whoever listens that the list of prompts changed.")
async def trigger_prompt_change(call: _Call) -> Told:
    await call.room.bus.publish(PromptsListChanged())
    return "Told."


# -------------------------------------------------------------- tools that need more input

_TEXT = {"type": "string"}
_NAME = _form("What is your name?", {"name": _TEXT}, ["name"])


def _said(answer: t.CreateMessageResult) -> str:
    return answer.content.text if isinstance(answer.content, t.TextContent) else answer.content.type


def _field(answer: t.ElicitResult, name: str) -> str:
    return str((answer.content or {}).get(name, f"({answer.action})"))


@_tool("Asks for a name.")
async def input_required_result_elicitation(call: _Call) -> Told:
    return f"Hello, {_field((await call.answers({'user_name': _NAME}))['user_name'], 'name')}!"


@_tool("Asks the client's model for a capital.")
async def input_required_result_sampling(call: _Call) -> Told:
    question = _prompt_model("What is the capital of France?")
    return _said((await call.answers({"capital_question": question}))["capital_question"])


@_tool("Asks for the client's roots.")
async def input_required_result_list_roots(call: _Call) -> Told:
    roots = (await call.answers({"client_roots": t.ListRootsRequest()}))["client_roots"].roots
    return f"{len(roots)} roots: {', '.join(str(root.uri) for root in roots)}"


_CONFIRM = _form("Please confirm", {"ok": {"type": "boolean"}}, ["ok"])


@_tool("Asks, and wants its state back.")
async def input_required_result_request_state(call: _Call) -> Told:
    await call.answers({"confirm": _CONFIRM}, "waiting for a confirmation")
    return "state-ok" if call.params.request_state else _failure("the state did not come back")


@_tool("Asks, and notices when its state was touched on the way.")
async def input_required_result_tampered_state(call: _Call) -> Told:
    return await input_required_result_request_state(call)


@_tool("Asks three things at once.")
async def input_required_result_multiple_inputs(call: _Call) -> Told:
    greeting = _prompt_model("Generate a greeting", 50)
    questions: dict[str, Question] = {
        "user_name": _NAME, "greeting": greeting, "client_roots": t.ListRootsRequest(),
    }  # fmt: skip
    answers = await call.answers(questions, "waiting for three")
    return f"{_said(answers['greeting'])} {_field(answers['user_name'], 'name')}"


@_tool("Asks twice, one thing after the other.")
async def input_required_result_multi_round(call: _Call) -> Told:
    first = {"step1": _form("Step 1: What is your name?", {"name": _TEXT}, ["name"])}
    second = {"step2": _form("Step 2: What is your favorite color?", {"color": _TEXT}, ["color"])}
    if call.ctx.protocol_version != MODERN:
        name = _field((await call.answers(first))["step1"], "name")
    else:
        known = json.loads(call.params.request_state or "{}")
        if "name" not in known:
            known = {"name": _field((await call.answers(first, "{}"))["step1"], "name")}
            raise _NeedsInput(second, json.dumps(known))
        name = known["name"]
    state = json.dumps({"name": name})
    return f"{name} likes {_field((await call.answers(second, state))['step2'], 'color')}."


@_tool("Asks only for what the client declared that it can answer.")
async def input_required_result_capabilities(call: _Call) -> Told:
    every: dict[str, Question] = {"name": _NAME, "greeting": _prompt_model("Generate a greeting"),
                                  "roots": t.ListRootsRequest()}  # fmt: skip
    can = {key: one for key, one in every.items() if call.declared(CAPABILITY[type(one)])}
    answers = await call.answers(can) if can else {}
    return f"Answered: {', '.join(answers) or 'nothing, since nothing could be asked'}."


# ------------------------------------------------------------- ours, for our own behaviours

_WHOLE = {"type": "integer", "minimum": -1000, "maximum": 1000}
_SUM = _schema(["sum", "says"], sum={"type": "integer"}, says=_TEXT)
_TRACES = _schema(list(_Room().slow), **{word: {"type": "integer"} for word in _Room().slow})


@_tool("Adds two whole numbers.", _schema(["a", "b"], a=_WHOLE, b=_WHOLE, loud={"type": "boolean"}), _SUM)
async def own_sum(call: _Call) -> Told:
    given = call.arguments
    total = given["a"] + given["b"]
    return _structured({"sum": total, "says": f"It is {total}{'!' if given.get('loud') else '.'}"})


@_tool("Breaks in the middle, with a secret in its exception.")
async def own_crash(_: _Call) -> Told:
    raise RuntimeError(f"cannot log in with {SECRET}")


@_tool("Works for a minute.")
async def own_slow(call: _Call) -> Told:
    slow = call.room.slow
    slow["running"] += 1
    try:
        await anyio.sleep(60)
    except anyio.get_cancelled_exc_class():
        slow["cancelled"] += 1
        raise
    finally:
        slow["running"] -= 1
    slow["finished"] += 1
    return "A minute has passed."


@_tool("Says what became of the slow calls.", NOTHING, _TRACES)
async def own_traces(call: _Call) -> Told:
    return _structured(dict(call.room.slow))


@_tool("Deletes something that was invented, if the user agrees.")
async def own_delete(call: _Call) -> Told:
    question = _form("Delete it?", {"sure": {"type": "boolean"}}, ["sure"])
    answer = (await call.answers({"sure": question}))["sure"]
    agreed = answer.action == "accept" and answer.content == {"sure": True}
    return "Deleted." if agreed else _failure("Nothing was deleted: the user did not agree.")


def fixture_subject(target: str | Sequence[str], **more: Any) -> Subject:
    """The fixture server as ``behaviours.examine`` wants to know it."""
    return Subject(
        target,
        tools=tuple(TOOLS),
        call=Call("own_sum", {"a": 2, "b": 3, "loud": True}),
        fail=Call("test_error_handling"),
        crash=Call("own_crash"),
        slow=Call("own_slow"),
        traces=Call("own_traces"),
        progress=Call("test_tool_with_progress"),
        ask=Ask("own_delete", answer={"sure": True}, nonsense={"sure": "perhaps"}),
        secrets=(SECRET,),
        **more,
    )


# --------------------------------------------------------------------- prompts and resources


def _message(content: Content) -> t.PromptMessage:
    return t.PromptMessage(role="user", content=content)


async def _simple(_: _Call) -> list[t.PromptMessage]:
    return [_message(t.TextContent(text="This is a simple prompt for testing."))]


async def _with_arguments(call: _Call) -> list[t.PromptMessage]:
    given = call.arguments
    text = f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'"
    return [_message(t.TextContent(text=text))]


async def _with_resource(call: _Call) -> list[t.PromptMessage]:
    inside = _embedded(call.arguments["resourceUri"], "Embedded resource content for testing.", "text/plain")
    return [_message(inside), _message(t.TextContent(text="Please process the embedded resource above."))]


async def _with_image(_: _Call) -> list[t.PromptMessage]:
    return [_message(_image()), _message(t.TextContent(text="Please analyze the image above."))]


async def _asking(call: _Call) -> list[t.PromptMessage]:
    question = _form("What context should the prompt use?", {"context": _TEXT}, ["context"])
    answer = (await call.answers({"user_context": question}))["user_context"]
    return [_message(t.TextContent(text=f"Use this context: {_field(answer, 'context')}"))]


PROMPTS: Mapping[str, tuple[Sequence[str], Callable[[_Call], Awaitable[list[t.PromptMessage]]]]] = {
    "test_simple_prompt": ((), _simple),
    "test_prompt_with_arguments": (("arg1", "arg2"), _with_arguments),
    "test_prompt_with_embedded_resource": (("resourceUri",), _with_resource),
    "test_prompt_with_image": ((), _with_image),
    "test_input_required_result_prompt": ((), _asking),
}
TEXTS: Mapping[str, str] = {
    "test://static-text": "This is the content of the static text resource.",
    "test://watched-resource": "This resource can be watched.",
}
BINARY = "test://static-binary"
TEMPLATE = "test://template/{id}/data"
COMPLETIONS = ("paris", "park", "party")


def _contents(uri: str) -> t.TextResourceContents | t.BlobResourceContents:
    if uri in TEXTS:
        return t.TextResourceContents(uri=uri, text=TEXTS[uri], mime_type="text/plain")
    if uri == BINARY:
        return t.BlobResourceContents(uri=uri, blob=PNG, mime_type="image/png")
    if found := re.fullmatch(r"test://template/([^/]+)/data", uri):
        data = {"id": found[1], "templateTest": True, "data": f"Data for ID: {found[1]}"}
        return t.TextResourceContents(uri=uri, text=json.dumps(data), mime_type="application/json")
    raise MCPError(INVALID_PARAMS, "Resource not found", {"uri": uri})


# -------------------------------------------------------------------------------- the server


def _failure(text: str) -> t.CallToolResult:
    return t.CallToolResult(content=[t.TextContent(text=text)], is_error=True)


def _structured(value: dict[str, Any]) -> t.CallToolResult:
    return t.CallToolResult(content=[t.TextContent(text=json.dumps(value))], structured_content=value)


def _breach(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> str | None:
    """The first thing that the published schema says against the arguments."""
    found = Draft202012Validator(schema).iter_errors(arguments)
    return min((f"{error.json_path}: {error.message}" for error in found), default=None)


def _one_page(params: Page) -> None:
    if params is not None and params.cursor is not None:
        raise MCPError(INVALID_PARAMS, "there is no such page; everything is on the first", None)


def fixture_server() -> Server[Any]:
    """A new fixture server: ``.run`` serves it over streams, ``.streamable_http_app()`` over HTTP.

    It speaks every revision that the SDK speaks; names, texts and schemas are those of the official
    suite 0.2 (SEP numbers stand in the descriptions). Two servers share nothing.
    """
    room = _Room()

    async def list_tools(_: Context, params: Page) -> t.ListToolsResult:
        _one_page(params)
        return t.ListToolsResult(tools=[tool for tool, _ in TOOLS.values()])

    async def call_tool(
        ctx: Context, params: t.CallToolRequestParams
    ) -> t.CallToolResult | t.InputRequiredResult:
        if params.name not in TOOLS:
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {params.name}", None)
        tool, function = TOOLS[params.name]
        if breach := _breach(tool.input_schema, params.arguments or {}):
            return _failure(f"Invalid arguments: {breach}")
        try:
            told = await function(_Call(room, ctx, params))
        except _NeedsInput as needed:
            return needed.result
        except MCPError:
            raise
        except Exception:
            return _failure(f"{params.name} broke; nothing more can be said")
        if isinstance(told, str):
            return t.CallToolResult(content=[t.TextContent(text=told)])
        return told if isinstance(told, t.CallToolResult) else t.CallToolResult(content=list(told))

    async def list_prompts(_: Context, params: Page) -> t.ListPromptsResult:
        _one_page(params)
        prompts = []
        for name, (needs, _function) in PROMPTS.items():
            wants = [t.PromptArgument(name=one, description="For testing", required=True) for one in needs]
            prompts.append(t.Prompt(name=name, description="A prompt for testing", arguments=wants))
        return t.ListPromptsResult(prompts=prompts)

    async def get_prompt(
        ctx: Context, params: t.GetPromptRequestParams
    ) -> t.GetPromptResult | t.InputRequiredResult:
        if params.name not in PROMPTS:
            raise MCPError(INVALID_PARAMS, f"Unknown prompt: {params.name}", None)
        needs, function = PROMPTS[params.name]
        if missing := [name for name in needs if name not in (params.arguments or {})]:
            raise MCPError(INVALID_PARAMS, f"Missing argument: {missing[0]}", None)
        try:
            return t.GetPromptResult(messages=await function(_Call(room, ctx, params)))
        except _NeedsInput as needed:
            return needed.result

    async def list_resources(_: Context, params: Page) -> t.ListResourcesResult:
        _one_page(params)
        kinds = {**dict.fromkeys(TEXTS, "text/plain"), BINARY: "image/png"}
        resources = [t.Resource(uri=uri, name=uri.split("/")[-1], mime_type=m) for uri, m in kinds.items()]
        return t.ListResourcesResult(resources=resources)

    async def list_templates(_: Context, params: Page) -> t.ListResourceTemplatesResult:
        _one_page(params)
        template = t.ResourceTemplate(uri_template=TEMPLATE, name="template", mime_type="application/json")
        return t.ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(_: Context, params: t.ReadResourceRequestParams) -> t.ReadResourceResult:
        return t.ReadResourceResult(contents=[_contents(params.uri)])

    async def complete(_: Context, params: t.CompleteRequestParams) -> t.CompleteResult:
        fitting = [word for word in COMPLETIONS if word.startswith(params.argument.value)]
        return t.CompleteResult(completion=t.Completion(values=fitting, total=len(fitting), has_more=False))

    async def agreed(_: Context, __: Any) -> t.EmptyResult:
        return t.EmptyResult()

    kept = CacheHint(ttl_ms=60_000, scope="public")
    server: Server[Any] = Server(
        NAME,
        version="1.0.0",
        cache_hints={
            "server/discover": kept, "tools/list": kept, "prompts/list": kept, "resources/list": kept,
            "resources/templates/list": kept, "resources/read": kept,
        },
        get_tool_input_schema=lambda name: TOOLS[name][0].input_schema if name in TOOLS else None,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_subscribe_resource=agreed,
        on_unsubscribe_resource=agreed,
        on_subscriptions_listen=ListenHandler(room.bus),
        on_completion=complete,
    )  # fmt: skip
    # Deprecated since 2026-07-28, and the older revision still asks for it.
    server.add_request_handler("logging/setLevel", t.SetLevelRequestParams, agreed)
    server.middleware.append(RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience=NAME))
    return server
