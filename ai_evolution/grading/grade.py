"""Grade a folder of submissions: a gradebook, feedback per student, and what a person has left to do.

``grade`` recomputes every report with the trusted engine, judges what every student built from outside, holds
every conclusion against the recomputed findings, and writes into ``out``:

* ``gradebook.csv``: a row per student; a criterion that a person must score is empty, and so is the total;
* ``pending.csv``: the rows that a person must score, with an empty ``score`` column (a level, 0 to 4);
  given back as ``scores``, it completes the grades;
* ``feedback/<student>.md``: which criterion, which line of evidence, what to do next;
* ``gradescope/<student>/results.json``;
* ``checks.json``: what was seen of what each student built, by the hash of its file, so that grading twice
  gives the same grade even where it tosses coins.

The lab itself is never handed in (students do not change it), so recomputing a report with the
student's own seed is enough: a secret seed would test nothing more. The *inputs of the exercise* are
drawn from the course key, so that its answers can't be written down.

It refuses to let one submission spoil another: whatever is wrong with a folder is a line in that
student's feedback, and where the grading itself breaks over one, a person scores that one. The order
of the folders changes nothing.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ai_evolution import __version__
from ai_evolution.errors import AiEvolutionError, DocumentError, UsageError
from ai_evolution.evidence import Report, parse_document
from ai_evolution.files import write_whole
from ai_evolution.grading import rubric as rubrics
from ai_evolution.grading import similarity
from ai_evolution.grading.conclusion import Conclusion, read_conclusion
from ai_evolution.grading.exercise import check_source, find_exercise
from ai_evolution.grading.lateness import LatePolicy, late_factor
from ai_evolution.grading.rubric import Criterion, Rubric
from ai_evolution.grading.submission import (
    ANSWERS,
    CONCLUSION,
    EVIDENCE,
    Submission,
    Words,
    cell,
    file_name,
    passed_over,
    read_submissions,
    row_key,
    shown,
    student_seed,
    words,
)
from ai_evolution.grading.task import Exercise

Recompute = Callable[..., Report]
Believed = Callable[[], Mapping[str, Any]]
PENDING_COLUMNS = ("key", "student", "criterion", "read", "how", "note", "score")


@dataclass(frozen=True)
class Mark:
    """One criterion of one student. ``level`` is None while a person has to score it."""

    criterion: str
    level: float | None
    points: float | None
    lines: tuple[Words, ...] = ()
    next: tuple[Words, ...] = ()


@dataclass(frozen=True)
class Grade:
    """One student. ``total`` (0 to 100, lateness taken off) is None while something is pending."""

    student: str
    marks: tuple[Mark, ...]
    total: float | None
    late: float
    lang: str
    notes: tuple[Words, ...] = ()
    for_grader: tuple[str, ...] = ()
    exchange: str = ""


@dataclass(frozen=True)
class Gradebook:
    """Everybody's grades, sorted by student, and where they were written."""

    class_slug: str
    rubric: Rubric
    grades: tuple[Grade, ...]
    out: Path
    passed_over: tuple[str, ...] = ()
    """Folders that were not graded, because of a name that begins with ``.`` or ``__``."""

    @property
    def pending(self) -> int:
        """How many marks a person has left to give."""
        return sum(m.level is None for g in self.grades for m in g.marks)

    @property
    def complete(self) -> bool:
        return self.pending == 0

    def as_dict(self) -> dict[str, Any]:
        return {
            "class": self.class_slug,
            "complete": self.complete,
            "pending": self.pending,
            "passed_over": [shown(name) for name in self.passed_over],
            "students": [
                {
                    "student": shown(g.student),
                    "total": g.total,
                    "late_factor": g.late,
                    "points": {m.criterion: m.points for m in g.marks},
                    "levels": {m.criterion: m.level for m in g.marks},
                    "notes": [dict(n) for n in g.notes],
                    "for_grader": list(g.for_grader),
                }
                for g in self.grades
            ],
        }

    def text(self, lang: str = "en") -> str:
        """A line per student and what is left to do."""
        lines = [f"{_total(g):>6}  {shown(g.student)}" for g in self.grades]
        left = (
            words("Every grade is complete.", "Todas las notas están completas.")
            if self.complete
            else words(
                f"{self.pending} marks wait for a person: fill the column score of {self.out / 'pending.csv'}"
                " (0 to 4), and grade again with it.",
                f"{self.pending} notas esperan a una persona: rellena la columna score de"
                f" {self.out / 'pending.csv'} (de 0 a 4) y califica otra vez con ella.",
            )
        )
        over = []
        if self.passed_over:
            names = ", ".join(shown(name) for name in self.passed_over)
            note = words(
                f"Not graded, because the name begins with . or __: {names}",
                f"Sin calificar, porque el nombre empieza por . o __: {names}",
            )
            over = [note[lang]]
        return "\n".join([*lines, "", *over, left[lang]])


