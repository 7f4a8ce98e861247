"""A picture of a run: the first findings as a terminal shows them, as an SVG with no outside reference.

The README shows it. It is drawn from a report, so it can't say anything that the lab did not.
"""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

from ai_evolution.cli.show import Screen, show_report

if TYPE_CHECKING:
    from rich.console import Console

    from ai_evolution.evidence import Report

WIDTH = 104
FINDINGS = 6
CUT = {
    "en": "⋮ {n} more findings, then the limitations",
    "es": "⋮ {n} hallazgos más y, después, las limitaciones",
}
TITLE = {"en": "python lab.py", "es": "python lab.py --lang es"}


class _Coloured(Screen):
    """A screen whose console writes a terminal's colours into ``out``."""

    def console(self) -> Console:
        from rich.console import Console

        return Console(
            file=self.out,
            width=WIDTH,
            highlight=False,
            force_terminal=True,
            color_system="truecolor",
            legacy_windows=False,
        )


def picture(report: Report, title: str, lang: str) -> str:
    """The head of the report's table as SVG text; ``title`` is the lab's."""
    from rich.console import Console
    from rich.text import Text

    out = io.StringIO()
    show_report(_Coloured(lang, out=out, err=io.StringIO()), report, title)
    lines = out.getvalue().splitlines()
    rules = [number for number, line in enumerate(lines) if "├" in line]
    hidden = len(report.evidence) - FINDINGS
    if hidden > 0:
        lines[rules[FINDINGS] :] = [CUT[lang].format(n=hidden), "", lines[-1]]
    drawn = Console(file=io.StringIO(), record=True, width=WIDTH, legacy_windows=False)
    for line in lines:
        drawn.print(Text.from_ansi(line))
    svg = drawn.export_svg(title=TITLE[lang], unique_id=f"run-{lang}")
    return re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL) + "\n"
