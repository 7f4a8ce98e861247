"""Grading a folder: the good, the hostile, and the rest of the cohort, which never suffers for it."""

from __future__ import annotations

import csv
import functools
import json
import os
import re
import shutil
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mutants import MUTANTS, REFERENCE, mutated

from ai_evolution.errors import DocumentError, UsageError
from ai_evolution.evidence import Report
from ai_evolution.grading.conclusion import read_conclusion
from ai_evolution.grading.grade import Grade, Gradebook, grade
from ai_evolution.grading.lateness import LatePolicy, late_factor
from ai_evolution.grading.similarity import alike
from ai_evolution.grading.submission import cell, file_name, read_submissions, shown, student_seed
from ai_evolution.labs import run_lab

EXERCISE = Path(__file__).parents[2] / "classes" / "134-a2a" / "exercise"
SOURCE = REFERENCE.read_bytes()
ANSWERS = "\n".join(
    f"## {n}\n\nThe message is for talking and the artifact is the result.\n" for n in range(1, 9)
)
RESPUESTAS = "\n".join(
    f"## {n}\n\nEl mensaje es para hablar y el artefacto es lo que se entrega.\n" for n in range(1, 9)
)
GOOD = {
    "lang": "en",
    "statements": [
        {
            "says": "A cut stream cost one execution.",
            "claims": ["a2a.stream-cut"],
            "limitations": ["a2a.one-machine"],
        },
        {"says": "A wrong token got 401.", "claims": ["a2a.wrong-token"]},
        {
            "says": "The planted texts were found 0 times.",
            "claims": ["a2a.opacity"],
            "limitations": ["a2a.opacity-is-literal"],
        },
    ],
}


@functools.cache
def _report(name: str, seed: int) -> Any:
    return run_lab(name, seed)


def recompute(name: str, seed: int = 0, **parameters: Any) -> Any:
    """The real lab, once per seed for all tests of this file."""
    return run_lab(name, seed, **parameters) if parameters.get("candidates", 3) != 3 else _report(name, seed)


def evidence(seed: int = 0) -> dict[str, Any]:
    return dict(_report("multiagent", seed).document())


def hand_in(folder: Path, student: str, **files: Any) -> Path:
    """A good submission, with some files replaced (None: left out)."""
    content: dict[str, Any] = {
        "evidence.json": evidence(),
        "my_agent.py": SOURCE,
        "answers.md": ANSWERS,
        "conclusion.json": GOOD,
    }
    content |= {name.replace("__", "."): value for name, value in files.items()}
    (folder / student).mkdir(parents=True)
    for name, value in content.items():
        if value is None:
            continue
        if isinstance(value, dict | list):
            value = json.dumps(value)
        data = value.encode("utf-8") if isinstance(value, str) else value
        (folder / student / name).write_bytes(data)
    return folder / student


def graded(tmp_path: Path, **settings: Any) -> Gradebook:
    return grade(tmp_path / "in", 134, out=tmp_path / "out", recompute=recompute, **settings)


def of(book: Gradebook, student: str) -> Grade:
    return next(g for g in book.grades if g.student == student)


def levels(given: Grade) -> dict[str, float | None]:
    return {m.criterion: m.level for m in given.marks}


def said(given: Grade, lang: str = "en") -> str:
    return "\n".join(line[lang] for m in given.marks for line in m.lines) + "".join(
        n[lang] for n in given.notes
    )


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_a_good_submission_waits_only_for_what_a_person_must_score(tmp_path: Path) -> None:
    hand_in(tmp_path / "in", "ada")
    book = graded(tmp_path)
    assert levels(of(book, "ada")) == {
        "understanding": None,
        "reproducibility": 4,
        "interpretation": 4,
        "limits": None,
    }
    assert book.pending == 2
    assert not book.complete
    (row,) = rows(tmp_path / "out" / "gradebook.csv")
    assert (row["student"], row["reproducibility"], row["understanding"], row["total"]) == (
        "ada",
        "25.0",
        "",
        "",
    )
    assert [r["criterion"] for r in rows(tmp_path / "out" / "pending.csv")] == ["understanding", "limits"]
    results = json.loads(
        (tmp_path / "out" / "gradescope" / "ada" / "results.json").read_text(encoding="utf-8")
    )
    assert "score" not in results
    assert [t.get("score") for t in results["tests"]] == [None, 25.0, 25.0, None]


