"""Class 134: how do sovereign agents delegate to each other?

Run `python lab.py`; `python lab.py --help` lists what else it accepts.
"""

try:
    from ai_evolution.cli import lab
except ModuleNotFoundError as missing:
    raise SystemExit(f"{missing}. From the repository: python3 scripts/course.py lab 134") from None

raise SystemExit(lab("multiagent"))
