"""What is looked at in a tool of class 131 and in its converter; the sentences are in ``renewals``.

The judge plays everybody around the tool: the caller, the library behind it, the clock. What reached the
library is seen here and nowhere else, so a tool can't claim it. It refuses to believe anything that the child
says about itself, and holds no solution: a student's file can read this package.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from ai_evolution.atdf.description import ToolDescription
from ai_evolution.atdf.envelope import problems_of
from ai_evolution.atdf.lint import lint
from ai_evolution.atdf.losses import leaves, missing
from ai_evolution.atdf.samples import samples, strays
from ai_evolution.atdf.schemas import problems
from ai_evolution.atdf.shapes import validate
from ai_evolution.grading import short_form
from ai_evolution.grading.examiner import Examiner, Look, Looks, shown
from ai_evolution.grading.library import (
    GIVEN_BROKEN,
    GIVEN_RESERVED,
    LONGEST,
    Arguments,
    FailsLate,
    Library,
    draw_case,
    misshapen,
    mistyped,
    moment_of,
    naive,
    turned,
    written,
)

CODES = ("INVALID_ARGUMENTS", "CHECK_DIGIT", "OVERDUE", "NOT_LATER", "TOO_LONG", "RESERVED", "TOOL_FAILED")
INPUT: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "isbn": {"type": "string", "pattern": "^97[89][0-9]{10}$"},
        "due": {"type": "string", "format": "date-time"},
        "until": {"type": "string", "format": "date-time"},
    },
    "required": ["isbn", "due", "until"],
    "additionalProperties": False,
}
TRIALS = 32
MAX_ANSWER = 4_000
"""Characters of an answer that are held against the schema which the student wrote."""


# --- the document -----------------------------------------------------------------------------


def document_valid(x: Examiner) -> Looks:
    tool = x.described()
    if isinstance(tool, str):
        yield Look("document", "an ATDF document", tool)
        return
    wrong = [f"{p.pointer or '/'}: {p.message}" for p in validate(x.document(), "atdf-tool")]
    yield Look("form", [], wrong[:5])
    told = {"unreached-code", "no-translation", "no-when-not-to-use"}
    found = [
        f"{f.rule} {f.pointer}: {f.message['en']}"
        for f in lint(tool)
        if f.severity in ("error", "warning") and f.rule not in told and not _of_refused(tool, f.pointer)
    ]
    yield Look("lint", [], found[:5])
    yield Look("when_not_to_use", "said", "said" if tool.when_not_to_use else "not said")


def _of_refused(tool: ToolDescription, pointer: str) -> bool:
    """Whether this is about the arguments of an example that shows how they are refused."""
    found = re.match(r"/examples/(\d+)/input", pointer)
    if found is None:
        return False
    output = tool.examples[int(found.group(1))].output
    return isinstance(output, Mapping) and output.get("status") == "error"


def document_strict(x: Examiner) -> Looks:
    tool = x.described()
    if isinstance(tool, str):
        yield Look("document", "an ATDF document", tool)
        return
    case = draw_case(x.chance)

    def verdict(value: Any, schema: Any) -> str:
        return "refused" if problems(value, schema, limit=1) else "accepted"

    yield Look("input: a good call", "accepted", verdict(case.arguments, tool.input_schema))
    for what, _, arguments in misshapen(case, x.chance):
        yield Look(f"input: {what}", "refused", verdict(arguments, tool.input_schema))
    meta = {"timestamp": written(case.now)}
    good: dict[str, Any] = {"isbn": case.isbn, "until": written(case.until), "days": 3, "left": 0}
    said: dict[str, Any] = {
        "code": CODES[0], "text": "x", "details": {"field": "/isbn"}, "expected": "x", "solution": "x"
    }  # fmt: skip
    right = [("success", "a good answer", good), *(("error", code, {**said, "code": code}) for code in CODES)]
    wrong = [
        *(("success", f"without {name}", _without(good, name)) for name in good),
        ("success", "left below zero", {**good, "left": -1}),
        ("success", "days as text", {**good, "days": "3"}),
        ("success", "until without offset", {**good, "until": naive(case.until)}),
        ("error", "empty data", {}),
        ("error", "a code that is not declared", {**said, "code": "OOPS"}),
        *(("error", f"without {name}", _without(said, name)) for name in said),
        ("error", "details without field", {**said, "details": {}}),
    ]
    for wanted, answers in (("accepted", right), ("refused", wrong)):
        for status, what, data in answers:
            schema = tool.success_schema if status == "success" else tool.error_schema
            answer = {"status": status, "data": data, "meta": meta}
            yield Look(f"{status}: {what}", wanted, verdict(answer, schema))


def _without(data: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key != name}


def examples_hold(x: Examiner) -> Looks:
    tool = x.described()
    if isinstance(tool, str):
        yield Look("document", "an ATDF document", tool)
        return
    yield Look("examples", "some", "some" if tool.examples else "none")
    for number, example in enumerate(tool.examples):
        output = example.output
        now = moment_of(_at(output, "meta", "timestamp"))
        if now is None:
            yield Look(f"example {number}: meta.timestamp", "a date-time", _at(output, "meta", "timestamp"))
            return
        library = Library(frozenset((GIVEN_RESERVED,)), {GIVEN_BROKEN: "the record cannot be read"})
        library.left = _at(output, "data", "left") if _at(output, "status") == "success" else 2
        answer = x.call(example.input, now, library)
        yield Look(f"example {number}", output, _as_shown(output, answer))


def _as_shown(example: Any, answer: Any) -> Any:
    """The answer, with what matches the example replaced by the example's own words."""
    if isinstance(example, str) and example.endswith(("...", "…")) and isinstance(answer, str):
        begins = example.removesuffix("…").removesuffix("...")
        return example if answer.startswith(begins) else answer
    if isinstance(example, Mapping) and isinstance(answer, Mapping):
        # of details, an example shows what it likes
        kept = answer if "field" not in example else {k: v for k, v in answer.items() if k in example}
        return {k: _as_shown(example[k], v) if k in example else v for k, v in kept.items()}
    moments = moment_of(example), moment_of(answer)
    return example if moments[0] is not None and moments[0] == moments[1] else answer


