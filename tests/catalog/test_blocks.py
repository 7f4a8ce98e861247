"""The blocks of papers and sources, and the two commands that write them."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ai_evolution.catalog import blocks, linking, load_classes, load_papers, load_sources
from ai_evolution.catalog.references import ordinal

ROOT = Path(__file__).resolve().parents[2]
PAGES = {"README.md": "en", "README.es.md": "es"}
CLASS_134 = next(row for row in load_classes(ROOT) if row.number == 134)
HERE = "classes/134-a2a"


def markers(name: str) -> str:
    script = f"scripts/link_{name}_to_classes.py"
    return f"<!-- BEGIN GENERATED: {name} ({script}) -->\n<!-- END GENERATED: {name} ({script}) -->\n"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with our catalogues, our scripts, and a class page of two empty blocks."""
    for path in ("papers/catalog/papers.json", "sources/bibliography.json", "classes/catalogue.toml"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, tmp_path / path)
    for row in load_classes(ROOT):
        (tmp_path / "classes" / row.slug).mkdir()
        for page in PAGES:
            text = f"# {row.title['en']}\n\n{markers('papers')}\n{markers('sources')}\nThe end.\n"
            (tmp_path / "classes" / row.slug / page).write_text(text, encoding="utf-8")
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def call(repository: Path, capsys: pytest.CaptureFixture[str]) -> Call:
    """What a link script ends with, and says on stdout and stderr."""

    def run(name: str, *arguments: str) -> tuple[int, str, str]:
        code = linking.main(name, arguments, repository)
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


@pytest.mark.parametrize("name", ["papers", "sources"])
def test_a_link_script_runs_from_any_working_directory(repository: Path, name: str) -> None:
    script = repository / "scripts" / f"link_{name}_to_classes.py"
    command = [sys.executable, str(script)]
    done = subprocess.run(command, cwd="/", capture_output=True, encoding="utf-8", timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    rows = load_classes(repository)
    written = [f"wrote: classes/{row.slug}/README{lang}.md\n" for row in rows for lang in ("", ".es")]
    assert done.stdout == "".join(written)


@pytest.mark.parametrize("name", ["papers", "sources"])
def test_a_link_script_writes_its_block_and_then_finds_nothing_to_do(
    repository: Path, call: Call, name: str
) -> None:
    assert call(name, "--check")[0] == 1
    assert call(name)[0] == 0
    assert (repository / HERE / "README.md").read_text(encoding="utf-8").endswith("\nThe end.\n")
    assert call(name, "--check") == (0, "", "")


def test_a_stale_block_is_shown_as_a_unified_diff_on_stderr(repository: Path, call: Call) -> None:
    call("papers")
    page = repository / HERE / "README.md"
    touched = page.read_text(encoding="utf-8").replace("| 1994 |", "| 1995 |")
    page.write_text(touched, encoding="utf-8")
    code, out, err = call("papers", "--check")
    assert (code, out) == (1, "stale: classes/134-a2a/README.md\n")
    assert "--- classes/134-a2a/README.md (standing)" in err
    assert "| 1995 |" in err
    assert page.read_text(encoding="utf-8") == touched


def test_a_page_without_the_markers_is_one_clear_line(repository: Path, call: Call) -> None:
    (repository / HERE / "README.md").write_text("# No blocks\n", encoding="utf-8")
    code, _, err = call("sources")
    assert code == 2
    assert err.startswith("classes/134-a2a/README.md: block 'sources' is missing")
    assert len(err.splitlines()) == 1


def test_a_page_that_is_not_there_is_one_clear_line(repository: Path, call: Call) -> None:
    (repository / HERE / "README.es.md").unlink()
    assert call("sources")[2].startswith("classes/134-a2a/README.es.md: cannot be read (FileNotFoundError)")


def test_nothing_is_written_from_a_catalogue_with_a_problem(repository: Path, call: Call) -> None:
    catalogue = repository / "sources" / "bibliography.json"
    text = catalogue.read_text(encoding="utf-8").replace("9780470519462", "9780470519463", 1)
    catalogue.write_text(text, encoding="utf-8")
    assert call("sources") == (2, "", "catalogues: B01: ISBN 9780470519463 fails its check digit\n")


def test_the_block_of_papers_shows_those_of_the_class_in_its_order() -> None:
    block = blocks.papers_block(CLASS_134, load_papers(ROOT), "es", HERE)
    rows = [line for line in block.splitlines() if line.startswith("| [P")]
    assert [row[3:7] for row in rows] == list(CLASS_134.papers)
    assert rows[0].startswith(
        "| [P138](../../papers/P138.es.md) · KQML como lenguaje de comunicación entre agentes"
    )
    assert "(../../notebooks/papers/P138.es.ipynb)" in rows[0]
    assert "(../../papers/README.es.md)" in block
    assert "(../../docs/annexes/README.es.md)" in block


def test_the_block_of_sources_prints_each_isbn_with_its_edition_and_year() -> None:
    english = blocks.sources_block(CLASS_134, load_sources(ROOT), "en", HERE)
    spanish = blocks.sources_block(CLASS_134, load_sources(ROOT), "es", HERE)
    assert "[ISBN 9780470519462](https://openlibrary.org/isbn/9780470519462) (2nd ed., 2009)" in english
    assert "ISBN 9780471496915 (1st ed., 2002)" in english
    assert "ISBN 9780471496915 (1.ª ed., 2002)" in spanish


def test_the_links_of_a_block_lead_to_files() -> None:
    for lang in ("en", "es"):
        block = blocks.papers_block(CLASS_134, load_papers(ROOT), lang, HERE)
        targets = [part.partition(")")[0] for part in block.split("](")[1:]]
        assert len(targets) >= 11
        assert all((ROOT / HERE / target).resolve().is_file() for target in targets)


def test_a_cell_cannot_break_its_table() -> None:
    paper = load_papers(ROOT)[0].model_copy(update={"id": "P138", "unlocked_en": "a | b\nc"})
    row = CLASS_134.model_copy(update={"papers": ("P138",)})
    assert "a \\| b c" in blocks.papers_block(row, [paper], "en", HERE)


def test_a_card_says_what_its_warning_rests_on() -> None:
    papers = {paper.id: paper for paper in load_papers(ROOT)}
    says = {name: blocks.card_block(papers[name], [CLASS_134], "en", "papers") for name in ("P133", "P136")}
    assert "(observed in public lists)" in says["P133"]
    assert "(editor's knowledge" in says["P136"]
    assert "The paper needs no formula." in says["P136"]
    assert "$$i^{*}=" in says["P133"]


def test_ordinals_are_those_of_each_language() -> None:
    assert [ordinal(number, "en") for number in ("1", "2", "3", "4", "11", "21", "")] == [
        "1st ed.",
        "2nd ed.",
        "3rd ed.",
        "4th ed.",
        "11th ed.",
        "21st ed.",
        "",
    ]
    assert ordinal("2", "es") == "2.ª ed."