def _total(grade: Grade) -> str:
    return "..." if grade.total is None else f"{grade.total:.1f}"


# --- the grading ---------------------------------------------------------------------------------


def grade(
    submissions_dir: str | Path,
    class_number_or_slug: int | str,
    *,
    out: str | Path,
    course_key: str | bytes | None = None,
    scores: str | Path | None = None,
    deadline: datetime | None = None,
    policy: LatePolicy | None = None,
    received: Mapping[str, datetime] | None = None,
    recompute: Recompute | None = None,
    progress: Callable[[str], None] | None = None,
) -> Gradebook:
    """Grade every folder of ``submissions_dir`` and write the result into ``out``.

    ``course_key`` gives each student a seed of their own (``student_seed``) and the exercise inputs
    that nobody knows; without it any seed is accepted. ``scores`` is a filled ``pending.csv``.
    ``deadline`` (aware) and ``policy`` take off for lateness; when a submission was handed in is
    ``received[student]``, or else the latest modification time of its files. ``progress`` hears each
    student's name. Raises ``UsageError`` and ``DocumentError`` for what is wrong with the call, never
    for what is wrong with a submission.
    """
    exercise = find_exercise(class_number_or_slug)
    source, target = Path(submissions_dir), Path(out)
    if target.resolve().is_relative_to(source.resolve()):
        raise UsageError(f"--out {target} lies inside {source}; name a folder outside of it")
    if deadline is not None and deadline.tzinfo is None:
        raise UsageError("a deadline without a time zone; write for example 2026-12-01T23:59:00+01:00")
    rubric = rubrics.for_class(exercise.class_slug)
    submissions = read_submissions(source, exercise.file)
    given = _read_scores(Path(scores), submissions, rubric) if scores is not None else {}
    grader = _Grader(exercise, rubric, target, course_key, recompute, given)
    grades = []
    for submission in submissions:
        if progress is not None:
            progress(shown(submission.student))
        try:
            grades.append(grader.grade(submission))
        except Exception as error:
            grades.append(grader.by_hand(submission, error))
    grades = _with_likeness(grades, submissions, exercise)
    times = {s.student: _handed_in(s, received) for s in submissions}
    grades = [_late(g, times[g.student], deadline, policy or LatePolicy()) for g in grades]
    book = Gradebook(exercise.class_slug, rubric, tuple(grades), target, passed_over(source))
    _write(book, grader.checks)
    return book


def _handed_in(submission: Submission, received: Mapping[str, datetime] | None) -> datetime:
    if received and submission.student in received:
        return received[submission.student]
    try:
        return datetime.fromtimestamp(submission.modified, UTC)
    except (ValueError, OverflowError, OSError):  # a year that no calendar has
        year = 9998 if submission.modified > 0 else 2
        return datetime(year, 1, 1, tzinfo=UTC)


def _late(given: Grade, submitted: datetime, deadline: datetime | None, policy: LatePolicy) -> Grade:
    factor = late_factor(submitted, deadline, policy)
    total = None
    if all(m.points is not None for m in given.marks):
        total = round(sum(m.points or 0.0 for m in given.marks) * factor, 2)
    notes = given.notes
    if factor < 1.0:
        lost = round(100 * (1 - factor), 1)
        notes += (
            words(
                f"Handed in after the deadline: {lost:g} % is taken off.",
                f"Entregado fuera de plazo: se descuenta un {lost:g} %.",
            ),
        )
    return replace(given, total=total, late=factor, notes=notes)


