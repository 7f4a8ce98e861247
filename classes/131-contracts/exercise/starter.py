"""Exercise of class 131: a tool that renews loans of books, held to its contract, and a converter.

It runs as it is: it renews whatever it is asked to, and its description says next to nothing. The eight TODOs
below, done in order, make it a tool that its callers can rely on. What it must do is in README.md; check it
with

    ai-evolution check 131 my_tool.py

Four names are looked at from outside: ``DOCUMENT``, ``build``, ``shorten`` and ``restore``. Everything else
is yours. ``Contract`` does much of the work, and you need not use it: what counts is how the calls end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from ai_evolution.atdf.contract import Contract
from ai_evolution.atdf.documents import load

LONGEST = timedelta(days=28)

# --- the description -----------------------------------------------------------------------------

# TODO 1: say when to use the tool and when not to, describe each argument, and make the three schemas
#         refuse what has a wrong shape: a date-time without an offset, a hyphen in an ISBN, an argument that
#         nobody declared, an error that says nothing. The error schema lists the seven codes in an enum.
# TODO 6: for each code, an example that reaches it, at the clock of its own meta.timestamp. A text that ends
#         in an ellipsis stands for any text that begins so.
DOCUMENT = """\
tool:
  name: renew_loan
  description: Renews the loan of a book until a later moment, at most 28 days from now.
  input:
    type: object
    properties:
      isbn: { type: string }
      due: { type: string }
      until: { type: string }
    required: [isbn, due, until]
  output:
    success:
      type: object
      properties:
        status: { const: success }
        data: { type: object }
        meta: { type: object }
      required: [status, data, meta]
    error:
      type: object
      properties:
        status: { const: error }
        data: { type: object }
        meta: { type: object }
      required: [status, data, meta]
  examples:
    - input: { isbn: "9780262510875", due: "2026-03-02T12:00:00Z", until: "2026-03-20T12:00:00Z" }
      output:
        status: success
        data: { isbn: "9780262510875", until: "2026-03-20T12:00:00Z", days: 18, left: 1 }
        meta: { timestamp: "2026-03-01T09:00:00Z" }
"""

# --- the tool ------------------------------------------------------------------------------------


def read(text: str) -> datetime:
    return datetime.fromisoformat(text)


# TODO 2: what JSON Schema can't say, as preconditions, in the order of the table in README.md: the check
#         digit, overdue, not later, too long. A Condition has id, says, holds(arguments, now), code, field.
# TODO 4: what a caller needs to help itself: `expected` in figures, `solution` with the argument's name. Both
#         may be functions of (arguments, now); timestamp() of ai_evolution.atdf.envelope writes a moment.
PRE: list[Any] = []

# TODO 5: a postcondition: what the library has put down is what was asked. It gets
#         {"arguments": ..., "result": ...}. And map what is not the caller's fault to TOOL_FAILED (`codes=`).
POST: list[Any] = []


def build(library: Any, clock: Callable[[], datetime]) -> Callable[[Mapping[str, Any]], Any]:
    """The tool: a function from the arguments to an envelope."""

    def renew_loan(isbn: str, due: str, until: str) -> Any:
        # TODO 3: a book that library.reserved(isbn) is not renewed: give back a ToolFailure("RESERVED", ...).
        books = library.renew(isbn, until)
        days = (read(until) - read(due)).days
        return {"isbn": isbn, "until": books["until"], "days": days, "left": books["left"]}

    description = load(DOCUMENT.encode("utf-8"), "renew_loan.yaml")
    return Contract(description, renew_loan, pre=PRE, post=POST, clock=clock).call


# --- the converter -------------------------------------------------------------------------------

KEPT = ("type", "description", "enum")


def shorten(schema: Any) -> tuple[Any, list[str]]:
    """The short form of a schema, and JSON pointers to what has no place in it."""
    # TODO 8: say what is lost. It is whatever is not there again after the way back; see missing() in
    #         ai_evolution.atdf.losses.
    return row_of(schema), []


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
    # TODO 7: additionalProperties is a schema too, and becomes the row `others`.
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
    return schema


# --- to try it by hand: python my_tool.py --------------------------------------------------------


class Shelf:
    """A library in this process, as the check has one outside of it."""

    def reserved(self, isbn: str) -> bool:
        return isbn == "9780306406157"

    def renew(self, isbn: str, until: str) -> dict[str, Any]:
        if isbn == "9788437604947":
            raise LookupError("postgres://librarian:k-7731@stacks.internal/loans has no such row")
        return {"until": until, "left": 1}


if __name__ == "__main__":
    import json

    tool = build(Shelf(), lambda: datetime(2026, 3, 1, 9, tzinfo=UTC))
    call = {"isbn": "9780262510875", "due": "2026-03-02T12:00:00Z", "until": "2026-03-20T12:00:00Z"}
    print(json.dumps(tool(call), indent=2))
    closed = {"type": "object", "additionalProperties": False, "minProperties": 1}
    print(json.dumps(shorten(closed), indent=2))
