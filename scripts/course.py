# ruff: noqa: E402  (the imports come after the check of the Python version)
"""Everything a fresh machine needs, with nothing but Python 3.11+ and pip:

    python3 scripts/course.py lab 134        run the lab of a class (what follows goes to the lab)
    python3 scripts/course.py test           run every test and every notebook (what follows goes to pytest)
    python3 scripts/course.py notebooks      open the notebooks in JupyterLab
    python3 scripts/course.py bench          measure (what follows chooses among benchmarks/)

It makes ``.venv`` beside the README, installs the hash-locked ``requirements/`` with pip, and starts what was
asked for. What is installed already is not looked at again: a stamp in ``.venv`` names what is in it.

Three promises. It never takes a half-made environment for a good one: ``.course-installing`` lies in it from
the first change to the last, and whoever finds it there starts afresh. It never builds anything from source,
so nothing without a hash is downloaded or run: the project itself goes in as a small editable wheel written
here (a path and the console script), without a build backend. And it never deletes a ``.venv`` that it did
not make.

Exit codes: that of what was started; 2 when it could not be started; 130 when interrupted.
This file has to be readable by any Python 3, which is how an old one gets to say that it is too old: no
``from __future__ import annotations``, ``:=``, ``match`` or parenthesised ``with``.
"""

import os
import sys

OLDEST, NEWEST = (3, 11), (3, 14)
SPANISH = next((v for v in map(os.environ.get, ("LC_ALL", "LC_MESSAGES", "LANG")) if v), "").startswith("es")

if sys.version_info < OLDEST:
    import shutil

    newer = [n for n in ("python3.14", "python3.13", "python3.12", "python3.11") if shutil.which(n)]
    old = "course.py: this is Python {}.{}, and the course needs 3.11 or newer; type: {} {}\n"
    if SPANISH:
        old = "course.py: este es Python {}.{} y el curso necesita 3.11 o posterior; escriba: {} {}\n"
    sys.stderr.write(
        old.format(sys.version_info[0], sys.version_info[1], (newer or ["python3.11"])[0], " ".join(sys.argv))
    )
    sys.exit(2)

import contextlib
import errno
import hashlib
import json
import queue
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
OLD = ROOT / ".venv.old"  # on its way out
MADE, INSTALLING = VENV / ".course-made", VENV / ".course-installing"
PIP_LOG = VENV / ".course-pip.log"
BYTECODE = VENV / "bytecode"
SETS = ("core", "notebooks", "test", "bench")  # each holds the one before it
WINDOWS = os.name == "nt"
BIN = VENV / ("Scripts" if WINDOWS else "bin")
PYTHON = BIN / ("python.exe" if WINDOWS else "python")

# What a person's own pip settings must not change; index addresses, certificates and proxies stay theirs.
PIP_LEAVES_ALONE = frozenset(
    f"PIP_{name}"
    for name in (
        "USER", "TARGET", "PREFIX", "ROOT", "PYTHON", "REQUIRE_HASHES", "NO_DEPS", "DRY_RUN", "UPGRADE",
        "IGNORE_INSTALLED", "NO_BINARY", "ONLY_BINARY", "REQUIREMENT", "EDITABLE", "REPORT", "QUIET",
        "VERBOSE",
    )
)  # fmt: skip

# ---------------------------------------------------------------- what it says