def test_the_filled_pending_file_completes_the_grades(tmp_path: Path) -> None:
    hand_in(tmp_path / "in", "ada")
    hand_in(tmp_path / "in", "eva", answers__md=RESPUESTAS, conclusion__json={**GOOD, "lang": "es"})
    graded(tmp_path)
    text = (tmp_path / "out" / "pending.csv").read_text(encoding="utf-8")
    filled = tmp_path / "scores.csv"
    scored = [line + s for line, s in zip(text.splitlines(), ("", "4", "2", "3.5", ""), strict=True)]
    filled.write_text("\n".join(scored), encoding="utf-8")
    book = graded(tmp_path, scores=filled)
    assert of(book, "ada").total == 87.5
    assert levels(of(book, "eva"))["understanding"] == 3.5
    assert of(book, "eva").total is None
    results = json.loads(
        (tmp_path / "out" / "gradescope" / "ada" / "results.json").read_text(encoding="utf-8")
    )
    assert results["score"] == 87.5
    assert "# Feedback: ada" in (tmp_path / "out" / "feedback" / "ada.md").read_text(encoding="utf-8")
    assert "# Comentarios: eva" in (tmp_path / "out" / "feedback" / "eva.md").read_text(encoding="utf-8")
    # what a spreadsheet makes of it: a byte order mark, semicolons, a decimal comma
    lines = [line.replace(",", ";") for line in scored]
    filled.write_text("\ufeff" + "\r\n".join(lines).replace("3.5", "3,5") + "0", encoding="utf-8")
    book = graded(tmp_path, scores=filled)
    assert book.complete
    assert (of(book, "eva").total, of(book, "ada").total) == (71.88, 87.5)


def test_scores_that_cannot_be_meant_are_refused_by_line(tmp_path: Path) -> None:
    hand_in(tmp_path / "in", "ada")
    graded(tmp_path)
    text = (tmp_path / "out" / "pending.csv").read_text(encoding="utf-8")
    filled = tmp_path / "scores.csv"
    key = text.splitlines()[1].partition(",")[0]
    for body, message in (
        ("name,score\nada,3\n", "no columns key and score"),
        (f"key,score\n{key},5\n", r"scores\.csv:2: score '5'; expected a level from 0 to 4"),
        (f"key,score\n{key},good\n", "score 'good'"),
        ("key,score\nnobody,3\n", "'nobody' belongs to no submission"),
        (f"key,score\n{key},3\n{key},4\n", "stands twice"),
        ("key,score\n" + "x" * 200_000 + ",1\n", r"scores\.csv:2: field larger than field limit"),
        ("x" * 200_000 + "\n", r"scores\.csv:1: field larger than field limit"),
    ):
        filled.write_text(body, encoding="utf-8")
        with pytest.raises(DocumentError, match=message):
            graded(tmp_path, scores=filled)
    with pytest.raises(DocumentError, match="cannot be read"):
        graded(tmp_path, scores=tmp_path / "absent.csv")


def edited(path: str, value: Any) -> dict[str, Any]:
    document = json.loads(json.dumps(evidence()))
    place = document
    *steps, last = path.split("/")
    for step in steps:
        place = place[int(step)] if isinstance(place, list) else place[step]
    place[last] = value
    return dict(document)


