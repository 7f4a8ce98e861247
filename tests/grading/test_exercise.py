"""Files that students hand in, good and bad: each ends in a report in words, and leaves nothing running."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Collection
from pathlib import Path

import pytest
from mutants import MUTANTS, REFERENCE, mutated

from ai_evolution.a2a.behaviours import BEHAVIOURS
from ai_evolution.errors import DocumentError, UsageError
from ai_evolution.grading import child, trips
from ai_evolution.grading.child import remove
from ai_evolution.grading.exercise import (
    CheckReport,
    behaviour_list,
    check_exercise,
    exercise_behaviours,
)

ROOT = Path(__file__).parents[2]
EXERCISE = ROOT / "classes" / "134-a2a" / "exercise"
SOURCE = REFERENCE.read_text(encoding="utf-8")
LINUX = sys.platform == "linux"

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="rights are lowered on POSIX only")


def check(tmp_path: Path, source: str, only: list[str] | None = None, **settings: float) -> CheckReport:
    file = tmp_path / "my_agent.py"
    file.write_text(source, encoding="utf-8")
    return check_exercise(134, file, only=only, **{"deadline": 20, "patience": 2, **settings})


def processes() -> set[str]:
    """The numbers of all processes of this machine, as texts."""
    return set(filter(str.isdigit, os.listdir("/proc"))) if LINUX else set()  # noqa: PTH208


def running(mark: str, before: Collection[str] = ()) -> list[str]:
    """The processes that carry this mark in command line or environment and were not there before."""
    found = []
    for number in processes() - {*before, str(os.getpid())}:
        entry = Path("/proc", number)
        try:
            words = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
            state = (entry / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
        except OSError:
            continue
        if mark.encode() in words and state != "Z":
            found.append(number)
    return found


def children(before: Collection[str]) -> list[str]:
    """Our own children that were not there before, zombies too."""
    found = []
    for number in processes().difference(before):
        try:
            fields = Path("/proc", number, "stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        if fields.rpartition(")")[2].split()[1] == str(os.getpid()):
            found.append(number)
    return found


@pytest.fixture(autouse=True)
def _nothing_stays_behind() -> object:
    before = processes()
    yield
    assert children(before) == []
    assert running(f"ai-evolution-check-{os.getpid()}-", before) == []
    assert list(Path(tempfile.gettempdir()).glob(f"ai-evolution-check-{os.getpid()}-*")) == []


def test_a_solution_on_the_sdk_passes_as_well_and_streams() -> None:
    agent = Path(__file__).with_name("sdk_agent.py")
    assert '"streaming": True' in agent.read_text(encoding="utf-8")
    report = check_exercise(134, agent, patience=20, deadline=120)
    assert report.passed, report.text()


def test_the_reference_solution_passes(tmp_path: Path) -> None:
    report = check(tmp_path, SOURCE, patience=10, deadline=60)
    assert report.passed
    assert report.exit_code == 0
    assert tuple(o.id for o in report.observations) == exercise_behaviours(134) == tuple(BEHAVIOURS)
    assert "my_agent.py: 22 of 22 behaviours hold." in report.text("en")
    assert "my_agent.py: se cumplen 22 de 22 comportamientos." in report.text("es")


def test_the_starter_runs_as_it_is_and_its_card_is_fine() -> None:
    report = check_exercise("134-a2a", EXERCISE / "starter.py", patience=2)
    held = {o.id for o in report.observations if o.holds}
    assert report.problem is None
    assert held == {"card.published", "auth.demanded", "rpc.unknown-method"}
    assert report.exit_code == 1


def test_a_failing_behaviour_is_told_with_its_exchange_and_its_source(tmp_path: Path) -> None:
    mutant = next(m for m in MUTANTS if m.name == "exception text in the status")
    text = check(tmp_path, mutated(mutant), ["failure.neutral", "task.unknown"]).text("en")
    assert "✗ failure.neutral" in text
    assert '"leaks": ["ledger.internal", "k-7731"]' in text
    assert "source: A2A 1.0, section" in text
    assert "| POST /" in text
    assert "Authorization: Bearer <token>" in text
    assert "1 of 2 behaviours hold" in text


def test_the_inputs_are_drawn_so_that_answers_cannot_be_written_down(tmp_path: Path) -> None:
    seen = {str(trips.probes(__import__("random").Random(n))["complete"]) for n in range(20)}
    assert len(seen) == 20
    assert check(tmp_path, SOURCE, ["artifact.typed"], seed=7).passed


def test_the_plain_way_that_every_system_has_gives_the_same_verdict(tmp_path: Path) -> None:
    file = tmp_path / "my_agent.py"
    file.write_text(SOURCE, encoding="utf-8")
    report = check_exercise(134, file, portable=True, patience=10)
    assert report.passed
    file.write_text("import sys\nsys.exit(3)\n", encoding="utf-8")
    report = check_exercise(134, file, portable=True)
    assert report.text() == "my_agent.py could not be imported: sys.exit(3)"


def test_it_works_inside_a_running_event_loop(tmp_path: Path) -> None:
    async def notebook() -> CheckReport:
        return check(tmp_path, SOURCE, ["card.published"])

    assert asyncio.run(notebook()).passed


NO_START = {
    "syntax error": (
        "def build(:\n",
        "my_agent.py is not Python that can be compiled: line 1: invalid syntax",
    ),
    "null bytes": ("x = 1\0\n", "my_agent.py is not Python that can be compiled: "),
    "unknown module": (
        "\nimport no_such_module\n",
        "my_agent.py could not be imported: line 2: ModuleNotFoundError: No module named 'no_such_module'",
    ),
    "raises at import": (
        "1 / 0\n",
        "my_agent.py could not be imported: line 1: ZeroDivisionError: division by zero",
    ),
    "sys.exit at import": ("import sys\nsys.exit('enough')\n", "could not be imported: sys.exit('enough')"),
    "os._exit at import": ("import os\nos._exit(3)\n", "process ended before the check did (exit code 3)"),
    "kills itself": ("import os\nos.kill(os.getpid(), 11)\n", "process ended before the check did"),
    "no build": ("app = None\n", "my_agent.py defines no function build(base_url, tokens)"),
    "empty": ("", "my_agent.py defines no function build(base_url, tokens)"),
    "build raises": (
        "def build(base_url, tokens):\n    return tokens['carol']\n",
        "my_agent.py: build(base_url, tokens) failed: line 2: KeyError: 'carol'",
    ),
    "build with other arguments": (
        "def build():\n    pass\n",
        "build(base_url, tokens) failed: TypeError: build() takes",
    ),
    "build returns nothing": (
        "def build(base_url, tokens):\n    pass\n",
        "build(base_url, tokens) returned a NoneType where an ASGI application was expected",
    ),
    "build is async": (
        "async def build(base_url, tokens):\n    pass\n",
        "returned a coroutine where an ASGI",
    ),
    "busy loop at import": ("while True:\n    pass\n", "my_agent.py did not start within 2 s"),
    "eats memory": ("x = bytearray(1 << 34)\n", "could not be imported: line 1: MemoryError"),
    "escape codes": ("raise ValueError('\\x1b[2J\\nsecond line')\n", "ValueError: ?[2J?second line"),
}  # fmt: skip


@pytest.mark.parametrize("name", NO_START)
def test_a_file_that_cannot_be_served_is_one_clear_line(tmp_path: Path, name: str) -> None:
    source, line = NO_START[name]
    report = check(tmp_path, source, deadline=2 if "busy" in name else 20)
    assert not report.passed
    assert report.exit_code == 1
    assert line in report.text("en")
    assert "\n" not in report.text("en")
    assert "\n" not in report.text("es")
    assert report.text("en") != report.text("es")


def broken(old: str, new: str, prefix: str = "") -> str:
    assert old in SOURCE
    head, mark, rest = SOURCE.partition("from __future__ import annotations\n")
    return head + mark + prefix + rest.replace(old, new)


IN_HANDLER = "            result = await agent.call("


def test_sys_exit_in_a_handler_is_an_answer_that_is_no_answer(tmp_path: Path) -> None:
    source = broken(IN_HANDLER, "            raise SystemExit(4)\n" + IN_HANDLER)
    report = check(tmp_path, source, ["card.published", "task.unknown", "rpc.unknown-method"])
    assert [o.holds for o in report.observations] == [True, False, False]
    assert "SystemExit: 4" in report.text("en")


def test_dying_in_the_middle_of_a_task_is_told_and_what_held_before_is_kept(tmp_path: Path) -> None:
    die = "raise LookupError(", "import os; os._exit(9)\n        raise LookupError("
    report = check(tmp_path, broken(*die), ["task.completes", "failure.neutral", "cancel.ends"])
    assert {o.id: o.holds for o in report.observations} == {
        "task.completes": True,
        "failure.neutral": False,
        "cancel.ends": False,
    }
    assert "(exit code 9)" in report.text("en")


def test_an_agent_that_never_answers_is_given_up_after_three_silences(tmp_path: Path) -> None:
    source = "import time\ndef build(base_url, tokens):\n    async def app(scope, receive, send):\n        time.sleep(60)\n    return app\n"  # noqa: E501
    report = check(tmp_path, source, patience=0.3)
    assert {str(o.observed) for o in report.observations[3:]} == {"not tried: the agent is silent"}
    assert not any(o.holds for o in report.observations)


def test_a_gigabyte_of_output_is_thrown_away(tmp_path: Path) -> None:
    noise = "for _ in range(1024):\n    print('x' * (1 << 20))\nprint('the last word')\n"
    report = check(tmp_path, SOURCE + noise, ["card.published"])
    assert report.passed
    assert len(report.output) <= 64 << 10
    assert report.output.rstrip().endswith("the last word")


@pytest.mark.skipif(not LINUX, reason="orphans are collected by the keeper on Linux")
def test_children_that_try_to_outlive_the_check_do_not(tmp_path: Path) -> None:
    fork = """
