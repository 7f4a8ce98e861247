"""``validate``: each kind of thing that can go wrong in the repository is one line that names it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from ai_evolution.repository import Inspection, Page, find_root

HERE = Path(__file__).resolve().parents[2]
CLASS = "classes/134-a2a"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A small repository: the real catalogues, one class, three pages."""
    made = tmp_path / "repository"
    for name in ("classes/catalogue.toml", "papers/catalog/papers.json", "sources/bibliography.json"):
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(HERE / name, made / name)
    (made / CLASS).mkdir()
    write(made, f"{CLASS}/lab.py", '"""The lab."""\nfrom ai_evolution.cli import lab\nlab("multiagent")\n')
    write(
        made,
        "README.md",
        "# One\n\n## Two words, *here*\n\nSee [two](docs/a.md#a-heading) and [web](https://x.y).\n",
    )
    write(
        made, "docs/a.md", '# A\n\n## A heading\n\n<a id="mark"></a>\n\n[up](../README.md#two-words-here)\n'
    )
    write(made, "docs/a.es.md", "# A\n\n[marca](a.md#mark)\n")
    return made


def write(root: Path, name: str, text: str) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text, encoding="utf-8")


def problems(root: Path) -> set[str]:
    return set(Inspection(root).problems())


def page(text: str) -> Callable[[Path], None]:
    return lambda root: write(root, "docs/new.md", text)


def file(name: str, text: str) -> Callable[[Path], None]:
    return lambda root: write(root, name, text)


NOTEBOOK = '{"cells": [{"cell_type": "markdown", "id": "c-1", "source": ["[x](gone.md)"]}]}'
STALE = f"<!-- source: a.md sha256:{'0' * 64} -->\n# A\n"
BLOCK = "<!-- BEGIN GENERATED: x (scripts/gone.py) -->\n<!-- END GENERATED: x (scripts/gone.py) -->\n"

BREAKAGES: list[tuple[str, Callable[[Path], None], str]] = [
    ("a link to nothing", page("\n\n[x](gone.md)\n"),
     "docs/new.md:3: link gone.md leads to nothing; there is no docs/gone.md"),
    ("a link by reference", page("[x][y]\n\n[y]: gone.md\n"),
     "docs/new.md:1: link gone.md leads to nothing; there is no docs/gone.md"),
    ("a link in a table", page("| a |\n|---|\n| [x](gone.md) |\n"),
     "docs/new.md:3: link gone.md leads to nothing; there is no docs/gone.md"),
    ("an image in HTML", page('<p><img src="gone.png"></p>\n'),
     "docs/new.md:1: link gone.png leads to nothing; there is no docs/gone.png"),
    ("a link in other letters", page("[x](A.md)\n"),
     "docs/new.md:1: link A.md leads to nothing; there is no docs/A.md"),
    ("a link out of the repository", page("[x](../../secret.md)\n"),
     "docs/new.md:1: link ../../secret.md leads out of the repository"),
    ("an anchor that is not there", page("[x](a.md#b)\n"),
     "docs/new.md:1: link a.md#b: docs/a.md has no heading or anchor of that name"),
    ("an anchor of the page itself", page("# New\n\n[x](#old)\n"),
     "docs/new.md:3: link #old: docs/new.md has no heading or anchor of that name"),
    ("a notebook's link", file("notebooks/n.ipynb", NOTEBOOK),
     "notebooks/n.ipynb:cell c-1: link gone.md leads to nothing; there is no notebooks/gone.md"),
    ("a notebook that is none", file("notebooks/n.ipynb", "[]"),
     "notebooks/n.ipynb: is not what its name says (no cells)"),
    ("a translation of nothing", file("docs/b.es.md", "# B\n"),
     "docs/b.es.md: translates b.md, which does not exist"),
    ("a stale translation", file("docs/a.es.md", STALE),
     "docs/a.es.md: follows an older a.md; read it again, then run scripts/refresh.py"),
    ("a block nobody writes", page(BLOCK),
     "scripts/gone.py: named as the writer of generated blocks, and missing"),
    ("a block that never ends", page(BLOCK.splitlines()[0] + "\n"),
     "docs/new.md:1: block 'x' is never closed; <!-- END GENERATED: x (scripts/gone.py) --> would close it"),
    ("a folder without a row", file("classes/200-new/README.md", "# New\n"),
     "classes/200-new: has no row in classes/catalogue.toml"),
    ("a lab without docstring", file(f"{CLASS}/lab.py", 'lab("multiagent")\n'),
     f"{CLASS}/lab.py: has no docstring"),
    ("a lab of another class", file(f"{CLASS}/lab.py", '"""The lab."""\nlab("context")\n'),
     f"{CLASS}/lab.py: does not run the lab multiagent"),
    ("a lab that grew", file(f"{CLASS}/lab.py", '"""The lab."""\nlab("multiagent")\n' + "x = 1\n" * 20),
     f"{CLASS}/lab.py: has 22 lines; at most 15 are wanted, the lab is in the package"),
    ("a rubric that is none", file(f"{CLASS}/rubric.json", "{"),
     f"{CLASS}/rubric.json is no rubric: /: Invalid JSON: EOF while parsing an object at line 1 column 1"),
    ("a class page that is gone", lambda root: (root / CLASS / "lab.py").unlink(),
     f"{CLASS}/lab.py: is missing"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "says"), [row[1:] for row in BREAKAGES], ids=[row[0] for row in BREAKAGES]
)
def test_what_is_broken_is_one_line_and_the_only_new_one(
    root: Path, change: Callable[[Path], None], says: str
) -> None:
    before = problems(root)
    change(root)
    assert problems(root) - before == {says}