HOSTILE: dict[str, tuple[dict[str, Any], str]] = {
    "no evidence": ({"evidence__json": None}, "evidence.json is missing"),
    "evidence is no JSON": ({"evidence__json": b"\xff\x00\x01"}, "evidence.json: not UTF-8 at byte 0"),
    "evidence too deep": ({"evidence__json": b"[" * 100_000}, "evidence.json: nested too deep"),
    "evidence is a list": ({"evidence__json": [1]}, "evidence.json: "),
    "evidence of a lab that is not there": ({"evidence__json": edited("kind", "poker")}, "poker"),
    "observation edited": (
        {"evidence__json": edited("evidence/3/observed", "fine")},
        "differs at /evidence/3/observed",
    ),
    "seed edited": ({"evidence__json": edited("seed", 5)}, "differs at /seed"),
    "digest edited": ({"evidence__json": edited("digest", "sha256:" + "0" * 64)}, "differs at /digest"),
    "claim weakened": ({"evidence__json": edited("evidence/0/holds", False)}, "differs at /evidence/0/"),
    "no agent": ({"my_agent__py": None}, "my_agent.py is missing"),
    "agent is junk": ({"my_agent__py": bytes(range(256))}, "my_agent.py is not Python that can be compiled"),
    "agent does not start": (
        {"my_agent__py": "import os\nos._exit(1)\n"},
        "ended before the check did (exit code 1)",
    ),
    "no answers": ({"answers__md": None}, "answers.md is missing"),
    "answers are junk": ({"answers__md": b"\x80\x81\x00"}, "answers.md is not text"),
    "answers are blank": ({"answers__md": " \n"}, "answers.md is not text"),
    "no conclusion": ({"conclusion__json": None}, "conclusion.json is missing"),
    "conclusion is no JSON": ({"conclusion__json": "{"}, "conclusion.json is not JSON"),
    "conclusion is empty": ({"conclusion__json": {"statements": []}}, 'no list "statements"'),
    "everything is too large": ({"answers__md": b"a" * (1 << 20) + b"b"}, "answers.md has 1048577 bytes"),
}  # fmt: skip


def beside_the_inputs(member: str) -> bytes:
    """The report of seed 0 with one member more among its inputs, as written."""
    return json.dumps(evidence()).replace('"inputs": {', '"inputs": {' + member + ", ", 1).encode()


HOSTILE |= {
    f"evidence with {name}": ({"evidence__json": beside_the_inputs(member)}, "evidence.json: ")
    for name, member in {
        "NaN": '"x": NaN',
        "an infinite number": '"x": 1e400',
        "a number too large": '"x": 9007199254740993',
        "half a character": '"x": "\\ud800"',
        "half a character as key": '"\\ud800": 1',
        "lists in lists": '"x": ' + "[" * 220 + "]" * 220,
    }.items()
} | {
    "evidence with a key twice": (
        {"evidence__json": json.dumps(evidence()).replace('"seed": 0', '"seed": 6, "seed": 0', 1).encode()},
        "evidence.json: key 'seed' occurs twice",
    ),
    "evidence in UTF-16": (
        {"evidence__json": json.dumps(evidence()).encode("utf-16")}, "evidence.json: not UTF-8 at byte 0",
    ),
    "evidence after a byte order mark": (
        {"evidence__json": b"\xef\xbb\xbf" + json.dumps(evidence()).encode()},
        "evidence.json: not JSON at line 1",
    ),
}  # fmt: skip


def test_hostile_submissions_each_get_one_line_and_the_others_their_grades(tmp_path: Path) -> None:
    hand_in(tmp_path / "in", "aa good")
    hand_in(tmp_path / "in", "zz good")
    for name, (files, _) in HOSTILE.items():
        hand_in(tmp_path / "in", name, **files)
    book = graded(tmp_path)
    assert len(book.grades) == len(HOSTILE) + 2
    for name, (_, line) in HOSTILE.items():
        assert line in said(of(book, name)), name
        page = (tmp_path / "out" / "feedback" / f"{file_name(name)}.md").read_text(encoding="utf-8")
        assert page.startswith("# Feedback: ")
    assert levels(of(book, "aa good")) == levels(of(book, "zz good"))
    assert levels(of(book, "zz good"))["reproducibility"] == 4
    assert levels(of(book, "observation edited"))["reproducibility"] == 1
    # the evidence was edited, the conclusion is still held against what the lab says
    assert levels(of(book, "observation edited"))["interpretation"] == 4
    assert levels(of(book, "no answers"))["understanding"] == 0


