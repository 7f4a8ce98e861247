"""The reference tool of class 131, broken in one place each: old text, new text, the behaviours it breaks.

Where a fault can't help breaking two behaviours (a rule that is gone is missed at its limit as well) both
are named; otherwise exactly one.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

REFERENCE_TOOL = Path(__file__).with_name("reference_tool.py")


class ToolMutant(NamedTuple):
    name: str
    old: str
    new: str
    breaks: frozenset[str]


def _m(name: str, old: str, new: str, *breaks: str) -> ToolMutant:
    return ToolMutant(name, old, new, frozenset(breaks))


TOOL_MUTANTS = (
    # the description
    _m("does not say when to use it", "  when_to_use: When", "  x_when: When", "document.valid"),
    _m("does not say when not to use it", "  when_not_to_use: For", "  x_when: For", "document.valid"),
    _m("a schema that is none", "until: { type: string, format: date-time,", "until: { type: text,",
       "document.valid", "document.strict", "call.succeeds", "call.refused", "call.shape", "call.limits",
       "clock.injected", "error.usable", "call.envelope", "failure.neutral", "failure.lie", "examples.hold",
       "examples.reach"),
    _m("an argument without a description",
       "        description: When the loan ends as things stand, with its offset; not in the past.\n", "",
       "document.valid"),
    _m("an error may say nothing of what is expected", "required: [code, text, details, expected, solution]",
       "required: [code, text, details, solution]", "document.strict"),
    _m("a success may be negative", "left: { type: integer, minimum: 0,", "left: { type: integer,",
       "document.strict", "failure.lie"),
    _m("a code too many", "RESERVED, TOOL_FAILED]", "RESERVED, TOOL_FAILED, LATE]", "examples.reach"),
    # examples
    _m("an example with a wrong number", "days: 18, left: 1", "days: 17, left: 1", "examples.hold"),
    _m("an example at another clock", 'timestamp: "2026-03-01T09:00:00Z" }\n    - input: { isbn: "9780306',
       'timestamp: "2026-03-05T09:00:00Z" }\n    - input: { isbn: "9780306', "examples.hold",
       "examples.reach"),
    _m("an example of another code", 'input: { isbn: "9788437604947"', 'input: { isbn: "9780306406157"',
       "examples.hold", "examples.reach"),
    # calls
    _m("a day too many", "(read(until) - read(due)).days\n", "(read(until) - read(due)).days + 1\n",
       "call.succeeds", "examples.hold"),
    _m("days by the calendar", "(read(until) - read(due)).days\n",
       "(read(until).date() - read(due).date()).days\n", "call.succeeds"),
    _m("renews twice", "        books = library",
       "        library.renew(isbn, until)\n        books = library", "call.succeeds"),
    _m("number of renewals made up", '"left": books["left"]}', '"left": min(1, books["left"])}',
       "call.succeeds"),
    _m("every ISBN will do", "holds=lambda given, _: fits(given[\"isbn\"])", "holds=lambda given, _: True",
       "call.refused", "examples.hold", "examples.reach"),
    _m("moments compared as texts", 'read(given["due"]) < read(given["until"])',
       'given["due"] < given["until"]', "call.refused", "call.limits"),
    _m("rules in another order", "pre=PRE,", "pre=PRE[::-1],", "call.refused"),
    _m("a number is taken for its text", "    return Contract(",
       "    def first(given: Any) -> Any:\n"
       "        if isinstance(given, dict) and isinstance(given.get('isbn'), int):\n"
       "            given = {**given, 'isbn': str(given['isbn'])}\n"
       "        return held(given)\n\n    held = Contract(", "call.shape"),
    _m("only objects are answered", "    return Contract(",
       "    def first(given: Any) -> Any:\n"
       "        return held(given) if isinstance(given, dict) else None\n\n    held = Contract(",
       "call.envelope"),
    _m("wrong field", 'code="OVERDUE",\n        field="/due"', 'code="OVERDUE",\n        field="/until"',
       "call.refused", "call.limits", "clock.injected", "examples.hold"),
    _m("reserved books are renewed", "if library.reserved(isbn):", "if library.reserved(isbn) and not isbn:",
       "call.refused", "examples.hold", "examples.reach"),
    _m("extra arguments pass",
       "        description: When the loan shall end instead, with its offset; later than due.\n"
       "    required: [isbn, due, until]\n    additionalProperties: false",
       "        description: When the loan shall end instead, with its offset; later than due.\n"
       "    required: [isbn, due, until]", "document.strict", "call.shape", "error.usable"),
    _m("naive moments pass", "      due:\n        type: string\n        format: date-time",
       "      due:\n        type: string", "document.strict", "call.shape", "examples.hold", "examples.reach",
       "error.usable"),
    _m("the library is asked first",
       "    return Contract(", "    def first(given: Any) -> Any:\n"
       "        try:\n            library.reserved(str(given['isbn']))\n        except Exception:\n"
       "            pass\n"
       "        return held(given)\n\n    held = Contract(", "call.refused", "call.shape"),
    # limits
    _m("due now is overdue", 'now <= read(given["due"])', 'now < read(given["due"])', "call.limits"),
    _m("until may be due", 'read(given["due"]) < read(given["until"])',
       'read(given["due"]) <= read(given["until"])', "call.limits", "examples.hold", "examples.reach"),
    _m("28 days are too long", 'read(given["until"]) <= now + LONGEST',
       'read(given["until"]) < now + LONGEST', "call.limits", "error.usable"),
    _m("a day of grace", "<= now + LONGEST", "<= now + LONGEST + timedelta(hours=23)", "call.limits",
       "examples.hold", "examples.reach"),
    # the clock
    _m("its own clock", "        clock=clock,\n", "", "clock.injected", "examples.hold", "examples.reach",
       "call.refused", "call.limits", "error.usable", "call.succeeds", "failure.neutral", "failure.lie"),
    _m("the first clock for ever", "    def renew_loan(",
       "    first: list[datetime] = []\n    given_clock = clock\n\n    def clock() -> datetime:\n"
       "        first.append(given_clock())\n        return first[0]\n\n    def renew_loan(",
       "clock.injected", "call.refused", "call.limits", "error.usable", "call.succeeds", "failure.neutral",
       "failure.lie"),
    _m("a timestamp of another time", "    ).call\n",
       "    ).call\n    # MOVED", "clock.injected"),
    # errors
    _m("no moment in expected", 'f"until: at most {last(now)}"', '"until: an earlier moment"',
       "error.usable", "examples.hold"),
    _m("solution without the argument", '"Choose that moment for until, or an earlier one"',
       '"Choose that moment, or an earlier one"', "error.usable"),
    # failures
    _m("the exception is passed on", "        books = library.renew(isbn, until)\n",
       "        try:\n            books = library.renew(isbn, until)\n        except Exception as error:\n"
       '            return ToolFailure("TOOL_FAILED", str(error), expected="x", solution="x",'
       ' details={"field": ""})\n', "failure.neutral"),
    _m("another code for what the tool did not promise", 'codes={"result": "TOOL_FAILED", "postcondition"',
       'codes={"postcondition"', "failure.lie"),
    _m("no postcondition", "post=POST", "post=()", "failure.lie"),
    _m("the books are not read", '"until": books["until"], "days"', '"until": until, "days"', "failure.lie"),
    _m("the spelling is taken for the moment",
       'read(both["result"]["until"]) == read(both["arguments"]["until"])',
       'both["result"]["until"] == both["arguments"]["until"]', "failure.lie", "call.succeeds",
       "call.limits"),
    # the converter
    _m("others is not written", '        row["others"] = row_of(schema["additionalProperties"])\n',
       "        pass\n", "convert.keyword"),
    _m("others is not read", '        schema["additionalProperties"] = restore(row["others"])\n',
       "        pass\n", "convert.keyword"),
    _m("false taken for nothing", 'if "additionalProperties" in schema:',
       'if schema.get("additionalProperties"):', "convert.keyword"),
    _m("the empty schema taken for true", 'row["others"] = row_of(schema["additionalProperties"])',
       'row["others"] = row_of(schema["additionalProperties"] or schema["additionalProperties"] == {})',
       "convert.keyword"),
    _m("nothing is said to be lost", "list(missing(schema, restore(row)))", "[]", "convert.losses"),
    _m("only the first level is said to be lost", "list(missing(schema, restore(row)))",
       "['/' + w for w in schema if w not in ('type', 'description', 'enum', 'properties', 'required',"
       " 'items', 'additionalProperties')]", "convert.losses"),
    _m("schemas that are true become empty", '        return {"accepts": schema}',
       '        return {} if schema else {"accepts": False}', "convert.rest", "convert.keyword",
       "convert.losses"),
    _m("an empty description is dropped", "if word in schema}\n    if \"properties\"",
       "if schema.get(word)}\n    if \"properties\"", "convert.rest", "convert.keyword", "convert.losses"),
    _m("lists are flattened", '        row["items"] = row_of(schema["items"])\n', "        pass\n",
       "convert.rest", "convert.keyword", "convert.losses"),
    _m("the original is smuggled in", "    row = row_of(schema)\n",
       '    row = {**row_of(schema), "original": schema}\n', "convert.rest", "convert.keyword"),
)  # fmt: skip

MOVED = """    ).call


def _moved(build: Any) -> Any:
    def other(library: Any, clock: Any) -> Any:
        tool = build(library, clock)

        def call(given: Any) -> Any:
            answer = tool(given)
            answer["meta"]["timestamp"] = "2026-03-01T09:00:00Z"
            return answer

        return call

    return other


build = _moved(build)
"""


def mutated_tool(mutant: ToolMutant) -> str:
    """The source of the reference tool with one place changed."""
    source = REFERENCE_TOOL.read_text(encoding="utf-8")
    assert source.count(mutant.old) >= 1, mutant.name
    changed = source.replace(mutant.old, mutant.new)
    changed = changed.replace("    ).call\n    # MOVED", MOVED)
    if "held = Contract(" in changed:
        changed = changed.replace("    ).call\n", "    ).call\n    return first\n", 1)
    return changed
