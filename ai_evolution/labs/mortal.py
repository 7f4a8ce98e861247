"""An MCP server over stdio that ends badly: ``python mortal.py dies|stalls|floods|babbles``.

It knows no SDK, so that it can do what no SDK does, and starts in some thirty milliseconds. Up to the call of
its tool it is a good server of both eras.
"""

import json
import os
import sys

TOOL = {
    "name": "count",
    "description": "Counts.",
    "inputSchema": {"type": "object"},
    "annotations": {"readOnlyHint": True},
}
DISCOVERED = {
    "supportedVersions": ["2026-07-28"],
    "capabilities": {"tools": {}},
    "resultType": "complete",
    "ttlMs": 0,
    "cacheScope": "private",
}
LISTED = {"tools": [TOOL], "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
HANDSHAKE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "mortal", "version": "1"},
}
LONG = 64 * 1024 * 1024
"""Characters that the flood sends without an end of line."""


def answer(number: object, result: object) -> None:
    """One response."""
    print(json.dumps({"jsonrpc": "2.0", "id": number, "result": result}), flush=True)


def end_badly(kind: str) -> None:
    """What happens instead of an answer to the call."""
    if kind == "dies":
        os._exit(9)
    if kind == "floods":
        while True:
            sys.stdout.write("x" * LONG)
    if kind == "babbles":
        print("Traceback (most recent call last): just kidding", flush=True)
    for _line in sys.stdin:
        pass  # it goes on listening, and says nothing more


def main(kind: str) -> None:
    """Answer until the tool is called."""
    results = {"server/discover": DISCOVERED, "tools/list": LISTED, "initialize": HANDSHAKE}
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("method") == "tools/call":
            end_badly(kind)
        elif "id" in message:
            answer(message["id"], results.get(message["method"], {}))


if __name__ == "__main__":
    main(sys.argv[1])