def test_whatever_breaks_over_one_student_is_that_students_line_and_a_persons_work(tmp_path: Path) -> None:
    def breaks(name: str, seed: int = 0, **parameters: Any) -> Any:
        if seed == 5:
            raise ZeroDivisionError("the lab broke")
        return recompute(name, seed, **parameters)

    files = {"my_agent__py": None, "answers__md": None, "conclusion__json": None}
    for student, seed in (("ada", 0), ("bob", 5), ("cleo", 0)):
        hand_in(tmp_path / "in", student, **{**files, "evidence__json": {**evidence(), "seed": seed}})
    os.utime(tmp_path / "in" / "cleo" / "evidence.json", (1e14, 1e14))  # in the year 3 170 843
    settings: dict[str, Any] = {"out": tmp_path / "out", "recompute": breaks}
    settings |= {"deadline": datetime(2026, 12, 1, tzinfo=UTC)}
    book = grade(tmp_path / "in", 134, **settings)
    assert levels(of(book, "ada"))["reproducibility"] == levels(of(book, "cleo"))["reproducibility"] == 1
    assert of(book, "cleo").late == 0.5
    assert set(levels(of(book, "bob")).values()) == {None}
    page = (tmp_path / "out" / "feedback" / "bob.md").read_text(encoding="utf-8")
    assert "could not be graded: ZeroDivisionError" in page
    waiting = rows(tmp_path / "out" / "pending.csv")
    assert [(r["student"], r["note"]) for r in waiting] == [
        ("bob", "could not be graded: ZeroDivisionError")
    ] * len(book.rubric.criteria)
    scores = tmp_path / "scores.csv"
    scores.write_text("key,score\n" + "".join(f"{r['key']},4\n" for r in waiting), encoding="utf-8")
    book = grade(tmp_path / "in", 134, scores=scores, **settings)
    assert of(book, "bob").total == 100 * of(book, "bob").late


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="modes as POSIX has them")
def test_what_may_not_be_read_is_a_line_of_that_student() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        for student in ("ada", "bob", "cleo"):
            (folder / student).mkdir()
            (folder / student / "answers.md").write_text("the answers", encoding="utf-8")
        (folder / "ada" / "answers.md").chmod(0)
        (folder / "bob").chmod(0)
        root = os.geteuid() == 0
        try:
            if root:
                os.seteuid(65534)
            read = {s.student: s for s in read_submissions(folder, "my_agent.py")}
        finally:
            if root:
                os.seteuid(0)
            (folder / "bob").chmod(0o700)
    for student in ("ada", "bob"):
        assert read[student].problems["answers.md"]["en"] == "answers.md cannot be read"
    assert read["cleo"].files == {"answers.md": b"the answers"}


def test_hidden_folders_are_not_graded_and_that_is_said(tmp_path: Path) -> None:
    for student in ("ada", ".eve", "__x"):
        hand_in(tmp_path / "in", student, my_agent__py=None, conclusion__json=None)
    (tmp_path / "in" / ".DS_Store").write_bytes(b"")
    book = graded(tmp_path)
    assert [g.student for g in book.grades] == ["ada"]
    assert "Not graded, because the name begins with . or __: .eve, __x" in book.text("en")
    assert "Sin calificar, porque el nombre empieza por . o __: .eve, __x" in book.text("es")
    assert book.as_dict()["passed_over"] == [".eve", "__x"]