def _with_likeness(grades: list[Grade], submissions: Sequence[Submission], exercise: Exercise) -> list[Grade]:
    built = {s.student: s.files[exercise.file] for s in submissions if exercise.file in s.files}
    starter = rubrics.classes_folder() / exercise.class_slug / "exercise" / "starter.py"
    known = starter.read_bytes() if starter.is_file() else b""
    found: dict[str, list[str]] = {}
    for one, other, share in similarity.alike(built, known):
        for student, peer in ((one, other), (other, one)):
            found.setdefault(student, []).append(f"{exercise.file} is {share:.0%} like that of {shown(peer)}")
    note = words(
        f"Your {exercise.file} is nearly the same file as in another submission. Nothing is deducted for it;"
        " a person will look.",
        f"Tu {exercise.file} es casi el mismo archivo que el de otra entrega. No se descuenta nada por ello;"
        " lo mirará una persona.",
    )
    return [
        replace(g, notes=(*g.notes, note), for_grader=(*g.for_grader, *found[g.student]))
        if g.student in found
        else g
        for g in grades
    ]


class _Grader:
    """What grading one submission needs to know about the course."""

    def __init__(
        self,
        exercise: Exercise,
        rubric: Rubric,
        out: Path,
        course_key: str | bytes | None,
        recompute: Recompute | None,
        scores: Mapping[str, float],
    ) -> None:
        from ai_evolution.labs import LABS, run_lab

        self.exercise, self.rubric, self.key, self.scores = exercise, rubric, course_key, scores
        self.lab = next(name for name, lab in LABS.items() if lab.class_slug == exercise.class_slug)
        self._run = recompute or run_lab
        self._reports: dict[str, Report] = {}
        self._old = _read_checks(out / "checks.json")
        self.checks: dict[str, Any] = {}

    def recompute(self, name: str, seed: Any = 0, **parameters: Any) -> Report:
        """One run per lab, seed and parameters, however many students share it."""
        key = json.dumps([name, seed, parameters], sort_keys=True, default=str)
        if key not in self._reports:
            self._reports[key] = self._run(name, seed, **parameters)
        return self._reports[key]

    def seed_of(self, student: str) -> int | None:
        return None if self.key is None else student_seed(self.key, student, self.exercise.class_slug)

    def grade(self, submission: Submission) -> Grade:
        believed, sound, said = self._evidence(submission)
        check = self._built(submission)
        conclusion = self._conclusion(submission, believed)
        lang = conclusion.lang or _language(submission.files.get(ANSWERS, b""))
        marks = []
        for criterion in self.rubric.criteria:
            if criterion.machine == ["evidence", "exercise"]:
                marks.append(_reproducible(criterion, sound, said, check, submission, self.exercise.file))
            elif criterion.machine == ["conclusion"]:
                marks.append(_interpreted(criterion, conclusion, submission))
            else:
                marks.append(self._by_person(criterion, submission))
        exchange = check["text"][lang] if check and not check["passed"] else ""
        return Grade(submission.student, tuple(marks), None, 1.0, lang, submission.notes, (), exchange)

    def by_hand(self, submission: Submission, error: Exception) -> Grade:
        """The last resort: grading this one broke, so a person gives every mark, and is told why."""
        why = words(
            f"could not be graded: {type(error).__name__}", f"no se pudo calificar: {type(error).__name__}"
        )
        marks = []
        for criterion in self.rubric.criteria:
            level = self.scores.get(row_key(submission.student, criterion.id))
            points = None if level is None else criterion.points(level)
            marks.append(Mark(criterion.id, level, points, (why,)))
        lang = _language(submission.files.get(ANSWERS, b""))
        return Grade(submission.student, tuple(marks), None, 1.0, lang, submission.notes, (why["en"],))

    # evidence

    def _evidence(self, submission: Submission) -> tuple[Believed, bool, Words]:
        """The report to believe, whether it is the one handed in, and what to say about that one."""
        from ai_evolution.labs import verify

        wanted = self.seed_of(submission.student)
        if EVIDENCE not in submission.files:
            return self._own(wanted), False, submission.problems[EVIDENCE]
        try:
            document = parse_document(submission.files[EVIDENCE], EVIDENCE)
            report = Report.from_document(document, EVIDENCE)
            if report.kind != self.lab:
                wrong = words(f"it is of the lab {report.kind}", f"es del laboratorio {report.kind}")
                return self._own(wanted), False, _not(wrong, self.lab)
            if wanted is not None and report.seed != wanted:
                wrong = words(f"it is of seed {report.seed}", f"es de la semilla {report.seed}")
                return self._own(wanted), False, _not(wrong, f"--seed {wanted}")
            verification = verify(document, recompute=self.recompute)
        except (AiEvolutionError, ValueError, RecursionError) as error:
            known = isinstance(error, AiEvolutionError)
            text = shown(str(error) if known else type(error).__name__).removeprefix(f"{EVIDENCE}: ")[:300]
            return self._own(wanted), False, words(f"evidence.json: {text}", f"evidence.json: {text}")
        says = words(f"evidence.json: {verification.says('en')}", f"evidence.json: {verification.says('es')}")
        if verification.same:
            return (lambda: document), True, says
        return self._own(wanted if wanted is not None else report.seed), False, says

    def _own(self, seed: int | None) -> Believed:
        """What the lab says for this student, where the file does not say it; run when it is asked for."""
        return lambda: self.recompute(self.lab, 0 if seed is None else seed).document()

    # what was built

    def _built(self, submission: Submission) -> dict[str, Any] | None:
        source = submission.files.get(self.exercise.file)
        if source is None:
            return None
        seed = 0
        if self.key is not None:
            seed = student_seed(self.key, submission.student, self.exercise.class_slug + "/exercise")
        identity = f"{__version__}:{self.exercise.class_slug}:{seed}:{hashlib.sha256(source).hexdigest()}"
        if identity in self._old:
            self.checks[identity] = self._old[identity]
        elif identity not in self.checks:
            report = check_source(self.exercise, source, self.exercise.file, seed=seed)
            texts = {lang: report.text(lang) for lang in ("en", "es")}
            self.checks[identity] = {**report.as_dict(), "text": texts}
        checked: dict[str, Any] = self.checks[identity]
        return checked

    # conclusion and answers

    def _conclusion(self, submission: Submission, believed: Believed) -> Conclusion:
        content = submission.files.get(CONCLUSION)
        if content is None:
            return Conclusion(problem=submission.problems[CONCLUSION])
        return read_conclusion(content, believed())

    def _by_person(self, criterion: Criterion, submission: Submission) -> Mark:
        content = submission.files.get(ANSWERS)
        if content is None or not _readable(content):
            unread = words("answers.md is not text", "answers.md no es texto")
            return Mark(criterion.id, 0.0, 0.0, (submission.problems.get(ANSWERS, unread),))
        level = self.scores.get(row_key(submission.student, criterion.id))
        if level is None:
            waits = words("a person will score this", "lo puntuará una persona")
            return Mark(criterion.id, None, None, (waits,))
        return Mark(criterion.id, level, criterion.points(level), (_level_words(criterion, level),))


