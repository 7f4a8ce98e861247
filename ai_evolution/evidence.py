"""Evidence: what was claimed, what was expected, what was observed, and what it does not show.

A lab states its ``Claim`` and ``Limitation`` records first and then yields one ``Finding``
per claim, with ``Input`` and ``Result`` records beside them. ``assemble`` turns the lot into
a ``Report``: the JSON document of DESIGN section 4, whose digest is SHA-256 over the RFC 8785
bytes of everything else. ``holds`` is computed here and can't be given.

What this module refuses: a claim without a finding, a finding without a claim, either of them
twice, a value that RFC 8785 has no bytes for (NaN, integers beyond 2**53, non-string keys).
What took how long is a ``Measurement``: it is kept beside the document and never inside it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import rfc8785
from pydantic import BaseModel, ConfigDict, Field, JsonValue, PrivateAttr, ValidationError, computed_field

from ai_evolution.errors import DocumentError, LabError

SCHEMA = "ai-evolution/evidence/1"
SCHEMA_ID = "urn:ai-evolution:schema:evidence:1"
STATUS = "EXECUTABLE_CORE"
MAX_FILE = 16 * 1024 * 1024
LANGUAGES = ("en", "es")
DIGEST = "sha256:[0-9a-f]{64}"


# ---------------------------------------------------------------------- what a lab speaks in


@dataclass(frozen=True)
class Claim:
    """One sentence that can turn out false, in both languages, and where it comes from.

    ``sources`` are keys of the catalogues (``P138``, ``B16``): at least one.
    """

    id: str
    en: str
    es: str
    sources: tuple[str, ...]


@dataclass(frozen=True)
class Limitation:
    """Something the lab does not show. ``kind``: scope, model, measurement or method."""

    id: str
    kind: Literal["scope", "model", "measurement", "method"]
    en: str
    es: str


@dataclass(frozen=True)
class Finding:
    """The answer to one claim. It holds when both values have the same RFC 8785 bytes."""

    claim_id: str
    expected: Any
    observed: Any


@dataclass(frozen=True)
class Input:
    """Something the lab started from; it is written under ``inputs``."""

    key: str
    value: Any


@dataclass(frozen=True)
class Result:
    """Part of the structured outcome; it is written under ``result``."""

    key: str
    value: Any


@dataclass(frozen=True)
class Measurement:
    """A duration or a size of this machine; it goes to ``run.json``, never into the digest."""

    key: str
    value: Any


Record = Finding | Input | Result | Measurement


# ------------------------------------------------------------------------- the document


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, populate_by_name=True)


class BothLanguages(_Strict):
    """The same sentence for English and for Spanish readers."""

    en: str = Field(min_length=1)
    es: str = Field(min_length=1)


class Evidence(_Strict):
    """One claim with what was expected and what was observed."""

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9.\-]*$")
    claim: BothLanguages
    sources: list[str] = Field(min_length=1)
    expected: JsonValue
    observed: JsonValue
    holds: bool


class Limit(_Strict):
    """One thing that the lab does not show."""

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9.\-]*$")
    kind: Literal["scope", "model", "measurement", "method"]
    says: BothLanguages


class Report(_Strict):
    """A whole report. ``Report.load`` reads one from a file, ``assemble`` makes one from a run."""

    schema_: Literal["ai-evolution/evidence/1"] = Field(alias="schema")
    kind: str = Field(min_length=1)
    class_: str = Field(alias="class", pattern=r"^\d{3}-[a-z0-9-]+$")
    status: Literal["EXECUTABLE_CORE"]
    seed: int = Field(ge=0, le=2**53 - 1)
    parameters: dict[str, JsonValue]
    engine: str
    protocols: dict[str, str]
    inputs: dict[str, JsonValue]
    result: dict[str, JsonValue]
    evidence: list[Evidence] = Field(min_length=1)
    limitations: list[Limit] = Field(min_length=1)

    _measurements: dict[str, Any] = PrivateAttr(default_factory=dict)
    _digest: str = PrivateAttr(default="")

    @computed_field(  # type: ignore[prop-decorator]
        description="sha256 over the RFC 8785 bytes of everything else",
        json_schema_extra={"pattern": f"^{DIGEST}$"},
    )
    @property
    def digest(self) -> str:
        """``sha256:`` and the hash of the RFC 8785 bytes of the document without its digest."""
        if not self._digest:  # a report never changes
            self._digest = digest_of(self.model_dump(mode="json", by_alias=True, exclude={"digest"}))
        return self._digest

    @property
    def holds(self) -> bool:
        """Whether every claim holds."""
        return all(item.holds for item in self.evidence)

    @property
    def measurements(self) -> dict[str, Any]:
        """Durations and sizes of this machine; empty on a report that was read from a file."""
        return self._measurements

    def document(self) -> dict[str, Any]:
        """The report as plain JSON values, the digest last."""
        return self.model_dump(mode="json", by_alias=True)

    def to_bytes(self) -> bytes:
        """The bytes of ``evidence.json``: UTF-8, two spaces, one final line feed."""
        return (json.dumps(self.document(), ensure_ascii=False, indent=2) + "\n").encode("utf-8")

    def finding(self, claim_id: str) -> Evidence:
        """The evidence for one claim; ``KeyError`` when the report has no such claim."""
        for item in self.evidence:
            if item.id == claim_id:
                return item
        raise KeyError(claim_id)

    @classmethod
    def load(cls, path: Path | str) -> Report:
        """Read a report and check it against the schema and its own digest.

        Raises ``DocumentError`` in one line when the file is missing, too large, cut off, not
        JSON, has a key twice, breaks the schema, or says a digest that is not its own.
        """
        document = read_document(path)
        problem = schema_problem(document)
        if problem:
            raise DocumentError(f"{path}: {problem}")
        report = cls.from_document(document, str(path))
        if document["digest"] != report.digest:
            raise DocumentError(f"{path}: /digest is not the digest of the rest; something was changed")
        return report

    @classmethod
    def from_document(cls, document: Mapping[str, Any], name: str = "the report") -> Report:
        """A report from JSON values, its digest not recomputed. ``DocumentError`` on a wrong shape.

        The models decide here, which are as strict as the schema made of them and much quicker.
        """
        try:
            report = cls.model_validate({k: v for k, v in document.items() if k != "digest"})
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            said = schema_problem(document) or f"{pointer(first['loc'])}: {first['msg']}"
            raise DocumentError(f"{name}: {said}") from None
        if not re.fullmatch(DIGEST, str(document.get("digest"))):
            raise DocumentError(f"{name}: {schema_problem(document) or '/digest: no digest'}")
        return report


def assemble(
    *,
    kind: str,
    class_slug: str,
    seed: int,
    parameters: Mapping[str, Any],
    engine: str,
    protocols: Mapping[str, str],
    claims: Sequence[Claim],
    limitations: Sequence[Limitation],
    records: Iterable[Record],
) -> Report:
    """The report of a run, claims in the order in which they were stated.

    Raises ``LabError`` naming the claim, finding or key that breaks the contract.
    """
    stated = {claim.id: claim for claim in claims}
    _refuse_twice("claim", [claim.id for claim in claims])
    _refuse_twice("limitation", [limit.id for limit in limitations])
    found: dict[str, Evidence] = {}
    inputs: dict[str, Any] = {}
    result: dict[str, Any] = {}
    measured: dict[str, Any] = {}
    homes: dict[type, dict[str, Any]] = {Input: inputs, Result: result, Measurement: measured}
    for record in records:
        if isinstance(record, Finding):
            claim = stated.get(record.claim_id)
            if claim is None:
                raise LabError(f"{kind}: a finding for {record.claim_id}, which was never claimed")
            if claim.id in found:
                raise LabError(f"{kind}: two findings for {claim.id}; one claim has one finding")
            found[claim.id] = _evidence(claim, record)
        else:
            home = homes[type(record)]
            if record.key in home:
                raise LabError(f"{kind}: {type(record).__name__.lower()} {record.key} given twice")
            home[record.key] = record.value
    missing = [claim.id for claim in claims if claim.id not in found]
    if missing:
        raise LabError(f"{kind}: no finding for {', '.join(missing)}")
    report = Report.model_validate(
        {
            "schema": SCHEMA,
            "kind": kind,
            "class": class_slug,
            "status": STATUS,
            "seed": seed,
            "parameters": plain(dict(parameters), "/parameters"),
            "engine": engine,
            "protocols": dict(protocols),
            "inputs": plain(inputs, "/inputs"),
            "result": plain(result, "/result"),
            "evidence": [found[claim.id] for claim in claims],
            "limitations": [
                Limit(id=item.id, kind=item.kind, says=BothLanguages(en=item.en, es=item.es))
                for item in limitations
            ],
        }
    )
    report._measurements.update(measured)
    return report


def _evidence(claim: Claim, finding: Finding) -> Evidence:
    expected = plain(finding.expected, f"{claim.id}/expected")
    observed = plain(finding.observed, f"{claim.id}/observed")
    return Evidence(
        id=claim.id,
        claim=BothLanguages(en=claim.en, es=claim.es),
        sources=list(claim.sources),
        expected=expected,
        observed=observed,
        holds=canonical(expected) == canonical(observed),
    )


def _refuse_twice(what: str, ids: Sequence[str]) -> None:
    for identifier in ids:
        if ids.count(identifier) > 1:
            raise LabError(f"{what} {identifier} is stated twice")


# ------------------------------------------------------------------------ canonical bytes


def canonical(value: Any) -> bytes:
    """RFC 8785 bytes of a JSON value. ``LabError`` for what has none."""
    try:
        return rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, RecursionError, TypeError, ValueError) as error:
        raise LabError(f"no canonical bytes: {error}") from None


def plain(value: Any, where: str) -> Any:
    """``value`` as JSON values (tuples become lists, members are sorted by name).

    Members are sorted because some come out of maps without an order (protobuf's are), and the file
    is to have the same bytes everywhere. ``LabError`` naming ``where`` for what is no JSON value.

    Sets are refused, because they have no order; so is everything that JSON has no word for.
    """
    if isinstance(value, Mapping):
        bad = [key for key in value if not isinstance(key, str)]
        if bad:
            raise LabError(f"{where}: key {bad[0]!r} is not a string")
        return {key: plain(item, f"{where}/{key}") for key, item in sorted(value.items())}
    if isinstance(value, list | tuple):
        return [plain(item, f"{where}/{index}") for index, item in enumerate(value)]
    if value is None or isinstance(value, str | bool | int | float):
        try:
            canonical(value)
        except LabError as error:
            raise LabError(f"{where}: {error}") from None
        return value
    raise LabError(f"{where}: {type(value).__name__} is no JSON value")


def digest_of(document: Mapping[str, Any]) -> str:
    """``sha256:...`` over the RFC 8785 bytes of ``document`` without its ``digest``."""
    rest = {key: value for key, value in document.items() if key != "digest"}
    return "sha256:" + hashlib.sha256(canonical(rest)).hexdigest()


def pointer(path: Iterable[object]) -> str:
    """A JSON pointer (RFC 6901) from keys and indices; the whole document is ``""``."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


def differences(given: Any, computed: Any, path: tuple[object, ...] = ()) -> list[str]:
    """JSON pointers of every place where two documents differ, in document order.

    A member or element that only one of them has is one difference, at its own pointer.
    ``1`` and ``1.0`` are the same number, as they are in RFC 8785; ``1`` and ``true`` are not.
    """
    if isinstance(given, dict) and isinstance(computed, dict):
        found: list[str] = []
        for key in [*given, *(key for key in computed if key not in given)]:
            if key in given and key in computed:
                found += differences(given[key], computed[key], (*path, key))
            else:
                found.append(pointer((*path, key)))
        return found
    if isinstance(given, list) and isinstance(computed, list):
        shared = min(len(given), len(computed))
        found = []
        for index in range(shared):
            found += differences(given[index], computed[index], (*path, index))
        return found + [pointer((*path, index)) for index in range(shared, max(len(given), len(computed)))]
    same = type(given) is type(computed) or (_number(given) and _number(computed))
    return [] if same and given == computed else [pointer(path)]


def first_difference(given: Any, computed: Any) -> str | None:
    """The first of ``differences``, or ``None`` when the documents are equal."""
    found = differences(given, computed)
    return found[0] if found else None


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def resolve(document: Any, where: str) -> Any:
    """The value at a JSON pointer; ``KeyError`` when the document has nothing there."""
    value = document
    for step in where.split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        try:
            value = value[int(key)] if isinstance(value, list) else value[key]
        except (IndexError, KeyError, TypeError, ValueError):
            raise KeyError(where) from None
    return value


# ------------------------------------------------------------------- reading and the schema


def schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of a report, generated from the models above."""
    made = Report.model_json_schema(mode="serialization", by_alias=True)
    made["title"] = "Evidence of an ai_evolution lab"
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": SCHEMA_ID, **made}


@lru_cache(maxsize=1)
def _validator() -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(schema())


def schema_problem(document: object) -> str | None:
    """The first way in which ``document`` breaks the schema, with its JSON pointer, or ``None``."""
    from jsonschema.exceptions import best_match

    error = best_match(_validator().iter_errors(document))
    if error is None:
        return None
    return f"{pointer(error.absolute_path) or '/'}: {error.message[:200]}"


def read_document(path: Path | str) -> dict[str, Any]:
    """The JSON object in a file, read strictly. ``DocumentError`` in one line for anything else."""
    try:
        if Path(path).exists() and not (Path(path).is_file() or Path(path).is_dir()):
            raise DocumentError(f"{path}: no ordinary file; what comes through a pipe is read from -")
        with Path(path).open("rb") as file:
            raw = file.read(MAX_FILE + 1)
    except OSError as error:
        raise DocumentError(f"{path}: {error.strerror or error}") from None
    return parse_document(raw, str(path))


def parse_document(raw: bytes, name: str) -> dict[str, Any]:
    """A JSON object from bytes: UTF-8, no key twice, no NaN, at most 16 MiB."""
    if len(raw) > MAX_FILE:
        raise DocumentError(f"{name}: larger than {MAX_FILE} bytes")
    if not raw.strip():
        raise DocumentError(f"{name}: empty file; expected the JSON that a lab writes")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DocumentError(f"{name}: not UTF-8 at byte {error.start}") from None
    try:
        value = json.loads(text, object_pairs_hook=_no_twice, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        cut = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated")
        says = "ends in the middle (cut off?)" if cut else error.msg
        raise DocumentError(
            f"{name}: not JSON at line {error.lineno}, column {error.colno}: {says}"
        ) from None
    except RecursionError:
        raise DocumentError(f"{name}: nested too deep") from None
    except ValueError as error:
        raise DocumentError(f"{name}: {error}") from None
    if not isinstance(value, dict):
        raise DocumentError(f"{name}: expected a JSON object, found {type(value).__name__}")
    return value


def _no_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"key {twice!r} occurs twice in one object")
    return made


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON number")
