"""Looking into a folder: what is there is given, and there is no way out of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ai_evolution.errors import UsageError
from ai_evolution.inspection import folder as rooms
from ai_evolution.inspection.folder import MAX_FILE, MAX_TEXT, Folder, Refused
from ai_evolution.inspection.tools import REASONS, contracts

SECRET = "the-secret-outside"


@pytest.fixture(params=["by descriptor", "by name"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    if request.param == "by name":
        monkeypatch.setattr(rooms, "_BY_DESCRIPTOR", False)
    (tmp_path / "outside.txt").write_text(SECRET, encoding="utf-8")
    (tmp_path / "beside").mkdir()
    (tmp_path / "beside" / "near.txt").write_text(SECRET, encoding="utf-8")
    root = tmp_path / "root"
    (root / "sub" / "deep").mkdir(parents=True)
    (root / "sub" / "deep" / "c.md").write_text("one\nTwo words\nthree\n", encoding="utf-8")
    (root / "a.txt").write_text("α\nβ two\n", encoding="utf-8")
    (root / ".env").write_text(SECRET, encoding="utf-8")
    (root / "binary").write_bytes(b"\0two\0")
    (root / "latin.txt").write_bytes("dos años two".encode("latin-1"))
    return root


def reason(call: object, *given: object) -> str:
    with pytest.raises(Refused) as caught:
        call(*given)  # type: ignore[operator]
    return caught.value.reason


def test_a_folder_is_listed_by_name_without_what_is_hidden(place: Path) -> None:
    entries, complete = Folder(place).entries()
    assert [(each.path, each.kind) for each in entries] == [
        ("a.txt", "file"), ("binary", "file"), ("latin.txt", "file"), ("sub", "folder"),
    ]  # fmt: skip
    assert complete
    assert [each.path for each in Folder(place).entries("sub/deep/")[0]] == ["sub/deep/c.md"]


def test_lines_are_given_in_pieces_that_add_up(place: Path) -> None:
    folder = Folder(place)
    piece = folder.read("sub/deep/c.md", 1, 2)
    assert (piece.first, piece.last, piece.total, piece.text) == (1, 2, 3, "one\nTwo words\n")
    rest = folder.read("sub/deep/c.md", piece.last + 1)
    assert piece.text + rest.text == (place / "sub" / "deep" / "c.md").read_text(encoding="utf-8")
    beyond = folder.read("sub/deep/c.md", 9)
    assert (beyond.text, beyond.last) == ("", 8)


@pytest.mark.parametrize(
    "path",
    ["..", "../outside.txt", "sub/../../outside.txt", "/etc/hostname", "sub\\..\\a.txt", "C:/a", "a\0b"],
)
def test_a_path_that_leads_out_is_refused(place: Path, path: str) -> None:
    folder = Folder(place)
    for call in (folder.read, folder.entries, folder.content):
        assert reason(call, path) == "OUTSIDE"
    assert reason(folder.search, SECRET, path) == "OUTSIDE"


def test_symbolic_links_are_refused_wherever_they_stand(place: Path) -> None:
    try:
        (place / "link.txt").symlink_to(place.parent / "outside.txt")
        (place / "way").symlink_to(place.parent / "beside", target_is_directory=True)
        (place / "inner").symlink_to(place / "sub", target_is_directory=True)
    except OSError:
        pytest.skip("this machine does not let us make symbolic links")
    folder = Folder(place)
    assert reason(folder.read, "link.txt") == "LINK"
    assert reason(folder.read, "way/near.txt") == "LINK"
    assert reason(folder.entries, "way") == "LINK"
    assert reason(folder.read, "inner/deep/c.md") == "LINK"
    assert not {"link.txt", "way", "inner"} & {each.path for each in folder.entries()[0]}
    assert folder.search(SECRET) == ([], True)


def test_hidden_large_and_binary_files_are_refused(place: Path) -> None:
    folder = Folder(place)
    (place / "large.txt").write_bytes(b"two\n" * (MAX_FILE // 4 + 1))
    assert reason(folder.read, ".env") == "HIDDEN"
    assert reason(folder.read, "sub/.git/config") == "HIDDEN"
    assert reason(folder.read, "large.txt") == "TOO_LARGE"
    assert reason(folder.read, "binary") == "NOT_TEXT"
    assert reason(folder.read, "latin.txt") == "NOT_TEXT"
    assert reason(folder.read, "sub") == "NOT_A_FILE"
    assert reason(folder.entries, "a.txt") == "NOT_A_FOLDER"
    assert reason(folder.read, "nothing") == "NOT_FOUND"
    assert reason(folder.read, "a.txt/b") == "NOT_FOUND"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this machine has no named pipes")
def test_a_pipe_is_no_file_and_nobody_waits_for_it(place: Path) -> None:
    os.mkfifo(place / "pipe")
    assert reason(Folder(place).read, "pipe") == "NOT_A_FILE"
    assert "pipe" not in {each.path for each in Folder(place).entries()[0]}


def test_a_text_is_found_in_either_case_by_path_and_line(place: Path) -> None:
    folder = Folder(place)
    hits, complete = folder.search("two")
    assert [(hit.path, hit.line, hit.text) for hit in hits] == [
        ("a.txt", 2, "β two"), ("sub/deep/c.md", 2, "Two words"),
    ]  # fmt: skip
    assert complete
    assert [hit.path for hit in folder.search("two", ending=".md")[0]] == ["sub/deep/c.md"]
    assert [hit.path for hit in folder.search("two", "a.txt")[0]] == ["a.txt"]
    with pytest.raises(UsageError):
        folder.search("")


def test_what_is_cut_off_is_said_to_be_cut_off(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (place / "long.txt").write_text("x" * (MAX_TEXT + 9) + "\ntail\n", encoding="utf-8")
    piece = Folder(place).read("long.txt")
    assert (len(piece.text), piece.last, piece.total) == (MAX_TEXT, 1, 2)
    (place / "many.txt").write_text("needle\n" * 200, encoding="utf-8")
    hits, complete = Folder(place).search("needle")
    assert (len(hits), complete) == (100, False)
    monkeypatch.setattr(rooms, "MAX_ENTRIES", 2)
    entries, whole = Folder(place).entries()
    assert (len(entries), whole) == (2, False)
    monkeypatch.setattr(rooms, "MAX_DEPTH", 1)
    assert Folder(place).search("Two words") == ([], False)


@given(st.text(max_size=30))
@settings(max_examples=150, deadline=None)
def test_no_path_at_all_gets_out(tmp_path_factory: pytest.TempPathFactory, path: str) -> None:
    root = tmp_path_factory.mktemp("outer") / "root"
    root.mkdir()
    (root.parent / "outside.txt").write_text(SECRET, encoding="utf-8")
    with pytest.raises(Refused):
        Folder(root).read(path)


@pytest.mark.parametrize("lang", ["en", "es"])
def test_every_refusal_is_a_failure_that_the_tool_declares(place: Path, lang: str) -> None:
    read = next(each for each in contracts(Folder(place), lang) if each.name == "read_file")
    assert {each.code for each in read.description.failures} == set(REASONS)
    outcome = read.outcome({"path": "../outside.txt"})
    assert (outcome.succeeded, outcome.blame) == (False, None)
    assert outcome.envelope["data"]["code"] == "OUTSIDE"
    assert str(place) not in str(outcome.envelope)
    assert read.outcome({"path": "a.txt", "first": 0}).blame == "caller"
    assert read.call({"path": "a.txt", "first": 2})["data"]["text"] == "β two\n"