def examples_reach(x: Examiner) -> Looks:
    tool = x.described()
    if isinstance(tool, str):
        yield Look("document", "an ATDF document", tool)
        return
    code = _at(tool.error_schema, "properties", "data", "properties", "code")
    declared = code.get("enum") if isinstance(code, dict) else None
    known = [str(each) for each in declared] if isinstance(declared, list) else []
    yield Look("declared", sorted(CODES), sorted(set(known)))
    reached: set[str] = set()
    for example in tool.examples:
        now = moment_of(_at(example.output, "meta", "timestamp"))
        if now is not None:
            library = Library(frozenset((GIVEN_RESERVED,)), {GIVEN_BROKEN: "the record cannot be read"})
            answer = x.call(example.input, now, library)
            reached.add(str(_at(answer, "data", "code") or _at(answer, "status")))
    yield Look("reached", sorted({*CODES, "success"}), sorted(reached & {*CODES, "success"}))


def _at(value: Any, *steps: str) -> Any:
    for step in steps:
        value = value.get(step) if isinstance(value, Mapping) else None
    return value


# --- calls ------------------------------------------------------------------------------------


def _ending(answer: Any) -> Any:
    """How a call ended, as far as a refusal is concerned: status, code, field."""
    if isinstance(answer, Mapping) and answer.get("status") == "error":
        return [_at(answer, "data", "code"), _at(answer, "data", "details", "field")]
    return _at(answer, "status") or answer


