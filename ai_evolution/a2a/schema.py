"""Whether an output schema is one: JSON Schema 2020-12, judged once however often it is met.

The same card is read by every delegation, and checking a schema against its meta-schema costs
more than a whole exchange. Verdicts are kept for the last few schemas, by their canonical text.
It refuses to fetch anything: ``schema_fault`` looks at the schema alone, wherever its references lead.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

KEPT = 64
LONGEST = 65_536
"""Characters of a schema whose verdict is worth keeping."""


def schema_fault(schema: Any) -> str | None:
    """``pointer: why`` when ``schema`` is no JSON Schema 2020-12, in a few words; None when it is one."""
    try:
        text = json.dumps(schema, sort_keys=True)
    except RecursionError:
        return "nested too deeply"
    except (TypeError, ValueError):
        return _judge(schema)
    return _remembered(text) if len(text) <= LONGEST else _judge(schema)


@lru_cache(maxsize=KEPT)
def _remembered(text: str) -> str | None:
    return _judge(json.loads(text))


def _judge(schema: Any) -> str | None:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        said = " ".join(error.message.split())
        return f"{_pointer(error.absolute_path) or '/'}: {said[:120]}"
    except RecursionError:
        return "nested too deeply"
    return None


def _pointer(path: Iterable[str | int]) -> str:
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)
