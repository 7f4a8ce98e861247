"""Writes ``requirements/*.txt`` from ``pyproject.toml``: exact versions, a hash for every file.

    python scripts/lock.py                         # keep the versions that still fit
    python scripts/lock.py --upgrade               # take the newest that fit
    python scripts/lock.py --upgrade-package mcp   # any option of `uv pip compile`

For maintainers only; it needs ``uv`` on the PATH. Whoever takes the course needs the written files and pip.
One resolution serves every supported system and Python ("universal"). The largest set is compiled first
and constrains the others, so that the files never disagree about a version. No address of a
package registry is written: whoever installs chooses their own.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

SETS: dict[str, tuple[str, ...]] = {  # file name -> extras of pyproject.toml; the largest first
    "bench": ("notebooks", "dev", "bench"),
    "test": ("notebooks", "dev"),
    "notebooks": ("notebooks",),
    "conformance": ("conformance",),
    "core": (),
}


def main(options: list[str]) -> int:
    """Compile every set; returns the exit code of the first that fails, else 0."""
    uv = shutil.which("uv")
    if uv is None:
        print("lock.py: no `uv` on the PATH; install it with `pip install uv`", file=sys.stderr)
        return 2
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    oldest = project["requires-python"].removeprefix(">=")
    largest = next(iter(SETS))
    for name, extras in SETS.items():
        command = [uv, "pip", "compile", "--quiet", "--universal", "--python-version", oldest]
        command += ["--generate-hashes", "--no-emit-index-url", "--no-emit-find-links"]
        command += ["--custom-compile-command", "python scripts/lock.py"]
        command += [f"--extra={extra}" for extra in extras]
        command += ["--constraints", "requirements/exceptions.in"]
        command += [] if name == largest else ["--constraints", f"requirements/{largest}.txt"]
        command += [*options, "--output-file", f"requirements/{name}.txt", "pyproject.toml"]
        code = subprocess.run(command, cwd=ROOT, check=False).returncode
        if code:
            return code
        print(f"requirements/{name}.txt")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
