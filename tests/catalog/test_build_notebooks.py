"""Notebooks: one source of code and two of prose, the same bytes each time."""

import json
from pathlib import Path

import pytest

import build_notebooks as building  # isort: skip
from ai_evolution.errors import DocumentError

CODE = """# What stands here is a comment.
# %% setup
from IPython.display import Image, display
LANG = "en"
# %% plot
print(LANG, [1, 4])
display(Image(data=bytes.fromhex("89504e470d0a1a0a"), format="png"))
"""
PROSE = "<!-- cell: setup -->\n# {title}\n<!-- cell: plot.after -->\n{after}\n"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    source = tmp_path / "notebooks" / "x" / "source"
    source.mkdir(parents=True)
    (source / "N.py").write_text(CODE, encoding="utf-8")
    (source / "N.en.md").write_text(PROSE.format(title="Title", after="After."), encoding="utf-8")
    (source / "N.es.md").write_text(PROSE.format(title="Título", after="Después."), encoding="utf-8")
    return tmp_path


def change(repository: Path, name: str, old: str, new: str) -> None:
    path = repository / "notebooks" / "x" / "source" / name
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_two_builds_give_the_same_bytes_and_the_editions_differ_in_one_line_of_code(repository: Path) -> None:
    assert building.main([], repository) == 0
    again = building.build(repository)
    assert [(repository / item.path).read_bytes() for item in again] == [item.content for item in again]
    assert [item.path for item in again] == ["notebooks/x/N.ipynb", "notebooks/x/N.es.ipynb"]

    english, spanish = (json.loads(item.content) for item in again)
    code = [
        ["".join(cell["source"]) for cell in book["cells"] if cell["cell_type"] == "code"]
        for book in (english, spanish)
    ]
    assert code[0] != code[1]
    assert code[0] == [source.replace('LANG = "es"', 'LANG = "en"') for source in code[1]]
    assert [cell["id"] for cell in english["cells"]] == ["setup-text", "setup", "plot", "plot-after"]
    assert english["cells"][2]["outputs"][0]["text"] == ["en [1, 4]\n"]
    assert spanish["cells"][2]["outputs"][0]["text"] == ["es [1, 4]\n"]
    assert english["metadata"]["kernelspec"]["name"] == "python3"
    assert "version" not in english["metadata"]["language_info"]
    assert "execution" not in english["cells"][2]["metadata"]

    # A plot drawn with another machine's fonts is fresh; no plot, or another number beside it, is not.
    wanted = again[0].content
    outputs = english["cells"][2]["outputs"]
    outputs[1]["data"]["image/png"] = "AAAA"
    assert building.same_notebook(building.to_bytes(english), wanted)
    outputs[0]["text"] = ["en [1, 5]\n"]
    assert not building.same_notebook(building.to_bytes(english), wanted)
    assert building.same_source(building.to_bytes(english), wanted)
    outputs[0]["text"] = ["en [1, 4]\n"]
    del outputs[1]
    assert not building.same_notebook(building.to_bytes(english), wanted)


def test_the_fast_check_sees_changed_code_and_changed_prose(repository: Path) -> None:
    for path, book in building.drafts(repository, "x/N"):
        (repository / path).write_bytes(building.to_bytes(book))
    assert building.main(["--check", "--no-execute"], repository) == 0
    change(repository, "N.es.md", "Después.", "Más tarde.")
    assert building.main(["--check", "--no-execute"], repository) == 1
    change(repository, "N.es.md", "Más tarde.", "Después.")
    assert building.main(["--check", "--no-execute"], repository) == 0
    change(repository, "N.py", "[1, 4]", "[1, 9]")
    assert building.main(["--check", "--no-execute"], repository) == 1


def test_a_cell_that_raises_stops_the_build_in_one_line(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change(repository, "N.py", "print(LANG, [1, 4])", "assert LANG is None, 'no'")
    assert building.main([], repository) == 2
    said = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("running")]
    assert said == ["notebooks/x/N.ipynb: cell 'plot' raises AssertionError: no"]
    assert not (repository / "notebooks" / "x" / "N.ipynb").exists()


@pytest.mark.parametrize(
    ("name", "old", "new", "says"),
    [
        ("N.py", 'LANG = "en"', "", 'N.py: the first cell must hold the line LANG = "en"'),
        ("N.py", "# %% plot", "# %% setup", "N.py:5: cell 'setup' stands twice"),
        ("N.py", "# %% plot", "# %% two words", "N.py:5: '# %% two words' opens no cell"),
        ("N.en.md", "cell: plot.after", "cell: other", "N.en.md:3: 'other' names no code cell"),
        ("N.en.md", "cell: plot.after", "cell: setup", "N.en.md:3: 'setup' stands twice or out of the order"),
        ("N.en.md", "<!-- cell: setup -->", "lost\n<!-- cell: setup -->", "N.en.md:1: text before the first"),
        (
            "N.en.md",
            "<!-- cell: plot.after -->",
            "<!-- cell plot -->",
            "N.en.md:3: '<!-- cell plot -->' opens",
        ),
        ("N.en.md", "After.", "", "N.en.md: block 'plot.after' is empty"),
        ("N.es.md", "plot.after", "plot", "prose blocks in one language only: plot, plot.after"),
    ],
)
def test_a_source_that_is_not_right_is_one_clear_line(
    repository: Path, name: str, old: str, new: str, says: str
) -> None:
    change(repository, name, old, new)
    with pytest.raises(DocumentError) as caught:
        list(building.drafts(repository, "x/N"))
    assert says in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_a_missing_translation_is_named(repository: Path) -> None:
    (repository / "notebooks" / "x" / "source" / "N.es.md").unlink()
    with pytest.raises(DocumentError, match=r"source/N\.es\.md: cannot be read"):
        list(building.drafts(repository, "x/N"))


def test_an_unknown_notebook_is_answered_with_those_there_are(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert building.main(["x/M"], repository) == 2
    assert capsys.readouterr().err == "no notebook source is called 'x/M'; accepted: x/N\n"