def _not(wrong: Words, wanted: str) -> Words:
    return words(
        f"evidence.json is not yours to hand in: {wrong['en']}; expected {wanted}",
        f"evidence.json no es la que te toca: {wrong['es']}; se esperaba {wanted}",
    )


def _level_words(criterion: Criterion, level: float) -> Words:
    nearest = criterion.levels[int(level)]
    return words(nearest.en, nearest.es)


def _readable(content: bytes) -> bool:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return False
    return bool(text.strip()) and "\0" not in text


def _language(answers: bytes) -> str:
    """English or Spanish, by the small words of the answers; English when there are none."""
    text = f" {answers[:20_000].decode('utf-8', 'replace').lower()} "
    spanish = sum(len(re.findall(rf"\b{w}\b", text)) for w in ("el", "la", "que", "de", "los", "una"))
    english = sum(len(re.findall(rf"\b{w}\b", text)) for w in ("the", "of", "and", "that", "is", "to"))
    return "es" if spanish > english else "en"


def _reproducible(
    criterion: Criterion,
    sound: bool,
    said: Words,
    check: Mapping[str, Any] | None,
    given: Submission,
    built: str,
) -> Mark:
    lines, todo = [said], []
    if not sound:
        todo.append(
            words(
                "Run the lab with your seed again and hand in the file as it is written.",
                "Ejecuta otra vez el laboratorio con tu semilla y entrega el archivo tal como se escribe.",
            )
        )
    held, count = 0, 1
    if check is None:
        lines.append(given.problems[built])
    else:
        held, count = check["held"], max(1, len(check["behaviours"]))
        if check["problem"]:
            lines.append(check["problem"])
        if check["behaviours"]:
            lines.append(
                words(
                    f"{built}: {held} of {count} behaviours hold",
                    f"{built}: se cumplen {held} de {count} comportamientos",
                )
            )
        todo += [b["says"] for b in check["behaviours"] if not b["holds"]][:3]
    share = held / count if check is None or not check["problem"] else min(held / count, 0.89)
    level = 1 if sound or share >= 0.5 else 0
    if sound and share >= 0.5:
        level = 4 if share == 1 else 3 if share >= 0.9 else 2
    return Mark(criterion.id, level, criterion.points(level), tuple(lines), tuple(todo))


