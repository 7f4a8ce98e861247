"""What an Agent Card promises, and whether that is what a caller needs.

An Agent Card (A2A 1.0, section 4.4) is read here as the JSON that came over the wire. `misfits`
says in stable words why an agent does not suit a job, before the first message is sent;
`declare_output_schema` and `output_schema` fill a gap of the protocol (A2A issues 1776 and 2180:
nothing says what a data part will look like) with an extension of our own; `lint_card` says what
a stranger would stumble over. Signing and verifying live in `ai_evolution.a2a.signatures` and
are offered here too.

What it refuses to do: fetch anything, trust anything (verify first), or fail on a hostile card:
a member of the wrong type counts as absent.
"""

from __future__ import annotations

import copy
import ipaddress
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from ai_evolution.a2a.schema import schema_fault
from ai_evolution.a2a.signatures import (
    Card,
    Key,
    claims_everything,
    explicit,
    generate_key,
    parse_card,
    public_key,
    sign_card,
    uncovered,
    verify_card,
    verify_card_bytes,
)
from ai_evolution.errors import CardRefused, UsageError

__all__ = [
    "OUTPUT_SCHEMA",
    "Card",
    "Key",
    "Needs",
    "declare_output_schema",
    "explicit",
    "generate_key",
    "lint_card",
    "misfits",
    "origin",
    "output_schema",
    "parse_card",
    "public_key",
    "sign_card",
    "uncovered",
    "usable_interfaces",
    "verify_card",
    "verify_card_bytes",
]

OUTPUT_SCHEMA = "urn:ai-evolution:a2a:output-schema:1"
"""URI of our AgentExtension; its ``params`` map a skill's id to the JSON Schema of its data part."""

BINDINGS = ("JSONRPC", "HTTP+JSON", "GRPC")

_SCHEME_KINDS = {
    "apiKeySecurityScheme": "apikey",
    "httpAuthSecurityScheme": "http",
    "oauth2SecurityScheme": "oauth2",
    "openIdConnectSecurityScheme": "openidconnect",
    "mtlsSecurityScheme": "mtls",
}


@dataclass(frozen=True)
class Needs:
    """What a caller needs from an agent, and what it brings along itself.

    ``schemes`` are the kinds of credentials the caller can present (``bearer``, ``basic``,
    ``apikey``, ``oauth2``, ``openidconnect``, ``mtls``); ``origins`` are origins where an interface
    may live besides the one that served the card; ``extensions`` are those the caller understands.
    """

    skill: str | None = None
    input_modes: tuple[str, ...] = ()
    output_modes: tuple[str, ...] = ()
    bindings: tuple[str, ...] = ("JSONRPC", "HTTP+JSON")
    protocol: str = "1.0"
    schemes: tuple[str, ...] = ("bearer",)
    streaming: bool = False
    push: bool = False
    origins: tuple[str, ...] = ()
    extensions: tuple[str, ...] = (OUTPUT_SCHEMA,)


# --- reading without stumbling ----------------------------------------------------------------


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _objects(value: Any) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, (list, tuple)) else []


def _strings(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, (list, tuple)) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _skill(card: Mapping[str, Any], skill_id: str) -> Mapping[str, Any] | None:
    return next((s for s in _objects(card.get("skills")) if s.get("id") == skill_id), None)


