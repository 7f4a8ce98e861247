"""What is true of the repository as a whole: names, sizes, addresses, encodings, imports, links, locks."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
NOT_OURS = {".git", ".venv", ".venv.old", "__pycache__", ".hypothesis", ".ruff_cache", ".mypy_cache"}
NOT_OURS |= {".pytest_cache", ".import_linter_cache", ".ipynb_checkpoints", "build", "dist"}
BINARY = {".png", ".jpg", ".gif", ".ico", ".pdf", ".woff2"}


@cache
def files() -> tuple[PurePosixPath, ...]:
    """Every file of the project; what git keeps and what is new, or the whole tree where there is no git."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, check=False,
    )  # fmt: skip
    if listing.returncode == 0:
        names = [name for name in listing.stdout.decode().split("\0") if name]
        return tuple(PurePosixPath(name) for name in sorted(set(names)) if (ROOT / name).is_file())
    found = (path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file())
    kept = (path for path in found if not NOT_OURS & set(path.parts) and ".egg-info" not in str(path))
    return tuple(sorted(PurePosixPath(path.as_posix()) for path in kept))


@cache
def text(path: PurePosixPath) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def texts(*suffixes: str) -> Iterator[tuple[PurePosixPath, str]]:
    """Every text file, or those with one of these suffixes."""
    for path in files():
        if path.suffix not in BINARY and (not suffixes or path.suffix in suffixes):
            yield path, text(path)


def lines_with(pattern: str, *suffixes: str, but: tuple[str, ...] = ()) -> list[str]:
    """``file:line: what`` for each match outside the files whose path starts with one of ``but``."""
    wanted = re.compile(pattern)
    return [
        f"{path}:{content.count(chr(10), 0, match.start()) + 1}: {match[0]}"
        for path, content in texts(*suffixes)
        if not str(path).startswith(but or ("\0",))
        for match in wanted.finditer(content)
    ]


# ---------------------------------------------------------------- names and sizes


def test_every_path_fits_into_an_old_windows_clone() -> None:
    assert [str(path) for path in files() if len(str(path)) > 110] == []


def test_no_name_is_one_that_windows_reserves_or_cannot_write() -> None:
    reserved = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?$")
    bad = re.compile(r'[<>:"\\|?*\x00-\x1f]|[. ]$')
    wrong = [str(p) for p in files() for part in p.parts if reserved.match(part) or bad.search(part)]
    assert wrong == []


def test_no_two_names_differ_only_in_case_or_accents_composed_otherwise() -> None:
    paths = {parent for path in files() for parent in (path, *path.parents)}
    same = Counter(unicodedata.normalize("NFC", str(path)).casefold() for path in paths)
    assert [name for name, count in same.items() if count > 1] == []


def test_no_file_is_large_and_the_whole_stays_small() -> None:
    sizes = {str(path): (ROOT / path).stat().st_size for path in files()}
    assert {name: size for name, size in sizes.items() if size > 400_000} == {}
    assert sum(sizes.values()) < 10_000_000


def test_every_text_file_is_utf8_with_plain_line_ends() -> None:
    assert [str(path) for path, content in texts() if "\r" in content or content.startswith("\ufeff")] == []


# ---------------------------------------------------------------- what must not be written down


def test_no_file_names_a_folder_of_somebodys_machine() -> None:
    folders = "|".join(
        ["work", "farm", "root", "home/[a-z]+", "Users/[A-Za-z]+", "tmp/(?!x)[a-z]+", "opt/[a-z]+"]
    )
    assert lines_with(rf"(?<![\w.:/-])/({folders})/[A-Za-z.]", but=("requirements/",)) == []


def test_no_file_names_a_package_registry() -> None:
    hosts = "|".join([r"py" + r"pi\.org", r"pythonhosted\.org", r"registry\.npmjs", r"deb\.debian\.org"])
    assert lines_with(hosts) == []
    assert lines_with(r"(?m)^(-i|-f|--(extra-)?index-url|--find-links|--trusted-host)", ".txt", ".in") == []


def test_no_lab_or_library_depends_on_the_name_of_a_hosted_model() -> None:
    models = r"\b(gpt-\d|claude-\d|claude-(opus|sonnet|haiku)|gemini-\d|o[13]-mini|text-embedding-)[\w.-]*"
    assert lines_with(models, ".py", ".ipynb", ".toml", but=("tests/test_repository.py",)) == []