def call_succeeds(x: Examiner) -> Looks:
    for hours in (0, 2, -5, 5.5):
        case = draw_case(x.chance)
        library = Library(left=x.chance.randrange(9), hours=x.chance.choice((0, 1, -3)))
        arguments = {"isbn": case.isbn, "due": written(case.due, hours), "until": written(case.until, -hours)}
        answer = x.call(arguments, case.now, library)
        data = {
            "isbn": case.isbn,
            "until": arguments["until"],
            "days": (case.until - case.due).days,
            "left": library.left,
        }
        seen = _at(answer, "data")
        yield Look("answer", ["success", data], [_at(answer, "status"), _same_moment(data, seen)])
        told = [{"isbn": case.isbn, "until": arguments["until"]}]
        yield Look("what the library was told", told, [_same_moment(told[0], g) for g in library.renewed])


def _same_moment(wanted: Mapping[str, Any], given: Any) -> Any:
    """``given``, with its ``until`` spelt as in ``wanted`` where it is the same moment."""
    moment = moment_of(_at(given, "until"))
    if moment is not None and moment == moment_of(wanted["until"]):
        return {**given, "until": wanted["until"]}
    return given


def call_refused(x: Examiner) -> Looks:
    case = draw_case(x.chance)
    past = case.now - timedelta(minutes=x.chance.randrange(1, 9_000))
    far = case.now + LONGEST + timedelta(minutes=x.chance.randrange(1, 9_000))
    early = case.due - timedelta(minutes=x.chance.randrange(1, 50))
    good = case.arguments
    for arguments, wanted in (
        ({**good, "isbn": mistyped(case.isbn, x.chance)}, ["CHECK_DIGIT", "/isbn"]),
        ({**good, "isbn": turned(case.isbn, x.chance)}, ["CHECK_DIGIT", "/isbn"]),
        ({**good, "due": written(past)}, ["OVERDUE", "/due"]),
        ({**good, "until": written(early)}, ["NOT_LATER", "/until"]),
        # later by the letters, earlier by the clock
        ({**good, "until": written(early, 14)}, ["NOT_LATER", "/until"]),
        ({**good, "until": written(far)}, ["TOO_LONG", "/until"]),
        ({**good, "isbn": mistyped(case.isbn, x.chance), "until": written(far)}, ["CHECK_DIGIT", "/isbn"]),
    ):
        library = Library()
        yield Look("answer", wanted, _ending(x.call(arguments, case.now, library)))
        yield Look("what reached the library", [], [name for name, _ in library.asked])
    library = Library(reserved=frozenset((case.isbn,)))
    yield Look("a reserved book", ["RESERVED", "/isbn"], _ending(x.call(good, case.now, library)))
    yield Look("what was renewed", [], library.renewed)


def call_shape(x: Examiner) -> Looks:
    case = draw_case(x.chance)
    for what, where, arguments in misshapen(case, x.chance):
        library = Library()
        answer = x.call(arguments, case.now, library)
        yield Look(what, ["INVALID_ARGUMENTS", where], _ending(answer))
        yield Look(f"{what}: what reached the library", [], [name for name, _ in library.asked])


def call_limits(x: Examiner) -> Looks:
    second = timedelta(seconds=1)
    case = draw_case(x.chance)
    last = case.now + LONGEST
    for what, due, until, wanted in (
        ("due is now", case.now, case.until, "success"),
        ("due was a second ago", case.now - second, case.until, ["OVERDUE", "/due"]),
        ("until is due", case.due, case.due, ["NOT_LATER", "/until"]),
        ("until is a second after due", case.due, case.due + second, "success"),
        ("until is 28 days from now", case.due, last, "success"),
        ("until is 28 days and a second from now", case.due, last + second, ["TOO_LONG", "/until"]),
        ("due and until 28 days from now", last, last, ["NOT_LATER", "/until"]),
    ):
        arguments = {"isbn": case.isbn, "due": written(due), "until": written(until, 3)}
        yield Look(what, wanted, _ending(x.call(arguments, case.now)))


