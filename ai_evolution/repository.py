"""The repository's own truth: do its pages, links, generated blocks and catalogues still say what is so?

``Inspection(root).problems()`` returns one line for each thing that is wrong and raises nothing
because of what it finds. It reads what is there and writes nothing; it never goes online, so a
link to another site is counted and not followed.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from ai_evolution.errors import AiEvolutionError, DocumentError

CATALOGUE = Path("classes") / "catalogue.toml"
SKIPPED = {"__pycache__", "build", "dist", "node_modules", "site-packages"}
SCRIPT_DEADLINE = 600.0

CLASS_FILES = (
    "README.md", "README.es.md", "lab.py", "rubric.json", "assessment.md", "assessment.es.md",
    "exercise/README.md", "exercise/README.es.md", "exercise/starter.py", "evidence.seed-0.json",
)  # fmt: skip
LAB_LINES = 15
NOTEBOOK_PROSE = re.compile(r"notebooks/.+/source/[^/]+\.md$")
QUICKLY = {"scripts/refresh.py": ["--no-execute"]}
"""What to add to ``--check``: notebooks are executed by the tests, not here."""


def find_root(start: Path | None = None, *, installed: bool = True) -> Path | None:
    """The repository around ``start`` (default: the current folder), or ``None``.

    With ``installed``, the repository that this package is run from also counts.
    """
    here = (Path.cwd() if start is None else start).resolve()
    places = [here, *here.parents]
    if installed:
        places.append(Path(__file__).resolve().parent.parent)
    return next((place for place in places if (place / CATALOGUE).is_file()), None)


class Inspection:
    """One look at a whole repository. ``counts`` says how much was looked at, once it is done.

    ``step`` is called with a few words whenever another part begins.
    """

    def __init__(self, root: Path, step: Callable[[str], None] = lambda _: None) -> None:
        self.root = root.resolve()
        self.counts = {"pages": 0, "links": 0, "blocks": 0, "classes": 0}
        self._step = step
        self._anchors: dict[Path, set[str]] = {}

    def problems(self) -> list[str]:
        """Every problem found, one line each, in the order of the parts below."""
        parts = (self._links, self._translations, self._generated, self._catalogues, self._classes)
        found: list[str] = []
        for part in parts:
            self._step(part.__name__.strip("_"))
            found += part()
        return list(dict.fromkeys(found))

    # --------------------------------------------------------------------------- pages, links

    def _files(self, ending: str) -> list[Path]:
        return sorted(_walk(self.root, ending))

    def _name(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix()

    def _links(self) -> Iterator[str]:
        for path in [*self._files(".md"), *self._files(".ipynb")]:
            if NOTEBOOK_PROSE.match(self._name(path)):
                continue  # its links start from the notebook that is built from it
            self.counts["pages"] += 1
            try:
                texts = _texts(path)
            except DocumentError as error:
                yield f"{self._name(path)}: {error}"
                continue
            for cell, text in texts:
                for line, target in Page(text).links:
                    self.counts["links"] += 1
                    where = f"{self._name(path)}:{cell or line}"
                    if problem := self._link_problem(path, target):
                        yield f"{where}: {problem}"

    def _link_problem(self, page: Path, target: str) -> str | None:
        parts = urlsplit(target)
        if parts.scheme or parts.netloc:
            return None
        wanted = page
        if parts.path:
            base = self.root if parts.path.startswith("/") else page.parent
            wanted = (base / unquote(parts.path).lstrip("/")).resolve()
        if not wanted.is_relative_to(self.root):
            return f"link {target} leads out of the repository"
        if not _exists_as_spelt(self.root, wanted):
            return f"link {target} leads to nothing; there is no {self._name(wanted)}"
        if not parts.fragment:
            return None
        if wanted.is_dir():
            wanted = wanted / "README.md"
        if wanted.suffix not in (".md", ".ipynb") or not wanted.is_file():
            return (
                None if re.fullmatch(r"L\d+(-L\d+)?", parts.fragment) else f"link {target}: no anchors there"
            )
        if unquote(parts.fragment) not in self._anchors_of(wanted):
            return f"link {target}: {self._name(wanted)} has no heading or anchor of that name"
        return None

    def _anchors_of(self, path: Path) -> set[str]:
        if path not in self._anchors:
            found: set[str] = set()
            try:
                for _, text in _texts(path):
                    found |= Page(text).anchors
            except DocumentError:
                pass  # said once, where the page itself is read
            self._anchors[path] = found
        return self._anchors[path]

    # --------------------------------------------------------- translations, generated blocks

    def _translations(self) -> Iterator[str]:
        from ai_evolution.catalog.markers import followed_source, prose_digest

        for path in self._files(".es.md"):
            name, text = self._name(path), path.read_text(encoding="utf-8", errors="replace")
            stem = path.name.removesuffix(".es.md")
            originals = [path.with_name(stem + ending) for ending in (".md", ".en.md")]
            original = next((one for one in originals if one.is_file()), originals[0])
            if not original.is_file():
                yield f"{name}: translates {original.name}, which does not exist"
            followed = followed_source(text)
            source = path.parent / followed[0] if followed else original
            if followed is None or not source.is_file():
                continue
            try:
                now = prose_digest(source.read_text(encoding="utf-8"), self._name(source))
            except (AiEvolutionError, ValueError) as error:
                yield f"{name}: {error}"
                continue
            if now != followed[1]:
                yield f"{name}: follows an older {source.name}; read it again, then run scripts/refresh.py"

    def _generated(self) -> Iterator[str]:
        from ai_evolution.catalog.markers import find_blocks

        scripts: set[str] = set()
        for path in self._files(".md"):
            try:
                blocks = find_blocks(path.read_text(encoding="utf-8"), self._name(path))
            except (AiEvolutionError, ValueError) as error:
                yield str(error)
                continue
            self.counts["blocks"] += len(blocks)
            scripts |= {block.script for block in blocks}
        for script in sorted(scripts):
            if (self.root / script).is_file():
                self._step(f"{script} --check")
                yield from self._check_script(script)
            else:
                yield f"{script}: named as the writer of generated blocks, and missing"

    def _check_script(self, script: str) -> Iterator[str]:
        try:
            done = subprocess.run(
                [sys.executable, script, "--check", *QUICKLY.get(script, [])],
                cwd=self.root,
                capture_output=True,
                timeout=SCRIPT_DEADLINE,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            yield f"{script} --check: {error}"
            return
        if done.returncode == 0:
            return
        said = done.stdout.decode("utf-8", "replace").splitlines()
        stale = [line.removeprefix("stale: ") for line in said if line.startswith("stale: ")]
        yield from (f"{name}: not what {script} writes; run it" for name in stale)
        if not stale:
            complaint = done.stderr.decode("utf-8", "replace").strip().splitlines() or said
            last = complaint[-1] if complaint else "no word of why"
            yield f"{script} --check ended with {done.returncode}: {last}"

    # ------------------------------------------------------------------------ catalogues, classes

    def _catalogues(self) -> Iterator[str]:
        from ai_evolution.catalog import load_classes, load_papers, load_sources, problems

        try:
            found = load_papers(self.root), load_sources(self.root), load_classes(self.root)
        except AiEvolutionError as error:
            yield str(error)
            return
        yield from problems(*found, self.root)

    def _classes(self) -> Iterator[str]:
        from ai_evolution.catalog import load_classes

        try:
            rows = load_classes(self.root)
        except AiEvolutionError:
            return  # said by _catalogues
        known = {row.slug for row in rows}
        for folder in sorted((self.root / "classes").iterdir()):
            if folder.is_dir() and folder.name not in known and not folder.name.startswith("."):
                yield f"classes/{folder.name}: has no row in {CATALOGUE.as_posix()}"
        for row in rows:
            self.counts["classes"] += 1
            folder = self.root / "classes" / row.slug
            if folder.is_dir():
                yield from self._class(folder, row.lab)

    def _class(self, folder: Path, lab: str) -> Iterator[str]:
        from ai_evolution.labs import LABS

        name = self._name(folder)
        yield from (f"{name}/{file}: is missing" for file in CLASS_FILES if not (folder / file).is_file())
        if lab not in LABS or LABS[lab].class_slug != folder.name:
            yield f"{name}: its row names the lab {lab}, and no lab of that name belongs to this class"
        if (folder / "lab.py").is_file():
            yield from (f"{name}/lab.py: {says}" for says in _lab_problems(folder / "lab.py", lab))
        if (folder / "rubric.json").is_file():
            yield from self._rubric(folder / "rubric.json")
        if (folder / "evidence.seed-0.json").is_file():
            yield from self._golden(folder / "evidence.seed-0.json", lab)

    def _rubric(self, path: Path) -> Iterator[str]:
        from ai_evolution.grading.rubric import load

        try:
            load(path)
        except AiEvolutionError as error:
            yield str(error).replace(str(path), self._name(path))

    def _golden(self, path: Path, lab: str) -> Iterator[str]:
        from ai_evolution.evidence import read_document
        from ai_evolution.labs import verify

        name = self._name(path)
        self._step(name)
        try:
            document = read_document(path)
            if document.get("kind") != lab or document.get("seed") != 0:
                yield f"{name}: expected lab {lab} with seed 0"
                return
            outcome = verify(document)
        except AiEvolutionError as error:
            yield f"{name}: {error}"
            return
        if not outcome.holds:
            yield f"{name}: {outcome.says('en')}; scripts/refresh.py writes it"


# ------------------------------------------------------------------------------ reading a page


class Page:
    """The links of a Markdown text (line number and target) and the anchors one can link to."""

    def __init__(self, text: str) -> None:
        from markdown_it import MarkdownIt

        self.links: list[tuple[int, str]] = []
        self.anchors: set[str] = set()
        self._seen: dict[str, int] = {}
        line, heading = 1, False
        for token in MarkdownIt("commonmark").enable("table").parse(text):
            line = token.map[0] + 1 if token.map else line
            if token.type == "heading_open":
                heading = True
            elif token.type == "html_block":
                self._html(line, token.content)
            elif token.type == "inline":
                children = token.children or []
                if heading:
                    self._heading("".join(c.content for c in children if c.type in ("text", "code_inline")))
                for child in children:
                    target = child.attrGet("href") or child.attrGet("src")
                    if target:
                        self.links.append((line, str(target)))
                    if child.type == "html_inline":
                        self._html(line, child.content)
                heading = False

    def _heading(self, said: str) -> None:
        """The anchor that GitHub gives to a heading."""
        slug = re.sub(r"[^\w\- ]", "", said.strip().lower()).replace(" ", "-")
        count = self._seen.get(slug, 0)
        self._seen[slug] = count + 1
        self.anchors.add(f"{slug}-{count}" if count else slug)

    def _html(self, line: int, content: str) -> None:
        reader = _Html()
        reader.feed(content)
        self.links += [(line, target) for target in reader.targets]
        self.anchors |= set(reader.names)


class _Html(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.names: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value and name in ("href", "src"):
                self.targets.append(value)
            if value and (name == "id" or (tag == "a" and name == "name")):
                self.names.append(value)


def _texts(path: Path) -> list[tuple[str, str]]:
    """The Markdown of a page, or of each such cell of a notebook under the cell's name."""
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix != ".ipynb":
            return [("", text)]
        notebook = json.loads(text)
        cells = notebook.get("cells") if isinstance(notebook, dict) else None
        if not isinstance(cells, list):
            raise DocumentError("is not what its name says (no cells)")
        return [
            (f"cell {cell.get('id', number)}", "".join(cell["source"]))
            for number, cell in enumerate(cells)
            if cell["cell_type"] == "markdown"
        ]
    except OSError as error:
        raise DocumentError(f"cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DocumentError(f"is not what its name says ({type(error).__name__}: {error})") from None


def _walk(folder: Path, ending: str) -> Iterator[Path]:
    for item in folder.iterdir():
        if item.name.startswith(".") or item.name in SKIPPED or item.name.endswith(".egg-info"):
            continue
        if item.is_dir() and not item.is_symlink() and not (item / "pyvenv.cfg").is_file():
            yield from _walk(item, ending)
        elif item.name.endswith(ending) and item.is_file():
            yield item


def _exists_as_spelt(root: Path, wanted: Path) -> bool:
    """Whether a path exists with exactly these letters, on a file system that ignores case too."""
    here = root
    for part in wanted.relative_to(root).parts:
        if not here.is_dir() or part not in {item.name for item in here.iterdir()}:
            return False
        here = here / part
    return True


def _lab_problems(path: Path, lab: str) -> Iterator[str]:
    try:
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
    except (OSError, ValueError, SyntaxError) as error:
        yield f"is no Python ({error})"
        return
    if not ast.get_docstring(tree):
        yield "has no docstring"
    if len(text.splitlines()) > LAB_LINES:
        yield f"has {len(text.splitlines())} lines; at most {LAB_LINES} are wanted, the lab is in the package"
    if not any(isinstance(node, ast.Constant) and node.value == lab for node in ast.walk(tree)):
        yield f"does not run the lab {lab}"
