"""The course's own tools: ``list_classes``, ``run_lab``, ``verify_evidence`` and ``check_exercise``.

A lab and a check take seconds and use the whole machine, so they run one at a time; their steps are reported
as progress, and cancelling a call ends them at the next step. ``check_exercise`` starts a program of the
student: the person is asked before, where the client can ask, and its annotations say that it may destroy
something, so that a host asks too. Files are named within the folder that is served, and nowhere else.
"""

# No ``from __future__ import annotations``: the SDK reads ``Resolve(ask)`` from the annotations of functions
# that are made here, and could not find ``ask`` by its name.

import asyncio
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from mcp.server.mcpserver import (
    AcceptedElicitation,
    Context,
    Elicit,
    ElicitationResult,
    Resolve,
)
from pydantic import BaseModel, Field

from ai_evolution.atdf.bilingual import in_language
from ai_evolution.atdf.contract import Condition, Contract, ToolFailure
from ai_evolution.atdf.documents import load
from ai_evolution.catalog.classes import CLASSES, load_classes
from ai_evolution.errors import DocumentError, UsageError
from ai_evolution.inspection.folder import Folder, Refused
from ai_evolution.inspection.tools import failure_of
from ai_evolution.tutor.progress import Say, reported

LAB_DEADLINE, CHECK_DEADLINE = 300.0, 120.0
"""Seconds for one call."""