import os, subprocess, sys
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execve(sys.executable, [sys.executable, "-c", "import time; time.sleep(600)", "MARK"], {})
        os._exit(0)
"""
    mark = f"outliving-{os.getpid()}-{time.monotonic_ns()}"
    report = check(
        tmp_path, broken("LIMITS = {", "LIMITS = {", fork.replace("MARK", mark)), ["card.published"]
    )
    assert report.passed
    assert running(mark) == []


@pytest.mark.skipif(not LINUX, reason="the number of processes is limited on Linux")
def test_a_fork_bomb_goes_out(tmp_path: Path) -> None:
    bomb = "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass\n"
    report = check(tmp_path, bomb, deadline=2)
    assert not report.passed
    assert "did not start within 2 s" in report.text("en")


def test_killing_the_parents_does_not_reach_them(tmp_path: Path) -> None:
    kill = f"""
import os, signal
for pid in (os.getppid(), {os.getpid()}, -1, 0):
    try:
        if pid > 1 or pid == -1:
            os.kill(pid, signal.SIGTERM)
    except OSError as error:
        print("refused", type(error).__name__)
"""
    if not (LINUX and isolated(tmp_path)):
        pytest.skip("this machine offers neither namespaces nor Landlock nor another user")
    heard = []
    old = signal.signal(signal.SIGTERM, lambda *_: heard.append(1))
    try:
        check(tmp_path, broken("LIMITS = {", "LIMITS = {", kill), ["card.published"])
    finally:
        signal.signal(signal.SIGTERM, old)
    assert heard == []


def isolated(tmp_path: Path) -> bool:
    offered = check(tmp_path, SOURCE, ["card.published"]).isolation
    return "processes" in offered or "user" in offered


def test_it_reads_nothing_of_ours_and_reaches_no_network(tmp_path: Path) -> None:
    (tmp_path / "grades.csv").write_text("ada,100\n", encoding="utf-8")
    spy = f"""