SAYS = {
    "usage": (
        "usage: python3 scripts/course.py COMMAND\n\n"
        "  lab CLASS [...]   run the lab of a class; what follows goes to the lab (--help lists it)\n"
        "  test [...]        run every test and every notebook; what follows goes to pytest\n"
        "  notebooks         open the notebooks in JupyterLab\n"
        "  bench [NAME ...]  measure\n\nClasses: {classes}",
        "uso: python3 scripts/course.py ORDEN\n\n"
        "  lab CLASE [...]     ejecuta el laboratorio de una clase; lo demás va a él (--help lo explica)\n"
        "  test [...]          ejecuta todas las pruebas y cuadernos; lo que sigue va a pytest\n"
        "  notebooks           abre los cuadernos en JupyterLab\n"
        "  bench [NOMBRE ...]  mide\n\nClases: {classes}",
    ),
    "none": ("none", "ninguna"),
    "nothing": ("nothing", "nada"),
    "command": ("unknown command: {given}; one of: {known}", "orden desconocida: {given}; una de: {known}"),
    "which": ("which class? there is: {known}", "¿qué clase? hay: {known}"),
    "no class": ("there is no class {given!r}; there is: {known}", "no existe {given!r}; hay: {known}"),
    "many": (
        "{given!r} may be any of: {known}; give the whole name",
        "{given!r} puede ser: {known}; dé el nombre",
    ),
    "no number": (
        "classes/{given} has no number; a class folder is called NUMBER-name, such as 134-a2a",
        "classes/{given} no lleva número; una carpeta de clase se llama NÚMERO-nombre, como 134-a2a",
    ),
    "no notebooks": ("there is no folder notebooks/", "no hay carpeta notebooks/"),
    "no bench": (
        "there is no benchmark {given!r}; there is: {known}",
        "no hay medición {given!r}; hay: {known}",
    ),
    "too new": (
        "note: the course is tested on Python 3.11 to 3.14; this is newer",
        "nota: el curso se prueba con Python 3.11 a 3.14; este es posterior",
    ),
    "interrupted": (
        "interrupted; the same command goes on from here",
        "interrumpido; la misma orden continúa desde aquí",
    ),
    "waiting": (
        "another installation is running here; waiting for it ...",
        "otra instalación está en marcha aquí; esperando a que termine ...",
    ),
    "waited": (
        "another installation has been running here for 30 minutes; end it first",
        "otra instalación lleva aquí 30 minutos; termínela antes",
    ),
    "making": ("making the environment", "creando el entorno"),
    "finding": ("finding packages, {count} of {total}", "buscando paquetes, {count} de {total}"),
    "adding": ("installing packages, {count} of {total}", "instalando paquetes, {count} de {total}"),
    "ready": ("{name}: ready, {count} packages", "{name}: listo, {count} paquetes"),
    "not ours": (
        "{venv} was not made by this script, so it is left alone; move it away and try again",
        "{venv} no fue creado por este programa y no se toca; muévalo y repita la orden",
    ),
    "inside": (
        "{venv} has to be made anew; use the Python outside of it (`deactivate` first)",
        "hay que rehacer {venv}; use el Python de fuera (antes, `deactivate`)",
    ),
    "no venv": (
        "this Python ({python}) lacks `{module}` and can make no environment; on Debian or Ubuntu: "
        "sudo apt install python{version}-venv",
        "a este Python ({python}) le falta `{module}` y no puede crear un entorno; en Debian o Ubuntu: "
        "sudo apt install python{version}-venv",
    ),
    "pip": (
        "pip could not install: {detail} (all it said is in {log})",
        "pip no pudo instalar: {detail} (todo lo que dijo está en {log})",
    ),
    "full": (
        "the disk is full: about 1 GB is needed for {venv}, and some in {tmp} for downloads",
        "el disco está lleno: hace falta cerca de 1 GB para {venv} y algo en {tmp} para las descargas",
    ),
    "hash": (
        "a downloaded file is not the one that was locked, so it was refused: {detail}; if it was damaged on "
        "the way: {python} -m pip cache purge",
        "un archivo descargado no es el que se fijó y se rechazó: {detail}; si se dañó por el camino: "
        "{python} -m pip cache purge",
    ),
    "offline": (
        "pip cannot reach its package index; is there a network, a proxy, a certificate to set? ({detail})",
        "pip no alcanza su índice de paquetes; ¿hay red, o falta un proxy o un certificado? ({detail})",
    ),
    "no file": (
        "pip finds no file that fits this machine, or may not look for one ({detail}); Python 3.11 to 3.14 "
        "on Linux, macOS and Windows (x86-64) are served",
        "pip no halla un archivo para esta máquina, o no puede buscarlo ({detail}); se sirven Python 3.11 a "
        "3.14 en Linux, macOS y Windows (x86-64)",
    ),
    "no pip": (
        "there is no pip in {venv}; on Debian or Ubuntu: sudo apt install python3-venv; then remove that "
        "folder and try again",
        "no hay pip en {venv}; en Debian o Ubuntu: sudo apt install python3-venv; después borre esa carpeta "
        "y repita la orden",
    ),
}

# What in pip's output means which of them; the first that is found.
REASONS = (
    (
        "full",
        r"No space left on device|Errno 28\b|Disk quota exceeded|WinError 112|not enough space on the disk",
    ),
    ("full", r"File too large"),
    ("hash", r"DO NOT MATCH THE HASHES"),
    ("offline", r"[Tt]emporary failure in name resolution|getaddrinfo failed|Name or service not known"),
    ("offline", r"nodename nor servname|Failed to resolve|Network is unreachable|Connection (refused|reset)"),
    (
        "offline",
        r"NewConnectionError|ConnectTimeoutError|ReadTimeoutError|ConnectionError|ProxyError|SSLError",
    ),
    ("offline", r"CERTIFICATE_VERIFY_FAILED"),
    ("no file", r"No matching distribution found"),
    ("no pip", r"No module named pip|ensurepip"),
)