@pytest.mark.parametrize("content", ["[" * 100_000, "{", "[]", '{"x": 5}', '{"x": {"held": 22}}'])
def test_checks_that_grade_did_not_write_are_refused_in_one_line(tmp_path: Path, content: str) -> None:
    hand_in(tmp_path / "in", "ada", my_agent__py=None)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "checks.json").write_text(content, encoding="utf-8")
    with pytest.raises(DocumentError, match=r"checks\.json is not what grade wrote there; delete it"):
        graded(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="links and pipes as POSIX has them")
def test_links_and_pipes_are_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("the answers of the course", encoding="utf-8")
    links = hand_in(tmp_path / "in", "links", answers__md=None, conclusion__json=None)
    (links / "answers.md").symlink_to(secret)
    os.mkfifo(links / "conclusion.json")
    (tmp_path / "in" / "linked").symlink_to(tmp_path / "in" / "links")
    (tmp_path / "in" / "loose.txt").write_text("no submission", encoding="utf-8")
    book = graded(tmp_path)
    assert "answers.md is a link and was not followed" in said(of(book, "links"))
    assert "conclusion.json is no ordinary file" in said(of(book, "links"))
    assert "the folder is a link and was not followed" in said(of(book, "linked"))
    everything = b"".join(p.read_bytes() for p in (tmp_path / "out").rglob("*") if p.is_file())
    assert b"the answers of the course" not in everything


NAMES = (
    "=cmd|'calc'!A0",
    "@SUM(A1)",
    "..hidden",
    "Ada",
    "ada",
    "CON",
    "a b",
    "añil €",
    "x" * 200,
    "<b>",
    "-rf",
)


def test_names_are_text_in_every_file_and_stay_in_their_folder(tmp_path: Path) -> None:
    names = [n for n in NAMES if not n.startswith(".")]
    for name in names:
        hand_in(tmp_path / "in", name, my_agent__py=None, conclusion__json=None)
    book = graded(tmp_path)
    assert [g.student for g in book.grades] == sorted(names)
    for file in ("gradebook.csv", "pending.csv"):
        for row in rows(tmp_path / "out" / file):
            assert not any(value[:1] in ("=", "+", "-", "@") for value in row.values()), row
    written = {p.name for p in (tmp_path / "out" / "feedback").iterdir()}
    assert len({n.lower() for n in written}) == len(names)
    assert {p.name for p in (tmp_path / "out").iterdir()} == {
        "gradebook.csv", "pending.csv", "checks.json", "feedback", "gradescope",
    }  # fmt: skip
    assert "same name but for case" in said(of(book, "Ada"))
    assert "same name but for case" in said(of(book, "ada"))


@given(st.text(min_size=1))
def test_any_name_is_a_safe_file_name_and_a_safe_cell(name: str) -> None:
    safe = file_name(name)
    assert safe not in (".", "..")
    assert not set(safe) & set('/\\:*?"<>| \n\0')
    assert len(safe) < 80
    assert cell(name)[:1] not in ("=", "+", "-", "@")
    assert "\n" not in cell(name)
    assert shown(name).encode("utf-8")


def test_every_cell_is_quoted_and_calculates_nowhere(tmp_path: Path) -> None:
    hand_in(tmp_path / "in", "a;=cmd()\t=x", my_agent__py=None)
    graded(tmp_path)
    for file in ("gradebook.csv", "pending.csv"):
        for line in (tmp_path / "out" / file).read_text(encoding="utf-8").splitlines():
            assert re.fullmatch(r'"[^"]*"(,"[^"]*")*', line)
            assert not re.search(r"[;\t]\s*[=+@-]", line)
    assert cell("a; -1") == "a;' -1"
    assert cell("  =1") == "'  =1"


@given(st.lists(st.text(min_size=1), unique=True, max_size=8))
def test_two_students_never_share_a_file(names: list[str]) -> None:
    assert len({file_name(n).lower() for n in names}) == len(names)


