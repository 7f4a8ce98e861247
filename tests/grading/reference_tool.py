"""A solution of the exercise of class 131; the mutants in ``tool_mutants.py`` break it, one place each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from ai_evolution.atdf.contract import Condition, Contract, ToolFailure
from ai_evolution.atdf.documents import load
from ai_evolution.atdf.envelope import timestamp
from ai_evolution.atdf.losses import missing

LONGEST = timedelta(days=28)

DOCUMENT = """\
tool:
  name: renew_loan
  description: Renews the loan of a book until a later moment, at most 28 days from now.
  when_to_use: When a reader has the book at home, the loan is not overdue, and more time is wanted.
  when_not_to_use: For a book that is overdue or that somebody else has reserved; it has to come back.
  input:
    type: object
    properties:
      isbn:
        type: string
        pattern: "^97[89][0-9]{10}$"
        description: The ISBN-13 of the book, thirteen digits without hyphens; its check digit must fit.
      due:
        type: string
        format: date-time
        description: When the loan ends as things stand, with its offset; not in the past.
      until:
        type: string
        format: date-time
        description: When the loan shall end instead, with its offset; later than due.
    required: [isbn, due, until]
    additionalProperties: false
  output:
    success:
      type: object
      properties:
        status: { const: success }
        data:
          type: object
          properties:
            isbn: { type: string, description: The book. }
            until: { type: string, format: date-time, description: When the loan ends now. }
            days: { type: integer, minimum: 0, description: Whole days won. }
            left: { type: integer, minimum: 0, description: How many renewals are left. }
          required: [isbn, until, days, left]
          additionalProperties: false
        meta: &meta
          type: object
          properties:
            timestamp: { type: string, format: date-time }
          required: [timestamp]
      required: [status, data, meta]
    error:
      type: object
      properties:
        status: { const: error }
        data:
          type: object
          properties:
            code:
              enum: [INVALID_ARGUMENTS, CHECK_DIGIT, OVERDUE, NOT_LATER, TOO_LONG, RESERVED, TOOL_FAILED]
            text: { type: string, minLength: 1 }
            details:
              type: object
              properties:
                field: { type: string }
              required: [field]
            expected: { type: string, minLength: 1 }
            solution: { type: string, minLength: 1 }
          required: [code, text, details, expected, solution]
        meta: *meta
      required: [status, data, meta]
  examples:
    - input: { isbn: "9780262510875", due: "2026-03-02T12:00:00Z", until: "2026-03-20T12:00:00Z" }
      output:
        status: success
        data: { isbn: "9780262510875", until: "2026-03-20T12:00:00Z", days: 18, left: 1 }
        meta: { timestamp: "2026-03-01T09:00:00Z" }
    - input: { isbn: "9780262510875", due: "2026-03-02T12:00:00", until: "2026-03-20T12:00:00Z" }
      output:
        status: error
        data:
          code: INVALID_ARGUMENTS
          text: "the arguments of renew_loan are not what it accepts..."
          details: { field: /due }
          expected: "/due: a string, format date-time..."
          solution: "Change /due into a string..."
        meta: { timestamp: "2026-03-01T09:00:00Z" }
    - input: { isbn: "9780262510874", due: "2026-03-02T12:00:00Z", until: "2026-03-20T12:00:00Z" }
      output:
        status: error
        data:
          code: CHECK_DIGIT
          text: "The check digit of the ISBN does not fit its other digits"
          details: { field: /isbn }
          expected: "isbn: thirteen digits..."
          solution: "Compare isbn with the book, digit by digit"
        meta: { timestamp: "2026-03-01T09:00:00Z" }
    - input: { isbn: "9780262510875", due: "2026-03-01T08:59:59Z", until: "2026-03-20T12:00:00Z" }
      output:
        status: error
        data:
          code: OVERDUE
          text: "The loan is overdue"
          details: { field: /due }
          expected: "due: 2026-03-01T09:00:00Z or later"
          solution: "Bring the book back; if due is wrong, correct it"
        meta: { timestamp: "2026-03-01T09:00:00Z" }
    - input: { isbn: "9780262510875", due: "2026-03-02T12:00:00Z", until: "2026-03-02T12:00:00Z" }
      output:
        status: error
        data:
          code: NOT_LATER
          text: "The new end is not later than the old one"
          details: { field: /until }
          expected: "until: later than 2026-03-02T12:00:00Z, at most 2026-03-29T09:00:00Z"
          solution: "Choose a moment between these two for until"
        meta: { timestamp: "2026-03-01T09:00:00Z" }
    - input: { isbn: "9780262510875", due: "2026-03-02T12:00:00Z", until: "2026-03-29T09:00:01Z" }
      output:
        status: error
        data:
          code: TOO_LONG
          text: "The new end is more than 28 days from now"
          details: { field: /until }
          expected: "until: at most 2026-03-29T09:00:00Z"
          solution: "Choose that moment for until, or an earlier one"
        meta: { timestamp: "2026-03-01T09:00:00Z" }
    - input: { isbn: "9780306406157", due: "2026-03-02T12:00:00Z", until: "2026-03-20T12:00:00Z" }
      output:
        status: error
        data:
          code: RESERVED
          text: "Another reader waits for this book"
          details: { field: /isbn }
          expected: "a book that nobody else waits for"
          solution: "Bring the book back in time"
        meta: { timestamp: "2026-03-01T09:00:00Z" }
    - input: { isbn: "9788437604947", due: "2026-03-02T12:00:00Z", until: "2026-03-20T12:00:00Z" }
      output:
        status: error
        data:
          code: TOOL_FAILED
          text: "renew_loan failed for a reason of its own"
          details: { field: "" }
          expected: "an answer as described"
          solution: "The arguments were fine..."
        meta: { timestamp: "2026-03-01T09:00:00Z" }