def say(key: str, **values: object) -> str:
    """A text of the table in the language of the person's locale."""
    return SAYS[key][SPANISH].format(**values)


class Trouble(Exception):
    """One line for the person at the keyboard; the exit code is 2."""

    def __init__(self, key: str, **values: object) -> None:
        super().__init__(say(key, **values))


# ---------------------------------------------------------------- what is in .venv


def read(path: Path) -> str:
    """The text of a file; empty when there is none."""
    try:
        return path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return ""


def write(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def stamp(name: str) -> Path:
    """Where it is written that the set is installed."""
    return VENV / f".course-{name}"


def lock_file(name: str) -> Path:
    return ROOT / "requirements" / f"{name}.txt"


def identity() -> str:
    """Which Python made the environment, and where: both are written into what pip installs."""
    return json.dumps([sys.implementation.cache_tag, getattr(sys, "abiflags", ""), sys.platform, str(VENV)])


def project() -> tuple[str, str, list[str], dict[str, str]]:
    """The project's name, version, lines of metadata about what it requires, and console scripts."""
    import tomllib

    table = tomllib.loads(read(ROOT / "pyproject.toml"))["project"]
    version = re.search(r'__version__ = "([^"]+)"', read(ROOT / "ai_evolution" / "__init__.py"))
    requires = [f"Requires-Dist: {line}" for line in table.get("dependencies", [])]
    for extra, lines in table.get("optional-dependencies", {}).items():
        requires.append(f"Provides-Extra: {extra}")
        for line in lines:
            what, _, marker = line.partition(";")
            only = f'({marker.strip()}) and extra == "{extra}"' if marker else f'extra == "{extra}"'
            requires.append(f"Requires-Dist: {what.strip()} ; {only}")
    return table["name"], version[1] if version else "0", requires, table.get("scripts", {})


def fingerprint(name: str) -> str:
    """Changes whenever the set has to be installed again."""
    parts = [identity(), project(), hashlib.sha256(lock_file(name).read_bytes()).hexdigest()]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def sound() -> bool:
    """Whether the environment was made here, by this Python, and nobody was interrupted in changing it."""
    return read(MADE) == identity() and not INSTALLING.exists() and PYTHON.exists()


def installed(name: str) -> bool:
    """Whether this set, or one that holds it, is installed as it is written now."""
    return sound() and any(read(stamp(s)) == fingerprint(s) for s in SETS[SETS.index(name) :])


def ensure(name: str) -> None:
    """Make ``.venv`` hold the set; a few file reads when it already does."""
    if installed(name):
        return
    with alone():
        if not installed(name):  # the one we waited for may have done it
            make_environment()
            install(name)


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """One installation at a time in one clone; the lock goes with its process, however that ends."""
    with (ROOT / ".course.lock").open("a", encoding="utf-8") as file:
        deadline, told = time.monotonic() + 1800, False
        while not locked(file.fileno()):
            if time.monotonic() > deadline:
                raise Trouble("waited")
            if not told:
                told = True
                print(say("waiting"), file=sys.stderr, flush=True)
            time.sleep(0.2)
        yield


def locked(descriptor: int) -> bool:
    """Try to lock an open file for this process; whether it worked."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


# ---------------------------------------------------------------- making and filling .venv


def make_environment() -> None:
    """An empty environment with pip in it, unless a sound one is there."""
    if sound():
        return
    if VENV.exists() and any(VENV.iterdir()):
        if not any(VENV.glob(".course-*")):
            raise Trouble("not ours", venv=VENV)
        if Path(sys.prefix) == VENV:
            raise Trouble("inside", venv=VENV)
        if OLD.exists():
            shutil.rmtree(OLD)
        VENV.replace(OLD)  # at once: an interrupted removal leaves nothing that looks like an environment
    if OLD.exists():
        shutil.rmtree(OLD)
    try:
        import ensurepip  # noqa: F401  (Debian keeps it in a package of its own)
        import venv  # noqa: F401
    except ImportError as missing:
        version = f"{sys.version_info[0]}.{sys.version_info[1]}"
        raise Trouble("no venv", python=sys.executable, module=missing.name, version=version) from None
    VENV.mkdir(exist_ok=True)
    write(INSTALLING, "")
    progress = Progress(".venv")
    try:
        for command in (  # in two steps, since `venv` alone keeps to itself why ensurepip failed
            [sys.executable, "-I", "-X", "utf8", "-m", "venv", "--without-pip", str(VENV)],
            [str(PYTHON), "-I", "-X", "utf8", "-m", "ensurepip", "--default-pip"],
        ):
            code, output = watch(command, lambda _: progress.show(say("making")))
            if code:
                raise reason(output)
    finally:
        progress.close()
    write(MADE, identity())


def install(name: str) -> None:
    """Put the set and the project into the environment, and stamp it."""
    before = {stamp(s): read(stamp(s)) for s in SETS if stamp(s).exists()}
    write(INSTALLING, "")
    for path in before:
        path.unlink()
    counter = Counter(name)
    done = False
    try:
        locked_only = ["--require-hashes", "--only-binary=:all:", "--requirement", str(lock_file(name))]
        code, output = watch(pip("install", "--no-compile", "--progress-bar=off", *locked_only), counter)
        if code == 0:
            code, output = install_project(counter)
        if code:
            with contextlib.suppress(OSError):
                PIP_LOG.write_text(output, encoding="utf-8")
            raise reason(output)
        write(stamp(name), fingerprint(name))
        done = True
    finally:
        counter.progress.close()
        if not done and not counter.changing:  # pip stopped while it was looking around: all is as it was
            for path, text in before.items():
                write(path, text)
            done = True
        if done:
            INSTALLING.unlink()
    print(say("ready", name=name, count=counter.packages()), file=sys.stderr, flush=True)


def pip(*arguments: str) -> list[str]:
    """pip of the environment, deaf to PYTHONPATH and to the user's own site-packages."""
    return [str(PYTHON), "-I", "-X", "utf8", "-m", "pip", *arguments]


def install_project(tick: Callable[[str], None]) -> tuple[int, str]:
    """Put the project itself on the path, with its command; pip's exit code and output.

    An editable wheel by hand: pip writes the command as each system wants it (an .exe on Windows), and no
    build backend, which no lock file of pip's could pin, is downloaded or run.
    """
    import zipfile

    name, version, requires, scripts = project()
    plain = re.sub(r"[-_.]+", "_", name)
    info = f"{plain}-{version}.dist-info"
    files = {
        f"{plain}.pth": f"{ROOT}\n",
        f"{info}/METADATA": "\n".join(
            ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *requires, ""]
        ),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: course\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": "[console_scripts]\n"
        + "".join(f"{s} = {to}\n" for s, to in scripts.items()),
    }
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in (*files, f"{info}/RECORD"))
    with tempfile.TemporaryDirectory(dir=VENV, prefix=".course-wheel-") as folder:
        wheel = Path(folder) / f"{plain}-{version}-py3-none-any.whl"
        with zipfile.ZipFile(wheel, "w") as archive:
            for path, text in files.items():
                # Until 3.13 Python reads a .pth file in the encoding of the system.
                local = WINDOWS and path.endswith(".pth") and sys.version_info < (3, 13)
                archive.writestr(path, text.encode("mbcs" if local else "utf-8"))
        quiet = ["--no-index", "--no-deps", "--force-reinstall", "--no-compile"]
        return watch(pip("install", *quiet, str(wheel)), tick)