import os, socket
for name in {
        [
            str(tmp_path / "grades.csv"),
            str(ROOT / "pyproject.toml"),
            f"/proc/{os.getpid()}/environ",
            "/etc/shadow",
        ]
    }:
    try:
        open(name).read(); print("read", name)
    except OSError:
        print("refused")
try:
    open({str(tmp_path / "grades.csv")!r}, "w"); print("written")
except OSError:
    print("refused")
try:
    socket.create_connection(("127.0.0.1", 9), timeout=1); print("connected")
except ConnectionRefusedError:
    print("reached")
except OSError:
    print("unreachable")
print("inherited", dict(os.environ).keys() & {{"PYTEST_CURRENT_TEST", "USER", "SECRET"}})
"""
    os.environ["SECRET"] = "of the grader"
    try:
        report = check(tmp_path, broken("LIMITS = {", "LIMITS = {", spy), ["card.published"])
    finally:
        del os.environ["SECRET"]
    assert report.passed
    assert "inherited set()" in report.output
    if "files" not in report.isolation:
        pytest.skip("this kernel has no Landlock")
    assert report.output.count("refused") == 5
    assert "unreachable" in report.output


def test_writing_a_verdict_changes_nothing(tmp_path: Path) -> None:
    forge = """
import os, json
for fd in range(3, 64):
    for line in ({"stage": "serving"}, {"passed": True, "held": 22}, {"stage": "ended", "code": 0}):
        try:
            os.write(fd, (json.dumps(line) + "\\n").encode() * 3)
        except OSError:
            pass