"""


# --- what JSON Schema can't say --------------------------------------------------------------------


def fits(isbn: str) -> bool:
    """Whether the check digit of an ISBN-13 is right."""
    return sum(int(digit) * (3 if place % 2 else 1) for place, digit in enumerate(isbn)) % 10 == 0


def read(text: str) -> datetime:
    return datetime.fromisoformat(text)


def last(now: datetime) -> str:
    return timestamp(now + LONGEST)


def words(text: str) -> dict[str, str]:
    return {"en": text, "es": text}


PRE = [
    Condition(
        id="check-digit",
        says=words("The check digit of the ISBN does not fit its other digits"),
        holds=lambda given, _: fits(given["isbn"]),
        expected=words("isbn: thirteen digits, the last of which follows from the others"),
        solution=words("Compare isbn with the book, digit by digit"),
        code="CHECK_DIGIT",
        field="/isbn",
    ),
    Condition(
        id="overdue",
        says=words("The loan is overdue"),
        holds=lambda given, now: now <= read(given["due"]),
        expected=lambda _, now: f"due: {timestamp(now)} or later",
        solution=words("Bring the book back; if due is wrong, correct it"),
        code="OVERDUE",
        field="/due",
    ),
    Condition(
        id="later",
        says=words("The new end is not later than the old one"),
        holds=lambda given, _: read(given["due"]) < read(given["until"]),
        expected=lambda given, now: f"until: later than {given['due']}, at most {last(now)}",
        solution=words("Choose a moment between these two for until"),
        code="NOT_LATER",
        field="/until",
    ),
    Condition(
        id="long",
        says=words("The new end is more than 28 days from now"),
        holds=lambda given, now: read(given["until"]) <= now + LONGEST,
        expected=lambda _, now: f"until: at most {last(now)}",
        solution=words("Choose that moment for until, or an earlier one"),
        code="TOO_LONG",
        field="/until",
    ),
]
POST = [
    Condition(
        id="as-asked",
        says=words("The books say what was asked"),
        holds=lambda both, _: read(both["result"]["until"]) == read(both["arguments"]["until"]),
    ),
]


# --- the tool --------------------------------------------------------------------------------------


def build(library: Any, clock: Callable[[], datetime]) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    def renew_loan(isbn: str, due: str, until: str) -> Any:
        if library.reserved(isbn):
            return ToolFailure(
                "RESERVED",
                "Another reader waits for this book",
                expected="a book that nobody else waits for",
                solution="Bring the book back in time",
                details={"field": "/isbn"},
            )
        books = library.renew(isbn, until)
        days = (read(until) - read(due)).days
        return {"isbn": isbn, "until": books["until"], "days": days, "left": books["left"]}

    return Contract(
        load(DOCUMENT.encode("utf-8"), "renew_loan.yaml"),
        renew_loan,
        pre=PRE,
        post=POST,
        clock=clock,
        codes={"result": "TOOL_FAILED", "postcondition": "TOOL_FAILED"},
    ).call


# --- the converter ---------------------------------------------------------------------------------

KEPT = ("type", "description", "enum")


def shorten(schema: Any) -> tuple[Any, list[str]]:
    """The short form of a schema, and pointers to what has no place in it."""
    row = row_of(schema)
    return row, list(missing(schema, restore(row)))


def row_of(schema: Any) -> dict[str, Any]:
    if isinstance(schema, bool):
        return {"accepts": schema}
    row = {word: schema[word] for word in KEPT if word in schema}
    if "properties" in schema:
        required = schema.get("required", [])
        row["inputs"] = [
            {"name": name, "required": name in required, **row_of(each)}
            for name, each in schema["properties"].items()
        ]
    if "items" in schema:
        row["items"] = row_of(schema["items"])
    if "additionalProperties" in schema:
        row["others"] = row_of(schema["additionalProperties"])
    return row


def restore(row: Mapping[str, Any]) -> Any:
    """The schema that a short form stands for."""
    if "accepts" in row:
        return row["accepts"]
    schema = {word: row[word] for word in KEPT if word in row}
    if "inputs" in row:
        schema["properties"] = {each["name"]: restore(each) for each in row["inputs"]}
        if required := [each["name"] for each in row["inputs"] if each["required"]]:
            schema["required"] = required
    if "items" in row:
        schema["items"] = restore(row["items"])
    if "others" in row:
        schema["additionalProperties"] = restore(row["others"])
    return schema
