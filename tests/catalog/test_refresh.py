"""Everything that is generated: written by one script, and found when it is stale."""

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

import refresh  # isort: skip
from ai_evolution import evidence
from ai_evolution.catalog import load_classes
from ai_evolution.catalog.linking import Catalogues
from ai_evolution.catalog.markers import followed_source
from ai_evolution.errors import DocumentError
from ai_evolution.evidence import Claim, Finding, Limitation, Report, assemble

ROOT = Path(__file__).resolve().parents[2]
HERE = "classes/134-a2a"
CLASS_134 = next(row for row in load_classes(ROOT) if row.number == 134)


def markers(name: str, script: str = "refresh") -> str:
    path = f"scripts/{script}.py"
    return f"<!-- BEGIN GENERATED: {name} ({path}) -->\n<!-- END GENERATED: {name} ({path}) -->\n"


PAGE = "\n".join(
    [
        "# Title\n",
        markers("output"),
        markers("claims"),
        markers("limitations"),
        markers("wire"),
        markers("papers", "link_papers_to_classes"),
        markers("sources", "link_sources_to_classes"),
    ]
)


def report(count: int = 5, sources: tuple[str, ...] = ("P138", "S02")) -> Report:
    claims = [Claim(f"a2a.claim-{n}", f"Claim | {n}.", f"Afirmación | {n}.", sources) for n in range(count)]
    return assemble(
        kind="multiagent",
        class_slug="134-a2a",
        seed=0,
        parameters={},
        engine="1.0.0",
        protocols={"a2a": "1.0"},
        claims=claims,
        limitations=[Limitation("a2a.one-machine", "scope", "One machine.", "Una sola máquina.")],
        records=[Finding(claim.id, ["a|b"], ["a|b"]) for claim in claims],
    )


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """The catalogues, one class with its pages, the cards; no notebooks."""
    for path in ("papers/catalog/papers.json", "sources/bibliography.json", "classes/catalogue.toml"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, tmp_path / path)
    (tmp_path / HERE).mkdir()
    for page in ("README.md", "README.es.md"):
        (tmp_path / HERE / page).write_text(PAGE, encoding="utf-8")
    shutil.copy(ROOT / HERE / "rubric.json", tmp_path / HERE / "rubric.json")
    for card in (ROOT / "papers").glob("*.md"):
        shutil.copy(card, tmp_path / "papers" / card.name)
    return tmp_path


def wire(report: Report, lang: str) -> str:
    """What a page module of a lab offers."""
    return f"```json\n{json.dumps(report.protocols)} {lang}\n```"


def pages(repository: Path, given: Report | None = None) -> dict[str, str]:
    catalogues = Catalogues.load(repository)
    made = refresh.class_pages(repository, CLASS_134, given or report(), catalogues, {"wire": wire})
    return {item.path: item.content.decode("utf-8") for item in made}


def test_the_blocks_of_a_page_come_from_the_report_in_the_language_of_the_page(repository: Path) -> None:
    english, spanish = (pages(repository)[f"{HERE}/{name}"] for name in ("README.md", "README.es.md"))
    assert '| `a2a.claim-0` | Claim \\| 0. | `["a\\|b"]` |' in english
    assert "[P138](../../papers/P138.md), [S02](https://a2a-protocol.org/v1.0.0/specification)" in english
    assert "| `a2a.claim-0` | Afirmación \\| 0. |" in spanish
    assert "- **alcance** (`a2a.one-machine`): Una sola máquina." in spanish
    assert "$ python lab.py --lang es" in spanish
    assert "KQML como lenguaje" in spanish
    assert '{"a2a": "1.0"} es' in spanish


def test_the_output_shows_the_first_findings_and_the_last_line_and_says_what_it_cut(repository: Path) -> None:
    output = pages(repository)[f"{HERE}/README.md"].split("```")[1]
    assert [f"a2a.claim-{n}" in output for n in range(5)] == [True, True, True, False, False]
    assert "⋮ 2 more findings, then the limitations" in output
    assert output.rstrip().endswith("5 of 5 claims hold.")
    assert "⋮" not in pages(repository, report(3))[f"{HERE}/README.md"].split("```")[1]