def clock_injected(x: Examiner) -> Looks:
    case = draw_case(x.chance)
    year = timedelta(days=365 * x.chance.randrange(1, 30))
    for what, now, wanted in (
        ("the clock of the case", case.now, "success"),
        ("a year or more later", case.now + year, ["OVERDUE", "/due"]),
        ("a year or more earlier", case.now - year, ["TOO_LONG", "/until"]),
        ("the clock of the case again", case.now, "success"),
    ):
        answer = x.call(case.arguments, now)
        yield Look(what, wanted, _ending(answer))
        stamp = moment_of(_at(answer, "meta", "timestamp"))
        yield Look(f"{what}: meta.timestamp", written(now), stamp and written(stamp))


_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})")


def error_usable(x: Examiner) -> Looks:
    for faults in (("isbn",), ("early",), ("far",), ("naive", "far"), ("isbn", "extra", "early"),
                   ("absent", "isbn", "far")):  # fmt: skip
        case = draw_case(x.chance)
        note = dict(case.arguments)  # what the caller means to say
        if "far" in faults:
            note["until"] = written(case.now + LONGEST + timedelta(hours=x.chance.randrange(1, 900)))
        if "early" in faults:
            note["until"] = written(case.due - timedelta(hours=x.chance.randrange(0, 90)))
        arguments = dict(note)
        if "isbn" in faults:
            arguments["isbn"] = mistyped(case.isbn, x.chance)
        if "naive" in faults:
            arguments["due"] = naive(case.due)
        if "extra" in faults:
            arguments["reader"] = "Ada"
        if "absent" in faults:
            del arguments["due"]
        for _ in range(len(faults)):
            answer = x.call(arguments, case.now)
            if _at(answer, "status") == "success":
                break
            name = str(_at(answer, "data", "details", "field")).removeprefix("/")
            solution = str(_at(answer, "data", "solution"))
            told = (
                "named"
                if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", solution) and name
                else f"{name!r} is not in {solution!r}"
            )
            yield Look(f"{' + '.join(faults)}: the argument of details.field in solution", "named", told)
            arguments = _repaired(arguments, note, name, _at(answer, "data", "expected"))
        library = Library()
        answer = x.call(arguments, case.now, library)
        ending = _ending(answer)
        yield Look(f"{' + '.join(faults)}, repaired {len(faults)} times", "success", ending)


def _repaired(arguments: Arguments, note: Arguments, name: str, expected: Any) -> Arguments:
    """What the caller does about an error: remove what it never meant, read its note again, or obey.

    To obey is to take the moment that ``expected`` names, or one in the middle when it names two.
    """
    if name not in note:
        return {k: v for k, v in arguments.items() if k != name}
    if arguments.get(name) == note[name]:
        named = [m for m in map(moment_of, _MOMENT.findall(str(expected))) if m is not None]
        if named:
            note[name] = written(named[0] + (named[1] - named[0]) / 2 if len(named) > 1 else named[0])
    return {**arguments, name: note[name]}


