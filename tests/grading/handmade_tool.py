"""Another solution for class 131: no ``Contract``, other words, JSON, other ways to say the same."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

from jsonschema import Draft202012Validator, FormatChecker

CODES = ["INVALID_ARGUMENTS", "CHECK_DIGIT", "OVERDUE", "NOT_LATER", "TOO_LONG", "RESERVED", "TOOL_FAILED"]
MOMENT = {"type": "string", "format": "date-time"}
META = {"type": "object", "properties": {"timestamp": MOMENT}, "required": ["timestamp"]}
INPUT = {
    "type": "object",
    "properties": {
        "isbn": {"type": "string", "pattern": "^97[89]", "minLength": 13, "maxLength": 13, "description": "x",
                 "allOf": [{"pattern": "^[0-9]+$"}]},
        "due": {**MOMENT, "description": "The end of the loan so far."},
        "until": {**MOMENT, "description": "The end that is wanted."},
    },
    "required": ["until", "due", "isbn"],
    "additionalProperties": False,
}  # fmt: skip


def _schema(status, names, properties):
    data = {"type": "object", "properties": properties, "required": names}
    return {
        "type": "object",
        "properties": {"status": {"const": status}, "data": data, "meta": META},
        "required": ["status", "data", "meta"],
    }


COUNT = {"type": "integer", "minimum": 0}
TEXT = {"type": "string"}
SUCCESS = _schema("success", ["isbn", "until", "days", "left"],
                  {"isbn": TEXT, "until": MOMENT, "days": COUNT, "left": COUNT})  # fmt: skip
ERROR = _schema("error", ["code", "text", "details", "expected", "solution"],
                {"code": {"type": "string", "enum": CODES}, "text": TEXT, "expected": TEXT, "solution": TEXT,
                 "details": {"type": "object", "properties": {"field": TEXT}, "required": ["field"]}},
                )  # fmt: skip


def _example(
    code, field, isbn="9780262510875", due="2026-03-02T13:00:00+01:00", until="2026-03-20T12:00:00Z"
):
    data = {"code": code, "text": "...", "details": {"field": field}, "expected": "…", "solution": "..."}
    output = {"status": "error", "data": data, "meta": {"timestamp": "2026-03-01T09:00:00Z"}}
    return {"input": {"isbn": isbn, "due": due, "until": until}, "output": output}


EXAMPLES = [
    _example("INVALID_ARGUMENTS", "/isbn", isbn="0262510875"),
    _example("CHECK_DIGIT", "/isbn", isbn="9780262510876"),
    _example("OVERDUE", "/due", due="2026-02-28T12:00:00Z"),
    _example("NOT_LATER", "/until", until="2026-03-02T12:00:00Z"),
    _example("TOO_LONG", "/until", until="2026-04-20T12:00:00Z"),
    _example("RESERVED", "/isbn", isbn="9780306406157"),
    _example("TOOL_FAILED", "", isbn="9788437604947"),
]
GOOD = {"isbn": "9780262510875", "due": "2026-03-02T12:00:00Z", "until": "2026-03-20T12:00:00Z"}
EXAMPLES.append(
    {
        "input": GOOD,
        "output": {
            "status": "success",
            "data": {"isbn": GOOD["isbn"], "until": "2026-03-20T13:00:00+01:00", "days": 18, "left": 4},
            "meta": {"timestamp": "2026-03-01T09:00:00Z"},
        },
    }
)
DOCUMENT = json.dumps(
    {
        "tool": {
            "name": "renovar",
            "description": "Alarga el préstamo de un libro hasta otro momento.",
            "when_to_use": "Cuando el lector quiere quedarse más tiempo con el libro.",
            "when_not_to_use": "Si el libro ya debería haber vuelto.",
            "input": INPUT,
            "output": {"success": SUCCESS, "error": ERROR},
            "examples": EXAMPLES,
        }
    }
)


class Refused(Exception):
    pass


def build(library, clock):
    validator = Draft202012Validator(INPUT, format_checker=FormatChecker())

    def decide(given, now):
        for problem in validator.iter_errors(given):
            field = "".join(f"/{step}" for step in problem.path)
            if problem.validator == "required":
                field = "/" + next(name for name in INPUT["required"] if name not in given)
            elif problem.validator == "additionalProperties":
                field = "/" + next(name for name in given if name not in INPUT["properties"])
            raise Refused("INVALID_ARGUMENTS", field, "as described", f"look at {field[1:]}")
        due, until = datetime.fromisoformat(given["due"]), datetime.fromisoformat(given["until"])
        digits = [int(digit) for digit in given["isbn"]]
        if (sum(digits[::2]) + 3 * sum(digits[1::2])) % 10:
            raise Refused("CHECK_DIGIT", "/isbn", "another number", "isbn: read it again")
        if due < now:
            raise Refused("OVERDUE", "/due", "a due date ahead", "due is over")
        if until <= due:
            raise Refused("NOT_LATER", "/until", (due + timedelta(seconds=1)).isoformat(), "put until off")
        if until - now > timedelta(days=28):
            last = (now + timedelta(days=28)).isoformat()
            raise Refused("TOO_LONG", "/until", f"{due.isoformat()} < until <= {last}", "bring until nearer")
        if library.reserved(given["isbn"]):
            raise Refused("RESERVED", "/isbn", "patience", "bring it back")
        books = library.renew(given["isbn"], given["until"])
        left = books["left"]
        if datetime.fromisoformat(books["until"]) != until or type(left) is not int or left < 0:
            raise ValueError(books)
        return {"isbn": given["isbn"], "until": given["until"], "days": (until - due) // timedelta(days=1),
                "left": left}  # fmt: skip

    def tool(given):
        now = clock()
        meta = {"timestamp": now.astimezone(UTC).isoformat()}
        try:
            return {"status": "success", "data": decide(given, now), "meta": meta}
        except Refused as refused:
            code, field, expected, solution = refused.args
        except Exception:
            code, field, expected, solution = "TOOL_FAILED", "", "an answer", "ask the library"
        data = {
            "code": code,
            "text": "no",
            "details": {"field": field},
            "expected": expected,
            "solution": solution,
        }
        return {"status": "error", "data": data, "meta": meta}

    return tool


def shorten(schema):
    lost = []

    def row(schema, at):
        if schema is True or schema is False:
            return {"accepts": schema}
        found = {}
        for word, value in schema.items():
            here = f"{at}/{word.replace('~', '~0').replace('/', '~1')}"
            if word in ("type", "description", "enum"):
                found[word] = value
            elif word == "properties":
                found["inputs"] = []
                for name, each in value.items():
                    below = row(each, f"{here}/{name.replace('~', '~0').replace('/', '~1')}")
                    found["inputs"].append(
                        {**below, "name": name, "required": name in schema.get("required", [])}
                    )
            elif word in ("items", "additionalProperties"):
                found["items" if word == "items" else "others"] = row(value, here)
            elif word == "required":
                kept = [name for name in schema.get("properties", {}) if name in value]
                lost.extend(f"{here}/{n}" for n, name in enumerate(value) if kept[n : n + 1] != [name])
            else:
                lost.append(here)
        return found

    return row(schema, ""), lost


def restore(row):
    if "accepts" in row:
        return row["accepts"]
    schema = {word: row[word] for word in ("type", "description", "enum") if word in row}
    for word, named in (("items", "items"), ("others", "additionalProperties")):
        if word in row:
            schema[named] = restore(row[word])
    if "inputs" in row:
        schema["properties"] = {each["name"]: restore(each) for each in row["inputs"]}
        schema["required"] = [each["name"] for each in row["inputs"] if each["required"]]
        if not schema["required"]:
            del schema["required"]
    return schema
