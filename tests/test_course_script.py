"""``scripts/course.py`` as a person runs it: a process, a real pip, small wheels instead of an index."""

from __future__ import annotations

import ast
import base64
import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parent.parent / "scripts" / "course.py"
DEADLINE = 120.0
LAB = """
import json, sys
from importlib.metadata import requires
import ai_evolution, tiny
print(json.dumps([sys.argv[1:], tiny.VERSION, ai_evolution.__file__, requires("ai-evolution")]))
sys.exit(7)
"""


PYPROJECT = """
[project]
name = "ai-evolution"
dependencies = ["tiny>=1"]
[project.optional-dependencies]
dev = ["pytest>=1; python_version > '3'"]
[project.scripts]
ai-evolution = "ai_evolution.cli:entry"
"""


class Project:
    """A clone in small: the real script, two packages to install, one class."""

    def __init__(self, root: Path) -> None:
        self.root, self.wheels = root, root.parent / "wheels"
        self.wheels.mkdir()
        for name, content in {
            "ai_evolution/__init__.py": '__version__ = "1.2.3"\n',
            "ai_evolution/cli.py": "def entry():\n    print('the command')\n",
            "classes/134-a2a/lab.py": LAB,
            "classes/catalogue.toml": '[[class]]\nslug = "134-a2a"\nlab = "multiagent"\n',
            "pyproject.toml": PYPROJECT,
            "tests/test_nothing.py": "",
        }.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
        (root / "scripts").mkdir()
        shutil.copy(SCRIPT, root / "scripts" / "course.py")
        (root / "requirements").mkdir()
        tiny = self.wheel("tiny", "1.0", {"tiny.py": "VERSION = '1.0'\n"})
        runner = self.wheel(
            "pytest", "1.0", {"pytest.py": "import json, sys\nprint(json.dumps(sys.argv[1:]))\n"}
        )
        self.lock("core", tiny)
        self.lock("notebooks", tiny)
        self.lock("test", tiny, runner)

    def wheel(self, name: str, version: str, modules: dict[str, str]) -> str:
        """Make a wheel; its line for a lock file."""
        info = f"{name}-{version}.dist-info"
        contents = {
            **modules,
            f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
            f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        }
        rows = []
        for path, content in contents.items():
            digest = base64.urlsafe_b64encode(hashlib.sha256(content.encode()).digest()).rstrip(b"=").decode()
            rows.append(f"{path},sha256={digest},{len(content.encode())}\n")
        contents[f"{info}/RECORD"] = "".join(rows) + f"{info}/RECORD,,\n"
        file = self.wheels / f"{name}-{version}-py3-none-any.whl"
        with zipfile.ZipFile(file, "w") as archive:
            for path, content in contents.items():
                archive.writestr(path, content)
        return f"{name}=={version} --hash=sha256:{hashlib.sha256(file.read_bytes()).hexdigest()}\n"

    def lock(self, name: str, *lines: str) -> None:
        (self.root / "requirements" / f"{name}.txt").write_text("".join(lines), encoding="utf-8")
        if name == "test":  # the largest set of the real project holds this one
            self.lock("bench", *lines)

    def environment(self, **changes: str) -> dict[str, str]:
        """A person's environment, with pip settings that would spoil an installation if they were heard."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PIP_", "LC_", "LANG"))}
        kept |= {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.wheels)}
        kept |= {"PIP_NO_CACHE_DIR": "1", "PIP_USER": "1", "PIP_TARGET": str(self.root / "elsewhere")}
        kept |= {"PIP_REQUIRE_HASHES": "1", "PIP_NO_BINARY": ":all:", "LC_ALL": "C.UTF-8"}
        return kept | changes

    def run(
        self,
        *arguments: str,
        before: Callable[[], None] | None = None,
        python: str = sys.executable,
        **changes: str,
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [python, str(self.root / "scripts" / "course.py"), *arguments],
            cwd=self.root.parent, env=self.environment(**changes), stdin=subprocess.DEVNULL,
            capture_output=True, encoding="utf-8", timeout=DEADLINE, check=False, preexec_fn=before,
        )  # fmt: skip

    @property
    def marks(self) -> set[str]:
        return {path.name for path in (self.root / ".venv").glob(".course-*")}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "a clone")


def one_line(done: subprocess.CompletedProcess[str]) -> str:
    """The complaint of a call that could not be carried out; progress lines may stand before it."""
    assert done.returncode == 2, done
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("course.py: ")
    return last


# ---------------------------------------------------------------- installing


def test_a_bare_clone_runs_a_lab_then_the_tests_in_the_same_environment(project: Project) -> None:
    if os.name != "nt":  # on a disk that fills up it says so, and what it left is not taken for good
        assert "the disk is full" in one_line(project.run("lab", "134", before=little_room))
        assert ".course-installing" in project.marks

    first = project.run("lab", "134", "--seed", "7", PYTHONDONTWRITEBYTECODE="1")
    assert first.returncode == 7, first
    # Who wants no bytecode beside the sources has it in .venv, and need not compile everything every time.
    assert list((project.root / ".venv" / "bytecode").rglob("tiny.*.pyc"))
    assert not list((project.root / "ai_evolution").rglob("*.pyc"))
    arguments, version, package, requires = json.loads(first.stdout)
    assert (arguments, version) == (["--seed", "7"], "1.0")
    assert Path(package) == project.root / "ai_evolution" / "__init__.py"
    assert requires == ["tiny>=1", "pytest>=1 ; (python_version > '3') and extra == \"dev\""]
    assert "finding packages" in first.stderr
    assert project.marks == {".course-made", ".course-core"}
    assert not (project.root / "elsewhere").exists()
    command = next((project.root / ".venv").glob("*/ai-evolution*"))
    assert subprocess.run([command], capture_output=True, text=True, check=True).stdout == "the command\n"

    # Nothing changed, so pip is not asked: it could find nothing now.
    again = project.run("lab", "multiagent", PIP_FIND_LINKS="")
    assert (again.returncode, again.stderr) == (7, "")

    made = (project.root / ".venv" / ".course-made").stat().st_mtime_ns
    tests = project.run("test", "-k", "something")
    assert tests.returncode == 0, tests
    received = json.loads(tests.stdout)
    assert received[-3:] == ["-k", "something", "tests"]
    assert {"--nbval", "--nbval-cell-timeout=60", "loadfile"} <= set(received)
    assert (project.root / ".venv" / ".course-made").stat().st_mtime_ns == made

    # The larger set holds the smaller, and a path given replaces the default ones.
    assert project.run("lab", "134", PIP_FIND_LINKS="").stderr == ""
    assert json.loads(project.run("test", "tests/test_nothing.py").stdout)[-1] == "tests/test_nothing.py"


def little_room() -> None:
    """For a child before it starts: no file may grow over 100 kB, which fails as a full disk does."""
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))


def on_a_terminal(project: Project, *arguments: str) -> tuple[int, bytes]:
    """The exit code of a call whose stderr is a terminal, and what the terminal saw."""
    import pty

    ours, theirs = pty.openpty()
    seen = bytearray()
    with subprocess.Popen(
        [sys.executable, str(project.root / "scripts" / "course.py"), *arguments],
        env=project.environment(), stdout=subprocess.DEVNULL, stderr=theirs,
    ) as running:  # fmt: skip
        os.close(theirs)
        try:
            while block := os.read(ours, 4096):
                seen += block
        except OSError:
            pass  # how Linux says that the other end is closed
        finally:
            os.close(ours)
        return running.wait(timeout=DEADLINE), bytes(seen)


def test_a_new_lock_is_installed_and_a_lock_that_cannot_be_leaves_the_old_in_place(project: Project) -> None:
    prepare_empty_environment(project, pip=True)
    if os.name == "nt":
        assert project.run("lab", "134").returncode == 7
    else:
        code, seen = on_a_terminal(project, "lab", "134")
        assert code == 7
        assert b"1 of 1" in seen
        assert seen.count(b"\r") > seen.count(b"\n") == 1  # one line that keeps changing, then the last word
    lock = project.root / "requirements" / "core.txt"
    old, new = (
        lock.read_text(encoding="utf-8"),
        project.wheel("tiny", "2.0", {"tiny.py": "VERSION = '2.0'\n"}),
    )

    lock.write_text("tiny==2.0 --hash=sha256:" + "0" * 64 + "\n", encoding="utf-8")
    complaint = one_line(project.run("lab", "134"))
    assert "not the one that was locked" in complaint
    assert "tiny==2.0" in complaint
    lock.write_text(old, encoding="utf-8")
    assert project.run("lab", "134", PIP_FIND_LINKS="").stderr == ""

    lock.write_text(new, encoding="utf-8")
    assert json.loads(project.run("lab", "134").stdout)[1] == "2.0"


def test_an_environment_that_moved_or_was_left_half_made_is_made_anew(project: Project) -> None:
    hidden = without_ensurepip(project)  # so that making one can be seen, without its cost

    # As a power cut would leave it.
    prepare_empty_environment(project, pip=True)
    (project.root / ".venv" / ".course-installing").touch()
    assert "lacks `ensurepip`" in one_line(project.run("lab", "134", PYTHONPATH=hidden))
    assert not (project.root / ".venv").exists()

    # Scripts in a virtual environment know where they were made.
    prepare_empty_environment(project, pip=True)
    project.root = project.root.rename(project.root.with_name("moved"))
    assert "lacks `ensurepip`" in one_line(project.run("lab", "134", PYTHONPATH=hidden))


@pytest.fixture
def deaf_index() -> Iterator[str]:
    """The address of an index that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}/simple"