def test_the_output_does_not_depend_on_the_terminal(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = pages(repository)
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert pages(repository) == plain


def test_the_rubric_of_an_assessment_comes_from_rubric_json(repository: Path) -> None:
    for name in ("assessment.md", "assessment.es.md"):
        (repository / HERE / name).write_text(f"# A\n\n{markers('rubric')}", encoding="utf-8")
    made = pages(repository)
    assert made[f"{HERE}/assessment.md"].count("25 %") == 4
    assert "criterio" in made[f"{HERE}/assessment.es.md"]


def test_filling_a_filled_page_changes_nothing(repository: Path) -> None:
    first = pages(repository)
    for path, text in first.items():
        (repository / path).write_text(text, encoding="utf-8")
    assert pages(repository) == first


def lost(name: str) -> Callable[[Path], object]:
    return lambda page: page.write_text(PAGE.replace(markers(name), ""), encoding="utf-8")


def test_a_block_that_the_page_module_offers_must_stand_in_the_page(repository: Path) -> None:
    page = repository / HERE / "README.es.md"
    page.write_text(PAGE.replace(markers("wire"), ""), encoding="utf-8")
    with pytest.raises(DocumentError, match=r"README\.es\.md: block 'wire' is missing"):
        pages(repository)


FAULTS: Mapping[str, tuple[Callable[[Path], object], str]] = {
    "a marker that is gone": (lost("claims"), "README.md: block 'claims' is missing"),
    "a page that is gone": (lambda page: page.unlink(), "README.md: cannot be read"),
    "a block that nobody writes": (
        lambda page: page.write_text(PAGE + markers("clams"), encoding="utf-8"),
        "knows no block 'clams'; accepted: claims",
    ),
    "a block that never ends": (
        lambda page: page.write_text(PAGE + markers("rubric").splitlines()[0], encoding="utf-8"),
        "block 'rubric' is never closed",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_page_that_is_not_right_is_one_clear_line(repository: Path, fault: str) -> None:
    breaks, says = FAULTS[fault]
    breaks(repository / HERE / "README.md")
    with pytest.raises(DocumentError) as caught:
        pages(repository)
    assert says in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_a_claim_whose_source_is_in_no_catalogue_is_refused(repository: Path) -> None:
    with pytest.raises(DocumentError, match=r"a2a\.claim-0 cites X99, which is in no catalogue"):
        pages(repository, report(sources=("X99",)))


def test_the_cards_and_the_index_are_filled_from_the_catalogue(repository: Path) -> None:
    made = {
        item.path: item.content.decode() for item in refresh.other_pages(repository, Catalogues.load(ROOT))
    }
    assert made == {path: (ROOT / path).read_text(encoding="utf-8") for path in made}
    rows = Catalogues.load(ROOT).classes
    cards = {f"papers/{name}{end}.md" for row in rows for name in row.papers for end in ("", ".es")}
    assert cards | {"papers/README.md", "papers/README.es.md"} <= made.keys()
    (repository / "papers" / "P999.md").write_text("# ?\n", encoding="utf-8")
    with pytest.raises(DocumentError, match=r"papers/P999\.md: P999 is not in the catalogue"):
        list(refresh.other_pages(repository, Catalogues.load(ROOT)))


def test_the_committed_schema_is_that_of_the_models() -> None:
    (item,) = refresh.schema_file()
    assert (ROOT / item.path).read_bytes() == item.content
    assert json.loads(item.content) == evidence.schema()


@pytest.fixture
def translated(tmp_path: Path) -> Path:
    (tmp_path / "a.md").write_text(f"# One\n\n{markers('claims')}", encoding="utf-8")
    (tmp_path / "a.es.md").write_text("# Uno\n", encoding="utf-8")
    return tmp_path


def test_a_translation_that_does_not_say_what_it_follows_is_listed(translated: Path) -> None:
    (says,) = refresh.stale_translations(translated)
    assert says.startswith("a.es.md: does not say which text it follows")


def test_only_a_person_can_say_that_a_translation_follows(translated: Path) -> None:
    assert refresh.main(["--translated", "a.es.md"], translated) == 0
    page = (translated / "a.es.md").read_text(encoding="utf-8")
    assert followed_source(page) is not None
    assert page.endswith("# Uno\n")
    assert list(refresh.stale_translations(translated)) == []
    original = translated / "a.md"
    original.write_text(original.read_text(encoding="utf-8").replace("One", "Two"), encoding="utf-8")
    (says,) = refresh.stale_translations(translated)
    assert says.startswith("a.es.md: a.md has changed since")


def test_a_new_number_in_a_block_makes_no_translation_stale(translated: Path) -> None:
    refresh.main(["--translated", "a.es.md"], translated)
    begin, end = markers("claims").splitlines()
    (translated / "a.md").write_text(f"# One\n\n{begin}\n\n| 7 |\n\n{end}\n", encoding="utf-8")
    assert list(refresh.stale_translations(translated)) == []


def test_prose_of_a_notebook_follows_its_english_source(tmp_path: Path) -> None:
    for lang in ("en", "es"):
        (tmp_path / f"N.{lang}.md").write_text("<!-- cell: setup -->\n# T\n", encoding="utf-8")
    assert refresh.original_of(tmp_path, "N.es.md") == "N.en.md"


@pytest.mark.parametrize("given", ["a.md", "b.es.md", "../a.es.md"])
def test_what_is_no_translation_is_refused(
    translated: Path, given: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert refresh.main(["--translated", given], translated) == 2
    assert capsys.readouterr().err.startswith(f"--translated {given}: is no Spanish page")


def test_a_translation_without_an_original_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.es.md").write_text("# Uno\n", encoding="utf-8")
    with pytest.raises(DocumentError, match=r"a\.es\.md: has no English original; a\.md would be accepted"):
        list(refresh.stale_translations(tmp_path))