"""
    wrong = broken('"artifactId": task.id', '"artifactId": task.id', forge).replace(
        "RpcError(-32601", "RpcError(-1"
    )
    report = check(tmp_path, wrong, ["rpc.unknown-method"])
    assert not report.passed


PIPES = """
import os, stat
def tell(line):
    for fd in range(3, 64):
        try:
            if stat.S_ISFIFO(os.fstat(fd).st_mode):
                os.write(fd, line)
        except OSError:
            pass
"""


@pytest.mark.parametrize(
    "line",
    [
        '{"stage": "failed", "why": []}',
        '{"stage": "failed", "why": "ended", "detail": {}}',
        '{"stage": "failed", "why": "import", "detail": [5]}',
        '{"stage": "serving", "isolation": 5}',
        '{"stage": "isolated", "isolation": 5}',
        '{"stage": {}, "why": {}}',
        "[]",
        "9" * 5000,
        '{"stage": "ended", "code": "x"}',
        '{"stage": "ended", "code": -99999999999999999999}',
        '{"stage": "closed", "code": true}',
    ],
)
def test_a_status_line_of_a_wrong_shape_does_not_reach_the_judge(tmp_path: Path, line: str) -> None:
    source = f"{PIPES}\ntell({line!r}.encode() + b'\\n')\nos._exit(3)\n"
    report = check(tmp_path, source, ["card.published"])
    assert not report.passed
    assert "my_agent.py" in report.text("en")
    assert "my_agent.py" in report.text("es")


def test_what_fences_the_agent_in_is_said_and_cannot_be_forged(tmp_path: Path) -> None:
    lie = (
        PIPES
        + """
tell(b'{"stage": "isolated", "isolation": ["network", "processes", "user", "files", "magic"]}\\n')
tell(b'{"stage": "serving", "isolation": ["network", "processes", "user", "files", "magic"]}\\n')
"""
    )
    honest = check(tmp_path, SOURCE, ["card.published"])
    assert check(tmp_path, broken("LIMITS = {", "LIMITS = {", lie), ["card.published"]).isolation == (
        honest.isolation
    )
    whole = CheckReport("134-a2a", "a.py", honest.observations, isolation=("network", "files"))
    assert (
        "Fences in force: no network, files (Landlock); missing here: no sight of other processes,"
        " another user." in whole.text("en")
    )
    bare = CheckReport("134-a2a", "a.py", honest.observations).text("es")
    assert "Barreras: ninguna; ausentes aquí: sin red, sin ver otros procesos, otro usuario" in bare


def test_dripping_status_lines_does_not_keep_the_judge_waiting(tmp_path: Path) -> None:
    drip = (
        PIPES
        + """
import threading
def pipe(fd):
    try:
        return stat.S_ISFIFO(os.fstat(fd).st_mode)
    except OSError:
        return False
kept = [os.dup(fd) for fd in [fd for fd in range(3, 64) if pipe(fd)]]
def drip():
    while True:
        for fd in kept:
            try:
                os.write(fd, b"{}\\n")
            except OSError:
                pass
        threading.Event().wait(0.05)