def reason(output: str) -> Trouble:
    """Why pip (or venv) failed, from what it printed."""
    errors = re.findall(r"(?m)^(?:ERROR|Error): (.+)", output) or output.strip().splitlines() or ["?"]
    detail = " ".join(errors[-1].split())[:160]
    mismatch = re.search(r"DO NOT MATCH THE HASHES[^\n]*\s+([\w.-]+==[\w.+-]+)", output)
    if mismatch:
        detail = mismatch[1]
    key = next((key for key, pattern in REASONS if re.search(pattern, output)), "pip")
    return Trouble(key, detail=detail, venv=VENV, tmp=tempfile.gettempdir(), python=PYTHON, log=PIP_LOG)


# ---------------------------------------------------------------- progress


class Progress:
    """One line on stderr that keeps changing on a terminal, and a plain line now and then elsewhere."""

    def __init__(self, title: str) -> None:
        self.title, self.began, self.turn = title, time.monotonic(), 0
        self.live = sys.stderr.isatty()
        self.phase, self.told = "", 0.0

    def show(self, text: str) -> None:
        now, phase = time.monotonic(), text.partition(",")[0]
        line = f"{self.title}: {text} ({now - self.began:.0f} s)"
        if self.live:
            self.turn += 1
            width = shutil.get_terminal_size().columns - 3
            sys.stderr.write("\r{} {}\x1b[K".format("|/-\\"[self.turn % 4], line[:width]))
            sys.stderr.flush()
        elif phase != self.phase or now - self.told > 15:
            print(line, file=sys.stderr, flush=True)
            self.told = now
        self.phase = phase

    def close(self) -> None:
        if self.live:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