@pytest.mark.skipif(os.name == "nt", reason="a signal ends a Windows process without asking it")
@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_installation_ends_pip_and_is_not_taken_for_a_good_one(
    project: Project, deaf_index: str, sent: signal.Signals, code: int
) -> None:
    prepare_empty_environment(project, pip=True)
    running = subprocess.Popen(
        [sys.executable, str(project.root / "scripts" / "course.py"), "lab", "134"],
        env=project.environment(PIP_NO_INDEX="0", PIP_FIND_LINKS="", PIP_INDEX_URL=deaf_index),
        stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        assert running.stderr is not None
        for line in running.stderr:
            if "finding packages" in line:
                break
        running.send_signal(sent)
        assert running.wait(timeout=DEADLINE) == code
        assert "Traceback" not in running.stderr.read()
    finally:
        running.kill()
        running.communicate()
    assert not project.marks & {".course-core", ".course-installing"}


# ---------------------------------------------------------------- what cannot be done


def test_without_an_index_it_says_that_pip_finds_nothing(project: Project) -> None:
    prepare_empty_environment(project, pip=True)
    complaint = one_line(project.run("lab", "134", PIP_FIND_LINKS="", LC_ALL="es_ES.UTF-8"))
    assert "no halla un archivo para esta máquina, o no puede buscarlo" in complaint


def test_with_an_index_out_of_reach_it_asks_for_the_network(project: Project) -> None:
    prepare_empty_environment(project, pip=True)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]  # nobody listens there once it is closed
    address = f"http://127.0.0.1:{port}/simple"
    done = project.run(
        "lab", "134", PIP_NO_INDEX="0", PIP_FIND_LINKS="", PIP_INDEX_URL=address, PIP_RETRIES="1"
    )
    assert "cannot reach its package index" in one_line(done)


