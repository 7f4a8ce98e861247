"""Showing: what a person reads on a terminal, and what a program reads from a pipe.

A ``Screen`` knows the reader's language and whether a terminal is there. Text for a person goes
through it, so that a terminal which has no letter for a sign gets a plain one and never a
traceback. JSON is written as its own bytes, past every locale. Nothing here decides anything:
exit codes come from the commands.
"""

from __future__ import annotations

import codecs
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any, TextIO

    from rich.console import Console
    from rich.table import Table

    from ai_evolution.evidence import Report

PATIENCE = 2.0
"""Seconds after which a person at a terminal is told that something is still going on."""

SHORT, LONG, MESSAGE = 60, 400, 480
"""Characters shown of a value that is as expected, of one that is not, and of a message."""

PLAIN = {"→": "->", "←": "<-", "—": "-", "–": "-", "…": "...", "✓": "yes", "✗": "NO", "·": "-", "×": "x",
         "“": '"', "”": '"', "‘": "'", "’": "'", "«": '"', "»": '"', "¿": "", "¡": "", "≤": "<=",
         "≥": ">=", "•": "*"}  # fmt: skip


def _in_plain_letters(error: UnicodeError) -> tuple[str, int]:
    """What an output that has no letter for a sign gets in its place."""
    import unicodedata

    if not isinstance(error, UnicodeEncodeError):
        raise error
    wanted = error.object[error.start : error.end]
    bare = unicodedata.normalize("NFKD", "".join(PLAIN.get(sign, sign) for sign in wanted))
    said = "".join(sign for sign in bare if not unicodedata.combining(sign))
    return said.encode("ascii", "replace").decode("ascii"), error.end


codecs.register_error("ai_evolution.plain", _in_plain_letters)


def printable(value: object) -> str:
    """Somebody's words on one line, with no character in them that could steer a terminal."""
    said = " ".join(str(value).split())
    return "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in said)


def cut(said: str, most: int) -> str:
    """``said`` without its middle when it is longer than ``most`` characters."""
    if len(said) <= most:
        return said
    head = most * 2 // 3
    return f"{said[:head]} … {said[-(most - head - 3) :]}"


class Screen:
    """Standard output and standard error, as one reader in one language sees them."""

    def __init__(self, lang: str = "en", out: TextIO | None = None, err: TextIO | None = None) -> None:
        self.lang = lang
        self.out = out or sys.stdout
        self.err = err or sys.stderr
        for stream in (self.out, self.err):
            reconfigure = getattr(stream, "reconfigure", None)
            if reconfigure is not None:
                reconfigure(errors="ai_evolution.plain")

    def text(self, both: Mapping[str, str], **values: object) -> str:
        """One of two sentences, filled in."""
        return both[self.lang].format(**values)

    def line(self, both: Mapping[str, str] | str, **values: object) -> None:
        """One line on standard output."""
        print(both if isinstance(both, str) else self.text(both, **values), file=self.out)

    def note(self, both: Mapping[str, str] | str, **values: object) -> None:
        """One line on standard error, named as this command's; what is far too long is cut."""
        said = printable(both if isinstance(both, str) else self.text(both, **values))
        print(f"ai-evolution: {cut(said, MESSAGE)}", file=self.err, flush=True)

    def raw(self, content: bytes) -> None:
        """Bytes on standard output, as they are."""
        self.out.flush()
        binary = getattr(self.out, "buffer", None)
        if binary is None:
            self.out.write(content.decode("utf-8"))
        else:
            binary.write(content)
        self.out.flush()

    def json(self, value: object) -> None:
        """A value as indented JSON bytes on standard output."""
        self.raw(json_bytes(value))

    @property
    def at_terminal(self) -> bool:
        """Whether a person reads standard output as it comes."""
        return self.out.isatty()

    @property
    def unicode(self) -> bool:
        """Whether standard output can carry every letter and sign."""
        return (getattr(self.out, "encoding", None) or "utf-8").lower().startswith("utf")

    def mark(self, holds: bool | None) -> str:
        """A sign for yes, no and not looked at."""
        signs = ("✓", "✗", "·") if self.unicode else ("yes", "NO", "-")
        return signs[2 if holds is None else 0 if holds else 1]

    def console(self) -> Console:
        """A rich console on standard output, 100 columns wide when it is no terminal."""
        from rich.console import Console

        class Plain(Console):
            def on_broken_pipe(self) -> None:
                raise BrokenPipeError  # ours to handle, as for everything else that is written

        wide = None if self.at_terminal or os.environ.get("COLUMNS") else 100
        return Plain(file=self.out, width=wide, highlight=False, soft_wrap=False)

    def table(self, *columns: str, title: str | None = None) -> Table:
        """An empty table with these headings; print it with ``show``."""
        from rich import box
        from rich.table import Table

        lines = box.ROUNDED if self.unicode else box.ASCII
        made = Table(title=title, title_justify="left", box=lines, show_lines=False, expand=False)
        for column in columns:
            made.add_column(column, overflow="fold")
        return made

    def show(self, table: Table) -> None:
        """A table on standard output."""
        self.console().print(table)


