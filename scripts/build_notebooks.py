#!/usr/bin/env python3
"""Build the notebooks: one source of code and two of prose.

    python scripts/build_notebooks.py                 build all of them
    python scripts/build_notebooks.py papers/P138     build one (both languages)
    python scripts/build_notebooks.py --check         exit 1 when one is stale (executes them)
    python scripts/build_notebooks.py --check --no-execute   compare code and prose only: fast

``notebooks/FOLDER/source/NAME.py`` holds the code, ``NAME.en.md`` and ``NAME.es.md`` the prose; they give
``notebooks/FOLDER/NAME.ipynb`` and ``NAME.es.ipynb``.

Code. A cell begins with a line ``# %% cell-id`` (letters, digits, ``-``). What stands before the first cell
is a comment on the source. A cell that raises stops the build: show an error by catching it. The first cell
sets ``LANG = "en"``; the Spanish edition says ``LANG = "es"`` there, and that is the only difference of code
between the two.

Prose. A block begins with a line ``<!-- cell: ID -->`` and becomes one Markdown cell. If ``ID`` is the id
of a code cell, it stands directly before that cell; ``ID.after`` stands directly after it. Every id must
name a code cell, and both languages must have the same ids in the same order: the order of the code.

The result is deterministic: fixed cell ids, no timing, no version of the language; a second build on the
same machine gives the same bytes. On another machine a PNG may differ by its fonts, so "fresh" means the
same code, prose, metadata and outputs, the bytes of ``image/png`` left out (that there is an image is still
compared).
Numbers that matter are therefore printed beside every plot.
"""

from __future__ import annotations

import argparse
import asyncio
import copy
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ai_evolution.catalog.markers import followed_source
from ai_evolution.catalog.pages import Generated, settle
from ai_evolution.errors import AiEvolutionError, DocumentError, EnvironmentProblem

ROOT = Path(__file__).resolve().parent.parent
CELL_SECONDS = 60
AT_ONCE = 2
EDITIONS: tuple[tuple[Literal["en", "es"], str], ...] = (("en", ""), ("es", ".es"))

_CODE = re.compile(r"# %% ([A-Za-z0-9-]{1,58})")
_PROSE = re.compile(r"<!-- cell: ([A-Za-z0-9-]{1,60}(?:\.after)?) -->")
_LANG = re.compile(r'^LANG = "en"(?=\s|$)', re.MULTILINE)

NEEDS = "building notebooks needs the extra 'notebooks'; pip install -e '.[notebooks]' would install it"

METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {
        "codemirror_mode": {"name": "ipython", "version": 3},
        "file_extension": ".py",
        "mimetype": "text/x-python",
        "name": "python",
        "nbconvert_exporter": "python",
        "pygments_lexer": "ipython3",
    },
}


@dataclass(frozen=True)
class Code:
    """One code cell of a source."""

    id: str
    source: str


def read_code(text: str, where: str) -> tuple[Code, ...]:
    """The code cells of a source. DocumentError names the line when an id is wrong or used twice."""
    cells: list[Code] = []
    current: str | None = None
    body: list[str] = []

    def close() -> None:
        if current is not None:
            cells.append(Code(current, "\n".join(body).strip("\n")))

    for number, line in enumerate(text.splitlines(), 1):
        if not line.startswith("# %%"):
            body.append(line)
            continue
        match = _CODE.fullmatch(line.rstrip())
        if match is None:
            raise DocumentError(f"{where}:{number}: {line!r} opens no cell; '# %% cell-id' would be accepted")
        close()
        current, body = match[1], []
        if match[1] in {cell.id for cell in cells}:
            raise DocumentError(f"{where}:{number}: cell {match[1]!r} stands twice")
    close()
    if not cells or not _LANG.search(cells[0].source):
        raise DocumentError(f'{where}: the first cell must hold the line LANG = "en"')
    return tuple(cells)


