#!/usr/bin/env python3
"""Turn the official MCP conformance suite on the fixture server and write down what it said.

    python scripts/conformance.py             write docs/conformance/{2026-07-28,2025-11-25}.json (10 s)
    python scripts/conformance.py --check     write nothing; exit 1 when a file does not say the same
    python scripts/conformance.py --mutants   also turn it on every mutant (2 min) and write
                                              docs/conformance/mutants.json: who notices which fault

The suite is a Node program: ``pip install 'ai-evolution[conformance]'`` brings a Node.js that can run it, and
npm installs it on demand. Where neither can be had, nothing is checked, which is said, and ``--check`` ends
with 0: a machine without Node can't find these files stale.

Which version of Node.js and of the SDK was there is written into the files and not compared.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.metadata
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from ai_evolution.cli.show import quiet
from ai_evolution.errors import AiEvolutionError, EnvironmentProblem
from ai_evolution.files import write_whole
from ai_evolution.mcp.behaviours import examine
from ai_evolution.mcp.conformance import REQUIREMENTS, VERSION, install, run
from ai_evolution.mcp.fixtures import fixture_server, fixture_subject
from ai_evolution.mcp.mutants import MUTANTS
from ai_evolution.network import serve, stop_serving

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "conformance"


@asynccontextmanager
async def served(server: Any) -> AsyncIterator[str]:
    """The URL at which the server is, for as long as the block lasts."""
    listening, port, task = await serve(server.streamable_http_app())
    try:
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        await stop_serving(listening, task)


async def report(requirements: str) -> dict[str, Any]:
    """What the suite and we say about the fixture server, in one document."""
    async with served(fixture_server()) as url:
        said = (await run(url, requirements=requirements)).as_dict()
        ours = await examine(fixture_subject(url, revision=requirements))
    said["versions"]["mcp"] = importlib.metadata.version("mcp")
    return {**said, "behaviours": {one.id: one.holds for one in ours}}


async def mutants() -> dict[str, Any]:
    """Who notices which mutant, on the wire of the newest revision."""
    rows = []
    for mutant in MUTANTS.values():
        print(f"  {mutant.id}", file=sys.stderr, flush=True)
        async with served(mutant.build()) as url:
            official = await run(url)
            ours = await examine(fixture_subject(url))
        rows.append(
            {
                "id": mutant.id,
                "en": mutant.en,
                "es": mutant.es,
                "official": [one.id for one in official.required if one.status != "pass"],
                "official_warnings": [one.id for one in official.required if one.count("WARNING")],
                "official_not_counted": [
                    one.id for one in official.scenarios if not one.required and one.status != "pass"
                    and not one.id.startswith("tasks-")
                ],
                "ours": sorted(one.id for one in ours if not one.holds),
            }
        )  # fmt: skip
    return {"schema": "ai-evolution/mcp-mutants/1", "suite": VERSION, "requirements": REQUIREMENTS[0],
            "mutants": rows}  # fmt: skip


def compared(document: dict[str, Any]) -> dict[str, Any]:
    """The document without what another machine may have otherwise."""
    versions = {key: value for key, value in document.get("versions", {}).items() if key == "suite"}
    return {**document, "versions": versions}


def settle(name: str, document: dict[str, Any], check: bool) -> bool:
    """Write the file, or say whether it is what it should be."""
    path = FOLDER / name
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        kept = {}
    fresh = compared(kept) == compared(document)
    if not check and not fresh:
        FOLDER.mkdir(parents=True, exist_ok=True)
        write_whole(path, (json.dumps(document, ensure_ascii=False, indent=2) + "\n").encode("utf-8"))
    shown = f"docs/conformance/{name}"
    print(f"{shown}: {'as it was' if fresh else 'STALE' if check else 'written'}")
    return fresh or not check


def main() -> int:
    """0 when the files say what the suite says, 1 when not, 2 when it could not be asked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a file is stale")
    parser.add_argument("--mutants", action="store_true", help="also every mutant (2 min)")
    given = parser.parse_args()
    quiet(False)
    try:
        install()
    except EnvironmentProblem as problem:
        print(f"conformance: not checked, {problem}", file=sys.stderr)
        return 0 if given.check else 2
    try:
        good = [settle(f"{name}.json", asyncio.run(report(name)), given.check) for name in REQUIREMENTS]
        if given.mutants:
            good.append(settle("mutants.json", asyncio.run(mutants()), given.check))
    except AiEvolutionError as error:
        print(f"conformance: {error}", file=sys.stderr)
        return 2
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
