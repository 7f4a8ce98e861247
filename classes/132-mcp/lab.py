"""Class 132: how does an agent find and call tools it has never met?

Run `python lab.py`; `python lab.py --help` lists what else it accepts.
"""

try:
    from ai_evolution.cli import lab
except ModuleNotFoundError as missing:
    raise SystemExit(f"{missing}. From the repository: python3 scripts/course.py lab 132") from None

raise SystemExit(lab("mcp"))