def test_an_environment_without_pip_is_named(project: Project) -> None:
    prepare_empty_environment(project, pip=False)
    assert "there is no pip" in one_line(project.run("lab", "134"))


def prepare_empty_environment(project: Project, pip: bool) -> None:
    """An environment as the script makes it, in a tenth of the time: the pip of this Python, or none."""
    venv = project.root / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True, timeout=DEADLINE)
    scripts = str(project.root / "scripts")
    probe = f"import sys; sys.path.insert(0, {scripts!r}); import course; print(course.identity())"
    identity = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, check=True
    ).stdout
    (venv / ".course-made").write_text(identity.strip(), encoding="utf-8")
    if pip:
        import pip as ours

        library, package = next(venv.glob("[Ll]ib*/**/site-packages")), Path(ours.__file__).parent
        try:  # pip alone: with all that is installed beside it, it would read hundreds of metadata files
            (library / "pip").symlink_to(package, target_is_directory=True)
        except OSError:  # Windows asks for a right that few have
            (library / "pip.pth").write_text(str(package.parent), encoding="utf-8")


def without_ensurepip(project: Project) -> str:
    """A PYTHONPATH under which Python is as Debian ships it without python3-venv."""
    folder = project.root.parent / "debian"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text("import sys; sys.modules['ensurepip'] = None", encoding="utf-8")
    return str(folder)