def test_the_evidence_of_somebody_else_is_told_apart_by_the_seed(tmp_path: Path) -> None:
    key = "course key"
    mine = student_seed(key, "ada", "134-a2a")
    assert mine == student_seed(key, "ada", "134-a2a") != student_seed(key, "bob", "134-a2a")
    assert student_seed("another", "ada", "134-a2a") != mine
    hand_in(tmp_path / "in", "ada", my_agent__py=None, conclusion__json=None)
    book = graded(tmp_path, course_key=key)
    assert f"it is of seed 0; expected --seed {mine}" in said(of(book, "ada"))
    assert levels(of(book, "ada"))["reproducibility"] == 0


def test_a_copied_agent_is_reported_and_nothing_is_taken_off(tmp_path: Path) -> None:
    renamed = SOURCE.replace(b"self.tasks", b"self.jobs_by_id").replace(b"# ", b"#   ")
    hand_in(tmp_path / "in", "ada")
    hand_in(tmp_path / "in", "bob", my_agent__py=renamed)
    hand_in(tmp_path / "in", "cleo", my_agent__py=(EXERCISE / "starter.py").read_bytes())
    hand_in(tmp_path / "in", "dan", my_agent__py=(EXERCISE / "starter.py").read_bytes())
    book = graded(tmp_path)
    assert of(book, "ada").for_grader == ("my_agent.py is 100% like that of bob",)
    assert levels(of(book, "ada"))["reproducibility"] == levels(of(book, "bob"))["reproducibility"] == 4
    assert of(book, "cleo").for_grader == ()
    page = (tmp_path / "out" / "feedback" / "ada.md").read_text(encoding="utf-8")
    assert "nearly the same file" in page
    assert "bob" not in page
    assert list(alike({"x": SOURCE, "y": Path(__file__).read_bytes(), "z": b"\xff("})) == []


def test_the_order_of_the_folders_changes_nothing(tmp_path: Path) -> None:
    for n, student in enumerate(("ada", "bob")):
        hand_in(tmp_path / "in", student, my_agent__py=mutated(MUTANTS[n]))
    for student in ("bob", "ada"):
        shutil.copytree(tmp_path / "in" / student, tmp_path / "other" / student)
    first = graded(tmp_path)
    second = grade(tmp_path / "other", 134, out=tmp_path / "out2", recompute=recompute)
    assert first.as_dict() == second.as_dict()
    for file in (
        "gradebook.csv",
        "pending.csv",
        "gradescope/ada/results.json",
        "gradescope/bob/results.json",
    ):
        assert (tmp_path / "out" / file).read_bytes() == (tmp_path / "out2" / file).read_bytes()


def test_grading_twice_gives_the_same_grade_even_if_the_agent_tosses_coins(tmp_path: Path) -> None:
    coin = SOURCE.replace(b'RpcError(-32601, "Method', b'RpcError(-32601 + os.urandom(1)[0], "Method')
    coin = coin.replace(b"import uuid\n", b"import os\nimport uuid\n")
    hand_in(tmp_path / "in", "ada", my_agent__py=coin)
    first = graded(tmp_path).as_dict()
    assert all(graded(tmp_path).as_dict() == first for _ in range(3))


def test_the_call_is_checked_before_anything_is_written(tmp_path: Path) -> None:
    hand_in(tmp_path / "in", "ada", my_agent__py=None)
    with pytest.raises(UsageError, match="lies inside"):
        grade(tmp_path / "in", 134, out=tmp_path / "in" / "out", recompute=recompute)
    with pytest.raises(DocumentError, match="cannot be read"):
        grade(tmp_path / "absent", 134, out=tmp_path / "out", recompute=recompute)
    (tmp_path / "empty").mkdir()
    with pytest.raises(DocumentError, match="holds no submissions"):
        read_submissions(tmp_path / "empty", "my_agent.py")
    with pytest.raises(UsageError, match="without a time zone"):
        graded(tmp_path, deadline=datetime(2026, 12, 1))  # noqa: DTZ001
    assert not (tmp_path / "out").exists()