def near(path: Path) -> str:
    """A path as seen from the current folder when it lies inside it, else whole."""
    from pathlib import Path

    whole, here = Path(path).absolute(), Path.cwd()
    return str(whole.relative_to(here)) if whole.is_relative_to(here) else str(whole)


def command() -> str:
    """How this command is typed here: by its name where the shell finds it, else through its Python."""
    import shutil
    from pathlib import Path

    return "ai-evolution" if shutil.which("ai-evolution") else f"{near(Path(sys.executable))} -m ai_evolution"


def quiet(debug: bool) -> None:
    """Keep libraries from logging on standard error, which is ours, unless ``--debug`` was given."""
    import logging

    if not debug and not logging.getLogger().handlers:
        logging.getLogger().addHandler(logging.NullHandler())


# ------------------------------------------------------------------------------ a report

LIMITS = {"en": "What this run does not show:", "es": "Lo que esta ejecución no demuestra:"}
ALL_HOLD = {"en": "{n} of {n} claims hold.", "es": "Se cumplen {n} de {n} afirmaciones."}
SOME_FAIL = {
    "en": "{good} of {n} claims hold; these do not: {names}",
    "es": "Se cumplen {good} de {n} afirmaciones; estas no: {names}",
}
HEADINGS = {"en": ("", "claim", "expected", "observed"), "es": ("", "afirmación", "esperado", "observado")}
CAPTION = {
    "en": "{title}  (lab {kind}, seed {seed}{more})",
    "es": "{title}  (laboratorio {kind}, semilla {seed}{more})",
}


def brief(value: Any, most: int = SHORT) -> str:
    """A JSON value on one line, cut in the middle when it is longer than ``most`` characters."""
    import json

    return cut(json.dumps(value, ensure_ascii=False), most)


def show_report(screen: Screen, report: Report, title: str) -> None:
    """The findings as a table, then the limitations, then how many claims hold."""
    from rich.markup import escape

    lang = screen.lang
    more = "".join(f", {key}={brief(value)}" for key, value in report.parameters.items())
    caption = screen.text(CAPTION, title=title, kind=report.kind, seed=report.seed, more=more)
    table = screen.table(*HEADINGS[lang], title=f"[bold]{escape(caption)}[/bold]")
    table.columns[0].no_wrap = True
    table.columns[1].ratio, table.columns[2].ratio, table.columns[3].ratio = 5, 3, 3
    table.expand = True
    table.show_lines = True
    for item in report.evidence:
        most = SHORT if item.holds else LONG
        said = item.claim.es if lang == "es" else item.claim.en
        colour = "green" if item.holds else "bold red"
        table.add_row(
            f"[{colour}]{screen.mark(item.holds)}[/{colour}]",
            f"{escape(said)}\n[dim]{escape(item.id)} · {escape(', '.join(item.sources))}[/dim]",
            escape(brief(item.expected, most)),
            escape(brief(item.observed, most)),
        )
    console = screen.console()
    console.print(table)
    console.print(f"\n[bold]{screen.text(LIMITS)}[/bold]")
    for limit in report.limitations:
        says = limit.says.es if lang == "es" else limit.says.en
        bullet = "•" if screen.unicode else "*"
        console.print(f"  {bullet} {escape(says)} [dim]({escape(limit.kind)}: {escape(limit.id)})[/dim]")
    bad = [item.id for item in report.evidence if not item.holds]
    good, count = len(report.evidence) - len(bad), len(report.evidence)
    console.print()
    if bad:
        said = screen.text(SOME_FAIL, good=good, n=count, names=", ".join(bad))
        console.print(f"[bold red]{escape(said)}[/bold red]")
    else:
        console.print(f"[bold green]{escape(screen.text(ALL_HOLD, n=count))}[/bold green]")


# ----------------------------------------------------------------------- something that takes long


class Waiting:
    """Says on standard error what is going on, once it has gone on for ``PATIENCE`` seconds.

    A context manager; ``says`` may be called from any thread. Silent when standard error is no
    terminal, and gone without a trace when the work ends.
    """

    def __init__(self, screen: Screen, text: str, patience: float = PATIENCE) -> None:
        self._text = text
        self._wanted = screen.err.isatty()
        self._err = screen.err
        self._patience = patience
        self._status: Any = None
        self._timer: Any = None

    def __enter__(self) -> Waiting:
        if self._wanted:
            import threading

            self._lock = threading.Lock()
            self._timer = threading.Timer(self._patience, self._begin)
            self._timer.daemon = True
            self._timer.start()
        return self

    def _begin(self) -> None:
        from rich.console import Console

        with self._lock:
            if self._timer is None:
                return
            self._status = Console(file=self._err).status(self._text)
            self._status.start()

    def says(self, text: str) -> None:
        """Replace what stands beside the spinner."""
        if not self._wanted:
            return
        with self._lock:
            self._text = text
            if self._status is not None:
                self._status.update(text)

    def __exit__(self, *_: object) -> None:
        if not self._wanted:
            return
        with self._lock:
            self._timer.cancel()
            self._timer = None
            if self._status is not None:
                self._status.stop()


# -------------------------------------------------------------------------------------- JSON


def json_bytes(value: object) -> bytes:
    """Indented JSON in UTF-8 with one final line feed."""
    import json

    return (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode("utf-8")
