"""What this student has run, verified and passed; kept on this machine and sent nowhere.

One JSON file in the user's state folder, read and written under a lock so that two commands at
once lose nothing. A file that can't be read is put aside under another name, never overwritten.
Keeping this diary must never be the reason that a run fails: callers catch ``EnvironmentProblem``.
It holds no path, no answer and no evidence, only names, seeds, digests, counts and times.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ai_evolution.errors import AiEvolutionError, EnvironmentProblem
from ai_evolution.files import locked, write_whole

SCHEMA = "ai-evolution/progress/1"
KINDS = ("labs", "verified", "checks")


def home(environment: Mapping[str, str] | None = None) -> Path:
    """The folder of the diary: AI_EVOLUTION_HOME, else the user's state folder of this system."""
    known = os.environ if environment is None else environment
    if known.get("AI_EVOLUTION_HOME"):
        return Path(known["AI_EVOLUTION_HOME"]).expanduser()
    if sys.platform == "win32" and known.get("LOCALAPPDATA"):
        return Path(known["LOCALAPPDATA"]) / "ai-evolution"
    state = known.get("XDG_STATE_HOME", "")
    # The XDG rules: a path that is not absolute is to be ignored.
    base = Path(state) if state and Path(state).is_absolute() else Path("~/.local/state").expanduser()
    return base / "ai-evolution"


def _now() -> datetime:
    return datetime.now(UTC)


class Progress:
    """The diary. Every ``record_*`` adds to what is there; ``read`` returns all of it.

    ``complain`` is called with one English sentence when a file had to be put aside. All methods
    raise ``EnvironmentProblem`` when the folder can't be used.
    """

    def __init__(
        self,
        folder: Path | None = None,
        clock: Callable[[], datetime] = _now,
        complain: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.folder = home() if folder is None else folder
        self.path = self.folder / "progress.json"
        self._clock = clock
        self._complain = complain

    def read(self) -> dict[str, Any]:
        """``{"labs": {...}, "verified": {...}, "checks": {...}}``, empty when nothing was recorded."""
        if not self.path.exists():
            return _empty()
        return self._under_lock(lambda _: None)

    def record_run(self, lab: str, class_slug: str, seed: int, digest: str, held: int, claims: int) -> None:
        """A lab was run: ``held`` of ``claims`` held."""

        def add(kept: dict[str, Any]) -> None:
            row = kept["labs"].setdefault(lab, {"runs": 0, "complete": 0, "seeds": []})
            row["runs"] += 1
            row["complete"] += held == claims
            row["seeds"] = [*(old for old in row["seeds"] if old != seed), seed][-100:]
            row.update({"class": class_slug, "seed": seed, "digest": digest, "held": held, "claims": claims})
            row["last"] = self._stamp()

        self._under_lock(add)

    def record_verify(self, lab: str, class_slug: str, digest: str, holds: bool) -> None:
        """An evidence file was recomputed; ``holds`` when it was the same and every claim held."""

        def add(kept: dict[str, Any]) -> None:
            row = kept["verified"].setdefault(lab, {"times": 0, "held": 0})
            row["times"] += 1
            row["held"] += holds
            row.update({"class": class_slug, "digest": digest, "holds": holds, "last": self._stamp()})

        self._under_lock(add)

    def record_check(self, class_slug: str, passed: int, behaviours: int) -> None:
        """An exercise was checked: ``passed`` of ``behaviours`` held. The best result is kept too."""

        def add(kept: dict[str, Any]) -> None:
            row = kept["checks"].setdefault(class_slug, {"times": 0, "best": 0})
            row["times"] += 1
            row["best"] = max(row["best"], passed)
            row.update({"passed": passed, "behaviours": behaviours, "last": self._stamp()})

        self._under_lock(add)

    def _stamp(self) -> str:
        return self._clock().astimezone(UTC).replace(microsecond=0).isoformat()

    def _under_lock(self, change: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with locked(self.folder / "progress.lock"):
                kept = self._load()
                before = json.dumps(kept, sort_keys=True)
                change(kept)
                if json.dumps(kept, sort_keys=True) != before:
                    said = json.dumps(kept, ensure_ascii=False, indent=2) + "\n"
                    write_whole(self.path, said.encode("utf-8"))
                return kept
        except OSError as error:
            raise EnvironmentProblem(
                f"progress is not kept: {self.folder}: {error.strerror or error}; "
                "AI_EVOLUTION_HOME names another folder"
            ) from None
        except AiEvolutionError as error:
            raise EnvironmentProblem(f"progress is not kept: {error}") from None

    def _load(self) -> dict[str, Any]:
        try:
            raw = self.path.read_bytes()
        except FileNotFoundError:
            return _empty()
        try:
            kept = json.loads(raw)
            problem = _problem(kept)
        except (ValueError, RecursionError):
            kept, problem = None, "it is not JSON"
        if problem is None:
            return {**_empty(), **kept}
        aside = self._aside()
        self.path.replace(aside)
        self._complain(
            f"{self.path} cannot be read ({problem}); it is kept as {aside.name}, a new one begins"
        )
        return _empty()

    def _aside(self) -> Path:
        number = 1
        while (aside := self.folder / f"progress.unreadable-{number}.json").exists():
            number += 1
        return aside


def _empty() -> dict[str, Any]:
    return {"schema": SCHEMA, **{kind: {} for kind in KINDS}}


SHAPE: dict[str, dict[str, type]] = {
    "labs": {"runs": int, "complete": int, "seeds": list, "class": str, "seed": int, "digest": str,
             "held": int, "claims": int, "last": str},
    "verified": {"times": int, "held": int, "class": str, "digest": str, "holds": bool, "last": str},
    "checks": {"times": int, "best": int, "passed": int, "behaviours": int, "last": str},
}  # fmt: skip


def _problem(kept: object) -> str | None:
    if not isinstance(kept, dict) or kept.get("schema") != SCHEMA:
        return f"it is no {SCHEMA}"
    for kind, fields in SHAPE.items():
        rows = kept.get(kind, {})
        if not isinstance(rows, dict):
            return f"/{kind} is no object"
        for name, row in rows.items():
            for field, wanted in fields.items():
                if not isinstance(row, dict) or not isinstance(row.get(field), wanted):
                    return f"/{kind}/{name}/{field} is missing or of another kind"
        if kind == "labs" and not all(
            isinstance(seed, int) for row in rows.values() for seed in row["seeds"]
        ):
            return "/labs has a seed that is no number"
    return None