DOCUMENTS = """\
- tool:
    name: list_classes
    title: {en: Classes of the course, es: Clases del curso}
    description:
      en: >-
        Lists the classes of the course with their labs, the parameters of each lab, and whether the exercise
        can be checked.
      es: >-
        Enumera las clases del curso con sus laboratorios, los parámetros de cada uno y si el ejercicio se
        puede comprobar.
    when_to_use: {en: First., es: Al principio.}
    input: {type: object, additionalProperties: false}
    output:
      success:
        type: object
        properties:
          classes:
            type: array
            items:
              type: object
              properties:
                number: {type: integer}
                slug: {type: string}
                title: {type: string}
                hours: {type: integer}
                lab: {type: string}
                page: {type: string, description: The resource that is the class page.}
              required: [number, slug, title, lab]
          labs:
            type: array
            items:
              type: object
              properties:
                name: {type: string}
                title: {type: string}
                parameters:
                  type: array
                  items:
                    type: object
                    properties:
                      name: {type: string}
                      default: {type: integer}
                      minimum: {type: integer}
                      maximum: {type: integer}
                      says: {type: string}
                    required: [name, default, minimum, maximum, says]
              required: [name, title, parameters]
          exercises: {type: array, items: {type: string}, description: Classes with a check.}
        required: [classes, labs, exercises]
    x-atdf:
      mcp:
        annotations: {readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false}
- tool:
    name: run_lab
    title: {en: Run a lab, es: Ejecutar un laboratorio}
    description:
      en: >-
        Runs a lab of the course on this machine, offline, and gives its findings: what was claimed, expected
        and observed, what the run does not show, and the digest of the evidence. The same seed gives the
        same digest anywhere.
      es: >-
        Ejecuta un laboratorio del curso en esta máquina, sin red, y da sus hallazgos: qué se afirmó, qué se
        esperaba y qué se observó, qué no demuestra y el resumen criptográfico de la evidencia. La misma
        semilla da el mismo resumen en cualquier sitio.
    when_to_use:
      en: When something that a class claims should be seen and not believed. It takes some seconds.
      es: Cuando convenga ver, y no creer, lo que afirma una clase. Tarda unos segundos.
    input:
      type: object
      properties:
        lab: {type: string, minLength: 1, maxLength: 40, description: The name of the lab.}
        seed: {type: integer, minimum: 0, maximum: 9007199254740991, default: 0}
        parameters:
          type: object
          maxProperties: 20
          additionalProperties: {type: integer}
          description: What list_classes names for this lab.
        full: {type: boolean, default: false, description: Whether the whole evidence is wanted too.}
      required: [lab]
      additionalProperties: false
    output:
      success:
        type: object
        properties:
          lab: {type: string}
          seed: {type: integer}
          holds: {type: boolean, description: Whether every claim holds.}
          digest: {type: string}
          findings:
            type: array
            items:
              type: object
              properties:
                id: {type: string}
                claim: {type: string}
                expected: {}
                observed: {}
                holds: {type: boolean}
              required: [id, claim, expected, observed, holds]
          limitations: {type: array, items: {type: string}}
          evidence: {type: object, description: The whole document, which verify_evidence takes.}
        required: [lab, seed, holds, digest, findings, limitations]
    x-atdf:
      failures:
        - {code: NOT_ACCEPTED, description: There is no such lab or parameter.}
      mcp:
        annotations: {readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false}
- tool:
    name: verify_evidence
    title: {en: Verify evidence, es: Verificar una evidencia}
    description:
      en: >-
        Runs the lab again that an evidence document names, and says whether the document is what the lab
        says, value by value, and where it differs first. Give the document, or the path of its file.
      es: >-
        Vuelve a ejecutar el laboratorio que nombra una evidencia y dice si el documento es lo que dice el
        laboratorio, valor por valor, y dónde difiere primero. Da el documento o la ruta de su archivo.
    input:
      type: object
      properties:
        evidence: {type: object, description: The document.}
        path: {type: string, minLength: 1, maxLength: 1000, description: "Its file, relative, with /."}
      additionalProperties: false
    output:
      success:
        type: object
        properties:
          same: {type: boolean, description: Whether the document is what the lab says.}
          holds: {type: boolean, description: Whether it is, and every claim in it holds.}
          pointer: {type: string, description: Where it differs first (RFC 6901); empty when it does not.}
          failing: {type: array, items: {type: string}, description: Claims that do not hold.}
          says: {type: string}
        required: [same, holds, pointer, failing, says]
    x-atdf:
      failures:
        - {code: NOT_EVIDENCE, description: The document is no evidence of this course.}
        - {code: NOT_SERVED, description: The path is not served.}
      mcp:
        annotations: {readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false}
- tool:
    name: check_exercise
    title: {en: Check an exercise, es: Comprobar un ejercicio}
    description:
      en: >-
        Starts what a student built (a Python file) in a process of its own, judges it from outside,
        behaviour by behaviour, and ends it. The person is asked first. It is no grade.
      es: >-
        Inicia lo que construyó un estudiante (un archivo de Python) en un proceso propio, lo juzga desde
        fuera, comportamiento por comportamiento, y lo termina. Antes se pregunta a la persona. No es una
        calificación.
    when_to_use:
      en: After each step of the exercise, to see what holds and what was seen of the rest.
      es: Tras cada paso del ejercicio, para ver qué se cumple y qué se vio en lo demás.
    input:
      type: object
      properties:
        class: {type: string, minLength: 3, maxLength: 60, description: "The class, for instance 134."}
        file: {type: string, minLength: 1, maxLength: 1000, description: "The file, relative, with /."}
        only: {type: array, items: {type: string}, maxItems: 60, description: Only these behaviours.}
        seed: {type: integer, minimum: 0, maximum: 9007199254740991, default: 0}
      required: [class, file]
      additionalProperties: false
    output:
      success:
        type: object
        properties:
          class: {type: string}
          passed: {type: boolean}
          held: {type: integer, minimum: 0}
          count: {type: integer, minimum: 0}
          behaviours:
            type: array
            items:
              type: object
              properties:
                id: {type: string}
                says: {type: string}
                holds: {type: boolean}
                expected: {}
                observed: {}
              required: [id, says, holds, expected, observed]
          problem: {type: string, description: Why there is less to see; empty when there is nothing.}
          output: {type: string, description: The end of what the program printed.}
        required: [class, passed, held, count, behaviours, problem, output]
    x-atdf:
      failures:
        - {code: NOT_ACCEPTED, description: There is no such class or behaviour.}
        - {code: NOT_SERVED, description: The path is not served.}
        - {code: NOT_ALLOWED, description: The person did not allow the program to be started.}
      mcp:
        annotations: {readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false}
"""

SAYS = {
    "ask": {
        "en": "May {file} be started on this machine, to check it? It is a program, in its own process.",
        "es": "¿Se puede iniciar {file} en esta máquina para comprobarlo? Es un programa, en su proceso.",
    },
    "refused": {"en": "the person did not allow it", "es": "la persona no lo permitió"},
    "allow": {"en": "a person who says yes", "es": "una persona que diga que sí"},
    "talk": {"en": "Do not insist; ask the person what they would rather do",
             "es": "No insistas; pregunta a la persona qué prefiere hacer"},
    "known": {"en": "a name that list_classes gives", "es": "un nombre de los que da list_classes"},
    "as said": {"en": "Call list_classes and use its names", "es": "Llama a list_classes y usa sus nombres"},
    "either": {"en": "either evidence or path is given", "es": "se da evidence o path, uno de los dos"},
    "fetch": {"en": "Make it with run_lab, or name the file that run wrote",
              "es": "Créala con run_lab o indica el archivo que se escribió al ejecutar"},
    "evidence": {"en": "evidence of a lab of this course, unchanged",
                 "es": "una evidencia de un laboratorio de este curso, sin cambios"},
}  # fmt: skip
CONSENT = {"en": "Start the program?", "es": "¿Iniciar el programa?"}