# --- conclusions ---------------------------------------------------------------------------------


def conclude(*statements: dict[str, Any]) -> Any:
    return read_conclusion(json.dumps({"statements": statements}).encode(), evidence())


@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        ({"says": "All is well.", "claims": []}, "it cites no claim"),
        ({"says": "All is well.", "claims": ["a2a.magic"]}, "there is no claim a2a.magic"),
        (
            {"says": "All is well.", "claims": ["a2a.opacity"], "limitations": ["x"]},
            "there is no limitation x",
        ),
        ({"says": "The code was 402.", "claims": ["a2a.wrong-token"]}, "the number 402 occurs in no finding"),
        ({"says": "It leaked.", "claims": ["a2a.opacity"], "holds": False}, "a2a.opacity did hold"),
        ({"claims": ["a2a.opacity"]}, 'without a text "says"'),
        ("words", 'without a text "says"'),
        ({"says": "It held.", "claims": ["a2a.opacity"], "holds": 1}, '"holds" is neither true nor false'),
        ({"says": "It held.", "claims": ["a2a.opacity"] * 30 + ["nope"]}, '"claims" has 31 entries'),
        (
            {"says": "It held.", "claims": ["a2a.opacity"], "limitations": ["a2a.one-machine"] * 31},
            '"limitations" has 31 entries; at most 30 are read',
        ),
    ],
)
def test_a_statement_says_no_more_than_what_it_cites(statement: Any, fault: str) -> None:
    (read,) = conclude(statement).statements
    assert not read.stands
    assert fault in read.problems[0]["en"]


def test_more_statements_than_are_read_are_refused_and_not_cut_off() -> None:
    read = conclude(*GOOD["statements"] * 17)
    assert read.level == 0
    assert read.problem["en"] == "conclusion.json has 51 statements; at most 50 are read"
    assert conclude(*[*GOOD["statements"] * 17][:50]).problem is None


def test_a_statement_about_what_did_not_hold_must_say_so() -> None:
    report = edited("evidence/0/holds", False)
    claim = report["evidence"][0]["id"]
    boast = read_conclusion(
        json.dumps({"statements": [{"says": "Yes.", "claims": [claim]}]}).encode(), report
    )
    assert f"{claim} did not hold in the evidence" in boast.statements[0].problems[0]["en"]
    honest = {"statements": [{"says": "No.", "claims": [claim], "holds": False}]}
    assert read_conclusion(json.dumps(honest).encode(), report).statements[0].stands


def test_the_level_of_a_conclusion_follows_the_rubric() -> None:
    good, bad = GOOD["statements"], {"says": "Anything.", "claims": []}
    assert conclude(*good).level == 4
    assert conclude(*good[1:], good[1]).level == 3
    assert conclude(*good, bad).level == 2
    assert conclude(*good[:2]).level == 2
    assert conclude(good[0], bad, bad).level == 1
    assert conclude().level == 0


@given(
    st.binary(max_size=200) | st.recursive(st.none() | st.text() | st.integers(), st.lists).map(json.dumps)
)
def test_no_conclusion_breaks_the_reader(content: bytes | str) -> None:
    data = content if isinstance(content, bytes) else content.encode()
    report = {"evidence": [], "limitations": []}
    assert read_conclusion(data, report).level in range(5)
    assert read_conclusion(b'{"statements": ' + data + b"}", report).level in range(5)


# --- lateness ------------------------------------------------------------------------------------