def _interpreted(criterion: Criterion, conclusion: Conclusion, given: Submission) -> Mark:
    level = conclusion.level
    lines: list[Words] = [conclusion.problem] if conclusion.problem else []
    for n, statement in enumerate(conclusion.statements, 1):
        for fault in statement.problems:
            head = words(f"statement {n}: {fault['en']}", f"afirmación {n}: {fault['es']}")
            lines.append({lang: shown(text) for lang, text in head.items()})
    if not lines:
        lines.append(
            words(
                f"all {len(conclusion.statements)} statements stand on what they cite",
                f"las {len(conclusion.statements)} afirmaciones se sostienen en lo que citan",
            )
        )
    todo: tuple[Words, ...] = ()
    if level < 4 and CONCLUSION in given.files:
        step = criterion.levels[level + 1]
        todo = (words(step.en, step.es),)
    return Mark(criterion.id, level, criterion.points(level), tuple(lines[:30]), todo)


# --- what a person scored ------------------------------------------------------------------------


def _read_scores(path: Path, submissions: Sequence[Submission], rubric: Rubric) -> dict[str, float]:
    """Scores by row key. Accepts what spreadsheets make of the file: a BOM, semicolons, decimal commas."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise DocumentError(f"{path} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise DocumentError(f"{path} is not UTF-8; save it as CSV UTF-8") from None
    header = text.partition("\n")[0]
    delimiter = max(",;\t", key=header.count)
    rows = csv.DictReader(io.StringIO(text), delimiter=delimiter)
    try:
        return _scores_in(rows, path, submissions, rubric)
    except csv.Error as error:
        raise DocumentError(f"{path}:{rows.line_num + 1}: {error}; expected a filled pending.csv") from None


def _scores_in(
    rows: csv.DictReader[str], path: Path, submissions: Sequence[Submission], rubric: Rubric
) -> dict[str, float]:
    if not {"key", "score"} <= set(rows.fieldnames or ()):
        raise DocumentError(f"{path} has no columns key and score; expected a filled pending.csv")
    known = {row_key(s.student, c.id) for s in submissions for c in rubric.criteria}
    found: dict[str, float] = {}
    for row in rows:
        where, key, score = (
            f"{path}:{rows.line_num}",
            (row["key"] or "").strip(),
            (row["score"] or "").strip(),
        )
        if not score:
            continue
        if key not in known:
            raise DocumentError(f"{where}: key {key[:40]!r} belongs to no submission here")
        if key in found:
            raise DocumentError(f"{where}: key {key!r} stands twice")
        found[key] = _level(score, where)
    return found


def _level(score: str, where: str) -> float:
    if not re.fullmatch(r"\d+([.,]\d+)?", score) or not 0 <= (level := float(score.replace(",", "."))) <= 4:
        raise DocumentError(f"{where}: score {score[:20]!r}; expected a level from 0 to 4")
    return level


# --- what is written -----------------------------------------------------------------------------


def _read_checks(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise DocumentError(f"{path} cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict) or not all(_is_check(each) for each in document.values()):
        raise DocumentError(f"{path} is not what grade wrote there; delete it to check everything again")
    return document


def _is_check(each: Any) -> bool:
    """Whether this is what ``_built`` keeps, as far as grading reads it again."""
    return (
        isinstance(each, dict)
        and isinstance(each.get("held"), int)
        and isinstance(each.get("passed"), bool)
        and isinstance(each.get("behaviours"), list)
        and isinstance(each.get("text"), dict)
        and "problem" in each
    )


def _write(book: Gradebook, checks: Mapping[str, Any]) -> None:
    for folder in (book.out / "feedback", book.out / "gradescope"):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DocumentError(f"{folder} cannot be made: {error.strerror or error}") from None
    for each in book.grades:
        name = file_name(each.student)
        _put(book.out / "feedback" / f"{name}.md", feedback(each, book))
        (book.out / "gradescope" / name).mkdir(exist_ok=True)
        results = json.dumps(gradescope(each, book), ensure_ascii=False, indent=2)
        _put(book.out / "gradescope" / name / "results.json", results + "\n")
    _put(book.out / "checks.json", json.dumps(checks, ensure_ascii=False, indent=1, sort_keys=True) + "\n")
    _put(book.out / "pending.csv", _csv(PENDING_COLUMNS, _pending(book)))
    _put(book.out / "gradebook.csv", _csv(*_gradebook(book)))


def _put(path: Path, text: str) -> None:
    write_whole(path, text.encode("utf-8", "replace"))


def _csv(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\r\n", quoting=csv.QUOTE_ALL)
    writer.writerow(head)
    writer.writerows([["" if v is None else cell(v) for v in row] for row in rows])
    return file.getvalue()


def _gradebook(book: Gradebook) -> tuple[list[str], list[list[object]]]:
    ids = [c.id for c in book.rubric.criteria]
    rows: list[list[object]] = []
    for g in book.grades:
        points = {m.criterion: m.points for m in g.marks}
        lateness = round(100 * (1 - g.late), 2)
        pending = sum(m.level is None for m in g.marks)
        note = "; ".join([*g.for_grader, *(n["en"] for n in g.notes)])
        rows.append([g.student, *(points[i] for i in ids), lateness, g.total, pending, note])
    return ["student", *ids, "late_percent", "total", "pending", "notes"], rows


def _pending(book: Gradebook) -> list[list[object]]:
    rows: list[list[object]] = []
    for g in book.grades:
        for m, c in zip(g.marks, book.rubric.criteria, strict=True):
            if m.level is None:
                read = f"{shown(g.student)}/{c.person.file if c.person else ''}"
                how = c.person.says(g.lang) if c.person else c.title.says(g.lang)
                note = "; ".join(g.for_grader)
                rows.append([row_key(g.student, c.id), g.student, c.id, read, how, note, ""])
    return rows


def feedback(given: Grade, book: Gradebook) -> str:
    """The page for one student, in the language that the student writes in."""
    es = given.lang == "es"
    title = "Comentarios" if es else "Feedback"
    total = ("pendiente" if es else "pending") if given.total is None else f"{given.total:g} / 100"
    lines = [f"# {title}: {_plain_md(given.student)}", "", f"{book.class_slug} · **{total}**", ""]
    lines += [f"- {note[given.lang]}" for note in given.notes] + ([""] if given.notes else [])
    for mark, c in zip(given.marks, book.rubric.criteria, strict=True):
        points = "..." if mark.points is None else f"{mark.points:g}"
        lines += [f"## {c.title.says(given.lang)}: {points} / {c.weight}", ""]
        lines += [f"- {_plain_md(line[given.lang])}" for line in mark.lines]
        if mark.next:
            lines += ["", "Lo siguiente:" if es else "What to do next:", ""]
            lines += [f"- {_plain_md(step[given.lang])}" for step in mark.next]
        lines.append("")
    if given.exchange:
        heading = "## Lo que se vio de lo que hiciste" if es else "## What was seen of what you built"
        lines += [heading, "", *("    " + line for line in given.exchange.splitlines()[:200]), ""]
    return "\n".join(lines)


def _plain_md(text: str) -> str:
    """Foreign text on one line of Markdown: no markup, no link, no HTML comes alive."""
    return re.sub(r"([\\`*\[\]<>|#])", r"\\\1", shown(text))


def gradescope(given: Grade, book: Gradebook) -> dict[str, Any]:
    """``results.json`` as Gradescope reads it; no total while something is pending."""
    tests = []
    for n, (mark, c) in enumerate(zip(given.marks, book.rubric.criteria, strict=True), 1):
        test: dict[str, Any] = {
            "name": c.title.says(given.lang),
            "number": str(n),
            "max_score": c.weight,
            "output": "\n".join(shown(line[given.lang]) for line in mark.lines),
            "output_format": "text",
            "visibility": "visible",
        }
        if mark.points is not None:
            passed = "passed" if mark.points == c.weight else "failed"
            test |= {"score": round(mark.points * given.late, 2), "status": passed}
        tests.append(test)
    whole = {} if given.total is None else {"score": given.total}
    notes = "\n".join(note[given.lang] for note in given.notes)
    return {**whole, "output": notes, "visibility": "visible", "stdout_visibility": "hidden", "tests": tests}
