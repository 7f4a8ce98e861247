"""Commands are typed as a user types them: ``cli`` in this process, ``shell`` in one of its own."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import types
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ai_evolution.cli import entry
from ai_evolution.evidence import Claim, Finding, Input, Limitation, Record, Result
from ai_evolution.labs import LABS, Lab, Parameter
from ai_evolution.world import World


@dataclass(frozen=True)
class Done:
    """How a command ended and what it said."""

    code: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Progress of the tests goes to a folder of their own, and messages are in English."""
    home = tmp_path / "home"
    monkeypatch.setenv("AI_EVOLUTION_HOME", str(home))
    for name in ("LC_ALL", "LC_MESSAGES", "LANGUAGE", "A2A_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", "C.UTF-8")
    return home


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """Type a command in this process."""

    def typed(*argv: object) -> Done:
        code = entry([str(word) for word in argv])
        said = capsys.readouterr()
        return Done(code, said.out, said.err)

    return typed


@pytest.fixture
def shell(tmp_path: Path) -> Callable[..., Done]:
    """Type a command as a process of its own, with ``environment`` on top of this one's."""

    def typed(*argv: object, cwd: Path = tmp_path, stdin: bytes = b"", **environment: str) -> Done:
        done = subprocess.run(
            [sys.executable, "-m", "ai_evolution", *map(str, argv)],
            input=stdin,
            capture_output=True,
            cwd=cwd,
            env={**os.environ, **environment},
            timeout=120,
            check=False,
        )
        encoding = environment.get("PYTHONIOENCODING", "utf-8")
        return Done(done.returncode, done.stdout.decode(encoding), done.stderr.decode(encoding))

    return typed


@pytest.fixture
def coin(monkeypatch: pytest.MonkeyPatch) -> str:
    """A lab of two claims. Its second one, that the coin does not fall on seed 13, turns out false there."""

    async def run(world: World, *, transport: str, peers: Any, bias: int) -> AsyncIterator[Record]:
        del transport, peers
        yield Input("bias", bias)
        yield Result("toss", world.random.randrange(1000))
        yield Finding("coin.two-sides", ["heads", "tails"], ["heads", "tails"])
        yield Finding("coin.lucky", True, world.seed != 13)

    module = types.SimpleNamespace(
        CLAIMS=(
            Claim("coin.two-sides", "A coin has two sides.", "Una moneda tiene dos caras.", ("P138",)),
            Claim("coin.lucky", "The seed is not 13.", "La semilla no es 13.", ("P138",)),
        ),
        LIMITATIONS=(
            Limitation("coin.one", "scope", "One coin only — no more.", "Solo una moneda, ¡ni una más!"),
        ),
        PROTOCOLS={"coin": "1.0"},
        run=run,
    )
    lab = Lab(
        name="coin",
        class_slug="134-a2a",
        title={"en": "Which side up? → heads", "es": "¿Qué cara sale? → la de arriba"},
        load=lambda: module,  # type: ignore[arg-type, return-value]
        parameters=(Parameter("bias", 3, 1, 8, "how bent it is", "cuán doblada está"),),
    )
    monkeypatch.setitem(LABS, "coin", lab)  # type: ignore[arg-type]
    return "coin"


@pytest.fixture
def free_port() -> Iterator[int]:
    """A loopback port at which nobody answers: it is bound, and not listened to."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]