MOMENTS = st.datetimes(datetime(2026, 1, 1), datetime(2027, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
POLICIES = st.builds(
    LatePolicy,
    grace=st.timedeltas(timedelta(0), timedelta(days=2)),
    per_day=st.floats(0, 100),
    cap=st.floats(0, 100),
)


@given(MOMENTS, MOMENTS, st.timedeltas(timedelta(0), timedelta(days=40)), POLICIES)
def test_moving_the_deadline_later_never_lowers_a_grade(
    submitted: datetime, deadline: datetime, more: timedelta, policy: LatePolicy
) -> None:
    assert late_factor(submitted, deadline + more, policy) >= late_factor(submitted, deadline, policy)
    assert late_factor(submitted + more, deadline, policy) <= late_factor(submitted, deadline, policy)
    assert 1 - policy.cap / 100 <= late_factor(submitted, deadline, policy) <= 1
    assert late_factor(submitted, None, policy) == 1


def test_lateness_is_counted_in_days_begun_after_the_grace() -> None:
    due = datetime(2026, 12, 1, tzinfo=UTC)
    late = {
        hours: late_factor(due + timedelta(hours=hours), due, LatePolicy())
        for hours in (0, 0.4, 1, 24, 25, 999)
    }
    assert late == {0: 1.0, 0.4: 1.0, 1: 0.9, 24: 0.9, 25: 0.8, 999: 0.5}
    with pytest.raises(UsageError, match="percent"):
        LatePolicy(cap=120)


def test_a_late_submission_loses_points_and_is_told_so(tmp_path: Path) -> None:
    hand_in(tmp_path / "in", "ada", answers__md=None)
    due = datetime(2026, 12, 1, tzinfo=UTC)
    book = graded(tmp_path, deadline=due, received={"ada": due + timedelta(days=1)})
    assert of(book, "ada").total == 45.0
    assert "10 % is taken off" in said(of(book, "ada"))
    assert of(graded(tmp_path, deadline=due, received={"ada": due}), "ada").total == 50.0


def test_the_tools_of_another_class_are_graded_by_the_same_rules(tmp_path: Path) -> None:
    """Class 131: the file has another name, the judge is another one, the rest is the same."""
    golden = Report.load(EXERCISE.parents[1] / "131-contracts" / "evidence.seed-0.json")
    tool = Path(__file__).with_name("reference_tool.py").read_bytes()
    says = {
        "lang": "es",
        "statements": [
            {
                "says": "La forma plana perdió required en 41 herramientas.",
                "claims": ["translate.flat-loses"],
                "limitations": ["contract.six-servers"],
            },
            {"says": "Ninguna de las 51 herramientas cambió al volver.", "claims": ["translate.lossless"]},
            {
                "says": "Al guion le bastaron 3 intentos.",
                "claims": ["repair.fewer-tries"],
                "limitations": ["contract.scripted"],
            },
        ],
    }
    handed = {"my_agent__py": None, "evidence__json": golden.to_bytes(), "conclusion__json": says}
    hand_in(tmp_path / "in", "ada", my_tool__py=tool, answers__md=RESPUESTAS, **handed)
    hand_in(tmp_path / "in", "bob", my_tool__py=b"def build(library, clock): ...\n", **handed)
    hand_in(tmp_path / "in", "cleo", **{**handed, "my_agent__py": SOURCE})
    book = grade(
        tmp_path / "in",
        "131",
        out=tmp_path / "out",
        recompute=lambda *_, **__: golden,  # what the lab says with seed 0, held in the class folder
    )
    assert book.class_slug == "131-contracts"
    assert "my_tool.py: se cumplen 16 de 16 comportamientos" in said(of(book, "ada"), "es")
    assert "build(library, clock) returned a NoneType" in said(of(book, "bob"))
    assert "my_tool.py is missing" in said(of(book, "cleo"))
    names = ("ada", "bob", "cleo")
    assert [levels(of(book, name))["reproducibility"] for name in names] == [4, 1, 1]
    assert [levels(of(book, name))["interpretation"] for name in names] == [4, 4, 4]
    page = (tmp_path / "out" / "feedback" / "ada.md").read_text(encoding="utf-8")
    assert "131-contracts" in page
