"""The three tools of the travel audit, as functions and held to their descriptions.

``Tools(books)`` has the functions as a program would call them: they take and give plain JSON and raise
``ToolFailure`` for what there is not, never an empty success. ``contracts(books)`` are the same functions
under ATDF contracts, for a server; there a list travels under a name, since a result is an object.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ai_evolution.atdf.bilingual import in_language
from ai_evolution.atdf.contract import Contract, ToolFailure
from ai_evolution.atdf.documents import load
from ai_evolution.travel.expenses import DEPARTMENT, QUARTERS, YEAR, Books

DOCUMENTS = """\
- tool:
    name: get_team_members
    title: {en: Team members, es: Miembros del equipo}
    description:
      en: Lists who works in a department, with the id that the other travel tools ask for.
      es: Enumera quiénes trabajan en un departamento, con el id que piden las demás herramientas de viajes.
    when_to_use:
      en: First, to learn whose expenses there are.
      es: Al principio, para saber de quiénes hay gastos.
    input:
      type: object
      properties:
        department: {type: string, minLength: 1, description: "The department, for instance engineering."}
      required: [department]
      additionalProperties: false
    output:
      success:
        type: object
        properties:
          members:
            type: array
            items:
              type: object
              properties:
                id: {type: string}
                name: {type: string}
                level: {type: string, description: "Seniority; it does not decide the budget."}
                department: {type: string}
              required: [id, name, level, department]
        required: [members]
    examples:
      - input: {department: engineering}
        output:
          members: [{id: E001, name: Alice Chen, level: senior, department: engineering}]
    x-atdf:
      failures:
        - {code: UNKNOWN_DEPARTMENT, description: There is no such department.}
      mcp:
        annotations: {readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false}
- tool:
    name: get_expenses
    title: {en: Expenses, es: Gastos}
    description:
      en: >-
        Gives every expense record of one employee in one quarter, whatever its category and status. Only
        records with the status approved count as spent. Amounts are in the currency named beside them.
      es: >-
        Da todos los registros de gasto de una persona en un trimestre, sea cual sea su categoría y su estado.
        Solo cuentan como gastados los que tienen el estado approved. Los importes están en la moneda que se
        indica.
    when_to_use:
      en: To add up what somebody spent. The answer is long; 20 to 50 records are usual.
      es: Para sumar lo que alguien gastó. La respuesta es larga; lo normal son de 20 a 50 registros.
    input:
      type: object
      properties:
        employee_id: {type: string, pattern: "^E[0-9]{3}$", description: "The id of get_team_members."}
        quarter: {type: string, enum: [Q1, Q2, Q3, Q4], description: "A quarter of the calendar year."}
      required: [employee_id, quarter]
      additionalProperties: false
    output:
      success:
        type: object
        properties:
          expenses:
            type: array
            minItems: 1
            items:
              type: object
              properties:
                expense_id: {type: string}
                employee_id: {type: string}
                date: {type: string, format: date}
                amount: {type: number, exclusiveMinimum: 0}
                currency: {type: string}
                category: {type: string}
                status: {type: string, enum: [approved, pending, rejected]}
                description: {type: string}
                merchant: {type: string}
                payment_method: {type: string}
                receipt_url: {type: string}
                approver: {type: string}
                cost_center: {type: string}
                project_code: {type: string}
                city: {type: string}
                notes: {type: string}
              required: [expense_id, employee_id, date, amount, currency, category, status]
        required: [expenses]
    x-atdf:
      failures:
        - {code: UNKNOWN_EMPLOYEE, description: Nobody has this id.}
        - {code: NO_RECORDS, description: The books hold no records of that quarter.}
      mcp:
        annotations: {readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false}
- tool:
    name: get_custom_budget
    title: {en: Travel budget, es: Presupuesto de viajes}
    description:
      en: >-
        Says what somebody may spend on travel in a quarter, in USD, and whether that is a budget of their
        own. Who has none has the standard budget.
      es: >-
        Dice cuánto puede gastar alguien en viajes en un trimestre, en USD, y si es un presupuesto propio.
        Quien no lo tiene recibe el presupuesto general.
    when_to_use:
      en: For whoever is above the standard budget, before saying that it was exceeded.
      es: Para quien supera el presupuesto general, antes de decir que se excedió.
    input:
      type: object
      properties:
        user_id: {type: string, pattern: "^E[0-9]{3}$", description: "The id of get_team_members."}
      required: [user_id]
      additionalProperties: false
    output:
      success:
        type: object
        properties:
          user_id: {type: string}
          has_custom_budget: {type: boolean}
          travel_budget: {type: number, exclusiveMinimum: 0}
        required: [user_id, has_custom_budget, travel_budget]
    examples:
      - input: {user_id: E001}
        output: {user_id: E001, has_custom_budget: false, travel_budget: 5000.0}
    x-atdf:
      failures:
        - {code: UNKNOWN_EMPLOYEE, description: Nobody has this id.}
      mcp:
        annotations: {readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false}