def call_envelope(x: Examiner) -> Looks:
    tool = x.described()
    if isinstance(tool, str):
        yield Look("document", "an ATDF document", tool)
        return
    near = []
    for _ in range(TRIALS // 4):
        case = draw_case(x.chance)
        near.append({**case.arguments, x.chance.choice(("due", "until")): written(case.now)})
    drawn = [*near, *samples(INPUT, x.chance, TRIALS // 4), *strays(INPUT, x.chance, TRIALS // 2)]
    now = draw_case(x.chance).now
    for arguments in drawn:
        answer = x.call(arguments, now)
        if len(json.dumps(answer)) > MAX_ANSWER:
            yield Look(f"the length of the answer to {shown(arguments)}", f"at most {MAX_ANSWER}", "more")
            return
        wrong = [f"{p.pointer or '/'}: {p.message}" for p in problems_of(answer)]
        if not wrong:
            schema = tool.success_schema if answer["status"] == "success" else tool.error_schema
            wrong = [f"{p.pointer or '/'}: {p.message} (declared schema)" for p in problems(answer, schema)]
        yield Look(f"the answer to {shown(arguments)}", [], wrong[:3])


def failure_neutral(x: Examiner) -> Looks:
    for place in ("reserved", "renew"):
        case = draw_case(x.chance)
        secret = f"shelf-{x.chance.randrange(10**9)}"
        text = f"postgres://librarian:{secret}@stacks.internal/loans has no row {case.isbn}"
        library = Library(broken={case.isbn: text})
        if place == "renew":
            library = FailsLate(broken={case.isbn: text})
        answer = x.call(case.arguments, case.now, library)
        yield Look(f"library.{place} raises", "TOOL_FAILED", _at(answer, "data", "code") or _ending(answer))
        told = json.dumps(answer, ensure_ascii=False)
        leaks = [w for w in (secret, "stacks.internal", "postgres", "LibraryError", "Traceback") if w in told]
        yield Look(f"library.{place} raises: leaks", [], leaks)


def failure_lie(x: Examiner) -> Looks:
    case = draw_case(x.chance)
    until = written(case.until)
    other = written(case.until - timedelta(days=x.chance.randrange(1, 9)))
    for what, books in (
        ("another date in the books", {"until": other, "left": 1}),
        ("a number of renewals below zero", {"until": until, "left": -1}),
        ("no number of renewals", {"until": until}),
        ("a number of renewals as text", {"until": until, "left": "one"}),
    ):
        answer = x.call(case.arguments, case.now, Library(books=books))
        yield Look(what, "TOOL_FAILED", _at(answer, "data", "code") or _ending(answer))
    fine = x.call(case.arguments, case.now, Library(hours=7))
    yield Look("the same moment with another offset", "success", _ending(fine))


# --- the converter ----------------------------------------------------------------------------


def _there_and_back(x: Examiner, triple: short_form.Triple) -> Looks:
    answer = x.ask({"do": "shorten", "schema": triple.schema})
    row = answer[0] if isinstance(answer, list) and len(answer) == 2 else answer
    yield Look("the short form", triple.row, row)
    back = x.ask({"do": "restore", "short": triple.row})
    yield Look("what is restored", triple.back, back)


def convert_keyword(x: Examiner) -> Looks:
    drawn = [short_form.draw(x.chance, others=True) for _ in range(12)]
    for triple in _small_first([*short_form.edges(), *drawn]):
        yield from _there_and_back(x, triple)


def convert_rest(x: Examiner) -> Looks:
    for triple in _small_first([short_form.draw(x.chance) for _ in range(20)]):
        yield from _there_and_back(x, triple)


def convert_losses(x: Examiner) -> Looks:
    for triple in _small_first([short_form.draw(x.chance, lost=n > 3) for n in range(24)]):
        answer = x.ask({"do": "shorten", "schema": triple.schema})
        told = answer[1] if isinstance(answer, list) and len(answer) == 2 else answer
        gone = sorted(missing(triple.schema, triple.back))
        yield Look("what is lost", gone, _leaves_at(triple.schema, told))


def _small_first(cases: list[short_form.Triple]) -> list[short_form.Triple]:
    """So that what differs is shown by a case that can be read."""
    return sorted(cases, key=lambda triple: len(json.dumps(triple)))


def _leaves_at(schema: Any, told: Any) -> Any:
    """The leaves below the pointers that were reported; a pointer to nothing stays as it is."""
    if not isinstance(told, list) or not all(isinstance(each, str) for each in told):
        return told
    there = [at for at, _ in leaves(schema)]
    found = set()
    for pointer in told:
        below = [at for at in there if at == pointer or at.startswith(pointer + "/")]
        found |= set(below or [pointer])
    return sorted(found)
