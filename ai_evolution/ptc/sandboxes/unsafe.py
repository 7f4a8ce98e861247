"""No sandbox: a plain subprocess with the rights of this user.

For programs that you wrote or read yourself, and as the baseline of the benchmarks. It keeps one promise,
time: at the deadline its process group is killed. A program that leaves the group survives even that.
``ptc.open_unsafe()`` is the only door.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType

from ai_evolution.ptc.limits import Limits
from ai_evolution.ptc.process import RUNNER, Launch, ProcessSession, posix_only
from ai_evolution.ptc.sandbox import ToolStub


class UnsafeSandbox:
    """See the head of the module."""

    name = "unsafe"
    isolation: Mapping[str, bool] = MappingProxyType(
        {"network": False, "files": False, "processes": False, "memory": False, "time": True}
    )

    async def open(self, tools: Sequence[ToolStub], limits: Limits = Limits()) -> ProcessSession:  # noqa: B008
        posix_only(self.name)
        return await ProcessSession(self.name, _launch, tools, limits).start()


@contextmanager
def _launch() -> Iterator[Launch]:
    yield Launch([sys.executable, "-I", "-S", "-u", str(RUNNER)], {})