"""

WORDS = {
    "UNKNOWN_DEPARTMENT": {
        "en": ("there is no department {given}", "one of: {known}", "Name a department that there is"),
        "es": ("no hay ningún departamento {given}", "uno de: {known}", "Indica un departamento que exista"),
    },
    "UNKNOWN_EMPLOYEE": {
        "en": ("nobody has the id {given}", "one of: {known}", "Take the id from get_team_members"),
        "es": ("nadie tiene el id {given}", "uno de: {known}", "Toma el id de get_team_members"),
    },
    "NO_RECORDS": {
        "en": ("the books hold no records of {given}", "one of: {known}", "Name a quarter that has records"),
        "es": ("no hay registros de {given}", "uno de: {known}", "Pide un trimestre que tenga registros"),
    },
    "UNKNOWN_QUARTER": {
        "en": ("there is no quarter {given}", "one of: {known}", "Name a quarter of the year"),
        "es": ("no hay ningún trimestre {given}", "uno de: {known}", "Indica un trimestre del año"),
    },
}  # fmt: skip


class Tools:
    """The tools as plain functions over one set of books; ``lang`` is that of their failures."""

    def __init__(self, books: Books, lang: str = "en") -> None:
        self._books, self._lang = books, "es" if lang == "es" else "en"

    def get_team_members(self, department: str) -> list[dict[str, str]]:
        """The members of a department. Raises ToolFailure for an unknown one."""
        if department != DEPARTMENT:
            raise self._failure("UNKNOWN_DEPARTMENT", department, [DEPARTMENT])
        return [
            {"id": each.id, "name": each.name, "level": each.level, "department": DEPARTMENT}
            for each in self._books.members
        ]

    def get_expenses(self, employee_id: str, quarter: str) -> list[dict[str, str | float]]:
        """The records of that quarter. Raises ToolFailure for an unknown id or quarter, or when none are."""
        self._known(employee_id)
        if quarter not in QUARTERS:
            raise self._failure("UNKNOWN_QUARTER", quarter, QUARTERS)
        found = self._books.expenses(employee_id, quarter)
        if not found:
            there = [each for each in QUARTERS if self._books.expenses(employee_id, each)]
            raise self._failure("NO_RECORDS", f"{quarter} {YEAR}", there)
        return [each.shown() for each in found]

    def get_custom_budget(self, user_id: str) -> dict[str, str | bool | float]:
        """The budget that counts, and whether it is their own. Raises ToolFailure for an unknown id."""
        self._known(user_id)
        member = self._books.member(user_id)
        return {
            "user_id": user_id,
            "has_custom_budget": member.custom is not None,
            "travel_budget": member.budget / 100,
        }

    def _known(self, user_id: str) -> None:
        known = [each.id for each in self._books.members]
        if user_id not in known:
            raise self._failure("UNKNOWN_EMPLOYEE", user_id, known)

    def _failure(self, code: str, given: str, known: list[str] | tuple[str, ...]) -> ToolFailure:
        text, expected, solution = (
            each.format(given=repr(given[:40]), known=", ".join(known)) for each in WORDS[code][self._lang]
        )
        return ToolFailure(
            code,
            text,
            expected=expected,
            solution=solution,
            details={"given": given[:40], "known": list(known)},
        )


def documents(lang: str = "en") -> dict[str, dict[str, Any]]:
    """The description of each tool by its name, in one language."""
    found = load(DOCUMENTS.encode("utf-8"), "travel.yaml").value
    return {each["tool"]["name"]: in_language(each, lang) for each in found}


def contracts(books: Books, lang: str = "en", **options: Any) -> list[Contract]:
    """The three tools under contract; ``options`` go to each ``Contract`` (a clock, an observer)."""
    tools, described = Tools(books, lang), documents(lang)
    functions: Mapping[str, Callable[..., Any]] = {
        "get_team_members": lambda department: {"members": tools.get_team_members(department)},
        "get_expenses": lambda employee_id, quarter: {"expenses": tools.get_expenses(employee_id, quarter)},
        "get_custom_budget": tools.get_custom_budget,
    }
    return [Contract(described[name], each, lang=lang, **options) for name, each in functions.items()]