class Counter:
    """Reads pip's lines and shows how far it is; ``changing`` once pip has touched the environment."""

    def __init__(self, name: str) -> None:
        self.progress = Progress(name)
        self.wanted = {n.lower() for n in re.findall(r"(?m)^([\w.-]+)==", read(lock_file(name)))}
        self.seen: set[str] = set()
        self.changing, self.to_add, self.at_first = False, 0, 0

    def __call__(self, line: str) -> None:
        word = re.match(r"(?:Collecting|Ignoring|Requirement already satisfied:) ([\w.-]+)", line)
        if word:
            self.seen.add(word[1].lower().replace("_", "-"))
        if line.startswith("Installing collected packages:"):
            self.changing, self.to_add, self.at_first = True, line.count(",") + 1, self.packages()
        if self.changing:
            added = max(0, min(self.packages() - self.at_first, self.to_add))
            self.progress.show(say("adding", count=added, total=self.to_add))
        else:
            self.progress.show(say("finding", count=len(self.seen & self.wanted), total=len(self.wanted)))

    @staticmethod
    def packages() -> int:
        """How many packages are in the environment."""
        library = "Lib" if WINDOWS else "lib/python*"
        return sum(1 for _ in VENV.glob(f"{library}/site-packages/*.dist-info"))


def watch(command: list[str], tick: Callable[[str], None]) -> tuple[int, str]:
    """Run a command to its end, calling ``tick`` with each line it prints, and with "" while it is silent."""
    env = {name: value for name, value in os.environ.items() if name not in PIP_LEAVES_ALONE}
    env.update(PIP_NO_INPUT="1", PIP_NO_COLOR="1", PIP_DISABLE_PIP_VERSION_CHECK="1")
    child = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env=env, encoding="utf-8", errors="replace",
    )  # fmt: skip
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()

    def pump() -> None:
        assert child.stdout is not None
        for line in child.stdout:
            lines.put(line)
        lines.put("")

    threading.Thread(target=pump, daemon=True).start()
    output = []
    line = "?"
    try:
        while line:
            try:
                line = lines.get(timeout=0.2)
            except queue.Empty:
                tick("")
                continue
            output.append(line)
            tick(line)
        return child.wait(), "".join(output)
    finally:
        stop(child)
        if line:  # interrupted: its last words say whether it had begun to change the environment
            with contextlib.suppress(queue.Empty):
                for line in iter(lambda: lines.get(timeout=1), ""):
                    tick(line)


def stop(child: "subprocess.Popen[str]") -> None:
    """End a child that still runs, and wait for it."""
    if child.poll() is None:
        child.terminate()
        try:
            child.wait(timeout=10)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


# ---------------------------------------------------------------- the commands


def classes() -> dict[str, str]:
    """Folder of each class -> the name of its lab, in the order of their numbers."""
    import tomllib

    rows = tomllib.loads(read(ROOT / "classes" / "catalogue.toml")).get("class", [])
    labs = {row["slug"]: row["lab"] for row in rows}
    return {f.parent.name: labs.get(f.parent.name, "") for f in sorted((ROOT / "classes").glob("*/lab.py"))}


def listed(names: "dict[str, str]") -> str:
    return ", ".join(name + (f" ({lab})" if lab else "") for name, lab in names.items()) or say("none")


def find_class(given: str) -> Path:
    """The folder of a class, by its number, its folder's name or its lab's name."""
    there = classes()
    wanted = given.replace("\\", "/").rstrip("/").rpartition("/")[2]
    hits = {f: lab for f, lab in there.items() if wanted in (f, *f.partition("-")[::2], lab) and wanted}
    if not hits:
        raise Trouble("no class", given=given, known=listed(there))
    if len(hits) > 1:
        raise Trouble("many", given=given, known=listed(hits))
    (folder,) = hits
    if not folder.partition("-")[0].isdigit():
        raise Trouble("no number", given=folder)
    return ROOT / "classes" / folder


