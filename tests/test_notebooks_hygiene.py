"""Every notebook of the repository: readable anywhere, the same on every run, and honest about its plots.

What the outputs say is compared by nbval (``pytest --nbval``) and by ``scripts/refresh.py --check``; here
no kernel is started.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

import build_notebooks as building  # noqa: E402

NOTEBOOKS = sorted(
    path for path in (ROOT / "notebooks").rglob("*.ipynb") if ".ipynb_checkpoints" not in path.parts
)
LARGEST = 300_000  # bytes
MACHINE = re.compile(r"/(tmp|home|root|work|Users)/|ipykernel_\d|0x[0-9a-f]{8,}|[A-Z]:\\\\")

every_notebook = pytest.mark.parametrize(
    "path", NOTEBOOKS, ids=lambda path: path.relative_to(ROOT).as_posix()
)


def cells(path: Path, kind: str = "code") -> list[dict[str, Any]]:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    return [cell for cell in notebook["cells"] if cell["cell_type"] == kind]


def unprinted_plots(code: list[dict[str, Any]]) -> list[str]:
    """Cells that show an image and print no number beside it."""
    return [
        cell["id"]
        for cell in code
        if any("image/png" in output.get("data", {}) for output in cell["outputs"])
        and not re.search(r"\d", "".join(part for o in cell["outputs"] for part in o.get("text", [])))
    ]


def unseen_outputs(code: list[dict[str, Any]]) -> list[str]:
    """Cells that display something of which nbval would compare nothing."""
    return [
        cell["id"]
        for cell in code
        if cell["outputs"]
        and not any(
            o["output_type"] == "stream" or "text/plain" in o.get("data", {}) for o in cell["outputs"]
        )
    ]


def test_there_are_notebooks() -> None:
    assert len(NOTEBOOKS) >= 8


def test_every_notebook_has_its_other_language_and_its_sources() -> None:
    built = {path for name in building.sources(ROOT) for path, _ in building.drafts(ROOT, name)}
    assert {path.relative_to(ROOT).as_posix() for path in NOTEBOOKS} == built


@pytest.mark.parametrize("name", building.sources(ROOT))
def test_code_and_prose_are_those_of_the_sources(name: str) -> None:
    for path, draft in building.drafts(ROOT, name):
        standing = (ROOT / path).read_bytes()
        assert building.same_source(standing, building.to_bytes(draft)), f"build_notebooks.py {name} mends it"


@every_notebook
def test_the_file_is_a_valid_notebook_for_any_python3_kernel(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    nbformat.validate(notebook)
    assert notebook.metadata.kernelspec.name == "python3"
    assert "version" not in notebook.metadata.language_info
    ids = [cell.id for cell in notebook.cells]
    assert len(set(ids)) == len(ids)


@every_notebook
def test_every_code_cell_was_run_in_order_and_none_ended_in_an_error(path: Path) -> None:
    code = cells(path)
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert all("execution" not in cell["metadata"] for cell in code)
    kinds = {output["output_type"] for cell in code for output in cell["outputs"]}
    assert kinds <= {"stream", "display_data", "execute_result"}
    assert kinds, "a notebook that shows nothing teaches nothing"
    assert not [cell["id"] for cell in code for o in cell["outputs"] if o.get("name") == "stderr"]


@every_notebook
def test_every_output_can_be_compared_as_text_and_no_plot_stands_without_its_numbers(path: Path) -> None:
    code = cells(path)
    assert unprinted_plots(code) == []
    assert unseen_outputs(code) == []


@every_notebook
def test_nothing_of_a_machine_is_in_an_output(path: Path) -> None:
    for cell in cells(path):
        for output in cell["outputs"]:
            shown = {**output.get("data", {}), "text": output.get("text", [])}
            shown.pop("image/png", None)
            assert not MACHINE.search(json.dumps(shown, ensure_ascii=False)), cell["id"]


@every_notebook
def test_a_cell_awaits_and_does_not_start_a_loop_of_its_own(path: Path) -> None:
    for cell in cells(path):
        source = "".join(cell["source"])
        assert "asyncio.run(" not in source, cell["id"]
        assert not re.search(r"^\s*[!%](?!matplotlib)", source, re.M), (
            f"{cell['id']}: a shell or a magic command"
        )


@every_notebook
def test_the_notebook_asserts_something(path: Path) -> None:
    assert any(re.search(r"^\s*assert ", "".join(cell["source"]), re.M) for cell in cells(path))


@every_notebook
def test_the_file_is_small_and_its_path_short(path: Path) -> None:
    assert path.stat().st_size <= LARGEST
    assert len(path.relative_to(ROOT).as_posix()) <= 110


def test_no_sanitizer_hides_a_difference() -> None:
    folders = (
        ROOT.glob("*sanit*"),
        (ROOT / "notebooks").rglob("*sanit*"),
        (ROOT / "tests").rglob("*sanit*.cfg"),
    )
    found = [path for folder in folders for path in folder if path.is_file()]
    assert found == []
    for path in (ROOT / "pyproject.toml", ROOT / ".ci" / "run", ROOT / "scripts" / "course.py"):
        assert not path.is_file() or "sanitize" not in path.read_text(encoding="utf-8")


def test_the_rule_about_plots_can_fail() -> None:
    image = {"output_type": "display_data", "data": {"image/png": "AAAA", "text/plain": "<Figure>"}}
    silent = {"id": "a", "outputs": [image]}
    printed = {
        "id": "b",
        "outputs": [image, {"output_type": "stream", "name": "stdout", "text": ["n = 3\n"]}],
    }
    only_image = {"id": "c", "outputs": [{"output_type": "display_data", "data": {"image/png": "AAAA"}}]}
    assert unprinted_plots([silent, printed]) == ["a"]
    assert unseen_outputs([silent, printed, only_image]) == ["c"]