class Consent(BaseModel):
    """What the person is asked for."""

    start: bool = Field(title="Start / Iniciar", description=" / ".join(CONSENT.values()))


def contracts(folder: Folder, root: Path, lang: str = "en", *, programs: bool = True) -> list[Contract]:
    """The course's tools; ``programs`` says whether ``check_exercise`` is among them.

    ``folder`` is where files are named, ``root`` the repository of the course (where the catalogue is).
    """
    lang = "es" if lang == "es" else "en"
    course = _Course(folder, root, lang)
    offered = [course.list_classes(), course.run_lab(), course.verify_evidence()]
    return [*offered, course.check_exercise()] if programs else offered


class _Course:
    def __init__(self, folder: Folder, root: Path, lang: str) -> None:
        self._folder, self._root, self._lang = folder, root, lang
        found = load(DOCUMENTS.encode("utf-8"), "course.yaml").value
        self._documents = {each["tool"]["name"]: in_language(each, lang) for each in found}
        self._one_at_a_time = asyncio.Lock()

    def _contract(self, function: Callable[..., Any], **options: Any) -> Contract:
        return Contract(self._documents[function.__name__], function, lang=self._lang, **options)

    def _say(self, what: str, **values: str) -> str:
        return SAYS[what][self._lang].format(**values)

    def _failure(self, code: str, error: Exception | str, expected: str, solution: str) -> ToolFailure:
        return ToolFailure(code, str(error), expected=expected, solution=solution)

    def _not_accepted(self, error: UsageError) -> ToolFailure:
        return self._failure("NOT_ACCEPTED", error, self._say("known"), self._say("as said"))

    def _served(self, refusal: Refused) -> ToolFailure:
        failure = failure_of(refusal, self._lang)
        return ToolFailure(
            "NOT_SERVED", failure.text, expected=failure.expected, solution=failure.solution,
            details=failure.details,
        )  # fmt: skip

    def list_classes(self) -> Contract:
        from ai_evolution.grading.exercise import EXERCISES
        from ai_evolution.labs import LABS

        def list_classes() -> dict[str, Any]:
            rows = load_classes(self._root) if (self._root / CLASSES).is_file() else ()
            return {
                "classes": [
                    {
                        "number": row.number,
                        "slug": row.slug,
                        "title": getattr(row.title, self._lang),
                        "hours": row.hours,
                        "lab": row.lab,
                        "page": f"class://{row.number}/{self._lang}",
                    }
                    for row in rows
                ],
                "labs": [
                    {
                        "name": lab.name,
                        "title": lab.title[self._lang],
                        "parameters": [
                            {
                                "name": each.name,
                                "default": each.default,
                                "minimum": each.minimum,
                                "maximum": each.maximum,
                                "says": getattr(each, self._lang),
                            }
                            for each in lab.parameters
                        ],
                    }
                    for lab in LABS.values()
                ],
                "exercises": list(EXERCISES),
            }

        return self._contract(list_classes)

    def run_lab(self) -> Contract:
        async def run_lab(
            lab: str,
            ctx: Context,
            seed: int = 0,
            parameters: dict[str, int] | None = None,
            full: bool = False,
        ) -> dict[str, Any]:
            from ai_evolution.labs import run_lab

            def work(say: Say) -> Any:
                given: dict[str, Any] = dict(parameters or {})
                return run_lab(lab, int(seed), progress=say, **given)

            async with self._one_at_a_time:
                try:
                    report = await reported(ctx, work, lambda: _claims(lab))
                except UsageError as error:
                    raise self._not_accepted(error) from None
            found = {
                "lab": report.kind,
                "seed": report.seed,
                "holds": report.holds,
                "digest": report.digest,
                "findings": [
                    {
                        "id": each.id,
                        "claim": getattr(each.claim, self._lang),
                        "expected": each.expected,
                        "observed": each.observed,
                        "holds": each.holds,
                    }
                    for each in report.evidence
                ],
                "limitations": [getattr(each.says, self._lang) for each in report.limitations],
            }
            return found | ({"evidence": report.document()} if full else {})

        return self._contract(run_lab, deadline=LAB_DEADLINE)

    def verify_evidence(self) -> Contract:
        async def verify_evidence(
            ctx: Context, evidence: dict[str, Any] | None = None, path: str | None = None
        ) -> dict[str, Any]:
            from ai_evolution.labs import run_lab, verify

            document = evidence if path is None else self._document(path)
            kind = str((document or {}).get("kind", ""))

            def work(say: Say) -> Any:
                def again(name: str, seed: int, **given: Any) -> Any:
                    return run_lab(name, seed, progress=say, **given)

                return verify(document or {}, recompute=again)

            async with self._one_at_a_time:
                try:
                    found = await reported(ctx, work, lambda: _claims(kind))
                except (DocumentError, UsageError) as error:
                    raise self._not_evidence(error) from None
            return {
                "same": found.same,
                "holds": found.holds,
                "pointer": found.pointer,
                "failing": list(found.failing),
                "says": found.says(self._lang),
            }

        either = Condition(
            id="either",
            says=SAYS["either"],
            holds=lambda given, _: ("evidence" in given) != ("path" in given),
        )
        return self._contract(verify_evidence, deadline=LAB_DEADLINE, pre=[either])

    def _not_evidence(self, error: Exception) -> ToolFailure:
        return self._failure("NOT_EVIDENCE", error, self._say("evidence"), self._say("fetch"))

    def _document(self, path: str) -> dict[str, Any]:
        """The JSON document in a file. Raises ToolFailure."""
        try:
            value = load(self._folder.content(path), "evidence.json").value
        except Refused as refusal:
            raise self._served(refusal) from None
        except DocumentError as error:
            raise self._not_evidence(error) from None
        if not isinstance(value, dict):
            raise self._not_evidence(DocumentError(f"{path}: no JSON object"))
        return value

    def check_exercise(self) -> Contract:
        async def ask(file: str, ctx: Context) -> Elicit[Consent] | Consent:
            asks = ctx.client_capabilities.elicitation if ctx.client_capabilities else None
            if asks is None or (asks.form is None and asks.url is not None):
                return Consent(start=True)  # nobody can be asked through this client: the host decides
            try:
                self._folder.content(file)
            except Refused:
                return Consent(start=True)  # nothing will be started: the tool says why
            return Elicit(self._say("ask", file=file), Consent)

        async def check_exercise(
            ctx: Context,
            consent: Annotated[ElicitationResult[Consent], Resolve(ask)],
            **given: Any,
        ) -> dict[str, Any]:
            if not isinstance(consent, AcceptedElicitation) or not consent.data.start:
                raise ToolFailure(
                    "NOT_ALLOWED",
                    self._say("refused"),
                    expected=self._say("allow"),
                    solution=self._say("talk"),
                    details={"action": consent.action},
                )
            return await self._check(ctx, **given)

        return self._contract(check_exercise, deadline=CHECK_DEADLINE)

    async def _check(self, ctx: Context, **given: Any) -> dict[str, Any]:
        from ai_evolution.grading.exercise import check_exercise, exercise_behaviours, find_exercise

        try:
            slug = find_exercise(given["class"]).class_slug
            source = self._folder.content(given["file"])
        except UsageError as error:
            raise self._not_accepted(error) from None
        except Refused as refusal:
            raise self._served(refusal) from None
        only, seed = given.get("only"), int(given.get("seed", 0))

        def work(say: Say) -> Any:
            with tempfile.TemporaryDirectory() as room:  # what is checked is what was read
                copy = Path(room) / given["file"].rpartition("/")[2]
                copy.write_bytes(source)
                return check_exercise(slug, copy, only=only, seed=seed, seen=lambda each: say(each.id))

        async with self._one_at_a_time:
            try:
                report = await reported(ctx, work, lambda: len(only or exercise_behaviours(slug)))
            except UsageError as error:
                raise self._not_accepted(error) from None
        told = report.as_dict()
        return {
            "class": slug,
            "passed": report.passed,
            "held": report.held,
            "count": len(report.observations),
            "behaviours": [
                {key: each["says"][self._lang] if key == "says" else each[key] for key in
                 ("id", "says", "holds", "expected", "observed")}
                for each in told["behaviours"]
            ],
            "problem": report.problem[self._lang] if report.problem else "",
            "output": report.output[-4000:],
        }  # fmt: skip


def _claims(lab: str) -> int:
    """How many findings a lab will have, 0 when there is no such lab."""
    from ai_evolution.labs import LABS

    return len(LABS[lab].load().CLAIMS) if lab in LABS else 0
