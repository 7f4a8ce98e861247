"""What is wrong with a description by itself: before anybody calls the tool.

A schema that is none, a schema that no value satisfies, an example that breaks the schemas beside it, a
condition that answers with a code that was never declared.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from ai_evolution.atdf.description import Example, ToolDescription
from ai_evolution.atdf.documents import at
from ai_evolution.atdf.samples import contradiction
from ai_evolution.atdf.schemas import Problem, check_schema, problems


class Coded(Protocol):
    """What is needed of a condition."""

    @property
    def id(self) -> str: ...

    @property
    def code(self) -> str | None: ...


def schema_of(description: ToolDescription, part: str) -> Any:
    """The schema of a part; what the description does not have accepts everything."""
    schema = {
        "input": description.input_schema,
        "success": description.success_schema,
        "error": description.error_schema,
    }[part]
    return schema if isinstance(schema, dict | bool) else True


def speaks_of_envelopes(schema: Any) -> bool:
    """Whether a schema of results is about the whole answer (as the seed form has it) or about its data."""
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    return isinstance(properties, Mapping) and {"status", "data"} <= set(properties)


def faults(description: ToolDescription, conditions: Iterable[Coded] = ()) -> list[Problem]:
    """What contradicts itself in the description; pointers begin with the part (``/input/properties/a``)."""
    found = []
    for part in ("input", "success", "error"):
        schema = schema_of(description, part)
        wrong = [
            Problem(f"/{part}{each.pointer}", each.message, each.keyword) for each in check_schema(schema)
        ]
        if not wrong:
            whole = part == "input" or speaks_of_envelopes(schema)
            reason = contradiction(schema, of=frozenset({"object"})) if whole else contradiction(schema)
            if reason:
                where, _, why = reason.partition(": ")
                wrong = [
                    Problem(f"/{part}{where.rstrip('/')}", f"no value satisfies it: {why}", "contradiction")
                ]
            elif part != "input" and speaks_of_envelopes(schema):
                status = schema["properties"]["status"]
                if problems(part, status, limit=1) and "$ref" not in str(status):
                    message = (
                        f"the schema of {'successes' if part == 'success' else 'errors'} refuses {part!r}"
                    )
                    wrong = [Problem(f"/{part}/properties/status", message, "contradiction")]
        found += wrong
    if found:
        return found
    for number, example in enumerate(description.examples):
        found += _example_faults(description, example, f"/examples/{number}")
    known = [failure.code for failure in description.failures]
    for condition in conditions:
        if known and condition.code is not None and condition.code not in known:
            message = (
                f"condition {condition.id!r} answers with a code that is not declared: {condition.code!r}"
            )
            found.append(Problem("/failures", message, "failures"))
    return found


def _example_faults(description: ToolDescription, example: Example, place: str) -> list[Problem]:
    """An example must be what the schemas say; one that shows an error may have arguments that break them."""
    output = example.output
    status = output.get("status") if isinstance(output, Mapping) and "data" in output else None
    found = []
    if status != "error":
        for each in problems(example.input, schema_of(description, "input")):
            found.append(Problem(f"{place}/input{each.pointer}", each.message, each.keyword))
    if not isinstance(output, Mapping):
        return found
    schema = schema_of(description, "error" if status == "error" else "success")
    whole = speaks_of_envelopes(schema)
    shown = output if whole or status is None else output["data"]
    for each in problems(shown, schema):
        if not is_ellipsis(at(shown, each.pointer)):
            found.append(Problem(f"{place}/output{each.pointer}", each.message, each.keyword))
    return found


def is_ellipsis(value: Any) -> bool:
    """Whether a value of an example is a text that ends in an ellipsis: the beginning of a text, not all."""
    return isinstance(value, str) and value.endswith(("...", "…"))