def start(*command: object) -> int:
    """Run a command in the foreground, in the project's folder; its exit code."""
    child = subprocess.Popen([str(word) for word in command], cwd=ROOT, text=True)
    try:
        while True:
            try:
                code = child.wait()
            except KeyboardInterrupt:
                continue  # the child heard it too, and says how it ends
            return code if code >= 0 else 128 - code
    finally:
        stop(child)


def lab(arguments: list[str]) -> int:
    """Run one lab, in the caller's own folder."""
    if not arguments or arguments[0].startswith("-"):
        raise Trouble("which", known=listed(classes()))
    script = find_class(arguments[0]) / "lab.py"
    ensure("core")
    command = [str(PYTHON), str(script), *arguments[1:]]
    if not WINDOWS:  # where `execv` would give the prompt back at once
        os.execv(command[0], command)  # the lab takes our place: same signals, same exit code
    return subprocess.run(command, check=False).returncode


def test(arguments: list[str]) -> int:
    """The suite and the notebooks in one pytest: a worker for each core, no file split over two."""
    ensure("test")
    command = [PYTHON, "-m", "pytest", "-n", workers(), "--dist", "loadfile"]
    command += ["--nbval", "--nbval-cell-timeout=60", *arguments]
    with_value = {"-k", "-m", "-n", "-p", "-o", "-c", "-W", "--dist", "--maxfail", "--deselect", "--ignore"}
    chosen = [
        argument
        for before, argument in zip(["", *arguments], arguments, strict=False)
        if not argument.startswith("-") and before not in with_value
    ]
    everything = [] if chosen else [f for f in ("tests", "notebooks") if (ROOT / f).is_dir()]
    return start(*command, *everything)


def workers() -> int:
    """The cores that this process may use; with more than eight the notebook kernels only wait."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, 8)


def notebooks(arguments: list[str]) -> int:
    """Open JupyterLab on the notebooks."""
    folder = ROOT / "notebooks"
    if not folder.is_dir():
        raise Trouble("no notebooks")
    ensure("notebooks")
    return start(PYTHON, "-m", "jupyterlab", folder, *arguments)


def bench(arguments: list[str]) -> int:
    """Run each benchmark, or those named; 1 when one of them fails."""
    there = {f.stem: f for f in sorted((ROOT / "benchmarks").glob("*.py")) if not f.stem.startswith("_")}
    chosen = [argument.removesuffix(".py") for argument in arguments] or list(there)
    unknown = [name for name in chosen if name not in there]
    if unknown or not there:
        raise Trouble("no bench", given=(unknown or ["*"])[0], known=", ".join(there) or say("none"))
    ensure("bench")  # a baseline may need more than the course
    codes = [start(PYTHON, there[name]) for name in chosen]
    return int(any(codes))


def keep_bytecode() -> None:
    """Let what is started keep what it compiled: in ``.venv`` for those who want no bytecode beside sources.

    Many images for containers set ``PYTHONDONTWRITEBYTECODE``. Every process would then compile all that it
    imports (pip leaves that to the first import): 11 s of CPU for a lab that takes 5, and the suite starts
    hundreds of processes.
    """
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
        os.environ["PYTHONPYCACHEPREFIX"] = str(BYTECODE)


COMMANDS = {"lab": lab, "test": test, "notebooks": notebooks, "bench": bench}


def main(arguments: list[str]) -> int:
    """Carry out one command; its exit code."""
    try:
        if arguments and arguments[0] in {"-h", "--help", "help"}:
            print(say("usage", classes=listed(classes())))
            return 0
        if not arguments or arguments[0] not in COMMANDS:
            raise Trouble("command", given=(arguments or [say("nothing")])[0], known=", ".join(COMMANDS))
        if sys.version_info[:2] > NEWEST:
            print(say("too new"), file=sys.stderr)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        keep_bytecode()
        return COMMANDS[arguments[0]](arguments[1:])
    except Trouble as trouble:
        complaint = str(trouble)
    except KeyboardInterrupt:
        print(f"course.py: {say('interrupted')}", file=sys.stderr)
        return 130
    except OSError as problem:
        full = problem.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
        complaint = say("full", venv=VENV, tmp=tempfile.gettempdir()) if full else str(problem)
    print(f"course.py: {complaint}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