def test_a_python_without_ensurepip_is_told_what_to_install(project: Project) -> None:
    complaint = one_line(project.run("lab", "134", PYTHONPATH=without_ensurepip(project)))
    assert "lacks `ensurepip`" in complaint
    assert f"python{sys.version_info[0]}.{sys.version_info[1]}-venv" in complaint
    assert not (project.root / ".venv").exists()


def test_an_environment_of_somebody_else_is_left_alone(project: Project) -> None:
    theirs = project.root / ".venv" / "theirs"
    theirs.parent.mkdir()
    theirs.touch()
    assert "was not made by this script" in one_line(project.run("test"))
    assert theirs.exists()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "unknown command: nothing; one of: lab, test, notebooks, bench"),
        (("tset",), "unknown command: tset; one of: lab, test, notebooks, bench"),
        (("lab",), "which class? there is: 134-a2a (multiagent)"),
        (("lab", "--seed"), "which class? there is: 134-a2a (multiagent)"),
        (("lab", "999"), "there is no class '999'; there is: 134-a2a (multiagent)"),
        (("lab", "13"), "there is no class '13'; there is: 134-a2a (multiagent)"),
        (("notebooks",), "there is no folder notebooks/"),
        (("bench",), "there is no benchmark '*'; there is: none"),
        (("bench", "speed"), "there is no benchmark 'speed'; there is: none"),
    ],
)
def test_a_wrong_call_is_one_line_that_says_what_would_be_right(
    project: Project, arguments: tuple[str, ...], complaint: str
) -> None:
    done = project.run(*arguments)
    assert one_line(done) == f"course.py: {complaint}"
    assert done.stderr.count("\n") == 1
    assert not (project.root / ".venv").exists()


def test_two_classes_of_one_number_and_a_folder_without_a_number_are_named(project: Project) -> None:
    for folder in ("134-other", "drafts"):
        (project.root / "classes" / folder).mkdir()
        (project.root / "classes" / folder / "lab.py").touch()
    assert "'134' may be any of: 134-a2a (multiagent), 134-other" in one_line(project.run("lab", "134"))
    assert "classes/drafts has no number" in one_line(project.run("lab", "drafts"))


def test_help_names_the_commands_and_the_classes_in_both_languages(project: Project) -> None:
    english, spanish = project.run("--help"), project.run("--help", LC_ALL="es_MX.UTF-8")
    assert (english.returncode, spanish.returncode) == (0, 0)
    assert "lab CLASS" in english.stdout
    assert "lab CLASE" in spanish.stdout
    for done in (english, spanish):
        assert "134-a2a (multiagent)" in done.stdout


# ---------------------------------------------------------------- other Pythons


def test_any_python_3_can_read_the_script() -> None:
    ast.parse(SCRIPT.read_text(encoding="utf-8"), feature_version=(3, 6))


@pytest.mark.parametrize(
    ("language", "says"),
    [("C", "the course needs 3.11 or newer"), ("es_ES.UTF-8", "necesita 3.11 o posterior")],
)
def test_an_old_python_says_that_it_is_too_old(project: Project, language: str, says: str) -> None:
    old = "import runpy, sys; sys.version_info = (3, 6, 15, 'final', 0); runpy.run_path(sys.argv[1])"
    done = subprocess.run(
        [sys.executable, "-c", old, str(project.root / "scripts" / "course.py")],
        env=project.environment(LC_ALL=language), capture_output=True, encoding="utf-8", timeout=DEADLINE,
        check=False,
    )  # fmt: skip
    complaint = one_line(done)
    assert "Python 3.6" in complaint
    assert says in complaint


def test_every_old_python_of_this_machine_says_so_too(project: Project) -> None:
    for minor in range(6, 11):
        python = shutil.which(f"python3.{minor}")
        if python and subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0:
            assert f"this is Python 3.{minor}" in one_line(project.run("test", python=python))