def test_evidence_that_is_not_the_labs_own_is_told(root: Path) -> None:
    write(root, f"{CLASS}/evidence.seed-0.json", "{}")
    assert f"{CLASS}/evidence.seed-0.json: expected lab multiagent with seed 0" in problems(root)
    write(root, f"{CLASS}/evidence.seed-0.json", '{"kind": "multiagent", "seed": 0}')
    assert any("evidence.seed-0.json: " in line and "required property" in line for line in problems(root))


def test_a_script_whose_check_fails_is_told_by_what_it_says(root: Path) -> None:
    script = "import sys\nprint('stale: docs/a.md')\nsys.exit(1)\n"
    write(root, "scripts/made.py", script)
    write(root, "docs/new.md", BLOCK.replace("gone", "made"))
    assert "docs/a.md: not what scripts/made.py writes; run it" in problems(root)
    write(root, "scripts/made.py", "raise ValueError('nothing works')\n")
    assert "scripts/made.py --check ended with 1: ValueError: nothing works" in problems(root)
    write(root, "scripts/made.py", "")
    assert not any("made.py" in line for line in problems(root))


def test_code_is_no_link_and_headings_get_the_anchors_of_github() -> None:
    headings = "# `a2a` & *you*: 100 %\n\n## Again\n\n## Again\n\n## Qué es ¿eso?\n"
    seen = Page(headings + "\n`[x](y.md)`\n\n```\n[x](z.md)\n```\n")
    assert seen.links == []
    assert seen.anchors == {"a2a--you-100-", "again", "again-1", "qué-es-eso"}


def test_the_command_ends_with_1_and_a_line_for_each_problem(
    cli: Callable, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root / "docs")
    found = Inspection(root).problems()
    done = cli("validate")
    assert done.code == 1
    assert done.out.splitlines() == found
    assert done.err == f"ai-evolution: {len(found)} problem(s) found\n"


def test_outside_a_repository_it_is_one_line(
    cli: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = cli("validate")
    assert (done.code, done.out, len(done.err.splitlines())) == (2, "", 1)
    assert "is not inside one" in done.err
    assert find_root(tmp_path, installed=False) is None
    assert find_root(tmp_path) == HERE


def test_the_catalog_lists_the_classes_and_away_from_the_repository_the_labs(
    cli: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = cli("catalog")
    assert said.code == 0
    for word in ("134", "multiagent", "EXECUTABLE_CORE", "--param candidates=3"):
        assert word in said.out
    monkeypatch.setattr("ai_evolution.repository.__file__", str(tmp_path / "site" / "ai_evolution" / "x.py"))
    monkeypatch.chdir(tmp_path)
    away = cli("catalog", "--lang", "es")
    assert away.code == 0
    assert "multiagent" in away.out
    assert "EXECUTABLE_CORE" not in away.out
    assert cli("catalog", "--json").out.startswith("[")