threading.Thread(target=drip, daemon=True).start()
"""
    )
    found: list[CheckReport] = []
    work = threading.Thread(
        target=lambda: found.append(
            check(tmp_path, broken("LIMITS = {", "LIMITS = {", drip), ["card.published"])
        ),
        daemon=True,
    )
    work.start()
    work.join(timeout=60)
    assert [report.passed for report in found] == [True]


def test_a_folder_as_deep_as_it_likes_leaves_nothing_behind(tmp_path: Path) -> None:
    deep = (
        "import os\nfor _ in range(3000):\n    os.mkdir('d' * 50)\n    os.chdir('d' * 50)\nraise SystemExit\n"
    )
    assert not check(tmp_path, deep, ["card.published"]).passed


def test_clean_up_takes_any_depth_and_any_mode_and_follows_no_link(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "kept").write_bytes(b"kept")
    folder = tmp_path / "left"
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path / "mine")
    below = os.open(folder, os.O_RDONLY)
    for n in range(1100):
        os.mkdir("d" * 50, dir_fd=below)
        if n % 100 == 1:
            os.symlink(tmp_path / "mine", "link", dir_fd=below)
        deeper = os.open("d" * 50, os.O_RDONLY, dir_fd=below)
        os.close(below)
        below = deeper
    os.mkdir("shut", 0, dir_fd=below)
    os.fchmod(below, 0)
    os.close(below)
    folder.chmod(0)
    try:
        remove(folder)
        assert [p.name for p in tmp_path.iterdir()] == ["mine"]
        assert (tmp_path / "mine" / "kept").read_bytes() == b"kept"
        remove(folder)
    finally:  # too deep for pytest, should it be there still
        subprocess.run(["rm", "-rf", str(folder)], check=True, timeout=60)


WRITERS = {
    "bytes": (
        "for n in range(40):\n    open(f'f{n}', 'wb').write(b'x' * (15 << 20))\n", "> 64 MiB",
    ),
    "files": ("for n in range(400):\n    os.mkdir(f'd{n}')\n", "> 300"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRITERS)
def test_an_agent_that_fills_the_disk_is_ended_and_told_so(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, detail = WRITERS[name]
    monkeypatch.setattr(child, "MAX_ENTRIES", 300)  # removing 20,000 takes a minute on some disks
    for portable in (False, True):
        file = tmp_path / "my_agent.py"
        file.write_text(f"import os, time\n{source}time.sleep(60)\n", encoding="utf-8")
        report = check_exercise(134, file, deadline=40, portable=portable)
        assert f"the agent was ended for what it wrote into its folder ({detail})" in report.text("en")


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="modes as POSIX has them")
def test_a_folder_that_is_shut_hides_nothing_from_the_bound() -> None:
    root = os.geteuid() == 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "shut").mkdir(0)
        try:
            if root:
                os.seteuid(65534)
            assert child.excess_of(folder) == "EACCES"
        finally:
            if root:
                os.seteuid(0)
            (folder / "shut").chmod(0o700)
        assert child.excess_of(folder) == ""


def test_closing_every_stream_hurts_nobody(tmp_path: Path) -> None:
    close = "import os, sys\nsys.stdin.close()\nos.close(1)\nos.close(2)\n"
    report = check(tmp_path, broken("LIMITS = {", "LIMITS = {", close), ["card.published", "task.completes"])
    assert report.held == 2


def test_a_file_that_cannot_be_read_is_an_error_of_the_call(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="no such file"):
        check_exercise(134, tmp_path / "absent.py")
    with pytest.raises(DocumentError, match="no ordinary file"):
        check_exercise(134, tmp_path)
    (tmp_path / "large.py").write_bytes(b"#" * (1 << 21))
    with pytest.raises(DocumentError, match="more than 1048576 bytes"):
        check_exercise(134, tmp_path / "large.py")
    with pytest.raises(UsageError, match="class '129' has no exercise"):
        check_exercise(129, EXERCISE / "starter.py")
    with pytest.raises(UsageError, match=r"'no\.such' is no behaviour"):
        check_exercise(134, EXERCISE / "starter.py", only=["no.such"])


@pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread(), reason="signals go to the main thread"
)
def test_an_interrupted_check_leaves_nothing_behind(tmp_path: Path) -> None:
    head = "async def get_card(_: Request) -> Response:"
    slow = broken(head, head + "\n        await asyncio.sleep(30)")
    timer = threading.Timer(1.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            check(tmp_path, slow, patience=15)
    finally:
        timer.cancel()


@pytest.mark.parametrize(("lang", "name"), [("en", "README.md"), ("es", "README.es.md")])
def test_the_exercise_page_lists_exactly_the_behaviours_that_are_checked(lang: str, name: str) -> None:
    page = (EXERCISE / name).read_text(encoding="utf-8")
    assert behaviour_list(134, lang) in page, "write behaviour_list(134, lang) into the page"