def read_prose(text: str, cells: Sequence[Code], where: str) -> dict[str, str]:
    """The prose blocks of one language by id. DocumentError when an id is unknown or out of order."""
    order = [place for cell in cells for place in (cell.id, f"{cell.id}.after")]
    found: dict[str, list[str]] = {}
    current: list[str] | None = None
    for number, line in enumerate(text.splitlines(), 1):
        match = _PROSE.fullmatch(line.strip())
        if match is None:
            if line.strip().startswith("<!-- cell"):
                raise DocumentError(
                    f"{where}:{number}: {line.strip()!r} opens no block; '<!-- cell: id -->' would"
                )
            if current is not None:
                current.append(line)
            elif line.strip() and not followed_source(line):
                raise DocumentError(f"{where}:{number}: text before the first '<!-- cell: id -->'")
            continue
        name = match[1]
        if name not in order:
            raise DocumentError(f"{where}:{number}: {name!r} names no code cell")
        if found and order.index(name) <= order.index(list(found)[-1]):
            raise DocumentError(f"{where}:{number}: {name!r} stands twice or out of the order of the code")
        current = found[name] = []
    blocks = {name: "\n".join(lines).strip() for name, lines in found.items()}
    for name, block in blocks.items():
        if not block:
            raise DocumentError(f"{where}: block {name!r} is empty")
    return blocks


def assemble(cells: Sequence[Code], prose: dict[str, str], lang: Literal["en", "es"]) -> dict[str, Any]:
    """The notebook (nbformat 4.5) of one language, not executed."""
    out: list[dict[str, Any]] = []

    def write(name: str) -> None:
        if name in prose:
            cell_id = name.removesuffix(".after") + ("-after" if name.endswith(".after") else "-text")
            out.append({"cell_type": "markdown", "id": cell_id, "metadata": {}, "source": prose[name]})

    for index, cell in enumerate(cells):
        write(cell.id)
        source = _LANG.sub(f'LANG = "{lang}"', cell.source, count=1) if index == 0 else cell.source
        out.append(
            {
                "cell_type": "code",
                "execution_count": None,
                "id": cell.id,
                "metadata": {},
                "outputs": [],
                "source": source,
            }
        )
        write(f"{cell.id}.after")
    return {"cells": out, "metadata": copy.deepcopy(METADATA), "nbformat": 4, "nbformat_minor": 5}


def sources(root: Path, names: Sequence[str] = ()) -> list[str]:
    """``FOLDER/NAME`` of every source (or of those asked for). DocumentError when one is not there."""
    found = sorted(
        f"{path.parent.parent.name}/{path.stem}" for path in (root / "notebooks").glob("*/source/*.py")
    )
    for name in names:
        if name not in found:
            raise DocumentError(
                f"no notebook source is called {name!r}; accepted: {', '.join(found) or 'none yet'}"
            )
    return [name for name in found if not names or name in names]