def origin(url: str) -> str | None:
    """``scheme://host:port`` of an http or https URL, the port always written.

    None for anything else, and for a URL that carries a user name: such a one shares its origin
    with nobody.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except (ValueError, TypeError, AttributeError):
        return None
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        return None
    host = parts.hostname.rstrip(".")
    if not host:
        return None
    host = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{host}:{port or (443 if parts.scheme == 'https' else 80)}"


# --- fitness ----------------------------------------------------------------------------------


def misfits(card: Mapping[str, Any], needs: Needs, url: str | None = None) -> list[str]:
    """Why this agent does not suit: empty when it does.

    Stable words, each at most once and in this order: ``skill`` (no such skill), ``input-mode``,
    ``output-mode`` (a mode that is needed is not offered), ``binding``, ``protocol`` (no interface
    speaks one of ours), ``origin`` (an interface we would use lives elsewhere than the card at
    `url`; not checked without one), ``auth`` (no requirement that we can meet), ``streaming``,
    ``push`` (capability absent), ``extension`` (one is required that we do not understand).
    """
    skill = _skill(card, needs.skill) if needs.skill is not None else None
    interfaces = _objects(card.get("supportedInterfaces"))
    bound = [i for i in interfaces if i.get("protocolBinding") in needs.bindings]
    usable = usable_interfaces(card, needs)
    capabilities = _object(card.get("capabilities"))
    allowed = {origin(place) for place in (url or "", *needs.origins)} - {None}
    checks = {
        "skill": needs.skill is not None and skill is None,
        "input-mode": not _offers(card, skill, "inputModes", "defaultInputModes", needs.input_modes),
        "output-mode": not _offers(card, skill, "outputModes", "defaultOutputModes", needs.output_modes),
        "binding": not bound,
        "protocol": bool(bound) and not usable,
        "origin": url is not None and any(origin(_text(i.get("url"))) not in allowed for i in usable),
        "auth": not _can_authenticate(card, skill, needs),
        "streaming": needs.streaming and capabilities.get("streaming") is not True,
        "push": needs.push and capabilities.get("pushNotifications") is not True,
        "extension": any(
            e.get("required") is True and e.get("uri") not in needs.extensions
            for e in _objects(capabilities.get("extensions"))
        ),
    }
    return [word for word, wrong in checks.items() if wrong]


def usable_interfaces(card: Mapping[str, Any], needs: Needs) -> list[Mapping[str, Any]]:
    """The interfaces whose binding and protocol version the caller speaks, the agent's favourite first.

    Versions of one major number understand each other (A2A 1.0, section 3.6).
    """
    return [
        interface
        for interface in _objects(card.get("supportedInterfaces"))
        if interface.get("protocolBinding") in needs.bindings
        and _major(interface.get("protocolVersion")) == _major(needs.protocol)
    ]


def _major(version: Any) -> str:
    return _text(version).split(".")[0]


def _offers(
    card: Mapping[str, Any], skill: Mapping[str, Any] | None, own: str, default: str, wanted: tuple[str, ...]
) -> bool:
    offered = _strings(_object(skill).get(own)) or _strings(card.get(default))
    return all(any(_covers(offer, mode) for offer in offered) for mode in wanted)


def _covers(offer: str, mode: str) -> bool:
    offer, mode = _media_type(offer), _media_type(mode)
    return offer in (mode, "*/*") or (offer.endswith("/*") and mode.startswith(offer[:-1]))


def _media_type(mode: str) -> str:
    return mode.split(";")[0].strip().lower()


def _can_authenticate(card: Mapping[str, Any], skill: Mapping[str, Any] | None, needs: Needs) -> bool:
    # requirements are alternatives; the schemes inside one are needed together
    schemes = _object(card.get("securitySchemes"))
    ours = {kind.lower() for kind in needs.schemes}
    for place in (card, _object(skill)):
        requirements = place.get("securityRequirements")
        if not requirements:
            continue
        named = [list(_object(r.get("schemes"))) for r in _objects(requirements)]
        if not any(all(_scheme_kind(schemes.get(name)) in ours for name in names) for names in named):
            return False
    return True


def _scheme_kind(scheme: Any) -> str:
    for member, kind in _SCHEME_KINDS.items():
        if member in _object(scheme):
            return _text(_object(scheme[member]).get("scheme")).lower() if kind == "http" else kind
    return ""


# --- output schema ----------------------------------------------------------------------------


def declare_output_schema(card: Mapping[str, Any], skill_id: str, schema: Mapping[str, Any]) -> Card:
    """A copy of `card` that says what the data part of a skill's artifact will look like.

    Sign afterwards. Raises UsageError when there is no such skill, or when `schema` is no JSON
    Schema (2020-12) or refers outside itself.
    """
    if _skill(card, skill_id) is None:
        known = ", ".join(_text(s.get("id")) for s in _objects(card.get("skills"))) or "none"
        raise UsageError(f"skill {skill_id!r} given, the card has: {known}")
    if problem := _schema_problem(schema):
        raise UsageError(f"the output schema of {skill_id!r} {problem}")
    declared = copy.deepcopy(dict(card))
    extensions = declared.setdefault("capabilities", {}).setdefault("extensions", [])
    entry = next((e for e in extensions if e.get("uri") == OUTPUT_SCHEMA), None)
    if entry is None:
        entry = {"uri": OUTPUT_SCHEMA, "description": "JSON Schema of the data part of each skill's artifact"}
        extensions.append(entry)
    entry.setdefault("params", {})[skill_id] = copy.deepcopy(dict(schema))
    return declared


def output_schema(card: Mapping[str, Any], skill_id: str) -> dict[str, Any] | None:
    """The JSON Schema that a skill declares for its data part, None when it declares none.

    Whole numbers come back as integers, though protobuf carries them as floats. Raises CardRefused
    (``malformed``) for something that is no JSON Schema, or that refers outside itself: a validator
    might fetch what a stranger named.
    """
    for extension in _objects(_object(card.get("capabilities")).get("extensions")):
        if extension.get("uri") != OUTPUT_SCHEMA:
            continue
        params = _object(extension.get("params"))
        if skill_id in params:
            if problem := _schema_problem(params[skill_id]):
                raise CardRefused(f"the output schema of {skill_id!r:.60} {problem}", "malformed")
            return dict(_whole(params[skill_id]))
    return None


def _whole(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _whole(child) for name, child in value.items()}
    if isinstance(value, (list, tuple)):
        return [_whole(child) for child in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _schema_problem(schema: Any) -> str | None:
    if not isinstance(schema, Mapping):
        return "is no JSON object"
    if why := schema_fault(schema):
        return "is nested too deeply" if why == "nested too deeply" else f"is no JSON Schema 2020-12: {why}"
    try:
        outside = next((ref for ref in _references(schema) if not ref.startswith("#")), None)
    except RecursionError:
        return "is nested too deeply"
    return f"refers outside itself ({outside[:80]!r})" if outside is not None else None


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, child in value.items():
            if name in ("$ref", "$dynamicRef") and isinstance(child, str):
                yield child
            else:
                yield from _references(child)
    elif isinstance(value, (list, tuple)):
        for child in value:
            yield from _references(child)


# --- lint -------------------------------------------------------------------------------------

_REQUIRED = (
    "name",
    "description",
    "version",
    "supportedInterfaces",
    "capabilities",
    "skills",
    "defaultInputModes",
    "defaultOutputModes",
)


def lint_card(card: Mapping[str, Any]) -> list[str]:
    """What a stranger would stumble over, one ``pointer: problem`` each; empty for a clean card.

    Covers the REQUIRED fields of A2A 1.0 section 4.4 (an empty list counts as missing: section
    5.7), interfaces that cannot be used or would carry credentials in the clear, security
    requirements that name an undeclared scheme, skills that cannot be told apart, output schemas
    that do not work, and what a2a-sdk would leave unsigned, members it does not know among it
    (unless a signature says that it covers those too, as ours do).
    """
    try:
        unsigned_by_sdk = [] if claims_everything(card) else uncovered(card)
    except CardRefused as refusal:
        return [f": {refusal}"]
    return [
        *_lint_required(card, "", _REQUIRED),
        *_lint_interfaces(card),
        *_lint_skills(card),
        *_lint_security(card),
        *_lint_schemas(card),
        *(f"{at}: empty or unknown, a signature by a2a-sdk does not cover it" for at in unsigned_by_sdk),
    ]


def _lint_required(part: Mapping[str, Any], at: str, names: tuple[str, ...]) -> Iterator[str]:
    for name in names:
        if not part.get(name) and not (name == "capabilities" and part.get(name) == {}):
            yield f"{at}/{name}: missing or empty, the specification requires it"


def _lint_interfaces(card: Mapping[str, Any]) -> Iterator[str]:
    for index, interface in enumerate(_objects(card.get("supportedInterfaces"))):
        at = f"/supportedInterfaces/{index}"
        yield from _lint_required(interface, at, ("url", "protocolBinding", "protocolVersion"))
        binding, url = interface.get("protocolBinding"), _text(interface.get("url"))
        if binding and binding not in BINDINGS:
            yield f"{at}/protocolBinding: {binding!r:.40} given, {', '.join(BINDINGS)} are known"
        if not url or binding == "GRPC":
            continue
        if origin(url) is None:
            yield f"{at}/url: an absolute http or https URL without a user name is needed"
        elif url.startswith("http:") and not _is_local(url):
            yield f"{at}/url: http given, credentials would travel in the clear; https is needed"


def _is_local(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _lint_skills(card: Mapping[str, Any]) -> Iterator[str]:
    seen: set[str] = set()
    for index, skill in enumerate(_objects(card.get("skills"))):
        at = f"/skills/{index}"
        yield from _lint_required(skill, at, ("id", "name", "description", "tags"))
        if (skill_id := _text(skill.get("id"))) in seen:
            yield f"{at}/id: {skill_id!r:.60} occurs twice, a caller cannot tell the skills apart"
        seen.add(skill_id)
        for name in ("inputModes", "outputModes"):
            yield from _lint_modes(skill, name, at)
    for name in ("defaultInputModes", "defaultOutputModes"):
        yield from _lint_modes(card, name, "")


def _lint_modes(part: Mapping[str, Any], name: str, at: str) -> Iterator[str]:
    for index, mode in enumerate(_strings(part.get(name))):
        left, slash, right = _media_type(mode).partition("/")
        if not (left and slash and right):
            yield f"{at}/{name}/{index}: {mode!r:.40} given, a media type such as text/plain is needed"


def _lint_security(card: Mapping[str, Any]) -> Iterator[str]:
    schemes = _object(card.get("securitySchemes"))
    for name, scheme in schemes.items():
        if not _scheme_kind(scheme):
            yield f"/securitySchemes/{name}: none of {', '.join(_SCHEME_KINDS)}"
    skills = _objects(card.get("skills"))
    places = [("", card), *((f"/skills/{index}", skill) for index, skill in enumerate(skills))]
    for at, place in places:
        for index, requirement in enumerate(_objects(place.get("securityRequirements"))):
            for name in _object(requirement.get("schemes")):
                if name not in schemes:
                    yield f"{at}/securityRequirements/{index}: scheme {name!r:.60} is not declared"


def _lint_schemas(card: Mapping[str, Any]) -> Iterator[str]:
    for extension in _objects(_object(card.get("capabilities")).get("extensions")):
        if extension.get("uri") != OUTPUT_SCHEMA:
            continue
        for skill_id, schema in _object(extension.get("params")).items():
            if _skill(card, skill_id) is None:
                yield f"/capabilities/extensions: an output schema for {skill_id!r:.60}, which is no skill"
            if problem := _schema_problem(schema):
                yield f"/capabilities/extensions: the output schema of {skill_id!r:.60} {problem}"
