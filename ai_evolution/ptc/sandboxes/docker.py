"""A container for each session: no network, a read-only root, no rights, and sums on everything.

The engine is reached through its command line, so whatever that reaches will do: a context, a remote engine,
or ``podman`` by its own name. The runner's text travels in the command line itself: nothing of this machine
is mounted, and a remote engine needs no file of ours. No image is ever pulled here: what runs is what
somebody fetched on purpose.

The client is not the container. At the deadline, after a crash and at the end the client is killed and the
container removed by its name; when the engine doesn't confirm that, ``run`` or ``close`` raises, for
otherwise it would go on unseen. Should this process itself be killed, the container's stdin ends and the
runner leaves; a program that holds out is found by its label (``docker ps --filter label=ai-evolution.ptc``).

It refuses to choose an image behind your back: the default is one digest, and a name without one is yours to
trust. What is not promised: the kernel is the machine's own, as it is for every container.
"""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType

from ai_evolution.errors import SandboxUnavailable, UsageError
from ai_evolution.ptc.limits import Limits
from ai_evolution.ptc.process import RUNNER, Launch, ProcessSession, posix_only
from ai_evolution.ptc.sandbox import ToolStub

IMAGE = "python:3.12-slim@sha256:78387bc3881b8273120a12ebe6c1ab22b018ccc2c9adf565ae1ac9b536e184ea"
"""As public Dockerfiles pin it; we have not resolved it against the registry ourselves."""

LABEL = "ai-evolution.ptc"
NOBODY = "65534:65534"
OPEN_FILES = 128
PATIENCE = 30.0  # seconds for the engine to remove a container
PROXIES = ("http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy")  # the client would fill them in
_PASSED = re.compile(r"DOCKER_.*|CONTAINER_.*|PATH|HOME|XDG_RUNTIME_DIR|SSH_AUTH_SOCK|LANG|LC_.*")
_REFERENCE = re.compile(r"[a-z0-9][A-Za-z0-9._:/@-]*")


class DockerSandbox:
    """``image`` needs a Python of 3.9 or newer called ``python``; ``cpus`` is how many it may keep busy.

    ``engine`` is the client's name or path. ``start`` is how many seconds it gets to be ready.
    UsageError for an image that is no reference, or for no cpus.
    """

    name = "docker"
    isolation: Mapping[str, bool] = MappingProxyType(
        {"network": True, "files": True, "processes": True, "memory": True, "time": True}
    )

    def __init__(
        self, image: str = IMAGE, *, cpus: float = 1.0, engine: str = "docker", start: float = 60.0
    ) -> None:
        if not _REFERENCE.fullmatch(image):
            raise UsageError(f"image {image!r} given, a reference like {IMAGE[:24]}... accepted")
        if not cpus > 0:
            raise UsageError(f"cpus={cpus!r} given, a number above 0 accepted")
        self._image, self._cpus, self._engine, self._start = image, cpus, engine, start

    async def open(self, tools: Sequence[ToolStub], limits: Limits = Limits()) -> DockerSession:  # noqa: B008
        """A container of its own. SandboxUnavailable without a client, an engine or the image."""
        posix_only(self.name)
        engine = shutil.which(self._engine)
        if engine is None:
            raise SandboxUnavailable(
                f"sandbox docker needs {self._engine}, not found on PATH", "install Docker, or use jail"
            )
        environment = {name: value for name, value in os.environ.items() if _PASSED.fullmatch(name)}
        help = (
            f"start the engine ({self._engine} info), and fetch the image: {self._engine} pull {self._image}"
        )
        session = DockerSession(
            lambda name: command(engine, name, self._image, self._cpus, limits),
            [engine, "rm", "--force"],
            environment,
            tools,
            limits,
            help=help,
            start=self._start,
        )
        return await session.start()


def command(engine: str, name: str, image: str, cpus: float, limits: Limits) -> list[str]:
    """The command line of a container."""
    return [
        *[engine, "run", "--rm", "--interactive", "--init", "--pull", "never"],
        *["--name", name, "--hostname", "sandbox", "--label", LABEL, "--log-driver", "none"],
        *["--network", "none", "--ipc", "none", "--read-only", "--workdir", "/tmp"],
        *["--tmpfs", f"/tmp:rw,noexec,nosuid,nodev,size={limits.files}"],
        *["--user", NOBODY, "--cap-drop", "ALL", "--security-opt", "no-new-privileges"],
        *["--memory", str(limits.memory), "--memory-swap", str(limits.memory), "--cpus", f"{cpus:g}"],
        *["--pids-limit", str(limits.processes), "--ulimit", f"nofile={OPEN_FILES}:{OPEN_FILES}"],
        *["--ulimit", f"fsize={limits.files}:{limits.files}", "--ulimit", "core=0:0", "--stop-timeout", "1"],
        *[word for proxy in PROXIES for name in (proxy, proxy.upper()) for word in ("--env", f"{name}=")],
        *["--entrypoint", "python", image],
        *["-I", "-S", "-u", "-c", RUNNER.read_text(encoding="utf-8")],
    ]


class DockerSession(ProcessSession):
    """A client of the engine and the container behind it, which has a new name at each start."""

    def __init__(
        self,
        argv: Callable[[str], list[str]],
        remove: Sequence[str],
        environment: dict[str, str],
        tools: Sequence[ToolStub],
        limits: Limits,
        *,
        help: str,
        start: float,
    ) -> None:
        self._argv, self._rm, self._environment = argv, list(remove), environment
        self._container = ""
        self._up = False
        super().__init__("docker", self._launched, tools, limits, help=help, start=start)

    @property
    def container(self) -> str:
        """The name of the container that is running, or was last."""
        return self._container

    @contextmanager
    def _launched(self) -> Iterator[Launch]:
        self._container = f"ptc-{secrets.token_hex(8)}"
        yield Launch(self._argv(self._container), self._environment)

    async def start(self) -> DockerSession:
        self._up = False
        await super().start()
        self._up = True
        return self

    async def _kill(self) -> None:
        if self._child is not None:
            await asyncio.shield(asyncio.ensure_future(self._kill_both()))

    async def _kill_both(self) -> None:
        """The client first, so that it can't start a container that was removed already."""
        await super()._kill()
        why = await self._remove()
        if why and self._up:
            raise SandboxUnavailable(
                f"container {self._container} may still be running: {why}",
                " ".join([*self._rm, self._container]),
            )

    async def _remove(self) -> str:
        """Remove the container, running or not; what went wrong, or nothing."""
        process = await asyncio.create_subprocess_exec(
            *self._rm,
            self._container,
            env=self._environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            async with asyncio.timeout(PATIENCE):
                said, _ = await process.communicate()
        except TimeoutError:
            process.kill()
            await process.wait()
            return f"the engine did not answer within {PATIENCE:g} s"
        text = " ".join(said.decode("utf-8", "replace").split())
        if process.returncode and "no such container" not in text.lower():
            return text[:300] or f"exit code {process.returncode}"
        return ""