def drafts(root: Path, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """``(path, notebook not executed)`` in both languages. DocumentError when the three sources disagree."""
    folder, stem = name.split("/")
    base = f"notebooks/{folder}/source/{stem}"
    cells = read_code(_read(root, f"{base}.py"), f"{base}.py")
    prose = {
        lang: read_prose(_read(root, f"{base}.{lang}.md"), cells, f"{base}.{lang}.md") for lang, _ in EDITIONS
    }
    if list(prose["en"]) != list(prose["es"]):
        only = set(prose["en"]) ^ set(prose["es"])
        raise DocumentError(f"{base}: prose blocks in one language only: {', '.join(sorted(only))}")
    for lang, ending in EDITIONS:
        yield f"notebooks/{folder}/{stem}{ending}.ipynb", assemble(cells, prose[lang], lang)


def _read(root: Path, path: str) -> str:
    try:
        return (root / path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise DocumentError(
            f"{path}: cannot be read ({type(error).__name__}); it is one of three sources"
        ) from error


def to_bytes(notebook: dict[str, Any]) -> bytes:
    """The file of a notebook: sorted keys, sources and texts as lists of lines, one line feed at the end."""
    from nbformat.v4 import nbjson

    text: str = nbjson.writes(_node(notebook))  # type: ignore[no-untyped-call]
    return (text.rstrip("\n") + "\n").encode("utf-8")


def _node(notebook: dict[str, Any]) -> Any:
    from nbformat import notebooknode

    return notebooknode.from_dict(copy.deepcopy(notebook))  # type: ignore[no-untyped-call]


def comparable(data: bytes, *, outputs: bool = True) -> Any:
    """What is compared of a notebook file: everything but the bytes of images (and, on request, outputs)."""
    try:
        notebook = json.loads(data)
        for cell in notebook["cells"]:
            if not outputs and cell["cell_type"] == "code":
                cell["outputs"], cell["execution_count"] = [], None
            for output in cell.get("outputs", []):
                if "image/png" in output.get("data", {}):
                    output["data"]["image/png"] = "an image"
    except (ValueError, KeyError, TypeError, AttributeError):
        return data
    return notebook


def same_notebook(standing: bytes, wanted: bytes) -> bool:
    """True when both say the same, bytes of images apart."""
    return bool(comparable(standing) == comparable(wanted))


def same_source(standing: bytes, wanted: bytes) -> bool:
    """True when both have the same code and prose, outputs apart."""
    return bool(comparable(standing, outputs=False) == comparable(wanted, outputs=False))


async def execute(notebook: dict[str, Any], folder: Path, where: str) -> dict[str, Any]:
    """The notebook with its outputs, run in ``folder``. DocumentError names the cell that fails."""
    try:
        import nbformat
        from nbclient import NotebookClient
        from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
    except ImportError as error:
        raise EnvironmentProblem(NEEDS) from error
    node = _node(notebook)
    client = NotebookClient(
        node,
        timeout=CELL_SECONDS,
        kernel_name="python3",
        record_timing=False,
        coalesce_streams=True,  # how a stream is cut into messages is chance
        extra_arguments=["--log-level=ERROR"],  # else each kernel prints a notice about its sockets
        resources={"metadata": {"path": str(folder)}},
    )
    try:
        await client.async_execute()
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
        raise DocumentError(f"{where}: {_what_happened(node, error)}") from error
    node.metadata = _node(METADATA)
    for cell in node.cells:
        for output in cell.get("outputs", []):
            if output.get("name") == "stderr":
                raise DocumentError(
                    f"{where}: cell {cell.id!r} writes to stderr: {output.text.strip()[:200]!r}"
                )
    nbformat.validate(node)
    return dict(node)


def _what_happened(node: Any, error: Exception) -> str:
    """Which cell stopped a notebook, and how, in one line."""
    for cell in node.cells:
        for output in cell.get("outputs", []):
            if output.get("output_type") == "error":
                says = " ".join(f"{output.ename}: {output.evalue}".split())
                return f"cell {cell.id!r} raises {says[:200]}"
    return f"a cell did not end within {CELL_SECONDS} s, or the kernel died ({type(error).__name__})"


def build(root: Path, names: Sequence[str] = (), *, run: bool = True) -> list[Generated]:
    """Every notebook asked for, executed when ``run``; what is not executed is compared without outputs."""
    pending = [(path, draft) for name in sources(root, names) for path, draft in drafts(root, name)]
    same: Callable[[bytes, bytes], bool] = same_notebook if run else same_source
    if run:
        executed = asyncio.run(_execute_all(root, pending))
        pending = list(zip((path for path, _ in pending), executed, strict=True))
    try:
        return [Generated(path, to_bytes(notebook), same) for path, notebook in pending]
    except ImportError as error:
        raise EnvironmentProblem(NEEDS) from error


async def _execute_all(root: Path, pending: Sequence[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(path: str, draft: dict[str, Any]) -> dict[str, Any]:
        async with gate:
            print(f"running: {path}", file=sys.stderr)
            return await execute(draft, (root / path).parent, path)

    outcomes = await asyncio.gather(*(one(path, draft) for path, draft in pending), return_exceptions=True)
    for outcome in outcomes:  # every kernel has been put away before the first failure is told
        if isinstance(outcome, BaseException):
            raise outcome
    return [outcome for outcome in outcomes if isinstance(outcome, dict)]


def main(argv: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """0 built or fresh, 1 stale, 2 a source is not what it should be or the extra is missing."""
    parser = argparse.ArgumentParser(
        description="Build the notebooks from one source of code and two of prose."
    )
    parser.add_argument("names", nargs="*", metavar="FOLDER/NAME", help="which ones (default: all)")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when one is stale")
    parser.add_argument("--no-execute", action="store_true", help="with --check: compare code and prose only")
    args = parser.parse_args(argv)
    if args.no_execute and not args.check:
        parser.error("--no-execute is for --check: a notebook is written with its outputs or not at all")
    os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")  # else the kernel warns on stderr
    try:
        stale = settle(root, build(root, args.names, run=not args.no_execute), check=args.check)
    except AiEvolutionError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 1 if args.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
