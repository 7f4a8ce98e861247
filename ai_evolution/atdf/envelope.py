"""What a tool answers: success and error as data, in our dialect and two that others speak.

* ``seed``      ``{status, data, meta.timestamp}``; an error's data: code, text, details, expected, solution
* ``enriched``  the same frame, with message for text, a code in capitals without digits, and expected and
  solution inside details
* ``problems``  ``{errors: [...]}`` after RFC 7807; it has no word for success

An answer is made by ``success`` and ``error``, checked by ``problems_of`` and carried to another dialect by
``translate``, which names every leaf that does not come back. The time is always handed in: nothing here
looks at a clock or makes up an id.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any

from jsonschema import Draft202012Validator

from ai_evolution.atdf.losses import Conversion, Loss, missing
from ai_evolution.atdf.schemas import Problem, problems_in
from ai_evolution.errors import DocumentError, UsageError

DIALECTS = ("seed", "enriched", "problems")
URN = "urn:ai-evolution:atdf:error:"
"""What begins the ``type`` of a problem whose code came from an envelope without one."""
UNSAID = "not said"
"""What stands where a dialect asks for words that the other does not have; always named in ``derived``."""

Envelope = dict[str, Any]


def success(data: Mapping[str, Any], *, at: datetime) -> Envelope:
    """A success of the ``seed`` dialect. Raises ``UsageError`` for data that are no object, a naive time."""
    if not isinstance(data, Mapping):
        raise UsageError(f"data of an envelope is an object, not {type(data).__name__}")
    return {"status": "success", "data": dict(data), "meta": {"timestamp": timestamp(at)}}


def error(
    code: str, text: str, *, details: Mapping[str, Any], expected: str, solution: str, at: datetime
) -> Envelope:
    """An error of the ``seed`` dialect. Raises ``UsageError`` for an empty word or a naive time."""
    words = {"code": code, "text": text, "expected": expected, "solution": solution}
    for name, word in words.items():
        if not isinstance(word, str) or not word:
            raise UsageError(f"{name} of an error is a text with at least one character, not {word!r:.60}")
    if not isinstance(details, Mapping):
        raise UsageError(f"details of an error is an object, not {type(details).__name__}")
    return {
        "status": "error",
        "data": {
            "code": code,
            "text": text,
            "details": dict(details),
            "expected": expected,
            "solution": solution,
        },
        "meta": {"timestamp": timestamp(at)},
    }


def timestamp(at: datetime) -> str:
    """An aware time in RFC 3339, in UTC, with ``Z``. Raises ``UsageError`` for a naive one."""
    if at.utcoffset() is None:
        raise UsageError(f"the time {at.isoformat()} has no offset; accepted: an aware datetime")
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def problems_of(envelope: Any, dialect: str = "seed") -> list[Problem]:
    """What breaks ``envelope`` in that dialect. Raises ``UsageError`` for a dialect that is not known."""
    return problems_in(envelope, f"envelope-{_known(dialect)}")


def detect_dialect(envelope: Any) -> str | None:
    """Which dialect ``envelope`` speaks, told by its keys and not by its validity; None when none does."""
    if not isinstance(envelope, Mapping):
        return None
    if isinstance(envelope.get("errors"), list):
        return "problems"
    data = envelope.get("data")
    if "status" not in envelope or not isinstance(data, Mapping):
        return None
    return "enriched" if "message" in data and "text" not in data else "seed"


def translate(envelope: Any, to: str, *, source: str | None = None, at: datetime | None = None) -> Conversion:
    """``envelope`` in the dialect ``to``.

    ``source`` is its dialect, detected without it. ``at`` is used where the target asks for a time and the
    source has none. The losses are the leaves that do not come back when the result is translated back;
    ``derived`` points at what the target asks for and the source does not say.

    Raises ``DocumentError`` when the envelope breaks its own dialect, ``UsageError`` for an unknown dialect,
    for a success in ``problems``, and for a missing time.
    """
    spoken = _known(source) if source is not None else detect_dialect(envelope)
    _known(to)
    if spoken is None:
        raise DocumentError(
            f"an envelope of {', '.join(DIALECTS)} is expected, with status and data, or errors"
        )
    for problem in problems_of(envelope, spoken):
        raise DocumentError(f"no {spoken} envelope, at {problem.pointer[:200] or '/'}: {problem.message}")
    if spoken == to:
        return Conversion(envelope)
    if to == "problems" and envelope["status"] == "success":
        raise UsageError("a success can't be said in problems; accepted: seed, enriched")
    there, derived = _carried(envelope, spoken, to, at)
    back, _ = _carried(there, to, spoken, at)
    losses = tuple(
        Loss(pointer, value, _reason(pointer, to)) for pointer, value in missing(envelope, back).items()
    )
    return Conversion(there, losses, tuple(dict.fromkeys(derived)))


def _known(dialect: str) -> str:
    if dialect not in DIALECTS:
        raise UsageError(f"dialect {dialect!r} is not known; accepted: {', '.join(DIALECTS)}")
    return dialect


_Step = Callable[[Any, "datetime | None"], tuple[Envelope, list[str]]]


def _carried(envelope: Any, source: str, to: str, at: datetime | None) -> tuple[Envelope, list[str]]:
    """Through the seed dialect, which lies between the two others."""
    derived: list[str] = []
    for step in _ROUTES[source, to]:
        envelope, found = step(envelope, at)
        derived = [_MOVED.get((step, pointer), pointer) for pointer in derived] + found
    return envelope, derived


def _reason(pointer: str, to: str) -> str:
    for start, why in _REASONS.items():
        if pointer.startswith(start):
            return f"{to}: {why}"
    return f"{to}: there is no place for it that comes back as the same"


_REASONS = {
    "/data/code": "a code is capitals and underscores, without digits",
    "/data/details/field": "the field is a text",
    "/data/details/received": "what was received is an object",
    "/status": "the frame says it without this word",
}
_CAPITALS = re.compile("[A-Z_]+")
_CHECKER = Draft202012Validator.FORMAT_CHECKER


def _enriched(envelope: Any, _at: datetime | None) -> tuple[Envelope, list[str]]:
    """Seed to enriched."""
    data, derived = dict(envelope["data"]), list[str]()
    if envelope["status"] == "success":
        text = data.pop("text", None)
        if isinstance(text, str):
            data = _first({"message": text}, data)
        elif not isinstance(data.get("message"), str):
            data["message"] = UNSAID
            derived.append("/data/message")
        return {**envelope, "data": data}, derived
    details = dict(data.pop("details"))
    code, text, expected, solution = (data.pop(key) for key in ("code", "text", "expected", "solution"))
    if not _CAPITALS.fullmatch(code):
        details["code"] = code
        code = _named(code)
        derived.append("/data/code")
    if not isinstance(details.get("field"), str):
        details["field"] = UNSAID
        derived.append("/data/details/field")
    if not isinstance(details.get("received"), dict):
        details["received"] = {}
        derived.append("/data/details/received")
    if not _is_expected(details.get("expected")):
        details["expected"] = {"conditions": [expected]}
    details["solution"] = solution
    words = {"code": code, "message": text, "details": details}
    return {**envelope, "data": _first(words, data)}, derived


def _first(words: dict[str, Any], others: dict[str, Any]) -> dict[str, Any]:
    """Both, the first in front; they also win where a key is in both, and the loss is then found."""
    return {**words, **{key: value for key, value in others.items() if key not in words}}


def _named(code: str) -> str:
    """The name of an HTTP status, where the code is one."""
    try:
        return re.sub("[^A-Z_]", "_", HTTPStatus(int(code)).name)
    except ValueError:
        return "ERROR"


def _is_expected(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("conditions"), list) and bool(value["conditions"])


def _from_enriched(envelope: Any, _at: datetime | None) -> tuple[Envelope, list[str]]:
    """Enriched to seed."""
    data, derived = dict(envelope["data"]), list[str]()
    message = data.pop("message")
    if envelope["status"] == "success":
        return {**envelope, "data": _first({"text": message}, data)}, derived
    details = dict(data.pop("details"))
    code = data.pop("code")
    if isinstance(details.get("code"), str) and details["code"]:
        code = details.pop("code")
    solution, expected = details.pop("solution"), details["expected"]
    conditions = expected["conditions"]
    if len(conditions) == 1 and set(expected) == {"conditions"}:
        del details["expected"]
    words = {"code": code, "text": message, "details": details}
    words.update(expected="; ".join(conditions), solution=solution)
    for key in ("text", "expected", "solution"):
        if not words[key]:
            words[key] = UNSAID
            derived.append(f"/data/{key}")
    return {**envelope, "data": _first(words, data)}, derived


_OF_PROBLEM = ("type", "title", "instance", "tool_name", "suggested_value")


def _problems(envelope: Any, _at: datetime | None) -> tuple[Envelope, list[str]]:
    """Seed to problems."""
    data, derived = envelope["data"], list[str]()
    details = dict(data["details"])
    more = details.get("errors")
    if isinstance(more, list) and not problems_in({"errors": more}, "envelope-problems", limit=1):
        del details["errors"]
    else:
        more = []
    problem: dict[str, Any] = {}
    made_up = {
        "type": URN + re.sub("[^A-Za-z0-9._~-]", "-", data["code"]),
        "title": f"Error {data['code']}",
        "instance": envelope["meta"]["timestamp"],
        "tool_name": UNSAID,
    }
    for key, value in made_up.items():
        said = details.get(key)
        if isinstance(said, str) and said and (key != "type" or _CHECKER.conforms(said, "uri")):
            problem[key] = details.pop(key)
        else:
            problem[key] = value
            derived.append(f"/errors/0/{key}")
    problem["detail"] = data["text"]
    problem["code"] = data["code"]
    if isinstance(details.get("field"), str):
        problem["parameter_name"] = details.pop("field")
    if isinstance(details.get("suggested_value"), str):
        problem["suggested_value"] = details.pop("suggested_value")
    problem["context"] = context = {"expected": data["expected"], "solution": data["solution"]}
    if hidden := {key: details.pop(key) for key in (*context, "details") if key in details}:
        context["details"] = hidden
    context.update(details)
    return {"status": "error", "errors": [problem, *more], "meta": envelope["meta"]}, derived


def _from_problems(envelope: Any, at: datetime | None) -> tuple[Envelope, list[str]]:
    """Problems to seed: the first problem is the error, the others stay in its details."""
    first, *others = envelope["errors"]
    derived: list[str] = []
    context = dict(first.get("context", {}))
    words = {"expected": context.pop("expected", None), "solution": context.pop("solution", None)}
    for key, value in words.items():
        if not isinstance(value, str) or not value:
            words[key] = UNSAID
            derived.append(f"/data/{key}")
    code = first.get("code")
    if not code:
        code = first["type"].rstrip("/").rpartition("/")[2].rpartition(":")[2] or UNSAID
        derived.append("/data/code")
    details = {key: first[key] for key in _OF_PROBLEM if first.get(key) is not None}
    if first.get("parameter_name") is not None:
        details["field"] = first["parameter_name"]
    hidden = context.pop("details", {})
    details.update(context)
    details.update(hidden if isinstance(hidden, dict) else {"details": hidden})
    if others:
        details["errors"] = others
    meta = dict(envelope.get("meta", {}))
    if problems_in({"status": "success", "data": {}, "meta": meta}, "envelope-seed", limit=1):
        if at is None:
            raise UsageError("the envelope has no meta.timestamp; give the time of the answer (at)")
        meta["timestamp"] = timestamp(at)
        derived.append("/meta/timestamp")
    return {
        "status": "error",
        "data": {"code": code, "text": first["detail"], "details": details, **words},
        "meta": meta,
    }, derived


_MOVED: Mapping[tuple[_Step, str], str] = {
    (_enriched, "/data/code"): "/data/details/code",
    (_enriched, "/data/text"): "/data/message",
    (_enriched, "/data/expected"): "/data/details/expected",
    (_enriched, "/data/solution"): "/data/details/solution",
    (_problems, "/data/text"): "/errors/0/detail",
    (_problems, "/data/expected"): "/errors/0/context/expected",
    (_problems, "/data/solution"): "/errors/0/context/solution",
}
"""Where a step of two puts what the step before it made up."""
_ROUTES: Mapping[tuple[str, str], tuple[_Step, ...]] = {
    ("seed", "enriched"): (_enriched,),
    ("enriched", "seed"): (_from_enriched,),
    ("seed", "problems"): (_problems,),
    ("problems", "seed"): (_from_problems,),
    ("enriched", "problems"): (_from_enriched, _problems),
    ("problems", "enriched"): (_from_problems, _enriched),
}
