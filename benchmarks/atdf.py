"""Validate, convert and lint a catalogue of tools, against bare ``jsonschema`` on the same documents.

    python benchmarks/atdf.py [--tools 300] [--rounds 5] [--large 30000] [--out FILE]

The catalogue is made of the recorded tools of six real servers, each time under another name and with other
texts, so that nothing which is remembered about one schema helps with the next. Both sides start from the
bytes of the same ``tools/list``.

* ours: ``load``, ``validate`` against the form and every schema in it, ``convert`` to ATDF 2.x with its list
  of losses (that is, there and back), and ``lint``
* bare: ``json.loads``, the schema of the form and the meta-schema of every schema in it, by validators of
  ``jsonschema`` that are built once, and nothing else

They take turns (A B B A ...) in one process, on a fresh catalogue each round; the ratio is that of the
medians of processor time, since nothing here waits and neighbours should not count. The bar is 0.5. Then
ours alone, on catalogues up to ``--large`` tools: the slope is the time per tool of the largest over that of
the smallest, and 1.5 is the most that still counts as linear. Exit code 1 when a bar is missed.
"""

from __future__ import annotations

import argparse
import gc
import json
import platform
import statistics
import sys
import time
from importlib import metadata
from pathlib import Path
from typing import Any

from jsonschema import Draft7Validator, Draft202012Validator

from ai_evolution.atdf.convert import convert
from ai_evolution.atdf.documents import load
from ai_evolution.atdf.lint import lint_document
from ai_evolution.atdf.shapes import validate
from ai_evolution.atdf.translation.facets import schema_of

BAR, LINEAR = 0.5, 1.5
ROOT = Path(__file__).resolve().parent.parent
RECORDED = [
    tool
    for path in sorted((ROOT / "sources" / "mcp_tools").glob("*.json"))
    for tool in json.loads(path.read_text(encoding="utf-8"))["tools"]
]
FORM = Draft202012Validator(schema_of("mcp"))
METAS = {
    True: Draft7Validator(Draft7Validator.META_SCHEMA),
    False: Draft202012Validator(Draft202012Validator.META_SCHEMA),
}


def catalogue(size: int, series: int) -> bytes:
    """Return a tools list of so many tools, no two of which have a schema of the same text."""
    tools = []
    for position in range(size):
        tool = json.loads(json.dumps(RECORDED[position % len(RECORDED)]))
        mark = f"{series}-{position}"
        tool["name"] = f"{tool['name']}_{mark}"
        tool["description"] = f"{tool.get('description', '')} ({mark})"
        for key in ("inputSchema", "outputSchema"):
            if key in tool:
                tool[key]["$comment"] = mark
                for name, part in tool[key].get("properties", {}).items():
                    part["description"] = f"{part.get('description', name)} ({mark})"
        tools.append(tool)
    return json.dumps({"tools": tools}, ensure_ascii=False).encode("utf-8")


def ours(raw: bytes) -> dict[str, float]:
    """Do all that ``atdf validate``, ``convert`` and ``lint`` do; returns the seconds of each."""
    seconds = {}
    begun = time.process_time()
    document = load(raw, "catalogue.json")
    seconds["load"], begun = time.process_time() - begun, time.process_time()
    found = validate(document)
    seconds["validate"], begun = time.process_time() - begun, time.process_time()
    conversion = convert(document.value, "atdf-2")
    seconds["convert"], begun = time.process_time() - begun, time.process_time()
    lint_document(document)
    seconds["lint"] = time.process_time() - begun
    if found or conversion.losses:
        raise SystemExit(f"the catalogue is not what it should be: {found[:1]} {conversion.losses[:1]}")
    return seconds | {"all": sum(seconds.values())}


def bare(raw: bytes) -> dict[str, float]:
    """Do what ``jsonschema`` alone does with the same bytes."""
    begun = time.process_time()
    for tool in json.loads(raw)["tools"]:
        errors = list(FORM.iter_errors(tool))
        for key in ("inputSchema", "outputSchema"):
            if key in tool:
                errors += METAS["draft-07" in tool[key].get("$schema", "")].iter_errors(tool[key])
        if errors:
            raise SystemExit(f"the catalogue is not what it should be: {errors[0].message}")
    return {"all": time.process_time() - begun}


def compare(size: int, rounds: int) -> dict[str, Any]:
    """Return the seconds of both sides and their ratio, measured in turns."""
    seen: dict[str, list[dict[str, float]]] = {"ours": [], "bare": []}
    sides = (("ours", ours), ("bare", bare))
    for turn in range(-1, rounds):
        for name, side in sides if turn % 2 == 0 else reversed(sides):
            raw = catalogue(size, turn + 1)
            gc.collect()
            spent = side(raw)
            if turn >= 0:  # the first turn warms both up
                seen[name].append(spent)
    medians = {
        name: {step: round(statistics.median(one[step] for one in spent), 4) for step in spent[0]}
        for name, spent in seen.items()
    }
    ratio = round(medians["bare"]["all"] / medians["ours"]["all"], 3)
    return {"tools": size, "seconds": medians, "ratio": ratio, "holds": ratio >= BAR}


def grow(smallest: int, largest: int) -> dict[str, Any]:
    """Return the milliseconds per tool at several sizes, and the largest over the smallest of them."""
    sizes = [smallest]
    while sizes[-1] * 10 <= largest:
        sizes.append(sizes[-1] * 10)
    each: dict[int, float] = {}
    for size in sizes:
        times = []
        for series in range(5 if size == smallest else 1):
            raw = catalogue(size, 1000 + series)
            gc.collect()
            times.append(ours(raw)["all"])
        each[size] = round(statistics.median(times) / size * 1000, 4)
        print(f"  {size} tools: {each[size]:.3f} ms each", file=sys.stderr)
    slope = round(each[sizes[-1]] / each[sizes[0]], 3)
    return {"milliseconds_per_tool": each, "slope": slope, "holds": slope <= LINEAR}


def main() -> int:
    """Measure, print a table, write the JSON; 0 when both bars hold."""
    parser = argparse.ArgumentParser(description="validate + convert + lint against bare jsonschema.")
    parser.add_argument("--tools", type=int, default=300, help="tools in the catalogue of the comparison")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--large", type=int, default=30_000, help="tools in the largest catalogue")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/atdf.json"))
    arguments = parser.parse_args()
    if min(arguments.tools, arguments.rounds) < 1 or arguments.large < arguments.tools:
        parser.error("--tools and --rounds: 1 or more accepted; --large: at least --tools")
    speed = compare(arguments.tools, arguments.rounds)
    growth = grow(arguments.tools, arguments.large)
    result = {
        "benchmark": "atdf",
        "bar": BAR,
        "linear": LINEAR,
        "rounds": arguments.rounds,
        "python": platform.python_version(),
        "jsonschema": metadata.version("jsonschema"),
        "speed": speed,
        "growth": growth,
    }
    for name, seconds in speed["seconds"].items():
        print(f"{name:5}" + "".join(f"  {step} {spent * 1000:8.1f} ms" for step, spent in seconds.items()))
    print(f"ratio {speed['ratio']:.2f}: bar {BAR} {'holds' if speed['holds'] else 'IS MISSED'}")
    print(f"slope {growth['slope']:.2f}: {'linear' if growth['holds'] else 'NOT LINEAR'}")
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(f"\nwritten: {arguments.out}")
    return 0 if speed["holds"] and growth["holds"] else 1


if __name__ == "__main__":
    sys.exit(main())