def test_nothing_reads_a_key_from_the_environment() -> None:
    keys = r"""(environ(\.get)?|getenv)[\[(]\s*["'][A-Z_]*(KEY|TOKEN|SECRET)["']"""
    assert lines_with(keys, ".py", ".ipynb", but=("tests/",)) == []


def test_nothing_secret_is_committed() -> None:
    secrets = r"-----BEGIN [A-Z ]*PRIVATE KEY-----|\bAKIA[0-9A-Z]{16}\b|\bghp_\w{36}\b|\bsk-[A-Za-z0-9]{32,}"
    assert lines_with(secrets) == []


# ---------------------------------------------------------------- code


@cache
def python_files() -> tuple[tuple[str, tuple[ast.AST, ...]], ...]:
    """Every Python source of what is delivered, with what it calls and imports. Read once for all tests."""
    wanted = (ast.Call, ast.Import, ast.ImportFrom)
    return tuple(
        (where, tuple(node for node in ast.walk(tree) if isinstance(node, wanted)))
        for where, tree in parsed()
    )


def parsed() -> Iterator[tuple[str, ast.Module]]:
    """Package, scripts, classes, benchmarks, and the cells of notebooks."""
    for path, content in texts(".py"):
        if path.parts[0] != "tests":
            yield str(path), ast.parse(content)
    for path, content in texts(".ipynb"):
        for number, cell in enumerate(json.loads(content)["cells"]):
            if cell["cell_type"] == "code":
                source = "".join(cell["source"])
                tree = compile(source, str(path), "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
                assert isinstance(tree, ast.Module)
                yield f"{path}#{number}", tree


def opens_text_without_encoding(call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    owner = getattr(getattr(call.func, "value", None), "id", "")
    if name not in {"open", "read_text", "write_text", "fdopen", "NamedTemporaryFile", "TextIOWrapper"}:
        return False
    if owner in {"os", "webbrowser", "zipfile", "tarfile", "Image"} and name == "open":
        return False
    if isinstance(call.func, ast.Attribute) and name == "open" and call.args:
        mode = call.args[0]
        if not (isinstance(mode, ast.Constant) and isinstance(mode.value, str)):
            return False  # a sandbox is opened with its tools, a path with a mode
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    modes = [*call.args[:2], named.get("mode")]
    if any(isinstance(m, ast.Constant) and isinstance(m.value, str) and "b" in m.value for m in modes if m):
        return False
    if name == "NamedTemporaryFile" and "mode" not in named and not call.args:
        return False  # binary unless said otherwise
    positional = {"read_text": 0, "write_text": 1, "TextIOWrapper": 1}.get(name)
    return "encoding" not in named and not (positional is not None and len(call.args) > positional)


def test_every_text_file_is_opened_with_its_encoding() -> None:
    wrong = [
        f"{where}:{node.lineno}"
        for where, nodes in python_files()
        for node in nodes
        if isinstance(node, ast.Call) and opens_text_without_encoding(node)
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("source", "wrong"),
    [
        ("open(p)", True),
        ("open(p, 'w')", True),
        ("open(p, 'rb')", False),
        ("path.open('w')", True),
        ("path.open(mode='wb')", False),
        ("open(p, encoding='utf-8')", False),
        ("path.read_text()", True),
        ("path.read_text('utf-8')", False),
        ("path.write_text(x)", True),
        ("path.write_text(x, encoding='utf-8')", False),
        ("tempfile.NamedTemporaryFile('w')", True),
        ("os.open(p, flags)", False),
        ("sandbox.open(tools)", False),
        ("path.open()", True),
    ],
)
def test_the_check_of_encodings_can_tell_them_apart(source: str, wrong: bool) -> None:
    call = ast.parse(source, mode="eval").body
    assert isinstance(call, ast.Call)
    assert opens_text_without_encoding(call) is wrong


def imported(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


IMPORT_NAMES = {  # where the name that is imported is not the name that is installed
    "a2a": "a2a-sdk",
    "botocore": "boto3",
    "google": "a2a-sdk",  # protobuf, the SDK's own types
    "IPython": "ipykernel",
    "markdown_it": "markdown-it-py",
    "stdnum": "python-stdnum",
    "yaml": "pyyaml",
}


def test_every_import_is_declared() -> None:
    ours = {path.parts[0] for path in files() if len(path.parts) > 1} | {p.stem for p in files()}
    core = {canonicalize_name(Requirement(line).name) for line in PROJECT["dependencies"]}
    extras = {
        canonicalize_name(Requirement(line).name)
        for lines in PROJECT["optional-dependencies"].values()
        for line in lines
    }
    live = {canonicalize_name(Requirement(line).name) for line in PROJECT["optional-dependencies"]["live"]}
    wrong = []
    for where, nodes in python_files():
        # What the core alone has to run may import the core only; a managed sandbox says what it lacks.
        allowed = core | (set() if where.startswith(("ai_evolution/", "classes/")) else extras)
        if where == "ai_evolution/ptc/sandboxes/agentcore.py":
            allowed = allowed | live
        for name in sorted(set(imported(nodes)) - set(sys.stdlib_module_names) - ours):
            if canonicalize_name(IMPORT_NAMES.get(name, name)) not in allowed:
                wrong.append(f"{where}: {name}")
    assert wrong == []


# ---------------------------------------------------------------- lock files


SETS = {
    "core": (),
    "notebooks": ("notebooks",),
    "test": ("notebooks", "dev"),
    "bench": ("notebooks", "dev", "bench"),
    "conformance": ("conformance",),
}
PIN = re.compile(r"(?m)^([\w.-]+)==(\S+?)(?: ; (.+?))?(?: \\)?$((?:\n +--hash=sha256:[0-9a-f]{64}(?: \\)?)*)")
Pin = tuple[str, str, int]  # version, marker, number of hashes


def pins(name: str) -> dict[str, list[Pin]]:
    found: dict[str, list[Pin]] = {}
    for package, version, marker, hashes in PIN.findall(text(PurePosixPath(f"requirements/{name}.txt"))):
        found.setdefault(canonicalize_name(package), []).append((version, marker, hashes.count("sha256:")))
    return found


@pytest.mark.parametrize("name", SETS)
def test_every_locked_package_has_its_hashes(name: str) -> None:
    content = text(PurePosixPath(f"requirements/{name}.txt"))
    rows = [line for line in content.splitlines() if line and not line.startswith((" ", "#"))]
    locked = pins(name)
    assert sum(map(len, locked.values())) == len(rows) > 0
    assert [package for package, rows in locked.items() if any(hashes == 0 for _, _, hashes in rows)] == []


@pytest.mark.parametrize("name", SETS)
def test_every_direct_dependency_is_locked_at_a_version_that_pyproject_allows(name: str) -> None:
    wanted = [*PROJECT["dependencies"]]
    for extra in SETS[name]:
        wanted += PROJECT["optional-dependencies"][extra]
    locked = pins(name)
    for line in wanted:
        requirement = Requirement(line)
        rows = locked.get(canonicalize_name(requirement.name), [])
        assert rows, f"{line} is not in requirements/{name}.txt; run scripts/lock.py"
        for version, _, _ in rows:
            fits = requirement.specifier.contains(version, prereleases=True)
            assert fits, f"{line} is locked at {version} in requirements/{name}.txt; run scripts/lock.py"


@pytest.mark.parametrize(
    ("smaller", "larger"),
    [("core", "notebooks"), ("core", "conformance"), ("notebooks", "test"), ("test", "bench")],
)
def test_a_larger_set_holds_the_smaller_at_the_same_versions(smaller: str, larger: str) -> None:
    small, large = pins(smaller), pins(larger)
    for package, rows in small.items():
        versions = {version for version, _, _ in rows}
        assert versions <= {version for version, _, _ in large.get(package, [])}, package


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13", "3.14"])
@pytest.mark.parametrize(
    ("platform", "machine"),
    [
        ("linux", "x86_64"),
        ("linux", "aarch64"),
        ("darwin", "arm64"),
        ("darwin", "x86_64"),
        ("win32", "AMD64"),
    ],
)
def test_on_each_system_and_python_every_direct_dependency_has_exactly_one_version(
    platform: str, machine: str, python: str
) -> None:
    assert SpecifierSet(PROJECT["requires-python"]).contains(python)
    here = {"sys_platform": platform, "platform_machine": machine, "python_version": python}
    here |= {"python_full_version": f"{python}.1", "platform_python_implementation": "CPython"}
    here |= {"implementation_name": "cpython", "os_name": "nt" if platform == "win32" else "posix"}
    here["platform_system"] = {"linux": "Linux", "darwin": "Darwin", "win32": "Windows"}[platform]
    locked = pins("test")
    for package, rows in locked.items():
        chosen = [version for version, marker, _ in rows if not marker or Marker(marker).evaluate(here)]
        assert len(chosen) <= 1, package
    for line in PROJECT["dependencies"]:
        rows = locked[canonicalize_name(Requirement(line).name)]
        assert any(not marker or Marker(marker).evaluate(here) for _, marker, _ in rows), line


# ---------------------------------------------------------------- pages


FENCE = re.compile(r"(?ms)^( *)(```+|~~~+).*?^\1\2[^\n]*$")
LINK = re.compile(r"(?<!\\)\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)|(?:src|href)=\"([^\"]+)\"")


def prose(content: str) -> str:
    """A page without its code."""
    return re.sub(r"`[^`\n]*`", "", FENCE.sub("", content))


def anchors(content: str) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them, and those written by hand."""
    seen: Counter[str] = Counter()
    found = set(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", content))
    for heading in re.findall(r"(?m)^#{1,6} +(.+?) *#*$", FENCE.sub("", content)):
        plain = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        plain = re.sub(r"[*`]|<[^>]+>", "", plain).strip().lower()
        slug = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        found.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
        seen[slug] += 1
    return found


def broken_links(path: PurePosixPath, content: str) -> Iterator[str]:
    for match in LINK.finditer(prose(content)):
        target = unquote(match[1] or match[2])
        if re.match(r"[a-z][a-z0-9+.-]*:|//", target):
            continue  # an address on the web: from bibliography.json, and never asked for in a test
        name, _, anchor = target.partition("#")
        there = (ROOT / path).parent / name if name else ROOT / path
        if not there.exists():
            yield f"{path}: {target} is not there"
        elif ROOT not in (there.resolve(), *there.resolve().parents):
            yield f"{path}: {target} is outside of the project"
        elif anchor and there.suffix == ".md" and anchor not in anchors(there.read_text(encoding="utf-8")):
            yield f"{path}: {target} has no such heading"


def test_every_relative_link_and_anchor_of_a_page_leads_somewhere() -> None:
    pages = [(path, content) for path, content in texts(".md") if not is_part_of_a_notebook(path)]
    assert [fault for path, content in pages for fault in broken_links(path, content)] == []


def is_part_of_a_notebook(path: PurePosixPath) -> bool:
    """Prose that ``scripts/build_notebooks.py`` moves elsewhere; its links are checked in the notebook."""
    return path.parts[0] == "notebooks" and "source" in path.parts


def test_every_relative_link_of_a_notebook_leads_somewhere() -> None:
    faults = [
        fault
        for path, content in texts(".ipynb")
        for cell in json.loads(content)["cells"]
        if cell["cell_type"] == "markdown"
        for fault in broken_links(path, "".join(cell["source"]))
    ]
    assert faults == []


def test_the_check_of_links_finds_a_lost_file_and_a_lost_heading() -> None:
    page = "[a](CHANGELOG.md) [b](lost.md) [c](CHANGELOG.md#changelog) [d](CHANGELOG.md#lost) `[e](x.md)`"
    found = list(broken_links(PurePosixPath("README.md"), page + " [f](https://a2a.example/x)"))
    assert [fault.split()[1] for fault in found] == ["lost.md", "CHANGELOG.md#lost"]


# ---------------------------------------------------------------- what the project says about itself


def test_the_citation_the_changelog_and_the_package_agree_on_the_version() -> None:
    from ai_evolution import __version__

    assert re.search(r"(?m)^version: (.+)$", text(PurePosixPath("CITATION.cff")))[1] == __version__  # type: ignore[index]
    newest = re.search(r"(?m)^## \[(\d[^\]]*)\]", text(PurePosixPath("CHANGELOG.md")))
    assert newest is not None
    assert newest[1] == __version__


def test_both_licences_are_there_and_named() -> None:
    assert "MIT License" in text(PurePosixPath("LICENSE"))
    assert "Attribution 4.0 International" in text(PurePosixPath("LICENSE-PROSE"))
    for name in PROJECT["license-files"]:
        assert PurePosixPath(name) in files()


def test_ci_runs_the_test_command_of_the_readme() -> None:
    command = "python3 scripts/course.py test"
    assert f"step {command}\n" in text(PurePosixPath(".ci/run"))
    for page in ("README.md", "README.es.md"):
        assert command in text(PurePosixPath(page))
